/*
 * Which of an array's surviving elements count as moved: those outside a heaviest common subsequence
 * of the old and the new order. Pure functions on positions, and the sort that they and their callers
 * need. O(n log n).
 */
#ifndef SIRIX_STORE_DOCUMENT_DIFF_MOVES_H
#define SIRIX_STORE_DOCUMENT_DIFF_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An element, or a run of elements that stand together in both orders. In the new order. */
struct sirix_move_item {
    uint64_t position; /* In the old order, of the first element; all different. */
    uint64_t weight;   /* Elements. */
    uint64_t fixed;    /* Of equally heavy subsequences the one with more of these is taken, */
    uint64_t tie;      /* and then with more of these: so that both directions choose the same. */
    bool kept;         /* Answer: it belongs to the subsequence. */
};

/* Sets kept of all items. NO_MEMORY: nothing was set. */
enum sirix_status sirix_moves_find(struct sirix_move_item *items, size_t count,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* A number, and what it stands for. */
struct sirix_key_pair {
    uint64_t key;
    uint64_t value;
};

/* Sorts by key, stable; scratch has room for count pairs too. The result is in pairs. */
void sirix_key_pairs_sort(struct sirix_key_pair *pairs, struct sirix_key_pair *scratch,
                          size_t count);

/* Index of the pair with this key among sorted ones; SIZE_MAX: none. */
size_t sirix_key_pairs_find(const struct sirix_key_pair *pairs, size_t count, uint64_t key);

#endif
