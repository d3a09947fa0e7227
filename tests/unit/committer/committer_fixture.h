/* A committer whose clock stands still, works to give to it, and allocations that fail. */
#ifndef SIRIX_TESTS_COMMITTER_FIXTURE_H
#define SIRIX_TESTS_COMMITTER_FIXTURE_H

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

static inline bool allocation_fails(void)
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

static inline int64_t test_realtime_us(void *context)
{
    (void)context;
    return 0;
}

static inline uint64_t test_monotonic_ns(void *context)
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

static inline int setup_with(void **state, const struct sirix_memory_options *options)
{
    static struct fixture f;

    f = (struct fixture){0};
    assert_int_equal(sirix_committer_pool_start(0, &f.pool, NULL), SIRIX_OK);
    assert_int_equal(sirix_backend_open_memory(options, &f.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_committer_open(f.pool, f.backend, &f.committer, NULL), SIRIX_OK);
    *state = &f;
    return 0;
}

static inline int setup(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3});
}

static inline int setup_late(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .delay_us_max = 300});
}

static inline int setup_unknown(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .unknown_per_mille = 1000});
}

static inline int setup_full(void **state)
{
    return setup_with(state, &(struct sirix_memory_options){.seed = 3, .no_space_per_mille = 1000});
}

static inline int teardown(void **state)
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

static inline void latch_open(struct latch *latch)
{
    (void)pthread_mutex_lock(&latch->lock);
    latch->open = true;
    (void)pthread_cond_broadcast(&latch->opened);
    (void)pthread_mutex_unlock(&latch->lock);
}

static inline void latch_wait(struct latch *latch)
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

static inline enum sirix_status prepare_step(struct sirix_commit_work *work,
                                             struct sirix_group *group, struct sirix_error *err)
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

static inline void end_step(struct sirix_commit_work *work, enum sirix_status status,
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
static inline void run_as_one_group(struct fixture *f, struct step *steps, size_t count)
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

static inline void expect_row(struct fixture *f, const char *key, const char *value)
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

#endif
