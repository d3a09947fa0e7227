/* Applying the renames of a diff, in an order in which each finds its new name free. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/document/apply_state.h"
#include "store/document/patch_plan.h"

/* Reads a member's name in one revision into a->text. */
static enum sirix_status read_name(struct sirix_applying *a, const struct sirix_change *change,
                                   enum sirix_diff_side side, struct sirix_error *err)
{
    sirix_buf_clear(&a->text);
    return sirix_diff_name(a->diff, change, side, &a->text, err);
}

/* The hash of a name among all names of all objects. */
static uint64_t hash_name(const struct sirix_applying *a, uint64_t parent)
{
    const struct sirix_name_seed *seed = sirix_resource_name_seed(a->rows.resource);

    return sirix_name_hash(seed, sirix_buf_view(&a->text)).high ^ sirix_mix64(parent);
}

/* which: places of the renames among the changes. blocker[i]: see patch_plan.h. */
static enum sirix_status find_blockers(struct sirix_applying *a, const size_t *which, size_t count,
                                       size_t *blocker, struct sirix_error *err)
{
    struct sirix_map old_names;
    enum sirix_status status = SIRIX_OK;

    sirix_map_init(&old_names);
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        const struct sirix_change *change = &a->changes[which[i]];

        status = read_name(a, change, SIRIX_DIFF_BEFORE, err);
        if (status == SIRIX_OK) {
            status = sirix_map_put(&old_names, hash_name(a, change->before.parent), i, err);
        }
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        const struct sirix_change *change = &a->changes[which[i]];
        uint64_t found = 0;

        status = read_name(a, change, SIRIX_DIFF_AFTER, err);
        if (status == SIRIX_OK) {
            bool blocked = sirix_map_get(&old_names, hash_name(a, change->before.parent), &found);
            blocker[i] = blocked ? (size_t)found : SIZE_MAX;
        }
    }
    sirix_map_deinit(&old_names);
    return status;
}

/* Checks a rename against the target; *out_todo: it has the old name still. */
static enum sirix_status check_rename(struct sirix_applying *a, const struct sirix_change *change,
                                      bool *out_todo, struct sirix_error *err)
{
    struct sirix_document_node node;
    bool equal = false;
    bool found = false;
    enum sirix_status status = sirix_apply_find(a, change->before.key, &found, &node, err);

    if (status == SIRIX_OK && !found) {
        return sirix_apply_conflict(a, change, "it was renamed, but the target does not have it",
                                    err);
    }
    if (status == SIRIX_OK && (node.parent != change->before.parent || !node.is_member)) {
        return sirix_apply_conflict(a, change, "the target has it under another parent", err);
    }
    if (status == SIRIX_OK) {
        status = read_name(a, change, SIRIX_DIFF_AFTER, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_name_equals(&a->rows, sirix_node_listed(&node),
                                        sirix_buf_view(&a->text), &equal, err);
    }
    if (status == SIRIX_OK && equal) {
        *out_todo = false;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = read_name(a, change, SIRIX_DIFF_BEFORE, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_name_equals(&a->rows, sirix_node_listed(&node),
                                        sirix_buf_view(&a->text), &equal, err);
    }
    if (status == SIRIX_OK && !equal) {
        return sirix_apply_conflict(a, change, "the target has it under a third name", err);
    }
    *out_todo = status == SIRIX_OK;
    return status;
}

/* One step of the plan. Of a cycle one member bears a name of ours in between. */
static enum sirix_status rename_step(struct sirix_applying *a, const struct sirix_change *change,
                                     enum sirix_rename_step_kind kind, struct sirix_error *err)
{
    uint64_t key = change->before.key;
    uint64_t other = 0;
    bool changed = false;
    enum sirix_status status = SIRIX_OK;

    if (kind == SIRIX_RENAME_REMOVE) {
        sirix_buf_clear(&a->text);
        status = sirix_buf_printf(&a->text, err, "\\u0000renaming %" PRIu64, key);
        return status == SIRIX_OK
                   ? sirix_edit_rename(a->edit, key, sirix_buf_view(&a->text), &changed, err)
                   : status;
    }
    status = read_name(a, change, SIRIX_DIFF_AFTER, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_member(a->edit, change->before.parent, sirix_buf_view(&a->text), &other,
                                   err);
        if (status == SIRIX_OK) {
            return sirix_apply_conflict(a, change, "the target has another member of its new name",
                                        err);
        }
    }
    if (status == SIRIX_NOT_FOUND) {
        status = sirix_edit_rename(a->edit, key, sirix_buf_view(&a->text), &changed, err);
        a->result.applied += 1;
    }
    return status;
}

enum sirix_status sirix_apply_renames(struct sirix_applying *a, struct sirix_error *err)
{
    size_t *which = malloc((a->count + 1) * sizeof(*which));
    size_t *blocker = malloc((a->count + 1) * sizeof(*blocker));
    struct sirix_rename_step *steps = malloc((a->count + 1) * 2 * sizeof(*steps));
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;
    size_t step_count = 0;

    if (which == NULL || blocker == NULL || steps == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the renames of a diff");
        goto out;
    }
    for (size_t i = 0; i < a->count && status == SIRIX_OK; i++) {
        bool todo = false;

        if (a->changes[i].kind == SIRIX_CHANGE_RENAME) {
            status = check_rename(a, &a->changes[i], &todo, err);
            a->result.already += status == SIRIX_OK && !todo ? 1 : 0;
        }
        if (todo) {
            which[count++] = i;
        }
    }
    if (status == SIRIX_OK) {
        status = find_blockers(a, which, count, blocker, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rename_plan(blocker, count, steps, &step_count, err);
    }
    for (size_t i = 0; i < step_count && status == SIRIX_OK; i++) {
        status = rename_step(a, &a->changes[which[steps[i].rename]], steps[i].kind, err);
    }

out:
    free(which);
    free(blocker);
    free(steps);
    return status;
}
