/*
 * The static pass, the rewrites and explain without memory: each allocation of the whole way fails once. The
 * failure comes back as SIRIX_NO_MEMORY, and the leak sanitizer sees to the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "query/plan/build.h"
#include "query/plan/explain.h"
#include "query/plan/rewrite.h"
#include "query/syntax/parser.h"

static int allocations_left = -1; /* 0: the next one fails; -1: none does. */

static bool countdown_hits(void)
{
    if (allocations_left < 0) {
        return false;
    }
    allocations_left -= 1;
    return allocations_left < 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return countdown_hits() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return countdown_hits() ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return countdown_hits() ? NULL : __real_realloc(old, size);
}

static const char query_text[] =
    "declare namespace a = \"u\"; declare variable $v as item()* := (1, (2.5, ()), \"x\");"
    "declare context item as object := { \"a\" : 1 };"
    "declare function local:f($a as integer, $b) as item()* { $a + count($b) };"
    "for $x as item() at $i in $v let $y := { \"a\" : $x, b : [1, 2] } where $y.a[0] eq 1 "
    "group by $k := $x, $k := $k mod 2 order by $k descending count $c "
    "return try { typeswitch ($k) case integer | string return local:f($k, ?)(1) "
    "default return if (1 eq 2) then $v[[1]] else {| $y |} } "
    "catch err:X | * { $err:code, { $y, $y }, switch (1) case 1 return $v[1:2:3] "
    "default return function($q as array(integer)) { $q ! ($x + $i) } }, "
    "(for tumbling window $w in 1 to 3 start $s at $p when true return upper-case(\"a\" || $w)), "
    "(copy $c := {} modify insert json \"n\" : -1 + 2 into $c return $c), () is ()";

/* The whole way, in arenas of its own. */
static enum sirix_status run_once(void)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    struct sirix_function_set *functions = NULL;
    struct sirix_arena arena;
    struct sirix_arena scratch;
    struct sirix_work work;
    struct sirix_query_error err = {.line = 0};
    struct sirix_ast_module *module = NULL;
    struct sirix_plan_query *query = NULL;
    struct sirix_buf shown;

    sirix_arena_init(&arena, SIZE_MAX);
    sirix_arena_init(&scratch, SIZE_MAX);
    sirix_buf_init(&shown, SIZE_MAX);

    enum sirix_status status =
        sirix_function_set_new(tables, sirix_function_library(tables), &functions, &err.base);

    if (status == SIRIX_OK) {
        status = sirix_work_init(&work, &arena, &scratch, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_syntax_parse(&arena, (struct sirix_bytes){query_text, strlen(query_text)},
                                    SIRIX_SYNTAX_SIRIX, &module, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_plan_build(&work, functions, module, &query, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_plan_rewrite(&work, query, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_plan_explain(query, &shown, &err);
    }
    if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
        allocations_left = -1;
        fail_msg("%s: %s", err.code, err.base.text);
    }
    sirix_buf_deinit(&shown);
    sirix_arena_deinit(&arena);
    sirix_arena_deinit(&scratch);
    sirix_function_set_free(functions);
    return status;
}

static void every_allocation_of_a_plan_may_fail(void **state)
{
    size_t failed = 0;
    bool is_done = false;

    (void)state;
    for (int i = 0; !is_done; i++) {
        allocations_left = i;
        is_done = run_once() == SIRIX_OK;
        allocations_left = -1;
        failed += is_done ? 0 : 1;
    }
    assert_true(failed > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_plan_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
