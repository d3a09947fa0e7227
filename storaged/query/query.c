/*
 * The door: one query from its text to its last item. Parsing, planning and evaluating all run on the
 * query's own stack, which stops whenever there is something to hand out.
 */
#include "query/query.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query/node/store.h"
#include "query/node/update.h"
#include "query/plan/build.h"
#include "query/plan/explain.h"
#include "query/plan/rewrite.h"
#include "query/query_batch.h"
#include "query/run/stack.h"
#include "query/run/update.h"
#include "query/syntax/parser.h"
#include "query/value/json.h"
#include "query/value/regex.h"

enum {
    YIELD_US = 3000, /* After this long the readers let go of what they have seen. */
    STORE_TABLES_MAX = 8,
};

enum phase {
    PHASE_PREPARING,
    PHASE_PREPARED,
    PHASE_RUNNING,
    PHASE_ENDED,
};

/* The thread sanitizer follows at most 65,536 calls a stack. */
#if defined(__SANITIZE_THREAD__)
#define STACK_BYTES (12 * 1024 * 1024)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STACK_BYTES (12 * 1024 * 1024)
#endif
#endif
#ifndef STACK_BYTES
#define STACK_BYTES SIRIX_QUERY_STACK_BYTES
#endif

struct sirix_query {
    struct sirix_query_options options;
    struct sirix_arena plan_arena;
    struct sirix_arena arena;
    struct sirix_arena scratch;
    struct sirix_arena frames;
    struct sirix_arena keep;
    struct sirix_arena global;
    struct sirix_stack *stack;
    struct sirix_query_store store;
    struct sirix_plan_query *plan;
    struct sirix_run run;
    struct sirix_updates updates;
    struct sirix_store_edits edits;
    enum phase phase;
    bool closing; /* Whatever runs gives up. */
    bool writing; /* An item into the batch. */
    enum sirix_status status;
    struct sirix_query_error error;
    uint64_t units; /* Passed so far, in steps of SIRIX_WORK_UNITS. */
    uint64_t units_max;
    uint64_t yielded_us;
    /* Items to hand out. */
    struct sirix_query_batch batch;
    size_t item_max;
    uint64_t budget_us;
    uint64_t resumed_us; /* When the batch was begun. */
    uint64_t first_us;   /* When its first item was found. */
    uint64_t skip;
    uint64_t results;
};

static uint64_t now_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

/* --- The functions that there are, once for all queries ---------------------------------------------- */

static pthread_once_t functions_once = PTHREAD_ONCE_INIT;
static struct sirix_function_set *functions;

static void make_functions(void)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES + STORE_TABLES_MAX];
    const struct sirix_function_table *from = NULL;
    const size_t count = sirix_function_library(tables);
    const size_t more = sirix_query_store_functions(&from);
    struct sirix_error err = {0};

    assert(more <= STORE_TABLES_MAX);
    memcpy(tables + count, from, more * sizeof(*from));
    if (sirix_function_set_new(tables, count + more, &functions, &err) != SIRIX_OK) {
        functions = NULL; /* Told by prepare. */
    }
}

/* --- Time and counts ---------------------------------------------------------------------------------- */

static enum sirix_status suspend(struct sirix_query *query, struct sirix_query_error *err)
{
    sirix_stack_suspend(query->stack);
    return query->closing ? sirix_fail(&err->base, SIRIX_CANCELLED, "the query is closed")
                          : SIRIX_OK;
}

static enum sirix_status check(void *context, struct sirix_query_error *err)
{
    struct sirix_query *query = context;
    enum sirix_status status = SIRIX_OK;

    query->units += SIRIX_WORK_UNITS;
    if (query->units > query->units_max) {
        return sirix_query_fail_limit(err, "items_visited",
                                      "the query has passed more than %llu items",
                                      (unsigned long long)query->units_max);
    }
    if (query->options.check != NULL) {
        status = query->options.check(query->options.context, &err->base);
    }
    if (status != SIRIX_OK || query->phase != PHASE_RUNNING) {
        return status;
    }
    const uint64_t now = now_us();
    if (now - query->yielded_us >= YIELD_US) {
        sirix_query_store_yield(&query->store);
        query->yielded_us = now;
    }
    /* Not in the middle of an item: what is written of it would be handed out, and the rest lost. */
    if (!query->writing && query->budget_us != 0 &&
        now - (query->batch.count != 0 ? query->first_us : query->resumed_us) >= query->budget_us) {
        status = suspend(query, err);
    }
    return status;
}

/* --- Items --------------------------------------------------------------------------------------------- */

struct result_sink {
    struct sirix_sink sink;
    struct sirix_query *query;
};

static enum sirix_status take_result(struct sirix_sink *sink, struct sirix_run *run,
                                     const struct sirix_item *item, struct sirix_query_error *err)
{
    struct sirix_query *query = ((struct result_sink *)sink)->query;

    (void)run;
    if (query->skip != 0) {
        query->skip--;
        return SIRIX_OK;
    }
    if (query->options.limits.results != 0 && query->results == query->options.limits.results) {
        return sirix_query_fail_limit(err, "results", "the query gives more than %llu items",
                                      (unsigned long long)query->options.limits.results);
    }
    query->writing = true;
    enum sirix_status status = sirix_query_batch_add(&query->batch, &query->store, &query->run.work,
                                                     item, query->options.with_nodes, err);
    query->writing = false;
    if (status != SIRIX_OK) {
        return status;
    }
    if (query->batch.count == 1 && query->budget_us != 0) {
        query->first_us = now_us();
    }
    query->results++;
    return query->batch.count == query->item_max ||
                   query->batch.texts.len >= SIRIX_QUERY_BATCH_BYTES
               ? suspend(query, err)
               : SIRIX_OK;
}

/* --- Preparing ------------------------------------------------------------------------------------------ */

static enum sirix_status no_external(void *context, const struct sirix_plan_global *global,
                                     struct sirix_sequence *out, bool *out_found,
                                     struct sirix_query_error *err)
{
    struct sirix_query *query = context;
    struct sirix_item item = {0};

    for (size_t i = 0; i < query->options.variable_count; i++) {
        const struct sirix_query_named *named = &query->options.variables[i];
        enum sirix_status status = SIRIX_OK;

        if (!sirix_bytes_equal(named->name, global->name)) {
            continue;
        }
        status = sirix_item_parse_json(&query->run.work, named->text, SIRIX_JSON_DOUBLES_REFUSE,
                                       &item, err);
        if (status == SIRIX_OK) {
            status = sirix_sequence_single(&query->run.work, item, out, err);
        }
        *out_found = status == SIRIX_OK;
        return status;
    }
    *out_found = false;
    return SIRIX_OK;
}

static enum sirix_status plan_text(struct sirix_query *query, struct sirix_bytes text,
                                   struct sirix_plan_query **out, struct sirix_query_error *err)
{
    const enum sirix_syntax_dialect dialect = query->options.dialect == SIRIX_QUERY_DIALECT_JSONIQ
                                                  ? SIRIX_SYNTAX_JSONIQ
                                                  : SIRIX_SYNTAX_SIRIX;
    struct sirix_work work = query->run.work;
    struct sirix_ast_module *module = NULL;
    struct sirix_plan_query *plan = NULL;
    enum sirix_status status = sirix_syntax_parse(&query->plan_arena, text, dialect, &module, err);

    work.arena = &query->plan_arena;
    if (status == SIRIX_OK) {
        status = sirix_plan_build(&work, functions, module, &plan, err);
    }
    if (status == SIRIX_OK && !query->options.naive) {
        status = sirix_plan_rewrite(&work, plan, err);
    }
    if (status == SIRIX_OK) {
        *out = plan;
    }
    return status;
}

static enum sirix_status prepare(struct sirix_query *query, struct sirix_query_error *err)
{
    struct sirix_work *work = &query->run.work;
    void *memory = NULL;
    enum sirix_status status = sirix_work_init(work, &query->arena, &query->scratch, err);

    if (status != SIRIX_OK) {
        return status;
    }
    work->check = check;
    work->check_context = query;
    if (query->options.has_now) {
        work->now_seconds = query->options.now_us / 1000000;
        work->now_nanoseconds = (uint32_t)(query->options.now_us % 1000000) * 1000;
    }
    status = plan_text(query, query->options.text, &query->plan, err);
    work->strict_truth = status == SIRIX_OK && query->plan->strict_truth;
    if (status == SIRIX_OK && query->plan->updating && !query->options.updating) {
        return sirix_query_fail_at(err, query->plan->updating_line, query->plan->updating_column,
                                   "XUST0001",
                                   "the query updates, and this call only reads: "
                                   "sirix_execute_update_query (UpdateQuery) runs it");
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(&query->plan_arena, query->plan->global_count + 1,
                                    sizeof(*query->run.globals), &memory, &err->base);
        query->run.globals = memory;
    }
    if (status == SIRIX_OK) {
        status = sirix_regex_cache_new(&query->keep, &work->regexes, err);
    }
    return status;
}

/* The plan of a text, as a query of this one's options would have it. */
static enum sirix_status explain_text(void *context, struct sirix_bytes text,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_query *query = context;
    struct sirix_plan_query *plan = NULL;
    struct sirix_buf shown;
    enum sirix_status status = SIRIX_OK;

    if (text.len > SIRIX_QUERY_TEXT_BYTES_MAX) {
        return sirix_query_fail_limit(err, "text_bytes", "a query's text has at most %d bytes",
                                      SIRIX_QUERY_TEXT_BYTES_MAX);
    }
    sirix_buf_init(&shown, SIRIX_ITEM_STRING_BYTES_MAX);
    status = plan_text(query, text, &plan, err);
    if (status == SIRIX_OK) {
        status = sirix_plan_explain(plan, &shown, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_item_new_string(&query->run.work, sirix_buf_view(&shown), out, err);
    }
    sirix_buf_deinit(&shown);
    return status;
}

/* --- Evaluating ----------------------------------------------------------------------------------------- */

static enum sirix_status set_context(struct sirix_query *query, struct sirix_query_error *err)
{
    struct sirix_run *run = &query->run;
    struct sirix_store_resource *resource = NULL;
    struct sirix_store_view *view = NULL;
    enum sirix_status status = SIRIX_OK;

    if (query->options.database.len != 0) {
        status = sirix_query_store_resource(&query->store, query->options.database,
                                            query->options.resource, &resource, err);
        if (status == SIRIX_OK) {
            status = sirix_query_store_asked(resource, &query->store, &view, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_store_root(&run->work, view, &run->focus.item, err);
        }
    } else if (query->plan->context != NULL) {
        struct sirix_slot *frame = NULL;

        status = sirix_run_frame(run, query->plan->context_slot_count, &frame, err);
        run->frame = frame;
        if (status == SIRIX_OK) {
            status = sirix_run_one(run, query->plan->context, &run->focus.item, err);
        }
        if (status == SIRIX_OK && run->focus.item.kind == SIRIX_ITEM_NONE) {
            return sirix_query_fail_at(err, query->plan->context->line,
                                       query->plan->context->column, "XPTY0004",
                                       "the context item is an empty sequence");
        }
    }
    run->focus.position = 1;
    run->focus.last = 1;
    run->initial_focus = run->focus;
    return status;
}

static enum sirix_status evaluate(struct sirix_query *query, struct sirix_query_error *err)
{
    struct result_sink result = {.sink = {.take = take_result, .want = UINT64_MAX}, .query = query};
    struct sirix_run *run = &query->run;
    enum sirix_status status = SIRIX_OK;

    query->yielded_us = now_us();
    if (query->options.want != 0) {
        result.sink.want = query->options.want;
    }
    if (!query->options.naive) {
        result.sink.skip = &query->skip;
    }
    run->frames = &query->frames;
    run->keep = &query->keep;
    run->global = &query->global;
    run->plan = query->plan;
    run->store = &sirix_query_store_ops;
    run->stack_floor = sirix_stack_floor(query->stack);
    run->naive = query->options.naive;
    run->external = no_external;
    run->explain = explain_text;
    run->external_context = query;
    run->evaluator =
        (struct sirix_evaluator){.run = run,
                                 .invoke = sirix_run_invoke,
                                 .functions = functions,
                                 .decimal_formats = query->plan->decimal_formats,
                                 .decimal_format_count = query->plan->decimal_format_count,
                                 .store = &query->store};
    query->updates.arena = &query->keep;
    run->updates = &query->updates;
    status = set_context(query, err);
    if (status == SIRIX_OK) {
        status = sirix_run_frame(run, query->plan->slot_count, &run->frame, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_run_push(run, query->plan->body, &result.sink, err);
    }
    if (status == SIRIX_RUN_STOP && run->leave == SIRIX_LEAVE_EXIT) {
        status = sirix_run_give(run, &run->exit_value, &result.sink, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_updates_apply(run, &query->updates, NULL, err);
    }
    return status;
}

/* Arenas do not know what they are of. */
static void name_limit(struct sirix_query *query)
{
    struct sirix_error *base = &query->error.base;

    if (query->status == SIRIX_EXHAUSTED && base->reason == SIRIX_REASON_SIZE_LIMIT &&
        base->field[0] == '\0') {
        sirix_error_set_field(base, "memory_bytes");
    }
}

static void work(void *context)
{
    struct sirix_query *query = context;

    query->status = prepare(query, &query->error);
    query->phase = PHASE_PREPARED;
    if (query->status == SIRIX_OK) {
        sirix_stack_suspend(query->stack);
        if (!query->closing) {
            query->phase = PHASE_RUNNING;
            query->status = evaluate(query, &query->error);
        }
        name_limit(query);
    }
    query->phase = PHASE_ENDED;
}

/* --- The door --------------------------------------------------------------------------------------------- */

static void init_arenas(struct sirix_query *query)
{
    const size_t limit = query->options.limits.memory_bytes != 0
                             ? query->options.limits.memory_bytes
                             : SIRIX_QUERY_MEMORY_BYTES_DEFAULT;

    sirix_arena_init(&query->plan_arena, limit);
    sirix_arena_init(&query->arena, limit);
    sirix_arena_init(&query->scratch, limit / 4);
    sirix_arena_init(&query->frames, limit / 4);
    sirix_arena_init(&query->keep, limit / 4);
    sirix_arena_init(&query->global, limit);
    sirix_query_batch_init(&query->batch, limit);
}

enum sirix_status sirix_query_prepare(const struct sirix_query_options *options,
                                      struct sirix_query **out_query, struct sirix_query_error *err)
{
    struct sirix_query *query = NULL;
    enum sirix_status status = SIRIX_OK;

    if (options->text.len > SIRIX_QUERY_TEXT_BYTES_MAX) {
        return sirix_query_fail_limit(err, "text_bytes", "a query's text has at most %d bytes",
                                      SIRIX_QUERY_TEXT_BYTES_MAX);
    }
    (void)pthread_once(&functions_once, make_functions); /* Cannot fail for a valid once. */
    query = calloc(1, sizeof(*query));
    if (query == NULL || functions == NULL) {
        free(query);
        return sirix_fail(&err->base, SIRIX_NO_MEMORY, "no memory for a query");
    }
    query->options = *options;
    query->units_max = options->limits.items_visited != 0 ? options->limits.items_visited
                                                          : SIRIX_QUERY_ITEMS_VISITED_DEFAULT;
    init_arenas(query);
    sirix_query_store_init(&query->store, &query->options);
    status = sirix_stack_new(STACK_BYTES, work, query, &query->stack, &err->base);
    if (status == SIRIX_OK) {
        sirix_stack_resume(query->stack);
        status = query->status;
        *err = status == SIRIX_OK ? *err : query->error;
    }
    if (status != SIRIX_OK) {
        sirix_query_close(query);
        return status;
    }
    *out_query = query;
    return SIRIX_OK;
}

void sirix_query_close(struct sirix_query *query)
{
    if (query == NULL) {
        return;
    }
    query->closing = true;
    while (query->stack != NULL && !sirix_stack_ended(query->stack)) {
        sirix_stack_resume(query->stack);
    }
    sirix_store_edits_deinit(&query->edits);
    sirix_stack_free(query->stack);
    sirix_query_store_deinit(&query->store);
    sirix_query_batch_deinit(&query->batch);
    sirix_arena_deinit(&query->global);
    sirix_arena_deinit(&query->keep);
    sirix_arena_deinit(&query->frames);
    sirix_arena_deinit(&query->scratch);
    sirix_arena_deinit(&query->arena);
    sirix_arena_deinit(&query->plan_arena);
    free(query);
}

bool sirix_query_is_updating(const struct sirix_query *query)
{
    return query->plan->updating;
}

enum sirix_status sirix_query_explain(struct sirix_query *query, struct sirix_buf *out,
                                      struct sirix_query_error *err)
{
    return sirix_plan_explain(query->plan, out, err);
}

void sirix_query_skip(struct sirix_query *query, uint64_t count)
{
    assert(query->phase == PHASE_PREPARED);
    query->skip = count;
}

enum sirix_status sirix_query_next(struct sirix_query *query, size_t item_max, uint64_t budget_us,
                                   const struct sirix_query_item **out_items, size_t *out_count,
                                   bool *out_done, struct sirix_query_error *err)
{
    query->item_max = item_max == 0 || item_max > SIRIX_QUERY_BATCH_ITEMS_MAX
                          ? SIRIX_QUERY_BATCH_ITEMS_MAX
                          : item_max;
    query->budget_us = budget_us;
    query->resumed_us = budget_us != 0 ? now_us() : 0;
    sirix_query_batch_clear(&query->batch);
    if (query->phase != PHASE_ENDED) {
        sirix_stack_resume(query->stack);
    }
    sirix_query_store_yield(&query->store); /* Whoever is slow to ask again holds no transaction. */
    if (query->phase == PHASE_ENDED && query->status != SIRIX_OK) {
        *err = query->error;
        return query->status;
    }
    *out_items = sirix_query_batch_items(&query->batch);
    *out_count = query->batch.count;
    *out_done = query->phase == PHASE_ENDED;
    return SIRIX_OK;
}

const struct sirix_query_pin *sirix_query_pins(struct sirix_query *query, size_t *out_count)
{
    struct sirix_query_error err = {0};

    if (sirix_query_store_pins(&query->store, &err) != SIRIX_OK) {
        return NULL;
    }
    *out_count = query->store.pin_count;
    return query->store.pins;
}

int64_t sirix_query_now_us(const struct sirix_query *query)
{
    return query->run.work.now_seconds * 1000000 + query->run.work.now_nanoseconds / 1000;
}

/* --- Updating --------------------------------------------------------------------------------------------- */

enum sirix_status sirix_query_evaluate(struct sirix_query *query,
                                       const struct sirix_query_touched **out_touched,
                                       size_t *out_count, struct sirix_query_error *err)
{
    const struct sirix_query_item *items = NULL;
    size_t count = 0;
    bool done = false;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && !done) {
        status = sirix_query_next(query, 0, 0, &items, &count, &done, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_store_edits_plan(&query->edits, &query->store, &query->updates, err);
    }
    if (status == SIRIX_OK) {
        *out_touched = query->edits.touched;
        *out_count = query->edits.count;
    }
    return status;
}

enum sirix_status sirix_query_commit(struct sirix_query *query,
                                     const struct sirix_edit_commit *commit,
                                     struct sirix_query_committed *committed,
                                     struct sirix_query_error *err)
{
    return sirix_store_edits_commit(&query->edits, &query->run.work, &query->updates, commit,
                                    query->options.check, query->options.context, committed, err);
}
