/* Casts, comparison, dates. */
#include "unit/query_value/value_help.h"

#include "query/value/datetime.h"

static void casts_follow_the_table(void **state)
{
    static const struct {
        const char *from;
        const char *type;
        const char *expect;
    } CASES[] = {
        {"string 12", "integer", "integer 12"},
        {"string  12 ", "integer", "integer 12"},
        {"string 1.5", "integer", "!FORG0001"},
        {"string 1e5", "decimal", "!FORG0001"},
        {"string 1e5", "double", "double 100000"},
        {"string +INF", "double", "double INF"},
        {"string inf", "double", "!FORG0001"},
        {"string ", "double", "!FORG0001"},
        {"string x", "double", "!FORG0001"},
        {"double 1e30", "integer", "integer 1000000000000000019884624838656"},
        {"double -1.9", "integer", "integer -1"},
        {"double NaN", "integer", "!FOCA0002"},
        {"double INF", "decimal", "!FOCA0002"},
        {"double 0.1", "decimal",
         "decimal 0.1000000000000000055511151231257827021181583404541015625"},
        {"decimal 1.9", "integer", "integer 1"},
        {"decimal 123456789012345678901.9", "integer", "integer 123456789012345678901"},
        {"integer 300", "byte", "!FORG0001"},
        {"string 300", "byte", "!FORG0001"},
        {"integer 127", "byte", "byte 127"},
        {"integer -1", "unsignedLong", "!FORG0001"},
        {"string 18446744073709551615", "unsignedLong", "unsignedLong 18446744073709551615"},
        {"string 18446744073709551616", "unsignedLong", "!FORG0001"},
        {"integer 0", "positiveInteger", "!FORG0001"},
        {"integer 0", "negativeInteger", "!FORG0001"},
        {"integer -99999999999999999999", "negativeInteger",
         "negativeInteger -99999999999999999999"},
        {"integer 99999999999999999999", "long", "!FORG0001"},
        {"integer 0", "boolean", "boolean false"},
        {"double NaN", "boolean", "boolean false"},
        {"string  true ", "boolean", "boolean true"},
        {"string TRUE", "boolean", "!FORG0001"},
        {"boolean true", "integer", "integer 1"},
        {"boolean true", "double", "double 1"},
        {"boolean true", "date", "!XPTY0004"},
        {"null", "string", "string null"},
        {"null", "integer", "!XPTY0004"},
        {"string null", "null", "null"},
        {"string nil", "null", "!FORG0001"},
        {"string  a  b ", "token", "token a b"},
        {"string a b", "NCName", "!FORG0001"},
        {"string a:b", "NCName", "!FORG0001"},
        {"string a:b", "Name", "Name a:b"},
        {"string 1a", "NMTOKEN", "NMTOKEN 1a"},
        {"string de-CH-1996", "language", "language de-CH-1996"},
        {"string de_CH", "language", "!FORG0001"},
        {"string 0fB7", "hexBinary", "hexBinary 0FB7"},
        {"string 0f7", "hexBinary", "!FORG0001"},
        {"string Zm9vYg==", "base64Binary", "base64Binary Zm9vYg=="},
        {"string Z m 9 v", "base64Binary", "base64Binary Zm9v"},
        {"string Zm9vYh==", "base64Binary", "!FORG0001"},
        {"string Zm9", "base64Binary", "!FORG0001"},
        {"base64Binary Zm9v", "hexBinary", "hexBinary 666F6F"},
        {"anyURI http://a", "string", "string http://a"},
        {"anyURI 12", "integer", "!XPTY0004"},
        {"integer 12", "anyURI", "!XPTY0004"},
        {"string 2001-02-29", "date", "!FORG0001"},
        {"string 0000-02-29", "date", "!FORG0001"},
        {"string 2000-02-29", "date", "date 2000-02-29"},
        {"string 2001-12-12T24:00:00", "dateTime", "dateTime 2001-12-13T00:00:00"},
        {"string 24:00:00", "time", "time 00:00:00"},
        {"string 24:00:01", "time", "!FORG0001"},
        {"string 2004-04-12T13:20:15.500", "dateTime", "dateTime 2004-04-12T13:20:15.5"},
        {"string 2004-04-12T13:20:15", "dateTimeStamp", "!FORG0001"},
        {"string -0044-03-15", "date", "date -0044-03-15"},
        {"string 012345-01-01", "date", "!FORG0001"},
        {"string 99999999999-01-01", "date", "!FODT0001"},
        {"string 2001-01-01+14:01", "date", "!FORG0001"},
        {"string 2001-01-01-05:00", "date", "date 2001-01-01-05:00"},
        {"string --02-29", "gMonthDay", "gMonthDay --02-29"},
        {"string --02-30", "gMonthDay", "!FORG0001"},
        {"string ---31Z", "gDay", "gDay ---31Z"},
        {"string --12", "gMonth", "gMonth --12"},
        {"string 2001-12+01:00", "gYearMonth", "gYearMonth 2001-12+01:00"},
        {"string 2001", "gYear", "gYear 2001"},
        {"dateTime 2004-04-12T13:20:15Z", "date", "date 2004-04-12Z"},
        {"dateTime 2004-04-12T13:20:15Z", "time", "time 13:20:15Z"},
        {"dateTime 2004-04-12T13:20:15Z", "gMonthDay", "gMonthDay --04-12Z"},
        {"date 2004-04-12", "dateTime", "dateTime 2004-04-12T00:00:00"},
        {"date 2004-04-12", "gYear", "gYear 2004"},
        {"time 13:20:15", "dateTime", "!XPTY0004"},
        {"gYear 2004", "date", "!XPTY0004"},
        {"string P1Y14M", "yearMonthDuration", "yearMonthDuration P2Y2M"},
        {"string P1Y14M2D", "yearMonthDuration", "!FORG0001"},
        {"string -P60D", "dayTimeDuration", "dayTimeDuration -P60D"},
        {"string PT3600S", "dayTimeDuration", "dayTimeDuration PT1H"},
        {"string PT0.5S", "duration", "duration PT0.5S"},
        {"string P1YT", "duration", "!FORG0001"},
        {"string P", "duration", "!FORG0001"},
        {"string P1M1Y", "duration", "!FORG0001"},
        {"string P1.5D", "duration", "!FORG0001"},
        {"string P0M", "yearMonthDuration", "yearMonthDuration P0M"},
        {"string P0M", "dayTimeDuration", "!FORG0001"},
        {"string P99999999999999999999Y", "yearMonthDuration", "!FODT0002"},
        {"duration P1Y2M3DT4H", "yearMonthDuration", "yearMonthDuration P1Y2M"},
        {"duration P1Y2M3DT4H", "dayTimeDuration", "dayTimeDuration P3DT4H"},
        {"yearMonthDuration P3M", "dayTimeDuration", "dayTimeDuration PT0S"},
        {"json [1]", "string", "!FOTY0013"},
        {"integer 1", "anyAtomicType", "!XPST0080"},
        {"string 1.5", "numeric", "double 1.5"},
        {"integer 1", "numeric", "integer 1"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item result = {0};
        enum sirix_type type = SIRIX_TYPE_STRING;
        bool castable = false;

        assert_true(sirix_type_find(text_of(CASES[i].type), false, &type));
        struct sirix_item from = item_of(bench, CASES[i].from);
        enum sirix_status status = sirix_item_cast(&bench->work, from, type, &result, &bench->err);
        const char *got = outcome(bench, status, result);

        if (strcmp(got, CASES[i].expect) != 0) {
            fail_msg("%s as %s: %s, not %s", CASES[i].from, CASES[i].type, got, CASES[i].expect);
        }
        assert_int_equal(sirix_item_castable(&bench->work, from, type, &castable, &bench->err),
                         SIRIX_OK);
        assert_int_equal(castable, status == SIRIX_OK);
        memset(&bench->err, 0, sizeof(bench->err));
    }
    bench_free(bench);
}

static void values_compare_as_the_operators_say(void **state)
{
    static const struct {
        const char *a;
        const char *op;
        const char *b;
        const char *expect;
    } CASES[] = {
        {"integer 1", "eq", "decimal 1.0", "true"},
        {"integer 1", "eq", "null", "false"},
        {"string foo", "ne", "null", "true"},
        {"null", "eq", "null", "true"},
        {"null", "lt", "integer 5", "true"},
        {"null", "gt", "string a", "false"},
        {"integer 1", "eq", "string 1", "XPTY0004"},
        {"boolean true", "gt", "boolean false", "true"},
        {"double NaN", "eq", "double NaN", "false"},
        {"double NaN", "ne", "double NaN", "true"},
        {"double NaN", "lt", "integer 1", "false"},
        {"string a", "lt", "string b", "true"},
        {"string \xf0\x90\x80\x80", "gt", "string \xef\xbf\xbd", "true"},
        {"anyURI a", "eq", "string a", "true"},
        {"untypedAtomic a", "eq", "string a", "true"},
        {"untypedAtomic 1", "eq", "integer 1", "XPTY0004"},
        {"date 2002-10-10+13:00", "eq", "date 2002-10-09-11:00", "true"},
        {"dateTime 2002-04-02T12:00:00-01:00", "eq", "dateTime 2002-04-02T17:00:00+04:00", "true"},
        {"dateTime 2002-04-02T12:00:00", "eq", "dateTime 2002-04-02T12:00:00Z", "true"},
        {"time 24:00:00+01:00", "eq", "time 00:00:00+01:00", "true"},
        {"date 2001-01-01", "lt", "dateTime 2001-01-02T00:00:00", "XPTY0004"},
        {"gYear 2001", "eq", "gYear 2001", "true"},
        {"gYear 2001", "lt", "gYear 2002", "XPTY0004"},
        {"duration P1Y", "eq", "yearMonthDuration P12M", "true"},
        {"duration PT0S", "eq", "yearMonthDuration P0M", "true"},
        {"duration P1Y", "lt", "duration P2Y", "XPTY0004"},
        {"dayTimeDuration PT36H", "eq", "duration P1DT12H", "true"},
        {"dayTimeDuration -PT0.5S", "lt", "dayTimeDuration PT0S", "true"},
        {"yearMonthDuration P1Y", "lt", "dayTimeDuration P400D", "XPTY0004"},
        {"hexBinary 00FF", "lt", "hexBinary 0100", "true"},
        {"hexBinary 61", "eq", "base64Binary YQ==", "XPTY0004"},
        {"json {}", "eq", "integer 1", "FOTY0013"},
        {"json [1]", "eq", "integer 1", "FOTY0013"},
    };
    static const char *const OPS[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool result = false;
        size_t op = 0;

        while (strcmp(OPS[op], CASES[i].op) != 0) {
            op++;
        }
        enum sirix_status status = sirix_compare_values(
            &bench->work, (enum sirix_comparison)op, item_of(bench, CASES[i].a),
            item_of(bench, CASES[i].b), &result, &bench->err);
        const char *got = status != SIRIX_OK ? bench->err.code : result ? "true" : "false";

        if (strcmp(got, CASES[i].expect) != 0) {
            fail_msg("%s %s %s: %s", CASES[i].a, CASES[i].op, CASES[i].b, got);
        }
    }
    bench_free(bench);
}

static void general_comparison_casts_untyped_operands(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        const char *expect;
    } CASES[] = {
        {"untypedAtomic 1", "integer 1", "true"},
        {"untypedAtomic 1.0", "string 1", "false"},
        {"untypedAtomic x", "integer 1", "FORG0001"},
        {"untypedAtomic 2001-01-01", "date 2001-01-01", "true"},
        {"untypedAtomic P1D", "dayTimeDuration PT24H", "true"},
        {"string 1", "integer 1", "XPTY0004"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool result = false;
        enum sirix_status status =
            sirix_compare_general(&bench->work, SIRIX_EQ, item_of(bench, CASES[i].a),
                                  item_of(bench, CASES[i].b), &result, &bench->err);

        assert_string_equal(status != SIRIX_OK ? bench->err.code
                            : result           ? "true"
                                               : "false",
                            CASES[i].expect);
    }
    bench_free(bench);
}

static void the_same_values_have_the_same_hash(void **state)
{
    static const char *const GROUPS[][5] = {
        {"integer 18", "decimal 18.00", "double 18", "float 18", NULL},
        {"decimal 2.50", "double 2.5", "decimal 2.5", "float 2.5", NULL},
        {"double -0", "integer 0", "decimal 0.0", "double 0", NULL},
        {"double NaN", "float NaN", NULL},
        {"string a", "anyURI a", "untypedAtomic a", NULL},
        {"null", NULL},
        {"none", NULL},
        {"string null", NULL},
        {"boolean true", NULL},
        {"boolean false", NULL},
        {"integer 1", "decimal 1.0", NULL},
        {"string 1", NULL},
        {"dateTime 2002-04-02T12:00:00-01:00", "dateTime 2002-04-02T17:00:00+04:00",
         "dateTime 2002-04-02T13:00:00", NULL},
        {"duration P1Y", "yearMonthDuration P12M", NULL},
        {"yearMonthDuration P0M", "dayTimeDuration PT0S", NULL},
        {"integer 18446744073709551616", "double 18446744073709551616", NULL},
        {"integer 9007199254740993", NULL},
        {"double 9007199254740992", "integer 9007199254740992", NULL},
        {"decimal 0.1", "double 0.1", NULL},
    };
    size_t count = sizeof(GROUPS) / sizeof(GROUPS[0]);
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; GROUPS[i][j] != NULL; j++) {
            struct sirix_item a = item_of(bench, GROUPS[i][j]);

            for (size_t k = 0; k < count; k++) {
                for (size_t l = 0; GROUPS[k][l] != NULL; l++) {
                    struct sirix_item b = item_of(bench, GROUPS[k][l]);
                    bool same = sirix_item_same(&bench->work, a, b);

                    if (same != (i == k)) {
                        fail_msg("%s and %s: %d", GROUPS[i][j], GROUPS[k][l], same);
                    }
                    if (same &&
                        sirix_item_hash(&bench->work, a) != sirix_item_hash(&bench->work, b)) {
                        fail_msg("%s and %s: two hashes", GROUPS[i][j], GROUPS[k][l]);
                    }
                }
            }
        }
    }
    bench_free(bench);
}

static void keys_sort_with_empty_then_nan_then_null_first(void **state)
{
    static const char *const ASCENDING[] = {"none",        "double NaN",  "null",     "integer -1",
                                            "decimal 0.5", "double 0.75", "integer 1"};
    struct bench *bench = bench_new(SIZE_MAX);
    int order = 0;

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            assert_int_equal(sirix_item_order(&bench->work, item_of(bench, ASCENDING[i]),
                                              item_of(bench, ASCENDING[j]), false, &order,
                                              &bench->err),
                             SIRIX_OK);
            if ((order > 0) != (i > j) || (order < 0) != (i < j)) {
                fail_msg("%s and %s: %d", ASCENDING[i], ASCENDING[j], order);
            }
        }
    }
    assert_int_equal(sirix_item_order(&bench->work, item_of(bench, "none"),
                                      item_of(bench, "integer 1"), true, &order, &bench->err),
                     SIRIX_OK);
    assert_true(order > 0);
    assert_int_equal(sirix_item_order(&bench->work, item_of(bench, "string a"),
                                      item_of(bench, "integer 1"), true, &order, &bench->err),
                     SIRIX_INVALID);
    assert_string_equal(bench->err.code, "XPTY0004");
    bench_free(bench);
}

static void dates_and_durations_compute(void **state)
{
    static const struct {
        const char *a;
        char op;
        const char *b;
        const char *expect;
    } CASES[] = {
        {"date 2000-10-30", '-', "dayTimeDuration PT1H", "date 2000-10-29"},
        {"date 2000-01-31", '+', "yearMonthDuration P1M", "date 2000-02-29"},
        {"date 2001-01-31", '+', "yearMonthDuration P1M", "date 2001-02-28"},
        {"date 2000-02-29", '-', "yearMonthDuration P1Y", "date 1999-02-28"},
        {"date 2000-01-15", '-', "yearMonthDuration P13M", "date 1998-12-15"},
        {"dateTime 2000-10-30T11:12:00", '+', "dayTimeDuration P3DT1H15M",
         "dateTime 2000-11-02T12:27:00"},
        {"dayTimeDuration PT1S", '+', "dateTime 1999-12-31T23:59:59Z",
         "dateTime 2000-01-01T00:00:00Z"},
        {"time 23:30:00", '+', "dayTimeDuration PT45M", "time 00:15:00"},
        {"time 00:10:00", '-', "dayTimeDuration PT45M", "time 23:25:00"},
        {"time 10:00:00", '+', "yearMonthDuration P1M", "!XPTY0004"},
        {"dateTime 2000-10-30T06:12:00-05:00", '-', "dateTime 1999-11-28T09:00:00Z",
         "dayTimeDuration P337DT2H12M"},
        {"date 2000-10-30", '-', "date 1999-11-28", "dayTimeDuration P337D"},
        {"time 11:12:00Z", '-', "time 04:00:00", "dayTimeDuration PT7H12M"},
        {"date 2000-10-30", '-', "time 04:00:00", "!XPTY0004"},
        {"date 2000-10-30", '+', "date 2000-10-30", "!XPTY0004"},
        {"date 2000-10-30", '+', "duration P1D", "!XPTY0004"},
        {"yearMonthDuration P2Y11M", '*', "decimal 2.3", "yearMonthDuration P6Y9M"},
        {"yearMonthDuration P2Y11M", '/', "decimal 1.5", "yearMonthDuration P1Y11M"},
        {"dayTimeDuration PT2H10M", '*', "decimal 2.1", "dayTimeDuration PT4H33M"},
        {"decimal 2.1", '*', "dayTimeDuration PT2H10M", "dayTimeDuration PT4H33M"},
        {"dayTimeDuration P1DT2H30M10.5S", '/', "decimal 1.5", "dayTimeDuration PT17H40M7S"},
        {"dayTimeDuration P2DT53M11S", '/', "dayTimeDuration P1DT10H",
         "decimal 1.437834967320261438"},
        {"yearMonthDuration P3Y4M", '/', "yearMonthDuration -P1Y4M", "decimal -2.5"},
        {"dayTimeDuration P1D", '+', "dayTimeDuration -PT25H", "dayTimeDuration -PT1H"},
        {"dayTimeDuration P1D", '+', "yearMonthDuration P1M", "!XPTY0004"},
        {"dayTimeDuration PT1S", '/', "integer 3", "dayTimeDuration PT0.333333333S"},
        {"dayTimeDuration -PT2S", '/', "integer 3", "dayTimeDuration -PT0.666666666S"},
        {"dayTimeDuration PT10S", '*', "float 1.5", "dayTimeDuration PT15S"},
        {"dayTimeDuration P1D", '*', "double NaN", "!FOCA0005"},
        {"dayTimeDuration P1D", '*', "double INF", "!FODT0002"},
        {"dayTimeDuration P1D", '/', "integer 0", "!FODT0002"},
        {"dayTimeDuration P1D", '/', "dayTimeDuration PT0S", "!FOAR0001"},
        {"date 999999999-12-31", '+', "dayTimeDuration P1D", "!FODT0001"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item result = {0};
        enum sirix_arithmetic op = CASES[i].op == '+'   ? SIRIX_ADD
                                   : CASES[i].op == '-' ? SIRIX_SUBTRACT
                                   : CASES[i].op == '*' ? SIRIX_MULTIPLY
                                                        : SIRIX_DIVIDE;
        enum sirix_status status =
            sirix_item_arithmetic(&bench->work, op, item_of(bench, CASES[i].a),
                                  item_of(bench, CASES[i].b), &result, &bench->err);
        const char *got = outcome(bench, status, result);

        if (strcmp(got, CASES[i].expect) != 0) {
            fail_msg("%s %c %s: %s, not %s", CASES[i].a, CASES[i].op, CASES[i].b, got,
                     CASES[i].expect);
        }
        memset(&bench->err, 0, sizeof(bench->err));
    }
    bench_free(bench);
}

static void every_day_of_many_years_comes_back_from_its_parts(void **state)
{
    struct sirix_query_error err = {0};
    int64_t last = 0;

    (void)state;
    for (int64_t year = -405; year < 2405; year++) {
        for (unsigned month = 1; month <= 12; month++) {
            struct sirix_datetime parts = {.year = year, .month = month, .day = 1};
            struct sirix_datetime back;
            struct sirix_item item = {0};

            assert_int_equal(sirix_datetime_make(&parts, SIRIX_TYPE_DATE, &item, &err), SIRIX_OK);
            sirix_datetime_parts(item, &back);
            assert_int_equal(back.year, year);
            assert_int_equal(back.month, month);
            assert_int_equal(back.day, 1);
            if (!(year == -405 && month == 1)) {
                int64_t days = (item.value.integer - last) / 86400;

                assert_true(days >= 28 && days <= 31);
            }
            last = item.value.integer;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_follow_the_table),
        cmocka_unit_test(values_compare_as_the_operators_say),
        cmocka_unit_test(general_comparison_casts_untyped_operands),
        cmocka_unit_test(the_same_values_have_the_same_hash),
        cmocka_unit_test(keys_sort_with_empty_then_nan_then_null_first),
        cmocka_unit_test(dates_and_durations_compute),
        cmocka_unit_test(every_day_of_many_years_comes_back_from_its_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
