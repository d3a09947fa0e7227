/* information_schema.tables and .columns: built-in relations, then the tables of every resource. */
#include <string.h>

#include "sql/list.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
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

static enum sirix_status add_table(struct sirix_sql_list_scan *scan, const char *schema,
                                   const char *name, struct sirix_bytes database,
                                   struct sirix_bytes resource, const char *type,
                                   const char *meaning, struct sirix_error *err)
{
    const struct sirix_sql_value none = {.kind = SIRIX_SQL_NULL};
    const struct sirix_sql_value values[] = {
        sirix_sql_str_value(schema),
        sirix_sql_str_value(name),
        sirix_sql_str_value(type),
        database.len == 0 ? none : sirix_sql_text_value(database),
        resource.len == 0 ? none : sirix_sql_text_value(resource),
        sirix_sql_str_value(meaning),
    };

    return sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err);
}

static enum sirix_status tables_of(void *context, struct sirix_bytes database,
                                   struct sirix_bytes resource, bool *stop, struct sirix_error *err)
{
    struct sirix_sql_list_scan *scan = context;
    const struct sirix_sql_schema *schema = NULL;
    enum sirix_status status = sirix_sql_schema_of(scan->session, database, resource, &schema, err);

    (void)stop;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    for (size_t i = 0; status == SIRIX_OK && i < schema->count; i++) {
        status = add_table(scan, "main", schema->tables[i].name, schema->tables[i].database,
                           schema->tables[i].resource, "BASE TABLE",
                           "The objects of one array of the resource, at the newest revision; "
                           "another one by argument or by revision = ...",
                           err);
    }
    return status;
}

static enum sirix_status tables_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    const struct sirix_bytes nothing = {0};
    enum sirix_status status = SIRIX_OK;

    scan->done = true;
    for (size_t i = 0; sirix_sql_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = add_table(scan, "main", sirix_sql_lists[i]->name, nothing, nothing,
                           sirix_sql_lists[i]->required == 0 ? "SYSTEM VIEW" : "FUNCTION",
                           sirix_sql_lists[i]->meaning, err);
    }
    for (size_t i = 0; schema_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = add_table(scan, "information_schema", schema_lists[i]->name, nothing, nothing,
                           "SYSTEM VIEW", schema_lists[i]->meaning, err);
    }
    return status == SIRIX_OK
               ? sirix_sql_each_resource(scan->session, scan->session->wanted->database, tables_of,
                                         scan, err)
               : status;
}

const struct sirix_sql_list sirix_sql_list_tables = {
    .name = "tables",
    .meaning = "One row a table or relation that can be asked.",
    .form = "information_schema.tables",
    .columns = {COLUMN("table_schema", "text", "main, or information_schema."),
                COLUMN("table_name", "text", "Its name; quote it: \"users/orders\"."),
                COLUMN("table_type", "text",
                       "BASE TABLE, SYSTEM VIEW, or FUNCTION: with arguments."),
                COLUMN("database", "text", "The database of a table."),
                COLUMN("resource", "text", "The resource of a table."),
                COLUMN("meaning", "text", "What a row is.")},
    .page = tables_page,
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

static enum sirix_status columns_of(void *context, struct sirix_bytes database,
                                    struct sirix_bytes resource, bool *stop,
                                    struct sirix_error *err)
{
    struct sirix_sql_list_scan *scan = context;
    const struct sirix_bytes wanted = sirix_sql_list_given(scan, 1);
    const struct sirix_sql_schema *schema = NULL;
    enum sirix_status status = sirix_sql_schema_of(scan->session, database, resource, &schema, err);

    (void)stop;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    for (size_t i = 0; status == SIRIX_OK && i < schema->count; i++) {
        struct sirix_sql_table *table = &schema->tables[i];
        const struct sirix_bytes name = {.data = table->name, .len = strlen(table->name)};

        if (wanted.len != 0 && !sirix_bytes_equal(wanted, name)) {
            continue;
        }
        status = sirix_sql_table_columns(scan->session, table, err);
        for (size_t j = 0; status == SIRIX_OK && j < table->column_count; j++) {
            const struct column_row row = {
                .schema = "main",
                .table = table->name,
                .name = table->columns[j].name,
                .type = column_type(&table->columns[j]),
                .position = j,
                .hidden = table->columns[j].hidden,
                .meaning = source_meaning(table->columns[j].source),
                .database = table->database,
            };

            status = add_column(scan, &row, err);
        }
    }
    return status;
}

static enum sirix_status columns_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    scan->done = true;
    for (size_t i = 0; sirix_sql_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = columns_of_list(scan, "main", sirix_sql_lists[i], err);
    }
    for (size_t i = 0; schema_lists[i] != NULL && status == SIRIX_OK; i++) {
        status = columns_of_list(scan, "information_schema", schema_lists[i], err);
    }
    return status == SIRIX_OK
               ? sirix_sql_each_resource(scan->session, scan->session->wanted->database, columns_of,
                                         scan, err)
               : status;
}

const struct sirix_sql_list sirix_sql_list_columns = {
    .name = "columns",
    .meaning = "One row a column of a table or relation.",
    .form = "information_schema.columns",
    .columns = {COLUMN("table_schema", "text", "main, or information_schema."),
                {.name = "table_name",
                 .type = "text",
                 .filter = true,
                 .meaning = "The table or relation."},
                COLUMN("column_name", "text", "Its name."),
                COLUMN("ordinal_position", "integer", "From 1."),
                COLUMN("data_type", "text", "text, number, boolean, json, integer or any."),
                COLUMN("is_nullable", "text", "YES."),
                COLUMN("hidden", "text", "yes: left out by SELECT *."),
                COLUMN("database", "text", "The database of a table."),
                COLUMN("meaning", "text", "What it holds.")},
    .page = columns_page,
};
