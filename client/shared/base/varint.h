/*
 * LEB128: seven bits a byte, low bits first, the high bit says that more follow. A u64 takes 1..10
 * bytes. Zigzag maps small negative numbers to small unsigned ones: 0, -1, 1, -2 -> 0, 1, 2, 3.
 */
#ifndef SIRIX_BASE_VARINT_H
#define SIRIX_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { SIRIX_VARINT_BYTES_MAX = 10 };

/* How many bytes sirix_varint_encode() writes. */
static inline size_t sirix_varint_size(uint64_t value)
{
    return (size_t)(64 - __builtin_clzll(value | 1) + 6) / 7;
}

/* Writes value to `to` (SIRIX_VARINT_BYTES_MAX bytes always suffice); returns the length. */
static inline size_t sirix_varint_encode(uint64_t value, uint8_t *to)
{
    size_t len = 0;

    while (value >= 0x80) {
        to[len++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[len++] = (uint8_t)value;
    return len;
}

/*
 * Reads one value from at most len bytes and returns how many it took. Returns 0, and leaves
 * *out_value alone, when the bytes end too early, when the value passes 64 bits, and when it is not
 * in its shortest form: one value has one encoding.
 */
static inline size_t sirix_varint_decode(const uint8_t *from, size_t len, uint64_t *out_value)
{
    uint64_t value = 0;

    if (len > SIRIX_VARINT_BYTES_MAX) {
        len = SIRIX_VARINT_BYTES_MAX;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = from[i];

        if (i == SIRIX_VARINT_BYTES_MAX - 1 && byte > 1) {
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte == 0 && i != 0) {
            return 0;
        }
        if (byte < 0x80) {
            *out_value = value;
            return i + 1;
        }
    }
    return 0;
}

static inline uint64_t sirix_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t sirix_zigzag_decode(uint64_t value)
{
    uint64_t bits = (value >> 1) ^ ((value & 1) != 0 ? UINT64_MAX : 0);

    return (int64_t)bits;
}

#endif
