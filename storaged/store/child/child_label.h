/*
 * Order labels: which label an inserted child gets, and new labels where there is no room.
 *
 * Labels are numbers of 128 bits, (major, minor) read as one. At an end a child has its default label
 * if that lies beyond the last one. In the middle it stands 2^40 beside its newer neighbour if that
 * was put there with a label too (a run of inserts goes on), beside the older one if both are of the
 * last inserts (they close in on one place), otherwise half-way.
 *
 * The step of 2^40 leaves room for 2^23 inserts of a run between two neighbouring keys, and for 40
 * halvings between two of its members. (With 2^32, a million random inserts were measured to use up
 * some of these gaps, and thousands of children got new labels at once.)
 */
#ifndef SIRIX_STORE_CHILD_CHILD_LABEL_H
#define SIRIX_STORE_CHILD_CHILD_LABEL_H

#include "store/child/child_nodes.h"

/*
 * Chooses the label of key between two neighbours (NULL: that end of the tree). Fills *out_item and
 * returns true, or returns false when no label lies between them.
 */
bool sirix_label_choose(const struct sirix_child_item *left, const struct sirix_child_item *right,
                        uint64_t key, struct sirix_child_item *out_item);

/* New labels for the children around a place without room. */
struct sirix_relabel {
    uint64_t first; /* Index of the first child that gets a new label. */
    uint64_t count; /* How many do, the new one not counted. */
    bool has_low;   /* Labels lie strictly between low and high, or are open to that end. */
    bool has_high;
    struct sirix_label low;
    struct sirix_label high;
};

/*
 * Finds the smallest run of whole leaves around the leaf of path that has room: this leaf alone,
 * unless it is crowded itself. The wider the run, the more room it must have, so that wide runs are
 * rare. index is the place of the insert.
 */
enum sirix_status sirix_relabel_plan(struct sirix_child_nodes *nodes,
                                     const struct sirix_child_path *path, uint64_t index,
                                     struct sirix_relabel *out_plan,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Label number i (0 .. count) of the plan; the new child has one of them too. */
struct sirix_label sirix_relabel_at(const struct sirix_relabel *plan, uint64_t i);

#endif
