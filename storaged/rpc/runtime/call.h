/*
 * One call: what a method may do with it, and how a method is described.
 *
 * Turns     A call is an actor. Whatever happens to it (it begins, a message came, a write is done,
 *           somebody woke it, it was cancelled, the server drains) becomes a bit, and a turn hands
 *           the bits to the method's functions, one after the other, never two at once. So a
 *           method needs no lock for its state. Turns run on a worker or, for a method marked
 *           `inline_turns`, on the thread where it happened: such functions may not block.
 * Duty      Every call is ended exactly once, with sirix_rpc_call_reply(), _end() or _fail(); a
 *           method function that returns an error has done that. What comes later is dropped.
 * Streams   One read and one write may be under way. A reader that is slow costs the call, not a
 *           worker: write, return, and go on in `written`.
 * Memory    The request and what the method takes from the call's arena live as long as the call;
 *           a message of a client stream only until `message` returns.
 */
#ifndef SIRIX_RPC_CALL_H
#define SIRIX_RPC_CALL_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/arena.h"
#include "base/status.h"
#include "service/cancel.h"

struct sirix_rpc_call;

typedef enum sirix_status (*sirix_rpc_message_fn)(struct sirix_rpc_call *call, void *state,
                                                  const ProtobufCMessage *message,
                                                  struct sirix_error *err);
typedef enum sirix_status (*sirix_rpc_event_fn)(struct sirix_rpc_call *call, void *state,
                                                struct sirix_error *err);

/* One row of a method table. Functions that are NULL have nothing to do. */
struct sirix_rpc_method {
    const char *path; /* "/package.Service/Method" */
    const ProtobufCMessageDescriptor *request;
    bool client_streams;
    bool server_streams;
    bool writes;        /* Not to be had through a door for readers. */
    bool operates;      /* For operators alone. */
    bool for_everybody; /* Also for who is not known. */
    bool inline_turns;  /* Never blocks: no disk, no lock that is held over one. */
    bool lasts;         /* Meant to last until somebody ends it: how long it took says nothing. */
    size_t state_bytes; /* Of the method's own, given cleared and aligned for any type. */

    /* The call began; message is the request, NULL if the client streams. */
    sirix_rpc_message_fn start;
    /* A message of a client stream came, after sirix_rpc_call_read(). */
    sirix_rpc_message_fn message;
    /* Instead of `message`: the client will send no more. */
    sirix_rpc_event_fn half_closed;
    /* The write is on its way; the next one may follow. */
    sirix_rpc_event_fn written;
    /* After sirix_rpc_call_wake(). */
    sirix_rpc_event_fn woken;
    /* The caller went away or its deadline passed; the call is ended after it. Nothing can fail. */
    void (*cancelled)(struct sirix_rpc_call *call, void *state);
    /* The server is about to end; NULL lets the call go on until the grace time is over. */
    sirix_rpc_event_fn draining;
    /*
     * Gives back what the state holds, once, after everything else, also of a call that was
     * cancelled: in the turn that ended the call, when the answer is on its way. May block unless
     * inline_turns.
     */
    void (*ended)(void *state);
};

/* --- For method functions, inside a turn -------------------------------------------------------- */

/* Asks for the next message of a client stream. */
void sirix_rpc_call_read(struct sirix_rpc_call *call);

/* Sends a message of a server stream. SIRIX_EXHAUSTED: too large. */
enum sirix_status sirix_rpc_call_write(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends a call with its one answer. SIRIX_EXHAUSTED: too large. */
enum sirix_status sirix_rpc_call_reply(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends a server stream well. */
void sirix_rpc_call_end(struct sirix_rpc_call *call);

/* Ends a call with an error. */
void sirix_rpc_call_fail(struct sirix_rpc_call *call, const struct sirix_error *err);

/* The memory of the whole call; bounded. */
struct sirix_arena *sirix_rpc_call_arena(struct sirix_rpc_call *call);

/*
 * In `message`, of the first one, before the call's arena is used: the message given lives as long as
 * the call.
 */
void sirix_rpc_call_keep_message(struct sirix_rpc_call *call);

/* What sirix_rpc_server_add_methods() was given with the method. */
void *sirix_rpc_call_context(struct sirix_rpc_call *call);

/* --- At any time while the call lives ----------------------------------------------------------- */

/* Who it is of; as long as the call lives. */
const struct sirix_principal *sirix_rpc_call_principal(const struct sirix_rpc_call *call);
const struct sirix_cancel *sirix_rpc_call_cancel(const struct sirix_rpc_call *call);

/*
 * Any thread: gives the call a turn in which `woken` runs. Wakes that come together may run it once.
 * The caller must know that the call lives: see _ref.
 */
void sirix_rpc_call_wake(struct sirix_rpc_call *call);

/*
 * The same of a call that may be past its end, as long as its memory is there: until `ended` returns.
 * Does nothing to one that is past it.
 */
void sirix_rpc_call_try_wake(struct sirix_rpc_call *call);

/* Keeps the call's memory alive beyond its end, until _unref. */
void sirix_rpc_call_ref(struct sirix_rpc_call *call);
void sirix_rpc_call_unref(struct sirix_rpc_call *call);

#endif
