/* A text of any size as one revision, and a revision brought back. */
#include "lib/calls/encode.h"
#include "lib/upload.h"

#include <stdlib.h>

static enum sirix_status send_start(struct sirix_upload *upload,
                                    const struct sirix_import_request *request,
                                    struct sirix_error *err)
{
    PB(ImportStart) start = PB_INIT(IMPORT_START);
    PB(ImportRequest) message = PB_INIT(IMPORT_REQUEST);
    PB(WriteOptions) options;
    PB(Place) place;

    start.database = sirix_message_from_str(request->database);
    start.resource = sirix_message_from_str(request->resource);
    start.branch = sirix_message_from_str(request->branch);
    start.options = sirix_encode_write(&request->write, &options);
    start.format = request->ndjson ? SIRIX__STORAGE__V1__IMPORT_FORMAT__IMPORT_FORMAT_NDJSON
                                   : SIRIX__STORAGE__V1__IMPORT_FORMAT__IMPORT_FORMAT_JSON;
    start.duplicate_keys = request->last_duplicate_wins
                               ? SIRIX__STORAGE__V1__DUPLICATE_KEYS__DUPLICATE_KEYS_LAST
                               : SIRIX__STORAGE__V1__DUPLICATE_KEYS__DUPLICATE_KEYS_REFUSE;
    start.replace = request->replace;
    start.existing_only = request->existing_only;
    start.max_depth = request->max_depth;
    if (request->has_place) {
        sirix_encode_place(&request->place, &place);
        start.target_case = SIRIX__STORAGE__V1__IMPORT_START__TARGET_PLACE;
        start.place = &place;
    }
    if (request->has_name) {
        start.member_case = SIRIX__STORAGE__V1__IMPORT_START__MEMBER_NAME;
        start.name = sirix_message_from_bytes(request->name);
    }
    message.part_case = SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_START;
    message.start = &start;
    return sirix_upload_send(upload, &message.base, err);
}

static enum sirix_status send_text(struct sirix_upload *upload, const struct sirix_source *source,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    void *buffer = malloc(SIRIX_UPLOAD_PIECE_BYTES);

    if (buffer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a piece of the text");
    }
    while (!upload->hung_up) {
        PB(ImportRequest) message = PB_INIT(IMPORT_REQUEST);
        size_t len = 0;

        status = source->read(source->context, buffer, SIRIX_UPLOAD_PIECE_BYTES, &len, err);
        if (status != SIRIX_OK || len == 0) {
            break;
        }
        message.part_case = SIRIX__STORAGE__V1__IMPORT_REQUEST__PART_DATA;
        message.data = sirix_message_from_bytes((struct sirix_bytes){.data = buffer, .len = len});
        status = sirix_upload_send(upload, &message.base, err);
        if (status != SIRIX_OK) {
            break;
        }
    }
    free(buffer);
    return status;
}

static struct sirix_import_result decode_import(const PB(ImportResponse) * from)
{
    return (struct sirix_import_result){
        .result = sirix_decode_write(from->result),
        .nodes = from->nodes,
        .text_bytes = from->text_bytes,
        .duplicates_dropped = from->duplicates_dropped,
        .root_key = from->root_key,
        .database_created = from->database_created != 0,
        .resource_created = from->resource_created != 0,
        .items = from->items,
    };
}

enum sirix_status sirix_client_import(struct sirix_client *client,
                                      const struct sirix_import_request *request,
                                      const struct sirix_call_options *call,
                                      struct sirix_import_result *out_result,
                                      struct sirix_error *err)
{
    const ProtobufCMessage *answer = NULL;
    struct sirix_upload upload;
    struct sirix_arena arena;
    enum sirix_status status =
        sirix_upload_open(&upload, client, SIRIX_METHOD_IMPORT, SIRIX_REPEAT_BY_METHOD, call, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_arena_init(&arena, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    status = send_start(&upload, request, err);
    if (status == SIRIX_OK) {
        status = send_text(&upload, &request->source, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_upload_answer(&upload, PB_TYPE(import_response), &arena, &answer, err);
    }
    if (status == SIRIX_OK) {
        *out_result = decode_import((const void *)answer);
    }
    sirix_upload_deinit(&upload);
    sirix_arena_deinit(&arena);
    return status;
}

/* --- Revert ----------------------------------------------------------------------------------- */

static void take_reverted(const ProtobufCMessage *answer, void *context)
{
    const PB(RevertResponse) *from = (const void *)answer;
    struct sirix_revert_result *to = context;

    *to = (struct sirix_revert_result){
        .result = sirix_decode_write(from->result),
        .reverted_to = from->reverted_to,
    };
}

enum sirix_status sirix_client_revert(struct sirix_client *client,
                                      const struct sirix_revert_request *request,
                                      const struct sirix_call_options *call,
                                      struct sirix_revert_result *out_result,
                                      struct sirix_error *err)
{
    PB(RevertRequest) message = PB_INIT(REVERT_REQUEST);
    PB(WriteOptions) options;
    PB(View) view;
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_REVERT,
        .request = &message.base,
        .answer_type = PB_TYPE(revert_response),
        .repeat = sirix_write_repeat(&request->write),
    };

    message.database = sirix_message_from_str(request->database);
    message.resource = sirix_message_from_str(request->resource);
    message.branch = sirix_message_from_str(request->branch);
    message.options = sirix_encode_write(&request->write, &options);
    message.view = sirix_encode_view(&request->view, &view);
    return sirix_client_unary_plain(client, &unary, call, take_reverted, out_result, err);
}
