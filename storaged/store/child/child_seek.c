/* Ways from the root of a tree in memory to a place in a leaf. */
#include <assert.h>

#include "store/child/child_nodes.h"

/* keep_left: index == items below an entry still belongs to it. */
static enum sirix_status seek(struct sirix_child_nodes *nodes, uint64_t index, bool keep_left,
                              struct sirix_child_path *out_path, struct sirix_error *err)
{
    struct sirix_child_node *node = nodes->root;

    assert(node != NULL && index <= nodes->count);
    out_path->height = node->page.level;
    for (uint32_t level = out_path->height; level > 0; level--) {
        uint32_t position = 0;
        enum sirix_status status = SIRIX_OK;

        while (position + 1 < node->page.count &&
               (index > node->page.entries[position].count ||
                (index == node->page.entries[position].count && !keep_left))) {
            index -= node->page.entries[position].count;
            position += 1;
        }
        out_path->nodes[level] = node;
        out_path->positions[level] = position;
        status = sirix_child_nodes_below(nodes, node, position, &node, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    out_path->nodes[0] = node;
    out_path->positions[0] = (uint32_t)index;
    return SIRIX_OK;
}

enum sirix_status sirix_child_nodes_seek_index(struct sirix_child_nodes *nodes, uint64_t index,
                                               struct sirix_child_path *out_path,
                                               struct sirix_error *err)
{
    return seek(nodes, index, true, out_path, err);
}

enum sirix_status sirix_child_nodes_seek_item(struct sirix_child_nodes *nodes, uint64_t index,
                                              struct sirix_child_path *out_path,
                                              struct sirix_error *err)
{
    assert(index < nodes->count);
    return seek(nodes, index, false, out_path, err);
}

enum sirix_status sirix_child_nodes_seek_label(struct sirix_child_nodes *nodes,
                                               struct sirix_label label,
                                               struct sirix_child_path *out_path,
                                               uint64_t *out_index, struct sirix_error *err)
{
    struct sirix_child_node *node = nodes->root;
    uint64_t index = 0;

    assert(node != NULL);
    out_path->height = node->page.level;
    for (uint32_t level = out_path->height; level > 0; level--) {
        int found = sirix_child_page_seek(&node->page, label);
        uint32_t position = found < 0 ? 0 : (uint32_t)found;
        enum sirix_status status = SIRIX_OK;

        for (uint32_t i = 0; i < position; i++) {
            index += node->page.entries[i].count;
        }
        out_path->nodes[level] = node;
        out_path->positions[level] = position;
        status = sirix_child_nodes_below(nodes, node, position, &node, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    out_path->nodes[0] = node;
    out_path->positions[0] = (uint32_t)(sirix_child_page_seek(&node->page, label) + 1);
    *out_index = index + out_path->positions[0];
    return SIRIX_OK;
}
