/* JSON text from items, with a stack of its own instead of C recursion. */
#include <math.h>

#include "query/value/container.h"
#include "query/value/json.h"
#include "query/value/number.h"

struct level {
    struct level *outer;
    struct sirix_cursor cursor;
};

enum sirix_status sirix_number_print_json(struct sirix_work *work, struct sirix_item number,
                                          struct sirix_buf *to, bool *out_is_number,
                                          struct sirix_query_error *err)
{
    bool is_floating = number.kind == SIRIX_ITEM_DOUBLE || number.kind == SIRIX_ITEM_FLOAT;
    double value = is_floating ? sirix_number_to_double(number) : 0;

    *out_is_number = !isnan(value) && !isinf(value);
    if (value == 0 && is_floating) {
        return sirix_buf_append_u8(to, '0', &err->base);
    }
    return sirix_number_print(work, number, to, err);
}

static enum sirix_status write_number(struct sirix_work *work, struct sirix_item number,
                                      struct sirix_json_writer *writer,
                                      struct sirix_query_error *err)
{
    struct sirix_buf text;
    bool is_number = false;

    if (number.kind == SIRIX_ITEM_INTEGER) {
        return sirix_json_write_i64(writer, number.value.integer, &err->base);
    }
    sirix_buf_init(&text, SIZE_MAX);
    enum sirix_status status = sirix_number_print_json(work, number, &text, &is_number, err);
    if (status == SIRIX_OK) {
        struct sirix_bytes bytes = sirix_buf_view(&text);

        status = is_number ? sirix_json_write_number(writer, bytes, &err->base)
                           : sirix_json_write_string_plain(writer, bytes, &err->base);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* Everything that is no container. */
static enum sirix_status write_atomic(struct sirix_work *work, struct sirix_item item,
                                      struct sirix_json_writer *writer,
                                      struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};

    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_NULL:
        return sirix_json_write_null(writer, &err->base);
    case SIRIX_ITEM_BOOLEAN:
        return sirix_json_write_bool(writer, item.value.boolean, &err->base);
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_FUNCTION:
        return sirix_query_fail(err, "SENR0001", "a function has no JSON text");
    default:
        break;
    }
    if (sirix_item_is_numeric(item)) {
        return write_number(work, item, writer, err);
    }
    enum sirix_status status = sirix_item_text(work, item, &text, err);
    if (status == SIRIX_OK) {
        status = sirix_work_tick(work, text.len / SIRIX_WORK_BYTES_PER_UNIT, err);
    }
    return status != SIRIX_OK ? status : sirix_json_write_string_plain(writer, text, &err->base);
}

/* Begins a container, or writes what is none. */
static enum sirix_status write_item(struct sirix_work *work, struct sirix_item item,
                                    struct sirix_json_writer *writer, struct level **top,
                                    struct sirix_query_error *err)
{
    void *memory = NULL;

    if (!sirix_item_is_structured(item)) {
        return write_atomic(work, item, writer, err);
    }
    enum sirix_status status =
        sirix_arena_calloc(work->scratch, 1, sizeof(struct level), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct level *level = memory;

    status = sirix_cursor_start(work, item, &level->cursor, err);
    if (status == SIRIX_OK) {
        status = item.kind == SIRIX_ITEM_OBJECT ? sirix_json_write_object_begin(writer, &err->base)
                                                : sirix_json_write_array_begin(writer, &err->base);
        if (status == SIRIX_INVALID) {
            return sirix_query_fail_limit(err, "value_depth", "a value is nested deeper than %d",
                                          SIRIX_VALUE_DEPTH_MAX);
        }
    }
    if (status == SIRIX_OK) {
        level->outer = *top;
        *top = level;
    }
    return status;
}

static enum sirix_status step(struct sirix_work *work, struct sirix_json_writer *writer,
                              struct level **top, struct sirix_query_error *err)
{
    bool is_object = (*top)->cursor.container.kind == SIRIX_ITEM_OBJECT;
    struct sirix_bytes name = {0};
    struct sirix_item child = {0};
    enum sirix_status status = sirix_work_tick(work, 1, err);

    if (status == SIRIX_OK) {
        status = sirix_cursor_next(work, &(*top)->cursor, is_object ? &name : NULL, &child, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (child.kind == SIRIX_ITEM_NONE) {
        *top = (*top)->outer;
        return is_object ? sirix_json_write_object_end(writer, &err->base)
                         : sirix_json_write_array_end(writer, &err->base);
    }
    if (is_object) {
        status = sirix_json_write_name_plain(writer, name, &err->base);
    }
    return status != SIRIX_OK ? status : write_item(work, child, writer, top, err);
}

enum sirix_status sirix_item_write_json(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_json_writer *writer,
                                        struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    struct level *top = NULL;
    enum sirix_status status = write_item(work, item, writer, &top, err);

    while (status == SIRIX_OK && top != NULL) {
        status = step(work, writer, &top, err);
    }
    sirix_arena_rewind(work->scratch, mark);
    return status;
}

enum sirix_status sirix_item_print_json(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_buf *out, struct sirix_query_error *err)
{
    struct sirix_json_writer_options options = {.depth_max = SIRIX_VALUE_DEPTH_MAX};
    struct sirix_json_writer writer;

    sirix_json_writer_init_buf(&writer, out, &options);
    enum sirix_status status = sirix_item_write_json(work, item, &writer, err);
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, &err->base);
    }
    sirix_json_writer_deinit(&writer);
    return status;
}
