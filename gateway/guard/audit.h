/*
 * The audit log: one JSON line for each call, in a chain that shows what was changed or left out.
 *
 * Line       {"seq":N,"time":"…","event":"…",…,"prev":"H","hash":"H"}. hash is the SHA-256 of the line up
 *            to `,"hash":`; prev is the hash of the line before. seq counts from 0 without a gap.
 * Files      A process has a chain of its own, in a file of its own beside the path that is configured:
 *            audit.jsonl -> audit-TIME-INSTANCE.jsonl. The first line is the `genesis`. A file that has
 *            become large ends with `rotate`, and the chain goes on in audit-TIME-INSTANCE.2.jsonl. A
 *            process that ends by itself writes `end`, so that a tail that was cut is seen.
 * Order      Lines are whole, and on the file in the order of seq, before append() returns; with
 *            is_durable on the disk too. What could not be written is taken back, so that the next line
 *            follows the last whole one; where that is impossible too, nothing is written any more.
 * Limits     What the chain cannot show: that whole files were removed, and that somebody who may write
 *            the file made a new chain. Copy the hashes elsewhere against that.
 * Threads    Any number.
 */
#ifndef SIRIX_GUARD_AUDIT_H
#define SIRIX_GUARD_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"

enum {
    SIRIX_AUDIT_LINE_BYTES_MAX = 256 * 1024,
    SIRIX_AUDIT_FILE_BYTES = 64 * 1024 * 1024, /* A file that has so many is the last but one. */
    SIRIX_AUDIT_PATH_BYTES_MAX = 4096,
};

struct sirix_audit;

struct sirix_audit_options {
    const char *path;                /* Its folder is made if it is not there; NULL: stderr. */
    uint64_t file_bytes;             /* 0: SIRIX_AUDIT_FILE_BYTES. */
    const struct sirix_clock *clock; /* NULL: the system's. */
};

/* Makes the file and writes its genesis. SIRIX_INVALID, SIRIX_IO, SIRIX_NO_MEMORY. */
enum sirix_status sirix_audit_open(const struct sirix_audit_options *options,
                                   struct sirix_audit **out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Writes `end`. When no call is left. NULL is allowed. */
void sirix_audit_close(struct sirix_audit *audit);

/* The file that is written now, for as long as nothing is appended; NULL: stderr. */
const char *sirix_audit_file(const struct sirix_audit *audit);

/*
 * Appends a line. members: JSON text of more members without braces ("a":1,"b":"c"), or empty.
 * *out_seq may be NULL. SIRIX_IO; SIRIX_EXHAUSTED: the line is too long.
 */
enum sirix_status sirix_audit_append(struct sirix_audit *audit, const char *event,
                                     struct sirix_bytes members, bool is_durable, uint64_t *out_seq,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
