/* Records in the making: texts, place in the graph, chain, and commits that are a record alone. */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/sha256.h"

enum sirix_status sirix_texts_check(struct sirix_bytes author, struct sirix_bytes message,
                                    struct sirix_error *err)
{
    const bool long_author = author.len > SIRIX_AUTHOR_BYTES_MAX;
    enum sirix_status status = SIRIX_OK;

    if (long_author || message.len > SIRIX_MESSAGE_BYTES_MAX) {
        status = sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT, "the %s has %zu bytes, the limit is %d",
            long_author ? "author" : "message", long_author ? author.len : message.len,
            long_author ? SIRIX_AUTHOR_BYTES_MAX : SIRIX_MESSAGE_BYTES_MAX);
        sirix_error_set_field(err, long_author ? "author" : "message");
    }
    return status;
}

/* The jump of a child: its parent, or where the jump of the parent's jump points. */
static enum sirix_status link_jump(struct sirix_reader *reader,
                                   const struct sirix_resource *resource,
                                   struct sirix_record *record, const struct sirix_step *parent,
                                   struct sirix_error *err)
{
    struct sirix_step step = *parent;

    if (sirix_jump_depth(record->depth) == parent->record.depth) {
        record->jump_revision = parent->record.revision;
        record->jump_address = parent->address;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_step_jump(reader, resource, &step, err);
    if (status == SIRIX_OK) {
        record->jump_revision = step.record.jump_revision;
        record->jump_address = step.record.jump_address;
    }
    return status;
}

enum sirix_status sirix_record_link(struct sirix_reader *reader,
                                    const struct sirix_resource *resource,
                                    struct sirix_record *record, const struct sirix_step *parent,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (parent == NULL) {
        record->parent_revision = 0;
        record->parent_address = 0;
        record->jump_revision = 0;
        record->jump_address = 0;
        record->depth = 0;
        record->adoptions = 0;
        return sirix_record_chain(record, NULL, record->chain, err);
    }
    if (parent->record.depth == UINT32_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED,
                          "resource %s: revision %" PRIu64 " has as many ancestors as there may be",
                          resource->name, parent->record.revision);
    }
    record->parent_revision = parent->record.revision;
    record->parent_address = parent->address;
    record->depth = parent->record.depth + 1;
    record->adoptions = parent->record.adoptions + (record->adopted_from != 0);
    status = link_jump(reader, resource, record, parent, err);
    return status == SIRIX_OK ? sirix_record_chain(record, parent->record.chain, record->chain, err)
                              : status;
}

enum sirix_status sirix_record_segment_new(struct sirix_backend *backend,
                                           struct sirix_record *record,
                                           struct sirix_segment_built *out_segment,
                                           struct sirix_error *err)
{
    size_t len =
        SIRIX_SEGMENT_HEADER_BYTES + sirix_record_bytes(record->author.len, record->message.len);
    enum sirix_status status = sirix_sha256(NULL, 0, record->body, err);
    uint8_t *bytes = NULL;

    if (status != SIRIX_OK) {
        return status;
    }
    bytes = calloc(1, len);
    if (bytes == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a revision record");
    }
    record->segment_count = 1;
    *out_segment = (struct sirix_segment_built){
        .number = sirix_segment_reserve(backend, 1),
        .bytes = bytes,
        .len = len,
        .kind = SIRIX_SEGMENT_COMMIT,
    };
    return SIRIX_OK;
}
