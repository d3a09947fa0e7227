/*
 * A hash map from u64 to u64, for keys and ids of our own (not for keys that a peer may choose to
 * collide: hash those with sirix_hash() first). A pointer is kept as (uint64_t)(uintptr_t)p, or with
 * the _ptr calls.
 *
 * Memory    16 bytes an entry at a load of 3/4 at most; the map owns its table only. Any key and any
 *           value may be stored.
 * Cost      O(1) expected for each call; growth doubles.
 * Errors    SIRIX_NO_MEMORY; the map stays as it was.
 * Threads   Readers together, or one writer.
 */
#ifndef SIRIX_BASE_MAP_H
#define SIRIX_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

struct sirix_map_slot {
    uint64_t key; /* 0 marks a free slot; key 0 itself has a place of its own. */
    uint64_t value;
};

struct sirix_map {
    struct sirix_map_slot *slots;
    size_t slot_count; /* 0 or a power of two. */
    size_t count;      /* Entries, key 0 included. */
    bool has_zero;
    uint64_t zero_value;
};

/* An empty map; allocates nothing. */
void sirix_map_init(struct sirix_map *map);
void sirix_map_deinit(struct sirix_map *map);

/* Removes all entries and keeps the memory. */
void sirix_map_clear(struct sirix_map *map);

/* Makes room for count entries in all, so that puts up to there cannot fail. */
enum sirix_status sirix_map_reserve(struct sirix_map *map, size_t count,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sets key to value, replacing what was there. */
enum sirix_status sirix_map_put(struct sirix_map *map, uint64_t key, uint64_t value,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether key is there; its value goes to *out_value (which may be NULL) if so. */
bool sirix_map_get(const struct sirix_map *map, uint64_t key, uint64_t *out_value);

/* Removes key; whether it was there, its value to *out_value (which may be NULL) if so. */
bool sirix_map_remove(struct sirix_map *map, uint64_t key, uint64_t *out_value);

/*
 * Walks all entries in no order: start with *cursor = 0; false at the end. The map may not change
 * while it is walked.
 */
bool sirix_map_next(const struct sirix_map *map, size_t *cursor, uint64_t *out_key,
                    uint64_t *out_value);

static inline enum sirix_status SIRIX_MUST_CHECK sirix_map_put_ptr(struct sirix_map *map,
                                                                   uint64_t key, void *value,
                                                                   struct sirix_error *err)
{
    return sirix_map_put(map, key, (uint64_t)(uintptr_t)value, err);
}

/* The pointer of key, or NULL when key is not there. */
static inline void *sirix_map_get_ptr(const struct sirix_map *map, uint64_t key)
{
    uint64_t value = 0;

    (void)sirix_map_get(map, key, &value);
    uintptr_t bits = (uintptr_t)value;
    void *pointer = NULL;

    memcpy(&pointer, &bits, sizeof(pointer));
    return pointer;
}

#endif
