/* Group commit: the pace of background work, failing allocations, and many threads. */
#include "unit/committer/committer_fixture.h"

/* --- Pace ------------------------------------------------------------------------------------- */

/* A work that takes a given time by the clock and notes the budget. */
struct timed {
    struct sirix_commit_work work;
    uint64_t takes_ns;
    size_t budget;
};

static enum sirix_status prepare_timed(struct sirix_commit_work *work, struct sirix_group *group,
                                       struct sirix_error *err)
{
    struct timed *timed = (struct timed *)work;

    timed->budget = sirix_group_budget(group);
    atomic_fetch_add(&clock_ns, timed->takes_ns);
    return sirix_group_ref_put(group, test_text("k"), test_text("v"), err);
}

static void end_nothing(struct sirix_commit_work *work, enum sirix_status status,
                        const struct sirix_error *error)
{
    (void)work;
    (void)status;
    (void)error;
}

static size_t budget_after(struct fixture *f, uint64_t takes_ns)
{
    struct timed timed = {.work = {.prepare = prepare_timed, .done = end_nothing},
                          .takes_ns = takes_ns};

    assert_int_equal(sirix_committer_run(f->committer, &timed.work, NULL), SIRIX_OK);
    timed.takes_ns = 0;
    assert_int_equal(sirix_committer_run(f->committer, &timed.work, NULL), SIRIX_OK);
    return timed.budget;
}

static void background_work_gets_less_after_long_groups_and_more_after_short_ones(void **state)
{
    struct fixture *f = *state;
    const uint64_t longer_ns = 21 * UINT64_C(1000000);
    const uint64_t shorter_ns = 20 * UINT64_C(1000000);
    size_t budget = SIRIX_BACKGROUND_BYTES_MAX;

    assert_int_equal(budget_after(f, 0), budget);
    assert_int_equal(budget_after(f, longer_ns), budget / 2);
    assert_int_equal(budget_after(f, shorter_ns), budget);
    for (unsigned i = 0; i < 20; i++) {
        struct timed timed = {.work = {.prepare = prepare_timed, .done = end_nothing},
                              .takes_ns = longer_ns};
        assert_int_equal(sirix_committer_run(f->committer, &timed.work, NULL), SIRIX_OK);
    }
    size_t least = budget_after(f, longer_ns);
    assert_true(least > 0 && least <= budget / 8); /* It never falls to nothing. */
}

/* After a long group, small works go first: background work waits, but not for ever. */
static void background_work_waits_after_a_long_group(void **state)
{
    struct fixture *f = *state;
    struct latch started = LATCH_CLOSED;
    struct latch latch = LATCH_CLOSED;
    struct step slow = {STEP, .started = &started, .wait_for = &latch, .key = "k", .value = "v"};
    struct step small = {STEP, .look_at = "background", .key = "k", .value = "v"};
    struct step background = {
        .work = {.prepare = prepare_step, .done = end_step, .work_class = SIRIX_WORK_BACKGROUND},
        .ended = LATCH_CLOSED,
        .key = "background",
        .value = "1"};
    struct sirix_committer_stats stats;

    sirix_committer_submit(f->committer, &slow.work);
    latch_wait(&started);
    atomic_fetch_add(&clock_ns, 30 * UINT64_C(1000000));
    sirix_committer_submit(f->committer, &background.work);
    sirix_committer_submit(f->committer, &small.work);
    latch_open(&latch);
    latch_wait(&background.ended);
    latch_wait(&small.ended);
    latch_wait(&slow.ended);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.groups, 3);
    assert_string_equal(small.seen, "-");
}

/* --- Failure of allocations ------------------------------------------------------------------- */

struct hungry {
    struct sirix_commit_work work;
    int fail_at;
    bool was_hit;
    uint64_t number;
    struct sirix_bytes segment;
};

/* Adds so much that every table of a fresh group has to grow. */
static enum sirix_status prepare_hungry(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct hungry *hungry = (struct hungry *)work;
    const struct sirix_segment_range range = {.first = 1, .last = 1};
    static const uint8_t value[2000];
    enum sirix_status status = SIRIX_OK;

    allocations_until_failure = hungry->fail_at;
    for (unsigned i = 0; i < 150 && status == SIRIX_OK; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "hungry/%u", i);
        status = sirix_group_ref_put(group, test_text(key),
                                     (struct sirix_bytes){value, sizeof(value)}, err);
    }
    for (unsigned i = 0; i < 70 && status == SIRIX_OK; i++) {
        status = sirix_group_segment_delete(group, range, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_group_segment_put(group, hungry->number, hungry->segment, err);
    }
    hungry->was_hit = allocations_until_failure < 0 && hungry->fail_at >= 0;
    allocations_until_failure = -1;
    return status;
}

static void a_work_without_memory_fails_alone_wherever_it_is(void **state)
{
    struct fixture *f = *state;
    bool was_hit = true;
    unsigned failures = 0;

    for (int fail_at = 0; was_hit; fail_at++) {
        struct sirix_committer *committer = NULL;
        struct sirix_error err = {0};
        uint64_t number = sirix_segment_reserve(f->backend, 1);
        struct hungry hungry = {.work = {.prepare = prepare_hungry, .done = end_nothing},
                                .fail_at = fail_at,
                                .number = number,
                                .segment = test_segment_new(number, 64)};
        struct step after = {STEP, .look_at = "hungry/0", .key = "after", .value = "1"};

        /* A fresh committer each time, whose group has no memory yet. */
        assert_int_equal(sirix_committer_open(f->pool, f->backend, &committer, NULL), SIRIX_OK);
        enum sirix_status status = sirix_committer_run(committer, &hungry.work, &err);
        was_hit = hungry.was_hit;
        assert_int_equal(status, was_hit ? SIRIX_NO_MEMORY : SIRIX_OK);
        assert_int_equal(sirix_committer_run(committer, &after.work, NULL), SIRIX_OK);
        if (was_hit) {
            assert_string_equal(after.seen, "-");
            assert_true(err.text[0] != '\0');
            failures++;
        }
        sirix_committer_close(committer);
        test_segment_free(hungry.segment);
    }
    assert_true(failures > 10);
}

static void opening_survives_the_failure_of_any_allocation(void **state)
{
    struct fixture *f = *state;
    struct sirix_committer_pool *pool = NULL;
    struct sirix_committer *committer = NULL;
    enum sirix_status status = SIRIX_NO_MEMORY;

    for (int fail_at = 0; status != SIRIX_OK; fail_at++) {
        allocations_until_failure = fail_at;
        status = sirix_committer_pool_start(1, &pool, NULL);
        allocations_until_failure = -1;
        assert_int_equal(status, status == SIRIX_OK ? SIRIX_OK : SIRIX_NO_MEMORY);
    }
    sirix_committer_pool_stop(pool);
    status = SIRIX_NO_MEMORY;
    for (int fail_at = 0; status != SIRIX_OK; fail_at++) {
        allocations_until_failure = fail_at;
        status = sirix_committer_open(f->pool, f->backend, &committer, NULL);
        allocations_until_failure = -1;
        assert_int_equal(status, status == SIRIX_OK ? SIRIX_OK : SIRIX_NO_MEMORY);
    }
    sirix_committer_close(committer);
}

/* --- Threads ---------------------------------------------------------------------------------- */

enum { CLIENTS = 8, ADDS = 50 };

struct adding {
    struct sirix_commit_work work;
    _Atomic int *preparing;
};

static enum sirix_status add_one(struct sirix_commit_work *work, struct sirix_group *group,
                                 struct sirix_error *err)
{
    struct adding *adding = (struct adding *)work;
    struct sirix_bytes value;
    unsigned number = 0;
    char text[16] = "";

    assert_int_equal(atomic_fetch_add(adding->preparing, 1), 0); /* Alone for its database. */
    enum sirix_status status = sirix_group_ref_get(group, test_text("n"), &value, err);
    if (status == SIRIX_OK) {
        memcpy(text, value.data, value.len);
        number = (unsigned)strtoul(text, NULL, 10);
    }
    (void)snprintf(text, sizeof(text), "%u", number + 1);
    status = sirix_group_ref_put(group, test_text("n"), test_text(text), err);
    atomic_fetch_sub(adding->preparing, 1);
    return status;
}

struct client {
    struct sirix_committer *committer;
    _Atomic int *preparing;
    unsigned failures;
};

static void *add_many(void *context)
{
    struct client *client = context;

    for (unsigned i = 0; i < ADDS; i++) {
        struct adding adding = {.work = {.prepare = add_one, .done = end_nothing},
                                .preparing = client->preparing};
        client->failures +=
            sirix_committer_run(client->committer, &adding.work, NULL) == SIRIX_OK ? 0 : 1;
    }
    return NULL;
}

static void concurrent_clients_of_two_databases_lose_no_update(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {.pool = f->pool};
    const struct sirix_memory_options options = {.seed = 9, .delay_us_max = 50};
    struct fixture *const fixtures[] = {f, &other};
    _Atomic int preparing[2] = {0};
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];

    assert_int_equal(sirix_backend_open_memory(&options, &other.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_committer_open(f->pool, other.backend, &other.committer, NULL),
                     SIRIX_OK);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.committer = fixtures[i % 2]->committer,
                                     .preparing = &preparing[i % 2]};
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(clients[i].failures, 0);
    }
    expect_row(f, "n", "200");
    expect_row(&other, "n", "200");
    sirix_committer_close(other.committer);
    sirix_backend_close(other.backend);
}

static void close_waits_for_everything_submitted(void **state)
{
    struct fixture *f = *state;
    struct step steps[20];

    for (size_t i = 0; i < 20; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
        sirix_committer_submit(f->committer, &steps[i].work);
    }
    sirix_committer_close(f->committer);
    f->committer = NULL;
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(steps[i].done_count, 1);
        assert_int_equal(steps[i].status, SIRIX_OK);
    }
}

static void small_segments_are_packed_between_groups(void **state)
{
    struct fixture *f = *state;
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend = NULL;
    struct sirix_committer *committer = NULL;
    struct sirix_backend_stats stats = {0};

    test_dir_make(dir);
    const struct sirix_lmdb_options options = {
        .dir = dir, .create = true, .reserve_bytes = 1, .no_sync = true};
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_committer_open(f->pool, backend, &committer, NULL), SIRIX_OK);
    for (unsigned i = 0; i < 1100; i++) {
        uint64_t number = sirix_segment_reserve(backend, 1);
        struct step step = {STEP, .number = number, .segment = test_segment_new(number, 100)};
        assert_int_equal(sirix_committer_run(committer, &step.work, NULL), SIRIX_OK);
        test_segment_free(step.segment);
    }
    sirix_committer_close(committer);
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_true(stats.pack_count >= 2);
    assert_int_equal(stats.segment_count, 1100);
    sirix_backend_close(backend);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            background_work_gets_less_after_long_groups_and_more_after_short_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(background_work_waits_after_a_long_group, setup, teardown),
        cmocka_unit_test_setup_teardown(a_work_without_memory_fails_alone_wherever_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(opening_survives_the_failure_of_any_allocation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(concurrent_clients_of_two_databases_lose_no_update,
                                        setup_late, teardown),
        cmocka_unit_test_setup_teardown(close_waits_for_everything_submitted, setup_late, teardown),
        cmocka_unit_test_setup_teardown(small_segments_are_packed_between_groups, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
