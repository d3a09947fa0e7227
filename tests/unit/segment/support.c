#include "unit/segment/support.h"

#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"

void test_dir_make(char dir[TEST_DIR_BYTES])
{
    (void)snprintf(dir, TEST_DIR_BYTES, "segment_test_XXXXXX");
    char *made = mkdtemp(dir);
    assert(made != NULL);
}

void test_dir_remove(const char *dir)
{
    DIR *stream = opendir(dir);
    const struct dirent *entry = NULL;

    assert(stream != NULL);
    while ((entry = readdir(stream)) != NULL) {
        (void)unlinkat(dirfd(stream), entry->d_name, 0);
    }
    (void)closedir(stream);
    (void)rmdir(dir);
}

static uint8_t content_at(uint64_t number, size_t at)
{
    return (uint8_t)sirix_mix64(number * 131 + at / 8);
}

struct sirix_bytes test_segment_new(uint64_t number, size_t len)
{
    uint8_t *bytes = malloc(len);

    assert(bytes != NULL);
    for (size_t i = SIRIX_SEGMENT_HEADER_BYTES; i < len; i++) {
        bytes[i] = content_at(number, i);
    }
    sirix_segment_seal(bytes, len, SIRIX_SEGMENT_PAGES, TEST_RESOURCE);
    return (struct sirix_bytes){.data = bytes, .len = len};
}

void test_segment_free(struct sirix_bytes bytes)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = bytes.data};

    free(pointer.out);
}

bool test_segment_equal(uint64_t number, struct sirix_bytes bytes)
{
    const uint8_t *at = bytes.data;

    if (sirix_segment_check(bytes, number, NULL) != SIRIX_OK) {
        return false;
    }
    for (size_t i = SIRIX_SEGMENT_HEADER_BYTES; i < bytes.len; i++) {
        if (at[i] != content_at(number, i)) {
            return false;
        }
    }
    return true;
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
    struct test_outcome outcome;
};

static void wake(void *context, const struct sirix_commit_outcome *outcome)
{
    struct waiter *waiter = context;

    (void)pthread_mutex_lock(&waiter->lock);
    assert(!waiter->done); /* Once. */
    waiter->done = true;
    waiter->outcome.status = outcome->status;
    waiter->outcome.conflict_index = outcome->conflict_index;
    waiter->outcome.error = outcome->error;
    if (outcome->current.data != NULL) {
        waiter->outcome.has_current = true;
        waiter->outcome.current_len = outcome->current.len;
        memcpy(waiter->outcome.current, outcome->current.data,
               outcome->current.len < sizeof(waiter->outcome.current)
                   ? outcome->current.len
                   : sizeof(waiter->outcome.current));
    }
    (void)pthread_cond_signal(&waiter->ended);
    (void)pthread_mutex_unlock(&waiter->lock);
}

struct test_outcome test_commit(struct sirix_backend *backend, const struct sirix_batch *batch)
{
    struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

    sirix_backend_commit(backend, batch, wake, &waiter);
    (void)pthread_mutex_lock(&waiter.lock);
    while (!waiter.done) {
        (void)pthread_cond_wait(&waiter.ended, &waiter.lock);
    }
    (void)pthread_mutex_unlock(&waiter.lock);
    (void)pthread_cond_destroy(&waiter.ended);
    (void)pthread_mutex_destroy(&waiter.lock);
    return waiter.outcome;
}

struct test_outcome test_put(struct sirix_backend *backend, uint64_t first, size_t count,
                             size_t len)
{
    struct sirix_segment_put *puts = calloc(count, sizeof(*puts));

    assert(puts != NULL);
    for (size_t i = 0; i < count; i++) {
        puts[i].number = first + i;
        puts[i].bytes = test_segment_new(first + i, len);
    }
    struct test_outcome outcome =
        test_commit(backend, &(struct sirix_batch){.puts = puts, .put_count = count});
    for (size_t i = 0; i < count; i++) {
        test_segment_free(puts[i].bytes);
    }
    free(puts);
    return outcome;
}

struct test_outcome test_delete(struct sirix_backend *backend, uint64_t first, uint64_t last)
{
    const struct sirix_segment_range range = {.first = first, .last = last};

    return test_commit(
        backend, &(struct sirix_batch){.deletes = &range, .delete_count = 1, .frees_space = true});
}

struct test_outcome test_ref(struct sirix_backend *backend, const char *key, const char *value)
{
    const struct sirix_ref_put put = {
        .key = test_text(key),
        .value = value == NULL ? (struct sirix_bytes){0} : test_text(value),
    };

    return test_commit(backend, &(struct sirix_batch){.refs = &put, .ref_count = 1});
}
