/* What registry.c and handle.c share; nobody else includes it. */
#ifndef SIRIX_SERVICE_REGISTRY_STATE_H
#define SIRIX_SERVICE_REGISTRY_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/name.h"
#include "service/folder.h"
#include "service/registry.h"

enum { SIRIX_REGISTRY_BUCKETS = 1024, SIRIX_HANDLE_READERS_KEPT = 16 };

enum sirix_entry_state { SIRIX_ENTRY_OPENING, SIRIX_ENTRY_OPEN, SIRIX_ENTRY_CLOSING };

struct sirix_handle {
    struct sirix_registry *registry;
    struct sirix_handle *next; /* In its bucket. */
    enum sirix_entry_state state;
    char name[SIRIX_NAME_BYTES_MAX + 1];
    struct sirix_database *database;
    uint64_t refs;
    uint64_t idle_since_ns; /* When it was last given back by a user. */
    bool dropped;           /* Not in its bucket any more; `folder` is deleted at the end. */
    bool suspect;
    char folder[SIRIX_FOLDER_NAME_BYTES];
    struct sirix_reader *readers[SIRIX_HANDLE_READERS_KEPT];
    size_t reader_count;
    size_t stream_readers;
};

struct sirix_registry {
    struct sirix_registry_options options;
    struct sirix_folder *folder; /* DIR/databases */
    struct sirix_hash_key key;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct sirix_handle *buckets[SIRIX_REGISTRY_BUCKETS];
    /* Changed with the mutex, read by anybody: */
    _Atomic uint64_t open_count; /* Entries in buckets and dropped ones that are still held. */
    _Atomic uint64_t count;      /* Databases in the folder. */
    uint64_t drop_count;
    uint64_t restore_count; /* Under `naming`. */
    pthread_mutex_t naming; /* Creating and dropping: one at a time, so that looks stay true. */
};

/* With `naming` held: SIRIX_ALREADY_EXISTS if a database has the name, whatever its case. */
enum sirix_status sirix_registry_refuse_twin(struct sirix_registry *registry, const char *name,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* With the mutex held, of an entry that nobody holds; gives the mutex back while it closes. */
void sirix_registry_close_entry(struct sirix_registry *registry, struct sirix_handle *handle);

#endif
