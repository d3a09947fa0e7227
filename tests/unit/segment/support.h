/*
 * What tests of the storage backends share: a folder to throw away, sealed segments with a content
 * that follows from their number, and a commit that waits for its callback.
 */
#ifndef SIRIX_TESTS_UNIT_SEGMENT_SUPPORT_H
#define SIRIX_TESTS_UNIT_SEGMENT_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "store/segment/segment.h"

enum { TEST_DIR_BYTES = 64, TEST_RESOURCE = 7 };

/* A new empty folder under the working directory, and its end with all files in it. */
void test_dir_make(char dir[TEST_DIR_BYTES]);
void test_dir_remove(const char *dir);

/* A sealed segment of len bytes, malloc'ed; its content follows from number and len alone. */
struct sirix_bytes test_segment_new(uint64_t number, size_t len);
void test_segment_free(struct sirix_bytes bytes);

/* Whether bytes are exactly what test_segment_new() makes. */
bool test_segment_equal(uint64_t number, struct sirix_bytes bytes);

struct test_outcome {
    enum sirix_status status;
    size_t conflict_index;
    bool has_current;
    uint8_t current[64]; /* Its first bytes. */
    size_t current_len;
    struct sirix_error error;
};

/* Commits and waits for the callback. */
struct test_outcome test_commit(struct sirix_backend *backend, const struct sirix_batch *batch);

/* Commits test segments of len bytes under count numbers from first. */
struct test_outcome test_put(struct sirix_backend *backend, uint64_t first, size_t count,
                             size_t len);
struct test_outcome test_delete(struct sirix_backend *backend, uint64_t first, uint64_t last);
struct test_outcome test_ref(struct sirix_backend *backend, const char *key, const char *value);

static inline struct sirix_bytes test_text(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

#endif
