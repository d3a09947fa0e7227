/* What does not come from arguments: the focus, the clock, the constants of the static context. */
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/datetime.h"

/* position() and, detail 1, last(). */
static enum sirix_status place(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = context_item(call, &item, err);

    if (status != SIRIX_OK) {
        return status;
    }
    uint64_t value = call->function->detail == 0 ? call->focus->position : call->focus->last;

    return give_integer(call, (int64_t)value, out, err);
}

/* The current dateTime, date, time; detail: the type. */
static enum sirix_status now(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_item item = sirix_datetime_now(call->work);
    enum sirix_type type = (enum sirix_type)call->function->detail;
    enum sirix_status status = SIRIX_OK;

    if (type != SIRIX_TYPE_DATE_TIME_STAMP) {
        status = sirix_datetime_cast(item, type, &item, err);
    }
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

static enum sirix_status implicit_timezone(struct sirix_call *call, struct sirix_sequence *out,
                                           struct sirix_query_error *err)
{
    return give(call, sirix_duration_seconds((int64_t)call->work->zone * 60, 0), out, err);
}

static enum sirix_status default_collation(struct sirix_call *call, struct sirix_sequence *out,
                                           struct sirix_query_error *err)
{
    return give_text(call,
                     literal_bytes("http://www.w3.org/2005/xpath-functions/collation/codepoint"),
                     out, err);
}

static enum sirix_status default_language(struct sirix_call *call, struct sirix_sequence *out,
                                          struct sirix_query_error *err)
{
    return give_text(call, literal_bytes("en"), out, err);
}

/* There is none: a query has no place. */
static enum sirix_status static_base_uri(struct sirix_call *call, struct sirix_sequence *out,
                                         struct sirix_query_error *err)
{
    (void)call;
    (void)err;
    return give_nothing(out);
}

static const struct sirix_function rows[] = {
    ROW(FN, "position", 0, 0, FOCUS, place, 0, T(INTEGER, ONE), {0}),
    ROW(FN, "last", 0, 0, FOCUS, place, 1, T(INTEGER, ONE), {0}),
    ROW(FN, "current-dateTime", 0, 0, 0, now, SIRIX_TYPE_DATE_TIME_STAMP, T(DATE_TIME_STAMP, ONE),
        {0}),
    ROW(FN, "current-date", 0, 0, 0, now, SIRIX_TYPE_DATE, T(DATE, ONE), {0}),
    ROW(FN, "current-time", 0, 0, 0, now, SIRIX_TYPE_TIME, T(TIME, ONE), {0}),
    ROW(BIT, "now", 0, 0, 0, now, SIRIX_TYPE_DATE_TIME_STAMP, T(DATE_TIME_STAMP, ONE), {0}),
    ROW(FN, "implicit-timezone", 0, 0, 0, implicit_timezone, 0, T(DAY_TIME_DURATION, ONE), {0}),
    ROW(FN, "default-collation", 0, 0, PURE, default_collation, 0, T(STRING, ONE), {0}),
    ROW(FN, "default-language", 0, 0, PURE, default_language, 0, T(LANGUAGE, ONE), {0}),
    ROW(FN, "static-base-uri", 0, 0, PURE, static_base_uri, 0, T(ANY_URI, OPTIONAL), {0}),
};

const struct sirix_function_table sirix_functions_context = {rows, sizeof(rows) / sizeof(rows[0])};
