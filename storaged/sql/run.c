/* One statement from its text to its rows. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sql/facts.h"
#include "sql/lock.h"
#include "sql/schema.h"

enum { TABLES_MAX = 200, US_PER_MS = 1000 };

static atomic_uint running;

/* --- Refusing ------------------------------------------------------------------------------------- */

static enum sirix_status refuse(struct sirix_error *err, enum sirix_reason reason, const char *text)
{
    return sirix_fail_reason(err, SIRIX_INVALID, reason, "%s", text);
}

/* What follows a text in SQLite's message, such as the name behind "no such table: ". */
static const char *behind(const char *message, const char *what)
{
    const char *at = strstr(message, what);

    return at == NULL ? NULL : at + strlen(what);
}

static enum sirix_status say_nearest(const char *message, const struct sirix_sql_nearest *nearest,
                                     const char *hint, struct sirix_error *err)
{
    char names[(SIRIX_SQL_NEAREST_NAME_BYTES + 4) * SIRIX_SQL_NEAREST_MAX];
    size_t len = 0;

    names[0] = '\0';
    for (size_t i = 0; i < nearest->count; i++) {
        const int more = snprintf(names + len, sizeof(names) - len, "%s\"%s\"", i == 0 ? "" : ", ",
                                  nearest->names[i].name);

        len += more > 0 && (size_t)more < sizeof(names) - len ? (size_t)more : 0;
    }
    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR, "%s%s%s; %s", message,
                             nearest->count == 0 ? "" : "; nearest: ", names, hint);
}

static enum sirix_status no_such_table(struct sirix_sql_session *session, const char *message,
                                       const char *name, struct sirix_error *err)
{
    struct sirix_sql_nearest nearest = {.wanted = {.data = name, .len = strlen(name)}};

    for (size_t i = 0; sirix_sql_lists[i] != NULL; i++) {
        sirix_sql_nearest_offer(&nearest, sirix_sql_lists[i]->name);
    }
    enum sirix_status status = sirix_sql_nearest_tables(session, &nearest, err);
    return status == SIRIX_OK
               ? say_nearest(message, &nearest, "all are in information_schema.tables", err)
               : status;
}

static void offer_columns(struct sirix_sql_nearest *nearest, const struct sirix_sql_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        sirix_sql_nearest_offer(nearest, table->columns[i].name);
    }
}

static enum sirix_status no_such_column(struct sirix_sql_session *session, const char *message,
                                        const char *name, struct sirix_error *err)
{
    const char *dot = strrchr(name, '.');
    struct sirix_sql_nearest nearest = {0};

    name = dot == NULL ? name : dot + 1;
    nearest.wanted = (struct sirix_bytes){.data = name, .len = strlen(name)};
    for (const struct sirix_sql_schema *schema = session->schemas; schema != NULL;
         schema = schema->next) {
        for (size_t i = 0; i < schema->count; i++) {
            offer_columns(&nearest, &schema->tables[i]);
        }
    }
    return say_nearest(message, &nearest, "all are in information_schema.columns", err);
}

/* A name that the engine keeps for itself, though a table of the store has it: what to write instead. */
static enum sirix_status engines_name(const char *name, const struct sirix_sql_table *table,
                                      struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_REFUSED,
                             "\"%s\" is a name that the engine keeps for itself; write \"%.*s/%s\"",
                             name, (int)table->database.len, (const char *)table->database.data,
                             table->name);
}

/* What the authorizer refused, which may be meant as a table of the store. */
static enum sirix_status explain_refused(struct sirix_sql_session *session, const char *message,
                                         struct sirix_error *err)
{
    const char *name = session->refused_table;
    struct sirix_sql_table *table = NULL;
    enum sirix_status status = SIRIX_OK;

    if (name != NULL) {
        status = sirix_sql_table_find(
            session, (struct sirix_bytes){.data = name, .len = strlen(name)}, &table, err);
    }
    if (status != SIRIX_OK) {
        return status; /* It may be several, which are named. */
    }
    return table != NULL ? engines_name(name, table, err)
                         : refuse(err, SIRIX_REASON_SQL_REFUSED,
                                  session->refused[0] == '\0' ? message : session->refused);
}

static enum sirix_status explain_failed(const struct sirix_sql_session *session,
                                        struct sirix_error *err)
{
    if (err != NULL) {
        *err = session->error;
    }
    return session->error.status;
}

/* Why SQLite does not go on, in its words, with what helps. */
static enum sirix_status explain(struct sirix_sql_session *session, int rc, struct sirix_error *err)
{
    const char *message = sqlite3_errmsg(session->db);
    const char *name = NULL;

    if (session->failed) {
        return explain_failed(session, err);
    }
    /* A function that is refused is an ordinary error with words of its own. */
    if ((rc & 0xff) == SQLITE_AUTH || strncmp(message, "not authorized", 14) == 0) {
        return explain_refused(session, message, err);
    }
    /* A table of the engine's that does not come to be, because it may not declare its columns. */
    name = behind(message, "vtable constructor failed: ");
    if (name != NULL) {
        sirix_sql_refuse_table(session, name);
        return session->failed ? explain_failed(session, err)
                               : explain_refused(session, message, err);
    }
    if ((rc & 0xff) == SQLITE_NOMEM || (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_NOMEM) {
        /* Of its files in memory the latter; the first also of a program longer than it may be. */
        return session->budget.lacking
                   ? sirix_sql_no_memory(err)
                   : refuse(err, SIRIX_REASON_SQL_LIMIT,
                            "the statement is too much for one program of the engine; give long "
                            "lists as one JSON text: IN (SELECT value FROM json_each('[...]'))");
    }
    if ((rc & 0xff) == SQLITE_TOOBIG) {
        return refuse(err, SIRIX_REASON_SQL_LIMIT, message);
    }
    if ((rc & 0xff) == SQLITE_READONLY) {
        return refuse(err, SIRIX_REASON_SQL_REFUSED, message);
    }
    name = behind(message, "no such table: ");
    if (name != NULL) {
        return no_such_table(session, message, name, err);
    }
    name = behind(message, "no such column: ");
    if (name != NULL) {
        return no_such_column(session, message, name, err);
    }
    if (strstr(message, "no query solution") != NULL) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "%s; a revision, and every other argument, must be a constant or "
                                 "a value of a table that can be read before",
                                 message);
    }
    if (strstr(message, "may not be modified") != NULL) {
        return refuse(err, SIRIX_REASON_SQL_REFUSED, message);
    }
    return sirix_fail_reason(
        err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR, "%s%s", message,
        strstr(message, "syntax error") == NULL
            ? ""
            : "; tables are listed by SELECT * FROM "
              "information_schema.tables, columns by information_schema.columns");
}

/* --- Preparing ------------------------------------------------------------------------------------ */

/* Behind a comment that begins at a text; NULL: none does. */
static const char *behind_comment(const char *at, const char *end)
{
    if (end - at < 2) {
        return NULL;
    }
    if (at[0] == '-' && at[1] == '-') {
        const char *line = memchr(at, '\n', (size_t)(end - at));

        return line == NULL ? end : line + 1;
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);

        return close == NULL ? end : close + 2; /* SQLite ends an open comment at the end. */
    }
    return NULL;
}

/* Whether nothing follows but blanks, comments and semicolons. */
static bool nothing_follows(const char *at, const char *end)
{
    while (at != NULL && at < end) {
        at = *at == ' ' || *at == ';' || (*at >= '\t' && *at <= '\r') ? at + 1
                                                                      : behind_comment(at, end);
    }
    return at != NULL;
}

/* Makes a table of that name if there is one and it is not made yet. */
static enum sirix_status make_named(struct sirix_sql_session *session, const char *name,
                                    bool *out_made, struct sirix_error *err)
{
    struct sirix_sql_table *table = NULL;
    struct sirix_sql_made *made = NULL;
    void *memory = NULL;
    char *copy = NULL;

    if (sirix_sql_is_made(session, name)) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_strdup(&session->arena, name, &copy, err);
    if (status == SIRIX_OK) {
        status = sirix_sql_table_find(
            session, (struct sirix_bytes){.data = copy, .len = strlen(copy)}, &table, err);
    }
    if (status != SIRIX_OK || table == NULL) {
        return status;
    }
    if (strncasecmp(copy, "sqlite_", 7) == 0) {
        return engines_name(copy, table, err);
    }
    status = sirix_arena_calloc(&session->arena, 1, sizeof(*made), &memory, err);
    if (status == SIRIX_OK) {
        made = memory;
        *made = (struct sirix_sql_made){.name = copy, .next = session->made};
        session->made = made;
        session->created++;
        *out_made = true;
        status = sirix_sql_connection_add(session, table, copy, err);
    }
    return status;
}

/*
 * Makes the table that SQLite misses; *out_made false: there is none of that name. "main.x" is x in the
 * schema main, or a table of that name: SQLite says the same of both, so both are made, one after the other.
 */
static enum sirix_status make_missing(struct sirix_sql_session *session, bool *out_made,
                                      struct sirix_error *err)
{
    const char *message = sqlite3_errmsg(session->db);
    const char *name = behind(message, "no such table: ");
    char *copy = NULL;

    *out_made = false;
    if (name == NULL || session->created == TABLES_MAX) {
        return SIRIX_OK;
    }
    /* Making a table changes the message. */
    enum sirix_status status = sirix_arena_strdup(&session->arena, name, &copy, err);
    if (status == SIRIX_OK) {
        status = make_named(session, copy, out_made, err);
    }
    if (status == SIRIX_OK && !*out_made && strncasecmp(copy, "main.", 5) == 0) {
        status = make_named(session, copy + 5, out_made, err);
    }
    return status;
}

/* After a failure: whether a table was made that SQLite had missed. Else it is an error. */
static enum sirix_status mend(struct sirix_sql_session *session, int rc, struct sirix_error *err)
{
    struct sirix_error missing = {0};
    bool made = false;

    if (session->failed || rc != SQLITE_ERROR) {
        return explain(session, rc, err);
    }
    enum sirix_status status = make_missing(session, &made, &missing);
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = missing;
        }
        return status;
    }
    return made ? SIRIX_OK : explain(session, rc, err);
}

/* Prepares; the tables that the text names are found one after the other. */
static enum sirix_status prepare(struct sirix_sql_session *session, sqlite3_stmt **out_statement,
                                 const char **out_tail, struct sirix_error *err)
{
    const struct sirix_bytes sql = session->wanted->sql;
    enum sirix_status status = SIRIX_OK;
    int rc = SQLITE_ERROR;

    while (status == SIRIX_OK && rc != SQLITE_OK) {
        session->selects = 0;
        session->counts = false;
        rc = sqlite3_prepare_v3(session->db, sql.len == 0 ? "" : sql.data, (int)sql.len, 0,
                                out_statement, out_tail);
        status = rc == SQLITE_OK ? SIRIX_OK : mend(session, rc, err);
    }
    return status;
}

static enum sirix_status check_text(struct sirix_bytes sql, struct sirix_error *err)
{
    if (sql.len > SIRIX_SQL_TEXT_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_LIMIT,
                                 "a statement has at most %d bytes", SIRIX_SQL_TEXT_BYTES_MAX);
    }
    if (sql.len != 0 && memchr(sql.data, 0, sql.len) != NULL) {
        return refuse(err, SIRIX_REASON_SQL_STATEMENT, "the text holds U+0000");
    }
    if (!sirix_utf8_valid(sql.data, sql.len, NULL)) {
        return refuse(err, SIRIX_REASON_SQL_STATEMENT, "the text is not UTF-8");
    }
    return SIRIX_OK;
}

struct named {
    struct sirix_bytes name;
    bool found;
};

static enum sirix_status find_named(void *context, struct sirix_bytes database,
                                    struct sirix_bytes resource, bool *stop,
                                    struct sirix_error *err)
{
    struct named *named = context;

    (void)resource;
    (void)err;
    named->found = sirix_bytes_equal(database, named->name);
    *stop = named->found;
    return SIRIX_OK;
}

/* The database that the request names must be there: else every table would just be missing. */
static enum sirix_status check_database(struct sirix_sql_session *session, struct sirix_error *err)
{
    struct named named = {.name = session->wanted->database};
    enum sirix_status status = SIRIX_OK;

    if (named.name.len == 0) {
        return SIRIX_OK;
    }
    status = sirix_sql_each_database(session, find_named, &named, err);
    if (status == SIRIX_OK && !named.found) {
        status = sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                                   "there is no database \"%.*s\"", (int)named.name.len,
                                   (const char *)named.name.data);
        sirix_error_set_field(err, "database");
    }
    return status;
}

/* One statement that has columns and writes nothing, as SQLite sees it. */
static enum sirix_status check_statement(struct sirix_sql_session *session, sqlite3_stmt *statement,
                                         const char *tail, struct sirix_error *err)
{
    const struct sirix_bytes sql = session->wanted->sql;

    if (statement == NULL) {
        return refuse(err, SIRIX_REASON_SQL_STATEMENT, "there is no statement in the text");
    }
    if ((session->layers_off & SIRIX_SQL_LAYER_STATEMENT) != 0) {
        return SIRIX_OK;
    }
    if (!nothing_follows(tail, (const char *)sql.data + sql.len)) {
        return refuse(err, SIRIX_REASON_SQL_STATEMENT,
                      "one statement a call: an answer has one set of columns");
    }
    if (sqlite3_stmt_readonly(statement) == 0 || sqlite3_column_count(statement) == 0) {
        return refuse(err, SIRIX_REASON_SQL_REFUSED,
                      "this door reads only, and the statement gives no rows");
    }
    return sqlite3_stmt_isexplain(statement) != 1
               ? SIRIX_OK
               : refuse(err, SIRIX_REASON_SQL_REFUSED,
                        "EXPLAIN shows the engine's code; EXPLAIN QUERY PLAN shows the plan");
}

/* --- Rows ----------------------------------------------------------------------------------------- */

static enum sirix_status give_columns(sqlite3_stmt *statement, const struct sirix_sql_sink *sink,
                                      struct sirix_sql_column *columns, int count,
                                      struct sirix_error *err)
{
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(statement, i);
        const char *declared = sqlite3_column_decltype(statement, i);

        if (name == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the columns of an answer");
        }
        columns[i].name = name;
        columns[i].type = declared == NULL                   ? ""
                          : strcmp(declared, "TEXT") == 0    ? "text"
                          : strcmp(declared, "NUMERIC") == 0 ? "number"
                          : strcmp(declared, "INTEGER") == 0 ? "integer"
                                                             : "";
    }
    return sink->columns(sink->context, columns, (size_t)count, err);
}

static enum sirix_status give_row(struct sirix_sql_session *session, sqlite3_stmt *statement,
                                  const struct sirix_sql_sink *sink, struct sirix_sql_value *values,
                                  uint64_t *bytes, struct sirix_sql_end *end,
                                  struct sirix_error *err)
{
    enum { SMALL_BYTES = 16 };
    const struct sirix_sql_request *wanted = session->wanted;
    const int count = sqlite3_column_count(statement);

    if (wanted->row_max != 0 && end->row_count == wanted->row_max) {
        end->cut = SIRIX_SQL_CUT_ROWS;
        return SIRIX_OK;
    }
    for (int i = 0; i < count; i++) {
        enum sirix_status status =
            sirix_sql_value_from(sqlite3_column_value(statement, i), &values[i], err);

        if (status != SIRIX_OK) {
            return status;
        }
        /* A cast makes text of any bytes; what is no text is given as what it is. */
        if (values[i].kind == SIRIX_SQL_TEXT &&
            !sirix_utf8_valid(values[i].bytes.data, values[i].bytes.len, NULL)) {
            values[i].kind = SIRIX_SQL_BLOB;
        }
        *bytes += values[i].bytes.len + SMALL_BYTES;
    }
    if (wanted->bytes_max != 0 && *bytes > wanted->bytes_max) {
        end->cut = SIRIX_SQL_CUT_BYTES;
        return SIRIX_OK;
    }
    enum sirix_status status = sink->row(sink->context, values, (size_t)count, err);
    end->row_count += status == SIRIX_OK ? 1 : 0;
    return status;
}

static enum sirix_status give_all(struct sirix_sql_session *session, sqlite3_stmt *statement,
                                  const struct sirix_sql_sink *sink, struct sirix_sql_end *end,
                                  struct sirix_error *err)
{
    const int count = sqlite3_column_count(statement);
    struct sirix_sql_column *columns = NULL;
    struct sirix_sql_value *values = NULL;
    uint64_t bytes = 0;
    void *memory = NULL;
    int rc = SQLITE_ROW;

    enum sirix_status status =
        sirix_arena_calloc(&session->arena, (size_t)count, sizeof(*columns), &memory, err);
    columns = memory;
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(&session->arena, (size_t)count, sizeof(*values), &memory, err);
        values = memory;
    }
    if (status == SIRIX_OK) {
        status = give_columns(statement, sink, columns, count, err);
    }
    while (status == SIRIX_OK && end->cut == SIRIX_SQL_WHOLE) {
        rc = sqlite3_step(statement);
        if (rc == SQLITE_DONE) {
            break;
        }
        status = rc == SQLITE_ROW ? give_row(session, statement, sink, values, &bytes, end, err)
                                  : explain(session, rc, err);
    }
    return status;
}

static enum sirix_status run(struct sirix_sql_session *session, const struct sirix_sql_sink *sink,
                             struct sirix_sql_end *out_end, struct sirix_error *err)
{
    struct sirix_sql_connection connection = {0};
    sqlite3_stmt *statement = NULL;
    struct sirix_sql_end end = {0};
    const char *tail = NULL;

    enum sirix_status status = check_database(session, err);
    if (status == SIRIX_OK) {
        status = sirix_sql_connection_open(session, &connection, err);
    }
    if (status == SIRIX_OK) {
        status = prepare(session, &statement, &tail, err);
    }
    if (status == SIRIX_OK) {
        status = check_statement(session, statement, tail, err);
    }
    /* Locking may end what was prepared; SQLite prepares it again by itself, under the authorizer. */
    if (status == SIRIX_OK) {
        status = sirix_sql_connection_lock(session, err);
    }
    if (status == SIRIX_OK) {
        (void)sqlite3_finalize(statement);
        statement = NULL;
        status = prepare(session, &statement, &tail, err);
    }
    if (status == SIRIX_OK && session->selects == 1 && session->counts) {
        (void)sqlite3_finalize(statement);
        statement = NULL;
        status = sirix_sql_count_whole(session, err);
        if (status == SIRIX_OK) {
            status = prepare(session, &statement, &tail, err);
        }
    }
    if (status == SIRIX_OK && session->facts_wanted) {
        const struct sirix_sql_facts *facts = NULL;

        /* Before the first yield, so that it is the state of the tables that are open. */
        status = sirix_sql_facts_all(session, &facts, err);
    }
    if (status == SIRIX_OK) {
        status = give_all(session, statement, sink, &end, err);
    }
    (void)sqlite3_finalize(statement); /* Its error was told by the step. */
    (void)sqlite3_close(session->db);
    session->db = NULL;
    if (status == SIRIX_OK) {
        *out_end = end;
    }
    return status;
}

/* Asked where SQLite takes much memory: a statement that is over gets none. */
static bool may_go_on(void *context)
{
    struct sirix_sql_session *session = context;
    struct sirix_error err = {0};

    if (sirix_sql_check(session, &err) == SIRIX_OK) {
        return true;
    }
    (void)sirix_sql_failed(session, &err);
    return false;
}

enum sirix_status sirix_sql_run_without(const struct sirix_request *request,
                                        const struct sirix_sql_request *wanted,
                                        const struct sirix_sql_sink *sink, unsigned layers_off,
                                        struct sirix_sql_end *out_end, struct sirix_error *err)
{
    const uint64_t now = sirix_cancel_now_us();
    struct sirix_sql_session session = {
        .request = *request,
        .wanted = wanted,
        .layers_off = layers_off,
        .yielded_us = now,
        .stop_us =
            wanted->time_max_ms == 0 ? UINT64_MAX : now + (uint64_t)wanted->time_max_ms * US_PER_MS,
    };
    enum sirix_status status = check_text(wanted->sql, err);

    if (status != SIRIX_OK) {
        return status;
    }
    session.weight = 1;
    session.budget = (struct sirix_sql_budget){
        .limit = (layers_off & SIRIX_SQL_LAYER_LIMITS) != 0 ? SIZE_MAX : SIRIX_SQL_MEMORY_BYTES_MAX,
        .go_on = may_go_on,
        .context = &session,
    };
    if (atomic_fetch_add(&running, 1) >= SIRIX_SQL_RUNNING_MAX) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_EXHAUSTED, "%d statements are running, as many as may",
                          SIRIX_SQL_RUNNING_MAX);
    }
    sirix_arena_init(&session.arena, SIRIX_SQL_ARENA_BYTES_MAX);
    status = sirix_sql_memory_install(err);
    if (status == SIRIX_OK) {
        struct sirix_sql_budget *before = sirix_sql_budget_swap(&session.budget);

        status = run(&session, sink, out_end, err);
        (void)sirix_sql_budget_swap(before);
    }
    sirix_sql_session_close(&session);
    (void)atomic_fetch_sub(&running, 1);
    return status;
}

enum sirix_status sirix_sql_run(const struct sirix_request *request,
                                const struct sirix_sql_request *wanted,
                                const struct sirix_sql_sink *sink, struct sirix_sql_end *out_end,
                                struct sirix_error *err)
{
    return sirix_sql_run_without(request, wanted, sink, 0, out_end, err);
}
