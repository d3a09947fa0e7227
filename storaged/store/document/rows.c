/*
 * From rows to nodes: which row a key means, what a member is made of, who its parent is.
 *
 * A row k of kind FIELD always has its container's row at k + 1. So whether the container at key c
 * belongs to a member is one look at c - 1; nothing else in the store says it.
 */
#include "store/document/rows.h"

#include <inttypes.h>

#include "store/document/edit_state.h"

struct sirix_rows sirix_rows_of_document(struct sirix_document *document)
{
    return (struct sirix_rows){
        .reader = document->reader,
        .resource = document->view->resource,
        .cursor = &document->cursor,
        .revision = document->view->record.revision,
    };
}

struct sirix_rows sirix_rows_of_edit(struct sirix_edit *edit)
{
    return (struct sirix_rows){
        .reader = edit->reader,
        .resource = edit->base.resource,
        .edit = edit,
        .revision = edit->base.record.revision,
    };
}

enum sirix_status sirix_rows_get(struct sirix_rows *rows, uint64_t key, struct sirix_row *out_row,
                                 struct sirix_error *err)
{
    return rows->cursor != NULL ? sirix_trie_get(rows->cursor, key, out_row, err)
                                : sirix_trie_edit_get(rows->edit->trie, key, out_row, err);
}

static enum sirix_status damaged(const struct sirix_rows *rows, uint64_t key, const char *what,
                                 struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT,
                      "node %" PRIu64 " of resource %s, revision %" PRIu64 ": %s", key,
                      sirix_resource_name(rows->resource), rows->revision, what);
}

/* The row that begins at key exactly, decoded. */
static enum sirix_status exact_row(struct sirix_rows *rows, uint64_t key, struct sirix_node *out,
                                   struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_rows_get(rows, key, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        return damaged(rows, key, "another row names it, and it has no row", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return sirix_node_decode(row.record, key, out, err);
}

/* An edit's open child tree counts more truly than the record. */
static void set_count(const struct sirix_rows *rows, struct sirix_document_node *node)
{
    const struct sirix_open_list *open = NULL;

    if (!sirix_node_is_container(node->kind)) {
        return;
    }
    if (rows->edit != NULL && node->stored.child_tree) {
        open = sirix_edit_open_list_find(rows->edit, node->stored.key);
    }
    if (open != NULL) {
        node->stored.child_count = sirix_child_edit_count(open->children);
    }
    node->child_count = node->stored.child_count;
}

/* Completes a node whose listed row stands in stored. */
static enum sirix_status complete(struct sirix_rows *rows, struct sirix_document_node *node,
                                  struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint64_t key = node->stored.key;

    node->key = key;
    node->parent = node->stored.parent;
    if (sirix_node_is_field(node->stored.kind)) {
        node->is_member = true;
        if (node->stored.name_interned) {
            status = sirix_names_get(rows->resource, node->stored.name_id, &node->name, err);
        } else if (node->stored.name.address != 0) {
            node->long_name = node->stored.name;
        } else {
            node->name = node->stored.name.bytes;
        }
    }
    if (status == SIRIX_OK && node->stored.kind == SIRIX_NODE_FIELD) {
        node->field = node->stored;
        status = exact_row(rows, key + 1, &node->stored, err);
        if (status == SIRIX_OK &&
            (!sirix_node_is_container(node->stored.kind) || node->stored.parent != key)) {
            status = damaged(rows, key, "a member's value row is not its container", err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    node->kind = sirix_node_value_kind(node->stored.kind);
    set_count(rows, node);
    return SIRIX_OK;
}

enum sirix_status sirix_rows_child(struct sirix_rows *rows, uint64_t key,
                                   struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = exact_row(rows, key, &node.stored, err);

    if (status == SIRIX_OK) {
        status = complete(rows, &node, err);
    }
    if (status == SIRIX_OK) {
        *out_node = node;
    }
    return status;
}

/* Whether a row of kind FIELD begins at key. */
static enum sirix_status is_field_row(struct sirix_rows *rows, uint64_t key, bool *out_is,
                                      struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_rows_get(rows, key, &row, err);

    if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
        return status;
    }
    *out_is = status == SIRIX_OK && row.key == key && row.record.len != 0 &&
              (*(const uint8_t *)row.record.data & 0x0f) == SIRIX_NODE_FIELD;
    return SIRIX_OK;
}

enum sirix_status sirix_rows_canonical(struct sirix_rows *rows, uint64_t container,
                                       uint64_t *out_key, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool is_member = false;

    if (container > 2) {
        status = is_field_row(rows, container - 1, &is_member, err);
    }
    if (status == SIRIX_OK) {
        *out_key = is_member ? container - 1 : container;
    }
    return status;
}

static enum sirix_status document_node(struct sirix_rows *rows,
                                       struct sirix_document_node *out_node,
                                       struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_rows_get(rows, 1, &row, err);

    if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
        return status;
    }
    *out_node = (struct sirix_document_node){
        .kind = SIRIX_NODE_DOCUMENT,
        .child_count = status == SIRIX_OK ? 1 : 0,
    };
    return SIRIX_OK;
}

enum sirix_status sirix_rows_node(struct sirix_rows *rows, uint64_t key,
                                  struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_NOT_FOUND;

    if (key == 0) {
        return document_node(rows, out_node, err);
    }
    if (key <= SIRIX_KEY_MAX) {
        status = sirix_rows_get(rows, key, &row, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_NODE_UNKNOWN,
                                 "there is no node %" PRIu64 " in revision %" PRIu64, key,
                                 rows->revision);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(row.record, row.key, &node.stored, err);
    }
    if (status == SIRIX_OK && key > 2 && node.stored.parent == key - 1 &&
        sirix_node_is_container(node.stored.kind)) {
        bool is_member = false;
        status = is_field_row(rows, key - 1, &is_member, err);
        if (status == SIRIX_OK && is_member) {
            status = exact_row(rows, key - 1, &node.stored, err);
        }
    }
    if (status == SIRIX_OK) {
        status = complete(rows, &node, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_canonical(rows, node.parent, &node.parent, err);
    }
    if (status == SIRIX_OK) {
        *out_node = node;
    }
    return status;
}
