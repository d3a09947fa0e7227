/* Snapshots and branches. */
#include "lib/calls/encode.h"

/* --- Snapshots -------------------------------------------------------------------------------- */

static enum sirix_status fill_created_snapshot(struct sirix_arena *arena,
                                               const ProtobufCMessage *message, void *answer,
                                               struct sirix_error *err)
{
    const PB(CreateSnapshotResponse) *from = (const void *)message;
    struct sirix_create_snapshot_result *result = answer;
    PB(Snapshot) * one[] = {from->snapshot};
    const struct sirix_snapshot_info *items = NULL;

    if (from->snapshot == NULL) {
        return sirix_fail(err, SIRIX_OUTCOME_UNKNOWN, "the server's answer names no snapshot");
    }
    enum sirix_status status = sirix_decode_snapshots(arena, one, 1, &items, err);
    if (status == SIRIX_OK) {
        *result = (struct sirix_create_snapshot_result){
            .snapshot = items[0],
            .previous_revision = from->previous_revision,
            .changed = from->changed != 0,
            .replayed = from->replayed != 0,
        };
    }
    return status;
}

enum sirix_status sirix_client_create_snapshot(struct sirix_client *client,
                                               const struct sirix_create_snapshot_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_create_snapshot_result **out_result,
                                               struct sirix_error *err)
{
    PB(CreateSnapshotRequest) message = PB_INIT(CREATE_SNAPSHOT_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_CREATE_SNAPSHOT,
        .message = &message.base,
        .answer_type = PB_TYPE(create_snapshot_response),
        .database = request->database,
        .resource = request->resource,
        .name = request->name,
        .view = &request->view,
        .write = &request->write,
    };
    void *answer = NULL;

    message.replace = request->replace;
    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_result),
                                                         fill_created_snapshot, &answer, err);
    if (status == SIRIX_OK) {
        *out_result = answer;
    }
    return status;
}

static enum sirix_status fill_snapshots(struct sirix_arena *arena, const ProtobufCMessage *message,
                                        void *answer, struct sirix_error *err)
{
    const PB(ListSnapshotsResponse) *from = (const void *)message;
    struct sirix_snapshot_list *list = answer;

    list->count = from->n_snapshots;
    list->next_cursor = sirix_message_bytes(from->next_cursor);
    return sirix_decode_snapshots(arena, from->snapshots, from->n_snapshots, &list->items, err);
}

enum sirix_status sirix_client_list_snapshots(struct sirix_client *client, const char *database,
                                              const char *resource, const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_snapshot_list **out_list,
                                              struct sirix_error *err)
{
    PB(ListSnapshotsRequest) message = PB_INIT(LIST_SNAPSHOTS_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_LIST_SNAPSHOTS,
        .message = &message.base,
        .answer_type = PB_TYPE(list_snapshots_response),
        .database = database,
        .resource = resource,
        .page = page,
    };
    void *answer = NULL;

    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_list),
                                                         fill_snapshots, &answer, err);
    if (status == SIRIX_OK) {
        *out_list = answer;
    }
    return status;
}

static void take_deleted_snapshot(const ProtobufCMessage *answer, void *context)
{
    const PB(DeleteSnapshotResponse) *from = (const void *)answer;
    struct sirix_delete_name_result *to = context;

    *to = (struct sirix_delete_name_result){from->revision, from->replayed != 0};
}

enum sirix_status sirix_client_delete_snapshot(struct sirix_client *client,
                                               const struct sirix_delete_name_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_delete_name_result *out_result,
                                               struct sirix_error *err)
{
    PB(DeleteSnapshotRequest) message = PB_INIT(DELETE_SNAPSHOT_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_DELETE_SNAPSHOT,
        .message = &message.base,
        .answer_type = PB_TYPE(delete_snapshot_response),
        .database = request->database,
        .resource = request->resource,
        .name = request->name,
        .write = &request->write,
    };

    return sirix_client_named_plain(
        client, &named, call, out_result != NULL ? take_deleted_snapshot : NULL, out_result, err);
}

/* --- Branches --------------------------------------------------------------------------------- */

static enum sirix_status fill_created_branch(struct sirix_arena *arena,
                                             const ProtobufCMessage *message, void *answer,
                                             struct sirix_error *err)
{
    const PB(CreateBranchResponse) *from = (const void *)message;
    struct sirix_create_branch_result *result = answer;
    PB(Branch) * one[] = {from->branch};
    const struct sirix_branch_info *items = NULL;

    if (from->branch == NULL) {
        return sirix_fail(err, SIRIX_OUTCOME_UNKNOWN, "the server's answer names no branch");
    }
    enum sirix_status status = sirix_decode_branches(arena, one, 1, &items, err);
    if (status == SIRIX_OK) {
        *result = (struct sirix_create_branch_result){
            .branch = items[0],
            .replayed = from->replayed != 0,
        };
    }
    return status;
}

enum sirix_status sirix_client_create_branch(struct sirix_client *client,
                                             const struct sirix_create_branch_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_create_branch_result **out_result,
                                             struct sirix_error *err)
{
    PB(CreateBranchRequest) message = PB_INIT(CREATE_BRANCH_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_CREATE_BRANCH,
        .message = &message.base,
        .answer_type = PB_TYPE(create_branch_response),
        .database = request->database,
        .resource = request->resource,
        .name = request->name,
        .view = &request->view,
        .write = &request->write,
    };
    void *answer = NULL;

    message.expires_at_us = request->expires_at_us;
    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_result),
                                                         fill_created_branch, &answer, err);
    if (status == SIRIX_OK) {
        *out_result = answer;
    }
    return status;
}

static enum sirix_status fill_branches(struct sirix_arena *arena, const ProtobufCMessage *message,
                                       void *answer, struct sirix_error *err)
{
    const PB(ListBranchesResponse) *from = (const void *)message;
    struct sirix_branch_list *list = answer;

    list->count = from->n_branches;
    list->next_cursor = sirix_message_bytes(from->next_cursor);
    return sirix_decode_branches(arena, from->branches, from->n_branches, &list->items, err);
}

enum sirix_status sirix_client_list_branches(struct sirix_client *client, const char *database,
                                             const char *resource, const struct sirix_page *page,
                                             const struct sirix_call_options *call,
                                             struct sirix_branch_list **out_list,
                                             struct sirix_error *err)
{
    PB(ListBranchesRequest) message = PB_INIT(LIST_BRANCHES_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_LIST_BRANCHES,
        .message = &message.base,
        .answer_type = PB_TYPE(list_branches_response),
        .database = database,
        .resource = resource,
        .page = page,
    };
    void *answer = NULL;

    enum sirix_status status = sirix_client_named_answer(client, &named, call, sizeof(**out_list),
                                                         fill_branches, &answer, err);
    if (status == SIRIX_OK) {
        *out_list = answer;
    }
    return status;
}

static void take_deleted_branch(const ProtobufCMessage *answer, void *context)
{
    const PB(DeleteBranchResponse) *from = (const void *)answer;
    struct sirix_delete_name_result *to = context;

    *to = (struct sirix_delete_name_result){from->revision, from->replayed != 0};
}

enum sirix_status sirix_client_delete_branch(struct sirix_client *client,
                                             const struct sirix_delete_name_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_delete_name_result *out_result,
                                             struct sirix_error *err)
{
    PB(DeleteBranchRequest) message = PB_INIT(DELETE_BRANCH_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_DELETE_BRANCH,
        .message = &message.base,
        .answer_type = PB_TYPE(delete_branch_response),
        .database = request->database,
        .resource = request->resource,
        .name = request->name,
        .write = &request->write,
    };

    return sirix_client_named_plain(
        client, &named, call, out_result != NULL ? take_deleted_branch : NULL, out_result, err);
}

static void take_promoted(const ProtobufCMessage *answer, void *context)
{
    const PB(PromoteResponse) *from = (const void *)answer;
    struct sirix_promote_result *to = context;

    *to = (struct sirix_promote_result){
        .revision = from->revision,
        .previous_revision = from->previous_revision,
        .changed = from->changed != 0,
        .replayed = from->replayed != 0,
    };
}

enum sirix_status sirix_client_promote(struct sirix_client *client,
                                       const struct sirix_promote_request *request,
                                       const struct sirix_call_options *call,
                                       struct sirix_promote_result *out_result,
                                       struct sirix_error *err)
{
    PB(PromoteRequest) message = PB_INIT(PROMOTE_REQUEST);
    const struct sirix_named_call named = {
        .method = SIRIX_METHOD_PROMOTE,
        .message = &message.base,
        .answer_type = PB_TYPE(promote_response),
        .database = request->database,
        .resource = request->resource,
        .write = &request->write,
    };

    message.branch = sirix_message_from_str(request->branch);
    message.target = sirix_message_from_str(request->target);
    message.replace = request->replace;
    return sirix_client_named_plain(client, &named, call, take_promoted, out_result, err);
}
