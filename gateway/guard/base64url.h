/*
 * base64url (RFC 4648, section 5) without padding. One text for one sequence of bytes: bits that stand
 * for nothing must be 0.
 */
#ifndef SIRIX_GUARD_BASE64URL_H
#define SIRIX_GUARD_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

/* Appends the text of len bytes. */
enum sirix_status sirix_base64url_encode(struct sirix_buf *out, const uint8_t *bytes, size_t len,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The bytes of a text into out, which has room for three quarters of its length. False: it is not
 * what encode() makes; what out holds then means nothing.
 */
bool sirix_base64url_decode(struct sirix_bytes text, uint8_t *out, size_t *out_len);

#endif
