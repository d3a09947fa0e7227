/* What the files of the diff share. Nothing outside json/patch_*.c includes this. */
#ifndef SIRIX_JSON_PATCH_INTERNAL_H
#define SIRIX_JSON_PATCH_INTERNAL_H

#include "base/arena.h"
#include "json/tree.h"

/*
 * Sets node->mark in both trees, so that two nodes have the same mark exactly when their texts are
 * the same but for the order of members. Marks begin at 1 and are dense.
 */
enum sirix_status patch_mark(struct sirix_arena *scratch, struct sirix_json_tree *a_tree,
                             struct sirix_json_node *a, struct sirix_json_tree *b_tree,
                             struct sirix_json_node *b, uint32_t *out_marks,
                             struct sirix_error *err);

#define PATCH_NO_MATCH UINT32_MAX

/* How the elements of two arrays belong together; arrays in the scratch arena. */
struct patch_match {
    struct sirix_json_node **a; /* The elements. */
    struct sirix_json_node **b;
    size_t a_count;
    size_t b_count;
    uint32_t *a_to_b; /* Positions, or PATCH_NO_MATCH. */
    uint32_t *b_to_a;
    bool *keeps; /* By position in b: matched, and in order with all others that keep. */
    size_t match_count;
    size_t sure_count; /* Of those, equal or alike, not only at the same place. */
};

/* How often a mark occurs in the stretch looked at, and where first; one entry for every mark. */
struct patch_occurrence {
    uint32_t a_count;
    uint32_t b_count;
    uint32_t a_first; /* Head of a chain of positions, or PATCH_NO_MATCH. */
};

struct patch_matcher {
    struct sirix_arena *scratch;
    const struct sirix_hash_key *key;
    struct patch_occurrence *occurrences; /* All zero between calls. */
};

/* A matcher for nodes with marks up to mark_count. */
enum sirix_status patch_matcher_init(struct patch_matcher *matcher, struct sirix_arena *scratch,
                                     const struct sirix_hash_key *key, uint32_t mark_count,
                                     struct sirix_error *err);

/* Matches the elements of two arrays whose nodes are marked. */
enum sirix_status patch_match_arrays(struct patch_matcher *matcher, const struct sirix_json_node *a,
                                     const struct sirix_json_node *b, struct patch_match *out,
                                     struct sirix_error *err);

/* Matches elements that are alike though not the same, wherever they are; part of the above. */
enum sirix_status patch_match_alike(struct patch_matcher *matcher, struct patch_match *match,
                                    struct sirix_error *err);

/* A part of either array: [start, end). */
struct patch_stretch {
    size_t a_start;
    size_t a_end;
    size_t b_start;
    size_t b_end;
};

/*
 * Shortest edit of two sequences of marks, if it needs no more than a fixed number of steps: fills
 * a_to_b and b_to_a of the stretch and sets *out_found. Otherwise
 * nothing is written.
 */
enum sirix_status patch_shortest_edit(struct sirix_arena *scratch, struct patch_match *match,
                                      const struct patch_stretch *in, bool *out_found,
                                      struct sirix_error *err);

/*
 * The longest strictly rising subsequence of values, PATCH_NO_MATCH left out: sets chosen[i] for its
 * members and false for all others.
 */
enum sirix_status patch_longest_rise(struct sirix_arena *scratch, const uint32_t *values,
                                     size_t count, bool *chosen, struct sirix_error *err);

#endif
