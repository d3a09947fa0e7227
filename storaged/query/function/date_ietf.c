/*
 * parse-ietf-date(): dates as mail and HTTP write them.
 *
 *     (dayname ","? S)? (date S time | asctime)
 *     date      day -? month -? year        (blanks or dashes between)
 *     time      hours ":" minutes (":" seconds)? S? zone?
 *     asctime   month -? day S time S year
 *     zone      name, or [+-]h?h:?mm? with an optional name in parentheses
 */
#include "query/function/date_ietf.h"

#include "query/function/support.h"
#include "query/value/cast_text.h"
#include "query/value/datetime.h"

struct scanner {
    const char *at;
    const char *end;
    struct sirix_datetime parts;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_blanks(struct scanner *scanner)
{
    const char *start = scanner->at;

    while (scanner->at < scanner->end && strchr(" \t\n\r", *scanner->at) != NULL) {
        scanner->at++;
    }
    return scanner->at > start;
}

static bool take_char(struct scanner *scanner, char c)
{
    if (scanner->at < scanner->end && *scanner->at == c) {
        scanner->at++;
        return true;
    }
    return false;
}

/* A number of least to most digits. */
static bool take_number(struct scanner *scanner, size_t least, size_t most, unsigned *out)
{
    size_t count = 0;
    unsigned value = 0;

    while (scanner->at < scanner->end && is_digit(*scanner->at) && count < most) {
        value = value * 10 + (unsigned)(*scanner->at++ - '0');
        count++;
    }
    *out = value;
    return count >= least && (scanner->at == scanner->end || !is_digit(*scanner->at));
}

/* One of the names, in any case; the longest that is there. */
static bool take_name(struct scanner *scanner, const char *const *names, size_t count, size_t *out)
{
    size_t best = 0;

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names[i]);

        if (len > best && (size_t)(scanner->end - scanner->at) >= len &&
            strncasecmp(scanner->at, names[i], len) == 0) {
            best = len;
            *out = i;
        }
    }
    scanner->at += best;
    return best != 0;
}

static bool take_month(struct scanner *scanner)
{
    static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    size_t month = 0;

    if (!take_name(scanner, names, 12, &month)) {
        return false;
    }
    scanner->parts.month = (unsigned)month + 1;
    return true;
}

static bool take_year(struct scanner *scanner)
{
    const char *start = scanner->at;
    unsigned year = 0;

    if (!take_number(scanner, 2, 4, &year) || scanner->at - start == 3) {
        return false;
    }
    scanner->parts.year = scanner->at - start == 2 ? 1900 + (int64_t)year : (int64_t)year;
    return true;
}

/* Blanks, a dash, or both between the parts of a date. */
static bool take_gap(struct scanner *scanner)
{
    bool blanks = skip_blanks(scanner);
    bool dash = take_char(scanner, '-');

    return (dash && (skip_blanks(scanner), true)) || blanks;
}

static bool take_zone_digits(struct scanner *scanner, int16_t *out)
{
    bool negative = *scanner->at++ == '-';
    const char *start = scanner->at;
    unsigned first = 0;
    unsigned minutes = 0;

    if (!take_number(scanner, 1, 4, &first)) {
        return false;
    }
    size_t count = (size_t)(scanner->at - start);
    if (count > 2) {
        minutes = first % 100;
        first /= 100;
    } else if (take_char(scanner, ':') && !take_number(scanner, 2, 2, &minutes)) {
        return false;
    }
    int all = (int)(first * 60 + minutes);
    if (minutes > 59 || all > SIRIX_ZONE_MINUTES_MAX) {
        return false;
    }
    *out = (int16_t)(negative ? -all : all);
    skip_blanks(scanner);
    if (take_char(scanner, '(')) {
        while (scanner->at < scanner->end && *scanner->at != ')') {
            scanner->at++;
        }
        return take_char(scanner, ')');
    }
    return true;
}

/* Whether there is a zone; false when there is one that is wrong. */
static bool take_zone(struct scanner *scanner, bool *out_there)
{
    static const char *const names[] = {"UT",  "UTC", "GMT", "EST", "EDT", "CST",
                                        "CDT", "MST", "MDT", "PST", "PDT"};
    static const int8_t hours[] = {0, 0, 0, -5, -4, -6, -5, -7, -6, -8, -7};
    size_t name = 0;

    *out_there = false;
    if (scanner->at == scanner->end) {
        return true;
    }
    if (*scanner->at == '+' || *scanner->at == '-') {
        *out_there = true;
        return take_zone_digits(scanner, &scanner->parts.zone);
    }
    if (take_name(scanner, names, sizeof(names) / sizeof(names[0]), &name)) {
        *out_there = true;
        scanner->parts.zone = (int16_t)(hours[name] * 60);
    }
    return true;
}

/* ss(.s+)? */
static bool take_seconds(struct scanner *scanner)
{
    uint32_t unit = 100000000;

    if (!take_number(scanner, 2, 2, &scanner->parts.second)) {
        return false;
    }
    if (!take_char(scanner, '.')) {
        return true;
    }
    if (scanner->at == scanner->end || !is_digit(*scanner->at)) {
        return false;
    }
    for (; scanner->at < scanner->end && is_digit(*scanner->at); scanner->at++) {
        scanner->parts.nanosecond += (uint32_t)(*scanner->at - '0') * unit;
        unit /= 10;
    }
    return true;
}

static bool take_time(struct scanner *scanner)
{
    struct sirix_datetime *parts = &scanner->parts;
    bool has_zone = false;

    if (!take_number(scanner, 1, 2, &parts->hour) || !take_char(scanner, ':') ||
        !take_number(scanner, 2, 2, &parts->minute)) {
        return false;
    }
    if (take_char(scanner, ':') && !take_seconds(scanner)) {
        return false;
    }
    const char *behind = scanner->at;
    bool blanks = skip_blanks(scanner);

    if (!take_zone(scanner, &has_zone)) {
        return false;
    }
    if (!has_zone && blanks) {
        scanner->at = behind;
    }
    return true;
}

/* day gap month gap year S time */
static bool take_mail_date(struct scanner *scanner)
{
    return take_number(scanner, 1, 2, &scanner->parts.day) && take_gap(scanner) &&
           take_month(scanner) && take_gap(scanner) && take_year(scanner) && skip_blanks(scanner) &&
           take_time(scanner);
}

/* month gap day S time S year */
static bool take_asctime(struct scanner *scanner)
{
    return take_month(scanner) && take_gap(scanner) &&
           take_number(scanner, 1, 2, &scanner->parts.day) && skip_blanks(scanner) &&
           take_time(scanner) && skip_blanks(scanner) && take_year(scanner);
}

static bool take_all(struct scanner *scanner)
{
    static const char *const names[] = {"Mon",      "Tue",    "Wed",      "Thu",     "Fri",
                                        "Sat",      "Sun",    "Monday",   "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday", "Sunday"};
    size_t name = 0;

    skip_blanks(scanner);
    if (take_name(scanner, names, sizeof(names) / sizeof(names[0]), &name)) {
        (void)take_char(scanner, ','); /* May be there. */
        if (!skip_blanks(scanner)) {
            return false;
        }
    }
    bool good = scanner->at < scanner->end && is_digit(*scanner->at) ? take_mail_date(scanner)
                                                                     : take_asctime(scanner);
    skip_blanks(scanner);
    return good && scanner->at == scanner->end;
}

/* Builds the dateTime through its lexical form's checks: day of month, 24:00:00, seconds. */
static enum sirix_status build(struct sirix_call *call, const struct sirix_datetime *parts,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    char *text = NULL;
    int zone = parts->zone < 0 ? -parts->zone : parts->zone;
    enum sirix_status status = sirix_arena_printf(
        call->work->arena, &text, &err->base, "%04lld-%02u-%02uT%02u:%02u:%02u.%09u%c%02d:%02d",
        (long long)parts->year, parts->month, parts->day, parts->hour, parts->minute, parts->second,
        parts->nanosecond, parts->zone < 0 ? '-' : '+', zone / 60, zone % 60);

    return status != SIRIX_OK
               ? status
               : sirix_datetime_parse(literal_bytes(text), SIRIX_TYPE_DATE_TIME, out, err);
}

enum sirix_status parse_ietf_date(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    const char *chars = text.data;
    struct scanner scanner = {.at = chars, .end = chars + text.len};
    struct sirix_item item = {0};

    if (!has_argument(call, 0)) {
        return give_nothing(out);
    }
    bool good = take_all(&scanner);
    enum sirix_status status = good ? build(call, &scanner.parts, &item, err) : SIRIX_INVALID;

    if (status == SIRIX_INVALID) {
        return sirix_query_fail(err, "FORG0010", "\"%.*s\" is not a date as mail writes it",
                                (int)(text.len > 60 ? 60 : text.len), chars);
    }
    return status != SIRIX_OK ? status : give(call, item, out, err);
}
