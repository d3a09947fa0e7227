/* The byte format of packs. */
#include "store/segment/pack.h"

#include <assert.h>
#include <inttypes.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/segment/segment.h"

enum {
    MAGIC = 0x5053,
    FORMAT = 1,
    AT_MAGIC = 0,
    AT_FORMAT = 2,
    AT_ZERO = 3,
    AT_CRC = 4,
    AT_GROUP = 8,
    AT_LENGTH = 16,
    AT_COUNT = 20,
    AT_ZEROS = 22,
    AT_DIRECTORY = 24,
    ENTRY_BYTES = 4,
    PLACE_MASK = SIRIX_PACK_GROUP - 1,
    AT_MEMBER_LENGTH = 8, /* In a segment's header. */
};

static size_t align_up(size_t size)
{
    return (size + SIRIX_SEGMENT_ALIGN - 1) & ~(size_t)(SIRIX_SEGMENT_ALIGN - 1);
}

static size_t directory_end(size_t count)
{
    return AT_DIRECTORY + count * ENTRY_BYTES;
}

static uint32_t checksum_of(const uint8_t *at, size_t count)
{
    return sirix_crc32c(0, at + AT_GROUP, directory_end(count) - AT_GROUP);
}

size_t sirix_pack_count(struct sirix_bytes pack)
{
    return sirix_load_u16le((const uint8_t *)pack.data + AT_COUNT);
}

static uint32_t entry_at(struct sirix_bytes pack, size_t index)
{
    return sirix_load_u32le((const uint8_t *)pack.data + directory_end(index));
}

static size_t entry_offset(uint32_t entry)
{
    return (size_t)(entry >> SIRIX_PACK_GROUP_BITS) * SIRIX_SEGMENT_ALIGN;
}

enum sirix_status sirix_pack_check(struct sirix_bytes pack, uint64_t key, struct sirix_error *err)
{
    const uint8_t *at = pack.data;
    const char *what = NULL;
    size_t count = pack.len >= AT_DIRECTORY ? sirix_pack_count(pack) : 0;

    if (pack.len < AT_DIRECTORY || count == 0 || count > SIRIX_PACK_GROUP ||
        directory_end(count) > pack.len) {
        what = "its directory passes its end";
    } else if (sirix_load_u16le(at + AT_MAGIC) != MAGIC || at[AT_FORMAT] != FORMAT ||
               at[AT_ZERO] != 0 || sirix_load_u16le(at + AT_ZEROS) != 0) {
        what = "it does not begin like one";
    } else if (sirix_load_u32le(at + AT_LENGTH) != pack.len) {
        what = "it does not have the length that its header says";
    } else if (sirix_load_u32le(at + AT_CRC) != checksum_of(at, count)) {
        what = "the checksum of its directory does not match";
    } else if (sirix_load_u64le(at + AT_GROUP) % SIRIX_PACK_GROUP != 0) {
        what = "its group does not begin at a multiple of 256";
    }
    for (size_t i = 0; what == NULL && i < count; i++) {
        size_t offset = entry_offset(entry_at(pack, i));

        if (offset < directory_end(count) || offset > pack.len - SIRIX_SEGMENT_HEADER_BYTES) {
            what = "a member lies outside of it";
        } else if (i > 0 &&
                   (entry_at(pack, i) & PLACE_MASK) <= (entry_at(pack, i - 1) & PLACE_MASK)) {
            what = "its directory does not rise";
        }
    }
    if (what != NULL) {
        return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                                 "pack of segments up to %" PRIu64 ": %s", key, what);
    }
    return SIRIX_OK;
}

struct sirix_pack_member sirix_pack_at(struct sirix_bytes pack, size_t index)
{
    const uint8_t *at = pack.data;
    uint32_t entry = entry_at(pack, index);
    size_t offset = entry_offset(entry);
    size_t len = sirix_load_u32le(at + offset + AT_MEMBER_LENGTH);

    return (struct sirix_pack_member){
        .number = sirix_load_u64le(at + AT_GROUP) + (entry & PLACE_MASK),
        .bytes = {.data = at + offset, .len = len < pack.len - offset ? len : pack.len - offset},
    };
}

size_t sirix_pack_lower_bound(struct sirix_bytes pack, uint64_t number)
{
    uint64_t group = sirix_load_u64le((const uint8_t *)pack.data + AT_GROUP);
    size_t first = 0;
    size_t end = sirix_pack_count(pack);

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (group + (entry_at(pack, middle) & PLACE_MASK) < number) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

bool sirix_pack_find(struct sirix_bytes pack, uint64_t number, struct sirix_bytes *out_bytes)
{
    size_t index = sirix_pack_lower_bound(pack, number);

    if (index == sirix_pack_count(pack)) {
        return false;
    }
    struct sirix_pack_member member = sirix_pack_at(pack, index);
    if (member.number != number) {
        return false;
    }
    *out_bytes = member.bytes;
    return true;
}

size_t sirix_pack_fit(const struct sirix_pack_member *members, size_t count)
{
    size_t fit = 0;
    size_t size = AT_DIRECTORY + SIRIX_SEGMENT_ALIGN; /* The directory's end is rounded up. */

    while (fit < count &&
           size + ENTRY_BYTES + align_up(members[fit].bytes.len) <= SIRIX_PACK_BYTES_MAX) {
        size += ENTRY_BYTES + align_up(members[fit].bytes.len);
        fit++;
    }
    assert(fit > 0); /* A member is far smaller than a pack. */
    return fit;
}

enum sirix_status sirix_pack_build(const struct sirix_pack_member *members, size_t count,
                                   struct sirix_buf *out, struct sirix_error *err)
{
    uint64_t group = sirix_pack_group_first(members[0].number);
    size_t size = align_up(directory_end(count));
    size_t offset = size;

    assert(count >= 1 && count <= SIRIX_PACK_GROUP);

    for (size_t i = 0; i < count; i++) {
        size += align_up(members[i].bytes.len);
    }
    size_t begins = out->len;
    enum sirix_status status = sirix_buf_append_fill(out, 0, size, err);
    if (status != SIRIX_OK) {
        return status;
    }

    uint8_t *at = out->data + begins;
    for (size_t i = 0; i < count; i++) {
        uint32_t place = (uint32_t)(members[i].number - group);

        assert(place < SIRIX_PACK_GROUP && (i == 0 || members[i].number > members[i - 1].number));
        sirix_store_u32le(at + directory_end(i), place | (uint32_t)(offset / SIRIX_SEGMENT_ALIGN)
                                                             << SIRIX_PACK_GROUP_BITS);
        memcpy(at + offset, members[i].bytes.data, members[i].bytes.len);
        offset += align_up(members[i].bytes.len);
    }
    sirix_store_u16le(at + AT_MAGIC, MAGIC);
    at[AT_FORMAT] = FORMAT;
    sirix_store_u64le(at + AT_GROUP, group);
    sirix_store_u32le(at + AT_LENGTH, (uint32_t)size);
    sirix_store_u16le(at + AT_COUNT, (uint16_t)count);
    sirix_store_u32le(at + AT_CRC, checksum_of(at, count));
    return SIRIX_OK;
}
