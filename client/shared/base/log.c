/* A line is built in one array on the stack and leaves with one write(). */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* What every line ends with; room for it is kept free until then. */
static const char cut_mark[] = ",\"cut\":true";
enum { TAIL_BYTES = sizeof(cut_mark) - 1 + 2 }; /* The mark, `}` and the newline. */

static _Atomic int threshold = SIRIX_LOG_OFF;
static _Atomic int log_fd = STDERR_FILENO;
static const struct sirix_clock *_Atomic log_clock;

struct line {
    char text[SIRIX_LOG_LINE_BYTES_MAX];
    size_t len;
    bool cut;
};

static const char *level_name(enum sirix_log_level level)
{
    switch (level) {
    case SIRIX_LOG_DEBUG:
        return "debug";
    case SIRIX_LOG_INFO:
        return "info";
    case SIRIX_LOG_WARN:
        return "warn";
    case SIRIX_LOG_ERROR:
        return "error";
    case SIRIX_LOG_OFF:
        break;
    }
    return "off";
}

static bool put(struct line *line, const char *text, size_t len)
{
    if (len > sizeof(line->text) - TAIL_BYTES - line->len) {
        line->cut = true;
        return false;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
    return true;
}

static bool put_str(struct line *line, const char *text)
{
    return put(line, text, strlen(text));
}

/* Characters that end a line, move a cursor, or show text as something that it is not. */
static bool is_unsafe(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f) || code_point == 0xad ||
           code_point == 0x61c || code_point == 0x180e ||
           (code_point >= 0x200b && code_point <= 0x200f) ||
           (code_point >= 0x2028 && code_point <= 0x202e) ||
           (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff ||
           (code_point >= 0xfff9 && code_point <= 0xfffb) ||
           (code_point >= 0xe0000 && code_point <= 0xe0fff);
}

static bool put_escape(struct line *line, uint32_t code_point)
{
    char text[16];

    if (code_point > 0xffff) {
        (void)snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                       (unsigned)(0xd800 + ((code_point - 0x10000) >> 10)),
                       (unsigned)(0xdc00 + ((code_point - 0x10000) & 0x3ff)));
    } else {
        (void)snprintf(text, sizeof(text), "\\u%04x", (unsigned)code_point);
    }
    return put_str(line, text);
}

/* One valid character. */
static bool put_character(struct line *line, const uint8_t *at, size_t len, uint32_t code_point)
{
    if (code_point == '"' || code_point == '\\') {
        const char escaped[2] = {'\\', (char)code_point};

        return put(line, escaped, sizeof(escaped));
    }
    return is_unsafe(code_point) ? put_escape(line, code_point) : put(line, (const char *)at, len);
}

/* A JSON string; a text past the limit is cut at a character. */
static bool put_string(struct line *line, struct sirix_bytes value)
{
    const uint8_t *at = value.data;
    size_t left = value.len;
    bool ok = put(line, "\"", 1);

    if (left > SIRIX_LOG_TEXT_BYTES_MAX) {
        left = SIRIX_LOG_TEXT_BYTES_MAX;
        while (left > SIRIX_LOG_TEXT_BYTES_MAX - SIRIX_UTF8_BYTES_MAX &&
               (at[left] & 0xc0) == 0x80) {
            left--;
        }
        line->cut = true;
    }
    while (ok && left != 0) {
        uint32_t code_point = 0;
        size_t len = sirix_utf8_decode(at, left, &code_point);

        ok = len == 0 ? put_str(line, "\xef\xbf\xbd") : put_character(line, at, len, code_point);
        len = len == 0 ? 1 : len;
        at += len;
        left -= len;
    }
    return ok && put(line, "\"", 1);
}

static bool put_c_string(struct line *line, const char *text)
{
    return put_string(line, (struct sirix_bytes){.data = text, .len = strlen(text)});
}

static bool put_value(struct line *line, const struct sirix_log_field *field)
{
    char number[32];

    switch (field->kind) {
    case SIRIX_LOG_TEXT:
        return field->value.text.data == NULL ? put_str(line, "null")
                                              : put_string(line, field->value.text);
    case SIRIX_LOG_I64:
        (void)snprintf(number, sizeof(number), "%" PRId64, field->value.i64);
        return put_str(line, number);
    case SIRIX_LOG_U64:
        (void)snprintf(number, sizeof(number), "%" PRIu64, field->value.u64);
        return put_str(line, number);
    case SIRIX_LOG_BOOL:
        return put_str(line, field->value.boolean ? "true" : "false");
    }
    return put_str(line, "null");
}

/* A field is there whole or not at all. */
static void put_field(struct line *line, const struct sirix_log_field *field)
{
    size_t before = line->len;

    if (!put(line, ",", 1) || !put_c_string(line, field->key) || !put(line, ":", 1) ||
        !put_value(line, field)) {
        line->len = before;
    }
}

static void write_line(struct line *line)
{
    if (line->cut) {
        memcpy(line->text + line->len, cut_mark, sizeof(cut_mark) - 1);
        line->len += sizeof(cut_mark) - 1;
    }
    line->text[line->len++] = '}';
    line->text[line->len++] = '\n';
    ssize_t written = 0;
    do {
        written = write(atomic_load(&log_fd), line->text, line->len);
    } while (written < 0 && errno == EINTR);
    /* There is nobody to tell that the log is full or closed. */
}

struct sirix_log_field sirix_log_str(const char *key, const char *value)
{
    struct sirix_bytes bytes = {.data = value, .len = value == NULL ? 0 : strlen(value)};

    return sirix_log_bytes(key, bytes);
}

struct sirix_log_field sirix_log_bytes(const char *key, struct sirix_bytes value)
{
    return (struct sirix_log_field){.key = key, .kind = SIRIX_LOG_TEXT, .value.text = value};
}

struct sirix_log_field sirix_log_i64(const char *key, int64_t value)
{
    return (struct sirix_log_field){.key = key, .kind = SIRIX_LOG_I64, .value.i64 = value};
}

struct sirix_log_field sirix_log_u64(const char *key, uint64_t value)
{
    return (struct sirix_log_field){.key = key, .kind = SIRIX_LOG_U64, .value.u64 = value};
}

struct sirix_log_field sirix_log_bool(const char *key, bool value)
{
    return (struct sirix_log_field){.key = key, .kind = SIRIX_LOG_BOOL, .value.boolean = value};
}

void sirix_log_setup(enum sirix_log_level level, int fd, const struct sirix_clock *clock)
{
    atomic_store(&log_fd, fd);
    atomic_store(&log_clock, clock);
    atomic_store(&threshold, (int)level);
}

void sirix_log_set_level(enum sirix_log_level level)
{
    atomic_store(&threshold, (int)level);
}

bool sirix_log_enabled(enum sirix_log_level level)
{
    return level < SIRIX_LOG_OFF && (int)level >= atomic_load(&threshold);
}

bool sirix_log_level_parse(const char *name, enum sirix_log_level *out_level)
{
    for (int level = SIRIX_LOG_DEBUG; level <= SIRIX_LOG_OFF; level++) {
        if (strcmp(name, level_name((enum sirix_log_level)level)) == 0) {
            *out_level = (enum sirix_log_level)level;
            return true;
        }
    }
    return false;
}

void sirix_log_write(enum sirix_log_level level, const char *msg,
                     const struct sirix_log_field *fields, size_t count)
{
    struct line line;
    char time[SIRIX_TIME_TEXT_BYTES];
    int saved_errno = errno;

    if (!sirix_log_enabled(level)) {
        return;
    }
    line.len = 0;
    line.cut = false;
    const struct sirix_clock *clock = atomic_load(&log_clock);
    (void)sirix_time_format(sirix_clock_realtime_us(clock == NULL ? sirix_clock_system() : clock),
                            time);
    (void)put_str(&line, "{\"time\":\"");
    (void)put_str(&line, time);
    (void)put_str(&line, "\",\"level\":\"");
    (void)put_str(&line, level_name(level));
    (void)put_str(&line, "\",\"msg\":");
    size_t before_msg = line.len;
    if (!put_c_string(&line, msg)) {
        line.len = before_msg;
        (void)put_str(&line, "\"\"");
    }
    for (size_t i = 0; i < count; i++) {
        put_field(&line, &fields[i]);
    }
    write_line(&line);
    errno = saved_errno;
}

void sirix_log_error(enum sirix_log_level level, const char *msg, const struct sirix_error *error)
{
    struct sirix_log_field fields[6];
    size_t count = 0;

    fields[count++] = sirix_log_str("status", sirix_status_name(error->status));
    if (error->reason != SIRIX_REASON_NONE) {
        fields[count++] = sirix_log_str("reason", sirix_reason_name(error->reason));
    }
    fields[count++] = sirix_log_str("error", error->text);
    if (error->field[0] != '\0') {
        fields[count++] = sirix_log_str("field", error->field);
    }
    if (error->pointer[0] != '\0') {
        fields[count++] = sirix_log_str("pointer", error->pointer);
    }
    if (error->has_offset) {
        fields[count++] = sirix_log_u64("offset", error->offset);
    }
    sirix_log_write(level, msg, fields, count);
}
