/* Tables that are inferred: rows, columns, keys, revisions, filters, joins, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_fixture.h"

static const char *const users =
    "[{\"name\":\"Ann\",\"age\":31,\"admin\":true,\"orders\":[{\"id\":1,\"sum\":10.5},{\"id\":2,"
    "\"sum\":7}]},"
    "{\"name\":\"Bo\",\"age\":25,\"admin\":false,\"tags\":[\"x\",\"y\"],\"orders\":[{\"id\":3,"
    "\"sum\":1}]},"
    "{\"name\":\"Cy\",\"age\":null,\"big\":123456789012345678901234567890,\"node_key\":\"own\"}]";

static int set_up(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "users", users);
    sql_fixture_put(f, "db", "app",
                    "{\"people\":[{\"n\":1,\"parts\":{\"x\":[{\"q\":5}]}},{\"n\":2},7],\"z\":1}");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    sql_fixture_close(*state);
    free(*state);
    return 0;
}

static void arrays_of_objects_are_tables(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f, "SELECT name, age, admin FROM users", "Ann|31|1;Bo|25|0;Cy|~|~");
    sql_fixture_rows(f, "SELECT id, sum FROM \"users/orders\"", "1|10.5;2|7;3|1");
    sql_fixture_rows(f, "SELECT n FROM \"app/people\"", "1;2");
    sql_fixture_rows(f, "SELECT count(*) FROM \"app/people\"", "2");
    sql_fixture_rows(f, "SELECT q FROM \"app/people/parts/x\"", "5");
    sql_fixture_rows(f, "SELECT count(*) FROM users", "3");
    sql_fixture_rows(f, "SELECT count(*) FROM \"users/orders\"", "3");
}

static void values_keep_all_digits_and_nest_as_json(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f, "SELECT big, typeof(big) FROM users WHERE name = 'Cy'",
                     "123456789012345678901234567890|text");
    sql_fixture_rows(f, "SELECT tags, json_extract(tags, '$[1]') FROM users WHERE name = 'Bo'",
                     "[\"x\",\"y\"]|y");
    assert_int_equal(sql_fixture_run(f, "SELECT CAST(x'ff41' AS TEXT), 'a'"), SIRIX_OK);
    sql_fixture_rows(f, "SELECT json_object('t', tags) FROM users WHERE name = 'Bo'",
                     "{\"t\":[\"x\",\"y\"]}");
    sql_fixture_put(f, "db", "large", "[{\"i\":9223372036854775807},{\"i\":-9223372036854775808}]");
    sql_fixture_rows(f, "SELECT i, typeof(i) FROM large",
                     "9223372036854775807|integer;-9223372036854775808|integer");
}

static void built_in_columns_win_and_others_get_a_number(void **state)
{
    sql_fixture_rows(*state, "SELECT node_key_2 FROM users WHERE name = 'Cy'", "own");
}

static void a_row_is_found_by_its_key(void **state)
{
    struct sql_fixture *f = *state;
    char sql[256];
    char key[64];

    assert_int_equal(sql_fixture_run(f, "SELECT node_key FROM users WHERE name = 'Bo'"), SIRIX_OK);
    (void)snprintf(key, sizeof(key), "%.60s", f->rows);
    (void)snprintf(sql, sizeof(sql), "SELECT name FROM users WHERE node_key = %s", key);
    sql_fixture_rows(f, sql, "Bo");
    (void)snprintf(sql, sizeof(sql), "SELECT name FROM users WHERE node_key = '%s'", key);
    sql_fixture_rows(f, sql, "Bo");
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM \"users/orders\" WHERE node_key = %s",
                   key);
    sql_fixture_rows(f, sql, "0");
    (void)snprintf(sql, sizeof(sql), "SELECT name FROM users WHERE node_key = %s + 1", key);
    sql_fixture_rows(f, sql, "");
    sql_fixture_rows(f, "SELECT name FROM users WHERE node_key = 1.5", "");
    sql_fixture_rows(f, "SELECT name FROM users WHERE node_key = -1", "");
    sql_fixture_rows(f, "SELECT name FROM users WHERE node_key = 1", "");
}

static void rows_below_a_row_are_joined_by_its_key(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f,
                     "SELECT u.name, o.id FROM users u JOIN \"users/orders\" o ON o.parent_key = "
                     "u.node_key ORDER BY o.id",
                     "Ann|1;Ann|2;Bo|3");
    sql_fixture_rows(f, "SELECT count(DISTINCT parent_key) FROM \"users/orders\"", "2");
    sql_fixture_rows(f, "SELECT count(*) FROM users WHERE parent_key IS NULL", "3");
    sql_fixture_rows(f, "SELECT count(*) FROM users WHERE parent_key = 1", "0");
}

static void any_revision_is_read_by_argument(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_snapshot(f, "db", "users", "before");
    sql_fixture_replace(f, "db", "users", "/[0]/age", "99");
    sql_fixture_rows(f, "SELECT age FROM users WHERE name = 'Ann'", "99");
    sql_fixture_rows(f, "SELECT age FROM users('before') WHERE name = 'Ann'", "31");
    sql_fixture_rows(f, "SELECT age, revision FROM users WHERE revision = 2 AND name = 'Ann'",
                     "31|2");
    sql_fixture_rows(f, "SELECT age FROM users(3) WHERE name = 'Ann'", "99");
    sql_fixture_rows(f, "SELECT age FROM users('main') WHERE name = 'Ann'", "99");
    sql_fixture_rows(f,
                     "SELECT a.age - b.age FROM users a JOIN users('before') b ON a.node_key = "
                     "b.node_key WHERE a.name = 'Ann'",
                     "68");
    sql_fixture_rows(f,
                     "SELECT s.snapshot, u.age FROM snapshots s JOIN users u ON u.revision = "
                     "s.revision WHERE u.name = 'Ann'",
                     "before|31");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM users('nope')"), SIRIX_NOT_FOUND);
    assert_non_null(strstr(f->err.text, "snapshots"));
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM users(99)"), SIRIX_OUT_OF_RANGE);
}

/* NULL is not what was left out. */
static void a_null_argument_gives_no_rows(void **state)
{
    struct sql_fixture *f = *state;
    static const char *const empty[] = {
        "SELECT name FROM users WHERE revision = NULL",
        "SELECT name FROM users(NULL)",
        ("SELECT name FROM users WHERE revision = (SELECT revision FROM snapshots WHERE snapshot = "
         "'typo')"),
        "SELECT name FROM users WHERE revision IN (NULL)",
        "SELECT name FROM users WHERE revision IS NULL",
        "SELECT name FROM users(NULL) WHERE node_key = 2",
        "SELECT id FROM \"users/orders\" WHERE revision = NULL AND parent_key = 2",
        "SELECT node_key FROM nodes(NULL, 'users')",
        "SELECT node_key FROM nodes('db', NULL)",
        "SELECT node_key FROM nodes('db', 'users', NULL)",
        "SELECT node_key FROM nodes('db', 'users', NULL) WHERE path = '/[0]'",
        "SELECT node_key FROM nodes('db', 'users') WHERE path = NULL",
        "SELECT node_key FROM nodes('db', 'users') WHERE parent_key = NULL",
        "SELECT node_key FROM nodes('db', 'users') WHERE node_key = NULL",
        "SELECT change FROM changes(NULL, 'users', 1, 'main')",
        "SELECT change FROM changes('db', NULL, 1, 'main')",
        "SELECT change FROM changes('db', 'users', NULL, 'main')",
        "SELECT change FROM changes('db', 'users', 1, NULL)",
        "SELECT revision FROM history(NULL, 'users', 2)",
        "SELECT revision FROM history('db', NULL, 2)",
        "SELECT revision FROM history('db', 'users', NULL)",
        "SELECT revision FROM revisions(NULL, 'users')",
        "SELECT revision FROM revisions('db', NULL)",
        "SELECT revision FROM revisions('db', 'users', NULL)",
        "SELECT path FROM paths(NULL, 'users')",
        "SELECT path FROM paths('db', NULL)",
        "SELECT branch FROM branches WHERE database = NULL",
        "SELECT resource FROM resources WHERE resource = NULL",
    };

    sql_fixture_replace(f, "db", "users", "/[0]/age", "99");
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        sql_fixture_rows(f, empty[i], "");
    }
    sql_fixture_rows(f, "SELECT count(*) FROM users(NULL)", "0");
    sql_fixture_rows(f, "SELECT count(*) FROM nodes('db', 'users', NULL)", "0");
    sql_fixture_rows(f,
                     "SELECT v.r, u.name FROM (SELECT NULL AS r UNION ALL SELECT 2) v LEFT JOIN "
                     "users u ON u.revision = v.r AND u.name = 'Bo' ORDER BY 1",
                     "~|~;2|Bo");
}

static void an_argument_that_names_nothing_is_refused(void **state)
{
    struct sql_fixture *f = *state;
    static const char *const refused[] = {
        "SELECT name FROM users('')",
        "SELECT name FROM users(1.5)",
        "SELECT node_key FROM nodes('db', 'users', '')",
        "SELECT node_key FROM nodes('', 'users')",
        "SELECT change FROM changes('db', 'users', 1.5, 'main')",
        "SELECT change FROM changes('db', 'users', 1, '')",
        "SELECT change FROM changes(x'6462', 'users', 1, 'main')",
        "SELECT revision FROM revisions('db', 'users', 7)",
        "SELECT revision FROM history(5, 'users', 2)",
        "SELECT path FROM paths('', 'users')",
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (sql_fixture_run(f, refused[i]) != SIRIX_INVALID) {
            print_error("%s: %s %s\n", refused[i], f->rows, f->err.text);
            fail();
        }
        assert_int_equal(f->err.reason, SIRIX_REASON_SQL_ERROR);
    }
}

static void filters_never_lose_a_row(void **state)
{
    struct sql_fixture *f = *state;
    static const char *const conditions[] = {
        "v = 5",
        "v = '5'",
        "v > 4",
        "v >= 5.0",
        "v < 'b'",
        "v <> 5",
        "v IS NULL",
        "v IS NOT NULL",
        "v = 5.0",
        "v < 1e300",
        "v = 'a'",
        "v = 'A' COLLATE NOCASE",
        "v > 'a'",
        "v = x'61'",
        "v IN (5, 'a')",
        "v BETWEEN 1 AND 6",
        "v = NULL",
        "v IS NOT 5",
        "v = 9007199254740993",
        "v = 9007199254740992.0",
        "v LIKE 'a%'",
        "NOT v = 5",
    };
    char seen[4096];
    char sql[512];

    sql_fixture_put(
        f, "db", "mixed",
        "[{\"v\":5},{\"v\":5.0},{\"v\":\"5\"},{\"v\":\"a\"},{\"v\":\"A\"},{\"v\":null},{},"
        "{\"v\":true},{\"v\":[1]},{\"v\":9007199254740993},{\"v\":\"b\"},{\"v\":-1e400}]");
    sql_fixture_put(f, "db", "numbers",
                    "[{\"v\":5},{\"v\":5.0},{\"v\":5.5},{\"v\":9007199254740993},"
                    "{\"v\":123456789012345678901234567890},{\"v\":null}]");
    sql_fixture_put(f, "db", "texts", "[{\"v\":\"5\"},{\"v\":\"a\"},{\"v\":\"5.0\"},{\"v\":\"\"}]");
    for (size_t t = 0; t < 3; t++) {
        const char *table = t == 0 ? "mixed" : t == 1 ? "numbers" : "texts";

        for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
            /* Behind a plus nothing is pushed down; behind it the affinity goes too, so use a subquery. */
            (void)snprintf(sql, sizeof(sql),
                           "SELECT node_key FROM (SELECT node_key, v FROM %s LIMIT -1 OFFSET 0) "
                           "WHERE %s ORDER BY node_key",
                           table, conditions[i]);
            assert_int_equal(sql_fixture_run(f, sql), SIRIX_OK);
            (void)snprintf(seen, sizeof(seen), "%.4000s", f->rows);
            (void)snprintf(sql, sizeof(sql), "SELECT node_key FROM %s WHERE %s ORDER BY node_key",
                           table, conditions[i]);
            sql_fixture_rows(f, sql, seen);
        }
    }
}

static void joins_by_value_are_as_without_an_index(void **state)
{
    struct sql_fixture *f = *state;
    static const char *const pairs[][2] = {
        {"ja", "jb"}, {"jb", "ja"}, {"ja", "jc"}, {"jc", "ja"}, {"jb", "jc"}, {"ja", "ja"},
    };
    char seen[4096];
    char sql[1024];

    sql_fixture_put(f, "db", "ja",
                    "[{\"v\":1},{\"v\":2},{\"v\":2},{\"v\":2.0},{\"v\":null},{\"v\":3},{\"v\":0},"
                    "{\"v\":-0.0},{\"v\":9007199254740993}]");
    sql_fixture_put(f, "db", "jb",
                    "[{\"v\":\"1\"},{\"v\":\"2\"},{\"v\":\" 2.0 \"},{\"v\":\"x\"},{\"v\":\"\"},"
                    "{\"v\":\"0\"}]");
    sql_fixture_put(f, "db", "jc",
                    "[{\"v\":1},{\"v\":\"1\"},{\"v\":2},{\"v\":\"x\"},{\"v\":true},{\"v\":[1]},"
                    "{\"v\":\"[1]\"},{\"v\":0}]");
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        (void)snprintf(sql, sizeof(sql),
                       "SELECT a.node_key, b.node_key FROM (SELECT * FROM %s LIMIT -1 OFFSET 0) a, "
                       "(SELECT * FROM %s LIMIT -1 OFFSET 0) b WHERE +a.node_key > 0 AND a.v = b.v "
                       "ORDER BY 1, 2",
                       pairs[i][0], pairs[i][1]);
        assert_int_equal(sql_fixture_run(f, sql), SIRIX_OK);
        (void)snprintf(seen, sizeof(seen), "%.4000s", f->rows);
        assert_true(strlen(seen) > 4);
        (void)snprintf(sql, sizeof(sql),
                       "SELECT a.node_key, b.node_key FROM %s a JOIN %s b ON a.v = b.v "
                       "ORDER BY 1, 2",
                       pairs[i][0], pairs[i][1]);
        sql_fixture_rows(f, sql, seen);
    }
}

static void plans_say_what_was_pushed_down(void **state)
{
    struct sql_fixture *f = *state;
    static const struct {
        const char *sql;
        const char *plan;
    } cases[] = {
        {"SELECT * FROM users WHERE node_key = 3", "INDEX 2:node_key="},
        {"SELECT * FROM users WHERE revision = 2", "INDEX 1:revision="},
        {"SELECT * FROM users('main')", "INDEX 1:revision="},
        {"SELECT * FROM users WHERE age > 30 AND name = 'Ann'", "age>"},
        {"SELECT * FROM users WHERE age > 30 AND name = 'Ann'", "name="},
        {"SELECT count(*) FROM users", "INDEX 8:"},
        {"SELECT * FROM \"users/orders\" WHERE parent_key = 4", "INDEX 4:parent_key="},
        {"SELECT * FROM nodes('db', 'users') WHERE node_key = 4", "node_key="},
        {"SELECT * FROM nodes('db', 'users') WHERE path = '/[0]/name'", "path="},
        {"SELECT * FROM nodes('db', 'users') WHERE parent_key = 4", "parent_key="},
        {"SELECT * FROM nodes('db', 'users', 2)", "database=, resource=, revision="},
    };
    char sql[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", cases[i].sql);
        assert_int_equal(sql_fixture_run(f, sql), SIRIX_OK);
        if (strstr(f->rows, cases[i].plan) == NULL) {
            print_error("%s: %s\n", cases[i].sql, f->rows);
            fail();
        }
    }
}

static void names_are_looked_for_where_they_may_be(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f, "SELECT count(*) FROM \"db/users\"", "3");
    sql_fixture_rows(f, "SELECT count(*) FROM \"db/users/orders\"", "3");
    sql_fixture_rows(f, "SELECT count(*) FROM USERS", "3");
    sql_fixture_rows(f, "SELECT count(*) FROM main.users", "3");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM other.users, users"), SIRIX_INVALID);
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM users, other.users"), SIRIX_INVALID);
    sql_fixture_database(f, "two");
    sql_fixture_put(f, "two", "users", "[{\"a\":1}]");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM users"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "\"db/users\""));
    assert_non_null(strstr(f->err.text, "\"two/users\""));
    sql_fixture_rows(f, "SELECT count(*) FROM \"two/users\"", "1");
    f->wanted.database = (struct sirix_bytes){.data = "two", .len = 3};
    sql_fixture_rows(f, "SELECT count(*) FROM users", "1");
    f->wanted.database = (struct sirix_bytes){.data = "", .len = 0};
}

static void what_is_not_there_is_told_with_what_is_near(void **state)
{
    struct sql_fixture *f = *state;

    assert_int_equal(sql_fixture_run(f, "SELECT * FROM usrs"), SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_ERROR);
    assert_non_null(strstr(f->err.text, "\"users\""));
    assert_int_equal(sql_fixture_run(f, "SELECT naem FROM users"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "\"name\""));
    assert_int_equal(sql_fixture_run(f, "SHOW TABLES"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "information_schema"));
    assert_int_equal(sql_fixture_run(f, "PRAGMA table_list"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "information_schema"));
}

static void a_table_is_found_by_its_last_part(void **state)
{
    struct sql_fixture *f = *state;
    char near[sizeof(f->err.text)];

    /* Names of as many letters lie nearer than that of the table which is meant. */
    sql_fixture_put(f, "db", "peeple", "[{\"a\":1}]");
    sql_fixture_put(f, "db", "popple", "[{\"a\":1}]");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM people"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "nearest: \"app/people\", "));
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM PEOPLE"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "nearest: \"app/people\", "));
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM ordrs"), SIRIX_INVALID);
    (void)snprintf(near, sizeof(near), "%s", f->err.text);
    assert_non_null(strstr(near, "nearest: \"users/orders\""));
}

static void columns_stand_as_they_were_first_seen(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_put(f, "db", "seen",
                    "[{\"zip\":1,\"name\":2,\"in\":[{\"name\":3,\"b\":4}]},{\"age\":5,\"zip\":6}]");
    sql_fixture_rows(f, "SELECT * FROM seen WHERE zip = 6 AND node_key > 0 LIMIT 0", "");
    assert_string_equal(f->columns, "node_key:integer zip:number name:number in:text age:number");
    /* What comes later stands behind, whatever its name; what goes keeps its place. */
    sql_fixture_replace(f, "db", "seen", "/[0]", "{\"aa\":7,\"zip\":8}");
    sql_fixture_rows(f, "SELECT zip, name, \"in\", age, aa FROM seen", "8|~|~|~|7;6|~|~|5|~");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM seen"), SIRIX_OK);
    assert_string_equal(f->columns,
                        "node_key:integer zip:number name:number in:text age:number aa:number");
    /* A name has its place from where the resource had it first. */
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM \"seen/in\""), SIRIX_OK);
    assert_string_equal(f->columns, "node_key:integer name:number b:number");
    sql_fixture_rows(f,
                     "SELECT group_concat(column_name) FROM information_schema.columns WHERE "
                     "table_name = 'seen'",
                     "node_key,zip,name,in,age,aa,revision,parent_key");
}

static bool only_app(void *context, struct sirix_bytes database, struct sirix_bytes resource)
{
    (void)context;
    (void)database;
    return resource.len == 0 || (resource.len == 3 && memcmp(resource.data, "app", 3) == 0);
}

static void what_may_not_be_seen_is_not_there(void **state)
{
    struct sql_fixture *f = *state;

    f->wanted.visible = only_app;
    sql_fixture_rows(f, "SELECT count(*) FROM \"app/people\"", "2");
    sql_fixture_rows(f, "SELECT resource FROM resources", "app");
    sql_fixture_rows(f, "SELECT DISTINCT resource FROM branches", "app");
    sql_fixture_rows(
        f, "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'users%'", "0");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM users"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "no such table"));
    assert_null(strstr(f->err.text, "\"users\""));
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM nodes('db', 'users')"), SIRIX_NOT_FOUND);
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM revisions('db', 'users')"), SIRIX_NOT_FOUND);
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM changes('db', 'users', 1, 2)"),
                     SIRIX_NOT_FOUND);
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM history('db', 'users', 1)"),
                     SIRIX_NOT_FOUND);
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM paths('db', 'users')"), SIRIX_NOT_FOUND);
    f->wanted.visible = NULL;
}

static void relations_tell_of_the_store(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f, "SELECT database FROM databases", "db");
    sql_fixture_rows(f, "SELECT resource, revision FROM resources", "app|2;users|2");
    sql_fixture_rows(f, "SELECT branch, revision FROM branches WHERE resource = 'users'", "main|2");
    sql_fixture_rows(
        f, "SELECT revision, parent, branch, author, message FROM revisions('db', 'users')",
        "2|1|main|tester|m;1|~|main|tester|");
    sql_fixture_replace(f, "db", "users", "/[1]/age", "26");
    sql_fixture_rows(f,
                     "SELECT change, path, old_value, new_value FROM changes('db', 'users', 2, 3)",
                     "update|/[1]/age|25|26");
    sql_fixture_rows(f,
                     "SELECT h.revision, h.change, h.value FROM nodes('db', 'users') n, "
                     "history('db', 'users', n.node_key) h WHERE n.path = '/[1]/age'",
                     "3|update|26;2|insert|25");
    sql_fixture_rows(f,
                     "SELECT path, kinds FROM paths('db', 'app') WHERE path LIKE '/people/[[]]/n'"
                     " OR path = '/z'",
                     "/z|number");
    sql_fixture_rows(f,
                     "SELECT kind, name, position, depth, value, number FROM nodes('db', 'users') "
                     "WHERE path = '/[1]/age'",
                     "number|age|1|2|26|26");
    sql_fixture_rows(f, "SELECT count(*) FROM nodes('db', 'app')", "12");
    sql_fixture_rows(f, "SELECT count(node_key) FROM nodes('db', 'app')", "12");
    sql_fixture_rows(f, "SELECT count(*) FROM nodes('db', 'app') n WHERE n.parent_key = 1", "2");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM revisions"), SIRIX_INVALID);
    assert_non_null(strstr(f->err.text, "revisions('database', 'resource'"));
    sql_fixture_rows(f,
                     "SELECT column_name, data_type, hidden FROM information_schema.columns WHERE "
                     "table_name = 'users/orders'",
                     "node_key|integer|no;id|number|no;sum|number|no;revision|integer|yes;"
                     "parent_key|integer|yes");
}

static void a_new_resource_is_there_at_once(void **state)
{
    struct sql_fixture *f = *state;

    assert_int_equal(sql_fixture_run(f, "SELECT * FROM fresh"), SIRIX_INVALID);
    sql_fixture_put(f, "db", "fresh", "[{\"a\":1}]");
    sql_fixture_rows(f, "SELECT a FROM fresh", "1");
}

static void many_columns_end_in_a_rest(void **state)
{
    struct sql_fixture *f = *state;
    char *json = malloc(64 * 1024);
    size_t len = 0;

    assert_non_null(json);
    len += (size_t)sprintf(json + len, "[{");
    for (int i = 0; i < 230; i++) {
        len += (size_t)sprintf(json + len, "%s\"c%03d\":%d", i == 0 ? "" : ",", i, i);
    }
    (void)sprintf(json + len, "}]");
    sql_fixture_put(f, "db", "wide", json);
    free(json);
    sql_fixture_rows(
        f,
        "SELECT c000, c199, json_extract(rest, '$.c200'), json_extract(rest, '$.c229'), "
        "json_extract(rest, '$.c199') FROM wide",
        "0|199|200|229|~");
    sql_fixture_rows(f, "SELECT count(*) FROM information_schema.columns WHERE table_name = 'wide'",
                     "204");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(arrays_of_objects_are_tables),
        TEST(values_keep_all_digits_and_nest_as_json),
        TEST(built_in_columns_win_and_others_get_a_number),
        TEST(a_row_is_found_by_its_key),
        TEST(rows_below_a_row_are_joined_by_its_key),
        TEST(any_revision_is_read_by_argument),
        TEST(a_null_argument_gives_no_rows),
        TEST(an_argument_that_names_nothing_is_refused),
        TEST(filters_never_lose_a_row),
        TEST(joins_by_value_are_as_without_an_index),
        TEST(plans_say_what_was_pushed_down),
        TEST(names_are_looked_for_where_they_may_be),
        TEST(what_is_not_there_is_told_with_what_is_near),
        TEST(a_table_is_found_by_its_last_part),
        TEST(columns_stand_as_they_were_first_seen),
        TEST(what_may_not_be_seen_is_not_there),
        TEST(relations_tell_of_the_store),
        TEST(a_new_resource_is_there_at_once),
        TEST(many_columns_end_in_a_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
