/*
 * The calls that the tools make, on libsirix. Tests link another implementation of this header.
 *
 * Opening    begins at start on a thread of its own, so that `initialize` is answered while a
 *            storaged still starts; a call waits for it, at most as long as its deadline. If opening
 *            failed, the next call opens again: a gateway may be started before its storaged.
 * Calls      mean what the function of the same name in sirix/sirix.h says. Answers that come as
 *            pointers go back through sirix_backend_release().
 * Threads    Any number at once.
 */
#ifndef SIRIX_BACKEND_BACKEND_H
#define SIRIX_BACKEND_BACKEND_H

#include <stdbool.h>

#include "sirix/sirix.h"

struct sirix_gateway_backend;

struct sirix_gateway_backend_options {
    const char *directory; /* Of an embedded storaged, or */
    const char *address;   /* of a running one. One of the two; they must outlive the backend. */
    bool read_only;        /* Embedded: only the reader's socket is opened. */
    /* Of a running one; files, NULL: none. As in struct sirix_client_options. */
    const char *token_file;
    const char *tls_ca;
    const char *tls_cert;
    const char *tls_key;
};

/* Starts opening. SIRIX_NO_MEMORY, SIRIX_IO. */
enum sirix_status sirix_backend_start(const struct sirix_gateway_backend_options *options,
                                      struct sirix_gateway_backend **out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* When no call is left. NULL is allowed. */
void sirix_backend_stop(struct sirix_gateway_backend *backend);

void sirix_backend_release(const void *answer);

/* X(name, request type, answer type): calls of one request and one answer that is a pointer. */
#define SIRIX_BACKEND_CALLS(X)                                                                     \
    X(get_resource, const struct sirix_resource_request, struct sirix_resource_info)               \
    X(read_node, const struct sirix_read_node_request, struct sirix_node_page)                     \
    X(history, const struct sirix_history_request, struct sirix_history_page)                      \
    X(apply, const struct sirix_apply_request, struct sirix_apply_result)                          \
    X(create_snapshot, const struct sirix_create_snapshot_request,                                 \
      struct sirix_create_snapshot_result)                                                         \
    X(create_branch, const struct sirix_create_branch_request, struct sirix_create_branch_result)  \
    X(diff, const struct sirix_diff_request, struct sirix_diff_stream)                             \
    X(query, const struct sirix_query_request, struct sirix_query_stream)                          \
    X(sql, const struct sirix_sql_request, struct sirix_sql_stream)                                \
    X(update_query, const struct sirix_update_query_request, struct sirix_update_query_result)

/* X(name, request type, answer type): the same, and the answer is the caller's struct. */
#define SIRIX_BACKEND_PLAIN_CALLS(X)                                                               \
    X(revert, const struct sirix_revert_request, struct sirix_revert_result)                       \
    X(delete_snapshot, const struct sirix_delete_name_request, struct sirix_delete_name_result)    \
    X(delete_branch, const struct sirix_delete_name_request, struct sirix_delete_name_result)      \
    X(promote, const struct sirix_promote_request, struct sirix_promote_result)

/* NOLINTBEGIN(bugprone-macro-parentheses): names of types take none. */
#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type **out, struct sirix_error *err)         \
        SIRIX_MUST_CHECK;
SIRIX_BACKEND_CALLS(SIRIX_X)
#undef SIRIX_X

#define SIRIX_X(name, request_type, answer_type)                                                   \
    enum sirix_status sirix_backend_##name(                                                        \
        struct sirix_gateway_backend *backend, request_type *request,                              \
        const struct sirix_call_options *call, answer_type *out, struct sirix_error *err)          \
        SIRIX_MUST_CHECK;
SIRIX_BACKEND_PLAIN_CALLS(SIRIX_X)
#undef SIRIX_X
/* NOLINTEND(bugprone-macro-parentheses) */

enum sirix_status sirix_backend_list_databases(struct sirix_gateway_backend *backend,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_database_list **out,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_list_resources(struct sirix_gateway_backend *backend,
                                               const char *database, const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_resource_list **out,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_list_snapshots(struct sirix_gateway_backend *backend,
                                               const char *database, const char *resource,
                                               const struct sirix_page *page,
                                               const struct sirix_call_options *call,
                                               struct sirix_snapshot_list **out,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_list_branches(struct sirix_gateway_backend *backend,
                                              const char *database, const char *resource,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_branch_list **out,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_create_database(struct sirix_gateway_backend *backend,
                                                const char *database,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_create_resource(struct sirix_gateway_backend *backend,
                                                const char *database, const char *resource,
                                                const struct sirix_write_options *write,
                                                const struct sirix_call_options *call,
                                                struct sirix_write_result *out,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backend_status(struct sirix_gateway_backend *backend,
                                       const struct sirix_call_options *call,
                                       struct sirix_server_status **out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The parts of a diff; see sirix_diff_stream_next(). */
struct sirix_diff_ends sirix_backend_diff_ends(const struct sirix_diff_stream *stream);
enum sirix_status sirix_backend_diff_next(struct sirix_diff_stream *stream,
                                          struct sirix_diff_part *out_part,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_backend_diff_close(struct sirix_diff_stream *stream);

/* The parts of an answer; see sirix_query_stream_next(). */
enum sirix_status sirix_backend_query_next(struct sirix_query_stream *stream,
                                           struct sirix_query_part *out_part,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_backend_query_close(struct sirix_query_stream *stream);

/* The parts of rows; see sirix_sql_stream_next(). */
enum sirix_status sirix_backend_sql_next(struct sirix_sql_stream *stream,
                                         struct sirix_sql_part *out_part,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_backend_sql_close(struct sirix_sql_stream *stream);

#endif
