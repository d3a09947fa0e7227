/*
 * Full leaves and leaf deltas.
 *
 *     full leaf   header 16: type, flags, u16 rows, u32 body length, u64 first key
 *                 body: rows in slot order; a length byte of 0 begins a run of slots without a row:
 *                 0, count. Runs stand between rows only, and never two together
 *     delta       header 16: type, flags, u8 rows, 0, u32 body length, u64 address of the full leaf
 *                 body: slot, row; a length byte of 0 is a hole
 *     row         length byte and record; 255: a u32 follows (>= 255) and then the record
 */
#include "store/page/page.h"

#include <assert.h>

#include "store/segment/segment.h"

enum {
    FLAG_CARRIES_IN = 0x01,
    LENGTH_LONG = 0xff, /* The length byte that a u32 follows. */
    LENGTH_LONG_BYTES = 5,
};

/* --- Writing --------------------------------------------------------------------------------- */

static size_t row_size(struct sirix_bytes record)
{
    assert(record.len != 0 && record.len <= SIRIX_RECORD_BYTES_MAX);
    return record.len + (record.len < LENGTH_LONG ? 1 : LENGTH_LONG_BYTES);
}

static uint8_t *put_row(uint8_t *at, struct sirix_bytes record)
{
    if (record.len < LENGTH_LONG) {
        *at++ = (uint8_t)record.len;
    } else {
        *at = LENGTH_LONG;
        sirix_store_u32le(at + 1, (uint32_t)record.len);
        at += LENGTH_LONG_BYTES;
    }
    memcpy(at, record.data, record.len);
    return at + record.len;
}

static uint32_t width_of(struct sirix_bytes record)
{
    uint32_t width = sirix_record_width(*(const uint8_t *)record.data);

    assert(width != 0);
    return width;
}

size_t sirix_leaf_size(const struct sirix_leaf_rows *rows)
{
    size_t size = SIRIX_LEAF_HEADER_BYTES;
    uint32_t slot = rows->carries_in ? 1 : 0;

    for (uint64_t left = rows->begins; left != 0; left &= left - 1) {
        uint32_t next = (uint32_t)__builtin_ctzll(left);
        size += next == slot ? 0 : 2;
        size += row_size(rows->records[next]);
        slot = next + width_of(rows->records[next]);
    }
    return size;
}

void sirix_leaf_encode(const struct sirix_leaf_rows *rows, uint64_t index, uint8_t *place)
{
    uint8_t *at = place + SIRIX_LEAF_HEADER_BYTES;
    uint32_t slot = rows->carries_in ? 1 : 0;

    assert(rows->begins != 0);
    for (uint64_t left = rows->begins; left != 0; left &= left - 1) {
        uint32_t next = (uint32_t)__builtin_ctzll(left);
        assert(next >= slot);
        if (next != slot) {
            *at++ = 0;
            *at++ = (uint8_t)(next - slot);
        }
        at = put_row(at, rows->records[next]);
        slot = next + width_of(rows->records[next]);
    }
    place[0] = SIRIX_PAGE_LEAF;
    place[1] = rows->carries_in ? FLAG_CARRIES_IN : 0;
    sirix_store_u16le(place + 2, (uint16_t)__builtin_popcountll(rows->begins));
    sirix_store_u32le(place + 4, (uint32_t)(at - place - SIRIX_LEAF_HEADER_BYTES));
    sirix_store_u64le(place + 8, index << SIRIX_LEAF_BITS);
}

size_t sirix_delta_size(const struct sirix_leaf_rows *rows, uint64_t changed)
{
    size_t size = SIRIX_DELTA_HEADER_BYTES;

    for (uint64_t left = changed; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bool row = (rows->begins & sirix_slot_bit(slot)) != 0;
        size += 1 + (row ? row_size(rows->records[slot]) : 1);
    }
    return size;
}

void sirix_delta_encode(const struct sirix_leaf_rows *rows, uint64_t changed, uint64_t base,
                        uint8_t *place)
{
    uint8_t *at = place + SIRIX_DELTA_HEADER_BYTES;

    assert(__builtin_popcountll(changed) <= SIRIX_DELTA_ROWS_MAX);
    for (uint64_t left = changed; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        *at++ = (uint8_t)slot;
        if ((rows->begins & sirix_slot_bit(slot)) != 0) {
            at = put_row(at, rows->records[slot]);
        } else {
            *at++ = 0;
        }
    }
    place[0] = SIRIX_PAGE_LEAF_DELTA;
    place[1] = rows->carries_in ? FLAG_CARRIES_IN : 0;
    place[2] = (uint8_t)__builtin_popcountll(changed);
    place[3] = 0;
    sirix_store_u32le(place + 4, (uint32_t)(at - place - SIRIX_DELTA_HEADER_BYTES));
    sirix_store_u64le(place + 8, base);
}

/* --- Reading --------------------------------------------------------------------------------- */

/* The length of the row at offset and where its record begins; false when it breaks a rule. */
static bool read_row(const uint8_t *page, uint32_t offset, uint32_t end, uint32_t *out_record,
                     uint32_t *out_len)
{
    uint32_t len = page[offset];
    uint32_t record = offset + 1;

    if (len == LENGTH_LONG) {
        if (end - offset < LENGTH_LONG_BYTES) {
            return false;
        }
        len = sirix_load_u32le(page + offset + 1);
        record = offset + LENGTH_LONG_BYTES;
        if (len < LENGTH_LONG || len > SIRIX_RECORD_BYTES_MAX) {
            return false;
        }
    }
    if (len > end - record) {
        return false;
    }
    *out_record = record;
    *out_len = len;
    return true;
}

/* Reads a leaf's or delta's common header fields; the page lies within bytes. */
static enum sirix_status check_header(struct sirix_bytes bytes, uint64_t address,
                                      enum sirix_page_type type, uint32_t *out_end,
                                      struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    uint32_t body = 0;

    if (bytes.len < SIRIX_LEAF_HEADER_BYTES || page[0] != type ||
        (page[1] & ~FLAG_CARRIES_IN) != 0) {
        return sirix_page_damaged(address, "not a leaf, or flags that no leaf has", err);
    }
    body = sirix_load_u32le(page + 4);
    if (body > bytes.len - SIRIX_LEAF_HEADER_BYTES ||
        body > SIRIX_SEGMENT_BYTES_MAX - SIRIX_LEAF_HEADER_BYTES) {
        return sirix_page_damaged(address, "a leaf is cut off", err);
    }
    *out_end = SIRIX_LEAF_HEADER_BYTES + body;
    return SIRIX_OK;
}

/* Takes the entry at *offset over and moves behind it; its slot is at least slot_min. */
static enum sirix_status take_entry(struct sirix_leaf_view *view, uint32_t *offset,
                                    uint32_t slot_min, uint32_t *out_slot, struct sirix_error *err)
{
    const uint8_t *page = view->delta;
    const uint32_t at = *offset;
    uint32_t record = 0;
    uint32_t len = 0;

    if (view->delta_end - at < 2 || page[at] >= SIRIX_LEAF_KEYS || page[at] < slot_min ||
        !read_row(page, at + 1, view->delta_end, &record, &len) ||
        (len != 0 && sirix_record_width(page[record]) == 0)) {
        return sirix_page_damaged(view->address, "a delta's slot or row is damaged", err);
    }
    *out_slot = page[at];
    *offset = record + len;
    view->changed |= sirix_slot_bit(page[at]);
    if (len != 0) {
        view->begins |= sirix_slot_bit(page[at]);
        view->offsets[page[at]] = at + 1;
    }
    return SIRIX_OK;
}

static enum sirix_status init_delta(struct sirix_leaf_view *view, struct sirix_bytes bytes,
                                    struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    uint32_t offset = SIRIX_DELTA_HEADER_BYTES;
    uint32_t slot_min = 0;
    enum sirix_status status =
        check_header(bytes, view->address, SIRIX_PAGE_LEAF_DELTA, &view->delta_end, err);

    if (status != SIRIX_OK) {
        return status;
    }
    view->delta = page;
    view->carries_in = (page[1] & FLAG_CARRIES_IN) != 0;
    view->base_address = sirix_load_u64le(page + 8);
    if (page[2] > SIRIX_DELTA_ROWS_MAX || page[3] != 0 ||
        sirix_address_number(view->base_address) == 0) {
        return sirix_page_damaged(view->address, "a delta has no base or too many rows", err);
    }
    for (uint32_t i = 0; status == SIRIX_OK && i < page[2]; i++) {
        uint32_t slot = 0;
        status = take_entry(view, &offset, slot_min, &slot, err);
        slot_min = slot + 1;
    }
    if (status == SIRIX_OK && offset != view->delta_end) {
        status = sirix_page_damaged(view->address, "bytes follow a delta's last row", err);
    }
    return status;
}

static enum sirix_status set_base(struct sirix_leaf_view *view, struct sirix_bytes bytes,
                                  struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    enum sirix_status status =
        check_header(bytes, view->base_address, SIRIX_PAGE_LEAF, &view->base_end, err);

    if (status != SIRIX_OK) {
        return status;
    }
    view->row_count = sirix_load_u16le(page + 2);
    if (view->row_count == 0 || view->row_count > SIRIX_LEAF_KEYS ||
        sirix_load_u64le(page + 8) != view->index << SIRIX_LEAF_BITS) {
        return sirix_page_damaged(view->base_address, "a leaf of other keys, or without rows", err);
    }
    view->base = page;
    view->walk_offset = SIRIX_LEAF_HEADER_BYTES;
    view->walked_slot = page[1] & FLAG_CARRIES_IN;
    if (view->delta == NULL) {
        view->carries_in = view->walked_slot != 0;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_leaf_view_init(struct sirix_leaf_view *view, uint64_t index,
                                       uint64_t address, struct sirix_bytes bytes,
                                       struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_leaf_view_init_absent(view, index);
    view->valid = false;
    view->address = address;
    view->base_address = address;
    view->walked_slot = 0;
    view->rows_seen = 0;
    if (bytes.len != 0 && *(const uint8_t *)bytes.data == SIRIX_PAGE_LEAF_DELTA) {
        status = init_delta(view, bytes, err);
    } else {
        status = set_base(view, bytes, err);
    }
    view->valid = status == SIRIX_OK && view->base != NULL;
    return status;
}

enum sirix_status sirix_leaf_view_set_base(struct sirix_leaf_view *view, struct sirix_bytes bytes,
                                           struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    assert(view->delta != NULL && view->base == NULL);
    status = set_base(view, bytes, err);
    view->valid = status == SIRIX_OK;
    return status;
}

static enum sirix_status walk_damaged(struct sirix_leaf_view *view, struct sirix_error *err)
{
    view->valid = false;
    return sirix_page_damaged(view->base_address, "a leaf's rows do not fit its header", err);
}

/* A run of slots without a row: never the end of the leaf, never beside another run. */
static bool skip_run(const struct sirix_leaf_view *view, uint32_t *slot, uint32_t *offset)
{
    uint32_t at = *offset;

    if (view->base_end - at < 3 || view->base[at + 1] == 0 ||
        view->base[at + 1] >= SIRIX_LEAF_KEYS - *slot || view->base[at + 2] == 0) {
        return false;
    }
    *slot += view->base[at + 1];
    *offset = at + 2;
    return true;
}

/* A delta's rows must leave each other, and the base's, the slots that they cover. */
static bool rows_overlap(const struct sirix_leaf_view *view)
{
    bool covered = view->carries_in;
    uint32_t after = 0;

    for (uint64_t left = view->begins; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        const uint8_t *record = sirix_leaf_view_record(view, slot).data;
        if (covered && slot == after) {
            return true;
        }
        covered = sirix_record_width(*record) == 2;
        after = slot + 1;
    }
    return false;
}

/* The walk came to its end: the whole leaf can be judged. */
static enum sirix_status end_walk(struct sirix_leaf_view *view, struct sirix_error *err)
{
    if (view->walk_offset != view->base_end || view->rows_seen != view->row_count) {
        return walk_damaged(view, err);
    }
    if (view->delta != NULL && rows_overlap(view)) {
        view->valid = false;
        return sirix_page_damaged(view->address, "a delta's rows overlap", err);
    }
    view->walked_slot = SIRIX_LEAF_KEYS;
    return SIRIX_OK;
}

enum sirix_status sirix_leaf_view_walk(struct sirix_leaf_view *view, uint32_t slot,
                                       struct sirix_error *err)
{
    const uint8_t *page = view->base;
    uint32_t at = view->walk_offset;
    uint32_t next = view->walked_slot;
    const uint32_t end = view->base_end;

    if (page == NULL) {
        return SIRIX_OK;
    }
    while (next <= slot && next < SIRIX_LEAF_KEYS && at < end) {
        uint32_t record = 0;
        uint32_t len = 0;
        uint32_t width = 0;
        if (page[at] == 0 && !skip_run(view, &next, &at)) {
            return walk_damaged(view, err);
        }
        if (!read_row(page, at, end, &record, &len)) {
            return walk_damaged(view, err);
        }
        width = sirix_record_width(page[record]);
        if (width == 0) {
            return walk_damaged(view, err);
        }
        if ((view->changed & sirix_slot_bit(next)) == 0) {
            view->begins |= sirix_slot_bit(next);
            view->offsets[next] = at;
        }
        next += width;
        at = record + len;
        view->rows_seen++;
        view->walk_offset = at;
        view->walked_slot = next;
    }
    if (view->walk_offset == end || view->walked_slot >= SIRIX_LEAF_KEYS) {
        return end_walk(view, err);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_leaf_view_next(struct sirix_leaf_view *view, uint32_t slot,
                                       uint32_t *out_slot, struct sirix_error *err)
{
    while (slot < SIRIX_LEAF_KEYS) {
        uint64_t left = view->begins >> slot;
        uint32_t found = left == 0 ? SIRIX_LEAF_KEYS : slot + (uint32_t)__builtin_ctzll(left);
        enum sirix_status status = SIRIX_OK;

        if (found < view->walked_slot || view->walked_slot >= SIRIX_LEAF_KEYS) {
            *out_slot = found;
            return SIRIX_OK;
        }
        /* A row that the walk has not reached may begin before the one the delta showed. */
        status =
            sirix_leaf_view_walk(view, view->walked_slot > slot ? view->walked_slot : slot, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out_slot = SIRIX_LEAF_KEYS;
    return SIRIX_OK;
}
