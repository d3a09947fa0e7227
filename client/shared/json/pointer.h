/*
 * Two ways to name a place in a JSON value.
 *
 * Pointer   RFC 6901: /users/5/name. `~1` is `/`, `~0` is `~`; whether a step is a name or a
 *           position is known from the value alone. Used in RFC 6902 and in error details.
 * Path      /users/[5]/name, the form of SirixDB, everywhere else: positions stand in brackets,
 *           from 0. Escapes as in pointers, and a name that begins with `[` begins with `~2`.
 *
 * In both "" is the whole value and "/" its member "". Texts are plain UTF-8 that may hold any code
 * point, U+0000 included; names in steps are canonical (json/text.h).
 */
#ifndef SIRIX_JSON_POINTER_H
#define SIRIX_JSON_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/tree.h"

enum { SIRIX_JSON_STEPS_MAX = SIRIX_JSON_DEPTH_MAX, SIRIX_JSON_PATH_BYTES_MAX = 1024 * 1024 };

struct sirix_json_step {
    struct sirix_bytes name; /* Canonical. Pointer: always set. Path: empty for a position. */
    uint64_t position;       /* If is_position. */
    bool is_position; /* Path: in brackets. Pointer: may also be a position (0, 12; not 012). */
    bool is_end;      /* Pointer: the step `-`, the place behind the last element. */
};

struct sirix_json_steps {
    struct sirix_json_step *steps;
    size_t count;
};

/*
 * Read a text into steps, in the arena; steps without escapes are views of the text. SIRIX_INVALID
 * (field_invalid) with the offset of the wrong byte in the text; the limits above are size_limit.
 */
enum sirix_status sirix_json_pointer_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                           struct sirix_json_steps *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_path_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                        struct sirix_json_steps *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Append one step, with its slash, to a pointer under construction. */
enum sirix_status sirix_json_pointer_add_name(struct sirix_buf *buf, struct sirix_bytes canonical,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_pointer_add_position(struct sirix_buf *buf, uint64_t position,
                                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Append all steps. */
enum sirix_status sirix_json_pointer_format(struct sirix_buf *buf,
                                            const struct sirix_json_steps *steps,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_path_format(struct sirix_buf *buf,
                                         const struct sirix_json_steps *steps,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Append the pointer or path of a node in its tree. */
enum sirix_status sirix_json_pointer_of(const struct sirix_json_node *node, struct sirix_buf *buf,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_path_of(const struct sirix_json_node *node, struct sirix_buf *buf,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The node that steps name, from root. SIRIX_NOT_FOUND (node_unknown) with the pointer of the first
 * step that leads nowhere. With a path, a position in an object or a name in an array is NOT_FOUND.
 */
enum sirix_status sirix_json_resolve(struct sirix_json_tree *tree, struct sirix_json_node *root,
                                     const struct sirix_json_steps *steps,
                                     struct sirix_json_node **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sets the pointer of an error (NULL is allowed), controls as escapes, cut if it is long. */
void sirix_json_error_set_steps(struct sirix_error *err, const struct sirix_json_steps *steps);

#endif
