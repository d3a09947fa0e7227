/*
 * Readers of the memory backend. A row that a reader sees stays in memory until the reader's yield, so
 * it may be used without the lock; its place in the table may not: a scan finds it again by key.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/segment/memory_backend.h"

static struct sirix_memory *backend_of(struct sirix_backend *backend)
{
    return (struct sirix_memory *)backend;
}

static struct sirix_memory_reader *reader_of(struct sirix_reader *reader)
{
    return (struct sirix_memory_reader *)reader;
}

enum sirix_status sirix_memory_reader_open(struct sirix_backend *base,
                                           struct sirix_reader **out_reader,
                                           struct sirix_error *err)
{
    struct sirix_memory *backend = backend_of(base);
    struct sirix_memory_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a reader");
    }
    reader->base.backend = base;
    sirix_slices_init(&reader->slices);

    sirix_memory_lock(backend);
    reader->batch = backend->batch;
    reader->next = backend->readers;
    backend->readers = reader;
    sirix_memory_unlock(backend);
    *out_reader = &reader->base;
    return SIRIX_OK;
}

void sirix_memory_reader_close(struct sirix_reader *base)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);

    sirix_memory_lock(backend);
    struct sirix_memory_reader **link = &backend->readers;
    while (*link != reader) {
        link = &(*link)->next;
    }
    *link = reader->next;
    sirix_memory_unlock(backend);
    sirix_slices_deinit(&reader->slices);
    free(reader);
}

void sirix_memory_reader_yield(struct sirix_reader *base)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);

    sirix_slices_clear(&reader->slices);
    sirix_memory_lock(backend);
    reader->batch = backend->batch;
    sirix_memory_unlock(backend);
}

enum sirix_status sirix_memory_segment_get(struct sirix_reader *base, uint64_t number,
                                           struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);
    struct sirix_memory_number_key key;
    struct sirix_bytes copy;
    enum sirix_status status = SIRIX_OK;

    if (sirix_slices_find(&reader->slices, number, out_bytes)) {
        return SIRIX_OK;
    }

    /* The row outlives the lock: it is seen by this reader, so it is not purged before its yield. */
    sirix_memory_lock(backend);
    const struct sirix_memory_row *row = sirix_memory_rows_get(
        &backend->segments, sirix_memory_number_key(&key, number), reader->batch);
    sirix_memory_unlock(backend);
    if (row == NULL) {
        return sirix_segment_absent(number, err);
    }
    status = sirix_segment_verify(base->backend, row->value, number, err);
    if (status == SIRIX_OK) {
        status = sirix_slices_copy(&reader->slices, row->value, &copy, err);
    }
    if (status == SIRIX_OK) {
        sirix_slices_remember(&reader->slices, number, copy);
        *out_bytes = copy;
    }
    return status;
}

enum sirix_status sirix_memory_ref_get(struct sirix_reader *base, struct sirix_bytes key,
                                       struct sirix_bytes *out_value, struct sirix_error *err)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);

    sirix_memory_lock(backend);
    const struct sirix_memory_row *row = sirix_memory_rows_get(&backend->refs, key, reader->batch);
    sirix_memory_unlock(backend);
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

enum sirix_status sirix_memory_segment_scan(struct sirix_reader *base, uint64_t first,
                                            uint64_t last, sirix_segment_visit_fn visit,
                                            void *context, struct sirix_error *err)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);
    uint64_t generation = base->generation;
    struct sirix_memory_number_key key;
    bool stop = false;

    while (!stop) {
        sirix_memory_lock(backend);
        const struct sirix_memory_row *row = seen_from(
            &backend->segments,
            sirix_memory_rows_at(&backend->segments, sirix_memory_number_key(&key, first)),
            reader->batch);
        sirix_memory_unlock(backend);
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

enum sirix_status sirix_memory_ref_scan(struct sirix_reader *base, struct sirix_bytes prefix,
                                        struct sirix_bytes from, bool reverse,
                                        sirix_ref_visit_fn visit, void *context,
                                        struct sirix_error *err)
{
    struct sirix_memory_reader *reader = reader_of(base);
    struct sirix_memory *backend = backend_of(base->backend);
    const struct sirix_memory_rows *rows = &backend->refs;
    const struct sirix_memory_row *row = NULL;
    uint64_t generation = base->generation;
    bool stop = false;

    while (!stop) {
        sirix_memory_lock(backend);
        if (row == NULL) {
            size_t at = scan_start(rows, prefix, from, reverse);
            row =
                reverse ? seen_before(rows, at, reader->batch) : seen_from(rows, at, reader->batch);
        } else if (reverse) {
            row = seen_before(rows, sirix_memory_rows_at(rows, row->key), reader->batch);
        } else {
            row = seen_from(rows, sirix_memory_rows_after(rows, row->key), reader->batch);
        }
        sirix_memory_unlock(backend);
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
