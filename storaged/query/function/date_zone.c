/* dateTime(date, time) and the adjust-...-to-timezone functions. */
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/datetime.h"

static enum sirix_status combine(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item date = argument(call, 0);
    struct sirix_item time = argument(call, 1);
    struct sirix_datetime parts;
    struct sirix_datetime clock;
    struct sirix_item item = {0};

    if (date.kind == SIRIX_ITEM_NONE || time.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    sirix_datetime_parts(date, &parts);
    sirix_datetime_parts(time, &clock);
    if (parts.zone != SIRIX_ITEM_NO_ZONE && clock.zone != SIRIX_ITEM_NO_ZONE &&
        parts.zone != clock.zone) {
        return sirix_query_fail(err, "FORG0008", "the date and the time have different timezones");
    }
    parts.hour = clock.hour;
    parts.minute = clock.minute;
    parts.second = clock.second;
    parts.nanosecond = clock.nanosecond;
    if (parts.zone == SIRIX_ITEM_NO_ZONE) {
        parts.zone = clock.zone;
    }
    enum sirix_status status = sirix_datetime_make(&parts, SIRIX_TYPE_DATE_TIME, &item, err);
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

static enum sirix_status adjust(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);
    struct sirix_item zone = argument(call, 1);
    int16_t minutes = call->work->zone;

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    if (call->argument_count > 1 && zone.kind == SIRIX_ITEM_NONE) {
        minutes = SIRIX_ITEM_NO_ZONE;
    } else if (zone.kind != SIRIX_ITEM_NONE) {
        int64_t seconds = zone.value.integer;
        int64_t most = INT64_C(60) * SIRIX_ZONE_MINUTES_MAX;

        if (zone.len != 0 || seconds % 60 != 0 || seconds > most || seconds < -most) {
            return sirix_query_fail(err, "FODT0003",
                                    "a timezone is whole minutes of at most 14 hours");
        }
        minutes = (int16_t)(seconds / 60);
    }
    enum sirix_status status = sirix_datetime_adjust(item, minutes, &item, err);
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

#define ADJUST(title, type)                                                                        \
    ROW(FN, title, 1, 1, 0, adjust, 0, T(type, OPTIONAL), T(type, OPTIONAL)),                      \
        ROW(FN, title, 2, 2, PURE, adjust, 0, T(type, OPTIONAL), T(type, OPTIONAL),                \
            T(DAY_TIME_DURATION, OPTIONAL))

static const struct sirix_function rows[] = {
    ROW(FN, "dateTime", 2, 2, PURE, combine, 0, T(DATE_TIME, OPTIONAL), T(DATE, OPTIONAL),
        T(TIME, OPTIONAL)),
    ADJUST("adjust-dateTime-to-timezone", DATE_TIME),
    ADJUST("adjust-date-to-timezone", DATE),
    ADJUST("adjust-time-to-timezone", TIME),
};

const struct sirix_function_table sirix_functions_date_zone = {rows,
                                                               sizeof(rows) / sizeof(rows[0])};
