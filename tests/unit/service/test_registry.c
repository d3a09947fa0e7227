/* Databases on disk: opened once, closed when idle, dropped while held. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/folder.h"
#include "service/registry.h"

enum { OPEN_MAX_HERE = 3, THREADS = 8, ROUNDS = 200 };

static uint64_t now_ns = 1;

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return now_ns;
}

static int64_t realtime_us(void *context)
{
    (void)context;
    return 1700000000000000;
}

static const struct sirix_clock test_clock = {.realtime_us = realtime_us,
                                              .monotonic_ns = monotonic_ns};
static char dir[64];
static struct sirix_committer_pool *pool;
static struct sirix_registry *registry;
static atomic_int opened;

static void on_opened(void *context, const char *database, const struct sirix_recovery *recovery)
{
    (void)context;
    (void)database;
    (void)recovery;
    (void)atomic_fetch_add(&opened, 1);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/sirix_registry_XXXXXX");
    if (mkdtemp(dir) == NULL || sirix_committer_pool_start(1, &pool, NULL) != SIRIX_OK) {
        return -1;
    }
    const struct sirix_registry_options options = {
        .dir = dir,
        .clock = &test_clock,
        .pool = pool,
        .open_max = OPEN_MAX_HERE,
        .idle_close_ms = 1000,
        .opened = on_opened,
    };
    atomic_store(&opened, 0);
    return sirix_registry_open(&options, &registry, NULL) == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct sirix_folder *parent = NULL;

    (void)state;
    sirix_registry_close(registry);
    sirix_committer_pool_stop(pool);
    int failed = sirix_folder_open("/", "tmp", &parent, NULL) != SIRIX_OK ||
                 sirix_folder_delete(parent, strrchr(dir, '/') + 1, NULL) != SIRIX_OK;
    sirix_folder_close(parent);
    return failed ? -1 : 0;
}

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static void create(const char *name)
{
    assert_int_equal(sirix_registry_create(registry, text(name), NULL), SIRIX_OK);
}

static struct sirix_handle *acquire(const char *name)
{
    struct sirix_handle *handle = NULL;

    assert_int_equal(sirix_registry_acquire(registry, text(name), &handle, NULL), SIRIX_OK);
    return handle;
}

static void a_database_is_opened_once_and_closed_when_idle(void **state)
{
    (void)state;
    create("a");
    assert_int_equal(sirix_registry_open_count(registry), 0);
    struct sirix_handle *first = acquire("a");
    struct sirix_handle *second = acquire("a");
    assert_ptr_equal(first, second);
    assert_int_equal(atomic_load(&opened), 1);

    sirix_registry_release(first);
    now_ns += UINT64_C(5000000000);
    sirix_registry_tick(registry);
    assert_int_equal(sirix_registry_open_count(registry), 1); /* One still holds it. */
    sirix_registry_release(second);
    now_ns += 999999999;
    sirix_registry_tick(registry);
    assert_int_equal(sirix_registry_open_count(registry), 1);
    now_ns += 1;
    sirix_registry_tick(registry);
    assert_int_equal(sirix_registry_open_count(registry), 0);
    sirix_registry_release(acquire("a"));
    assert_int_equal(atomic_load(&opened), 2);
}

static void give_back_in_a_look(void *context, struct sirix_database *database)
{
    (void)database;
    sirix_registry_release(*(struct sirix_handle **)context);
    *(struct sirix_handle **)context = NULL;
}

static void a_use_that_ends_during_a_look_counts(void **state)
{
    struct sirix_handle *held = NULL;

    (void)state;
    create("a");
    now_ns += UINT64_C(5000000000);
    held = acquire("a");
    now_ns += UINT64_C(5000000000);
    sirix_registry_each_open(registry, give_back_in_a_look, &held);
    assert_null(held);
    sirix_registry_tick(registry);
    assert_int_equal(sirix_registry_open_count(registry), 1);
    now_ns += 1000000000;
    sirix_registry_each_open(registry, give_back_in_a_look, &held);
    sirix_registry_tick(registry);
    assert_int_equal(sirix_registry_open_count(registry), 0);
}

static void the_one_idle_longest_makes_room(void **state)
{
    struct sirix_handle *held[OPEN_MAX_HERE];
    struct sirix_handle *none = NULL;
    const char *names[] = {"a", "b", "c", "d"};
    bool is_open = false;
    uint64_t bytes = 0;

    (void)state;
    for (int i = 0; i < 4; i++) {
        create(names[i]);
    }
    for (int i = 0; i < OPEN_MAX_HERE; i++) {
        held[i] = acquire(names[i]);
    }
    assert_int_equal(sirix_registry_acquire(registry, text("d"), &none, NULL), SIRIX_EXHAUSTED);
    now_ns++;
    sirix_registry_release(held[1]);
    now_ns++;
    sirix_registry_release(held[0]);

    sirix_registry_release(acquire("d"));
    assert_int_equal(sirix_registry_stat(registry, "b", &is_open, &bytes, NULL), SIRIX_OK);
    assert_false(is_open);
    assert_int_equal(sirix_registry_stat(registry, "a", &is_open, &bytes, NULL), SIRIX_OK);
    assert_true(is_open);
    sirix_registry_release(held[2]);
}

static void names_that_differ_in_case_alone_are_refused(void **state)
{
    struct sirix_error err = {0};
    struct sirix_handle *none = NULL;

    (void)state;
    create("Notes");
    assert_int_equal(sirix_registry_create(registry, text("notes"), &err), SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_CASE);
    assert_int_equal(sirix_registry_create(registry, text("Notes"), &err), SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NONE);
    assert_int_equal(sirix_registry_acquire(registry, text("notes"), &none, &err), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_registry_acquire(registry, text("../Notes"), &none, &err),
                     SIRIX_INVALID);
}

static void a_dropped_database_lives_for_its_holder_and_nobody_else(void **state)
{
    struct sirix_handle *none = NULL;
    struct sirix_reader *reader = NULL;
    char path[128];
    struct stat info;

    (void)state;
    create("a");
    struct sirix_handle *held = acquire("a");
    assert_int_equal(sirix_registry_drop(registry, text("a"), NULL), SIRIX_OK);
    assert_int_equal(sirix_registry_acquire(registry, text("a"), &none, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_registry_drop(registry, text("a"), NULL), SIRIX_NOT_FOUND);
    create("a");
    assert_ptr_not_equal(acquire("a"), held);
    assert_int_equal(sirix_handle_reader_get(held, &reader, NULL), SIRIX_OK);
    sirix_handle_reader_put(held, reader);

    (void)snprintf(path, sizeof(path), "%s/databases/.drop-0", dir);
    assert_int_equal(stat(path, &info), 0);
    sirix_registry_release(held);
    assert_int_not_equal(stat(path, &info), 0);
    struct sirix_handle *again = acquire("a");
    sirix_registry_release(again);
    sirix_registry_release(again);
}

static void a_suspect_database_is_reopened_when_nobody_holds_it(void **state)
{
    (void)state;
    create("a");
    struct sirix_handle *handle = acquire("a");
    sirix_handle_suspect(handle);
    sirix_registry_release(handle);
    assert_int_equal(sirix_registry_open_count(registry), 0);
    sirix_registry_release(acquire("a"));
    assert_int_equal(atomic_load(&opened), 2);
}

static void streams_have_so_many_readers_and_no_more(void **state)
{
    static struct sirix_reader *readers[SIRIX_STREAM_READERS_MAX];
    struct sirix_reader *more = NULL;
    struct sirix_error err = {0};

    (void)state;
    create("a");
    struct sirix_handle *handle = acquire("a");
    for (int i = 0; i < SIRIX_STREAM_READERS_MAX; i++) {
        assert_int_equal(sirix_handle_stream_reader_open(handle, &readers[i], NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_handle_stream_reader_open(handle, &more, &err), SIRIX_EXHAUSTED);
    assert_int_equal(err.retry_after_ms, SIRIX_STREAM_RETRY_MS); /* Waiting helps. */
    sirix_handle_stream_reader_close(handle, readers[0]);
    assert_int_equal(sirix_handle_stream_reader_open(handle, &readers[0], NULL), SIRIX_OK);
    for (int i = 0; i < SIRIX_STREAM_READERS_MAX; i++) {
        sirix_handle_stream_reader_close(handle, readers[i]);
    }
    sirix_registry_release(handle);
}

static void names_are_listed_in_order_after_a_name(void **state)
{
    struct sirix_registry_name *names = NULL;
    size_t count = 0;

    (void)state;
    create("b");
    create("a");
    create("ab");
    assert_int_equal(sirix_registry_list(registry, text(""), &names, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 3);
    assert_string_equal(names[0].name, "a");
    assert_string_equal(names[1].name, "ab");
    assert_string_equal(names[2].name, "b");
    free(names);
    assert_int_equal(sirix_registry_list(registry, text("a"), &names, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 2);
    free(names);
    assert_int_equal(sirix_registry_list(registry, text("b"), &names, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 0);
    free(names);
}

static void *use_often(void *context)
{
    const char *names[] = {"a", "b", "c", "d"};
    unsigned seed = *(const unsigned *)context;

    for (int i = 0; i < ROUNDS; i++) {
        struct sirix_handle *handle = NULL;
        seed = seed * 1103515245U + 12345U;
        if (sirix_registry_acquire(registry, text(names[seed >> 16 & 3]), &handle, NULL) ==
            SIRIX_OK) {
            struct sirix_reader *reader = NULL;
            if (sirix_handle_reader_get(handle, &reader, NULL) == SIRIX_OK) {
                sirix_handle_reader_put(handle, reader);
            }
            sirix_registry_release(handle);
        }
    }
    return NULL;
}

static void many_threads_open_and_close_without_meeting(void **state)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];

    (void)state;
    create("a");
    create("b");
    create("c");
    create("d");
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, use_often, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_in_range(sirix_registry_open_count(registry), 1, OPEN_MAX_HERE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_is_opened_once_and_closed_when_idle, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_use_that_ends_during_a_look_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_one_idle_longest_makes_room, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_differ_in_case_alone_are_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_dropped_database_lives_for_its_holder_and_nobody_else,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_suspect_database_is_reopened_when_nobody_holds_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(streams_have_so_many_readers_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_listed_in_order_after_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(many_threads_open_and_close_without_meeting, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("service registry", tests, NULL, NULL);
}
