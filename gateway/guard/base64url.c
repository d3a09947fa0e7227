/* base64url, both ways. */
#include "guard/base64url.h"

enum { DIGIT_BITS = 6, DIGIT_MASK = 63, BYTE_BITS = 8 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum sirix_status sirix_base64url_encode(struct sirix_buf *out, const uint8_t *bytes, size_t len,
                                         struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_reserve(out, len * 4 / 3 + 4, err);
    uint32_t bits = 0;
    unsigned count = 0; /* Bits that are not written yet. */

    for (size_t i = 0; i < len && status == SIRIX_OK; i++) {
        bits = bits << BYTE_BITS | bytes[i];
        for (count += BYTE_BITS; count >= DIGIT_BITS && status == SIRIX_OK; count -= DIGIT_BITS) {
            const uint8_t digit = (uint8_t)digits[bits >> (count - DIGIT_BITS) & DIGIT_MASK];

            status = sirix_buf_append_u8(out, digit, err);
        }
    }
    return status == SIRIX_OK && count != 0
               ? sirix_buf_append_u8(
                     out, (uint8_t)digits[bits << (DIGIT_BITS - count) & DIGIT_MASK], err)
               : status;
}

/* The value of a digit, or -1. */
static int value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool sirix_base64url_decode(struct sirix_bytes text, uint8_t *out, size_t *out_len)
{
    const uint8_t *from = text.data;
    uint32_t bits = 0;
    size_t done = 0;

    if (text.len % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        const int value = value_of(from[i]);

        if (value < 0) {
            return false;
        }
        bits = bits << DIGIT_BITS | (uint32_t)value;
        if (i % 4 != 0) {
            out[done++] = (uint8_t)(bits >> (DIGIT_BITS - 2 * (i % 4)));
        }
    }
    /* Bits that stand for nothing are 0, so that there is one text only. */
    const uint32_t rest = text.len % 4 == 2 ? bits & 15 : text.len % 4 == 3 ? bits & 3 : 0;
    *out_len = done;
    return rest == 0;
}
