/*
 * How many calls may be made, and how many at once: a bucket of tokens that fills with time and holds a second's worth, so that
 * a short burst passes and a flood does not. One bucket a principal.
 *
 * Threads   Any number; no lock.
 */
#ifndef SIRIX_GUARD_RATE_H
#define SIRIX_GUARD_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct sirix_rate {
    /* When the bucket is full again; GCRA: a call moves it on by what one call costs. */
    _Atomic uint64_t full_at_ns;
    _Atomic uint64_t running; /* Calls that have entered and not left. */
};

/*
 * Takes one call of per_minute (at least 1) out of the bucket. False: there are too many, and
 * *out_wait_ms is how long it takes until one more may come.
 */
bool sirix_rate_take(struct sirix_rate *rate, uint64_t per_minute, const struct sirix_clock *clock,
                     uint64_t *out_wait_ms);

/* Counts a call in, unless max of them run already; each that is let in leaves. */
bool sirix_rate_enter(struct sirix_rate *rate, uint64_t max);
void sirix_rate_leave(struct sirix_rate *rate);

#endif
