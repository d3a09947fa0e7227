/*
 * Who makes a call, and what that allows.
 *
 * A principal is fixed by the door (socket or port) that a call comes in by, or by the token or the
 * certificate that it comes with; nothing else that a request says makes it more. Immutable once made:
 * any thread may read one.
 *
 * Rights    Three lists of patterns, in which `*` is any run of characters and case counts. An empty
 *           list is everything. Databases and resources that are outside are as good as not there;
 *           branches and snapshots that are outside can be read and not be made, moved or deleted,
 *           because a revision that was made on one branch may be an ancestor on any other.
 * Lifetime  A principal of a file lives as long as its table, which is counted; the fixed ones are
 *           always there, and counting them does nothing.
 */
#ifndef SIRIX_AUTH_PRINCIPAL_H
#define SIRIX_AUTH_PRINCIPAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum sirix_role {
    SIRIX_ROLE_READER,   /* Reads, changes nothing. */
    SIRIX_ROLE_WRITER,   /* And makes revisions, labels, branches, resources and databases. */
    SIRIX_ROLE_OPERATOR, /* And whatever changes the daemon itself. */
};

enum { SIRIX_PRINCIPAL_NAME_BYTES_MAX = 64 };

struct sirix_principal_table;

/* Patterns; no items: everything. */
struct sirix_patterns {
    const char *const *items;
    size_t count;
};

struct sirix_principal {
    enum sirix_role role;
    bool trusted_to_speak_for_others; /* What it claims in on_behalf_of is not marked as claimed. */
    char name[SIRIX_PRINCIPAL_NAME_BYTES_MAX + 1];
    struct sirix_patterns databases;
    struct sirix_patterns resources;     /* "RESOURCE" in every database, or "DATABASE/RESOURCE". */
    struct sirix_patterns branches;      /* And snapshots: they share their names. */
    struct sirix_principal_table *table; /* NULL: one of the fixed ones. */
};

/* Everybody on storaged.sock (the folder lets its owner in alone), and on a port without principals. */
extern const struct sirix_principal sirix_principal_owner;

/* Everybody on reader.sock, whatever is sent. */
extern const struct sirix_principal sirix_principal_reader;

/* Whoever is not known; may make the calls that are for everybody. */
extern const struct sirix_principal sirix_principal_nobody;

static inline bool sirix_principal_may_write(const struct sirix_principal *principal)
{
    return principal->role != SIRIX_ROLE_READER;
}

/* "reader", "writer" or "operator". */
const char *sirix_role_name(enum sirix_role role);

/* Whether a text is matched by a pattern; a match takes at most pattern times text steps. */
bool sirix_pattern_matches(const char *pattern, struct sirix_bytes text);

/* Whether a database, or (resource not empty) a resource of it, is there for the principal. */
bool sirix_principal_sees(const struct sirix_principal *principal, struct sirix_bytes database,
                          struct sirix_bytes resource);

/* Whether every resource of a database is, whatever it is called. */
bool sirix_principal_sees_all(const struct sirix_principal *principal, struct sirix_bytes database);

/* Whether a branch or snapshot may be changed; name empty: whether any may, whatever it is called. */
bool sirix_principal_may_change(const struct sirix_principal *principal, struct sirix_bytes name);

/* Counts the table of a principal. */
void sirix_principal_ref(const struct sirix_principal *principal);
void sirix_principal_unref(const struct sirix_principal *principal);

/* Whether its table was replaced since: a long call had better begin anew. */
bool sirix_principal_is_outdated(const struct sirix_principal *principal);

#endif
