/*
 * Watching: the revisions of a resource, or of all resources of a database, as they are made.
 *
 * Nothing waits in memory for a watcher: it has a place in each resource, the number of the next
 * revision, and reads from the store what is there from it on. So none is left out and none comes
 * twice, whatever its pace; how far it is behind is told with each revision; and one that was pruned
 * before it was read is SIRIX_PRECONDITION (revision_pruned) with the oldest that is kept.
 *
 * Threads   one watch by one thread at a time; sirix_watch_hub_tell() by any. `wake` is called by
 *           whoever made a revision, under the hub's lock: it may not block, nor use the watch.
 */
#ifndef SIRIX_SERVICE_WATCH_H
#define SIRIX_SERVICE_WATCH_H

#include "service/history.h"

enum {
    SIRIX_WATCHES_MAX = 1000,               /* Of a service. */
    SIRIX_WATCH_RESOURCES_MAX = 100 * 1000, /* Of a database that is watched. */
    SIRIX_WATCH_BATCH_MAX = 64,
};

struct sirix_watch;
struct sirix_watch_hub;

enum sirix_status sirix_watch_hub_new(struct sirix_watch_hub **out_hub,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* No watch is left. NULL is allowed. */
void sirix_watch_hub_free(struct sirix_watch_hub *hub);

/*
 * There is something new about a resource; resource NULL: about any of the database. gone: the database
 * was dropped.
 */
void sirix_watch_hub_tell(struct sirix_watch_hub *hub, const char *database, const char *resource,
                          bool gone);

/* How many watches there are. */
uint64_t sirix_watch_hub_count(struct sirix_watch_hub *hub);

/* What was seen last of a resource. */
struct sirix_watch_position {
    struct sirix_bytes resource;
    uint64_t revision;
};

struct sirix_watch_request {
    struct sirix_bytes database;
    struct sirix_bytes resource; /* Empty: all that the caller sees, also those made later. */
    bool has_from;
    uint64_t from; /* Of one resource: the first revision wanted. Without: the next one made. */
    /* Of a database: goes on behind these; those not named, from their first revision. */
    const struct sirix_watch_position *after;
    size_t after_count;
};

typedef void (*sirix_watch_wake_fn)(void *context);

/*
 * Begins. *out_next: of one resource, the first revision that will come. SIRIX_NOT_FOUND,
 * SIRIX_OUT_OF_RANGE (from is beyond the next one), SIRIX_PRECONDITION (from is pruned),
 * SIRIX_EXHAUSTED. The bytes of wanted are copied; the caller that request names outlives the watch.
 */
enum sirix_status sirix_watch_start(const struct sirix_request *request,
                                    const struct sirix_watch_request *wanted,
                                    sirix_watch_wake_fn wake, void *context,
                                    struct sirix_watch **out_watch, uint64_t *out_next,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_watch_event {
    char resource[129];
    bool dropped; /* The resource is gone; else a revision was made. */
    struct sirix_revision_info info;
    uint64_t behind; /* How many newer ones the resource has. */
};

/*
 * What is new, at most SIRIX_WATCH_BATCH_MAX events, in the arena; of each resource in order. Count 0:
 * nothing, `wake` will be called. SIRIX_NOT_FOUND: what is watched is gone.
 */
enum sirix_status sirix_watch_next(struct sirix_watch *watch, struct sirix_arena *arena,
                                   struct sirix_watch_event **out_events, size_t *out_count,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* After it `wake` is not called any more. NULL is allowed. */
void sirix_watch_stop(struct sirix_watch *watch);

#endif
