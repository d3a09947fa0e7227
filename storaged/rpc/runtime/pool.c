/* One mutex, one condition, one linked list: jobs are coarse enough that nothing finer pays. */
#include "rpc/runtime/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct sirix_rpc_pool {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct sirix_rpc_job *first;
    struct sirix_rpc_job *last;
    size_t waiting;
    bool stopping;
    unsigned started; /* Threads that run. */
    pthread_t threads[];
};

static void *work(void *context)
{
    struct sirix_rpc_pool *pool = context;

    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->first == NULL && !pool->stopping) {
            (void)pthread_cond_wait(&pool->filled, &pool->mutex);
        }
        struct sirix_rpc_job *job = pool->first;
        if (job == NULL) {
            break;
        }
        pool->first = job->next;
        if (pool->first == NULL) {
            pool->last = NULL;
        }
        pool->waiting--;
        (void)pthread_mutex_unlock(&pool->mutex);
        job->run(job);
        (void)pthread_mutex_lock(&pool->mutex);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

enum sirix_status sirix_rpc_pool_start(unsigned workers, struct sirix_rpc_pool **out_pool,
                                       struct sirix_error *err)
{
    assert(out_pool != NULL);

    if (workers == 0 || workers > SIRIX_RPC_WORKERS_MAX) {
        return sirix_fail(err, SIRIX_INVALID, "workers must be 1 to %d", SIRIX_RPC_WORKERS_MAX);
    }
    struct sirix_rpc_pool *pool = calloc(1, sizeof(*pool) + workers * sizeof(pool->threads[0]));
    if (pool == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the worker pool");
    }
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->filled, NULL);
    for (unsigned i = 0; i < workers; i++) {
        if (pthread_create(&pool->threads[i], NULL, work, pool) != 0) {
            sirix_rpc_pool_stop(pool);
            return sirix_fail(err, SIRIX_NO_MEMORY, "start worker thread %u of %u", i + 1, workers);
        }
        pool->started++;
        (void)pthread_setname_np(pool->threads[i], "sirix-worker");
    }
    *out_pool = pool;
    return SIRIX_OK;
}

void sirix_rpc_pool_stop(struct sirix_rpc_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    (void)pthread_cond_broadcast(&pool->filled);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++) {
        (void)pthread_join(pool->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&pool->filled);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

void sirix_rpc_pool_submit(struct sirix_rpc_pool *pool, struct sirix_rpc_job *job)
{
    assert(job->run != NULL);

    job->next = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    if (pool->last == NULL) {
        pool->first = job;
    } else {
        pool->last->next = job;
    }
    pool->last = job;
    pool->waiting++;
    (void)pthread_cond_signal(&pool->filled);
    (void)pthread_mutex_unlock(&pool->mutex);
}

size_t sirix_rpc_pool_waiting(struct sirix_rpc_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    size_t waiting = pool->waiting;
    (void)pthread_mutex_unlock(&pool->mutex);
    return waiting;
}
