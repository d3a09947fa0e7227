/*
 * A call in the place of the runtime's: it takes what a method sends, and lets a test see and steer the
 * rest. It has to be linked instead of the runtime's.
 */
#ifndef SIRIX_TEST_FAKE_CALL_H
#define SIRIX_TEST_FAKE_CALL_H

#include "rpc/methods/codec.h"

struct sirix_rpc_call {
    struct sirix_arena arena;
    struct sirix_cancel cancel;
    const struct sirix_rpc_method *method;
    bool ended;
    bool written; /* A message is on its way. */
    bool reads;
    size_t messages;
    size_t bytes;
    bool woken; /* Under call_lock, as refs. */
    size_t refs;
};

/* What methods are given as their context, and who calls. */
extern struct sirix_rpc_storage sirix_fake_storage;

/* Waits until the call was woken; until nobody but the test holds it. */
void sirix_fake_call_wait_for_wake(struct sirix_rpc_call *call);
void sirix_fake_call_wait_until_alone(const struct sirix_rpc_call *call);

#endif
