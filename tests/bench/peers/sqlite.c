/*
 * SQLite in the same role: one JSON text a record, and a history table that the update fills. WAL,
 * synchronous=FULL, so a commit is on disk when it returns.
 *
 *     bench_sqlite FILE import LINES_FILE          a row a line
 *     bench_sqlite FILE json_each JSON_FILE        the rows of an array, by json_each
 *     bench_sqlite FILE export                     all rows, in order
 *     bench_sqlite FILE commits SECONDS COUNT CLIENTS SEED
 *     bench_sqlite FILE reads READS                newest and oldest version
 *     bench_sqlite FILE diff CHANGES               records before and after the last CHANGES updates
 *     bench_sqlite FILE array READS JSON_FILE      element i of one JSON text
 *     bench_sqlite FILE open
 *
 * `nosync` after the command's arguments sets synchronous=OFF.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

#include "bench/common/measure.h"

enum { CLIENTS_MAX = 256, BLOCK = 100, BUSY_MS = 60 * 1000 };

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, version INTEGER NOT NULL DEFAULT "
    "0,"
    " doc TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS history (id INTEGER, version INTEGER, doc TEXT NOT NULL,"
    " PRIMARY KEY (id, version)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS versions (version INTEGER PRIMARY KEY, id INTEGER NOT NULL,"
    " at TEXT NOT NULL);";

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", sql, message);
        exit(EXIT_FAILURE);
    }
}

static sqlite3 *open_db(const char *path, bool sync)
{
    sqlite3 *db = NULL;

    bench_check(sqlite3_open(path, &db) == SQLITE_OK, path);
    (void)sqlite3_busy_timeout(db, BUSY_MS);
    run_sql(db, "PRAGMA journal_mode=WAL");
    run_sql(db, sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        exit(EXIT_FAILURE);
    }
    return statement;
}

static void step_done(sqlite3_stmt *statement)
{
    bench_check(sqlite3_step(statement) == SQLITE_DONE, sqlite3_sql(statement));
    (void)sqlite3_reset(statement);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = prepare(db, sql);
    int64_t value = 0;

    bench_check(sqlite3_step(statement) == SQLITE_ROW, sql);
    value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return value;
}

static void print_db_bytes(sqlite3 *db)
{
    bench_print("file_bytes", (double)number(db, "SELECT page_count * page_size"
                                                 " FROM pragma_page_count, pragma_page_size"));
}

/* --- Import and export ------------------------------------------------------------------------- */

static void insert_lines(sqlite3 *db, const char *path)
{
    const struct sirix_bytes all = bench_map_file(path);
    const char *at = all.data;
    const char *const end = at + all.len;
    sqlite3_stmt *statement = prepare(db, "INSERT INTO records (doc) VALUES (?)");

    run_sql(db, "BEGIN");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        (void)sqlite3_bind_text(statement, 1, at, (int)(stop - at), SQLITE_STATIC);
        step_done(statement);
        at = stop + 1;
    }
    run_sql(db, "COMMIT");
    (void)sqlite3_finalize(statement);
}

static void insert_json_each(sqlite3 *db, const char *path)
{
    const struct sirix_bytes all = bench_map_file(path);
    sqlite3_stmt *statement =
        prepare(db, "INSERT INTO records (doc) SELECT value FROM json_each(?)");

    (void)sqlite3_bind_text64(statement, 1, all.data, all.len, SQLITE_STATIC, SQLITE_UTF8);
    step_done(statement);
    (void)sqlite3_finalize(statement);
}

static void run_import(sqlite3 *db, const char *path, void (*insert)(sqlite3 *, const char *))
{
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();
    struct bench_memory *memory = bench_memory_start(0);

    insert(db, path);
    run_sql(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    wall = bench_wall_s() - wall;
    cpu = bench_cpu_s() - cpu;
    bench_memory_stop(memory);
    bench_print("wall_s", wall);
    bench_print("cpu_s", cpu);
    print_db_bytes(db);
}

static void run_export(sqlite3 *db)
{
    double bytes = 0;

    for (size_t round = 0; round < 2; round++) {
        sqlite3_stmt *statement = prepare(db, "SELECT doc FROM records ORDER BY id");
        double wall = bench_wall_s();
        double cpu = bench_cpu_s();
        bytes = 0;
        while (sqlite3_step(statement) == SQLITE_ROW) {
            (void)sqlite3_column_text(statement, 0);
            bytes += sqlite3_column_bytes(statement, 0) + 1;
        }
        (void)sqlite3_finalize(statement);
        bench_print(round == 0 ? "first_wall_s" : "wall_s", bench_wall_s() - wall);
        bench_print(round == 0 ? "first_cpu_s" : "cpu_s", bench_cpu_s() - cpu);
    }
    bench_print("bytes", bytes);
}

/* --- Commits ----------------------------------------------------------------------------------- */

struct client {
    const char *path;
    bool sync;
    uint64_t random;
    uint64_t records;
    double until;
    uint64_t count;
    uint64_t commits;
    struct bench_times times;
};

static void *run_client(void *context)
{
    struct client *client = context;
    sqlite3 *db = open_db(client->path, client->sync);
    sqlite3_stmt *keep =
        prepare(db, "INSERT INTO history SELECT id, version, doc FROM records WHERE id = ?");
    sqlite3_stmt *note =
        prepare(db, "INSERT INTO versions (id, at) VALUES (?, strftime('%Y-%m-%dT%H:%M:%f'))");
    sqlite3_stmt *update = prepare(db, "UPDATE records SET version = ?,"
                                       " doc = json_set(doc, '$.balance', ?) WHERE id = ?");

    while (client->count != 0 ? client->commits < client->count : bench_wall_s() < client->until) {
        int64_t id = 1 + (int64_t)bench_random(&client->random, client->records);
        double start = bench_wall_s();
        run_sql(db, "BEGIN IMMEDIATE");
        (void)sqlite3_bind_int64(keep, 1, id);
        step_done(keep);
        (void)sqlite3_bind_int64(note, 1, id);
        step_done(note);
        (void)sqlite3_bind_int64(update, 1, sqlite3_last_insert_rowid(db));
        (void)sqlite3_bind_double(update, 2,
                                  (double)bench_random(&client->random, 100000000) / 100);
        (void)sqlite3_bind_int64(update, 3, id);
        step_done(update);
        run_sql(db, "COMMIT");
        bench_times_add(&client->times, (bench_wall_s() - start) * 1e6);
        client->commits++;
    }
    (void)sqlite3_finalize(keep);
    (void)sqlite3_finalize(note);
    (void)sqlite3_finalize(update);
    (void)sqlite3_close(db);
    return NULL;
}

static void run_commits(sqlite3 *db, bool sync, char **arguments)
{
    static struct client clients[CLIENTS_MAX];
    static pthread_t threads[CLIENTS_MAX];
    size_t count = strtoull(arguments[3], NULL, 10);
    double before = (double)number(db, "SELECT page_count * page_size"
                                       " FROM pragma_page_count, pragma_page_size");
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();
    struct bench_times times = {0};
    double commits = 0;

    bench_check(count >= 1 && count <= CLIENTS_MAX, "the number of clients");
    for (size_t i = 0; i < count; i++) {
        clients[i] = (struct client){.path = arguments[0],
                                     .sync = sync,
                                     .random = strtoull(arguments[4], NULL, 10) * 1000 + i,
                                     .records = (uint64_t)number(db, "SELECT max(id) FROM records"),
                                     .until = wall + strtod(arguments[1], NULL),
                                     .count = strtoull(arguments[2], NULL, 10)};
        bench_check(pthread_create(&threads[i], NULL, run_client, &clients[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++) {
        bench_check(pthread_join(threads[i], NULL) == 0, "joining a thread");
        commits += (double)clients[i].commits;
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
    run_sql(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    bench_print("file_bytes", ((double)number(db, "SELECT page_count * page_size"
                                                  " FROM pragma_page_count, pragma_page_size") -
                               before) /
                                  commits);
    bench_times_deinit(&times);
}

/* --- Reads ------------------------------------------------------------------------------------- */

/* Blocks of look-ups of random ids (rows: how many there are; ids[] NULL: 1 to rows). */
static void time_reads(sqlite3 *db, const char *sql, const char *name, const int64_t *ids,
                       uint64_t rows, uint64_t reads)
{
    sqlite3_stmt *statement = prepare(db, sql);
    struct bench_times times = {0};
    uint64_t random = 3;

    run_sql(db, "BEGIN");
    for (uint64_t block = 0; block <= reads / BLOCK; block++) {
        double start = bench_wall_s();
        for (size_t i = 0; i < BLOCK; i++) {
            uint64_t at = bench_random(&random, rows);
            (void)sqlite3_bind_int64(statement, 1, ids == NULL ? (int64_t)at + 1 : ids[at]);
            bench_check(sqlite3_step(statement) == SQLITE_ROW, sql);
            (void)sqlite3_column_text(statement, 0);
            (void)sqlite3_reset(statement);
        }
        bench_times_add(&times, (bench_wall_s() - start) * 1e6 / BLOCK);
    }
    run_sql(db, "COMMIT");
    bench_print(name, bench_times_at(&times, 0.5));
    bench_times_deinit(&times);
    (void)sqlite3_finalize(statement);
}

static void run_reads(sqlite3 *db, uint64_t reads)
{
    uint64_t rows = (uint64_t)number(db, "SELECT max(id) FROM records");

    time_reads(db, "SELECT json_extract(doc, '$.balance') FROM records WHERE id = ?", "newest_us",
               NULL, rows, reads);
    /* The first version: of the history if the record was changed since, else the record's own. */
    time_reads(db,
               "SELECT json_extract(coalesce("
               "(SELECT doc FROM history WHERE history.id = records.id AND version >= 0"
               " ORDER BY version LIMIT 1), doc), '$.balance') FROM records WHERE id = ?",
               "oldest_us", NULL, rows, reads);
    bench_print("versions", (double)number(db, "SELECT count(*) FROM versions"));
}

static void run_diff(sqlite3 *db, const char *changes)
{
    int64_t since =
        number(db, "SELECT coalesce(max(version), 0) FROM versions") - strtoll(changes, NULL, 10);
    sqlite3_stmt *statement = prepare(
        db, "SELECT r.id, (SELECT doc FROM history AS h WHERE h.id = r.id AND h.version <= ?1"
            " ORDER BY h.version DESC LIMIT 1), r.doc FROM records AS r JOIN"
            " (SELECT DISTINCT id FROM versions WHERE version > ?1) AS v ON v.id = r.id");
    struct bench_times times = {0};
    double rows = 0;

    for (size_t i = 0; i < 5; i++) {
        double start = bench_wall_s();
        rows = 0;
        (void)sqlite3_bind_int64(statement, 1, since);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            (void)sqlite3_column_text(statement, 1);
            (void)sqlite3_column_text(statement, 2);
            rows++;
        }
        (void)sqlite3_reset(statement);
        bench_times_add(&times, (bench_wall_s() - start) * 1e6);
    }
    bench_print("diff_us", bench_times_at(&times, 0.5));
    bench_print("rows", rows);
    bench_times_deinit(&times);
    (void)sqlite3_finalize(statement);
}

static void run_array(sqlite3 *db, uint64_t reads, const char *path)
{
    const struct sirix_bytes all = bench_map_file(path);
    sqlite3_stmt *statement = NULL;
    struct bench_times times = {0};
    uint64_t random = 5;
    uint64_t count = 0;

    run_sql(db, "CREATE TABLE IF NOT EXISTS arrays (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)");
    statement = prepare(db, "INSERT OR REPLACE INTO arrays VALUES (1, ?)");
    (void)sqlite3_bind_text64(statement, 1, all.data, all.len, SQLITE_STATIC, SQLITE_UTF8);
    step_done(statement);
    (void)sqlite3_finalize(statement);
    count = (uint64_t)number(db, "SELECT json_array_length(doc) FROM arrays");
    statement = prepare(db, "SELECT json_extract(doc, '$[' || ? || ']') FROM arrays");
    for (uint64_t i = 0; i < reads; i++) {
        double start = bench_wall_s();
        (void)sqlite3_bind_int64(statement, 1, (int64_t)bench_random(&random, count));
        bench_check(sqlite3_step(statement) == SQLITE_ROW, "an element");
        (void)sqlite3_column_text(statement, 0);
        (void)sqlite3_reset(statement);
        bench_times_add(&times, (bench_wall_s() - start) * 1e6);
    }
    bench_print("element_us", bench_times_at(&times, 0.5));
    bench_times_deinit(&times);
    (void)sqlite3_finalize(statement);
    /* The same as a table with a row an element: what its user would make of it. */
    run_sql(db,
            "CREATE TABLE IF NOT EXISTS elements (id INTEGER PRIMARY KEY, value);"
            "DELETE FROM elements;"
            "INSERT INTO elements (value) SELECT value FROM json_each((SELECT doc FROM arrays))");
    time_reads(db, "SELECT value FROM elements WHERE id = ?", "row_us", NULL, count, 20000);
}

int main(int argc, char **argv)
{
    bool sync = argc < 3 || strcmp(argv[argc - 1], "nosync") != 0;
    int count = argc - 3 - (sync ? 0 : 1);
    const char *command = argc < 3 ? "" : argv[2];
    double wall = bench_wall_s();
    sqlite3 *db = NULL;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s FILE COMMAND [ARGUMENT...] [nosync]\n", argv[0]);
        return EXIT_FAILURE;
    }
    db = open_db(argv[1], sync);
    run_sql(db, schema);
    bench_print("open_us", (bench_wall_s() - wall) * 1e6);
    if (strcmp(command, "import") == 0 && count == 1) {
        run_import(db, argv[3], insert_lines);
    } else if (strcmp(command, "json_each") == 0 && count == 1) {
        run_import(db, argv[3], insert_json_each);
    } else if (strcmp(command, "export") == 0) {
        run_export(db);
    } else if (strcmp(command, "commits") == 0 && count == 4) {
        char *arguments[] = {argv[1], argv[3], argv[4], argv[5], argv[6]};
        run_commits(db, sync, arguments);
    } else if (strcmp(command, "reads") == 0 && count == 1) {
        run_reads(db, strtoull(argv[3], NULL, 10));
    } else if (strcmp(command, "diff") == 0 && count == 1) {
        run_diff(db, argv[3]);
    } else if (strcmp(command, "array") == 0 && count == 2) {
        run_array(db, strtoull(argv[3], NULL, 10), argv[4]);
    } else {
        bench_check(strcmp(command, "open") == 0, "reading the command");
    }
    (void)sqlite3_close(db);
    return EXIT_SUCCESS;
}
