/*
 * Plans: a query with every name resolved, as storaged/query/run executes it.
 *
 *     syntax tree -> sirix_plan_build() -> sirix_plan_rewrite() -> run
 *
 * Memory    everything lies in the arena given to the builder. Constants that are looked at often
 *           (names, items) are part of the nodes. The tree is read by one query at a time: nodes hold
 *           caches of the run.
 * Names     are gone: a variable is a slot, a call is a pointer. Texts in nodes are for explain.
 * Shape     as the syntax tree's: flat operators, height at most SIRIX_AST_HEIGHT_MAX plus a little.
 * Frames    the main expression, each declared function and each inline function have a frame of
 *           slot_count slots, each of them a sequence; parameters are slots 0..n-1. An inline function
 *           sees variables around it through its captures: copied to the slots behind its parameters,
 *           in the order of captures[], when it is called. So inside a frame every variable is a slot.
 *           Globals have frame-independent numbers.
 *
 *   kind               children, and other members
 *   CONSTANT           item
 *   EMPTY
 *   VARIABLE           slot
 *   GLOBAL             slot: the number of the global
 *   CONTEXT            $$; XPDY0002 when there is none
 *   SEQUENCE           e*
 *   RANGE              from, to
 *   OR AND             e, e+
 *   NOT                e: not(e), by effective boolean value
 *   COMPARE            left, right; op: SIRIX_AST_EQ ...: of one item with one item
 *   COMPARE_ANY        left, right; op: SIRIX_AST_EQ ... (not GENERAL_): of any item with any item
 *   CONCAT             e, e+
 *   ARITHMETIC         e, e+; ops[i] stands before children[i]: PLUS .. MOD
 *   UNARY              e; op: SIRIX_AST_PLUS or MINUS
 *   UNION              e, e+                by identity; JSON items: kept in order of appearance
 *   INTERSECT          e, e+; ops[i]
 *   INSTANCE_OF TREAT_AS CASTABLE_AS CAST_AS    e; type
 *   MAP                e, e+
 *   IF                 (condition, then)+, else (EMPTY when it was left out)
 *   SWITCH             e, CASE+, default;   CASE: e+, result
 *   TYPESWITCH         e, TYPE_CASE+;       TYPE_CASE: result; types[]/type_count (0: default), slot?
 *   SOME EVERY         FOR+, condition
 *   TRY                e, CATCH+;           CATCH: e; tests[], err_slot: six slots from there on:
 *                                           code description value module line-number column-number
 *   FLWOR              clause+, return.     Clauses: FOR LET WHERE GROUP ORDER COUNT WINDOW
 *   FOR                e; slot, type?, position_slot?, flags ALLOWING_EMPTY, UNWRAP. A join that the
 *                      rewrite has found: inner_key reads its slot and nothing else of the tuple, outer_key
 *                      the tuple and not its slot, e neither; number clauses behind it a WHERE wants
 *                      them equal
 *   LET                e; slot, type?
 *   WHERE              e; flags EARLY: a copy of one that comes later, OF_ITEM
 *   GROUP              GROUP_KEY*;          GROUP_KEY: e?; slot; e is missing: the slot's own value.
 *                      rest[]: slots that become sequences (bound before in this FLWOR, no keys)
 *   ORDER              ORDER_KEY*;          ORDER_KEY: e; flags DESCENDING, EMPTY_GREATEST
 *                      bound[]: slots that a tuple consists of; flags ONE_EACH, ONE_OR_NONE; number: no
 *                      more tuples than these are looked at, as far as the plan tells (0: it does not)
 *   COUNT              slot
 *   WINDOW             e, EDGE, EDGE?; slot, type?, flags SLIDING.  EDGE: when; slot?, position_slot?,
 *                      previous_slot?, next_slot?; flags ONLY
 *   CALL               arguments e*; function: of the library
 *   CALL_USER          arguments e*; user
 *   CALL_CAST          e; type: a constructor function xs:integer($e)
 *   CALL_SPECIAL       arguments e*; special: enum sirix_plan_special
 *   DYNAMIC_CALL       function, arguments e*     (a PLACEHOLDER argument: partial application)
 *   FUNCTION_ITEM      function or user or type; number: arity     name#arity
 *   PARTIAL            arguments e*, some PLACEHOLDER; function or user or type
 *   CLOSURE            user: an inline function with captures
 *   FIELD              base, key            key is a CONSTANT string for .name
 *   DESCENDANT         base, key
 *   LOOKUP             base, key?
 *   PREDICATE FILTER   base, e
 *   MEMBER             base, e              [[e]]
 *   SLICE              base, from?, to?, step?
 *   UNBOX              base
 *   PROJECT            base, key+
 *   OBJECT             (PAIR or e)*         PAIR: key, value
 *   MERGE              e
 *   ARRAY              e*
 *   INSERT             content, target, position?; flags MEMBERS: content is an object whose fields
 *                      are inserted into an object target
 *   APPEND             content, target
 *   DELETE             target; REPLACE target, value; RENAME target, name: the target is a FIELD, MEMBER,
 *                      PREDICATE, SLICE-free step, DYNAMIC_CALL with one argument, or any expression that gives a
 *                      stored item (sdb:select-item(...))
 *   COPY               LET+, modify, return
 *   BLOCK              statement*, result? (NULL: none)
 *   DECLARE            e?; slot; ASSIGN e; slot (or flag GLOBAL_SLOT); WHILE condition, body; BREAK
 *                      CONTINUE; EXIT e
 */
#ifndef SIRIX_QUERY_PLAN_PLAN_H
#define SIRIX_QUERY_PLAN_PLAN_H

#include "base/arena.h"
#include "query/error.h"
#include "query/syntax/ast.h"
#include "query/value/item.h"
#include "query/value/type.h"

#define SIRIX_PLAN_KIND_LIST(X)                                                                    \
    X(CONSTANT, constant)                                                                          \
    X(EMPTY, empty)                                                                                \
    X(VARIABLE, variable)                                                                          \
    X(GLOBAL, global)                                                                              \
    X(CONTEXT, context)                                                                            \
    X(SEQUENCE, sequence)                                                                          \
    X(RANGE, range)                                                                                \
    X(OR, or)                                                                                      \
    X(AND, and)                                                                                    \
    X(NOT, not )                                                                                   \
    X(COMPARE, compare)                                                                            \
    X(COMPARE_ANY, compare_any)                                                                    \
    X(CONCAT, concat)                                                                              \
    X(ARITHMETIC, arithmetic)                                                                      \
    X(UNARY, unary)                                                                                \
    X(UNION, union)                                                                                \
    X(INTERSECT, intersect)                                                                        \
    X(INSTANCE_OF, instance_of)                                                                    \
    X(TREAT_AS, treat_as)                                                                          \
    X(CASTABLE_AS, castable_as)                                                                    \
    X(CAST_AS, cast_as)                                                                            \
    X(MAP, map)                                                                                    \
    X(IF, if)                                                                                      \
    X(SWITCH, switch)                                                                              \
    X(CASE, case)                                                                                  \
    X(TYPESWITCH, typeswitch)                                                                      \
    X(TYPE_CASE, type_case)                                                                        \
    X(SOME, some)                                                                                  \
    X(EVERY, every)                                                                                \
    X(TRY, try)                                                                                    \
    X(CATCH, catch)                                                                                \
    X(FLWOR, flwor)                                                                                \
    X(FOR, for)                                                                                    \
    X(LET, let)                                                                                    \
    X(WHERE, where)                                                                                \
    X(GROUP, group)                                                                                \
    X(GROUP_KEY, group_key)                                                                        \
    X(ORDER, order)                                                                                \
    X(ORDER_KEY, order_key)                                                                        \
    X(COUNT, count)                                                                                \
    X(WINDOW, window)                                                                              \
    X(EDGE, edge)                                                                                  \
    X(CALL, call)                                                                                  \
    X(CALL_USER, call_user)                                                                        \
    X(CALL_CAST, call_cast)                                                                        \
    X(CALL_SPECIAL, call_special)                                                                  \
    X(DYNAMIC_CALL, dynamic_call)                                                                  \
    X(PLACEHOLDER, placeholder)                                                                    \
    X(FUNCTION_ITEM, function_item)                                                                \
    X(PARTIAL, partial)                                                                            \
    X(CLOSURE, closure)                                                                            \
    X(FIELD, field)                                                                                \
    X(DESCENDANT, descendant)                                                                      \
    X(LOOKUP, lookup)                                                                              \
    X(PREDICATE, predicate)                                                                        \
    X(FILTER, filter)                                                                              \
    X(MEMBER, member)                                                                              \
    X(SLICE, slice)                                                                                \
    X(UNBOX, unbox)                                                                                \
    X(PROJECT, project)                                                                            \
    X(OBJECT, object)                                                                              \
    X(PAIR, pair)                                                                                  \
    X(MERGE, merge)                                                                                \
    X(ARRAY, array)                                                                                \
    X(INSERT, insert)                                                                              \
    X(APPEND, append)                                                                              \
    X(DELETE, delete)                                                                              \
    X(REPLACE, replace)                                                                            \
    X(RENAME, rename)                                                                              \
    X(COPY, copy)                                                                                  \
    X(BLOCK, block)                                                                                \
    X(DECLARE, declare)                                                                            \
    X(ASSIGN, assign)                                                                              \
    X(WHILE, while)                                                                                \
    X(BREAK, break)                                                                                \
    X(CONTINUE, continue)                                                                          \
    X(EXIT, exit)

enum sirix_plan_kind {
#define SIRIX_X(upper, lower) SIRIX_PLAN_##upper,
    SIRIX_PLAN_KIND_LIST(SIRIX_X)
#undef SIRIX_X
        SIRIX_PLAN_KIND_COUNT
};

/* What a call means that only the run knows. */
enum sirix_plan_special {
    SIRIX_SPECIAL_NONE,
    SIRIX_SPECIAL_POSITION, /* position() */
    SIRIX_SPECIAL_LAST,     /* last() */
    SIRIX_SPECIAL_EXPLAIN,  /* sdb:explain(text) */
};

enum {
    SIRIX_PLAN_ALLOWING_EMPTY = 1u << 0,
    SIRIX_PLAN_UNWRAP = 1u << 1, /* FOR: one array gives its members. */
    SIRIX_PLAN_DESCENDING = 1u << 2,
    SIRIX_PLAN_EMPTY_GREATEST = 1u << 3, /* Else empty is least. */
    SIRIX_PLAN_SLIDING = 1u << 4,
    SIRIX_PLAN_ONLY = 1u << 5,
    SIRIX_PLAN_MEMBERS = 1u << 6,
    SIRIX_PLAN_GLOBAL_SLOT = 1u << 7,
    SIRIX_PLAN_UPDATING = 1u << 8, /* The expression makes updates. */
    /* What it asks of the focus that it is evaluated in; not of those that it makes itself. */
    SIRIX_PLAN_USES_CONTEXT = 1u << 9,
    SIRIX_PLAN_USES_POSITION = 1u << 10,
    SIRIX_PLAN_USES_LAST = 1u << 11,
    /*
     * PREDICATE, MEMBER, DYNAMIC_CALL, SLICE, INSERT: the JSONiq rule: positions count from 1, [n] is
     * the n-th item, a sequence that is inserted becomes several members.
     */
    SIRIX_PLAN_JSONIQ = 1u << 12,
    SIRIX_PLAN_MEMBER_FROM_0 = 1u << 13,   /* MEMBER after xquery version. */
    SIRIX_PLAN_EARLY = 1u << 14,           /* WHERE: if it fails, the tuple passes. */
    SIRIX_PLAN_HOLDS_SEQUENCES = 1u << 15, /* OBJECT, ARRAY: of XQuery, which hold sequences. */
    SIRIX_PLAN_ONE_EACH =
        1u << 16, /* ORDER, the last clause; FOR, the first before lets: a tuple is an item. */
    SIRIX_PLAN_ONE_OR_NONE = 1u << 17, /* The same, or none: where the return finds nothing. */
    SIRIX_PLAN_OF_ITEM = 1u << 18,     /* WHERE behind a join's FOR: reads its slot alone. */
};

#define SIRIX_PLAN_NO_SLOT UINT32_MAX

struct sirix_function; /* query/function/function.h */
struct sirix_plan;

/* A function declared in the query, or an inline one. */
struct sirix_plan_function {
    struct sirix_bytes name; /* For messages and explain; empty: inline. */
    uint32_t line;
    uint32_t column;
    uint32_t parameter_count;
    const struct sirix_sequence_type *parameters; /* item()* where nothing is said. */
    struct sirix_sequence_type result;
    struct sirix_plan *body;
    uint32_t slot_count;      /* Parameters and captures included. */
    const uint32_t *captures; /* Slots in the frame around it; to slots parameter_count, ... */
    uint32_t capture_count;
    bool updating;
};

/* A variable of the prolog, evaluated when it is first asked for; in a frame of its own. */
struct sirix_plan_global {
    struct sirix_bytes name; /* As a caller gives external ones: "x", "p:x". */
    uint32_t line;
    uint32_t column;
    bool external;
    bool typed;
    struct sirix_sequence_type type;
    struct sirix_plan *body; /* NULL: external without a default. */
    uint32_t slot_count;
};

/* A test of a catch clause: `*` parts as flags. */
struct sirix_plan_catch {
    struct sirix_bytes uri; /* Empty: the standard namespaces. */
    struct sirix_bytes local;
    bool any_uri;
    bool any_local;
};

struct sirix_plan {
    uint16_t kind;   /* enum sirix_plan_kind */
    uint8_t op;      /* enum sirix_ast_op */
    uint8_t special; /* enum sirix_plan_special */
    uint32_t flags;
    uint32_t line;
    uint32_t column;
    uint32_t slot; /* SIRIX_PLAN_NO_SLOT: none, here and below. */
    uint32_t position_slot;
    uint32_t previous_slot; /* EDGE. */
    uint32_t next_slot;
    uint32_t child_count;
    uint32_t list_count; /* Of slots, types or tests. */
    struct sirix_plan **children;
    const uint8_t *ops;
    struct sirix_item item;
    bool typed; /* type is there. */
    struct sirix_sequence_type type;
    const struct sirix_function *function;
    struct sirix_plan_function *user;
    const struct sirix_plan *inner_key; /* FOR. */
    const struct sirix_plan *outer_key;
    uint64_t number;
    const uint32_t *slots;                   /* GROUP: rest. ORDER: bound. */
    const struct sirix_sequence_type *types; /* TYPE_CASE. */
    const struct sirix_plan_catch *tests;    /* CATCH. */
    void *run;                               /* The run's own; NULL at first. */
};

/* A whole query. */
struct sirix_plan_query {
    struct sirix_plan *body;
    uint32_t slot_count; /* Of the body's frame. */
    struct sirix_plan_global *globals;
    uint32_t global_count;
    struct sirix_plan_function **functions; /* Declared ones, in the order of the text. */
    uint32_t function_count;
    bool updating;
    uint32_t updating_line; /* Where the first update stands, if updating. */
    uint32_t updating_column;
    bool has_context; /* declare context item := e */
    bool context_external;
    bool context_typed;
    struct sirix_sequence_type context_type;
    struct sirix_plan *context; /* e, in a frame of its own; NULL: none. */
    uint32_t context_slot_count;
    bool strict_truth; /* JSONiq 3.1: see struct sirix_work. */
    struct sirix_decimal_format *decimal_formats;
    uint32_t decimal_format_count;
};

/* "flwor", never NULL. */
const char *sirix_plan_kind_name(enum sirix_plan_kind kind);

#endif
