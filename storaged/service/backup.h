/*
 * Backup: everything that a database holds at one instant, as a stream of bytes, while others write.
 *
 * Instant    The rows are read in one go, in one snapshot, and put aside; segments never change, so
 *            that those which the rows lead to can be read afterwards at the reader's pace. A slow
 *            reader holds no page of the store.
 * Again      An incremental backup holds all rows again, and of the segments those that its base lacks.
 */
#ifndef SIRIX_SERVICE_BACKUP_H
#define SIRIX_SERVICE_BACKUP_H

#include "service/backup_format.h"
#include "service/service.h"

enum { SIRIX_BACKUPS_RUNNING_MAX = 4, SIRIX_BACKUP_PIECE_BYTES = 256 * 1024 };

struct sirix_backup;

struct sirix_backup_request {
    struct sirix_bytes database;
    /* The last frame of the base, as it is in its bytes; empty: a full backup. */
    struct sirix_bytes base;
};

/* Told before the first bytes; an estimate of how many they will be. */
struct sirix_backup_estimate {
    uint64_t bytes;
    bool incremental;
};

/*
 * Reads the rows. SIRIX_INVALID (field since): no end of a backup, or of another database;
 * SIRIX_EXHAUSTED: enough of them run, or too many rows.
 */
enum sirix_status sirix_backup_open(const struct sirix_request *request,
                                    const struct sirix_backup_request *wanted,
                                    struct sirix_backup **out_backup,
                                    struct sirix_backup_estimate *out_estimate,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * At most SIRIX_BACKUP_PIECE_BYTES more, valid until the next call; none after the last. Takes some
 * milliseconds at most but for the disk. SIRIX_CORRUPT: what is stored is damaged.
 */
enum sirix_status sirix_backup_next(struct sirix_backup *backup, struct sirix_bytes *out_piece,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* What was written; once the last piece was given. */
void sirix_backup_summary(const struct sirix_backup *backup, struct sirix_backup_end *out_end,
                          uint64_t *out_bytes);

/* Of this process: how many run, how many were whole, and when the last of these was made (0: none). */
struct sirix_backup_counts {
    uint64_t running;
    uint64_t whole;
    int64_t last_us;
};
struct sirix_backup_counts sirix_backup_count(void);

/* NULL is allowed. */
void sirix_backup_close(struct sirix_backup *backup);

#endif
