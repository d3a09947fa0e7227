/* Native diffs: what is listed, what is not, and the other way round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <inttypes.h>

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

/* --- One kind of change at a time --------------------------------------------------------------- */

enum operation_kind { INSERT, UPDATE, DELETE, RENAME, MOVE };

/* An operation on a node by its pointer in the document before. */
struct operation {
    enum operation_kind kind;
    const char *pointer;
    const char *text; /* Value, or the new name. */
    const char *name; /* Of an inserted member, NULL: an element. */
    uint64_t index;
    const char *target; /* MOVE: the new parent. */
};

static void run(struct fixture *f, const struct operation *operations, size_t count)
{
    uint64_t keys[8] = {0};
    uint64_t targets[8] = {0};
    struct sirix_view view;
    struct sirix_error err = {0};
    struct sirix_edit *edit = NULL;

    for (size_t i = 0; i < count; i++) {
        keys[i] = key_at(f, operations[i].pointer);
        targets[i] = operations[i].target == NULL ? 0 : key_at(f, operations[i].target);
    }
    edit = fixture_edit(f, &view);
    for (size_t i = 0; i < count; i++) {
        const struct operation *operation = &operations[i];
        struct sirix_bytes name = {0};
        uint64_t key = 0;
        bool changed = false;

        switch (operation->kind) {
        case INSERT:
            (void)edit_insert(edit, keys[i], SIRIX_PLACE_INDEX, operation->index, operation->name,
                              operation->text);
            break;
        case UPDATE:
            (void)edit_update(edit, keys[i], operation->text);
            break;
        case DELETE:
            (void)edit_delete(edit, keys[i]);
            break;
        case RENAME:
            assert_int_equal(
                sirix_edit_rename(edit, keys[i], bytes_of(operation->text), &changed, &err),
                SIRIX_OK);
            break;
        case MOVE: {
            struct sirix_edit_move move = {
                .key = keys[i],
                .target = targets[i],
                .place = SIRIX_PLACE_INDEX,
                .index = operation->index,
            };
            if (operation->name != NULL) {
                name = bytes_of(operation->name);
                move.name = &name;
            }
            assert_int_equal(sirix_edit_move(edit, &move, &key, &changed, &err), SIRIX_OK);
            break;
        }
        }
    }
    (void)fixture_commit(f, edit, &view);
}

static void each_change_is_listed_once_and_nothing_else_is(void **state)
{
    static const struct {
        const char *before;
        struct operation operations[4];
        size_t count;
        const char *expected;
    } cases[] = {
        {"{\"w\":1.1}", {{UPDATE, "/w", "1.2", NULL, 0, NULL}}, 1, "update /w 1.1 -> 1.2\n"},
        {"{\"w\":1.1}",
         {{UPDATE, "/w", "1.10", NULL, 0, NULL}},
         1,
         "update /w 1.1 -> 1.10 equal\n"},
        {"[1]", {{UPDATE, "/0", "1.0", NULL, 0, NULL}}, 1, "update /[0] 1 -> 1.0 equal\n"},
        {"[1]", {{UPDATE, "/0", "2", NULL, 0, NULL}}, 1, "update /[0] 1 -> 2\n"},
        {"[1]", {{UPDATE, "/0", "\"1\"", NULL, 0, NULL}}, 1, "replace /[0] 1 -> \"1\"\n"},
        {"[true]", {{UPDATE, "/0", "false", NULL, 0, NULL}}, 1, "update /[0] true -> false\n"},
        {"{\"a\":null}",
         {{UPDATE, "/a", "{\"b\":[1]}", NULL, 0, NULL}},
         1,
         "replace /a null -> {\"b\":[1]}\n"},
        {"{\"a\":{\"b\":[1]}}",
         {{UPDATE, "/a", "7", NULL, 0, NULL}},
         1,
         "replace /a {\"b\":[1]} -> 7\n"},
        {"{\"a\":{\"b\":[1]}}",
         {{UPDATE, "/a", "[2,3]", NULL, 0, NULL}},
         1,
         "replace /a {\"b\":[1]} -> [2,3]\n"},
        {"5", {{UPDATE, "", "\"x\"", NULL, 0, NULL}}, 1, "replace  5 -> \"x\"\n"},
        {"{\"items\":[1,2,3,4,5]}",
         {{DELETE, "/items/1", NULL, NULL, 0, NULL}},
         1,
         "delete /items/[1] 2 at 1 after 4\n"},
        {"[1,2]",
         {{INSERT, "", "[{\"a\":[]}]", NULL, 1, NULL}},
         1,
         "insert /[1] [{\"a\":[]}] at 1 after 2\n"},
        {"{\"a\":1}", {{RENAME, "/a", "b", NULL, 0, NULL}}, 1, "rename /a -> /b\n"},
        {"{\"a\":1}",
         {{RENAME, "/a", "b", NULL, 0, NULL}, {UPDATE, "/a", "2", NULL, 0, NULL}},
         2,
         "rename /a -> /b\nupdate /a 1 -> 2\n"},
        {"{\"a\":{\"c\":1}}",
         {{RENAME, "/a", "b", NULL, 0, NULL}, {UPDATE, "/a/c", "2", NULL, 0, NULL}},
         2,
         "rename /a -> /b\nupdate /a/c 1 -> 2\n"},
        {"[1,2,3]", {{MOVE, "/2", NULL, NULL, 0, ""}}, 1, "move /[2] -> /[0] from 2 to 0\n"},
        /* One element passes two: it is the one that moved, whoever was touched. */
        {"[1,2,3]",
         {{MOVE, "/0", NULL, NULL, 2, ""}, {MOVE, "/1", NULL, NULL, 2, ""}},
         2,
         "move /[2] -> /[0] from 2 to 0\n"},
        {"{\"a\":1,\"b\":2,\"c\":3}", {{MOVE, "/c", NULL, NULL, 0, ""}}, 1, ""},
        /* To another parent: a delete and an insert, whatever changed inside. */
        {"{\"a\":{\"x\":{\"y\":1}},\"b\":{}}",
         {{MOVE, "/a/x", NULL, NULL, 0, "/b"}, {UPDATE, "/a/x/y", "2", NULL, 0, NULL}},
         2,
         "delete /a/x {\"y\":1} at 0 after 0\ninsert /b/x {\"y\":2} at 0 after 0\n"},
        /* Only the tops: what is inside something gone is not listed, even if it changed before. */
        {"{\"a\":{\"b\":{\"c\":1}}}",
         {{UPDATE, "/a/b/c", "2", NULL, 0, NULL}, {DELETE, "/a", NULL, NULL, 0, NULL}},
         2,
         "delete /a {\"b\":{\"c\":1}} at 0 after 0\n"},
        /* A member that is put anew is the same member. */
        {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}",
         {{UPDATE, "", "{\"a\":{\"c\":2,\"d\":1},\"b\":1}", NULL, 0, NULL}},
         1,
         ""},
        {"{\"d\":0.1234567890123456789012345,\"i\":123456789012345678901234567890}",
         {{UPDATE, "", "{\"d\":0.1234567890123456789012346,\"i\":123456789012345678901234567891}",
           NULL, 0, NULL}},
         1,
         "update /d 0.1234567890123456789012345 -> 0.1234567890123456789012346\n"
         "update /i 123456789012345678901234567890 -> 123456789012345678901234567891\n"},
        /* And an array that is put anew lists what is different. */
        {"[1,{\"a\":[2]},3,4]",
         {{UPDATE, "", "[1,{\"a\":[2]},5,3,4]", NULL, 0, NULL}},
         1,
         "insert /[2] 5 at 2 after 10\n"},
        {"[1,1,1,2]", {{UPDATE, "", "[1,1,2]", NULL, 0, NULL}}, 1, "delete /[2] 1 at 2 after 3\n"},
        {"[1,2,3]",
         {{UPDATE, "", "[1,7,3]", NULL, 0, NULL}},
         1,
         "delete /[1] 2 at 1 after 2\ninsert /[1] 7 at 1 after 5\n"},
        {"{\"a\":1,\"a\\u0000b\":2,\"\":3,\"a/b\":5,\"m~n\":6,\"[0]\":7}",
         {{UPDATE, "/", "4", NULL, 0, NULL},
          {UPDATE, "/a~1b", "6", NULL, 0, NULL},
          {UPDATE, "/m~0n", "7", NULL, 0, NULL},
          {UPDATE, "/[0]", "8", NULL, 0, NULL}},
         4,
         "update / 3 -> 4\nupdate /a~1b 5 -> 6\nupdate /m~0n 6 -> 7\nupdate /~20] 7 -> 8\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct sirix_view view;
        char *text = NULL;
        struct sirix_view old_view;

        fixture_open(&f);
        import_text(&f, cases[i].before);
        fixture_head(&f, &old_view);
        run(&f, cases[i].operations, cases[i].count);
        fixture_head(&f, &view);
        text = diff_text(&f, &old_view, &view, 0, 0);
        if (strcmp(text, cases[i].expected) != 0) {
            fail_msg("case %zu, from %s: got\n%swanted\n%s", i, cases[i].before, text,
                     cases[i].expected);
        }
        free(text);
        sirix_view_close(&view);
        sirix_view_close(&old_view);
        fixture_close(&f);
    }
}

static void the_value_of_a_resource_comes_and_goes(void **state)
{
    struct fixture *f = *state;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(f, "[1]"); /* Revision 2. */
    edit = fixture_edit(f, &view);
    (void)edit_delete(edit, 1);
    (void)fixture_commit(f, edit, &view);

    assert_diff(f, 1, 2, "insert  [1] at 0 after 0\n");
    assert_diff(f, 2, 3, "delete  [1] at 0 after 0\n");
    assert_diff(f, 1, 3, "");
    assert_diff(f, 2, 2, "");
}

static void start_and_depth_choose_what_is_listed(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    char *text = NULL;
    const struct operation operations[] = {
        {UPDATE, "/a/b/c/d/e", "2", NULL, 0, NULL},
        {UPDATE, "/x", "3", NULL, 0, NULL},
        {RENAME, "/a/b", "q", NULL, 0, NULL},
    };
    uint64_t b = 0;

    import_text(f, "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":1}}}},\"x\":1}");
    b = key_at(f, "/a/b");
    run(f, operations, 3);
    view_of(f, 2, &before);
    view_of(f, 3, &after);
    const struct {
        uint64_t start;
        uint32_t depth_max;
        const char *expected;
    } cases[] = {
        {0, 0, "rename /a/b -> /a/q\nupdate /a/b/c/d/e 1 -> 2\nupdate /x 1 -> 3\n"},
        {1, 1, "update /x 1 -> 3\n"},
        {1, 2, "rename /a/b -> /a/q\nupdate /x 1 -> 3\n"},
        {b, 0, "rename /a/b -> /a/q\nupdate /a/b/c/d/e 1 -> 2\n"},
        {b + 1, 0, "rename /a/b -> /a/q\nupdate /a/b/c/d/e 1 -> 2\n"},
        /* Counted from the start node: three levels below it, six below the value. */
        {b, 3, "rename /a/b -> /a/q\nupdate /a/b/c/d/e 1 -> 2\n"},
        {b, 2, "rename /a/b -> /a/q\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        text = diff_text(f, &before, &after, cases[i].start, cases[i].depth_max);
        if (strcmp(text, cases[i].expected) != 0) {
            fail_msg("case %zu: got\n%swanted\n%s", i, text, cases[i].expected);
        }
        free(text);
    }
    sirix_view_close(&before);
    sirix_view_close(&after);
}

static void a_start_node_that_one_revision_has_is_its_insert_or_delete(void **state)
{
    struct fixture *f = *state;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_view empty;
    struct sirix_diff *diff = NULL;
    struct sirix_error err = {0};
    char *text = NULL;
    uint64_t key = 0;

    import_text(f, "[1,[2]]");
    key = key_at(f, "/1");
    run(f, (const struct operation[]){{DELETE, "/1", NULL, NULL, 0, NULL}}, 1);
    view_of(f, 2, &before);
    view_of(f, 3, &after);
    view_of(f, 1, &empty);

    text = diff_text(f, &before, &after, key, 0);
    assert_string_equal(text, "delete /[1] [2] at 1 after 2\n");
    free(text);
    text = diff_text(f, &after, &before, key, 0);
    assert_string_equal(text, "insert /[1] [2] at 1 after 2\n");
    free(text);
    const struct sirix_diff_options options = {
        .old_view = &empty, .new_view = &after, .reader = f->reader, .start = 99};
    assert_int_equal(sirix_diff_new(&options, &diff, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_NODE_UNKNOWN);
    sirix_view_close(&before);
    sirix_view_close(&after);
    sirix_view_close(&empty);
}

/* --- The other way round ------------------------------------------------------------------------ */

struct change_list {
    struct sirix_change *changes;
    size_t count;
};

static struct change_list all_changes(struct fixture *f, const struct sirix_view *before,
                                      const struct sirix_view *after)
{
    const struct sirix_diff_options options = {
        .old_view = before, .new_view = after, .reader = f->reader};
    struct change_list list = {.changes = calloc(20000, sizeof(struct sirix_change))};
    struct sirix_diff *diff = NULL;
    enum sirix_status status = SIRIX_OK;

    assert_non_null(list.changes);
    assert_int_equal(sirix_diff_new(&options, &diff, NULL), SIRIX_OK);
    while (status == SIRIX_OK) {
        assert_true(list.count < 20000);
        status = sirix_diff_next(diff, &list.changes[list.count], NULL);
        list.count += status == SIRIX_OK ? 1 : 0;
        if (list.count % 3 == 0) {
            sirix_reader_yield(f->reader);
        }
    }
    assert_int_equal(status, SIRIX_NOT_FOUND);
    sirix_diff_free(diff);
    return list;
}

static bool sides_equal(const struct sirix_change_side *a, const struct sirix_change_side *b)
{
    return a->key == b->key && a->parent == b->parent && a->kind == b->kind &&
           a->index == b->index && a->left == b->left;
}

static bool is_inverse(const struct sirix_change *a, const struct sirix_change *b)
{
    enum sirix_change_kind kind = a->kind == SIRIX_CHANGE_INSERT   ? SIRIX_CHANGE_DELETE
                                  : a->kind == SIRIX_CHANGE_DELETE ? SIRIX_CHANGE_INSERT
                                                                   : a->kind;

    return b->kind == kind && a->equal_value == b->equal_value && a->depth == b->depth &&
           a->is_member == b->is_member && sides_equal(&a->before, &b->after) &&
           sides_equal(&a->after, &b->before);
}

static void the_diff_back_is_the_diff_with_old_and_new_swapped(void **state)
{
    enum { REVISIONS = 25 };
    struct fixture *f = *state;
    uint64_t random = test_rounds(4); /* Here it is the seed. */
    struct sirix_view views[REVISIONS + 1];

    import_text(f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
    for (uint64_t i = 0; i < REVISIONS; i++) {
        /* Two branches that both go on, from the third revision. */
        const char *branch = i > 3 && i % 2 == 0 ? "other" : "main";

        if (i == 3) {
            make_branch(&views[2], "other");
        }
        random_commit_on(f, branch, &random, 1 + random_below(&random, 12));
        branch_head(f, branch, &views[i]);
    }
    for (size_t i = 0; i < REVISIONS; i++) {
        for (size_t k = 0; k < REVISIONS; k += 1 + i % 4) {
            struct change_list there = all_changes(f, &views[i], &views[k]);
            struct change_list back = all_changes(f, &views[k], &views[i]);

            assert_int_equal(there.count, back.count);
            for (size_t a = 0; a < there.count; a++) {
                bool found = false;

                for (size_t b = 0; b < back.count && !found; b++) {
                    found = is_inverse(&there.changes[a], &back.changes[b]);
                }
                assert_true(found);
            }
            free(there.changes);
            free(back.changes);
        }
    }
    for (size_t i = 0; i < REVISIONS; i++) {
        sirix_view_close(&views[i]);
    }
}

/* --- Pauses ------------------------------------------------------------------------------------- */

struct pausing {
    struct fixture *f;
    unsigned calls;
    unsigned calls_max; /* Then it is enough. */
};

static enum sirix_status pause_and_yield(void *context, struct sirix_error *err)
{
    struct pausing *pausing = context;

    pausing->calls += 1;
    sirix_reader_yield(pausing->f->reader);
    return pausing->calls <= pausing->calls_max
               ? SIRIX_OK
               : sirix_fail(err, SIRIX_DEADLINE, "the test has no more time");
}

/* An object of objects, its members in rising or falling order. */
static void put_object(struct fixture *f, bool falls)
{
    enum { MEMBERS = 1000 };
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&text, "{\"o\":", NULL), SIRIX_OK);
    for (int i = 0; i < MEMBERS; i++) {
        int name = falls ? MEMBERS - 1 - i : i;

        assert_int_equal(sirix_buf_printf(&text, NULL, "%s\"m%d\":{\"a\":[%d],\"b\":{}}",
                                          i == 0 ? "{" : ",", name, name),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append(&text, "}}", 3, NULL), SIRIX_OK);
    (void)edit_update(edit, 1, (const char *)text.data);
    (void)fixture_commit(f, edit, &view);
    sirix_buf_deinit(&text);
}

static void long_calls_pause_and_go_on_after_a_yield(void **state)
{
    struct fixture *f = *state;
    struct sirix_view views[3];
    const struct {
        size_t before;
        size_t after;
        uint64_t changes;
    } cases[] = {
        {0, 1, 0}, /* The same members in another order: all of them are compared. */
        {1, 2, 1}, /* All of them gone: their rows are passed. */
        {2, 0, 1},
    };

    import_text(f, "{}");
    put_object(f, false);
    fixture_head(f, &views[0]);
    put_object(f, true);
    fixture_head(f, &views[1]);
    run(f, (const struct operation[]){{UPDATE, "/o", "5", NULL, 0, NULL}}, 1);
    fixture_head(f, &views[2]);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned calls_max = 0; calls_max <= 100; calls_max += 100) {
            struct pausing pausing = {.f = f, .calls_max = calls_max};
            const struct sirix_diff_options options = {
                .old_view = &views[cases[i].before],
                .new_view = &views[cases[i].after],
                .reader = f->reader,
                .pause = pause_and_yield,
                .pause_context = &pausing,
            };
            struct sirix_diff *diff = NULL;
            struct sirix_change change;
            enum sirix_status status = SIRIX_OK;

            assert_int_equal(sirix_diff_new(&options, &diff, NULL), SIRIX_OK);
            while (status == SIRIX_OK) {
                status = sirix_diff_next(diff, &change, NULL);
            }
            assert_int_equal(status, calls_max == 0 ? SIRIX_DEADLINE : SIRIX_NOT_FOUND);
            if (calls_max != 0) {
                assert_true(pausing.calls > 3);
                assert_int_equal(sirix_diff_counts(diff).all, cases[i].changes);
            }
            sirix_diff_free(diff);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        sirix_view_close(&views[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_listed_once_and_nothing_else_is),
        cmocka_unit_test_setup_teardown(the_value_of_a_resource_comes_and_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(start_and_depth_choose_what_is_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_node_that_one_revision_has_is_its_insert_or_delete,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_diff_back_is_the_diff_with_old_and_new_swapped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(long_calls_pause_and_go_on_after_a_yield, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("document_diff", tests, NULL, NULL);
}
