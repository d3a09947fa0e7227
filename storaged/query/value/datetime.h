/*
 * Dates, times and durations: text, parts, arithmetic, time zones.
 *
 * Years from -999,999,999 to 999,999,999, in the proleptic Gregorian calendar with a year 0, which
 * arithmetic may reach and text may not name; past that FODT0001. Durations up to 2^53 months or seconds: FODT0002. Seconds have nanoseconds; more
 * digits are cut.
 */
#ifndef SIRIX_QUERY_VALUE_DATETIME_H
#define SIRIX_QUERY_VALUE_DATETIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "query/value/item.h"
#include "query/value/number.h"

enum { SIRIX_DATETIME_TEXT_BYTES = 64, SIRIX_ZONE_MINUTES_MAX = 14 * 60 };

/* The parts of a DATETIME item in its own zone. */
struct sirix_datetime {
    int64_t year;
    unsigned month; /* 1..12 */
    unsigned day;   /* 1..31 */
    unsigned hour;  /* 0..23 */
    unsigned minute;
    unsigned second;
    uint32_t nanosecond;
    int16_t zone; /* Minutes, or SIRIX_ITEM_NO_ZONE. */
};

/* Parts to an item of a type and back. The parts are valid; FODT0001 when the year is out of range. */
enum sirix_status sirix_datetime_make(const struct sirix_datetime *parts, enum sirix_type type,
                                      struct sirix_item *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
void sirix_datetime_parts(struct sirix_item item, struct sirix_datetime *out);

/* The type's lexical form (white space is trimmed already): FORG0001, FODT0001. */
enum sirix_status sirix_datetime_parse(struct sirix_bytes text, enum sirix_type type,
                                       struct sirix_item *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;
size_t sirix_datetime_print(struct sirix_item item, char to[SIRIX_DATETIME_TEXT_BYTES]);

/* The parts that a cast keeps (dateTime to date, date to gYear, ...); XPTY0004 if there is no such cast. */
enum sirix_status sirix_datetime_cast(struct sirix_item item, enum sirix_type type,
                                      struct sirix_item *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* -1, 0, 1 of two points in time; those without a zone are in the zone given. */
int sirix_datetime_compare(struct sirix_item a, struct sirix_item b, int16_t zone);

/* The item at another zone (the same instant), or without one, or with one put to it. */
enum sirix_status sirix_datetime_adjust(struct sirix_item item, int16_t zone,
                                        struct sirix_item *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Durations. Types DURATION, YEAR_MONTH_DURATION, DAY_TIME_DURATION. */
enum sirix_status sirix_duration_parse(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_type type, struct sirix_item *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;
size_t sirix_duration_print(struct sirix_item item, char to[SIRIX_DATETIME_TEXT_BYTES]);
enum sirix_status sirix_duration_cast(struct sirix_work *work, struct sirix_item item,
                                      enum sirix_type type, struct sirix_item *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
struct sirix_duration sirix_duration_parts(struct sirix_item item);
bool sirix_item_is_duration(struct sirix_item item);

/* A dayTimeDuration of seconds and nanoseconds (0 <= nanoseconds < 10^9), a yearMonthDuration. */
struct sirix_item sirix_duration_seconds(int64_t seconds, uint32_t nanoseconds);
struct sirix_item sirix_duration_months(int64_t months);

/* sirix_item_arithmetic() where one operand is a date or a duration. */
enum sirix_status sirix_datetime_arithmetic(struct sirix_work *work, enum sirix_arithmetic op,
                                            struct sirix_item a, struct sirix_item b,
                                            struct sirix_item *out,
                                            struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The current dateTime of the work, at its zone. */
struct sirix_item sirix_datetime_now(const struct sirix_work *work);

#endif
