/* Values of a size: past 64 children, past the border to bulk, with duplicates, cut off, refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/common/records.h"
#include "unit/document/fixture.h"

/* Past the border to bulk (1 MiB), and no more: sanitizer builds walk every node of it. */
enum { RECORDS_BYTES = 3 * 512 * 1024, LONG_BYTES = 24 * 1024 * 1024 };

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

static char *records_text(uint64_t bytes)
{
    struct records records;
    char *text = malloc(bytes + 8192);
    size_t len = 0;
    size_t more = 0;

    assert_non_null(text);
    records_init(&records, 3, bytes, false);
    while ((more = records_next(&records, text + len, 4096)) != 0) {
        len += more;
    }
    text[len] = '\0';
    return text;
}

/* {"k0":0,"k1":1,...} with members from..to, then more. */
static char *members_text(unsigned from, unsigned to, const char *more)
{
    char *text = malloc((size_t)(to - from) * 24 + strlen(more) + 8);
    size_t len = 1;

    assert_non_null(text);
    text[0] = '{';
    for (unsigned i = from; i < to; i++) {
        len += (size_t)sprintf(text + len, "%s\"k%u\":%u", i == from ? "" : ",", i, i);
    }
    (void)sprintf(text + len, "%s}", more);
    return text;
}

static void a_document_past_the_border_to_bulk_comes_back_in_any_pieces(void **state)
{
    static const size_t pieces[] = {1000, 65536, 1 << 20, SIZE_MAX / 2};
    char *text = records_text(RECORDS_BYTES);

    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct fixture f;
        fixture_open(&f);
        import_bytes(&f, bytes_of(text), pieces[i]);
        assert_head(&f, text);
        fixture_close(&f);
    }
    free(text);
    (void)state;
}

/* The reader of the edit, which is in between, may not keep the map from growing for its own segments. */
static void a_text_of_any_size_passes_in_one_piece(void **state)
{
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    struct fixture *f = *state;
    struct sirix_edit_result result = {0};
    struct sirix_document_node node;
    struct sirix_error err = {0};
    struct sirix_view view;
    char *text = records_text(LONG_BYTES);

    import_text(f, "[1]");
    struct sirix_edit *edit = fixture_edit(f, &view);
    assert_int_equal(sirix_edit_get(edit, 2, &node, NULL), SIRIX_OK);
    if (sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(fixture_commit(f, edit, &view));
    free(text);
}

static void keys_of_an_import_rise_in_document_order_and_fields_have_two(void **state)
{
    struct fixture *f = *state;
    struct sirix_document document;
    struct sirix_document_node node;
    struct sirix_walk *walk = NULL;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t expected = 1;
    uint32_t depth = 0;
    char *text = records_text(20000);

    import_text(f, text);

    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    assert_int_equal(sirix_walk_new(&document, 1, &walk, &err), SIRIX_OK);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(sirix_walk_next(walk, &node, &depth, &err), SIRIX_OK);
        /* No pair lies across the first leaf's end: its last key may be left out. */
        if (node.key != expected && expected == 63) {
            expected = 64;
        }
        assert_int_equal(node.key, expected);
        expected += node.is_member ? 2 : 1;
    }
    sirix_walk_free(walk);
    sirix_view_close(&view);
    free(text);
}

static void operations_work_on_a_document_that_was_built_in_bulk(void **state)
{
    struct fixture *f = *state;
    char *text = records_text(RECORDS_BYTES);
    struct sirix_document_node node;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    uint64_t key = 0;
    uint64_t nodes = 0;

    import_text(f, text);
    edit = fixture_edit(f, &view);
    assert_int_equal(sirix_edit_child_at(edit, 1, 3500, &key, &err), SIRIX_OK);
    assert_int_equal(sirix_edit_delete(edit, key, &nodes, &err), SIRIX_OK);
    assert_true(nodes > 20);
    edit_insert(edit, 1, SIRIX_PLACE_INDEX, 2000, NULL, "{\"new\":true}");
    assert_int_equal(sirix_edit_child_at(edit, 1, 3000, &key, &err), SIRIX_OK);
    edit_update(edit, key, "[1,2,3]");
    assert_int_equal(sirix_edit_get(edit, 1, &node, &err), SIRIX_OK);
    nodes = node.child_count;
    assert_true(fixture_commit(f, edit, &view));

    free(text_of_head(f));
    edit = fixture_edit(f, &view);
    assert_true(edit_delete(edit, 1) > nodes);
    assert_true(fixture_commit(f, edit, &view));
    free(text);
}

static void a_bulk_value_replaces_and_is_replaced(void **state)
{
    struct fixture *f = *state;
    char *text = records_text(RECORDS_BYTES);
    struct sirix_edit_result result;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(f, "{\"a\":[1,2,3],\"b\":0}");
    edit = fixture_edit(f, &view);
    result = edit_update(edit, 2, text);
    assert_true(result.changed);
    assert_int_equal(result.key, 2);
    assert_true(fixture_commit(f, edit, &view));
    assert_int_equal(key_at(f, "/a/0") > 6, true);

    edit = fixture_edit(f, &view);
    result = edit_update(edit, 2, text);
    assert_false(result.changed);
    assert_false(fixture_commit(f, edit, &view));

    edit = fixture_edit(f, &view);
    edit_update(edit, 3, "null");
    assert_true(fixture_commit(f, edit, &view));
    assert_head(f, "{\"a\":null,\"b\":0}");
    free(text);
}

static void a_text_that_is_cut_off_or_wrong_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    char *text = records_text(RECORDS_BYTES);
    struct sirix_backend_stats before = {0};
    struct sirix_backend_stats after = {0};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    size_t len = strlen(text);

    import_text(f, "[0]");
    assert_int_equal(sirix_backend_stats(f->backend, &before, &err), SIRIX_OK);
    edit = fixture_edit(f, &view);
    text[len - 1] = '\0';
    assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err),
                     SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_JSON_TRUNCATED);
    assert_true(err.has_offset);
    assert_int_equal(err.offset, len - 1);
    text[len - 1] = '}';
    assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err),
                     SIRIX_INVALID);
    assert_int_equal(err.offset, len - 1);

    assert_false(fixture_commit(f, edit, &view));
    assert_int_equal(sirix_backend_stats(f->backend, &after, &err), SIRIX_OK);
    assert_int_equal(after.segment_count, before.segment_count);
    assert_head(f, "[0]");
    free(text);
}

/* A duplicate far from its first, in an object of every size that is handled in its own way. */
static void duplicate_members_are_refused_with_their_pointer(void **state)
{
    static const unsigned counts[] = {1, 63, 64, 65, 1000, 200000};
    const struct sirix_edit_insert insert = {.target = 0};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct fixture *f = *state;
        char *members = members_text(0, counts[i], ",\"x/y\":[],\"x/y\":2");
        char *text = malloc(strlen(members) + 32);
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        struct sirix_view view;
        struct sirix_edit *edit = fixture_edit(f, &view);

        assert_non_null(text);
        (void)sprintf(text, "[1,{\"in\":%s}]", members);
        assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err),
                         SIRIX_INVALID);
        assert_int_equal(err.reason, SIRIX_REASON_DUPLICATE_KEY);
        assert_string_equal(err.pointer, "/1/in/x~1y");
        assert_false(fixture_commit(f, edit, &view));
        free(members);
        free(text);
    }
}

/* Names are guessed from the object before and sought by a bit of their ids, which two of 64 may share. */
static void
members_in_another_order_are_themselves_and_duplicates_among_them_are_found(void **state)
{
    static const struct {
        const char *object;
        const char *pointer; /* Of the duplicate, or NULL. */
    } objects[] = {
        {"{\"k0\":1,\"k64\":2,\"k128\":3}", NULL},
        {"{\"k128\":1,\"k0\":2,\"\":3,\"k64\":4}", NULL},
        {"{\"k0\":1,\"k64\":2,\"k0\":3}", "/1/k0"},
        {"{\"k0\":1,\"k1\":2,\"k65\":3,\"k1\":4}", "/1/k1"},
        {"{\"\":1,\"\":2}", "/1/"},
    };
    const struct sirix_edit_insert insert = {.target = 0};
    char *first = members_text(0, 130, "");

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        struct fixture f;
        struct sirix_view view;
        struct sirix_edit *edit = NULL;
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        char *text = malloc(strlen(first) + 3 * strlen(objects[i].object) + 64);

        fixture_open(&f);
        edit = fixture_edit(&f, &view);
        assert_non_null(text);
        (void)sprintf(text, "[%s,%s,{\"x\":%s},%s]", first, objects[i].object, objects[i].object,
                      "{\"k1\":1,\"k2\":2}");
        assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err),
                         objects[i].pointer == NULL ? SIRIX_OK : SIRIX_INVALID);
        if (objects[i].pointer != NULL) {
            assert_string_equal(err.pointer, objects[i].pointer);
            fixture_drop(edit, &view);
        } else {
            assert_true(fixture_commit(&f, edit, &view));
            assert_head(&f, text);
        }
        fixture_close(&f);
        free(text);
    }
    free(first);
    (void)state;
}

static void the_last_of_duplicates_takes_the_place_of_the_first(void **state)
{
    static const unsigned counts[] = {1, 63, 65, 1000, 200000};
    const struct sirix_edit_insert insert = {.target = 0, .duplicates = SIRIX_DUPLICATES_LAST};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct fixture f;
        char *text =
            members_text(0, counts[i], ",\"k0\":[1,{\"k\":1,\"k\":2}],\"z\":9,\"k0\":{\"l\":1}");
        char *rest = members_text(1, counts[i], "");
        char *expected = malloc(strlen(text) + 32);
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        struct sirix_view view;
        struct sirix_edit *edit = NULL;

        fixture_open(&f);
        edit = fixture_edit(&f, &view);
        assert_non_null(expected);
        rest[strlen(rest) - 1] = '\0';
        (void)sprintf(expected, "{\"k0\":{\"l\":1}%s%s,\"z\":9}", counts[i] > 1 ? "," : "",
                      rest + 1);
        assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err), SIRIX_OK);
        assert_int_equal(result.duplicates_dropped, 3);
        assert_int_equal(result.node_count, counts[i] + 3);
        assert_true(fixture_commit(&f, edit, &view));
        assert_head(&f, expected);
        free(text);
        free(rest);
        free(expected);
        fixture_close(&f);
    }
    (void)state;
}

/* Another commit comes in between; the value goes on top of it. small: built in memory. */
static void rebase_one(const char *value, size_t len)
{
    const struct sirix_bytes name = bytes_of("new");
    const struct sirix_edit_insert insert = {
        .target = 1, .place = SIRIX_PLACE_LAST_CHILD, .name = &name};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_view other_view;
    struct sirix_edit *edit = NULL;
    struct sirix_edit *other = NULL;
    struct fixture f;
    char *expected = malloc(len + 64);

    assert_non_null(expected);
    fixture_open(&f);
    import_text(&f, "{\"a\":[1],\"b\":2}");
    edit = fixture_edit(&f, &view);
    assert_int_equal(sirix_edit_insert(edit, &insert,
                                       (struct sirix_bytes){.data = value, .len = len}, &result,
                                       &err),
                     SIRIX_OK);
    other = fixture_edit(&f, &other_view);
    edit_insert(other, 2, SIRIX_PLACE_FIRST_CHILD, 0, NULL, "{\"x\":0}");
    edit_insert(other, 1, SIRIX_PLACE_FIRST_CHILD, 0, "c", "[]");
    assert_true(fixture_commit(&f, other, &other_view));

    fixture_head(&f, &other_view);
    assert_int_equal(sirix_edit_rebase(edit, &other_view, &err), SIRIX_OK);
    assert_true(fixture_commit(&f, edit, &view));
    sirix_view_close(&other_view);
    (void)sprintf(expected, "{\"c\":[],\"a\":[{\"x\":0},1],\"b\":2,\"new\":%s}", value);
    assert_head(&f, expected);
    assert_int_equal(key_at(&f, "/new"), result.key);
    free(expected);
    fixture_close(&f);
}

static void a_value_moves_to_a_head_that_moved_meanwhile(void **state)
{
    char *large = members_text(0, 100, ",\"z\":[[],{\"y\":[1,2,3]}]");
    char *bulk = records_text(RECORDS_BYTES);

    rebase_one("7", 1);
    rebase_one("[1,{\"k\":\"v\"}]", strlen("[1,{\"k\":\"v\"}]"));
    rebase_one(large, strlen(large));
    rebase_one(bulk, strlen(bulk));
    free(large);
    free(bulk);
    (void)state;
}

static void a_value_whose_target_is_gone_does_not_move(void **state)
{
    struct fixture *f = *state;
    const struct sirix_edit_insert insert = {.target = 2, .place = SIRIX_PLACE_LAST_CHILD};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_view other_view;
    struct sirix_edit *edit = NULL;
    struct sirix_edit *other = NULL;

    import_text(f, "{\"a\":[1],\"b\":2}");
    edit = fixture_edit(f, &view);
    assert_int_equal(sirix_edit_insert(edit, &insert, bytes_of("7"), &result, &err), SIRIX_OK);
    other = fixture_edit(f, &other_view);
    edit_update(other, 2, "{}");
    assert_true(fixture_commit(f, other, &other_view));
    fixture_head(f, &other_view);
    assert_int_equal(sirix_edit_rebase(edit, &other_view, &err), SIRIX_CONFLICT);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_MOVED);
    assert_int_equal(err.current_revision, other_view.record.revision);
    assert_int_equal(sirix_edit_rebase(edit, &other_view, &err), SIRIX_CONFLICT);
    fixture_drop(edit, &view);
    sirix_view_close(&other_view);
    assert_head(f, "{\"a\":{},\"b\":2}");
}

static void ndjson_becomes_one_array(void **state)
{
    struct fixture *f = *state;
    const struct sirix_edit_insert insert = {.target = 0, .ndjson = true};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);

    assert_int_equal(
        sirix_edit_insert(edit, &insert, bytes_of("{\"a\":1}\n\n 2 \n[3]\n"), &result, &err),
        SIRIX_OK);
    assert_true(fixture_commit(f, edit, &view));
    assert_head(f, "[{\"a\":1},2,[3]]");
}

static void strings_of_every_length_around_the_borders_come_back(void **state)
{
    static const size_t lens[] = {0,     1,     1023,   1024,   1025,   65535,
                                  65536, 65537, 262100, 300000, 2000000};

    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct fixture f;
        size_t len = lens[i] * 6 + 64;
        char *text = malloc(len);
        size_t at = 0;

        assert_non_null(text);
        at += (size_t)sprintf(text, "{\"a\":\"");
        for (size_t j = 0; j < lens[i]; j++) {
            at += (size_t)sprintf(text + at, "%s",
                                  j % 7 == 0   ? "\\u0001"
                                  : j % 5 == 0 ? "\\n"
                                               : "x");
        }
        (void)sprintf(text + at, "\",\"b\":1}");
        fixture_open(&f);
        import_bytes(&f, bytes_of(text), 50000);
        assert_head(&f, text);
        fixture_close(&f);
        free(text);
    }
    (void)state;
}

static void depth_is_limited_from_the_top_of_the_document(void **state)
{
    struct fixture *f = *state;
    char *text = malloc(2002);
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    const struct sirix_edit_insert under = {.target = 1, .place = SIRIX_PLACE_FIRST_CHILD};

    assert_non_null(text);
    memset(text, '[', 999);
    memset(text + 999, ']', 999);
    text[1998] = '\0';
    import_text(f, "[]");
    edit = fixture_edit(f, &view);
    assert_int_equal(sirix_edit_insert(edit, &under, bytes_of(text), &result, &err), SIRIX_OK);
    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    text[2000] = '\0';
    assert_int_equal(sirix_edit_insert(edit, &under, bytes_of(text), &result, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_DEPTH_LIMIT);
    assert_int_equal(err.offset, 999);
    assert_true(fixture_commit(f, edit, &view));
    free(text_of_head(f));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_past_the_border_to_bulk_comes_back_in_any_pieces),
        cmocka_unit_test_setup_teardown(a_text_of_any_size_passes_in_one_piece, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            keys_of_an_import_rise_in_document_order_and_fields_have_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operations_work_on_a_document_that_was_built_in_bulk,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bulk_value_replaces_and_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_text_that_is_cut_off_or_wrong_leaves_nothing_behind,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(duplicate_members_are_refused_with_their_pointer, set_up,
                                        tear_down),
        cmocka_unit_test(
            members_in_another_order_are_themselves_and_duplicates_among_them_are_found),
        cmocka_unit_test(the_last_of_duplicates_takes_the_place_of_the_first),
        cmocka_unit_test(a_value_moves_to_a_head_that_moved_meanwhile),
        cmocka_unit_test_setup_teardown(a_value_whose_target_is_gone_does_not_move, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(ndjson_becomes_one_array, set_up, tear_down),
        cmocka_unit_test(strings_of_every_length_around_the_borders_come_back),
        cmocka_unit_test_setup_teardown(depth_is_limited_from_the_top_of_the_document, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
