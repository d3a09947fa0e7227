/*
 * Equality joins: `for $a in A, $b in B where $a.x eq $b.y`, with a B that does not depend on $a. B is
 * evaluated once and hashed by $b.y; each tuple meets only those items whose hash is that of $a.x. The
 * where stays in its place and has the last word, so the table only leaves out what would not pass.
 */
#include "query/run/flwor.h"

enum { TABLE_MIN = 64 };

struct bucket {
    uint64_t hash;
    uint32_t first; /* Index plus 1; 0: free. */
    uint32_t last;
};

struct sirix_flwor_join {
    const struct sirix_plan *clause;
    bool built;
    bool given_up; /* A key has several items: every item meets every tuple. */
    struct sirix_sequence items;
    struct bucket *table;
    size_t table_size; /* A power of two. */
    uint32_t *next;    /* Of the same hash, in order. */
};

enum sirix_status sirix_flwor_join_new(struct sirix_run *run, const struct sirix_plan *clause,
                                       struct sirix_flwor_join **out, struct sirix_query_error *err)
{
    struct sirix_flwor_join *join = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, 1, sizeof(*join), &memory, &err->base);

    if (status == SIRIX_OK) {
        join = memory;
        join->clause = clause;
        *out = join;
    }
    return status;
}

/* --- Building -------------------------------------------------------------------------------------- */

/* Values that are equal have one hash: numbers of all kinds meet as doubles. */
uint64_t sirix_join_hash(struct sirix_run *run, struct sirix_item key)
{
    if (sirix_item_is_numeric(key) && key.kind != SIRIX_ITEM_DOUBLE) {
        key = sirix_item_double(sirix_number_to_double(key));
    }
    if (key.kind == SIRIX_ITEM_DOUBLE) {
        key.value.number += 0.0; /* -0 is 0. */
    }
    return sirix_item_hash(&run->work, key);
}

/* The key of the tuple at hand; *out_one false: there are several, or it is nothing that compares. */
enum sirix_status sirix_join_key(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, bool *out_one,
                                 struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan, &value, err);

    *out = (struct sirix_item){0};
    *out_one = true;
    if (status == SIRIX_OK && value.count == 1) {
        *out = sirix_sequence_at(&value, 0);
        *out_one = sirix_item_is_atomic(*out);
    } else if (status == SIRIX_OK && value.count > 1) {
        *out_one = false;
    }
    return status;
}

static void put(struct sirix_flwor_join *join, uint64_t hash, uint32_t index)
{
    size_t at = (size_t)hash & (join->table_size - 1);

    while (join->table[at].first != 0 && join->table[at].hash != hash) {
        at = (at + 1) & (join->table_size - 1);
    }
    if (join->table[at].first == 0) {
        join->table[at] = (struct bucket){.hash = hash, .first = index + 1};
    } else {
        join->next[join->table[at].last - 1] = index + 1;
    }
    join->table[at].last = index + 1;
}

static enum sirix_status hash_items(struct sirix_run *run, struct sirix_flwor_join *join,
                                    struct sirix_query_error *err)
{
    struct sirix_slot *slot = &run->frame[join->clause->slot];
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < join->items.count && status == SIRIX_OK && !join->given_up; i++) {
        const struct sirix_item item = sirix_sequence_at(&join->items, i);
        const struct sirix_item position = sirix_item_integer((int64_t)i + 1);
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
        struct sirix_item key = {0};
        bool one = true;

        sirix_slot_set_item(slot, &item);
        if (join->clause->position_slot != SIRIX_PLAN_NO_SLOT) {
            sirix_slot_set_item(&run->frame[join->clause->position_slot], &position);
        }
        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_join_key(run, join->clause->inner_key, &key, &one, err);
        }
        if (status == SIRIX_OK && key.kind != SIRIX_ITEM_NONE && one) {
            put(join, sirix_join_hash(run, key), (uint32_t)i);
        }
        join->given_up = !one;
        sirix_run_turn_end(run, &turn);
    }
    return status;
}

static enum sirix_status build(struct sirix_run *run, struct sirix_flwor_join *join,
                               struct sirix_query_error *err)
{
    struct sirix_collector collector;
    void *memory = NULL;

    sirix_collector_init(&collector, &join->items);
    enum sirix_status status = sirix_run_for_items(run, join->clause, &collector.sink, err);
    if (status == SIRIX_OK && join->items.count >= UINT32_MAX / 4) {
        join->given_up = true;
    }
    join->table_size = TABLE_MIN;
    while (join->table_size < join->items.count * 2 && !join->given_up) {
        join->table_size *= 2;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(run->work.arena, join->table_size, sizeof(*join->table),
                                    &memory, &err->base);
        join->table = memory;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(run->work.arena, join->items.count + 1, sizeof(*join->next),
                                    &memory, &err->base);
        join->next = memory;
    }
    run->kept++;
    if (status == SIRIX_OK) {
        status = hash_items(run, join, err);
    }
    join->built = status == SIRIX_OK;
    return status;
}

/* --- Giving ---------------------------------------------------------------------------------------- */

static enum sirix_status give(struct sirix_run *run, const struct sirix_flwor_join *join,
                              struct sirix_flwor *flwor, uint32_t clause, size_t index,
                              struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    const struct sirix_item item = sirix_sequence_at(&join->items, index);
    const struct sirix_item position = sirix_item_integer((int64_t)index + 1);
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    sirix_slot_set_item(&run->frame[join->clause->slot], &item);
    if (join->clause->position_slot != SIRIX_PLAN_NO_SLOT) {
        sirix_slot_set_item(&run->frame[join->clause->position_slot], &position);
    }
    if (status == SIRIX_OK) {
        status = sirix_flwor_chain(run, flwor, clause + 1, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

enum sirix_status sirix_flwor_join_give(struct sirix_run *run, struct sirix_flwor_join *join,
                                        struct sirix_flwor *flwor, uint32_t clause,
                                        struct sirix_query_error *err)
{
    struct sirix_item key = {0};
    bool one = true;
    enum sirix_status status = join->built ? SIRIX_OK : build(run, join, err);

    if (status == SIRIX_OK) {
        status = sirix_join_key(run, join->clause->outer_key, &key, &one, err);
    }
    if (status == SIRIX_OK && (join->given_up || !one)) {
        for (size_t i = 0; i < join->items.count && status == SIRIX_OK; i++) {
            status = give(run, join, flwor, clause, i, err);
        }
        return status;
    }
    if (status != SIRIX_OK || key.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    const uint64_t hash = sirix_join_hash(run, key);
    size_t at = (size_t)hash & (join->table_size - 1);
    while (join->table[at].first != 0 && join->table[at].hash != hash) {
        at = (at + 1) & (join->table_size - 1);
    }
    for (uint32_t i = join->table[at].first; i != 0 && status == SIRIX_OK; i = join->next[i - 1]) {
        status = give(run, join, flwor, clause, i - 1, err);
    }
    return status;
}
