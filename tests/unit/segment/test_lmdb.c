/*
 * The LMDB backend where it is more than the common contract: what survives a reopen, formats,
 * packs, a map that grows under readers, damage, and a disk without room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "store/segment/pack.h"
#include "unit/segment/support.h"

struct fixture {
    char dir[TEST_DIR_BYTES];
    struct sirix_lmdb_options options;
    struct sirix_backend *backend;
    struct sirix_reader *reader;
};

static enum sirix_status open_backend(struct fixture *f, struct sirix_error *err)
{
    enum sirix_status status = sirix_backend_open_lmdb(&f->options, &f->backend, err);

    if (status == SIRIX_OK) {
        assert_int_equal(sirix_reader_open(f->backend, &f->reader, NULL), SIRIX_OK);
    }
    return status;
}

static void close_backend(struct fixture *f)
{
    sirix_reader_close(f->reader);
    sirix_backend_close(f->backend);
    f->reader = NULL;
    f->backend = NULL;
}

static void reopen(struct fixture *f)
{
    struct sirix_error err = {0};

    close_backend(f);
    if (open_backend(f, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
}

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){0};
    test_dir_make(f.dir);
    f.options = (struct sirix_lmdb_options){
        .dir = f.dir, .create = true, .reserve_bytes = 1, .no_sync = true};
    *state = &f;
    assert_int_equal(open_backend(&f, NULL), SIRIX_OK);
    return 0;
}

/* A map of 1 MiB, so that a test can fill it. */
static int setup_small_map(void **state)
{
    static struct fixture f;

    f = (struct fixture){0};
    test_dir_make(f.dir);
    f.options = (struct sirix_lmdb_options){.dir = f.dir,
                                            .create = true,
                                            .reserve_bytes = 1,
                                            .no_sync = true,
                                            .map_bytes_min = 1 << 20};
    *state = &f;
    assert_int_equal(open_backend(&f, NULL), SIRIX_OK);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    close_backend(f);
    test_dir_remove(f->dir);
    return 0;
}

static enum sirix_status get(struct sirix_reader *reader, uint64_t number,
                             struct sirix_bytes *out_whole, struct sirix_error *err)
{
    struct sirix_bytes page;
    enum sirix_status status =
        sirix_segment_get(reader, sirix_address_make(number, 16), 0, &page, err);

    if (status == SIRIX_OK) {
        *out_whole =
            (struct sirix_bytes){.data = (const uint8_t *)page.data - 16, .len = page.len + 16};
    }
    return status;
}

static void expect_stored(struct sirix_reader *reader, uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        struct sirix_bytes whole;
        struct sirix_error err = {0};

        if (get(reader, number, &whole, &err) != SIRIX_OK) {
            fail_msg("segment %u: %s", (unsigned)number, err.text);
        }
        assert_true(test_segment_equal(number, whole));
    }
}

static void expect_absent(struct sirix_reader *reader, uint64_t number)
{
    struct sirix_bytes whole;
    struct sirix_error err = {0};

    assert_int_equal(get(reader, number, &whole, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "is not stored"));
}

static struct sirix_backend_stats stats_of(struct fixture *f)
{
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    return stats;
}

static void maintain_all(struct fixture *f)
{
    bool more = true;

    while (more) {
        struct sirix_error err = {0};
        if (sirix_backend_maintain(f->backend, 1 << 20, &more, &err) != SIRIX_OK) {
            fail_msg("%s", err.text);
        }
    }
    sirix_reader_yield(f->reader);
}

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

/* --- The map ---------------------------------------------------------------------------------- */

static void the_map_grows_with_what_is_put(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 100);
    for (uint64_t number = 1; number <= 64; number++) {
        expect_absent(f->reader, number);
        sirix_reader_yield(f->reader);
        assert_int_equal(test_put(f->backend, number, 1, (size_t)200 * 1024).status, SIRIX_OK);
    }
    sirix_reader_yield(f->reader);
    expect_stored(f->reader, 1, 64);
    assert_true(stats_of(f).file_bytes > 12 << 20);
    f->options.map_bytes_min = 0;
    reopen(f);
    expect_stored(f->reader, 1, 64);
}

static void a_batch_larger_than_the_map_makes_it_grow_at_once(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 40, (size_t)256 * 1024).status, SIRIX_OK);
    expect_stored(f->reader, 1, 40);
}

static void a_reader_that_does_not_yield_delays_growth_and_nothing_breaks(void **state)
{
    struct fixture *f = *state;
    struct sirix_reader *second = NULL;
    struct sirix_bytes page;

    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 1, 1000).status, SIRIX_OK);
    expect_stored(f->reader, 1, 1);
    assert_int_equal(sirix_segment_get(f->reader, sirix_address_make(1, 16), 984, &page, NULL),
                     SIRIX_OK);

    struct test_outcome outcome = test_put(f->backend, 2, 10, (size_t)256 * 1024);
    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "did not yield"));
    /* The slice still stands where it stood, and a second reader of this thread is let in. */
    assert_true(test_segment_equal(
        1, (struct sirix_bytes){.data = (const uint8_t *)page.data - 16, .len = 1000}));
    assert_int_equal(sirix_reader_open(f->backend, &second, NULL), SIRIX_OK);
    expect_stored(second, 1, 1);
    expect_absent(second, 2);
    sirix_reader_close(second);

    sirix_reader_yield(f->reader);
    assert_int_equal(test_put(f->backend, 2, 10, (size_t)256 * 1024).status, SIRIX_OK);
    expect_stored(f->reader, 1, 11);
}

static void the_limit_of_the_map_is_kept_and_named(void **state)
{
    struct fixture *f = *state;

    f->options.map_bytes_max = 4 << 20;
    reopen(f);
    (void)sirix_segment_reserve(f->backend, 100);
    assert_int_equal(test_put(f->backend, 1, 10, (size_t)256 * 1024).status, SIRIX_OK);
    struct test_outcome outcome = test_put(f->backend, 11, 10, (size_t)256 * 1024);

    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "limit"));
    expect_stored(f->reader, 1, 10);
    expect_absent(f->reader, 11);
    assert_int_equal(test_delete(f->backend, 1, 5).status, SIRIX_OK);
    assert_false(stats_of(f).read_only);
}

static void deletes_go_on_when_the_map_is_full_to_its_limit(void **state)
{
    struct fixture *f = *state;
    enum sirix_status status = SIRIX_OK;
    uint64_t number = 0;

    f->options.map_bytes_max = 1 << 20;
    reopen(f);
    (void)sirix_segment_reserve(f->backend, 2000);
    for (size_t len = 3000; len > 20; len /= 2) {
        for (status = SIRIX_OK; status == SIRIX_OK;) {
            status = test_put(f->backend, ++number, 1, len).status;
        }
        assert_int_equal(status, SIRIX_NO_SPACE);
    }
    for (uint64_t first = 1; first < number; first++) {
        assert_int_equal(test_delete(f->backend, first, first).status, SIRIX_OK);
    }
    assert_int_equal(stats_of(f).segment_count, 0);
    assert_int_equal(test_put(f->backend, number + 1, 20, 3000).status, SIRIX_OK);
}

struct reading {
    struct sirix_backend *backend;
    _Atomic uint64_t *stored; /* Numbers up to this one are there. */
    _Atomic bool *stop;
    unsigned failures;
    unsigned reads;
};

static void *read_and_yield(void *context)
{
    struct reading *reading = context;
    struct sirix_reader *reader = NULL;

    if (sirix_reader_open(reading->backend, &reader, NULL) != SIRIX_OK) {
        reading->failures++;
        return NULL;
    }
    while (!atomic_load(reading->stop)) {
        uint64_t stored = atomic_load(reading->stored);

        for (uint64_t number = stored > 20 ? stored - 20 : 1; number <= stored; number++) {
            struct sirix_bytes whole;
            if (get(reader, number, &whole, NULL) != SIRIX_OK ||
                !test_segment_equal(number, whole)) {
                reading->failures++;
            }
            reading->reads++;
        }
        sirix_reader_yield(reader);
    }
    sirix_reader_close(reader);
    return NULL;
}

enum { READING_THREADS = 3 };

static void readers_see_right_bytes_while_the_map_moves_and_packs_are_made(void **state)
{
    struct fixture *f = *state;
    _Atomic uint64_t stored = 0;
    _Atomic bool stop = false;
    struct reading readings[READING_THREADS];
    pthread_t threads[READING_THREADS];
    bool more = false;

    for (size_t i = 0; i < READING_THREADS; i++) {
        readings[i] = (struct reading){.backend = f->backend, .stored = &stored, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_yield, &readings[i]), 0);
    }
    for (uint64_t number = 1; number <= 1500; number++) {
        assert_int_equal(sirix_segment_reserve(f->backend, 1), number);
        assert_int_equal(test_put(f->backend, number, 1, number % 10 == 0 ? 100000 : 900).status,
                         SIRIX_OK);
        atomic_store(&stored, number);
        if (number % 64 == 0) {
            sirix_backend_set_settled(f->backend, number);
            assert_int_equal(sirix_backend_maintain(f->backend, 1 << 20, &more, NULL), SIRIX_OK);
        }
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < READING_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readings[i].failures, 0);
    }
    assert_true(stats_of(f).file_bytes > 12 << 20);
    assert_true(stats_of(f).pack_count >= 5);
    sirix_reader_yield(f->reader);
    expect_stored(f->reader, 1, 1500);
}

/* Pages of deleted segments are soon used again: what a reader remembers must not outlive them. */
static void a_reader_that_yields_often_never_sees_pages_used_again(void **state)
{
    struct fixture *f = *state;
    enum { ROUNDS = 400, ALIVE = 12 };

    (void)sirix_segment_reserve(f->backend, ROUNDS + 1);
    for (uint64_t number = 1; number <= ROUNDS; number++) {
        uint64_t oldest = number > ALIVE ? number - ALIVE + 1 : 1;

        assert_int_equal(test_put(f->backend, number, 1, 500 + number % 9 * 1700).status, SIRIX_OK);
        /* Twice without a commit in between, and after every third commit only. */
        if (number % 3 == 0) {
            sirix_reader_yield(f->reader);
            expect_stored(f->reader, oldest, number);
            sirix_reader_yield(f->reader);
            expect_stored(f->reader, oldest, number);
        }
        if (number >= ALIVE) {
            assert_int_equal(test_delete(f->backend, number - ALIVE + 1, number - ALIVE + 1).status,
                             SIRIX_OK);
        }
        if (number % 3 == 0) {
            expect_stored(f->reader, oldest, number); /* Its snapshot is from before the delete. */
            sirix_reader_yield(f->reader);
            if (number >= ALIVE) {
                expect_absent(f->reader, number - ALIVE + 1);
            }
        }
    }
    assert_true(stats_of(f).file_bytes < 2 << 20); /* Pages were used again indeed. */
}

static void readers_past_the_slots_are_refused_by_name(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 513 };
    struct sirix_reader *readers[MANY];
    struct sirix_bytes value;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(sirix_reader_open(f->backend, &readers[i], NULL), SIRIX_OK);
        status = sirix_ref_get(readers[i], test_text("none"), &value, &err);
        assert_int_equal(status, i < MANY - 1 ? SIRIX_NOT_FOUND : SIRIX_EXHAUSTED);
    }
    for (size_t i = 0; i < MANY; i++) {
        sirix_reader_close(readers[i]);
    }
    assert_int_equal(sirix_ref_get(f->reader, test_text("none"), &value, NULL), SIRIX_NOT_FOUND);
}

#ifdef SIRIX_SANITIZED
enum { MANY_DATABASES = 200 };
#else
enum { MANY_DATABASES = 1000 };
#endif
enum { DESCRIPTORS_EACH = 5, DESCRIPTORS_OTHER = 64 };

static void a_thousand_databases_are_open_at_once(void **state)
{
    struct fixture *f = *state;
    static struct sirix_backend *backends[MANY_DATABASES];
    static char dirs[MANY_DATABASES][TEST_DIR_BYTES + 16];
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < (rlim_t)MANY_DATABASES * DESCRIPTORS_EACH + DESCRIPTORS_OTHER) {
        print_message("only %u files may be open\n", (unsigned)limit.rlim_max);
        skip();
    }
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < MANY_DATABASES; i++) {
        struct sirix_error err = {0};

        (void)snprintf(dirs[i], sizeof(dirs[i]), "%s/%zu", f->dir, i);
        assert_int_equal(mkdir(dirs[i], 0700), 0);
        struct sirix_lmdb_options options = f->options;
        options.dir = dirs[i];
        if (sirix_backend_open_lmdb(&options, &backends[i], &err) != SIRIX_OK) {
            fail_msg("database %zu: %s", i, err.text);
        }
        assert_int_equal(sirix_segment_reserve(backends[i], 1), 1);
        assert_int_equal(test_put(backends[i], 1, 1, 100 + i).status, SIRIX_OK);
    }
    for (size_t i = 0; i < MANY_DATABASES; i++) {
        struct sirix_reader *reader = NULL;

        assert_int_equal(sirix_reader_open(backends[i], &reader, NULL), SIRIX_OK);
        expect_stored(reader, 1, 1);
        sirix_reader_close(reader);
        sirix_backend_close(backends[i]);
        test_dir_remove(dirs[i]);
    }
}

/* --- Room on the disk ------------------------------------------------------------------------- */

static void below_the_limit_of_free_space_only_deletes_go_on(void **state)
{
    struct fixture *f = *state;

    (void)sirix_segment_reserve(f->backend, 10);
    assert_int_equal(test_put(f->backend, 1, 2, 100).status, SIRIX_OK);
    assert_int_equal(sirix_backend_writable(f->backend, NULL), SIRIX_OK);
    f->options.reserve_bytes = UINT64_MAX; /* More than any disk has. */
    reopen(f);

    struct sirix_error why = {0};
    assert_int_equal(sirix_backend_writable(f->backend, &why), SIRIX_NO_SPACE);
    assert_int_equal(why.reason, SIRIX_REASON_DISK_FULL);
    struct test_outcome outcome = test_put(f->backend, 3, 1, 100);
    assert_int_equal(outcome.status, SIRIX_NO_SPACE);
    assert_non_null(strstr(outcome.error.text, "bytes free, writes stop below"));
    assert_int_equal(test_ref(f->backend, "k", "v").status, SIRIX_NO_SPACE);
    expect_stored(f->reader, 1, 2);
    assert_int_equal(test_delete(f->backend, 1, 1).status, SIRIX_OK);
    sirix_reader_yield(f->reader);
    expect_absent(f->reader, 1);
    assert_false(stats_of(f).read_only);
}

enum { RESERVE_LEAST = 256 * 1024 };

static void housekeeping_keeps_a_reserve_file(void **state)
{
    struct fixture *f = *state;
    char path[TEST_DIR_BYTES + 16];
    struct stat found;

    maintain_all(f);
    (void)snprintf(path, sizeof(path), "%s/reserve", f->dir);
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size >= RESERVE_LEAST);
    assert_true(found.st_blocks * 512 >= RESERVE_LEAST); /* Allocated, not sparse. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(segments_and_refs_survive_a_reopen, setup, teardown),
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
        cmocka_unit_test_setup_teardown(a_damaged_segment_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_pack_is_named_and_others_still_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(damage_ends_neither_a_scan_nor_a_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(a_database_that_is_open_is_not_opened_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_was_cut_gives_errors_and_no_crash, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_map_grows_with_what_is_put, setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(a_batch_larger_than_the_map_makes_it_grow_at_once,
                                        setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(
            a_reader_that_does_not_yield_delays_growth_and_nothing_breaks, setup_small_map,
            teardown),
        cmocka_unit_test_setup_teardown(the_limit_of_the_map_is_kept_and_named, setup_small_map,
                                        teardown),
        cmocka_unit_test_setup_teardown(deletes_go_on_when_the_map_is_full_to_its_limit,
                                        setup_small_map, teardown),
        cmocka_unit_test_setup_teardown(
            readers_see_right_bytes_while_the_map_moves_and_packs_are_made, setup_small_map,
            teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_yields_often_never_sees_pages_used_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(readers_past_the_slots_are_refused_by_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_thousand_databases_are_open_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(below_the_limit_of_free_space_only_deletes_go_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(housekeeping_keeps_a_reserve_file, setup, teardown),
    };
    return cmocka_run_group_tests_name("segment on LMDB alone", tests, NULL, NULL);
}
