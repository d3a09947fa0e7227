/* Names that the engine has uses for, and statements that it has no plan or no room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_fixture.h"

static int set_up(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "users",
                    "[{\"name\":\"Ann\",\"age\":31},{\"name\":\"Bo\",\"age\":25}]");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    sql_fixture_close(*state);
    free(*state);
    return 0;
}

/* Names of resources may begin as those of the engine's own tables. */
static void names_of_the_engine_are_names_of_resources_too(void **state)
{
    struct sql_fixture *f = *state;
    static const char *const free_names[] = {
        "rtree_of_life", "rtree",     "fts5",         "pragma_x",    "bytecode_stats",
        "dbstats",       "dbstat_it", "tables_usedx", "sirix_table", "sirix_tables",
        "sirix_columns", "fts3",      "fts5vocab",    "main.x",
    };
    static const char *const kept[] = {"sqlite_x", "sqlite_master", "sqlite_stmt",
                                       "pragma_table_info", "dbstat"};
    char sql[256];
    char spelling[256];

    for (size_t i = 0; i < sizeof(free_names) / sizeof(free_names[0]); i++) {
        sql_fixture_put(f, "db", free_names[i], "[{\"a\":7}]");
        (void)snprintf(sql, sizeof(sql), "SELECT a FROM \"%s\"", free_names[i]);
        sql_fixture_rows(f, sql, "7");
        (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"db/%s\"", free_names[i]);
        sql_fixture_rows(f, sql, "1");
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        sql_fixture_put(f, "db", kept[i], "[{\"a\":7}]");
        (void)snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", kept[i]);
        assert_int_equal(sql_fixture_run(f, sql), SIRIX_INVALID);
        (void)snprintf(spelling, sizeof(spelling), "write \"db/%s\"", kept[i]);
        if (f->err.reason != SIRIX_REASON_SQL_REFUSED || strstr(f->err.text, spelling) == NULL) {
            print_error("%s: %s\n", sql, f->err.text);
            fail();
        }
        (void)snprintf(sql, sizeof(sql), "SELECT a FROM \"db/%s\"", kept[i]);
        sql_fixture_rows(f, sql, "7");
    }
    sql_fixture_rows(f, "WITH rtree_a AS (SELECT 1 AS b) SELECT count(*) FROM rtree_a", "1");
    sql_fixture_rows(f, "SELECT u.name FROM main.users u WHERE u.age = 31", "Ann");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM \"main.users\""), SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_ERROR);
}

/* Numbers with a text in front and one behind each, and commas in between; malloc'ed. */
static char *listed(const char *before, const char *front, const char *behind, int count,
                    const char *after)
{
    enum { TEXT_BYTES = 128 * 1024 };
    char *text = malloc(TEXT_BYTES);
    size_t len = 0;

    assert_non_null(text);
    len = (size_t)snprintf(text, TEXT_BYTES, "%s", before);
    for (int i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, TEXT_BYTES - len, "%s%s%d%s", i == 0 ? "" : ",", front,
                                i, behind);
    }
    (void)snprintf(text + len, TEXT_BYTES - len, "%s", after);
    return text;
}

static void refused_by_limit(struct sql_fixture *f, const char *sql, const char *word)
{
    if (sql_fixture_run(f, sql) != SIRIX_INVALID || f->err.reason != SIRIX_REASON_SQL_LIMIT ||
        strstr(f->err.text, word) == NULL) {
        print_error("%.80s: %s\n", sql, f->err.text);
        fail();
    }
}

static void what_is_too_much_for_the_engine_says_what_to_do(void **state)
{
    struct sql_fixture *f = *state;
    char *text = listed("SELECT name FROM users WHERE name IN (", "'", "'", 8000, ")");

    refused_by_limit(f, text, "json_each");
    free(text);
    text = listed("VALUES ", "(", ",1,2,3,4,5,6,7)", 3000, "");
    refused_by_limit(f, text, "json_each");
    free(text);
    text = listed("SELECT name FROM users WHERE age IN (", "", "", 2000, ")");
    assert_int_equal(sql_fixture_run(f, text), SIRIX_OK);
    free(text);
    refused_by_limit(f, "SELECT name FROM users(printf('%.1000000c', 'x'))", "bytes");
}

static void a_revision_must_be_known_before_its_table_is_read(void **state)
{
    struct sql_fixture *f = *state;

    assert_int_equal(
        sql_fixture_run(f, "SELECT * FROM users a JOIN users b ON a.revision = b.revision"),
        SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_ERROR);
    assert_non_null(strstr(f->err.text, "no query solution; a revision"));
    sql_fixture_rows(f,
                     "SELECT count(*) FROM users(2) a JOIN users b ON a.name = b.name AND "
                     "b.revision = 2",
                     "2");
    sql_fixture_snapshot(f, "db", "users", "before");
    sql_fixture_replace(f, "db", "users", "/[0]/age", "99");
    sql_fixture_rows(
        f, "SELECT u.age FROM users u, snapshots s WHERE s.revision = u.revision ORDER BY 1",
        "25;31");
    sql_fixture_rows(
        f, "SELECT u.age FROM users u CROSS JOIN snapshots s WHERE s.revision = u.revision", "");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(names_of_the_engine_are_names_of_resources_too),
        TEST(what_is_too_much_for_the_engine_says_what_to_do),
        TEST(a_revision_must_be_known_before_its_table_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
