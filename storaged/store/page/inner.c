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

enum sirix_status sirix_inner_check(struct sirix_bytes bytes, uint32_t level, uint64_t index,
                                    uint64_t address, struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    uint32_t present = 0;

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
    present = sirix_inner_present(page);
    if (present == 0 ||
        bytes.len - SIRIX_INNER_HEADER_BYTES < 8 * (size_t)__builtin_popcount(present)) {
        return sirix_page_damaged(address, "an inner page has no children or is cut off", err);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_inner_children(const uint8_t *page, uint64_t address,
                                       uint64_t out_children[SIRIX_INNER_CHILDREN],
                                       struct sirix_error *err)
{
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};
    const uint8_t *at = page + SIRIX_INNER_HEADER_BYTES;

    for (uint32_t left = sirix_inner_present(page); left != 0; left &= left - 1) {
        uint64_t child = sirix_load_u64le(at);
        if (sirix_address_number(child) == 0) {
            return sirix_page_damaged(address, "a child address names segment 0", err);
        }
        children[__builtin_ctz(left)] = child;
        at += 8;
    }
    memcpy(out_children, children, sizeof(children));
    return SIRIX_OK;
}

size_t sirix_inner_size(const uint64_t children[SIRIX_INNER_CHILDREN])
{
    size_t count = 0;

    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        count += children[i] != 0;
    }
    return SIRIX_INNER_HEADER_BYTES + 8 * count;
}

void sirix_inner_encode(const uint64_t children[SIRIX_INNER_CHILDREN], uint32_t level,
                        uint64_t index, uint8_t *place)
{
    uint8_t *at = place + SIRIX_INNER_HEADER_BYTES;
    uint32_t present = 0;

    assert(level >= 1 && level <= SIRIX_TRIE_HEIGHT_MAX);
    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        if (children[i] != 0) {
            present |= UINT32_C(1) << i;
            sirix_store_u64le(at, children[i]);
            at += 8;
        }
    }
    assert(present != 0);
    place[0] = SIRIX_PAGE_INNER;
    place[1] = (uint8_t)level;
    sirix_store_u16le(place + 2, (uint16_t)present);
    sirix_store_u32le(place + 4, (uint32_t)index);
}
