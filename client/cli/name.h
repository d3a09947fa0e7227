/*
 * What people write for things: DB, DB/RESOURCE, DB/RESOURCE@WHAT, and DB/RESOURCE@WHAT/PATH never:
 * paths are flags.
 *
 * WHAT      12                   revision 12
 *           2024-01-15T10:00:00Z the last revision at that time, on main or --branch
 *           main                 the head of branch main, also where a snapshot has that name
 *           snapshot:NAME        the snapshot of that name, whatever else has it
 *           branch:NAME          the head of that branch
 *           anything else        the snapshot of that name, or else the branch
 */
#ifndef SIRIX_CLI_NAME_H
#define SIRIX_CLI_NAME_H

#include <stdbool.h>

#include "base/name.h"
#include "sirix/sirix.h"

enum sirixctl_at_kind {
    SIRIXCTL_AT_NOTHING,
    SIRIXCTL_AT_REVISION,
    SIRIXCTL_AT_TIMESTAMP,
    SIRIXCTL_AT_BRANCH,
    SIRIXCTL_AT_SNAPSHOT,
    SIRIXCTL_AT_LABEL, /* A snapshot or a branch: only the server knows. */
};

struct sirixctl_name {
    char database[SIRIX_NAME_BYTES_MAX + 1];
    char resource[SIRIX_NAME_BYTES_MAX + 1]; /* "" where none was written. */
    enum sirixctl_at_kind at;
    uint64_t revision;
    const char *what;  /* Behind the @; a view of the text that was parsed. */
    const char *label; /* Of a branch, snapshot or label: its name, a part of what. */
};

/* SIRIX_INVALID (name_invalid) with the part that is wrong. */
enum sirix_status sirixctl_name_parse(const char *text, struct sirixctl_name *out_name,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* What stands behind an @, alone. The database and the resource of name stay. */
enum sirix_status sirixctl_name_parse_at(const char *what, struct sirixctl_name *name,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The view of a name: asks the server whether a label is a snapshot or a branch; SIRIX_NOT_FOUND
 * (branch_unknown) where it is neither. branch (may be NULL) is --branch, which goes with a timestamp
 * or with nothing. The view borrows from name and branch.
 */
enum sirix_status sirixctl_name_view(struct sirix_client *client, const struct sirixctl_name *name,
                                     const char *branch, const struct sirix_call_options *call,
                                     struct sirix_view *out_view,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether --branch (may be NULL) goes with what stands behind the @. */
enum sirix_status sirixctl_name_check_branch(const struct sirixctl_name *name, const char *branch,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* A name that is written, not read: no @ allowed. */
enum sirix_status sirixctl_name_refuse_at(const struct sirixctl_name *name,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
