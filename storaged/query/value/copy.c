/* Deep copies of containers and flat ones of arrays, with a stack of their own instead of C recursion. */
#include "query/value/container.h"

struct frame {
    struct frame *outer;
    struct sirix_cursor from;
    struct sirix_item to;
};

struct copier {
    struct sirix_work *work;
    struct frame *top;
    unsigned depth;
    bool keep_stored; /* Items of the store are shared, not read into memory. */
};

static bool is_copied_whole(const struct copier *copier, struct sirix_item item)
{
    return sirix_item_is_structured(item) &&
           !(copier->keep_stored && sirix_container_is_stored(item));
}

/* Begins the copy of a container. */
static enum sirix_status push(struct copier *copier, struct sirix_item item,
                              struct sirix_query_error *err)
{
    struct sirix_work *work = copier->work;
    void *memory = NULL;
    uint64_t size = 0;

    if (copier->depth == SIRIX_VALUE_DEPTH_MAX) {
        return sirix_query_fail_limit(err, "value_depth", "a value is nested deeper than %d",
                                      SIRIX_VALUE_DEPTH_MAX);
    }
    enum sirix_status status =
        sirix_arena_calloc(work->scratch, 1, sizeof(struct frame), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct frame *frame = memory;

    status = sirix_container_size(work, item, &size, err);
    if (status == SIRIX_OK && item.kind == SIRIX_ITEM_OBJECT) {
        status = sirix_object_new(work, (size_t)size, &frame->to, err);
    } else if (status == SIRIX_OK) {
        status = sirix_array_new(work, (size_t)size, &frame->to, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_cursor_start(work, item, &frame->from, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    frame->to.flags = item.flags;
    frame->outer = copier->top;
    copier->top = frame;
    copier->depth++;
    return SIRIX_OK;
}

/* Puts a finished child into the container on top. */
static enum sirix_status place(struct copier *copier, struct sirix_bytes name,
                               struct sirix_item value, struct sirix_query_error *err)
{
    struct sirix_work *work = copier->work;
    struct sirix_bytes kept = {0};

    if (copier->top->to.kind == SIRIX_ITEM_ARRAY) {
        return sirix_array_append(work, copier->top->to, value, err);
    }
    enum sirix_status status = sirix_arena_copy(work->arena, name, &kept, &err->base);
    return status != SIRIX_OK ? status : sirix_object_set(work, copier->top->to, kept, value, err);
}

/* One child: a scalar is placed, a container placed empty and then filled. */
static enum sirix_status step(struct copier *copier, bool *out_done, struct sirix_query_error *err)
{
    struct sirix_work *work = copier->work;
    struct sirix_bytes name = {0};
    struct sirix_item child = {0};
    enum sirix_status status = sirix_work_tick(work, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_next(work, &copier->top->from, &name, &child, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (child.kind == SIRIX_ITEM_NONE) {
        copier->top = copier->top->outer;
        copier->depth--;
        *out_done = copier->top == NULL;
        return SIRIX_OK;
    }
    if (!is_copied_whole(copier, child)) {
        struct sirix_item kept = child;

        if (!sirix_item_is_structured(child)) {
            status = sirix_item_keep(work, child, &kept, err);
        }
        if (status == SIRIX_OK && !copier->keep_stored) {
            kept.origin = 0;
        }
        return status != SIRIX_OK ? status : place(copier, name, kept, err);
    }
    struct frame *parent = copier->top;

    status = push(copier, child, err);
    if (status == SIRIX_OK) {
        struct frame *made = copier->top;

        copier->top = parent;
        status = place(copier, name, made->to, err);
        copier->top = made;
    }
    return status;
}

static enum sirix_status copy(struct sirix_work *work, struct sirix_item item, bool keep_stored,
                              struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct copier copier = {.work = work, .keep_stored = keep_stored};
    bool done = false;
    enum sirix_status status = push(&copier, item, err);
    struct sirix_item made = status == SIRIX_OK ? copier.top->to : (struct sirix_item){0};

    while (status == SIRIX_OK && !done) {
        status = step(&copier, &done, err);
    }
    sirix_arena_rewind(work->scratch, mark);
    if (status == SIRIX_OK) {
        *out = made;
    }
    return status;
}

enum sirix_status sirix_container_keep(struct sirix_work *work, struct sirix_item item,
                                       struct sirix_item *out, struct sirix_query_error *err)
{
    if (sirix_container_is_stored(item)) {
        *out = item;
        return SIRIX_OK;
    }
    return copy(work, item, true, out, err);
}

enum sirix_status sirix_item_copy(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    if (sirix_item_is_structured(item)) {
        return copy(work, item, false, out, err);
    }
    enum sirix_status status = sirix_item_keep(work, item, &item, err);
    if (status == SIRIX_OK) {
        item.origin = 0;
        *out = item;
    }
    return status;
}

/* One level of flattening. */
struct flat_level {
    struct flat_level *outer;
    struct sirix_cursor cursor;
};

static enum sirix_status push_flat(struct sirix_work *work, struct sirix_item array,
                                   struct flat_level **top, unsigned *depth,
                                   struct sirix_query_error *err)
{
    void *memory = NULL;

    if (*depth == SIRIX_VALUE_DEPTH_MAX) {
        return sirix_query_fail_limit(err, "value_depth", "a value is nested deeper than %d",
                                      SIRIX_VALUE_DEPTH_MAX);
    }
    enum sirix_status status =
        sirix_arena_calloc(work->scratch, 1, sizeof(struct flat_level), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct flat_level *level = memory;

    status = sirix_cursor_start(work, array, &level->cursor, err);
    if (status == SIRIX_OK) {
        level->outer = *top;
        *top = level;
        (*depth)++;
    }
    return status;
}

enum sirix_status sirix_array_flatten(struct sirix_work *work, struct sirix_item array,
                                      struct sirix_sequence *to, struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct flat_level *top = NULL;
    unsigned depth = 0;
    enum sirix_status status = push_flat(work, array, &top, &depth, err);

    while (status == SIRIX_OK && top != NULL) {
        struct sirix_item member = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &top->cursor, NULL, &member, err);
        }
        if (status != SIRIX_OK) {
            break;
        }
        if (member.kind == SIRIX_ITEM_NONE) {
            top = top->outer;
            depth--;
        } else if (member.kind == SIRIX_ITEM_ARRAY) {
            status = push_flat(work, member, &top, &depth, err);
        } else {
            status = sirix_sequence_append(work, to, member, err);
        }
    }
    sirix_arena_rewind(work->scratch, mark);
    return status;
}
