/*
 * Linking a value that was built on one revision to a later one. What was built has fresh keys and
 * nothing of the old base in it but its parent's key: its rows move over, its bulk pages are grafted
 * again, and it is installed as if its text had just ended.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/build.h"
#include "store/document/edit_install.h"

static enum sirix_status moved(const struct sirix_edit *edit, const struct sirix_view *base,
                               struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                          "the branch moved from revision %" PRIu64 " to %" PRIu64
                          ", and the edit cannot be moved with it",
                          edit->base.record.revision, base->record.revision);

    if (err != NULL) {
        err->current_revision = base->record.revision;
    }
    return status;
}

static enum sirix_status copy_range(struct sirix_build *build, const struct sirix_key_range *range,
                                    struct sirix_trie_edit *to, struct sirix_error *err)
{
    for (uint64_t key = range->first; key <= range->last; key++) {
        struct sirix_row row = {0};
        enum sirix_status status = sirix_edit_step(build->edit, err);
        if (status == SIRIX_OK) {
            status = sirix_trie_edit_get(build->edit->trie, key, &row, err);
        }
        if (status == SIRIX_OK && row.key == key) {
            status = sirix_trie_edit_put(to, key, row.width, row.record, err);
        }
        if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
            return status;
        }
    }
    return SIRIX_OK;
}

/* The rows that were built one by one; those built in bulk lie at and above bulk_first. */
static enum sirix_status copy_rows(struct sirix_build *build, struct sirix_trie_edit *to,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < build->taken_count && status == SIRIX_OK; i++) {
        if (!build->bulk_done || build->taken[i].first < build->bulk_first) {
            status = copy_range(build, &build->taken[i], to, err);
        }
    }
    return status;
}

/* Open lists of what was built go along; the top one goes back to the build, others are forgotten. */
static enum sirix_status sort_open_lists(struct sirix_edit *edit, struct sirix_error *err)
{
    struct sirix_build *build = edit->kept_build;
    const struct sirix_edit_operation *op = edit->kept_value;
    uint64_t top = op->is_members ? 0 : op->key + (op->has_name ? 1 : 0);
    uint64_t *keys = malloc((edit->open_lists.count + 1) * sizeof(*keys));
    size_t count = 0;
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t value = 0;

    if (keys == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory to move an edit");
    }
    while (sirix_map_next(&edit->open_lists, &cursor, &key, &value)) {
        if (key == top || !sirix_build_is_taken(build, key)) {
            keys[count++] = key;
        }
    }
    while (count != 0) {
        key = keys[--count];
        if (key == top && sirix_map_remove(&edit->open_lists, key, &value)) {
            build->top_open = sirix_edit_pointer(value);
        } else {
            sirix_edit_open_list_drop(edit, key);
        }
    }
    free(keys);
    return SIRIX_OK;
}

/* The spot on the new base, which must be of the kind that the value was built for. */
static enum sirix_status find_spot(struct sirix_edit *edit, const struct sirix_view *base,
                                   struct sirix_error *err)
{
    struct sirix_edit_operation *op = edit->kept_value;
    struct sirix_spot spot = {0};
    uint32_t depth = 0;
    enum sirix_status status = sirix_edit_spot(edit, op->target, op->place, op->index, &spot, err);

    if (status == SIRIX_OK && spot.parent.kind != SIRIX_NODE_DOCUMENT) {
        status = sirix_edit_depth(edit, spot.parent.key, &depth, err);
    }
    if (status == SIRIX_OK && (spot.parent.kind != op->spot.parent.kind || depth > op->depth ||
                               (op->is_members && spot.container != op->spot.container))) {
        return moved(edit, base, err);
    }
    if (status == SIRIX_OK && op->has_name) {
        status = sirix_edit_name_free(edit, &spot.parent, sirix_buf_view(&op->name), err);
    }
    if (status == SIRIX_OK) {
        op->spot = spot;
    }
    return status;
}

static enum sirix_status rebase(struct sirix_edit *edit, const struct sirix_view *base,
                                struct sirix_error *err)
{
    struct sirix_build *build = edit->kept_build;
    struct sirix_trie_edit *trie = NULL;
    struct sirix_edit_result result = {0};
    bool touched = false;
    enum sirix_status status = sirix_trie_edit_new(edit->reader, base->record.trie, &trie, err);

    if (status == SIRIX_OK) {
        status = copy_rows(build, trie, err);
    }
    if (status == SIRIX_OK) {
        status = sort_open_lists(edit, err);
    }
    if (status != SIRIX_OK) {
        sirix_trie_edit_free(trie);
        return status;
    }
    sirix_trie_edit_free(edit->trie);
    edit->trie = trie;
    edit->base = *base;
    edit->node_count = base->record.node_count;
    edit->text_bytes = base->record.text_bytes;
    status = sirix_build_graft(build, err);
    if (status == SIRIX_OK) {
        status = find_spot(edit, base, err);
    }
    if (status == SIRIX_OK) {
        edit->build = build;
        status = sirix_edit_install(edit, edit->kept_value, &result, &touched, err);
        edit->build = NULL;
    }
    return status;
}

enum sirix_status sirix_edit_rebase(struct sirix_edit *edit, const struct sirix_view *base,
                                    struct sirix_error *err)
{
    struct sirix_error error = {0};
    enum sirix_status status = sirix_edit_check(edit, err);

    if (status != SIRIX_OK || base->record.revision == edit->base.record.revision) {
        return status;
    }
    status = edit->kept_build == NULL || base->branch_id != edit->base.branch_id
                 ? moved(edit, base, &error)
                 : rebase(edit, base, &error);
    (void)sirix_edit_break(edit, status, &error);
    if (status != SIRIX_OK && err != NULL) {
        *err = error;
    }
    return status;
}
