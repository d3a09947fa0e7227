/*
 * Updates of the store: what a query has collected becomes one edit a touched branch, and all of them one
 * commit.
 *
 * Order      elements are inserted beside the nodes that stood at their positions; then values are
 *            replaced, fields and elements removed, fields renamed, fields inserted: what goes makes room
 *            for names that come. What lies in a value that was replaced or removed is left alone.
 * Atomic     all revisions of a commit are published together or none; resources of one database only.
 */
#ifndef SIRIX_QUERY_NODE_UPDATE_H
#define SIRIX_QUERY_NODE_UPDATE_H

#include "query/node/store.h"
#include "query/run/update.h"

enum { SIRIX_STORE_TOUCHED_MAX = 64 };

struct sirix_store_edits {
    struct sirix_query_touched touched[SIRIX_STORE_TOUCHED_MAX];
    struct sirix_store_view *views[SIRIX_STORE_TOUCHED_MAX];
    struct sirix_edit *edits[SIRIX_STORE_TOUCHED_MAX];
    size_t count;
    struct sirix_query_store *store;
};
void sirix_store_edits_deinit(struct sirix_store_edits *edits);

/*
 * Finds the branches that the updates touch. SIRIX_PRECONDITION: a revision that is no branch's newest;
 * SIRIX_INVALID: of two databases, or two branches of one resource.
 */
enum sirix_status sirix_store_edits_plan(struct sirix_store_edits *edits,
                                         struct sirix_query_store *store,
                                         const struct sirix_updates *updates,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Makes the edits and publishes them; see sirix_query_commit(). */
enum sirix_status sirix_store_edits_commit(struct sirix_store_edits *edits, struct sirix_work *work,
                                           const struct sirix_updates *updates,
                                           const struct sirix_edit_commit *commit,
                                           sirix_query_check_fn check, void *check_context,
                                           struct sirix_query_committed *committed,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
