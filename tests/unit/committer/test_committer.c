/*
 * Group commit: what a work can rely on, how groups are made up, and what a failure does to whom.
 *
 * Where a test needs a group of a known make-up, a work before it keeps its prepare waiting until the
 * rest has been submitted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/revision/committer.h"
#include "unit/segment/support.h"

/* --- Fault injection -------------------------------------------------------------------------- */

/* Of the thread that sets it: prepare runs on another one than the test. 0: the next one fails. */
static _Thread_local int allocations_until_failure = -1;

static bool allocation_fails(void)
{
    return allocations_until_failure >= 0 && allocations_until_failure-- == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

/* --- Clock ------------------------------------------------------------------------------------ */

/* Stands still unless a test moves it. */
static _Atomic uint64_t clock_ns;

static int64_t test_realtime_us(void *context)
{
    (void)context;
    return 0;
}

static uint64_t test_monotonic_ns(void *context)
{
    (void)context;
    return atomic_load(&clock_ns);
}

const struct sirix_clock *__wrap_sirix_clock_system(void);
const struct sirix_clock *__wrap_sirix_clock_system(void)
{
    static const struct sirix_clock clock = {.realtime_us = test_realtime_us,
                                             .monotonic_ns = test_monotonic_ns};

    return &clock;
}

/* --- Fixture ---------------------------------------------------------------------------------- */

struct fixture {
    struct sirix_committer_pool *pool;
    struct sirix_backend *backend;
    struct sirix_committer *committer;
};

static int setup_with(void **state, const struct sirix_memory_options *options)
{
    static struct fixture f;

    f = (struct fixture){0};
    assert_int_equal(sirix_committer_pool_start(0, &f.pool, NULL), SIRIX_OK);
    assert_int_equal(sirix_backend_open_memory(options, &f.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_committer_open(f.pool, f.backend, &f.committer, NULL), SIRIX_OK);
    *state = &f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3});
}

static int setup_late(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .delay_us_max = 300});
}

static int setup_unknown(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .unknown_per_mille = 1000});
}

static int setup_full(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .no_space_per_mille = 1000});
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    sirix_committer_close(f->committer);
    sirix_backend_close(f->backend);
    sirix_committer_pool_stop(f->pool);
    return 0;
}

/* --- Works ------------------------------------------------------------------------------------ */

/* A latch that is opened once. */
struct latch {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
};

#define LATCH_CLOSED                                                                               \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER                      \
    }

static void latch_open(struct latch *latch)
{
    (void)pthread_mutex_lock(&latch->lock);
    latch->open = true;
    (void)pthread_cond_broadcast(&latch->opened);
    (void)pthread_mutex_unlock(&latch->lock);
}

static void latch_wait(struct latch *latch)
{
    (void)pthread_mutex_lock(&latch->lock);
    while (!latch->open) {
        (void)pthread_cond_wait(&latch->opened, &latch->lock);
    }
    (void)pthread_mutex_unlock(&latch->lock);
}

enum { SEEN_BYTES = 32 };

/* A work by instruction: look at a row, set a row, put a segment, fail. */
struct step {
    struct sirix_commit_work work;
    struct latch *started;  /* Opened by prepare. */
    struct latch *wait_for; /* In prepare. */
    const char *look_at;
    const char *key;
    const char *value; /* NULL: delete. */
    uint64_t number;   /* 0: no segment. */
    struct sirix_bytes segment;
    enum sirix_status fail_with;
    char seen[SEEN_BYTES]; /* "-": absent. */
    pthread_t prepared_on;
    struct latch ended;
    enum sirix_status status;
    struct sirix_error error;
    unsigned done_count;
};

static enum sirix_status prepare_step(struct sirix_commit_work *work, struct sirix_group *group,
                                      struct sirix_error *err)
{
    struct step *step = (struct step *)work;
    struct sirix_bytes value;
    enum sirix_status status = SIRIX_OK;

    step->prepared_on = pthread_self();
    if (step->started != NULL) {
        latch_open(step->started);
    }
    if (step->wait_for != NULL) {
        latch_wait(step->wait_for);
    }
    if (step->look_at != NULL) {
        status = sirix_group_ref_get(group, test_text(step->look_at), &value, err);
        (void)snprintf(step->seen, sizeof(step->seen), "%.*s",
                       status == SIRIX_OK ? (int)value.len : 1,
                       status == SIRIX_OK ? (const char *)value.data : "-");
        status = SIRIX_OK;
    }
    if (step->key != NULL) {
        status = sirix_group_ref_put(
            group, test_text(step->key),
            step->value == NULL ? (struct sirix_bytes){0} : test_text(step->value), err);
    }
    if (status == SIRIX_OK && step->number != 0) {
        status = sirix_group_segment_put(group, step->number, step->segment, err);
    }
    if (status == SIRIX_OK && step->fail_with != SIRIX_OK) {
        status = sirix_fail(err, step->fail_with, "this work was told to fail");
    }
    return status;
}

static void end_step(struct sirix_commit_work *work, enum sirix_status status,
                     const struct sirix_error *error)
{
    struct step *step = (struct step *)work;

    step->status = status;
    step->done_count++;
    if (error != NULL) {
        step->error = *error;
    }
    latch_open(&step->ended);
}

#define STEP .work = {.prepare = prepare_step, .done = end_step}, .ended = LATCH_CLOSED

/* Submits all while a work before them is being prepared, and waits for all to end. */
static void run_as_one_group(struct fixture *f, struct step *steps, size_t count)
{
    struct latch started = LATCH_CLOSED;
    struct latch latch = LATCH_CLOSED;
    struct step first = {STEP, .started = &started, .wait_for = &latch};

    sirix_committer_submit(f->committer, &first.work);
    latch_wait(&started);
    for (size_t i = 0; i < count; i++) {
        sirix_committer_submit(f->committer, &steps[i].work);
    }
    latch_open(&latch);
    latch_wait(&first.ended);
    for (size_t i = 0; i < count; i++) {
        latch_wait(&steps[i].ended);
        assert_int_equal(steps[i].done_count, 1);
    }
}

static void expect_row(struct fixture *f, const char *key, const char *value)
{
    struct sirix_reader *reader = NULL;
    struct sirix_bytes found;

    assert_int_equal(sirix_reader_open(f->backend, &reader, NULL), SIRIX_OK);
    enum sirix_status status = sirix_ref_get(reader, test_text(key), &found, NULL);
    if (value == NULL) {
        assert_int_equal(status, SIRIX_NOT_FOUND);
    } else {
        assert_int_equal(status, SIRIX_OK);
        assert_true(sirix_bytes_equal(found, test_text(value)));
    }
    sirix_reader_close(reader);
}

/* --- Behaviour -------------------------------------------------------------------------------- */

static void a_work_is_on_disk_when_run_returns(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    struct step step = {STEP, .key = "head", .value = "1", .number = number,
                        .segment = test_segment_new(number, 100)};
    struct sirix_reader *reader = NULL;
    struct sirix_bytes page;

    assert_int_equal(sirix_committer_run(f->committer, &step.work, NULL), SIRIX_OK);
    assert_int_equal(step.done_count, 1); /* Its own done came first. */
    expect_row(f, "head", "1");
    assert_int_equal(sirix_reader_open(f->backend, &reader, NULL), SIRIX_OK);
    assert_int_equal(sirix_segment_get(reader, sirix_address_make(number, 16), 84, &page, NULL),
                     SIRIX_OK);
    sirix_reader_close(reader);
    test_segment_free(step.segment);
}

static void who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do(void **state)
{
    struct fixture *f = *state;
    struct step alone = {STEP, .key = "k", .value = "1"};
    struct step several[2] = {{STEP, .key = "k", .value = "2"}, {STEP, .key = "k", .value = "3"}};
    struct step after = {STEP, .key = "k", .value = "4"};

    assert_int_equal(sirix_committer_run(f->committer, &alone.work, NULL), SIRIX_OK);
    run_as_one_group(f, several, 2);
    assert_int_equal(sirix_committer_run(f->committer, &after.work, NULL), SIRIX_OK);

    assert_true(pthread_equal(alone.prepared_on, pthread_self()));
    assert_false(pthread_equal(several[0].prepared_on, pthread_self()));
    assert_false(pthread_equal(after.prepared_on, pthread_self()));
    expect_row(f, "k", "4");
}

static void works_that_wait_share_one_group(void **state)
{
    struct fixture *f = *state;
    struct step steps[50];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 50; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
    }
    run_as_one_group(f, steps, 50);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.works, 51);
    assert_int_equal(stats.groups, 2);
    assert_int_equal(stats.waiting, 0);
}

static void a_work_sees_rows_of_earlier_works_of_its_group(void **state)
{
    struct fixture *f = *state;
    struct step before = {STEP, .key = "n", .value = "0"};
    struct step steps[] = {
        {STEP, .look_at = "n", .key = "n", .value = "1"},
        {STEP, .look_at = "n", .key = "n", .value = NULL},
        {STEP, .look_at = "n", .key = "n", .value = "3"},
        {STEP, .look_at = "n"},
    };

    assert_int_equal(sirix_committer_run(f->committer, &before.work, NULL), SIRIX_OK);
    run_as_one_group(f, steps, 4);

    assert_string_equal(steps[0].seen, "0");
    assert_string_equal(steps[1].seen, "1");
    assert_string_equal(steps[2].seen, "-");
    assert_string_equal(steps[3].seen, "3");
    expect_row(f, "n", "3");
}

static void a_failed_prepare_ends_alone_and_takes_back_what_it_added(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 2);
    struct sirix_bytes a = test_segment_new(number, 64);
    struct sirix_bytes b = test_segment_new(number + 1, 64);
    struct step steps[] = {
        {STEP, .key = "n", .value = "1"},
        {STEP, .key = "n", .value = "2", .number = number + 1, .segment = b,
         .fail_with = SIRIX_CANCELLED},
        {STEP, .key = "other", .value = "x", .fail_with = SIRIX_PRECONDITION},
        {STEP, .look_at = "n", .number = number, .segment = a},
    };
    struct sirix_backend_stats stats;

    run_as_one_group(f, steps, 4);

    assert_int_equal(steps[0].status, SIRIX_OK);
    assert_int_equal(steps[1].status, SIRIX_CANCELLED);
    assert_string_equal(steps[1].error.text, "this work was told to fail");
    assert_int_equal(steps[2].status, SIRIX_PRECONDITION);
    assert_int_equal(steps[3].status, SIRIX_OK);
    assert_string_equal(steps[3].seen, "1");
    expect_row(f, "n", "1");
    expect_row(f, "other", NULL);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 1);
    test_segment_free(a);
    test_segment_free(b);
}

static void a_segment_that_is_not_sealed_fails_its_work_alone(void **state)
{
    struct fixture *f = *state;
    const uint8_t zeros[64] = {0};
    struct step steps[] = {
        {STEP, .key = "n", .value = "1"},
        {STEP, .number = 1, .segment = {.data = zeros, .len = sizeof(zeros)}},
    };

    (void)sirix_segment_reserve(f->backend, 1);
    run_as_one_group(f, steps, 2);

    assert_int_equal(steps[0].status, SIRIX_OK);
    assert_int_equal(steps[1].status, SIRIX_CORRUPT);
    expect_row(f, "n", "1");
}

static void segments_of_a_group_may_come_in_any_order(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 3);
    struct step steps[3];
    struct sirix_backend_stats stats;

    for (uint64_t i = 0; i < 3; i++) {
        steps[i] = (struct step){STEP, .number = number + 2 - i,
                                 .segment = test_segment_new(number + 2 - i, 80)};
    }
    run_as_one_group(f, steps, 3);

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(steps[i].status, SIRIX_OK);
        test_segment_free(steps[i].segment);
    }
}

/* A small work that submits itself again from done until it is told to stop. */
struct repeating {
    struct step step;
    struct fixture *f;
    const struct step *until_ended;
    unsigned rounds;
    struct latch stopped;
};

static void submit_again(struct sirix_commit_work *work, enum sirix_status status,
                         const struct sirix_error *error)
{
    struct repeating *repeating = (struct repeating *)work;

    (void)error;
    assert_int_equal(status, SIRIX_OK);
    repeating->rounds++;
    if (repeating->until_ended->done_count == 0) {
        sirix_committer_submit(repeating->f->committer, work);
    } else {
        latch_open(&repeating->stopped);
    }
}

static void background_work_is_in_every_fourth_group_at_least(void **state)
{
    struct fixture *f = *state;
    /* Groups do not mix works that free space with others, so the small works always come first. */
    struct step background = {.work = {.prepare = prepare_step,
                                       .done = end_step,
                                       .frees_space = true,
                                       .work_class = SIRIX_WORK_BACKGROUND},
                              .ended = LATCH_CLOSED,
                              .key = "b",
                              .value = "1"};
    struct repeating repeating = {
        .step = {.work = {.prepare = prepare_step, .done = submit_again}, .key = "s", .value = "1"},
        .f = f,
        .until_ended = &background,
        .stopped = LATCH_CLOSED};
    struct latch latch = LATCH_CLOSED;

    repeating.step.wait_for = &latch;
    sirix_committer_submit(f->committer, &repeating.step.work);
    sirix_committer_submit(f->committer, &background.work);
    latch_open(&latch);
    latch_wait(&repeating.stopped);

    assert_int_equal(background.status, SIRIX_OK);
    assert_true(repeating.rounds <= 6);
}

static void one_background_work_goes_with_a_group(void **state)
{
    struct fixture *f = *state;
    struct step steps[4];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 4; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
        steps[i].work.work_class = i < 2 ? SIRIX_WORK_BACKGROUND : SIRIX_WORK_SMALL;
    }
    run_as_one_group(f, steps, 4);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.works, 5);
    assert_int_equal(stats.groups, 3); /* The first alone, small ones with one, the other one. */
}

static void a_group_keeps_to_its_bytes(void **state)
{
    struct fixture *f = *state;
    struct step steps[4];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 4; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
        steps[i].work.size_hint = SIRIX_GROUP_BYTES_MAX / 2;
    }
    run_as_one_group(f, steps, 4);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.groups, 3);
}

static void after_an_unknown_outcome_everything_is_refused(void **state)
{
    struct fixture *f = *state;
    struct latch started = LATCH_CLOSED;
    struct latch latch = LATCH_CLOSED;
    struct step first = {STEP, .started = &started, .wait_for = &latch, .key = "k", .value = "v"};
    struct step waiting = {STEP, .key = "k", .value = "w"};
    struct step later = {STEP, .key = "k", .value = "x"};
    struct sirix_committer_stats stats;
    struct sirix_error err = {0};

    sirix_committer_stats(f->committer, &stats);
    assert_false(stats.read_only);
    sirix_committer_submit(f->committer, &first.work);
    latch_wait(&started);
    sirix_committer_submit(f->committer, &waiting.work);
    latch_open(&latch);
    latch_wait(&first.ended);
    latch_wait(&waiting.ended);
    assert_int_equal(first.status, SIRIX_OUTCOME_UNKNOWN);
    assert_int_equal(first.error.status, SIRIX_OUTCOME_UNKNOWN);
    assert_int_equal(waiting.status, SIRIX_UNAVAILABLE);

    assert_int_equal(sirix_committer_run(f->committer, &later.work, &err), SIRIX_UNAVAILABLE);
    assert_int_equal(err.reason, SIRIX_REASON_DATABASE_READ_ONLY);
    assert_int_equal(later.seen[0], '\0'); /* Not even prepared. */
    sirix_committer_stats(f->committer, &stats);
    assert_true(stats.read_only);
}

static void no_space_fails_the_group_and_not_the_database(void **state)
{
    struct fixture *f = *state;
    struct step write = {STEP, .key = "k", .value = "v"};
    struct step free_some = {STEP, .key = "k"};
    struct sirix_error err = {0};

    free_some.work.frees_space = true;
    assert_int_equal(sirix_committer_run(f->committer, &write.work, &err), SIRIX_NO_SPACE);
    assert_int_equal(err.status, SIRIX_NO_SPACE);
    assert_int_equal(sirix_committer_run(f->committer, &free_some.work, &err), SIRIX_OK);
}

static void a_group_without_changes_needs_no_commit(void **state)
{
    struct fixture *f = *state; /* Whose every commit has an unknown outcome. */
    struct step step = {STEP, .look_at = "k"};

    assert_int_equal(sirix_committer_run(f->committer, &step.work, NULL), SIRIX_OK);
}

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
        cmocka_unit_test_setup_teardown(a_work_is_on_disk_when_run_returns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_work_is_on_disk_when_run_returns, setup_late, teardown),
        cmocka_unit_test_setup_teardown(
            who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do, setup_late,
            teardown),
        cmocka_unit_test_setup_teardown(works_that_wait_share_one_group, setup, teardown),
        cmocka_unit_test_setup_teardown(works_that_wait_share_one_group, setup_late, teardown),
        cmocka_unit_test_setup_teardown(a_work_sees_rows_of_earlier_works_of_its_group, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_prepare_ends_alone_and_takes_back_what_it_added,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_segment_that_is_not_sealed_fails_its_work_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(segments_of_a_group_may_come_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(background_work_is_in_every_fourth_group_at_least, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_background_work_goes_with_a_group, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_keeps_to_its_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(after_an_unknown_outcome_everything_is_refused,
                                        setup_unknown, teardown),
        cmocka_unit_test_setup_teardown(no_space_fails_the_group_and_not_the_database, setup_full,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_group_without_changes_needs_no_commit, setup_unknown,
                                        teardown),
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
    return cmocka_run_group_tests_name("committer", tests, NULL, NULL);
}
