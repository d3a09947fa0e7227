/* Property: whatever the bytes and the symbol, what is found lies inside the bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/standard/descriptors.h"

enum { SYMBOL_BYTES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(void *context, struct sirix_bytes file)
{
    const struct sirix_bytes *set = context;
    const uint8_t *from = set->data;
    const uint8_t *at = file.data;

    assert(file.len == 0 || (at >= from && at + file.len <= from + set->len));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char symbol[SYMBOL_BYTES_MAX + 1];
    struct sirix_bytes file = {.data = NULL, .len = 0};

    if (size == 0) {
        return 0;
    }
    size_t len = data[0] % SYMBOL_BYTES_MAX;
    if (len > size - 1) {
        len = size - 1;
    }
    memcpy(symbol, data + 1, len);
    symbol[len] = '\0';
    struct sirix_bytes set = {.data = data + 1 + len, .len = size - 1 - len};
    (void)sirix_descriptors_files(set, inside, &set);
    if (sirix_descriptors_find_symbol(set, symbol, &file)) {
        (void)inside(&set, file);
    }
    if (sirix_descriptors_find_file(set, symbol, &file)) {
        (void)inside(&set, file);
    }
    return 0;
}
