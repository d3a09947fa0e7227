/* Name indexes: finding, changing, bulk building with spills and duplicates, against plain arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/child/child_page.h"
#include "store/child/name_index.h"
#include "store/child/name_sort.h"
#include "unit/child/support.h"

/* --- Failing files ------------------------------------------------------------------------------ */

static int pwrites_until_failure = -1;
static int preads_until_failure = -1;

static bool countdown_hits(int *countdown)
{
    if (*countdown < 0) {
        return false;
    }
    *countdown -= 1;
    return *countdown < 0;
}

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
    /* Short writes are normal: every call writes at most a part. */
    size_t part = len > 1000 ? len / 2 : len;

    return countdown_hits(&pwrites_until_failure) ? 0 : __real_pwrite(fd, data, part, offset);
}

ssize_t __real_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset)
{
    return countdown_hits(&preads_until_failure) ? 0 : __real_pread(fd, data, len, offset);
}

static int setup(void **state)
{
    static struct test_child f;

    test_child_open(&f, 5);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_allocs_until_failure = -1;
    pwrites_until_failure = -1;
    preads_until_failure = -1;
    test_child_close(*state);
    return 0;
}

/* --- The model: pairs in any order -------------------------------------------------------------- */

struct pair {
    uint32_t hash;
    uint64_t key;
};

struct found {
    uint64_t keys[64];
    size_t count;
    size_t stop_after;
};

static enum sirix_status note_key(void *context, uint64_t key, bool *stop, struct sirix_error *err)
{
    struct found *found = context;

    (void)err;
    assert_true(found->count < 64);
    found->keys[found->count++] = key;
    *stop = found->count == found->stop_after;
    return SIRIX_OK;
}

/* The keys found are those of the pairs with this hash, rising. */
static void assert_found(const struct found *found, const struct pair *pairs, size_t count,
                         uint32_t hash)
{
    size_t expected = 0;

    for (size_t i = 0; i < count; i++) {
        if (pairs[i].hash == hash) {
            bool seen = false;

            for (size_t k = 0; k < found->count; k++) {
                seen = seen || found->keys[k] == pairs[i].key;
            }
            assert_true(seen);
            expected += 1;
        }
    }
    assert_int_equal(found->count, expected);
    for (size_t k = 1; k < found->count; k++) {
        assert_true(found->keys[k - 1] < found->keys[k]);
    }
}

static void assert_index_equals(struct test_child *f, uint64_t root, const struct pair *pairs,
                                size_t count, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
        uint32_t hash = count == 0 || i % 4 == 3 ? (uint32_t)test_random(f, 3000)
                                                 : pairs[test_random(f, count)].hash;
        struct found found = {0};

        assert_int_equal(sirix_name_index_find(f->reader, root, hash, note_key, &found, NULL),
                         SIRIX_OK);
        assert_found(&found, pairs, count, hash);
    }
}

static void random_changes_agree_with_a_list_of_pairs(void **state)
{
    enum { ROUNDS = 40, OPERATIONS = 200, MOST = ROUNDS * OPERATIONS };
    struct test_child *f = *state;
    struct pair *pairs = calloc(MOST, sizeof(*pairs));
    size_t count = 0;
    uint64_t next_key = 1;
    uint64_t root = 0;

    assert_non_null(pairs);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct sirix_page_writer *writer = test_child_writer(f);
        struct sirix_name_edit *edit = NULL;
        uint64_t insert_of_10 = round < ROUNDS / 2 ? 8 : 3;

        assert_int_equal(sirix_name_edit_new(f->reader, root, &edit, NULL), SIRIX_OK);
        for (size_t i = 0; i < OPERATIONS; i++) {
            struct found found = {0};
            uint32_t hash = 0;

            if (count == 0 || test_random(f, 10) < insert_of_10) {
                /* Few hashes: many pairs share one, over leaves too. */
                pairs[count] =
                    (struct pair){.hash = (uint32_t)test_random(f, 3000), .key = next_key++};
                assert_int_equal(
                    sirix_name_edit_insert(edit, pairs[count].hash, pairs[count].key, NULL),
                    SIRIX_OK);
                hash = pairs[count].hash;
                count += 1;
            } else {
                size_t at = test_random(f, count);

                hash = pairs[at].hash;
                assert_int_equal(sirix_name_edit_remove(edit, hash, pairs[at].key, NULL), SIRIX_OK);
                assert_int_equal(sirix_name_edit_remove(edit, hash, pairs[at].key, NULL),
                                 SIRIX_NOT_FOUND);
                pairs[at] = pairs[--count];
            }
            assert_int_equal(sirix_name_edit_find(edit, hash, note_key, &found, NULL), SIRIX_OK);
            assert_found(&found, pairs, count, hash);
            if (test_random(f, 10) == 0) {
                sirix_reader_yield(f->reader);
            }
        }
        assert_int_equal(sirix_name_edit_write(edit, writer, &root, NULL), SIRIX_OK);
        sirix_name_edit_free(edit);
        (void)test_child_publish(f, writer);
        assert_index_equals(f, root, pairs, count, 200);
    }
    free(pairs);
}

static void an_empty_index_finds_nothing(void **state)
{
    struct test_child *f = *state;
    struct found found = {0};
    struct sirix_name_edit *edit = NULL;
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 3;

    assert_int_equal(sirix_name_index_find(f->reader, 0, 5, note_key, &found, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_new(f->reader, 0, &edit, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_find(edit, 5, note_key, &found, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_remove(edit, 5, 5, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(found.count, 0);
    assert_int_equal(sirix_name_edit_insert(edit, 5, 5, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_remove(edit, 5, 5, NULL), SIRIX_OK);
    assert_int_equal(sirix_name_edit_write(edit, writer, &root, NULL), SIRIX_OK);
    assert_int_equal(root, 0);
    sirix_name_edit_free(edit);
    (void)test_child_publish(f, writer);
}

static void a_visit_that_stops_or_fails_ends_the_search(void **state)
{
    struct test_child *f = *state;
    struct sirix_name_edit *edit = NULL;
    struct found found = {.stop_after = 2};

    assert_int_equal(sirix_name_edit_new(f->reader, 0, &edit, NULL), SIRIX_OK);
    for (uint64_t key = 1; key < 200; key++) {
        assert_int_equal(sirix_name_edit_insert(edit, 9, key, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_name_edit_find(edit, 9, note_key, &found, NULL), SIRIX_OK);
    assert_int_equal(found.count, 2);
    sirix_name_edit_free(edit);
}

/* --- Hashes ------------------------------------------------------------------------------------- */

static void hashes_depend_on_every_byte_of_seed_and_name(void **state)
{
    struct sirix_name_seed seed = {{1, 2, 3}};
    const struct sirix_bytes name = {.data = "name", .len = 4};
    struct sirix_name_hash hash = sirix_name_hash(&seed, name);

    (void)state;
    assert_true(hash.high != hash.low);
    for (size_t i = 0; i < sizeof(seed.bytes); i++) {
        struct sirix_name_seed other = seed;

        other.bytes[i] ^= 0x10;
        assert_true(sirix_name_hash(&other, name).high != hash.high);
        assert_true(sirix_name_hash(&other, name).low != hash.low);
    }
    assert_true(sirix_name_hash(&seed, (struct sirix_bytes){.data = "name", .len = 3}).high !=
                hash.high);
    assert_int_equal(sirix_name_hash(&seed, name).high, hash.high);
}

/* --- Bulk --------------------------------------------------------------------------------------- */

struct duplicates {
    uint64_t earlier[4096];
    uint64_t later[4096];
    size_t count;
    enum sirix_status answer;
};

static enum sirix_status note_duplicate(void *context, uint64_t earlier_key, uint64_t later_key,
                                        struct sirix_error *err)
{
    struct duplicates *duplicates = context;

    (void)err;
    assert_true(duplicates->count < 4096);
    duplicates->earlier[duplicates->count] = earlier_key;
    duplicates->later[duplicates->count] = later_key;
    duplicates->count += 1;
    return duplicates->answer;
}

/* A name's 128 bits; the stored 32 collide for every 16th name. */
static struct sirix_name_hash name_of(uint64_t number)
{
    return (struct sirix_name_hash){
        .high = (number << 40) | ((number / 16 * 16) * UINT64_C(2654435761) & UINT32_MAX),
        .low = number * 77,
    };
}

static struct sirix_name_bulk *bulk_new(const struct sirix_name_bulk_options *options)
{
    struct sirix_name_bulk *bulk = NULL;

    assert_int_equal(sirix_name_bulk_new(options, &bulk, NULL), SIRIX_OK);
    return bulk;
}

static void bulk_finds_all_and_reports_duplicates(void **state)
{
    struct test_child *f = *state;
    const struct {
        size_t members;
        size_t memory_bytes;
        bool keys_fall; /* Members come in any order. */
    } cases[] = {
        {0, 0, false},
        {1, 0, false},
        {70, 0, false},
        {20000, 0, false},
        {20000, 0, true},
        {20000, 64 * 1024, false},
        {20000, 64 * 1024, true},
        {1365, 64 * 1024, false},
        {1366, 64 * 1024, false},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        size_t members = cases[c].members;
        static struct duplicates duplicates;
        const struct sirix_name_bulk_options options = {
            .memory_bytes = cases[c].memory_bytes,
            .spill_dir = ".",
            .duplicate = note_duplicate,
            .context = &duplicates,
        };
        struct sirix_name_bulk *bulk = bulk_new(&options);
        struct sirix_page_writer *writer = test_child_writer(f);
        struct pair *pairs = calloc(members + 1, sizeof(*pairs));
        size_t expected = 0;
        uint64_t root = 99;

        assert_non_null(pairs);
        memset(&duplicates, 0, sizeof(duplicates));
        for (size_t i = 0; i < members; i++) {
            size_t at = cases[c].keys_fall ? members - 1 - i : i;
            /* Every 1000th member has the name of one a thousand before it. */
            uint64_t number = at >= 1000 && at % 1000 == 0 ? at - 1000 : at;
            uint64_t name = number % 1000 == 0 ? 0 : number;

            pairs[at] =
                (struct pair){.hash = sirix_name_hash_stored(name_of(name)), .key = 5 + 2 * at};
            assert_int_equal(sirix_name_bulk_add(bulk, name_of(name), pairs[at].key, NULL),
                             SIRIX_OK);
            expected += at >= 1000 && at % 1000 == 0 ? 1 : 0;
        }
        assert_int_equal(sirix_name_bulk_finish(bulk, writer, &root, NULL), SIRIX_OK);
        sirix_name_bulk_free(bulk);
        (void)test_child_publish(f, writer);

        assert_int_equal(root == 0, members == 0);
        assert_int_equal(duplicates.count, expected);
        for (size_t i = 0; i < duplicates.count; i++) {
            assert_int_equal(duplicates.earlier[i], 5 + 2 * (i * 1000));
            assert_int_equal(duplicates.later[i], 5 + 2 * ((i + 1) * 1000));
        }
        assert_index_equals(f, root, pairs, members, members < 500 ? members : 500);
        free(pairs);
    }
}

static void a_duplicate_that_is_refused_ends_the_build(void **state)
{
    struct test_child *f = *state;
    static struct duplicates duplicates;
    const struct sirix_name_bulk_options options = {.duplicate = note_duplicate,
                                                    .context = &duplicates};
    struct sirix_name_bulk *bulk = bulk_new(&options);
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 99;

    duplicates = (struct duplicates){.answer = SIRIX_ALREADY_EXISTS};
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(sirix_name_bulk_add(bulk, name_of(i % 60), i + 1, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_name_bulk_finish(bulk, writer, &root, NULL), SIRIX_ALREADY_EXISTS);
    assert_int_equal(root, 99);
    assert_int_equal(duplicates.count, 1);
    sirix_name_bulk_free(bulk);
    sirix_page_writer_free(writer);
}

static void without_a_folder_or_past_all_buffers_bulk_is_exhausted(void **state)
{
    static const char *const dirs[] = {NULL, "."};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct sirix_name_bulk_options options = {.memory_bytes = 64 * 1024,
                                                        .spill_dir = dirs[i]};
        struct sirix_name_bulk *bulk = bulk_new(&options);
        enum sirix_status status = SIRIX_OK;
        struct sirix_error err = {0};
        uint64_t added = 0;

        while (status == SIRIX_OK && added < 1000000) {
            status = sirix_name_bulk_add(bulk, name_of(added), added + 1, &err);
            added += status == SIRIX_OK ? 1 : 0;
        }
        assert_int_equal(status, SIRIX_EXHAUSTED);
        assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
        assert_int_equal(added, i == 0 ? 1365 : 1365 * 16);
        sirix_name_bulk_free(bulk);
    }
}

static enum sirix_status build_spilling(struct test_child *f, const char *spill_dir,
                                        struct sirix_error *err)
{
    const struct sirix_name_bulk_options options = {.memory_bytes = 64 * 1024,
                                                    .spill_dir = spill_dir};
    struct sirix_name_bulk *bulk = NULL;
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 99;
    enum sirix_status status = sirix_name_bulk_new(&options, &bulk, err);

    for (uint64_t i = 0; i < 6000 && status == SIRIX_OK; i++) {
        status = sirix_name_bulk_add(bulk, name_of(i), i + 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_name_bulk_finish(bulk, writer, &root, err);
    }
    assert_int_equal(root == 99, status != SIRIX_OK);
    sirix_name_bulk_free(bulk);
    sirix_page_writer_free(writer);
    return status;
}

static void failures_of_the_spill_file_are_told(void **state)
{
    struct test_child *f = *state;
    struct sirix_error err = {0};

    assert_int_equal(build_spilling(f, "no/such/folder", &err), SIRIX_IO);
    assert_non_null(strstr(err.text, "no/such/folder"));
    pwrites_until_failure = 3;
    assert_int_equal(build_spilling(f, ".", &err), SIRIX_NO_SPACE);
    pwrites_until_failure = -1;
    for (int nth = 0; nth < 8; nth++) {
        preads_until_failure = nth;
        assert_int_equal(build_spilling(f, ".", &err), SIRIX_IO);
    }
    preads_until_failure = -1;
    assert_int_equal(build_spilling(f, ".", &err), SIRIX_OK);
}

static void a_failed_allocation_of_bulk_leaks_nothing(void **state)
{
    struct test_child *f = *state;
    enum sirix_status status = SIRIX_NO_MEMORY;
    unsigned failures = 0;

    for (int nth = 0; status == SIRIX_NO_MEMORY; nth++) {
        const struct sirix_name_bulk_options options = {.memory_bytes = 64 * 1024,
                                                        .spill_dir = "."};
        struct sirix_name_bulk *bulk = NULL;
        struct sirix_page_writer *writer = test_child_writer(f);
        uint64_t root = 99;

        test_allocs_until_failure = nth;
        status = sirix_name_bulk_new(&options, &bulk, NULL);
        for (uint64_t i = 0; i < 3000 && status == SIRIX_OK; i++) {
            status = sirix_name_bulk_add(bulk, name_of(i), i + 1, NULL);
        }
        if (status == SIRIX_OK) {
            status = sirix_name_bulk_finish(bulk, writer, &root, NULL);
        }
        test_allocs_until_failure = -1;
        failures += status == SIRIX_OK ? 0 : 1;
        sirix_name_bulk_free(bulk);
        sirix_page_writer_free(writer);
    }
    assert_int_equal(status, SIRIX_OK);
    assert_true(failures > 6);
}

static void a_failed_allocation_leaves_the_index_edit_as_it_was(void **state)
{
    struct test_child *f = *state;
    struct sirix_name_edit *edit = NULL;
    unsigned failures = 0;

    assert_int_equal(sirix_name_edit_new(f->reader, 0, &edit, NULL), SIRIX_OK);
    for (uint64_t key = 1; key <= 3000; key++) {
        uint32_t hash = (uint32_t)test_random(f, UINT32_MAX);
        enum sirix_status status = SIRIX_NO_MEMORY;

        for (int nth = 0; status != SIRIX_OK; nth++) {
            test_allocs_until_failure = nth;
            status = sirix_name_edit_insert(edit, hash, key, NULL);
            test_allocs_until_failure = -1;
            failures += status == SIRIX_OK ? 0 : 1;
            if (status != SIRIX_OK) {
                assert_int_equal(sirix_name_edit_remove(edit, hash, key, NULL), SIRIX_NOT_FOUND);
            }
        }
        if (key % 2 == 0) {
            assert_int_equal(sirix_name_edit_remove(edit, hash, key, NULL), SIRIX_OK);
        }
    }
    assert_true(failures > 20);
    sirix_name_edit_free(edit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_changes_agree_with_a_list_of_pairs, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_index_finds_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_visit_that_stops_or_fails_ends_the_search, setup,
                                        teardown),
        cmocka_unit_test(hashes_depend_on_every_byte_of_seed_and_name),
        cmocka_unit_test_setup_teardown(bulk_finds_all_and_reports_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(a_duplicate_that_is_refused_ends_the_build, setup,
                                        teardown),
        cmocka_unit_test(without_a_folder_or_past_all_buffers_bulk_is_exhausted),
        cmocka_unit_test_setup_teardown(failures_of_the_spill_file_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_allocation_of_bulk_leaks_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_allocation_leaves_the_index_edit_as_it_was, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("name_index", tests, NULL, NULL);
}
