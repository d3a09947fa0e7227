/* Addresses and names. */
#include "transport/http_address.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "transport/http.h"

enum { PORT_MAX = 65535, LOOPBACK_NET = 127, BYTE_BITS = 8 };

static enum sirix_status bad(const char *text, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
        "\"%.100s\" is no address to listen at: HOST:PORT, where HOST is localhost "
        "or an IP address (an IPv6 address in brackets)",
        text);

    sirix_error_set_field(err, "httpListen");
    return status;
}

/* Digits up to PORT_MAX; -1 otherwise. */
static long read_port(const char *text)
{
    long port = 0;

    if (*text == '\0') {
        return -1;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || port > PORT_MAX) {
            return -1;
        }
        port = port * 10 + (*text - '0');
    }
    return port > PORT_MAX ? -1 : port;
}

enum sirix_status sirix_http_address_parse(const char *text, struct sirix_http_address *out,
                                           struct sirix_error *err)
{
    struct sirix_http_address address = {.is_loopback = false};
    const char *colon = strrchr(text, ':');
    const char *host = text;
    const long port = colon == NULL ? -1 : read_port(colon + 1);
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    const bool has_brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';

    if (has_brackets) {
        host++;
        len -= 2;
    }
    if (port < 0 || len == 0 || len >= sizeof(address.host)) {
        return bad(text, err);
    }
    memcpy(address.host, host, len);
    const char *ip = strcmp(address.host, "localhost") == 0 ? "127.0.0.1" : address.host;
    if (has_brackets && inet_pton(AF_INET6, ip, &address.socket.ip6.sin6_addr) == 1) {
        address.socket.ip6.sin6_family = AF_INET6;
        address.socket.ip6.sin6_port = htons((uint16_t)port);
        address.socket_len = sizeof(address.socket.ip6);
        address.is_loopback = IN6_IS_ADDR_LOOPBACK(&address.socket.ip6.sin6_addr);
    } else if (!has_brackets && inet_pton(AF_INET, ip, &address.socket.ip4.sin_addr) == 1) {
        address.socket.ip4.sin_family = AF_INET;
        address.socket.ip4.sin_port = htons((uint16_t)port);
        address.socket_len = sizeof(address.socket.ip4);
        address.is_loopback =
            ntohl(address.socket.ip4.sin_addr.s_addr) >> 3 * BYTE_BITS == LOOPBACK_NET;
    } else {
        return bad(text, err);
    }
    *out = address;
    return SIRIX_OK;
}

enum sirix_status sirix_http_check_address(const char *listen, bool *out_is_loopback,
                                           struct sirix_error *err)
{
    struct sirix_http_address address;
    enum sirix_status status = sirix_http_address_parse(listen, &address, err);

    if (status == SIRIX_OK) {
        *out_is_loopback = address.is_loopback;
    }
    return status;
}

/* Whether text is the name, whatever the case of its letters. */
static bool is_name(const char *text, size_t len, const char *name)
{
    return strlen(name) == len && strncasecmp(text, name, len) == 0;
}

/* The host in host[:port] or [host][:port]; false when it is neither. */
static bool split_host(const char *text, const char **out_host, size_t *out_len)
{
    const char *rest = NULL;

    if (text[0] == '[') {
        rest = strchr(text, ']');
        if (rest == NULL) {
            return false;
        }
        *out_host = text + 1;
        *out_len = (size_t)(rest - text) - 1;
        rest++;
    } else {
        *out_host = text;
        *out_len = strcspn(text, ":");
        rest = text + *out_len;
    }
    return *out_len != 0 && (*rest == '\0' || (*rest == ':' && read_port(rest + 1) >= 0));
}

bool sirix_http_host_is_ours(const struct sirix_http_address *address,
                             const struct sirix_settings *settings, const char *host)
{
    const char *name = NULL;
    size_t len = 0;

    if (!split_host(host, &name, &len)) {
        return false;
    }
    for (size_t i = 0; i < settings->http_hosts.count; i++) {
        if (is_name(name, len, settings->http_hosts.names[i])) {
            return true;
        }
    }
    return is_name(name, len, address->host) ||
           (address->is_loopback && (is_name(name, len, "localhost") ||
                                     is_name(name, len, "127.0.0.1") || is_name(name, len, "::1")));
}

bool sirix_http_origin_is_ours(const struct sirix_http_address *address,
                               const struct sirix_settings *settings, const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t len = strlen(schemes[i]);

        if (strncasecmp(origin, schemes[i], len) == 0) {
            return sirix_http_host_is_ours(address, settings, origin + len);
        }
    }
    return false;
}
