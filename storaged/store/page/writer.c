/* The open segment grows by doubling up to what its pages need; a closed one is never touched again. */
#include "store/page/writer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "store/page/page.h"

enum { SEGMENT_CAP_BYTES_MIN = 4096, SEGMENTS_CAP_MIN = 4 };

struct sirix_page_writer {
    struct sirix_page_writer_options options;
    struct sirix_sha256 body;
    bool has_body;
    struct sirix_segment_built open; /* bytes NULL: none. */
    size_t open_cap;
    size_t open_pages; /* Offset of the open segment's first page. */
    bool record_placed;
    struct sirix_segment_built *closed;
    size_t closed_count;
    size_t closed_cap;
    uint64_t page_bytes;
};

enum sirix_status sirix_page_writer_new(const struct sirix_page_writer_options *options,
                                        struct sirix_page_writer **out_writer,
                                        struct sirix_error *err)
{
    struct sirix_page_writer *writer = calloc(1, sizeof(*writer));
    enum sirix_status status = SIRIX_OK;

    assert(options->record_bytes % SIRIX_SEGMENT_ALIGN == 0);
    assert(options->record_bytes == 0 || options->flush == NULL);
    if (writer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a page writer");
    }
    writer->options = *options;
    if (writer->options.segment_bytes == 0) {
        writer->options.segment_bytes = SIRIX_SEGMENT_BULK_BYTES;
    }
    if (writer->options.segment_bytes > SIRIX_SEGMENT_BYTES_MAX) {
        writer->options.segment_bytes = SIRIX_SEGMENT_BYTES_MAX;
    }
    status = sirix_sha256_init(&writer->body, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    writer->has_body = true;
    *out_writer = writer;
    writer = NULL;
out:
    sirix_page_writer_free(writer);
    return status;
}

void sirix_page_writer_free(struct sirix_page_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (size_t i = 0; i < writer->closed_count; i++) {
        free(writer->closed[i].bytes);
    }
    free(writer->closed);
    free(writer->open.bytes);
    if (writer->has_body) {
        sirix_sha256_deinit(&writer->body);
    }
    free(writer);
}

/* Makes sure that one more closed segment can be kept. */
static enum sirix_status reserve_closed(struct sirix_page_writer *writer, struct sirix_error *err)
{
    size_t cap = writer->closed_cap == 0 ? SEGMENTS_CAP_MIN : writer->closed_cap * 2;
    struct sirix_segment_built *closed = NULL;

    if (writer->closed_count < writer->closed_cap) {
        return SIRIX_OK;
    }
    closed = realloc(writer->closed, cap * sizeof(*closed));
    if (closed == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot keep %zu segments of a commit",
                          writer->closed_count + 1);
    }
    writer->closed = closed;
    writer->closed_cap = cap;
    return SIRIX_OK;
}

static enum sirix_status close_open(struct sirix_page_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    struct sirix_segment_built segment = writer->open;

    if (segment.bytes == NULL) {
        return SIRIX_OK;
    }
    if (writer->options.flush == NULL) {
        status = reserve_closed(writer, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    status = sirix_sha256_update(&writer->body, segment.bytes + writer->open_pages,
                                 segment.len - writer->open_pages, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (segment.kind != SIRIX_SEGMENT_COMMIT) {
        sirix_segment_seal(segment.bytes, segment.len, segment.kind, writer->options.resource_id);
    }
    writer->open = (struct sirix_segment_built){0};
    if (writer->options.flush != NULL) {
        return writer->options.flush(writer->options.flush_context, &segment, err);
    }
    writer->closed[writer->closed_count++] = segment;
    return SIRIX_OK;
}

/* Starts a segment with room for at least page_bytes of pages. */
static enum sirix_status open_next(struct sirix_page_writer *writer, size_t page_bytes,
                                   struct sirix_error *err)
{
    bool record = writer->options.record_bytes != 0 && !writer->record_placed;
    size_t start = SIRIX_SEGMENT_HEADER_BYTES + (record ? writer->options.record_bytes : 0);
    /* A bulk writer fills its segments, so one allocation is enough; a commit's is mostly small. */
    size_t cap =
        writer->options.flush != NULL ? writer->options.segment_bytes : SEGMENT_CAP_BYTES_MIN;
    uint8_t *bytes = NULL;

    cap = cap < start + page_bytes ? start + page_bytes : cap;
    bytes = calloc(1, cap);
    if (bytes == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a segment of %zu bytes", cap);
    }
    writer->open = (struct sirix_segment_built){
        .number = sirix_segment_reserve(writer->options.backend, 1),
        .bytes = bytes,
        .len = start,
        .kind = record ? SIRIX_SEGMENT_COMMIT : SIRIX_SEGMENT_PAGES,
    };
    writer->open_cap = cap;
    writer->open_pages = start;
    writer->record_placed = writer->record_placed || record;
    return SIRIX_OK;
}

/* Room for more bytes in the open segment, zeroed. */
static enum sirix_status grow_open(struct sirix_page_writer *writer, size_t more,
                                   struct sirix_error *err)
{
    size_t cap = writer->open_cap * 2;
    uint8_t *bytes = NULL;

    if (more <= writer->open_cap - writer->open.len) {
        return SIRIX_OK;
    }
    cap = cap < writer->open.len + more ? writer->open.len + more : cap;
    bytes = realloc(writer->open.bytes, cap);
    if (bytes == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot grow a segment to %zu bytes", cap);
    }
    memset(bytes + writer->open_cap, 0, cap - writer->open_cap);
    writer->open.bytes = bytes;
    writer->open_cap = cap;
    return SIRIX_OK;
}

enum sirix_status sirix_page_writer_alloc(struct sirix_page_writer *writer, size_t len,
                                          uint64_t *out_address, uint8_t **out_place,
                                          struct sirix_error *err)
{
    size_t need = sirix_page_padded(len);
    enum sirix_status status = SIRIX_OK;

    assert(len != 0);
    assert(need <=
           SIRIX_SEGMENT_BYTES_MAX - SIRIX_SEGMENT_HEADER_BYTES - writer->options.record_bytes);
    if (writer->open.bytes != NULL && writer->open.len > writer->open_pages &&
        writer->open.len + need > writer->options.segment_bytes) {
        status = close_open(writer, err);
    }
    if (status == SIRIX_OK && writer->open.bytes == NULL) {
        status = open_next(writer, need, err);
    }
    if (status == SIRIX_OK) {
        status = grow_open(writer, need, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_address = sirix_address_make(writer->open.number, writer->open.len);
    *out_place = writer->open.bytes + writer->open.len;
    writer->open.len += need;
    writer->page_bytes += need;
    return SIRIX_OK;
}

uint64_t sirix_page_writer_bytes(const struct sirix_page_writer *writer)
{
    return writer->page_bytes;
}

enum sirix_status sirix_page_writer_finish(struct sirix_page_writer *writer,
                                           struct sirix_segment_built **out_segments,
                                           size_t *out_count, uint8_t out_body[32],
                                           struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    /* A commit that changes no page, a revert for one, still has its record. */
    if (writer->options.record_bytes != 0 && !writer->record_placed) {
        status = open_next(writer, 0, err);
    }
    if (status == SIRIX_OK) {
        status = close_open(writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&writer->body, out_body, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_segments = writer->closed;
    *out_count = writer->closed_count;
    writer->closed = NULL;
    writer->closed_count = 0;
    writer->closed_cap = 0;
    return SIRIX_OK;
}
