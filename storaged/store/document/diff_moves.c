/* A heaviest rising subsequence by a tree of prefix maxima, and a radix sort. */
#include "store/document/diff_moves.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { BYTE_VALUES = 256, KEY_BYTES = 8 };

/* --- Sorting ------------------------------------------------------------------------------------ */

/* One stable pass over one byte; false when all keys have the same one and nothing was moved. */
static bool sort_pass(const struct sirix_key_pair *from, struct sirix_key_pair *to, size_t count,
                      unsigned shift)
{
    size_t places[BYTE_VALUES] = {0};
    size_t place = 0;

    for (size_t i = 0; i < count; i++) {
        places[from[i].key >> shift & 0xff] += 1;
    }
    if (places[from[0].key >> shift & 0xff] == count) {
        return false;
    }
    for (size_t i = 0; i < BYTE_VALUES; i++) {
        size_t here = places[i];

        places[i] = place;
        place += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t *at = &places[from[i].key >> shift & 0xff];

        to[*at] = from[i];
        *at += 1;
    }
    return true;
}

void sirix_key_pairs_sort(struct sirix_key_pair *pairs, struct sirix_key_pair *scratch,
                          size_t count)
{
    struct sirix_key_pair *from = pairs;
    struct sirix_key_pair *to = scratch;

    for (unsigned byte = 0; byte < KEY_BYTES && count > 1; byte++) {
        if (sort_pass(from, to, count, byte * 8)) {
            struct sirix_key_pair *sorted = to;

            to = from;
            from = sorted;
        }
    }
    if (from != pairs) {
        memcpy(pairs, from, count * sizeof(*pairs));
    }
}

size_t sirix_key_pairs_find(const struct sirix_key_pair *pairs, size_t count, uint64_t key)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pairs[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && pairs[low].key == key ? low : SIZE_MAX;
}

/* --- The subsequence ---------------------------------------------------------------------------- */

/* The best subsequence that ends with an item. */
struct chain {
    uint64_t weight;
    uint64_t fixed;
    uint64_t tie;
    size_t last;   /* The item, counted from 1; 0: none. */
    size_t before; /* The item before it, likewise. */
};

static bool chain_less(const struct chain *a, const struct chain *b)
{
    if (a->weight != b->weight) {
        return a->weight < b->weight;
    }
    if (a->fixed != b->fixed) {
        return a->fixed < b->fixed;
    }
    return a->tie < b->tie;
}

/* The best chain that ends at one of the places 1..place; best[] is a tree of prefix maxima. */
static struct chain best_up_to(const struct chain *chains, const size_t *best, size_t place)
{
    struct chain found = {0};

    for (; place > 0; place &= place - 1) {
        if (best[place] != 0 && chain_less(&found, &chains[best[place]])) {
            found = chains[best[place]];
        }
    }
    return found;
}

static void note_best(const struct chain *chains, size_t *best, size_t count, size_t place,
                      size_t item)
{
    for (; place <= count; place += place & (~place + 1)) {
        if (best[place] == 0 || chain_less(&chains[best[place]], &chains[item])) {
            best[place] = item;
        }
    }
}

/* places[i]: rank of item i's position, from 1. */
static void find_chains(struct sirix_move_item *items, size_t count, const size_t *places,
                        struct chain *chains, size_t *best)
{
    struct chain heaviest = {0};

    for (size_t i = 0; i < count; i++) {
        struct chain before = best_up_to(chains, best, places[i] - 1);

        chains[i + 1] = (struct chain){
            .weight = before.weight + items[i].weight,
            .fixed = before.fixed + items[i].fixed,
            .tie = before.tie + items[i].tie,
            .last = i + 1,
            .before = before.last,
        };
        note_best(chains, best, count, places[i], i + 1);
        items[i].kept = false;
    }
    heaviest = best_up_to(chains, best, count);
    for (size_t at = heaviest.last; at != 0; at = chains[at].before) {
        items[at - 1].kept = true;
    }
}

enum sirix_status sirix_moves_find(struct sirix_move_item *items, size_t count,
                                   struct sirix_error *err)
{
    struct sirix_key_pair *pairs = NULL;
    struct chain *chains = NULL;
    size_t *places = NULL;
    size_t *best = NULL;
    size_t bytes = 0;
    enum sirix_status status = SIRIX_NO_MEMORY;

    if (sirix_mul_size(count + 1, sizeof(*chains), &bytes)) { /* The largest of the four. */
        pairs = malloc((count + 1) * 2 * sizeof(*pairs));
        chains = calloc(count + 1, sizeof(*chains));
        places = malloc((count + 1) * sizeof(*places));
        best = calloc(count + 1, sizeof(*best));
    }
    if (pairs == NULL || chains == NULL || places == NULL || best == NULL) {
        (void)sirix_fail(err, SIRIX_NO_MEMORY, "allocate the moves of %zu elements", count);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        pairs[i] = (struct sirix_key_pair){.key = items[i].position, .value = i};
    }
    sirix_key_pairs_sort(pairs, pairs + count, count);
    for (size_t i = 0; i < count; i++) {
        places[pairs[i].value] = i + 1;
    }
    find_chains(items, count, places, chains, best);
    status = SIRIX_OK;

out:
    free(pairs);
    free(chains);
    free(places);
    free(best);
    return status;
}
