/*
 * The border between gRPC's status and ours: the one place where a failed call becomes a
 * struct sirix_error.
 */
#ifndef SIRIX_TRANSPORT_FAILURE_H
#define SIRIX_TRANSPORT_FAILURE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

/* How a call ended, as gRPC tells it. */
struct sirix_failure {
    int code;                   /* A gRPC code; not 0. */
    struct sirix_bytes message; /* Of the status line; from the peer or from gRPC itself. */
    struct sirix_bytes details; /* grpc-status-details-bin; empty where there is none. */
    bool may_have_changed;      /* The whole request of a write was on its way. */
};

/*
 * Fills *err (which may be NULL) and returns its status.
 *
 * With details, their status and reason count, if they fit the code; unknown names (a newer server)
 * fall back to what the code says. Without details the failure is gRPC's own, and a write that may
 * have reached the server is SIRIX_OUTCOME_UNKNOWN. Texts are cut to their places, and bytes that
 * are not UTF-8, or NUL, become '?'.
 */
enum sirix_status sirix_failure_record(const struct sirix_failure *failure,
                                       struct sirix_error *err);

#endif
