/*
 * What grows and what does not: bytes of branches, labels and reverts, of branch life cycles, and of
 * commits; all on LMDB without sync, by the size of its file. Times are printed, not judged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "unit/revision/support.h"

enum { MANY = 10000 };

static struct test_rev fixture;

static int setup(void **state)
{
    (void)state;
    test_rev_open(&fixture, TEST_REV_LMDB_NO_SYNC, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_rev_close(&fixture);
    return 0;
}

/* Bytes on disk; the reader must be reset, or LMDB cannot use freed pages again. */
static uint64_t file_bytes(void)
{
    struct stat info;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/data.mdb", fixture.dir);
    assert_int_equal(stat(path, &info), 0);
    return (uint64_t)info.st_size;
}

/* A view keeps no slice, so the reader that opened it can go at once. */
static void close_reader(void)
{
    sirix_reader_close(fixture.reader);
    fixture.reader = NULL;
}

static void open_reader(void)
{
    assert_int_equal(
        sirix_reader_open(sirix_database_backend(fixture.database), &fixture.reader, NULL),
        SIRIX_OK);
}

static uint64_t now_ns(void)
{
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

/* Runs one operation MANY times; bytes each of the first and of the second half must be alike. */
typedef void (*operation_fn)(const struct sirix_view *view, int i);

static void measure(const char *what, operation_fn operation, uint64_t bytes_max, bool flat)
{
    struct sirix_view view;
    uint64_t bytes[3];
    uint64_t times[3];

    (void)test_set(&fixture, "main", 1);
    assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
    close_reader();
    bytes[0] = file_bytes();
    times[0] = now_ns();
    for (int half = 1; half <= 2; half++) {
        for (int i = 0; i < MANY / 2; i++) {
            operation(&view, (half - 1) * MANY / 2 + i);
        }
        bytes[half] = file_bytes();
        times[half] = now_ns();
    }
    sirix_view_close(&view);
    open_reader();
    uint64_t first = (bytes[1] - bytes[0]) / (MANY / 2);
    uint64_t second = (bytes[2] - bytes[1]) / (MANY / 2);

    print_message("%s: %llu then %llu bytes, %.1f then %.1f us\n", what, (unsigned long long)first,
                  (unsigned long long)second, (double)(times[1] - times[0]) / (MANY / 2) / 1000,
                  (double)(times[2] - times[1]) / (MANY / 2) / 1000);
    assert_true(first <= bytes_max);
    assert_true(second <= bytes_max);
    assert_true(!flat || second <= first + first / 4 + 16);
}

static void make_branch(const struct sirix_view *view, int i)
{
    struct sirix_branch_info info;
    char name[24];

    (void)snprintf(name, sizeof(name), "branch-%d", i);
    assert_int_equal(sirix_branch_create(view, test_name(name), 0, &info, NULL), SIRIX_OK);
}

static void ten_thousand_branches_cost_the_same_each(void **state)
{
    struct sirix_published published;
    struct sirix_view view;

    (void)state;
    measure("branch", make_branch, 512, true);
    /* And one of them works like the first one did. */
    published = test_set(&fixture, "branch-9999", 5);
    assert_int_equal(published.revision, 3);
    assert_int_equal(test_view_branch(&fixture, "branch-5000", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&fixture, &view), 1);
    sirix_view_close(&view);
}

static void make_label(const struct sirix_view *view, int i)
{
    struct sirix_snapshot_created created;
    char name[24];

    (void)snprintf(name, sizeof(name), "label-%d", i);
    assert_int_equal(sirix_snapshot_create(view, test_name(name), false, &created, NULL), SIRIX_OK);
}

static void ten_thousand_labels_cost_the_same_each(void **state)
{
    (void)state;
    measure("label", make_label, 512, true);
}

/* Each on a branch head of its own making: the view follows by hand. */
static void revert_once(const struct sirix_view *view, int i)
{
    static struct sirix_view head;
    struct sirix_published published;

    if (i == 0) {
        head = *view;
    }
    assert_int_equal(
        sirix_revert(&head, view, test_name("me"), test_name(""), NULL, &published, NULL),
        SIRIX_OK);
    head.record.revision = published.revision;
    head.record_address = published.record_address;
}

static void ten_thousand_reverts_cost_the_same_each(void **state)
{
    (void)state;
    measure("revert", revert_once, 512, true);
}

static void live_once(const struct sirix_view *view, int i)
{
    struct sirix_branch_info info;
    struct sirix_published published;
    struct sirix_promoted promoted;
    struct sirix_view head;
    char name[24];

    (void)view;
    (void)snprintf(name, sizeof(name), "task-%d", i);
    open_reader();
    assert_int_equal(test_view_branch(&fixture, "main", &head, NULL), SIRIX_OK);
    close_reader();
    assert_int_equal(sirix_branch_create(&head, test_name(name), 0, &info, NULL), SIRIX_OK);
    sirix_view_close(&head);
    open_reader();
    assert_int_equal(test_view_branch(&fixture, name, &head, NULL), SIRIX_OK);
    assert_int_equal(test_publish(&fixture, &head, i, &published, NULL), SIRIX_OK);
    close_reader();
    sirix_view_close(&head);
    assert_int_equal(sirix_branch_promote(fixture.resource, test_name(name), test_name("main"),
                                          false, &promoted, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_branch_delete(fixture.resource, test_name(name), NULL), SIRIX_OK);
}

static void ten_thousand_lives_of_branches_leave_a_bounded_trace(void **state)
{
    struct sirix_resource_info info;
    struct sirix_view view;
    size_t rows = 0;

    (void)state;
    measure("branch, publish, promote, delete", live_once, 1024, false);
    assert_int_equal(sirix_resource_info(fixture.resource, &info, NULL), SIRIX_OK);
    assert_int_equal(info.branch_count, 1);
    /* A move, a tomb and a name each, and the index. */
    assert_int_equal(test_count_rows(&fixture, "r", 1, &rows), SIRIX_OK);
    assert_in_range(rows, 3 * MANY, 3 * MANY + MANY / 16 + 8);
    assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&fixture, &view), MANY - 1);
    assert_int_equal(view.record.depth, MANY + 1);
    sirix_view_close(&view);
}

static void commit_once(const struct sirix_view *view, int i)
{
    (void)view;
    open_reader();
    (void)test_set(&fixture, "main", i);
    close_reader();
}

static void ten_thousand_commits_cost_the_same_each(void **state)
{
    (void)state;
    measure("commit of one value", commit_once, 768, true);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(ten_thousand_branches_cost_the_same_each),
        CASE(ten_thousand_labels_cost_the_same_each),
        CASE(ten_thousand_reverts_cost_the_same_each),
        CASE(ten_thousand_lives_of_branches_leave_a_bounded_trace),
        CASE(ten_thousand_commits_cost_the_same_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
