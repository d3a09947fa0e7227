/*
 * The inside of a cancel handle: the calls that it would end, and whoever sleeps between two tries.
 *
 * Locking   One mutex a handle. A call links itself when it starts and unlinks before it is freed,
 *           so that trigger() only ever sees living calls.
 */
#ifndef SIRIX_TRANSPORT_CANCEL_H
#define SIRIX_TRANSPORT_CANCEL_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "sirix/sirix.h"

/* A place in the list of a handle; part of the call. */
struct sirix_cancel_link {
    grpc_call *call;
    struct sirix_cancel_link *next;
    struct sirix_cancel_link *previous;
};

/* Links a call; false, and nothing done, when the handle was triggered already. */
bool sirix_call_cancel_link(struct sirix_call_cancel *cancel, struct sirix_cancel_link *link);
void sirix_call_cancel_unlink(struct sirix_call_cancel *cancel, struct sirix_cancel_link *link);

/* Waits so long, or until the handle (may be NULL) is triggered: then false. */
bool sirix_call_cancel_sleep(struct sirix_call_cancel *cancel, uint64_t duration_ns);

/* The sentence for a call that a handle ended. */
enum sirix_status sirix_call_cancel_fail(struct sirix_error *err);

#endif
