/*
 * A call with each of its allocations failing, one after the other, on whatever thread: it fails with
 * SIRIX_NO_MEMORY and has changed nothing, or it succeeds. Include once in a program that is linked with
 * WRAPS malloc calloc realloc, after cmocka.h.
 *
 * How many failures are met depends on the build: where slices are copies on the heap, each look-up in
 * the store allocates, and it is met with a failure there. So a row says both numbers.
 */
#ifndef TESTS_UNIT_BASE_ALLOC_SWEEP_H
#define TESTS_UNIT_BASE_ALLOC_SWEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/status.h"

#if defined(SIRIX_SANITIZED) || defined(SIRIX_SLICE_COPIES)
enum { ALLOC_SWEEP_COPIES = 1 };
#else
enum { ALLOC_SWEEP_COPIES = 0 };
#endif
enum { ALLOC_SWEEP_ROUNDS_MAX = 5000 };

static atomic_int alloc_sweep_left = -1; /* 0: the next one fails; -1: none does. */

static bool alloc_sweep_hits(void)
{
    int left = atomic_load(&alloc_sweep_left);

    while (left >= 0 && !atomic_compare_exchange_weak(&alloc_sweep_left, &left, left - 1)) {
    }
    return left == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return alloc_sweep_hits() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return alloc_sweep_hits() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return alloc_sweep_hits() ? NULL : __real_realloc(old, size);
}

struct alloc_sweep_row {
    const char *name;
    enum sirix_status (*run)(struct sirix_error *err);
    enum sirix_status (*undo)(struct sirix_error *err); /* NULL: it changes nothing. */
    /* Failures that it must at least meet, lest nothing was swept. */
    int failures;             /* In any build. */
    int failures_with_copies; /* Where slices are copies. */
};

/* after: called when a round is over; NULL: nothing to do. */
static void alloc_sweep(const struct alloc_sweep_row *row, void (*after)(void))
{
    const int least = ALLOC_SWEEP_COPIES != 0 ? row->failures_with_copies : row->failures;
    enum sirix_status status = SIRIX_NO_MEMORY;
    bool reached = true;
    int failed = 0;

    for (int n = 0; reached && n < ALLOC_SWEEP_ROUNDS_MAX; n++) {
        struct sirix_error err = {0};

        atomic_store(&alloc_sweep_left, n);
        status = row->run(&err);
        reached = atomic_exchange(&alloc_sweep_left, -1) < 0;
        if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
            fail_msg("%s, allocation %d: %s: %s", row->name, n, sirix_status_name(status),
                     err.text);
        }
        failed += status == SIRIX_OK ? 0 : 1;
        if (status == SIRIX_OK && row->undo != NULL && row->undo(&err) != SIRIX_OK) {
            fail_msg("%s, allocation %d, taken back: %s", row->name, n, err.text);
        }
        if (after != NULL) {
            after();
        }
    }
    assert_false(reached);
    assert_int_equal(status, SIRIX_OK);
    if (failed < least) {
        fail_msg("%s met %d failures, not %d", row->name, failed, least);
    }
}

#endif
