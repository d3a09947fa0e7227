/* Number texts: the grammar, what fits an integer or a decimal exactly, and comparison by value. */
#include "json/number.h"

#include <assert.h>
#include <string.h>

static const int64_t exponent_far = INT64_C(1) << 60; /* Past any difference that digits make up. */

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t skip_digits(const uint8_t *text, size_t len, size_t at)
{
    while (at < len && is_digit(text[at])) {
        at++;
    }
    return at;
}

/* Reads at least one digit; false, with *at on the byte that is none, otherwise. */
static bool some_digits(const uint8_t *text, size_t len, size_t *at)
{
    size_t start = *at;

    *at = skip_digits(text, len, start);
    return *at != start;
}

static bool check(const uint8_t *text, size_t len, size_t *at)
{
    if (*at < len && text[*at] == '-') {
        *at += 1;
    }
    if (*at < len && text[*at] == '0') {
        *at += 1;
    } else if (!some_digits(text, len, at)) {
        return false;
    }
    if (*at < len && text[*at] == '.') {
        *at += 1;
        if (!some_digits(text, len, at)) {
            return false;
        }
    }
    if (*at < len && (text[*at] == 'e' || text[*at] == 'E')) {
        *at += 1;
        if (*at < len && (text[*at] == '+' || text[*at] == '-')) {
            *at += 1;
        }
        if (!some_digits(text, len, at)) {
            return false;
        }
    }
    return *at == len;
}

bool sirix_json_number_valid(struct sirix_bytes text, size_t *out_bad)
{
    size_t at = 0;
    bool valid = check(text.data, text.len, &at);

    if (!valid && out_bad != NULL) {
        *out_bad = at;
    }
    return valid;
}

static struct sirix_json_number as_integer(bool negative, const uint8_t *digits, size_t count)
{
    struct sirix_json_number number = {.number_class = SIRIX_JSON_NUMBER_TEXT};
    uint64_t magnitude = 0;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;

    if (count > 19 || (negative && digits[0] == '0')) {
        return number;
    }
    for (size_t i = 0; i < count; i++) {
        magnitude = magnitude * 10 + (uint64_t)(digits[i] - '0'); /* 19 digits fit a u64. */
    }
    if (magnitude > limit) {
        return number;
    }
    number.number_class = SIRIX_JSON_NUMBER_INTEGER;
    number.mantissa = (int64_t)(negative ? 0 - magnitude : magnitude);
    return number;
}

static struct sirix_json_number as_decimal(bool negative, const uint8_t *text, size_t whole,
                                           size_t fraction)
{
    struct sirix_json_number number = {.number_class = SIRIX_JSON_NUMBER_TEXT};
    size_t significant = (text[0] == '0' ? 0 : whole) + fraction;
    int64_t mantissa = 0;

    if (significant > SIRIX_JSON_DECIMAL_DIGITS_MAX) {
        return number;
    }
    for (size_t i = 0; i < whole; i++) {
        mantissa = mantissa * 10 + (text[i] - '0');
    }
    for (size_t i = 0; i < fraction; i++) {
        mantissa = mantissa * 10 + (text[whole + 1 + i] - '0');
    }
    if (negative && mantissa == 0) {
        return number;
    }
    number.number_class = SIRIX_JSON_NUMBER_DECIMAL;
    number.scale = (uint8_t)fraction;
    number.mantissa = negative ? -mantissa : mantissa;
    return number;
}

struct sirix_json_number sirix_json_number_classify(struct sirix_bytes text)
{
    const uint8_t *bytes = text.data;
    bool negative = text.len != 0 && bytes[0] == '-';
    size_t start = negative ? 1 : 0;
    size_t whole_end = skip_digits(bytes, text.len, start);

    if (whole_end == text.len) {
        return as_integer(negative, bytes + start, whole_end - start);
    }
    if (bytes[whole_end] == '.' && skip_digits(bytes, text.len, whole_end + 1) == text.len) {
        return as_decimal(negative, bytes + start, whole_end - start, text.len - whole_end - 1);
    }
    return (struct sirix_json_number){.number_class = SIRIX_JSON_NUMBER_TEXT};
}

/* Writes the digits of value, at least min_digits, to the end of a field; returns where they start. */
static char *print_digits(uint64_t value, int min_digits, char *end)
{
    while (value != 0 || min_digits > 0) {
        *--end = (char)('0' + value % 10);
        value /= 10;
        min_digits--;
    }
    return end;
}

static uint64_t magnitude_of(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

size_t sirix_json_number_format_integer(int64_t value, char *to)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    char *end = text + sizeof(text);
    char *start = print_digits(magnitude_of(value), 1, end);

    if (value < 0) {
        *--start = '-';
    }
    memcpy(to, start, (size_t)(end - start));
    return (size_t)(end - start);
}

size_t sirix_json_number_format_decimal(int64_t mantissa, uint8_t scale, char *to)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    char *end = text + sizeof(text);

    assert(scale >= 1 && scale <= SIRIX_JSON_DECIMAL_DIGITS_MAX);

    char *digits = print_digits(magnitude_of(mantissa), scale + 1, end);
    size_t whole = (size_t)(end - digits) - scale;
    size_t len = 0;
    if (mantissa < 0) {
        to[len++] = '-';
    }
    memcpy(to + len, digits, whole);
    len += whole;
    to[len++] = '.';
    memcpy(to + len, digits + whole, scale);
    return len + scale;
}

/* --- Comparison ------------------------------------------------------------------------------- */

/*
 * A number as sign, digits and exponent: its value is 0.d1d2d3... * 10^(near + exponent text). The
 * digits run from first to last within the text, over a point where there is one; the first and the
 * last are not 0. The exponent stays text because it may be longer than any integer.
 */
struct parts {
    bool negative;
    bool is_zero;
    const uint8_t *first;
    const uint8_t *last; /* Behind the last digit. */
    int64_t near;
    bool exponent_negative;
    const uint8_t *exponent; /* Without leading zeros. */
    size_t exponent_len;
};

/* What is behind the digits: nothing, or `e`, a sign and the exponent. */
static void split_exponent(struct parts *parts, const uint8_t *at, const uint8_t *end)
{
    if (at == end) {
        return;
    }
    at++;
    parts->exponent_negative = *at == '-';
    at += *at == '-' || *at == '+' ? 1 : 0;
    while (at < end && *at == '0') {
        at++;
    }
    parts->exponent = at;
    parts->exponent_len = (size_t)(end - at);
}

static struct parts split(struct sirix_bytes text)
{
    const uint8_t *at = text.data;
    const uint8_t *end = at + text.len;
    struct parts parts = {.negative = at < end && *at == '-'};
    const uint8_t *point = NULL;

    at += parts.negative ? 1 : 0;
    const uint8_t *start = at;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = at;
        }
    }
    parts.last = at;
    split_exponent(&parts, at, end);
    for (parts.first = start; parts.first < parts.last; parts.first++) {
        if (*parts.first != '0' && *parts.first != '.') {
            break;
        }
    }
    parts.is_zero = parts.first == parts.last;
    if (point == NULL) {
        point = parts.last;
    }
    /* A first digit behind the point: every zero between them takes one off. */
    parts.near = parts.first < point ? point - parts.first : point + 1 - parts.first;
    while (parts.last > parts.first && (parts.last[-1] == '0' || parts.last[-1] == '.')) {
        parts.last--;
    }
    return parts;
}

static int64_t far_clamp(int64_t value)
{
    value = value > exponent_far / 16 ? exponent_far / 16 : value;
    return value < -exponent_far / 16 ? -exponent_far / 16 : value;
}

/*
 * The difference of the two exponent texts. Read digit by digit from the front, a difference that
 * has once become large can only grow, so clamping it keeps every comparison exact.
 */
static int64_t exponent_difference(const struct parts *a, const struct parts *b)
{
    size_t len = a->exponent_len > b->exponent_len ? a->exponent_len : b->exponent_len;
    int64_t difference = 0;

    for (size_t i = len; i > 0; i--) {
        int64_t left = i <= a->exponent_len ? a->exponent[a->exponent_len - i] - '0' : 0;
        int64_t right = i <= b->exponent_len ? b->exponent[b->exponent_len - i] - '0' : 0;

        left = a->exponent_negative ? -left : left;
        right = b->exponent_negative ? -right : right;
        difference = far_clamp(difference * 10 + left - right);
    }
    return difference;
}

static int compare_digits(const struct parts *a, const struct parts *b)
{
    const uint8_t *left = a->first;
    const uint8_t *right = b->first;

    for (;;) {
        left += left < a->last && *left == '.' ? 1 : 0;
        right += right < b->last && *right == '.' ? 1 : 0;
        if (left == a->last || right == b->last) {
            /* What is left over ends in a digit that is not 0. */
            return (left != a->last) - (right != b->last);
        }
        if (*left != *right) {
            return *left < *right ? -1 : 1;
        }
        left++;
        right++;
    }
}

int sirix_json_number_compare(struct sirix_bytes a, struct sirix_bytes b)
{
    if (sirix_bytes_equal(a, b)) {
        return 0;
    }
    struct parts left = split(a);
    struct parts right = split(b);

    if (left.is_zero || right.is_zero) {
        int left_sign = left.is_zero ? 0 : (left.negative ? -1 : 1);
        int right_sign = right.is_zero ? 0 : (right.negative ? -1 : 1);

        return left_sign - right_sign;
    }
    if (left.negative != right.negative) {
        return left.negative ? -1 : 1;
    }
    int64_t exponents = exponent_difference(&left, &right) + left.near - right.near;
    int order = exponents != 0 ? (exponents < 0 ? -1 : 1) : compare_digits(&left, &right);
    return left.negative ? -order : order;
}

bool sirix_json_number_to_i64(struct sirix_bytes text, int64_t *out)
{
    static const struct parts no_exponent = {.exponent_len = 0};
    struct parts parts = split(text);
    uint64_t magnitude = 0;
    uint64_t limit = parts.negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;

    if (parts.is_zero) {
        *out = 0;
        return true;
    }
    /* The value is 0.digits * 10^places: whole only if no digit is left behind the point. */
    int64_t places = parts.near + exponent_difference(&parts, &no_exponent);
    if (places < 1 || places > 19) {
        return false;
    }
    for (const uint8_t *at = parts.first; at < parts.last; at++) {
        if (*at == '.') {
            continue;
        }
        if (places == 0) {
            return false;
        }
        magnitude = magnitude * 10 + (uint64_t)(*at - '0'); /* 19 digits fit a u64. */
        places--;
    }
    for (; places > 0; places--) {
        magnitude *= 10;
    }
    if (magnitude > limit) {
        return false;
    }
    *out = (int64_t)(parts.negative ? 0 - magnitude : magnitude);
    return true;
}
