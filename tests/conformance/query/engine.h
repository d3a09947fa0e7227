/*
 * The engine with a store for one case: a database in memory with one resource, whatever names the
 * case gives them.
 */
#ifndef SIRIX_TESTS_CONFORMANCE_QUERY_ENGINE_H
#define SIRIX_TESTS_CONFORMANCE_QUERY_ENGINE_H

#include "compare.h"
#include "query/query.h"
#include "unit/document/fixture.h"

enum { ENGINE_SECONDS_MAX = 20 };

struct engine {
    struct fixture store;
    struct sirix_arena *arena; /* Results and names. */
    bool has_document;
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_query_catalogue catalogue;
    const struct sirix_query_named *inputs;
    size_t input_count;
    int64_t deadline_us;
};

/* How a query is run. */
struct engine_options {
    bool jsoniq;
    bool naive;
};

void engine_open(struct engine *engine, struct sirix_arena *arena);
void engine_close(struct engine *engine);

/* Imports a text as the resource's first value. */
void engine_store(struct engine *engine, struct sirix_bytes database, struct sirix_bytes resource,
                  struct sirix_bytes text);

/*
 * One commit that makes the document that text: by the differences, so that the rest keeps its
 * keys.
 */
bool engine_bring_to(struct engine *engine, struct sirix_bytes text, struct sirix_error *err);

/* Runs a query and gives its items; changes of the store are committed. */
enum sirix_status engine_run(struct engine *engine, struct sirix_bytes query,
                             const struct engine_options *options, struct result_item **out_items,
                             size_t *out_count, struct sirix_query_error *err);

/*
 * Runs a query that prepares a case: jn:store() is an import, whatever makes an index is nothing,
 * and everything else is an update.
 */
bool engine_set_up(struct engine *engine, struct sirix_bytes query, struct sirix_query_error *err);

#endif
