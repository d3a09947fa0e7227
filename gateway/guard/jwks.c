/* Keeping the keys of an authorization server. */
#include "guard/jwks.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

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

static size_t take_bytes(const char *data, size_t size, size_t count, void *context)
{
    struct sirix_buf *out = context;

    /* Anything but all of it ends the transfer. */
    return sirix_buf_append(out, data, size * count, NULL) == SIRIX_OK ? size * count : 0;
}

static enum sirix_status fetch_url(const void *context, struct sirix_buf *out,
                                   struct sirix_error *err)
{
    const char *url = context;
    char text[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    long code = 0;

    if (curl == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory to fetch keys");
    }
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)SIRIX_JWKS_TIMEOUT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    const CURLcode rc = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(curl);
    if (rc != CURLE_OK) {
        return sirix_fail(err, SIRIX_UNAVAILABLE, "cannot fetch keys: %s",
                          text[0] != '\0' ? text : curl_easy_strerror(rc));
    }
    return code == 200 ? SIRIX_OK
                       : sirix_fail(err, SIRIX_UNAVAILABLE,
                                    "cannot fetch keys: the server answers %ld", code);
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
        /* Before there are threads that could do it at once. */
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
            free(jwks);
            return sirix_fail(err, SIRIX_IO, "cannot start libcurl");
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
