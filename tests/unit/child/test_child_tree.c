/*
 * Child trees: what the reading functions, edits and bulk building promise, against plain arrays.
 *
 * SIRIX_TEST_OPERATIONS sets how many operations the long tests run (default 100,000).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/child/child_page.h"
#include "store/child/child_tree.h"
#include "unit/child/support.h"

enum { OPERATIONS_DEFAULT = 100 * 1000 };

static int setup(void **state)
{
    static struct test_child f;

    test_child_open(&f, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_allocs_until_failure = -1;
    test_child_close(*state);
    return 0;
}

static size_t long_operations(void)
{
    const char *text = getenv("SIRIX_TEST_OPERATIONS");

    return text == NULL ? OPERATIONS_DEFAULT : (size_t)strtoul(text, NULL, 10);
}

/* --- The model: the children in order, and what their records would say ------------------------- */

struct model {
    uint64_t *keys;
    size_t count;
    struct sirix_label *labels; /* By key / key_step. */
    uint64_t next_key;
    uint64_t key_step; /* 1, or more as if each child had a subtree. */
    uint64_t relabelled;
    uint64_t relabelled_most; /* By one insert. */
    uint64_t explicit_labels;
};

static void model_init(struct model *model, size_t max)
{
    *model = (struct model){
        .keys = calloc(max + 1, sizeof(uint64_t)),
        .labels = calloc(max + 2, sizeof(struct sirix_label)),
        .next_key = 1,
        .key_step = 1,
    };
    assert_non_null(model->keys);
    assert_non_null(model->labels);
}

static void model_deinit(struct model *model)
{
    free(model->keys);
    free(model->labels);
}

static void model_note_labels(struct model *model, const struct sirix_child_label *labels,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        model->labels[labels[i].key / model->key_step] =
            labels[i].order == SIRIX_ORDER_EXPLICIT
                ? labels[i].label
                : sirix_label_default(labels[i].key, labels[i].order);
    }
    model->relabelled += count - 1;
    if (count - 1 > model->relabelled_most) {
        model->relabelled_most = count - 1;
    }
    model->explicit_labels += labels[0].order == SIRIX_ORDER_EXPLICIT ? 1 : 0;
}

static void edit_insert(struct sirix_child_edit *edit, struct model *model, size_t index,
                        uint64_t key)
{
    const struct sirix_child_label *labels = NULL;
    size_t count = 0;

    assert_int_equal(sirix_child_edit_insert(edit, index, key, &labels, &count, NULL), SIRIX_OK);
    assert_true(count >= 1);
    assert_int_equal(labels[0].key, key);
    model_note_labels(model, labels, count);
}

static void model_insert(struct model *model, struct sirix_child_edit *edit, size_t index)
{
    uint64_t key = model->next_key++;

    edit_insert(edit, model, index, key);
    memmove(model->keys + index + 1, model->keys + index,
            (model->count - index) * sizeof(uint64_t));
    model->keys[index] = key;
    model->count += 1;
}

static void model_remove(struct model *model, struct sirix_child_edit *edit, size_t index)
{
    assert_int_equal(sirix_child_edit_remove(edit, index, NULL), SIRIX_OK);
    memmove(model->keys + index, model->keys + index + 1,
            (model->count - index - 1) * sizeof(uint64_t));
    model->count -= 1;
}

/* The labels of children index - 1, index, index + 1 rise. */
static void assert_order_around(const struct model *model, size_t index)
{
    for (size_t i = index == 0 ? 1 : index; i < model->count && i <= index + 1; i++) {
        assert_true(sirix_label_compare(model->labels[model->keys[i - 1]],
                                        model->labels[model->keys[i]]) < 0);
    }
}

static void assert_edit_equals(struct sirix_child_edit *edit, const struct model *model)
{
    assert_int_equal(sirix_child_edit_count(edit), model->count);
    for (size_t i = 0; i < model->count; i++) {
        uint64_t key = 0;
        uint64_t index = 0;

        assert_int_equal(sirix_child_edit_at(edit, i, &key, NULL), SIRIX_OK);
        assert_int_equal(key, model->keys[i]);
        assert_int_equal(sirix_child_edit_index(edit, key, model->labels[key], &index, NULL),
                         SIRIX_OK);
        assert_int_equal(index, i);
        assert_order_around(model, i);
    }
}

static void assert_tree_equals(struct test_child *f, uint64_t root, const struct model *model)
{
    struct sirix_child_cursor cursor;
    uint64_t count = 0;
    uint64_t key = 0;

    assert_int_equal(sirix_child_tree_count(f->reader, root, &count, NULL), SIRIX_OK);
    assert_int_equal(count, model->count);
    assert_int_equal(sirix_child_tree_at(f->reader, root, count, &key, NULL), SIRIX_NOT_FOUND);
    sirix_child_cursor_init(&cursor, f->reader, root, 0);
    for (size_t i = 0; i < model->count; i++) {
        uint64_t index = 0;

        assert_int_equal(sirix_child_tree_at(f->reader, root, i, &key, NULL), SIRIX_OK);
        assert_int_equal(key, model->keys[i]);
        assert_int_equal(
            sirix_child_tree_index(f->reader, root, key, model->labels[key], &index, NULL),
            SIRIX_OK);
        assert_int_equal(index, i);
        assert_int_equal(sirix_child_cursor_next(&cursor, &key, NULL), SIRIX_OK);
        assert_int_equal(key, model->keys[i]);
        if (test_random(f, 8) == 0) {
            sirix_reader_yield(f->reader);
        }
    }
    assert_int_equal(sirix_child_cursor_next(&cursor, &key, NULL), SIRIX_NOT_FOUND);
}

static struct sirix_child_edit *edit_on(struct test_child *f, uint64_t root)
{
    struct sirix_child_edit *edit = NULL;

    assert_int_equal(sirix_child_edit_new(f->reader, root, &edit, NULL), SIRIX_OK);
    return edit;
}

static uint64_t write_and_free(struct test_child *f, struct sirix_child_edit *edit)
{
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 99;

    assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
    sirix_child_edit_free(edit);
    (void)test_child_publish(f, writer);
    return root;
}

/* --- Behaviour ---------------------------------------------------------------------------------- */

static void an_empty_tree_has_no_children_and_root_0(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    uint64_t count = 5;
    uint64_t key = 5;
    struct sirix_child_cursor cursor;

    assert_int_equal(sirix_child_edit_count(edit), 0);
    assert_int_equal(sirix_child_edit_at(edit, 0, &key, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(write_and_free(f, edit), 0);

    assert_int_equal(sirix_child_tree_count(f->reader, 0, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 0);
    assert_int_equal(sirix_child_tree_at(f->reader, 0, 0, &key, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(
        sirix_child_tree_index(f->reader, 0, 1, (struct sirix_label){.major = 1}, &count, NULL),
        SIRIX_NOT_FOUND);
    sirix_child_cursor_init(&cursor, f->reader, 0, 0);
    assert_int_equal(sirix_child_cursor_next(&cursor, &key, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(key, 5);
}

static void removing_the_last_child_gives_root_0(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;
    uint64_t root = 0;

    model_init(&model, 200);
    for (size_t i = 0; i < 200; i++) {
        model_insert(&model, edit, i);
    }
    root = write_and_free(f, edit);
    assert_int_not_equal(root, 0);
    edit = edit_on(f, root);
    while (model.count > 0) {
        model_remove(&model, edit, model.count / 2);
    }
    assert_int_equal(write_and_free(f, edit), 0);
    model_deinit(&model);
}

/* Everything at once: random inserts, removes and writes, each compared with the array. */
static void random_changes_agree_with_an_array(void **state)
{
    enum { ROUNDS = 60, OPERATIONS = 400, MOST = ROUNDS * OPERATIONS };
    struct test_child *f = *state;
    uint64_t root = 0;
    struct model model;

    model_init(&model, MOST);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct sirix_child_edit *edit = edit_on(f, root);
        /* Rounds of growth and of shrinking; single operations too. */
        uint64_t insert_of_10 = round % 6 < 3 ? 8 : 3;
        uint64_t operations = round % 5 == 4 ? 1 : test_random(f, OPERATIONS);

        for (uint64_t i = 0; i < operations; i++) {
            size_t index = test_random(f, model.count + 1);

            if (model.count == 0 || test_random(f, 10) < insert_of_10) {
                model_insert(&model, edit, index);
            } else {
                index = index == model.count ? index - 1 : index;
                model_remove(&model, edit, index);
            }
            assert_order_around(&model, index);
            if (test_random(f, 16) == 0) {
                sirix_reader_yield(f->reader);
            }
        }
        assert_edit_equals(edit, &model);
        root = write_and_free(f, edit);
        assert_tree_equals(f, root, &model);
    }
    model_deinit(&model);
}

static void a_removed_child_can_come_back_elsewhere_under_its_key(void **state)
{
    enum { CHILDREN = 1000, MOVES = 3000 };
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;

    model_init(&model, CHILDREN);
    for (size_t i = 0; i < CHILDREN; i++) {
        model_insert(&model, edit, i);
    }
    for (size_t i = 0; i < MOVES; i++) {
        size_t from = test_random(f, CHILDREN);
        size_t to = i % 3 == 0 ? 0 : i % 3 == 1 ? CHILDREN - 1 : test_random(f, CHILDREN);
        uint64_t key = model.keys[from];

        model_remove(&model, edit, from);
        edit_insert(edit, &model, to, key);
        memmove(model.keys + to + 1, model.keys + to, (model.count - to) * sizeof(uint64_t));
        model.keys[to] = key;
        model.count += 1;
        assert_order_around(&model, to);
    }
    assert_edit_equals(edit, &model);
    assert_tree_equals(f, write_and_free(f, edit), &model);
    model_deinit(&model);
}

static void a_child_of_another_label_or_key_is_not_found(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;
    uint64_t index = 7;
    uint64_t root = 0;

    model_init(&model, 500);
    for (size_t i = 0; i < 500; i++) {
        model_insert(&model, edit, i);
    }
    root = write_and_free(f, edit);
    edit = edit_on(f, root);
    const struct {
        uint64_t key;
        struct sirix_label label;
    } cases[] = {
        {5, {.major = 5, .minor = 1}},
        {5, {.major = 6}},
        {501, {.major = 501}},
        {5, {.major = -5}},
        {1, {.major = 0}},
        {500, {.major = 500, .minor = 1}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            sirix_child_tree_index(f->reader, root, cases[i].key, cases[i].label, &index, NULL),
            SIRIX_NOT_FOUND);
        assert_int_equal(sirix_child_edit_index(edit, cases[i].key, cases[i].label, &index, NULL),
                         SIRIX_NOT_FOUND);
    }
    assert_int_equal(index, 7);
    sirix_child_edit_free(edit);
    model_deinit(&model);
}

static void cursors_walk_both_ways_from_anywhere(void **state)
{
    enum { CHILDREN = 1500 };
    struct test_child *f = *state;
    struct sirix_child_bulk *bulk = NULL;
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 0;

    assert_int_equal(sirix_child_bulk_new(writer, &bulk, NULL), SIRIX_OK);
    for (uint64_t i = 0; i < CHILDREN; i++) {
        assert_int_equal(sirix_child_bulk_append(bulk, 10 + 3 * i + i % 2, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_child_bulk_finish(bulk, &root, NULL), SIRIX_OK);
    sirix_child_bulk_free(bulk);
    (void)test_child_publish(f, writer);

    for (uint64_t from = 0; from < CHILDREN; from += 97) {
        struct sirix_child_cursor cursor;
        uint64_t key = 0;

        sirix_child_cursor_init(&cursor, f->reader, root, from);
        for (uint64_t i = from; i < from + 100 && i < CHILDREN; i++) {
            assert_int_equal(sirix_child_cursor_next(&cursor, &key, NULL), SIRIX_OK);
            assert_int_equal(key, 10 + 3 * i + i % 2);
            sirix_reader_yield(f->reader);
        }
        sirix_child_cursor_init(&cursor, f->reader, root, from);
        for (uint64_t i = from + 1; i-- > 0;) {
            assert_int_equal(sirix_child_cursor_prev(&cursor, &key, NULL), SIRIX_OK);
            assert_int_equal(key, 10 + 3 * i + i % 2);
        }
        assert_int_equal(sirix_child_cursor_prev(&cursor, &key, NULL), SIRIX_NOT_FOUND);
        assert_int_equal(sirix_child_cursor_next(&cursor, &key, NULL), SIRIX_NOT_FOUND);
    }
}

static void bulk_builds_the_same_tree_as_appends_at_every_size(void **state)
{
    struct test_child *f = *state;
    static const size_t counts[] = {1, 63, 64, 65, 128, 1023, 1024, 1025, 1088, 1089, 16384, 16385};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct sirix_child_edit *edit = edit_on(f, 0);
        struct sirix_page_writer *writer = test_child_writer(f);
        struct sirix_child_bulk *bulk = NULL;
        struct model model;
        uint64_t bulk_root = 0;
        uint64_t bulk_bytes = 0;
        uint64_t edit_root = 0;
        uint64_t edit_bytes = 0;

        model_init(&model, counts[i]);
        assert_int_equal(sirix_child_bulk_new(writer, &bulk, NULL), SIRIX_OK);
        for (size_t k = 0; k < counts[i]; k++) {
            model_insert(&model, edit, k);
            assert_int_equal(sirix_child_bulk_append(bulk, k + 1, NULL), SIRIX_OK);
        }
        assert_int_equal(sirix_child_bulk_finish(bulk, &bulk_root, NULL), SIRIX_OK);
        sirix_child_bulk_free(bulk);
        bulk_bytes = test_child_publish(f, writer);
        assert_tree_equals(f, bulk_root, &model);

        writer = test_child_writer(f);
        assert_int_equal(sirix_child_edit_write(edit, writer, &edit_root, NULL), SIRIX_OK);
        edit_bytes = test_child_publish(f, writer);
        assert_tree_equals(f, edit_root, &model);
        assert_int_equal(edit_bytes, bulk_bytes); /* Appends leave full pages behind, too. */
        assert_int_equal(model.explicit_labels, 0);
        sirix_child_edit_free(edit);
        model_deinit(&model);
    }
}

static void an_edit_goes_on_after_a_write(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;
    uint64_t root = 0;

    model_init(&model, 3000);
    for (size_t i = 0; i < 1000; i++) {
        struct sirix_page_writer *writer = NULL;

        for (size_t k = 0; k < 3; k++) {
            model_insert(&model, edit, test_random(f, model.count + 1));
        }
        writer = test_child_writer(f);
        assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
        (void)test_child_publish(f, writer);
    }
    assert_tree_equals(f, root, &model);
    sirix_child_edit_free(edit);
    model_deinit(&model);
}

/* --- Flat costs --------------------------------------------------------------------------------- */

enum pattern {
    PREPEND,
    APPEND,
    AFTER_THE_LAST,
    BEFORE_THE_LAST,
    SECOND_FROM_THE_END,
    AT_INDEX_1,
    ZIGZAG,             /* Always between the two last inserts: at the middle. */
    ZIGZAG_OF_SUBTREES, /* The same with large subtrees: the worst for labels. */
    RANDOM,
};

static size_t pattern_index(struct test_child *f, enum pattern pattern, size_t count, size_t begun)
{
    switch (pattern) {
    case PREPEND:
        return 0;
    case APPEND:
        return count;
    case AFTER_THE_LAST:
        return begun / 2 + (count - begun);
    case BEFORE_THE_LAST:
        return begun / 2;
    case SECOND_FROM_THE_END:
        return count - 1;
    case AT_INDEX_1:
        return 1;
    case ZIGZAG:
    case ZIGZAG_OF_SUBTREES:
        return begun / 2 + (count - begun + 1) / 2;
    case RANDOM:
        return test_random(f, count + 1);
    }
    return 0;
}

/* Without the arrays of struct model, whose inserts in the middle would be quadratic. */
static void flat_insert(struct sirix_child_edit *edit, struct model *model, size_t index)
{
    uint64_t count = sirix_child_edit_count(edit);
    uint64_t key = model->next_key;

    model->next_key += model->key_step;
    edit_insert(edit, model, index, key);
    for (uint64_t i = index == 0 ? 1 : index; i <= count && i <= index + 1; i++) {
        uint64_t left = 0;
        uint64_t right = 0;

        assert_int_equal(sirix_child_edit_at(edit, i - 1, &left, NULL), SIRIX_OK);
        assert_int_equal(sirix_child_edit_at(edit, i, &right, NULL), SIRIX_OK);
        assert_true(left == key || right == key);
        assert_true(sirix_label_compare(model->labels[left / model->key_step],
                                        model->labels[right / model->key_step]) < 0);
    }
}

struct flat_cost {
    uint64_t first; /* Bytes an operation in the second and in the last eighth. */
    uint64_t last;
    uint64_t relabelled;
    uint64_t relabelled_most;
};

static struct flat_cost run_flat(struct test_child *f, enum pattern pattern, size_t operations)
{
    enum { BEGUN = 200 };
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct sirix_page_writer *writer = test_child_writer_forgetful(f);
    struct flat_cost cost = {0};
    struct model model;
    uint64_t bytes[9] = {0};

    model_init(&model, operations + BEGUN);
    if (pattern == ZIGZAG_OF_SUBTREES) {
        model.key_step = 10 * 1000;
        model.next_key = model.key_step;
    }
    for (size_t i = 0; i < BEGUN; i++) {
        flat_insert(edit, &model, i);
    }
    for (size_t eighth = 0; eighth < 8; eighth++) {
        for (size_t i = 0; i < operations / 8; i++) {
            uint64_t root = 0;

            flat_insert(edit, &model,
                        pattern_index(f, pattern, sirix_child_edit_count(edit), BEGUN));
            assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
        }
        bytes[eighth + 1] = sirix_page_writer_bytes(writer);
    }
    cost.first = (bytes[2] - bytes[1]) / (operations / 8);
    cost.last = (bytes[8] - bytes[7]) / (operations / 8);
    cost.relabelled = model.relabelled;
    cost.relabelled_most = model.relabelled_most;
    sirix_page_writer_free(writer);
    sirix_child_edit_free(edit);
    model_deinit(&model);
    return cost;
}

static void inserts_stay_flat_in_bytes_wherever_they_go(void **state)
{
    struct test_child *f = *state;
    size_t operations = long_operations();
    const struct {
        const char *name;
        enum pattern pattern;
        uint64_t bytes_max;          /* A page of each level, and no more. */
        uint64_t relabelled_percent; /* Of the inserts. */
    } cases[] = {
        {"prepend", PREPEND, 1000, 0},
        {"append", APPEND, 1000, 0},
        {"after the last insert", AFTER_THE_LAST, 1000, 0},
        {"before the last insert", BEFORE_THE_LAST, 1000, 0},
        {"second from the end", SECOND_FROM_THE_END, 1000, 0},
        {"at index 1", AT_INDEX_1, 1000, 0},
        {"zigzag", ZIGZAG, 1100, 1},
        {"zigzag of subtrees", ZIGZAG_OF_SUBTREES, 1800, 1000},
        {"random", RANDOM, 1700, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flat_cost cost = run_flat(f, cases[i].pattern, operations);

        print_message("%-24s %4u bytes an insert at first, %4u at last; %.4f relabelled, most %u\n",
                      cases[i].name, (unsigned)cost.first, (unsigned)cost.last,
                      (double)cost.relabelled / (double)operations, (unsigned)cost.relabelled_most);
        if (cost.last > cases[i].bytes_max || cost.last > cost.first * 3 / 2 + 100 ||
            cost.relabelled * 100 > cases[i].relabelled_percent * operations) {
            fail_msg("'%s' is not flat", cases[i].name);
        }
    }
}

/* Whole documents: what the keys of the children cost on disk. */
static void runs_of_inserts_leave_full_pages(void **state)
{
    enum { CHILDREN = 64 * 1000 };
    struct test_child *f = *state;
    static const enum pattern patterns[] = {PREPEND, APPEND, AFTER_THE_LAST, BEFORE_THE_LAST};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct sirix_child_edit *edit = edit_on(f, 0);
        struct sirix_page_writer *writer = test_child_writer(f);
        struct model model;
        uint64_t root = 0;

        model_init(&model, CHILDREN);
        for (size_t k = 0; k < CHILDREN; k++) {
            size_t index = k < 2 ? k : pattern_index(f, patterns[i], k, 2);
            flat_insert(edit, &model, index);
        }
        assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
        /* Explicit labels cost two bytes each; half-full pages would cost more. */
        assert_true(sirix_page_writer_bytes(writer) < (uint64_t)CHILDREN * 7 / 2);
        if (patterns[i] == PREPEND || patterns[i] == APPEND) {
            assert_true(sirix_page_writer_bytes(writer) < (uint64_t)CHILDREN * 13 / 10);
        }
        (void)test_child_publish(f, writer);
        sirix_child_edit_free(edit);
        model_deinit(&model);
    }
}

static void an_array_of_uneven_keys_costs_little_more_than_a_byte_a_child(void **state)
{
    enum { CHILDREN = 1000 * 1000 };
    struct test_child *f = *state;
    struct sirix_page_writer *writer = test_child_writer_forgetful(f);
    struct sirix_child_bulk *bulk = NULL;
    uint64_t root = 0;
    uint64_t key = 1;
    double bytes = 0;

    assert_int_equal(sirix_child_bulk_new(writer, &bulk, NULL), SIRIX_OK);
    for (size_t i = 0; i < CHILDREN; i++) {
        key += 1 + test_random(f, 40);
        assert_int_equal(sirix_child_bulk_append(bulk, key, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_child_bulk_finish(bulk, &root, NULL), SIRIX_OK);
    sirix_child_bulk_free(bulk);
    bytes = (double)sirix_page_writer_bytes(writer) / CHILDREN;
    sirix_page_writer_free(writer);
    print_message("%.3f bytes a child\n", bytes);
    assert_true(bytes < 1.5);
}

static void underfull_pages_join_their_neighbours(void **state)
{
    enum { CHILDREN = 64 * 256, LEFT = 256 };
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;
    uint64_t root = 0;
    struct sirix_page_writer *writer = NULL;

    model_init(&model, CHILDREN);
    for (size_t i = 0; i < CHILDREN; i++) {
        model_insert(&model, edit, i);
    }
    while (model.count > LEFT) {
        model_remove(&model, edit, test_random(f, model.count));
    }
    assert_edit_equals(edit, &model);
    writer = test_child_writer(f);
    assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
    /* Without joining there would be 256 leaves of a child each, 16 bytes and an entry of 11 apiece. */
    assert_true(sirix_page_writer_bytes(writer) < 1500);
    (void)test_child_publish(f, writer);
    assert_tree_equals(f, root, &model);
    sirix_child_edit_free(edit);
    model_deinit(&model);
}

/* --- Failure ------------------------------------------------------------------------------------ */

static void a_failed_allocation_leaves_the_edit_as_it_was(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_edit *edit = edit_on(f, 0);
    struct model model;
    uint64_t root = 0;
    unsigned failures = 0;

    model_init(&model, 5000);
    for (size_t i = 0; i < 2000; i++) {
        model_insert(&model, edit, i);
    }
    root = write_and_free(f, edit);

    for (size_t round = 0; round < 1500; round++) {
        struct sirix_child_edit *small = NULL;
        enum sirix_status status = SIRIX_NO_MEMORY;
        bool insert = round % 3 != 2;
        size_t index = round % 100 < 50 ? 700 : test_random(f, model.count);
        uint64_t key = model.next_key;

        for (int nth = 0; small == NULL; nth++) {
            test_allocs_until_failure = nth;
            status = sirix_child_edit_new(f->reader, root, &small, NULL);
            test_allocs_until_failure = -1;
            assert_int_equal(status, small == NULL ? SIRIX_NO_MEMORY : SIRIX_OK);
        }
        status = SIRIX_NO_MEMORY;
        for (int nth = 0; status != SIRIX_OK; nth++) {
            const struct sirix_child_label *labels = NULL;
            size_t count = 0;

            test_allocs_until_failure = nth;
            status = insert ? sirix_child_edit_insert(small, index, key, &labels, &count, NULL)
                            : sirix_child_edit_remove(small, index, NULL);
            test_allocs_until_failure = -1;
            assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
            failures += status == SIRIX_OK ? 0 : 1;
            if (status != SIRIX_OK) {
                assert_int_equal(sirix_child_edit_count(small), model.count);
            } else if (insert) {
                model_note_labels(&model, labels, count);
            }
        }
        if (insert) {
            memmove(model.keys + index + 1, model.keys + index,
                    (model.count - index) * sizeof(uint64_t));
            model.keys[index] = key;
            model.count += 1;
            model.next_key += 1;
        } else {
            memmove(model.keys + index, model.keys + index + 1,
                    (model.count - index - 1) * sizeof(uint64_t));
            model.count -= 1;
        }
        root = write_and_free(f, small);
    }
    assert_true(failures > 1000);
    assert_tree_equals(f, root, &model);
    model_deinit(&model);
}

static void a_failed_write_or_build_is_reported_and_leaks_nothing(void **state)
{
    struct test_child *f = *state;
    unsigned failures = 0;
    enum sirix_status status = SIRIX_NO_MEMORY;

    for (int nth = 0; status != SIRIX_OK; nth++) {
        struct sirix_page_writer *writer = test_child_writer(f);
        struct sirix_child_edit *edit = edit_on(f, 0);
        const struct sirix_child_label *labels = NULL;
        size_t count = 0;
        uint64_t root = 1;

        for (uint64_t i = 0; i < 300; i++) {
            assert_int_equal(sirix_child_edit_insert(edit, i, i + 1, &labels, &count, NULL),
                             SIRIX_OK);
        }
        test_allocs_until_failure = nth;
        status = sirix_child_edit_write(edit, writer, &root, NULL);
        test_allocs_until_failure = -1;
        failures += status == SIRIX_OK ? 0 : 1;
        assert_true(status == SIRIX_OK || (status == SIRIX_NO_MEMORY && root == 1));
        sirix_child_edit_free(edit);
        sirix_page_writer_free(writer);
    }
    status = SIRIX_NO_MEMORY;
    for (int nth = 0; status != SIRIX_OK; nth++) {
        struct sirix_page_writer *writer = test_child_writer(f);
        struct sirix_child_bulk *bulk = NULL;
        uint64_t root = 1;

        test_allocs_until_failure = nth;
        status = sirix_child_bulk_new(writer, &bulk, NULL);
        for (uint64_t i = 0; i < 3000 && status == SIRIX_OK; i++) {
            status = sirix_child_bulk_append(bulk, i + 1, NULL);
        }
        if (status == SIRIX_OK) {
            status = sirix_child_bulk_finish(bulk, &root, NULL);
        }
        test_allocs_until_failure = -1;
        failures += status == SIRIX_OK ? 0 : 1;
        assert_true(status == SIRIX_OK || (status == SIRIX_NO_MEMORY && root == 1));
        sirix_child_bulk_free(bulk);
        sirix_page_writer_free(writer);
    }
    assert_true(failures >= 3);
}

/* Pages that are fine alone but do not fit together are refused, never followed. */
static void pages_that_do_not_fit_each_other_are_corrupt(void **state)
{
    struct test_child *f = *state;
    struct sirix_child_page leaf = {.count = 2};
    struct sirix_child_page inner = {.level = 1, .count = 1};
    uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
    struct sirix_child_edit *edit = NULL;
    uint64_t out = 77;
    uint64_t leaf_address = 0;

    leaf.items[0] = (struct sirix_child_item){.key = 1, .label = {.major = 1}};
    leaf.items[1] = (struct sirix_child_item){.key = 2, .label = {.major = 2}};
    leaf_address = test_child_put_page(
        f, bytes, sirix_child_page_encode(&leaf, SIRIX_CHILD_KIND_CHILDREN, bytes));
    const struct {
        const char *why;
        uint32_t level;
        uint64_t count;
    } cases[] = {
        {"three children are said to be in a leaf of two", 1, 3},
        {"a leaf two levels below", 2, 2},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sirix_child_label *labels = NULL;
        size_t count = 0;
        uint64_t root = 0;
        enum sirix_status status = SIRIX_OK;

        inner.level = cases[i].level;
        inner.entries[0] = (struct sirix_child_entry){
            .count = cases[i].count, .first = {.major = 1}, .address = leaf_address};
        root = test_child_put_page(
            f, bytes, sirix_child_page_encode(&inner, SIRIX_CHILD_KIND_CHILDREN, bytes));
        status = sirix_child_tree_at(f->reader, root, cases[i].count - 1, &out, NULL);
        if (status != SIRIX_CORRUPT || out != 77) {
            fail_msg("'%s': %s", cases[i].why, sirix_status_name(status));
        }
        edit = edit_on(f, root);
        assert_int_equal(sirix_child_edit_insert(edit, 0, 9, &labels, &count, NULL), SIRIX_CORRUPT);
        sirix_child_edit_free(edit);
    }
    assert_int_equal(sirix_child_tree_count(f->reader, leaf_address + 1, &out, NULL),
                     SIRIX_CORRUPT);
    assert_int_equal(sirix_child_edit_new(f->reader, leaf_address + 1, &edit, NULL), SIRIX_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_tree_has_no_children_and_root_0, setup, teardown),
        cmocka_unit_test_setup_teardown(removing_the_last_child_gives_root_0, setup, teardown),
        cmocka_unit_test_setup_teardown(random_changes_agree_with_an_array, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removed_child_can_come_back_elsewhere_under_its_key,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_of_another_label_or_key_is_not_found, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(cursors_walk_both_ways_from_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(bulk_builds_the_same_tree_as_appends_at_every_size, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_edit_goes_on_after_a_write, setup, teardown),
        cmocka_unit_test_setup_teardown(inserts_stay_flat_in_bytes_wherever_they_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(runs_of_inserts_leave_full_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_array_of_uneven_keys_costs_little_more_than_a_byte_a_child, setup, teardown),
        cmocka_unit_test_setup_teardown(underfull_pages_join_their_neighbours, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_allocation_leaves_the_edit_as_it_was, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_or_build_is_reported_and_leaks_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(pages_that_do_not_fit_each_other_are_corrupt, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("child_tree", tests, NULL, NULL);
}
