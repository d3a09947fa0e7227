/* History and NodeHistory. */
#include "service/history.h"

#include "rpc/methods/codec.h"

void sirix_rpc_revision_info(const struct sirix_revision_info *info,
                             Sirix__Storage__V1__RevisionInfo *message)
{
    sirix__storage__v1__revision_info__init(message);
    message->revision = info->revision;
    message->parent_revision = info->parent_revision;
    message->branch = sirix_rpc_binary(info->branch);
    message->timestamp_us = sirix_rpc_time(info->time_us);
    message->author = sirix_rpc_binary(info->author);
    message->on_behalf_of = sirix_rpc_binary(info->on_behalf_of);
    message->claimed = info->claimed;
    message->message = sirix_rpc_binary(info->message);
    message->reverted_to = info->reverted_to;
    message->chain =
        sirix_rpc_binary((struct sirix_bytes){.data = info->chain, .len = sizeof(info->chain)});
    message->node_count = info->node_count;
}

static enum sirix_status history(struct sirix_rpc_call *call, void *state,
                                 const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__HistoryRequest *request =
        (const Sirix__Storage__V1__HistoryRequest *)message;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_history_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .view = sirix_rpc_view(request->view),
        .page_size = request->page_size,
        .cursor = sirix_rpc_bytes(request->cursor),
    };
    Sirix__Storage__V1__HistoryResponse answer = SIRIX__STORAGE__V1__HISTORY_RESPONSE__INIT;
    struct sirix_history page = {0};
    void *messages = NULL;
    void **list = NULL;

    (void)state;
    enum sirix_status status =
        sirix_service_history(&who, &wanted, sirix_rpc_call_arena(call), &page, err);
    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, page.count, sizeof(Sirix__Storage__V1__RevisionInfo),
                                &messages, &list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < page.count; i++) {
        sirix_rpc_revision_info(&page.revisions[i], list[i]);
    }
    answer.n_revisions = page.count;
    answer.revisions = (Sirix__Storage__V1__RevisionInfo **)list;
    answer.next_cursor = sirix_rpc_binary(page.next_cursor);
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static Sirix__Storage__V1__ChangeKind change_kind(enum sirix_node_change kind)
{
    static const Sirix__Storage__V1__ChangeKind kinds[] = {
        [SIRIX_NODE_CHANGE_NONE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_UNSPECIFIED,
        [SIRIX_NODE_CHANGE_INSERT] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_INSERT,
        [SIRIX_NODE_CHANGE_DELETE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_DELETE,
        [SIRIX_NODE_CHANGE_UPDATE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_UPDATE,
        [SIRIX_NODE_CHANGE_REPLACE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_REPLACE,
        [SIRIX_NODE_CHANGE_RENAME] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_RENAME,
        [SIRIX_NODE_CHANGE_MOVE] = SIRIX__STORAGE__V1__CHANGE_KIND__CHANGE_KIND_MOVE,
    };

    return kinds[kind];
}

static enum sirix_status node_history(struct sirix_rpc_call *call, void *state,
                                      const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__NodeHistoryRequest *request =
        (const Sirix__Storage__V1__NodeHistoryRequest *)message;
    const struct sirix_request who = sirix_rpc_request(call);
    const struct sirix_node_history_request wanted = {
        .page = {.database = sirix_rpc_bytes(request->database),
                 .resource = sirix_rpc_bytes(request->resource),
                 .view = sirix_rpc_view(request->view),
                 .page_size = request->page_size,
                 .cursor = sirix_rpc_bytes(request->cursor)},
        .node_key = request->node_key == 0 ? 1 : request->node_key,
        .max_value_bytes = request->max_value_bytes,
    };
    Sirix__Storage__V1__NodeHistoryResponse answer =
        SIRIX__STORAGE__V1__NODE_HISTORY_RESPONSE__INIT;
    struct sirix_node_history page = {0};
    void *messages = NULL;
    void *infos = NULL;
    void **list = NULL;
    void **info_list = NULL;

    (void)state;
    enum sirix_status status =
        sirix_service_node_history(&who, &wanted, sirix_rpc_call_arena(call), &page, err);
    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, page.count, sizeof(Sirix__Storage__V1__NodeHistoryEntry),
                                &messages, &list, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, page.count, sizeof(Sirix__Storage__V1__RevisionInfo), &infos,
                                &info_list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < page.count; i++) {
        Sirix__Storage__V1__NodeHistoryEntry *entry = list[i];
        sirix_rpc_revision_info(&page.entries[i].revision, info_list[i]);
        sirix__storage__v1__node_history_entry__init(entry);
        entry->revision = info_list[i];
        entry->change = change_kind(page.entries[i].change);
        entry->kind = sirix_rpc_kind(page.entries[i].kind);
        entry->value = sirix_rpc_binary(page.entries[i].value);
        entry->cut = page.entries[i].cut;
        entry->name = sirix_rpc_binary(page.entries[i].name);
    }
    answer.n_entries = page.count;
    answer.entries = (Sirix__Storage__V1__NodeHistoryEntry **)list;
    answer.next_cursor = sirix_rpc_binary(page.next_cursor);
    return sirix_rpc_call_reply(call, &answer.base, err);
}

const struct sirix_rpc_method sirix_rpc_history_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("History"),
        .request = &sirix__storage__v1__history_request__descriptor,
        .start = history,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("NodeHistory"),
        .request = &sirix__storage__v1__node_history_request__descriptor,
        .start = node_history,
    },
    {.path = NULL},
};
