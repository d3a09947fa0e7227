/* The path summary: what it knows, and where it stops knowing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/document/path_summary.h"
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

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All paths with their kinds, sorted: "/a[] 18 /b 8". */
static void assert_paths(struct fixture *f, const char *expected)
{
    struct sirix_path_summary summary;
    struct sirix_error err = {0};
    struct sirix_buf all;
    const char *text = NULL;
    char **lines = NULL;

    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_path_summary_read(f->resource, f->reader, &summary, &err), SIRIX_OK);
    lines = calloc(summary.count + 1, sizeof(*lines));
    assert_non_null(lines);
    for (uint32_t i = 0; i < summary.count; i++) {
        struct sirix_buf line;
        sirix_buf_init(&line, SIZE_MAX);
        assert_int_equal(sirix_path_summary_text(&summary, f->resource, i, &line, &err), SIRIX_OK);
        assert_int_equal(sirix_buf_printf(&line, &err, " %x", summary.paths[i].kinds), SIRIX_OK);
        assert_int_equal(sirix_buf_append_u8(&line, 0, &err), SIRIX_OK);
        lines[i] = (char *)line.data;
    }
    qsort(lines, summary.count, sizeof(*lines), compare_texts);
    sirix_buf_init(&all, SIZE_MAX);
    for (uint32_t i = 0; i < summary.count; i++) {
        assert_int_equal(sirix_buf_append_str(&all, lines[i], &err), SIRIX_OK);
        assert_int_equal(sirix_buf_append_str(&all, ";", &err), SIRIX_OK);
        free(lines[i]);
    }
    assert_int_equal(sirix_buf_c_str(&all, &text, &err), SIRIX_OK);
    assert_string_equal(text, expected);
    sirix_buf_deinit(&all);
    free(lines);
    sirix_path_summary_deinit(&summary);
}

static void paths_and_kinds_of_an_import_are_known(void **state)
{
    import_text(*state, "{\"users\":[{\"name\":\"x\",\"age\":1},{\"name\":null}],\"[a/b\":[[]]}");

    /* OBJECT 2, ARRAY 4, STRING 8, INTEGER 10, NULL 100: bits of the kinds, in hex. */
    assert_paths(*state, " 2;/users 4;/users/[] 2;/users/[]/age 10;/users/[]/name 108;"
                         "/~2a~1b 4;/~2a~1b/[] 4;");
}

static void each_kind_of_change_adds_its_paths_and_none_takes_any(void **state)
{
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    struct sirix_bytes name = bytes_of("c");
    struct sirix_error err = {0};
    uint64_t nodes = 0;
    bool changed = false;

    import_text(*state, "{\"a\":{\"b\":1}}");
    edit = fixture_edit(*state, &view);
    edit_update(edit, 4, "\"s\"");
    assert_int_equal(sirix_edit_rename(edit, 2, name, &changed, &err), SIRIX_OK);
    edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, "d", "[true]");
    assert_true(fixture_commit(*state, edit, &view));
    edit = fixture_edit(*state, &view);
    assert_int_equal(sirix_edit_delete(edit, 2, &nodes, &err), SIRIX_OK);
    assert_true(fixture_commit(*state, edit, &view));

    assert_paths(*state, " 2;/a 2;/a/b 18;/c 2;/c/b 8;/d 4;/d/[] 40;");
}

static void an_object_of_many_names_is_a_star(void **state)
{
    struct fixture *f = *state;
    struct sirix_path_summary summary;
    struct sirix_error err = {0};
    struct sirix_buf text;
    const char *json = NULL;
    char line[64];
    uint32_t stars = 0;

    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&text, "{", &err), SIRIX_OK);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(line, sizeof(line), "%s\"k%u\":{\"v\":%u}", i == 0 ? "" : ",", i, i);
        assert_int_equal(sirix_buf_append_str(&text, line, &err), SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&text, "}", &err), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&text, &json, &err), SIRIX_OK);
    import_text(f, json);

    assert_int_equal(sirix_path_summary_read(f->resource, f->reader, &summary, &err), SIRIX_OK);
    assert_false(summary.coarse);
    assert_int_equal(summary.paths[0].child_count, SIRIX_PATH_NAMES_MAX + 1);
    for (uint32_t i = 0; i < summary.count; i++) {
        stars += summary.paths[i].step == SIRIX_PATH_STEP_ANY && i != 0 ? 1 : 0;
    }
    assert_int_equal(stars, 1);
    sirix_path_summary_deinit(&summary);
    sirix_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_and_kinds_of_an_import_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_kind_of_change_adds_its_paths_and_none_takes_any,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_object_of_many_names_is_a_star, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
