/*
 * Answers of writes that no database can keep an idempotency row for, since they create or drop one;
 * and for all writes without a revision, which key is in flight.
 *
 * Kept      in memory, 24 hours, at most SIRIX_IDEMPOTENCY_ENTRIES_MAX; then new keys are refused. A
 *           restart forgets them: such a write is then done again, and says that the database exists
 *           or is gone.
 * Key       (principal, database, key), with a hash of the request.
 * In flight a second request with a key waits for the first one.
 * Threads   all functions from any thread.
 */
#ifndef SIRIX_SERVICE_IDEMPOTENCY_H
#define SIRIX_SERVICE_IDEMPOTENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/status.h"

struct sirix_idempotency;

enum {
    SIRIX_IDEMPOTENCY_ENTRIES_MAX = 100000,
    SIRIX_IDEMPOTENCY_ANSWER_BYTES_MAX = 512,
    SIRIX_IDEMPOTENCY_HOURS = 24,
};

enum sirix_status sirix_idempotency_new(const struct sirix_clock *clock,
                                        struct sirix_idempotency **out_table,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_idempotency_free(struct sirix_idempotency *table);

/* The digest that stands for (principal, database, key). */
struct sirix_idempotency_id {
    uint8_t bytes[SIRIX_SHA256_BYTES];
};

/*
 * Begins a write. *out_replayed true: answer (of answer_len bytes, what _end was given) is filled in
 * and the write is not done. False: do it and call _end. SIRIX_INVALID (reason
 * idempotency_mismatch): the key stands for another request. SIRIX_EXHAUSTED: too many keys.
 */
enum sirix_status sirix_idempotency_begin(struct sirix_idempotency *table,
                                          const struct sirix_idempotency_id *id,
                                          const uint8_t request_hash[SIRIX_SHA256_BYTES],
                                          void *answer, size_t answer_len, bool *out_replayed,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Only looks: *out_known true, and answer filled in, if the key has an answer already. Errors as of
 * _begin.
 */
enum sirix_status sirix_idempotency_find(struct sirix_idempotency *table,
                                         const struct sirix_idempotency_id *id,
                                         const uint8_t request_hash[SIRIX_SHA256_BYTES],
                                         void *answer, size_t answer_len, bool *out_known,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends it: answer is kept; NULL: it failed, the key is free again. */
void sirix_idempotency_end(struct sirix_idempotency *table, const struct sirix_idempotency_id *id,
                           const void *answer, size_t answer_len);

#endif
