/*
 * The connection to one address, and the completion queues of the calls on it.
 *
 * Every call that blocks has a queue of its own while it lasts, so that any number of threads can
 * wait at once (gRPC lets six threads wait on one queue); queues are kept for the next call.
 *
 * Threads   Any, but open and close.
 */
#ifndef SIRIX_TRANSPORT_CHANNEL_H
#define SIRIX_TRANSPORT_CHANNEL_H

#include <grpc/grpc.h>
#include <stdint.h>

#include "base/status.h"
#include "lib/transport/method.h"
#include "lib/transport/security.h"
#include "sirix/sirix.h"

struct sirix_channel;

enum {
    SIRIX_CHANNEL_QUEUES_KEPT_MAX = 64,
    SIRIX_CHANNEL_ADDRESS_BYTES_MAX = 4096,
};

/*
 * A channel to `unix:PATH` or `HOST:PORT`; nothing connects yet. SIRIX_INVALID (field "address", or the
 * option), SIRIX_IO (a file of the options), SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_channel_open(const char *address,
                                     const struct sirix_security_options *options,
                                     struct sirix_channel **out_channel,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* What calls show of who makes them; may be NULL. */
struct sirix_security *sirix_channel_security(const struct sirix_channel *channel);

/* When no call is left. NULL is allowed. */
void sirix_channel_close(struct sirix_channel *channel);

/*
 * Waits until the connection stands. SIRIX_UNAVAILABLE: it does not by the time (CLOCK_MONOTONIC,
 * nanoseconds) connect_by_ns; SIRIX_CANCELLED. cancel may be NULL.
 */
enum sirix_status sirix_channel_connect(struct sirix_channel *channel, uint64_t connect_by_ns,
                                        struct sirix_call_cancel *cancel,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Lets the next try connect at once, however many failed before. */
void sirix_channel_forget_failures(struct sirix_channel *channel);

/* A queue for one call, and its return when no event of it is outstanding. */
grpc_completion_queue *sirix_channel_take_queue(struct sirix_channel *channel);
void sirix_channel_return_queue(struct sirix_channel *channel, grpc_completion_queue *queue);

/* The call itself; the caller's to unref. Never NULL. */
grpc_call *sirix_channel_create_call(struct sirix_channel *channel, enum sirix_method method,
                                     grpc_completion_queue *queue, gpr_timespec deadline);

/* CLOCK_MONOTONIC in nanoseconds, and as gRPC wants it; UINT64_MAX: never. */
uint64_t sirix_monotonic_ns(void);
gpr_timespec sirix_grpc_time(uint64_t monotonic_ns);

#endif
