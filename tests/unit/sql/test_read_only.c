/*
 * Reading only, as a property of the connection: every kind of statement that is none of reading, against
 * each layer alone. What a layer does not know of, it lets pass; the column says which ones refuse.
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
#include <unistd.h>

#include "base/sha256.h"
#include "sql_fixture.h"

enum {
    A = SIRIX_SQL_LAYER_AUTHORIZER,
    C = SIRIX_SQL_LAYER_CONNECTION,
    S = SIRIX_SQL_LAYER_STATEMENT,
    M = 1 << 8, /* The modules, with all layers off. */
    L = SIRIX_SQL_LAYER_LIMITS,
};

enum { FILE_BYTES_MAX = 1024 * 1024, PATH_BYTES = 128 };

/* What no layer needs to know: it is a syntax error, or names what is not there. */
enum { X = A | C | S | M };

static const struct {
    const char *sql;
    unsigned refused_by; /* Each of them alone. */
} statements[] = {
    {"INSERT INTO users(a) VALUES (1)", A | C | S | M},
    {"INSERT INTO users DEFAULT VALUES", A | C | S | M},
    {"INSERT OR REPLACE INTO users(a) VALUES (1)", A | C | S | M},
    {"REPLACE INTO users(a) VALUES (1)", A | C | S | M},
    {"INSERT INTO nodes(value) VALUES (1)", A | C | S | M},
    {"INSERT INTO revisions(message) VALUES ('x')", A | C | S | M},
    {"INSERT INTO information_schema.tables(table_name) VALUES ('x')", A | C | S | M},
    {"INSERT INTO users(a) SELECT 1 RETURNING *", A | C | S | M},
    {"UPDATE users SET a = 0", A | C | S | M},
    {"UPDATE nodes SET value = 0", A | C | S | M},
    {"UPDATE OR IGNORE users SET a = 0 WHERE node_key = 2", A | C | S | M},
    {"DELETE FROM users", A | C | S | M},
    {"DELETE FROM users RETURNING *", A | C | S | M},
    {"DELETE FROM branches", A | C | S | M},
    {"WITH x AS (SELECT 1) DELETE FROM users", A | C | S | M},
    {"WITH x(v) AS (SELECT 1) UPDATE users SET a = (SELECT v FROM x)", A | C | S | M},
    {"WITH x AS (SELECT 1) INSERT INTO users(a) SELECT * FROM x", A | C | S | M},
    {"EXPLAIN DELETE FROM users", A | C | S | M},
    {"EXPLAIN SELECT 1", S},
    {"CREATE TABLE t(a)", A | C | S},
    {"CREATE TABLE t AS SELECT 1", A | C | S},
    {"CREATE TABLE information_schema.t(a)", A | C | S},
    {"CREATE TEMP TABLE t AS SELECT 1", A | C | S},
    {"CREATE TEMP TABLE t(a)", A | C | S},
    {"CREATE INDEX i ON users(a)", A | C | S | M},
    {"CREATE UNIQUE INDEX i ON users(a)", A | C | S | M},
    {"CREATE VIEW v AS SELECT 1", A | C | S},
    {"CREATE TEMP VIEW v AS SELECT 1", A | C | S},
    {"CREATE TRIGGER g AFTER INSERT ON users BEGIN SELECT 1; END", A | C | S | M},
    {"CREATE TEMP TRIGGER g AFTER INSERT ON users BEGIN SELECT 1; END", A | C | S | M},
    {"CREATE VIRTUAL TABLE v USING fts5(a)", A | C | S},
    {"CREATE VIRTUAL TABLE v USING sirix_table", A | C | S | M},
    {"CREATE VIRTUAL TABLE v USING sirix_tables", A | C | S | M},
    {"CREATE VIRTUAL TABLE temp.v USING rtree(a, b, c)", A | C | S},
    {"DROP TABLE users", A | C | S},
    {"DROP TABLE information_schema.tables", A | C | S},
    {"DROP TABLE IF EXISTS nothing", A | C | S | M},
    {"DROP INDEX IF EXISTS nothing", A | C | S | M},
    {"DROP VIEW IF EXISTS nothing", A | C | S | M},
    {"DROP TRIGGER IF EXISTS nothing", A | C | S | M},
    {"DROP TABLE nodes", A | C | S | M},
    {"ALTER TABLE users RENAME TO gone", A | C | S},
    {"ALTER TABLE users ADD COLUMN b", A | C | S | M},
    {"ALTER TABLE users RENAME COLUMN a TO b", A | C | S | M},
    {"ALTER TABLE users DROP COLUMN a", A | C | S | M},
    {"ATTACH DATABASE 'other.db' AS o", A | S},
    {"ATTACH ':memory:' AS o", A | S},
    {"DETACH information_schema", A | S},
    {"PRAGMA writable_schema = ON", A | S},
    {"PRAGMA query_only = OFF", A | S},
    {"PRAGMA journal_mode = DELETE", A | S},
    {"PRAGMA user_version = 5", A | C | S},
    {"PRAGMA table_list", A},
    {"PRAGMA database_list", A},
    {"PRAGMA hard_heap_limit = 1", A},
    {"PRAGMA wal_checkpoint", A | S},
    {"PRAGMA trusted_schema = ON", A | S},
    {"SELECT * FROM pragma_table_info('users')", A},
    {"SELECT * FROM pragma_database_list", A},
    {"SELECT * FROM sqlite_schema", A},
    {"SELECT * FROM sqlite_master", A},
    {"SELECT * FROM information_schema.sqlite_master", A},
    {"SELECT * FROM sqlite_temp_schema", A},
    {"SELECT * FROM sqlite_dbpage", A | C | S | M},
    {"SELECT * FROM dbstat", A},
    {"SELECT * FROM sirix_table", A | C | S | M},
    {"SELECT * FROM sirix_tables", A | C | S | M},
    {"VACUUM", A | C | S},
    {"VACUUM INTO 'copy.db'", A | C | S},
    {"VACUUM information_schema INTO 'copy.db'", A | C | S},
    {"REINDEX", S},
    {"REINDEX users", A | C | S | M},
    {"ANALYZE", A | C | S},
    {"ANALYZE users", A | C | S},
    {"BEGIN", A | S},
    {"BEGIN IMMEDIATE", A | C | S},
    {"COMMIT", A | C | S | M},
    {"END", A | C | S | M},
    {"ROLLBACK", A | C | S | M},
    {"SAVEPOINT s", A | S},
    {"RELEASE s", A | C | S | M},
    {"ROLLBACK TO s", A | C | S | M},
    {"SELECT load_extension('x')", A | C | S | M},
    {"SELECT writefile('f', 'x')", A | C | S | M},
    {"SELECT readfile('/etc/passwd')", A | C | S | M},
    {"SELECT fts3_tokenizer('simple')", A},
    {"SELECT zeroblob(10)", A},
    {"SELECT randomblob(10)", A},
    {"SELECT random()", A},
    {"SELECT last_insert_rowid()", A},
    {"SELECT changes()", A},
    {"SELECT sqlite_version()", A},
    {"SELECT sqlite_compileoption_get(0)", A},
    {"SELECT sqlite_log(1, 'x')", A},
    {"SELECT a FROM users ORDER BY random()", A},
    {"SELECT 1; SELECT 2", S},
    {"SELECT 1; DROP TABLE users", S},
    {"SELECT 1 -- x\n; DELETE FROM users", S},
    {"SELECT 1;;; x", S},
    {"PRAGMA schema_version", A},
    {"PRAGMA application_id = 7", A | C | S},
    {"PRAGMA foreign_keys = ON", A | S},
    {"PRAGMA temp_store_directory = '/tmp'", A | C | S | M},
    {"PRAGMA data_store_directory = '/tmp'", A | S},
    {"PRAGMA cache_spill = OFF", A | S},
    {"PRAGMA mmap_size = 1000000", A},
    {"PRAGMA locking_mode = EXCLUSIVE", A},
    {"PRAGMA synchronous = OFF", A | S},
    {"PRAGMA encoding = 'UTF-16'", A | S},
    {"PRAGMA incremental_vacuum", A | C | S},
    {"PRAGMA optimize", A},
    {"PRAGMA shrink_memory", A | S},
    {"PRAGMA integrity_check", A},
    {"PRAGMA main.page_count", A},
    {"PRAGMA function_list", A},
    {"PRAGMA module_list", A},
    {"PRAGMA compile_options", A},
    {"PRAGMA table_info(users)", A},
    {"PRAGMA index_list(users)", A},
    {"PRAGMA recursive_triggers = ON", A | S},
    {"PRAGMA legacy_alter_table = ON", A | S},
    {"PRAGMA cell_size_check = ON", A | S},
    {"PRAGMA threads = 8", A},
    {"PRAGMA analysis_limit = 0", A},
    {"PRAGMA case_sensitive_like = ON", A | S},
    {"SELECT * FROM pragma_function_list", A},
    {"SELECT * FROM pragma_compile_options", A},
    {"SELECT * FROM pragma_table_list", A},
    {"SELECT * FROM sqlite_stmt", A},
    {"SELECT * FROM bytecode('SELECT 1')", X},
    {"SELECT * FROM tables_used('SELECT 1')", X},
    {"SELECT * FROM sqlite_sequence", X},
    {"SELECT * FROM sqlite_stat1", X},
    {"SELECT * FROM fsdir('/')", X},
    {"SELECT * FROM generate_series(1, 2)", X},
    {"SELECT * FROM zipfile('x.zip')", X},
    {"SELECT * FROM csv", X},
    {"SELECT edit('x')", X},
    {"SELECT readfile('x', 1)", X},
    {"SELECT fts5(1)", A},
    {"SELECT fts5_source_id()", A},
    {"SELECT match('a', 'b')", X},
    {"SELECT 'a' MATCH 'b'", X},
    {"SELECT 'a' REGEXP 'b'", X},
    {"SELECT snippet(users) FROM users", X},
    {"SELECT rtreecheck('x')", X},
    {"SELECT rtreenode(2, x'00')", A},
    {"SELECT geopoly_json(x'00')", X},
    {"SELECT json_patch('{}', '{}')", A},
    {"SELECT randomblob(1000000000)", A},
    {"SELECT zeroblob(1000000000)", A},
    {"SELECT total_changes()", A},
    {"SELECT sqlite_source_id()", A},
    {"SELECT sqlite_compileoption_used('x')", A},
    {"SELECT sqlite_offset(a) FROM users", X},
    {"SELECT subtype('x')", A},
    {"SELECT likely(random())", A},
    {"SELECT hex(randomblob(8))", A},
    {"SELECT count(random()) OVER () FROM users", A},
    {"SELECT a FROM users WHERE random() > 0", A},
    {"SELECT a FROM users GROUP BY random()", A},
    {"SELECT (SELECT random())", A},
    {"SELECT * FROM (SELECT load_extension('x'))", X},
    {"WITH x AS (SELECT random() r) SELECT r FROM x", A},
    {"SELECT max(a) FILTER (WHERE random() > 0) FROM users", A},
    {"SELECT a FROM users LIMIT random()", A},
    {"INSERT INTO users(a) VALUES (1) ON CONFLICT DO NOTHING", X},
    {"INSERT INTO users(a) VALUES (1) ON CONFLICT(a) DO UPDATE SET a = 2", X},
    {"INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)", X},
    {"INSERT INTO json_each VALUES (1)", X},
    {"UPDATE users SET a = 1 RETURNING a", X},
    {"UPDATE users SET a = v FROM (SELECT 1 v)", X},
    {"UPDATE sqlite_master SET sql = ''", X},
    {"UPDATE information_schema.columns SET hidden = 'no'", X},
    {"DELETE FROM sqlite_master", X},
    {"DELETE FROM information_schema.tables", X},
    {"DELETE FROM users WHERE 0", X},
    {"DELETE FROM users LIMIT 1", X},
    {"DELETE FROM nodes", X},
    {"DELETE FROM resources WHERE resource = 'users'", X},
    {"REPLACE INTO nodes(value) VALUES (1)", X},
    {"INSERT INTO json_tree VALUES (1)", X},
    {"CREATE TABLE IF NOT EXISTS users(a)", A | C | S},
    {"CREATE TABLE t(a) STRICT", X},
    {"CREATE TABLE t(a PRIMARY KEY) WITHOUT ROWID", A | C | S},
    {"CREATE TABLE temp.t(a)", A | C | S},
    {"CREATE TEMPORARY TABLE t(a)", A | C | S},
    {"CREATE VIEW IF NOT EXISTS v AS SELECT * FROM users", A | C | S},
    {"CREATE TEMP VIEW IF NOT EXISTS v AS SELECT 1", A | C | S},
    {"CREATE VIRTUAL TABLE IF NOT EXISTS v USING fts5(a)", A | C | S},
    {"CREATE VIRTUAL TABLE v USING dbstat", A | C | S},
    {"CREATE VIRTUAL TABLE v USING json_each", X},
    {"CREATE VIRTUAL TABLE v USING nodes", X},
    {"CREATE VIRTUAL TABLE v USING fts3(a)", A | C | S},
    {"CREATE VIRTUAL TABLE v USING fts4(a)", A | C | S},
    {"CREATE VIRTUAL TABLE v USING csv(filename='/etc/passwd')", X},
    {"CREATE INDEX IF NOT EXISTS i ON users(a)", X},
    {"CREATE INDEX i ON information_schema.tables(table_name)", X},
    {"CREATE INDEX i ON sqlite_master(name)", X},
    {"CREATE TRIGGER g INSTEAD OF DELETE ON users BEGIN SELECT 1; END", X},
    {"CREATE TRIGGER g BEFORE UPDATE ON information_schema.tables BEGIN SELECT 1; END", X},
    {"DROP TABLE IF EXISTS users", S},
    {"DROP TABLE information_schema.columns", A | C | S},
    {"DROP TABLE sqlite_master", X},
    {"DROP VIEW users", X},
    {"DROP INDEX users", X},
    {"DROP TRIGGER users", X},
    {"DROP TABLE main.users", A | C | S},
    {"DROP TABLE json_each", X},
    {"ALTER TABLE information_schema.tables RENAME TO x", A | C | S},
    {"ALTER TABLE sqlite_master RENAME TO x", X},
    {"ALTER TABLE nodes ADD COLUMN b", X},
    {"ATTACH '/etc/passwd' AS o", A | S},
    {"ATTACH '' AS o", A | S},
    {"ATTACH x'6f' AS o", A | S},
    {"ATTACH DATABASE ':memory:' AS main", X},
    {"DETACH DATABASE main", X},
    {"DETACH temp", X},
    {"VACUUM main", A | C | S},
    {"REINDEX main", X},
    {"REINDEX BINARY", S},
    {"ANALYZE main", A | C | S},
    {"ANALYZE sqlite_schema", A | C | S},
    {"BEGIN EXCLUSIVE", A | C | S},
    {"BEGIN DEFERRED TRANSACTION", A | S},
    {"COMMIT TRANSACTION", X},
    {"END TRANSACTION", X},
    {"ROLLBACK TRANSACTION", X},
    {"SAVEPOINT \"users\"", A | S},
    {"RELEASE SAVEPOINT s", X},
    {"ROLLBACK TO SAVEPOINT s", X},
    {"EXPLAIN INSERT INTO users(a) VALUES (1)", X},
    {"EXPLAIN QUERY PLAN DELETE FROM users", X},
    {"EXPLAIN PRAGMA table_list", A | S},
    {"EXPLAIN ATTACH 'x' AS o", A | S},
    {"EXPLAIN QUERY PLAN CREATE TABLE t(a)", A | S},
    {"EXPLAIN VACUUM", S},
    {"SELECT 1; VACUUM INTO 'copy.db'", S},
    {"SELECT 1; ATTACH 'other.db' AS o", S},
    {"SELECT 1 /* x */; PRAGMA query_only = 0", S},
    {"SELECT ';'; DELETE FROM users", S},
    {"SELECT 1;/**/;--\nDELETE FROM users", S},
    {"VALUES (1); VALUES (2)", S},
    {"/* nothing", X},
    {"   ", X},
    {"SELECT 1 UNION SELECT * FROM pragma_database_list", X},
    {"SELECT (SELECT name FROM sqlite_master)", A},
    {"SELECT 1 WHERE EXISTS (SELECT 1 FROM sqlite_schema)", A},
    {"WITH x AS (SELECT * FROM sqlite_master) SELECT count(*) FROM x", A},
    {"WITH x AS (SELECT 1) REPLACE INTO users(a) SELECT * FROM x", X},
    {"WITH RECURSIVE x(i) AS (SELECT 1) DELETE FROM users WHERE a IN x", X},
    {"WITH x AS (DELETE FROM users RETURNING a) SELECT * FROM x", X},
    {".tables", X},
    {".shell ls", X},
    {"SHOW TABLES", X},
    {"DESCRIBE users", X},
    {"SET x = 1", X},
    {"GRANT ALL ON users TO x", X},
    {"TRUNCATE users", X},
    {"MERGE INTO users USING x ON 1", X},
    {"CALL f()", X},
    {"COPY users TO '/tmp/x'", X},
    {"LOAD DATA INFILE 'x'", X},
    {"SELECT * INTO t FROM users", X},
    {"SELECT * FROM users FOR UPDATE", X},
    {"LOCK TABLE users", X},
    {"DO 1", X},
    {"KILL 1", X},
    {"USE db", X},
    {";", A | C | S | M},
    {"-- nothing", A | C | S | M},
};

/* Of the file that holds the database, which only writers touch. */
static void hash_file(const struct sql_fixture *f, uint8_t out[SIRIX_SHA256_BYTES])
{
    static uint8_t bytes[FILE_BYTES_MAX];
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/databases/db/data.mdb", f->dir);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t len = fread(bytes, 1, sizeof(bytes), file);
    assert_true(len > 0 && len < sizeof(bytes));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sirix_sha256(bytes, len, out, NULL), SIRIX_OK);
}

static uint8_t untouched[SIRIX_SHA256_BYTES]; /* The file's hash before the statements. */

static int set_up(void **state)
{
    struct sql_fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    sql_fixture_open(f);
    sql_fixture_put(f, "db", "users", "[{\"a\":1},{\"a\":2}]");
    hash_file(f, untouched);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    sql_fixture_close(*state);
    free(*state);
    return 0;
}

static void unchanged(struct sql_fixture *f)
{
    uint8_t now[SIRIX_SHA256_BYTES];

    hash_file(f, now);
    assert_memory_equal(now, untouched, sizeof(now));
    f->layers_off = 0;
    sql_fixture_rows(f, "SELECT revision, (SELECT group_concat(a) FROM users) FROM resources",
                     "2|1,2");
    assert_int_not_equal(access("other.db", F_OK), 0);
    assert_int_not_equal(access("copy.db", F_OK), 0);
}

/* Without any layer these would make files, so they are tried with all of them alone. */
static const char *const files[] = {
    "VACUUM main INTO 'copy.db'",
    "VACUUM INTO 'other.db'",
    "ATTACH 'file:other.db?mode=rwc' AS o",
    "SELECT 1; VACUUM INTO 'copy.db'",
};

static void nothing_but_reading_passes_all_layers(void **state)
{
    struct sql_fixture *f = *state;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(sql_fixture_run(f, files[i]), SIRIX_INVALID);
        unchanged(f);
    }

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        f->layers_off = 0;
        if (sql_fixture_run(f, statements[i].sql) != SIRIX_INVALID) {
            print_error("not refused: %s\n", statements[i].sql);
            fail();
        }
        unchanged(f);
    }
}

static void each_layer_alone_refuses_what_it_knows(void **state)
{
    static const unsigned layers[] = {A, C, S, M};
    const unsigned all = A | C | S | L;
    struct sql_fixture *f = *state;
    bool as_told = true;

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        unsigned refused = 0;

        for (size_t l = 0; l < sizeof(layers) / sizeof(layers[0]); l++) {
            f->layers_off = all & ~layers[l];
            if (sql_fixture_run(f, statements[i].sql) == SIRIX_OK) {
                unchanged(f);
            } else {
                refused |= layers[l];
            }
        }
        if (refused != statements[i].refused_by) {
            print_error("%s%s%s%s\t%s\n", refused & A ? "A" : "", refused & C ? "C" : "",
                        refused & S ? "S" : "", refused & M ? "M" : "", statements[i].sql);
            as_told = false;
        }
    }
    unchanged(f);
    assert_true(as_told);
}

/* Other doors keep their rights while a statement runs: what another thread writes is seen after it. */
static void *write_meanwhile(void *context)
{
    sql_fixture_replace(context, "db", "users", "/[0]/a", "7");
    sql_fixture_snapshot(context, "db", "users", "meanwhile");
    sql_fixture_put(context, "db", "more", "[{\"b\":3}]");
    sql_fixture_database(context, "other");
    sql_fixture_put(context, "other", "third", "[{\"c\":4}]");
    return NULL;
}

static enum sirix_status no_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    (void)context;
    (void)columns;
    (void)count;
    (void)err;
    return SIRIX_OK;
}

static enum sirix_status write_at_first_row(void *context, const struct sirix_sql_value *values,
                                            size_t count, struct sirix_error *err)
{
    struct sql_fixture *f = context;
    pthread_t thread;

    (void)count;
    (void)err;
    if (f->end.row_count++ == 0) {
        assert_int_equal(pthread_create(&thread, NULL, write_meanwhile, f), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    f->wanted.row_max += (uint64_t)values[0].integer;
    return SIRIX_OK;
}

static void other_doors_write_while_a_statement_reads_its_snapshot(void **state)
{
    struct sql_fixture *f = *state;
    const struct sirix_sql_sink sink = {
        .context = f, .columns = no_columns, .row = write_at_first_row};
    const char *sql = "SELECT a FROM users UNION ALL SELECT a FROM users";
    const struct sirix_sql_request wanted = {.sql = {.data = sql, .len = strlen(sql)}};
    struct sirix_sql_end end;
    struct sirix_error err = {0};

    f->wanted.row_max = 0;
    f->end.row_count = 0;
    assert_int_equal(sirix_sql_run(&f->request, &wanted, &sink, &end, &err), SIRIX_OK);
    assert_int_equal(end.row_count, 4);
    assert_int_equal(f->wanted.row_max, 1 + 2 + 1 + 2);
    f->wanted.row_max = 0;
    sql_fixture_rows(f, "SELECT a FROM users", "7;2");
    sql_fixture_rows(f, "SELECT a FROM users WHERE revision = 'meanwhile'", "7;2");
    sql_fixture_rows(f, "SELECT b, c FROM more, third", "3|4");
}

static void a_text_with_a_zero_byte_or_bad_utf8_is_refused(void **state)
{
    struct sql_fixture *f = *state;
    static const char zero[] = "SELECT 1\0; DROP TABLE users";
    static const char bad[] = "SELECT '\xff'";

    assert_int_equal(
        sql_fixture_run_bytes(f, (struct sirix_bytes){.data = zero, .len = sizeof(zero) - 1}),
        SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_STATEMENT);
    assert_int_equal(
        sql_fixture_run_bytes(f, (struct sirix_bytes){.data = bad, .len = sizeof(bad) - 1}),
        SIRIX_INVALID);
    unchanged(f);
}

static void answers_are_cut_where_they_are_told(void **state)
{
    struct sql_fixture *f = *state;
    const char *many =
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 50) "
        "SELECT i, 'abcdefgh' FROM n";

    f->wanted.row_max = 3;
    assert_int_equal(sql_fixture_run(f, many), SIRIX_OK);
    assert_int_equal(f->end.row_count, 3);
    assert_int_equal(f->end.cut, SIRIX_SQL_CUT_ROWS);
    f->wanted.row_max = 50;
    assert_int_equal(sql_fixture_run(f, many), SIRIX_OK);
    assert_int_equal(f->end.cut, SIRIX_SQL_WHOLE);
    f->wanted.bytes_max = 100;
    assert_int_equal(sql_fixture_run(f, many), SIRIX_OK);
    assert_int_equal(f->end.row_count, 2);
    assert_int_equal(f->end.cut, SIRIX_SQL_CUT_BYTES);
    f->wanted.row_max = 0;
    f->wanted.bytes_max = 0;
}

static const char *const endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";

static void an_endless_statement_ends_at_its_time(void **state)
{
    struct sql_fixture *f = *state;
    const uint64_t begin = sirix_cancel_now_us();

    f->wanted.time_max_ms = 200;
    assert_int_equal(sql_fixture_run(f, endless), SIRIX_INVALID);
    assert_int_equal(f->err.reason, SIRIX_REASON_SQL_LIMIT);
    assert_true(sirix_cancel_now_us() - begin >= 200000);
    f->wanted.time_max_ms = 0;
    f->cancel.deadline_us = sirix_cancel_now_us() + 100000;
    assert_int_equal(sql_fixture_run(f, endless), SIRIX_DEADLINE);
    f->cancel.deadline_us = UINT64_MAX;
    atomic_store(&f->cancel.cancelled, true);
    assert_int_equal(sql_fixture_run(f, endless), SIRIX_CANCELLED);
    atomic_store(&f->cancel.cancelled, false);
    unchanged(f);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_but_reading_passes_all_layers),
        TEST(each_layer_alone_refuses_what_it_knows),
        TEST(other_doors_write_while_a_statement_reads_its_snapshot),
        TEST(a_text_with_a_zero_byte_or_bad_utf8_is_refused),
        TEST(answers_are_cut_where_they_are_told),
        TEST(an_endless_statement_ends_at_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
