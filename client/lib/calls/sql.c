/* Sql. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>

enum { REQUEST_BYTES_MAX = 64 * 1024 * 1024 };

struct sirix_sql_stream {
    struct sirix_stream stream;
    const ProtobufCMessage *first; /* The message that opening has waited for, until it is given. */
    struct sirix_sql_part end;
    bool complete;
};

enum sirix_status sirix_client_sql(struct sirix_client *client,
                                   const struct sirix_sql_request *request,
                                   const struct sirix_call_options *call,
                                   struct sirix_sql_stream **out_stream, struct sirix_error *err)
{
    PB(SqlRequest) message = PB_INIT(SQL_REQUEST);
    struct sirix_arena arena;
    struct sirix_unary what = {
        .method = SIRIX_METHOD_SQL,
        .request = &message.base,
        .answer_type = PB_TYPE(sql_response),
    };
    struct sirix_sql_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    sirix_arena_init(&arena, REQUEST_BYTES_MAX);
    message.sql = sirix_message_from_bytes(request->sql);
    message.database = sirix_message_from_str(request->database);
    message.row_max = request->row_max;
    message.bytes_max = request->bytes_max;
    message.time_max_ms = request->time_max_ms;
    enum sirix_status status = sirix_encode_scope(&arena, request->scope, &message.scope, err);
    if (status == SIRIX_OK) {
        status = sirix_stream_open(&stream->stream, client, &what, call, &stream->first, err);
    }
    sirix_arena_deinit(&arena);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    *out_stream = stream;
    return SIRIX_OK;
}

static enum sirix_status decode_columns(struct sirix_arena *arena, const PB(SqlColumns) * list,
                                        struct sirix_sql_part *out_part, struct sirix_error *err)
{
    struct sirix_sql_column *columns = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, list->n_columns, &columns, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < list->n_columns; i++) {
        columns[i].name = sirix_message_bytes(list->columns[i]->name);
        columns[i].type = sirix_message_bytes(list->columns[i]->type);
    }
    *out_part = (struct sirix_sql_part){
        .kind = SIRIX_SQL_PART_COLUMNS, .columns = columns, .column_count = list->n_columns};
    return SIRIX_OK;
}

static struct sirix_sql_value decode_value(const PB(SqlValue) * from)
{
    switch (from->value_case) {
    case SIRIX__STORAGE__V1__SQL_VALUE__VALUE_INTEGER:
        return (struct sirix_sql_value){.kind = SIRIX_SQL_INTEGER, .integer = from->integer};
    case SIRIX__STORAGE__V1__SQL_VALUE__VALUE_REAL:
        return (struct sirix_sql_value){.kind = SIRIX_SQL_REAL, .real = from->real};
    case SIRIX__STORAGE__V1__SQL_VALUE__VALUE_TEXT:
        return (struct sirix_sql_value){.kind = SIRIX_SQL_TEXT,
                                        .bytes = sirix_message_bytes(from->text)};
    case SIRIX__STORAGE__V1__SQL_VALUE__VALUE_BLOB:
        return (struct sirix_sql_value){.kind = SIRIX_SQL_BLOB,
                                        .bytes = sirix_message_bytes(from->blob)};
    default:
        return (struct sirix_sql_value){.kind = SIRIX_SQL_NULL};
    }
}

static enum sirix_status decode_rows(struct sirix_arena *arena, const PB(SqlRows) * list,
                                     struct sirix_sql_part *out_part, struct sirix_error *err)
{
    const size_t width = list->n_rows == 0 ? 0 : list->rows[0]->n_values;
    struct sirix_sql_value *values = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, list->n_rows * width, &values, err);

    for (size_t i = 0; i < list->n_rows && status == SIRIX_OK; i++) {
        if (list->rows[i]->n_values != width) {
            return sirix_stream_fail_order("rows of different widths", err);
        }
        for (size_t j = 0; j < width; j++) {
            values[i * width + j] = decode_value(list->rows[i]->values[j]);
        }
    }
    if (status == SIRIX_OK) {
        *out_part = (struct sirix_sql_part){.kind = SIRIX_SQL_PART_ROWS,
                                            .values = values,
                                            .value_count = list->n_rows * width,
                                            .row_count = list->n_rows};
    }
    return status;
}

static void keep_end(struct sirix_sql_stream *stream, const PB(SqlEnd) * end)
{
    stream->end = (struct sirix_sql_part){
        .kind = SIRIX_SQL_PART_END,
        .row_count = (size_t)end->row_count,
        .cut = end->cut == SIRIX__STORAGE__V1__SQL_CUT__SQL_CUT_ROWS    ? SIRIX_SQL_CUT_ROWS
               : end->cut == SIRIX__STORAGE__V1__SQL_CUT__SQL_CUT_BYTES ? SIRIX_SQL_CUT_BYTES
                                                                        : SIRIX_SQL_WHOLE,
    };
    stream->complete = true;
}

enum sirix_status sirix_sql_stream_next(struct sirix_sql_stream *stream,
                                        struct sirix_sql_part *out_part, struct sirix_error *err)
{
    for (;;) {
        const ProtobufCMessage *message = stream->first;
        enum sirix_status status = SIRIX_OK;

        stream->first = NULL;
        if (message == NULL) {
            status = sirix_stream_next(&stream->stream, &message, err);
        }
        const PB(SqlResponse) *part = (const void *)message;
        if (status != SIRIX_OK) {
            return status;
        }
        if (part == NULL && !stream->complete) {
            return sirix_stream_fail_order("an answer without its end", err);
        }
        if (part == NULL) {
            *out_part = stream->end;
            return SIRIX_OK;
        }
        switch (part->part_case) {
        case SIRIX__STORAGE__V1__SQL_RESPONSE__PART_COLUMNS:
            return decode_columns(&stream->stream.arena, part->columns, out_part, err);
        case SIRIX__STORAGE__V1__SQL_RESPONSE__PART_ROWS:
            return decode_rows(&stream->stream.arena, part->rows, out_part, err);
        case SIRIX__STORAGE__V1__SQL_RESPONSE__PART_END:
            keep_end(stream, part->end);
            break;
        default:
            break; /* What a newer server adds. */
        }
    }
}

void sirix_sql_stream_close(struct sirix_sql_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}
