/* Names of things on the command line of sirixctl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/name.h"

static void what_stands_behind_the_at_is_told_apart(void **state)
{
    static const struct {
        const char *text;
        const char *resource;
        enum sirixctl_at_kind at;
        uint64_t revision;
    } CASES[] = {
        {"db", "", SIRIXCTL_AT_NOTHING, 0},
        {"db/res", "res", SIRIXCTL_AT_NOTHING, 0},
        {"db/res@12", "res", SIRIXCTL_AT_REVISION, 12},
        {"db/res@0", "res", SIRIXCTL_AT_REVISION, 0},
        {"db/res@2024-01-15", "res", SIRIXCTL_AT_TIMESTAMP, 0},
        {"db/res@2024-01-15T10:00:00+01:00", "res", SIRIXCTL_AT_TIMESTAMP, 0},
        {"db/res@main", "res", SIRIXCTL_AT_BRANCH, 0},
        {"db/res@snapshot:main", "res", SIRIXCTL_AT_SNAPSHOT, 0},
        {"db/res@branch:side", "res", SIRIXCTL_AT_BRANCH, 0},
        {"db/res@before-cleanup", "res", SIRIXCTL_AT_LABEL, 0},
        {"db/res@2x", "res", SIRIXCTL_AT_LABEL, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirixctl_name name;
        struct sirix_error err = {0};

        assert_int_equal(sirixctl_name_parse(CASES[i].text, &name, &err), SIRIX_OK);
        assert_string_equal(name.database, "db");
        assert_string_equal(name.resource, CASES[i].resource);
        assert_int_equal(name.at, CASES[i].at);
        assert_int_equal(name.revision, CASES[i].revision);
    }
}

static void wrong_names_are_refused_with_their_part(void **state)
{
    static const struct {
        const char *text;
        const char *field;
    } CASES[] = {
        {"", "database"},           {"/res", "database"},         {"db/", "resource"},
        {"d b/res", "database"},    {"db/a/b", "resource"},       {"db/res@", "@"},
        {"db/res@a@b", "@"},        {"db/res@\xc3\xa9", "@"},     {"db/res@a/b", "@"},
        {"-db/res", "database"},    {"db/res@snapshot:", "@"},    {"db/res@branch:7", "@"},
        {"db/res@revision:7", "@"}, {"db/res@snapshot:a:b", "@"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirixctl_name name;
        struct sirix_error err = {0};

        assert_int_equal(sirixctl_name_parse(CASES[i].text, &name, &err), SIRIX_INVALID);
        assert_string_equal(err.field, CASES[i].field);
    }
}

static void only_a_resource_has_revisions(void **state)
{
    struct sirixctl_name name;

    (void)state;
    assert_int_equal(sirixctl_name_parse("db@1", &name, NULL), SIRIX_INVALID);
}

static void a_write_names_no_revision(void **state)
{
    struct sirixctl_name name;

    (void)state;
    assert_int_equal(sirixctl_name_parse("db/res@1", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_refuse_at(&name, NULL), SIRIX_UNSUPPORTED);
    assert_int_equal(sirixctl_name_parse("db/res", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_refuse_at(&name, NULL), SIRIX_OK);
}

static void views_that_need_no_server_are_made_without(void **state)
{
    struct sirixctl_name name;
    struct sirix_view view;

    (void)state;
    assert_int_equal(sirixctl_name_parse("db/res@7", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_view(NULL, &name, NULL, NULL, &view, NULL), SIRIX_OK);
    assert_int_equal(view.kind, SIRIX_VIEW_REVISION);
    assert_int_equal(view.revision, 7);
    assert_int_equal(sirixctl_name_view(NULL, &name, "b", NULL, &view, NULL), SIRIX_UNSUPPORTED);

    assert_int_equal(sirixctl_name_parse("db/res@2024-01-15", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_view(NULL, &name, "b", NULL, &view, NULL), SIRIX_OK);
    assert_int_equal(view.kind, SIRIX_VIEW_BRANCH);
    assert_string_equal(view.name, "b");
    assert_int_equal(view.timestamp.len, 10);
    assert_int_equal(sirixctl_name_view(NULL, &name, NULL, NULL, &view, NULL), SIRIX_OK);
    assert_int_equal(view.kind, SIRIX_VIEW_DEFAULT);

    assert_int_equal(sirixctl_name_parse("db/res@main", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_view(NULL, &name, NULL, NULL, &view, NULL), SIRIX_OK);
    assert_int_equal(view.kind, SIRIX_VIEW_BRANCH);
    assert_string_equal(view.name, "main");

    assert_int_equal(sirixctl_name_parse("db/res@snapshot:main", &name, NULL), SIRIX_OK);
    assert_int_equal(sirixctl_name_view(NULL, &name, NULL, NULL, &view, NULL), SIRIX_OK);
    assert_int_equal(view.kind, SIRIX_VIEW_SNAPSHOT);
    assert_string_equal(view.name, "main");
    assert_int_equal(sirixctl_name_view(NULL, &name, "b", NULL, &view, NULL), SIRIX_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_behind_the_at_is_told_apart),
        cmocka_unit_test(wrong_names_are_refused_with_their_part),
        cmocka_unit_test(only_a_resource_has_revisions),
        cmocka_unit_test(a_write_names_no_revision),
        cmocka_unit_test(views_that_need_no_server_are_made_without),
    };

    return cmocka_run_group_tests_name("cli names", tests, NULL, NULL);
}
