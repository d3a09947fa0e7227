/* A connection that can read and nothing else: made, set up, and locked, in the order that SQLite needs. */
#ifndef SIRIX_SQL_LOCK_H
#define SIRIX_SQL_LOCK_H

#include "sql/list.h"
#include "sql/session.h"

enum { SIRIX_SQL_MODULES_MAX = 16 };

struct sirix_sql_connection {
    struct sirix_sql_list_context lists[SIRIX_SQL_MODULES_MAX];
    size_t list_count;
};

/* Opens session->db with all relations. contexts live as long as it. */
enum sirix_status sirix_sql_connection_open(struct sirix_sql_session *session,
                                            struct sirix_sql_connection *connection,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Makes an inferred table known. The connection is not locked for good yet. */
enum sirix_status sirix_sql_connection_add(struct sirix_sql_session *session,
                                           const struct sirix_sql_table *table, const char *name,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Nothing can be made any more. */
enum sirix_status sirix_sql_connection_lock(struct sirix_sql_session *session,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Adds our forms of functions that could run for very long; SQLite's number. */
int sirix_sql_functions_add(sqlite3 *db);

/*
 * Lets a statement whose rows are only counted be given one row for many. No statement is open, and the text
 * must be prepared again.
 */
enum sirix_status sirix_sql_count_whole(struct sirix_sql_session *session,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The authorizer, with the session as its context. */
int sirix_sql_authorize(void *context, int action, const char *first, const char *second,
                        const char *database, const char *trigger);

#endif
