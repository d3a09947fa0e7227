/*
 * union, intersect, except. JSON items are the same when they are one container, one node of the store,
 * or, for atomics that are computed, one value. Results keep the order in which items first appear.
 */
#include "query/run/run.h"

enum { TABLE_MIN = 64 };

struct item_set {
    struct sirix_sequence items;
    uint32_t *table;
    size_t size;
};

static uint64_t hash_of(struct sirix_run *run, struct sirix_item item)
{
    if (sirix_item_is_structured(item)) {
        return ((uint64_t)(uintptr_t)item.value.container ^ item.origin) *
               UINT64_C(0x9e3779b97f4a7c15);
    }
    return sirix_item_is_atomic(item) ? sirix_item_hash(&run->work, item)
                                      : (uint64_t)(uintptr_t)item.value.function;
}

static bool same(struct sirix_run *run, struct sirix_item a, struct sirix_item b)
{
    if (sirix_item_is_structured(a) && sirix_item_is_structured(b)) {
        return sirix_container_same(a, b);
    }
    if (a.origin != 0 && b.origin != 0 && sirix_item_is_atomic(a)) {
        return a.origin == b.origin;
    }
    return sirix_item_is_atomic(a) && sirix_item_is_atomic(b)
               ? sirix_item_same(&run->work, a, b)
               : a.kind == b.kind && a.value.function == b.value.function;
}

/* The place of an item in the table: its own, or the free one where it would stand. */
static size_t place_of(struct sirix_run *run, const struct item_set *set, struct sirix_item item)
{
    size_t at = (size_t)(hash_of(run, item) >> 16) & (set->size - 1);

    while (set->table[at] != 0 && !same(run, set->items.items[set->table[at] - 1], item)) {
        at = (at + 1) & (set->size - 1);
    }
    return at;
}

static enum sirix_status grow(struct sirix_run *run, struct item_set *set,
                              struct sirix_query_error *err)
{
    const size_t size = set->size == 0 ? TABLE_MIN : set->size * 2;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, size, sizeof(*set->table), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    set->table = memory;
    set->size = size;
    for (size_t i = 0; i < set->items.count; i++) {
        set->table[place_of(run, set, set->items.items[i])] = (uint32_t)i + 1;
    }
    return SIRIX_OK;
}

static enum sirix_status add(struct sirix_run *run, struct item_set *set, struct sirix_item item,
                             bool *out_new, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    if (status == SIRIX_OK && set->items.count * 2 >= set->size) {
        status = grow(run, set, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const size_t at = place_of(run, set, item);
    *out_new = set->table[at] == 0;
    if (*out_new) {
        status = sirix_sequence_append(&run->work, &set->items, item, err);
        set->table[at] = (uint32_t)set->items.count;
    }
    return status;
}

static enum sirix_status fill(struct sirix_run *run, const struct sirix_plan *plan,
                              struct item_set *set, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan, &value, err);
    bool is_new = false;

    for (size_t i = 0; i < value.count && status == SIRIX_OK; i++) {
        const struct sirix_item item = sirix_sequence_at(&value, i);

        status = sirix_item_is_structured(item)
                     ? add(run, set, item, &is_new, err)
                     : sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                           "sets are of objects and arrays, not of %s",
                                           sirix_type_name((enum sirix_type)item.type));
    }
    return status;
}

/* Leaves in `left` what is (intersect) or is not (except) in the other operand. */
static enum sirix_status restrict_to(struct sirix_run *run, const struct sirix_plan *plan,
                                     uint8_t op, struct sirix_sequence *left,
                                     struct sirix_query_error *err)
{
    struct item_set right = {0};
    struct sirix_sequence result = {0};
    enum sirix_status status = fill(run, plan, &right, err);

    for (size_t i = 0; i < left->count && status == SIRIX_OK; i++) {
        const struct sirix_item item = sirix_sequence_at(left, i);
        const bool is_in = right.size != 0 && right.table[place_of(run, &right, item)] != 0;

        if (is_in == (op == SIRIX_AST_OP_INTERSECT)) {
            status = sirix_sequence_append(&run->work, &result, item, err);
        }
    }
    *left = result;
    return status;
}

enum sirix_status sirix_run_sets(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct item_set set = {0};
    struct sirix_sequence result = {0};
    const bool is_union = plan->kind == SIRIX_PLAN_UNION;
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < (is_union ? plan->child_count : 1) && status == SIRIX_OK; i++) {
        status = fill(run, plan->children[i], &set, err);
    }
    result = set.items;
    for (uint32_t i = 1; i < plan->child_count && status == SIRIX_OK && !is_union; i++) {
        status = restrict_to(run, plan->children[i], plan->ops[i], &result, err);
    }
    return status == SIRIX_OK ? sirix_run_give(run, &result, sink, err) : status;
}
