/*
 * Relations that are lists: what the catalogue and the history know. A list gathers its rows a page at a
 * time into memory of its own, so nothing of the store is held between two rows.
 */
#ifndef SIRIX_SQL_LIST_H
#define SIRIX_SQL_LIST_H

#include "sql/modules.h"
#include "sql/value.h"

enum {
    SIRIX_SQL_LIST_COLUMNS_MAX = 24,
    SIRIX_SQL_LIST_COSTLY = 1 << 24, /* In a plan's number: a costly column is asked for. */
    SIRIX_SQL_LIST_ARGUMENTS_MAX = 4,
    SIRIX_SQL_LIST_PAGE_BYTES_MAX = 16 * 1024 * 1024,
};

struct sirix_sql_list_column {
    const char *name;
    const char *type; /* Of information_schema. */
    bool argument;    /* Hidden, and given in brackets, in this order. */
    bool filter;      /* Visible, and an equality with it is taken: it makes the list shorter. */
    bool costly;      /* Only found out where it is asked for. */
    const char *meaning;
};

struct sirix_sql_list_row {
    struct sirix_sql_list_row *next;
    struct sirix_sql_value values[]; /* One a column of the list. */
};

/* A list that is being read. */
struct sirix_sql_list_scan {
    struct sirix_sql_session *session;
    const struct sirix_sql_list *list;
    struct sirix_sql_value
        given[SIRIX_SQL_LIST_COLUMNS_MAX]; /* What columns must be; NULL kind: any. */
    bool is_given[SIRIX_SQL_LIST_COLUMNS_MAX];
    bool is_costly;           /* Costly columns are asked for. */
    struct sirix_arena arena; /* Of the page's rows. */
    struct sirix_sql_list_row *first;
    struct sirix_sql_list_row *last;
    bool done;               /* There is no further page. */
    struct sirix_buf cursor; /* Of the next page. */
    uint64_t position;       /* Of the list: how far it is. */
    void *state;             /* Of the list; freed by `end`. */
};

struct sirix_sql_list {
    const char *name;
    const char *meaning;
    struct sirix_sql_list_column columns[SIRIX_SQL_LIST_COLUMNS_MAX];
    unsigned required; /* How many arguments must be given. */
    const char *form;  /* "revisions(database, resource)" */
    /* Adds the next page's rows and sets done after the last. */
    enum sirix_status (*page)(struct sirix_sql_list_scan *scan, struct sirix_error *err);
    void (*end)(struct sirix_sql_list_scan *scan); /* May be NULL. */
};

/* Adds a row; values are the caller's, and bytes in them live as long as the page. */
enum sirix_status sirix_sql_list_add(struct sirix_sql_list_scan *scan,
                                     const struct sirix_sql_value *values, size_t count,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same after copying the bytes. */
enum sirix_status sirix_sql_list_add_copy(struct sirix_sql_list_scan *scan,
                                          const struct sirix_sql_value *values, size_t count,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* What a column was given as text; empty: not, or as no text. */
struct sirix_bytes sirix_sql_list_given(const struct sirix_sql_list_scan *scan, size_t column);

/* Times are text, RFC 3339 in UTC, in the page's memory. */
enum sirix_status sirix_sql_list_time(struct sirix_sql_list_scan *scan, int64_t time_us,
                                      struct sirix_sql_value *out_value,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

static inline struct sirix_sql_value sirix_sql_text_value(struct sirix_bytes text)
{
    return (struct sirix_sql_value){.kind = SIRIX_SQL_TEXT, .bytes = text};
}
static inline struct sirix_sql_value sirix_sql_str_value(const char *text)
{
    return text == NULL
               ? (struct sirix_sql_value){.kind = SIRIX_SQL_NULL}
               : sirix_sql_text_value((struct sirix_bytes){.data = text, .len = strlen(text)});
}
static inline struct sirix_sql_value sirix_sql_number_value(uint64_t number)
{
    return (struct sirix_sql_value){.kind = SIRIX_SQL_INTEGER, .integer = (int64_t)number};
}

/* All of them, by the order in which they are told of; ended by NULL. */
extern const struct sirix_sql_list *const sirix_sql_lists[];
extern const struct sirix_sql_list sirix_sql_list_databases;
extern const struct sirix_sql_list sirix_sql_list_resources;
extern const struct sirix_sql_list sirix_sql_list_snapshots;
extern const struct sirix_sql_list sirix_sql_list_branches;
extern const struct sirix_sql_list sirix_sql_list_revisions;
extern const struct sirix_sql_list sirix_sql_list_changes;
extern const struct sirix_sql_list sirix_sql_list_history;
extern const struct sirix_sql_list sirix_sql_list_paths;
extern const struct sirix_sql_list sirix_sql_list_tables;  /* information_schema.tables */
extern const struct sirix_sql_list sirix_sql_list_columns; /* information_schema.columns */

/* What `nodes` has, told of like a list. */
extern const struct sirix_sql_list sirix_sql_node_columns;

/* Declares a list's columns to SQLite. */
enum sirix_status sirix_sql_list_declaration(const struct sirix_sql_list *list,
                                             struct sirix_buf *out,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* A module's context. */
struct sirix_sql_list_context {
    struct sirix_sql_session *session;
    const struct sirix_sql_list *list;
};

#endif
