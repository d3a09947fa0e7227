/* What a statement may use: memory of its own, time that it notices, functions that end, many resources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql_fixture.h"

enum { RESOURCES = 1010 };

static int set_up(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "users", "[{\"a\":1},{\"a\":2}]");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    sql_fixture_close(*state);
    free(*state);
    return 0;
}

/* Sorts so many texts of one megabyte, which all are in memory then. */
#define SORTED(megabytes)                                                                          \
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < " megabytes ") "      \
    "SELECT i FROM (SELECT i, printf('%.*c', 1000000, 'x') || i AS x FROM n) ORDER BY x"

static enum sirix_status no_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    (void)context;
    (void)columns;
    (void)count;
    (void)err;
    return SIRIX_OK;
}

/* While the outer statement holds its memory another one takes as much. */
static enum sirix_status run_another(void *context, const struct sirix_sql_value *values,
                                     size_t count, struct sirix_error *err)
{
    struct sql_fixture *f = context;

    (void)values;
    (void)count;
    (void)err;
    if (f->end.row_count == 0) {
        assert_int_equal(sql_fixture_run(f, SORTED("100")), SIRIX_OK);
        assert_int_equal(f->end.row_count, 100);
    }
    return SIRIX_OK;
}

static void memory_is_that_of_one_statement(void **state)
{
    struct sql_fixture *f = *state;
    const struct sirix_sql_sink sink = {.context = f, .columns = no_columns, .row = run_another};
    const char *sql = SORTED("100");
    const struct sirix_sql_request wanted = {.sql = {.data = sql, .len = strlen(sql)}};
    struct sirix_sql_end end;
    struct sirix_error err = {0};

    f->end.row_count = 0;
    assert_int_equal(sirix_sql_run(&f->request, &wanted, &sink, &end, &err), SIRIX_OK);
    assert_int_equal(end.row_count, 100);
    assert_int_equal(sql_fixture_run(f, SORTED("300")), SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_LIMIT);
    assert_non_null(strstr(f->err.text, "memory"));
    sql_fixture_rows(f, "SELECT a FROM users", "1;2");
}

/* --- Looks at the clock ---------------------------------------------------------------------------- */

static _Thread_local double longest_s; /* Of this thread's processor time, between two looks. */
static _Thread_local double last_look_s;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static double processor_s(void)
{
    struct timespec now;

    assert_int_equal(__real_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    const double now = processor_s();

    longest_s = last_look_s != 0 && now - last_look_s > longest_s ? now - last_look_s : longest_s;
    last_look_s = now;
    return __real_clock_gettime(clock, out);
}

/* A cancel, a deadline and the caller's going away are all noticed at these looks. */
static void a_sort_looks_at_the_clock_all_along(void **state)
{
    enum { SHARE = 10 };
    struct sql_fixture *f = *state;
    const double begin = processor_s();

    longest_s = last_look_s = 0;
    sql_fixture_rows(f,
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 600000) "
                     "SELECT count(*) FROM (SELECT 1 FROM n GROUP BY (i * 7919) % 1000003)",
                     "600000");
    const double whole = processor_s() - begin;
    last_look_s = 0;
    print_message("longest %.4f of %.4f s\n", longest_s, whole);
    assert_true(longest_s < whole / SHARE);
}

/* So many times a piece of text between a beginning and an end. */
static const char *repeated(const char *begin, const char *piece, unsigned count, const char *end)
{
    static char text[16 * 1024];
    size_t len = (size_t)snprintf(text, sizeof(text), "%s", begin);

    for (unsigned i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", piece);
    }
    assert_true(len + strlen(end) < sizeof(text));
    (void)snprintf(text + len, sizeof(text) - len, "%s", end);
    return text;
}

/* The layer of limits, with all others off and without it: nobody else refuses these. */
static void limits_alone_refuse_what_is_too_much(void **state)
{
    static const struct {
        const char *begin, *piece;
        unsigned count;
        const char *end;
    } statements[] = {
        {"SELECT 'a' LIKE printf('%.*c', 300, 'a')", "", 0, ""},
        {"SELECT hex(printf('%.*c', 2000000, 'x'))", "", 0, ""},
        {"SELECT max(1", ",1", 40, ")"},
        {"SELECT 1", " UNION ALL SELECT 1", 30, ""},
        {"SELECT 1", "+1", 120, ""},
    };
    const unsigned others =
        SIRIX_SQL_LAYER_AUTHORIZER | SIRIX_SQL_LAYER_CONNECTION | SIRIX_SQL_LAYER_STATEMENT;
    struct sql_fixture *f = *state;

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        const char *sql = repeated(statements[i].begin, statements[i].piece, statements[i].count,
                                   statements[i].end);

        f->layers_off = others;
        if (sql_fixture_run(f, sql) != SIRIX_INVALID) {
            fail_msg("not refused: %s", sql);
        }
        f->layers_off = SIRIX_SQL_LAYER_LIMITS;
        if (sql_fixture_run(f, sql) != SIRIX_OK) {
            fail_msg("refused by something else: %s: %s", sql, f->err.text);
        }
    }
    f->layers_off = 0;
}

static void what_grows_without_end_is_stopped_by_a_limit(void **state)
{
    static const char *const statements[] = {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i+1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT group_concat(i) FROM "
        "n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT json_group_array(i) "
        "FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n ORDER BY i",
        "WITH RECURSIVE n(i) AS (SELECT 'x' UNION ALL SELECT i || i FROM n) SELECT max(length(i)) "
        "FROM n",
        "SELECT replace(printf('%.*c', 1000000, 'x'), 'x', 'yyyy')",
        "SELECT hex(printf('%.*c', 2000000, 'x'))",
        "SELECT quote(printf('%.*c', 2000000, char(39)))",
        "SELECT 'a' LIKE printf('%.*c', 300, 'a')",
        "SELECT 'a' GLOB printf('%.*c', 300, 'a')",
        "SELECT max(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
        "30,31,32,33)",
        "SELECT ?100",
        "SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION "
        "SELECT 7 UNION SELECT 8 UNION SELECT 9 UNION SELECT 10 UNION SELECT 11 UNION SELECT 12 "
        "UNION SELECT 13 UNION SELECT 14 UNION SELECT 15 UNION SELECT 16 UNION SELECT 17 UNION "
        "SELECT 18 UNION SELECT 19 UNION SELECT 20 UNION SELECT 21",
        "SELECT trim('a', printf('%.*c', 1000, 'b'))",
        "SELECT count(*) FROM users a, users b, users c, users d, users e, users f, users g, users "
        "h,"
        " users i, users j, users k, users l, users m, users n, users o, users p, users q, users r,"
        " users s, users t, users u, users v, users w, users x, users y, users z, users aa, users "
        "ab",
    };
    struct sql_fixture *f = *state;

    f->wanted.time_max_ms = 600;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        const uint64_t begin = sirix_cancel_now_us();

        if (sql_fixture_run(f, statements[i]) != SIRIX_INVALID) {
            print_error("not stopped: %s\n%s\n", statements[i], f->rows);
            fail();
        }
        assert_true(sirix_cancel_now_us() - begin < 60 * 1000 * 1000);
    }
    f->wanted.time_max_ms = 0;
    /* What printf() cannot hold is NULL. */
    sql_fixture_rows(f,
                     "SELECT printf('%.*c', 1000000000, 'x'), printf('%1000000000d', 1), "
                     "printf('%.1000000000f', 1.5), a FROM users",
                     "~|~|~|1;~|~|~|2");
}

/* Deep expressions, nested subqueries and long lists of columns are refused, not run out of stack. */
static void what_is_nested_too_deep_is_refused(void **state)
{
    static const struct {
        const char *open;
        const char *middle;
        const char *close;
        int times;
    } cases[] = {
        {"SELECT ", "1", "", 0},
        {"(", "1", ")", 5000},
        {"(SELECT ", "1", ")", 2000},
        {"-", "1", "", 20000},
        {"NOT ", "1", "", 10000},
        {"1+", "1", "", 20000},
        {"abs(", "1", ")", 5000},
        {"CASE WHEN 1 THEN ", "1", " END", 2000},
        {"1 IN (", "1", ")", 5000},
        {"'a'||", "'b'", "", 10000},
        {"EXISTS (SELECT ", "1", ")", 2000},
    };
    struct sql_fixture *f = *state;
    char *sql = malloc(SIRIX_SQL_TEXT_BYTES_MAX * 2);

    assert_non_null(sql);
    for (size_t i = 1; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = (size_t)sprintf(sql, "SELECT ");

        for (int n = 0; n < cases[i].times && len < SIRIX_SQL_TEXT_BYTES_MAX; n++) {
            len += (size_t)sprintf(sql + len, "%s", cases[i].open);
        }
        len += (size_t)sprintf(sql + len, "%s", cases[i].middle);
        for (int n = 0; n < cases[i].times && len < SIRIX_SQL_TEXT_BYTES_MAX; n++) {
            len += (size_t)sprintf(sql + len, "%s", cases[i].close);
        }
        assert_int_equal(sql_fixture_run_bytes(f, (struct sirix_bytes){.data = sql, .len = len}),
                         SIRIX_INVALID);
    }
    size_t len = (size_t)sprintf(sql, "SELECT 0");
    for (int i = 0; i < 300; i++) {
        len += (size_t)sprintf(sql + len, ",%d", i);
    }
    assert_int_equal(sql_fixture_run(f, sql), SIRIX_INVALID);
    free(sql);
}

static void long_texts_are_searched_in_time(void **state)
{
    struct sql_fixture *f = *state;

    f->wanted.time_max_ms = 30000;
    sql_fixture_rows(
        f, "SELECT instr(printf('%.*c', 2000000, 'a'), printf('%.*c', 1000000, 'a') || 'b')", "0");
    sql_fixture_rows(f,
                     "SELECT length(replace(printf('%.*c', 2000000, 'a'), printf('%.*c', 1000000, "
                     "'a') || 'b', ''))",
                     "2000000");
    f->wanted.time_max_ms = 0;
}

static void our_forms_of_functions_answer_as_sqlites(void **state)
{
    static const struct {
        const char *sql;
        const char *rows;
    } cases[] = {
        {"SELECT instr('abcabc', 'ca'), instr('abc', 'x'), instr('abc', ''), instr('', 'a')",
         "3|0|1|0"},
        {"SELECT instr('a\xc3\xa4\xf0\x9f\x98\x80x', 'x'), instr(NULL, 'a'), instr('a', NULL)",
         "4|~|~"},
        {"SELECT instr(x'0001ff02', x'ff'), instr(12345, 34), instr(x'6162', 'b')", "3|3|2"},
        {"SELECT replace('aXbX', 'X', 'yy'), replace('abc', '', 'z'), replace('aaa', 'a', '')",
         "ayybyy|abc|"},
        {"SELECT replace(NULL, 'a', 'b'), replace('a', NULL, 'b'), replace('a', 'b', NULL)",
         "~|~|~"},
        {"SELECT replace(1201, 0, 'x'), typeof(replace('', 'a', 'b'))", "12x1|text"},
        {"SELECT trim('xxaxx', 'x'), ltrim('xxaxx', 'x'), rtrim('xxaxx', 'x'), trim('  a ')",
         "a|axx|xxa|a"},
        {"SELECT trim('xyaxy', 'yx'), trim('\xc3\xa4\xc3\xb6z\xc3\xa4', '\xc3\xa4\xc3\xb6')",
         "a|z"},
        {"SELECT trim('abc', ''), trim('aaa', 'a'), trim(NULL, 'a'), trim('a', NULL)", "abc||~|~"},
    };
    struct sql_fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sql_fixture_rows(f, cases[i].sql, cases[i].rows);
    }
}

static void more_resources_than_a_statement_opens_are_listed(void **state)
{
    const struct sirix_write_options options = {.message = {.data = "", .len = 0}};
    struct sql_fixture *f = *state;
    char name[32];

    for (int i = 0; i < RESOURCES; i++) {
        struct sirix_write_result result;
        const int len = snprintf(name, sizeof(name), "r%05d", i);

        assert_int_equal(
            sirix_service_create_resource(&f->request, (struct sirix_bytes){.data = "db", .len = 2},
                                          (struct sirix_bytes){.data = name, .len = (size_t)len},
                                          &options, &result, &f->err),
            SIRIX_OK);
    }
    sql_fixture_rows(f, "SELECT count(*), min(resource), max(revision) FROM resources",
                     "1011|r00000|2");
    sql_fixture_rows(f, "SELECT count(*) FROM branches", "1011");
    sql_fixture_rows(f, "SELECT count(*) FROM snapshots", "0");
    sql_fixture_rows(f,
                     "SELECT count(*) FROM information_schema.tables WHERE table_type = 'BASE "
                     "TABLE'",
                     "1");
    sql_fixture_rows(
        f, "SELECT count(*) FROM information_schema.columns WHERE table_name = 'users'", "4");
    sql_fixture_rows(f,
                     "SELECT count(DISTINCT r.resource), count(*) FROM resources r JOIN "
                     "paths(r.database, r.resource) p",
                     "1|3");
    assert_int_equal(sql_fixture_run(f, "SELECT * FROM nothing"), SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_ERROR);
}

/* --- One state ------------------------------------------------------------------------------------ */

static void *change_all(void *context)
{
    struct sql_fixture *f = context;

    sql_fixture_replace(f, "db", "users", "/[0]/a", "7");
    sql_fixture_snapshot(f, "db", "users", "late");
    sql_fixture_put(f, "db", "later", "[{\"b\":1}]");
    return NULL;
}

static enum sirix_status change_at_first_row(void *context, const struct sirix_sql_value *values,
                                             size_t count, struct sirix_error *err)
{
    struct sql_fixture *f = context;
    pthread_t thread;

    (void)err;
    if (f->end.row_count++ == 0) {
        assert_int_equal(pthread_create(&thread, NULL, change_all, f), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    for (size_t i = 0; i < count; i++) {
        f->wanted.row_max = f->wanted.row_max * 10 + (uint64_t)values[i].integer;
    }
    return SIRIX_OK;
}

static void all_lists_tell_of_the_state_that_the_statement_began_in(void **state)
{
    struct sql_fixture *f = *state;
    const struct sirix_sql_sink sink = {
        .context = f, .columns = no_columns, .row = change_at_first_row};
    /* Everything is asked again for each row, and two rows are given. */
    const char *sql =
        "SELECT a, (SELECT max(revision) FROM resources WHERE +u.a > 0), (SELECT count(*) FROM "
        "resources WHERE +u.a > 0), (SELECT count(*) FROM snapshots WHERE +u.a > 0), (SELECT "
        "revision FROM branches WHERE resource = 'users' AND +u.a > 0), (SELECT count(*) FROM "
        "revisions('db', 'users') WHERE +u.a > 0) FROM users u";
    const struct sirix_sql_request wanted = {.sql = {.data = sql, .len = strlen(sql)}};
    struct sirix_sql_end end;
    struct sirix_error err = {0};

    f->wanted.row_max = 0;
    f->end.row_count = 0;
    assert_int_equal(sirix_sql_run(&f->request, &wanted, &sink, &end, &err), SIRIX_OK);
    assert_int_equal(f->wanted.row_max, 121022221022);
    f->wanted.row_max = 0;
    sql_fixture_rows(
        f, "SELECT max(revision), count(*), (SELECT count(*) FROM snapshots) FROM resources",
        "3|2|1");
}

static void counts_of_paths_and_of_changes_are_told(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_put(f, "db", "shape",
                    "{\"u\":[{\"n\":1},{\"n\":null,\"t\":[1,2]},{\"t\":[]}],\"v\":1}");
    sql_fixture_rows(f, "SELECT path, kinds, count FROM paths('db', 'shape') ORDER BY path",
                     "|object|1;/u|array|1;/u/[]|object|3;/u/[]/n|number,null|2;"
                     "/u/[]/t|array|2;/u/[]/t/[]|number|2;/v|number|1");
    sql_fixture_rows(f, "SELECT sum(count) FROM paths('db', 'shape')", "12");
    sql_fixture_replace(f, "db", "shape", "/v", "2");
    sql_fixture_replace(f, "db", "shape", "/u", "[1]");
    sql_fixture_rows(f,
                     "SELECT revision, inserts, deletes, updates, replaces FROM "
                     "revisions('db', 'shape') WHERE revision IN (1, 3)",
                     "3|0|0|1|0;1|~|~|~|~");
    assert_int_equal(sql_fixture_run(f, "SELECT inserts + deletes + updates + replaces FROM "
                                        "revisions('db', 'shape') WHERE revision = 4"),
                     SIRIX_OK);
    assert_true(atoi(f->rows) >= 1);
    sql_fixture_rows(f, "SELECT count FROM paths('db', 'shape') WHERE path = '/u/[]/n'", "0");
}

static void a_collation_of_its_own_loses_no_row(void **state)
{
    struct sql_fixture *f = *state;

    sql_fixture_rows(f, "SELECT resource FROM resources WHERE resource = 'USERS' COLLATE NOCASE",
                     "users");
    sql_fixture_rows(f,
                     "SELECT count(*) FROM information_schema.tables WHERE table_name = 'USERS' "
                     "COLLATE NOCASE",
                     "1");
    sql_fixture_rows(f, "SELECT count(*) FROM resources WHERE resource = 'users ' COLLATE RTRIM",
                     "1");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(memory_is_that_of_one_statement),
        TEST(a_sort_looks_at_the_clock_all_along),
        TEST(limits_alone_refuse_what_is_too_much),
        TEST(what_grows_without_end_is_stopped_by_a_limit),
        TEST(what_is_nested_too_deep_is_refused),
        TEST(long_texts_are_searched_in_time),
        TEST(our_forms_of_functions_answer_as_sqlites),
        TEST(more_resources_than_a_statement_opens_are_listed),
        TEST(all_lists_tell_of_the_state_that_the_statement_began_in),
        TEST(counts_of_paths_and_of_changes_are_told),
        TEST(a_collation_of_its_own_loses_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
