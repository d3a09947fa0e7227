/*
 * The inside of a client: the connection, the daemon behind it if it is an embedded one, and the
 * rules for trying again.
 */
#ifndef SIRIX_LIB_CLIENT_H
#define SIRIX_LIB_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "lib/transport/call.h"
#include "lib/transport/channel.h"
#include "sirix/sirix.h"

struct sirix_embedded;

struct sirix_client {
    struct sirix_channel *channel;
    struct sirix_embedded *embedded; /* NULL: somebody else looks after the server. */
    uint32_t default_deadline_ms;
    uint32_t connect_timeout_ms;
};

/* A client over a channel, which it then owns. SIRIX_INVALID, SIRIX_NO_MEMORY. */
enum sirix_status sirix_client_new(struct sirix_channel *channel,
                                   const struct sirix_client_options *options,
                                   struct sirix_client **out_client,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_INVALID for what a later version may understand. options may be NULL. */
enum sirix_status sirix_client_check_options(const struct sirix_client_options *options,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- The tries of one call ---------------------------------------------------------------------- */

struct sirix_tries {
    struct sirix_client *client;
    enum sirix_method method;
    struct sirix_call_cancel *cancel;
    bool writes;          /* Not of a dry run, whatever its method. */
    bool repeatable;      /* A read, or a write with an idempotency key. */
    uint64_t deadline_ns; /* Of the call. */
    uint64_t give_up_ns;  /* When a server that is away or full is given up; 0: no try failed. */
    uint64_t pause_ns;    /* Before the next try. */
};

/* What may be believed of a call whose answer does not come. */
enum sirix_repeat {
    SIRIX_REPEAT_BY_METHOD, /* A read changed nothing; a write may have. */
    SIRIX_REPEAT_KEYED,     /* It carries an idempotency key: again is the same as once. */
    SIRIX_REPEAT_DRY_RUN,   /* It keeps nothing, so it is a read in all but its method. */
};

/* options may be NULL. */
void sirix_tries_init(struct sirix_tries *tries, struct sirix_client *client,
                      enum sirix_method method, const struct sirix_call_options *options,
                      enum sirix_repeat repeat);

/*
 * Before a try: of a write, that there is a connection, so that a failure to connect is told apart
 * from an answer that got lost; of an embedded client, that there is a daemon.
 */
enum sirix_status sirix_tries_prepare(struct sirix_tries *tries,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * After a try that failed with *status and *err: true when there shall be another, after the pause
 * that it makes. A cancellation during the pause changes both to that.
 */
bool sirix_tries_again(struct sirix_tries *tries, enum sirix_status *status,
                       struct sirix_error *err);

/* Whether a call changes something when it succeeds. */
bool sirix_client_writes(enum sirix_method method, enum sirix_repeat repeat);

/*
 * What a call answers whose answer came but could not be taken (status and *err say why): of a
 * write, which was done then, SIRIX_OUTCOME_UNKNOWN; else the same status. OK stays OK.
 */
enum sirix_status sirix_client_untaken(bool writes, enum sirix_status status,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Unary calls -------------------------------------------------------------------------------- */

struct sirix_unary {
    enum sirix_method method;
    const ProtobufCMessage *request;
    const ProtobufCMessageDescriptor *answer_type;
    enum sirix_repeat repeat;
};

/* Makes a call with all its tries; the answer lives in arena. */
enum sirix_status sirix_client_unary(struct sirix_client *client, const struct sirix_unary *unary,
                                     const struct sirix_call_options *options,
                                     struct sirix_arena *arena, const ProtobufCMessage **out_answer,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
