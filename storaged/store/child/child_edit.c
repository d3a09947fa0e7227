/* Changing child trees: inserts with their labels, removes, and reading through the changes. */
#include <assert.h>
#include <stdlib.h>

#include "store/child/child_label.h"
#include "store/child/child_nodes.h"
#include "store/child/child_tree.h"

struct sirix_child_edit {
    struct sirix_child_nodes nodes;
    struct sirix_child_label *labels; /* What the last insert told. */
    size_t labels_max;
};

enum sirix_status sirix_child_edit_new(struct sirix_reader *reader, uint64_t root,
                                       struct sirix_child_edit **out_edit, struct sirix_error *err)
{
    struct sirix_child_edit *edit = calloc(1, sizeof(*edit));
    enum sirix_status status = SIRIX_OK;

    if (edit == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a child tree's changes");
    }
    status = sirix_child_nodes_init(&edit->nodes, reader, SIRIX_CHILD_KIND_CHILDREN, root, err);
    if (status != SIRIX_OK) {
        free(edit);
        return status;
    }
    *out_edit = edit;
    return SIRIX_OK;
}

void sirix_child_edit_free(struct sirix_child_edit *edit)
{
    if (edit == NULL) {
        return;
    }
    sirix_child_nodes_deinit(&edit->nodes);
    free(edit->labels);
    free(edit);
}

uint64_t sirix_child_edit_count(const struct sirix_child_edit *edit)
{
    return edit->nodes.count;
}

/* --- Reading ------------------------------------------------------------------------------------ */

enum sirix_status sirix_child_edit_at(struct sirix_child_edit *edit, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err)
{
    const struct sirix_child_node *node = edit->nodes.root;

    if (index >= edit->nodes.count) {
        return SIRIX_NOT_FOUND;
    }
    while (node->page.level != 0) {
        uint32_t position = 0;

        while (index >= node->page.entries[position].count) {
            index -= node->page.entries[position].count;
            position += 1;
        }
        if (node->below[position] == NULL) {
            return sirix_child_tree_at(edit->nodes.reader, node->page.entries[position].address,
                                       index, out_key, err);
        }
        node = node->below[position];
    }
    *out_key = node->page.items[index].key;
    return SIRIX_OK;
}

enum sirix_status sirix_child_edit_index(struct sirix_child_edit *edit, uint64_t key,
                                         struct sirix_label label, uint64_t *out_index,
                                         struct sirix_error *err)
{
    const struct sirix_child_node *node = edit->nodes.root;
    uint64_t index = 0;
    int position = 0;

    if (node == NULL) {
        return SIRIX_NOT_FOUND;
    }
    while (node->page.level != 0) {
        position = sirix_child_page_seek(&node->page, label);
        if (position < 0) {
            return SIRIX_NOT_FOUND;
        }
        for (int i = 0; i < position; i++) {
            index += node->page.entries[i].count;
        }
        if (node->below[position] == NULL) {
            enum sirix_status status =
                sirix_child_tree_index(edit->nodes.reader, node->page.entries[position].address,
                                       key, label, out_index, err);
            *out_index += status == SIRIX_OK ? index : 0;
            return status;
        }
        node = node->below[position];
    }
    position = sirix_child_page_seek(&node->page, label);
    if (position < 0 || node->page.items[position].key != key ||
        sirix_label_compare(node->page.items[position].label, label) != 0) {
        return SIRIX_NOT_FOUND;
    }
    *out_index = index + (uint64_t)position;
    return SIRIX_OK;
}

/* --- Inserting ---------------------------------------------------------------------------------- */

static enum sirix_status reserve_labels(struct sirix_child_edit *edit, uint64_t count,
                                        struct sirix_error *err)
{
    struct sirix_child_label *labels = edit->labels;

    if (count <= edit->labels_max) {
        return SIRIX_OK;
    }
    if (count <= SIZE_MAX / sizeof(*labels)) {
        labels = realloc(edit->labels, (size_t)count * sizeof(*labels));
    }
    if (labels == NULL || count > SIZE_MAX / sizeof(*labels)) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the labels of a child tree");
    }
    edit->labels = labels;
    edit->labels_max = (size_t)count;
    return SIRIX_OK;
}

/* The neighbours of the place at path; the right one may stand in the next leaf. */
static enum sirix_status find_neighbours(struct sirix_child_edit *edit, uint64_t index,
                                         const struct sirix_child_path *path,
                                         const struct sirix_child_item **out_left,
                                         const struct sirix_child_item **out_right,
                                         struct sirix_error *err)
{
    const struct sirix_child_page *leaf = &path->nodes[0]->page;
    uint32_t position = path->positions[0];
    enum sirix_status status = SIRIX_OK;

    /* Between two leaves the place is the end of the left one: only index 0 has nothing to the left. */
    assert(position != 0 || index == 0);
    *out_left = position == 0 ? NULL : &leaf->items[position - 1];
    *out_right = position == leaf->count ? NULL : &leaf->items[position];
    if (position == leaf->count && index < edit->nodes.count) {
        struct sirix_child_path next;

        status = sirix_child_nodes_seek_item(&edit->nodes, index, &next, err);
        if (status == SIRIX_OK) {
            *out_right = &next.nodes[0]->page.items[next.positions[0]];
        }
    }
    return status;
}

/* A run goes on where a neighbour is the newest child of the leaf, and the new one newer still. */
static enum sirix_child_run find_run(const struct sirix_child_path *path, uint64_t key,
                                     bool at_end_of_tree, bool at_start_of_tree)
{
    const struct sirix_child_page *leaf = &path->nodes[0]->page;
    uint32_t position = path->positions[0];
    uint32_t newest = 0;

    if (at_end_of_tree) {
        return SIRIX_CHILD_RUN_AFTER;
    }
    if (at_start_of_tree) {
        return SIRIX_CHILD_RUN_BEFORE;
    }
    for (uint32_t i = 1; i < leaf->count; i++) {
        newest = leaf->items[i].key > leaf->items[newest].key ? i : newest;
    }
    if (key > leaf->items[newest].key && newest + 1 == position) {
        return SIRIX_CHILD_RUN_AFTER;
    }
    if (key > leaf->items[newest].key && newest == position) {
        return SIRIX_CHILD_RUN_BEFORE;
    }
    return SIRIX_CHILD_RUN_NONE;
}

/* Gives the plan's children their new labels, and notes them behind the new child's. */
static enum sirix_status relabel(struct sirix_child_edit *edit, const struct sirix_relabel *plan,
                                 uint64_t index, struct sirix_error *err)
{
    uint64_t done = 0;

    while (done < plan->count) {
        struct sirix_child_path path;
        struct sirix_child_item *items = NULL;
        enum sirix_status status =
            sirix_child_nodes_seek_item(&edit->nodes, plan->first + done, &path, err);

        if (status != SIRIX_OK) {
            return status;
        }
        items = path.nodes[0]->page.items;
        for (uint32_t i = 0; i < path.nodes[0]->page.count; i++) {
            bool behind = plan->first + done >= index;

            items[i].order = SIRIX_ORDER_EXPLICIT;
            items[i].label = sirix_relabel_at(plan, done + (behind ? 1 : 0));
            done += 1;
            edit->labels[done] = (struct sirix_child_label){
                .key = items[i].key,
                .order = SIRIX_ORDER_EXPLICIT,
                .label = items[i].label,
            };
        }
        sirix_child_nodes_touch(&path);
    }
    return SIRIX_OK;
}

/* Everything that can fail for an insert that is not the first: the item with its label, the plan. */
static enum sirix_status prepare_insert(struct sirix_child_edit *edit, uint64_t index,
                                        const struct sirix_child_path *path,
                                        struct sirix_child_item *item, struct sirix_relabel *plan,
                                        struct sirix_error *err)
{
    const struct sirix_child_item *left = NULL;
    const struct sirix_child_item *right = NULL;
    enum sirix_status status = find_neighbours(edit, index, path, &left, &right, err);

    *plan = (struct sirix_relabel){.first = index};
    if (status == SIRIX_OK && !sirix_label_choose(left, right, item->key, item)) {
        status = sirix_relabel_plan(&edit->nodes, path, index, plan, err);
        if (status == SIRIX_OK) {
            item->order = SIRIX_ORDER_EXPLICIT;
            item->label = sirix_relabel_at(plan, index - plan->first);
        }
    }
    if (status == SIRIX_OK) {
        status = reserve_labels(edit, plan->count + 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_child_nodes_reserve(&edit->nodes, path, err);
    }
    return status;
}

enum sirix_status sirix_child_edit_insert(struct sirix_child_edit *edit, uint64_t index,
                                          uint64_t key, const struct sirix_child_label **out_labels,
                                          size_t *out_count, struct sirix_error *err)
{
    struct sirix_child_nodes *nodes = &edit->nodes;
    struct sirix_child_item item = {.key = key};
    struct sirix_relabel plan = {0};
    struct sirix_child_path path;
    enum sirix_status status = SIRIX_OK;

    assert(key != 0 && key <= INT64_MAX);
    assert(index <= nodes->count);

    if (nodes->root == NULL) {
        (void)sirix_label_choose(NULL, NULL, key, &item); /* Into nothing there is always room. */
        status = reserve_labels(edit, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_child_nodes_reserve(nodes, NULL, err);
        }
        if (status == SIRIX_OK) {
            sirix_child_nodes_insert(nodes, NULL, &item, SIRIX_CHILD_RUN_NONE);
        }
    } else {
        status = sirix_child_nodes_seek_index(nodes, index, &path, err);
        if (status == SIRIX_OK) {
            status = prepare_insert(edit, index, &path, &item, &plan, err);
        }
        if (status == SIRIX_OK) {
            status = relabel(edit, &plan, index, err); /* All its pages are loaded. */
        }
        if (status == SIRIX_OK) {
            sirix_child_nodes_insert(nodes, &path, &item,
                                     find_run(&path, key, index == nodes->count, index == 0));
        }
    }
    if (status == SIRIX_OK) {
        edit->labels[0] =
            (struct sirix_child_label){.key = key, .order = item.order, .label = item.label};
        *out_labels = edit->labels;
        *out_count = (size_t)plan.count + 1;
    }
    return status;
}

enum sirix_status sirix_child_edit_remove(struct sirix_child_edit *edit, uint64_t index,
                                          struct sirix_error *err)
{
    struct sirix_child_path path;
    enum sirix_status status = SIRIX_OK;

    assert(index < edit->nodes.count);
    status = sirix_child_nodes_seek_item(&edit->nodes, index, &path, err);
    if (status == SIRIX_OK) {
        status = sirix_child_nodes_remove(&edit->nodes, &path, err);
    }
    return status;
}

enum sirix_status sirix_child_edit_write(struct sirix_child_edit *edit,
                                         struct sirix_page_writer *writer, uint64_t *out_root,
                                         struct sirix_error *err)
{
    return sirix_child_nodes_write(&edit->nodes, writer, out_root, err);
}
