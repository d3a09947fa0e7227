/*
 * Status codes and the error context, shared by every program of this repository.
 *
 * SIRIX_STATUS_LIST is the complete list of failures that code may branch on, and the one table
 * that maps each of them to a gRPC code, a JSON-RPC code and a process exit code (docs/errors.md
 * is generated from it). A reason says more: SIRIX_REASON_LIST is the stable list that clients may
 * branch on inside one status. The sentence in struct sirix_error is for people; never parse it.
 */
#ifndef SIRIX_BASE_STATUS_H
#define SIRIX_BASE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define SIRIX_MUST_CHECK              __attribute__((warn_unused_result))
#define SIRIX_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))

/*
 * X(NAME, name, gRPC code, JSON-RPC code, exit code)
 *
 *   INVALID            the caller broke a documented rule; the same call can never succeed
 *   NOT_FOUND          the named thing does not exist
 *   ALREADY_EXISTS     the named thing exists already
 *   CONFLICT           someone else wrote first; read again, then decide
 *   OUT_OF_RANGE       a revision or position beyond the newest or last one
 *   PRECONDITION       the state does not allow it (pruned, a branch that is gone, read-only)
 *   PERMISSION         the caller is known and may not do this
 *   UNAUTHENTICATED    the caller is not known
 *   EXHAUSTED          a named limit or quota is used up
 *   NO_SPACE           disk or map is full; nothing was changed
 *   NO_MEMORY          an allocation failed; nothing was changed
 *   CANCELLED          the caller went away or asked to stop; nothing was changed
 *   DEADLINE           the deadline passed; nothing was changed
 *   UNAVAILABLE        try again later; nothing was changed
 *   OUTCOME_UNKNOWN    a write may or may not have happened; retry with the same idempotency key
 *   UNSUPPORTED        this server does not have the asked-for call or form
 *   IO                 the system failed us; nothing was acknowledged
 *   CORRUPT            stored bytes break a format rule; the message names what they belong to
 *   INTERNAL           a mistake of ours
 */
#define SIRIX_STATUS_LIST(X)                                                                       \
    X(OK, ok, 0, 0, 0)                                                                             \
    X(INVALID, invalid, 3, -32602, 65)                                                             \
    X(NOT_FOUND, not_found, 5, -32004, 66)                                                         \
    X(ALREADY_EXISTS, already_exists, 6, -32005, 73)                                               \
    X(CONFLICT, conflict, 10, -32010, 75)                                                          \
    X(OUT_OF_RANGE, out_of_range, 11, -32011, 66)                                                  \
    X(PRECONDITION, precondition, 9, -32009, 78)                                                   \
    X(PERMISSION, permission, 7, -32007, 77)                                                       \
    X(UNAUTHENTICATED, unauthenticated, 16, -32016, 77)                                            \
    X(EXHAUSTED, exhausted, 8, -32008, 75)                                                         \
    X(NO_SPACE, no_space, 8, -32018, 74)                                                           \
    X(NO_MEMORY, no_memory, 8, -32019, 71)                                                         \
    X(CANCELLED, cancelled, 1, -32001, 130)                                                        \
    X(DEADLINE, deadline, 4, -32003, 124)                                                          \
    X(UNAVAILABLE, unavailable, 14, -32014, 69)                                                    \
    X(OUTCOME_UNKNOWN, outcome_unknown, 14, -32020, 69)                                            \
    X(UNSUPPORTED, unsupported, 12, -32601, 64)                                                    \
    X(IO, io, 13, -32021, 74)                                                                      \
    X(CORRUPT, corrupt, 15, -32015, 76)                                                            \
    X(INTERNAL, internal, 13, -32603, 70)

enum sirix_status {
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code) SIRIX_##upper,
    SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
};

/*
 * X(NAME, name): the stable reasons. NONE means that the status says it all. Names go over the wire
 * and into answers of the gateway; they are added to, never changed.
 */
#define SIRIX_REASON_LIST(X)                                                                       \
    X(NONE, none)                                                                                  \
    X(NAME_INVALID, name_invalid)                                                                  \
    X(NAME_CASE, name_differs_in_case_only)                                                        \
    X(JSON_SYNTAX, json_syntax)                                                                    \
    X(JSON_ENCODING, json_encoding)                                                                \
    X(JSON_TRUNCATED, json_truncated)                                                              \
    X(DUPLICATE_KEY, duplicate_key)                                                                \
    X(DEPTH_LIMIT, depth_limit)                                                                    \
    X(SIZE_LIMIT, size_limit)                                                                      \
    X(FIELD_INVALID, field_invalid)                                                                \
    X(FIELD_MISSING, field_missing)                                                                \
    X(DATABASE_UNKNOWN, database_unknown)                                                          \
    X(RESOURCE_UNKNOWN, resource_unknown)                                                          \
    X(BRANCH_UNKNOWN, branch_unknown)                                                              \
    X(BRANCH_EXPIRED, branch_expired)                                                              \
    X(SNAPSHOT_UNKNOWN, snapshot_unknown)                                                          \
    X(NODE_UNKNOWN, node_unknown)                                                                  \
    X(NODE_KIND, node_kind)                                                                        \
    X(REVISION_UNKNOWN, revision_unknown)                                                          \
    X(REVISION_AHEAD, revision_ahead)                                                              \
    X(REVISION_BEFORE_FIRST, revision_before_first)                                                \
    X(REVISION_PRUNED, revision_pruned)                                                            \
    X(REVISION_MOVED, revision_moved)                                                              \
    X(RESOURCE_HAS_VALUE, resource_has_value)                                                      \
    X(PATCH_TEST, patch_test)                                                                      \
    X(PATCH_TARGET, patch_target)                                                                  \
    X(APPLY_CONFLICT, apply_conflict)                                                              \
    X(NOT_FAST_FORWARD, not_fast_forward)                                                          \
    X(IDEMPOTENCY_MISMATCH, idempotency_mismatch)                                                  \
    X(QUEUE_TIMEOUT, write_queue_timeout)                                                          \
    X(READ_ONLY, read_only)                                                                        \
    X(DATABASE_READ_ONLY, database_read_only)                                                      \
    X(LOCKED, locked)                                                                              \
    X(CHECKSUM, checksum)                                                                          \
    X(CHAIN, chain)                                                                                \
    X(FORMAT_VERSION, format_version)                                                              \
    X(SHUTTING_DOWN, shutting_down)                                                                \
    X(CURSOR, cursor)                                                                              \
    X(DISK_FULL, disk_full)                                                                        \
    X(QUERY, query)                                                                                \
    X(SQL_REFUSED, sql_refused)                                                                    \
    X(SQL_STATEMENT, sql_statement)                                                                \
    X(SQL_ERROR, sql_error)                                                                        \
    X(SQL_LIMIT, sql_limit)                                                                        \
    X(CREDENTIALS, credentials)                                                                    \
    X(ROLE, role)                                                                                  \
    X(BRANCH_FORBIDDEN, branch_forbidden)                                                          \
    X(QUOTA, quota)

enum sirix_reason {
#define SIRIX_X(upper, lower) SIRIX_REASON_##upper,
    SIRIX_REASON_LIST(SIRIX_X)
#undef SIRIX_X
};

enum {
    SIRIX_ERROR_TEXT_BYTES = 512,
    SIRIX_ERROR_WHERE_BYTES = 256,
    SIRIX_ERROR_CODE_BYTES = 64,
};

/*
 * Why a call failed: one sentence and the facts that a program can use. Zero-initialise it; only a
 * failing call writes to it. Absent facts are 0 or "" (offset has its own flag).
 */
struct sirix_error {
    enum sirix_status status;
    enum sirix_reason reason;
    bool has_offset;
    uint64_t offset;           /* Byte offset in the input text, from 0. */
    uint64_t current_revision; /* Of the branch or resource that the call was about. */
    uint64_t oldest_revision;  /* That can still be read, where a revision could not. */
    uint64_t newest_revision;
    uint64_t retry_after_ms;
    uint64_t queue_place;              /* Of a write that waited for its turn; 1 is the next. */
    uint32_t line;                     /* In the text of a query, from 1. */
    uint32_t column;                   /* In code points, from 1. */
    char code[SIRIX_ERROR_CODE_BYTES]; /* Of a query's error, such as "XPST0017"; cut if longer. */
    char field[SIRIX_ERROR_WHERE_BYTES]; /* Request field, such as "view.timestamp". */
    char pointer
        [SIRIX_ERROR_WHERE_BYTES];     /* JSON pointer into the input or document; cut if longer. */
    char text[SIRIX_ERROR_TEXT_BYTES]; /* NUL-terminated; cut if longer, at a character. */
};

/* The stable name of a status, such as "not_found". Never NULL. */
const char *sirix_status_name(enum sirix_status status);

/* The stable name of a reason, such as "duplicate_key". Never NULL. */
const char *sirix_reason_name(enum sirix_reason reason);

/* The gRPC, JSON-RPC and exit code of a status, from SIRIX_STATUS_LIST. */
int sirix_status_grpc_code(enum sirix_status status);
int sirix_status_jsonrpc_code(enum sirix_status status);
int sirix_status_exit_code(enum sirix_status status);

/*
 * Records a failure and returns its status, so that a failing branch stays one statement:
 *
 *     return sirix_fail(err, SIRIX_INVALID, "name is empty");
 *
 * err may be NULL when the caller does not want the sentence. Clears the other facts.
 */
enum sirix_status sirix_fail(struct sirix_error *err, enum sirix_status status, const char *fmt,
                             ...) SIRIX_PRINTF(3, 4);

/* The same with a reason. */
enum sirix_status sirix_fail_reason(struct sirix_error *err, enum sirix_status status,
                                    enum sirix_reason reason, const char *fmt, ...)
    SIRIX_PRINTF(4, 5);

#ifdef __clang_analyzer__
/* An analyser sees one file at a time: it has to be told that a failure is the status it was given. */
/* NOLINTBEGIN(readability-identifier-naming): they stand for functions. */
#define sirix_fail(err, status, ...) ((void)sirix_fail(err, status, __VA_ARGS__), (status))
#define sirix_fail_reason(err, status, reason, ...)                                                \
    ((void)sirix_fail_reason(err, status, reason, __VA_ARGS__), (status))
/* NOLINTEND(readability-identifier-naming) */
#endif

/* Add a fact to an error just recorded; err may be NULL. Long texts are cut at a character. */
void sirix_error_set_field(struct sirix_error *err, const char *field);
void sirix_error_set_pointer(struct sirix_error *err, const char *pointer);
void sirix_error_set_offset(struct sirix_error *err, uint64_t offset);
void sirix_error_set_retry(struct sirix_error *err, uint64_t after_ms);
/* What a query language calls its error, and where in the text it is; line 0: not known. */
void sirix_error_set_code(struct sirix_error *err, const char *code, uint32_t line,
                          uint32_t column);

#endif
