/* Changes without a revision under an idempotency key: done once, answered alike ever after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

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

/* Answers with as many bytes of the result as the context says. */
static size_t copy_result(void *context, const void *result, uint8_t *bytes)
{
    size_t len = *(const size_t *)context;

    if (len != 0) {
        memcpy(bytes, result, len);
    }
    return len;
}

static struct sirix_once once_of(const char *key, uint8_t request, size_t *result_len)
{
    struct sirix_once once = {
        .rider = {.principal = test_name("agent"), .key = test_name(key)},
        .answer = copy_result,
        .context = result_len,
    };

    memset(once.rider.request_hash, request, sizeof(once.rider.request_hash));
    return once;
}

static struct sirix_view head(const char *branch)
{
    struct sirix_view view;

    assert_int_equal(test_view_branch(&fixture, branch, &view, NULL), SIRIX_OK);
    return view;
}

static uint64_t branches(void)
{
    struct sirix_resource_info info;

    assert_int_equal(sirix_resource_info(fixture.resource, &info, NULL), SIRIX_OK);
    return info.branch_count;
}

static void a_branch_is_created_once_and_its_answer_kept(void **state)
{
    size_t len = sizeof(struct sirix_branch_info);
    struct sirix_once first = once_of("k", 1, &len);
    struct sirix_once again = once_of("k", 1, &len);
    struct sirix_once other = once_of("k", 2, &len);
    struct sirix_branch_info info = {0};
    struct sirix_branch_info untouched = {0};
    struct sirix_branch_info answer;
    struct sirix_error err = {0};
    struct sirix_view view = head("main");

    (void)state;
    assert_int_equal(sirix_branch_create_once(&view, test_name("b"), 0, &first, &info, &err),
                     SIRIX_OK);
    assert_false(first.replayed);
    assert_int_equal(sirix_branch_create_once(&view, test_name("b"), 0, &again, &untouched, &err),
                     SIRIX_OK);
    assert_true(again.replayed);
    assert_int_equal(untouched.id, 0);
    assert_int_equal(again.answer_len, len);
    memcpy(&answer, again.answer_bytes, sizeof(answer));
    assert_int_equal(answer.id, info.id);
    assert_int_equal(answer.created_us, info.created_us);
    assert_int_equal(sirix_branch_create_once(&view, test_name("c"), 0, &other, &untouched, &err),
                     SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_IDEMPOTENCY_MISMATCH);
    assert_int_equal(branches(), 2);
    sirix_view_close(&view);

    /* Also after a reopening, and when the branch is gone again. */
    assert_int_equal(sirix_branch_delete(fixture.resource, test_name("b"), NULL), SIRIX_OK);
    test_rev_reopen(&fixture, NULL);
    view = head("main");
    assert_int_equal(sirix_branch_create_once(&view, test_name("b"), 0, &again, &untouched, &err),
                     SIRIX_OK);
    assert_true(again.replayed);
    assert_int_equal(branches(), 1);
    sirix_view_close(&view);
}

static void a_change_that_fails_keeps_no_key(void **state)
{
    size_t len = sizeof(uint64_t);
    struct sirix_once once = once_of("k", 1, &len);
    struct sirix_published published;
    struct sirix_error err = {0};
    uint64_t revision = 0;

    (void)state;
    assert_int_equal(
        sirix_branch_delete_once(fixture.resource, test_name("b"), 0, &once, &revision, &err),
        SIRIX_NOT_FOUND);
    sirix_reader_yield(fixture.reader);
    assert_int_equal(
        sirix_rider_find(fixture.database, fixture.reader, &once.rider, &published, &err),
        SIRIX_NOT_FOUND);
    (void)test_branch(&fixture, "main", "b", 0);
    assert_int_equal(
        sirix_branch_delete_once(fixture.resource, test_name("b"), 0, &once, &revision, &err),
        SIRIX_OK);
    assert_false(once.replayed);
    assert_int_equal(revision, 1);
    revision = 0;
    memcpy(&revision, once.answer_bytes, sizeof(revision));
    assert_int_equal(revision, 1);
    assert_int_equal(
        sirix_branch_delete_once(fixture.resource, test_name("b"), 0, &once, &revision, &err),
        SIRIX_OK);
    assert_true(once.replayed);
    sirix_reader_yield(fixture.reader);
    assert_int_equal(
        sirix_rider_find(fixture.database, fixture.reader, &once.rider, &published, &err),
        SIRIX_OK);
    assert_int_equal(published.answer.len, sizeof(revision));
}

static void labels_promotes_and_resources_are_changed_once_too(void **state)
{
    size_t created_len = sizeof(struct sirix_snapshot_created);
    size_t promoted_len = sizeof(struct sirix_promoted);
    size_t published_len = sizeof(struct sirix_published);
    size_t revision_len = sizeof(uint64_t);
    size_t none = 0;
    struct sirix_error err = {0};

    (void)state;
    (void)test_branch(&fixture, "main", "b", 0);
    struct sirix_published set = test_set(&fixture, "b", 1);
    for (int i = 0; i < 2; i++) {
        struct sirix_once once = once_of("label", 1, &created_len);
        struct sirix_snapshot_created created;
        struct sirix_promoted promoted;
        struct sirix_published made = {0};
        struct sirix_view view = head("b");

        assert_int_equal(
            sirix_snapshot_create_once(&view, test_name("s"), false, &once, &created, &err),
            SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
        sirix_view_close(&view);

        once = once_of("promote", 1, &promoted_len);
        assert_int_equal(sirix_branch_promote_once(fixture.resource, test_name("b"),
                                                   test_name("main"), false, &once, &promoted,
                                                   &err),
                         SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
        memcpy(&promoted, once.answer_bytes, sizeof(promoted));
        assert_int_equal(promoted.revision, set.revision);
        assert_int_equal(promoted.previous_revision, 1);

        once = once_of("create", 1, &published_len);
        assert_int_equal(sirix_resource_create_once(fixture.database, test_name("new"),
                                                    test_name("a"), test_name(""), &once, &made,
                                                    &err),
                         SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
        assert_int_equal(made.revision, i == 0 ? 1 : 0);
    }
    for (int i = 0; i < 2; i++) {
        struct sirix_once once = once_of("unlabel", 1, &revision_len);
        uint64_t revision = 0;

        assert_int_equal(sirix_snapshot_delete_once(fixture.resource, test_name("s"), &once, &err),
                         SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
        memcpy(&revision, once.answer_bytes, sizeof(revision));
        assert_int_equal(revision, set.revision);

        once = once_of("drop", 1, &none);
        assert_int_equal(sirix_resource_drop_once(fixture.database, test_name("new"), &once, &err),
                         SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
    }
}

/* A promote that finds nothing to do is a success, and its key is kept like any other's. */
static void a_promote_without_effect_is_kept(void **state)
{
    size_t len = sizeof(struct sirix_promoted);
    struct sirix_promoted promoted;
    struct sirix_error err = {0};

    (void)state;
    (void)test_branch(&fixture, "main", "b", 0);
    for (int i = 0; i < 2; i++) {
        struct sirix_once once = once_of("k", 1, &len);

        assert_int_equal(sirix_branch_promote_once(fixture.resource, test_name("b"),
                                                   test_name("main"), false, &once, &promoted,
                                                   &err),
                         SIRIX_OK);
        assert_int_equal(once.replayed, i == 1);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_branch_is_created_once_and_its_answer_kept),
        CASE(a_change_that_fails_keeps_no_key),
        CASE(labels_promotes_and_resources_are_changed_once_too),
        CASE(a_promote_without_effect_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
