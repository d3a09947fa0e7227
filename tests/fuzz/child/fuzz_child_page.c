/*
 * Pages of child trees and name indexes from any bytes: refused, or what encode would write. The first
 * byte chooses the kind of tree.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/child/child_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_whole(struct sirix_bytes bytes, enum sirix_child_kind kind)
{
    struct sirix_child_page page;
    uint8_t again[SIRIX_CHILD_PAGE_BYTES_MAX];
    size_t len = 0;

    if (sirix_child_page_decode(bytes, 0, kind, &page, NULL) != SIRIX_OK) {
        return;
    }
    len = sirix_child_page_encode(&page, kind, again);
    if (len > bytes.len || memcmp(again, bytes.data, len) != 0) {
        abort();
    }
}

static void check_parts(struct sirix_bytes bytes)
{
    uint64_t addresses[SIRIX_CHILD_INNER_MAX];
    size_t address_count = 0;
    size_t len = 0;

    for (uint64_t at = 0; at < SIRIX_CHILD_LEAF_MAX + 1; at++) {
        uint64_t index = at;
        uint64_t below = 0;
        uint64_t key = 0;
        uint32_t level = 0;

        if (sirix_child_page_step(bytes, 0, &index, &level, &below, &key, NULL) == SIRIX_OK &&
            (level == 0 ? key == 0 : below == 0)) {
            abort();
        }
    }
    if (sirix_child_page_links(bytes, 0, &len, addresses, &address_count, NULL) == SIRIX_OK &&
        (len > bytes.len || address_count > SIRIX_CHILD_INNER_MAX)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        const struct sirix_bytes bytes = {.data = data + 1, .len = size - 1};

        check_whole(bytes, (data[0] & 1) != 0 ? SIRIX_CHILD_KIND_NAMES : SIRIX_CHILD_KIND_CHILDREN);
        check_parts(bytes);
    }
    return 0;
}
