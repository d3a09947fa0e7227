/* Number texts: the grammar, exact storage as integers, comparison without rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/json/json_help.h"
#include "json/number.h"

static void the_grammar_is_that_of_rfc_8259(void **state)
{
    static const struct {
        const char *text;
        int bad; /* -1: valid. */
    } CASES[] = {
        {"0", -1},       {"-0", -1}, {"10", -1}, {"-1.5e+10", -1}, {"1E5", -1},  {"0.00", -1},
        {"1e-0009", -1}, {"", 0},    {"-", 1},   {"+1", 0},        {"01", 1},    {"-01", 2},
        {"1.", 2},       {".5", 0},  {"1e", 2},  {"1e+", 3},       {"1.2.3", 3}, {"1e5.5", 3},
        {"0x1", 1},      {"1 ", 1},  {" 1", 0},  {"NaN", 0},       {"1_0", 1},   {"--1", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t bad = 99;
        bool valid = sirix_json_number_valid(text(CASES[i].text), &bad);

        if (valid != (CASES[i].bad < 0) || (!valid && bad != (size_t)CASES[i].bad)) {
            fail_msg("'%s': bad at %zu", CASES[i].text, bad);
        }
    }
}

static void numbers_have_the_class_that_rebuilds_their_text(void **state)
{
    static const struct {
        const char *text;
        enum sirix_json_number_class number_class;
        int64_t mantissa;
        unsigned scale;
    } CASES[] = {
        {"0", SIRIX_JSON_NUMBER_INTEGER, 0, 0},
        {"-0", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"-7", SIRIX_JSON_NUMBER_INTEGER, -7, 0},
        {"9223372036854775807", SIRIX_JSON_NUMBER_INTEGER, INT64_MAX, 0},
        {"-9223372036854775808", SIRIX_JSON_NUMBER_INTEGER, INT64_MIN, 0},
        {"9223372036854775808", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"-9223372036854775809", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"18446744073709551617", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"100000000000000000000000", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"0.0", SIRIX_JSON_NUMBER_DECIMAL, 0, 1},
        {"0.10", SIRIX_JSON_NUMBER_DECIMAL, 10, 2},
        {"-0.5", SIRIX_JSON_NUMBER_DECIMAL, -5, 1},
        {"-0.0", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"1.10", SIRIX_JSON_NUMBER_DECIMAL, 110, 2},
        {"0.000000000000000001", SIRIX_JSON_NUMBER_DECIMAL, 1, 18},
        {"0.0000000000000000001", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"12345678901234567.8", SIRIX_JSON_NUMBER_DECIMAL, INT64_C(123456789012345678), 1},
        {"123456789012345678.9", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"1e5", SIRIX_JSON_NUMBER_TEXT, 0, 0},
        {"1.5E3", SIRIX_JSON_NUMBER_TEXT, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_json_number number = sirix_json_number_classify(text(CASES[i].text));

        if (number.number_class != CASES[i].number_class || number.mantissa != CASES[i].mantissa ||
            number.scale != CASES[i].scale) {
            fail_msg("%s: class %d, %lld, %u", CASES[i].text, (int)number.number_class,
                     (long long)number.mantissa, number.scale);
        }
    }
}

/* A random valid number text of up to 60 bytes. */
static void make_number(uint64_t *seed, char *to)
{
    uint64_t shape = next_random(seed);
    size_t len = 0;

    if ((shape & 3) == 0) {
        to[len++] = '-';
    }
    for (uint64_t digits = shape >> 2 & 15, i = 0; i <= digits + (shape >> 6 & 7); i++) {
        char digit = (char)('0' + next_random(seed) % 10);

        to[len++] = digit;
        if (i == 0 && digit == '0') {
            break;
        }
    }
    if ((shape >> 16 & 3) != 0) {
        to[len++] = '.';
        for (uint64_t i = 0; i <= (shape >> 20 & 15); i++) {
            to[len++] = (char)('0' + ((shape >> 40 & 1) != 0 ? next_random(seed) % 10 : 0));
        }
    }
    if ((shape >> 24 & 7) == 0) {
        len += (size_t)sprintf(to + len, "e%s%d", (shape >> 30 & 1) != 0 ? "-" : "+",
                               (int)(shape >> 32 & 31));
    }
    to[len] = '\0';
}

static void what_is_stored_as_an_integer_prints_the_same_text(void **state)
{
    uint64_t seed = 1;
    int decimals = 0;
    int integers = 0;

    (void)state;
    for (int i = 0; i < 300000; i++) {
        char number[80];
        char back[SIRIX_JSON_DECIMAL_TEXT_BYTES];
        size_t len = 0;

        make_number(&seed, number);
        assert_true(sirix_json_number_valid(text(number), NULL));
        struct sirix_json_number kind = sirix_json_number_classify(text(number));
        if (kind.number_class == SIRIX_JSON_NUMBER_TEXT) {
            continue;
        }
        if (kind.number_class == SIRIX_JSON_NUMBER_INTEGER) {
            len = sirix_json_number_format_integer(kind.mantissa, back);
            integers++;
        } else {
            len = sirix_json_number_format_decimal(kind.mantissa, kind.scale, back);
            decimals++;
        }
        if (len != strlen(number) || memcmp(number, back, len) != 0) {
            fail_msg("%s -> %.*s", number, (int)len, back);
        }
    }
    assert_true(decimals > 10000 && integers > 10000);
}

static void every_decimal_that_can_be_stored_comes_back(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        int64_t mantissa = (int64_t)(next_random(&seed) >> (next_random(&seed) % 60 + 4));
        uint8_t scale = (uint8_t)(next_random(&seed) % 18 + 1);
        char print[SIRIX_JSON_DECIMAL_TEXT_BYTES];

        mantissa %= INT64_C(1000000000000000000);
        mantissa = (next_random(&seed) & 1) != 0 && mantissa != 0 ? -mantissa : mantissa;
        struct sirix_bytes bytes = {print,
                                    sirix_json_number_format_decimal(mantissa, scale, print)};
        struct sirix_json_number back = sirix_json_number_classify(bytes);
        if (back.number_class != SIRIX_JSON_NUMBER_DECIMAL || back.mantissa != mantissa ||
            back.scale != scale) {
            fail_msg("%lld scale %u: %.*s", (long long)mantissa, scale, (int)bytes.len, print);
        }
    }
}

static void numbers_compare_by_value(void **state)
{
    /* In rising order; = joins equal ones. */
    static const char *const ROWS[] = {
        "-1e99999999999999999999999",
        "-1e400",
        "-123456789012345678901234567891",
        "-123456789012345678901234567890",
        "-2",
        "-1.0000000000000000000000001",
        "-1=-1.0=-10e-1",
        "-1e-99999999999999999999",
        "0=-0=0.0=0e5=-0.00e-7=0e99999999999999999999",
        "1e-99999999999999999999",
        "1e-400",
        "0.0999",
        "0.1=0.10=1e-1=10E-2=0.0001e3",
        "0.10000001",
        "1=1.0=1e0=100e-2=0.01e2",
        "1.1=1.10=11e-1",
        "2",
        "9.9",
        "10=1e1=1.0e1",
        "99",
        "100=1e2=1E+2",
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "1e400=10e399=0.1e401",
        "1.1e400",
        "1e99999999999999999998=10e99999999999999999997",
        "1e99999999999999999999=0.001e100000000000000000002",
        "1e100000000000000000000",
    };
    enum { ROW_COUNT = sizeof(ROWS) / sizeof(ROWS[0]), FORMS_MAX = 64 };
    struct {
        struct sirix_bytes number;
        size_t row;
    } forms[FORMS_MAX];
    size_t count = 0;

    (void)state;
    for (size_t row = 0; row < ROW_COUNT; row++) {
        const char *at = ROWS[row];

        while (*at != '\0') {
            size_t len = strcspn(at, "=");

            assert_true(count < FORMS_MAX);
            forms[count].number = (struct sirix_bytes){at, len};
            forms[count++].row = row;
            at += len + (at[len] == '=' ? 1 : 0);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            int order = sirix_json_number_compare(forms[i].number, forms[k].number);
            int expected = (forms[i].row > forms[k].row) - (forms[i].row < forms[k].row);

            if ((order > 0) - (order < 0) != expected) {
                fail_msg("%.*s and %.*s: %d", (int)forms[i].number.len,
                         (const char *)forms[i].number.data, (int)forms[k].number.len,
                         (const char *)forms[k].number.data, order);
            }
        }
    }
}

static void comparison_agrees_with_128_bit_arithmetic(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char print[2][SIRIX_JSON_DECIMAL_TEXT_BYTES];
        struct sirix_bytes number[2];
        __extension__ __int128 value[2];

        for (int k = 0; k < 2; k++) {
            int64_t mantissa = (int64_t)(next_random(&seed) % 2001) - 1000;
            uint8_t scale = (uint8_t)(next_random(&seed) % 4 + 1);

            number[k].data = print[k];
            number[k].len = sirix_json_number_format_decimal(mantissa, scale, print[k]);
            value[k] = mantissa;
            for (; scale < 4; scale++) {
                value[k] *= 10;
            }
        }
        int order = sirix_json_number_compare(number[0], number[1]);
        assert_int_equal((order > 0) - (order < 0), (value[0] > value[1]) - (value[0] < value[1]));
    }
}

static void whole_numbers_are_read_in_any_form(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } CASES[] = {
        {"0", true, 0},
        {"-0.00", true, 0},
        {"1e2", true, 100},
        {"100.00", true, 100},
        {"1.5e1", true, 15},
        {"0.001e3", true, 1},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"10e-1", true, 1},
        {"1e19", false, 0},
        {"1e18", true, INT64_C(1000000000000000000)},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"9223372036854775807.0", true, INT64_MAX},
        {"922337203685477580.7e1", true, INT64_MAX},
        {"1e99999999999999999999", false, 0},
        {"1e-99999999999999999999", false, 0},
        {"0e99999999999999999999", true, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        int64_t value = 0;
        bool fits = sirix_json_number_to_i64(text(CASES[i].text), &value);

        if (fits != CASES[i].fits || value != CASES[i].value) {
            fail_msg("%s: %lld", CASES[i].text, (long long)value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grammar_is_that_of_rfc_8259),
        cmocka_unit_test(numbers_have_the_class_that_rebuilds_their_text),
        cmocka_unit_test(what_is_stored_as_an_integer_prints_the_same_text),
        cmocka_unit_test(every_decimal_that_can_be_stored_comes_back),
        cmocka_unit_test(numbers_compare_by_value),
        cmocka_unit_test(comparison_agrees_with_128_bit_arithmetic),
        cmocka_unit_test(whole_numbers_are_read_in_any_form),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
