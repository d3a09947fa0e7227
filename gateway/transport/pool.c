/* Worker threads. */
#include "transport/pool.h"

#include <errno.h>
#include <time.h>

static void *work(void *context)
{
    struct sirix_pool *pool = context;

    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->first == NULL && !pool->is_ending) {
            (void)pthread_cond_wait(&pool->work, &pool->mutex);
        }
        struct sirix_pool_job *job = pool->first;
        if (job == NULL) {
            break;
        }
        pool->first = job->next;
        if (pool->first == NULL) {
            pool->last = NULL;
        }
        pool->busy++;
        (void)pthread_mutex_unlock(&pool->mutex);
        job->run(job);
        (void)pthread_mutex_lock(&pool->mutex);
        pool->busy--;
        if (pool->busy == 0 && pool->first == NULL) {
            (void)pthread_cond_broadcast(&pool->idle);
        }
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

enum sirix_status sirix_pool_start(struct sirix_pool *pool, struct sirix_error *err)
{
    pthread_condattr_t attributes;

    *pool = (struct sirix_pool){0};
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->work, &attributes);
    (void)pthread_cond_init(&pool->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    while (pool->thread_count < SIRIX_POOL_THREADS) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, work, pool) != 0) {
            sirix_pool_stop(pool);
            return sirix_fail(err, SIRIX_IO, "cannot start a thread");
        }
        pool->thread_count++;
    }
    return SIRIX_OK;
}

void sirix_pool_add(struct sirix_pool *pool, struct sirix_pool_job *job)
{
    job->next = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    if (pool->last == NULL) {
        pool->first = job;
    } else {
        pool->last->next = job;
    }
    pool->last = job;
    (void)pthread_cond_signal(&pool->work);
    (void)pthread_mutex_unlock(&pool->mutex);
}

bool sirix_pool_wait(struct sirix_pool *pool, uint32_t timeout_ms)
{
    struct timespec until;
    bool is_idle = false;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_mutex_lock(&pool->mutex);
    while ((pool->busy != 0 || pool->first != NULL) && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&pool->idle, &pool->mutex, &until);
    }
    is_idle = pool->busy == 0 && pool->first == NULL;
    (void)pthread_mutex_unlock(&pool->mutex);
    return is_idle;
}

void sirix_pool_stop(struct sirix_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->thread_count; i++) {
        (void)pthread_join(pool->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->idle);
    (void)pthread_mutex_destroy(&pool->mutex);
}
