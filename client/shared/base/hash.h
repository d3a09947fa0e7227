/*
 * SipHash-2-4: a 64-bit keyed hash for tables whose keys come from outside, so that nobody without
 * the key can make them collide. Not for checking integrity (crc32c.h, sha256.h).
 */
#ifndef SIRIX_BASE_HASH_H
#define SIRIX_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SIRIX_HASH_KEY_BYTES = 16 };

struct sirix_hash_key {
    uint8_t bytes[SIRIX_HASH_KEY_BYTES];
};

/* The hash of len bytes; data may be NULL when len is 0. */
uint64_t sirix_hash(const struct sirix_hash_key *key, const void *data, size_t len);

/* Fills data with len unpredictable bytes of the kernel. SIRIX_IO if it has none to give. */
enum sirix_status sirix_random_bytes(void *data, size_t len,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* 128 unpredictable bits as 32 lower-case hex digits and a NUL: a trace id, a cursor, a token. */
enum { SIRIX_RANDOM_ID_BYTES = 33 };
enum sirix_status sirix_random_id(char out_text[SIRIX_RANDOM_ID_BYTES],
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Mixes all bits of a value: for tables whose keys are numbers of our own making. */
static inline uint64_t sirix_mix64(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

#endif
