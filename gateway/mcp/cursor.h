/*
 * Where a list or a long answer goes on: which revision it is of, how many items to leave out after
 * which cursor of the server. Text out of [0-9a-f-], bound by a tag to the tool and its arguments,
 * so that a cursor of one list is refused by another. Nothing in it is secret or trusted: what it
 * names is checked like arguments.
 */
#ifndef SIRIX_MCP_CURSOR_H
#define SIRIX_MCP_CURSOR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_CURSOR_BYTES_MAX = 8192 };

struct sirix_cursor {
    uint64_t revision; /* 0: of none. */
    uint64_t skip;
    struct sirix_bytes server; /* Empty: from the beginning. */
};

/* A tag of what a list is about. */
uint64_t sirix_cursor_tag(const char *tool, const char *database, const char *resource,
                          uint64_t detail);

/* As a C string in the arena. */
enum sirix_status sirix_cursor_write(struct sirix_arena *arena, uint64_t tag,
                                     const struct sirix_cursor *cursor, const char **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_INVALID (reason and field cursor) when it was not written so for that tag. */
enum sirix_status sirix_cursor_read(struct sirix_arena *arena, uint64_t tag,
                                    struct sirix_bytes text, struct sirix_cursor *out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The cursor in the parameters of a list request; at the beginning where there is none. */
struct sirix_mcp_request;
enum sirix_status sirix_cursor_param(struct sirix_mcp_request *request, uint64_t tag,
                                     struct sirix_cursor *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
