/*
 * One ordered table of the memory backend, with versions: a row is seen by a reader from the batch
 * that wrote it up to the batch that replaced or deleted it, as an LMDB snapshot shows it.
 *
 * Batches are numbered from 1. Everything that batch n did can be taken back with _undo(n) as long as
 * it is the last one. Versions stay in memory until _purge() is told that nobody sees them.
 */
#ifndef SIRIX_STORE_SEGMENT_MEMORY_ROWS_H
#define SIRIX_STORE_SEGMENT_MEMORY_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct sirix_memory_row {
    uint64_t born; /* Batch that wrote it. */
    uint64_t died; /* Batch that ended it; UINT64_MAX: none yet. */
    struct sirix_bytes key;
    struct sirix_bytes value;
    uint8_t bytes[]; /* Key, then value. */
};

struct sirix_memory_rows {
    struct sirix_memory_row **rows; /* By key, then by batch. */
    size_t count;
    size_t cap;
    size_t dead; /* Versions that have died. */
};

void sirix_memory_rows_deinit(struct sirix_memory_rows *rows);

/* Index of the first version whose key is >= key; of the first one after all versions of key. */
size_t sirix_memory_rows_at(const struct sirix_memory_rows *rows, struct sirix_bytes key);
size_t sirix_memory_rows_after(const struct sirix_memory_rows *rows, struct sirix_bytes key);

static inline bool sirix_memory_row_seen(const struct sirix_memory_row *row, uint64_t batch)
{
    return row->born <= batch && batch < row->died;
}

/* The version of key that batch sees, or NULL. */
const struct sirix_memory_row *sirix_memory_rows_get(const struct sirix_memory_rows *rows,
                                                     struct sirix_bytes key, uint64_t batch);

/* Batch writes a row, in place of the one that it sees. */
enum sirix_status sirix_memory_rows_put(struct sirix_memory_rows *rows, struct sirix_bytes key,
                                        struct sirix_bytes value, uint64_t batch,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Batch deletes all rows in [first, last]. */
void sirix_memory_rows_delete(struct sirix_memory_rows *rows, struct sirix_bytes first,
                              struct sirix_bytes last, uint64_t batch);

void sirix_memory_rows_undo(struct sirix_memory_rows *rows, uint64_t batch);

/* Frees versions that died in oldest or before: no reader is older than batch oldest. */
void sirix_memory_rows_purge(struct sirix_memory_rows *rows, uint64_t oldest);

#endif
