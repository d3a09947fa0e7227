/* Arguments and results of the functions that need the store, and the list of them. */
#include "query/node/functions.h"

#include <inttypes.h>

enum sirix_status sirix_call_number(const struct sirix_call *call, size_t i, uint64_t min,
                                    uint64_t *out, struct sirix_query_error *err)
{
    const struct sirix_item item = sirix_call_item(call, i);

    if (item.kind != SIRIX_ITEM_INTEGER || item.value.integer < 0 ||
        (uint64_t)item.value.integer < min) {
        return sirix_query_fail(
            err, "FOCA0002", "argument %zu of %s:%s is a whole number from %" PRIu64 " on", i + 1,
            sirix_function_ns_prefix(call->function->ns), call->function->name, min);
    }
    *out = (uint64_t)item.value.integer;
    return SIRIX_OK;
}

enum sirix_status sirix_call_node(const struct sirix_call *call, size_t i,
                                  struct sirix_store_view **out_view, uint64_t *out_key,
                                  struct sirix_query_error *err)
{
    struct sirix_store_view *view =
        sirix_store_view_of(sirix_call_store(call), sirix_call_item(call, i), out_key);

    if (view == NULL) {
        return sirix_query_fail(err, "XPTY0004",
                                "%s:%s takes an item of the store, not a value that was computed",
                                sirix_function_ns_prefix(call->function->ns), call->function->name);
    }
    *out_view = view;
    return SIRIX_OK;
}

enum sirix_status sirix_call_resource(const struct sirix_call *call,
                                      struct sirix_store_resource **out,
                                      struct sirix_query_error *err)
{
    return sirix_query_store_resource(sirix_call_store(call), sirix_call_text(call, 0),
                                      sirix_call_text(call, 1), out, err);
}

enum sirix_status sirix_call_time(const struct sirix_call *call, size_t i, int64_t *out_us,
                                  struct sirix_query_error *err)
{
    const struct sirix_item item = sirix_call_item(call, i);
    int64_t zone = item.zone == SIRIX_ITEM_NO_ZONE ? call->work->zone : item.zone;
    int64_t us = 0;

    if (__builtin_mul_overflow(item.value.integer - zone * 60, INT64_C(1000000), &us)) {
        return sirix_query_fail(err, "FODT0001", "the time is too far away");
    }
    *out_us = us + item.len / 1000;
    return SIRIX_OK;
}

struct sirix_item sirix_store_time_item(int64_t time_us)
{
    int64_t seconds = time_us / 1000000;
    int64_t rest = time_us % 1000000;
    struct sirix_item item = {.kind = SIRIX_ITEM_DATETIME, .type = SIRIX_TYPE_DATE_TIME};

    if (rest < 0) {
        seconds--;
        rest += 1000000;
    }
    item.zone = 0;
    item.len = (uint32_t)rest * 1000;
    item.value.integer = seconds;
    return item;
}

size_t sirix_query_store_functions(const struct sirix_function_table **out_tables)
{
    static struct sirix_function_table tables[4];

    tables[0] = sirix_store_open_functions;
    tables[1] = sirix_store_time_functions;
    tables[2] = sirix_store_node_functions;
    tables[3] = sirix_store_diff_functions;
    *out_tables = tables;
    return sizeof(tables) / sizeof(tables[0]);
}
