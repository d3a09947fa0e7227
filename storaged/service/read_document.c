/*
 * The text of a document, a piece a turn. It keeps a view (which pins the revision) and a stream's
 * reader, which is yielded at the end of every turn, so that a client that reads slowly holds no
 * transaction. NDJSON serialises one element after the other.
 */
#include <stdlib.h>

#include "service/read.h"

enum { PIECE_BYTES_MAX = 4 * SIRIX_READ_CHUNK_BYTES };

struct sirix_read_document {
    struct sirix_request request;
    struct sirix_target target;
    struct sirix_view view;
    struct sirix_document document;
    struct sirix_serialiser *serialiser;
    struct sirix_buf piece;
    uint32_t indent;
    bool ndjson;
    bool viewed;
    struct sirix_children elements; /* NDJSON: those that are left. */
    uint64_t elements_left;
};

static enum sirix_status start(struct sirix_read_document *read, uint64_t key,
                               struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = key, .indent = read->indent};

    return sirix_serialiser_new(&read->document, &options, &read->serialiser, err);
}

static enum sirix_status begin(struct sirix_read_document *read,
                               const struct sirix_read_document_request *wanted,
                               struct sirix_error *err)
{
    struct sirix_document_node node;
    bool has_value = false;
    uint64_t key = 0;

    sirix_document_init(&read->document, &read->view, read->target.reader);
    enum sirix_status status = sirix_document_has_value(&read->document, &has_value, err);
    if (status == SIRIX_OK && !has_value) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_UNKNOWN,
                                 "the resource has no value in this revision");
    }
    if (status == SIRIX_OK) {
        status = sirix_node_target_resolve(&read->document, &wanted->target, &key, err);
    }
    if (status != SIRIX_OK || !read->ndjson) {
        return status == SIRIX_OK ? start(read, key, err) : status;
    }
    status = sirix_document_get(&read->document, key, &node, err);
    if (status == SIRIX_OK && node.kind != SIRIX_NODE_ARRAY) {
        status = sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                   "NDJSON is the elements of an array, and this is none");
        sirix_error_set_field(err, "ndjson");
    }
    if (status == SIRIX_OK) {
        read->elements_left = node.child_count;
        status = sirix_children_init(&read->elements, &read->document, key, 0, err);
    }
    return status;
}

enum sirix_status sirix_read_document_open(const struct sirix_request *request,
                                           const struct sirix_read_document_request *wanted,
                                           struct sirix_read_document **out_read,
                                           uint64_t *out_revision, int64_t *out_time_us,
                                           struct sirix_error *err)
{
    uint64_t indent = 0;
    enum sirix_status status =
        sirix_limit_check(wanted->indent, 0, SIRIX_READ_INDENT_MAX, "indent", &indent, err);

    if (status == SIRIX_OK && wanted->ndjson && indent != 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "NDJSON has one line a value and no indent");
        sirix_error_set_field(err, "indent");
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_read_document *read = calloc(1, sizeof(*read));
    if (read == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a document stream");
    }
    read->request = *request;
    read->indent = (uint32_t)indent;
    read->ndjson = wanted->ndjson;
    sirix_buf_init(&read->piece, PIECE_BYTES_MAX);
    status =
        sirix_target_open_stream(request, wanted->database, wanted->resource, &read->target, err);
    if (status == SIRIX_OK) {
        status = sirix_target_view(&read->target, &wanted->view, "view", &read->view, err);
        read->viewed = status == SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = begin(read, wanted, err);
    }
    if (status != SIRIX_OK) {
        sirix_read_document_close(read);
        return status;
    }
    sirix_reader_yield(read->target.reader);
    *out_revision = read->view.record.revision;
    *out_time_us = read->view.record.time_us;
    *out_read = read;
    return SIRIX_OK;
}

/* One step of the present value; at its end an NDJSON line is ended. */
static enum sirix_status step(struct sirix_read_document *read, struct sirix_error *err)
{
    bool done = false;
    enum sirix_status status = SIRIX_OK;

    if (read->serialiser == NULL) {
        uint64_t key = 0;
        status = sirix_children_next(&read->elements, &key, err);
        if (status == SIRIX_OK) {
            read->elements_left--;
            status = start(read, key, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_serialiser_step(read->serialiser, SIRIX_READ_CHUNK_BYTES - read->piece.len,
                                       &read->piece, &done, err);
    }
    if (status == SIRIX_OK && done) {
        sirix_serialiser_free(read->serialiser);
        read->serialiser = NULL;
        if (read->ndjson) {
            status = sirix_buf_append_u8(&read->piece, '\n', err);
        }
    }
    return status;
}

enum sirix_status sirix_read_document_next(struct sirix_read_document *read,
                                           struct sirix_bytes *out_piece, bool *out_done,
                                           struct sirix_error *err)
{
    enum sirix_status status = sirix_cancel_check(read->request.cancel, err);

    sirix_buf_clear(&read->piece);
    while (status == SIRIX_OK && read->piece.len < SIRIX_READ_CHUNK_BYTES &&
           (read->serialiser != NULL || read->elements_left != 0)) {
        status = step(read, err);
    }
    sirix_reader_yield(read->target.reader);
    if (status == SIRIX_OK) {
        *out_piece = sirix_buf_view(&read->piece);
        *out_done = read->serialiser == NULL && read->elements_left == 0;
    }
    return status;
}

void sirix_read_document_close(struct sirix_read_document *read)
{
    if (read == NULL) {
        return;
    }
    sirix_serialiser_free(read->serialiser);
    if (read->viewed) {
        sirix_view_close(&read->view);
    }
    sirix_target_close(&read->target);
    sirix_buf_deinit(&read->piece);
    free(read);
}
