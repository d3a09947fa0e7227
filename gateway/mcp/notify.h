/*
 * What a request tells its client while it runs: progress and log messages. Nothing is sent that the
 * client did not ask for, and nothing at all where it cannot be reached. A message that cannot be
 * sent is left out: it never fails the request.
 */
#ifndef SIRIX_MCP_NOTIFY_H
#define SIRIX_MCP_NOTIFY_H

#include "mcp/request.h"

enum { SIRIX_MCP_PROGRESS_INTERVAL_MS = 250 };

/*
 * Progress so far, of total (0: unknown), with a sentence or NULL. Left out when it is no more than
 * was told last, or when that was less than the interval ago; is_sure: sent whatever the time.
 */
void sirix_mcp_tell_progress(struct sirix_mcp_request *request, uint64_t progress, uint64_t total,
                             const char *sentence, bool is_sure);

/* That it goes on, though there is nothing new to tell; by the heartbeat, with its lock. */
void sirix_mcp_tell_beat(struct sirix_mcp_request *request);

/* A log message; data is JSON text. */
void sirix_mcp_tell_log(struct sirix_mcp_request *request, enum sirix_mcp_log_level level,
                        struct sirix_bytes data);

/* "debug" and so on. */
const char *sirix_mcp_log_level_name(enum sirix_mcp_log_level level);

/* The level of that name; false: there is none. */
bool sirix_mcp_log_level_find(struct sirix_bytes name, enum sirix_mcp_log_level *out);

#endif
