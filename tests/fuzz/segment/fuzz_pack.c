/*
 * Property: bytes that pass as a pack have rising members inside of them, each found by its number
 * and nothing else found; members that are sealed segments pack again to a pack that passes and holds
 * the same. Byte 0: whether length and checksum are made right first, as only a writer with bad
 * intent has them.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/segment/pack.h"
#include "store/segment/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    KEY = 511,
    AT_CRC = 4,
    AT_GROUP = 8,
    AT_LENGTH = 16,
    AT_COUNT = 20,
    AT_DIRECTORY = 24,
    ENTRY_BYTES = 4,
};

static void make_right(uint8_t *pack, size_t len)
{
    if (len < AT_DIRECTORY) {
        return;
    }
    size_t end = AT_DIRECTORY + (size_t)sirix_load_u16le(pack + AT_COUNT) * ENTRY_BYTES;

    sirix_store_u32le(pack + AT_LENGTH, (uint32_t)len);
    if (end <= len) {
        sirix_store_u32le(pack + AT_CRC, sirix_crc32c(0, pack + AT_GROUP, end - AT_GROUP));
    }
}

/* Members that fit into one pack, packed again. */
static void pack_again(const struct sirix_pack_member *members, size_t count)
{
    struct sirix_buf out;

    sirix_buf_init(&out, SIZE_MAX);
    count = sirix_pack_fit(members, count);
    if (sirix_pack_build(members, count, &out, NULL) == SIRIX_OK) {
        const struct sirix_bytes pack = {.data = out.data, .len = out.len};

        assert(pack.len <= SIRIX_PACK_BYTES_MAX);
        assert(sirix_pack_check(pack, KEY, NULL) == SIRIX_OK);
        assert(sirix_pack_count(pack) == count);
        for (size_t i = 0; i < count; i++) {
            const struct sirix_pack_member member = sirix_pack_at(pack, i);
            assert(member.number == members[i].number);
            assert(sirix_bytes_equal(member.bytes, members[i].bytes));
        }
    }
    sirix_buf_deinit(&out);
}

static void check_members(struct sirix_bytes pack)
{
    static struct sirix_pack_member whole[SIRIX_PACK_GROUP];
    const uint8_t *from = pack.data;
    const size_t count = sirix_pack_count(pack);
    uint64_t before = 0;
    size_t whole_count = 0;

    for (size_t i = 0; i < count; i++) {
        const struct sirix_pack_member member = sirix_pack_at(pack, i);
        const uint8_t *at = member.bytes.data;
        struct sirix_bytes found = {0};

        assert(at >= from && member.bytes.len <= pack.len - (size_t)(at - from));
        assert(i == 0 || member.number > before);
        assert(sirix_pack_lower_bound(pack, member.number) == i);
        assert(sirix_pack_find(pack, member.number, &found));
        assert(found.data == member.bytes.data && found.len == member.bytes.len);
        if (i != 0 && member.number - before > 1) {
            assert(!sirix_pack_find(pack, member.number - 1, &found));
        }
        before = member.number;
        if (sirix_segment_check(member.bytes, member.number, NULL) == SIRIX_OK &&
            member.bytes.len <= SIRIX_PACK_MEMBER_BYTES_MAX) {
            whole[whole_count++] = member;
        }
    }
    if (whole_count != 0) {
        pack_again(whole, whole_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct sirix_bytes pack = {.data = NULL, .len = size - 1};
    uint8_t *copy = malloc(pack.len + 1);

    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data + 1, pack.len);
    pack.data = copy;
    if ((data[0] & 1) != 0) {
        make_right(copy, pack.len);
    }
    if (sirix_pack_check(pack, KEY, NULL) == SIRIX_OK) {
        assert(sirix_pack_count(pack) >= 1 && sirix_pack_count(pack) <= SIRIX_PACK_GROUP);
        check_members(pack);
    }
    free(copy);
    return 0;
}
