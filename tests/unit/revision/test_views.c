/*
 * Views, branches, promote and revert: what each names, and the errors that are told apart.
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

static void a_new_resource_has_one_empty_revision(void **state)
{
    struct test_rev *f = *state;
    struct sirix_view view;
    struct sirix_resource_info info;

    assert_int_equal(test_view_branch(f, "", &view, NULL), SIRIX_OK);
    assert_int_equal(view.record.trie.root, 0);
    assert_int_equal(view.record.depth, 0);
    assert_int_equal(view.branch_id, SIRIX_BRANCH_ID_MAIN);
    expect_view(f, SIRIX_OK, &view, 1, INT64_MIN);
    assert_int_equal(sirix_resource_info(f->resource, &info, NULL), SIRIX_OK);
    assert_int_equal(info.newest_revision, 1);
    assert_int_equal(info.branch_count, 1);
    assert_int_equal(info.snapshot_count, 0);
    assert_int_equal(info.created_us, info.last_modified_us);
}

static void each_publication_is_a_revision_that_stays_readable(void **state)
{
    struct test_rev *f = *state;
    struct sirix_view view;

    for (int64_t i = 2; i <= 50; i++) {
        assert_int_equal(test_set(f, "main", i * 100).revision, i);
    }
    for (uint64_t i = 2; i <= 50; i++) {
        expect_view(f, test_view_revision(f, i, &view, NULL), &view, i, (int64_t)i * 100);
    }
}

static void the_four_errors_of_a_view_are_told_apart(void **state)
{
    struct test_rev *f = *state;
    struct sirix_view view;
    struct sirix_error err = {0};

    (void)test_set(f, "main", 7);
    assert_int_equal(test_view_revision(f, 0, &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_UNKNOWN);
    assert_int_equal(test_view_revision(f, 3, &view, &err), SIRIX_OUT_OF_RANGE);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_AHEAD);
    assert_int_equal(err.current_revision, 2);
    assert_int_equal(test_view_at(f, "main", 1, &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_BEFORE_FIRST);
    assert_non_null(strstr(err.text, "2023-11-14T22:13:20"));
    assert_int_equal(test_view_branch(f, "nope", &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_UNKNOWN);
    assert_int_equal(test_view_snapshot(f, "nope", &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_SNAPSHOT_UNKNOWN);
    assert_int_equal(test_view_branch(f, "a..b/c", &view, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_INVALID);
    assert_string_equal(err.field, "view.branch");
    assert_int_equal(test_view_snapshot(f, "2024-01-15", &view, &err), SIRIX_INVALID);
}

static void a_pruned_revision_is_its_own_error_and_names_the_oldest_kept(void **state)
{
    struct test_rev *f = *state;
    const struct sirix_rows_key key = sirix_rows_key_counters(sirix_resource_id(f->resource));
    struct sirix_counters_row row;
    struct sirix_rows_value changed;
    struct sirix_bytes value = {0};
    struct sirix_view view;
    struct sirix_error err = {0};

    struct sirix_published second = test_set(f, "main", 0);

    for (int i = 1; i < 5; i++) {
        (void)test_set(f, "main", i);
    }
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_ref_get(f->reader, sirix_rows_key_view(&key), &value, NULL), SIRIX_OK);
    assert_int_equal(sirix_rows_counters_decode(value, &row, NULL), SIRIX_OK);
    row.oldest_revision = 4;
    changed = sirix_rows_counters_encode(&row);
    test_put_row(f, &key, sirix_rows_value_view(&changed));

    assert_int_equal(test_view_revision(f, 3, &view, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_PRUNED);
    assert_non_null(strstr(err.text, "the oldest one kept is 4"));
    assert_int_equal(test_view_at(f, "main", second.time_us, &view, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_PRUNED);
    expect_view(f, test_view_revision(f, 4, &view, NULL), &view, 4, 2);
}

static void as_of_a_returned_time_gives_that_revision_though_the_clock_steps_back(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published all[1001];
    struct sirix_view view;

    atomic_store(&f->step_us, 0); /* A tight loop within one microsecond. */
    for (int i = 1; i <= 1000; i++) {
        if (i == 500) {
            atomic_fetch_sub(&f->now_us, INT64_C(3600) * 1000000);
        }
        all[i] = test_set(f, "main", i);
        assert_true(i == 1 || all[i].time_us > all[i - 1].time_us);
    }
    for (int i = 1; i <= 1000; i++) {
        expect_view(f, test_view_at(f, "main", all[i].time_us, &view, NULL), &view, all[i].revision,
                    i);
        if (i > 1) {
            expect_view(f, test_view_at(f, "main", all[i].time_us - 1, &view, NULL), &view,
                        all[i - 1].revision, i - 1);
        }
    }
}

static void a_write_on_a_head_that_moved_is_a_conflict_that_names_it(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published published;
    struct sirix_view view;
    struct sirix_error err = {0};

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    (void)test_set(f, "main", 1);
    (void)test_set(f, "main", 2);
    assert_int_equal(test_publish(f, &view, 3, &published, &err), SIRIX_CONFLICT);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_MOVED);
    assert_int_equal(err.current_revision, 3);
    sirix_view_close(&view);
    assert_int_equal(test_view_revision(f, 4, &view, NULL), SIRIX_OUT_OF_RANGE);
}

static void branches_share_the_numbering_and_nothing_else(void **state)
{
    struct test_rev *f = *state;
    struct sirix_view view;

    (void)test_set(f, "main", 10);
    (void)test_branch(f, "main", "a", 0);
    (void)test_branch(f, "main", "b", 0);
    assert_int_equal(test_set(f, "a", 11).revision, 3);
    assert_int_equal(test_set(f, "b", 12).revision, 4);
    assert_int_equal(test_set(f, "a", 13).revision, 5);

    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 2, 10);
    expect_view(f, test_view_branch(f, "a", &view, NULL), &view, 5, 13);
    expect_view(f, test_view_branch(f, "b", &view, NULL), &view, 4, 12);
    assert_int_equal(test_view_revision(f, 5, &view, NULL), SIRIX_OK);
    assert_int_equal(view.record.parent_revision, 3);
    sirix_view_close(&view);
}

static void promote_moves_forward_or_refuses_with_both_tips(void **state)
{
    struct test_rev *f = *state;
    struct sirix_promoted promoted;
    struct sirix_view view;
    struct sirix_error err = {0};

    (void)test_set(f, "main", 1);
    (void)test_branch(f, "main", "b", 0);
    (void)test_set(f, "b", 2);
    (void)test_set(f, "b", 3);

    assert_int_equal(sirix_branch_promote(f->resource, test_name("b"), test_name("main"), false,
                                          &promoted, &err),
                     SIRIX_OK);
    assert_int_equal(promoted.revision, 4);
    assert_int_equal(promoted.previous_revision, 2);
    assert_true(promoted.fast_forward);
    assert_int_equal(sirix_branch_promote(f->resource, test_name("b"), test_name("main"), false,
                                          &promoted, &err),
                     SIRIX_OK);
    assert_int_equal(promoted.previous_revision, 4);
    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 4, 3);

    (void)test_set(f, "main", 5);
    (void)test_set(f, "b", 6);
    assert_int_equal(sirix_branch_promote(f->resource, test_name("b"), test_name("main"), false,
                                          &promoted, &err),
                     SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_NOT_FAST_FORWARD);
    assert_int_equal(err.current_revision, 5);
    assert_non_null(strstr(err.text, "revision 5"));
    assert_non_null(strstr(err.text, "revision 6"));
    assert_int_equal(
        sirix_branch_promote(f->resource, test_name("b"), test_name("main"), true, &promoted, &err),
        SIRIX_OK);
    assert_false(promoted.fast_forward);
    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 6, 6);
    assert_int_equal(
        sirix_branch_promote(f->resource, test_name("x"), test_name("main"), true, &promoted, &err),
        SIRIX_NOT_FOUND);
}

static void as_of_follows_promotes_with_replace(void **state)
{
    struct test_rev *f = *state;
    struct sirix_promoted promoted;
    struct sirix_view view;
    struct sirix_published one = test_set(f, "main", 1);

    (void)test_branch(f, "main", "b", 0);
    struct sirix_published two = test_set(f, "b", 2);
    struct sirix_published three = test_set(f, "main", 3);
    struct sirix_published four = test_set(f, "b", 4);
    int64_t before = atomic_load(&f->now_us);
    assert_int_equal(
        sirix_branch_promote(f->resource, test_name("b"), test_name("main"), true, &promoted, NULL),
        SIRIX_OK);
    int64_t after = atomic_load(&f->now_us);
    struct sirix_published five = test_set(f, "main", 5);

    expect_view(f, test_view_at(f, "main", one.time_us, &view, NULL), &view, one.revision, 1);
    expect_view(f, test_view_at(f, "main", two.time_us, &view, NULL), &view, one.revision, 1);
    expect_view(f, test_view_at(f, "main", three.time_us, &view, NULL), &view, three.revision, 3);
    expect_view(f, test_view_at(f, "main", four.time_us, &view, NULL), &view, three.revision, 3);
    expect_view(f, test_view_at(f, "main", before - 1, &view, NULL), &view, three.revision, 3);
    expect_view(f, test_view_at(f, "main", after, &view, NULL), &view, four.revision, 4);
    expect_view(f, test_view_at(f, "main", five.time_us, &view, NULL), &view, five.revision, 5);
    expect_view(f, test_view_at(f, "b", three.time_us, &view, NULL), &view, two.revision, 2);
    expect_view(f, test_view_at(f, "b", INT64_MAX, &view, NULL), &view, four.revision, 4);
}

static void a_deleted_branch_is_read_as_of_its_life_alone(void **state)
{
    struct test_rev *f = *state;
    struct sirix_view view;
    struct sirix_error err = {0};
    int64_t before = atomic_load(&f->now_us);

    (void)test_branch(f, "main", "b", 0);
    struct sirix_published one = test_set(f, "b", 1);
    struct sirix_published two = test_set(f, "b", 2);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("b"), &err), SIRIX_OK);
    int64_t between = atomic_load(&f->now_us);
    (void)test_set(f, "main", 9);

    expect_view(f, test_view_at(f, "b", one.time_us, &view, NULL), &view, one.revision, 1);
    expect_view(f, test_view_at(f, "b", two.time_us, &view, NULL), &view, two.revision, 2);
    assert_int_equal(test_view_branch(f, "b", &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(test_view_at(f, "b", between, &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_UNKNOWN);

    (void)test_branch(f, "main", "b", 0);
    struct sirix_published three = test_set(f, "b", 3);
    expect_view(f, test_view_at(f, "b", one.time_us, &view, NULL), &view, one.revision, 1);
    expect_view(f, test_view_at(f, "b", three.time_us, &view, NULL), &view, three.revision, 3);
    assert_int_equal(test_view_at(f, "b", between, &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_BEFORE_FIRST);
    assert_int_equal(test_view_at(f, "b", before, &view, &err), SIRIX_NOT_FOUND);
}

static void revert_makes_a_revision_of_an_old_root(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published published;
    struct sirix_view head;
    struct sirix_view source;
    struct sirix_view view;
    struct sirix_error err = {0};

    (void)test_set(f, "main", 1);
    (void)test_branch(f, "main", "b", 0);
    (void)test_set(f, "b", 2);
    (void)test_set(f, "main", 3);
    assert_int_equal(test_view_branch(f, "main", &head, NULL), SIRIX_OK);
    assert_int_equal(test_view_branch(f, "b", &source, NULL), SIRIX_OK);

    assert_int_equal(
        sirix_revert(&head, &source, test_name("me"), test_name("back"), NULL, &published, &err),
        SIRIX_OK);
    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 5, 2);
    assert_int_equal(test_view_revision(f, 5, &view, NULL), SIRIX_OK);
    assert_int_equal(view.record.parent_revision, 4);
    assert_int_equal(view.record.adopted_from, 3);
    assert_int_equal(view.record.adoptions, 1);
    assert_int_equal(view.record.trie.root, source.record.trie.root);
    sirix_view_close(&view);
    assert_int_equal(
        sirix_revert(&head, &source, test_name("me"), test_name(""), NULL, &published, &err),
        SIRIX_CONFLICT);
    assert_int_equal(err.current_revision, 5);
    sirix_view_close(&head);
    sirix_view_close(&source);
}

static void an_expired_branch_refuses_at_once_and_a_sweep_removes_it(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published published;
    struct sirix_branch_info info;
    struct sirix_resource_info facts;
    struct sirix_view view;
    struct sirix_error err = {0};
    int64_t now = atomic_load(&f->now_us);
    uint32_t swept = 0;
    bool more = false;
    uint64_t first = test_branch(f, "main", "b", now + 1000000);

    (void)test_branch(f, "main", "later", now + 3600000000);
    (void)test_set(f, "b", 1);
    assert_int_equal(test_view_branch(f, "b", &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_branch_sweep(f->database, 100, &swept, &more, &err), SIRIX_OK);
    assert_int_equal(swept, 0);

    atomic_store(&f->now_us, now + 1000000);
    assert_int_equal(test_publish(f, &view, 2, &published, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_EXPIRED);
    sirix_view_close(&view);
    assert_int_equal(test_view_branch(f, "b", &view, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_BRANCH_EXPIRED);

    /* A clock that is set back does not bring it back once a commit was later. */
    (void)test_set(f, "main", 5);
    atomic_store(&f->now_us, now);
    assert_int_equal(test_view_branch(f, "b", &view, &err), SIRIX_PRECONDITION);
    atomic_store(&f->now_us, now + 2000000);

    /* Its name is free at once. */
    assert_int_not_equal(test_branch(f, "main", "b", now + 4000000), first);
    atomic_store(&f->now_us, now + 5000000);
    assert_int_equal(sirix_branch_sweep(f->database, 100, &swept, &more, &err), SIRIX_OK);
    assert_int_equal(swept, 1);
    assert_false(more);
    assert_int_equal(test_view_branch(f, "b", &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(test_view_branch(f, "later", &view, &err), SIRIX_OK);
    assert_int_equal(sirix_branch_create(&view, test_name("past"), now, &info, &err),
                     SIRIX_INVALID);
    assert_string_equal(err.field, "expires");
    sirix_view_close(&view);
    assert_int_equal(sirix_resource_info(f->resource, &facts, NULL), SIRIX_OK);
    assert_int_equal(facts.branch_count, 2);
}

static void a_sweep_keeps_to_its_bound_and_survives_a_dropped_resource(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *mine = f->resource;
    struct sirix_resource *other = NULL;
    int64_t now = atomic_load(&f->now_us);
    uint32_t swept = 0;
    bool more = false;
    char name[32];

    assert_int_equal(sirix_resource_create(f->database, test_name("other"), test_name(""),
                                           test_name(""), &other, NULL),
                     SIRIX_OK);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(name, sizeof(name), "b%d", i);
        f->resource = i % 10 == 0 ? other : mine;
        (void)test_branch(f, "main", name, now + 1000000 + i);
    }
    f->resource = mine;
    sirix_resource_unref(other);
    assert_int_equal(sirix_resource_drop(f->database, test_name("other"), NULL), SIRIX_OK);
    atomic_store(&f->now_us, now + 2000000);

    assert_int_equal(sirix_branch_sweep(f->database, 110, &swept, &more, NULL), SIRIX_OK);
    assert_true(more);
    assert_in_range(swept, 99, 110);
    uint32_t total = swept;
    assert_int_equal(sirix_branch_sweep(f->database, 1000, &swept, &more, NULL), SIRIX_OK);
    assert_false(more);
    assert_int_equal(total + swept, 225);
}

static void a_dropped_resource_is_gone_and_its_name_free(void **state)
{
    struct test_rev *f = *state;
    struct sirix_published published;
    struct sirix_resource *again = NULL;
    struct sirix_view view;
    struct sirix_error err = {0};
    uint32_t id = sirix_resource_id(f->resource);

    for (int i = 0; i < 40; i++) {
        (void)test_set(f, "main", i);
    }
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_resource_drop(f->database, test_name("r"), &err), SIRIX_OK);

    assert_int_equal(sirix_resource_open(f->database, test_name("r"), &again, &err),
                     SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_RESOURCE_UNKNOWN);
    assert_int_equal(test_publish(f, &view, 2, &published, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_RESOURCE_UNKNOWN);
    sirix_view_close(&view);
    assert_int_equal(test_view_branch(f, "main", &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_resource_drop(f->database, test_name("r"), &err), SIRIX_NOT_FOUND);

    assert_int_equal(sirix_resource_create(f->database, test_name("r"), test_name(""),
                                           test_name(""), &again, &err),
                     SIRIX_OK);
    assert_int_not_equal(sirix_resource_id(again), id);
    sirix_resource_unref(f->resource);
    f->resource = again;
    expect_view(f, test_view_branch(f, "main", &view, NULL), &view, 1, INT64_MIN);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_new_resource_has_one_empty_revision),
        CASE(each_publication_is_a_revision_that_stays_readable),
        CASE(the_four_errors_of_a_view_are_told_apart),
        CASE(a_pruned_revision_is_its_own_error_and_names_the_oldest_kept),
        CASE(as_of_a_returned_time_gives_that_revision_though_the_clock_steps_back),
        CASE(a_write_on_a_head_that_moved_is_a_conflict_that_names_it),
        CASE(branches_share_the_numbering_and_nothing_else),
        CASE(promote_moves_forward_or_refuses_with_both_tips),
        CASE(as_of_follows_promotes_with_replace),
        CASE(a_deleted_branch_is_read_as_of_its_life_alone),
        CASE(revert_makes_a_revision_of_an_old_root),
        CASE(an_expired_branch_refuses_at_once_and_a_sweep_removes_it),
        CASE(a_sweep_keeps_to_its_bound_and_survives_a_dropped_resource),
        CASE(a_dropped_resource_is_gone_and_its_name_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
