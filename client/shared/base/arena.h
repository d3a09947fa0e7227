/*
 * A bump arena: the memory of one request, all given back together.
 *
 * Memory    What an arena gives stays valid until reset, rewind past it, or deinit; nothing is
 *           freed alone. Blocks start at 4 KiB and double up to 256 KiB; larger wishes get a block
 *           of their own.
 * Limit     limit_bytes bounds what is handed out and its padding; past it is SIRIX_EXHAUSTED (reason
 *           size_limit), a failed malloc is SIRIX_NO_MEMORY.
 * Threads   One thread at a time.
 */
#ifndef SIRIX_BASE_ARENA_H
#define SIRIX_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct sirix_arena_block;

struct sirix_arena {
    struct sirix_arena_block *blocks; /* The newest first. */
    uint8_t *next;                    /* Free bytes of the newest block: [next, end). */
    uint8_t *end;
    size_t used_bytes; /* Handed out, with padding. */
    size_t limit_bytes;
    size_t block_bytes; /* Of the next block. */
};

/* A place to come back to: see sirix_arena_rewind(). */
struct sirix_arena_mark {
    struct sirix_arena_block *block;
    uint8_t *next;
    size_t used_bytes;
};

/* An empty arena; allocates nothing. limit_bytes SIZE_MAX: no limit. */
void sirix_arena_init(struct sirix_arena *arena, size_t limit_bytes);

/* Frees everything. NULL is allowed; the arena is empty and usable again. */
void sirix_arena_deinit(struct sirix_arena *arena);

/* Takes everything back and keeps one ordinary block for the next use. */
void sirix_arena_reset(struct sirix_arena *arena);

/* Notes a place, and gives back everything handed out since. Marks nest like parentheses. */
struct sirix_arena_mark sirix_arena_mark(const struct sirix_arena *arena);
void sirix_arena_rewind(struct sirix_arena *arena, struct sirix_arena_mark mark);

/*
 * size bytes, not cleared, aligned for any type. size 0 gives a valid pointer. On failure *out is
 * untouched.
 */
enum sirix_status sirix_arena_alloc(struct sirix_arena *arena, size_t size, void **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same with an alignment: a power of two, at most 4096. */
enum sirix_status sirix_arena_alloc_aligned(struct sirix_arena *arena, size_t size, size_t align,
                                            void **out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* count elements of size bytes, cleared; the product is checked. */
enum sirix_status sirix_arena_calloc(struct sirix_arena *arena, size_t count, size_t size,
                                     void **out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* A copy of the bytes. */
enum sirix_status sirix_arena_copy(struct sirix_arena *arena, struct sirix_bytes bytes,
                                   struct sirix_bytes *out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* A copy of the bytes with a NUL behind them. */
enum sirix_status sirix_arena_c_str(struct sirix_arena *arena, struct sirix_bytes bytes, char **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* A copy of a C string. */
enum sirix_status sirix_arena_strdup(struct sirix_arena *arena, const char *text, char **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* A printed C string. */
enum sirix_status sirix_arena_printf(struct sirix_arena *arena, char **out, struct sirix_error *err,
                                     const char *fmt, ...) SIRIX_PRINTF(4, 5) SIRIX_MUST_CHECK;

#endif
