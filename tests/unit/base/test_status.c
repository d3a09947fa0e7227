/* Status and reason tables, and how an error is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/status.h"
#include "base/utf8.h"

static void every_status_has_its_name_and_its_codes(void **state)
{
    static const struct {
        enum sirix_status status;
        const char *name;
        int grpc;
        int jsonrpc;
        int exit_code;
    } ROWS[] = {
#define SIRIX_X(upper, lower, grpc_code, jsonrpc_code, exit)                                       \
    {SIRIX_##upper, #lower, (grpc_code), (jsonrpc_code), (exit)},
        SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        assert_string_equal(sirix_status_name(ROWS[i].status), ROWS[i].name);
        assert_int_equal(sirix_status_grpc_code(ROWS[i].status), ROWS[i].grpc);
        assert_int_equal(sirix_status_jsonrpc_code(ROWS[i].status), ROWS[i].jsonrpc);
        assert_int_equal(sirix_status_exit_code(ROWS[i].status), ROWS[i].exit_code);
    }
    assert_string_equal(sirix_status_name(SIRIX_NOT_FOUND), "not_found");
    assert_int_equal(sirix_status_grpc_code(SIRIX_CONFLICT), 10);
}

static void a_status_from_outside_the_list_counts_as_internal(void **state)
{
    (void)state;
    assert_string_equal(sirix_status_name((enum sirix_status)4711), "internal");
    assert_string_equal(sirix_reason_name((enum sirix_reason)4711), "none");
}

static void reasons_have_stable_names(void **state)
{
    (void)state;
    assert_string_equal(sirix_reason_name(SIRIX_REASON_NONE), "none");
    assert_string_equal(sirix_reason_name(SIRIX_REASON_NAME_CASE), "name_differs_in_case_only");
    assert_string_equal(sirix_reason_name(SIRIX_REASON_CURSOR), "cursor");
}

static void a_failure_records_its_facts_and_drops_older_ones(void **state)
{
    struct sirix_error err = {.current_revision = 7, .has_offset = true, .offset = 9};

    (void)state;
    assert_int_equal(sirix_fail_reason(&err, SIRIX_INVALID, SIRIX_REASON_DUPLICATE_KEY, "n %d", 5),
                     SIRIX_INVALID);
    assert_string_equal(err.text, "n 5");
    assert_int_equal(err.reason, SIRIX_REASON_DUPLICATE_KEY);
    assert_int_equal(err.current_revision, 0);
    assert_false(err.has_offset);

    sirix_error_set_field(&err, "view.branch");
    sirix_error_set_pointer(&err, "/a/0");
    sirix_error_set_offset(&err, 0);
    sirix_error_set_retry(&err, 250);
    sirix_error_set_code(&err, "XPST0003", 2, 7);
    assert_string_equal(err.field, "view.branch");
    assert_string_equal(err.pointer, "/a/0");
    assert_true(err.has_offset);
    assert_int_equal(err.retry_after_ms, 250);
    assert_string_equal(err.code, "XPST0003");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 7);
}

static void a_failure_may_quote_the_error_that_it_replaces(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    (void)sirix_fail(&err, SIRIX_IO, "disk");
    assert_int_equal(sirix_fail(&err, SIRIX_CORRUPT, "because of %s", err.text), SIRIX_CORRUPT);
    assert_string_equal(err.text, "because of disk");
}

static void nobody_needs_to_want_the_sentence(void **state)
{
    (void)state;
    assert_int_equal(sirix_fail(NULL, SIRIX_IO, "x"), SIRIX_IO);
    assert_int_equal(sirix_fail_reason(NULL, SIRIX_IO, SIRIX_REASON_CHAIN, "x"), SIRIX_IO);
    sirix_error_set_field(NULL, "x");
    sirix_error_set_pointer(NULL, "x");
    sirix_error_set_code(NULL, "x", 1, 1);
    sirix_error_set_offset(NULL, 1);
    sirix_error_set_retry(NULL, 1);
}

static void long_texts_are_cut_at_a_character(void **state)
{
    struct sirix_error err = {0};
    char longer[3 * SIRIX_ERROR_TEXT_BYTES + 1];

    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        size_t len = shift;

        memset(longer, 'x', shift);
        while (len + 3 < sizeof(longer)) {
            memcpy(longer + len, "\xe2\x82\xac", 3);
            len += 3;
        }
        longer[len] = '\0';
        (void)sirix_fail(&err, SIRIX_INVALID, "%s", longer);
        sirix_error_set_field(&err, longer);
        assert_true(strlen(err.text) > SIRIX_ERROR_TEXT_BYTES - 4);
        assert_true(sirix_utf8_valid(err.text, strlen(err.text), NULL));
        assert_true(strlen(err.field) > SIRIX_ERROR_WHERE_BYTES - 4);
        assert_true(sirix_utf8_valid(err.field, strlen(err.field), NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name_and_its_codes),
        cmocka_unit_test(a_status_from_outside_the_list_counts_as_internal),
        cmocka_unit_test(reasons_have_stable_names),
        cmocka_unit_test(a_failure_records_its_facts_and_drops_older_ones),
        cmocka_unit_test(a_failure_may_quote_the_error_that_it_replaces),
        cmocka_unit_test(nobody_needs_to_want_the_sentence),
        cmocka_unit_test(long_texts_are_cut_at_a_character),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
