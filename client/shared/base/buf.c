/* Growth doubles, so appending n bytes one by one costs O(n); no step goes past max. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/varint.h"

enum { CAP_BYTES_MIN = 64 };

static enum sirix_status set_cap(struct sirix_buf *buf, size_t cap, struct sirix_error *err)
{
    uint8_t *data = realloc(buf->data, cap);

    if (data == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot grow a buffer to %zu bytes", cap);
    }
    buf->data = data;
    buf->cap = cap;
    return SIRIX_OK;
}

void sirix_buf_deinit(struct sirix_buf *buf)
{
    if (buf != NULL) {
        free(buf->data);
        *buf = (struct sirix_buf){.max = buf->max};
    }
}

enum sirix_status sirix_buf_reserve(struct sirix_buf *buf, size_t extra, struct sirix_error *err)
{
    size_t need = 0;
    size_t cap = 0;

    if (!sirix_add_size(buf->len, extra, &need) || need > buf->max) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "a buffer of at most %zu bytes cannot take %zu more behind %zu",
                                 buf->max, extra, buf->len);
    }
    if (need <= buf->cap) {
        return SIRIX_OK;
    }
    if (!sirix_mul_size(buf->cap, 2, &cap)) {
        cap = need;
    }
    cap = cap < need ? need : cap;
    cap = cap < CAP_BYTES_MIN ? CAP_BYTES_MIN : cap;
    cap = cap > buf->max ? buf->max : cap;
    return set_cap(buf, cap, err);
}

enum sirix_status sirix_buf_append_u16le(struct sirix_buf *buf, uint16_t value,
                                         struct sirix_error *err)
{
    uint8_t bytes[sizeof(value)];

    sirix_store_u16le(bytes, value);
    return sirix_buf_append(buf, bytes, sizeof(bytes), err);
}

enum sirix_status sirix_buf_append_u32le(struct sirix_buf *buf, uint32_t value,
                                         struct sirix_error *err)
{
    uint8_t bytes[sizeof(value)];

    sirix_store_u32le(bytes, value);
    return sirix_buf_append(buf, bytes, sizeof(bytes), err);
}

enum sirix_status sirix_buf_append_u64le(struct sirix_buf *buf, uint64_t value,
                                         struct sirix_error *err)
{
    uint8_t bytes[sizeof(value)];

    sirix_store_u64le(bytes, value);
    return sirix_buf_append(buf, bytes, sizeof(bytes), err);
}

enum sirix_status sirix_buf_append_varint(struct sirix_buf *buf, uint64_t value,
                                          struct sirix_error *err)
{
    uint8_t bytes[SIRIX_VARINT_BYTES_MAX];
    size_t len = sirix_varint_encode(value, bytes);

    return sirix_buf_append(buf, bytes, len, err);
}

enum sirix_status sirix_buf_append_fill(struct sirix_buf *buf, uint8_t byte, size_t len,
                                        struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_reserve(buf, len, err);

    if (status == SIRIX_OK && len != 0) {
        memset(buf->data + buf->len, byte, len);
        buf->len += len;
    }
    return status;
}

enum sirix_status sirix_buf_vprintf(struct sirix_buf *buf, struct sirix_error *err, const char *fmt,
                                    va_list args)
{
    va_list again;
    enum sirix_status status = SIRIX_OK;
    char small[256];
    char *large = NULL;

    va_copy(again, args);
    int len = vsnprintf(small, sizeof(small), fmt, args);
    if (len < 0) {
        status = sirix_fail(err, SIRIX_INTERNAL, "a format could not be printed");
        goto out;
    }
    if ((size_t)len < sizeof(small)) {
        status = sirix_buf_append(buf, small, (size_t)len, err);
        goto out;
    }
    /* vsnprintf writes a NUL, for which the buffer itself may have no room under its max. */
    large = malloc((size_t)len + 1);
    if (large == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "cannot print %d bytes", len);
        goto out;
    }
    if (vsnprintf(large, (size_t)len + 1, fmt, again) != len) {
        status = sirix_fail(err, SIRIX_INTERNAL, "a format printed two lengths");
        goto out;
    }
    status = sirix_buf_append(buf, large, (size_t)len, err);

out:
    free(large);
    va_end(again);
    return status;
}

enum sirix_status sirix_buf_printf(struct sirix_buf *buf, struct sirix_error *err, const char *fmt,
                                   ...)
{
    va_list args;

    va_start(args, fmt);
    enum sirix_status status = sirix_buf_vprintf(buf, err, fmt, args);
    va_end(args);
    return status;
}

enum sirix_status sirix_buf_c_str(struct sirix_buf *buf, const char **out_text,
                                  struct sirix_error *err)
{
    if (buf->len == buf->cap) {
        size_t cap = 0;

        if (!sirix_add_size(buf->cap, 1, &cap)) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "a buffer fills the address space");
        }
        enum sirix_status status = set_cap(buf, cap, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    buf->data[buf->len] = '\0';
    *out_text = (const char *)buf->data;
    return SIRIX_OK;
}

void sirix_buf_consume(struct sirix_buf *buf, size_t count)
{
    assert(count <= buf->len);

    if (count != 0) {
        buf->len -= count;
        memmove(buf->data, buf->data + count, buf->len);
    }
}

void sirix_buf_take(struct sirix_buf *buf, uint8_t **out_data, size_t *out_len)
{
    *out_data = buf->data;
    *out_len = buf->len;
    *buf = (struct sirix_buf){.max = buf->max};
}
