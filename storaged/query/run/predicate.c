/*
 * base[e] and base[?e]: filter, position or member of an array, by what e gives (docs/query.md).
 *
 *     e gives          all items of base are arrays     else
 *     an integer       the member, from 0; negative     the item at that position, from 1
 *                      from the end                     (JSONiq's rule: always this)
 *     another number   the item at that position, if there is one
 *     anything else    the items for which its effective boolean value is true
 */
#include "query/run/run.h"

/* --- e is the same for all items ------------------------------------------------------------------- */

/* An integer that is either a position or a member. */
struct pick_sink {
    struct sirix_sink sink;
    int64_t n;
    bool position_only;
    bool all_arrays;
    uint64_t at;
    struct sirix_item found;
    struct sirix_sequence arrays;
};

static enum sirix_status take_pick(struct sirix_sink *sink, struct sirix_run *run,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    struct pick_sink *pick = (struct pick_sink *)sink;
    enum sirix_status status = SIRIX_OK;

    pick->at++;
    if (pick->n > 0 && pick->at == (uint64_t)pick->n) {
        pick->found = *item;
        run->kept += sirix_item_has_memory(item) ? 1 : 0;
    }
    if (!pick->position_only && pick->all_arrays && item->kind == SIRIX_ITEM_ARRAY) {
        run->kept++;
        return sirix_sequence_append(&run->work, &pick->arrays, *item, err);
    }
    pick->all_arrays = false;
    if (pick->n <= 0 || pick->at >= (uint64_t)pick->n) {
        return SIRIX_RUN_STOP;
    }
    return status;
}

static enum sirix_status pick_member(struct sirix_run *run, const struct sirix_item *array,
                                     int64_t n, struct sirix_sink *sink,
                                     struct sirix_query_error *err)
{
    struct sirix_item found = {0};
    uint64_t position = 0;
    uint64_t size = 0;
    enum sirix_status status = SIRIX_OK;

    if (n < 0) {
        status = sirix_container_size(&run->work, *array, &size, err);
        if (status != SIRIX_OK || !sirix_run_position(n, size, &position)) {
            return status;
        }
    } else {
        position = (uint64_t)n;
    }
    status = sirix_array_element(&run->work, *array, position, &found, err);
    return status == SIRIX_OK && found.kind != SIRIX_ITEM_NONE ? sink->take(sink, run, &found, err)
                                                               : status;
}

static enum sirix_status pick(struct sirix_run *run, const struct sirix_plan *plan, int64_t n,
                              bool position_only, struct sirix_sink *sink,
                              struct sirix_query_error *err)
{
    struct pick_sink pick = {.sink = {.take = take_pick, .want = UINT64_MAX},
                             .n = n,
                             .position_only = position_only,
                             .all_arrays = !position_only};
    const uint64_t kept = run->kept;
    enum sirix_status status = SIRIX_OK;

    if (position_only) {
        pick.sink.want = n > 0 ? (uint64_t)n : 0;
    }
    status = sirix_run_push(run, plan->children[0], &pick.sink, err);
    run->kept = kept;
    if (status == SIRIX_RUN_STOP) {
        status = SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!pick.all_arrays) {
        return pick.found.kind != SIRIX_ITEM_NONE ? sink->take(sink, run, &pick.found, err)
                                                  : SIRIX_OK;
    }
    for (size_t i = 0; i < pick.arrays.count && status == SIRIX_OK; i++) {
        status = pick_member(run, &pick.arrays.items[i], n, sink, err);
    }
    return status;
}

/* A number that is no integer, as a position; 0: no item stands there. */
static int64_t whole_position(struct sirix_item number)
{
    int64_t n = 0;

    return sirix_number_to_i64(number, &n) && n > 0 ? n : 0;
}

static enum sirix_status constant(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sink *sink, struct sirix_query_error *err)
{
    const bool positions =
        (plan->flags & SIRIX_PLAN_JSONIQ) != 0 || plan->kind == SIRIX_PLAN_FILTER;
    struct sirix_sequence value = {0};
    bool keep = false;
    enum sirix_status status = sirix_run_all(run, plan->children[1], &value, err);

    if (status == SIRIX_OK && value.count == 1) {
        const struct sirix_item item = sirix_sequence_at(&value, 0);

        if (item.kind == SIRIX_ITEM_INTEGER) {
            return pick(run, plan, item.value.integer, positions, sink, err);
        }
        if (item.kind == SIRIX_ITEM_BIG_INTEGER) {
            return SIRIX_OK;
        }
        if (sirix_item_is_numeric(item)) {
            return pick(run, plan, whole_position(item), true, sink, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_truth(&run->work, &value, &keep, err);
    }
    return status == SIRIX_OK && keep ? sirix_run_push(run, plan->children[0], sink, err) : status;
}

/* --- e is asked for each item ---------------------------------------------------------------------- */

struct filter_sink {
    struct sirix_sink sink;
    struct sirix_sink *outer;
    const struct sirix_plan *plan;
    struct sirix_focus focus; /* Of whoever is outside. */
    uint64_t at;
    uint64_t last;
    uint64_t stop_at; /* Behind this position none is true. */
    bool numbers;     /* A number is a position, else as any other value. */
    bool stopped;
};

/* Whether e holds for the item of the focus. */
static enum sirix_status holds(struct sirix_run *run, const struct filter_sink *filter, bool *out,
                               struct sirix_query_error *err)
{
    const struct sirix_plan *condition = filter->plan->children[1];
    struct sirix_item value = {0};
    struct sirix_sequence all = {0};
    bool many = false;
    enum sirix_status status = sirix_run_few(run, condition, &value, &many, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!many && value.kind == SIRIX_ITEM_BOOLEAN) {
        *out = value.value.boolean;
        return SIRIX_OK;
    }
    if (many) {
        status = sirix_run_all(run, condition, &all, err);
    } else if (value.kind != SIRIX_ITEM_NONE) {
        all = sirix_sequence_of(&value);
    }
    if (status == SIRIX_OK && filter->numbers && all.count == 1) {
        value = sirix_sequence_at(&all, 0);
        if (sirix_item_is_numeric(value)) {
            *out = sirix_number_compare(value, sirix_item_integer((int64_t)filter->at),
                                        &(bool){false}) == 0 &&
                   !sirix_number_is_nan(value);
            return SIRIX_OK;
        }
    }
    return status == SIRIX_OK ? sirix_sequence_truth(&run->work, &all, out, err) : status;
}

static enum sirix_status take_filter(struct sirix_sink *sink, struct sirix_run *run,
                                     const struct sirix_item *item, struct sirix_query_error *err)
{
    struct filter_sink *filter = (struct filter_sink *)sink;
    const struct sirix_focus inner = run->focus;
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    bool keep = false;

    if (filter->at == filter->stop_at) {
        filter->stopped = true;
        return SIRIX_RUN_STOP;
    }
    filter->at++;
    run->focus = (struct sirix_focus){.item = *item, .position = filter->at, .last = filter->last};
    enum sirix_status status = holds(run, filter, &keep, err);
    run->focus = filter->focus;
    if (status == SIRIX_OK && keep) {
        status = filter->outer->take(filter->outer, run, item, err);
    }
    run->focus = inner;
    sirix_run_turn_end(run, &turn);
    return status;
}

/* position() le 3 and the like: behind which position no item passes. */
static uint64_t stop_behind(const struct sirix_plan *condition)
{
    const struct sirix_plan *right = NULL;

    if ((condition->kind != SIRIX_PLAN_COMPARE && condition->kind != SIRIX_PLAN_COMPARE_ANY) ||
        condition->children[0]->kind != SIRIX_PLAN_CALL_SPECIAL ||
        condition->children[0]->special != SIRIX_SPECIAL_POSITION) {
        return UINT64_MAX;
    }
    right = condition->children[1];
    if (right->kind != SIRIX_PLAN_CONSTANT || right->item.kind != SIRIX_ITEM_INTEGER) {
        return UINT64_MAX;
    }
    const int64_t n = right->item.value.integer;
    switch (condition->op) {
    case SIRIX_AST_EQ:
    case SIRIX_AST_LE:
    case SIRIX_AST_GENERAL_EQ:
    case SIRIX_AST_GENERAL_LE:
        return n < 0 ? 0 : (uint64_t)n;
    case SIRIX_AST_LT:
    case SIRIX_AST_GENERAL_LT:
        return n < 1 ? 0 : (uint64_t)n - 1;
    default:
        return UINT64_MAX;
    }
}

enum sirix_status sirix_run_predicate(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    const struct sirix_plan *condition = plan->children[1];
    const uint32_t focus_flags =
        SIRIX_PLAN_USES_CONTEXT | SIRIX_PLAN_USES_POSITION | SIRIX_PLAN_USES_LAST;
    struct filter_sink filter = {
        .sink = {.take = take_filter, .want = UINT64_MAX},
        .outer = sink,
        .plan = plan,
        .focus = run->focus,
        .stop_at = UINT64_MAX,
    };
    struct sirix_sequence base = {0};
    enum sirix_status status = SIRIX_OK;
    bool known = false;

    if ((condition->flags & focus_flags) == 0) {
        return constant(run, plan, sink, err);
    }
    status = sirix_run_lookup(run, plan, sink, &known, err);
    if (status != SIRIX_OK || known) {
        return status;
    }
    filter.numbers =
        plan->kind == SIRIX_PLAN_PREDICATE || (condition->flags & SIRIX_PLAN_USES_CONTEXT) == 0;
    if ((condition->flags & SIRIX_PLAN_USES_LAST) != 0) {
        status = sirix_run_all(run, plan->children[0], &base, err);
        filter.last = base.count;
        status = status == SIRIX_OK ? sirix_run_give(run, &base, &filter.sink, err) : status;
    } else {
        if (!run->naive) {
            filter.stop_at = stop_behind(condition);
            filter.sink.want = filter.stop_at;
        }
        status = sirix_run_push(run, plan->children[0], &filter.sink, err);
    }
    return status == SIRIX_RUN_STOP && filter.stopped ? SIRIX_OK : status;
}
