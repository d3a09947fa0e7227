/*
 * The requests that are waiting or running, by their ids, so that they can be cancelled.
 *
 * Threads   Any number at once.
 */
#ifndef SIRIX_TRANSPORT_RUNNING_H
#define SIRIX_TRANSPORT_RUNNING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "mcp/cancel.h"

enum { SIRIX_RUNNING_MAX = 256 };

/* One request; private to running.c but for `cancel`. */
struct sirix_running_entry {
    struct sirix_mcp_cancel cancel;
    void *id;
    size_t id_len;
    bool is_used;
    bool is_cancelled; /* By its client. */
};

struct sirix_running {
    pthread_mutex_t mutex;
    struct sirix_running_entry entries[SIRIX_RUNNING_MAX];
};

void sirix_running_init(struct sirix_running *running);
void sirix_running_deinit(struct sirix_running *running);

/*
 * Adds a request. SIRIX_ALREADY_EXISTS: its id is in use; SIRIX_EXHAUSTED: too many at once;
 * SIRIX_NO_MEMORY. The entry stays until it is removed.
 */
enum sirix_status sirix_running_add(struct sirix_running *running, struct sirix_bytes id,
                                    struct sirix_running_entry **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Removes it when its work is done; whether it was cancelled, so that nothing is to be answered. */
bool sirix_running_remove(struct sirix_running *running, struct sirix_running_entry *entry);

/* Whether it was cancelled by its client so far. */
bool sirix_running_is_cancelled(struct sirix_running *running,
                                const struct sirix_running_entry *entry);

/* Cancels the request of that id; nothing if there is none. */
void sirix_running_cancel(struct sirix_running *running, struct sirix_bytes id);

/* Ends all work; the answers are still given. */
void sirix_running_stop(struct sirix_running *running);

#endif
