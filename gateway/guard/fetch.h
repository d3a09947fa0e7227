/*
 * Getting a small text over HTTPS, with libcurl. The library, and the twenty others that it needs, are
 * loaded when the first text is wanted: most processes never want one, and start faster without.
 *
 * Threads   Any number, after open.
 */
#ifndef SIRIX_GUARD_FETCH_H
#define SIRIX_GUARD_FETCH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

/* Loads the library. Before there are threads that could do it at once. SIRIX_IO. */
enum sirix_status sirix_fetch_open(struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Appends what is at the URL, of at most the buffer's limit, within so many milliseconds; redirects are
 * not followed, and no proxy is asked. SIRIX_UNAVAILABLE, SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_fetch(const char *url, uint32_t timeout_ms, struct sirix_buf *out,
                              struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
