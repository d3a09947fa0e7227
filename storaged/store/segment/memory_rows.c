/* A sorted array of pointers: look-ups by bisection, inserts by a move of pointers, mostly at the end. */
#include "store/segment/memory_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"
#include "store/segment/backend.h"

enum { ROWS_MIN = 64 };

void sirix_memory_rows_deinit(struct sirix_memory_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i]);
    }
    free(rows->rows);
    *rows = (struct sirix_memory_rows){0};
}

static size_t bisect(const struct sirix_memory_rows *rows, struct sirix_bytes key, bool after)
{
    size_t first = 0;
    size_t end = rows->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = sirix_ref_key_compare(rows->rows[middle]->key, key);

        if (order < 0 || (after && order == 0)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

size_t sirix_memory_rows_at(const struct sirix_memory_rows *rows, struct sirix_bytes key)
{
    return bisect(rows, key, false);
}

size_t sirix_memory_rows_after(const struct sirix_memory_rows *rows, struct sirix_bytes key)
{
    return bisect(rows, key, true);
}

static size_t index_of(const struct sirix_memory_rows *rows, struct sirix_bytes key, uint64_t batch)
{
    for (size_t i = sirix_memory_rows_after(rows, key); i > 0; i--) {
        const struct sirix_memory_row *row = rows->rows[i - 1];

        if (!sirix_bytes_equal(row->key, key)) {
            break;
        }
        if (sirix_memory_row_seen(row, batch)) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

const struct sirix_memory_row *sirix_memory_rows_get(const struct sirix_memory_rows *rows,
                                                     struct sirix_bytes key, uint64_t batch)
{
    size_t at = index_of(rows, key, batch);

    return at == SIZE_MAX ? NULL : rows->rows[at];
}

static enum sirix_status make_room(struct sirix_memory_rows *rows, struct sirix_error *err)
{
    size_t cap = rows->cap == 0 ? ROWS_MIN : 2 * rows->cap;
    struct sirix_memory_row **wider = NULL;

    if (rows->count < rows->cap) {
        return SIRIX_OK;
    }
    wider = realloc(rows->rows, cap * sizeof(void *));
    if (wider == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "grow a table to %zu rows", cap);
    }
    rows->rows = wider;
    rows->cap = cap;
    return SIRIX_OK;
}

static struct sirix_memory_row *row_new(struct sirix_bytes key, struct sirix_bytes value,
                                        uint64_t batch)
{
    size_t size = 0;
    struct sirix_memory_row *row = NULL;

    if (!sirix_add_size(sizeof(*row), key.len, &size) || !sirix_add_size(size, value.len, &size)) {
        return NULL;
    }
    row = malloc(size);
    if (row == NULL) {
        return NULL;
    }
    memcpy(row->bytes, key.data, key.len);
    if (value.len != 0) {
        memcpy(row->bytes + key.len, value.data, value.len);
    }
    row->born = batch;
    row->died = UINT64_MAX;
    row->key = (struct sirix_bytes){.data = row->bytes, .len = key.len};
    row->value = (struct sirix_bytes){.data = row->bytes + key.len, .len = value.len};
    return row;
}

enum sirix_status sirix_memory_rows_put(struct sirix_memory_rows *rows, struct sirix_bytes key,
                                        struct sirix_bytes value, uint64_t batch,
                                        struct sirix_error *err)
{
    struct sirix_memory_row *row = NULL;
    enum sirix_status status = make_room(rows, err);

    if (status != SIRIX_OK) {
        return status;
    }
    row = row_new(key, value, batch);
    if (row == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "keep a row of %zu bytes", value.len);
    }

    size_t seen = index_of(rows, key, batch);
    if (seen != SIZE_MAX) {
        rows->rows[seen]->died = batch;
        rows->dead++;
    }
    size_t at = sirix_memory_rows_after(rows, key);
    memmove(&rows->rows[at + 1], &rows->rows[at], (rows->count - at) * sizeof(void *));
    rows->rows[at] = row;
    rows->count++;
    return SIRIX_OK;
}

void sirix_memory_rows_delete(struct sirix_memory_rows *rows, struct sirix_bytes first,
                              struct sirix_bytes last, uint64_t batch)
{
    size_t end = sirix_memory_rows_after(rows, last);

    for (size_t i = sirix_memory_rows_at(rows, first); i < end; i++) {
        if (sirix_memory_row_seen(rows->rows[i], batch)) {
            rows->rows[i]->died = batch;
            rows->dead++;
        }
    }
}

void sirix_memory_rows_undo(struct sirix_memory_rows *rows, uint64_t batch)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct sirix_memory_row *row = rows->rows[i];

        if (row->died == batch) {
            row->died = UINT64_MAX;
            rows->dead--;
        }
        if (row->born == batch) {
            free(row);
        } else {
            rows->rows[kept++] = row;
        }
    }
    rows->count = kept;
}

void sirix_memory_rows_purge(struct sirix_memory_rows *rows, uint64_t oldest)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct sirix_memory_row *row = rows->rows[i];

        if (row->died <= oldest) {
            free(row);
            rows->dead--;
        } else {
            rows->rows[kept++] = row;
        }
    }
    rows->count = kept;
}
