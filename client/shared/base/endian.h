/*
 * Integers of fixed width at any address, in a byte order that is written down: little-endian for
 * pages and records, big-endian for keys that sort as bytes.
 */
#ifndef SIRIX_BASE_ENDIAN_H
#define SIRIX_BASE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t sirix_load_u16le(const void *from)
{
    uint16_t value;

    memcpy(&value, from, sizeof(value));
    return le16toh(value);
}

static inline uint32_t sirix_load_u32le(const void *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static inline uint64_t sirix_load_u64le(const void *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

static inline void sirix_store_u16le(void *to, uint16_t value)
{
    uint16_t ordered = htole16(value);

    memcpy(to, &ordered, sizeof(ordered));
}

static inline void sirix_store_u32le(void *to, uint32_t value)
{
    uint32_t ordered = htole32(value);

    memcpy(to, &ordered, sizeof(ordered));
}

static inline void sirix_store_u64le(void *to, uint64_t value)
{
    uint64_t ordered = htole64(value);

    memcpy(to, &ordered, sizeof(ordered));
}

static inline uint32_t sirix_load_u32be(const void *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return be32toh(value);
}

static inline uint64_t sirix_load_u64be(const void *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return be64toh(value);
}

static inline void sirix_store_u32be(void *to, uint32_t value)
{
    uint32_t ordered = htobe32(value);

    memcpy(to, &ordered, sizeof(ordered));
}

static inline void sirix_store_u64be(void *to, uint64_t value)
{
    uint64_t ordered = htobe64(value);

    memcpy(to, &ordered, sizeof(ordered));
}

#endif
