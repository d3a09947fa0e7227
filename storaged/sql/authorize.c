/* What a statement may do: by default nothing. The lists are of what is allowed. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/name.h"
#include "sql/lock.h"

/* Pure functions of their arguments, or of the time. */
static const char *const functions[] = {
    /* Text and values */
    "abs",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "format",
    "glob",
    "hex",
    "ifnull",
    "iif",
    "instr",
    "length",
    "like",
    "likelihood",
    "likely",
    "lower",
    "ltrim",
    "max",
    "min",
    "nullif",
    "octet_length",
    "printf",
    "quote",
    "replace",
    "round",
    "rtrim",
    "sign",
    "soundex",
    "string_agg",
    "substr",
    "substring",
    "trim",
    "typeof",
    "unhex",
    "unicode",
    "unlikely",
    "upper",
    /* Numbers */
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceiling",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "floor",
    "ln",
    "log",
    "log10",
    "log2",
    "mod",
    "pi",
    "pow",
    "power",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    /* Dates */
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "julianday",
    "strftime",
    "time",
    "timediff",
    "unixepoch",
    /* Aggregates and windows */
    "avg",
    "count",
    "cume_dist",
    "dense_rank",
    "first_value",
    "group_concat",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
    "sum",
    "total",
    /* JSON */
    "->",
    "->>",
    "json",
    "json_array",
    "json_array_length",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
};

static bool is_listed(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcasecmp(functions[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool begins_with(const char *text, const char *prefix)
{
    return text != NULL && strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * SQLite's own tables say nothing of the store, or too much of the engine. A table of ours may begin in the
 * same way: it was made because SQLite has none of its name.
 */
static bool is_internal(const struct sirix_sql_session *session, const char *table)
{
    static const char *const names[] = {"dbstat", "bytecode", "tables_used", "fts3tokenize",
                                        "fts4aux"};
    bool found = begins_with(table, "sqlite_") || begins_with(table, "pragma_");

    for (size_t i = 0; table != NULL && !found && i < sizeof(names) / sizeof(names[0]); i++) {
        found = strcasecmp(table, names[i]) == 0;
    }
    return found && !sirix_sql_is_made(session, table);
}

void sirix_sql_refuse_table(struct sirix_sql_session *session, const char *name)
{
    struct sirix_error err = {0};
    char *copy = NULL;

    if (sirix_arena_strdup(&session->arena, name, &copy, &err) != SIRIX_OK) {
        (void)sirix_sql_failed(session, &err);
        return;
    }
    session->refused_table = copy;
    (void)snprintf(session->refused, sizeof(session->refused),
                   "%s cannot be read; ask information_schema.tables", copy);
}

/*
 * A pragma as a table declares its columns while the text is read, which looks like a change of the schema
 * and does not say whose: the text names it.
 */
static void refuse_pragma(struct sirix_sql_session *session)
{
    static const char prefix[] = "pragma_";
    const struct sirix_bytes sql = session->wanted->sql;
    const char *text = sql.data;
    char name[SIRIX_NAME_BYTES_MAX + 1];
    size_t len = 0;
    size_t at = 0;

    while (at + sizeof(prefix) <= sql.len && !begins_with(text + at, prefix)) {
        at++;
    }
    while (at + sizeof(prefix) <= sql.len && at + len < sql.len && len < sizeof(name) - 1 &&
           (text[at + len] == '_' || isalpha((unsigned char)text[at + len]) != 0)) {
        name[len] = text[at + len];
        len++;
    }
    name[len] = '\0';
    if (len != 0) {
        sirix_sql_refuse_table(session, name);
    }
}

/* Lists that tell of the catalogue as it is when the statement begins. */
static bool tells_of_facts(const char *table)
{
    static const char *const names[] = {"resources", "snapshots", "branches", "tables", "columns"};

    for (size_t i = 0; table != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(table, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *action_name(int action)
{
    switch (action) {
    case SQLITE_PRAGMA:
        return "PRAGMA; ask information_schema.tables and information_schema.columns";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return "ATTACH and DETACH";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return "transactions";
    case SQLITE_INSERT:
        return "INSERT";
    case SQLITE_UPDATE:
        return "UPDATE";
    case SQLITE_DELETE:
        return "DELETE";
    case SQLITE_ANALYZE:
        return "ANALYZE";
    case SQLITE_REINDEX:
        return "REINDEX";
    default:
        return "what changes a schema";
    }
}

int sirix_sql_authorize(void *context, int action, const char *first, const char *second,
                        const char *database, const char *trigger)
{
    struct sirix_sql_session *session = context;

    (void)database;
    (void)trigger;
    if (session->setting_up || (session->layers_off & SIRIX_SQL_LAYER_AUTHORIZER) != 0) {
        return SQLITE_OK;
    }
    switch (action) {
    case SQLITE_SELECT:
        session->selects++;
        return SQLITE_OK;
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (is_listed(second)) {
            session->counts = session->counts || strcasecmp(second, "count") == 0;
            return SQLITE_OK;
        }
        (void)snprintf(session->refused, sizeof(session->refused),
                       "the function %s() is not to be had here", second);
        return SQLITE_DENY;
    case SQLITE_READ:
        if (is_internal(session, first)) {
            sirix_sql_refuse_table(session, first);
            return SQLITE_DENY;
        }
        session->facts_wanted = session->facts_wanted || tells_of_facts(first);
        return SQLITE_OK;
    default:
        (void)snprintf(session->refused, sizeof(session->refused),
                       "this door reads only: it refuses %s", action_name(action));
        if (session->selects != 0 && first != NULL && strcasecmp(first, "sqlite_master") == 0) {
            refuse_pragma(session);
        }
        return SQLITE_DENY;
    }
}
