/* The virtual tables of a connection. None of them has a way to write. */
#ifndef SIRIX_SQL_MODULES_H
#define SIRIX_SQL_MODULES_H

#include "sql/schema.h"

extern const sqlite3_module sirix_sql_table_module;
extern const sqlite3_module sirix_sql_node_module;
extern const sqlite3_module sirix_sql_list_module;

/* Allocates a virtual table of size bytes and declares it; SQLite's number. */
int sirix_sql_declare(sqlite3 *db, struct sirix_sql_session *session, const char *declaration,
                      size_t size, sqlite3_vtab **out_table);
int sirix_sql_disconnect(sqlite3_vtab *table);
int sirix_sql_close_plain(sqlite3_vtab_cursor *cursor);

/* Appends a name in double quotes. */
enum sirix_status sirix_sql_quote(struct sirix_buf *out, const char *name,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* First member of every virtual table here. */
struct sirix_sql_vtab {
    sqlite3_vtab base;
    struct sirix_sql_session *session;
};

/* The plan of a scan as text, which EXPLAIN QUERY PLAN shows: "node_key= name>". */
struct sirix_sql_plan {
    char text[1024];
    size_t len;
    int argument_count;
};
/* Takes a constraint into the plan: how it is written and what SQLite gives for it. False: no room. */
bool sirix_sql_plan_take(struct sirix_sql_plan *plan, sqlite3_index_info *info, int constraint,
                         const char *column, bool omit);
/* Hands the plan over; SQLite's number. */
int sirix_sql_plan_give(const struct sirix_sql_plan *plan, sqlite3_index_info *info, int number,
                        double cost, int64_t rows);
const char *sirix_sql_operator(int op);

/* Whether one of the values is NULL: nothing equals it, so a scan that is to be at it has no rows. */
bool sirix_sql_has_null(sqlite3_value *const *values, int count);

/*
 * A value as an argument that names a revision, a database or a resource: text, or a whole number. Neither
 * NULL nor an empty text: SIRIX_INVALID, because they would stand for what was not given.
 */
enum sirix_status sirix_sql_spec_from(struct sirix_sql_session *session, sqlite3_value *value,
                                      struct sirix_bytes *out_spec,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* A value as a node key; false: it can be none. */
bool sirix_sql_key_from(sqlite3_value *value, uint64_t *out_key);

#endif
