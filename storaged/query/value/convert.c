/* `instance of`, and the conversion of arguments to the types of parameters. */
#include "query/value/callable.h"
#include "query/value/cast.h"
#include "query/value/container.h"
#include "query/value/number.h"

static const char *name_of(struct sirix_item item)
{
    return sirix_type_name((enum sirix_type)item.type);
}

/* --- Instance of --------------------------------------------------------------------------------------------- */

/*
 * Whether a name is a key of that type. Names are strings, whatever the key was that made them: 1 and "1"
 * are one key, which is an integer as well.
 */
static enum sirix_status name_matches(struct sirix_work *work, struct sirix_bytes name,
                                      enum sirix_type key, bool *out, struct sirix_query_error *err)
{
    if (key == SIRIX_TYPE_ITEM || key == SIRIX_TYPE_ATOMIC || key == SIRIX_TYPE_STRING) {
        *out = true;
        return SIRIX_OK;
    }
    if (!sirix_type_derives(key, SIRIX_TYPE_ATOMIC) || key == SIRIX_TYPE_ERROR) {
        *out = false;
        return SIRIX_OK;
    }
    return sirix_item_castable(work, sirix_item_string(name), key, out, err);
}

/* Every member of a container matches the type; no deeper than the types' text nests. */
static enum sirix_status members_match(struct sirix_work *work, struct sirix_item item,
                                       const struct sirix_sequence_type *container, bool *out,
                                       struct sirix_query_error *err)
{
    const struct sirix_sequence_type *type = container->member;
    struct sirix_cursor cursor;
    bool matches = true;
    enum sirix_status status = sirix_cursor_start(work, item, &cursor, err);

    while (status == SIRIX_OK && matches) {
        struct sirix_item member = {0};
        struct sirix_sequence held = {0};
        struct sirix_bytes name = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(
                work, &cursor, container->key == SIRIX_TYPE_ITEM ? NULL : &name, &member, err);
        }
        if (status != SIRIX_OK || member.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = name_matches(work, name, container->key, &matches, err);
        if (status != SIRIX_OK || !matches) {
            break;
        }
        if (member.kind == SIRIX_ITEM_NULL || member.kind == SIRIX_ITEM_ARRAY) {
            status = sirix_item_spread(work, member, &held, err);
        } else {
            held = sirix_sequence_of(&member);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_matches(work, &held, type, &matches, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = matches;
    }
    return status;
}

/* Objects and arrays are functions of one key; NULL: any function. */
static bool container_matches(struct sirix_item container,
                              const struct sirix_function_type *function)
{
    const struct sirix_sequence_type key = {
        .type = container.kind == SIRIX_ITEM_ARRAY ? SIRIX_TYPE_INTEGER : SIRIX_TYPE_ATOMIC};
    const struct sirix_function_type own = {
        .arity = 1,
        .parameters = &key,
        .result = {.type = SIRIX_TYPE_ITEM, .occurrence = SIRIX_OCCURRENCE_MANY}};
    const struct sirix_sequence_type is = {.type = SIRIX_TYPE_FUNCTION, .function = &own};
    const struct sirix_sequence_type wanted = {.type = SIRIX_TYPE_FUNCTION, .function = function};

    return sirix_sequence_type_within(&is, &wanted);
}

enum sirix_status sirix_item_matches(struct sirix_work *work, struct sirix_item item,
                                     const struct sirix_sequence_type *type, bool *out,
                                     struct sirix_query_error *err)
{
    if (!sirix_item_is(item, type->type)) {
        *out = type->type == SIRIX_TYPE_FUNCTION && sirix_item_is_structured(item) &&
               container_matches(item, type->function);
        return SIRIX_OK;
    }
    if (type->member != NULL && sirix_item_is_structured(item)) {
        return members_match(work, item, type, out, err);
    }
    if (type->function != NULL && item.kind == SIRIX_ITEM_FUNCTION) {
        struct sirix_sequence_type own = {.type = SIRIX_TYPE_FUNCTION,
                                          .function = &item.value.function->signature};
        struct sirix_sequence_type wanted = {.type = SIRIX_TYPE_FUNCTION,
                                             .function = type->function};

        *out = sirix_sequence_type_within(&own, &wanted);
        return SIRIX_OK;
    }
    *out = true;
    return SIRIX_OK;
}

enum sirix_status sirix_sequence_matches(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, bool *out,
                                         struct sirix_query_error *err)
{
    bool matches = sirix_occurrence_allows(type->occurrence, sequence->count);

    if (sequence->is_range && sequence->count > 0) { /* All of one type. */
        if (matches) {
            *out = sirix_type_derives(SIRIX_TYPE_INTEGER, type->type);
        } else {
            *out = false;
        }
        return SIRIX_OK;
    }
    for (size_t i = 0; matches && i < sequence->count; i++) {
        enum sirix_status status = sirix_work_tick(work, 1, err);

        if (status == SIRIX_OK) {
            status = sirix_item_matches(work, sirix_sequence_at(sequence, i), type, &matches, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = matches;
    return SIRIX_OK;
}

/* --- Conversion --------------------------------------------------------------------------------------------- */

static enum sirix_status wrong_type(struct sirix_item item, const struct sirix_sequence_type *type,
                                    const char *what, struct sirix_query_error *err)
{
    char shown[128];

    sirix_sequence_type_show(type, shown, sizeof(shown));
    return sirix_query_fail(err, "XPTY0004", "%s is of type %s, not %s", what, name_of(item),
                            shown);
}

/* One item to the atomic type of a parameter. */
static enum sirix_status convert_atomic(struct sirix_work *work, struct sirix_item item,
                                        const struct sirix_sequence_type *type, const char *what,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_item_atomise(item, &item, err);
    enum sirix_type wanted = type->type;

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is(item, wanted)) {
        *out = item;
        return SIRIX_OK;
    }
    if (item.kind == SIRIX_ITEM_UNTYPED) {
        return sirix_item_cast(work, item,
                               wanted == SIRIX_TYPE_NUMERIC ? SIRIX_TYPE_DOUBLE : wanted, out, err);
    }
    if (wanted == SIRIX_TYPE_DOUBLE && sirix_item_is_numeric(item)) {
        *out = sirix_item_double(sirix_number_to_double(item));
        return SIRIX_OK;
    }
    if (wanted == SIRIX_TYPE_FLOAT && sirix_item_is_numeric(item) &&
        item.kind != SIRIX_ITEM_DOUBLE) {
        *out = sirix_item_float(sirix_number_to_float(item));
        return SIRIX_OK;
    }
    if (wanted == SIRIX_TYPE_STRING && item.kind == SIRIX_ITEM_ANY_URI) {
        *out = sirix_item_string(sirix_item_bytes(item));
        return SIRIX_OK;
    }
    return wrong_type(item, type, what, err);
}

/* The function behind one of the wanted signature. */
static enum sirix_status coerce(struct sirix_work *work, struct sirix_item function,
                                const struct sirix_function_type *type, struct sirix_item *out,
                                struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(work->arena, sizeof(struct sirix_function_value), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct sirix_function_value *value = memory;

        *value = *function.value.function;
        value->coerced = function.value.function;
        value->signature = *type;
        function.value.function = value;
        *out = function;
    }
    return status;
}

static enum sirix_status convert_item(struct sirix_work *work, struct sirix_item item,
                                      const struct sirix_sequence_type *type, const char *what,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    bool matches = false;

    if (sirix_type_derives(type->type, SIRIX_TYPE_ATOMIC)) {
        return convert_atomic(work, item, type, what, out, err);
    }
    if (type->type == SIRIX_TYPE_FUNCTION && sirix_item_is_structured(item) &&
        (type->function == NULL || type->function->arity == 1)) {
        *out = item; /* Called, it gives the member of that key. */
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_item_matches(work, item, type, &matches, err);
    if (status == SIRIX_OK && !matches && type->type == SIRIX_TYPE_FUNCTION &&
        type->function != NULL && item.kind == SIRIX_ITEM_FUNCTION) {
        /* Function coercion: what does not fit shows when it is called; the arity must fit now. */
        matches = item.value.function->signature.arity == type->function->arity;
        if (matches) {
            return coerce(work, item, type->function, out, err);
        }
    }
    if (status == SIRIX_OK && !matches) {
        status = wrong_type(item, type, what, err);
    }
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

enum sirix_status sirix_sequence_spread(struct sirix_work *work,
                                        const struct sirix_sequence *sequence,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence made = {0};
    bool has_array = false;

    for (size_t i = 0; !sequence->is_range && i < sequence->count && !has_array; i++) {
        has_array = sequence->items[i].kind == SIRIX_ITEM_ARRAY;
    }
    if (!has_array) {
        *out = *sequence;
        return SIRIX_OK;
    }
    for (size_t i = 0; i < sequence->count; i++) {
        struct sirix_item item = sequence->items[i];
        enum sirix_status status = item.kind == SIRIX_ITEM_ARRAY
                                       ? sirix_array_flatten(work, item, &made, err)
                                       : sirix_sequence_append(work, &made, item, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = made;
    return SIRIX_OK;
}

static enum sirix_status wrong_count(size_t count, const struct sirix_sequence_type *type,
                                     const char *what, struct sirix_query_error *err)
{
    char shown[128];

    sirix_sequence_type_show(type, shown, sizeof(shown));
    return sirix_query_fail(err, "XPTY0004", "%s has %zu items, but is %s", what, count, shown);
}

/* Room for all items, and the first count of them. */
static enum sirix_status begin_copy(struct sirix_work *work, const struct sirix_sequence *from,
                                    size_t count, struct sirix_sequence *to,
                                    struct sirix_query_error *err)
{
    struct sirix_sequence before = sirix_sequence_part(from, 0, count);
    enum sirix_status status = sirix_sequence_reserve(work, to, from->count, err);

    return status != SIRIX_OK ? status : sirix_sequence_append_all(work, to, &before, err);
}

/* Every item to the type; *out shares the sequence as long as nothing changes. */
static enum sirix_status convert_all(struct sirix_work *work, const struct sirix_sequence *from,
                                     const struct sirix_sequence_type *type, const char *what,
                                     struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence made = {0};
    bool copies = false;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < from->count; i++) {
        struct sirix_item item = sirix_sequence_at(from, i);
        struct sirix_item converted = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = convert_item(work, item, type, what, &converted, err);
        }
        bool changes =
            converted.kind != item.kind || converted.type != item.type ||
            (item.kind == SIRIX_ITEM_FUNCTION && converted.value.function != item.value.function);

        if (status == SIRIX_OK && changes && !copies) {
            copies = true;
            status = begin_copy(work, from, i, &made, err);
        }
        if (status == SIRIX_OK && copies) {
            status = sirix_sequence_append(work, &made, converted, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = copies ? made : *from;
    }
    return status;
}

enum sirix_status sirix_sequence_convert(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, const char *what,
                                         struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence from = *sequence;
    enum sirix_status status = SIRIX_OK;

    if (sirix_type_derives(type->type, SIRIX_TYPE_ATOMIC)) {
        status = sirix_sequence_spread(work, sequence, &from, err);
    }
    if (status == SIRIX_OK && !sirix_occurrence_allows(type->occurrence, from.count)) {
        status = wrong_count(from.count, type, what, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (type->type == SIRIX_TYPE_ITEM ||
        (from.is_range && sirix_type_derives(SIRIX_TYPE_INTEGER, type->type))) {
        *out = from;
        return SIRIX_OK;
    }
    return convert_all(work, &from, type, what, out, err);
}
