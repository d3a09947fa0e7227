/* count, exists, empty, sum, avg, min, max: one pass over a stream, constant memory. */
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/datetime.h"

static enum sirix_status count(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_sequence rest = {0};
    int64_t items = 0;

    if (sirix_iterator_rest(call->input, &rest)) {
        return give_integer(call, (int64_t)rest.count, out, err);
    }
    for (;; items++) {
        struct sirix_item item = {0};
        enum sirix_status status = next_input(call, &item, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (item.kind == SIRIX_ITEM_NONE) {
            return give_integer(call, items, out, err);
        }
    }
}

/* exists() and, detail 1, empty(): look at the first item only. */
static enum sirix_status exists(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = next_input(call, &item, err);
    bool is_empty = item.kind == SIRIX_ITEM_NONE;

    return status != SIRIX_OK
               ? status
               : give_boolean(call, is_empty == (call->function->detail != 0), out, err);
}

/* (first + last) * count / 2 */
static enum sirix_status sum_range(struct sirix_call *call, const struct sirix_sequence *range,
                                   struct sirix_sum *sum, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_item total = {0};
    enum sirix_status status =
        sirix_item_arithmetic(work, SIRIX_ADD, sirix_sequence_at(range, 0),
                              sirix_sequence_at(range, range->count - 1), &total, err);

    if (status == SIRIX_OK) {
        status = sirix_item_arithmetic(work, SIRIX_MULTIPLY, total,
                                       sirix_item_integer((int64_t)range->count), &total, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_item_arithmetic(work, SIRIX_INTEGER_DIVIDE, total, sirix_item_integer(2),
                                       &sum->total, err);
        sum->count = range->count;
    }
    return status;
}

/* Sums up all of the stream; the parameter's type has made its items atomic. */
static enum sirix_status sum_up(struct sirix_call *call, struct sirix_sum *sum,
                                struct sirix_query_error *err)
{
    struct sirix_sequence rest = {0};

    if (sirix_iterator_rest(call->input, &rest) && rest.is_range && rest.count > 0) {
        return sum_range(call, &rest, sum, err);
    }
    for (;;) {
        struct sirix_item item = {0};
        enum sirix_status status = next_input(call, &item, err);

        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            return SIRIX_OK;
        }
        if (status == SIRIX_OK) {
            status = sirix_sum_add(call->work, sum, item, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
}

static enum sirix_status sum(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_sum total = {0};
    enum sirix_status status = sum_up(call, &total, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (total.count == 0) {
        if (call->argument_count > 1) {
            *out = call->arguments[1];
            return SIRIX_OK;
        }
        return give_integer(call, 0, out, err);
    }
    return give(call, total.total, out, err);
}

static enum sirix_status avg(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_sum total = {0};
    struct sirix_item mean = {0};
    enum sirix_status status = sum_up(call, &total, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (total.count == 0) {
        return give_nothing(out);
    }
    status = sirix_item_arithmetic(call->work, SIRIX_DIVIDE, total.total,
                                   sirix_item_integer((int64_t)total.count), &mean, err);
    return status != SIRIX_OK ? status : give(call, mean, out, err);
}

/* Values of one kind are compared; numbers of several kinds go to the highest one at the end. */
struct extreme {
    struct sirix_item best;
    enum sirix_type widest; /* DECIMAL (exact), FLOAT or DOUBLE. */
    bool has_nan;
};

static enum sirix_status prepare(struct sirix_call *call, struct sirix_item *item,
                                 struct extreme *extreme, struct sirix_query_error *err)
{
    if (item->kind == SIRIX_ITEM_UNTYPED) {
        enum sirix_status status = sirix_item_cast(call->work, *item, SIRIX_TYPE_DOUBLE, item, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (item->kind == SIRIX_ITEM_DOUBLE) {
        extreme->widest = SIRIX_TYPE_DOUBLE;
    } else if (item->kind == SIRIX_ITEM_FLOAT && extreme->widest != SIRIX_TYPE_DOUBLE) {
        extreme->widest = SIRIX_TYPE_FLOAT;
    }
    if (item->kind == SIRIX_ITEM_ANY_URI) {
        *item = sirix_item_string(sirix_item_bytes(*item));
    }
    extreme->has_nan = extreme->has_nan || sirix_number_is_nan(*item);
    return SIRIX_OK;
}

static enum sirix_status take(struct sirix_call *call, struct sirix_item item,
                              struct extreme *extreme, struct sirix_query_error *err)
{
    int order = 0;
    enum sirix_status status = prepare(call, &item, extreme, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_item against = extreme->best.kind == SIRIX_ITEM_NONE ? item : extreme->best;

    /* Durations of two kinds have an order as keys, but no least one; NaN is a number among numbers. */
    bool mixes_numbers = item.kind != SIRIX_ITEM_NULL && against.kind != SIRIX_ITEM_NULL &&
                         sirix_item_is_numeric(item) != sirix_item_is_numeric(against);
    bool has_order = !(mixes_numbers || item.kind == SIRIX_ITEM_DURATION ||
                       against.kind == SIRIX_ITEM_DURATION ||
                       (sirix_item_is_duration(item) && item.kind != against.kind));

    status = has_order ? sirix_item_order(call->work, item, against, false, &order, err)
                       : sirix_query_fail(err, "XPTY0004", "no order");
    if (status == SIRIX_INVALID && sirix_query_error_catchable(err)) {
        return sirix_query_fail(err, "FORG0006", "values of types %s and %s do not compare",
                                sirix_type_name((enum sirix_type)item.type),
                                sirix_type_name((enum sirix_type)against.type));
    }
    bool is_better = call->function->detail != 0 ? order > 0 : order < 0;

    if (status == SIRIX_OK && (extreme->best.kind == SIRIX_ITEM_NONE || is_better)) {
        extreme->best = item;
    }
    return status;
}

/* min() and, detail 1, max(). */
static enum sirix_status min_max(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct extreme extreme = {.widest = SIRIX_TYPE_DECIMAL};
    enum sirix_status status = check_collation(call, 1, err);

    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK) {
            status = take(call, item, &extreme, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (extreme.best.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    if (sirix_item_is_numeric(extreme.best) && extreme.widest != SIRIX_TYPE_DECIMAL) {
        struct sirix_item nan = sirix_item_double(__builtin_nan(""));

        status = sirix_item_cast(call->work, extreme.has_nan ? nan : extreme.best, extreme.widest,
                                 &extreme.best, err);
    }
    return status != SIRIX_OK ? status : give(call, extreme.best, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "count", 1, 1, PURE | AGGREGATE | SIRIX_FUNCTION_ORDER_FREE, count, 0, T(INTEGER, ONE),
        T(ITEM, MANY)),
    ROW(FN, "exists", 1, 1, PURE | AGGREGATE | SIRIX_FUNCTION_ORDER_FREE, exists, 0,
        T(BOOLEAN, ONE), T(ITEM, MANY)),
    ROW(FN, "empty", 1, 1, PURE | AGGREGATE | SIRIX_FUNCTION_ORDER_FREE, exists, 1, T(BOOLEAN, ONE),
        T(ITEM, MANY)),
    ROW(FN, "sum", 1, 2, PURE | AGGREGATE, sum, 0, T(ATOMIC, OPTIONAL), T(ATOMIC, MANY),
        T(ATOMIC, OPTIONAL)),
    ROW(FN, "avg", 1, 1, PURE | AGGREGATE, avg, 0, T(ATOMIC, OPTIONAL), T(ATOMIC, MANY)),
    ROW(FN, "min", 1, 2, PURE | AGGREGATE, min_max, 0, T(ATOMIC, OPTIONAL), T(ATOMIC, MANY),
        T(STRING, ONE)),
    ROW(FN, "max", 1, 2, PURE | AGGREGATE, min_max, 1, T(ATOMIC, OPTIONAL), T(ATOMIC, MANY),
        T(STRING, ONE)),
};

const struct sirix_function_table sirix_functions_aggregate = {rows,
                                                               sizeof(rows) / sizeof(rows[0])};
