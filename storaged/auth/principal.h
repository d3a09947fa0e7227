/*
 * Who makes a call, and what that allows.
 *
 * A principal is fixed by the door (socket or port) that a call comes in by; nothing that a request
 * says makes it more. Immutable once made: any thread may read one.
 */
#ifndef SIRIX_AUTH_PRINCIPAL_H
#define SIRIX_AUTH_PRINCIPAL_H

#include <stdbool.h>

enum sirix_role {
    SIRIX_ROLE_READER,   /* Reads everything, changes nothing. */
    SIRIX_ROLE_WRITER,   /* And makes revisions, labels, branches, resources and databases. */
    SIRIX_ROLE_OPERATOR, /* And whatever changes the daemon itself. */
};

enum { SIRIX_PRINCIPAL_NAME_BYTES_MAX = 64 };

struct sirix_principal {
    enum sirix_role role;
    bool trusted_to_speak_for_others; /* What it claims in on_behalf_of is not marked as claimed. */
    char name[SIRIX_PRINCIPAL_NAME_BYTES_MAX + 1];
};

/* Everybody on storaged.sock (the folder lets its owner in alone) and on a loopback port. */
extern const struct sirix_principal sirix_principal_owner;

/* Everybody on reader.sock, whatever is sent. */
extern const struct sirix_principal sirix_principal_reader;

static inline bool sirix_principal_may_write(const struct sirix_principal *principal)
{
    return principal->role != SIRIX_ROLE_READER;
}

#endif
