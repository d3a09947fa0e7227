/*
 * Pages of child trees and name indexes: decoded form, encoding, and the look-ups inside one page.
 *
 * Both trees are the same B-tree: items in the order of their labels, 64 a leaf, and inner pages of
 * 16 (count, first label, address). In a child tree an item is a child and its order label; in a name
 * index the label is (hash, key), so that the pairs stand in the order of hash, then key.
 *
 * Formats   docs/format.md, "Child trees and name indexes". Every page begins with 4 bytes: type,
 *           size byte, u16 length of the page; one content has one encoding, decode refuses others.
 * Trust     bytes come from a segment whose checksum was right; every bound is checked all the same.
 * Threads   pure functions, but for _load(), which asks the reader.
 */
#ifndef SIRIX_STORE_CHILD_CHILD_PAGE_H
#define SIRIX_STORE_CHILD_CHILD_PAGE_H

#include "store/child/child_tree.h"

enum sirix_child_kind {
    SIRIX_CHILD_KIND_CHILDREN,
    SIRIX_CHILD_KIND_NAMES,
};

enum {
    SIRIX_CHILD_PAGE_HEADER_BYTES = 4,
    SIRIX_CHILD_PAGE_BYTES_MAX = 4096, /* No encoding is longer: 64 x (10 + 20) bytes and a map. */
    SIRIX_CHILD_LEVEL_ANY = 255,
};

struct sirix_child_item {
    uint64_t key;
    struct sirix_label label;
    enum sirix_order order; /* Names: SIRIX_ORDER_EXPLICIT. */
};

struct sirix_child_entry {
    uint64_t count; /* Items below; at least 1. */
    uint64_t address;
    struct sirix_label first; /* Label of the first of them. */
};

/* Level 0 is a leaf. An inner page of level n points to pages of level n - 1. */
struct sirix_child_page {
    uint32_t level;
    uint32_t count; /* Items or entries in use. */
    union {
        struct sirix_child_item items[SIRIX_CHILD_LEAF_MAX];
        struct sirix_child_entry entries[SIRIX_CHILD_INNER_MAX];
    };
};

/* -1, 0 or 1: the order of labels. */
static inline int sirix_label_compare(struct sirix_label a, struct sirix_label b)
{
    if (a.major != b.major) {
        return a.major < b.major ? -1 : 1;
    }
    return (a.minor > b.minor) - (a.minor < b.minor);
}

/* The label that a child of this key has under a default order. Keys are below 2^63. */
static inline struct sirix_label sirix_label_default(uint64_t key, enum sirix_order order)
{
    int64_t major = (int64_t)key;

    return (struct sirix_label){.major = order == SIRIX_ORDER_MIRRORED ? -major : major};
}

/* Items in or below a page. */
uint64_t sirix_child_page_total(const struct sirix_child_page *page);

/* Label of the first item in or below a page of count >= 1. */
struct sirix_label sirix_child_page_first(const struct sirix_child_page *page);

/* Writes the page to `to` (SIRIX_CHILD_PAGE_BYTES_MAX bytes); returns its length. */
size_t sirix_child_page_encode(const struct sirix_child_page *page, enum sirix_child_kind kind,
                               uint8_t *to);

/*
 * Decodes the page that bytes start with (they may go on behind it); address is where they lie, for
 * the error. SIRIX_CORRUPT when they are no page of this kind in its one encoding.
 */
enum sirix_status sirix_child_page_decode(struct sirix_bytes bytes, uint64_t address,
                                          enum sirix_child_kind kind,
                                          struct sirix_child_page *out_page,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * What a sweep over stored pages needs: the length of the page that bytes start with and, for inner
 * pages, the addresses it points to (out_addresses: SIRIX_CHILD_INNER_MAX; out_count 0 for leaves).
 */
enum sirix_status sirix_child_page_links(struct sirix_bytes bytes, uint64_t address,
                                         size_t *out_len, uint64_t *out_addresses,
                                         size_t *out_count,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Fetches and decodes a page; level SIRIX_CHILD_LEVEL_ANY: whichever it has. */
enum sirix_status sirix_child_page_load(struct sirix_reader *reader, enum sirix_child_kind kind,
                                        uint64_t address, uint32_t level,
                                        struct sirix_child_page *out_page,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The page on the way down to item *index of a child tree, decoded only as far as needed. Leaf: sets
 * *out_key, *out_level 0. Inner page: *index becomes the index below page *out_below. SIRIX_NOT_FOUND,
 * without a sentence, when the page has no such item.
 */
enum sirix_status sirix_child_page_step(struct sirix_bytes bytes, uint64_t address, uint64_t *index,
                                        uint32_t *out_level, uint64_t *out_below, uint64_t *out_key,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Position of the last item or entry whose (first) label is <= label; -1 when there is none. */
int sirix_child_page_seek(const struct sirix_child_page *page, struct sirix_label label);

#endif
