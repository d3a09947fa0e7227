/*
 * One group as works fill it: rows over committed ones, segments to put and to delete. For the
 * committer only; what works may call is in committer.h.
 *
 * Keys and values are copied into the group's arena; segments stay their work's. A mark remembers how
 * far the group was filled, so that a work that fails can be taken back.
 */
#ifndef SIRIX_STORE_REVISION_GROUP_H
#define SIRIX_STORE_REVISION_GROUP_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "store/revision/committer.h"

struct sirix_group_row;

struct sirix_group {
    struct sirix_backend *backend;
    struct sirix_reader *reader;
    size_t budget_bytes;
    struct sirix_arena arena;
    struct sirix_hash_key hash_key;
    struct sirix_map newest; /* Hash of a key -> place of its newest row, from 1. */
    struct sirix_group_row *rows;
    struct sirix_ref_put *refs; /* As large as rows: filled when the batch is made. */
    size_t row_count;
    size_t row_cap;
    struct sirix_segment_put *puts;
    size_t put_count;
    size_t put_cap;
    struct sirix_segment_range *deletes;
    size_t delete_count;
    size_t delete_cap;
    size_t put_bytes;
};

struct sirix_group_mark {
    struct sirix_arena_mark arena;
    size_t row_count;
    size_t put_count;
    size_t delete_count;
    size_t put_bytes;
};

/* Opens a reader of the backend. On failure there is nothing to deinit. */
enum sirix_status sirix_group_init(struct sirix_group *group, struct sirix_backend *backend,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_group_deinit(struct sirix_group *group);

/* Empties the group and renews its reader. */
void sirix_group_begin(struct sirix_group *group, size_t budget_bytes);

struct sirix_group_mark sirix_group_mark(const struct sirix_group *group);
void sirix_group_undo(struct sirix_group *group, struct sirix_group_mark mark);

/*
 * The batch of everything in the group, valid until _begin. Lets the reader go: an open transaction
 * would keep LMDB from using freed pages again. True when there is anything to commit.
 */
bool sirix_group_batch(struct sirix_group *group, bool frees_space, struct sirix_batch *out_batch);

#endif
