/* SQL that reads. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_SQL_H
#define SIRIX_SIRIX_SQL_H

#include "sirix/query.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sirix_sql_request {
    struct sirix_bytes sql;
    const char *database;            /* Of bare names; NULL: all that can be seen. */
    uint64_t row_max;                /* 0: all. */
    uint64_t bytes_max;              /* Of values; 0: no limit. */
    uint32_t time_max_ms;            /* 0: until the call's deadline. */
    const struct sirix_scope *scope; /* NULL: everything. */
};

struct sirix_sql_column {
    struct sirix_bytes name;
    struct sirix_bytes type; /* text, number or integer; empty: it shows in the values. */
};

enum sirix_sql_kind {
    SIRIX_SQL_NULL,
    SIRIX_SQL_INTEGER,
    SIRIX_SQL_REAL,
    SIRIX_SQL_TEXT,
    SIRIX_SQL_BLOB,
};

struct sirix_sql_value {
    enum sirix_sql_kind kind;
    int64_t integer;
    double real;
    struct sirix_bytes bytes; /* TEXT and BLOB. */
};

enum sirix_sql_part_kind {
    SIRIX_SQL_PART_COLUMNS, /* First, and once. */
    SIRIX_SQL_PART_ROWS,
    SIRIX_SQL_PART_END, /* The last part of a whole answer. */
};

enum sirix_sql_cut {
    SIRIX_SQL_WHOLE,
    SIRIX_SQL_CUT_ROWS,  /* There are more than row_max. */
    SIRIX_SQL_CUT_BYTES, /* There are more than bytes_max. */
};

/* Only the fields of its kind are set; pointers are valid until the next call on the stream. */
struct sirix_sql_part {
    enum sirix_sql_part_kind kind;
    const struct sirix_sql_column *columns;
    size_t column_count;
    const struct sirix_sql_value *values; /* Row after row, each of value_count / row_count. */
    size_t value_count;
    size_t row_count; /* Of ROWS here; of END all together. */
    enum sirix_sql_cut cut;
};

struct sirix_sql_stream;

/* SIRIX_INVALID with a reason sql_...: the statement was refused, or SQLite says why it fails. */
enum sirix_status sirix_client_sql(struct sirix_client *client,
                                   const struct sirix_sql_request *request,
                                   const struct sirix_call_options *call,
                                   struct sirix_sql_stream **out_stream,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* After END, END again. An answer that was cut off before its end is an error. */
enum sirix_status sirix_sql_stream_next(struct sirix_sql_stream *stream,
                                        struct sirix_sql_part *out_part,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_sql_stream_close(struct sirix_sql_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
