/* Lines. */
#include "transport/lines.h"

#include <string.h>

void sirix_lines_init(struct sirix_lines *lines, size_t line_bytes_max)
{
    *lines = (struct sirix_lines){
        .line_bytes_max = line_bytes_max == 0 ? SIRIX_LINE_BYTES_MAX : line_bytes_max,
    };
    sirix_buf_init(&lines->buf, SIZE_MAX);
}

void sirix_lines_deinit(struct sirix_lines *lines)
{
    sirix_buf_deinit(&lines->buf);
}

enum sirix_status sirix_lines_feed(struct sirix_lines *lines, struct sirix_bytes bytes,
                                   struct sirix_error *err)
{
    sirix_buf_consume(&lines->buf, lines->start);
    lines->scanned -= lines->start;
    lines->start = 0;
    return sirix_buf_append_bytes(&lines->buf, bytes, err);
}

void sirix_lines_end(struct sirix_lines *lines)
{
    lines->is_ended = true;
}

enum sirix_lines_kind sirix_lines_next(struct sirix_lines *lines, struct sirix_bytes *out_line)
{
    const struct sirix_buf *buf = &lines->buf;

    while (lines->start < buf->len) {
        const uint8_t *from = buf->data + lines->start;
        const uint8_t *end = memchr(buf->data + lines->scanned, '\n', buf->len - lines->scanned);
        size_t len = end == NULL ? buf->len - lines->start : (size_t)(end - from);
        const bool was_skipping = lines->is_skipping;

        if (end == NULL && !lines->is_ended && len <= lines->line_bytes_max && !was_skipping) {
            lines->scanned = buf->len;
            return SIRIX_LINES_MORE;
        }
        /* A line is over, or too long already. */
        lines->start += len + (end != NULL);
        lines->scanned = lines->start;
        lines->is_skipping = end == NULL && !lines->is_ended;
        if (was_skipping) {
            continue;
        }
        if (len > lines->line_bytes_max) {
            return SIRIX_LINES_TOO_LONG;
        }
        len -= len != 0 && from[len - 1] == '\r';
        if (len != 0) {
            *out_line = (struct sirix_bytes){.data = from, .len = len};
            return SIRIX_LINES_LINE;
        }
    }
    return SIRIX_LINES_MORE;
}
