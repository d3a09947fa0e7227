/* Decimal formats: the signs by which format-number() reads its picture and writes its result. */
#ifndef SIRIX_QUERY_FUNCTION_DECIMAL_FORMAT_H
#define SIRIX_QUERY_FUNCTION_DECIMAL_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* X(member, "property", default): signs that are one character. */
#define SIRIX_DECIMAL_SIGNS(X)                                                                     \
    X(decimal_separator, "decimal-separator", '.')                                                 \
    X(grouping_separator, "grouping-separator", ',')                                               \
    X(exponent_separator, "exponent-separator", 'e')                                               \
    X(minus_sign, "minus-sign", '-')                                                               \
    X(percent, "percent", '%')                                                                     \
    X(per_mille, "per-mille", 0x2030)                                                              \
    X(zero_digit, "zero-digit", '0')                                                               \
    X(digit, "digit", '#')                                                                         \
    X(pattern_separator, "pattern-separator", ';')

/* Texts live as long as the query. The format without a name is the default one. */
struct sirix_decimal_format {
    struct sirix_bytes uri; /* Of its name; empty: none. */
    struct sirix_bytes prefix;
    struct sirix_bytes local; /* Empty: the default format. */
#define SIRIX_X(member, name, value) uint32_t member;
    SIRIX_DECIMAL_SIGNS(SIRIX_X)
#undef SIRIX_X
    struct sirix_bytes infinity;
    struct sirix_bytes nan;
};

/* Whether a character is one of the ten digits of the format. */
static inline bool sirix_decimal_format_has_digit(const struct sirix_decimal_format *format,
                                                  uint32_t c)
{
    return c >= format->zero_digit && c - format->zero_digit < 10;
}

/* The format that holds where nothing is declared. */
struct sirix_decimal_format sirix_decimal_format_default(void);

enum sirix_decimal_format_fault {
    SIRIX_DECIMAL_FORMAT_FINE,
    SIRIX_DECIMAL_FORMAT_UNKNOWN, /* No such property. */
    SIRIX_DECIMAL_FORMAT_INVALID, /* A value that the property cannot have: XQST0097. */
};

/* Sets a property by name. The value's text is kept, not copied. */
enum sirix_decimal_format_fault sirix_decimal_format_set(struct sirix_decimal_format *format,
                                                         struct sirix_bytes name,
                                                         struct sirix_bytes value);

/* Whether the signs that a picture is read by are different ones: XQST0098 otherwise. */
bool sirix_decimal_format_is_clear(const struct sirix_decimal_format *format);

#endif
