/*
 * Which element of one array is which of another. From cheap and sure to rough:
 *
 *   1. what begins and ends both arrays alike
 *   2. equal elements: all of them directly if each value occurs once a side; else the shortest edit
 *      where few edits suffice, stretch by stretch between values that occur once, and in the order
 *      of their occurrence elsewhere
 *   3. equal elements that are left: they moved
 *   4. alike elements (patch_alike.c)
 *   5. what is left between two elements that keep their order: one for one
 */
#include "json/patch_internal.h"

static void pair(struct patch_match *match, size_t a, size_t b)
{
    match->a_to_b[a] = (uint32_t)b;
    match->b_to_a[b] = (uint32_t)a;
    match->match_count++;
}

static bool same(const struct patch_match *match, size_t a, size_t b)
{
    return match->a[a]->mark == match->b[b]->mark;
}

static struct patch_stretch trim(struct patch_match *match)
{
    struct patch_stretch middle = {.a_end = match->a_count, .b_end = match->b_count};

    while (middle.a_start < middle.a_end && middle.b_start < middle.b_end &&
           same(match, middle.a_start, middle.b_start)) {
        pair(match, middle.a_start++, middle.b_start++);
    }
    while (middle.a_start < middle.a_end && middle.b_start < middle.b_end &&
           same(match, middle.a_end - 1, middle.b_end - 1)) {
        pair(match, --middle.a_end, --middle.b_end);
    }
    return middle;
}

/* --- Occurrences ------------------------------------------------------------------------------ */

static struct patch_occurrence *occurrence(struct patch_matcher *matcher,
                                           const struct sirix_json_node *node)
{
    return &matcher->occurrences[node->mark];
}

/* Counts what is not matched yet; true if no value occurs twice on a side. */
static bool count_occurrences(struct patch_matcher *matcher, const struct patch_match *match,
                              const struct patch_stretch *in)
{
    bool all_once = true;

    for (size_t a = in->a_start; a < in->a_end; a++) {
        struct patch_occurrence *one = occurrence(matcher, match->a[a]);

        one->a_first = one->a_count == 0 ? (uint32_t)a : one->a_first;
        one->a_count++;
        all_once = all_once && one->a_count == 1;
    }
    for (size_t b = in->b_start; b < in->b_end; b++) {
        all_once = ++occurrence(matcher, match->b[b])->b_count == 1 && all_once;
    }
    return all_once;
}

static void forget_occurrences(struct patch_matcher *matcher, const struct patch_match *match,
                               const struct patch_stretch *in)
{
    for (size_t a = in->a_start; a < in->a_end; a++) {
        *occurrence(matcher, match->a[a]) = (struct patch_occurrence){0};
    }
    for (size_t b = in->b_start; b < in->b_end; b++) {
        *occurrence(matcher, match->b[b]) = (struct patch_occurrence){0};
    }
}

/*
 * Pairs equal elements that are not matched yet, the first of a value with the first, the second with
 * the second. Serves for a stretch that is hard to align, and for what moved.
 */
static enum sirix_status match_by_rank(struct patch_matcher *matcher, struct patch_match *match,
                                       const struct patch_stretch *in, struct sirix_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(matcher->scratch);
    size_t a_len = in->a_end - in->a_start;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(matcher->scratch, a_len + 1, sizeof(uint32_t), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    /* next[i]: the next position of the same value; chains are made from the back. */
    uint32_t *next = memory;
    for (size_t i = a_len; i > 0; i--) {
        size_t a = in->a_start + i - 1;
        struct patch_occurrence *one = occurrence(matcher, match->a[a]);

        if (match->a_to_b[a] == PATCH_NO_MATCH) {
            next[i - 1] = one->a_count == 0 ? PATCH_NO_MATCH : one->a_first;
            one->a_first = (uint32_t)a;
            one->a_count++;
        }
    }
    for (size_t b = in->b_start; b < in->b_end; b++) {
        struct patch_occurrence *one = occurrence(matcher, match->b[b]);

        if (match->b_to_a[b] == PATCH_NO_MATCH && one->a_count != 0) {
            uint32_t a = one->a_first;

            pair(match, a, b);
            one->a_first = next[a - in->a_start];
            one->a_count--;
        }
    }
    forget_occurrences(matcher, match, in);
    sirix_arena_rewind(matcher->scratch, mark);
    return SIRIX_OK;
}

static void match_all_once(struct patch_matcher *matcher, struct patch_match *match,
                           const struct patch_stretch *in)
{
    for (size_t b = in->b_start; b < in->b_end; b++) {
        const struct patch_occurrence *one = occurrence(matcher, match->b[b]);

        if (one->a_count == 1 && one->b_count == 1) {
            pair(match, one->a_first, b);
        }
    }
}

/* The shortest edit, or by rank where that takes too many edits. */
static enum sirix_status match_stretch(struct patch_matcher *matcher, struct patch_match *match,
                                       const struct patch_stretch *in, struct sirix_error *err)
{
    bool found = false;

    if (in->a_start == in->a_end || in->b_start == in->b_end) {
        return SIRIX_OK;
    }
    enum sirix_status status = patch_shortest_edit(matcher->scratch, match, in, &found, err);
    if (status == SIRIX_OK && !found) {
        status = match_by_rank(matcher, match, in, err);
    }
    return status;
}

/*
 * Matches stretch by stretch between anchors: values that occur once a side, as far as they rise.
 * anchors[b - b_start] is the position in a, or PATCH_NO_MATCH.
 */
static enum sirix_status match_between(struct patch_matcher *matcher, struct patch_match *match,
                                       const struct patch_stretch *in, const uint32_t *anchors,
                                       const bool *chosen, struct sirix_error *err)
{
    struct patch_stretch gap = {.a_start = in->a_start, .b_start = in->b_start};
    enum sirix_status status = SIRIX_OK;

    for (size_t b = in->b_start; b < in->b_end && status == SIRIX_OK; b++) {
        if (chosen[b - in->b_start]) {
            gap.a_end = anchors[b - in->b_start];
            gap.b_end = b;
            status = match_stretch(matcher, match, &gap, err);
            pair(match, gap.a_end, b);
            gap.a_start = gap.a_end + 1;
            gap.b_start = b + 1;
        }
    }
    gap.a_end = in->a_end;
    gap.b_end = in->b_end;
    return status == SIRIX_OK ? match_stretch(matcher, match, &gap, err) : status;
}

static enum sirix_status match_by_anchors(struct patch_matcher *matcher, struct patch_match *match,
                                          const struct patch_stretch *in, struct sirix_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(matcher->scratch);
    size_t len = in->b_end - in->b_start;
    void *anchor_memory = NULL;
    void *chosen_memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(matcher->scratch, len, sizeof(uint32_t), &anchor_memory, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(matcher->scratch, len, sizeof(bool), &chosen_memory, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    uint32_t *anchors = anchor_memory;
    for (size_t i = 0; i < len; i++) {
        const struct patch_occurrence *one = occurrence(matcher, match->b[in->b_start + i]);
        bool is_anchor = one->a_count == 1 && one->b_count == 1;

        anchors[i] = is_anchor ? one->a_first : PATCH_NO_MATCH;
    }
    forget_occurrences(matcher, match, in);
    status = patch_longest_rise(matcher->scratch, anchors, len, chosen_memory, err);
    if (status == SIRIX_OK) {
        status = match_between(matcher, match, in, anchors, chosen_memory, err);
    }
    sirix_arena_rewind(matcher->scratch, mark);
    return status;
}

static enum sirix_status match_equal(struct patch_matcher *matcher, struct patch_match *match,
                                     const struct patch_stretch *middle, struct sirix_error *err)
{
    bool found = false;

    if (count_occurrences(matcher, match, middle)) {
        match_all_once(matcher, match, middle);
        forget_occurrences(matcher, match, middle);
        return SIRIX_OK;
    }
    enum sirix_status status = patch_shortest_edit(matcher->scratch, match, middle, &found, err);
    if (status == SIRIX_OK && !found) {
        status = match_by_anchors(matcher, match, middle, err);
    } else {
        forget_occurrences(matcher, match, middle);
    }
    /* Whatever is equal and left over moved. */
    return status == SIRIX_OK ? match_by_rank(matcher, match, middle, err) : status;
}

/* --- What is left ----------------------------------------------------------------------------- */

/* Pairs the unmatched elements of [a, a_end) and [b, b_end) one for one; they keep their order. */
static void match_gap(struct patch_match *match, size_t a, size_t a_end, size_t b, size_t b_end)
{
    for (;;) {
        while (a < a_end && match->a_to_b[a] != PATCH_NO_MATCH) {
            a++;
        }
        while (b < b_end && match->b_to_a[b] != PATCH_NO_MATCH) {
            b++;
        }
        if (a >= a_end || b >= b_end) {
            return;
        }
        match->keeps[b] = true;
        pair(match, a, b);
    }
}

static void match_gaps(struct patch_match *match)
{
    size_t a = 0;
    size_t b = 0;

    for (size_t at = 0; at < match->b_count; at++) {
        if (match->keeps[at]) {
            match_gap(match, a, match->b_to_a[at], b, at);
            a = match->b_to_a[at] + 1;
            b = at + 1;
        }
    }
    match_gap(match, a, match->a_count, b, match->b_count);
}

static enum sirix_status gather(struct sirix_arena *scratch, const struct sirix_json_node *array,
                                struct sirix_json_node ***out_nodes, uint32_t **out_matches,
                                struct sirix_error *err)
{
    size_t count = sirix_json_count(array);
    void *nodes = NULL;
    void *matches = NULL;
    size_t at = 0;
    enum sirix_status status =
        sirix_arena_calloc(scratch, count, sizeof(struct sirix_json_node *), &nodes, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(scratch, count, sizeof(uint32_t), &matches, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_nodes = nodes;
    *out_matches = matches;
    for (struct sirix_json_node *node = sirix_json_first(array); node != NULL; node = node->next) {
        (*out_nodes)[at] = node;
        (*out_matches)[at++] = PATCH_NO_MATCH;
    }
    return SIRIX_OK;
}

enum sirix_status patch_matcher_init(struct patch_matcher *matcher, struct sirix_arena *scratch,
                                     const struct sirix_hash_key *key, uint32_t mark_count,
                                     struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(scratch, (size_t)mark_count + 1,
                                                  sizeof(struct patch_occurrence), &memory, err);

    *matcher = (struct patch_matcher){.scratch = scratch, .key = key, .occurrences = memory};
    return status;
}

enum sirix_status patch_match_arrays(struct patch_matcher *matcher, const struct sirix_json_node *a,
                                     const struct sirix_json_node *b, struct patch_match *out,
                                     struct sirix_error *err)
{
    struct patch_match match = {.a_count = sirix_json_count(a), .b_count = sirix_json_count(b)};
    void *keeps = NULL;
    enum sirix_status status = gather(matcher->scratch, a, &match.a, &match.a_to_b, err);

    if (status == SIRIX_OK) {
        status = gather(matcher->scratch, b, &match.b, &match.b_to_a, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(matcher->scratch, match.b_count, sizeof(bool), &keeps, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    match.keeps = keeps;
    struct patch_stretch middle = trim(&match);
    status = match_equal(matcher, &match, &middle, err);
    if (status == SIRIX_OK) {
        status = patch_match_alike(matcher, &match, err);
    }
    if (status == SIRIX_OK) {
        status =
            patch_longest_rise(matcher->scratch, match.b_to_a, match.b_count, match.keeps, err);
    }
    if (status == SIRIX_OK) {
        match.sure_count = match.match_count;
        match_gaps(&match);
        *out = match;
    }
    return status;
}
