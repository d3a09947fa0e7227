/*
 * gRPC asks a function of ours for certificates at every handshake, and for each address that it
 * listens at it wants to be given some once: so each address has a state of its own.
 */
#include "rpc/runtime/tls.h"

#include <grpc/grpc_security.h>
#include <stdlib.h>
#include <string.h>

#include "auth/certificate.h"
#include "base/file.h"
#include "rpc/runtime/internal.h"

enum { FILES = 3 };

struct sirix_rpc_tls {
    struct sirix_rpc_tls *next; /* Of its door. */
    char *paths[FILES];         /* Certificate, key, client CA; the last may be NULL. */
    sirix_rpc_tls_fn told;
    void *context;
    pthread_mutex_t mutex;
    struct stat seen[FILES];
    bool loaded;
};

/* --- Files -------------------------------------------------------------------------------------- */

/* paths[2] may be NULL; texts end with a NUL, none of which is inside. */
static enum sirix_status read_files(char *const paths[FILES], struct sirix_buf texts[FILES],
                                    struct sirix_error *err)
{
    struct stat info = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < FILES; i++) {
        const char *text = NULL;

        status = paths[i] == NULL ? SIRIX_OK : sirix_file_read(paths[i], &texts[i], &info, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_c_str(&texts[i], &text, err);
        }
        if (status == SIRIX_OK && strlen(text) != texts[i].len) {
            status = sirix_fail(err, SIRIX_INVALID, "%s is no text", paths[i]);
        }
    }
    if (status == SIRIX_OK) {
        status =
            sirix_certificate_check_pair(sirix_buf_view(&texts[0]), sirix_buf_view(&texts[1]), err);
    }
    if (status == SIRIX_OK && paths[2] != NULL) {
        status = sirix_certificate_check_roots(sirix_buf_view(&texts[2]), err);
    }
    return status;
}

static void init_texts(struct sirix_buf texts[FILES])
{
    for (size_t i = 0; i < FILES; i++) {
        sirix_buf_init(&texts[i], SIRIX_RPC_TLS_FILE_BYTES_MAX);
    }
}

/* A key does not stay in memory that others get. */
static void deinit_texts(struct sirix_buf texts[FILES])
{
    for (size_t i = 0; i < FILES; i++) {
        if (texts[i].data != NULL) {
            explicit_bzero(texts[i].data, texts[i].len);
        }
        sirix_buf_deinit(&texts[i]);
    }
}

/* A file that is not there is one of zeros: reading it will say so. */
static struct stat look_at(const char *path)
{
    struct stat info = {0};

    if (path == NULL || stat(path, &info) != 0) {
        return (struct stat){0};
    }
    return info;
}

/* --- What gRPC asks ----------------------------------------------------------------------------- */

/* With the mutex held: whether a file has changed since the last look. */
static bool has_changed(struct sirix_rpc_tls *tls)
{
    bool changed = !tls->loaded;

    for (size_t i = 0; i < FILES; i++) {
        struct stat now = look_at(tls->paths[i]);

        changed = changed || sirix_file_has_changed(&tls->seen[i], &now);
        tls->seen[i] = now;
    }
    return changed;
}

static grpc_ssl_server_certificate_config *make_config(struct sirix_buf texts[FILES])
{
    const grpc_ssl_pem_key_cert_pair pair = {
        .private_key = (const char *)texts[1].data,
        .cert_chain = (const char *)texts[0].data,
    };

    /* Without roots gRPC ends the process, also where no client is asked for a certificate. */
    return grpc_ssl_server_certificate_config_create(
        (const char *)(texts[2].len != 0 ? texts[2].data : texts[0].data), &pair, 1);
}

static grpc_ssl_certificate_config_reload_status fetch(void *context,
                                                       grpc_ssl_server_certificate_config **config)
{
    struct sirix_rpc_tls *tls = context;
    struct sirix_error err = {0};
    struct sirix_buf texts[FILES];

    (void)pthread_mutex_lock(&tls->mutex);
    bool first = !tls->loaded;
    bool changed = has_changed(tls);
    if (!changed) {
        (void)pthread_mutex_unlock(&tls->mutex);
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    init_texts(texts);
    enum sirix_status status = read_files(tls->paths, texts, &err);
    if (status == SIRIX_OK) {
        *config = make_config(texts);
        tls->loaded = true;
    }
    deinit_texts(texts);
    (void)pthread_mutex_unlock(&tls->mutex);
    if (!first && tls->told != NULL) {
        tls->told(tls->context, status == SIRIX_OK ? NULL : &err);
    }
    if (status == SIRIX_OK) {
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
    }
    return first ? GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL
                 : GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
}

/* --- Doors -------------------------------------------------------------------------------------- */

static void tls_free(struct sirix_rpc_tls *tls)
{
    for (size_t i = 0; i < FILES; i++) {
        free(tls->paths[i]);
    }
    (void)pthread_mutex_destroy(&tls->mutex);
    free(tls);
}

void sirix_rpc_tls_free_all(struct sirix_rpc_tls *first)
{
    while (first != NULL) {
        struct sirix_rpc_tls *next = first->next;

        tls_free(first);
        first = next;
    }
}

static enum sirix_status tls_new(const struct sirix_rpc_tls_files *files,
                                 struct sirix_rpc_tls **out_tls, struct sirix_error *err)
{
    const char *paths[FILES] = {files->certificate, files->key, files->client_ca};
    struct sirix_rpc_tls *tls = calloc(1, sizeof(*tls));

    if (tls == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate TLS");
    }
    (void)pthread_mutex_init(&tls->mutex, NULL);
    tls->told = files->told;
    tls->context = files->context;
    for (size_t i = 0; i < FILES; i++) {
        tls->paths[i] = paths[i] == NULL ? NULL : strdup(paths[i]);
        if (paths[i] != NULL && tls->paths[i] == NULL) {
            tls_free(tls);
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate TLS");
        }
    }
    *out_tls = tls;
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_tls_check(const struct sirix_rpc_tls_files *files,
                                      struct sirix_error *err)
{
    struct sirix_rpc_tls *tls = NULL;
    struct sirix_buf texts[FILES];

    enum sirix_status status = tls_new(files, &tls, err);
    if (status != SIRIX_OK) {
        return status;
    }
    init_texts(texts);
    status = read_files(tls->paths, texts, err);
    deinit_texts(texts);
    tls_free(tls);
    return status;
}

enum sirix_status sirix_rpc_door_listen_tls(struct sirix_rpc_door *door, const char *address,
                                            const struct sirix_rpc_tls_files *files, int *out_port,
                                            struct sirix_error *err)
{
    struct sirix_rpc_tls *tls = NULL;

    enum sirix_status status = sirix_rpc_tls_check(files, err);
    if (status == SIRIX_OK) {
        status = tls_new(files, &tls, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    tls->next = door->tls;
    door->tls = tls;
    grpc_ssl_server_credentials_options *options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            files->client_ca == NULL ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                     : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
            fetch, tls);
    grpc_server_credentials *credentials = grpc_ssl_server_credentials_create_with_options(options);
    int port = grpc_server_add_http2_port(door->core, address, credentials);
    grpc_server_credentials_release(credentials);
    if (port == 0) {
        return sirix_fail(err, SIRIX_UNAVAILABLE,
                          "cannot listen at %s: the address is in use or not of this machine",
                          address);
    }
    *out_port = port;
    return SIRIX_OK;
}
