/* The HTTP endpoint: its life, and its connections. */
#include "transport/http.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "base/log.h"
#include "transport/http_internal.h"

enum {
    LOOK_MS = 1000,
    WRITE_GRACE_MS = 2000,
    WRITE_STEP_MS = 10,
    ACCEPT_GRACE_MS = 50, /* What a handshake that has begun may take. */
    BACKLOG = 256,
    MS_PER_S = 1000,
    NS_PER_MS = 1000 * 1000,
    STACK_BYTES = 512 * 1024,
};

/* Nothing older than TLS 1.2. The library only reads it, but takes no constant. */
static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* --- What the library calls -------------------------------------------------------------------------- */

static struct sirix_connection *slot_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

/* A connection begins or ends. */
static void notify_connection(void *context, struct MHD_Connection *connection,
                              void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sirix_http *http = context;
    const unsigned limit_ms = http->options.write_ms;

    if (code == MHD_CONNECTION_NOTIFY_STARTED && info != NULL) {
        /* A client that takes nothing loses its connection, whatever is written. */
        (void)setsockopt(info->connect_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms,
                         sizeof(limit_ms));
        *socket_context = sirix_connections_add(&http->connections, info->connect_fd);
    } else if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        sirix_connections_remove(&http->connections, *socket_context);
        *socket_context = NULL;
    }
}

/* A request begins: its head is there. */
static enum MHD_Result begin(struct sirix_http *http, struct MHD_Connection *connection,
                             const char *url, const char *method, void **request_context)
{
    struct sirix_exchange *exchange = sirix_exchange_new(http, slot_of(connection));
    struct sirix_http_refusal refusal = {.status = 0};

    if (exchange == NULL) {
        return MHD_NO;
    }
    *request_context = exchange;
    if (sirix_http_read_head(exchange, connection, url, method, &refusal, NULL) != SIRIX_OK) {
        return MHD_NO;
    }
    if (refusal.status != 0) {
        return sirix_exchange_refuse(exchange, connection, &refusal);
    }
    if (exchange->wants_metadata) {
        return sirix_exchange_tell_metadata(exchange, connection);
    }
    sirix_connections_enter(&http->connections, exchange->slot, SIRIX_CONNECTION_BODY);
    return MHD_YES;
}

/* A piece of the body; what is past a limit is read to its end, but not kept. */
static enum MHD_Result take_body(struct sirix_exchange *exchange, const char *data, size_t len)
{
    struct sirix_http *http = exchange->http;
    const size_t before = atomic_fetch_add(&http->waiting_bytes, len);

    exchange->counted_bytes += len;
    if (exchange->counted_bytes > 2 * http->options.body_bytes_max) {
        return MHD_NO; /* One that never ends. */
    }
    exchange->is_too_long |= exchange->counted_bytes > http->options.body_bytes_max;
    if (before + len > http->options.waiting_bytes_max && before != 0) {
        return MHD_NO;
    }
    if (exchange->is_too_long) {
        sirix_buf_deinit(&exchange->body);
        return MHD_YES;
    }
    return sirix_buf_append(&exchange->body, data, len, NULL) == SIRIX_OK ? MHD_YES : MHD_NO;
}

/* NOLINTNEXTLINE(readability-function-size): the library asks for so many parameters. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_data_size, void **request_context)
{
    static const struct sirix_http_refusal too_long = {SIRIX_HTTP_TOO_LONG,
                                                       "the body is longer than the limit"};
    struct sirix_exchange *exchange = *request_context;

    (void)version;
    if (exchange == NULL) {
        return begin(context, connection, url, method, request_context);
    }
    if (*upload_data_size != 0) {
        const size_t len = *upload_data_size;

        *upload_data_size = 0;
        return take_body(exchange, upload_data, len);
    }
    return exchange->is_too_long ? sirix_exchange_refuse(exchange, connection, &too_long)
                                 : sirix_exchange_serve(exchange, connection);
}

static void complete(void *context, struct MHD_Connection *connection, void **request_context,
                     enum MHD_RequestTerminationCode code)
{
    struct sirix_exchange *exchange = *request_context;

    (void)context;
    (void)connection;
    (void)code;
    *request_context = NULL;
    if (exchange != NULL) {
        sirix_exchange_complete(exchange);
    }
}

static void drop_log(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

/* --- Life ------------------------------------------------------------------------------------------ */

static enum sirix_status open_socket(const struct sirix_http_address *address, int *out_fd,
                                     struct sirix_error *err)
{
    const int yes = 1;
    const int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot make a socket: %s", strerror(errno));
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, &address->socket.any, address->socket_len) != 0 || listen(fd, BACKLOG) != 0) {
        enum sirix_status status =
            sirix_fail(err, SIRIX_IO, "cannot listen at %s: %s", address->host, strerror(errno));

        (void)close(fd);
        return status;
    }
    *out_fd = fd;
    return SIRIX_OK;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage name;
    socklen_t len = sizeof(name);

    if (getsockname(fd, (struct sockaddr *)&name, &len) != 0) {
        return 0;
    }
    return name.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&name)->sin6_port)
                                      : ntohs(((struct sockaddr_in *)&name)->sin_port);
}

/* Tells whoever started us that clients can come. */
static void tell_ready(const struct sirix_http *http, int listen_fd)
{
    const bool is_ip6 = http->address.socket.any.sa_family == AF_INET6;

    if (http->options.ready_fd >= 0) {
        (void)dprintf(http->options.ready_fd, "http%s://%s%s%s:%u/mcp\n",
                      http->options.tls_cert != NULL ? "s" : "", is_ip6 ? "[" : "",
                      http->address.host, is_ip6 ? "]" : "", port_of(listen_fd));
        (void)close(http->options.ready_fd);
    }
}

static enum sirix_status start_daemon(struct sirix_http *http, int listen_fd,
                                      struct sirix_error *err)
{
    const bool has_tls = http->options.tls_cert != NULL;
    const unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                           MHD_USE_POLL | MHD_USE_ITC | MHD_USE_ERROR_LOG |
                           (has_tls ? MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, http->options.tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, http->options.tls_key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_priorities},
        {MHD_OPTION_END, 0, NULL},
    };

    if (!has_tls) {
        tls[0].option = MHD_OPTION_END;
    }
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, http, MHD_OPTION_EXTERNAL_LOGGER, drop_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_NOTIFY_CONNECTION, notify_connection, http,
        MHD_OPTION_NOTIFY_COMPLETED, complete, http, MHD_OPTION_CONNECTION_LIMIT,
        http->options.connections_max, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SIRIX_HTTP_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SIRIX_HTTP_HEADER_BYTES_MAX,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    return http->daemon == NULL ? sirix_fail(err, SIRIX_IO, "cannot start the HTTP server%s",
                                             has_tls ? "; are certificate and key good?" : "")
                                : SIRIX_OK;
}

/* Looks after the connections until the process shall end. */
static void watch(struct sirix_http *http)
{
    struct pollfd fds[] = {
        {.fd = http->options.stop_fd, .events = POLLIN},
        {.fd = sirix_connections_fd(&http->connections), .events = POLLIN},
    };

    while (fds[0].revents == 0) {
        if (poll(fds, 2, LOOK_MS) < 0) {
            fds[0].revents = 0;
        }
        sirix_connections_look(&http->connections, 0);
    }
}

/* Waits until no request is being served; false: that takes longer. */
static bool wait_for_idle(struct sirix_http *http, uint64_t timeout_ms)
{
    struct timespec until;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / MS_PER_S);
    until.tv_nsec += (long)(timeout_ms % MS_PER_S) * NS_PER_MS;
    if (until.tv_nsec >= (long)MS_PER_S * NS_PER_MS) {
        until.tv_sec++;
        until.tv_nsec -= (long)MS_PER_S * NS_PER_MS;
    }
    (void)pthread_mutex_lock(&http->mutex);
    while (http->active != NULL && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&http->idle, &http->mutex, &until);
    }
    const bool is_idle = http->active == NULL;
    (void)pthread_mutex_unlock(&http->mutex);
    return is_idle;
}

/*
 * Makes the system drop what asks for a new connection, while those that it is about to let in come in:
 * whoever is dropped asks again in a second, and finds nobody here.
 */
static void drop_newcomers(int listen_fd)
{
    enum { FLAGS_AT = 13, SYN = 0x02, SYN_OR_ACK = 0x12 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN_OR_ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog program = {
        .len = sizeof(code) / sizeof(code[0]),
        .filter = code,
    };

    /* Without it, who comes in the moment of the end is sent away. */
    (void)setsockopt(listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/*
 * Stops accepting. Clients that the system has let in already are still served: they would take the
 * end of their connection for a lost answer.
 */
static void stop_accepting(struct sirix_http *http)
{
    const struct timespec grace = {.tv_nsec = (long)ACCEPT_GRACE_MS * NS_PER_MS};

    drop_newcomers(http->listen_fd);
    (void)nanosleep(&grace, NULL);
    const MHD_socket listen_fd = MHD_quiesce_daemon(http->daemon);
    if (listen_fd != MHD_INVALID_SOCKET) {
        (void)close(listen_fd);
    }
}

/* Lets requests finish, or makes them; false: one does not end. */
static bool drain(struct sirix_http *http)
{
    const struct sirix_settings *settings = http->server->settings;
    const uint64_t longest_ms = settings->query_timeout_ms > settings->write_timeout_ms
                                    ? settings->query_timeout_ms
                                    : settings->write_timeout_ms;
    const struct timespec step = {.tv_nsec = (long)WRITE_STEP_MS * NS_PER_MS};

    stop_accepting(http);
    (void)pthread_mutex_lock(&http->mutex);
    http->is_ending = true;
    (void)pthread_mutex_unlock(&http->mutex);
    sirix_mcp_server_end(http->server);
    sirix_exchange_end_all(http, false);
    bool is_idle = wait_for_idle(http, longest_ms);
    if (!is_idle) {
        sirix_exchange_end_all(http, true);
        is_idle = wait_for_idle(http, SIRIX_HTTP_CANCEL_GRACE_MS);
    }
    for (int left = WRITE_GRACE_MS / WRITE_STEP_MS;
         left > 0 && !sirix_connections_are_idle(&http->connections); left--) {
        (void)nanosleep(&step, NULL);
    }
    return is_idle;
}

static void fill_in(struct sirix_http *http, const struct sirix_http_options *options)
{
    struct sirix_http_options *all = &http->options;

    *all = *options;
    all->body_bytes_max =
        options->body_bytes_max == 0 ? SIRIX_HTTP_BODY_BYTES_MAX : options->body_bytes_max;
    all->waiting_bytes_max =
        options->waiting_bytes_max == 0 ? SIRIX_HTTP_WAITING_BYTES_MAX : options->waiting_bytes_max;
    all->connections_max =
        options->connections_max == 0 ? SIRIX_HTTP_CONNECTIONS_MAX : options->connections_max;
    all->head_ms = options->head_ms == 0 ? SIRIX_HTTP_HEAD_MS : options->head_ms;
    all->body_ms = options->body_ms == 0 ? SIRIX_HTTP_BODY_MS : options->body_ms;
    all->write_ms = options->write_ms == 0 ? SIRIX_HTTP_WRITE_MS : options->write_ms;
    http->connections.limits_ms[SIRIX_CONNECTION_HEAD] = all->head_ms;
    http->connections.limits_ms[SIRIX_CONNECTION_BODY] = all->body_ms;
    http->connections.limits_ms[SIRIX_CONNECTION_WRITE] = all->write_ms;
}

static enum sirix_status serve(struct sirix_http *http, struct sirix_error *err)
{
    int listen_fd = -1;
    enum sirix_status status = open_socket(&http->address, &listen_fd, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = start_daemon(http, listen_fd, err);
    if (status != SIRIX_OK) {
        (void)close(listen_fd);
        return status;
    }
    http->listen_fd = listen_fd;
    tell_ready(http, listen_fd);
    watch(http);
    if (!drain(http)) {
        return sirix_fail(err, SIRIX_DEADLINE, "a call did not end when it was cancelled");
    }
    MHD_stop_daemon(http->daemon);
    return SIRIX_OK;
}

enum sirix_status sirix_http_run(const struct sirix_mcp_server *server,
                                 const struct sirix_http_options *options, struct sirix_error *err)
{
    /* On the heap: where a call does not end, its thread goes on using it. */
    struct sirix_http *http = calloc(1, sizeof(*http));
    pthread_condattr_t attributes;

    if (http == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the transport");
    }
    http->server = server;
    enum sirix_status status = sirix_http_address_parse(options->listen, &http->address, err);
    if (status == SIRIX_OK) {
        status = sirix_connections_init(&http->connections,
                                        options->connections_max == 0 ? SIRIX_HTTP_CONNECTIONS_MAX
                                                                      : options->connections_max,
                                        err);
    }
    if (status != SIRIX_OK) {
        free(http);
        return status;
    }
    fill_in(http, options);
    (void)pthread_mutex_init(&http->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&http->idle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    status = serve(http, err);
    if (status == SIRIX_DEADLINE) {
        return status;
    }
    sirix_ended_join(&http->ended);
    (void)pthread_cond_destroy(&http->idle);
    (void)pthread_mutex_destroy(&http->mutex);
    sirix_connections_deinit(&http->connections);
    free(http);
    return status;
}
