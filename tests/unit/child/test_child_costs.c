/* Child trees: flat costs wherever inserts go, and what a failure leaves. */
#include "unit/child/child_model.h"

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

    return cmocka_run_group_tests(tests, NULL, NULL);
}
