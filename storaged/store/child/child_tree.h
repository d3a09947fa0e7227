/*
 * Counted child trees: the ordered children of a container with more than 64 of them. A persistent
 * B-tree whose leaves hold up to 64 child keys and whose inner pages hold up to 16 (count, first
 * label, address): element i, index of a child, neighbours and insert at i are all O(log n).
 *
 * Order label  (i64 major, u64 minor), rising over the children. A child's default is (key, 0); a
 *              prepended child may be mirrored, (-key, 0); neither costs bytes here nor in its
 *              record. A default is used only when it really lies beyond the present end (mirrored:
 *              before the present start); else the label is explicit: stepping 2^40 of minor beside
 *              the last insert while there is room, then the middle; with no gap the leaf's children
 *              get new labels in that commit. The tree decides; the caller writes what it is told
 *              into the children's records.
 * Pages        formats in docs/format.md; page types 4 and 5 of page/page.h.
 * Threads      plain values; nothing shared. Slices end with the reader's yield, cursors do not.
 */
#ifndef SIRIX_STORE_CHILD_CHILD_TREE_H
#define SIRIX_STORE_CHILD_CHILD_TREE_H

#include "store/page/node.h"
#include "store/page/writer.h"
#include "store/segment/segment.h"

enum {
    SIRIX_CHILD_LEAF_MAX = 64,
    SIRIX_CHILD_INNER_MAX = 16,
    SIRIX_CHILD_HEIGHT_MAX = 16,
};

/*
 * --- Reading (root: the address in the container's record; 0: an empty tree) --------------------
 */

enum sirix_status sirix_child_tree_count(struct sirix_reader *reader, uint64_t root,
                                         uint64_t *out_count,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Key of child index; SIRIX_NOT_FOUND, here and below without a sentence, past the last. */
enum sirix_status sirix_child_tree_at(struct sirix_reader *reader, uint64_t root, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Index of the child with this key and label; SIRIX_NOT_FOUND when it is no child. */
enum sirix_status sirix_child_tree_index(struct sirix_reader *reader, uint64_t root, uint64_t key,
                                         struct sirix_label label, uint64_t *out_index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Walks children forward or backward from any index; survives yields. Caller's storage. */
struct sirix_child_cursor {
    struct sirix_reader *reader;
    uint64_t root;
    uint64_t index; /* Of the child that _next() gives. */
    uint64_t generation;
    uint32_t have; /* Decoded keys of one leaf, its first index in first_index. */
    uint64_t first_index;
    uint64_t keys[SIRIX_CHILD_LEAF_MAX];
};
void sirix_child_cursor_init(struct sirix_child_cursor *cursor, struct sirix_reader *reader,
                             uint64_t root, uint64_t index);
/*
 * The child at the cursor, then one forward (_next) or one backward (_prev); SIRIX_NOT_FOUND at the
 * end. Going backward from the first child leaves the cursor before it, for good.
 */
enum sirix_status sirix_child_cursor_next(struct sirix_child_cursor *cursor, uint64_t *out_key,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_child_cursor_prev(struct sirix_child_cursor *cursor, uint64_t *out_key,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Differences of two versions of one tree, in order, skipping equal pages at any alignment: each
 * step gives a run of keys that a has and b has not in this place, and the reverse, with the indexes
 * where the runs start. A key in both (moved) shows up in one run of a and another of b. Memory: a
 * page of each level of each tree. NOT_FOUND at the end.
 */
struct sirix_child_compare;
struct sirix_child_difference {
    uint64_t index_a;
    uint64_t index_b;
    const uint64_t *keys_a; /* Valid until the next step. */
    size_t count_a;
    const uint64_t *keys_b;
    size_t count_b;
};
enum sirix_status sirix_child_compare_new(struct sirix_reader *reader, uint64_t root_a,
                                          uint64_t root_b, struct sirix_child_compare **out_compare,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_child_compare_next(struct sirix_child_compare *compare,
                                           struct sirix_child_difference *out_difference,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_child_compare_free(struct sirix_child_compare *compare);

/* --- Changing ---------------------------------------------------------------------------------- */

/* A child's new label, to be written into its record. */
struct sirix_child_label {
    uint64_t key;
    enum sirix_order order;
    struct sirix_label label; /* SIRIX_ORDER_EXPLICIT only. */
};

/*
 * Changes in memory on top of a tree (root 0: an empty one). Pages are loaded as they are touched and
 * kept as heap copies. A change that fails changes nothing.
 */
struct sirix_child_edit;

enum sirix_status sirix_child_edit_new(struct sirix_reader *reader, uint64_t root,
                                       struct sirix_child_edit **out_edit,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_child_edit_free(struct sirix_child_edit *edit);

uint64_t sirix_child_edit_count(const struct sirix_child_edit *edit);

/* As the reading functions, seeing the changes. */
enum sirix_status sirix_child_edit_at(struct sirix_child_edit *edit, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_child_edit_index(struct sirix_child_edit *edit, uint64_t key,
                                         struct sirix_label label, uint64_t *out_index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Inserts key so that it is child index (0..count). *out_labels, an array of the edit valid until
 * its next call, holds the key's own label first, then those of relabelled siblings.
 */
enum sirix_status sirix_child_edit_insert(struct sirix_child_edit *edit, uint64_t index,
                                          uint64_t key, const struct sirix_child_label **out_labels,
                                          size_t *out_count,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Removes child index. */
enum sirix_status sirix_child_edit_remove(struct sirix_child_edit *edit, uint64_t index,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Writes changed pages and the paths to them; *out_root is 0 when no child is left. The edit can go
 * on afterwards, on top of what was written; after a failure it can only be freed.
 */
enum sirix_status sirix_child_edit_write(struct sirix_child_edit *edit,
                                         struct sirix_page_writer *writer, uint64_t *out_root,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Bulk building: keys in order, all with their default label (rising keys). Memory: a page a level. */
struct sirix_child_bulk;
enum sirix_status sirix_child_bulk_new(struct sirix_page_writer *writer,
                                       struct sirix_child_bulk **out_bulk,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_child_bulk_append(struct sirix_child_bulk *bulk, uint64_t key,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_child_bulk_finish(struct sirix_child_bulk *bulk, uint64_t *out_root,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_child_bulk_free(struct sirix_child_bulk *bulk);

#endif
