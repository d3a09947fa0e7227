/*
 * Failing allocations for tests: include once in a program that is linked with WRAPS malloc calloc
 * realloc. With alloc_fault_arm(n) the allocation after n more fails, and all those behind it.
 */
#ifndef TESTS_UNIT_BASE_ALLOC_FAULT_H
#define TESTS_UNIT_BASE_ALLOC_FAULT_H

#include <stdbool.h>
#include <stdlib.h>

static long alloc_fault_left = -1; /* -1: none fails. */

static inline void alloc_fault_arm(long count)
{
    alloc_fault_left = count;
}

static inline void alloc_fault_disarm(void)
{
    alloc_fault_left = -1;
}

static inline bool alloc_fault_hits(void)
{
    if (alloc_fault_left < 0) {
        return false;
    }
    if (alloc_fault_left == 0) {
        return true;
    }
    alloc_fault_left--;
    return false;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return alloc_fault_hits() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return alloc_fault_hits() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return alloc_fault_hits() ? NULL : __real_realloc(old, size);
}

#endif
