/*
 * What changed among the children of one container: which are gone, which are new, which were moved,
 * and which are the same member under another key.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/hash.h"
#include "store/document/diff_moves.h"
#include "store/document/diff_state.h"

enum { CHILDREN_MIN = 64 };

static enum sirix_status add_child(struct sirix_diff_children *children, uint64_t key,
                                   uint64_t index, struct sirix_error *err)
{
    if (children->count == children->cap) {
        size_t cap = children->cap == 0 ? CHILDREN_MIN : children->cap * 2;
        size_t bytes = 0;
        struct sirix_diff_child *items = NULL;

        if (sirix_mul_size(cap, sizeof(*items), &bytes)) {
            items = realloc(children->items, bytes);
        }
        if (items == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate %zu changed children", cap);
        }
        children->items = items;
        children->cap = cap;
    }
    children->items[children->count] =
        (struct sirix_diff_child){.key = key, .index = index, .partner = SIZE_MAX};
    children->count += 1;
    return SIRIX_OK;
}

void sirix_diff_container_deinit(struct sirix_diff_container *container)
{
    free(container->before.items);
    free(container->after.items);
    *container = (struct sirix_diff_container){.phase = SIRIX_DIFF_PHASE_END};
}

/* --- Where the two lists differ ----------------------------------------------------------------- */

static enum sirix_status add_run(struct sirix_diff_children *children, const uint64_t *keys,
                                 size_t count, uint64_t index, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = add_child(children, keys[i], index + i, err);
    }
    return status;
}

static enum sirix_status compare_trees(struct sirix_diff *diff, uint64_t root_before,
                                       uint64_t root_after, struct sirix_error *err)
{
    struct sirix_child_compare *compare = NULL;
    struct sirix_child_difference difference;
    enum sirix_status status =
        sirix_child_compare_new(diff->reader, root_before, root_after, &compare, err);

    while (status == SIRIX_OK) {
        status = sirix_child_compare_next(compare, &difference, err);
        if (status == SIRIX_OK) {
            status = add_run(&diff->container.before, difference.keys_a, difference.count_a,
                             difference.index_a, err);
        }
        if (status == SIRIX_OK) {
            status = add_run(&diff->container.after, difference.keys_b, difference.count_b,
                             difference.index_b, err);
        }
    }
    sirix_child_compare_free(compare);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

static enum sirix_status add_whole_list(struct sirix_rows *rows, const struct sirix_list *list,
                                        struct sirix_diff_children *children,
                                        struct sirix_error *err)
{
    struct sirix_siblings siblings;
    enum sirix_status status = sirix_siblings_init(&siblings, rows, list, 0, err);

    for (uint64_t index = 0; status == SIRIX_OK; index++) {
        uint64_t key = 0;

        status = sirix_siblings_next(&siblings, &key, err);
        if (status == SIRIX_OK) {
            status = add_child(children, key, index, err);
        }
    }
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* Drops what both lists begin and end with. */
static void trim(struct sirix_diff_children *before, struct sirix_diff_children *after)
{
    size_t start = 0;

    while (before->count > 0 && after->count > 0 &&
           before->items[before->count - 1].key == after->items[after->count - 1].key) {
        before->count -= 1;
        after->count -= 1;
    }
    while (start < before->count && start < after->count &&
           before->items[start].key == after->items[start].key) {
        start += 1;
    }
    for (size_t i = start; i < before->count && start != 0; i++) {
        before->items[i - start] = before->items[i];
    }
    for (size_t i = start; i < after->count && start != 0; i++) {
        after->items[i - start] = after->items[i];
    }
    before->count -= start;
    after->count -= start;
}

static enum sirix_status find_differences(struct sirix_diff *diff,
                                          const struct sirix_document_node *before,
                                          const struct sirix_document_node *after,
                                          struct sirix_error *err)
{
    struct sirix_list list_before;
    struct sirix_list list_after;
    enum sirix_status status = sirix_list_of(&diff->rows_before, before, &list_before, err);

    if (status == SIRIX_OK) {
        status = sirix_list_of(&diff->rows_after, after, &list_after, err);
    }
    if (status == SIRIX_OK && list_before.stored.child_tree && list_after.stored.child_tree) {
        return compare_trees(diff, list_before.stored.child_tree_address,
                             list_after.stored.child_tree_address, err);
    }
    if (status == SIRIX_OK) {
        status = add_whole_list(&diff->rows_before, &list_before, &diff->container.before, err);
    }
    if (status == SIRIX_OK) {
        status = add_whole_list(&diff->rows_after, &list_after, &diff->container.after, err);
    }
    if (status == SIRIX_OK) {
        trim(&diff->container.before, &diff->container.after);
    }
    return status;
}

/* --- Survivors ---------------------------------------------------------------------------------- */

/* Finds the children that are in both lists; gives their number. */
static enum sirix_status match_keys(struct sirix_diff_container *container, size_t *out_matched,
                                    struct sirix_error *err)
{
    struct sirix_diff_children *before = &container->before;
    struct sirix_diff_children *after = &container->after;
    struct sirix_key_pair *pairs = NULL;
    size_t matched = 0;

    *out_matched = 0;
    if (before->count == 0 || after->count == 0) {
        return SIRIX_OK;
    }
    pairs = malloc(before->count * 2 * sizeof(*pairs));
    if (pairs == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the match of %zu children",
                          before->count);
    }
    for (size_t i = 0; i < before->count; i++) {
        pairs[i] = (struct sirix_key_pair){.key = before->items[i].key, .value = i};
    }
    sirix_key_pairs_sort(pairs, pairs + before->count, before->count);
    for (size_t i = 0; i < after->count; i++) {
        size_t found = sirix_key_pairs_find(pairs, before->count, after->items[i].key);

        if (found != SIZE_MAX) {
            size_t partner = (size_t)pairs[found].value;

            after->items[i].partner = partner;
            after->items[i].fate = SIRIX_DIFF_FATE_KEPT;
            before->items[partner].partner = i;
            before->items[partner].fate = SIRIX_DIFF_FATE_KEPT;
            matched += 1;
        }
    }
    free(pairs);
    *out_matched = matched;
    return SIRIX_OK;
}

/* How many children of the list stand before index and are not among the differing ones. */
static uint64_t common_before(const struct sirix_diff_children *children, size_t at)
{
    return at < children->count ? children->items[at].index - at : UINT64_MAX;
}

/*
 * The items of sirix_moves_find() in the new order: the survivors among the differing children, and
 * between them the runs of children that neither list tells apart. items has room for
 * 2 * matched + 1. Common children have the same rank among themselves in both lists: the run between
 * two survivors is known by its length.
 */
static size_t make_move_items(const struct sirix_diff_container *container,
                              const uint64_t *old_commons, struct sirix_move_item *items)
{
    const struct sirix_diff_children *before = &container->before;
    const struct sirix_diff_children *after = &container->after;
    uint64_t commons = 0;
    size_t count = 0;

    for (size_t i = 0; i < after->count; i++) {
        const struct sirix_diff_child *child = &after->items[i];
        uint64_t commons_here = common_before(after, i);

        if (child->partner == SIZE_MAX) {
            continue;
        }
        if (commons_here != commons) {
            items[count++] = (struct sirix_move_item){
                .position = old_commons[0],
                .weight = commons_here - commons,
                .fixed = commons_here - commons,
            };
            commons = commons_here;
        }
        items[count++] = (struct sirix_move_item){
            .position = before->items[child->partner].index,
            .weight = 1,
            .tie = sirix_mix64(child->key) >> 32,
        };
    }
    return count;
}
