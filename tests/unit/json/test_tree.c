/* Trees, pointers and paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/base/alloc_fault.h"
#include "unit/json/json_help.h"
#include "json/pointer.h"
#include "json/tree.h"

static struct sirix_arena arena;

static int setup(void **state)
{
    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alloc_fault_disarm();
    sirix_arena_deinit(&arena);
    return 0;
}

/* --- Tree ------------------------------------------------------------------------------------- */

static void a_tree_gives_its_text_back(void **state)
{
    static const char *const TEXTS[] = {
        "null",
        "[]",
        "{}",
        "\"x\"",
        "-0.0",
        "[[],{},[{}]]",
        "{\"b\":1,\"a\":{\"d\":1.10,\"c\":[true,false,null,1E+2]},\"\":\"\\u0000\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        struct sirix_json_tree tree = parsed(&arena, TEXTS[i]);
        struct sirix_json_tree copy = tree;

        assert_string_equal(printed(&arena, tree.root), TEXTS[i]);
        assert_int_equal(sirix_json_clone(&copy, tree.root, &copy.root, NULL), SIRIX_OK);
        assert_string_equal(printed(&arena, copy.root), TEXTS[i]);
    }
}

static void long_strings_are_put_together_from_their_parts(void **state)
{
    struct sirix_buf json;
    struct sirix_json_tree tree;

    (void)state;
    sirix_buf_init(&json, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&json, "[\"", NULL), SIRIX_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(sirix_buf_append_str(&json, "\\u000b\xc3\xa9", NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&json, "\",5]", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, sirix_buf_view(&json), NULL, NULL, NULL),
                     SIRIX_OK);
    const char *back = printed(&arena, tree.root);
    assert_int_equal(strlen(back), json.len);
    assert_memory_equal(back, json.data, json.len);
    sirix_buf_deinit(&json);
}

static void duplicate_members_are_refused_with_their_place_or_the_last_is_kept(void **state)
{
    static const char JSON[] = "{\"x\":[{\"a\":1,\"b\":2,\"\\u0061\":{\"n\":3}}]}";
    const struct sirix_json_tree_options last = {.duplicates = SIRIX_JSON_DUPLICATES_LAST};
    struct sirix_json_tree_stats stats = {0};
    struct sirix_error err = {0};
    struct sirix_json_tree tree;

    (void)state;
    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, text(JSON), NULL, NULL, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_DUPLICATE_KEY);
    assert_string_equal(err.pointer, "/x/0/a");
    assert_int_equal(err.offset, 19);
    assert_null(tree.root);
    assert_int_equal(sirix_json_tree_parse(&tree, text(JSON), &last, &stats, &err), SIRIX_OK);
    assert_string_equal(printed(&arena, tree.root), "{\"x\":[{\"a\":{\"n\":3},\"b\":2}]}");
    assert_int_equal(stats.duplicates, 1);
}

static void members_of_large_objects_are_found_also_after_changes(void **state)
{
    enum { MEMBERS = 3000 };
    struct sirix_json_tree tree;
    struct sirix_json_node *object = NULL;
    struct sirix_json_node *nodes[MEMBERS];
    uint64_t seed = 9;

    (void)state;
    memset(nodes, 0, sizeof(nodes));
    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new(&tree, SIRIX_JSON_KIND_OBJECT, &object, NULL), SIRIX_OK);
    for (int step = 0; step < 60000; step++) {
        size_t i = next_random(&seed) % MEMBERS;
        char *name = NULL;

        assert_int_equal(sirix_arena_printf(&arena, &name, NULL, "k%zu", i), SIRIX_OK);
        assert_ptr_equal(sirix_json_member_str(&tree, object, name), nodes[i]);
        if (step % 3 != 0 && nodes[i] != NULL) {
            sirix_json_detach(nodes[i]);
            nodes[i] = NULL;
        } else {
            struct sirix_json_node *old = NULL;
            struct sirix_json_node *value = NULL;

            assert_int_equal(sirix_json_new_i64(&tree, step, &value, NULL), SIRIX_OK);
            assert_int_equal(sirix_json_object_set(&tree, object, text(name), value, &old, NULL),
                             SIRIX_OK);
            assert_ptr_equal(old, nodes[i]);
            nodes[i] = value;
        }
    }
}

static void elements_are_found_by_position_also_after_changes(void **state)
{
    struct sirix_json_tree tree;
    struct sirix_json_node *array = NULL;
    struct sirix_json_node *model[400];
    size_t count = 0;
    uint64_t seed = 10;

    (void)state;
    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new(&tree, SIRIX_JSON_KIND_ARRAY, &array, NULL), SIRIX_OK);
    for (int step = 0; step < 40000; step++) {
        size_t at = count == 0 ? 0 : next_random(&seed) % count;

        if (count != 0 && (next_random(&seed) % 400 < count)) {
            if ((step & 1) != 0) {
                (void)sirix_json_element(&tree, array, next_random(&seed) % count);
            }
            assert_ptr_equal(sirix_json_element(&tree, array, at), model[at]);
            assert_int_equal(sirix_json_position(model[at]), at);
            sirix_json_detach(model[at]);
            memmove(model + at, model + at + 1, (count - at - 1) * sizeof(void *));
            count--;
        } else {
            struct sirix_json_node *value = NULL;
            struct sirix_json_node *before = sirix_json_element(&tree, array, at);

            assert_int_equal(sirix_json_new(&tree, SIRIX_JSON_KIND_NULL, &value, NULL), SIRIX_OK);
            sirix_json_array_insert(array, before, value);
            memmove(model + at + 1, model + at, (count - at) * sizeof(void *));
            model[at] = value;
            count++;
        }
        assert_null(sirix_json_element(&tree, array, count));
        if (count != 0) {
            size_t probe = next_random(&seed) % count;
            assert_ptr_equal(sirix_json_element(&tree, array, probe), model[probe]);
        }
    }
}

static void equality_is_by_value_and_sameness_by_text(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
        bool same;    /* Members in any order. */
        bool ordered; /* Same, in the same order. */
    } CASES[] = {
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"d\":1},\"b\":1}", true, true,
         false},
        {"[1.1]", "[1.10]", true, false, false},
        {"[1e2,-0]", "[100,0.0]", true, false, false},
        {"123456789012345678901234567890", "123456789012345678901234567891", false, false, false},
        {"[1,2]", "[2,1]", false, false, false},
        {"[1]", "[1,1]", false, false, false},
        {"{\"a\":null}", "{\"b\":null}", false, false, false},
        {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false, false, false},
        {"\"1\"", "1", false, false, false},
        {"[[],{}]", "[[],{}]", true, true, true},
        {"[[]]", "[{}]", false, false, false},
        {"false", "null", false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_json_tree a = parsed(&arena, CASES[i].a);
        struct sirix_json_tree b = parsed(&arena, CASES[i].b);

        if (sirix_json_equal(&a, a.root, &b, b.root) != CASES[i].equal ||
            sirix_json_equal(&b, b.root, &a, a.root) != CASES[i].equal ||
            sirix_json_same_text(&a, a.root, &b, b.root, false) != CASES[i].same ||
            sirix_json_same_text(&a, a.root, &b, b.root, true) != CASES[i].ordered) {
            fail_msg("%s and %s", CASES[i].a, CASES[i].b);
        }
    }
}

static void trees_can_be_made_by_hand(void **state)
{
    struct sirix_json_tree tree;
    struct sirix_json_node *root = NULL;
    struct sirix_json_node *node = NULL;
    bool flag = false;
    int64_t number = 0;

    (void)state;
    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new(&tree, SIRIX_JSON_KIND_OBJECT, &root, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new_bool(&tree, true, &node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_object_set_str(&tree, root, "t", node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new_u64(&tree, UINT64_MAX, &node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_object_set_str(&tree, root, "u", node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new_number(&tree, text("1.50"), &node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_object_set_str(&tree, root, "n", node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new_string_plain(&tree, text("a\n"), &node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_object_set_str(&tree, root, "s", node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new_string(&tree, text("\\t"), &node, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_object_set_str(&tree, root, "s", node, NULL), SIRIX_OK);
    assert_string_equal(printed(&arena, root),
                        "{\"t\":true,\"u\":18446744073709551615,\"n\":1.50,\"s\":\"\\t\"}");
    assert_true(sirix_json_get_bool(sirix_json_member_str(&tree, root, "t"), &flag) && flag);
    assert_false(sirix_json_get_bool(root, &flag));
    assert_false(sirix_json_get_i64(sirix_json_member_str(&tree, root, "u"), &number));
    assert_null(sirix_json_member_str(&tree, node, "x"));
    assert_null(sirix_json_member_str(&tree, NULL, "x"));
    assert_int_equal(sirix_json_object_set_str(&tree, root, "z", node, NULL), SIRIX_INTERNAL);
}

/* Deep, wide, with parts: parse, clone, compare, print; each allocation fails once. */
static void trees_survive_the_failure_of_any_allocation(void **state)
{
    struct sirix_buf json;
    int failures = 0;

    (void)state;
    sirix_buf_init(&json, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&json, "{\"s\":\"", NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_fill(&json, 'x', 200000, NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_str(&json, "\\u0041\"", NULL), SIRIX_OK);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(sirix_buf_printf(&json, NULL, ",\"k%d\":[[[[%d]]]]", i, i), SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&json, "}", NULL), SIRIX_OK);
    for (long failing = 0;; failing++) {
        struct sirix_arena memory;
        struct sirix_json_tree tree;
        struct sirix_json_tree copy;
        struct sirix_buf out;

        sirix_arena_init(&memory, SIZE_MAX);
        sirix_buf_init(&out, SIZE_MAX);
        assert_int_equal(sirix_json_tree_init(&tree, &memory, NULL), SIRIX_OK);
        copy = tree;
        alloc_fault_arm(failing);
        enum sirix_status status =
            sirix_json_tree_parse(&tree, sirix_buf_view(&json), NULL, NULL, NULL);
        if (status == SIRIX_OK) {
            status = sirix_json_clone(&copy, tree.root, &copy.root, NULL);
        }
        if (status == SIRIX_OK) {
            assert_true(sirix_json_equal(&tree, tree.root, &copy, copy.root));
            status = sirix_json_tree_print(copy.root, &out, NULL);
        }
        alloc_fault_disarm();
        sirix_buf_deinit(&out);
        sirix_arena_deinit(&memory);
        if (status == SIRIX_OK) {
            break;
        }
        assert_int_equal(status, SIRIX_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 5);
    sirix_buf_deinit(&json);
}

/* --- Pointers and paths ----------------------------------------------------------------------- */

static void pointers_and_paths_name_every_node_and_lead_back(void **state)
{
    static const struct {
        const char *pointer;
        size_t pointer_len;
        const char *path;
        const char *value;
    } CASES[] = {
        {"", 0, "", NULL},
        {"/a", 2, "/a", "[10,{\"0\":11}]"},
        {"/a/0", 4, "/a/[0]", "10"},
        {"/a/1/0", 6, "/a/[1]/0", "11"},
        {"/", 1, "/", "3"},
        {"/a\0b", 4, "/a\0b", "2"},
        {"/\xf0\x9f\x9c\x81\xc3\xa9", 7, "/\xf0\x9f\x9c\x81\xc3\xa9", "4"},
        {"/a~1b", 5, "/a~1b", "5"},
        {"/m~0n", 5, "/m~0n", "6"},
        {"/[5]", 4, "/~25]", "7"},
        {"/q\"\n", 4, "/q\"\n", "8"},
        {"/\0~0", 4, "/\0~0", "9"},
    };
    struct sirix_json_tree tree = parsed(
        &arena, "{\"a\":[10,{\"0\":11}],\"a\\u0000b\":2,\"\":3,\"\xf0\x9f\x9c\x81\xc3\xa9\":4,"
                "\"a/b\":5,\"m~n\":6,\"[5]\":7,\"q\\\"\\n\":8,\"\\u0000~\":9}");

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_bytes pointer = {CASES[i].pointer, CASES[i].pointer_len};

        bool has_nul = memchr(CASES[i].pointer, 0, pointer.len) != NULL;
        struct sirix_bytes path = {CASES[i].path, has_nul ? pointer.len : strlen(CASES[i].path)};
        struct sirix_json_node *by_pointer = NULL;
        struct sirix_json_node *by_path = NULL;
        struct sirix_json_steps steps;
        struct sirix_buf out;

        sirix_buf_init(&out, SIZE_MAX);
        assert_int_equal(sirix_json_pointer_parse(&arena, pointer, &steps, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_resolve(&tree, tree.root, &steps, &by_pointer, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_pointer_format(&out, &steps, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(sirix_buf_view(&out), pointer));
        sirix_buf_clear(&out);
        assert_int_equal(sirix_json_pointer_of(by_pointer, &out, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(sirix_buf_view(&out), pointer));

        assert_int_equal(sirix_json_path_parse(&arena, path, &steps, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_resolve(&tree, tree.root, &steps, &by_path, NULL), SIRIX_OK);
        assert_ptr_equal(by_path, by_pointer);
        sirix_buf_clear(&out);
        assert_int_equal(sirix_json_path_format(&out, &steps, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(sirix_buf_view(&out), path));
        sirix_buf_clear(&out);
        assert_int_equal(sirix_json_path_of(by_pointer, &out, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(sirix_buf_view(&out), path));
        if (CASES[i].value != NULL) {
            assert_string_equal(printed(&arena, by_pointer), CASES[i].value);
        }
        sirix_buf_deinit(&out);
    }
}

static void malformed_pointers_and_paths_are_refused_at_the_byte(void **state)
{
    static const struct {
        const char *text;
        bool is_path;
        size_t at;
    } CASES[] = {
        {"a", false, 0},        {"/a/~", false, 3}, {"/~2", false, 1},
        {"/a~3", false, 2},     {"a", true, 0},     {"/[5", true, 1},
        {"/[]", true, 1},       {"/[01]", true, 1}, {"/[-1]", true, 1},
        {"/a~2b", true, 2},     {"/[1]x", true, 1}, {"/[99999999999999999999]", true, 1},
        {"/ab/\xff", false, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_error err = {0};
        struct sirix_json_steps steps;
        enum sirix_status status =
            CASES[i].is_path ? sirix_json_path_parse(&arena, text(CASES[i].text), &steps, &err)
                             : sirix_json_pointer_parse(&arena, text(CASES[i].text), &steps, &err);

        if (status != SIRIX_INVALID || err.reason != SIRIX_REASON_FIELD_INVALID ||
            err.offset != CASES[i].at) {
            fail_msg("%s: %s", CASES[i].text, err.text);
        }
    }
}

static void what_is_not_there_is_named_up_to_the_first_wrong_step(void **state)
{
    static const struct {
        const char *text;
        bool is_path;
        const char *pointer;
    } CASES[] = {
        {"/a/2/x", false, "/a/2"}, {"/a/-", false, "/a/-"}, {"/a/01", false, "/a/01"},
        {"/a/x", false, "/a/x"},   {"/b/c", false, "/b/c"}, {"/z~1/y", false, "/z~1"},
        {"/a/0", true, "/a/0"},    {"/[0]", true, "/0"},    {"/a/[2]", true, "/a/2"},
    };
    struct sirix_json_tree tree = parsed(&arena, "{\"a\":[1,2],\"b\":3,\"0\":4}");

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_error err = {0};
        struct sirix_json_steps steps;
        struct sirix_json_node *node = NULL;
        enum sirix_status status =
            CASES[i].is_path ? sirix_json_path_parse(&arena, text(CASES[i].text), &steps, &err)
                             : sirix_json_pointer_parse(&arena, text(CASES[i].text), &steps, &err);

        assert_int_equal(status, SIRIX_OK);
        assert_int_equal(sirix_json_resolve(&tree, tree.root, &steps, &node, &err),
                         SIRIX_NOT_FOUND);
        assert_null(node);
        assert_int_equal(err.reason, SIRIX_REASON_NODE_UNKNOWN);
        assert_string_equal(err.pointer, CASES[i].pointer);
    }
}

static void pointers_have_limits(void **state)
{
    struct sirix_json_steps steps;
    struct sirix_error err = {0};
    char slashes[SIRIX_JSON_STEPS_MAX + 1];

    (void)state;
    memset(slashes, '/', sizeof(slashes));
    assert_int_equal(sirix_json_pointer_parse(
                         &arena, (struct sirix_bytes){slashes, SIRIX_JSON_STEPS_MAX}, &steps, &err),
                     SIRIX_OK);
    assert_int_equal(steps.count, SIRIX_JSON_STEPS_MAX);
    assert_int_equal(sirix_json_pointer_parse(
                         &arena, (struct sirix_bytes){slashes, sizeof(slashes)}, &steps, &err),
                     SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_gives_its_text_back),
        TEST(long_strings_are_put_together_from_their_parts),
        TEST(duplicate_members_are_refused_with_their_place_or_the_last_is_kept),
        TEST(members_of_large_objects_are_found_also_after_changes),
        TEST(elements_are_found_by_position_also_after_changes),
        TEST(equality_is_by_value_and_sameness_by_text),
        TEST(trees_can_be_made_by_hand),
        TEST(trees_survive_the_failure_of_any_allocation),
        TEST(pointers_and_paths_name_every_node_and_lead_back),
        TEST(malformed_pointers_and_paths_are_refused_at_the_byte),
        TEST(what_is_not_there_is_named_up_to_the_first_wrong_step),
        TEST(pointers_have_limits),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
