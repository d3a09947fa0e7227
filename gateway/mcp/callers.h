/*
 * Callers that have said who they are, each with the server as they see it: a copy of the server with
 * settings that are no wider than their rights, a backend that can do no more, and limits of their own.
 * Whatever asks its request's server what is allowed so gets the caller's answer.
 *
 * Same caller  One that comes with the same name and rights again, by whatever token.
 * Bound        SIRIX_CALLERS_MAX are kept; the one that has been away longest makes room. Where all are
 *              at work, SIRIX_EXHAUSTED.
 * Threads      Any number at once.
 */
#ifndef SIRIX_MCP_CALLERS_H
#define SIRIX_MCP_CALLERS_H

#include "guard/identity.h"
#include "mcp/server.h"

enum { SIRIX_CALLERS_MAX = 4096 };

struct sirix_callers;
struct sirix_caller;

/*
 * Callers of a server, which outlives them. reader: the backend of those who may only read; NULL: the
 * server's own. Make it when the server is complete, its keys and its audit log included.
 */
enum sirix_status sirix_callers_new(const struct sirix_mcp_server *server,
                                    struct sirix_gateway_backend *reader,
                                    struct sirix_callers **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* When no reference is left. NULL is allowed. */
void sirix_callers_free(struct sirix_callers *callers);

/* The caller of that identity, of which nothing need live on; with a reference for whoever asks. */
enum sirix_status sirix_callers_get(struct sirix_callers *callers,
                                    const struct sirix_identity *identity,
                                    struct sirix_caller **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

const struct sirix_mcp_server *sirix_caller_server(const struct sirix_caller *caller);

/* NULL is allowed. */
struct sirix_caller *sirix_caller_ref(struct sirix_caller *caller);
void sirix_caller_unref(struct sirix_caller *caller);

#endif
