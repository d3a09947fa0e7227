/*
 * The query engine's one door: JSONiq over every revision.
 *
 *     sirix_query_prepare(text) -> sirix_query_next() ... -> sirix_query_close()
 *                               -> sirix_query_explain()
 *                               -> sirix_query_evaluate() -> sirix_query_commit()     an updating one
 *
 * State     each resource is read at one revision for the whole query: the newest of its branch when it
 *           was first asked for, unless the query says which. sirix_query_pins() tells them, so that a
 *           later page of the same query reads the same.
 * Reading   nothing here changes a store but sirix_query_commit(). A query that updates is refused by
 *           prepare unless options.updating.
 * Memory    everything a query holds is its own and bounded by its limits.
 * Time      options.check is called at least once a millisecond of work; a reader is yielded there.
 * Errors    struct sirix_query_error: a W3C or JSONiq code with line and column, or the status of the
 *           store. Limits are SIRIX_EXHAUSTED and name themselves.
 * Threads   a query is stepped by one thread at a time, not always the same one.
 */
#ifndef SIRIX_QUERY_QUERY_H
#define SIRIX_QUERY_QUERY_H

#include "base/buf.h"
#include "query/catalogue.h"
#include "query/error.h"

enum {
    SIRIX_QUERY_TEXT_BYTES_MAX = 1024 * 1024,
    SIRIX_QUERY_STACK_BYTES = 64 * 1024 * 1024, /* Of address space, touched as far as needed. */
    SIRIX_QUERY_BATCH_BYTES = 64 * 1024,        /* Of items that _next() gives at once, about. */
    SIRIX_QUERY_INPUTS_MAX = 64,
    SIRIX_QUERY_VARIABLES_MAX = 256,
    SIRIX_QUERY_PINS_MAX = 1024,
};

/* 0 in a field: the default, which is also what is named here. */
struct sirix_query_limits {
    size_t memory_bytes;    /* 256 MiB. */
    uint64_t items_visited; /* 1,000,000,000 items and nodes passed by any part of the query. */
    uint64_t results;       /* No limit of its own. */
};
#define SIRIX_QUERY_MEMORY_BYTES_DEFAULT  ((size_t)256 * 1024 * 1024)
#define SIRIX_QUERY_ITEMS_VISITED_DEFAULT UINT64_C(1000000000)

enum sirix_query_dialect {
    SIRIX_QUERY_DIALECT_DEFAULT, /* What the text says; Brackit's where it says nothing. */
    SIRIX_QUERY_DIALECT_JSONIQ,
};

/* A named input of json-lines() and the like, or an external variable; text as JSON. */
struct sirix_query_named {
    struct sirix_bytes name;
    struct sirix_bytes text;
};

/* Which revision a resource is read at where the query does not say it. */
struct sirix_query_pin {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    uint64_t revision;
    bool asked; /* What options.view came to, else the newest revision of main. */
};

/* Looked at often: SIRIX_OK goes on, anything else ends the query with that status. */
typedef enum sirix_status (*sirix_query_check_fn)(void *context, struct sirix_error *err);

/* Everything that is pointed to outlives the query. */
struct sirix_query_options {
    struct sirix_bytes text; /* UTF-8. */
    enum sirix_query_dialect dialect;
    bool updating; /* Updating expressions are allowed. */
    bool naive;    /* No rewrite, no fused scan: for tests, the answers are the same. */
    const struct sirix_query_catalogue *catalogue; /* NULL: no store. */
    /* The context item: the value of a resource. database empty: there is none. */
    struct sirix_bytes database;
    struct sirix_bytes resource;
    /* Of that resource, wherever the query opens it without a revision; a time on main: of every one. */
    struct sirix_view_spec view;
    const struct sirix_query_named *inputs;
    size_t input_count;
    const struct sirix_query_named *variables; /* External ones without a value in the text. */
    size_t variable_count;
    const struct sirix_query_pin *pins;
    size_t pin_count;
    bool with_nodes; /* Items tell which nodes of the store they are. */
    uint64_t want;   /* No more items than these will be asked for; 0: any number. Plans use it. */
    bool has_now;
    int64_t now_us; /* Of fn:current-dateTime(), in UTC; else the clock's at prepare. */
    struct sirix_query_limits limits;
    sirix_query_check_fn check; /* May be NULL. */
    void *context;
};

struct sirix_query;

/* Parses, resolves and plans; runs nothing and opens nothing. */
enum sirix_status sirix_query_prepare(const struct sirix_query_options *options,
                                      struct sirix_query **out_query,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* At any moment, from any thread that steps it then. NULL is allowed. */
void sirix_query_close(struct sirix_query *query);

/* Whether the text holds an updating expression. */
bool sirix_query_is_updating(const struct sirix_query *query);

/* Appends the plan as text, a line an operator. Not after the first step. */
enum sirix_status sirix_query_explain(struct sirix_query *query, struct sirix_buf *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* One item of the result. */
struct sirix_query_item {
    struct sirix_bytes json; /* JSON text: a string in quotes, INF and NaN and dates as strings. */
    struct sirix_bytes text; /* Of an atomic item its string value; else empty. */
    bool atomic;
    /* With options.with_nodes, of an item of the store: where it is. node_key 0: it is none. */
    uint64_t node_key;
    uint64_t revision;
    struct sirix_bytes database; /* Names live as long as the query. */
    struct sirix_bytes resource;
    struct sirix_bytes path; /* "/users/[0]"; "" is the document's value. */
};

/*
 * The next items, until SIRIX_QUERY_BATCH_BYTES are full, item_max are there, or about budget_us have
 * passed since the first was found, or without any (0: no such bound, and *out_count is 0 only with
 * *out_done). Items and what they point to live until the next call. An item past limits.results is
 * SIRIX_EXHAUSTED.
 */
enum sirix_status sirix_query_next(struct sirix_query *query, size_t item_max, uint64_t budget_us,
                                   const struct sirix_query_item **out_items, size_t *out_count,
                                   bool *out_done, struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The first `count` items of the result are passed over without being written (where they are the members
 * of an array of the store, or one for each of these, without being looked at); before the first _next().
 * For pages.
 */
void sirix_query_skip(struct sirix_query *query, uint64_t count);

/* The revisions that it has read so far without being told which; NULL: no memory. */
const struct sirix_query_pin *sirix_query_pins(struct sirix_query *query, size_t *out_count);

/* The instant that fn:current-dateTime() gives. */
int64_t sirix_query_now_us(const struct sirix_query *query);

/* --- Updating ------------------------------------------------------------------------------------- */

/* A branch that the query changes. Names live as long as the query. */
struct sirix_query_touched {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_resource *store; /* The open resource. */
    uint64_t branch_id;
    struct sirix_bytes branch; /* Its name. */
    uint64_t revision;         /* Head that the query has read. */
    uint64_t changes;          /* Updating expressions that were evaluated for it. */
};

/*
 * Runs an updating query to its end: its changes are collected, checked against each other and kept;
 * nothing is written. The result of an updating query is empty.
 */
enum sirix_status sirix_query_evaluate(struct sirix_query *query,
                                       const struct sirix_query_touched **out_touched,
                                       size_t *out_count,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* What a commit gave, one a touched resource in the order of _evaluate(). */
struct sirix_query_committed {
    struct sirix_published published; /* Of an unchanged one: the revision that was read. */
    bool changed;
};

/*
 * Writes what _evaluate() collected: one revision in each touched resource, all in one commit, on disk
 * when it returns. Either all are made or none. SIRIX_CONFLICT (revision_moved): a head is not what was
 * read; prepare and evaluate again. committed holds as many entries as were touched.
 */
enum sirix_status sirix_query_commit(struct sirix_query *query,
                                     const struct sirix_edit_commit *commit,
                                     struct sirix_query_committed *committed,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
