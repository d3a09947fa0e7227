/*
 * Queries that want too much: each ends in a limit that has a name, on a stack of a known size, and
 * what grows does so in proportion to the text. And queries whose memory runs out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
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

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return countdown_hits() ? NULL : __real_realloc(old, size);
}

/* --- Text made of repeated parts -------------------------------------------------------------- */

struct repeated {
    const char *first;
    const char *again;
    size_t times;
    const char *last;
    const char *last_again; /* As often; NULL: not. */
    const char *limit;      /* NULL: it parses. */
};

static void append(struct sirix_buf *to, const char *text, size_t times)
{
    for (size_t i = 0; text != NULL && i < times; i++) {
        assert_int_equal(sirix_buf_append_str(to, text, NULL), SIRIX_OK);
    }
}

/* Runs the parser on a stack of exactly the promised size. */
struct job {
    struct sirix_bytes text;
    struct sirix_query_error err;
    enum sirix_status status;
    uint32_t height;
};

static void *run_job(void *context)
{
    struct job *job = context;
    struct sirix_arena arena;
    struct sirix_ast_module *module = NULL;

    sirix_arena_init(&arena, SIZE_MAX);
    job->status = sirix_syntax_parse(&arena, job->text, SIRIX_SYNTAX_SIRIX, &module, &job->err);
    job->height = job->status == SIRIX_OK ? module->body->height : 0;
    sirix_arena_deinit(&arena);
    return NULL;
}

static void on_the_promised_stack(struct job *job)
{
    pthread_attr_t attributes;
    pthread_t thread;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SIRIX_SYNTAX_STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

static void what_nests_or_is_long_ends_in_a_named_limit(void **state)
{
    static const struct repeated cases[] = {
        {"", "(", 100000, "1", ")", "query.nesting"},
        {"", "(", 990, "1", ")", NULL},
        {"", "[", 100000, "", NULL, "query.nesting"},
        {"", "[", 990, "", "]", NULL},
        {"", "{\"a\":", 100000, "1", "}", "query.nesting"},
        {"", "{", 100000, "", "}", "query.nesting"},
        {"", "{|", 100000, "", "|}", "query.nesting"},
        {"$a", "[[", 100000, "", NULL, "query.nesting"},
        {"$a", "[1", 100000, "", "]", "query.nesting"},
        {"$a", ".a", 100000, "", NULL, "query.nesting"},
        {"f", "(f", 100000, "", ")", "query.nesting"},
        {"1", "=>f()", 50000, "", NULL, "query.nesting"},
        {"", "if(1) then (", 50000, "1", ") else 2", "query.nesting"},
        {"", "for $x in 1 return ", 40000, "1", NULL, "query.nesting"},
        {"", "function() {", 50000, "1", "}", "query.nesting"},
        {"", "try {", 50000, "1", NULL, "query.nesting"},
        {"", "while (1) ", 50000, "1", NULL, "query.nesting"},
        {"", "map {1:", 50000, "1", "}", "query.nesting"},
        {"1 instance of ", "array(", 50000, "item", ")", "query.nesting"},
        {"1 instance of ", "function(", 50000, "item", ")", "query.nesting"},
        {"", "text {", 50000, "1", "}", "query.nesting"},
        {"", "insert json ", 50000, "1", NULL, "query.nesting"},
        {"1", "+1", 600000, "", NULL, "query.text"},
        {"'", "0123456789", 1048576, "'", NULL, "query.text"},
        {"1", "+1", 500000, "", NULL, "query.nodes"},
        {"$a", "|$a", 100000, "", NULL, NULL},
        {"1", "!1", 100000, "", NULL, NULL},
        {"1", ",1", 100000, "", NULL, NULL},
        {"1", " or 1", 100000, "", NULL, NULL},
        {"", "if(1) then 1 else ", 50000, "1", NULL, NULL},
        {"", "not ", 100000, "true", NULL, NULL},
        {"", "-", 100000, "1", NULL, NULL},
        {"", "(: ", 100000, "", " :) ", NULL},
        {"", "1;", 100000, "1", NULL, NULL},
        {"", "declare variable $x := 1;", 12000, "1", NULL, "query.declarations"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_buf text;
        struct job job = {.status = SIRIX_OK};

        sirix_buf_init(&text, SIZE_MAX);
        append(&text, cases[i].first, 1);
        append(&text, cases[i].again, cases[i].times);
        append(&text, cases[i].last, 1);
        append(&text, cases[i].last_again, cases[i].times);
        if (strstr(cases[i].again, "(: ") != NULL) {
            append(&text, "1", 1);
        }
        job.text = sirix_buf_view(&text);
        on_the_promised_stack(&job);
        if (cases[i].limit == NULL) {
            if (job.status != SIRIX_OK) {
                fail_msg("%s...: %s", cases[i].again, job.err.base.text);
            }
        } else if (job.status != SIRIX_EXHAUSTED ||
                   strcmp(job.err.base.field, cases[i].limit) != 0) {
            fail_msg("%s...: %s %s", cases[i].again, job.err.base.field, job.err.base.text);
        }
        sirix_buf_deinit(&text);
    }
}

static void flat_chains_have_no_height(void **state)
{
    static const char *const chains[][2] = {{"1", "+1"},     {"1", "*1"},         {"1", "||1"},
                                            {"1", " and 1"}, {"$a", "|$a"},       {"1", "!1"},
                                            {"1", ",1"},     {"$a", " except $a"}};

    (void)state;
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        struct sirix_buf text;
        struct job job = {.status = SIRIX_OK};

        sirix_buf_init(&text, SIZE_MAX);
        append(&text, chains[i][0], 1);
        append(&text, chains[i][1], 50000);
        job.text = sirix_buf_view(&text);
        on_the_promised_stack(&job);
        assert_int_equal(job.status, SIRIX_OK);
        assert_int_equal(job.height, 2);
        sirix_buf_deinit(&text);
    }
}

/* --- Memory ----------------------------------------------------------------------------------- */

static const char whole_language[] =
    "declare namespace a = \"u\"; declare variable $v as item* := (1, 2.5, \"x\\n\");"
    "declare function local:f($a as integer, $b) as item* { $a };"
    "declare decimal-format d decimal-separator = \",\";"
    "for $x as item at $i in $v let $y := { \"a\" : $x, b : [1, 2] } where $y.a[0] eq 1 "
    "group by $k := $x order by $k descending return try { typeswitch ($k) case integer | string "
    "return local:f($k, ?)(1) default return if (1) then $v[[1]] else {| $y |} } "
    "catch err:X | * { switch (1) case 1 return $v[1:2:3] default return function($q) { $q ! 1 } }";

static void every_allocation_may_fail(void **state)
{
    size_t failed = 0;
    bool is_done = false;

    (void)state;
    for (int i = 0; !is_done; i++) {
        struct job job = {.text = {whole_language, sizeof(whole_language) - 1}};

        allocations_left = i;
        (void)run_job(&job);
        allocations_left = -1;
        is_done = job.status == SIRIX_OK;
        if (!is_done) {
            assert_int_equal(job.status, SIRIX_NO_MEMORY);
            failed++;
        }
    }
    assert_true(failed > 3);
}

static void an_arena_that_is_too_small_is_exhausted(void **state)
{
    (void)state;
    for (size_t bytes = 16; bytes < 4096; bytes += 64) {
        struct sirix_arena arena;
        struct sirix_ast_module *module = NULL;
        struct sirix_query_error err = {.line = 0};

        sirix_arena_init(&arena, bytes);
        assert_int_equal(
            sirix_syntax_parse(&arena,
                               (struct sirix_bytes){whole_language, sizeof(whole_language) - 1},
                               SIRIX_SYNTAX_SIRIX, &module, &err),
            SIRIX_EXHAUSTED);
        sirix_arena_deinit(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nests_or_is_long_ends_in_a_named_limit),
        cmocka_unit_test(flat_chains_have_no_height),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_arena_that_is_too_small_is_exhausted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
