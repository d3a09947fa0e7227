/*
 * Answers that the caller owns: a public struct with an arena in front of it, which holds whatever
 * the struct points to. sirix_client_free() finds the arena from the struct's address.
 */
#ifndef SIRIX_LIB_ANSWER_H
#define SIRIX_LIB_ANSWER_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "base/arena.h"
#include "sirix/sirix.h"

/* A cleared struct of size bytes, to be given back with sirix_client_free(). */
enum sirix_status sirix_answer_new(size_t size, void **out_answer,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_arena *sirix_answer_arena(void *answer);

/* A cleared array in an arena; count 0 gives a valid pointer. */
#define SIRIX_ANSWER_ARRAY(arena, count, out, err)                                                 \
    sirix_arena_calloc((arena), (count), sizeof(**(out)), (void **)(out), (err))

/* A C string out of a name of the peer, cut at its first NUL, if it has one. */
enum sirix_status sirix_answer_name(struct sirix_arena *arena, ProtobufCBinaryData name,
                                    const char **out_name,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
