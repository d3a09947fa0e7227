/* Evaluating: clauses, choices, functions as values, updates of values in memory, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/query_run/fixture.h"

struct row {
    const char *query;
    const char *answer;
};

static void check_rows(struct query_fixture *f, const struct row *rows, size_t count)
{
    for (int naive = 0; naive < 2; naive++) {
        f->naive = naive != 0;
        for (size_t i = 0; i < count; i++) {
            char *answer = query_fixture_run(f, rows[i].query);

            if (strcmp(answer, rows[i].answer) != 0) {
                print_error("%s\n  gives %s\n  not   %s\n", rows[i].query, answer, rows[i].answer);
            }
            assert_string_equal(answer, rows[i].answer);
            free(answer);
        }
    }
    f->naive = false;
}

static void check_table(const struct row *rows, size_t count)
{
    struct query_fixture f;

    query_fixture_open(&f, NULL);
    check_rows(&f, rows, count);
    query_fixture_close(&f);
}

static void clauses_come_in_any_order(void **state)
{
    static const struct row rows[] = {
        {"for $x in 1 to 3, $y in 1 to 2 return $x * 10 + $y", "11\n12\n21\n22\n31\n32"},
        {"for $x at $i in (\"a\",\"b\") return [$i,$x]", "[1,\"a\"]\n[2,\"b\"]"},
        {"for $x allowing empty in () return [$x]", "[]"},
        {"for $x in [1,2] return $x", "1\n2"},
        {"for $x in ([1,2],[3]) return [$x]", "[[1,2]]\n[[3]]"},
        {"let $x := (1,2,3) return count($x)", "3"},
        {"for $x in 1 to 6 where $x mod 2 eq 0 count $c return [$c,$x]", "[1,2]\n[2,4]\n[3,6]"},
        {"for $x in (5,1,4) order by $x count $c return [$c,$x]", "[1,1]\n[2,4]\n[3,5]"},
        {"for $x in (1,2,3,4) group by $k := $x mod 2 order by $k return [$k,$x]",
         "[0,2,4]\n[1,1,3]"},
        {"for $x in (18,18.0,2.5,2.50,0,-0e0) group by $x return $x", "18\n2.5\n0"},
        {"for $x in ({\"k\":1},{},{\"k\":null},{}) group by $k := $x.k return [count($x)]",
         "[1]\n[2]\n[1]"},
        {"for $x in (\"b\",\"a\",\"c\") order by $x descending return $x", "\"c\"\n\"b\"\n\"a\""},
        {"for $x in ({\"a\":2},{},{\"a\":null},{\"a\":1}) order by $x.a return [$x.a]",
         "[]\n[null]\n[1]\n[2]"},
        {"for $x in ({\"a\":2},{},{\"a\":1}) order by $x.a empty greatest return [$x.a]",
         "[1]\n[2]\n[]"},
        {"for $x in (1,\"a\") order by $x return $x", "! XPTY0004"},
        {"for $a in (1,2,3), $b in (2,3,4) where $a eq $b return $a", "2\n3"},
        {"for $a in (1,1), $b at $p in (1,2,1) where $b eq $a return $p", "1\n3\n1\n3"},
        {"for $a in (0.1,1), $b in (1e-1,1.0) where $a eq $b return [$a,$b]", "[0.1,0.1]\n[1,1]"},
        {"for $a in ({\"k\":1},{\"k\":2}), $b in ({\"k\":2},{}) where $a.k eq $b.k return $a.k",
         "2"},
        {"for tumbling window $w in 1 to 5 start at $s when true end at $e when $e - $s eq 1 "
         "return [$w]",
         "[1,2]\n[3,4]\n[5]"},
        {"for tumbling window $w in 1 to 5 start at $s when true only end at $e when $e - $s eq 1 "
         "return [$w]",
         "[1,2]\n[3,4]"},
        {"for sliding window $w in 1 to 3 start $s when true end $e when $e - $s eq 1 "
         "return [$w]",
         "[1,2]\n[2,3]\n[3]"},
        {"for tumbling window $w in (1,2,9,3) start $s when $s gt 2 return [$w]", "[9]\n[3]"},
        {"for $x in ({\"k\":1,\"v\":2},{\"k\":2,\"v\":3},{\"k\":1,\"v\":1.5},{\"k\":1}) "
         "group by $k := $x.k return [$k,count($x),count($x.v),sum($x.v),avg($x.v)]",
         "[1,3,2,3.5,1.75]\n[2,1,1,3,3]"},
        {"for $x in ({\"k\":1,\"v\":2},{\"k\":2,\"v\":3}) group by $k := $x.k let $s := sum($x.v) "
         "order by $s descending return [$k,$s]",
         "[2,3]\n[1,2]"},
        {"for $x in ({\"k\":1,\"v\":2},{\"k\":2,\"v\":3}) group by $k := $x.k order by sum($x.v) "
         "descending return [$k,sum($x.v)]",
         "[2,3]\n[1,2]"},
        {"for $x in ({\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":3}) group by $k := $x.k where $k eq 2 "
         "return sum($x.v)",
         "3"},
        {"for $x in ({\"k\":1,\"v\":\"a\"},{\"k\":2,\"v\":3}) group by $k := $x.k "
         "return sum($x.v)",
         "! FORG0006"},
        {"for $o in (1,2) return for $x in ({\"k\":1,\"v\":$o},{\"k\":1,\"v\":3}) "
         "group by $k := $x.k return sum($x.v)",
         "4\n5"},
        {"for $x in (1,2,3) group by $k := $x mod 2 let $n := sum($x) "
         "for $y in (10,20) group by $h := $n return [$h,$y,count($x)]",
         "[4,10,20,4]\n[2,10,20,2]"},
        {"subsequence(for $x in 1 to 1000 order by -$x return $x, 1, 3)", "1000\n999\n998"},
        {"(for $x in 1 to 1000 order by $x mod 7, $x descending return {\"x\":$x})"
         "[position() le 2]",
         "{\"x\":994}\n{\"x\":987}"},
    };

    (void)state;
    check_table(rows, sizeof(rows) / sizeof(rows[0]));
}

static void positions_and_filters_follow_what_the_condition_gives(void **state)
{
    static const struct row rows[] = {
        {"(4,5,6)[2]", "5"},
        {"[4,5,6][2]", "6"},
        {"[4,5,6][-1]", "6"},
        {"([1,2],[3])[0]", "1\n3"},
        {"([1,2],3)[2]", "3"},
        {"(1 to 9)[$$ mod 4 eq 0]", "4\n8"},
        {"(1 to 9)[last()]", "9"},
        {"(1 to 9)[position() gt 7]", "8\n9"},
        {"(1 to 9)[? 2]", "2"},
        {"(4,5,6)[2.0]", "5"},
        {"(4,5,6)[2.5]", ""},
        {"(4,5,6)[\"x\"]", "4\n5\n6"},
        {"(4,5,6)[false]", ""},
        {"[1,2,3,4][1:3]", "[2,3]"},
        {"[1,2,3][::-1]", "[3,2,1]"},
        {"[1,2,3,4][:-3:-1]", "[4,3]"},
        {"[1,2,3][::0]", "! XPTY0004"},
        {"[1,2,3][[1]]", "1"},
        {"[1,2][[(1,2)]]", "! JNTY0018"},
        {"{\"a\":1,\"b\":2,\"c\":3}{a,c}", "{\"a\":1,\"c\":3}"},
        {"({\"a\":1},[2],3,{\"a\":4}).a", "1\n4"},
        {"{\"a\":{\"a\":[{\"a\":1}]}}=>>a", "{\"a\":[{\"a\":1}]}\n[{\"a\":1}]\n1"},
        {"()[0]", ""},
        {"(1 to 1000000000)[3]", "3"},
        {"head(1 to 1000000000)", "1"},
        {"exists(1 to 1000000000)", "true"},
        {"sum(1 to 1000000000)", "500000000500000000"},
        {"some $x in 1 to 1000000000 satisfies $x gt 5", "true"},
    };

    (void)state;
    check_table(rows, sizeof(rows) / sizeof(rows[0]));
}

static void functions_are_values(void **state)
{
    static const struct row rows[] = {
        {"let $n := 40 let $f := function($x) { $x + $n } return $f(2)", "42"},
        {"for $f in (for $i in 1 to 3 return function() { $i }) return $f()", "1\n2\n3"},
        {"let $f := concat(?, \"-\", ?) return $f(\"a\",\"b\")", "\"a-b\""},
        {"fold-left(1 to 5, 0, function($a,$b) { $a + $b })", "15"},
        {"for-each((1,2), function($x) { $x, $x })", "1\n1\n2\n2"},
        {"declare function local:f($n as xs:integer) as xs:integer "
         "{ if ($n eq 0) then 0 else 1 + local:f($n - 1) }; local:f(1500)",
         "1500"},
        {"declare function local:f($x as xs:string) { $x }; local:f(1)", "! XPTY0004"},
        {"declare function local:f() as xs:string { 1 }; local:f()", "! XPTY0004"},
        {"let $f := local:g#1 return $f(3) "
         "",
         "! XPST0017"},
        {"sort((3,1,2), (), function($x) { -$x })", "3\n2\n1"},
        {"({\"a\":1})(\"a\")", "1"},
        {"[5,6](1)", "6"},
        {"(1)(2)", "! XPTY0004"},
        {"declare variable $x := $y + 1; declare variable $y := 2; $x", "3"},
        {"declare variable $x := $y; declare variable $y := $x; $x", "! XQST0054"},
    };

    (void)state;
    check_table(rows, sizeof(rows) / sizeof(rows[0]));
}

static void errors_are_caught_where_the_query_says(void **state)
{
    static const struct row rows[] = {
        {"try { 1 div 0 } catch * { \"caught\" }", "\"caught\""},
        {"try { 1 div 0 } catch err:FOAR0001 { $err:line-number }", "1"},
        {"try { 1 div 0 } catch err:XPTY0004 { 1 }", "! FOAR0001"},
        {"try { (1, 2, error()) } catch * { 3 }", "3"},
        {"for $x in (1,0) return try { 1 div $x } catch * { -1 }", "1\n-1"},
        {"1, 1 div 0", "! FOAR0001"},
        {"if (1 eq 1) then 1 else 1 div 0", "1"},
        {"switch (1) case 1 return \"a\" default return 1 div 0", "\"a\""},
        {"typeswitch (\"x\") case xs:integer return 1 case $s as xs:string return $s default "
         "return 3",
         "\"x\""},
        {"() lt (1,2)", ""},
        {"(1,2) eq 1", "! XPTY0004"},
        {"[1, 2] eq 1", "! XPTY0004"},
        {"$$", "! XPDY0002"},
    };

    (void)state;
    check_table(rows, sizeof(rows) / sizeof(rows[0]));
}

static void copies_are_changed_and_originals_are_not(void **state)
{
    static const struct row rows[] = {
        {"let $o := {\"a\":[1,2,3,4]} return (copy $c := $o modify (delete json $c.a[0], "
         "insert json 9 into $c.a at position 2, replace json value of $c.a[3] with 8) "
         "return $c, $o)",
         "{\"a\":[2,9,3,8]}\n{\"a\":[1,2,3,4]}"},
        {"copy $c := {\"a\":1,\"b\":2} modify (rename json $c.a as \"b\", delete json $c.b) return "
         "$c",
         "{\"b\":1}"},
        {"copy $c := {\"a\":1} modify insert json {\"a\":2} into $c return $c", "! JNUP0006"},
        {"copy $c := {\"a\":1} modify (insert json {\"b\":2} into $c, insert json {\"b\":2} into "
         "$c) "
         "return $c",
         "! JNUP0005"},
        {"copy $c := [1] modify append json $c into $c return $c", "[1,[1]]"},
        {"copy $c := ([1],[2]) modify for $x in $c return append json 0 into $x return $c",
         "[1,0]\n[2,0]"},
        {"let $x := [1] return copy $c := [2] modify append json 3 into $x return $c",
         "! XUDY0014"},
        {"copy $c := {\"l\":[{\"x\":1},{\"x\":2}]} modify (for $i in $c.l[] let $y := $i "
         "return replace json value of $y.x with $y.x * 10) return $c",
         "{\"l\":[{\"x\":10},{\"x\":20}]}"},
    };

    (void)state;
    check_table(rows, sizeof(rows) / sizeof(rows[0]));
}

static void every_limit_has_a_name(void **state)
{
    static const struct row rows[] = {
        {"declare function local:f($n) { 1 + local:f($n + 1) }; local:f(1)",
         "! exhausted stack_bytes"},
        {"declare function local:f($n) { local:g($n) }; "
         "declare function local:g($n) { local:f($n) }; local:f(1)",
         "! exhausted stack_bytes"},
        {"let $f := function($f) { $f($f) } return $f($f)", "! exhausted stack_bytes"},
        {"count(for $a in 1 to 100000, $b in 1 to 100000 where $a gt $b return 1)",
         "! exhausted items_visited"},
        {"count(for $x in 1 to 3 return let $s := (for $y in 1 to 600000 return [$y]) "
         "return $s[1])",
         "! exhausted memory_bytes"},
        {"try { count(for $x in 1 to 3 return let $s := (for $y in 1 to 600000 return [$y]) "
         "return $s[1]) } catch * { 1 }",
         "! exhausted memory_bytes"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    f.limits.items_visited = 8 * 1000 * 1000;
    f.limits.memory_bytes = (size_t)28 * 1024 * 1024;
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    f.limits.results = 3;
    char *answer = query_fixture_run(&f, "1 to 4");
    assert_string_equal(answer, "! exhausted results");
    free(answer);
    query_fixture_close(&f);
}

/* Would pass the limit many times if a turn of a loop left anything behind. */
static void loops_leave_nothing_behind(void **state)
{
    static const struct row rows[] = {
        {"count(for $x in 1 to 60000 return {\"a\":\"text\" || $x})", "60000"},
        {"sum(for $x in 1 to 60000 let $s := (for $y in 1 to 3 return \"t\" || $y) "
         "return count($s))",
         "180000"},
        {"count((1 to 60000) ! ({\"x\":$$}.x)[$$ gt 0])", "60000"},
        {"count(for $x in 1 to 60000 where exists(for $y in 1 to 2 return [\"t\" || $y]) return "
         "$x)",
         "60000"},
        {"declare function local:f($n as xs:integer) as xs:integer "
         "{ if ($n lt 2) then $n else local:f($n - 1) + local:f($n - 2) }; local:f(20)",
         "6765"},
        {"max(for $x in 1 to 60000 return string-length(\"abc\" || $x))", "8"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    f.limits.memory_bytes = (size_t)1024 * 1024;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *answer = query_fixture_run(&f, rows[i].query);

        assert_string_equal(answer, rows[i].answer);
        free(answer);
    }
    query_fixture_close(&f);
}

static void a_query_that_is_cancelled_ends_soon(void **state)
{
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    f.stop_at = 5;
    char *answer =
        query_fixture_run(&f, "count(for $a in 1 to 1000000, $b in 1 to 1000000 return 1)");
    assert_string_equal(answer, "! cancelled none");
    assert_int_equal(f.checks, 5);
    free(answer);
    query_fixture_close(&f);
}

static void a_query_can_be_closed_in_the_middle(void **state)
{
    const struct sirix_query_item *items = NULL;
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    struct query_fixture f;
    size_t count = 0;
    bool done = false;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "[1,2,3,[4]]");
    query_fixture_options(&f, "for $x in jn:doc('db','r')[] return try { $x } catch * { 1 }",
                          &options);
    assert_int_equal(sirix_query_prepare(&options, &query, &err), SIRIX_OK);
    assert_int_equal(sirix_query_next(query, 1, 0, &items, &count, &done, &err), SIRIX_OK);
    assert_int_equal(count, 1);
    assert_false(done);
    sirix_query_close(query);
    assert_int_equal(sirix_query_prepare(&options, &query, &err), SIRIX_OK);
    sirix_query_close(query);
    query_fixture_close(&f);
}

static void items_come_in_batches_of_any_size(void **state)
{
    static const char expected[] = "1\n2\n3\n4\n5\n6\n7";
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    for (f.item_max = 1; f.item_max < 9; f.item_max++) {
        char *answer = query_fixture_run(&f, "for $x in 1 to 7 order by $x return $x");

        assert_string_equal(answer, expected);
        free(answer);
    }
    query_fixture_close(&f);
}

/* Compared one by one, each of these would pass hundreds of millions of items. */
static void what_is_among_many_is_looked_up(void **state)
{
    static const struct row rows[] = {
        {"let $k := (1 to 20000)!($$ * 2) return count(for $x in 1 to 20000 where $x = $k return "
         "$x)",
         "10000"},
        {"declare variable $k := (1 to 20000)!($$ * 2.0); count((1 to 20000)[$$ = $k])", "10000"},
        {"let $k := (for $i in 1 to 20000 return \"s\" || $i) "
         "return count(for $x in 15001 to 25000 where \"s\" || $x = $k return $x)",
         "5000"},
        {"(for $i in 1 to 20000 return $i) = (for $i in 1 to 20000 return -$i)", "false"},
        {"let $k := (for $i in 1 to 20000 return 1) return count((1 to 20000)[$$ = $k])", "1"},
        {"for $n in (1, 2) let $k := (1 to 20000)!($$ * $n) "
         "return count(for $x in 1 to 20000 where $x = $k return $x)",
         "20000\n10000"},
    };
    static const struct row plain[] = {
        {"let $k := ((1 to 30)!($$), text {\"50\"}) return count((1 to 100)[$$ = $k])", "31"},
        {"let $k := ((1 to 30)!($$), \"x\") return count((1 to 30)[$$ = $k])", "30"},
        {"let $k := ((1 to 30)!($$), [ 77, [ 78 ] ]) return count((1 to 100)[$$ = $k])", "32"},
        {"let $k := (number(\"x\"), (1 to 30)!($$)) return ((1 to 40)!number(\"x\")) = $k",
         "false"},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    f.limits.items_visited = 5 * 1000 * 1000;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *answer = query_fixture_run(&f, rows[i].query);

        if (strcmp(answer, rows[i].answer) != 0) {
            print_error("%s\n  gives %s\n", rows[i].query, answer);
        }
        assert_string_equal(answer, rows[i].answer);
        free(answer);
    }
    check_rows(&f, plain, sizeof(plain) / sizeof(plain[0]));
    query_fixture_close(&f);
}

static void inputs_and_variables_come_from_the_caller(void **state)
{
    static const struct row rows[] = {
        {"json-lines(\"lines\").a", "1\n2"},
        {"json-doc(\"doc\")", "[1,{\"b\":null}]"},
        {"json-doc(\"none\")", "! FODC0002"},
        {"declare variable $x external; $x.y", "5"},
        {"declare variable $z external := 7; $z", "7"},
        {"declare variable $z external; $z", "! XPDY0002"},
        {"declare variable $x as xs:integer external; $x", "! XPTY0004"},
    };
    static const struct sirix_query_named inputs[] = {
        {.name = {.data = "lines", .len = 5},
         .text = {.data = "{\"a\":1}\n{\"a\":2}\n", .len = 16}},
        {.name = {.data = "doc", .len = 3}, .text = {.data = "[1,{\"b\":null}]", .len = 14}},
    };
    static const struct sirix_query_named variables[] = {
        {.name = {.data = "x", .len = 1}, .text = {.data = "{\"y\":5}", .len = 7}},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    f.inputs = inputs;
    f.input_count = 2;
    f.variables = variables;
    f.variable_count = 1;
    check_rows(&f, rows, sizeof(rows) / sizeof(rows[0]));
    query_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_come_in_any_order),
        cmocka_unit_test(positions_and_filters_follow_what_the_condition_gives),
        cmocka_unit_test(functions_are_values),
        cmocka_unit_test(errors_are_caught_where_the_query_says),
        cmocka_unit_test(copies_are_changed_and_originals_are_not),
        cmocka_unit_test(every_limit_has_a_name),
        cmocka_unit_test(loops_leave_nothing_behind),
        cmocka_unit_test(a_query_that_is_cancelled_ends_soon),
        cmocka_unit_test(a_query_can_be_closed_in_the_middle),
        cmocka_unit_test(items_come_in_batches_of_any_size),
        cmocka_unit_test(inputs_and_variables_come_from_the_caller),
        cmocka_unit_test(what_is_among_many_is_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
