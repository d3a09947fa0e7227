/*
 * subscriptions/listen: a request whose answer is its end, with what changed meanwhile as
 * notifications before it.
 *
 * A transport opens the listener, sends the acknowledgment, adds the listener to the events, and at
 * the end removes it and answers the request.
 */
#ifndef SIRIX_MCP_LISTEN_H
#define SIRIX_MCP_LISTEN_H

#include "mcp/server.h"

/*
 * Fills the listener (its tell() is the transport's) with what the request wants and may have, and
 * appends the acknowledgment that names it. What cannot be watched is left out without a word. On
 * failure nothing is left to be removed. Asks the storage.
 */
enum sirix_status sirix_mcp_listen_open(struct sirix_mcp_request *request,
                                        struct sirix_events_listener *listener,
                                        struct sirix_buf *out_acknowledgment,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
