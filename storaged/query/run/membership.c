/* Tables of the right sides of `=`. They find candidates; the comparison itself has the last word. */
#include "query/run/membership.h"

#include "query/run/flwor.h"

enum { ITEMS_MIN = 16, ITEMS_MAX = 16 * 1024 * 1024, ASKED_MIN = 8, TABLES_MAX = 8 };

/* The stamp of the variable that an expression is; 0: of none. */
static uint32_t stamp_of(const struct sirix_run *run, const struct sirix_plan *plan)
{
    if (plan->kind == SIRIX_PLAN_VARIABLE) {
        return run->frame[plan->slot].value.stamp;
    }
    return plan->kind == SIRIX_PLAN_GLOBAL ? run->globals[plan->slot].slot.value.stamp : 0;
}

/* What is kept of a variable with this value. */
static enum sirix_status members_of(struct sirix_run *run, const struct sirix_plan *plan,
                                    uint32_t stamp, struct sirix_members **out,
                                    struct sirix_query_error *err)
{
    void **cache = sirix_run_cache(plan);
    struct sirix_members *members = *cache;

    if (members == NULL) {
        void *memory = NULL;
        enum sirix_status status =
            sirix_arena_calloc(run->keep, 1, sizeof(*members), &memory, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
        members = memory;
        *cache = members;
    }
    if (members->stamp != stamp) {
        *members = (struct sirix_members){
            .stamp = stamp, .tables = members->tables, .given_up = members->tables == TABLES_MAX};
    }
    *out = members;
    return SIRIX_OK;
}

enum sirix_status sirix_membership_init(struct sirix_run *run, const struct sirix_plan *plan,
                                        const struct sirix_sequence *right,
                                        struct sirix_membership *out, struct sirix_query_error *err)
{
    const uint32_t stamp = stamp_of(run, plan->children[1]);
    enum sirix_status status = SIRIX_OK;

    *out = (struct sirix_membership){.arena = run->work.arena};
    if (!run->naive && !right->is_range &&
        (plan->op == SIRIX_AST_EQ || plan->op == SIRIX_AST_GENERAL_EQ)) {
        out->members = &out->own;
        if (stamp != 0 && right->count >= ITEMS_MIN) {
            out->arena = run->keep;
            status = members_of(run, plan, stamp, &out->members, err);
        }
    }
    if (status == SIRIX_OK && out->members != NULL && out->members->slots != NULL) {
        out->items = out->members->items;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_spread(&run->work, right, &out->items, err);
    }
    if (out->items.count < ITEMS_MIN || out->items.count > ITEMS_MAX) {
        out->members = NULL;
    } else if (out->members != NULL && out->items.items != right->items) {
        out->members = &out->own; /* Members of arrays do not live as long as the variable. */
        out->arena = run->work.arena;
    }
    return status;
}

/* Untyped values are equal to what they can be cast to. */
static bool hashes(const struct sirix_item *item)
{
    return sirix_item_is_atomic(*item) && item->kind != SIRIX_ITEM_UNTYPED;
}

/* Where an item of this hash is, or would be: the first such place from `at` on. */
static size_t find(const struct sirix_members *members, uint64_t hash, size_t at)
{
    at &= members->size - 1;
    while (members->slots[at].index != 0 && members->slots[at].hash != hash) {
        at = (at + 1) & (members->size - 1);
    }
    return at;
}

static struct sirix_item item_at(const struct sirix_membership *membership, size_t at)
{
    return sirix_sequence_at(&membership->items, membership->members->slots[at].index - 1);
}

/* Adds an item, unless its value is there. */
static void put(struct sirix_run *run, struct sirix_membership *membership, size_t index)
{
    struct sirix_members *members = membership->members;
    const struct sirix_item item = sirix_sequence_at(&membership->items, index);
    const uint64_t hash = sirix_join_hash(run, item);
    size_t at = find(members, hash, (size_t)hash);

    while (members->slots[at].index != 0) {
        if (sirix_item_same(&run->work, item, item_at(membership, at))) {
            return;
        }
        at = find(members, hash, at + 1);
    }
    members->slots[at] = (struct sirix_member){.hash = hash, .index = (uint32_t)index + 1};
}

/* The items live as long as the table. */
static enum sirix_status keep_items(struct sirix_membership *membership,
                                    struct sirix_query_error *err)
{
    struct sirix_sequence *items = &membership->items;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(membership->arena, items->count,
                                                  sizeof(*items->items), &memory, &err->base);

    if (status == SIRIX_OK) {
        memcpy(memory, items->items, items->count * sizeof(*items->items));
        *items = (struct sirix_sequence){.items = memory, .count = items->count};
        membership->members->items = *items;
    }
    return status;
}

static enum sirix_status build(struct sirix_run *run, struct sirix_membership *membership,
                               struct sirix_query_error *err)
{
    struct sirix_members *members = membership->members;
    const size_t count = membership->items.count;
    void *memory = NULL;

    for (size_t i = 0; i < count && !members->given_up; i++) {
        members->given_up = !hashes(&membership->items.items[i]);
        members->groups |= sirix_join_group(membership->items.items[i]);
    }
    if (members->given_up) {
        return SIRIX_OK;
    }
    members->tables++;
    members->size = ITEMS_MIN;
    while (members->size < count * 2) {
        members->size *= 2;
    }
    enum sirix_status status = sirix_arena_calloc(membership->arena, members->size,
                                                  sizeof(*members->slots), &memory, &err->base);
    if (status == SIRIX_OK) {
        status = keep_items(membership, err);
    }
    run->kept++; /* Loops inside the left side shall not take it back. */
    members->slots = memory;
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        put(run, membership, i);
        status = sirix_work_tick(&run->work, 1, err);
    }
    return status;
}

enum sirix_status sirix_membership_ask(struct sirix_run *run, struct sirix_membership *membership,
                                       const struct sirix_item *atom, bool *out_found,
                                       bool *out_known, struct sirix_query_error *err)
{
    struct sirix_members *members = membership->members;
    bool found = false;
    enum sirix_status status = SIRIX_OK;

    *out_known = false;
    if (members == NULL || members->given_up || !hashes(atom) || ++members->asked <= ASKED_MIN) {
        return SIRIX_OK;
    }
    if (members->slots == NULL) {
        status = build(run, membership, err);
    }
    if (status != SIRIX_OK || members->given_up || sirix_join_differs(members->groups, *atom)) {
        return status;
    }
    const uint64_t hash = sirix_join_hash(run, *atom);
    for (size_t at = find(members, hash, (size_t)hash); members->slots[at].index != 0 && !found;
         at = find(members, hash, at + 1)) {
        struct sirix_query_error ignored = {.line = 0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status != SIRIX_OK) {
            return status;
        }
        /* What shares a hash by chance need not compare. */
        if (sirix_compare_general(&run->work, SIRIX_EQ, *atom, item_at(membership, at), &found,
                                  &ignored) != SIRIX_OK) {
            found = false;
        }
    }
    *out_found = found;
    *out_known = true;
    return SIRIX_OK;
}
