/* Property: a root page that is taken has lengths that fit each other, and all of its chunks in it. */
#include <assert.h>
#include <stdint.h>

#include "store/page/string.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESS = 0x200002 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sirix_bytes bytes = {.data = data, .len = size};
    struct sirix_string_info info;

    if (sirix_string_root_decode(bytes, ADDRESS, &info, NULL) != SIRIX_OK) {
        return 0;
    }
    assert(info.decoded_len <= info.stored_len && info.decoded_len <= SIRIX_STRING_BYTES_MAX);
    assert((uint64_t)info.chunk_count * info.chunk_bytes >= info.stored_len);
    assert((uint64_t)(info.chunk_count - 1) * info.chunk_bytes < info.stored_len);
    for (uint32_t i = 0; i < info.chunk_count; i++) {
        uint64_t chunk = 0;
        if (sirix_string_root_chunk(bytes, ADDRESS, i, &chunk, NULL) == SIRIX_OK) {
            assert(sirix_address_number(chunk) != 0);
        }
    }
    return 0;
}
