/*
 * Puts finished segments on disk beside the building of the next ones: one thread, one batch at a time.
 *
 * Threads   used by one thread; the thread inside is its own.
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_FLUSHER_H
#define SIRIX_STORE_DOCUMENT_FLUSHER_H

#include "store/revision/database.h"

struct sirix_flusher;

/* Segments go under this intent; both outlive the flusher. */
enum sirix_status sirix_flusher_start(struct sirix_resource *resource, uint64_t intent,
                                      struct sirix_flusher **out_flusher,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Waits for the batch that is on its way. NULL is allowed. */
void sirix_flusher_stop(struct sirix_flusher *flusher);

/*
 * Takes over count segments (at most SIRIX_BACKGROUND_BYTES_MAX together, unless it is one) and their
 * bytes, once the batch before is done; its failure is returned, and final. On failure the segments stay
 * the caller's.
 */
enum sirix_status sirix_flusher_give(struct sirix_flusher *flusher,
                                     const struct sirix_segment_built *segments, size_t count,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether _give would not wait. */
bool sirix_flusher_is_idle(struct sirix_flusher *flusher);

/* Waits until everything given is durable. */
enum sirix_status sirix_flusher_wait(struct sirix_flusher *flusher,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
