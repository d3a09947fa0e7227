/* Who calls: the Authorization header, what refuses it, and where clients learn how to get a token. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "guard/gate.h"
#include "jsonrpc/put.h"
#include "transport/http_internal.h"

enum { US_PER_S = 1000 * 1000, METADATA_BYTES_MAX = 16 * 1024 };

static const char well_known[] = "/.well-known/oauth-protected-resource";

/* --- Metadata --------------------------------------------------------------------------------------- */

/* The path of the URL by which clients know us; "" where it has none. */
static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host == NULL ? NULL : strchr(host + 3, '/');

    return path == NULL ? "" : path;
}

bool sirix_http_is_metadata(const struct sirix_http *http, const char *url)
{
    const char *rest = url + sizeof(well_known) - 1;

    return http->options.gate != NULL && http->options.gate->jwks != NULL &&
           strncmp(url, well_known, sizeof(well_known) - 1) == 0 &&
           (*rest == '\0' || strcmp(rest, "/mcp") == 0 ||
            strcmp(rest, path_of(http->server->settings->public_url)) == 0);
}

enum sirix_status sirix_http_write_metadata(const struct sirix_http *http, struct sirix_buf *out,
                                            struct sirix_error *err)
{
    const struct sirix_settings *settings = http->server->settings;
    struct sirix_put put;

    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "resource", settings->public_url);
    sirix_put_array(&put, "authorization_servers");
    sirix_put_str(&put, NULL, settings->oauth_issuer);
    sirix_put_array_end(&put);
    sirix_put_array(&put, "scopes_supported");
    sirix_put_str(&put, NULL, "read");
    if (!settings->read_only) {
        sirix_put_str(&put, NULL, "write");
        sirix_put_str(&put, NULL, "admin");
    }
    sirix_put_array_end(&put);
    sirix_put_array(&put, "bearer_methods_supported");
    sirix_put_str(&put, NULL, "header");
    sirix_put_array_end(&put);
    sirix_put_str(&put, "resource_name", settings->name);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

/* --- Challenges ------------------------------------------------------------------------------------- */

enum sirix_status sirix_http_challenge(struct sirix_exchange *exchange, const char *error,
                                       const char *scope, struct sirix_error *err)
{
    const char *url = exchange->http->server->settings->public_url;
    const bool has_metadata = exchange->http->options.gate->jwks != NULL;
    char *text = NULL;
    enum sirix_status status = SIRIX_OK;

    if (has_metadata) {
        const char *path = path_of(url);

        status = sirix_arena_printf(&exchange->arena, &text, err,
                                    "Bearer resource_metadata=\"%.*s%s%s\", scope=\"%s\"%s%s%s",
                                    (int)(strlen(url) - strlen(path)), url, well_known, path, scope,
                                    error == NULL ? "" : ", error=\"", error == NULL ? "" : error,
                                    error == NULL ? "" : "\"");
    } else {
        status = sirix_arena_printf(&exchange->arena, &text, err, "Bearer scope=\"%s\"%s%s%s",
                                    scope, error == NULL ? "" : ", error=\"",
                                    error == NULL ? "" : error, error == NULL ? "" : "\"");
    }
    if (status == SIRIX_OK) {
        exchange->challenge = text;
    }
    return status;
}

/* --- Callers ---------------------------------------------------------------------------------------- */

/* The token of a header; data NULL: it has another scheme. False: it is of no form at all. */
static bool read_token(const char *header, struct sirix_bytes *out)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
    static const char scheme[] = "Bearer";

    header += strspn(header, " \t");
    const size_t name_len = strcspn(header, " \t");
    if (name_len != sizeof(scheme) - 1 || strncasecmp(header, scheme, name_len) != 0) {
        *out = (struct sirix_bytes){.data = NULL, .len = 0};
        return name_len != 0;
    }
    const char *token = header + name_len + strspn(header + name_len, " \t");
    const size_t len = strspn(token, allowed);
    const char *rest = token + len + strspn(token + len, "=");
    const size_t all = (size_t)(rest - token);

    *out = (struct sirix_bytes){.data = token, .len = all};
    rest += strspn(rest, " \t");
    return len != 0 && *rest == '\0' && all <= SIRIX_IDENTITY_TOKEN_BYTES_MAX;
}

/* What refuses a request whose token is not good; out keeps it. */
static enum sirix_status refuse_token(struct sirix_exchange *exchange, enum sirix_status why,
                                      const struct sirix_error *failure,
                                      struct sirix_http_refusal *out, struct sirix_error *err)
{
    char *text = NULL;
    enum sirix_status status = sirix_arena_strdup(&exchange->arena, failure->text, &text, err);

    if (status == SIRIX_OK && why == SIRIX_UNAUTHENTICATED) {
        *out = (struct sirix_http_refusal){SIRIX_HTTP_UNAUTHORIZED, text};
        return sirix_http_challenge(exchange, "invalid_token", "read", err);
    }
    if (status == SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_WARN, "a caller could not be identified", failure);
        *out = (struct sirix_http_refusal){SIRIX_HTTP_UNAVAILABLE, text};
    }
    return status;
}

/* The caller of a token that is of the right form. */
static enum sirix_status take_caller(struct sirix_exchange *exchange, struct sirix_bytes token,
                                     struct sirix_http_refusal *out, struct sirix_error *err)
{
    const struct sirix_http_options *options = &exchange->http->options;
    const int64_t now_s = sirix_clock_realtime_us(sirix_clock_system()) / US_PER_S;
    struct sirix_identity identity;
    struct sirix_error failure = {0};

    enum sirix_status status =
        sirix_gate_identify(options->gate, token, now_s, &exchange->arena, &identity, &failure);
    if (status == SIRIX_OK && identity.rights == 0) {
        *out = (struct sirix_http_refusal){SIRIX_HTTP_FORBIDDEN,
                                           "the token has none of the rights read, write, admin"};
        return sirix_http_challenge(exchange, "insufficient_scope", "read", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_callers_get(options->callers, &identity, &exchange->caller, &failure);
    }
    return status == SIRIX_OK ? SIRIX_OK : refuse_token(exchange, status, &failure, out, err);
}

enum sirix_status sirix_http_find_caller(struct sirix_exchange *exchange, const char *header,
                                         unsigned count, struct sirix_http_refusal *out,
                                         struct sirix_error *err)
{
    struct sirix_bytes token = {.data = NULL, .len = 0};

    if (exchange->http->options.gate == NULL) {
        return SIRIX_OK;
    }
    if (count > 1 || (count == 1 && !read_token(header, &token))) {
        *out = (struct sirix_http_refusal){SIRIX_HTTP_BAD_REQUEST,
                                           "Authorization must be: Bearer TOKEN"};
        return sirix_http_challenge(exchange, "invalid_request", "read", err);
    }
    if (token.data == NULL) {
        *out = (struct sirix_http_refusal){SIRIX_HTTP_UNAUTHORIZED,
                                           "callers must say who they are: Authorization: Bearer "
                                           "TOKEN"};
        return sirix_http_challenge(exchange, NULL, "read", err);
    }
    return take_caller(exchange, token, out, err);
}
