/* The LMDB backend where it is more than the common contract: what survives a reopen, formats, packs. */
#include "unit/segment/lmdb_fixture.h"

/* --- Reopening -------------------------------------------------------------------------------- */

static void segments_and_refs_survive_a_reopen(void **state)
{
    struct fixture *f = *state;
    uint64_t first = sirix_segment_reserve(f->backend, 3);
    struct sirix_bytes value;

    assert_int_equal(test_put(f->backend, first, 3, 5000).status, SIRIX_OK);
    assert_int_equal(test_ref(f->backend, "key", "value").status, SIRIX_OK);
    reopen(f);

    expect_stored(f->reader, first, first + 2);
    assert_int_equal(sirix_ref_get(f->reader, test_text("key"), &value, NULL), SIRIX_OK);
    assert_true(sirix_bytes_equal(value, test_text("value")));
}

static void a_reader_has_an_age_until_it_yields(void **state)
{
    static const struct sirix_bytes key = {.data = "k", .len = 1};
    struct fixture *f = *state;
    struct sirix_reader *second = NULL;
    struct sirix_bytes value;
    struct sirix_backend_stats stats;
    uint64_t first_ns = 0;

    assert_int_equal(sirix_reader_open(f->backend, &second, NULL), SIRIX_OK);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.readers, 2);
    assert_int_equal(stats.oldest_reader_ns, 0);

    assert_int_equal(sirix_ref_get(second, key, &value, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    first_ns = stats.oldest_reader_ns;
    assert_true(first_ns > 0);
    assert_int_equal(sirix_ref_get(f->reader, key, &value, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_true(stats.oldest_reader_ns > first_ns); /* Of the older one. */

    sirix_reader_yield(second);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.oldest_reader_ns, 0);
    sirix_reader_close(second);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.readers, 1);
}

static void numbers_are_not_given_again_after_a_reopen(void **state)
{
    struct fixture *f = *state;

    for (unsigned round = 0; round < 5; round++) {
        uint64_t first = sirix_segment_reserve(f->backend, 300);
        expect_absent(f->reader, first);
        assert_int_equal(test_put(f->backend, first + 299, 1, 64).status, SIRIX_OK);
        assert_int_equal(test_delete(f->backend, first + 299, first + 299).status, SIRIX_OK);
        reopen(f);
        assert_true(sirix_segment_reserve(f->backend, 1) > first + 299);
    }
}

static void what_is_absent_is_made_only_when_asked_for(void **state)
{
    struct fixture *f = *state;
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};
    char dir[TEST_DIR_BYTES];

    test_dir_make(dir);
    struct sirix_lmdb_options options = {.dir = dir};
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_NOT_FOUND);
    assert_non_null(strstr(err.text, dir));
    options.dir = "no/such/folder";
    options.create = true;
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_NOT_FOUND);
    test_dir_remove(dir);

    f->options.create = false;
    reopen(f);
}

/* --- Format ----------------------------------------------------------------------------------- */

static void write_format(const char *dir, uint16_t major, uint16_t minor)
{
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi meta = 0;
    uint8_t row[4];
    char name[] = "format";
    MDB_val key = {.mv_size = 6, .mv_data = name};
    MDB_val val = {.mv_size = sizeof(row), .mv_data = row};

    sirix_store_u16le(row, major);
    sirix_store_u16le(row + 2, minor);
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "meta", 0, &meta), 0);
    assert_int_equal(mdb_put(txn, meta, &key, &val, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void an_unknown_format_is_refused(void **state)
{
    struct fixture *f = *state;
    struct sirix_error err = {0};

    close_backend(f);
    write_format(f->dir, 2, 0);

    assert_int_equal(open_backend(f, &err), SIRIX_UNSUPPORTED);
    assert_int_equal(err.reason, SIRIX_REASON_FORMAT_VERSION);
    assert_non_null(strstr(err.text, "2.0"));
}

static void a_newer_minor_format_can_be_read_but_not_written(void **state)
{
    struct fixture *f = *state;
    bool more = true;

    assert_int_equal(sirix_segment_reserve(f->backend, 2), 1);
    assert_int_equal(test_put(f->backend, 1, 1, 100).status, SIRIX_OK);
    close_backend(f);
    write_format(f->dir, 1, 9);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    expect_stored(f->reader, 1, 1);
    struct test_outcome outcome = test_delete(f->backend, 1, 1);
    assert_int_equal(outcome.status, SIRIX_PRECONDITION);
    assert_int_equal(outcome.error.reason, SIRIX_REASON_FORMAT_VERSION);
    assert_int_equal(sirix_backend_maintain(f->backend, 1 << 20, &more, NULL), SIRIX_PRECONDITION);
    assert_true(stats_of(f).read_only);
}

/* --- Packs ------------------------------------------------------------------------------------ */

static void packed_segments_read_as_before(void **state)
{
    struct fixture *f = *state;
    struct sirix_reader *older = NULL;

    (void)sirix_segment_reserve(f->backend, 700);
    assert_int_equal(test_put(f->backend, 1, 600, 700).status, SIRIX_OK);
    assert_int_equal(sirix_reader_open(f->backend, &older, NULL), SIRIX_OK);
    expect_stored(older, 1, 1); /* Its snapshot is from before the packs. */
    sirix_backend_set_settled(f->backend, 700);
    maintain_all(f);

    assert_int_equal(stats_of(f).pack_count, 2);
    assert_int_equal(stats_of(f).segment_count, 600);
    expect_stored(f->reader, 1, 600);
    expect_stored(older, 2, 600);
    sirix_reader_close(older);
    reopen(f);
    expect_stored(f->reader, 1, 600);
    assert_int_equal(stats_of(f).segment_count, 600);
}

static void only_whole_settled_groups_are_packed(void **state)
{
    struct fixture *f = *state;
    bool more = true;

    (void)sirix_segment_reserve(f->backend, 600);
    assert_int_equal(test_put(f->backend, 1, 512, 100).status, SIRIX_OK);
    assert_int_equal(sirix_backend_maintain(f->backend, 1 << 20, &more, NULL), SIRIX_OK);
    assert_false(more);
    assert_int_equal(stats_of(f).pack_count, 0);

    sirix_backend_set_settled(f->backend, 511);
    maintain_all(f);
    assert_int_equal(stats_of(f).pack_count, 1);
    sirix_backend_set_settled(f->backend, 100); /* It never falls. */
    sirix_backend_set_settled(f->backend, 512);
    maintain_all(f);
    assert_int_equal(stats_of(f).pack_count, 2);
}

static void large_segments_stay_alone_and_packs_keep_to_their_size(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 600);
    /* 60 members of 16 KiB: four packs; 10 of a byte more: none; one small one alone: none. */
    assert_int_equal(test_put(f->backend, 1, 60, SIRIX_PACK_MEMBER_BYTES_MAX).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 70, 10, SIRIX_PACK_MEMBER_BYTES_MAX + 1).status,
                     SIRIX_OK);
    assert_int_equal(test_put(f->backend, 300, 1, 100).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 600);
    maintain_all(f);

    assert_int_equal(stats_of(f).pack_count, 4);
    assert_int_equal(stats_of(f).segment_count, 71);
    expect_stored(f->reader, 1, 60);
    expect_stored(f->reader, 70, 79);
    expect_stored(f->reader, 300, 300);
}

static void a_slice_of_packing_keeps_to_its_budget(void **state)
{
    struct fixture *f = *state;
    bool more = false;

    (void)sirix_segment_reserve(f->backend, 1100);
    assert_int_equal(test_put(f->backend, 1, 1023, 800).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 1024);

    assert_int_equal(sirix_backend_maintain(f->backend, 1, &more, NULL), SIRIX_OK);
    assert_true(more);
    assert_int_equal(stats_of(f).pack_count, 1);
    assert_int_equal(sirix_backend_maintain(f->backend, (size_t)300 * 1024, &more, NULL), SIRIX_OK);
    assert_int_equal(stats_of(f).pack_count, 3);
    maintain_all(f);
    assert_int_equal(stats_of(f).pack_count, 4);
}

static enum sirix_status count_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                       bool *stop, struct sirix_error *err)
{
    uint64_t *last = context;

    *stop = false;
    (void)err;
    assert_true(number > *last);
    assert_true(test_segment_equal(number, bytes));
    *last = number;
    return SIRIX_OK;
}

static void a_scan_sees_packed_and_single_segments_in_one_order(void **state)
{
    struct fixture *f = *state;
    uint64_t last = 0;

    (void)sirix_segment_reserve(f->backend, 1100);
    for (uint64_t number = 1; number <= 1000; number += 3) {
        size_t len = number % 7 == 0 ? 20000 : 300;
        assert_int_equal(test_put(f->backend, number, 1, len).status, SIRIX_OK);
        if (number == 601) {
            sirix_backend_set_settled(f->backend, 600);
            maintain_all(f);
        }
    }
    sirix_reader_yield(f->reader);
    assert_true(stats_of(f).pack_count >= 2);

    assert_int_equal(sirix_segment_scan(f->reader, 1, UINT64_MAX, count_segment, &last, NULL),
                     SIRIX_OK);
    assert_int_equal(last, 1000);
    last = 99;
    assert_int_equal(sirix_segment_scan(f->reader, 100, 102, count_segment, &last, NULL), SIRIX_OK);
    assert_int_equal(last, 100);
}

static void deletes_reach_into_packs(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 1100);
    assert_int_equal(test_put(f->backend, 1, 1023, 400).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 1024);
    maintain_all(f);
    assert_int_equal(stats_of(f).pack_count, 4);

    /* One member, the highest of a group, and a range over a whole group and parts of two. */
    assert_int_equal(test_delete(f->backend, 10, 10).status, SIRIX_OK);
    assert_int_equal(test_delete(f->backend, 255, 255).status, SIRIX_OK);
    assert_int_equal(test_delete(f->backend, 500, 800).status, SIRIX_OK);
    sirix_reader_yield(f->reader);

    expect_stored(f->reader, 1, 9);
    expect_absent(f->reader, 10);
    expect_stored(f->reader, 11, 254);
    expect_absent(f->reader, 255);
    expect_stored(f->reader, 256, 499);
    for (uint64_t number = 500; number <= 800; number++) {
        expect_absent(f->reader, number);
    }
    expect_stored(f->reader, 801, 1023);
    assert_int_equal(stats_of(f).pack_count, 3);
    assert_int_equal(stats_of(f).segment_count, 1023 - 303);
    assert_int_equal(test_delete(f->backend, 1, 1100).status, SIRIX_OK);
    assert_int_equal(stats_of(f).segment_count, 0);
    assert_int_equal(stats_of(f).pack_count, 0);
}

static void a_packed_number_is_as_taken_as_any_other(void **state)
{
    struct fixture *f = *state;
    uint8_t sparse[40] = {0};

    (void)sirix_segment_reserve(f->backend, 600);
    assert_int_equal(test_put(f->backend, 1, 100, 400).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 110, 146, 400).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 256);
    maintain_all(f);
    assert_int_equal(stats_of(f).pack_count, 1);

    assert_int_equal(test_put(f->backend, 50, 1, 400).status, SIRIX_INVALID);
    /* A number that came late, below the mark, is stored all the same. */
    assert_int_equal(test_put(f->backend, 105, 1, 400).status, SIRIX_OK);
    /* A sparse one takes the place of the packed one. */
    sirix_store_u32le(sparse + 16, 0);
    sirix_segment_seal(sparse, sizeof(sparse), SIRIX_SEGMENT_SPARSE, TEST_RESOURCE);
    const struct sirix_segment_put put = {.number = 50, .bytes = {sparse, sizeof(sparse)}};
    assert_int_equal(
        test_commit(f->backend, &(struct sirix_batch){.puts = &put, .put_count = 1}).status,
        SIRIX_OK);
    sirix_reader_yield(f->reader);

    struct sirix_bytes page;
    struct sirix_error err = {0};
    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(50, 16), 0, &page, &err),
                     SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "sparse"));
    expect_stored(f->reader, 49, 49);
    expect_stored(f->reader, 51, 51);
    expect_stored(f->reader, 105, 105);
    assert_int_equal(stats_of(f).segment_count, 247);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(segments_and_refs_survive_a_reopen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_has_an_age_until_it_yields, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_are_not_given_again_after_a_reopen, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_absent_is_made_only_when_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_unknown_format_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_minor_format_can_be_read_but_not_written, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(packed_segments_read_as_before, setup, teardown),
        cmocka_unit_test_setup_teardown(only_whole_settled_groups_are_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(large_segments_stay_alone_and_packs_keep_to_their_size,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_slice_of_packing_keeps_to_its_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(a_scan_sees_packed_and_single_segments_in_one_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(deletes_reach_into_packs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_packed_number_is_as_taken_as_any_other, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
