/*
 * The reader and the writer on any bytes. The first byte chooses options and the seed of the chunk
 * sizes; the rest is the text. What must hold:
 *   - chunks make no difference to events, verdict, offset and reason
 *   - what was read and written again reads the same (the written text is a fixed point)
 *   - every text given is canonical
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "json/reader.h"
#include "json/text.h"
#include "json/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum sirix_status write_event(struct sirix_json_writer *writer,
                                     const struct sirix_json_event *event)
{
    enum sirix_status status = SIRIX_OK;

    switch (event->kind) {
    case SIRIX_JSON_OBJECT_BEGIN:
        return sirix_json_write_object_begin(writer, NULL);
    case SIRIX_JSON_OBJECT_END:
        return sirix_json_write_object_end(writer, NULL);
    case SIRIX_JSON_ARRAY_BEGIN:
        return sirix_json_write_array_begin(writer, NULL);
    case SIRIX_JSON_ARRAY_END:
        return sirix_json_write_array_end(writer, NULL);
    case SIRIX_JSON_NAME:
        return sirix_json_write_name(writer, event->text, NULL);
    case SIRIX_JSON_STRING:
        return sirix_json_write_string(writer, event->text, NULL);
    case SIRIX_JSON_STRING_PART:
        status = event->is_first ? sirix_json_write_string_begin(writer, NULL) : SIRIX_OK;
        if (status == SIRIX_OK) {
            status = sirix_json_write_string_part(writer, event->text, NULL);
        }
        return status == SIRIX_OK && event->is_last ? sirix_json_write_string_end(writer, NULL)
                                                    : status;
    case SIRIX_JSON_NUMBER:
        return sirix_json_write_number(writer, event->text, NULL);
    case SIRIX_JSON_TRUE:
    case SIRIX_JSON_FALSE:
        return sirix_json_write_bool(writer, event->kind == SIRIX_JSON_TRUE, NULL);
    case SIRIX_JSON_NULL:
        return sirix_json_write_null(writer, NULL);
    case SIRIX_JSON_NEED_INPUT:
    case SIRIX_JSON_END:
        break;
    }
    return SIRIX_OK;
}

static void check_event(const struct sirix_json_event *event)
{
    if (event->kind >= SIRIX_JSON_NAME && event->kind <= SIRIX_JSON_STRING_PART) {
        assert(sirix_json_text_valid(event->text));
        assert(sirix_json_text_plain_len(event->text) == event->plain_len);
        assert(sirix_json_text_has_escapes(event->text) == event->has_escapes);
    }
    if (event->kind == SIRIX_JSON_NUMBER) {
        struct sirix_json_number number = sirix_json_number_classify(event->text);

        assert(sirix_json_number_valid(event->text, NULL));
        assert(number.number_class == event->number.number_class);
        assert(number.mantissa == event->number.mantissa && number.scale == event->number.scale);
    }
}

/* Reads all of the text; seed 0 is one chunk. Each chunk lies in memory of its own. */
static enum sirix_status read_all(const struct sirix_json_reader_options *options,
                                  struct sirix_bytes text, uint64_t seed, struct sirix_buf *out,
                                  struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    const uint8_t *bytes = text.data;
    struct sirix_json_reader reader;
    struct sirix_json_writer writer;
    enum sirix_status status = SIRIX_OK;
    uint8_t *chunk = NULL;
    size_t at = 0;

    sirix_json_reader_init(&reader, options);
    sirix_json_writer_init_buf(&writer, out, NULL);
    while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
        if (status == SIRIX_OK && event.kind == SIRIX_JSON_NEED_INPUT) {
            size_t left = text.len - at;
            size_t len = seed == 0 ? left : (size_t)(sirix_mix64(seed + at) % 13);

            len = len > left ? left : len;
            free(chunk);
            chunk = malloc(len + 1);
            assert(chunk != NULL);
            if (len != 0) {
                memcpy(chunk, bytes + at, len);
            }
            at += len;
            seed += seed == 0 ? 0 : UINT64_C(0x9e3779b97f4a7c15);
            sirix_json_reader_feed(&reader, (struct sirix_bytes){.data = chunk, .len = len},
                                   at == text.len);
        } else if (status == SIRIX_OK) {
            check_event(&event);
            assert(write_event(&writer, &event) == SIRIX_OK);
        }
    }
    if (status == SIRIX_OK) {
        assert(sirix_json_writer_finish(&writer, NULL) == SIRIX_OK);
    }
    free(chunk);
    sirix_json_writer_deinit(&writer);
    sirix_json_reader_deinit(&reader);
    return status;
}

static void check(const struct sirix_json_reader_options *options, struct sirix_bytes text)
{
    struct sirix_error err = {0};
    struct sirix_buf whole;
    struct sirix_buf other;

    sirix_buf_init(&whole, SIZE_MAX);
    sirix_buf_init(&other, SIZE_MAX);
    enum sirix_status status = read_all(options, text, 0, &whole, &err);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sirix_error other_err = {0};

        sirix_buf_clear(&other);
        assert(read_all(options, text, seed, &other, &other_err) == status);
        assert(sirix_bytes_equal(sirix_buf_view(&other), sirix_buf_view(&whole)) ||
               status != SIRIX_OK);
        assert(status == SIRIX_OK ||
               (other_err.offset == err.offset && other_err.reason == err.reason &&
                strcmp(other_err.pointer, err.pointer) == 0));
    }
    if (status == SIRIX_OK) {
        sirix_buf_clear(&other);
        assert(read_all(NULL, sirix_buf_view(&whole), 0, &other, NULL) == SIRIX_OK);
        assert(sirix_bytes_equal(sirix_buf_view(&other), sirix_buf_view(&whole)));
    } else {
        assert(err.has_offset && err.offset <= text.len);
    }
    sirix_buf_deinit(&other);
    sirix_buf_deinit(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const struct sirix_json_reader_options options = {
        .ndjson = (data[0] & 1) != 0,
        .part_bytes_max = (data[0] & 2) != 0 ? SIRIX_JSON_PART_BYTES_MIN : 0,
        .string_bytes_max = (data[0] & 4) != 0 ? 100 : 0,
        .depth_max = (data[0] & 8) != 0 ? 5 : 0,
    };

    check(&options, (struct sirix_bytes){.data = data + 1, .len = size - 1});
    return 0;
}
