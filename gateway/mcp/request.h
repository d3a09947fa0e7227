/*
 * One request on its way through the server: which revision serves it, for whom, how its client is
 * reached while it runs, and what it answers beside its result.
 *
 * Handlers know no era and no transport. What differs is here (the context) or is added when the
 * answer is written.
 */
#ifndef SIRIX_MCP_REQUEST_H
#define SIRIX_MCP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "jsonrpc/message.h"
#include "mcp/cancel.h"
#include "mcp/era.h"
#include "json/tree.h"

enum {
    SIRIX_MCP_CLIENT_NAME_BYTES_MAX = 128,
    SIRIX_MCP_TRACE_BYTES_MAX = 512,
};

/* What a client can be asked for; bits. */
enum sirix_mcp_capability {
    SIRIX_MCP_CAN_ELICIT = 1U << 0U, /* By form. */
    SIRIX_MCP_CAN_SAMPLE = 1U << 1U,
    SIRIX_MCP_CAN_LIST_ROOTS = 1U << 2U,
};

enum sirix_mcp_log_level {
    SIRIX_MCP_LOG_DEBUG,
    SIRIX_MCP_LOG_INFO,
    SIRIX_MCP_LOG_NOTICE,
    SIRIX_MCP_LOG_WARNING,
    SIRIX_MCP_LOG_ERROR,
    SIRIX_MCP_LOG_CRITICAL,
    SIRIX_MCP_LOG_ALERT,
    SIRIX_MCP_LOG_EMERGENCY,
    SIRIX_MCP_LOG_NONE, /* Nothing is sent. */
};

/*
 * How the client of one request is reached while it runs. A transport's; valid while the request is
 * served. Messages are JSON text without a line break.
 */
struct sirix_mcp_peer {
    /* Sends a notification, or a request of ours, that belongs to the request. */
    enum sirix_status (*send)(struct sirix_mcp_peer *peer, struct sirix_bytes message,
                              struct sirix_error *err);
    /* Called before and after the request waits for its client, which may take minutes; NULL: not. */
    void (*wait_begin)(struct sirix_mcp_peer *peer);
    void (*wait_end)(struct sirix_mcp_peer *peer);
};

/* What HTTP says about a request beside its body. Texts live as long as the request. */
struct sirix_mcp_headers {
    const char *version; /* MCP-Protocol-Version; NULL: not given, as with the others. */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name, decoded. */
    bool name_is_bad;    /* Mcp-Name was there and could not be decoded. */
    const char *traceparent;
};

/* What a request is served with. */
struct sirix_mcp_context {
    enum sirix_mcp_version version;
    unsigned capabilities;                                 /* enum sirix_mcp_capability. */
    enum sirix_mcp_log_level log_level;                    /* The lowest that is sent. */
    char client_name[SIRIX_MCP_CLIENT_NAME_BYTES_MAX + 1]; /* As claimed; "" unknown. */
    char traceparent[SIRIX_MCP_TRACE_BYTES_MAX + 1];       /* "" none. */
    struct sirix_bytes progress_token;                     /* JSON text; empty: not wanted. */
    struct sirix_mcp_cancel *cancel;                       /* May be NULL. */
    struct sirix_mcp_peer *peer;                           /* NULL: the client cannot be reached. */
    bool is_http;
};

/* Why a request is not answered with a result. */
struct sirix_mcp_failure {
    int code; /* 0: that of the error's status. */
    struct sirix_error error;
    const char *data; /* More members of `data` as JSON text ("a":1,"b":2), or NULL. */
};

struct sirix_mcp_server;
struct sirix_mcp_session;

struct sirix_mcp_request {
    const struct sirix_mcp_server *server;
    struct sirix_mcp_session *session;       /* Of the connection; NULL: there is none. */
    const struct sirix_mcp_headers *headers; /* NULL where the transport has none. */
    const struct sirix_jsonrpc_message *message;
    struct sirix_arena *arena;
    struct sirix_mcp_context context;
    struct sirix_mcp_failure failure; /* What a handler that fails adds to its error. */
    /* What the client is to be asked before the request can be served (mcp/ask.h). */
    bool is_asking;
    struct sirix_buf questions;             /* JSON text: {"key":{"method":…,"params":…},…} */
    struct sirix_buf state;                 /* Comes back with the answers. */
    struct sirix_mcp_request *next_beating; /* Of those whose silence is broken. */
    uint64_t progress_ns;                   /* When progress was told last; 0: never. */
    uint64_t progress;                      /* What was told. */
    int http_status;                        /* Of the answer, where the transport has such. */
    unsigned needed_rights;                 /* SIRIX_RIGHT_: what the caller lacks; 0: nothing. */
};

#endif
