/* Exact numbers in 128 bits. */
#include "query/value/wide.h"

sirix_wide sirix_wide_power10(unsigned exponent)
{
    /* clang-format off */
    static const int64_t small[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000,
    };
    /* clang-format on */

    assert(exponent <= SIRIX_WIDE_SCALE_MAX);

    if (exponent <= 18) {
        return small[exponent];
    }
    return exponent <= 36 ? (sirix_wide)small[18] * small[exponent - 18]
                          : (sirix_wide)small[18] * small[18] * 10;
}

bool sirix_wide_load(struct sirix_item item, struct sirix_wide_number *to)
{
    if (item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL) {
        to->mantissa = item.value.integer;
        to->scale = item.kind == SIRIX_ITEM_DECIMAL ? item.scale : 0;
        return true;
    }
    const struct sirix_big *big = item.value.big;
    bool fits = (big->size == 1 || big->size == -1 ||
                 ((big->size == 2 || big->size == -2) && big->limbs[1] >> 63 == 0)) &&
                big->scale <= SIRIX_WIDE_SCALE_MAX;

    if (!fits) {
        return false;
    }
    sirix_wide high = big->size == 2 || big->size == -2 ? (sirix_wide)big->limbs[1] : 0;
    sirix_wide size = high * ((sirix_wide)1 << 32) * ((sirix_wide)1 << 32) + big->limbs[0];

    to->mantissa = big->size < 0 ? -size : size;
    to->scale = big->scale;
    return true;
}

/* Takes zeros off the end: most numbers have none, others many. */
static void strip_zeros(struct sirix_wide_number *number)
{
    if (number->mantissa % 10 != 0) {
        return;
    }
    for (unsigned step = 16; step != 0; step /= 2) {
        sirix_wide power = sirix_wide_power10(step);

        while (number->scale >= step && number->mantissa % power == 0) {
            number->mantissa /= power;
            number->scale -= step;
        }
    }
}

enum sirix_status sirix_wide_store(struct sirix_work *work, struct sirix_wide_number number,
                                   enum sirix_type type, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    bool is_integer = type == SIRIX_TYPE_INTEGER;
    void *memory = NULL;

    if (number.scale > 0) {
        strip_zeros(&number);
    }
    if (number.scale <= 18 && number.mantissa <= INT64_MAX && number.mantissa >= INT64_MIN) {
        *out = is_integer ? sirix_item_integer((int64_t)number.mantissa)
                          : sirix_item_decimal((int64_t)number.mantissa, (uint8_t)number.scale);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_alloc(
        work->arena, sizeof(struct sirix_big) + 2 * sizeof(mp_limb_t), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_big *big = memory;
    __extension__ unsigned __int128 size = number.mantissa < 0 ? -(unsigned __int128)number.mantissa
                                                               : (unsigned __int128)number.mantissa;

    big->limbs[0] = (mp_limb_t)size;
    big->limbs[1] = (mp_limb_t)(size >> 64);
    big->size = big->limbs[1] != 0 ? 2 : 1;
    big->size = number.mantissa < 0 ? -big->size : big->size;
    big->scale = number.scale;
    *out = (struct sirix_item){
        .kind = is_integer ? SIRIX_ITEM_BIG_INTEGER : SIRIX_ITEM_BIG_DECIMAL,
        .type = is_integer ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_DECIMAL,
        .value.big = big,
    };
    return SIRIX_OK;
}

sirix_wide sirix_wide_divide(sirix_wide value, sirix_wide divisor, enum sirix_rounding rounding)
{
    sirix_wide quotient = value / divisor;
    sirix_wide rest = value % divisor;

    if (rest == 0 || rounding == SIRIX_ROUND_TRUNCATE) {
        return quotient;
    }
    if (rest < 0) { /* Floor. */
        quotient--;
        rest += divisor;
    }
    bool is_half = rest == divisor - rest;
    bool is_more = rest > divisor - rest;

    switch (rounding) {
    case SIRIX_ROUND_FLOOR:
        return quotient;
    case SIRIX_ROUND_CEILING:
        return quotient + 1;
    case SIRIX_ROUND_HALF_EVEN:
        return quotient + (is_more || (is_half && quotient % 2 != 0));
    case SIRIX_ROUND_HALF_UP:
        return quotient + (is_more || is_half);
    default: /* Half away from zero. */
        return quotient + (is_more || (is_half && value > 0));
    }
}
