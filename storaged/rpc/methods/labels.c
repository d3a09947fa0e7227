/* Snapshots and branches. */
#include "service/labels.h"

#include "rpc/methods/codec.h"

static enum sirix_status label_request(const ProtobufCMessage *message,
                                       struct sirix_label_request *out_wanted,
                                       struct sirix_error *err)
{
    struct sirix_rpc_named named;

    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        *out_wanted = (struct sirix_label_request){
            .database = named.database,
            .resource = named.resource,
            .name = named.name,
            .view = named.view,
            .options = named.options,
        };
    }
    return status;
}

/* --- Snapshots ---------------------------------------------------------------------------------- */

static enum sirix_status create_snapshot(struct sirix_rpc_call *call, void *state,
                                         const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_label_request wanted;
    Sirix__Storage__V1__CreateSnapshotResponse answer =
        SIRIX__STORAGE__V1__CREATE_SNAPSHOT_RESPONSE__INIT;
    Sirix__Storage__V1__Snapshot snapshot;
    struct sirix_snapshot_change change = {0};
    bool replayed = false;

    (void)state;
    enum sirix_status status = label_request(message, &wanted, err);
    if (status == SIRIX_OK) {
        wanted.replace = ((const Sirix__Storage__V1__CreateSnapshotRequest *)message)->replace;
        status = sirix_service_create_snapshot(&who, &wanted, &change, &replayed, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_rpc_snapshot(&change.snapshot, &snapshot);
    answer.snapshot = &snapshot;
    answer.previous_revision = change.previous_revision;
    answer.changed = change.changed;
    answer.replayed = replayed;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status list_snapshots(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_list_page wanted = sirix_rpc_list_page(message);
    Sirix__Storage__V1__ListSnapshotsResponse answer =
        SIRIX__STORAGE__V1__LIST_SNAPSHOTS_RESPONSE__INIT;
    struct sirix_rpc_page page = {.item_bytes = sizeof(struct sirix_snapshot_item),
                                  .message_bytes = sizeof(Sirix__Storage__V1__Snapshot),
                                  .fill = sirix_rpc_snapshot};
    struct sirix_snapshot_item *items = NULL;
    void **list = NULL;

    (void)state;
    enum sirix_status status = sirix_service_list_snapshots(
        &who, &wanted, sirix_rpc_call_arena(call), &items, &page.count, &page.more, err);
    if (status == SIRIX_OK) {
        page.items = items;
        status = sirix_rpc_page_messages(call, &page, &list, &answer.next_cursor, err);
    }
    answer.n_snapshots = page.count;
    answer.snapshots = (Sirix__Storage__V1__Snapshot **)list;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static enum sirix_status delete_snapshot(struct sirix_rpc_call *call, void *state,
                                         const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_label_request wanted;
    Sirix__Storage__V1__DeleteSnapshotResponse answer =
        SIRIX__STORAGE__V1__DELETE_SNAPSHOT_RESPONSE__INIT;
    bool replayed = false;

    (void)state;
    enum sirix_status status = label_request(message, &wanted, err);
    if (status == SIRIX_OK) {
        status = sirix_service_delete_snapshot(&who, &wanted, &answer.revision, &replayed, err);
    }
    answer.replayed = replayed;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

/* --- Branches ----------------------------------------------------------------------------------- */

static enum sirix_status create_branch(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    uint64_t expires_us = ((const Sirix__Storage__V1__CreateBranchRequest *)message)->expires_at_us;
    struct sirix_label_request wanted;
    Sirix__Storage__V1__CreateBranchResponse answer =
        SIRIX__STORAGE__V1__CREATE_BRANCH_RESPONSE__INIT;
    Sirix__Storage__V1__Branch branch;
    struct sirix_branch_item item = {0};
    bool replayed = false;

    (void)state;
    enum sirix_status status = label_request(message, &wanted, err);
    if (status == SIRIX_OK) {
        wanted.expires_us =
            expires_us > (uint64_t)SIRIX_TIME_US_MAX ? SIRIX_TIME_US_MAX : (int64_t)expires_us;
        status = sirix_service_create_branch(&who, &wanted, &item, &replayed, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_rpc_branch(&item, &branch);
    answer.branch = &branch;
    answer.replayed = replayed;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status list_branches(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_list_page wanted = sirix_rpc_list_page(message);
    Sirix__Storage__V1__ListBranchesResponse answer =
        SIRIX__STORAGE__V1__LIST_BRANCHES_RESPONSE__INIT;
    struct sirix_rpc_page page = {.item_bytes = sizeof(struct sirix_branch_item),
                                  .message_bytes = sizeof(Sirix__Storage__V1__Branch),
                                  .fill = sirix_rpc_branch};
    struct sirix_branch_item *items = NULL;
    void **list = NULL;

    (void)state;
    enum sirix_status status = sirix_service_list_branches(
        &who, &wanted, sirix_rpc_call_arena(call), &items, &page.count, &page.more, err);
    if (status == SIRIX_OK) {
        page.items = items;
        status = sirix_rpc_page_messages(call, &page, &list, &answer.next_cursor, err);
    }
    answer.n_branches = page.count;
    answer.branches = (Sirix__Storage__V1__Branch **)list;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

/* --- Calls that move or remove a head take its turn --------------------------------------------- */

struct head_state {
    struct sirix_rpc_turn turn;
    struct sirix_write write;
    struct sirix_bytes database;
    const Sirix__Storage__V1__PromoteRequest *promotion;
};

static enum sirix_status delete_branch_run(struct sirix_rpc_call *call, void *state,
                                           struct sirix_error *err)
{
    struct head_state *head = state;
    Sirix__Storage__V1__DeleteBranchResponse answer =
        SIRIX__STORAGE__V1__DELETE_BRANCH_RESPONSE__INIT;
    bool replayed = false;

    enum sirix_status status =
        sirix_delete_branch_run(&head->write, head->database, &answer.revision, &replayed, err);
    sirix_write_close(&head->write);
    answer.replayed = replayed;
    return status == SIRIX_OK ? sirix_rpc_call_reply(call, &answer.base, err) : status;
}

static enum sirix_status delete_branch(struct sirix_rpc_call *call, void *state,
                                       const ProtobufCMessage *message, struct sirix_error *err)
{
    struct head_state *head = state;
    const struct sirix_request who = sirix_rpc_request(call);
    Sirix__Storage__V1__DeleteBranchResponse answer =
        SIRIX__STORAGE__V1__DELETE_BRANCH_RESPONSE__INIT;
    struct sirix_rpc_named named;
    bool known = false;

    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        const struct sirix_write_place place = {
            .options = &named.options,
            .database = named.database,
            .resource = named.resource,
            .branch = named.name,
        };
        head->database = named.database;
        status =
            sirix_delete_branch_open(&who, &place, &head->write, &answer.revision, &known, err);
    }
    if (status == SIRIX_OK && known) {
        answer.replayed = true;
        return sirix_rpc_call_reply(call, &answer.base, err);
    }
    return status == SIRIX_OK
               ? sirix_rpc_turn_take(call, &head->turn, &head->write, delete_branch_run, err)
               : status;
}

static enum sirix_status promote_reply(struct sirix_rpc_call *call,
                                       const struct sirix_promotion *promotion, bool replayed,
                                       struct sirix_error *err)
{
    Sirix__Storage__V1__PromoteResponse answer = SIRIX__STORAGE__V1__PROMOTE_RESPONSE__INIT;

    answer.revision = promotion->revision;
    answer.previous_revision = promotion->previous_revision;
    answer.changed = promotion->changed;
    answer.replayed = replayed;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status promote_run(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    struct head_state *head = state;
    struct sirix_promotion promotion = {0};
    bool replayed = false;

    enum sirix_status status =
        sirix_promote_run(&head->write, head->database, sirix_rpc_bytes(head->promotion->branch),
                          head->promotion->replace, &promotion, &replayed, err);
    sirix_write_close(&head->write);
    return status == SIRIX_OK ? promote_reply(call, &promotion, replayed, err) : status;
}

static enum sirix_status promote(struct sirix_rpc_call *call, void *state,
                                 const ProtobufCMessage *message, struct sirix_error *err)
{
    struct head_state *head = state;
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_rpc_named named;
    struct sirix_promotion promotion = {0};
    bool known = false;

    head->promotion = (const Sirix__Storage__V1__PromoteRequest *)message;
    enum sirix_status status = sirix_rpc_named(message, &named, err);
    if (status == SIRIX_OK) {
        const struct sirix_write_place place = {
            .options = &named.options,
            .database = named.database,
            .resource = named.resource,
            .branch = sirix_rpc_bytes(head->promotion->target),
        };
        head->database = named.database;
        status = sirix_promote_open(&who, &place, sirix_rpc_bytes(head->promotion->branch),
                                    &head->write, &promotion, &known, err);
    }
    if (status == SIRIX_OK && known) {
        return promote_reply(call, &promotion, true, err);
    }
    return status == SIRIX_OK
               ? sirix_rpc_turn_take(call, &head->turn, &head->write, promote_run, err)
               : status;
}

static void head_ended(void *state)
{
    sirix_write_close(&((struct head_state *)state)->write);
}

#define MOVES_A_HEAD                                                                               \
    .writes = true, .state_bytes = sizeof(struct head_state), .woken = sirix_rpc_turn_woken,       \
    .cancelled = sirix_rpc_turn_cancelled, .draining = sirix_rpc_turn_draining,                    \
    .ended = head_ended

const struct sirix_rpc_method sirix_rpc_label_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("CreateSnapshot"),
        .request = &sirix__storage__v1__create_snapshot_request__descriptor,
        .writes = true,
        .start = create_snapshot,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ListSnapshots"),
        .request = &sirix__storage__v1__list_snapshots_request__descriptor,
        .start = list_snapshots,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("DeleteSnapshot"),
        .request = &sirix__storage__v1__delete_snapshot_request__descriptor,
        .writes = true,
        .start = delete_snapshot,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("CreateBranch"),
        .request = &sirix__storage__v1__create_branch_request__descriptor,
        .writes = true,
        .start = create_branch,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ListBranches"),
        .request = &sirix__storage__v1__list_branches_request__descriptor,
        .start = list_branches,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("DeleteBranch"),
        .request = &sirix__storage__v1__delete_branch_request__descriptor,
        .start = delete_branch,
        MOVES_A_HEAD,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("Promote"),
        .request = &sirix__storage__v1__promote_request__descriptor,
        .start = promote,
        MOVES_A_HEAD,
    },
    {.path = NULL},
};
