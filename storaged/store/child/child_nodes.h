/*
 * The changing side of both trees: pages in memory on top of stored ones, loaded as they are touched.
 *
 * A node is a page and, for an inner one, the nodes below it that are loaded. A dirty node's ancestors
 * are loaded and dirty; a clean one's address stands in the entry above it. Everything is a heap copy,
 * so nothing here ends with a yield of the reader.
 *
 * Splits      a full page splits in the middle, but where a run of inserts goes on (enum
 *             sirix_child_run) at the place of the insert, so that runs leave full pages behind.
 * Merges      a page that falls below a quarter joins its neighbour under the same parent if the two
 *             fill at most three quarters of one page.
 * Failures    _insert and _remove do everything that can fail first: a failed call changes nothing. A
 *             failed _write leaves nodes whose addresses were never published: only free is allowed.
 */
#ifndef SIRIX_STORE_CHILD_CHILD_NODES_H
#define SIRIX_STORE_CHILD_CHILD_NODES_H

#include "store/child/child_page.h"

struct sirix_child_node {
    struct sirix_child_node *next_free;
    bool dirty;
    struct sirix_child_node *below[SIRIX_CHILD_INNER_MAX]; /* Inner: loaded nodes or NULL. */
    struct sirix_child_page page;
};

struct sirix_child_nodes {
    struct sirix_reader *reader;
    enum sirix_child_kind kind;
    struct sirix_child_node *root; /* NULL: no item. */
    uint64_t address;              /* Of the root while it is clean. */
    struct sirix_child_node *spare;
    size_t spare_count;
    uint64_t count;
};

/* A way from the root to a leaf; position[0] is the place in the leaf. Ends with the next change. */
struct sirix_child_path {
    uint32_t height; /* Level of the root. */
    struct sirix_child_node *nodes[SIRIX_CHILD_HEIGHT_MAX];
    uint32_t positions[SIRIX_CHILD_HEIGHT_MAX];
};

/* Whether an insert goes on where the last one was: right after it, right before it. */
enum sirix_child_run {
    SIRIX_CHILD_RUN_NONE,
    SIRIX_CHILD_RUN_AFTER,
    SIRIX_CHILD_RUN_BEFORE,
};

/* Loads the root page (root 0: an empty tree). Caller's storage; deinit copes with zeros. */
enum sirix_status sirix_child_nodes_init(struct sirix_child_nodes *nodes,
                                         struct sirix_reader *reader, enum sirix_child_kind kind,
                                         uint64_t root, struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_child_nodes_deinit(struct sirix_child_nodes *nodes);

/* The node below an entry of an inner node; it is loaded if it is not yet. */
enum sirix_status sirix_child_nodes_below(struct sirix_child_nodes *nodes,
                                          struct sirix_child_node *node, uint32_t position,
                                          struct sirix_child_node **out_node,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The way to the place of item index. index == count of a leaf stays in that leaf: between two leaves
 * the place is the end of the left one. Needs a root.
 */
enum sirix_status sirix_child_nodes_seek_index(struct sirix_child_nodes *nodes, uint64_t index,
                                               struct sirix_child_path *out_path,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* The way to item index itself (index < count): between two leaves the start of the right one. */
enum sirix_status sirix_child_nodes_seek_item(struct sirix_child_nodes *nodes, uint64_t index,
                                              struct sirix_child_path *out_path,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The way to the place right after the last item whose label is <= label (the very start when there
 * is none), and the index of that place. Needs a root.
 */
enum sirix_status sirix_child_nodes_seek_label(struct sirix_child_nodes *nodes,
                                               struct sirix_label label,
                                               struct sirix_child_path *out_path,
                                               uint64_t *out_index,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* Makes sure that an insert at path needs no further memory. path NULL: into an empty tree. */
enum sirix_status sirix_child_nodes_reserve(struct sirix_child_nodes *nodes,
                                            const struct sirix_child_path *path,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Inserts item at path (NULL: the tree is empty); reserve was called for it. Cannot fail. */
void sirix_child_nodes_insert(struct sirix_child_nodes *nodes, const struct sirix_child_path *path,
                              const struct sirix_child_item *item, enum sirix_child_run run);

/* Removes the item at path. */
enum sirix_status sirix_child_nodes_remove(struct sirix_child_nodes *nodes,
                                           const struct sirix_child_path *path,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Marks a way dirty and carries the first label of its leaf up: after items of the leaf changed. */
void sirix_child_nodes_touch(const struct sirix_child_path *path);

/* Writes dirty pages, children first; *out_root is 0 when no item is left. */
enum sirix_status sirix_child_nodes_write(struct sirix_child_nodes *nodes,
                                          struct sirix_page_writer *writer, uint64_t *out_root,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
