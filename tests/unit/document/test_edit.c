/* Edits of one document, small ones: what stays, what goes, what is refused. */
#include <limits.h>
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

static void a_document_comes_back_as_it_was_imported(void **state)
{
    const char *text = "{\"name\":\"Alice\",\"age\":30,\"active\":true,\"address\":null,"
                       "\"tags\":[\"dev\",\"lead\",[],{}],\"ratio\":-0.50,\"big\":1e400,"
                       "\"neg\":-12,\"no\":false}";

    import_text(*state, text);

    assert_head(*state, text);
}

static void one_of_each_operation_in_one_edit(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;

    import_text(*state, "{\"a\":[1,2,3],\"b\":{\"c\":\"x\"}}");

    edit = fixture_edit(*state, &view);
    edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, "d", "{\"e\":[true]}");
    edit_insert(edit, 2, SIRIX_PLACE_INDEX, 3, NULL, "4");
    assert_true(edit_update(edit, 4, "\"one\"").changed);
    assert_int_equal(edit_delete(edit, 7), 2);
    assert_true(fixture_commit(*state, edit, &view));

    assert_head(*state, "{\"a\":[\"one\",2,3,4],\"d\":{\"e\":[true]}}");
}

/* --- Pauses ------------------------------------------------------------------------------------- */

enum { PAUSE_ELEMENTS = 20000, PAUSE_TEXT_BYTES = PAUSE_ELEMENTS * 8 };

/* Counts its calls; the one after calls_max passes the deadline. */
struct pausing {
    unsigned calls;
    unsigned calls_max;
};

static enum sirix_status count_pause(void *context, struct sirix_error *err)
{
    struct pausing *pausing = context;

    return pausing->calls++ < pausing->calls_max
               ? SIRIX_OK
               : sirix_fail(err, SIRIX_DEADLINE, "the deadline of the test passed");
}

/* {"a":[...],"o":{}} with many elements, or their array alone. */
static char *many_elements(bool array_alone, int first)
{
    char *text = malloc(PAUSE_TEXT_BYTES);
    size_t len = 0;

    assert_non_null(text);
    len += (size_t)sprintf(text, "%s", array_alone ? "[" : "{\"a\":[");
    for (int i = 0; i < PAUSE_ELEMENTS; i++) {
        len += (size_t)sprintf(text + len, "%s%d", i == 0 ? "" : ",", first + i);
    }
    (void)sprintf(text + len, "%s", array_alone ? "]" : "],\"o\":{}}");
    return text;
}

/* One operation that passes all elements. Key 2 is member "a", 3 its array. */
static enum sirix_status delete_all(struct sirix_edit *edit, struct sirix_error *err)
{
    uint64_t nodes = 0;

    return sirix_edit_delete(edit, 2, &nodes, err);
}

static enum sirix_status replace_root(struct sirix_edit *edit, struct sirix_error *err)
{
    const struct sirix_edit_update update = {.target = 1};
    struct sirix_edit_result result;

    return sirix_edit_update(edit, &update, bytes_of("5"), &result, err);
}

static enum sirix_status move_all(struct sirix_edit *edit, struct sirix_error *err)
{
    const struct sirix_bytes name = bytes_of("b");
    struct sirix_edit_move move = {.key = 2, .place = SIRIX_PLACE_LAST_CHILD, .name = &name};
    uint64_t key = 0;
    bool changed = false;
    enum sirix_status status = sirix_edit_member(edit, 1, bytes_of("o"), &move.target, err);

    return status == SIRIX_OK ? sirix_edit_move(edit, &move, &key, &changed, err) : status;
}

static enum sirix_status insert_many(struct sirix_edit *edit, struct sirix_error *err)
{
    const struct sirix_bytes name = bytes_of("n");
    const struct sirix_edit_insert insert = {
        .target = 1, .place = SIRIX_PLACE_LAST_CHILD, .name = &name};
    struct sirix_edit_result result;
    char *text = many_elements(true, 0);
    enum sirix_status status = sirix_edit_insert(edit, &insert, bytes_of(text), &result, err);

    free(text);
    return status;
}

/* Of the same length as before, so that both texts are compared. */
static enum sirix_status replace_all(struct sirix_edit *edit, struct sirix_error *err)
{
    const struct sirix_edit_update update = {.target = 2};
    struct sirix_edit_result result;
    char *text = many_elements(true, 100001);
    enum sirix_status status = sirix_edit_update(edit, &update, bytes_of(text), &result, err);

    free(text);
    return status;
}

static const struct {
    enum sirix_status (*run)(struct sirix_edit *edit, struct sirix_error *err);
    unsigned rows; /* That it passes at least. */
} long_operations[] = {
    {delete_all, PAUSE_ELEMENTS},      {replace_root, PAUSE_ELEMENTS}, {move_all, PAUSE_ELEMENTS},
    {replace_all, 2 * PAUSE_ELEMENTS}, {insert_many, PAUSE_ELEMENTS},
};

/* Runs an operation and a commit in a new edit that may pause so often; what they said. */
static enum sirix_status run_paused(struct fixture *f, size_t operation, struct pausing *pausing)
{
    const struct sirix_edit_commit commit = {.force = false};
    struct sirix_published published;
    struct sirix_error err = {0};
    struct sirix_error again = {0};
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);
    bool changed = false;
    enum sirix_status status = SIRIX_OK;

    sirix_edit_set_pause(edit, count_pause, pausing);
    status = long_operations[operation].run(edit, &err);
    if (status == SIRIX_OK && pausing->calls_max == UINT_MAX) {
        assert_true(pausing->calls >= long_operations[operation].rows / SIRIX_EDIT_PAUSE_STEPS);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_commit(edit, &commit, &published, &changed, &err);
    }
    if (status != SIRIX_OK) {
        unsigned calls = pausing->calls;

        assert_string_equal(err.text, "the deadline of the test passed");
        assert_int_equal(sirix_edit_commit(edit, &commit, &published, &changed, &again), status);
        assert_string_equal(again.text, err.text);
        assert_int_equal(pausing->calls, calls);
    }
    fixture_drop(edit, &view);
    sirix_reader_yield(f->reader);
    return status;
}

static enum sirix_status insert_keyed(struct sirix_edit *edit, uint64_t key)
{
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    struct sirix_edit_result result = {0};

    return sirix_edit_insert_keyed(edit, &insert, key, bytes_of("9"), &result, NULL);
}

/* Else the key would come to another node as a fresh one, and its row be written over. */
static void a_key_that_no_node_has_had_cannot_be_given_to_one(void **state)
{
    struct fixture *f = *state;
    struct sirix_view view;

    import_text(f, "[1,2,3]"); /* Keys 2 to 4; the leaf's others are the open run. */
    struct sirix_edit *edit = fixture_edit(f, &view);

    static const uint64_t never[] = {5, 6, 63, 64, 1000, SIRIX_KEY_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        assert_int_equal(insert_keyed(edit, never[i]), SIRIX_INVALID);
    }
    assert_int_equal(insert_keyed(edit, 3), SIRIX_ALREADY_EXISTS);
    assert_int_equal(edit_delete(edit, 3), 1);
    assert_int_equal(insert_keyed(edit, 3), SIRIX_OK);
    for (uint64_t i = 0; i < 80; i++) { /* Past the open run, into one of the edit's own. */
        uint64_t key = edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, NULL, "0");
        assert_int_equal(insert_keyed(edit, key), SIRIX_ALREADY_EXISTS);
        assert_int_equal(insert_keyed(edit, key + 1), SIRIX_INVALID);
        assert_int_equal(edit_delete(edit, key), 1);
        assert_int_equal(insert_keyed(edit, key), SIRIX_OK);
    }
    assert_true(fixture_commit(f, edit, &view));
    char *text = text_of_head(f);
    assert_int_equal(strlen(text), 2 * (3 + 80) + 1);
    free(text);
}

static void an_edit_stopped_in_a_pause_publishes_nothing(void **state)
{
    struct fixture *f = *state;
    char *text = many_elements(false, 200001);

    import_text(f, text);
    for (size_t i = 0; i < sizeof(long_operations) / sizeof(long_operations[0]); i++) {
        struct sirix_view view;
        uint64_t revision = 0;
        enum sirix_status status = SIRIX_DEADLINE;

        fixture_head(f, &view);
        revision = view.record.revision;
        sirix_view_close(&view);
        for (unsigned most = 0; status != SIRIX_OK; most++) {
            struct pausing pausing = {.calls_max = most};

            status = run_paused(f, i, &pausing);
            fixture_head(f, &view);
            assert_int_equal(view.record.revision, revision + (status == SIRIX_OK ? 1 : 0));
            sirix_view_close(&view);
            if (status != SIRIX_OK) {
                assert_int_equal(status, SIRIX_DEADLINE);
                assert_int_equal(pausing.calls, most + 1);
            }
            assert_true(most < 1000);
        }
        fixture_close(f);
        fixture_open(f);
        import_text(f, text);
    }
    assert_head(f, text);
    free(text);
}

static void one_operation_pauses_at_least_every_512_rows(void **state)
{
    struct fixture *f = *state;
    char *text = many_elements(false, 200001);

    for (size_t i = 0; i < sizeof(long_operations) / sizeof(long_operations[0]); i++) {
        struct pausing pausing = {.calls_max = UINT_MAX};

        import_text(f, text);
        assert_int_equal(run_paused(f, i, &pausing), SIRIX_OK);
        fixture_close(f);
        fixture_open(f);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_document_comes_back_as_it_was_imported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_of_each_operation_in_one_edit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_operation_pauses_at_least_every_512_rows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_that_no_node_has_had_cannot_be_given_to_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_edit_stopped_in_a_pause_publishes_nothing, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
