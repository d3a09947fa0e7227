/* libcurl, loaded when it is wanted. */
#include "guard/fetch.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

/* The header's macros would stand before the members below. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

enum { HTTP_GOOD = 200 };

static struct {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *curl);
    CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
    void (*easy_cleanup)(CURL *curl);
    const char *(*easy_strerror)(CURLcode code);
} library;

enum sirix_status sirix_fetch_open(struct sirix_error *err)
{
    const struct {
        const char *name;
        void *at; /* A pointer to a function. */
    } wanted[] = {
        {"curl_global_init", &library.global_init},
        {"curl_easy_init", &library.easy_init},
        {"curl_easy_setopt", &library.easy_setopt},
        {"curl_easy_perform", &library.easy_perform},
        {"curl_easy_getinfo", &library.easy_getinfo},
        {"curl_easy_cleanup", &library.easy_cleanup},
        {"curl_easy_strerror", &library.easy_strerror},
    };
    /* For as long as the process lives. */
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        return sirix_fail(err, SIRIX_IO, "cannot load libcurl: %s", dlerror());
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *symbol = dlsym(handle, wanted[i].name);

        if (symbol == NULL) {
            return sirix_fail(err, SIRIX_IO, "libcurl has no %s", wanted[i].name);
        }
        *(void **)wanted[i].at = symbol;
    }
    return library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
               ? SIRIX_OK
               : sirix_fail(err, SIRIX_IO, "cannot start libcurl");
}

static size_t take_bytes(const char *data, size_t size, size_t count, void *context)
{
    struct sirix_buf *out = context;

    /* Anything but all of it ends the transfer. */
    return sirix_buf_append(out, data, size * count, NULL) == SIRIX_OK ? size * count : 0;
}

enum sirix_status sirix_fetch(const char *url, uint32_t timeout_ms, struct sirix_buf *out,
                              struct sirix_error *err)
{
    char text[CURL_ERROR_SIZE] = "";
    CURL *curl = library.easy_init();
    long code = 0;

    if (curl == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory to fetch a text");
    }
    (void)library.easy_setopt(curl, CURLOPT_URL, url);
    (void)library.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    (void)library.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)library.easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    (void)library.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)library.easy_setopt(curl, CURLOPT_PROXY, "");
    (void)library.easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
    (void)library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    (void)library.easy_setopt(curl, CURLOPT_WRITEDATA, out);
    const CURLcode rc = library.easy_perform(curl);
    (void)library.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    library.easy_cleanup(curl);
    if (rc != CURLE_OK) {
        return sirix_fail(err, SIRIX_UNAVAILABLE, "%s",
                          text[0] != '\0' ? text : library.easy_strerror(rc));
    }
    return code == HTTP_GOOD ? SIRIX_OK
                             : sirix_fail(err, SIRIX_UNAVAILABLE, "the server answers %ld", code);
}
