/* sql: one statement, or a console for people. No caps: it is a person who asks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "json/text.h"

enum { SQL_BYTES_MAX = 1024 * 1024, SQL_NUMBER_BYTES = 40 }; /* The server takes 64 KiB. */

enum { FLAG_DATABASE };

static const struct sirixctl_flag sql_flags[] = {
    [FLAG_DATABASE] = {"database", "DB", "where tables without a database in their name are"},
};

/* --- Showing ------------------------------------------------------------------------------------ */

/* The shortest text that reads as the same double; JSON has no infinity. */
static void show_real(struct sirixctl_out *out, double real)
{
    enum { DIGITS_FEW = 15, DIGITS_ALL = 17 };
    char text[SQL_NUMBER_BYTES];

    (void)snprintf(text, sizeof(text), "%.*g", DIGITS_FEW, real);
    if (strtod(text, NULL) < real || strtod(text, NULL) > real) {
        (void)snprintf(text, sizeof(text), "%.*g", DIGITS_ALL, real);
    }
    if (strpbrk(text, ".en") == NULL) {
        (void)strncat(text, ".0", sizeof(text) - strlen(text) - 1);
    }
    sirixctl_out_printf(out, "%s", strchr(text, 'n') == NULL ? text : "null");
}

/* A JSON string. */
static enum sirix_status show_text_json(struct sirixctl *ctl, struct sirix_bytes text,
                                        struct sirix_error *err)
{
    struct sirix_buf canonical;

    sirix_buf_init(&canonical, SIZE_MAX);
    enum sirix_status status = sirix_json_text_escape(&canonical, text, err);
    if (status == SIRIX_OK) {
        sirixctl_out_printf(&ctl->out, "\"");
        sirixctl_out_json(&ctl->out, sirix_buf_view(&canonical));
        sirixctl_out_printf(&ctl->out, "\"");
    }
    sirix_buf_deinit(&canonical);
    return status;
}

static void show_blob(struct sirixctl_out *out, struct sirix_bytes blob)
{
    const unsigned char *at = blob.data;

    for (size_t i = 0; i < blob.len; i++) {
        sirixctl_out_printf(out, "%02x", at[i]);
    }
}

static enum sirix_status show_value(struct sirixctl *ctl, const struct sirix_sql_value *value,
                                    struct sirix_error *err)
{
    switch (value->kind) {
    case SIRIX_SQL_INTEGER:
        sirixctl_out_printf(&ctl->out, "%" PRId64, value->integer);
        return SIRIX_OK;
    case SIRIX_SQL_REAL:
        show_real(&ctl->out, value->real);
        return SIRIX_OK;
    case SIRIX_SQL_TEXT:
        if (ctl->json) {
            return show_text_json(ctl, value->bytes, err);
        }
        sirixctl_out_text(&ctl->out, value->bytes);
        return SIRIX_OK;
    case SIRIX_SQL_BLOB:
        sirixctl_out_printf(&ctl->out, ctl->json ? "\"" : "x'");
        show_blob(&ctl->out, value->bytes);
        sirixctl_out_printf(&ctl->out, ctl->json ? "\"" : "'");
        return SIRIX_OK;
    default:
        sirixctl_out_printf(&ctl->out, ctl->json ? "null" : "NULL");
        return SIRIX_OK;
    }
}

static enum sirix_status show_columns(struct sirixctl *ctl, const struct sirix_sql_part *part,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!ctl->json) {
        for (size_t i = 0; i < part->column_count && !ctl->quiet; i++) {
            sirixctl_out_printf(&ctl->out, i == 0 ? "" : "\t");
            sirixctl_out_text(&ctl->out, part->columns[i].name);
        }
        sirixctl_out_printf(&ctl->out, ctl->quiet ? "" : "\n");
        return SIRIX_OK;
    }
    sirixctl_out_printf(&ctl->out, "{\"columns\":[");
    for (size_t i = 0; i < part->column_count && status == SIRIX_OK; i++) {
        sirixctl_out_printf(&ctl->out, i == 0 ? "{\"name\":" : ",{\"name\":");
        status = show_text_json(ctl, part->columns[i].name, err);
        sirixctl_out_printf(&ctl->out, ",\"type\":");
        if (status == SIRIX_OK) {
            status = show_text_json(ctl, part->columns[i].type, err);
        }
        sirixctl_out_printf(&ctl->out, "}");
    }
    sirixctl_out_printf(&ctl->out, "],\"rows\":[");
    return status;
}

static enum sirix_status show_row(struct sirixctl *ctl, const struct sirix_sql_value *values,
                                  size_t count, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        if (i != 0) {
            sirixctl_out_printf(&ctl->out, ctl->json ? "," : "\t");
        }
        status = show_value(ctl, &values[i], err);
    }
    return status;
}

static enum sirix_status show_rows(struct sirixctl *ctl, const struct sirix_sql_part *part,
                                   uint64_t before, struct sirix_error *err)
{
    const size_t width = part->row_count == 0 ? 0 : part->value_count / part->row_count;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < part->row_count && status == SIRIX_OK; i++) {
        if (ctl->json) {
            sirixctl_out_printf(&ctl->out, before + i == 0 ? "[" : ",[");
        }
        status = show_row(ctl, part->values + i * width, width, err);
        sirixctl_out_printf(&ctl->out, ctl->json ? "]" : "\n");
    }
    return status;
}

static enum sirix_status show(struct sirixctl *ctl, const struct sirix_sql_request *request,
                              struct sirix_error *err)
{
    struct sirix_sql_part part = {.kind = SIRIX_SQL_PART_COLUMNS};
    struct sirix_sql_stream *stream = NULL;
    uint64_t count = 0;
    enum sirix_status status = sirix_client_sql(ctl->client, request, &ctl->call, &stream, err);

    while (status == SIRIX_OK && part.kind != SIRIX_SQL_PART_END) {
        status = sirix_sql_stream_next(stream, &part, err);
        if (status == SIRIX_OK && part.kind == SIRIX_SQL_PART_COLUMNS) {
            status = show_columns(ctl, &part, err);
        } else if (status == SIRIX_OK && part.kind == SIRIX_SQL_PART_ROWS) {
            status = show_rows(ctl, &part, count, err);
            count += part.row_count;
        }
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_out_printf(&ctl->out, "],\"rowCount\":%" PRIu64 "}\n", count);
    }
    sirix_sql_stream_close(stream);
    return status;
}

/* --- The console -------------------------------------------------------------------------------- */

/* A statement ends with a semicolon at the end of a line, or with an empty line. */
static bool is_complete(void *context, struct sirix_bytes text)
{
    const char *bytes = text.data;

    (void)context;
    return text.len != 0 && bytes[text.len - 1] == ';';
}

static void complete(void *context, struct sirixctl_candidates *candidates)
{
    static const char *const words[] = {
        "SELECT ",
        "FROM ",
        "WHERE ",
        "GROUP BY ",
        "ORDER BY ",
        "HAVING ",
        "LIMIT ",
        "JOIN ",
        "count(*)",
        "databases",
        "resources",
        "snapshots",
        "branches",
        "revisions(",
        "nodes(",
        "changes(",
        "history(",
        "paths(",
        "information_schema.tables",
        "information_schema.columns",
    };

    (void)context;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        sirixctl_candidates_add(candidates, words[i]);
    }
}

/* A cancellation is for ever, so that each statement after one gets a handle of its own. */
static enum sirix_status renew_cancel(struct sirixctl *ctl, struct sirix_error *err)
{
    if (!sirix_call_cancel_triggered(ctl->call.cancel)) {
        return SIRIX_OK;
    }
    sirixctl_interrupt_stop();
    ctl->call.cancel = NULL;
    return sirixctl_interrupt_start(&ctl->call.cancel, err);
}

static enum sirix_status run_console(struct sirixctl *ctl, struct sirix_sql_request *request,
                                     struct sirix_error *err)
{
    const struct sirixctl_console_options options = {
        .name = "sql",
        .prompt = "sql> ",
        .word_bytes = "_.",
        .is_complete = is_complete,
        .complete = complete,
    };
    struct sirixctl_console *console = NULL;
    bool ended = false;
    enum sirix_status status = sirixctl_console_open(&options, &console, err);

    while (status == SIRIX_OK) {
        struct sirix_error failed = {0};

        status = sirixctl_console_read(console, &request->sql, &ended, err);
        if (status != SIRIX_OK || ended) {
            break;
        }
        if (show(ctl, request, &failed) != SIRIX_OK) {
            (void)fflush(ctl->out.file); /* What was answered before it failed. */
            (void)fprintf(stderr, "sirixctl: %s\n", failed.text);
        }
        status = renew_cancel(ctl, err);
        if (status == SIRIX_OK) {
            status = sirixctl_out_finish(&ctl->out, err);
        }
    }
    sirixctl_console_close(console);
    return status;
}

/* --- The command -------------------------------------------------------------------------------- */

static enum sirix_status run_sql(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_sql_request request = {.database = ctl->args.own[FLAG_DATABASE]};
    const char *text = ctl->args.operand_count == 0 ? NULL : ctl->args.operands[0];
    const bool is_console = text == NULL && !ctl->json && sirixctl_console_possible();
    enum sirix_status status = SIRIX_OK;
    char *memory = NULL;
    size_t len = 0;

    if (text != NULL && strcmp(text, "-") != 0) {
        request.sql = sirix_bytes_from_str(text);
    } else if (!is_console) {
        status = sirixctl_read_file("-", SQL_BYTES_MAX, &memory, &len, err);
        request.sql = (struct sirix_bytes){.data = memory, .len = len};
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = is_console ? run_console(ctl, &request, err) : show(ctl, &request, err);
    }
    free(memory);
    return status;
}

const struct sirixctl_command sirixctl_sql = {
    .name = "sql",
    .operands = "[SQL]",
    .summary = "Ask with SQL: every array of objects is a table",
    .details =
        "One statement that reads, in SQLite's dialect; nothing can be written. Rows are lines,\n"
        "columns divided by tabs, the names first unless --quiet. `-` is stdin. Without a text, "
        "on\n"
        "a terminal: a console, where a statement ends with `;` or an empty line.",
    .answer = "{\"columns\":[{\"name\",\"type\"}],\"rows\":[[...]],\"rowCount\"}",
    .flags = SIRIXCTL_FLAGS(sql_flags),
    .operands_min = 0,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run_sql,
};
