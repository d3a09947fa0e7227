/*
 * The SQL door: one statement over the facts that every other call answers from, by SQLite in memory with
 * virtual tables over the store. Nothing is copied in, and nothing can be written:
 *
 *     modules     no virtual table has a way to write, and the connection has no file
 *     authorizer  allows reading, listed functions and recursion, and refuses all else
 *     connection  query_only, defensive, no triggers, views, extensions or writable schema
 *     statement   exactly one, which has columns and which SQLite itself calls read-only
 *     limits      of text, columns, depth, operations, memory and time
 *
 * Tables     docs/sql.md lists them. What a text names is found when it is prepared, so a resource made a
 *            moment ago is there.
 * Snapshot   every statement has its own connection. Tables named in the text are opened together, at one
 *            state of each database; a revision that is known only while it runs, such as an argument of a
 *            join, is opened once and stays the same.
 * Threads    any; a statement runs on the calling thread and may take as long as it is allowed.
 */
#ifndef SIRIX_SQL_SQL_H
#define SIRIX_SQL_SQL_H

#include "service/service.h"

enum {
    SIRIX_SQL_TEXT_BYTES_MAX = 64 * 1024,
    SIRIX_SQL_VALUE_BYTES_MAX = 2 * 1024 * 1024,
    SIRIX_SQL_COLUMNS_MAX = 256,
    SIRIX_SQL_MEMORY_BYTES_MAX = 256 * 1024 * 1024, /* SQLite's, of one statement. */
    SIRIX_SQL_RUNNING_MAX = 16,                     /* Statements at once in a process. */
    SIRIX_SQL_TYPE_BYTES = 16,
};

enum sirix_sql_kind {
    SIRIX_SQL_NULL,
    SIRIX_SQL_INTEGER,
    SIRIX_SQL_REAL,
    SIRIX_SQL_TEXT,
    SIRIX_SQL_BLOB,
};

struct sirix_sql_value {
    enum sirix_sql_kind kind;
    int64_t integer;
    double real;
    struct sirix_bytes bytes; /* TEXT, which is UTF-8, and BLOB. */
};

struct sirix_sql_column {
    const char *name;
    const char *type; /* As information_schema says it: "text", "json", ...; "": an expression. */
};

/*
 * Which databases and resources a caller may see; what it may not see is not there. resource empty:
 * whether anything of the database.
 */
typedef bool (*sirix_sql_visible_fn)(void *context, struct sirix_bytes database,
                                     struct sirix_bytes resource);

struct sirix_sql_request {
    struct sirix_bytes sql;
    struct sirix_bytes
        database;         /* That bare names are looked up in; empty: all that can be seen. */
    uint64_t row_max;     /* 0: all. */
    uint64_t bytes_max;   /* Of values; 0: no limit. */
    uint32_t time_max_ms; /* 0: until the deadline of the request. */
    sirix_sql_visible_fn visible; /* NULL: everything. */
    void *visible_context;
};

/* Where an answer goes: columns once, then rows. What is pointed to is valid during the call alone. */
struct sirix_sql_sink {
    void *context;
    enum sirix_status (*columns)(void *context, const struct sirix_sql_column *columns,
                                 size_t count, struct sirix_error *err);
    enum sirix_status (*row)(void *context, const struct sirix_sql_value *values, size_t count,
                             struct sirix_error *err);
};

enum sirix_sql_cut {
    SIRIX_SQL_WHOLE,
    SIRIX_SQL_CUT_ROWS,
    SIRIX_SQL_CUT_BYTES,
};

struct sirix_sql_end {
    uint64_t row_count;
    enum sirix_sql_cut cut; /* There were more rows than that. */
};

/*
 * Runs one statement. A statement that is refused or fails is SIRIX_INVALID with what the engine says and
 * the nearest names, its reason one of sql_refused, sql_statement, sql_error and sql_limit; what it names
 * by argument and is not there fails as everywhere else. SIRIX_EXHAUSTED: too many statements are running.
 */
enum sirix_status sirix_sql_run(const struct sirix_request *request,
                                const struct sirix_sql_request *wanted,
                                const struct sirix_sql_sink *sink, struct sirix_sql_end *out_end,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
