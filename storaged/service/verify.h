/*
 * Checking a resource or a database: a long work on a thread of its own, which leaves what it found
 * where its reader picks it up.
 */
#ifndef SIRIX_SERVICE_VERIFY_H
#define SIRIX_SERVICE_VERIFY_H

#include "service/service.h"

enum {
    SIRIX_VERIFY_RUNNING_MAX = 2, /* At once in a service. */
    SIRIX_VERIFY_PROBLEMS_MAX = 1000,
    SIRIX_VERIFY_PROGRESS_MS = 500,
};

struct sirix_verify_run;

enum sirix_verify_what {
    SIRIX_VERIFY_NOTHING,
    SIRIX_VERIFY_PROGRESS,
    SIRIX_VERIFY_PROBLEM,
    SIRIX_VERIFY_END
};

struct sirix_verify_problem {
    char resource[129]; /* Empty where the damage belongs to none that is there. */
    struct sirix_error fault;
};

struct sirix_verify_news {
    enum sirix_verify_what what;
    struct sirix_verify_progress progress; /* PROGRESS and END: totals so far. */
    uint64_t resources;                    /* END. */
    struct sirix_verify_problem problem;   /* PROBLEM. */
};

/* On the checking thread: there is news. May only wake. last: it is not called any more. */
typedef void (*sirix_verify_wake_fn)(void *context, bool last);

/* SIRIX_EXHAUSTED: enough of them run. resource empty: all of the database. */
enum sirix_status sirix_verify_start(const struct sirix_request *request,
                                     struct sirix_bytes database, struct sirix_bytes resource,
                                     sirix_verify_wake_fn wake, void *context,
                                     struct sirix_verify_run **out_run,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next news; NOTHING: wake is called when there is some. An error ends the run. */
enum sirix_status sirix_verify_next(struct sirix_verify_run *run,
                                    struct sirix_verify_news *out_news,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Stops it and waits for its thread. NULL is allowed. */
void sirix_verify_stop(struct sirix_verify_run *run);

#endif
