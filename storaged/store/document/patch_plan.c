/*
 * Arrays: the elements that stay never move, so every element that is placed follows the one that it
 * follows in the new array; what is still to be moved stands between. Two trees of sums count them.
 *
 * Names: a rename waits for the one that has its new name. Chains are done from their end; of a cycle
 * one member is taken out first and put back last.
 */
#include "store/document/patch_plan.h"

#include <stdlib.h>

#include "base/checked.h"
#include "store/document/diff_moves.h"

/* --- Sums of prefixes --------------------------------------------------------------------------- */

static void sums_add(uint64_t *sums, size_t count, size_t place, uint64_t change)
{
    for (place += 1; place <= count; place += place & (~place + 1)) {
        sums[place] += change;
    }
}

/* The sum of the places below end. */
static uint64_t sums_below(const uint64_t *sums, size_t end)
{
    uint64_t sum = 0;

    for (; end > 0; end &= end - 1) {
        sum += sums[end];
    }
    return sum;
}

/* --- Arrays ------------------------------------------------------------------------------------- */

/* The moves by old index. */
struct movers {
    size_t count;
    struct sirix_key_pair *by_index; /* Old index to place; then scratch. */
    uint64_t *stays_before;          /* By rank: elements that stay before it in the old array. */
    size_t *rank_of;                 /* By place: its rank among the moves. */
    uint64_t *pending;               /* Sums by rank: 1 while it is not moved yet. */
    uint64_t *placed; /* Sums by gap: elements put between the moves of rank gap - 1 and gap. */
};

static enum sirix_status movers_init(struct movers *movers, const uint64_t *deletes,
                                     size_t delete_count, const struct sirix_array_place *places,
                                     size_t place_count, struct sirix_error *err)
{
    size_t bytes = 0;
    size_t deleted = 0;

    *movers = (struct movers){0};
    if (sirix_mul_size(place_count + 2, 2 * sizeof(*movers->by_index), &bytes)) {
        movers->by_index = malloc(bytes);
        movers->stays_before = malloc(bytes / 4);
        movers->rank_of = malloc(bytes / 4);
        movers->pending = calloc(place_count + 2, sizeof(uint64_t));
        movers->placed = calloc(place_count + 2, sizeof(uint64_t));
    }
    if (movers->by_index == NULL || movers->stays_before == NULL || movers->rank_of == NULL ||
        movers->pending == NULL || movers->placed == NULL) {
        (void)sirix_fail(err, SIRIX_NO_MEMORY, "allocate the plan of %zu moves", place_count);
        return SIRIX_NO_MEMORY;
    }
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].is_move) {
            movers->by_index[movers->count] =
                (struct sirix_key_pair){.key = places[i].index_before, .value = i};
            movers->count += 1;
        }
    }
    sirix_key_pairs_sort(movers->by_index, movers->by_index + movers->count, movers->count);
    for (size_t rank = 0; rank < movers->count; rank++) {
        uint64_t index = movers->by_index[rank].key;

        while (deleted < delete_count && deletes[deleted] < index) {
            deleted += 1;
        }
        movers->stays_before[rank] = index - deleted - rank;
        movers->rank_of[movers->by_index[rank].value] = rank;
        sums_add(movers->pending, movers->count, rank, 1);
    }
    return SIRIX_OK;
}

static void movers_deinit(struct movers *movers)
{
    free(movers->by_index);
    free(movers->stays_before);
    free(movers->rank_of);
    free(movers->pending);
    free(movers->placed);
}

enum sirix_status sirix_array_plan(const uint64_t *deletes, size_t delete_count,
                                   const struct sirix_array_place *places, size_t place_count,
                                   struct sirix_array_step *out_steps, struct sirix_error *err)
{
    struct movers movers;
    size_t gap = 0; /* Moves that stood, in the old array, before the last element that stays. */
    enum sirix_status status =
        movers_init(&movers, deletes, delete_count, places, place_count, err);

    for (size_t i = 0; i < place_count && status == SIRIX_OK; i++) {
        struct sirix_array_step step = {0};
        uint64_t stays = places[i].index_after - i; /* Elements before it that stay. */

        while (gap < movers.count && movers.stays_before[gap] < stays) {
            gap += 1;
        }
        if (places[i].is_move) {
            size_t rank = movers.rank_of[i];

            step.from = movers.stays_before[rank] + sums_below(movers.pending, rank) +
                        sums_below(movers.placed, rank + 1);
            sums_add(movers.pending, movers.count, rank, UINT64_MAX); /* Minus 1. */
        }
        step.to = places[i].index_after + sums_below(movers.pending, gap);
        sums_add(movers.placed, movers.count + 1, gap, 1);
        out_steps[i] = step;
    }
    movers_deinit(&movers);
    return status;
}

/* --- Names -------------------------------------------------------------------------------------- */

enum state { WAITING, ON_WAY, DONE };

/* The way from a rename along its blockers to one that is free or done, or round a cycle. */
static size_t follow(const size_t *blocker, uint8_t *states, size_t start, size_t *way)
{
    size_t count = 0;
    size_t at = start;

    while (at != SIZE_MAX && states[at] == WAITING) {
        states[at] = ON_WAY;
        way[count++] = at;
        at = blocker[at];
    }
    return count;
}

enum sirix_status sirix_rename_plan(const size_t *blocker, size_t count,
                                    struct sirix_rename_step *out_steps, size_t *out_count,
                                    struct sirix_error *err)
{
    uint8_t *states = calloc(count + 1, sizeof(*states));
    size_t *way = malloc((count + 1) * sizeof(*way));
    enum sirix_status status = SIRIX_OK;
    size_t used = 0;

    if (states == NULL || way == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the plan of %zu renames", count);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        size_t way_count = follow(blocker, states, i, way);
        /* Every rename blocks at most one other: a way that ends on itself is one whole cycle. */
        bool is_cycle = way_count > 0 && blocker[way[way_count - 1]] != SIZE_MAX &&
                        states[blocker[way[way_count - 1]]] == ON_WAY;

        if (is_cycle) {
            out_steps[used++] = (struct sirix_rename_step){SIRIX_RENAME_REMOVE, way[0]};
        }
        for (size_t k = way_count; k-- > (is_cycle ? 1U : 0U);) {
            out_steps[used++] = (struct sirix_rename_step){SIRIX_RENAME_MOVE, way[k]};
        }
        if (is_cycle) {
            out_steps[used++] = (struct sirix_rename_step){SIRIX_RENAME_ADD, way[0]};
        }
        for (size_t k = 0; k < way_count; k++) {
            states[way[k]] = DONE;
        }
    }
    *out_count = used;

out:
    free(states);
    free(way);
    return status;
}
