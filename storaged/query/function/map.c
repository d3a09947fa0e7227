/*
 * map: on objects. Keys are strings; any other atomic key is used by its string value. A value that is
 * a sequence of none or several items comes back as that sequence, and is null or an array elsewhere.
 */
#include "query/function/support.h"
#include "query/function/tables.h"

/* Argument i, an atomic, as the name of a field. */
static enum sirix_status key_argument(struct sirix_call *call, size_t i, struct sirix_bytes *out,
                                      struct sirix_query_error *err)
{
    return sirix_item_text(call->work, argument(call, i), out, err);
}

static enum sirix_status size(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    uint64_t count = 0;
    enum sirix_status status = sirix_container_size(call->work, argument(call, 0), &count, err);

    return status != SIRIX_OK ? status : give_integer(call, (int64_t)count, out, err);
}

static enum sirix_status contains(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes key = {0};
    struct sirix_item found = {0};
    enum sirix_status status = key_argument(call, 1, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_object_field(call->work, argument(call, 0), key, &found, err);
    }
    return status != SIRIX_OK ? status
                              : give_boolean(call, found.kind != SIRIX_ITEM_NONE, out, err);
}

static enum sirix_status get(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_bytes key = {0};
    struct sirix_item found = {0};
    enum sirix_status status = key_argument(call, 1, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_object_field(call->work, argument(call, 0), key, &found, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return found.kind == SIRIX_ITEM_NONE ? give_nothing(out)
                                         : sirix_item_spread(call->work, found, out, err);
}

static enum sirix_status entry(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_bytes key = {0};
    struct sirix_item value = {0};
    struct sirix_item object = {0};
    enum sirix_status status = key_argument(call, 0, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_item_box_sequence(call->work, &call->arguments[1], &value, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_new(call->work, 1, &object, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_add(call->work, object, key, value, err);
    }
    return status != SIRIX_OK ? status : give(call, object, out, err);
}

/* --- Copies with changes ------------------------------------------------------------------------------ */

/* Whether a name is among the keys of an argument. */
static bool is_among(const struct sirix_bytes *keys, size_t count, struct sirix_bytes name)
{
    for (size_t i = 0; i < count; i++) {
        if (sirix_bytes_equal(keys[i], name)) {
            return true;
        }
    }
    return false;
}

/* Adds the fields of an object to another, but for some. */
static enum sirix_status copy_fields(struct sirix_call *call, struct sirix_item from,
                                     struct sirix_item to, const struct sirix_bytes *without,
                                     size_t without_count, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(work, from, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};

        status = sirix_work_tick(work, 1 + without_count / 8, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (!is_among(without, without_count, name)) {
            status = sirix_object_set(work, to, name, value, err);
        }
    }
    return status;
}

static enum sirix_status put(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_bytes key = {0};
    struct sirix_item value = {0};
    struct sirix_item object = {0};
    enum sirix_status status = key_argument(call, 1, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_item_box_sequence(call->work, &call->arguments[2], &value, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_new(call->work, 0, &object, err);
    }
    if (status == SIRIX_OK) {
        status = copy_fields(call, argument(call, 0), object, NULL, 0, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_set(call->work, object, key, value, err);
    }
    return status != SIRIX_OK ? status : give(call, object, out, err);
}

static enum sirix_status remove_keys(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    size_t count = call->arguments[1].count;
    struct sirix_item object = {0};
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(call->work->arena, count,
                                                  sizeof(struct sirix_bytes), &memory, &err->base);
    struct sirix_bytes *keys = memory;

    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        status =
            sirix_item_text(call->work, sirix_sequence_at(&call->arguments[1], i), &keys[i], err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_new(call->work, 0, &object, err);
    }
    if (status == SIRIX_OK) {
        status = copy_fields(call, argument(call, 0), object, keys, count, err);
    }
    return status != SIRIX_OK ? status : give(call, object, out, err);
}

/* --- merge() -------------------------------------------------------------------------------------------- */

enum duplicates {
    DUPLICATES_FIRST,
    DUPLICATES_LAST,
    DUPLICATES_COMBINE,
    DUPLICATES_REJECT,
};

static enum sirix_status duplicates_option(struct sirix_call *call, enum duplicates *out,
                                           struct sirix_query_error *err)
{
    static const struct {
        const char *name;
        enum duplicates value;
    } known[] = {
        {"use-first", DUPLICATES_FIRST}, {"use-last", DUPLICATES_LAST},
        {"use-any", DUPLICATES_FIRST},   {"combine", DUPLICATES_COMBINE},
        {"reject", DUPLICATES_REJECT},
    };
    struct sirix_item option = {0};

    *out = DUPLICATES_FIRST;
    if (!has_argument(call, 1)) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_object_field(call->work, argument(call, 1),
                                                  literal_bytes("duplicates"), &option, err);
    if (status != SIRIX_OK || option.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    for (size_t i = 0; sirix_item_is_text(option) && i < sizeof(known) / sizeof(known[0]); i++) {
        if (bytes_are(sirix_item_bytes(option), known[i].name)) {
            *out = known[i].value;
            return SIRIX_OK;
        }
    }
    return sirix_query_fail(err, "FOJS0005", "the option duplicates has an unknown value");
}

/* Both values of a key, as one sequence. */
static enum sirix_status combine(struct sirix_work *work, struct sirix_item a, struct sirix_item b,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_sequence first = {0};
    struct sirix_sequence second = {0};
    struct sirix_sequence both = {0};
    enum sirix_status status = sirix_item_spread(work, a, &first, err);

    if (status == SIRIX_OK) {
        status = sirix_item_spread(work, b, &second, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_append_all(work, &both, &first, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_append_all(work, &both, &second, err);
    }
    return status != SIRIX_OK ? status : sirix_item_box_sequence(work, &both, out, err);
}

static enum sirix_status merge_field(struct sirix_work *work, struct sirix_item to,
                                     struct sirix_bytes name, struct sirix_item value,
                                     enum duplicates duplicates, struct sirix_query_error *err)
{
    struct sirix_item there = {0};
    enum sirix_status status = sirix_object_field(work, to, name, &there, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (there.kind != SIRIX_ITEM_NONE) {
        switch (duplicates) {
        case DUPLICATES_FIRST:
            return SIRIX_OK;
        case DUPLICATES_REJECT:
            return sirix_query_fail(err, "FOJS0003", "the key \"%.*s\" is there twice",
                                    (int)(name.len > 100 ? 100 : name.len),
                                    (const char *)name.data);
        case DUPLICATES_COMBINE:
            status = combine(work, there, value, &value, err);
            break;
        case DUPLICATES_LAST:
            break;
        }
    }
    return status != SIRIX_OK ? status : sirix_object_set(work, to, name, value, err);
}

static enum sirix_status merge_object(struct sirix_work *work, struct sirix_item to,
                                      struct sirix_item from, enum duplicates duplicates,
                                      struct sirix_query_error *err)
{
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(work, from, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = merge_field(work, to, name, value, duplicates, err);
    }
    return status;
}

static enum sirix_status merge(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item object = {0};
    enum duplicates duplicates = DUPLICATES_FIRST;
    enum sirix_status status = duplicates_option(call, &duplicates, err);

    if (status == SIRIX_OK) {
        status = sirix_object_new(call->work, 0, &object, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_item from = {0};

        status = next_input(call, &from, err);
        if (status != SIRIX_OK || from.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = merge_object(call->work, object, from, duplicates, err);
    }
    return status != SIRIX_OK ? status : give(call, object, out, err);
}

/* --- Over all entries ---------------------------------------------------------------------------------------- */

static enum sirix_status for_each(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_sequence all = {0};
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(call->work, argument(call, 0), &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};
        struct sirix_sequence given[2] = {{0}, {0}};
        struct sirix_sequence result = {0};

        status = sirix_cursor_next(call->work, &cursor, &name, &value, err);
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sirix_sequence_single(call->work, sirix_item_string(name), &given[0], err);
        if (status == SIRIX_OK) {
            status = sirix_item_spread(call->work, value, &given[1], err);
        }
        if (status == SIRIX_OK) {
            status = invoke(call, argument(call, 1), given, 2, &result, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_append_all(call->work, &all, &result, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

static enum sirix_status keys(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_sequence names = {0};
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(call->work, argument(call, 0), &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};

        status = sirix_work_tick(call->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(call->work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sirix_sequence_append(call->work, &names, sirix_item_string(name), err);
    }
    if (status == SIRIX_OK) {
        *out = names;
    }
    return status;
}

/* --- find() ----------------------------------------------------------------------------------------------------- */

struct level {
    struct level *outer;
    struct sirix_cursor cursor;
};

/* A container: an object's own field of the name counts, and everything within is looked at. */
static enum sirix_status enter(struct sirix_call *call, struct sirix_item item,
                               struct sirix_bytes key, struct level **top, struct sirix_item found,
                               struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_item value = {0};
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (item.kind == SIRIX_ITEM_OBJECT) {
        status = sirix_object_field(work, item, key, &value, err);
        if (status == SIRIX_OK && value.kind != SIRIX_ITEM_NONE) {
            status = sirix_array_append(work, found, value, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(work->scratch, 1, sizeof(struct level), &memory, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct level *level = memory;

    status = sirix_cursor_start(work, item, &level->cursor, err);
    level->outer = *top;
    *top = level;
    return status;
}

static enum sirix_status search(struct sirix_call *call, struct sirix_item item,
                                struct sirix_bytes key, struct sirix_item found,
                                struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(call->work->scratch);
    struct level *top = NULL;
    enum sirix_status status =
        sirix_item_is_structured(item) ? enter(call, item, key, &top, found, err) : SIRIX_OK;

    while (status == SIRIX_OK && top != NULL) {
        struct sirix_item child = {0};

        status = sirix_work_tick(call->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(call->work, &top->cursor, NULL, &child, err);
        }
        if (status == SIRIX_OK && child.kind == SIRIX_ITEM_NONE) {
            top = top->outer;
        } else if (status == SIRIX_OK && sirix_item_is_structured(child)) {
            status = enter(call, child, key, &top, found, err);
        }
    }
    sirix_arena_rewind(call->work->scratch, mark);
    return status;
}

static enum sirix_status find(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_bytes key = {0};
    struct sirix_item found = {0};
    enum sirix_status status = key_argument(call, 1, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_array_new(call->work, 0, &found, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = search(call, item, key, found, err);
    }
    return status != SIRIX_OK ? status : give(call, found, out, err);
}

static const struct sirix_sequence_type any_items[2] = {T(ITEM, MANY), T(ITEM, MANY)};
static const struct sirix_function_type takes_two = {
    .arity = 2, .parameters = any_items, .result = T(ITEM, MANY)};

static const struct sirix_function rows[] = {
    ROW(MAP, "size", 1, 1, PURE, size, 0, T(INTEGER, ONE), T(OBJECT, ONE)),
    ROW(MAP, "keys", 1, 1, PURE, keys, 0, T(STRING, MANY), T(OBJECT, ONE)),
    ROW(MAP, "contains", 2, 2, PURE, contains, 0, T(BOOLEAN, ONE), T(OBJECT, ONE), T(ATOMIC, ONE)),
    ROW(MAP, "get", 2, 2, PURE, get, 0, T(ITEM, MANY), T(OBJECT, ONE), T(ATOMIC, ONE)),
    ROW(MAP, "entry", 2, 2, PURE, entry, 0, T(OBJECT, ONE), T(ATOMIC, ONE), T(ITEM, MANY)),
    ROW(MAP, "put", 3, 3, PURE, put, 0, T(OBJECT, ONE), T(OBJECT, ONE), T(ATOMIC, ONE),
        T(ITEM, MANY)),
    ROW(MAP, "remove", 2, 2, PURE, remove_keys, 0, T(OBJECT, ONE), T(OBJECT, ONE), T(ATOMIC, MANY)),
    ROW(MAP, "merge", 1, 2, PURE | STREAMS, merge, 0, T(OBJECT, ONE), T(OBJECT, MANY),
        T(OBJECT, ONE)),
    ROW(MAP, "find", 2, 2, PURE | STREAMS, find, 0, T(ARRAY, ONE), T(ITEM, MANY), T(ATOMIC, ONE)),
    {.ns = SIRIX_NS_MAP,
     .name = "for-each",
     .min_arity = 2,
     .max_arity = 2,
     .flags = HIGHER,
     .result = T(ITEM, MANY),
     .parameters = {T(OBJECT, ONE), {.type = SIRIX_TYPE_FUNCTION, .function = &takes_two}},
     .call = for_each},
};

const struct sirix_function_table sirix_functions_map = {rows, sizeof(rows) / sizeof(rows[0])};
