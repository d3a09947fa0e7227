/*
 * JSON numbers are kept by their text. This file says which ones may be stored as integers instead
 * because the text comes back exactly, and compares any two by value without floating point.
 */
#ifndef SIRIX_JSON_NUMBER_H
#define SIRIX_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * INTEGER   fits int64 and is printed back as it stands: 0, -1, 9223372036854775807; not -0
 * DECIMAL   -?digits.digits with |mantissa| < 10^18 and 1..18 digits behind the point, printed back
 *           as it stands: 0.10 is (10, 2), -0.5 is (-5, 1); not -0.0, whose sign would be lost
 * TEXT      every other valid number: -0, -0.0, 1e5, 1E+2, 9223372036854775808, 400 digits
 */
enum sirix_json_number_class {
    SIRIX_JSON_NUMBER_INTEGER,
    SIRIX_JSON_NUMBER_DECIMAL,
    SIRIX_JSON_NUMBER_TEXT,
};

enum {
    SIRIX_JSON_DECIMAL_DIGITS_MAX = 18, /* Of the mantissa, and behind the point. */
    SIRIX_JSON_DECIMAL_TEXT_BYTES = 24, /* Sign, 18 digits, point, a leading zero; room for i64. */
};

struct sirix_json_number {
    enum sirix_json_number_class number_class;
    uint8_t scale;    /* DECIMAL: digits behind the point, 1..18; else 0. */
    int64_t mantissa; /* INTEGER: the value; DECIMAL: the value times 10^scale; TEXT: 0. */
};

/* Whether text is a number as RFC 8259 writes it, all of it. *out_bad (may be NULL): first bad byte. */
bool sirix_json_number_valid(struct sirix_bytes text, size_t *out_bad);

/* The class of a valid number. */
struct sirix_json_number sirix_json_number_classify(struct sirix_bytes text);

/* Print what classify() read, without a NUL, to SIRIX_JSON_DECIMAL_TEXT_BYTES; return the length. */
size_t sirix_json_number_format_integer(int64_t value, char *to);
size_t sirix_json_number_format_decimal(int64_t mantissa, uint8_t scale, char *to);

/* The value of a valid number if it is whole and fits, whatever its form: 1e2 and 100.0 are 100. */
bool sirix_json_number_to_i64(struct sirix_bytes text, int64_t *out);

/*
 * Compares two valid numbers by value: < 0, 0, > 0. Exact for any length and exponent; linear in the
 * texts, no memory. 1.10 equals 1.1, 1e2 equals 100, -0 equals 0.
 */
int sirix_json_number_compare(struct sirix_bytes a, struct sirix_bytes b);

#endif
