/*
 * What the writer of a patch holds. Private to the patch files of this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATCH_STATE_H
#define SIRIX_STORE_DOCUMENT_PATCH_STATE_H

#include "store/document/diff_state.h"
#include "store/document/patch.h"

/* What is kept of a change. */
struct sirix_patch_item {
    enum sirix_change_kind kind;
    uint32_t depth;
    bool is_member;
    uint64_t key_before;
    uint64_t key_after;
    uint64_t parent; /* Of structure: the container, which both revisions have. */
    uint64_t index_before;
    uint64_t index_after;
};

enum sirix_patch_op_kind {
    SIRIX_PATCH_REPLACE,
    SIRIX_PATCH_ADD,
    SIRIX_PATCH_REMOVE,
    SIRIX_PATCH_MOVE
};

/* An operation of the patch; from and to are positions in arrays. */
struct sirix_patch_op {
    enum sirix_patch_op_kind kind;
    size_t item;
    uint64_t from;
    uint64_t to;
};

struct sirix_patch_writer {
    struct sirix_diff *diff;
    uint64_t max_ops;
    struct sirix_patch_item *items;
    size_t item_count;
    size_t item_cap;
    struct sirix_patch_op *ops;
    size_t op_count;
    size_t op_cap;

    /* Writing */
    size_t at; /* The operation that is being written. */
    bool begun;
    bool done;
    struct sirix_serialiser *value; /* Of the operation at `at`, while it is written. */
    uint64_t container;             /* Whose path stands in container_path; UINT64_MAX: none. */
    struct sirix_buf container_path;
    struct sirix_buf pointer;
    struct sirix_buf name;
};

/* --- patch_order.c ----------------------------------------------------------------------------- */

/* Reads the whole diff into items. */
enum sirix_status sirix_patch_collect(struct sirix_patch_writer *writer,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Makes the operations out of the items. */
enum sirix_status sirix_patch_plan(struct sirix_patch_writer *writer,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Reads the name of a member of one side into writer->name, and its hash. */
enum sirix_status sirix_patch_name(struct sirix_patch_writer *writer, struct sirix_rows *rows,
                                   uint64_t key, uint64_t *out_hash,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
