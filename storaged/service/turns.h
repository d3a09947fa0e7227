/*
 * Write turns: one writer a branch of a resource, first come first served.
 *
 * A writer that waits costs a structure in its caller's memory, no thread. It waits until it is
 * granted, until its time is over, or until it is withdrawn; exactly one of these happens.
 *
 * Threads   all functions from any thread. `granted` is called without any lock held, on the thread
 *           that released the turn or on the timer's: it may not block.
 */
#ifndef SIRIX_SERVICE_TURNS_H
#define SIRIX_SERVICE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct sirix_turns;
struct sirix_turn;

/* What turns are taken of. */
struct sirix_turn_key {
    const void *database; /* An address that is the database's alone while turns of it exist. */
    uint32_t resource;
    uint64_t branch;
};

/* SIRIX_OK: the turn is the caller's, until released. SIRIX_DEADLINE: it was too late. */
typedef void (*sirix_turn_fn)(struct sirix_turn *turn, enum sirix_status status,
                              const struct sirix_error *err);

/* Part of the writer's own structure; zero-initialised. */
struct sirix_turn {
    struct sirix_turn_key key;
    sirix_turn_fn granted;
    /* The rest is the queue's. */
    struct sirix_turn *next;
    struct sirix_turn *sooner;
    struct sirix_turn *later;
    uint64_t since_us;
    uint64_t until_us;
    bool waiting;
    bool held;
};

/* A writer waits timeout_ms at most; starts the timer's thread. */
enum sirix_status sirix_turns_start(uint32_t timeout_ms, struct sirix_turns **out_turns,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* No turn is held or waited for. NULL is allowed. */
void sirix_turns_stop(struct sirix_turns *turns);

/*
 * Takes a turn or begins to wait for it, until deadline_us (CLOCK_MONOTONIC; UINT64_MAX: none) at
 * most. *out_waits false: it is the caller's already and `granted` is not called.
 */
enum sirix_status sirix_turns_take(struct sirix_turns *turns, struct sirix_turn *turn,
                                   uint64_t deadline_us, bool *out_waits,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Gives a turn back that is held; nothing for one that is not. The next one is granted. */
void sirix_turns_release(struct sirix_turns *turns, struct sirix_turn *turn);

/*
 * Stops waiting. False: it is not waiting any more, so that `granted` was called or is being called
 * (a turn that was granted must be released).
 */
bool sirix_turns_withdraw(struct sirix_turns *turns, struct sirix_turn *turn);

uint64_t sirix_turns_waiting(struct sirix_turns *turns);

#endif
