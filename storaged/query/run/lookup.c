/*
 * A filter by equality that is asked again and again of one array of the store, such as
 *
 *     for $o in D.orders[] return D.customers[][$$.id eq $o.customer]
 *
 * From the third time on the array's objects are found by a table of their keys. The condition still
 * decides: the table only leaves out what would not pass.
 */
#include "query/run/flwor.h"

enum { ASKED_MIN = 3, OBJECTS_MAX = 1000000, TABLES_MAX = 8, TABLE_MIN = 64 };

struct lookup {
    const struct sirix_plan *key;   /* $$.a.b */
    const struct sirix_plan *other; /* Of the same focus as the whole filter. */
    bool given_up;
    uint64_t origin; /* Of the array that was asked last. */
    unsigned asked;
    unsigned tables; /* Made so far. */
    bool built;
    struct sirix_item *objects;
    uint64_t *hashes;
    uint32_t *next; /* Index plus 1 of the next one in the same place, in order. */
    size_t count;
    uint32_t *first;
    uint32_t *last;
    size_t size;     /* A power of two. */
    uint64_t groups; /* Of the keys: sirix_join_group(). */
};

/* --- Which filters --------------------------------------------------------------------------------- */

static bool is_key(const struct sirix_plan *plan)
{
    if (plan->kind != SIRIX_PLAN_FIELD) {
        return false;
    }
    while (plan->kind == SIRIX_PLAN_FIELD) {
        if (plan->children[1]->kind != SIRIX_PLAN_CONSTANT) {
            return false;
        }
        plan = plan->children[0];
    }
    return plan->kind == SIRIX_PLAN_CONTEXT;
}

static bool matches(const struct sirix_plan *condition, struct lookup *lookup)
{
    const uint32_t focus =
        SIRIX_PLAN_USES_CONTEXT | SIRIX_PLAN_USES_POSITION | SIRIX_PLAN_USES_LAST;

    if ((condition->kind != SIRIX_PLAN_COMPARE && condition->kind != SIRIX_PLAN_COMPARE_ANY) ||
        (condition->op != SIRIX_AST_EQ && condition->op != SIRIX_AST_GENERAL_EQ)) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (is_key(condition->children[i]) && (condition->children[1 - i]->flags & focus) == 0) {
            lookup->key = condition->children[i];
            lookup->other = condition->children[1 - i];
            return true;
        }
    }
    return false;
}

static enum sirix_status lookup_of(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct lookup **out, struct sirix_query_error *err)
{
    void **cache = sirix_run_cache(plan);
    struct lookup *lookup = *cache;

    if (lookup == NULL) {
        void *memory = NULL;
        enum sirix_status status =
            sirix_arena_calloc(run->keep, 1, sizeof(*lookup), &memory, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
        lookup = memory;
        lookup->given_up =
            plan->children[0]->kind != SIRIX_PLAN_UNBOX || !matches(plan->children[1], lookup);
        *cache = lookup;
    }
    *out = lookup;
    return SIRIX_OK;
}

/* --- Building --------------------------------------------------------------------------------------- */

struct build_sink {
    struct sirix_sink sink;
    struct lookup *lookup;
};

static enum sirix_status take_object(struct sirix_sink *sink, struct sirix_run *run,
                                     const struct sirix_item *item, struct sirix_query_error *err)
{
    struct lookup *lookup = ((struct build_sink *)sink)->lookup;
    const struct sirix_focus focus = run->focus;
    struct sirix_item key = {0};
    bool one = true;

    if (item->kind != SIRIX_ITEM_OBJECT) {
        return SIRIX_OK; /* It has no fields. */
    }
    run->focus = (struct sirix_focus){.item = *item, .position = 1};
    enum sirix_status status = sirix_join_key(run, lookup->key, &key, &one, err);
    run->focus = focus;
    if (status != SIRIX_OK) {
        return status;
    }
    if (!one) {
        lookup->given_up = true;
        return SIRIX_RUN_STOP;
    }
    if (key.kind != SIRIX_ITEM_NONE) {
        lookup->objects[lookup->count] = *item;
        lookup->hashes[lookup->count++] = sirix_join_hash(run, key);
        lookup->groups |= sirix_join_group(key);
    }
    return SIRIX_OK;
}

static void fill_table(struct lookup *lookup)
{
    for (size_t i = 0; i < lookup->count; i++) {
        const size_t at = (size_t)lookup->hashes[i] & (lookup->size - 1);

        if (lookup->first[at] == 0) {
            lookup->first[at] = (uint32_t)i + 1;
        } else {
            lookup->next[lookup->last[at] - 1] = (uint32_t)i + 1;
        }
        lookup->last[at] = (uint32_t)i + 1;
    }
}

static enum sirix_status allocate(struct sirix_run *run, struct lookup *lookup, uint64_t size,
                                  struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->keep, (size_t)size, sizeof(*lookup->objects), &memory, &err->base);

    lookup->objects = memory;
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(run->keep, (size_t)size, sizeof(*lookup->hashes), &memory,
                                    &err->base);
        lookup->hashes = memory;
    }
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(run->keep, (size_t)size, sizeof(*lookup->next), &memory, &err->base);
        lookup->next = memory;
    }
    lookup->size = TABLE_MIN;
    while (lookup->size < size) {
        lookup->size *= 2;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(run->keep, lookup->size * 2, sizeof(*lookup->first), &memory,
                                    &err->base);
        lookup->first = memory;
        lookup->last = lookup->first + lookup->size;
    }
    return status;
}

static enum sirix_status build(struct sirix_run *run, struct lookup *lookup,
                               const struct sirix_item *array, struct sirix_query_error *err)
{
    struct build_sink sink = {.sink = {.take = take_object, .want = UINT64_MAX}, .lookup = lookup};
    uint64_t size = 0;
    enum sirix_status status = sirix_container_size(&run->work, *array, &size, err);

    if (status == SIRIX_OK && (size > OBJECTS_MAX || lookup->tables == TABLES_MAX)) {
        lookup->given_up = true;
        return SIRIX_OK;
    }
    lookup->tables++;
    lookup->count = 0;
    lookup->groups = 0;
    if (status == SIRIX_OK) {
        status = allocate(run, lookup, size + 1, err);
    }
    if (status == SIRIX_OK) {
        status = run->store->children(run, array, &sink.sink, err);
    }
    if (status == SIRIX_RUN_STOP && lookup->given_up) {
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        fill_table(lookup);
        lookup->built = true;
    }
    return status;
}

/* --- Asking ----------------------------------------------------------------------------------------- */

static enum sirix_status give(struct sirix_run *run, const struct sirix_plan *plan,
                              const struct lookup *lookup, uint64_t hash, struct sirix_sink *sink,
                              struct sirix_query_error *err)
{
    const struct sirix_focus outer = run->focus;
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = lookup->first[(size_t)hash & (lookup->size - 1)];
         i != 0 && status == SIRIX_OK; i = lookup->next[i - 1]) {
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
        const struct sirix_item object = lookup->objects[i - 1];
        bool passes = false;

        if (lookup->hashes[i - 1] != hash) {
            continue;
        }
        status = sirix_work_tick(&run->work, 1, err);
        run->focus = (struct sirix_focus){.item = object, .position = 1};
        if (status == SIRIX_OK) {
            status = sirix_run_truth(run, plan->children[1], &passes, err);
        }
        run->focus = outer;
        if (status == SIRIX_OK && passes) {
            status = sink->take(sink, run, &object, err);
        }
        sirix_run_turn_end(run, &turn);
    }
    return status;
}

enum sirix_status sirix_run_lookup(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, bool *out_known,
                                   struct sirix_query_error *err)
{
    struct lookup *lookup = NULL;
    struct sirix_item array = {0};
    struct sirix_item key = {0};
    bool many = false;
    bool one = false;
    enum sirix_status status = SIRIX_OK;

    *out_known = false;
    if (run->naive || run->store == NULL) {
        return SIRIX_OK;
    }
    status = lookup_of(run, plan, &lookup, err);
    if (status != SIRIX_OK || lookup->given_up) {
        return status;
    }
    status = sirix_run_few(run, plan->children[0]->children[0], &array, &many, err);
    if (status != SIRIX_OK || many || array.kind != SIRIX_ITEM_ARRAY ||
        !sirix_container_is_stored(array)) {
        return status;
    }
    if (lookup->origin != array.origin) {
        lookup->origin = array.origin;
        lookup->asked = 0;
        lookup->built = false;
    }
    if (++lookup->asked < ASKED_MIN) {
        return SIRIX_OK;
    }
    if (!lookup->built) {
        status = build(run, lookup, &array, err);
    }
    if (status == SIRIX_OK && lookup->built && lookup->count == 0) {
        *out_known = true; /* Nobody asks what the keys would be compared with. */
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && lookup->built) {
        status = sirix_join_key(run, lookup->other, &key, &one, err);
    }
    if (status != SIRIX_OK || !lookup->built || !one) {
        return status;
    }
    if (key.kind != SIRIX_ITEM_NONE && sirix_join_differs(lookup->groups, key)) {
        return SIRIX_OK;
    }
    *out_known = true;
    return key.kind == SIRIX_ITEM_NONE
               ? SIRIX_OK
               : give(run, plan, lookup, sirix_join_hash(run, key), sink, err);
}
