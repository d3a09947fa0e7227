/*
 * count(*) of a table without a step for each row. Whether a statement does nothing with its rows but count
 * them is read off the program that SQLite made of it: between the operation that begins the one scan and the
 * one that goes on there may be nothing but count(). Then a scan may give one row that weighs as many as
 * there are, and count() adds what the row weighs. Every other statement is left as it is.
 */
#include <string.h>
#include <strings.h>

#include "sql/lock.h"

enum { EXPLAINED_BYTES_MAX = SIRIX_SQL_TEXT_BYTES_MAX + 16 };

/* --- The aggregate ---------------------------------------------------------------------------------- */

static void count_step(sqlite3_context *context, int argc, sqlite3_value **values)
{
    const struct sirix_sql_session *session = sqlite3_user_data(context);
    sqlite3_int64 *sum = sqlite3_aggregate_context(context, sizeof(*sum));

    if (sum == NULL) {
        sqlite3_result_error_nomem(context);
    } else if (argc == 0 || sqlite3_value_type(values[0]) != SQLITE_NULL) {
        *sum += session->weight;
    }
}

static void count_final(sqlite3_context *context)
{
    const sqlite3_int64 *sum = sqlite3_aggregate_context(context, 0);

    sqlite3_result_int64(context, sum == NULL ? 0 : *sum);
}

/* --- The program ------------------------------------------------------------------------------------ */

/* What has been seen of it. */
struct program {
    int filters;
    bool in_loop;
    int counts; /* In the loop. */
    bool refused;
};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

static void look_at(struct program *program, const char *name, const char *p4)
{
    /* Anything that reads other rows, keeps rows, or runs a part of the program again. */
    static const char *const refused[] = {
        "OpenRead",      "OpenWrite",  "OpenEphemeral", "OpenAutoindex", "OpenPseudo", "SorterOpen",
        "OpenDup",       "VColumn",    "Column",        "Rowid",         "Gosub",      "Yield",
        "Program",       "Once",       "Rewind",        "Next",          "Prev",       "SorterSort",
        "InitCoroutine", "AggInverse", "AggValue",      "VUpdate",       NULL,
    };

    program->refused = program->refused || is_one_of(name, refused);
    if (strcmp(name, "VFilter") == 0) {
        program->filters++;
        program->in_loop = true;
    } else if (strcmp(name, "VNext") == 0) {
        program->in_loop = false;
    } else if (strncmp(name, "AggStep", 7) == 0) {
        const bool counts = strcmp(p4, "count(0)") == 0 || strcmp(p4, "count(1)") == 0;

        program->refused = program->refused || !counts || !program->in_loop;
        program->counts++;
    } else if (program->in_loop) {
        program->refused = true;
    }
}

/* Whether the program of a text does nothing but count. A failure is a no: the text is run as it is. */
static bool only_counts(struct sirix_sql_session *session)
{
    enum { OPCODE = 1, P4 = 5 };
    struct sirix_buf text = {.max = EXPLAINED_BYTES_MAX};
    struct program program = {0};
    sqlite3_stmt *explained = NULL;
    int rc = SQLITE_ERROR;

    if (sirix_buf_append_str(&text, "EXPLAIN ", NULL) == SIRIX_OK &&
        sirix_buf_append_bytes(&text, session->wanted->sql, NULL) == SIRIX_OK) {
        rc = sqlite3_prepare_v3(session->db, (const char *)text.data, (int)text.len, 0, &explained,
                                NULL);
    }
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(explained);
        if (rc == SQLITE_ROW) {
            const char *p4 = (const char *)sqlite3_column_text(explained, P4);
            const char *name = (const char *)sqlite3_column_text(explained, OPCODE);

            look_at(&program, name == NULL ? "" : name, p4 == NULL ? "" : p4);
        }
    }
    (void)sqlite3_finalize(explained);
    sirix_buf_deinit(&text);
    return rc == SQLITE_DONE && program.filters == 1 && program.counts != 0 && !program.refused &&
           !program.in_loop;
}

/* Ours, instead of SQLite's; a row weighs 1 unless a scan says otherwise. */
static int set_count(struct sirix_sql_session *session)
{
    int rc = SQLITE_OK;

    for (int arguments = 0; arguments <= 1 && rc == SQLITE_OK; arguments++) {
        rc = sqlite3_create_function_v2(session->db, "count", arguments,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                        session, NULL, count_step, count_final, NULL);
    }
    return rc;
}

enum sirix_status sirix_sql_count_whole(struct sirix_sql_session *session, struct sirix_error *err)
{
    if (!only_counts(session)) {
        return SIRIX_OK;
    }
    if (set_count(session) != SQLITE_OK) {
        return sirix_sql_no_memory(err); /* Half of it may be set. */
    }
    /* The program that will run has our count: it is looked at as well. */
    session->weighing = only_counts(session);
    return SIRIX_OK;
}
