/* The command line of sirixctl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/args.h"

static const struct sirixctl_flag COMMON[] = {{"json", NULL, ""}, {"data", "DIR", ""}};
static const struct sirixctl_flag OWN[] = {{"branch", "NAME", ""}, {"ndjson", NULL, ""}};
static const struct sirixctl_flags COMMON_FLAGS = {COMMON, 2};
static const struct sirixctl_flags OWN_FLAGS = {OWN, 2};

static struct sirixctl_args args;
static struct sirix_error err;

static enum sirix_status parse(int argc, const char **argv)
{
    args = (struct sirixctl_args){0};
    err = (struct sirix_error){0};
    return sirixctl_args_parse(argc, argv, &COMMON_FLAGS, &OWN_FLAGS, &args, &err);
}

static void flags_and_operands_stand_in_any_order(void **state)
{
    const char *argv[] = {"one", "--branch", "b", "-", "--json", "two", "--data=d=e", "--ndjson"};

    (void)state;
    assert_int_equal(parse(8, argv), SIRIX_OK);
    assert_int_equal(args.operand_count, 3);
    assert_string_equal(args.operands[0], "one");
    assert_string_equal(args.operands[1], "-");
    assert_string_equal(args.operands[2], "two");
    assert_string_equal(args.own[0], "b");
    assert_string_equal(args.own[1], "");
    assert_string_equal(args.common[0], "");
    assert_string_equal(args.common[1], "d=e");
}

static void two_dashes_end_the_flags(void **state)
{
    const char *argv[] = {"--json", "--", "--branch", "--"};

    (void)state;
    assert_int_equal(parse(4, argv), SIRIX_OK);
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[0], "--branch");
    assert_string_equal(args.operands[1], "--");
    assert_null(args.own[0]);
}

static void a_dash_and_a_digit_begin_a_number(void **state)
{
    const char *argv[] = {"-1", "--json", "-0.5e3", "-", "--", "-x"};

    (void)state;
    assert_int_equal(parse(6, argv), SIRIX_OK);
    assert_int_equal(args.operand_count, 4);
    assert_string_equal(args.operands[0], "-1");
    assert_string_equal(args.operands[1], "-0.5e3");
    assert_string_equal(args.operands[2], "-");
    assert_string_equal(args.operands[3], "-x");
}

static void flags_of_every_command_are_counted_before_it(void **state)
{
    static const struct {
        const char *words[4];
        int count;
        int lead;
        const char *told; /* Of a mistake. */
    } CASES[] = {
        {{"read"}, 1, 0, NULL},
        {{"--json", "read", "--json"}, 3, 1, NULL},
        {{"--data", "d", "--json", "read"}, 4, 3, NULL},
        {{"--data=d", "read"}, 2, 1, NULL},
        {{"--data", "--json", "read"}, 3, 2, NULL},
        {{"--json"}, 1, 1, NULL},
        {{"--", "read"}, 2, 0, NULL},
        {{"-1"}, 1, 0, NULL},
        {{"--json", "--data"}, 2, 0, "needs a value: DIR"},
        {{"--branch", "b", "read"}, 3, 0, "unknown flag --branch"},
        {{"--dta", "d", "read"}, 3, 0, "did you mean --data?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int lead = -1;
        enum sirix_status status =
            sirixctl_args_lead(CASES[i].count, CASES[i].words, &COMMON_FLAGS, &lead, &err);

        if (CASES[i].told != NULL) {
            assert_int_equal(status, SIRIX_UNSUPPORTED);
            assert_non_null(strstr(err.text, CASES[i].told));
        } else {
            assert_int_equal(status, SIRIX_OK);
            assert_int_equal(lead, CASES[i].lead);
        }
    }
}

static void a_value_may_look_like_a_flag_or_be_empty(void **state)
{
    const char *argv[] = {"--branch", "--json", "--data="};

    (void)state;
    assert_int_equal(parse(3, argv), SIRIX_OK);
    assert_string_equal(args.own[0], "--json");
    assert_string_equal(args.common[1], "");
    assert_null(args.common[0]);
}

static void mistakes_are_told_with_what_was_meant(void **state)
{
    static const struct {
        const char *word;
        const char *told;
    } CASES[] = {
        {"--brnch=x", "did you mean --branch?"},
        {"--bra", "did you mean --branch?"},
        {"--jsno", "did you mean --json?"},
        {"--zzzzzz", "unknown flag --zzzzzz"},
        {"--json=1", "takes no value"},
        {"--branch", "needs a value: NAME"},
        {"-x", "two dashes"},
        {"-b", "did you mean --branch?"},
        {"-d", "did you mean --data?"},
        {"--=", "unknown flag --"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const char *argv[] = {CASES[i].word};

        assert_int_equal(parse(1, argv), SIRIX_UNSUPPORTED);
        assert_non_null(strstr(err.text, CASES[i].told));
    }
    const char *twice[] = {"--json", "--json"};
    assert_int_equal(parse(2, twice), SIRIX_UNSUPPORTED);
    assert_non_null(strstr(err.text, "twice"));
}

static void nothing_is_near_to_a_word_of_which_all_differs(void **state)
{
    static const char *const KNOWN[] = {"abc", "history", "read"};
    static const char *const OTHERS[] = {"shop", "warehouse"};

    (void)state;
    assert_null(sirixctl_nearest("xyz", KNOWN, 3));
    assert_string_equal(sirixctl_nearest("histroy", KNOWN, 3), "history");
    assert_string_equal(sirixctl_nearest("his", KNOWN, 3), "history");
    assert_null(sirixctl_nearest("", KNOWN, 3));
    assert_null(sirixctl_nearest("nope", OTHERS, 2)); /* More than half of it would differ. */
    assert_string_equal(sirixctl_nearest("shp", OTHERS, 2), "shop");
}

static void numbers_are_whole_and_bounded(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
        bool good;
        uint64_t value;
    } CASES[] = {
        {"0", 10, true, 0},
        {"10", 10, true, 10},
        {"11", 10, false, 0},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"", 10, false, 0},
        {"-1", 10, false, 0},
        {"+1", 10, false, 0},
        {"1 ", 10, false, 0},
        {"0x1", 10, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        uint64_t value = 77;
        enum sirix_status status =
            sirixctl_parse_u64(CASES[i].text, "--n", CASES[i].max, &value, &err);

        assert_int_equal(status, CASES[i].good ? SIRIX_OK : SIRIX_UNSUPPORTED);
        assert_int_equal(value, CASES[i].good ? CASES[i].value : 77);
    }
    uint64_t kept = 5;
    assert_int_equal(sirixctl_parse_optional(NULL, "--n", 1, &kept, &err), SIRIX_OK);
    assert_int_equal(kept, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_and_operands_stand_in_any_order),
        cmocka_unit_test(two_dashes_end_the_flags),
        cmocka_unit_test(a_dash_and_a_digit_begin_a_number),
        cmocka_unit_test(flags_of_every_command_are_counted_before_it),
        cmocka_unit_test(a_value_may_look_like_a_flag_or_be_empty),
        cmocka_unit_test(mistakes_are_told_with_what_was_meant),
        cmocka_unit_test(nothing_is_near_to_a_word_of_which_all_differs),
        cmocka_unit_test(numbers_are_whole_and_bounded),
    };

    return cmocka_run_group_tests_name("cli args", tests, NULL, NULL);
}
