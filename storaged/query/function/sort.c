/* sort(): a stable merge sort over keys that are made once. */
#include "base/checked.h"
#include "query/function/support.h"
#include "query/function/tables.h"

/* Keys are sequences, or, where all are single atomics, the items themselves. */
struct sorter {
    struct sirix_work *work;
    const struct sirix_sequence *keys;
    const struct sirix_sequence *items; /* NULL: keys. */
};

static const struct sirix_sequence_type atomics = T(ATOMIC, MANY);

/* The keys of all members. */
static enum sirix_status make_keys(struct sirix_call *call, const struct sirix_sequence *members,
                                   size_t count, struct sirix_item key_function,
                                   struct sirix_sequence *keys, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        struct sirix_sequence key = members[i];

        if (key_function.kind != SIRIX_ITEM_NONE) {
            status = invoke(call, key_function, &members[i], 1, &key, err);
        }
        if (status == SIRIX_OK) {
            status =
                sirix_sequence_convert(call->work, &key, &atomics, "a sort key", &keys[i], err);
        }
    }
    return status;
}

/* Keys item by item; a key that ends first comes first. */
static enum sirix_status compare(const struct sorter *sorter, size_t a, size_t b, int *out,
                                 struct sirix_query_error *err)
{
    int order = 0;
    enum sirix_status status = sirix_work_tick(sorter->work, 1, err);

    if (status == SIRIX_OK && sorter->items != NULL) {
        return sirix_item_order(sorter->work, sirix_sequence_at(sorter->items, a),
                                sirix_sequence_at(sorter->items, b), false, out, err);
    }
    const struct sirix_sequence *x = &sorter->keys[a];
    const struct sirix_sequence *y = &sorter->keys[b];

    for (size_t i = 0; status == SIRIX_OK && order == 0 && (i < x->count || i < y->count); i++) {
        struct sirix_item left = i < x->count ? sirix_sequence_at(x, i) : (struct sirix_item){0};
        struct sirix_item right = i < y->count ? sirix_sequence_at(y, i) : (struct sirix_item){0};

        status = sirix_item_order(sorter->work, left, right, false, &order, err);
    }
    if (status == SIRIX_OK) {
        *out = order;
    }
    return status;
}

/* Merges two neighbouring runs of `from` into `to`. */
static enum sirix_status merge(const struct sorter *sorter, const size_t *from, size_t *to,
                               size_t start, size_t middle, size_t end,
                               struct sirix_query_error *err)
{
    size_t left = start;
    size_t right = middle;

    for (size_t at = start; at < end; at++) {
        int order = left < middle ? -1 : 1;
        enum sirix_status status = left < middle && right < end
                                       ? compare(sorter, from[left], from[right], &order, err)
                                       : SIRIX_OK;

        if (status != SIRIX_OK) {
            return status;
        }
        to[at] = order <= 0 ? from[left++] : from[right++];
    }
    return SIRIX_OK;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sorts count positions by the sorter's keys. */
static enum sirix_status sort_positions(const struct sorter *sorter, size_t count,
                                        size_t **out_order, struct sirix_query_error *err)
{
    void *memory = NULL;
    size_t twice = 0;

    if (!sirix_mul_size(count, 2, &twice)) {
        return sirix_query_fail_limit(err, "memory_bytes", "too many items to sort");
    }
    enum sirix_status status =
        sirix_arena_calloc(sorter->work->arena, twice, sizeof(size_t), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    size_t *from = memory;

    assert(from != NULL);
    size_t *to = from + count;

    for (size_t i = 0; i < count; i++) {
        from[i] = i;
    }
    if (status == SIRIX_OK && count == 1) { /* Compared with itself: it must have an order. */
        int order = 0;

        status = compare(sorter, 0, 0, &order, err);
    }
    for (size_t width = 1; status == SIRIX_OK && width < count; width *= 2) {
        for (size_t start = 0; status == SIRIX_OK && start < count; start += 2 * width) {
            status = merge(sorter, from, to, start, least(start + width, count),
                           least(start + 2 * width, count), err);
        }
        size_t *swap = from;

        from = to;
        to = swap;
    }
    if (status == SIRIX_OK) {
        *out_order = from;
    }
    return status;
}

enum sirix_status sort_members(struct sirix_call *call, const struct sirix_sequence *members,
                               size_t count, struct sirix_item key_function, size_t **out_order,
                               struct sirix_query_error *err)
{
    void *keys = NULL;
    enum sirix_status status = sirix_arena_calloc(call->work->arena, count,
                                                  sizeof(struct sirix_sequence), &keys, &err->base);

    if (status == SIRIX_OK) {
        status = make_keys(call, members, count, key_function, keys, err);
    }
    struct sorter sorter = {.work = call->work, .keys = keys};

    return status != SIRIX_OK ? status : sort_positions(&sorter, count, out_order, err);
}

/* Every item as a sequence of its own, for keys that a function makes. */
static enum sirix_status sort_by_key(struct sirix_call *call, const struct sirix_sequence *items,
                                     size_t **out_order, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        call->work->arena, items->count, sizeof(struct sirix_sequence), &memory, &err->base);
    struct sirix_sequence *members = memory;

    for (size_t i = 0; status == SIRIX_OK && i < items->count; i++) {
        status = sirix_sequence_single(call->work, sirix_sequence_at(items, i), &members[i], err);
    }
    return status != SIRIX_OK
               ? status
               : sort_members(call, members, items->count, argument(call, 2), out_order, err);
}

static bool all_atomic(const struct sirix_sequence *items)
{
    for (size_t i = 0; !items->is_range && i < items->count; i++) {
        if (!sirix_item_is_atomic(items->items[i])) {
            return false;
        }
    }
    return true;
}

static enum sirix_status sort(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    const struct sirix_sequence *items = &call->arguments[0];
    struct sorter sorter = {.work = call->work, .items = items};
    struct sirix_sequence sorted = {0};
    size_t *order = NULL;
    enum sirix_status status = check_collation(call, 1, err);

    if (status == SIRIX_OK) {
        status = !has_argument(call, 2) && all_atomic(items)
                     ? sort_positions(&sorter, items->count, &order, err)
                     : sort_by_key(call, items, &order, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_reserve(call->work, &sorted, items->count, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < items->count; i++) {
        assert(order != NULL);
        status =
            sirix_sequence_append(call->work, &sorted, sirix_sequence_at(items, order[i]), err);
    }
    if (status == SIRIX_OK) {
        *out = sorted;
    }
    return status;
}

static const struct sirix_function rows[] = {
    ROW(FN, "sort", 1, 3, HIGHER, sort, 0, T(ITEM, MANY), T(ITEM, MANY), T(STRING, OPTIONAL),
        T(FUNCTION, ONE)),
};

const struct sirix_function_table sirix_functions_sort = {rows, sizeof(rows) / sizeof(rows[0])};
