/* Two old friends: the greedy O(ND) edit of two sequences (Myers 1986), and the longest rise. */
#include <string.h>

#include "json/patch_internal.h"

/* Past this many insertions and deletions another way of matching is taken. */
enum { EDITS_MAX = 512 };

struct edit {
    struct sirix_json_node **a;
    struct sirix_json_node **b;
    int64_t a_count;
    int64_t b_count;
    int32_t *reach[EDITS_MAX + 1]; /* reach[d][k + d]: how far in a on diagonal k; -1: nowhere. */
};

/* How d edits come to diagonal k, before the run of equal elements there. */
struct arrival {
    int64_t x; /* -1: they do not. */
    bool by_insert;
};

static struct arrival arrive(const struct edit *edit, int64_t d, int64_t k)
{
    struct arrival arrival = {.x = d == 0 ? 0 : -1};

    if (d == 0) {
        return arrival;
    }
    /* Row d - 1 holds the diagonals -(d - 1)..(d - 1). */
    const int32_t *before = edit->reach[d - 1] + d - 1;
    if (k - 1 >= -(d - 1) && before[k - 1] >= 0 && before[k - 1] < edit->a_count) {
        arrival.x = (int64_t)before[k - 1] + 1;
    }
    if (k + 1 <= d - 1 && before[k + 1] > arrival.x && before[k + 1] - (k + 1) < edit->b_count) {
        arrival.x = before[k + 1];
        arrival.by_insert = true;
    }
    return arrival;
}

/* One more edit; true when both ends are reached. */
static bool extend(struct edit *edit, int64_t d)
{
    /* cppcheck-suppress negativeIndex ; row[k] is asked for from -d on */
    int32_t *row = edit->reach[d] + d;

    for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = arrive(edit, d, k).x;
        int64_t y = x - k;

        row[k] = -1;
        if (x < 0) {
            continue;
        }
        while (x < edit->a_count && y < edit->b_count && edit->a[x]->mark == edit->b[y]->mark) {
            x++;
            y++;
        }
        row[k] = (int32_t)x;
        if (x == edit->a_count && y == edit->b_count) {
            return true;
        }
    }
    return false;
}

/* Walks back from the ends and notes what stayed. */
static void trace(const struct edit *edit, int64_t d, struct patch_match *match, size_t a_start,
                  size_t b_start)
{
    int64_t x = edit->a_count;
    int64_t k = edit->a_count - edit->b_count;

    for (; d >= 0; d--) {
        struct arrival arrival = arrive(edit, d, k);

        for (; x > arrival.x; x--) {
            size_t a_at = a_start + (size_t)(x - 1);
            size_t b_at = b_start + (size_t)(x - 1 - k);

            match->a_to_b[a_at] = (uint32_t)b_at;
            match->b_to_a[b_at] = (uint32_t)a_at;
            match->match_count++;
        }
        x = arrival.by_insert ? arrival.x : arrival.x - 1;
        k += arrival.by_insert ? 1 : -1;
    }
}

enum sirix_status patch_shortest_edit(struct sirix_arena *scratch, struct patch_match *match,
                                      const struct patch_stretch *in, bool *out_found,
                                      struct sirix_error *err)
{
    struct edit edit = {
        .a = match->a + in->a_start,
        .b = match->b + in->b_start,
        .a_count = (int64_t)(in->a_end - in->a_start),
        .b_count = (int64_t)(in->b_end - in->b_start),
    };
    int64_t apart = edit.a_count - edit.b_count;
    struct sirix_arena_mark mark = sirix_arena_mark(scratch);
    enum sirix_status status = SIRIX_OK;
    bool found = false;

    *out_found = false;
    if (apart > EDITS_MAX || apart < -EDITS_MAX) {
        return SIRIX_OK;
    }
    for (int64_t d = 0; d <= EDITS_MAX && !found && status == SIRIX_OK; d++) {
        void *row = NULL;

        status = sirix_arena_calloc(scratch, (size_t)(2 * d + 1), sizeof(int32_t), &row, err);
        edit.reach[d] = row;
        found = status == SIRIX_OK && extend(&edit, d);
        if (found) {
            trace(&edit, d, match, in->a_start, in->b_start);
        }
    }
    sirix_arena_rewind(scratch, mark);
    *out_found = found;
    return status;
}

/* How many of the len ends are smaller than value; they rise. */
static size_t rises_below(const uint32_t *values, const uint32_t *ends, size_t len, uint32_t value)
{
    size_t low = 0;
    size_t high = len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (values[ends[middle]] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum sirix_status patch_longest_rise(struct sirix_arena *scratch, const uint32_t *values,
                                     size_t count, bool *chosen, struct sirix_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(scratch);
    void *memory = NULL;
    size_t len = 0;
    enum sirix_status status =
        sirix_arena_calloc(scratch, count + 1, 2 * sizeof(uint32_t), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    uint32_t *ends = memory; /* ends[l]: index of the smallest value that ends a rise of l + 1. */
    uint32_t *before = ends + count + 1; /* Index of the one before, in its rise. */
    for (size_t i = 0; i < count; i++) {
        chosen[i] = false;
        if (values[i] == PATCH_NO_MATCH) {
            continue;
        }
        size_t low = rises_below(values, ends, len, values[i]);
        before[i] = low == 0 ? PATCH_NO_MATCH : ends[low - 1];
        ends[low] = (uint32_t)i;
        len = low == len ? len + 1 : len;
    }
    for (uint32_t at = len == 0 ? PATCH_NO_MATCH : ends[len - 1]; at != PATCH_NO_MATCH;
         at = before[at]) {
        chosen[at] = true;
    }
    sirix_arena_rewind(scratch, mark);
    return SIRIX_OK;
}
