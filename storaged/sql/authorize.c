/* What a statement may do: by default nothing. The lists are of what is allowed. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* SQLite's own tables say nothing of the store, or too much of the engine. */
static bool is_internal(const char *table)
{
    static const char *const names[] = {"sqlite_", "pragma_", "dbstat", "bytecode", "tables_used",
                                        "fts3",    "fts4",    "fts5",   "rtree"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (begins_with(table, names[i])) {
            return true;
        }
    }
    return false;
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
        if (!is_internal(first)) {
            session->facts_wanted = session->facts_wanted || tells_of_facts(first);
            return SQLITE_OK;
        }
        (void)snprintf(session->refused, sizeof(session->refused),
                       "%s cannot be read; ask information_schema.tables", first);
        return SQLITE_DENY;
    default:
        (void)snprintf(session->refused, sizeof(session->refused),
                       "this door reads only: it refuses %s", action_name(action));
        return SQLITE_DENY;
    }
}
