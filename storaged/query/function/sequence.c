/*
 * Sequences: head, tail, subsequence, remove, insert-before, reverse, distinct-values, index-of, the
 * cardinality functions. Those that can give their result item by item have an iterator.
 */
#include <math.h>

#include "query/function/support.h"
#include "query/function/tables.h"

/* --- Parts of a stream ------------------------------------------------------------------------------ */

/* Gives the items of a stream whose positions are in [from, to), without the one at `without`. */
struct part_iterator {
    struct sirix_iterator iterator; /* First. */
    struct sirix_call call;
    struct sirix_sequence insert; /* Goes before the item at insert_at. */
    size_t inserted;
    double from;
    double to;
    double without;
    double insert_at;
    double position; /* Of the last item read. */
    bool is_done;
};

static enum sirix_status next_part(struct sirix_iterator *base, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct part_iterator *part = (struct part_iterator *)base;
    struct sirix_item item = {0};

    for (;;) {
        bool inserts = part->inserted < part->insert.count &&
                       (part->is_done || part->position + 1 >= part->insert_at);

        if (inserts) {
            *out = sirix_sequence_at(&part->insert, part->inserted++);
            return SIRIX_OK;
        }
        if (part->is_done || part->position + 1 >= part->to) {
            *out = (struct sirix_item){0};
            return SIRIX_OK;
        }
        enum sirix_status status = next_input(&part->call, &item, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (item.kind == SIRIX_ITEM_NONE) {
            part->is_done = true;
            continue;
        }
        part->position++;
        if (part->position >= part->from && part->position != part->without) {
            *out = item;
            return SIRIX_OK;
        }
    }
}

static enum sirix_status open_part(struct sirix_call *call, struct part_iterator **out,
                                   struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(struct part_iterator), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct part_iterator *part = memory;

        part->iterator.next = next_part;
        part->call = *call;
        part->to = HUGE_VAL;
        *out = part;
    }
    return status;
}

static double rounded(struct sirix_item number)
{
    return floor(sirix_number_to_double(number) + 0.5);
}

static enum sirix_status open_subsequence(struct sirix_call *call, struct sirix_iterator **out,
                                          struct sirix_query_error *err)
{
    struct part_iterator *part = NULL;
    enum sirix_status status = open_part(call, &part, err);

    if (status != SIRIX_OK) {
        return status;
    }
    part->from = rounded(argument(call, 1));
    if (call->argument_count > 2) {
        part->to = part->from + rounded(argument(call, 2));
    }
    if (isnan(part->from) || isnan(part->to)) {
        part->to = 0; /* No position is in the range. */
    }
    *out = &part->iterator;
    return SIRIX_OK;
}

static enum sirix_status open_tail(struct sirix_call *call, struct sirix_iterator **out,
                                   struct sirix_query_error *err)
{
    struct part_iterator *part = NULL;
    enum sirix_status status = open_part(call, &part, err);

    if (status == SIRIX_OK) {
        part->from = 2;
        *out = &part->iterator;
    }
    return status;
}

static enum sirix_status open_remove(struct sirix_call *call, struct sirix_iterator **out,
                                     struct sirix_query_error *err)
{
    struct part_iterator *part = NULL;
    enum sirix_status status = open_part(call, &part, err);

    if (status == SIRIX_OK) {
        part->without = sirix_number_to_double(argument(call, 1));
        *out = &part->iterator;
    }
    return status;
}

static enum sirix_status open_insert(struct sirix_call *call, struct sirix_iterator **out,
                                     struct sirix_query_error *err)
{
    struct part_iterator *part = NULL;
    enum sirix_status status = open_part(call, &part, err);

    if (status == SIRIX_OK) {
        part->insert_at = sirix_number_to_double(argument(call, 1));
        part->insert = call->arguments[2];
        *out = &part->iterator;
    }
    return status;
}

/* unordered(): the stream as it is. */
static enum sirix_status open_all(struct sirix_call *call, struct sirix_iterator **out,
                                  struct sirix_query_error *err)
{
    struct part_iterator *part = NULL;
    enum sirix_status status = open_part(call, &part, err);

    if (status == SIRIX_OK) {
        *out = &part->iterator;
    }
    return status;
}

/* --- distinct-values() -------------------------------------------------------------------------------- */

enum { FIRST_SLOTS = 16 };

/* The values seen so far, in order, and a hash table of their positions + 1. */
struct distinct_iterator {
    struct sirix_iterator iterator; /* First. */
    struct sirix_call call;
    struct sirix_sequence seen;
    size_t *slots;
    size_t slot_count;
};

static enum sirix_status grow_slots(struct distinct_iterator *distinct,
                                    struct sirix_query_error *err)
{
    struct sirix_work *work = distinct->call.work;
    size_t count = distinct->slot_count == 0 ? FIRST_SLOTS : 2 * distinct->slot_count;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(work->arena, count, sizeof(*distinct->slots), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    size_t *slots = memory;

    for (size_t i = 0; i < distinct->seen.count; i++) {
        size_t slot = (size_t)sirix_item_hash(work, distinct->seen.items[i]) & (count - 1);

        while (slots[slot] != 0) {
            slot = (slot + 1) & (count - 1);
        }
        slots[slot] = i + 1;
    }
    distinct->slots = slots;
    distinct->slot_count = count;
    return SIRIX_OK;
}

/* Whether the item is new; it is then remembered. */
static enum sirix_status add_distinct(struct distinct_iterator *distinct, struct sirix_item item,
                                      bool *out_is_new, struct sirix_query_error *err)
{
    struct sirix_work *work = distinct->call.work;

    if (2 * distinct->seen.count >= distinct->slot_count) {
        enum sirix_status status = grow_slots(distinct, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    size_t slot = (size_t)sirix_item_hash(work, item) & (distinct->slot_count - 1);

    for (; distinct->slots[slot] != 0; slot = (slot + 1) & (distinct->slot_count - 1)) {
        if (sirix_item_same(work, distinct->seen.items[distinct->slots[slot] - 1], item)) {
            *out_is_new = false;
            return SIRIX_OK;
        }
    }
    enum sirix_status status = sirix_sequence_append(work, &distinct->seen, item, err);
    if (status == SIRIX_OK) {
        distinct->slots[slot] = distinct->seen.count;
        *out_is_new = true;
    }
    return status;
}

static enum sirix_status next_distinct(struct sirix_iterator *base, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    struct distinct_iterator *distinct = (struct distinct_iterator *)base;

    for (;;) {
        struct sirix_item item = {0};
        bool is_new = false;
        enum sirix_status status = next_input(&distinct->call, &item, err);

        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = add_distinct(distinct, item, &is_new, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (is_new || item.kind == SIRIX_ITEM_NONE) {
            *out = item;
            return SIRIX_OK;
        }
    }
}

static enum sirix_status open_distinct(struct sirix_call *call, struct sirix_iterator **out,
                                       struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = check_collation(call, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(call->work->arena, 1, sizeof(struct distinct_iterator), &memory,
                                    &err->base);
    }
    if (status == SIRIX_OK) {
        struct distinct_iterator *distinct = memory;

        distinct->iterator.next = next_distinct;
        distinct->call = *call;
        *out = &distinct->iterator;
    }
    return status;
}

/* --- The same, materialised ----------------------------------------------------------------------------- */

/* What functions with `open` do when all of their result is wanted. */
static enum sirix_status drain(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_iterator *iterator = NULL;
    enum sirix_status status = call->function->open(call, &iterator, err);

    return status != SIRIX_OK ? status : sirix_iterator_drain(call->work, iterator, out, err);
}

static enum sirix_status head(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = next_input(call, &item, err);

    if (status != SIRIX_OK) {
        return status;
    }
    return item.kind == SIRIX_ITEM_NONE ? give_nothing(out) : give(call, item, out, err);
}

static enum sirix_status reverse(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    const struct sirix_sequence *from = &call->arguments[0];
    struct sirix_sequence to = {0};
    enum sirix_status status = sirix_sequence_reserve(call->work, &to, from->count, err);

    for (size_t i = from->count; status == SIRIX_OK && i > 0; i--) {
        status = sirix_work_tick(call->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_sequence_append(call->work, &to, sirix_sequence_at(from, i - 1), err);
        }
    }
    if (status == SIRIX_OK) {
        *out = to;
    }
    return status;
}

static enum sirix_status index_of(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item wanted = argument(call, 1);
    struct sirix_sequence positions = {0};
    enum sirix_status status = check_collation(call, 2, err);

    for (int64_t position = 1; status == SIRIX_OK; position++) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        bool is_nan = sirix_number_is_nan(item); /* Equal to nothing here. */

        if (status == SIRIX_OK && !is_nan && sirix_item_same(call->work, item, wanted)) {
            status =
                sirix_sequence_append(call->work, &positions, sirix_item_integer(position), err);
        }
    }
    if (status == SIRIX_OK) {
        *out = positions;
    }
    return status;
}

/* zero-or-one, one-or-more, exactly-one; detail: the occurrence that is allowed. */
static enum sirix_status cardinality(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    enum sirix_occurrence allowed = (enum sirix_occurrence)call->function->detail;

    if (!sirix_occurrence_allows(allowed, call->arguments[0].count)) {
        const char *code = allowed == SIRIX_OCCURRENCE_OPTIONAL ? "FORG0003"
                           : allowed == SIRIX_OCCURRENCE_SOME   ? "FORG0004"
                                                                : "FORG0005";

        return sirix_query_fail(err, code, "%s() was given %zu items", call->function->name,
                                call->arguments[0].count);
    }
    *out = call->arguments[0];
    return SIRIX_OK;
}

/* ROW with an iterator. */
#define STREAM_ROW(title, min, max, opener, item_type, ...)                                        \
    {                                                                                              \
        .ns = SIRIX_NS_FN, .name = (title), .min_arity = (min), .max_arity = (max),                \
        .flags = PURE | STREAMS, .result = T(item_type, MANY), .parameters = {__VA_ARGS__},        \
        .call = drain, .open = (opener)                                                            \
    }

static const struct sirix_function rows[] = {
    STREAM_ROW("tail", 1, 1, open_tail, ITEM, T(ITEM, MANY)),
    STREAM_ROW("subsequence", 2, 3, open_subsequence, ITEM, T(ITEM, MANY), T(DOUBLE, ONE),
               T(DOUBLE, ONE)),
    STREAM_ROW("remove", 2, 2, open_remove, ITEM, T(ITEM, MANY), T(INTEGER, ONE)),
    STREAM_ROW("insert-before", 3, 3, open_insert, ITEM, T(ITEM, MANY), T(INTEGER, ONE),
               T(ITEM, MANY)),
    STREAM_ROW("unordered", 1, 1, open_all, ITEM, T(ITEM, MANY)),
    STREAM_ROW("distinct-values", 1, 2, open_distinct, ATOMIC, T(ATOMIC, MANY), T(STRING, ONE)),
    ROW(FN, "head", 1, 1, PURE | AGGREGATE, head, 0, T(ITEM, OPTIONAL), T(ITEM, MANY)),
    ROW(FN, "reverse", 1, 1, PURE, reverse, 0, T(ITEM, MANY), T(ITEM, MANY)),
    ROW(FN, "index-of", 2, 3, PURE | STREAMS, index_of, 0, T(INTEGER, MANY), T(ATOMIC, MANY),
        T(ATOMIC, ONE), T(STRING, ONE)),
    ROW(FN, "zero-or-one", 1, 1, PURE, cardinality, SIRIX_OCCURRENCE_OPTIONAL, T(ITEM, OPTIONAL),
        T(ITEM, MANY)),
    ROW(FN, "one-or-more", 1, 1, PURE, cardinality, SIRIX_OCCURRENCE_SOME, T(ITEM, SOME),
        T(ITEM, MANY)),
    ROW(FN, "exactly-one", 1, 1, PURE, cardinality, SIRIX_OCCURRENCE_ONE, T(ITEM, ONE),
        T(ITEM, MANY)),
};

const struct sirix_function_table sirix_functions_sequence = {rows, sizeof(rows) / sizeof(rows[0])};
