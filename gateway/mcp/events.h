/*
 * Telling clients what changed: lists, and resources that they watch.
 *
 * The storage has no call that waits for new revisions, so a thread looks at what is watched once in
 * SIRIX_EVENTS_TICK_MS; it runs only while something is. Nothing is lost between two looks, but two
 * changes may be told as one.
 *
 * Threads   Any number at once. A listener is told with the lock held: its tell() must not wait, and
 *           must not call back.
 */
#ifndef SIRIX_MCP_EVENTS_H
#define SIRIX_MCP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

enum {
    SIRIX_EVENTS_TICK_MS = 500,
    SIRIX_EVENTS_WATCHES_MAX = 64,    /* Of one listener. */
    SIRIX_EVENTS_LISTENERS_MAX = 512, /* Of one process. */
    SIRIX_EVENTS_CALL_MS = 5000,      /* What looking at one resource may take. */
};

struct sirix_mcp_server;
struct sirix_events;
struct sirix_events_watch;

/* The owner fills the first six; zero-initialise the rest. */
struct sirix_events_listener {
    void (*tell)(struct sirix_events_listener *listener, struct sirix_bytes message);
    struct sirix_bytes subscription; /* JSON text of an id that goes with each message, or empty. */
    bool wants_tools;
    bool wants_prompts;
    bool wants_resources; /* The list of them. */
    /* As its caller sees it: what they may not see is nothing that changes. NULL: everybody's. */
    const struct sirix_mcp_server *server;
    bool knows_list; /* What the list of resources was, while it is wanted. */
    bool is_looking; /* At the list, in this round. */
    uint64_t list_state;
    size_t watch_count;
    struct sirix_events_watch *watches;
    struct sirix_events_listener *next;
};

/* The server outlives it. SIRIX_NO_MEMORY. */
enum sirix_status sirix_events_new(const struct sirix_mcp_server *server, struct sirix_events **out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* When no listener is left. NULL is allowed. */
void sirix_events_free(struct sirix_events *events);

/*
 * Begins telling, with `first` (empty: nothing): nothing comes before it, and nothing that happens after it
 * is left out. SIRIX_EXHAUSTED, SIRIX_IO (no thread): nothing was told.
 */
enum sirix_status sirix_events_add(struct sirix_events *events,
                                   struct sirix_events_listener *listener, struct sirix_bytes first,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* It is told nothing any more when this returns; its watches are gone. Also where it was not added. */
void sirix_events_remove(struct sirix_events *events, struct sirix_events_listener *listener);

/* Tells it from now on when the list of resources changes. SIRIX_IO (no thread). */
enum sirix_status sirix_events_want_resources(struct sirix_events *events,
                                              struct sirix_events_listener *listener,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Watches a resource from now on. SIRIX_NOT_FOUND: there is none of that URI that can be watched, or
 * the caller may not see it; SIRIX_EXHAUSTED. Watching twice is watching once.
 */
enum sirix_status sirix_events_watch(struct sirix_events *events,
                                     struct sirix_events_listener *listener, struct sirix_bytes uri,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_events_unwatch(struct sirix_events *events, struct sirix_events_listener *listener,
                          struct sirix_bytes uri);

/* Lists that changed because this process says so. */
void sirix_events_tools_changed(struct sirix_events *events);
void sirix_events_prompts_changed(struct sirix_events *events);

#endif
