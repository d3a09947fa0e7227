/* Arithmetic of numbers: small ones in registers, the rest in big.c. */
#include "query/value/number.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "query/value/big.h"
#include "query/value/cast.h"
#include "query/value/datetime.h"

static const char *const signs[] = {"+", "-", "*", "div", "idiv", "mod"};

static bool is_exact(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_INTEGER && item.kind <= SIRIX_ITEM_BIG_DECIMAL;
}

static bool is_small(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL;
}

static unsigned scale_of(struct sirix_item small)
{
    return small.kind == SIRIX_ITEM_DECIMAL ? small.scale : 0;
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

/* --- Small exact numbers --------------------------------------------------------------------------- */

/* A 128-bit mantissa as an item without trailing zeros, if it fits. */
static bool small_item(sirix_wide mantissa, unsigned scale, bool is_integer, struct sirix_item *out)
{
    while (scale > 0 && (scale > 18 || mantissa % 10 == 0)) {
        if (mantissa % 10 != 0) {
            return false;
        }
        mantissa /= 10;
        scale--;
    }
    if (mantissa > INT64_MAX || mantissa < INT64_MIN) {
        return false;
    }
    *out = is_integer ? sirix_item_integer((int64_t)mantissa)
                      : sirix_item_decimal((int64_t)mantissa, (uint8_t)scale);
    return true;
}

static sirix_wide power10(unsigned exponent)
{
    sirix_wide power = 1;

    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

/* Brings two small numbers to one scale; always fits 128 bits (19 digits and 18 zeros). */
static unsigned align(struct sirix_item a, struct sirix_item b, sirix_wide *out_a,
                      sirix_wide *out_b)
{
    unsigned a_scale = scale_of(a);
    unsigned b_scale = scale_of(b);
    unsigned scale = a_scale > b_scale ? a_scale : b_scale;

    *out_a = (sirix_wide)a.value.integer * power10(scale - a_scale);
    *out_b = (sirix_wide)b.value.integer * power10(scale - b_scale);
    return scale;
}

/* a div b with 18 digits behind the point, if it fits; b is not 0. */
static bool small_quotient(sirix_wide a, sirix_wide b, struct sirix_item *out)
{
    sirix_wide scaled = 0;

    if (a % b == 0) {
        return small_item(a / b, 0, false, out);
    }
    if (__builtin_mul_overflow(a, power10(SIRIX_DECIMAL_QUOTIENT_DIGITS), &scaled)) {
        return false;
    }
    sirix_wide quotient = scaled / b;
    sirix_wide rest = scaled % b;
    sirix_wide rest_size = rest < 0 ? -rest : rest;
    sirix_wide divisor_size = b < 0 ? -b : b;

    if (rest_size >= divisor_size - rest_size) { /* Half away from zero. */
        quotient += (a < 0) == (b < 0) ? 1 : -1;
    }
    return small_item(quotient, SIRIX_DECIMAL_QUOTIENT_DIGITS, false, out);
}

/* The operations on small numbers; false when the result or a step of it does not fit. b is not 0 where it divides. */
static bool small_arithmetic(enum sirix_arithmetic op, struct sirix_item a, struct sirix_item b,
                             struct sirix_item *out)
{
    bool is_integer = a.kind == SIRIX_ITEM_INTEGER && b.kind == SIRIX_ITEM_INTEGER;
    sirix_wide x = 0;
    sirix_wide y = 0;

    if (op == SIRIX_MULTIPLY) {
        return small_item((sirix_wide)a.value.integer * b.value.integer, scale_of(a) + scale_of(b),
                          is_integer, out);
    }
    unsigned scale = align(a, b, &x, &y);
    switch (op) {
    case SIRIX_ADD:
        return small_item(x + y, scale, is_integer, out);
    case SIRIX_SUBTRACT:
        return small_item(x - y, scale, is_integer, out);
    case SIRIX_DIVIDE:
        return small_quotient(x, y, out);
    case SIRIX_INTEGER_DIVIDE:
        return small_item(x / y, 0, true, out);
    default:
        return small_item(x % y, scale, is_integer, out);
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

    if (op >= SIRIX_DIVIDE && sirix_number_sign(b) == 0) {
        return by_zero(err);
    }
    if (is_small(a) && is_small(b) && small_arithmetic(op, a, b, out)) {
        return SIRIX_OK;
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
