/* Edits of one document, small ones: what stays, what goes, what is refused. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_document_comes_back_as_it_was_imported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_of_each_operation_in_one_edit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
