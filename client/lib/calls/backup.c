/* A database out and in, byte for byte. */
#include "lib/calls/encode.h"
#include "lib/stream.h"
#include "lib/upload.h"

#include <stdlib.h>

/* --- Backup ------------------------------------------------------------------------------------- */

struct sirix_backup_stream {
    struct sirix_stream stream;
    const ProtobufCMessage *first; /* Not yet told. */
    bool complete;
};

enum sirix_status sirix_client_backup(struct sirix_client *client, const char *database,
                                      struct sirix_bytes base,
                                      const struct sirix_call_options *call,
                                      struct sirix_backup_stream **out_stream,
                                      struct sirix_error *err)
{
    PB(BackupRequest) request = PB_INIT(BACKUP_REQUEST);
    struct sirix_unary what = {
        .method = SIRIX_METHOD_BACKUP,
        .request = &request.base,
        .answer_type = PB_TYPE(backup_response),
    };
    struct sirix_backup_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    request.database = sirix_message_from_str(database);
    request.since = sirix_message_from_bytes(base);
    enum sirix_status status =
        sirix_stream_open(&stream->stream, client, &what, call, &stream->first, err);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    *out_stream = stream;
    return SIRIX_OK;
}

/* Whether the message is a part that is known. */
static bool decode_part(struct sirix_backup_stream *stream, const PB(BackupResponse) * from,
                        struct sirix_backup_part *out_part)
{
    switch (from->part_case) {
    case SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_START:
        *out_part = (struct sirix_backup_part){
            .kind = SIRIX_BACKUP_PART_START,
            .estimated_bytes = from->start->estimated_bytes,
            .incremental = from->start->incremental != 0,
        };
        return true;
    case SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_DATA:
        *out_part = (struct sirix_backup_part){
            .kind = SIRIX_BACKUP_PART_DATA,
            .data = sirix_message_bytes(from->data),
        };
        return true;
    case SIRIX__STORAGE__V1__BACKUP_RESPONSE__PART_END:
        stream->complete = true;
        *out_part = (struct sirix_backup_part){
            .kind = SIRIX_BACKUP_PART_END,
            .bytes = from->end->bytes,
            .segments = from->end->segments,
            .sha256 = sirix_message_bytes(from->end->sha256),
        };
        return true;
    default:
        return false; /* What a newer server adds. */
    }
}

enum sirix_status sirix_backup_stream_next(struct sirix_backup_stream *stream,
                                           struct sirix_backup_part *out_part,
                                           struct sirix_error *err)
{
    const ProtobufCMessage *message = stream->first;
    enum sirix_status status = SIRIX_OK;

    if (stream->complete) {
        return sirix_stream_fail_order("a backup beyond its end", err);
    }
    stream->first = NULL;
    for (;;) {
        if (message == NULL) {
            status = sirix_stream_next(&stream->stream, &message, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (message == NULL) {
            return sirix_stream_fail_order("a backup without its end", err);
        }
        if (decode_part(stream, (const void *)message, out_part)) {
            return SIRIX_OK;
        }
        message = NULL;
    }
}

void sirix_backup_stream_close(struct sirix_backup_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}

/* --- Restore ------------------------------------------------------------------------------------ */

static enum sirix_status send_start(struct sirix_upload *upload, const char *database,
                                    struct sirix_error *err)
{
    PB(RestoreStart) start = PB_INIT(RESTORE_START);
    PB(RestoreRequest) message = PB_INIT(RESTORE_REQUEST);

    start.database = sirix_message_from_str(database);
    message.part_case = SIRIX__STORAGE__V1__RESTORE_REQUEST__PART_START;
    message.start = &start;
    return sirix_upload_send(upload, &message.base, err);
}

static enum sirix_status send_bytes(struct sirix_upload *upload, const struct sirix_source *source,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    void *buffer = malloc(SIRIX_UPLOAD_PIECE_BYTES);

    if (buffer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a piece of a backup");
    }
    while (status == SIRIX_OK && !upload->hung_up) {
        PB(RestoreRequest) message = PB_INIT(RESTORE_REQUEST);
        size_t len = 0;

        status = source->read(source->context, buffer, SIRIX_UPLOAD_PIECE_BYTES, &len, err);
        if (status != SIRIX_OK || len == 0) {
            break;
        }
        message.part_case = SIRIX__STORAGE__V1__RESTORE_REQUEST__PART_DATA;
        message.data = sirix_message_from_bytes((struct sirix_bytes){.data = buffer, .len = len});
        status = sirix_upload_send(upload, &message.base, err);
    }
    free(buffer);
    return status;
}

enum sirix_status sirix_client_restore(struct sirix_client *client, const char *database,
                                       const struct sirix_source *source,
                                       const struct sirix_call_options *call,
                                       struct sirix_restore_result *out_result,
                                       struct sirix_error *err)
{
    const ProtobufCMessage *answer = NULL;
    struct sirix_upload upload;
    struct sirix_arena arena;
    enum sirix_status status =
        sirix_upload_open(&upload, client, SIRIX_METHOD_RESTORE, SIRIX_REPEAT_BY_METHOD, call, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_arena_init(&arena, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    status = send_start(&upload, database, err);
    if (status == SIRIX_OK) {
        status = send_bytes(&upload, source, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_upload_answer(&upload, PB_TYPE(restore_response), &arena, &answer, err);
    }
    if (status == SIRIX_OK) {
        const PB(RestoreResponse) *from = (const void *)answer;
        *out_result = (struct sirix_restore_result){
            .backups = from->backups,
            .segments = from->segments,
            .bytes = from->bytes,
            .resources = from->resources,
            .revisions = from->revisions,
            .made_at_us = from->made_at_us,
        };
    }
    sirix_upload_deinit(&upload);
    sirix_arena_deinit(&arena);
    return status;
}
