/*
 * Property: an inner page that is taken is written back to the same bytes. The level and the index are
 * read from the page itself.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "store/page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESS = 0x200002 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t children[SIRIX_INNER_CHILDREN];
    uint8_t again[SIRIX_INNER_BYTES_MAX];
    uint64_t index = 0;
    uint32_t level = 0;

    if (size < SIRIX_INNER_HEADER_BYTES) {
        return 0;
    }
    level = data[1];
    index = sirix_load_u32le(data + 4);
    if (level < 1 || level > SIRIX_TRIE_HEIGHT_MAX ||
        sirix_inner_check((struct sirix_bytes){.data = data, .len = size}, level, index, ADDRESS,
                          NULL) != SIRIX_OK ||
        sirix_inner_children(data, ADDRESS, children, NULL) != SIRIX_OK) {
        return 0;
    }
    for (uint32_t slot = 0; slot < SIRIX_INNER_CHILDREN; slot++) {
        assert(sirix_inner_child(data, slot) == children[slot]);
    }
    sirix_inner_encode(children, level, index, again);
    assert(sirix_inner_size(children) <= size);
    assert(memcmp(again, data, sirix_inner_size(children)) == 0);
    return 0;
}
