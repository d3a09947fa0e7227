/* What the parts of verify share: one run over a database, and how faults and pauses go to its caller. */
#ifndef SIRIX_STORE_REVISION_VERIFY_H
#define SIRIX_STORE_REVISION_VERIFY_H

#include "store/revision/internal.h"

struct sirix_verify_run {
    struct sirix_database *database;
    struct sirix_reader *reader;
    sirix_verify_fault_fn fault;
    sirix_verify_yield_fn yield;
    void *context;
    struct sirix_verify_progress progress;
    uint32_t steps;      /* Since the clock was looked at. */
    uint64_t yielded_ns; /* When the last pause was. */
};

/*
 * Reports a fault: "resource R, revision N: why" (resource NULL, revision 0: left out). cause: the
 * failure that found it, or NULL. Gives what the visitor gives.
 */
enum sirix_status sirix_verify_fault(struct sirix_verify_run *run,
                                     const struct sirix_resource *resource, uint64_t revision,
                                     enum sirix_reason reason, struct sirix_error *err,
                                     const char *fmt, ...) SIRIX_PRINTF(6, 7) SIRIX_MUST_CHECK;

/*
 * Goes on after a step that may have met damage: SIRIX_CORRUPT (and NOT_FOUND, for what must be there)
 * is a fault, anything else ends the run and is returned.
 */
enum sirix_status sirix_verify_note(struct sirix_verify_run *run,
                                    const struct sirix_resource *resource, uint64_t revision,
                                    enum sirix_status status, const struct sirix_error *cause,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* One small step is done and no slice is held: about every millisecond the caller's yield. */
enum sirix_status sirix_verify_step(struct sirix_verify_run *run,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Everything that the document of one revision holds: verify_tree.c. */
enum sirix_status sirix_verify_tree(struct sirix_verify_run *run, struct sirix_resource *resource,
                                    const struct sirix_record *record,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Records, chain, index and the rows that each revision changed: verify_records.c. */
enum sirix_status sirix_verify_records(struct sirix_verify_run *run,
                                       struct sirix_resource *resource,
                                       const struct sirix_counters_row *counters,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
