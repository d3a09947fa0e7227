/*
 * The order of operations by which an array, or the names of an object, become others one step at a
 * time, as RFC 6902 needs it. Pure functions on positions.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATCH_PLAN_H
#define SIRIX_STORE_DOCUMENT_PATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An element of the new array that is new or was moved. */
struct sirix_array_place {
    bool is_move;
    uint64_t index_before; /* Moves: in the old array, from which nothing was removed. */
    uint64_t index_after;  /* In the new array. */
};

/* Where it is when its turn comes (moves), and where it is put (counted without it). */
struct sirix_array_step {
    uint64_t from;
    uint64_t to;
};

/*
 * The steps of all places, one each, to be done in order after the deletes. deletes: old indexes,
 * rising; places: rising index_after. What is in neither keeps its order. O(n log n).
 */
enum sirix_status sirix_array_plan(const uint64_t *deletes, size_t delete_count,
                                   const struct sirix_array_place *places, size_t place_count,
                                   struct sirix_array_step *out_steps,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_rename_step_kind {
    SIRIX_RENAME_MOVE,   /* The member gets its new name. */
    SIRIX_RENAME_REMOVE, /* It goes away, to break a cycle; */
    SIRIX_RENAME_ADD,    /* and comes back under its new name. */
};
struct sirix_rename_step {
    enum sirix_rename_step_kind kind;
    size_t rename;
};

/*
 * The order of renames. blocker[i]: the rename whose old name is the new name of i, SIZE_MAX: none;
 * all different. out_steps has room for count * 3 / 2; *out_count of them are used.
 */
enum sirix_status sirix_rename_plan(const size_t *blocker, size_t count,
                                    struct sirix_rename_step *out_steps, size_t *out_count,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
