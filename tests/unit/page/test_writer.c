/* The page writer: where pages lie, what the body hash covers, who gets the segments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/sha256.h"
#include "page_fixture.h"

static int setup(void **state)
{
    static struct store store;

    store_open(&store, 1);
    *state = &store;
    return 0;
}

static int teardown(void **state)
{
    store_close(*state);
    return 0;
}

static struct sirix_page_writer *writer_of(struct store *store, size_t segment_bytes,
                                           size_t record_bytes, sirix_segment_flush_fn flush,
                                           void *context)
{
    const struct sirix_page_writer_options options = {
        .backend = store->backend,
        .resource_id = 7,
        .segment_bytes = segment_bytes,
        .record_bytes = record_bytes,
        .flush = flush,
        .flush_context = context,
    };
    struct sirix_page_writer *writer = NULL;

    assert_int_equal(sirix_page_writer_new(&options, &writer, NULL), SIRIX_OK);
    return writer;
}

static uint64_t alloc(struct sirix_page_writer *writer, size_t len, uint8_t fill)
{
    uint64_t address = 0;
    uint8_t *place = NULL;

    assert_int_equal(sirix_page_writer_alloc(writer, len, &address, &place, NULL), SIRIX_OK);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(place[i], 0);
    }
    memset(place, fill, len);
    return address;
}

static void pages_follow_each_other_behind_header_and_record(void **state)
{
    struct sirix_page_writer *writer = writer_of(*state, 4096, 48, NULL, NULL);
    struct sirix_segment_built *segments = NULL;
    size_t count = 0;
    uint8_t body[32];
    uint8_t expected[32];
    uint64_t first = alloc(writer, 5, 'a');
    uint64_t second = alloc(writer, 24, 'b');
    uint8_t pages[32] = "aaaaa\0\0\0bbbbbbbbbbbbbbbbbbbbbbbb";

    assert_int_equal(sirix_address_offset(first), 16 + 48);
    assert_int_equal(sirix_address_offset(second), 16 + 48 + 8);
    assert_int_equal(sirix_address_number(first), sirix_address_number(second));
    assert_int_equal(sirix_page_writer_bytes(writer), 32);
    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);

    assert_int_equal(count, 1);
    assert_int_equal(segments[0].kind, SIRIX_SEGMENT_COMMIT);
    assert_int_equal(segments[0].len, 16 + 48 + 32);
    assert_memory_equal(segments[0].bytes + 64, pages, 32);
    assert_int_equal(sirix_sha256(pages, 32, expected, NULL), SIRIX_OK);
    assert_memory_equal(body, expected, 32);
    store_segments(*state, segments, count);
}

static void a_commit_without_pages_still_has_its_record(void **state)
{
    struct sirix_page_writer *writer = writer_of(*state, 0, 80, NULL, NULL);
    struct sirix_segment_built *segments = NULL;
    size_t count = 0;
    uint8_t body[32];
    uint8_t expected[32];

    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);

    assert_int_equal(count, 1);
    assert_int_equal(segments[0].len, 16 + 80);
    assert_int_equal(sirix_sha256(NULL, 0, expected, NULL), SIRIX_OK);
    assert_memory_equal(body, expected, 32);
    store_segments(*state, segments, count);
}

static void a_writer_without_pages_and_record_gives_nothing(void **state)
{
    struct sirix_page_writer *writer = writer_of(*state, 0, 0, NULL, NULL);
    struct sirix_segment_built *segments = NULL;
    size_t count = 9;
    uint8_t body[32];

    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);
    assert_int_equal(count, 0);
    free(segments);
}

static void a_new_segment_starts_where_a_page_would_pass_the_target(void **state)
{
    struct sirix_page_writer *writer = writer_of(*state, 1024, 0, NULL, NULL);
    struct sirix_segment_built *segments = NULL;
    struct sirix_bytes bytes = {0};
    struct store *store = *state;
    size_t count = 0;
    uint8_t body[32];
    uint64_t addresses[5];

    addresses[0] = alloc(writer, 1000, 'a'); /* 16 + 1000 */
    addresses[1] = alloc(writer, 8, 'b');    /* Fills it to the byte. */
    addresses[2] = alloc(writer, 1, 'c');
    addresses[3] = alloc(writer, 300000, 'd'); /* Larger than the target: alone. */
    addresses[4] = alloc(writer, 1, 'e');
    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);

    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(segments[i].kind, SIRIX_SEGMENT_PAGES);
        assert_true(i == 0 || segments[i].number > segments[i - 1].number);
    }
    assert_int_equal(segments[0].len, 1024);
    store_segments(store, segments, count);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(sirix_segment_get(store->reader, addresses[i], 1, &bytes, NULL), SIRIX_OK);
        assert_int_equal(*(const char *)bytes.data, 'a' + (int)i);
    }
}

struct flushed {
    uint64_t numbers[32];
    size_t count;
    size_t fail_at;
};

static enum sirix_status note_flush(void *context, struct sirix_segment_built *segment,
                                    struct sirix_error *err)
{
    struct flushed *flushed = context;

    assert_int_equal(sirix_segment_check((struct sirix_bytes){segment->bytes, segment->len},
                                         segment->number, NULL),
                     SIRIX_OK);
    free(segment->bytes);
    if (flushed->count == flushed->fail_at) {
        return sirix_fail(err, SIRIX_NO_SPACE, "the disk is full");
    }
    flushed->numbers[flushed->count++] = segment->number;
    return SIRIX_OK;
}

static void a_bulk_writer_hands_sealed_segments_over_as_they_fill(void **state)
{
    struct flushed flushed = {.fail_at = SIZE_MAX};
    struct sirix_page_writer *writer = writer_of(*state, 4096, 0, note_flush, &flushed);
    struct sirix_segment_built *segments = NULL;
    size_t count = 9;
    uint8_t body[32];
    uint8_t expected[32];
    struct sirix_sha256 sha;
    uint8_t page[1000];

    assert_int_equal(sirix_sha256_init(&sha, NULL), SIRIX_OK);
    for (uint32_t i = 0; i < 20; i++) {
        (void)alloc(writer, sizeof(page), (uint8_t)i);
        memset(page, (int)i, sizeof(page));
        assert_int_equal(sirix_sha256_update(&sha, page, sizeof(page), NULL), SIRIX_OK);
        assert_int_equal(flushed.count, i / 4);
    }
    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);

    assert_int_equal(count, 0);
    assert_null(segments);
    assert_int_equal(flushed.count, 5);
    for (size_t i = 1; i < flushed.count; i++) {
        assert_true(flushed.numbers[i] > flushed.numbers[i - 1]);
    }
    assert_int_equal(sirix_sha256_final(&sha, expected, NULL), SIRIX_OK);
    sirix_sha256_deinit(&sha);
    assert_memory_equal(body, expected, 32);
}

static void a_failing_flush_is_passed_on(void **state)
{
    struct flushed flushed = {.fail_at = 1};
    struct sirix_page_writer *writer = writer_of(*state, 4096, 0, note_flush, &flushed);
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;
    uint64_t address = 77;
    uint8_t *place = NULL;

    for (uint32_t i = 0; i < 8 && status == SIRIX_OK; i++) {
        status = sirix_page_writer_alloc(writer, 2000, &address, &place, &err);
    }
    sirix_page_writer_free(writer);

    assert_int_equal(status, SIRIX_NO_SPACE);
    assert_string_equal(err.text, "the disk is full");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(pages_follow_each_other_behind_header_and_record),
        TEST(a_commit_without_pages_still_has_its_record),
        TEST(a_writer_without_pages_and_record_gives_nothing),
        TEST(a_new_segment_starts_where_a_page_would_pass_the_target),
        TEST(a_bulk_writer_hands_sealed_segments_over_as_they_fill),
        TEST(a_failing_flush_is_passed_on),
    };
#undef TEST
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
