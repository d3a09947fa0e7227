/* format-number(): pictures and numbers in the signs of a decimal format. */
#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- Pictures ------------------------------------------------------------------------------------------ */

enum { PART_CHARS_MAX = 512 };

/* A part of a picture: its characters, and what was found in them. */
struct subpicture {
    const struct sirix_decimal_format *format;
    uint32_t chars[PART_CHARS_MAX];
    size_t count;
    size_t prefix_end;   /* The active part: from here ... */
    size_t suffix_start; /* ... to here. */
    size_t exponent_at;  /* Where the exponent's sign is; count: nowhere. */
    size_t least_whole;
    size_t least_fraction;
    size_t most_fraction;
    size_t least_exponent;         /* 0: no exponent. */
    size_t scaling;                /* Digits before the point that an exponent leaves. */
    unsigned shift;                /* 2 for percent, 3 for per mille. */
    size_t groups[PART_CHARS_MAX]; /* Positions of separators from the point to the left. */
    size_t group_count;
    size_t interval;                        /* Regular grouping, or 0. */
    size_t fraction_groups[PART_CHARS_MAX]; /* From the point to the right. */
    size_t fraction_group_count;
};

/* Active characters but for the exponent's sign, which is one between others only. */
static bool is_active(const struct sirix_decimal_format *format, uint32_t c)
{
    return sirix_decimal_format_has_digit(format, c) || c == format->digit ||
           c == format->grouping_separator || c == format->decimal_separator;
}

/* What has been seen of the active part. */
struct reading {
    bool in_fraction;
    bool seen_digit;    /* A mandatory digit of the part. */
    bool seen_optional; /* # */
    bool seen_separator;
    size_t whole_places; /* # and digits before the point. */
    size_t fraction_places;
    size_t separators[PART_CHARS_MAX]; /* whole_places at each separator. */
    size_t separator_count;
};

static bool take_place(struct reading *reading, struct subpicture *to, bool digit)
{
    bool good = false;

    reading->seen_separator = false;
    if (reading->in_fraction) {
        good = !(digit && reading->seen_optional);
        reading->seen_optional = reading->seen_optional || !digit;
        reading->fraction_places++;
        to->least_fraction += digit;
        to->most_fraction++;
        return good;
    }
    good = !(!digit && reading->seen_digit);
    reading->seen_digit = reading->seen_digit || digit;
    reading->whole_places++;
    to->least_whole += digit;
    return good;
}

static bool take_separator(struct reading *reading, struct subpicture *to)
{
    if (reading->seen_separator || (reading->in_fraction && reading->fraction_places == 0)) {
        return false;
    }
    reading->seen_separator = true;
    if (reading->in_fraction) {
        to->fraction_groups[to->fraction_group_count++] = reading->fraction_places;
    } else {
        reading->separators[reading->separator_count++] = reading->whole_places;
    }
    return true;
}

/* Positions of separators from the point; regular ones go on to the left. */
static void find_groups(const struct reading *reading, struct subpicture *to)
{
    bool regular = reading->separator_count > 0;
    size_t first = 0;

    for (size_t i = reading->separator_count; i > 0; i--) {
        size_t from_point = reading->whole_places - reading->separators[i - 1];

        first = first == 0 ? from_point : first;
        regular = regular && from_point == first * (to->group_count + 1);
        to->groups[to->group_count++] = from_point;
    }
    /* The leftmost group may be shorter, not longer. */
    if (regular && reading->whole_places <= first * (to->group_count + 1)) {
        to->interval = first;
    }
}

/* Digits that are written whatever the number is. */
static void settle_sizes(const struct reading *reading, struct subpicture *to)
{
    bool has_exponent = to->least_exponent != 0;

    to->scaling = to->least_whole;
    if (to->least_whole == 0 && to->most_fraction == 0) {
        if (has_exponent) {
            to->least_fraction = 1;
            to->most_fraction = 1;
        } else {
            to->least_whole = 1;
        }
    }
    if (has_exponent && to->least_whole == 0 && reading->whole_places != 0) {
        to->least_whole = 1;
    }
    if (to->least_whole == 0 && to->least_fraction == 0) {
        to->least_fraction = 1;
    }
}

/* Reads the active part; false when it is not valid. */
static bool read_active(struct subpicture *to)
{
    const struct sirix_decimal_format *format = to->format;
    const size_t end = to->exponent_at < to->suffix_start ? to->exponent_at : to->suffix_start;
    struct reading reading = {0};

    for (size_t i = to->prefix_end; i < end; i++) {
        uint32_t c = to->chars[i];
        bool good = false; /* A passive character within the active part. */

        if (c == format->decimal_separator) {
            good = !reading.in_fraction && !reading.seen_separator;
            reading.in_fraction = true;
        } else if (c == format->grouping_separator) {
            good = take_separator(&reading, to);
        } else if (sirix_decimal_format_has_digit(format, c) || c == format->digit) {
            good = take_place(&reading, to, c != format->digit);
        }
        if (!good) {
            return false;
        }
    }
    for (size_t i = end + 1; i < to->suffix_start; i++) {
        if (!sirix_decimal_format_has_digit(format, to->chars[i])) {
            return false;
        }
        to->least_exponent++;
    }
    if (reading.seen_separator || reading.whole_places + reading.fraction_places == 0 ||
        (end < to->suffix_start && to->least_exponent == 0)) {
        return false;
    }
    find_groups(&reading, to);
    settle_sizes(&reading, to);
    return true;
}

/* Where the prefix ends and the suffix begins: at the first and behind the last active character. */
static void find_active(const struct sirix_decimal_format *format, struct subpicture *to)
{
    to->suffix_start = to->count;
    while (to->prefix_end < to->count && !is_active(format, to->chars[to->prefix_end])) {
        to->prefix_end++;
    }
    while (to->suffix_start > to->prefix_end &&
           !is_active(format, to->chars[to->suffix_start - 1])) {
        to->suffix_start--;
    }
}

static bool read_subpicture(const struct sirix_decimal_format *format, struct subpicture *to)
{
    unsigned marks = 0;
    unsigned exponents = 0;

    to->format = format;
    find_active(format, to);
    to->exponent_at = to->count;
    for (size_t i = 0; i < to->count; i++) {
        uint32_t c = to->chars[i];

        if (c == format->percent || c == format->per_mille) {
            marks++;
            to->shift = c == format->percent ? 2 : 3;
        }
        if (c == format->exponent_separator && i >= to->prefix_end && i < to->suffix_start) {
            exponents++;
            to->exponent_at = i;
        }
    }
    return to->prefix_end < to->suffix_start && marks <= 1 && exponents <= 1 && read_active(to) &&
           !(marks != 0 && to->least_exponent != 0);
}

/* Adds a character to a part; false: there is no room. */
static bool add_char(struct subpicture *part, uint32_t c)
{
    if (part->count + 1 >= PART_CHARS_MAX) {
        return false;
    }
    part->chars[part->count++] = c;
    return true;
}

/* One part or two, with a pattern separator between them; *out_parts says how many. */
static enum sirix_status read_picture(const struct sirix_decimal_format *format,
                                      struct sirix_bytes picture, struct subpicture parts[2],
                                      size_t *out_parts, struct sirix_query_error *err)
{
    const char *text = picture.data;
    size_t part = 0;
    bool good = true;

    for (size_t at = 0; at < picture.len && good;) {
        uint32_t c = 0;

        at += sirix_utf8_decode(text + at, picture.len - at, &c);
        good = c == format->pattern_separator ? part++ == 0 : add_char(&parts[part], c);
    }
    for (size_t i = 0; i <= part && good; i++) {
        good = read_subpicture(format, &parts[i]);
    }
    *out_parts = part + 1;
    return good ? SIRIX_OK
                : sirix_query_fail(err, "FODF1310", "\"%.*s\" is not a picture of a number",
                                   (int)(picture.len > 60 ? 60 : picture.len), text);
}

/* --- The number of a picture -------------------------------------------------------------------------- */

/* A number as digits: 0.d1 d2 d3 ... times 10^point. */
struct digits {
    uint8_t *list;
    size_t count;
    int64_t point; /* Digits before the point. */
};

/* A digit that leads is dropped when it is 0; behind the point that moves the others. */
static void take_digit_of(struct digits *to, char digit, bool has_point)
{
    bool leads = to->count == 0 && digit == '0';

    if (leads) {
        to->point -= has_point ? 1 : 0;
        return;
    }
    to->list[to->count++] = (uint8_t)(digit - '0');
    to->point += has_point ? 0 : 1;
}

/* -?digits */
static int64_t exponent_of(const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    for (at += negative ? 1 : 0; at < end; at++) {
        value = value * 10 + (*at - '0');
    }
    return negative ? -value : value;
}

/* The digits of a number's text, zeros in front and at the end taken off. */
static enum sirix_status take_digits(struct sirix_call *call, struct sirix_item number,
                                     struct digits *out, struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    void *memory = NULL;
    enum sirix_status status = sirix_item_text(call->work, number, &text, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_alloc(call->work->arena, text.len + 2, &memory, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const char *chars = text.data;
    const char *end = chars + text.len;
    const char *exponent = memchr(chars, 'E', text.len);
    bool has_point = false;

    *out = (struct digits){.list = memory};
    for (const char *at = chars; at < (exponent == NULL ? end : exponent); at++) {
        has_point = has_point || *at == '.';
        if (*at >= '0' && *at <= '9') {
            take_digit_of(out, *at, has_point);
        }
    }
    out->point += exponent == NULL ? 0 : exponent_of(exponent + 1, end);
    while (out->count > 0 && out->list[out->count - 1] == 0) {
        out->count--;
    }
    if (out->count == 0) {
        out->point = 0;
    }
    return SIRIX_OK;
}

/* Rounds to `places` digits behind the point, half to even. There is room for one digit more. */
static void round_digits(struct digits *digits, size_t places)
{
    int64_t kept = digits->point + (int64_t)places;

    if (kept >= (int64_t)digits->count) {
        return;
    }
    if (kept < 0) {
        digits->count = 0;
        digits->point = 0;
        return;
    }
    size_t keep = (size_t)kept;
    bool is_half = digits->list[keep] == 5 && keep + 1 == digits->count;
    bool is_odd = keep > 0 && digits->list[keep - 1] % 2 != 0;
    bool up = is_half ? is_odd : digits->list[keep] >= 5;

    digits->count = keep;
    while (up && digits->count > 0 && digits->list[digits->count - 1] == 9) {
        digits->count--;
    }
    if (up && digits->count > 0) {
        digits->list[digits->count - 1]++;
    } else if (up) {
        digits->list[0] = 1;
        digits->count = 1;
        digits->point++;
    }
    while (digits->count > 0 && digits->list[digits->count - 1] == 0) {
        digits->count--;
    }
}

static uint8_t digit_at(const struct digits *digits, int64_t index)
{
    return index >= 0 && index < (int64_t)digits->count ? digits->list[index] : 0;
}

static bool has_group_at(const struct subpicture *picture, size_t from_point)
{
    if (picture->interval != 0) {
        return from_point % picture->interval == 0;
    }
    for (size_t i = 0; i < picture->group_count; i++) {
        if (picture->groups[i] == from_point) {
            return true;
        }
    }
    return false;
}

static enum sirix_status put_char(struct sirix_buf *to, uint32_t c, struct sirix_query_error *err)
{
    uint8_t text[SIRIX_UTF8_BYTES_MAX];
    size_t len = sirix_utf8_encode(c, text);

    return sirix_buf_append(to, text, len, &err->base);
}

static enum sirix_status put_chars(struct sirix_buf *to, const uint32_t *chars, size_t count,
                                   struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = put_char(to, chars[i], err);
    }
    return status;
}

static enum sirix_status put_whole(const struct digits *digits, const struct subpicture *picture,
                                   struct sirix_buf *to, struct sirix_query_error *err)
{
    size_t whole = digits->point > 0 ? (size_t)digits->point : 0;
    size_t places = whole > picture->least_whole ? whole : picture->least_whole;
    enum sirix_status status = SIRIX_OK;

    for (size_t left = places; status == SIRIX_OK && left > 0; left--) {
        uint8_t digit = digit_at(digits, digits->point - (int64_t)left);

        status = put_char(to, picture->format->zero_digit + digit, err);
        if (status == SIRIX_OK && left > 1 && has_group_at(picture, left - 1)) {
            status = put_char(to, picture->format->grouping_separator, err);
        }
    }
    return status;
}

static enum sirix_status put_fraction(const struct digits *digits, const struct subpicture *picture,
                                      struct sirix_buf *to, struct sirix_query_error *err)
{
    int64_t there = (int64_t)digits->count - digits->point;
    size_t places = there > 0 ? (size_t)there : 0;
    size_t group = 0;

    places = places > picture->least_fraction ? places : picture->least_fraction;

    enum sirix_status status =
        places == 0 ? SIRIX_OK : put_char(to, picture->format->decimal_separator, err);

    for (size_t i = 0; status == SIRIX_OK && i < places; i++) {
        if (group < picture->fraction_group_count && picture->fraction_groups[group] == i) {
            group++;
            status = put_char(to, picture->format->grouping_separator, err);
        }
        if (status == SIRIX_OK) {
            uint8_t digit = digit_at(digits, digits->point + (int64_t)i);

            status = put_char(to, picture->format->zero_digit + digit, err);
        }
    }
    return status;
}

static enum sirix_status put_exponent(int64_t exponent, const struct subpicture *picture,
                                      struct sirix_buf *to, struct sirix_query_error *err)
{
    char text[PART_CHARS_MAX + 32];
    int len = snprintf(text, sizeof(text), "%0*lld", (int)picture->least_exponent,
                       (long long)(exponent < 0 ? -exponent : exponent));
    enum sirix_status status = put_char(to, picture->format->exponent_separator, err);

    if (status == SIRIX_OK && exponent < 0) {
        status = put_char(to, picture->format->minus_sign, err);
    }
    for (int i = 0; i < len && status == SIRIX_OK; i++) {
        status = put_char(to, picture->format->zero_digit + (uint32_t)(text[i] - '0'), err);
    }
    return status;
}

/* The digits by the picture; an exponent takes the point to where the picture wants it. */
static enum sirix_status put_number(struct digits *digits, const struct subpicture *picture,
                                    struct sirix_buf *to, struct sirix_query_error *err)
{
    int64_t exponent = 0;

    digits->point += digits->count == 0 ? 0 : picture->shift;
    if (picture->least_exponent != 0 && digits->count != 0) {
        exponent = digits->point - (int64_t)picture->scaling;
        digits->point = (int64_t)picture->scaling;
    }
    round_digits(digits, picture->most_fraction);
    if (picture->least_exponent != 0 && digits->point > (int64_t)picture->scaling) {
        exponent++; /* 9.99 was rounded to 10.0. */
        digits->point--;
    }

    enum sirix_status status = put_whole(digits, picture, to, err);

    if (status == SIRIX_OK) {
        status = put_fraction(digits, picture, to, err);
    }
    return status == SIRIX_OK && picture->least_exponent != 0
               ? put_exponent(exponent, picture, to, err)
               : status;
}

static enum sirix_status put_all(struct sirix_call *call, struct sirix_item number,
                                 bool needs_minus, const struct subpicture *picture,
                                 struct sirix_buf *to, struct sirix_query_error *err)
{
    const struct sirix_decimal_format *format = picture->format;
    struct digits digits = {0};
    enum sirix_status status = needs_minus ? put_char(to, format->minus_sign, err) : SIRIX_OK;

    if (status == SIRIX_OK) {
        status = put_chars(to, picture->chars, picture->prefix_end, err);
    }
    if (status == SIRIX_OK && number.kind >= SIRIX_ITEM_DOUBLE &&
        isinf(sirix_number_to_double(number))) {
        status = sirix_buf_append_bytes(to, format->infinity, &err->base);
    } else if (status == SIRIX_OK) {
        status = take_digits(call, number, &digits, err);
        if (status == SIRIX_OK) {
            status = put_number(&digits, picture, to, err);
        }
    }
    return status == SIRIX_OK ? put_chars(to, picture->chars + picture->suffix_start,
                                          picture->count - picture->suffix_start, err)
                              : status;
}

/* --- The function -------------------------------------------------------------------------------------- */

/* Whether a name as written ("x", "p:x", "Q{uri}x") is that of a format. */
static bool is_named(const struct sirix_decimal_format *format, struct sirix_bytes name)
{
    const char *text = name.data;
    const char *brace =
        name.len > 2 && memcmp(text, "Q{", 2) == 0 ? memchr(text, '}', name.len) : NULL;
    const char *colon = memchr(text, ':', name.len);
    const struct sirix_bytes whole = {.data = text, .len = name.len};
    struct sirix_bytes space = {.data = "", .len = 0};
    struct sirix_bytes local = whole;

    if (brace != NULL) {
        space = (struct sirix_bytes){.data = text + 2, .len = (size_t)(brace - text) - 2};
        local =
            (struct sirix_bytes){.data = brace + 1, .len = name.len - (size_t)(brace - text) - 1};
        return sirix_bytes_equal(space, format->uri) && sirix_bytes_equal(local, format->local);
    }
    if (colon != NULL) {
        space = (struct sirix_bytes){.data = text, .len = (size_t)(colon - text)};
        local =
            (struct sirix_bytes){.data = colon + 1, .len = name.len - (size_t)(colon - text) - 1};
        return sirix_bytes_equal(space, format->prefix) && sirix_bytes_equal(local, format->local);
    }
    return format->prefix.len == 0 && format->uri.len == 0 &&
           sirix_bytes_equal(local, format->local);
}

static struct sirix_bytes trimmed(struct sirix_bytes text)
{
    const char *chars = text.data;
    size_t start = 0;
    size_t end = text.len;

    while (start < end && strchr(" \t\r\n", chars[start]) != NULL) {
        start++;
    }
    while (end > start && strchr(" \t\r\n", chars[end - 1]) != NULL) {
        end--;
    }
    return (struct sirix_bytes){.data = chars + start, .len = end - start};
}

static enum sirix_status find_format(const struct sirix_call *call,
                                     struct sirix_decimal_format *out,
                                     struct sirix_query_error *err)
{
    const struct sirix_evaluator *evaluator = call->evaluator;
    const bool named = has_argument(call, 2);
    const struct sirix_bytes name = trimmed(text_argument(call, 2));

    *out = sirix_decimal_format_default();
    for (size_t i = 0; evaluator != NULL && i < evaluator->decimal_format_count; i++) {
        const struct sirix_decimal_format *format = &evaluator->decimal_formats[i];

        if (named ? format->local.len != 0 && is_named(format, name) : format->local.len == 0) {
            *out = *format;
            return SIRIX_OK;
        }
    }
    return named ? sirix_query_fail(err, "FODF1280", "there is no decimal format \"%.*s\"",
                                    (int)(name.len > 60 ? 60 : name.len), (const char *)name.data)
                 : SIRIX_OK;
}

static enum sirix_status number(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item value = argument(call, 0);
    struct sirix_decimal_format format;
    struct subpicture parts[2] = {0};
    struct sirix_buf buf;
    size_t count = 0;
    enum sirix_status status = find_format(call, &format, err);

    if (status == SIRIX_OK) {
        status = read_picture(&format, text_argument(call, 1), parts, &count, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (value.kind == SIRIX_ITEM_NONE || sirix_number_is_nan(value)) {
        return give_text(call, format.nan, out, err);
    }

    bool negative = sirix_number_sign(value) < 0 ||
                    (value.kind == SIRIX_ITEM_DOUBLE && signbit(value.value.number)) ||
                    (value.kind == SIRIX_ITEM_FLOAT && signbit(value.value.single));

    text_buffer_init(&buf);
    status =
        put_all(call, value, negative && count == 1, &parts[negative && count == 2], &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

static const struct sirix_function rows[] = {
    /* Not pure: the formats of the query are known when it runs. */
    ROW(FN, "format-number", 2, 3, 0, number, 0, T(STRING, ONE), T(NUMERIC, OPTIONAL),
        T(STRING, ONE), T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_number_picture = {rows,
                                                                    sizeof(rows) / sizeof(rows[0])};
