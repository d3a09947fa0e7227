/* Every allocation of diffs, patches and applying fails once: an error, nothing leaked, no crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "store/document/apply.h"
#include "store/document/patch.h"
#include "unit/child/support.h"
#include "unit/document_diff/support.h"

struct pair {
    struct fixture f;
    struct sirix_view before;
    struct sirix_view after;
};

static int set_up(void **state)
{
    struct pair *p = calloc(1, sizeof(*p));
    uint64_t random = 5;

    assert_non_null(p);
    fixture_open(&p->f);
    import_text(&p->f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
    fixture_head(&p->f, &p->before);
    for (int i = 0; i < 6; i++) {
        random_commit(&p->f, &random, 12);
    }
    fixture_head(&p->f, &p->after);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *p = *state;

    test_allocs_until_failure = -1;
    sirix_view_close(&p->before);
    sirix_view_close(&p->after);
    fixture_close(&p->f);
    free(p);
    return 0;
}

static enum sirix_status run_diff(struct pair *p)
{
    const struct sirix_diff_options options = {
        .old_view = &p->before, .new_view = &p->after, .reader = p->f.reader};
    struct sirix_diff *diff = NULL;
    struct sirix_change change;
    struct sirix_buf out;
    bool cut = false;
    enum sirix_status status = sirix_diff_new(&options, &diff, NULL);

    sirix_buf_init(&out, SIZE_MAX);
    while (status == SIRIX_OK) {
        status = sirix_diff_next(diff, &change, NULL);
        if (status == SIRIX_OK) {
            status = sirix_diff_path(diff, &change, SIRIX_DIFF_AFTER, SIRIX_PATH_SIRIX, &out, NULL);
        }
        if (status == SIRIX_OK) {
            status = sirix_diff_value(diff, &change, SIRIX_DIFF_AFTER, 1000, &out, &cut, NULL);
        }
    }
    sirix_diff_free(diff);
    sirix_buf_deinit(&out);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

static enum sirix_status run_patch_writer(struct pair *p)
{
    const struct sirix_patch_options options = {
        .old_view = &p->before, .new_view = &p->after, .reader = p->f.reader};
    struct sirix_patch_writer *writer = NULL;
    struct sirix_buf out;
    bool done = false;
    enum sirix_status status = sirix_patch_writer_new(&options, &writer, NULL);

    sirix_buf_init(&out, SIZE_MAX);
    while (status == SIRIX_OK && !done) {
        status = sirix_patch_writer_step(writer, 100, &out, &done, NULL);
    }
    sirix_patch_writer_free(writer);
    sirix_buf_deinit(&out);
    return status;
}

static enum sirix_status run_apply(struct pair *p)
{
    const struct sirix_diff_options options = {
        .old_view = &p->before, .new_view = &p->after, .reader = p->f.reader};
    struct sirix_apply_counts result = {0};
    struct sirix_diff *diff = NULL;
    struct sirix_edit *edit = NULL;
    enum sirix_status status = sirix_diff_new(&options, &diff, NULL);

    if (status == SIRIX_OK) {
        status = sirix_edit_new(&p->before, p->f.reader, &edit, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_apply(diff, edit, NULL, &result, NULL);
    }
    sirix_edit_free(edit);
    sirix_diff_free(diff);
    return status;
}

static enum sirix_status run_patch_reader(struct pair *p)
{
    static const char patch[] = "[{\"op\":\"add\",\"path\":\"/new\",\"value\":[1,{\"a\":2}]},"
                                "{\"op\":\"test\",\"path\":\"/new\",\"value\":[1.0,{\"a\":2}]},"
                                "{\"op\":\"copy\",\"from\":\"/new\",\"path\":\"/n~1ew\"},"
                                "{\"op\":\"move\",\"from\":\"/new/1\",\"path\":\"/new/0\"},"
                                "{\"op\":\"replace\",\"path\":\"/n~1ew/0\",\"value\":\"\\u0000\"},"
                                "{\"op\":\"remove\",\"path\":\"/new\"}]";
    struct sirix_arena arena;
    struct sirix_json_tree tree;
    struct sirix_edit *edit = NULL;
    enum sirix_status status = SIRIX_OK;

    sirix_arena_init(&arena, SIZE_MAX);
    status = sirix_json_tree_init(&tree, &arena, NULL);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&tree, bytes_of(patch), NULL, NULL, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_new(&p->before, p->f.reader, &edit, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_apply(edit, &tree, tree.root, 0, NULL);
    }
    sirix_edit_free(edit);
    sirix_arena_deinit(&arena);
    return status;
}

static void assert_survives(struct pair *p, enum sirix_status (*run)(struct pair *))
{
    enum sirix_status status = SIRIX_NO_MEMORY;
    int failures = 0;

    assert_int_equal(run(p), SIRIX_OK);
    for (int nth = 0; status != SIRIX_OK; nth++) {
        sirix_reader_yield(p->f.reader);
        test_allocs_until_failure = nth;
        status = run(p);
        test_allocs_until_failure = -1;
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
        failures += status == SIRIX_OK ? 0 : 1;
    }
    assert_true(failures > 5);
}

static void diffs_survive_any_failed_allocation(void **state)
{
    assert_survives(*state, run_diff);
}

static void written_patches_survive_any_failed_allocation(void **state)
{
    assert_survives(*state, run_patch_writer);
}

static void applying_survives_any_failed_allocation(void **state)
{
    assert_survives(*state, run_apply);
}

static void read_patches_survive_any_failed_allocation(void **state)
{
    assert_survives(*state, run_patch_reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(diffs_survive_any_failed_allocation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(written_patches_survive_any_failed_allocation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(applying_survives_any_failed_allocation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_patches_survive_any_failed_allocation, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("document_diff_failures", tests, NULL, NULL);
}
