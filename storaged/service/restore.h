/*
 * Restore: a database made of a backup and the incremental ones on top of it, given as one stream.
 *
 * Whole      It grows in a folder that nobody sees, is checked entirely when all has come (checksums,
 *            records, the SHA-256 chain, every tree), and only then takes its name. Whatever ends it
 *            before that, also the death of the process, leaves nothing.
 * Never      it takes the place of a database that is there.
 */
#ifndef SIRIX_SERVICE_RESTORE_H
#define SIRIX_SERVICE_RESTORE_H

#include "service/backup_format.h"
#include "service/service.h"

enum { SIRIX_RESTORES_RUNNING_MAX = 2 };

struct sirix_restore;

struct sirix_restore_result {
    uint64_t backups; /* 1, and one for each incremental one. */
    uint64_t segments;
    uint64_t bytes; /* Of the stream. */
    uint64_t resources;
    uint64_t revisions;
    int64_t made_us; /* When the last of the backups was. */
};

/*
 * SIRIX_ALREADY_EXISTS: a database of that name is there; SIRIX_PERMISSION; SIRIX_EXHAUSTED: enough of
 * them run.
 */
enum sirix_status sirix_restore_open(const struct sirix_request *request,
                                     struct sirix_bytes database,
                                     struct sirix_restore **out_restore,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The next bytes of the stream. SIRIX_CORRUPT: damage, with the offset in the stream of the frame that
 * is damaged; SIRIX_INVALID: an incremental backup that is not on top of what came before it.
 */
enum sirix_status sirix_restore_feed(struct sirix_restore *restore, struct sirix_bytes piece,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * That was all: checks it, and gives the database its name. SIRIX_CORRUPT also where the stream ends
 * early, with the offset. May take long; looks at the request's cancel.
 */
enum sirix_status sirix_restore_finish(struct sirix_restore *restore,
                                       struct sirix_restore_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Removes what was not finished. NULL is allowed. */
void sirix_restore_close(struct sirix_restore *restore);

#endif
