/*
 * The dictionary of member names of one open resource: name <-> id, in memory as a whole.
 *
 * Ids       from 0, below SIRIX_NAME_INTERNED_MAX, given in memory first. A commit that publishes a use
 *           writes the rows of ids that are not durable yet; ids never published are given again
 *           after the next opening.
 * Threads   look-ups take no lock. New names take one. What a look-up gave stays where it is until
 *           deinit: entries never move, and a table that was outgrown is kept until then.
 */
#ifndef SIRIX_STORE_REVISION_NAMES_H
#define SIRIX_STORE_REVISION_NAMES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "store/page/node.h"

enum {
    SIRIX_NAMES_CHUNK = 256,
    SIRIX_NAMES_CHUNKS = SIRIX_NAME_INTERNED_MAX / SIRIX_NAMES_CHUNK,
};

struct sirix_names_entry {
    _Atomic bool durable; /* Its row is on disk. */
    uint32_t len;
    uint8_t bytes[];
};

/* Open addressing over ids; a power of two slots, each id + 1 or 0. */
struct sirix_names_table {
    struct sirix_names_table *outgrown;
    size_t slot_count;
    _Atomic uint32_t slots[];
};

struct sirix_names_chunk {
    _Atomic(struct sirix_names_entry *) entries[SIRIX_NAMES_CHUNK];
};

struct sirix_names {
    struct sirix_hash_key hash_key;
    pthread_mutex_t lock;
    _Atomic(struct sirix_names_table *) table;
    _Atomic(struct sirix_names_chunk *) chunks[SIRIX_NAMES_CHUNKS];
    uint32_t count;     /* Under the lock. */
    uint32_t next_free; /* No id below it is free. Under the lock. */
};

/* The hash key is the resource's own seed. */
enum sirix_status sirix_names_init(struct sirix_names *names, const uint8_t seed[16],
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_names_deinit(struct sirix_names *names);

/* Takes a name over from disk; SIRIX_CORRUPT when its id or the name itself is there already. */
enum sirix_status sirix_names_load(struct sirix_names *names, uint32_t id, struct sirix_bytes name,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* As sirix_names_intern() of database.h; name is at most SIRIX_NAME_INTERNED_BYTES_MAX long. */
enum sirix_status sirix_names_give(struct sirix_names *names, struct sirix_bytes name,
                                   bool *out_given, uint32_t *out_id,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
bool sirix_names_lookup(const struct sirix_names *names, struct sirix_bytes name, uint32_t *out_id);

/* The entry of an id, NULL when there is none. */
struct sirix_names_entry *sirix_names_entry(const struct sirix_names *names, uint32_t id);

#endif
