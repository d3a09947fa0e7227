/*
 * Queries: a stream of items with a cursor that is pinned to what was read, and updates that become one
 * revision in each touched resource.
 */
#ifndef SIRIX_SERVICE_QUERY_H
#define SIRIX_SERVICE_QUERY_H

#include "query/query.h"
#include "service/write.h"

#define SIRIX_QUERY_MEMORY_BYTES_MAX (UINT64_C(4) * 1024 * 1024 * 1024)

enum {
    SIRIX_QUERY_CURSOR_BYTES_MAX = 64 * 1024,
    SIRIX_QUERY_TURN_US =
        10 * 1000, /* How long one turn gathers items after the first, or looks for it. */
};

/*
 * Which databases and resources a caller may see; what it may not see answers as what is not there.
 * NULL: everything. resource empty: whether anything of the database.
 */
typedef bool (*sirix_query_visible_fn)(void *context, struct sirix_bytes database,
                                       struct sirix_bytes resource);

/* Everything that is pointed to outlives the stream or update. */
struct sirix_query_request {
    struct sirix_bytes text;
    struct sirix_bytes database; /* Of the context item; both empty: there is none. */
    struct sirix_bytes resource;
    struct sirix_view_request view; /* Without a resource: a timestamp alone, or none. */
    bool with_nodes;                /* Items tell which nodes they are. */
    bool jsoniq;                    /* The dialect of a text that does not say. */
    const struct sirix_query_named *variables;
    size_t variable_count;
    uint64_t limit;            /* Items of this page; 0: all. */
    struct sirix_bytes cursor; /* Of the page before. SIRIX_INVALID (cursor): of another query. */
    struct sirix_query_limits limits;
    sirix_query_visible_fn visible;
    void *visible_context;
};

/* --- Reading ------------------------------------------------------------------------------------- */

struct sirix_query_stream;

/* Parses and plans; nothing is read yet. */
enum sirix_status sirix_query_stream_open(const struct sirix_request *request,
                                          const struct sirix_query_request *wanted,
                                          struct sirix_query_stream **out_stream,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the plan. Before the first _next(). */
enum sirix_status sirix_query_stream_explain(struct sirix_query_stream *stream,
                                             struct sirix_buf *out,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Items valid until the next call. */
struct sirix_query_page {
    const struct sirix_query_item *items;
    size_t count;
    bool done;                      /* No more come. */
    struct sirix_bytes next_cursor; /* done: where the next page begins; empty: there is none. */
};

/*
 * One turn of work: what was found in about SIRIX_QUERY_TURN_US or SIRIX_QUERY_BATCH_BYTES. It may be
 * nothing without being done: others had better have a turn, and then this one again.
 */
enum sirix_status sirix_query_stream_next(struct sirix_query_stream *stream,
                                          struct sirix_query_page *out_page,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* What it has read so far at a revision that it was not told; NULL: no memory. Until the next call. */
const struct sirix_query_pin *sirix_query_stream_reads(struct sirix_query_stream *stream,
                                                       size_t *out_count);
void sirix_query_stream_close(struct sirix_query_stream *stream);

/* --- Updating ------------------------------------------------------------------------------------ */

struct sirix_query_update;

/* One resource that was changed (or would have been). Names live as long as the update. */
struct sirix_query_update_result {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_bytes branch;
    struct sirix_write_result result;
    uint64_t changes; /* Updating expressions evaluated for it; 0 of a replayed call. */
};

/*
 * Checks the right to write, evaluates the query and finds the branches that it changes; nothing is
 * written. options.expected_revision is of the one touched resource: SIRIX_INVALID with several.
 */
enum sirix_status sirix_query_update_open(const struct sirix_request *request,
                                          const struct sirix_query_request *wanted,
                                          const struct sirix_write_options *options,
                                          struct sirix_query_update **out_update,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Instead of all that follows: what would be changed, of each resource the head that was read. */
void sirix_query_update_preview(struct sirix_query_update *update,
                                const struct sirix_query_update_result **out_results,
                                size_t *out_count);

/*
 * Asks for the turns of the touched branches, one after the other in one order for all. *out_waits true:
 * `ready` is called later, once, on another thread; call sirix_query_update_turn_came() then and this
 * again. *out_waits false: all turns are held.
 */
enum sirix_status sirix_query_update_take_turn(struct sirix_query_update *update,
                                               sirix_write_ready_fn ready, void *context,
                                               bool *out_waits,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_query_update_turn_came(struct sirix_query_update *update,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
/* Stops waiting; false: `ready` was or is being called. */
bool sirix_query_update_withdraw(struct sirix_query_update *update);

/*
 * With all turns: commits. Where a head has moved since the evaluation, the query is evaluated again on
 * what is there now; SIRIX_CONFLICT when it then touches other branches. Results live as long as the
 * update; none: the query changed nothing.
 */
enum sirix_status sirix_query_update_run(struct sirix_query_update *update,
                                         const struct sirix_query_update_result **out_results,
                                         size_t *out_count,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Gives turns and resources back. Not while it waits. NULL is allowed. */
void sirix_query_update_close(struct sirix_query_update *update);

#endif
