/* count(*) without a step for each row: right wherever it may stand, and not a visit of a row where it is alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/walk.h"
#include "sql_fixture.h"

enum { ROWS = 1000, JSON_BYTES = 64 * 1024 };

static unsigned steps;

enum sirix_status __real_sirix_sql_walk_next(struct sirix_sql_walk *walk, struct sirix_error *err);
enum sirix_status __wrap_sirix_sql_walk_next(struct sirix_sql_walk *walk, struct sirix_error *err);
enum sirix_status __wrap_sirix_sql_walk_next(struct sirix_sql_walk *walk, struct sirix_error *err)
{
    steps++;
    return __real_sirix_sql_walk_next(walk, err);
}

static int set_up(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));
    char *json = malloc(JSON_BYTES);
    size_t len = 1;

    assert_non_null(f);
    assert_non_null(json);
    json[0] = '[';
    for (int i = 0; i < ROWS; i++) {
        len += (size_t)sprintf(json + len, "%s{\"a\":%d}", i == 0 ? "" : ",", i % 10);
    }
    (void)strcpy(json + len, "]");
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "big", json);
    sql_fixture_put(f, "db", "users",
                    "[{\"n\":1,\"o\":[{\"i\":1},{\"i\":2}]},{\"n\":2,\"o\":[]},{\"n\":3},"
                    "{\"n\":4,\"o\":[{\"i\":3}]}]");
    sql_fixture_put(f, "db", "mixed", "[{\"n\":1},7,{\"n\":2},null]");
    sql_fixture_put(f, "db", "none", "[{\"n\":1}]");
    sql_fixture_replace(f, "db", "none", "", "[]");
    free(json);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    sql_fixture_close(*state);
    free(*state);
    return 0;
}

static void alone_it_visits_no_row(void **state)
{
    static const struct {
        const char *sql;
        const char *rows;
    } cases[] = {
        {"SELECT count(*) FROM big", "1000"},
        {"select COUNT(*) n from big", "1000"},
        {"SELECT count(*) FROM \"db/big\" AS b", "1000"},
        {"SELECT count(*) * 2 + 1 FROM big", "2001"},
        {"SELECT count(*) FROM big HAVING count(*) > 5", "1000"},
        {"SELECT count(*) FROM big HAVING count(*) > 5000", ""},
        {"SELECT 'a', count(*) FROM big LIMIT 1", "a|1000"},
        {"SELECT count(*) FROM big WHERE revision = 2", "1000"},
        {"SELECT count(*) FROM big('main')", "1000"},
        {"SELECT count(*) FROM big WHERE 1", "1000"},
        {"SELECT count(*) FROM big WHERE 0", "0"},
        {"SELECT count(*) FROM none", "0"},
        {"SELECT count(*) FROM none(2)", "1"},
        {"SELECT count(*) FROM nodes('db', 'big')", "2001"},
    };
    struct sql_fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        steps = 0;
        sql_fixture_rows(f, cases[i].sql, cases[i].rows);
        if (steps > 4) {
            print_error("%s: %u steps\n", cases[i].sql, steps);
            fail();
        }
    }
}

static void anywhere_else_it_is_sqlites_own(void **state)
{
    static const struct {
        const char *sql;
        const char *rows;
    } cases[] = {
        {"SELECT count(1), count('x'), count(NULL), count(*) FROM big", "1000|1000|0|1000"},
        {"SELECT DISTINCT count(*) FROM big", "1000"},
        {"SELECT count(*) FROM big ORDER BY 1", "1000"},
        {"SELECT count(*) FROM (SELECT * FROM big)", "1000"},
        {"SELECT count(1) FROM big", "1000"},
        {"SELECT count(*), revision FROM big", "1000|2"},
        {"SELECT count(revision) FROM big", "1000"},
        {"SELECT revision FROM users", "2;2;2;2"},
        {"SELECT count(*), resource FROM nodes('db', 'none')", "1|none"},
        {"SELECT count(NULL) FROM big", "0"},
        {"SELECT count(DISTINCT 1) FROM big", "1"},
        {"SELECT count(DISTINCT a) FROM big", "10"},
        {"SELECT count(*) FILTER (WHERE a < 5) FROM big", "500"},
        {"SELECT count(*) FILTER (WHERE 1) FROM big", "1000"},
        {"SELECT count(*) FILTER (WHERE 0) FROM big", "0"},
        {"SELECT count(*) OVER () FROM big LIMIT 2", "1000;1000"},
        {"SELECT count(*) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM users", "1;2;2;2"},
        {"SELECT count(*) FROM big WHERE a = 3", "100"},
        {"SELECT count(*), sum(1), max(1), total(1) FROM big", "1000|1000|1|1000"},
        {"SELECT count(*), group_concat('x', '') FROM users", "4|xxxx"},
        {"SELECT sum(1) FROM big", "1000"},
        {"SELECT count(*) FROM big GROUP BY a LIMIT 2", "100;100"},
        {"SELECT count(*) FROM big GROUP BY 'x'", "1000"},
        {"SELECT count(*) FROM none GROUP BY 'x'", ""},
        {"SELECT count(*) FROM users a, users b", "16"},
        {"SELECT count(*) FROM users a JOIN mixed b", "8"},
        {"SELECT count(*) FROM users a LEFT JOIN none b", "4"},
        {"SELECT count(*) FROM users UNION ALL SELECT count(*) FROM mixed", "4;2"},
        {"SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM mixed)", "4|2"},
        {"SELECT n, (SELECT count(*) FROM mixed m WHERE m.n <= u.n) FROM users u",
         "1|1;2|2;3|2;4|2"},
        {"SELECT count(*) FROM (SELECT DISTINCT 1 FROM big)", "1"},
        {"SELECT count(*) FROM (SELECT 1 FROM big LIMIT 7)", "7"},
        {"SELECT count(*) FROM (SELECT 1 FROM users UNION ALL SELECT 1 FROM mixed)", "6"},
        {"SELECT count(*) FROM (SELECT count(*) FROM big)", "1"},
        {"SELECT 1 FROM users", "1;1;1;1"},
        {"SELECT count(*) + (SELECT count(*) FROM mixed) FROM users", "6"},
        {"SELECT count(*) FROM users WHERE EXISTS (SELECT 1 FROM mixed)", "4"},
        {"SELECT count(*) FROM users WHERE (SELECT count(*) FROM mixed) = 2", "4"},
        {"SELECT count(*) FROM users WHERE n IN (SELECT count(*) FROM mixed)", "1"},
        {"WITH c AS (SELECT count(*) n FROM users) SELECT n, count(*) FROM c", "4|1"},
        {"SELECT iif(count(*) > 3, 'many', 'few') FROM users", "many"},
        {"SELECT count(*) FROM \"users/o\"", "3"},
        {"SELECT count(*) FROM \"users/o\" WHERE parent_key IS NOT NULL", "3"},
        {"SELECT count(*) FROM mixed", "2"},
        {"SELECT count(*) FROM users WHERE node_key = 0", "0"},
        {"SELECT count(*) FROM users LIMIT 0", ""},
        {"SELECT count(*) FROM users LIMIT 1 OFFSET 1", ""},
        {"SELECT count(n) FROM users", "4"},
        {"SELECT count(o) FROM users", "3"},
        {"SELECT count(*) FROM databases", "1"},
        {"SELECT count(*) FROM json_each('[1,2,3]')", "3"},
        {"SELECT count(*) FROM (VALUES (1), (2))", "2"},
        {"SELECT count(*)", "1"},
        {"SELECT count()", "1"},
        {"SELECT avg(c) FROM (SELECT count(*) c FROM big GROUP BY a)", "100"},
        {"SELECT count(*) FROM big b JOIN json_each('[1,2]')", "2000"},
    };
    struct sql_fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sql_fixture_rows(f, cases[i].sql, cases[i].rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_visits_no_row),
        cmocka_unit_test(anywhere_else_it_is_sqlites_own),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
