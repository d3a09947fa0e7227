/*
 * URI templates of resources: literal text and variables in braces, each of which stands for one
 * segment without a slash, percent-encoded (a small part of RFC 6570).
 */
#ifndef SIRIX_MCP_URI_H
#define SIRIX_MCP_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_URI_VALUES_MAX = 4, SIRIX_URI_BYTES_MAX = 2048 };

/* What the variables of a template stand for, in its order: plain text with a NUL behind it. */
struct sirix_uri_values {
    struct sirix_bytes items[SIRIX_URI_VALUES_MAX];
    size_t count;
};

/* Whether the text has variables. */
bool sirix_uri_is_template(const char *text);

/*
 * Whether the URI (plain text) is one of the template; values lie in the arena. A value that is not
 * properly encoded, is not UTF-8 or holds a NUL does not match; neither does an empty one.
 */
enum sirix_status sirix_uri_match(struct sirix_arena *arena, const char *uri_template,
                                  struct sirix_bytes uri, bool *out_matches,
                                  struct sirix_uri_values *out_values,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the template with the values in it. There must be as many as variables. */
enum sirix_status sirix_uri_expand(struct sirix_buf *out, const char *uri_template,
                                   const struct sirix_bytes *values, size_t count,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
