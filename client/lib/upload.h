/*
 * A client stream: messages out, one answer back. Never sent twice; but a connection is made, and
 * an embedded daemon started, before it begins.
 */
#ifndef SIRIX_LIB_UPLOAD_H
#define SIRIX_LIB_UPLOAD_H

#include "base/arena.h"
#include "lib/client.h"

/* Of one piece of text in a message: the size at which gRPC streams fastest. */
enum { SIRIX_UPLOAD_PIECE_BYTES = 128 * 1024 };

struct sirix_upload {
    struct sirix_call call;
    bool hung_up; /* The server ended the call; the answer says why. Sending does nothing. */
};

/* After a failure there is nothing to deinit. */
enum sirix_status sirix_upload_open(struct sirix_upload *upload, struct sirix_client *client,
                                    enum sirix_method method, enum sirix_repeat repeat,
                                    const struct sirix_call_options *options,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sends one message when there is room for it. A call that broke is no failure yet: see hung_up. */
enum sirix_status sirix_upload_send(struct sirix_upload *upload, const ProtobufCMessage *message,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Says that this was all, and waits for the answer, which lives in arena. */
enum sirix_status sirix_upload_answer(struct sirix_upload *upload,
                                      const ProtobufCMessageDescriptor *type,
                                      struct sirix_arena *arena,
                                      const ProtobufCMessage **out_answer,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Before the answer: breaks the call off, and the server changes nothing. */
void sirix_upload_deinit(struct sirix_upload *upload);

#endif
