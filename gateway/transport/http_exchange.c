/* One request and its answer. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "guard/seal.h"
#include "transport/http_internal.h"

enum { US_PER_S = 1000 * 1000, SESSION_LIFE_S = 3600 };

/* --- Life ------------------------------------------------------------------------------------------ */

struct sirix_exchange *sirix_exchange_new(struct sirix_http *http, struct sirix_connection *slot)
{
    struct sirix_exchange *exchange = calloc(1, sizeof(*exchange));

    if (exchange == NULL) {
        return NULL;
    }
    if (sirix_call_cancel_new(&exchange->cancel.call, NULL) != SIRIX_OK) {
        free(exchange);
        return NULL;
    }
    exchange->http = http;
    exchange->slot = slot;
    atomic_init(&exchange->references, 1);
    sirix_buf_init(&exchange->body, http->options.body_bytes_max);
    sirix_buf_init(&exchange->events, SIZE_MAX);
    sirix_buf_init(&exchange->answer, SIZE_MAX);
    sirix_arena_init(&exchange->arena, SIRIX_JSONRPC_MEMORY_BYTES_MAX);
    (void)pthread_mutex_init(&exchange->mutex, NULL);
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&exchange->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return exchange;
}

void sirix_exchange_unref(struct sirix_exchange *exchange)
{
    if (atomic_fetch_sub(&exchange->references, 1) != 1) {
        return;
    }
    (void)atomic_fetch_sub(&exchange->http->waiting_bytes, exchange->counted_bytes);
    sirix_mcp_request_close(&exchange->request);
    sirix_caller_unref(exchange->caller);
    sirix_buf_deinit(&exchange->body);
    sirix_buf_deinit(&exchange->events);
    sirix_buf_deinit(&exchange->answer);
    sirix_arena_deinit(&exchange->arena);
    sirix_call_cancel_free(exchange->cancel.call);
    (void)pthread_cond_destroy(&exchange->changed);
    (void)pthread_mutex_destroy(&exchange->mutex);
    free(exchange);
}

const struct sirix_mcp_server *sirix_exchange_server(const struct sirix_exchange *exchange)
{
    return exchange->caller != NULL ? sirix_caller_server(exchange->caller)
                                    : exchange->http->server;
}

static void activate(struct sirix_exchange *exchange)
{
    struct sirix_http *http = exchange->http;

    (void)pthread_mutex_lock(&http->mutex);
    exchange->next = http->active;
    http->active = exchange;
    exchange->is_active = true;
    (void)pthread_mutex_unlock(&http->mutex);
}

bool sirix_exchange_is_served(struct sirix_exchange *exchange)
{
    struct sirix_http *http = exchange->http;

    (void)pthread_mutex_lock(&http->mutex);
    const bool was_active = exchange->is_active;
    for (struct sirix_exchange **at = &http->active; *at != NULL; at = &(*at)->next) {
        if (*at == exchange) {
            *at = exchange->next;
            break;
        }
    }
    exchange->is_active = false;
    if (http->active == NULL) {
        (void)pthread_cond_broadcast(&http->idle);
    }
    (void)pthread_mutex_unlock(&http->mutex);
    return was_active;
}

/* --- Answers --------------------------------------------------------------------------------------- */

static enum MHD_Result queue_response(struct sirix_exchange *exchange,
                                      struct MHD_Connection *connection, unsigned status,
                                      struct MHD_Response *response)
{
    enum MHD_Result result = MHD_NO;

    if (response == NULL) {
        return MHD_NO;
    }
    if (exchange->http->is_ending) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    sirix_connections_enter(&exchange->http->connections, exchange->slot, SIRIX_CONNECTION_WRITE);
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Queues JSON text, which is given away; none: an answer without a body. */
static enum MHD_Result respond(struct sirix_exchange *exchange, struct MHD_Connection *connection,
                               unsigned status, struct sirix_buf *json)
{
    struct MHD_Response *response = NULL;
    uint8_t *data = NULL;
    size_t len = 0;

    sirix_buf_take(json, &data, &len);
    response = MHD_create_response_from_buffer(
        len, data, data == NULL ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(data);
        return MHD_NO;
    }
    if (len != 0) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    }
    if (exchange->session != NULL && status == SIRIX_HTTP_OK) {
        (void)MHD_add_response_header(response, "Mcp-Session-Id", exchange->session);
    }
    if (status == SIRIX_HTTP_METHOD_NOT_ALLOWED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
                                      exchange->wants_metadata ? MHD_HTTP_METHOD_GET
                                                               : MHD_HTTP_METHOD_POST);
    }
    if (exchange->challenge != NULL) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                      exchange->challenge);
    }
    return queue_response(exchange, connection, status, response);
}

enum MHD_Result sirix_exchange_refuse(struct sirix_exchange *exchange,
                                      struct MHD_Connection *connection,
                                      const struct sirix_http_refusal *refusal)
{
    static const struct sirix_bytes no_id = {.data = NULL, .len = 0};
    struct sirix_error error = {0};
    struct sirix_buf json;

    sirix_buf_init(&json, SIZE_MAX);
    (void)sirix_fail(&error, SIRIX_INVALID, "%s", refusal->text);
    if (sirix_jsonrpc_write_error(&json, no_id, SIRIX_JSONRPC_INVALID_REQUEST, &error, NULL,
                                  NULL) != SIRIX_OK) {
        sirix_buf_clear(&json);
    }
    enum MHD_Result result = respond(exchange, connection, refusal->status, &json);
    sirix_buf_deinit(&json);
    return result;
}

enum MHD_Result sirix_exchange_tell_metadata(struct sirix_exchange *exchange,
                                             struct MHD_Connection *connection)
{
    enum MHD_Result result = MHD_NO;
    struct sirix_buf json;

    sirix_buf_init(&json, SIZE_MAX);
    if (sirix_http_write_metadata(exchange->http, &json, NULL) == SIRIX_OK) {
        result = respond(exchange, connection, SIRIX_HTTP_OK, &json);
    }
    sirix_buf_deinit(&json);
    return result;
}

/* --- Serving --------------------------------------------------------------------------------------- */

/* The client has gone: with the lock of the connections held. */
static void cancel_exchange(void *context)
{
    struct sirix_exchange *exchange = context;

    sirix_mcp_cancel_set(&exchange->cancel);
    sirix_pending_wake(exchange->http->server->pending);
}

/* Appends the answers to a batch, one after the other; none: there was nothing to answer. */
static enum sirix_status answer_batch(struct sirix_exchange *exchange, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_u8(out, '[', err);

    for (size_t i = 0; i < exchange->input.count && status == SIRIX_OK; i++) {
        const struct sirix_jsonrpc_message *message = &exchange->input.messages[i];
        struct sirix_mcp_request request;

        if (!message->is_faulty && message->kind == SIRIX_JSONRPC_RESPONSE) {
            sirix_mcp_take_answer(exchange->http->server, message);
        }
        if (!message->is_faulty && message->kind != SIRIX_JSONRPC_REQUEST) {
            continue;
        }
        sirix_mcp_request_open(&request, sirix_exchange_server(exchange), NULL, &exchange->headers,
                               &exchange->arena, message);
        request.context.cancel = &exchange->cancel;
        status = out->len == 1 ? SIRIX_OK : sirix_buf_append_u8(out, ',', err);
        if (status == SIRIX_OK) {
            status = sirix_mcp_answer(&request, out, err);
        }
        sirix_mcp_request_close(&request);
    }
    if (status == SIRIX_OK && out->len == 1) {
        sirix_buf_clear(out);
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, ']', err) : status;
}

static bool may_batch(const struct sirix_exchange *exchange)
{
    const char *version = exchange->headers.version;

    /* Who names no revision may be of the one that has batches. */
    return version == NULL || sirix_mcp_has_batches(sirix_mcp_version_find(
                                  (struct sirix_bytes){version, strlen(version)}));
}

static void refuse_batch(struct sirix_exchange *exchange)
{
    struct sirix_jsonrpc_message *message = &exchange->input.messages[0];

    *message = (struct sirix_jsonrpc_message){.is_faulty = true};
    message->fault.code = SIRIX_JSONRPC_INVALID_REQUEST;
    (void)sirix_fail_reason(&message->fault.error, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                            "batches are part of protocol revision %s alone",
                            sirix_mcp_version_name(SIRIX_MCP_2025_03_26));
    exchange->input.is_batch = false;
}

/* --- Sessions, in tests only ----------------------------------------------------------------------- */

static const struct sirix_seal_binding session_binding = {.purpose = "session"};

static int64_t now_s(void)
{
    return sirix_clock_realtime_us(sirix_clock_system()) / US_PER_S;
}

/* Gives out the id of a session with the answer to `initialize`. */
static enum sirix_status begin_session(struct sirix_exchange *exchange, struct sirix_error *err)
{
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};
    struct sirix_buf sealed;
    char *id = NULL;

    sirix_buf_init(&sealed, SIRIX_SEAL_TEXT_BYTES_MAX);
    enum sirix_status status = sirix_seal_close(&exchange->http->server->keys, &session_binding,
                                                nothing, now_s() + SESSION_LIFE_S, &sealed, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(&exchange->arena, sirix_buf_view(&sealed), &id, err);
        exchange->session = id;
    }
    sirix_buf_deinit(&sealed);
    return status;
}

/* Whether the id that came is one that was given out. */
static bool has_good_session(struct sirix_exchange *exchange)
{
    struct sirix_bytes out = {.data = NULL, .len = 0};

    return sirix_seal_open(&exchange->http->server->keys, &session_binding,
                           sirix_bytes_from_str(exchange->session), now_s(), &exchange->arena, &out,
                           NULL) == SIRIX_OK;
}

/* An id is given out, or looked at, or does not matter; *out_status is what refuses the request. */
static enum sirix_status take_session(struct sirix_exchange *exchange, unsigned *out_status,
                                      struct sirix_error *err)
{
    const struct sirix_mcp_request *request = &exchange->request;
    const bool is_first =
        sirix_bytes_equal(request->message->method, sirix_bytes_from_str("initialize"));

    if (!request->server->registry->trusts_unknown_clients ||
        sirix_mcp_is_modern(request->context.version)) {
        exchange->session = NULL;
        return SIRIX_OK;
    }
    if (is_first) {
        return begin_session(exchange, err);
    }
    if (exchange->session != NULL && !has_good_session(exchange)) {
        *out_status = SIRIX_HTTP_NOT_FOUND;
    }
    exchange->session = NULL;
    return SIRIX_OK;
}

/* --- Requests --------------------------------------------------------------------------------------- */

/* Serves a single request on this thread, or beside it; *out_is_streamed: as a stream. */
static enum sirix_status serve_request(struct sirix_exchange *exchange, bool *out_is_streamed,
                                       struct sirix_error *err)
{
    struct sirix_mcp_request *request = &exchange->request;
    struct sirix_error failure = {0};
    unsigned refused = 0;

    sirix_mcp_request_open(request, sirix_exchange_server(exchange), NULL, &exchange->headers,
                           &exchange->arena, &exchange->input.messages[0]);
    request->context.cancel = &exchange->cancel;
    enum sirix_status status = take_session(exchange, &refused, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (refused != 0) {
        (void)sirix_fail(&failure, SIRIX_NOT_FOUND, "this session is not known; initialize again");
        status = sirix_mcp_refuse(request, &failure, &exchange->answer, err);
        request->http_status = (int)refused;
        return status;
    }
    if (sirix_mcp_is_modern(request->context.version)) {
        sirix_connections_watch(&exchange->http->connections, exchange->slot, cancel_exchange,
                                exchange);
    }
    if (sirix_mcp_is_listening(request) && !exchange->accepts_events) {
        (void)sirix_fail(&failure, SIRIX_INVALID, "Accept must have text/event-stream to listen");
        return sirix_mcp_refuse(request, &failure, &exchange->answer, err);
    }
    return sirix_stream_is_wanted(exchange) ? sirix_stream_serve(exchange, out_is_streamed, err)
                                            : sirix_mcp_answer(request, &exchange->answer, err);
}

/* Serves what came; *out_status is 0 where the answer is a stream. */
static enum sirix_status serve(struct sirix_exchange *exchange, unsigned *out_status,
                               struct sirix_error *err)
{
    const struct sirix_jsonrpc_message *message = NULL;
    bool is_streamed = false;
    enum sirix_status status = sirix_jsonrpc_read(&exchange->arena, sirix_buf_view(&exchange->body),
                                                  &exchange->input, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_deinit(&exchange->body);
    if (exchange->input.is_batch && !may_batch(exchange)) {
        refuse_batch(exchange);
    }
    if (exchange->input.is_batch) {
        status = answer_batch(exchange, &exchange->answer, err);
        *out_status = exchange->answer.len == 0 ? SIRIX_HTTP_ACCEPTED : SIRIX_HTTP_OK;
        return status;
    }
    message = &exchange->input.messages[0];
    if (message->is_faulty || message->kind == SIRIX_JSONRPC_REQUEST) {
        status = serve_request(exchange, &is_streamed, err);
        *out_status = is_streamed ? 0 : (unsigned)exchange->request.http_status;
        return status;
    }
    if (message->kind == SIRIX_JSONRPC_RESPONSE) {
        sirix_mcp_take_answer(exchange->http->server, message);
    }
    *out_status = SIRIX_HTTP_ACCEPTED;
    return SIRIX_OK;
}

enum MHD_Result sirix_exchange_serve(struct sirix_exchange *exchange,
                                     struct MHD_Connection *connection)
{
    static const struct sirix_http_refusal lost = {SIRIX_HTTP_UNAVAILABLE,
                                                   "the answer could not be made"};
    struct sirix_http *http = exchange->http;
    struct sirix_error error = {0};
    unsigned status_code = 0;

    sirix_connections_enter(&http->connections, exchange->slot, SIRIX_CONNECTION_WORK);
    /* The library would take a long call for an idle client. */
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    activate(exchange);
    const enum sirix_status status = serve(exchange, &status_code, &error);
    if (status != SIRIX_OK) {
        (void)sirix_exchange_is_served(exchange);
        sirix_log_error(SIRIX_LOG_ERROR, "an answer could not be made", &error);
        return sirix_exchange_refuse(exchange, connection, &lost);
    }
    if (status_code == 0) {
        return sirix_stream_queue(exchange, connection);
    }
    if (exchange->request.needed_rights != 0 &&
        sirix_http_challenge(exchange, "insufficient_scope",
                             sirix_rights_text(exchange->request.needed_rights),
                             NULL) != SIRIX_OK) {
        exchange->challenge = NULL;
    }
    if (!exchange->accepts_json && exchange->answer.len != 0 &&
        status_code != SIRIX_HTTP_FORBIDDEN) {
        exchange->is_done = true;
        (void)sirix_exchange_is_served(exchange);
        return sirix_stream_queue(exchange, connection);
    }
    (void)sirix_exchange_is_served(exchange);
    sirix_connections_unwatch(&http->connections, exchange->slot);
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                    (unsigned)SIRIX_HTTP_IDLE_S);
    return respond(exchange, connection, status_code, &exchange->answer);
}

void sirix_exchange_complete(struct sirix_exchange *exchange)
{
    struct sirix_http *http = exchange->http;

    sirix_connections_unwatch(&http->connections, exchange->slot);
    sirix_connections_enter(&http->connections, exchange->slot, SIRIX_CONNECTION_HEAD);
    (void)pthread_mutex_lock(&exchange->mutex);
    exchange->is_gone = true;
    (void)pthread_mutex_unlock(&exchange->mutex);
    if (exchange->is_listening && sirix_exchange_is_served(exchange)) {
        sirix_events_remove(http->server->events, &exchange->listener);
    }
    if (sirix_mcp_is_modern(exchange->request.context.version)) {
        /* No effect where the answer has been given. */
        cancel_exchange(exchange);
    }
    sirix_exchange_unref(exchange);
}

void sirix_exchange_end_all(struct sirix_http *http, bool cancel)
{
    struct sirix_exchange *ended = NULL;

    (void)pthread_mutex_lock(&http->mutex);
    for (struct sirix_exchange **at = &http->active; *at != NULL;) {
        struct sirix_exchange *exchange = *at;

        if (cancel) {
            cancel_exchange(exchange);
        }
        if (exchange->is_listening) {
            *at = exchange->next;
            exchange->is_active = false;
            exchange->next = ended;
            ended = exchange;
            (void)atomic_fetch_add(&exchange->references, 1);
        } else {
            at = &exchange->next;
        }
    }
    (void)pthread_mutex_unlock(&http->mutex);
    while (ended != NULL) {
        struct sirix_exchange *exchange = ended;

        ended = exchange->next;
        sirix_events_remove(http->server->events, &exchange->listener);
        sirix_stream_finish(exchange);
        sirix_exchange_unref(exchange);
    }
}
