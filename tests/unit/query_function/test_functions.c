/* The function library, as tables: a function, its arguments, its result (see stage.h). */
#include "unit/query_function/stage.h"

#include "query/value/regex.h"

struct row {
    const char *name;
    const char *arguments;
    const char *expect;
};

static void check(void **state, const struct row *rows, size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        const char *got = called(*state, rows[i].name, rows[i].arguments);

        if (strcmp(got, rows[i].expect) != 0) {
            print_error("%s(%s): %s, not %s\n", rows[i].name, rows[i].arguments, got,
                        rows[i].expect);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

#define CHECK(rows) check(state, rows, sizeof(rows) / sizeof((rows)[0]))

/* --- The tables ------------------------------------------------------------------------------------------ */

static void strings_count_code_points(void **state)
{
    static const struct row ROWS[] = {
        {"string-length", "\"Zo\xc3\xab\xf0\x9f\x98\x80\"", "4"},
        {"string-length", "()", "0"},
        {"substring", "\"metadata\" | 0 | 3", "\"me\""},
        {"substring", "\"motor car\" | 6", "\" car\""},
        {"substring", "\"12345\" | 1.5 | 2.6", "\"234\""},
        {"substring", "\"12345\" | 5 | -3", "\"\""},
        {"substring", "\"12345\" | -3 | 5", "\"1\""},
        {"substring", "\"12345\" | double NaN | 3", "\"\""},
        {"substring", "\"12345\" | 1 | double NaN", "\"\""},
        {"substring", "\"12345\" | -42 | double INF", "\"12345\""},
        {"substring", "\"12345\" | double -INF | double INF", "\"\""},
        {"substring", "() | 1 | 3", "\"\""},
        {"substring", "\"a\xf0\x9f\x98\x80z\" | 2 | 1", "\"\xf0\x9f\x98\x80\""},
        {"concat", "\"a\" | () | 1 | true", "\"a1true\""},
        {"concat", "\"a\"", "!XPST0017"},
        {"concat", "\"a\" | 1 , 2", "!XPTY0004"},
        {"concat", "\"a\" | {\"a\":1}", "!FOTY0013"},
        {"string-join", "\"a\" , 1 , true | \"-\"", "\"a-1-true\""},
        {"string-join", "() | \"x\"", "\"\""},
        {"string-join", "1 to 4", "\"1234\""},
        {"upper-case", "\"abCd0\xc3\x9f\xc3\xa9\"", "\"ABCD0SS\xc3\x89\""},
        {"lower-case", "\"ABc!D\xc3\x89\"", "\"abc!d\xc3\xa9\""},
        {"translate", "\"bar\" | \"abc\" | \"ABC\"", "\"BAr\""},
        {"translate", "\"--aaa--\" | \"abc-\" | \"ABC\"", "\"AAA\""},
        {"translate", "\"a\xf0\x9f\x98\x80z\" | \"\xf0\x9f\x98\x80\" | \"b\"", "\"abz\""},
        {"contains", "\"tattoo\" | \"t\"", "true"},
        {"contains", "\"x\" | \"\"", "true"},
        {"contains", "() | \"\"", "true"},
        {"contains", "\"\" | \"t\"", "false"},
        {"contains", "\"x\" | \"x\" | \"http://other\"", "!FOCH0002"},
        {"starts-with", "\"\" | \"x\"", "false"},
        {"starts-with", "\"tattoo\" | \"tat\"", "true"},
        {"ends-with", "\"tattoo\" | \"oo\"", "true"},
        {"ends-with", "\"tattoo\" | \"atto\"", "false"},
        {"substring-before", "\"tattoo\" | \"attoo\"", "\"t\""},
        {"substring-before", "\"tattoo\" | \"x\"", "\"\""},
        {"substring-after", "\"tattoo\" | \"tat\"", "\"too\""},
        {"substring-after", "\"tattoo\" | \"\"", "\"tattoo\""},
        {"normalize-space", "\"  The    wealthy\xc2\xa0 one \"", "\"The wealthy\xc2\xa0 one\""},
        {"normalize-unicode", "\"e\xcc\x81\"", "\"\xc3\xa9\""},
        {"normalize-unicode", "\"\xc3\xa9\" | \" nfd \"", "\"e\xcc\x81\""},
        {"normalize-unicode", "\"\xef\xac\x81\" | \"NFKC\"", "\"fi\""},
        {"normalize-unicode", "\"x\" | \"NFX\"", "!FOCH0003"},
        {"codepoints-to-string", "2309 , 2358 , 2378 , 2325",
         "\"\xe0\xa4\x85\xe0\xa4\xb6\xe0\xa5\x8a\xe0\xa4\x95\""},
        {"codepoints-to-string", "0", "!FOCH0001"},
        {"codepoints-to-string", "1", "!FOCH0001"},
        {"codepoints-to-string", "9", "\"\t\""},
        {"codepoints-to-string", "55296", "!FOCH0001"},
        {"codepoints-to-string", "99999999999999999999", "!FOCH0001"},
        {"string-to-codepoints", "\"Th\xc3\xa9\"", "84 , 104 , 233"},
        {"string-to-codepoints", "\"\"", "()"},
        {"compare", "\"abc\" | \"abd\"", "-1"},
        {"compare", "\"\xf0\x90\x80\x80\" | \"\xef\xbf\xbd\"", "1"},
        {"compare", "() | \"x\"", "()"},
        {"codepoint-equal", "\"abcd\" | \"abcd\"", "true"},
        {"codepoint-equal", "\"\" | ()", "()"},
        {"encode-for-uri", "\"~b\xc3\xa9 /x\"", "\"~b%C3%A9%20%2Fx\""},
        {"iri-to-uri", "\"http://a/~b\xc3\xa9?q=<x>\"", "\"http://a/~b%C3%A9?q=%3Cx%3E\""},
        {"escape-html-uri", "\"a b\xc3\xa9\"", "\"a b%C3%A9\""},
        {"resolve-uri", "\"g\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/b/c/g"},
        {"resolve-uri", "\"../../g\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/g"},
        {"resolve-uri", "\"../../../g\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/g"},
        {"resolve-uri", "\"./\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/b/c/"},
        {"resolve-uri", "\"?y\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/b/c/d;p?y"},
        {"resolve-uri", "\"#s\" | \"http://a/b/c/d;p?q\"", "anyURI http://a/b/c/d;p?q#s"},
        {"resolve-uri", "\"//g\" | \"http://a/b/c/d;p?q\"", "anyURI http://g"},
        {"resolve-uri", "\"\" | \"http://a/b\"", "anyURI http://a/b"},
        {"resolve-uri", "\"x\" | \"relative\"", "!FORG0002"},
        {"resolve-uri", "\"a b\" | \"http://a/b\"", "!FORG0002"},
        {"resolve-uri", "()", "()"},
    };

    CHECK(ROWS);
}

static void regular_expressions_have_the_syntax_of_xpath(void **state)
{
    static const struct row ROWS[] = {
        {"matches", "\"abracadabra\" | \"bra\"", "true"},
        {"matches", "\"abracadabra\" | \"^a.*a$\"", "true"},
        {"matches", "\"abracadabra\" | \"^bra\"", "false"},
        {"matches", "\"a\nb\" | \"a.b\"", "false"},
        {"matches", "\"a\nb\" | \"a.b\" | \"s\"", "true"},
        {"matches", "\"a\nb\" | \"^b$\"", "false"},
        {"matches", "\"a\nb\" | \"^b$\" | \"m\"", "true"},
        {"matches", "\"ab\n\" | \"b$\"", "false"},
        {"matches", "\"HELLO\" | \"hello\" | \"i\"", "true"},
        {"matches", "\"hello world\" | \"hello\\sworld\" | \"x\"", "true"},
        {"matches", "\"helloworld\" | \"hello world\" | \"x\"", "true"},
        {"matches", "\"a.b\" | \"a.b\" | \"q\"", "true"},
        {"matches", "\"axb\" | \"a.b\" | \"q\"", "false"},
        {"matches", "\"x\" | \"[a-z-[aeiou]]\"", "true"},
        {"matches", "\"e\" | \"[a-z-[aeiou]]\"", "false"},
        {"matches", "\"-\" | \"[a-]\"", "true"},
        {"matches", "\"]\" | \"[\\]]\"", "true"},
        {"matches", "\"\xce\xb1\" | \"\\p{IsGreek}\"", "true"},
        {"matches", "\"a\" | \"\\P{IsGreek}\"", "true"},
        {"matches", "\"\xc3\x89\" | \"^\\p{Lu}$\"", "true"},
        {"matches", "\"\xd9\xa3\" | \"^\\d$\"", "true"},
        {"matches", "\"_\" | \"^\\w$\"", "false"},
        {"matches", "\"a:b\" | \"^\\i\\c*$\"", "true"},
        {"matches", "\" \" | \"^[\\S]$\"", "false"},
        {"matches", "\"1\" | \"^\\I$\"", "true"},
        {"matches", "\"a\" | \"^\\C$\"", "false"},
        {"matches", "\"aa\" | \"^(a)\\1$\"", "true"},
        {"matches", "\"a\" | \"(a)\\2\"", "!FORX0002"},
        {"matches", "\"a\" | \"(a\"", "!FORX0002"},
        {"matches", "\"a\" | \"a)\"", "!FORX0002"},
        {"matches", "\"a\" | \"a**\"", "!FORX0002"},
        {"matches", "\"a\" | \"*a\"", "!FORX0002"},
        {"matches", "\"a\" | \"a{2,1}\"", "!FORX0002"},
        {"matches", "\"a\" | \"[b-a]\"", "!FORX0002"},
        {"matches", "\"a\" | \"[]\"", "!FORX0002"},
        {"matches", "\"a\" | \"\\y\"", "!FORX0002"},
        {"matches", "\"a\" | \"\\p{Xx}\"", "!FORX0002"},
        {"matches", "\"a\" | \"(?=a)\"", "!FORX0002"},
        {"matches", "\"a\" | \"a}\"", "!FORX0002"},
        {"matches", "\"a\" | \"a\" | \"k\"", "!FORX0001"},
        {"matches", "() | \"^$\"", "true"},
        {"replace", "\"abracadabra\" | \"bra\" | \"*\"", "\"a*cada*\""},
        {"replace", "\"abracadabra\" | \"a.*?a\" | \"*\"", "\"*c*bra\""},
        {"replace", "\"abracadabra\" | \"a\" | \"\"", "\"brcdbr\""},
        {"replace", "\"abracadabra\" | \"a(.)\" | \"a$1$1\"", "\"abbraccaddabbra\""},
        {"replace", "\"AAAA\" | \"A+?\" | \"b\"", "\"bbbb\""},
        {"replace", "\"darted\" | \"^(.*?)d(.*)$\" | \"$1c$2\"", "\"carted\""},
        {"replace", "\"a.b\" | \".\" | \"\\$\" | \"q\"", "\"a\\$b\""},
        {"replace", "\"ab\" | \"(a)|b\" | \"[$1]\"", "\"[a][]\""},
        {"replace", "\"a\" | \"(a)\" | \"$12\"", "\"a2\""},
        {"replace", "\"a\" | \"a\" | \"$\"", "!FORX0004"},
        {"replace", "\"a\" | \"a\" | \"\\x\"", "!FORX0004"},
        {"replace", "\"a\" | \"a*\" | \"\"", "!FORX0003"},
        {"tokenize", "\"a/b//c/\" | \"/\"", "\"a\" , \"b\" , \"\" , \"c\" , \"\""},
        {"tokenize", "\" red green  blue \"", "\"red\" , \"green\" , \"blue\""},
        {"tokenize", "\"1, 15, 24\" | \",\\s*\"", "\"1\" , \"15\" , \"24\""},
        {"tokenize", "\"\" | \"x\"", "()"},
        {"tokenize", "() | \"x\"", "()"},
        {"tokenize", "\"abc\" | \".?\"", "!FORX0003"},
        {"contains-token", "\"red green\" , \"blue\" | \" blue \"", "true"},
        {"contains-token", "\"red green\" | \"gre\"", "false"},
        {"contains-token", "\"red\" | \" \"", "false"},
        {"analyze-string", "\"ab1c\" | \"(\\d)\"",
         "{\"parts\":[{\"match\":false,\"value\":\"ab\"},{\"match\":true,\"value\":\"1\","
         "\"groups\":"
         "[{\"nr\":1,\"value\":\"1\"}]},{\"match\":false,\"value\":\"c\"}]}"},
    };

    CHECK(ROWS);
}

static void numbers_round_and_format(void **state)
{
    static const struct row ROWS[] = {
        {"abs", "-10.5", "decimal 10.5"},
        {"abs", "double -0", "double 0"},
        {"abs", "()", "()"},
        {"abs", "\"x\"", "!XPTY0004"},
        {"round", "2.5", "decimal 3"},
        {"round", "-2.5", "decimal -2"},
        {"round", "1.125 | 2", "decimal 1.13"},
        {"round", "8452 | -2", "8500"},
        {"round", "() | ()", "()"},
        {"round", "1.125 | ()", "!XPTY0004"},
        {"round-half-to-even", "2.5", "decimal 2"},
        {"floor", "-2.5", "decimal -3"},
        {"ceiling", "-2.5", "decimal -2"},
        {"number", "\"x\"", "double NaN"},
        {"number", "()", "double NaN"},
        {"number", "true", "double 1"},
        {"math:pow", "2 | 10", "double 1024"},
        {"math:sqrt", "double -1", "double NaN"},
        {"math:log10", "1e3", "double 3"},
        {"math:exp10", "2", "double 100"},
        {"math:atan2", "0 | 1", "double 0"},
        {"math:sin", "()", "()"},
        {"math:pi", "", "double 3.141592653589793"},
        {"format-integer", "123 | \"0000\"", "\"0123\""},
        {"format-integer", "1234567 | \"#,##0\"", "\"1,234,567\""},
        {"format-integer", "1500000 | \"0,000\"", "\"1,500,000\""},
        {"format-integer", "21 | \"1;o\"", "\"21st\""},
        {"format-integer", "12 | \"1;o\"", "\"12th\""},
        {"format-integer", "123 | \"w\"", "\"one hundred and twenty-three\""},
        {"format-integer", "21 | \"Ww;o\"", "\"Twenty-First\""},
        {"format-integer", "0 | \"W\"", "\"ZERO\""},
        {"format-integer", "7 | \"a\"", "\"g\""},
        {"format-integer", "27 | \"A\"", "\"AA\""},
        {"format-integer", "57 | \"I\"", "\"LVII\""},
        {"format-integer", "1999 | \"i\"", "\"mcmxcix\""},
        {"format-integer", "-5 | \"001\"", "\"-005\""},
        {"format-integer", "() | \"1\"", "\"\""},
        {"format-integer", "1234567 | \"#.##0\"", "\"1.234.567\""},
        {"format-integer", "1234567 | \"#.##0,0\"", "\"123.456,7\""},
        {"format-integer", "5 | \"\"", "!FODF1310"},
        {"format-integer", "5 | \"1#\"", "!FODF1310"},
        {"format-integer", "5 | \",1\"", "!FODF1310"},
        {"format-integer", "123 | \"\xd9\xa0\xd9\xa1\"", "\"\xd9\xa1\xd9\xa2\xd9\xa3\""},
        {"format-number", "12345.6 | \"#,###.00\"", "\"12,345.60\""},
        {"format-number", "12345678.9 | \"9,999.99\"", "\"12,345,678.90\""},
        {"format-number", "123.9 | \"9999\"", "\"0124\""},
        {"format-number", "0.14 | \"01%\"", "\"14%\""},
        {"format-number", "-6 | \"000\"", "\"-006\""},
        {"format-number", "-5.5 | \"0.0;(0.0)\"", "\"(5.5)\""},
        {"format-number", "0.5 | \"#.#\"", "\".5\""},
        {"format-number", "0 | \"#.#\"", "\".0\""},
        {"format-number", "5 | \"#.#\"", "\"5\""},
        {"format-number", "0 | \"#\"", "\"0\""},
        {"format-number", "2.5 | \"0\"", "\"2\""},
        {"format-number", "1234.5678e0 | \"0.00e0\"", "\"1.23e3\""},
        {"format-number", "0.234 | \"0.0e0\"", "\"2.3e-1\""},
        {"format-number", "double NaN | \"0\"", "\"NaN\""},
        {"format-number", "double -INF | \"0\"", "\"-Infinity\""},
        {"format-number", "() | \"0\"", "\"NaN\""},
        {"format-number", "1 | \"0.0.0\"", "!FODF1310"},
        {"format-number", "1 | \"abc\"", "!FODF1310"},
        {"format-number", "1 | \"0\" | \"de\"", "!FODF1280"},
        {"format-number", "123456789012345678901234567890 | \"#,##0\"",
         "\"123,456,789,012,345,678,901,234,567,890\""},
    };

    CHECK(ROWS);
}

static void sequences_are_cut_and_put_together(void **state)
{
    static const struct row ROWS[] = {
        {"count", "1 , null , 3", "3"},
        {"count", "1 to 1000000", "1000000"},
        {"exists", "()", "false"},
        {"empty", "()", "true"},
        {"exists", "1 to 1000000000000", "true"},
        {"head", "3 to 10", "3"},
        {"head", "()", "()"},
        {"tail", "1 to 4", "2 , 3 , 4"},
        {"tail", "()", "()"},
        {"subsequence", "1 to 1000000000000 | 3 | 2", "3 , 4"},
        {"subsequence", "1 to 5 | 4", "4 , 5"},
        {"subsequence", "1 to 5 | 0 | 3", "1 , 2"},
        {"subsequence", "1 to 5 | 1.5 | 2.6", "2 , 3 , 4"},
        {"subsequence", "1 to 5 | double NaN | 3", "()"},
        {"subsequence", "{\"a\":1} , [2] | 2", "[2]"},
        {"insert-before", "9 , 8 , 7 | 0 | 99", "99 , 9 , 8 , 7"},
        {"insert-before", "9 , 8 | 2 | 1 , 2", "9 , 1 , 2 , 8"},
        {"insert-before", "9 , 8 | 9 | 1", "9 , 8 , 1"},
        {"insert-before", "() | 1 | 1", "1"},
        {"remove", "1 to 4 | 2", "1 , 3 , 4"},
        {"remove", "1 to 4 | 0", "1 , 2 , 3 , 4"},
        {"reverse", "1 to 4", "4 , 3 , 2 , 1"},
        {"unordered", "1 , 2", "1 , 2"},
        {"index-of", "\"a\" , \"b\" , \"c\" , \"b\" | \"b\"", "2 , 4"},
        {"index-of", "10 , \"x\" , 10.0 | 10", "1 , 3"},
        {"index-of", "double NaN | double NaN", "()"},
        {"index-of", "10 | {\"a\":1}", "!FOTY0013"},
        {"distinct-values", "1 , 2.0 , 3 , 2", "1 , decimal 2 , 3"},
        {"distinct-values", "1 , \"a\" , [2]", "1 , \"a\" , 2"},
        {"distinct-values", "1 , \"a\" , {\"b\":2}", "!FOTY0013"},
        {"distinct-values", "double NaN , double NaN , null , null", "double NaN , null"},
        {"distinct-values", "1 , untypedAtomic 1", "1 , untypedAtomic 1"},
        {"distinct-values", "1 | \"x\"", "!FOCH0002"},
        {"deep-equal", "1 , 2 | 1 , 2.0", "true"},
        {"deep-equal", "1 | 1 , 2", "false"},
        {"deep-equal", "() | ()", "true"},
        {"deep-equal", "Fadd | Fadd", "!FOTY0015"},
        {"zero-or-one", "1 , 2", "!FORG0003"},
        {"one-or-more", "()", "!FORG0004"},
        {"exactly-one", "()", "!FORG0005"},
        {"exactly-one", "5", "5"},
        {"boolean", "()", "false"},
        {"boolean", "0", "false"},
        {"boolean", "1 , 2", "!FORG0006"},
        {"boolean", "{\"a\":1} , 2", "true"},
        {"not", "\"\"", "true"},
        {"data", "1 , \"x\"", "1 , \"x\""},
        {"data", "[1]", "!JNTY0004"},
        {"data", "{\"a\":1}", "!JNTY0004"},
        {"data", "Fadd", "!FOTY0013"},
        {"string", "1.50", "\"1.5\""},
        {"string", "()", "\"\""},
        {"string", "[1]", "!FOTY0014"},
        {"string", "null", "\"null\""},
        {"string", "", "!XPDY0002"},
        {"position", "", "!XPDY0002"},
    };

    CHECK(ROWS);
}

static void aggregates_take_one_pass(void **state)
{
    static const struct row ROWS[] = {
        {"sum", "()", "0"},
        {"sum", "() | ()", "()"},
        {"sum", "() | 0.0", "decimal 0"},
        {"sum", "1 , 2 , 3.5", "decimal 6.5"},
        {"sum", "1 to 100000", "5000050000"},
        {"sum", "9223372036854775807 , 9223372036854775807", "18446744073709551614"},
        {"sum", "1e308 , 1e308", "double INF"},
        {"sum", "0.1 , 0.2 , 0.3", "decimal 0.6"},
        {"sum", "dayTimeDuration P1D , dayTimeDuration PT1H", "dayTimeDuration P1DT1H"},
        {"sum", "1 , \"x\"", "!FORG0006"},
        {"sum", "1 , dayTimeDuration P1D", "!FORG0006"},
        {"sum", "\"x\"", "!FORG0006"},
        {"sum", "untypedAtomic 3 , 4", "double 7"},
        {"sum", "[1,[2,3]]", "6"},
        {"avg", "()", "()"},
        {"avg", "3 , 4 , 5", "decimal 4"},
        {"avg", "1 , 2", "decimal 1.5"},
        {"avg", "2 , 3 , {\"a\":4}", "!FOTY0013"},
        {"avg", "yearMonthDuration P20Y , yearMonthDuration P10M", "yearMonthDuration P10Y5M"},
        {"min", "()", "()"},
        {"min", "5 , 2.5", "decimal 2.5"},
        {"min", "5 , 2.5e0", "double 2.5"},
        {"max", "5 , 2.5e0", "double 5"},
        {"max", "3 , double NaN , 5", "double NaN"},
        {"max", "float 5 , 2.5", "float 5"},
        {"min", "\"2024-02-01\" , \"2023-12-31\"", "\"2023-12-31\""},
        {"max", "\"a\" , 1", "!FORG0006"},
        {"max", "double NaN , \"a\"", "!FORG0006"},
        {"max", "double NaN , null", "null"},
        {"min", "null , 1", "null"},
        {"max", "null , 1", "1"},
        {"min", "date 2001-01-01 , date 2000-01-01", "date 2000-01-01"},
        {"max", "duration P1Y , duration P2Y", "!FORG0006"},
        {"max", "yearMonthDuration P1Y , dayTimeDuration P1D", "!FORG0006"},
        {"max", "yearMonthDuration P1Y , yearMonthDuration P2Y", "yearMonthDuration P2Y"},
        {"max", "untypedAtomic 10 , 9", "double 10"},
        {"max", "true , false", "true"},
    };

    CHECK(ROWS);
}

static void dates_are_taken_apart_and_formatted(void **state)
{
    static const struct row ROWS[] = {
        {"year-from-date", "date 1999-05-31", "1999"},
        {"month-from-dateTime", "dateTime 1999-05-31T13:20:00-05:00", "5"},
        {"hours-from-dateTime", "dateTime 1999-12-31T24:00:00", "0"},
        {"seconds-from-time", "time 13:20:10.5", "decimal 10.5"},
        {"timezone-from-date", "date 1999-05-31-05:30", "dayTimeDuration -PT5H30M"},
        {"timezone-from-date", "date 1999-05-31", "()"},
        {"day-from-date", "()", "()"},
        {"years-from-duration", "yearMonthDuration -P15M", "-1"},
        {"months-from-duration", "yearMonthDuration -P15M", "-3"},
        {"days-from-duration", "dayTimeDuration P3DT10H", "3"},
        {"hours-from-duration", "dayTimeDuration -P3DT10H", "-10"},
        {"minutes-from-duration", "dayTimeDuration PT2H70M", "10"},
        {"seconds-from-duration", "dayTimeDuration -PT1.5S", "decimal -1.5"},
        {"seconds-from-duration", "dayTimeDuration PT256S", "decimal 16"},
        {"seconds-from-duration", "yearMonthDuration P1Y", "decimal 0"},
        {"dateTime", "date 1999-12-31 | time 12:00:00Z", "dateTime 1999-12-31T12:00:00Z"},
        {"dateTime", "date 1999-12-31+01:00 | time 12:00:00Z", "!FORG0008"},
        {"dateTime", "\"2004-04-12T13:20:00\"", "dateTime 2004-04-12T13:20:00"},
        {"adjust-dateTime-to-timezone",
         "dateTime 2002-03-07T10:00:00-07:00 | dayTimeDuration -PT10H",
         "dateTime 2002-03-07T07:00:00-10:00"},
        {"adjust-dateTime-to-timezone", "dateTime 2002-03-07T10:00:00 | ()",
         "dateTime 2002-03-07T10:00:00"},
        {"adjust-date-to-timezone", "date 2002-03-07-07:00 | dayTimeDuration -PT5H0M",
         "date 2002-03-07-05:00"},
        {"adjust-date-to-timezone", "date 2014-03-12-05:00", "date 2014-03-12Z"},
        {"adjust-time-to-timezone", "time 10:00:00Z | ()", "time 10:00:00"},
        {"adjust-time-to-timezone", "time 13:20:00-05:00 | dayTimeDuration -PT14H",
         "time 04:20:00-14:00"},
        {"adjust-date-to-timezone", "date 2014-03-12 | dayTimeDuration PT15H", "!FODT0003"},
        {"adjust-date-to-timezone", "date 2014-03-12 | dayTimeDuration PT4H0.1S", "!FODT0003"},
        {"current-dateTime", "", "dateTimeStamp 2026-03-01T12:00:00.5Z"},
        {"current-date", "", "date 2026-03-01Z"},
        {"current-time", "", "time 12:00:00.5Z"},
        {"implicit-timezone", "", "dayTimeDuration PT0S"},
        {"format-date", "date 2002-12-31 | \"[Y0001]-[M01]-[D01]\"", "\"2002-12-31\""},
        {"format-date", "date 2002-12-31 | \"[M]-[D]-[Y]\"", "\"12-31-2002\""},
        {"format-date", "date 2002-12-31 | \"[D1] [MI] [Y]\"", "\"31 XII 2002\""},
        {"format-date", "date 2002-12-31 | \"[D1o] [MNn], [Y]\"", "\"31st December, 2002\""},
        {"format-date", "date 2002-12-31 | \"[MNn,*-3] [D], [Y,2-2]\"", "\"Dec 31, 02\""},
        {"format-date", "date 2002-12-31 | \"[FNn], [W] [d] [w]\"", "\"Tuesday, 1 365 5\""},
        {"format-date", "date 2005-01-01 | \"[W] [F1]\"", "\"53 6\""},
        {"format-date", "date 2002-12-31 | \"[DWwo] [YWw]\"",
         "\"Thirty-First Two Thousand and Two\""},
        {"format-date", "date 2002-12-31 | \"[[x]] [Y]\"", "\"[x] 2002\""},
        {"format-date", "date 2002-12-31 | \"[H]\"", "!FOFD1350"},
        {"format-date", "date 2002-12-31 | \"[Q]\"", "!FOFD1340"},
        {"format-date", "date 2002-12-31 | \"[Y\"", "!FOFD1340"},
        {"format-date", "() | \"[Y]\"", "()"},
        {"format-time", "time 15:58:45.762 | \"[h]:[m01] [PN]\"", "\"3:58 PM\""},
        {"format-time", "time 15:58:45.762 | \"[H01]:[m01]:[s01].[f001]\"", "\"15:58:45.762\""},
        {"format-time", "time 15:58:45.762 | \"[f,1-2]\"", "\"76\""},
        {"format-time", "time 15:58:45.762+02:00 | \"[H]:[m]:[s] [z]\"", "\"15:58:45 GMT+02:00\""},
        {"format-dateTime", "dateTime 2002-12-31T15:58:45Z | \"[Y]-[M01]-[D01]T[H01]:[m]:[s][Z]\"",
         "\"2002-12-31T15:58:45+00:00\""},
        {"format-dateTime", "dateTime 2002-12-31T15:58:45-05:30 | \"[Z0000]\"", "\"-0530\""},
        {"format-dateTime", "dateTime 2002-12-31T15:58:45Z | \"[Z01:01t]\"", "\"Z\""},
        {"format-dateTime", "dateTime 2002-12-31T15:58:45-05:00 | \"[ZZ]\"", "\"R\""},
        {"parse-ietf-date", "\"Wed, 06 Jun 1994 07:29:35 GMT\"", "dateTime 1994-06-06T07:29:35Z"},
        {"parse-ietf-date", "\"Wed, 6 Jun 94 07:29:35 GMT\"", "dateTime 1994-06-06T07:29:35Z"},
        {"parse-ietf-date", "\"Wed Jun 06 11:54:45 EST 2013\"",
         "dateTime 2013-06-06T11:54:45-05:00"},
        {"parse-ietf-date", "\"Sunday, 06-Nov-94 08:49:37 GMT\"", "dateTime 1994-11-06T08:49:37Z"},
        {"parse-ietf-date", "\"Wed, 6 Jun 94 07:29:35 +0500\"",
         "dateTime 1994-06-06T07:29:35+05:00"},
        {"parse-ietf-date", "\"Aug20 19:36:01 2014\"", "!FORG0010"},
        {"parse-ietf-date", "\"Wed,20 Aug 2014 19:36:01\"", "!FORG0010"},
        {"parse-ietf-date", "\"31 Feb 2014 19:36:01\"", "!FORG0010"},
        {"parse-ietf-date", "()", "()"},
    };

    CHECK(ROWS);
}

static void higher_order_functions_call_what_they_are_given(void **state)
{
    static const struct row ROWS[] = {
        {"for-each", "1 to 3 | Fnegate", "-1 , -2 , -3"},
        {"for-each", "1 , 2 | Ftwice", "1 , 1 , 2 , 2"},
        {"for-each", "1 , 2 | Fnothing", "()"},
        {"for-each", "1 | Fadd", "!XPTY0004"},
        {"for-each", "1 | 5", "!XPTY0004"},
        {"for-each", "0 , 1 | [5,6]", "5 , 6"},
        {"filter", "1 to 6 | Feven", "2 , 4 , 6"},
        {"filter", "1 to 6 | Fnegate", "!XPTY0004"},
        {"fold-left", "1 to 5 | 0 | Fadd", "15"},
        {"fold-left", "() | 7 | Fadd", "7"},
        {"fold-right", "1 to 5 | 0 | Fadd", "15"},
        {"for-each-pair", "1 to 3 | 10 , 20 | Fadd", "11 , 22"},
        {"apply", "Fadd | [1,2]", "3"},
        {"apply", "Fadd | [1]", "!FOAP0001"},
        {"sort", "3 , 1 , 2", "1 , 2 , 3"},
        {"sort", "3 , 1 , 2 | () | Fnegate", "3 , 2 , 1"},
        {"sort", "1 , [1,2]", "1 , [1,2]"},
        {"sort", "1 , \"a\"", "!XPTY0004"},
        {"sort", "double NaN , 1 , null", "double NaN , null , 1"},
        {"function-arity", "Fadd", "2"},
        {"array:for-each", "[1,2,3] | Fnegate", "[-1,-2,-3]"},
        {"array:for-each", "[1,2] | Ftwice", "[[1,1],[2,2]]"},
        {"array:filter", "[1,2,3,4] | Feven", "[2,4]"},
        {"array:fold-left", "[1,2,3] | 10 | Fadd", "16"},
        {"array:fold-right", "[1,2,3] | 10 | Fadd", "16"},
        {"array:for-each-pair", "[1,2] | [10,20,30] | Fadd", "[11,22]"},
        {"array:sort", "[3,1,2]", "[1,2,3]"},
        {"array:sort", "[3,1,2] | () | Fnegate", "[3,2,1]"},
        {"array:sort", "[\"one\",0]", "!XPTY0004"},
        {"map:for-each", "{\"a\":1,\"b\":2} | Fadd", "!XPTY0004"},
    };

    CHECK(ROWS);
}

static void maps_and_arrays_are_objects_and_arrays(void **state)
{
    static const struct row ROWS[] = {
        {"map:size", "{\"a\":1,\"b\":2}", "2"},
        {"map:keys", "{\"a\":1,\"b\":2}", "\"a\" , \"b\""},
        {"map:get", "{\"a\":1} | \"a\"", "1"},
        {"map:get", "{\"1\":\"x\"} | 1", "\"x\""},
        {"map:get", "{\"a\":1} | \"b\"", "()"},
        {"map:contains", "{\"a\":null} | \"a\"", "true"},
        {"map:contains", "{\"a\":null} | \"A\"", "false"},
        {"map:entry", "\"a\" | 1 , 2", "{\"a\":[1,2]}"},
        {"map:entry", "\"a\" | ()", "{\"a\":null}"},
        {"map:put", "{\"a\":1} | \"b\" | 2", "{\"a\":1,\"b\":2}"},
        {"map:put", "{\"a\":1,\"b\":2} | \"a\" | 3", "{\"a\":3,\"b\":2}"},
        {"map:remove", "{\"a\":1,\"b\":2,\"c\":3} | \"a\" , \"c\"", "{\"b\":2}"},
        {"map:merge", "{\"a\":1} , {\"b\":2,\"a\":3}", "{\"a\":1,\"b\":2}"},
        {"map:merge", "{\"a\":1} , {\"a\":3} | {\"duplicates\":\"use-last\"}", "{\"a\":3}"},
        {"map:merge", "{\"a\":1} , {\"a\":3} | {\"duplicates\":\"combine\"}", "{\"a\":[1,3]}"},
        {"map:merge", "{\"a\":1} , {\"a\":3} | {\"duplicates\":\"reject\"}", "!FOJS0003"},
        {"map:merge", "{\"a\":1} | {\"duplicates\":\"x\"}", "!FOJS0005"},
        {"map:merge", "()", "{}"},
        {"map:find", "[{\"a\":1},{\"b\":{\"a\":[2]}}] | \"a\"", "[1,[2]]"},
        {"map:size", "[1]", "!XPTY0004"},
        {"array:size", "[1,2]", "2"},
        {"array:get", "[1,2] | 2", "2"},
        {"array:get", "[1,2] | 0", "!FOAY0001"},
        {"array:get", "[1,2] | 3", "!FOAY0001"},
        {"array:put", "[1,2] | 2 | 9", "[1,9]"},
        {"array:put", "[1,2] | 3 | 9", "!FOAY0001"},
        {"array:append", "[1] | 2 , 3", "[1,[2,3]]"},
        {"array:insert-before", "[1,2] | 3 | 9", "[1,2,9]"},
        {"array:insert-before", "[1,2] | 1 | 9", "[9,1,2]"},
        {"array:remove", "[1,2,3] | 1 , 3", "[2]"},
        {"array:subarray", "[1,2,3] | 2", "[2,3]"},
        {"array:subarray", "[1,2,3] | 4", "[]"},
        {"array:subarray", "[1,2,3] | 1 | 2", "[1,2]"},
        {"array:subarray", "[1,2,3] | 3 | 2", "!FOAY0001"},
        {"array:subarray", "[1,2,3] | 1 | -1", "!FOAY0002"},
        {"array:head", "[5,6]", "5"},
        {"array:head", "[]", "!FOAY0001"},
        {"array:tail", "[5,6]", "[6]"},
        {"array:tail", "[]", "!FOAY0001"},
        {"array:reverse", "[1,2,3]", "[3,2,1]"},
        {"array:join", "[1] , [2,[3]]", "[1,2,[3]]"},
        {"array:flatten", "[1,[2,[3]]] , 4", "1 , 2 , 3 , 4"},
    };

    CHECK(ROWS);
}

static void jsoniq_functions_pass_other_items_over(void **state)
{
    static const struct row ROWS[] = {
        {"keys", "\"foo\" , [1,2] , {\"a\":1,\"b\":2} , {\"a\":3,\"c\":4}",
         "\"a\" , \"b\" , \"c\""},
        {"jn:keys", "()", "()"},
        {"values", "1 , null , [1,2] , {\"a\":3,\"b\":4}", "3 , 4"},
        {"members", "\"foo\" , {\"a\":[1]} , [1,[2]]", "1 , [2]"},
        {"size", "[1,2,3]", "3"},
        {"size", "()", "()"},
        {"size", "{\"a\":1}", "!XPTY0004"},
        {"size", "[1] , [2]", "!XPTY0004"},
        {"bit:len", "[1,2]", "2"},
        {"flatten", "[0,\"x\",{\"a\":[1]},[3,[\"c\"]]]", "0 , \"x\" , {\"a\":[1]} , 3 , \"c\""},
        {"project", "{\"a\":1,\"b\":2,\"c\":3} , 5 | \"c\" , \"a\" , \"x\"",
         "{\"a\":1,\"c\":3} , 5"},
        {"project", "{\"a\":1} | ()", "!JNTY0018"},
        {"remove-keys", "{\"a\":1,\"b\":2} | \"a\"", "{\"b\":2}"},
        {"remove-keys", "{\"a\":1,\"b\":2} | \"b\" , [1,2]", "!XPTY0004"},
        {"accumulate", "{\"b\":2} , {\"c\":3} , {\"b\":[2,\"xyz\"]}",
         "{\"b\":[2,[2,\"xyz\"]],\"c\":3}"},
        {"accumulate", "()", "{}"},
        {"intersect", "{\"a\":\"abc\",\"b\":2,\"d\":0} , {\"a\":2,\"b\":\"ab\"}",
         "{\"a\":[\"abc\",2],\"b\":[2,\"ab\"]}"},
        {"intersect", "{\"a\":1} , {\"e\":2}", "{}"},
        {"descendant-objects", "{\"a\":[1,{\"b\":2}],\"d\":{\"c\":3}}",
         "{\"a\":[1,{\"b\":2}],\"d\":{\"c\":3}} , {\"b\":2} , {\"c\":3}"},
        {"descendant-arrays", "{\"t\":[0,{\"a\":[1]}]} , {}", "[0,{\"a\":[1]}] , [1]"},
        {"descendant-pairs", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}} , {\"b\":1}"},
        {"null", "", "null"},
        {"parse-json", "\"{\"a\":1,\"b\":2,\"a\":3}\"", "{\"a\":1,\"b\":2}"},
        {"parse-json", "\"{\"a\":1,\"a\":3}\" | {\"duplicates\":\"use-last\"}", "{\"a\":3}"},
        {"parse-json", "\"{\"a\":1,\"a\":3}\" | {\"duplicates\":\"reject\"}", "!FOJS0003"},
        {"parse-json", "\"{\"a\":1}\" | {\"duplicates\":5}", "!FOJS0005"},
        {"parse-json", "\"[1\"", "!FOJS0001"},
        {"parse-json", "()", "()"},
        {"jn:parse", "\"{\"a\":1,\"a\":3}\"", "{\"a\":3}"},
        {"jn:parse-json", "\"{\"a\":1}[2]\"", "{\"a\":1} , [2]"},
        {"jn:parse-json", "\"\"a\" : true }\"", "!JNDY0021"},
        {"jn:parse-json", "\"1 2\" | {\"jsoniq-multiple-top-level-items\":false}", "!JNDY0021"},
        {"jn:parse-json", "\"1 2\" | {\"jsoniq-multiple-top-level-items\":1}", "!JNTY0020"},
        {"serialize", "{\"a\":[1,\"x\"]} , 2 , \"y\"", "\"{\"a\":[1,\"x\"]} 2 \"y\"\""},
        {"serialize", "1e6", "\"1.0E6\""},
        {"serialize", "()", "\"\""},
        {"serialize", "\"y\" , 1 | {\"method\":\"text\",\"item-separator\":\"-\"}", "\"y-1\""},
        {"serialize", "[1] | {\"indent\":true}", "\"[\n  1\n]\""},
        {"serialize", "1 | {\"method\":\"xml\"}", "!SEPM0016"},
        {"serialize", "Fadd", "!SENR0001"},
    };

    CHECK(ROWS);
}

static void names_and_errors_are_made_of_qnames(void **state)
{
    static const struct row ROWS[] = {
        {"QName", "\"urn:x\" | \"p:a\"", "QName p:a"},
        {"QName", "\"\" | \"p:a\"", "!FOCA0002"},
        {"QName", "\"urn:x\" | \"1a\"", "!FOCA0002"},
        {"local-name-from-QName", "QName a", "NCName a"},
        {"local-name-from-QName", "\"a\"", "!XPTY0004"},
        {"prefix-from-QName", "QName a", "()"},
        {"error", "", "!FOER0000"},
        {"error", "QName my-error | \"100%s of it\"", "!my-error"},
        {"error", "\"x\"", "!XPTY0004"},
        {"trace", "1 , 2 | \"label\"", "1 , 2"},
        {"xs:integer", "\"12\"", "12"},
        {"integer", "\"12\"", "12"},
        {"date", "\"2001-01-01\"", "date 2001-01-01"},
        {"xs:byte", "300", "!FORG0001"},
        {"xs:date", "()", "()"},
        {"nope", "1", "!XPST0017"},
        {"count", "1 | 2", "!XPST0017"},
    };

    CHECK(ROWS);
}

static void random_numbers_repeat_with_their_seed(void **state)
{
    struct stage *stage = *state;
    const char *names[] = {"number", "next", "permute"};
    struct sirix_item generators[2] = {{0}, {0}};

    for (int i = 0; i < 2; i++) {
        struct sirix_item seed = sirix_item_integer(42);
        struct sirix_sequence arguments[1] = {sirix_sequence_of(&seed)};
        struct sirix_sequence result = {0};
        const struct sirix_function *function =
            sirix_function_find(stage->set, SIRIX_NS_FN, text_of("random-number-generator"), 1);
        struct sirix_call call = {.work = &stage->bench->work,
                                  .function = function,
                                  .argument_count = 1,
                                  .arguments = arguments,
                                  .evaluator = &stage->evaluator};

        assert_int_equal(sirix_function_call(&call, &result, &stage->bench->err), SIRIX_OK);
        generators[i] = result.items[0];
    }
    for (int step = 0; step < 3; step++) {
        struct sirix_item fields[2][3];

        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 3; j++) {
                assert_int_equal(sirix_object_field(&stage->bench->work, generators[i],
                                                    text_of(names[j]), &fields[i][j],
                                                    &stage->bench->err),
                                 SIRIX_OK);
            }
            assert_true(fields[i][0].value.number >= 0 && fields[i][0].value.number < 1);
            struct sirix_sequence range = sirix_sequence_range(1, 100);
            struct sirix_sequence permuted = {0};
            struct sirix_sequence following = {0};
            int64_t sum = 0;

            assert_int_equal(
                invoke_callback(stage, fields[i][2], &range, 1, &permuted, &stage->bench->err),
                SIRIX_OK);
            for (size_t k = 0; k < permuted.count; k++) {
                sum += permuted.items[k].value.integer;
            }
            assert_int_equal(sum, 5050);
            assert_int_equal(
                invoke_callback(stage, fields[i][1], NULL, 0, &following, &stage->bench->err),
                SIRIX_OK);
            generators[i] = following.items[0];
        }
        assert_true(fields[0][0].value.number == fields[1][0].value.number);
    }
}

static void the_nearest_name_is_suggested(void **state)
{
    struct stage *stage = *state;
    char name[64];
    size_t min = 0;
    size_t max = 0;

    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_NONE, text_of("sumn"), name, sizeof(name)));
    assert_string_equal(name, "fn:sum");
    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_FN, text_of("substrng"), name, sizeof(name)));
    assert_string_equal(name, "fn:substring");
    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_JN, text_of("key"), name, sizeof(name)));
    assert_string_equal(name, "jn:keys");
    assert_false(
        sirix_function_nearest(stage->set, SIRIX_NS_FN, text_of("qqqqqqqq"), name, sizeof(name)));
    assert_true(sirix_function_arities(stage->set, SIRIX_NS_FN, text_of("substring"), &min, &max));
    assert_int_equal(min, 2);
    assert_int_equal(max, 3);
    assert_false(sirix_function_arities(stage->set, SIRIX_NS_FN, text_of("environment-variable"),
                                        NULL, NULL));
}

/* --- Limits and time ---------------------------------------------------------------------------------------- */

struct deadline {
    int looks;
    int allowed;
};

static enum sirix_status look(void *context, struct sirix_query_error *err)
{
    struct deadline *deadline = context;

    return ++deadline->looks > deadline->allowed
               ? sirix_fail(&err->base, SIRIX_DEADLINE, "the deadline passed")
               : SIRIX_OK;
}

static void long_loops_look_at_the_deadline(void **state)
{
    static const struct row ROWS[] = {
        {"count", "1 to 1000000000000", "1000000000000"},
        {"sum", "1 to 1000000000000", "500000000000500000000000"},
        {"avg", "1 to 1000000000000", "decimal 500000000000.5"},
        {"min", "1 to 1000000000000", "!deadline"},
        {"tail", "1 to 1000000000000", "!deadline"},
        {"distinct-values", "1 to 1000000000000", "!deadline"},
        {"string-join", "1 to 1000000000000", "!deadline"},
        {"fold-left", "1 to 1000000000000 | 0 | Fadd", "!deadline"},
        {"filter", "1 to 1000000000000 | Feven", "!deadline"},
        {"index-of", "1 to 1000000000000 | 0", "!deadline"},
        {"max", "1 to 1000000000000", "!deadline"},
    };
    struct stage *stage = *state;
    struct deadline deadline = {.allowed = 3};

    stage->bench->work.check = look;
    stage->bench->work.check_context = &deadline;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        deadline.looks = 0;
        assert_string_equal(called(stage, ROWS[i].name, ROWS[i].arguments), ROWS[i].expect);
    }
    stage->bench->work.check = NULL;
}

static void strings_and_memory_have_named_limits(void **state)
{
    struct stage *stage = *state;
    struct sirix_item text = {0};
    struct sirix_sequence arguments[2] = {{0}, {0}};
    struct sirix_sequence result = {0};
    enum sirix_status status = SIRIX_OK;
    const struct sirix_function *concat =
        sirix_function_find(stage->set, SIRIX_NS_FN, text_of("concat"), 2);

    text = sirix_item_literal("0123456789abcdef");
    for (int i = 0; status == SIRIX_OK && i < 64; i++) { /* Doubles each time. */
        struct sirix_call call = {.work = &stage->bench->work,
                                  .function = concat,
                                  .argument_count = 2,
                                  .arguments = arguments,
                                  .evaluator = &stage->evaluator};

        arguments[0] = sirix_sequence_of(&text);
        arguments[1] = sirix_sequence_of(&text);
        status = sirix_function_call(&call, &result, &stage->bench->err);
        if (status == SIRIX_OK) {
            text = result.items[0];
        }
    }
    assert_int_equal(status, SIRIX_EXHAUSTED);
    assert_string_equal(stage->bench->err.base.field, "string_bytes");
    assert_int_equal(text.len, SIRIX_ITEM_STRING_BYTES_MAX);

    stage->bench->arena.limit_bytes = stage->bench->arena.used_bytes + 1000000;
    assert_string_equal(called(stage, "reverse", "1 to 1000000000"), "!exhausted");
    stage->bench->arena.limit_bytes = SIZE_MAX;
}

static void a_regular_expression_that_explodes_ends_at_its_limit(void **state)
{
    struct stage *stage = *state;
    struct sirix_regex *regex = NULL;
    const size_t *spans = NULL;
    bool found = false;
    char text[200];

    memset(text, 'a', sizeof(text));
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("^(a+)+$"), text_of(""), &regex,
                                     &stage->bench->err),
                     SIRIX_OK);
    text[sizeof(text) - 1] = 'b';
    assert_int_equal(sirix_regex_match(&stage->bench->work, regex,
                                       (struct sirix_bytes){.data = text, .len = sizeof(text)}, 0,
                                       &found, &spans, &stage->bench->err),
                     SIRIX_EXHAUSTED);
    assert_string_equal(stage->bench->err.base.field, "regex_steps");
}

static void matches_far_into_a_long_text_are_found(void **state)
{
    struct stage *stage = *state;
    struct sirix_regex_cache *cache = NULL;
    struct sirix_regex *regex = NULL;
    struct sirix_regex *again = NULL;
    const size_t *spans = NULL;
    size_t len = 300000;
    char *text = test_malloc(len);
    bool found = false;

    for (size_t i = 0; i + 1 < len; i += 2) { /* Two bytes each: pieces must not cut one. */
        memcpy(text + i, "\xc3\xa9", 2);
    }
    memcpy(text + len - 6, "needle", 6);
    assert_int_equal(sirix_regex_cache_new(&stage->bench->arena, &cache, &stage->bench->err),
                     SIRIX_OK);
    stage->bench->work.regexes = cache;
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("n(e+)dle"), text_of(""), &regex,
                                     &stage->bench->err),
                     SIRIX_OK);
    assert_int_equal(sirix_regex_match(&stage->bench->work, regex,
                                       (struct sirix_bytes){.data = text, .len = len}, 0, &found,
                                       &spans, &stage->bench->err),
                     SIRIX_OK);
    assert_true(found);
    assert_int_equal(spans[0], len - 6);
    assert_int_equal(spans[3], len - 3);
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("n(e+)dle"), text_of(""), &again,
                                     &stage->bench->err),
                     SIRIX_OK);
    assert_ptr_equal(regex, again);
    stage->bench->work.regexes = NULL;
    test_free(text);
}

/* --- The page ----------------------------------------------------------------------------------------------- */

static void every_function_is_in_the_reference(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    size_t count = sirix_function_library(tables);
    FILE *file = fopen(SIRIX_QUERY_DOCS, "rb");
    size_t cap = 1024 * 1024;
    char *page = test_malloc(cap);
    int missing = 0;

    (void)state;
    assert_non_null(file);
    size_t len = fread(page, 1, cap - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_true(len > 0 && len < cap - 1);
    page[len] = '\0';

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < tables[i].count; j++) {
            const struct sirix_function *function = &tables[i].functions[j];
            bool has_list = function->ns == SIRIX_NS_XS || function->ns == SIRIX_NS_BIT;
            char text[96];

            /* Constructors and Brackit's names are a list; the others have an entry each. */
            (void)snprintf(
                text, sizeof(text), "%s%s%s%s",
                has_list && function->ns == SIRIX_NS_XS ? ""
                                                        : sirix_function_ns_prefix(function->ns),
                function->ns == SIRIX_NS_XS ? "" : ":", function->name, has_list ? "" : "(");
            if (strstr(page, text) == NULL) {
                print_error("docs/query.md: no %s\n", text);
                missing++;
            }
        }
    }
    test_free(page);
    assert_int_equal(missing, 0);
}

#define WITH_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STAGE(strings_count_code_points),
        WITH_STAGE(regular_expressions_have_the_syntax_of_xpath),
        WITH_STAGE(numbers_round_and_format),
        WITH_STAGE(sequences_are_cut_and_put_together),
        WITH_STAGE(aggregates_take_one_pass),
        WITH_STAGE(dates_are_taken_apart_and_formatted),
        WITH_STAGE(higher_order_functions_call_what_they_are_given),
        WITH_STAGE(maps_and_arrays_are_objects_and_arrays),
        WITH_STAGE(jsoniq_functions_pass_other_items_over),
        WITH_STAGE(names_and_errors_are_made_of_qnames),
        WITH_STAGE(random_numbers_repeat_with_their_seed),
        WITH_STAGE(the_nearest_name_is_suggested),
        WITH_STAGE(long_loops_look_at_the_deadline),
        WITH_STAGE(strings_and_memory_have_named_limits),
        WITH_STAGE(a_regular_expression_that_explodes_ends_at_its_limit),
        WITH_STAGE(matches_far_into_a_long_text_are_found),
        cmocka_unit_test(every_function_is_in_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
