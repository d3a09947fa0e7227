/*
 * The MCP server: what it answers to a message. Knows no transport and keeps nothing between
 * messages; what a connection agreed on lies in its session, where there is one.
 *
 * A transport opens a request (sirix_mcp_request_open), which decides who serves it, and then has it
 * answered, on the same thread or another.
 */
#ifndef SIRIX_MCP_SERVER_H
#define SIRIX_MCP_SERVER_H

#include <stddef.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "guard/audit.h"
#include "guard/rate.h"
#include "guard/seal.h"
#include "guard/settings.h"
#include "jsonrpc/message.h"
#include "mcp/events.h"
#include "mcp/heartbeat.h"
#include "mcp/metrics.h"
#include "mcp/pending.h"
#include "mcp/registry.h"
#include "mcp/request.h"

enum {
    SIRIX_MCP_TOOLS_MAX = 48,
    SIRIX_MCP_TOOLS_PAGE = 50,
    SIRIX_MCP_LIST_PAGE = 100,    /* Of resources and prompts. */
    SIRIX_MCP_TTL_MS = 60 * 1000, /* How long lists may be kept by a client. */
};

/* Errors of the protocol beside those of JSON-RPC. */
enum {
    SIRIX_MCP_RESOURCE_NOT_FOUND = -32002, /* Legacy. */
    SIRIX_MCP_HEADER_MISMATCH = -32020,
    SIRIX_MCP_MISSING_CAPABILITY = -32021,
    SIRIX_MCP_UNSUPPORTED_VERSION = -32022,
};

enum {
    SIRIX_HTTP_OK = 200,
    SIRIX_HTTP_BAD_REQUEST = 400,
    SIRIX_HTTP_FORBIDDEN = 403,
    SIRIX_HTTP_NOT_FOUND = 404,
};

struct sirix_caller;

/* Read-only after init, but for what has locks of its own: any number of threads. */
struct sirix_mcp_server {
    const struct sirix_settings *settings;
    struct sirix_gateway_backend *backend;
    const struct sirix_mcp_registry *registry;
    struct sirix_arena arena;
    struct sirix_json_node *schemas[SIRIX_MCP_TOOLS_MAX]; /* Of the inputs, by tool. */
    size_t tools_page;                                    /* Tools in one page of tools/list. */
    struct sirix_seal_keys keys;                          /* Of what clients keep for us. */
    struct sirix_rate *rate;                              /* Of all for whom this server is. */
    struct sirix_audit *audit;                            /* The caller's; NULL: no log. */
    struct sirix_pending *pending;
    struct sirix_events *events;
    struct sirix_metrics *metrics;
    struct sirix_heartbeat *heartbeat;
    /* A copy that is one caller's alone (mcp/callers.h). */
    const struct sirix_mcp_server *everybody; /* What it is a copy of; NULL: it is none. */
    struct sirix_caller *caller;
    const char *principal; /* Who that is; NULL: nobody has said. */
    bool may_create;       /* Databases and resources. */
};

/*
 * Settings, backend and registry stay the caller's. What clients keep is sealed with a key that only
 * this process has, until the caller sets another.
 */
enum sirix_status sirix_mcp_server_init(struct sirix_mcp_server *server,
                                        const struct sirix_settings *settings,
                                        const struct sirix_mcp_registry *registry,
                                        struct sirix_gateway_backend *backend,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Nobody waits for a client any more; listeners are to be ended by their transport. */
void sirix_mcp_server_end(const struct sirix_mcp_server *server);
bool sirix_mcp_server_is_ending(const struct sirix_mcp_server *server);
void sirix_mcp_server_deinit(struct sirix_mcp_server *server);

/*
 * What a connection of the legacy era agreed on. One thread at a time: the one that opens requests
 * and takes notifications.
 */
struct sirix_mcp_session {
    struct sirix_mcp_context context;
    struct sirix_events_listener *listener; /* Of resources/subscribe; the transport's, or NULL. */
    bool is_copy;                           /* Of a batch: it cannot be changed. */
};

/*
 * Opens a request: its revision, its client. What is wrong with that is answered by
 * sirix_mcp_answer(). The request holds nothing yet; it ends with sirix_mcp_request_close().
 * Session, headers, peer and cancel stay the caller's and may be NULL.
 */
void sirix_mcp_request_open(struct sirix_mcp_request *request,
                            const struct sirix_mcp_server *server,
                            struct sirix_mcp_session *session,
                            const struct sirix_mcp_headers *headers, struct sirix_arena *arena,
                            const struct sirix_jsonrpc_message *message);
void sirix_mcp_request_close(struct sirix_mcp_request *request);

/* Whether a request may take long, so that it should not keep others waiting. */
bool sirix_mcp_is_long(const struct sirix_mcp_request *request);

/* Whether a request is answered at the end of its stream of notifications only. */
bool sirix_mcp_is_listening(const struct sirix_mcp_request *request);

/*
 * Appends the answer to a request (or to a faulty message) to out, and sets http_status. `initialize`
 * also changes the session, and so do logging/setLevel and resources/subscribe; nothing else does.
 */
enum sirix_status sirix_mcp_answer(struct sirix_mcp_request *request, struct sirix_buf *out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Appends the answer to a request that cannot be served, whatever it was: too many at once, say.
 */
enum sirix_status sirix_mcp_refuse(struct sirix_mcp_request *request,
                                   const struct sirix_error *failure, struct sirix_buf *out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Takes an answer of the client to a request of ours. */
void sirix_mcp_take_answer(const struct sirix_mcp_server *server,
                           const struct sirix_jsonrpc_message *message);

/* The id that a notifications/cancelled names, in the arena; empty: the message is none. */
enum sirix_status sirix_mcp_cancelled_id(struct sirix_arena *arena,
                                         const struct sirix_jsonrpc_message *message,
                                         struct sirix_bytes *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
