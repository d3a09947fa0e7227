/* Numbers from their text and back. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "query/value/big.h"
#include "query/value/number.h"

enum { DOUBLE_DIGITS = 17, FLOAT_DIGITS = 9, INLINE_DIGITS = 18, EXPONENT_MAX = 1000000000 };

/* --- Reading --------------------------------------------------------------------------------------- */

/* A number's text in pieces: sign, digits with the point taken out, and where the point was. */
struct scanned {
    bool negative;
    bool has_point;
    bool has_exponent;
    char *digits; /* In scratch, NUL-terminated; at least one. */
    size_t digit_count;
    size_t significant; /* Without zeros in front and at the end. */
    int64_t scale;      /* Digits behind the point, less the exponent. */
};

static int64_t scan_exponent(const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    for (; at < end; at++) {
        if (value < EXPONENT_MAX) { /* Beyond that nothing but its size matters. */
            value = value * 10 + (*at - '0');
        }
    }
    return negative ? -value : value;
}

static enum sirix_status scan(struct sirix_work *work, struct sirix_bytes text, struct scanned *out,
                              struct sirix_query_error *err)
{
    const char *at = text.data;
    const char *end = at + text.len;
    void *memory = NULL;
    size_t count = 0;
    enum sirix_status status = sirix_arena_alloc(work->scratch, text.len + 2, &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    *out = (struct scanned){.digits = memory};
    if (at < end && (*at == '-' || *at == '+')) {
        out->negative = *at++ == '-';
    }
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            out->has_point = true;
        } else {
            out->digits[count++] = *at;
            out->scale += out->has_point;
        }
    }
    if (count == 0) {
        out->digits[count++] = '0';
    }
    out->digits[count] = '\0';
    out->digit_count = count;
    if (at < end) {
        out->has_exponent = true;
        out->scale -= scan_exponent(at + 1, end);
    }

    size_t first = strspn(out->digits, "0");
    size_t last = count;
    while (last > first && out->digits[last - 1] == '0') {
        last--;
    }
    out->significant = last - first;
    return SIRIX_OK;
}

/* The double nearest to the digits, by the C library but without its point, which a locale may change. */
static enum sirix_status to_double(struct sirix_work *work, const struct scanned *number,
                                   double *out, struct sirix_query_error *err)
{
    char *text = NULL;
    enum sirix_status status =
        sirix_arena_printf(work->scratch, &text, &err->base, "%s%se%lld",
                           number->negative ? "-" : "", number->digits, -(long long)number->scale);

    if (status == SIRIX_OK) {
        *out = strtod(text, NULL); /* Overflow is infinity, as wanted. */
    }
    return status;
}

struct digits_run {
    struct sirix_work *work;
    const char *digits;
    bool negative;
    int64_t scale;
    enum sirix_type type;
    struct sirix_item *out;
};

static enum sirix_status digits_body(void *context, struct sirix_query_error *err)
{
    struct digits_run *run = context;
    mpz_t value;
    mpz_t power;

    mpz_init(value);
    if (mpz_set_str(value, run->digits, 10) != 0) {
        return sirix_query_fail(err, "FORG0001", "not a number");
    }
    if (run->negative) {
        mpz_neg(value, value);
    }
    if (mpz_sgn(value) == 0) {
        run->scale = 0;
    }
    if (run->scale < 0) {
        sirix_big_power10(power, (uint32_t)-run->scale);
        mpz_mul(value, value, power);
        run->scale = 0;
    }
    return sirix_big_store(run->work, value, (uint32_t)run->scale, run->type, run->out, err);
}

/* An exact number; the limits are checked before its digits are worked on. */
static enum sirix_status to_exact(struct sirix_work *work, const struct scanned *number,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct digits_run run = {work, number->digits, number->negative, number->scale, type, out};

    if (number->digit_count <= INLINE_DIGITS && number->scale >= 0 && number->scale <= 18) {
        int64_t value = 0;

        for (size_t i = 0; i < number->digit_count; i++) {
            value = value * 10 + (number->digits[i] - '0');
        }
        value = number->negative ? -value : value;
        *out = number->scale == 0 && type == SIRIX_TYPE_INTEGER
                   ? sirix_item_integer(value)
                   : sirix_item_decimal(value, (uint8_t)number->scale);
        return SIRIX_OK;
    }
    bool too_long = number->digit_count > 2 * (size_t)SIRIX_NUMBER_DIGITS_MAX ||
                    number->scale > 2 * (int64_t)SIRIX_NUMBER_DIGITS_MAX ||
                    (number->significant != 0 && number->scale < -(int64_t)SIRIX_NUMBER_DIGITS_MAX);
    if (too_long) {
        return sirix_query_fail_limit(err, "number_digits", "a number has more than %d digits",
                                      SIRIX_NUMBER_DIGITS_MAX);
    }
    enum sirix_status status =
        sirix_work_tick(work, number->digit_count * number->digit_count / 65536, err);
    return status != SIRIX_OK ? status : sirix_big_run(work, digits_body, &run, err);
}

/* Marks a decimal that is printed with all of its digits; only where the mantissa still has them. */
static void keep_digits(const struct scanned *number, struct sirix_item *item)
{
    if (item->kind == SIRIX_ITEM_DECIMAL && item->scale == number->scale) {
        item->flags |= SIRIX_ITEM_AS_WRITTEN;
    }
}

/* Whether a JSON number with an exponent is a double: one that holds it, or one that nothing else holds. */
static bool is_double(const struct scanned *number, double value)
{
    bool holds = number->significant <= DOUBLE_DIGITS && !isinf(value) &&
                 (value != 0 || number->significant == 0) && (fabs(value) >= DBL_MIN || value == 0);
    int64_t places = number->scale < 0 ? -number->scale : number->scale;

    return holds || places > SIRIX_NUMBER_DIGITS_MAX ||
           number->digit_count > (size_t)SIRIX_NUMBER_DIGITS_MAX;
}

enum sirix_status sirix_number_parse(struct sirix_work *work, struct sirix_bytes text,
                                     bool from_json, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct scanned number = {0};
    struct sirix_item item = {0};
    double value = 0;
    enum sirix_status status = scan(work, text, &number, err);

    if (status == SIRIX_OK && number.has_exponent) {
        status = to_double(work, &number, &value, err);
        if (status == SIRIX_OK && (!from_json || is_double(&number, value))) {
            item = sirix_item_double(from_json && value == 0 ? 0 : value);
        } else if (status == SIRIX_OK) {
            status = to_exact(work, &number, SIRIX_TYPE_DECIMAL, &item, err);
        }
    } else if (status == SIRIX_OK) {
        enum sirix_type type = number.has_point ? SIRIX_TYPE_DECIMAL : SIRIX_TYPE_INTEGER;

        status = to_exact(work, &number, type, &item, err);
        if (status == SIRIX_OK && from_json && number.has_point) {
            keep_digits(&number, &item);
        }
    }
    sirix_arena_rewind(work->scratch, mark);
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

enum sirix_status sirix_decimal_from_digits(struct sirix_work *work, struct sirix_bytes digits,
                                            int64_t scale, enum sirix_type type,
                                            struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct scanned number = {0};
    struct sirix_item item = {0};
    enum sirix_status status = scan(work, digits, &number, err);

    if (status == SIRIX_OK) {
        number.scale += scale;
        status = to_exact(work, &number, type, &item, err);
    }
    sirix_arena_rewind(work->scratch, mark);
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

/* --- Printing ---------------------------------------------------------------------------------------- */

/* Digits of a number as printf("%.*e") writes it, without zeros at the end; its exponent. */
static size_t take_digits(const char *text, char digits[32], int *out_exponent)
{
    const char *at = text;
    size_t count = 0;

    for (; *at != 'e' && *at != '\0'; at++) {
        if (*at >= '0' && *at <= '9') { /* The point may be a comma elsewhere. */
            digits[count++] = *at;
        }
    }
    *out_exponent = (int)strtol(at + 1, NULL, 10);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    return count;
}

static bool reads_back(const char *text, double value, bool is_float)
{
    return is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* The fewest digits of a finite value, d.ddd without the point, that read back as the same. */
static size_t shortest_digits(double value, bool is_float, char digits[32], int *out_exponent)
{
    char text[48];
    double size = fabs(value);
    bool is_tiny = size < (is_float ? (double)FLT_MIN : DBL_MIN);
    int most = is_float ? FLOAT_DIGITS : DOUBLE_DIGITS;
    int least = is_float ? 6 : 15; /* Any number of so many digits reads back. */
    bool same = false;

    for (int precision = is_tiny ? 2 : least; !same && precision <= most; precision++) {
        if (snprintf(text, sizeof(text), "%.*e", precision - 1, size) < 0) {
            return 0;
        }
        same = reads_back(text, size, is_float);
    }
    return take_digits(text, digits, out_exponent);
}

/* 0.000001 up to 1000000: plain; else with an exponent. */
static size_t lay_out(bool negative, const char *digits, size_t count, int exponent, char *to)
{
    size_t len = 0;

    if (negative) {
        to[len++] = '-';
    }
    if (exponent < -6 || exponent >= 6) {
        to[len++] = digits[0];
        to[len++] = '.';
        if (count == 1) {
            to[len++] = '0';
        }
        memcpy(to + len, digits + 1, count - 1);
        len += count - 1;
        int printed = snprintf(to + len, 8, "E%d", exponent);

        return len + (printed > 0 ? (size_t)printed : 0);
    }
    if (exponent < 0) {
        to[len++] = '0';
        to[len++] = '.';
        memset(to + len, '0', (size_t)(-exponent - 1));
        len += (size_t)(-exponent - 1);
        memcpy(to + len, digits, count);
        return len + count;
    }
    for (size_t i = 0; i < count || i <= (size_t)exponent; i++) {
        if (i == (size_t)exponent + 1) {
            to[len++] = '.';
        }
        to[len] = '0';
        if (i < count) {
            to[len] = digits[i];
        }
        len++;
    }
    return len;
}

static size_t put(char *to, const char *text)
{
    size_t len = 0;

    for (; text[len] != '\0'; len++) {
        to[len] = text[len];
    }
    return len;
}

static size_t print_floating(double value, bool is_float, char to[SIRIX_DOUBLE_TEXT_BYTES])
{
    char digits[32] = "0";
    int exponent = 0;

    if (isnan(value)) {
        return put(to, "NaN");
    }
    if (isinf(value)) {
        return put(to, value < 0 ? "-INF" : "INF");
    }
    if (value == 0) {
        return put(to, signbit(value) ? "-0" : "0");
    }
    size_t count = shortest_digits(value, is_float, digits, &exponent);
    return lay_out(value < 0, digits, count, exponent, to);
}

size_t sirix_double_print(double value, char to[SIRIX_DOUBLE_TEXT_BYTES])
{
    return print_floating(value, false, to);
}

size_t sirix_float_print(float value, char to[SIRIX_DOUBLE_TEXT_BYTES])
{
    return print_floating((double)value, true, to);
}

/* Digits (sign apart) with a point scale places from the end; zeros behind it stay only if as written. */
static enum sirix_status print_digits(struct sirix_buf *to, bool negative, const char *digits,
                                      size_t scale, bool as_written, struct sirix_query_error *err)
{
    size_t count = strlen(digits);
    size_t whole = count > scale ? count - scale : 0;
    enum sirix_status status = SIRIX_OK;

    while (!as_written && scale > 0 && count > whole && digits[count - 1] == '0') {
        count--;
        scale--;
    }
    if (!as_written && count == 0) {
        scale = 0;
    }
    if (negative) {
        status = sirix_buf_append_u8(to, '-', &err->base);
    }
    if (status == SIRIX_OK) {
        status = whole == 0 ? sirix_buf_append_u8(to, '0', &err->base)
                            : sirix_buf_append(to, digits, whole, &err->base);
    }
    if (status == SIRIX_OK && scale > 0) {
        status = sirix_buf_append_u8(to, '.', &err->base);
        if (status == SIRIX_OK && whole == 0) {
            status = sirix_buf_append_fill(to, '0', scale - count, &err->base);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append(to, digits + whole, count - whole, &err->base);
        }
    }
    return status;
}

struct print_run {
    struct sirix_item item;
    struct sirix_buf *to;
};

static enum sirix_status print_body(void *context, struct sirix_query_error *err)
{
    struct print_run *run = context;
    uint32_t scale = 0;
    mpz_t value;

    sirix_big_load(value, &scale, run->item);
    bool negative = mpz_sgn(value) < 0;

    mpz_abs(value, value);
    const char *digits = mpz_get_str(NULL, 10, value); /* In the arena, as all of GMP's memory. */
    return print_digits(run->to, negative, digits, scale,
                        (run->item.flags & SIRIX_ITEM_AS_WRITTEN) != 0, err);
}

static enum sirix_status print_small(struct sirix_item item, struct sirix_buf *to,
                                     struct sirix_query_error *err)
{
    char text[SIRIX_DOUBLE_TEXT_BYTES];
    int64_t value = item.value.integer;
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

    if (snprintf(text, sizeof(text), "%llu", (unsigned long long)size) < 0) {
        return sirix_fail(&err->base, SIRIX_INTERNAL, "an integer could not be printed");
    }
    return print_digits(to, value < 0, text, item.kind == SIRIX_ITEM_DECIMAL ? item.scale : 0,
                        (item.flags & SIRIX_ITEM_AS_WRITTEN) != 0, err);
}

enum sirix_status sirix_number_print(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_buf *to, struct sirix_query_error *err)
{
    char text[SIRIX_DOUBLE_TEXT_BYTES];
    struct print_run run = {.item = item, .to = to};

    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_DOUBLE:
        return sirix_buf_append(to, text, sirix_double_print(item.value.number, text), &err->base);
    case SIRIX_ITEM_FLOAT:
        return sirix_buf_append(to, text, sirix_float_print(item.value.single, text), &err->base);
    case SIRIX_ITEM_INTEGER:
    case SIRIX_ITEM_DECIMAL:
        return print_small(item, to, err);
    default:
        break;
    }
    enum sirix_status status =
        sirix_work_tick(work, sirix_big_bytes(item.value.big) / SIRIX_WORK_BYTES_PER_UNIT, err);
    return status != SIRIX_OK ? status : sirix_big_run(work, print_body, &run, err);
}
