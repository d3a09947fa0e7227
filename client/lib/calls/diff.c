/* What changed between two revisions. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>

struct sirix_diff_stream {
    struct sirix_stream stream;
    struct sirix_diff_ends ends;
    struct sirix_diff_counts counts;
    bool complete; /* The END came. */
};

enum sirix_status sirix_client_diff(struct sirix_client *client,
                                    const struct sirix_diff_request *request,
                                    const struct sirix_call_options *call,
                                    struct sirix_diff_stream **out_stream, struct sirix_error *err)
{
    PB(DiffRequest) message = PB_INIT(DIFF_REQUEST);
    PB(View) from;
    PB(View) to;
    struct sirix_unary what = {
        .method = SIRIX_METHOD_DIFF,
        .request = &message.base,
        .answer_type = PB_TYPE(diff_response),
    };
    const ProtobufCMessage *first = NULL;
    struct sirix_diff_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.since_parted = request->since_parted;
    if (request->has_from) {
        /* The default view is the head of main here; an absent one would be the parent of `to`. */
        (void)sirix_encode_view(&request->from, &from);
        message.from = &from;
    }
    message.to = sirix_encode_view(&request->to, &to);
    message.format = request->json_patch ? SIRIX__STORAGE__V1__DIFF_FORMAT__DIFF_FORMAT_JSON_PATCH
                                         : SIRIX__STORAGE__V1__DIFF_FORMAT__DIFF_FORMAT_NATIVE;
    message.max_changes = request->max_changes;
    message.max_value_bytes = request->max_value_bytes;
    message.max_patch_operations = request->max_patch_operations;
    enum sirix_status status = sirix_stream_open(&stream->stream, client, &what, call, &first, err);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    const PB(DiffResponse) *start = (const void *)first;
    if (start->part_case != SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_START) {
        sirix_diff_stream_close(stream);
        return sirix_stream_fail_order("the first message is no start", err);
    }
    stream->ends = (struct sirix_diff_ends){
        .from_revision = start->start->from_revision,
        .to_revision = start->start->to_revision,
        .from_timestamp_us = start->start->from_timestamp_us,
        .to_timestamp_us = start->start->to_timestamp_us,
    };
    *out_stream = stream;
    return SIRIX_OK;
}

struct sirix_diff_ends sirix_diff_stream_ends(const struct sirix_diff_stream *stream)
{
    return stream->ends;
}

static struct sirix_change decode_change(const PB(Change) * from)
{
    struct sirix_change change = {
        .kind = sirix_decode_change_kind(from->kind),
        .node_key = from->node_key,
        .path = sirix_message_bytes(from->path),
        .old_value = sirix_message_bytes(from->old_value),
        .new_value = sirix_message_bytes(from->new_value),
        .old_cut = from->old_cut != 0,
        .new_cut = from->new_cut != 0,
        .old_type = sirix_decode_node_type(from->old_kind),
        .new_type = sirix_decode_node_type(from->new_kind),
        .parent_key = from->parent_key,
        .left_sibling_key = from->left_sibling_key,
        .has_old_index =
            from->old_position_case == SIRIX__STORAGE__V1__CHANGE__OLD_POSITION_OLD_INDEX,
        .has_new_index =
            from->new_position_case == SIRIX__STORAGE__V1__CHANGE__NEW_POSITION_NEW_INDEX,
        .has_old_name = from->old_member_case == SIRIX__STORAGE__V1__CHANGE__OLD_MEMBER_OLD_NAME,
        .has_new_name = from->new_member_case == SIRIX__STORAGE__V1__CHANGE__NEW_MEMBER_NEW_NAME,
        .equal_value = from->equal_value != 0,
    };

    change.old_index = change.has_old_index ? from->old_index : 0;
    change.new_index = change.has_new_index ? from->new_index : 0;
    if (change.has_old_name) {
        change.old_name = sirix_message_bytes(from->old_name);
    }
    if (change.has_new_name) {
        change.new_name = sirix_message_bytes(from->new_name);
    }
    return change;
}

static enum sirix_status decode_changes(struct sirix_arena *arena, const PB(ChangeList) * list,
                                        struct sirix_diff_part *out_part, struct sirix_error *err)
{
    struct sirix_change *changes = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, list->n_changes, &changes, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < list->n_changes; i++) {
        changes[i] = decode_change(list->changes[i]);
    }
    *out_part = (struct sirix_diff_part){
        .kind = SIRIX_DIFF_PART_CHANGES,
        .changes = changes,
        .change_count = list->n_changes,
    };
    return SIRIX_OK;
}

static struct sirix_diff_counts decode_end(const PB(DiffEnd) * end)
{
    return (struct sirix_diff_counts){
        .inserts = end->inserts,
        .deletes = end->deletes,
        .updates = end->updates,
        .replaces = end->replaces,
        .renames = end->renames,
        .moves = end->moves,
        .truncated = end->truncated != 0,
    };
}

enum sirix_status sirix_diff_stream_next(struct sirix_diff_stream *stream,
                                         struct sirix_diff_part *out_part, struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;

    for (;;) {
        enum sirix_status status = sirix_stream_next(&stream->stream, &message, err);
        const PB(DiffResponse) *part = (const void *)message;

        if (status != SIRIX_OK) {
            return status;
        }
        if (part == NULL && !stream->complete) {
            return sirix_stream_fail_order("a diff without its end", err);
        }
        if (part == NULL) {
            *out_part = (struct sirix_diff_part){
                .kind = SIRIX_DIFF_PART_END,
                .counts = stream->counts,
            };
            return SIRIX_OK;
        }
        switch (part->part_case) {
        case SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_CHANGES:
            return decode_changes(&stream->stream.arena, part->changes, out_part, err);
        case SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_JSON_PATCH:
            *out_part = (struct sirix_diff_part){
                .kind = SIRIX_DIFF_PART_JSON_PATCH,
                .json_patch = sirix_message_bytes(part->json_patch),
            };
            return SIRIX_OK;
        case SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_END:
            /* Told when the stream has ended well too. */
            stream->counts = decode_end(part->end);
            stream->complete = true;
            break;
        default:
            break; /* What a newer server adds. */
        }
    }
}

void sirix_diff_stream_close(struct sirix_diff_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}
