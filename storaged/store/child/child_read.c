/* Reading single pages: their links, the short way down to a child, the place of a label. */
#include "base/endian.h"
#include "store/child/child_codec.h"
#include "store/page/page.h"

/* Checks the header; gives type, level, count and the bytes behind the header. */
const char *sirix_child_input_open(struct sirix_bytes bytes, uint8_t *out_type, uint32_t *out_level,
                                   uint32_t *out_count, struct sirix_child_input *out_in)
{
    const uint8_t *data = bytes.data;
    size_t len = 0;

    if (bytes.len < SIRIX_CHILD_PAGE_HEADER_BYTES) {
        return "the header is cut off";
    }
    len = sirix_load_u16le(data + 2);
    if (len < SIRIX_CHILD_PAGE_HEADER_BYTES || len > SIRIX_CHILD_PAGE_BYTES_MAX ||
        len > bytes.len) {
        return "its length is impossible";
    }
    *out_type = data[0];
    switch (data[0]) {
    case SIRIX_PAGE_CHILD_LEAF:
    case SIRIX_PAGE_NAME_LEAF:
        *out_level = 0;
        *out_count = data[1];
        break;
    case SIRIX_PAGE_CHILD_INNER:
    case SIRIX_PAGE_NAME_INNER:
        *out_level = data[1] >> SIRIX_CHILD_LEVEL_SHIFT;
        *out_count = (data[1] & SIRIX_CHILD_COUNT_MASK) + 1U;
        if (*out_level == 0) {
            return "an inner page of level 0";
        }
        break;
    default:
        return "another type of page";
    }
    if (*out_count == 0 || *out_count > SIRIX_CHILD_LEAF_MAX) {
        return "its count is impossible";
    }
    *out_in = (struct sirix_child_input){
        .at = data + SIRIX_CHILD_PAGE_HEADER_BYTES,
        .len = len - SIRIX_CHILD_PAGE_HEADER_BYTES,
    };
    return NULL;
}

enum sirix_status sirix_child_page_links(struct sirix_bytes bytes, uint64_t address,
                                         size_t *out_len, uint64_t *out_addresses,
                                         size_t *out_count, struct sirix_error *err)
{
    struct sirix_child_input in = {0};
    uint32_t level = 0;
    uint32_t count = 0;
    uint8_t type = 0;
    const char *wrong = sirix_child_input_open(bytes, &type, &level, &count, &in);

    if (wrong == NULL && level != 0 && in.len < (size_t)count * SIRIX_CHILD_ADDRESS_BYTES) {
        wrong = "addresses are cut off";
    }
    if (wrong != NULL) {
        return sirix_page_damaged(address, wrong, err);
    }
    *out_len = in.len + SIRIX_CHILD_PAGE_HEADER_BYTES;
    *out_count = level == 0 ? 0 : count;
    for (size_t i = 0; i < *out_count; i++) {
        out_addresses[i] = sirix_load_u64le(in.at + i * SIRIX_CHILD_ADDRESS_BYTES);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_child_page_load(struct sirix_reader *reader, enum sirix_child_kind kind,
                                        uint64_t address, uint32_t level,
                                        struct sirix_child_page *out_page, struct sirix_error *err)
{
    struct sirix_bytes bytes = {0};
    enum sirix_status status =
        sirix_segment_get(reader, address, SIRIX_CHILD_PAGE_HEADER_BYTES, &bytes, err);

    if (status == SIRIX_OK) {
        status = sirix_child_page_decode(bytes, address, kind, out_page, err);
    }
    if (status == SIRIX_OK && level != SIRIX_CHILD_LEVEL_ANY && out_page->level != level) {
        status = sirix_page_damaged(address, "its level does not fit the page above", err);
    }
    return status;
}

/* The key of child *index of a leaf, decoding no further. */
static const char *step_leaf(struct sirix_child_input in, uint64_t index, uint64_t *out_key)
{
    uint64_t key = 0;
    int64_t step = 0;
    uint8_t flags = 0;

    if (in.len == 0) {
        return "flags are cut off";
    }
    flags = in.at[0];
    in.at += 1;
    in.len -= 1;
    if (!sirix_child_take_varint(&in, &key)) {
        return "the first key is cut off";
    }
    if ((flags & SIRIX_CHILD_FLAG_STEP) != 0) {
        if (!sirix_child_take_zigzag(&in, &step)) {
            return "the distance of its keys is missing";
        }
        key += (uint64_t)step * index;
        index = 0;
    }
    for (uint64_t i = 0; i < index; i++) {
        if (!sirix_child_take_zigzag(&in, &step)) {
            return "a key is cut off";
        }
        key += (uint64_t)step;
    }
    if (key == 0 || key > INT64_MAX) {
        return "a key is out of range";
    }
    *out_key = key;
    return NULL;
}

/* The entry that holds item *index, which becomes the index below it; address 0: past the last. */
static const char *step_inner(struct sirix_child_input in, uint32_t count, uint64_t *index,
                              uint64_t *out_address)
{
    const uint8_t *addresses = in.at;
    uint64_t left = *index;

    if (in.len < (size_t)count * SIRIX_CHILD_ADDRESS_BYTES) {
        return "addresses are cut off";
    }
    in.at += (size_t)count * SIRIX_CHILD_ADDRESS_BYTES;
    in.len -= (size_t)count * SIRIX_CHILD_ADDRESS_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t below = 0;

        if (!sirix_child_take_varint(&in, &below)) {
            return "a count is cut off";
        }
        if (left < below) {
            *index = left;
            *out_address = sirix_load_u64le(addresses + (size_t)i * SIRIX_CHILD_ADDRESS_BYTES);
            return NULL;
        }
        left -= below;
    }
    *out_address = 0;
    return NULL;
}

enum sirix_status sirix_child_page_step(struct sirix_bytes bytes, uint64_t address, uint64_t *index,
                                        uint32_t *out_level, uint64_t *out_below, uint64_t *out_key,
                                        struct sirix_error *err)
{
    struct sirix_child_input in = {0};
    uint64_t below = 0;
    uint32_t level = 0;
    uint32_t count = 0;
    uint8_t type = 0;
    const char *wrong = sirix_child_input_open(bytes, &type, &level, &count, &in);

    if (wrong == NULL && type != SIRIX_PAGE_CHILD_LEAF && type != SIRIX_PAGE_CHILD_INNER) {
        wrong = "a page of the other kind of tree";
    }
    if (wrong == NULL && level != 0) {
        wrong = step_inner(in, count, index, &below);
    }
    if (wrong == NULL && (level == 0 ? *index >= count : below == 0)) {
        return SIRIX_NOT_FOUND;
    }
    if (wrong == NULL && level == 0) {
        wrong = step_leaf(in, *index, out_key);
    }
    if (wrong != NULL) {
        return sirix_page_damaged(address, wrong, err);
    }
    *out_level = level;
    *out_below = below;
    return SIRIX_OK;
}

int sirix_child_page_seek(const struct sirix_child_page *page, struct sirix_label label)
{
    int low = -1;
    int high = (int)page->count;

    while (high - low > 1) {
        int middle = (low + high) / 2;
        struct sirix_label at =
            page->level == 0 ? page->items[middle].label : page->entries[middle].first;

        if (sirix_label_compare(at, label) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
