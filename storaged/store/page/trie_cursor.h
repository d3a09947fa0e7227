/*
 * What the files of the trie share about cursors; nobody else includes this. A cursor's path holds, by
 * level, the last inner page that was read there: not one path from the root, but each entry right
 * for its own place as long as the reader has not yielded.
 */
#ifndef SIRIX_STORE_PAGE_TRIE_CURSOR_H
#define SIRIX_STORE_PAGE_TRIE_CURSOR_H

#include "store/page/trie.h"

/* The index, among the pages of a level, of the page that covers a leaf; level 0: the leaf's own. */
static inline uint64_t sirix_trie_index_at(uint64_t leaf_index, uint32_t level)
{
    return leaf_index >> (SIRIX_INNER_BITS * level);
}

/* The slot, in the page of a level >= 1, of the child that covers a leaf. */
static inline uint32_t sirix_trie_slot_at(uint64_t leaf_index, uint32_t level)
{
    return (uint32_t)sirix_trie_index_at(leaf_index, level - 1) & (SIRIX_INNER_CHILDREN - 1);
}

/* Forgets every slice; for a yield, and when pages change places under an edit. */
void sirix_trie_cursor_forget(struct sirix_trie_cursor *cursor);

/* Forgets every slice if the reader has yielded. */
static inline void sirix_trie_cursor_sync(struct sirix_trie_cursor *cursor)
{
    if (cursor->generation != sirix_reader_generation(cursor->reader)) {
        sirix_trie_cursor_forget(cursor);
    }
}

/* The inner page at address, which is page number index of its level (>= 1); remembered in the path. */
enum sirix_status sirix_trie_cursor_page(struct sirix_trie_cursor *cursor, uint32_t level,
                                         uint64_t index, uint64_t address, const uint8_t **out_page,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Points cursor->leaf at a leaf below the page at address of a level (0: the leaf itself). address 0:
 * the leaf is absent. The cursor is in sync.
 */
enum sirix_status sirix_trie_cursor_descend(struct sirix_trie_cursor *cursor, uint32_t level,
                                            uint64_t address, uint64_t leaf_index,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same from the cursor's root. */
enum sirix_status sirix_trie_cursor_leaf(struct sirix_trie_cursor *cursor, uint64_t leaf_index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Reads the leaf or delta at address (not 0), and the delta's base, into view. */
enum sirix_status sirix_trie_read_leaf(struct sirix_reader *reader, struct sirix_leaf_view *view,
                                       uint64_t index, uint64_t address,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
