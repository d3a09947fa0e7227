/*
 * The memory backend, for tests of everything above: what may happen to a user of storage, it does.
 * Answers come late and from another thread, some are OUTCOME_UNKNOWN or NO_SPACE by the seed, a
 * reader sees the snapshot of its last yield and nothing newer, and slices are heap copies that die
 * at the yield.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "store/segment/memory_backend.h"

enum { PURGE_DEAD_MIN = 256 };

static struct sirix_memory *backend_of(struct sirix_backend *backend)
{
    return (struct sirix_memory *)backend;
}

void sirix_memory_lock(struct sirix_memory *backend)
{
    int rc = pthread_mutex_lock(&backend->lock);

    assert(rc == 0);
}

void sirix_memory_unlock(struct sirix_memory *backend)
{
    int rc = pthread_mutex_unlock(&backend->lock);

    assert(rc == 0);
}

/* The next number of the seeded sequence, below limit. */
static uint32_t next_random(struct sirix_memory *backend, uint32_t limit)
{
    backend->random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(sirix_mix64(backend->random) % limit);
}

static bool happens(struct sirix_memory *backend, uint32_t per_mille)
{
    return per_mille != 0 && next_random(backend, 1000) < per_mille;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum sirix_status apply_ref(struct sirix_memory *backend, const struct sirix_batch *batch,
                                   size_t index, uint64_t number,
                                   struct sirix_commit_outcome *outcome)
{
    const struct sirix_ref_put *put = &batch->refs[index];
    const struct sirix_memory_row *row = sirix_memory_rows_get(&backend->refs, put->key, number);
    struct sirix_bytes current = row == NULL ? (struct sirix_bytes){0} : row->value;

    if (!sirix_ref_expectation_holds(put, current)) {
        outcome->conflict_index = index;
        if (current.data != NULL) {
            /* The row may be one of this batch, which is about to be undone. */
            memcpy(backend->current, current.data, current.len);
            outcome->current = (struct sirix_bytes){.data = backend->current, .len = current.len};
        }
        return sirix_fail(&outcome->error, SIRIX_CONFLICT,
                          "ref %zu of the batch does not hold what was expected", index);
    }
    if (put->value.data == NULL) {
        sirix_memory_rows_delete(&backend->refs, put->key, put->key, number);
        return SIRIX_OK;
    }
    return sirix_memory_rows_put(&backend->refs, put->key, put->value, number, &outcome->error);
}

static enum sirix_status apply_refs(struct sirix_memory *backend, const struct sirix_batch *batch,
                                    uint64_t number, struct sirix_commit_outcome *outcome)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < batch->ref_count && status == SIRIX_OK; i++) {
        status = apply_ref(backend, batch, i, number, outcome);
    }
    return status;
}

static enum sirix_status apply_segments(struct sirix_memory *backend,
                                        const struct sirix_batch *batch, uint64_t number,
                                        struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    struct sirix_memory_number_key first;
    struct sirix_memory_number_key last;

    for (size_t i = 0; i < batch->delete_count; i++) {
        sirix_memory_rows_delete(&backend->segments,
                                 sirix_memory_number_key(&first, batch->deletes[i].first),
                                 sirix_memory_number_key(&last, batch->deletes[i].last), number);
    }
    for (size_t i = 0; i < batch->put_count && status == SIRIX_OK; i++) {
        const struct sirix_segment_put *put = &batch->puts[i];
        struct sirix_bytes key = sirix_memory_number_key(&first, put->number);
        bool stored = sirix_memory_rows_get(&backend->segments, key, number) != NULL;

        if (stored && !sirix_segment_is_sparse(put->bytes)) {
            status = sirix_segment_stored_already(put->number, err);
        } else {
            status = sirix_memory_rows_put(&backend->segments, key, put->bytes, number, err);
        }
    }
    return status;
}

static void purge_unseen(struct sirix_memory *backend)
{
    uint64_t oldest = backend->batch;

    for (const struct sirix_memory_reader *reader = backend->readers; reader != NULL;
         reader = reader->next) {
        oldest = reader->batch < oldest ? reader->batch : oldest;
    }
    if (backend->segments.dead > PURGE_DEAD_MIN) {
        sirix_memory_rows_purge(&backend->segments, oldest);
    }
    if (backend->refs.dead > PURGE_DEAD_MIN) {
        sirix_memory_rows_purge(&backend->refs, oldest);
    }
}

/* Does to the tables what the batch says, or nothing. */
static enum sirix_status apply(struct sirix_memory *backend, const struct sirix_batch *batch,
                               struct sirix_commit_outcome *outcome)
{
    uint64_t number = backend->batch + 1;
    enum sirix_status status = apply_refs(backend, batch, number, outcome);

    if (status == SIRIX_OK) {
        status = apply_segments(backend, batch, number, &outcome->error);
    }
    if (status != SIRIX_OK) {
        sirix_memory_rows_undo(&backend->segments, number);
        sirix_memory_rows_undo(&backend->refs, number);
        return status;
    }
    backend->batch = number;
    purge_unseen(backend);
    return SIRIX_OK;
}

/* Locked. */
static enum sirix_status check_latch(const struct sirix_memory *backend, struct sirix_error *err)
{
    if (!backend->latched) {
        return SIRIX_OK;
    }
    return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                             "the database is read-only after a commit of unknown outcome");
}

/* One batch from end to end. Returns what the callback shall be told. */
static void run(struct sirix_memory *backend, const struct sirix_batch *batch,
                struct sirix_commit_outcome *outcome)
{
    sirix_memory_lock(backend);
    outcome->status = check_latch(backend, &outcome->error);
    if (outcome->status != SIRIX_OK) {
        sirix_memory_unlock(backend);
        return;
    }
    if (happens(backend, backend->options.no_space_per_mille) && !batch->frees_space) {
        outcome->status = sirix_fail_reason(&outcome->error, SIRIX_NO_SPACE, SIRIX_REASON_DISK_FULL,
                                            "no space, by the seed");
    } else if (happens(backend, backend->options.unknown_per_mille)) {
        outcome->status = next_random(backend, 2) == 0 ? SIRIX_OK : apply(backend, batch, outcome);
        /* A batch that could not have been applied is refused for that; the rest stays unknown. */
        if (outcome->status == SIRIX_OK) {
            backend->latched = true;
            outcome->status = sirix_fail(&outcome->error, SIRIX_OUTCOME_UNKNOWN,
                                         "the commit may or may not have happened, by the seed");
        }
    } else {
        outcome->status = apply(backend, batch, outcome);
    }
    sirix_memory_unlock(backend);
}

/* Waits for up to delay_us, less when the backend is closed. The lock is held. */
static void wait_a_while(struct sirix_memory *backend, uint32_t delay_us)
{
    struct timespec until;
    int rc = clock_gettime(CLOCK_MONOTONIC, &until);

    assert(rc == 0);
    until.tv_nsec += (long)(delay_us % 1000000) * 1000;
    until.tv_sec += (time_t)(delay_us / 1000000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!backend->stopping && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&backend->changed, &backend->lock, &until);
    }
}

static void *answer_late(void *context)
{
    struct sirix_memory *backend = context;

    sirix_memory_lock(backend);
    while (!backend->stopping) {
        if (!backend->has_job) {
            int rc = pthread_cond_wait(&backend->changed, &backend->lock);
            assert(rc == 0);
            continue;
        }
        struct sirix_memory_job job = backend->job;
        struct sirix_commit_outcome outcome = {0};
        bool apply_first = next_random(backend, 2) == 0;
        uint32_t delay_us = next_random(backend, backend->options.delay_us_max + 1);

        if (!apply_first) {
            wait_a_while(backend, delay_us);
        }
        sirix_memory_unlock(backend);
        run(backend, job.batch, &outcome);
        sirix_memory_lock(backend);
        if (apply_first) {
            wait_a_while(backend, delay_us);
        }
        backend->has_job = false; /* Before the callback, which may commit the next batch. */
        sirix_memory_unlock(backend);
        job.done(job.context, &outcome);
        sirix_memory_lock(backend);
    }
    sirix_memory_unlock(backend);
    return NULL;
}

static void commit(struct sirix_backend *base, const struct sirix_batch *batch,
                   sirix_committed_fn done, void *context)
{
    struct sirix_memory *backend = backend_of(base);

    if (!backend->has_thread) {
        struct sirix_commit_outcome outcome = {0};

        run(backend, batch, &outcome);
        done(context, &outcome);
        return;
    }
    sirix_memory_lock(backend);
    assert(!backend->has_job); /* One batch at a time. */
    backend->job = (struct sirix_memory_job){.batch = batch, .done = done, .context = context};
    backend->has_job = true;
    int rc = pthread_cond_signal(&backend->changed);
    assert(rc == 0);
    sirix_memory_unlock(backend);
}

static enum sirix_status maintain(struct sirix_backend *base, size_t budget_bytes, bool *out_more,
                                  struct sirix_error *err)
{
    (void)base; /* Memory needs no housekeeping. */
    (void)budget_bytes;
    (void)err;
    *out_more = false;
    return SIRIX_OK;
}

/* The seed's refusals cannot be foreseen. */
static enum sirix_status writable(struct sirix_backend *base, struct sirix_error *err)
{
    struct sirix_memory *backend = backend_of(base);

    sirix_memory_lock(backend);
    enum sirix_status status = check_latch(backend, err);
    sirix_memory_unlock(backend);
    return status;
}

static enum sirix_status stats(struct sirix_backend *base, struct sirix_backend_stats *out_stats,
                               struct sirix_error *err)
{
    struct sirix_memory *backend = backend_of(base);
    struct sirix_backend_stats stats = {.free_bytes = UINT64_MAX};

    (void)err;
    sirix_memory_lock(backend);
    for (size_t i = 0; i < backend->segments.count; i++) {
        const struct sirix_memory_row *row = backend->segments.rows[i];

        stats.file_bytes += row->value.len;
        if (sirix_memory_row_seen(row, backend->batch)) {
            stats.segment_bytes += row->value.len;
            stats.segment_count++;
        }
    }
    for (size_t i = 0; i < backend->refs.count; i++) {
        stats.file_bytes += backend->refs.rows[i]->key.len + backend->refs.rows[i]->value.len;
    }
    for (const struct sirix_memory_reader *r = backend->readers; r != NULL; r = r->next) {
        stats.readers++; /* Their age is nobody's care here. */
    }
    stats.read_only = backend->latched;
    sirix_memory_unlock(backend);
    stats.next_number = atomic_load(&base->next_number);
    *out_stats = stats;
    return SIRIX_OK;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void close_backend(struct sirix_backend *base)
{
    struct sirix_memory *backend = backend_of(base);

    assert(backend->readers == NULL);
    if (backend->has_thread) {
        sirix_memory_lock(backend);
        assert(!backend->has_job);
        backend->stopping = true;
        int rc = pthread_cond_signal(&backend->changed);
        assert(rc == 0);
        sirix_memory_unlock(backend);
        rc = pthread_join(backend->thread, NULL);
        assert(rc == 0);
    }
    sirix_memory_rows_deinit(&backend->segments);
    sirix_memory_rows_deinit(&backend->refs);
    (void)pthread_cond_destroy(&backend->changed);
    (void)pthread_mutex_destroy(&backend->lock);
    free(backend);
}

static const struct sirix_backend_ops memory_ops = {
    .reader_open = sirix_memory_reader_open,
    .reader_close = sirix_memory_reader_close,
    .reader_yield = sirix_memory_reader_yield,
    .segment_get = sirix_memory_segment_get,
    .segment_scan = sirix_memory_segment_scan,
    .ref_get = sirix_memory_ref_get,
    .ref_scan = sirix_memory_ref_scan,
    .commit = commit,
    .maintain = maintain,
    .writable = writable,
    .stats = stats,
    .close = close_backend,
};

static void init_sync(struct sirix_memory *backend)
{
    pthread_condattr_t attributes;
    int rc = pthread_mutex_init(&backend->lock, NULL);

    assert(rc == 0);
    rc = pthread_condattr_init(&attributes);
    assert(rc == 0);
    rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    assert(rc == 0);
    rc = pthread_cond_init(&backend->changed, &attributes);
    assert(rc == 0);
    (void)pthread_condattr_destroy(&attributes);
}

enum sirix_status sirix_backend_open_memory(const struct sirix_memory_options *options,
                                            struct sirix_backend **out_backend,
                                            struct sirix_error *err)
{
    struct sirix_memory *backend = calloc(1, sizeof(*backend));

    if (backend == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a memory backend");
    }
    backend->base.ops = &memory_ops;
    atomic_init(&backend->base.next_number, 1);
    atomic_init(&backend->base.settled, 1);
    backend->options = *options;
    backend->random = options->seed;
    init_sync(backend);
    if (options->delay_us_max != 0) {
        if (pthread_create(&backend->thread, NULL, answer_late, backend) != 0) {
            close_backend(&backend->base);
            return sirix_fail(err, SIRIX_NO_MEMORY, "start the thread of a memory backend");
        }
        backend->has_thread = true;
    }
    *out_backend = &backend->base;
    return SIRIX_OK;
}

void sirix_backend_memory_reopen(struct sirix_backend *backend)
{
    struct sirix_memory *memory = backend_of(backend);

    assert(backend->ops == &memory_ops);
    sirix_memory_lock(memory);
    memory->latched = false;
    sirix_memory_unlock(memory);
}
