/*
 * Memory that is not there: every allocation of a query fails once, and each time the query ends with
 * SIRIX_NO_MEMORY (or what its limit says), holds nothing, and the next one works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "unit/query_run/fixture.h"

enum { ALLOCATIONS_MAX = 20000 };

static unsigned long fail_at; /* 0: none. */
static unsigned long allocations;

static bool fails(void)
{
    return fail_at != 0 && ++allocations == fail_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

/* The status that a query ends with when allocation number `at` fails; false: there were not so many. */
static bool runs_out(struct query_fixture *f, const char *text, bool updating, unsigned long at,
                     enum sirix_status *out_status)
{
    const struct sirix_query_touched *touched = NULL;
    const struct sirix_query_item *items = NULL;
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    size_t count = 0;
    bool done = false;

    query_fixture_options(f, text, &options);
    options.updating = updating;
    fail_at = at;
    allocations = 0;
    enum sirix_status status = sirix_query_prepare(&options, &query, &err);
    if (status == SIRIX_OK && updating) {
        status = sirix_query_evaluate(query, &touched, &count, &err);
    }
    while (status == SIRIX_OK && !updating && !done) {
        status = sirix_query_next(query, 2, 0, &items, &count, &done, &err);
    }
    fail_at = 0;
    sirix_query_close(query);
    *out_status = status;
    return allocations >= at;
}

static void every_allocation_may_fail(void **state)
{
    static const struct {
        const char *query;
        bool updating;
    } rows[] = {
        {"jn:doc('db','r').t[].a", false},
        {"for $x in jn:doc('db','r').t[], $y in jn:doc('db','r').t[] where $x.a eq $y.a "
         "group by $k := $x.b let $n := count($x) order by $n descending "
         "return {\"k\":$k,\"n\":$n,\"s\":[$y.a]}",
         false},
        {"jn:all-times(jn:doc('db','r').t[0]) ! [sdb:revision($$), sdb:hash($$), sdb:path($$)]",
         false},
        {"jn:diff('db','r',1,2), jn:collection('db').t[0], sdb:branches('db','r'), "
         "sdb:item-history(jn:doc('db','r').t[0])",
         false},
        {"copy $c := jn:doc('db','r') modify (delete json $c.t[0], append json {\"z\":1} into "
         "$c.t) "
         "return $c",
         false},
        {"let $f := function($x) { $x || \"s\" } return "
         "for tumbling window $w in 1 to 9 start at $s when $s mod 3 eq 1 return $f($w[1])",
         false},
        {"declare variable $g := [1,2,3]; try { $g[] ! (1 div ($$ - 2)) } catch * { $err:code }, "
         "jn:doc('db','r')=>>a, distinct-values((1,2,1)), matches(\"abc\",\"b+\")",
         false},
        {"let $d := jn:doc('db','r') return (append json 1 into $d.t, delete json $d.t[1], "
         "rename json $d.t[0].a as \"q\")",
         true},
    };
    struct query_fixture f;

    (void)state;
    query_fixture_open(&f, NULL);
    query_fixture_put(&f, "r", "{\"t\":[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":\"y\"},{\"a\":3}]}");
    query_fixture_put(&f, "r", "{\"t\":[{\"a\":1,\"b\":\"z\"},{\"a\":2,\"b\":\"y\"}]}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum sirix_status status = SIRIX_OK;
        unsigned long at = 1;

        /* The functions' index is made once. */
        (void)runs_out(&f, rows[i].query, rows[i].updating, 0, &status);
        assert_int_equal(status, SIRIX_OK);
        while (runs_out(&f, rows[i].query, rows[i].updating, at, &status)) {
            if (status != SIRIX_OK && status != SIRIX_NO_MEMORY) {
                print_error("%s: allocation %lu: %s\n", rows[i].query, at,
                            sirix_status_name(status));
                fail();
            }
            assert_true(++at < ALLOCATIONS_MAX);
        }
        assert_int_equal(status, SIRIX_OK);
        assert_true(at > 5);
    }
    query_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
