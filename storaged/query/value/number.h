/*
 * The number tower: integers without bound, exact decimals, float and double.
 *
 * Exactness  Integer and decimal results are exact; a decimal quotient that does not end is rounded to
 *            SIRIX_DECIMAL_QUOTIENT_DIGITS behind the point (half away from zero). Small values never
 *            touch GMP.
 * Promotion  integer < decimal < float < double: the operands of an operation go to the higher one.
 *            Untyped operands are cast to double. Other types: XPTY0004.
 * Limits     An exact number has at most SIRIX_NUMBER_DIGITS_MAX digits (integral and fractional each);
 *            past it is the limit "number_digits".
 * Results    In work->arena. The result of integer operations is xs:integer also for derived types.
 */
#ifndef SIRIX_QUERY_VALUE_NUMBER_H
#define SIRIX_QUERY_VALUE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "query/value/item.h"

enum {
    SIRIX_NUMBER_DIGITS_MAX = 70000, /* A stored number has up to 65,536. */
    SIRIX_DECIMAL_QUOTIENT_DIGITS = 18,
    SIRIX_DOUBLE_TEXT_BYTES = 32,
};

enum sirix_arithmetic {
    SIRIX_ADD,
    SIRIX_SUBTRACT,
    SIRIX_MULTIPLY,
    SIRIX_DIVIDE,
    SIRIX_INTEGER_DIVIDE,
    SIRIX_MODULO,
};

/*
 * a op b for every pair of types that has it: numbers, and dates and durations (query/value/datetime.h).
 * FOAR0001 division by zero, FOAR0002 overflow of idiv, FODT0001/2 of dates and durations, XPTY0004.
 */
enum sirix_status sirix_item_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                        struct sirix_item a, struct sirix_item b,
                                        struct sirix_item *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* -a; +a only checks the type. */
enum sirix_status sirix_item_negate(struct sirix_work *work, struct sirix_item a,
                                    struct sirix_item *out,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Compares two numbers: < 0, 0, > 0; *out_unordered when one is NaN. Exact between exact kinds. */
int sirix_number_compare(struct sirix_item a, struct sirix_item b, bool *out_unordered);

/*
 * The same, but exact also between an exact kind and a double (its exact value): a total order with
 * NaN equal to itself and below everything. For grouping, sorting and joins.
 */
int sirix_number_order(struct sirix_item a, struct sirix_item b);

/* The nearest double of any number; +-INF when too large. */
double sirix_number_to_double(struct sirix_item item);
float sirix_number_to_float(struct sirix_item item);

/* A whole number of any numeric kind that fits int64: 3, 3.0, 3e0. */
bool sirix_number_to_i64(struct sirix_item item, int64_t *out);

/* 0: zero; < 0, > 0: the sign; NaN is 0. */
int sirix_number_sign(struct sirix_item item);
bool sirix_number_is_nan(struct sirix_item item);

/*
 * A number of a literal in a query or of JSON text (RFC 8259 grammar, and the forms .5 and 5. of
 * XQuery). Without point and exponent an integer, with a point a decimal, with an exponent a double.
 * A JSON number with an exponent that no double holds exactly enough (too large, too small, more than
 * 17 digits) is an exact decimal, as long as the limit allows it. from_json also keeps a decimal's
 * digits as written and makes -0 0. The text must be valid.
 */
enum sirix_status sirix_number_parse(struct sirix_work *work, struct sirix_bytes text,
                                     bool from_json, struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* mantissa as decimal digits (optional sign) times 10^-scale, as an integer or decimal item. */
enum sirix_status sirix_decimal_from_digits(struct sirix_work *work, struct sirix_bytes digits,
                                            int64_t scale, enum sirix_type type,
                                            struct sirix_item *out,
                                            struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Text of a number as xs:string casting has it: 12, 1.5, 1.0E7, 0.001, INF, NaN, -0. Decimals without
 * trailing zeros unless as written. Appends.
 */
enum sirix_status sirix_number_print(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_buf *to,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The same for a double or float alone; returns the length, no NUL. */
size_t sirix_double_print(double value, char to[SIRIX_DOUBLE_TEXT_BYTES]);
size_t sirix_float_print(float value, char to[SIRIX_DOUBLE_TEXT_BYTES]);

/* Rounding, keeping the type: abs, ceiling, floor, round (half up), round half to even at 10^-precision. */
enum sirix_rounding {
    SIRIX_ROUND_CEILING,
    SIRIX_ROUND_FLOOR,
    SIRIX_ROUND_HALF_UP, /* Towards +INF, as fn:round. */
    SIRIX_ROUND_HALF_EVEN,
    SIRIX_ROUND_TRUNCATE,
    SIRIX_ROUND_HALF_AWAY, /* From zero. */
};
enum sirix_status sirix_number_round(struct sirix_work *work, struct sirix_item item,
                                     enum sirix_rounding rounding, int64_t precision,
                                     struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_number_abs(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A running sum or mean that takes one item at a time in constant memory for small numbers. */
struct sirix_sum {
    struct sirix_item total; /* NONE before the first. */
    uint64_t count;
};
/* Adds a number or duration (untyped is cast to double). FORG0006 when the types do not add up. */
enum sirix_status sirix_sum_add(struct sirix_work *work, struct sirix_sum *sum,
                                struct sirix_item item,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
