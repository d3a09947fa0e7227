/*
 * The databases of a data folder: one folder each, opened when first asked for, closed when idle.
 *
 * Layout    DIR/databases/NAME/. Names that begin with '.' are ours: a database being made or being
 *           deleted, removed at the next start if a crash left it.
 * Names     exact; no two differ in case alone.
 * Handles   an open database is held through handles, which are counted; it stays open while one is
 *           held and is closed some time after the last. Dropping takes the name away at once and
 *           deletes the files when the last handle goes.
 * Readers   a handle lends readers, of which a few are kept open. A stream keeps its own for its
 *           whole life and yields it between turns; how many may is limited, because each takes a
 *           slot of the database's reader table.
 * Threads   all functions from any thread, but _open and _close.
 */
#ifndef SIRIX_SERVICE_REGISTRY_H
#define SIRIX_SERVICE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "store/revision/view.h"

struct sirix_registry;
struct sirix_handle;

enum {
    SIRIX_DATABASES_OPEN_DEFAULT = 1000,
    SIRIX_IDLE_CLOSE_DEFAULT_MS = 300 * 1000,
    SIRIX_STREAM_READERS_MAX = 256, /* Per database. */
    SIRIX_STREAM_RETRY_MS = 20,     /* What a caller is told to wait for one. */
};

/* What happened that an operator wants to read; fields as in struct sirix_recovery. */
typedef void (*sirix_registry_opened_fn)(void *context, const char *database,
                                         const struct sirix_recovery *recovery);

struct sirix_registry_options {
    const char *dir; /* The data folder; `databases` is made in it. */
    const struct sirix_clock *clock;
    struct sirix_committer_pool *pool;
    uint64_t map_bytes_max; /* 0: no limit. */
    uint32_t open_max;
    uint32_t idle_close_ms;
    sirix_registry_opened_fn opened; /* May be NULL. Any thread. */
    void *context;
};

enum sirix_status sirix_registry_open(const struct sirix_registry_options *options,
                                      struct sirix_registry **out_registry,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Every handle has been given back. NULL is allowed. */
void sirix_registry_close(struct sirix_registry *registry);

/* SIRIX_ALREADY_EXISTS, with reason name_case where another spelling does. */
enum sirix_status sirix_registry_create(struct sirix_registry *registry, struct sirix_bytes name,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_registry_drop(struct sirix_registry *registry, struct sirix_bytes name,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens the database unless it is. SIRIX_NOT_FOUND (reason database_unknown); SIRIX_EXHAUSTED: as
 * many as may be are open and in use.
 */
enum sirix_status sirix_registry_acquire(struct sirix_registry *registry, struct sirix_bytes name,
                                         struct sirix_handle **out_handle,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_registry_release(struct sirix_handle *handle);

/* The names, in byte order, after `after` (empty: all). One malloc'ed block, the caller's to free. */
struct sirix_registry_name {
    char name[129];
};
enum sirix_status sirix_registry_list(struct sirix_registry *registry, struct sirix_bytes after,
                                      struct sirix_registry_name **out_names, size_t *out_count,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether it is open now, and bytes of its files on disk. */
enum sirix_status sirix_registry_stat(struct sirix_registry *registry, const char *name,
                                      bool *out_open, uint64_t *out_bytes,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Calls visit with every open database, held meanwhile; one after the other. */
typedef void (*sirix_registry_each_fn)(void *context, struct sirix_database *database);
void sirix_registry_each_open(struct sirix_registry *registry, sirix_registry_each_fn visit,
                              void *context);

/* Closes what has been idle for long; to be called about each second. */
void sirix_registry_tick(struct sirix_registry *registry);

/* How many are open, and how many there are. Never block. */
uint64_t sirix_registry_open_count(const struct sirix_registry *registry);
uint64_t sirix_registry_count(const struct sirix_registry *registry);

/* --- Of a handle -------------------------------------------------------------------------------- */

struct sirix_database *sirix_handle_database(const struct sirix_handle *handle);
const char *sirix_handle_name(const struct sirix_handle *handle);

/* How many requests hold it now. */
uint64_t sirix_handle_uses(struct sirix_handle *handle);

/* A reader for one turn: give it back with _put on the same thread, soon. */
enum sirix_status sirix_handle_reader_get(struct sirix_handle *handle,
                                          struct sirix_reader **out_reader,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_handle_reader_put(struct sirix_handle *handle, struct sirix_reader *reader);

/* A reader of a stream: SIRIX_EXHAUSTED past SIRIX_STREAM_READERS_MAX, with a retry hint. */
enum sirix_status sirix_handle_stream_reader_open(struct sirix_handle *handle,
                                                  struct sirix_reader **out_reader,
                                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_handle_stream_reader_close(struct sirix_handle *handle, struct sirix_reader *reader);

/*
 * The outcome of a commit is not known: the store refuses writes until the database is reopened,
 * which is done as soon as nobody holds it.
 */
void sirix_handle_suspect(struct sirix_handle *handle);

#endif
