/*
 * The virtual table of one inferred table; private to table.c and table_plan.c. A plan is a number, and its
 * text names what SQLite gives:
 *
 *     bit 0  revision     the first argument
 *     bit 1  node_key     one row
 *     bit 2  parent_key   the rows below one row of the table around
 *     bit 3  nothing is asked of the rows: they are counted
 *
 * Behind the last '|' of the text are the filters: the number of a column and an operator each.
 */
#ifndef SIRIX_SQL_TABLE_H
#define SIRIX_SQL_TABLE_H

#include "sql/index.h"
#include "sql/modules.h"
#include "sql/walk.h"

enum {
    SIRIX_SQL_PLAN_REVISION = 1 << 0,
    SIRIX_SQL_PLAN_NODE_KEY = 1 << 1,
    SIRIX_SQL_PLAN_PARENT_KEY = 1 << 2,
    SIRIX_SQL_PLAN_COUNT = 1 << 3,
    SIRIX_SQL_FILTERS_MAX = 8,
    SIRIX_SQL_JOINED_MAX = 8,
};

struct sirix_sql_table_vtab {
    struct sirix_sql_vtab vtab;
    struct sirix_sql_table *shape;
    int revision_column;
    int parent_column;
    /* Columns that were looked for by a value; the second time they get an index, which stays. */
    struct sirix_sql_joined {
        int column;
        struct sirix_sql_view *view;
        struct sirix_sql_index *index; /* NULL: it was looked for once. */
    } joined[SIRIX_SQL_JOINED_MAX];
    size_t joined_count;
};

struct sirix_sql_table_cursor {
    sqlite3_vtab_cursor base;
    struct sirix_sql_walk walk;
    bool walking; /* walk is made, for `view`. */
    struct sirix_sql_view *view;
    int plan;
    bool eof;
    const struct sirix_sql_index *index; /* Rows come from it; NULL: from the walk. */
    size_t index_at;
    struct sirix_sql_filter filters[SIRIX_SQL_FILTERS_MAX];
    struct sirix_buf filter_texts[SIRIX_SQL_FILTERS_MAX];
    size_t filter_count;
    struct sirix_buf scratch;
    uint64_t counted;
    struct sirix_sql_table_column {
        struct sirix_stored_name name;
        uint32_t guess;
    } columns[SIRIX_SQL_MEMBER_COLUMNS_MAX + 4];
};

int sirix_sql_table_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                            sqlite3_vtab **out_table, char **out_message);
int sirix_sql_table_disconnect(sqlite3_vtab *vtab);
int sirix_sql_table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

#endif
