/* Sql: columns, rows as the statement's thread has them, the end. */
#include "service/scope.h"
#include "sql/stream.h"

#include "rpc/methods/codec.h"

struct sql_state {
    struct sirix_sql_stream *stream;
    bool writing;
    bool ending;
};

static void value_message(const struct sirix_sql_value *from, Sirix__Storage__V1__SqlValue *to)
{
    sirix__storage__v1__sql_value__init(to);
    switch (from->kind) {
    case SIRIX_SQL_INTEGER:
        to->value_case = SIRIX__STORAGE__V1__SQL_VALUE__VALUE_INTEGER;
        to->integer = from->integer;
        break;
    case SIRIX_SQL_REAL:
        to->value_case = SIRIX__STORAGE__V1__SQL_VALUE__VALUE_REAL;
        to->real = from->real;
        break;
    case SIRIX_SQL_TEXT:
        to->value_case = SIRIX__STORAGE__V1__SQL_VALUE__VALUE_TEXT;
        to->text = sirix_rpc_binary(from->bytes);
        break;
    case SIRIX_SQL_BLOB:
        to->value_case = SIRIX__STORAGE__V1__SQL_VALUE__VALUE_BLOB;
        to->blob = sirix_rpc_binary(from->bytes);
        break;
    default:
        break;
    }
}

static enum sirix_status send_columns(struct sirix_rpc_call *call,
                                      const struct sirix_sql_news *news, struct sirix_error *err)
{
    Sirix__Storage__V1__SqlResponse answer = SIRIX__STORAGE__V1__SQL_RESPONSE__INIT;
    Sirix__Storage__V1__SqlColumns columns = SIRIX__STORAGE__V1__SQL_COLUMNS__INIT;
    void *messages = NULL;
    void **list = NULL;
    enum sirix_status status = sirix_rpc_list(
        call, news->column_count, sizeof(Sirix__Storage__V1__SqlColumn), &messages, &list, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < news->column_count; i++) {
        Sirix__Storage__V1__SqlColumn *column = list[i];

        sirix__storage__v1__sql_column__init(column);
        column->name = sirix_rpc_binary_str(news->columns[i].name);
        column->type = sirix_rpc_binary_str(news->columns[i].type);
    }
    columns.n_columns = news->column_count;
    columns.columns = (Sirix__Storage__V1__SqlColumn **)list;
    answer.part_case = SIRIX__STORAGE__V1__SQL_RESPONSE__PART_COLUMNS;
    answer.columns = &columns;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status send_rows(struct sirix_rpc_call *call, const struct sirix_sql_news *news,
                                   struct sirix_error *err)
{
    Sirix__Storage__V1__SqlResponse answer = SIRIX__STORAGE__V1__SQL_RESPONSE__INIT;
    Sirix__Storage__V1__SqlRows rows = SIRIX__STORAGE__V1__SQL_ROWS__INIT;
    const size_t width = news->column_count;
    void *row_messages = NULL;
    void *value_messages = NULL;
    void **row_list = NULL;
    void **value_list = NULL;
    enum sirix_status status = sirix_rpc_list(
        call, news->row_count, sizeof(Sirix__Storage__V1__SqlRow), &row_messages, &row_list, err);

    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, news->row_count * width, sizeof(Sirix__Storage__V1__SqlValue),
                                &value_messages, &value_list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < news->row_count; i++) {
        Sirix__Storage__V1__SqlRow *row = row_list[i];

        sirix__storage__v1__sql_row__init(row);
        row->n_values = width;
        row->values = (Sirix__Storage__V1__SqlValue **)&value_list[i * width];
        for (size_t j = 0; j < width; j++) {
            value_message(&news->values[i * width + j], row->values[j]);
        }
    }
    rows.n_rows = news->row_count;
    rows.rows = (Sirix__Storage__V1__SqlRow **)row_list;
    answer.part_case = SIRIX__STORAGE__V1__SQL_RESPONSE__PART_ROWS;
    answer.rows = &rows;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status send_end(struct sirix_rpc_call *call, const struct sirix_sql_end *end,
                                  struct sirix_error *err)
{
    static const Sirix__Storage__V1__SqlCut cuts[] = {
        [SIRIX_SQL_WHOLE] = SIRIX__STORAGE__V1__SQL_CUT__SQL_CUT_UNSPECIFIED,
        [SIRIX_SQL_CUT_ROWS] = SIRIX__STORAGE__V1__SQL_CUT__SQL_CUT_ROWS,
        [SIRIX_SQL_CUT_BYTES] = SIRIX__STORAGE__V1__SQL_CUT__SQL_CUT_BYTES,
    };
    Sirix__Storage__V1__SqlResponse answer = SIRIX__STORAGE__V1__SQL_RESPONSE__INIT;
    Sirix__Storage__V1__SqlEnd message = SIRIX__STORAGE__V1__SQL_END__INIT;

    message.row_count = end->row_count;
    message.cut = cuts[end->cut];
    answer.part_case = SIRIX__STORAGE__V1__SQL_RESPONSE__PART_END;
    answer.end = &message;
    return sirix_rpc_call_write(call, &answer.base, err);
}

/* Sends what there is to tell; the end of that write looks again. */
static enum sirix_status sql_tell(struct sirix_rpc_call *call, struct sql_state *sql,
                                  struct sirix_error *err)
{
    struct sirix_arena *arena = sirix_rpc_call_arena(call);
    struct sirix_arena_mark mark = sirix_arena_mark(arena);
    struct sirix_sql_news news = {0};

    if (sql->writing || sql->stream == NULL) {
        return SIRIX_OK;
    }
    if (sql->ending) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_sql_stream_next(sql->stream, &news, err);
    if (status != SIRIX_OK || news.kind == SIRIX_SQL_NEWS_NOTHING) {
        return status;
    }
    sql->writing = true;
    switch (news.kind) {
    case SIRIX_SQL_NEWS_COLUMNS:
        status = send_columns(call, &news, err);
        break;
    case SIRIX_SQL_NEWS_ROWS:
        status = send_rows(call, &news, err);
        break;
    default:
        sql->ending = true;
        status = send_end(call, &news.end, err);
        break;
    }
    sirix_arena_rewind(arena, mark); /* Packed: many rows need no more than one batch. */
    return status;
}

/* On the statement's thread, which holds a reference to the call as long as it may wake it. */
static void sql_wake(void *context, bool last)
{
    sirix_rpc_call_wake(context);
    if (last) {
        sirix_rpc_call_unref(context);
    }
}

static enum sirix_status sql_start(struct sirix_rpc_call *call, void *state,
                                   const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__SqlRequest *request = (const Sirix__Storage__V1__SqlRequest *)message;
    struct sql_state *sql = state;
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_scope *scope = NULL;

    enum sirix_status status = sirix_rpc_scope(call, request->scope, &scope, err);
    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_sql_request wanted = {
        .sql = sirix_rpc_bytes(request->sql),
        .database = sirix_rpc_bytes(request->database),
        .row_max = request->row_max,
        .bytes_max = request->bytes_max,
        .time_max_ms = request->time_max_ms,
        .visible = scope == NULL ? NULL : sirix_scope_allows,
        .visible_context = scope,
    };
    sirix_rpc_call_ref(call);
    status = sirix_sql_stream_start(&who, &wanted, sql_wake, call, &sql->stream, err);
    if (status != SIRIX_OK) {
        sirix_rpc_call_unref(call);
    }
    return status;
}

static enum sirix_status sql_written(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    struct sql_state *sql = state;

    sql->writing = false;
    return sql_tell(call, sql, err);
}

static enum sirix_status sql_woken(struct sirix_rpc_call *call, void *state,
                                   struct sirix_error *err)
{
    return sql_tell(call, state, err);
}

static void sql_cancelled(struct sirix_rpc_call *call, void *state)
{
    struct sql_state *sql = state;

    (void)call;
    if (sql->stream != NULL) {
        sirix_sql_stream_cancel(sql->stream);
    }
}

static void sql_ended(void *state)
{
    sirix_sql_stream_stop(((struct sql_state *)state)->stream);
}

const struct sirix_rpc_method sirix_rpc_sql_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Sql"),
        .request = &sirix__storage__v1__sql_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct sql_state),
        .start = sql_start,
        .written = sql_written,
        .woken = sql_woken,
        .cancelled = sql_cancelled,
        .ended = sql_ended,
    },
    {.path = NULL},
};
