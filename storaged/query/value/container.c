/*
 * Objects and arrays in memory.
 *
 * An array is a growable list of items; an object a growable list of fields in order, and from
 * INDEX_FROM fields on a hash table of their positions, made when fields are added. Removing a field
 * drops the table until the next one is added; look-ups then walk.
 */
#include "query/value/container.h"

#include <string.h>

#include "base/checked.h"

enum { INDEX_FROM = 9, FIRST_MEMBERS = 4, FREE_SLOT = 0 };

struct field {
    struct sirix_bytes name;
    struct sirix_item value;
};

struct object {
    struct sirix_container base;
    struct field *fields;
    size_t count;
    size_t cap;
    uint32_t *index; /* Positions + 1 by hash, linear probing; NULL: walk. */
    size_t index_cap;
    struct sirix_hash_key key;
};

struct array {
    struct sirix_container base;
    struct sirix_item *items;
    size_t count;
    size_t cap;
};

static struct object *object_of(struct sirix_item item)
{
    assert(item.kind == SIRIX_ITEM_OBJECT && !sirix_container_is_stored(item));

    return (struct object *)item.value.container;
}

static struct array *array_of(struct sirix_item item)
{
    assert(item.kind == SIRIX_ITEM_ARRAY && !sirix_container_is_stored(item));

    return (struct array *)item.value.container;
}

/* --- Growing ------------------------------------------------------------------------------------- */

/* Room for one more element of size bytes behind count; *memory and *cap are replaced. */
static enum sirix_status grow(struct sirix_work *work, void **memory, size_t size, size_t count,
                              size_t *cap, struct sirix_query_error *err)
{
    size_t new_cap = count < FIRST_MEMBERS ? FIRST_MEMBERS : count;
    size_t bytes = 0;
    void *made = NULL;

    if (count < *cap) {
        return SIRIX_OK;
    }
    if (!sirix_mul_size(new_cap, 2, &new_cap) || !sirix_mul_size(new_cap, size, &bytes)) {
        return sirix_query_fail_limit(err, "memory_bytes", "too many members");
    }
    enum sirix_status status = sirix_arena_alloc(work->arena, bytes, &made, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    if (count != 0) {
        memcpy(made, *memory, count * size);
    }
    *memory = made;
    *cap = new_cap;
    return SIRIX_OK;
}

/* --- The index of an object ------------------------------------------------------------------------ */

static size_t slot_of(const struct object *object, struct sirix_bytes name)
{
    return (size_t)sirix_hash(&object->key, name.data, name.len) & (object->index_cap - 1);
}

/* Puts a field that is not there into the table, which has room. */
static void index_put(struct object *object, size_t position)
{
    size_t slot = slot_of(object, object->fields[position].name);

    while (object->index[slot] != FREE_SLOT) {
        slot = (slot + 1) & (object->index_cap - 1);
    }
    object->index[slot] = (uint32_t)position + 1;
}

/* A table for all fields there are, at most half full. */
static enum sirix_status index_make(struct sirix_work *work, struct object *object,
                                    struct sirix_query_error *err)
{
    size_t cap = (size_t)4 * INDEX_FROM;
    void *memory = NULL;

    if (object->count >= UINT32_MAX / 4) {
        return sirix_query_fail_limit(err, "object_fields", "an object of %zu fields",
                                      object->count);
    }
    while (cap / 4 < object->count) {
        cap *= 2;
    }
    size_t power = 64;
    while (power < cap) {
        power *= 2;
    }
    enum sirix_status status =
        sirix_arena_calloc(work->arena, power, sizeof(*object->index), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    object->index = memory;
    object->index_cap = power;
    for (size_t i = 0; i < object->count; i++) {
        index_put(object, i);
    }
    return SIRIX_OK;
}

/* The position of a field; count when it is not there. */
static size_t find(const struct object *object, struct sirix_bytes name)
{
    if (object->index == NULL) {
        size_t position = 0;

        while (position < object->count &&
               !sirix_bytes_equal(object->fields[position].name, name)) {
            position++;
        }
        return position;
    }
    for (size_t slot = slot_of(object, name); object->index[slot] != FREE_SLOT;
         slot = (slot + 1) & (object->index_cap - 1)) {
        size_t position = object->index[slot] - 1;

        if (sirix_bytes_equal(object->fields[position].name, name)) {
            return position;
        }
    }
    return object->count;
}

/* --- Operations -------------------------------------------------------------------------------------- */

static enum sirix_status size_of(struct sirix_work *work, struct sirix_item container,
                                 uint64_t *out, struct sirix_query_error *err)
{
    (void)work;
    (void)err;
    *out = container.kind == SIRIX_ITEM_OBJECT ? object_of(container)->count
                                               : array_of(container)->count;
    return SIRIX_OK;
}

static enum sirix_status element_of(struct sirix_work *work, struct sirix_item item,
                                    uint64_t position, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    const struct array *array = array_of(item);

    (void)work;
    (void)err;
    *out = position < array->count ? array->items[position] : (struct sirix_item){0};
    return SIRIX_OK;
}

static enum sirix_status field_of(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_bytes name, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    const struct object *object = object_of(item);
    size_t position = find(object, name);

    (void)work;
    (void)err;
    *out = position < object->count ? object->fields[position].value : (struct sirix_item){0};
    return SIRIX_OK;
}

static enum sirix_status start(struct sirix_work *work, struct sirix_item container,
                               struct sirix_cursor *out, struct sirix_query_error *err)
{
    (void)work;
    (void)err;
    *out = (struct sirix_cursor){.container = container};
    return SIRIX_OK;
}

static enum sirix_status next(struct sirix_work *work, struct sirix_cursor *cursor,
                              struct sirix_bytes *out_name, struct sirix_item *out,
                              struct sirix_query_error *err)
{
    size_t at = (size_t)cursor->words[0];
    struct sirix_bytes name = {0};

    (void)work;
    (void)err;
    *out = (struct sirix_item){0};
    if (cursor->container.kind == SIRIX_ITEM_OBJECT) {
        const struct object *object = object_of(cursor->container);

        if (at < object->count) {
            *out = object->fields[at].value;
            name = object->fields[at].name;
            cursor->words[0]++;
        }
    } else {
        const struct array *array = array_of(cursor->container);

        if (at < array->count) {
            *out = array->items[at];
            cursor->words[0]++;
        }
    }
    if (out_name != NULL) {
        *out_name = name;
    }
    return SIRIX_OK;
}

static const struct sirix_container_ops memory_ops = {
    .size = size_of,
    .element = element_of,
    .field = field_of,
    .start = start,
    .next = next,
};

bool sirix_container_same(struct sirix_item a, struct sirix_item b)
{
    return a.kind == b.kind && a.value.container == b.value.container && a.origin == b.origin;
}

/* --- Making and changing ------------------------------------------------------------------------------ */

enum sirix_status sirix_object_new(struct sirix_work *work, size_t count, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    void *memory = NULL;
    void *fields = NULL;
    enum sirix_status status =
        sirix_arena_calloc(work->arena, 1, sizeof(struct object), &memory, &err->base);

    if (status == SIRIX_OK && count != 0) {
        status = sirix_arena_calloc(work->arena, count, sizeof(struct field), &fields, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct object *object = memory;

    object->base.ops = &memory_ops;
    object->fields = fields;
    object->cap = count;
    object->key = work->hash_key;
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_OBJECT, .type = SIRIX_TYPE_OBJECT, .value.container = &object->base};
    return SIRIX_OK;
}

enum sirix_status sirix_array_new(struct sirix_work *work, size_t count, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    void *memory = NULL;
    void *items = NULL;
    enum sirix_status status =
        sirix_arena_calloc(work->arena, 1, sizeof(struct array), &memory, &err->base);

    if (status == SIRIX_OK && count != 0) {
        status =
            sirix_arena_calloc(work->arena, count, sizeof(struct sirix_item), &items, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct array *array = memory;

    array->base.ops = &memory_ops;
    array->items = items;
    array->cap = count;
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_ARRAY, .type = SIRIX_TYPE_ARRAY, .value.container = &array->base};
    return SIRIX_OK;
}

enum sirix_status sirix_array_from(struct sirix_work *work, const struct sirix_sequence *items,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item made = {0};
    enum sirix_status status = sirix_array_new(work, items->count, &made, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct array *array = array_of(made);

    for (size_t i = 0; i < items->count; i++) {
        array->items[i] = sirix_sequence_at(items, i);
    }
    array->count = items->count;
    *out = made;
    return sirix_work_tick(work, items->count / 16, err);
}

enum sirix_status sirix_item_from_sequence(struct sirix_work *work,
                                           const struct sirix_sequence *sequence,
                                           struct sirix_item *out, struct sirix_query_error *err)
{
    if (sequence->count == 0) {
        *out = sirix_item_null();
        return SIRIX_OK;
    }
    if (sequence->count == 1) {
        *out = sirix_sequence_at(sequence, 0);
        return SIRIX_OK;
    }
    return sirix_array_from(work, sequence, out, err);
}

enum sirix_status sirix_item_box_sequence(struct sirix_work *work,
                                          const struct sirix_sequence *sequence,
                                          struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item made = {0};
    enum sirix_status status = sirix_item_from_sequence(work, sequence, &made, err);

    if (status == SIRIX_OK && sequence->count != 1) {
        made.flags |= SIRIX_ITEM_SPREADS;
    }
    if (status == SIRIX_OK) {
        *out = made;
    }
    return status;
}

enum sirix_status sirix_item_spread(struct sirix_work *work, struct sirix_item member,
                                    struct sirix_sequence *out, struct sirix_query_error *err)
{
    if (!sirix_item_spreads(member)) {
        return sirix_sequence_single(work, member, out, err);
    }
    *out = member.kind == SIRIX_ITEM_ARRAY ? sirix_array_view(member) : (struct sirix_sequence){0};
    return SIRIX_OK;
}

/* Adds a field whose name is not there. */
static enum sirix_status add_new(struct sirix_work *work, struct object *object,
                                 struct sirix_bytes name, struct sirix_item value,
                                 struct sirix_query_error *err)
{
    void *fields = object->fields;
    enum sirix_status status =
        grow(work, &fields, sizeof(struct field), object->count, &object->cap, err);

    if (status != SIRIX_OK) {
        return status;
    }
    object->fields = fields;
    object->fields[object->count] = (struct field){.name = name, .value = value};
    object->count++;
    if (object->count < INDEX_FROM) {
        return SIRIX_OK;
    }
    if (object->index == NULL || object->count > object->index_cap / 2) {
        status = index_make(work, object, err);
        if (status != SIRIX_OK) {
            object->count--;
            object->index = NULL;
        }
        return status;
    }
    index_put(object, object->count - 1);
    return SIRIX_OK;
}

enum sirix_status sirix_object_add(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_bytes name, struct sirix_item value,
                                   struct sirix_query_error *err)
{
    struct object *object = object_of(item);

    if (find(object, name) < object->count) {
        return sirix_query_fail(err, "JNDY0003", "the field \"%.*s\" is there twice",
                                (int)(name.len > 100 ? 100 : name.len), (const char *)name.data);
    }
    return add_new(work, object, name, value, err);
}

enum sirix_status sirix_object_set(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_bytes name, struct sirix_item value,
                                   struct sirix_query_error *err)
{
    struct object *object = object_of(item);
    size_t position = find(object, name);

    if (position < object->count) {
        object->fields[position].value = value;
        return SIRIX_OK;
    }
    return add_new(work, object, name, value, err);
}

bool sirix_object_remove(struct sirix_item item, struct sirix_bytes name)
{
    struct object *object = object_of(item);
    size_t position = find(object, name);

    if (position == object->count) {
        return false;
    }
    memmove(object->fields + position, object->fields + position + 1,
            (object->count - position - 1) * sizeof(struct field));
    object->count--;
    object->index = NULL;
    return true;
}

enum sirix_status sirix_object_rename(struct sirix_work *work, struct sirix_item item,
                                      struct sirix_bytes name, struct sirix_bytes new_name,
                                      struct sirix_query_error *err)
{
    struct object *object = object_of(item);
    size_t position = find(object, name);

    if (position == object->count || sirix_bytes_equal(name, new_name)) {
        return SIRIX_OK;
    }
    if (find(object, new_name) < object->count) {
        return sirix_query_fail(err, "JNUP0007", "the field \"%.*s\" is there already",
                                (int)(new_name.len > 100 ? 100 : new_name.len),
                                (const char *)new_name.data);
    }
    object->fields[position].name = new_name;
    if (object->index != NULL) {
        object->index = NULL;
        return index_make(work, object, err);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_array_insert(struct sirix_work *work, struct sirix_item item,
                                     size_t position, struct sirix_item value,
                                     struct sirix_query_error *err)
{
    struct array *array = array_of(item);
    void *items = array->items;
    enum sirix_status status =
        grow(work, &items, sizeof(struct sirix_item), array->count, &array->cap, err);

    assert(position <= array->count);

    if (status != SIRIX_OK) {
        return status;
    }
    array->items = items;
    memmove(array->items + position + 1, array->items + position,
            (array->count - position) * sizeof(struct sirix_item));
    array->items[position] = value;
    array->count++;
    return SIRIX_OK;
}

enum sirix_status sirix_array_append(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_item value, struct sirix_query_error *err)
{
    return sirix_array_insert(work, item, array_of(item)->count, value, err);
}

void sirix_array_replace(struct sirix_item item, size_t position, struct sirix_item value)
{
    struct array *array = array_of(item);

    assert(position < array->count);

    array->items[position] = value;
}

void sirix_array_remove(struct sirix_item item, size_t position)
{
    struct array *array = array_of(item);

    assert(position < array->count);

    memmove(array->items + position, array->items + position + 1,
            (array->count - position - 1) * sizeof(struct sirix_item));
    array->count--;
}

struct sirix_sequence sirix_array_view(struct sirix_item item)
{
    const struct array *array = array_of(item);

    return (struct sirix_sequence){.items = array->count == 0 ? NULL : array->items,
                                   .count = array->count};
}
