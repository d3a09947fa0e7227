/*
 * A few threads and a queue of jobs, served in order. The queue is bounded by those who fill it
 * (transport/running.h). A job that waits for a person lends its place to another thread meanwhile.
 */
#ifndef SIRIX_TRANSPORT_POOL_H
#define SIRIX_TRANSPORT_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/ended.h"

enum { SIRIX_POOL_THREADS = 4, SIRIX_POOL_LENT_MAX = 64 };

/* The first member of whatever is queued; run() owns it. */
struct sirix_pool_job {
    struct sirix_pool_job *next;
    void (*run)(struct sirix_pool_job *job);
};

struct sirix_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work; /* A job came, or the end. */
    pthread_cond_t idle; /* No job is left, or no thread. */
    struct sirix_pool_job *first;
    struct sirix_pool_job *last;
    size_t busy;    /* Jobs that are running. */
    size_t lent;    /* Of these: wait for a person. */
    size_t threads; /* That there are. */
    struct sirix_ended ended;
    bool is_ending;
};

/* SIRIX_IO when the system gives no thread. */
enum sirix_status sirix_pool_start(struct sirix_pool *pool,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_pool_add(struct sirix_pool *pool, struct sirix_pool_job *job);

/*
 * Called by a job around a long wait, so that others are served meanwhile. With very many that wait,
 * or where the system gives no thread, others wait too.
 */
void sirix_pool_lend(struct sirix_pool *pool);
void sirix_pool_take_back(struct sirix_pool *pool);

/* Waits until no job is left; false if that takes longer. */
bool sirix_pool_wait(struct sirix_pool *pool, uint32_t timeout_ms);

/* Does what is left and ends the threads. */
void sirix_pool_stop(struct sirix_pool *pool);

#endif
