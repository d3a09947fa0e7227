/*
 * Access tokens that an authorization server has signed: JSON Web Tokens (RFC 7519, RFC 9068) in compact
 * form, and the keys that check them (RFC 7517).
 *
 * Algorithms  RS256, ES256 and EdDSA with Ed25519. A key is good for one of them, by its type, whatever
 *             a token says: a token that names none, or one with a shared secret, or another one than
 *             its key's, is refused. So is one with `crit`, and one that is encrypted.
 * Order       Nothing of the claims is looked at before the signature is good.
 * Threads     A set of keys is read-only once made: any number.
 */
#ifndef SIRIX_GUARD_JWT_H
#define SIRIX_GUARD_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/tree.h"

enum {
    SIRIX_JWT_BYTES_MAX = 16 * 1024,
    SIRIX_JWT_KEYS_MAX = 64,
    SIRIX_JWT_RSA_BITS_MIN = 2048,
    SIRIX_JWT_RSA_BITS_MAX = 8192,
    SIRIX_JWT_SKEW_S = 60, /* How far clocks may be apart. */
};

enum sirix_jwt_algorithm {
    SIRIX_JWT_RS256,
    SIRIX_JWT_ES256,
    SIRIX_JWT_EDDSA,
};

/* --- Keys ----------------------------------------------------------------------------------------- */

struct sirix_jwt_keys;

/*
 * The keys of a JWK set that are for signatures of a kind we know; others are passed over. The caller
 * has the first reference. SIRIX_INVALID: it is none, or none of its keys is usable.
 */
enum sirix_status sirix_jwt_keys_parse(struct sirix_bytes text, struct sirix_jwt_keys **out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_jwt_keys *sirix_jwt_keys_ref(struct sirix_jwt_keys *keys);
void sirix_jwt_keys_unref(struct sirix_jwt_keys *keys);

/* --- Tokens --------------------------------------------------------------------------------------- */

/* A token that was taken apart; everything lies in the arena, and nothing is trusted yet. */
struct sirix_jwt {
    enum sirix_jwt_algorithm algorithm;
    struct sirix_bytes key_id;      /* Canonical text; data NULL: none. */
    struct sirix_bytes signed_text; /* What the signature is of. */
    struct sirix_bytes signature;
    struct sirix_json_node *claims; /* An object. */
};

/*
 * SIRIX_UNAUTHENTICATED: it is none, or of an algorithm that is not taken. No sentence repeats a part of
 * the token.
 */
enum sirix_status sirix_jwt_read(struct sirix_bytes token, struct sirix_arena *arena,
                                 struct sirix_jwt *out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the set has the key that the token names (or, where it names none, exactly one of its kind). */
bool sirix_jwt_has_key(const struct sirix_jwt_keys *keys, const struct sirix_jwt *jwt);

/* SIRIX_UNAUTHENTICATED: there is no such key, or the signature is not its. */
enum sirix_status sirix_jwt_check_signature(const struct sirix_jwt_keys *keys,
                                            const struct sirix_jwt *jwt,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* What a token must say to be for us. */
struct sirix_jwt_rules {
    const char *issuer;   /* `iss`, exactly. */
    const char *audience; /* `aud`, or one of a list, exactly. */
};

/* `iss`, `aud`, `exp` (demanded), `nbf` and `iat`. SIRIX_UNAUTHENTICATED. */
enum sirix_status sirix_jwt_check_claims(const struct sirix_jwt *jwt,
                                         const struct sirix_jwt_rules *rules, int64_t now_s,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* A claim of that name; NULL: none. */
const struct sirix_json_node *sirix_jwt_claim(const struct sirix_jwt *jwt, const char *name);

#endif
