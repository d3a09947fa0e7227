/*
 * Changes that make no revision (of labels, branches, resources and databases), done once for an
 * idempotency key. Without a key they are just done.
 *
 * Kept      as a row of the database, written in the change's own transaction: 24 hours, also over
 *           restarts. Changes of databases have no database to keep it in: see sirix_remembered_run().
 * In flight a second request with a key waits for the first one of the same process.
 * Threads   all functions from any thread.
 */
#ifndef SIRIX_SERVICE_ONCE_H
#define SIRIX_SERVICE_ONCE_H

#include "service/write.h"

/* What such a change answers; a name that belongs to it stands in the request. */
enum { SIRIX_ANSWER_NUMBERS_MAX = 5 };
struct sirix_answer {
    size_t count;
    uint64_t numbers[SIRIX_ANSWER_NUMBERS_MAX];
};

/* As a row keeps it: varints, as many as there are. */
enum { SIRIX_ANSWER_BYTES_MAX = SIRIX_ANSWER_NUMBERS_MAX * 10 };
size_t sirix_answer_encode(const struct sirix_answer *answer,
                           uint8_t bytes[SIRIX_ANSWER_BYTES_MAX]);
/* SIRIX_CORRUPT: not what _encode makes, or of another count. */
enum sirix_status sirix_answer_decode(struct sirix_bytes bytes, size_t count,
                                      struct sirix_answer *out_answer,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_change_once {
    const struct sirix_request *request;
    const struct sirix_write_options *options;
    struct sirix_bytes database;
    bool makes_revision; /* False: options with a message, or for whom, are refused. */
    size_t answer_count; /* Numbers of the answer. */
    /*
     * Makes the change with a *_once function of the store. once NULL: there is no key, and it fills in
     * the answer itself; else the row's answer counts.
     */
    enum sirix_status (*change)(void *context, struct sirix_once *once, struct sirix_answer *answer,
                                struct sirix_error *err);
    /* Makes the answer of what the store's function gives as its result; on any thread. */
    void (*tell)(void *context, const void *result, struct sirix_answer *answer);
    void *context;
};

/*
 * Makes the change, or gives what it answered when it was made with this key before. SIRIX_INVALID
 * (reason idempotency_mismatch): the key stands for another request.
 */
enum sirix_status sirix_once_run(const struct sirix_change_once *wanted,
                                 struct sirix_answer *out_answer, bool *out_replayed,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* What such a change is about, and its options; branch empty: main. */
struct sirix_write_place {
    const struct sirix_write_options *options;
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_bytes branch;
};

/*
 * sirix_write_open() for a change that takes a turn. *out_known true: the change was made before, its
 * answer is filled in and nothing is open. It is asked first, and again where what the change is about
 * is not there: that may be the change's own doing. answer_count numbers.
 */
enum sirix_status sirix_once_open(const struct sirix_request *request,
                                  const struct sirix_write_place *place, size_t answer_count,
                                  struct sirix_write *write, struct sirix_answer *out_answer,
                                  bool *out_known, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * For databases: the answer is kept in memory alone. A restart forgets it; the change is then done
 * again, and says that the database exists or is gone.
 */
typedef enum sirix_status (*sirix_change_fn)(void *context, void *answer, struct sirix_error *err);
struct sirix_change_remembered {
    const struct sirix_request *request;
    const struct sirix_write_options *options;
    struct sirix_bytes database;
    sirix_change_fn change;
    void *context;
    void *answer;      /* Plain data that the change fills in; kept as its bytes. */
    size_t answer_len; /* At most SIRIX_IDEMPOTENCY_ANSWER_BYTES_MAX. */
};
enum sirix_status sirix_remembered_run(const struct sirix_change_remembered *change,
                                       bool *out_replayed,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
