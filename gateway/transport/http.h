/*
 * MCP over HTTP: one endpoint, /mcp, on libmicrohttpd with a thread a connection, so that a slow
 * client holds up nobody but itself.
 *
 * Requests   A POST carries one message. It is answered as JSON, or as a stream of events where the
 *            client takes one and there is something to tell before the answer.
 * Refused    before the body is read: another path or method, a Host or Origin that is not ours, a
 *            caller who is not known (401) or has no rights (403), a body that is no JSON or too long.
 *            A call that needs more rights than its caller has is 403 too, and names them.
 * Metadata   GET /.well-known/oauth-protected-resource (RFC 9728), where there is an authorization server.
 * Gone       A client that closes its connection, or its half of it, cancels its request of the modern
 *            era. In the legacy era the work goes on, as the protocol has it.
 * Sessions   There are none: no id is given out, GET and DELETE are answered with 405.
 * Limits     below; of time too: a client that sends, or reads, too slowly loses its connection.
 * End        When stop_fd becomes readable nothing more is accepted, requests that listen end with a
 *            result, and the others get as long as they may take.
 */
#ifndef SIRIX_TRANSPORT_HTTP_H
#define SIRIX_TRANSPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "mcp/server.h"

enum {
    SIRIX_HTTP_BODY_BYTES_MAX = 16 * 1024 * 1024,
    SIRIX_HTTP_WAITING_BYTES_MAX = 256 * 1024 * 1024, /* Of all bodies that are read or served. */
    SIRIX_HTTP_HEADER_BYTES_MAX = 32 * 1024,          /* Of a request's head and its answer's. */
    SIRIX_HTTP_STREAM_BYTES_MAX = 4 * 1024 * 1024,    /* Of events that nobody has read. */
    SIRIX_HTTP_CONNECTIONS_MAX = 512,
    SIRIX_HTTP_IDLE_S = 30,          /* Without a byte in either direction. */
    SIRIX_HTTP_HEAD_MS = 60 * 1000,  /* From the connection, or the last answer, to a whole head. */
    SIRIX_HTTP_BODY_MS = 30 * 1000,  /* From the head to the whole body. */
    SIRIX_HTTP_WRITE_MS = 60 * 1000, /* From the answer to its last byte, where it is no stream. */
    SIRIX_HTTP_KEEP_ALIVE_MS = 15 * 1000, /* Between two comments of a stream that is silent. */
    SIRIX_HTTP_CANCEL_GRACE_MS = 3000,
};

struct sirix_gate;
struct sirix_callers;

struct sirix_http_options {
    const char *listen; /* "127.0.0.1:8760", "localhost:0", "[::1]:8760" */
    int stop_fd;        /* Readable when the process shall end. */
    int ready_fd;       /* Gets the URL as a line and is closed; -1: none. */
    /* Who may call, and with what rights; NULL: everybody, with the server's. Both or none. */
    const struct sirix_gate *gate;
    struct sirix_callers *callers;
    /* PEM texts of the certificate chain and its key; NULL: no TLS. */
    char *tls_cert;
    char *tls_key;
    /* 0 takes the constant of the name. */
    size_t body_bytes_max;
    size_t waiting_bytes_max;
    unsigned connections_max;
    uint32_t head_ms;
    uint32_t body_ms;
    uint32_t write_ms;
};

/*
 * Serves until the end. SIRIX_INVALID (field listen), SIRIX_IO (the address cannot be used),
 * SIRIX_DEADLINE: a call did not end though it was cancelled (its thread still uses the server: leave
 * with _exit()), SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_http_run(const struct sirix_mcp_server *server,
                                 const struct sirix_http_options *options,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether an address to listen at is this machine alone. SIRIX_INVALID (field httpListen). */
enum sirix_status sirix_http_check_address(const char *listen, bool *out_is_loopback,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
