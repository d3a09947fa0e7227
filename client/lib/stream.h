/* A server stream with its retries: the messages of one call, decoded one at a time. */
#ifndef SIRIX_LIB_STREAM_H
#define SIRIX_LIB_STREAM_H

#include "base/arena.h"
#include "lib/client.h"

struct sirix_stream {
    struct sirix_call call;
    const ProtobufCMessageDescriptor *type;
    struct sirix_arena arena; /* Of the message last received. */
    bool ended;
    struct sirix_error failure; /* status is not OK: why it ended; told again if asked again. */
};

/*
 * Opens a stream and waits for its first message, trying again until that came; *out_first lives
 * until the next message. A stream that ends well without any message is SIRIX_INTERNAL. After a
 * failure there is nothing to deinit.
 */
enum sirix_status sirix_stream_open(struct sirix_stream *stream, struct sirix_client *client,
                                    const struct sirix_unary *what,
                                    const struct sirix_call_options *options,
                                    const ProtobufCMessage **out_first,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next message, alive until the one after it; NULL at the end. */
enum sirix_status sirix_stream_next(struct sirix_stream *stream,
                                    const ProtobufCMessage **out_message,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_stream_deinit(struct sirix_stream *stream);

/* What a stream answers whose messages do not come in the contract's order. */
enum sirix_status sirix_stream_fail_order(const char *what, struct sirix_error *err);

#endif
