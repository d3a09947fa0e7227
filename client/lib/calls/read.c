/* Nodes and documents. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>

/* --- Nodes ------------------------------------------------------------------------------------ */

static struct sirix_node_info decode_node(const PB(Node) * from)
{
    struct sirix_node_info node = {
        .node_key = from->node_key,
        .parent_index = from->parent_index,
        .has_name = from->place_case == SIRIX__STORAGE__V1__NODE__PLACE_NAME,
        .has_index = from->place_case == SIRIX__STORAGE__V1__NODE__PLACE_INDEX,
        .type = sirix_decode_node_type(from->kind),
        .value = sirix_message_bytes(from->value),
        .child_count = from->child_count,
        .cut = from->cut != 0,
        .value_bytes = from->value_bytes,
        .path = sirix_message_bytes(from->path),
    };

    if (node.has_name) {
        node.name = sirix_message_bytes(from->name);
    }
    if (node.has_index) {
        node.index = from->index;
    }
    return node;
}

static enum sirix_status fill_node_page(struct sirix_arena *arena, const ProtobufCMessage *message,
                                        void *answer, struct sirix_error *err)
{
    const PB(ReadNodeResponse) *from = (const void *)message;
    struct sirix_node_page *page = answer;
    struct sirix_node_info *nodes = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, from->n_nodes, &nodes, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->n_nodes; i++) {
        nodes[i] = decode_node(from->nodes[i]);
        /* Callers index with it, so a lying server ends here. */
        if (nodes[i].parent_index < -1 || nodes[i].parent_index >= (int64_t)i ||
            (nodes[i].parent_index == -1 && i != 0)) {
            return sirix_fail(err, SIRIX_INTERNAL,
                              "the server's node %zu names no node before it as its parent", i);
        }
    }
    *page = (struct sirix_node_page){
        .revision = from->revision,
        .timestamp_us = from->timestamp_us,
        .path = sirix_message_bytes(from->path),
        .nodes = nodes,
        .count = from->n_nodes,
        .truncated = from->truncated != 0,
        .next_cursor = sirix_message_bytes(from->next_cursor),
        .has_next_offset =
            from->next_case == SIRIX__STORAGE__V1__READ_NODE_RESPONSE__NEXT_NEXT_OFFSET,
    };
    if (page->has_next_offset) {
        page->next_offset = from->next_offset;
    }
    return status;
}

enum sirix_status sirix_client_read_node(struct sirix_client *client,
                                         const struct sirix_read_node_request *request,
                                         const struct sirix_call_options *call,
                                         struct sirix_node_page **out_page, struct sirix_error *err)
{
    PB(ReadNodeRequest) message = PB_INIT(READ_NODE_REQUEST);
    PB(View) view;
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_READ_NODE,
        .request = &message.base,
        .answer_type = PB_TYPE(read_node_response),
    };
    void *answer = NULL;

    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.view = sirix_encode_view(&request->view, &view);
    if (request->target.path.len != 0) {
        message.target_case = SIRIX__STORAGE__V1__READ_NODE_REQUEST__TARGET_PATH;
        message.path = sirix_message_from_bytes(request->target.path);
    } else {
        message.target_case = SIRIX__STORAGE__V1__READ_NODE_REQUEST__TARGET_NODE_KEY;
        message.node_key = request->target.node_key;
    }
    if (request->has_max_depth) {
        message.depth_case = SIRIX__STORAGE__V1__READ_NODE_REQUEST__DEPTH_MAX_DEPTH;
        message.max_depth = request->max_depth;
    }
    message.max_children = request->max_children;
    message.max_nodes = request->max_nodes;
    message.max_bytes = request->max_bytes;
    message.max_value_bytes = request->max_value_bytes;
    message.value_offset = request->value_offset;
    message.cursor = sirix_message_from_bytes(request->cursor);
    message.with_paths = request->with_paths;
    enum sirix_status status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_page),
                                                         fill_node_page, &answer, err);
    if (status == SIRIX_OK) {
        *out_page = answer;
    }
    return status;
}

/* --- Documents -------------------------------------------------------------------------------- */

struct sirix_document_stream {
    struct sirix_stream stream;
    uint64_t revision;
    uint64_t timestamp_us;
};

static void encode_document_request(const struct sirix_read_document_request *request,
                                    PB(ReadDocumentRequest) * message, PB(View) * view)
{
    message->database = sirix_message_from_str(request->database);
    message->resource = sirix_message_from_str(request->resource);
    message->view = sirix_encode_view(&request->view, view);
    if (request->target.path.len != 0) {
        message->target_case = SIRIX__STORAGE__V1__READ_DOCUMENT_REQUEST__TARGET_PATH;
        message->path = sirix_message_from_bytes(request->target.path);
    } else {
        message->target_case = SIRIX__STORAGE__V1__READ_DOCUMENT_REQUEST__TARGET_NODE_KEY;
        message->node_key = request->target.node_key;
    }
    message->indent = request->indent;
    message->ndjson = request->ndjson;
}

enum sirix_status sirix_client_read_document(struct sirix_client *client,
                                             const struct sirix_read_document_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_document_stream **out_stream,
                                             struct sirix_error *err)
{
    PB(ReadDocumentRequest) message = PB_INIT(READ_DOCUMENT_REQUEST);
    PB(View) view;
    struct sirix_unary what = {
        .method = SIRIX_METHOD_READ_DOCUMENT,
        .request = &message.base,
        .answer_type = PB_TYPE(read_document_response),
    };
    const ProtobufCMessage *first = NULL;
    struct sirix_document_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    encode_document_request(request, &message, &view);
    enum sirix_status status = sirix_stream_open(&stream->stream, client, &what, call, &first, err);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    const PB(ReadDocumentResponse) *start = (const void *)first;
    if (start->part_case != SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__PART_START) {
        sirix_document_stream_close(stream);
        return sirix_stream_fail_order("the first message is no start", err);
    }
    stream->revision = start->start->revision;
    stream->timestamp_us = start->start->timestamp_us;
    *out_stream = stream;
    return SIRIX_OK;
}

uint64_t sirix_document_stream_revision(const struct sirix_document_stream *stream)
{
    return stream->revision;
}

uint64_t sirix_document_stream_timestamp_us(const struct sirix_document_stream *stream)
{
    return stream->timestamp_us;
}

enum sirix_status sirix_document_stream_next(struct sirix_document_stream *stream,
                                             struct sirix_bytes *out_text, struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;

    for (;;) {
        enum sirix_status status = sirix_stream_next(&stream->stream, &message, err);
        const PB(ReadDocumentResponse) *part = (const void *)message;

        if (status != SIRIX_OK) {
            return status;
        }
        if (part == NULL) {
            *out_text = (struct sirix_bytes){0};
            return SIRIX_OK;
        }
        /* An empty piece would look like the end; what a newer server adds is passed over. */
        if (part->part_case == SIRIX__STORAGE__V1__READ_DOCUMENT_RESPONSE__PART_DATA &&
            part->data.len != 0) {
            *out_text = sirix_message_bytes(part->data);
            return SIRIX_OK;
        }
    }
}

void sirix_document_stream_close(struct sirix_document_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}
