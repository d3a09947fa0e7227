/*
 * Which databases and resources a caller may see: allow and deny lists of exact names and `*`.
 *
 * Deny wins. Without a list everything is allowed; an empty allow list allows nothing. A database
 * without an entry in allowResources has all its resources allowed. Deny lists ignore the case of
 * letters, since no two names differ in case alone; allow lists do not.
 */
#ifndef SIRIX_GUARD_ACCESS_H
#define SIRIX_GUARD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

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
};

bool sirix_access_database(const struct sirix_access *access, struct sirix_bytes database);

/* Also false where the database is not allowed. */
bool sirix_access_resource(const struct sirix_access *access, struct sirix_bytes database,
                           struct sirix_bytes resource);

#endif
