/* The head of a request: what can be refused before its body is read. */
#include <string.h>
#include <strings.h>

#include "transport/http_internal.h"
#include "json/canonical.h"

enum { NAME_BYTES_MAX = 4096 };

static const struct sirix_http_refusal accepted = {.status = 0};

/* --- Headers --------------------------------------------------------------------------------------- */

struct counting {
    const char *name;
    unsigned count;
    const char *value;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct counting *counting = context;

    (void)kind;
    if (strcasecmp(key, counting->name) == 0) {
        counting->count++;
        counting->value = value;
    }
    return MHD_YES;
}

/* The value of a header, and how often it is there. */
static const char *find(struct MHD_Connection *connection, const char *name, unsigned *out_count)
{
    struct counting counting = {.name = name};

    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &counting);
    *out_count = counting.count;
    return counting.value;
}

/* The text without white space around it, in the arena; NULL stays NULL. */
static enum sirix_status trim(struct sirix_arena *arena, const char *text, const char **out,
                              struct sirix_error *err)
{
    char *copy = NULL;

    if (text == NULL) {
        *out = NULL;
        return SIRIX_OK;
    }
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len != 0 && strchr(" \t", text[len - 1]) != NULL) {
        len--;
    }
    enum sirix_status status =
        sirix_arena_c_str(arena, (struct sirix_bytes){.data = text, .len = len}, &copy, err);
    if (status == SIRIX_OK) {
        *out = copy;
    }
    return status;
}

/* Whether a comma separated list of media types has the type, or one that covers it. */
static bool accepts(const char *list, const char *type)
{
    const size_t group_len = (size_t)(strchr(type, '/') - type) + 1;

    while (*list != '\0') {
        list += strspn(list, " \t,");
        const size_t len = strcspn(list, " \t,;");

        if ((len == strlen(type) && strncasecmp(list, type, len) == 0) ||
            (len == 3 && strncmp(list, "*/*", 3) == 0) ||
            (len == group_len + 1 && strncasecmp(list, type, group_len) == 0 &&
             list[group_len] == '*')) {
            return true;
        }
        list += strcspn(list, ",");
    }
    return false;
}

/* --- Mcp-Name --------------------------------------------------------------------------------------- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* Decodes base64 text of len characters; false when it is none. No NUL may be in it. */
static bool decode_base64(const char *text, size_t len, char *out)
{
    size_t padding = 0;
    uint32_t bits = 0;
    bool is_good = len % 4 == 0;

    while (len != 0 && padding < 2 && text[len - 1] == '=') {
        len--;
        padding++;
    }
    for (size_t i = 0; i < len && is_good; i++) {
        const int digit = base64_digit(text[i]);

        bits = bits << 6 | (uint32_t)(digit & 63);
        is_good = digit >= 0;
        if (i % 4 != 0) {
            *out = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
            is_good &= *out++ != '\0';
        }
    }
    *out = '\0';
    return is_good && padding == (4 - len % 4) % 4;
}

bool sirix_http_decode_name(const char *text, char *out)
{
    static const char prefix[] = "=?base64?";
    const size_t start = sizeof(prefix) - 1;
    const size_t len = strlen(text);
    bool is_good = len <= NAME_BYTES_MAX;

    if (strncmp(text, prefix, start) == 0) {
        return is_good && len >= start + 2 && strcmp(text + len - 2, "?=") == 0 &&
               decode_base64(text + start, len - start - 2, out);
    }
    for (size_t i = 0; i < len; i++) {
        is_good &= text[i] >= ' ' && text[i] <= '~';
    }
    memcpy(out, text, len + 1);
    return is_good;
}

static enum sirix_status read_name(struct sirix_exchange *exchange, const char *value,
                                   struct sirix_error *err)
{
    const char *text = NULL;
    void *decoded = NULL;
    enum sirix_status status = trim(&exchange->arena, value, &text, err);

    if (status != SIRIX_OK || text == NULL) {
        return status;
    }
    status = sirix_arena_alloc(&exchange->arena, strlen(text) + 1, &decoded, err);
    if (status == SIRIX_OK) {
        exchange->headers.name_is_bad = !sirix_http_decode_name(text, decoded);
        exchange->headers.name = decoded;
    }
    return status;
}

/* --- The head --------------------------------------------------------------------------------------- */

static struct sirix_http_refusal check_request(const struct sirix_exchange *exchange,
                                               struct MHD_Connection *connection, const char *url,
                                               const char *method)
{
    const struct sirix_http *http = exchange->http;
    const struct sirix_settings *settings = http->server->settings;
    unsigned hosts = 0;
    unsigned origins = 0;
    const char *host = find(connection, MHD_HTTP_HEADER_HOST, &hosts);
    const char *origin = find(connection, MHD_HTTP_HEADER_ORIGIN, &origins);

    if (hosts != 1 || !sirix_http_host_is_ours(&http->address, settings, host)) {
        return (struct sirix_http_refusal){
            SIRIX_HTTP_FORBIDDEN, "this Host is not served; httpHosts names those that are"};
    }
    if (origins > 1 ||
        (origins == 1 && !sirix_http_origin_is_ours(&http->address, settings, origin))) {
        return (struct sirix_http_refusal){
            SIRIX_HTTP_FORBIDDEN, "this Origin is not served; httpHosts names those that are"};
    }
    if (sirix_http_is_metadata(http, url)) {
        return strcmp(method, MHD_HTTP_METHOD_GET) == 0
                   ? accepted
                   : (struct sirix_http_refusal){SIRIX_HTTP_METHOD_NOT_ALLOWED,
                                                 "only GET is served here"};
    }
    if (strcmp(url, "/mcp") != 0) {
        return (struct sirix_http_refusal){SIRIX_HTTP_NOT_FOUND, "there is /mcp and nothing else"};
    }
    if (strcmp(method, MHD_HTTP_METHOD_POST) != 0) {
        return (struct sirix_http_refusal){SIRIX_HTTP_METHOD_NOT_ALLOWED, "only POST is served"};
    }
    return accepted;
}

static struct sirix_http_refusal check_body(struct sirix_exchange *exchange,
                                            struct MHD_Connection *connection)
{
    const size_t max = exchange->http->options.body_bytes_max;
    unsigned count = 0;
    const char *type = find(connection, MHD_HTTP_HEADER_CONTENT_TYPE, &count);
    const char *wanted = NULL;

    if (count != 1 || !accepts(type, "application/json") || type[0] == '*') {
        return (struct sirix_http_refusal){SIRIX_HTTP_UNSUPPORTED_TYPE,
                                           "Content-Type must be application/json"};
    }
    wanted = find(connection, MHD_HTTP_HEADER_ACCEPT, &count);
    exchange->accepts_json = wanted == NULL || accepts(wanted, "application/json");
    exchange->accepts_events = wanted != NULL && accepts(wanted, "text/event-stream");
    if (!exchange->accepts_json && !exchange->accepts_events) {
        return (struct sirix_http_refusal){
            SIRIX_HTTP_NOT_ACCEPTABLE, "Accept must have application/json or text/event-stream"};
    }
    const char *length = find(connection, MHD_HTTP_HEADER_CONTENT_LENGTH, &count);
    size_t bytes = 0;
    for (; length != NULL && *length >= '0' && *length <= '9' && bytes <= max; length++) {
        bytes = bytes * 10 + (size_t)(*length - '0');
    }
    return bytes > max ? (struct sirix_http_refusal){SIRIX_HTTP_TOO_LONG,
                                                     "the body is longer than the limit"}
                       : accepted;
}

/* Headers of the protocol; one that is there twice is none. */
static enum sirix_status read_headers(struct sirix_exchange *exchange,
                                      struct MHD_Connection *connection, struct sirix_error *err)
{
    struct sirix_mcp_headers *headers = &exchange->headers;
    const struct {
        const char *name;
        const char **out;
    } wanted[] = {
        {"MCP-Protocol-Version", &headers->version},
        {"Mcp-Method", &headers->method},
        {"traceparent", &headers->traceparent},
        {"Mcp-Session-Id", &exchange->session},
    };
    unsigned count = 0;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && status == SIRIX_OK; i++) {
        const char *value = find(connection, wanted[i].name, &count);

        status = trim(&exchange->arena, count == 1 ? value : NULL, wanted[i].out, err);
    }
    const char *name = find(connection, "Mcp-Name", &count);
    return status == SIRIX_OK ? read_name(exchange, count == 1 ? name : NULL, err) : status;
}

enum sirix_status sirix_http_read_head(struct sirix_exchange *exchange,
                                       struct MHD_Connection *connection, const char *url,
                                       const char *method, struct sirix_http_refusal *out,
                                       struct sirix_error *err)
{
    unsigned count = 0;
    const char *authorization = find(connection, MHD_HTTP_HEADER_AUTHORIZATION, &count);

    *out = check_request(exchange, connection, url, method);
    exchange->wants_metadata = sirix_http_is_metadata(exchange->http, url);
    if (out->status != 0 || exchange->wants_metadata) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_http_find_caller(exchange, authorization, count, out, err);
    if (status == SIRIX_OK && out->status == 0) {
        *out = check_body(exchange, connection);
    }
    return status == SIRIX_OK && out->status == 0 ? read_headers(exchange, connection, err)
                                                  : status;
}
