/*
 * order by: tuples with their keys, sorted by merging (stable); where only the first n are wanted, a heap
 * of n tuples that lets all others go at once.
 */
#include "query/run/flwor.h"

enum { TUPLES_MIN = 64, HEAP_MAX = 100000 };

/* What a tuple consists of. A value is an item; several items or none: kind NONE, with a sequence. */
struct tuple {
    uint64_t number; /* In the order in which they came. */
    struct sirix_item *keys;
    struct sirix_item *values;
};

struct sirix_flwor_order {
    const struct sirix_plan *clause;
    const struct sirix_plan *result; /* Tuples of which nothing comes are let go; NULL: of none. */
    uint64_t want;
    uint64_t came;
    struct tuple **tuples;
    size_t count;
    size_t cap;
    struct tuple *spare; /* Its keys are those of the tuple at hand. */
};

enum sirix_status sirix_flwor_order_new(struct sirix_run *run, const struct sirix_flwor *flwor,
                                        uint32_t at, struct sirix_flwor_order **out,
                                        struct sirix_query_error *err)
{
    const struct sirix_plan *clause = flwor->plan->children[at];
    const bool some = (clause->flags & SIRIX_PLAN_ONE_OR_NONE) != 0;
    const bool limits = some || (clause->flags & SIRIX_PLAN_ONE_EACH) != 0;

    struct sirix_flwor_order *order = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, 1, sizeof(*order), &memory, &err->base);

    if (status == SIRIX_OK) {
        order = memory;
        order->clause = clause;
        order->want = limits && flwor->sink->want <= HEAP_MAX ? flwor->sink->want : UINT64_MAX;
        order->result = some && order->want != UINT64_MAX ? flwor->plan->children[at + 1] : NULL;
        *out = order;
    }
    return status;
}

static enum sirix_status new_tuple(struct sirix_run *run, const struct sirix_flwor_order *order,
                                   struct tuple **out, struct sirix_query_error *err)
{
    const size_t keys = order->clause->child_count;
    const size_t values = order->clause->list_count;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        run->work.arena, 1, sizeof(struct tuple) + (keys + values) * sizeof(struct sirix_item),
        &memory, &err->base);

    if (status == SIRIX_OK) {
        struct tuple *tuple = memory;

        run->kept++;
        tuple->keys = (struct sirix_item *)(void *)(tuple + 1);
        tuple->values = tuple->keys + keys;
        *out = tuple;
    }
    return status;
}

/* --- Comparing ------------------------------------------------------------------------------------- */

static enum sirix_status compare_key(struct sirix_run *run, const struct sirix_plan *key,
                                     const struct sirix_item *a, const struct sirix_item *b,
                                     int *out, struct sirix_query_error *err)
{
    if (a->kind == SIRIX_ITEM_INTEGER && b->kind == SIRIX_ITEM_INTEGER) {
        *out = (a->value.integer > b->value.integer) - (a->value.integer < b->value.integer);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_item_order(
        &run->work, *a, *b, (key->flags & SIRIX_PLAN_EMPTY_GREATEST) != 0, out, err);
    if (sirix_run_failed(status)) {
        sirix_query_error_locate(err, key->line, key->column);
    }
    return status;
}

static enum sirix_status compare(struct sirix_run *run, const struct sirix_flwor_order *order,
                                 const struct tuple *a, const struct tuple *b, int *out,
                                 struct sirix_query_error *err)
{
    for (uint32_t i = 0; i < order->clause->child_count; i++) {
        const struct sirix_plan *key = order->clause->children[i];
        int found = 0;
        enum sirix_status status = compare_key(run, key, &a->keys[i], &b->keys[i], &found, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (found != 0) {
            *out = (key->flags & SIRIX_PLAN_DESCENDING) != 0 ? -found : found;
            return SIRIX_OK;
        }
    }
    *out = (a->number > b->number) - (a->number < b->number);
    return SIRIX_OK;
}

/* --- Taking in ------------------------------------------------------------------------------------- */

/* A value of several items or none. */
static enum sirix_status fill_sequence(struct sirix_run *run, const struct sirix_sequence *from,
                                       struct sirix_item *value, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    *value = (struct sirix_item){0};
    if (from->count != 0) {
        status = sirix_arena_alloc(run->work.arena, sizeof(*from), &memory, &err->base);
    }
    if (memory != NULL) {
        memcpy(memory, from, sizeof(*from));
        value->value.text = memory;
    }
    return status;
}

static enum sirix_status fill_values(struct sirix_run *run, const struct sirix_flwor_order *order,
                                     struct tuple *tuple, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < order->clause->list_count && status == SIRIX_OK; i++) {
        const struct sirix_sequence *from = &run->frame[order->clause->slots[i]].value;

        if (from->count == 1) {
            tuple->values[i] = sirix_sequence_at(from, 0);
        } else {
            status = fill_sequence(run, from, &tuple->values[i], err);
        }
    }
    run->kept++;
    return status;
}

static enum sirix_status add_tuple(struct sirix_run *run, struct sirix_flwor_order *order,
                                   struct tuple *tuple, struct sirix_query_error *err)
{
    void *memory = NULL;

    if (order->count == order->cap) {
        const size_t cap = order->cap == 0 ? TUPLES_MIN : order->cap * 2;
        enum sirix_status status =
            sirix_arena_calloc(run->work.arena, cap, sizeof(struct tuple *), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        if (order->count != 0) {
            memcpy(memory, order->tuples, order->count * sizeof(struct tuple *));
        }
        order->tuples = memory;
        order->cap = cap;
        run->kept++;
    }
    order->tuples[order->count++] = tuple;
    return SIRIX_OK;
}

/* Restores the heap (the last tuple of the order on top) upwards from at. */
static enum sirix_status heap_up(struct sirix_run *run, struct sirix_flwor_order *order, size_t at,
                                 struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (at != 0 && status == SIRIX_OK) {
        const size_t parent = (at - 1) / 2;
        struct tuple *tuple = order->tuples[at];
        int found = 0;

        status = compare(run, order, tuple, order->tuples[parent], &found, err);
        if (status != SIRIX_OK || found <= 0) {
            break;
        }
        order->tuples[at] = order->tuples[parent];
        order->tuples[parent] = tuple;
        at = parent;
    }
    return status;
}

static enum sirix_status heap_down(struct sirix_run *run, struct sirix_flwor_order *order,
                                   struct sirix_query_error *err)
{
    size_t at = 0;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && at * 2 + 1 < order->count) {
        size_t child = at * 2 + 1;
        struct tuple *tuple = order->tuples[at];
        int found = 0;

        if (child + 1 < order->count) {
            status =
                compare(run, order, order->tuples[child + 1], order->tuples[child], &found, err);
            child += status == SIRIX_OK && found > 0 ? 1 : 0;
        }
        if (status == SIRIX_OK) {
            status = compare(run, order, order->tuples[child], tuple, &found, err);
        }
        if (status != SIRIX_OK || found <= 0) {
            break;
        }
        order->tuples[at] = order->tuples[child];
        order->tuples[child] = tuple;
        at = child;
    }
    return status;
}

/* Whether anything comes of the tuple at hand. */
static enum sirix_status gives_any(struct sirix_run *run, const struct sirix_flwor_order *order,
                                   bool *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;

    *out = true;
    if (order->result != NULL) {
        status = sirix_run_one(run, order->result, &item, err);
        *out = item.kind != SIRIX_ITEM_NONE;
    }
    return status;
}

/* The tuple at hand takes the place of the last one so far, or none. */
static enum sirix_status heap_replace(struct sirix_run *run, struct sirix_flwor_order *order,
                                      struct sirix_query_error *err)
{
    struct tuple *last = order->tuples[0];
    bool gives = true;
    int found = 0;
    enum sirix_status status = compare(run, order, order->spare, last, &found, err);

    if (status == SIRIX_OK && found < 0) {
        status = gives_any(run, order, &gives, err);
    }
    if (status != SIRIX_OK || found >= 0 || !gives) {
        return status;
    }
    status = fill_values(run, order, order->spare, err);
    order->tuples[0] = order->spare;
    order->spare = last;
    return status == SIRIX_OK ? heap_down(run, order, err) : status;
}

enum sirix_status sirix_flwor_order_add(struct sirix_run *run, struct sirix_flwor_order *order,
                                        struct sirix_query_error *err)
{
    bool gives = true;
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    if (order->want == 0) {
        return status;
    }
    if (status == SIRIX_OK && order->spare == NULL) {
        status = new_tuple(run, order, &order->spare, err);
    }
    for (uint32_t i = 0; i < order->clause->child_count && status == SIRIX_OK; i++) {
        order->spare->keys[i] = (struct sirix_item){0};
        status = sirix_run_atom(run, order->clause->children[i]->children[0],
                                &order->spare->keys[i], err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    order->spare->number = order->came++;
    if (order->count == order->want) {
        return heap_replace(run, order, err);
    }
    status = gives_any(run, order, &gives, err);
    if (status != SIRIX_OK || !gives) {
        return status;
    }
    status = fill_values(run, order, order->spare, err);
    if (status == SIRIX_OK) {
        status = add_tuple(run, order, order->spare, err);
        order->spare = NULL;
    }
    return status == SIRIX_OK && order->want != UINT64_MAX
               ? heap_up(run, order, order->count - 1, err)
               : status;
}

/* --- Giving out ------------------------------------------------------------------------------------ */

/* Whether the tuple at left, if there is one, comes before that at right. */
static enum sirix_status left_first(struct sirix_run *run, const struct sirix_flwor_order *order,
                                    const struct tuple *left, const struct tuple *right, bool *out,
                                    struct sirix_query_error *err)
{
    int found = 0;
    enum sirix_status status = SIRIX_OK;

    if (left == NULL || right == NULL) {
        *out = right == NULL;
        return SIRIX_OK;
    }
    status = compare(run, order, left, right, &found, err);
    *out = found <= 0;
    return status;
}

/* Two sorted runs that lie one behind the other: [from, middle) and [middle, to). */
struct runs {
    size_t from;
    size_t middle;
    size_t to;
};

/* Merges two runs of a into b. */
static enum sirix_status merge(struct sirix_run *run, const struct sirix_flwor_order *order,
                               struct tuple **a, struct tuple **b, const struct runs *runs,
                               struct sirix_query_error *err)
{
    size_t left = runs->from;
    size_t right = runs->middle;

    for (size_t at = runs->from; at < runs->to; at++) {
        bool take_left = false;
        enum sirix_status status = left_first(run, order, left < runs->middle ? a[left] : NULL,
                                              right < runs->to ? a[right] : NULL, &take_left, err);

        if (status != SIRIX_OK) {
            return status;
        }
        b[at] = take_left ? a[left++] : a[right++];
    }
    return sirix_work_tick(&run->work, runs->to - runs->from, err);
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum sirix_status sort(struct sirix_run *run, struct sirix_flwor_order *order,
                              struct sirix_query_error *err)
{
    void *memory = NULL;
    struct tuple **from = order->tuples;
    struct tuple **to = NULL;
    enum sirix_status status = sirix_arena_calloc(run->work.arena, order->count + 1,
                                                  sizeof(struct tuple *), &memory, &err->base);

    to = memory;
    for (size_t width = 1; width < order->count && status == SIRIX_OK; width *= 2) {
        struct tuple **swap = from;

        for (size_t at = 0; at < order->count && status == SIRIX_OK; at += 2 * width) {
            const struct runs runs = {.from = at,
                                      .middle = at_most(at + width, order->count),
                                      .to = at_most(at + 2 * width, order->count)};

            status = merge(run, order, from, to, &runs, err);
        }
        from = to;
        to = swap;
    }
    order->tuples = from;
    return status;
}

static void bind(struct sirix_run *run, const struct sirix_flwor_order *order,
                 const struct tuple *tuple)
{
    for (uint32_t i = 0; i < order->clause->list_count; i++) {
        struct sirix_slot *slot = &run->frame[order->clause->slots[i]];
        const struct sirix_item *value = &tuple->values[i];

        if (value->kind != SIRIX_ITEM_NONE) {
            sirix_slot_set_item(slot, value);
        } else if (value->value.text == NULL) {
            slot->value = (struct sirix_sequence){0};
        } else {
            memcpy(&slot->value, value->value.text, sizeof(slot->value));
            slot->value.stamp = 0;
        }
    }
}

enum sirix_status sirix_flwor_order_give(struct sirix_run *run, struct sirix_flwor_order *order,
                                         struct sirix_flwor *flwor, uint32_t next,
                                         struct sirix_query_error *err)
{
    enum sirix_status status = sort(run, order, err);

    for (size_t i = 0; i < order->count && status == SIRIX_OK; i++) {
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);

        bind(run, order, order->tuples[i]);
        status = sirix_flwor_chain(run, flwor, next, err);
        sirix_run_turn_end(run, &turn);
    }
    return status;
}
