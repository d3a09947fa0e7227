/*
 * The committer: queues, turns and the threads that take them.
 *
 * Turn      what a thread does for one committer: a group, the end of a group whose answer came late,
 *           or a slice of the backend's housekeeping. A committer has one turn at a time (`busy`) and
 *           stands in the pool's list at most once (`listed`). Who waits for a work while nobody else
 *           writes takes the turn for it: a thread of the pool would have to wake first.
 * Lock      the pool's one lock guards queues, the list and flags; prepare, done, commits and
 *           housekeeping run without it. The group belongs to whoever has the turn.
 * Answers   a backend may call back before its commit returns, from this or another thread, or later:
 *           `phase` decides, without a lock, who goes on with the group.
 */
#include "store/revision/committer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/revision/group.h"
#include "store/revision/group_counts.h"
#include "store/revision/work_queue.h"

enum {
    THREADS_DEFAULT = 2,
    BUDGET_BYTES_MIN = 256 * 1024,
    MAINTAIN_BYTES_MAX = 1024 * 1024,
    MAINTAIN_PUTS = 256, /* Segments between two slices of housekeeping: a group of numbers. */
    GROUPS_UNTIL_TURN =
        3,             /* So many groups may pass over waiting background work or housekeeping. */
    SETTLED_LAG = 256, /* Numbers behind the newest that may still be on their way. */
};

static const uint64_t group_long_ns = 20 * UINT64_C(1000000);

enum phase {
    PHASE_IDLE,
    PHASE_SUBMITTING, /* Inside sirix_backend_commit(). */
    PHASE_WAITING,    /* It has returned, the answer will come. */
    PHASE_ENDED,      /* The answer is there. */
};

struct sirix_committer {
    struct sirix_committer_pool *pool;
    struct sirix_backend *backend;
    struct sirix_committer *next_ready;
    bool listed;
    bool busy;
    bool closing;
    bool latched; /* After an unknown outcome. */
    struct work_queue small;
    struct work_queue background;
    struct sirix_committer_stats stats;

    /* Of the turn. */
    struct sirix_group group;
    struct sirix_batch batch;
    struct work_queue accepted; /* Prepared and on their way to the disk. */
    uint64_t began_ns;
    uint64_t submitted_ns; /* To the backend; UINT64_MAX: nothing was. */
    _Atomic int phase;
    struct sirix_commit_outcome outcome;

    /* Pace. */
    size_t budget_bytes;
    bool last_was_long;
    uint64_t last_works; /* Of the last group that had any. */
    unsigned groups_without_background;
    unsigned groups_without_maintenance;
    uint64_t puts_since_maintenance;
    bool maintenance_due;
};

struct sirix_committer_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;  /* For threads: the list is not empty, or stopping. */
    pthread_cond_t ended; /* For close: a turn has ended. */
    struct sirix_committer *first;
    struct sirix_committer *last;
    bool stopping;
    struct sirix_group_counts counts; /* Needs no lock. */
    unsigned committers;
    uint32_t thread_count;
    pthread_t threads[];
};

static void lock(struct sirix_committer_pool *pool)
{
    int rc = pthread_mutex_lock(&pool->lock);
    assert(rc == 0);
}

static void unlock(struct sirix_committer_pool *pool)
{
    int rc = pthread_mutex_unlock(&pool->lock);
    assert(rc == 0);
}

/* Lists the committer for a turn. The lock is held. */
static void list(struct sirix_committer *committer)
{
    struct sirix_committer_pool *pool = committer->pool;

    assert(!committer->listed);
    committer->listed = true;
    committer->next_ready = NULL;
    if (pool->last == NULL) {
        pool->first = committer;
    } else {
        pool->last->next_ready = committer;
    }
    pool->last = committer;
    int rc = pthread_cond_signal(&pool->work);
    assert(rc == 0);
}

static void end_work(struct sirix_commit_work *work, enum sirix_status status,
                     const struct sirix_error *error)
{
    work->done(work, status, status == SIRIX_OK ? NULL : error);
}

/* --- Turns ------------------------------------------------------------------------------------ */

static bool has_works(const struct sirix_committer *committer)
{
    return committer->small.first != NULL || committer->background.first != NULL;
}

static void end_turn(struct sirix_committer *committer)
{
    struct sirix_committer_pool *pool = committer->pool;

    lock(pool);
    committer->busy = false;
    if (has_works(committer) || (committer->maintenance_due && !committer->closing)) {
        list(committer);
    } else {
        int rc = pthread_cond_broadcast(&pool->ended);
        assert(rc == 0);
    }
    unlock(pool);
}

/* Moves works of a like kind that fit together from the queues to `taken`. The lock is held. */
static void take_works(struct sirix_committer *committer, struct work_queue *taken,
                       bool *frees_space)
{
    const struct sirix_commit_work *first = committer->small.first;
    const struct sirix_commit_work *background = committer->background.first;
    size_t bytes = 0;
    bool starving = committer->groups_without_background >= GROUPS_UNTIL_TURN;

    *frees_space = first != NULL && !(starving && background != NULL)
                       ? first->frees_space
                       : background != NULL && background->frees_space;
    while (
        committer->small.first != NULL && committer->small.first->frees_space == *frees_space &&
        taken->count < SIRIX_GROUP_WORKS_MAX &&
        (taken->count == 0 || bytes + committer->small.first->size_hint <= SIRIX_GROUP_BYTES_MAX)) {
        bytes += committer->small.first->size_hint;
        work_queue_push(taken, work_queue_pop(&committer->small));
    }
    if (background == NULL) {
        committer->groups_without_background = 0;
        return;
    }
    if (background->frees_space == *frees_space &&
        (taken->count == 0 || starving || !committer->last_was_long)) {
        work_queue_push(taken, work_queue_pop(&committer->background));
        committer->groups_without_background = 0;
    } else {
        committer->groups_without_background++;
    }
}

/* Tells every accepted work how the group ended, and adapts the pace. */
static void finish_group(struct sirix_committer *committer, enum sirix_status status,
                         const struct sirix_error *error)
{
    uint64_t now_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    uint64_t took_ns = now_ns - committer->began_ns;
    const struct sirix_batch *batch = &committer->batch;
    struct sirix_commit_work *work = NULL;

    const struct sirix_group_ended ended = {.well = status == SIRIX_OK,
                                            .works = committer->accepted.count,
                                            .bytes = committer->group.put_bytes,
                                            .began_ns = committer->began_ns,
                                            .submitted_ns = committer->submitted_ns,
                                            .now_ns = now_ns};
    sirix_group_counts_add(&committer->pool->counts, &ended);
    lock(committer->pool);
    committer->latched = committer->latched || status == SIRIX_OUTCOME_UNKNOWN ||
                         (error != NULL && error->reason == SIRIX_REASON_DATABASE_READ_ONLY);
    committer->last_was_long = took_ns > group_long_ns;
    committer->last_works = committer->accepted.count;
    if (status == SIRIX_OK) {
        committer->stats.groups++;
        committer->stats.works += committer->accepted.count;
        committer->stats.bytes += committer->group.put_bytes;
        committer->puts_since_maintenance += batch->put_count;
        committer->groups_without_maintenance++;
        committer->maintenance_due =
            committer->maintenance_due || committer->puts_since_maintenance >= MAINTAIN_PUTS;
    }
    unlock(committer->pool);

    if (committer->last_was_long) {
        committer->budget_bytes /= 2;
        committer->budget_bytes =
            committer->budget_bytes < BUDGET_BYTES_MIN ? BUDGET_BYTES_MIN : committer->budget_bytes;
    } else if (committer->budget_bytes < SIRIX_BACKGROUND_BYTES_MAX) {
        committer->budget_bytes *= 2;
    }
    if (status == SIRIX_OK && batch->put_count != 0) {
        uint64_t newest = batch->puts[batch->put_count - 1].number;
        sirix_backend_set_settled(committer->backend,
                                  newest > SETTLED_LAG ? newest - SETTLED_LAG : 1);
    }
    while ((work = work_queue_pop(&committer->accepted)) != NULL) {
        end_work(work, status, error);
    }
    end_turn(committer);
}

static void finish_late(struct sirix_committer *committer)
{
    atomic_store(&committer->phase, PHASE_IDLE);
    finish_group(committer, committer->outcome.status, &committer->outcome.error);
}

static void committed(void *context, const struct sirix_commit_outcome *outcome)
{
    struct sirix_committer *committer = context;

    committer->outcome = *outcome;
    committer->outcome.current = (struct sirix_bytes){0}; /* Dies with this call. */
    if (atomic_exchange(&committer->phase, PHASE_ENDED) == PHASE_WAITING) {
        lock(committer->pool);
        list(committer);
        unlock(committer->pool);
    }
}

static void prepare_works(struct sirix_committer *committer, struct work_queue *taken)
{
    struct sirix_commit_work *work = NULL;

    committer->accepted = (struct work_queue){0};
    while ((work = work_queue_pop(taken)) != NULL) {
        struct sirix_group_mark mark = sirix_group_mark(&committer->group);
        struct sirix_error error = {0};
        enum sirix_status status = work->prepare(work, &committer->group, &error);

        if (status == SIRIX_OK) {
            work_queue_push(&committer->accepted, work);
        } else {
            sirix_group_undo(&committer->group, mark);
            end_work(work, status, &error);
        }
    }
}

static void run_group(struct sirix_committer *committer, struct work_queue *taken, bool frees_space)
{
    committer->began_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    committer->submitted_ns = UINT64_MAX;
    sirix_group_begin(&committer->group, committer->budget_bytes);
    prepare_works(committer, taken);
    if (!sirix_group_batch(&committer->group, frees_space, &committer->batch)) {
        finish_group(committer, SIRIX_OK, NULL); /* Works that found nothing to change. */
        return;
    }

    int phase = PHASE_SUBMITTING;
    atomic_store(&committer->phase, phase);
    committer->submitted_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    sirix_backend_commit(committer->backend, &committer->batch, committed, committer);
    if (!atomic_compare_exchange_strong(&committer->phase, &phase, PHASE_WAITING)) {
        finish_late(committer);
    }
}

enum sirix_status sirix_committer_refuse(struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                             "the database is read-only after a commit of unknown outcome, "
                             "until it is reopened");
}

static void refuse_works(struct sirix_committer *committer, struct work_queue *taken)
{
    struct sirix_commit_work *work = NULL;
    struct sirix_error error = {0};
    enum sirix_status status = sirix_committer_refuse(&error);

    while ((work = work_queue_pop(taken)) != NULL) {
        end_work(work, status, &error);
    }
    end_turn(committer);
}

static void maintain(struct sirix_committer *committer)
{
    size_t budget_bytes =
        committer->budget_bytes < MAINTAIN_BYTES_MAX ? committer->budget_bytes : MAINTAIN_BYTES_MAX;
    bool more = false;
    struct sirix_error error = {0};
    enum sirix_status status =
        sirix_backend_maintain(committer->backend, budget_bytes, &more, &error);

    lock(committer->pool);
    committer->stats.maintenances++;
    committer->stats.maintenance_failures += status == SIRIX_OK ? 0 : 1;
    committer->latched = committer->latched || status == SIRIX_OUTCOME_UNKNOWN ||
                         error.reason == SIRIX_REASON_DATABASE_READ_ONLY;
    committer->maintenance_due = status == SIRIX_OK && more;
    committer->puts_since_maintenance = 0;
    committer->groups_without_maintenance = 0;
    unlock(committer->pool);
    end_turn(committer);
}

static void take_turn(struct sirix_committer *committer)
{
    struct work_queue taken = {0};
    bool frees_space = false;

    lock(committer->pool);
    bool latched = committer->latched;
    bool maintains =
        committer->maintenance_due && !latched &&
        (!has_works(committer) || committer->groups_without_maintenance >= GROUPS_UNTIL_TURN);
    if (latched) {
        struct sirix_commit_work *work = NULL;
        while ((work = work_queue_pop(&committer->small)) != NULL ||
               (work = work_queue_pop(&committer->background)) != NULL) {
            work_queue_push(&taken, work);
        }
        committer->maintenance_due = false;
    } else if (!maintains) {
        take_works(committer, &taken, &frees_space);
    }
    unlock(committer->pool);

    if (latched) {
        refuse_works(committer, &taken);
    } else if (maintains) {
        maintain(committer);
    } else {
        run_group(committer, &taken, frees_space);
    }
}

/* The next committer of the list, for a turn; NULL when the pool stops. Waits for one. */
static struct sirix_committer *next_turn(struct sirix_committer_pool *pool)
{
    lock(pool);
    while (pool->first == NULL && !pool->stopping) {
        int rc = pthread_cond_wait(&pool->work, &pool->lock);
        assert(rc == 0);
    }
    struct sirix_committer *committer = pool->first;
    if (committer != NULL) {
        pool->first = committer->next_ready;
        pool->last = pool->first == NULL ? NULL : pool->last;
        committer->listed = false;
        committer->busy = true;
    }
    unlock(pool);
    return committer;
}

static void *take_turns(void *context)
{
    struct sirix_committer *committer = NULL;

    while ((committer = next_turn(context)) != NULL) {
        if (atomic_load(&committer->phase) == PHASE_ENDED) {
            finish_late(committer);
        } else {
            take_turn(committer);
        }
    }
    return NULL;
}

/* --- Pool ------------------------------------------------------------------------------------- */

void sirix_committer_pool_totals(const struct sirix_committer_pool *pool,
                                 struct sirix_committer_totals *out_totals)
{
    sirix_group_counts_read(&pool->counts, out_totals);
}

void sirix_committer_pool_stop(struct sirix_committer_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    lock(pool);
    assert(pool->committers == 0);
    pool->stopping = true;
    int rc = pthread_cond_broadcast(&pool->work);
    assert(rc == 0);
    unlock(pool);
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        rc = pthread_join(pool->threads[i], NULL);
        assert(rc == 0);
    }
    (void)pthread_cond_destroy(&pool->ended);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

enum sirix_status sirix_committer_pool_start(uint32_t threads,
                                             struct sirix_committer_pool **out_pool,
                                             struct sirix_error *err)
{
    uint32_t count = threads == 0 ? THREADS_DEFAULT : threads;
    struct sirix_committer_pool *pool = NULL;

    if (count > SIRIX_COMMITTER_THREADS_MAX) {
        return sirix_fail(err, SIRIX_INVALID, "%u committer threads, the limit is %d",
                          (unsigned)count, SIRIX_COMMITTER_THREADS_MAX);
    }
    pool = calloc(1, sizeof(*pool) + count * sizeof(pool->threads[0]));
    if (pool == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the committer pool");
    }
    int rc = pthread_mutex_init(&pool->lock, NULL);
    assert(rc == 0);
    rc = pthread_cond_init(&pool->work, NULL);
    assert(rc == 0);
    rc = pthread_cond_init(&pool->ended, NULL);
    assert(rc == 0);
    while (pool->thread_count < count) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, take_turns, pool) != 0) {
            sirix_committer_pool_stop(pool);
            return sirix_fail(err, SIRIX_NO_MEMORY, "start a committer thread");
        }
        pool->thread_count++;
    }
    *out_pool = pool;
    return SIRIX_OK;
}

/* --- Committer -------------------------------------------------------------------------------- */

enum sirix_status sirix_committer_open(struct sirix_committer_pool *pool,
                                       struct sirix_backend *backend,
                                       struct sirix_committer **out_committer,
                                       struct sirix_error *err)
{
    struct sirix_committer *committer = calloc(1, sizeof(*committer));
    enum sirix_status status = SIRIX_OK;

    if (committer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a committer");
    }
    committer->pool = pool;
    committer->backend = backend;
    committer->budget_bytes = SIRIX_BACKGROUND_BYTES_MAX;
    committer->puts_since_maintenance = MAINTAIN_PUTS; /* What the last run left unpacked. */
    atomic_init(&committer->phase, PHASE_IDLE);
    status = sirix_group_init(&committer->group, backend, err);
    if (status != SIRIX_OK) {
        free(committer);
        return status;
    }
    lock(pool);
    pool->committers++;
    unlock(pool);
    *out_committer = committer;
    return SIRIX_OK;
}

void sirix_committer_close(struct sirix_committer *committer)
{
    struct sirix_committer_pool *pool = NULL;

    if (committer == NULL) {
        return;
    }
    pool = committer->pool;
    lock(pool);
    committer->closing = true;
    while (committer->busy || committer->listed || has_works(committer)) {
        int rc = pthread_cond_wait(&pool->ended, &pool->lock);
        assert(rc == 0);
    }
    pool->committers--;
    unlock(pool);
    sirix_group_deinit(&committer->group);
    free(committer);
}

/*
 * Whether a turn now would be for one work alone, and the next one too as far as can be known: where
 * several write, their works gather for one sync while a thread of the pool wakes. The lock is held.
 */
static bool is_quiet(const struct sirix_committer *committer)
{
    return !has_works(committer) && committer->last_works <= 1 && !committer->maintenance_due;
}

/* Queues a work and sees to a turn for it; true: the caller, who said that it may, takes it. */
static bool submit(struct sirix_committer *committer, struct sirix_commit_work *work, bool may_take)
{
    struct sirix_committer_pool *pool = committer->pool;
    bool takes = false;

    assert(work->prepare != NULL && work->done != NULL);

    lock(pool);
    takes = may_take && !committer->busy && !committer->listed && is_quiet(committer);
    work_queue_push(work->work_class == SIRIX_WORK_BACKGROUND ? &committer->background
                                                              : &committer->small,
                    work);
    if (takes) {
        committer->busy = true;
    } else if (!committer->busy && !committer->listed) {
        list(committer);
    }
    unlock(pool);
    return takes;
}

void sirix_committer_submit(struct sirix_committer *committer, struct sirix_commit_work *work)
{
    (void)submit(committer, work, false); /* Nothing to take. */
}

/* What run() waits with. It stands in for the work's own done. */
struct waiter {
    void (*done)(struct sirix_commit_work *work, enum sirix_status status,
                 const struct sirix_error *error);
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
    enum sirix_status status;
    struct sirix_error error;
};

static void wake(struct sirix_commit_work *work, enum sirix_status status,
                 const struct sirix_error *error)
{
    struct waiter *waiter = work->waiter;

    work->done = waiter->done;
    if (work->done != NULL) {
        work->done(work, status, error);
    }
    (void)pthread_mutex_lock(&waiter->lock);
    waiter->is_done = true;
    waiter->status = status;
    if (error != NULL) {
        waiter->error = *error;
    }
    (void)pthread_cond_signal(&waiter->ended);
    (void)pthread_mutex_unlock(&waiter->lock);
}

enum sirix_status sirix_committer_run(struct sirix_committer *committer,
                                      struct sirix_commit_work *work, struct sirix_error *err)
{
    struct waiter waiter = {
        .done = work->done, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

    /* cppcheck-suppress autoVariables ; this function waits until nobody needs it */
    work->waiter = &waiter;
    work->done = wake;
    if (submit(committer, work, true)) {
        take_turn(committer);
    }
    (void)pthread_mutex_lock(&waiter.lock);
    while (!waiter.is_done) {
        (void)pthread_cond_wait(&waiter.ended, &waiter.lock);
    }
    (void)pthread_mutex_unlock(&waiter.lock);
    (void)pthread_cond_destroy(&waiter.ended);
    (void)pthread_mutex_destroy(&waiter.lock);
    if (waiter.status != SIRIX_OK && err != NULL) {
        *err = waiter.error;
    }
    return waiter.status;
}

void sirix_committer_stats(struct sirix_committer *committer,
                           struct sirix_committer_stats *out_stats)
{
    lock(committer->pool);
    *out_stats = committer->stats;
    out_stats->read_only = committer->latched;
    out_stats->waiting = committer->small.count + committer->background.count;
    unlock(committer->pool);
}
