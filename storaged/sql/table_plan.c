/* How an inferred table is declared, and how scans of it are planned. */
#include <stdio.h>
#include <string.h>

#include "sql/table.h"

enum { SELECTIVITY = 10, ROWS_GUESSED = 100000, COLUMNS_BYTES_MAX = 64 * 1024 };

/* --- Connecting ----------------------------------------------------------------------------------- */

static enum sirix_status declaration(const struct sirix_sql_table *shape, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(out, "CREATE TABLE x(", err);

    for (size_t i = 0; status == SIRIX_OK && i < shape->column_count; i++) {
        const struct sirix_sql_member *column = &shape->columns[i];
        const char *type =
            column->source == SIRIX_SQL_FROM_MEMBER || column->source == SIRIX_SQL_FROM_REST
                ? sirix_sql_type_declared(sirix_sql_type_name(column->kinds))
            : column->source == SIRIX_SQL_FROM_REVISION ? ""
                                                        : "INTEGER";

        status = i == 0 ? SIRIX_OK : sirix_buf_append_str(out, ", ", err);
        if (status == SIRIX_OK) {
            status = sirix_sql_quote(out, column->name, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_printf(out, err, " %s%s", type, column->hidden ? " HIDDEN" : "");
        }
    }
    return status == SIRIX_OK ? sirix_buf_append_str(out, ")", err) : status;
}

int sirix_sql_table_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                            sqlite3_vtab **out_table, char **out_message)
{
    struct sirix_sql_session *session = context;
    struct sirix_buf text = {.max = COLUMNS_BYTES_MAX};
    const struct sirix_bytes name = {.data = argv[2], .len = strlen(argv[2])};
    struct sirix_sql_table *shape = NULL;
    struct sirix_error err = {0};
    const char *declared = NULL;
    int rc = SQLITE_ERROR;

    (void)argc;
    if (!session->setting_up) {
        *out_message = sqlite3_mprintf("tables are not made");
        return SQLITE_AUTH;
    }
    enum sirix_status status = sirix_sql_table_find(session, name, &shape, &err);
    if (status == SIRIX_OK && shape == NULL) {
        status = sirix_fail(&err, SIRIX_INTERNAL, "a table went while it was opened");
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_table_columns(&session->arena, shape, &err);
    }
    if (status == SIRIX_OK) {
        status = declaration(shape, &text, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&text, &declared, &err);
    }
    rc = status == SIRIX_OK ? sirix_sql_declare(db, session, declared,
                                                sizeof(struct sirix_sql_table_vtab), out_table)
                            : sirix_sql_failed(session, &err);
    if (rc == SQLITE_OK) {
        struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)*out_table;

        table->shape = shape;
        table->revision_column = (int)shape->column_count - 2;
        table->parent_column = (int)shape->column_count - 1;
    }
    sirix_buf_deinit(&text);
    return rc;
}

int sirix_sql_table_disconnect(sqlite3_vtab *vtab)
{
    struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)vtab;

    for (size_t i = 0; i < table->joined_count; i++) {
        sirix_sql_index_free(table->joined[i].index);
    }
    return sirix_sql_disconnect(vtab);
}

/* --- Planning ------------------------------------------------------------------------------------- */

static bool is_filter(const struct sirix_sql_table_vtab *table, sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

    return constraint->iColumn >= 0 && sirix_sql_operator(constraint->op) != NULL &&
           table->shape->columns[constraint->iColumn].source == SIRIX_SQL_FROM_MEMBER &&
           strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* Constraints that say where to look; SQLITE_CONSTRAINT where the revision is not known yet. */
static int plan_places(const struct sirix_sql_table_vtab *table, sqlite3_index_info *info,
                       struct sirix_sql_plan *plan, int *out_number)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

        if (constraint->iColumn != table->revision_column ||
            constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        if (!constraint->usable) {
            return SQLITE_CONSTRAINT;
        }
        if ((*out_number & SIRIX_SQL_PLAN_REVISION) == 0 &&
            sirix_sql_plan_take(plan, info, i, "revision", true)) {
            *out_number |= SIRIX_SQL_PLAN_REVISION;
        }
    }
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        const bool equal = constraint->usable && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;

        if (equal && constraint->iColumn == 0 && (*out_number & SIRIX_SQL_PLAN_NODE_KEY) == 0 &&
            sirix_sql_plan_take(plan, info, i, "node_key", false)) {
            *out_number |= SIRIX_SQL_PLAN_NODE_KEY;
        } else if (equal && constraint->iColumn == table->parent_column &&
                   (*out_number & SIRIX_SQL_PLAN_PARENT_KEY) == 0 &&
                   sirix_sql_plan_take(plan, info, i, "parent_key", false)) {
            *out_number |= SIRIX_SQL_PLAN_PARENT_KEY;
        }
    }
    return SQLITE_OK;
}

/* SQLite gives a scan nothing but the plan's text and number: columns and operators go behind a bar. */
static bool append_codes(struct sirix_sql_plan *plan, const int *codes, size_t filters)
{
    for (size_t i = 0; i < filters; i++) {
        const size_t room = sizeof(plan->text) - plan->len;
        const int len = snprintf(plan->text + plan->len, room, "%s%d:%d", i == 0 ? " |" : ",",
                                 codes[i * 2], codes[i * 2 + 1]);

        if (len < 0 || (size_t)len >= room) {
            return false;
        }
        plan->len += (size_t)len;
    }
    return true;
}

/* What SQLite says for the revision, which needs no row; the last bit stands for all columns behind. */
static sqlite3_uint64 revision_bit(const struct sirix_sql_table_vtab *table)
{
    enum { BITS = 63 };

    return table->revision_column < BITS ? UINT64_C(1) << table->revision_column : 0;
}

int sirix_sql_table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)vtab;
    struct sirix_sql_plan plan = {.len = 0};
    double rows = ROWS_GUESSED;
    int codes[SIRIX_SQL_FILTERS_MAX * 2];
    size_t filters = 0;
    int number = 0;

    const int rc = plan_places(table, info, &plan, &number);
    if (rc != SQLITE_OK) {
        return rc;
    }
    for (int i = 0; i < info->nConstraint && filters < SIRIX_SQL_FILTERS_MAX; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

        if (constraint->usable && is_filter(table, info, i) &&
            sirix_sql_plan_take(&plan, info, i, table->shape->columns[constraint->iColumn].name,
                                false)) {
            codes[filters * 2] = constraint->iColumn;
            codes[filters * 2 + 1] = constraint->op;
            filters++;
            rows /= constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? (double)SELECTIVITY * SELECTIVITY
                                                                 : SELECTIVITY / 4.0;
        }
    }
    if (!append_codes(&plan, codes, filters)) {
        return SQLITE_NOMEM; /* The names alone leave no room: never, by the limits on both. */
    }
    if ((number & SIRIX_SQL_PLAN_NODE_KEY) != 0) {
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        return sirix_sql_plan_give(&plan, info, number, 1, 1);
    }
    if ((number & SIRIX_SQL_PLAN_PARENT_KEY) != 0) {
        rows = SELECTIVITY;
    }
    if (filters == 0 && (info->colUsed & ~revision_bit(table)) == 0) {
        number |= SIRIX_SQL_PLAN_COUNT;
    }
    rows = rows < 1 ? 1 : rows;
    return sirix_sql_plan_give(&plan, info, number, rows + 1, (int64_t)rows);
}
