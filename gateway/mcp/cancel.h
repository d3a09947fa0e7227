/* Ending a request from another thread: its calls of the storage, and whatever else waits for it. */
#ifndef SIRIX_MCP_CANCEL_H
#define SIRIX_MCP_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "sirix/sirix.h"

/*
 * Zero-initialised where nothing can be ended. `call` is the owner's, who frees it when no thread
 * uses the request any more.
 */
struct sirix_mcp_cancel {
    struct sirix_call_cancel *call;
    atomic_bool is_set;
};

/* Any thread, any number of times. Whoever waits for a client is to be woken beside it. */
static inline void sirix_mcp_cancel_set(struct sirix_mcp_cancel *cancel)
{
    atomic_store(&cancel->is_set, true);
    if (cancel->call != NULL) {
        sirix_call_cancel_trigger(cancel->call);
    }
}

static inline bool sirix_mcp_cancel_is_set(const struct sirix_mcp_cancel *cancel)
{
    return cancel != NULL && atomic_load(&cancel->is_set);
}

#endif
