/* Four paths over libmicrohttpd. */
#include "probe/probe.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { OK_STATUS = 200, NOT_FOUND = 404, NOT_ALLOWED = 405, UNREADY = 503, PORT_MAX = 65535 };

struct sirix_probe {
    struct sirix_probe_owner owner;
    struct MHD_Daemon *daemon;
};

union address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

/* --- Addresses ---------------------------------------------------------------------------------- */

/* Digits up to PORT_MAX; -1 otherwise. */
static long read_port(const char *text)
{
    long port = 0;

    if (*text == '\0') {
        return -1;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || port > PORT_MAX) {
            return -1;
        }
        port = port * 10 + (*text - '0');
    }
    return port > PORT_MAX ? -1 : port;
}

static enum sirix_status parse_address(const char *text, union address *out_address,
                                       struct sirix_error *err)
{
    union address address = {.ip6 = {.sin6_family = AF_UNSPEC}};
    char host[INET6_ADDRSTRLEN + 1] = "";
    const char *colon = strrchr(text, ':');
    const long port = colon == NULL ? -1 : read_port(colon + 1);
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    const bool has_brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    const char *begin = has_brackets ? text + 1 : text;

    len -= has_brackets ? 2 : 0;
    if (port >= 0 && len != 0 && len < sizeof(host)) {
        memcpy(host, begin, len);
        const char *ip = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
        if (has_brackets && inet_pton(AF_INET6, ip, &address.ip6.sin6_addr) == 1) {
            address.ip6.sin6_family = AF_INET6;
            address.ip6.sin6_port = htons((uint16_t)port);
        } else if (!has_brackets && inet_pton(AF_INET, ip, &address.ip4.sin_addr) == 1) {
            address.ip4.sin_family = AF_INET;
            address.ip4.sin_port = htons((uint16_t)port);
        }
    }
    if (address.any.sa_family == AF_UNSPEC) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "\"%.100s\" is no address to listen at: HOST:PORT, where HOST is "
                                 "localhost or an IP address (an IPv6 address in brackets)",
                                 text);
    }
    *out_address = address;
    return SIRIX_OK;
}

enum sirix_status sirix_probe_check_address(const char *listen, struct sirix_error *err)
{
    union address address;

    return parse_address(listen, &address, err);
}

/* --- Requests ----------------------------------------------------------------------------------- */

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
    if (status == NOT_ALLOWED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static unsigned tell(struct sirix_buf *out, bool is_so, const char *otherwise)
{
    enum sirix_status status = sirix_buf_append_str(out, is_so ? "ok\n" : otherwise, NULL);

    return is_so && status == SIRIX_OK ? OK_STATUS : UNREADY;
}

/* The status and the text of a path. */
static unsigned answer(const struct sirix_probe_owner *owner, const char *url,
                       struct sirix_buf *out)
{
    if (strcmp(url, "/metrics") == 0) {
        struct sirix_exposition exposition = {.out = out, .status = SIRIX_OK};

        owner->write_metrics(owner->context, &exposition);
        return exposition.status == SIRIX_OK ? OK_STATUS : UNREADY;
    }
    if (strcmp(url, "/healthz/started") == 0) {
        return tell(out, owner->is_started == NULL || owner->is_started(owner->context),
                    "not started\n");
    }
    if (strcmp(url, "/healthz/alive") == 0) {
        return tell(out, owner->is_alive == NULL || owner->is_alive(owner->context), "not alive\n");
    }
    if (strcmp(url, "/healthz/ready") == 0) {
        return tell(out, owner->is_ready(owner->context), "not ready\n");
    }
    enum sirix_status status = sirix_buf_append_str(
        out, "there are /healthz/started, /healthz/alive, /healthz/ready and /metrics\n", NULL);
    return status == SIRIX_OK ? NOT_FOUND : UNREADY;
}

/* NOLINTNEXTLINE(readability-function-size): the library asks for so many parameters. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              /* NOLINTNEXTLINE(readability-non-const-parameter): the library's. */
                              size_t *upload_data_size, void **request_context)
{
    const struct sirix_probe *probe = context;
    struct sirix_buf text;
    unsigned status = NOT_ALLOWED;

    (void)version;
    (void)upload_data;
    (void)upload_data_size;
    (void)request_context;
    sirix_buf_init(&text, SIRIX_PROBE_TEXT_BYTES_MAX);
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0) {
        status = answer(&probe->owner, url, &text);
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

/* --- Life --------------------------------------------------------------------------------------- */

enum sirix_status sirix_probe_start(const struct sirix_probe_owner *owner, const char *listen,
                                    struct sirix_probe **out_probe, struct sirix_error *err)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG;
    union address address;
    enum sirix_status status = parse_address(listen, &address, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_probe *probe = calloc(1, sizeof(*probe));
    if (probe == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for health and metrics");
    }
    probe->owner = *owner;
    probe->daemon = MHD_start_daemon(
        address.any.sa_family == AF_INET6 ? flags | MHD_USE_IPv6 : flags, 0, NULL, NULL, handle,
        probe, MHD_OPTION_EXTERNAL_LOGGER, drop_log, NULL, MHD_OPTION_SOCK_ADDR, &address.any,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SIRIX_PROBE_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SIRIX_PROBE_IDLE_S, MHD_OPTION_END);
    if (probe->daemon == NULL) {
        free(probe);
        return sirix_fail(err, SIRIX_IO, "cannot serve health and metrics at %.100s", listen);
    }
    *out_probe = probe;
    return SIRIX_OK;
}

uint16_t sirix_probe_port(const struct sirix_probe *probe)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(probe->daemon, MHD_DAEMON_INFO_BIND_PORT);

    return info == NULL ? 0 : info->port;
}

void sirix_probe_stop(struct sirix_probe *probe)
{
    if (probe != NULL) {
        MHD_stop_daemon(probe->daemon);
        free(probe);
    }
}
