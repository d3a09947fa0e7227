/*
 * The keys of an authorization server, as it publishes them: fetched when they are needed, kept, and
 * fetched again when they are old or a token names one that is not among them.
 *
 * Bounds     Whatever tokens come, there is one fetch at a time and one in SIRIX_JWKS_PAUSE_MS; an answer
 *            has a limit of time and of bytes, and redirects are not followed.
 * Outage     While the server cannot be reached the keys that are there go on being used, for
 *            SIRIX_JWKS_STALE_S at most; a key that was taken back is known for so long.
 * Threads    Any number. Who waits for a fetch has a token that cannot be checked without it.
 */
#ifndef SIRIX_GUARD_JWKS_H
#define SIRIX_GUARD_JWKS_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/status.h"
#include "guard/jwt.h"

enum {
    SIRIX_JWKS_FRESH_S = 300,        /* So long keys are used without looking again. */
    SIRIX_JWKS_STALE_S = 3600,       /* So long while looking again fails. */
    SIRIX_JWKS_PAUSE_MS = 10 * 1000, /* Between two fetches. */
    SIRIX_JWKS_TIMEOUT_MS = 5000,
    SIRIX_JWKS_BYTES_MAX = 256 * 1024,
};

struct sirix_jwks;

/* Gets the text of the set. Called by any thread, one at a time. */
typedef enum sirix_status (*sirix_jwks_fetch_fn)(const void *context, struct sirix_buf *out,
                                                 struct sirix_error *err);

struct sirix_jwks_options {
    const char *url; /* https, or http of this machine. Must outlive it. */
    /* Tests: instead of libcurl, and of the system's clock. */
    sirix_jwks_fetch_fn fetch;
    const void *context;
    const struct sirix_clock *clock;
};

/* Whether keys may be fetched from there: https, or http of a loopback address. */
bool sirix_jwks_url_is_good(const char *url);

/* Fetches nothing yet. SIRIX_NO_MEMORY, SIRIX_IO. */
enum sirix_status sirix_jwks_open(const struct sirix_jwks_options *options, struct sirix_jwks **out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_jwks_close(struct sirix_jwks *jwks);

/*
 * Checks the signature of a token. SIRIX_UNAUTHENTICATED: it is not good; SIRIX_UNAVAILABLE: there are no
 * keys to check it with.
 */
enum sirix_status sirix_jwks_check(struct sirix_jwks *jwks, const struct sirix_jwt *jwt,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
