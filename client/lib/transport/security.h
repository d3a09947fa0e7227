/*
 * How a channel shows who it is, and knows whom it talks to: a token out of a file, and TLS.
 *
 * The token's file is read again when it has changed, so that a token is replaced without a new client.
 * A token goes to no Unix socket, which asks for none, and in the clear to no other machine.
 */
#ifndef SIRIX_TRANSPORT_SECURITY_H
#define SIRIX_TRANSPORT_SECURITY_H

#include <grpc/grpc_security.h>
#include <stdbool.h>

#include "base/status.h"

enum {
    SIRIX_TOKEN_BYTES_MIN = 16,
    SIRIX_TOKEN_BYTES_MAX = 512,
    SIRIX_AUTHORIZATION_BYTES = sizeof("Bearer ") + SIRIX_TOKEN_BYTES_MAX,
};

struct sirix_security;

/* As in struct sirix_client_options; NULL: not given. */
struct sirix_security_options {
    const char *token_file;
    const char *tls_ca;
    const char *tls_cert;
    const char *tls_key;
};

/*
 * Checks the options against the address and reads the files. *out_security is NULL where there is
 * nothing to show. SIRIX_INVALID names the option; SIRIX_IO; SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_security_open(const struct sirix_security_options *options,
                                      const char *address, struct sirix_security **out_security,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* NULL is allowed. */
void sirix_security_close(struct sirix_security *security);

/* For a channel; the caller's to release. security may be NULL. */
grpc_channel_credentials *sirix_security_credentials(const struct sirix_security *security);

/* The value of `authorization`, a C string; "": there is none. security may be NULL. Any thread. */
enum sirix_status sirix_security_authorization(struct sirix_security *security,
                                               char out_text[SIRIX_AUTHORIZATION_BYTES],
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
