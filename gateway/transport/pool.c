/* Worker threads. */
#include "transport/pool.h"

#include <errno.h>
#include <time.h>

/* How many threads there should be. Called with the mutex. */
static size_t wanted(const struct sirix_pool *pool)
{
    return SIRIX_POOL_THREADS +
           (pool->lent < SIRIX_POOL_LENT_MAX ? pool->lent : (size_t)SIRIX_POOL_LENT_MAX);
}

static void *work(void *context)
{
    struct sirix_pool *pool = context;

    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->first == NULL && !pool->is_ending && pool->threads <= wanted(pool)) {
            (void)pthread_cond_wait(&pool->work, &pool->mutex);
        }
        struct sirix_pool_job *job = pool->first;
        if (job == NULL || pool->threads > wanted(pool)) {
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
    const struct sirix_ended before = sirix_ended_put(&pool->ended);

    pool->threads--;
    /* Another one may have been meant by the signal that ended this one's wait. */
    (void)pthread_cond_signal(&pool->work);
    (void)pthread_cond_broadcast(&pool->idle);
    (void)pthread_mutex_unlock(&pool->mutex);
    sirix_ended_join(&before);
    return NULL;
}

/* One thread more; called with the mutex. */
static bool add_thread(struct sirix_pool *pool)
{
    pthread_t thread;
    const bool is_started = pthread_create(&thread, NULL, work, pool) == 0;

    pool->threads += is_started;
    return is_started;
}

enum sirix_status sirix_pool_start(struct sirix_pool *pool, struct sirix_error *err)
{
    pthread_condattr_t attributes;
    bool is_started = true;

    *pool = (struct sirix_pool){0};
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->work, &attributes);
    (void)pthread_cond_init(&pool->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_lock(&pool->mutex);
    while (pool->threads < SIRIX_POOL_THREADS && is_started) {
        is_started = add_thread(pool);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    if (!is_started) {
        sirix_pool_stop(pool);
        return sirix_fail(err, SIRIX_IO, "cannot start a thread");
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

void sirix_pool_lend(struct sirix_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->lent++;
    if (pool->threads < wanted(pool)) {
        (void)add_thread(pool);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
}

void sirix_pool_take_back(struct sirix_pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->lent--;
    /* A thread that waits for work may be one too many now. */
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
    while (pool->threads != 0) {
        (void)pthread_cond_wait(&pool->idle, &pool->mutex);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    sirix_ended_join(&pool->ended);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->idle);
    (void)pthread_mutex_destroy(&pool->mutex);
}
