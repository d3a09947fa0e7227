#include "unit/child/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { RESOURCE_ID = 7 };

int test_allocs_until_failure = -1;

static bool fails_now(void)
{
    if (test_allocs_until_failure < 0) {
        return false;
    }
    test_allocs_until_failure -= 1;
    return test_allocs_until_failure < 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

static void must(enum sirix_status status)
{
    assert(status == SIRIX_OK);
}

void test_child_open(struct test_child *f, uint64_t seed)
{
    const struct sirix_memory_options options = {.seed = seed};

    *f = (struct test_child){.random = seed};
    must(sirix_backend_open_memory(&options, &f->backend, NULL));
    must(sirix_reader_open(f->backend, &f->reader, NULL));
}

void test_child_close(struct test_child *f)
{
    sirix_reader_close(f->reader);
    sirix_backend_close(f->backend);
}

uint64_t test_random(struct test_child *f, uint64_t limit)
{
    f->random += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(f->random) % limit;
}

struct sirix_page_writer *test_child_writer(struct test_child *f)
{
    const struct sirix_page_writer_options options = {.backend = f->backend,
                                                      .resource_id = RESOURCE_ID};
    struct sirix_page_writer *writer = NULL;

    must(sirix_page_writer_new(&options, &writer, NULL));
    return writer;
}

static enum sirix_status forget(void *context, struct sirix_segment_built *segment,
                                struct sirix_error *err)
{
    (void)context;
    (void)err;
    free(segment->bytes);
    return SIRIX_OK;
}

struct sirix_page_writer *test_child_writer_forgetful(struct test_child *f)
{
    const struct sirix_page_writer_options options = {
        .backend = f->backend, .resource_id = RESOURCE_ID, .flush = forget};
    struct sirix_page_writer *writer = NULL;

    must(sirix_page_writer_new(&options, &writer, NULL));
    return writer;
}

static void note_outcome(void *context, const struct sirix_commit_outcome *outcome)
{
    *(enum sirix_status *)context = outcome->status;
}

uint64_t test_child_publish(struct test_child *f, struct sirix_page_writer *writer)
{
    struct sirix_segment_built *segments = NULL;
    uint64_t bytes = sirix_page_writer_bytes(writer);
    uint8_t body[32];
    size_t count = 0;

    must(sirix_page_writer_finish(writer, &segments, &count, body, NULL));
    for (size_t i = 0; i < count; i++) {
        const struct sirix_segment_put put = {
            .number = segments[i].number,
            .bytes = {.data = segments[i].bytes, .len = segments[i].len},
        };
        const struct sirix_batch batch = {.puts = &put, .put_count = 1};
        enum sirix_status outcome = SIRIX_INTERNAL;

        sirix_backend_commit(f->backend, &batch, note_outcome, &outcome);
        must(outcome);
        free(segments[i].bytes);
    }
    free(segments);
    sirix_page_writer_free(writer);
    sirix_reader_yield(f->reader);
    return bytes;
}

uint64_t test_child_put_page(struct test_child *f, const void *data, size_t len)
{
    struct sirix_page_writer *writer = test_child_writer(f);
    uint8_t *place = NULL;
    uint64_t address = 0;

    must(sirix_page_writer_alloc(writer, len, &address, &place, NULL));
    memcpy(place, data, len);
    (void)test_child_publish(f, writer);
    return address;
}
