/*
 * SHA-256 of OpenSSL behind a narrow interface.
 *
 * Errors    Only making the context can fail for want of memory; a failure inside OpenSSL is
 *           SIRIX_INTERNAL.
 */
#ifndef SIRIX_BASE_SHA256_H
#define SIRIX_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_SHA256_BYTES = 32, SIRIX_SHA256_HEX_BYTES = 65 };

/* A running hash. Caller's storage: init, update any number of times, final, deinit. */
struct sirix_sha256 {
    void *context;
};

/* Starts a hash; SIRIX_NO_MEMORY. On failure there is nothing to deinit, but deinit is allowed. */
enum sirix_status sirix_sha256_init(struct sirix_sha256 *sha,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_sha256_update(struct sirix_sha256 *sha, const void *data, size_t len,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Writes the hash and starts a new one in the same context. */
enum sirix_status sirix_sha256_final(struct sirix_sha256 *sha, uint8_t out[SIRIX_SHA256_BYTES],
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_sha256_deinit(struct sirix_sha256 *sha);

/* The hash of one piece. */
enum sirix_status sirix_sha256(const void *data, size_t len, uint8_t out[SIRIX_SHA256_BYTES],
                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* 64 lower-case hex digits and a NUL. */
void sirix_sha256_hex(const uint8_t hash[SIRIX_SHA256_BYTES], char out[SIRIX_SHA256_HEX_BYTES]);

/* Whether two secrets of len bytes are equal, in a time that does not depend on their content. */
bool sirix_equal_constant_time(const void *a, const void *b, size_t len);

#endif
