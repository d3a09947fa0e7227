/* Whether files of certificates can be what they are given for, told before gRPC is. */
#ifndef SIRIX_AUTH_CERTIFICATE_H
#define SIRIX_AUTH_CERTIFICATE_H

#include "base/bytes.h"
#include "base/status.h"

/*
 * SIRIX_INVALID unless chain is PEM that begins with a certificate and key the private key of it, in
 * PEM and without a password. Nothing of the key is repeated.
 */
enum sirix_status sirix_certificate_check_pair(struct sirix_bytes chain, struct sirix_bytes key,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_INVALID unless the text has at least one certificate in PEM. */
enum sirix_status sirix_certificate_check_roots(struct sirix_bytes roots,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
