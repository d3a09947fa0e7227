/*
 * Many threads at once: writers on their own branches and resources, compare-and-set on one branch,
 * branches that come and go while others list and read, names given side by side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

enum { THREADS = 4, ROUNDS = 60 };

static struct test_rev fixture;

struct worker {
    pthread_t thread;
    int number;
    struct sirix_reader *reader;
    uint64_t conflicts;
    uint64_t done;
};

/* A fatal check on any thread ends the program: cmocka's would jump across threads. */
static void must(bool holds, const char *what, const struct sirix_error *err)
{
    if (!holds) {
        (void)fprintf(stderr, "%s: %s\n", what, err != NULL ? err->text : "");
        abort();
    }
}

static void run(void *(*body)(void *), struct worker workers[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        must(sirix_reader_open(sirix_database_backend(fixture.database), &workers[i].reader,
                               NULL) == SIRIX_OK,
             "reader", NULL);
        must(pthread_create(&workers[i].thread, NULL, body, &workers[i]) == 0, "thread", NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        must(pthread_join(workers[i].thread, NULL) == 0, "join", NULL);
        sirix_reader_close(workers[i].reader);
    }
}

static enum sirix_status open_head(const struct worker *worker, struct sirix_resource *resource,
                                   const char *branch, struct sirix_view *view,
                                   struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = test_name(branch)};

    sirix_reader_yield(worker->reader);
    return sirix_view_open(resource, worker->reader, &spec, view, err);
}

/* Publishes on the view, on the worker's own thread. */
static enum sirix_status publish(const struct sirix_view *view, int64_t value,
                                 struct sirix_published *published, struct sirix_error *err)
{
    return test_publish(&fixture, view, value, published, err);
}

static int64_t value_of(const struct worker *worker, const struct sirix_view *view)
{
    struct test_rev f = {.reader = worker->reader};

    return test_value(&f, view);
}

/* --- Bodies --------------------------------------------------------------------------------------- */

static void *write_alone(void *context)
{
    struct worker *worker = context;
    struct sirix_error err = {0};
    char name[16];
    bool own_resource = worker->number % 2 == 0;
    struct sirix_resource *resource = NULL;

    (void)snprintf(name, sizeof(name), "w%d", worker->number);
    must(sirix_resource_open(fixture.database, test_name(own_resource ? name : "r"), &resource,
                             &err) == SIRIX_OK,
         "open", &err);
    for (int i = 0; i < ROUNDS; i++) {
        struct sirix_published published;
        struct sirix_view view;

        must(open_head(worker, resource, own_resource ? "main" : name, &view, &err) == SIRIX_OK,
             "view", &err);
        must(i == 0 || value_of(worker, &view) == i - 1, "value", NULL);
        must(publish(&view, i, &published, &err) == SIRIX_OK, "publish", &err);
        sirix_view_close(&view);
    }
    sirix_resource_unref(resource);
    return NULL;
}

static void writers_on_branches_and_resources_of_their_own_never_conflict(void **state)
{
    struct worker workers[THREADS];
    struct sirix_resource_info info;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        struct sirix_resource *resource = NULL;
        char name[16];

        (void)snprintf(name, sizeof(name), "w%d", i);
        if (i % 2 == 0) {
            assert_int_equal(sirix_resource_create(fixture.database, test_name(name), test_name(""),
                                                   test_name(""), &resource, NULL),
                             SIRIX_OK);
            sirix_resource_unref(resource);
        } else {
            (void)test_branch(&fixture, "main", name, 0);
        }
    }
    run(write_alone, workers);
    assert_int_equal(sirix_resource_info(fixture.resource, &info, NULL), SIRIX_OK);
    assert_int_equal(info.newest_revision, 1 + 2 * ROUNDS);
}

static void *add_one(void *context)
{
    struct worker *worker = context;

    while (worker->done < ROUNDS) {
        struct sirix_published published;
        struct sirix_view view;
        struct sirix_error err = {0};

        must(open_head(worker, fixture.resource, "main", &view, &err) == SIRIX_OK, "view", &err);
        enum sirix_status status = publish(&view, value_of(worker, &view) + 1, &published, &err);
        sirix_view_close(&view);
        must(status == SIRIX_OK || (status == SIRIX_CONFLICT && err.current_revision != 0),
             "publish", &err);
        worker->done += status == SIRIX_OK;
        worker->conflicts += status == SIRIX_CONFLICT;
    }
    return NULL;
}

static void compare_and_set_loses_no_update(void **state)
{
    struct worker workers[THREADS];
    struct sirix_view view;

    (void)state;
    (void)test_set(&fixture, "main", 0);
    run(add_one, workers);
    assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&fixture, &view), THREADS * ROUNDS);
    assert_int_equal(view.record.revision, 2 + THREADS * ROUNDS);
    sirix_view_close(&view);
}

static enum sirix_status look_at_branch(void *context, const struct sirix_branch_info *info,
                                        bool *stop, struct sirix_error *err)
{
    struct worker *worker = context;

    (void)stop;
    (void)err;
    must(info->head_revision != 0, "listed head", NULL);
    worker->done++;
    return SIRIX_OK;
}

/* Half of them make, promote and delete branches of a few shared names; the others list and read. */
static void *come_and_go(void *context)
{
    struct worker *worker = context;

    for (int i = 0; i < ROUNDS; i++) {
        struct sirix_branch_info info;
        struct sirix_promoted promoted;
        struct sirix_view view;
        struct sirix_error err = {0};
        char name[16];
        enum sirix_status status = SIRIX_OK;

        (void)snprintf(name, sizeof(name), "t%d", (worker->number + i) % 3);
        if (worker->number % 2 == 1) {
            sirix_reader_yield(worker->reader);
            must(sirix_branch_list(fixture.resource, worker->reader, test_name(""), look_at_branch,
                                   worker, &err) == SIRIX_OK,
                 "list", &err);
            status = open_head(worker, fixture.resource, name, &view, &err);
            must(status == SIRIX_OK || status == SIRIX_NOT_FOUND, "read", &err);
            if (status == SIRIX_OK) {
                sirix_view_close(&view);
            }
            continue;
        }
        must(open_head(worker, fixture.resource, "main", &view, &err) == SIRIX_OK, "view", &err);
        status = sirix_branch_create(&view, test_name(name), 0, &info, &err);
        must(status == SIRIX_OK || status == SIRIX_ALREADY_EXISTS, "create", &err);
        sirix_view_close(&view);
        status = sirix_branch_promote(fixture.resource, test_name(name), test_name("main"), true,
                                      &promoted, &err);
        must(status == SIRIX_OK || status == SIRIX_NOT_FOUND, "promote", &err);
        status = sirix_branch_delete(fixture.resource, test_name(name), &err);
        must(status == SIRIX_OK || status == SIRIX_NOT_FOUND, "delete", &err);
    }
    return NULL;
}

static void branches_come_and_go_while_others_list_and_read(void **state)
{
    struct worker workers[THREADS];
    struct sirix_resource_info info;

    (void)state;
    (void)test_set(&fixture, "main", 0);
    run(come_and_go, workers);
    assert_int_equal(sirix_resource_info(fixture.resource, &info, NULL), SIRIX_OK);
    assert_int_equal(info.branch_count, 1);
    assert_true(workers[1].done >= ROUNDS);
}

/* One thread keeps two values equal; the others branch, label and read meanwhile. */
static void *keep_equal(void *context)
{
    struct worker *worker = context;

    for (int i = 1; i <= 2 * ROUNDS; i++) {
        struct sirix_snapshot_created created;
        struct sirix_branch_info info;
        struct sirix_view view;
        struct sirix_error err = {0};
        struct test_rev f = {.reader = worker->reader};
        char name[24];

        must(open_head(worker, fixture.resource, "main", &view, &err) == SIRIX_OK, "view", &err);
        if (worker->number == 0) {
            struct sirix_publication publication;
            struct sirix_published published;

            test_publication_make_both(&fixture, &view, 1, 2, i, &publication);
            must(sirix_publish(&publication, &published, &err) == SIRIX_OK, "publish", &err);
            test_publication_free(&publication);
            sirix_view_close(&view);
            continue;
        }
        (void)snprintf(name, sizeof(name), "e%d-%d", worker->number, i);
        must(sirix_branch_create(&view, test_name(name), 0, &info, &err) == SIRIX_OK, "branch",
             &err);
        sirix_view_close(&view);
        must(open_head(worker, fixture.resource, name, &view, &err) == SIRIX_OK, "read", &err);
        must(test_value_at(&f, &view, 1) == test_value_at(&f, &view, 2), "the values differ", NULL);
        (void)snprintf(name, sizeof(name), "l%d-%d", worker->number, i);
        must(sirix_snapshot_create(&view, test_name(name), false, &created, &err) == SIRIX_OK,
             "label", &err);
        sirix_view_close(&view);
    }
    return NULL;
}

static enum sirix_status compare_both(void *context, const struct sirix_snapshot_info *info,
                                      bool *stop, struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_SNAPSHOT, .name = info->name};
    size_t *count = context;
    struct sirix_view view;
    enum sirix_status status = sirix_view_open(fixture.resource, fixture.reader, &spec, &view, err);

    *stop = false;
    if (status == SIRIX_OK) {
        must(test_value_at(&fixture, &view, 1) == test_value_at(&fixture, &view, 2),
             "the values of a label differ", NULL);
        sirix_view_close(&view);
        *count += 1;
    }
    return status;
}

static void two_values_that_change_together_are_equal_in_every_branch_and_label(void **state)
{
    struct worker workers[THREADS];
    size_t count = 0;

    (void)state;
    run(keep_equal, workers);
    sirix_reader_yield(fixture.reader);
    assert_int_equal(sirix_snapshot_list(fixture.resource, fixture.reader, test_name(""),
                                         compare_both, &count, NULL),
                     SIRIX_OK);
    assert_int_equal(count, (THREADS - 1) * 2 * ROUNDS);
}

static void *give_names(void *context)
{
    struct worker *worker = context;

    for (int i = 0; i < 3000; i++) {
        struct sirix_bytes found = {0};
        struct sirix_error err = {0};
        char name[16];
        uint32_t id = 0;
        uint32_t again = 0;
        bool interned = false;
        uint64_t first = 0;

        (void)snprintf(name, sizeof(name), "n%d", i);
        must(sirix_names_intern(fixture.resource, test_name(name), &interned, &id, &err) ==
                     SIRIX_OK &&
                 interned,
             "intern", &err);
        must(sirix_names_find(fixture.resource, test_name(name), &again) && again == id, "find",
             NULL);
        must(sirix_names_get(fixture.resource, id, &found, &err) == SIRIX_OK &&
                 sirix_bytes_equal(found, test_name(name)),
             "get", &err);
        must(sirix_resource_take_keys(fixture.resource, 2, false, &first, &err) == SIRIX_OK, "keys",
             &err);
        worker->done = first > worker->done ? first : worker->done;
    }
    return NULL;
}

static void names_and_keys_are_given_side_by_side(void **state)
{
    struct worker workers[THREADS];
    uint32_t id = 0;

    (void)state;
    run(give_names, workers);
    for (int i = 0; i < THREADS; i++) {
        assert_true(workers[i].done >= 2 * 3000);
    }
    assert_true(sirix_names_find(fixture.resource, test_name("n2999"), &id));
    assert_true(id < 3000);
}

/* Opens and closes more resources than stay in memory, publishing in between. */
static void *open_many(void *context)
{
    struct worker *worker = context;

    for (int i = 0; i < 400; i++) {
        struct sirix_resource *resource = NULL;
        struct sirix_published published;
        struct sirix_view view;
        struct sirix_error err = {0};
        char name[16];
        uint64_t first = 0;

        (void)snprintf(name, sizeof(name), "many%d", (i * 7 + worker->number) % 300);
        must(sirix_resource_open(fixture.database, test_name(name), &resource, &err) == SIRIX_OK,
             "open", &err);
        must(open_head(worker, resource, "main", &view, &err) == SIRIX_OK, "view", &err);
        must(sirix_resource_take_keys(resource, 1, false, &first, &err) == SIRIX_OK, "key", &err);
        /* The value is a key that was given and published: before, so this one is larger. */
        must((int64_t)first > value_of(worker, &view), "a key was given twice", NULL);
        enum sirix_status status = publish(&view, (int64_t)first, &published, &err);
        must(status == SIRIX_OK || status == SIRIX_CONFLICT, "publish", &err);
        sirix_view_close(&view);
        sirix_resource_unref(resource);
    }
    return NULL;
}

static void resources_are_forgotten_and_found_again_without_loss(void **state)
{
    struct worker workers[THREADS];

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct sirix_resource *resource = NULL;
        char name[16];

        (void)snprintf(name, sizeof(name), "many%d", i);
        assert_int_equal(sirix_resource_create(fixture.database, test_name(name), test_name(""),
                                               test_name(""), &resource, NULL),
                         SIRIX_OK);
        sirix_resource_unref(resource);
    }
    run(open_many, workers);
}

static int setup(void **state)
{
    (void)state;
    test_rev_open(&fixture, TEST_REV_MEMORY, 3);
    return 0;
}

static int setup_late(void **state)
{
    (void)state;
    test_rev_open(&fixture, TEST_REV_MEMORY_LATE, 4);
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
#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_LATE(name) cmocka_unit_test_setup_teardown(name, setup_late, teardown)
    const struct CMUnitTest tests[] = {
        CASE(writers_on_branches_and_resources_of_their_own_never_conflict),
        CASE(compare_and_set_loses_no_update),
        CASE(branches_come_and_go_while_others_list_and_read),
        CASE_LATE(writers_on_branches_and_resources_of_their_own_never_conflict),
        CASE_LATE(compare_and_set_loses_no_update),
        CASE_LATE(branches_come_and_go_while_others_list_and_read),
        CASE(two_values_that_change_together_are_equal_in_every_branch_and_label),
        CASE(names_and_keys_are_given_side_by_side),
        CASE(resources_are_forgotten_and_found_again_without_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
