/*
 * The memory backend, for tests of everything above: what may happen to a user of storage, it does.
 * Answers come late and from another thread, some are OUTCOME_UNKNOWN or NO_SPACE by the seed, a
 * reader sees the snapshot of its last yield and nothing newer, and slices are heap copies that die
 * at the yield.
 *
 * A lock guards the tables. The callback of a commit and the visits of a scan run without it, so they
 * may call back into the backend; a scan finds its place again by key after each visit.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/endian.h"
#include "base/hash.h"
#include "store/segment/backend.h"
#include "store/segment/memory_rows.h"
#include "store/segment/slices.h"

enum { PURGE_DEAD_MIN = 256, NUMBER_KEY_BYTES = 8 };

struct job {
    const struct sirix_batch *batch;
    sirix_committed_fn done;
    void *context;
};

struct memory_reader {
    struct sirix_reader base;
    struct memory_reader *next;
    uint64_t batch; /* The snapshot that it sees. */
    struct sirix_slices slices;
};

struct memory_backend {
    struct sirix_backend base;
    struct sirix_memory_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;            /* A job, or stopping. */
    struct sirix_memory_rows segments; /* Under the number, big-endian. */
    struct sirix_memory_rows refs;
    uint64_t segment_bytes;
    uint64_t batch; /* The last one that was applied. */
    uint64_t random;
    bool latched;
    struct memory_reader *readers;
    bool has_thread;
    bool stopping;
    bool has_job;
    struct job job;
    pthread_t thread;
    uint8_t current[SIRIX_REF_VALUE_BYTES_MAX]; /* Of the last conflict. */
};

static struct memory_backend *backend_of(struct sirix_backend *backend)
{
    return (struct memory_backend *)backend;
}

static struct memory_reader *reader_of(struct sirix_reader *reader)
{
    return (struct memory_reader *)reader;
}

static void lock(struct memory_backend *backend)
{
    int rc = pthread_mutex_lock(&backend->lock);

    assert(rc == 0);
}

static void unlock(struct memory_backend *backend)
{
    int rc = pthread_mutex_unlock(&backend->lock);

    assert(rc == 0);
}

/* The next number of the seeded sequence, below limit. */
static uint32_t next_random(struct memory_backend *backend, uint32_t limit)
{
    backend->random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(sirix_mix64(backend->random) % limit);
}

static bool happens(struct memory_backend *backend, uint32_t per_mille)
{
    return per_mille != 0 && next_random(backend, 1000) < per_mille;
}

/* A segment number as a key that sorts. */
struct number_key {
    uint8_t bytes[NUMBER_KEY_BYTES];
};

static struct sirix_bytes number_key(struct number_key *key, uint64_t number)
{
    sirix_store_u64be(key->bytes, number);
    return (struct sirix_bytes){.data = key->bytes, .len = sizeof(key->bytes)};
}

/* --- Reading ---------------------------------------------------------------------------------- */

static enum sirix_status reader_open(struct sirix_backend *base, struct sirix_reader **out_reader,
                                     struct sirix_error *err)
{
    struct memory_backend *backend = backend_of(base);
    struct memory_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a reader");
    }
    reader->base.backend = base;
    sirix_slices_init(&reader->slices);

    lock(backend);
    reader->batch = backend->batch;
    reader->next = backend->readers;
    backend->readers = reader;
    unlock(backend);
    *out_reader = &reader->base;
    return SIRIX_OK;
}

static void reader_close(struct sirix_reader *base)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);

    lock(backend);
    struct memory_reader **link = &backend->readers;
    while (*link != reader) {
        link = &(*link)->next;
    }
    *link = reader->next;
    unlock(backend);
    sirix_slices_deinit(&reader->slices);
    free(reader);
}

static void reader_yield(struct sirix_reader *base)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);

    sirix_slices_clear(&reader->slices);
    lock(backend);
    reader->batch = backend->batch;
    unlock(backend);
}

static enum sirix_status segment_get(struct sirix_reader *base, uint64_t number,
                                     struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);
    struct number_key key;
    struct sirix_bytes copy;
    enum sirix_status status = SIRIX_OK;

    if (sirix_slices_find(&reader->slices, number, out_bytes)) {
        return SIRIX_OK;
    }

    /* The row outlives the lock: it is seen by this reader, so it is not purged before its yield. */
    lock(backend);
    const struct sirix_memory_row *row =
        sirix_memory_rows_get(&backend->segments, number_key(&key, number), reader->batch);
    unlock(backend);
    if (row == NULL) {
        return sirix_segment_absent(number, err);
    }
    status = sirix_segment_check(row->value, number, err);
    if (status == SIRIX_OK) {
        status = sirix_slices_copy(&reader->slices, row->value, &copy, err);
    }
    if (status == SIRIX_OK) {
        sirix_slices_remember(&reader->slices, number, copy);
        *out_bytes = copy;
    }
    return status;
}

static enum sirix_status ref_get(struct sirix_reader *base, struct sirix_bytes key,
                                 struct sirix_bytes *out_value, struct sirix_error *err)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);

    lock(backend);
    const struct sirix_memory_row *row = sirix_memory_rows_get(&backend->refs, key, reader->batch);
    unlock(backend);
    if (row == NULL) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "no such row");
    }
    return sirix_slices_copy(&reader->slices, row->value, out_value, err);
}

/* The first row seen at index >= at, or NULL; the last one at index < at. */
static const struct sirix_memory_row *seen_from(const struct sirix_memory_rows *rows, size_t at,
                                                uint64_t batch)
{
    while (at < rows->count && !sirix_memory_row_seen(rows->rows[at], batch)) {
        at++;
    }
    return at < rows->count ? rows->rows[at] : NULL;
}

static const struct sirix_memory_row *seen_before(const struct sirix_memory_rows *rows, size_t at,
                                                  uint64_t batch)
{
    while (at > 0 && !sirix_memory_row_seen(rows->rows[at - 1], batch)) {
        at--;
    }
    return at > 0 ? rows->rows[at - 1] : NULL;
}

static enum sirix_status segment_scan(struct sirix_reader *base, uint64_t first, uint64_t last,
                                      sirix_segment_visit_fn visit, void *context,
                                      struct sirix_error *err)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);
    uint64_t generation = base->generation;
    struct number_key key;
    bool stop = false;

    while (!stop) {
        lock(backend);
        const struct sirix_memory_row *row = seen_from(
            &backend->segments, sirix_memory_rows_at(&backend->segments, number_key(&key, first)),
            reader->batch);
        unlock(backend);
        uint64_t number = row == NULL ? 0 : sirix_load_u64be(row->key.data);
        if (row == NULL || number > last) {
            break;
        }

        enum sirix_status status = visit(context, number, row->value, &stop, err);
        if (status != SIRIX_OK) {
            return status;
        }
        assert(base->generation == generation);
        first = number + 1;
    }
    return SIRIX_OK;
}

/* Where the scan begins, as the index that seen_from() or seen_before() starts at. */
static size_t scan_start(const struct sirix_memory_rows *rows, struct sirix_bytes prefix,
                         struct sirix_bytes from, bool reverse)
{
    bool inside = from.len != 0 && sirix_ref_key_starts_with(from, prefix);
    bool below = from.len != 0 && !inside && sirix_ref_key_compare(from, prefix) < 0;

    if (!reverse) {
        return sirix_memory_rows_at(rows, sirix_ref_key_compare(from, prefix) > 0 ? from : prefix);
    }
    if (below) {
        return 0;
    }
    if (inside) {
        return sirix_memory_rows_after(rows, from);
    }
    size_t end = sirix_memory_rows_at(rows, prefix);
    while (end < rows->count && sirix_ref_key_starts_with(rows->rows[end]->key, prefix)) {
        end++;
    }
    return end;
}

static enum sirix_status ref_scan(struct sirix_reader *base, struct sirix_bytes prefix,
                                  struct sirix_bytes from, bool reverse, sirix_ref_visit_fn visit,
                                  void *context, struct sirix_error *err)
{
    struct memory_reader *reader = reader_of(base);
    struct memory_backend *backend = backend_of(base->backend);
    const struct sirix_memory_rows *rows = &backend->refs;
    const struct sirix_memory_row *row = NULL;
    uint64_t generation = base->generation;
    bool stop = false;

    while (!stop) {
        lock(backend);
        if (row == NULL) {
            size_t at = scan_start(rows, prefix, from, reverse);
            row =
                reverse ? seen_before(rows, at, reader->batch) : seen_from(rows, at, reader->batch);
        } else if (reverse) {
            row = seen_before(rows, sirix_memory_rows_at(rows, row->key), reader->batch);
        } else {
            row = seen_from(rows, sirix_memory_rows_after(rows, row->key), reader->batch);
        }
        unlock(backend);
        if (row == NULL || !sirix_ref_key_starts_with(row->key, prefix)) {
            break;
        }

        struct sirix_bytes key;
        struct sirix_bytes value;
        enum sirix_status status = sirix_slices_copy(&reader->slices, row->key, &key, err);
        if (status == SIRIX_OK) {
            status = sirix_slices_copy(&reader->slices, row->value, &value, err);
        }
        if (status == SIRIX_OK) {
            status = visit(context, key, value, &stop, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        assert(base->generation == generation);
    }
    return SIRIX_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum sirix_status apply_refs(struct memory_backend *backend, const struct sirix_batch *batch,
                                    uint64_t number, struct sirix_commit_outcome *outcome)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < batch->ref_count && status == SIRIX_OK; i++) {
        const struct sirix_ref_put *put = &batch->refs[i];
        const struct sirix_memory_row *row =
            sirix_memory_rows_get(&backend->refs, put->key, number);
        struct sirix_bytes current = row == NULL ? (struct sirix_bytes){0} : row->value;

        if (!sirix_ref_expectation_holds(put, current)) {
            outcome->conflict_index = i;
            if (current.data != NULL) {
                /* The row may be one of this batch, which is about to be undone. */
                memcpy(backend->current, current.data, current.len);
                outcome->current =
                    (struct sirix_bytes){.data = backend->current, .len = current.len};
            }
            status = sirix_fail(&outcome->error, SIRIX_CONFLICT,
                                "ref %zu of the batch does not hold what was expected", i);
        } else if (put->value.data == NULL) {
            sirix_memory_rows_delete(&backend->refs, put->key, put->key, number);
        } else {
            status = sirix_memory_rows_put(&backend->refs, put->key, put->value, number,
                                           &outcome->error);
        }
    }
    return status;
}

static enum sirix_status apply_segments(struct memory_backend *backend,
                                        const struct sirix_batch *batch, uint64_t number,
                                        struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    struct number_key first;
    struct number_key last;

    for (size_t i = 0; i < batch->delete_count; i++) {
        sirix_memory_rows_delete(&backend->segments, number_key(&first, batch->deletes[i].first),
                                 number_key(&last, batch->deletes[i].last), number);
    }
    for (size_t i = 0; i < batch->put_count && status == SIRIX_OK; i++) {
        const struct sirix_segment_put *put = &batch->puts[i];
        struct sirix_bytes key = number_key(&first, put->number);
        bool stored = sirix_memory_rows_get(&backend->segments, key, number) != NULL;

        if (stored && !sirix_segment_is_sparse(put->bytes)) {
            status = sirix_segment_stored_already(put->number, err);
        } else {
            status = sirix_memory_rows_put(&backend->segments, key, put->bytes, number, err);
        }
    }
    return status;
}

static void purge_unseen(struct memory_backend *backend)
{
    uint64_t oldest = backend->batch;

    for (const struct memory_reader *reader = backend->readers; reader != NULL;
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
static enum sirix_status apply(struct memory_backend *backend, const struct sirix_batch *batch,
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

/* One batch from end to end. Returns what the callback shall be told. */
static void run(struct memory_backend *backend, const struct sirix_batch *batch,
                struct sirix_commit_outcome *outcome)
{
    lock(backend);
    if (backend->latched) {
        outcome->status =
            sirix_fail_reason(&outcome->error, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                              "the database is read-only after a commit of unknown outcome");
    } else if (happens(backend, backend->options.no_space_per_mille) && !batch->frees_space) {
        outcome->status = sirix_fail(&outcome->error, SIRIX_NO_SPACE, "no space, by the seed");
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
    unlock(backend);
}

/* Waits for up to delay_us, less when the backend is closed. The lock is held. */
static void wait_a_while(struct memory_backend *backend, uint32_t delay_us)
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
    struct memory_backend *backend = context;

    lock(backend);
    while (!backend->stopping) {
        if (!backend->has_job) {
            int rc = pthread_cond_wait(&backend->changed, &backend->lock);
            assert(rc == 0);
            continue;
        }
        struct job job = backend->job;
        struct sirix_commit_outcome outcome = {0};
        bool apply_first = next_random(backend, 2) == 0;
        uint32_t delay_us = next_random(backend, backend->options.delay_us_max + 1);

        if (!apply_first) {
            wait_a_while(backend, delay_us);
        }
        unlock(backend);
        run(backend, job.batch, &outcome);
        lock(backend);
        if (apply_first) {
            wait_a_while(backend, delay_us);
        }
        backend->has_job = false; /* Before the callback, which may commit the next batch. */
        unlock(backend);
        job.done(job.context, &outcome);
        lock(backend);
    }
    unlock(backend);
    return NULL;
}

static void commit(struct sirix_backend *base, const struct sirix_batch *batch,
                   sirix_committed_fn done, void *context)
{
    struct memory_backend *backend = backend_of(base);

    if (!backend->has_thread) {
        struct sirix_commit_outcome outcome = {0};

        run(backend, batch, &outcome);
        done(context, &outcome);
        return;
    }
    lock(backend);
    assert(!backend->has_job); /* One batch at a time. */
    backend->job = (struct job){.batch = batch, .done = done, .context = context};
    backend->has_job = true;
    int rc = pthread_cond_signal(&backend->changed);
    assert(rc == 0);
    unlock(backend);
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

static enum sirix_status stats(struct sirix_backend *base, struct sirix_backend_stats *out_stats,
                               struct sirix_error *err)
{
    struct memory_backend *backend = backend_of(base);
    struct sirix_backend_stats stats = {.free_bytes = UINT64_MAX};

    (void)err;
    lock(backend);
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
    stats.read_only = backend->latched;
    unlock(backend);
    stats.next_number = atomic_load(&base->next_number);
    *out_stats = stats;
    return SIRIX_OK;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void close_backend(struct sirix_backend *base)
{
    struct memory_backend *backend = backend_of(base);

    assert(backend->readers == NULL);
    if (backend->has_thread) {
        lock(backend);
        assert(!backend->has_job);
        backend->stopping = true;
        int rc = pthread_cond_signal(&backend->changed);
        assert(rc == 0);
        unlock(backend);
        rc = pthread_join(backend->thread, NULL);
        assert(rc == 0);
    }
    sirix_memory_rows_deinit(&backend->segments);
    sirix_memory_rows_deinit(&backend->refs);
    (void)pthread_cond_destroy(&backend->changed);
    (void)pthread_mutex_destroy(&backend->lock);
    free(backend);
}

static const struct sirix_backend_ops MEMORY_OPS = {
    .reader_open = reader_open,
    .reader_close = reader_close,
    .reader_yield = reader_yield,
    .segment_get = segment_get,
    .segment_scan = segment_scan,
    .ref_get = ref_get,
    .ref_scan = ref_scan,
    .commit = commit,
    .maintain = maintain,
    .stats = stats,
    .close = close_backend,
};

static void init_sync(struct memory_backend *backend)
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
    struct memory_backend *backend = calloc(1, sizeof(*backend));

    if (backend == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a memory backend");
    }
    backend->base.ops = &MEMORY_OPS;
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

void sirix_backend_memory_reopen(struct sirix_backend *base)
{
    struct memory_backend *backend = backend_of(base);

    assert(base->ops == &MEMORY_OPS);
    lock(backend);
    backend->latched = false;
    unlock(backend);
}
