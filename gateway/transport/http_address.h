/* An address to listen at, and the names by which clients may call it. */
#ifndef SIRIX_TRANSPORT_HTTP_ADDRESS_H
#define SIRIX_TRANSPORT_HTTP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/status.h"
#include "guard/settings.h"

enum { SIRIX_HTTP_HOST_BYTES_MAX = 256 };

struct sirix_http_address {
    char host[SIRIX_HTTP_HOST_BYTES_MAX]; /* Without brackets. */
    bool is_loopback;
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } socket;
    socklen_t socket_len;
};

/* HOST:PORT, where HOST is localhost, an IPv4 address, or an IPv6 address in brackets. */
enum sirix_status sirix_http_address_parse(const char *text, struct sirix_http_address *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Whether a Host header names us: the host that is listened at, a name of this machine where that is
 * a loopback address, or one of the setting httpHosts; with any port or none.
 */
bool sirix_http_host_is_ours(const struct sirix_http_address *address,
                             const struct sirix_settings *settings, const char *host);

/* The same of an Origin header: http or https of such a host. */
bool sirix_http_origin_is_ours(const struct sirix_http_address *address,
                               const struct sirix_settings *settings, const char *origin);

/*
 * The value of Mcp-Name: visible ASCII, or =?base64?…?=. out has room for as many bytes as the text and
 * its NUL, and then holds a C string if it is good.
 */
bool sirix_http_decode_name(const char *text, char *out);

#endif
