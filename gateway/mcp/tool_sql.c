/* store_query: one statement of SQL that reads, its rows as arrays. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp/sql.h"
#include "json/writer.h"

enum {
    /* Values may be cut to be shown, so the server may send more than an answer holds. */
    VALUE_BYTES_MAX = 16 * 1024 * 1024,
    NOTE_BYTES = 640,
    TIME_MARGIN_MS = 100, /* The server says why it stopped before our own time is over. */
    NEAREST_MAX = 8,
};

/* --- Running ------------------------------------------------------------------------------------ */

static enum sirix_status take_part(const struct sirix_mcp_sql *wanted,
                                   const struct sirix_sql_part *part, bool *stop,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (part->kind == SIRIX_SQL_PART_COLUMNS) {
        return wanted->columns == NULL
                   ? SIRIX_OK
                   : wanted->columns(wanted->context, part->columns, part->column_count, err);
    }
    if (part->kind != SIRIX_SQL_PART_ROWS || part->row_count == 0) {
        return SIRIX_OK;
    }
    const size_t width = part->value_count / part->row_count;
    for (size_t i = 0; i < part->row_count && !*stop && status == SIRIX_OK; i++) {
        status = wanted->row(wanted->context, part->values + i * width, width, stop, err);
    }
    return status;
}

enum sirix_status sirix_mcp_sql_run(struct sirix_mcp_call *call, const struct sirix_mcp_sql *wanted,
                                    enum sirix_sql_cut *out_cut, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_sql_part part = {.kind = SIRIX_SQL_PART_COLUMNS};
    struct sirix_sql_stream *stream = NULL;
    struct sirix_scope scope = {0};
    uint64_t parts = 0;
    bool stop = false;

    enum sirix_status status = sirix_mcp_scope(call, &scope, err);
    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_sql_request request = {
        .sql = wanted->sql,
        .database = wanted->database,
        .row_max = wanted->rows,
        .bytes_max = VALUE_BYTES_MAX,
        .time_max_ms = options.deadline_ms > 2 * TIME_MARGIN_MS
                           ? options.deadline_ms - TIME_MARGIN_MS
                           : options.deadline_ms,
        .scope = &scope,
    };
    status = sirix_backend_sql(call->server->backend, &request, &options, &stream, err);
    while (status == SIRIX_OK && part.kind != SIRIX_SQL_PART_END && !stop) {
        status = sirix_backend_sql_next(stream, &part, err);
        sirix_mcp_tell_progress(call->request, ++parts, 0, "parts of the answer", false);
        if (status == SIRIX_OK) {
            status = take_part(wanted, &part, &stop, err);
        }
    }
    sirix_backend_sql_close(stream);
    if (status == SIRIX_OK) {
        *out_cut = stop ? SIRIX_SQL_CUT_BYTES : part.cut;
    }
    return status;
}

enum sirix_status sirix_mcp_sql_database(struct sirix_mcp_call *call, const char **out_database,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (sirix_argument(&call->arguments, "database") == NULL) {
        *out_database = NULL;
        return SIRIX_OK;
    }
    status = sirix_mcp_take_database(call, err);
    if (status == SIRIX_OK) {
        *out_database = call->database;
    }
    return status;
}

/* --- Text --------------------------------------------------------------------------------------- */

static enum sirix_status append_quoted(struct sirix_buf *out, struct sirix_bytes text, char quote,
                                       struct sirix_error *err)
{
    const char *at = text.data;
    enum sirix_status status = sirix_buf_append_u8(out, (uint8_t)quote, err);

    for (size_t i = 0; i < text.len && status == SIRIX_OK; i++) {
        if (at[i] == quote) {
            status = sirix_buf_append_u8(out, (uint8_t)quote, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_u8(out, (uint8_t)at[i], err);
        }
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, (uint8_t)quote, err) : status;
}

enum sirix_status sirix_mcp_sql_literal(struct sirix_buf *out, struct sirix_bytes text,
                                        struct sirix_error *err)
{
    return append_quoted(out, text, '\'', err);
}

enum sirix_status sirix_mcp_sql_name(struct sirix_buf *out, struct sirix_bytes name,
                                     struct sirix_error *err)
{
    return append_quoted(out, name, '"', err);
}

/* --- Values ------------------------------------------------------------------------------------- */

/* The shortest text that reads as the same double; JSON has no infinity. */
static struct sirix_json_node *real_node(struct sirix_answer *answer, double real)
{
    enum { DIGITS_FEW = 15, DIGITS_ALL = 17, REAL_BYTES = 40 };
    char text[REAL_BYTES];

    if (!isfinite(real)) {
        return sirix_answer_value(answer, sirix_bytes_from_str("null"));
    }
    (void)snprintf(text, sizeof(text), "%.*g", DIGITS_FEW, real);
    if (strtod(text, NULL) < real || strtod(text, NULL) > real) {
        (void)snprintf(text, sizeof(text), "%.*g", DIGITS_ALL, real);
    }
    if (strpbrk(text, ".e") == NULL) {
        (void)strncat(text, ".0", sizeof(text) - strlen(text) - 1);
    }
    return sirix_answer_value(answer, sirix_bytes_from_str(text));
}

/* As SQL writes it: x'00ff'. */
static struct sirix_json_node *blob_node(struct sirix_answer *answer, struct sirix_bytes blob)
{
    const size_t shown = blob.len < answer->string_max ? blob.len : answer->string_max;
    const unsigned char *at = blob.data;
    struct sirix_json_node *node = NULL;
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    enum sirix_status status = sirix_buf_append_str(&text, "x'", &answer->error);
    for (size_t i = 0; i < shown && status == SIRIX_OK; i++) {
        status = sirix_buf_printf(&text, &answer->error, "%02x", at[i]);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(&text, '\'', &answer->error);
    }
    if (status == SIRIX_OK) {
        node = sirix_answer_text(answer, sirix_buf_view(&text));
    } else {
        answer->status = status;
    }
    sirix_buf_deinit(&text);
    return node;
}

struct sirix_json_node *sirix_mcp_sql_value(struct sirix_answer *answer,
                                            const struct sirix_sql_value *value)
{
    enum { INTEGER_BYTES = 24 };
    char text[INTEGER_BYTES];

    switch (value->kind) {
    case SIRIX_SQL_INTEGER:
        (void)snprintf(text, sizeof(text), "%" PRId64, value->integer);
        return sirix_answer_value(answer, sirix_bytes_from_str(text));
    case SIRIX_SQL_REAL:
        return real_node(answer, value->real);
    case SIRIX_SQL_TEXT:
        return sirix_utf8_valid(value->bytes.data, value->bytes.len, NULL)
                   ? sirix_answer_text(answer, value->bytes)
                   : blob_node(answer, value->bytes);
    case SIRIX_SQL_BLOB:
        return blob_node(answer, value->bytes);
    default:
        return sirix_answer_value(answer, sirix_bytes_from_str("null"));
    }
}

/* --- Refusals ----------------------------------------------------------------------------------- */

bool sirix_mcp_sql_is_refusal(enum sirix_status status)
{
    return status == SIRIX_INVALID || status == SIRIX_NOT_FOUND || status == SIRIX_OUT_OF_RANGE ||
           status == SIRIX_DEADLINE;
}

/* The names that the server's sentence puts behind "nearest: ", each in double quotes. */
static enum sirix_status write_nearest(struct sirix_json_writer *writer, const char *text,
                                       struct sirix_error *err)
{
    static const char mark[] = "; nearest: \"";
    const char *at = strstr(text, mark);
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;

    if (at == NULL) {
        return SIRIX_OK;
    }
    at += sizeof(mark) - 1;
    status = sirix_json_write_name_str(writer, "nearest", err);
    if (status == SIRIX_OK) {
        status = sirix_json_write_array_begin(writer, err);
    }
    while (at != NULL && status == SIRIX_OK && count++ < NEAREST_MAX) {
        const char *end = strchr(at, '"');

        if (end == NULL) {
            break;
        }
        status = sirix_json_write_string_plain(
            writer, (struct sirix_bytes){.data = at, .len = (size_t)(end - at)}, err);
        at = strncmp(end, "\", \"", 4) == 0 ? end + 4 : NULL;
    }
    return status == SIRIX_OK ? sirix_json_write_array_end(writer, err) : status;
}

static enum sirix_status write_member(struct sirix_json_writer *writer, const char *name,
                                      const char *value, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_name_str(writer, name, err);

    return status == SIRIX_OK ? sirix_json_write_string_str(writer, value, err) : status;
}

enum sirix_status sirix_mcp_sql_refusal(const struct sirix_error *error, struct sirix_buf *out,
                                        struct sirix_error *err)
{
    struct sirix_json_writer writer;
    const char *code = error->reason == SIRIX_REASON_NONE ? sirix_status_name(error->status)
                                                          : sirix_reason_name(error->reason);

    sirix_json_writer_init_buf(&writer, out, NULL);
    enum sirix_status status = sirix_json_write_object_begin(&writer, err);
    if (status == SIRIX_OK) {
        status = write_member(&writer, "status", "invalid", err);
    }
    if (status == SIRIX_OK) {
        status = write_member(&writer, "reason", error->text, err);
    }
    if (status == SIRIX_OK) {
        status = write_member(&writer, "code", code, err);
    }
    if (status == SIRIX_OK && error->field[0] != '\0') {
        status = write_member(&writer, "field", error->field, err);
    }
    if (status == SIRIX_OK) {
        status = write_nearest(&writer, error->text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_write_object_end(&writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, err);
    }
    sirix_json_writer_deinit(&writer);
    return status;
}

/* --- store_query -------------------------------------------------------------------------------- */

struct asking {
    struct sirix_mcp_call *call;
    struct sirix_json_node *columns;
    struct sirix_json_node *rows;
    uint64_t limit;
    unsigned limit_bit; /* What says so. */
    uint64_t given;
    size_t bytes;
};

static enum sirix_status take_columns(void *context, const struct sirix_sql_column *columns,
                                      size_t count, struct sirix_error *err)
{
    struct asking *a = context;
    struct sirix_answer *answer = &a->call->answer;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        struct sirix_json_node *column = sirix_answer_object(answer);

        sirix_answer_stored(answer, column, "name", columns[i].name);
        sirix_answer_stored(answer, column, "type",
                            columns[i].type.len == 0 ? sirix_bytes_from_str("any")
                                                     : columns[i].type);
        sirix_answer_append(answer, a->columns, column);
    }
    a->bytes = sirix_answer_size(answer, a->columns) + NOTE_BYTES;
    return SIRIX_OK;
}

static enum sirix_status take_row(void *context, const struct sirix_sql_value *values, size_t count,
                                  bool *stop, struct sirix_error *err)
{
    struct asking *a = context;
    struct sirix_answer *answer = &a->call->answer;
    struct sirix_json_node *row = sirix_answer_array(answer);

    (void)err;
    for (size_t i = 0; i < count; i++) {
        sirix_answer_append(answer, row, sirix_mcp_sql_value(answer, &values[i]));
    }
    const size_t size = sirix_answer_size(answer, row) + 1;
    if (!sirix_answer_has_room(answer, a->bytes, size)) {
        *stop = true;
        return SIRIX_OK;
    }
    sirix_answer_append(answer, a->rows, row);
    a->bytes += size;
    a->given++;
    return SIRIX_OK;
}

/* limit widens from the default up to the ceiling, where it is held. */
static void take_limit(struct asking *a)
{
    const struct sirix_settings *settings = a->call->server->settings;
    const struct sirix_argument *given = sirix_argument(&a->call->arguments, "limit");

    if (given == NULL) {
        a->limit = settings->sql_default_rows;
        a->limit_bit = SIRIX_ANSWER_LIMIT_SQL_DEFAULT;
    } else if (given->number >= settings->sql_max_rows) {
        a->limit = settings->sql_max_rows;
        a->limit_bit = SIRIX_ANSWER_LIMIT_SQL_MAX;
    } else {
        a->limit = given->number;
        a->limit_bit = SIRIX_ANSWER_LIMIT_ASKED;
    }
}

/* What was cut by what, and where to go. */
static void tell_cut(struct asking *a, enum sirix_sql_cut cut)
{
    static const char *const elsewhere =
        "Narrow it (WHERE, LIMIT with OFFSET, an aggregate), or take `sirixctl sql`, the console "
        "for people, which has no cap.";
    const struct sirix_settings *settings = a->call->server->settings;
    struct sirix_answer *answer = &a->call->answer;

    if (cut == SIRIX_SQL_CUT_BYTES) {
        sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
        sirix_answer_printf(answer, answer->body, "note",
                            "Cut after %" PRIu64 " rows, because an answer has at most %" PRIu64
                            " bytes (maxResultBytes): there are more rows. Ask for fewer columns. "
                            "%s",
                            a->given, settings->max_result_bytes, elsewhere);
        return;
    }
    sirix_answer_truncate(answer, a->limit_bit);
    if (a->limit_bit == SIRIX_ANSWER_LIMIT_SQL_MAX) {
        sirix_answer_printf(answer, answer->body, "note",
                            "Cut after %" PRIu64 " rows, the ceiling (sqlMaxRows): there are more "
                            "rows. %s",
                            a->given, elsewhere);
    } else {
        sirix_answer_printf(answer, answer->body, "note",
                            "Cut after %" PRIu64 " rows (%s): there are more rows. limit may be "
                            "up to %" PRIu64 ". %s",
                            a->given,
                            a->limit_bit == SIRIX_ANSWER_LIMIT_ASKED ? "limit" : "sqlDefaultRows",
                            settings->sql_max_rows, elsewhere);
    }
}

enum sirix_status sirix_tool_store_query(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct asking a = {
        .call = call,
        .columns = sirix_answer_array(answer),
        .rows = sirix_answer_array(answer),
    };
    struct sirix_mcp_sql wanted = {
        .sql = sirix_argument_text(&call->arguments, "sql"),
        .context = &a,
        .columns = take_columns,
        .row = take_row,
    };
    enum sirix_sql_cut cut = SIRIX_SQL_WHOLE;
    enum sirix_status status = sirix_mcp_sql_database(call, &wanted.database, err);

    take_limit(&a);
    wanted.rows = a.limit;
    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_run(call, &wanted, &cut, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_answer_str(answer, answer->body, "status", "ok");
    if (cut != SIRIX_SQL_WHOLE) {
        tell_cut(&a, cut);
    }
    answer->has_count = true; /* For the audit log, and as everywhere. */
    answer->count = a.given;
    sirix_answer_u64(answer, answer->body, "rowCount", a.given);
    sirix_answer_set(answer, answer->body, "columns", a.columns);
    sirix_answer_set(answer, answer->body, "rows", a.rows);
    return SIRIX_OK;
}
