/* Decimal formats: see decimal_format.h. */
#include "query/function/decimal_format.h"

#include "base/utf8.h"
#include "query/function/integer_picture.h"
#include "query/function/support.h"

struct sirix_decimal_format sirix_decimal_format_default(void)
{
    return (struct sirix_decimal_format){
#define SIRIX_X(member, name, value) .member = (value),
        SIRIX_DECIMAL_SIGNS(SIRIX_X)
#undef SIRIX_X
            .infinity = literal_bytes("Infinity"),
        .nan = literal_bytes("NaN")};
}

enum sirix_decimal_format_fault sirix_decimal_format_set(struct sirix_decimal_format *format,
                                                         struct sirix_bytes name,
                                                         struct sirix_bytes value)
{
    const struct {
        const char *name;
        uint32_t *to;
    } signs[] = {
#define SIRIX_X(member, title, value) {title, &format->member},
        SIRIX_DECIMAL_SIGNS(SIRIX_X)
#undef SIRIX_X
    };
    uint32_t sign = 0;

    if (bytes_are(name, "infinity")) {
        format->infinity = value;
        return SIRIX_DECIMAL_FORMAT_FINE;
    }
    if (bytes_are(name, "NaN")) {
        format->nan = value;
        return SIRIX_DECIMAL_FORMAT_FINE;
    }
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (!bytes_are(name, signs[i].name)) {
            continue;
        }
        if (value.len == 0 || sirix_utf8_decode(value.data, value.len, &sign) != value.len ||
            (signs[i].to == &format->zero_digit && digit_family(sign) != sign)) {
            return SIRIX_DECIMAL_FORMAT_INVALID;
        }
        *signs[i].to = sign;
        return SIRIX_DECIMAL_FORMAT_FINE;
    }
    return SIRIX_DECIMAL_FORMAT_UNKNOWN;
}

/* Whether a sign is none of the digits and none of the signs before it. */
static bool is_new(const struct sirix_decimal_format *format, const uint32_t *signs, size_t at)
{
    bool is_new = !sirix_decimal_format_has_digit(format, signs[at]);

    for (size_t i = 0; i < at && is_new; i++) {
        is_new = signs[i] != signs[at];
    }
    return is_new;
}

bool sirix_decimal_format_is_clear(const struct sirix_decimal_format *format)
{
    const uint32_t signs[] = {
        format->decimal_separator,
        format->grouping_separator,
        format->percent,
        format->per_mille,
        format->digit,
        format->pattern_separator,
        format->exponent_separator,
    };
    bool is_clear = true;

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]) && is_clear; i++) {
        is_clear = is_new(format, signs, i);
    }
    return is_clear;
}
