/*
 * Elements that changed inside: two containers are alike when at least half of what can be told
 * about the one is told of the other and of no third. What is told are the first scalars within,
 * each with its name. One pass over either array's unmatched elements, no pair is compared.
 */
#include "base/hash.h"
#include "base/map.h"
#include "json/patch_internal.h"

enum {
    FACTS_MAX = 256, /* Scalars of one element that are looked at. */
    VOTES_MAX = 8,   /* Candidates that one element may have. */
};

static const uint64_t ambiguous = UINT64_MAX;

struct facts {
    const struct sirix_json_node *top;
    const struct sirix_json_node *at;
    size_t count;
};

struct vote {
    uint64_t candidate;
    size_t votes;
};

/* The next fact of an element as a hash that is never 0; false at the end. */
static bool next_fact(const struct patch_matcher *matcher, struct facts *facts, uint64_t *out)
{
    while (facts->at != NULL && facts->count < FACTS_MAX) {
        const struct sirix_json_node *node = facts->at;

        facts->at = sirix_json_walk(facts->top, node);
        if (sirix_json_is_container(node) && sirix_json_first(node) != NULL) {
            continue;
        }
        facts->count++;
        *out =
            sirix_mix64(sirix_hash(matcher->key, node->name.data, node->name.len) + node->mark) | 1;
        return true;
    }
    return false;
}

static enum sirix_status note_facts(const struct patch_matcher *matcher, struct sirix_map *owners,
                                    const struct sirix_json_node *node, uint64_t position,
                                    struct sirix_error *err)
{
    struct facts facts = {.top = node, .at = node};
    enum sirix_status status = SIRIX_OK;
    uint64_t fact = 0;

    while (status == SIRIX_OK && next_fact(matcher, &facts, &fact)) {
        uint64_t owner = position;

        if (sirix_map_get(owners, fact, &owner) && owner != position) {
            owner = ambiguous;
        }
        status = sirix_map_put(owners, fact, owner, err);
    }
    return status;
}

static void vote_for(struct vote *votes, size_t *count, uint64_t candidate)
{
    size_t at = 0;

    while (at < *count && votes[at].candidate != candidate) {
        at++;
    }
    if (at == *count && *count < VOTES_MAX) {
        votes[(*count)++] = (struct vote){.candidate = candidate};
    }
    if (at < *count) {
        votes[at].votes++;
    }
}

/* The one that has at least half of the facts that are not shared by several; or ambiguous. */
static uint64_t elect(const struct patch_matcher *matcher, const struct sirix_map *owners,
                      const struct sirix_json_node *node)
{
    struct facts facts = {.top = node, .at = node};
    struct vote votes[VOTES_MAX] = {{0}};
    size_t vote_count = 0;
    size_t telling = 0;
    size_t best = 0;
    uint64_t fact = 0;

    while (next_fact(matcher, &facts, &fact)) {
        uint64_t owner = 0;
        bool is_known = sirix_map_get(owners, fact, &owner);

        if (is_known && owner == ambiguous) {
            continue;
        }
        telling++;
        if (is_known) {
            vote_for(votes, &vote_count, owner);
        }
    }
    for (size_t i = 1; i < vote_count; i++) {
        best = votes[i].votes > votes[best].votes ? i : best;
    }
    return vote_count != 0 && votes[best].votes * 2 >= telling ? votes[best].candidate : ambiguous;
}

enum sirix_status patch_match_alike(struct patch_matcher *matcher, struct patch_match *match,
                                    struct sirix_error *err)
{
    struct sirix_map owners;
    enum sirix_status status = SIRIX_OK;

    sirix_map_init(&owners);
    for (size_t a = 0; a < match->a_count && status == SIRIX_OK; a++) {
        if (match->a_to_b[a] == PATCH_NO_MATCH && sirix_json_is_container(match->a[a])) {
            status = note_facts(matcher, &owners, match->a[a], a, err);
        }
    }
    for (size_t b = 0; b < match->b_count && status == SIRIX_OK && owners.count != 0; b++) {
        if (match->b_to_a[b] != PATCH_NO_MATCH || !sirix_json_is_container(match->b[b])) {
            continue;
        }
        uint64_t a = elect(matcher, &owners, match->b[b]);
        if (a != ambiguous && match->a_to_b[a] == PATCH_NO_MATCH &&
            match->a[a]->kind == match->b[b]->kind) {
            match->a_to_b[a] = (uint32_t)b;
            match->b_to_a[b] = (uint32_t)a;
            match->match_count++;
        }
    }
    sirix_map_deinit(&owners);
    return status;
}
