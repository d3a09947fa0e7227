/* UTF-8, names and times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/utf8.h"

static struct sirix_bytes bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

static void every_code_point_comes_back_and_surrogates_do_not(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point <= SIRIX_CODE_POINT_MAX; code_point++) {
        uint8_t text[SIRIX_UTF8_BYTES_MAX];
        size_t len = sirix_utf8_encode(code_point, text);
        bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
        uint32_t back = 0;
        size_t got = sirix_utf8_decode(text, len, &back);

        if (got != (is_surrogate ? 0 : len) || (got != 0 && back != code_point)) {
            fail_msg("U+%04X", (unsigned)code_point);
        }
        for (size_t cut = 1; cut < len && !is_surrogate; cut++) {
            assert_int_equal(sirix_utf8_decode(text, cut, &back), 0);
            assert_int_equal(sirix_utf8_missing(text, cut), len - cut);
        }
        assert_int_equal(sirix_utf8_missing(text, len), 0);
    }
}

static void invalid_utf8_is_found_where_it_starts(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        size_t bad;
    } CASES[] = {
        {"\x80", 1, 0},
        {"abc\xff", 4, 3},
        {"\xc0\xaf", 2, 0},
        {"\xc1\xbf", 2, 0},
        {"\xe0\x80\xaf", 3, 0},
        {"\xed\xa0\x80", 3, 0},
        {"\xf0\x80\x80\xaf", 4, 0},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"0123456789abcdef\xe2\x82", 18, 16},
        {"\xe2\x82\xac\xe2\x28\xac", 6, 3},
        {"\xc3\xa9\xc3", 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t bad = 99;

        assert_false(sirix_utf8_valid(CASES[i].text, CASES[i].len, &bad));
        assert_int_equal(bad, CASES[i].bad);
        assert_false(sirix_utf8_valid(CASES[i].text, CASES[i].len, NULL));
    }
    assert_true(sirix_utf8_valid("", 0, NULL));
    assert_true(sirix_utf8_valid("a\0b", 3, NULL));
}

static void text_is_cut_and_counted_by_characters(void **state)
{
    static const char TEXT[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1 2 3 4 1 bytes. */
    static const size_t CUTS[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    (void)state;
    for (size_t at = 0; at <= 11; at++) {
        assert_int_equal(sirix_utf8_cut(TEXT, 11, at), CUTS[at]);
    }
    assert_int_equal(sirix_utf8_cut(TEXT, 11, 100), 11);
    assert_int_equal(sirix_utf8_count(TEXT, 11), 5);
}

static void only_ascii_letters_are_folded(void **state)
{
    char folded[8] = "";

    (void)state;
    sirix_ascii_fold("AzZ[@\xc3\x89", 7, folded);
    assert_memory_equal(folded, "azz[@\xc3\x89", 7);
    assert_true(sirix_ascii_equal_fold("Main", 4, "mAIN", 4));
    assert_false(sirix_ascii_equal_fold("Main", 4, "main2", 5));
    assert_false(sirix_ascii_equal_fold("a", 1, "b", 1));
}

/* --- Names ------------------------------------------------------------------------------------ */

static void names_follow_one_rule(void **state)
{
    char longest[SIRIX_NAME_BYTES_MAX + 2];
    struct {
        const char *text;
        enum sirix_name_kind kind;
        enum sirix_reason reason; /* NONE: allowed. */
    } cases[] = {
        {"a", SIRIX_NAME_DATABASE, SIRIX_REASON_NONE},
        {"Main.v1_2-x", SIRIX_NAME_BRANCH, SIRIX_REASON_NONE},
        {"a..b", SIRIX_NAME_RESOURCE, SIRIX_REASON_NONE},
        {"HEAD", SIRIX_NAME_BRANCH, SIRIX_REASON_NONE},
        {"main", SIRIX_NAME_SNAPSHOT, SIRIX_REASON_NONE},
        {"42", SIRIX_NAME_DATABASE, SIRIX_REASON_NONE},
        {"42", SIRIX_NAME_BRANCH, SIRIX_REASON_NAME_INVALID},
        {"42", SIRIX_NAME_SNAPSHOT, SIRIX_REASON_NAME_INVALID},
        {"42a", SIRIX_NAME_SNAPSHOT, SIRIX_REASON_NONE},
        {"2024-01-15", SIRIX_NAME_SNAPSHOT, SIRIX_REASON_NAME_INVALID},
        {"2024-01-15T10", SIRIX_NAME_BRANCH, SIRIX_REASON_NAME_INVALID},
        {"2024-01-15", SIRIX_NAME_RESOURCE, SIRIX_REASON_NONE},
        {"2024-01", SIRIX_NAME_SNAPSHOT, SIRIX_REASON_NONE},
        {"", SIRIX_NAME_DATABASE, SIRIX_REASON_FIELD_MISSING},
        {"../x", SIRIX_NAME_DATABASE, SIRIX_REASON_NAME_INVALID},
        {".x", SIRIX_NAME_DATABASE, SIRIX_REASON_NAME_INVALID},
        {"-x", SIRIX_NAME_DATABASE, SIRIX_REASON_NAME_INVALID},
        {"_x", SIRIX_NAME_DATABASE, SIRIX_REASON_NAME_INVALID},
        {"a/b", SIRIX_NAME_RESOURCE, SIRIX_REASON_NAME_INVALID},
        {"a b", SIRIX_NAME_RESOURCE, SIRIX_REASON_NAME_INVALID},
        {"a\n", SIRIX_NAME_RESOURCE, SIRIX_REASON_NAME_INVALID},
        {"a\xe2\x80\xae", SIRIX_NAME_BRANCH, SIRIX_REASON_NAME_INVALID},
        {"caf\xc3\xa9", SIRIX_NAME_BRANCH, SIRIX_REASON_NAME_INVALID},
        {longest, SIRIX_NAME_BRANCH, SIRIX_REASON_NAME_INVALID},
        {longest + 1, SIRIX_NAME_BRANCH, SIRIX_REASON_NONE},
    };

    (void)state;
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_error err = {0};
        enum sirix_status status =
            sirix_name_check(cases[i].kind, bytes(cases[i].text), "view.branch", &err);
        bool allowed = cases[i].reason == SIRIX_REASON_NONE;

        if (status != (allowed ? SIRIX_OK : SIRIX_INVALID) || err.reason != cases[i].reason) {
            fail_msg("'%s': %s", cases[i].text, err.text);
        }
        if (!allowed) {
            assert_string_equal(err.field, "view.branch");
            assert_non_null(strstr(err.text, "view.branch"));
        }
    }
}

static void a_refused_name_is_not_repeated_raw(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    assert_int_equal(sirix_name_check(SIRIX_NAME_BRANCH, bytes("ab\x1b[2J"), "branch", &err),
                     SIRIX_INVALID);
    assert_null(strchr(err.text, '\x1b'));
    assert_int_equal(err.offset, 2);
    assert_true(err.has_offset);
}

static void revision_numbers_are_digits_within_u64(void **state)
{
    uint64_t revision = 5;

    (void)state;
    assert_true(sirix_name_is_revision(bytes("0"), &revision) && revision == 0);
    assert_true(sirix_name_is_revision(bytes("18446744073709551615"), &revision));
    assert_true(revision == UINT64_MAX);
    assert_false(sirix_name_is_revision(bytes("18446744073709551616"), &revision));
    assert_false(sirix_name_is_revision(bytes("000000000000000000001"), &revision));
    assert_false(sirix_name_is_revision(bytes(""), &revision));
    assert_false(sirix_name_is_revision(bytes("1a"), &revision));
    assert_true(revision == UINT64_MAX);
}

/* --- Times ------------------------------------------------------------------------------------ */

static void times_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
        const char *printed;
    } CASES[] = {
        {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z"},
        {"2024-01-15T10:00:00-05:00", INT64_C(1705330800000000), "2024-01-15T15:00:00.000000Z"},
        {"2024-01-15T15:00:00Z", INT64_C(1705330800000000), "2024-01-15T15:00:00.000000Z"},
        {"2024-01-15t15:00:00z", INT64_C(1705330800000000), "2024-01-15T15:00:00.000000Z"},
        {"2024-01-15T15:00:00.5Z", INT64_C(1705330800500000), "2024-01-15T15:00:00.500000Z"},
        {"2024-01-15T15:00:00.000001Z", INT64_C(1705330800000001), "2024-01-15T15:00:00.000001Z"},
        {"2024-01-15T15:00:00.1234569999Z", INT64_C(1705330800123456),
         "2024-01-15T15:00:00.123456Z"},
        {"2024-01-15", INT64_C(1705276800000000), "2024-01-15T00:00:00.000000Z"},
        {"2024-02-29T23:59:59+00:00", INT64_C(1709251199000000), "2024-02-29T23:59:59.000000Z"},
        {"2000-02-29", INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z"},
        {"1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"},
        {"0001-01-01T00:00:00Z", SIRIX_TIME_US_MIN, "0001-01-01T00:00:00.000000Z"},
        {"9999-12-31T23:59:59.999999Z", SIRIX_TIME_US_MAX, "9999-12-31T23:59:59.999999Z"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_error err = {0};
        char printed[SIRIX_TIME_TEXT_BYTES];
        int64_t us = 0;

        if (sirix_time_parse(bytes(CASES[i].text), &us, &err) != SIRIX_OK || us != CASES[i].us) {
            fail_msg("%s: %lld %s", CASES[i].text, (long long)us, err.text);
        }
        assert_int_equal(sirix_time_format(us, printed), strlen(CASES[i].printed));
        assert_string_equal(printed, CASES[i].printed);
    }
}

static void times_that_are_not_rfc_3339_are_refused_at_the_byte(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } CASES[] = {
        {"", 0},
        {"2024-13-01", 5},
        {"15/01/2024", 2},
        {"2024-02-30", 8},
        {"2023-02-29", 8},
        {"1900-02-29", 8},
        {"2024-00-01", 5},
        {"0000-01-01", 0},
        {"2024-01-15 10:00:00Z", 10},
        {"2024-01-15T10:00:00", 19},
        {"2024-01-15T10:00Z", 16},
        {"2024-01-15T24:00:00Z", 11},
        {"2024-01-15T10:60:00Z", 14},
        {"2024-01-15T23:59:60Z", 17},
        {"2024-01-15T10:00:00.Z", 20},
        {"2024-01-15T10:00:00,5Z", 19},
        {"2024-01-15T10:00:00+0100", 22},
        {"2024-01-15T10:00:00+01", 22},
        {"2024-01-15T10:00:00+24:00", 20},
        {"2024-01-15T10:00:00+01:60", 23},
        {"2024-01-15T10:00:00Zx", 20},
        {"2024-01-15T", 11},
        {"0001-01-01T00:00:00+00:01", 0},
        {"9999-12-31T23:59:59-00:01", 0},
        {" 2024-01-15", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_error err = {0};
        int64_t us = 77;

        if (sirix_time_parse(bytes(CASES[i].text), &us, &err) != SIRIX_INVALID || us != 77 ||
            err.offset != CASES[i].at || !err.has_offset) {
            fail_msg("'%s': at %llu: %s", CASES[i].text, (unsigned long long)err.offset, err.text);
        }
    }
}

static void every_day_of_four_centuries_is_followed_by_the_next(void **state)
{
    static const int64_t DAY_US = INT64_C(86400000000);
    int64_t time = INT64_C(-11676096000000000); /* 1600-01-01 */
    char previous[SIRIX_TIME_TEXT_BYTES] = "";

    (void)state;
    for (int day = 0; day < 146097 + 1; day++, time += DAY_US) {
        char text[SIRIX_TIME_TEXT_BYTES];
        int64_t back = 0;

        (void)sirix_time_format(time + 123, text);
        assert_int_equal(sirix_time_parse(bytes(text), &back, NULL), SIRIX_OK);
        assert_true(back == time + 123);
        assert_true(strcmp(previous, text) < 0);
        memcpy(previous, text, sizeof(text));
    }
    assert_memory_equal(previous, "2000-01-01T", 11);
}

static void instants_beyond_the_calendar_are_written_as_its_ends(void **state)
{
    char text[SIRIX_TIME_TEXT_BYTES];

    (void)state;
    (void)sirix_time_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
    (void)sirix_time_format(INT64_MIN, text);
    assert_string_equal(text, "0001-01-01T00:00:00.000000Z");
}

static int64_t fixed_us(void *context)
{
    return *(int64_t *)context;
}

static uint64_t fixed_ns(void *context)
{
    return (uint64_t) * (int64_t *)context * 1000;
}

static void a_clock_can_be_replaced(void **state)
{
    int64_t now = 42;
    const struct sirix_clock clock = {fixed_us, fixed_ns, &now};
    const struct sirix_clock *real = sirix_clock_system();
    uint64_t before = sirix_clock_monotonic_ns(real);

    (void)state;
    assert_int_equal(sirix_clock_realtime_us(&clock), 42);
    assert_int_equal(sirix_clock_monotonic_ns(&clock), 42000);
    assert_true(sirix_clock_monotonic_ns(real) >= before);
    assert_true(sirix_clock_realtime_us(real) > INT64_C(1577836800000000)); /* After 2020. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_comes_back_and_surrogates_do_not),
        cmocka_unit_test(invalid_utf8_is_found_where_it_starts),
        cmocka_unit_test(text_is_cut_and_counted_by_characters),
        cmocka_unit_test(only_ascii_letters_are_folded),
        cmocka_unit_test(names_follow_one_rule),
        cmocka_unit_test(a_refused_name_is_not_repeated_raw),
        cmocka_unit_test(revision_numbers_are_digits_within_u64),
        cmocka_unit_test(times_are_read_exactly),
        cmocka_unit_test(times_that_are_not_rfc_3339_are_refused_at_the_byte),
        cmocka_unit_test(every_day_of_four_centuries_is_followed_by_the_next),
        cmocka_unit_test(instants_beyond_the_calendar_are_written_as_its_ends),
        cmocka_unit_test(a_clock_can_be_replaced),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
