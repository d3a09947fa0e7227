/*
 * Exact numbers in 128 bits: larger than what items keep inline, small enough for the processor. What
 * sums, means and quotients of ordinary numbers need, without GMP. Internal to storaged/query/value.
 */
#ifndef SIRIX_QUERY_VALUE_WIDE_H
#define SIRIX_QUERY_VALUE_WIDE_H

#include "query/value/big.h"

enum { SIRIX_WIDE_SCALE_MAX = 37 };

struct sirix_wide_number {
    sirix_wide mantissa;
    unsigned scale; /* mantissa / 10^scale */
};

/* 10^exponent, exponent at most SIRIX_WIDE_SCALE_MAX. */
sirix_wide sirix_wide_power10(unsigned exponent);

/* Whether an exact item fits; *to is written if so. */
bool sirix_wide_load(struct sirix_item item, struct sirix_wide_number *to);

/*
 * The number as an item of INTEGER type (scale 0) or of DECIMAL, without trailing zeros, in
 * work->arena if it does not fit inline.
 */
enum sirix_status sirix_wide_store(struct sirix_work *work, struct sirix_wide_number number,
                                   enum sirix_type type, struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* value / divisor rounded; divisor is positive. */
sirix_wide sirix_wide_divide(sirix_wide value, sirix_wide divisor, enum sirix_rounding rounding);

#endif
