/*
 * Writing an edit: from below, each changed page once. What comes out equal to what was there keeps its
 * address, so an edit whose changes cancel each other out writes nothing.
 */
#include "store/page/trie.h"

#include <assert.h>

#include "store/page/trie_shadow.h"

static void rows_of(const struct sirix_shadow_leaf *leaf, struct sirix_leaf_rows *rows)
{
    rows->begins = leaf->begins;
    rows->carries_in = leaf->carries_in;
    for (uint64_t left = leaf->begins; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        rows->records[slot] = (struct sirix_bytes){leaf->rows[slot].data, leaf->rows[slot].len};
    }
}

/* The slots whose row differs from that of a leaf that has been walked to its end. */
static uint64_t changed_slots(const struct sirix_leaf_rows *rows,
                              const struct sirix_leaf_view *view)
{
    uint64_t changed = rows->begins ^ view->begins;

    for (uint64_t left = rows->begins & view->begins; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (!sirix_bytes_equal(rows->records[slot], sirix_leaf_view_record(view, slot))) {
            changed |= sirix_slot_bit(slot);
        }
    }
    return changed;
}

/* A leaf with all of its rows known. */
static enum sirix_status read_whole(struct sirix_reader *reader, struct sirix_leaf_view *view,
                                    uint64_t index, uint64_t address, struct sirix_error *err)
{
    enum sirix_status status = sirix_trie_read_leaf(reader, view, index, address, err);

    return status == SIRIX_OK ? sirix_leaf_view_walk(view, SIRIX_LEAF_KEYS, err) : status;
}

/* What to write for a leaf. */
struct leaf_plan {
    bool unchanged;
    uint64_t delta_base; /* 0: a full leaf. */
    uint64_t delta_slots;
    size_t size;
};

/* A delta pays while it has few rows and is at most half of its base and smaller than the leaf. */
static void plan_delta(const struct sirix_leaf_rows *rows, const struct sirix_leaf_view *base,
                       struct leaf_plan *plan)
{
    uint64_t slots = changed_slots(rows, base);
    size_t size = 0;

    if (__builtin_popcountll(slots) > SIRIX_DELTA_ROWS_MAX) {
        return;
    }
    size = sirix_delta_size(rows, slots);
    if (size <= base->base_end / 2 && size < plan->size) {
        plan->delta_base = base->base_address;
        plan->delta_slots = slots;
        plan->size = size;
    }
}

static enum sirix_status plan_leaf(struct sirix_reader *reader, const struct sirix_leaf_rows *rows,
                                   uint64_t index, uint64_t before, struct leaf_plan *plan,
                                   struct sirix_error *err)
{
    struct sirix_leaf_view view;
    enum sirix_status status = SIRIX_OK;

    *plan = (struct leaf_plan){.size = sirix_leaf_size(rows)};
    if (before == 0) {
        return SIRIX_OK;
    }
    status = read_whole(reader, &view, index, before, err);
    if (status != SIRIX_OK) {
        return status;
    }
    plan->unchanged = rows->carries_in == view.carries_in && changed_slots(rows, &view) == 0;
    if (plan->unchanged) {
        return SIRIX_OK;
    }
    if (view.delta != NULL) {
        status = read_whole(reader, &view, index, view.base_address, err);
    }
    if (status == SIRIX_OK) {
        plan_delta(rows, &view, plan);
    }
    return status;
}

static enum sirix_status write_leaf(struct sirix_trie_edit *edit, struct sirix_page_writer *writer,
                                    const struct sirix_shadow_slot *slot, uint64_t *out_address,
                                    struct sirix_error *err)
{
    const struct sirix_shadow_leaf *leaf = slot->shadow;
    struct sirix_leaf_rows rows;
    struct leaf_plan plan = {0};
    uint8_t *place = NULL;
    uint64_t address = 0;
    enum sirix_status status = SIRIX_OK;

    if (leaf->begins == 0) {
        *out_address = 0;
        return SIRIX_OK;
    }
    rows_of(leaf, &rows);
    status = plan_leaf(edit->reader, &rows, leaf->index, slot->address, &plan, err);
    if (status == SIRIX_OK && plan.unchanged) {
        *out_address = slot->address;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_page_writer_alloc(writer, plan.size, &address, &place, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (plan.delta_base != 0) {
        sirix_delta_encode(&rows, plan.delta_slots, plan.delta_base, place);
    } else {
        sirix_leaf_encode(&rows, leaf->index, place);
    }
    *out_address = address;
    return SIRIX_OK;
}

/* The address of an inner page whose children are known: none, the old one, or a new page. */
static enum sirix_status write_inner(struct sirix_page_writer *writer,
                                     const struct sirix_shadow_slot *slot, uint32_t level,
                                     const uint64_t children[SIRIX_INNER_CHILDREN],
                                     uint64_t *out_address, struct sirix_error *err)
{
    static const uint64_t none[SIRIX_INNER_CHILDREN];
    const struct sirix_shadow_inner *inner = slot->shadow;
    uint8_t *place = NULL;
    uint64_t address = 0;
    enum sirix_status status = SIRIX_OK;

    if (memcmp(children, none, sizeof(none)) == 0) {
        *out_address = 0;
        return SIRIX_OK;
    }
    if (memcmp(children, inner->before, sizeof(inner->before)) == 0) {
        *out_address = slot->address;
        return SIRIX_OK;
    }
    status = sirix_page_writer_alloc(writer, sirix_inner_size(children), &address, &place, err);
    if (status == SIRIX_OK) {
        sirix_inner_encode(children, level, inner->index, place);
        *out_address = address;
    }
    return status;
}

/* Writes what is at a place of the trie. Recursion goes at most SIRIX_TRIE_HEIGHT_MAX deep. */
static enum sirix_status write_place(struct sirix_trie_edit *edit, struct sirix_page_writer *writer,
                                     const struct sirix_shadow_slot *slot, uint32_t level,
                                     uint64_t *out_address, struct sirix_error *err)
{
    const struct sirix_shadow_inner *inner = slot->shadow;
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};

    if (slot->shadow == NULL) {
        *out_address = slot->address;
        return SIRIX_OK;
    }
    if (level == 0) {
        return write_leaf(edit, writer, slot, out_address, err);
    }
    for (uint32_t i = 0; i < SIRIX_INNER_CHILDREN; i++) {
        enum sirix_status status =
            write_place(edit, writer, &inner->children[i], level - 1, &children[i], err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    return write_inner(writer, slot, level, children, out_address, err);
}

static bool place_empty(const struct sirix_shadow_slot *slot, uint32_t level)
{
    const struct sirix_shadow_inner *inner = slot->shadow;
    bool empty = true;

    if (slot->shadow == NULL) {
        return slot->address == 0;
    }
    if (level == 0) {
        return ((const struct sirix_shadow_leaf *)slot->shadow)->begins == 0;
    }
    for (uint32_t i = 0; empty && i < SIRIX_INNER_CHILDREN; i++) {
        empty = place_empty(&inner->children[i], level - 1);
    }
    return empty;
}

/* Whether an inner page has nothing but its first child. */
static bool only_first(const struct sirix_shadow_slot *slot, uint32_t level)
{
    const struct sirix_shadow_inner *inner = slot->shadow;
    bool only = inner != NULL;

    for (uint32_t i = 1; only && i < SIRIX_INNER_CHILDREN; i++) {
        only = place_empty(&inner->children[i], level - 1);
    }
    return only;
}

enum sirix_status sirix_trie_edit_write(struct sirix_trie_edit *edit,
                                        struct sirix_page_writer *writer,
                                        struct sirix_trie *out_trie, struct sirix_error *err)
{
    const uint32_t base_height = edit->base.root == 0 ? 0 : edit->base.height;
    const struct sirix_shadow_slot *slot = &edit->root;
    uint32_t level = edit->height;
    uint64_t root = 0;
    enum sirix_status status = SIRIX_OK;

    /* Levels that this edit put on top stay only if something is above the first of their children. */
    while (level > base_height && only_first(slot, level)) {
        slot = &((const struct sirix_shadow_inner *)slot->shadow)->children[0];
        level--;
    }
    status = write_place(edit, writer, slot, level, &root, err);
    if (status == SIRIX_OK) {
        *out_trie = (struct sirix_trie){.root = root, .height = root == 0 ? 0 : level};
    }
    return status;
}
