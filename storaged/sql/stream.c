/* Batches go through a short queue; a full one makes the statement wait. */
#include "sql/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_BYTES_MAX = 512 * 1024 * 1024,
    VALUES_FIRST = 1024,
    WAIT_NS = 20 * 1000 * 1000,
    NS_PER_S = 1000 * 1000 * 1000,
};

struct batch {
    struct sirix_arena arena; /* Of texts. */
    struct sirix_sql_value *values;
    size_t value_count;
    size_t value_cap;
    size_t row_count;
    size_t bytes;
};

struct sirix_sql_stream {
    struct sirix_request request;
    struct sirix_sql_request wanted;
    struct sirix_cancel cancel; /* Of the statement. */
    sirix_sql_wake_fn wake;
    void *context;
    pthread_t thread;
    struct batch *filling; /* Of the thread. */

    pthread_mutex_t mutex; /* The rest is under it. */
    pthread_cond_t taken;
    struct sirix_arena names;
    struct sirix_sql_column *columns;
    size_t column_count;
    bool columns_told;
    bool columns_known;
    struct batch *waiting[SIRIX_SQL_BATCHES_WAITING];
    size_t waiting_count;
    struct batch *given; /* The taker's. */
    bool ended;
    bool end_told;
    enum sirix_status status;
    struct sirix_error err;
    struct sirix_sql_end end;
};

static void batch_free(struct batch *batch)
{
    if (batch != NULL) {
        sirix_arena_deinit(&batch->arena);
        free(batch->values);
        free(batch);
    }
}

/* --- The statement's thread ----------------------------------------------------------------------- */

static enum sirix_status on_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    struct sirix_sql_stream *stream = context;
    struct sirix_sql_column *copies = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(&stream->names, count, sizeof(*copies), &memory, err);

    copies = memory;
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        char *name = NULL;

        status = sirix_arena_strdup(&stream->names, columns[i].name, &name, err);
        copies[i] = (struct sirix_sql_column){.name = name, .type = columns[i].type};
    }
    if (status == SIRIX_OK) {
        (void)pthread_mutex_lock(&stream->mutex);
        stream->columns = copies;
        stream->column_count = count;
        stream->columns_known = true;
        (void)pthread_mutex_unlock(&stream->mutex);
        stream->wake(stream->context, false);
    }
    return status;
}

/* Puts the batch into the queue as soon as it has room. */
static enum sirix_status hand_over(struct sirix_sql_stream *stream, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&stream->mutex);
    while (status == SIRIX_OK && stream->waiting_count == SIRIX_SQL_BATCHES_WAITING) {
        struct timespec until = {0};

        /* A deadline is nobody's event: it is looked at now and then. */
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += WAIT_NS;
        if (until.tv_nsec >= NS_PER_S) {
            until.tv_nsec -= NS_PER_S;
            until.tv_sec++;
        }
        (void)pthread_cond_timedwait(&stream->taken, &stream->mutex, &until);
        status = sirix_cancel_check(&stream->cancel, err);
    }
    if (status == SIRIX_OK) {
        stream->waiting[stream->waiting_count++] = stream->filling;
        stream->filling = NULL;
    }
    (void)pthread_mutex_unlock(&stream->mutex);
    if (status == SIRIX_OK) {
        stream->wake(stream->context, false);
    }
    return status;
}

static enum sirix_status batch_new(struct batch **out_batch, struct sirix_error *err)
{
    struct batch *batch = calloc(1, sizeof(*batch));

    if (batch == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for rows");
    }
    sirix_arena_init(&batch->arena, BATCH_BYTES_MAX);
    *out_batch = batch;
    return SIRIX_OK;
}

static enum sirix_status batch_grow(struct batch *batch, size_t count, struct sirix_error *err)
{
    size_t cap = batch->value_cap == 0 ? VALUES_FIRST : batch->value_cap;

    while (cap < batch->value_count + count) {
        cap *= 2;
    }
    if (cap != batch->value_cap) {
        struct sirix_sql_value *grown = realloc(batch->values, cap * sizeof(*grown));

        if (grown == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for rows");
        }
        batch->values = grown;
        batch->value_cap = cap;
    }
    return SIRIX_OK;
}

static enum sirix_status on_row(void *context, const struct sirix_sql_value *values, size_t count,
                                struct sirix_error *err)
{
    struct sirix_sql_stream *stream = context;
    enum sirix_status status =
        stream->filling == NULL ? batch_new(&stream->filling, err) : SIRIX_OK;
    struct batch *batch = stream->filling;

    if (status == SIRIX_OK) {
        status = batch_grow(batch, count, err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_sql_value *copy = &batch->values[batch->value_count + i];

        *copy = values[i];
        if (values[i].bytes.len != 0) {
            status = sirix_arena_copy(&batch->arena, values[i].bytes, &copy->bytes, err);
        }
        batch->bytes += values[i].bytes.len + sizeof(*copy) / 2;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    batch->value_count += count;
    batch->row_count++;
    return batch->bytes >= SIRIX_SQL_BATCH_BYTES || batch->row_count >= SIRIX_SQL_BATCH_ROWS
               ? hand_over(stream, err)
               : SIRIX_OK;
}

static void *run_statement(void *context)
{
    struct sirix_sql_stream *stream = context;
    const struct sirix_sql_sink sink = {.context = stream, .columns = on_columns, .row = on_row};
    struct sirix_sql_end end = {0};
    struct sirix_error err = {0};

    enum sirix_status status = sirix_sql_run(&stream->request, &stream->wanted, &sink, &end, &err);
    if (status == SIRIX_OK && stream->filling != NULL) {
        status = hand_over(stream, &err);
    }
    (void)pthread_mutex_lock(&stream->mutex);
    stream->status = status;
    stream->err = err;
    stream->end = end;
    stream->ended = true;
    (void)pthread_mutex_unlock(&stream->mutex);
    stream->wake(stream->context, true);
    return NULL;
}

/* --- The taker ------------------------------------------------------------------------------------ */

static void stream_free(struct sirix_sql_stream *stream)
{
    for (size_t i = 0; i < stream->waiting_count; i++) {
        batch_free(stream->waiting[i]);
    }
    batch_free(stream->filling);
    batch_free(stream->given);
    sirix_arena_deinit(&stream->names);
    (void)pthread_cond_destroy(&stream->taken);
    (void)pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

enum sirix_status sirix_sql_stream_start(const struct sirix_request *request,
                                         const struct sirix_sql_request *wanted,
                                         sirix_sql_wake_fn wake, void *context,
                                         struct sirix_sql_stream **out_stream,
                                         struct sirix_error *err)
{
    struct sirix_sql_stream *stream = calloc(1, sizeof(*stream));
    pthread_condattr_t attributes;

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a statement");
    }
    stream->request = *request;
    stream->request.cancel = &stream->cancel;
    stream->cancel.deadline_us = request->cancel->deadline_us;
    stream->wanted = *wanted;
    stream->wake = wake;
    stream->context = context;
    sirix_arena_init(&stream->names, BATCH_BYTES_MAX);
    (void)pthread_mutex_init(&stream->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&stream->taken, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (pthread_create(&stream->thread, NULL, run_statement, stream) != 0) {
        stream_free(stream);
        return sirix_fail(err, SIRIX_NO_MEMORY, "start the thread of a statement");
    }
    *out_stream = stream;
    return SIRIX_OK;
}

enum sirix_status sirix_sql_stream_next(struct sirix_sql_stream *stream,
                                        struct sirix_sql_news *out_news, struct sirix_error *err)
{
    struct sirix_sql_news news = {.kind = SIRIX_SQL_NEWS_NOTHING};
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&stream->mutex);
    if (stream->columns_known && !stream->columns_told) {
        stream->columns_told = true;
        news.kind = SIRIX_SQL_NEWS_COLUMNS;
        news.columns = stream->columns;
    } else if (stream->waiting_count != 0) {
        batch_free(stream->given);
        stream->given = stream->waiting[0];
        stream->waiting_count--;
        for (size_t i = 0; i < stream->waiting_count; i++) {
            stream->waiting[i] = stream->waiting[i + 1];
        }
        (void)pthread_cond_signal(&stream->taken);
        news.kind = SIRIX_SQL_NEWS_ROWS;
        news.values = stream->given->values;
        news.row_count = stream->given->row_count;
    } else if (stream->ended && !stream->end_told) {
        stream->end_told = true;
        news.kind = SIRIX_SQL_NEWS_END;
        news.end = stream->end;
        status = stream->status;
        if (status != SIRIX_OK && err != NULL) {
            *err = stream->err;
        }
    }
    news.column_count = stream->column_count;
    (void)pthread_mutex_unlock(&stream->mutex);
    if (status == SIRIX_OK) {
        *out_news = news;
    }
    return status;
}

void sirix_sql_stream_cancel(struct sirix_sql_stream *stream)
{
    atomic_store(&stream->cancel.cancelled, true);
    (void)pthread_mutex_lock(&stream->mutex);
    (void)pthread_cond_signal(&stream->taken);
    (void)pthread_mutex_unlock(&stream->mutex);
}

void sirix_sql_stream_stop(struct sirix_sql_stream *stream)
{
    if (stream != NULL) {
        sirix_sql_stream_cancel(stream);
        (void)pthread_join(stream->thread, NULL);
        stream_free(stream);
    }
}
