/*
 * Which databases and resources a caller may see: allow and deny lists of exact names and `*`.
 *
 * Deny wins. Without a list everything is allowed; an empty allow list allows nothing. A database
 * without an entry in allowResources has all its resources allowed. Deny lists ignore the case of
 * letters, since no two names differ in case alone; allow lists do not.
 * Branches are limited for writing only: a revision is read by its number, on whatever branch it is.
 */
#ifndef SIRIX_GUARD_ACCESS_H
#define SIRIX_GUARD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

struct sirix_access_list {
    bool is_given;
    const char **names;
    size_t count;
};

struct sirix_access_rule {
    const char *database;
    struct sirix_access_list resources;
};

struct sirix_access {
    struct sirix_access_list allow_databases;
    struct sirix_access_list deny_databases;
    struct sirix_access_rule *rules; /* One for each database in allowResources. */
    size_t rule_count;
    struct sirix_access_list allow_branches; /* That may be written to; any may be read. */
};

bool sirix_access_database(const struct sirix_access *access, struct sirix_bytes database);

/* Also false where the database is not allowed. */
bool sirix_access_resource(const struct sirix_access *access, struct sirix_bytes database,
                           struct sirix_bytes resource);

/* Whether a branch may be written to. */
bool sirix_access_branch(const struct sirix_access *access, struct sirix_bytes branch);

/*
 * What both allow. Lists are made in the arena and share their names with a and b, which must live as
 * long. Both being what callers may see, order does not matter.
 */
enum sirix_status sirix_access_both(const struct sirix_access *a, const struct sirix_access *b,
                                    struct sirix_arena *arena, struct sirix_access *out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
