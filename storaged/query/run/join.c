/*
 * Equality joins: `for $a in A, $b in B where $a.x eq $b.y`, with a B that does not depend on $a. B is
 * evaluated once and hashed by $b.y; each tuple meets only those items whose hash is that of $a.x. The
 * where stays in its place and has the last word, except about keys whose equality is beyond doubt.
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
    bool given_up; /* A key has several items or fails: every item meets every tuple. */
    struct sirix_sequence items;
    struct sirix_item *keys; /* Of the items. */
    struct bucket *table;
    size_t table_size; /* A power of two. */
    uint32_t *next;    /* Of the same hash, in order. */
    uint64_t groups;   /* Of the keys. */
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

/* Untyped values are equal to what they can be cast to, whatever their hash is. */
static bool is_key(const struct sirix_item *item)
{
    return item->kind == SIRIX_ITEM_NONE ||
           (sirix_item_is_atomic(*item) && item->kind != SIRIX_ITEM_UNTYPED);
}

/* The key of the tuple at hand; *out_one false: there are several, or it is nothing that compares. */
enum sirix_status sirix_join_key(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, bool *out_one,
                                 struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    bool many = false;
    enum sirix_status status = sirix_run_few(run, plan, out, &many, err);

    *out_one = true;
    if (status != SIRIX_OK || !many) {
        *out_one = status == SIRIX_OK && is_key(out);
        return status;
    }
    *out = (struct sirix_item){0};
    status = sirix_run_all(run, plan, &value, err);
    if (status == SIRIX_OK && value.count == 1) {
        *out = sirix_sequence_at(&value, 0);
        *out_one = is_key(out);
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

static void bind(struct sirix_run *run, const struct sirix_flwor_join *join, size_t index)
{
    const struct sirix_item item = sirix_sequence_at(&join->items, index);
    const struct sirix_item position = sirix_item_integer((int64_t)index + 1);

    sirix_slot_set_item(&run->frame[join->clause->slot], &item);
    if (join->clause->position_slot != SIRIX_PLAN_NO_SLOT) {
        sirix_slot_set_item(&run->frame[join->clause->position_slot], &position);
    }
}

/* Whether the item that is bound passes the conditions that ask for it alone. */
static enum sirix_status passes(struct sirix_run *run, struct sirix_flwor *flwor, uint32_t clause,
                                bool *out, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *out = true;
    for (uint32_t i = clause + 1; i < flwor->clause_count && *out && status == SIRIX_OK &&
                                  flwor->plan->children[i]->kind == SIRIX_PLAN_WHERE;
         i++) {
        bool failed = false;

        if ((flwor->plan->children[i]->flags & SIRIX_PLAN_OF_ITEM) != 0) {
            status = sirix_flwor_early_truth(run, flwor->plan->children[i]->children[0], out,
                                             &failed, err);
            flwor->ask_of_items = flwor->ask_of_items || failed;
            *out = *out || failed;
        }
    }
    return status;
}

/* Puts one item into the table, unless it passes nowhere. */
static enum sirix_status hash_item(struct sirix_run *run, struct sirix_flwor_join *join,
                                   struct sirix_flwor *flwor, uint32_t clause, size_t index,
                                   struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    struct sirix_item key = {0};
    bool keeps = false;

    bind(run, join, index);
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);
    if (status == SIRIX_OK) {
        status = sirix_flwor_early_key(run, join->clause->inner_key, &key, &join->given_up, err);
    }
    if (status == SIRIX_OK && key.kind != SIRIX_ITEM_NONE && !join->given_up) {
        status = passes(run, flwor, clause, &keeps, err);
    }
    if (status == SIRIX_OK && keeps) {
        run->kept += sirix_item_has_memory(&key) ? 1 : 0;
        join->keys[index] = key;
        join->groups |= sirix_join_group(key);
        put(join, sirix_join_hash(run, key), (uint32_t)index);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

static enum sirix_status make_table(struct sirix_run *run, struct sirix_flwor_join *join,
                                    struct sirix_query_error *err)
{
    const size_t count = join->items.count + 1;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, count, sizeof(*join->next), &memory, &err->base);

    join->next = memory;
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(run->work.arena, count, sizeof(*join->keys), &memory, &err->base);
        join->keys = memory;
    }
    join->table_size = TABLE_MIN;
    while (join->table_size < join->items.count * 2) {
        join->table_size *= 2;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(run->work.arena, join->table_size, sizeof(*join->table),
                                    &memory, &err->base);
        join->table = memory;
    }
    return status;
}

static enum sirix_status build(struct sirix_run *run, struct sirix_flwor_join *join,
                               struct sirix_flwor *flwor, uint32_t clause,
                               struct sirix_query_error *err)
{
    struct sirix_collector collector;

    sirix_collector_init(&collector, &join->items);
    enum sirix_status status = sirix_run_for_items(run, join->clause, &collector.sink, err);
    join->given_up = status == SIRIX_OK && join->items.count >= UINT32_MAX / 4;
    if (status == SIRIX_OK && !join->given_up) {
        status = make_table(run, join, err);
    }
    run->kept++;
    for (size_t i = 0; i < join->items.count && status == SIRIX_OK && !join->given_up; i++) {
        status = hash_item(run, join, flwor, clause, i, err);
    }
    flwor->ask_of_items = flwor->ask_of_items || join->given_up;
    join->built = status == SIRIX_OK;
    return status;
}

/* --- Giving ---------------------------------------------------------------------------------------- */

static enum sirix_status give(struct sirix_run *run, const struct sirix_flwor_join *join,
                              struct sirix_flwor *flwor, uint32_t next, size_t index,
                              struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    bind(run, join, index);
    if (status == SIRIX_OK) {
        status = sirix_flwor_chain(run, flwor, next, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

enum likeness { UNLIKE, ALIKE, UNKNOWN };

/* Whether keys are equal, where that takes no more than a look. */
static enum likeness like(const struct sirix_item *a, const struct sirix_item *b)
{
    if (a->kind == SIRIX_ITEM_INTEGER && b->kind == SIRIX_ITEM_INTEGER) {
        return a->value.integer == b->value.integer ? ALIKE : UNLIKE;
    }
    if (a->kind == SIRIX_ITEM_STRING && b->kind == SIRIX_ITEM_STRING) {
        return sirix_bytes_equal(sirix_item_bytes(*a), sirix_item_bytes(*b)) ? ALIKE : UNLIKE;
    }
    return UNKNOWN;
}

static enum sirix_status give_matches(struct sirix_run *run, const struct sirix_flwor_join *join,
                                      struct sirix_flwor *flwor, uint32_t clause,
                                      const struct sirix_item *key, struct sirix_query_error *err)
{
    const uint64_t hash = sirix_join_hash(run, *key);
    /* The where that wants them equal, if it is the next clause, has nothing to add. */
    const uint32_t next = clause + (join->clause->number == 1 ? 2 : 1);
    size_t at = (size_t)hash & (join->table_size - 1);
    enum sirix_status status = SIRIX_OK;

    while (join->table[at].first != 0 && join->table[at].hash != hash) {
        at = (at + 1) & (join->table_size - 1);
    }
    for (uint32_t i = join->table[at].first; i != 0 && status == SIRIX_OK; i = join->next[i - 1]) {
        const enum likeness found = like(key, &join->keys[i - 1]);

        if (found != UNLIKE) {
            status = give(run, join, flwor, found == ALIKE ? next : clause + 1, (size_t)i - 1, err);
        }
    }
    return status;
}

enum sirix_status sirix_flwor_join_give(struct sirix_run *run, struct sirix_flwor_join *join,
                                        struct sirix_flwor *flwor, uint32_t clause,
                                        struct sirix_query_error *err)
{
    struct sirix_item key = {0};
    bool failed = false;
    enum sirix_status status = join->built ? SIRIX_OK : build(run, join, flwor, clause, err);

    if (status == SIRIX_OK) {
        status = sirix_flwor_early_key(run, join->clause->outer_key, &key, &failed, err);
    }
    if (status == SIRIX_OK && key.kind != SIRIX_ITEM_NONE &&
        sirix_join_differs(join->groups, key)) {
        failed = true; /* The where finds out. */
    }
    if (status == SIRIX_OK && (join->given_up || failed)) {
        flwor->ask_of_items = true;
        for (size_t i = 0; i < join->items.count && status == SIRIX_OK; i++) {
            status = give(run, join, flwor, clause + 1, i, err);
        }
        return status;
    }
    return status == SIRIX_OK && key.kind != SIRIX_ITEM_NONE
               ? give_matches(run, join, flwor, clause, &key, err)
               : status;
}
