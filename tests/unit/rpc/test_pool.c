/* The worker pool: order, growth past the workers, and an end that loses nothing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/runtime/pool.h"

enum { JOBS = 1000 };

struct counted {
    struct sirix_rpc_job job;
    int number;
};

static int order[JOBS];
static atomic_int ran;

static void note_order(struct sirix_rpc_job *job)
{
    order[atomic_fetch_add(&ran, 1)] = ((struct counted *)job)->number;
}

static void one_worker_runs_jobs_in_the_order_of_submission(void **state)
{
    static struct counted jobs[JOBS];
    struct sirix_rpc_pool *pool = NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(sirix_rpc_pool_start(1, &pool, NULL), SIRIX_OK);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct counted){.job = {.run = note_order}, .number = i};
        sirix_rpc_pool_submit(pool, &jobs[i].job);
    }
    sirix_rpc_pool_stop(pool);

    assert_int_equal(atomic_load(&ran), JOBS);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(order[i], i);
    }
}

static struct sirix_rpc_pool *chain_pool;

/* Submits itself again until the count is reached: a job may be submitted once it runs. */
static void go_on(struct sirix_rpc_job *job)
{
    if (atomic_fetch_add(&ran, 1) + 1 < JOBS) {
        sirix_rpc_pool_submit(chain_pool, job);
    }
}

static void a_job_may_submit_itself_while_the_pool_stops(void **state)
{
    struct sirix_rpc_job job = {.run = go_on};

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(sirix_rpc_pool_start(1, &chain_pool, NULL), SIRIX_OK);
    sirix_rpc_pool_submit(chain_pool, &job);
    sirix_rpc_pool_stop(chain_pool);

    assert_int_equal(atomic_load(&ran), JOBS);
}

struct gate {
    struct sirix_rpc_job job;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool entered;
    bool open;
};

static void pass_gate(struct sirix_rpc_job *job)
{
    struct gate *gate = (struct gate *)job;

    (void)pthread_mutex_lock(&gate->mutex);
    gate->entered = true;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->open) {
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    (void)pthread_mutex_unlock(&gate->mutex);
}

static void waiting_counts_what_no_worker_has_taken(void **state)
{
    static struct counted jobs[3];
    struct gate gate = {.job = {.run = pass_gate},
                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    struct sirix_rpc_pool *pool = NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(sirix_rpc_pool_start(1, &pool, NULL), SIRIX_OK);
    sirix_rpc_pool_submit(pool, &gate.job);
    (void)pthread_mutex_lock(&gate.mutex);
    while (!gate.entered) {
        (void)pthread_cond_wait(&gate.changed, &gate.mutex);
    }
    (void)pthread_mutex_unlock(&gate.mutex);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct counted){.job = {.run = note_order}, .number = i};
        sirix_rpc_pool_submit(pool, &jobs[i].job);
    }

    assert_int_equal(sirix_rpc_pool_waiting(pool), 3);
    (void)pthread_mutex_lock(&gate.mutex);
    gate.open = true;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
    sirix_rpc_pool_stop(pool);
    assert_int_equal(atomic_load(&ran), 3);
}

static void a_pool_without_workers_is_refused(void **state)
{
    struct sirix_rpc_pool *pool = NULL;

    (void)state;
    assert_int_equal(sirix_rpc_pool_start(0, &pool, NULL), SIRIX_INVALID);
    assert_int_equal(sirix_rpc_pool_start(SIRIX_RPC_WORKERS_MAX + 1, &pool, NULL), SIRIX_INVALID);
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_runs_jobs_in_the_order_of_submission),
        cmocka_unit_test(a_job_may_submit_itself_while_the_pool_stops),
        cmocka_unit_test(waiting_counts_what_no_worker_has_taken),
        cmocka_unit_test(a_pool_without_workers_is_refused),
    };
    return cmocka_run_group_tests_name("rpc pool", tests, NULL, NULL);
}
