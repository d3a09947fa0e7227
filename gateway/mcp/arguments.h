/*
 * The arguments of a tool call, checked against the tool's input schema, which is the one place that
 * says which there are: the members `properties` (type, enum, minimum, maximum) and `required`.
 *
 * Unknown    arguments are refused with the list of known ones.
 * integer    10, 10.0, 1e1 and "10" are the same; 10.5 is refused.
 * boolean    true, false, and "true" and "false".
 * string     is taken as it is, never parsed.
 * array, object   also as a string that holds exactly such a JSON text.
 * no type    any value, kept with its numbers as written.
 * null       means that the argument is not there, except where there is no type.
 */
#ifndef SIRIX_MCP_ARGUMENTS_H
#define SIRIX_MCP_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/tree.h"

enum { SIRIX_ARGUMENTS_MAX = 24 }; /* Properties of one schema. */

struct sirix_argument {
    const char *name;        /* From the schema; NUL-terminated. */
    struct sirix_bytes text; /* Of a string: plain, with a NUL behind it that is not counted. */
    uint64_t number;         /* Of an integer. */
    bool boolean;
    struct sirix_json_node *node; /* Of array, object and any. */
};

struct sirix_arguments {
    struct sirix_argument items[SIRIX_ARGUMENTS_MAX];
    size_t count;
};

/*
 * Reads the object (NULL: none was given) by the schema, whose tree is not changed. Errors are
 * SIRIX_INVALID with the argument's name as field.
 */
enum sirix_status sirix_arguments_read(struct sirix_arena *arena,
                                       const struct sirix_json_node *schema,
                                       struct sirix_json_node *object, struct sirix_arguments *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The argument of that name; NULL when it was not given. */
const struct sirix_argument *sirix_argument(const struct sirix_arguments *arguments,
                                            const char *name);

/* The value given, or the other one. */
uint64_t sirix_argument_number(const struct sirix_arguments *arguments, const char *name,
                               uint64_t otherwise);
bool sirix_argument_boolean(const struct sirix_arguments *arguments, const char *name);
struct sirix_bytes sirix_argument_text(const struct sirix_arguments *arguments, const char *name);

/* The member of a tree that other threads read too: makes no index. NULL when there is none. */
const struct sirix_json_node *sirix_arguments_member(const struct sirix_json_node *object,
                                                     const char *name);

/* Appends name and value of a member as the one text that digests are made of. */
enum sirix_status sirix_arguments_append_text(const struct sirix_json_node *member,
                                              struct sirix_buf *text,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
