/*
 * Functions that take their argument item by item: aggregates, and those that need only its beginning. Of
 * all others the argument is there as a whole before they are called.
 */
#include <math.h>

#include "query/run/run.h"

enum aggregate_kind {
    AGGREGATE_NONE,
    AGGREGATE_COUNT,
    AGGREGATE_EXISTS,
    AGGREGATE_EMPTY,
    AGGREGATE_BOOLEAN,
    AGGREGATE_NOT,
    AGGREGATE_HEAD,
    AGGREGATE_SUM,
    AGGREGATE_AVG,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_SUBSEQUENCE,
};

struct aggregate {
    const char *name;
    enum aggregate_kind kind;
    uint32_t arity_max; /* More are the library's business. */
};

static const struct aggregate aggregates[] = {
    {"count", AGGREGATE_COUNT, 1},
    {"exists", AGGREGATE_EXISTS, 1},
    {"empty", AGGREGATE_EMPTY, 1},
    {"boolean", AGGREGATE_BOOLEAN, 1},
    {"not", AGGREGATE_NOT, 1},
    {"head", AGGREGATE_HEAD, 1},
    {"sum", AGGREGATE_SUM, 1},
    {"avg", AGGREGATE_AVG, 1},
    {"min", AGGREGATE_MIN, 1},
    {"max", AGGREGATE_MAX, 1},
    {"subsequence", AGGREGATE_SUBSEQUENCE, 3},
};
static const struct aggregate no_aggregate = {"", AGGREGATE_NONE, 0};

enum { CHUNK_ITEMS = 256 };

static enum aggregate_kind kind_of(const struct sirix_plan *plan)
{
    void **cache = sirix_run_cache(plan);
    const struct aggregate *found = &no_aggregate;

    if (*cache != NULL) {
        return ((const struct aggregate *)*cache)->kind;
    }
    for (size_t i = 0; i < sizeof(aggregates) / sizeof(aggregates[0]); i++) {
        if (plan->function->ns == SIRIX_NS_FN && plan->child_count != 0 &&
            plan->child_count <= aggregates[i].arity_max &&
            strcmp(plan->function->name, aggregates[i].name) == 0) {
            found = &aggregates[i];
        }
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the cache of a plan is no pointer to const. */
    *cache = (void *)(uintptr_t)found;
    return found->kind;
}

/* --- Counting, and what ends with the first item ---------------------------------------------------- */

struct count_sink {
    struct sirix_sink sink;
    uint64_t count;
};

static enum sirix_status take_count(struct sirix_sink *sink, struct sirix_run *run,
                                    const struct sirix_item *item, struct sirix_query_error *err)
{
    (void)run;
    (void)item;
    (void)err;
    ((struct count_sink *)sink)->count++;
    return SIRIX_OK;
}

static enum sirix_status count_items(struct sirix_run *run, const struct sirix_plan *argument,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    struct count_sink count = {.sink = {.take = take_count, .want = UINT64_MAX}};
    struct sirix_sequence value = {0};
    const uint64_t kept = run->kept;
    bool known = false;
    enum sirix_status status = sirix_run_count_path(run, argument, &count.count, &known, err);

    if (status == SIRIX_OK && !known) {
        if (argument->kind == SIRIX_PLAN_VARIABLE || argument->kind == SIRIX_PLAN_GLOBAL ||
            argument->kind == SIRIX_PLAN_RANGE) {
            status = sirix_run_all(run, argument, &value, err);
            count.count = value.count;
        } else {
            status = sirix_run_push(run, argument, &count.sink, err);
        }
    }
    run->kept = kept;
    if (status == SIRIX_OK) {
        *out = sirix_item_integer((int64_t)count.count);
    }
    return status;
}

struct first_sink {
    struct sirix_sink sink;
    struct sirix_item item;
};

static enum sirix_status take_first(struct sirix_sink *sink, struct sirix_run *run,
                                    const struct sirix_item *item, struct sirix_query_error *err)
{
    struct first_sink *first = (struct first_sink *)sink;

    (void)err;
    run->kept += sirix_item_has_memory(item) ? 1 : 0;
    first->item = *item;
    return SIRIX_RUN_STOP;
}

static enum sirix_status first_item(struct sirix_run *run, const struct sirix_plan *argument,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct first_sink first = {.sink = {.take = take_first, .want = 1}};
    const uint64_t kept = run->kept;
    enum sirix_status status = sirix_run_push(run, argument, &first.sink, err);

    run->kept = kept;
    if (status == SIRIX_RUN_STOP && first.item.kind != SIRIX_ITEM_NONE) {
        status = SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out = first.item;
    }
    return status;
}

/* --- Sums ------------------------------------------------------------------------------------------- */

struct sum_sink {
    struct sirix_sink sink;
    struct sirix_sum sum;
};

static enum sirix_status take_sum(struct sirix_sink *sink, struct sirix_run *run,
                                  const struct sirix_item *item, struct sirix_query_error *err)
{
    struct sum_sink *at = (struct sum_sink *)sink;
    struct sirix_sequence atoms = {0};
    enum sirix_status status = SIRIX_OK;

    if (item->kind == SIRIX_ITEM_ARRAY) { /* Atomising one gives all its values. */
        status = sirix_array_flatten(&run->work, *item, &atoms, err);
        for (size_t i = 0; i < atoms.count && status == SIRIX_OK; i++) {
            const struct sirix_item atom = sirix_sequence_at(&atoms, i);

            status = take_sum(sink, run, &atom, err);
        }
        return status;
    }
    if (!sirix_item_is_atomic(*item)) {
        struct sirix_item none = {0};

        return sirix_item_atomise(*item, &none, err);
    }
    status = sirix_sum_add(&run->work, &at->sum, *item, err);
    run->kept += sirix_item_has_memory(&at->sum.total) ? 1 : 0;
    return status;
}

/* Of a range without counting it out. */
static enum sirix_status sum_range(struct sirix_run *run, const struct sirix_plan *argument,
                                   struct sirix_sum *sum, struct sirix_query_error *err)
{
    struct sirix_sequence range = {0};
    struct sirix_item ends = {0};
    enum sirix_status status = sirix_run_range(run, argument, &range, err);

    if (status != SIRIX_OK || range.count == 0) {
        return status;
    }
    sum->count = range.count;
    status = sirix_item_arithmetic(&run->work, SIRIX_ADD, sirix_item_integer(range.first),
                                   sirix_sequence_at(&range, range.count - 1), &ends, err);
    if (status == SIRIX_OK) {
        status = sirix_item_arithmetic(&run->work, SIRIX_MULTIPLY, ends,
                                       sirix_item_integer((int64_t)range.count), &ends, err);
    }
    return status == SIRIX_OK ? sirix_item_arithmetic(&run->work, SIRIX_INTEGER_DIVIDE, ends,
                                                      sirix_item_integer(2), &sum->total, err)
                              : status;
}

static enum sirix_status sum_result(struct sirix_run *run, struct sirix_sum *sum, bool mean,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (sum->count == 0) {
        sum->total = mean ? (struct sirix_item){0} : sirix_item_integer(0);
    } else if (mean) {
        status = sirix_item_arithmetic(&run->work, SIRIX_DIVIDE, sum->total,
                                       sirix_item_integer((int64_t)sum->count), &sum->total, err);
    }
    if (status == SIRIX_OK) {
        *out = sum->total;
    }
    return status;
}

static enum sirix_status sum_items(struct sirix_run *run, const struct sirix_plan *argument,
                                   bool mean, struct sirix_item *out, struct sirix_query_error *err)
{
    struct sum_sink at = {.sink = {.take = take_sum, .want = UINT64_MAX}};
    const uint64_t kept = run->kept;
    enum sirix_status status = argument->kind == SIRIX_PLAN_RANGE
                                   ? sum_range(run, argument, &at.sum, err)
                                   : sirix_run_push(run, argument, &at.sink, err);

    run->kept = kept;
    return status == SIRIX_OK ? sum_result(run, &at.sum, mean, out, err) : status;
}

bool sirix_run_adds_up(const struct sirix_plan *call)
{
    const enum aggregate_kind kind = kind_of(call);

    return call->child_count == 1 &&
           (kind == AGGREGATE_COUNT || kind == AGGREGATE_SUM || kind == AGGREGATE_AVG);
}

enum sirix_status sirix_run_add_up(struct sirix_run *run, const struct sirix_plan *call,
                                   struct sirix_sum *sum, struct sirix_query_error *err)
{
    const struct sirix_plan *argument = call->children[0];
    struct sum_sink at = {.sink = {.take = take_sum, .want = UINT64_MAX}, .sum = *sum};
    struct count_sink count = {.sink = {.take = take_count, .want = UINT64_MAX}};
    const bool counts = kind_of(call) == AGGREGATE_COUNT;
    struct sirix_item item = {0};
    bool many = false;
    enum sirix_status status = sirix_run_few(run, argument, &item, &many, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (many) {
        status = sirix_run_push(run, argument, counts ? &count.sink : &at.sink, err);
    } else if (item.kind != SIRIX_ITEM_NONE) {
        status =
            counts ? take_count(&count.sink, run, &item, err) : take_sum(&at.sink, run, &item, err);
    }
    if (status == SIRIX_OK) {
        *sum = at.sum;
        sum->count += count.count;
    }
    return status;
}

/* A call whose group has been added up. */
static enum sirix_status known_result(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, bool *out_known,
                                      struct sirix_query_error *err)
{
    for (size_t i = 0; i < run->result_count; i++) {
        const struct sirix_run_result *result = &run->results[i];
        struct sirix_sum sum = result->sum;

        if (result->call != plan || result->frame != run->frame) {
            continue;
        }
        *out_known = true;
        if (result->error != NULL) {
            *err = *result->error;
            return result->status;
        }
        if (kind_of(plan) == AGGREGATE_COUNT) {
            *out = sirix_item_integer((int64_t)sum.count);
            return SIRIX_OK;
        }
        return sum_result(run, &sum, kind_of(plan) == AGGREGATE_AVG, out, err);
    }
    *out_known = false;
    return SIRIX_OK;
}

/* --- Smallest and largest ---------------------------------------------------------------------------- */

/* The library's own function over pieces of the argument, of which each begins with the best so far. */
struct best_sink {
    struct sirix_sink sink;
    const struct sirix_function *function;
    struct sirix_item items[CHUNK_ITEMS];
    size_t count;
};

static enum sirix_status fold(struct sirix_run *run, struct best_sink *best,
                              struct sirix_query_error *err)
{
    struct sirix_sequence_iterator input;
    struct sirix_sequence pieces[2] = {{.items = best->items, .count = best->count}, {0}};
    const bool streams = (best->function->flags & SIRIX_FUNCTION_STREAMS) != 0;
    struct sirix_sequence none = {0};
    struct sirix_sequence result = {0};
    struct sirix_call call = {
        .work = &run->work,
        .function = best->function,
        .argument_count = 1,
        .arguments = streams ? &none : &pieces[0],
        .focus = &run->focus,
        .evaluator = &run->evaluator,
    };

    if (streams) {
        sirix_sequence_iterate(&input, &pieces[0]);
        call.input = &input.iterator;
    }
    enum sirix_status status = sirix_function_call(&call, &result, err);
    if (status == SIRIX_OK) {
        run->kept++;
        best->count = result.count;
        if (result.count != 0) {
            best->items[0] = sirix_sequence_at(&result, 0);
        }
    }
    return status;
}

static enum sirix_status take_best(struct sirix_sink *sink, struct sirix_run *run,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    struct best_sink *best = (struct best_sink *)sink;

    run->kept += sirix_item_has_memory(item) ? 1 : 0;
    best->items[best->count++] = *item;
    return best->count == CHUNK_ITEMS ? fold(run, best, err) : SIRIX_OK;
}

static enum sirix_status best_item(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    struct best_sink *best = NULL;
    void *memory = NULL;
    const uint64_t kept = run->kept;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, 1, sizeof(*best), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    best = memory;
    best->sink = (struct sirix_sink){.take = take_best, .want = UINT64_MAX};
    best->function = plan->function;
    status = sirix_run_push(run, plan->children[0], &best->sink, err);
    if (status == SIRIX_OK && best->count != 0) {
        status = fold(run, best, err);
    }
    run->kept = kept;
    if (status == SIRIX_OK) {
        *out = best->count == 0 ? (struct sirix_item){0} : best->items[0];
    }
    return status;
}

/* No evaluation counts a range out to add it up. */
static bool is_range_sum(enum aggregate_kind kind, const struct sirix_plan *argument)
{
    return (kind == AGGREGATE_SUM || kind == AGGREGATE_AVG) && argument->kind == SIRIX_PLAN_RANGE;
}

enum sirix_status sirix_run_aggregate(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, bool *out_known,
                                      struct sirix_query_error *err)
{
    const enum aggregate_kind kind = kind_of(plan);
    const struct sirix_plan *argument = plan->child_count != 0 ? plan->children[0] : NULL;
    struct sirix_item item = {0};
    bool truth = false;
    enum sirix_status status = SIRIX_OK;

    if (run->result_count != 0) {
        status = known_result(run, plan, out, out_known, err);
        if (status != SIRIX_OK || *out_known) {
            return status;
        }
    }
    *out_known = true;
    switch (run->naive && kind > AGGREGATE_NOT && !is_range_sum(kind, argument) ? AGGREGATE_NONE
                                                                                : kind) {
    case AGGREGATE_COUNT:
        return count_items(run, argument, out, err);
    case AGGREGATE_EXISTS:
    case AGGREGATE_EMPTY:
        status = first_item(run, argument, &item, err);
        *out = sirix_item_boolean((item.kind == SIRIX_ITEM_NONE) == (kind == AGGREGATE_EMPTY));
        return status;
    case AGGREGATE_BOOLEAN:
    case AGGREGATE_NOT:
        status = sirix_run_truth(run, argument, &truth, err);
        *out = sirix_item_boolean(truth == (kind == AGGREGATE_BOOLEAN));
        return status;
    case AGGREGATE_HEAD:
        return first_item(run, argument, out, err);
    case AGGREGATE_SUM:
    case AGGREGATE_AVG:
        return sum_items(run, argument, kind == AGGREGATE_AVG, out, err);
    case AGGREGATE_MIN:
    case AGGREGATE_MAX:
        return best_item(run, plan, out, err);
    default:
        *out_known = false;
        return SIRIX_OK;
    }
}

/* --- subsequence ------------------------------------------------------------------------------------- */

struct part_sink {
    struct sirix_sink sink;
    struct sirix_sink *outer;
    uint64_t at;
    uint64_t first; /* Positions from 1: [first, end). */
    uint64_t end;
    bool stopped;
};

static enum sirix_status take_part(struct sirix_sink *sink, struct sirix_run *run,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    struct part_sink *part = (struct part_sink *)sink;
    enum sirix_status status = SIRIX_OK;

    if (part->at + 1 >= part->end) {
        part->stopped = true;
        return SIRIX_RUN_STOP;
    }
    part->at++;
    if (part->at >= part->first) {
        status = part->outer->take(part->outer, run, item, err);
    }
    if (status == SIRIX_OK && part->at + 1 >= part->end) {
        part->stopped = true;
        return SIRIX_RUN_STOP;
    }
    return status;
}

static enum sirix_status number_argument(struct sirix_run *run, const struct sirix_plan *plan,
                                         double *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = sirix_run_atom(run, plan, &item, err);

    if (status == SIRIX_OK && item.kind == SIRIX_ITEM_UNTYPED) {
        status = sirix_item_cast(&run->work, item, SIRIX_TYPE_DOUBLE, &item, err);
    }
    if (status == SIRIX_OK && !sirix_item_is_numeric(item)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "fn:subsequence takes positions as numbers");
    }
    if (status == SIRIX_OK) {
        *out = sirix_number_to_double(item);
    }
    return status;
}

/* The position at or above a bound, from 1; past 2^53 nothing is left out. */
static uint64_t position_of(double bound)
{
    if (!(bound > 1)) {
        return 1;
    }
    return bound >= 9007199254740992.0 ? UINT64_MAX : (uint64_t)bound;
}

enum sirix_status sirix_run_stream(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, bool *out_known,
                                   struct sirix_query_error *err)
{
    struct part_sink part = {
        .sink = {.take = take_part, .want = UINT64_MAX}, .outer = sink, .end = UINT64_MAX};
    double start = 0;
    double length = (double)INFINITY;
    enum sirix_status status = SIRIX_OK;

    *out_known = false;
    if (plan->kind != SIRIX_PLAN_CALL || run->naive || kind_of(plan) != AGGREGATE_SUBSEQUENCE ||
        plan->child_count < 2) {
        return SIRIX_OK;
    }
    *out_known = true;
    status = number_argument(run, plan->children[1], &start, err);
    if (status == SIRIX_OK && plan->child_count == 3) {
        status = number_argument(run, plan->children[2], &length, err);
    }
    /* As fn:round: halves go up. */
    start = floor(start + 0.5);
    if (plan->child_count == 2 && isinf(start) && start < 0) {
        start = 1; /* All of it: no end is that far away. */
    }
    length = isinf(length) ? length : floor(length + 0.5);
    if (status != SIRIX_OK || isnan(start) || isnan(start + length) || !(start + length > 1)) {
        return status;
    }
    part.first = position_of(start);
    part.end = position_of(start + length);
    if (part.end != UINT64_MAX) {
        part.sink.want = part.end - 1;
    }
    status = sirix_run_push(run, plan->children[0], &part.sink, err);
    return status == SIRIX_RUN_STOP && part.stopped ? SIRIX_OK : status;
}
