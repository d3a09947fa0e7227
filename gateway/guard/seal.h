/*
 * Sealing: what a client keeps for us and brings back, so that no copy of the server has to remember
 * it. Authenticated encryption (AES-256-GCM) under a key that copies may share; a second key opens
 * what was sealed before the keys were changed.
 *
 * Bound      to a purpose and to whatever else the caller names: under another binding it does not open.
 * Expiry     is part of it.
 * Text       out of [A-Za-z0-9_-].
 * Threads    Keys are read-only after init: any number.
 */
#ifndef SIRIX_GUARD_SEAL_H
#define SIRIX_GUARD_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"

enum {
    SIRIX_SEAL_KEY_BYTES = 32,
    SIRIX_SEAL_KEYS_MAX = 2,
    SIRIX_SEAL_PAYLOAD_BYTES_MAX = 64 * 1024,
    /* Of a text that holds so much. */
    SIRIX_SEAL_TEXT_BYTES_MAX = (SIRIX_SEAL_PAYLOAD_BYTES_MAX + 64) * 4 / 3 + 4,
};

struct sirix_seal_keys {
    uint8_t keys[SIRIX_SEAL_KEYS_MAX][SIRIX_SEAL_KEY_BYTES]; /* The first one seals. */
    size_t count;
};

/* One key that nobody else has. SIRIX_IO. */
enum sirix_status sirix_seal_keys_random(struct sirix_seal_keys *out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The keys of a file: one or two lines of 64 hex digits. With create, a file that is not there is made
 * (mode 0600); two processes that do so at once get the same one. A file that others may read is
 * refused. SIRIX_INVALID, SIRIX_IO.
 */
enum sirix_status sirix_seal_keys_load(const char *path, bool create, struct sirix_seal_keys *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* What a sealed text is for. */
struct sirix_seal_binding {
    const char *purpose;
    struct sirix_bytes context; /* Whose, of which request: whatever must be the same again. */
};

/* Appends the payload sealed; it opens until expires_at_s (Unix time; INT64_MAX: for ever). */
enum sirix_status sirix_seal_close(const struct sirix_seal_keys *keys,
                                   const struct sirix_seal_binding *binding,
                                   struct sirix_bytes payload, int64_t expires_at_s,
                                   struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens a text into the arena. SIRIX_INVALID (reason field_invalid): it was not sealed by us for that,
 * or was changed, or has expired; the sentence does not say which but for expiry.
 */
enum sirix_status sirix_seal_open(const struct sirix_seal_keys *keys,
                                  const struct sirix_seal_binding *binding, struct sirix_bytes text,
                                  int64_t now_s, struct sirix_arena *arena, struct sirix_bytes *out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * What the data is under the first key, so that whoever has no key cannot try which data it was:
 * HMAC-SHA-256 of the purpose, a NUL and the data.
 */
enum sirix_status sirix_seal_mac(const struct sirix_seal_keys *keys, const char *purpose,
                                 struct sirix_bytes data, uint8_t out[SIRIX_SHA256_BYTES],
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
