/* Answers as a stream of events: what a request tells before its answer. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "mcp/listen.h"
#include "transport/http_internal.h"

enum { BLOCK_BYTES = 32 * 1024, MS_PER_S = 1000, NS_PER_MS = 1000 * 1000 };

/* --- Events ---------------------------------------------------------------------------------------- */

/* Appends one message as an event; all of it or nothing. Called with the mutex. */
static enum sirix_status append_event(struct sirix_exchange *exchange, struct sirix_bytes message,
                                      struct sirix_error *err)
{
    static const char head[] = "event: message\ndata: ";
    static const char tail[] = "\n\n";
    struct sirix_buf *events = &exchange->events;
    enum sirix_status status =
        sirix_buf_reserve(events, sizeof(head) + message.len + sizeof(tail), err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append(events, head, sizeof(head) - 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(events, message, err);
    }
    return status == SIRIX_OK ? sirix_buf_append(events, tail, sizeof(tail) - 1, err) : status;
}

static enum sirix_status send_event(struct sirix_exchange *exchange, struct sirix_bytes message,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&exchange->mutex);
    if (exchange->is_gone) {
        status = sirix_fail(err, SIRIX_UNAVAILABLE, "the client has gone");
    } else if (exchange->events.len > SIRIX_HTTP_STREAM_BYTES_MAX) {
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "the client does not read");
    } else {
        status = append_event(exchange, message, err);
    }
    (void)pthread_cond_signal(&exchange->changed);
    (void)pthread_mutex_unlock(&exchange->mutex);
    return status;
}

static enum sirix_status send_to_peer(struct sirix_mcp_peer *peer, struct sirix_bytes message,
                                      struct sirix_error *err)
{
    struct sirix_exchange *exchange =
        (struct sirix_exchange *)(void *)((char *)peer - offsetof(struct sirix_exchange, peer));

    return send_event(exchange, message, err);
}

static void tell_listener(struct sirix_events_listener *listener, struct sirix_bytes message)
{
    struct sirix_exchange *exchange =
        (struct sirix_exchange *)(void *)((char *)listener -
                                          offsetof(struct sirix_exchange, listener));

    if (send_event(exchange, message, NULL) != SIRIX_OK) {
        /* What it misses would never be told again: better no stream than one with gaps. */
        (void)pthread_mutex_lock(&exchange->mutex);
        exchange->is_gone = true;
        (void)pthread_cond_signal(&exchange->changed);
        (void)pthread_mutex_unlock(&exchange->mutex);
    }
}

/* --- Serving --------------------------------------------------------------------------------------- */

bool sirix_stream_is_wanted(const struct sirix_exchange *exchange)
{
    const struct sirix_mcp_request *request = &exchange->request;
    const struct sirix_mcp_context *context = &request->context;
    const bool wants_log =
        sirix_mcp_is_modern(context->version) && context->log_level != SIRIX_MCP_LOG_NONE;

    return exchange->accepts_events &&
           (context->progress_token.len != 0 || wants_log || sirix_mcp_is_listening(request) ||
            request->server->registry->trusts_unknown_clients);
}

void sirix_stream_finish(struct sirix_exchange *exchange)
{
    struct sirix_error error = {0};
    struct sirix_buf answer;

    sirix_buf_init(&answer, SIZE_MAX);
    if (sirix_mcp_answer(&exchange->request, &answer, &error) != SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_ERROR, "an answer could not be made", &error);
    }
    (void)pthread_mutex_lock(&exchange->mutex);
    exchange->answer = answer;
    exchange->is_done = true;
    (void)pthread_cond_signal(&exchange->changed);
    (void)pthread_mutex_unlock(&exchange->mutex);
}

static void *work(void *context)
{
    struct sirix_exchange *exchange = context;
    struct sirix_http *http = exchange->http;

    sirix_stream_finish(exchange);
    (void)pthread_mutex_lock(&http->mutex);
    const struct sirix_ended before = sirix_ended_put(&http->ended);
    (void)pthread_mutex_unlock(&http->mutex);
    (void)sirix_exchange_is_served(exchange);
    sirix_exchange_unref(exchange);
    sirix_ended_join(&before);
    return NULL;
}

/* Serves it on a thread of its own, until there is something to tell or the answer. */
static enum sirix_status serve_beside(struct sirix_exchange *exchange, bool *out_is_streamed,
                                      struct sirix_error *err)
{
    pthread_t thread;

    exchange->peer = (struct sirix_mcp_peer){.send = send_to_peer};
    exchange->request.context.peer = &exchange->peer;
    (void)atomic_fetch_add(&exchange->references, 1);
    const int rc = pthread_create(&thread, NULL, work, exchange);
    if (rc != 0) {
        (void)atomic_fetch_sub(&exchange->references, 1);
        return sirix_fail(err, SIRIX_IO, "cannot start a thread: %s", strerror(rc));
    }
    (void)pthread_mutex_lock(&exchange->mutex);
    while (!exchange->is_done && exchange->events.len == 0) {
        (void)pthread_cond_wait(&exchange->changed, &exchange->mutex);
    }
    *out_is_streamed = exchange->events.len != 0;
    (void)pthread_mutex_unlock(&exchange->mutex);
    return SIRIX_OK;
}

/* Whether it may listen: the process may be ending. */
static bool begin_listening(struct sirix_exchange *exchange)
{
    struct sirix_http *http = exchange->http;

    (void)pthread_mutex_lock(&http->mutex);
    exchange->is_listening = !http->is_ending;
    (void)pthread_mutex_unlock(&http->mutex);
    return exchange->is_listening;
}

static enum sirix_status serve_listening(struct sirix_exchange *exchange, bool *out_is_streamed,
                                         struct sirix_error *err)
{
    struct sirix_events *events = exchange->http->server->events;
    struct sirix_error failure = {0};
    struct sirix_buf acknowledgment;

    sirix_buf_init(&acknowledgment, SIZE_MAX);
    exchange->listener.tell = tell_listener;
    enum sirix_status status =
        sirix_mcp_listen_open(&exchange->request, &exchange->listener, &acknowledgment, &failure);
    if (status == SIRIX_OK) {
        status = sirix_events_add(events, &exchange->listener, sirix_buf_view(&acknowledgment),
                                  &failure);
    }
    sirix_buf_deinit(&acknowledgment);
    if (status != SIRIX_OK) {
        sirix_events_remove(events, &exchange->listener);
        sirix_buf_clear(&exchange->events);
        return sirix_mcp_refuse(&exchange->request, &failure, &exchange->answer, err);
    }
    *out_is_streamed = true;
    if (!begin_listening(exchange)) {
        sirix_events_remove(events, &exchange->listener);
        sirix_stream_finish(exchange);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_stream_serve(struct sirix_exchange *exchange, bool *out_is_streamed,
                                     struct sirix_error *err)
{
    return sirix_mcp_is_listening(&exchange->request)
               ? serve_listening(exchange, out_is_streamed, err)
               : serve_beside(exchange, out_is_streamed, err);
}

/* --- Writing --------------------------------------------------------------------------------------- */

/* Waits for something to write, at most so long; false: nothing came. Called with the mutex. */
static bool wait_for_event(struct sirix_exchange *exchange)
{
    struct timespec until;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SIRIX_HTTP_KEEP_ALIVE_MS / MS_PER_S;
    until.tv_nsec += (long)(SIRIX_HTTP_KEEP_ALIVE_MS % MS_PER_S) * NS_PER_MS;
    if (until.tv_nsec >= (long)MS_PER_S * NS_PER_MS) {
        until.tv_sec++;
        until.tv_nsec -= (long)MS_PER_S * NS_PER_MS;
    }
    while (exchange->events.len == 0 && !exchange->is_done && !exchange->is_gone &&
           rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&exchange->changed, &exchange->mutex, &until);
    }
    return rc != ETIMEDOUT;
}

/* Gives the library what there is to write; called by the thread of the connection. */
static ssize_t read_events(void *context, uint64_t position, char *out, size_t max)
{
    static const char comment[] = ": still here\n\n";
    struct sirix_exchange *exchange = context;
    ssize_t result = MHD_CONTENT_READER_END_OF_STREAM;

    (void)position;
    (void)pthread_mutex_lock(&exchange->mutex);
    const bool has_come = wait_for_event(exchange);
    if (exchange->events.len == 0 && exchange->is_done && exchange->answer.len != 0) {
        /* Without memory for it the stream ends without its answer. */
        (void)!append_event(exchange, sirix_buf_view(&exchange->answer), NULL);
        sirix_buf_deinit(&exchange->answer);
    }
    if (exchange->events.len != 0) {
        const size_t len = exchange->events.len < max ? exchange->events.len : max;

        memcpy(out, exchange->events.data, len);
        sirix_buf_consume(&exchange->events, len);
        result = (ssize_t)len;
    } else if (!has_come && max >= sizeof(comment)) {
        memcpy(out, comment, sizeof(comment) - 1);
        result = (ssize_t)sizeof(comment) - 1;
    } else if (exchange->is_gone) {
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    }
    (void)pthread_mutex_unlock(&exchange->mutex);
    return result;
}

enum MHD_Result sirix_stream_queue(struct sirix_exchange *exchange,
                                   struct MHD_Connection *connection)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                      read_events, exchange, NULL);
    enum MHD_Result result = MHD_NO;

    if (response == NULL) {
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
    result = MHD_queue_response(connection, SIRIX_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}
