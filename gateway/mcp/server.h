/*
 * The MCP server: what it answers to a message. Knows no transport and keeps nothing between
 * messages; what a connection agreed on comes with each message as a context.
 */
#ifndef SIRIX_MCP_SERVER_H
#define SIRIX_MCP_SERVER_H

#include <stddef.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "guard/settings.h"
#include "jsonrpc/message.h"
#include "mcp/era.h"

enum {
    SIRIX_MCP_TOOLS_MAX = 32,
    SIRIX_MCP_TOOLS_PAGE = 50,
    SIRIX_MCP_CLIENT_NAME_BYTES_MAX = 128,
};

/* Read-only after init: any number of threads. */
struct sirix_mcp_server {
    const struct sirix_settings *settings;
    struct sirix_gateway_backend *backend;
    struct sirix_arena arena;
    struct sirix_json_node *schemas[SIRIX_MCP_TOOLS_MAX]; /* Of the inputs, by tool. */
    size_t tools_page;                                    /* Tools in one page of tools/list. */
};

/* The settings and the backend stay the caller's. */
enum sirix_status sirix_mcp_server_init(struct sirix_mcp_server *server,
                                        const struct sirix_settings *settings,
                                        struct sirix_gateway_backend *backend,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_mcp_server_deinit(struct sirix_mcp_server *server);

/* What a request is served with: of its connection here, in later revisions of its own. */
struct sirix_mcp_context {
    enum sirix_mcp_version version;
    char client_name[SIRIX_MCP_CLIENT_NAME_BYTES_MAX + 1]; /* As claimed; "" unknown. */
    struct sirix_call_cancel *cancel;                      /* May be NULL. */
};

/* Whether a request may take long, so that it should not keep others waiting. */
bool sirix_mcp_is_long(const struct sirix_jsonrpc_message *message);

/*
 * Appends the answer to a request (or to a faulty message) to out. `initialize` also changes the
 * context, which the transport keeps for its connection; nothing else does.
 */
enum sirix_status sirix_mcp_answer(const struct sirix_mcp_server *server,
                                   struct sirix_mcp_context *context, struct sirix_arena *arena,
                                   const struct sirix_jsonrpc_message *message,
                                   struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
