/*
 * Names: labels that are set, moved and deleted, spellings, and lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

static int setup(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_MEMORY, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

/* Opens, looks at revision and value, closes. */
static void expect_view(struct test_rev *f, enum sirix_status status, struct sirix_view *view,
                        uint64_t revision, int64_t value)
{
    assert_int_equal(status, SIRIX_OK);
    assert_int_equal(view->record.revision, revision);
    assert_int_equal(test_value(f, view), value);
    sirix_view_close(view);
}

static void labels_are_set_moved_listed_and_deleted(void **state)
{
    struct test_rev *f = *state;
    struct sirix_snapshot_created created;
    struct sirix_view one;
    struct sirix_view two;
    struct sirix_view view;
    struct sirix_error err = {0};

    (void)test_set(f, "main", 1);
    assert_int_equal(test_view_branch(f, "main", &one, NULL), SIRIX_OK);
    (void)test_set(f, "main", 2);
    assert_int_equal(test_view_branch(f, "main", &two, NULL), SIRIX_OK);

    assert_int_equal(sirix_snapshot_create(&one, test_name("v1"), false, &created, &err), SIRIX_OK);
    assert_int_equal(created.previous_revision, 0);
    assert_int_equal(sirix_snapshot_create(&one, test_name("v1"), false, &created, &err), SIRIX_OK);
    assert_int_equal(created.previous_revision, 2);
    assert_int_equal(sirix_snapshot_create(&two, test_name("v1"), false, &created, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.current_revision, 2);
    assert_int_equal(sirix_snapshot_create(&two, test_name("v1"), true, &created, &err), SIRIX_OK);
    expect_view(f, test_view_snapshot(f, "v1", &view, NULL), &view, 3, 2);

    /* The label main moves, and is not the branch. */
    expect_view(f, test_view_snapshot(f, "main", &view, NULL), &view, 3, 2);
    assert_int_equal(sirix_snapshot_create(&one, test_name("main"), false, &created, &err),
                     SIRIX_OK);
    expect_view(f, test_view_snapshot(f, "main", &view, NULL), &view, 2, 1);
    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 3, 2);
    assert_int_equal(sirix_snapshot_create(&two, test_name("main"), false, &created, &err),
                     SIRIX_OK);
    assert_int_equal(created.previous_revision, 2);
    assert_int_equal(sirix_snapshot_delete(f->resource, test_name("main"), &err), SIRIX_OK);
    expect_view(f, test_view_snapshot(f, "main", &view, NULL), &view, 3, 2);
    assert_int_equal(sirix_snapshot_delete(f->resource, test_name("main"), &err), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_snapshot_delete(f->resource, test_name("v1"), &err), SIRIX_OK);
    assert_int_equal(test_view_snapshot(f, "v1", &view, &err), SIRIX_NOT_FOUND);
    sirix_view_close(&one);
    sirix_view_close(&two);
}

static void names_differ_in_more_than_case_and_main_is_protected(void **state)
{
    struct test_rev *f = *state;
    struct sirix_branch_info info;
    struct sirix_snapshot_created created;
    struct sirix_promoted promoted;
    struct sirix_resource *other = NULL;
    struct sirix_view view;
    struct sirix_view again;
    struct sirix_error err = {0};

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_branch_create(&view, test_name("main"), 0, &info, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(sirix_branch_create(&view, test_name("Main"), 0, &info, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_CASE);
    assert_int_equal(sirix_snapshot_create(&view, test_name("MAIN"), true, &created, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("main"), &err), SIRIX_INVALID);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("Main"), &err), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_branch_promote(f->resource, test_name("Main"), test_name("main"), false,
                                          &promoted, &err),
                     SIRIX_NOT_FOUND);

    assert_int_equal(sirix_branch_create(&view, test_name("Work"), 0, &info, &err), SIRIX_OK);
    assert_int_equal(sirix_branch_create(&view, test_name("work"), 0, &info, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_CASE);
    assert_int_equal(sirix_snapshot_create(&view, test_name("Work"), true, &created, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(test_view_branch(f, "work", &again, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_UNKNOWN);
    assert_non_null(strstr(err.text, "Work"));
    assert_int_equal(test_view_snapshot(f, "Work", &again, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_SNAPSHOT_UNKNOWN);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("work"), &err), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("Work"), &err), SIRIX_OK);
    sirix_view_close(&view);

    assert_int_equal(sirix_resource_create(f->database, test_name("R"), test_name(""),
                                           test_name(""), &other, &err),
                     SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_CASE);
    assert_int_equal(sirix_resource_open(f->database, test_name("R"), &other, &err),
                     SIRIX_NOT_FOUND);
    assert_int_equal(sirix_resource_open(f->database, test_name("../x"), &other, &err),
                     SIRIX_INVALID);
}

/* --- Lists -------------------------------------------------------------------------------------- */

struct names {
    char text[512];
    int until_stop; /* 0: none. */
};

static void add_name(struct names *names, struct sirix_bytes name, bool *stop)
{
    size_t len = strlen(names->text);

    (void)snprintf(names->text + len, sizeof(names->text) - len, "%.*s ", (int)name.len,
                   (const char *)name.data);
    *stop = names->until_stop != 0 && --names->until_stop == 0;
}

static enum sirix_status add_branch(void *context, const struct sirix_branch_info *info, bool *stop,
                                    struct sirix_error *err)
{
    (void)err;
    add_name(context, info->name, stop);
    return SIRIX_OK;
}

static enum sirix_status add_snapshot(void *context, const struct sirix_snapshot_info *info,
                                      bool *stop, struct sirix_error *err)
{
    (void)err;
    add_name(context, info->name, stop);
    return SIRIX_OK;
}

static enum sirix_status add_resource(void *context, struct sirix_bytes name, bool *stop,
                                      struct sirix_error *err)
{
    (void)err;
    add_name(context, name, stop);
    return SIRIX_OK;
}

static void lists_go_on_where_they_stopped(void **state)
{
    struct test_rev *f = *state;
    struct sirix_snapshot_created created;
    struct sirix_resource *other = NULL;
    struct sirix_view view;
    struct names names = {0};

    (void)test_branch(f, "main", "c", 0);
    (void)test_branch(f, "main", "B", 0);
    (void)test_branch(f, "main", "a", 0);
    (void)test_branch(f, "main", "gone", atomic_load(&f->now_us) + 100);
    atomic_fetch_add(&f->now_us, 1000);
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_snapshot_create(&view, test_name("s2"), false, &created, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_snapshot_create(&view, test_name("S1"), false, &created, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_snapshot_create(&view, test_name("main"), false, &created, NULL),
                     SIRIX_OK);
    sirix_view_close(&view);
    assert_int_equal(sirix_resource_create(f->database, test_name("Q"), test_name(""),
                                           test_name(""), &other, NULL),
                     SIRIX_OK);
    sirix_resource_unref(other);

    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_branch_list(f->resource, f->reader, test_name(""), add_branch, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "main a B c ");
    names = (struct names){.until_stop = 2};
    assert_int_equal(
        sirix_branch_list(f->resource, f->reader, test_name(""), add_branch, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "main a ");
    names = (struct names){0};
    assert_int_equal(
        sirix_branch_list(f->resource, f->reader, test_name("main"), add_branch, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "a B c ");
    names = (struct names){0};
    assert_int_equal(
        sirix_branch_list(f->resource, f->reader, test_name("B"), add_branch, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "c ");
    names = (struct names){0};
    assert_int_equal(
        sirix_snapshot_list(f->resource, f->reader, test_name(""), add_snapshot, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "main S1 s2 ");
    names = (struct names){0};
    assert_int_equal(
        sirix_snapshot_list(f->resource, f->reader, test_name("s1"), add_snapshot, &names, NULL),
        SIRIX_OK);
    assert_string_equal(names.text, "s2 ");
    names = (struct names){0};
    assert_int_equal(sirix_resource_list(f->database, test_name(""), add_resource, &names, NULL),
                     SIRIX_OK);
    assert_string_equal(names.text, "Q r ");
    names = (struct names){0};
    assert_int_equal(sirix_resource_list(f->database, test_name("q"), add_resource, &names, NULL),
                     SIRIX_OK);
    assert_string_equal(names.text, "r ");
}

static void expect_name(struct test_rev *f, uint64_t id, const char *name)
{
    struct sirix_bytes found = {0};

    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_branch_name(f->resource, f->reader, id, &found, NULL), SIRIX_OK);
    assert_true(sirix_bytes_equal(found, test_name(name)));
}

static void a_branch_keeps_its_name_and_may_be_deleted_when_its_time_is_over(void **state)
{
    struct test_rev *f = *state;
    struct sirix_branch_head head;
    struct sirix_bytes found = {0};
    struct sirix_error err = {0};
    uint64_t revision = 0;
    uint64_t gone = test_branch(f, "main", "Gone", 0);
    uint64_t brief = test_branch(f, "main", "Brief", f->now_us + 1000000);
    struct sirix_published published = test_set(f, "Brief", 7);

    (void)test_set(f, "Gone", 6);
    f->now_us += 2000000;
    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_branch_find(f->resource, f->reader, test_name("Brief"), false, &head, &err),
        SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_EXPIRED);
    assert_int_equal(
        sirix_branch_find(f->resource, f->reader, test_name("Brief"), true, &head, &err), SIRIX_OK);
    assert_int_equal(head.id, brief);
    assert_int_equal(head.revision, published.revision);
    assert_int_equal(
        sirix_branch_find(f->resource, f->reader, test_name("brief"), true, &head, &err),
        SIRIX_NOT_FOUND);

    assert_int_equal(
        sirix_branch_delete_once(f->resource, test_name("Brief"), gone, NULL, &revision, &err),
        SIRIX_NOT_FOUND);
    assert_int_equal(
        sirix_branch_delete_once(f->resource, test_name("Brief"), brief, NULL, &revision, &err),
        SIRIX_OK);
    assert_int_equal(revision, published.revision);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("Gone"), &err), SIRIX_OK);

    expect_name(f, SIRIX_BRANCH_ID_MAIN, "main");
    expect_name(f, gone, "Gone");
    expect_name(f, brief, "Brief");
    assert_int_equal(sirix_branch_name(f->resource, f->reader, brief + 1, &found, &err),
                     SIRIX_NOT_FOUND);
}

/* Counted in rows: the life of one that was deleted is kept for views as of then, its name is not. */
static void a_branch_that_nothing_was_committed_on_leaves_no_name(void **state)
{
    struct test_rev *f = *state;
    struct sirix_promoted promoted;
    size_t before = 0;
    size_t rows = 0;
    uint32_t swept = 0;
    bool more = false;
    char name[24];

    (void)test_set(f, "main", 1);
    assert_int_equal(test_count_rows(f, "r", 1, &before), SIRIX_OK);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "brief-%d", i);
        (void)test_branch(f, "main", name, f->now_us + 1000000);
    }
    f->now_us += 2000000;
    assert_int_equal(sirix_branch_sweep(f->database, 1000, &swept, &more, NULL), SIRIX_OK);
    assert_int_equal(swept, 300);
    assert_int_equal(test_count_rows(f, "r", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, before);

    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "gone-%d", i);
        (void)test_branch(f, "main", name, 0);
        assert_int_equal(sirix_branch_delete(f->resource, test_name(name), NULL), SIRIX_OK);
    }
    assert_int_equal(test_count_rows(f, "r", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, before + 300);

    /* A revision was made on it, though its head is again where it began. */
    uint64_t made = test_branch(f, "main", "made", 0);
    (void)test_set(f, "made", 2);
    assert_int_equal(sirix_branch_promote(f->resource, test_name("main"), test_name("made"), true,
                                          &promoted, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("made"), NULL), SIRIX_OK);
    expect_name(f, made, "made");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(labels_are_set_moved_listed_and_deleted),
        CASE(names_differ_in_more_than_case_and_main_is_protected),
        CASE(lists_go_on_where_they_stopped),
        CASE(a_branch_keeps_its_name_and_may_be_deleted_when_its_time_is_over),
        CASE(a_branch_that_nothing_was_committed_on_leaves_no_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
