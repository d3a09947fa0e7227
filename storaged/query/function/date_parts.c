/* The parts of dates, times and durations. */
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/datetime.h"

enum part {
    PART_YEAR,
    PART_MONTH,
    PART_DAY,
    PART_HOURS,
    PART_MINUTES,
    PART_SECONDS,
    PART_ZONE,
};

/* Seconds and nanoseconds as a decimal. */
static struct sirix_item decimal_seconds(int64_t seconds, uint32_t nanoseconds)
{
    int64_t value = seconds * 1000000000 + (seconds < 0 ? -(int64_t)nanoseconds : nanoseconds);
    uint8_t scale = 9;

    while (scale > 0 && value % 10 == 0) {
        value /= 10;
        scale--;
    }
    return sirix_item_decimal(value, scale);
}

static enum sirix_status of_point(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);
    struct sirix_datetime parts;

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    sirix_datetime_parts(item, &parts);
    switch ((enum part)call->function->detail) {
    case PART_YEAR:
        return give_integer(call, parts.year, out, err);
    case PART_MONTH:
        return give_integer(call, parts.month, out, err);
    case PART_DAY:
        return give_integer(call, parts.day, out, err);
    case PART_HOURS:
        return give_integer(call, parts.hour, out, err);
    case PART_MINUTES:
        return give_integer(call, parts.minute, out, err);
    case PART_SECONDS:
        return give(call, decimal_seconds(parts.second, parts.nanosecond), out, err);
    case PART_ZONE:
        if (parts.zone == SIRIX_ITEM_NO_ZONE) {
            return give_nothing(out);
        }
        return give(call, sirix_duration_seconds((int64_t)parts.zone * 60, 0), out, err);
    }
    return SIRIX_INTERNAL;
}

static enum sirix_status of_duration(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);
    struct sirix_duration parts;
    uint32_t nanoseconds = 0;

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    parts = sirix_duration_parts(item);
    nanoseconds = parts.nanoseconds;
    if (parts.seconds < 0 && nanoseconds != 0) { /* Towards zero: -0.5 s is kept as -1 + 0.5. */
        parts.seconds++;
        nanoseconds = 1000000000 - nanoseconds;
    }
    bool negative_fraction = sirix_duration_parts(item).seconds < 0;

    switch ((enum part)call->function->detail) {
    case PART_YEAR:
        return give_integer(call, parts.months / 12, out, err);
    case PART_MONTH:
        return give_integer(call, parts.months % 12, out, err);
    case PART_DAY:
        return give_integer(call, parts.seconds / 86400, out, err);
    case PART_HOURS:
        return give_integer(call, parts.seconds / 3600 % 24, out, err);
    case PART_MINUTES:
        return give_integer(call, parts.seconds / 60 % 60, out, err);
    default:
        break;
    }
    struct sirix_item value = decimal_seconds(
        negative_fraction ? -(parts.seconds % 60) : parts.seconds % 60, nanoseconds);

    if (negative_fraction) {
        value.value.integer = -value.value.integer;
    }
    return give(call, value, out, err);
}

#define POINT(title, part, from, result_type)                                                      \
    ROW(FN, title, 1, 1, PURE, of_point, part, T(result_type, OPTIONAL), T(from, OPTIONAL))
#define DURATION_PART(title, part, result_type)                                                    \
    ROW(FN, title, 1, 1, PURE, of_duration, part, T(result_type, OPTIONAL), T(DURATION, OPTIONAL))

static const struct sirix_function rows[] = {
    POINT("year-from-dateTime", PART_YEAR, DATE_TIME, INTEGER),
    POINT("month-from-dateTime", PART_MONTH, DATE_TIME, INTEGER),
    POINT("day-from-dateTime", PART_DAY, DATE_TIME, INTEGER),
    POINT("hours-from-dateTime", PART_HOURS, DATE_TIME, INTEGER),
    POINT("minutes-from-dateTime", PART_MINUTES, DATE_TIME, INTEGER),
    POINT("seconds-from-dateTime", PART_SECONDS, DATE_TIME, DECIMAL),
    POINT("timezone-from-dateTime", PART_ZONE, DATE_TIME, DAY_TIME_DURATION),
    POINT("year-from-date", PART_YEAR, DATE, INTEGER),
    POINT("month-from-date", PART_MONTH, DATE, INTEGER),
    POINT("day-from-date", PART_DAY, DATE, INTEGER),
    POINT("timezone-from-date", PART_ZONE, DATE, DAY_TIME_DURATION),
    POINT("hours-from-time", PART_HOURS, TIME, INTEGER),
    POINT("minutes-from-time", PART_MINUTES, TIME, INTEGER),
    POINT("seconds-from-time", PART_SECONDS, TIME, DECIMAL),
    POINT("timezone-from-time", PART_ZONE, TIME, DAY_TIME_DURATION),
    DURATION_PART("years-from-duration", PART_YEAR, INTEGER),
    DURATION_PART("months-from-duration", PART_MONTH, INTEGER),
    DURATION_PART("days-from-duration", PART_DAY, INTEGER),
    DURATION_PART("hours-from-duration", PART_HOURS, INTEGER),
    DURATION_PART("minutes-from-duration", PART_MINUTES, INTEGER),
    DURATION_PART("seconds-from-duration", PART_SECONDS, DECIMAL),
};

const struct sirix_function_table sirix_functions_date_parts = {rows,
                                                                sizeof(rows) / sizeof(rows[0])};
