/* Failures that users of such stores have reported, each with its right answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/document/fixture.h"

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

/* The text as it should come back; NULL: as it is. */
struct round_trip {
    const char *text;
    const char *expected;
};

static void texts_come_back(void **state)
{
    static const struct round_trip cases[] = {
        {"{\"w\":1.1}", NULL},
        {"{\"d\":0.1234567890123456789012345,\"i\":123456789012345678901234567890}", NULL},
        {"{\"Aa\":1,\"BB\":2,\"x\":[{\"Aa\":1,\"BB\":2}]}", NULL},
        {"{\"a\\\"b\":1,\"c\\\\d\":2,\"e\\nf\":3}", NULL},
        {"[1e5,2.2e-308,2e308,-0,1E400,-0.0,0.0,1.10,10.00]", NULL},
        {"{\"a\":1,\"a\\u0000b\":2,\"\":3,\"\xf0\x9f\x9c\x81\xc3\xa9\":4,\"a/b\":5,\"m~n\":6}",
         NULL},
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", NULL},
        {"\xef\xbb\xbf[1,2]", "[1,2]"},
        {" [1,2,\"\xe6\x97\xa5\xe6\x9c\xac\"]\r\n", "[1,2,\"\xe6\x97\xa5\xe6\x9c\xac\"]"},
        {"\"\\u0041\\/\\u001F\"", "\"A/\\u001f\""},
        {"5", NULL},
        {"\"x\"", NULL},
        {"true", NULL},
        {"null", NULL},
        {"[[],{},[[]],{\"\":{}}]", NULL},
        {"{\"x\":99999999999999999999,\"y\":-9223372036854775808}", NULL},
        {"[\"\\u0000\\u0001\\u0007\\u000b\\u001f\\b\\f\\t\"]", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        fixture_open(&f);
        import_text(&f, cases[i].text);
        assert_head(&f, cases[i].expected != NULL ? cases[i].expected : cases[i].text);
        fixture_close(&f);
    }
    (void)state;
}

static void texts_that_are_no_json_are_refused(void **state)
{
    static const char *const cases[] = {"",
                                        " \n",
                                        "[1,2",
                                        "[1,,2]",
                                        "[1]]",
                                        "\"a\"\"b\"",
                                        "{'a':1}",
                                        "[1,]",
                                        "// c\n1",
                                        "[01]",
                                        "[+1]",
                                        "[.5]",
                                        "\"\\ud800\"",
                                        "\"\xff\"",
                                        "tru",
                                        "{\"bad\":\"x\\ud800y\"}",
                                        "1 2"};
    struct fixture *f = *state;
    const struct sirix_edit_insert insert = {.target = 0};
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(cases[i]), &result, &err),
                         SIRIX_INVALID);
        assert_true(err.has_offset);
    }
    assert_false(fixture_commit(f, edit, &view));
}

static void each_member_is_found_through_its_own_pointer(void **state)
{
    static const struct {
        const char *pointer;
        const char *path;
        const char *value;
    } cases[] = {
        {"/a", "/a", "1"},
        {"/", "/", "3"},
        {"/\xf0\x9f\x9c\x81", "/\xf0\x9f\x9c\x81", "4"},
        {"/a~1b", "/a~1b", "5"},
        {"/m~0n", "/m~0n", "6"},
        {"/[0]", "/~20]", "7"},
        {"/x/1/0", "/x/[1]/[0]", "8"},
        {"/0", "/0", "9"},
    };
    struct fixture *f = *state;
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;

    import_text(f, "{\"a\":1,\"\":3,\"\xf0\x9f\x9c\x81\":4,\"a/b\":5,\"m~n\":6,\"[0]\":7,"
                   "\"x\":[0,[8]],\"0\":9}");
    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_buf path;
        uint64_t by_pointer = 0;
        uint64_t by_path = 0;
        char *text = NULL;
        assert_int_equal(sirix_document_resolve(&document, SIRIX_PATH_POINTER,
                                                bytes_of(cases[i].pointer), &by_pointer, &err),
                         SIRIX_OK);
        assert_int_equal(sirix_document_resolve(&document, SIRIX_PATH_SIRIX,
                                                bytes_of(cases[i].path), &by_path, &err),
                         SIRIX_OK);
        assert_int_equal(by_pointer, by_path);
        text = text_of_view(f, &view, by_pointer);
        assert_string_equal(text, cases[i].value);
        free(text);
        sirix_buf_init(&path, SIZE_MAX);
        assert_int_equal(sirix_document_path(&document, by_path, SIRIX_PATH_SIRIX, &path, &err),
                         SIRIX_OK);
        assert_int_equal(path.len, strlen(cases[i].path));
        assert_memory_equal(path.data, cases[i].path, path.len);
        sirix_buf_deinit(&path);
    }
    sirix_view_close(&view);
}

static void a_path_that_leads_nowhere_names_the_step(void **state)
{
    static const char *const cases[] = {"/b", "/a/2", "/a/01", "/a/-", "/a/x", "/s/0", "/a/0/x"};
    struct fixture *f = *state;
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t key = 0;

    import_text(f, "{\"a\":[1,2],\"s\":\"text\"}");
    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            sirix_document_resolve(&document, SIRIX_PATH_POINTER, bytes_of(cases[i]), &key, &err),
            SIRIX_NOT_FOUND);
        assert_int_equal(err.reason, SIRIX_REASON_NODE_UNKNOWN);
        assert_int_equal(strncmp(err.text, cases[i], strlen(cases[i])), 0);
    }
    assert_int_equal(
        sirix_document_resolve(&document, SIRIX_PATH_POINTER, bytes_of("a"), &key, &err),
        SIRIX_INVALID);
    assert_int_equal(
        sirix_document_resolve(&document, SIRIX_PATH_POINTER, bytes_of("/~2"), &key, &err),
        SIRIX_INVALID);
    sirix_view_close(&view);
}

static void inserting_an_empty_array_into_an_empty_array_gives_a_new_node(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(*state, "[]");
    edit = fixture_edit(*state, &view);
    assert_int_equal(edit_insert(edit, 1, SIRIX_PLACE_FIRST_CHILD, 0, NULL, "[]"), 2);
    assert_true(fixture_commit(*state, edit, &view));
    assert_head(*state, "[[]]");
}

static void inserting_at_the_length_appends(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(*state, "{\"a\":[1,2,3],\"b\":[]}");
    edit = fixture_edit(*state, &view);
    edit_insert(edit, 2, SIRIX_PLACE_INDEX, 3, NULL, "9");
    edit_insert(edit, 7, SIRIX_PLACE_INDEX, 0, NULL, "1");
    assert_true(fixture_commit(*state, edit, &view));
    assert_head(*state, "{\"a\":[1,2,3,9],\"b\":[1]}");
}

static void three_appends_in_one_edit_make_one_revision(void **state)
{
    struct fixture *f = *state;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    uint64_t revision = 0;

    import_text(f, "[]");
    edit = fixture_edit(f, &view);
    revision = view.record.revision;
    for (unsigned i = 1; i <= 3; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "{\"n\":%u}", i);
        edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, NULL, text);
    }
    assert_true(fixture_commit(f, edit, &view));
    assert_head(f, "[{\"n\":1},{\"n\":2},{\"n\":3}]");
    fixture_head(f, &view);
    assert_int_equal(view.record.revision, revision + 1);
    sirix_view_close(&view);
}

static void removing_nested_arrays_and_then_a_member_works(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(*state, "{\"a\":[[1,[2]],3],\"b\":{\"c\":1,\"d\":[[]]}}");
    edit = fixture_edit(*state, &view);
    edit_delete(edit, 4);
    edit_delete(edit, 11);
    assert_true(fixture_commit(*state, edit, &view));
    assert_head(*state, "{\"a\":[3],\"b\":{\"d\":[[]]}}");
}

static void updating_a_member_and_deleting_what_is_above_leaves_a_delete(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(*state, "{\"a\":{\"b\":1},\"c\":2}");
    edit = fixture_edit(*state, &view);
    edit_update(edit, 4, "[1,2]");
    edit_delete(edit, 2);
    assert_true(fixture_commit(*state, edit, &view));
    assert_head(*state, "{\"c\":2}");
}

static void identical_text_makes_no_revision_and_equal_values_say_so(void **state)
{
    static const struct {
        const char *old;
        const char *new;
        bool changed;
        bool equal;
    } cases[] = {
        {"1.1", "1.1", false, false},
        {"1.1", "1.10", true, true},
        {"100", "1e2", true, true},
        {"-0", "0", true, true},
        {"1", "\"1\"", true, false},
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", "{ \"b\" : 1, \"a\" : {\"d\":1,\"c\":2} }", false,
         false},
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"d\":1},\"b\":1}", true, true},
        {"[1,2]", "[2,1]", true, false},
        {"[]", "{}", true, false},
        {"\"x\"", "\"\\u0078\"", false, false},
        {"null", "null", false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_edit_result result;
        struct sirix_view view;
        struct sirix_edit *edit = NULL;
        fixture_open(&f);
        import_text(&f, cases[i].old);
        edit = fixture_edit(&f, &view);
        result = edit_update(edit, 1, cases[i].new);
        assert_int_equal(result.changed, cases[i].changed);
        assert_int_equal(result.equal_value, cases[i].equal);
        assert_int_equal(fixture_commit(&f, edit, &view), cases[i].changed);
        fixture_close(&f);
    }
    (void)state;
}

/* Slots at the ends of leaves, and every kind there; what fills up the keys before it. */
static void every_kind_is_replaced_by_every_kind_at_the_edges_of_a_leaf(void **state)
{
    static const char *const kinds[] = {"{}",    "{\"x\":[1]}", "[]",    "[{\"y\":null}]",
                                        "\"s\"", "\"\"",        "7",     "1.5",
                                        "1e9",   "true",        "false", "null"};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

    unsigned straddling = 0;

    /* Around the end of the first leaf, and of the second, where a pair may lie across it. */
    for (unsigned fill = 56; fill <= 127; fill = fill == 62 ? 118 : fill + 1) {
        for (unsigned from = 0; from < KINDS; from++) {
            struct fixture f;
            char text[1024];
            size_t len = 0;
            uint64_t key = 0;
            fixture_open(&f);
            len += (size_t)sprintf(text, "{\"f\":[");
            for (unsigned i = 0; i < fill - 4; i++) {
                len += (size_t)sprintf(text + len, "%s0", i == 0 ? "" : ",");
            }
            (void)sprintf(text + len, "],\"m\":%s,\"n\":[%s,%s]}", kinds[from], kinds[from],
                          kinds[from]);
            import_text(&f, text);
            key = key_at(&f, "/m");
            straddling += key % SIRIX_LEAF_KEYS == SIRIX_LEAF_KEYS - 1 ? 1 : 0;
            for (unsigned to = 0; to < KINDS; to++) {
                struct sirix_view view;
                struct sirix_edit *edit = fixture_edit(&f, &view);
                edit_update(edit, key, kinds[to]);
                edit_update(edit, key_at(&f, "/n/0"), kinds[to]);
                edit_update(edit, key_at(&f, "/n/1"), kinds[KINDS - 1 - to]);
                (void)fixture_commit(&f, edit, &view);
                (void)sprintf(text + len, "],\"m\":%s,\"n\":[%s,%s]}", kinds[to], kinds[to],
                              kinds[KINDS - 1 - to]);
                assert_head(&f, text);
                assert_int_equal(key_at(&f, "/m"), key);
            }
            fixture_close(&f);
        }
    }
    assert_int_not_equal(straddling, 0);
    (void)state;
}

/* --- Serialising with limits ----------------------------------------------------------------------- */

static char *limited(struct fixture *f, const struct sirix_serialise_options *options)
{
    struct sirix_document document;
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_buf out;
    bool done = false;

    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    sirix_buf_init(&out, SIZE_MAX);
    assert_int_equal(sirix_serialiser_new(&document, options, &serialiser, &err), SIRIX_OK);
    while (!done) {
        assert_int_equal(sirix_serialiser_step(serialiser, 7, &out, &done, &err), SIRIX_OK);
    }
    sirix_serialiser_free(serialiser);
    sirix_view_close(&view);
    assert_int_equal(sirix_buf_append_u8(&out, 0, &err), SIRIX_OK);
    return (char *)out.data;
}

static void limits_of_depth_children_and_nodes_give_valid_json(void **state)
{
    static const struct {
        struct sirix_serialise_options options;
        const char *expected;
    } cases[] = {
        {{.depth_max = 1}, "{\"a\":{},\"c\":[],\"d\":\"x\"}"},
        {{.depth_max = 2}, "{\"a\":{\"b\":[]},\"c\":[4,5],\"d\":\"x\"}"},
        {{.depth_max = 3}, "{\"a\":{\"b\":[1,2,{}]},\"c\":[4,5],\"d\":\"x\"}"},
        {{.children_max = 1}, "{\"a\":{\"b\":[1]}}"},
        {{.children_max = 2, .depth_max = 3}, "{\"a\":{\"b\":[1,2]},\"c\":[4,5]}"},
        {{.nodes_max = 1}, "{}"},
        {{.nodes_max = 2}, "{\"a\":{}}"},
        {{.nodes_max = 4}, "{\"a\":{\"b\":[1]}}"},
        {{.nodes_max = 7}, "{\"a\":{\"b\":[1,2,{\"e\":3}]}}"},
        {{.key = 2, .depth_max = 1}, "{\"b\":[]}"},
        {{.indent = 2, .key = 4}, "[\n  1,\n  2,\n  {\n    \"e\": 3\n  }\n]"},
        {{.indent = 1, .nodes_max = 1}, "{}"},
    };
    struct fixture *f = *state;

    import_text(f, "{\"a\":{\"b\":[1,2,{\"e\":3}]},\"c\":[4,5],\"d\":\"x\"}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = limited(f, &cases[i].options);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void refused_operations_say_why(void **state)
{
    struct fixture *f = *state;
    const struct sirix_bytes name = bytes_of("b");
    const struct sirix_bytes fresh = bytes_of("fresh");
    const struct {
        struct sirix_edit_insert insert;
        enum sirix_status status;
        enum sirix_reason reason;
    } cases[] = {
        {{.target = 4, .place = SIRIX_PLACE_LAST_CHILD},
         SIRIX_PRECONDITION,
         SIRIX_REASON_NODE_KIND},
        {{.target = 1, .name = &name}, SIRIX_ALREADY_EXISTS, SIRIX_REASON_DUPLICATE_KEY},
        {{.target = 2, .name = &fresh}, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID},
        {{.target = 2, .place = SIRIX_PLACE_INDEX, .index = 2},
         SIRIX_OUT_OF_RANGE,
         SIRIX_REASON_NONE},
        {{.target = 1, .place = SIRIX_PLACE_LEFT_SIBLING},
         SIRIX_PRECONDITION,
         SIRIX_REASON_NODE_KIND},
        {{.target = 99}, SIRIX_NOT_FOUND, SIRIX_REASON_NODE_UNKNOWN},
    };
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(f, "{\"a\":[1],\"b\":2}");
    edit = fixture_edit(f, &view);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        assert_int_equal(sirix_edit_insert(edit, &cases[i].insert, bytes_of("1"), &result, &err),
                         cases[i].status);
        assert_int_equal(err.reason, cases[i].reason);
        if (err.reason == SIRIX_REASON_DUPLICATE_KEY) {
            assert_string_equal(err.pointer, "/b");
        }
    }
    assert_false(fixture_commit(f, edit, &view));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test_setup_teardown(texts_that_are_no_json_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_member_is_found_through_its_own_pointer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_path_that_leads_nowhere_names_the_step, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            inserting_an_empty_array_into_an_empty_array_gives_a_new_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inserting_at_the_length_appends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(three_appends_in_one_edit_make_one_revision, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(removing_nested_arrays_and_then_a_member_works, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            updating_a_member_and_deleting_what_is_above_leaves_a_delete, set_up, tear_down),
        cmocka_unit_test(identical_text_makes_no_revision_and_equal_values_say_so),
        cmocka_unit_test(every_kind_is_replaced_by_every_kind_at_the_edges_of_a_leaf),
        cmocka_unit_test_setup_teardown(limits_of_depth_children_and_nodes_give_valid_json, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refused_operations_say_why, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
