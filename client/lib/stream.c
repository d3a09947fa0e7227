/* Server streams. */
#include "lib/stream.h"

#include <grpc/byte_buffer.h>

#include "lib/transport/message.h"

static enum sirix_status open_once(struct sirix_stream *stream, struct sirix_tries *tries,
                                   const struct sirix_unary *what,
                                   const struct sirix_call_options *options,
                                   grpc_byte_buffer **out_first, struct sirix_error *err)
{
    grpc_byte_buffer *request = NULL;
    enum sirix_status status = sirix_message_encode(what->request, &request, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_tries_prepare(tries, err);
    if (status == SIRIX_OK) {
        status = sirix_call_start(&stream->call, tries->client->channel, what->method,
                                  tries->deadline_ns, options, err);
    }
    if (status != SIRIX_OK) {
        grpc_byte_buffer_destroy(request);
        return status;
    }
    stream->call.writes = tries->writes;
    sirix_call_request(&stream->call, request);
    grpc_byte_buffer_destroy(request);
    *out_first = sirix_call_receive(&stream->call);
    if (*out_first == NULL) {
        status = sirix_call_finish(&stream->call, err);
        if (status == SIRIX_OK) {
            status = sirix_fail(err, SIRIX_INTERNAL, "the server ended a stream without a message");
        }
        sirix_call_deinit(&stream->call);
    }
    return status;
}

enum sirix_status sirix_stream_open(struct sirix_stream *stream, struct sirix_client *client,
                                    const struct sirix_unary *what,
                                    const struct sirix_call_options *options,
                                    const ProtobufCMessage **out_first, struct sirix_error *err)
{
    grpc_byte_buffer *first = NULL;
    struct sirix_error failure = {0};
    struct sirix_tries tries;
    enum sirix_status status = SIRIX_OK;

    *stream = (struct sirix_stream){.type = what->answer_type};
    sirix_arena_init(&stream->arena, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    sirix_tries_init(&tries, client, what->method, options, what->repeat);
    do {
        status = open_once(stream, &tries, what, options, &first, &failure);
    } while (status != SIRIX_OK && sirix_tries_again(&tries, &status, &failure));

    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = failure;
        }
        return status;
    }
    status = sirix_message_decode(first, stream->type, &stream->arena, out_first, err);
    grpc_byte_buffer_destroy(first);
    if (status != SIRIX_OK) {
        sirix_stream_deinit(stream);
    }
    return status;
}

/* Remembers a failure, so that a stream that broke never looks complete afterwards. */
static enum sirix_status end_with(struct sirix_stream *stream, struct sirix_error *err)
{
    stream->ended = true;
    if (err != NULL && stream->failure.status != SIRIX_OK) {
        *err = stream->failure;
    }
    return stream->failure.status;
}

enum sirix_status sirix_stream_next(struct sirix_stream *stream,
                                    const ProtobufCMessage **out_message, struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!stream->ended) {
        sirix_arena_reset(&stream->arena);
        grpc_byte_buffer *buffer = sirix_call_receive(&stream->call);
        if (buffer == NULL) {
            stream->ended = true;
            status = sirix_call_finish(&stream->call, &stream->failure);
        } else {
            status = sirix_message_decode(buffer, stream->type, &stream->arena, &message,
                                          &stream->failure);
            grpc_byte_buffer_destroy(buffer);
        }
    }
    if (stream->ended || status != SIRIX_OK) {
        status = end_with(stream, err);
    }
    if (status == SIRIX_OK) {
        *out_message = message;
    }
    return status;
}

void sirix_stream_deinit(struct sirix_stream *stream)
{
    sirix_call_deinit(&stream->call);
    sirix_arena_deinit(&stream->arena);
}

enum sirix_status sirix_stream_fail_order(const char *what, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_INTERNAL, "the server's stream breaks its contract: %s", what);
}
