/* What users of other stores met: long strings, deep nesting, large objects and arrays, reordering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <inttypes.h>

#include "base/arena.h"
#include "store/document/apply.h"
#include "store/document/patch.h"
#include "unit/document_diff/support.h"
#include "json/patch.h"

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fixture_open(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_close(*state);
    free(*state);
    return 0;
}

static void put(struct fixture *f, const char *text)
{
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);

    (void)edit_update(edit, 1, text);
    (void)fixture_commit(f, edit, &view);
}

static char *patch_text(struct fixture *f, const struct sirix_view *before,
                        const struct sirix_view *after, uint64_t *out_count)
{
    const struct sirix_patch_options options = {
        .old_view = before, .new_view = after, .reader = f->reader, .max_ops = SIRIX_PATCH_OPS_MAX};
    struct sirix_patch_writer *writer = NULL;
    struct sirix_buf out;
    bool done = false;

    sirix_buf_init(&out, SIZE_MAX);
    assert_int_equal(sirix_patch_writer_new(&options, &writer, NULL), SIRIX_OK);
    *out_count = sirix_patch_writer_count(writer);
    while (!done) {
        assert_int_equal(sirix_patch_writer_step(writer, 100000, &out, &done, NULL), SIRIX_OK);
    }
    sirix_patch_writer_free(writer);
    assert_int_equal(sirix_buf_append_u8(&out, 0, NULL), SIRIX_OK);
    return (char *)out.data;
}

/*
 * From each of two revisions to the other: the written patch, applied to the text, and the native
 * diff, applied to a branch, give the text exactly, member order aside.
 */
static void assert_both_ways(struct fixture *f, const struct sirix_view *a,
                             const struct sirix_view *b)
{
    static unsigned branches;

    for (int way = 0; way < 2; way++) {
        const struct sirix_view *before = way == 0 ? a : b;
        const struct sirix_view *after = way == 0 ? b : a;
        const struct sirix_diff_options options = {
            .old_view = before, .new_view = after, .reader = f->reader};
        const struct sirix_edit_commit commit = {.author = bytes_of("tester")};
        char *texts[3] = {text_of_view(f, before, 0), text_of_view(f, after, 0), NULL};
        struct sirix_json_tree trees[3];
        struct sirix_apply_counts result;
        struct sirix_branch_info info;
        struct sirix_published published;
        struct sirix_diff *diff = NULL;
        struct sirix_edit *edit = NULL;
        struct sirix_arena arena;
        struct sirix_view head;
        char name[32];
        uint64_t count = 0;
        bool changed = false;

        texts[2] = patch_text(f, before, after, &count);
        sirix_arena_init(&arena, SIZE_MAX);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(sirix_json_tree_init(&trees[i], &arena, NULL), SIRIX_OK);
            assert_int_equal(sirix_json_tree_parse(&trees[i], bytes_of(texts[i]), NULL, NULL, NULL),
                             SIRIX_OK);
        }
        assert_int_equal(sirix_json_patch_apply(&trees[0], &trees[2], trees[2].root, NULL, NULL),
                         SIRIX_OK);
        assert_true(
            sirix_json_same_text(&trees[0], trees[0].root, &trees[1], trees[1].root, false));

        (void)snprintf(name, sizeof(name), "way-%u", branches++);
        assert_int_equal(sirix_branch_create(before, bytes_of(name), 0, &info, NULL), SIRIX_OK);
        sirix_reader_yield(f->reader);
        const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = bytes_of(name)};
        assert_int_equal(sirix_view_open(f->resource, f->reader, &spec, &head, NULL), SIRIX_OK);
        assert_int_equal(sirix_edit_new(&head, f->reader, &edit, NULL), SIRIX_OK);
        assert_int_equal(sirix_diff_new(&options, &diff, NULL), SIRIX_OK);
        assert_int_equal(sirix_apply(diff, edit, NULL, &result, NULL), SIRIX_OK);
        assert_int_equal(sirix_edit_commit(edit, &commit, &published, &changed, NULL), SIRIX_OK);
        sirix_diff_free(diff);
        sirix_edit_free(edit);
        sirix_view_close(&head);
        sirix_reader_yield(f->reader);
        assert_int_equal(sirix_view_open(f->resource, f->reader, &spec, &head, NULL), SIRIX_OK);
        free(texts[0]);
        texts[0] = text_of_view(f, &head, 0);
        assert_int_equal(sirix_json_tree_parse(&trees[0], bytes_of(texts[0]), NULL, NULL, NULL),
                         SIRIX_OK);
        assert_true(
            sirix_json_same_text(&trees[0], trees[0].root, &trees[1], trees[1].root, false));
        sirix_view_close(&head);
        sirix_arena_deinit(&arena);
        for (size_t i = 0; i < 3; i++) {
            free(texts[i]);
        }
    }
}

/* Every character below U+0020, at 100 bytes, past the bound of inline texts, and at 1 MB. */
static void strings_of_control_characters_are_diffed_exactly(void **state)
{
    static const size_t lengths[] = {20, 800, 1000 * 1000};
    struct fixture *f = *state;

    import_text(f, "{\"s\":\"\",\"t\":0}");
    for (size_t i = 0; i < 3; i++) {
        struct sirix_view before;
        struct sirix_view after;
        struct sirix_buf text;

        sirix_buf_init(&text, SIZE_MAX);
        assert_int_equal(sirix_buf_append_str(&text, "{\"t\":0,\"s\":\"", NULL), SIRIX_OK);
        for (size_t k = 0; k < lengths[i]; k++) {
            assert_int_equal(sirix_buf_printf(&text, NULL, "\\u%04x", (unsigned)(k * 11 % 0x20)),
                             SIRIX_OK);
        }
        assert_int_equal(sirix_buf_append(&text, "\"}", 3, NULL), SIRIX_OK);
        fixture_head(f, &before);
        put(f, (const char *)text.data);
        fixture_head(f, &after);
        assert_both_ways(f, &before, &after);
        sirix_buf_deinit(&text);
        sirix_view_close(&before);
        sirix_view_close(&after);
    }
}

static void deep_nesting_is_diffed_and_patched(void **state)
{
    static const size_t depths[] = {13, 900};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct sirix_view before;
        struct sirix_view after;
        struct sirix_view view;
        struct sirix_edit *edit = NULL;
        struct sirix_buf text;
        uint64_t key = 1;
        uint64_t count = 0;
        char *patch = NULL;

        sirix_buf_init(&text, SIZE_MAX);
        assert_int_equal(sirix_buf_append_fill(&text, '[', depths[i], NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_fill(&text, ']', depths[i], NULL), SIRIX_OK);
        fixture_open(&f);
        import_bytes(&f, sirix_buf_view(&text), 100);
        fixture_head(&f, &before);
        edit = fixture_edit(&f, &view);
        for (size_t level = 1; level < depths[i]; level++) {
            assert_int_equal(sirix_edit_child_at(edit, key, 0, &key, NULL), SIRIX_OK);
        }
        (void)edit_insert(edit, key, SIRIX_PLACE_FIRST_CHILD, 0, NULL, "{\"deep\":1}");
        (void)fixture_commit(&f, edit, &view);
        fixture_head(&f, &after);
        patch = patch_text(&f, &before, &after, &count);
        assert_int_equal(count, 1);
        assert_true(strlen(patch) > 2 * depths[i]);
        free(patch);
        assert_both_ways(&f, &before, &after);
        sirix_buf_deinit(&text);
        sirix_view_close(&before);
        sirix_view_close(&after);
        fixture_close(&f);
    }
}

/* One leaf three levels down in an object of many members: one change. */
static void one_change_in_a_large_object_is_one_update(void **state)
{
    struct fixture *f = *state;
    struct sirix_view view;
    struct sirix_buf text;
    struct sirix_edit *edit = NULL;

    sirix_buf_init(&text, SIZE_MAX);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(sirix_buf_printf(&text, NULL, "%s\"member%d\":{\"a\":{\"b\":%d}}",
                                          i == 0 ? "{" : ",", i, i),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&text, "}", NULL), SIRIX_OK);
    import_bytes(f, sirix_buf_view(&text), 100000);
    sirix_buf_deinit(&text);
    uint64_t key = key_at(f, "/member12345/a/b");
    edit = fixture_edit(f, &view);
    (void)edit_update(edit, key, "-1");
    (void)fixture_commit(f, edit, &view);

    assert_diff(f, 2, 3, "update /member12345/a/b 12345 -> -1\n");
}

static void arrays_in_another_order_are_patched_exactly(void **state)
{
    static const struct {
        const char *before;
        const char *after;
    } cases[] = {
        {"[1,2,3]", "[3,1,4,2]"},
        {"[[1],[2],[3]]", "[[3],[1],[2]]"},
        {"{\"a\":[1,2],\"b\":{\"c\":[]}}", "{\"b\":{\"c\":[[]]},\"a\":[2,1]}"},
        {"[1,1,1,2]", "[1,2,1,1]"},
        {"[]", "{}"},
        {"{\"a\":{\"b\":{\"c\":{\"d\":1}}}}", "{\"a\":{\"b\":{\"c\":{\"d\":1.0}}}}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_view before;
        struct sirix_view after;

        fixture_open(&f);
        import_text(&f, cases[i].before);
        fixture_head(&f, &before);
        put(&f, cases[i].after);
        fixture_head(&f, &after);
        assert_both_ways(&f, &before, &after);
        sirix_view_close(&before);
        sirix_view_close(&after);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strings_of_control_characters_are_diffed_exactly, set_up,
                                        tear_down),
        cmocka_unit_test(deep_nesting_is_diffed_and_patched),
        cmocka_unit_test_setup_teardown(one_change_in_a_large_object_is_one_update, set_up,
                                        tear_down),
        cmocka_unit_test(arrays_in_another_order_are_patched_exactly),
    };
    return cmocka_run_group_tests_name("document_diff_cases", tests, NULL, NULL);
}
