/* Order of numbers and their nearest doubles: no memory but the stack, nothing fails. */
#include <math.h>
#include <string.h>

#include "query/value/big.h"
#include "query/value/number.h"

/* The largest powers of ten that fit a limb and that a double holds exactly. */
enum { LIMB_DIGITS = 19, EXACT_POWERS = 22, WIDE = 8, DOUBLE_WIDE = 2 * WIDE };

static const double int64_end = 9223372036854775808.0; /* 2^63 */

static const double exact_powers[EXACT_POWERS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* An exact number's parts; small ones are put into one limb. */
struct parts {
    const mp_limb_t *limbs;
    mp_size_t size;
    uint32_t scale;
    int sign;
    mp_limb_t small;
};

static bool is_exact(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_INTEGER && item.kind <= SIRIX_ITEM_BIG_DECIMAL;
}

static bool is_small(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL;
}

static void take_apart(struct sirix_item item, struct parts *to)
{
    if (is_small(item)) {
        int64_t value = item.value.integer;

        to->small = value < 0 ? -(mp_limb_t)value : (mp_limb_t)value;
        to->limbs = &to->small;
        to->size = value != 0;
        to->sign = (value > 0) - (value < 0);
        to->scale = item.kind == SIRIX_ITEM_DECIMAL ? item.scale : 0;
        return;
    }
    const struct sirix_big *big = item.value.big;

    to->limbs = big->limbs;
    to->size = big->size < 0 ? -(mp_size_t)big->size : (mp_size_t)big->size;
    to->sign = (big->size > 0) - (big->size < 0);
    to->scale = big->scale;
}

static mp_limb_t limb_power10(uint32_t exponent)
{
    mp_limb_t power = 1;

    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

/* Multiplies by 10^exponent in place; the limits of exact numbers say that there is room. */
static mp_size_t multiply_power10(mp_limb_t *limbs, mp_size_t size, uint32_t exponent)
{
    while (exponent > 0) {
        uint32_t step = exponent < LIMB_DIGITS ? exponent : LIMB_DIGITS;
        mp_limb_t carry = mpn_mul_1(limbs, limbs, size, limb_power10(step));

        if (carry != 0) {
            assert(size < SIRIX_BIG_LIMBS_MAX);
            limbs[size++] = carry;
        }
        exponent -= step;
    }
    return size;
}

static int compare_limbs(const mp_limb_t *a, mp_size_t a_size, const mp_limb_t *b, mp_size_t b_size)
{
    if (a_size != b_size) {
        return a_size < b_size ? -1 : 1;
    }
    return a_size == 0 ? 0 : mpn_cmp(a, b, a_size);
}

/* |a| and |b|, when a has fewer digits behind the point. */
static int compare_scaled(const struct parts *a, const struct parts *b)
{
    mp_limb_t scaled[SIRIX_BIG_LIMBS_MAX];

    memcpy(scaled, a->limbs, (size_t)a->size * sizeof(*scaled));
    mp_size_t size = multiply_power10(scaled, a->size, b->scale - a->scale);
    return compare_limbs(scaled, size, b->limbs, b->size);
}

static sirix_wide aligned(struct sirix_item small, unsigned scale)
{
    sirix_wide value = small.value.integer;
    unsigned own = small.kind == SIRIX_ITEM_DECIMAL ? small.scale : 0;

    return value * (sirix_wide)limb_power10(scale - own);
}

static int compare_exact(struct sirix_item a, struct sirix_item b)
{
    struct parts x = {0};
    struct parts y = {0};
    int order = 0;

    if (a.kind == SIRIX_ITEM_INTEGER && b.kind == SIRIX_ITEM_INTEGER) {
        return (a.value.integer > b.value.integer) - (a.value.integer < b.value.integer);
    }
    if (is_small(a) && is_small(b)) {
        unsigned a_scale = a.kind == SIRIX_ITEM_DECIMAL ? a.scale : 0;
        unsigned b_scale = b.kind == SIRIX_ITEM_DECIMAL ? b.scale : 0;
        unsigned scale = a_scale > b_scale ? a_scale : b_scale;
        sirix_wide left = aligned(a, scale);
        sirix_wide right = aligned(b, scale);

        return (left > right) - (left < right);
    }
    take_apart(a, &x);
    take_apart(b, &y);
    if (x.sign != y.sign) {
        return x.sign < y.sign ? -1 : 1;
    }
    if (x.sign == 0) {
        return 0;
    }
    if (x.scale == y.scale) {
        order = compare_limbs(x.limbs, x.size, y.limbs, y.size);
    } else {
        order = x.scale < y.scale ? compare_scaled(&x, &y) : -compare_scaled(&y, &x);
    }
    return x.sign < 0 ? -order : order;
}

/* --- To double ------------------------------------------------------------------------------------- */

/* The top WIDE limbs of 10^exponent and how many lower ones were dropped; *out_cut when not exact. */
static mp_size_t wide_power10(mp_limb_t to[WIDE + 1], uint32_t exponent, int64_t *out_dropped,
                              bool *out_cut)
{
    mp_size_t size = 1;

    to[0] = 1;
    *out_dropped = 0;
    while (exponent > 0) {
        uint32_t step = exponent < LIMB_DIGITS ? exponent : LIMB_DIGITS;
        mp_limb_t carry = mpn_mul_1(to, to, size, limb_power10(step));

        if (carry != 0) {
            to[size++] = carry;
        }
        if (size > WIDE) {
            *out_cut = *out_cut || to[0] != 0;
            memmove(to, to + 1, WIDE * sizeof(*to));
            size = WIDE;
            (*out_dropped)++;
        }
        exponent -= step;
    }
    return size;
}

/* The top 64 bits of a number of size limbs, the lowest of them set when anything below is. */
static uint64_t top_bits(const mp_limb_t *limbs, mp_size_t size, bool rest, int64_t *exponent)
{
    unsigned zeros = (unsigned)__builtin_clzll(limbs[size - 1]);
    uint64_t bits = limbs[size - 1] << zeros;

    if (size > 1) {
        if (zeros != 0) {
            bits |= limbs[size - 2] >> (64 - zeros);
            rest = rest || (limbs[size - 2] << zeros) != 0;
        } else {
            rest = rest || limbs[size - 2] != 0;
        }
        for (mp_size_t i = 0; i < size - 2 && !rest; i++) {
            rest = limbs[i] != 0;
        }
    }
    *exponent += 64 * (int64_t)(size - 1) - (int64_t)zeros;
    return bits | (rest ? 1 : 0);
}

/*
 * Exactly rounded when numerator and power fit WIDE limbs each; else rounded after 2^-400 of the value,
 * which is the same but for numbers made to be that near to a tie.
 */
static double parts_to_double(const struct parts *parts)
{
    mp_limb_t divisor[WIDE + 1];
    mp_limb_t number[DOUBLE_WIDE + 1] = {0};
    mp_limb_t quotient[DOUBLE_WIDE + 1];
    mp_limb_t rest[WIDE + 1];
    int64_t dropped = 0;
    bool cut = false;
    mp_size_t divisor_size = wide_power10(divisor, parts->scale, &dropped, &cut);
    mp_size_t taken = parts->size < WIDE ? parts->size : WIDE;
    mp_size_t shift =
        DOUBLE_WIDE - taken; /* Limbs of zeros put below, so that the quotient is long. */

    for (mp_size_t i = 0; i < parts->size - taken; i++) {
        cut = cut || parts->limbs[i] != 0;
    }
    memcpy(number + shift, parts->limbs + (parts->size - taken), (size_t)taken * sizeof(*number));
    mpn_tdiv_qr(quotient, rest, 0, number, DOUBLE_WIDE, divisor, divisor_size);
    for (mp_size_t i = 0; i < divisor_size; i++) {
        cut = cut || rest[i] != 0;
    }

    mp_size_t size = DOUBLE_WIDE - divisor_size + 1;
    while (size > 1 && quotient[size - 1] == 0) {
        size--;
    }
    int64_t exponent = 64 * ((int64_t)(parts->size - taken) - (int64_t)shift - dropped);
    uint64_t bits = top_bits(quotient, size, cut, &exponent);
    int limited = exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : (int)exponent;
    double value = ldexp((double)bits, limited);

    return parts->sign < 0 ? -value : value;
}

double sirix_number_to_double(struct sirix_item item)
{
    struct parts parts = {0};

    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_DOUBLE:
        return item.value.number;
    case SIRIX_ITEM_FLOAT:
        return (double)item.value.single;
    case SIRIX_ITEM_INTEGER:
        return (double)item.value.integer;
    default:
        break;
    }
    assert(is_exact(item));

    if (item.kind == SIRIX_ITEM_DECIMAL && item.value.integer <= (INT64_C(1) << 53) &&
        item.value.integer >= -(INT64_C(1) << 53)) {
        return (double)item.value.integer / exact_powers[item.scale];
    }
    take_apart(item, &parts);
    return parts.size == 0 ? 0 : parts_to_double(&parts);
}

float sirix_number_to_float(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_FLOAT ? item.value.single : (float)sirix_number_to_double(item);
}

/* --- Exact against double ------------------------------------------------------------------------------ */

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

/* A whole exact number against a double that it rounds to: which one is larger. */
static int whole_against_double(struct sirix_item whole, double number)
{
    struct parts parts = {0};
    mp_limb_t limbs[20] = {0};
    int exponent = 0;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(number), &exponent), 64);

    take_apart(whole, &parts);
    if (parts.sign == 0 || number == 0) {
        return 0; /* Equal doubles: both are zero. */
    }
    if (exponent < 1 || isinf(number)) {
        return 0;
    }
    unsigned shift = (unsigned)exponent; /* number = mantissa * 2^(exponent - 64). */
    mp_size_t low = shift / 64;

    if (shift % 64 == 0) {
        limbs[low - 1] = mantissa;
    } else {
        limbs[low] = mantissa >> (64 - shift % 64);
        if (low > 0) {
            limbs[low - 1] = mantissa << (shift % 64);
        }
    }
    mp_size_t size = low + 1;
    while (size > 0 && limbs[size - 1] == 0) {
        size--;
    }
    int order = compare_limbs(parts.limbs, parts.size, limbs, size);
    return parts.sign < 0 ? -order : order;
}

int sirix_number_compare(struct sirix_item a, struct sirix_item b, bool *out_unordered)
{
    *out_unordered = false;
    if (is_exact(a) && is_exact(b)) {
        return compare_exact(a, b);
    }
    if (a.kind != SIRIX_ITEM_DOUBLE && b.kind != SIRIX_ITEM_DOUBLE) {
        float x = sirix_number_to_float(a);
        float y = sirix_number_to_float(b);

        *out_unordered = isnan(x) || isnan(y);
        return (x > y) - (x < y);
    }
    double x = sirix_number_to_double(a);
    double y = sirix_number_to_double(b);

    *out_unordered = isnan(x) || isnan(y);
    return compare_doubles(x, y);
}

int sirix_number_order(struct sirix_item a, struct sirix_item b)
{
    if (is_exact(a) && is_exact(b)) {
        return compare_exact(a, b);
    }
    double x = sirix_number_to_double(a);
    double y = sirix_number_to_double(b);

    if (isnan(x) || isnan(y)) {
        return (int)isnan(y) - (int)isnan(x);
    }
    if (x != y) {
        return compare_doubles(x, y);
    }
    if (sirix_item_is_integer(a)) {
        return whole_against_double(a, y);
    }
    return sirix_item_is_integer(b) ? -whole_against_double(b, x) : 0;
}

int sirix_number_sign(struct sirix_item item)
{
    if (is_small(item)) {
        return (item.value.integer > 0) - (item.value.integer < 0);
    }
    if (is_exact(item)) {
        return (item.value.big->size > 0) - (item.value.big->size < 0);
    }
    return compare_doubles(sirix_number_to_double(item), 0);
}

bool sirix_number_is_nan(struct sirix_item item)
{
    return (item.kind == SIRIX_ITEM_DOUBLE && isnan(item.value.number)) ||
           (item.kind == SIRIX_ITEM_FLOAT && isnan(item.value.single));
}

bool sirix_number_to_i64(struct sirix_item item, int64_t *out)
{
    if (item.kind == SIRIX_ITEM_INTEGER) {
        *out = item.value.integer;
        return true;
    }
    if (item.kind == SIRIX_ITEM_DECIMAL) {
        int64_t power = (int64_t)limb_power10(item.scale);

        if (item.value.integer % power != 0) {
            return false;
        }
        *out = item.value.integer / power;
        return true;
    }
    if (item.kind != SIRIX_ITEM_DOUBLE && item.kind != SIRIX_ITEM_FLOAT) {
        return false;
    }
    double value = sirix_number_to_double(item);

    if (!(value >= -int64_end && value < int64_end) || value != trunc(value)) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}
