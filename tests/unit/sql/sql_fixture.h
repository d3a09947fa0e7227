/* A service with some resources, and statements as text. */
#ifndef SIRIX_TESTS_SQL_FIXTURE_H
#define SIRIX_TESTS_SQL_FIXTURE_H

#include "service/catalogue.h"
#include "sql/session.h"
#include "sql/sql.h"

enum { SQL_FIXTURE_DIR_BYTES = 64, SQL_FIXTURE_TEXT_BYTES = 64 * 1024 };

struct sql_fixture {
    char dir[SQL_FIXTURE_DIR_BYTES];
    struct sirix_service *service;
    struct sirix_cancel cancel;
    struct sirix_request request;
    struct sirix_sql_request wanted;
    unsigned layers_off;
    struct sirix_sql_end end;
    struct sirix_error err;
    char columns[SQL_FIXTURE_TEXT_BYTES]; /* Of the last statement: "name:type name:type". */
    char rows[SQL_FIXTURE_TEXT_BYTES];    /* Values joined by '|', rows by ';'. NULL: "~". */
};

void sql_fixture_open(struct sql_fixture *f);
void sql_fixture_close(struct sql_fixture *f);

void sql_fixture_database(struct sql_fixture *f, const char *database);
/* Makes a resource with a value. */
void sql_fixture_put(struct sql_fixture *f, const char *database, const char *resource,
                     const char *json);
/* Replaces the value at a path by another: one revision. */
void sql_fixture_replace(struct sql_fixture *f, const char *database, const char *resource,
                         const char *path, const char *json);
void sql_fixture_snapshot(struct sql_fixture *f, const char *database, const char *resource,
                          const char *name);

enum sirix_status sql_fixture_run(struct sql_fixture *f, const char *sql);
enum sirix_status sql_fixture_run_bytes(struct sql_fixture *f, struct sirix_bytes sql);

/* Fails the test unless the statement gives exactly these rows. */
void sql_fixture_rows(struct sql_fixture *f, const char *sql, const char *rows);

#endif
