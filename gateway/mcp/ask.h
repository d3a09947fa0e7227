/*
 * Asking the client's user or model in the middle of a request.
 *
 * Handlers are written for the modern era, where a request is answered with the questions and comes
 * again with the answers:
 *
 *     status = sirix_mcp_ask(request, questions, count, state, &answers, &is_later, err);
 *     if (status != SIRIX_OK || is_later) {
 *         return status;
 *     }
 *
 * A handler that is run again does everything before the question a second time, so nothing may have
 * been changed until then. In the legacy era the questions are sent as requests of ours, the thread
 * waits, and the handler goes on where it is.
 *
 * Whom        Only a client that has declared the capability is asked: sirix_mcp_can_ask() first, or
 *             fail with sirix_mcp_need_capability().
 * State       What the handler must remember until the answers come. The client keeps it, sealed: it
 *             comes back for the same request (method, name and arguments) within
 *             SIRIX_MCP_STATE_LIFE_S, or not at all. That it comes back once only is not promised.
 * Answers     are the client's: to be checked against what was asked. A client that answers with an
 *             error, or not within SIRIX_MCP_ASK_TIMEOUT_MS, is SIRIX_UNAVAILABLE; a request that is
 *             cancelled meanwhile SIRIX_CANCELLED.
 */
#ifndef SIRIX_MCP_ASK_H
#define SIRIX_MCP_ASK_H

#include "mcp/request.h"

enum {
    SIRIX_MCP_ASK_TIMEOUT_MS = 600 * 1000,
    SIRIX_MCP_QUESTIONS_MAX = 8,
    SIRIX_MCP_STATE_LIFE_S = 600,
    SIRIX_MCP_STATE_BYTES_MAX = 16 * 1024, /* Before it is sealed. */
};

struct sirix_mcp_question {
    const char *key;           /* Of its answer; unique among those asked together. */
    const char *method;        /* elicitation/create, sampling/createMessage, roots/list. */
    struct sirix_bytes params; /* JSON text of an object; empty: none. */
};

/* Whether the client of the request can be asked for that. */
bool sirix_mcp_can_ask(const struct sirix_mcp_request *request,
                       enum sirix_mcp_capability capability);

/*
 * The failure of a request that its client cannot be asked for: SIRIX_PRECONDITION; in the modern
 * era the protocol's own error that names the capability.
 */
enum sirix_status sirix_mcp_need_capability(struct sirix_mcp_request *request,
                                            enum sirix_mcp_capability capability,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Asks all questions at once. *out_answers: an object of keys and results, in the request's arena.
 * *out_is_later: the questions will be sent as the answer of this request; the handler returns
 * SIRIX_OK without having done anything.
 */
enum sirix_status sirix_mcp_ask(struct sirix_mcp_request *request,
                                const struct sirix_mcp_question *questions, size_t count,
                                struct sirix_bytes state,
                                const struct sirix_json_node **out_answers, bool *out_is_later,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* The answer to an earlier question that came with the request; NULL: none. Modern era only. */
const struct sirix_json_node *sirix_mcp_given_answer(const struct sirix_mcp_request *request,
                                                     const char *key);

/*
 * The state that came with it, opened; empty: none. SIRIX_INVALID, as an error of the protocol: it is
 * not what was given out for this request, or has expired.
 */
enum sirix_status sirix_mcp_given_state(struct sirix_mcp_request *request, struct sirix_bytes *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
