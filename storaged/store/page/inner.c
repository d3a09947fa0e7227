/* Inner pages of the trie, and the error that all page decoders share. */
#include "store/page/page.h"

#include <assert.h>
#include <inttypes.h>

#include "store/segment/segment.h"

enum sirix_status sirix_page_damaged(uint64_t address, const char *what, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT, "page at segment %" PRIu64 " offset %" PRIu32 ": %s",
                      sirix_address_number(address), sirix_address_offset(address), what);
}

/* Whether some nibble is more than 8. */
static bool nibble_past_8(uint64_t nibbles)
{
    const uint64_t low = UINT64_C(0x7777777777777777);
    uint64_t has_low_bits = (nibbles & low) + low;

    return (nibbles & has_low_bits & ~low) != 0;
}

enum sirix_status sirix_inner_check(struct sirix_bytes bytes, uint32_t level, uint64_t index,
                                    uint64_t address, struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    uint64_t lens = 0;
    uint32_t count = 0;

    if (bytes.len < SIRIX_INNER_HEADER_BYTES) {
        return sirix_page_damaged(address, "an inner page is cut off", err);
    }
    if (page[0] != SIRIX_PAGE_INNER || page[1] != level) {
        return sirix_page_damaged(address, "not an inner page of the level that was asked for",
                                  err);
    }
    if (sirix_load_u32le(page + 4) != (uint32_t)index) {
        return sirix_page_damaged(address, "an inner page of another place in the trie", err);
    }
    count = sirix_inner_count(sirix_inner_present(page));
    lens = sirix_load_u64le(page + 16);
    if (count == 0 || nibble_past_8(lens) ||
        (count < SIRIX_INNER_CHILDREN && lens >> (4 * count) != 0)) {
        return sirix_page_damaged(address, "an inner page has no children or odd lengths", err);
    }
    if (bytes.len - SIRIX_INNER_HEADER_BYTES < sirix_inner_nibble_sum(lens)) {
        return sirix_page_damaged(address, "an inner page is cut off", err);
    }
    if (sirix_address_number(sirix_load_u64le(page + 8)) == 0) {
        return sirix_page_damaged(address, "a child address names segment 0", err);
    }
    return SIRIX_OK;
}

/* How many bytes a distance takes. */
static uint32_t distance_bytes(uint64_t distance)
{
    return distance == 0 ? 0 : (uint32_t)(64 - __builtin_clzll(distance) + 7) / 8;
}

enum sirix_status sirix_inner_children(const uint8_t *page, uint64_t address,
                                       uint64_t out_children[SIRIX_INNER_CHILDREN],
                                       struct sirix_error *err)
{
    const uint64_t base = sirix_load_u64le(page + 8);
    uint64_t lens = sirix_load_u64le(page + 16);
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};
    const uint8_t *at = page + SIRIX_INNER_HEADER_BYTES;
    bool has_base = false;

    for (uint32_t left = sirix_inner_present(page); left != 0; left &= left - 1) {
        const uint32_t len = (uint32_t)lens & 0x0f;
        uint64_t distance = 0;
        at += len;
        lens >>= 4;
        if (len != 0) {
            /* The eight bytes that end with it, as in sirix_inner_child(). */
            distance = sirix_load_u64le(at - 8) >> (64 - 8 * len);
        }
        if (distance_bytes(distance) != len || distance > UINT64_MAX - base) {
            return sirix_page_damaged(address, "a child address is not in its shortest form", err);
        }
        children[__builtin_ctz(left)] = base + distance;
        has_base = has_base || len == 0;
    }
    if (!has_base) {
        return sirix_page_damaged(address, "an inner page's base is none of its children", err);
    }
    memcpy(out_children, children, sizeof(children));
    return SIRIX_OK;
}

/* The lowest child address. */
static uint64_t lowest(const uint64_t children[SIRIX_INNER_CHILDREN])
{
    uint64_t base = UINT64_MAX;

    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        base = children[i] != 0 && children[i] < base ? children[i] : base;
    }
    return base;
}

size_t sirix_inner_size(const uint64_t children[SIRIX_INNER_CHILDREN])
{
    const uint64_t base = lowest(children);
    size_t size = SIRIX_INNER_HEADER_BYTES;

    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        size += children[i] == 0 ? 0 : distance_bytes(children[i] - base);
    }
    return size;
}

void sirix_inner_encode(const uint64_t children[SIRIX_INNER_CHILDREN], uint32_t level,
                        uint64_t index, uint8_t *place)
{
    const uint64_t base = lowest(children);
    uint8_t *at = place + SIRIX_INNER_HEADER_BYTES;
    uint32_t present = 0;
    uint32_t count = 0;
    uint64_t lens = 0;

    assert(level >= 1 && level <= SIRIX_TRIE_HEIGHT_MAX);
    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        uint64_t distance = children[i] - base;
        uint32_t len = distance_bytes(distance);
        if (children[i] == 0) {
            continue;
        }
        present |= UINT32_C(1) << i;
        lens |= (uint64_t)len << (4 * count++);
        for (; len != 0; len--) {
            *at++ = (uint8_t)distance;
            distance >>= 8;
        }
    }
    assert(present != 0 && sirix_address_number(base) != 0);
    place[0] = SIRIX_PAGE_INNER;
    place[1] = (uint8_t)level;
    sirix_store_u16le(place + 2, (uint16_t)present);
    sirix_store_u32le(place + 4, (uint32_t)index);
    sirix_store_u64le(place + 8, base);
    sirix_store_u64le(place + 16, lens);
}
