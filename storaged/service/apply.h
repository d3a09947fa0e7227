/*
 * Changes to one branch of one resource, all or none: one revision. They are a list of operations, an
 * RFC 6902 patch, or what changed between two other revisions. And revert.
 */
#ifndef SIRIX_SERVICE_APPLY_H
#define SIRIX_SERVICE_APPLY_H

#include "service/read.h"
#include "service/spool.h"
#include "service/write.h"
#include "store/document/edit.h"

enum {
    SIRIX_APPLY_OPERATIONS_MAX = 10000,
    SIRIX_APPLY_VALUE_BYTES_MAX = 1024 * 1024,           /* Of one in the request itself. */
    SIRIX_APPLY_KEYS_MAX = 50000,                        /* Of created nodes named in an answer. */
    SIRIX_APPLY_PATCH_BYTES_MAX = 64 * 1024 * 1024,      /* Of a patch's text that is streamed. */
    SIRIX_APPLY_OPERATION_BYTES_MAX = 256 * 1024 * 1024, /* Of memory for one of its operations. */
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

/* A node that a diff inserted under another key than it has in the diff's new revision. */
struct sirix_key_pair {
    uint64_t source_key;
    uint64_t node_key;
};

struct sirix_apply_result {
    struct sirix_write_result result;
    struct sirix_operation_result *operations;
    size_t operation_count;
    /* False: a replayed answer whose operations or keys were too long to be kept. */
    bool operations_known;
    uint64_t applied;            /* Of a patch: operations but tests; of a diff: changes done. */
    uint64_t already;            /* Of a diff: changes whose result was there. */
    uint64_t tests;              /* Of a patch; all have passed. */
    struct sirix_key_pair *keys; /* Of a diff, by source_key; at most SIRIX_APPLY_KEYS_MAX. */
    size_t key_count;
};

enum sirix_apply_source {
    SIRIX_APPLY_OPERATIONS,
    SIRIX_APPLY_PATCH,
    SIRIX_APPLY_DIFF,
};

struct sirix_apply_request {
    enum sirix_apply_source source;
    const struct sirix_operation *operations;
    size_t operation_count;
    /* SIRIX_APPLY_PATCH: its text, or all of the spool is its text. */
    struct sirix_bytes patch;
    bool patch_streamed;
    /* SIRIX_APPLY_DIFF */
    bool has_from; /* False: the parent of `to`. */
    struct sirix_view_request from;
    struct sirix_view_request to;
    bool since_parted; /* From where the two parted; has_from false: from where the head did. */
    bool force_revision;
    bool dry_run;                    /* Keep nothing. */
    const struct sirix_spool *spool; /* May be NULL where nothing is streamed. */
};

/*
 * Limits and forms that need no resource: to be asked before anything is opened. The error's field
 * is such as "operations[2].insert.value". operations may be NULL while their number is too high.
 */
enum sirix_status sirix_apply_check(const struct sirix_apply_request *wanted,
                                    const struct sirix_write_options *options,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * With the branch's turn; wanted was checked. SIRIX_CONFLICT (apply_conflict) where the head does not
 * have what a diff found; the errors of a patch are those of store/document/patch.h. Both have the
 * field "diff" or "json_patch".
 */
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

/*
 * The operations' results, or the counts and keys of a patch or diff, in at most
 * SIRIX_RIDER_ANSWER_BYTES_MAX bytes; without operations and keys if longer.
 */
enum sirix_status sirix_apply_answer_encode(enum sirix_apply_source source,
                                            const struct sirix_apply_result *result,
                                            struct sirix_buf *out,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
/* Of a patch or diff whose edit turned out to change nothing; decoding sets result.changed. */
void sirix_apply_answer_unchanged(struct sirix_buf *answer);
enum sirix_status sirix_apply_answer_decode(struct sirix_bytes answer, struct sirix_arena *arena,
                                            struct sirix_apply_result *result,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
