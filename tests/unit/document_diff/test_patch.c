/* RFC 6902 out of diffs, checked by a patcher of trees; and into edits, checked by the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
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

/* The patch between two views as text; free() it. */
static char *patch_text(struct fixture *f, const struct sirix_view *before,
                        const struct sirix_view *after, size_t step_bytes)
{
    const struct sirix_patch_options options = {
        .old_view = before, .new_view = after, .reader = f->reader, .max_ops = 100000};
    struct sirix_patch_writer *writer = NULL;
    struct sirix_error err = {0};
    struct sirix_buf out;
    bool done = false;

    sirix_buf_init(&out, SIZE_MAX);
    if (sirix_patch_writer_new(&options, &writer, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    while (!done) {
        if (sirix_patch_writer_step(writer, step_bytes, &out, &done, &err) != SIRIX_OK) {
            fail_msg("%s", err.text);
        }
        sirix_reader_yield(f->reader);
    }
    sirix_patch_writer_free(writer);
    assert_int_equal(sirix_buf_append_u8(&out, 0, &err), SIRIX_OK);
    return (char *)out.data;
}

/* A patch of the text `from` must give the value of `to`, with its numbers and strings. */
static void assert_patches(const char *from, const char *patch, const char *to)
{
    struct sirix_arena arena;
    struct sirix_json_tree tree;
    struct sirix_json_tree operations;
    struct sirix_json_tree expected;
    struct sirix_error err = {0};

    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_json_tree_init(&tree, &arena, &err), SIRIX_OK);
    assert_int_equal(sirix_json_tree_init(&operations, &arena, &err), SIRIX_OK);
    assert_int_equal(sirix_json_tree_init(&expected, &arena, &err), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, bytes_of(from), NULL, NULL, &err), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&operations, bytes_of(patch), NULL, NULL, &err),
                     SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&expected, bytes_of(to), NULL, NULL, &err), SIRIX_OK);
    if (sirix_json_patch_apply(&tree, &operations, operations.root, NULL, &err) != SIRIX_OK) {
        fail_msg("%s\nfrom %s\npatch %s\nto %s", err.text, from, patch, to);
    }
    if (!sirix_json_same_text(&tree, tree.root, &expected, expected.root, false)) {
        fail_msg("from %s\npatch %s\nto %s", from, patch, to);
    }
    sirix_arena_deinit(&arena);
}

/* Applies a patch to main's head and commits it. */
static enum sirix_status apply_patch(struct fixture *f, const char *patch, struct sirix_error *err)
{
    struct sirix_arena arena;
    struct sirix_json_tree operations;
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);
    enum sirix_status status = SIRIX_OK;

    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_json_tree_init(&operations, &arena, err), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&operations, bytes_of(patch), NULL, NULL, err),
                     SIRIX_OK);
    status = sirix_patch_apply(edit, &operations, operations.root, 0, err);
    if (status == SIRIX_OK) {
        (void)fixture_commit(f, edit, &view);
    } else {
        fixture_drop(edit, &view);
    }
    sirix_arena_deinit(&arena);
    return status;
}

/* --- Out ---------------------------------------------------------------------------------------- */

static void patches_of_random_edits_lead_from_one_revision_to_the_other(void **state)
{
    enum { ROUNDS = 12, REVISIONS = 10 };
    uint64_t rounds = test_rounds(ROUNDS);

    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        struct fixture f;
        struct sirix_view views[REVISIONS];
        char *texts[REVISIONS];
        uint64_t random = round + 100;

        fixture_open(&f);
        import_text(&f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
        for (size_t i = 0; i < REVISIONS; i++) {
            const char *branch = i > 2 && i % 2 == 0 ? "other" : "main";

            if (i == 2) {
                make_branch(&views[1], "other");
            }
            random_commit_on(&f, branch, &random, 1 + random_below(&random, 15));
            branch_head(&f, branch, &views[i]);
            texts[i] = text_of_view(&f, &views[i], 0);
        }
        for (size_t a = 0; a < REVISIONS; a++) {
            for (size_t b = 0; b < REVISIONS; b++) {
                char *patch = patch_text(&f, &views[a], &views[b], 1 + (size_t)(a * 37));

                assert_patches(texts[a], patch, texts[b]);
                free(patch);
            }
        }
        for (size_t i = 0; i < REVISIONS; i++) {
            free(texts[i]);
            sirix_view_close(&views[i]);
        }
        fixture_close(&f);
    }
}

static void operations_are_few_and_in_order(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *patch; /* Applied to the document before. */
        const char *expected;
    } cases[] = {
        {"[{\"op\":\"remove\",\"path\":\"/items/1\"}]",
         "[{\"op\":\"remove\",\"path\":\"/items/1\"}]"},
        {"[{\"op\":\"move\",\"from\":\"/items/3\",\"path\":\"/items/0\"}]",
         "[{\"op\":\"move\",\"from\":\"/items/3\",\"path\":\"/items/0\"}]"},
        {"[{\"op\":\"add\",\"path\":\"/items/0\",\"value\":{\"a\":1.10}}]",
         "[{\"op\":\"add\",\"path\":\"/items/0\",\"value\":{\"a\":1.10}}]"},
        {"[{\"op\":\"replace\",\"path\":\"/a~1b\",\"value\":\"\\u0000\"}]",
         "[{\"op\":\"replace\",\"path\":\"/a~1b\",\"value\":\"\\u0000\"}]"},
        {"[{\"op\":\"add\",\"path\":\"/n\\u0000\",\"value\":[]}]",
         "[{\"op\":\"add\",\"path\":\"/n\\u0000\",\"value\":[]}]"},
        /* Two names change places. */
        {"[{\"op\":\"move\",\"from\":\"/a~1b\",\"path\":\"/t\"},"
         "{\"op\":\"move\",\"from\":\"/c\",\"path\":\"/a~1b\"},"
         "{\"op\":\"move\",\"from\":\"/t\",\"path\":\"/c\"}]",
         "[{\"op\":\"remove\",\"path\":\"/a~1b\"},"
         "{\"op\":\"move\",\"from\":\"/c\",\"path\":\"/a~1b\"},"
         "{\"op\":\"add\",\"path\":\"/c\",\"value\":\"u\"}]"},
        /* A value inside, then its container's name. */
        {"[{\"op\":\"move\",\"from\":\"/items\",\"path\":\"/i\"},"
         "{\"op\":\"replace\",\"path\":\"/i/0\",\"value\":9},{\"op\":\"remove\",\"path\":\"/i/"
         "4\"}]",
         "[{\"op\":\"replace\",\"path\":\"/items/0\",\"value\":9},"
         "{\"op\":\"remove\",\"path\":\"/items/4\"},"
         "{\"op\":\"move\",\"from\":\"/items\",\"path\":\"/i\"}]"},
        {"[]", "[]"},
    };

    (void)f;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture own;
        struct sirix_view before;
        struct sirix_view after;
        struct sirix_error err = {0};
        char *patch = NULL;

        fixture_open(&own);
        import_text(&own, "{\"items\":[1,2,3,4,5],\"a/b\":\"u\",\"c\":{\"d\":[]}}");
        fixture_head(&own, &before);
        if (apply_patch(&own, cases[i].patch, &err) != SIRIX_OK) {
            fail_msg("case %zu: %s", i, err.text);
        }
        fixture_head(&own, &after);
        patch = patch_text(&own, &before, &after, 100);
        assert_string_equal(patch, cases[i].expected);
        free(patch);
        sirix_view_close(&before);
        sirix_view_close(&after);
        fixture_close(&own);
    }
}

/* Two objects of 10 KB swapped, and a field of one changed: two short operations. */
static void large_elements_are_moved_and_not_written_out(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_buf text;
    struct sirix_error err = {0};
    char *patch = NULL;

    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&text, "[", &err), SIRIX_OK);
    for (int element = 0; element < 2; element++) {
        assert_int_equal(sirix_buf_append_str(
                             &text, element == 0 ? "{\"n\":{\"v\":1}" : ",{\"n\":{\"v\":2}", &err),
                         SIRIX_OK);
        for (int i = 0; i < 500; i++) {
            assert_int_equal(
                sirix_buf_printf(&text, &err, ",\"field%d\":\"value %d\"", i, i * 7 + element),
                SIRIX_OK);
        }
        assert_int_equal(sirix_buf_append_str(&text, "}", &err), SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&text, "]", &err), SIRIX_OK);
    assert_true(text.len > 20000);
    import_bytes(f, sirix_buf_view(&text), SIZE_MAX / 2);
    sirix_buf_deinit(&text);
    fixture_head(f, &before);
    assert_int_equal(apply_patch(f,
                                 "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/1\"},"
                                 "{\"op\":\"replace\",\"path\":\"/0/n/v\",\"value\":3}]",
                                 &err),
                     SIRIX_OK);
    fixture_head(f, &after);
    patch = patch_text(f, &before, &after, 1000);
    assert_true(strlen(patch) < 200);
    free(patch);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

static void too_many_operations_are_refused_with_their_number(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_patch_writer *writer = NULL;
    struct sirix_error err = {0};

    import_text(f, "[1,2,3,4,5]");
    fixture_head(f, &before);
    assert_int_equal(apply_patch(f,
                                 "[{\"op\":\"remove\",\"path\":\"/4\"},"
                                 "{\"op\":\"remove\",\"path\":\"/3\"},"
                                 "{\"op\":\"remove\",\"path\":\"/1\"}]",
                                 &err),
                     SIRIX_OK);
    fixture_head(f, &after);
    struct sirix_patch_options options = {
        .old_view = &before, .new_view = &after, .reader = f->reader, .max_ops = 2};
    assert_int_equal(sirix_patch_writer_new(&options, &writer, &err), SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_non_null(strstr(err.text, "3 operations"));
    options.max_ops = 3;
    assert_int_equal(sirix_patch_writer_new(&options, &writer, &err), SIRIX_OK);
    assert_int_equal(sirix_patch_writer_count(writer), 3);
    sirix_patch_writer_free(writer);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

static void a_resource_that_loses_its_value_has_no_patch(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_patch_writer *writer = NULL;
    struct sirix_error err = {0};

    import_text(f, "[1]");
    view_of(f, 1, &before);
    view_of(f, 2, &after);
    const struct sirix_patch_options back = {
        .old_view = &after, .new_view = &before, .reader = f->reader};
    char *patch = patch_text(f, &before, &after, 1000);

    assert_string_equal(patch, "[{\"op\":\"add\",\"path\":\"\",\"value\":[1]}]");
    assert_int_equal(sirix_patch_writer_new(&back, &writer, &err), SIRIX_PRECONDITION);
    free(patch);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

/* --- In ----------------------------------------------------------------------------------------- */

static void patches_do_to_a_revision_what_they_do_to_a_tree(void **state)
{
    static const struct {
        const char *before;
        const char *patch;
        const char *after;        /* NULL: refused, */
        enum sirix_reason reason; /* with this reason, */
        const char *pointer;      /* and this pointer. */
    } cases[] = {
        {"{\"w\":1.1}",
         "[{\"op\":\"test\",\"path\":\"/w\",\"value\":1.1},"
         "{\"op\":\"replace\",\"path\":\"/w\",\"value\":1.2}]",
         "{\"w\":1.2}", 0, NULL},
        {"{\"w\":1.10}", "[{\"op\":\"test\",\"path\":\"/w\",\"value\":11e-1}]", "{\"w\":1.10}", 0,
         NULL},
        {"{\"w\":1}", "[{\"op\":\"test\",\"path\":\"/w\",\"value\":\"1\"}]", NULL,
         SIRIX_REASON_PATCH_TEST, "/w"},
        {"{\"a\":{\"x\":[1,2],\"y\":null}}",
         "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":{\"y\":null,\"x\":[1.0,2]}}}]",
         "{\"a\":{\"x\":[1,2],\"y\":null}}", 0, NULL},
        {"{\"a\":{\"x\":[1,2]}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"x\":[2,1]}}]",
         NULL, SIRIX_REASON_PATCH_TEST, "/a"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":[true,false,null]}]",
         "{\"a\":1,\"b\":[true,false,null]}", 0, NULL},
        {"{\"a\":1,\"b\":2}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":3}]", "{\"a\":3,\"b\":2}",
         0, NULL},
        {"[1,2]",
         "[{\"op\":\"add\",\"path\":\"/1\",\"value\":9},{\"op\":\"add\",\"path\":\"/"
         "-\",\"value\":8}]",
         "[1,9,2,8]", 0, NULL},
        {"[1,2]", "[{\"op\":\"add\",\"path\":\"/3\",\"value\":9}]", NULL, SIRIX_REASON_PATCH_TARGET,
         "/3"},
        {"[1,2]", "[{\"op\":\"add\",\"path\":\"/x\",\"value\":9}]", NULL, SIRIX_REASON_PATCH_TARGET,
         "/x"},
        {"[1,2]", "[{\"op\":\"remove\",\"path\":\"/-\"}]", NULL, SIRIX_REASON_PATCH_TARGET, "/-"},
        {"[1]", "[{\"op\":\"add\",\"path\":\"/0/x\",\"value\":9}]", NULL, SIRIX_REASON_PATCH_TARGET,
         "/0/x"},
        {"[1]", "[{\"op\":\"add\",\"path\":\"\",\"value\":{\"a\":[]}}]", "{\"a\":[]}", 0, NULL},
        {"[1]", "[{\"op\":\"replace\",\"path\":\"\",\"value\":7}]", "7", 0, NULL},
        {"[1]", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, SIRIX_REASON_PATCH_TARGET, ""},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"remove\",\"path\":\"/a/c\"}]", NULL,
         SIRIX_REASON_PATCH_TARGET, "/a/c"},
        {"{\"a\":{\"b\":1},\"c\":{}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c/d\"}]",
         "{\"a\":{},\"c\":{\"d\":1}}", 0, NULL},
        {"{\"a\":{\"b\":1},\"c\":[5,6]}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/c/1\"}]",
         "{\"c\":[5,{\"b\":1},6]}", 0, NULL},
        {"{\"a\":[{\"b\":1}]}", "[{\"op\":\"move\",\"from\":\"/a/0\",\"path\":\"/z\"}]",
         "{\"a\":[],\"z\":{\"b\":1}}", 0, NULL},
        /* The path is looked up when what moves is gone. */
        {"[[1],[2],[3]]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/1/0\"}]", "[[2],[[1],3]]",
         0, NULL},
        {"[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/2\"}]", "[2,3,1]", 0, NULL},
        {"[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/-\"}]", "[2,3,1]", 0, NULL},
        {"[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/3\"}]", NULL,
         SIRIX_REASON_PATCH_TARGET, "/3"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/c\"}]",
         "{\"b\":2,\"c\":1}", 0, NULL},
        {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}", 0, NULL},
        {"{\"a\":{\"b\":{}}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b/c\"}]", NULL,
         SIRIX_REASON_PATCH_TARGET, "/a/b/c"},
        {"{\"a\":{\"b\":{\"c\":1}},\"d\":2}",
         "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/a\"}]", "{\"a\":{\"c\":1},\"d\":2}", 0,
         NULL},
        {"{\"a\":[[7],8]}", "[{\"op\":\"move\",\"from\":\"/a/0/0\",\"path\":\"/a\"}]", "{\"a\":7}",
         0, NULL},
        {"{\"a\":{\"b\":[1]}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"\"}]", "[1]", 0,
         NULL},
        {"{\"a\":{\"b\":[1]}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b/0\"}]",
         "{\"a\":{\"b\":[{\"b\":[1]},1]}}", 0, NULL},
        {"{\"a\":[1]}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]",
         "{\"a\":[1],\"b\":[1]}", 0, NULL},
        {"{\"\":1,\"a/b\":2,\"m~n\":3,\"01\":4}",
         "[{\"op\":\"remove\",\"path\":\"/\"},{\"op\":\"remove\",\"path\":\"/a~1b\"},"
         "{\"op\":\"replace\",\"path\":\"/m~0n\",\"value\":5},{\"op\":\"remove\",\"path\":\"/"
         "01\"}]",
         "{\"m~n\":5}", 0, NULL},
        {"[1,2]", "[{\"op\":\"remove\",\"path\":\"/01\"}]", NULL, SIRIX_REASON_PATCH_TARGET, "/01"},
        {"[1]", "[{\"op\":\"drop\",\"path\":\"/0\"}]", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
        {"[1]", "[{\"op\":\"remove\"}]", NULL, SIRIX_REASON_FIELD_MISSING, NULL},
        {"[1]", "[{\"path\":\"/0\"}]", NULL, SIRIX_REASON_FIELD_MISSING, NULL},
        {"[1]", "[{\"op\":\"add\",\"path\":\"/0\"}]", NULL, SIRIX_REASON_FIELD_MISSING, "/0"},
        {"[1]", "[{\"op\":\"move\",\"path\":\"/0\"}]", NULL, SIRIX_REASON_FIELD_MISSING, NULL},
        {"[1]", "[{\"op\":\"remove\",\"path\":\"0\"}]", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
        {"[1]", "[{\"op\":\"remove\",\"path\":\"/~2\"}]", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
        {"[1]", "[{\"op\":\"remove\",\"path\":0}]", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
        {"[1]", "[3]", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
        {"[1]", "{}", NULL, SIRIX_REASON_FIELD_INVALID, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_error err = {0};
        enum sirix_status status = SIRIX_OK;
        const char *wanted = cases[i].after != NULL ? cases[i].after : cases[i].before;
        char *text = NULL;

        fixture_open(&f);
        import_text(&f, cases[i].before);
        status = apply_patch(&f, cases[i].patch, &err);
        if (status != (cases[i].after != NULL ? SIRIX_OK : SIRIX_INVALID)) {
            fail_msg("%s with %s: %s: %s", cases[i].before, cases[i].patch,
                     sirix_status_name(status), err.text);
        }
        if (status != SIRIX_OK &&
            (err.reason != cases[i].reason ||
             (cases[i].pointer != NULL && strcmp(err.pointer, cases[i].pointer) != 0))) {
            fail_msg("%s with %s: reason %s, pointer %s", cases[i].before, cases[i].patch,
                     sirix_reason_name(err.reason), err.pointer);
        }
        text = text_of_head(&f);
        if (strcmp(text, wanted) != 0) {
            fail_msg("%s with %s: %s", cases[i].before, cases[i].patch, text);
        }
        free(text);
        fixture_close(&f);
    }
}

/* All or none: the number of the operation that failed is told, and nothing was stored. */
static void a_patch_that_fails_late_stores_nothing(void **state)
{
    struct fixture *f = *state;
    struct sirix_error err = {0};

    import_text(f, "{\"a\":1}");
    assert_int_equal(apply_patch(f,
                                 "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2},"
                                 "{\"op\":\"remove\",\"path\":\"/a\"},"
                                 "{\"op\":\"test\",\"path\":\"/b\",\"value\":3}]",
                                 &err),
                     SIRIX_INVALID);
    assert_non_null(strstr(err.text, "operation 2"));
    assert_string_equal(err.pointer, "/b");
    assert_head(f, "{\"a\":1}");
}

static enum sirix_status stop_at_zero(void *context, struct sirix_error *err)
{
    int *left = context;

    *left -= 1;
    return *left < 0 ? sirix_fail(err, SIRIX_CANCELLED, "it was cancelled") : SIRIX_OK;
}

/* Tests and copies put no rows: they have to look at the deadline themselves. */
static void a_patch_can_be_stopped_in_its_tests_and_copies(void **state)
{
    enum { COUNT = 2000 };
    struct fixture *f = *state;
    struct sirix_buf texts[3];

    for (size_t i = 0; i < 3; i++) {
        sirix_buf_init(&texts[i], SIZE_MAX);
    }
    assert_int_equal(sirix_buf_append_str(&texts[0], "[0", NULL), SIRIX_OK);
    assert_int_equal(
        sirix_buf_append_str(&texts[1], "[{\"op\":\"test\",\"path\":\"/0\",\"value\":0}", NULL),
        SIRIX_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(sirix_buf_append_str(&texts[0], ",0", NULL), SIRIX_OK);
        assert_int_equal(
            sirix_buf_append_str(&texts[1], ",{\"op\":\"test\",\"path\":\"/0\",\"value\":0}", NULL),
            SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&texts[0], "]", NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_str(&texts[1], "]", NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_printf(&texts[2], NULL,
                                      "[{\"op\":\"test\",\"path\":\"\",\"value\":%.*s}]",
                                      (int)texts[0].len, (const char *)texts[0].data),
                     SIRIX_OK);
    import_bytes(f, sirix_buf_view(&texts[0]), SIZE_MAX / 2);

    const struct sirix_bytes patches[] = {
        sirix_buf_view(&texts[1]), /* Many small tests, */
        sirix_buf_view(&texts[2]), /* one large one, */
        bytes_of("[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/0\"}]"),
    };
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct sirix_json_tree tree;
        struct sirix_error err = {0};
        struct sirix_arena arena;
        struct sirix_view view;
        struct sirix_edit *edit = fixture_edit(f, &view);
        int left = 0;

        sirix_arena_init(&arena, SIZE_MAX);
        assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_tree_parse(&tree, patches[i], NULL, NULL, NULL), SIRIX_OK);
        sirix_edit_set_pause(edit, stop_at_zero, &left);
        assert_int_equal(sirix_patch_apply(edit, &tree, tree.root, 0, &err), SIRIX_CANCELLED);
        assert_int_equal(left, -1);
        fixture_drop(edit, &view);
        sirix_arena_deinit(&arena);
    }
    for (size_t i = 0; i < 3; i++) {
        sirix_buf_deinit(&texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_of_random_edits_lead_from_one_revision_to_the_other),
        cmocka_unit_test_setup_teardown(operations_are_few_and_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_elements_are_moved_and_not_written_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(too_many_operations_are_refused_with_their_number, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_resource_that_loses_its_value_has_no_patch, set_up,
                                        tear_down),
        cmocka_unit_test(patches_do_to_a_revision_what_they_do_to_a_tree),
        cmocka_unit_test_setup_teardown(a_patch_that_fails_late_stores_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_patch_can_be_stopped_in_its_tests_and_copies, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("document_patch", tests, NULL, NULL);
}
