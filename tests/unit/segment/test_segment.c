/*
 * What every backend promises (segment.h), held against each of them: memory, memory with late
 * answers, and LMDB. One table of tests, one set-up a backend.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "unit/segment/support.h"

struct fixture {
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend;
    struct sirix_reader *reader;
};

static int begin(void **state, struct sirix_backend *backend)
{
    struct fixture *f = *state;

    f->backend = backend;
    assert_int_equal(sirix_reader_open(backend, &f->reader, NULL), SIRIX_OK);
    return 0;
}

static int setup_memory_with(void **state, uint32_t delay_us_max)
{
    static struct fixture f;
    const struct sirix_memory_options options = {.seed = 1, .delay_us_max = delay_us_max};
    struct sirix_backend *backend = NULL;

    f = (struct fixture){0};
    *state = &f;
    assert_int_equal(sirix_backend_open_memory(&options, &backend, NULL), SIRIX_OK);
    return begin(state, backend);
}

static int setup_memory(void **state)
{
    return setup_memory_with(state, 0);
}

static int setup_late(void **state)
{
    return setup_memory_with(state, 200);
}

static int setup_lmdb(void **state)
{
    static struct fixture f;
    struct sirix_backend *backend = NULL;

    f = (struct fixture){0};
    *state = &f;
    test_dir_make(f.dir);
    const struct sirix_lmdb_options options = {
        .dir = f.dir, .create = true, .reserve_bytes = 1, .no_sync = true};
    struct sirix_error err = {0};
    if (sirix_backend_open_lmdb(&options, &backend, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    return begin(state, backend);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    sirix_reader_close(f->reader);
    sirix_backend_close(f->backend);
    if (f->dir[0] != '\0') {
        test_dir_remove(f->dir);
    }
    return 0;
}

static void expect_stored(struct fixture *f, uint64_t number, size_t len)
{
    struct sirix_bytes page;
    struct sirix_error err = {0};
    uint64_t address = sirix_address_make(number, SIRIX_SEGMENT_HEADER_BYTES);

    if (sirix_segment_get(f->reader, address, len - SIRIX_SEGMENT_HEADER_BYTES, &page, &err) !=
        SIRIX_OK) {
        fail_msg("segment %u: %s", (unsigned)number, err.text);
    }
    assert_int_equal(page.len, len - SIRIX_SEGMENT_HEADER_BYTES);
    assert_true(test_segment_equal(number, (struct sirix_bytes){.data = (const uint8_t *)page.data -
                                                                        SIRIX_SEGMENT_HEADER_BYTES,
                                                                .len = len}));
}

static void expect_absent(struct fixture *f, uint64_t number)
{
    struct sirix_bytes page;
    struct sirix_error err = {0};

    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(number, 16), 0, &page, &err),
                     SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "is not stored"));
}

static void expect_ref(struct fixture *f, const char *key, const char *value)
{
    struct sirix_bytes found;

    if (value == NULL) {
        assert_int_equal(sirix_ref_get(f->reader, test_text(key), &found, NULL), SIRIX_NOT_FOUND);
        return;
    }
    assert_int_equal(sirix_ref_get(f->reader, test_text(key), &found, NULL), SIRIX_OK);
    assert_true(sirix_bytes_equal(found, test_text(value)));
}

/* --- Segments --------------------------------------------------------------------------------- */

static void a_segment_is_read_back_from_any_offset(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    struct sirix_bytes page;

    assert_int_equal(test_put(f->backend, number, 1, 4096).status, SIRIX_OK);
    sirix_reader_yield(f->reader);

    expect_stored(f, number, 4096);
    assert_int_equal(
        sirix_segment_get(f->reader, sirix_address_make(number, 4000), 96, &page, NULL), SIRIX_OK);
    assert_int_equal(page.len, 96);
}

static void numbers_are_reserved_from_1_and_never_twice(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sirix_segment_reserve(f->backend, 10), 1);
    assert_int_equal(sirix_segment_reserve(f->backend, 1), 11);
    assert_int_equal(sirix_segment_reserve(f->backend, 1), 12);
}

static void an_address_that_points_outside_is_corrupt(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    const struct {
        uint64_t offset;
        size_t min_len;
    } cases[] = {{0, 1}, {8, 1}, {72, 0}, {SIRIX_SEGMENT_BYTES_MAX - 8, 1}, {16, 49}, {64, 1}};

    assert_int_equal(test_put(f->backend, number, 1, 64).status, SIRIX_OK);
    sirix_reader_yield(f->reader);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_bytes page;
        struct sirix_error err = {0};
        assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(number, cases[i].offset),
                                           cases[i].min_len, &page, &err),
                         SIRIX_CORRUPT);
        assert_non_null(strstr(err.text, "segment 1 (pages, resource 7)"));
    }
}

static void a_reader_sees_a_commit_only_after_its_yield(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 2);

    assert_int_equal(test_put(f->backend, number, 1, 100).status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_stored(f, number, 100);
    assert_int_equal(test_put(f->backend, number + 1, 1, 100).status, SIRIX_OK);
    assert_int_equal(test_delete(f->backend, number, number).status, SIRIX_OK);

    expect_absent(f, number + 1);
    expect_stored(f, number, 100);
    uint64_t generation = sirix_reader_generation(f->reader);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_reader_generation(f->reader), generation + 1);
    expect_stored(f, number + 1, 100);
    expect_absent(f, number);
}

static void a_sparse_segment_replaces_its_number_and_keeps_addresses(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    uint8_t sparse[64] = {0};
    struct sirix_bytes page;
    struct sirix_error err = {0};

    /* One live run: what was at 800..824 now stands at 40. */
    sirix_store_u32le(sparse + 16, 1);
    sirix_store_u32le(sparse + 24, 800);
    sirix_store_u32le(sparse + 28, 40);
    sirix_store_u32le(sparse + 32, 24);
    memset(sparse + 40, 'x', 24);
    sirix_segment_seal(sparse, sizeof(sparse), SIRIX_SEGMENT_SPARSE, TEST_RESOURCE);
    const struct sirix_segment_put put = {.number = number,
                                          .bytes = {.data = sparse, .len = sizeof(sparse)}};
    assert_int_equal(test_put(f->backend, number, 1, 1024).status, SIRIX_OK);
    assert_int_equal(
        test_commit(f->backend, &(struct sirix_batch){.puts = &put, .put_count = 1}).status,
        SIRIX_OK);
    sirix_reader_yield(f->reader);

    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(number, 808), 16, &page, NULL),
                     SIRIX_OK);
    assert_int_equal(page.len, 16);
    assert_memory_equal(page.data, "xxxxxxxxxxxxxxxx", 16);
    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(number, 16), 1, &page, &err),
                     SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "pruned"));
}

static void a_number_that_is_stored_is_not_overwritten(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);

    assert_int_equal(test_put(f->backend, number, 1, 100).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, number, 1, 200).status, SIRIX_INVALID);
    sirix_reader_yield(f->reader);
    expect_stored(f, number, 100);
}

static void a_batch_that_breaks_a_rule_changes_nothing(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 2);
    uint8_t bad[32] = {0};
    struct sirix_bytes good = test_segment_new(number, 100);
    uint8_t *long_key = calloc(1, SIRIX_REF_KEY_BYTES_MAX + 1);
    uint8_t *long_value = calloc(1, SIRIX_REF_VALUE_BYTES_MAX + 1);
    const struct sirix_segment_put unsealed = {number, {bad, sizeof(bad)}};
    const struct sirix_segment_put unreserved = {number + 2, good};
    const struct sirix_segment_put falling[] = {{number + 1, good}, {number, good}};
    const struct sirix_ref_put refs[] = {
        {.key = {long_key, SIRIX_REF_KEY_BYTES_MAX + 1}, .value = {bad, 1}},
        {.key = {bad, 0}, .value = {bad, 1}},
        {.key = {bad, 1}, .value = {long_value, SIRIX_REF_VALUE_BYTES_MAX + 1}},
    };
    const struct sirix_segment_range ranges[] = {{0, 1}, {5, 4}};
    const struct {
        struct sirix_batch batch;
        enum sirix_status status;
    } cases[] = {
        {{.puts = &unsealed, .put_count = 1}, SIRIX_CORRUPT},
        {{.puts = &unreserved, .put_count = 1}, SIRIX_INVALID},
        {{.puts = falling, .put_count = 2}, SIRIX_INVALID},
        {{.refs = &refs[0], .ref_count = 1}, SIRIX_INVALID},
        {{.refs = &refs[1], .ref_count = 1}, SIRIX_INVALID},
        {{.refs = &refs[2], .ref_count = 1}, SIRIX_INVALID},
        {{.deletes = &ranges[0], .delete_count = 1}, SIRIX_INVALID},
        {{.deletes = &ranges[1], .delete_count = 1}, SIRIX_INVALID},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct test_outcome outcome = test_commit(f->backend, &cases[i].batch);
        assert_int_equal(outcome.status, cases[i].status);
        assert_int_equal(outcome.error.status, cases[i].status);
    }
    sirix_reader_yield(f->reader);
    expect_absent(f, number);
    test_segment_free(good);
    free(long_key);
    free(long_value);
}

struct numbers {
    uint64_t seen[16];
    size_t count;
    size_t stop_after;
};

static enum sirix_status note_number(void *context, uint64_t number, struct sirix_bytes bytes,
                                     bool *stop, struct sirix_error *err)
{
    struct numbers *numbers = context;

    (void)err;
    assert_true(test_segment_equal(number, bytes));
    assert_true(numbers->count < 16);
    numbers->seen[numbers->count++] = number;
    *stop = numbers->count == numbers->stop_after;
    return SIRIX_OK;
}

static void a_scan_visits_stored_segments_in_order(void **state)
{
    struct fixture *f = *state;
    struct numbers numbers = {0};

    (void)sirix_segment_reserve(f->backend, 20);
    assert_int_equal(test_put(f->backend, 9, 2, 5000).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 3, 3, 100).status, SIRIX_OK);
    assert_int_equal(test_delete(f->backend, 4, 4).status, SIRIX_OK);
    sirix_reader_yield(f->reader);

    assert_int_equal(sirix_segment_scan(f->reader, 1, UINT64_MAX, note_number, &numbers, NULL),
                     SIRIX_OK);
    assert_int_equal(numbers.count, 4);
    const uint64_t want[] = {3, 5, 9, 10};
    assert_memory_equal(numbers.seen, want, sizeof(want));

    numbers = (struct numbers){.stop_after = 2};
    assert_int_equal(sirix_segment_scan(f->reader, 4, 9, note_number, &numbers, NULL), SIRIX_OK);
    assert_int_equal(numbers.count, 2);
    assert_int_equal(numbers.seen[1], 9);
    numbers = (struct numbers){.stop_after = 1};
    assert_int_equal(sirix_segment_scan(f->reader, 4, 9, note_number, &numbers, NULL), SIRIX_OK);
    assert_int_equal(numbers.count, 1);
}

/* --- Refs ------------------------------------------------------------------------------------- */

static void refs_are_put_replaced_and_deleted(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(test_ref(f->backend, "key", "one").status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_ref(f, "key", "one");
    assert_int_equal(test_ref(f->backend, "key", "").status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_ref(f, "key", "");
    assert_int_equal(test_ref(f->backend, "key", NULL).status, SIRIX_OK);
    assert_int_equal(test_ref(f->backend, "none", NULL).status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_ref(f, "key", NULL);
}

static void an_expectation_that_fails_undoes_the_batch_and_tells_the_row(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    struct sirix_bytes bytes = test_segment_new(number, 64);
    const struct sirix_segment_put put = {number, bytes};
    struct sirix_ref_put refs[] = {
        {.key = test_text("new"), .value = test_text("n")},
        {.key = test_text("head"),
         .value = test_text("2"),
         .expect = SIRIX_REF_EXPECT_VALUE,
         .expected = test_text("0")},
    };
    const struct sirix_batch batch = {.puts = &put, .put_count = 1, .refs = refs, .ref_count = 2};

    assert_int_equal(test_ref(f->backend, "head", "1").status, SIRIX_OK);
    struct test_outcome outcome = test_commit(f->backend, &batch);
    assert_int_equal(outcome.status, SIRIX_CONFLICT);
    assert_int_equal(outcome.conflict_index, 1);
    assert_true(outcome.has_current);
    assert_int_equal(outcome.current_len, 1);
    assert_int_equal(outcome.current[0], '1');
    sirix_reader_yield(f->reader);
    expect_ref(f, "new", NULL);
    expect_absent(f, number);

    refs[1].expected = test_text("1");
    assert_int_equal(test_commit(f->backend, &batch).status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_ref(f, "head", "2");
    expect_stored(f, number, 64);
    test_segment_free(bytes);
}

static void expectations_see_earlier_changes_of_their_batch(void **state)
{
    struct fixture *f = *state;
    const struct sirix_ref_put refs[] = {
        {.key = test_text("a"), .value = test_text("1"), .expect = SIRIX_REF_EXPECT_ABSENT},
        {.key = test_text("a"),
         .value = test_text("2"),
         .expect = SIRIX_REF_EXPECT_VALUE,
         .expected = test_text("1")},
        {.key = test_text("a"), .expect = SIRIX_REF_EXPECT_VALUE, .expected = test_text("2")},
        {.key = test_text("a"), .value = test_text("3"), .expect = SIRIX_REF_EXPECT_ABSENT},
    };

    assert_int_equal(
        test_commit(f->backend, &(struct sirix_batch){.refs = refs, .ref_count = 4}).status,
        SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_ref(f, "a", "3");
    struct test_outcome outcome =
        test_commit(f->backend, &(struct sirix_batch){.refs = refs, .ref_count = 1});
    assert_int_equal(outcome.status, SIRIX_CONFLICT);
    assert_int_equal(outcome.conflict_index, 0);
    assert_int_equal(outcome.current[0], '3');
}

struct visited {
    char keys[128];
    size_t stop_after;
    size_t count;
};

static enum sirix_status note_key(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    struct visited *visited = context;

    (void)err;
    assert_true(sirix_bytes_equal(key, value));
    strncat(visited->keys, key.data, key.len);
    strncat(visited->keys, " ", 2);
    *stop = ++visited->count == visited->stop_after;
    return SIRIX_OK;
}

static void a_ref_scan_stays_in_its_prefix_both_ways(void **state)
{
    struct fixture *f = *state;
    const char *const rows[] = {"a", "b", "ba", "bb", "bbx", "bc", "c", "\xff", "\xff\xff"};
    const struct {
        const char *prefix;
        const char *from;
        bool reverse;
        size_t stop_after;
        const char *want;
    } cases[] = {
        {"b", "", false, 0, "b ba bb bbx bc "},
        {"b", "bb", false, 0, "bb bbx bc "},
        {"b", "bba", false, 0, "bbx bc "},
        {"b", "a", false, 0, "b ba bb bbx bc "},
        {"b", "c", false, 0, ""},
        {"b", "", true, 0, "bc bbx bb ba b "},
        {"b", "bb", true, 0, "bb ba b "},
        {"b", "bba", true, 0, "bb ba b "},
        {"b", "c", true, 0, "bc bbx bb ba b "},
        {"b", "a", true, 0, ""},
        {"b", "", false, 2, "b ba "},
        {"bb", "", true, 1, "bbx "},
        {"bd", "", false, 0, ""},
        {"bd", "", true, 0, ""},
        {"", "", false, 3, "a b ba "},
        {"", "", true, 2, "\xff\xff \xff "},
        {"", "bb", true, 2, "bb ba "},
        {"\xff", "", true, 0, "\xff\xff \xff "},
        {"\xff", "", false, 0, "\xff \xff\xff "},
        {"\xff\xff\xff", "", true, 0, ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(test_ref(f->backend, rows[i], rows[i]).status, SIRIX_OK);
    }
    sirix_reader_yield(f->reader);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct visited visited = {.stop_after = cases[i].stop_after};
        assert_int_equal(sirix_ref_scan(f->reader, test_text(cases[i].prefix),
                                        test_text(cases[i].from), cases[i].reverse, note_key,
                                        &visited, NULL),
                         SIRIX_OK);
        if (strcmp(visited.keys, cases[i].want) != 0) {
            fail_msg("case %zu: visited '%s', not '%s'", i, visited.keys, cases[i].want);
        }
    }
}

static enum sirix_status get_inside(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                    bool *stop, struct sirix_error *err)
{
    struct fixture *f = context;
    struct sirix_bytes found;

    (void)value;
    *stop = false;
    if (sirix_bytes_equal(key, test_text("refuse"))) {
        return sirix_fail(err, SIRIX_CANCELLED, "the visitor said so");
    }
    return sirix_ref_get(f->reader, key, &found, err);
}

static void a_visitor_may_look_up_and_its_failure_ends_the_scan(void **state)
{
    struct fixture *f = *state;
    struct sirix_error err = {0};

    assert_int_equal(test_ref(f->backend, "look", "1").status, SIRIX_OK);
    assert_int_equal(test_ref(f->backend, "refuse", "1").status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_ref_scan(f->reader, test_text(""), test_text(""), false, get_inside, f, &err),
        SIRIX_CANCELLED);
    assert_string_equal(err.text, "the visitor said so");
}

/* --- Housekeeping ----------------------------------------------------------------------------- */

static void stats_count_what_is_stored(void **state)
{
    struct fixture *f = *state;
    struct sirix_backend_stats stats;

    (void)sirix_segment_reserve(f->backend, 5);
    assert_int_equal(test_put(f->backend, 1, 4, 3000).status, SIRIX_OK);
    assert_int_equal(test_delete(f->backend, 2, 2).status, SIRIX_OK);

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 3);
    assert_true(stats.segment_bytes >= 9000);
    assert_true(stats.file_bytes >= 9000);
    assert_int_equal(stats.next_number, 6);
    assert_int_equal(stats.pack_count, 0);
    assert_false(stats.read_only);
    assert_true(stats.free_bytes > 0);
}

/* Many small batches beside readers that yield: nothing seen is ever half of a batch. */
static void batches_are_seen_whole_or_not_at_all(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < 300; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%u", i);
        const struct sirix_ref_put refs[] = {
            {.key = test_text("left"), .value = test_text(text)},
            {.key = test_text("right"), .value = test_text(text)},
        };
        assert_int_equal(
            test_commit(f->backend, &(struct sirix_batch){.refs = refs, .ref_count = 2}).status,
            SIRIX_OK);
        sirix_reader_yield(f->reader);
        expect_ref(f, "left", text);
        expect_ref(f, "right", text);
    }
}

#define CONTRACT(setup)                                                                            \
    cmocka_unit_test_setup_teardown(a_segment_is_read_back_from_any_offset, setup, teardown),      \
        cmocka_unit_test_setup_teardown(numbers_are_reserved_from_1_and_never_twice, setup,        \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(an_address_that_points_outside_is_corrupt, setup,          \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_reader_sees_a_commit_only_after_its_yield, setup,        \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_sparse_segment_replaces_its_number_and_keeps_addresses,  \
                                        setup, teardown),                                          \
        cmocka_unit_test_setup_teardown(a_number_that_is_stored_is_not_overwritten, setup,         \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_batch_that_breaks_a_rule_changes_nothing, setup,         \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_scan_visits_stored_segments_in_order, setup, teardown),  \
        cmocka_unit_test_setup_teardown(refs_are_put_replaced_and_deleted, setup, teardown),       \
        cmocka_unit_test_setup_teardown(                                                           \
            an_expectation_that_fails_undoes_the_batch_and_tells_the_row, setup, teardown),        \
        cmocka_unit_test_setup_teardown(expectations_see_earlier_changes_of_their_batch, setup,    \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_ref_scan_stays_in_its_prefix_both_ways, setup,           \
                                        teardown),                                                 \
        cmocka_unit_test_setup_teardown(a_visitor_may_look_up_and_its_failure_ends_the_scan,       \
                                        setup, teardown),                                          \
        cmocka_unit_test_setup_teardown(stats_count_what_is_stored, setup, teardown),              \
        cmocka_unit_test_setup_teardown(batches_are_seen_whole_or_not_at_all, setup, teardown)

int main(void)
{
    const struct CMUnitTest memory[] = {CONTRACT(setup_memory)};
    const struct CMUnitTest late[] = {CONTRACT(setup_late)};
    const struct CMUnitTest lmdb[] = {CONTRACT(setup_lmdb)};
    int failed = cmocka_run_group_tests_name("segment in memory", memory, NULL, NULL);

    failed += cmocka_run_group_tests_name("segment in memory, late", late, NULL, NULL);
    return failed + cmocka_run_group_tests_name("segment on LMDB", lmdb, NULL, NULL);
}
