/*
 * Property: a segment of any bytes is refused or stored; what its addresses lead to lies inside of
 * it, plain or sparse, and is as long as was asked for. Byte 0: whether length and checksum are made
 * right first; byte 1: where the addresses that are asked for begin.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/segment/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMBER = 1, AT_KIND = 3, AT_LENGTH = 8, AT_CRC = 12, LOOKS = 64, MIN_BYTES = 8 };

static void make_right(uint8_t *segment, size_t len)
{
    if (len >= SIRIX_SEGMENT_HEADER_BYTES) {
        sirix_store_u32le(segment + AT_LENGTH, (uint32_t)len);
        sirix_store_u32le(segment + AT_CRC, sirix_crc32c(sirix_crc32c(0, segment, AT_CRC),
                                                         segment + SIRIX_SEGMENT_HEADER_BYTES,
                                                         len - SIRIX_SEGMENT_HEADER_BYTES));
    }
}

static void stored(void *context, const struct sirix_commit_outcome *outcome)
{
    *(enum sirix_status *)context = outcome->status;
}

/* What is at an address: as many bytes of the segment as were asked for, and those of its end. */
static void look(struct sirix_reader *reader, struct sirix_bytes segment, uint64_t offset)
{
    const uint8_t *whole = segment.data;
    struct sirix_bytes page = {0};
    const enum sirix_status status =
        sirix_segment_get(reader, sirix_address_make(NUMBER, offset), MIN_BYTES, &page, NULL);

    assert(status == SIRIX_OK || status == SIRIX_CORRUPT || status == SIRIX_NO_MEMORY);
    if (status != SIRIX_OK) {
        return;
    }
    assert(page.len >= MIN_BYTES && page.len <= segment.len);
    if (whole[AT_KIND] != SIRIX_SEGMENT_SPARSE) {
        assert(offset >= SIRIX_SEGMENT_HEADER_BYTES && page.len == segment.len - offset);
        assert(memcmp(page.data, whole + offset, page.len) == 0);
    }
    /* Read to the end: a sanitizer sees what lies outside. */
    (void)sirix_crc32c(0, page.data, page.len);
}

static void store_and_look(struct sirix_bytes segment, uint64_t first, bool passes)
{
    const struct sirix_memory_options options = {.seed = 1};
    const struct sirix_segment_put put = {.number = NUMBER, .bytes = segment};
    const struct sirix_batch batch = {.puts = &put, .put_count = 1};
    struct sirix_backend *backend = NULL;
    struct sirix_reader *reader = NULL;
    enum sirix_status status = SIRIX_INVALID;

    if (sirix_backend_open_memory(&options, &backend, NULL) != SIRIX_OK) {
        return;
    }
    assert(sirix_segment_reserve(backend, 1) == NUMBER);
    sirix_backend_commit(backend, &batch, stored, &status);
    assert((status == SIRIX_OK) == passes);
    if (passes && sirix_reader_open(backend, &reader, NULL) == SIRIX_OK) {
        for (uint64_t i = 0; i < LOOKS; i++) {
            look(reader, segment, (first + i) * SIRIX_SEGMENT_ALIGN);
        }
        look(reader, segment, SIRIX_SEGMENT_BYTES_MAX - SIRIX_SEGMENT_ALIGN);
        sirix_reader_close(reader);
    }
    sirix_backend_close(backend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct sirix_bytes segment = {.data = NULL, .len = size - 2};
    uint8_t *copy = malloc(segment.len + 1);

    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data + 2, segment.len);
    segment.data = copy;
    if ((data[0] & 1) != 0) {
        make_right(copy, segment.len);
    }
    const bool passes = sirix_segment_check(segment, NUMBER, NULL) == SIRIX_OK;
    if (passes || segment.len >= SIRIX_SEGMENT_HEADER_BYTES) {
        store_and_look(segment, data[1], passes);
    }
    free(copy);
    return 0;
}
