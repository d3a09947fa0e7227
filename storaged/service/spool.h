/*
 * Text that comes in pieces and must be whole before work on it begins: in memory while it is small,
 * beyond that in a file without a name in the data folder, gone with its descriptor.
 */
#ifndef SIRIX_SERVICE_SPOOL_H
#define SIRIX_SERVICE_SPOOL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_SPOOL_MEMORY_BYTES = 1024 * 1024, SIRIX_SPOOL_PIECE_BYTES = 128 * 1024 };
#define SIRIX_SPOOL_BYTES_MAX (UINT64_C(1) << 30)

struct sirix_spool {
    const char *dir;
    struct sirix_buf memory;
    int fd; /* -1: all is in memory. */
    uint64_t len;
};

/* dir stays the caller's and outlives the spool. */
void sirix_spool_init(struct sirix_spool *spool, const char *dir);
void sirix_spool_deinit(struct sirix_spool *spool);

/* SIRIX_EXHAUSTED (reason size_limit) past SIRIX_SPOOL_BYTES_MAX. */
enum sirix_status sirix_spool_append(struct sirix_spool *spool, struct sirix_bytes piece,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * At most SIRIX_SPOOL_PIECE_BYTES from offset (< len) on, at most max; valid until the next call.
 * scratch is the caller's and takes what comes from the file.
 */
enum sirix_status sirix_spool_read(const struct sirix_spool *spool, uint64_t offset, uint64_t max,
                                   struct sirix_buf *scratch, struct sirix_bytes *out_piece,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
