/*
 * Which databases and resources a request is narrowed to: allow and deny lists of exact names and `*`.
 * Deny wins and ignores the case of letters, since no two names differ in case alone; without a list
 * everything is allowed, and a database without a rule has all its resources allowed.
 */
#ifndef SIRIX_SERVICE_SCOPE_H
#define SIRIX_SERVICE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct sirix_scope_list {
    bool given; /* Else: all. */
    const struct sirix_bytes *names;
    size_t count;
};

struct sirix_scope_rule {
    struct sirix_bytes database;
    struct sirix_scope_list resources; /* Always given. */
};

/* Zero-initialised: everything. */
struct sirix_scope {
    struct sirix_scope_list allow_databases;
    struct sirix_scope_list deny_databases;
    const struct sirix_scope_rule *rules;
    size_t rule_count;
};

/* resource empty: whether the database may be seen. */
bool sirix_scope_sees(const struct sirix_scope *scope, struct sirix_bytes database,
                      struct sirix_bytes resource);

/* The same; context is a struct sirix_scope. */
bool sirix_scope_allows(void *context, struct sirix_bytes database, struct sirix_bytes resource);

/* Whether every resource of the database may be seen, whatever it is called. */
bool sirix_scope_sees_all(const struct sirix_scope *scope, struct sirix_bytes database);

#endif
