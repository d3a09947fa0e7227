/*
 * One try of one call: start, then either exchange (one message each way), or send and receive,
 * then finish. All functions block; a cancel handle, the deadline or the end of the connection
 * ends every wait.
 *
 *   unary            start, exchange, deinit
 *   server streams   start, request, receive... until NULL, finish, deinit
 *   client streams   start, begin, send... (until it says that the server hung up), answer, deinit
 *
 * deinit may come at any point: it cancels what is still going on.
 * Threads   One thread at a time, but for the cancel handle.
 */
#ifndef SIRIX_TRANSPORT_CALL_H
#define SIRIX_TRANSPORT_CALL_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/transport/cancel.h"
#include "lib/transport/channel.h"

enum { SIRIX_CALL_METADATA_MAX = 2, SIRIX_CALL_TRACEPARENT_BYTES_MAX = 512 };

struct sirix_call {
    struct sirix_channel *channel;
    enum sirix_method method;
    struct sirix_call_cancel *cancel;
    struct sirix_cancel_link link;
    grpc_completion_queue *queue;
    grpc_call *call; /* NULL: not started, or over. */
    grpc_metadata sent_metadata[SIRIX_CALL_METADATA_MAX];
    size_t sent_metadata_count;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_status_code code;
    grpc_slice status_text;
    uint64_t give_up_ns; /* A wait that lasts until then cancels the call; UINT64_MAX: none does. */
    grpc_byte_buffer *watched; /* Where the read of sirix_call_is_alive() puts its message. */
    bool watching;
    bool has_initial;
    bool writes;         /* Starts as its method says; a dry run's caller says otherwise then. */
    bool request_is_out; /* All of it was given to gRPC: a write may happen now. */
    bool finished;
};

/*
 * Begins; nothing is sent yet. options may be NULL. SIRIX_CANCELLED; SIRIX_INVALID for a
 * traceparent that cannot be sent; SIRIX_IO: the token cannot be read. After a failure there is nothing to deinit.
 */
enum sirix_status sirix_call_start(struct sirix_call *call, struct sirix_channel *channel,
                                   enum sirix_method method, uint64_t deadline_ns,
                                   const struct sirix_call_options *options,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends it and gives everything back. */
void sirix_call_deinit(struct sirix_call *call);

/* Sends the request (the caller's to destroy) and waits for the answer, then the caller's. */
enum sirix_status sirix_call_exchange(struct sirix_call *call, grpc_byte_buffer *request,
                                      grpc_byte_buffer **out_answer,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sends the one request of a server stream. A failure shows when receiving. */
void sirix_call_request(struct sirix_call *call, grpc_byte_buffer *request);

/* The next message, the caller's to destroy; NULL: no more, finish says why. */
grpc_byte_buffer *sirix_call_receive(struct sirix_call *call);

/* Waits for the status of a call that has no more messages. */
enum sirix_status sirix_call_finish(struct sirix_call *call,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Opens a client stream. A failure shows when sending. */
void sirix_call_begin(struct sirix_call *call);

/* Sends a message (the caller's to destroy), as soon as the peer has room for it; false: hung up. */
bool sirix_call_send(struct sirix_call *call, grpc_byte_buffer *message);

/*
 * Says that no more comes (unless the server hung up) and waits for the answer of a client stream,
 * then the caller's.
 */
enum sirix_status sirix_call_answer(struct sirix_call *call, bool hung_up,
                                    grpc_byte_buffer **out_answer,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Whether a server stream on which nothing more is expected still goes on. Does not wait. Nothing
 * but deinit may follow.
 */
bool sirix_call_is_alive(struct sirix_call *call);

#endif
