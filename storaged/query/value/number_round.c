/* Rounding, and absolute values. */
#include <math.h>

#include "query/value/big.h"
#include "query/value/number.h"
#include "query/value/wide.h"

/* Beyond this many places every double is either itself or zero. */
enum { DOUBLE_PLACES_MAX = 1100 };

struct round_run {
    struct sirix_work *work;
    struct sirix_item item; /* Exact, or a finite double. */
    enum sirix_rounding rounding;
    int64_t precision;
    enum sirix_type type;
    struct sirix_item *out;
};

static bool is_exact(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_INTEGER && item.kind <= SIRIX_ITEM_BIG_DECIMAL;
}

static enum sirix_status round_body(void *context, struct sirix_query_error *err)
{
    struct round_run *run = context;
    uint32_t scale = 0;
    mpz_t value;
    mpz_t power;
    mpz_t rounded;

    if (is_exact(run->item)) {
        sirix_big_load(value, &scale, run->item);
    } else {
        sirix_big_load_double(value, &scale, sirix_number_to_double(run->item));
    }
    if ((int64_t)scale <= run->precision) {
        return sirix_big_store(run->work, value, scale, run->type, run->out, err);
    }
    sirix_big_power10(power, (uint32_t)((int64_t)scale - run->precision));
    sirix_big_divide(rounded, value, power, run->rounding);
    if (run->precision < 0) {
        sirix_big_power10(power, (uint32_t)-run->precision);
        mpz_mul(rounded, rounded, power);
        return sirix_big_store(run->work, rounded, 0, run->type, run->out, err);
    }
    return sirix_big_store(run->work, rounded, (uint32_t)run->precision, run->type, run->out, err);
}

/* To whole numbers, the sign of zero kept. */
static double round_double(double value, enum sirix_rounding rounding)
{
    double down = floor(value);
    double rest = value - down;

    switch (rounding) {
    case SIRIX_ROUND_CEILING:
        return ceil(value);
    case SIRIX_ROUND_FLOOR:
        return down;
    case SIRIX_ROUND_TRUNCATE:
        return trunc(value);
    case SIRIX_ROUND_HALF_EVEN:
        return rint(value); /* Half to even is how the program rounds. */
    case SIRIX_ROUND_HALF_AWAY:
        return round(value);
    case SIRIX_ROUND_HALF_UP:
        return copysign(rest >= 0.5 ? down + 1 : down, value);
    }
    return value;
}

static struct sirix_item floating(struct sirix_item like, double value)
{
    return like.kind == SIRIX_ITEM_FLOAT ? sirix_item_float((float)value)
                                         : sirix_item_double(value);
}

static enum sirix_status round_floating(struct sirix_work *work, struct sirix_item item,
                                        enum sirix_rounding rounding, int64_t precision,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    double value = sirix_number_to_double(item);
    struct sirix_item exact = {0};
    struct round_run run = {work, item, rounding, precision, SIRIX_TYPE_DECIMAL, &exact};

    if (isnan(value) || isinf(value) || value == 0 || precision > DOUBLE_PLACES_MAX) {
        *out = floating(item, value);
        return SIRIX_OK;
    }
    if (precision == 0) {
        *out = floating(item, round_double(value, rounding));
        return SIRIX_OK;
    }
    if (precision < -DOUBLE_PLACES_MAX) {
        *out = floating(item, copysign(0, value));
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_big_run(work, round_body, &run, err);
    if (status == SIRIX_OK) {
        *out = floating(item, copysign(fabs(sirix_number_to_double(exact)), value));
    }
    return status;
}

enum sirix_status sirix_number_round(struct sirix_work *work, struct sirix_item item,
                                     enum sirix_rounding rounding, int64_t precision,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    bool is_integer = sirix_item_is_integer(item);
    enum sirix_type type = is_integer ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_DECIMAL;
    struct round_run run = {work, item, rounding, precision, type, out};
    struct sirix_wide_number number = {0};

    if (!is_exact(item)) {
        return round_floating(work, item, rounding, precision, out, err);
    }
    if (precision < -(int64_t)SIRIX_NUMBER_DIGITS_MAX) {
        run.precision = -(int64_t)SIRIX_NUMBER_DIGITS_MAX - 1; /* Zero, or one digit too many. */
    }
    bool is_round = (is_integer && precision >= 0) ||
                    (item.kind == SIRIX_ITEM_DECIMAL && precision >= item.scale);
    if (is_round) {
        item.type = (uint8_t)type;
        item.flags = 0;
        item.origin = 0;
        *out = item;
        return SIRIX_OK;
    }
    if (precision >= 0 && precision <= SIRIX_WIDE_SCALE_MAX && sirix_wide_load(item, &number) &&
        number.scale > (unsigned)precision) {
        sirix_wide power = sirix_wide_power10(number.scale - (unsigned)precision);

        number.mantissa = sirix_wide_divide(number.mantissa, power, rounding);
        number.scale = (unsigned)precision;
        return sirix_wide_store(work, number, type, out, err);
    }
    return sirix_big_run(work, round_body, &run, err);
}

enum sirix_status sirix_number_abs(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    if (!is_exact(item)) {
        *out = floating(item, fabs(sirix_number_to_double(item)));
        return SIRIX_OK;
    }
    if (sirix_number_sign(item) < 0) {
        return sirix_item_negate(work, item, out, err);
    }
    item.type = (uint8_t)(sirix_item_is_integer(item) ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_DECIMAL);
    item.flags = 0;
    item.origin = 0;
    *out = item;
    return SIRIX_OK;
}
