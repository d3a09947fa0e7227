/* What stored text has encoded, one level deep. Internal to guard/suspicion.c; any thread. */
#ifndef SIRIX_GUARD_SUSPICION_DECODE_H
#define SIRIX_GUARD_SUSPICION_DECODE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

/* Appends what runs of base64 and hex stand for, a line each, until 16 KiB. SIRIX_NO_MEMORY. */
enum sirix_status sirix_suspicion_decode_runs(struct sirix_bytes plain, struct sirix_buf *out,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The text with its escapes (%49, &#73;, &#x49;, \u0049, \x49) resolved, in place of what was in
 * out; nothing if they are fewer than four. SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_suspicion_decode_escapes(struct sirix_bytes plain, struct sirix_buf *out,
                                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends c (< 0x200000) as UTF-8 does, surrogates as well: escapes name them. SIRIX_NO_MEMORY. */
enum sirix_status sirix_suspicion_put(struct sirix_buf *out, uint32_t c,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
