/*
 * What the functions of this folder share: how rows are written, how arguments are read, how results
 * are given. Internal to storaged/query/function.
 */
#ifndef SIRIX_QUERY_FUNCTION_SUPPORT_H
#define SIRIX_QUERY_FUNCTION_SUPPORT_H

#include <string.h>

#include "base/buf.h"
#include "query/function/function.h"
#include "query/value/cast.h"
#include "query/value/compare.h"
#include "query/value/container.h"
#include "query/value/number.h"

/* T(STRING, OPTIONAL) is xs:string?. */
#define T(type_name, occurrence_name)                                                              \
    {                                                                                              \
        .type = SIRIX_TYPE_##type_name, .occurrence = SIRIX_OCCURRENCE_##occurrence_name           \
    }

/* ROW(FN, "name", min, max, flags, call, detail, result type, parameter types...) */
#define ROW(space, title, min, max, flag_bits, function, extra, result_type, ...)                  \
    {                                                                                              \
        .ns = SIRIX_NS_##space, .name = (title), .min_arity = (min), .max_arity = (max),           \
        .flags = (flag_bits), .result = result_type, .parameters = {__VA_ARGS__},                  \
        .call = (function), .detail = (extra)                                                      \
    }

enum {
    PURE = SIRIX_FUNCTION_PURE,
    FOCUS = SIRIX_FUNCTION_NEEDS_FOCUS,
    STREAMS = SIRIX_FUNCTION_STREAMS,
    AGGREGATE = SIRIX_FUNCTION_STREAMS | SIRIX_FUNCTION_AGGREGATE,
    HIGHER = SIRIX_FUNCTION_HIGHER_ORDER,
};

/* Whether argument i was given and is not empty. */
static inline bool has_argument(const struct sirix_call *call, size_t i)
{
    return i < call->argument_count && call->arguments[i].count != 0;
}

/* The first item of argument i; kind NONE when it is empty or was not given. */
static inline struct sirix_item argument(const struct sirix_call *call, size_t i)
{
    return has_argument(call, i) ? sirix_sequence_at(&call->arguments[i], 0)
                                 : (struct sirix_item){0};
}

/* The text of argument i, which is xs:string?; empty when there is none. */
static inline struct sirix_bytes text_argument(const struct sirix_call *call, size_t i)
{
    struct sirix_item item = argument(call, i);

    return item.kind == SIRIX_ITEM_NONE ? (struct sirix_bytes){.data = "", .len = 0}
                                        : sirix_item_bytes(item);
}

static inline struct sirix_bytes literal_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static inline bool bytes_are(struct sirix_bytes bytes, const char *text)
{
    return sirix_bytes_equal(bytes, literal_bytes(text));
}

/* Results. */
static inline enum sirix_status give_nothing(struct sirix_sequence *out)
{
    *out = (struct sirix_sequence){0};
    return SIRIX_OK;
}

static inline enum sirix_status give(struct sirix_call *call, struct sirix_item item,
                                     struct sirix_sequence *out, struct sirix_query_error *err)
{
    return sirix_sequence_single(call->work, item, out, err);
}

static inline enum sirix_status give_boolean(struct sirix_call *call, bool value,
                                             struct sirix_sequence *out,
                                             struct sirix_query_error *err)
{
    return give(call, sirix_item_boolean(value), out, err);
}

static inline enum sirix_status give_integer(struct sirix_call *call, int64_t value,
                                             struct sirix_sequence *out,
                                             struct sirix_query_error *err)
{
    return give(call, sirix_item_integer(value), out, err);
}

/* A view of text that lives long enough: part of an argument, a literal, the arena. */
static inline enum sirix_status give_text(struct sirix_call *call, struct sirix_bytes text,
                                          struct sirix_sequence *out, struct sirix_query_error *err)
{
    return give(call, sirix_item_string(text), out, err);
}

/* A string would pass its limit: string_bytes. */
enum sirix_status too_long(struct sirix_query_error *err);

/* The content of a buffer as a string; frees the buffer, whatever status says. */
enum sirix_status give_buffer(struct sirix_call *call, enum sirix_status status,
                              struct sirix_buf *buf, struct sirix_sequence *out,
                              struct sirix_query_error *err);

/* A buffer for one string: its limit is that of strings. */
static inline void text_buffer_init(struct sirix_buf *buf)
{
    sirix_buf_init(buf, SIRIX_ITEM_STRING_BYTES_MAX);
}

/* A tick for a loop over bytes. */
static inline enum sirix_status SIRIX_MUST_CHECK tick_bytes(struct sirix_call *call, size_t bytes,
                                                            struct sirix_query_error *err)
{
    return sirix_work_tick(call->work, 1 + bytes / SIRIX_WORK_BYTES_PER_UNIT, err);
}

/* The context item: XPDY0002 when there is none. */
enum sirix_status context_item(const struct sirix_call *call, struct sirix_item *out,
                               struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Argument i as a collation: only the codepoint collation exists, FOCH0002. */
enum sirix_status check_collation(const struct sirix_call *call, size_t i,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The single boolean that a function gave. */
enum sirix_status truth_of_filter(const struct sirix_sequence *answer, bool *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Calls a function item with one or two sequences, or one item each. */
enum sirix_status invoke(struct sirix_call *call, struct sirix_item function,
                         const struct sirix_sequence *arguments, size_t count,
                         struct sirix_sequence *out,
                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Sorts sequences by key: order[i] is the index of the one that comes i-th. The key of one is what the
 * function (kind NONE: data()) makes of it. Stable; XPTY0004 when keys do not compare.
 */
enum sirix_status sort_members(struct sirix_call *call, const struct sirix_sequence *members,
                               size_t count, struct sirix_item key_function, size_t **out_order,
                               struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The next item of a streamed first argument, converted to the parameter's item type. */
enum sirix_status next_input(struct sirix_call *call, struct sirix_item *out,
                             struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
