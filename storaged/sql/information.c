/* information_schema.tables and .columns: built-in relations, then the tables of every resource. */
#include <string.h>

#include "sql/facts.h"
#include "sql/list.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
    }
#define NAME(title, text)                                                                          \
    {                                                                                              \
        .name = (title), .type = "text", .filter = true, .meaning = (text)                         \
    }

const struct sirix_sql_list *const sirix_sql_lists[] = {
    &sirix_sql_list_databases, &sirix_sql_list_resources,
    &sirix_sql_list_snapshots, &sirix_sql_list_branches,
    &sirix_sql_list_revisions, &sirix_sql_node_columns,
    &sirix_sql_list_changes,   &sirix_sql_list_history,
    &sirix_sql_list_paths,     NULL,
};

static const struct sirix_sql_list *const schema_lists[] = {
    &sirix_sql_list_tables,
    &sirix_sql_list_columns,
    NULL,
};

/* --- Tables --------------------------------------------------------------------------------------- */

struct table_row {
    const char *schema;
    const char *name;
    struct sirix_bytes database;
    struct sirix_bytes resource;
    const char *type;
    const char *meaning;
};

static enum sirix_status add_table(struct sirix_sql_list_scan *scan, const struct table_row *row,
                                   struct sirix_error *err)
{
    const struct sirix_sql_value none = {.kind = SIRIX_SQL_NULL};
    const struct sirix_sql_value values[] = {
        sirix_sql_str_value(row->schema),
        sirix_sql_str_value(row->name),
        sirix_sql_str_value(row->type),
        row->database.len == 0 ? none : sirix_sql_text_value(row->database),
        row->resource.len == 0 ? none : sirix_sql_text_value(row->resource),
        sirix_sql_str_value(row->meaning),
    };

    return sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err);
}

/* --- Resources in turn, some a page ------------------------------------------------------------------ */

enum { PAGE_RESOURCES = 64 };

/* Where a list is. */
struct resource_at {
    const struct sirix_sql_facts *facts;
    const struct sirix_sql_resource *resource;
};

typedef enum sirix_status (*add_schema_fn)(struct sirix_sql_list_scan *scan,
                                           const struct sirix_sql_schema *schema,
                                           struct sirix_error *err);

static void end_resources(struct sirix_sql_list_scan *scan)
{
    sqlite3_free(scan->state);
    scan->state = NULL;
}

static enum sirix_status begin_resources(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    const struct sirix_sql_facts *facts = NULL;
    enum sirix_status status = sirix_sql_facts_all(scan->session, &facts, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct resource_at *at = sqlite3_malloc64(sizeof(*at));
    if (at == NULL) {
        return sirix_sql_no_memory(err);
    }
    *at = (struct resource_at){.facts = facts, .resource = facts == NULL ? NULL : facts->resources};
    scan->state = at;
    return SIRIX_OK;
}

/* A table's name begins with its resource's: what was asked for may leave a resource out. */
static bool may_have(const struct sirix_sql_list_scan *scan, const struct resource_at *at)
{
    const struct sirix_bytes table = sirix_sql_list_given(scan, 1);
    const struct sirix_bytes database = scan->session->wanted->database;
    const struct sirix_bytes resource = at->resource->name;

    return (database.len == 0 || sirix_bytes_equal(database, at->facts->database)) &&
           (table.len == 0 ||
            (table.len >= resource.len && memcmp(table.data, resource.data, resource.len) == 0));
}

static enum sirix_status add_one(struct sirix_sql_list_scan *scan, const struct resource_at *at,
                                 add_schema_fn add, struct sirix_error *err)
{
    struct sirix_sql_schema schema = {0};
    struct sirix_error inner = {0};
    enum sirix_status status = sirix_sql_schema_look(
        scan->session, at->facts->database, at->resource->name, &scan->arena, &schema, &inner);

    if (status == SIRIX_NOT_FOUND || status == SIRIX_CORRUPT) {
        return SIRIX_OK; /* Dropped since, or damaged: the others are told of. */
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = inner;
        }
        return status;
    }
    return add(scan, &schema, err);
}

static enum sirix_status each_resource(struct sirix_sql_list_scan *scan, add_schema_fn add,
                                       struct sirix_error *err)
{
    struct resource_at *at = scan->state;
    enum sirix_status status = SIRIX_OK;
    size_t looked_at = 0;

    while (status == SIRIX_OK && at->facts != NULL && looked_at < PAGE_RESOURCES) {
        if (at->resource == NULL) {
            at->facts = at->facts->next;
            at->resource = at->facts == NULL ? NULL : at->facts->resources;
            continue;
        }
        if (may_have(scan, at)) {
            status = add_one(scan, at, add, err);
            looked_at++;
        }
        if (status == SIRIX_OK) {
            status = sirix_sql_check(scan->session, err);
        }
        at->resource = at->resource->next;
    }
    if (status == SIRIX_OK) {
        scan->done = at->facts == NULL;
    }
    return status;
}

static enum sirix_status tables_of(struct sirix_sql_list_scan *scan,
                                   const struct sirix_sql_schema *schema, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < schema->count; i++) {
        const struct table_row row = {
            .schema = "main",
            .name = schema->tables[i].name,
            .database = schema->tables[i].database,
            .resource = schema->tables[i].resource,
            .type = "BASE TABLE",
            .meaning = "The objects of one array of the resource, at the newest revision; another "
                       "one by argument or by revision = ...",
        };

        status = add_table(scan, &row, err);
    }
    return status;
}

static enum sirix_status add_built_in(struct sirix_sql_list_scan *scan, const char *schema,
                                      const struct sirix_sql_list *const *lists,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; lists[i] != NULL && status == SIRIX_OK; i++) {
        const struct table_row row = {
            .schema = schema,
            .name = lists[i]->name,
            .type = lists[i]->required == 0 ? "SYSTEM VIEW" : "FUNCTION",
            .meaning = lists[i]->meaning,
        };

        status = add_table(scan, &row, err);
    }
    return status;
}

static enum sirix_status built_in_tables(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    enum sirix_status status = add_built_in(scan, "main", sirix_sql_lists, err);

    if (status == SIRIX_OK) {
        status = add_built_in(scan, "information_schema", schema_lists, err);
    }
    return status == SIRIX_OK ? begin_resources(scan, err) : status;
}

static enum sirix_status tables_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    return scan->state == NULL ? built_in_tables(scan, err) : each_resource(scan, tables_of, err);
}

const struct sirix_sql_list sirix_sql_list_tables = {
    .name = "tables",
    .meaning = "One row a table or relation that can be asked.",
    .form = "information_schema.tables",
    .columns = {COLUMN("table_schema", "text", "main, or information_schema."),
                NAME("table_name", "Its name; quote it: \"users/orders\"."),
                COLUMN("table_type", "text",
                       "BASE TABLE, SYSTEM VIEW, or FUNCTION: with arguments."),
                COLUMN("database", "text", "The database of a table."),
                COLUMN("resource", "text", "The resource of a table."),
                COLUMN("meaning", "text", "What a row is.")},
    .page = tables_page,
    .end = end_resources,
};

/* --- Columns -------------------------------------------------------------------------------------- */

struct column_row {
    const char *schema;
    const char *table;
    const char *name;
    const char *type;
    size_t position;
    bool hidden;
    const char *meaning;
    struct sirix_bytes database;
};

static enum sirix_status add_column(struct sirix_sql_list_scan *scan, const struct column_row *row,
                                    struct sirix_error *err)
{
    const struct sirix_sql_value none = {.kind = SIRIX_SQL_NULL};
    const struct sirix_sql_value values[] = {
        sirix_sql_str_value(row->schema),
        sirix_sql_str_value(row->table),
        sirix_sql_str_value(row->name),
        sirix_sql_number_value(row->position + 1),
        sirix_sql_str_value(row->type),
        sirix_sql_str_value("YES"),
        sirix_sql_str_value(row->hidden ? "yes" : "no"),
        row->database.len == 0 ? none : sirix_sql_text_value(row->database),
        sirix_sql_str_value(row->meaning),
    };

    return sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err);
}

static enum sirix_status columns_of_list(struct sirix_sql_list_scan *scan, const char *schema,
                                         const struct sirix_sql_list *list, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0;
         status == SIRIX_OK && i < SIRIX_SQL_LIST_COLUMNS_MAX && list->columns[i].name != NULL;
         i++) {
        const struct column_row row = {
            .schema = schema,
            .table = list->name,
            .name = list->columns[i].name,
            .type = list->columns[i].type,
            .position = i,
            .hidden = list->columns[i].argument,
            .meaning = list->columns[i].meaning,
        };

        status = add_column(scan, &row, err);
    }
    return status;
}

static const char *source_meaning(enum sirix_sql_source source)
{
    switch (source) {
    case SIRIX_SQL_FROM_KEY:
        return "The node of the row.";
    case SIRIX_SQL_FROM_REST:
        return "Members that have no column of their own, as one object.";
    case SIRIX_SQL_FROM_REVISION:
        return "The revision read; also the argument: a revision, snapshot, branch or time.";
    case SIRIX_SQL_FROM_PARENT:
        return "node_key of the row that this one lies in.";
    default:
        return "A member of the object.";
    }
}

static const char *column_type(const struct sirix_sql_member *column)
{
    switch (column->source) {
    case SIRIX_SQL_FROM_KEY:
    case SIRIX_SQL_FROM_PARENT:
    case SIRIX_SQL_FROM_REVISION:
        return "integer";
    default:
        return sirix_sql_type_name(column->kinds);
    }
}

static enum sirix_status columns_of_table(struct sirix_sql_list_scan *scan,
                                          struct sirix_sql_table table, struct sirix_error *err)
{
    /* A copy: its columns live as long as the page. */
    enum sirix_status status = sirix_sql_table_columns(&scan->arena, &table, err);

    for (size_t j = 0; status == SIRIX_OK && j < table.column_count; j++) {
        const struct column_row row = {
            .schema = "main",
            .table = table.name,
            .name = table.columns[j].name,
            .type = column_type(&table.columns[j]),
            .position = j,
            .hidden = table.columns[j].hidden,
            .meaning = source_meaning(table.columns[j].source),
            .database = table.database,
        };

        status = add_column(scan, &row, err);
    }
    return status;
}

static enum sirix_status columns_of(struct sirix_sql_list_scan *scan,
                                    const struct sirix_sql_schema *schema, struct sirix_error *err)
{
    const struct sirix_bytes wanted = sirix_sql_list_given(scan, 1);
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < schema->count; i++) {
        const char *name = schema->tables[i].name;

        if (wanted.len == 0 ||
            sirix_bytes_equal(wanted, (struct sirix_bytes){.data = name, .len = strlen(name)})) {
            status = columns_of_table(scan, schema->tables[i], err);
        }
    }
    return status;
}

static enum sirix_status built_in_columns(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; sirix_sql_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = columns_of_list(scan, "main", sirix_sql_lists[i], err);
    }
    for (size_t i = 0; schema_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = columns_of_list(scan, "information_schema", schema_lists[i], err);
    }
    return status == SIRIX_OK ? begin_resources(scan, err) : status;
}

static enum sirix_status columns_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    return scan->state == NULL ? built_in_columns(scan, err) : each_resource(scan, columns_of, err);
}

const struct sirix_sql_list sirix_sql_list_columns = {
    .name = "columns",
    .meaning = "One row a column of a table or relation.",
    .form = "information_schema.columns",
    .columns = {COLUMN("table_schema", "text", "main, or information_schema."),
                NAME("table_name", "The table or relation."),
                COLUMN("column_name", "text", "Its name."),
                COLUMN("ordinal_position", "integer", "From 1."),
                COLUMN("data_type", "text", "text, number, boolean, json, integer or any."),
                COLUMN("is_nullable", "text", "YES."),
                COLUMN("hidden", "text", "yes: left out by SELECT *."),
                COLUMN("database", "text", "The database of a table."),
                COLUMN("meaning", "text", "What it holds.")},
    .page = columns_page,
    .end = end_resources,
};
