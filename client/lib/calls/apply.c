/*
 * Changes as one revision: in one message where every value and the whole fit, else as a stream, in
 * which all values, or the text of the patch, come in pieces behind the rest.
 */
#include "lib/calls/encode.h"
#include "lib/upload.h"

#include <stdlib.h>

enum {
    OPERATIONS_MAX = 10 * 1000,
    /* Of a value inside the list. */
    VALUE_BYTES_MAX = 1024 * 1024,
    /* Of the messages around operations, not counting what they point to. */
    MESSAGES_BYTES_MAX = 16 * 1024 * 1024,
};

/* One operation as protobuf-c wants it, in one piece. */
struct operation_messages {
    PB(Operation) operation;
    PB(Insert) insert;
    PB(Update) update;
    PB(Replace) replace;
    PB(Delete) delete_;
    PB(Rename) rename;
    PB(Move) move;
    PB(Value) value;
    PB(Place) place;
};

static bool has_value(const struct sirix_operation *operation)
{
    return operation->kind == SIRIX_OPERATION_INSERT || operation->kind == SIRIX_OPERATION_UPDATE ||
           operation->kind == SIRIX_OPERATION_REPLACE;
}

/* Whether some value can only be streamed. */
static bool needs_stream(const struct sirix_apply_request *request)
{
    if (request->source == SIRIX_APPLY_JSON_PATCH) {
        return request->json_patch_source != NULL || request->json_patch.len > VALUE_BYTES_MAX;
    }
    if (request->source == SIRIX_APPLY_DIFF) {
        return false;
    }
    for (size_t i = 0; i < request->operation_count; i++) {
        const struct sirix_operation *operation = &request->operations[i];

        if (has_value(operation) &&
            (operation->source != NULL || operation->json.len > VALUE_BYTES_MAX)) {
            return true;
        }
    }
    return false;
}

/* --- Encoding --------------------------------------------------------------------------------- */

static PB(Value) * encode_value(struct sirix_bytes json, bool streamed, PB(Value) * value)
{
    sirix__storage__v1__value__init(value);
    if (streamed) {
        value->form_case = SIRIX__STORAGE__V1__VALUE__FORM_STREAMED;
        value->streamed = 1;
    } else {
        value->form_case = SIRIX__STORAGE__V1__VALUE__FORM_JSON;
        value->json = sirix_message_from_bytes(json);
    }
    return value;
}

static void encode_insert(const struct sirix_operation *operation, bool streamed,
                          struct operation_messages *to)
{
    sirix__storage__v1__insert__init(&to->insert);
    sirix_encode_place(&operation->place, &to->place);
    to->insert.place = &to->place;
    if (operation->has_name) {
        to->insert.member_case = SIRIX__STORAGE__V1__INSERT__MEMBER_NAME;
        to->insert.name = sirix_message_from_bytes(operation->name);
    }
    to->insert.value = encode_value(operation->json, streamed, &to->value);
    to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_INSERT;
    to->operation.insert = &to->insert;
}

static void encode_move(const struct sirix_operation *operation, struct operation_messages *to)
{
    sirix__storage__v1__move__init(&to->move);
    to->move.node_key = operation->node_key;
    sirix_encode_place(&operation->place, &to->place);
    to->move.place = &to->place;
    if (operation->has_name) {
        to->move.member_case = SIRIX__STORAGE__V1__MOVE__MEMBER_NAME;
        to->move.name = sirix_message_from_bytes(operation->name);
    }
    to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_MOVE;
    to->operation.move = &to->move;
}

static void encode_operation(const struct sirix_operation *operation, bool streamed,
                             struct operation_messages *to)
{
    sirix__storage__v1__operation__init(&to->operation);
    switch (operation->kind) {
    case SIRIX_OPERATION_INSERT:
        encode_insert(operation, streamed, to);
        break;
    case SIRIX_OPERATION_UPDATE:
        sirix__storage__v1__update__init(&to->update);
        to->update.node_key = operation->node_key;
        to->update.value = encode_value(operation->json, streamed, &to->value);
        to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_UPDATE;
        to->operation.update = &to->update;
        break;
    case SIRIX_OPERATION_REPLACE:
        sirix__storage__v1__replace__init(&to->replace);
        to->replace.node_key = operation->node_key;
        to->replace.value = encode_value(operation->json, streamed, &to->value);
        to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_REPLACE;
        to->operation.replace = &to->replace;
        break;
    case SIRIX_OPERATION_DELETE:
        sirix__storage__v1__delete__init(&to->delete_);
        to->delete_.node_key = operation->node_key;
        to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_DELETE;
        to->operation.delete_ = &to->delete_;
        break;
    case SIRIX_OPERATION_RENAME:
        sirix__storage__v1__rename__init(&to->rename);
        to->rename.node_key = operation->node_key;
        to->rename.name = sirix_message_from_bytes(operation->name);
        to->operation.kind_case = SIRIX__STORAGE__V1__OPERATION__KIND_RENAME;
        to->operation.rename = &to->rename;
        break;
    case SIRIX_OPERATION_MOVE:
        encode_move(operation, to);
        break;
    }
}

static enum sirix_status encode_operations(const struct sirix_apply_request *request, bool streamed,
                                           struct sirix_arena *arena, PB(ApplyRequest) * message,
                                           struct sirix_error *err)
{
    struct operation_messages *messages = NULL;
    PB(Operation) **list = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, request->operation_count, &messages, err);

    if (status == SIRIX_OK) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): protobuf-c wants an array of pointers. */
        status = SIRIX_ANSWER_ARRAY(arena, request->operation_count, &list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < request->operation_count; i++) {
        encode_operation(&request->operations[i], streamed, &messages[i]);
        list[i] = &messages[i].operation;
    }
    message->n_operations = request->operation_count;
    message->operations = list;
    return SIRIX_OK;
}

/* What a patch or diff points to. */
struct source_messages {
    PB(Value) patch;
    PB(DiffSource) diff;
    PB(View) from;
    PB(View) to;
};

static void encode_source(const struct sirix_apply_request *request, bool streamed,
                          struct source_messages *to, PB(ApplyRequest) * message)
{
    if (request->source == SIRIX_APPLY_JSON_PATCH) {
        message->source_case = SIRIX__STORAGE__V1__APPLY_REQUEST__SOURCE_JSON_PATCH;
        message->json_patch = encode_value(request->json_patch, streamed, &to->patch);
        return;
    }
    sirix__storage__v1__diff_source__init(&to->diff);
    if (request->has_diff_from) {
        /* The default view is the head of main here; an absent one would be the parent of `to`. */
        (void)sirix_encode_view(&request->diff_from, &to->from);
        to->diff.from = &to->from;
    }
    to->diff.to = sirix_encode_view(&request->diff_to, &to->to);
    to->diff.since_parted = request->diff_since_parted;
    message->source_case = SIRIX__STORAGE__V1__APPLY_REQUEST__SOURCE_DIFF;
    message->diff = &to->diff;
}

/* --- The answer ------------------------------------------------------------------------------- */

static enum sirix_status fill_keys(struct sirix_arena *arena, const PB(ApplyResponse) * from,
                                   struct sirix_apply_result *result, struct sirix_error *err)
{
    struct sirix_key_pair *keys = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_keys, &keys, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_keys; i++) {
        keys[i] = (struct sirix_key_pair){.source_key = from->keys[i]->source_key,
                                          .node_key = from->keys[i]->node_key};
    }
    result->keys = keys;
    result->key_count = from->n_keys;
    return status;
}

static enum sirix_status fill_result(struct sirix_arena *arena, const ProtobufCMessage *message,
                                     void *answer, struct sirix_error *err)
{
    const PB(ApplyResponse) *from = (const void *)message;
    struct sirix_apply_result *result = answer;
    struct sirix_operation_result *operations = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_operations, &operations, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_operations; i++) {
        const PB(OperationResult) *operation = from->operations[i];

        operations[i] = (struct sirix_operation_result){
            .node_keys = operation->node_keys,
            .node_key_count = operation->n_node_keys,
            .type = sirix_decode_node_type(operation->kind),
            .equal_value = operation->equal_value != 0,
            .changed = operation->changed != 0,
        };
    }
    result->result = sirix_decode_write(from->result);
    result->operations = operations;
    result->count = from->n_operations;
    result->applied = from->applied;
    result->already = from->already;
    result->tests = from->tests;
    return status == SIRIX_OK ? fill_keys(arena, from, result, err) : status;
}

/* --- Streaming -------------------------------------------------------------------------------- */

static enum sirix_status send_piece(struct sirix_upload *upload, uint32_t operation,
                                    struct sirix_bytes piece, struct sirix_error *err)
{
    PB(ValueChunk) chunk = PB_INIT(VALUE_CHUNK);
    PB(ApplyStreamRequest) message = PB_INIT(APPLY_STREAM_REQUEST);

    chunk.operation = operation;
    chunk.data = sirix_message_from_bytes(piece);
    message.part_case = SIRIX__STORAGE__V1__APPLY_STREAM_REQUEST__PART_CHUNK;
    message.chunk = &chunk;
    return sirix_upload_send(upload, &message.base, err);
}

static enum sirix_status send_source(struct sirix_upload *upload, uint32_t index,
                                     const struct sirix_source *source, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    void *buffer = malloc(SIRIX_UPLOAD_PIECE_BYTES);

    if (buffer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a piece of a value");
    }
    while (status == SIRIX_OK && !upload->hung_up) {
        size_t len = 0;

        status = source->read(source->context, buffer, SIRIX_UPLOAD_PIECE_BYTES, &len, err);
        if (status != SIRIX_OK || len == 0) {
            break;
        }
        status = send_piece(upload, index, (struct sirix_bytes){.data = buffer, .len = len}, err);
    }
    free(buffer);
    return status;
}

static enum sirix_status send_text(struct sirix_upload *upload, uint32_t index,
                                   struct sirix_bytes text, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t at = 0; at < text.len && status == SIRIX_OK && !upload->hung_up;) {
        size_t left = text.len - at;
        struct sirix_bytes piece = {
            .data = (const char *)text.data + at,
            .len = left < SIRIX_UPLOAD_PIECE_BYTES ? left : SIRIX_UPLOAD_PIECE_BYTES,
        };

        status = send_piece(upload, index, piece, err);
        at += piece.len;
    }
    return status;
}

static enum sirix_status send_value(struct sirix_upload *upload, uint32_t index,
                                    struct sirix_bytes text, const struct sirix_source *source,
                                    struct sirix_error *err)
{
    return source != NULL ? send_source(upload, index, source, err)
                          : send_text(upload, index, text, err);
}

static enum sirix_status send_values(struct sirix_upload *upload,
                                     const struct sirix_apply_request *request,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (request->source == SIRIX_APPLY_JSON_PATCH) {
        return send_value(upload, 0, request->json_patch, request->json_patch_source, err);
    }
    for (size_t i = 0; i < request->operation_count && status == SIRIX_OK; i++) {
        const struct sirix_operation *operation = &request->operations[i];

        if (has_value(operation)) {
            status = send_value(upload, (uint32_t)i, operation->json, operation->source, err);
        }
    }
    return status;
}

static enum sirix_repeat repeat_of(const struct sirix_apply_request *request)
{
    return request->dry_run ? SIRIX_REPEAT_DRY_RUN : sirix_write_repeat(&request->write);
}

static enum sirix_status apply_streamed(struct sirix_client *client, PB(ApplyRequest) * start,
                                        const struct sirix_apply_request *request,
                                        const struct sirix_call_options *call,
                                        struct sirix_apply_result **out_result,
                                        struct sirix_error *err)
{
    PB(ApplyStreamRequest) message = PB_INIT(APPLY_STREAM_REQUEST);
    const ProtobufCMessage *response = NULL;
    struct sirix_upload upload;
    void *answer = NULL;
    enum sirix_status status = sirix_answer_new(sizeof(**out_result), &answer, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_upload_open(&upload, client, SIRIX_METHOD_APPLY_STREAM, repeat_of(request), call,
                               err);
    if (status != SIRIX_OK) {
        goto out;
    }
    message.part_case = SIRIX__STORAGE__V1__APPLY_STREAM_REQUEST__PART_START;
    message.start = start;
    status = sirix_upload_send(&upload, &message.base, err);
    if (status == SIRIX_OK) {
        status = send_values(&upload, request, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_upload_answer(&upload, PB_TYPE(apply_response), sirix_answer_arena(answer),
                                     &response, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_client_untaken(
            upload.call.writes, fill_result(sirix_answer_arena(answer), response, answer, err),
            err);
    }
    sirix_upload_deinit(&upload);
out:
    if (status == SIRIX_OK) {
        *out_result = answer;
    } else {
        sirix_client_free(answer);
    }
    return status;
}

/* --- The call --------------------------------------------------------------------------------- */

static enum sirix_status
apply_at_once(struct sirix_client *client, const PB(ApplyRequest) * message,
              const struct sirix_apply_request *request, const struct sirix_call_options *call,
              struct sirix_apply_result **out_result, struct sirix_error *err)
{
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_APPLY,
        .request = &message->base,
        .answer_type = PB_TYPE(apply_response),
        .repeat = repeat_of(request),
    };
    void *answer = NULL;
    enum sirix_status status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_result),
                                                         fill_result, &answer, err);

    if (status == SIRIX_OK) {
        *out_result = answer;
    }
    return status;
}

/* Operations in one message, unless they need or turn out to need a stream. */
static enum sirix_status encode_list(const struct sirix_apply_request *request,
                                     struct sirix_arena *arena, PB(ApplyRequest) * message,
                                     bool *streamed, struct sirix_error *err)
{
    if (request->operation_count == 0 || request->operation_count > OPERATIONS_MAX) {
        enum sirix_status refused = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                                      "%zu operations; there may be 1 to %d",
                                                      request->operation_count, OPERATIONS_MAX);
        sirix_error_set_field(err, "operations");
        return refused;
    }
    enum sirix_status status = encode_operations(request, *streamed, arena, message, err);
    if (status == SIRIX_OK && !*streamed &&
        protobuf_c_message_get_packed_size(&message->base) > SIRIX_MESSAGE_BYTES_MAX) {
        *streamed = true;
        status = encode_operations(request, true, arena, message, err);
    }
    return status;
}

enum sirix_status sirix_client_apply(struct sirix_client *client,
                                     const struct sirix_apply_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_apply_result **out_result,
                                     struct sirix_error *err)
{
    PB(ApplyRequest) message = PB_INIT(APPLY_REQUEST);
    struct source_messages source;
    PB(WriteOptions) options;
    struct sirix_arena arena;
    bool streamed = needs_stream(request);
    enum sirix_status status = SIRIX_OK;

    sirix_arena_init(&arena, MESSAGES_BYTES_MAX);
    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.branch = sirix_message_from_str(request->branch);
    message.options = sirix_encode_write(&request->write, &options);
    message.force_revision = request->force_revision;
    message.dry_run = request->dry_run;
    if (request->source == SIRIX_APPLY_OPERATIONS) {
        status = encode_list(request, &arena, &message, &streamed, err);
    } else {
        encode_source(request, streamed, &source, &message);
    }
    if (status == SIRIX_OK && streamed) {
        status = apply_streamed(client, &message, request, call, out_result, err);
    } else if (status == SIRIX_OK) {
        status = apply_at_once(client, &message, request, call, out_result, err);
    }
    sirix_arena_deinit(&arena);
    return status;
}
