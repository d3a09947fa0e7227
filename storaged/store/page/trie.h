/*
 * The persistent radix trie over node keys: one root a revision, copy-on-write.
 *
 *     leaf    64 consecutive keys: leaf index = key >> 6
 *     inner   16 children: level 1 pages cover 16 leaves, level n pages 16^n
 *     trie    root address and height; height 0: the root is the leaf of index 0 (or root is 0: an
 *             empty trie); height n: the root is an inner page of level n, mostly of 70 to 90 bytes
 *
 * A row is a record under one key, or under two consecutive ones (a fused field): byte 0 of the record
 * tells (node.h), so widths given here must agree with it. A missing key means deleted or never given.
 * Keys go up to SIRIX_KEY_MAX. Formats: docs/format.md, encode and decode: page.h.
 */
#ifndef SIRIX_STORE_PAGE_TRIE_H
#define SIRIX_STORE_PAGE_TRIE_H

#include "store/page/node.h"
#include "store/page/page.h"
#include "store/page/writer.h"
#include "store/segment/segment.h"

struct sirix_trie {
    uint64_t root;
    uint32_t height;
};

/* A row as stored. record is a slice of the reader (or of the edit, until it changes). */
struct sirix_row {
    uint64_t key;   /* First key of the row. */
    uint32_t width; /* Keys that it covers: 1 or 2. */
    struct sirix_bytes record;
};

/* --- Reading --------------------------------------------------------------------------------- */

/*
 * A cursor remembers the path and the decoded leaf of its last look-up, so that neighbours are cheap.
 * It notices by itself that its reader yielded. Caller's storage; no memory of its own.
 */
struct sirix_trie_cursor {
    struct sirix_reader *reader;
    struct sirix_trie trie;
    uint64_t generation; /* Of the reader, when the slices below were taken. */
    const uint8_t *path[SIRIX_TRIE_HEIGHT_MAX + 1]; /* Checked inner pages by level, or NULL. */
    uint64_t path_index[SIRIX_TRIE_HEIGHT_MAX + 1];
    uint64_t path_address[SIRIX_TRIE_HEIGHT_MAX + 1];
    struct sirix_leaf_view leaf;
};

void sirix_trie_cursor_init(struct sirix_trie_cursor *cursor, struct sirix_reader *reader,
                            struct sirix_trie trie);

/*
 * The row that covers key (key itself or, for a fused row, the key before it). SIRIX_NOT_FOUND when
 * no row does, without a sentence of its own.
 */
enum sirix_status sirix_trie_get(struct sirix_trie_cursor *cursor, uint64_t key,
                                 struct sirix_row *out_row,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* The first row whose key is >= key; SIRIX_NOT_FOUND past the last. For scans in key order. */
enum sirix_status sirix_trie_next(struct sirix_trie_cursor *cursor, uint64_t key,
                                  struct sirix_row *out_row,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Address of the leaf (or delta) page that covers key, 0 when absent: equal addresses, equal rows. A
 * fused row that straddles two leaves belongs to the first one.
 */
enum sirix_status sirix_trie_leaf_address(struct sirix_trie_cursor *cursor, uint64_t key,
                                          uint64_t *out_address,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Comparison of two tries of one resource, in key order, skipping everything that they share. Each
 * step gives one key whose row differs: only in a (b.record.data NULL), only in b, or other bytes.
 * Both readers may be the same. The compare survives a yield of its readers: it keeps keys, not
 * slices. Start with _init, call _next until it returns SIRIX_NOT_FOUND.
 */
struct sirix_trie_compare {
    struct sirix_trie_cursor a;
    struct sirix_trie_cursor b;
    uint64_t next_key;
    bool done;
    /* The places that it went through last, one a level from 1: addresses, so no yield ends them. */
    struct sirix_trie_compare_place {
        bool valid;
        uint64_t index;
        uint64_t a;
        uint64_t b;
        uint64_t a_children[SIRIX_INNER_CHILDREN];
        uint64_t b_children[SIRIX_INNER_CHILDREN];
    } places[SIRIX_TRIE_HEIGHT_MAX];
};
void sirix_trie_compare_init(struct sirix_trie_compare *compare, struct sirix_reader *reader_a,
                             struct sirix_trie a, struct sirix_reader *reader_b,
                             struct sirix_trie b);
enum sirix_status sirix_trie_compare_next(struct sirix_trie_compare *compare,
                                          struct sirix_row *out_a, struct sirix_row *out_b,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Changing -------------------------------------------------------------------------------- */

/*
 * A set of changes on top of a trie, in memory. Reads see the changes. The rows of touched leaves are
 * heap copies, so an edit survives yields of its reader.
 */
struct sirix_trie_edit;

enum sirix_status sirix_trie_edit_new(struct sirix_reader *reader, struct sirix_trie base,
                                      struct sirix_trie_edit **out_edit,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_trie_edit_free(struct sirix_trie_edit *edit);

/* As sirix_trie_get(), seeing the changes. The record is valid until the next change or yield. */
enum sirix_status sirix_trie_edit_get(struct sirix_trie_edit *edit, uint64_t key,
                                      struct sirix_row *out_row,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Sets the row that begins at key. A row of other width at the same key is replaced; a fused row
 * may straddle two leaves (only bulk input makes such pairs, but an update keeps them). Overlapping
 * another row is our mistake (assert): a fused row is made narrow before a row is put at its second
 * key, and a row at the second key is removed before the first becomes fused. record may be a slice
 * of this edit. A key past SIRIX_KEY_MAX is SIRIX_EXHAUSTED. On failure nothing was changed.
 */
enum sirix_status sirix_trie_edit_put(struct sirix_trie_edit *edit, uint64_t key, uint32_t width,
                                      struct sirix_bytes record,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Removes all rows that begin in [first, last]; whole leaves and pages inside go without a read, the
 * leaves at the edges are read. After a failure a part of the range may be gone: free the edit.
 */
enum sirix_status sirix_trie_edit_remove(struct sirix_trie_edit *edit, uint64_t first,
                                         uint64_t last, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Puts a page built elsewhere into an empty place: level 0 a leaf, level n an inner page; index is
 * the page's position among pages of its level. A place that is not empty is our mistake (assert).
 */
enum sirix_status sirix_trie_edit_graft(struct sirix_trie_edit *edit, uint32_t level,
                                        uint64_t index, uint64_t address,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Bytes that _write() would about need (full leaves, so mostly more); and whether there may be anything
 * to write: changes that cancel each other out are seen by _write() alone, which then gives the base.
 */
size_t sirix_trie_edit_size(const struct sirix_trie_edit *edit);
bool sirix_trie_edit_dirty(const struct sirix_trie_edit *edit);

/*
 * Writes changed leaves (a cumulative delta where it pays: at most SIRIX_DELTA_ROWS_MAX rows and at
 * most half of the base leaf's bytes) and the paths to them; leaves whose rows are as before are not
 * written. Gives the new trie; an emptied one has root 0. Height only grows as needed and never
 * falls while keys above remain. The edit stays readable as it was and can be written again.
 */
enum sirix_status sirix_trie_edit_write(struct sirix_trie_edit *edit,
                                        struct sirix_page_writer *writer,
                                        struct sirix_trie *out_trie,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Bulk building: rows of a fresh, leaf-aligned key range, given in any order inside the pending
 * leaves. A leaf is written once every key below it has been settled: `sirix_trie_bulk_settle(key)`
 * promises that all rows with smaller keys have been given, except those announced by
 * sirix_trie_bulk_hold() (open containers) and not yet put. Inner pages are written as soon as their
 * leaves are; memory is about 2 x open depth leaves. Gives grafts for sirix_trie_edit_graft(): pages
 * whose whole key range lies inside the range that was settled. A key that was held gets a row of
 * width 1. After a failure the build is only good to free.
 */
struct sirix_trie_bulk;

enum sirix_status sirix_trie_bulk_new(struct sirix_page_writer *writer, uint64_t first_key,
                                      struct sirix_trie_bulk **out_bulk,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_trie_bulk_free(struct sirix_trie_bulk *bulk);
enum sirix_status sirix_trie_bulk_hold(struct sirix_trie_bulk *bulk, uint64_t key,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_trie_bulk_put(struct sirix_trie_bulk *bulk, uint64_t key, uint32_t width,
                                      struct sirix_bytes record,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* The same for a node, which is encoded where the row will stand. */
enum sirix_status sirix_trie_bulk_put_node(struct sirix_trie_bulk *bulk,
                                           const struct sirix_node *node,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_trie_bulk_settle(struct sirix_trie_bulk *bulk, uint64_t key,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_trie_graft {
    uint32_t level;
    uint64_t index;
    uint64_t address;
};
/*
 * Ends the build; every held key has been put. *out_grafts is malloc'ed, the caller's (NULL when there
 * are none), in key order.
 */
enum sirix_status sirix_trie_bulk_finish(struct sirix_trie_bulk *bulk,
                                         struct sirix_trie_graft **out_grafts, size_t *out_count,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
