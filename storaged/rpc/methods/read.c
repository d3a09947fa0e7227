/* ReadNode and ReadDocument. */
#include "service/read.h"

#include "rpc/methods/codec.h"

static void node_message(const struct sirix_read_item *item, Sirix__Storage__V1__Node *node)
{
    sirix__storage__v1__node__init(node);
    node->node_key = item->node_key;
    node->parent_index = item->parent_index;
    if (item->is_member) {
        node->place_case = SIRIX__STORAGE__V1__NODE__PLACE_NAME;
        node->name = sirix_rpc_binary(item->name);
    } else if (item->is_element) {
        node->place_case = SIRIX__STORAGE__V1__NODE__PLACE_INDEX;
        node->index = item->index;
    }
    node->kind = sirix_rpc_kind(item->kind);
    node->value = sirix_rpc_binary(item->value);
    node->child_count = item->child_count;
    node->cut = item->cut;
    node->value_bytes = item->value_bytes;
    node->path = sirix_rpc_binary(item->path);
}

static void node_request(const Sirix__Storage__V1__ReadNodeRequest *request,
                         struct sirix_read_node_request *wanted)
{
    *wanted = (struct sirix_read_node_request){
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .view = sirix_rpc_view(request->view),
        .has_depth = request->depth_case == SIRIX__STORAGE__V1__READ_NODE_REQUEST__DEPTH_MAX_DEPTH,
        .max_children = request->max_children,
        .max_nodes = request->max_nodes,
        .max_bytes = request->max_bytes,
        .max_value_bytes = request->max_value_bytes,
        .value_offset = request->value_offset,
        .cursor = sirix_rpc_bytes(request->cursor),
        .with_paths = request->with_paths,
    };
    if (wanted->has_depth) {
        wanted->max_depth = request->max_depth;
    }
    if (request->target_case == SIRIX__STORAGE__V1__READ_NODE_REQUEST__TARGET_PATH) {
        wanted->target.has_path = true;
        wanted->target.path = sirix_rpc_bytes(request->path);
    } else if (request->target_case == SIRIX__STORAGE__V1__READ_NODE_REQUEST__TARGET_NODE_KEY) {
        wanted->target.node_key = request->node_key;
    }
}

static enum sirix_status read_node(struct sirix_rpc_call *call, void *state,
                                   const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_request who = sirix_rpc_request(call);
    Sirix__Storage__V1__ReadNodeResponse answer = SIRIX__STORAGE__V1__READ_NODE_RESPONSE__INIT;
    struct sirix_read_node_request wanted;
    struct sirix_read_node read = {0};
    void *messages = NULL;
    void **list = NULL;

    (void)state;
    node_request((const Sirix__Storage__V1__ReadNodeRequest *)message, &wanted);
    enum sirix_status status =
        sirix_service_read_node(&who, &wanted, sirix_rpc_call_arena(call), &read, err);
    if (status == SIRIX_OK) {
        status = sirix_rpc_list(call, read.count, sizeof(Sirix__Storage__V1__Node), &messages,
                                &list, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < read.count; i++) {
        node_message(&read.items[i], list[i]);
    }
    answer.revision = read.revision;
    answer.timestamp_us = sirix_rpc_time(read.time_us);
    answer.path = sirix_rpc_binary(read.path);
    answer.n_nodes = read.count;
    answer.nodes = (Sirix__Storage__V1__Node **)list;
    answer.truncated = read.truncated;
    answer.next_cursor = sirix_rpc_binary(read.next_cursor);
    if (read.has_next_offset) {
        answer.next_case = SIRIX__STORAGE__V1__READ_NODE_RESPONSE__NEXT_NEXT_OFFSET;
        answer.next_offset = read.next_offset;
    }
    return sirix_rpc_call_reply(call, &answer.base, err);
}

/* --- ReadDocument ------------------------------------------------------------------------------- */

struct document_state {
    struct sirix_read_document *read;
    bool done;
};

static enum sirix_status document_start(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__ReadDocumentRequest *request =
        (const Sirix__Storage__V1__ReadDocumentRequest *)message;
    struct document_state *document = state;
    const struct sirix_request who = sirix_rpc_request(call);
    struct sirix_read_document_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .view = sirix_rpc_view(request->view),
        .indent = request->indent,
        .ndjson = request->ndjson,
    };
    Sirix__Storage__V1__DocumentStart start = SIRIX__STORAGE__V1__DOCUMENT_START__INIT;
    Sirix__Storage__V1__ReadDocumentResponse answer =
        SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__INIT;
    int64_t time_us = 0;

    if (request->target_case == SIRIX__STORAGE__V1__READ_DOCUMENT_REQUEST__TARGET_PATH) {
        wanted.target.has_path = true;
        wanted.target.path = sirix_rpc_bytes(request->path);
    } else if (request->target_case == SIRIX__STORAGE__V1__READ_DOCUMENT_REQUEST__TARGET_NODE_KEY) {
        wanted.target.node_key = request->node_key;
    }
    enum sirix_status status =
        sirix_read_document_open(&who, &wanted, &document->read, &start.revision, &time_us, err);
    if (status != SIRIX_OK) {
        return status;
    }
    start.timestamp_us = sirix_rpc_time(time_us);
    answer.part_case = SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__PART_START;
    answer.start = &start;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status document_written(struct sirix_rpc_call *call, void *state,
                                          struct sirix_error *err)
{
    struct document_state *document = state;
    Sirix__Storage__V1__ReadDocumentResponse answer =
        SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__INIT;
    struct sirix_bytes piece = {.data = NULL, .len = 0};

    if (!document->done) {
        enum sirix_status status =
            sirix_read_document_next(document->read, &piece, &document->done, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (piece.len == 0) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    answer.part_case = SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__PART_DATA;
    answer.data = sirix_rpc_binary(piece);
    return sirix_rpc_call_write(call, &answer.base, err);
}

static void document_ended(void *state)
{
    sirix_read_document_close(((struct document_state *)state)->read);
}

const struct sirix_rpc_method sirix_rpc_read_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("ReadNode"),
        .request = &sirix__storage__v1__read_node_request__descriptor,
        .start = read_node,
    },
    {
        .path = SIRIX_RPC_STORAGE_PATH("ReadDocument"),
        .request = &sirix__storage__v1__read_document_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct document_state),
        .start = document_start,
        .written = document_written,
        .ended = document_ended,
    },
    {.path = NULL},
};
