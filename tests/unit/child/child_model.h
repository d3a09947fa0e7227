/* Children as a plain array, and a child tree held against it.
 *
 * SIRIX_TEST_OPERATIONS sets how many operations the long tests run (default 100,000). */
#ifndef SIRIX_TESTS_CHILD_MODEL_H
#define SIRIX_TESTS_CHILD_MODEL_H

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

static inline int setup(void **state)
{
    static struct test_child f;

    test_child_open(&f, 1);
    *state = &f;
    return 0;
}

static inline int teardown(void **state)
{
    test_allocs_until_failure = -1;
    test_child_close(*state);
    return 0;
}

static inline size_t long_operations(void)
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

static inline void model_init(struct model *model, size_t max)
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

static inline void model_deinit(struct model *model)
{
    free(model->keys);
    free(model->labels);
}

static inline void model_note_labels(struct model *model, const struct sirix_child_label *labels,
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

static inline void edit_insert(struct sirix_child_edit *edit, struct model *model, size_t index,
                               uint64_t key)
{
    const struct sirix_child_label *labels = NULL;
    size_t count = 0;

    assert_int_equal(sirix_child_edit_insert(edit, index, key, &labels, &count, NULL), SIRIX_OK);
    assert_true(count >= 1);
    assert_int_equal(labels[0].key, key);
    model_note_labels(model, labels, count);
}

static inline void model_insert(struct model *model, struct sirix_child_edit *edit, size_t index)
{
    uint64_t key = model->next_key++;

    edit_insert(edit, model, index, key);
    memmove(model->keys + index + 1, model->keys + index,
            (model->count - index) * sizeof(uint64_t));
    model->keys[index] = key;
    model->count += 1;
}

static inline void model_remove(struct model *model, struct sirix_child_edit *edit, size_t index)
{
    assert_int_equal(sirix_child_edit_remove(edit, index, NULL), SIRIX_OK);
    memmove(model->keys + index, model->keys + index + 1,
            (model->count - index - 1) * sizeof(uint64_t));
    model->count -= 1;
}

/* The labels of children index - 1, index, index + 1 rise. */
static inline void assert_order_around(const struct model *model, size_t index)
{
    for (size_t i = index == 0 ? 1 : index; i < model->count && i <= index + 1; i++) {
        assert_true(sirix_label_compare(model->labels[model->keys[i - 1]],
                                        model->labels[model->keys[i]]) < 0);
    }
}

static inline void assert_edit_equals(struct sirix_child_edit *edit, const struct model *model)
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

static inline void assert_tree_equals(struct test_child *f, uint64_t root,
                                      const struct model *model)
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

static inline struct sirix_child_edit *edit_on(struct test_child *f, uint64_t root)
{
    struct sirix_child_edit *edit = NULL;

    assert_int_equal(sirix_child_edit_new(f->reader, root, &edit, NULL), SIRIX_OK);
    return edit;
}

static inline uint64_t write_and_free(struct test_child *f, struct sirix_child_edit *edit)
{
    struct sirix_page_writer *writer = test_child_writer(f);
    uint64_t root = 99;

    assert_int_equal(sirix_child_edit_write(edit, writer, &root, NULL), SIRIX_OK);
    sirix_child_edit_free(edit);
    (void)test_child_publish(f, writer);
    return root;
}

#endif
