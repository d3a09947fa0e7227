/*
 * Pages: the immutable pieces that segments are made of. Byte tables: docs/format.md.
 *
 * Type      byte 0 of every page says what it is: enum sirix_page_type is the one list. A page begins
 *           at an address, so at a multiple of 8; what follows it up to the next is zero.
 * Rows      a leaf holds the rows of 64 consecutive keys. Byte 0 of a record tells its kind (node.h):
 *           fused fields cover two keys, all others one. The last row may reach into the next leaf.
 * Carry     a leaf whose slot 0 is the second key of the row that ends the leaf before says so by a
 *           flag. A leaf without rows is not stored, carry or not: who looks in an absent leaf for its
 *           first key asks the leaf before.
 * Delta     a leaf as its difference to a full leaf (never to another delta): every slot whose row is
 *           not the base's, with the row or as a hole.
 * Errors    SIRIX_CORRUPT names segment, offset and what is wrong; nothing is read past the bytes
 *           given.
 *
 * Pure functions: no I/O, no allocation.
 */
#ifndef SIRIX_STORE_PAGE_PAGE_H
#define SIRIX_STORE_PAGE_PAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/endian.h"
#include "base/status.h"

enum sirix_page_type {
    SIRIX_PAGE_INNER = 1,
    SIRIX_PAGE_LEAF = 2,
    SIRIX_PAGE_LEAF_DELTA = 3,
    SIRIX_PAGE_CHILD_LEAF = 4,
    SIRIX_PAGE_CHILD_INNER = 5,
    SIRIX_PAGE_NAME_LEAF = 6,
    SIRIX_PAGE_NAME_INNER = 7,
    SIRIX_PAGE_STRING_ROOT = 8,
    SIRIX_PAGE_STRING_CHUNK = 9,
};

enum {
    SIRIX_LEAF_KEYS = 64,
    SIRIX_LEAF_BITS = 6,
    SIRIX_INNER_CHILDREN = 16,
    SIRIX_INNER_BITS = 4,
    SIRIX_TRIE_HEIGHT_MAX = 14,
    SIRIX_RECORD_BYTES_MAX = 70 * 1024, /* Long texts are out of line; children inline are few. */
    SIRIX_DELTA_ROWS_MAX = 8,           /* Rows of a cumulative leaf delta; then a full leaf. */
};
/* Every key that a trie can hold: 14 levels of 16 over leaves of 64. */
#define SIRIX_KEY_MAX ((UINT64_C(1) << 62) - 1)

enum {
    SIRIX_INNER_HEADER_BYTES = 24,
    SIRIX_INNER_BYTES_MAX = SIRIX_INNER_HEADER_BYTES + (SIRIX_INNER_CHILDREN - 1) * 8,
    SIRIX_LEAF_HEADER_BYTES = 16,
    SIRIX_DELTA_HEADER_BYTES = 16,
};

/*
 * The error of a page that breaks its format: "page at segment S offset O: what". For the decoders of
 * every page type.
 */
enum sirix_status sirix_page_damaged(uint64_t address, const char *what, struct sirix_error *err);

/* Bytes that a page of len takes in a segment. */
static inline size_t sirix_page_padded(size_t len)
{
    return (len + 7) & ~(size_t)7;
}

/* The bit of a slot in the bitmaps of a leaf. */
static inline uint64_t sirix_slot_bit(uint32_t slot)
{
    return UINT64_C(1) << slot;
}

/* How many keys the row of a record covers: 1, or 2 for a fused field; 0: no record begins so. */
static inline uint32_t sirix_record_width(uint8_t byte0)
{
    uint32_t kind = byte0 & 0x0f;

    return kind == 0 ? 0 : kind >= 10 ? 2 : 1;
}

/* --- Inner pages ----------------------------------------------------------------------------- */

/*
 * An inner page holds its children's addresses as their distances from the lowest of them, each in as
 * many bytes as it needs: most commits are little else than inner pages. The lengths of the distances
 * are the nibbles of one number, so a child is found without a loop.
 *
 * Checks the header of an inner page of a level (1..SIRIX_TRIE_HEIGHT_MAX) and its place among the
 * pages of that level, and that bytes hold it.
 */
enum sirix_status sirix_inner_check(struct sirix_bytes bytes, uint32_t level, uint64_t index,
                                    uint64_t address, struct sirix_error *err) SIRIX_MUST_CHECK;

/* The presence bitmap of a checked inner page. */
static inline uint32_t sirix_inner_present(const uint8_t *page)
{
    return sirix_load_u16le(page + 2);
}

/* How many bits of a presence bitmap are set; the compiler's own is a call where -mpopcnt is not given. */
static inline uint32_t sirix_inner_count(uint32_t bits)
{
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (bits + (bits >> 8)) & 0x1f;
}

/* The sum of the 16 nibbles of a number, each at most 8. */
static inline uint32_t sirix_inner_nibble_sum(uint64_t nibbles)
{
    const uint64_t low = UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t pairs = (nibbles & low) + (nibbles >> 4 & low);

    return (uint32_t)(pairs * UINT64_C(0x0101010101010101) >> 56);
}

/* The child address in a slot of a checked inner page, 0 when absent. */
static inline uint64_t sirix_inner_child(const uint8_t *page, uint32_t slot)
{
    const uint32_t present = sirix_inner_present(page);
    const uint64_t lens = sirix_load_u64le(page + 16);
    uint32_t shift = 0;
    uint32_t len = 0;
    const uint8_t *at = NULL;

    if ((present >> slot & 1) == 0) {
        return 0;
    }
    shift = 4 * sirix_inner_count(present & ((UINT32_C(1) << slot) - 1));
    len = (uint32_t)(lens >> shift) & 0x0f;
    at = page + SIRIX_INNER_HEADER_BYTES +
         sirix_inner_nibble_sum(lens & ((UINT64_C(1) << shift) - 1));
    /* The eight bytes that end with the distance: they may begin in the header, never outside. */
    return sirix_load_u64le(page + 8) +
           (len == 0 ? 0 : sirix_load_u64le(at + len - 8) >> (64 - 8 * len));
}

/*
 * All children of a checked inner page. A distance that is longer than it need be or leads out of all
 * segments is SIRIX_CORRUPT.
 */
enum sirix_status sirix_inner_children(const uint8_t *page, uint64_t address,
                                       uint64_t out_children[SIRIX_INNER_CHILDREN],
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Size and bytes of an inner page; at least one child is not 0. */
size_t sirix_inner_size(const uint64_t children[SIRIX_INNER_CHILDREN]);
void sirix_inner_encode(const uint64_t children[SIRIX_INNER_CHILDREN], uint32_t level,
                        uint64_t index, uint8_t *place);

/* --- Leaves and deltas: writing -------------------------------------------------------------- */

/* The rows of one leaf; records[slot] counts only where the bit of begins is set. */
struct sirix_leaf_rows {
    uint64_t begins; /* Bit s: a row begins at slot s. */
    bool carries_in; /* Slot 0 is the second key of the leaf before's last row. */
    struct sirix_bytes records[SIRIX_LEAF_KEYS];
};

/* Size and bytes of a full leaf with at least one row; no two rows overlap. */
size_t sirix_leaf_size(const struct sirix_leaf_rows *rows);
void sirix_leaf_encode(const struct sirix_leaf_rows *rows, uint64_t index, uint8_t *place);

/* Size and bytes of a delta against the full leaf at base: the slots in changed, as rows have them. */
size_t sirix_delta_size(const struct sirix_leaf_rows *rows, uint64_t changed);
void sirix_delta_encode(const struct sirix_leaf_rows *rows, uint64_t changed, uint64_t base,
                        uint8_t *place);

/* --- Leaves and deltas: reading -------------------------------------------------------------- */

/*
 * A leaf as readers see it: a full leaf, or a delta laid over its base. Rows of the full leaf are
 * found by walking, as far as asked for; what the walk passed is remembered. Caller's storage; it
 * holds slices of the pages it was made from and is as valid as they are.
 */
struct sirix_leaf_view {
    bool valid;
    bool carries_in;
    uint16_t row_count;    /* Of the full leaf. */
    uint16_t rows_seen;    /* Of them, walked. */
    uint32_t walked_slot;  /* Rows of the full leaf at slots below are known; 64: all. */
    uint32_t walk_offset;  /* Where in base the next row of the full leaf begins. */
    uint64_t index;        /* Leaf index. */
    uint64_t address;      /* 0: the leaf is absent. */
    uint64_t base_address; /* Of the full leaf: address itself unless that is a delta. */
    const uint8_t *base;   /* The full leaf's page. */
    uint32_t base_end;     /* Its length. */
    const uint8_t *delta;  /* The delta's page, or NULL. */
    uint32_t delta_end;
    uint64_t changed;                  /* Slots that the delta speaks of. */
    uint64_t begins;                   /* Slots at which a row is known to begin. */
    uint32_t offsets[SIRIX_LEAF_KEYS]; /* Of these rows' length bytes, in delta or in base. */
};

/* The view of a leaf that is not there. */
static inline void sirix_leaf_view_init_absent(struct sirix_leaf_view *view, uint64_t index)
{
    view->valid = true;
    view->carries_in = false;
    view->walked_slot = SIRIX_LEAF_KEYS;
    view->index = index;
    view->address = 0;
    view->base_address = 0;
    view->base = NULL;
    view->delta = NULL;
    view->changed = 0;
    view->begins = 0;
}

/*
 * Starts a view of the page at address with the bytes from there on. When it is a delta, base is NULL
 * afterwards and sirix_leaf_view_set_base() must follow with the bytes at base_address. On failure
 * the view is not valid.
 */
enum sirix_status sirix_leaf_view_init(struct sirix_leaf_view *view, uint64_t index,
                                       uint64_t address, struct sirix_bytes bytes,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_leaf_view_set_base(struct sirix_leaf_view *view, struct sirix_bytes bytes,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Walks on until every row that begins at or below slot is known (64: all rows). On failure the view
 * is no longer valid.
 */
enum sirix_status sirix_leaf_view_walk(struct sirix_leaf_view *view, uint32_t slot,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The record of a row that is known to begin at slot. */
static inline struct sirix_bytes sirix_leaf_view_record(const struct sirix_leaf_view *view,
                                                        uint32_t slot)
{
    const uint8_t *page = (view->changed >> slot & 1) != 0 ? view->delta : view->base;
    const uint8_t *at = page + view->offsets[slot];

    assert(page != NULL);
    if (*at != 0xff) {
        return (struct sirix_bytes){.data = at + 1, .len = *at};
    }
    return (struct sirix_bytes){.data = at + 5, .len = sirix_load_u32le(at + 1)};
}

/* The row that begins at slot; data is NULL when none does. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_leaf_view_at(struct sirix_leaf_view *view,
                                                                    uint32_t slot,
                                                                    struct sirix_bytes *out_record,
                                                                    struct sirix_error *err)
{
    if (view->walked_slot <= slot && (view->changed >> slot & 1) == 0) {
        enum sirix_status status = sirix_leaf_view_walk(view, slot, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out_record = (view->begins >> slot & 1) != 0 ? sirix_leaf_view_record(view, slot)
                                                  : (struct sirix_bytes){0};
    return SIRIX_OK;
}

/* The first slot >= slot at which a row begins; SIRIX_LEAF_KEYS when none does. */
enum sirix_status sirix_leaf_view_next(struct sirix_leaf_view *view, uint32_t slot,
                                       uint32_t *out_slot,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
