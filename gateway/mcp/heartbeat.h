/*
 * Progress of calls that are silent: whoever gave a token hears at least every SIRIX_HEARTBEAT_MS that
 * its call goes on, so that it does not give it up. A thread runs only while such calls do.
 *
 * Threads   Any number. What a request has told is guarded by the heartbeat's lock, since its own
 *           thread and this one both tell.
 */
#ifndef SIRIX_MCP_HEARTBEAT_H
#define SIRIX_MCP_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "mcp/request.h"

enum { SIRIX_HEARTBEAT_MS = 8000 };

struct sirix_heartbeat {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct sirix_mcp_request *first; /* Linked by next_beating. */
    uint32_t interval_ms;
    bool has_thread;
    bool is_ending;
    pthread_t thread;
};

void sirix_heartbeat_init(struct sirix_heartbeat *heartbeat);

/* When no request is left. */
void sirix_heartbeat_deinit(struct sirix_heartbeat *heartbeat);

/* From now on, until it is removed; nothing for a request that wants no progress. */
void sirix_heartbeat_add(struct sirix_heartbeat *heartbeat, struct sirix_mcp_request *request);
void sirix_heartbeat_remove(struct sirix_heartbeat *heartbeat, struct sirix_mcp_request *request);

#endif
