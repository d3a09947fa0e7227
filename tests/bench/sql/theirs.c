/* SQLite on a table of JSON text, in WAL mode with a cache that holds all of it, statements from text. */
#include "bench/sql/sides.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/measure.h"

struct theirs {
    sqlite3 *db;
};

static void must(const struct theirs *theirs, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE) {
        (void)fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(theirs->db));
        exit(EXIT_FAILURE);
    }
}

static void load(struct theirs *theirs, const char *table, const char *file)
{
    const struct sirix_bytes text = bench_map_file(file);
    const char *at = text.data;
    const char *end = at + text.len;
    sqlite3_stmt *insert = NULL;
    char sql[128];

    (void)snprintf(sql, sizeof(sql), "CREATE TABLE %s(id INTEGER PRIMARY KEY, doc TEXT)", table);
    must(theirs, sqlite3_exec(theirs->db, sql, NULL, NULL, NULL));
    (void)snprintf(sql, sizeof(sql), "INSERT INTO %s(doc) VALUES (?)", table);
    must(theirs, sqlite3_prepare_v2(theirs->db, sql, -1, &insert, NULL));
    must(theirs, sqlite3_exec(theirs->db, "BEGIN", NULL, NULL, NULL));
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *stop = line == NULL ? end : line;

        if (stop != at) {
            must(theirs, sqlite3_bind_text(insert, 1, at, (int)(stop - at), SQLITE_STATIC));
            must(theirs, sqlite3_step(insert));
            must(theirs, sqlite3_reset(insert));
        }
        at = line == NULL ? end : line + 1;
    }
    must(theirs, sqlite3_exec(theirs->db, "COMMIT", NULL, NULL, NULL));
    (void)sqlite3_finalize(insert);
}

struct theirs *theirs_open(const char *file, const char *records_lines, const char *others_lines)
{
    struct theirs *theirs = calloc(1, sizeof(*theirs));

    bench_check(theirs != NULL, "memory");
    must(theirs, sqlite3_open(file, &theirs->db));
    must(theirs, sqlite3_exec(theirs->db,
                              "PRAGMA journal_mode=WAL; PRAGMA cache_size=-2000000; PRAGMA "
                              "temp_store=MEMORY",
                              NULL, NULL, NULL));
    load(theirs, "records", records_lines);
    load(theirs, "others", others_lines);
    return theirs;
}

void theirs_close(struct theirs *theirs)
{
    (void)sqlite3_close(theirs->db);
    free(theirs);
}

void theirs_run(struct theirs *theirs, const char *sql, struct side_answer *out)
{
    enum { NUMBER = 64 };
    sqlite3_stmt *statement = NULL;
    int rc = SQLITE_ROW;

    out->text[0] = '\0';
    out->rows = 0;
    must(theirs, sqlite3_prepare_v2(theirs->db, sql, -1, &statement, NULL));
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            char number[NUMBER];

            if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
                (void)snprintf(number, sizeof(number), "%.6g", sqlite3_column_double(statement, i));
                side_add(out, number, strlen(number), i == 0);
            } else if (sqlite3_column_type(statement, i) == SQLITE_NULL) {
                side_add(out, "~", 1, i == 0);
            } else {
                side_add(out, (const char *)sqlite3_column_text(statement, i),
                         (size_t)sqlite3_column_bytes(statement, i), i == 0);
            }
        }
        out->rows++;
    }
    must(theirs, rc);
    (void)sqlite3_finalize(statement);
}
