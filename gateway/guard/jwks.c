/* Keeping the keys of an authorization server. */
#include "guard/jwks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "guard/fetch.h"

enum { NS_PER_MS = 1000 * 1000 };

static const uint64_t ns_per_s = UINT64_C(1000) * 1000 * 1000;

struct sirix_jwks {
    struct sirix_jwks_options options;
    pthread_mutex_t mutex;
    pthread_cond_t fetched;
    struct sirix_jwt_keys *keys; /* NULL: none yet. */
    uint64_t fetched_ns;         /* When they came. */
    uint64_t tried_ns;           /* When they were last asked for. */
    bool was_tried;
    bool is_fetching;
};

/* --- Fetching --------------------------------------------------------------------------------------- */

bool sirix_jwks_url_is_good(const char *url)
{
    static const char *const local[] = {"127.0.0.1", "localhost", "[::1]"};

    if (strncmp(url, "https://", 8) == 0) {
        return url[8] != '\0' && url[8] != '/';
    }
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        const size_t len = strlen(local[i]);

        if (strncmp(url, "http://", 7) == 0 && strncmp(url + 7, local[i], len) == 0 &&
            (url[7 + len] == ':' || url[7 + len] == '/')) {
            return true;
        }
    }
    return false;
}

static enum sirix_status fetch_url(const void *context, struct sirix_buf *out,
                                   struct sirix_error *err)
{
    return sirix_fetch(context, SIRIX_JWKS_TIMEOUT_MS, out, err);
}

/* Fetches once, without the mutex. */
static enum sirix_status fetch(const struct sirix_jwks *jwks, struct sirix_jwt_keys **out,
                               struct sirix_error *err)
{
    struct sirix_buf text;

    sirix_buf_init(&text, SIRIX_JWKS_BYTES_MAX);
    enum sirix_status status = jwks->options.fetch(jwks->options.context, &text, err);
    if (status == SIRIX_OK) {
        status = sirix_jwt_keys_parse(sirix_buf_view(&text), out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Life ------------------------------------------------------------------------------------------- */

enum sirix_status sirix_jwks_open(const struct sirix_jwks_options *options, struct sirix_jwks **out,
                                  struct sirix_error *err)
{
    struct sirix_jwks *jwks = calloc(1, sizeof(*jwks));

    if (jwks == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for keys");
    }
    jwks->options = *options;
    if (jwks->options.fetch == NULL) {
        enum sirix_status status = sirix_fetch_open(err);

        if (status != SIRIX_OK) {
            free(jwks);
            return status;
        }
        jwks->options.fetch = fetch_url;
        jwks->options.context = options->url;
    }
    if (jwks->options.clock == NULL) {
        jwks->options.clock = sirix_clock_system();
    }
    (void)pthread_mutex_init(&jwks->mutex, NULL);
    (void)pthread_cond_init(&jwks->fetched, NULL);
    *out = jwks;
    return SIRIX_OK;
}

void sirix_jwks_close(struct sirix_jwks *jwks)
{
    if (jwks == NULL) {
        return;
    }
    sirix_jwt_keys_unref(jwks->keys);
    (void)pthread_cond_destroy(&jwks->fetched);
    (void)pthread_mutex_destroy(&jwks->mutex);
    free(jwks);
}

/* --- Checking --------------------------------------------------------------------------------------- */

static bool is_younger(uint64_t now_ns, uint64_t then_ns, uint64_t seconds)
{
    /* Another thread may have come later, and set it since. */
    return then_ns + seconds * ns_per_s > now_ns;
}

/* Fetches, with the mutex given up meanwhile. Called with the mutex. */
static void refresh(struct sirix_jwks *jwks, uint64_t now_ns)
{
    struct sirix_error error = {0};
    struct sirix_jwt_keys *keys = NULL;

    jwks->is_fetching = true;
    jwks->was_tried = true;
    jwks->tried_ns = now_ns;
    (void)pthread_mutex_unlock(&jwks->mutex);
    const enum sirix_status status = fetch(jwks, &keys, &error);
    if (status != SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_WARN, "keys of the authorization server did not come", &error);
    }
    (void)pthread_mutex_lock(&jwks->mutex);
    if (status == SIRIX_OK) {
        sirix_jwt_keys_unref(jwks->keys);
        jwks->keys = keys;
        jwks->fetched_ns = now_ns;
    }
    jwks->is_fetching = false;
    (void)pthread_cond_broadcast(&jwks->fetched);
}

/* Whether the keys that are there answer for the token. Called with the mutex. */
static bool has_key(const struct sirix_jwks *jwks, const struct sirix_jwt *jwt, uint64_t now_ns)
{
    return jwks->keys != NULL && is_younger(now_ns, jwks->fetched_ns, SIRIX_JWKS_STALE_S) &&
           sirix_jwt_has_key(jwks->keys, jwt);
}

/* Gets the keys if the token cannot do without, as far as the bounds allow. Called with the mutex. */
static void get_ready(struct sirix_jwks *jwks, const struct sirix_jwt *jwt, uint64_t now_ns)
{
    const bool is_known = has_key(jwks, jwt, now_ns);
    const bool is_fresh =
        jwks->keys != NULL && is_younger(now_ns, jwks->fetched_ns, SIRIX_JWKS_FRESH_S);
    const bool may_try =
        !jwks->was_tried || now_ns >= jwks->tried_ns + (uint64_t)SIRIX_JWKS_PAUSE_MS * NS_PER_MS;

    if (is_known && is_fresh) {
        return;
    }
    if (!jwks->is_fetching && may_try) {
        refresh(jwks, now_ns);
        return;
    }
    while (jwks->is_fetching && !has_key(jwks, jwt, now_ns)) {
        (void)pthread_cond_wait(&jwks->fetched, &jwks->mutex);
    }
}

enum sirix_status sirix_jwks_check(struct sirix_jwks *jwks, const struct sirix_jwt *jwt,
                                   struct sirix_error *err)
{
    const uint64_t now_ns = sirix_clock_monotonic_ns(jwks->options.clock);
    struct sirix_jwt_keys *keys = NULL;

    (void)pthread_mutex_lock(&jwks->mutex);
    get_ready(jwks, jwt, now_ns);
    if (jwks->keys != NULL && is_younger(now_ns, jwks->fetched_ns, SIRIX_JWKS_STALE_S)) {
        keys = sirix_jwt_keys_ref(jwks->keys);
    }
    (void)pthread_mutex_unlock(&jwks->mutex);
    if (keys == NULL) {
        return sirix_fail(err, SIRIX_UNAVAILABLE,
                          "the keys of the authorization server cannot be had; try again later");
    }
    const enum sirix_status status = sirix_jwt_check_signature(keys, jwt, err);
    sirix_jwt_keys_unref(keys);
    return status;
}
