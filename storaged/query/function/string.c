/* Strings by code points: concat, substring, length, case, translate, contains and its kin. */
#include <math.h>

#include "base/utf8.h"
#include "query/function/support.h"
#include "query/function/tables.h"

/* concat(): any number of atomics; their texts first, then one string of all of them. */
static enum sirix_status concat(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_bytes texts[SIRIX_FUNCTION_ARITY_MAX];
    void *memory = NULL;
    size_t all = 0;
    size_t len = 0;

    for (size_t i = 0; i < call->argument_count; i++) {
        enum sirix_status status = SIRIX_OK;

        texts[i] = literal_bytes("");
        if (has_argument(call, i)) {
            status = sirix_item_text(call->work, argument(call, i), &texts[i], err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        all += texts[i].len; /* 255 texts of 64 MiB are far from SIZE_MAX. */
    }
    if (all > SIRIX_ITEM_STRING_BYTES_MAX) {
        return too_long(err);
    }
    enum sirix_status status = sirix_arena_alloc(call->work->arena, all, &memory, &err->base);
    if (status == SIRIX_OK) {
        status = tick_bytes(call, all, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < call->argument_count; i++) {
        if (texts[i].len != 0) {
            memcpy((char *)memory + len, texts[i].data, texts[i].len);
        }
        len += texts[i].len;
    }
    return status != SIRIX_OK
               ? status
               : give_text(call, (struct sirix_bytes){.data = memory, .len = all}, out, err);
}

static enum sirix_status string_join(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_bytes between = text_argument(call, 1);
    struct sirix_buf buf;
    enum sirix_status status = SIRIX_OK;

    text_buffer_init(&buf);
    for (bool first = true; status == SIRIX_OK; first = false) {
        struct sirix_item item = {0};
        struct sirix_bytes text = {0};

        status = next_input(call, &item, err);
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK && !first) {
            status = sirix_buf_append_bytes(&buf, between, &err->base);
        }
        if (status == SIRIX_OK) {
            status = sirix_item_text(call->work, item, &text, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(&buf, text, &err->base);
        }
    }
    return give_buffer(call, status, &buf, out, err);
}

/* round() of a position: half up. */
static double rounded(double value)
{
    return floor(value + 0.5);
}

/* The bytes of the code points at positions [from, to), counted from 1. */
static struct sirix_bytes between(struct sirix_bytes text, double from, double to)
{
    const uint8_t *bytes = text.data;
    size_t start = text.len;
    size_t end = text.len;
    size_t at = 0;

    for (size_t i = 1; at < text.len; i++) {
        double position = (double)i;

        if (start == text.len && position >= from) {
            start = at;
        }
        if (!(position < to)) {
            end = at;
            break;
        }
        for (at++; at < text.len && (bytes[at] & 0xc0) == 0x80; at++) {
        }
    }
    return start >= end ? (struct sirix_bytes){.data = "", .len = 0}
                        : (struct sirix_bytes){.data = bytes + start, .len = end - start};
}

static enum sirix_status substring(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    double from = rounded(sirix_number_to_double(argument(call, 1)));
    double to = HUGE_VAL;

    if (call->argument_count > 2) {
        to = from + rounded(sirix_number_to_double(argument(call, 2)));
    }
    enum sirix_status status = tick_bytes(call, text.len, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (isnan(from) || isnan(to)) { /* Compares false with every position. */
        return give_text(call, literal_bytes(""), out, err);
    }
    return give_text(call, between(text, from, to), out, err);
}

/* Argument 0 as text, or the context item as a string. */
static enum sirix_status subject(struct sirix_call *call, struct sirix_bytes *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (call->argument_count > 0) {
        *out = text_argument(call, 0);
        return SIRIX_OK;
    }
    enum sirix_status status = context_item(call, &item, err);
    return status != SIRIX_OK ? status : sirix_item_text(call->work, item, out, err);
}

static enum sirix_status string_length(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    enum sirix_status status = subject(call, &text, err);

    if (status == SIRIX_OK) {
        status = tick_bytes(call, text.len, err);
    }
    return status != SIRIX_OK
               ? status
               : give_integer(call, (int64_t)sirix_utf8_count(text.data, text.len), out, err);
}

static enum sirix_status normalize_space(struct sirix_call *call, struct sirix_sequence *out,
                                         struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    struct sirix_item item = {0};
    enum sirix_status status = subject(call, &text, err);

    if (status == SIRIX_OK) {
        status = tick_bytes(call, text.len, err);
    }
    if (status == SIRIX_OK) { /* Just what xs:token does. */
        status = sirix_item_cast(call->work, sirix_item_string(text), SIRIX_TYPE_TOKEN, &item, err);
    }
    return status != SIRIX_OK ? status : give_text(call, sirix_item_bytes(item), out, err);
}

/* Where a code point is in a text, as a byte offset; SIZE_MAX: not at all. */
static size_t find_char(struct sirix_bytes text, const uint8_t *character, size_t len,
                        size_t *out_index)
{
    const uint8_t *bytes = text.data;
    size_t index = 0;

    for (size_t at = 0; at < text.len; index++) {
        size_t end = at + 1;

        while (end < text.len && (bytes[end] & 0xc0) == 0x80) {
            end++;
        }
        if (end - at == len && memcmp(bytes + at, character, len) == 0) {
            *out_index = index;
            return at;
        }
        at = end;
    }
    return SIZE_MAX;
}

static enum sirix_status translate(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_bytes map = text_argument(call, 1);
    struct sirix_bytes trans = text_argument(call, 2);
    const uint8_t *bytes = text.data;
    struct sirix_buf buf;
    enum sirix_status status = SIRIX_OK;

    text_buffer_init(&buf);
    for (size_t at = 0; status == SIRIX_OK && at < text.len;) {
        struct sirix_bytes put = {.data = bytes + at, .len = 1};
        size_t index = 0;

        while (at + put.len < text.len && (bytes[at + put.len] & 0xc0) == 0x80) {
            put.len++;
        }
        at += put.len;
        if (find_char(map, put.data, put.len, &index) != SIZE_MAX) {
            put = between(trans, (double)index + 1, (double)index + 2);
        }
        status = sirix_buf_append_bytes(&buf, put, &err->base);
        if (status == SIRIX_OK) {
            status = sirix_work_tick(call->work, 1 + map.len / SIRIX_WORK_BYTES_PER_UNIT, err);
        }
    }
    return give_buffer(call, status, &buf, out, err);
}

/* --- Looking for a text in a text ------------------------------------------------------------------ */

/* Where needle begins in text; SIZE_MAX: nowhere. An empty one is at 0. */
static size_t find(struct sirix_bytes text, struct sirix_bytes needle)
{
    if (needle.len == 0) {
        return 0;
    }
    if (text.len < needle.len) {
        return SIZE_MAX;
    }
    const char *found = memmem(text.data, text.len, needle.data, needle.len);
    return found == NULL ? SIZE_MAX : (size_t)(found - (const char *)text.data);
}

enum search { SEARCH_CONTAINS, SEARCH_STARTS, SEARCH_ENDS, SEARCH_BEFORE, SEARCH_AFTER };

static enum sirix_status search(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_bytes needle = text_argument(call, 1);
    const char *bytes = text.data;
    size_t at = 0;
    enum sirix_status status = check_collation(call, 2, err);

    if (status == SIRIX_OK) {
        status = tick_bytes(call, text.len, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    switch ((enum search)call->function->detail) {
    case SEARCH_CONTAINS:
        return give_boolean(call, find(text, needle) != SIZE_MAX, out, err);
    case SEARCH_STARTS:
        return give_boolean(call,
                            needle.len <= text.len &&
                                (needle.len == 0 || memcmp(bytes, needle.data, needle.len) == 0),
                            out, err);
    case SEARCH_ENDS:
        return give_boolean(call,
                            needle.len <= text.len &&
                                (needle.len == 0 || memcmp(bytes + text.len - needle.len,
                                                           needle.data, needle.len) == 0),
                            out, err);
    case SEARCH_BEFORE:
        at = find(text, needle);
        text.len = at == SIZE_MAX ? 0 : at;
        return give_text(call, text, out, err);
    case SEARCH_AFTER:
        at = find(text, needle);
        if (at == SIZE_MAX) {
            return give_text(call, literal_bytes(""), out, err);
        }
        return give_text(call,
                         (struct sirix_bytes){.data = bytes + at + needle.len,
                                              .len = text.len - at - needle.len},
                         out, err);
    }
    return SIRIX_INTERNAL;
}

static enum sirix_status compare(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    enum sirix_status status = check_collation(call, 2, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!has_argument(call, 0) || !has_argument(call, 1)) {
        return give_nothing(out);
    }
    int order = sirix_text_compare(text_argument(call, 0), text_argument(call, 1));

    if (call->function->detail != 0) {
        return give_boolean(call, order == 0, out, err);
    }
    return give_integer(call, (order > 0) - (order < 0), out, err);
}

/* Under the one collation a text is its own key. */
static enum sirix_status collation_key(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    struct sirix_item key = sirix_item_string(text_argument(call, 0));
    enum sirix_status status = check_collation(call, 1, err);

    key.kind = SIRIX_ITEM_BASE64;
    key.type = SIRIX_TYPE_BASE64_BINARY;
    return status != SIRIX_OK ? status : give(call, key, out, err);
}

#define SEARCH(title, which, result_type)                                                          \
    ROW(FN, title, 2, 3, PURE, search, which, T(result_type, ONE), T(STRING, OPTIONAL),            \
        T(STRING, OPTIONAL), T(STRING, ONE))

static const struct sirix_function rows[] = {
    ROW(FN, "concat", 2, 2, PURE | SIRIX_FUNCTION_VARIADIC, concat, 0, T(STRING, ONE),
        T(ATOMIC, OPTIONAL), T(ATOMIC, OPTIONAL)),
    ROW(FN, "string-join", 1, 2, PURE | STREAMS, string_join, 0, T(STRING, ONE), T(ATOMIC, MANY),
        T(STRING, ONE)),
    ROW(FN, "substring", 2, 3, PURE, substring, 0, T(STRING, ONE), T(STRING, OPTIONAL),
        T(DOUBLE, ONE), T(DOUBLE, ONE)),
    ROW(FN, "string-length", 0, 0, FOCUS, string_length, 0, T(INTEGER, ONE), {0}),
    ROW(FN, "string-length", 1, 1, PURE, string_length, 0, T(INTEGER, ONE), T(STRING, OPTIONAL)),
    ROW(FN, "normalize-space", 0, 0, FOCUS, normalize_space, 0, T(STRING, ONE), {0}),
    ROW(FN, "normalize-space", 1, 1, PURE, normalize_space, 0, T(STRING, ONE), T(STRING, OPTIONAL)),
    ROW(FN, "translate", 3, 3, PURE, translate, 0, T(STRING, ONE), T(STRING, OPTIONAL),
        T(STRING, ONE), T(STRING, ONE)),
    SEARCH("contains", SEARCH_CONTAINS, BOOLEAN),
    SEARCH("starts-with", SEARCH_STARTS, BOOLEAN),
    SEARCH("ends-with", SEARCH_ENDS, BOOLEAN),
    SEARCH("substring-before", SEARCH_BEFORE, STRING),
    SEARCH("substring-after", SEARCH_AFTER, STRING),
    ROW(FN, "compare", 2, 3, PURE, compare, 0, T(INTEGER, OPTIONAL), T(STRING, OPTIONAL),
        T(STRING, OPTIONAL), T(STRING, ONE)),
    ROW(FN, "collation-key", 1, 2, PURE, collation_key, 0, T(BASE64_BINARY, ONE), T(STRING, ONE),
        T(STRING, ONE)),
    ROW(FN, "codepoint-equal", 2, 2, PURE, compare, 1, T(BOOLEAN, OPTIONAL), T(STRING, OPTIONAL),
        T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_string = {rows, sizeof(rows) / sizeof(rows[0])};
