/* What the functions of this folder share. Private to it. */
#ifndef SIRIX_QUERY_NODE_FUNCTIONS_H
#define SIRIX_QUERY_NODE_FUNCTIONS_H

#include <string.h>

#include "query/node/store.h"

#define SIRIX_T(type_name, occurrence_name)                                                        \
    {                                                                                              \
        .type = SIRIX_TYPE_##type_name, .occurrence = SIRIX_OCCURRENCE_##occurrence_name           \
    }

/* SIRIX_ROW(space, name, min, max, call, open, detail, result, parameters...) */
#define SIRIX_ROW(space, title, min, max, caller, opener, extra, result_type, ...)                 \
    {                                                                                              \
        .ns = SIRIX_NS_##space, .name = (title), .min_arity = (min), .max_arity = (max),           \
        .result = result_type, .parameters = {__VA_ARGS__}, .call = (caller), .open = (opener),    \
        .detail = (extra)                                                                          \
    }

extern const struct sirix_function_table sirix_store_open_functions;
extern const struct sirix_function_table sirix_store_time_functions;
extern const struct sirix_function_table sirix_store_node_functions;
extern const struct sirix_function_table sirix_store_diff_functions;

static inline struct sirix_query_store *sirix_call_store(const struct sirix_call *call)
{
    return call->evaluator->store;
}

static inline bool sirix_call_has(const struct sirix_call *call, size_t i)
{
    return i < call->argument_count && call->arguments[i].count != 0;
}

static inline struct sirix_item sirix_call_item(const struct sirix_call *call, size_t i)
{
    return sirix_call_has(call, i) ? sirix_sequence_at(&call->arguments[i], 0)
                                   : (struct sirix_item){0};
}

static inline struct sirix_bytes sirix_call_text(const struct sirix_call *call, size_t i)
{
    return sirix_item_bytes(sirix_call_item(call, i));
}

/* One item, or nothing for kind NONE. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_call_give(struct sirix_call *call,
                                                                 struct sirix_item item,
                                                                 struct sirix_sequence *out,
                                                                 struct sirix_query_error *err)
{
    if (item.kind == SIRIX_ITEM_NONE) {
        *out = (struct sirix_sequence){0};
        return SIRIX_OK;
    }
    return sirix_sequence_single(call->work, item, out, err);
}

/* An integer argument from 1 (or from 0) as a number. */
enum sirix_status sirix_call_number(const struct sirix_call *call, size_t i, uint64_t min,
                                    uint64_t *out, struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The view and value key of a stored argument; XPTY0004 for an item that is not stored. */
enum sirix_status sirix_call_node(const struct sirix_call *call, size_t i,
                                  struct sirix_store_view **out_view, uint64_t *out_key,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The resource that arguments 0 and 1 name. */
enum sirix_status sirix_call_resource(const struct sirix_call *call,
                                      struct sirix_store_resource **out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Microseconds since 1970 and back. */
enum sirix_status sirix_call_time(const struct sirix_call *call, size_t i, int64_t *out_us,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;
struct sirix_item sirix_store_time_item(int64_t time_us);

#endif
