/*
 * What the two files that read pages of child trees and name indexes share: constants of the format,
 * and the bytes that are left to read. Private to them.
 */
#ifndef SIRIX_STORE_CHILD_CHILD_CODEC_H
#define SIRIX_STORE_CHILD_CHILD_CODEC_H

#include "base/varint.h"
#include "store/child/child_page.h"

enum {
    /* The order of all children, or SIRIX_CHILD_ORDER_MIXED and a map. */
    SIRIX_CHILD_FLAG_ORDER_MASK = 3,
    SIRIX_CHILD_FLAG_STEP = 4, /* All keys follow each other at one distance. */
    SIRIX_CHILD_FLAGS_ALL = 7,
    SIRIX_CHILD_ORDER_MIXED = 3,

    SIRIX_CHILD_STEP_CHILDREN_MIN = 3,
    SIRIX_CHILD_ADDRESS_BYTES = 8,
    SIRIX_CHILD_LEVEL_SHIFT = 4,
    SIRIX_CHILD_COUNT_MASK = 15,
};

/* What is left to decode of a page. */
struct sirix_child_input {
    const uint8_t *at;
    size_t len;
};

static inline bool sirix_child_take_varint(struct sirix_child_input *in, uint64_t *out_value)
{
    size_t used = sirix_varint_decode(in->at, in->len, out_value);

    in->at += used;
    in->len -= used;
    return used != 0;
}

static inline bool sirix_child_take_zigzag(struct sirix_child_input *in, int64_t *out_value)
{
    uint64_t bits = 0;
    bool found = sirix_child_take_varint(in, &bits);

    if (found) {
        *out_value = sirix_zigzag_decode(bits);
    }
    return found;
}

/*
 * Checks the header of a page; gives its type, level, count and the bytes behind the header. NULL, or
 * what is wrong with it.
 */
const char *sirix_child_input_open(struct sirix_bytes bytes, uint8_t *out_type, uint32_t *out_level,
                                   uint32_t *out_count, struct sirix_child_input *out_in);

#endif
