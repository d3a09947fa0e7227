/* The system's clocks, and RFC 3339 both ways with calendar arithmetic of our own. */
#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t us_a_second = 1000000;
static const int64_t seconds_a_day = 86400;
static const uint64_t ns_a_second = 1000000000;

/* --- Clocks ----------------------------------------------------------------------------------- */

static int64_t system_realtime_us(void *context)
{
    struct timespec now = {0};

    (void)context;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* Cannot fail for this clock. */
    return (int64_t)now.tv_sec * us_a_second + now.tv_nsec / 1000;
}

static uint64_t system_monotonic_ns(void *context)
{
    struct timespec now = {0};

    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ns_a_second + (uint64_t)now.tv_nsec;
}

const struct sirix_clock *sirix_clock_system(void)
{
    static const struct sirix_clock system_clock = {
        .realtime_us = system_realtime_us,
        .monotonic_ns = system_monotonic_ns,
    };

    return &system_clock;
}

/* --- Calendar --------------------------------------------------------------------------------- */

struct date {
    int year;
    int month;
    int day;
};

static bool is_leap_year(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    assert(month >= 1 && month <= 12);

    return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* Days since 1970-01-01. Years begin in March here, so that the leap day is the last one. */
static int64_t days_from_date(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t month = date.month <= 2 ? date.month + 9 : date.month - 3;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;

    /* Valid for year >= 0; year 1 January counts as year 0 here. */
    return 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

static struct date date_from_days(int64_t days)
{
    struct date date;
    int64_t since_march_0000 = days + 719468; /* Not negative in our range. */
    int64_t era = since_march_0000 / 146097;
    int64_t of_era = since_march_0000 % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    date.day = (int)(of_year - (153 * month + 2) / 5 + 1);
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    date.year = (int)(year + era * 400 + (date.month <= 2 ? 1 : 0));
    return date;
}

size_t sirix_time_format(int64_t time_us, char out_text[SIRIX_TIME_TEXT_BYTES])
{
    char text[96]; /* Roomy: the compiler does not know the ranges. */

    time_us = time_us < SIRIX_TIME_US_MIN ? SIRIX_TIME_US_MIN : time_us;
    time_us = time_us > SIRIX_TIME_US_MAX ? SIRIX_TIME_US_MAX : time_us;
    /* Division rounds to zero; shift the zero so that everything is positive. */
    int64_t shifted = time_us - SIRIX_TIME_US_MIN;
    int64_t seconds = shifted / us_a_second;
    int fraction = (int)(shifted % us_a_second);
    int64_t first_day = SIRIX_TIME_US_MIN / us_a_second / seconds_a_day;
    struct date date = date_from_days(first_day + seconds / seconds_a_day);
    int of_day = (int)(seconds % seconds_a_day);

    int len =
        snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", date.year, date.month,
                 date.day, of_day / 3600, of_day / 60 % 60, of_day % 60, fraction);
    memcpy(out_text, text, (size_t)len + 1);
    return (size_t)len;
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct scan {
    const uint8_t *text;
    size_t len;
    size_t at;
    struct sirix_error *err;
};

static enum sirix_status refuse(const struct scan *scan, size_t at, const char *what)
{
    enum sirix_status status =
        sirix_fail_reason(scan->err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                          "not an RFC 3339 time: %s at byte %zu", what, at);

    sirix_error_set_offset(scan->err, at);
    return status;
}

/* Reads exactly count digits as a number in [min, max]. */
static enum sirix_status scan_number(struct scan *scan, int count, int min, int max,
                                     const char *expected, int *out)
{
    size_t start = scan->at;
    int value = 0;

    for (int i = 0; i < count; i++, scan->at++) {
        if (scan->at == scan->len || scan->text[scan->at] < '0' || scan->text[scan->at] > '9') {
            return refuse(scan, scan->at, expected);
        }
        value = value * 10 + (scan->text[scan->at] - '0');
    }
    if (value < min || value > max) {
        return refuse(scan, start, expected);
    }
    *out = value;
    return SIRIX_OK;
}

static enum sirix_status scan_byte(struct scan *scan, char byte, const char *expected)
{
    if (scan->at == scan->len || scan->text[scan->at] != (uint8_t)byte) {
        return refuse(scan, scan->at, expected);
    }
    scan->at++;
    return SIRIX_OK;
}

static enum sirix_status scan_date(struct scan *scan, struct date *out)
{
    struct date date = {0};
    enum sirix_status status =
        scan_number(scan, 4, 1, 9999, "expected a year 0001..9999", &date.year);

    if (status == SIRIX_OK) {
        status = scan_byte(scan, '-', "expected '-' after the year");
    }
    if (status == SIRIX_OK) {
        status = scan_number(scan, 2, 1, 12, "expected a month 01..12", &date.month);
    }
    if (status == SIRIX_OK) {
        status = scan_byte(scan, '-', "expected '-' after the month");
    }
    if (status == SIRIX_OK) {
        status = scan_number(scan, 2, 1, days_of_month(date.year, date.month),
                             "expected a day of that month", &date.day);
    }
    if (status == SIRIX_OK) {
        *out = date;
    }
    return status;
}

static enum sirix_status scan_fraction(struct scan *scan, int64_t *out_us)
{
    int64_t us = 0;
    int64_t unit = us_a_second / 10;

    if (scan->at == scan->len || scan->text[scan->at] != '.') {
        *out_us = 0;
        return SIRIX_OK;
    }
    scan->at++;
    size_t start = scan->at;
    while (scan->at < scan->len && scan->text[scan->at] >= '0' && scan->text[scan->at] <= '9') {
        us += unit * (scan->text[scan->at] - '0');
        unit /= 10;
        scan->at++;
    }
    if (scan->at == start) {
        return refuse(scan, scan->at, "expected a digit after '.'");
    }
    *out_us = us;
    return SIRIX_OK;
}

static enum sirix_status scan_time_of_day(struct scan *scan, int64_t *out_us)
{
    int hour = 0;
    int minute = 0;
    int second = 0;
    int64_t fraction = 0;
    enum sirix_status status = scan_number(scan, 2, 0, 23, "expected an hour 00..23", &hour);

    if (status == SIRIX_OK) {
        status = scan_byte(scan, ':', "expected ':' after the hour");
    }
    if (status == SIRIX_OK) {
        status = scan_number(scan, 2, 0, 59, "expected a minute 00..59", &minute);
    }
    if (status == SIRIX_OK) {
        status = scan_byte(scan, ':', "expected ':' after the minute");
    }
    if (status == SIRIX_OK) {
        status = scan_number(scan, 2, 0, 59, "expected a second 00..59", &second);
    }
    if (status == SIRIX_OK) {
        status = scan_fraction(scan, &fraction);
    }
    if (status == SIRIX_OK) {
        *out_us = ((int64_t)hour * 3600 + (int64_t)minute * 60 + second) * us_a_second + fraction;
    }
    return status;
}

static enum sirix_status scan_offset(struct scan *scan, int64_t *out_us)
{
    static const char *const expected = "expected an offset such as Z or +01:00";
    int hour = 0;
    int minute = 0;
    uint8_t sign = scan->at < scan->len ? scan->text[scan->at] : 0;

    if (sign == 'Z' || sign == 'z') {
        scan->at++;
        *out_us = 0;
        return SIRIX_OK;
    }
    if (sign != '+' && sign != '-') {
        return refuse(scan, scan->at, expected);
    }
    scan->at++;
    enum sirix_status status = scan_number(scan, 2, 0, 23, "expected hours 00..23", &hour);
    if (status == SIRIX_OK) {
        status = scan_byte(scan, ':', "expected ':' in the offset");
    }
    if (status == SIRIX_OK) {
        status = scan_number(scan, 2, 0, 59, "expected minutes 00..59", &minute);
    }
    if (status == SIRIX_OK) {
        int64_t us = ((int64_t)hour * 3600 + (int64_t)minute * 60) * us_a_second;

        *out_us = sign == '-' ? -us : us;
    }
    return status;
}

enum sirix_status sirix_time_parse(struct sirix_bytes text, int64_t *out_time_us,
                                   struct sirix_error *err)
{
    struct scan scan = {.text = text.data, .len = text.len, .err = err};
    struct date date = {0};
    int64_t of_day = 0;
    int64_t offset = 0;
    enum sirix_status status = scan_date(&scan, &date);

    if (status != SIRIX_OK) {
        return status;
    }
    if (scan.at != scan.len) {
        if (scan.text[scan.at] != 'T' && scan.text[scan.at] != 't') {
            return refuse(&scan, scan.at, "expected 'T' or the end after the date");
        }
        scan.at++;
        status = scan_time_of_day(&scan, &of_day);
        if (status == SIRIX_OK) {
            status = scan_offset(&scan, &offset);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (scan.at != scan.len) {
            return refuse(&scan, scan.at, "expected the end after the offset");
        }
    }
    int64_t time_us = days_from_date(date) * seconds_a_day * us_a_second + of_day - offset;
    if (time_us < SIRIX_TIME_US_MIN || time_us > SIRIX_TIME_US_MAX) {
        return refuse(&scan, 0, "outside the years 0001..9999 in UTC");
    }
    *out_time_us = time_us;
    return SIRIX_OK;
}
