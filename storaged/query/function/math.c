/* math: on doubles. */
#include <math.h>

#include "query/function/support.h"
#include "query/function/tables.h"

enum math {
    MATH_EXP,
    MATH_EXP10,
    MATH_LOG,
    MATH_LOG10,
    MATH_SQRT,
    MATH_SIN,
    MATH_COS,
    MATH_TAN,
    MATH_ASIN,
    MATH_ACOS,
    MATH_ATAN,
    MATH_SINH,
    MATH_COSH,
    MATH_TANH,
};

static double apply(enum math function, double x)
{
    switch (function) {
    case MATH_EXP:
        return exp(x);
    case MATH_EXP10:
        return pow(10, x);
    case MATH_LOG:
        return log(x);
    case MATH_LOG10:
        return log10(x);
    case MATH_SQRT:
        return sqrt(x);
    case MATH_SIN:
        return sin(x);
    case MATH_COS:
        return cos(x);
    case MATH_TAN:
        return tan(x);
    case MATH_ASIN:
        return asin(x);
    case MATH_ACOS:
        return acos(x);
    case MATH_ATAN:
        return atan(x);
    case MATH_SINH:
        return sinh(x);
    case MATH_COSH:
        return cosh(x);
    case MATH_TANH:
        return tanh(x);
    }
    return x;
}

static enum sirix_status of_one(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item x = argument(call, 0);

    if (x.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    return give(call, sirix_item_double(apply((enum math)call->function->detail, x.value.number)),
                out, err);
}

/* pow() and, detail 1, atan2(). */
static enum sirix_status of_two(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item x = argument(call, 0);
    struct sirix_item y = argument(call, 1);

    if (x.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    double a = sirix_number_to_double(x);
    double b = sirix_number_to_double(y);

    return give(call, sirix_item_double(call->function->detail != 0 ? atan2(a, b) : pow(a, b)), out,
                err);
}

static enum sirix_status pi(struct sirix_call *call, struct sirix_sequence *out,
                            struct sirix_query_error *err)
{
    return give(call, sirix_item_double(3.14159265358979323846), out, err);
}

#define ONE_DOUBLE(title, which)                                                                   \
    ROW(MATH, title, 1, 1, PURE, of_one, which, T(DOUBLE, OPTIONAL), T(DOUBLE, OPTIONAL))

static const struct sirix_function rows[] = {
    ROW(MATH, "pi", 0, 0, PURE, pi, 0, T(DOUBLE, ONE), {0}),
    ONE_DOUBLE("exp", MATH_EXP),
    ONE_DOUBLE("exp10", MATH_EXP10),
    ONE_DOUBLE("log", MATH_LOG),
    ONE_DOUBLE("log10", MATH_LOG10),
    ONE_DOUBLE("sqrt", MATH_SQRT),
    ONE_DOUBLE("sin", MATH_SIN),
    ONE_DOUBLE("cos", MATH_COS),
    ONE_DOUBLE("tan", MATH_TAN),
    ONE_DOUBLE("asin", MATH_ASIN),
    ONE_DOUBLE("acos", MATH_ACOS),
    ONE_DOUBLE("atan", MATH_ATAN),
    ONE_DOUBLE("sinh", MATH_SINH),
    ONE_DOUBLE("cosh", MATH_COSH),
    ONE_DOUBLE("tanh", MATH_TANH),
    ROW(MATH, "pow", 2, 2, PURE, of_two, 0, T(DOUBLE, OPTIONAL), T(DOUBLE, OPTIONAL),
        T(NUMERIC, ONE)),
    ROW(MATH, "atan2", 2, 2, PURE, of_two, 1, T(DOUBLE, ONE), T(DOUBLE, ONE), T(DOUBLE, ONE)),
};

const struct sirix_function_table sirix_functions_math = {rows, sizeof(rows) / sizeof(rows[0])};
