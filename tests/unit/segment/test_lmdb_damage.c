/* Damage in the file of an LMDB database: it is named, and everything else goes on. */
#include "unit/segment/lmdb_fixture.h"

/* --- Damage ----------------------------------------------------------------------------------- */

/* Flips one bit of the first place in the data file that holds these bytes. */
static void damage_file(const char *dir, const void *needle, size_t len, size_t at)
{
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    (void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &found), 0);
    uint8_t *content = malloc((size_t)found.st_size);
    assert_non_null(content);
    assert_int_equal(pread(fd, content, (size_t)found.st_size, 0), found.st_size);
    uint8_t *place = memmem(content, (size_t)found.st_size, needle, len);
    assert_non_null(place);
    place[at] ^= 4;
    assert_int_equal(pwrite(fd, place + at, 1, place + at - content), 1);
    assert_int_equal(close(fd), 0);
    free(content);
}

static void a_damaged_segment_is_named_and_others_still_read(void **state)
{
    struct fixture *f = *state;
    struct sirix_bytes victim = test_segment_new(2, 3000);
    struct sirix_bytes whole;
    struct sirix_error err = {0};

    (void)sirix_segment_reserve(f->backend, 10);
    assert_int_equal(test_put(f->backend, 1, 3, 3000).status, SIRIX_OK);
    close_backend(f);
    damage_file(f->dir, victim.data, 64, 40);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    for (unsigned i = 0; i < 2; i++) { /* Bad news is not remembered as good. */
        assert_int_equal(get(f->reader, 2, &whole, &err), SIRIX_CORRUPT);
        assert_int_equal(err.reason, SIRIX_REASON_CHECKSUM);
        assert_string_equal(err.text, "segment 2 (pages, resource 7): checksum does not match");
        sirix_reader_yield(f->reader);
    }
    expect_stored(f->reader, 1, 1);
    expect_stored(f->reader, 3, 3);
    test_segment_free(victim);
}

static void a_damaged_pack_is_named_and_others_still_read(void **state)
{
    struct fixture *f = *state;
    struct sirix_bytes whole;
    struct sirix_error err = {0};
    uint8_t header[14]; /* Of the second pack: group, length, count. */

    (void)sirix_segment_reserve(f->backend, 600);
    assert_int_equal(test_put(f->backend, 256, 256, 100).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 1, 255, 100).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 512);
    maintain_all(f);
    close_backend(f);
    sirix_store_u64le(header, 256);
    sirix_store_u32le(header + 8, 24 + 256 * 4 + 256 * 104);
    sirix_store_u16le(header + 12, 256);
    damage_file(f->dir, header, sizeof(header), 1);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    expect_stored(f->reader, 1, 255);
    assert_int_equal(get(f->reader, 300, &whole, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "pack of segments up to 511"));
}

static void a_file_that_was_cut_gives_errors_and_no_crash(void **state)
{
    struct fixture *f = *state;
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 20, 3000).status, SIRIX_OK);
    assert_int_equal(test_put(f->backend, 21, 20, 100).status, SIRIX_OK);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    assert_int_equal(stat(path, &found), 0);
    for (off_t len = found.st_size - 4096; len >= 8192; len -= 4096) {
        unsigned failures = 0;
        struct sirix_error err = {0};

        close_backend(f);
        assert_int_equal(truncate(path, len), 0);
        if (open_backend(f, &err) != SIRIX_OK) {
            if (err.status != SIRIX_CORRUPT) {
                fail_msg("cut to %u: %s", (unsigned)len, err.text);
            }
            continue;
        }
        for (uint64_t number = 1; number <= 40; number++) {
            struct sirix_bytes whole;
            if (get(f->reader, number, &whole, &err) != SIRIX_OK) {
                assert_int_equal(err.status, SIRIX_CORRUPT);
                failures++;
            }
        }
        assert_true(failures > 0 || len > found.st_size - (off_t)8 * 4096);
    }
}

static enum sirix_status count_damage(void *context, uint64_t number, struct sirix_bytes bytes,
                                      bool *stop, struct sirix_error *err)
{
    unsigned *counts = context; /* Sound, damaged. */

    (void)err;
    *stop = false;
    counts[sirix_segment_check(bytes, number, NULL) == SIRIX_OK ? 0 : 1]++;
    return SIRIX_OK;
}

static void damage_ends_neither_a_scan_nor_a_delete(void **state)
{
    struct fixture *f = *state;
    uint8_t header[14];
    unsigned counts[2] = {0};

    (void)sirix_segment_reserve(f->backend, 1100);
    assert_int_equal(test_put(f->backend, 1, 800, 100).status, SIRIX_OK);
    sirix_backend_set_settled(f->backend, 800);
    maintain_all(f);
    close_backend(f);
    sirix_store_u64le(header, 256);
    sirix_store_u32le(header + 8, 24 + 256 * 4 + 256 * 104);
    sirix_store_u16le(header + 12, 256);
    damage_file(f->dir, header, sizeof(header), 1);
    assert_int_equal(open_backend(f, NULL), SIRIX_OK);

    assert_int_equal(sirix_segment_scan(f->reader, 1, 900, count_damage, counts, NULL), SIRIX_OK);
    assert_int_equal(counts[0], 800 - 256);
    assert_int_equal(counts[1], 1);
    assert_int_equal(test_delete(f->backend, 200, 300).status, SIRIX_OK);
    assert_int_equal(stats_of(f).pack_count, 3);
    assert_int_equal(test_delete(f->backend, 1, 800).status, SIRIX_OK);
    assert_int_equal(stats_of(f).pack_count, 0);
}

static void a_database_that_is_open_is_not_opened_again(void **state)
{
    struct fixture *f = *state;
    struct sirix_backend *second = NULL;
    struct sirix_error err = {0};

    assert_int_equal(sirix_backend_open_lmdb(&f->options, &second, &err), SIRIX_UNAVAILABLE);
    assert_int_equal(err.reason, SIRIX_REASON_LOCKED);
    assert_int_equal(sirix_segment_reserve(f->backend, 1), 1);
    assert_int_equal(test_put(f->backend, 1, 1, 100).status, SIRIX_OK);
    reopen(f);
    expect_stored(f->reader, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_damaged_segment_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_pack_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(damage_ends_neither_a_scan_nor_a_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(a_database_that_is_open_is_not_opened_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_was_cut_gives_errors_and_no_crash, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
