/* Pages in memory: loading, splitting, merging, and writing what changed. */
#include "store/child/child_nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/page/page.h"

enum {
    POINTER_BYTES = sizeof(void *),
    LEAF_UNDERFULL = SIRIX_CHILD_LEAF_MAX / 4,
    LEAF_JOINED_MAX = SIRIX_CHILD_LEAF_MAX * 3 / 4,
    INNER_UNDERFULL = SIRIX_CHILD_INNER_MAX / 4,
    INNER_JOINED_MAX = SIRIX_CHILD_INNER_MAX * 3 / 4,
};

static uint32_t page_max(uint32_t level)
{
    return level == 0 ? SIRIX_CHILD_LEAF_MAX : SIRIX_CHILD_INNER_MAX;
}

/* --- Nodes -------------------------------------------------------------------------------------- */

static enum sirix_status reserve_spares(struct sirix_child_nodes *nodes, size_t count,
                                        struct sirix_error *err)
{
    while (nodes->spare_count < count) {
        struct sirix_child_node *node = malloc(sizeof(*node));

        if (node == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a page of a child tree");
        }
        node->next_free = nodes->spare;
        nodes->spare = node;
        nodes->spare_count += 1;
    }
    return SIRIX_OK;
}

/* A dirty node without content; there is a spare one. */
static struct sirix_child_node *take_spare(struct sirix_child_nodes *nodes, uint32_t level)
{
    struct sirix_child_node *node = nodes->spare;

    assert(node != NULL);
    nodes->spare = node->next_free;
    nodes->spare_count -= 1;
    node->dirty = true;
    node->page.level = level;
    node->page.count = 0;
    memset(node->below, 0, sizeof(node->below));
    return node;
}

static void give_spare(struct sirix_child_nodes *nodes, struct sirix_child_node *node)
{
    node->next_free = nodes->spare;
    nodes->spare = node;
    nodes->spare_count += 1;
}

static enum sirix_status load_node(struct sirix_child_nodes *nodes, uint64_t address,
                                   uint32_t level, struct sirix_child_node **out_node,
                                   struct sirix_error *err)
{
    enum sirix_status status = reserve_spares(nodes, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_child_page_load(nodes->reader, nodes->kind, address, level,
                                       &nodes->spare->page, err);
    }
    if (status == SIRIX_OK) {
        struct sirix_child_node *node = nodes->spare;
        uint32_t count = node->page.count;

        level = node->page.level;
        node = take_spare(nodes, level);
        node->page.count = count;
        node->dirty = false;
        *out_node = node;
    }
    return status;
}

enum sirix_status sirix_child_nodes_below(struct sirix_child_nodes *nodes,
                                          struct sirix_child_node *node, uint32_t position,
                                          struct sirix_child_node **out_node,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (node->below[position] == NULL) {
        const struct sirix_child_entry *entry = &node->page.entries[position];
        struct sirix_child_node *loaded = NULL;

        status = load_node(nodes, entry->address, node->page.level - 1, &loaded, err);
        if (status == SIRIX_OK && sirix_child_page_total(&loaded->page) != entry->count) {
            give_spare(nodes, loaded);
            status =
                sirix_page_damaged(entry->address, "its count differs from the page above", err);
        }
        if (status == SIRIX_OK) {
            node->below[position] = loaded;
        }
    }
    if (status == SIRIX_OK) {
        *out_node = node->below[position];
    }
    return status;
}

/* Puts the loaded nodes below a node on a list. */
static struct sirix_child_node *list_below(struct sirix_child_node *node,
                                           struct sirix_child_node *list)
{
    for (uint32_t i = 0; node->page.level != 0 && i < node->page.count; i++) {
        if (node->below[i] != NULL) {
            node->below[i]->next_free = list;
            list = node->below[i];
        }
    }
    return list;
}

/* Gives a node and everything below it to the spares. */
static void drop_tree(struct sirix_child_nodes *nodes, struct sirix_child_node *root)
{
    struct sirix_child_node *todo = root;

    if (root != NULL) {
        root->next_free = NULL;
    }
    while (todo != NULL) {
        struct sirix_child_node *node = todo;

        todo = list_below(node, node->next_free);
        give_spare(nodes, node);
    }
}

enum sirix_status sirix_child_nodes_init(struct sirix_child_nodes *nodes,
                                         struct sirix_reader *reader, enum sirix_child_kind kind,
                                         uint64_t root, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *nodes = (struct sirix_child_nodes){.reader = reader, .kind = kind, .address = root};
    if (root != 0) {
        status = load_node(nodes, root, SIRIX_CHILD_LEVEL_ANY, &nodes->root, err);
    }
    if (status != SIRIX_OK) {
        sirix_child_nodes_deinit(nodes);
        return status;
    }
    nodes->count = root == 0 ? 0 : sirix_child_page_total(&nodes->root->page);
    return status;
}

void sirix_child_nodes_deinit(struct sirix_child_nodes *nodes)
{
    drop_tree(nodes, nodes->root);
    while (nodes->spare != NULL) {
        struct sirix_child_node *node = nodes->spare;

        nodes->spare = node->next_free;
        free(node);
    }
    *nodes = (struct sirix_child_nodes){0};
}

/* --- Inserting ---------------------------------------------------------------------------------- */

enum sirix_status sirix_child_nodes_reserve(struct sirix_child_nodes *nodes,
                                            const struct sirix_child_path *path,
                                            struct sirix_error *err)
{
    uint32_t level = 0;

    if (path == NULL) {
        return reserve_spares(nodes, 1, err);
    }
    while (level <= path->height && path->nodes[level]->page.count == page_max(level)) {
        level += 1;
    }
    if (level == SIRIX_CHILD_HEIGHT_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "the child tree has its full height of %d levels",
                          SIRIX_CHILD_HEIGHT_MAX);
    }
    /* One for each split, and one for a new root. */
    return reserve_spares(nodes, level > path->height ? level + 1 : level, err);
}

static void insert_item(struct sirix_child_node *leaf, uint32_t position,
                        const struct sirix_child_item *item)
{
    struct sirix_child_item *items = leaf->page.items;

    memmove(items + position + 1, items + position,
            (leaf->page.count - position) * sizeof(items[0]));
    items[position] = *item;
    leaf->page.count += 1;
}

static void insert_below(struct sirix_child_node *inner, uint32_t position,
                         struct sirix_child_node *below)
{
    struct sirix_child_entry *entries = inner->page.entries;
    uint32_t moved = inner->page.count - position;

    memmove(entries + position + 1, entries + position, moved * sizeof(entries[0]));
    memmove(inner->below + position + 1, inner->below + position, (size_t)moved * POINTER_BYTES);
    entries[position] = (struct sirix_child_entry){
        .count = sirix_child_page_total(&below->page),
        .first = sirix_child_page_first(&below->page),
    };
    inner->below[position] = below;
    inner->page.count += 1;
}

/* Moves everything from cut on to the (empty) node right. */
static void cut_node(struct sirix_child_node *node, uint32_t cut, struct sirix_child_node *right)
{
    uint32_t moved = node->page.count - cut;

    if (node->page.level == 0) {
        memcpy(right->page.items, node->page.items + cut, moved * sizeof(node->page.items[0]));
    } else {
        memcpy(right->page.entries, node->page.entries + cut,
               moved * sizeof(node->page.entries[0]));
        memcpy(right->below, node->below + cut, (size_t)moved * POINTER_BYTES);
        memset(node->below + cut, 0, (size_t)moved * POINTER_BYTES);
    }
    right->page.count = moved;
    node->page.count = cut;
}

/*
 * Makes room for one more at *position of a full node: gives its new right neighbour, and sets *node
 * and *position to where the insert now belongs.
 */
static struct sirix_child_node *split(struct sirix_child_nodes *nodes,
                                      struct sirix_child_node **node, uint32_t *position,
                                      enum sirix_child_run run)
{
    struct sirix_child_node *left = *node;
    struct sirix_child_node *right = take_spare(nodes, left->page.level);
    uint32_t max = left->page.count;
    uint32_t cut = run == SIRIX_CHILD_RUN_NONE ? max / 2 : *position;
    bool to_right = *position > cut;

    if (*position == cut && run != SIRIX_CHILD_RUN_NONE) {
        to_right = run == SIRIX_CHILD_RUN_AFTER ? cut == max : cut != 0;
    }
    cut_node(left, cut, right);
    if (to_right) {
        *node = right;
        *position -= cut;
    }
    left->dirty = true;
    return right;
}

static void update_entry(struct sirix_child_node *inner, uint32_t position)
{
    struct sirix_child_page *below = &inner->below[position]->page;

    inner->page.entries[position].count = sirix_child_page_total(below);
    inner->page.entries[position].first = sirix_child_page_first(below);
    inner->dirty = true;
}

static void grow_root(struct sirix_child_nodes *nodes, struct sirix_child_node *right)
{
    struct sirix_child_node *root = take_spare(nodes, nodes->root->page.level + 1);

    insert_below(root, 0, nodes->root);
    insert_below(root, 1, right);
    nodes->root = root;
}

/*
 * Puts an item (into a leaf) or, item NULL, the node that was added below into a node of the way,
 * splitting it where it is full; gives the node that this adds beside it, or NULL.
 */
static struct sirix_child_node *put_in(struct sirix_child_nodes *nodes,
                                       struct sirix_child_node *node, uint32_t position,
                                       const struct sirix_child_item *item,
                                       struct sirix_child_node *below, enum sirix_child_run run)
{
    struct sirix_child_node *added = NULL;

    if (node->page.count == page_max(node->page.level)) {
        added = split(nodes, &node, &position, run);
    }
    if (item != NULL) {
        insert_item(node, position, item);
    } else {
        insert_below(node, position, below);
    }
    return added;
}

void sirix_child_nodes_insert(struct sirix_child_nodes *nodes, const struct sirix_child_path *path,
                              const struct sirix_child_item *item, enum sirix_child_run run)
{
    struct sirix_child_node *added = NULL;

    nodes->count += 1;
    if (path == NULL) {
        nodes->root = take_spare(nodes, 0);
        insert_item(nodes->root, 0, item);
        return;
    }
    path->nodes[0]->dirty = true;
    added = put_in(nodes, path->nodes[0], path->positions[0], item, NULL, run);
    for (uint32_t level = 1; level <= path->height; level++) {
        update_entry(path->nodes[level], path->positions[level]);
        if (added != NULL) {
            added = put_in(nodes, path->nodes[level], path->positions[level] + 1, NULL, added, run);
        }
    }
    if (added != NULL) {
        grow_root(nodes, added);
    }
}

/* --- Removing ----------------------------------------------------------------------------------- */

static bool falls_under(const struct sirix_child_node *node)
{
    uint32_t least = node->page.level == 0 ? LEAF_UNDERFULL : INNER_UNDERFULL;

    return node->page.count <= least;
}

/* Where the neighbour is that a node at position would join. */
static uint32_t neighbour(uint32_t position)
{
    return position == 0 ? 1 : position - 1;
}

static void remove_entry(struct sirix_child_node *inner, uint32_t position)
{
    struct sirix_child_entry *entries = inner->page.entries;
    uint32_t moved = inner->page.count - position - 1;

    memmove(entries + position, entries + position + 1, moved * sizeof(entries[0]));
    memmove(inner->below + position, inner->below + position + 1, (size_t)moved * POINTER_BYTES);
    inner->page.count -= 1;
    inner->below[inner->page.count] = NULL;
    inner->dirty = true;
}

/* Joins the nodes at position and its neighbour when they fit; both are loaded. */
static void join(struct sirix_child_nodes *nodes, struct sirix_child_node *parent,
                 uint32_t position)
{
    uint32_t at = position == 0 ? 0 : position - 1;
    struct sirix_child_node *left = parent->below[at];
    struct sirix_child_node *right = parent->below[at + 1];
    uint32_t joined = left->page.count + right->page.count;

    if (joined > (left->page.level == 0 ? LEAF_JOINED_MAX : INNER_JOINED_MAX)) {
        return;
    }
    if (left->page.level == 0) {
        memcpy(left->page.items + left->page.count, right->page.items,
               right->page.count * sizeof(left->page.items[0]));
    } else {
        memcpy(left->page.entries + left->page.count, right->page.entries,
               right->page.count * sizeof(left->page.entries[0]));
        memcpy(left->below + left->page.count, right->below,
               (size_t)right->page.count * POINTER_BYTES);
    }
    left->page.count = joined;
    left->dirty = true;
    give_spare(nodes, right);
    remove_entry(parent, at + 1);
    update_entry(parent, at);
}

/* Loads the neighbours that joining along path may need. */
static enum sirix_status load_neighbours(struct sirix_child_nodes *nodes,
                                         const struct sirix_child_path *path,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t level = 0; level < path->height && status == SIRIX_OK; level++) {
        struct sirix_child_node *parent = path->nodes[level + 1];
        struct sirix_child_node *loaded = NULL;

        if (!falls_under(path->nodes[level])) {
            break;
        }
        if (parent->page.count > 1) {
            status = sirix_child_nodes_below(nodes, parent, neighbour(path->positions[level + 1]),
                                             &loaded, err);
        }
    }
    return status;
}

enum sirix_status sirix_child_nodes_remove(struct sirix_child_nodes *nodes,
                                           const struct sirix_child_path *path,
                                           struct sirix_error *err)
{
    struct sirix_child_node *leaf = path->nodes[0];
    uint32_t at = path->positions[0];
    enum sirix_status status = load_neighbours(nodes, path, err);

    assert(at < leaf->page.count);
    if (status != SIRIX_OK) {
        return status;
    }
    memmove(leaf->page.items + at, leaf->page.items + at + 1,
            (leaf->page.count - at - 1) * sizeof(leaf->page.items[0]));
    leaf->page.count -= 1;
    leaf->dirty = true;
    nodes->count -= 1;
    for (uint32_t level = 0; level < path->height; level++) {
        struct sirix_child_node *node = path->nodes[level];
        struct sirix_child_node *parent = path->nodes[level + 1];
        uint32_t position = path->positions[level + 1];

        if (node->page.count == 0) {
            remove_entry(parent, position);
            give_spare(nodes, node);
            continue;
        }
        update_entry(parent, position);
        if (falls_under(node) && parent->page.count > 1 &&
            parent->below[neighbour(position)] != NULL) {
            join(nodes, parent, position);
        }
    }
    if (nodes->root->page.count == 0) {
        give_spare(nodes, nodes->root);
        nodes->root = NULL;
        nodes->address = 0;
    }
    return SIRIX_OK;
}

/* --- Writing ------------------------------------------------------------------------------------ */

void sirix_child_nodes_touch(const struct sirix_child_path *path)
{
    path->nodes[0]->dirty = true;
    for (uint32_t level = 1; level <= path->height; level++) {
        update_entry(path->nodes[level], path->positions[level]);
    }
}

static enum sirix_status write_node(struct sirix_child_nodes *nodes, struct sirix_child_node *node,
                                    struct sirix_page_writer *writer, uint64_t *out_address,
                                    struct sirix_error *err)
{
    uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
    uint8_t *place = NULL;
    size_t len = sirix_child_page_encode(&node->page, nodes->kind, bytes);
    enum sirix_status status = sirix_page_writer_alloc(writer, len, out_address, &place, err);

    if (status == SIRIX_OK) {
        memcpy(place, bytes, len);
        node->dirty = false;
    }
    return status;
}

/* An inner root with one page below gives way to that page. */
static enum sirix_status lower_root(struct sirix_child_nodes *nodes, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && nodes->root->page.level != 0 && nodes->root->page.count == 1) {
        struct sirix_child_node *root = nodes->root;
        struct sirix_child_node *below = NULL;

        status = sirix_child_nodes_below(nodes, root, 0, &below, err);
        if (status == SIRIX_OK) {
            nodes->address = root->page.entries[0].address;
            nodes->root = below;
            give_spare(nodes, root);
        }
    }
    return status;
}

/* The next dirty node below node from position on; its position in *out_position. */
static struct sirix_child_node *dirty_below(struct sirix_child_node *node, uint32_t position,
                                            uint32_t *out_position)
{
    for (uint32_t i = position; node->page.level != 0 && i < node->page.count; i++) {
        if (node->below[i] != NULL && node->below[i]->dirty) {
            *out_position = i;
            return node->below[i];
        }
    }
    return NULL;
}

enum sirix_status sirix_child_nodes_write(struct sirix_child_nodes *nodes,
                                          struct sirix_page_writer *writer, uint64_t *out_root,
                                          struct sirix_error *err)
{
    struct sirix_child_node *way[SIRIX_CHILD_HEIGHT_MAX] = {NULL};
    uint32_t positions[SIRIX_CHILD_HEIGHT_MAX] = {0};
    uint32_t depth = 0;
    enum sirix_status status = SIRIX_OK;

    if (nodes->root == NULL) {
        *out_root = 0;
        return SIRIX_OK;
    }
    status = lower_root(nodes, err);
    way[0] = nodes->root;
    while (status == SIRIX_OK && nodes->root->dirty) {
        struct sirix_child_node *node = way[depth];
        struct sirix_child_node *below = dirty_below(node, positions[depth], &positions[depth]);
        uint64_t address = 0;

        if (below != NULL) {
            depth += 1;
            way[depth] = below;
            positions[depth] = 0;
            continue;
        }
        status = write_node(nodes, node, writer, &address, err);
        if (status == SIRIX_OK && depth == 0) {
            nodes->address = address;
        } else if (status == SIRIX_OK) {
            depth -= 1;
            way[depth]->page.entries[positions[depth]].address = address;
        }
    }
    if (status == SIRIX_OK) {
        *out_root = nodes->address;
    }
    return status;
}
