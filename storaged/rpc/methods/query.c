/* Query: items as they are found, then the end. UpdateQuery: one commit under the turns it needs. */
#include "service/query.h"

#include "rpc/methods/codec.h"
#include "service/scope.h"

enum { PLAN_BYTES_MAX = 3 * 1024 * 1024, READS_MAX = 64 };

/* --- Requests ----------------------------------------------------------------------------------- */

/* What both requests have in common, and where it is kept as long as the call lives. */
struct query_part {
    ProtobufCBinaryData text;
    ProtobufCBinaryData database;
    ProtobufCBinaryData resource;
    Sirix__Storage__V1__QueryDialect dialect;
    Sirix__Storage__V1__QueryVariable *const *variables;
    size_t variable_count;
    const Sirix__Storage__V1__Scope *scope;
    const Sirix__Storage__V1__QueryLimits *limits;
};

/* The fields have the same names in both. */
#define PART_OF(request)                                                                           \
    {                                                                                              \
        .text = (request)->query, .database = (request)->database,                                 \
        .resource = (request)->resource, .dialect = (request)->dialect,                            \
        .variables = (request)->variables, .variable_count = (request)->n_variables,               \
        .scope = (request)->scope, .limits = (request)->limits                                     \
    }

static enum sirix_status take_names(struct sirix_rpc_call *call, const ProtobufCBinaryData *from,
                                    size_t count, struct sirix_scope_list *out,
                                    struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(sirix_rpc_call_arena(call), count,
                                                  sizeof(struct sirix_bytes), &memory, err);
    struct sirix_bytes *names = memory;

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = sirix_rpc_bytes(from[i]);
    }
    *out = (struct sirix_scope_list){.given = true, .names = names, .count = count};
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_scope(struct sirix_rpc_call *call,
                                  const Sirix__Storage__V1__Scope *from, struct sirix_scope **out,
                                  struct sirix_error *err)
{
    struct sirix_arena *arena = sirix_rpc_call_arena(call);
    struct sirix_scope_rule *rules = NULL;
    struct sirix_scope *scope = NULL;
    void *memory = NULL;

    if (from == NULL) {
        *out = NULL;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_calloc(arena, 1, sizeof(*scope), &memory, err);
    if (status == SIRIX_OK) {
        scope = memory;
        status = sirix_arena_calloc(arena, from->n_allow_resources, sizeof(*rules), &memory, err);
    }
    if (status == SIRIX_OK) {
        rules = memory;
        status = take_names(call, from->deny_databases, from->n_deny_databases,
                            &scope->deny_databases, err);
    }
    if (status == SIRIX_OK && from->allow_databases != NULL) {
        status = take_names(call, from->allow_databases->names, from->allow_databases->n_names,
                            &scope->allow_databases, err);
    }
    for (size_t i = 0; i < from->n_allow_resources && status == SIRIX_OK; i++) {
        const Sirix__Storage__V1__ScopeRule *rule = from->allow_resources[i];

        rules[i].database = sirix_rpc_bytes(rule->database);
        status = take_names(call, rule->resources, rule->n_resources, &rules[i].resources, err);
    }
    if (status == SIRIX_OK) {
        scope->rules = rules;
        scope->rule_count = from->n_allow_resources;
        *out = scope;
    }
    return status;
}

static enum sirix_status take_part(struct sirix_rpc_call *call, const struct query_part *part,
                                   struct sirix_query_request *wanted, struct sirix_error *err)
{
    struct sirix_query_named *variables = NULL;
    struct sirix_scope *scope = NULL;
    void *memory = NULL;

    if ((unsigned)part->dialect > SIRIX__STORAGE__V1__QUERY_DIALECT__QUERY_DIALECT_JSONIQ) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "the dialect is none that this version knows");
        sirix_error_set_field(err, "dialect");
        return SIRIX_INVALID;
    }
    enum sirix_status status = sirix_arena_calloc(sirix_rpc_call_arena(call), part->variable_count,
                                                  sizeof(*variables), &memory, err);
    if (status == SIRIX_OK) {
        variables = memory;
        status = sirix_rpc_scope(call, part->scope, &scope, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < part->variable_count; i++) {
        variables[i].name = sirix_rpc_bytes(part->variables[i]->name);
        variables[i].text = sirix_rpc_bytes(part->variables[i]->json);
    }
    wanted->text = sirix_rpc_bytes(part->text);
    wanted->database = sirix_rpc_bytes(part->database);
    wanted->resource = sirix_rpc_bytes(part->resource);
    wanted->jsoniq = part->dialect == SIRIX__STORAGE__V1__QUERY_DIALECT__QUERY_DIALECT_JSONIQ;
    wanted->variables = variables;
    wanted->variable_count = part->variable_count;
    if (scope != NULL) {
        wanted->visible = sirix_scope_allows;
        wanted->visible_context = scope;
    }
    if (part->limits != NULL) {
        wanted->limits.memory_bytes = part->limits->memory_bytes;
        wanted->limits.items_visited = part->limits->items_visited;
    }
    return SIRIX_OK;
}

/* --- Query -------------------------------------------------------------------------------------- */

struct query_state {
    struct sirix_query_stream *stream;
    uint64_t count;
    struct sirix_bytes next_cursor; /* Once no more items come. */
    bool done;                      /* No more items come: the end is next. */
    bool ending;                    /* The end is on its way. */
};

static enum sirix_status send_end(struct sirix_rpc_call *call, struct query_state *query,
                                  struct sirix_error *err)
{
    Sirix__Storage__V1__QueryResponse answer = SIRIX__STORAGE__V1__QUERY_RESPONSE__INIT;
    Sirix__Storage__V1__QueryEnd end = SIRIX__STORAGE__V1__QUERY_END__INIT;
    size_t count = 0;
    void *messages = NULL;
    void **list = NULL;
    const struct sirix_query_pin *reads = sirix_query_stream_reads(query->stream, &count);

    if (reads == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for what a query has read");
    }
    count = count > READS_MAX ? READS_MAX : count;
    enum sirix_status status =
        sirix_rpc_list(call, count, sizeof(Sirix__Storage__V1__QueryRead), &messages, &list, err);
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        Sirix__Storage__V1__QueryRead *read = list[i];

        sirix__storage__v1__query_read__init(read);
        read->database = sirix_rpc_binary(reads[i].database);
        read->resource = sirix_rpc_binary(reads[i].resource);
        read->revision = reads[i].revision;
    }
    query->ending = true;
    end.count = query->count;
    end.next_cursor = sirix_rpc_binary(query->next_cursor);
    end.n_reads = count;
    end.reads = (Sirix__Storage__V1__QueryRead **)list;
    answer.part_case = SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_END;
    answer.end = &end;
    return sirix_rpc_call_write(call, &answer.base, err);
}

/* One message an item, and one for its node; in the call's arena. */
static enum sirix_status item_messages(struct sirix_rpc_call *call,
                                       const struct sirix_query_page *page, void ***out_list,
                                       struct sirix_error *err)
{
    void *items = NULL;
    void *nodes = NULL;
    void **node_list = NULL;
    enum sirix_status status = sirix_rpc_list(
        call, page->count, sizeof(Sirix__Storage__V1__QueryItem), &items, out_list, err);

    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, page->count, sizeof(Sirix__Storage__V1__QueryNode), &nodes,
                                &node_list, err);
    }
    for (size_t i = 0; i < page->count && status == SIRIX_OK; i++) {
        const struct sirix_query_item *from = &page->items[i];
        Sirix__Storage__V1__QueryItem *to = (*out_list)[i];
        Sirix__Storage__V1__QueryNode *node = node_list[i];

        sirix__storage__v1__query_item__init(to);
        to->json = sirix_rpc_binary(from->json);
        if (from->node_key != 0) {
            sirix__storage__v1__query_node__init(node);
            node->node_key = from->node_key;
            node->path = sirix_rpc_binary(from->path);
            node->revision = from->revision;
            node->database = sirix_rpc_binary(from->database);
            node->resource = sirix_rpc_binary(from->resource);
            to->node = node;
        }
    }
    return status;
}

static enum sirix_status send_items(struct sirix_rpc_call *call, struct query_state *query,
                                    struct sirix_error *err)
{
    Sirix__Storage__V1__QueryResponse answer = SIRIX__STORAGE__V1__QUERY_RESPONSE__INIT;
    Sirix__Storage__V1__QueryItems items = SIRIX__STORAGE__V1__QUERY_ITEMS__INIT;
    struct sirix_arena *arena = sirix_rpc_call_arena(call);
    struct sirix_arena_mark mark = sirix_arena_mark(arena);
    struct sirix_query_page page = {0};
    void **list = NULL;

    enum sirix_status status = sirix_query_stream_next(query->stream, &page, err);
    if (status != SIRIX_OK) {
        return status;
    }
    query->count += page.count;
    query->done = page.done;
    query->next_cursor = page.next_cursor;
    if (page.count == 0 && page.done) {
        return send_end(call, query, err);
    }
    if (page.count ==
        0) { /* It takes long: calls that wait for a worker come before its next turn. */
        sirix_rpc_call_wake(call);
        return SIRIX_OK;
    }
    status = item_messages(call, &page, &list, err);
    if (status == SIRIX_OK) {
        items.n_items = page.count;
        items.items = (Sirix__Storage__V1__QueryItem **)list;
        answer.part_case = SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_ITEMS;
        answer.items = &items;
        status = sirix_rpc_call_write(call, &answer.base, err);
    }
    sirix_arena_rewind(arena, mark); /* Packed: a long result needs no more than one batch. */
    return status;
}

static enum sirix_status send_plan(struct sirix_rpc_call *call, struct query_state *query,
                                   struct sirix_error *err)
{
    Sirix__Storage__V1__QueryResponse answer = SIRIX__STORAGE__V1__QUERY_RESPONSE__INIT;
    struct sirix_buf plan;

    sirix_buf_init(&plan, PLAN_BYTES_MAX);
    enum sirix_status status = sirix_query_stream_explain(query->stream, &plan, err);
    if (status == SIRIX_OK) {
        query->done = true;
        answer.part_case = SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_PLAN;
        answer.plan = sirix_rpc_binary(sirix_buf_view(&plan));
        status = sirix_rpc_call_write(call, &answer.base, err);
    }
    sirix_buf_deinit(&plan);
    return status;
}

static enum sirix_status query_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__QueryRequest *request =
        (const Sirix__Storage__V1__QueryRequest *)message;
    struct query_state *query = state;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct query_part part = PART_OF(request);
    struct sirix_query_request wanted = {
        .view = sirix_rpc_view(request->view),
        .limit = request->limit,
        .cursor = sirix_rpc_bytes(request->cursor),
        .with_nodes = request->with_nodes,
    };

    enum sirix_status status = take_part(call, &part, &wanted, err);
    if (status == SIRIX_OK) {
        status = sirix_query_stream_open(&who, &wanted, &query->stream, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return request->explain ? send_plan(call, query, err) : send_items(call, query, err);
}

static enum sirix_status query_written(struct sirix_rpc_call *call, void *state,
                                       struct sirix_error *err)
{
    struct query_state *query = state;

    if (query->ending) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    return query->done ? send_end(call, query, err) : send_items(call, query, err);
}

static enum sirix_status query_woken(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    return send_items(call, state, err);
}

static void query_ended(void *state)
{
    sirix_query_stream_close(((struct query_state *)state)->stream);
}

/* --- UpdateQuery -------------------------------------------------------------------------------- */

struct update_state {
    struct sirix_rpc_call *call;
    struct sirix_query_update *update;
    bool waits;
};

static enum sirix_status update_reply(struct sirix_rpc_call *call,
                                      const struct sirix_query_update_result *results, size_t count,
                                      struct sirix_error *err)
{
    Sirix__Storage__V1__UpdateQueryResponse answer =
        SIRIX__STORAGE__V1__UPDATE_QUERY_RESPONSE__INIT;
    void *messages = NULL;
    void **list = NULL;
    void **write_list = NULL;
    enum sirix_status status =
        sirix_rpc_list(call, count, sizeof(Sirix__Storage__V1__QueryUpdate), &messages, &list, err);

    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, count, sizeof(Sirix__Storage__V1__WriteResult), &messages,
                                &write_list, err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        Sirix__Storage__V1__QueryUpdate *to = list[i];

        sirix__storage__v1__query_update__init(to);
        to->database = sirix_rpc_binary(results[i].database);
        to->resource = sirix_rpc_binary(results[i].resource);
        to->branch = sirix_rpc_binary(results[i].branch);
        to->changes = results[i].changes;
        to->result = write_list[i];
        sirix_rpc_write_result(&results[i].result, to->result);
    }
    answer.n_updates = count;
    answer.updates = (Sirix__Storage__V1__QueryUpdate **)list;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

/*
 * The state lives until the answer has been taken, which may be long after: readers and turns are not
 * held until then.
 */
static void update_close(struct update_state *state)
{
    sirix_query_update_close(state->update);
    state->update = NULL;
}

static enum sirix_status update_run(struct sirix_rpc_call *call, struct update_state *state,
                                    struct sirix_error *err)
{
    const struct sirix_query_update_result *results = NULL;
    size_t count = 0;
    enum sirix_status status = sirix_query_update_run(state->update, &results, &count, err);

    if (status == SIRIX_OK) {
        status = update_reply(call, results, count, err);
    }
    update_close(state);
    return status;
}

/* On another thread; the reference keeps the call there until this is over. */
static void update_ready(void *context)
{
    struct sirix_rpc_call *call = ((struct update_state *)context)->call;

    sirix_rpc_call_wake(call);
    sirix_rpc_call_unref(call);
}

/* Takes the turns that are to be had; with all of them the update runs. */
static enum sirix_status update_take_turns(struct sirix_rpc_call *call, struct update_state *state,
                                           struct sirix_error *err)
{
    bool waits = false;

    /* Set before: the grant may come on another thread before this one goes on. */
    state->waits = true;
    sirix_rpc_call_ref(call);
    enum sirix_status status =
        sirix_query_update_take_turn(state->update, update_ready, state, &waits, err);
    if (status == SIRIX_OK && waits) {
        return SIRIX_OK;
    }
    state->waits = false;
    sirix_rpc_call_unref(call);
    return status == SIRIX_OK ? update_run(call, state, err) : status;
}

static enum sirix_status update_preview(struct sirix_rpc_call *call, struct update_state *state,
                                        struct sirix_error *err)
{
    const struct sirix_query_update_result *results = NULL;
    size_t count = 0;

    sirix_query_update_preview(state->update, &results, &count);
    enum sirix_status status = update_reply(call, results, count, err);
    update_close(state);
    return status;
}

static enum sirix_status update_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__UpdateQueryRequest *request =
        (const Sirix__Storage__V1__UpdateQueryRequest *)message;
    struct update_state *update = state;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct query_part part = PART_OF(request);
    struct sirix_query_request wanted = {.limit = 0};
    struct sirix_write_options options;

    if (request->branch.len != 0) {
        wanted.view.which = SIRIX_VIEW_WHICH_BRANCH;
        wanted.view.name = sirix_rpc_bytes(request->branch);
    }
    update->call = call;
    enum sirix_status status = take_part(call, &part, &wanted, err);
    if (status == SIRIX_OK) {
        status = sirix_rpc_write_options(request->options, message, &options, err);
    }
    if (status == SIRIX_OK && request->dry_run && options.idempotency_key.len != 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a dry run changes nothing and takes no idempotency key");
        sirix_error_set_field(err, "options.idempotency_key");
    }
    if (status == SIRIX_OK) {
        status = sirix_query_update_open(&who, &wanted, &options, &update->update, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return request->dry_run ? update_preview(call, update, err)
                            : update_take_turns(call, update, err);
}

static enum sirix_status update_woken(struct sirix_rpc_call *call, void *state,
                                      struct sirix_error *err)
{
    struct update_state *update = state;

    if (!update->waits) {
        return SIRIX_OK;
    }
    update->waits = false;
    enum sirix_status status = sirix_query_update_turn_came(update->update, err);
    return status == SIRIX_OK ? update_take_turns(call, update, err) : status;
}

static void stop_waiting(struct sirix_rpc_call *call, struct update_state *update)
{
    if (update->waits && sirix_query_update_withdraw(update->update)) {
        update->waits = false;
        sirix_rpc_call_unref(call);
    }
}

static void update_cancelled(struct sirix_rpc_call *call, void *state)
{
    stop_waiting(call, state);
}

static enum sirix_status update_draining(struct sirix_rpc_call *call, void *state,
                                         struct sirix_error *err)
{
    struct update_state *update = state;

    if (!update->waits) {
        return SIRIX_OK; /* It runs, or its turn has just come: it may end within the grace time. */
    }
    stop_waiting(call, update);
    return update->waits ? SIRIX_OK
                         : sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_SHUTTING_DOWN,
                                             "the server is shutting down; nothing was changed");
}

static void update_ended(void *state)
{
    update_close(state);
}

const struct sirix_rpc_method sirix_rpc_query_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Query"),
        .request = &sirix__storage__v1__query_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct query_state),
        .start = query_start,
        .written = query_written,
        .woken = query_woken,
        .ended = query_ended,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("UpdateQuery"),
        .request = &sirix__storage__v1__update_query_request__descriptor,
        .writes = true,
        .state_bytes = sizeof(struct update_state),
        .start = update_start,
        .woken = update_woken,
        .cancelled = update_cancelled,
        .draining = update_draining,
        .ended = update_ended,
    },
    {.path = NULL},
};
