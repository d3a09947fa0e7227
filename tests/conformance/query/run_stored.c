/*
 * A value of the store and the same value made by a query are the same value: every function of the
 * library, in each of its parameters, and every operator and clause gives the same for both, be it a
 * result or an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "query/function/function.h"

/* One JSON text each: fields of the stored document, and what jn:parse() makes of them. */
static const char *const values[] = {
    "{}",
    "{\"a\":1,\"b\":[2,{\"c\":null}]}",
    "[]",
    "[1]",
    "[\"x\"]",
    "[3,1,2]",
    "[{\"a\":1},{\"a\":2},{\"b\":3}]",
    "[[1,2],[3]]",
    "\"text\"",
    "\"\"",
    "\"2026-11-30\"",
    "\"Z\\u00e9 \\ud83d\\ude00\"",
    "0",
    "7",
    "-3",
    "12345678901234567890123",
    "1.10",
    "2.5",
    "1e3",
    "1.5e300",
    "true",
    "false",
    "null",
};

enum { VALUE_COUNT = sizeof(values) / sizeof(values[0]), QUERY_BYTES_MAX = 32768 };

/* What stands in the other parameters of a function. */
static const char *const others[] = {
    "1",
    "\"a\"",
    "()",
    "[ 1, 2 ]",
    "{ \"a\" : 1 }",
    "function($x) { $x }",
    "function($x, $y) { ($x, $y) }",
};

/* V is the value. */
static const char *const expressions[] = {
    "V",
    "V + 1",
    "1 - V",
    "V * 2",
    "V div 2",
    "V idiv 2",
    "V mod 2",
    "-V",
    "+V",
    "V || \"s\"",
    "V to 3",
    "1 to V",
    "V eq 1",
    "1 ne V",
    "V lt \"m\"",
    "V le null",
    "V = (1, 2, \"text\")",
    "(1, 3) != V",
    "V < 2",
    "null >= V",
    "V eq V",
    "V = V",
    "V and true",
    "false or V",
    "not V",
    "not(V)",
    "boolean(V)",
    "if (V) then 1 else 2",
    "V.a",
    "V.b.c",
    "V.\"a\"",
    "V.(\"a\", \"b\")",
    "V[]",
    "V[].a",
    "V[][].c",
    "V[0]",
    "V[-1]",
    "V[1]",
    "V[[1]]",
    "V[[\"a\"]]",
    "V[1:]",
    "V[::-1]",
    "V{a, z}",
    "V=>>a",
    "V//c",
    "V?a",
    "V?1",
    "V?*",
    "V(\"a\")",
    "V(0)",
    "V()",
    "V[$$ eq 1]",
    "V[? $$]",
    "V[][$$ gt 1]",
    "V[][a]",
    "V[][$$.a ge 2]",
    "V[][position() eq 2]",
    "V[][last()]",
    "(V, V)[2]",
    "V ! string-join(($$, 1))",
    "V => count()",
    "let $v := V return $v union $v",
    "let $v := V return $v intersect $v",
    "let $v := V return $v except $v",
    "V instance of object",
    "V instance of array(xs:integer)",
    "V instance of map(xs:string, item())",
    "V instance of integer",
    "V instance of decimal",
    "V instance of double",
    "V instance of string?",
    "V instance of function(*)",
    "V treat as integer",
    "V treat as json-item()",
    "V cast as string",
    "V cast as integer?",
    "V cast as double",
    "V cast as date",
    "V cast as boolean",
    "V castable as integer",
    "V castable as boolean?",
    "V castable as date",
    "switch (V) case 1 return \"one\" case \"text\" return \"text\" default return \"other\"",
    "typeswitch (V) case integer return 1 case decimal return 2 default return 3",
    "typeswitch (V) case double return 3 case boolean return 4 default return 6",
    "typeswitch (V) case string return 5 default return 6",
    "typeswitch (V) case array return 4 case object return 5 case null return 6 default return 7",
    "some $x in V satisfies $x",
    "every $x in V[] satisfies $x ge 1",
    "for $x in V return [ $x ]",
    "for $x at $i in V[] return { \"i\" : $i, \"x\" : $x }",
    "for $x in V[] where $x.a eq 1 return $x",
    "for $x in V[] where $x gt 1 return $x",
    "for $x in V[] order by $x descending return $x",
    "for $x in V[] order by $x.a return $x",
    "for $x in V order by $x return $x",
    "for $x in V[] group by $k := $x return [ $k, $x ]",
    "for $x in V[] group by $k := $x.a return { \"k\" : [ $k ], \"n\" : count($x) }",
    "for $x in (1, 2) group by $k := V return count($x)",
    "for $x in V[], $y in V[] where $x.a eq $y.a return $x.a",
    "for $x in V[] count $c return $c",
    "for tumbling window $w in V[] start when true() return [ $w ]",
    "let $x as integer := V return $x",
    "let $x as object := V return $x",
    "{ \"k\" : V }",
    "{ V : 1 }",
    "{ V, \"z\" : 1 }",
    "{| V |}",
    "[ V, V ]",
    "map { \"k\" : V }?k",
    "array { V }",
    "``[`{ V }`]``",
    "try { error(QName(\"\", \"x\"), \"d\", V) } catch * { $err:value }",
    "copy $c := V modify insert json \"n\" : 1 into $c return $c",
    "copy $c := V modify append json V into $c return $c",
    "copy $c := V modify delete json $c.a return $c",
    "copy $c := V modify replace json value of $c[0] with V return $c",
    "copy $c := V modify rename json $c.a as \"r\" return $c",
    "function($x as integer) { $x }(V)",
    "declare function local:f($x as string?) { $x }; local:f(V)",
    "declare function local:f() as array { V }; local:f()",
    "declare variable $g := V; $g",
    "deep-equal(V, V)",
    "deep-equal([ V ], [ V ])",
    "count(V[])",
    "sum(V[])",
    "min(V[])",
    "avg(V[].a)",
    "distinct-values(V[])",
    "subsequence(V[], 2)",
    "exists(V[][$$ eq 2])",
};

struct stage {
    struct engine engine;
    struct sirix_arena arena; /* Of one pair of queries. */
    struct sirix_arena names;
    unsigned compared;
    unsigned failures;
    unsigned broken;
};

/* --- Queries ------------------------------------------------------------------------------------ */

static void put(struct sirix_buf *to, const char *text)
{
    assert_int_equal(sirix_buf_append_str(to, text, NULL), SIRIX_OK);
}

/* The expression of value number i: from the store, or made. */
static void put_value(struct sirix_buf *to, size_t i, bool stored)
{
    assert_int_equal(stored ? sirix_buf_printf(to, NULL, "jn:doc('db','res').v%zu", i)
                            : sirix_buf_printf(to, NULL, "jn:parse('%s')", values[i]),
                     SIRIX_OK);
}

/* An expression with value number i for each V that is a word. */
static void put_expression(struct sirix_buf *to, const char *expression, size_t i, bool stored)
{
    for (const char *at = expression; *at != '\0'; at++) {
        if (*at == 'V') {
            put_value(to, i, stored);
        } else {
            assert_int_equal(sirix_buf_append_u8(to, (uint8_t)*at, NULL), SIRIX_OK);
        }
    }
}

/* The items as lines, or the error; in the arena. */
static struct sirix_bytes run(struct stage *stage, const struct sirix_buf *query)
{
    const struct engine_options options = {.jsoniq = false};
    struct sirix_query_error err = {.line = 0};
    struct result_item *items = NULL;
    struct sirix_bytes kept = {"", 0};
    struct sirix_buf text;
    size_t count = 0;
    enum sirix_status status =
        engine_run(&stage->engine, sirix_buf_view(query), &options, &items, &count, &err);

    sirix_buf_init(&text, SIZE_MAX);
    if (status != SIRIX_OK) {
        put(&text, err.code[0] == '\0' ? err.base.text : err.code);
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sirix_buf_append_bytes(&text, items[i].json, NULL), SIRIX_OK);
        put(&text, "\n");
    }
    assert_int_equal(sirix_arena_copy(&stage->arena, sirix_buf_view(&text), &kept, NULL), SIRIX_OK);
    sirix_buf_deinit(&text);
    return kept;
}

/*
 * queries: the one of the store, and the one that makes its values. wants_values: an error of the whole
 * query is a mistake of the test.
 */
static void compare_both(struct stage *stage, bool wants_values, struct sirix_buf queries[2])
{
    struct sirix_bytes results[2];

    sirix_arena_reset(&stage->arena);
    for (size_t i = 0; i < 2; i++) {
        results[i] = run(stage, &queries[i]);
        assert_int_equal(sirix_buf_append_u8(&queries[i], '\0', NULL), SIRIX_OK);
    }
    stage->compared++;
    /* An array that holds a function has no text. */
    stage->broken += wants_values && !sirix_bytes_equal(results[0], bytes_of("SENR0001")) &&
                     *(const char *)results[0].data != '[';
    if (!sirix_bytes_equal(results[0], results[1])) {
        stage->failures++;
        print_message("%.600s\n  gives\n%.*s\n%.600s\n  gives\n%.*s\n",
                      (const char *)queries[0].data, (int)results[0].len,
                      (const char *)results[0].data, (const char *)queries[1].data,
                      (int)results[1].len, (const char *)results[1].data);
    }
    for (size_t i = 0; i < 2; i++) {
        sirix_buf_clear(&queries[i]);
    }
}

/* --- Functions ---------------------------------------------------------------------------------- */

static bool is_repeatable(const struct sirix_function *function)
{
    static const char *const passing[] = {"current-dateTime", "current-date", "current-time", "now",
                                          "random-number-generator"};

    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        if (strcmp(function->name, passing[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* name(other, ..., $v, ...): $v is argument `place` of `arity`. */
static void put_call(struct sirix_buf *to, const struct sirix_function *function, size_t arity,
                     size_t place, const char *other, bool stored)
{
    put(to, "for $v at $i in (");
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        put(to, i == 0 ? "[" : ", [");
        put_value(to, i, stored);
        put(to, "]");
    }
    put(to, ") return [ $i, try { ");
    assert_int_equal(sirix_buf_printf(to, NULL, "%s:%s(", sirix_function_ns_prefix(function->ns),
                                      function->name),
                     SIRIX_OK);
    for (size_t i = 0; i < arity; i++) {
        put(to, i == 0 ? "" : ", ");
        put(to, i == place ? "$v[[1]]" : other);
    }
    put(to, ") ! (if ($$ instance of function(*) and not($$ instance of json-item())) "
            "then function-arity($$) else $$) } catch * { local-name-from-QName($err:code) } ]");
}

static void try_function(struct stage *stage, const struct sirix_function *function,
                         struct sirix_buf queries[2])
{
    size_t most = function->max_arity < 3 ? function->max_arity : 3;

    if ((function->flags & SIRIX_FUNCTION_VARIADIC) != 0) {
        most = 3;
    }
    for (size_t arity = function->min_arity == 0 ? 1 : function->min_arity; arity <= most;
         arity++) {
        for (size_t place = 0; place < arity; place++) {
            size_t count = arity == 1 ? 1 : sizeof(others) / sizeof(others[0]);

            for (size_t other = 0; other < count; other++) {
                put_call(&queries[0], function, arity, place, others[other], true);
                put_call(&queries[1], function, arity, place, others[other], false);
                compare_both(stage, true, queries);
            }
        }
    }
}

/* --- Tests -------------------------------------------------------------------------------------- */

static struct stage *open_stage(struct sirix_buf queries[2])
{
    struct stage *stage = calloc(1, sizeof(*stage));
    struct sirix_buf document;
    struct sirix_bytes kept = {NULL, 0};

    assert_non_null(stage);
    sirix_arena_init(&stage->arena, SIZE_MAX);
    sirix_arena_init(&stage->names, SIZE_MAX);
    for (size_t i = 0; i < 2; i++) {
        sirix_buf_init(&queries[i], SIZE_MAX);
    }
    sirix_buf_init(&document, SIZE_MAX);
    for (size_t i = 0; i < VALUE_COUNT; i++) {
        assert_int_equal(
            sirix_buf_printf(&document, NULL, "%s\"v%zu\":%s", i == 0 ? "{" : ",", i, values[i]),
            SIRIX_OK);
    }
    put(&document, "}");
    assert_int_equal(sirix_arena_copy(&stage->names, sirix_buf_view(&document), &kept, NULL),
                     SIRIX_OK);
    sirix_buf_deinit(&document);
    engine_open(&stage->engine, &stage->arena);
    engine_store(&stage->engine, bytes_of("db"), bytes_of("res"), kept);
    return stage;
}

static void close_stage(struct stage *stage, struct sirix_buf queries[2])
{
    unsigned compared = stage->compared;
    unsigned failures = stage->failures;
    unsigned broken = stage->broken;

    engine_close(&stage->engine);
    for (size_t i = 0; i < 2; i++) {
        sirix_buf_deinit(&queries[i]);
    }
    sirix_arena_deinit(&stage->arena);
    sirix_arena_deinit(&stage->names);
    free(stage);
    print_message("%u pairs of queries\n", compared);
    assert_true(compared != 0);
    assert_int_equal(failures, 0);
    assert_int_equal(broken, 0);
}

static void functions_do_not_tell_stored_values_from_made_ones(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    size_t count = sirix_function_library(tables);
    struct sirix_buf queries[2];
    struct stage *stage = open_stage(queries);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < tables[i].count; j++) {
            if (is_repeatable(&tables[i].functions[j])) {
                try_function(stage, &tables[i].functions[j], queries);
            }
        }
    }
    close_stage(stage, queries);
}

static void expressions_do_not_tell_stored_values_from_made_ones(void **state)
{
    struct sirix_buf queries[2];
    struct stage *stage = open_stage(queries);

    (void)state;
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        for (size_t value = 0; value < VALUE_COUNT; value++) {
            put_expression(&queries[0], expressions[i], value, true);
            put_expression(&queries[1], expressions[i], value, false);
            compare_both(stage, false, queries);
        }
    }
    close_stage(stage, queries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_do_not_tell_stored_values_from_made_ones),
        cmocka_unit_test(expressions_do_not_tell_stored_values_from_made_ones),
    };

    return cmocka_run_group_tests_name("query_stored", tests, NULL, NULL);
}
