/*
 * The inside of an edit; only trie_edit.c, trie_shadow.c and trie_write.c include this. An edit shadows the trie: the
 * pages on the way to a change are copied into memory, everything else stays an address.
 */
#ifndef SIRIX_STORE_PAGE_TRIE_SHADOW_H
#define SIRIX_STORE_PAGE_TRIE_SHADOW_H

#include "store/page/trie.h"
#include "store/page/trie_cursor.h"

/* What is at a place: the page as it is, or its shadow (an inner one or a leaf, by the level). */
struct sirix_shadow_slot {
    uint64_t address; /* Of the page that is, or was before it got a shadow; 0: none. */
    void *shadow;     /* NULL: unchanged. */
};

struct sirix_shadow_inner {
    uint64_t index;
    uint64_t before[SIRIX_INNER_CHILDREN]; /* What the page said; all 0 where there was none. */
    struct sirix_shadow_slot children[SIRIX_INNER_CHILDREN];
};

struct sirix_shadow_row {
    uint8_t *data;
    uint32_t len;
    uint32_t cap; /* 0: data lies in the leaf's copy of its page. */
};

struct sirix_shadow_leaf {
    uint64_t index;
    uint8_t *copy; /* The pages that the leaf had, for rows that did not change. */
    bool carries_in;
    uint64_t begins;
    size_t row_bytes;
    struct sirix_shadow_row rows[SIRIX_LEAF_KEYS];
};

struct sirix_trie_edit {
    struct sirix_reader *reader;
    struct sirix_trie base;
    struct sirix_shadow_slot root;
    uint32_t height;
    struct sirix_trie_cursor clean; /* Of the pages without a shadow; forgets when places change. */
    struct sirix_shadow_leaf *last; /* The leaf of the last look-up, when it has a shadow. */
    bool dirty;
    size_t row_bytes; /* Of all shadow leaves. */
    size_t leaf_count;
    size_t inner_count;
};

/* The width of a record; 0 when there is none (data NULL). */
static inline uint32_t sirix_shadow_width(struct sirix_bytes record)
{
    return record.data == NULL ? 0 : sirix_record_width(*(const uint8_t *)record.data);
}

/* Frees a shadow of a level (NULL is allowed) and everything below it. */
void sirix_shadow_free(struct sirix_trie_edit *edit, void *shadow, uint32_t level);

/*
 * Finds a leaf: *out_leaf is its shadow, or NULL and the clean cursor looks at it (perhaps as an
 * absent one).
 */
enum sirix_status sirix_shadow_locate(struct sirix_trie_edit *edit, uint64_t index,
                                      struct sirix_shadow_leaf **out_leaf,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The record that begins at a slot of a leaf (data NULL: none), and whether the row before the leaf's
 * first slot may reach into it.
 */
enum sirix_status sirix_shadow_peek(struct sirix_trie_edit *edit, uint64_t index, uint32_t slot,
                                    struct sirix_bytes *out_record, bool *out_may_carry,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Puts levels on top until the trie has a place for page number index of a level. */
enum sirix_status sirix_shadow_grow(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Gives the inner pages above a page of a level their shadows and finds the slot of that page. */
enum sirix_status sirix_shadow_path(struct sirix_trie_edit *edit, uint32_t level, uint64_t index,
                                    struct sirix_shadow_slot **out_slot,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Gives a leaf its shadow, an empty one where there is no leaf. */
enum sirix_status sirix_shadow_leaf(struct sirix_trie_edit *edit, uint64_t index,
                                    struct sirix_shadow_leaf **out_leaf,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sets the carry flag of a leaf, if there is such a leaf. Cannot fail where it has its shadow. */
enum sirix_status sirix_shadow_set_carry(struct sirix_trie_edit *edit, uint64_t index,
                                         bool carries_in, struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
