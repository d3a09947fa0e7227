/*
 * Applying a diff. Values first, while everything stands where the old revision has it; then what goes,
 * names, and what comes, from left to right: so that keys and names are free when they are wanted, and
 * every anchor stands before what is put behind it.
 */
#include "store/document/apply.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "store/document/apply_state.h"
#include "store/document/edit_state.h"

enum {
    CHANGES_MIN = 64,
    FEED_BYTES = 256 * 1024,
    KEYED_TEXT_BYTES_MAX = 16 * 1024 * 1024, /* A longer value is streamed, under a new key. */
};

/* --- Conflicts ---------------------------------------------------------------------------------- */

enum sirix_status sirix_apply_conflict(struct sirix_applying *a, const struct sirix_change *change,
                                       const char *what, struct sirix_error *err)
{
    enum sirix_diff_side side =
        change->kind == SIRIX_CHANGE_INSERT ? SIRIX_DIFF_AFTER : SIRIX_DIFF_BEFORE;
    const char *pointer = NULL;
    struct sirix_buf path;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&path, SIZE_MAX);
    status = sirix_diff_path(a->diff, change, side, SIRIX_PATH_POINTER, &path, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&path, &pointer, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_APPLY_CONFLICT,
                              "node %" PRIu64 ": %s", sirix_change_side(change, side)->key, what);
        sirix_error_set_pointer(err, pointer);
    }
    sirix_buf_deinit(&path);
    return status;
}

enum sirix_status sirix_apply_find(struct sirix_applying *a, uint64_t key, bool *out_found,
                                   struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_error why = {0};
    enum sirix_status status = sirix_edit_get(a->edit, key, out_node, &why);

    *out_found = status == SIRIX_OK;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = why;
    }
    return status;
}

/* Whether the target's node has the value of a side: scalars by value, containers by kind. */
static enum sirix_status has_value(struct sirix_applying *a, const struct sirix_document_node *node,
                                   const struct sirix_change *change, enum sirix_diff_side side,
                                   bool exactly, bool *out_has, struct sirix_error *err)
{
    struct sirix_rows *rows =
        side == SIRIX_DIFF_BEFORE ? &a->diff->rows_before : &a->diff->rows_after;
    const struct sirix_change_side *of = sirix_change_side(change, side);
    struct sirix_document_node other;
    enum sirix_status status = SIRIX_OK;
    bool same = false;
    bool equal = false;

    if (sirix_node_is_container(of->kind) || sirix_node_is_container(node->kind)) {
        *out_has = of->kind == node->kind;
        return exactly && *out_has
                   ? sirix_diff_same(a->diff, &a->rows, node->key, rows, of->key, out_has, err)
                   : SIRIX_OK;
    }
    status = sirix_rows_child(rows, of->key, &other, err);
    if (status == SIRIX_OK) {
        status =
            sirix_diff_scalars(&a->rows, &node->stored, rows, &other.stored, &same, &equal, err);
    }
    if (status == SIRIX_OK) {
        *out_has = exactly ? same : equal;
    }
    return status;
}

/* --- Values ------------------------------------------------------------------------------------- */

/* Feeds the new revision's value of a change to a value that the edit has begun, and ends it. */
static enum sirix_status feed_value(struct sirix_applying *a, uint64_t key,
                                    struct sirix_edit_result *out_result, struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_serialiser *serialiser = NULL;
    bool done = false;
    enum sirix_status status = sirix_serialiser_new(&a->diff->after, &options, &serialiser, err);

    while (status == SIRIX_OK && !done) {
        sirix_buf_clear(&a->text);
        status = sirix_serialiser_step(serialiser, FEED_BYTES, &a->text, &done, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_value_feed(a->edit, sirix_buf_view(&a->text), err);
        }
    }
    sirix_serialiser_free(serialiser);
    if (status != SIRIX_OK) {
        sirix_edit_value_abort(a->edit);
        return status;
    }
    return sirix_edit_value_end(a->edit, out_result, err);
}

static enum sirix_status apply_value(struct sirix_applying *a, const struct sirix_change *change,
                                     struct sirix_error *err)
{
    const struct sirix_edit_update update = {.target = change->before.key};
    struct sirix_edit_result result;
    struct sirix_document_node node;
    bool found = false;
    bool has = false;
    enum sirix_status status = sirix_apply_find(a, change->before.key, &found, &node, err);

    if (status == SIRIX_OK && !found) {
        return sirix_apply_conflict(a, change, "its value changed, but the target does not have it",
                                    err);
    }
    if (status == SIRIX_OK && node.parent != change->before.parent) {
        return sirix_apply_conflict(a, change, "the target has it under another parent", err);
    }
    if (status == SIRIX_OK) {
        status = has_value(a, &node, change, SIRIX_DIFF_AFTER, true, &has, err);
    }
    if (status == SIRIX_OK && has) {
        a->result.already += 1;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = has_value(a, &node, change, SIRIX_DIFF_BEFORE, false, &has, err);
    }
    if (status == SIRIX_OK && !has) {
        return sirix_apply_conflict(a, change, "the target has neither its old nor its new value",
                                    err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_update_begin(a->edit, &update, err);
    }
    if (status == SIRIX_OK) {
        status = feed_value(a, change->after.key, &result, err);
    }
    a->result.applied += 1;
    return status;
}

/* --- Deletes ------------------------------------------------------------------------------------ */

static enum sirix_status apply_delete(struct sirix_applying *a, const struct sirix_change *change,
                                      struct sirix_error *err)
{
    struct sirix_document_node node;
    uint64_t nodes = 0;
    bool found = false;
    bool has = false;
    enum sirix_status status = sirix_apply_find(a, change->before.key, &found, &node, err);

    if (status == SIRIX_OK && !found) {
        a->result.already += 1;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && node.parent != change->before.parent) {
        return sirix_apply_conflict(a, change, "the target has it under another parent", err);
    }
    if (status == SIRIX_OK) {
        status = has_value(a, &node, change, SIRIX_DIFF_BEFORE, false, &has, err);
    }
    if (status == SIRIX_OK && !has) {
        return sirix_apply_conflict(a, change,
                                    "it was deleted, but the target has another value there", err);
    }
    a->result.applied += 1;
    return status == SIRIX_OK ? sirix_edit_delete(a->edit, change->before.key, &nodes, err)
                              : status;
}

/* --- Places ------------------------------------------------------------------------------------- */

/* Checks parent and anchor of a change's new place; gives the place in the edit's words. */
static enum sirix_status find_place(struct sirix_applying *a, const struct sirix_change *change,
                                    struct sirix_edit_insert *out_insert, struct sirix_error *err)
{
    uint64_t parent = change->after.parent;
    uint64_t anchor = change->anchor;
    struct sirix_document_node node;
    bool found = false;
    enum sirix_status status = sirix_apply_find(a, parent, &found, &node, err);

    if (status == SIRIX_OK && parent == 0) {
        *out_insert = (struct sirix_edit_insert){.target = 0, .place = SIRIX_PLACE_FIRST_CHILD};
        return node.child_count == 0
                   ? SIRIX_OK
                   : sirix_apply_conflict(a, change, "the target has a value already", err);
    }
    if (status == SIRIX_OK && !found) {
        return sirix_apply_conflict(a, change, "the target does not have its parent", err);
    }
    if (status == SIRIX_OK &&
        node.kind != (change->is_member ? SIRIX_NODE_OBJECT : SIRIX_NODE_ARRAY)) {
        return sirix_apply_conflict(a, change, "its parent is another kind of value in the target",
                                    err);
    }
    if (change->anchor_is_new) {
        (void)sirix_map_get(&a->made, anchor,
                            &anchor); /* Inserted before, maybe under another key. */
    }
    if (status == SIRIX_OK && anchor != 0) {
        status = sirix_apply_find(a, anchor, &found, &node, err);
        if (status == SIRIX_OK && (!found || node.parent != parent)) {
            return sirix_apply_conflict(a, change, "its left sibling is not there in the target",
                                        err);
        }
    }
    *out_insert = (struct sirix_edit_insert){
        .target = anchor == 0 ? parent : anchor,
        .place = anchor == 0 ? SIRIX_PLACE_FIRST_CHILD : SIRIX_PLACE_RIGHT_SIBLING,
    };
    return status;
}

/* Whether an insert has been done already: the same value under the same key or name. */
static enum sirix_status is_there(struct sirix_applying *a, const struct sirix_change *change,
                                  struct sirix_bytes name, bool *out_there, struct sirix_error *err)
{
    struct sirix_document_node node;
    uint64_t key = change->after.key;
    bool found = false;
    enum sirix_status status = SIRIX_OK;

    *out_there = false;
    if (change->is_member) {
        status = sirix_edit_member(a->edit, change->after.parent, name, &key, err);
        if (status == SIRIX_NOT_FOUND) {
            return SIRIX_OK; /* The name is free. */
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_apply_find(a, key, &found, &node, err);
    }
    if (status == SIRIX_OK && found && node.parent == change->after.parent) {
        status = has_value(a, &node, change, SIRIX_DIFF_AFTER, true, out_there, err);
        if (status == SIRIX_OK && !*out_there) {
            return sirix_apply_conflict(a, change, "the target has another value in its place",
                                        err);
        }
        if (status == SIRIX_OK && *out_there && key != change->after.key) {
            status = sirix_map_put(&a->made, change->after.key, key, err);
        }
    }
    return status;
}

/* Inserts under the new revision's key if that is free, else under a new one. */
static enum sirix_status insert_value(struct sirix_applying *a, const struct sirix_change *change,
                                      const struct sirix_edit_insert *insert,
                                      struct sirix_error *err)
{
    struct sirix_edit_result result = {0};
    struct sirix_document_node node;
    bool taken = false;
    bool cut = false;
    enum sirix_status status = sirix_apply_find(a, change->after.key, &taken, &node, err);

    sirix_buf_clear(&a->text);
    if (status == SIRIX_OK && !taken && change->after.parent != 0) {
        status = sirix_diff_value(a->diff, change, SIRIX_DIFF_AFTER, KEYED_TEXT_BYTES_MAX, &a->text,
                                  &cut, err);
        if (status == SIRIX_OK && !cut) {
            return sirix_edit_insert_keyed(a->edit, insert, change->after.key,
                                           sirix_buf_view(&a->text), &result, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_insert_begin(a->edit, insert, err);
    }
    if (status == SIRIX_OK) {
        status = feed_value(a, change->after.key, &result, err);
    }
    if (status == SIRIX_OK && result.key != change->after.key) {
        status = sirix_map_put(&a->made, change->after.key, result.key, err);
    }
    return status;
}

static enum sirix_status apply_insert(struct sirix_applying *a, const struct sirix_change *change,
                                      struct sirix_error *err)
{
    struct sirix_edit_insert insert;
    struct sirix_buf name_buf;
    struct sirix_bytes name = {0};
    bool there = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&name_buf, SIZE_MAX);
    status = sirix_diff_name(a->diff, change, SIRIX_DIFF_AFTER, &name_buf, err);
    name = sirix_buf_view(&name_buf);
    if (status == SIRIX_OK) {
        status = is_there(a, change, name, &there, err);
    }
    if (status == SIRIX_OK && there) {
        a->result.already += 1;
        goto out;
    }
    if (status == SIRIX_OK) {
        status = find_place(a, change, &insert, err);
    }
    if (status == SIRIX_OK) {
        insert.name = change->is_member ? &name : NULL;
        status = insert_value(a, change, &insert, err);
    }
    a->result.applied += 1;

out:
    sirix_buf_deinit(&name_buf);
    return status;
}

static enum sirix_status apply_move(struct sirix_applying *a, const struct sirix_change *change,
                                    struct sirix_error *err)
{
    struct sirix_edit_insert place = {0};
    struct sirix_edit_move move = {.key = change->before.key};
    struct sirix_document_node node;
    bool found = false;
    bool changed = false;
    uint64_t key = 0;
    enum sirix_status status = sirix_apply_find(a, change->before.key, &found, &node, err);

    if (status == SIRIX_OK && !found) {
        return sirix_apply_conflict(a, change, "it was moved, but the target does not have it",
                                    err);
    }
    if (status == SIRIX_OK && node.parent != change->before.parent) {
        return sirix_apply_conflict(a, change, "the target has it under another parent", err);
    }
    if (status == SIRIX_OK) {
        status = find_place(a, change, &place, err);
    }
    if (status == SIRIX_OK) {
        move.target = place.target;
        move.place = place.place;
        status = sirix_edit_move(a->edit, &move, &key, &changed, err);
    }
    *(changed ? &a->result.applied : &a->result.already) += 1;
    return status;
}

/* --- The whole ---------------------------------------------------------------------------------- */

static enum sirix_status grow(struct sirix_applying *a, struct sirix_error *err)
{
    size_t cap = a->cap == 0 ? CHANGES_MIN : a->cap * 2;
    size_t bytes = 0;
    struct sirix_change *changes = NULL;

    if (sirix_mul_size(cap, sizeof(*changes), &bytes)) {
        changes = realloc(a->changes, bytes);
    }
    if (changes == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate %zu changes", cap);
    }
    a->changes = changes;
    a->cap = cap;
    return SIRIX_OK;
}

static enum sirix_status collect(struct sirix_applying *a, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK) {
        if (a->count == a->cap) {
            status = grow(a, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        status = sirix_diff_next(a->diff, &a->changes[a->count], err);
        a->count += status == SIRIX_OK ? 1 : 0;
    }
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

typedef enum sirix_status (*apply_fn)(struct sirix_applying *a, const struct sirix_change *change,
                                      struct sirix_error *err);

/* What is done in one go over the changes; NULL: another's turn. */
static const apply_fn value_changes[SIRIX_CHANGE_KINDS] = {
    [SIRIX_CHANGE_UPDATE] = apply_value,
    [SIRIX_CHANGE_REPLACE] = apply_value,
};
static const apply_fn delete_changes[SIRIX_CHANGE_KINDS] = {
    [SIRIX_CHANGE_DELETE] = apply_delete,
};
static const apply_fn placed_changes[SIRIX_CHANGE_KINDS] = {
    [SIRIX_CHANGE_INSERT] = apply_insert,
    [SIRIX_CHANGE_MOVE] = apply_move,
};

static enum sirix_status apply_kinds(struct sirix_applying *a,
                                     const apply_fn does[SIRIX_CHANGE_KINDS],
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < a->count && status == SIRIX_OK; i++) {
        const struct sirix_change *change = &a->changes[i];
        apply_fn apply = does[change->kind];

        if (apply == NULL) {
            continue;
        }
        status = sirix_edit_step(a->edit, err);
        if (status == SIRIX_OK) {
            status = apply(a, change, err);
        }
    }
    return status;
}

static enum sirix_status apply_all(struct sirix_applying *a, struct sirix_error *err)
{
    enum sirix_status status = collect(a, err);

    if (status == SIRIX_OK) {
        status = apply_kinds(a, value_changes, err);
    }
    if (status == SIRIX_OK) {
        status = apply_kinds(a, delete_changes, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_apply_renames(a, err);
    }
    return status == SIRIX_OK ? apply_kinds(a, placed_changes, err) : status;
}

enum sirix_status sirix_apply(struct sirix_diff *diff, struct sirix_edit *edit,
                              struct sirix_map *keys, struct sirix_apply_counts *out_result,
                              struct sirix_error *err)
{
    struct sirix_applying a = {.diff = diff, .edit = edit, .rows = sirix_rows_of_edit(edit)};
    enum sirix_status status = SIRIX_OK;
    uint64_t key = 0;
    uint64_t made = 0;
    size_t cursor = 0;

    sirix_map_init(&a.made);
    sirix_buf_init(&a.text, SIZE_MAX);
    status = apply_all(&a, err);
    while (status == SIRIX_OK && keys != NULL && sirix_map_next(&a.made, &cursor, &key, &made)) {
        status = sirix_map_put(keys, key, made, err);
    }
    if (status == SIRIX_OK) {
        *out_result = a.result;
    }
    free(a.changes);
    sirix_map_deinit(&a.made);
    sirix_buf_deinit(&a.text);
    return status;
}
