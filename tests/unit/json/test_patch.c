/* Patches: made and applied, against each other and against what people would write by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "unit/base/alloc_fault.h"
#include "unit/json/json_help.h"
#include "json/patch.h"

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

/* Makes the patch from a to b, checks that it leads there, and gives it. */
static struct sirix_json_tree patch_of(struct sirix_json_tree *a, struct sirix_json_tree *b)
{
    struct sirix_json_tree patch;
    struct sirix_json_tree copy = *a;
    struct sirix_error err = {0};

    assert_int_equal(sirix_json_tree_init(&patch, &arena, NULL), SIRIX_OK);
    if (sirix_json_patch_diff(a, a->root, b, b->root, &patch, NULL, &err) != SIRIX_OK) {
        fail_msg("no patch: %s", err.text);
    }
    assert_int_equal(sirix_json_clone(&copy, a->root, &copy.root, NULL), SIRIX_OK);
    if (sirix_json_patch_apply(&copy, &patch, patch.root, NULL, &err) != SIRIX_OK) {
        fail_msg("%.300s -> %.300s: patch %.300s: %s", printed(&arena, a->root),
                 printed(&arena, b->root), printed(&arena, patch.root), err.text);
    }
    if (!sirix_json_same_text(&copy, copy.root, b, b->root, false)) {
        fail_msg("%.300s -> %.300s: patch %.300s gave %.300s", printed(&arena, a->root),
                 printed(&arena, b->root), printed(&arena, patch.root), printed(&arena, copy.root));
    }
    return patch;
}

static void patches_are_what_a_person_would_write(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        const char *patch;
    } CASES[] = {
        {"{\"a\":1}", "{\"a\":1}", "[]"},
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"d\":1},\"b\":1}", "[]"},
        {"{\"w\":1.1}", "{\"w\":1.10}", "[{\"op\":\"replace\",\"path\":\"/w\",\"value\":1.10}]"},
        {"{\"items\":[1,2,3,4,5]}", "{\"items\":[1,3,4,5]}",
         "[{\"op\":\"remove\",\"path\":\"/items/1\"}]"},
        {"[1,2,3]", "[3,1,4,2]",
         "[{\"op\":\"move\",\"from\":\"/2\",\"path\":\"/0\"},{\"op\":\"add\",\"path\":\"/"
         "2\",\"value\":4}]"},
        {"[1,2,3]", "[1,9,3]", "[{\"op\":\"replace\",\"path\":\"/1\",\"value\":9}]"},
        {"[1,2,3,4]", "[4,3,2,1]", NULL},
        {"[]", "[1,2]",
         "[{\"op\":\"add\",\"path\":\"/0\",\"value\":1},{\"op\":\"add\",\"path\":\"/"
         "1\",\"value\":2}]"},
        {"1", "[]", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]"},
        {"{\"a\":{\"b\":[{\"c\":1,\"k\":7},2]}}", "{\"a\":{\"b\":[{\"c\":3,\"k\":7},2]}}",
         "[{\"op\":\"replace\",\"path\":\"/a/b/0/c\",\"value\":3}]"},
        {"{\"a/b\":1,\"m~n\":2,\"x\":0}", "{\"m~n\":3,\"x\":0,\"q\\\"\\n\":4}",
         "[{\"op\":\"replace\",\"path\":\"/m~0n\",\"value\":3},{\"op\":\"remove\",\"path\":\"/"
         "a~1b\"},"
         "{\"op\":\"add\",\"path\":\"/q\\\"\\n\",\"value\":4}]"},
        {"{\"old\":{\"deep\":[1,2,3]},\"x\":0}", "{\"x\":0,\"new\":{\"deep\":[1,2,3]}}",
         "[{\"op\":\"move\",\"from\":\"/old\",\"path\":\"/new\"}]"},
        {"{\"a\":[1,2],\"b\":[3]}", "{\"a\":[2],\"b\":[3,4]}",
         "[{\"op\":\"add\",\"path\":\"/b/1\",\"value\":4},{\"op\":\"remove\",\"path\":\"/a/0\"}]"},
        /* An element changes inside and moves: the change is named at the old place. */
        {"[{\"id\":1,\"v\":[1,2]},{\"id\":2,\"v\":[3,4]}]",
         "[{\"id\":2,\"v\":[3,5]},{\"id\":1,\"v\":[1,2]}]",
         "[{\"op\":\"replace\",\"path\":\"/1/v/1\",\"value\":5},{\"op\":\"move\",\"from\":\"/"
         "1\",\"path\":\"/0\"}]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_json_tree a = parsed(&arena, CASES[i].a);
        struct sirix_json_tree b = parsed(&arena, CASES[i].b);
        struct sirix_json_tree patch = patch_of(&a, &b);

        if (CASES[i].patch != NULL) {
            assert_string_equal(printed(&arena, patch.root), CASES[i].patch);
        }
    }
}

static void every_digit_of_a_number_counts(void **state)
{
    struct sirix_json_tree a =
        parsed(&arena, "{\"d\":0.1234567890123456789012345,\"i\":123456789012345678901234567890}");
    struct sirix_json_tree b =
        parsed(&arena, "{\"d\":0.1234567890123456789012346,\"i\":123456789012345678901234567891}");
    struct sirix_json_tree patch = patch_of(&a, &b);

    (void)state;
    assert_string_equal(
        printed(&arena, patch.root),
        "[{\"op\":\"replace\",\"path\":\"/d\",\"value\":0.1234567890123456789012346},"
        "{\"op\":\"replace\",\"path\":\"/i\",\"value\":123456789012345678901234567891}]");
}

/* A 10 KB object whose one member holds everything, told apart by n. */
static void add_big(struct sirix_buf *out, int n, const char *changed)
{
    assert_int_equal(sirix_buf_printf(out, NULL, "{\"data\":{\"changed\":%s", changed), SIRIX_OK);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(
            sirix_buf_printf(out, NULL, ",\"member%d\":[%d,\"text %d of %d\"]", i, i * n, i, n),
            SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(out, "}}", NULL), SIRIX_OK);
}

static void swapped_big_objects_are_moved_and_changed_inside(void **state)
{
    struct sirix_buf text_a;
    struct sirix_buf text_b;
    const char *json_a = NULL;
    const char *json_b = NULL;

    (void)state;
    sirix_buf_init(&text_a, SIZE_MAX);
    sirix_buf_init(&text_b, SIZE_MAX);
    assert_int_equal(sirix_buf_append_u8(&text_a, '[', NULL), SIRIX_OK);
    add_big(&text_a, 1, "{\"x\":[1]}");
    assert_int_equal(sirix_buf_append_u8(&text_a, ',', NULL), SIRIX_OK);
    add_big(&text_a, 2, "{\"x\":[1]}");
    assert_int_equal(sirix_buf_append_u8(&text_a, ']', NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_u8(&text_b, '[', NULL), SIRIX_OK);
    add_big(&text_b, 2, "{\"x\":[7]}");
    assert_int_equal(sirix_buf_append_u8(&text_b, ',', NULL), SIRIX_OK);
    add_big(&text_b, 1, "{\"x\":[1]}");
    assert_int_equal(sirix_buf_append_u8(&text_b, ']', NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&text_a, &json_a, NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&text_b, &json_b, NULL), SIRIX_OK);
    assert_true(text_a.len > 16000);
    struct sirix_json_tree a = parsed(&arena, json_a);
    struct sirix_json_tree b = parsed(&arena, json_b);
    struct sirix_json_tree patch = patch_of(&a, &b);
    assert_string_equal(printed(&arena, patch.root),
                        "[{\"op\":\"replace\",\"path\":\"/1/data/changed/x/0\",\"value\":7},"
                        "{\"op\":\"move\",\"from\":\"/1\",\"path\":\"/0\"}]");
    sirix_buf_deinit(&text_a);
    sirix_buf_deinit(&text_b);
}

/* --- Growth ----------------------------------------------------------------------------------- */

/* An array of count numbers i % modulus (0: i), of which every step-th is kept. */
static struct sirix_json_tree numbers(int count, int modulus, int step)
{
    struct sirix_json_tree tree;
    struct sirix_json_node *node = NULL;

    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_new(&tree, SIRIX_JSON_KIND_ARRAY, &tree.root, NULL), SIRIX_OK);
    for (int i = 0; i < count; i += step) {
        assert_int_equal(sirix_json_new_i64(&tree, modulus == 0 ? i : i % modulus, &node, NULL),
                         SIRIX_OK);
        sirix_json_array_append(tree.root, node);
    }
    return tree;
}

static void large_arrays_thinned_out_give_one_remove_for_each_lost_element(void **state)
{
    static const int MODULI[] = {0, 10, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof(MODULI) / sizeof(MODULI[0]); i++) {
        struct sirix_json_tree a = numbers(65536, MODULI[i], 1);
        struct sirix_json_tree b = numbers(65536, MODULI[i], 2);
        struct sirix_json_tree none = numbers(0, 0, 1);
        uint64_t start = sirix_clock_monotonic_ns(sirix_clock_system());
        struct sirix_json_tree patch = patch_of(&a, &b);
        uint64_t ns = sirix_clock_monotonic_ns(sirix_clock_system()) - start;

        assert_int_equal(sirix_json_count(patch.root), 32768);
        print_message("65536 elements, modulus %d: diff and apply %llu ms\n", MODULI[i],
                      (unsigned long long)(ns / 1000000));
        patch = patch_of(&a, &none);
        assert_string_equal(printed(&arena, patch.root),
                            "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]");
        patch = patch_of(&b, &a);
        assert_int_equal(sirix_json_count(patch.root), 32768);
    }
}

static void a_few_edits_in_a_large_array_of_few_values_stay_few_operations(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct sirix_json_tree a = numbers(0, 0, 1);
        struct sirix_json_tree b = numbers(0, 0, 1);

        for (int i = 0; i < 5000; i++) {
            struct sirix_json_node *node = NULL;
            int64_t value = (int64_t)(next_random(&seed) % 3);
            bool lost = next_random(&seed) % 250 == 0;

            assert_int_equal(sirix_json_new_i64(&a, value, &node, NULL), SIRIX_OK);
            sirix_json_array_append(a.root, node);
            if (!lost) {
                assert_int_equal(sirix_json_new_i64(&b, value, &node, NULL), SIRIX_OK);
                sirix_json_array_append(b.root, node);
            }
        }
        size_t lost = sirix_json_count(a.root) - sirix_json_count(b.root);
        struct sirix_json_tree patch = patch_of(&a, &b);
        assert_int_equal(sirix_json_count(patch.root), lost);
    }
}

/* --- Random values ---------------------------------------------------------------------------- */

static struct sirix_json_node *random_value(struct sirix_json_tree *tree, uint64_t *seed, int depth)
{
    static const char *const NUMBERS[] = {"1", "1.0", "1e0", "-0", "12345678901234567890", "2"};
    static const char *const STRINGS[] = {"", "a", "\\n", "a string that is longer than others"};
    struct sirix_json_node *node = NULL;
    uint64_t choice = next_random(seed) % (depth > 0 ? 10 : 6);

    if (choice < 2) {
        assert_int_equal(
            sirix_json_new_number(tree, text(NUMBERS[next_random(seed) % 6]), &node, NULL),
            SIRIX_OK);
    } else if (choice < 4) {
        assert_int_equal(
            sirix_json_new_string(tree, text(STRINGS[next_random(seed) % 4]), &node, NULL),
            SIRIX_OK);
    } else if (choice < 6) {
        assert_int_equal(sirix_json_new_bool(tree, choice == 4, &node, NULL), SIRIX_OK);
    } else {
        bool is_object = choice >= 8;

        assert_int_equal(sirix_json_new(tree,
                                        is_object ? SIRIX_JSON_KIND_OBJECT : SIRIX_JSON_KIND_ARRAY,
                                        &node, NULL),
                         SIRIX_OK);
        for (uint64_t i = next_random(seed) % 7; i > 0; i--) {
            static const char *const NAMES[] = {"a", "b", "c", "", "~", "/", "0", "\\\"", "-"};
            struct sirix_json_node *child = random_value(tree, seed, depth - 1);

            if (is_object) {
                assert_int_equal(sirix_json_object_set_str(tree, node, NAMES[next_random(seed) % 9],
                                                           child, NULL),
                                 SIRIX_OK);
            } else {
                sirix_json_array_append(node, child);
            }
        }
    }
    return node;
}

/* Changes a copy of a value at random places: drops, doubles, moves and replaces. */
static void shake(struct sirix_json_tree *tree, uint64_t *seed)
{
    for (uint64_t changes = next_random(seed) % 4 + 1; changes > 0; changes--) {
        struct sirix_json_node *node = tree->root;

        for (uint64_t steps = next_random(seed) % 30; steps > 0; steps--) {
            struct sirix_json_node *next = sirix_json_walk(tree->root, node);
            node = next == NULL ? node : next;
        }
        struct sirix_json_node *parent = node->parent;
        if (parent == NULL) {
            continue;
        }
        if (parent->kind == SIRIX_JSON_KIND_ARRAY && next_random(seed) % 3 == 0) {
            size_t to = next_random(seed) % sirix_json_count(parent);
            struct sirix_json_node *before = NULL;

            sirix_json_detach(node);
            before = sirix_json_element(tree, parent, to);
            sirix_json_array_insert(parent, before, node);
        } else if (next_random(seed) % 2 == 0) {
            sirix_json_detach(node);
        } else if (parent->kind == SIRIX_JSON_KIND_OBJECT) {
            assert_int_equal(sirix_json_object_set(tree, parent, node->name,
                                                   random_value(tree, seed, 2), NULL, NULL),
                             SIRIX_OK);
        } else {
            sirix_json_array_insert(parent, node, random_value(tree, seed, 2));
        }
    }
}

static void the_patch_of_any_two_values_leads_from_one_to_the_other(void **state)
{
    uint64_t seed = 12;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        struct sirix_json_tree a;
        struct sirix_json_tree b;

        sirix_arena_reset(&arena);
        assert_int_equal(sirix_json_tree_init(&a, &arena, NULL), SIRIX_OK);
        b = a;
        a.root = random_value(&a, &seed, 4);
        if (round % 2 == 0) {
            b.root = random_value(&b, &seed, 4);
        } else {
            assert_int_equal(sirix_json_clone(&b, a.root, &b.root, NULL), SIRIX_OK);
            shake(&b, &seed);
        }
        (void)patch_of(&a, &b);
    }
}

static void permutations_are_done_by_moves_alone(void **state)
{
    uint64_t seed = 13;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct sirix_json_tree a = numbers(20, 0, 1);
        struct sirix_json_tree b = a;

        assert_int_equal(sirix_json_clone(&b, a.root, &b.root, NULL), SIRIX_OK);
        for (int i = 0; i < 30; i++) {
            struct sirix_json_node *node = sirix_json_element(&b, b.root, next_random(&seed) % 20);

            sirix_json_detach(node);
            sirix_json_array_insert(b.root, sirix_json_element(&b, b.root, next_random(&seed) % 20),
                                    node);
        }
        struct sirix_json_tree patch = patch_of(&a, &b);
        assert_true(sirix_json_count(patch.root) < 20);
        for (struct sirix_json_node *op = sirix_json_first(patch.root); op != NULL; op = op->next) {
            assert_true(sirix_bytes_equal(sirix_json_member_str(&patch, op, "op")->value.text,
                                          text("move")));
        }
    }
}

/* --- Applying --------------------------------------------------------------------------------- */

static void a_refused_patch_names_the_operation_and_changes_nothing(void **state)
{
    static const char DOC[] = "{\"a\":[1,2,{\"n\":1}],\"b\":{\"x\":1,\"y\":2,\"z\":3}}";
    static const struct {
        const char *patch;
        enum sirix_reason reason;
        const char *pointer;
        const char *sentence;
    } CASES[] = {
        {"[{\"op\":\"remove\",\"path\":\"/b/y\"},{\"op\":\"test\",\"path\":\"/a/2/"
         "n\",\"value\":1.5}]",
         SIRIX_REASON_PATCH_TEST, "/a/2/n", "operation 1 of the patch (test)"},
        {"[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a/1\"},{\"op\":\"remove\",\"path\":\"/"
         "b\"}]",
         SIRIX_REASON_PATCH_TARGET, "/b", "operation 1 of the patch (remove)"},
        {"[{\"op\":\"replace\",\"path\":\"/b/x\",\"value\":0},{\"op\":\"add\",\"path\":\"/b/"
         "x\",\"value\":5},"
         "{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/c\"},{\"op\":\"move\",\"from\":\"/b/"
         "z\",\"path\":\"/b/w\"},"
         "{\"op\":\"remove\",\"path\":\"/a/0\"},{\"op\":\"replace\",\"path\":\"\",\"value\":[]},"
         "{\"op\":\"add\",\"path\":\"/7\",\"value\":1}]",
         SIRIX_REASON_PATCH_TARGET, "/7", "operation 6 of the patch (add)"},
        {"[{\"op\":\"remove\",\"path\":\"/b/z\"},{\"op\":\"jump\",\"path\":\"/b\"}]",
         SIRIX_REASON_FIELD_INVALID, "", "operation 1 of the patch: \"op\""},
        {"[7]", SIRIX_REASON_FIELD_INVALID, "", "operation 0 of the patch is not an object"},
        {"[{\"op\":7}]", SIRIX_REASON_FIELD_INVALID, "",
         "operation 0 of the patch: \"op\" is not a string"},
        {"[{\"op\":\"add\",\"path\":\"/c\"}]", SIRIX_REASON_FIELD_MISSING, "",
         "operation 0 of the patch: \"value\" is missing"},
        {"[{\"op\":\"add\",\"path\":\"x\",\"value\":1}]", SIRIX_REASON_FIELD_INVALID, "",
         "operation 0 of the patch: \"path\" is not a JSON pointer"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_json_tree doc = parsed(&arena, DOC);
        struct sirix_json_tree patch = parsed(&arena, CASES[i].patch);
        struct sirix_error err = {0};

        assert_int_equal(sirix_json_patch_apply(&doc, &patch, patch.root, NULL, &err),
                         SIRIX_INVALID);
        assert_int_equal(err.reason, CASES[i].reason);
        assert_string_equal(err.pointer, CASES[i].pointer);
        assert_memory_equal(err.text, CASES[i].sentence, strlen(CASES[i].sentence));
        assert_string_equal(printed(&arena, doc.root), DOC);
    }
}

/* An index made in the wrong arena would be found by the address sanitizer. */
static void b_and_the_patch_outlive_a(void **state)
{
    struct sirix_json_tree a;
    struct sirix_json_tree b;
    struct sirix_json_tree patch;
    struct sirix_arena a_arena;
    struct sirix_arena b_arena;
    struct sirix_buf buf;
    const char *json = NULL;

    (void)state;
    sirix_buf_init(&buf, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&buf, "[7", NULL), SIRIX_OK);
    for (int i = 0; i < 200; i++) { /* Equal objects, the second with its members backwards. */
        assert_int_equal(sirix_buf_printf(&buf, NULL, "%s\"k%d\":1", i % 100 == 0 ? ",{" : ",",
                                          i < 100 ? i : 199 - i),
                         SIRIX_OK);
        if (i % 100 == 99) {
            assert_int_equal(sirix_buf_append_str(&buf, "}", NULL), SIRIX_OK);
        }
    }
    assert_int_equal(sirix_buf_append_str(&buf, "]", NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&buf, &json, NULL), SIRIX_OK);
    sirix_arena_init(&a_arena, SIZE_MAX);
    sirix_arena_init(&b_arena, SIZE_MAX);
    a = parsed(&a_arena, "[7]");
    b = parsed(&b_arena, json);
    /* A clone has no indexes yet. */
    assert_int_equal(sirix_json_clone(&b, b.root, &b.root, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_init(&patch, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_patch_diff(&a, a.root, &b, b.root, &patch, NULL, NULL), SIRIX_OK);
    sirix_arena_deinit(&a_arena);

    for (size_t i = 1; i <= 2; i++) {
        struct sirix_json_node *object = sirix_json_element(&b, b.root, i);

        assert_non_null(sirix_json_member_str(&b, object, "k50"));
    }
    assert_int_equal(sirix_json_count(patch.root), 2);
    assert_true(strlen(printed(&arena, patch.root)) > buf.len);
    sirix_arena_deinit(&b_arena);
    sirix_buf_deinit(&buf);
}

static void limits_are_refused_with_their_numbers(void **state)
{
    const struct sirix_json_patch_options options = {.max_ops = 2, .depth_max = 3};
    struct sirix_json_tree a = parsed(&arena, "[1,2,3]");
    struct sirix_json_tree b = parsed(&arena, "[4,5,6]");
    struct sirix_json_tree patch;
    struct sirix_error err = {0};

    (void)state;
    assert_int_equal(sirix_json_tree_init(&patch, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_patch_diff(&a, a.root, &b, b.root, &patch, &options, &err),
                     SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_string_equal(err.text, "the patch needs 3 operations; at most 2 are allowed");
    assert_null(patch.root);

    patch = patch_of(&a, &b);
    assert_int_equal(sirix_json_patch_apply(&a, &patch, patch.root, &options, &err),
                     SIRIX_EXHAUSTED);
    assert_non_null(strstr(err.text, "has 3 operations; at most 2"));

    patch = parsed(&arena, "[{\"op\":\"add\",\"path\":\"/0\",\"value\":[[1]]},"
                           "{\"op\":\"add\",\"path\":\"/0/0/0\",\"value\":[]}]");
    assert_int_equal(sirix_json_patch_apply(&a, &patch, patch.root, &options, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_DEPTH_LIMIT);
    assert_string_equal(printed(&arena, a.root), "[1,2,3]");
}

static void patches_survive_the_failure_of_any_allocation(void **state)
{
    static const char A[] =
        "{\"k\":[{\"id\":1,\"t\":\"x\"},{\"id\":2,\"t\":\"y\"},3,4,5,3],\"o\":{\"v\":[1,2]}}";
    static const char B[] =
        "{\"k\":[{\"id\":2,\"t\":\"z\"},3,5,4,{\"id\":1,\"t\":\"x\"}],\"p\":{\"v\":[1,2]},\"q\":0}";
    int failures = 0;

    (void)state;
    for (long failing = 0;; failing++) {
        struct sirix_json_tree a;
        struct sirix_json_tree b;
        struct sirix_json_tree patch;
        struct sirix_arena small;

        sirix_arena_reset(&arena);
        a = parsed(&arena, A);
        b = parsed(&arena, B);
        sirix_arena_init(&small, SIZE_MAX);
        patch = b;
        patch.arena = &small;
        patch.root = NULL;
        alloc_fault_arm(failing);
        enum sirix_status status =
            sirix_json_patch_diff(&a, a.root, &b, b.root, &patch, NULL, NULL);
        if (status == SIRIX_OK) {
            status = sirix_json_patch_apply(&a, &patch, patch.root, NULL, NULL);
        }
        alloc_fault_disarm();
        if (status == SIRIX_OK) {
            assert_true(sirix_json_same_text(&a, a.root, &b, b.root, false));
        } else {
            assert_int_equal(status, SIRIX_NO_MEMORY);
            assert_string_equal(printed(&arena, a.root), A);
            failures++;
        }
        sirix_arena_deinit(&small);
        if (status == SIRIX_OK) {
            break;
        }
    }
    assert_true(failures > 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patches_are_what_a_person_would_write),
        TEST(every_digit_of_a_number_counts),
        TEST(swapped_big_objects_are_moved_and_changed_inside),
        TEST(large_arrays_thinned_out_give_one_remove_for_each_lost_element),
        TEST(a_few_edits_in_a_large_array_of_few_values_stay_few_operations),
        TEST(the_patch_of_any_two_values_leads_from_one_to_the_other),
        TEST(permutations_are_done_by_moves_alone),
        TEST(a_refused_patch_names_the_operation_and_changes_nothing),
        TEST(b_and_the_patch_outlive_a),
        TEST(limits_are_refused_with_their_numbers),
        TEST(patches_survive_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
