/*
 * Shadows: the pages of an edit that are, or are about to be, different. Finding a leaf goes through the
 * shadows as far as they reach and then on with the clean cursor.
 *
 * A shadow without a difference is allowed and not written, so nothing here is undone on failure.
 */
#include "store/page/trie_shadow.h"

#include <assert.h>
#include <stdlib.h>

/* --- Life ------------------------------------------------------------------------------------ */

static void free_leaf(struct sirix_trie_edit *edit, struct sirix_shadow_leaf *leaf)
{
    for (uint64_t left = leaf->begins; left != 0; left &= left - 1) {
        struct sirix_shadow_row *row = &leaf->rows[__builtin_ctzll(left)];
        if (row->cap != 0) {
            free(row->data);
        }
    }
    edit->row_bytes -= leaf->row_bytes;
    edit->leaf_count--;
    free(leaf->copy);
    free(leaf);
}

/* Recursion goes at most SIRIX_TRIE_HEIGHT_MAX deep. */
void sirix_shadow_free(struct sirix_trie_edit *edit, void *shadow, uint32_t level)
{
    struct sirix_shadow_inner *inner = shadow;

    if (shadow == NULL) {
        return;
    }
    if (level == 0) {
        free_leaf(edit, shadow);
        return;
    }
    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        sirix_shadow_free(edit, inner->children[i].shadow, level - 1);
    }
    edit->inner_count--;
    free(inner);
}

/* --- Looking up ------------------------------------------------------------------------------ */

enum sirix_status sirix_shadow_locate(struct sirix_trie_edit *edit, uint64_t index,
                                      struct sirix_shadow_leaf **out_leaf, struct sirix_error *err)
{
    const struct sirix_shadow_slot *slot = &edit->root;
    uint32_t level = edit->height;
    enum sirix_status status = SIRIX_OK;

    if (edit->last != NULL && edit->last->index == index) {
        *out_leaf = edit->last;
        return SIRIX_OK;
    }
    sirix_trie_cursor_sync(&edit->clean);
    if (sirix_trie_index_at(index, level) != 0) {
        sirix_leaf_view_init_absent(&edit->clean.leaf, index);
        *out_leaf = NULL;
        return SIRIX_OK;
    }
    while (slot->shadow != NULL && level != 0) {
        const struct sirix_shadow_inner *inner = slot->shadow;
        slot = &inner->children[sirix_trie_slot_at(index, level)];
        level--;
    }
    if (slot->shadow == NULL && !(edit->clean.leaf.valid && edit->clean.leaf.index == index)) {
        status = sirix_trie_cursor_descend(&edit->clean, level, slot->address, index, err);
    }
    if (status == SIRIX_OK) {
        edit->last = slot->shadow;
        *out_leaf = slot->shadow;
    }
    return status;
}

enum sirix_status sirix_shadow_peek(struct sirix_trie_edit *edit, uint64_t index, uint32_t slot,
                                    struct sirix_bytes *out_record, bool *out_may_carry,
                                    struct sirix_error *err)
{
    struct sirix_shadow_leaf *leaf = NULL;
    struct sirix_leaf_view *view = &edit->clean.leaf;
    enum sirix_status status = sirix_shadow_locate(edit, index, &leaf, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (leaf == NULL) {
        *out_may_carry = view->address == 0 || view->carries_in;
        return sirix_leaf_view_at(view, slot, out_record, err);
    }
    *out_may_carry = leaf->carries_in;
    *out_record = (leaf->begins & sirix_slot_bit(slot)) == 0
                      ? (struct sirix_bytes){0}
                      : (struct sirix_bytes){leaf->rows[slot].data, leaf->rows[slot].len};
    return SIRIX_OK;
}

/* Whether the row that ends the leaf before this one reaches into it. */
static enum sirix_status reaches_into(struct sirix_trie_edit *edit, uint64_t index,
                                      bool *out_reaches, struct sirix_error *err)
{
    struct sirix_bytes record = {0};
    bool may_carry = false;
    enum sirix_status status = SIRIX_OK;

    if (index != 0) {
        status = sirix_shadow_peek(edit, index - 1, SIRIX_LEAF_KEYS - 1, &record, &may_carry, err);
    }
    if (status == SIRIX_OK) {
        *out_reaches = sirix_shadow_width(record) == 2;
    }
    return status;
}

/* --- Shadows --------------------------------------------------------------------------------- */

/* Puts one more level on top. */
static enum sirix_status grow(struct sirix_trie_edit *edit, struct sirix_error *err)
{
    struct sirix_shadow_inner *inner = NULL;

    if (edit->root.address != 0 || edit->root.shadow != NULL) {
        inner = calloc(1, sizeof(*inner));
        if (inner == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a page of an edit");
        }
        inner->children[0] = edit->root;
        edit->root = (struct sirix_shadow_slot){.shadow = inner};
        edit->inner_count++;
    }
    edit->height++;
    return SIRIX_OK;
}

enum sirix_status sirix_shadow_grow(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK &&
           (edit->height < level || sirix_trie_index_at(index, edit->height - level) != 0)) {
        status = grow(edit, err);
    }
    return status;
}

/* Gives the inner page in a slot its shadow. */
static enum sirix_status shadow_inner(struct sirix_trie_edit *edit, struct sirix_shadow_slot *slot,
                                      uint32_t level, uint64_t index, struct sirix_error *err)
{
    struct sirix_shadow_inner *inner = NULL;
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};
    const uint8_t *page = NULL;
    enum sirix_status status = SIRIX_OK;

    if (slot->shadow != NULL) {
        return SIRIX_OK;
    }
    if (slot->address != 0) {
        sirix_trie_cursor_sync(&edit->clean);
        status = sirix_trie_cursor_page(&edit->clean, level, index, slot->address, &page, err);
        if (status == SIRIX_OK) {
            status = sirix_inner_children(page, slot->address, children, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    inner = calloc(1, sizeof(*inner));
    if (inner == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a page of an edit");
    }
    inner->index = index;
    memcpy(inner->before, children, sizeof(inner->before));
    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        inner->children[i].address = children[i];
    }
    slot->shadow = inner;
    edit->inner_count++;
    return SIRIX_OK;
}

enum sirix_status sirix_shadow_path(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                                    struct sirix_shadow_slot **out_slot, struct sirix_error *err)
{
    struct sirix_shadow_slot *slot = &edit->root;

    for (uint32_t at = edit->height; at > level; at--) {
        enum sirix_status status =
            shadow_inner(edit, slot, at, sirix_trie_index_at(index, at - level), err);
        if (status != SIRIX_OK) {
            return status;
        }
        slot = &((struct sirix_shadow_inner *)slot->shadow)
                    ->children[sirix_trie_slot_at(index, at - level)];
    }
    *out_slot = slot;
    return SIRIX_OK;
}

/* Copies the leaf under the clean cursor, all of its rows known. */
static enum sirix_status copy_leaf(const struct sirix_leaf_view *view,
                                   struct sirix_shadow_leaf *leaf, struct sirix_error *err)
{
    const size_t delta_bytes = view->delta == NULL ? 0 : view->delta_end;

    leaf->carries_in = view->carries_in;
    if (view->base == NULL) {
        return SIRIX_OK;
    }
    leaf->copy = malloc(view->base_end + delta_bytes);
    if (leaf->copy == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot copy a leaf of %zu bytes",
                          view->base_end + delta_bytes);
    }
    memcpy(leaf->copy, view->base, view->base_end);
    if (delta_bytes != 0) {
        memcpy(leaf->copy + view->base_end, view->delta, delta_bytes);
    }
    leaf->begins = view->begins;
    for (uint64_t left = leaf->begins; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        bool in_delta = (view->changed & sirix_slot_bit(slot)) != 0;
        struct sirix_bytes record = sirix_leaf_view_record(view, slot);
        size_t offset =
            (size_t)((const uint8_t *)record.data - (in_delta ? view->delta : view->base));
        leaf->rows[slot] = (struct sirix_shadow_row){
            .data = leaf->copy + (in_delta ? view->base_end : 0) + offset,
            .len = (uint32_t)record.len,
        };
        leaf->row_bytes += record.len;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_shadow_leaf(struct sirix_trie_edit *edit, uint64_t index,
                                    struct sirix_shadow_leaf **out_leaf, struct sirix_error *err)
{
    struct sirix_shadow_slot *slot = NULL;
    struct sirix_shadow_leaf *leaf = NULL;
    struct sirix_leaf_view *view = &edit->clean.leaf;
    bool reaches = false;
    enum sirix_status status = sirix_shadow_locate(edit, index, &leaf, err);

    if (status != SIRIX_OK || leaf != NULL) {
        *out_leaf = leaf;
        return status;
    }
    if (view->address == 0) {
        status = reaches_into(edit, index, &reaches, err);
    } else {
        status = sirix_leaf_view_walk(view, SIRIX_LEAF_KEYS, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_shadow_grow(edit, 0, index, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_shadow_path(edit, 0, index, &slot, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    leaf = calloc(1, sizeof(*leaf));
    if (leaf == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a leaf of an edit");
    }
    leaf->index = index;
    leaf->carries_in = reaches;
    if (slot->address != 0) {
        status = copy_leaf(view, leaf, err);
        if (status != SIRIX_OK) {
            free(leaf);
            return status;
        }
    }
    slot->shadow = leaf;
    edit->leaf_count++;
    edit->row_bytes += leaf->row_bytes;
    edit->last = leaf;
    *out_leaf = leaf;
    return SIRIX_OK;
}

enum sirix_status sirix_shadow_set_carry(struct sirix_trie_edit *edit, uint64_t index,
                                         bool carries_in, struct sirix_error *err)
{
    struct sirix_shadow_leaf *leaf = NULL;
    const struct sirix_leaf_view *view = &edit->clean.leaf;
    enum sirix_status status = SIRIX_OK;

    if (index > SIRIX_KEY_MAX >> SIRIX_LEAF_BITS) {
        return SIRIX_OK;
    }
    status = sirix_shadow_locate(edit, index, &leaf, err);
    if (status == SIRIX_OK && leaf == NULL && view->address != 0 &&
        view->carries_in != carries_in) {
        status = sirix_shadow_leaf(edit, index, &leaf, err);
    }
    if (status == SIRIX_OK && leaf != NULL) {
        assert(!carries_in || (leaf->begins & 1) == 0);
        leaf->carries_in = carries_in;
    }
    return status;
}
