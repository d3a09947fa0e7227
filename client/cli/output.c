/* Output. */
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

enum { ANSWER_BYTES_MAX = 256 * 1024 * 1024, FIRST_SUPPLEMENTARY = 0x10000 };

void sirixctl_out_init(struct sirixctl_out *out, FILE *file, bool colours)
{
    *out = (struct sirixctl_out){
        .file = file,
        .is_terminal = isatty(fileno(file)) == 1,
        .colours = colours,
    };
}

enum sirix_status sirixctl_out_finish(struct sirixctl_out *out, struct sirix_error *err)
{
    if (out->pending_len != 0) {
        (void)fwrite(out->pending, 1, out->pending_len, out->file); /* Asked below. */
        out->pending_len = 0;
    }
    if (fflush(out->file) != 0 || ferror(out->file) != 0) {
        return sirix_fail(err, SIRIX_IO, "write the output: %s", strerror(errno));
    }
    return SIRIX_OK;
}

void sirixctl_out_printf(struct sirixctl_out *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vfprintf(out->file, fmt, args);
    va_end(args);
}

/* --- Safe text -------------------------------------------------------------------------------- */

struct range {
    uint32_t first;
    uint32_t last;
};

/* Characters that act, hide, or change the direction of others. Sorted. */
static const struct range unsafe_ranges[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_unsafe(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof(unsafe_ranges) / sizeof(unsafe_ranges[0]); i++) {
        if (code_point < unsafe_ranges[i].first) {
            return false;
        }
        if (code_point <= unsafe_ranges[i].last) {
            return true;
        }
    }
    return false;
}

void sirixctl_out_count(struct sirixctl_out *out, uint64_t count, const char *thing)
{
    sirixctl_out_printf(out, "%" PRIu64 " %s%s", count, thing, count == 1 ? "" : "s");
}

void sirixctl_out_text(struct sirixctl_out *out, struct sirix_bytes text)
{
    const uint8_t *bytes = text.data;

    for (size_t at = 0; at < text.len;) {
        uint32_t code_point = 0;
        size_t len = sirix_utf8_decode(bytes + at, text.len - at, &code_point);

        if (len == 0) {
            (void)fprintf(out->file, "\\x%02x", bytes[at]);
            len = 1;
        } else if (code_point == '\n') {
            (void)fputs("\\n", out->file);
        } else if (code_point == '\t') {
            (void)fputs("\\t", out->file);
        } else if (is_unsafe(code_point)) {
            (void)fprintf(out->file, "\\u{%" PRIx32 "}", code_point);
        } else {
            (void)fwrite(bytes + at, 1, len, out->file);
        }
        at += len;
    }
}

void sirixctl_out_str(struct sirixctl_out *out, const char *text)
{
    sirixctl_out_text(out, sirix_bytes_from_str(text));
}

/* One character of JSON text; white space is the only control that may stand in it as it is. */
static void put_json_character(FILE *file, const uint8_t *bytes, size_t len, uint32_t code_point)
{
    bool is_space = code_point == '\n' || code_point == '\r' || code_point == '\t';

    if (is_space || !is_unsafe(code_point)) {
        (void)fwrite(bytes, 1, len, file);
    } else if (code_point < FIRST_SUPPLEMENTARY) {
        (void)fprintf(file, "\\u%04" PRIx32, code_point);
    } else {
        uint32_t bits = code_point - FIRST_SUPPLEMENTARY;

        (void)fprintf(file, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (bits >> 10),
                      0xdc00 + (bits & 0x3ff));
    }
}

/* Completes the character that the last piece ended in; returns how many bytes it took. */
static size_t complete_pending(struct sirixctl_out *out, const uint8_t *bytes, size_t len)
{
    size_t taken = 0;

    while (out->pending_len != 0 && taken < len) {
        uint32_t code_point = 0;

        out->pending[out->pending_len++] = bytes[taken++];
        size_t whole = sirix_utf8_decode(out->pending, out->pending_len, &code_point);
        if (whole != 0) {
            put_json_character(out->file, out->pending, whole, code_point);
            out->pending_len = 0;
        } else if (sirix_utf8_missing(out->pending, out->pending_len) == 0) {
            (void)fputs("\\ufffd", out->file);
            out->pending_len = 0;
        }
    }
    return taken;
}

void sirixctl_out_json(struct sirixctl_out *out, struct sirix_bytes json)
{
    const uint8_t *bytes = json.data;

    if (!out->is_terminal) {
        (void)fwrite(bytes, 1, json.len, out->file);
        return;
    }
    for (size_t at = complete_pending(out, bytes, json.len); at < json.len;) {
        uint32_t code_point = 0;
        size_t left = json.len - at;
        size_t len = sirix_utf8_decode(bytes + at, left, &code_point);

        if (len != 0) {
            put_json_character(out->file, bytes + at, len, code_point);
            at += len;
        } else if (sirix_utf8_missing(bytes + at, left) != 0) {
            memcpy(out->pending, bytes + at, left);
            out->pending_len = left;
            at = json.len;
        } else {
            (void)fputs("\\ufffd", out->file); /* No UTF-8; not to a terminal as it is. */
            at++;
        }
    }
}

void sirixctl_out_colour(struct sirixctl_out *out, enum sirixctl_colour colour)
{
    static const char *const colour_codes[] = {"\033[0m",  "\033[31m", "\033[32m",
                                               "\033[33m", "\033[36m", "\033[1m"};

    if (out->colours) {
        (void)fputs(colour_codes[colour], out->file);
    }
}

void sirixctl_out_time(struct sirixctl_out *out, uint64_t time_us)
{
    char text[SIRIX_TIME_TEXT_BYTES];

    if (time_us == 0 || time_us > (uint64_t)INT64_MAX) {
        (void)fputs("-", out->file);
        return;
    }
    (void)sirix_time_format((int64_t)time_us, text);
    (void)fputs(text, out->file);
}

void sirixctl_format_bytes(uint64_t bytes, char out_text[16])
{
    static const char *const unit_names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    uint64_t tenths = 0;
    size_t unit = 0;

    while (bytes >= 1000) {
        tenths = bytes % 1000 / 100;
        bytes /= 1000;
        unit++;
    }
    if (unit == 0) {
        (void)snprintf(out_text, 16, "%u B", (unsigned)bytes);
    } else {
        (void)snprintf(out_text, 16, "%u.%u %s", (unsigned)bytes, (unsigned)tenths,
                       unit_names[unit]);
    }
}

/* --- Objects ---------------------------------------------------------------------------------- */

void sirixctl_json_init(struct sirixctl_json *json)
{
    *json = (struct sirixctl_json){.status = SIRIX_OK};
    sirix_buf_init(&json->buf, ANSWER_BYTES_MAX);
    sirix_json_writer_init_buf(&json->writer, &json->buf, NULL);
}

enum sirix_status sirixctl_json_finish(struct sirixctl_json *json, struct sirixctl_out *out,
                                       struct sirix_error *err)
{
    if (json->status == SIRIX_OK) {
        json->status = sirix_json_writer_finish(&json->writer, &json->err);
    }
    if (json->status == SIRIX_OK) {
        sirixctl_out_json(out, sirix_buf_view(&json->buf));
        (void)fputc('\n', out->file);
    } else if (err != NULL) {
        *err = json->err;
    }
    sirix_json_writer_deinit(&json->writer);
    sirix_buf_deinit(&json->buf);
    return json->status;
}

enum sirix_status sirixctl_json_end(struct sirixctl_json *json, struct sirixctl_out *out,
                                    enum sirix_status status, struct sirix_error *err)
{
    if (status == SIRIX_OK && out != NULL) {
        return sirixctl_json_finish(json, out, err);
    }
    sirix_json_writer_deinit(&json->writer);
    sirix_buf_deinit(&json->buf);
    return status;
}

/* The name of what follows; false when something failed before. */
static bool ready(struct sirixctl_json *json, const char *name)
{
    if (json->status == SIRIX_OK && name != NULL) {
        json->status = sirix_json_write_name_str(&json->writer, name, &json->err);
    }
    return json->status == SIRIX_OK;
}

void sirixctl_json_name(struct sirixctl_json *json, struct sirix_bytes name)
{
    if (json->status == SIRIX_OK) {
        json->status = sirix_json_write_name_plain(&json->writer, name, &json->err);
    }
}

void sirixctl_json_object(struct sirixctl_json *json, const char *name)
{
    if (ready(json, name)) {
        json->status = sirix_json_write_object_begin(&json->writer, &json->err);
    }
}

void sirixctl_json_object_end(struct sirixctl_json *json)
{
    if (ready(json, NULL)) {
        json->status = sirix_json_write_object_end(&json->writer, &json->err);
    }
}

void sirixctl_json_array(struct sirixctl_json *json, const char *name)
{
    if (ready(json, name)) {
        json->status = sirix_json_write_array_begin(&json->writer, &json->err);
    }
}

void sirixctl_json_array_end(struct sirixctl_json *json)
{
    if (ready(json, NULL)) {
        json->status = sirix_json_write_array_end(&json->writer, &json->err);
    }
}

void sirixctl_json_str(struct sirixctl_json *json, const char *name, const char *value)
{
    sirixctl_json_text(json, name, sirix_bytes_from_str(value));
}

void sirixctl_json_text(struct sirixctl_json *json, const char *name, struct sirix_bytes value)
{
    if (ready(json, name)) {
        json->status = sirix_json_write_string_plain(&json->writer, value, &json->err);
    }
}

void sirixctl_json_u64(struct sirixctl_json *json, const char *name, uint64_t value)
{
    if (ready(json, name)) {
        json->status = sirix_json_write_u64(&json->writer, value, &json->err);
    }
}

void sirixctl_json_bool(struct sirixctl_json *json, const char *name, bool value)
{
    if (ready(json, name)) {
        json->status = sirix_json_write_bool(&json->writer, value, &json->err);
    }
}

void sirixctl_json_time(struct sirixctl_json *json, const char *name, uint64_t time_us)
{
    char text[SIRIX_TIME_TEXT_BYTES];

    if (!ready(json, name)) {
        return;
    }
    if (time_us == 0 || time_us > (uint64_t)INT64_MAX) {
        json->status = sirix_json_write_null(&json->writer, &json->err);
        return;
    }
    (void)sirix_time_format((int64_t)time_us, text);
    json->status = sirix_json_write_string_str(&json->writer, text, &json->err);
}

void sirixctl_json_raw(struct sirixctl_json *json, const char *name, struct sirix_bytes value)
{
    if (ready(json, name)) {
        json->status = value.len != 0 ? sirix_json_write_raw(&json->writer, value, &json->err)
                                      : sirix_json_write_null(&json->writer, &json->err);
    }
}
