/* A list of changes to one branch of one resource, all or none: one revision. And revert. */
#ifndef SIRIX_SERVICE_APPLY_H
#define SIRIX_SERVICE_APPLY_H

#include "service/read.h"
#include "service/spool.h"
#include "service/write.h"
#include "store/document/edit.h"

enum {
    SIRIX_APPLY_OPERATIONS_MAX = 10000,
    SIRIX_APPLY_VALUE_BYTES_MAX = 1024 * 1024, /* Of one in the request itself. */
    SIRIX_APPLY_KEYS_MAX = 50000,              /* Of created nodes named in an answer. */
    SIRIX_FEED_BYTES = 64 * 1024, /* Of text between two looks at deadline and cancel flag. */
};

enum sirix_operation_kind {
    SIRIX_OPERATION_NONE, /* The request names none: refused. */
    SIRIX_OPERATION_INSERT,
    SIRIX_OPERATION_UPDATE,
    SIRIX_OPERATION_REPLACE,
    SIRIX_OPERATION_DELETE,
    SIRIX_OPERATION_RENAME,
    SIRIX_OPERATION_MOVE,
};

struct sirix_operation {
    enum sirix_operation_kind kind;
    uint64_t node_key; /* Of all but insert. */
    uint64_t target;   /* Insert and move: parent or sibling. */
    enum sirix_place place;
    uint64_t index;
    bool has_name;
    struct sirix_bytes name;
    struct sirix_bytes json;
    bool streamed; /* The value is in the spool, from spool_offset on. */
    uint64_t spool_offset;
    uint64_t spool_len;
};

struct sirix_operation_result {
    uint64_t *node_keys;
    size_t node_key_count;
    enum sirix_value_kind kind;
    bool equal_value;
    bool changed;
};

struct sirix_apply_result {
    struct sirix_write_result result;
    struct sirix_operation_result *operations;
    size_t operation_count;
    bool operations_known; /* False: a replayed answer that was too long to be kept. */
};

/*
 * Limits and forms that need no resource: to be asked before anything is opened. The error's field
 * is such as "operations[2].insert.value".
 */
enum sirix_status sirix_apply_check(const struct sirix_operation *operations, size_t count,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_apply_request {
    const struct sirix_operation *operations; /* Checked. */
    size_t operation_count;
    bool force_revision;
    const struct sirix_spool *spool; /* May be NULL where nothing is streamed. */
};

/* With the branch's turn. */
enum sirix_status sirix_apply_run(struct sirix_write *write,
                                  const struct sirix_apply_request *wanted,
                                  struct sirix_arena *arena, struct sirix_apply_result *out_result,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* With the branch's turn: a new revision with the content of `source`, which must name one. */
enum sirix_status sirix_revert_run(struct sirix_write *write,
                                   const struct sirix_view_request *source,
                                   struct sirix_write_result *out_result, uint64_t *out_reverted_to,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- For answers that are kept with an idempotency key ------------------------------------------ */

/* The operations' results in at most SIRIX_RIDER_ANSWER_BYTES_MAX bytes; without them if longer. */
enum sirix_status sirix_apply_answer_encode(const struct sirix_operation_result *operations,
                                            size_t count, struct sirix_buf *out,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_apply_answer_decode(struct sirix_bytes answer, struct sirix_arena *arena,
                                            struct sirix_apply_result *result,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
