/*
 * Page writer: lays pages out in new segments. Every new page of a commit or import goes through one.
 *
 *     sirix_page_writer_alloc() -> address and a zeroed place of that size, 8-aligned, in the open
 *     segment; a new segment starts when the page would pass the target size.
 *
 * A commit's writer keeps its segments in memory until the committer takes them; the first bytes of
 * its first segment are left free for the revision record. A bulk writer hands each full segment to
 * `flush` and forgets it, so its memory is one segment.
 *
 * The body hash (SHA-256) runs over all page bytes in the order of allocation, as they stand when the
 * segment is closed; header and record are left out.
 */
#ifndef SIRIX_STORE_PAGE_WRITER_H
#define SIRIX_STORE_PAGE_WRITER_H

#include "base/buf.h"
#include "store/segment/segment.h"

struct sirix_page_writer;

struct sirix_segment_built {
    uint64_t number;
    uint8_t *bytes; /* malloc'ed, not yet sealed when it holds a record. */
    size_t len;
    enum sirix_segment_kind kind;
};

/* Takes the segment (and its bytes) over. Called for closed segments, in rising number order. */
typedef enum sirix_status (*sirix_segment_flush_fn)(void *context,
                                                    struct sirix_segment_built *segment,
                                                    struct sirix_error *err);

struct sirix_page_writer_options {
    struct sirix_backend *backend;
    uint32_t resource_id;
    size_t segment_bytes; /* Target size; a larger page gets a segment of its own. 0: bulk size. */
    size_t record_bytes;  /* Left free after the first segment's header; 0: none. Multiple of 8. */
    sirix_segment_flush_fn flush; /* NULL: keep all segments until finish. Not with a record. */
    void *flush_context;
};

enum sirix_status sirix_page_writer_new(const struct sirix_page_writer_options *options,
                                        struct sirix_page_writer **out_writer,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_page_writer_free(struct sirix_page_writer *writer);

/*
 * Room for a page of len bytes (len <= SIRIX_SEGMENT_BYTES_MAX - header - record). *out_place is
 * valid until the next alloc of this writer.
 */
enum sirix_status sirix_page_writer_alloc(struct sirix_page_writer *writer, size_t len,
                                          uint64_t *out_address, uint8_t **out_place,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Bytes of pages allocated so far. */
uint64_t sirix_page_writer_bytes(const struct sirix_page_writer *writer);

/*
 * Closes the open segment, gives the body hash, and without flush the kept segments: *out_segments is
 * a malloc'ed array, the caller's with all its bytes; the first holds the record slot. With flush the
 * last segment is flushed and the array is empty. The writer is then only good to free.
 */
enum sirix_status sirix_page_writer_finish(struct sirix_page_writer *writer,
                                           struct sirix_segment_built **out_segments,
                                           size_t *out_count, uint8_t out_body[32],
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
