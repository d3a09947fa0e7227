/* Deep equality, with a stack of its own instead of C recursion. */
#include "query/value/compare.h"
#include "query/value/container.h"

/* One pair of containers that is being compared; the other one is asked by name for objects. */
struct pair {
    struct pair *outer;
    struct sirix_cursor a;
    struct sirix_cursor b; /* Arrays. */
    struct sirix_item other;
};

struct deep {
    struct sirix_work *work;
    struct pair *top;
    unsigned depth;
    bool equal;
};

/* Begins a pair of containers of one kind; unequal sizes settle it. */
static enum sirix_status push(struct deep *deep, struct sirix_item a, struct sirix_item b,
                              struct sirix_query_error *err)
{
    struct sirix_work *work = deep->work;
    uint64_t a_size = 0;
    uint64_t b_size = 0;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (sirix_container_same(a, b)) {
        return SIRIX_OK;
    }
    if (deep->depth == SIRIX_VALUE_DEPTH_MAX) {
        return sirix_query_fail_limit(err, "value_depth", "a value is nested deeper than %d",
                                      SIRIX_VALUE_DEPTH_MAX);
    }
    status = sirix_container_size(work, a, &a_size, err);
    if (status == SIRIX_OK) {
        status = sirix_container_size(work, b, &b_size, err);
    }
    if (status == SIRIX_OK && a_size != b_size) {
        deep->equal = false;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(work->scratch, 1, sizeof(struct pair), &memory, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct pair *pair = memory;

    pair->other = b;
    status = sirix_cursor_start(work, a, &pair->a, err);
    if (status == SIRIX_OK && b.kind == SIRIX_ITEM_ARRAY) {
        status = sirix_cursor_start(work, b, &pair->b, err);
    }
    if (status == SIRIX_OK) {
        pair->outer = deep->top;
        deep->top = pair;
        deep->depth++;
    }
    return status;
}

/* Compares two items; containers are begun. */
static enum sirix_status compare(struct deep *deep, struct sirix_item a, struct sirix_item b,
                                 struct sirix_query_error *err)
{
    if (a.kind == SIRIX_ITEM_FUNCTION || b.kind == SIRIX_ITEM_FUNCTION) {
        return sirix_query_fail(err, "FOTY0015", "functions do not compare");
    }
    if (sirix_item_is_structured(a) && a.kind == b.kind) {
        return push(deep, a, b, err);
    }
    deep->equal =
        sirix_item_is_atomic(a) && sirix_item_is_atomic(b) && sirix_item_same(deep->work, a, b);
    return SIRIX_OK;
}

static enum sirix_status step(struct deep *deep, struct sirix_query_error *err)
{
    struct sirix_work *work = deep->work;
    struct pair *pair = deep->top;
    struct sirix_bytes name = {0};
    struct sirix_item a = {0};
    struct sirix_item b = {0};
    enum sirix_status status = sirix_work_tick(work, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_next(work, &pair->a, &name, &a, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (a.kind == SIRIX_ITEM_NONE) {
        deep->top = pair->outer;
        deep->depth--;
        return SIRIX_OK;
    }
    if (pair->other.kind == SIRIX_ITEM_OBJECT) {
        status = sirix_object_field(work, pair->other, name, &b, err);
    } else {
        status = sirix_cursor_next(work, &pair->b, NULL, &b, err);
    }
    return status != SIRIX_OK ? status : compare(deep, a, b, err);
}

enum sirix_status sirix_item_deep_equal(struct sirix_work *work, struct sirix_item a,
                                        struct sirix_item b, bool *out,
                                        struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct deep deep = {.work = work, .equal = true};
    enum sirix_status status = compare(&deep, a, b, err);

    while (status == SIRIX_OK && deep.equal && deep.top != NULL) {
        status = step(&deep, err);
    }
    sirix_arena_rewind(work->scratch, mark);
    if (status == SIRIX_OK) {
        *out = deep.equal;
    }
    return status;
}
