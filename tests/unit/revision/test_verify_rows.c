/* Verify: index rows, heads, names and segments that do not fit. */
#include "unit/revision/verify_fixture.h"

/* --- Rows and records ----------------------------------------------------------------------------- */

enum { COUNTERS_BYTES = 72, ENTRY_BYTES = 24 };

/* Changes a field of a revision's entry: in the counters' row, or where it is in a run before, in its own. */
static void index_edit(struct test_rev *f, uint64_t revision, bool is_newest, size_t offset,
                       int64_t add)
{
    const uint32_t id = sirix_resource_id(f->resource);
    const struct sirix_rows_key key =
        is_newest ? sirix_rows_key_counters(id) : sirix_rows_key_index(id, revision);
    struct sirix_bytes value = {0};
    uint8_t bytes[512];

    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_ref_get(f->reader, sirix_rows_key_view(&key), &value, NULL), SIRIX_OK);
    memcpy(bytes, value.data, value.len);
    uint8_t *field = bytes + (is_newest ? COUNTERS_BYTES : 0) +
                     revision % SIRIX_INDEX_RUN * ENTRY_BYTES + offset;
    sirix_store_u64le(field, sirix_load_u64le(field) + (uint64_t)add);
    value.data = bytes;
    test_put_row(f, &key, value);
}

static void an_index_that_disagrees_with_the_record_is_found(void **state)
{
    struct test_rev *f = *state;

    for (int i = 0; i < 5; i++) {
        (void)test_set(f, "main", i);
    }
    expect_sound(f);
    index_edit(f, 3, true, 8, 1);
    expect_fault(f, "revision 3: time or branch are not those of the index");
    index_edit(f, 3, true, 8, -1);
    for (int i = 5; i < 20; i++) {
        (void)test_set(f, "main", i);
    }
    expect_sound(f);
    index_edit(f, 3, false, 8, 1);
    expect_fault(f, "revision 3: time or branch are not those of the index");
    index_edit(f, 3, false, 8, -1);
    index_edit(f, 4, false, 0, (int64_t)(UINT64_C(500) << 21));
    expect_fault(f, "revision 4");
}

static void a_run_of_the_index_that_is_gone_or_cut_is_found(void **state)
{
    struct test_rev *f = *state;
    const struct sirix_rows_key key = sirix_rows_key_index(sirix_resource_id(f->resource), 0);
    struct sirix_view view;
    struct sirix_error err = {0};

    for (int i = 0; i < 40; i++) {
        (void)test_set(f, "main", i);
    }
    expect_sound(f);
    test_put_row(f, &key, (struct sirix_bytes){.data = "short", .len = 5});
    expect_fault(f, "index row of revision 1 has a wrong length: 5 bytes");
    test_put_row(f, &key, (struct sirix_bytes){0});
    expect_fault(f, "revision 1 has no index row");
    assert_int_equal(test_view_revision(f, 15, &view, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "revision 15 has no index row"));
    for (uint64_t revision = 16; revision <= 41; revision++) {
        assert_int_equal(test_view_revision(f, revision, &view, NULL), SIRIX_OK);
        assert_int_equal(test_value(f, &view), (int64_t)revision - 2);
        sirix_view_close(&view);
    }
}

static void a_head_and_counts_that_lie_are_found(void **state)
{
    struct test_rev *f = *state;
    const uint32_t id = sirix_resource_id(f->resource);
    const struct sirix_rows_key key = sirix_rows_key_head(id, 0);
    const struct sirix_rows_key stray = sirix_rows_key_head(id, 9);
    struct sirix_published last = test_set(f, "main", 1);
    struct sirix_head_row head = {.revision = 1, .address = last.record_address};
    struct sirix_rows_value value = sirix_rows_head_encode(&head);

    test_put_row(f, &key, sirix_rows_value_view(&value));
    expect_fault(f, "a head has another address than the index");
    head.revision = 2;
    value = sirix_rows_head_encode(&head);
    test_put_row(f, &key, sirix_rows_value_view(&value));
    expect_sound(f);
    test_put_row(f, &stray, sirix_rows_value_view(&value));
    expect_fault(f, "2 branches and 0 snapshots are there, counted are 1 and 0");
    test_put_row(f, &key, (struct sirix_bytes){.data = "short", .len = 5});
    expect_fault(f, "head row has a wrong length");
}

static void a_branch_that_has_another_name_under_its_id_is_found(void **state)
{
    struct test_rev *f = *state;
    uint64_t branch = test_branch(f, "main", "Side", 0);
    const struct sirix_rows_key key =
        sirix_rows_key_branch_name(sirix_resource_id(f->resource), branch);

    expect_sound(f);
    test_put_row(f, &key, test_name("side"));
    expect_fault(f, "branch Side has another name under its id");
    test_put_row(f, &key, (struct sirix_bytes){0});
    expect_fault(f, "branch Side has another name under its id");
    test_put_row(f, &key, test_name("Side"));
    expect_sound(f);
}

/* Flips a byte of the file where a pattern stands; returns how often it stood there. */
static int damage_file(const char *dir, const void *pattern, size_t len, size_t at)
{
    char path[128];
    int found = 0;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    off_t size = lseek(file, 0, SEEK_END);
    uint8_t *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(pread(file, bytes, (size_t)size, 0), size);
    for (size_t i = 0; i + len <= (size_t)size; i++) {
        if (memcmp(bytes + i, pattern, len) == 0) {
            bytes[i + at] ^= 0x40;
            assert_int_equal(pwrite(file, bytes + i + at, 1, (off_t)(i + at)), 1);
            found++;
        }
    }
    free(bytes);
    assert_int_equal(close(file), 0);
    return found;
}

static void a_damaged_segment_is_named_and_the_rest_is_read(void **state)
{
    static struct test_rev f;
    struct sirix_view view;
    uint8_t chain[SIRIX_HASH_BYTES];
    struct sirix_error err = {0};

    (void)state;
    test_rev_open(&f, TEST_REV_LMDB, 1);
    for (int i = 0; i < 20; i++) {
        (void)test_set(&f, "main", i);
    }
    assert_int_equal(test_view_revision(&f, 7, &view, NULL), SIRIX_OK);
    memcpy(chain, view.record.chain, sizeof(chain));
    sirix_view_close(&view);
    sirix_resource_unref(f.resource);
    sirix_reader_close(f.reader);
    sirix_database_close(f.database);
    assert_in_range(damage_file(f.dir, chain, sizeof(chain), 3), 1, 100);

    /* As test_rev_reopen() does, but everything was closed already. */
    const struct sirix_lmdb_options lmdb = {.dir = f.dir};
    struct sirix_database_options options = {.pool = f.pool, .clock = &f.clock};
    assert_int_equal(sirix_backend_open_lmdb(&lmdb, &options.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_database_open(&options, &f.database, NULL, NULL), SIRIX_OK);
    assert_int_equal(sirix_reader_open(sirix_database_backend(f.database), &f.reader, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_resource_open(f.database, test_name("r"), &f.resource, NULL), SIRIX_OK);

    struct faults faults = verify(&f, NULL);
    assert_int_equal(faults.first.reason, SIRIX_REASON_CHECKSUM);
    assert_string_equal(faults.resource, "r");
    assert_ptr_equal(strstr(faults.first.text, "resource r: segment"), faults.first.text);
    /* The segment; revision 7, which is in it; revision 8, whose parent it is; those that jump there. */
    assert_in_range(faults.count, 3, 12);
    assert_int_equal(test_view_revision(&f, 7, &view, &err), SIRIX_CORRUPT);
    assert_ptr_equal(strstr(err.text, "resource r: segment"), err.text);
    assert_int_equal(test_view_branch(&f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&f, &view), 19);
    sirix_view_close(&view);
    test_rev_close(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_index_that_disagrees_with_the_record_is_found),
        TEST(a_run_of_the_index_that_is_gone_or_cut_is_found),
        TEST(a_head_and_counts_that_lie_are_found),
        TEST(a_branch_that_has_another_name_under_its_id_is_found),
        cmocka_unit_test(a_damaged_segment_is_named_and_the_rest_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
