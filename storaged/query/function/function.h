/*
 * Functions: the descriptors of built-in ones, how they are found and called, and function items.
 *
 * A built-in function is a row of a constant table. The library of this folder and the functions of
 * storaged/query/node are such tables; a function set indexes them for look-up by name and arity.
 *
 * Calls      sirix_function_call() converts the arguments (function conversion rules), checks their
 *            number of items and calls. Arguments are materialised sequences; a function with
 *            SIRIX_FUNCTION_STREAMS gets its first argument as an iterator and pulls no more than it
 *            needs. A function that has `open` can also give its result item by item.
 * Results    In work->arena; may share the arguments' items.
 * Context    The focus, and invoke(), which calls any function item (closures are the evaluator's).
 */
#ifndef SIRIX_QUERY_FUNCTION_FUNCTION_H
#define SIRIX_QUERY_FUNCTION_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/function/decimal_format.h"
#include "query/value/callable.h"
#include "query/value/item.h"
#include "query/value/sequence.h"
#include "query/value/type.h"

enum sirix_function_ns {
    SIRIX_NS_NONE,  /* User functions; unprefixed names that are resolved by the rules. */
    SIRIX_NS_FN,    /* http://www.w3.org/2005/xpath-functions */
    SIRIX_NS_XS,    /* http://www.w3.org/2001/XMLSchema: constructors */
    SIRIX_NS_MATH,  /* http://www.w3.org/2005/xpath-functions/math */
    SIRIX_NS_MAP,   /* http://www.w3.org/2005/xpath-functions/map */
    SIRIX_NS_ARRAY, /* http://www.w3.org/2005/xpath-functions/array */
    SIRIX_NS_JN,    /* http://jsoniq.org/functions, http://jsoniq.org/function-library (libjn) */
    SIRIX_NS_SDB,   /* https://sirix.io */
    SIRIX_NS_BIT,   /* http://brackit.org/ns/bit: a few aliases */
    SIRIX_NS_ERR,   /* http://www.w3.org/2005/xqt-errors */
    SIRIX_NS_COUNT,
};

enum sirix_function_flag {
    SIRIX_FUNCTION_PURE = 1,        /* Constant arguments give a constant: may be folded. */
    SIRIX_FUNCTION_STREAMS = 2,     /* Takes its first argument as an iterator. */
    SIRIX_FUNCTION_NEEDS_FOCUS = 4, /* Reads the context item (position(), last(), string()). */
    SIRIX_FUNCTION_AGGREGATE =
        8, /* One small result whatever the length: count, sum, exists, ... */
    SIRIX_FUNCTION_VARIADIC = 16,     /* Any arity from min_arity; the last parameter repeats. */
    SIRIX_FUNCTION_HIGHER_ORDER = 32, /* Calls invoke(). */
    SIRIX_FUNCTION_ORDER_FREE = 64,   /* The order of the first argument's items does not matter. */
};

enum { SIRIX_FUNCTION_PARAMETERS_MAX = 6, SIRIX_FUNCTION_ARITY_MAX = 255 };

struct sirix_call;

struct sirix_function {
    const char *name;
    enum sirix_function_ns ns;
    uint16_t flags; /* enum sirix_function_flag */
    uint8_t min_arity;
    uint8_t max_arity;
    struct sirix_sequence_type result;
    struct sirix_sequence_type parameters[SIRIX_FUNCTION_PARAMETERS_MAX];
    /* The arguments are converted; writes *out on success only. */
    enum sirix_status (*call)(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err);
    /* Optional: the result item by item; the iterator and what it needs are in work->arena. */
    enum sirix_status (*open)(struct sirix_call *call, struct sirix_iterator **out,
                              struct sirix_query_error *err);
    intptr_t detail; /* The function's own: which of several that share their code. */
};

/* The focus: kind NONE when there is none. last is 0 when it is not known (it was not asked for). */
struct sirix_focus {
    struct sirix_item item;
    uint64_t position; /* From 1. */
    uint64_t last;
};

/*
 * What the evaluator offers to functions. invoke calls a function item with converted or raw arguments
 * (it converts them); the wrong number of arguments is XPTY0004.
 */
struct sirix_evaluator {
    void *run;
    enum sirix_status (*invoke)(void *run, struct sirix_item function,
                                const struct sirix_sequence *arguments, size_t argument_count,
                                struct sirix_sequence *out, struct sirix_query_error *err);
    const struct sirix_function_set *functions;         /* For fn:function-lookup. */
    const struct sirix_decimal_format *decimal_formats; /* Declared ones, for fn:format-number. */
    size_t decimal_format_count;
    void *store; /* storaged/query/node's own. */
};

struct sirix_call {
    struct sirix_work *work;
    const struct sirix_function *function;
    size_t argument_count;
    struct sirix_sequence
        *arguments;                  /* argument_count of them; the first is empty if it streams. */
    struct sirix_iterator *input;    /* STREAMS: the first argument; the caller closes it. */
    const struct sirix_focus *focus; /* NULL: none. */
    const struct sirix_evaluator *evaluator;
    /* The call's own: what atomising an array has given and has not been taken yet. Zero. */
    struct sirix_sequence pending;
    size_t pending_at;
};

/*
 * Converts the arguments in place and calls. XPTY0004 (and what conversion gives) names the function
 * and the argument. For STREAMS, input is set; argument 0 is converted item by item while it is read.
 */
enum sirix_status sirix_function_call(struct sirix_call *call, struct sirix_sequence *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The same, giving an iterator: function->open if it has one, else over the materialised result. */
enum sirix_status sirix_function_open(struct sirix_call *call, struct sirix_iterator **out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* --- Function items (query/value/callable.h) ------------------------------------------------------------------------------ */

/* An item that refers to a built-in function with an arity it has. */
enum sirix_status sirix_function_reference(struct sirix_work *work,
                                           const struct sirix_function *function, size_t arity,
                                           struct sirix_item *out,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Calls a function item that refers to a built-in one: what evaluators do in invoke() for it, without
 * a focus. The wrong number of arguments is XPTY0004.
 */
enum sirix_status sirix_function_invoke(struct sirix_work *work,
                                        const struct sirix_evaluator *evaluator,
                                        const struct sirix_function_value *value,
                                        const struct sirix_sequence *arguments,
                                        size_t argument_count, struct sirix_sequence *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* --- Look-up --------------------------------------------------------------------------------------- */

struct sirix_function_table {
    const struct sirix_function *functions;
    size_t count;
};

enum { SIRIX_FUNCTION_LIBRARY_TABLES = 32 };

/* Writes the tables of this folder, at most SIRIX_FUNCTION_LIBRARY_TABLES; returns how many. */
size_t sirix_function_library(struct sirix_function_table to[SIRIX_FUNCTION_LIBRARY_TABLES]);

/* An index over tables, whose rows stay where they are. Immutable once made: readers together. */
struct sirix_function_set;
enum sirix_status sirix_function_set_new(const struct sirix_function_table *tables, size_t count,
                                         struct sirix_function_set **out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_function_set_free(struct sirix_function_set *set);

/* The namespace of a URI or of a predeclared prefix ("fn", "xs", "math", "map", "array", "jn", "libjn", "sdb", "bit", "err"). */
bool sirix_function_ns_of_uri(struct sirix_bytes uri, enum sirix_function_ns *out);
bool sirix_function_ns_of_prefix(struct sirix_bytes prefix, enum sirix_function_ns *out);
const char *sirix_function_ns_prefix(enum sirix_function_ns ns);
const char *sirix_function_ns_uri(enum sirix_function_ns ns);

/*
 * The function of that name and arity, or NULL. With SIRIX_NS_NONE an unprefixed name: fn, then jn, bit,
 * math, and constructors (date("...")).
 */
const struct sirix_function *sirix_function_find(const struct sirix_function_set *set,
                                                 enum sirix_function_ns ns, struct sirix_bytes name,
                                                 size_t arity);

/* Whether some arity of that name exists; *out_min and *out_max say which (may be NULL). */
bool sirix_function_arities(const struct sirix_function_set *set, enum sirix_function_ns ns,
                            struct sirix_bytes name, size_t *out_min, size_t *out_max);

/*
 * The known name nearest to a misspelt one ("jn:doc"), NUL-terminated in to; false when none is near.
 * A distance of at most a third of the letters; names of all namespaces are looked at.
 */
bool sirix_function_nearest(const struct sirix_function_set *set, enum sirix_function_ns ns,
                            struct sirix_bytes name, char *to, size_t to_bytes);

#endif
