/* Encoding and decoding of the pages of child trees and name indexes. */
#include "store/child/child_page.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "store/child/child_codec.h"
#include "store/page/page.h"

enum { TURN_BITS = 24 };

/* A page is copied without asking which of the two it holds. */
_Static_assert(sizeof(struct sirix_child_item) == sizeof(struct sirix_child_entry),
               "items and entries have one size");

/* Minors are mostly multiples of 2^40: turned round they are short. Keys of names are short as they are. */
static uint64_t turn(uint64_t minor, enum sirix_child_kind kind)
{
    if (kind == SIRIX_CHILD_KIND_NAMES) {
        return minor;
    }
    return minor << TURN_BITS | minor >> (64 - TURN_BITS);
}

static uint64_t turn_back(uint64_t turned, enum sirix_child_kind kind)
{
    if (kind == SIRIX_CHILD_KIND_NAMES) {
        return turned;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): it loses decoded values. */
    return turned >> TURN_BITS | turned << (64 - TURN_BITS);
}

/* A label after the one before it: the distance of majors, then of minors under the same major. */
static size_t put_label(uint8_t *to, struct sirix_label before, struct sirix_label label,
                        enum sirix_child_kind kind)
{
    uint64_t step = (uint64_t)label.major - (uint64_t)before.major;
    uint64_t minor = step == 0 ? label.minor - before.minor : label.minor;
    size_t len = sirix_varint_encode(sirix_zigzag_encode((int64_t)step), to);

    return len + sirix_varint_encode(turn(minor, kind), to + len);
}

static bool take_label(struct sirix_child_input *in, struct sirix_label before,
                       enum sirix_child_kind kind, struct sirix_label *out_label)
{
    int64_t step = 0;
    uint64_t minor = 0;

    if (!sirix_child_take_zigzag(in, &step) || !sirix_child_take_varint(in, &minor)) {
        return false;
    }
    minor = turn_back(minor, kind);
    out_label->major = (int64_t)((uint64_t)before.major + (uint64_t)step);
    out_label->minor = step == 0 ? before.minor + minor : minor;
    return true;
}

/* --- Leaves of child trees ---------------------------------------------------------------------- */

static bool steps_evenly(const struct sirix_child_page *page)
{
    uint64_t step = page->items[1].key - page->items[0].key;

    for (uint32_t i = 2; i < page->count; i++) {
        if (page->items[i].key - page->items[i - 1].key != step) {
            return false;
        }
    }
    return true;
}

static uint8_t common_order(const struct sirix_child_page *page)
{
    for (uint32_t i = 1; i < page->count; i++) {
        if (page->items[i].order != page->items[0].order) {
            return SIRIX_CHILD_ORDER_MIXED;
        }
    }
    return (uint8_t)page->items[0].order;
}

static size_t encode_child_leaf(const struct sirix_child_page *page, uint8_t *to)
{
    const struct sirix_child_item *items = page->items;
    bool even = page->count >= SIRIX_CHILD_STEP_CHILDREN_MIN && steps_evenly(page);
    uint8_t order = common_order(page);
    struct sirix_label before = {0};
    size_t len = SIRIX_CHILD_PAGE_HEADER_BYTES;

    to[len++] = (uint8_t)(order | (even ? SIRIX_CHILD_FLAG_STEP : 0));
    len += sirix_varint_encode(items[0].key, to + len);
    for (uint32_t i = 1; i < (even ? 2 : page->count); i++) {
        int64_t step = (int64_t)(items[i].key - items[i - 1].key);
        len += sirix_varint_encode(sirix_zigzag_encode(step), to + len);
    }
    if (order == SIRIX_CHILD_ORDER_MIXED) {
        memset(to + len, 0, (page->count + 3) / 4);
        for (uint32_t i = 0; i < page->count; i++) {
            to[len + i / 4] |= (uint8_t)((unsigned)items[i].order << (i % 4 * 2));
        }
        len += (page->count + 3) / 4;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        if (items[i].order == SIRIX_ORDER_EXPLICIT) {
            len += put_label(to + len, before, items[i].label, SIRIX_CHILD_KIND_CHILDREN);
        }
        before = items[i].label;
    }
    return len;
}

static const char *take_keys(struct sirix_child_input *in, uint8_t flags,
                             struct sirix_child_page *page)
{
    int64_t step = 0;

    if (!sirix_child_take_varint(in, &page->items[0].key)) {
        return "the first key is cut off";
    }
    if ((flags & SIRIX_CHILD_FLAG_STEP) != 0 &&
        (page->count < SIRIX_CHILD_STEP_CHILDREN_MIN || !sirix_child_take_zigzag(in, &step))) {
        return "the distance of its keys is missing";
    }
    for (uint32_t i = 0; i < page->count; i++) {
        bool is_read = i != 0 && (flags & SIRIX_CHILD_FLAG_STEP) == 0;

        if (is_read && !sirix_child_take_zigzag(in, &step)) {
            return "a key is cut off";
        }
        if (i != 0) {
            page->items[i].key = page->items[i - 1].key + (uint64_t)step;
        }
        if (page->items[i].key == 0 || page->items[i].key > INT64_MAX) {
            return "a key is out of range";
        }
    }
    if ((flags & SIRIX_CHILD_FLAG_STEP) == 0 && page->count >= SIRIX_CHILD_STEP_CHILDREN_MIN &&
        steps_evenly(page)) {
        return "evenly spaced keys are not stored as such";
    }
    return NULL;
}

static const char *take_orders(struct sirix_child_input *in, uint8_t flags,
                               struct sirix_child_page *page)
{
    uint8_t order = flags & SIRIX_CHILD_FLAG_ORDER_MASK;
    size_t map_len = (page->count + 3) / 4;

    for (uint32_t i = 0; i < page->count && order != SIRIX_CHILD_ORDER_MIXED; i++) {
        page->items[i].order = (enum sirix_order)order;
    }
    if (order != SIRIX_CHILD_ORDER_MIXED) {
        return NULL;
    }
    if (in->len < map_len) {
        return "the order map is cut off";
    }
    for (uint32_t i = 0; i < map_len * 4; i++) {
        unsigned of_child = in->at[i / 4] >> (i % 4 * 2) & 3U;
        if (of_child > SIRIX_ORDER_EXPLICIT || (i >= page->count && of_child != 0)) {
            return "the order map is malformed";
        }
        if (i < page->count) {
            page->items[i].order = (enum sirix_order)of_child;
        }
    }
    in->at += map_len;
    in->len -= map_len;
    return common_order(page) == SIRIX_CHILD_ORDER_MIXED ? NULL : "an order map of one order";
}

static const char *decode_child_leaf(struct sirix_child_input *in, struct sirix_child_page *page)
{
    struct sirix_label before = {0};
    const char *wrong = NULL;
    uint8_t flags = 0;

    if (in->len == 0 || (in->at[0] & ~(unsigned)SIRIX_CHILD_FLAGS_ALL) != 0) {
        return "unknown flags";
    }
    flags = in->at[0];
    in->at += 1;
    in->len -= 1;
    wrong = take_keys(in, flags, page);
    if (wrong == NULL) {
        wrong = take_orders(in, flags, page);
    }
    for (uint32_t i = 0; i < page->count && wrong == NULL; i++) {
        struct sirix_child_item *item = &page->items[i];

        if (item->order != SIRIX_ORDER_EXPLICIT) {
            item->label = sirix_label_default(item->key, item->order);
        } else if (!take_label(in, before, SIRIX_CHILD_KIND_CHILDREN, &item->label)) {
            wrong = "a label is cut off";
        }
        if (wrong == NULL && i != 0 && sirix_label_compare(before, item->label) >= 0) {
            wrong = "labels do not rise";
        }
        before = item->label;
    }
    return wrong;
}

/* --- Leaves of name indexes --------------------------------------------------------------------- */

static size_t encode_name_leaf(const struct sirix_child_page *page, uint8_t *to)
{
    const struct sirix_child_item *items = page->items;
    uint64_t base = items[0].key;
    size_t len = SIRIX_CHILD_PAGE_HEADER_BYTES;

    for (uint32_t i = 1; i < page->count; i++) {
        base = items[i].key < base ? items[i].key : base;
    }
    sirix_store_u32le(to + len, (uint32_t)items[0].label.major);
    len += 4;
    len += sirix_varint_encode(base, to + len);
    for (uint32_t i = 0; i < page->count; i++) {
        len += sirix_varint_encode(items[i].key - base, to + len);
    }
    for (uint32_t i = 1; i < page->count; i++) {
        len += sirix_varint_encode((uint64_t)(items[i].label.major - items[i - 1].label.major),
                                   to + len);
    }
    return len;
}

static const char *decode_name_leaf(struct sirix_child_input *in, struct sirix_child_page *page)
{
    struct sirix_child_item *items = page->items;
    uint64_t hash = 0;
    uint64_t base = 0;
    bool base_used = false;

    if (in->len < 4) {
        return "the first hash is cut off";
    }
    hash = sirix_load_u32le(in->at);
    in->at += 4;
    in->len -= 4;
    if (!sirix_child_take_varint(in, &base)) {
        return "the lowest key is cut off";
    }
    for (uint32_t i = 0; i < page->count; i++) {
        uint64_t distance = 0;

        if (!sirix_child_take_varint(in, &distance)) {
            return "a key is cut off";
        }
        if (base > INT64_MAX || distance > INT64_MAX - base || base + distance == 0) {
            return "a key is out of range";
        }
        items[i].key = base + distance;
        base_used = base_used || distance == 0;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        uint64_t distance = 0;

        if (i != 0 && (!sirix_child_take_varint(in, &distance) || distance > UINT32_MAX - hash)) {
            return "a hash is cut off or out of range";
        }
        hash += distance;
        items[i].label = (struct sirix_label){.major = (int64_t)hash, .minor = items[i].key};
        items[i].order = SIRIX_ORDER_EXPLICIT;
        if (i != 0 && distance == 0 && items[i - 1].key >= items[i].key) {
            return "pairs do not rise";
        }
    }
    return base_used ? NULL : "the lowest key is no key of the page";
}

/* --- Inner pages -------------------------------------------------------------------------------- */

static size_t encode_inner(const struct sirix_child_page *page, enum sirix_child_kind kind,
                           uint8_t *to)
{
    struct sirix_label before = {0};
    size_t len = SIRIX_CHILD_PAGE_HEADER_BYTES;

    for (uint32_t i = 0; i < page->count; i++) {
        assert(page->entries[i].address != 0);
        sirix_store_u64le(to + len, page->entries[i].address);
        len += SIRIX_CHILD_ADDRESS_BYTES;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        len += sirix_varint_encode(page->entries[i].count, to + len);
    }
    for (uint32_t i = 0; i < page->count; i++) {
        len += put_label(to + len, before, page->entries[i].first, kind);
        before = page->entries[i].first;
    }
    return len;
}

static const char *decode_inner(struct sirix_child_input *in, enum sirix_child_kind kind,
                                struct sirix_child_page *page)
{
    struct sirix_label before = {0};
    uint64_t total = 0;

    if (in->len < (size_t)page->count * SIRIX_CHILD_ADDRESS_BYTES) {
        return "addresses are cut off";
    }
    for (uint32_t i = 0; i < page->count; i++) {
        page->entries[i].address = sirix_load_u64le(in->at + (size_t)i * SIRIX_CHILD_ADDRESS_BYTES);
        if (page->entries[i].address == 0) {
            return "an address is 0";
        }
    }
    in->at += (size_t)page->count * SIRIX_CHILD_ADDRESS_BYTES;
    in->len -= (size_t)page->count * SIRIX_CHILD_ADDRESS_BYTES;
    for (uint32_t i = 0; i < page->count; i++) {
        uint64_t count = 0;

        if (!sirix_child_take_varint(in, &count) || count == 0 || count > INT64_MAX - total) {
            return "a count is cut off or out of range";
        }
        page->entries[i].count = count;
        total += count;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        struct sirix_label *label = &page->entries[i].first;

        if (!take_label(in, before, kind, label)) {
            return "a label is cut off";
        }
        if (i != 0 && sirix_label_compare(before, *label) >= 0) {
            return "labels do not rise";
        }
        if (kind == SIRIX_CHILD_KIND_NAMES && (uint64_t)label->major > UINT32_MAX) {
            return "a hash is out of range";
        }
        before = *label;
    }
    return NULL;
}

/* --- Whole pages -------------------------------------------------------------------------------- */

uint64_t sirix_child_page_total(const struct sirix_child_page *page)
{
    uint64_t total = page->count;

    if (page->level != 0) {
        total = 0;
        for (uint32_t i = 0; i < page->count; i++) {
            total += page->entries[i].count;
        }
    }
    return total;
}

struct sirix_label sirix_child_page_first(const struct sirix_child_page *page)
{
    assert(page->count != 0);
    return page->level == 0 ? page->items[0].label : page->entries[0].first;
}

size_t sirix_child_page_encode(const struct sirix_child_page *page, enum sirix_child_kind kind,
                               uint8_t *to)
{
    bool names = kind == SIRIX_CHILD_KIND_NAMES;
    size_t len = 0;

    assert(page->count != 0 && page->level < SIRIX_CHILD_HEIGHT_MAX);
    assert(page->count <= (page->level == 0 ? SIRIX_CHILD_LEAF_MAX : SIRIX_CHILD_INNER_MAX));
    if (page->level != 0) {
        len = encode_inner(page, kind, to);
        to[0] = names ? SIRIX_PAGE_NAME_INNER : SIRIX_PAGE_CHILD_INNER;
        to[1] = (uint8_t)(page->level << SIRIX_CHILD_LEVEL_SHIFT | (page->count - 1));
    } else {
        len = names ? encode_name_leaf(page, to) : encode_child_leaf(page, to);
        to[0] = names ? SIRIX_PAGE_NAME_LEAF : SIRIX_PAGE_CHILD_LEAF;
        to[1] = (uint8_t)page->count;
    }
    sirix_store_u16le(to + 2, (uint16_t)len);
    return len;
}

enum sirix_status sirix_child_page_decode(struct sirix_bytes bytes, uint64_t address,
                                          enum sirix_child_kind kind,
                                          struct sirix_child_page *out_page,
                                          struct sirix_error *err)
{
    bool names = kind == SIRIX_CHILD_KIND_NAMES;
    struct sirix_child_page page;
    struct sirix_child_input in = {0};
    uint8_t type = 0;
    const char *wrong = sirix_child_input_open(bytes, &type, &page.level, &page.count, &in);

    if (wrong == NULL && (type == SIRIX_PAGE_NAME_LEAF || type == SIRIX_PAGE_NAME_INNER) != names) {
        wrong = "a page of the other kind of tree";
    }
    if (wrong == NULL && page.level != 0) {
        wrong = decode_inner(&in, kind, &page);
    } else if (wrong == NULL) {
        wrong = names ? decode_name_leaf(&in, &page) : decode_child_leaf(&in, &page);
    }
    if (wrong == NULL && in.len != 0) {
        wrong = "bytes are left over";
    }
    if (wrong != NULL) {
        return sirix_page_damaged(address, wrong, err);
    }
    out_page->level = page.level;
    out_page->count = page.count;
    memcpy(out_page->items, page.items, page.count * sizeof(page.items[0]));
    return SIRIX_OK;
}
