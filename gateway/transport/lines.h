/*
 * Lines out of a stream of bytes: LF or CRLF ends one, so does the end of the stream. Empty lines
 * are left out. A line past the limit is told once and skipped to its end, without being kept.
 */
#ifndef SIRIX_TRANSPORT_LINES_H
#define SIRIX_TRANSPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_LINE_BYTES_MAX = 16 * 1024 * 1024 };

enum sirix_lines_kind {
    SIRIX_LINES_MORE, /* Feed more; after the end: there is no more. */
    SIRIX_LINES_LINE,
    SIRIX_LINES_TOO_LONG,
};

/* All fields are private. */
struct sirix_lines {
    struct sirix_buf buf;
    size_t line_bytes_max;
    size_t start;   /* Of the first line that was not given. */
    size_t scanned; /* No line ends between start and here. */
    bool is_skipping;
    bool is_ended;
};

/* line_bytes_max 0: SIRIX_LINE_BYTES_MAX. Allocates nothing. */
void sirix_lines_init(struct sirix_lines *lines, size_t line_bytes_max);
void sirix_lines_deinit(struct sirix_lines *lines);

/* Adds bytes; earlier lines become stale. SIRIX_NO_MEMORY. */
enum sirix_status sirix_lines_feed(struct sirix_lines *lines, struct sirix_bytes bytes,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The stream is over: what is left is the last line. */
void sirix_lines_end(struct sirix_lines *lines);

/* The next line, without its end, valid until the next feed. */
enum sirix_lines_kind sirix_lines_next(struct sirix_lines *lines, struct sirix_bytes *out_line);

#endif
