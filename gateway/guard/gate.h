/*
 * The gate: who a caller over HTTP is, by the token that came with the request.
 *
 * A token is looked for among the static ones first; then, where there is an authorization server, it
 * must be an access token of its: signature, issuer, audience and times (guard/jwt.h).
 *
 * Claims     `sub` is the caller's name, shown as "oauth:SUB"; `scope` (or `scp`, a text or a list) has
 *            the rights read, write and admin; `sirix`, an object that may be left out, narrows them as
 *            a line of the file of tokens does: allowDatabases, denyDatabases, allowResources,
 *            allowBranches.
 * Threads    Any number.
 */
#ifndef SIRIX_GUARD_GATE_H
#define SIRIX_GUARD_GATE_H

#include "guard/identity.h"
#include "guard/jwks.h"
#include "guard/settings.h"

struct sirix_gate {
    struct sirix_tokens tokens; /* May be none. */
    struct sirix_jwks *jwks;    /* NULL: no authorization server. */
    struct sirix_jwt_rules rules;
};

/* As the settings have it; they outlive it. SIRIX_INVALID, SIRIX_IO, SIRIX_NO_MEMORY. */
enum sirix_status sirix_gate_open(const struct sirix_settings *settings, struct sirix_gate *out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_gate_close(struct sirix_gate *gate);

/*
 * The caller who has that token, in the arena; rights may be 0. SIRIX_UNAUTHENTICATED: nobody we know;
 * SIRIX_UNAVAILABLE: it cannot be found out now.
 */
enum sirix_status sirix_gate_identify(const struct sirix_gate *gate, struct sirix_bytes token,
                                      int64_t now_s, struct sirix_arena *arena,
                                      struct sirix_identity *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
