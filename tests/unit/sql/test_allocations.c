/* Statements with each of their allocations failing, one after the other: SIRIX_NO_MEMORY, or the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sql_fixture.h"
#include "unit/base/alloc_sweep.h"

static struct sql_fixture fixture;

static enum sirix_status run_plain(struct sirix_error *err)
{
    enum sirix_status status = sql_fixture_run(&fixture, "SELECT 1");

    *err = fixture.err;
    return status;
}

/*
 * Lets each allocation from number first on fail. All statements begin with the
 * same ones, which make the connection: they are swept once.
 */
static void sweep(const char *sql, enum sirix_status otherwise, const char *rows, int first)
{
    bool reached = true;

    for (int n = first; reached; n++) {
        atomic_store(&alloc_sweep_left, n);
        const enum sirix_status status = sql_fixture_run(&fixture, sql);
        reached = atomic_exchange(&alloc_sweep_left, -1) < 0;
        if (status != otherwise && status != SIRIX_NO_MEMORY) {
            fail_msg("%s, allocation %d: %s: %s", sql, n, sirix_status_name(status),
                     fixture.err.text);
        }
        if (status == SIRIX_OK) {
            assert_string_equal(fixture.rows, rows);
        }
    }
}

static void every_allocation_of_a_statement_may_fail(void **state)
{
    static const struct {
        const char *sql;
        const char *rows;
    } cases[] = {
        {"SELECT count(*) FROM users", "2"},
        {"SELECT a, rest, parent_key, revision FROM users('main') WHERE a > 0 ORDER BY a DESC",
         "2|{\"\":1}|~|2;1|{}|~|2"},
        {"SELECT o.i FROM users u JOIN \"users/o\" o ON o.parent_key = u.node_key", "5;6"},
        {"SELECT x.a, y.a FROM users x JOIN users y ON x.a = y.a", "1|1;2|2"},
        {"SELECT resource, revision FROM resources", "users|2"},
        {"SELECT branch FROM branches", "main"},
        {"SELECT count(*) FROM information_schema.tables WHERE database = 'db'", "2"},
        {"SELECT column_name FROM information_schema.columns WHERE table_name = 'users/o'",
         "node_key;i;revision;parent_key"},
        {"SELECT path, count FROM paths('db', 'users') WHERE path = '/[]/a'", "/[]/a|2"},
        {"SELECT value FROM nodes('db', 'users') WHERE kind = 'number' AND depth = 2", "1;2;1"},
        {"SELECT revision, inserts FROM revisions('db', 'users')", "2|1;1|~"},
        {"SELECT change, path FROM changes('db', 'users', 1, 2)", "insert|"},
        {"SELECT revision, change FROM history('db', 'users', 1)", "2|insert"},
        {"SELECT replace(a, 1, 'x'), instr('ab', 'b'), trim('xax', 'x') FROM users", "x|2|a;2|2|a"},
        {"SELECT json_group_array(a) FROM users", "[1,2]"},
    };

    enum { MANY = 1 << 30, OF_A_STATEMENT = 40 };
    const struct alloc_sweep_row plain = {
        .name = "SELECT 1", .run = run_plain, .failures = 100, .failures_with_copies = 100};

    (void)state;
    alloc_sweep(&plain, NULL);
    atomic_store(&alloc_sweep_left, MANY);
    assert_int_equal(sql_fixture_run(&fixture, "SELECT 1"), SIRIX_OK);
    const int first = MANY - atomic_exchange(&alloc_sweep_left, -1) - OF_A_STATEMENT;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sql_fixture_rows(&fixture, cases[i].sql, cases[i].rows);
        sweep(cases[i].sql, SIRIX_OK, cases[i].rows, first);
        sql_fixture_rows(&fixture, cases[i].sql, cases[i].rows);
    }
}

static void what_is_refused_is_refused_or_there_is_no_memory(void **state)
{
    static const char *const refused[] = {"SELECT * FROM usrs"};

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        sweep(refused[i], SIRIX_INVALID, "", 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_statement_may_fail),
        cmocka_unit_test(what_is_refused_is_refused_or_there_is_no_memory),
    };

    sql_fixture_open(&fixture);
    sql_fixture_put(&fixture, "db", "users",
                    "[{\"a\":1,\"o\":[{\"i\":5},{\"i\":6}]},{\"a\":2,\"\":1}]");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sql_fixture_close(&fixture);
    return failed;
}
