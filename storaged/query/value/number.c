/* Arithmetic of numbers: small ones in registers, the rest in big.c. */
#include "query/value/number.h"

#include <math.h>
#include <string.h>

#include "query/value/big.h"
#include "query/value/cast.h"
#include "query/value/datetime.h"
#include "query/value/wide.h"

static const char *const signs[] = {"+", "-", "*", "div", "idiv", "mod"};

static bool is_exact(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_INTEGER && item.kind <= SIRIX_ITEM_BIG_DECIMAL;
}

static bool is_small(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL;
}

static enum sirix_status no_operator(enum sirix_arithmetic op, struct sirix_item a,
                                     struct sirix_item b, struct sirix_query_error *err)
{
    return sirix_query_fail(err, "XPTY0004", "%s %s %s is not defined",
                            sirix_type_name((enum sirix_type)a.type), signs[op],
                            sirix_type_name((enum sirix_type)b.type));
}

static enum sirix_status by_zero(struct sirix_query_error *err)
{
    return sirix_query_fail(err, "FOAR0001", "division by zero");
}

/* --- In 128 bits ------------------------------------------------------------------------------------- */

/* Brings two numbers to one scale, the larger; false when one does not fit then. */
static bool align(struct sirix_wide_number *a, struct sirix_wide_number *b)
{
    struct sirix_wide_number *low = a->scale < b->scale ? a : b;
    unsigned scale = a->scale < b->scale ? b->scale : a->scale;

    if (low->scale != scale &&
        __builtin_mul_overflow(low->mantissa, sirix_wide_power10(scale - low->scale),
                               &low->mantissa)) {
        return false;
    }
    low->scale = scale;
    return true;
}

/* a div b with 18 digits behind the point; b is not 0. */
static bool wide_quotient(sirix_wide a, sirix_wide b, struct sirix_wide_number *out)
{
    sirix_wide scaled = 0;

    /* Neither is -2^127, which has no counterpart: one was loaded, the other has a factor of 5. */
    if (__builtin_mul_overflow(a, sirix_wide_power10(SIRIX_DECIMAL_QUOTIENT_DIGITS), &scaled)) {
        return false;
    }
    out->scale = SIRIX_DECIMAL_QUOTIENT_DIGITS;
    out->mantissa = b < 0 ? sirix_wide_divide(-scaled, -b, SIRIX_ROUND_HALF_AWAY)
                          : sirix_wide_divide(scaled, b, SIRIX_ROUND_HALF_AWAY);
    return true;
}

/* The operations; false when the result or a step of it does not fit. b is not 0 where it divides. */
static bool wide_arithmetic(enum sirix_arithmetic op, struct sirix_wide_number a,
                            struct sirix_wide_number b, struct sirix_wide_number *out)
{
    if (op == SIRIX_MULTIPLY) {
        out->scale = a.scale + b.scale;
        return out->scale <= SIRIX_WIDE_SCALE_MAX &&
               !__builtin_mul_overflow(a.mantissa, b.mantissa, &out->mantissa);
    }
    if (!align(&a, &b)) {
        return false;
    }
    out->scale = a.scale;
    switch (op) {
    case SIRIX_ADD:
        return !__builtin_add_overflow(a.mantissa, b.mantissa, &out->mantissa);
    case SIRIX_SUBTRACT:
        return !__builtin_sub_overflow(a.mantissa, b.mantissa, &out->mantissa);
    case SIRIX_DIVIDE:
        return wide_quotient(a.mantissa, b.mantissa, out);
    case SIRIX_INTEGER_DIVIDE:
        out->scale = 0;
        out->mantissa = a.mantissa / b.mantissa;
        return true;
    default:
        out->mantissa = a.mantissa % b.mantissa;
        return true;
    }
}

/* --- Large exact numbers ------------------------------------------------------------------------------ */

struct exact_run {
    struct sirix_work *work;
    enum sirix_arithmetic op;
    struct sirix_item a;
    struct sirix_item b;
    struct sirix_item *out;
};

/* a div b: enough digits to be exact when both end early, at least 18. */
static enum sirix_status divide(struct exact_run *run, mpz_t a, mpz_t b,
                                struct sirix_query_error *err)
{
    mpz_t quotient;
    mpz_t power;

    sirix_big_power10(power, SIRIX_DECIMAL_QUOTIENT_DIGITS);
    mpz_mul(a, a, power);
    if (mpz_sgn(b) < 0) {
        mpz_neg(a, a);
        mpz_neg(b, b);
    }
    sirix_big_divide(quotient, a, b, SIRIX_ROUND_HALF_AWAY);
    return sirix_big_store(run->work, quotient, SIRIX_DECIMAL_QUOTIENT_DIGITS, SIRIX_TYPE_DECIMAL,
                           run->out, err);
}

static enum sirix_status exact_body(void *context, struct sirix_query_error *err)
{
    struct exact_run *run = context;
    bool is_integer = sirix_item_is_integer(run->a) && sirix_item_is_integer(run->b);
    enum sirix_type type = is_integer ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_DECIMAL;
    uint32_t a_scale = 0;
    uint32_t b_scale = 0;
    uint32_t scale = 0;
    mpz_t a;
    mpz_t b;

    sirix_big_load(a, &a_scale, run->a);
    sirix_big_load(b, &b_scale, run->b);
    if (run->op == SIRIX_MULTIPLY) {
        mpz_mul(a, a, b);
        return sirix_big_store(run->work, a, a_scale + b_scale, type, run->out, err);
    }
    sirix_big_align(a, a_scale, b, b_scale, &scale);
    switch (run->op) {
    case SIRIX_ADD:
        mpz_add(a, a, b);
        break;
    case SIRIX_SUBTRACT:
        mpz_sub(a, a, b);
        break;
    case SIRIX_DIVIDE:
        return divide(run, a, b, err);
    case SIRIX_INTEGER_DIVIDE:
        mpz_tdiv_q(a, a, b);
        scale = 0;
        type = SIRIX_TYPE_INTEGER;
        break;
    default:
        mpz_tdiv_r(a, a, b);
        break;
    }
    return sirix_big_store(run->work, a, scale, type, run->out, err);
}

static uint64_t digits_of(struct sirix_item exact)
{
    return is_small(exact) ? 1 : sirix_big_bytes(exact.value.big) / sizeof(mp_limb_t);
}

static enum sirix_status exact_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                          struct sirix_item a, struct sirix_item b,
                                          struct sirix_item *out, struct sirix_query_error *err)
{
    struct exact_run run = {.work = work, .op = op, .a = a, .b = b, .out = out};
    struct sirix_wide_number x;
    struct sirix_wide_number y;
    struct sirix_wide_number result;

    if (op >= SIRIX_DIVIDE && sirix_number_sign(b) == 0) {
        return by_zero(err);
    }
    if (sirix_wide_load(a, &x) && sirix_wide_load(b, &y) && wide_arithmetic(op, x, y, &result)) {
        bool is_integer = sirix_item_is_integer(a) && sirix_item_is_integer(b);
        bool gives_integer = op == SIRIX_INTEGER_DIVIDE || (is_integer && op != SIRIX_DIVIDE);

        return sirix_wide_store(work, result,
                                gives_integer ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_DECIMAL, out, err);
    }
    enum sirix_status status =
        sirix_work_tick(work, 1 + digits_of(a) * digits_of(b) / 64, err); /* About quadratic. */
    return status != SIRIX_OK ? status : sirix_big_run(work, exact_body, &run, err);
}

/* --- Floating point ------------------------------------------------------------------------------------ */

/* idiv of doubles: an integer without bound. */
struct whole_run {
    struct sirix_work *work;
    double quotient;
    struct sirix_item *out;
};

static enum sirix_status integer_body(void *context, struct sirix_query_error *err)
{
    struct whole_run *run = context;
    mpz_t whole;

    mpz_init_set_d(whole, trunc(run->quotient));
    return sirix_big_store(run->work, whole, 0, SIRIX_TYPE_INTEGER, run->out, err);
}

/* The quotient has been made in the precision of its operands. */
static enum sirix_status whole_quotient(struct sirix_work *work, double a, double b,
                                        double quotient, struct sirix_item *out,
                                        struct sirix_query_error *err)
{
    struct whole_run run = {.work = work, .quotient = quotient, .out = out};

    if (b == 0) {
        return by_zero(err);
    }
    if (isnan(a) || isnan(b) || isinf(a)) {
        return sirix_query_fail(err, "FOAR0002", "idiv of NaN or of an infinite number");
    }
    if (isinf(quotient)) {
        return sirix_query_fail(err, "FOAR0002", "the result of idiv is infinite");
    }
    return sirix_big_run(work, integer_body, &run, err);
}

static enum sirix_status double_idiv(struct sirix_work *work, double a, double b,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    return whole_quotient(work, a, b, b == 0 ? 0 : a / b, out, err);
}

static enum sirix_status float_idiv(struct sirix_work *work, float a, float b,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    float quotient = b == 0 ? 0 : a / b;

    return whole_quotient(work, (double)a, (double)b, (double)quotient, out, err);
}

static double double_of(enum sirix_arithmetic op, double a, double b)
{
    switch (op) {
    case SIRIX_ADD:
        return a + b;
    case SIRIX_SUBTRACT:
        return a - b;
    case SIRIX_MULTIPLY:
        return a * b;
    case SIRIX_DIVIDE:
        return a / b;
    default:
        return fmod(a, b);
    }
}

static float float_of(enum sirix_arithmetic op, float a, float b)
{
    switch (op) {
    case SIRIX_ADD:
        return a + b;
    case SIRIX_SUBTRACT:
        return a - b;
    case SIRIX_MULTIPLY:
        return a * b;
    case SIRIX_DIVIDE:
        return a / b;
    default:
        return fmodf(a, b);
    }
}

/* Integers in registers; false when the result does not fit, or is none. */
static bool small_arithmetic(enum sirix_arithmetic op, int64_t a, int64_t b, struct sirix_item *out)
{
    int64_t result = 0;
    bool overflows = true;

    if (op == SIRIX_ADD) {
        overflows = __builtin_add_overflow(a, b, &result);
    } else if (op == SIRIX_SUBTRACT) {
        overflows = __builtin_sub_overflow(a, b, &result);
    } else if (op == SIRIX_MULTIPLY) {
        overflows = __builtin_mul_overflow(a, b, &result);
    }
    if (!overflows) {
        *out = sirix_item_integer(result);
    }
    return !overflows;
}

/* An operand as an atomic value, an untyped one as a double. */
static enum sirix_status prepare(struct sirix_work *work, struct sirix_item *item,
                                 struct sirix_query_error *err)
{
    enum sirix_status status = sirix_item_atomise(*item, item, err);

    return status == SIRIX_OK && item->kind == SIRIX_ITEM_UNTYPED
               ? sirix_item_cast(work, *item, SIRIX_TYPE_DOUBLE, item, err)
               : status;
}

/* Numbers of which one is a float or a double. */
static enum sirix_status floating_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                             struct sirix_item a, struct sirix_item b,
                                             struct sirix_item *out, struct sirix_query_error *err)
{
    if (a.kind == SIRIX_ITEM_DOUBLE || b.kind == SIRIX_ITEM_DOUBLE) {
        double x = sirix_number_to_double(a);
        double y = sirix_number_to_double(b);

        if (op == SIRIX_INTEGER_DIVIDE) {
            return double_idiv(work, x, y, out, err);
        }
        *out = sirix_item_double(double_of(op, x, y));
        return SIRIX_OK;
    }
    float x = sirix_number_to_float(a);
    float y = sirix_number_to_float(b);

    if (op == SIRIX_INTEGER_DIVIDE) {
        return float_idiv(work, x, y, out, err);
    }
    *out = sirix_item_float(float_of(op, x, y));
    return SIRIX_OK;
}

enum sirix_status sirix_item_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                        struct sirix_item a, struct sirix_item b,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (a.kind == SIRIX_ITEM_INTEGER && b.kind == SIRIX_ITEM_INTEGER &&
        small_arithmetic(op, a.value.integer, b.value.integer, out)) {
        return SIRIX_OK;
    }
    if (is_exact(a) && is_exact(b)) {
        return exact_arithmetic(work, op, a, b, out, err);
    }
    status = prepare(work, &a, err);
    if (status == SIRIX_OK) {
        status = prepare(work, &b, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is_numeric(a) && sirix_item_is_numeric(b)) {
        return floating_arithmetic(work, op, a, b, out, err);
    }
    bool has_time = a.kind == SIRIX_ITEM_DATETIME || b.kind == SIRIX_ITEM_DATETIME ||
                    sirix_item_is_duration(a) || sirix_item_is_duration(b);

    return has_time ? sirix_datetime_arithmetic(work, op, a, b, out, err)
                    : no_operator(op, a, b, err);
}

enum sirix_status sirix_item_negate(struct sirix_work *work, struct sirix_item a,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = prepare(work, &a, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (a.kind == SIRIX_ITEM_DOUBLE) {
        *out = sirix_item_double(-a.value.number);
        return SIRIX_OK;
    }
    if (a.kind == SIRIX_ITEM_FLOAT) {
        *out = sirix_item_float(-a.value.single);
        return SIRIX_OK;
    }
    if (!is_exact(a)) {
        return sirix_query_fail(err, "XPTY0004", "a value of type %s has no sign",
                                sirix_type_name((enum sirix_type)a.type));
    }
    return exact_arithmetic(work, SIRIX_SUBTRACT, sirix_item_integer(0), a, out, err);
}

enum sirix_status sirix_sum_add(struct sirix_work *work, struct sirix_sum *sum,
                                struct sirix_item item, struct sirix_query_error *err)
{
    enum sirix_status status = prepare(work, &item, err);

    if (status != SIRIX_OK) {
        return status;
    }
    bool can_add = sirix_item_is_numeric(item) || item.kind == SIRIX_ITEM_MONTHS ||
                   item.kind == SIRIX_ITEM_SECONDS;
    if (can_add && sum->total.kind != SIRIX_ITEM_NONE) {
        can_add = sirix_item_is_numeric(item) ? sirix_item_is_numeric(sum->total)
                                              : item.kind == sum->total.kind;
    }
    if (!can_add) {
        return sirix_query_fail(err, "FORG0006", "a value of type %s cannot be summed up here",
                                sirix_type_name((enum sirix_type)item.type));
    }
    if (sum->total.kind == SIRIX_ITEM_NONE) {
        item.origin = 0;
        sum->total = item;
    } else {
        status = sirix_item_arithmetic(work, SIRIX_ADD, sum->total, item, &sum->total, err);
    }
    sum->count += status == SIRIX_OK;
    return status;
}
