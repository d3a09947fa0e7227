/* Finding resources by their URI, for those who watch them. */
#ifndef SIRIX_MCP_RESOURCES_H
#define SIRIX_MCP_RESOURCES_H

#include "mcp/registry.h"

/*
 * A number that changes with the content of the resource. SIRIX_NOT_FOUND: there is none, or it
 * cannot be watched, or the caller may not see it.
 */
enum sirix_status sirix_resources_state(const struct sirix_mcp_server *server,
                                        struct sirix_arena *arena, struct sirix_bytes uri,
                                        struct sirix_call_cancel *cancel, uint64_t *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same of resources/list as a whole. */
enum sirix_status sirix_resources_list_state(const struct sirix_mcp_server *server,
                                             struct sirix_arena *arena,
                                             struct sirix_call_cancel *cancel, uint64_t *out,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
