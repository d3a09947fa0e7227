/*
 * The language from its text to its items, as a table: what each construct means, with the rewrites of the
 * planner and the shortcuts of the executor, and without any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "query/query.h"

struct language_case {
    const char *query;
    const char *items; /* As JSON, one a line; NULL: it fails. */
    const char *code;
};

static const struct language_case cases[] = {
    {"{\"a\": 1, \"b\": 2}{b, c}, project({\"a\": 1}, (\"a\", \"c\"))",
     "{\"b\":2,\"c\":null}\n{\"a\":1}", NULL},
    {"exit returning 1; 2", "1", NULL},
    {"0, exit returning (1, 2); 3", "0\n1\n2", NULL},
    {"declare context item as xs:string := 1; .", NULL, "XPTY0004"},
    {"declare context item as xs:integer := 1; . + 1", "2", NULL},
    {"declare context item := (1, 2); .", NULL, "XPTY0004"},
    {"try { 1 div 0 } catch * { count($err:additional) }", "0", NULL},
    {"(1, 2) ! (function() { . })()", NULL, "XPDY0002"},
    {"for tumbling window $w in (2,4,6,8,10) start at $s when true() only end at $e when $e - $s "
     "eq 1 return string-join($w ! string($$),\" \")",
     "\"2 4\"\n\"6 8\"", NULL},
    {"for tumbling window $w in (2,4,6,8,10,12,14) start at $s when true end at $e when $e - $s eq "
     "2 return sum($w)",
     "12\n30\n14", NULL},
    {"for sliding window $w in (2,4,6,8) start at $s when true() only end at $e when $e - $s eq 1 "
     "return sum($w)",
     "6\n10\n14", NULL},
    {"for sliding window $w in (1,2,3) start $s when $s eq 2 end $e next $n when $n eq 3 return "
     "[$w]",
     "[2]", NULL},
    {"let $x := 5 return let $x := 6 return $x", "6", NULL},
    {"for $x in (1,2,3) let $y := $x * 2 where $y gt 2 order by $y descending return $y", "6\n4",
     NULL},
    {"for $x in 1 to 4 group by $k := $x mod 2 order by $k return {\"k\":$k,\"v\":[$x]}",
     "{\"k\":0,\"v\":[2,4]}\n{\"k\":1,\"v\":[1,3]}", NULL},
    {"for $x in (\"a\",\"b\",\"a\") group by $x return $x || count($x)", "\"a1\"\n\"b1\"", NULL},
    {"for $x in (1,2), $y in (\"a\",\"b\") group by $x return $x || string-join($y,\"\")",
     "\"1ab\"\n\"2ab\"", NULL},
    {"let $f := function($a, $b) { $a - $b } return fold-right((1,2,3), 0, $f)", "2", NULL},
    {"sort((3,1,2), (), function($x) { -$x })", "3\n2\n1", NULL},
    {"for-each-pair((1,2),(3,4), function($a,$b){ $a * $b })", "3\n8", NULL},
    {"let $add := function($x) { function($y) { $x + $y } } return $add(1)(2)", "3", NULL},
    {"concat#3(\"a\",\"b\",\"c\")", "\"abc\"", NULL},
    {"let $c := concat(\"a\", ?, \"c\") return $c(\"b\")", "\"abc\"", NULL},
    {"(1,2,3) ! ($$ * 2) ! ($$ + 1)", "3\n5\n7", NULL},
    {"\"a,b,c\" => tokenize(\",\") => reverse() => string-join(\"-\")", "\"c-b-a\"", NULL},
    {"try { 1 + \"a\" } catch err:XPTY0004 { \"t\" }", "\"t\"", NULL},
    {"try { fn:error(xs:QName(\"local:e\"), \"m\") } catch local:e { $err:description }", "\"m\"",
     NULL},
    {"switch (\"x\") case \"a\" case \"x\" return 1 case \"b\" return 2 default return 3", "1",
     NULL},
    {"typeswitch (()) case empty-sequence() return \"e\" default return \"n\"", "\"e\"", NULL},
    {"typeswitch ({\"a\":1}) case array return 1 case object return 2 default return 3", "2", NULL},
    {"if (()) then 1 else 2", "2", NULL},
    {"some $x in (1,2,3), $y in (2,3,4) satisfies $x eq $y", "true", NULL},
    {"every $x in (1,2), $y in (3,4) satisfies $x lt $y", "true", NULL},
    {"1 eq 1.0, 1 eq 1e0, xs:float(1) eq 1", "true\ntrue\ntrue", NULL},
    {"(1, 2) eq 1", NULL, "XPTY0004"},
    {"{\"a\":1}.a + 1, [1][[1]] + 1", "2\n2", NULL},
    {"\"a\" + 1", NULL, "XPTY0004"},
    {"1 div 0", NULL, "FOAR0001"},
    {"1e0 div 0", "\"INF\"", NULL},
    {"xs:integer(\"x\")", NULL, "FORG0001"},
    {"$undefined", NULL, "XPST0008"},
    {"undefined()", NULL, "XPST0017"},
    {"1 +", NULL, "XPST0003"},
    {"let $a := [1,2,3] return $a[1]", "2", NULL},
    {"let $a := [1,2,3] return $a[[1]]", "1", NULL},
    {"[1,[2,3]][1][0]", "2", NULL},
    {"{\"a\":{\"b\":2}}.a.b", "2", NULL},
    {"({\"a\":1},{\"a\":2}).a", "1\n2", NULL},
    {"{\"a\":[{\"b\":1},{\"b\":2}]}.a[].b", "1\n2", NULL},
    {"{\"a\":1} instance of object, [] instance of array, null instance of null, 1 instance of "
     "atomic",
     "true\ntrue\ntrue\ntrue", NULL},
    {"copy $x := {\"a\":1} modify insert json \"b\":2 into $x return $x", "{\"a\":1,\"b\":2}",
     NULL},
    {"copy $x := {\"a\":1} modify insert json {\"a\":2} into $x return $x", NULL, "JNUP0006"},
    {"copy $x := [1,2,3] modify insert json 9 into $x at position 3 return $x", "[1,2,3,9]", NULL},
    {"copy $x := [1,2] modify (delete json $x[0], replace json value of $x[1] with 5) return $x",
     "[5]", NULL},
    {"copy $x := {\"a\":1} modify rename json $x.a as \"z\" return $x", "{\"z\":1}", NULL},
    {"copy $x := {\"a\":[]} modify append json 1 into $x.a return $x", "{\"a\":[1]}", NULL},
    {"variable $i := 0; variable $s := (); while ($i lt 3) { $i := $i + 1; if ($i eq 2) then "
     "continue loop; else (); $s := ($s, $i); } $s",
     "1\n3", NULL},
    {"declare function f($n) { if ($n gt 3) then { exit returning \"big\"; } else (); \"small\" }; "
     "f(1), f(5)",
     "\"small\"\n\"big\"", NULL},
    {"\"\\u0041\\n\"", "\"A\\n\"", NULL},
    {"'it''s'", "\"it's\"", NULL},
    {"\"say \"\"hi\"\"\"", "\"say \\\"hi\\\"\"", NULL},
    {"1 (: c (: n :) :) + 2", "3", NULL},
    {"declare variable $a := 1; declare function local:g() { $a + 1 }; local:g()", "2", NULL},
    {"declare function local:r($n as integer) as integer* { if ($n eq 0) then () else ($n, "
     "local:r($n - 1)) }; local:r(3)",
     "3\n2\n1", NULL},
    {"declare namespace x = \"u\"; declare function x:f() { 1 }; x:f(), Q{u}f()", "1\n1", NULL},
    {"declare default function namespace \"u\"; declare function f() { 1 }; f()", "1", NULL},
    {"\"5\" cast as integer + 1", "6", NULL},
    {"xs:date(\"2020-02-29\") + xs:yearMonthDuration(\"P1Y\")", "\"2021-02-28\"", NULL},
    {"(1 to 10)[. mod 2 eq 0][2]", "4", NULL},
    {"(\"a\",\"b\",\"c\")[last()]", "\"c\"", NULL},
    {"(1,2,3)[position() = (1,3)]", "1\n3", NULL},
    {"count(())", "0", NULL},
    {"count((1,(),2))", "2", NULL},
    {"empty(()), exists((1))", "true\ntrue", NULL},
    {"let $s := (for $i in 1 to 3 return {\"a\":$i}).a return count($s) + count($s)", "6", NULL},
    {"for $x allowing empty in () return [$x]", "[]", NULL},
    {"for $x at $p in (\"a\",\"b\") where $p eq 2 return $x", "\"b\"", NULL},
    {"for $x in 1 to 3 count $c return $c * 10", "10\n20\n30", NULL},
    {"let $x as integer+ := (1,2) return sum($x)", "3", NULL},
    {"[1 to 3], [=(1 to 3)], [(1,2),3]", "[1,2,3]\n[1,2,3]\n[1,2,3]", NULL},
    {"{\"a\":(1,2)}, {\"a\":()}", "{\"a\":[1,2]}\n{\"a\":null}", NULL},
    {"{|{\"a\":1},{\"b\":2}|}, {{\"a\":1},\"b\":2}", "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2}", NULL},
    {"keys({\"a\":1,\"b\":2})", "\"a\"\n\"b\"", NULL},
    {"members([1,2])", "1\n2", NULL},
    {"size([1,2])", "2", NULL},
    {"not(true and false), not true or true", "true\ntrue", NULL},
    {"2 * 3 + 4 idiv 2 - 1", "7", NULL},
    {"-2 * -3", "6", NULL},
    {"2 - - 1", "3", NULL},
    {"10 mod 3 * 2", "2", NULL},
    {"1 to 3 = 2", "true", NULL},
    {"\"a\" || \"b\" = \"ab\"", "true", NULL},
    {"1 + 1 eq 2 and 2 gt 1", "true", NULL},
    {"\"1\" castable as integer, \"x\" castable as integer", "true\nfalse", NULL},
    {"(1,2) instance of integer+, 1.5 instance of integer", "true\nfalse", NULL},
    {"5 treat as integer", "5", NULL},
    {"\"5\" treat as integer", NULL, "XPDY0050"},
    {"for $o in ({\"n\":2},{\"n\":1},{}) order by $o.n return $o", "{}\n{\"n\":1}\n{\"n\":2}",
     NULL},
    {"for $o in ({\"n\":2},{\"n\":null},{}) order by $o.n empty greatest return $o",
     "{\"n\":null}\n{\"n\":2}\n{}", NULL},
    {"for $a in (1,2) for $b in (2,3) where $a eq $b return [$a,$b]", "[2,2]", NULL},
    {"jn:null() eq null, null lt 1, \"a\" gt null", "true\ntrue\ntrue", NULL},
    {"()[1], ()[[1]], ().a, ()[]", "", NULL},
    {"declare variable $x := 5; $x := $x + 1; $x", "6", NULL},
    {"declare function local:f($x as item()) as item() { $x }; local:f(())", NULL, "XPTY0004"},
    {"1 = (), () = ()", "false\nfalse", NULL},
    {"1 eq ()", "", NULL},
    {"let $o := {\"a b\":1} return $o.\"a b\"", "1", NULL},
    {"let $k := \"a\" return {\"a\":1}.$k, {\"a\":1}.(\"a\")", "1\n1", NULL},
    {"for $x in {\"a\":1} return $x.a", "1", NULL},
    {"[{\"a\":1},{\"b\":2}][].a", "1", NULL},
    {"xs:dateTime(\"2020-01-01T00:00:00Z\") lt xs:dateTime(\"2020-01-01T00:00:00-01:00\")", "true",
     NULL},
    {"\"abc\"[1]", "\"abc\"", NULL},
    {"(1,\"a\",null,true)[$$ instance of string]", "\"a\"", NULL},
    {"``[a `{1+1, \"x\"}` b]``", "\"a 2 x b\"", NULL},
    {"(# ex:p #) { 1 }", "1", NULL},
    {"() is ()", "", NULL},
    {"1 is 2", NULL, "XPTY0004"},
    {"declare option jn:jsoniq-boolean-and-null-literals \"no\"; declare context item := "
     "{\"true\":7}; true",
     "7", NULL},
    {"declare context item := {\"user\":[1,2]}; user[0], count(user[])", "1\n2", NULL},
    {"jsoniq version \"1.0\"; [10,20][1], (for $x in [1,2] return $x), [10,20](1)",
     "[10,20]\n[1,2]\n10", NULL},
    {"xquery version \"3.1\"; [10,20][[0]], \"a&amp;\\n\"", "10\n\"a&\\\\n\"", NULL},
    {"let $a := 5 let $b := 6 return { $a, $b }", "5\n6", NULL},
    {"xs:QName(\"err:XPTY0004\")", "\"err:XPTY0004\"", NULL},
    {"variable $a as integer := 0; $a := \"x\"; $a", NULL, "XPTY0004"},
    {"count(for $y in 1 to 10 group by $y := $y, $y := $y mod 2 return $y)", "2", NULL},
    {"{ variable $x := 1; { $x := $x + 1; } $x }", "2", NULL},
    {"if (1) then { 1; } else { 2; } 3", "3", NULL},
    {"1, /* c */ 2, // comment\n 3", "1\n2\n3", NULL},
    {"$x := 4; $x * 2", "8", NULL},
    {"declare variable $a := $b + 1; declare variable $b := 1; $a", "2", NULL},
    {"let $x := 1 let $f := function($y) { let $z := 2 return function() { $x + $y + $z } } return "
     "$f(10)()",
     "13", NULL},
    {"for $f in (function($x) { $x + 1 }, function($x) { $x * 2 }) return $f(5)", "6\n10", NULL},
};

/* Appends the items of a query as lines without the last newline. */
static enum sirix_status run(const char *text, bool naive, struct sirix_buf *out,
                             struct sirix_query_error *err)
{
    const struct sirix_query_options options = {
        .text = {text, strlen(text)}, .updating = true, .naive = naive};
    struct sirix_query *query = NULL;
    bool done = false;
    enum sirix_status status = sirix_query_prepare(&options, &query, err);

    while (status == SIRIX_OK && !done) {
        const struct sirix_query_item *items = NULL;
        size_t count = 0;

        status = sirix_query_next(query, 0, 0, &items, &count, &done, err);
        for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
            if (out->len != 0) {
                assert_int_equal(sirix_buf_append_u8(out, '\n', NULL), SIRIX_OK);
            }
            assert_int_equal(sirix_buf_append_bytes(out, items[i].json, NULL), SIRIX_OK);
        }
    }
    sirix_query_close(query);
    return status;
}

static void check(const struct language_case *wanted, bool naive)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_buf out;
    const char *text = NULL;

    sirix_buf_init(&out, SIZE_MAX);

    enum sirix_status status = run(wanted->query, naive, &out, &err);

    if (status != SIRIX_OK) {
        if (wanted->code == NULL || strcmp(err.code, wanted->code) != 0) {
            fail_msg("%s: %s %s", wanted->query, err.code, err.base.text);
        }
        assert_true(err.line != 0 && err.column != 0);
    } else {
        assert_int_equal(sirix_buf_c_str(&out, &text, NULL), SIRIX_OK);
        if (wanted->items == NULL || strcmp(text, wanted->items) != 0) {
            fail_msg("%s gives\n%s", wanted->query, text);
        }
    }
    sirix_buf_deinit(&out);
}

static void every_construct_means_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check(&cases[i], false);
    }
}

static void rewrites_and_shortcuts_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check(&cases[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_means_what_it_says),
        cmocka_unit_test(rewrites_and_shortcuts_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
