/* The number tower: arithmetic, text, order, rounding; small and large values alike. */
#include "unit/query_value/value_help.h"

#include <math.h>

static void arithmetic_gives_the_exact_result_of_the_higher_type(void **state)
{
    static const struct {
        const char *a;
        const char *op;
        const char *b;
        const char *expect;
    } CASES[] = {
        {"integer 1", "+", "integer 2", "integer 3"},
        {"integer 9223372036854775807", "+", "integer 1", "integer 9223372036854775808"},
        {"integer -9223372036854775808", "-", "integer 1", "integer -9223372036854775809"},
        {"integer 9223372036854775808", "-", "integer 1", "integer 9223372036854775807"},
        {"integer 9223372036854775807", "*", "integer 9223372036854775807",
         "integer 85070591730234615847396907784232501249"},
        {"integer 85070591730234615847396907784232501249", "idiv", "integer 9223372036854775807",
         "integer 9223372036854775807"},
        {"integer 7", "idiv", "integer 2", "integer 3"},
        {"integer -7", "idiv", "integer 2", "integer -3"},
        {"integer 7", "mod", "integer 2", "integer 1"},
        {"integer -7", "mod", "integer 2", "integer -1"},
        {"integer 7", "div", "integer 2", "decimal 3.5"},
        {"integer 6", "div", "integer 2", "decimal 3"},
        {"integer 1", "div", "integer 3", "decimal 0.333333333333333333"},
        {"integer 2", "div", "integer 3", "decimal 0.666666666666666667"},
        {"integer -2", "div", "integer 3", "decimal -0.666666666666666667"},
        {"integer 100", "div", "integer 3", "decimal 33.333333333333333333"},
        {"integer -9223372036854775808", "div", "integer -1", "decimal 9223372036854775808"},
        {"integer -9223372036854775808", "idiv", "integer -1", "integer 9223372036854775808"},
        {"decimal 0.1", "+", "decimal 0.2", "decimal 0.3"},
        {"decimal 0.1", "div", "integer 3", "decimal 0.033333333333333333"},
        {"decimal 10.2", "div", "integer 4", "decimal 2.55"},
        {"decimal 1.0", "div", "decimal 2.0", "decimal 0.5"},
        {"decimal 1.10", "*", "decimal 1.10", "decimal 1.21"},
        {"decimal 0.000000000000000001", "*", "decimal 0.1", "decimal 0.0000000000000000001"},
        {"decimal 123456789012345678.123456789", "+", "decimal 0.000000001",
         "decimal 123456789012345678.12345679"},
        {"decimal 5.5", "mod", "decimal 2", "decimal 1.5"},
        {"decimal -5.5", "idiv", "integer 2", "integer -2"},
        {"double 1e308", "+", "double 1e308", "double INF"},
        {"double 0.1", "+", "double 0.2", "double 0.30000000000000004"},
        {"integer 1", "+", "double 0.5", "double 1.5"},
        {"float 1.5", "*", "integer 2", "float 3"},
        {"float 1.5", "*", "double 2", "double 3"},
        {"double 7", "idiv", "double 2", "integer 3"},
        {"integer 99999999999999999999", "idiv", "float 1.1", "integer 90909090332054388736"},
        {"double 1e30", "idiv", "integer 1", "integer 1000000000000000019884624838656"},
        {"double -0", "mod", "double -INF", "double -0"},
        {"double 5", "div", "double 0", "double INF"},
        {"untypedAtomic 3", "+", "integer 4", "double 7"},
        {"short 3", "+", "short 4", "integer 7"},
        {"integer 1", "div", "integer 0", "!FOAR0001"},
        {"integer 1", "idiv", "integer 0", "!FOAR0001"},
        {"decimal 1.5", "mod", "decimal 0.0", "!FOAR0001"},
        {"double 1", "idiv", "double 0", "!FOAR0001"},
        {"double NaN", "idiv", "integer 1", "!FOAR0002"},
        {"double INF", "idiv", "integer 1", "!FOAR0002"},
        {"integer 1", "+", "string 1", "!XPTY0004"},
        {"integer 1", "+", "boolean true", "!XPTY0004"},
        {"integer 1", "+", "null", "!XPTY0004"},
        {"json {\"a\":1}", "*", "integer 5", "!FOTY0013"},
        {"untypedAtomic x", "+", "integer 4", "!FORG0001"},
    };
    static const char *const OPS[] = {"+", "-", "*", "div", "idiv", "mod"};
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item result = {0};
        size_t op = 0;

        while (strcmp(OPS[op], CASES[i].op) != 0) {
            op++;
        }
        enum sirix_status status = sirix_item_arithmetic(
            &bench->work, (enum sirix_arithmetic)op, item_of(bench, CASES[i].a),
            item_of(bench, CASES[i].b), &result, &bench->err);
        const char *got = outcome(bench, status, result);

        if (strcmp(got, CASES[i].expect) != 0) {
            fail_msg("%s %s %s: %s, not %s", CASES[i].a, CASES[i].op, CASES[i].b, got,
                     CASES[i].expect);
        }
        memset(&bench->err, 0, sizeof(bench->err));
    }
    bench_free(bench);
}

static void numbers_print_as_xpath_has_them(void **state)
{
    static const struct {
        const char *written;
        const char *expect;
    } CASES[] = {
        {"double 0", "0"},
        {"double -0", "-0"},
        {"double 1", "1"},
        {"double 100000", "100000"},
        {"double 999999", "999999"},
        {"double 1000000", "1.0E6"},
        {"double 12500000", "1.25E7"},
        {"double 0.000001", "0.000001"},
        {"double 0.0000001", "1.0E-7"},
        {"double 1.5E-10", "1.5E-10"},
        {"double 0.1", "0.1"},
        {"double 123456.789", "123456.789"},
        {"double 4.9E-324", "4.9E-324"},
        {"double 1.7976931348623157E308", "1.7976931348623157E308"},
        {"double 2.2250738585072014e-308", "2.2250738585072014E-308"},
        {"double INF", "INF"},
        {"double -INF", "-INF"},
        {"double NaN", "NaN"},
        {"double 1e23", "1.0E23"},
        {"float 0.1", "0.1"},
        {"float 16777216", "1.6777216E7"},
        {"float 3.4028235E38", "3.4028235E38"},
        {"float 1e-45", "1.4E-45"},
        {"decimal 1.50", "1.5"},
        {"decimal 1.0", "1"},
        {"decimal -0.0", "0"},
        {"decimal .5", "0.5"},
        {"decimal 5.", "5"},
        {"decimal -0.05", "-0.05"},
        {"decimal 100", "100"},
        {"integer 007", "7"},
        {"integer +7", "7"},
        {"integer -0", "0"},
        {"integer 123456789012345678901234567890", "123456789012345678901234567890"},
        {"decimal 0.12345678901234567890123456789", "0.12345678901234567890123456789"},
        {"decimal -12345678901234567890.5", "-12345678901234567890.5"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const char *got = shown(bench, item_of(bench, CASES[i].written));

        if (strcmp(strchr(got, ' ') + 1, CASES[i].expect) != 0) {
            fail_msg("%s: %s, not %s", CASES[i].written, got, CASES[i].expect);
        }
    }
    bench_free(bench);
}

static void json_numbers_keep_what_their_text_says(void **state)
{
    static const struct {
        const char *json;
        const char *type;
        const char *printed;
    } CASES[] = {
        {"1", "integer", "1"},
        {"-0", "integer", "0"},
        {"1.10", "decimal", "1.10"},
        {"0.0", "decimal", "0.0"},
        {"99999999999999999999", "integer", "99999999999999999999"},
        {"12345678901234567890.12345", "decimal", "12345678901234567890.12345"},
        {"1e2", "double", "100"},
        {"1.25e7", "double", "1.25E7"},
        {"0e0", "double", "0"},
        {"-0e10", "double", "0"},
        {"1e308", "double", "1.0E308"},
        {"1.0000000000000000001e0", "decimal", "1.0000000000000000001"},
        {"1e-400", "decimal", NULL}, /* 1 at the 400th place. */
        {"2e308", "decimal", NULL},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item item = {0};
        struct sirix_buf buf;

        sirix_buf_init(&buf, SIZE_MAX);
        assert_int_equal(
            sirix_number_parse(&bench->work, text_of(CASES[i].json), true, &item, &bench->err),
            SIRIX_OK);
        assert_string_equal(sirix_type_name((enum sirix_type)item.type), CASES[i].type);
        assert_int_equal(sirix_item_print_json(&bench->work, item, &buf, &bench->err), SIRIX_OK);
        if (CASES[i].printed != NULL && (buf.len != strlen(CASES[i].printed) ||
                                         memcmp(buf.data, CASES[i].printed, buf.len) != 0)) {
            fail_msg("%s: %.*s", CASES[i].json, (int)buf.len, (const char *)buf.data);
        }
        sirix_buf_deinit(&buf);
    }
    bench_free(bench);
}

static void exact_numbers_convert_to_the_nearest_double(void **state)
{
    /* The C library rounds text correctly: it is the oracle. */
    static const char *const TEXTS[] = {
        "0.1",
        "9007199254740993",
        "9007199254740993.0000000000000000000000000001",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000012345678901234567890123456789",
        "179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558"
        "632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245"
        "490090389328944075868508455133942304583236903222948165808559332123347747200000000000000000"
        "00000000000000000000000000000000",
        "1.7976931348623157",
        "4503599627370497.5",
        "4503599627370498.5",
        "0.5",
        "18446744073709551615",
        "18446744073709551616.5",
        "99999999999999999999999999999999999999999999.99999999999999999999999999999999999",
        "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000.1",
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        struct sirix_item item = {0};
        double expected = strtod(TEXTS[i], NULL);

        assert_int_equal(
            sirix_number_parse(&bench->work, text_of(TEXTS[i]), false, &item, &bench->err),
            SIRIX_OK);
        double got = sirix_number_to_double(item);

        if (memcmp(&got, &expected, sizeof(got)) != 0) {
            fail_msg("%s: %.17g, not %.17g", TEXTS[i], got, expected);
        }
    }
    bench_free(bench);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(*seed);
}

/* A random exact number text of up to 60 digits. */
static void make_text(uint64_t *seed, char *to)
{
    size_t whole = 1 + next_random(seed) % 30;
    size_t fraction = next_random(seed) % 3 == 0 ? next_random(seed) % 30 : 0;

    if (next_random(seed) % 2 == 0) {
        *to++ = '-';
    }
    for (size_t i = 0; i < whole; i++) {
        *to++ = (char)('0' + next_random(seed) % 10);
    }
    if (fraction > 0) {
        *to++ = '.';
        for (size_t i = 0; i < fraction; i++) {
            *to++ = (char)('0' + next_random(seed) % 10);
        }
    }
    *to = '\0';
}

static void random_numbers_keep_the_laws_of_arithmetic(void **state)
{
    uint64_t seed = 7;
    char texts[2][96];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct bench *bench = bench_new(SIZE_MAX);
        struct sirix_work *work = &bench->work;
        struct sirix_item n[2] = {{0}, {0}};
        struct sirix_item sum = {0};
        struct sirix_item back = {0};
        bool unordered = false;

        for (int i = 0; i < 2; i++) {
            make_text(&seed, texts[i]);
            assert_int_equal(sirix_number_parse(work, text_of(texts[i]), false, &n[i], &bench->err),
                             SIRIX_OK);
            double expected = strtod(texts[i], NULL);
            double got = sirix_number_to_double(n[i]);

            if (expected != got) {
                fail_msg("%s: %.17g, not %.17g", texts[i], got, expected);
            }
        }
        assert_int_equal(sirix_item_arithmetic(work, SIRIX_ADD, n[0], n[1], &sum, &bench->err),
                         SIRIX_OK);
        assert_int_equal(sirix_item_arithmetic(work, SIRIX_SUBTRACT, sum, n[1], &back, &bench->err),
                         SIRIX_OK);
        assert_int_equal(sirix_number_compare(back, n[0], &unordered), 0);
        assert_true(sirix_item_same(work, back, n[0]));
        assert_int_equal(sirix_item_hash(work, back), sirix_item_hash(work, n[0]));
        if (sirix_number_sign(n[1]) != 0) {
            struct sirix_item q = {0};
            struct sirix_item r = {0};

            assert_int_equal(
                sirix_item_arithmetic(work, SIRIX_INTEGER_DIVIDE, n[0], n[1], &q, &bench->err),
                SIRIX_OK);
            assert_int_equal(sirix_item_arithmetic(work, SIRIX_MODULO, n[0], n[1], &r, &bench->err),
                             SIRIX_OK);
            assert_int_equal(sirix_item_arithmetic(work, SIRIX_MULTIPLY, q, n[1], &q, &bench->err),
                             SIRIX_OK);
            assert_int_equal(sirix_item_arithmetic(work, SIRIX_ADD, q, r, &q, &bench->err),
                             SIRIX_OK);
            assert_int_equal(sirix_number_compare(q, n[0], &unordered), 0);
        }
        int order = sirix_number_compare(n[0], n[1], &unordered);
        int text_order = sirix_number_compare(n[1], n[0], &unordered);

        assert_int_equal(order, -text_order);
        bench_free(bench);
    }
}

static void exact_and_floating_numbers_compare_without_rounding_whole_ones(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        int order;
    } CASES[] = {
        {"integer 9007199254740993", "double 9007199254740992", 1},
        {"integer 9007199254740992", "double 9007199254740992", 0},
        {"integer 9223372036854775807", "double 9223372036854775808", -1},
        {"integer 9223372036854775808", "double 9223372036854775808", 0},
        {"integer -9223372036854775809", "double -9223372036854775808", -1},
        {"integer 1000000000000000019884624838656", "double 1e30", 0},
        {"integer 1000000000000000000000000000000", "double 1e30", -1},
        {"decimal 0.1", "double 0.1", 0},
        {"decimal 18.0", "integer 18", 0},
        {"decimal 2.50", "double 2.5", 0},
        {"double NaN", "double NaN", 0},
        {"double NaN", "integer -5", -1},
        {"double -0", "integer 0", 0},
        {"double INF", "integer 99999999999999999999999", 1},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item a = item_of(bench, CASES[i].a);
        struct sirix_item b = item_of(bench, CASES[i].b);

        if (sirix_number_order(a, b) != CASES[i].order ||
            sirix_number_order(b, a) != -CASES[i].order) {
            fail_msg("%s and %s: %d", CASES[i].a, CASES[i].b, sirix_number_order(a, b));
        }
        if (CASES[i].order == 0) {
            assert_int_equal(sirix_item_hash(&bench->work, a), sirix_item_hash(&bench->work, b));
        }
    }
    bench_free(bench);
}

static void rounding_goes_the_way_its_function_says(void **state)
{
    static const struct {
        const char *written;
        enum sirix_rounding rounding;
        int64_t precision;
        const char *expect;
    } CASES[] = {
        {"decimal 2.5", SIRIX_ROUND_HALF_UP, 0, "decimal 3"},
        {"decimal -2.5", SIRIX_ROUND_HALF_UP, 0, "decimal -2"},
        {"double 2.5", SIRIX_ROUND_HALF_UP, 0, "double 3"},
        {"double -2.5", SIRIX_ROUND_HALF_UP, 0, "double -2"},
        {"double -0.3", SIRIX_ROUND_HALF_UP, 0, "double -0"},
        {"double 0.49999999999999994", SIRIX_ROUND_HALF_UP, 0, "double 0"},
        {"double 4503599627370497", SIRIX_ROUND_HALF_UP, 0, "double 4.503599627370497E15"},
        {"decimal 2.5", SIRIX_ROUND_HALF_EVEN, 0, "decimal 2"},
        {"decimal 3.5", SIRIX_ROUND_HALF_EVEN, 0, "decimal 4"},
        {"decimal -2.5", SIRIX_ROUND_HALF_EVEN, 0, "decimal -2"},
        {"decimal 3.567812", SIRIX_ROUND_HALF_EVEN, 2, "decimal 3.57"},
        {"double 3.567812E3", SIRIX_ROUND_HALF_EVEN, 2, "double 3567.81"},
        {"double 4.7564E-3", SIRIX_ROUND_HALF_EVEN, 2, "double 0"},
        {"integer 35612", SIRIX_ROUND_HALF_EVEN, -2, "integer 35600"},
        {"integer 35650", SIRIX_ROUND_HALF_EVEN, -2, "integer 35600"},
        {"integer 35650", SIRIX_ROUND_HALF_UP, -2, "integer 35700"},
        {"integer 12", SIRIX_ROUND_HALF_UP, -5, "integer 0"},
        {"decimal -2.5", SIRIX_ROUND_FLOOR, 0, "decimal -3"},
        {"decimal -2.5", SIRIX_ROUND_CEILING, 0, "decimal -2"},
        {"double -0.5", SIRIX_ROUND_CEILING, 0, "double -0"},
        {"decimal 1.125", SIRIX_ROUND_HALF_UP, 2, "decimal 1.13"},
        {"decimal 12345678901234567890.55", SIRIX_ROUND_HALF_UP, 1,
         "decimal 12345678901234567890.6"},
        {"float 1.5", SIRIX_ROUND_HALF_UP, 0, "float 2"},
        {"double INF", SIRIX_ROUND_HALF_UP, 0, "double INF"},
        {"double NaN", SIRIX_ROUND_FLOOR, 3, "double NaN"},
        {"byte 5", SIRIX_ROUND_FLOOR, 0, "integer 5"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item result = {0};
        enum sirix_status status =
            sirix_number_round(&bench->work, item_of(bench, CASES[i].written), CASES[i].rounding,
                               CASES[i].precision, &result, &bench->err);
        const char *got = outcome(bench, status, result);

        if (strcmp(got, CASES[i].expect) != 0) {
            fail_msg("%s, %d, %lld: %s, not %s", CASES[i].written, (int)CASES[i].rounding,
                     (long long)CASES[i].precision, got, CASES[i].expect);
        }
    }
    bench_free(bench);
}

static void numbers_past_the_limit_of_digits_are_refused_by_name(void **state)
{
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_item ten = sirix_item_integer(10);
    struct sirix_item n = ten;
    enum sirix_status status = SIRIX_OK;

    (void)state;
    for (int i = 0; status == SIRIX_OK && i < 20; i++) { /* 10^(2^i) */
        status = sirix_item_arithmetic(&bench->work, SIRIX_MULTIPLY, n, n, &n, &bench->err);
    }

    assert_int_equal(status, SIRIX_EXHAUSTED);
    assert_string_equal(bench->err.base.field, "number_digits");
    assert_string_equal(bench->err.code, "");

    assert_int_equal(
        sirix_number_parse(&bench->work, text_of("1e-900000000"), true, &n, &bench->err), SIRIX_OK);
    assert_int_equal(n.kind, SIRIX_ITEM_DOUBLE);
    bench_free(bench);
}

static void arithmetic_without_memory_fails_and_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 200000; limit += limit < 4000 ? 97 : 9973) {
        struct bench *bench = bench_new(SIZE_MAX);
        char digits[1001];
        struct sirix_item n = {0};
        struct sirix_item product = {0};

        memset(digits, '7', 1000);
        digits[1000] = '\0';
        assert_int_equal(sirix_number_parse(&bench->work, text_of(digits), false, &n, &bench->err),
                         SIRIX_OK);
        bench->scratch.limit_bytes = bench->scratch.used_bytes + limit;
        bench->arena.limit_bytes = bench->arena.used_bytes + limit;
        size_t used = bench->scratch.used_bytes;
        enum sirix_status status =
            sirix_item_arithmetic(&bench->work, SIRIX_MULTIPLY, n, n, &product, &bench->err);

        assert_true(status == SIRIX_OK || status == SIRIX_EXHAUSTED);
        assert_int_equal(bench->scratch.used_bytes, used);
        if (status == SIRIX_OK) {
            assert_int_equal(product.kind, SIRIX_ITEM_BIG_INTEGER);
        }
        bench_free(bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_gives_the_exact_result_of_the_higher_type),
        cmocka_unit_test(numbers_print_as_xpath_has_them),
        cmocka_unit_test(json_numbers_keep_what_their_text_says),
        cmocka_unit_test(exact_numbers_convert_to_the_nearest_double),
        cmocka_unit_test(random_numbers_keep_the_laws_of_arithmetic),
        cmocka_unit_test(exact_and_floating_numbers_compare_without_rounding_whole_ones),
        cmocka_unit_test(rounding_goes_the_way_its_function_says),
        cmocka_unit_test(numbers_past_the_limit_of_digits_are_refused_by_name),
        cmocka_unit_test(arithmetic_without_memory_fails_and_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
