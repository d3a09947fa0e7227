/*
 * What a subtree holds: its keys as ranges, how many values, how much text. One walk in document order,
 * so that keys given in that order coalesce as they come.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/edit_state.h"

enum { FRAMES_MIN = 8, RANGES_MIN = 16 };

void sirix_subtree_deinit(struct sirix_subtree *subtree)
{
    free(subtree->ranges);
    free(subtree->open);
    *subtree = (struct sirix_subtree){0};
}

struct scan {
    struct sirix_edit *edit;
    struct sirix_rows rows;
    struct sirix_subtree *out;
    struct sirix_siblings *frames;
    uint32_t depth;
    uint32_t cap;
};

/*
 * A key that no row covers between two ranges was burnt when a pair did not fit into its leaf: the
 * ranges are one. Only the last key of a leaf can be such.
 */
static enum sirix_status burnt_between(struct scan *scan, uint64_t last, uint64_t first,
                                       bool *out_burnt, struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    *out_burnt = false;
    if (first != last + 2 || (last + 1) % SIRIX_LEAF_KEYS != SIRIX_LEAF_KEYS - 1) {
        return SIRIX_OK;
    }
    status = sirix_rows_get(&scan->rows, last + 1, &row, err);
    *out_burnt = status == SIRIX_NOT_FOUND;
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

static enum sirix_status add_keys(struct scan *scan, uint64_t first, uint64_t last,
                                  struct sirix_error *err)
{
    struct sirix_subtree *out = scan->out;

    if (out->range_count != 0) {
        struct sirix_key_range *before = &out->ranges[out->range_count - 1];
        bool burnt = false;
        enum sirix_status status = burnt_between(scan, before->last, first, &burnt, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (first == before->last + 1 || burnt) {
            before->last = last;
            return SIRIX_OK;
        }
    }
    if (out->range_count == out->range_cap) {
        size_t cap = out->range_cap == 0 ? RANGES_MIN : out->range_cap * 2;
        struct sirix_key_range *ranges = realloc(out->ranges, cap * sizeof(*ranges));
        if (ranges == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu key ranges", cap);
        }
        out->ranges = ranges;
        out->range_cap = cap;
    }
    out->ranges[out->range_count++] = (struct sirix_key_range){.first = first, .last = last};
    return SIRIX_OK;
}

static enum sirix_status add_open(struct scan *scan, uint64_t container, struct sirix_error *err)
{
    struct sirix_subtree *out = scan->out;

    if (out->open_count == out->open_cap) {
        size_t cap = out->open_cap == 0 ? RANGES_MIN : out->open_cap * 2;
        uint64_t *open = realloc(out->open, cap * sizeof(*open));
        if (open == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu child trees", cap);
        }
        out->open = open;
        out->open_cap = cap;
    }
    out->open[out->open_count++] = container;
    return SIRIX_OK;
}

/* Counts a container's brackets and commas and opens its children. */
static enum sirix_status enter(struct scan *scan, const struct sirix_node *container,
                               struct sirix_error *err)
{
    struct sirix_document_node node = {.stored = *container, .kind = container->kind};
    struct sirix_list list = {0};
    enum sirix_status status = SIRIX_OK;

    node.child_count = container->child_count;
    status = sirix_list_of(&scan->rows, &node, &list, err);
    if (status == SIRIX_OK && list.open != NULL) {
        status = add_open(scan, container->key, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    scan->out->text_bytes += 2 + (list.count > 1 ? list.count - 1 : 0);
    if (scan->depth + 1 > scan->out->height) {
        scan->out->height = scan->depth + 1;
    }
    if (scan->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " is nested without end",
                          container->key);
    }
    if (scan->depth == scan->cap) {
        uint32_t cap = scan->cap == 0 ? FRAMES_MIN : scan->cap * 2;
        struct sirix_siblings *frames = realloc(scan->frames, cap * sizeof(*frames));
        if (frames == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u levels", cap);
        }
        scan->frames = frames;
        scan->cap = cap;
    }
    return sirix_siblings_init(&scan->frames[scan->depth++], &scan->rows, &list, 0, err);
}

static enum sirix_status row_at(struct scan *scan, uint64_t key, struct sirix_node *out,
                                struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_rows_get(&scan->rows, key, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " is named by another and has no row",
                          key);
    }
    return status == SIRIX_OK ? sirix_node_decode(row.record, key, out, err) : status;
}

static enum sirix_status visit(struct scan *scan, uint64_t key, struct sirix_error *err)
{
    struct sirix_node node = {0};
    enum sirix_status status = row_at(scan, key, &node, err);
    uint64_t width = 0;
    uint64_t name_len = 0;

    if (status != SIRIX_OK) {
        return status;
    }
    scan->out->node_count++;
    width = node.kind == SIRIX_NODE_FIELD ? 2 : sirix_node_width(node.kind);
    status = add_keys(scan, key, key + width - 1, err);
    if (status == SIRIX_OK && sirix_node_is_field(node.kind)) {
        status = sirix_rows_name_len(&scan->rows, &node, &name_len, err);
        scan->out->text_bytes += name_len + 3;
    }
    if (status == SIRIX_OK && node.kind == SIRIX_NODE_FIELD) {
        status = row_at(scan, key + 1, &node, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_node_is_container(node.kind)) {
        return enter(scan, &node, err);
    }
    scan->out->text_bytes += sirix_scalar_text_len(&node);
    return SIRIX_OK;
}

static int by_first(const void *a, const void *b)
{
    uint64_t first_a = ((const struct sirix_key_range *)a)->first;
    uint64_t first_b = ((const struct sirix_key_range *)b)->first;

    return first_a < first_b ? -1 : first_a > first_b ? 1 : 0;
}

static void merge_ranges(struct sirix_subtree *subtree)
{
    size_t kept = 0;

    if (subtree->range_count < 2) {
        return;
    }
    qsort(subtree->ranges, subtree->range_count, sizeof(subtree->ranges[0]), by_first);
    for (size_t i = 1; i < subtree->range_count; i++) {
        if (subtree->ranges[i].first == subtree->ranges[kept].last + 1) {
            subtree->ranges[kept].last = subtree->ranges[i].last;
        } else {
            subtree->ranges[++kept] = subtree->ranges[i];
        }
    }
    subtree->range_count = kept + 1;
}

/* The top node: its rows only when they go too, its value's text always. */
static enum sirix_status visit_top(struct scan *scan, const struct sirix_document_node *node,
                                   bool with_top, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    scan->out->node_count = 1;
    if (with_top) {
        status = add_keys(scan, node->key, node->is_member ? node->key + 1 : node->key, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_node_is_container(node->kind)) {
        return enter(scan, &node->stored, err);
    }
    scan->out->text_bytes = sirix_scalar_text_len(&node->stored);
    return SIRIX_OK;
}

enum sirix_status sirix_edit_scan(struct sirix_edit *edit, const struct sirix_document_node *node,
                                  bool with_top, struct sirix_subtree *out_subtree,
                                  struct sirix_error *err)
{
    struct sirix_subtree subtree = {0};
    struct scan scan = {.edit = edit, .rows = sirix_rows_of_edit(edit), .out = &subtree};
    enum sirix_status status = visit_top(&scan, node, with_top, err);

    while (status == SIRIX_OK && scan.depth != 0) {
        uint64_t key = 0;
        status = sirix_edit_step(edit, err);
        if (status != SIRIX_OK) {
            break;
        }
        status = sirix_siblings_next(&scan.frames[scan.depth - 1], &key, err);
        if (status == SIRIX_NOT_FOUND) {
            scan.depth--;
            status = SIRIX_OK;
        } else if (status == SIRIX_OK) {
            status = visit(&scan, key, err);
        }
    }
    free(scan.frames);
    if (status != SIRIX_OK) {
        sirix_subtree_deinit(&subtree);
        return status;
    }
    merge_ranges(&subtree);
    *out_subtree = subtree;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_scan_remove(struct sirix_edit *edit, struct sirix_subtree *subtree,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < subtree->open_count; i++) {
        sirix_edit_open_list_drop(edit, subtree->open[i]);
    }
    for (size_t i = 0; i < subtree->range_count && status == SIRIX_OK; i++) {
        status = sirix_edit_step(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_trie_edit_remove(edit->trie, subtree->ranges[i].first,
                                            subtree->ranges[i].last, err);
        }
    }
    return status;
}
