/*
 * Requests of ours to a client that wait for its answer. Their ids are random, so that only who got
 * the request can answer it, on whatever connection.
 *
 * Threads   Any number at once.
 */
#ifndef SIRIX_MCP_PENDING_H
#define SIRIX_MCP_PENDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"
#include "mcp/cancel.h"
#include "json/tree.h"

enum { SIRIX_PENDING_MAX = 256, SIRIX_PENDING_ANSWER_BYTES_MAX = 1024 * 1024 };

/* One question; the caller's until it is removed. Private but for id and answer. */
struct sirix_pending_entry {
    char id[SIRIX_RANDOM_ID_BYTES];
    struct sirix_buf answer; /* JSON text of its result, once it is there. */
    bool is_answered;
    bool is_error; /* The client answered with an error. */
    struct sirix_pending_entry *next;
};

struct sirix_pending {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct sirix_pending_entry *first;
    size_t count;
    bool is_ending;
};

void sirix_pending_init(struct sirix_pending *pending);
void sirix_pending_deinit(struct sirix_pending *pending);

/* Gives the entry an id and waits for its answer to come. SIRIX_EXHAUSTED, SIRIX_IO. */
enum sirix_status sirix_pending_add(struct sirix_pending *pending,
                                    struct sirix_pending_entry *entry,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_pending_remove(struct sirix_pending *pending, struct sirix_pending_entry *entry);

/*
 * Waits until the entry is answered. SIRIX_CANCELLED: the request was cancelled, or the server ends;
 * SIRIX_DEADLINE.
 */
enum sirix_status sirix_pending_wait(struct sirix_pending *pending,
                                     const struct sirix_pending_entry *entry,
                                     const struct sirix_mcp_cancel *cancel, uint32_t timeout_ms,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* An answer came: id as JSON text, result a tree or NULL for an error. Unknown ids are ignored. */
void sirix_pending_deliver(struct sirix_pending *pending, struct sirix_bytes id,
                           const struct sirix_json_node *result);

/* Lets all who wait look at their cancel again. */
void sirix_pending_wake(struct sirix_pending *pending);

bool sirix_pending_is_ending(struct sirix_pending *pending);

/* The server ends: nobody waits any more. */
void sirix_pending_end(struct sirix_pending *pending);

#endif
