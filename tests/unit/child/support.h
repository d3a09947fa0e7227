/*
 * What the tests of child trees and name indexes share: a memory backend with a reader, writers whose
 * pages go there, failing allocations, and seeded random numbers.
 */
#ifndef SIRIX_TESTS_UNIT_CHILD_SUPPORT_H
#define SIRIX_TESTS_UNIT_CHILD_SUPPORT_H

#include <stdint.h>

#include "store/page/writer.h"
#include "store/segment/segment.h"

struct test_child {
    struct sirix_backend *backend;
    struct sirix_reader *reader;
    uint64_t random;
};

void test_child_open(struct test_child *f, uint64_t seed);
void test_child_close(struct test_child *f);

/* The next random number, below limit. */
uint64_t test_random(struct test_child *f, uint64_t limit);

/* A writer that keeps its segments, for test_child_publish(). */
struct sirix_page_writer *test_child_writer(struct test_child *f);
/* A writer that forgets its pages at once: only their bytes are of interest. */
struct sirix_page_writer *test_child_writer_forgetful(struct test_child *f);

/* Puts the writer's pages into the backend and frees it; returns the bytes of pages. */
uint64_t test_child_publish(struct test_child *f, struct sirix_page_writer *writer);

/* Puts one page of given bytes there; returns its address. */
uint64_t test_child_put_page(struct test_child *f, const void *data, size_t len);

/*
 * Allocations until one fails (0: the next); -1: none does. Programs that use it link with malloc,
 * calloc and realloc wrapped.
 */
extern int test_allocs_until_failure;

#endif
