/*
 * How long a request may go on: the flag that says its caller went away, and its deadline. Long
 * work looks at it at least each millisecond. The flag is set by any thread, once; the deadline is
 * set before the request begins and never changes.
 */
#ifndef SIRIX_SERVICE_CANCEL_H
#define SIRIX_SERVICE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"

struct sirix_cancel {
    atomic_bool cancelled;
    uint64_t deadline_us; /* On CLOCK_MONOTONIC; UINT64_MAX: none. */
};

/* Microseconds of CLOCK_MONOTONIC. */
static inline uint64_t sirix_cancel_now_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    return (uint64_t)now.tv_sec * 1000000U + (uint64_t)now.tv_nsec / 1000U;
}

/*
 * SIRIX_OK: go on. SIRIX_DEADLINE or SIRIX_CANCELLED: stop, change nothing. The transport cancels a
 * call when its deadline passes, so the deadline is asked first.
 */
static inline enum sirix_status SIRIX_MUST_CHECK
sirix_cancel_check(const struct sirix_cancel *cancel, struct sirix_error *err)
{
    if (cancel->deadline_us != UINT64_MAX && sirix_cancel_now_us() >= cancel->deadline_us) {
        return sirix_fail(err, SIRIX_DEADLINE, "the deadline of the call passed");
    }
    if (atomic_load_explicit(&cancel->cancelled, memory_order_relaxed)) {
        return sirix_fail(err, SIRIX_CANCELLED, "the caller cancelled the call or went away");
    }
    return SIRIX_OK;
}

#endif
