/*
 * What a server offers: tools, resources and prompts, as tables. The product has one registry
 * (sirix_mcp_product); tests of the protocol have another and share everything else.
 */
#ifndef SIRIX_MCP_REGISTRY_H
#define SIRIX_MCP_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "jsonrpc/put.h"
#include "mcp/request.h"
#include "mcp/uri.h"

struct sirix_call_cancel;
struct sirix_mcp_tool;

/* --- Resources ---------------------------------------------------------------------------------- */

/* Looking whether a resource has changed, without a request. */
struct sirix_resources_look {
    const struct sirix_mcp_server *server;
    struct sirix_arena *arena;
    struct sirix_call_cancel *cancel; /* May be NULL. */
};

struct sirix_mcp_resource {
    const char *uri; /* With variables in braces it is a template (mcp/uri.h). */
    const char *name;
    const char *title;
    const char *description;
    const char *mime_type;
    /*
     * Appends the content that the values name as members of an object that is open: `text` or
     * `blob`. SIRIX_NOT_FOUND: there is none.
     */
    enum sirix_status (*read)(struct sirix_mcp_request *request,
                              const struct sirix_uri_values *values, struct sirix_put *put,
                              struct sirix_error *err);
    /* A number that is another one when the content has changed; NULL: cannot be watched. */
    enum sirix_status (*state)(const struct sirix_resources_look *look,
                               const struct sirix_uri_values *values, uint64_t *out,
                               struct sirix_error *err);
    /*
     * Entries of resources/list out of a template of one variable: its values from the cursor on
     * (empty: from the beginning), at most max, in the request's arena. *out_next empty: that was
     * all. NULL: a template is not listed.
     */
    enum sirix_status (*list)(struct sirix_mcp_request *request, struct sirix_bytes cursor,
                              size_t max, struct sirix_bytes *out_values, size_t *out_count,
                              struct sirix_bytes *out_next, struct sirix_error *err);
};

/* --- Prompts ------------------------------------------------------------------------------------ */

enum { SIRIX_MCP_PROMPT_ARGUMENTS_MAX = 6, SIRIX_MCP_PROMPT_TOOLS_MAX = 4 };

struct sirix_mcp_prompt_argument {
    const char *name; /* NULL: the end of the list. */
    const char *description;
    bool is_required;
};

struct sirix_mcp_prompt {
    const char *name;
    const char *title;
    const char *description;
    struct sirix_mcp_prompt_argument arguments[SIRIX_MCP_PROMPT_ARGUMENTS_MAX];
    const char *tools[SIRIX_MCP_PROMPT_TOOLS_MAX]; /* Offered where all of these are. */
    /*
     * Appends messages to an array that is open. values[i]: plain text of argument i, data NULL where
     * it was not given.
     */
    enum sirix_status (*get)(struct sirix_mcp_request *request, const struct sirix_bytes *values,
                             struct sirix_put *put, struct sirix_error *err);
};

/* --- Completion --------------------------------------------------------------------------------- */

enum { SIRIX_MCP_COMPLETIONS_MAX = 100 };

/* One argument that is being typed; texts are plain. */
struct sirix_mcp_completion {
    const char *argument;
    struct sirix_bytes typed;
    struct sirix_bytes database; /* What is known already; empty: not yet. */
    struct sirix_bytes resource;
    /* Out: names that begin so, in the request's arena. */
    struct sirix_bytes values[SIRIX_MCP_COMPLETIONS_MAX];
    size_t count;
    bool has_more;
};

/* --- All of it ---------------------------------------------------------------------------------- */

struct sirix_mcp_registry {
    const struct sirix_mcp_tool *tools;
    size_t tool_count;
    const struct sirix_mcp_resource *resources;
    size_t resource_count;
    const struct sirix_mcp_prompt *prompts;
    size_t prompt_count;
    enum sirix_status (*complete)(struct sirix_mcp_request *request,
                                  struct sirix_mcp_completion *completion, struct sirix_error *err);
    /*
     * Tests only. On legacy HTTP nothing is known of a client, so it is asked nothing and watches
     * nothing; with this it is taken to be able to do everything, and is given the id of a session,
     * which stands for nothing but the end of its time.
     */
    bool trusts_unknown_clients;
    bool lists_change; /* Tests only: tools and prompts may come and go. */
};

/* That of the product. */
struct sirix_mcp_registry sirix_mcp_product(void);

#endif
