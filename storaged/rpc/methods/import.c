/* Import: pieces of text as they come, and a turn at the end. */
#include "service/import.h"

#include "rpc/methods/codec.h"

struct import_state {
    struct sirix_rpc_turn turn;
    struct sirix_import *import;
    bool started;
};

static enum sirix_status import_reply(struct sirix_rpc_call *call,
                                      const struct sirix_import_result *done,
                                      struct sirix_error *err)
{
    Sirix__Storage__V1__ImportResponse answer = SIRIX__STORAGE__V1__IMPORT_RESPONSE__INIT;
    Sirix__Storage__V1__WriteResult result;

    sirix_rpc_write_result(&done->result, &result);
    answer.result = &result;
    answer.nodes = done->nodes;
    answer.text_bytes = done->text_bytes;
    answer.duplicates_dropped = done->duplicates_dropped;
    answer.root_key = done->root_key;
    answer.items = done->items;
    answer.database_created = done->database_created;
    answer.resource_created = done->resource_created;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status fail_field(struct sirix_error *err, const char *text, const char *field)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status check_start(const Sirix__Storage__V1__ImportStart *start,
                                     struct sirix_error *err)
{
    if ((unsigned)start->format > SIRIX__STORAGE__V1__IMPORT_FORMAT__IMPORT_FORMAT_NDJSON) {
        return fail_field(err, "the format is none that this version knows", "start.format");
    }
    if ((unsigned)start->duplicate_keys > SIRIX__STORAGE__V1__DUPLICATE_KEYS__DUPLICATE_KEYS_LAST) {
        return fail_field(err, "duplicate_keys is nothing that this version knows",
                          "start.duplicate_keys");
    }
    if (start->max_depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return fail_field(err, "max_depth is over 1000, the levels that a document may have",
                          "start.max_depth");
    }
    return SIRIX_OK;
}

/* The first message. Its bytes are needed to the end. */
static enum sirix_status import_begin(struct sirix_rpc_call *call, struct import_state *state,
                                      const Sirix__Storage__V1__ImportStart *start,
                                      struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_import_request wanted = {
        .database = sirix_rpc_bytes(start->database),
        .resource = sirix_rpc_bytes(start->resource),
        .branch = sirix_rpc_bytes(start->branch),
        .ndjson = start->format == SIRIX__STORAGE__V1__IMPORT_FORMAT__IMPORT_FORMAT_NDJSON,
        .max_depth = start->max_depth,
        .last_duplicate_wins =
            start->duplicate_keys == SIRIX__STORAGE__V1__DUPLICATE_KEYS__DUPLICATE_KEYS_LAST,
        .replace = start->replace,
        .existing_only = start->existing_only,
        .has_place = start->target_case == SIRIX__STORAGE__V1__IMPORT_START__TARGET_PLACE,
        .has_name = start->member_case == SIRIX__STORAGE__V1__IMPORT_START__MEMBER_NAME,
    };
    struct sirix_import_result done = {0};
    bool replayed = false;

    sirix_rpc_call_keep_message(call);
    enum sirix_status status = check_start(start, err);
    if (status == SIRIX_OK && wanted.has_place) {
        status = sirix_rpc_place(start->place, "start.place", &wanted.target, &wanted.place,
                                 &wanted.index, err);
    }
    if (wanted.has_name) {
        wanted.name = sirix_rpc_bytes(start->name);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_write_options(start->options, &start->base, &wanted.options, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_import_open(&who, &wanted, &state->import, &replayed, &done, err);
    }
    if (status == SIRIX_OK && replayed) {
        return import_reply(call, &done, err);
    }
    if (status == SIRIX_OK) {
        state->started = true;
        sirix_rpc_call_read(call);
    }
    return status;
}

/* Before the client hears of a failure: what was created for it is gone by then. */
static void drop(struct import_state *import)
{
    sirix_import_close(import->import);
    import->import = NULL;
}

static enum sirix_status import_start(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    (void)message;
    (void)err;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status import_message(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__ImportRequest *request =
        (const Sirix__Storage__V1__ImportRequest *)message;
    struct import_state *import = state;

    if (!import->started) {
        return request->part_case == SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_START
                   ? import_begin(call, import, request->start, err)
                   : fail_field(err, "the first message is the start", "start");
    }
    if (request->part_case != SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_DATA) {
        return fail_field(err, "after the start comes data", "data");
    }
    enum sirix_status status =
        sirix_import_feed(import->import, sirix_rpc_bytes(request->data), err);
    if (status == SIRIX_OK) {
        sirix_rpc_call_read(call);
    } else {
        drop(import);
    }
    return status;
}

static enum sirix_status import_run(struct sirix_rpc_call *call, void *state,
                                    struct sirix_error *err)
{
    struct import_state *import = state;
    struct sirix_import_result done = {0};

    enum sirix_status status = sirix_import_publish(import->import, &done, err);
    drop(import);
    return status == SIRIX_OK ? import_reply(call, &done, err) : status;
}

static enum sirix_status import_half_closed(struct sirix_rpc_call *call, void *state,
                                            struct sirix_error *err)
{
    struct import_state *import = state;

    if (!import->started) {
        return fail_field(err, "the stream has no start", "start");
    }
    enum sirix_status status = sirix_import_end(import->import, err);
    if (status != SIRIX_OK) {
        drop(import);
        return status;
    }
    return sirix_rpc_turn_take(call, &import->turn, sirix_import_write(import->import), import_run,
                               err);
}

static void import_ended(void *state)
{
    sirix_import_close(((struct import_state *)state)->import);
}

const struct sirix_rpc_method sirix_rpc_import_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Import"),
        .request = &sirix__storage__v1__import_request__descriptor,
        .client_streams = true,
        .writes = true,
        .state_bytes = sizeof(struct import_state),
        .start = import_start,
        .message = import_message,
        .half_closed = import_half_closed,
        .woken = sirix_rpc_turn_woken,
        .cancelled = sirix_rpc_turn_cancelled,
        .draining = sirix_rpc_turn_draining,
        .ended = import_ended,
    },
    {.path = NULL},
};
