/* The backend on libsirix: one client, opened once. */
#include "backend/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"

enum { START_TIMEOUT_MS = 10 * 1000 };

enum state { IDLE, OPENING, OPEN };

struct sirix_gateway_backend {
    struct sirix_gateway_backend_options options;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum state state;
    struct sirix_client *client; /* When OPEN; never changes again. */
    pthread_t opener;
};

static enum sirix_status open_client(const struct sirix_gateway_backend_options *options,
                                     struct sirix_client **out, struct sirix_error *err)
{
    const struct sirix_embedded_options embedded = {
        .read_only = options->read_only,
        .start_timeout_ms = START_TIMEOUT_MS,
        .client = {.client_name = "sirix-mcp"},
    };

    const struct sirix_client_options remote = {
        .client_name = "sirix-mcp",
        .token_file = options->token_file,
        .tls_ca = options->tls_ca,
        .tls_cert = options->tls_cert,
        .tls_key = options->tls_key,
    };

    return options->directory != NULL ? sirix_embedded_open(options->directory, &embedded, out, err)
                                      : sirix_client_open(options->address, &remote, out, err);
}

/* Called while OPENING by the one who set that. */
static enum sirix_status open_now(struct sirix_gateway_backend *backend, struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = open_client(&backend->options, &client, err);

    (void)pthread_mutex_lock(&backend->mutex);
    backend->client = client;
    backend->state = status == SIRIX_OK ? OPEN : IDLE;
    (void)pthread_cond_broadcast(&backend->changed);
    (void)pthread_mutex_unlock(&backend->mutex);
    return status;
}

static void *run_opener(void *context)
{
    /* Whoever calls next finds out why it failed. */
    (void)open_now(context, NULL);
    return NULL;
}

static struct timespec after_ms(uint32_t ms)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/*
 * Where the storage is, is told to whoever runs us, not to whoever calls: an error that the library made
 * of what the system said goes into the log. What storaged itself answers has a reason, and is kept.
 */
static enum sirix_status hide(enum sirix_status status, struct sirix_error *err)
{
    if (status != SIRIX_UNAVAILABLE || err == NULL || err->reason != SIRIX_REASON_NONE) {
        return status;
    }
    /* Of a failed handshake gRPC as often tells of sockets only: the settings are named always. */
    sirix_log_error(SIRIX_LOG_WARN,
                    "the storage cannot be reached; with TLS see that tlsCa has signed its "
                    "certificate, which names storage, and that it takes tlsCert",
                    err);
    return sirix_fail(err, SIRIX_UNAVAILABLE,
                      "the storage cannot be reached; try again later, or look into the log of the "
                      "server");
}

/* The client, once it is open. */
static enum sirix_status get(struct sirix_gateway_backend *backend,
                             const struct sirix_call_options *call, struct sirix_client **out,
                             struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool must_open = false;

    const struct timespec deadline =
        after_ms(call->deadline_ms != 0 ? call->deadline_ms : START_TIMEOUT_MS);
    (void)pthread_mutex_lock(&backend->mutex);
    while (backend->state == OPENING && status == SIRIX_OK) {
        if (pthread_cond_timedwait(&backend->changed, &backend->mutex, &deadline) == ETIMEDOUT) {
            status = sirix_fail(err, SIRIX_UNAVAILABLE, "the storage is still starting");
        }
    }
    if (status == SIRIX_OK && backend->state == IDLE) {
        backend->state = OPENING;
        must_open = true;
    }
    (void)pthread_mutex_unlock(&backend->mutex);
    if (must_open) {
        struct sirix_error error = {0};

        status = open_now(backend, &error);
        if (status != SIRIX_OK) {
            sirix_log_error(SIRIX_LOG_ERROR, "the storage cannot be opened", &error);
            status = sirix_fail(err, status,
                                "the storage cannot be opened; the log of the server says why");
        }
    }
    if (status == SIRIX_OK) {
        *out = backend->client;
    }
    return status;
}

enum sirix_status sirix_backend_start(const struct sirix_gateway_backend_options *options,
                                      struct sirix_gateway_backend **out, struct sirix_error *err)
{
    struct sirix_gateway_backend *backend = calloc(1, sizeof(*backend));
    pthread_condattr_t attributes;

    if (backend == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the backend");
    }
    backend->options = *options;
    backend->state = OPENING;
    (void)pthread_mutex_init(&backend->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&backend->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (pthread_create(&backend->opener, NULL, run_opener, backend) != 0) {
        (void)pthread_cond_destroy(&backend->changed);
        (void)pthread_mutex_destroy(&backend->mutex);
        free(backend);
        return sirix_fail(err, SIRIX_IO, "cannot start a thread");
    }
    *out = backend;
    return SIRIX_OK;
}

void sirix_backend_stop(struct sirix_gateway_backend *backend)
{
    if (backend == NULL) {
        return;
    }
    (void)pthread_join(backend->opener, NULL);
    sirix_client_close(backend->client);
    (void)pthread_cond_destroy(&backend->changed);
    (void)pthread_mutex_destroy(&backend->mutex);
    free(backend);
}

void sirix_backend_release(const void *answer)
{
    sirix_client_free(answer);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types take none. */
#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type **out, struct sirix_error *err)         \
    {                                                                                              \
        struct sirix_client *client = NULL;                                                        \
        enum sirix_status status = get(backend, call, &client, err);                               \
                                                                                                   \
        return status == SIRIX_OK                                                                  \
                   ? hide(sirix_client_##name(client, request, call, out, err), err)               \
                   : status;                                                                       \
    }
SIRIX_BACKEND_CALLS(SIRIX_X)
#undef SIRIX_X

#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type *out, struct sirix_error *err)          \
    {                                                                                              \
        struct sirix_client *client = NULL;                                                        \
        enum sirix_status status = get(backend, call, &client, err);                               \
                                                                                                   \
        return status == SIRIX_OK                                                                  \
                   ? hide(sirix_client_##name(client, request, call, out, err), err)               \
                   : status;                                                                       \
    }
SIRIX_BACKEND_PLAIN_CALLS(SIRIX_X)
#undef SIRIX_X
/* NOLINTEND(bugprone-macro-parentheses) */

enum sirix_status sirix_backend_list_databases(struct sirix_gateway_backend *backend,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_database_list **out,
                                               struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK ? hide(sirix_client_list_databases(client, page, call, out, err), err)
                              : status;
}

enum sirix_status sirix_backend_list_resources(struct sirix_gateway_backend *backend,
                                               const char *database, const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_resource_list **out,
                                               struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK
               ? hide(sirix_client_list_resources(client, database, page, call, out, err), err)
               : status;
}

enum sirix_status sirix_backend_list_snapshots(struct sirix_gateway_backend *backend,
                                               const char *database, const char *resource,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_snapshot_list **out,
                                               struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK
               ? hide(sirix_client_list_snapshots(client, database, resource, page, call, out, err),
                      err)
               : status;
}

enum sirix_status sirix_backend_list_branches(struct sirix_gateway_backend *backend,
                                              const char *database, const char *resource,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_branch_list **out,
                                              struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK
               ? hide(sirix_client_list_branches(client, database, resource, page, call, out, err),
                      err)
               : status;
}

enum sirix_status sirix_backend_create_database(struct sirix_gateway_backend *backend,
                                                const char *database,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK
               ? hide(sirix_client_create_database(client, database, write, call, err), err)
               : status;
}

enum sirix_status sirix_backend_create_resource(struct sirix_gateway_backend *backend,
                                                const char *database, const char *resource,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_write_result *out,
                                                struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK ? hide(sirix_client_create_resource(client, database, resource, write,
                                                                  call, out, err),
                                     err)
                              : status;
}

enum sirix_status sirix_backend_status(struct sirix_gateway_backend *backend,
                                       const struct sirix_call_options *call,
                                       struct sirix_server_status **out, struct sirix_error *err)
{
    struct sirix_client *client = NULL;
    enum sirix_status status = get(backend, call, &client, err);

    return status == SIRIX_OK ? hide(sirix_client_status(client, call, out, err), err) : status;
}

struct sirix_diff_ends sirix_backend_diff_ends(const struct sirix_diff_stream *stream)
{
    return sirix_diff_stream_ends(stream);
}

enum sirix_status sirix_backend_diff_next(struct sirix_diff_stream *stream,
                                          struct sirix_diff_part *out_part, struct sirix_error *err)
{
    return hide(sirix_diff_stream_next(stream, out_part, err), err);
}

void sirix_backend_diff_close(struct sirix_diff_stream *stream)
{
    sirix_diff_stream_close(stream);
}

enum sirix_status sirix_backend_query_next(struct sirix_query_stream *stream,
                                           struct sirix_query_part *out_part,
                                           struct sirix_error *err)
{
    return hide(sirix_query_stream_next(stream, out_part, err), err);
}

void sirix_backend_query_close(struct sirix_query_stream *stream)
{
    sirix_query_stream_close(stream);
}

enum sirix_status sirix_backend_sql_next(struct sirix_sql_stream *stream,
                                         struct sirix_sql_part *out_part, struct sirix_error *err)
{
    return hide(sirix_sql_stream_next(stream, out_part, err), err);
}

void sirix_backend_sql_close(struct sirix_sql_stream *stream)
{
    sirix_sql_stream_close(stream);
}
