/*
 * Strings out of line: a root page that knows the lengths, the hash and the addresses of the chunks.
 *
 * Form      stored bytes are the canonical escaped form (node.h); equal strings have equal hashes, so
 *           two of them are compared by their roots alone.
 * Chunks    all but the last have the same length, so the chunk of an offset is found by a division.
 * Memory    writer and reader hold one chunk at most, whatever the string's length.
 * Limits    SIRIX_STRING_BYTES_MAX decoded bytes; past it SIRIX_INVALID (reason size_limit).
 */
#ifndef SIRIX_STORE_PAGE_STRING_H
#define SIRIX_STORE_PAGE_STRING_H

#include "base/buf.h"
#include "base/sha256.h"
#include "store/page/node.h"
#include "store/page/writer.h"

enum {
    SIRIX_STRING_ROOT_HEADER_BYTES = 64,
    SIRIX_STRING_CHUNK_HEADER_BYTES = 8,
    /* A full chunk's segment is 16 bytes short of 64 pages of 4096, as LMDB likes values to be. */
    SIRIX_STRING_CHUNK_BYTES = SIRIX_SEGMENT_BULK_BYTES - 16 - SIRIX_SEGMENT_HEADER_BYTES -
                               SIRIX_STRING_CHUNK_HEADER_BYTES,
};

/* What a root page says of its string. */
struct sirix_string_info {
    uint64_t stored_len;
    uint64_t decoded_len;
    uint8_t hash[SIRIX_SHA256_BYTES]; /* Of the stored bytes. */
    uint32_t chunk_bytes;             /* Length of every chunk but the last. */
    uint32_t chunk_count;
};

/* Reads and checks a root page; the chunk addresses follow its header. Pure. */
enum sirix_status sirix_string_root_decode(struct sirix_bytes bytes, uint64_t address,
                                           struct sirix_string_info *out_info,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
/* The address of one chunk of a decoded root page; SIRIX_CORRUPT when it names segment 0. */
enum sirix_status sirix_string_root_chunk(struct sirix_bytes bytes, uint64_t address,
                                          uint32_t index, uint64_t *out_chunk,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Writing --------------------------------------------------------------------------------- */

/* Caller's storage. One string after another: append its parts, then finish. */
struct sirix_string_writer {
    struct sirix_page_writer *pages;
    struct sirix_sha256 sha;
    struct sirix_buf chunk;     /* Bytes of the chunk that is not full yet. */
    struct sirix_buf addresses; /* Of the chunks written, as they stand in the root page. */
    uint64_t stored_len;
    uint64_t saved_len;   /* How much shorter the decoded form is, so far. */
    bool after_backslash; /* The last part ended with one. */
    uint32_t escape_left; /* Bytes of an escape that belong to the next part. */
};

enum sirix_status sirix_string_writer_init(struct sirix_string_writer *writer,
                                           struct sirix_page_writer *pages,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_string_writer_deinit(struct sirix_string_writer *writer);

/* Adds stored bytes; a part may end anywhere. After a failure the string is lost: deinit. */
enum sirix_status sirix_string_writer_append(struct sirix_string_writer *writer,
                                             struct sirix_bytes part,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Ends the string (at least one byte, no escape cut off) and gives it as a text out of line and its
 * decoded length. The writer is ready for the next string.
 */
enum sirix_status sirix_string_writer_finish(struct sirix_string_writer *writer,
                                             struct sirix_text *out_text, uint64_t *out_decoded_len,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Reading --------------------------------------------------------------------------------- */

/* Caller's storage; nothing to give back. Survives yields of its reader, its slices do not. */
struct sirix_string_reader {
    struct sirix_reader *reader;
    uint64_t address;
    struct sirix_string_info info;
    uint64_t generation;
    uint32_t chunk_index; /* Of the slice in chunk. */
    struct sirix_bytes chunk;
};

enum sirix_status sirix_string_reader_init(struct sirix_string_reader *string,
                                           struct sirix_reader *reader, uint64_t address,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The stored bytes from offset to the end of the chunk that holds it, empty at the string's end and
 * past it. Valid until the reader yields.
 */
enum sirix_status sirix_string_reader_at(struct sirix_string_reader *string, uint64_t offset,
                                         struct sirix_bytes *out_bytes,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
