/* What all virtual tables share. */
#include "sql/modules.h"

#include <stdio.h>
#include <string.h>

int sirix_sql_declare(sqlite3 *db, struct sirix_sql_session *session, const char *declaration,
                      size_t size, sqlite3_vtab **out_table)
{
    const int rc = sqlite3_declare_vtab(db, declaration);

    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    struct sirix_sql_vtab *table = sqlite3_malloc64(size);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    memset(table, 0, size);
    table->session = session;
    *out_table = &table->base;
    return SQLITE_OK;
}

int sirix_sql_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

int sirix_sql_close_plain(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

enum sirix_status sirix_sql_quote(struct sirix_buf *out, const char *name, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_u8(out, '"', err);

    for (; *name != '\0' && status == SIRIX_OK; name++) {
        if (*name == '"') {
            status = sirix_buf_append_u8(out, '"', err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_u8(out, (uint8_t)*name, err);
        }
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, '"', err) : status;
}

const char *sirix_sql_operator(int op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return "=";
    case SQLITE_INDEX_CONSTRAINT_GT:
        return ">";
    case SQLITE_INDEX_CONSTRAINT_GE:
        return ">=";
    case SQLITE_INDEX_CONSTRAINT_LT:
        return "<";
    case SQLITE_INDEX_CONSTRAINT_LE:
        return "<=";
    case SQLITE_INDEX_CONSTRAINT_NE:
        return "<>";
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
        return " IS NULL";
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
        return " IS NOT NULL";
    default:
        return NULL;
    }
}

bool sirix_sql_plan_take(struct sirix_sql_plan *plan, sqlite3_index_info *info, int constraint,
                         const char *column, bool omit)
{
    const char *op = sirix_sql_operator(info->aConstraint[constraint].op);
    const size_t room = sizeof(plan->text) - plan->len;
    const int len = snprintf(plan->text + plan->len, room, "%s%s%s", plan->len == 0 ? "" : ", ",
                             column, op == NULL ? "?" : op);

    if (len < 0 || (size_t)len >= room) {
        plan->text[plan->len] = '\0';
        return false;
    }
    plan->len += (size_t)len;
    info->aConstraintUsage[constraint].argvIndex = ++plan->argument_count;
    info->aConstraintUsage[constraint].omit = omit;
    return true;
}

int sirix_sql_plan_give(const struct sirix_sql_plan *plan, sqlite3_index_info *info, int number,
                        double cost, int64_t rows)
{
    info->idxNum = number;
    info->estimatedCost = cost;
    info->estimatedRows = rows;
    if (plan->len != 0) {
        info->idxStr = sqlite3_mprintf("%s", plan->text);
        info->needToFreeIdxStr = 1;
        if (info->idxStr == NULL) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

bool sirix_sql_has_null(sqlite3_value *const *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
            return true;
        }
    }
    return false;
}

enum sirix_status sirix_sql_spec_from(struct sirix_sql_session *session, sqlite3_value *value,
                                      struct sirix_bytes *out_spec, struct sirix_error *err)
{
    const int type = sqlite3_value_type(value);

    *out_spec = (struct sirix_bytes){0};
    if ((type != SQLITE_TEXT && type != SQLITE_INTEGER) || sqlite3_value_bytes(value) == 0) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "an argument is a name, as text that is not empty; a revision is "
                                 "a number, or the name of a snapshot or branch, or a time");
    }
    const struct sirix_bytes text = {.data = sqlite3_value_text(value),
                                     .len = (size_t)sqlite3_value_bytes(value)};
    if (text.data == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for an argument");
    }
    return sirix_arena_copy(&session->arena, text, out_spec, err);
}

bool sirix_sql_key_from(sqlite3_value *value, uint64_t *out_key)
{
    const int type = sqlite3_value_numeric_type(value);
    const int64_t key = sqlite3_value_int64(value);

    if (type != SQLITE_INTEGER &&
        !(type == SQLITE_FLOAT && (double)key == sqlite3_value_double(value))) {
        return false;
    }
    *out_key = (uint64_t)key;
    return key >= 0;
}
