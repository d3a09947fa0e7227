/*
 * A fixed number of worker threads and one queue of jobs, first come first served.
 *
 * Jobs are part of the objects that they work for, so submitting needs no memory and cannot fail.
 * How much may wait is decided before a call begins (see sirix_rpc_pool_waiting()): work that has
 * begun always finds its place.
 */
#ifndef SIRIX_RPC_POOL_H
#define SIRIX_RPC_POOL_H

#include <stddef.h>

#include "base/status.h"

struct sirix_rpc_pool;

enum { SIRIX_RPC_WORKERS_MAX = 1024 };

/* May be submitted again once run() was entered; never while it waits. */
struct sirix_rpc_job {
    void (*run)(struct sirix_rpc_job *job);
    struct sirix_rpc_job *next; /* The pool's. */
};

/* Starts workers (1 to SIRIX_RPC_WORKERS_MAX) threads. SIRIX_INVALID, SIRIX_NO_MEMORY. */
enum sirix_status sirix_rpc_pool_start(unsigned workers, struct sirix_rpc_pool **out_pool,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Runs every job that waits, then ends the threads. Nobody may submit any more. NULL is allowed. */
void sirix_rpc_pool_stop(struct sirix_rpc_pool *pool);

/* Any thread, the workers themselves included. */
void sirix_rpc_pool_submit(struct sirix_rpc_pool *pool, struct sirix_rpc_job *job);

/* Jobs that no worker has taken yet. */
size_t sirix_rpc_pool_waiting(struct sirix_rpc_pool *pool);

#endif
