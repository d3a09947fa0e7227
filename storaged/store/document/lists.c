/*
 * Child lists: inline keys, stored child trees and the open ones of an edit behind one face.
 */
#include "store/document/rows.h"

#include <inttypes.h>

#include "store/document/edit_state.h"

enum sirix_status sirix_list_of(struct sirix_rows *rows, const struct sirix_document_node *node,
                                struct sirix_list *out_list, struct sirix_error *err)
{
    struct sirix_list list = {
        .kind = node->kind,
        .container = node->stored.key,
        .count = node->child_count,
        .stored = node->stored,
    };

    (void)err;
    if (rows->edit != NULL && sirix_node_is_container(node->kind) && node->stored.child_tree) {
        list.open = sirix_edit_open_list_find(rows->edit, list.container);
    }
    if (list.open != NULL) {
        list.count = sirix_child_edit_count(list.open->children);
    }
    *out_list = list;
    return SIRIX_OK;
}

enum sirix_status sirix_list_at(struct sirix_rows *rows, const struct sirix_list *list,
                                uint64_t index, uint64_t *out_key, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = SIRIX_OK;

    if (index >= list->count) {
        return SIRIX_NOT_FOUND;
    }
    if (list->kind == SIRIX_NODE_DOCUMENT) {
        *out_key = 1;
        return SIRIX_OK;
    }
    if (list->open != NULL) {
        return sirix_child_edit_at(list->open->children, index, out_key, err);
    }
    if (list->stored.child_tree) {
        return sirix_child_tree_at(rows->reader, list->stored.child_tree_address, index, out_key,
                                   err);
    }
    status = sirix_node_children(&list->stored, keys, err);
    if (status == SIRIX_OK) {
        *out_key = keys[index];
    }
    return status;
}

static enum sirix_status not_listed(const struct sirix_rows *rows, const struct sirix_node *listed,
                                    struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT,
                      "node %" PRIu64 " of resource %s, revision %" PRIu64
                      " is not in the child list of its parent",
                      listed->key, sirix_resource_name(rows->resource), rows->revision);
}

enum sirix_status sirix_list_index(struct sirix_rows *rows, const struct sirix_list *list,
                                   const struct sirix_node *listed, uint64_t *out_index,
                                   struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = SIRIX_OK;
    struct sirix_label label = {0};

    if (list->kind == SIRIX_NODE_DOCUMENT) {
        *out_index = 0;
        return SIRIX_OK;
    }
    if (list->stored.child_tree) {
        label = sirix_node_label(listed);
        status =
            list->open != NULL
                ? sirix_child_edit_index(list->open->children, listed->key, label, out_index, err)
                : sirix_child_tree_index(rows->reader, list->stored.child_tree_address, listed->key,
                                         label, out_index, err);
        return status == SIRIX_NOT_FOUND ? not_listed(rows, listed, err) : status;
    }
    status = sirix_node_children(&list->stored, keys, err);
    if (status != SIRIX_OK) {
        return status;
    }
    for (uint64_t i = 0; i < list->count; i++) {
        if (keys[i] == listed->key) {
            *out_index = i;
            return SIRIX_OK;
        }
    }
    return not_listed(rows, listed, err);
}

/* --- Members by name --------------------------------------------------------------------------- */

/* A name that is looked for, and what the dictionary knows of it. */
struct wanted {
    struct sirix_rows *rows;
    struct sirix_bytes name;
    bool has_id;
    uint32_t id;
    bool found;
    uint64_t key;
};

static enum sirix_status matches(const struct wanted *wanted, const struct sirix_node *field,
                                 bool *out_equal, struct sirix_error *err)
{
    if (field->name_interned) {
        *out_equal = wanted->has_id && field->name_id == wanted->id;
        return SIRIX_OK;
    }
    return sirix_rows_text_equals(wanted->rows, &field->name, wanted->name, out_equal, err);
}

static enum sirix_status look(struct wanted *wanted, uint64_t key, bool *out_equal,
                              struct sirix_error *err)
{
    struct sirix_row row = {0};
    struct sirix_node field = {0};
    enum sirix_status status = sirix_rows_get(wanted->rows, key, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        field.key = key;
        return not_listed(wanted->rows, &field, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(row.record, key, &field, err);
    }
    if (status == SIRIX_OK && !sirix_node_is_field(field.kind)) {
        return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " stands in an object without a name",
                          key);
    }
    return status == SIRIX_OK ? matches(wanted, &field, out_equal, err) : status;
}

static enum sirix_status candidate(void *context, uint64_t key, bool *stop, struct sirix_error *err)
{
    struct wanted *wanted = context;
    enum sirix_status status = look(wanted, key, &wanted->found, err);

    if (status == SIRIX_OK && wanted->found) {
        wanted->key = key;
        *stop = true;
    }
    return status;
}

static enum sirix_status find_inline(struct wanted *wanted, const struct sirix_list *list,
                                     struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = sirix_node_children(&list->stored, keys, err);

    for (uint64_t i = 0; i < list->count && status == SIRIX_OK && !wanted->found; i++) {
        status = look(wanted, keys[i], &wanted->found, err);
        wanted->key = keys[i];
    }
    return status;
}

enum sirix_status sirix_list_member(struct sirix_rows *rows, const struct sirix_list *list,
                                    struct sirix_bytes name, uint64_t *out_key,
                                    struct sirix_error *err)
{
    struct wanted wanted = {.rows = rows, .name = name};
    enum sirix_status status = SIRIX_OK;

    if (list->kind != SIRIX_NODE_OBJECT || list->count == 0) {
        return SIRIX_NOT_FOUND;
    }
    wanted.has_id = sirix_names_find(rows->resource, name, &wanted.id);
    if (!list->stored.child_tree) {
        status = find_inline(&wanted, list, err);
    } else {
        uint32_t hash =
            sirix_name_hash_stored(sirix_name_hash(sirix_resource_name_seed(rows->resource), name));
        status = list->open != NULL
                     ? sirix_name_edit_find(list->open->names, hash, candidate, &wanted, err)
                     : sirix_name_index_find(rows->reader, list->stored.name_index_address, hash,
                                             candidate, &wanted, err);
    }
    if (status == SIRIX_OK && !wanted.found) {
        return SIRIX_NOT_FOUND;
    }
    if (status == SIRIX_OK) {
        *out_key = wanted.key;
    }
    return status;
}

enum sirix_status sirix_rows_name_equals(struct sirix_rows *rows, const struct sirix_node *field,
                                         struct sirix_bytes name, bool *out_equal,
                                         struct sirix_error *err)
{
    struct wanted wanted = {.rows = rows, .name = name};

    wanted.has_id = sirix_names_find(rows->resource, name, &wanted.id);
    return matches(&wanted, field, out_equal, err);
}

/* --- Siblings ---------------------------------------------------------------------------------- */

enum sirix_status sirix_siblings_init(struct sirix_siblings *siblings, struct sirix_rows *rows,
                                      const struct sirix_list *list, uint64_t first_index,
                                      struct sirix_error *err)
{
    siblings->index = first_index;
    siblings->count = list->count;
    if (list->open != NULL) {
        siblings->form = SIRIX_SIBLINGS_EDIT;
        siblings->from.edit = list->open->children;
        return SIRIX_OK;
    }
    if (list->stored.child_tree) {
        siblings->form = SIRIX_SIBLINGS_TREE;
        sirix_child_cursor_init(&siblings->from.cursor, rows->reader,
                                list->stored.child_tree_address, first_index);
        return SIRIX_OK;
    }
    siblings->form = SIRIX_SIBLINGS_KEYS;
    if (list->kind == SIRIX_NODE_DOCUMENT) {
        siblings->from.keys[0] = 1;
        return SIRIX_OK;
    }
    return list->count == 0 ? SIRIX_OK
                            : sirix_node_children(&list->stored, siblings->from.keys, err);
}

enum sirix_status sirix_siblings_next(struct sirix_siblings *siblings, uint64_t *out_key,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (siblings->index >= siblings->count) {
        return SIRIX_NOT_FOUND;
    }
    switch (siblings->form) {
    case SIRIX_SIBLINGS_KEYS:
        *out_key = siblings->from.keys[siblings->index];
        break;
    case SIRIX_SIBLINGS_TREE:
        status = sirix_child_cursor_next(&siblings->from.cursor, out_key, err);
        break;
    case SIRIX_SIBLINGS_EDIT:
        status = sirix_child_edit_at(siblings->from.edit, siblings->index, out_key, err);
        break;
    }
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "a child tree ends before its count");
    }
    if (status == SIRIX_OK) {
        siblings->index++;
    }
    return status;
}
