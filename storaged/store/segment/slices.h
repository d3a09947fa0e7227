/*
 * What one reader has looked up since its last yield: a table from segment number to bytes, and the
 * heap copies that slices are served from where the build or the backend wants that.
 *
 * The table is a cache: it may forget when memory is short or when it is full, so a caller always
 * knows how to look up again. Copies begin at an address that is even and nothing more, as values in
 * an LMDB page do, so that a decoder which counts on alignment is caught by the sanitizers.
 */
#ifndef SIRIX_STORE_SEGMENT_SLICES_H
#define SIRIX_STORE_SEGMENT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_SLICES_MAX = 64 * 1024 }; /* Remembered at once; 24 bytes each at half load. */

struct sirix_slice_slot;
struct sirix_slice_copy;

struct sirix_slices {
    struct sirix_slice_slot *slots;
    size_t slot_count; /* 0 or a power of two. */
    size_t used;
    uint32_t stamp; /* Slots with another stamp are free. */
    struct sirix_slice_copy *copies;
};

/* Empty; allocates nothing. */
void sirix_slices_init(struct sirix_slices *slices);
void sirix_slices_deinit(struct sirix_slices *slices);

/* Forgets everything and frees the copies. */
void sirix_slices_clear(struct sirix_slices *slices);

bool sirix_slices_find(const struct sirix_slices *slices, uint64_t key,
                       struct sirix_bytes *out_bytes);

/* Remembers bytes of at most UINT32_MAX under key, replacing what was there; or does not. */
void sirix_slices_remember(struct sirix_slices *slices, uint64_t key, struct sirix_bytes bytes);

/* A heap copy that lives until clear. */
enum sirix_status sirix_slices_copy(struct sirix_slices *slices, struct sirix_bytes bytes,
                                    struct sirix_bytes *out_copy,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
