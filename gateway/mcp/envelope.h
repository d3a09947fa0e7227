/*
 * What is around requests and answers in each era: where a request says who it is from and what it
 * is served by, and what each result carries. Internal to mcp/.
 */
#ifndef SIRIX_MCP_ENVELOPE_H
#define SIRIX_MCP_ENVELOPE_H

#include "mcp/server.h"

#define SIRIX_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define SIRIX_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define SIRIX_META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define SIRIX_META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define SIRIX_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define SIRIX_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/*
 * Decides the era of a request and fills its context. A failure is in request->failure and returned;
 * the context then is that of the era, so that the answer has its form.
 */
enum sirix_status sirix_envelope_read(struct sirix_mcp_request *request) SIRIX_MUST_CHECK;

/* Takes over the client's name and capabilities, from `initialize` or the envelope. */
enum sirix_status sirix_envelope_client(struct sirix_mcp_context *context,
                                        struct sirix_arena *arena,
                                        const struct sirix_json_node *info,
                                        const struct sirix_json_node *capabilities,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Members that make a list cacheable in the modern era: kept for so long, by the caller alone. */
void sirix_envelope_put_cache(struct sirix_put *put, const struct sirix_mcp_request *request,
                              uint64_t ttl_ms);

/* {"name":…,"version":…} and more where the revision has it. */
void sirix_envelope_put_server(struct sirix_put *put, const char *name,
                               const struct sirix_mcp_request *request);

/* Appends the result as the modern era has it: with its type and who answered. */
enum sirix_status sirix_envelope_seal(const struct sirix_mcp_request *request,
                                      struct sirix_bytes result, struct sirix_buf *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends {"resultType":"input_required",…}. */
enum sirix_status sirix_envelope_questions(const struct sirix_mcp_request *request,
                                           struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
