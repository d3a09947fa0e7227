/* Every call goes through begin_value() or the like, which checks the place and writes what separates. */
#include "json/writer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "json/number.h"
#include "json/reader.h"
#include "json/text.h"

static const char spaces[SIRIX_JSON_WRITER_INDENT_MAX + 1] = "                ";

static enum sirix_status keep_error(struct sirix_json_writer *writer, enum sirix_status status,
                                    const struct sirix_error *err)
{
    writer->failed = status;
    writer->error = (struct sirix_error){.status = status};
    if (err != NULL) {
        writer->error = *err;
    }
    return status;
}

static enum sirix_status again(const struct sirix_json_writer *writer, struct sirix_error *err)
{
    if (err != NULL) {
        *err = writer->error;
    }
    return writer->failed;
}

static enum sirix_status misuse(struct sirix_error *err, const char *what)
{
    return sirix_fail(err, SIRIX_INTERNAL, "JSON writer: %s", what);
}

static enum sirix_status hand_over(struct sirix_json_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (writer->block.len != 0) {
        status = writer->sink(writer->sink_context, writer->block.data, writer->block.len, err);
        sirix_buf_clear(&writer->block);
    }
    return status == SIRIX_OK ? SIRIX_OK : keep_error(writer, status, err);
}

static enum sirix_status put(struct sirix_json_writer *writer, const void *data, size_t len,
                             struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (writer->sink != NULL && len > SIRIX_JSON_WRITER_BLOCK_BYTES - writer->block.len) {
        status = hand_over(writer, err);
        if (status == SIRIX_OK && len >= SIRIX_JSON_WRITER_BLOCK_BYTES) {
            status = writer->sink(writer->sink_context, data, len, err);
            return status == SIRIX_OK ? SIRIX_OK : keep_error(writer, status, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append(writer->out, data, len, err);
        if (status != SIRIX_OK) {
            status = keep_error(writer, status, err);
        }
    }
    return status;
}

static bool in_object(const struct sirix_json_writer *writer)
{
    unsigned level = writer->depth - 1;

    return (writer->kinds.data[level / 8] >> (level % 8) & 1) != 0;
}

static enum sirix_status new_line(struct sirix_json_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = put(writer, "\n", 1, err);

    for (unsigned i = 0; i < writer->depth && status == SIRIX_OK; i++) {
        status = put(writer, spaces, writer->options.indent, err);
    }
    return status;
}

/* A comma and a line, where they are due before a child. */
static enum sirix_status separate(struct sirix_json_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!writer->is_empty) {
        status = put(writer, ",", 1, err);
    }
    if (status == SIRIX_OK && writer->options.indent != 0) {
        status = new_line(writer, err);
    }
    writer->is_empty = false;
    return status;
}

/* Refuses a value where none may stand, and writes what goes before it. */
static enum sirix_status begin_value(struct sirix_json_writer *writer, struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (writer->in_string) {
        return misuse(err, "a string is open");
    }
    if (writer->depth == 0) {
        if (writer->has_root) {
            return misuse(err, "a second value");
        }
        writer->has_root = true;
        return SIRIX_OK;
    }
    if (in_object(writer)) {
        if (!writer->has_name) {
            return misuse(err, "a value without a name in an object");
        }
        writer->has_name = false;
        return SIRIX_OK;
    }
    return separate(writer, err);
}

static enum sirix_status begin_name(struct sirix_json_writer *writer, struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (writer->in_string || writer->depth == 0 || !in_object(writer) || writer->has_name) {
        return misuse(err, "a name where none belongs");
    }
    return separate(writer, err);
}

static enum sirix_status end_name(struct sirix_json_writer *writer, struct sirix_error *err)
{
    writer->has_name = true;
    return writer->options.indent == 0 ? put(writer, "\":", 2, err) : put(writer, "\": ", 3, err);
}

/* Plain text as canonical, in a buffer that the next such call uses again. Nothing is written. */
static enum sirix_status escape(struct sirix_json_writer *writer, struct sirix_bytes plain,
                                struct sirix_bytes *out, struct sirix_error *err)
{
    sirix_buf_clear(&writer->escaped);
    enum sirix_status status = sirix_json_text_escape(&writer->escaped, plain, err);

    *out = sirix_buf_view(&writer->escaped);
    return status;
}

static enum sirix_status begin_container(struct sirix_json_writer *writer, bool is_object,
                                         struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (writer->depth == writer->options.depth_max) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_DEPTH_LIMIT,
                                 "more than %u arrays and objects within each other",
                                 writer->options.depth_max);
    }
    if (writer->depth / 8 == writer->kinds.len) {
        enum sirix_status status = sirix_buf_append_u8(&writer->kinds, 0, err);
        if (status != SIRIX_OK) {
            return keep_error(writer, status, err);
        }
    }
    enum sirix_status status = begin_value(writer, err);
    if (status == SIRIX_OK) {
        status = put(writer, is_object ? "{" : "[", 1, err);
    }
    if (status == SIRIX_OK) {
        uint8_t bit = (uint8_t)(1u << (writer->depth % 8));
        uint8_t *byte = &writer->kinds.data[writer->depth / 8];

        *byte = is_object ? (uint8_t)(*byte | bit) : (uint8_t)(*byte & ~bit);
        writer->depth++;
        writer->is_empty = true;
    }
    return status;
}

static enum sirix_status end_container(struct sirix_json_writer *writer, bool is_object,
                                       struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (writer->depth == 0 || in_object(writer) != is_object || writer->has_name ||
        writer->in_string) {
        return misuse(err, "an end without its begin");
    }
    writer->depth--;
    if (!writer->is_empty && writer->options.indent != 0) {
        status = new_line(writer, err);
    }
    writer->is_empty = false;
    return status == SIRIX_OK ? put(writer, is_object ? "}" : "]", 1, err) : status;
}

static void init(struct sirix_json_writer *writer, const struct sirix_json_writer_options *options)
{
    *writer = (struct sirix_json_writer){.is_empty = true};
    if (options != NULL) {
        writer->options = *options;
    }
    if (writer->options.depth_max == 0) {
        writer->options.depth_max = SIRIX_JSON_DEPTH_MAX;
    }
    assert(writer->options.indent <= SIRIX_JSON_WRITER_INDENT_MAX);
    sirix_buf_init(&writer->block, SIRIX_JSON_WRITER_BLOCK_BYTES);
    sirix_buf_init(&writer->kinds, SIZE_MAX);
    sirix_buf_init(&writer->escaped, SIZE_MAX);
}

void sirix_json_writer_init_buf(struct sirix_json_writer *writer, struct sirix_buf *out,
                                const struct sirix_json_writer_options *options)
{
    init(writer, options);
    writer->out = out;
}

void sirix_json_writer_init_sink(struct sirix_json_writer *writer, sirix_json_sink_fn sink,
                                 void *context, const struct sirix_json_writer_options *options)
{
    init(writer, options);
    writer->out = &writer->block;
    writer->sink = sink;
    writer->sink_context = context;
}

void sirix_json_writer_deinit(struct sirix_json_writer *writer)
{
    if (writer != NULL) {
        sirix_buf_deinit(&writer->block);
        sirix_buf_deinit(&writer->kinds);
        sirix_buf_deinit(&writer->escaped);
    }
}

enum sirix_status sirix_json_write_object_begin(struct sirix_json_writer *writer,
                                                struct sirix_error *err)
{
    return begin_container(writer, true, err);
}

enum sirix_status sirix_json_write_object_end(struct sirix_json_writer *writer,
                                              struct sirix_error *err)
{
    return end_container(writer, true, err);
}

enum sirix_status sirix_json_write_array_begin(struct sirix_json_writer *writer,
                                               struct sirix_error *err)
{
    return begin_container(writer, false, err);
}

enum sirix_status sirix_json_write_array_end(struct sirix_json_writer *writer,
                                             struct sirix_error *err)
{
    return end_container(writer, false, err);
}

enum sirix_status sirix_json_write_name(struct sirix_json_writer *writer,
                                        struct sirix_bytes canonical, struct sirix_error *err)
{
    enum sirix_status status = begin_name(writer, err);

    if (status == SIRIX_OK) {
        status = put(writer, "\"", 1, err);
    }
    if (status == SIRIX_OK) {
        status = put(writer, canonical.data, canonical.len, err);
    }
    return status == SIRIX_OK ? end_name(writer, err) : status;
}

enum sirix_status sirix_json_write_name_plain(struct sirix_json_writer *writer,
                                              struct sirix_bytes plain, struct sirix_error *err)
{
    struct sirix_bytes canonical = {0};
    enum sirix_status status = escape(writer, plain, &canonical, err);

    return status == SIRIX_OK ? sirix_json_write_name(writer, canonical, err) : status;
}

enum sirix_status sirix_json_write_name_str(struct sirix_json_writer *writer, const char *name,
                                            struct sirix_error *err)
{
    struct sirix_bytes canonical = {.data = name, .len = strlen(name)};

    return sirix_json_write_name(writer, canonical, err);
}

enum sirix_status sirix_json_write_string(struct sirix_json_writer *writer,
                                          struct sirix_bytes canonical, struct sirix_error *err)
{
    enum sirix_status status = begin_value(writer, err);

    if (status == SIRIX_OK) {
        status = put(writer, "\"", 1, err);
    }
    if (status == SIRIX_OK) {
        status = put(writer, canonical.data, canonical.len, err);
    }
    return status == SIRIX_OK ? put(writer, "\"", 1, err) : status;
}

enum sirix_status sirix_json_write_string_plain(struct sirix_json_writer *writer,
                                                struct sirix_bytes plain, struct sirix_error *err)
{
    struct sirix_bytes canonical = {0};
    enum sirix_status status = escape(writer, plain, &canonical, err);

    return status == SIRIX_OK ? sirix_json_write_string(writer, canonical, err) : status;
}

enum sirix_status sirix_json_write_string_str(struct sirix_json_writer *writer, const char *text,
                                              struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = text, .len = strlen(text)};

    return sirix_json_write_string_plain(writer, plain, err);
}

enum sirix_status sirix_json_write_string_begin(struct sirix_json_writer *writer,
                                                struct sirix_error *err)
{
    enum sirix_status status = begin_value(writer, err);

    if (status == SIRIX_OK) {
        writer->in_string = true;
        status = put(writer, "\"", 1, err);
    }
    return status;
}

enum sirix_status sirix_json_write_string_part(struct sirix_json_writer *writer,
                                               struct sirix_bytes canonical,
                                               struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (!writer->in_string) {
        return misuse(err, "a part of a string that was not begun");
    }
    return put(writer, canonical.data, canonical.len, err);
}

enum sirix_status sirix_json_write_string_end(struct sirix_json_writer *writer,
                                              struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (!writer->in_string) {
        return misuse(err, "the end of a string that was not begun");
    }
    writer->in_string = false;
    return put(writer, "\"", 1, err);
}

enum sirix_status sirix_json_write_raw(struct sirix_json_writer *writer, struct sirix_bytes json,
                                       struct sirix_error *err)
{
    enum sirix_status status = begin_value(writer, err);

    return status == SIRIX_OK ? put(writer, json.data, json.len, err) : status;
}

enum sirix_status sirix_json_write_number(struct sirix_json_writer *writer, struct sirix_bytes text,
                                          struct sirix_error *err)
{
    return sirix_json_write_raw(writer, text, err);
}

enum sirix_status sirix_json_write_i64(struct sirix_json_writer *writer, int64_t value,
                                       struct sirix_error *err)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    size_t len = sirix_json_number_format_integer(value, text);

    return sirix_json_write_raw(writer, (struct sirix_bytes){.data = text, .len = len}, err);
}

enum sirix_status sirix_json_write_u64(struct sirix_json_writer *writer, uint64_t value,
                                       struct sirix_error *err)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

    return sirix_json_write_raw(writer, (struct sirix_bytes){.data = text, .len = (size_t)len},
                                err);
}

enum sirix_status sirix_json_write_decimal(struct sirix_json_writer *writer, int64_t mantissa,
                                           uint8_t scale, struct sirix_error *err)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    size_t len = sirix_json_number_format_decimal(mantissa, scale, text);

    return sirix_json_write_raw(writer, (struct sirix_bytes){.data = text, .len = len}, err);
}

enum sirix_status sirix_json_write_bool(struct sirix_json_writer *writer, bool value,
                                        struct sirix_error *err)
{
    struct sirix_bytes text = {.data = value ? "true" : "false", .len = value ? 4 : 5};

    return sirix_json_write_raw(writer, text, err);
}

enum sirix_status sirix_json_write_null(struct sirix_json_writer *writer, struct sirix_error *err)
{
    return sirix_json_write_raw(writer, (struct sirix_bytes){.data = "null", .len = 4}, err);
}

enum sirix_status sirix_json_writer_finish(struct sirix_json_writer *writer,
                                           struct sirix_error *err)
{
    if (writer->failed != SIRIX_OK) {
        return again(writer, err);
    }
    if (writer->depth != 0 || !writer->has_root || writer->in_string) {
        return misuse(err, "the text is not one whole value");
    }
    return writer->sink == NULL ? SIRIX_OK : hand_over(writer, err);
}
