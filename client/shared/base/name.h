/*
 * The names of things: databases, resources, snapshots (labels) and branches.
 *
 * A name has 1..128 characters out of ASCII letters, digits, `.`, `_` and `-`, and begins with a
 * letter or a digit. Names keep their case, but no two of one kind and place differ in case alone;
 * sirix_ascii_fold() gives the key for that rule. A snapshot or branch may not look like a revision
 * number (digits only) or like the beginning of a timestamp (dddd-dd-dd...), because all of them are
 * written behind the same `@`.
 */
#ifndef SIRIX_BASE_NAME_H
#define SIRIX_BASE_NAME_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_NAME_BYTES_MAX = 128 };

/* The branch that is always there. */
#define SIRIX_BRANCH_MAIN "main"

enum sirix_name_kind {
    SIRIX_NAME_DATABASE,
    SIRIX_NAME_RESOURCE,
    SIRIX_NAME_SNAPSHOT,
    SIRIX_NAME_BRANCH,
};

/*
 * SIRIX_INVALID (reason name_invalid, or field_missing for an empty name) unless the name is allowed
 * for its kind. field is how the caller calls it ("view.branch"); it is named in the sentence and
 * recorded. The sentence never repeats characters that a terminal would act on; the offset is that
 * of the first wrong byte.
 */
enum sirix_status sirix_name_check(enum sirix_name_kind kind, struct sirix_bytes name,
                                   const char *field, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a text after `@` is a revision number: digits only, 1..20 of them, within u64. */
bool sirix_name_is_revision(struct sirix_bytes text, uint64_t *out_revision);

/* Whether a text after `@` is meant as a timestamp: it begins with dddd-dd-dd. */
bool sirix_name_is_timestamp(struct sirix_bytes text);

#endif
