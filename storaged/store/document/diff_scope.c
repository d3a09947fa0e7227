/*
 * Which changed nodes a diff lists: those whose way up to start is the same in both revisions. Where it
 * is not, some node above was deleted, inserted, replaced or moved to another parent, and the change
 * of that node stands for everything below it.
 */
#include <stdlib.h>

#include "store/document/diff_state.h"

/* Reads a container in both revisions; *out_shared: both have it, as the same kind under one parent. */
static enum sirix_status look_at(struct sirix_diff *diff, uint64_t key, bool *out_shared,
                                 uint64_t *out_parent, struct sirix_error *err)
{
    struct sirix_document_node before;
    struct sirix_document_node after;
    struct sirix_error why = {0};
    enum sirix_status status = sirix_rows_node(&diff->rows_before, key, &before, &why);

    if (status == SIRIX_OK) {
        status = sirix_rows_node(&diff->rows_after, key, &after, &why);
    }
    if (status == SIRIX_NOT_FOUND) {
        *out_shared = false; /* An answer, not a failure. */
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = why;
        }
        return status;
    }
    *out_shared = before.kind == after.kind && sirix_node_is_container(before.kind) &&
                  before.is_member == after.is_member &&
                  (before.parent == after.parent || key == diff->start);
    *out_parent = before.parent;
    return SIRIX_OK;
}

static enum sirix_status push(struct sirix_diff *diff, size_t *count, uint64_t key,
                              struct sirix_error *err)
{
    if (*count == diff->climb_cap) {
        size_t cap = diff->climb_cap == 0 ? 32 : diff->climb_cap * 2;
        uint64_t *climb = realloc(diff->climb, cap * sizeof(*climb));

        if (climb == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the ancestors of a change");
        }
        diff->climb = climb;
        diff->climb_cap = cap;
    }
    diff->climb[*count] = key;
    *count += 1;
    return SIRIX_OK;
}

/*
 * Climbs from a container to one whose scope is known, noting those on the way in climb. *out_known is
 * what the map has of it: 0, not shared, or its depth + 1.
 */
static enum sirix_status climb_to_known(struct sirix_diff *diff, uint64_t key, size_t *out_count,
                                        uint64_t *out_known, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && !sirix_map_get(&diff->scopes, key, out_known)) {
        bool shared = false;
        uint64_t above = 0;

        *out_known = 0;
        if (key == 0) {
            break; /* The document: start was not met. */
        }
        status = look_at(diff, key, &shared, &above, err);
        if (status == SIRIX_OK && (!shared || key == diff->start)) {
            *out_known = shared ? 1 : 0;
            return sirix_map_put(&diff->scopes, key, *out_known, err);
        }
        if (status == SIRIX_OK) {
            status = push(diff, out_count, key, err);
        }
        key = above;
    }
    return status;
}

enum sirix_status sirix_diff_scope_below(struct sirix_diff *diff, uint64_t parent,
                                         struct sirix_diff_scope *out_scope,
                                         struct sirix_error *err)
{
    uint64_t known = 0;
    size_t count = 0;
    enum sirix_status status = climb_to_known(diff, parent, &count, &known, err);

    while (status == SIRIX_OK && count > 0) {
        count -= 1;
        known = known == 0 ? 0 : known + 1;
        status = sirix_map_put(&diff->scopes, diff->climb[count], known, err);
    }
    if (status == SIRIX_OK) {
        out_scope->shared = known != 0;
        out_scope->depth = (uint32_t)known; /* The depth of parent plus 1. */
    }
    return status;
}
