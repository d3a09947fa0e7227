/*
 * The static pass: what is wrong with a query before it runs, and how plans look.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "query/plan/build.h"
#include "query/plan/explain.h"
#include "query/plan/rewrite.h"
#include "query/syntax/parser.h"

static struct sirix_function_set *functions;

static int make_functions(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    size_t count = sirix_function_library(tables);

    (void)state;
    return sirix_function_set_new(tables, count, &functions, NULL) == SIRIX_OK ? 0 : -1;
}

static int free_functions(void **state)
{
    (void)state;
    sirix_function_set_free(functions);
    return 0;
}

/* A query on its way: everything lies in the arenas. */
struct built {
    struct sirix_arena arena;
    struct sirix_arena scratch;
    struct sirix_work work;
    struct sirix_plan_query *query;
    struct sirix_query_error err;
    enum sirix_status status;
};

static void build(struct built *built, const char *text, bool rewritten)
{
    struct sirix_ast_module *module = NULL;

    *built = (struct built){.status = SIRIX_OK};
    sirix_arena_init(&built->arena, SIZE_MAX);
    sirix_arena_init(&built->scratch, SIZE_MAX);
    assert_int_equal(sirix_work_init(&built->work, &built->arena, &built->scratch, &built->err),
                     SIRIX_OK);
    built->status = sirix_syntax_parse(&built->arena, (struct sirix_bytes){text, strlen(text)},
                                       SIRIX_SYNTAX_SIRIX, &module, &built->err);
    if (built->status == SIRIX_OK) {
        built->status =
            sirix_plan_build(&built->work, functions, module, &built->query, &built->err);
    }
    if (built->status == SIRIX_OK && rewritten) {
        built->status = sirix_plan_rewrite(&built->work, built->query, &built->err);
    }
}

static void drop(struct built *built)
{
    sirix_arena_deinit(&built->arena);
    sirix_arena_deinit(&built->scratch);
}

struct mistake {
    const char *query;
    const char *code;
    uint32_t line;
    uint32_t column;
    const char *suggestion; /* NULL: none is asked for. */
};

static const struct mistake mistakes[] = {
    {"$x", "XPST0008", 1, 1, ""},
    {"let $total := 1\n return $totl", "XPST0008", 2, 9, "$total"},
    {"for $x in (1, $x) return 1", "XPST0008", 1, 15, NULL},
    {"(let $x := 1 return $x), $x", "XPST0008", 1, 26, NULL},
    {"declare function local:f($a) { $b }; 1", "XPST0008", 1, 32, NULL},
    {"abs()", "XPST0017", 1, 1, ""},
    {"fn:abs(1, 2)", "XPST0017", 1, 1, ""},
    {"uper-case(\"a\")", "XPST0017", 1, 1, NULL},
    {"declare function local:total($a) { 1 }; local:totle(1)", "XPST0017", 1, 41, "local:total"},
    {"declare function local:f($a) { 1 }; local:f(1, 2)", "XPST0017", 1, 37, NULL},
    {"nope:f()", "XPST0081", 1, 1, NULL},
    {"$nope:x", "XPST0081", 1, 1, NULL},
    {"abs#7", "XPST0017", 1, 1, NULL},
    {"xs:nope(1)", "XPST0017", 1, 1, NULL},
    {"1 instance of nope", "XPST0051", 1, 15, NULL},
    {"1 cast as nope", "XQST0052", 1, 11, NULL},
    {"1 cast as anyAtomicType", "XPST0080", 1, 11, NULL},
    {"1 cast as object", "XPST0051", 1, 11, NULL},
    {"declare function local:f($a, $a) { 1 }; 1", "XQST0039", 1, 30, NULL},
    {"function($a, $a) { 1 }", "XQST0039", 1, 14, NULL},
    {"declare function local:f() { 1 }; declare function local:f() { 2 }; 1", "XQST0034", 1, 52,
     NULL},
    {"declare function fn:f() { 1 }; 1", "XQST0045", 1, 18, NULL},
    {"declare variable $a := 1; declare variable $a := 2; 1", "XQST0049", 1, 44, NULL},
    {"declare variable $a := $b; declare variable $b := $a; $a", "XQST0054", 1, 18, NULL},
    {"declare variable $a := $a + 1; $a", "XQST0054", 1, 18, NULL},
    {"declare context item := $$; 1", "XQST0107", 1, 1, NULL},
    {"declare context item := 1; declare context item := 2; 1", "XQST0099", 1, 28, NULL},
    {"declare namespace a = \"x\"; declare namespace a = \"y\"; 1", "XQST0033", 1, 28, NULL},
    {"declare namespace xml = \"x\"; 1", "XQST0070", 1, 1, NULL},
    {"import module namespace a = \"nope\"; 1", "XQST0059", 1, 1, NULL},
    {"declare default order empty least; declare default order empty least; 1", "XQST0069", 1, 36,
     NULL},
    {"declare boundary-space strip; declare boundary-space strip; 1", "XQST0068", 1, 31, NULL},
    {"import module \"\"; 1", "XQST0088", 1, 1, NULL},
    {"declare namespace a = \"http://www.w3.org/2000/xmlns/\"; 1", "XQST0070", 1, 1, NULL},
    {"declare function xml:f() { 1 }; 1", "XQST0045", 1, 18, NULL},
    {"declare default collation \"nope\"; 1", "XQST0038", 1, 1, NULL},
    {"for $x at $x in 1 return 1", "XQST0089", 1, 5, NULL},
    {"let $y := 1 return for $x in 1 group by $y return 1", "XQST0094", 1, 41, NULL},
    {"for $x in 1 order by $x collation \"nope\" return 1", "XQST0076", 1, 22, NULL},
    {"for tumbling window $w in 1 start $s at $s when true return 1", "XQST0103", 1, 21, NULL},
    {"1 + (delete json $$.a)", "XUST0001", 1, 6, NULL},
    {"(1, delete json $$.a)", "XUST0001", 1, 2, NULL},
    {"if (delete json $$.a) then 1 else 2", "XUST0001", 1, 5, NULL},
    {"if (1) then delete json $$.a else 2", "XUST0001", 1, 35, NULL},
    {"for $x in delete json $$.a return 1", "XUST0001", 1, 11, NULL},
    {"let $x := delete json $$.a return 1", "XUST0001", 1, 11, NULL},
    {"replace json value of $$.a with (delete json $$.b)", "XUST0001", 1, 34, NULL},
    {"abs(delete json $$.a)", "XUST0001", 1, 5, NULL},
    {"copy $a := 1 modify 2 return $a", "XUST0002", 1, 21, NULL},
    {"for $x in 1 return $x := 2", "XSST0007", 1, 23, NULL},
    {"variable $x := 1; function() { $x := 2 }", "XSST0007", 1, 35, NULL},
};

static void a_mistake_is_found_before_the_query_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        const struct mistake *mistake = &mistakes[i];
        struct built built;

        build(&built, mistake->query, false);
        if (built.status != SIRIX_INVALID || strcmp(built.err.code, mistake->code) != 0 ||
            built.err.line != mistake->line || built.err.column != mistake->column ||
            (mistake->suggestion != NULL &&
             strcmp(built.err.suggestion, mistake->suggestion) != 0)) {
            fail_msg("%s: %s %u:%u %s (%s)", mistake->query, built.err.code, built.err.line,
                     built.err.column, built.err.base.text, built.err.suggestion);
        }
        drop(&built);
    }
}

static void what_is_right_is_built_and_may_update_where_it_does(void **state)
{
    static const struct {
        const char *query;
        bool updating;
    } cases[] = {
        {"1", false},
        {"delete json $$.a", true},
        {"(delete json $$.a, ())", true},
        {"for $x in $$[] return delete json $x.a", true},
        {"if (1) then delete json $$.a else ()", true},
        {"copy $a := $$ modify delete json $a.b return $a", false},
        {"copy $a := 1 modify () return $a", false},
        {"try { delete json $$.a } catch * { 1 }", true},
        {"declare updating function local:f($a) { delete json $a.b }; local:f($$)", true},
        {"declare updating function local:f($a) { delete json $a.b }; local:f($$)", true},
        {"switch (1) case 1 return delete json $$.a default return error()", true},
        {"variable $o := {}; insert json \"a\" : 1 into $o; $o", true},
        {"declare variable $a := 1; declare function f() { g() }; declare function g() { $a }; f()",
         false},
        {"let $x := 1 let $f := function($y) { let $z := 2 return function() { $x + $y + $z } } "
         "return $f(1)()",
         false},
        {"$x := 1; $x", false},
        {"declare option jn:jsoniq-boolean-and-null-literals \"no\"; true", false},
        {"for $a in 1 for $a in 2 group by $a return $a", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;

        build(&built, cases[i].query, true);
        if (built.status != SIRIX_OK) {
            fail_msg("%s: %s", cases[i].query, built.err.base.text);
        }
        if (built.query->updating != cases[i].updating) {
            fail_msg("%s: updating is %d", cases[i].query, built.query->updating);
        }
        drop(&built);
    }
}

static void an_updating_query_says_where_it_first_updates(void **state)
{
    static const struct {
        const char *query;
        uint32_t line;
        uint32_t column;
    } cases[] = {
        {"delete json $$.a", 1, 1},
        {"for $x in $$[]\n return (delete json $x.a, delete json $x.b)", 2, 10},
        {"declare updating function local:f($x) { delete json $x.a };\nif (1) then () else "
         "local:f($$)",
         2, 21},
        {"variable $a := {};\ninsert json \"b\" : 1 into $a;\n$a", 2, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;

        build(&built, cases[i].query, false);
        assert_int_equal(built.status, SIRIX_OK);
        assert_true(built.query->updating);
        assert_int_equal(built.query->updating_line, cases[i].line);
        assert_int_equal(built.query->updating_column, cases[i].column);
        drop(&built);
    }
}

struct explained {
    const char *query;
    const char *plan;
};

static const struct explained plans[] = {
    {"1 + 2 * 3", "query\n  constant 7  [1:3]\n"},
    {"1 + \"a\"",
     "query\n  arithmetic +  [1:3]\n    constant 1  [1:1]\n    constant \"a\"  [1:5]\n"},
    {"if (1 eq 2) then $$ else if (true) then 3 else 4", "query\n  constant 3  [1:41]\n"},
    {"(1, (2, ()), 3)", "query\n  sequence  [1:2]\n    constant 1  [1:2]\n    constant 2  [1:6]\n"
                        "    constant 3  [1:14]\n"},
    {"$$.a and false and $$.b",
     "query\n  and  [1:6]\n    field  [1:3]\n      context  [1:1]\n      constant \"a\"  [1:4]\n"
     "    constant false  [1:10]\n"},
    {"upper-case(\"abc\") || \"d\"",
     "query\n  concat  [1:19]\n    constant \"ABC\"  [1:1]\n    constant \"d\"  [1:22]\n"},
    {"let $x := 1 return function($y) { let $z := $y return $x + $z }",
     "query\n  flwor  [1:1]\n    let $0  [1:5]\n      constant 1  [1:11]\n"
     "    closure  [1:20]\n      flwor  [1:35]\n        let $2  [1:39]\n"
     "          variable $0  [1:45]\n        arithmetic +  [1:58]\n"
     "          variable $1  [1:55]\n          variable $2  [1:60]\n"},
    {"for $x at $i in $$[] where $x.a gt 1 group by $k := $x.b order by $k descending count $c "
     "return count($x)",
     "query\n  flwor  [1:1]\n    for $0 at $1 (members of one array)  [1:5]\n"
     "      unbox  [1:19]\n        context  [1:17]\n    where  [1:22]\n"
     "      compare gt  [1:33]\n        field  [1:30]\n          variable $0  [1:28]\n"
     "          constant \"a\"  [1:31]\n        constant 1  [1:36]\n    group  [1:38]\n"
     "      group_key $2  [1:47]\n        field  [1:55]\n          variable $0  [1:53]\n"
     "          constant \"b\"  [1:56]\n    order (sort)  [1:58]\n"
     "      order_key (descending)  [1:67]\n        variable $2  [1:67]\n"
     "    count $3  [1:81]\n    call fn:count  [1:97]\n      variable $0  [1:103]\n"},
    {"for $o in $$.o[], $c in $$.c[] where $o.c eq $c.id and $o.n gt 1 return [$o]",
     "query\n"
     "  flwor  [1:1]\n"
     "    for $0 (members of one array)  [1:5]\n"
     "      unbox  [1:15]\n"
     "        field  [1:13]\n"
     "          context  [1:11]\n"
     "          constant \"o\"  [1:14]\n"
     "    where (early)  [1:32]\n"
     "      compare gt  [1:61]\n"
     "        field  [1:58]\n"
     "          variable $0  [1:56]\n"
     "          constant \"n\"  [1:59]\n"
     "        constant 1  [1:64]\n"
     "    for $1 (members of one array) (hash join)  [1:19]\n"
     "      unbox  [1:29]\n"
     "        field  [1:27]\n"
     "          context  [1:25]\n"
     "          constant \"c\"  [1:28]\n"
     "      table by\n"
     "        field  [1:48]\n"
     "          variable $1  [1:46]\n"
     "          constant \"id\"  [1:49]\n"
     "      looked up by\n"
     "        field  [1:40]\n"
     "          variable $0  [1:38]\n"
     "          constant \"c\"  [1:41]\n"
     "    where  [1:32]\n"
     "      compare eq  [1:43]\n"
     "        field  [1:40]\n"
     "          variable $0  [1:38]\n"
     "          constant \"c\"  [1:41]\n"
     "        field  [1:48]\n"
     "          variable $1  [1:46]\n"
     "          constant \"id\"  [1:49]\n"
     "    where  [1:32]\n"
     "      compare gt  [1:61]\n"
     "        field  [1:58]\n"
     "          variable $0  [1:56]\n"
     "          constant \"n\"  [1:59]\n"
     "        constant 1  [1:64]\n"
     "    array  [1:73]\n"
     "      variable $0  [1:74]\n"},
    {"for $x in $$[] let $y := count($x.t[]) where $x.a gt 1 order by $y return [$x]",
     "query\n"
     "  flwor  [1:1]\n"
     "    for $0 (members of one array)  [1:5]\n"
     "      unbox  [1:13]\n"
     "        context  [1:11]\n"
     "    where  [1:40]\n"
     "      compare gt  [1:51]\n"
     "        field  [1:48]\n"
     "          variable $0  [1:46]\n"
     "          constant \"a\"  [1:49]\n"
     "        constant 1  [1:54]\n"
     "    let $1  [1:20]\n"
     "      call fn:count  [1:26]\n"
     "        unbox  [1:36]\n"
     "          field  [1:34]\n"
     "            variable $0  [1:32]\n"
     "            constant \"t\"  [1:35]\n"
     "    order (heap where few are asked for, else sort)  [1:56]\n"
     "      order_key  [1:65]\n"
     "        variable $1  [1:65]\n"
     "    array  [1:75]\n"
     "      variable $0  [1:76]\n"},
    {"subsequence(for $x in $$[] order by $x.a return $x, 3, 10)",
     "query\n"
     "  call fn:subsequence  [1:1]\n"
     "    flwor  [1:13]\n"
     "      for $0 (members of one array)  [1:17]\n"
     "        unbox  [1:25]\n"
     "          context  [1:23]\n"
     "      order (heap of the first 12)  [1:28]\n"
     "        order_key  [1:37]\n"
     "          field  [1:39]\n"
     "            variable $0  [1:37]\n"
     "            constant \"a\"  [1:40]\n"
     "      variable $0  [1:49]\n"
     "    constant 3  [1:53]\n"
     "    constant 10  [1:56]\n"},
};

static void explain_shows_the_plan_line_by_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        struct built built;
        struct sirix_buf text;
        const char *shown = NULL;

        build(&built, plans[i].query, true);
        if (built.status != SIRIX_OK) {
            fail_msg("%s: %s", plans[i].query, built.err.base.text);
        }
        sirix_buf_init(&text, SIZE_MAX);
        assert_int_equal(sirix_plan_explain(built.query, &text, &built.err), SIRIX_OK);
        assert_int_equal(sirix_buf_c_str(&text, &shown, NULL), SIRIX_OK);
        if (strcmp(shown, plans[i].plan) != 0) {
            fail_msg("%s\n%s\nshould be\n%s", plans[i].query, shown, plans[i].plan);
        }
        sirix_buf_deinit(&text);
        drop(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mistake_is_found_before_the_query_runs),
        cmocka_unit_test(what_is_right_is_built_and_may_update_where_it_does),
        cmocka_unit_test(an_updating_query_says_where_it_first_updates),
        cmocka_unit_test(explain_shows_the_plan_line_by_line),
    };

    return cmocka_run_group_tests(tests, make_functions, free_functions);
}
