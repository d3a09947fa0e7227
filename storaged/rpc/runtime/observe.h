/*
 * What is seen of calls from outside: how many there were of each method, how they ended, how long
 * they took, and, of one that has just ended, who made it and under which trace.
 *
 * The time of a call is from its arrival to its status: waiting for a worker and for a turn to write
 * included, and of a stream the time that its reader took.
 */
#ifndef SIRIX_RPC_OBSERVE_H
#define SIRIX_RPC_OBSERVE_H

#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/histogram.h"
#include "base/status.h"

struct sirix_rpc_call;
struct sirix_rpc_server;

enum {
    SIRIX_RPC_CODES = 17, /* Canonical ones, 0 to 16. */
    SIRIX_RPC_TRACE_ID_BYTES = 33,
    SIRIX_RPC_SPAN_ID_BYTES = 17,
    SIRIX_RPC_REQUEST_ID_BYTES = 129,
};

/* A call that has ended. Everything lives until the function that it is given to returns. */
struct sirix_rpc_ended {
    const struct sirix_rpc_call *call; /* For sirix_rpc_call_trace(). */
    const char *path;
    const struct sirix_principal *principal;
    const struct sirix_error *err; /* NULL: it ended well. */
    uint64_t number;               /* Of the call, from 1, in this process. */
    uint64_t took_us;
    bool lasts; /* It was meant to last: the time says nothing. */
};

/* Any thread; may not block. */
typedef void (*sirix_rpc_ended_fn)(void *context, const struct sirix_rpc_ended *ended);

/*
 * What the caller sent along to be recognised by: the trace and span of `traceparent` (W3C), and
 * `x-request-id` (1 to 128 printable ASCII characters). Empty where absent or not of that form.
 */
struct sirix_rpc_trace {
    char trace_id[SIRIX_RPC_TRACE_ID_BYTES];
    char span_id[SIRIX_RPC_SPAN_ID_BYTES];
    char request_id[SIRIX_RPC_REQUEST_ID_BYTES];
};
void sirix_rpc_call_trace(const struct sirix_rpc_call *call, struct sirix_rpc_trace *out_trace);

/* The same of a text, which need not end with a NUL; false: it is no traceparent. */
bool sirix_rpc_traceparent_parse(const char *text, size_t len, struct sirix_rpc_trace *out_trace);

/* Of one method, since the server was made. */
struct sirix_rpc_method_stats {
    const char *path; /* "unknown": methods that there are not. */
    bool lasts;       /* Its calls are not in `times`. */
    uint64_t running;
    uint64_t codes[SIRIX_RPC_CODES];
    struct sirix_histogram_reading times;
};

/* How many methods there are, unknown ones as the last; and what was seen of one. Any thread. */
size_t sirix_rpc_server_method_count(const struct sirix_rpc_server *server);
void sirix_rpc_server_method_stats(const struct sirix_rpc_server *server, size_t at,
                                   struct sirix_rpc_method_stats *out_stats);

/* Jobs that wait for a worker. */
size_t sirix_rpc_server_calls_waiting(const struct sirix_rpc_server *server);

#endif
