/* Look-ups: descend from the lowest remembered page that covers the key, then walk the leaf's rows. */
#include "store/page/trie.h"

#include <assert.h>

#include "store/page/trie_cursor.h"

void sirix_trie_cursor_init(struct sirix_trie_cursor *cursor, struct sirix_reader *reader,
                            struct sirix_trie trie)
{
    cursor->reader = reader;
    cursor->trie = trie;
    sirix_trie_cursor_forget(cursor);
}

void sirix_trie_cursor_forget(struct sirix_trie_cursor *cursor)
{
    cursor->generation = sirix_reader_generation(cursor->reader);
    memset(cursor->path, 0, sizeof(cursor->path));
    cursor->leaf.valid = false;
}

enum sirix_status sirix_trie_cursor_page(struct sirix_trie_cursor *cursor, uint32_t level,
                                         uint64_t index, uint64_t address, const uint8_t **out_page,
                                         struct sirix_error *err)
{
    struct sirix_bytes bytes = {0};
    enum sirix_status status = SIRIX_OK;

    if (cursor->path[level] != NULL && cursor->path_index[level] == index) {
        *out_page = cursor->path[level];
        return SIRIX_OK;
    }
    status = sirix_segment_get(cursor->reader, address, SIRIX_INNER_HEADER_BYTES, &bytes, err);
    if (status == SIRIX_OK) {
        status = sirix_inner_check(bytes, level, index, address, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    cursor->path[level] = bytes.data;
    cursor->path_index[level] = index;
    cursor->path_address[level] = address;
    *out_page = bytes.data;
    return SIRIX_OK;
}

enum sirix_status sirix_trie_read_leaf(struct sirix_reader *reader, struct sirix_leaf_view *view,
                                       uint64_t index, uint64_t address, struct sirix_error *err)
{
    struct sirix_bytes bytes = {0};
    enum sirix_status status =
        sirix_segment_get(reader, address, SIRIX_LEAF_HEADER_BYTES, &bytes, err);

    view->valid = false;
    if (status == SIRIX_OK) {
        status = sirix_leaf_view_init(view, index, address, bytes, err);
    }
    if (status == SIRIX_OK && view->base == NULL) {
        status =
            sirix_segment_get(reader, view->base_address, SIRIX_LEAF_HEADER_BYTES, &bytes, err);
        if (status == SIRIX_OK) {
            status = sirix_leaf_view_set_base(view, bytes, err);
        }
    }
    return status;
}

static enum sirix_status no_child(uint64_t address, struct sirix_error *err)
{
    return sirix_page_damaged(address, "a child address names segment 0", err);
}

enum sirix_status sirix_trie_cursor_descend(struct sirix_trie_cursor *cursor, uint32_t level,
                                            uint64_t address, uint64_t leaf_index,
                                            struct sirix_error *err)
{
    const uint8_t *page = NULL;
    uint32_t at = 1;
    enum sirix_status status = SIRIX_OK;

    while (at <= level && (cursor->path[at] == NULL ||
                           cursor->path_index[at] != sirix_trie_index_at(leaf_index, at))) {
        at++;
    }
    if (at <= level) {
        page = cursor->path[at];
    } else if (address != 0 && level != 0) {
        at = level;
        status = sirix_trie_cursor_page(cursor, level, sirix_trie_index_at(leaf_index, level),
                                        address, &page, err);
    } else {
        at = 0;
    }
    while (status == SIRIX_OK && at != 0) {
        uint32_t slot = sirix_trie_slot_at(leaf_index, at);
        bool present = (sirix_inner_present(page) >> slot & 1) != 0;
        address = sirix_inner_child(page, slot);
        if (!present) {
            break;
        }
        if (sirix_address_number(address) == 0) {
            return no_child(cursor->path_address[at], err);
        }
        at--;
        if (at != 0) {
            status = sirix_trie_cursor_page(cursor, at, sirix_trie_index_at(leaf_index, at),
                                            address, &page, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (address == 0) {
        sirix_leaf_view_init_absent(&cursor->leaf, leaf_index);
        return SIRIX_OK;
    }
    return sirix_trie_read_leaf(cursor->reader, &cursor->leaf, leaf_index, address, err);
}

static enum sirix_status too_high(uint32_t height, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT, "a trie of height %u: at most %d", height,
                      SIRIX_TRIE_HEIGHT_MAX);
}

enum sirix_status sirix_trie_cursor_leaf(struct sirix_trie_cursor *cursor, uint64_t leaf_index,
                                         struct sirix_error *err)
{
    const uint32_t height = cursor->trie.height;

    if (cursor->leaf.valid && cursor->leaf.index == leaf_index) {
        return SIRIX_OK;
    }
    if (height > SIRIX_TRIE_HEIGHT_MAX) {
        return too_high(height, err);
    }
    if (cursor->trie.root == 0 || sirix_trie_index_at(leaf_index, height) != 0) {
        sirix_leaf_view_init_absent(&cursor->leaf, leaf_index);
        return SIRIX_OK;
    }
    return sirix_trie_cursor_descend(cursor, height, cursor->trie.root, leaf_index, err);
}

static void row_at(const struct sirix_leaf_view *view, uint32_t slot, struct sirix_row *out_row)
{
    struct sirix_bytes record = sirix_leaf_view_record(view, slot);

    *out_row = (struct sirix_row){
        .key = (view->index << SIRIX_LEAF_BITS) + slot,
        .width = sirix_record_width(*(const uint8_t *)record.data),
        .record = record,
    };
}

/* The row at key - 1 when it is fused, as nothing begins at key itself. */
static enum sirix_status get_before(struct sirix_trie_cursor *cursor, uint64_t key,
                                    struct sirix_row *out_row, struct sirix_error *err)
{
    const uint32_t slot = (uint32_t)(key - 1) & (SIRIX_LEAF_KEYS - 1);
    struct sirix_bytes record = {0};
    enum sirix_status status = SIRIX_OK;

    if (slot == SIRIX_LEAF_KEYS - 1) {
        if (cursor->leaf.address != 0 && !cursor->leaf.carries_in) {
            return SIRIX_NOT_FOUND;
        }
        status = sirix_trie_cursor_leaf(cursor, (key - 1) >> SIRIX_LEAF_BITS, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_leaf_view_at(&cursor->leaf, slot, &record, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (record.data == NULL || sirix_record_width(*(const uint8_t *)record.data) != 2) {
        return SIRIX_NOT_FOUND;
    }
    row_at(&cursor->leaf, slot, out_row);
    return SIRIX_OK;
}

enum sirix_status sirix_trie_get(struct sirix_trie_cursor *cursor, uint64_t key,
                                 struct sirix_row *out_row, struct sirix_error *err)
{
    const uint32_t slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);
    struct sirix_bytes record = {0};
    enum sirix_status status = SIRIX_OK;

    if (key > SIRIX_KEY_MAX) {
        return SIRIX_NOT_FOUND;
    }
    sirix_trie_cursor_sync(cursor);
    status = sirix_trie_cursor_leaf(cursor, key >> SIRIX_LEAF_BITS, err);
    if (status == SIRIX_OK) {
        status = sirix_leaf_view_at(&cursor->leaf, slot, &record, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (record.data == NULL) {
        return key == 0 ? SIRIX_NOT_FOUND : get_before(cursor, key, out_row, err);
    }
    row_at(&cursor->leaf, slot, out_row);
    return SIRIX_OK;
}

enum sirix_status sirix_trie_leaf_address(struct sirix_trie_cursor *cursor, uint64_t key,
                                          uint64_t *out_address, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (key > SIRIX_KEY_MAX) {
        *out_address = 0;
        return SIRIX_OK;
    }
    sirix_trie_cursor_sync(cursor);
    status = sirix_trie_cursor_leaf(cursor, key >> SIRIX_LEAF_BITS, err);
    if (status == SIRIX_OK) {
        *out_address = cursor->leaf.address;
    }
    return status;
}

/* --- In key order ---------------------------------------------------------------------------- */

/* The lowest level whose remembered page covers a leaf; the root's level when none does. */
static uint32_t level_covering(const struct sirix_trie_cursor *cursor, uint64_t leaf_index)
{
    uint32_t level = 1;

    while (level < cursor->trie.height &&
           (cursor->path[level] == NULL ||
            cursor->path_index[level] != sirix_trie_index_at(leaf_index, level))) {
        level++;
    }
    return level;
}

/*
 * The first child of a page at or behind the leaf *from; *from moves to the child's first leaf if that
 * is behind. false: none, and *from is behind the page.
 */
static bool next_child(const uint8_t *page, uint32_t level, uint64_t *from, uint64_t *out_address)
{
    const uint64_t index = sirix_trie_index_at(*from, level);
    const uint32_t slot = sirix_trie_slot_at(*from, level);
    const uint32_t left = sirix_inner_present(page) >> slot << slot;
    uint32_t next = 0;

    if (left == 0) {
        *from = (index + 1) << (SIRIX_INNER_BITS * level);
        return false;
    }
    next = (uint32_t)__builtin_ctz(left);
    if (next != slot) {
        *from = (index << SIRIX_INNER_BITS | next) << (SIRIX_INNER_BITS * (level - 1));
    }
    *out_address = sirix_inner_child(page, next);
    return true;
}

/* The index of the first present leaf >= from; SIRIX_NOT_FOUND when there is none. */
static enum sirix_status find_leaf(struct sirix_trie_cursor *cursor, uint64_t from,
                                   uint64_t *out_index, struct sirix_error *err)
{
    const uint32_t height = cursor->trie.height;
    uint64_t address = cursor->trie.root;
    uint32_t level = 0;

    if (height > SIRIX_TRIE_HEIGHT_MAX) {
        return too_high(height, err);
    }
    if (address == 0 || sirix_trie_index_at(from, height) != 0) {
        return SIRIX_NOT_FOUND;
    }
    level = height == 0 ? 0 : level_covering(cursor, from);
    while (level != 0) {
        const uint8_t *page = NULL;
        enum sirix_status status = sirix_trie_cursor_page(
            cursor, level, sirix_trie_index_at(from, level), address, &page, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (next_child(page, level, &from, &address)) {
            level--;
        } else if (sirix_trie_index_at(from, height) != 0) {
            return SIRIX_NOT_FOUND;
        } else {
            level = level_covering(cursor, from);
            address = cursor->trie.root;
        }
    }
    *out_index = from;
    return SIRIX_OK;
}

/* Points the cursor at a leaf or, when that is absent, at the next one; *slot is then the first. */
static enum sirix_status leaf_from(struct sirix_trie_cursor *cursor, uint64_t index, uint32_t *slot,
                                   struct sirix_error *err)
{
    uint64_t found = 0;
    enum sirix_status status = SIRIX_OK;

    if (cursor->leaf.valid && cursor->leaf.index == index) {
        return SIRIX_OK;
    }
    status = find_leaf(cursor, index, &found, err);
    if (status == SIRIX_OK) {
        *slot = found == index ? *slot : 0;
        status = sirix_trie_cursor_leaf(cursor, found, err);
    }
    return status;
}

enum sirix_status sirix_trie_next(struct sirix_trie_cursor *cursor, uint64_t key,
                                  struct sirix_row *out_row, struct sirix_error *err)
{
    uint64_t index = key >> SIRIX_LEAF_BITS;
    uint32_t slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);
    enum sirix_status status = SIRIX_OK;

    if (key > SIRIX_KEY_MAX) {
        return SIRIX_NOT_FOUND;
    }
    sirix_trie_cursor_sync(cursor);
    do {
        status = leaf_from(cursor, index, &slot, err);
        if (status == SIRIX_OK) {
            status = sirix_leaf_view_next(&cursor->leaf, slot, &slot, err);
        }
        if (status == SIRIX_OK && slot < SIRIX_LEAF_KEYS) {
            row_at(&cursor->leaf, slot, out_row);
            return SIRIX_OK;
        }
        index = cursor->leaf.index + 1;
        slot = 0;
    } while (status == SIRIX_OK);
    return status;
}
