/*
 * Tables that are inferred: every array of objects in a resource. Names and columns come from the path
 * summary, so none of it reads a document.
 *
 * Names      the resource for the array that is its value; `resource/a/b` for one in a member; elements in
 *            between add nothing: `users/orders` are the orders of all users. An array that is itself an
 *            element adds `[]`, a member among too many to tell apart `*`. Of two that come to one name the
 *            later one gets `_2`.
 * Columns    node_key, then the members in the order of their names, then `rest` where members have no
 *            column of their own; hidden: revision and parent_key. Built-in names win; of two that differ in
 *            case alone the later one gets `_2`.
 */
#ifndef SIRIX_SQL_SCHEMA_H
#define SIRIX_SQL_SCHEMA_H

#include "query/node/stored.h"
#include "sql/session.h"

enum {
    SIRIX_SQL_MEMBER_COLUMNS_MAX = 200,
    SIRIX_SQL_TABLES_MAX = 10000, /* Of one resource. */
};

/* Where a column's value comes from. */
enum sirix_sql_source {
    SIRIX_SQL_FROM_KEY,
    SIRIX_SQL_FROM_MEMBER,
    SIRIX_SQL_FROM_REST,
    SIRIX_SQL_FROM_REVISION,
    SIRIX_SQL_FROM_PARENT,
};

struct sirix_sql_member {
    const char *name; /* Of the column. */
    enum sirix_sql_source source;
    struct sirix_bytes member; /* Canonical name of the member. */
    uint32_t kinds;            /* As in a path. */
    bool hidden;
};

struct sirix_sql_table {
    const char *name; /* As a text would call it in its own database. */
    struct sirix_bytes database;
    struct sirix_bytes resource;
    uint32_t path; /* Of the elements, in `paths`. */
    const struct sirix_paths *paths;
    bool objects_only;                /* No element of the array is anything but an object. */
    struct sirix_sql_member *columns; /* Made by sirix_sql_table_columns(). */
    size_t column_count;
};

/* The tables of one resource at its newest revision, as the statement sees it. */
struct sirix_sql_schema {
    struct sirix_sql_place *place; /* NULL: it was only looked at. */
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_sql_table *tables;
    size_t count;
    struct sirix_sql_schema *next;
};

enum sirix_status sirix_sql_schema_of(struct sirix_sql_session *session,
                                      struct sirix_bytes database, struct sirix_bytes resource,
                                      const struct sirix_sql_schema **out_schema,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* The paths of a resource that can be seen, at its newest revision, in the arena; nothing stays open. */
enum sirix_status sirix_sql_paths_look(struct sirix_sql_session *session,
                                       struct sirix_bytes database, struct sirix_bytes resource,
                                       struct sirix_arena *arena, struct sirix_paths *out_paths,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same in the arena, and nothing stays open: for telling of many. */
enum sirix_status sirix_sql_schema_look(struct sirix_sql_session *session,
                                        struct sirix_bytes database, struct sirix_bytes resource,
                                        struct sirix_arena *arena,
                                        struct sirix_sql_schema *out_schema,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_sql_table_columns(struct sirix_arena *arena, struct sirix_sql_table *table,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The table that a text calls `name`; *out_table NULL: there is none. SIRIX_INVALID: it may be several,
 * which are named.
 */
enum sirix_status sirix_sql_table_find(struct sirix_sql_session *session, struct sirix_bytes name,
                                       struct sirix_sql_table **out_table,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* What information_schema and answers call the type of a column, and what SQLite is told. */
const char *sirix_sql_type_name(uint32_t kinds);
const char *sirix_sql_type_declared(const char *type);

/* --- Nearest names -------------------------------------------------------------------------------- */

enum {
    SIRIX_SQL_NEAREST_MAX = 3,
    SIRIX_SQL_NEAREST_NAME_BYTES = 96,
    SIRIX_SQL_NEAREST_LOOKED_MAX = 1000, /* Resources. */
};

/* The names offered that are closest to one that was not found. Zero-initialise but for `wanted`. */
struct sirix_sql_nearest {
    struct sirix_bytes wanted;
    struct sirix_sql_near {
        char name[SIRIX_SQL_NEAREST_NAME_BYTES];
        size_t distance;
    } names[SIRIX_SQL_NEAREST_MAX];
    size_t count;
};
void sirix_sql_nearest_offer(struct sirix_sql_nearest *nearest, const char *name);

/* Offers the tables that can be seen, of the first SIRIX_SQL_NEAREST_LOOKED_MAX resources. */
enum sirix_status sirix_sql_nearest_tables(struct sirix_sql_session *session,
                                           struct sirix_sql_nearest *nearest,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
