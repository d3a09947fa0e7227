/* The frames of a backup: what is written is read again, and what cannot be is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/backup_format.h"

static struct sirix_bytes payload_of(const struct sirix_buf *buf)
{
    return (struct sirix_bytes){.data = buf->data + SIRIX_BACKUP_FRAME_HEADER_BYTES,
                                .len = buf->len - SIRIX_BACKUP_FRAME_HEADER_BYTES};
}

static void a_start_is_read_as_it_was_written(void **state)
{
    const struct sirix_backup_start wrote = {
        .made_us = 5,
        .created_us = -7,
        .incremental = true,
        .base = {1, 2, 3},
        .name = {.data = "shop", .len = 4},
    };
    struct sirix_backup_start read;
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 4096);
    assert_int_equal(sirix_backup_put_start(&buf, &wrote, NULL), SIRIX_OK);
    assert_true(sirix_backup_frame_is_whole(sirix_buf_view(&buf)));
    assert_int_equal(sirix_backup_get_start(payload_of(&buf), &read, NULL), SIRIX_OK);
    assert_int_equal(read.made_us, 5);
    assert_int_equal(read.created_us, -7);
    assert_true(read.incremental);
    assert_memory_equal(read.base, wrote.base, sizeof(wrote.base));
    assert_int_equal(read.name.len, 4);
    sirix_buf_deinit(&buf);
}

static void another_version_is_refused_as_such(void **state)
{
    const struct sirix_backup_start wrote = {.name = {.data = "a", .len = 1}};
    struct sirix_backup_start read;
    struct sirix_error err = {0};
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 4096);
    assert_int_equal(sirix_backup_put_start(&buf, &wrote, NULL), SIRIX_OK);
    buf.data[SIRIX_BACKUP_FRAME_HEADER_BYTES + 8] = 2;
    assert_int_equal(sirix_backup_get_start(payload_of(&buf), &read, &err), SIRIX_UNSUPPORTED);
    assert_int_equal(err.reason, SIRIX_REASON_FORMAT_VERSION);
    buf.data[SIRIX_BACKUP_FRAME_HEADER_BYTES] = 'x';
    assert_int_equal(sirix_backup_get_start(payload_of(&buf), &read, NULL), SIRIX_CORRUPT);
    sirix_buf_deinit(&buf);
}

static void an_end_is_read_as_it_was_written(void **state)
{
    struct sirix_segment_range holes[] = {{.first = 2, .last = 3}, {.first = 9, .last = 9}};
    const struct sirix_backup_end wrote = {.rows = 1,
                                           .segments = 2,
                                           .segment_bytes = 3,
                                           .next = 10,
                                           .created_us = 4,
                                           .holes = holes,
                                           .hole_count = 2,
                                           .sha = {9}};
    struct sirix_backup_end read;
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 4096);
    assert_int_equal(sirix_backup_put_end(&buf, &wrote, NULL), SIRIX_OK);
    assert_int_equal(sirix_backup_get_end(payload_of(&buf), &read, NULL), SIRIX_OK);
    assert_int_equal(read.next, 10);
    assert_int_equal(read.hole_count, 2);
    assert_memory_equal(read.holes, holes, sizeof(holes));
    assert_memory_equal(read.sha, wrote.sha, sizeof(read.sha));
    free(read.holes);
    sirix_buf_deinit(&buf);
}

static void impossible_ends_are_refused(void **state)
{
    const struct {
        struct sirix_segment_range holes[2];
        uint64_t next;
    } cases[] = {
        {{{1, 2}, {2, 3}}, 10},  /* Not rising. */
        {{{1, 2}, {5, 4}}, 10},  /* The wrong way round. */
        {{{0, 2}, {5, 6}}, 10},  /* Number 0. */
        {{{1, 2}, {5, 10}}, 10}, /* Not below next. */
        {{{1, 2}, {5, 6}}, 0},   {{{1, 2}, {5, 6}}, UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_segment_range holes[2] = {cases[i].holes[0], cases[i].holes[1]};
        const struct sirix_backup_end wrote = {
            .next = cases[i].next, .holes = holes, .hole_count = 2};
        struct sirix_backup_end read;
        struct sirix_buf buf;

        sirix_buf_init(&buf, 4096);
        assert_int_equal(sirix_backup_put_end(&buf, &wrote, NULL), SIRIX_OK);
        assert_int_equal(sirix_backup_get_end(payload_of(&buf), &read, NULL), SIRIX_CORRUPT);
        sirix_buf_deinit(&buf);
    }
}

static void lengths_and_types_of_frames_have_limits(void **state)
{
    const struct {
        uint8_t header[SIRIX_BACKUP_FRAME_HEADER_BYTES];
        enum sirix_status status;
    } cases[] = {
        {{SIRIX_BACKUP_START, 0, 0, 0, 0xff, 1}, SIRIX_OK},
        {{SIRIX_BACKUP_START, 0, 0, 0, 1, 2}, SIRIX_CORRUPT},
        {{SIRIX_BACKUP_SEGMENTS, 0, 0, 0, 0, 0, 0, 1}, SIRIX_OK},
        {{SIRIX_BACKUP_SEGMENTS, 0, 0, 0, 0, 0, 0, 2}, SIRIX_CORRUPT},
        {{0, 0, 0, 0, 1}, SIRIX_CORRUPT},
        {{5, 0, 0, 0, 1}, SIRIX_CORRUPT},
        {{SIRIX_BACKUP_END, 1, 0, 0, 1}, SIRIX_CORRUPT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum sirix_backup_frame type = SIRIX_BACKUP_START;
        size_t len = 0;
        assert_int_equal(sirix_backup_frame_read(cases[i].header, &type, &len, NULL),
                         cases[i].status);
    }
}

static void a_changed_bit_anywhere_is_seen(void **state)
{
    const struct sirix_backup_start wrote = {.name = {.data = "abc", .len = 3}};
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 4096);
    assert_int_equal(sirix_backup_put_start(&buf, &wrote, NULL), SIRIX_OK);
    for (size_t i = 0; i < buf.len; i++) {
        buf.data[i] ^= 4;
        assert_false(sirix_backup_frame_is_whole(sirix_buf_view(&buf)));
        buf.data[i] ^= 4;
    }
    sirix_buf_deinit(&buf);
}

static void broken_items_are_refused(void **state)
{
    static const uint8_t row[] = {1, 0, 2, 0, 'k', 'v', 'w'};
    static const uint8_t no_key[] = {0, 0, 1, 0, 'v'};
    static const uint8_t segment[] = {7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x'};
    static const uint8_t number_0[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x'};
    struct sirix_bytes key;
    struct sirix_bytes value;
    uint64_t number = 0;

    (void)state;
    for (size_t len = 0; len <= sizeof(row); len++) {
        struct sirix_bytes at = {.data = row, .len = len};
        assert_true(sirix_backup_take_row(&at, &key, &value) == (len == sizeof(row)));
    }
    for (size_t len = 0; len <= sizeof(segment); len++) {
        struct sirix_bytes at = {.data = segment, .len = len};
        assert_true(sirix_backup_take_segment(&at, &number, &value) == (len == sizeof(segment)));
    }
    assert_int_equal(number, 7);
    struct sirix_bytes bad_row = {.data = no_key, .len = sizeof(no_key)};
    assert_false(sirix_backup_take_row(&bad_row, &key, &value));
    struct sirix_bytes bad_segment = {.data = number_0, .len = sizeof(number_0)};
    assert_false(sirix_backup_take_segment(&bad_segment, &number, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_read_as_it_was_written),
        cmocka_unit_test(another_version_is_refused_as_such),
        cmocka_unit_test(an_end_is_read_as_it_was_written),
        cmocka_unit_test(impossible_ends_are_refused),
        cmocka_unit_test(lengths_and_types_of_frames_have_limits),
        cmocka_unit_test(a_changed_bit_anywhere_is_seen),
        cmocka_unit_test(broken_items_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
