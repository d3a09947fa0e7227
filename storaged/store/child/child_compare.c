/*
 * Differences of two child trees, by walking both in the order of labels.
 *
 * A child that both trees have keeps its label unless it was moved or relabelled. So the two walks
 * meet at the start of every page that they share, wherever it stands in either tree and however high
 * it hangs: pages are opened only down to where the addresses are equal.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/child/child_page.h"
#include "store/child/child_tree.h"
#include "store/page/page.h"

enum { RUN_MAX = 256 };

/* One walk: the open pages from the root down, and where it stands in each. */
struct side {
    uint64_t root;
    bool at_root; /* The root page itself comes next: nothing is open. */
    uint32_t root_level;
    uint64_t root_count;
    struct sirix_label root_first;
    uint32_t depth; /* Open pages. */
    uint32_t positions[SIRIX_CHILD_HEIGHT_MAX];
    struct sirix_child_page pages[SIRIX_CHILD_HEIGHT_MAX];
    uint64_t index; /* Of what comes next. */
    uint64_t run_index;
    size_t run_count;
    uint64_t run[RUN_MAX];
};

/* What comes next in a walk: a page that is not open, or a child. */
struct next {
    bool is_page;
    uint32_t level; /* Of the page; children: 0. */
    uint64_t address;
    uint64_t count;
    struct sirix_label label;
    uint64_t key;
};

struct sirix_child_compare {
    struct sirix_reader *reader;
    struct side a;
    struct side b;
};

static enum sirix_status start(struct side *side, struct sirix_reader *reader, uint64_t root,
                               struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    side->root = root;
    side->at_root = root != 0;
    if (root != 0) {
        status = sirix_child_page_load(reader, SIRIX_CHILD_KIND_CHILDREN, root,
                                       SIRIX_CHILD_LEVEL_ANY, &side->pages[0], err);
    }
    if (status == SIRIX_OK && root != 0) {
        side->root_level = side->pages[0].level;
        side->root_count = sirix_child_page_total(&side->pages[0]);
        side->root_first = sirix_child_page_first(&side->pages[0]);
    }
    return status;
}

/* False at the end. */
static bool peek(const struct side *side, struct next *out_next)
{
    const struct sirix_child_page *page = NULL;
    uint32_t position = 0;

    if (side->at_root) {
        *out_next = (struct next){
            .is_page = true,
            .level = side->root_level,
            .address = side->root,
            .count = side->root_count,
            .label = side->root_first,
        };
        return true;
    }
    if (side->depth == 0) {
        return false;
    }
    page = &side->pages[side->depth - 1];
    position = side->positions[side->depth - 1];
    if (page->level == 0) {
        *out_next = (struct next){
            .label = page->items[position].label,
            .key = page->items[position].key,
        };
    } else {
        *out_next = (struct next){
            .is_page = true,
            .level = page->level - 1,
            .address = page->entries[position].address,
            .count = page->entries[position].count,
            .label = page->entries[position].first,
        };
    }
    return true;
}

/* Opens the page that comes next: its first entry or child comes next then. */
static enum sirix_status open_page(struct side *side, struct sirix_reader *reader,
                                   const struct next *next, struct sirix_error *err)
{
    struct sirix_child_page *page = &side->pages[side->depth];
    enum sirix_status status = SIRIX_OK;

    assert(next->is_page && side->depth < SIRIX_CHILD_HEIGHT_MAX);
    if (!side->at_root) {
        status = sirix_child_page_load(reader, SIRIX_CHILD_KIND_CHILDREN, next->address,
                                       next->level, page, err);
        if (status == SIRIX_OK && sirix_child_page_total(page) != next->count) {
            status =
                sirix_page_damaged(next->address, "its count differs from the page above", err);
        }
        if (status == SIRIX_OK &&
            sirix_label_compare(sirix_child_page_first(page), next->label) != 0) {
            status =
                sirix_page_damaged(next->address, "its label differs from the page above", err);
        }
    }
    if (status == SIRIX_OK) {
        side->positions[side->depth] = 0;
        side->depth += 1;
        side->at_root = false;
    }
    return status;
}

/* Passes what comes next; pages that end are closed. */
static void pass(struct side *side, const struct next *next)
{
    side->index += next->is_page ? next->count : 1;
    if (side->at_root) {
        side->at_root = false;
        return;
    }
    side->positions[side->depth - 1] += 1;
    while (side->depth > 0 &&
           side->positions[side->depth - 1] == side->pages[side->depth - 1].count) {
        side->depth -= 1;
        if (side->depth > 0) {
            side->positions[side->depth - 1] += 1;
        }
    }
}

/* Adds the child that comes next to the run of this side, and passes it. */
static void take(struct side *side, const struct next *next)
{
    side->run[side->run_count] = next->key;
    side->run_count += 1;
    pass(side, next);
}

/* Opens or takes what comes next in one walk that is behind the other. */
static enum sirix_status advance(struct sirix_child_compare *compare, struct side *side,
                                 const struct next *next, struct sirix_error *err)
{
    if (next->is_page) {
        return open_page(side, compare->reader, next, err);
    }
    take(side, next);
    return SIRIX_OK;
}

/* Both walks stand at one label. *out_common: what comes next is the same in both. */
static enum sirix_status meet(struct sirix_child_compare *compare, const struct next *a,
                              const struct next *b, bool *out_common, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *out_common = a->is_page == b->is_page && a->level == b->level &&
                  (a->is_page ? a->address == b->address : a->key == b->key);
    if (*out_common) {
        return SIRIX_OK;
    }
    if (!a->is_page && !b->is_page) {
        take(&compare->a, a);
        take(&compare->b, b);
        return SIRIX_OK;
    }
    if (a->is_page && (!b->is_page || a->level >= b->level)) {
        status = open_page(&compare->a, compare->reader, a, err);
    }
    if (status == SIRIX_OK && b->is_page && (!a->is_page || b->level >= a->level)) {
        status = open_page(&compare->b, compare->reader, b, err);
    }
    return status;
}

enum sirix_status sirix_child_compare_new(struct sirix_reader *reader, uint64_t root_a,
                                          uint64_t root_b, struct sirix_child_compare **out_compare,
                                          struct sirix_error *err)
{
    struct sirix_child_compare *compare = calloc(1, sizeof(*compare));
    enum sirix_status status = SIRIX_OK;

    if (compare == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a comparison of child trees");
    }
    compare->reader = reader;
    if (root_a != root_b) {
        status = start(&compare->a, reader, root_a, err);
    }
    if (root_a != root_b && status == SIRIX_OK) {
        status = start(&compare->b, reader, root_b, err);
    }
    if (status != SIRIX_OK) {
        free(compare);
        return status;
    }
    *out_compare = compare;
    return SIRIX_OK;
}

void sirix_child_compare_free(struct sirix_child_compare *compare)
{
    free(compare);
}

/* One step of both walks. *out_ended: a run ended, or both walks did. */
static enum sirix_status step(struct sirix_child_compare *compare, bool *out_ended,
                              struct sirix_error *err)
{
    struct side *a = &compare->a;
    struct side *b = &compare->b;
    struct next next_a = {0};
    struct next next_b = {0};
    enum sirix_status status = SIRIX_OK;
    bool more_a = peek(a, &next_a);
    bool more_b = peek(b, &next_b);
    bool common = false;
    int order = more_a ? -1 : 1;

    *out_ended = !more_a && !more_b;
    if (*out_ended) {
        return SIRIX_OK;
    }
    if (more_a && more_b) {
        order = sirix_label_compare(next_a.label, next_b.label);
    }
    if (order != 0) {
        return order < 0 ? advance(compare, a, &next_a, err) : advance(compare, b, &next_b, err);
    }
    status = meet(compare, &next_a, &next_b, &common, err);
    if (status != SIRIX_OK || !common) {
        return status;
    }
    *out_ended = a->run_count + b->run_count != 0; /* What is common is passed by the next call. */
    if (!*out_ended) {
        pass(a, &next_a);
        pass(b, &next_b);
        a->run_index = a->index;
        b->run_index = b->index;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_child_compare_next(struct sirix_child_compare *compare,
                                           struct sirix_child_difference *out_difference,
                                           struct sirix_error *err)
{
    struct side *a = &compare->a;
    struct side *b = &compare->b;
    enum sirix_status status = SIRIX_OK;
    bool ended = false;

    a->run_count = 0;
    b->run_count = 0;
    a->run_index = a->index;
    b->run_index = b->index;
    while (status == SIRIX_OK && !ended && a->run_count < RUN_MAX && b->run_count < RUN_MAX) {
        status = step(compare, &ended, err);
    }
    if (status == SIRIX_OK && a->run_count + b->run_count == 0) {
        return SIRIX_NOT_FOUND;
    }
    if (status == SIRIX_OK) {
        *out_difference = (struct sirix_child_difference){
            .index_a = a->run_index,
            .index_b = b->run_index,
            .keys_a = a->run,
            .count_a = a->run_count,
            .keys_b = b->run,
            .count_b = b->run_count,
        };
    }
    return status;
}
