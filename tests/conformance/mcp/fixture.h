/*
 * The tools, resources and prompts that the official conformance suite asks a server for, behind the
 * product's own dispatcher and transports.
 */
#ifndef SIRIX_TESTS_CONFORMANCE_MCP_FIXTURE_H
#define SIRIX_TESTS_CONFORMANCE_MCP_FIXTURE_H

#include "mcp/ask.h"
#include "mcp/tools.h"

/* One red pixel. */
#define FIXTURE_PNG                                                                                \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
    "gg=="

/* Parameters of an elicitation. */
#define FORM(message, properties, required)                                                        \
    "{\"message\":\"" message                                                                      \
    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties                      \
    "},\"required\":[" required "]}}"

extern const struct sirix_mcp_tool fixture_tools[];
extern const size_t fixture_tool_count;

static inline struct sirix_bytes fixture_str(const char *text)
{
    return sirix_bytes_from_str(text);
}

/* Asks one question; *out NULL: it is asked later. */
enum sirix_status fixture_ask(struct sirix_mcp_request *request, const char *key,
                              const char *method, struct sirix_bytes params, const char *state,
                              const struct sirix_json_node **out, struct sirix_error *err);

#endif
