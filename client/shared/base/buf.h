/*
 * A growable byte buffer with a maximum.
 *
 * Memory    The buffer owns data; any call that may grow it makes earlier pointers into it stale.
 * Errors    Growing past max is SIRIX_EXHAUSTED (reason size_limit), a failed allocation
 *           SIRIX_NO_MEMORY; the bytes already there stay as they were.
 * Threads   One thread at a time.
 */
#ifndef SIRIX_BASE_BUF_H
#define SIRIX_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/status.h"

struct sirix_buf {
    uint8_t *data; /* NULL until the first byte. */
    size_t len;    /* May be lowered by the caller to drop bytes from the end. */
    size_t cap;
    size_t max; /* len never passes this. */
};

/* An empty buffer that may hold up to max bytes (SIZE_MAX: no limit). Allocates nothing. */
static inline void sirix_buf_init(struct sirix_buf *buf, size_t max)
{
    *buf = (struct sirix_buf){.max = max};
}

/* Frees the bytes; the buffer is empty and usable again with the same max. NULL is allowed. */
void sirix_buf_deinit(struct sirix_buf *buf);

/* Drops the content and keeps the memory. */
static inline void sirix_buf_clear(struct sirix_buf *buf)
{
    buf->len = 0;
}

/* Makes room for extra more bytes, so that appends up to that cannot fail. */
enum sirix_status sirix_buf_reserve(struct sirix_buf *buf, size_t extra,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Adds len bytes to the end; data may be NULL when len is 0 and may not lie inside the buffer. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_buf_append(struct sirix_buf *buf,
                                                                  const void *data, size_t len,
                                                                  struct sirix_error *err)
{
    if (len > buf->cap - buf->len) {
        enum sirix_status status = sirix_buf_reserve(buf, len, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (len != 0) {
        memcpy(buf->data + buf->len, data, len);
        buf->len += len;
    }
    return SIRIX_OK;
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_buf_append_bytes(struct sirix_buf *buf,
                                                                        struct sirix_bytes bytes,
                                                                        struct sirix_error *err)
{
    return sirix_buf_append(buf, bytes.data, bytes.len, err);
}

/* Adds the characters of a C string without its NUL. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_buf_append_str(struct sirix_buf *buf,
                                                                      const char *text,
                                                                      struct sirix_error *err)
{
    return sirix_buf_append(buf, text, strlen(text), err);
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_buf_append_u8(struct sirix_buf *buf,
                                                                     uint8_t byte,
                                                                     struct sirix_error *err)
{
    return sirix_buf_append(buf, &byte, 1, err);
}

/* Fixed-width integers in little-endian byte order, and LEB128. */
enum sirix_status sirix_buf_append_u16le(struct sirix_buf *buf, uint16_t value,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_buf_append_u32le(struct sirix_buf *buf, uint32_t value,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_buf_append_u64le(struct sirix_buf *buf, uint64_t value,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_buf_append_varint(struct sirix_buf *buf, uint64_t value,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Adds len bytes of value byte. */
enum sirix_status sirix_buf_append_fill(struct sirix_buf *buf, uint8_t byte, size_t len,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* printf to the end, without the NUL. A format that fails is SIRIX_INTERNAL. */
enum sirix_status sirix_buf_printf(struct sirix_buf *buf, struct sirix_error *err, const char *fmt,
                                   ...) SIRIX_PRINTF(3, 4) SIRIX_MUST_CHECK;
enum sirix_status sirix_buf_vprintf(struct sirix_buf *buf, struct sirix_error *err, const char *fmt,
                                    va_list args) SIRIX_PRINTF(3, 0) SIRIX_MUST_CHECK;

/*
 * Puts a NUL behind the content without counting it in len, and gives the content as a C string,
 * valid until the buffer changes. The NUL takes one byte beyond max at most.
 */
enum sirix_status sirix_buf_c_str(struct sirix_buf *buf, const char **out_text,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* A view of the content, valid until the buffer changes. */
static inline struct sirix_bytes sirix_buf_view(const struct sirix_buf *buf)
{
    return (struct sirix_bytes){.data = buf->data, .len = buf->len};
}

/* Removes the first count bytes (count <= len) by moving the rest to the front. */
void sirix_buf_consume(struct sirix_buf *buf, size_t count);

/*
 * Gives the memory away: *out_data is the caller's to free() (NULL when nothing was allocated),
 * *out_len its length; the buffer is empty afterwards.
 */
void sirix_buf_take(struct sirix_buf *buf, uint8_t **out_data, size_t *out_len);

#endif
