/* New revisions as they are made. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_WATCH_H
#define SIRIX_SIRIX_WATCH_H

#include "sirix/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The last revision that was seen of a resource. */
struct sirix_watch_position {
    const char *resource;
    uint64_t revision;
};

struct sirix_watch_request {
    const char *database;
    const char *resource; /* NULL: every resource of the database, also those made later. */
    /* With a resource: the first revision wanted. Without: the next one that is made. */
    bool has_from_revision;
    uint64_t from_revision;
    /*
     * Of a database: goes on behind these; resources that are not named come from their first revision
     * on. None: from now on. At most 10,000.
     */
    const struct sirix_watch_position *after;
    size_t after_count;
};

struct sirix_watch_stream;

/*
 * Returns when the server watches: what is made from then on is told. Without a deadline unless call has
 * one. SIRIX_NOT_FOUND; SIRIX_OUT_OF_RANGE: from_revision is beyond the next one; SIRIX_PRECONDITION: it
 * is pruned; SIRIX_EXHAUSTED: too many watch.
 */
enum sirix_status sirix_client_watch(struct sirix_client *client,
                                     const struct sirix_watch_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_watch_stream **out_stream,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Of one resource: the first revision that will be told. Else 0. */
uint64_t sirix_watch_stream_next_revision(const struct sirix_watch_stream *stream);

/* Valid until the next call on the stream. */
struct sirix_watch_event {
    const char *resource;
    bool dropped; /* The resource is gone; one of its name begins again with revision 1. */
    struct sirix_revision_info revision;
    uint64_t behind; /* How many newer revisions the resource had when this one was sent. */
};

/*
 * Waits for the next revision. SIRIX_UNAVAILABLE: the server ends, or has read its principals again, or
 * the connection broke: watch again from the revision behind the last one. SIRIX_NOT_FOUND: what is
 * watched was dropped. SIRIX_CANCELLED, SIRIX_DEADLINE.
 */
enum sirix_status sirix_watch_stream_next(struct sirix_watch_stream *stream,
                                          struct sirix_watch_event *out_event,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends the call. NULL is allowed. */
void sirix_watch_stream_close(struct sirix_watch_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
