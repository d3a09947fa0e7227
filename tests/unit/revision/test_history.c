/*
 * Histories of long branches: as-of, ancestors and node histories read a few records of thousands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "unit/revision/support.h"

enum { LONG = 4000 };

static _Atomic uint64_t gets;

enum sirix_status __real_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err);
enum sirix_status __wrap_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err);
enum sirix_status __wrap_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err)
{
    atomic_fetch_add(&gets, 1);
    return __real_sirix_segment_get(reader, address, min_len, out_bytes, err);
}

static struct test_rev fixture;

static struct sirix_published set_at(uint64_t key, int64_t value)
{
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    struct sirix_error err = {0};

    assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
    test_publication_make_at(&fixture, &view, key, value, &publication);
    if (sirix_publish(&publication, &published, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    test_publication_free(&publication);
    sirix_view_close(&view);
    return published;
}

struct seen {
    uint64_t revisions[64];
    bool deleted[64];
    size_t count;
    size_t stop_at; /* 0: never. */
};

static enum sirix_status see(void *context, const struct sirix_record *record, uint64_t address,
                             bool deleted, bool *stop, struct sirix_error *err)
{
    struct seen *seen = context;

    (void)address;
    (void)err;
    assert_true(seen->count < 64);
    assert_true(sirix_bytes_equal(record->author, test_name("tester")));
    seen->revisions[seen->count] = record->revision;
    seen->deleted[seen->count++] = deleted;
    *stop = seen->count == seen->stop_at;
    return SIRIX_OK;
}

static struct seen node_history(uint64_t revision, uint64_t key, size_t stop_at)
{
    struct seen seen = {.stop_at = stop_at};
    struct sirix_view view;

    assert_int_equal(test_view_revision(&fixture, revision, &view, NULL), SIRIX_OK);
    atomic_store(&gets, 0);
    assert_int_equal(sirix_view_node_history(&view, fixture.reader, key, see, &seen, NULL),
                     SIRIX_OK);
    sirix_view_close(&view);
    return seen;
}

static void a_rare_change_is_found_among_thousands_by_few_reads(void **state)
{
    uint64_t key = 0;
    uint64_t made[4];

    (void)state;
    assert_int_equal(sirix_resource_take_keys(fixture.resource, 64, true, &key, NULL), SIRIX_OK);
    for (int i = 0; i < LONG; i++) {
        if (i == 100 || i == 2000 || i == 3000) {
            made[i / 1000] = set_at(key + 3, i).revision;
        }
        if (i == 2500) {
            (void)set_at(key + 9, i); /* A neighbour in the same leaf: no change of the node. */
        }
        (void)test_set(&fixture, "main", i);
    }
    uint64_t newest = set_at(1, -1).revision;

    struct seen seen = node_history(newest, key + 3, 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.revisions[0], made[3]);
    assert_int_equal(seen.revisions[1], made[2]);
    assert_int_equal(seen.revisions[2], made[0]);
    seen = node_history(newest, key + 3, 1);
    assert_int_equal(seen.count, 1);
    /* About 2 log2(LONG) steps, each a record and a way down, for the newest change. */
    print_message("%llu reads for the newest change\n", (unsigned long long)atomic_load(&gets));
    assert_in_range(atomic_load(&gets), 1, 300);
    seen = node_history(made[2], key + 3, 0);
    assert_int_equal(seen.count, 2);
    seen = node_history(newest, key + 4, 0);
    assert_int_equal(seen.count, 0);
}

static void as_of_and_ancestors_read_few_records_of_thousands(void **state)
{
    static int64_t times[LONG];
    struct sirix_view old;
    struct sirix_view new;
    struct sirix_view view;
    bool is = false;

    (void)state;
    for (int i = 0; i < LONG; i++) {
        times[i] = test_set(&fixture, "main", i).time_us;
    }
    for (int i = 0; i < LONG; i += 313) {
        atomic_store(&gets, 0);
        assert_int_equal(test_view_at(&fixture, "main", times[i], &view, NULL), SIRIX_OK);
        assert_in_range(atomic_load(&gets), 1, 60);
        assert_int_equal(test_value(&fixture, &view), i);
        sirix_view_close(&view);
    }
    assert_int_equal(test_view_revision(&fixture, 5, &old, NULL), SIRIX_OK);
    assert_int_equal(test_view_branch(&fixture, "main", &new, NULL), SIRIX_OK);
    atomic_store(&gets, 0);
    assert_int_equal(sirix_view_is_ancestor(fixture.reader, &old, &new, &is, NULL), SIRIX_OK);
    assert_true(is);
    assert_in_range(atomic_load(&gets), 1, 40);
    sirix_view_close(&old);
    sirix_view_close(&new);
}

static void a_node_that_was_deleted_and_reverted_tells_its_whole_story(void **state)
{
    struct sirix_published published;
    struct sirix_view head;
    struct sirix_view source;
    uint64_t key = 0;

    (void)state;
    assert_int_equal(sirix_resource_take_keys(fixture.resource, 64, true, &key, NULL), SIRIX_OK);
    (void)set_at(1, 0);                              /* 2 */
    uint64_t made = set_at(key, 1).revision;         /* 3 */
    (void)set_at(1, 1);                              /* 4 */
    uint64_t changed = set_at(key, 2).revision;      /* 5 */
    uint64_t gone = set_at(key, INT64_MIN).revision; /* 6: the leaf is gone with it. */
    (void)set_at(1, 2);                              /* 7 */
    assert_int_equal(test_view_branch(&fixture, "main", &head, NULL), SIRIX_OK);
    assert_int_equal(test_view_revision(&fixture, 4, &source, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_revert(&head, &source, test_name("tester"), test_name(""), NULL, &published, NULL),
        SIRIX_OK); /* 8 */
    sirix_view_close(&head);
    sirix_view_close(&source);
    uint64_t newest = set_at(1, 3).revision; /* 9 */

    struct seen seen = node_history(newest, key, 0);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.revisions[0], published.revision);
    assert_false(seen.deleted[0]);
    assert_int_equal(seen.revisions[1], gone);
    assert_true(seen.deleted[1]);
    assert_int_equal(seen.revisions[2], changed);
    assert_int_equal(seen.revisions[3], made);
    seen = node_history(7, key, 0);
    assert_int_equal(seen.count, 3);
    assert_true(seen.deleted[0]);
}

static int setup(void **state)
{
    (void)state;
    test_rev_open(&fixture, TEST_REV_MEMORY, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_rev_close(&fixture);
    return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_rare_change_is_found_among_thousands_by_few_reads),
        CASE(as_of_and_ancestors_read_few_records_of_thousands),
        CASE(a_node_that_was_deleted_and_reverted_tells_its_whole_story),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
