/* abs, ceiling, floor, round, round-half-to-even. */
#include "query/function/support.h"
#include "query/function/tables.h"

static enum sirix_status absolute(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item number = argument(call, 0);

    if (number.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    enum sirix_status status = sirix_number_abs(call->work, number, &number, err);
    return status != SIRIX_OK ? status : give(call, number, out, err);
}

/* The precision of round(): what no exact number has digits for is cut. */
static int64_t precision_of(struct sirix_call *call)
{
    struct sirix_item item = argument(call, 1);
    int64_t precision = 0;
    int64_t most = 4 * (int64_t)SIRIX_NUMBER_DIGITS_MAX;

    if (item.kind == SIRIX_ITEM_NONE) {
        return 0;
    }
    if (!sirix_number_to_i64(item, &precision)) {
        return sirix_number_sign(item) < 0 ? -most : most;
    }
    return precision > most ? most : precision < -most ? -most : precision;
}

static enum sirix_status rounded(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item number = argument(call, 0);

    if (number.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    if (call->argument_count > 1 && !has_argument(call, 1)) {
        return sirix_query_fail(err, "XPTY0004", "the precision of fn:%s is one integer",
                                call->function->name);
    }
    enum sirix_status status =
        sirix_number_round(call->work, number, (enum sirix_rounding)call->function->detail,
                           precision_of(call), &number, err);
    return status != SIRIX_OK ? status : give(call, number, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "abs", 1, 1, PURE, absolute, 0, T(NUMERIC, OPTIONAL), T(NUMERIC, OPTIONAL)),
    ROW(FN, "ceiling", 1, 1, PURE, rounded, SIRIX_ROUND_CEILING, T(NUMERIC, OPTIONAL),
        T(NUMERIC, OPTIONAL)),
    ROW(FN, "floor", 1, 1, PURE, rounded, SIRIX_ROUND_FLOOR, T(NUMERIC, OPTIONAL),
        T(NUMERIC, OPTIONAL)),
    ROW(FN, "round", 1, 2, PURE, rounded, SIRIX_ROUND_HALF_UP, T(NUMERIC, OPTIONAL),
        T(NUMERIC, OPTIONAL), T(INTEGER, OPTIONAL)),
    ROW(FN, "round-half-to-even", 1, 2, PURE, rounded, SIRIX_ROUND_HALF_EVEN, T(NUMERIC, OPTIONAL),
        T(NUMERIC, OPTIONAL), T(INTEGER, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_number = {rows, sizeof(rows) / sizeof(rows[0])};
