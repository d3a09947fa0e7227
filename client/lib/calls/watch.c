/* Watch: batches of the server, told one by one. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>

enum { REQUEST_BYTES_MAX = 4 * 1024 * 1024 };

struct sirix_watch_stream {
    struct sirix_stream stream;
    const PB(WatchEvents) * batch; /* NULL: the next one is to be waited for. */
    size_t told;                   /* Of the batch. */
    uint64_t next_revision;
};

static enum sirix_status encode_positions(struct sirix_arena *arena,
                                          const struct sirix_watch_request *request,
                                          PB(WatchRequest) * message, struct sirix_error *err)
{
    PB(WatchPosition) *items = NULL;
    PB(WatchPosition) **list = NULL;
    void *memory = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, request->after_count, &items, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, request->after_count, sizeof(void *), &memory, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    list = memory;
    for (size_t i = 0; i < request->after_count; i++) {
        sirix__storage__v1__watch_position__init(&items[i]);
        items[i].resource = sirix_message_from_str(request->after[i].resource);
        items[i].revision = request->after[i].revision;
        list[i] = &items[i];
    }
    message->n_after = request->after_count;
    message->after = list;
    return SIRIX_OK;
}

enum sirix_status sirix_client_watch(struct sirix_client *client,
                                     const struct sirix_watch_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_watch_stream **out_stream,
                                     struct sirix_error *err)
{
    PB(WatchRequest) message = PB_INIT(WATCH_REQUEST);
    const ProtobufCMessage *first = NULL;
    struct sirix_arena arena;
    struct sirix_unary what = {
        .method = SIRIX_METHOD_WATCH,
        .request = &message.base,
        .answer_type = PB_TYPE(watch_response),
    };
    struct sirix_watch_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    sirix_arena_init(&arena, REQUEST_BYTES_MAX);
    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    if (request->has_from_revision) {
        message.from_case = SIRIX__STORAGE__V1__WATCH_REQUEST__FROM_FROM_REVISION;
        message.from_revision = request->from_revision;
    }
    enum sirix_status status = encode_positions(&arena, request, &message, err);
    if (status == SIRIX_OK) {
        status = sirix_stream_open(&stream->stream, client, &what, call, &first, err);
    }
    sirix_arena_deinit(&arena);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    const PB(WatchResponse) *begin = (const void *)first;
    if (begin->part_case != SIRIX__STORAGE__V1__WATCH_RESPONSE__PART_START) {
        sirix_watch_stream_close(stream);
        return sirix_stream_fail_order("a watch without its beginning", err);
    }
    stream->next_revision = begin->start->next_revision;
    *out_stream = stream;
    return SIRIX_OK;
}

uint64_t sirix_watch_stream_next_revision(const struct sirix_watch_stream *stream)
{
    return stream->next_revision;
}

/* Waits for a batch that has something in it. */
static enum sirix_status wait_for_batch(struct sirix_watch_stream *stream, struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;

    while (stream->batch == NULL || stream->told == stream->batch->n_events) {
        enum sirix_status status = sirix_stream_next(&stream->stream, &message, err);

        stream->batch = NULL;
        stream->told = 0;
        if (status == SIRIX_OK && message == NULL) {
            status = sirix_stream_fail_order("a watch that ended well", err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        const PB(WatchResponse) *part = (const void *)message;
        if (part->part_case == SIRIX__STORAGE__V1__WATCH_RESPONSE__PART_EVENTS) {
            stream->batch = part->events;
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_watch_stream_next(struct sirix_watch_stream *stream,
                                          struct sirix_watch_event *out_event,
                                          struct sirix_error *err)
{
    struct sirix_arena *arena = &stream->stream.arena;
    struct sirix_watch_event event = {.dropped = false};

    enum sirix_status status = wait_for_batch(stream, err);
    if (status != SIRIX_OK) {
        return status;
    }
    const PB(WatchEvent) *from = stream->batch->events[stream->told];
    event.dropped = from->what_case == SIRIX__STORAGE__V1__WATCH_EVENT__WHAT_DROPPED;
    event.behind = from->behind;
    status = sirix_answer_name(arena, from->resource, &event.resource, err);
    if (status == SIRIX_OK) {
        status = sirix_decode_revision(
            arena,
            from->what_case == SIRIX__STORAGE__V1__WATCH_EVENT__WHAT_REVISION ? from->revision
                                                                              : NULL,
            &event.revision, err);
    }
    if (status == SIRIX_OK) {
        stream->told++;
        *out_event = event;
    }
    return status;
}

void sirix_watch_stream_close(struct sirix_watch_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}
