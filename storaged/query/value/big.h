/*
 * Exact numbers without bound, on GMP. Internal to storaged/query/value.
 *
 * GMP calls its allocator and dies when that fails. Here all of its memory comes from an arena, inside
 * sirix_big_run(): when the arena has no more, control comes back to sirix_big_run(), which reports it,
 * and the memory goes with the arena's mark. So mpz_* functions are called inside a body only, nothing
 * is ever cleared, and a body holds nothing that would have to be released.
 */
#ifndef SIRIX_QUERY_VALUE_BIG_H
#define SIRIX_QUERY_VALUE_BIG_H

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/value/item.h"
#include "query/value/number.h"

/* 128 bits: what sums and products of two small numbers fit. The compilers' own type has no other name. */
__extension__ typedef __int128 sirix_wide;

/* The number: sign(size) * limbs[|size|] / 10^scale. */
struct sirix_big {
    int32_t size; /* Limbs; negative for a negative number; 0 is zero. */
    uint32_t scale;
    mp_limb_t limbs[];
};

static inline size_t sirix_big_bytes(const struct sirix_big *big)
{
    size_t limbs = (size_t)(big->size < 0 ? -(int64_t)big->size : big->size);

    return sizeof(*big) + limbs * sizeof(mp_limb_t);
}

/* Limbs that hold SIRIX_NUMBER_DIGITS_MAX digits twice: integral and fractional. */
enum { SIRIX_BIG_LIMBS_MAX = 2 * (SIRIX_NUMBER_DIGITS_MAX * 10 / 192 + 1) };

typedef enum sirix_status (*sirix_big_body_fn)(void *context, struct sirix_query_error *err);

/* Runs a body with GMP's memory in work->scratch, which is rewound afterwards. */
enum sirix_status sirix_big_run(struct sirix_work *work, sirix_big_body_fn body, void *context,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* In a body: an exact item (integer or decimal kinds) as mpz and scale; initialises *to. */
void sirix_big_load(mpz_t to, uint32_t *out_scale, struct sirix_item item);

/* In a body: the exact value of a finite double as mpz and scale. */
void sirix_big_load_double(mpz_t to, uint32_t *out_scale, double value);

/*
 * In a body: mpz / 10^scale as an item of INTEGER type (scale 0) or of DECIMAL, without trailing zeros,
 * in work->arena. The limit number_digits. *value may be changed.
 */
enum sirix_status sirix_big_store(struct sirix_work *work, mpz_t value, uint32_t scale,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* In a body: 10^exponent; initialises *to. */
void sirix_big_power10(mpz_t to, uint32_t exponent);

/* In a body: makes both of one scale, the larger. */
void sirix_big_align(mpz_t a, uint32_t a_scale, mpz_t b, uint32_t b_scale, uint32_t *out_scale);

/* In a body: value / divisor rounded, initialises *out. divisor is positive. */
void sirix_big_divide(mpz_t out, const mpz_t value, const mpz_t divisor,
                      enum sirix_rounding rounding);

#endif
