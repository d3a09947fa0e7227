/*
 * Changes in memory. A leaf's carry flag (page.h) is kept right at every step: whatever changes a leaf's
 * last row also looks at the leaf behind it.
 */
#include "store/page/trie.h"

#include <assert.h>
#include <stdlib.h>

#include "store/page/trie_shadow.h"

/* --- Life ------------------------------------------------------------------------------------ */

enum sirix_status sirix_trie_edit_new(struct sirix_reader *reader, struct sirix_trie base,
                                      struct sirix_trie_edit **out_edit, struct sirix_error *err)
{
    struct sirix_trie_edit *edit = NULL;

    if (base.height > SIRIX_TRIE_HEIGHT_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "a trie of height %u: at most %d", base.height,
                          SIRIX_TRIE_HEIGHT_MAX);
    }
    edit = calloc(1, sizeof(*edit));
    if (edit == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate an edit");
    }
    edit->reader = reader;
    edit->base = base;
    edit->root.address = base.root;
    edit->height = base.root == 0 ? 0 : base.height;
    sirix_trie_cursor_init(&edit->clean, reader, base);
    *out_edit = edit;
    return SIRIX_OK;
}

void sirix_trie_edit_free(struct sirix_trie_edit *edit)
{
    if (edit == NULL) {
        return;
    }
    sirix_shadow_free(edit, edit->root.shadow, edit->height);
    free(edit);
}

enum sirix_status sirix_trie_edit_get(struct sirix_trie_edit *edit, uint64_t key,
                                      struct sirix_row *out_row, struct sirix_error *err)
{
    uint64_t index = key >> SIRIX_LEAF_BITS;
    uint32_t slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);
    struct sirix_bytes record = {0};
    bool may_carry = false;
    enum sirix_status status = SIRIX_OK;

    if (key > SIRIX_KEY_MAX) {
        return SIRIX_NOT_FOUND;
    }
    status = sirix_shadow_peek(edit, index, slot, &record, &may_carry, err);
    if (status == SIRIX_OK && record.data == NULL) {
        if (key == 0 || (slot == 0 && !may_carry)) {
            return SIRIX_NOT_FOUND;
        }
        key--;
        index = key >> SIRIX_LEAF_BITS;
        slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);
        status = sirix_shadow_peek(edit, index, slot, &record, &may_carry, err);
        if (status == SIRIX_OK && sirix_shadow_width(record) != 2) {
            return SIRIX_NOT_FOUND;
        }
    }
    if (status == SIRIX_OK) {
        *out_row =
            (struct sirix_row){.key = key, .width = sirix_shadow_width(record), .record = record};
    }
    return status;
}

/* --- Changing -------------------------------------------------------------------------------- */

static void remove_row(struct sirix_trie_edit *edit, struct sirix_shadow_leaf *leaf, uint32_t slot)
{
    struct sirix_shadow_row *row = &leaf->rows[slot];

    if (row->cap != 0) {
        free(row->data);
    }
    leaf->row_bytes -= row->len;
    edit->row_bytes -= row->len;
    leaf->begins &= ~sirix_slot_bit(slot);
    *row = (struct sirix_shadow_row){0};
}

/* Asserts that a row leaves its neighbours the slots that they cover. */
static void assert_fits(const struct sirix_shadow_leaf *leaf, uint32_t slot, uint32_t width)
{
    if (slot == 0) {
        assert(!leaf->carries_in);
    } else if ((leaf->begins & sirix_slot_bit(slot - 1)) != 0) {
        assert(sirix_record_width(leaf->rows[slot - 1].data[0]) == 1);
    }
    if (width == 2 && slot + 1 < SIRIX_LEAF_KEYS) {
        assert((leaf->begins & sirix_slot_bit(slot + 1)) == 0);
    }
}

/* Memory for a record that does not fit in the place of the row before it; NULL when it does. */
static enum sirix_status copy_record(const struct sirix_shadow_row *row, struct sirix_bytes record,
                                     uint8_t **out_copy, struct sirix_error *err)
{
    uint8_t *copy = NULL;

    if (record.len > row->cap) {
        copy = malloc(record.len);
        if (copy == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "cannot copy a record of %zu bytes",
                              record.len);
        }
        memcpy(copy, record.data, record.len);
    }
    *out_copy = copy;
    return SIRIX_OK;
}

static void set_row(struct sirix_trie_edit *edit, struct sirix_shadow_leaf *leaf, uint32_t slot,
                    struct sirix_bytes record, uint8_t *copy)
{
    struct sirix_shadow_row *row = &leaf->rows[slot];

    if (copy == NULL) {
        memmove(row->data, record.data, record.len);
    } else {
        if (row->cap != 0) {
            free(row->data);
        }
        row->data = copy;
        row->cap = (uint32_t)record.len;
    }
    leaf->row_bytes += record.len - row->len;
    edit->row_bytes += record.len - row->len;
    row->len = (uint32_t)record.len;
    leaf->begins |= sirix_slot_bit(slot);
    edit->dirty = true;
}

enum sirix_status sirix_trie_edit_put(struct sirix_trie_edit *edit, uint64_t key, uint32_t width,
                                      struct sirix_bytes record, struct sirix_error *err)
{
    const uint64_t index = key >> SIRIX_LEAF_BITS;
    const uint32_t slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);
    struct sirix_shadow_leaf *leaf = NULL;
    struct sirix_bytes before = {0};
    bool may_carry = false;
    uint8_t *copy = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(record.len != 0 && record.len <= SIRIX_RECORD_BYTES_MAX);
    assert(sirix_shadow_width(record) == width);
    if (key > SIRIX_KEY_MAX + 1 - width) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "the keys of a resource are used up");
    }
    status = sirix_shadow_peek(edit, index, slot, &before, &may_carry, err);
    if (status != SIRIX_OK || sirix_bytes_equal(before, record)) {
        return status;
    }
    status = sirix_shadow_leaf(edit, index, &leaf, err);
    if (status == SIRIX_OK) {
        assert_fits(leaf, slot, width);
        status = copy_record(&leaf->rows[slot], record, &copy, err);
    }
    if (status == SIRIX_OK && slot == SIRIX_LEAF_KEYS - 1 &&
        (sirix_shadow_width(before) == 2) != (width == 2)) {
        status = sirix_shadow_set_carry(edit, index + 1, width == 2, err);
    }
    if (status != SIRIX_OK) {
        free(copy);
        return status;
    }
    set_row(edit, leaf, slot, record, copy);
    return SIRIX_OK;
}

/* Removes the rows that begin at slots first..last of a leaf. */
static enum sirix_status remove_slots(struct sirix_trie_edit *edit, uint64_t index, uint32_t first,
                                      uint32_t last, struct sirix_error *err)
{
    struct sirix_shadow_leaf *leaf = NULL;
    uint32_t found = 0;
    enum sirix_status status = sirix_shadow_locate(edit, index, &leaf, err);

    if (status == SIRIX_OK && leaf == NULL) {
        status = sirix_leaf_view_next(&edit->clean.leaf, first, &found, err);
        if (status != SIRIX_OK || found > last) {
            return status;
        }
        status = sirix_shadow_leaf(edit, index, &leaf, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (uint32_t slot = first; slot <= last; slot++) {
        if ((leaf->begins & sirix_slot_bit(slot)) != 0) {
            remove_row(edit, leaf, slot);
            edit->dirty = true;
        }
    }
    return SIRIX_OK;
}

/* Whether anything is at the place of a page, and no more than its parents is read for it. */
static enum sirix_status place_taken(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                                     bool *out_taken, struct sirix_error *err)
{
    struct sirix_shadow_slot slot = edit->root;

    for (uint32_t at = edit->height; at > level; at--) {
        uint32_t child = sirix_trie_slot_at(index, at - level);
        const uint8_t *page = NULL;
        enum sirix_status status = SIRIX_OK;
        if (slot.shadow != NULL) {
            slot = ((const struct sirix_shadow_inner *)slot.shadow)->children[child];
            continue;
        }
        if (slot.address == 0) {
            break;
        }
        status = sirix_trie_cursor_page(&edit->clean, at, sirix_trie_index_at(index, at - level),
                                        slot.address, &page, err);
        if (status != SIRIX_OK) {
            return status;
        }
        slot.address = sirix_inner_child(page, child);
    }
    *out_taken = slot.shadow != NULL || slot.address != 0;
    return SIRIX_OK;
}

/* Takes the page at a place out of the trie, unread. */
static enum sirix_status drop(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                              struct sirix_error *err)
{
    struct sirix_shadow_slot *slot = NULL;
    bool taken = false;
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_sync(&edit->clean);
    status = place_taken(edit, level, index, &taken, err);
    if (status == SIRIX_OK && taken) {
        status = sirix_shadow_path(edit, level, index, &slot, err);
    }
    if (status != SIRIX_OK || !taken) {
        return status;
    }
    sirix_shadow_free(edit, slot->shadow, level);
    *slot = (struct sirix_shadow_slot){0};
    edit->last = NULL;
    edit->dirty = true;
    sirix_trie_cursor_forget(&edit->clean);
    return SIRIX_OK;
}

/* Drops the leaves first..last, in the largest pages that lie inside. */
static enum sirix_status drop_leaves(struct sirix_trie_edit *edit, uint64_t first, uint64_t last,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && first <= last && sirix_trie_index_at(first, edit->height) == 0) {
        uint32_t level = 0;
        uint64_t span = 1;
        while (level < edit->height && (first & (span * SIRIX_INNER_CHILDREN - 1)) == 0 &&
               last - first >= span * SIRIX_INNER_CHILDREN - 1) {
            span *= SIRIX_INNER_CHILDREN;
            level++;
        }
        status = drop(edit, level, sirix_trie_index_at(first, level), err);
        first += span;
    }
    return status;
}

enum sirix_status sirix_trie_edit_remove(struct sirix_trie_edit *edit, uint64_t first,
                                         uint64_t last, struct sirix_error *err)
{
    const uint32_t end = SIRIX_LEAF_KEYS - 1;
    uint64_t first_leaf = first >> SIRIX_LEAF_BITS;
    uint64_t next_leaf = 0; /* Behind the last whole leaf of the range. */
    const uint32_t first_slot = (uint32_t)first & end;
    uint32_t last_slot = 0;
    enum sirix_status status = SIRIX_OK;

    last = last > SIRIX_KEY_MAX ? SIRIX_KEY_MAX : last;
    if (first > last) {
        return SIRIX_OK;
    }
    next_leaf = (last + 1) >> SIRIX_LEAF_BITS;
    last_slot = (uint32_t)last & end;
    if (first_slot != 0 || next_leaf == first_leaf) {
        bool same = last >> SIRIX_LEAF_BITS == first_leaf;
        status = remove_slots(edit, first_leaf, first_slot, same ? last_slot : end, err);
        if (status != SIRIX_OK || next_leaf == first_leaf) {
            return status;
        }
        first_leaf++;
    }
    if (first_leaf < next_leaf) {
        status = drop_leaves(edit, first_leaf, next_leaf - 1, err);
    }
    if (status == SIRIX_OK && last_slot != end && last >> SIRIX_LEAF_BITS == next_leaf) {
        status = remove_slots(edit, next_leaf, 0, last_slot, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_shadow_set_carry(edit, next_leaf, false, err);
    }
    return status;
}

enum sirix_status sirix_trie_edit_graft(struct sirix_trie_edit *edit, uint32_t level,
                                        uint64_t index, uint64_t address, struct sirix_error *err)
{
    struct sirix_shadow_slot *slot = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(level <= SIRIX_TRIE_HEIGHT_MAX && sirix_address_number(address) != 0);
    assert(index <= SIRIX_KEY_MAX >> (SIRIX_LEAF_BITS + SIRIX_INNER_BITS * level));
    status = sirix_shadow_grow(edit, level, index, err);
    if (status == SIRIX_OK) {
        status = sirix_shadow_path(edit, level, index, &slot, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    assert(slot->address == 0 && slot->shadow == NULL);
    slot->address = address;
    edit->last = NULL;
    edit->dirty = true;
    sirix_trie_cursor_forget(&edit->clean);
    return SIRIX_OK;
}

size_t sirix_trie_edit_size(const struct sirix_trie_edit *edit)
{
    const size_t per_leaf = SIRIX_LEAF_HEADER_BYTES + SIRIX_LEAF_KEYS;

    return edit->row_bytes + edit->leaf_count * per_leaf +
           edit->inner_count * SIRIX_INNER_BYTES_MAX;
}

bool sirix_trie_edit_dirty(const struct sirix_trie_edit *edit)
{
    return edit->dirty;
}
