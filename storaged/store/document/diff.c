/*
 * The changes between two revisions: the keys whose rows differ, and what each of them says about its
 * node and about the children of its node.
 */
#include "store/document/diff.h"

#include <stdlib.h>

#include "store/document/diff_state.h"

/* --- Life --------------------------------------------------------------------------------------- */

/* Reads a node that a revision may not have. */
static enum sirix_status find_node(struct sirix_rows *rows, uint64_t key, bool *out_found,
                                   struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_error why = {0};
    enum sirix_status status = sirix_rows_node(rows, key, out_node, &why);

    if (status == SIRIX_NOT_FOUND) {
        *out_found = false;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out_found = true;
    } else if (err != NULL) {
        *err = why;
    }
    return status;
}

/* The insert or delete of a start node that one revision has. */
static enum sirix_status whole_start(struct sirix_diff *diff, enum sirix_diff_side side,
                                     const struct sirix_document_node *node,
                                     struct sirix_error *err)
{
    bool is_new = side == SIRIX_DIFF_AFTER;
    struct sirix_change change = {
        .kind = is_new ? SIRIX_CHANGE_INSERT : SIRIX_CHANGE_DELETE,
        .is_member = node->is_member,
    };
    struct sirix_change_side *out = is_new ? &change.after : &change.before;
    struct sirix_document *document = sirix_diff_document(diff, side);
    enum sirix_status status = SIRIX_OK;

    *out = (struct sirix_change_side){
        .key = node->key,
        .parent = node->parent,
        .kind = node->kind,
    };
    status = sirix_document_child_index(document, node->key, &out->index, err);
    if (status == SIRIX_OK && out->index != 0) {
        status = sirix_document_child_at(document, node->parent, out->index - 1, &out->left, err);
    }
    if (status == SIRIX_OK) {
        change.anchor = change.after.left;
        diff->pending[0] = change;
        diff->pending_count = 1;
        diff->compare_done = true;
    }
    return status;
}

static enum sirix_status find_start(struct sirix_diff *diff, struct sirix_error *err)
{
    struct sirix_document_node before;
    struct sirix_document_node after;
    bool in_before = false;
    bool in_after = false;
    enum sirix_status status = find_node(&diff->rows_before, diff->start, &in_before, &before, err);

    if (status == SIRIX_OK) {
        status = find_node(&diff->rows_after, diff->start, &in_after, &after, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (in_before && in_after) {
        diff->start = after.key;
        return SIRIX_OK;
    }
    if (in_after) {
        return whole_start(diff, SIRIX_DIFF_AFTER, &after, err);
    }
    if (in_before) {
        return whole_start(diff, SIRIX_DIFF_BEFORE, &before, err);
    }
    if (diff->start == 1) {
        diff->compare_done = true; /* Two resources without a value. */
        return SIRIX_OK;
    }
    return sirix_rows_node(&diff->rows_after, diff->start, &after, err); /* Says what is missing. */
}

enum sirix_status sirix_diff_new(const struct sirix_diff_options *options,
                                 struct sirix_diff **out_diff, struct sirix_error *err)
{
    struct sirix_diff *diff = calloc(1, sizeof(*diff));
    enum sirix_status status = SIRIX_OK;

    if (diff == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a diff");
    }
    diff->reader = options->reader;
    diff->start = options->start == 0 ? 1 : options->start;
    diff->depth_max = options->depth_max;
    diff->pause = options->pause;
    diff->pause_context = options->pause_context;
    sirix_document_init(&diff->before, options->old_view, options->reader);
    sirix_document_init(&diff->after, options->new_view, options->reader);
    diff->rows_before = sirix_rows_of_document(&diff->before);
    diff->rows_after = sirix_rows_of_document(&diff->after);
    sirix_trie_compare_init(&diff->compare, options->reader, options->old_view->record.trie,
                            options->reader, options->new_view->record.trie);
    sirix_map_init(&diff->scopes);
    diff->container.phase = SIRIX_DIFF_PHASE_END;
    status = find_start(diff, err);
    if (status != SIRIX_OK) {
        sirix_diff_free(diff);
        return status;
    }
    *out_diff = diff;
    return SIRIX_OK;
}

void sirix_diff_free(struct sirix_diff *diff)
{
    if (diff == NULL) {
        return;
    }
    sirix_diff_container_deinit(&diff->container);
    sirix_map_deinit(&diff->scopes);
    free(diff->climb);
    free(diff);
}

struct sirix_document *sirix_diff_document(struct sirix_diff *diff, enum sirix_diff_side side)
{
    return side == SIRIX_DIFF_BEFORE ? &diff->before : &diff->after;
}

struct sirix_diff_counts sirix_diff_counts(const struct sirix_diff *diff)
{
    return diff->counts;
}

/* --- Nodes that both revisions have ------------------------------------------------------------- */

static struct sirix_change change_of(enum sirix_change_kind kind,
                                     const struct sirix_document_node *before,
                                     const struct sirix_document_node *after, uint32_t depth)
{
    return (struct sirix_change){
        .kind = kind,
        .before = {.key = before->key, .parent = before->parent, .kind = before->kind},
        .after = {.key = after->key, .parent = after->parent, .kind = after->kind},
        .is_member = after->is_member,
        .depth = depth,
    };
}

static void add_pending(struct sirix_diff *diff, const struct sirix_change *change)
{
    diff->pending[diff->pending_count] = *change;
    diff->pending_count += 1;
}

static enum sirix_status compare_names(struct sirix_diff *diff,
                                       const struct sirix_document_node *before,
                                       const struct sirix_document_node *after, uint32_t depth,
                                       struct sirix_error *err)
{
    const struct sirix_node *field_before = sirix_node_listed(before);
    const struct sirix_node *field_after = sirix_node_listed(after);
    struct sirix_buf name;
    bool equal = field_before->name_interned && field_after->name_interned &&
                 field_before->name_id == field_after->name_id;
    enum sirix_status status = SIRIX_OK;

    if (equal) {
        return SIRIX_OK;
    }
    sirix_buf_init(&name, SIZE_MAX);
    status = sirix_rows_name(&diff->rows_after, field_after, &name, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_name_equals(&diff->rows_before, field_before, sirix_buf_view(&name),
                                        &equal, err);
    }
    sirix_buf_deinit(&name);
    if (status == SIRIX_OK && !equal) {
        const struct sirix_change change = change_of(SIRIX_CHANGE_RENAME, before, after, depth);
        add_pending(diff, &change);
    }
    return status;
}

static enum sirix_status compare_values(struct sirix_diff *diff,
                                        const struct sirix_document_node *before,
                                        const struct sirix_document_node *after, uint32_t depth,
                                        struct sirix_error *err)
{
    struct sirix_change change = change_of(SIRIX_CHANGE_REPLACE, before, after, depth);
    enum sirix_status status = SIRIX_OK;
    bool same = false;

    if (before->kind == after->kind && sirix_node_is_container(before->kind)) {
        if (diff->depth_max != 0 && depth == diff->depth_max) {
            return SIRIX_OK;
        }
        return sirix_diff_container_open(diff, before, after, depth + 1, err);
    }
    if (sirix_json_type(before->kind) == sirix_json_type(after->kind)) {
        change.kind = SIRIX_CHANGE_UPDATE;
        status = sirix_diff_scalars(&diff->rows_before, &before->stored, &diff->rows_after,
                                    &after->stored, &same, &change.equal_value, err);
    }
    if (status == SIRIX_OK && !same) {
        add_pending(diff, &change);
    }
    return status;
}

/* A node whose row, or whose container's row, differs. */
static enum sirix_status look_at_node(struct sirix_diff *diff, uint64_t key,
                                      struct sirix_error *err)
{
    struct sirix_document_node before;
    struct sirix_document_node after;
    struct sirix_diff_scope scope = {.shared = true};
    bool in_before = false;
    bool in_after = false;
    enum sirix_status status = find_node(&diff->rows_before, key, &in_before, &before, err);

    if (status == SIRIX_OK) {
        status = find_node(&diff->rows_after, key, &in_after, &after, err);
    }
    if (status != SIRIX_OK || !in_before || !in_after || before.key == diff->last_key) {
        return status;
    }
    diff->last_key = before.key;
    if (before.key != diff->start) {
        /* Under another parent it is a delete there and an insert here: the parents tell. */
        if (before.parent != after.parent || before.is_member != after.is_member) {
            return SIRIX_OK;
        }
        status = sirix_diff_scope_below(diff, before.parent, &scope, err);
    }
    if (status != SIRIX_OK || !scope.shared ||
        (diff->depth_max != 0 && scope.depth > diff->depth_max)) {
        return status;
    }
    if (before.is_member && after.is_member) {
        status = compare_names(diff, &before, &after, scope.depth, err);
    }
    return status == SIRIX_OK ? compare_values(diff, &before, &after, scope.depth, err) : status;
}

/* --- The next change ---------------------------------------------------------------------------- */

/* Takes the next differing row; NOT_FOUND after the last. */
static enum sirix_status advance(struct sirix_diff *diff, struct sirix_error *err)
{
    struct sirix_row before = {0};
    struct sirix_row after = {0};
    enum sirix_status status = SIRIX_OK;

    if (diff->compare_done) {
        return SIRIX_NOT_FOUND;
    }
    status = sirix_diff_step(diff, err);
    if (status == SIRIX_OK) {
        status = sirix_trie_compare_next(&diff->compare, &before, &after, err);
        diff->compare_done = status == SIRIX_NOT_FOUND;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    diff->pending_count = 0;
    diff->pending_at = 0;
    /*
     * A row that only one revision has belongs to a subtree that the list of its parent tells of, or
     * to a value that changed its kind, which the member's row tells.
     */
    if (before.record.data != NULL && after.record.data != NULL) {
        status = look_at_node(diff, after.key, err);
    }
    return status;
}

enum sirix_status sirix_diff_next(struct sirix_diff *diff, struct sirix_change *out_change,
                                  struct sirix_error *err)
{
    struct sirix_change change;
    enum sirix_status status = SIRIX_OK;

    for (;;) {
        if (diff->pending_at < diff->pending_count) {
            change = diff->pending[diff->pending_at];
            diff->pending_at += 1;
            break;
        }
        status = sirix_diff_container_next(diff, &change, err);
        if (status == SIRIX_OK) {
            break;
        }
        if (status == SIRIX_NOT_FOUND) {
            status = advance(diff, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    diff->counts.of[change.kind] += 1;
    diff->counts.all += 1;
    *out_change = change;
    return SIRIX_OK;
}
