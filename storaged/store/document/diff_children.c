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
        status = sirix_diff_step(diff, err);
        if (status == SIRIX_OK) {
            status = sirix_child_compare_next(compare, &difference, err);
        }
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

/* Adds all children that siblings, at the first of them, will give. */
static enum sirix_status add_whole_list(struct sirix_diff *diff, struct sirix_siblings *siblings,
                                        struct sirix_diff_children *children,
                                        struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint64_t index = 0; status == SIRIX_OK; index++) {
        uint64_t key = 0;

        status = sirix_siblings_next(siblings, &key, err);
        if (status == SIRIX_OK) {
            status = add_child(children, key, index, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_diff_step(diff, err);
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
    struct sirix_siblings siblings_before;
    struct sirix_siblings siblings_after;
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
        status = sirix_siblings_init(&siblings_before, &diff->rows_before, &list_before, 0, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_siblings_init(&siblings_after, &diff->rows_after, &list_after, 0, err);
    }
    /* From here on nothing is a slice: the reader may yield. */
    if (status == SIRIX_OK) {
        status = add_whole_list(diff, &siblings_before, &diff->container.before, err);
    }
    if (status == SIRIX_OK) {
        status = add_whole_list(diff, &siblings_after, &diff->container.after, err);
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

/* --- Moves -------------------------------------------------------------------------------------- */

/* How many children that no list tells apart stand before a differing one. They rank alike in both. */
static uint64_t commons_before(const struct sirix_diff_children *children, size_t at)
{
    return children->items[at].index - at;
}

/* Walks the common children in old order, cut where a survivor of the old list stands. */
struct commons {
    const struct sirix_diff_children *before;
    uint64_t rank; /* Of the next common child. */
    size_t passed; /* Differing children of the old list before it. */
    size_t cut;    /* The first survivor of the old list behind it. */
};

/* Adds the runs of common children up to rank end: each stands together in both lists. */
static size_t add_commons(struct commons *commons, uint64_t end, struct sirix_move_item *items)
{
    const struct sirix_diff_children *before = commons->before;
    size_t count = 0;

    while (commons->rank < end) {
        uint64_t stop = end;

        while (commons->passed < before->count &&
               commons_before(before, commons->passed) <= commons->rank) {
            commons->passed += 1;
        }
        while (commons->cut < before->count &&
               (before->items[commons->cut].partner == SIZE_MAX ||
                commons_before(before, commons->cut) <= commons->rank)) {
            commons->cut += 1;
        }
        if (commons->cut < before->count && commons_before(before, commons->cut) < end) {
            stop = commons_before(before, commons->cut);
        }
        items[count++] = (struct sirix_move_item){
            .position = commons->rank + commons->passed,
            .weight = stop - commons->rank,
            .fixed = stop - commons->rank,
        };
        commons->rank = stop;
    }
    return count;
}

/*
 * The survivors among the differing children and the runs of common ones, in the new order. Cut by the
 * survivors of both lists, the runs are at most twice as many as these, and one.
 */
static size_t make_move_items(const struct sirix_diff_container *container, uint64_t common_count,
                              struct sirix_move_item *items)
{
    const struct sirix_diff_children *after = &container->after;
    struct commons commons = {.before = &container->before};
    size_t count = 0;

    for (size_t i = 0; i < after->count; i++) {
        const struct sirix_diff_child *child = &after->items[i];

        if (child->partner == SIZE_MAX) {
            continue;
        }
        count += add_commons(&commons, commons_before(after, i), items + count);
        items[count++] = (struct sirix_move_item){
            .position = container->before.items[child->partner].index,
            .weight = 1,
            .tie = sirix_mix64(child->key) >> 32,
        };
    }
    return count + add_commons(&commons, common_count, items + count);
}

static enum sirix_status find_moves(struct sirix_diff_container *container, size_t matched,
                                    uint64_t common_count, struct sirix_error *err)
{
    struct sirix_move_item *items = NULL;
    enum sirix_status status = SIRIX_OK;
    size_t at = 0;
    size_t count = 0;
    size_t bytes = 0;

    if (matched == 0) {
        return SIRIX_OK;
    }
    if (sirix_mul_size(matched, 3 * sizeof(*items), &bytes)) {
        items = malloc(bytes + sizeof(*items));
    }
    if (items == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the moves of %zu children", matched);
    }
    count = make_move_items(container, common_count, items);
    assert(count <= 3 * matched + 1);
    status = sirix_moves_find(items, count, err);
    for (size_t i = 0; i < container->after.count && status == SIRIX_OK; i++) {
        struct sirix_diff_child *child = &container->after.items[i];

        if (child->partner == SIZE_MAX) {
            continue;
        }
        while (items[at].fixed != 0) {
            at += 1;
        }
        if (!items[at].kept) {
            child->fate = SIRIX_DIFF_FATE_MOVED;
            container->before.items[child->partner].fate = SIRIX_DIFF_FATE_MOVED;
        }
        at += 1;
    }
    free(items);
    return status;
}

static bool has_unmatched(const struct sirix_diff_children *children)
{
    for (size_t i = 0; i < children->count; i++) {
        if (children->items[i].partner == SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* --- A container as a whole --------------------------------------------------------------------- */

enum sirix_status sirix_diff_container_open(struct sirix_diff *diff,
                                            const struct sirix_document_node *before,
                                            const struct sirix_document_node *after, uint32_t depth,
                                            struct sirix_error *err)
{
    struct sirix_diff_container *container = &diff->container;
    uint64_t count_before = before->child_count;
    size_t matched = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_diff_container_deinit(container);
    container->key = after->key;
    container->depth = depth;
    container->is_object = after->kind == SIRIX_NODE_OBJECT;
    status = find_differences(diff, before, after, err);
    if (status == SIRIX_OK) {
        status = match_keys(container, &matched, err);
    }
    if (status == SIRIX_OK && !container->is_object) {
        status = find_moves(container, matched, count_before - container->before.count, err);
    }
    if (status == SIRIX_OK && has_unmatched(&container->before) &&
        has_unmatched(&container->after)) {
        status = container->is_object ? sirix_diff_match_names(diff, err)
                                      : sirix_diff_match_values(diff, err);
    }
    if (status != SIRIX_OK) {
        sirix_diff_container_deinit(container);
        return status;
    }
    container->phase = SIRIX_DIFF_PHASE_NAMED;
    container->at = 0;
    return SIRIX_OK;
}

/* Key of the left sibling of a child; 0: it is the first. */
static enum sirix_status find_left(struct sirix_diff *diff, enum sirix_diff_side side, size_t at,
                                   uint64_t *out_left, struct sirix_error *err)
{
    const struct sirix_diff_container *container = &diff->container;
    const struct sirix_diff_children *children =
        side == SIRIX_DIFF_BEFORE ? &container->before : &container->after;
    uint64_t index = children->items[at].index;

    if (index == 0) {
        *out_left = 0;
        return SIRIX_OK;
    }
    if (at > 0 && children->items[at - 1].index == index - 1) {
        *out_left = children->items[at - 1].key;
        return SIRIX_OK;
    }
    return sirix_document_child_at(sirix_diff_document(diff, side), container->key, index - 1,
                                   out_left, err);
}

/* Fills in one side of a change of a child. */
static enum sirix_status fill_side(struct sirix_diff *diff, enum sirix_diff_side side, size_t at,
                                   bool with_place, struct sirix_change *change,
                                   struct sirix_error *err)
{
    const struct sirix_diff_container *container = &diff->container;
    bool is_before = side == SIRIX_DIFF_BEFORE;
    const struct sirix_diff_child *child =
        is_before ? &container->before.items[at] : &container->after.items[at];
    struct sirix_change_side *out = is_before ? &change->before : &change->after;
    struct sirix_document_node node;
    enum sirix_status status = sirix_rows_child(is_before ? &diff->rows_before : &diff->rows_after,
                                                child->key, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    out->key = child->key;
    out->parent = container->key;
    out->kind = node.kind;
    change->is_member = node.is_member;
    if (with_place) {
        out->index = child->index;
        status = find_left(diff, side, at, &out->left, err);
    }
    return status;
}

/* A child that is new or stands elsewhere. */
static enum sirix_status make_place(struct sirix_diff *diff, size_t at, struct sirix_change *change,
                                    struct sirix_error *err)
{
    const struct sirix_diff_container *container = &diff->container;
    const struct sirix_diff_child *child = &container->after.items[at];
    const struct sirix_diff_child *left = at == 0 ? NULL : child - 1;
    enum sirix_status status = fill_side(diff, SIRIX_DIFF_AFTER, at, true, change, err);

    if (status == SIRIX_OK && child->fate == SIRIX_DIFF_FATE_MOVED) {
        change->kind = SIRIX_CHANGE_MOVE;
        status = fill_side(diff, SIRIX_DIFF_BEFORE, child->partner, true, change, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    change->anchor = change->after.left;
    if (left != NULL && left->index + 1 == child->index) {
        change->anchor_is_new = left->partner == SIZE_MAX;
        if (!change->anchor_is_new) {
            change->anchor = container->before.items[left->partner].key;
        }
    }
    return SIRIX_OK;
}

/* A member whose value is another one, under another key. */
static enum sirix_status make_named(struct sirix_diff *diff, size_t at, struct sirix_change *change,
                                    struct sirix_error *err)
{
    size_t before_at = diff->container.after.items[at].partner;
    struct sirix_document_node before;
    struct sirix_document_node after;
    bool same = false;
    enum sirix_status status = fill_side(diff, SIRIX_DIFF_BEFORE, before_at, false, change, err);

    if (status == SIRIX_OK) {
        status = fill_side(diff, SIRIX_DIFF_AFTER, at, false, change, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    change->kind = SIRIX_CHANGE_REPLACE;
    if (sirix_node_is_container(change->before.kind) ||
        sirix_json_type(change->before.kind) != sirix_json_type(change->after.kind)) {
        return SIRIX_OK;
    }
    change->kind = SIRIX_CHANGE_UPDATE;
    status = sirix_rows_child(&diff->rows_before, change->before.key, &before, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_child(&diff->rows_after, change->after.key, &after, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_diff_scalars(&diff->rows_before, &before.stored, &diff->rows_after,
                                    &after.stored, &same, &change->equal_value, err);
    }
    return status;
}

/* The next child that the phase has to tell of, from at on; count when there is none. */
static size_t next_of_phase(const struct sirix_diff_container *container)
{
    const struct sirix_diff_children *children =
        container->phase == SIRIX_DIFF_PHASE_DELETES ? &container->before : &container->after;
    size_t at = container->at;

    for (; at < children->count; at++) {
        enum sirix_diff_fate fate = children->items[at].fate;

        if (container->phase == SIRIX_DIFF_PHASE_NAMED ? fate == SIRIX_DIFF_FATE_NAMED
            : container->phase == SIRIX_DIFF_PHASE_DELETES
                ? fate == SIRIX_DIFF_FATE_GONE
                : fate == SIRIX_DIFF_FATE_GONE || fate == SIRIX_DIFF_FATE_MOVED) {
            return at;
        }
    }
    return SIZE_MAX;
}

enum sirix_status sirix_diff_container_next(struct sirix_diff *diff,
                                            struct sirix_change *out_change,
                                            struct sirix_error *err)
{
    struct sirix_diff_container *container = &diff->container;
    struct sirix_change change = {.depth = container->depth};
    enum sirix_status status = SIRIX_OK;
    size_t at = SIZE_MAX;

    while (container->phase != SIRIX_DIFF_PHASE_END) {
        at = next_of_phase(container);
        if (at != SIZE_MAX) {
            break;
        }
        container->phase += 1;
        container->at = 0;
    }
    switch (container->phase) {
    case SIRIX_DIFF_PHASE_NAMED:
        status = make_named(diff, at, &change, err);
        break;
    case SIRIX_DIFF_PHASE_DELETES:
        change.kind = SIRIX_CHANGE_DELETE;
        status = fill_side(diff, SIRIX_DIFF_BEFORE, at, true, &change, err);
        break;
    case SIRIX_DIFF_PHASE_PLACES:
        change.kind = SIRIX_CHANGE_INSERT;
        status = make_place(diff, at, &change, err);
        break;
    case SIRIX_DIFF_PHASE_END:
        status = SIRIX_NOT_FOUND;
        break;
    }
    if (status == SIRIX_OK) {
        container->at = at + 1;
        *out_change = change;
    }
    return status;
}
