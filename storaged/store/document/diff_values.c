/*
 * Elements of an array that are gone and new with one value in one place: an array that was put anew
 * is mostly the same elements under other keys.
 *
 * A place is what lies between two elements that stay. In it the gone and the new ones are compared
 * from the front and from the back, each until two differ; so that the cost is that of what is the
 * same, and both directions find the same pairs.
 */
#include "store/document/diff_state.h"

/* The elements of one list that belong to no pair yet, in one place. */
struct place {
    struct sirix_diff_children *children;
    uint64_t stays; /* Elements that stay before it; both lists agree on them. */
    size_t from;
    size_t end;
};

static bool is_staying(const struct sirix_diff_child *child)
{
    return child->fate == SIRIX_DIFF_FATE_KEPT;
}

/* Moves on to the next place of a list, from place->end on; false at the end. */
static bool next_place(struct place *place, uint64_t *kept)
{
    const struct sirix_diff_children *children = place->children;
    size_t at = place->end;

    while (at < children->count && is_staying(&children->items[at])) {
        *kept += 1;
        at += 1;
    }
    if (at == children->count) {
        return false;
    }
    place->from = at;
    place->stays = children->items[at].index - at + *kept; /* Common ones, and kept ones. */
    do {
        at += 1;
    } while (at < children->count && !is_staying(&children->items[at]) &&
             children->items[at].index - at + *kept == place->stays);
    place->end = at;
    return true;
}

/* Passes elements that were moved here or away. */
static void skip_moved(struct place *place)
{
    const struct sirix_diff_child *items = place->children->items;

    while (place->from < place->end && items[place->from].fate != SIRIX_DIFF_FATE_GONE) {
        place->from += 1;
    }
    while (place->from < place->end && items[place->end - 1].fate != SIRIX_DIFF_FATE_GONE) {
        place->end -= 1;
    }
}

/* Pairs the first or the last elements of two places if their values are the same. */
static enum sirix_status pair_ends(struct sirix_diff *diff, struct place *before,
                                   struct place *after, bool front, bool *out_paired,
                                   struct sirix_error *err)
{
    struct sirix_diff_child *gone = NULL;
    struct sirix_diff_child *new_child = NULL;
    enum sirix_status status = SIRIX_OK;

    *out_paired = false;
    skip_moved(before);
    skip_moved(after);
    if (before->from == before->end || after->from == after->end) {
        return SIRIX_OK;
    }
    gone = &before->children->items[front ? before->from : before->end - 1];
    new_child = &after->children->items[front ? after->from : after->end - 1];
    status = sirix_diff_same(diff, &diff->rows_before, gone->key, &diff->rows_after, new_child->key,
                             out_paired, err);
    if (status == SIRIX_OK && *out_paired) {
        gone->partner = (size_t)(new_child - after->children->items);
        new_child->partner = (size_t)(gone - before->children->items);
        gone->fate = SIRIX_DIFF_FATE_KEPT;
        new_child->fate = SIRIX_DIFF_FATE_KEPT;
    }
    return status;
}

static enum sirix_status pair_place(struct sirix_diff *diff, struct place before,
                                    struct place after, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (int front = 1; front >= 0; front--) {
        bool paired = true;

        while (status == SIRIX_OK && paired) {
            status = pair_ends(diff, &before, &after, front == 1, &paired, err);
        }
    }
    return status;
}

enum sirix_status sirix_diff_match_values(struct sirix_diff *diff, struct sirix_error *err)
{
    struct place before = {.children = &diff->container.before};
    struct place after = {.children = &diff->container.after};
    uint64_t kept_before = 0;
    uint64_t kept_after = 0;
    bool more = next_place(&before, &kept_before) && next_place(&after, &kept_after);
    enum sirix_status status = SIRIX_OK;

    while (more && status == SIRIX_OK) {
        if (before.stays == after.stays) {
            status = pair_place(diff, before, after, err);
            more = next_place(&before, &kept_before) && next_place(&after, &kept_after);
        } else if (before.stays < after.stays) {
            more = next_place(&before, &kept_before);
        } else {
            more = next_place(&after, &kept_after);
        }
    }
    return status;
}
