/* Items from JSON text: the reader's events into containers in memory. */
#include <string.h>

#include "query/value/container.h"
#include "query/value/json.h"
#include "query/value/number.h"
#include "json/reader.h"
#include "json/text.h"

/* Strings come whole: nothing is kept for that but the text itself. */
static const size_t part_bytes_max = (size_t)8 * SIRIX_ITEM_STRING_BYTES_MAX;

struct level {
    struct level *outer;
    struct sirix_item container; /* NONE: the lines of JSON lines. */
    struct sirix_bytes name;     /* Of the field whose value is being read. */
};

struct builder {
    struct sirix_work *work;
    struct sirix_json_reader reader;
    enum sirix_json_doubles doubles;
    struct level *top;
    struct sirix_item root;
    struct sirix_sequence *lines; /* JSON lines, or NULL. */
};

/* A decoded copy of a string or name. */
static enum sirix_status plain_text(struct builder *builder, const struct sirix_json_event *event,
                                    struct sirix_bytes *out, struct sirix_query_error *err)
{
    struct sirix_arena *arena = builder->work->arena;

    return event->has_escapes ? sirix_json_text_to_plain(arena, event->text, out, &err->base)
                              : sirix_arena_copy(arena, event->text, out, &err->base);
}

/* A field that may be there already. */
static enum sirix_status place_field(struct builder *builder, struct sirix_item value,
                                     struct sirix_query_error *err)
{
    struct sirix_item object = builder->top->container;
    struct sirix_bytes name = builder->top->name;
    struct sirix_item there = {0};

    if (builder->doubles == SIRIX_JSON_DOUBLES_LAST) {
        return sirix_object_set(builder->work, object, name, value, err);
    }
    enum sirix_status status = sirix_object_field(builder->work, object, name, &there, err);
    if (status == SIRIX_OK && there.kind == SIRIX_ITEM_NONE) {
        return sirix_object_set(builder->work, object, name, value, err);
    }
    if (status == SIRIX_OK && builder->doubles == SIRIX_JSON_DOUBLES_REFUSE) {
        return sirix_query_fail(err, "FOJS0003", "the field \"%.*s\" is there twice",
                                (int)(name.len > 100 ? 100 : name.len), (const char *)name.data);
    }
    return status;
}

static enum sirix_status place(struct builder *builder, struct sirix_item value,
                               struct sirix_query_error *err)
{
    if (builder->top == NULL) {
        builder->root = value;
        return SIRIX_OK;
    }
    switch ((enum sirix_item_kind)builder->top->container.kind) {
    case SIRIX_ITEM_OBJECT:
        return place_field(builder, value, err);
    case SIRIX_ITEM_ARRAY:
        return sirix_array_append(builder->work, builder->top->container, value, err);
    default:
        return sirix_sequence_append(builder->work, builder->lines, value, err);
    }
}

static enum sirix_status begin(struct builder *builder, bool is_object,
                               struct sirix_query_error *err)
{
    struct sirix_work *work = builder->work;
    void *memory = NULL;
    bool is_lines = builder->lines != NULL && builder->top == NULL;
    enum sirix_status status =
        sirix_arena_calloc(work->scratch, 1, sizeof(struct level), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    struct level *level = memory;

    if (!is_lines) {
        status = is_object ? sirix_object_new(work, 0, &level->container, err)
                           : sirix_array_new(work, 0, &level->container, err);
        if (status == SIRIX_OK) {
            status = place(builder, level->container, err);
        }
    }
    level->outer = builder->top;
    builder->top = level;
    return status;
}

static enum sirix_status take(struct builder *builder, const struct sirix_json_event *event,
                              struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    struct sirix_bytes text = {0};
    enum sirix_status status = SIRIX_OK;

    switch (event->kind) {
    case SIRIX_JSON_OBJECT_BEGIN:
        return begin(builder, true, err);
    case SIRIX_JSON_ARRAY_BEGIN:
        return begin(builder, false, err);
    case SIRIX_JSON_OBJECT_END:
    case SIRIX_JSON_ARRAY_END:
        builder->top = builder->top->outer;
        return SIRIX_OK;
    case SIRIX_JSON_NAME:
        return plain_text(builder, event, &builder->top->name, err);
    case SIRIX_JSON_STRING:
        status = plain_text(builder, event, &text, err);
        item = sirix_item_string(text);
        break;
    case SIRIX_JSON_NUMBER:
        status = sirix_number_parse(builder->work, event->text, true, &item, err);
        break;
    case SIRIX_JSON_TRUE:
    case SIRIX_JSON_FALSE:
        item = sirix_item_boolean(event->kind == SIRIX_JSON_TRUE);
        break;
    case SIRIX_JSON_NULL:
        item = sirix_item_null();
        break;
    default:
        return sirix_query_fail_limit(err, "string_bytes", "a string in JSON text is too long");
    }
    return status != SIRIX_OK ? status : place(builder, item, err);
}

/* What the reader says of bad text, as an error of the language. */
static enum sirix_status bad_text(enum sirix_status status, struct sirix_query_error *err)
{
    if (status != SIRIX_INVALID) {
        return status;
    }
    struct sirix_error found = err->base;

    (void)sirix_query_fail(err, "FOJS0001", "%s (byte %llu)", found.text,
                           (unsigned long long)found.offset);
    return status;
}

static enum sirix_status build(struct builder *builder, struct sirix_query_error *err)
{
    for (;;) {
        struct sirix_json_event event = {0};
        enum sirix_status status = sirix_work_tick(builder->work, 1, err);

        if (status != SIRIX_OK) {
            return status;
        }
        status = sirix_json_reader_next(&builder->reader, &event, &err->base);
        if (status != SIRIX_OK) {
            return bad_text(status, err);
        }
        if (event.kind == SIRIX_JSON_END) {
            return SIRIX_OK;
        }
        status = take(builder, &event, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
}

static enum sirix_status read_text(struct builder *builder, struct sirix_bytes text,
                                   struct sirix_query_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(builder->work->scratch);
    struct sirix_json_reader_options options = {.part_bytes_max = part_bytes_max,
                                                .ndjson = builder->lines != NULL};

    sirix_json_reader_init(&builder->reader, &options);
    sirix_json_reader_feed(&builder->reader, text, true);
    enum sirix_status status = build(builder, err);
    sirix_json_reader_deinit(&builder->reader);
    sirix_arena_rewind(builder->work->scratch, mark);
    return status;
}

enum sirix_status sirix_item_parse_json(struct sirix_work *work, struct sirix_bytes text,
                                        enum sirix_json_doubles doubles, struct sirix_item *out,
                                        struct sirix_query_error *err)
{
    struct builder builder = {.work = work, .doubles = doubles};
    enum sirix_status status = read_text(&builder, text, err);

    if (status == SIRIX_OK) {
        *out = builder.root;
    }
    return status;
}

enum sirix_status sirix_items_parse_json_lines(struct sirix_work *work, struct sirix_bytes text,
                                               struct sirix_sequence *out,
                                               struct sirix_query_error *err)
{
    struct sirix_sequence lines = {0};
    struct builder builder = {.work = work, .lines = &lines};
    enum sirix_status status = read_text(&builder, text, err);

    if (status == SIRIX_OK) {
        *out = lines;
    }
    return status;
}
