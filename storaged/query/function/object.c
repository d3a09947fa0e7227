/*
 * JSONiq's own functions on objects and arrays: keys, values, members, size, project, remove-keys,
 * intersect, accumulate, the descendants. Items of other kinds are passed over.
 */
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- Keys and values ----------------------------------------------------------------------------------- */

/* The distinct names of all objects, in order of first appearance: an object whose fields they are. */
static enum sirix_status collect_names(struct sirix_call *call, struct sirix_item names,
                                       struct sirix_item object, struct sirix_sequence *list,
                                       struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(work, object, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_bytes kept = {0};
        struct sirix_item value = {0};
        struct sirix_item there = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sirix_object_field(work, names, name, &there, err);
        if (status != SIRIX_OK || there.kind != SIRIX_ITEM_NONE) {
            continue;
        }
        status = sirix_arena_copy(work->arena, name, &kept, &err->base);
        if (status == SIRIX_OK) {
            status = sirix_object_add(work, names, kept, sirix_item_null(), err);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_append(work, list, sirix_item_string(kept), err);
        }
    }
    return status;
}

static enum sirix_status keys(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_sequence list = {0};
    struct sirix_item names = {0};
    enum sirix_status status = sirix_object_new(call->work, 0, &names, err);

    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (item.kind == SIRIX_ITEM_OBJECT) {
            status = collect_names(call, names, item, &list, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = list;
    }
    return status;
}

/* The children of all containers of one kind (detail: OBJECT or ARRAY), item by item. */
struct children_iterator {
    struct sirix_iterator iterator; /* First. */
    struct sirix_call call;
    struct sirix_cursor cursor;
    bool is_open;
};

/* The next child of the open container; NONE when it is over. */
static enum sirix_status next_of_open(struct children_iterator *children, struct sirix_item *out,
                                      struct sirix_query_error *err)
{
    struct sirix_work *work = children->call.work;
    enum sirix_status status = sirix_work_tick(work, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_next(work, &children->cursor, NULL, out, err);
    }
    children->is_open = status == SIRIX_OK && out->kind != SIRIX_ITEM_NONE;
    return status;
}

static enum sirix_status next_child(struct sirix_iterator *base, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    struct children_iterator *children = (struct children_iterator *)base;
    struct sirix_work *work = children->call.work;

    for (;;) {
        struct sirix_item item = {0};
        enum sirix_status status = SIRIX_OK;

        if (children->is_open) {
            status = next_of_open(children, &item, err);
        }
        bool has_child = children->is_open;

        if (status == SIRIX_OK && !has_child) {
            status = next_input(&children->call, &item, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (has_child || item.kind == SIRIX_ITEM_NONE) {
            *out = item;
            return SIRIX_OK;
        }
        if (item.kind == children->call.function->detail) {
            status = sirix_cursor_start(work, item, &children->cursor, err);
            children->is_open = true;
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
}

static enum sirix_status open_children(struct sirix_call *call, struct sirix_iterator **out,
                                       struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        call->work->arena, 1, sizeof(struct children_iterator), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct children_iterator *children = memory;

        children->iterator.next = next_child;
        children->call = *call;
        *out = &children->iterator;
    }
    return status;
}

static enum sirix_status drain(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_iterator *iterator = NULL;
    enum sirix_status status = call->function->open(call, &iterator, err);

    return status != SIRIX_OK ? status : sirix_iterator_drain(call->work, iterator, out, err);
}

/* size(): of an array; of nothing nothing. */
static enum sirix_status size(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_item array = argument(call, 0);
    uint64_t count = 0;

    if (array.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    enum sirix_status status = sirix_container_size(call->work, array, &count, err);
    return status != SIRIX_OK ? status : give_integer(call, (int64_t)count, out, err);
}

/* --- Fewer fields -------------------------------------------------------------------------------------------- */

/* Argument 1 as the fields of an object, to look names up in. */
static enum sirix_status name_set(struct sirix_call *call, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    enum sirix_status status = sirix_object_new(call->work, 0, out, err);

    for (size_t i = 0; status == SIRIX_OK && i < call->arguments[1].count; i++) {
        struct sirix_item name = sirix_sequence_at(&call->arguments[1], i);

        status = sirix_object_set(call->work, *out, sirix_item_bytes(name), sirix_item_null(), err);
    }
    return status;
}

/* A copy of an object with only those fields whose being in names is `wanted`. */
static enum sirix_status choose(struct sirix_call *call, struct sirix_item from,
                                struct sirix_item names, bool wanted, struct sirix_item *out,
                                struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_object_new(work, 0, out, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_start(work, from, &cursor, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};
        struct sirix_item there = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sirix_object_field(work, names, name, &there, err);
        if (status == SIRIX_OK && (there.kind != SIRIX_ITEM_NONE) == wanted) {
            status = sirix_object_set(work, *out, name, value, err);
        }
    }
    return status;
}

/* project() and, detail 0, remove-keys(); what is no object stays as it is. */
static enum sirix_status project(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    bool wanted = call->function->detail != 0;
    struct sirix_sequence all = {0};
    struct sirix_item names = {0};

    if (call->arguments[1].count == 0) {
        return sirix_query_fail(err, "JNTY0018", "%s() needs at least one key",
                                call->function->name);
    }
    enum sirix_status status = name_set(call, &names, err);
    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (item.kind == SIRIX_ITEM_OBJECT) {
            status = choose(call, item, names, wanted, &item, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_append(call->work, &all, item, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

/* --- Several objects into one -------------------------------------------------------------------------------- */

/* The array of a name's values, made when it is not there. */
static enum sirix_status values_of(struct sirix_work *work, struct sirix_item to,
                                   struct sirix_bytes name, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    enum sirix_status status = sirix_object_field(work, to, name, out, err);

    if (status != SIRIX_OK || out->kind != SIRIX_ITEM_NONE) {
        return status;
    }
    status = sirix_array_new(work, 2, out, err);
    return status != SIRIX_OK ? status : sirix_object_add(work, to, name, *out, err);
}

/*
 * The values of one name: the first alone, more of them as an array. The fields of the collecting
 * object hold arrays of all values; finish() makes single ones what they are.
 */
static enum sirix_status collect_fields(struct sirix_call *call, struct sirix_item to,
                                        struct sirix_item object, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(work, object, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};
        struct sirix_item values = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, &name, &value, err);
        }
        if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = values_of(work, to, name, &values, err);
        if (status == SIRIX_OK) {
            status = sirix_array_append(work, values, value, err);
        }
    }
    return status;
}

/* The result: names with at least `least` values; one value stands for itself. */
static enum sirix_status finish(struct sirix_call *call, struct sirix_item from, size_t least,
                                struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_cursor cursor;
    struct sirix_item to = {0};
    enum sirix_status status = sirix_object_new(work, 0, &to, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_start(work, from, &cursor, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item values = {0};

        status = sirix_cursor_next(work, &cursor, &name, &values, err);
        if (status != SIRIX_OK || values.kind == SIRIX_ITEM_NONE) {
            break;
        }
        struct sirix_sequence all = sirix_array_view(values);

        if (all.count >= least) {
            status = sirix_object_add(work, to, name, all.count == 1 ? all.items[0] : values, err);
        }
    }
    return status != SIRIX_OK ? status : give(call, to, out, err);
}

/* accumulate() and, detail 1, intersect(): names that all objects have. */
static enum sirix_status accumulate(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    struct sirix_item collected = {0};
    size_t objects = 0;
    enum sirix_status status = sirix_object_new(call->work, 0, &collected, err);

    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = next_input(call, &item, err);
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (item.kind == SIRIX_ITEM_OBJECT) {
            objects++;
            status = collect_fields(call, collected, item, err);
        }
    }
    return status != SIRIX_OK
               ? status
               : finish(call, collected, call->function->detail == 1 ? objects : 0, out, err);
}

/* --- Descendants --------------------------------------------------------------------------------------------- */

struct level {
    struct level *outer;
    struct sirix_cursor cursor;
};

/* What is looked for: objects, arrays, or pairs (an object of one field each). */
enum wanted { WANTED_OBJECTS, WANTED_ARRAYS, WANTED_PAIRS };

static enum sirix_status enter(struct sirix_call *call, struct sirix_item item, struct level **top,
                               struct sirix_sequence *all, struct sirix_query_error *err)
{
    enum wanted wanted = (enum wanted)call->function->detail;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if ((wanted == WANTED_OBJECTS && item.kind == SIRIX_ITEM_OBJECT) ||
        (wanted == WANTED_ARRAYS && item.kind == SIRIX_ITEM_ARRAY)) {
        status = sirix_sequence_append(call->work, all, item, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(call->work->scratch, 1, sizeof(struct level), &memory, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct level *level = memory;

    status = sirix_cursor_start(call->work, item, &level->cursor, err);
    level->outer = *top;
    *top = level;
    return status;
}

static enum sirix_status add_pair(struct sirix_call *call, struct sirix_bytes name,
                                  struct sirix_item value, struct sirix_sequence *all,
                                  struct sirix_query_error *err)
{
    struct sirix_item pair = {0};
    enum sirix_status status = sirix_object_new(call->work, 1, &pair, err);

    if (status == SIRIX_OK) {
        status = sirix_object_add(call->work, pair, name, value, err);
    }
    return status != SIRIX_OK ? status : sirix_sequence_append(call->work, all, pair, err);
}

/* All below an item, it included, in document order. */
static enum sirix_status walk(struct sirix_call *call, struct sirix_item item,
                              struct sirix_sequence *all, struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(call->work->scratch);
    struct level *top = NULL;
    enum sirix_status status =
        sirix_item_is_structured(item) ? enter(call, item, &top, all, err) : SIRIX_OK;

    while (status == SIRIX_OK && top != NULL) {
        bool is_object = top->cursor.container.kind == SIRIX_ITEM_OBJECT;
        struct sirix_bytes name = {0};
        struct sirix_item child = {0};

        status = sirix_work_tick(call->work, 1, err);
        if (status == SIRIX_OK) {
            status =
                sirix_cursor_next(call->work, &top->cursor, is_object ? &name : NULL, &child, err);
        }
        if (status != SIRIX_OK) {
            break;
        }
        if (child.kind == SIRIX_ITEM_NONE) {
            top = top->outer;
            continue;
        }
        if (call->function->detail == WANTED_PAIRS && is_object) {
            status = add_pair(call, name, child, all, err);
        }
        if (status == SIRIX_OK && sirix_item_is_structured(child)) {
            status = enter(call, child, &top, all, err);
        }
    }
    sirix_arena_rewind(call->work->scratch, mark);
    return status;
}

static enum sirix_status descendants(struct sirix_call *call, struct sirix_sequence *out,
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
        status = walk(call, item, &all, err);
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

#define CHILDREN_ROW(space, title, kind)                                                           \
    {                                                                                              \
        .ns = SIRIX_NS_##space, .name = (title), .min_arity = 1, .max_arity = 1,                   \
        .flags = PURE | STREAMS, .result = T(ITEM, MANY), .parameters = {T(ITEM, MANY)},           \
        .call = drain, .open = open_children, .detail = (kind)                                     \
    }

static const struct sirix_function rows[] = {
    ROW(JN, "keys", 1, 1, PURE | STREAMS, keys, 0, T(STRING, MANY), T(ITEM, MANY)),
    ROW(BIT, "fields", 1, 1, PURE | STREAMS, keys, 0, T(STRING, MANY), T(ITEM, MANY)),
    CHILDREN_ROW(JN, "values", SIRIX_ITEM_OBJECT),
    CHILDREN_ROW(BIT, "values", SIRIX_ITEM_OBJECT),
    CHILDREN_ROW(JN, "members", SIRIX_ITEM_ARRAY),
    CHILDREN_ROW(BIT, "array-values", SIRIX_ITEM_ARRAY),
    ROW(JN, "size", 1, 1, PURE, size, 0, T(INTEGER, OPTIONAL), T(ARRAY, OPTIONAL)),
    ROW(BIT, "len", 1, 1, PURE, size, 0, T(INTEGER, OPTIONAL), T(ARRAY, OPTIONAL)),
    ROW(JN, "project", 2, 2, PURE | STREAMS, project, 1, T(ITEM, MANY), T(ITEM, MANY),
        T(STRING, MANY)),
    ROW(JN, "remove-keys", 2, 2, PURE | STREAMS, project, 0, T(ITEM, MANY), T(ITEM, MANY),
        T(STRING, MANY)),
    ROW(JN, "accumulate", 1, 1, PURE | STREAMS, accumulate, 0, T(OBJECT, ONE), T(ITEM, MANY)),
    ROW(JN, "intersect", 1, 1, PURE | STREAMS, accumulate, 1, T(OBJECT, ONE), T(ITEM, MANY)),
    ROW(JN, "descendant-objects", 1, 1, PURE | STREAMS, descendants, WANTED_OBJECTS,
        T(OBJECT, MANY), T(ITEM, MANY)),
    ROW(JN, "descendant-arrays", 1, 1, PURE | STREAMS, descendants, WANTED_ARRAYS, T(ARRAY, MANY),
        T(ITEM, MANY)),
    ROW(JN, "descendant-pairs", 1, 1, PURE | STREAMS, descendants, WANTED_PAIRS, T(OBJECT, MANY),
        T(ITEM, MANY)),
};

const struct sirix_function_table sirix_functions_object = {rows, sizeof(rows) / sizeof(rows[0])};
