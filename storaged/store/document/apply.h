/*
 * Applies the changes between two revisions to another revision of the same resource, through an edit
 * of its branch: the honest selective merge.
 *
 * Promise   applied to the old revision itself the result is the new one: the same value, every number
 *           and string as it writes them, and the members of each object in its order but where the
 *           diff does not carry it: members that only changed their order among each other, and those
 *           put under a new key (diff.h, Names), stand where the old revision has them.
 * Checked   before anything is done to a node: that it is there, under the parent it has in the old
 *           revision, with the value that the old revision has (values by value: 1.1 is 1.10; of a
 *           container only that it is one of that kind) and, for renames, with the old name. A place
 *           is found by its anchor, the left sibling, which must stand under the same parent. A new
 *           name must be free. What is already as the change wants it is no conflict and counted.
 * Conflict  CONFLICT (apply_conflict): the sentence says what was expected and what is there; the
 *           pointer is that of the node in the old revision (inserts: in the new one). The edit can
 *           then only be freed.
 * Keys      an inserted node gets the key it has in the new revision if the target never had it or has
 *           it no more; else a new one, which the map tells. Nodes below an inserted one get new keys,
 *           and so does a value of more than 16 MiB of text itself, which is streamed.
 */
#ifndef SIRIX_STORE_DOCUMENT_APPLY_H
#define SIRIX_STORE_DOCUMENT_APPLY_H

#include "base/map.h"
#include "store/document/diff.h"
#include "store/document/edit.h"

struct sirix_apply_counts {
    uint64_t applied; /* Changes done. */
    uint64_t already; /* Changes whose result was there. */
};

/*
 * Does all changes of diff (fresh from sirix_diff_new(); it is read to its end) in edit. Inserted nodes
 * that got another key are put into keys: key in the new revision to key in the target. keys is ready
 * by sirix_map_init(); may be NULL. Memory: the list of changes, and one inserted value's text.
 */
enum sirix_status sirix_apply(struct sirix_diff *diff, struct sirix_edit *edit,
                              struct sirix_map *keys, struct sirix_apply_counts *out_result,
                              struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
