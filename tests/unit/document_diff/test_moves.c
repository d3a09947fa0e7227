/* The heaviest common subsequence, against the plain quadratic way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/document/diff_moves.h"

enum { ITEMS_MAX = 200 };

static uint64_t random_state = 17;

static uint64_t next_random(uint64_t limit)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(random_state) % limit;
}

/* Weight of the best chain, by looking at every pair. */
static uint64_t best_weight(const struct sirix_move_item *items, size_t count)
{
    uint64_t best[ITEMS_MAX] = {0};
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (items[k].position < items[i].position && best[k] > best[i]) {
                best[i] = best[k];
            }
        }
        best[i] += items[i].weight;
        all = best[i] > all ? best[i] : all;
    }
    return all;
}

static uint64_t assert_kept_rises(const struct sirix_move_item *items, size_t count)
{
    uint64_t weight = 0;
    uint64_t last = 0;

    for (size_t i = 0; i < count; i++) {
        if (items[i].kept) {
            assert_true(weight == 0 || items[i].position > last);
            last = items[i].position;
            weight += items[i].weight;
        }
    }
    return weight;
}

static void the_kept_items_are_a_heaviest_rising_subsequence(void **state)
{
    (void)state;
    for (size_t round = 0; round < 3000; round++) {
        struct sirix_move_item items[ITEMS_MAX];
        size_t count = (size_t)next_random(round % 10 == 0 ? ITEMS_MAX : 12);

        for (size_t i = 0; i < count; i++) {
            items[i] = (struct sirix_move_item){
                .position = i * 3, .weight = 1 + next_random(4), .tie = next_random(UINT32_MAX)};
        }
        for (size_t i = count; i > 1; i--) {
            size_t other = (size_t)next_random(i);
            uint64_t position = items[i - 1].position;

            items[i - 1].position = items[other].position;
            items[other].position = position;
        }
        assert_int_equal(sirix_moves_find(items, count, NULL), SIRIX_OK);
        assert_int_equal(assert_kept_rises(items, count), best_weight(items, count));
    }
}

/* The new order as seen from the old one: the inverse permutation keeps the same elements. */
static void both_directions_keep_the_same_items(void **state)
{
    (void)state;
    for (size_t round = 0; round < 2000; round++) {
        struct sirix_move_item forward[ITEMS_MAX];
        struct sirix_move_item backward[ITEMS_MAX];
        size_t count = 1 + (size_t)next_random(30);

        for (size_t i = 0; i < count; i++) {
            forward[i] = (struct sirix_move_item){
                .position = i, .weight = 1, .tie = next_random(UINT32_MAX)};
        }
        for (size_t i = count; i > 1; i--) {
            size_t other = (size_t)next_random(i);
            struct sirix_move_item item = forward[i - 1];

            forward[i - 1] = forward[other];
            forward[other] = item;
        }
        for (size_t i = 0; i < count; i++) {
            backward[forward[i].position] = forward[i];
            backward[forward[i].position].position = i;
        }
        assert_int_equal(sirix_moves_find(forward, count, NULL), SIRIX_OK);
        assert_int_equal(sirix_moves_find(backward, count, NULL), SIRIX_OK);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(backward[forward[i].position].kept, forward[i].kept);
        }
    }
}

static void of_equal_weight_fixed_items_are_kept(void **state)
{
    struct sirix_move_item items[] = {
        {.position = 10, .weight = 3, .fixed = 3},
        {.position = 1, .weight = 1, .tie = 99},
        {.position = 2, .weight = 1, .tie = 99},
        {.position = 3, .weight = 1, .tie = 99},
    };

    (void)state;
    assert_int_equal(sirix_moves_find(items, 4, NULL), SIRIX_OK);
    assert_true(items[0].kept);
    assert_false(items[1].kept || items[2].kept || items[3].kept);
}

static void sorting_is_stable_and_finds(void **state)
{
    struct sirix_key_pair pairs[500];
    struct sirix_key_pair scratch[500];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        pairs[i] =
            (struct sirix_key_pair){.key = next_random(100) << (next_random(2) * 40), .value = i};
    }
    sirix_key_pairs_sort(pairs, scratch, 500);
    for (size_t i = 1; i < 500; i++) {
        assert_true(pairs[i - 1].key < pairs[i].key ||
                    (pairs[i - 1].key == pairs[i].key && pairs[i - 1].value < pairs[i].value));
        assert_true(sirix_key_pairs_find(pairs, 500, pairs[i].key) <= i);
    }
    assert_true(sirix_key_pairs_find(pairs, 500, UINT64_MAX) == SIZE_MAX);
    assert_true(sirix_key_pairs_find(pairs, 0, 1) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kept_items_are_a_heaviest_rising_subsequence),
        cmocka_unit_test(both_directions_keep_the_same_items),
        cmocka_unit_test(of_equal_weight_fixed_items_are_kept),
        cmocka_unit_test(sorting_is_stable_and_finds),
    };
    return cmocka_run_group_tests_name("document_diff_moves", tests, NULL, NULL);
}
