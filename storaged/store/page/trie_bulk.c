/*
 * Bulk building. Leaves wait until no row can come to them any more, then they are written; their
 * address goes up into the inner page that waits for it, and so on upwards.
 *
 *     pending leaves   sorted by index; those of open containers and the last one
 *     pending inner    by level, sorted by index; those that have a written child
 *
 * A page is closed when its key range is settled and nothing pending lies in it. A page whose range
 * reaches out of the settled one is never written: others may own keys in it, so its children become
 * grafts.
 */
#include "store/page/trie.h"

#include <assert.h>
#include <stdlib.h>

#include "store/page/trie_cursor.h"

enum { LEAF_BYTES_SPARE_MAX = 64 * 1024, PAGES_CAP_MIN = 16 };

/* A leaf whose rows are coming in. Rows lie in bytes one behind another, in the order of arrival. */
struct bulk_leaf {
    uint64_t index;
    uint64_t begins;
    uint64_t held; /* Slots of rows that were announced. */
    bool carries_in;
    uint32_t offsets[SIRIX_LEAF_KEYS];
    uint32_t sizes[SIRIX_LEAF_KEYS];
    struct sirix_buf bytes;
};

struct bulk_inner {
    uint64_t index;
    uint64_t children[SIRIX_INNER_CHILDREN];
};

/* Sorted by index. */
struct bulk_level {
    struct bulk_inner *pages;
    size_t count;
    size_t cap;
};

struct sirix_trie_bulk {
    struct sirix_page_writer *writer;
    uint64_t first_leaf;
    uint64_t settled;          /* Rows of smaller keys have been given, or are held. */
    uint64_t end_leaf;         /* Behind the last leaf that had a row. */
    struct bulk_leaf **leaves; /* Sorted by index. */
    size_t leaf_count;
    size_t leaf_cap;
    struct bulk_leaf *spare;                             /* One leaf to use again. */
    struct bulk_level levels[SIRIX_TRIE_HEIGHT_MAX + 1]; /* [0] is not used. */
    struct sirix_trie_graft *grafts;
    size_t graft_count;
    size_t graft_cap;
};

enum sirix_status sirix_trie_bulk_new(struct sirix_page_writer *writer, uint64_t first_key,
                                      struct sirix_trie_bulk **out_bulk, struct sirix_error *err)
{
    struct sirix_trie_bulk *bulk = NULL;

    assert(first_key % SIRIX_LEAF_KEYS == 0 && first_key <= SIRIX_KEY_MAX);
    bulk = calloc(1, sizeof(*bulk));
    if (bulk == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a bulk build");
    }
    bulk->writer = writer;
    bulk->first_leaf = first_key >> SIRIX_LEAF_BITS;
    bulk->end_leaf = bulk->first_leaf;
    bulk->settled = first_key;
    *out_bulk = bulk;
    return SIRIX_OK;
}

static void leaf_free(struct bulk_leaf *leaf)
{
    if (leaf != NULL) {
        sirix_buf_deinit(&leaf->bytes);
        free(leaf);
    }
}

void sirix_trie_bulk_free(struct sirix_trie_bulk *bulk)
{
    if (bulk == NULL) {
        return;
    }
    for (size_t i = 0; i < bulk->leaf_count; i++) {
        leaf_free(bulk->leaves[i]);
    }
    leaf_free(bulk->spare);
    free(bulk->leaves);
    for (uint32_t level = 1; level <= SIRIX_TRIE_HEIGHT_MAX; level++) {
        free(bulk->levels[level].pages);
    }
    free(bulk->grafts);
    free(bulk);
}

/* Makes room for one more element of size bytes behind count. */
static enum sirix_status reserve(void **elements, size_t count, size_t *cap, size_t size,
                                 struct sirix_error *err)
{
    size_t new_cap = *cap == 0 ? PAGES_CAP_MIN : *cap * 2;
    void *grown = NULL;

    if (count < *cap) {
        return SIRIX_OK;
    }
    grown = realloc(*elements, new_cap * size);
    if (grown == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot keep %zu pages of a bulk build", new_cap);
    }
    *elements = grown;
    *cap = new_cap;
    return SIRIX_OK;
}

/* --- Pending inner pages --------------------------------------------------------------------- */

/* The position of the first page whose index is >= index; looked for from the end, where it mostly is. */
static size_t find_inner(const struct bulk_level *level, uint64_t index)
{
    size_t at = level->count;

    while (at != 0 && level->pages[at - 1].index >= index) {
        at--;
    }
    return at;
}

static size_t find_leaf(const struct sirix_trie_bulk *bulk, uint64_t index)
{
    size_t at = bulk->leaf_count;

    while (at != 0 && bulk->leaves[at - 1]->index >= index) {
        at--;
    }
    return at;
}

static enum sirix_status add_graft(struct sirix_trie_bulk *bulk, uint32_t level, uint64_t index,
                                   uint64_t address, struct sirix_error *err)
{
    void *grafts = bulk->grafts;
    enum sirix_status status =
        reserve(&grafts, bulk->graft_count, &bulk->graft_cap, sizeof(*bulk->grafts), err);

    bulk->grafts = grafts;
    if (status == SIRIX_OK) {
        bulk->grafts[bulk->graft_count++] =
            (struct sirix_trie_graft){.level = level, .index = index, .address = address};
    }
    return status;
}

/* Notes a written page in the inner page above it. */
static enum sirix_status add_child(struct sirix_trie_bulk *bulk, uint32_t level, uint64_t index,
                                   uint64_t address, struct sirix_error *err)
{
    struct bulk_level *above = &bulk->levels[level + 1];
    const uint64_t parent = index >> SIRIX_INNER_BITS;
    size_t at = 0;
    void *pages = above->pages;
    enum sirix_status status = SIRIX_OK;

    if (level == SIRIX_TRIE_HEIGHT_MAX ||
        parent << (SIRIX_INNER_BITS * (level + 1)) < bulk->first_leaf) {
        return add_graft(bulk, level, index, address, err);
    }
    at = find_inner(above, parent);
    if (at == above->count || above->pages[at].index != parent) {
        status = reserve(&pages, above->count, &above->cap, sizeof(*above->pages), err);
        above->pages = pages;
        if (status != SIRIX_OK) {
            return status;
        }
        memmove(&above->pages[at + 1], &above->pages[at],
                (above->count - at) * sizeof(*above->pages));
        above->pages[at] = (struct bulk_inner){.index = parent};
        above->count++;
    }
    above->pages[at].children[index & (SIRIX_INNER_CHILDREN - 1)] = address;
    return SIRIX_OK;
}

/* Whether the key range of an inner page is settled and nothing in it is pending. */
static bool inner_complete(const struct sirix_trie_bulk *bulk, uint32_t level, uint64_t index)
{
    const uint64_t first = index << (SIRIX_INNER_BITS * level);
    const uint64_t end = (index + 1) << (SIRIX_INNER_BITS * level);
    size_t at = 0;

    if (bulk->settled >> SIRIX_LEAF_BITS < end) {
        return false;
    }
    at = find_leaf(bulk, first);
    if (at < bulk->leaf_count && bulk->leaves[at]->index < end) {
        return false;
    }
    for (uint32_t below = 1; below < level; below++) {
        const struct bulk_level *pages = &bulk->levels[below];
        uint32_t bits = SIRIX_INNER_BITS * below;
        at = find_inner(pages, first >> bits);
        if (at < pages->count && pages->pages[at].index < end >> bits) {
            return false;
        }
    }
    return true;
}

/* Writes the inner page above a place if it is complete, then those above it. */
static enum sirix_status close_above(struct sirix_trie_bulk *bulk, uint32_t level, uint64_t index,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (level++; status == SIRIX_OK && level <= SIRIX_TRIE_HEIGHT_MAX; level++) {
        struct bulk_level *pages = &bulk->levels[level];
        struct bulk_inner page;
        size_t at = 0;
        uint64_t address = 0;
        uint8_t *place = NULL;
        index >>= SIRIX_INNER_BITS;
        at = find_inner(pages, index);
        if (at == pages->count || pages->pages[at].index != index ||
            !inner_complete(bulk, level, index)) {
            return SIRIX_OK;
        }
        page = pages->pages[at];
        status = sirix_page_writer_alloc(bulk->writer, sirix_inner_size(page.children), &address,
                                         &place, err);
        if (status != SIRIX_OK) {
            return status;
        }
        sirix_inner_encode(page.children, level, index, place);
        pages->count--;
        memmove(&pages->pages[at], &pages->pages[at + 1],
                (pages->count - at) * sizeof(*pages->pages));
        status = add_child(bulk, level, index, address, err);
    }
    return status;
}

/*
 * Closes inner pages whose range ended between two settled leaves and whose last leaves have no rows:
 * nothing else closes them. They are the last ones of their levels.
 */
static enum sirix_status close_settled(struct sirix_trie_bulk *bulk, uint64_t settled_before,
                                       struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t level = 1; status == SIRIX_OK && level <= SIRIX_TRIE_HEIGHT_MAX; level++) {
        const struct bulk_level *pages = &bulk->levels[level];
        const uint32_t bits = SIRIX_INNER_BITS * level;
        size_t at = pages->count;
        while (status == SIRIX_OK && at != 0 &&
               (pages->pages[at - 1].index + 1) << bits > settled_before) {
            at--;
            status = close_above(bulk, level - 1, pages->pages[at].index << SIRIX_INNER_BITS, err);
        }
    }
    return status;
}

/* --- Pending leaves -------------------------------------------------------------------------- */

static enum sirix_status leaf_new(struct sirix_trie_bulk *bulk, uint64_t index,
                                  struct bulk_leaf **out_leaf, struct sirix_error *err)
{
    struct bulk_leaf *leaf = bulk->spare;

    bulk->spare = NULL;
    if (leaf == NULL) {
        leaf = malloc(sizeof(*leaf));
        if (leaf == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a leaf of a bulk build");
        }
        sirix_buf_init(&leaf->bytes, (size_t)SIRIX_LEAF_KEYS * SIRIX_RECORD_BYTES_MAX);
    }
    sirix_buf_clear(&leaf->bytes);
    leaf->index = index;
    leaf->begins = 0;
    leaf->held = 0;
    leaf->carries_in = false;
    *out_leaf = leaf;
    return SIRIX_OK;
}

/* The pending leaf of an index; made where there is none. */
static enum sirix_status leaf_at(struct sirix_trie_bulk *bulk, uint64_t index,
                                 struct bulk_leaf **out_leaf, struct sirix_error *err)
{
    const size_t at = find_leaf(bulk, index);
    struct bulk_leaf *leaf = NULL;
    void *leaves = bulk->leaves;
    enum sirix_status status = SIRIX_OK;

    if (at < bulk->leaf_count && bulk->leaves[at]->index == index) {
        *out_leaf = bulk->leaves[at];
        return SIRIX_OK;
    }
    assert(index >= bulk->settled >> SIRIX_LEAF_BITS);
    status = reserve(&leaves, bulk->leaf_count, &bulk->leaf_cap, sizeof(struct bulk_leaf *), err);
    bulk->leaves = leaves;
    if (status == SIRIX_OK) {
        status = leaf_new(bulk, index, &leaf, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    memmove(&bulk->leaves[at + 1], &bulk->leaves[at],
            (bulk->leaf_count - at) * sizeof(struct bulk_leaf *));
    bulk->leaves[at] = leaf;
    bulk->leaf_count++;
    *out_leaf = leaf;
    return SIRIX_OK;
}

static bool leaf_complete(const struct sirix_trie_bulk *bulk, const struct bulk_leaf *leaf)
{
    return leaf->held == 0 && bulk->settled >> SIRIX_LEAF_BITS > leaf->index;
}

static void remove_leaf(struct sirix_trie_bulk *bulk, size_t at)
{
    struct bulk_leaf *leaf = bulk->leaves[at];

    bulk->leaf_count--;
    memmove(&bulk->leaves[at], &bulk->leaves[at + 1],
            (bulk->leaf_count - at) * sizeof(struct bulk_leaf *));
    if (bulk->spare == NULL && leaf->bytes.cap <= LEAF_BYTES_SPARE_MAX) {
        bulk->spare = leaf;
    } else {
        leaf_free(leaf);
    }
}

/* Writes a complete leaf, if it has rows, and what it completes above. */
static enum sirix_status close_leaf(struct sirix_trie_bulk *bulk, size_t at,
                                    struct sirix_error *err)
{
    const struct bulk_leaf *leaf = bulk->leaves[at];
    const uint64_t index = leaf->index;
    const bool empty = leaf->begins == 0;
    struct sirix_leaf_rows rows;
    uint64_t address = 0;
    uint8_t *place = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!empty) {
        rows.begins = leaf->begins;
        rows.carries_in = leaf->carries_in;
        for (uint64_t left = leaf->begins; left != 0; left &= left - 1) {
            uint32_t slot = (uint32_t)__builtin_ctzll(left);
            rows.records[slot] =
                (struct sirix_bytes){leaf->bytes.data + leaf->offsets[slot], leaf->sizes[slot]};
        }
        status =
            sirix_page_writer_alloc(bulk->writer, sirix_leaf_size(&rows), &address, &place, err);
        if (status != SIRIX_OK) {
            return status;
        }
        sirix_leaf_encode(&rows, index, place);
    }
    remove_leaf(bulk, at);
    if (!empty) {
        status = add_child(bulk, 0, index, address, err);
    }
    return status == SIRIX_OK ? close_above(bulk, 0, index, err) : status;
}

enum sirix_status sirix_trie_bulk_hold(struct sirix_trie_bulk *bulk, uint64_t key,
                                       struct sirix_error *err)
{
    struct bulk_leaf *leaf = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(key >= bulk->settled && key <= SIRIX_KEY_MAX);
    status = leaf_at(bulk, key >> SIRIX_LEAF_BITS, &leaf, err);
    if (status == SIRIX_OK) {
        assert(leaf != NULL);
        leaf->held |= sirix_slot_bit((uint32_t)key & (SIRIX_LEAF_KEYS - 1));
    }
    return status;
}

/* The leaves that a row of this width at key begins in and, or NULL, reaches into. */
static enum sirix_status leaves_of_row(struct sirix_trie_bulk *bulk, uint64_t key, uint32_t width,
                                       struct bulk_leaf **out_leaf, struct bulk_leaf **out_next,
                                       struct sirix_error *err)
{
    const uint64_t index = key >> SIRIX_LEAF_BITS;
    struct bulk_leaf *last = bulk->leaf_count == 0 ? NULL : bulk->leaves[bulk->leaf_count - 1];
    enum sirix_status status = SIRIX_OK;

    if (key > SIRIX_KEY_MAX + 1 - width) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "the keys of a resource are used up");
    }
    if (last != NULL && last->index == index) {
        *out_leaf = last; /* As nearly always. */
    } else {
        status = leaf_at(bulk, index, out_leaf, err);
    }
    if (status == SIRIX_OK && width == 2 && key % SIRIX_LEAF_KEYS == SIRIX_LEAF_KEYS - 1) {
        status = leaf_at(bulk, index + 1, out_next, err);
    }
    return status;
}

/* The row's record now stands in leaf->bytes from offset on. */
static enum sirix_status add_row(struct sirix_trie_bulk *bulk, uint64_t key, uint32_t width,
                                 struct bulk_leaf *leaf, struct bulk_leaf *next, size_t offset,
                                 struct sirix_error *err)
{
    const uint64_t index = key >> SIRIX_LEAF_BITS;
    const uint32_t slot = (uint32_t)key & (SIRIX_LEAF_KEYS - 1);

    assert(leaf->bytes.len > offset && leaf->bytes.len - offset <= SIRIX_RECORD_BYTES_MAX);
    assert(sirix_record_width(leaf->bytes.data[offset]) == width);
    assert((leaf->begins & sirix_slot_bit(slot)) == 0);
    assert((leaf->held & sirix_slot_bit(slot)) != 0 ? width == 1 : key >= bulk->settled);
    leaf->offsets[slot] = (uint32_t)offset;
    leaf->sizes[slot] = (uint32_t)(leaf->bytes.len - offset);
    leaf->begins |= sirix_slot_bit(slot);
    leaf->held &= ~sirix_slot_bit(slot);
    if (next != NULL) {
        assert((next->begins & 1) == 0);
        next->carries_in = true;
    }
    bulk->end_leaf = bulk->end_leaf > index ? bulk->end_leaf : index + 1;
    return leaf_complete(bulk, leaf) ? close_leaf(bulk, find_leaf(bulk, index), err) : SIRIX_OK;
}

enum sirix_status sirix_trie_bulk_put(struct sirix_trie_bulk *bulk, uint64_t key, uint32_t width,
                                      struct sirix_bytes record, struct sirix_error *err)
{
    struct bulk_leaf *leaf = NULL;
    struct bulk_leaf *next = NULL;
    size_t offset = 0;
    enum sirix_status status = leaves_of_row(bulk, key, width, &leaf, &next, err);

    if (status != SIRIX_OK) {
        return status;
    }
    assert(leaf != NULL);
    offset = leaf->bytes.len;
    status = sirix_buf_append_bytes(&leaf->bytes, record, err);
    return status == SIRIX_OK ? add_row(bulk, key, width, leaf, next, offset, err) : status;
}

enum sirix_status sirix_trie_bulk_put_node(struct sirix_trie_bulk *bulk,
                                           const struct sirix_node *node, struct sirix_error *err)
{
    const uint32_t width = sirix_node_width(node->kind);
    struct bulk_leaf *leaf = NULL;
    struct bulk_leaf *next = NULL;
    size_t offset = 0;
    enum sirix_status status = leaves_of_row(bulk, node->key, width, &leaf, &next, err);

    if (status != SIRIX_OK) {
        return status;
    }
    assert(leaf != NULL);
    offset = leaf->bytes.len;
    status = sirix_node_encode(node, &leaf->bytes, err);
    return status == SIRIX_OK ? add_row(bulk, node->key, width, leaf, next, offset, err) : status;
}

enum sirix_status sirix_trie_bulk_settle(struct sirix_trie_bulk *bulk, uint64_t key,
                                         struct sirix_error *err)
{
    const uint64_t before = bulk->settled >> SIRIX_LEAF_BITS;
    const uint64_t now = key >> SIRIX_LEAF_BITS;
    size_t at = 0;
    enum sirix_status status = SIRIX_OK;

    assert(key <= SIRIX_KEY_MAX + 1);
    if (key <= bulk->settled) {
        return SIRIX_OK;
    }
    bulk->settled = key;
    if (now == before) {
        return SIRIX_OK;
    }
    at = find_leaf(bulk, before);
    while (status == SIRIX_OK && at < bulk->leaf_count && bulk->leaves[at]->index < now) {
        if (bulk->leaves[at]->held == 0) {
            status = close_leaf(bulk, at, err);
        } else {
            at++;
        }
    }
    if (status == SIRIX_OK && before >> SIRIX_INNER_BITS != now >> SIRIX_INNER_BITS) {
        status = close_settled(bulk, before, err);
    }
    return status;
}

/* --- The end --------------------------------------------------------------------------------- */

static int compare_grafts(const void *left, const void *right)
{
    const struct sirix_trie_graft *a = left;
    const struct sirix_trie_graft *b = right;
    uint64_t first_a = a->index << (SIRIX_INNER_BITS * a->level);
    uint64_t first_b = b->index << (SIRIX_INNER_BITS * b->level);

    return first_a < first_b ? -1 : first_a > first_b;
}

/* The children of the pages that were not written, of one level, become grafts. */
static enum sirix_status graft_children(struct sirix_trie_bulk *bulk, uint32_t level,
                                        struct sirix_error *err)
{
    const struct bulk_level *pages = &bulk->levels[level];
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < pages->count * SIRIX_INNER_CHILDREN; i++) {
        const struct bulk_inner *page = &pages->pages[i / SIRIX_INNER_CHILDREN];
        uint64_t slot = i % SIRIX_INNER_CHILDREN;
        if (page->children[slot] != 0) {
            status = add_graft(bulk, level - 1, page->index << SIRIX_INNER_BITS | slot,
                               page->children[slot], err);
        }
    }
    return status;
}

enum sirix_status sirix_trie_bulk_finish(struct sirix_trie_bulk *bulk,
                                         struct sirix_trie_graft **out_grafts, size_t *out_count,
                                         struct sirix_error *err)
{
    enum sirix_status status = sirix_trie_bulk_settle(bulk, bulk->end_leaf << SIRIX_LEAF_BITS, err);

    /* What is left can only be a leaf that the last row reaches into and that has no rows. */
    for (size_t i = 0; status == SIRIX_OK && i < bulk->leaf_count; i++) {
        assert(bulk->leaves[i]->held == 0 && bulk->leaves[i]->begins == 0);
    }
    for (uint32_t level = 1; status == SIRIX_OK && level <= SIRIX_TRIE_HEIGHT_MAX; level++) {
        status = graft_children(bulk, level, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (bulk->graft_count != 0) {
        qsort(bulk->grafts, bulk->graft_count, sizeof(*bulk->grafts), compare_grafts);
    }
    *out_grafts = bulk->grafts;
    *out_count = bulk->graft_count;
    bulk->grafts = NULL;
    bulk->graft_count = 0;
    bulk->graft_cap = 0;
    return SIRIX_OK;
}
