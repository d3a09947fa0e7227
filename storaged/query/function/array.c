/*
 * array: on arrays, with positions from 1 as XQuery has them. Members that are sequences of none or
 * several items come back as such (see query/value/container.h).
 */
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- Members ------------------------------------------------------------------------------------------ */

/* All members, as sequences. */
struct members {
    struct sirix_sequence *list;
    size_t count;
};

static enum sirix_status read_members(struct sirix_call *call, struct sirix_item array,
                                      struct members *out, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    uint64_t size = 0;
    void *memory = NULL;
    enum sirix_status status = sirix_container_size(work, array, &size, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(work->arena, (size_t)size, sizeof(struct sirix_sequence),
                                    &memory, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_cursor_start(work, array, &cursor, err);
    }
    out->list = memory;
    out->count = 0;
    while (status == SIRIX_OK && out->count < size) {
        struct sirix_item item = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, NULL, &item, err);
        }
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK) {
            status = sirix_item_spread(work, item, &out->list[out->count], err);
            out->count++;
        }
    }
    return status;
}

static enum sirix_status add_member(struct sirix_call *call, struct sirix_item array,
                                    const struct sirix_sequence *member,
                                    struct sirix_query_error *err)
{
    struct sirix_item boxed = {0};
    enum sirix_status status = sirix_item_box_sequence(call->work, member, &boxed, err);

    return status != SIRIX_OK ? status : sirix_array_append(call->work, array, boxed, err);
}

/* Members [from, to) of the first argument at the end of an array. */
static enum sirix_status add_members(struct sirix_call *call, struct sirix_item array,
                                     const struct members *members, size_t from, size_t to,
                                     struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = from; status == SIRIX_OK && i < to; i++) {
        status = add_member(call, array, &members->list[i], err);
    }
    return status;
}

static enum sirix_status begin(struct sirix_call *call, struct members *members,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = read_members(call, argument(call, 0), members, err);

    return status != SIRIX_OK ? status : sirix_array_new(call->work, members->count, out, err);
}

/* A position in 1..most, from 0; FOAY0001. */
static enum sirix_status position(struct sirix_item item, size_t most, size_t *out,
                                  struct sirix_query_error *err)
{
    if (item.kind != SIRIX_ITEM_INTEGER || item.value.integer < 1 ||
        (uint64_t)item.value.integer > most) {
        return sirix_query_fail(err, "FOAY0001", "a position that is not in 1 to %zu", most);
    }
    *out = (size_t)item.value.integer - 1;
    return SIRIX_OK;
}

/* --- One member ------------------------------------------------------------------------------------------ */

static enum sirix_status size(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    uint64_t count = 0;
    enum sirix_status status = sirix_container_size(call->work, argument(call, 0), &count, err);

    return status != SIRIX_OK ? status : give_integer(call, (int64_t)count, out, err);
}

/* get() and, detail 1, head(). */
static enum sirix_status get(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_item array = argument(call, 0);
    struct sirix_item wanted =
        call->function->detail == 1 ? sirix_item_integer(1) : argument(call, 1);
    struct sirix_item member = {0};
    uint64_t count = 0;
    size_t at = 0;
    enum sirix_status status = sirix_container_size(call->work, array, &count, err);

    if (status == SIRIX_OK) {
        status = position(wanted, (size_t)count, &at, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_array_element(call->work, array, at, &member, err);
    }
    return status != SIRIX_OK ? status : sirix_item_spread(call->work, member, out, err);
}

/* --- Copies with changes ------------------------------------------------------------------------------------ */

/* put(array, position, member), insert-before() (detail 1). */
static enum sirix_status put(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    bool inserts = call->function->detail == 1;
    struct members members;
    struct sirix_item array = {0};
    size_t at = 0;
    enum sirix_status status = begin(call, &members, &array, err);

    if (status == SIRIX_OK) {
        status = position(argument(call, 1), members.count + (inserts ? 1 : 0), &at, err);
    }
    if (status == SIRIX_OK) {
        status = add_members(call, array, &members, 0, at, err);
    }
    if (status == SIRIX_OK) {
        status = add_member(call, array, &call->arguments[2], err);
    }
    if (status == SIRIX_OK) {
        status = add_members(call, array, &members, inserts ? at : at + 1, members.count, err);
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static enum sirix_status append(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    enum sirix_status status = begin(call, &members, &array, err);

    if (status == SIRIX_OK) {
        status = add_members(call, array, &members, 0, members.count, err);
    }
    if (status == SIRIX_OK) {
        status = add_member(call, array, &call->arguments[1], err);
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static enum sirix_status remove_members(struct sirix_call *call, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    void *memory = NULL;
    enum sirix_status status = begin(call, &members, &array, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(call->work->arena, members.count, 1, &memory, &err->base);
    }
    uint8_t *drop = memory;

    for (size_t i = 0; status == SIRIX_OK && i < call->arguments[1].count; i++) {
        size_t at = 0;

        status = position(sirix_sequence_at(&call->arguments[1], i), members.count, &at, err);
        if (status == SIRIX_OK) {
            drop[at] = 1;
        }
    }
    for (size_t i = 0; status == SIRIX_OK && i < members.count; i++) {
        if (drop[i] == 0) {
            status = add_member(call, array, &members.list[i], err);
        }
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

/* subarray(array, start, length?) and, detail 1, tail(). */
static enum sirix_status subarray(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    struct sirix_item length = argument(call, 2);
    size_t from = 0;
    enum sirix_status status = begin(call, &members, &array, err);

    if (status == SIRIX_OK && length.kind != SIRIX_ITEM_NONE && sirix_number_sign(length) < 0) {
        status = sirix_query_fail(err, "FOAY0002", "a length below 0");
    }
    if (status == SIRIX_OK && call->function->detail == 1) {
        status = position(sirix_item_integer(1), members.count, &from, err);
        from = 1;
    } else if (status == SIRIX_OK) {
        status = position(argument(call, 1), members.count + 1, &from, err);
    }
    size_t to = members.count;
    if (status == SIRIX_OK && length.kind != SIRIX_ITEM_NONE) {
        if (length.kind != SIRIX_ITEM_INTEGER ||
            (uint64_t)length.value.integer > members.count - from) {
            return sirix_query_fail(err, "FOAY0001", "a length that goes beyond the end");
        }
        to = from + (size_t)length.value.integer;
    }
    if (status == SIRIX_OK) {
        status = add_members(call, array, &members, from, to, err);
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static enum sirix_status reverse(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    enum sirix_status status = begin(call, &members, &array, err);

    for (size_t i = members.count; status == SIRIX_OK && i > 0; i--) {
        status = add_member(call, array, &members.list[i - 1], err);
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static enum sirix_status join(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_item array = {0};
    enum sirix_status status = sirix_array_new(call->work, 0, &array, err);

    while (status == SIRIX_OK) {
        struct sirix_item item = {0};
        struct members members;

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = read_members(call, item, &members, err);
        if (status == SIRIX_OK) {
            status = add_members(call, array, &members, 0, members.count, err);
        }
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

/* flatten(): the members of arrays, and of arrays in them; other items as they are. */
static enum sirix_status flatten(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_sequence all = {0};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = item.kind == SIRIX_ITEM_ARRAY ? sirix_array_flatten(call->work, item, &all, err)
                                               : sirix_sequence_append(call->work, &all, item, err);
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

/* --- With functions ------------------------------------------------------------------------------------------ */

/* for-each() and, detail 1, filter(). */
static enum sirix_status for_each(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    enum sirix_status status = begin(call, &members, &array, err);

    for (size_t i = 0; status == SIRIX_OK && i < members.count; i++) {
        struct sirix_sequence result = {0};
        bool filters = call->function->detail != 0;
        bool keeps = true;

        status = invoke(call, argument(call, 1), &members.list[i], 1, &result, err);
        if (status == SIRIX_OK && filters) {
            status = truth_of_filter(&result, &keeps, err);
        }
        if (status == SIRIX_OK && keeps) {
            status = add_member(call, array, filters ? &members.list[i] : &result, err);
        }
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

/* fold-left() and, detail 1, fold-right(). */
static enum sirix_status fold(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    bool from_right = call->function->detail == 1;
    struct sirix_sequence total = call->arguments[1];
    struct members members;
    enum sirix_status status = read_members(call, argument(call, 0), &members, err);

    for (size_t i = 0; status == SIRIX_OK && i < members.count; i++) {
        struct sirix_sequence member = members.list[from_right ? members.count - 1 - i : i];
        struct sirix_sequence given[2] = {from_right ? member : total, from_right ? total : member};

        status = invoke(call, argument(call, 2), given, 2, &total, err);
    }
    if (status == SIRIX_OK) {
        *out = total;
    }
    return status;
}

static enum sirix_status for_each_pair(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    struct members a;
    struct members b;
    struct sirix_item array = {0};
    enum sirix_status status = begin(call, &a, &array, err);

    if (status == SIRIX_OK) {
        status = read_members(call, argument(call, 1), &b, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < a.count && i < b.count; i++) {
        struct sirix_sequence given[2] = {a.list[i], b.list[i]};
        struct sirix_sequence result = {0};

        status = invoke(call, argument(call, 2), given, 2, &result, err);
        if (status == SIRIX_OK) {
            status = add_member(call, array, &result, err);
        }
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static enum sirix_status sort(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct members members;
    struct sirix_item array = {0};
    size_t *order = NULL;
    enum sirix_status status = check_collation(call, 1, err);

    if (status == SIRIX_OK) {
        status = begin(call, &members, &array, err);
    }
    if (status == SIRIX_OK) {
        status = sort_members(call, members.list, members.count, argument(call, 2), &order, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < members.count; i++) {
        status = add_member(call, array, &members.list[order[i]], err);
    }
    return status != SIRIX_OK ? status : give(call, array, out, err);
}

static const struct sirix_sequence_type any_items[2] = {T(ITEM, MANY), T(ITEM, MANY)};
static const struct sirix_function_type takes_one = {
    .arity = 1, .parameters = any_items, .result = T(ITEM, MANY)};
static const struct sirix_function_type takes_two = {
    .arity = 2, .parameters = any_items, .result = T(ITEM, MANY)};

#define CALLBACK(signature)                                                                        \
    {                                                                                              \
        .type = SIRIX_TYPE_FUNCTION, .function = &(signature)                                      \
    }

static const struct sirix_function rows[] = {
    ROW(ARRAY, "size", 1, 1, PURE, size, 0, T(INTEGER, ONE), T(ARRAY, ONE)),
    ROW(ARRAY, "get", 2, 2, PURE, get, 0, T(ITEM, MANY), T(ARRAY, ONE), T(INTEGER, ONE)),
    ROW(ARRAY, "head", 1, 1, PURE, get, 1, T(ITEM, MANY), T(ARRAY, ONE)),
    ROW(ARRAY, "tail", 1, 1, PURE, subarray, 1, T(ARRAY, ONE), T(ARRAY, ONE)),
    ROW(ARRAY, "put", 3, 3, PURE, put, 0, T(ARRAY, ONE), T(ARRAY, ONE), T(INTEGER, ONE),
        T(ITEM, MANY)),
    ROW(ARRAY, "insert-before", 3, 3, PURE, put, 1, T(ARRAY, ONE), T(ARRAY, ONE), T(INTEGER, ONE),
        T(ITEM, MANY)),
    ROW(ARRAY, "append", 2, 2, PURE, append, 0, T(ARRAY, ONE), T(ARRAY, ONE), T(ITEM, MANY)),
    ROW(ARRAY, "subarray", 2, 3, PURE, subarray, 0, T(ARRAY, ONE), T(ARRAY, ONE), T(INTEGER, ONE),
        T(INTEGER, ONE)),
    ROW(ARRAY, "remove", 2, 2, PURE, remove_members, 0, T(ARRAY, ONE), T(ARRAY, ONE),
        T(INTEGER, MANY)),
    ROW(ARRAY, "reverse", 1, 1, PURE, reverse, 0, T(ARRAY, ONE), T(ARRAY, ONE)),
    ROW(ARRAY, "join", 1, 1, PURE | STREAMS, join, 0, T(ARRAY, ONE), T(ARRAY, MANY)),
    ROW(ARRAY, "flatten", 1, 1, PURE | STREAMS, flatten, 0, T(ITEM, MANY), T(ITEM, MANY)),
    ROW(JN, "flatten", 1, 1, PURE | STREAMS, flatten, 0, T(ITEM, MANY), T(ITEM, MANY)),
    ROW(ARRAY, "for-each", 2, 2, HIGHER, for_each, 0, T(ARRAY, ONE), T(ARRAY, ONE),
        CALLBACK(takes_one)),
    ROW(ARRAY, "filter", 2, 2, HIGHER, for_each, 1, T(ARRAY, ONE), T(ARRAY, ONE),
        CALLBACK(takes_one)),
    ROW(ARRAY, "fold-left", 3, 3, HIGHER, fold, 0, T(ITEM, MANY), T(ARRAY, ONE), T(ITEM, MANY),
        CALLBACK(takes_two)),
    ROW(ARRAY, "fold-right", 3, 3, HIGHER, fold, 1, T(ITEM, MANY), T(ARRAY, ONE), T(ITEM, MANY),
        CALLBACK(takes_two)),
    ROW(ARRAY, "for-each-pair", 3, 3, HIGHER, for_each_pair, 0, T(ARRAY, ONE), T(ARRAY, ONE),
        T(ARRAY, ONE), CALLBACK(takes_two)),
    ROW(ARRAY, "sort", 1, 3, HIGHER, sort, 0, T(ARRAY, ONE), T(ARRAY, ONE), T(STRING, OPTIONAL),
        T(FUNCTION, ONE)),
};

const struct sirix_function_table sirix_functions_array = {rows, sizeof(rows) / sizeof(rows[0])};
