/*
 * Who a caller over HTTP is, and what they may do: a line of the file of static tokens, or the claims of
 * an access token (guard/jwt.h). What the gateway's own settings do not allow nobody gets by that.
 *
 * File       One JSON object a line; empty lines and lines that begin with # are skipped:
 *
 *     {"name":"agent-7","role":"writer","tokenSha256":"9f86…","allowDatabases":["shop"]}
 *
 *            role: reader, writer, admin. Optional, as in the settings: allowDatabases,
 *            denyDatabases, allowResources, allowBranches. A name may have several lines, each with a
 *            token of its own: so tokens are changed without a gap.
 * Tokens     are random (32 bytes of /dev/urandom, say), so that a plain SHA-256 of them gives nothing
 *            away; the file holds only that. They are compared in constant time, all of them always.
 * Threads    Read-only after load: any number.
 */
#ifndef SIRIX_GUARD_IDENTITY_H
#define SIRIX_GUARD_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"
#include "guard/access.h"
#include "json/tree.h"

enum {
    SIRIX_IDENTITY_NAME_BYTES_MAX = 128,
    SIRIX_IDENTITY_FILE_BYTES_MAX = 1024 * 1024,
    SIRIX_IDENTITY_TOKENS_MAX = 1024,
    SIRIX_IDENTITY_TOKEN_BYTES_MAX = 16 * 1024, /* As it is sent. */
};

/* Bits. Writing implies reading, and admin (new databases and resources) both. */
enum {
    SIRIX_RIGHT_READ = 1U << 0U,
    SIRIX_RIGHT_WRITE = 1U << 1U,
    SIRIX_RIGHT_ADMIN = 1U << 2U,
};

struct sirix_identity {
    const char *name; /* For the audit log and as author: of visible characters. */
    unsigned rights;
    struct sirix_access access;
};

struct sirix_tokens {
    struct sirix_arena arena;
    struct sirix_token *items;
    size_t count;
};

struct sirix_token {
    uint8_t hash[SIRIX_SHA256_BYTES];
    struct sirix_identity identity;
};

/* "read", "read write", "read write admin"; "" for none. */
const char *sirix_rights_text(unsigned rights);

/* Rights with all that they imply; names that are none of ours count for nothing. */
unsigned sirix_rights_of_scope(struct sirix_bytes scope);

/* Whether a name can be kept as an author and shown in logs. */
bool sirix_identity_name_is_good(struct sirix_bytes name);

/*
 * Reads a file. SIRIX_INVALID: it is not of the form above, the error names the line; or others may
 * write to it. SIRIX_IO.
 */
enum sirix_status sirix_tokens_load(const char *path, struct sirix_tokens *out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_tokens_parse(struct sirix_bytes text, struct sirix_tokens *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_tokens_deinit(struct sirix_tokens *tokens);

/* Whose token that is; *out NULL: nobody's. SIRIX_NO_MEMORY. */
enum sirix_status sirix_tokens_find(const struct sirix_tokens *tokens, struct sirix_bytes token,
                                    const struct sirix_token **out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
