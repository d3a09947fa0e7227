/* Revert: a new record with an old root. Costs one record, whatever lies between. */
#include "store/revision/internal.h"

#include <assert.h>
#include <stdlib.h>

enum sirix_status sirix_revert(const struct sirix_view *base, const struct sirix_view *source,
                               struct sirix_bytes author, struct sirix_bytes message,
                               const struct sirix_rider *rider,
                               struct sirix_published *out_published, struct sirix_error *err)
{
    struct sirix_segment_built segment = {0};
    struct sirix_publication publication = {
        .resource = base->resource,
        .branch_id = base->branch_id,
        .base_revision = base->record.revision,
        .base_address = base->record_address,
        .record =
            {
                .trie = source->record.trie,
                .node_count = source->record.node_count,
                .text_bytes = source->record.text_bytes,
                .adopted_from = source->record.revision,
                .author = author,
                .message = message,
            },
        .segments = &segment,
        .segment_count = 1,
    };
    enum sirix_status status = sirix_texts_check(author, message, err);

    if (base->resource != source->resource) {
        return sirix_fail(err, SIRIX_INVALID,
                          "a resource can only be reverted to a revision of its own");
    }
    if (rider != NULL) {
        publication.rider = *rider;
    }
    if (status == SIRIX_OK) {
        status = sirix_record_segment_new(base->resource->database->backend, &publication.record,
                                          &segment, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_publish(&publication, out_published, err);
    }
    if (status == SIRIX_OK && publication.replay != NULL) {
        /* The caller has no place to free it from: who needs the first answer asks
         * sirix_rider_find(). */
        free(publication.replay);
        out_published->answer = (struct sirix_bytes){0};
    }
    return status;
}
