/* Diff: start, then changes or a patch, then the counts; one message a turn. */
#include "service/diff.h"

#include "rpc/methods/codec.h"

struct diff_state {
    struct sirix_diff_stream *stream;
    bool json_patch;
    bool ending;
};

static Sirix__Storage__V1__ChangeKind kind_of(enum sirix_change_kind kind)
{
    static const Sirix__Storage__V1__ChangeKind kinds[] = {
        [SIRIX_CHANGE_INSERT] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_INSERT,
        [SIRIX_CHANGE_DELETE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_DELETE,
        [SIRIX_CHANGE_UPDATE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_UPDATE,
        [SIRIX_CHANGE_REPLACE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_REPLACE,
        [SIRIX_CHANGE_RENAME] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_RENAME,
        [SIRIX_CHANGE_MOVE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_MOVE,
    };

    return kinds[kind];
}

static void change_message(const struct sirix_diff_item *item, Sirix__Storage__V1__Change *message)
{
    const struct sirix_change *change = &item->change;
    const struct sirix_change_side *shown =
        change->kind == SIRIX_CHANGE_DELETE ? &change->before : &change->after;
    bool placed = change->kind == SIRIX_CHANGE_INSERT || change->kind == SIRIX_CHANGE_DELETE ||
                  change->kind == SIRIX_CHANGE_MOVE;

    sirix__storage__v1__change__init(message);
    message->kind = kind_of(change->kind);
    message->node_key = shown->key;
    message->parent_key = shown->parent;
    message->path = sirix_rpc_binary(item->path);
    message->old_value = sirix_rpc_binary(item->old_value);
    message->new_value = sirix_rpc_binary(item->new_value);
    message->old_cut = item->old_cut;
    message->new_cut = item->new_cut;
    message->equal_value = change->equal_value;
    message->left_sibling_key = placed ? shown->left : 0;
    if (change->before.key != 0) {
        message->old_kind = sirix_rpc_kind(sirix_value_kind_of(change->before.kind));
        if (change->before.key != shown->key) {
            message->old_node_key = change->before.key;
        }
        if (placed && !change->is_member) {
            message->old_position_case = SIRIX__STORAGE__V1__CHANGE__OLD_POSITION_OLD_INDEX;
            message->old_index = change->before.index;
        }
        if (change->is_member) {
            message->old_member_case = SIRIX__STORAGE__V1__CHANGE__OLD_MEMBER_OLD_NAME;
            message->old_name = sirix_rpc_binary(item->old_name);
        }
    }
    if (change->after.key != 0) {
        message->new_kind = sirix_rpc_kind(sirix_value_kind_of(change->after.kind));
        if (placed && !change->is_member) {
            message->new_position_case = SIRIX__STORAGE__V1__CHANGE__NEW_POSITION_NEW_INDEX;
            message->new_index = change->after.index;
        }
        if (change->is_member) {
            message->new_member_case = SIRIX__STORAGE__V1__CHANGE__NEW_MEMBER_NEW_NAME;
            message->new_name = sirix_rpc_binary(item->new_name);
        }
    }
}

static enum sirix_status diff_start(struct sirix_rpc_call *call, void *state,
                                    const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__DiffRequest *request =
        (const Sirix__Storage__V1__DiffRequest *)message;
    struct diff_state *diff = state;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_diff_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .has_from = request->from != NULL,
        .from = sirix_rpc_view(request->from),
        .to = sirix_rpc_view(request->to),
        .since_parted = request->since_parted,
        .json_patch = request->format == SIRIX__STORAGE__V1__DIFF_FORMAT__DIFF_FORMAT_JSON_PATCH,
        .max_changes = request->max_changes,
        .max_value_bytes = request->max_value_bytes,
        .max_patch_operations = request->max_patch_operations,
    };
    Sirix__Storage__V1__DiffStart start = SIRIX__STORAGE__V1__DIFF_START__INIT;
    Sirix__Storage__V1__DiffResponse answer = SIRIX__STORAGE__V1__DIFF_RESPONSE__INIT;
    struct sirix_diff_ends ends = {0};

    if ((unsigned)request->format > SIRIX__STORAGE__V1__DIFF_FORMAT__DIFF_FORMAT_JSON_PATCH) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "the format is none that this version knows");
        sirix_error_set_field(err, "format");
        return SIRIX_INVALID;
    }
    diff->json_patch = wanted.json_patch;
    enum sirix_status status = sirix_diff_stream_open(&who, &wanted, &diff->stream, &ends, err);
    if (status != SIRIX_OK) {
        return status;
    }
    start.from_revision = ends.from_revision;
    start.to_revision = ends.to_revision;
    start.from_timestamp_us = sirix_rpc_time(ends.from_time_us);
    start.to_timestamp_us = sirix_rpc_time(ends.to_time_us);
    answer.part_case = SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_START;
    answer.start = &start;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status send_end(struct sirix_rpc_call *call, struct diff_state *diff,
                                  struct sirix_error *err)
{
    Sirix__Storage__V1__DiffResponse answer = SIRIX__STORAGE__V1__DIFF_RESPONSE__INIT;
    Sirix__Storage__V1__DiffEnd end = SIRIX__STORAGE__V1__DIFF_END__INIT;
    bool truncated = false;
    struct sirix_diff_counts counts = sirix_diff_stream_counts(diff->stream, &truncated);

    diff->ending = true;
    end.inserts = counts.of[SIRIX_CHANGE_INSERT];
    end.deletes = counts.of[SIRIX_CHANGE_DELETE];
    end.updates = counts.of[SIRIX_CHANGE_UPDATE];
    end.replaces = counts.of[SIRIX_CHANGE_REPLACE];
    end.renames = counts.of[SIRIX_CHANGE_RENAME];
    end.moves = counts.of[SIRIX_CHANGE_MOVE];
    end.truncated = truncated;
    answer.part_case = SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_END;
    answer.end = &end;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status send_changes(struct sirix_rpc_call *call, struct diff_state *diff,
                                      struct sirix_error *err)
{
    Sirix__Storage__V1__DiffResponse answer = SIRIX__STORAGE__V1__DIFF_RESPONSE__INIT;
    Sirix__Storage__V1__ChangeList changes = SIRIX__STORAGE__V1__CHANGE_LIST__INIT;
    const struct sirix_diff_item *items = NULL;
    struct sirix_arena *arena = sirix_rpc_call_arena(call);
    struct sirix_arena_mark mark = sirix_arena_mark(arena);
    void *messages = NULL;
    void **list = NULL;
    size_t count = 0;

    enum sirix_status status = sirix_diff_stream_changes(diff->stream, &items, &count, err);
    if (status != SIRIX_OK || count == 0) {
        return status == SIRIX_OK ? send_end(call, diff, err) : status;
    }
    status = sirix_rpc_list(call, count, sizeof(Sirix__Storage__V1__Change), &messages, &list, err);
    if (status == SIRIX_OK) {
        for (size_t i = 0; i < count; i++) {
            change_message(&items[i], list[i]);
        }
        changes.n_changes = count;
        changes.changes = (Sirix__Storage__V1__Change **)list;
        answer.part_case = SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_CHANGES;
        answer.changes = &changes;
        status = sirix_rpc_call_write(call, &answer.base, err);
    }
    sirix_arena_rewind(arena, mark); /* Packed: a long diff needs no more than one batch. */
    return status;
}

static enum sirix_status send_patch(struct sirix_rpc_call *call, struct diff_state *diff,
                                    struct sirix_error *err)
{
    Sirix__Storage__V1__DiffResponse answer = SIRIX__STORAGE__V1__DIFF_RESPONSE__INIT;
    struct sirix_bytes piece = {.data = NULL, .len = 0};

    enum sirix_status status = sirix_diff_stream_patch(diff->stream, &piece, err);
    if (status != SIRIX_OK || piece.len == 0) {
        return status == SIRIX_OK ? send_end(call, diff, err) : status;
    }
    answer.part_case = SIRIX__STORAGE__V1__DIFF_RESPONSE__PART_JSON_PATCH;
    answer.json_patch = sirix_rpc_binary(piece);
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status diff_written(struct sirix_rpc_call *call, void *state,
                                      struct sirix_error *err)
{
    struct diff_state *diff = state;

    if (diff->ending) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    return diff->json_patch ? send_patch(call, diff, err) : send_changes(call, diff, err);
}

static void diff_ended(void *state)
{
    sirix_diff_stream_close(((struct diff_state *)state)->stream);
}

const struct sirix_rpc_method sirix_rpc_diff_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Diff"),
        .request = &sirix__storage__v1__diff_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct diff_state),
        .start = diff_start,
        .written = diff_written,
        .ended = diff_ended,
    },
    {.path = NULL},
};
