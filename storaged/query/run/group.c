/* group by: a hash table over the keys; groups come out in the order in which they first appeared. */
#include "query/run/accumulate.h"

enum { TABLE_MIN = 64 };

/* What one group holds: keys and, for each other variable, its items so far. */
struct group {
    uint64_t hash;
    struct sirix_item *keys;
    struct sirix_sequence *rest;
    struct sirix_accumulator *sums;
};

struct sirix_flwor_groups {
    const struct sirix_plan *clause;
    struct sirix_arena *arena;
    struct group *groups;
    size_t count;
    size_t cap;
    uint32_t *table; /* Of indexes plus 1; 0: free. A power of two, less than half full. */
    size_t table_size;
    struct sirix_item *keys;         /* Of the tuple at hand. */
    struct sirix_accumulators added; /* Instead of the groups' items, where that is enough. */
};

enum sirix_status sirix_flwor_groups_new(struct sirix_run *run, const struct sirix_flwor *flwor,
                                         uint32_t at, struct sirix_flwor_groups **out,
                                         struct sirix_query_error *err)
{
    const struct sirix_plan *clause = flwor->plan->children[at];
    struct sirix_flwor_groups *groups = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, 1, sizeof(*groups), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    groups = memory;
    if (!run->naive) {
        sirix_accumulators_find(flwor->plan, at, &groups->added);
    }
    groups->clause = clause;
    groups->arena = run->work.arena;
    groups->table_size = TABLE_MIN;
    status =
        sirix_arena_calloc(groups->arena, TABLE_MIN, sizeof(*groups->table), &memory, &err->base);
    groups->table = memory;
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(groups->arena, clause->child_count + 1, sizeof(*groups->keys),
                                    &memory, &err->base);
        groups->keys = memory;
    }
    if (status == SIRIX_OK) {
        *out = groups;
    }
    return status;
}

static void put(uint32_t *table, size_t table_size, uint64_t hash, uint32_t value)
{
    size_t at = (size_t)hash & (table_size - 1);

    while (table[at] != 0) {
        at = (at + 1) & (table_size - 1);
    }
    table[at] = value;
}

static enum sirix_status grow_table(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                    struct sirix_query_error *err)
{
    const size_t size = groups->table_size * 2;
    void *memory = NULL;

    if (groups->count >= UINT32_MAX / 4) {
        return sirix_query_fail_limit(err, "groups", "more than %u groups", UINT32_MAX / 4);
    }
    enum sirix_status status =
        sirix_arena_calloc(groups->arena, size, sizeof(*groups->table), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    run->kept++;
    for (size_t i = 0; i < groups->count; i++) {
        put(memory, size, groups->groups[i].hash, (uint32_t)i + 1);
    }
    groups->table = memory;
    groups->table_size = size;
    return SIRIX_OK;
}

static enum sirix_status read_key(struct sirix_run *run, const struct sirix_plan *key,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    const struct sirix_slot *slot = &run->frame[key->slot];
    struct sirix_item item = {0};

    if (key->child_count != 0 && key->children[0] != NULL) {
        struct sirix_sequence value = {0};
        enum sirix_status status = sirix_run_atom(run, key->children[0], &item, err);

        if (status == SIRIX_OK && key->typed) {
            value = item.kind == SIRIX_ITEM_NONE ? value : sirix_sequence_of(&item);
            status = sirix_run_bind(run, key, &run->frame[key->slot], &value, err);
        }
        *out = status == SIRIX_OK ? item : *out;
        return status;
    }
    if (slot->value.count > 1) {
        return sirix_query_fail_at(err, key->line, key->column, "XPTY0004",
                                   "a grouping key is a sequence of several items");
    }
    if (slot->value.count == 1) {
        return sirix_item_atomise_one(&run->work, sirix_sequence_at(&slot->value, 0), out, err);
    }
    *out = item;
    return SIRIX_OK;
}

static bool same_keys(struct sirix_run *run, const struct sirix_flwor_groups *groups,
                      const struct group *group)
{
    for (uint32_t i = 0; i < groups->clause->child_count; i++) {
        if (!sirix_item_same(&run->work, group->keys[i], groups->keys[i])) {
            return false;
        }
    }
    return true;
}

static enum sirix_status new_group(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                   uint64_t hash, struct group **out, struct sirix_query_error *err)
{
    const uint32_t key_count = groups->clause->child_count;
    struct group group = {.hash = hash};
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    run->kept++;
    if (groups->count == groups->cap) {
        const size_t cap = groups->cap == 0 ? TABLE_MIN : groups->cap * 2;

        status = sirix_arena_calloc(groups->arena, cap, sizeof(group), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        if (groups->count != 0) {
            memcpy(memory, groups->groups, groups->count * sizeof(group));
        }
        groups->groups = memory;
        groups->cap = cap;
    }
    if (groups->count * 2 >= groups->table_size) {
        status = grow_table(run, groups, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(groups->arena, key_count + 1, sizeof(*group.keys), &memory,
                                    &err->base);
        group.keys = memory;
    }
    if (status == SIRIX_OK) {
        memcpy(group.keys, groups->keys, key_count * sizeof(*group.keys));
        status = sirix_arena_calloc(groups->arena, groups->clause->list_count + 1,
                                    sizeof(*group.rest), &memory, &err->base);
        group.rest = memory;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(groups->arena, groups->added.count + 1, sizeof(*group.sums),
                                    &memory, &err->base);
        group.sums = memory;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    groups->groups[groups->count] = group;
    *out = &groups->groups[groups->count++];
    put(groups->table, groups->table_size, hash, (uint32_t)groups->count);
    return SIRIX_OK;
}

/* The items of a variable go to what the group has of it. */
static enum sirix_status append_slot(struct sirix_run *run, const struct sirix_slot *slot,
                                     struct sirix_sequence *rest, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < slot->value.count && status == SIRIX_OK; i++) {
        const struct sirix_item item = sirix_sequence_at(&slot->value, i);

        if (rest->count == rest->cap || sirix_item_has_memory(&item)) {
            run->kept++;
        }
        status = sirix_sequence_append(&run->work, rest, item, err);
    }
    return status;
}

static enum sirix_status append_rest(struct sirix_run *run, const struct sirix_flwor_groups *groups,
                                     struct group *group, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < groups->clause->list_count && status == SIRIX_OK; i++) {
        status = append_slot(run, &run->frame[groups->clause->slots[i]], &group->rest[i], err);
    }
    return status;
}

enum sirix_status sirix_flwor_groups_add(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                         struct sirix_query_error *err)
{
    struct group *group = NULL;
    uint64_t hash = 0;
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    for (uint32_t i = 0; i < groups->clause->child_count && status == SIRIX_OK; i++) {
        status = read_key(run, groups->clause->children[i], &groups->keys[i], err);
        if (status == SIRIX_OK) {
            hash = (hash << 7 | hash >> 57) * UINT64_C(0x9e3779b97f4a7c15) ^
                   sirix_item_hash(&run->work, groups->keys[i]);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t at = (size_t)hash & (groups->table_size - 1); groups->table[at] != 0;
         at = (at + 1) & (groups->table_size - 1)) {
        struct group *candidate = &groups->groups[groups->table[at] - 1];

        if (candidate->hash == hash && same_keys(run, groups, candidate)) {
            group = candidate;
            break;
        }
    }
    if (group == NULL) {
        status = new_group(run, groups, hash, &group, err);
    }
    if (!groups->added.covered) {
        return status == SIRIX_OK ? append_rest(run, groups, group, err) : status;
    }
    for (size_t i = 0; i < groups->added.count && status == SIRIX_OK; i++) {
        status = sirix_accumulate(run, groups->added.calls[i], &group->sums[i], err);
    }
    return status;
}

static void set_results(const struct sirix_run *run, const struct sirix_flwor_groups *groups,
                        const struct group *group, struct sirix_run_result *results)
{
    for (size_t i = 0; i < groups->added.count; i++) {
        results[i] = (struct sirix_run_result){
            .call = groups->added.calls[i],
            .frame = run->frame,
            .sum = group->sums[i].sum,
            .error = group->sums[i].error,
            .status = group->sums[i].status,
        };
    }
}

/* The results that were there, and room for those of this group behind them. */
static enum sirix_status more_results(struct sirix_run *run,
                                      const struct sirix_flwor_groups *groups,
                                      struct sirix_run_result **out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, run->result_count + groups->added.count + 1,
                           sizeof(**out), &memory, &err->base);

    if (status == SIRIX_OK) {
        *out = memory;
        if (run->result_count != 0) {
            memcpy(memory, run->results, run->result_count * sizeof(**out));
        }
    }
    return status;
}

static void bind_group(struct sirix_run *run, const struct sirix_plan *clause,
                       const struct group *group)
{
    for (uint32_t r = 0; r < clause->list_count; r++) {
        sirix_slot_set(&run->frame[clause->slots[r]], &group->rest[r]);
    }
    for (uint32_t k = 0; k < clause->child_count; k++) {
        struct sirix_slot *slot = &run->frame[clause->children[k]->slot];

        if (group->keys[k].kind == SIRIX_ITEM_NONE) {
            slot->value = (struct sirix_sequence){0};
        } else {
            sirix_slot_set_item(slot, &group->keys[k]);
        }
    }
}

enum sirix_status sirix_flwor_groups_give(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                          struct sirix_flwor *flwor, uint32_t next,
                                          struct sirix_query_error *err)
{
    const struct sirix_plan *clause = groups->clause;
    const struct sirix_run_result *const outer = run->results;
    const size_t outer_count = run->result_count;
    struct sirix_run_result *results = NULL;
    enum sirix_status status = more_results(run, groups, &results, err);

    run->results = status == SIRIX_OK ? results : outer;
    run->result_count += status == SIRIX_OK ? groups->added.count : 0;

    for (size_t i = 0; i < groups->count && status == SIRIX_OK; i++) {
        const struct group *group = &groups->groups[i];
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);

        bind_group(run, clause, group);
        set_results(run, groups, group, results + outer_count);
        status = sirix_flwor_chain(run, flwor, next, err);
        sirix_run_turn_end(run, &turn);
    }
    run->results = outer;
    run->result_count = outer_count;
    return status;
}
