/*
 * What a piece of query work may use: memory, time, and what is fixed for the whole query.
 *
 * Memory    Results go to `arena`. `scratch` is another arena, for what does not outlive the call: a
 *           function may mark and rewind it, so nobody returns anything from it. The evaluator may
 *           point `arena` to a shorter-lived one (a tuple's) between calls.
 * Time      Long loops call sirix_work_tick() with the units of work done; at least once a
 *           millisecond that asks `check`, which looks at cancellation, deadline and counts.
 * Threads   One thread at a time.
 */
#ifndef SIRIX_QUERY_VALUE_WORK_H
#define SIRIX_QUERY_VALUE_WORK_H

#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "query/error.h"

enum {
    SIRIX_WORK_UNITS = 4096,        /* Between two looks; a unit is about 100 ns at most. */
    SIRIX_WORK_BYTES_PER_UNIT = 64, /* A loop over bytes counts this many as one. */
};

/* Whether to go on: SIRIX_OK, SIRIX_CANCELLED, SIRIX_DEADLINE, SIRIX_EXHAUSTED. */
typedef enum sirix_status (*sirix_work_check_fn)(void *context, struct sirix_query_error *err);

struct sirix_regex_cache; /* query/value/regex.h */

struct sirix_work {
    struct sirix_arena *arena;
    struct sirix_arena *scratch;
    uint64_t units;            /* Done since the last look. */
    sirix_work_check_fn check; /* NULL: nothing ever stops it. */
    void *check_context;
    struct sirix_hash_key hash_key; /* Unpredictable: hashes of values from outside. */
    int64_t now_seconds; /* current-dateTime(), the same in the whole query: UTC since 1970 */
    uint32_t now_nanoseconds;
    int16_t zone;                      /* Implicit timezone, minutes; 0 is UTC. */
    struct sirix_regex_cache *regexes; /* NULL: compiled each time. */
    bool strict_truth; /* JSONiq 3.1: objects and arrays have no effective boolean value. */
};

/* Starts a piece of work with the current time, UTC, and a random key. SIRIX_IO when there is none. */
enum sirix_status sirix_work_init(struct sirix_work *work, struct sirix_arena *arena,
                                  struct sirix_arena *scratch,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Counts units of work and looks whether to go on. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_work_tick(struct sirix_work *work,
                                                                 uint64_t units,
                                                                 struct sirix_query_error *err)
{
    work->units += units;
    if (work->units < SIRIX_WORK_UNITS) {
        return SIRIX_OK;
    }
    work->units = 0;
    return work->check == NULL ? SIRIX_OK : work->check(work->check_context, err);
}

#endif
