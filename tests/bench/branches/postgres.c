/*
 * The workflows on PostgreSQL: a connection a worker, every transaction durable. The server's settings
 * are the driver's business.
 *
 *     bench_branches_postgres CONNECTION load ROWS_FILE    drops what an earlier load made
 *     bench_branches_postgres CONNECTION WORKFLOW ...      see workload.h
 */
#include <libpq-fe.h>
#include <stdio.h>

#include "bench/branches/sql.h"
#include "bench/common/measure.h"

enum { ROW_BYTES_MAX = 4096 };

struct connection {
    PGconn *db;
    struct branches_scale scale;
    struct sql_text text;
};

static double run_sql(PGconn *db, const char *sql)
{
    PGresult *result = PQexec(db, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN) {
        (void)fprintf(stderr, "%s\n", PQerrorMessage(db));
        exit(EXIT_FAILURE);
    }
    double value = PQntuples(result) == 1 ? strtod(PQgetvalue(result, 0, 0), NULL) : 0;
    PQclear(result);
    return value;
}

static void *open_connection(const char *where, const struct branches_scale *scale)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    bench_check(connection != NULL, "memory");
    connection->scale = *scale;
    connection->db = PQconnectdb(where);
    if (PQstatus(connection->db) != CONNECTION_OK) {
        (void)fprintf(stderr, "%s\n", PQerrorMessage(connection->db));
        exit(EXIT_FAILURE);
    }
    (void)run_sql(connection->db, "SET client_min_messages = warning");
    return connection;
}

static void close_connection(void *context)
{
    struct connection *connection = context;

    PQfinish(connection->db);
    free(connection);
}

static void create(void *context, const char *branch, const char *parent)
{
    struct connection *connection = context;

    sql_create(branch, parent, &connection->text);
    (void)run_sql(connection->db, connection->text.data);
}

static void connect_to(void *context, const char *branch)
{
    struct connection *connection = context;

    sql_connect(SQL_POSTGRES, branch, &connection->text);
    (void)run_sql(connection->db, connection->text.data);
}

static void drop(void *context, const char *branch)
{
    struct connection *connection = context;

    sql_drop("BEGIN", branch, &connection->text);
    (void)run_sql(connection->db, connection->text.data);
}

static void run(void *context, const char *branch, const struct branches_statement *statement)
{
    struct connection *connection = context;

    sql_statement(SQL_POSTGRES, branch, statement, &connection->text);
    (void)run_sql(connection->db, connection->text.data);
}

static double ask(void *context, const char *branch, enum branches_question question,
                  unsigned column)
{
    struct connection *connection = context;

    sql_question(SQL_POSTGRES, &connection->scale, branch, question, column, &connection->text);
    return run_sql(connection->db, connection->text.data);
}

static const struct branches_store store = {
    .open = open_connection,
    .close = close_connection,
    .create = create,
    .connect = connect_to,
    .drop = drop,
    .run = run,
    .ask = ask,
};

/* --- The seed ------------------------------------------------------------------------------------ */

/* The lines as they are: COPY's text format, as the seed's JSON has neither tabs nor backslashes. */
static void load(const char *where, const char *rows_path)
{
    const struct branches_scale none = {0};
    struct connection *connection = open_connection(where, &none);
    FILE *rows = fopen(rows_path, "r");
    char line[ROW_BYTES_MAX];

    bench_check(rows != NULL, rows_path);
    (void)run_sql(connection->db, "DROP TABLE IF EXISTS rows; DROP TABLE IF EXISTS lineage");
    sql_schema(SQL_POSTGRES, &connection->text);
    (void)run_sql(connection->db, connection->text.data);
    (void)run_sql(connection->db, "ALTER TABLE rows ALTER branch SET DEFAULT 'main'; "
                                  "ALTER TABLE rows ALTER gone SET DEFAULT 0");
    (void)run_sql(connection->db, "COPY rows (tab, k1, k2, k3, k4, doc) FROM STDIN");
    while (fgets(line, sizeof(line), rows) != NULL) {
        bench_check(PQputCopyData(connection->db, line, (int)strlen(line)) == 1, "COPY");
    }
    bench_check(PQputCopyEnd(connection->db, NULL) == 1, "COPY");
    for (PGresult *result = PQgetResult(connection->db); result != NULL;
         result = PQgetResult(connection->db)) {
        bench_check(PQresultStatus(result) == PGRES_COMMAND_OK, PQerrorMessage(connection->db));
        PQclear(result);
    }
    (void)run_sql(connection->db, "VACUUM ANALYZE rows");
    bench_check(fclose(rows) == 0, rows_path);
    close_connection(connection);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[2], "load") == 0) {
        load(argv[1], argv[3]);
        return EXIT_SUCCESS;
    }
    return branches_main(argc, argv, &store);
}
