/* Durations: text, casts, and the arithmetic of dates and durations. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/value/big.h"
#include "query/value/datetime.h"

enum { DAY_SECONDS = 86400, NANO = 1000000000 };

/* The same as what a double counts exactly: beyond it sums of parts would need care for nothing. */
static const int64_t part_max = INT64_C(1) << 53;

bool sirix_item_is_duration(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_MONTHS && item.kind <= SIRIX_ITEM_DURATION;
}

struct sirix_duration sirix_duration_parts(struct sirix_item item)
{
    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_MONTHS:
        return (struct sirix_duration){.months = item.value.integer};
    case SIRIX_ITEM_SECONDS:
        return (struct sirix_duration){.seconds = item.value.integer, .nanoseconds = item.len};
    default:
        return *item.value.duration;
    }
}

struct sirix_item sirix_duration_seconds(int64_t seconds, uint32_t nanoseconds)
{
    return (struct sirix_item){.kind = SIRIX_ITEM_SECONDS,
                               .type = SIRIX_TYPE_DAY_TIME_DURATION,
                               .len = nanoseconds,
                               .value.integer = seconds};
}

struct sirix_item sirix_duration_months(int64_t months)
{
    return (struct sirix_item){
        .kind = SIRIX_ITEM_MONTHS, .type = SIRIX_TYPE_YEAR_MONTH_DURATION, .value.integer = months};
}

static enum sirix_status overflow(struct sirix_query_error *err)
{
    return sirix_query_fail(err, "FODT0002", "a duration is out of range");
}

/* Nanoseconds (a 128-bit count) as an item. */
static enum sirix_status make_seconds(sirix_wide nanoseconds, struct sirix_item *out,
                                      struct sirix_query_error *err)
{
    sirix_wide seconds = nanoseconds / NANO;
    sirix_wide rest = nanoseconds % NANO;

    if (rest < 0) {
        rest += NANO;
        seconds--;
    }
    if (seconds > part_max || seconds < -part_max) {
        return overflow(err);
    }
    *out = sirix_duration_seconds((int64_t)seconds, (uint32_t)rest);
    return SIRIX_OK;
}

static enum sirix_status make_months(sirix_wide months, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    if (months > part_max || months < -part_max) {
        return overflow(err);
    }
    *out = sirix_duration_months((int64_t)months);
    return SIRIX_OK;
}

static sirix_wide nanoseconds_of(struct sirix_duration parts)
{
    return (sirix_wide)parts.seconds * NANO + parts.nanoseconds;
}

static enum sirix_status make_duration(struct sirix_work *work, const struct sirix_duration *parts,
                                       struct sirix_item *out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, sizeof(*parts), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    memcpy(memory, parts, sizeof(*parts));
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_DURATION, .type = SIRIX_TYPE_DURATION, .value.duration = memory};
    return SIRIX_OK;
}

/* --- Text ---------------------------------------------------------------------------------------------- */

/* One number with its letter: 3Y, 2.5S. */
struct part {
    uint64_t whole;
    uint32_t nanoseconds;
    bool has_fraction;
    char letter;
};

/* Reads a part; too many digits count as the largest number, which is out of range later. */
static bool take_part(const char **at, const char *end, struct part *out)
{
    const char *start = *at;
    struct part part = {0};

    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        part.whole = part.whole > UINT64_MAX / 20 ? UINT64_MAX / 20
                                                  : part.whole * 10 + (uint64_t)(**at - '0');
    }
    if (*at == start) {
        return false;
    }
    if (*at < end && **at == '.') {
        uint32_t unit = NANO / 10;

        part.has_fraction = true;
        start = ++*at;
        for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
            part.nanoseconds += (uint32_t)(**at - '0') * unit;
            unit /= 10;
        }
        if (*at == start) {
            return false;
        }
    }
    if (*at == end) {
        return false;
    }
    part.letter = *(*at)++;
    *out = part;
    return true;
}

/* The parts in order: letters of each half, and what one is worth. */
static const struct {
    char letter;
    bool in_time;
    bool is_months;
    uint32_t worth;
} units[] = {
    {'Y', false, true, 12},   {'M', false, true, 1},  {'D', false, false, DAY_SECONDS},
    {'H', true, false, 3600}, {'M', true, false, 60}, {'S', true, false, 1},
};

enum { UNIT_COUNT = sizeof(units) / sizeof(units[0]) };

/* Reads all behind the P. */
static bool take_parts(const char *at, const char *end, sirix_wide *months, sirix_wide *nanoseconds)
{
    size_t unit = 0;
    bool in_time = false;
    bool after_t = false;
    bool any = false;

    while (at < end) {
        struct part part = {0};

        if (*at == 'T' && !in_time) {
            in_time = true;
            after_t = true;
            at++;
            continue;
        }
        if (!take_part(&at, end, &part)) {
            return false;
        }
        while (unit < UNIT_COUNT &&
               (units[unit].letter != part.letter || units[unit].in_time != in_time)) {
            unit++;
        }
        if (unit == UNIT_COUNT || (part.has_fraction && part.letter != 'S')) {
            return false;
        }
        if (units[unit].is_months) {
            *months += (sirix_wide)part.whole * units[unit].worth;
        } else {
            *nanoseconds += (sirix_wide)part.whole * units[unit].worth * NANO + part.nanoseconds;
        }
        unit++;
        after_t = false;
        any = true;
    }
    return any && !after_t;
}

/* Whether the letters used belong to the type. */
static bool fits_type(struct sirix_bytes text, enum sirix_type type)
{
    const char *chars = text.data;
    bool in_time = false;

    for (size_t i = 0; i < text.len; i++) {
        in_time = in_time || chars[i] == 'T';
        bool is_day_time = in_time || chars[i] == 'D';
        bool is_year_month = !in_time && (chars[i] == 'Y' || chars[i] == 'M');

        if ((type == SIRIX_TYPE_YEAR_MONTH_DURATION && is_day_time) ||
            (type == SIRIX_TYPE_DAY_TIME_DURATION && is_year_month)) {
            return false;
        }
    }
    return true;
}

enum sirix_status sirix_duration_parse(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_type type, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    const char *at = text.data;
    const char *end = text.len == 0 ? at : at + text.len;
    sirix_wide months = 0;
    sirix_wide nanoseconds = 0;
    bool negative = at < end && *at == '-';
    struct sirix_item seconds = {0};

    at += negative ? 1 : 0;
    if (at == end || *at != 'P' || !fits_type(text, type) ||
        !take_parts(at + 1, end, &months, &nanoseconds)) {
        return sirix_query_fail(err, "FORG0001", "\"%.*s\" is not an xs:%s",
                                (int)(text.len > 60 ? 60 : text.len), (const char *)text.data,
                                sirix_type_name(type));
    }
    months = negative ? -months : months;
    nanoseconds = negative ? -nanoseconds : nanoseconds;
    if (type == SIRIX_TYPE_YEAR_MONTH_DURATION) {
        return make_months(months, out, err);
    }
    if (type == SIRIX_TYPE_DAY_TIME_DURATION) {
        return make_seconds(nanoseconds, out, err);
    }
    enum sirix_status status = make_seconds(nanoseconds, &seconds, err);
    if (status == SIRIX_OK && (months > part_max || months < -part_max)) {
        status = overflow(err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_duration parts = {
        .months = (int64_t)months, .seconds = seconds.value.integer, .nanoseconds = seconds.len};
    return make_duration(work, &parts, out, err);
}

/* Appends "%llu" and a letter if the number is not 0. */
static size_t print_part(uint64_t value, char letter, char *to, size_t len)
{
    int put = value == 0 ? 0
                         : snprintf(to + len, SIRIX_DATETIME_TEXT_BYTES - len, "%llu%c",
                                    (unsigned long long)value, letter);

    return len + (put < 0 ? 0 : (size_t)put);
}

size_t sirix_duration_print(struct sirix_item item, char to[SIRIX_DATETIME_TEXT_BYTES])
{
    struct sirix_duration parts = sirix_duration_parts(item);
    sirix_wide all = nanoseconds_of(parts);
    bool negative = parts.months < 0 || all < 0;
    uint64_t months = (uint64_t)(parts.months < 0 ? -parts.months : parts.months);
    uint64_t seconds = (uint64_t)((all < 0 ? -all : all) / NANO);
    uint32_t nanoseconds = (uint32_t)((all < 0 ? -all : all) % NANO);
    size_t len = 0;

    if (months == 0 && all == 0) {
        const char *zero = item.kind == SIRIX_ITEM_MONTHS ? "P0M" : "PT0S";

        len = strlen(zero);
        memcpy(to, zero, len);
        return len;
    }
    if (negative) {
        to[len++] = '-';
    }
    to[len++] = 'P';
    len = print_part(months / 12, 'Y', to, len);
    len = print_part(months % 12, 'M', to, len);
    len = print_part(seconds / DAY_SECONDS, 'D', to, len);
    seconds %= DAY_SECONDS;
    if (seconds == 0 && nanoseconds == 0) {
        return len;
    }
    to[len++] = 'T';
    len = print_part(seconds / 3600, 'H', to, len);
    len = print_part(seconds / 60 % 60, 'M', to, len);
    if (nanoseconds == 0) {
        return print_part(seconds % 60, 'S', to, len);
    }
    int put = snprintf(to + len, SIRIX_DATETIME_TEXT_BYTES - len, "%u.%09u",
                       (unsigned)(seconds % 60), nanoseconds);
    len += put < 0 ? 0 : (size_t)put;
    while (to[len - 1] == '0') {
        len--;
    }
    to[len++] = 'S';
    return len;
}

enum sirix_status sirix_duration_cast(struct sirix_work *work, struct sirix_item item,
                                      enum sirix_type type, struct sirix_item *out,
                                      struct sirix_query_error *err)
{
    struct sirix_duration parts = sirix_duration_parts(item);

    if (type == SIRIX_TYPE_YEAR_MONTH_DURATION) {
        *out = sirix_duration_months(parts.months);
        return SIRIX_OK;
    }
    if (type == SIRIX_TYPE_DAY_TIME_DURATION) {
        *out = sirix_duration_seconds(parts.seconds, parts.nanoseconds);
        return SIRIX_OK;
    }
    return make_duration(work, &parts, out, err);
}

/* --- Arithmetic ------------------------------------------------------------------------------------------- */

static enum sirix_status undefined(enum sirix_arithmetic op, struct sirix_item a,
                                   struct sirix_item b, struct sirix_query_error *err)
{
    static const char *const signs[] = {"+", "-", "*", "div", "idiv", "mod"};

    return sirix_query_fail(err, "XPTY0004", "%s %s %s is not defined",
                            sirix_type_name((enum sirix_type)a.type), signs[op],
                            sirix_type_name((enum sirix_type)b.type));
}

/* A date moved by months: the day is cut to the month's last one. */
static enum sirix_status add_months(struct sirix_item item, int64_t months, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    static const uint8_t last_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct sirix_datetime parts;

    sirix_datetime_parts(item, &parts);
    int64_t all = parts.year * 12 + (int64_t)parts.month - 1 + months;

    parts.year = all / 12 - (all % 12 < 0);
    parts.month = (unsigned)(all - parts.year * 12) + 1;
    bool is_leap = (parts.year % 4 == 0 && parts.year % 100 != 0) || parts.year % 400 == 0;
    unsigned last = parts.month == 2 && is_leap ? 29 : last_days[parts.month - 1];
    parts.day = parts.day < last ? parts.day : last;
    return sirix_datetime_make(&parts, (enum sirix_type)item.type, out, err);
}

/* A point in time moved by nanoseconds. */
static enum sirix_status add_nanoseconds(struct sirix_item item, sirix_wide nanoseconds,
                                         struct sirix_item *out, struct sirix_query_error *err)
{
    sirix_wide all = (sirix_wide)item.value.integer * NANO + item.len + nanoseconds;
    sirix_wide seconds = all / NANO;
    struct sirix_datetime parts;

    if (all % NANO < 0) {
        seconds--;
    }
    item.value.integer = (int64_t)seconds;
    item.len = (uint32_t)(all - seconds * NANO);
    sirix_datetime_parts(item, &parts);
    return sirix_datetime_make(&parts, (enum sirix_type)item.type, out, err);
}

static enum sirix_status move(enum sirix_arithmetic op, struct sirix_item point,
                              struct sirix_item duration, struct sirix_item *out,
                              struct sirix_query_error *err)
{
    enum sirix_type type = sirix_type_primitive((enum sirix_type)point.type);
    struct sirix_duration parts = sirix_duration_parts(duration);
    bool has_date = type == SIRIX_TYPE_DATE_TIME || type == SIRIX_TYPE_DATE;

    if (duration.kind == SIRIX_ITEM_MONTHS && has_date) {
        return add_months(point, op == SIRIX_ADD ? parts.months : -parts.months, out, err);
    }
    if (duration.kind == SIRIX_ITEM_SECONDS && (has_date || type == SIRIX_TYPE_TIME)) {
        sirix_wide nanoseconds = nanoseconds_of(parts);

        return add_nanoseconds(point, op == SIRIX_ADD ? nanoseconds : -nanoseconds, out, err);
    }
    return undefined(op, point, duration, err);
}

static enum sirix_status subtract_points(const struct sirix_work *work, struct sirix_item a,
                                         struct sirix_item b, struct sirix_item *out,
                                         struct sirix_query_error *err)
{
    enum sirix_type type = sirix_type_primitive((enum sirix_type)a.type);
    int64_t a_zone = a.zone == SIRIX_ITEM_NO_ZONE ? work->zone : a.zone;
    int64_t b_zone = b.zone == SIRIX_ITEM_NO_ZONE ? work->zone : b.zone;
    sirix_wide seconds =
        (sirix_wide)(a.value.integer - a_zone * 60) - (b.value.integer - b_zone * 60);

    if (type != sirix_type_primitive((enum sirix_type)b.type) ||
        (type != SIRIX_TYPE_DATE_TIME && type != SIRIX_TYPE_DATE && type != SIRIX_TYPE_TIME)) {
        return undefined(SIRIX_SUBTRACT, a, b, err);
    }
    return make_seconds(seconds * NANO + (sirix_wide)a.len - b.len, out, err);
}

/* Seconds or months of a duration as an exact number, for exact products and quotients. */
static enum sirix_status number_of(struct sirix_work *work, struct sirix_item duration,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item nanoseconds = sirix_item_decimal((int64_t)duration.len, 9);

    if (duration.kind == SIRIX_ITEM_MONTHS) {
        *out = sirix_item_integer(duration.value.integer);
        return SIRIX_OK;
    }
    return sirix_item_arithmetic(work, SIRIX_ADD, sirix_item_integer(duration.value.integer),
                                 nanoseconds, out, err);
}

/* A number of seconds as a duration: nanoseconds are cut, towards zero. */
static enum sirix_status seconds_of(struct sirix_work *work, struct sirix_item number,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item whole = {0};
    struct sirix_item rest = {0};
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    enum sirix_status status =
        sirix_number_round(work, number, SIRIX_ROUND_TRUNCATE, 0, &whole, err);

    if (status == SIRIX_OK && !sirix_number_to_i64(whole, &seconds)) {
        status = overflow(err);
    }
    if (status == SIRIX_OK) {
        status = sirix_item_arithmetic(work, SIRIX_SUBTRACT, number, sirix_item_integer(seconds),
                                       &rest, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_item_arithmetic(work, SIRIX_MULTIPLY, rest, sirix_item_integer(NANO), &rest, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_number_round(work, rest, SIRIX_ROUND_TRUNCATE, 0, &rest, err);
    }
    if (status == SIRIX_OK && !sirix_number_to_i64(rest, &nanoseconds)) {
        status = overflow(err);
    }
    return status != SIRIX_OK ? status
                              : make_seconds((sirix_wide)seconds * NANO + nanoseconds, out, err);
}

/* A number of months or seconds as a duration like the given one. */
static enum sirix_status duration_of(struct sirix_work *work, struct sirix_item number,
                                     enum sirix_item_kind kind, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_item rounded = {0};
    double size = fabs(sirix_number_to_double(number));
    int64_t months = 0;

    if (!(size <= (double)part_max)) {
        return overflow(err);
    }
    if (kind == SIRIX_ITEM_SECONDS) {
        return seconds_of(work, number, out, err);
    }
    enum sirix_status status =
        sirix_number_round(work, number, SIRIX_ROUND_HALF_UP, 0, &rounded, err);
    if (status == SIRIX_OK && !sirix_number_to_i64(rounded, &months)) {
        status = overflow(err);
    }
    return status != SIRIX_OK ? status : make_months(months, out, err);
}

/* duration * number, duration div number. */
static enum sirix_status scale(struct sirix_work *work, enum sirix_arithmetic op,
                               struct sirix_item duration, struct sirix_item number,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item amount = {0};
    struct sirix_item result = {0};

    if (sirix_number_is_nan(number)) {
        return sirix_query_fail(err, "FOCA0005", "a duration times or divided by NaN");
    }
    if (op == SIRIX_DIVIDE && sirix_number_sign(number) == 0) {
        return overflow(err);
    }
    if (number.kind == SIRIX_ITEM_FLOAT) { /* Not in the precision of a float. */
        number = sirix_item_double(sirix_number_to_double(number));
    }
    enum sirix_status status = number_of(work, duration, &amount, err);
    if (status == SIRIX_OK) {
        status = sirix_item_arithmetic(work, op, amount, number, &result, err);
    }
    return status != SIRIX_OK
               ? status
               : duration_of(work, result, (enum sirix_item_kind)duration.kind, out, err);
}

static enum sirix_status two_durations(struct sirix_work *work, enum sirix_arithmetic op,
                                       struct sirix_item a, struct sirix_item b,
                                       struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_duration x = sirix_duration_parts(a);
    struct sirix_duration y = sirix_duration_parts(b);
    struct sirix_item dividend = {0};
    struct sirix_item divisor = {0};
    int sign = op == SIRIX_SUBTRACT ? -1 : 1;

    if (a.kind != b.kind || a.kind == SIRIX_ITEM_DURATION ||
        (op != SIRIX_ADD && op != SIRIX_SUBTRACT && op != SIRIX_DIVIDE)) {
        return undefined(op, a, b, err);
    }
    if (op != SIRIX_DIVIDE) {
        return a.kind == SIRIX_ITEM_MONTHS
                   ? make_months((sirix_wide)x.months + sign * (sirix_wide)y.months, out, err)
                   : make_seconds(nanoseconds_of(x) + sign * nanoseconds_of(y), out, err);
    }
    enum sirix_status status = number_of(work, a, &dividend, err);
    if (status == SIRIX_OK) {
        status = number_of(work, b, &divisor, err);
    }
    return status != SIRIX_OK
               ? status
               : sirix_item_arithmetic(work, SIRIX_DIVIDE, dividend, divisor, out, err);
}

enum sirix_status sirix_datetime_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                            struct sirix_item a, struct sirix_item b,
                                            struct sirix_item *out, struct sirix_query_error *err)
{
    bool a_point = a.kind == SIRIX_ITEM_DATETIME;
    bool b_point = b.kind == SIRIX_ITEM_DATETIME;
    bool a_duration = sirix_item_is_duration(a) && a.kind != SIRIX_ITEM_DURATION;
    bool b_duration = sirix_item_is_duration(b) && b.kind != SIRIX_ITEM_DURATION;

    if (a_point && b_point && op == SIRIX_SUBTRACT) {
        return subtract_points(work, a, b, out, err);
    }
    if (a_point && b_duration && op <= SIRIX_SUBTRACT) {
        return move(op, a, b, out, err);
    }
    if (a_duration && b_point && op == SIRIX_ADD) {
        return move(op, b, a, out, err);
    }
    if (a_duration && b_duration) {
        return two_durations(work, op, a, b, out, err);
    }
    if (a_duration && sirix_item_is_numeric(b) && (op == SIRIX_MULTIPLY || op == SIRIX_DIVIDE)) {
        return scale(work, op, a, b, out, err);
    }
    if (b_duration && sirix_item_is_numeric(a) && op == SIRIX_MULTIPLY) {
        return scale(work, op, b, a, out, err);
    }
    return undefined(op, a, b, err);
}
