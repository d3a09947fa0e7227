/*
 * The daemon of a folder as a client sees it: found, or started, and held by an Attach stream.
 *
 * One step at a time is done by one starter: who wants to start the daemon takes a lock on
 * the folder itself first and looks again, so that many starters make one daemon, not many that
 * fail. The daemon's own lock decides in the end; this one only spares it the crowd.
 */
#ifndef SIRIX_LIB_EMBEDDED_H
#define SIRIX_LIB_EMBEDDED_H

#include <stdint.h>

#include "sirix/sirix.h"

struct sirix_embedded;

/*
 * The daemon is there and attached to, by until_ns (CLOCK_MONOTONIC), else SIRIX_UNAVAILABLE. Cheap
 * when it is. Any thread; one does the work, the others wait for it. cancel may be NULL.
 */
enum sirix_status sirix_embedded_ensure(struct sirix_embedded *embedded, uint64_t until_ns,
                                        struct sirix_call_cancel *cancel,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Lets go of the daemon, before the channel is closed. NULL is allowed. */
void sirix_embedded_stop(struct sirix_embedded *embedded);

#endif
