/* base[[n]] and base[a:b:c], of one item of base. */
#include "query/run/run.h"

enum sirix_status sirix_run_member(struct sirix_run *run, const struct sirix_plan *plan,
                                   const struct sirix_item *base, struct sirix_sink *sink,
                                   struct sirix_query_error *err)
{
    const int64_t first = (plan->flags & SIRIX_PLAN_MEMBER_FROM_0) != 0 ? 0 : 1;
    struct sirix_sequence keys = {0};
    struct sirix_item index = {0};
    struct sirix_item found = {0};

    if (base->kind != SIRIX_ITEM_ARRAY) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_run_all(run, plan->children[1], &keys, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (keys.count != 1) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNTY0018",
                                   "one position is looked up at a time, not %zu", keys.count);
    }
    index = sirix_sequence_at(&keys, 0);
    if (!sirix_item_is_numeric(index)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "a position in an array is an integer, not %s",
                                   sirix_type_name((enum sirix_type)index.type));
    }
    if (index.kind != SIRIX_ITEM_INTEGER) {
        if (index.kind == SIRIX_ITEM_BIG_INTEGER) {
            return SIRIX_OK;
        }
        status = sirix_item_cast(&run->work, index, SIRIX_TYPE_INTEGER, &index, err);
    }
    if (status != SIRIX_OK || index.kind != SIRIX_ITEM_INTEGER || index.value.integer < first) {
        return status;
    }
    status = sirix_array_element(&run->work, *base, (uint64_t)(index.value.integer - first), &found,
                                 err);
    if (status == SIRIX_OK && found.kind != SIRIX_ITEM_NONE) {
        status = sink->take(sink, run, &found, err);
    }
    return status;
}

struct slice {
    bool has_from;
    bool has_to;
    int64_t from;
    int64_t to;
    int64_t step;
};

static enum sirix_status slice_part(struct sirix_run *run, const struct sirix_plan *plan,
                                    uint32_t child, bool *out_has, int64_t *out,
                                    struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;

    if (child >= plan->child_count || plan->children[child] == NULL) {
        return SIRIX_OK;
    }
    status = sirix_run_atom(run, plan->children[child], &item, err);
    if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    if (item.kind != SIRIX_ITEM_INTEGER) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "the parts of a slice are integers, not %s",
                                   sirix_type_name((enum sirix_type)item.type));
    }
    *out_has = true;
    *out = item.value.integer;
    return SIRIX_OK;
}

/* As Python does it: negative ends count from the end, everything is cut to what there is. */
static int64_t slice_end(int64_t at, int64_t size, int64_t low, int64_t high)
{
    if (at < 0) {
        at += size;
    }
    return at < low ? low : at > high ? high : at;
}

/* Where a slice of an array of that size begins and, exclusively, ends. */
static void slice_ends(const struct slice *slice, int64_t size, int64_t *out_at, int64_t *out_end)
{
    const bool back = slice->step < 0;
    const int64_t low = back ? -1 : 0;
    const int64_t high = back ? size - 1 : size;

    *out_at = back ? size - 1 : 0;
    *out_end = back ? -1 : size;
    if (slice->has_from) {
        *out_at = slice_end(slice->from, size, low, high);
    }
    if (slice->has_to) {
        *out_end = slice_end(slice->to, size, low, high);
    }
}

static enum sirix_status slice_of(struct sirix_run *run, const struct slice *slice,
                                  const struct sirix_item *array, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct sirix_sequence members = {0};
    const bool back = slice->step < 0;
    uint64_t count = 0;
    int64_t at = 0;
    int64_t end = 0;
    enum sirix_status status = sirix_container_size(&run->work, *array, &count, err);

    slice_ends(slice, (int64_t)count, &at, &end);
    while (status == SIRIX_OK && (back ? at > end : at < end)) {
        struct sirix_item item = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_array_element(&run->work, *array, (uint64_t)at, &item, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_append(&run->work, &members, item, err);
        }
        if (__builtin_add_overflow(at, slice->step, &at)) {
            break;
        }
    }
    return status == SIRIX_OK ? sirix_array_from(&run->work, &members, out, err) : status;
}

enum sirix_status sirix_run_slice(struct sirix_run *run, const struct sirix_plan *plan,
                                  const struct sirix_item *base, struct sirix_sink *sink,
                                  struct sirix_query_error *err)
{
    struct slice slice = {.step = 1};
    struct sirix_item result = {0};
    bool has_step = false;

    if (base->kind != SIRIX_ITEM_ARRAY) {
        return SIRIX_OK;
    }
    enum sirix_status status = slice_part(run, plan, 1, &slice.has_from, &slice.from, err);
    if (status == SIRIX_OK) {
        status = slice_part(run, plan, 2, &slice.has_to, &slice.to, err);
    }
    if (status == SIRIX_OK) {
        status = slice_part(run, plan, 3, &has_step, &slice.step, err);
    }
    if (status == SIRIX_OK && slice.step == 0) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "the step of a slice is 0");
    }
    if (status == SIRIX_OK) {
        status = slice_of(run, &slice, base, &result, err);
    }
    return status == SIRIX_OK ? sink->take(sink, run, &result, err) : status;
}
