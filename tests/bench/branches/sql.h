/*
 * The workflows on an SQL database, as an application would keep branches in one: every row of every
 * table is a JSON text under its key and the branch that wrote it; `lineage` has a row for a branch and
 * each of its ancestors with the distance. A branch sees of each key the row of the nearest ancestor,
 * and what is deleted is a row that is gone. Making a branch copies its parent's lineage, dropping one
 * deletes its rows. A statement is one transaction.
 *
 * The texts of the statements are the same for both databases, but for a few words.
 */
#ifndef SIRIX_TESTS_BENCH_BRANCHES_SQL_H
#define SIRIX_TESTS_BENCH_BRANCHES_SQL_H

#include <stddef.h>

#include "bench/branches/workload.h"

enum { SQL_BYTES_MAX = 4096 };

enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };

struct sql_text {
    char data[SQL_BYTES_MAX];
    size_t len;
};

void sql_statement(enum sql_dialect dialect, const char *branch,
                   const struct branches_statement *statement, struct sql_text *out_text);

/* A query of one row with one number; NULL means 0. */
void sql_question(enum sql_dialect dialect, const struct branches_scale *scale, const char *branch,
                  enum branches_question question, unsigned column, struct sql_text *out_text);

void sql_create(const char *branch, const char *parent, struct sql_text *out_text);
void sql_connect(enum sql_dialect dialect, const char *branch, struct sql_text *out_text);

/* One transaction, which `begin` begins. */
void sql_drop(const char *begin, const char *branch, struct sql_text *out_text);

/* The tables, empty, with the first branch. */
void sql_schema(enum sql_dialect dialect, struct sql_text *out_text);

#endif
