/*
 * Deleting, renaming, and taking nodes out of lists and into others.
 */
#include <inttypes.h>

#include "store/document/path_rows.h"

/* Where a node stands, and the hash of its name if it has one. */
struct standing {
    uint64_t container; /* 0: the value slot. */
    uint64_t index;
    uint64_t count; /* Of siblings, itself included. */
    uint32_t hash;
    uint64_t name_len;
};

static enum sirix_status standing_of(struct sirix_edit *edit,
                                     const struct sirix_document_node *node, struct standing *out,
                                     struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    const struct sirix_node *listed = sirix_node_listed(node);
    struct sirix_document_node parent = {0};
    struct sirix_name_hash hash = {0};
    struct sirix_list list = {0};
    enum sirix_status status = SIRIX_OK;

    *out = (struct standing){.count = 1};
    if (node->key <= 1) {
        return SIRIX_OK;
    }
    status = sirix_rows_node(&rows, listed->parent, &parent, err);
    if (status == SIRIX_OK) {
        status = sirix_list_of(&rows, &parent, &list, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_index(&rows, &list, listed, &out->index, err);
    }
    if (status == SIRIX_OK && node->is_member) {
        status = sirix_rows_name_len(&rows, listed, &out->name_len, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_name_hash(edit, listed, &hash, err);
        }
    }
    out->container = listed->parent;
    out->count = list.count;
    out->hash = sirix_name_hash_stored(hash);
    return status;
}

enum sirix_status sirix_edit_remove_node(struct sirix_edit *edit,
                                         const struct sirix_document_node *node,
                                         struct sirix_subtree *subtree, uint64_t *out_index,
                                         struct sirix_error *err)
{
    const struct sirix_node listed = *sirix_node_listed(node);
    bool is_member = node->is_member;
    struct standing standing;
    enum sirix_status status = standing_of(edit, node, &standing, err);

    if (status == SIRIX_OK) {
        status = sirix_edit_scan(edit, node, true, subtree, err);
    }
    if (status == SIRIX_OK && standing.container != 0) {
        status = sirix_edit_list_remove(edit, standing.container, standing.index, &listed,
                                        standing.hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_scan_remove(edit, subtree, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    edit->node_count -= subtree->node_count;
    edit->text_bytes -= subtree->text_bytes + (is_member ? standing.name_len + 3 : 0) +
                        (standing.count > 1 ? 1 : 0);
    if (out_index != NULL) {
        *out_index = standing.index;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_edit_delete(struct sirix_edit *edit, uint64_t key, uint64_t *out_nodes,
                                    struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node node = {0};
    struct sirix_subtree subtree = {0};
    struct sirix_error error = {0};
    enum sirix_status status = sirix_edit_begin(edit, true, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_node(&rows, key == 0 ? 1 : key, &node, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status =
        sirix_edit_break(edit, sirix_edit_remove_node(edit, &node, &subtree, NULL, &error), &error);
    if (status == SIRIX_OK) {
        *out_nodes = subtree.node_count;
    } else if (err != NULL) {
        *err = error;
    }
    sirix_subtree_deinit(&subtree);
    return status;
}

/* --- Renaming -------------------------------------------------------------------------------------- */

static enum sirix_status rename_member(struct sirix_edit *edit,
                                       const struct sirix_document_node *node,
                                       struct sirix_bytes name, struct sirix_error *err)
{
    struct standing standing;
    struct sirix_node field = {0};
    uint32_t hash = sirix_name_hash_stored(
        sirix_name_hash(sirix_resource_name_seed(edit->base.resource), name));
    enum sirix_status status = standing_of(edit, node, &standing, err);

    if (status == SIRIX_OK) {
        status =
            sirix_edit_list_rename(edit, standing.container, node->key, standing.hash, hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_row(edit, node->key, &field, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_name(edit, name, &field, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_put(edit, &field, err);
    }
    edit->text_bytes += name.len - standing.name_len;
    return status == SIRIX_OK ? sirix_edit_paths_walk(edit, node->key, err) : status;
}

enum sirix_status sirix_edit_rename(struct sirix_edit *edit, uint64_t key, struct sirix_bytes name,
                                    bool *out_changed, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node node = {0};
    struct sirix_document_node object = {0};
    struct sirix_error error = {0};
    bool same = false;
    enum sirix_status status = sirix_edit_begin(edit, false, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_node(&rows, key, &node, err);
    }
    if (status == SIRIX_OK && !node.is_member) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                 "node %" PRIu64 " is no member of an object: it has no name",
                                 node.key);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_name_check(name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_name_equals(&rows, sirix_node_listed(&node), name, &same, err);
    }
    if (status == SIRIX_OK && !same) {
        status = sirix_rows_node(&rows, node.parent, &object, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_name_free(edit, &object, name, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!same) {
        status = sirix_edit_break(edit, rename_member(edit, &node, name, &error), &error);
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = error;
        }
        return status;
    }
    *out_changed = !same;
    return SIRIX_OK;
}

/* --- Lists ----------------------------------------------------------------------------------------- */

enum sirix_status sirix_edit_relist(struct sirix_edit *edit, uint64_t key, uint64_t index,
                                    struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node node = {0};
    struct sirix_node child = {.key = key};
    struct sirix_node row = {0};
    struct standing standing = {0};
    enum sirix_status status = sirix_rows_child(&rows, key, &node, err);

    if (status == SIRIX_OK) {
        status = standing_of(edit, &node, &standing, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_list_remove(edit, standing.container, standing.index, &child,
                                        standing.hash, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_edit_list_insert(edit, standing.container, index, &child, standing.hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_row(edit, key, &row, err);
    }
    if (status != SIRIX_OK || (row.order == child.order && row.label.major == child.label.major &&
                               row.label.minor == child.label.minor)) {
        return status;
    }
    row.order = child.order;
    row.label = child.label;
    return sirix_edit_put(edit, &row, err);
}
