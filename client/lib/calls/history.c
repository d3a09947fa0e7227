/* The revisions of a resource and of a node. */
#include "lib/calls/encode.h"

static enum sirix_status fill_history(struct sirix_arena *arena, const ProtobufCMessage *message,
                                      void *answer, struct sirix_error *err)
{
    const PB(HistoryResponse) *from = (const void *)message;
    struct sirix_history_page *page = answer;
    struct sirix_revision_info *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_revisions, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_revisions; i++) {
        status = sirix_decode_revision(arena, from->revisions[i], &items[i], err);
    }
    page->items = items;
    page->count = from->n_revisions;
    page->next_cursor = sirix_message_bytes(from->next_cursor);
    return status;
}

enum sirix_status sirix_client_history(struct sirix_client *client,
                                       const struct sirix_history_request *request,
                                       const struct sirix_call_options *call,
                                       struct sirix_history_page **out_page,
                                       struct sirix_error *err)
{
    PB(HistoryRequest) message = PB_INIT(HISTORY_REQUEST);
    PB(View) view;
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_HISTORY,
        .request = &message.base,
        .answer_type = PB_TYPE(history_response),
    };
    void *answer = NULL;

    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.view = sirix_encode_view(&request->view, &view);
    message.page_size = request->page.size;
    message.cursor = sirix_message_from_bytes(request->page.cursor);
    enum sirix_status status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_page),
                                                         fill_history, &answer, err);
    if (status == SIRIX_OK) {
        *out_page = answer;
    }
    return status;
}

static enum sirix_status fill_node_history(struct sirix_arena *arena,
                                           const ProtobufCMessage *message, void *answer,
                                           struct sirix_error *err)
{
    const PB(NodeHistoryResponse) *from = (const void *)message;
    struct sirix_node_history_page *page = answer;
    struct sirix_node_history_entry *items = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_entries, &items, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_entries; i++) {
        const PB(NodeHistoryEntry) *entry = from->entries[i];

        items[i] = (struct sirix_node_history_entry){
            .change = sirix_decode_change_kind(entry->change),
            .type = sirix_decode_node_type(entry->kind),
            .value = sirix_message_bytes(entry->value),
            .cut = entry->cut != 0,
            .name = sirix_message_bytes(entry->name),
        };
        status = sirix_decode_revision(arena, entry->revision, &items[i].revision, err);
    }
    page->items = items;
    page->count = from->n_entries;
    page->next_cursor = sirix_message_bytes(from->next_cursor);
    return status;
}

enum sirix_status sirix_client_node_history(struct sirix_client *client,
                                            const struct sirix_node_history_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_node_history_page **out_page,
                                            struct sirix_error *err)
{
    PB(NodeHistoryRequest) message = PB_INIT(NODE_HISTORY_REQUEST);
    PB(View) view;
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_NODE_HISTORY,
        .request = &message.base,
        .answer_type = PB_TYPE(node_history_response),
    };
    void *answer = NULL;

    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.view = sirix_encode_view(&request->view, &view);
    message.node_key = request->node_key;
    message.page_size = request->page.size;
    message.cursor = sirix_message_from_bytes(request->page.cursor);
    message.max_value_bytes = request->max_value_bytes;
    enum sirix_status status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_page),
                                                         fill_node_history, &answer, err);
    if (status == SIRIX_OK) {
        *out_page = answer;
    }
    return status;
}
