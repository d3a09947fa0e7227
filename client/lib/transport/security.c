/* Files of keys and tokens. No error repeats what is in them. */
#include "lib/transport/security.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { PEM_BYTES_MAX = 4 * 1024 * 1024, TOKEN_FILE_BYTES_MAX = 8192, HOST_BYTES = 256 };

static const char unix_scheme[] = "unix:";
static const char system_roots[] = "system";

struct sirix_security {
    char *token_file; /* NULL: no token. */
    bool has_tls;
    struct sirix_buf ca; /* Empty: the system's. */
    struct sirix_buf cert;
    struct sirix_buf key;
    pthread_mutex_t mutex; /* Of what follows. */
    struct stat seen;      /* Of the token's file when it was read. */
    char token[SIRIX_TOKEN_BYTES_MAX + 1];
};

/* --- Files -------------------------------------------------------------------------------------- */

static enum sirix_status fail_option(struct sirix_error *err, const char *field, const char *text)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status read_file(const char *path, const char *field, struct sirix_buf *into,
                                   struct stat *out_info, struct sirix_error *err)
{
    enum sirix_status status = sirix_file_read(path, into, out_info, err);

    if (status != SIRIX_OK) {
        sirix_error_set_field(err, field);
    }
    return status;
}

static enum sirix_status read_pem(const char *path, const char *field, struct sirix_buf *into,
                                  struct sirix_error *err)
{
    struct stat info = {0};
    const char *text = NULL;

    enum sirix_status status = read_file(path, field, into, &info, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(into, &text, err);
    }
    if (status == SIRIX_OK && strstr(text, "-----BEGIN ") == NULL) {
        status = fail_option(err, field, "a file of certificates or keys is not PEM");
    }
    return status;
}

/* With the mutex held. The token is the file's first line. */
static enum sirix_status read_token(struct sirix_security *security, struct sirix_error *err)
{
    struct sirix_buf text;
    struct stat info = {0};

    sirix_buf_init(&text, TOKEN_FILE_BYTES_MAX);
    enum sirix_status status = read_file(security->token_file, "token_file", &text, &info, err);
    size_t len = 0;
    while (len < text.len && text.data[len] > ' ' && text.data[len] < 0x7f) {
        len++;
    }
    if (status == SIRIX_OK && (len < SIRIX_TOKEN_BYTES_MIN || len > SIRIX_TOKEN_BYTES_MAX ||
                               (len < text.len && strchr(" \t\r\n", text.data[len]) == NULL))) {
        status =
            fail_option(err, "token_file",
                        "the file does not begin with a token: 16 to 512 printable characters");
    }
    if (status == SIRIX_OK) {
        memcpy(security->token, text.data, len);
        security->token[len] = '\0';
        security->seen = info;
    }
    if (text.data != NULL) {
        explicit_bzero(text.data, text.len);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Opening ------------------------------------------------------------------------------------ */

static bool is_unix(const char *address)
{
    return strncmp(address, unix_scheme, sizeof(unix_scheme) - 1) == 0;
}

static bool is_loopback(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon == NULL ? strlen(address) : (size_t)(colon - address);
    struct in_addr v4 = {0};
    struct in6_addr v6 = IN6ADDR_ANY_INIT;
    char host[HOST_BYTES];

    if (len >= sizeof(host)) {
        return false;
    }
    bool brackets = len > 2 && address[0] == '[' && address[len - 1] == ']';
    len -= brackets ? 2 : 0;
    memcpy(host, address + (brackets ? 1 : 0), len);
    host[len] = '\0';
    if (strcmp(host, "localhost") == 0) {
        return true;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static enum sirix_status check_options(const struct sirix_security_options *options,
                                       const char *address, struct sirix_error *err)
{
    if ((options->tls_cert != NULL) != (options->tls_key != NULL)) {
        return fail_option(err, options->tls_cert != NULL ? "tls_key" : "tls_cert",
                           "a certificate and its key go together");
    }
    if (options->tls_cert != NULL && options->tls_ca == NULL) {
        return fail_option(err, "tls_ca",
                           "whom to trust is missing: a file of authorities, or \"system\"");
    }
    if (options->tls_ca != NULL && is_unix(address)) {
        return fail_option(err, "tls_ca", "a Unix socket has no TLS");
    }
    if (options->token_file != NULL && options->tls_ca == NULL && !is_unix(address) &&
        !is_loopback(address)) {
        return fail_option(err, "token_file",
                           "without TLS a token goes to this machine alone: say whom to trust "
                           "(tls_ca)");
    }
    return SIRIX_OK;
}

static enum sirix_status read_files(struct sirix_security *security,
                                    const struct sirix_security_options *options,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    security->has_tls = options->tls_ca != NULL;
    if (options->tls_ca != NULL && strcmp(options->tls_ca, system_roots) != 0) {
        status = read_pem(options->tls_ca, "tls_ca", &security->ca, err);
    }
    if (status == SIRIX_OK && options->tls_cert != NULL) {
        status = read_pem(options->tls_cert, "tls_cert", &security->cert, err);
    }
    if (status == SIRIX_OK && options->tls_key != NULL) {
        status = read_pem(options->tls_key, "tls_key", &security->key, err);
    }
    if (status == SIRIX_OK && security->token_file != NULL) {
        status = read_token(security, err);
    }
    return status;
}

enum sirix_status sirix_security_open(const struct sirix_security_options *options,
                                      const char *address, struct sirix_security **out_security,
                                      struct sirix_error *err)
{
    bool has_token = options->token_file != NULL && !is_unix(address);
    struct sirix_security *security = NULL;

    enum sirix_status status = check_options(options, address, err);
    if (status != SIRIX_OK || (!has_token && options->tls_ca == NULL)) {
        *out_security = NULL;
        return status;
    }
    security = calloc(1, sizeof(*security));
    if (security == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a channel");
    }
    (void)pthread_mutex_init(&security->mutex, NULL); /* Cannot fail on Linux. */
    sirix_buf_init(&security->ca, PEM_BYTES_MAX);
    sirix_buf_init(&security->cert, PEM_BYTES_MAX);
    sirix_buf_init(&security->key, PEM_BYTES_MAX);
    security->token_file = has_token ? strdup(options->token_file) : NULL;
    if (has_token && security->token_file == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate a channel");
    }
    if (status == SIRIX_OK) {
        status = read_files(security, options, err);
    }
    if (status != SIRIX_OK) {
        sirix_security_close(security);
        return status;
    }
    *out_security = security;
    return SIRIX_OK;
}

void sirix_security_close(struct sirix_security *security)
{
    if (security == NULL) {
        return;
    }
    if (security->key.data != NULL) {
        explicit_bzero(security->key.data, security->key.len);
    }
    explicit_bzero(security->token, sizeof(security->token));
    sirix_buf_deinit(&security->ca);
    sirix_buf_deinit(&security->cert);
    sirix_buf_deinit(&security->key);
    (void)pthread_mutex_destroy(&security->mutex);
    free(security->token_file);
    free(security);
}

/* --- Using -------------------------------------------------------------------------------------- */

static const char *text_of(const struct sirix_buf *text)
{
    return text->len == 0 ? NULL : (const char *)text->data; /* With its NUL: see read_pem(). */
}

grpc_channel_credentials *sirix_security_credentials(const struct sirix_security *security)
{
    if (security == NULL || !security->has_tls) {
        return grpc_insecure_credentials_create();
    }
    grpc_ssl_pem_key_cert_pair pair = {
        .private_key = text_of(&security->key),
        .cert_chain = text_of(&security->cert),
    };
    return grpc_ssl_credentials_create(text_of(&security->ca),
                                       pair.cert_chain == NULL ? NULL : &pair, NULL, NULL);
}

enum sirix_status sirix_security_authorization(struct sirix_security *security,
                                               char out_text[SIRIX_AUTHORIZATION_BYTES],
                                               struct sirix_error *err)
{
    struct stat now = {0};
    enum sirix_status status = SIRIX_OK;

    if (security == NULL || security->token_file == NULL) {
        out_text[0] = '\0';
        return SIRIX_OK;
    }
    (void)pthread_mutex_lock(&security->mutex);
    if (stat(security->token_file, &now) != 0 || sirix_file_has_changed(&security->seen, &now)) {
        status = read_token(security, err);
    }
    if (status == SIRIX_OK) {
        (void)snprintf(out_text, SIRIX_AUTHORIZATION_BYTES, "Bearer %s", security->token);
    }
    (void)pthread_mutex_unlock(&security->mutex);
    return status;
}
