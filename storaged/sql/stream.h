/*
 * A statement on a thread of its own, whose rows are taken in batches: what is slow to take waits and costs
 * no worker. Taken by one thread at a time.
 */
#ifndef SIRIX_SQL_STREAM_H
#define SIRIX_SQL_STREAM_H

#include "sql/sql.h"

enum {
    SIRIX_SQL_BATCH_BYTES = 128 * 1024, /* About; a row is never cut. */
    SIRIX_SQL_BATCH_ROWS = 1000,
    SIRIX_SQL_BATCHES_WAITING = 2,
};

struct sirix_sql_stream;

/* There is news. last: it is not called any more. On the statement's thread; may only wake. */
typedef void (*sirix_sql_wake_fn)(void *context, bool last);

enum sirix_sql_news_kind {
    SIRIX_SQL_NEWS_NOTHING, /* wake is called when there is some. */
    SIRIX_SQL_NEWS_COLUMNS,
    SIRIX_SQL_NEWS_ROWS,
    SIRIX_SQL_NEWS_END,
};

/* Valid until the next _next(). */
struct sirix_sql_news {
    enum sirix_sql_news_kind kind;
    const struct sirix_sql_column *columns;
    const struct sirix_sql_value *values; /* ROWS: row_count times column_count. */
    size_t column_count;
    size_t row_count;
    struct sirix_sql_end end;
};

/*
 * What wanted points to outlives the stream. The request's deadline holds; whether it was cancelled is told
 * by _cancel().
 */
enum sirix_status sirix_sql_stream_start(const struct sirix_request *request,
                                         const struct sirix_sql_request *wanted,
                                         sirix_sql_wake_fn wake, void *context,
                                         struct sirix_sql_stream **out_stream,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next news. An error is the statement's, and the last. */
enum sirix_status sirix_sql_stream_next(struct sirix_sql_stream *stream,
                                        struct sirix_sql_news *out_news,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Any thread: the statement ends soon. */
void sirix_sql_stream_cancel(struct sirix_sql_stream *stream);

/* Cancels and waits for its thread. NULL is allowed. */
void sirix_sql_stream_stop(struct sirix_sql_stream *stream);

#endif
