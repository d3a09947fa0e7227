/*
 * Equality joins: `for $a in A, $b in B where $a.x eq $b.y`, with a B that does not depend on $a. B is
 * evaluated once and hashed by $b.y; each tuple meets only those items whose hash is that of $a.x. The
 * where stays in its place and has the last word, so the table only leaves out what would not pass.
 */
#include "query/run/flwor.h"

enum { TABLE_MIN = 64, WORDS_MAX = 16 };

/* Slots of a frame as a set; frames of more variables are not looked at. */
struct slots {
    uint64_t words[WORDS_MAX];
};

struct bucket {
    uint64_t hash;
    uint32_t first; /* Index plus 1; 0: free. */
    uint32_t last;
};

struct sirix_flwor_join {
    const struct sirix_plan *clause;
    const struct sirix_plan
        *inner_key; /* Asks for the clause's variable and nothing of the tuple. */
    const struct sirix_plan *outer_key;
    bool built;
    bool given_up; /* A key has several items: every item meets every tuple. */
    struct sirix_sequence items;
    struct bucket *table;
    size_t table_size; /* A power of two. */
    uint32_t *next;    /* Of the same hash, in order. */
};

/* --- Finding --------------------------------------------------------------------------------------- */

static bool add_slot(struct slots *slots, uint32_t slot)
{
    if (slot == SIRIX_PLAN_NO_SLOT) {
        return true;
    }
    if (slot >= WORDS_MAX * 64) {
        return false;
    }
    slots->words[slot / 64] |= UINT64_C(1) << (slot % 64);
    return true;
}

static bool has_slot(const struct slots *slots, uint32_t slot)
{
    return slot < WORDS_MAX * 64 && (slots->words[slot / 64] >> (slot % 64) & 1) != 0;
}

static bool meet(const struct slots *a, const struct slots *b)
{
    for (size_t i = 0; i < WORDS_MAX; i++) {
        if ((a->words[i] & b->words[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* The slots that an expression reads; false: not known, or it does more than read. */
static bool reads(const struct sirix_plan *plan, struct slots *slots)
{
    if (plan == NULL) {
        return true;
    }
    if ((plan->flags & SIRIX_PLAN_UPDATING) != 0) {
        return false;
    }
    if (plan->kind == SIRIX_PLAN_VARIABLE && !add_slot(slots, plan->slot)) {
        return false;
    }
    if (plan->kind == SIRIX_PLAN_GROUP_KEY && !add_slot(slots, plan->slot)) {
        return false;
    }
    if (plan->kind == SIRIX_PLAN_CLOSURE) {
        for (uint32_t i = 0; i < plan->user->capture_count; i++) {
            if (!add_slot(slots, plan->user->captures[i])) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < plan->child_count; i++) {
        if (!reads(plan->children[i], slots)) {
            return false;
        }
    }
    return true;
}

/* The variables that the clauses before `end` bind. */
static bool bound_before(const struct sirix_flwor *flwor, uint32_t end, struct slots *slots)
{
    bool known = true;

    for (uint32_t i = 0; i < end && known; i++) {
        const struct sirix_plan *clause = flwor->plan->children[i];

        known = add_slot(slots, clause->slot) && add_slot(slots, clause->position_slot);
        if (clause->kind == SIRIX_PLAN_WINDOW || clause->kind == SIRIX_PLAN_GROUP) {
            for (uint32_t c = 0; c < clause->child_count && known; c++) {
                const struct sirix_plan *edge = clause->children[c];

                known = add_slot(slots, edge->slot) && add_slot(slots, edge->position_slot) &&
                        add_slot(slots, edge->previous_slot) && add_slot(slots, edge->next_slot);
            }
        }
    }
    return known;
}

/* Whether a comparison joins the clause's variable with the tuple; sets both keys. */
static bool joins(const struct sirix_plan *condition, const struct slots *tuple,
                  struct sirix_flwor_join *join)
{
    struct slots sides[2] = {{{0}}, {{0}}};
    const uint32_t slot = join->clause->slot;

    if ((condition->kind != SIRIX_PLAN_COMPARE && condition->kind != SIRIX_PLAN_COMPARE_ANY) ||
        (condition->op != SIRIX_AST_EQ && condition->op != SIRIX_AST_GENERAL_EQ) ||
        !reads(condition->children[0], &sides[0]) || !reads(condition->children[1], &sides[1])) {
        return false;
    }
    for (uint32_t inner = 0; inner < 2; inner++) {
        const struct slots *other = &sides[1 - inner];

        if (has_slot(&sides[inner], slot) && !meet(&sides[inner], tuple) &&
            !has_slot(other, slot) && !has_slot(other, join->clause->position_slot) &&
            meet(other, tuple)) {
            join->inner_key = condition->children[inner];
            join->outer_key = condition->children[1 - inner];
            return true;
        }
    }
    return false;
}

static bool find_condition(const struct sirix_flwor *flwor, uint32_t clause,
                           const struct slots *tuple, struct sirix_flwor_join *join)
{
    for (uint32_t i = clause + 1; i < flwor->clause_count; i++) {
        const struct sirix_plan *where = flwor->plan->children[i];
        const struct sirix_plan *condition = NULL;

        if (where->kind != SIRIX_PLAN_WHERE) {
            return false;
        }
        condition = where->children[0];
        if (joins(condition, tuple, join)) {
            return true;
        }
        for (uint32_t c = 0; condition->kind == SIRIX_PLAN_AND && c < condition->child_count; c++) {
            if (joins(condition->children[c], tuple, join)) {
                return true;
            }
        }
    }
    return false;
}

enum sirix_status sirix_flwor_join_find(struct sirix_run *run, struct sirix_flwor *flwor,
                                        uint32_t clause, struct sirix_flwor_join **out,
                                        struct sirix_query_error *err)
{
    const struct sirix_plan *plan = flwor->plan->children[clause];
    struct sirix_flwor_join join = {.clause = plan};
    struct slots tuple = {{0}};
    struct slots source = {{0}};
    void *memory = NULL;

    if (plan->typed || (plan->flags & SIRIX_PLAN_ALLOWING_EMPTY) != 0 ||
        !bound_before(flwor, clause, &tuple) || !reads(plan->children[0], &source) ||
        meet(&source, &tuple) || !find_condition(flwor, clause, &tuple, &join)) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_arena_alloc(run->work.arena, sizeof(join), &memory, &err->base);
    if (status == SIRIX_OK) {
        memcpy(memory, &join, sizeof(join));
        *out = memory;
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
            status = sirix_join_key(run, join->inner_key, &key, &one, err);
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
        status = sirix_join_key(run, join->outer_key, &key, &one, err);
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
