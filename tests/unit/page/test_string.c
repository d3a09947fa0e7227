/* Strings out of line: lengths, hashes, chunks, and bounded memory for the longest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "page_fixture.h"
#include "store/page/string.h"

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

struct written {
    struct sirix_text text;
    uint64_t decoded_len;
};

/* Appends bytes in parts of random lengths and finishes. */
static struct written write_string(struct sirix_page_writer *pages, const uint8_t *bytes,
                                   size_t len, struct dice *dice, uint32_t part_max)
{
    struct sirix_string_writer writer;
    struct written written = {0};

    assert_int_equal(sirix_string_writer_init(&writer, pages, NULL), SIRIX_OK);
    for (size_t at = 0; at < len;) {
        size_t part = 1 + dice_below(dice, part_max);
        part = part < len - at ? part : len - at;
        assert_int_equal(
            sirix_string_writer_append(&writer, (struct sirix_bytes){bytes + at, part}, NULL),
            SIRIX_OK);
        at += part;
    }
    assert_int_equal(sirix_string_writer_finish(&writer, &written.text, &written.decoded_len, NULL),
                     SIRIX_OK);
    sirix_string_writer_deinit(&writer);
    return written;
}

static void assert_reads(struct store *store, const struct written *written, const uint8_t *bytes,
                         size_t len, struct dice *dice)
{
    struct sirix_string_reader reader;
    struct sirix_bytes slice = {0};

    assert_int_equal(sirix_string_reader_init(&reader, store->reader, written->text.address, NULL),
                     SIRIX_OK);
    assert_int_equal(reader.info.stored_len, len);
    assert_int_equal(reader.info.decoded_len, written->decoded_len);
    for (uint64_t at = 0; at < len; at += slice.len) {
        assert_int_equal(sirix_string_reader_at(&reader, at, &slice, NULL), SIRIX_OK);
        assert_true(slice.len > 0 && slice.len <= SIRIX_STRING_CHUNK_BYTES);
        assert_memory_equal(slice.data, bytes + at, slice.len);
    }
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t at = dice_below(dice, (uint32_t)len);
        assert_int_equal(sirix_string_reader_at(&reader, at, &slice, NULL), SIRIX_OK);
        assert_memory_equal(slice.data, bytes + at, slice.len);
        sirix_reader_yield(store->reader);
    }
    assert_int_equal(sirix_string_reader_at(&reader, len, &slice, NULL), SIRIX_OK);
    assert_int_equal(slice.len, 0);
}

static void strings_of_every_length_come_back(void **state)
{
    const size_t chunk = SIRIX_STRING_CHUNK_BYTES;
    const size_t lengths[] = {1, 1025, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 77};
    struct store *store = *state;
    struct dice dice = {.state = 8};
    uint8_t *bytes = malloc(4 * chunk);

    assert_non_null(bytes);
    for (size_t i = 0; i < 4 * chunk; i++) {
        bytes[i] = (uint8_t)('a' + i % 23);
    }
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct sirix_page_writer *pages = store_writer(store, 0);
        struct written written = write_string(pages, bytes, lengths[i], &dice, 100000);
        (void)store_publish(store, pages);
        assert_int_equal(written.text.len, lengths[i]);
        assert_int_equal(written.decoded_len, lengths[i]);
        assert_false(written.text.escaped);
        assert_reads(store, &written, bytes, lengths[i], &dice);
    }
    free(bytes);
}

static void escapes_count_once_wherever_a_part_ends(void **state)
{
    static const char text[] = "a\\n\\u0000\\\\\\\\u\\u001f\\\"end\\\\";
    const uint64_t decoded = 1 + 1 + 1 + 2 + 1 + 1 + 1 + 3 + 1;
    struct dice dice = {.state = 9};

    for (uint32_t round = 0; round < 50; round++) {
        struct sirix_page_writer *pages = store_writer(*state, 0);
        struct written written =
            write_string(pages, (const uint8_t *)text, sizeof(text) - 1, &dice, 1 + round % 9);
        assert_int_equal(written.decoded_len, decoded);
        assert_true(written.text.escaped);
        assert_int_equal(written.text.len, sizeof(text) - 1);
        sirix_page_writer_free(pages);
    }
}

static void equal_strings_have_equal_hashes(void **state)
{
    struct store *store = *state;
    struct dice dice = {.state = 10};
    struct sirix_page_writer *pages = store_writer(store, 0);
    struct sirix_string_reader readers[3];
    struct written written[3];

    written[0] = write_string(pages, (const uint8_t *)"one text", 8, &dice, 3);
    written[1] = write_string(pages, (const uint8_t *)"one text", 8, &dice, 8);
    written[2] = write_string(pages, (const uint8_t *)"one tex_", 8, &dice, 8);
    (void)store_publish(store, pages);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(
            sirix_string_reader_init(&readers[i], store->reader, written[i].text.address, NULL),
            SIRIX_OK);
    }

    assert_memory_equal(readers[0].info.hash, readers[1].info.hash, 32);
    assert_memory_not_equal(readers[0].info.hash, readers[2].info.hash, 32);
}

static enum sirix_status drop_segment(void *context, struct sirix_segment_built *segment,
                                      struct sirix_error *err)
{
    size_t *largest = context;

    (void)err;
    *largest = segment->len > *largest ? segment->len : *largest;
    free(segment->bytes);
    return SIRIX_OK;
}

/* 64 MiB go through one chunk of memory; one byte more is refused. */
static void the_longest_string_is_taken_and_one_byte_more_is_not(void **state)
{
    static uint8_t part[1 << 20];
    struct store *store = *state;
    size_t largest = 0;
    const struct sirix_page_writer_options options = {
        .backend = store->backend,
        .flush = drop_segment,
        .flush_context = &largest,
    };
    struct sirix_page_writer *pages = NULL;
    struct sirix_string_writer writer;
    struct sirix_text text = {0};
    struct sirix_error err = {0};
    uint64_t decoded_len = 0;

    memset(part, 'x', sizeof(part));
    assert_int_equal(sirix_page_writer_new(&options, &pages, NULL), SIRIX_OK);
    assert_int_equal(sirix_string_writer_init(&writer, pages, NULL), SIRIX_OK);
    for (uint32_t extra = 0; extra < 2; extra++) {
        for (uint32_t i = 0; i < SIRIX_STRING_BYTES_MAX / sizeof(part); i++) {
            assert_int_equal(
                sirix_string_writer_append(&writer, (struct sirix_bytes){part, sizeof(part)}, NULL),
                SIRIX_OK);
        }
        assert_int_equal(
            sirix_string_writer_append(&writer, (struct sirix_bytes){part, extra}, &err),
            extra == 0 ? SIRIX_OK : SIRIX_INVALID);
        if (extra == 0) {
            assert_int_equal(sirix_string_writer_finish(&writer, &text, &decoded_len, NULL),
                             SIRIX_OK);
        }
    }

    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_int_equal(text.len, SIRIX_STRING_BYTES_MAX);
    assert_int_equal(decoded_len, SIRIX_STRING_BYTES_MAX);
    assert_int_equal(largest, SIRIX_SEGMENT_BULK_BYTES - 16);
    assert_true(writer.chunk.cap <= SIRIX_STRING_CHUNK_BYTES);
    sirix_string_writer_deinit(&writer);
    sirix_page_writer_free(pages);
}

static void far_too_long_a_string_is_refused_on_the_way(void **state)
{
    static uint8_t part[1 << 20];
    struct store *store = *state;
    size_t largest = 0;
    const struct sirix_page_writer_options options = {
        .backend = store->backend,
        .flush = drop_segment,
        .flush_context = &largest,
    };
    struct sirix_page_writer *pages = NULL;
    struct sirix_string_writer writer;
    enum sirix_status status = SIRIX_OK;
    uint32_t parts = 0;

    memset(part, 'x', sizeof(part));
    assert_int_equal(sirix_page_writer_new(&options, &pages, NULL), SIRIX_OK);
    assert_int_equal(sirix_string_writer_init(&writer, pages, NULL), SIRIX_OK);
    while (status == SIRIX_OK) {
        status =
            sirix_string_writer_append(&writer, (struct sirix_bytes){part, sizeof(part)}, NULL);
        parts++;
    }
    assert_int_equal(status, SIRIX_INVALID);
    assert_int_equal(parts, SIRIX_STRING_BYTES_MAX / sizeof(part) + 1);
    sirix_string_writer_deinit(&writer);
    sirix_page_writer_free(pages);
}

/* --- Damage ---------------------------------------------------------------------------------- */

static void root_pages_that_break_a_rule_are_refused(void **state)
{
    const struct {
        const char *why;
        size_t offset;
        uint8_t byte;
    } cases[] = {
        {"other type", 0, SIRIX_PAGE_STRING_CHUNK},
        {"flags", 1, 1},
        {"a byte that is always 0", 2, 1},
        {"chunks that do not fit the length", 4, 2},
        {"stored length 0", 8, 0},
        {"decoded length 0", 16, 0},
        {"decoded longer than stored", 16, 101},
        {"stored longer than 6 times decoded", 16, 16},
        {"chunk length 0", 24, 0},
        {"another byte that is always 0", 28, 1},
    };
    uint8_t page[72] = {SIRIX_PAGE_STRING_ROOT, 0, 0, 0, 1};
    struct sirix_string_info info;

    (void)state;
    page[8] = 100;
    page[16] = 100;
    page[24] = 200;
    assert_int_equal(sirix_string_root_decode((struct sirix_bytes){page, 72}, 8, &info, NULL),
                     SIRIX_OK);
    for (size_t len = 0; len < 72; len++) {
        assert_int_equal(sirix_string_root_decode((struct sirix_bytes){page, len}, 8, &info, NULL),
                         SIRIX_CORRUPT);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t before = page[cases[i].offset];
        page[cases[i].offset] = cases[i].byte;
        if (sirix_string_root_decode((struct sirix_bytes){page, 72}, 8, &info, NULL) !=
            SIRIX_CORRUPT) {
            fail_msg("case '%s' was taken", cases[i].why);
        }
        page[cases[i].offset] = before;
    }
}

static void a_chunk_that_is_none_is_refused(void **state)
{
    struct store *store = *state;
    struct sirix_page_writer *pages = store_writer(store, 0);
    struct sirix_string_reader reader;
    struct sirix_bytes slice;
    uint64_t chunk = 0;
    uint64_t root = 0;
    uint8_t *place = NULL;

    assert_int_equal(sirix_page_writer_alloc(pages, 108, &chunk, &place, NULL), SIRIX_OK);
    place[0] = SIRIX_PAGE_STRING_CHUNK;
    place[4] = 99;
    assert_int_equal(sirix_page_writer_alloc(pages, 72, &root, &place, NULL), SIRIX_OK);
    place[0] = SIRIX_PAGE_STRING_ROOT;
    place[4] = 1;
    place[8] = place[16] = 100;
    place[24] = 200;
    sirix_store_u64le(place + 64, chunk);
    (void)store_publish(store, pages);

    assert_int_equal(sirix_string_reader_init(&reader, store->reader, chunk, NULL), SIRIX_CORRUPT);
    assert_int_equal(sirix_string_reader_init(&reader, store->reader, root, NULL), SIRIX_OK);
    assert_int_equal(sirix_string_reader_at(&reader, 3, &slice, NULL), SIRIX_CORRUPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(strings_of_every_length_come_back),
        TEST(escapes_count_once_wherever_a_part_ends),
        TEST(equal_strings_have_equal_hashes),
        TEST(the_longest_string_is_taken_and_one_byte_more_is_not),
        TEST(far_too_long_a_string_is_refused_on_the_way),
        TEST(root_pages_that_break_a_rule_are_refused),
        TEST(a_chunk_that_is_none_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests_name("string", tests, NULL, NULL);
}
