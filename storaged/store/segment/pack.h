/*
 * A pack: many small segments of one group of numbers in one value. Pure functions over bytes.
 *
 *     offset  size  field, little-endian
 *     0       2     magic 0x5053
 *     2       1     format (1)
 *     3       1     0
 *     4       4     CRC32C over bytes 8 to the end of the directory
 *     8       8     first number of the group, a multiple of 256
 *     16      4     length of the pack in bytes
 *     20      2     count of members, 1..256
 *     22      2     0
 *     24      4*n   directory, rising: place in the group (8 bits) | offset / 8 << 8
 *     ...           members at multiples of 8, each a sealed segment with its own checksum
 *
 * A pack lies under a key >= its highest member's number and > every number of the pack before it,
 * so the one that may hold a number is the first one whose key is >= that number.
 */
#ifndef SIRIX_STORE_SEGMENT_PACK_H
#define SIRIX_STORE_SEGMENT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum {
    SIRIX_PACK_GROUP_BITS = 8,
    SIRIX_PACK_GROUP = 1 << SIRIX_PACK_GROUP_BITS, /* Numbers a group. */
    SIRIX_PACK_MEMBER_BYTES_MAX = 16 * 1024,       /* Larger segments stay alone. */
    SIRIX_PACK_BYTES_MAX = 64 * 4096 - 16,         /* Whole pages of LMDB, with its page header. */
};

static inline uint64_t sirix_pack_group_first(uint64_t number)
{
    return number & ~(uint64_t)(SIRIX_PACK_GROUP - 1);
}

struct sirix_pack_member {
    uint64_t number;
    struct sirix_bytes bytes;
};

/* Header, directory and its checksum; SIRIX_CORRUPT names the pack by key. */
enum sirix_status sirix_pack_check(struct sirix_bytes pack, uint64_t key,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The rest is for packs that were checked. */

size_t sirix_pack_count(struct sirix_bytes pack);

/*
 * Member at index < count. Its bytes are those of its header's length, or, when that is damaged, what
 * is there: sirix_segment_check() then refuses them.
 */
struct sirix_pack_member sirix_pack_at(struct sirix_bytes pack, size_t index);

/* Index of the first member whose number is >= number; count when there is none. */
size_t sirix_pack_lower_bound(struct sirix_bytes pack, uint64_t number);

bool sirix_pack_find(struct sirix_bytes pack, uint64_t number, struct sirix_bytes *out_bytes);

/* Members of one group, rising, that fit into one pack: how many of the first count. At least 1. */
size_t sirix_pack_fit(const struct sirix_pack_member *members, size_t count);

/* Appends a pack of count members that fit. */
enum sirix_status sirix_pack_build(const struct sirix_pack_member *members, size_t count,
                                   struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
