/*
 * Which numbers have been checked since the process started: one bit a number, in a tree that grows
 * where it is used. Any thread, no locks. It is a memory of good news only: when there is no room to
 * remember, the answer is false and the check is done once more.
 */
#ifndef SIRIX_STORE_SEGMENT_VERIFIED_H
#define SIRIX_STORE_SEGMENT_VERIFIED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sirix_verified {
    _Atomic(void *) root;
};

/* Empty; allocates nothing. */
void sirix_verified_init(struct sirix_verified *verified);
void sirix_verified_deinit(struct sirix_verified *verified);

/* number <= SIRIX_SEGMENT_NUMBER_MAX */
bool sirix_verified_has(struct sirix_verified *verified, uint64_t number);
void sirix_verified_add(struct sirix_verified *verified, uint64_t number);
void sirix_verified_remove(struct sirix_verified *verified, uint64_t number);

#endif
