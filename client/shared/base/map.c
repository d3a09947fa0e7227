/*
 * Open addressing with linear probing. Removal moves later entries of the run back instead of
 * leaving tombstones, so a long-lived map does not slow down.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

enum { SLOTS_MIN = 16 };

static size_t home_of(const struct sirix_map *map, uint64_t key)
{
    return (size_t)sirix_mix64(key) & (map->slot_count - 1);
}

/* The slot that holds key, or the free one where it would go; slot_count is not 0. */
static size_t find(const struct sirix_map *map, uint64_t key)
{
    size_t at = home_of(map, key);

    while (map->slots[at].key != 0 && map->slots[at].key != key) {
        at = (at + 1) & (map->slot_count - 1);
    }
    return at;
}

static enum sirix_status resize(struct sirix_map *map, size_t slot_count, struct sirix_error *err)
{
    struct sirix_map grown = *map;

    grown.slots = calloc(slot_count, sizeof(*grown.slots));
    if (grown.slots == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot grow a map to %zu slots", slot_count);
    }
    grown.slot_count = slot_count;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].key != 0) {
            grown.slots[find(&grown, map->slots[i].key)] = map->slots[i];
        }
    }
    free(map->slots);
    *map = grown;
    return SIRIX_OK;
}

void sirix_map_init(struct sirix_map *map)
{
    *map = (struct sirix_map){0};
}

void sirix_map_deinit(struct sirix_map *map)
{
    if (map != NULL) {
        free(map->slots);
        sirix_map_init(map);
    }
}

void sirix_map_clear(struct sirix_map *map)
{
    if (map->slots != NULL) {
        memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
    }
    map->count = 0;
    map->has_zero = false;
}

enum sirix_status sirix_map_reserve(struct sirix_map *map, size_t count, struct sirix_error *err)
{
    size_t slot_count = map->slot_count == 0 ? SLOTS_MIN : map->slot_count;

    while (slot_count - slot_count / 4 < count) {
        if (!sirix_mul_size(slot_count, 2, &slot_count)) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "a map of %zu entries", count);
        }
    }
    return slot_count == map->slot_count ? SIRIX_OK : resize(map, slot_count, err);
}

enum sirix_status sirix_map_put(struct sirix_map *map, uint64_t key, uint64_t value,
                                struct sirix_error *err)
{
    if (key == 0) {
        map->count += map->has_zero ? 0 : 1;
        map->has_zero = true;
        map->zero_value = value;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_map_reserve(map, map->count + 1, err);
    size_t at = 0;

    if (status != SIRIX_OK) {
        /* A full table can still replace a value. */
        if (map->slot_count == 0 || map->slots[at = find(map, key)].key != key) {
            return status;
        }
    } else {
        at = find(map, key);
    }
    map->count += map->slots[at].key == key ? 0 : 1;
    map->slots[at] = (struct sirix_map_slot){.key = key, .value = value};
    return SIRIX_OK;
}

bool sirix_map_get(const struct sirix_map *map, uint64_t key, uint64_t *out_value)
{
    const uint64_t *value = NULL;

    if (key == 0) {
        value = map->has_zero ? &map->zero_value : NULL;
    } else if (map->slot_count != 0) {
        const struct sirix_map_slot *slot = &map->slots[find(map, key)];

        value = slot->key == key ? &slot->value : NULL;
    }
    if (value != NULL && out_value != NULL) {
        *out_value = *value;
    }
    return value != NULL;
}

bool sirix_map_remove(struct sirix_map *map, uint64_t key, uint64_t *out_value)
{
    if (!sirix_map_get(map, key, out_value)) {
        return false;
    }
    map->count--;
    if (key == 0) {
        map->has_zero = false;
        return true;
    }
    size_t mask = map->slot_count - 1;
    size_t hole = find(map, key);

    for (size_t at = (hole + 1) & mask; map->slots[at].key != 0; at = (at + 1) & mask) {
        size_t home = home_of(map, map->slots[at].key);

        /* An entry may fill the hole unless its home lies behind the hole, cyclically. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (struct sirix_map_slot){0};
    return true;
}

bool sirix_map_next(const struct sirix_map *map, size_t *cursor, uint64_t *out_key,
                    uint64_t *out_value)
{
    /* Position 0 is key 0's own place; position i + 1 is slot i. */
    if (*cursor == 0) {
        *cursor = 1;
        if (map->has_zero) {
            *out_key = 0;
            *out_value = map->zero_value;
            return true;
        }
    }
    for (; *cursor <= map->slot_count; *cursor += 1) {
        const struct sirix_map_slot *slot = &map->slots[*cursor - 1];

        if (slot->key != 0) {
            *out_key = slot->key;
            *out_value = slot->value;
            *cursor += 1;
            return true;
        }
    }
    return false;
}
