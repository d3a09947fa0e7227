/* The order matters: what is needed later is made before the door is shut. */
#include "sql/lock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sql/modules.h"

enum { SET_UP_BYTES_MAX = 16 * 1024, PROGRESS_STEPS = 100 };

/*
 * SQLite's own file system of files that are memory: what it believes to be temporary files is under the
 * statement's budget, and nothing of a connection reaches a disk. With temp_store=MEMORY a sort would be
 * one step that nothing interrupts; so it sorts runs of some megabytes and merges them row by row.
 */
static const char files_in_memory[] = "memdb";

static enum sirix_status engine_failed(struct sirix_sql_session *session, const char *doing,
                                       struct sirix_error *err)
{
    const int code = session->db == NULL ? SQLITE_NOMEM : sqlite3_errcode(session->db);

    if (session->failed) {
        if (err != NULL) {
            *err = session->error;
        }
        return session->error.status;
    }
    if (code == SQLITE_NOMEM) {
        return sirix_sql_no_memory(err);
    }
    return sirix_fail(err, SIRIX_INTERNAL, "%s: %s", doing,
                      session->db == NULL ? "no memory" : sqlite3_errmsg(session->db));
}

/* Runs a text of our own. */
static enum sirix_status set_up(struct sirix_sql_session *session, const char *text,
                                struct sirix_error *err)
{
    session->setting_up = true;
    const int rc = sqlite3_exec(session->db, text, NULL, NULL, NULL);
    session->setting_up = false;
    return rc == SQLITE_OK ? SIRIX_OK : engine_failed(session, "set a connection up", err);
}

/* --- Limits --------------------------------------------------------------------------------------- */

static void set_limits(sqlite3 *db)
{
    enum {
        EXPRESSION_DEPTH = 100,
        COMPOUNDS = 20,
        OPERATIONS = 25000,
        ARGUMENTS = 32,
        PATTERN_BYTES = 200,
        VARIABLES = 64,
    };
    static const struct {
        int which;
        int value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, SIRIX_SQL_VALUE_BYTES_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, SIRIX_SQL_TEXT_BYTES_MAX},
        {SQLITE_LIMIT_COLUMN, SIRIX_SQL_COLUMNS_MAX},
        {SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH},
        {SQLITE_LIMIT_COMPOUND_SELECT, COMPOUNDS},
        {SQLITE_LIMIT_VDBE_OP, OPERATIONS},
        {SQLITE_LIMIT_FUNCTION_ARG, ARGUMENTS},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES},
        {SQLITE_LIMIT_VARIABLE_NUMBER, VARIABLES},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
        {SQLITE_LIMIT_ATTACHED, 0}, /* Once information_schema is there. */
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        (void)sqlite3_limit(db, limits[i].which, limits[i].value);
    }
}

static int on_progress(void *context)
{
    struct sirix_sql_session *session = context;
    struct sirix_error err = {0};

    if (sirix_sql_tick(session, &err) == SIRIX_OK) {
        return 0;
    }
    (void)sirix_sql_failed(session, &err);
    return 1;
}

/* --- Opening -------------------------------------------------------------------------------------- */

/*
 * Whether a text may name something: a name is written as it is, in any case and any quotes. What it cannot
 * name needs not be there, which saves most of the time that it takes to make a connection.
 */
static bool may_name(const struct sirix_sql_session *session, const char *name)
{
    const struct sirix_bytes sql = session->wanted->sql;
    const size_t len = strlen(name);
    const char *text = sql.data;

    for (size_t i = 0; i + len <= sql.len; i++) {
        if (strncasecmp(text + i, name, len) == 0) {
            return true;
        }
    }
    return false;
}

static int add_list(struct sirix_sql_session *session, struct sirix_sql_connection *connection,
                    const char *module, const struct sirix_sql_list *list)
{
    if (list == &sirix_sql_node_columns) {
        return sqlite3_create_module_v2(session->db, module, &sirix_sql_node_module, session, NULL);
    }
    struct sirix_sql_list_context *context = &connection->lists[connection->list_count++];

    *context = (struct sirix_sql_list_context){.session = session, .list = list};
    return sqlite3_create_module_v2(session->db, module, &sirix_sql_list_module, context, NULL);
}

/* information_schema is a schema of its own, so that `information_schema.tables` is written as everywhere. */
static enum sirix_status add_information(struct sirix_sql_session *session,
                                         struct sirix_sql_connection *connection,
                                         struct sirix_buf *touch, struct sirix_error *err)
{
    if (!may_name(session, "tables") && !may_name(session, "columns") &&
        !may_name(session, "information_schema")) {
        return SIRIX_OK;
    }
    int rc = add_list(session, connection, "sirix:tables", &sirix_sql_list_tables);
    if (rc == SQLITE_OK) {
        rc = add_list(session, connection, "sirix:columns", &sirix_sql_list_columns);
    }
    return rc != SQLITE_OK
               ? engine_failed(session, "register the relations", err)
               : sirix_buf_append_str(
                     touch,
                     "ATTACH ':memory:' AS information_schema;"
                     "CREATE VIRTUAL TABLE information_schema.tables USING \"sirix:tables\";"
                     "CREATE VIRTUAL TABLE information_schema.columns USING \"sirix:columns\";",
                     err);
}

/* No resource has a colon in its name, so these modules are in nobody's way. */
static enum sirix_status add_modules(struct sirix_sql_session *session,
                                     struct sirix_sql_connection *connection,
                                     struct sirix_buf *touch, struct sirix_error *err)
{
    static const char *const trees[] = {"json_each", "json_tree"};
    int rc = sqlite3_create_module_v2(session->db, "sirix:table", &sirix_sql_table_module, session,
                                      NULL);
    enum sirix_status status = add_information(session, connection, touch, err);

    for (size_t i = 0; rc == SQLITE_OK && status == SIRIX_OK && sirix_sql_lists[i] != NULL; i++) {
        const struct sirix_sql_list *list = sirix_sql_lists[i];

        if (may_name(session, list->name)) {
            rc = add_list(session, connection, list->name, list);
            status = sirix_buf_printf(touch, err, "SELECT 1 FROM %s LIMIT 0;", list->name);
        }
    }
    for (size_t i = 0; status == SIRIX_OK && i < sizeof(trees) / sizeof(trees[0]); i++) {
        if (may_name(session, trees[i])) {
            status = sirix_buf_printf(touch, err, "SELECT 1 FROM %s('[]') LIMIT 0;", trees[i]);
        }
    }
    return rc == SQLITE_OK ? status : engine_failed(session, "register the relations", err);
}

enum sirix_status sirix_sql_connection_open(struct sirix_sql_session *session,
                                            struct sirix_sql_connection *connection,
                                            struct sirix_error *err)
{
    struct sirix_buf touch = {.max = SET_UP_BYTES_MAX};
    const char *text = NULL;
    int rc = sqlite3_open_v2(":memory:", &session->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_EXRESCODE,
                             files_in_memory);

    if (rc != SQLITE_OK) {
        return engine_failed(session, "open a connection", err);
    }
    rc = sirix_sql_functions_add(session->db);
    if (rc == SQLITE_OK) {
        rc = sqlite3_set_authorizer(session->db, sirix_sql_authorize, session);
    }
    if (rc != SQLITE_OK) {
        return engine_failed(session, "lock the connection", err);
    }
    enum sirix_status status = sirix_buf_append_str(&touch, "PRAGMA temp_store=FILE;", err);
    if (status == SIRIX_OK) {
        status = add_modules(session, connection, &touch, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&touch, &text, err);
    }
    if (status == SIRIX_OK) {
        status = set_up(session, text, err);
    }
    sirix_buf_deinit(&touch);
    if (status == SIRIX_OK && (session->layers_off & SIRIX_SQL_LAYER_LIMITS) == 0) {
        set_limits(session->db);
    }
    sqlite3_progress_handler(session->db, PROGRESS_STEPS, on_progress, session);
    return status;
}

enum sirix_status sirix_sql_connection_add(struct sirix_sql_session *session,
                                           const struct sirix_sql_table *table, const char *name,
                                           struct sirix_error *err)
{
    struct sirix_buf text = {.max = SET_UP_BYTES_MAX};
    const char *terminated = NULL;

    (void)table;
    enum sirix_status status = sirix_buf_append_str(&text, "CREATE VIRTUAL TABLE main.", err);
    if (status == SIRIX_OK) {
        status = sirix_sql_quote(&text, name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&text, " USING \"sirix:table\"", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&text, &terminated, err);
    }
    if (status == SIRIX_OK) {
        status = set_up(session, terminated, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Locking -------------------------------------------------------------------------------------- */

enum sirix_status sirix_sql_connection_lock(struct sirix_sql_session *session,
                                            struct sirix_error *err)
{
    static const struct {
        int what;
        int on;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    };

    if ((session->layers_off & SIRIX_SQL_LAYER_CONNECTION) != 0) {
        return SIRIX_OK;
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        int now = -1;

        if (sqlite3_db_config(session->db, settings[i].what, settings[i].on, &now) != SQLITE_OK ||
            now != settings[i].on) {
            return sirix_fail(err, SIRIX_INTERNAL, "SQLite does not take setting %d",
                              settings[i].what);
        }
    }
    return set_up(session, "PRAGMA query_only=1", err);
}
