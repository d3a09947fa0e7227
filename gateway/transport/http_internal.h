/* What the files of the HTTP transport share. */
#ifndef SIRIX_TRANSPORT_HTTP_INTERNAL_H
#define SIRIX_TRANSPORT_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "guard/gate.h"
#include "mcp/callers.h"
#include "transport/ended.h"
#include "transport/http.h"
#include "transport/http_address.h"
#include "transport/http_connections.h"

enum {
    SIRIX_HTTP_UNAUTHORIZED = 401,
    SIRIX_HTTP_METHOD_NOT_ALLOWED = 405,
    SIRIX_HTTP_NOT_ACCEPTABLE = 406,
    SIRIX_HTTP_TOO_LONG = 413,
    SIRIX_HTTP_UNSUPPORTED_TYPE = 415,
    SIRIX_HTTP_UNAVAILABLE = 503,
    SIRIX_HTTP_ACCEPTED = 202,
};

struct sirix_http {
    const struct sirix_mcp_server *server;
    struct sirix_http_options options; /* With all constants filled in. */
    struct sirix_http_address address;
    struct MHD_Daemon *daemon;
    int listen_fd; /* The daemon's, while it accepts. */
    struct sirix_connections connections;
    atomic_size_t waiting_bytes;
    pthread_mutex_t mutex; /* Of what follows. */
    pthread_cond_t idle;
    struct sirix_exchange *active; /* Requests that are being served. */
    atomic_bool is_ending;         /* Written with the mutex. */
    struct sirix_ended ended;      /* Threads that served a request beside its connection's. */
};

/*
 * One request over HTTP and its answer. The thread of its connection owns it; a thread that serves it
 * beside that has a reference of its own.
 */
struct sirix_exchange {
    struct sirix_http *http;
    struct sirix_connection *slot; /* NULL: too many to be looked at. */
    atomic_int references;
    struct sirix_caller *caller; /* NULL: nobody has to say who they are. */
    const char *challenge;       /* WWW-Authenticate of the answer; NULL: none. */
    bool wants_metadata;
    bool accepts_json;
    bool accepts_events;
    /* What came. */
    struct sirix_buf body;
    bool is_too_long;
    size_t counted_bytes; /* In waiting_bytes. */
    struct sirix_arena arena;
    struct sirix_mcp_headers headers;
    const char *session; /* Mcp-Session-Id that came, or that is given out; NULL: none. */
    struct sirix_jsonrpc_input input;
    struct sirix_mcp_request request;
    struct sirix_mcp_peer peer;
    struct sirix_mcp_cancel cancel;
    struct sirix_exchange *next; /* Of the active ones. */
    bool is_active;
    /* The stream. Its messages are made by others than the thread that writes them. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct sirix_buf events; /* Not yet written. */
    struct sirix_buf answer; /* JSON text; ends the stream. */
    bool is_streaming;       /* The answer will come as an event. */
    bool is_done;            /* The answer is there. */
    bool is_gone;            /* Nobody reads any more. */
    bool is_listening;
    struct sirix_events_listener listener;
};

/* --- Heads (http_head.c) ------------------------------------------------------------------------ */

/* Why a request is refused when only its head is there; 0: it is not. */
struct sirix_http_refusal {
    unsigned status;
    const char *text;
};

/* Checks the head, and notes what the exchange needs of it; texts go into its arena. */
enum sirix_status sirix_http_read_head(struct sirix_exchange *exchange,
                                       struct MHD_Connection *connection, const char *url,
                                       const char *method, struct sirix_http_refusal *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Callers (http_caller.c) -------------------------------------------------------------------- */

/* Whether that is where the metadata of the protected resource are. */
bool sirix_http_is_metadata(const struct sirix_http *http, const char *url);
enum sirix_status sirix_http_write_metadata(const struct sirix_http *http, struct sirix_buf *out,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Notes the challenge that goes with an answer of 401 or 403; error NULL: nothing was sent. */
enum sirix_status sirix_http_challenge(struct sirix_exchange *exchange, const char *error,
                                       const char *scope, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Finds out who calls, by the Authorization header that came count times; or out says why not. */
enum sirix_status sirix_http_find_caller(struct sirix_exchange *exchange, const char *header,
                                         unsigned count, struct sirix_http_refusal *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Exchanges (http_exchange.c) ---------------------------------------------------------------- */

struct sirix_exchange *sirix_exchange_new(struct sirix_http *http, struct sirix_connection *slot);
void sirix_exchange_unref(struct sirix_exchange *exchange);

/* Serves the request whose body is there, and queues its answer. */
enum MHD_Result sirix_exchange_serve(struct sirix_exchange *exchange,
                                     struct MHD_Connection *connection);

/* The server as the caller of the request sees it. */
const struct sirix_mcp_server *sirix_exchange_server(const struct sirix_exchange *exchange);

/* Queues the metadata of the protected resource. */
enum MHD_Result sirix_exchange_tell_metadata(struct sirix_exchange *exchange,
                                             struct MHD_Connection *connection);

/* Queues a refusal as a JSON-RPC error without id. */
enum MHD_Result sirix_exchange_refuse(struct sirix_exchange *exchange,
                                      struct MHD_Connection *connection,
                                      const struct sirix_http_refusal *refusal);

/* It is served; whether that was not known yet. */
bool sirix_exchange_is_served(struct sirix_exchange *exchange);

/* The connection is done with it, whether the answer was sent or not. */
void sirix_exchange_complete(struct sirix_exchange *exchange);

/* Ends those that listen with their result; with cancel, makes all others end too. */
void sirix_exchange_end_all(struct sirix_http *http, bool cancel);

/* --- Streams (http_stream.c) -------------------------------------------------------------------- */

/* Whether the request is served beside its connection, so that it can be told things meanwhile. */
bool sirix_stream_is_wanted(const struct sirix_exchange *exchange);

/* Serves it so; *out_is_streamed: the answer comes as events, else it is in exchange->answer. */
enum sirix_status sirix_stream_serve(struct sirix_exchange *exchange, bool *out_is_streamed,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Queues the stream as the answer. */
enum MHD_Result sirix_stream_queue(struct sirix_exchange *exchange,
                                   struct MHD_Connection *connection);

/* Ends the stream with its answer. */
void sirix_stream_finish(struct sirix_exchange *exchange);

#endif
