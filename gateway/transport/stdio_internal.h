/* What the files of the stdio transport share. */
#ifndef SIRIX_TRANSPORT_STDIO_INTERNAL_H
#define SIRIX_TRANSPORT_STDIO_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "mcp/server.h"
#include "transport/output.h"
#include "transport/pool.h"
#include "transport/running.h"
#include "transport/stdio.h"

struct sirix_stdio_job;

struct sirix_stdio {
    const struct sirix_mcp_server *server;
    struct sirix_stdio_options options;
    struct sirix_mcp_session session;      /* The reading thread's. */
    struct sirix_events_listener listener; /* Of the session. */
    struct sirix_pool pool;
    struct sirix_running running;
    struct sirix_output *output;
    atomic_size_t queued_bytes;
    pthread_mutex_t mutex;             /* Of the list of those that listen. */
    struct sirix_stdio_job *listening; /* Requests that last until they are ended. */
    size_t listening_count;
};

/* One line of input: what it says, and everything made of it. */
struct sirix_stdio_job {
    struct sirix_pool_job base;
    struct sirix_mcp_peer peer; /* Of its client. */
    struct sirix_stdio *stdio;
    struct sirix_arena arena;
    struct sirix_jsonrpc_input input;
    struct sirix_mcp_request request;  /* Of a single one. */
    struct sirix_mcp_session session;  /* Of a batch: as it was when the line came. */
    struct sirix_running_entry *entry; /* Of a single request; NULL for a batch. */
    struct sirix_events_listener listener;
    struct sirix_stdio_job *next; /* Of those that listen. */
    size_t counted_bytes;         /* In queued_bytes. */
};

/* --- Output (stdio_peer.c) ---------------------------------------------------------------------- */

/* Sends what was made, if anything, as a line; a failure so far or now is logged. */
void sirix_stdio_send(struct sirix_stdio *stdio, enum sirix_status status, struct sirix_buf *out,
                      struct sirix_error *err);

/* How the client of a job is reached. */
struct sirix_mcp_peer sirix_stdio_peer(void);

/* Tells the client of the session what has changed. */
void sirix_stdio_tell_session(struct sirix_events_listener *listener, struct sirix_bytes message);

/* --- Requests that listen (stdio_peer.c) -------------------------------------------------------- */

/* Begins to listen; the job is given away on success. */
enum sirix_status sirix_stdio_listen(struct sirix_stdio_job *job,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends those that were cancelled, or all: these are answered. */
void sirix_stdio_end_listeners(struct sirix_stdio *stdio, bool all);

/* Gives a job back. */
void sirix_stdio_free_job(struct sirix_stdio_job *job);

#endif
