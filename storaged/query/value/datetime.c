/* Points in time: the calendar, text, casts between the types, zones. Durations are in duration.c. */
#include "query/value/datetime.h"

#include <stdio.h>
#include <string.h>

enum {
    DAY_SECONDS = 86400,
    YEAR_MAX = 999999999,
    NANO = 1000000000,
    /* Of what a type does not have. */
    ABSENT_YEAR = 1972,
    ABSENT_MONTH = 12,
    ABSENT_DAY = 31,
};

/* Which parts a type has. */
enum { HAS_YEAR = 1, HAS_MONTH = 2, HAS_DAY = 4, HAS_TIME = 8 };

static unsigned parts_of(enum sirix_type type)
{
    switch (type) {
    case SIRIX_TYPE_DATE:
        return HAS_YEAR | HAS_MONTH | HAS_DAY;
    case SIRIX_TYPE_TIME:
        return HAS_TIME;
    case SIRIX_TYPE_G_YEAR_MONTH:
        return HAS_YEAR | HAS_MONTH;
    case SIRIX_TYPE_G_YEAR:
        return HAS_YEAR;
    case SIRIX_TYPE_G_MONTH_DAY:
        return HAS_MONTH | HAS_DAY;
    case SIRIX_TYPE_G_DAY:
        return HAS_DAY;
    case SIRIX_TYPE_G_MONTH:
        return HAS_MONTH;
    default:
        return HAS_YEAR | HAS_MONTH | HAS_DAY | HAS_TIME;
    }
}

/* --- The calendar -------------------------------------------------------------------------------------- */

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in_month(int64_t year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/*
 * Days since 1970-01-01 of a date. Years are counted from March, so that the leap day is the last one:
 * a year of months 3..14 begins at day (153 * (month - 3) + 2) / 5.
 */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    int64_t from_march = month > 2 ? year : year - 1;
    int64_t era = floor_div(from_march, 400);
    int64_t of_era = from_march - era * 400;
    int64_t of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + (int64_t)day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468;

    int64_t era = floor_div(days, 146097);
    int64_t of_era = days - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t from_march = (5 * of_year + 2) / 153;

    *day = (unsigned)(of_year - (153 * from_march + 2) / 5 + 1);
    *month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

enum sirix_status sirix_datetime_make(const struct sirix_datetime *parts, enum sirix_type type,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    unsigned has = parts_of(type);
    int64_t year = (has & HAS_YEAR) != 0 ? parts->year : ABSENT_YEAR;
    unsigned month = (has & HAS_MONTH) != 0  ? parts->month
                     : (has & HAS_YEAR) != 0 ? 1
                                             : ABSENT_MONTH;
    unsigned day = (has & HAS_DAY) != 0                  ? parts->day
                   : (has & (HAS_YEAR | HAS_MONTH)) != 0 ? 1
                                                         : ABSENT_DAY;
    struct sirix_item item = {.kind = SIRIX_ITEM_DATETIME, .type = (uint8_t)type};

    if (year > YEAR_MAX || year < -YEAR_MAX) {
        return sirix_query_fail(err, "FODT0001", "the year %lld is out of range", (long long)year);
    }
    item.zone = parts->zone;
    item.value.integer = days_of(year, month, day) * DAY_SECONDS;
    if ((has & HAS_TIME) != 0) {
        item.value.integer +=
            (int64_t)parts->hour * 3600 + (int64_t)parts->minute * 60 + (int64_t)parts->second;
        item.len = parts->nanosecond;
    }
    *out = item;
    return SIRIX_OK;
}

void sirix_datetime_parts(struct sirix_item item, struct sirix_datetime *out)
{
    int64_t days = floor_div(item.value.integer, DAY_SECONDS);
    unsigned seconds = (unsigned)(item.value.integer - days * DAY_SECONDS);

    date_of(days, &out->year, &out->month, &out->day);
    out->hour = seconds / 3600;
    out->minute = seconds / 60 % 60;
    out->second = seconds % 60;
    out->nanosecond = item.len;
    out->zone = item.zone;
}

/* --- Text ----------------------------------------------------------------------------------------------- */

struct scanner {
    const char *at;
    const char *end;
};

static bool take(struct scanner *scanner, char expected)
{
    if (scanner->at < scanner->end && *scanner->at == expected) {
        scanner->at++;
        return true;
    }
    return false;
}

/* Exactly count digits. */
static bool take_digits(struct scanner *scanner, unsigned count, unsigned *out)
{
    unsigned value = 0;

    for (; count > 0; count--) {
        if (scanner->at == scanner->end || *scanner->at < '0' || *scanner->at > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(*scanner->at++ - '0');
    }
    *out = value;
    return true;
}

/*
 * -?yyyy or more digits without zeros in front, not 0000 (XSD 1.0); true for one too large, which
 * *out_range tells.
 */
static bool take_year(struct scanner *scanner, int64_t *out, bool *out_range)
{
    bool negative = take(scanner, '-');
    const char *start = scanner->at;
    int64_t value = 0;

    while (scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9') {
        if (value <= YEAR_MAX) {
            value = value * 10 + (*scanner->at - '0');
        }
        scanner->at++;
    }
    size_t count = (size_t)(scanner->at - start);
    if (count < 4 || (count > 4 && *start == '0') || value == 0) {
        return false;
    }
    *out_range = value > YEAR_MAX;
    *out = negative ? -value : value;
    return true;
}

/* hh:mm:ss(.s+)?; 24:00:00 is told by *out_next_day. */
static bool take_time(struct scanner *scanner, struct sirix_datetime *to, bool *out_next_day)
{
    if (!take_digits(scanner, 2, &to->hour) || !take(scanner, ':') ||
        !take_digits(scanner, 2, &to->minute) || !take(scanner, ':') ||
        !take_digits(scanner, 2, &to->second)) {
        return false;
    }
    if (take(scanner, '.')) {
        const char *start = scanner->at;
        uint32_t unit = NANO / 10;

        for (; scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9';
             scanner->at++) {
            to->nanosecond += (uint32_t)(*scanner->at - '0') * unit;
            unit /= 10;
        }
        if (scanner->at == start) {
            return false;
        }
    }
    if (to->hour == 24 && to->minute == 0 && to->second == 0 && to->nanosecond == 0) {
        to->hour = 0;
        *out_next_day = true;
        return true;
    }
    return to->hour < 24 && to->minute < 60 && to->second < 60;
}

/* (Z|[+-]hh:mm)? to the end. */
static bool take_zone(struct scanner *scanner, struct sirix_datetime *to)
{
    unsigned hours = 0;
    unsigned minutes = 0;

    to->zone = SIRIX_ITEM_NO_ZONE;
    if (scanner->at == scanner->end) {
        return true;
    }
    if (take(scanner, 'Z')) {
        to->zone = 0;
        return scanner->at == scanner->end;
    }
    bool negative = take(scanner, '-');
    if (!negative && !take(scanner, '+')) {
        return false;
    }
    if (!take_digits(scanner, 2, &hours) || !take(scanner, ':') ||
        !take_digits(scanner, 2, &minutes) || minutes > 59) {
        return false;
    }
    int all = (int)(hours * 60 + minutes);
    to->zone = (int16_t)(negative ? -all : all);
    return all <= SIRIX_ZONE_MINUTES_MAX && scanner->at == scanner->end;
}

/* The date part of each type, with the dashes in place of parts that it does not have. */
static bool take_date(struct scanner *scanner, enum sirix_type type, struct sirix_datetime *to,
                      bool *out_range)
{
    unsigned has = parts_of(type);

    if ((has & HAS_YEAR) != 0) {
        if (!take_year(scanner, &to->year, out_range)) {
            return false;
        }
    } else if (!take(scanner, '-') || ((has & HAS_MONTH) == 0 && !take(scanner, '-'))) {
        return false;
    }
    if ((has & HAS_MONTH) != 0) {
        if (!take(scanner, '-') || !take_digits(scanner, 2, &to->month) || to->month < 1 ||
            to->month > 12) {
            return false;
        }
    }
    if ((has & HAS_DAY) == 0) {
        return true;
    }
    int64_t year = (has & HAS_YEAR) != 0 ? to->year : ABSENT_YEAR;
    unsigned month = (has & HAS_MONTH) != 0 ? to->month : ABSENT_MONTH;

    return take(scanner, '-') && take_digits(scanner, 2, &to->day) && to->day >= 1 &&
           to->day <= days_in_month(year, month);
}

enum sirix_status sirix_datetime_parse(struct sirix_bytes text, enum sirix_type type,
                                       struct sirix_item *out, struct sirix_query_error *err)
{
    struct scanner scanner = {.at = text.data};
    struct sirix_datetime parts = {.month = 1, .day = 1};
    unsigned has = parts_of(type);
    bool out_of_range = false;
    bool next_day = false;
    bool good = text.len != 0;

    scanner.end = text.len == 0 ? scanner.at : scanner.at + text.len;
    if (good && has != HAS_TIME) {
        good = take_date(&scanner, type, &parts, &out_of_range);
    }
    if (good && has > HAS_TIME) {
        good = take(&scanner, 'T');
    }
    if (good && (has & HAS_TIME) != 0) {
        good = take_time(&scanner, &parts, &next_day);
    }
    good = good && take_zone(&scanner, &parts);
    good = good && !(type == SIRIX_TYPE_DATE_TIME_STAMP && parts.zone == SIRIX_ITEM_NO_ZONE);
    if (!good) {
        return sirix_query_fail(err, "FORG0001", "\"%.*s\" is not an xs:%s",
                                (int)(text.len > 60 ? 60 : text.len), (const char *)text.data,
                                sirix_type_name(type));
    }
    if (out_of_range) {
        return sirix_query_fail(err, "FODT0001", "the year of \"%.*s\" is out of range",
                                (int)(text.len > 60 ? 60 : text.len), (const char *)text.data);
    }
    enum sirix_status status = sirix_datetime_make(&parts, type, out, err);
    if (status == SIRIX_OK && next_day && has != HAS_TIME) {
        out->value.integer += DAY_SECONDS;
    }
    return status;
}

static size_t print_zone(int16_t zone, char *to, size_t to_bytes)
{
    int minutes = zone < 0 ? -zone : zone;
    int len = 0;

    if (zone == SIRIX_ITEM_NO_ZONE) {
        return 0;
    }
    len = zone == 0 ? snprintf(to, to_bytes, "Z")
                    : snprintf(to, to_bytes, "%c%02d:%02d", zone < 0 ? '-' : '+', minutes / 60,
                               minutes % 60);
    return len < 0 ? 0 : (size_t)len;
}

/* ".5" of nanoseconds, without zeros at the end; nothing for 0. */
static size_t print_fraction(uint32_t nanoseconds, char *to, size_t to_bytes)
{
    int len = nanoseconds == 0 ? 0 : snprintf(to, to_bytes, ".%09u", nanoseconds);

    while (len > 0 && to[len - 1] == '0') {
        len--;
    }
    return len < 0 ? 0 : (size_t)len;
}

size_t sirix_datetime_print(struct sirix_item item, char to[SIRIX_DATETIME_TEXT_BYTES])
{
    unsigned has = parts_of((enum sirix_type)item.type);
    struct sirix_datetime parts;
    char date[32] = "";
    char time[32] = "";
    size_t len = 0;

    sirix_datetime_parts(item, &parts);
    long long year = parts.year < 0 ? -(long long)parts.year : (long long)parts.year;
    const char *sign = parts.year < 0 ? "-" : "";
    int put = 0;

    if ((has & HAS_YEAR) != 0) {
        put = snprintf(date, sizeof(date), "%s%04lld", sign, year);
    } else if (has != HAS_TIME) {
        put = snprintf(date, sizeof(date), (has & HAS_MONTH) != 0 ? "-" : "--");
    }
    len += put < 0 ? 0 : (size_t)put;
    if ((has & HAS_MONTH) != 0) {
        put = snprintf(date + len, sizeof(date) - len, "-%02u", parts.month);
        len += put < 0 ? 0 : (size_t)put;
    }
    if ((has & HAS_DAY) != 0) {
        put = snprintf(date + len, sizeof(date) - len, "-%02u", parts.day);
        len += put < 0 ? 0 : (size_t)put;
    }
    memcpy(to, date, len);
    if ((has & HAS_TIME) != 0) {
        put = snprintf(time, sizeof(time), "%s%02u:%02u:%02u", has == HAS_TIME ? "" : "T",
                       parts.hour, parts.minute, parts.second);
        memcpy(to + len, time, put < 0 ? 0 : (size_t)put);
        len += put < 0 ? 0 : (size_t)put;
        len += print_fraction(parts.nanosecond, to + len, 16);
    }
    return len + print_zone(parts.zone, to + len, 8);
}

/* --- Between types and zones ------------------------------------------------------------------------------ */

enum sirix_status sirix_datetime_cast(struct sirix_item item, enum sirix_type type,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_type from = (enum sirix_type)item.type;
    unsigned has = parts_of(from);
    unsigned wanted = parts_of(type);
    struct sirix_datetime parts;

    /* Only a dateTime has a time to give, and only a date can be given one (midnight). */
    bool can = from == type || has == wanted || (has & wanted) == wanted ||
               (from == SIRIX_TYPE_DATE && wanted > HAS_TIME);
    if (has < (HAS_YEAR | HAS_MONTH | HAS_DAY) && from != type) {
        can = false;
    }
    if (!can) {
        return sirix_query_fail(err, "XPTY0004", "an xs:%s is never cast to xs:%s",
                                sirix_type_name(from), sirix_type_name(type));
    }
    if (type == SIRIX_TYPE_DATE_TIME_STAMP && item.zone == SIRIX_ITEM_NO_ZONE) {
        return sirix_query_fail(err, "FORG0001", "an xs:dateTimeStamp needs a timezone");
    }
    sirix_datetime_parts(item, &parts);
    return sirix_datetime_make(&parts, type, out, err);
}

static int64_t utc_of(struct sirix_item item, int16_t zone)
{
    return item.value.integer - (int64_t)(item.zone == SIRIX_ITEM_NO_ZONE ? zone : item.zone) * 60;
}

int sirix_datetime_compare(struct sirix_item a, struct sirix_item b, int16_t zone)
{
    int64_t x = utc_of(a, zone);
    int64_t y = utc_of(b, zone);

    if (x != y) {
        return x < y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

enum sirix_status sirix_datetime_adjust(struct sirix_item item, int16_t zone,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_datetime parts;

    if (zone != SIRIX_ITEM_NO_ZONE && item.zone != SIRIX_ITEM_NO_ZONE) {
        item.value.integer += ((int64_t)zone - item.zone) * 60;
    }
    item.zone = zone;
    sirix_datetime_parts(item, &parts);
    return sirix_datetime_make(&parts, (enum sirix_type)item.type, out,
                               err); /* Cuts to the type. */
}

struct sirix_item sirix_datetime_now(const struct sirix_work *work)
{
    struct sirix_item now = {.kind = SIRIX_ITEM_DATETIME, .type = SIRIX_TYPE_DATE_TIME_STAMP};

    now.zone = work->zone;
    now.value.integer = work->now_seconds + (int64_t)work->zone * 60;
    now.len = work->now_nanoseconds;
    return now;
}
