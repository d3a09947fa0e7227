/* Applying diffs: to the old revision, where it gives the new one; to others, where it checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "store/document/apply.h"
#include "unit/document_diff/support.h"
#include "json/tree.h"

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

/* Applies the diff of two views to the head of a branch, and commits. */
static enum sirix_status apply_to(struct fixture *f, const struct sirix_view *before,
                                  const struct sirix_view *after, const char *branch,
                                  struct sirix_map *keys, struct sirix_apply_counts *result,
                                  struct sirix_error *err)
{
    const struct sirix_diff_options options = {
        .old_view = before, .new_view = after, .reader = f->reader};
    struct sirix_diff *diff = NULL;
    struct sirix_edit *edit = NULL;
    struct sirix_view head;
    enum sirix_status status = SIRIX_OK;

    branch_head(f, branch, &head);
    assert_int_equal(sirix_edit_new(&head, f->reader, &edit, err), SIRIX_OK);
    assert_int_equal(sirix_diff_new(&options, &diff, err), SIRIX_OK);
    status = sirix_apply(diff, edit, keys, result, err);
    sirix_diff_free(diff);
    if (status == SIRIX_OK) {
        (void)fixture_commit(f, edit, &head);
    } else {
        fixture_drop(edit, &head);
    }
    return status;
}

static char *branch_text(struct fixture *f, const char *branch)
{
    struct sirix_view view;
    char *text = NULL;

    branch_head(f, branch, &view);
    text = text_of_view(f, &view, 0);
    sirix_view_close(&view);
    return text;
}

static bool same_value(const char *a, const char *b)
{
    struct sirix_arena arena;
    struct sirix_json_tree tree_a;
    struct sirix_json_tree tree_b;
    bool same = false;

    sirix_arena_init(&arena, SIZE_MAX);
    assert_int_equal(sirix_json_tree_init(&tree_a, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_init(&tree_b, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree_a, bytes_of(a), NULL, NULL, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree_b, bytes_of(b), NULL, NULL, NULL), SIRIX_OK);
    same = sirix_json_same_text(&tree_a, tree_a.root, &tree_b, tree_b.root, false);
    sirix_arena_deinit(&arena);
    return same;
}

/* --- The old revision itself -------------------------------------------------------------------- */

static void applied_to_the_old_revision_a_diff_gives_the_new_one(void **state)
{
    enum { ROUNDS = 6, REVISIONS = 8 };
    uint64_t rounds = test_rounds(ROUNDS);
    unsigned identical = 0;
    unsigned all = 0;

    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        struct fixture f;
        struct sirix_view views[REVISIONS];
        char *texts[REVISIONS];
        uint64_t random = round * 31 + 7;

        fixture_open(&f);
        import_text(&f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
        for (size_t i = 0; i < REVISIONS; i++) {
            random_commit(&f, &random, 1 + random_below(&random, 12));
            fixture_head(&f, &views[i]);
            texts[i] = text_of_view(&f, &views[i], 0);
        }
        for (size_t a = 0; a < REVISIONS; a++) {
            for (size_t b = 0; b < REVISIONS; b++) {
                struct sirix_apply_counts result = {0};
                struct sirix_error err = {0};
                struct sirix_map keys;
                char branch[32];
                char *text = NULL;

                sirix_map_init(&keys);
                (void)snprintf(branch, sizeof(branch), "b-%zu-%zu", a, b);
                make_branch(&views[a], branch);
                if (apply_to(&f, &views[a], &views[b], branch, &keys, &result, &err) != SIRIX_OK) {
                    fail_msg("%s at %s\nfrom %s\nto %s", err.text, err.pointer, texts[a], texts[b]);
                }
                text = branch_text(&f, branch);
                if (!same_value(text, texts[b])) {
                    fail_msg("from %s\nto %s\ngot %s", texts[a], texts[b], text);
                }
                identical += strcmp(text, texts[b]) == 0 ? 1 : 0;
                all += 1;
                free(text);
                sirix_map_deinit(&keys);
            }
        }
        for (size_t i = 0; i < REVISIONS; i++) {
            free(texts[i]);
            sirix_view_close(&views[i]);
        }
        fixture_close(&f);
    }
    print_message("%u of %u identical, member order included\n", identical, all);
    assert_true(identical * 2 > all);
}

/* --- Other revisions ---------------------------------------------------------------------------- */

enum { EDITS_MAX = 4 };

/* Edits of main or of the other branch: update, insert, delete or rename by pointer. */
struct change {
    char kind; /* u, i, d, r, m; 0: none. */
    const char *pointer;
    const char *text;
    const char *name;
    uint64_t index;
};

static void change_branch(struct fixture *f, const char *branch, const struct change *changes)
{
    for (size_t i = 0; i < EDITS_MAX && changes[i].kind != 0; i++) {
        struct sirix_view view;
        struct sirix_document document;
        struct sirix_edit *edit = NULL;
        struct sirix_error err = {0};
        uint64_t key = 0;
        uint64_t moved = 0;
        bool changed = false;

        branch_head(f, branch, &view);
        sirix_document_init(&document, &view, f->reader);
        assert_int_equal(sirix_document_resolve(&document, SIRIX_PATH_POINTER,
                                                bytes_of(changes[i].pointer), &key, &err),
                         SIRIX_OK);
        assert_int_equal(sirix_edit_new(&view, f->reader, &edit, &err), SIRIX_OK);
        switch (changes[i].kind) {
        case 'u':
            (void)edit_update(edit, key, changes[i].text);
            break;
        case 'i':
            (void)edit_insert(edit, key, SIRIX_PLACE_INDEX, changes[i].index, changes[i].name,
                              changes[i].text);
            break;
        case 'd':
            (void)edit_delete(edit, key);
            break;
        case 'r':
            assert_int_equal(
                sirix_edit_rename(edit, key, bytes_of(changes[i].text), &changed, &err), SIRIX_OK);
            break;
        default: {
            struct sirix_document_node node;
            assert_int_equal(sirix_edit_get(edit, key, &node, &err), SIRIX_OK);
            const struct sirix_edit_move move = {.key = key,
                                                 .target = node.parent,
                                                 .place = SIRIX_PLACE_INDEX,
                                                 .index = changes[i].index};
            assert_int_equal(sirix_edit_move(edit, &move, &moved, &changed, &err), SIRIX_OK);
            break;
        }
        }
        (void)fixture_commit(f, edit, &view);
    }
}

static void changes_of_one_branch_merge_into_another_or_conflict(void **state)
{
    static const struct {
        const char *base;
        struct change here[EDITS_MAX];  /* On main: the diff. */
        struct change there[EDITS_MAX]; /* On the other branch: the target. */
        const char *expected;           /* NULL: a conflict, */
        const char *pointer;            /* here. */
    } cases[] = {
        {"{\"a\":1,\"b\":2}",
         {{'u', "/a", "5", NULL, 0}},
         {{'u', "/b", "6", NULL, 0}},
         "{\"a\":5,\"b\":6}",
         NULL},
        {"{\"a\":1}", {{'u', "/a", "5", NULL, 0}}, {{'u', "/a", "6", NULL, 0}}, NULL, "/a"},
        {"{\"a\":1}", {{'u', "/a", "5", NULL, 0}}, {{'u', "/a", "5", NULL, 0}}, "{\"a\":5}", NULL},
        /* The same value in other words is no conflict. */
        {"{\"a\":1.1}",
         {{'u', "/a", "5", NULL, 0}},
         {{'u', "/a", "1.10", NULL, 0}},
         "{\"a\":5}",
         NULL},
        {"{\"a\":1}", {{'u', "/a", "5", NULL, 0}}, {{'d', "/a", NULL, NULL, 0}}, NULL, "/a"},
        {"{\"a\":1,\"b\":1}",
         {{'d', "/a", NULL, NULL, 0}},
         {{'d', "/a", NULL, NULL, 0}, {'u', "/b", "3", NULL, 0}},
         "{\"b\":3}",
         NULL},
        {"{\"a\":1}", {{'d', "/a", NULL, NULL, 0}}, {{'u', "/a", "2", NULL, 0}}, NULL, "/a"},
        {"{\"a\":1}", {{'d', "/a", NULL, NULL, 0}}, {{'u', "/a", "[]", NULL, 0}}, NULL, "/a"},
        {"{\"a\":1}", {{'r', "/a", "c", NULL, 0}}, {{'u', "/a", "2", NULL, 0}}, "{\"c\":2}", NULL},
        {"{\"a\":1}", {{'r', "/a", "c", NULL, 0}}, {{'r', "/a", "d", NULL, 0}}, NULL, "/a"},
        {"{\"a\":1}", {{'r', "/a", "c", NULL, 0}}, {{'r', "/a", "c", NULL, 0}}, "{\"c\":1}", NULL},
        {"{\"a\":1}", {{'r', "/a", "c", NULL, 0}}, {{'i', "", "9", "c", 0}}, NULL, "/a"},
        /* Two names change places. */
        {"{\"a\":1,\"b\":2}",
         {{'r', "/a", "t", NULL, 0}, {'r', "/b", "a", NULL, 0}, {'r', "/t", "b", NULL, 0}},
         {{'u', "/a", "7", NULL, 0}},
         "{\"b\":7,\"a\":2}",
         NULL},
        {"[1,2,3]", {{'i', "", "9", NULL, 1}}, {{'i', "", "8", NULL, 3}}, "[1,9,2,3,8]", NULL},
        {"[1,2,3]", {{'i', "", "9", NULL, 1}}, {{'d', "/0", NULL, NULL, 0}}, NULL, "/1"},
        {"[1,2,3]", {{'i', "", "9", NULL, 0}}, {{'d', "/0", NULL, NULL, 0}}, "[9,2,3]", NULL},
        {"[1,2,3]", {{'m', "/2", NULL, NULL, 0}}, {{'i', "", "8", NULL, 3}}, "[3,1,2,8]", NULL},
        {"[1,2,3]", {{'m', "/2", NULL, NULL, 0}}, {{'d', "/2", NULL, NULL, 0}}, NULL, "/2"},
        {"{\"a\":{}}",
         {{'i', "/a", "1", "x", 0}},
         {{'i', "/a", "2", "y", 0}},
         "{\"a\":{\"x\":1,\"y\":2}}",
         NULL},
        {"{\"a\":{}}", {{'i', "/a", "1", "x", 0}}, {{'i', "/a", "2", "x", 0}}, NULL, "/a/x"},
        {"{\"a\":{}}",
         {{'i', "/a", "1", "x", 0}},
         {{'i', "/a", "1", "x", 0}},
         "{\"a\":{\"x\":1}}",
         NULL},
        {"{\"a\":{}}", {{'i', "/a", "1", "x", 0}}, {{'u', "/a", "[]", NULL, 0}}, NULL, "/a/x"},
        {"{\"a\":{}}", {{'i', "/a", "1", "x", 0}}, {{'d', "/a", NULL, NULL, 0}}, NULL, "/a/x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_view before;
        struct sirix_view after;
        struct sirix_apply_counts result = {0};
        struct sirix_error err = {0};
        enum sirix_status status = SIRIX_OK;
        char *text = NULL;

        fixture_open(&f);
        import_text(&f, cases[i].base);
        fixture_head(&f, &before);
        make_branch(&before, "other");
        change_branch(&f, "main", cases[i].here);
        change_branch(&f, "other", cases[i].there);
        fixture_head(&f, &after);
        status = apply_to(&f, &before, &after, "other", NULL, &result, &err);
        text = branch_text(&f, "other");
        if (cases[i].expected != NULL) {
            if (status != SIRIX_OK || strcmp(text, cases[i].expected) != 0) {
                fail_msg("case %zu (%s): %s %s: %s", i, cases[i].base, sirix_status_name(status),
                         err.text, text);
            }
        } else if (status != SIRIX_CONFLICT || err.reason != SIRIX_REASON_APPLY_CONFLICT ||
                   strcmp(err.pointer, cases[i].pointer) != 0) {
            fail_msg("case %zu (%s): %s at %s: %s", i, cases[i].base, sirix_status_name(status),
                     err.pointer, text);
        }
        free(text);
        sirix_view_close(&before);
        sirix_view_close(&after);
        fixture_close(&f);
    }
}

/* The diff of the result with the new revision is empty: also the keys of its top nodes are the same. */
static void applied_twice_everything_is_there_already(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_view head;
    struct sirix_apply_counts result = {0};
    struct sirix_error err = {0};
    char *text = NULL;
    static const struct change changes[2][EDITS_MAX] = {
        {{'u', "/n0/1", "{\"t\":true}", NULL, 0},
         {'d', "/n0/3", NULL, NULL, 0},
         {'i', "/n0", "{\"x\":{\"y\":1}}", NULL, 2},
         {'m', "/n0/6", NULL, NULL, 0}},
        {{'r', "/n1", "n9", NULL, 0}, {'u', "/n9/n2", "7", NULL, 0}, {'i', "", "\"z\"", "n1", 2}},
    };

    import_text(f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
    fixture_head(f, &before);
    make_branch(&before, "other");
    change_branch(f, "main", changes[0]);
    change_branch(f, "main", changes[1]);
    fixture_head(f, &after);

    assert_int_equal(apply_to(f, &before, &after, "other", NULL, &result, &err), SIRIX_OK);
    assert_int_equal(result.applied, 7);
    assert_int_equal(result.already, 0);
    branch_head(f, "other", &head);
    text = diff_text(f, &head, &after, 0, 0);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(apply_to(f, &before, &after, "other", NULL, &result, &err), SIRIX_OK);
    assert_int_equal(result.applied, 0);
    assert_int_equal(result.already, 7);
    sirix_view_close(&head);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

/* An element that another branch inserted under the key it has there: no two nodes share a key. */
static void a_key_that_is_taken_gives_a_new_one_and_the_map_tells(void **state)
{
    struct fixture *f = *state;
    struct sirix_view base;
    struct sirix_view moved;
    struct sirix_apply_counts result = {0};
    struct sirix_error err = {0};
    struct sirix_map keys;
    char *text = NULL;
    uint64_t key = 0;
    uint64_t made = 0;

    /* Between base and moved, an element went to another parent: an insert under a key that the
     * target still has elsewhere, because there the delete has no effect on its copy. */
    import_text(f, "{\"p\":[1],\"q\":[]}");
    fixture_head(f, &base);
    key = key_at(f, "/p/0");
    make_branch(&base, "other");
    {
        struct sirix_view view;
        struct sirix_edit *edit = fixture_edit(f, &view);
        const struct sirix_edit_move move = {
            .key = key, .target = 0, .place = SIRIX_PLACE_FIRST_CHILD};
        struct sirix_edit_move to_q = move;
        bool changed = false;

        to_q.target = key_at(f, "/q");
        assert_int_equal(sirix_edit_move(edit, &to_q, &made, &changed, &err), SIRIX_OK);
        (void)fixture_commit(f, edit, &view);
    }
    fixture_head(f, &moved);
    sirix_map_init(&keys);
    /* Only the part below q: the element stays below p as well. */
    {
        const struct sirix_diff_options options = {
            .old_view = &base, .new_view = &moved, .reader = f->reader, .start = key_at(f, "/q")};
        struct sirix_diff *diff = NULL;
        struct sirix_edit *edit = NULL;
        struct sirix_view head;

        branch_head(f, "other", &head);
        assert_int_equal(sirix_edit_new(&head, f->reader, &edit, &err), SIRIX_OK);
        assert_int_equal(sirix_diff_new(&options, &diff, &err), SIRIX_OK);
        assert_int_equal(sirix_apply(diff, edit, &keys, &result, &err), SIRIX_OK);
        sirix_diff_free(diff);
        (void)fixture_commit(f, edit, &head);
    }
    text = branch_text(f, "other");
    assert_string_equal(text, "{\"p\":[1],\"q\":[1]}");
    assert_int_equal(result.applied, 1);
    assert_true(sirix_map_get(&keys, key, &made));
    assert_int_not_equal(made, key);
    free(text);
    sirix_map_deinit(&keys);
    sirix_view_close(&base);
    sirix_view_close(&moved);
}

/*
 * The 7 moves from p to q, and a new 7 takes its place: to the diff, p has the same 7 as before. What
 * stands behind it is anchored to the old 7, not to the one that q gets under a new key.
 */
static void anchors_are_found_where_an_equal_element_took_the_place(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    struct sirix_apply_counts result = {0};
    struct sirix_error err = {0};
    uint64_t p = 0;
    uint64_t q = 0;
    uint64_t seven = 0;
    bool changed = false;
    char *text = NULL;

    import_text(f, "{\"p\":[7],\"q\":[]}");
    p = key_at(f, "/p");
    q = key_at(f, "/q");
    seven = key_at(f, "/p/0");
    fixture_head(f, &before);
    make_branch(&before, "other");
    edit = fixture_edit(f, &view);
    const struct sirix_edit_move move = {
        .key = seven, .target = q, .place = SIRIX_PLACE_FIRST_CHILD};
    assert_int_equal(sirix_edit_move(edit, &move, &seven, &changed, &err), SIRIX_OK);
    (void)edit_insert(edit, p, SIRIX_PLACE_LAST_CHILD, 0, NULL, "7");
    (void)edit_insert(edit, p, SIRIX_PLACE_LAST_CHILD, 0, NULL, "8");
    (void)edit_insert(edit, p, SIRIX_PLACE_LAST_CHILD, 0, NULL, "9");
    (void)fixture_commit(f, edit, &view);
    fixture_head(f, &after);

    assert_int_equal(apply_to(f, &before, &after, "other", NULL, &result, &err), SIRIX_OK);
    text = branch_text(f, "other");
    assert_string_equal(text, "{\"p\":[7,8,9],\"q\":[7]}");
    free(text);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

static void large_values_come_along(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_apply_counts result = {0};
    struct sirix_error err = {0};
    struct sirix_buf text;
    char *there = NULL;
    char *here = NULL;

    import_text(f, "{\"a\":null}");
    fixture_head(f, &before);
    make_branch(&before, "other");
    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&text, "[\"", &err), SIRIX_OK);
    assert_int_equal(sirix_buf_append_fill(&text, 'x', 300000, &err), SIRIX_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(sirix_buf_printf(&text, &err, i == 0 ? "\",%d" : ",%d", i), SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append(&text, "]", 2, &err), SIRIX_OK);
    change_branch(f, "main",
                  (const struct change[EDITS_MAX]){{'u', "/a", (const char *)text.data, NULL, 0},
                                                   {'i', "", (const char *)text.data, "b", 1}});
    fixture_head(f, &after);
    assert_int_equal(apply_to(f, &before, &after, "other", NULL, &result, &err), SIRIX_OK);
    there = branch_text(f, "other");
    here = branch_text(f, "main");
    assert_string_equal(there, here);
    free(there);
    free(here);
    sirix_buf_deinit(&text);
    sirix_view_close(&before);
    sirix_view_close(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applied_to_the_old_revision_a_diff_gives_the_new_one),
        cmocka_unit_test_setup_teardown(applied_twice_everything_is_there_already, set_up,
                                        tear_down),
        cmocka_unit_test(changes_of_one_branch_merge_into_another_or_conflict),
        cmocka_unit_test_setup_teardown(a_key_that_is_taken_gives_a_new_one_and_the_map_tells,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(anchors_are_found_where_an_equal_element_took_the_place,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_values_come_along, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("document_apply", tests, NULL, NULL);
}
