/* Apply, ApplyStream and Revert: writes that take a branch's turn. */
#include "rpc/methods/codec.h"

#include <stdio.h>

enum { FIELD_BYTES = 64 };

/* A request as the service has it, and the write that does it. */
struct apply_state {
    struct sirix_rpc_turn turn;
    struct sirix_write write;
    const Sirix__Storage__V1__ApplyRequest *request;
    struct sirix_apply_request wanted;
    struct sirix_operation *operations; /* Those of wanted. */
    size_t operation_count;
    /* ApplyStream */
    bool has_spool;
    struct sirix_spool spool;
    struct sirix_sha256 sha;
    bool hashes;
    size_t streaming; /* The operation whose chunks came last; operation_count: none yet. */
};

/* --- Operations --------------------------------------------------------------------------------- */

static enum sirix_status place_of(const Sirix__Storage__V1__Place *place, size_t index,
                                  const char *kind, struct sirix_operation *operation,
                                  struct sirix_error *err)
{
    char field[FIELD_BYTES];

    (void)snprintf(field, sizeof(field), "operations[%zu].%s.place", index, kind);
    return sirix_rpc_place(place, field, &operation->target, &operation->place, &operation->index,
                           err);
}

static void value_of(const Sirix__Storage__V1__Value *value, struct sirix_operation *operation)
{
    if (value != NULL && value->form_case == SIRIX__STORAGE__V1__VALUE__FORM_JSON) {
        operation->json = sirix_rpc_bytes(value->json);
    } else if (value != NULL && value->form_case == SIRIX__STORAGE__V1__VALUE__FORM_STREAMED) {
        operation->streamed = value->streamed;
    }
}

static enum sirix_status operation_of(const Sirix__Storage__V1__Operation *message, size_t index,
                                      struct sirix_operation *operation, struct sirix_error *err)
{
    switch (message->kind_case) {
    case SIRIX__STORAGE__V1__OPERATION__KIND_INSERT:
        operation->kind = SIRIX_OPERATION_INSERT;
        operation->has_name =
            message->insert->member_case == SIRIX__STORAGE__V1__INSERT__MEMBER_NAME;
        if (operation->has_name) {
            operation->name = sirix_rpc_bytes(message->insert->name);
        }
        value_of(message->insert->value, operation);
        return place_of(message->insert->place, index, "insert", operation, err);
    case SIRIX__STORAGE__V1__OPERATION__KIND_UPDATE:
        operation->kind = SIRIX_OPERATION_UPDATE;
        operation->node_key = message->update->node_key;
        value_of(message->update->value, operation);
        return SIRIX_OK;
    case SIRIX__STORAGE__V1__OPERATION__KIND_REPLACE:
        operation->kind = SIRIX_OPERATION_REPLACE;
        operation->node_key = message->replace->node_key;
        value_of(message->replace->value, operation);
        return SIRIX_OK;
    case SIRIX__STORAGE__V1__OPERATION__KIND_DELETE:
        operation->kind = SIRIX_OPERATION_DELETE;
        operation->node_key = message->delete_->node_key;
        return SIRIX_OK;
    case SIRIX__STORAGE__V1__OPERATION__KIND_RENAME:
        operation->kind = SIRIX_OPERATION_RENAME;
        operation->node_key = message->rename->node_key;
        operation->has_name = true;
        operation->name = sirix_rpc_bytes(message->rename->name);
        return SIRIX_OK;
    case SIRIX__STORAGE__V1__OPERATION__KIND_MOVE:
        operation->kind = SIRIX_OPERATION_MOVE;
        operation->node_key = message->move->node_key;
        operation->has_name = message->move->member_case == SIRIX__STORAGE__V1__MOVE__MEMBER_NAME;
        if (operation->has_name) {
            operation->name = sirix_rpc_bytes(message->move->name);
        }
        return place_of(message->move->place, index, "move", operation, err);
    default:
        return SIRIX_OK; /* Refused by the check. */
    }
}

static enum sirix_status fail_streamed(const char *field, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "only ApplyStream has what is streamed");

    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status operations_of(struct sirix_rpc_call *call, struct apply_state *apply,
                                       struct sirix_error *err)
{
    const Sirix__Storage__V1__ApplyRequest *request = apply->request;
    void *memory = NULL;

    apply->wanted.operation_count = request->n_operations;
    if (request->n_operations > SIRIX_APPLY_OPERATIONS_MAX) {
        return SIRIX_OK; /* Refused by the check, before the memory for them is taken. */
    }
    enum sirix_status status = sirix_arena_calloc(sirix_rpc_call_arena(call), request->n_operations,
                                                  sizeof(struct sirix_operation), &memory, err);
    apply->operations = memory;
    apply->operation_count = request->n_operations;
    apply->wanted.operations = apply->operations;
    for (size_t i = 0; status == SIRIX_OK && i < request->n_operations; i++) {
        status = operation_of(request->operations[i], i, &apply->operations[i], err);
        if (status == SIRIX_OK && apply->operations[i].streamed && !apply->has_spool) {
            char field[FIELD_BYTES];
            (void)snprintf(field, sizeof(field), "operations[%zu]", i);
            status = fail_streamed(field, err);
        }
    }
    return status;
}

/* A patch or a diff instead of operations. */
static enum sirix_status source_of(struct apply_state *apply, struct sirix_error *err)
{
    const Sirix__Storage__V1__ApplyRequest *request = apply->request;
    struct sirix_apply_request *wanted = &apply->wanted;

    if (request->source_case == SIRIX__STORAGE__V1__APPLY_REQUEST__SOURCE_JSON_PATCH) {
        const Sirix__Storage__V1__Value *patch = request->json_patch;
        wanted->source = SIRIX_APPLY_PATCH;
        if (patch->form_case == SIRIX__STORAGE__V1__VALUE__FORM_JSON) {
            wanted->patch = sirix_rpc_bytes(patch->json);
        } else {
            wanted->patch_streamed =
                patch->form_case == SIRIX__STORAGE__V1__VALUE__FORM_STREAMED && patch->streamed;
        }
        if (wanted->patch_streamed && !apply->has_spool) {
            return fail_streamed("json_patch", err);
        }
    } else if (request->source_case == SIRIX__STORAGE__V1__APPLY_REQUEST__SOURCE_DIFF) {
        wanted->source = SIRIX_APPLY_DIFF;
        wanted->has_from = request->diff->from != NULL;
        wanted->from = sirix_rpc_view(request->diff->from);
        wanted->to = sirix_rpc_view(request->diff->to);
        wanted->since_parted = request->diff->since_parted;
    }
    return SIRIX_OK;
}

/* Reads the whole request; what is wrong with it alone is refused. */
static enum sirix_status wanted_of(struct sirix_rpc_call *call, struct apply_state *apply,
                                   struct sirix_write_options *out_options, struct sirix_error *err)
{
    apply->wanted = (struct sirix_apply_request){
        .force_revision = apply->request->force_revision,
        .dry_run = apply->request->dry_run,
        .spool = apply->has_spool ? &apply->spool : NULL,
    };
    enum sirix_status status = operations_of(call, apply, err);
    if (status == SIRIX_OK) {
        status = source_of(apply, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_write_options(apply->request->options, &apply->request->base,
                                         out_options, err);
    }
    return status == SIRIX_OK ? sirix_apply_check(&apply->wanted, out_options, err) : status;
}

/* --- The answer --------------------------------------------------------------------------------- */

static enum sirix_status key_list(struct sirix_rpc_call *call,
                                  const struct sirix_apply_result *done,
                                  Sirix__Storage__V1__ApplyResponse *answer,
                                  struct sirix_error *err)
{
    void *messages = NULL;
    void **list = NULL;

    enum sirix_status status = sirix_rpc_list(
        call, done->key_count, sizeof(Sirix__Storage__V1__KeyPair), &messages, &list, err);
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < done->key_count; i++) {
        Sirix__Storage__V1__KeyPair *to = list[i];
        sirix__storage__v1__key_pair__init(to);
        to->source_key = done->keys[i].source_key;
        to->node_key = done->keys[i].node_key;
    }
    answer->n_keys = done->key_count;
    answer->keys = (Sirix__Storage__V1__KeyPair **)list;
    return SIRIX_OK;
}

static enum sirix_status apply_reply(struct sirix_rpc_call *call,
                                     const struct sirix_apply_result *done, struct sirix_error *err)
{
    Sirix__Storage__V1__ApplyResponse answer = SIRIX__STORAGE__V1__APPLY_RESPONSE__INIT;
    Sirix__Storage__V1__WriteResult result;
    void *messages = NULL;
    void **list = NULL;

    enum sirix_status status =
        sirix_rpc_list(call, done->operation_count, sizeof(Sirix__Storage__V1__OperationResult),
                       &messages, &list, err);
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < done->operation_count; i++) {
        const struct sirix_operation_result *from = &done->operations[i];
        Sirix__Storage__V1__OperationResult *to = list[i];
        sirix__storage__v1__operation_result__init(to);
        to->n_node_keys = from->node_key_count;
        to->node_keys = from->node_keys;
        to->kind = sirix_rpc_kind(from->kind);
        to->equal_value = from->equal_value;
        to->changed = from->changed;
    }
    sirix_rpc_write_result(&done->result, &result);
    answer.result = &result;
    answer.n_operations = done->operation_count;
    answer.operations = (Sirix__Storage__V1__OperationResult **)list;
    answer.applied = done->applied;
    answer.already = done->already;
    answer.tests = done->tests;
    status = key_list(call, done, &answer, err);
    return status != SIRIX_OK ? status : sirix_rpc_call_reply(call, &answer.base, err);
}

/*
 * The write is done when its answer turns out to be too large: it is given without the list of
 * operations or keys, never as an error.
 */
static enum sirix_status apply_answer(struct sirix_rpc_call *call, struct sirix_apply_result *done,
                                      struct sirix_error *err)
{
    struct sirix_error too_large = {0};

    enum sirix_status status = apply_reply(call, done, &too_large);
    if (status != SIRIX_OK) {
        done->operation_count = 0;
        done->key_count = 0;
        status = apply_reply(call, done, err);
    }
    return status;
}

static enum sirix_status apply_run(struct sirix_rpc_call *call, void *state,
                                   struct sirix_error *err)
{
    struct apply_state *apply = state;
    struct sirix_apply_result done = {0};

    enum sirix_status status =
        sirix_apply_run(&apply->write, &apply->wanted, sirix_rpc_call_arena(call), &done, err);
    sirix_write_close(&apply->write);
    return status == SIRIX_OK ? apply_answer(call, &done, err) : status;
}

static enum sirix_status apply_begin(struct sirix_rpc_call *call, struct apply_state *apply,
                                     const struct sirix_write_options *options,
                                     struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);

    enum sirix_status status =
        sirix_write_open(&who, options, sirix_rpc_bytes(apply->request->database),
                         sirix_rpc_bytes(apply->request->resource),
                         sirix_rpc_bytes(apply->request->branch), &apply->write, err);
    return status == SIRIX_OK
               ? sirix_rpc_turn_take(call, &apply->turn, &apply->write, apply_run, err)
               : status;
}

static enum sirix_status apply_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    struct apply_state *apply = state;
    struct sirix_write_options options;

    apply->request = (const Sirix__Storage__V1__ApplyRequest *)message;
    enum sirix_status status = wanted_of(call, apply, &options, err);
    return status == SIRIX_OK ? apply_begin(call, apply, &options, err) : status;
}

static void apply_ended(void *state)
{
    struct apply_state *apply = state;

    sirix_write_close(&apply->write);
    if (apply->has_spool) {
        sirix_spool_deinit(&apply->spool);
        sirix_sha256_deinit(&apply->sha);
    }
}

/* --- ApplyStream -------------------------------------------------------------------------------- */

static enum sirix_status stream_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    struct apply_state *apply = state;

    (void)message;
    (void)err;
    sirix_spool_init(&apply->spool, sirix_rpc_storage_of(call)->service->dir);
    apply->has_spool = true;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status fail_stream(struct sirix_error *err, const char *text, const char *field)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status stream_head(struct sirix_rpc_call *call, struct apply_state *apply,
                                     const Sirix__Storage__V1__ApplyStreamRequest *request,
                                     struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_write_options options;

    sirix_rpc_call_keep_message(call);
    apply->request = request->start;
    enum sirix_status status = sirix_request_may_write(&who, err);
    if (status == SIRIX_OK) {
        status = wanted_of(call, apply, &options, err);
    }
    apply->streaming = apply->operation_count;
    if (status == SIRIX_OK && apply->request->options != NULL &&
        apply->request->options->idempotency_key.len != 0) {
        status = sirix_sha256_init(&apply->sha, err);
        apply->hashes = status == SIRIX_OK;
    }
    return status;
}

/* Whether a chunk may come now. */
static enum sirix_status chunk_place(struct apply_state *apply,
                                     const Sirix__Storage__V1__ValueChunk *chunk,
                                     struct sirix_error *err)
{
    uint32_t number = chunk->operation;

    if (apply->wanted.patch_streamed && number == 0) {
        enum sirix_status status = SIRIX_OK;
        if (chunk->data.len > SIRIX_APPLY_PATCH_BYTES_MAX - apply->spool.len) {
            status =
                sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                  "the patch has more than %d bytes", SIRIX_APPLY_PATCH_BYTES_MAX);
            sirix_error_set_field(err, "json_patch");
        }
        return status;
    }
    if (number >= apply->operation_count || !apply->operations[number].streamed) {
        return fail_stream(err, "a chunk belongs to no operation whose value is streamed",
                           "chunk.operation");
    }
    if (apply->streaming != apply->operation_count && number < apply->streaming) {
        return fail_stream(err, "chunks come in the order of their operations", "chunk.operation");
    }
    if (number != apply->streaming) {
        apply->streaming = number;
        apply->operations[number].spool_offset = apply->spool.len;
    }
    return SIRIX_OK;
}

static enum sirix_status stream_chunk(struct apply_state *apply,
                                      const Sirix__Storage__V1__ValueChunk *chunk,
                                      struct sirix_error *err)
{
    uint32_t number = chunk->operation;
    enum sirix_status status = chunk_place(apply, chunk, err);

    if (status == SIRIX_OK && apply->hashes) {
        status = sirix_sha256_update(&apply->sha, &number, sizeof(number), err);
        if (status == SIRIX_OK) {
            status = sirix_sha256_update(&apply->sha, chunk->data.data, chunk->data.len, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_spool_append(&apply->spool, sirix_rpc_bytes(chunk->data), err);
    }
    if (status == SIRIX_OK && !apply->wanted.patch_streamed) {
        apply->operations[number].spool_len += chunk->data.len;
    }
    return status;
}

static enum sirix_status stream_message(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__ApplyStreamRequest *request =
        (const Sirix__Storage__V1__ApplyStreamRequest *)message;
    struct apply_state *apply = state;
    enum sirix_status status = SIRIX_OK;

    if (apply->request == NULL) {
        status = request->part_case == SIRIX__STORAGE__V1__APPLY_STREAM_REQUEST__PART_START
                     ? stream_head(call, apply, request, err)
                     : fail_stream(err, "the first message is the start", "start");
    } else {
        status = request->part_case == SIRIX__STORAGE__V1__APPLY_STREAM_REQUEST__PART_CHUNK
                     ? stream_chunk(apply, request->chunk, err)
                     : fail_stream(err, "after the start come chunks", "chunk");
    }
    if (status == SIRIX_OK) {
        sirix_rpc_call_read(call);
    }
    return status;
}

/* The key stands for the start and all that was streamed. */
static enum sirix_status finish_hash(struct apply_state *apply, struct sirix_write_options *options,
                                     struct sirix_error *err)
{
    if (!apply->hashes) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_sha256_update(&apply->sha, options->request_hash, sizeof(options->request_hash), err);
    return status == SIRIX_OK ? sirix_sha256_final(&apply->sha, options->request_hash, err)
                              : status;
}

static enum sirix_status stream_half_closed(struct sirix_rpc_call *call, void *state,
                                            struct sirix_error *err)
{
    struct apply_state *apply = state;
    struct sirix_write_options options;

    if (apply->request == NULL) {
        return fail_stream(err, "the stream has no start", "start");
    }
    if (apply->wanted.patch_streamed && apply->spool.len == 0) {
        return fail_stream(err, "a patch that is streamed has no chunks", "chunk");
    }
    for (size_t i = 0; i < apply->operation_count; i++) {
        if (apply->operations[i].streamed && apply->operations[i].spool_len == 0) {
            return fail_stream(err, "a value that is streamed has no chunks", "chunk.operation");
        }
    }
    enum sirix_status status =
        sirix_rpc_write_options(apply->request->options, &apply->request->base, &options, err);
    if (status == SIRIX_OK) {
        status = finish_hash(apply, &options, err);
    }
    return status == SIRIX_OK ? apply_begin(call, apply, &options, err) : status;
}

/* --- Revert ------------------------------------------------------------------------------------- */

struct revert_state {
    struct sirix_rpc_turn turn;
    struct sirix_write write;
    const Sirix__Storage__V1__RevertRequest *request;
};

static enum sirix_status revert_run(struct sirix_rpc_call *call, void *state,
                                    struct sirix_error *err)
{
    struct revert_state *revert = state;
    const struct sirix_view_request view = sirix_rpc_view(revert->request->view);
    Sirix__Storage__V1__RevertResponse answer = SIRIX__STORAGE__V1__REVERT_RESPONSE__INIT;
    Sirix__Storage__V1__WriteResult result;
    struct sirix_write_result done = {0};

    enum sirix_status status =
        sirix_revert_run(&revert->write, &view, &done, &answer.reverted_to, err);
    sirix_write_close(&revert->write);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_rpc_write_result(&done, &result);
    answer.result = &result;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status revert_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    struct revert_state *revert = state;
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_write_options options;

    revert->request = (const Sirix__Storage__V1__RevertRequest *)message;
    if (revert->request->view == NULL ||
        (revert->request->view->which_case == SIRIX__STORAGE__V1__VIEW__WHICH__NOT_SET &&
         revert->request->view->timestamp.len == 0)) {
        enum sirix_status missing = sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, "a revert says what it brings back");
        sirix_error_set_field(err, "view");
        return missing;
    }
    enum sirix_status status =
        sirix_rpc_write_options(revert->request->options, message, &options, err);
    if (status == SIRIX_OK) {
        status = sirix_write_open(&who, &options, sirix_rpc_bytes(revert->request->database),
                                  sirix_rpc_bytes(revert->request->resource),
                                  sirix_rpc_bytes(revert->request->branch), &revert->write, err);
    }
    return status == SIRIX_OK
               ? sirix_rpc_turn_take(call, &revert->turn, &revert->write, revert_run, err)
               : status;
}

static void revert_ended(void *state)
{
    sirix_write_close(&((struct revert_state *)state)->write);
}

#define TAKES_A_TURN                                                                               \
    .writes = true, .woken = sirix_rpc_turn_woken, .cancelled = sirix_rpc_turn_cancelled,          \
    .draining = sirix_rpc_turn_draining

const struct sirix_rpc_method sirix_rpc_apply_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Apply"),
        .request = &sirix__storage__v1__apply_request__descriptor,
        .state_bytes = sizeof(struct apply_state),
        .start = apply_start,
        .ended = apply_ended,
        TAKES_A_TURN,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ApplyStream"),
        .request = &sirix__storage__v1__apply_stream_request__descriptor,
        .client_streams = true,
        .state_bytes = sizeof(struct apply_state),
        .start = stream_start,
        .message = stream_message,
        .half_closed = stream_half_closed,
        .ended = apply_ended,
        TAKES_A_TURN,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("Revert"),
        .request = &sirix__storage__v1__revert_request__descriptor,
        .state_bytes = sizeof(struct revert_state),
        .start = revert_start,
        .ended = revert_ended,
        TAKES_A_TURN,
    },
    {.path = NULL},
};
