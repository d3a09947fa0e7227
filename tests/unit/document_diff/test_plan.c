/* Plans of patches, by doing what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/document/patch_plan.h"

enum { ELEMENTS_MAX = 64 };

static uint64_t random_state = 23;

static uint64_t next_random(uint64_t limit)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(random_state) % limit;
}

struct list {
    uint64_t keys[ELEMENTS_MAX * 2];
    size_t count;
};

static void list_remove(struct list *list, size_t index)
{
    assert_true(index < list->count);
    memmove(list->keys + index, list->keys + index + 1,
            (list->count - index - 1) * sizeof(uint64_t));
    list->count -= 1;
}

static void list_insert(struct list *list, size_t index, uint64_t key)
{
    assert_true(index <= list->count);
    memmove(list->keys + index + 1, list->keys + index, (list->count - index) * sizeof(uint64_t));
    list->keys[index] = key;
    list->count += 1;
}

static size_t list_find(const struct list *list, uint64_t key)
{
    size_t at = 0;

    while (at < list->count && list->keys[at] != key) {
        at += 1;
    }
    return at;
}

/* A list, and another one with some elements gone, some new and some elsewhere. */
struct pair {
    struct list before;
    struct list after;
    uint64_t moved[ELEMENTS_MAX];
    size_t moved_count;
};

static bool is_moved(const struct pair *pair, uint64_t key)
{
    for (size_t i = 0; i < pair->moved_count; i++) {
        if (pair->moved[i] == key) {
            return true;
        }
    }
    return false;
}

static struct pair random_pair(void)
{
    struct pair pair = {.moved_count = 0};
    size_t count = (size_t)next_random(ELEMENTS_MAX / 2);

    for (size_t i = 0; i < count; i++) {
        list_insert(&pair.before, i, i + 1);
    }
    pair.after = pair.before;
    for (uint64_t key = 1; key <= count; key++) {
        uint64_t what = next_random(5);
        size_t at = list_find(&pair.after, key);

        if (what == 0) {
            list_remove(&pair.after, at);
        } else if (what == 1) {
            list_remove(&pair.after, at);
            pair.moved[pair.moved_count++] = key;
        }
    }
    for (size_t i = 0; i < pair.moved_count; i++) {
        list_insert(&pair.after, (size_t)next_random(pair.after.count + 1), pair.moved[i]);
    }
    for (uint64_t key = 1000; next_random(4) != 0 && pair.after.count < ELEMENTS_MAX; key++) {
        list_insert(&pair.after, (size_t)next_random(pair.after.count + 1), key);
    }
    return pair;
}

static void array_steps_lead_from_one_array_to_the_other(void **state)
{
    (void)state;
    for (size_t round = 0; round < 20000; round++) {
        struct pair pair = random_pair();
        struct list now = pair.before;
        uint64_t deletes[ELEMENTS_MAX];
        struct sirix_array_place places[ELEMENTS_MAX];
        struct sirix_array_step steps[ELEMENTS_MAX];
        size_t delete_count = 0;
        size_t place_count = 0;

        for (size_t i = 0; i < pair.before.count; i++) {
            if (list_find(&pair.after, pair.before.keys[i]) == pair.after.count) {
                deletes[delete_count++] = i;
            }
        }
        for (size_t i = 0; i < pair.after.count; i++) {
            uint64_t key = pair.after.keys[i];

            if (key >= 1000 || is_moved(&pair, key)) {
                places[place_count++] = (struct sirix_array_place){
                    .is_move = key < 1000,
                    .index_before = list_find(&pair.before, key),
                    .index_after = i,
                };
            }
        }
        assert_int_equal(sirix_array_plan(deletes, delete_count, places, place_count, steps, NULL),
                         SIRIX_OK);

        for (size_t i = delete_count; i-- > 0;) {
            list_remove(&now, (size_t)deletes[i]);
        }
        for (size_t i = 0; i < place_count; i++) {
            uint64_t key = pair.after.keys[places[i].index_after];

            if (places[i].is_move) {
                assert_int_equal(now.keys[steps[i].from], key);
                list_remove(&now, (size_t)steps[i].from);
            }
            list_insert(&now, (size_t)steps[i].to, key);
        }
        assert_int_equal(now.count, pair.after.count);
        assert_memory_equal(now.keys, pair.after.keys, now.count * sizeof(uint64_t));
    }
}

/* Names are numbers here: member i has name i, and shall have name_after[i]. */
static void rename_steps_never_meet_a_name_that_is_taken(void **state)
{
    (void)state;
    for (size_t round = 0; round < 5000; round++) {
        size_t count = (size_t)next_random(12);
        size_t name_after[12];
        size_t name_now[12];
        size_t blocker[12];
        struct sirix_rename_step steps[24];
        size_t step_count = 0;

        for (size_t i = 0; i < count; i++) {
            name_after[i] = i;
        }
        for (size_t i = count; i > 1; i--) {
            size_t other = (size_t)next_random(i);
            size_t name = name_after[i - 1];

            name_after[i - 1] = name_after[other];
            name_after[other] = name;
        }
        for (size_t i = 0; i < count; i++) {
            if (next_random(3) == 0 || name_after[i] == i) {
                name_after[i] = 100 + i; /* A name that nobody had. */
            }
            blocker[i] = name_after[i] < 100 ? name_after[i] : SIZE_MAX;
            name_now[i] = i;
        }
        assert_int_equal(sirix_rename_plan(blocker, count, steps, &step_count, NULL), SIRIX_OK);
        assert_true(step_count <= count + count / 2);
        for (size_t i = 0; i < step_count; i++) {
            size_t rename = steps[i].rename;

            name_now[rename] = SIZE_MAX;
            for (size_t k = 0; k < count && steps[i].kind != SIRIX_RENAME_REMOVE; k++) {
                assert_true(name_now[k] != name_after[rename]);
            }
            if (steps[i].kind != SIRIX_RENAME_REMOVE) {
                name_now[rename] = name_after[rename];
            }
        }
        assert_memory_equal(name_now, name_after, count * sizeof(size_t));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(array_steps_lead_from_one_array_to_the_other),
        cmocka_unit_test(rename_steps_never_meet_a_name_that_is_taken),
    };
    return cmocka_run_group_tests_name("document_patch_plan", tests, NULL, NULL);
}
