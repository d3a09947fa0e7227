/* Child trees: what the reading functions, edits and bulk building promise, against plain arrays. */
#include "unit/child/child_model.h"

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
