/* format-dateTime(), format-date(), format-time(): pictures with components in brackets, in English. */
#include <stdio.h>

#include "base/utf8.h"
#include "query/function/date_ietf.h"
#include "query/function/integer_picture.h"
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/datetime.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                   "Friday", "Saturday", "Sunday"};

/* One [..] of a picture, its white space taken out. */
struct component {
    char letter;
    struct sirix_bytes token; /* Presentation, empty: the default. */
    bool ordinal;
    bool traditional; /* Modifier t. */
    size_t least;     /* Width; 0: none. */
    size_t most;      /* SIZE_MAX: none. */
    bool has_width;
};

enum { COMPONENT_BYTES_MAX = 128 };

static enum sirix_status bad_picture(const char *what, struct sirix_query_error *err)
{
    return sirix_query_fail(err, "FOFD1340", "the picture of a date is not valid: %s", what);
}

/* --- Reading components ----------------------------------------------------------------------------- */

static bool take_width(const char **at, const char *end, size_t *out)
{
    size_t value = 0;
    const char *start = *at;

    if (*at < end && **at == '*') {
        (*at)++;
        *out = SIZE_MAX;
        return true;
    }
    while (*at < end && **at >= '0' && **at <= '9') {
        value = value > 100 ? value : value * 10 + (size_t)(**at - '0');
        (*at)++;
    }
    *out = value;
    return *at > start && value > 0;
}

/* Behind the comma: min(-max)?. */
static bool read_width(const char *at, const char *end, struct component *to)
{
    to->has_width = true;
    to->most = SIZE_MAX;
    if (!take_width(&at, end, &to->least)) {
        return false;
    }
    to->least = to->least == SIZE_MAX ? 0 : to->least;
    if (at < end && *at == '-') {
        at++;
        if (!take_width(&at, end, &to->most)) {
            return false;
        }
    }
    return at == end && to->least <= to->most;
}

static bool read_component(const char *text, size_t len, struct component *to)
{
    const char *end = text + len;
    const char *comma = NULL;

    if (len == 0 || strchr("YMDdFWwHhPmsfZzCE", text[0]) == NULL) {
        return false;
    }
    *to = (struct component){.letter = text[0], .most = SIZE_MAX};
    for (const char *at = text; at < end; at++) {
        comma = *at == ',' ? at : comma;
    }
    const char *token_end = comma == NULL ? end : comma;

    if (token_end - text > 2 || (token_end - text == 2 && strchr("otc", text[1]) == NULL)) {
        char last = token_end[-1];

        if (last == 'o' || last == 't' || last == 'c') {
            to->ordinal = last == 'o';
            to->traditional = last == 't';
            token_end--;
        }
    }
    to->token = (struct sirix_bytes){.data = text + 1, .len = (size_t)(token_end - text) - 1};
    return comma == NULL || read_width(comma + 1, end, to);
}

/* --- Values ------------------------------------------------------------------------------------------- */

/* The day of the week, 1 Monday .. 7 Sunday, and the number of a day in its year. */
static unsigned weekday(struct sirix_item date)
{
    int64_t days_since = date.value.integer / 86400 - (date.value.integer % 86400 < 0);
    int64_t from_monday = (days_since + 3) % 7; /* 1970-01-01 was a Thursday. */

    return (unsigned)((from_monday + 7) % 7) + 1;
}

static int64_t day_number(int64_t year, unsigned month, unsigned day)
{
    struct sirix_datetime parts = {
        .year = year, .month = month, .day = day, .zone = SIRIX_ITEM_NO_ZONE};
    struct sirix_item item = {0};
    struct sirix_query_error ignored = {0};

    /* Years of existing dates and their neighbours: what is out of range counts as day 0. */
    if (sirix_datetime_make(&parts, SIRIX_TYPE_DATE, &item, &ignored) != SIRIX_OK) {
        return 0;
    }
    return item.value.integer / 86400;
}

/* ISO 8601: the week of a date counts from the one with the year's first Thursday. */
static int64_t iso_week(const struct sirix_datetime *parts, struct sirix_item date)
{
    int64_t today = day_number(parts->year, parts->month, parts->day);
    int64_t thursday = today + 4 - weekday(date);
    int64_t year = parts->year;

    if (thursday < day_number(year, 1, 1)) {
        year--;
    } else if (thursday >= day_number(year + 1, 1, 1)) {
        year++;
    }
    return (thursday - day_number(year, 1, 1)) / 7 + 1;
}

/* The week of a month, counted as ISO counts those of a year. */
static int64_t week_of_month(const struct sirix_datetime *parts, struct sirix_item date)
{
    int64_t today = day_number(parts->year, parts->month, parts->day);
    int64_t thursday = today + 4 - weekday(date);
    int64_t first = day_number(parts->year, parts->month, 1);

    if (thursday < first) {
        return parts->day <= 3 ? 5 : 1; /* It belongs to the last week of the month before. */
    }
    return (thursday - first) / 7 + 1;
}

static int64_t value_of(char letter, const struct sirix_datetime *parts, struct sirix_item item)
{
    switch (letter) {
    case 'Y':
        return parts->year < 0 ? -parts->year : parts->year;
    case 'M':
        return parts->month;
    case 'D':
        return parts->day;
    case 'd':
        return day_number(parts->year, parts->month, parts->day) - day_number(parts->year, 1, 1) +
               1;
    case 'F':
        return weekday(item);
    case 'W':
        return iso_week(parts, item);
    case 'w':
        return week_of_month(parts, item);
    case 'H':
        return parts->hour;
    case 'h':
        return parts->hour % 12 == 0 ? 12 : parts->hour % 12;
    case 'm':
        return parts->minute;
    default:
        return parts->second;
    }
}

/* --- Writing ------------------------------------------------------------------------------------------- */

/* An ASCII letter in a case; anything else as it is. */
static uint8_t cased(uint8_t c, bool upper)
{
    uint8_t lower = (uint8_t)(c | 0x20);

    if (lower < 'a' || lower > 'z') {
        return c;
    }
    return upper ? (uint8_t)(lower - 0x20) : lower;
}

/* A name in the case of N, n or Nn, cut to the width. */
static enum sirix_status put_name(const char *name, const struct component *component,
                                  struct sirix_buf *to, struct sirix_query_error *err)
{
    const char *token = component->token.data;
    bool is_title = component->token.len == 2;
    bool is_sign = component->letter == 'E' || component->letter == 'C'; /* AD, ISO: no words. */
    bool is_upper =
        component->token.len == 0 ? is_sign : component->token.len == 1 && token[0] == 'N';
    size_t len = strlen(name);
    enum sirix_status status = SIRIX_OK;

    if (component->has_width && len > component->most) {
        len = component->most;
    }
    for (size_t i = 0; status == SIRIX_OK && i < len; i++) {
        bool wants_upper = is_upper || (is_title && i == 0);

        status = sirix_buf_append_u8(to, cased((uint8_t)name[i], wants_upper), &err->base);
    }
    for (; status == SIRIX_OK && component->has_width && len < component->least; len++) {
        status = sirix_buf_append_u8(to, ' ', &err->base);
    }
    return status;
}

static size_t count_digits(struct sirix_bytes token)
{
    const char *chars = token.data;
    size_t count = 0;

    for (size_t i = 0; i < token.len; i++) {
        count += (chars[i] >= '0' && chars[i] <= '9') || chars[i] == '#';
    }
    return count;
}

/* A year loses its first digits when there is room for fewer. */
static int64_t cut_year(int64_t year, const struct component *component, size_t places)
{
    size_t most = places >= 2 ? places : SIZE_MAX;
    int64_t modulus = 1;

    if (component->has_width && component->most != SIZE_MAX) {
        most = component->most;
    }
    for (size_t i = 0; i < most && most <= 9; i++) {
        modulus *= 10;
    }
    return most <= 9 ? year % modulus : year;
}

/* A whole number by the token, with the width as the least number of digits. */
static enum sirix_status put_number(int64_t value, const struct component *component,
                                    const char *standard, struct sirix_buf *to,
                                    struct sirix_query_error *err)
{
    static const char zeros[] = "0000000000000000000000000000000000000000";
    struct sirix_bytes token = component->token;
    char digits[32];
    size_t least = component->has_width ? component->least : 0;

    if (token.len == 0) {
        token = literal_bytes(standard);
    }
    size_t places = count_digits(token);
    if (component->letter == 'Y') {
        value = cut_year(value, component, places);
    }
    if (snprintf(digits, sizeof(digits), "%lld", (long long)value) < 0) {
        return sirix_fail(&err->base, SIRIX_INTERNAL, "a number could not be printed");
    }
    /* The width makes digits mandatory, and has the last word where both say how many. */
    bool is_plain = places > 0 && places == token.len;

    if (is_plain && component->has_width && least > 0 && least < sizeof(zeros)) {
        token = (struct sirix_bytes){.data = zeros, .len = least};
    }
    struct sirix_query_error failure = {0};
    enum sirix_status status =
        format_integer(literal_bytes(digits), false, token, component->ordinal, to, &failure);
    if (status == SIRIX_INVALID) {
        return bad_picture("a presentation that is none", err);
    }
    if (status != SIRIX_OK) {
        *err = failure;
    }
    return status;
}

/* Fractions of a second: as many digits as the token or the width has, at least one. */
static enum sirix_status put_fraction(uint32_t nanoseconds, const struct component *component,
                                      struct sirix_buf *to, struct sirix_query_error *err)
{
    char digits[16];
    const char *token = component->token.data;
    size_t least = 1;
    size_t most = 9;

    if (snprintf(digits, sizeof(digits), "%09u", nanoseconds) < 0) {
        return sirix_fail(&err->base, SIRIX_INTERNAL, "a number could not be printed");
    }
    if (component->token.len > 1) {
        least = 0;
        for (size_t i = 0; i < component->token.len; i++) {
            least += token[i] >= '0' && token[i] <= '9';
        }
        most = count_digits(component->token);
    }
    if (component->has_width) {
        least = component->least > least ? component->least : least;
        most = component->most != SIZE_MAX ? component->most : component->token.len > 1 ? most : 9;
        most = most < least ? least : most;
    }
    size_t count = most > 9 ? 9 : most;
    while (count > least && digits[count - 1] == '0') {
        count--;
    }
    enum sirix_status status = sirix_buf_append(to, digits, count, &err->base);
    return status == SIRIX_OK && least > 9 ? sirix_buf_append_fill(to, '0', least - 9, &err->base)
                                           : status;
}

/* A military letter for whole hours up to 12; false when there is none. */
static bool military_letter(int16_t zone, char *out)
{
    static const char east[] = "ZABCDEFGHIKLM";
    static const char west[] = "ZNOPQRSTUVWXY";
    int minutes = zone < 0 ? -zone : zone;

    if (zone == SIRIX_ITEM_NO_ZONE) {
        *out = 'J';
        return true;
    }
    if (minutes % 60 != 0 || minutes / 60 > 12) {
        return false;
    }
    *out = (zone < 0 ? west : east)[minutes / 60];
    return true;
}

/* +05:30 by a token: 0, 00, 0000, 00:00, or none. */
static enum sirix_status put_offset(int16_t zone, struct sirix_bytes token, struct sirix_buf *to,
                                    struct sirix_query_error *err)
{
    const char *chars = token.data;
    int minutes = zone < 0 ? -zone : zone;
    char sign = zone < 0 ? '-' : '+';
    size_t digits = count_digits(token);
    size_t separator = 0;

    while (separator < token.len && chars[separator] >= '0' && chars[separator] <= '9') {
        separator++;
    }
    if (digits == 0) {
        return sirix_buf_printf(to, &err->base, "%c%02d:%02d", sign, minutes / 60, minutes % 60);
    }
    if (separator < token.len) {
        return sirix_buf_printf(to, &err->base, "%c%0*d%c%02d", sign, (int)separator, minutes / 60,
                                chars[separator], minutes % 60);
    }
    if (digits > 2) {
        return sirix_buf_printf(to, &err->base, "%c%0*d%02d", sign, (int)digits - 2, minutes / 60,
                                minutes % 60);
    }
    enum sirix_status status =
        sirix_buf_printf(to, &err->base, "%c%0*d", sign, (int)digits, minutes / 60);
    return status != SIRIX_OK || minutes % 60 == 0
               ? status
               : sirix_buf_printf(to, &err->base, ":%02d", minutes % 60);
}

/* Z and z: +01:00, GMT+1, military letters. */
static enum sirix_status put_zone(int16_t zone, const struct component *component,
                                  struct sirix_buf *to, struct sirix_query_error *err)
{
    struct sirix_bytes token = component->token;
    bool is_military = token.len == 1 && *(const char *)token.data == 'Z';
    char letter = '\0';

    if (is_military && military_letter(zone, &letter)) {
        return sirix_buf_append_u8(to, (uint8_t)letter, &err->base);
    }
    if (zone == SIRIX_ITEM_NO_ZONE) {
        return SIRIX_OK;
    }
    if (component->traditional && zone == 0) {
        return sirix_buf_append_u8(to, 'Z', &err->base);
    }
    if (component->letter == 'z') {
        enum sirix_status status = sirix_buf_append_str(to, "GMT", &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    return put_offset(zone, token, to, err);
}

/* Whether the type has what a letter stands for. */
static bool has_component(char letter, enum sirix_type type)
{
    if (strchr("YMDdFWwE", letter) != NULL) {
        return type != SIRIX_TYPE_TIME;
    }
    if (strchr("HhPmsf", letter) != NULL) {
        return type != SIRIX_TYPE_DATE;
    }
    return true;
}

static enum sirix_status put_component(const struct component *component,
                                       const struct sirix_datetime *parts, struct sirix_item item,
                                       struct sirix_buf *to, struct sirix_query_error *err)
{
    bool is_default = component->token.len == 0;
    char first = 'N';
    if (!is_default) {
        first = *(const char *)component->token.data;
    }
    bool is_name = !is_default && (first == 'N' || first == 'n');

    switch (component->letter) {
    case 'M':
        if (is_name) {
            return put_name(months[parts->month - 1], component, to, err);
        }
        break;
    case 'F':
        if (is_name || is_default) {
            return put_name(days[weekday(item) - 1], component, to, err);
        }
        break;
    case 'P':
        return put_name(parts->hour < 12 ? "am" : "pm", component, to, err);
    case 'C':
        return put_name("ISO", component, to, err);
    case 'E':
        return put_name(parts->year > 0 ? "AD" : "BC", component, to, err);
    case 'f':
        return put_fraction(parts->nanosecond, component, to, err);
    case 'Z':
    case 'z':
        return put_zone(parts->zone, component, to, err);
    default:
        break;
    }
    bool two = component->letter == 'm' || component->letter == 's';
    return put_number(value_of(component->letter, parts, item), component, two ? "01" : "1", to,
                      err);
}

/* One [...]: its text without white space, at *at behind the bracket. */
static enum sirix_status take_component(struct sirix_bytes picture, size_t *at,
                                        const struct sirix_datetime *parts, struct sirix_item item,
                                        struct sirix_buf *to, struct sirix_query_error *err)
{
    const char *chars = picture.data;
    char text[COMPONENT_BYTES_MAX] = "";
    struct component component;
    size_t len = 0;

    while (*at < picture.len && chars[*at] != ']') {
        char c = chars[(*at)++];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            continue;
        }
        if (len == sizeof(text)) {
            return bad_picture("a component that is too long", err);
        }
        text[len++] = c;
    }
    if (*at == picture.len) {
        return bad_picture("[ without ]", err);
    }
    (*at)++;
    if (!read_component(text, len, &component)) {
        return bad_picture("an unknown component", err);
    }
    if (!has_component(component.letter, sirix_type_primitive((enum sirix_type)item.type))) {
        return sirix_query_fail(err, "FOFD1350", "an xs:%s has no component [%c]",
                                sirix_type_name((enum sirix_type)item.type), component.letter);
    }
    return put_component(&component, parts, item, to, err);
}

/* Names are in English, whatever is asked for: a result in another language than asked says so. */
static bool is_english(struct sirix_bytes language)
{
    const char *text = language.data;

    return language.len == 0 || (language.len >= 2 && (text[0] | 0x20) == 'e' &&
                                 (text[1] | 0x20) == 'n' && (language.len == 2 || text[2] == '-'));
}

/* Dates are of the Gregorian calendar; one of the others that have a name is not known here. */
static enum sirix_status put_calendar(struct sirix_bytes calendar, struct sirix_buf *to,
                                      struct sirix_query_error *err)
{
    static const char *const others[] = {"AH", "AME", "AM", "AP", "AS", "BE", "CB", "CE", "CL",
                                         "CS", "EE",  "FE", "JE", "KE", "KY", "ME", "MS", "NS",
                                         "OS", "RS",  "SE", "SH", "SS", "TE", "VE", "VS"};
    const char *text = calendar.data;

    if (calendar.len > 3 && memcmp(text, "Q{}", 3) == 0) {
        calendar = (struct sirix_bytes){.data = text + 3, .len = calendar.len - 3};
    }
    if (calendar.len == 0 || bytes_are(calendar, "AD") || bytes_are(calendar, "ISO")) {
        return SIRIX_OK;
    }
    bool is_known = memchr(calendar.data, '{', calendar.len) != NULL ||
                    memchr(calendar.data, ':', calendar.len) != NULL;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !is_known; i++) {
        is_known = bytes_are(calendar, others[i]);
    }
    return is_known ? sirix_buf_append_str(to, "[Calendar: AD]", &err->base)
                    : bad_picture("a calendar that is none", err);
}

static enum sirix_status format(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);
    struct sirix_bytes picture = text_argument(call, 1);
    const char *chars = picture.data;
    struct sirix_datetime parts;
    struct sirix_buf buf;
    enum sirix_status status = SIRIX_OK;

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    sirix_datetime_parts(item, &parts);
    text_buffer_init(&buf);
    if (!is_english(text_argument(call, 2))) {
        status = sirix_buf_append_str(&buf, "[Language: en]", &err->base);
    }
    if (status == SIRIX_OK) {
        status = put_calendar(text_argument(call, 3), &buf, err);
    }
    for (size_t at = 0; status == SIRIX_OK && at < picture.len;) {
        char c = chars[at++];
        bool is_doubled = at < picture.len && chars[at] == c && (c == '[' || c == ']');

        if (is_doubled || (c != '[' && c != ']')) {
            at += is_doubled ? 1 : 0;
            status = sirix_buf_append_u8(&buf, (uint8_t)c, &err->base);
        } else if (c == ']') {
            status = bad_picture("] without [", err);
        } else {
            status = take_component(picture, &at, &parts, item, &buf, err);
        }
    }
    return give_buffer(call, status, &buf, out, err);
}

#define FORMAT(title, type)                                                                        \
    ROW(FN, title, 2, 2, PURE, format, 0, T(STRING, OPTIONAL), T(type, OPTIONAL), T(STRING, ONE)), \
        ROW(FN, title, 5, 5, PURE, format, 0, T(STRING, OPTIONAL), T(type, OPTIONAL),              \
            T(STRING, ONE), T(STRING, OPTIONAL), T(STRING, OPTIONAL), T(STRING, OPTIONAL))

static const struct sirix_function rows[] = {
    FORMAT("format-dateTime", DATE_TIME),
    FORMAT("format-date", DATE),
    FORMAT("format-time", TIME),
    ROW(FN, "parse-ietf-date", 1, 1, PURE, parse_ietf_date, 0, T(DATE_TIME, OPTIONAL),
        T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_date_format = {rows,
                                                                 sizeof(rows) / sizeof(rows[0])};
