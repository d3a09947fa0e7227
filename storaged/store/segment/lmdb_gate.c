/*
 * The gate in front of the map, and the growth of the map behind it.
 *
 * mdb_env_set_mapsize() moves the map under everybody's feet, and when it fails there is no map at
 * all: it is called only while nobody is inside, and only after a trial of the address space.
 */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "store/segment/lmdb_backend.h"

enum { BACKOFF_MS = 1000 }; /* After a reader has kept the map from growing. */

static const uint64_t ns_a_ms = 1000000;

uint64_t sirix_lmdb_now(void)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_MONOTONIC, &now);

    assert(rc == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void lock(pthread_mutex_t *mutex)
{
    int rc = pthread_mutex_lock(mutex);

    assert(rc == 0);
}

static void unlock(pthread_mutex_t *mutex)
{
    int rc = pthread_mutex_unlock(mutex);

    assert(rc == 0);
}

/* Waits for a change at the gate; false once the deadline has passed. */
static bool wait_at_gate(struct sirix_lmdb *lmdb, uint64_t until)
{
    struct timespec at = {.tv_sec = (time_t)(until / UINT64_C(1000000000)),
                          .tv_nsec = (long)(until % UINT64_C(1000000000))};

    return pthread_cond_timedwait(&lmdb->gate_changed, &lmdb->gate, &at) != ETIMEDOUT;
}

enum sirix_status sirix_lmdb_enter(struct sirix_lmdb *lmdb, struct sirix_error *err)
{
    lock(&lmdb->gate);
    while (lmdb->moving && wait_at_gate(lmdb, lmdb->moving_until)) {
    }
    bool dead = lmdb->dead;
    lmdb->inside += dead ? 0 : 1;
    unlock(&lmdb->gate);
    return dead ? sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                                    "the database could not be mapped again: reopen it")
                : SIRIX_OK;
}

void sirix_lmdb_leave(struct sirix_lmdb *lmdb)
{
    lock(&lmdb->gate);
    assert(lmdb->inside > 0);
    lmdb->inside--;
    if (lmdb->inside == 0 && lmdb->moving) {
        int rc = pthread_cond_broadcast(&lmdb->gate_changed);
        assert(rc == 0);
    }
    unlock(&lmdb->gate);
}

/* Whether the address space has room for a map of that size beside the present one. */
static bool can_map(const struct sirix_lmdb *lmdb, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, lmdb->data_fd, 0);

    if (at == MAP_FAILED) {
        return false;
    }
    (void)munmap(at, bytes);
    return true;
}

bool sirix_lmdb_grow(struct sirix_lmdb *lmdb, uint64_t used_bytes, bool past_limit,
                     unsigned wait_ms)
{
    uint64_t limit = lmdb->map_bytes_max + (past_limit ? SIRIX_LMDB_MAP_MARGIN : 0);
    uint64_t want = 2 * lmdb->map_bytes;
    bool moved = false;

    while (used_bytes > want / 4 * 3) {
        want *= 2;
    }
    if (lmdb->map_bytes_max != 0 && want > limit) {
        want = limit;
    }
    if (want <= lmdb->map_bytes || !can_map(lmdb, want)) {
        return false;
    }

    lock(&lmdb->gate);
    lmdb->moving = true;
    lmdb->moving_until = sirix_lmdb_now() + wait_ms * ns_a_ms;
    while (lmdb->inside > 0 && wait_at_gate(lmdb, lmdb->moving_until)) {
    }
    if (lmdb->inside == 0) {
        moved = mdb_env_set_mapsize(lmdb->env, want) == MDB_SUCCESS;
        lmdb->dead = !moved;
        lmdb->moves++;
    }
    lmdb->moving = false;
    int rc = pthread_cond_broadcast(&lmdb->gate_changed);
    assert(rc == 0);
    unlock(&lmdb->gate);

    if (moved) {
        lmdb->map_bytes = want;
    } else {
        lmdb->grow_again_at = sirix_lmdb_now() + BACKOFF_MS * ns_a_ms;
    }
    return moved;
}

uint64_t sirix_lmdb_used(struct sirix_lmdb *lmdb)
{
    MDB_envinfo info;
    MDB_stat stat;
    int rc = mdb_env_info(lmdb->env, &info);

    assert(rc == MDB_SUCCESS); /* Both fail for a NULL argument only. */
    rc = mdb_env_stat(lmdb->env, &stat);
    assert(rc == MDB_SUCCESS);
    return ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
}
