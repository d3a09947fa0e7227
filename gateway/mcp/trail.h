/*
 * What the audit log (guard/audit.h) gets from calls of tools. Internal to mcp/.
 *
 * A call    has one line, `call`, before its answer is sent; a write that is tried has two: `intent`, on
 *           the disk before storaged is asked, and `outcome`, on the disk before the answer.
 * Arguments are there where they are names, paths, numbers and choices; of all others only the length
 *           is, and of all together a keyed digest, by which whoever has the key can prove what they were.
 * A line that cannot be written refuses the call; where the write has happened it is logged instead.
 */
#ifndef SIRIX_MCP_TRAIL_H
#define SIRIX_MCP_TRAIL_H

#include "mcp/tools.h"

/* A digest of all arguments, in whatever order they came, but for the one that is left out. */
enum sirix_status sirix_mcp_arguments_digest(struct sirix_mcp_call *call, const char *left_out,
                                             uint8_t out[SIRIX_SHA256_BYTES],
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* For whom the request is served, as the log names it. */
const char *sirix_mcp_principal(const struct sirix_mcp_request *request);

/* Before storaged is asked for a write with that key. Failing, the write must not be tried. */
enum sirix_status sirix_mcp_trail_intent(struct sirix_mcp_call *call,
                                         const struct sirix_write_options *write,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* After a call that ended with status (and error), with so many bytes of answer. */
enum sirix_status sirix_mcp_trail_outcome(struct sirix_mcp_call *call, enum sirix_status status,
                                          const struct sirix_error *error, size_t bytes,
                                          uint64_t duration_us,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* A call of a tool that there is not, or that is withheld from this caller. */
enum sirix_status sirix_mcp_trail_unknown(struct sirix_mcp_request *request,
                                          struct sirix_bytes name, bool is_withheld,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
