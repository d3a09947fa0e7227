/* What call.c and server.c share; nobody else includes it. */
#ifndef SIRIX_RPC_INTERNAL_H
#define SIRIX_RPC_INTERNAL_H

#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "auth/principal_store.h"
#include "rpc/runtime/call.h"
#include "rpc/runtime/message.h"
#include "rpc/runtime/pool.h"
#include "rpc/runtime/server.h"

/* Where a completion goes: what the queue gives back is a pointer to one of these. */
struct sirix_rpc_tag {
    void (*fn)(void *self, bool ok);
    void *self;
};

/* What may happen to a call, as bits of `pending`. SCHEDULED: a turn is under way or submitted. */
enum {
    SIRIX_RPC_EVENT_START = 1U << 0,
    SIRIX_RPC_EVENT_READ = 1U << 1,
    SIRIX_RPC_EVENT_WRITTEN = 1U << 2,
    SIRIX_RPC_EVENT_WAKE = 1U << 3,
    SIRIX_RPC_EVENT_CANCEL = 1U << 4,
    SIRIX_RPC_EVENT_DRAIN = 1U << 5,
    SIRIX_RPC_SCHEDULED = 1U << 30,
};

/* One method of one door: where calls are armed. */
struct sirix_rpc_slot {
    struct sirix_rpc_door *door;
    const struct sirix_rpc_method *method;
    void *context;       /* Of the method's group. */
    void *registered;    /* Core's; NULL for the slot of unknown methods. */
    size_t number;       /* Of the method, in the server. */
    atomic_bool starved; /* Nothing is armed: there was no memory. The next freed call is. */
};

/* What observe.c counts of a method. */
struct sirix_rpc_observed {
    _Atomic uint64_t running;
    _Atomic uint64_t codes[SIRIX_RPC_CODES];
    struct sirix_histogram times;
};

struct sirix_rpc_door {
    struct sirix_rpc_server *server;
    const struct sirix_principal *principal;  /* Of calls that show none of their own. */
    struct sirix_principal_store *principals; /* NULL: every call is the principal's. */
    struct sirix_rpc_tls *tls;                /* A state for each address with TLS. */
    grpc_server *core;
    struct sirix_rpc_slot slots[SIRIX_RPC_METHODS_MAX + 1]; /* The last used: unknown methods. */
    size_t slot_count;
    struct sirix_rpc_tag down_tag;
    bool down; /* Under the server's mutex. */
};

struct sirix_rpc_server {
    struct sirix_rpc_options options;
    grpc_completion_queue *queue;
    pthread_t poller;
    bool polling;
    struct sirix_rpc_pool *pool;
    const struct sirix_rpc_method *methods[SIRIX_RPC_METHODS_MAX];
    void *contexts[SIRIX_RPC_METHODS_MAX];
    size_t method_count;
    struct sirix_rpc_observed
        observed[SIRIX_RPC_METHODS_MAX + 1]; /* The last used: unknown ones. */
    struct sirix_rpc_door *doors[SIRIX_RPC_DOORS_MAX];
    size_t door_count;
    atomic_bool draining;
    bool abandoned; /* Core did not let go of a door in time; see sirix_rpc_server_drain(). */
    _Atomic uint64_t calls_total;
    _Atomic uint64_t calls_running;
    pthread_mutex_t mutex;
    pthread_cond_t changed;      /* A door is down, or the last call is gone. */
    struct sirix_rpc_call *live; /* Calls between their start and their end. */
    uint64_t idle_since_us;
};

struct sirix_rpc_call {
    const struct sirix_rpc_slot *slot;
    struct sirix_rpc_server *server;
    const struct sirix_rpc_method *method;
    const struct sirix_principal *principal; /* Counted. */

    grpc_call *core;
    grpc_call_details details; /* Of an unknown method. */
    grpc_metadata_array metadata;
    gpr_timespec core_deadline;
    grpc_byte_buffer *payload;
    grpc_byte_buffer *received;
    int close_cancelled; /* Written by core, valid when close_tag or finish_tag comes. */
    struct sirix_rpc_tag new_tag;
    struct sirix_rpc_tag close_tag;
    struct sirix_rpc_tag read_tag;
    struct sirix_rpc_tag write_tag;
    struct sirix_rpc_tag finish_tag;

    atomic_uint refs;
    atomic_uint pending;
    atomic_bool read_ok;
    struct sirix_cancel cancel;
    struct sirix_rpc_job job;

    /* Of the turn; nobody else looks at them. */
    bool watching;
    bool initial_sent;
    bool finished;
    bool reading;
    bool end_seen; /* A read ended without a message; one more shows why. */
    bool writing;
    bool started;
    bool given_back; /* The method's state was. */
    unsigned early;  /* Events before the start. */
    void *state;
    struct sirix_arena arena;
    struct sirix_arena message_arena;

    uint64_t number;     /* From 1, in this process. */
    uint64_t arrived_us; /* CLOCK_MONOTONIC. */

    /* The server's list of live calls. */
    struct sirix_rpc_call *next;
    struct sirix_rpc_call *previous;
    bool listed;
    bool entered; /* Counted as running. */
    bool counted; /* By options.enter. */
};

/* The thread sanitizer does not see what happens inside core: the hand-over through it is told. */
void sirix_rpc_tag_release(struct sirix_rpc_tag *tag);
void sirix_rpc_tag_acquire(struct sirix_rpc_tag *tag);

/* A reference to a call whose memory is there; false: its last one is gone, and it must not come back. */
bool sirix_rpc_call_try_ref(struct sirix_rpc_call *call);

/* Gives a call the events; schedules a turn unless one is under way. */
void sirix_rpc_call_post(struct sirix_rpc_call *call, unsigned events);

/* The slot that a call was armed in. */
static inline struct sirix_rpc_slot *sirix_rpc_call_slot(const struct sirix_rpc_call *call)
{
    return &call->slot->door->slots[call->slot - call->slot->door->slots];
}

/* What a caller has to be to call a method. */
enum sirix_role sirix_rpc_method_role(const struct sirix_rpc_method *method);

/*
 * Finds out who a call is of and whether it may be made. SIRIX_UNAUTHENTICATED, SIRIX_PERMISSION.
 */
enum sirix_status sirix_rpc_call_admit(struct sirix_rpc_call *call,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Gives the TLS of a door back. */
struct sirix_rpc_tls;
void sirix_rpc_tls_free_all(struct sirix_rpc_tls *first);

/* Counts a call; one that is `served` also takes part in wakes and drains. */
void sirix_rpc_call_enter(struct sirix_rpc_call *call, bool served);

/* Where observe.c counts: when a call arrives, and once when its status is sent. */
void sirix_rpc_call_arrived(struct sirix_rpc_call *call);
void sirix_rpc_call_observe(struct sirix_rpc_call *call, const struct sirix_error *err);

/* Asks to be told of a cancel, a passed deadline and a lost connection. */
void sirix_rpc_call_watch(struct sirix_rpc_call *call);

/* Sends the status (err NULL: OK), and before it the answer if there is one, which is destroyed. */
void sirix_rpc_call_finish(struct sirix_rpc_call *call, const struct sirix_error *err,
                           grpc_byte_buffer *answer);

/* Gives back what a call holds of core and memory; the structure itself stays. */
void sirix_rpc_call_deinit(struct sirix_rpc_call *call);

/* Makes a call out of raw memory and arms it; on false the memory is the caller's again. */
bool sirix_rpc_call_rearm(struct sirix_rpc_slot *slot, struct sirix_rpc_call *call);

/* Arms a call in a slot. False: no memory, or core refuses because the server is ending. */
bool sirix_rpc_call_arm(struct sirix_rpc_slot *slot);

#endif
