/*
 * The workflows on SQLite: a file in WAL mode, a connection a worker, every transaction synced.
 *
 *     bench_branches_sqlite FILE load ROWS_FILE
 *     bench_branches_sqlite FILE WORKFLOW ...        see workload.h
 */
#include <sqlite3.h>
#include <stdio.h>

#include "bench/branches/sql.h"
#include "bench/common/measure.h"

enum { BUSY_MS = 600000, ROW_BYTES_MAX = 4096 };

struct connection {
    sqlite3 *db;
    struct branches_scale scale;
    struct sql_text text;
};

static void check(sqlite3 *db, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE) {
        (void)fprintf(stderr, "%s\n", sqlite3_errmsg(db));
        exit(EXIT_FAILURE);
    }
}

static void run_sql(sqlite3 *db, const char *sql)
{
    check(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static void *open_file(const char *where, const struct branches_scale *scale)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    bench_check(connection != NULL, "memory");
    connection->scale = *scale;
    check(connection->db, sqlite3_open(where, &connection->db));
    check(connection->db, sqlite3_busy_timeout(connection->db, BUSY_MS));
    run_sql(connection->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
    return connection;
}

static void close_file(void *context)
{
    struct connection *connection = context;

    check(connection->db, sqlite3_close(connection->db));
    free(connection);
}

static double one_number(struct connection *connection)
{
    sqlite3_stmt *statement = NULL;

    check(connection->db,
          sqlite3_prepare_v2(connection->db, connection->text.data, -1, &statement, NULL));
    int rc = sqlite3_step(statement);
    check(connection->db, rc);
    double value = rc == SQLITE_ROW ? sqlite3_column_double(statement, 0) : 0;
    check(connection->db, sqlite3_finalize(statement));
    return value;
}

static void create(void *context, const char *branch, const char *parent)
{
    struct connection *connection = context;

    sql_create(branch, parent, &connection->text);
    run_sql(connection->db, connection->text.data);
}

static void connect_to(void *context, const char *branch)
{
    struct connection *connection = context;

    sql_connect(SQL_SQLITE, branch, &connection->text);
    (void)one_number(connection);
}

static void drop(void *context, const char *branch)
{
    struct connection *connection = context;

    sql_drop("BEGIN IMMEDIATE", branch, &connection->text);
    run_sql(connection->db, connection->text.data);
}

static void run(void *context, const char *branch, const struct branches_statement *statement)
{
    struct connection *connection = context;

    /* A write that begins as a read cannot wait for another writer. */
    run_sql(connection->db, "BEGIN IMMEDIATE");
    sql_statement(SQL_SQLITE, branch, statement, &connection->text);
    run_sql(connection->db, connection->text.data);
    run_sql(connection->db, "COMMIT");
}

static double ask(void *context, const char *branch, enum branches_question question,
                  unsigned column)
{
    struct connection *connection = context;

    sql_question(SQL_SQLITE, &connection->scale, branch, question, column, &connection->text);
    return one_number(connection);
}

static const struct branches_store store = {
    .open = open_file,
    .close = close_file,
    .create = create,
    .connect = connect_to,
    .drop = drop,
    .run = run,
    .ask = ask,
};

/* --- The seed ------------------------------------------------------------------------------------ */

static void load(const char *where, const char *rows_path)
{
    const struct branches_scale none = {0};
    struct connection *connection = open_file(where, &none);
    sqlite3_stmt *insert = NULL;
    FILE *rows = fopen(rows_path, "r");
    char line[ROW_BYTES_MAX];

    bench_check(rows != NULL, rows_path);
    sql_schema(SQL_SQLITE, &connection->text);
    run_sql(connection->db, connection->text.data);
    run_sql(connection->db, "BEGIN");
    check(connection->db,
          sqlite3_prepare_v2(connection->db,
                             "INSERT INTO rows (tab, k1, k2, k3, k4, doc, branch, gone) "
                             "VALUES (?, ?, ?, ?, ?, ?, 'main', 0)",
                             -1, &insert, NULL));
    while (fgets(line, sizeof(line), rows) != NULL) {
        char *at = line;

        line[strcspn(line, "\n")] = '\0';
        for (int i = 1; i <= 6; i++) { /* JSON has no tabs of its own here. */
            size_t len = strcspn(at, "\t");

            check(connection->db, sqlite3_bind_text(insert, i, at, (int)len, SQLITE_STATIC));
            at += len + (at[len] == '\t' ? 1 : 0);
        }
        check(connection->db, sqlite3_step(insert));
        check(connection->db, sqlite3_reset(insert));
    }
    check(connection->db, sqlite3_finalize(insert));
    run_sql(connection->db, "COMMIT");
    bench_check(fclose(rows) == 0, rows_path);
    close_file(connection);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[2], "load") == 0) {
        load(argv[1], argv[3]);
        return EXIT_SUCCESS;
    }
    return branches_main(argc, argv, &store);
}
