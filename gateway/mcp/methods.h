/* What each method answers: the result object as JSON text. Internal to mcp/. */
#ifndef SIRIX_MCP_METHODS_H
#define SIRIX_MCP_METHODS_H

#include "mcp/server.h"

/*
 * Appends the result of a request, without what its era adds. A failure may set request->failure.code
 * and data.
 */
typedef enum sirix_status (*sirix_mcp_method_fn)(struct sirix_mcp_request *request,
                                                 struct sirix_buf *out, struct sirix_error *err);

enum sirix_status sirix_mcp_initialize(struct sirix_mcp_request *request, struct sirix_buf *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_discover(struct sirix_mcp_request *request, struct sirix_buf *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_set_level(struct sirix_mcp_request *request, struct sirix_buf *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_tools_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_tools_call(struct sirix_mcp_request *request, struct sirix_buf *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_resources_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_templates_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_resources_read(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_resources_subscribe(struct sirix_mcp_request *request,
                                                struct sirix_buf *out,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_resources_unsubscribe(struct sirix_mcp_request *request,
                                                  struct sirix_buf *out,
                                                  struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_prompts_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_prompts_get(struct sirix_mcp_request *request, struct sirix_buf *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_complete(struct sirix_mcp_request *request, struct sirix_buf *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether clients of the request can be told of changes: subscriptions exist. */
bool sirix_mcp_can_watch(const struct sirix_mcp_request *request);

/* A string parameter as plain text in the arena; SIRIX_INVALID with its name as field. */
enum sirix_status sirix_mcp_text_param(struct sirix_mcp_request *request, const char *name,
                                       struct sirix_bytes *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
