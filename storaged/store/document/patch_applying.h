/*
 * The operation of a patch that is being done. Private to the patch files of this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATCH_APPLYING_H
#define SIRIX_STORE_DOCUMENT_PATCH_APPLYING_H

#include "base/arena.h"
#include "store/document/edit_state.h"
#include "store/document/patch.h"
#include "json/pointer.h"

enum sirix_patch_kind {
    SIRIX_PATCH_OP_ADD,
    SIRIX_PATCH_OP_REMOVE,
    SIRIX_PATCH_OP_REPLACE,
    SIRIX_PATCH_OP_MOVE,
    SIRIX_PATCH_OP_COPY,
    SIRIX_PATCH_OP_TEST,
    SIRIX_PATCH_OP_KINDS,
};

struct sirix_patch_applying {
    struct sirix_edit *edit;
    struct sirix_rows rows;
    struct sirix_json_tree *tree;
    struct sirix_patch_copies *copies;
    struct sirix_arena arena;
    struct sirix_buf text;
    uint64_t number;
    enum sirix_patch_kind kind; /* OP_KINDS: not known yet. */
    struct sirix_json_steps path;
    struct sirix_json_steps from;
    const struct sirix_json_node *value;
};

/*
 * Reads the members of an operation: kind, path, from and value; they live in the arena and the tree.
 * SIRIX_INVALID (field_missing, field_invalid) says which of them is missing or wrong, and how.
 */
enum sirix_status sirix_patch_read_op(struct sirix_patch_applying *a, struct sirix_json_node *op,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sets and returns the error of the operation; steps (may be NULL) are its pointer. */
enum sirix_status sirix_patch_refuse(const struct sirix_patch_applying *a, enum sirix_status status,
                                     enum sirix_reason reason, const struct sirix_json_steps *steps,
                                     const char *what, struct sirix_error *err);

#endif
