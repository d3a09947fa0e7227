/*
 * The daemon seen from outside: its log of calls, and its door for health and metrics.
 *
 * Log       a failed call that is ours or the machine's to answer for is an error or a warning; one
 *           that took longer than the threshold is a warning ("slow call"); every other one is
 *           there at level debug. A line names method, principal, code, time, the number of the
 *           call, and what the caller sent to be recognised by: trace, span and request id. It
 *           never holds what was read, written or asked: the sentence of an error that is the
 *           caller's mistake, which may quote it, goes to the caller alone.
 */
#ifndef SIRIX_APP_TELEMETRY_H
#define SIRIX_APP_TELEMETRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ops/health.h"
#include "probe/probe.h"
#include "rpc/runtime/server.h"
#include "service/service.h"

struct sirix_telemetry {
    uint64_t slow_us; /* 0: nothing is slow. */
    _Atomic uint64_t slow_calls;
    struct sirix_health *health;
    struct sirix_service *_Atomic service; /* NULL until it is open. */
    struct sirix_rpc_server *_Atomic server;
    struct sirix_probe *probe; /* NULL: there is no such door. */
};

/* For sirix_rpc_options.on_ended; context is a struct sirix_telemetry. */
void sirix_telemetry_ended(void *context, const struct sirix_rpc_ended *ended);

/*
 * Opens the door at listen (NULL: none), before anything that may take long: whoever asks learns that
 * the process is alive and not started. The health must be there. SIRIX_INVALID, SIRIX_IO,
 * SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_telemetry_start(struct sirix_telemetry *telemetry, const char *listen,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Before the server and the service end. */
void sirix_telemetry_stop(struct sirix_telemetry *telemetry);

#endif
