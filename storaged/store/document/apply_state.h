/*
 * What applying a diff holds. Private to the apply files of this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_APPLY_STATE_H
#define SIRIX_STORE_DOCUMENT_APPLY_STATE_H

#include "store/document/apply.h"
#include "store/document/diff_state.h"

struct sirix_applying {
    struct sirix_diff *diff;
    struct sirix_edit *edit;
    struct sirix_rows rows; /* Of the edit. */
    struct sirix_map made;  /* Inserted nodes: key in the new revision to key in the target. */
    struct sirix_change *changes;
    size_t count;
    size_t cap;
    struct sirix_buf text;
    struct sirix_apply_counts result;
};

/* The conflict of a change: what says what was met. Gives the status. */
enum sirix_status sirix_apply_conflict(struct sirix_applying *a, const struct sirix_change *change,
                                       const char *what, struct sirix_error *err);

/* Reads a node that the target may not have. */
enum sirix_status sirix_apply_find(struct sirix_applying *a, uint64_t key, bool *out_found,
                                   struct sirix_document_node *out_node,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Does all renames (apply_names.c). */
enum sirix_status sirix_apply_renames(struct sirix_applying *a,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
