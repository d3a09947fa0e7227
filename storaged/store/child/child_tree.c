/* Reading child trees: counting, element i, index of a child, cursors. */
#include "store/child/child_tree.h"

#include <assert.h>

#include "store/child/child_page.h"
#include "store/page/page.h"

/* A page on the way to a leaf. */
struct spot {
    uint64_t address;
    uint32_t level;
    struct sirix_bytes bytes;
};

/* The leaf that holds item *index, which becomes the place in it; and the item's key. */
static enum sirix_status find_leaf(struct sirix_reader *reader, uint64_t root, uint64_t *index,
                                   struct spot *out_leaf, uint64_t *out_key,
                                   struct sirix_error *err)
{
    struct spot at = {.level = SIRIX_CHILD_LEVEL_ANY};
    uint64_t below = root;
    enum sirix_status status = root == 0 ? SIRIX_NOT_FOUND : SIRIX_OK;

    while (status == SIRIX_OK && at.level != 0) {
        uint32_t above = at.level;

        at.address = below;
        status =
            sirix_segment_get(reader, at.address, SIRIX_CHILD_PAGE_HEADER_BYTES, &at.bytes, err);
        if (status == SIRIX_OK) {
            status =
                sirix_child_page_step(at.bytes, at.address, index, &at.level, &below, out_key, err);
        }
        if (above != SIRIX_CHILD_LEVEL_ANY &&
            (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && at.level + 1 != above))) {
            status = sirix_page_damaged(at.address, "it does not fit the page above", err);
        }
    }
    if (status == SIRIX_OK) {
        *out_leaf = at;
    }
    return status;
}

enum sirix_status sirix_child_tree_count(struct sirix_reader *reader, uint64_t root,
                                         uint64_t *out_count, struct sirix_error *err)
{
    struct sirix_child_page page = {.count = 0};
    enum sirix_status status = SIRIX_OK;

    if (root != 0) {
        status = sirix_child_page_load(reader, SIRIX_CHILD_KIND_CHILDREN, root,
                                       SIRIX_CHILD_LEVEL_ANY, &page, err);
    }
    if (status == SIRIX_OK) {
        *out_count = sirix_child_page_total(&page);
    }
    return status;
}

enum sirix_status sirix_child_tree_at(struct sirix_reader *reader, uint64_t root, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err)
{
    struct spot leaf = {0};
    uint64_t key = 0;
    enum sirix_status status = find_leaf(reader, root, &index, &leaf, &key, err);

    if (status == SIRIX_OK) {
        *out_key = key;
    }
    return status;
}

enum sirix_status sirix_child_tree_index(struct sirix_reader *reader, uint64_t root, uint64_t key,
                                         struct sirix_label label, uint64_t *out_index,
                                         struct sirix_error *err)
{
    struct sirix_child_page page = {.level = SIRIX_CHILD_LEVEL_ANY};
    uint64_t address = root;
    uint64_t index = 0;
    uint32_t level = SIRIX_CHILD_LEVEL_ANY;
    int position = -1;

    while (address != 0 && page.level != 0) {
        enum sirix_status status =
            sirix_child_page_load(reader, SIRIX_CHILD_KIND_CHILDREN, address, level, &page, err);
        if (status != SIRIX_OK) {
            return status;
        }
        position = sirix_child_page_seek(&page, label);
        if (position < 0 || page.level == 0) {
            break;
        }
        for (int i = 0; i < position; i++) {
            index += page.entries[i].count;
        }
        address = page.entries[position].address;
        level = page.level - 1;
    }
    if (position < 0 || page.items[position].key != key ||
        sirix_label_compare(page.items[position].label, label) != 0) {
        return SIRIX_NOT_FOUND;
    }
    *out_index = index + (uint64_t)position;
    return SIRIX_OK;
}

/* --- Cursors ------------------------------------------------------------------------------------ */

void sirix_child_cursor_init(struct sirix_child_cursor *cursor, struct sirix_reader *reader,
                             uint64_t root, uint64_t index)
{
    cursor->reader = reader;
    cursor->root = root;
    cursor->index = index;
    cursor->generation = sirix_reader_generation(reader);
    cursor->have = 0;
    cursor->first_index = 0;
}

/* Makes the leaf of cursor->index the decoded one. The keys are copies: they outlive a yield. */
static enum sirix_status load_leaf(struct sirix_child_cursor *cursor, struct sirix_error *err)
{
    struct sirix_child_page page;
    struct spot leaf = {0};
    uint64_t position = cursor->index;
    uint64_t key = 0;
    enum sirix_status status = find_leaf(cursor->reader, cursor->root, &position, &leaf, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_child_page_decode(leaf.bytes, leaf.address, SIRIX_CHILD_KIND_CHILDREN, &page,
                                         err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    cursor->have = page.count;
    cursor->first_index = cursor->index - position;
    cursor->generation = sirix_reader_generation(cursor->reader);
    for (uint32_t i = 0; i < page.count; i++) {
        cursor->keys[i] = page.items[i].key;
    }
    return SIRIX_OK;
}

static enum sirix_status cursor_key(struct sirix_child_cursor *cursor, uint64_t *out_key,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (cursor->index < cursor->first_index ||
        cursor->index - cursor->first_index >= cursor->have) {
        status = load_leaf(cursor, err);
    }
    if (status == SIRIX_OK) {
        *out_key = cursor->keys[cursor->index - cursor->first_index];
    }
    return status;
}

enum sirix_status sirix_child_cursor_next(struct sirix_child_cursor *cursor, uint64_t *out_key,
                                          struct sirix_error *err)
{
    enum sirix_status status = cursor_key(cursor, out_key, err);

    if (status == SIRIX_OK) {
        cursor->index += 1;
    }
    return status;
}

enum sirix_status sirix_child_cursor_prev(struct sirix_child_cursor *cursor, uint64_t *out_key,
                                          struct sirix_error *err)
{
    enum sirix_status status = cursor_key(cursor, out_key, err);

    if (status == SIRIX_OK) {
        cursor->index -= 1; /* Below 0: UINT64_MAX, where there is no child either. */
    }
    return status;
}
