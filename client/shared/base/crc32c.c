/*
 * Two ways to the same number: the SSE4.2 instruction, three streams at a time because one result
 * takes three cycles, and tables for eight bytes a step elsewhere. Which one is chosen once.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/endian.h"

enum { TABLES = 8, STREAM_BYTES = 1024, STREAM_SHIFTS = 256 };

static const uint32_t polynomial = 0x82f63b78; /* Reflected. */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t tables[TABLES][256];
static bool have_instruction;
/* shift[i][b]: byte i of a checksum moved over STREAM_BYTES zero bytes. */
static uint32_t shift[4][STREAM_SHIFTS];

static uint32_t by_tables(uint32_t crc, const uint8_t *at, size_t len)
{
    for (; len >= 8; len -= 8, at += 8) {
        uint64_t word = sirix_load_u64le(at) ^ crc;

        crc = 0;
        for (unsigned i = 0; i < TABLES; i++) {
            crc ^= tables[TABLES - 1 - i][(word >> (8 * i)) & 0xff];
        }
    }
    for (; len != 0; len--, at++) {
        crc = tables[0][(crc ^ *at) & 0xff] ^ (crc >> 8);
    }
    return crc;
}

static void prepare(void)
{
    static const uint8_t zeros[STREAM_BYTES];

    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
        tables[0][byte] = crc;
    }
    for (unsigned t = 1; t < TABLES; t++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[t - 1][byte];

            tables[t][byte] = tables[0][crc & 0xff] ^ (crc >> 8);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t byte = 0; byte < STREAM_SHIFTS; byte++) {
            shift[i][byte] = by_tables(byte << (8 * i), zeros, sizeof(zeros));
        }
    }
#if defined(__x86_64__)
    have_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif
}

uint32_t sirix_crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    (void)pthread_once(&once, prepare); /* Fails only for a bad control object. */
    return ~by_tables(~crc, data, len);
}

#if defined(__x86_64__)

static uint32_t shifted(uint32_t crc)
{
    return shift[0][crc & 0xff] ^ shift[1][(crc >> 8) & 0xff] ^ shift[2][(crc >> 16) & 0xff] ^
           shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t start, const uint8_t *at,
                                                                 size_t len)
{
    uint64_t crc = start;

    while (len >= (size_t)3 * STREAM_BYTES) {
        uint64_t second = 0;
        uint64_t third = 0;

        for (size_t i = 0; i < STREAM_BYTES; i += 8) {
            crc = __builtin_ia32_crc32di(crc, sirix_load_u64le(at + i));
            second = __builtin_ia32_crc32di(second, sirix_load_u64le(at + STREAM_BYTES + i));
            third =
                __builtin_ia32_crc32di(third, sirix_load_u64le(at + (size_t)2 * STREAM_BYTES + i));
        }
        crc = shifted(shifted((uint32_t)crc) ^ (uint32_t)second) ^ (uint32_t)third;
        at += (size_t)3 * STREAM_BYTES;
        len -= (size_t)3 * STREAM_BYTES;
    }
    for (; len >= 8; len -= 8, at += 8) {
        crc = __builtin_ia32_crc32di(crc, sirix_load_u64le(at));
    }
    for (; len != 0; len--, at++) {
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
    }
    return (uint32_t)crc;
}

#endif

uint32_t sirix_crc32c(uint32_t crc, const void *data, size_t len)
{
    (void)pthread_once(&once, prepare);
#if defined(__x86_64__)
    if (have_instruction) {
        return ~by_instruction(~crc, data, len);
    }
#endif
    return ~by_tables(~crc, data, len);
}
