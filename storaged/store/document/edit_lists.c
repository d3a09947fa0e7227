/*
 * Changing child lists. Up to 64 children stand in the container's row; past that a child tree takes
 * over, which gives way to the row again at 32, so that a list at the border does not flap.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/edit_state.h"

/* Stands for the address of a page that is written at prepare. */
static uint64_t placeholder(void)
{
    return sirix_address_make(1, 0);
}

struct sirix_open_list *sirix_edit_open_list_find(struct sirix_edit *edit, uint64_t container)
{
    return sirix_map_get_ptr(&edit->open_lists, container);
}

void sirix_open_list_free(struct sirix_open_list *open)
{
    if (open == NULL) {
        return;
    }
    sirix_child_edit_free(open->children);
    sirix_name_edit_free(open->names);
    free(open);
}

void sirix_edit_open_list_drop(struct sirix_edit *edit, uint64_t container)
{
    uint64_t value = 0;

    if (sirix_map_remove(&edit->open_lists, container, &value)) {
        sirix_open_list_free(sirix_edit_pointer(value));
    }
}

void sirix_edit_open_lists_free(struct sirix_edit *edit)
{
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t value = 0;

    while (sirix_map_next(&edit->open_lists, &cursor, &key, &value)) {
        sirix_open_list_free(sirix_edit_pointer(value));
    }
    sirix_map_clear(&edit->open_lists);
}

enum sirix_status sirix_open_list_new(struct sirix_edit *edit, const struct sirix_node *container,
                                      struct sirix_open_list **out_open, struct sirix_error *err)
{
    struct sirix_open_list *open = calloc(1, sizeof(*open));
    enum sirix_status status = SIRIX_OK;

    if (open == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a child tree");
    }
    open->container = container->key;
    status = sirix_child_edit_new(edit->reader,
                                  container->child_tree ? container->child_tree_address : 0,
                                  &open->children, err);
    if (status == SIRIX_OK && container->kind == SIRIX_NODE_OBJECT) {
        status = sirix_name_edit_new(edit->reader,
                                     container->child_tree ? container->name_index_address : 0,
                                     &open->names, err);
    }
    if (status != SIRIX_OK) {
        sirix_open_list_free(open);
        return status;
    }
    *out_open = open;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_open_list_keep(struct sirix_edit *edit, struct sirix_open_list *open,
                                            struct sirix_error *err)
{
    assert(open != NULL);
    return sirix_map_put_ptr(&edit->open_lists, open->container, open, err);
}

void sirix_open_list_mark(struct sirix_node *container, const struct sirix_open_list *open)
{
    container->child_tree = true;
    container->child_count = sirix_child_edit_count(open->children);
    container->children = (struct sirix_bytes){0};
    container->child_tree_address = placeholder();
    container->name_index_address = open->names != NULL ? placeholder() : 0;
}

enum sirix_status sirix_edit_row(struct sirix_edit *edit, uint64_t key, struct sirix_node *out,
                                 struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_trie_edit_get(edit->trie, key, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " is named by another and has no row",
                          key);
    }
    return status == SIRIX_OK ? sirix_node_decode(row.record, key, out, err) : status;
}

enum sirix_status sirix_edit_name_hash(struct sirix_edit *edit, const struct sirix_node *field,
                                       struct sirix_name_hash *out_hash, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_buf name;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&name, SIZE_MAX);
    status = sirix_rows_name(&rows, field, &name, err);
    if (status == SIRIX_OK) {
        *out_hash =
            sirix_name_hash(sirix_resource_name_seed(edit->base.resource), sirix_buf_view(&name));
    }
    sirix_buf_deinit(&name);
    return status;
}

/* Writes labels into rows that do not have them yet. */
static enum sirix_status apply_labels(struct sirix_edit *edit,
                                      const struct sirix_child_label *labels, size_t count,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_node node = {0};
        status = sirix_edit_row(edit, labels[i].key, &node, err);
        if (status != SIRIX_OK ||
            (node.order == labels[i].order &&
             (node.order != SIRIX_ORDER_EXPLICIT || (node.label.major == labels[i].label.major &&
                                                     node.label.minor == labels[i].label.minor)))) {
            continue;
        }
        node.order = labels[i].order;
        node.label = labels[i].label;
        status = sirix_edit_put(edit, &node, err);
    }
    return status;
}

enum sirix_status sirix_open_list_insert(struct sirix_edit *edit, struct sirix_open_list *open,
                                         uint64_t index, struct sirix_node *child,
                                         uint32_t name_hash, struct sirix_error *err)
{
    const struct sirix_child_label *labels = NULL;
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    assert(open != NULL);
    status = sirix_child_edit_insert(open->children, index, child->key, &labels, &count, err);
    if (status != SIRIX_OK) {
        return status;
    }
    assert(count != 0 && labels[0].key == child->key);
    child->order = labels[0].order;
    child->label = labels[0].label;
    status = apply_labels(edit, labels + 1, count - 1, err);
    if (status == SIRIX_OK && open->names != NULL) {
        status = sirix_name_edit_insert(open->names, name_hash, child->key, err);
    }
    return status;
}

/* Moves the inline children of a container into a new child tree. */
static enum sirix_status open_inline(struct sirix_edit *edit, struct sirix_node *container,
                                     struct sirix_open_list **out_open, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    struct sirix_open_list *open = NULL;
    enum sirix_status status = sirix_node_children(container, keys, err);
    uint64_t count = container->child_count;

    if (status == SIRIX_OK) {
        status = sirix_open_list_new(edit, container, &open, err);
    }
    for (uint64_t i = 0; open != NULL && i < count && status == SIRIX_OK; i++) {
        struct sirix_node child = {0};
        struct sirix_child_label label = {0};
        struct sirix_name_hash hash = {0};
        status = sirix_edit_row(edit, keys[i], &child, err);
        if (status == SIRIX_OK && open->names != NULL) {
            status = sirix_edit_name_hash(edit, &child, &hash, err);
        }
        if (status == SIRIX_OK) {
            status =
                sirix_open_list_insert(edit, open, i, &child, sirix_name_hash_stored(hash), err);
        }
        if (status == SIRIX_OK) {
            label = (struct sirix_child_label){keys[i], child.order, child.label};
            status = apply_labels(edit, &label, 1, err);
        }
    }
    if (open != NULL && status == SIRIX_OK) {
        status = sirix_edit_open_list_keep(edit, open, err);
    }
    if (status != SIRIX_OK) {
        sirix_open_list_free(open);
        return status;
    }
    *out_open = open;
    return SIRIX_OK;
}

/* The open list of a container whose children are in a tree. */
static enum sirix_status open_tree(struct sirix_edit *edit, const struct sirix_node *container,
                                   struct sirix_open_list **out_open, struct sirix_error *err)
{
    struct sirix_open_list *open = sirix_edit_open_list_find(edit, container->key);
    enum sirix_status status = SIRIX_OK;

    if (open != NULL) {
        *out_open = open;
        return SIRIX_OK;
    }
    status = sirix_open_list_new(edit, container, &open, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_open_list_keep(edit, open, err);
    }
    if (status != SIRIX_OK) {
        sirix_open_list_free(open);
        return status;
    }
    *out_open = open;
    return SIRIX_OK;
}

/* Writes keys as the inline children of container, which may have been a tree. */
static enum sirix_status put_inline(struct sirix_edit *edit, struct sirix_node *container,
                                    const uint64_t *keys, uint64_t count, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&edit->deltas);
    status = sirix_node_children_encode(container->key, keys, (size_t)count, &edit->deltas, err);
    if (status != SIRIX_OK) {
        return status;
    }
    container->child_tree = false;
    container->child_count = count;
    container->children = sirix_buf_view(&edit->deltas);
    return sirix_edit_put(edit, container, err);
}

enum sirix_status sirix_edit_list_insert(struct sirix_edit *edit, uint64_t container,
                                         uint64_t index, struct sirix_node *child,
                                         uint32_t name_hash, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX + 1];
    struct sirix_open_list *open = NULL;
    struct sirix_node node = {0};
    enum sirix_status status = sirix_edit_row(edit, container, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!node.child_tree && node.child_count < SIRIX_NODE_CHILDREN_INLINE_MAX) {
        assert(index <= node.child_count);
        status = sirix_node_children(&node, keys, err);
        if (status != SIRIX_OK) {
            return status;
        }
        memmove(keys + index + 1, keys + index,
                (size_t)(node.child_count - index) * sizeof(keys[0]));
        keys[index] = child->key;
        child->order = SIRIX_ORDER_KEY;
        child->label = (struct sirix_label){0};
        return put_inline(edit, &node, keys, node.child_count + 1, err);
    }
    if (!node.child_tree) {
        status = open_inline(edit, &node, &open, err);
        /* Rows that were put may have moved the one that node looks into: read it again. */
        if (status == SIRIX_OK) {
            status = sirix_edit_row(edit, container, &node, err);
        }
    } else {
        status = open_tree(edit, &node, &open, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_open_list_insert(edit, open, index, child, name_hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_row(edit, container, &node, err);
    }
    if (status == SIRIX_OK && !node.child_tree) {
        sirix_open_list_mark(&node, open);
        status = sirix_edit_put(edit, &node, err);
    }
    return status;
}

/* A tree that has shrunk to few children: back into the row. */
static enum sirix_status close_small(struct sirix_edit *edit, struct sirix_node *container,
                                     struct sirix_open_list *open, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    uint64_t count = sirix_child_edit_count(open->children);
    enum sirix_status status = SIRIX_OK;

    for (uint64_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = sirix_child_edit_at(open->children, i, &keys[i], err);
    }
    if (status == SIRIX_OK) {
        sirix_edit_open_list_drop(edit, container->key);
        status = put_inline(edit, container, keys, count, err);
    }
    return status;
}

static enum sirix_status not_indexed(uint64_t key, uint64_t container, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT,
                      "member %" PRIu64 " is missing in the name index of %" PRIu64, key,
                      container);
}

enum sirix_status sirix_edit_list_remove(struct sirix_edit *edit, uint64_t container,
                                         uint64_t index, const struct sirix_node *child,
                                         uint32_t name_hash, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    struct sirix_open_list *open = NULL;
    struct sirix_node node = {0};
    enum sirix_status status = sirix_edit_row(edit, container, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!node.child_tree) {
        status = sirix_node_children(&node, keys, err);
        if (status != SIRIX_OK) {
            return status;
        }
        assert(index < node.child_count && keys[index] == child->key);
        memmove(keys + index, keys + index + 1,
                (size_t)(node.child_count - index - 1) * sizeof(keys[0]));
        return put_inline(edit, &node, keys, node.child_count - 1, err);
    }
    status = open_tree(edit, &node, &open, err);
    if (status == SIRIX_OK) {
        status = sirix_child_edit_remove(open->children, index, err);
    }
    if (status == SIRIX_OK && open->names != NULL) {
        status = sirix_name_edit_remove(open->names, name_hash, child->key, err);
        if (status == SIRIX_NOT_FOUND) {
            return not_indexed(child->key, container, err);
        }
    }
    if (status == SIRIX_OK &&
        sirix_child_edit_count(open->children) <= SIRIX_NODE_CHILDREN_INLINE_BACK) {
        status = close_small(edit, &node, open, err);
    }
    return status;
}

enum sirix_status sirix_edit_list_rename(struct sirix_edit *edit, uint64_t container, uint64_t key,
                                         uint32_t old_hash, uint32_t new_hash,
                                         struct sirix_error *err)
{
    struct sirix_open_list *open = NULL;
    struct sirix_node node = {0};
    enum sirix_status status = sirix_edit_row(edit, container, &node, err);

    if (status != SIRIX_OK || !node.child_tree) {
        return status;
    }
    status = open_tree(edit, &node, &open, err);
    if (status == SIRIX_OK) {
        status = sirix_name_edit_remove(open->names, old_hash, key, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        return not_indexed(key, container, err);
    }
    return status == SIRIX_OK ? sirix_name_edit_insert(open->names, new_hash, key, err) : status;
}

enum sirix_status sirix_edit_open_lists_write(struct sirix_edit *edit,
                                              struct sirix_page_writer *writer,
                                              struct sirix_error *err)
{
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t value = 0;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && sirix_map_next(&edit->open_lists, &cursor, &key, &value)) {
        struct sirix_open_list *open = sirix_edit_pointer(value);
        struct sirix_node node = {0};
        uint64_t tree = 0;
        uint64_t names = 0;
        status = sirix_edit_pause(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_child_edit_write(open->children, writer, &tree, err);
        }
        if (status == SIRIX_OK && open->names != NULL) {
            status = sirix_name_edit_write(open->names, writer, &names, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_edit_row(edit, key, &node, err);
        }
        if (status == SIRIX_OK) {
            node.child_count = sirix_child_edit_count(open->children);
            node.child_tree_address = tree;
            node.name_index_address = names;
            status = sirix_edit_put(edit, &node, err);
        }
    }
    return status;
}
