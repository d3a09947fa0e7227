/* Queries. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>

enum { REQUEST_BYTES_MAX = 64 * 1024 * 1024 };

struct sirix_query_stream {
    struct sirix_stream stream;
    const ProtobufCMessage *first; /* The message that opening has waited for, until it is given. */
    struct sirix_arena kept;       /* Of the end, which is told when the stream has ended well. */
    struct sirix_query_part end;
    bool complete;
};

/* --- Requests ----------------------------------------------------------------------------------- */

/* What both requests have in common, as messages in an arena. */
struct query_part {
    PB(QueryVariable) * *variables;
    PB(Scope) * scope;
    PB(QueryLimits) limits;
};

static enum sirix_status encode_names(struct sirix_arena *arena, const char *const *names,
                                      size_t count, ProtobufCBinaryData **out,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, count, out, err);

    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        (*out)[i] = sirix_message_from_str(names[i]);
    }
    return status;
}

static enum sirix_status encode_rules(struct sirix_arena *arena, const struct sirix_scope *scope,
                                      PB(Scope) * message, struct sirix_error *err)
{
    PB(ScopeRule) *rules = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, scope->allow_resource_count, &rules, err);

    if (status == SIRIX_OK) {
        status =
            /* NOLINTNEXTLINE(bugprone-sizeof-expression): protobuf-c wants an array of pointers. */
            SIRIX_ANSWER_ARRAY(arena, scope->allow_resource_count, &message->allow_resources, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < scope->allow_resource_count; i++) {
        const struct sirix_scope_rule *rule = &scope->allow_resources[i];

        sirix__storage__v1__scope_rule__init(&rules[i]);
        rules[i].database = sirix_message_from_str(rule->database);
        rules[i].n_resources = rule->resource_count;
        message->allow_resources[i] = &rules[i];
        status =
            encode_names(arena, rule->resources, rule->resource_count, &rules[i].resources, err);
    }
    message->n_allow_resources = scope->allow_resource_count;
    return status;
}

enum sirix_status sirix_encode_scope(struct sirix_arena *arena, const struct sirix_scope *scope,
                                     PB(Scope) * *out, struct sirix_error *err)
{
    PB(Scope) *message = NULL;
    PB(NameList) *allowed = NULL;

    if (scope == NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, 1, &message, err);
    if (status == SIRIX_OK) {
        status = SIRIX_ANSWER_ARRAY(arena, 1, &allowed, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix__storage__v1__scope__init(message);
    sirix__storage__v1__name_list__init(allowed);
    message->n_deny_databases = scope->deny_database_count;
    status = encode_names(arena, scope->deny_databases, scope->deny_database_count,
                          &message->deny_databases, err);
    if (status == SIRIX_OK && scope->has_allow_databases) {
        message->allow_databases = allowed;
        allowed->n_names = scope->allow_database_count;
        status = encode_names(arena, scope->allow_databases, scope->allow_database_count,
                              &allowed->names, err);
    }
    if (status == SIRIX_OK) {
        status = encode_rules(arena, scope, message, err);
    }
    *out = message;
    return status;
}

static enum sirix_status encode_part(struct sirix_arena *arena,
                                     const struct sirix_query_variable *variables, size_t count,
                                     const struct sirix_scope *scope, struct query_part *part,
                                     struct sirix_error *err)
{
    PB(QueryVariable) *messages = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, count, &messages, err);

    if (status == SIRIX_OK) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): protobuf-c wants an array of pointers. */
        status = SIRIX_ANSWER_ARRAY(arena, count, &part->variables, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        sirix__storage__v1__query_variable__init(&messages[i]);
        messages[i].name = sirix_message_from_str(variables[i].name);
        messages[i].json = sirix_message_from_bytes(variables[i].json);
        part->variables[i] = &messages[i];
    }
    return status == SIRIX_OK ? sirix_encode_scope(arena, scope, &part->scope, err) : status;
}

static PB(QueryLimits) * encode_limits(struct query_part *part, uint64_t memory, uint64_t visited)
{
    sirix__storage__v1__query_limits__init(&part->limits);
    part->limits.memory_bytes = memory;
    part->limits.items_visited = visited;
    return memory != 0 || visited != 0 ? &part->limits : NULL;
}

static PB(QueryDialect) encode_dialect(bool jsoniq)
{
    return jsoniq ? SIRIX__STORAGE__V1__QUERY_DIALECT__QUERY_DIALECT_JSONIQ
                  : SIRIX__STORAGE__V1__QUERY_DIALECT__QUERY_DIALECT_UNSPECIFIED;
}

/* --- Reading ------------------------------------------------------------------------------------ */

enum sirix_status sirix_client_query(struct sirix_client *client,
                                     const struct sirix_query_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_query_stream **out_stream,
                                     struct sirix_error *err)
{
    PB(QueryRequest) message = PB_INIT(QUERY_REQUEST);
    PB(View) view;
    struct query_part part = {0};
    struct sirix_arena arena;
    struct sirix_unary what = {
        .method = SIRIX_METHOD_QUERY,
        .request = &message.base,
        .answer_type = PB_TYPE(query_response),
    };
    struct sirix_query_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    sirix_arena_init(&arena, REQUEST_BYTES_MAX);
    sirix_arena_init(&stream->kept, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    enum sirix_status status = encode_part(&arena, request->variables, request->variable_count,
                                           request->scope, &part, err);
    message.query = sirix_message_from_bytes(request->query);
    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.view = sirix_encode_view(&request->view, &view);
    message.limit = request->limit;
    message.cursor = sirix_message_from_bytes(request->cursor);
    message.explain = request->explain;
    message.dialect = encode_dialect(request->jsoniq);
    message.with_nodes = request->with_nodes;
    message.n_variables = request->variable_count;
    message.variables = part.variables;
    message.scope = part.scope;
    message.limits = encode_limits(&part, request->memory_bytes_max, request->items_visited_max);
    if (status == SIRIX_OK) {
        status = sirix_stream_open(&stream->stream, client, &what, call, &stream->first, err);
    }
    sirix_arena_deinit(&arena);
    if (status != SIRIX_OK) {
        sirix_arena_deinit(&stream->kept);
        free(stream);
        return status;
    }
    *out_stream = stream;
    return SIRIX_OK;
}

static enum sirix_status decode_items(struct sirix_arena *arena, const PB(QueryItems) * list,
                                      struct sirix_query_part *out_part, struct sirix_error *err)
{
    struct sirix_query_item *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, list->n_items, &items, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < list->n_items; i++) {
        const PB(QueryNode) *node = list->items[i]->node;

        items[i].json = sirix_message_bytes(list->items[i]->json);
        if (node != NULL) {
            items[i].node_key = node->node_key;
            items[i].path = sirix_message_bytes(node->path);
            items[i].revision = node->revision;
            items[i].database = sirix_message_bytes(node->database);
            items[i].resource = sirix_message_bytes(node->resource);
        }
    }
    *out_part = (struct sirix_query_part){
        .kind = SIRIX_QUERY_PART_ITEMS, .items = items, .count = list->n_items};
    return SIRIX_OK;
}

/* Into memory that outlives the message: it is told when the stream has ended. */
static enum sirix_status keep_end(struct sirix_query_stream *stream, const PB(QueryEnd) * end,
                                  struct sirix_error *err)
{
    struct sirix_query_read *reads = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(&stream->kept, end->n_reads, &reads, err);

    for (size_t i = 0; status == SIRIX_OK && i < end->n_reads; i++) {
        const PB(QueryRead) *from = end->reads[i];

        reads[i].revision = from->revision;
        status = sirix_arena_copy(&stream->kept, sirix_message_bytes(from->database),
                                  &reads[i].database, err);
        if (status == SIRIX_OK) {
            status = sirix_arena_copy(&stream->kept, sirix_message_bytes(from->resource),
                                      &reads[i].resource, err);
        }
    }
    stream->end = (struct sirix_query_part){
        .kind = SIRIX_QUERY_PART_END, .reads = reads, .read_count = end->n_reads};
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&stream->kept, sirix_message_bytes(end->next_cursor),
                                  &stream->end.next_cursor, err);
    }
    stream->complete = status == SIRIX_OK;
    return status;
}

/* Takes one message; whether out_part has something now: the end is kept until the call is over. */
static enum sirix_status take_message(struct sirix_query_stream *stream,
                                      const PB(QueryResponse) * part,
                                      struct sirix_query_part *out_part, bool *out_is_part,
                                      struct sirix_error *err)
{
    switch (part->part_case) {
    case SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_ITEMS:
        *out_is_part = true;
        return decode_items(&stream->stream.arena, part->items, out_part, err);
    case SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_PLAN:
        *out_is_part = true;
        *out_part = (struct sirix_query_part){.kind = SIRIX_QUERY_PART_PLAN,
                                              .plan = sirix_message_bytes(part->plan)};
        return SIRIX_OK;
    case SIRIX__STORAGE__V1__QUERY_RESPONSE__PART_END:
        return keep_end(stream, part->end, err);
    default:
        return SIRIX_OK; /* What a newer server adds. */
    }
}

enum sirix_status sirix_query_stream_next(struct sirix_query_stream *stream,
                                          struct sirix_query_part *out_part,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool is_part = false;

    while (status == SIRIX_OK && !is_part) {
        const ProtobufCMessage *message = stream->first;

        stream->first = NULL;
        if (message == NULL) {
            status = sirix_stream_next(&stream->stream, &message, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (message == NULL && !stream->complete) {
            return sirix_stream_fail_order("a query without its end", err);
        }
        if (message == NULL) {
            *out_part = stream->end;
            return SIRIX_OK;
        }
        status = take_message(stream, (const void *)message, out_part, &is_part, err);
    }
    return status;
}

void sirix_query_stream_close(struct sirix_query_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        sirix_arena_deinit(&stream->kept);
        free(stream);
    }
}

/* --- Updating ----------------------------------------------------------------------------------- */

static enum sirix_status fill_updates(struct sirix_arena *arena, const ProtobufCMessage *message,
                                      void *answer, struct sirix_error *err)
{
    const PB(UpdateQueryResponse) *from = (const void *)message;
    struct sirix_update_query_result *result = answer;
    struct sirix_query_update *updates = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_updates, &updates, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_updates; i++) {
        const PB(QueryUpdate) *update = from->updates[i];

        updates[i].result = sirix_decode_write(update->result);
        updates[i].changes = update->changes;
        status = sirix_answer_name(arena, update->database, &updates[i].database, err);
        if (status == SIRIX_OK) {
            status = sirix_answer_name(arena, update->resource, &updates[i].resource, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_answer_name(arena, update->branch, &updates[i].branch, err);
        }
    }
    *result = (struct sirix_update_query_result){.updates = updates, .count = from->n_updates};
    return status;
}

enum sirix_status sirix_client_update_query(struct sirix_client *client,
                                            const struct sirix_update_query_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_update_query_result **out_result,
                                            struct sirix_error *err)
{
    PB(UpdateQueryRequest) message = PB_INIT(UPDATE_QUERY_REQUEST);
    PB(WriteOptions) options;
    struct query_part part = {0};
    struct sirix_arena arena;
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_UPDATE_QUERY,
        .request = &message.base,
        .answer_type = PB_TYPE(update_query_response),
        .repeat = request->dry_run ? SIRIX_REPEAT_DRY_RUN : sirix_write_repeat(&request->write),
    };
    void *answer = NULL;

    sirix_arena_init(&arena, REQUEST_BYTES_MAX);
    enum sirix_status status = encode_part(&arena, request->variables, request->variable_count,
                                           request->scope, &part, err);
    message.query = sirix_message_from_bytes(request->query);
    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.branch = sirix_message_from_str(request->branch);
    message.dry_run = request->dry_run;
    message.options = sirix_encode_write(&request->write, &options);
    message.dialect = encode_dialect(request->jsoniq);
    message.n_variables = request->variable_count;
    message.variables = part.variables;
    message.scope = part.scope;
    message.limits = encode_limits(&part, request->memory_bytes_max, request->items_visited_max);
    if (status == SIRIX_OK) {
        status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_result), fill_updates,
                                           &answer, err);
    }
    sirix_arena_deinit(&arena);
    if (status == SIRIX_OK) {
        *out_result = answer;
    }
    return status;
}
