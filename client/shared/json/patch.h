/*
 * RFC 6902 patches of trees: apply one, or make one from two values.
 *
 * Apply     All operations or none: on failure the tree is as it was. `test` compares by value,
 *           numbers exactly (1.0 equals 1.00); `add` to a member that is there replaces its value in
 *           place; `remove` and `move` of the whole value are refused; unknown members of an
 *           operation are ignored, missing ones refused.
 * Diff      apply(diff(a, b), a) equals b, with every number and string as b writes it. Change is
 *           decided by that text: 1.1 -> 1.10 is a replace. The order of members alone is no
 *           difference, and added members come last. Elements that only changed place are moved,
 *           elements that changed inside are changed inside. Operations: first `replace` of values at
 *           their old places, then, deepest container first, removes from right to left, then moves
 *           and adds from left to right.
 * Cost      Diff is linear in both texts plus O(n log n) for the elements of an array; it never
 *           becomes quadratic, and gives up shortness for that where it must.
 * Errors    SIRIX_INVALID: reason field_missing or field_invalid for a malformed patch, patch_target
 *           for a place that is not there, patch_test for a test that failed; err->pointer is the
 *           operation's path (or from), the sentence names the operation's number, from 0.
 *           SIRIX_EXHAUSTED (size_limit) past the limits, NO_MEMORY.
 */
#ifndef SIRIX_JSON_PATCH_H
#define SIRIX_JSON_PATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "json/tree.h"

enum { SIRIX_JSON_PATCH_MAX_OPS = 100000 }; /* Default of patch_max_ops. */

/* A value of 0 in a field means the default. */
struct sirix_json_patch_options {
    size_t max_ops; /* A longer patch is refused, applied or made; the sentence has the count. */
    unsigned depth_max; /* Of the document while a patch is applied; SIRIX_JSON_DEPTH_MAX. */
};

/*
 * Applies patch (an array of operations, of any tree) to tree. Values are copied out of the patch;
 * their texts stay in the patch's arena, which must live as long as the tree. What copies make may
 * be far more than the patch is: the limit of the tree's arena bounds it. options may be NULL.
 */
enum sirix_status sirix_json_patch_apply(struct sirix_json_tree *tree,
                                         struct sirix_json_tree *patch_tree,
                                         struct sirix_json_node *patch,
                                         const struct sirix_json_patch_options *options,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Makes the patch from a to b as the root of out_patch (a tree of its own, ready by init; its arena
 * may be that of a or b). Texts are borrowed from b; a and b keep their content, but their private
 * marks change. options may be NULL.
 */
enum sirix_status sirix_json_patch_diff(struct sirix_json_tree *a_tree, struct sirix_json_node *a,
                                        struct sirix_json_tree *b_tree, struct sirix_json_node *b,
                                        struct sirix_json_tree *out_patch,
                                        const struct sirix_json_patch_options *options,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
