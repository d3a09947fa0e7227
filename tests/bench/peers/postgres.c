/*
 * PostgreSQL in the same role: one jsonb a record, and a trigger that keeps the old row in a history
 * table. The server's settings are the driver's business: fsync and synchronous_commit on.
 *
 *     bench_postgres CONNECTION import LINES_FILE       a row a line, by COPY
 *     bench_postgres CONNECTION export                  all rows, in order
 *     bench_postgres CONNECTION commits SECONDS COUNT CLIENTS SEED sync|nosync
 *                                                       for SECONDS, or COUNT each if it is not 0
 *     bench_postgres CONNECTION reads READS             newest and oldest version, prepared
 *     bench_postgres CONNECTION diff CHANGES            records before and after the last updates
 *     bench_postgres CONNECTION array READS FILE        an element of a jsonb array, and of a table
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>

#include "bench/common/measure.h"

enum { CLIENTS_MAX = 256, PIECE_BYTES = 256 * 1024 };

static const char schema[] =
    "DROP TABLE IF EXISTS records, history; DROP SEQUENCE IF EXISTS versions;"
    "CREATE SEQUENCE versions CACHE 1;"
    "CREATE TABLE records (id bigserial PRIMARY KEY, version bigint NOT NULL DEFAULT 0,"
    " doc jsonb NOT NULL);"
    "CREATE TABLE history (id bigint, version bigint, ended bigint, at timestamptz DEFAULT now(),"
    " doc jsonb NOT NULL, PRIMARY KEY (id, version));"
    "CREATE INDEX history_ended ON history (ended);"
    "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " NEW.version := nextval('versions');"
    " INSERT INTO history (id, version, ended, doc)"
    " VALUES (OLD.id, OLD.version, NEW.version, OLD.doc);"
    " RETURN NEW; END $$;"
    "CREATE TRIGGER keep BEFORE UPDATE ON records FOR EACH ROW EXECUTE FUNCTION keep();";

static void check_result(PGconn *connection, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN &&
        status != PGRES_SINGLE_TUPLE && status != PGRES_COPY_OUT) {
        (void)fprintf(stderr, "%s\n", PQerrorMessage(connection));
        exit(EXIT_FAILURE);
    }
}

static void run_sql(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);

    check_result(connection, result);
    PQclear(result);
}

static PGconn *connect_to(const char *where)
{
    PGconn *connection = PQconnectdb(where);

    if (PQstatus(connection) != CONNECTION_OK) {
        (void)fprintf(stderr, "%s\n", PQerrorMessage(connection));
        exit(EXIT_FAILURE);
    }
    run_sql(connection, "SET client_min_messages = warning");
    return connection;
}

static double number(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    double value = 0;

    check_result(connection, result);
    value = strtod(PQgetvalue(result, 0, 0), NULL);
    PQclear(result);
    return value;
}

/* Of the backend that serves the connection. */
static double backend_cpu_s(PGconn *connection)
{
    char path[64];
    char line[1024];
    const char *at = NULL;
    char *end = NULL;
    double user = 0;
    FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", PQbackendPID(connection));
    file = fopen(path, "r");
    bench_check(file != NULL && fgets(line, sizeof(line), file) != NULL, path);
    (void)fclose(file);
    at = strrchr(line, ')');
    bench_check(at != NULL, path);
    /* utime and stime are the 12th and 13th fields behind the name. */
    for (size_t i = 0; i < 12; i++) {
        at = strchr(at + 1, ' ');
        bench_check(at != NULL, path);
    }
    user = strtod(at, &end);
    return (user + strtod(end, NULL)) / 100;
}

static double table_bytes(PGconn *connection)
{
    return number(connection, "SELECT pg_total_relation_size('records')"
                              " + pg_total_relation_size('history')");
}

/* --- Import and export ------------------------------------------------------------------------- */

/* Lines of COPY's text format: backslashes are doubled. */
static void copy_lines(PGconn *connection, const char *path)
{
    const struct sirix_bytes all = bench_map_file(path);
    const char *data = all.data;
    char *piece = malloc(2 * PIECE_BYTES);
    PGresult *result = PQexec(connection, "COPY records (doc) FROM STDIN");

    bench_check(piece != NULL, "memory");
    check_result(connection, result);
    PQclear(result);
    for (size_t at = 0; at < all.len;) {
        int len = 0;
        for (size_t i = 0; i < PIECE_BYTES && at < all.len; i++, at++) {
            if (data[at] == '\\') {
                piece[len++] = '\\';
            }
            piece[len++] = data[at];
        }
        bench_check(PQputCopyData(connection, piece, len) == 1, "COPY");
    }
    bench_check(PQputCopyEnd(connection, NULL) == 1, "COPY");
    while ((result = PQgetResult(connection)) != NULL) {
        check_result(connection, result);
        PQclear(result);
    }
    free(piece);
}

static void run_import(PGconn *connection, const char *path)
{
    struct bench_memory *memory = NULL;
    double wall = 0;
    double cpu = 0;

    run_sql(connection, schema);
    memory = bench_memory_start(PQbackendPID(connection));
    wall = bench_wall_s();
    cpu = backend_cpu_s(connection) + bench_cpu_s();
    copy_lines(connection, path);
    wall = bench_wall_s() - wall;
    cpu = backend_cpu_s(connection) + bench_cpu_s() - cpu;
    bench_memory_stop(memory);
    bench_print("wall_s", wall);
    bench_print("cpu_s", cpu);
    run_sql(connection, "CHECKPOINT");
    bench_print("file_bytes", table_bytes(connection));
}

static void run_export(PGconn *connection)
{
    double wall = bench_wall_s();
    double cpu = backend_cpu_s(connection) + bench_cpu_s();
    double bytes = 0;
    char *line = NULL;
    int len = 0;

    run_sql(connection, "COPY (SELECT doc FROM records ORDER BY id) TO STDOUT");
    while ((len = PQgetCopyData(connection, &line, 0)) > 0) {
        bytes += len;
        PQfreemem(line);
    }
    bench_check(len == -1, "COPY");
    bench_print("wall_s", bench_wall_s() - wall);
    bench_print("cpu_s", backend_cpu_s(connection) + bench_cpu_s() - cpu);
    bench_print("bytes", bytes);
}

/* --- Commits ----------------------------------------------------------------------------------- */

struct client {
    const char *where;
    bool sync;
    uint64_t random;
    uint64_t records;
    double until;
    uint64_t count; /* 0: until then. */
    uint64_t commits;
    double cpu_s;
    struct bench_times times;
};

static void execute(PGconn *connection, const char *name, const char *const *values, int count)
{
    PGresult *result = PQexecPrepared(connection, name, count, values, NULL, NULL, 0);

    check_result(connection, result);
    PQclear(result);
}

static void prepare(PGconn *connection, const char *name, const char *sql)
{
    PGresult *result = PQprepare(connection, name, sql, 0, NULL);

    check_result(connection, result);
    PQclear(result);
}

static void *run_client(void *context)
{
    struct client *client = context;
    PGconn *connection = connect_to(client->where);

    run_sql(connection,
            client->sync ? "SET synchronous_commit = on" : "SET synchronous_commit = off");
    prepare(connection, "update",
            "UPDATE records SET doc = jsonb_set(doc, '{balance}', $1::jsonb) WHERE id = $2");
    while (client->count != 0 ? client->commits < client->count : bench_wall_s() < client->until) {
        char value[32];
        char id[32];
        const char *const values[] = {value, id};
        double start = bench_wall_s();
        (void)snprintf(value, sizeof(value), "%.2f",
                       (double)bench_random(&client->random, 100000000) / 100);
        (void)snprintf(id, sizeof(id), "%" PRIu64,
                       1 + bench_random(&client->random, client->records));
        execute(connection, "update", values, 2);
        bench_times_add(&client->times, (bench_wall_s() - start) * 1e6);
        client->commits++;
    }
    client->cpu_s = backend_cpu_s(connection);
    PQfinish(connection);
    return NULL;
}

static void run_commits(PGconn *connection, char **arguments)
{
    static struct client clients[CLIENTS_MAX];
    static pthread_t threads[CLIENTS_MAX];
    size_t count = strtoull(arguments[2], NULL, 10);
    uint64_t records = (uint64_t)number(connection, "SELECT max(id) FROM records");
    double before = table_bytes(connection);
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();
    struct bench_times times = {0};
    double commits = 0;

    bench_check(count >= 1 && count <= CLIENTS_MAX, "the number of clients");
    for (size_t i = 0; i < count; i++) {
        clients[i] = (struct client){.where = arguments[5],
                                     .sync = strcmp(arguments[4], "sync") == 0,
                                     .random = strtoull(arguments[3], NULL, 10) * 1000 + i,
                                     .records = records,
                                     .until = wall + strtod(arguments[0], NULL),
                                     .count = strtoull(arguments[1], NULL, 10)};
        bench_check(pthread_create(&threads[i], NULL, run_client, &clients[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++) {
        bench_check(pthread_join(threads[i], NULL) == 0, "joining a thread");
        commits += (double)clients[i].commits;
        cpu -= clients[i].cpu_s;
        for (size_t j = 0; j < clients[i].times.count; j++) {
            bench_times_add(&times, clients[i].times.us[j]);
        }
        bench_times_deinit(&clients[i].times);
    }
    bench_print("commits", commits);
    bench_print("rate", commits / (bench_wall_s() - wall));
    bench_print("cpu_us", (bench_cpu_s() - cpu) * 1e6 / commits);
    bench_print("p50_us", bench_times_at(&times, 0.5));
    bench_print("p99_us", bench_times_at(&times, 0.99));
    run_sql(connection, "CHECKPOINT");
    bench_print("file_bytes", (table_bytes(connection) - before) / commits);
    bench_times_deinit(&times);
}

/* --- Reads ------------------------------------------------------------------------------------- */

static void time_reads(PGconn *connection, const char *name, uint64_t rows, uint64_t reads)
{
    struct bench_times times = {0};
    uint64_t random = 3;

    for (uint64_t i = 0; i < reads; i++) {
        char id[32];
        const char *const values[] = {id};
        double start = bench_wall_s();
        (void)snprintf(id, sizeof(id), "%" PRIu64, 1 + bench_random(&random, rows));
        execute(connection, name, values, 1);
        bench_times_add(&times, (bench_wall_s() - start) * 1e6);
    }
    bench_print(name, bench_times_at(&times, 0.5));
    bench_times_deinit(&times);
}

static void run_reads(PGconn *connection, uint64_t reads)
{
    uint64_t rows = (uint64_t)number(connection, "SELECT max(id) FROM records");

    prepare(connection, "newest_us", "SELECT doc->'balance' FROM records WHERE id = $1");
    prepare(
        connection, "oldest_us",
        "SELECT coalesce((SELECT doc FROM history h WHERE h.id = r.id ORDER BY version LIMIT 1),"
        " doc)->'balance' FROM records r WHERE id = $1");
    time_reads(connection, "newest_us", rows, reads);
    time_reads(connection, "oldest_us", rows, reads);
}

static void run_diff(PGconn *connection, const char *changes)
{
    const char *const values[] = {changes};
    struct bench_times times = {0};

    run_sql(connection, "ANALYZE records, history");
    prepare(connection, "diff",
            "SELECT r.id, h.doc, r.doc FROM (SELECT id, min(version) AS version FROM history"
            " WHERE ended > (SELECT max(ended) FROM history) - $1::bigint GROUP BY id) AS v"
            " JOIN history AS h ON h.id = v.id AND h.version = v.version"
            " JOIN records AS r ON r.id = v.id");
    for (size_t i = 0; i < 5; i++) {
        double start = bench_wall_s();
        execute(connection, "diff", values, 1);
        bench_times_add(&times, (bench_wall_s() - start) * 1e6);
    }
    bench_print("diff_us", bench_times_at(&times, 0.5));
    bench_times_deinit(&times);
}

static void insert_array(PGconn *connection, const char *path)
{
    const struct sirix_bytes all = bench_map_file(path);
    char *text = malloc(all.len + 1);
    const char *values[1];

    bench_check(text != NULL, "memory");
    memcpy(text, all.data, all.len);
    text[all.len] = 0;
    values[0] = text;
    run_sql(connection, "DROP TABLE IF EXISTS arrays, elements; CREATE TABLE arrays (doc jsonb)");
    prepare(connection, "insert", "INSERT INTO arrays VALUES ($1::jsonb)");
    execute(connection, "insert", values, 1);
    free(text);
}

static void run_array(PGconn *connection, uint64_t reads, const char *path)
{
    uint64_t count = 0;

    insert_array(connection, path);
    count = (uint64_t)number(connection, "SELECT jsonb_array_length(doc) FROM arrays");
    prepare(connection, "element_us", "SELECT doc->($1::int - 1) FROM arrays");
    time_reads(connection, "element_us", count, reads);
    /* The same as a table with a row an element: what its user would make of it. */
    run_sql(connection, "CREATE TABLE elements (id bigserial PRIMARY KEY, value jsonb);"
                        "INSERT INTO elements (value)"
                        " SELECT value FROM arrays, jsonb_array_elements(doc);"
                        "ANALYZE elements");
    prepare(connection, "row_us", "SELECT value FROM elements WHERE id = $1");
    time_reads(connection, "row_us", count, 20 * reads);
}

int main(int argc, char **argv)
{
    double wall = bench_wall_s();
    PGconn *connection = NULL;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s CONNECTION COMMAND [ARGUMENT...]\n", argv[0]);
        return EXIT_FAILURE;
    }
    connection = connect_to(argv[1]);
    bench_print("open_us", (bench_wall_s() - wall) * 1e6);
    if (argc == 4 && strcmp(argv[2], "import") == 0) {
        run_import(connection, argv[3]);
    } else if (argc == 3 && strcmp(argv[2], "export") == 0) {
        run_export(connection);
    } else if (argc == 8 && strcmp(argv[2], "commits") == 0) {
        char *arguments[] = {argv[3], argv[4], argv[5], argv[6], argv[7], argv[1]};
        run_commits(connection, arguments);
    } else if (argc == 4 && strcmp(argv[2], "reads") == 0) {
        run_reads(connection, strtoull(argv[3], NULL, 10));
    } else if (argc == 4 && strcmp(argv[2], "diff") == 0) {
        run_diff(connection, argv[3]);
    } else if (argc == 5 && strcmp(argv[2], "array") == 0) {
        run_array(connection, strtoull(argv[3], NULL, 10), argv[4]);
    } else {
        bench_check(false, "reading the command");
    }
    PQfinish(connection);
    return EXIT_SUCCESS;
}
