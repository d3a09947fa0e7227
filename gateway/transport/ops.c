/* Health and metrics. */
#include "transport/ops.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "transport/http_address.h"

enum {
    TEXT_BYTES_MAX = 16 * 1024,
    OK_STATUS = 200,
    NOT_FOUND = 404,
    NOT_ALLOWED = 405,
    UNREADY = 503
};

struct sirix_ops {
    const struct sirix_mcp_server *server;
    struct MHD_Daemon *daemon;
};

/* --- What is told -------------------------------------------------------------------------------- */

static bool is_ready(const struct sirix_mcp_server *server)
{
    const struct sirix_call_options options = {.deadline_ms = SIRIX_OPS_READY_MS};
    struct sirix_server_status *state = NULL;

    if (sirix_mcp_server_is_ending(server) ||
        sirix_backend_status(server->backend, &options, &state, NULL) != SIRIX_OK) {
        return false;
    }
    sirix_backend_release(state);
    return true;
}

static enum sirix_status write_one(struct sirix_buf *out, const char *name, const char *labels,
                                   const char *type, const char *help, unsigned long long value,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (help != NULL) {
        status = sirix_buf_printf(out, err, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    }
    return status == SIRIX_OK ? sirix_buf_printf(out, err, "%s%s %llu\n", name, labels, value)
                              : status;
}

static enum sirix_status write_metrics(const struct sirix_mcp_server *server, struct sirix_buf *out,
                                       struct sirix_error *err)
{
    struct sirix_metrics *metrics = server->metrics;
    const long running = atomic_load(&metrics->running);
    const struct {
        const char *name;
        const char *labels;
        const char *type;
        const char *help;
        unsigned long long value;
    } all[] = {
        {"sirix_mcp_requests_total", "{era=\"legacy\"}", "counter", "Requests answered.",
         atomic_load(&metrics->requests_legacy)},
        {"sirix_mcp_requests_total", "{era=\"modern\"}", "counter", NULL,
         atomic_load(&metrics->requests_modern)},
        {"sirix_mcp_requests_failed_total", "", "counter",
         "Requests answered with an error of the protocol.",
         atomic_load(&metrics->requests_failed)},
        {"sirix_mcp_requests_running", "", "gauge", "Requests that are being answered.",
         running > 0 ? (unsigned long long)running : 0},
        {"sirix_mcp_tool_calls_total", "", "counter", "Calls of tools.",
         atomic_load(&metrics->tools_called)},
        {"sirix_mcp_tool_refusals_total", "", "counter", "Calls of tools that were refused.",
         atomic_load(&metrics->tools_refused)},
        {"sirix_mcp_tool_microseconds_total", "", "counter", "What calls of tools took together.",
         atomic_load(&metrics->tools_us)},
        {"sirix_mcp_questions_total", "", "counter", "Questions asked of clients.",
         atomic_load(&metrics->questions)},
    };
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && status == SIRIX_OK; i++) {
        status =
            write_one(out, all[i].name, all[i].labels, all[i].type, all[i].help, all[i].value, err);
    }
    return status;
}

/* --- Requests ------------------------------------------------------------------------------------ */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                               struct sirix_buf *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_NO;

    if (response == NULL) {
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/plain; version=0.0.4; charset=utf-8");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* The status and the text of a path. */
static unsigned answer(const struct sirix_mcp_server *server, const char *url,
                       struct sirix_buf *out)
{
    unsigned status = OK_STATUS;
    const char *text = "ok\n";

    if (strcmp(url, "/metrics") == 0) {
        return write_metrics(server, out, NULL) == SIRIX_OK ? OK_STATUS : UNREADY;
    }
    if (strcmp(url, "/healthz/ready") == 0 && !is_ready(server)) {
        status = UNREADY;
        text = "not ready\n";
    } else if (strcmp(url, "/healthz/started") != 0 && strcmp(url, "/healthz/alive") != 0 &&
               strcmp(url, "/healthz/ready") != 0) {
        status = NOT_FOUND;
        text = "there are /healthz/started, /healthz/alive, /healthz/ready and /metrics\n";
    }
    return sirix_buf_append_str(out, text, NULL) == SIRIX_OK ? status : UNREADY;
}

/* NOLINTNEXTLINE(readability-function-size): the library asks for so many parameters. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              /* NOLINTNEXTLINE(readability-non-const-parameter): the library's. */
                              size_t *upload_data_size, void **request_context)
{
    const struct sirix_ops *ops = context;
    struct sirix_buf text;
    unsigned status = NOT_ALLOWED;

    (void)version;
    (void)upload_data;
    (void)upload_data_size;
    (void)request_context;
    sirix_buf_init(&text, TEXT_BYTES_MAX);
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0) {
        status = answer(ops->server, url, &text);
    }
    enum MHD_Result result = respond(connection, status, &text);
    sirix_buf_deinit(&text);
    return result;
}

static void drop_log(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

/* --- Life ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_ops_start(const struct sirix_mcp_server *server, const char *listen,
                                  struct sirix_ops **out, struct sirix_error *err)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG;
    struct sirix_http_address address;
    enum sirix_status status = sirix_http_address_parse(listen, &address, err);
    struct sirix_ops *ops = NULL;

    if (status != SIRIX_OK) {
        sirix_error_set_field(err, "ops");
        return status;
    }
    ops = calloc(1, sizeof(*ops));
    if (ops == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for health and metrics");
    }
    ops->server = server;
    ops->daemon = MHD_start_daemon(
        address.socket.any.sa_family == AF_INET6 ? flags | MHD_USE_IPv6 : flags, 0, NULL, NULL,
        handle, ops, MHD_OPTION_EXTERNAL_LOGGER, drop_log, NULL, MHD_OPTION_SOCK_ADDR,
        &address.socket.any, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SIRIX_OPS_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SIRIX_OPS_IDLE_S, MHD_OPTION_END);
    if (ops->daemon == NULL) {
        free(ops);
        return sirix_fail(err, SIRIX_IO, "cannot serve health and metrics at %.100s", listen);
    }
    *out = ops;
    return SIRIX_OK;
}

void sirix_ops_stop(struct sirix_ops *ops)
{
    if (ops != NULL) {
        MHD_stop_daemon(ops->daemon);
        free(ops);
    }
}
