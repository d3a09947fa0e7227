/*
 * The gRPC runtime: one completion queue polled by one thread, a worker pool, and one grpc_server
 * per door, all on that queue.
 *
 * A door is a way in with a principal of its own. C core does not tell a call which port it came
 * by, so a door is a whole grpc_server, and the call knows it by where it was armed.
 *
 * Order     new, add methods, open doors, listen, start; then drain once, then free.
 * Threads   All functions of this file are for the one thread that owns the server, but
 *           sirix_rpc_server_wake_path() and the counters, which are for any.
 */
#ifndef SIRIX_RPC_SERVER_H
#define SIRIX_RPC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/status.h"
#include "rpc/runtime/call.h"
#include "rpc/runtime/observe.h"

struct sirix_rpc_server;
struct sirix_rpc_door;

enum {
    SIRIX_RPC_DOORS_MAX = 8,
    SIRIX_RPC_METHODS_MAX = 128,
    SIRIX_RPC_METADATA_BYTES_MAX = 8 * 1024,
    SIRIX_RPC_STREAMS_PER_CONNECTION_MAX = 1000,
    SIRIX_RPC_PING_INTERVAL_MIN_MS = 10 * 1000,
    /* A peer that vanished without a word is noticed, and its calls cancelled, within these. */
    SIRIX_RPC_KEEPALIVE_MS = 60 * 1000,
    SIRIX_RPC_KEEPALIVE_TIMEOUT_MS = 20 * 1000,
};

struct sirix_rpc_options {
    unsigned workers;
    size_t calls_waiting_max;    /* Jobs in the queue past which new calls are refused. */
    void *context;               /* For on_ended. */
    sirix_rpc_ended_fn on_ended; /* Of every call; may be NULL. */
    /*
     * Asked before a call of a principal begins, and told when it is gone; NULL: nobody counts. Not of
     * calls that answer at once, nor of those that are for operators, who set the limits.
     */
    enum sirix_status (*enter)(void *quotas, const char *principal, struct sirix_error *err);
    void (*leave)(void *quotas, const char *principal);
    void *quotas;
};

/*
 * Malloc settings that gRPC needs to be fast (measured: sixfold on streams) and that keep many open
 * databases small. Once, before any thread and before sirix_rpc_server_new().
 */
void sirix_rpc_tune_malloc(void);

/*
 * Where gRPC's own log lines go, which peers can provoke. Process-wide; before the first server.
 * Called on any thread.
 */
typedef void (*sirix_rpc_log_fn)(const char *text);
void sirix_rpc_log_to(sirix_rpc_log_fn log);

/* Initialises gRPC and makes a server without doors. SIRIX_NO_MEMORY, SIRIX_INVALID. */
enum sirix_status sirix_rpc_server_new(const struct sirix_rpc_options *options,
                                       struct sirix_rpc_server **out_server,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Adds rows that stay the caller's and outlive the server; context is what sirix_rpc_call_context()
 * gives their functions. SIRIX_EXHAUSTED past the limit.
 */
enum sirix_status sirix_rpc_server_add_methods(struct sirix_rpc_server *server,
                                               const struct sirix_rpc_method *methods, size_t count,
                                               void *context,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens a door for a principal (which outlives the server). A principal that may not write gets a
 * door without the methods that do: by construction, not by a check.
 */
enum sirix_status sirix_rpc_server_open_door(struct sirix_rpc_server *server,
                                             const struct sirix_principal *principal,
                                             struct sirix_rpc_door **out_door,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens a door at which every call says who it is, by a token or a client certificate (the store
 * outlives the server). Methods that are for everybody ask for nothing.
 */
struct sirix_principal_store;
enum sirix_status sirix_rpc_server_open_guarded_door(struct sirix_rpc_server *server,
                                                     struct sirix_principal_store *principals,
                                                     struct sirix_rpc_door **out_door,
                                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Listens at "unix:PATH" or "HOST:PORT" without TLS; port 0 takes a free one. *out_port is 1 for a
 * Unix socket. SIRIX_UNAVAILABLE: the address is taken or cannot be had.
 */
enum sirix_status sirix_rpc_door_listen(struct sirix_rpc_door *door, const char *address,
                                        int *out_port, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Begins to answer on all doors. */
enum sirix_status sirix_rpc_server_start(struct sirix_rpc_server *server,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Ends all calls: new ones are refused, every call gets its `draining` turn, those still running
 * after grace_ms are cancelled. Returns when no call is left and every job is done. Where core does
 * not let go of a door within seconds of that, the rest of it is left to the end of the process.
 */
void sirix_rpc_server_drain(struct sirix_rpc_server *server, unsigned grace_ms);

/* After drain, or of a server that was never started. NULL is allowed. */
void sirix_rpc_server_free(struct sirix_rpc_server *server);

/* Wakes every call of a method. */
void sirix_rpc_server_wake_path(struct sirix_rpc_server *server, const char *path);

bool sirix_rpc_server_draining(const struct sirix_rpc_server *server);
uint64_t sirix_rpc_server_calls_running(const struct sirix_rpc_server *server);
uint64_t sirix_rpc_server_calls_total(const struct sirix_rpc_server *server);

/* Microseconds since the last call ended (or the start, if none came); 0 while any is running. */
uint64_t sirix_rpc_server_idle_us(struct sirix_rpc_server *server);

#endif
