/*
 * MCP over two file descriptors: one message a line in, one a line out.
 *
 * Order      `initialize`, `ping`, `tools/list`, notifications and all refusals are answered by the
 *            reading thread, at once; calls of tools run on a few threads beside it, so that a long
 *            one holds up nobody and can be cancelled. A cancelled request is not answered.
 * Limits     Of the memory of messages that wait or run: past it, calls are refused. Of answers that
 *            nobody has read: past it, no more input is read.
 * End        At the end of input, calls get SIRIX_STDIO_END_GRACE_MS to finish, then they are
 *            cancelled. When stop_fd becomes readable, they get as long as they may take. When
 *            output cannot be written any more, they are cancelled. Answers that are there are
 *            still given, unless nothing is read for SIRIX_STDIO_UNREAD_GRACE_MS.
 */
#ifndef SIRIX_TRANSPORT_STDIO_H
#define SIRIX_TRANSPORT_STDIO_H

#include "base/status.h"
#include "mcp/server.h"

enum {
    SIRIX_STDIO_END_GRACE_MS = 2000,
    SIRIX_STDIO_CANCEL_GRACE_MS = 3000,
    SIRIX_STDIO_UNREAD_GRACE_MS = 2000,
    SIRIX_STDIO_LISTENERS_MAX = 32,
    SIRIX_STDIO_WAITING_BYTES_MAX = 256 * 1024 * 1024,
    SIRIX_STDIO_OUTPUT_BYTES_MAX = 4 * 1024 * 1024,
};

struct sirix_stdio_options {
    int in_fd;
    int out_fd;            /* Written to by nobody else. */
    int stop_fd;           /* Readable when the process shall end; -1: none. */
    size_t line_bytes_max; /* 0: SIRIX_LINE_BYTES_MAX. */
    /* Of the trees of all messages that wait or run; one alone always may. 0: the constant. */
    size_t waiting_bytes_max;
    /* Of answers that are not written; 0: the constant. */
    size_t output_bytes_max;
};

/*
 * Serves until the end. SIRIX_DEADLINE: a call did not end though it was cancelled, or nobody reads
 * the answers (a thread still uses the server: leave with _exit()); SIRIX_IO, SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_stdio_run(const struct sirix_mcp_server *server,
                                  const struct sirix_stdio_options *options,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
