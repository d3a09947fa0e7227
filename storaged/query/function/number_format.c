/* format-integer() and format-number(). */
#include <math.h>

#include "base/utf8.h"
#include "query/function/integer_picture.h"
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- format-integer() ---------------------------------------------------------------------------------- */

/* The picture's token and, behind its last semicolon, whether it asks for ordinals. */
static enum sirix_status take_picture(struct sirix_bytes picture, struct sirix_bytes *token,
                                      bool *ordinal, struct sirix_query_error *err)
{
    const char *chars = picture.data;
    size_t semicolon = picture.len;

    for (size_t i = picture.len; i > 0 && semicolon == picture.len; i--) {
        semicolon = chars[i - 1] == ';' ? i - 1 : picture.len;
    }
    *token = (struct sirix_bytes){.data = chars, .len = semicolon};
    *ordinal = semicolon + 1 < picture.len && chars[semicolon + 1] == 'o';
    bool bad_modifier = semicolon + 1 < picture.len && strchr("coat", chars[semicolon + 1]) == NULL;
    if (token->len == 0 || bad_modifier) {
        return sirix_query_fail(err, "FODF1310", "\"%.*s\" is not a picture of a number",
                                (int)(picture.len > 60 ? 60 : picture.len), chars);
    }
    return SIRIX_OK;
}

static enum sirix_status integer(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item value = argument(call, 0);
    struct sirix_bytes token = {0};
    struct sirix_bytes digits = {0};
    struct sirix_buf buf;
    bool ordinal = false;

    if (value.kind == SIRIX_ITEM_NONE) {
        return give_text(call, literal_bytes(""), out, err);
    }
    enum sirix_status status = take_picture(text_argument(call, 1), &token, &ordinal, err);
    if (status == SIRIX_OK) {
        status = sirix_item_text(call->work, value, &digits, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    bool negative = *(const char *)digits.data == '-';

    if (negative) {
        digits = (struct sirix_bytes){.data = (const char *)digits.data + 1, .len = digits.len - 1};
    }
    text_buffer_init(&buf);
    status = format_integer(digits, negative, token, ordinal, &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

/* --- format-number(): its picture ----------------------------------------------------------------------- */

enum { PART_CHARS_MAX = 512 };

struct subpicture {
    struct sirix_bytes prefix;
    struct sirix_bytes suffix;
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

static enum sirix_status bad_picture(struct sirix_bytes picture, struct sirix_query_error *err)
{
    return sirix_query_fail(err, "FODF1310", "\"%.*s\" is not a picture of a number",
                            (int)(picture.len > 60 ? 60 : picture.len), (const char *)picture.data);
}

static bool is_active(char c)
{
    return (c >= '0' && c <= '9') || c == '#' || c == ',' || c == '.';
}

/* An e between active characters begins the exponent. */
static bool is_exponent(const char *chars, size_t len, size_t at)
{
    return chars[at] == 'e' && at > 0 && is_active(chars[at - 1]) && at + 1 < len &&
           (chars[at + 1] >= '0' && chars[at + 1] <= '9');
}

/* What has been seen of the active part. */
struct reading {
    bool in_fraction;
    bool in_exponent;
    bool seen_digit;    /* A mandatory digit of the part. */
    bool seen_optional; /* # */
    bool seen_separator;
    size_t whole_places; /* # and digits before the point. */
    size_t fraction_places;
    size_t separators[PART_CHARS_MAX]; /* whole_places at each separator. */
    size_t separator_count;
};

static bool take_digit(struct reading *reading, struct subpicture *to, bool is_digit)
{
    reading->seen_separator = false;
    if (reading->in_exponent) {
        to->least_exponent += is_digit;
        return is_digit;
    }
    if (reading->in_fraction) {
        bool good = !(is_digit && reading->seen_optional);

        reading->seen_optional = reading->seen_optional || !is_digit;
        reading->fraction_places++;
        to->least_fraction += is_digit;
        to->most_fraction++;
        return good;
    }
    bool good = !(!is_digit && reading->seen_digit);

    reading->seen_digit = reading->seen_digit || is_digit;
    reading->whole_places++;
    to->least_whole += is_digit;
    return good;
}

static bool take_separator(struct reading *reading, struct subpicture *to)
{
    bool good = !reading->seen_separator && !reading->in_exponent &&
                reading->separator_count < PART_CHARS_MAX &&
                to->fraction_group_count < PART_CHARS_MAX &&
                !(reading->in_fraction && reading->fraction_places == 0);

    if (!good) {
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

/* Reads the active part; false when it is not valid. */
static bool read_active(const char *chars, size_t start, size_t end, struct subpicture *to)
{
    struct reading reading = {0};

    for (size_t i = start; i < end; i++) {
        char c = chars[i];
        bool good = true;

        if (c == '.') {
            good = !reading.in_fraction && !reading.in_exponent && !reading.seen_separator;
            reading.in_fraction = true;
            reading.seen_optional = false;
        } else if (c == ',') {
            good = take_separator(&reading, to);
        } else if (is_exponent(chars, end, i)) {
            good = !reading.in_exponent && !reading.seen_separator;
            reading.in_exponent = true;
        } else if (c == '#' || (c >= '0' && c <= '9')) {
            good = take_digit(&reading, to, c != '#');
        } else {
            return false; /* A passive character within the active part. */
        }
        if (!good) {
            return false;
        }
    }
    if (reading.seen_separator || reading.whole_places + reading.fraction_places == 0) {
        return false;
    }
    find_groups(&reading, to);
    to->scaling = to->least_whole;
    if (to->least_whole == 0 && to->most_fraction == 0) {
        to->least_whole = 1;
    }
    if (to->least_exponent != 0 && to->least_whole == 0) {
        to->least_whole = reading.whole_places != 0;
    }
    return true;
}

static bool read_subpicture(struct sirix_bytes text, struct subpicture *to)
{
    const char *chars = text.data;
    size_t start = 0;
    size_t end = text.len;
    unsigned marks = 0;

    if (text.len >= PART_CHARS_MAX) {
        return false;
    }
    while (start < text.len && !is_active(chars[start])) {
        start++;
    }
    while (end > start && !is_active(chars[end - 1])) {
        end--;
    }
    to->prefix = (struct sirix_bytes){.data = chars, .len = start};
    to->suffix = (struct sirix_bytes){.data = chars + end, .len = text.len - end};
    for (size_t i = 0; i < text.len; i++) {
        if (chars[i] == '%') {
            marks++;
            to->shift = 2;
        } else if (text.len - i >= 3 && memcmp(chars + i, "\u2030", 3) == 0) {
            marks++;
            to->shift = 3;
        }
    }
    return start < end && marks <= 1 && read_active(chars, start, end, to) &&
           !(marks != 0 && to->least_exponent != 0);
}

/* --- format-number(): the number -------------------------------------------------------------------------- */

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

static enum sirix_status put_whole(const struct digits *digits, const struct subpicture *picture,
                                   struct sirix_buf *to, struct sirix_query_error *err)
{
    size_t whole = digits->point > 0 ? (size_t)digits->point : 0;
    size_t places = whole > picture->least_whole ? whole : picture->least_whole;
    enum sirix_status status = SIRIX_OK;

    for (size_t left = places; status == SIRIX_OK && left > 0; left--) {
        uint8_t digit = digit_at(digits, digits->point - (int64_t)left);

        status = sirix_buf_append_u8(to, (uint8_t)('0' + digit), &err->base);
        if (status == SIRIX_OK && left > 1 && has_group_at(picture, left - 1)) {
            status = sirix_buf_append_u8(to, ',', &err->base);
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
    if (places == 0 && digits->count == 0 && picture->least_whole == 0) {
        places = 1; /* Zero has one digit at least. */
    }
    enum sirix_status status = places == 0 ? SIRIX_OK : sirix_buf_append_u8(to, '.', &err->base);
    for (size_t i = 0; status == SIRIX_OK && i < places; i++) {
        if (group < picture->fraction_group_count && picture->fraction_groups[group] == i) {
            group++;
            status = sirix_buf_append_u8(to, ',', &err->base);
        }
        if (status == SIRIX_OK) {
            uint8_t digit = digit_at(digits, digits->point + (int64_t)i);

            status = sirix_buf_append_u8(to, (uint8_t)('0' + digit), &err->base);
        }
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
    if (status == SIRIX_OK && picture->least_exponent != 0) {
        status = sirix_buf_printf(to, &err->base, "e%s%0*lld", exponent < 0 ? "-" : "",
                                  (int)picture->least_exponent,
                                  (long long)(exponent < 0 ? -exponent : exponent));
    }
    return status;
}

static enum sirix_status put_all(struct sirix_call *call, struct sirix_item number, bool negative,
                                 bool needs_minus, const struct subpicture *picture,
                                 struct sirix_buf *to, struct sirix_query_error *err)
{
    struct digits digits = {0};
    double value = sirix_number_to_double(number);
    enum sirix_status status = SIRIX_OK;

    if (negative && needs_minus) {
        status = sirix_buf_append_u8(to, '-', &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(to, picture->prefix, &err->base);
    }
    if (status == SIRIX_OK && isinf(value) && (number.kind >= SIRIX_ITEM_DOUBLE)) {
        status = sirix_buf_append_str(to, "Infinity", &err->base);
    } else if (status == SIRIX_OK) {
        status = take_digits(call, number, &digits, err);
        if (status == SIRIX_OK) {
            status = put_number(&digits, picture, to, err);
        }
    }
    return status != SIRIX_OK ? status : sirix_buf_append_bytes(to, picture->suffix, &err->base);
}

static enum sirix_status number(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item value = argument(call, 0);
    struct sirix_bytes picture = text_argument(call, 1);
    const char *chars = picture.data;
    const char *semicolon = memchr(chars, ';', picture.len);
    struct subpicture first = {0};
    struct subpicture second = {0};
    struct sirix_buf buf;
    size_t first_len = semicolon == NULL ? picture.len : (size_t)(semicolon - chars);

    if (has_argument(call, 2)) {
        return sirix_query_fail(err, "FODF1280", "there is no decimal format of that name");
    }
    bool good = read_subpicture((struct sirix_bytes){.data = chars, .len = first_len}, &first);
    if (good && semicolon != NULL) {
        good = read_subpicture(
            (struct sirix_bytes){.data = semicolon + 1, .len = picture.len - first_len - 1},
            &second);
    }
    if (!good) {
        return bad_picture(picture, err);
    }
    if (value.kind == SIRIX_ITEM_NONE || sirix_number_is_nan(value)) {
        return give_text(call, literal_bytes("NaN"), out, err);
    }
    bool negative = sirix_number_sign(value) < 0 ||
                    (value.kind == SIRIX_ITEM_DOUBLE && signbit(value.value.number));

    text_buffer_init(&buf);
    enum sirix_status status = put_all(call, value, negative, semicolon == NULL,
                                       negative && semicolon != NULL ? &second : &first, &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "format-integer", 2, 3, PURE, integer, 0, T(STRING, ONE), T(INTEGER, OPTIONAL),
        T(STRING, ONE), T(STRING, OPTIONAL)),
    ROW(FN, "format-number", 2, 3, PURE, number, 0, T(STRING, ONE), T(NUMERIC, OPTIONAL),
        T(STRING, ONE), T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_number_format = {rows,
                                                                   sizeof(rows) / sizeof(rows[0])};
