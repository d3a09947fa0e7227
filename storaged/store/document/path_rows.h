/*
 * The path summary between memory and ref rows.
 *
 * Row      key: prefix of the resource's paths | id u64 big-endian | kind u8; value: id of the parent
 *          u64, step u32, little-endian. The document's value has id 1; a path's id is a keyed hash of
 *          its parent's id and its step. So commits on different branches that add the same path write
 *          the same row, and none of them reads what another one writes. Key id 0, kind 0: coarse.
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATH_ROWS_H
#define SIRIX_STORE_DOCUMENT_PATH_ROWS_H

#include "store/document/edit_state.h"
#include "store/document/path_summary.h"

/* The document's value as path 0. */
enum sirix_status sirix_path_summary_root(struct sirix_path_summary *summary,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* A new child of a path, without asking whether it is new or within bounds. */
enum sirix_status sirix_path_summary_append(struct sirix_path_summary *summary, uint32_t parent,
                                            uint32_t step, uint32_t *out_path,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Adds the paths of `from` below (and at) path `at` of `into`. */
enum sirix_status sirix_path_summary_merge(struct sirix_path_summary *into, uint32_t at,
                                           const struct sirix_path_summary *from,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* The step that leads to a listed row. */
static inline uint32_t sirix_path_step_of(const struct sirix_node *listed)
{
    if (!sirix_node_is_field(listed->kind)) {
        return SIRIX_PATH_STEP_ELEMENT;
    }
    return listed->name_interned ? listed->name_id : SIRIX_PATH_STEP_ANY;
}

/* The path in edit->paths of a node of the edit: it and those above are added, without kinds. */
enum sirix_status sirix_edit_path_of(struct sirix_edit *edit, uint64_t key, uint32_t *out_path,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Notes the paths of a subtree that came to stand at key, by walking it. */
enum sirix_status sirix_edit_paths_walk(struct sirix_edit *edit, uint64_t key,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Makes rows of what edit->paths has and the store lacks: edit->extra_refs, *out_count of them. */
enum sirix_status sirix_edit_paths_rows(struct sirix_edit *edit, size_t *out_count,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
