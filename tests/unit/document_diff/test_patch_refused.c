/* Patches that ask for too much, or are malformed: refused with a sentence, and nothing is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "store/document/patch.h"
#include "unit/document_diff/support.h"

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

/* Forty copies, each as large as all before together, would be ten million million nodes. */
static void copies_are_refused_past_their_limit_in_all(void **state)
{
    enum { COPIES = 40 };
    struct fixture *f = *state;
    struct sirix_error err = {0};
    struct sirix_buf patch;
    const char *text = NULL;

    import_text(f, "{\"a\":1}");
    sirix_buf_init(&patch, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&patch,
                                          "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"a\":"
                                          "[1,1,1,1,1,1,1,1,1,1]}}",
                                          NULL),
                     SIRIX_OK);
    for (size_t i = 0; i < COPIES; i++) {
        assert_int_equal(sirix_buf_append_str(
                             &patch, ",{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", NULL),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&patch, "]", NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&patch, &text, NULL), SIRIX_OK);
    assert_int_equal(apply_patch(f, text, &err), SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_string_equal(err.pointer, "/a/-");
    assert_string_equal(err.field, "patch");
    /* 11 * (2^n - 1) nodes after n copies. */
    assert_string_equal(err.text, "operation 20 of the patch (copy): the copies of one patch "
                                  "make at most 8388608 nodes together");
    assert_head(f, "{\"a\":1}");
    sirix_buf_deinit(&patch);
}

static void copies_may_make_as_much_as_their_limits_say_and_no_more(void **state)
{
    static const struct {
        const char *before;
        const char *op;
        struct sirix_patch_copies limits;
        size_t times; /* As often as it is done. */
        const char *sentence;
    } cases[] = {
        {"{\"a\":[1,22,{\"b\":null}]}",
         "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}",
         {.nodes_max = 10},
         2,
         "operation 2 of the patch (copy): the copies of one patch make at most 10 nodes together"},
        {"{\"a\":[1,22,{\"b\":null}]}",
         "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}",
         {.nodes_max = 9},
         1,
         "operation 1 of the patch (copy): the copies of one patch make at most 9 nodes together"},
        {"{\"a\":\"1234567\"}",
         "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}",
         {.bytes_max = 27},
         3,
         "operation 3 of the patch (copy): the copies of one patch have at most 27 bytes of JSON "
         "text together"},
        {"{\"a\":\"1234567\"}",
         "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"}",
         {.bytes_max = 26},
         2,
         "operation 2 of the patch (copy): the copies of one patch have at most 26 bytes of JSON "
         "text together"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_arena arena;
        struct sirix_json_tree tree;
        struct sirix_view view;
        struct sirix_error err = {0};
        struct sirix_patch_copies copies = cases[i].limits;
        struct sirix_edit *edit = NULL;
        size_t times = 0;

        fixture_open(&f);
        import_text(&f, cases[i].before);
        edit = fixture_edit(&f, &view);
        sirix_arena_init(&arena, SIZE_MAX);
        assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_tree_parse(&tree, bytes_of(cases[i].op), NULL, NULL, NULL),
                         SIRIX_OK);
        while (times <= cases[i].times && sirix_patch_apply_one(edit, &tree, tree.root, times,
                                                                &copies, NULL, &err) == SIRIX_OK) {
            times++;
        }
        assert_int_equal(times, cases[i].times);
        assert_int_equal(err.status, SIRIX_EXHAUSTED);
        assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
        assert_string_equal(err.text, cases[i].sentence);
        assert_string_equal(err.pointer, "/c");
        fixture_drop(edit, &view);
        sirix_arena_deinit(&arena);
        fixture_close(&f);
    }
}

static void a_malformed_operation_is_told_in_a_sentence(void **state)
{
    static const struct {
        const char *patch;
        enum sirix_reason reason;
        const char *sentence;
    } cases[] = {
        {"[3]", SIRIX_REASON_FIELD_INVALID, "operation 0 of the patch is not an object"},
        {"[{}]", SIRIX_REASON_FIELD_MISSING, "operation 0 of the patch: \"op\" is missing"},
        {"[{\"op\":1}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch: \"op\" is not a string"},
        {"[{\"op\":\"jump\",\"path\":\"\"}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch: \"op\" is none of add, remove, replace, move, copy and test"},
        {"[{\"op\":\"add\",\"value\":1}]", SIRIX_REASON_FIELD_MISSING,
         "operation 0 of the patch (add): \"path\" is missing"},
        {"[{\"op\":\"add\",\"path\":\"/0\"}]", SIRIX_REASON_FIELD_MISSING,
         "operation 0 of the patch (add): \"value\" is missing"},
        {"[{\"op\":\"replace\",\"path\":\"/0\"}]", SIRIX_REASON_FIELD_MISSING,
         "operation 0 of the patch (replace): \"value\" is missing"},
        {"[{\"op\":\"test\",\"path\":\"/0\"}]", SIRIX_REASON_FIELD_MISSING,
         "operation 0 of the patch (test): \"value\" is missing"},
        {"[{\"op\":\"move\",\"path\":\"/0\"}]", SIRIX_REASON_FIELD_MISSING,
         "operation 0 of the patch (move): \"from\" is missing"},
        {"[{\"op\":\"copy\",\"path\":\"/0\",\"from\":[]}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch (copy): \"from\" is not a string"},
        {"[{\"op\":\"remove\",\"path\":7}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch (remove): \"path\" is not a string"},
        {"[{\"op\":\"copy\",\"path\":\"/0\",\"from\":\"x\"}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch (copy): \"from\" is not a JSON pointer: "},
        {"[{\"op\":\"remove\",\"path\":\"/~2\"}]", SIRIX_REASON_FIELD_INVALID,
         "operation 0 of the patch (remove): \"path\" is not a JSON pointer: "},
    };
    struct fixture *f = *state;

    import_text(f, "[1]");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *sentence = cases[i].sentence;
        struct sirix_error err = {0};

        assert_int_equal(apply_patch(f, cases[i].patch, &err), SIRIX_INVALID);
        assert_int_equal(err.reason, cases[i].reason);
        assert_string_equal(err.field, "patch");
        if (sentence[strlen(sentence) - 1] == ' ') { /* The reason follows. */
            assert_true(strlen(err.text) > strlen(sentence));
            err.text[strlen(sentence)] = '\0';
        }
        assert_string_equal(err.text, sentence);
    }
    assert_head(f, "[1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_are_refused_past_their_limit_in_all, set_up,
                                        tear_down),
        cmocka_unit_test(copies_may_make_as_much_as_their_limits_say_and_no_more),
        cmocka_unit_test_setup_teardown(a_malformed_operation_is_told_in_a_sentence, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("document_patch_refused", tests, NULL, NULL);
}
