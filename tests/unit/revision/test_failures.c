/* Failing allocations: nothing half-done, nothing lost, nothing leaked. */
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

static int setup_lmdb(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_LMDB, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

static struct sirix_rider rider_of(const char *key, uint8_t request, const char *answer)
{
    struct sirix_rider rider = {
        .principal = test_name("agent"), .key = test_name(key), .answer = test_name(answer)};

    memset(rider.request_hash, request, sizeof(rider.request_hash));
    return rider;
}

/* One of everything; gives the first failure. */
static enum sirix_status do_everything(struct test_rev *f, int round, struct sirix_error *err)
{
    const struct sirix_rider rider = rider_of("key", (uint8_t)round, "answer");
    struct sirix_branch_info info;
    struct sirix_snapshot_created created;
    struct sirix_promoted promoted;
    struct sirix_published published;
    struct sirix_resource *other = NULL;
    struct sirix_view view;
    char name[16];
    enum sirix_status status = test_view_branch(f, "main", &view, err);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)snprintf(name, sizeof(name), "n%d", round);
    status = sirix_branch_create(&view, test_name(name), 0, &info, err);
    if (status == SIRIX_OK) {
        status = sirix_branch_promote(f->resource, test_name(name), test_name("main"), false,
                                      &promoted, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_snapshot_create(&view, test_name("label"), true, &created, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_revert(&view, &view, test_name("a"), test_name("m"), NULL, &published, err);
    }
    sirix_view_close(&view);
    if (status == SIRIX_OK) {
        status = sirix_branch_delete(f->resource, test_name(name), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rider_record(f->resource, &rider, &published, &published, err);
        status = status == SIRIX_INVALID ? SIRIX_OK : status;
    }
    if (status == SIRIX_OK) {
        status = sirix_resource_create(f->database, test_name(name), test_name(""), test_name(""),
                                       &other, err);
    }
    sirix_resource_unref(other);
    return status == SIRIX_OK ? sirix_resource_drop(f->database, test_name(name), err) : status;
}

static enum sirix_status no_fault(void *context, struct sirix_bytes resource,
                                  const struct sirix_error *fault, struct sirix_error *err)
{
    (void)context;
    (void)resource;
    (void)err;
    fail_msg("%s", fault->text);
    return SIRIX_OK;
}

static size_t short_answer(void *context, const void *result, uint8_t *bytes)
{
    (void)context;
    (void)result;
    bytes[0] = 'x';
    return 1;
}

/* The publication that gives a hidden resource its name. Making it ready is not what is tried. */
static enum sirix_status publish_first(struct test_rev *f, struct sirix_resource *hidden,
                                       struct sirix_error *err)
{
    struct sirix_resource *mine = f->resource;
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    int until_failure = atomic_exchange(&test_allocs_until_failure, -1);
    enum sirix_status status = SIRIX_OK;

    f->resource = hidden;
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    test_publication_make(f, &view, 7, &publication);
    atomic_store(&test_allocs_until_failure, until_failure);
    status = sirix_publish(&publication, &published, err);
    assert_true(status != SIRIX_OK || published.revision == 1);
    test_publication_free(&publication);
    sirix_view_close(&view);
    f->resource = mine;
    return status;
}

/* Everything that do_everything() leaves out: under keys, hidden, expired, in bulk. */
static enum sirix_status do_the_rest(struct test_rev *f, int round, struct sirix_error *err)
{
    struct sirix_once once = {.rider = rider_of("once", 1, ""), .answer = short_answer};
    struct sirix_branch_info info;
    struct sirix_snapshot_created created;
    struct sirix_resource *hidden = NULL;
    struct sirix_view view;
    char name[16];
    uint64_t intent = 0;
    uint32_t swept = 0;
    bool more = false;
    enum sirix_status status = test_view_branch(f, "main", &view, err);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)snprintf(name, sizeof(name), "x%d", round);
    once.rider.key = test_name(name);
    status = sirix_snapshot_create_once(&view, test_name("kept"), true, &once, &created, err);
    if (status == SIRIX_OK) {
        status = sirix_snapshot_delete(f->resource, test_name("kept"), err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_branch_create(&view, test_name(name), atomic_load(&f->now_us) + 1, &info, err);
    }
    sirix_view_close(&view);
    if (status == SIRIX_OK) {
        (void)atomic_fetch_add(&f->now_us, 1000000);
        status = sirix_branch_sweep(f->database, 100, &swept, &more, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_intent_begin(f->resource, &intent, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_intent_abandon(f->resource, intent, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_resource_create_hidden(f->database, test_name(name), &hidden, err);
    }
    if (status == SIRIX_OK && round % 2 == 0) {
        status = publish_first(f, hidden, err);
    }
    if (hidden != NULL) {
        enum sirix_status left = sirix_resource_discard(hidden, status == SIRIX_OK ? err : NULL);

        status = status == SIRIX_OK ? left : status;
    }
    sirix_resource_unref(hidden);
    return status;
}

typedef enum sirix_status (*doing_fn)(struct test_rev *f, int round, struct sirix_error *err);

static void sweep_changes(struct test_rev *f, doing_fn doing)
{
    struct sirix_verify_progress progress;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_NO_MEMORY;
    bool reached = true;
    int failed = 0;

    /* Some failures are borne, such as that of a cache: it ends when none was reached any more. */
    for (int n = 0; reached && n < 3000; n++) {
        atomic_store(&test_allocs_until_failure, n);
        status = doing(f, n, &err);
        reached = atomic_exchange(&test_allocs_until_failure, -1) < 0;
        if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
            fail_msg("allocation %d: %s: %s", n, sirix_status_name(status), err.text);
        }
        failed += status != SIRIX_OK;
    }
    assert_int_equal(status, SIRIX_OK);
    assert_in_range(failed, 20, 3000);
    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_verify(f->database, NULL, f->reader, no_fault, NULL, NULL, &progress, NULL),
        SIRIX_OK);
    assert_int_equal(doing(f, 5000, &err), SIRIX_OK);
}

static void no_failing_allocation_leaves_a_half_done_change(void **state)
{
    sweep_changes(*state, do_everything);
}

static void no_failing_allocation_leaves_half_of_what_is_kept_hidden_or_expired(void **state)
{
    sweep_changes(*state, do_the_rest);
}

static enum sirix_status ignore_node(void *context, const struct sirix_record *record,
                                     uint64_t address, bool deleted, bool *stop,
                                     struct sirix_error *err)
{
    (void)context;
    (void)record;
    (void)address;
    (void)deleted;
    (void)err;
    *stop = false;
    return SIRIX_OK;
}

static enum sirix_status ignore_record(void *context, const struct sirix_record *record,
                                       uint64_t address, bool *stop, struct sirix_error *err)
{
    return ignore_node(context, record, address, false, stop, err);
}

static enum sirix_status ignore_branch(void *context, const struct sirix_branch_info *info,
                                       bool *stop, struct sirix_error *err)
{
    (void)info;
    return ignore_node(context, NULL, 0, false, stop, err);
}

static enum sirix_status ignore_snapshot(void *context, const struct sirix_snapshot_info *info,
                                         bool *stop, struct sirix_error *err)
{
    (void)info;
    return ignore_node(context, NULL, 0, false, stop, err);
}

static enum sirix_status ignore_name(void *context, struct sirix_bytes name, bool *stop,
                                     struct sirix_error *err)
{
    (void)name;
    return ignore_node(context, NULL, 0, false, stop, err);
}

static enum sirix_status list_everything(struct test_rev *f, struct sirix_error *err)
{
    struct sirix_branch_head head;
    enum sirix_status status =
        sirix_branch_list(f->resource, f->reader, test_name(""), ignore_branch, NULL, err);

    if (status == SIRIX_OK) {
        status =
            sirix_snapshot_list(f->resource, f->reader, test_name(""), ignore_snapshot, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_resource_list(f->database, test_name(""), ignore_name, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_branch_find(f->resource, f->reader, test_name("main"), false, &head, err);
    }
    return status;
}

/* Reads everything there is to read; gives the first failure. */
static enum sirix_status read_everything(struct test_rev *f, struct sirix_error *err)
{
    struct sirix_verify_progress progress;
    struct sirix_resource_info info;
    struct sirix_resource *again = NULL;
    struct sirix_view view;
    struct sirix_view parent;
    bool is = false;
    enum sirix_status status = sirix_resource_open(f->database, test_name("r"), &again, err);

    if (status == SIRIX_OK) {
        sirix_resource_unref(again);
        status = sirix_resource_info(f->resource, &info, err);
    }
    if (status == SIRIX_OK) {
        status = test_view_branch(f, "main", &view, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_view_open_parent(&view, f->reader, &parent, err);
    if (status == SIRIX_OK) {
        sirix_view_close(&parent);
        status = sirix_view_node_history(&view, f->reader, 1, ignore_node, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_view_history(&view, f->reader, ignore_record, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_view_is_ancestor(f->reader, &view, &view, &is, err);
    }
    sirix_view_close(&view);
    if (status == SIRIX_OK) {
        status = list_everything(f, err);
    }
    if (status == SIRIX_OK) {
        sirix_reader_yield(f->reader);
        status = sirix_verify(f->database, NULL, f->reader, no_fault, NULL, NULL, &progress, err);
    }
    return status;
}

static void no_failing_allocation_disturbs_a_reader(void **state)
{
    struct test_rev *f = *state;
    struct sirix_error err = {0};
    bool reached = true;
    int failed = 0;

    for (int i = 0; i < 20; i++) {
        (void)test_set(f, "main", i);
    }
    for (int n = 0; reached && n < 5000; n++) {
        atomic_store(&test_allocs_until_failure, n);
        enum sirix_status status = read_everything(f, &err);
        reached = atomic_exchange(&test_allocs_until_failure, -1) < 0;
        if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
            fail_msg("allocation %d: %s: %s", n, sirix_status_name(status), err.text);
        }
        failed += status != SIRIX_OK;
    }
    assert_false(reached);
    assert_in_range(failed, 5, 5000);
}

static void no_failing_allocation_makes_an_opening_leak_or_lie(void **state)
{
    struct test_rev *f = *state;
    bool reached = true;
    int failed = 0;
    uint32_t id = 0;
    bool interned = false;

    assert_int_equal(sirix_names_intern(f->resource, test_name("name"), &interned, &id, NULL),
                     SIRIX_OK);
    (void)test_set(f, "main", 4);
    sirix_resource_unref(f->resource);
    sirix_reader_close(f->reader);
    sirix_database_close(f->database);
    f->resource = NULL;
    f->reader = NULL;
    f->database = NULL;
    for (int n = 0; reached && n < 1000; n++) {
        const struct sirix_lmdb_options lmdb = {.dir = f->dir};
        struct sirix_database_options options = {.pool = f->pool, .clock = &f->clock};
        struct sirix_database *database = NULL;
        struct sirix_resource *resource = NULL;
        struct sirix_error err = {0};

        assert_int_equal(sirix_backend_open_lmdb(&lmdb, &options.backend, NULL), SIRIX_OK);
        atomic_store(&test_allocs_until_failure, n);
        enum sirix_status status = sirix_database_open(&options, &database, NULL, &err);
        if (status == SIRIX_OK) {
            status = sirix_resource_open(database, test_name("r"), &resource, &err);
        }
        reached = atomic_exchange(&test_allocs_until_failure, -1) < 0;
        if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
            fail_msg("allocation %d: %s: %s", n, sirix_status_name(status), err.text);
        }
        failed += status != SIRIX_OK;
        sirix_resource_unref(resource);
        sirix_database_close(database);
    }
    assert_false(reached);
    assert_in_range(failed, 5, 1000);
}

int main(void)
{
#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_LMDB(name) cmocka_unit_test_setup_teardown(name, setup_lmdb, teardown)
    const struct CMUnitTest tests[] = {
        CASE(no_failing_allocation_leaves_a_half_done_change),
        CASE(no_failing_allocation_leaves_half_of_what_is_kept_hidden_or_expired),
        CASE(no_failing_allocation_disturbs_a_reader),
        CASE_LMDB(no_failing_allocation_makes_an_opening_leak_or_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
