/* The dictionary of member names: chunks of entries by id, and a hash table of ids beside it. */
#include "store/revision/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

static struct sirix_names_table *table_new(size_t slot_count)
{
    struct sirix_names_table *table =
        calloc(1, sizeof(*table) + slot_count * sizeof(table->slots[0]));

    if (table != NULL) {
        table->slot_count = slot_count;
    }
    return table;
}

static size_t home_of(const struct sirix_names *names, const struct sirix_names_table *table,
                      struct sirix_bytes name)
{
    return (size_t)sirix_hash(&names->hash_key, name.data, name.len) & (table->slot_count - 1);
}

/* The name in a slot of a table that is not free: its entry was stored before. */
static struct sirix_bytes slot_name(const struct sirix_names *names, uint32_t slot)
{
    const struct sirix_names_entry *entry = sirix_names_entry(names, slot - 1);

    assert(entry != NULL);
    return (struct sirix_bytes){.data = entry->bytes, .len = entry->len};
}

/* Writers only, under the lock: readers see the slot once it is stored. */
static void table_add(const struct sirix_names *names, struct sirix_names_table *table,
                      struct sirix_bytes name, uint32_t id)
{
    size_t at = home_of(names, table, name);

    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed) != 0) {
        at = (at + 1) & (table->slot_count - 1);
    }
    atomic_store_explicit(&table->slots[at], id + 1, memory_order_release);
}

enum sirix_status sirix_names_init(struct sirix_names *names, const uint8_t seed[16],
                                   struct sirix_error *err)
{
    struct sirix_names_table *table = table_new(SLOTS_MIN);

    if (table == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a table of names");
    }
    memcpy(names->hash_key.bytes, seed, sizeof(names->hash_key.bytes));
    (void)pthread_mutex_init(&names->lock, NULL); /* A plain mutex: it cannot fail on Linux. */
    atomic_init(&names->table, table);
    for (size_t i = 0; i < SIRIX_NAMES_CHUNKS; i++) {
        atomic_init(&names->chunks[i], NULL);
    }
    names->count = 0;
    names->next_free = 0;
    return SIRIX_OK;
}

void sirix_names_deinit(struct sirix_names *names)
{
    struct sirix_names_table *table = atomic_load(&names->table);

    while (table != NULL) {
        struct sirix_names_table *outgrown = table->outgrown;

        free(table);
        table = outgrown;
    }
    atomic_store(&names->table, NULL);
    for (size_t i = 0; i < SIRIX_NAMES_CHUNKS; i++) {
        struct sirix_names_chunk *chunk = atomic_load(&names->chunks[i]);

        for (size_t j = 0; chunk != NULL && j < SIRIX_NAMES_CHUNK; j++) {
            free(atomic_load(&chunk->entries[j]));
        }
        free(chunk);
    }
    (void)pthread_mutex_destroy(&names->lock);
}

struct sirix_names_entry *sirix_names_entry(const struct sirix_names *names, uint32_t id)
{
    struct sirix_names_chunk *chunk = NULL;

    if (id >= SIRIX_NAME_INTERNED_MAX) {
        return NULL;
    }
    chunk = atomic_load_explicit(&names->chunks[id / SIRIX_NAMES_CHUNK], memory_order_acquire);
    return chunk == NULL ? NULL
                         : atomic_load_explicit(&chunk->entries[id % SIRIX_NAMES_CHUNK],
                                                memory_order_acquire);
}

bool sirix_names_lookup(const struct sirix_names *names, struct sirix_bytes name, uint32_t *out_id)
{
    struct sirix_names_table *table = atomic_load_explicit(&names->table, memory_order_acquire);

    if (name.len > SIRIX_NAME_INTERNED_BYTES_MAX) {
        return false;
    }
    for (size_t at = home_of(names, table, name);; at = (at + 1) & (table->slot_count - 1)) {
        uint32_t slot = atomic_load_explicit(&table->slots[at], memory_order_acquire);

        if (slot == 0) {
            return false;
        }
        if (sirix_bytes_equal(slot_name(names, slot), name)) {
            *out_id = slot - 1;
            return true;
        }
    }
}

/* Keeps the load below one half; the outgrown table lives on for readers that still walk it. */
static enum sirix_status make_room(struct sirix_names *names, struct sirix_error *err)
{
    struct sirix_names_table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    struct sirix_names_table *grown = NULL;

    if ((size_t)names->count * 2 < table->slot_count) {
        return SIRIX_OK;
    }
    grown = table_new(table->slot_count * 2);
    if (grown == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot grow a table of names");
    }
    for (size_t i = 0; i < table->slot_count; i++) {
        uint32_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);

        if (slot != 0) {
            table_add(names, grown, slot_name(names, slot), slot - 1);
        }
    }
    grown->outgrown = table;
    atomic_store_explicit(&names->table, grown, memory_order_release);
    return SIRIX_OK;
}

/* Puts a name under a free id; the caller holds the lock. */
static enum sirix_status add(struct sirix_names *names, uint32_t id, struct sirix_bytes name,
                             bool durable, struct sirix_error *err)
{
    _Atomic(struct sirix_names_chunk *) *place = &names->chunks[id / SIRIX_NAMES_CHUNK];
    struct sirix_names_chunk *chunk = atomic_load_explicit(place, memory_order_relaxed);
    struct sirix_names_entry *entry = NULL;
    enum sirix_status status = make_room(names, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (chunk == NULL) {
        chunk = calloc(1, sizeof(*chunk));
        if (chunk == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate names");
        }
        atomic_store_explicit(place, chunk, memory_order_release);
    }
    entry = malloc(sizeof(*entry) + name.len);
    if (entry == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a name");
    }
    atomic_init(&entry->durable, durable);
    entry->len = (uint32_t)name.len;
    if (name.len != 0) {
        memcpy(entry->bytes, name.data, name.len);
    }
    atomic_store_explicit(&chunk->entries[id % SIRIX_NAMES_CHUNK], entry, memory_order_release);
    table_add(names, atomic_load_explicit(&names->table, memory_order_relaxed), name, id);
    names->count++;
    return SIRIX_OK;
}

enum sirix_status sirix_names_load(struct sirix_names *names, uint32_t id, struct sirix_bytes name,
                                   struct sirix_error *err)
{
    uint32_t other = 0;
    enum sirix_status status = SIRIX_OK;

    if (id >= SIRIX_NAME_INTERNED_MAX || name.len > SIRIX_NAME_INTERNED_BYTES_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "name row %u is impossible", id);
    }
    (void)pthread_mutex_lock(&names->lock);
    if (sirix_names_entry(names, id) != NULL || sirix_names_lookup(names, name, &other)) {
        status = sirix_fail(err, SIRIX_CORRUPT, "name row %u is there twice", id);
    } else {
        status = add(names, id, name, true, err);
    }
    (void)pthread_mutex_unlock(&names->lock);
    return status;
}

enum sirix_status sirix_names_give(struct sirix_names *names, struct sirix_bytes name,
                                   bool *out_given, uint32_t *out_id, struct sirix_error *err)
{
    uint32_t id = 0;
    bool given = true;
    enum sirix_status status = SIRIX_OK;

    assert(name.len <= SIRIX_NAME_INTERNED_BYTES_MAX);
    if (sirix_names_lookup(names, name, &id)) {
        *out_id = id;
        *out_given = true;
        return SIRIX_OK;
    }
    (void)pthread_mutex_lock(&names->lock);
    if (!sirix_names_lookup(names, name, &id)) {
        while (names->next_free < SIRIX_NAME_INTERNED_MAX &&
               sirix_names_entry(names, names->next_free) != NULL) {
            names->next_free++;
        }
        id = names->next_free;
        given = id < SIRIX_NAME_INTERNED_MAX;
        if (given) {
            status = add(names, id, name, false, err);
        }
    }
    (void)pthread_mutex_unlock(&names->lock);
    if (status == SIRIX_OK) {
        *out_given = given;
        if (given) {
            *out_id = id;
        }
    }
    return status;
}
