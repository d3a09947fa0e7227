/*
 * The log: one JSON object a line on stderr (or another file), for machines first.
 *
 *     {"time":"2026-01-02T03:04:05.678000Z","level":"info","msg":"opened","database":"notes","ms":12}
 *
 * Safe       Nothing that a name, a query or a peer says can forge a line or steer a terminal:
 *            controls, U+007F..U+009F, U+2028, U+2029, bidirectional and zero-width characters and
 *            the byte order mark are written as \u escapes, invalid UTF-8 as U+FFFD.
 * Bounded    A line is at most SIRIX_LOG_LINE_BYTES_MAX; fields that do not fit are left out and
 *            "cut":true says so; long texts are cut at a character.
 * Threads    Any thread at any time; each line is one write(), so lines do not mix.
 * Errors     None: a log that cannot be written is dropped.
 * Who logs   Programs and whoever ends a request; library code does not.
 */
#ifndef SIRIX_BASE_LOG_H
#define SIRIX_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"

enum sirix_log_level {
    SIRIX_LOG_DEBUG,
    SIRIX_LOG_INFO,
    SIRIX_LOG_WARN,
    SIRIX_LOG_ERROR,
    SIRIX_LOG_OFF, /* As a threshold only: nothing is written. */
};

enum { SIRIX_LOG_LINE_BYTES_MAX = 8192, SIRIX_LOG_TEXT_BYTES_MAX = 2048 };

/* One field; make it with the functions below. The key is a literal of ours. */
enum sirix_log_kind { SIRIX_LOG_TEXT, SIRIX_LOG_I64, SIRIX_LOG_U64, SIRIX_LOG_BOOL };

struct sirix_log_field {
    const char *key;
    enum sirix_log_kind kind;
    union {
        struct sirix_bytes text;
        int64_t i64;
        uint64_t u64;
        bool boolean;
    } value;
};

/* Fields; a NULL C string is written as null. */
struct sirix_log_field sirix_log_str(const char *key, const char *value);
struct sirix_log_field sirix_log_bytes(const char *key, struct sirix_bytes value);
struct sirix_log_field sirix_log_i64(const char *key, int64_t value);
struct sirix_log_field sirix_log_u64(const char *key, uint64_t value);
struct sirix_log_field sirix_log_bool(const char *key, bool value);

/*
 * What the process logs: the least level that is written (SIRIX_LOG_OFF, quiet, until this is
 * called), the file descriptor (2: stderr) and the clock (NULL: the system's). Call it before other
 * threads log; sirix_log_set_level() may be called at any time.
 */
void sirix_log_setup(enum sirix_log_level level, int fd, const struct sirix_clock *clock);
void sirix_log_set_level(enum sirix_log_level level);
bool sirix_log_enabled(enum sirix_log_level level);

/* Parses "debug", "info", "warn", "error" or "off". */
bool sirix_log_level_parse(const char *name, enum sirix_log_level *out_level);

/* Writes one line with count fields. msg is a literal of ours; it is escaped all the same. */
void sirix_log_write(enum sirix_log_level level, const char *msg,
                     const struct sirix_log_field *fields, size_t count);

/*
 * With at least one field; a line without fields is sirix_log_write(level, msg, NULL, 0).
 *
 *     sirix_log(SIRIX_LOG_INFO, "opened", sirix_log_str("database", name), sirix_log_u64("ms", 3));
 */
#define sirix_log(level, msg, ...) /* NOLINT(readability-identifier-naming): reads as a call */    \
    sirix_log_write((level), (msg), (const struct sirix_log_field[]){__VA_ARGS__},                 \
                    sizeof((const struct sirix_log_field[]){__VA_ARGS__}) /                        \
                        sizeof(struct sirix_log_field))

/* Writes an error's status, reason, sentence and facts as the fields of one line. */
void sirix_log_error(enum sirix_log_level level, const char *msg, const struct sirix_error *error);

#endif
