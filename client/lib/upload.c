/* Client streams. */
#include "lib/upload.h"

#include <grpc/byte_buffer.h>

#include "lib/transport/message.h"

enum sirix_status sirix_upload_open(struct sirix_upload *upload, struct sirix_client *client,
                                    enum sirix_method method, enum sirix_repeat repeat,
                                    const struct sirix_call_options *options,
                                    struct sirix_error *err)
{
    struct sirix_tries tries;

    sirix_tries_init(&tries, client, method, options, repeat);
    enum sirix_status status = sirix_tries_prepare(&tries, err);
    if (status == SIRIX_OK) {
        status = sirix_call_start(&upload->call, client->channel, method, tries.deadline_ns,
                                  options, err);
    }
    if (status == SIRIX_OK) {
        upload->call.writes = tries.writes;
        upload->hung_up = false;
        sirix_call_begin(&upload->call);
    }
    return status;
}

enum sirix_status sirix_upload_send(struct sirix_upload *upload, const ProtobufCMessage *message,
                                    struct sirix_error *err)
{
    grpc_byte_buffer *buffer = NULL;

    if (upload->hung_up) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_message_encode(message, &buffer, err);
    if (status == SIRIX_OK) {
        upload->hung_up = !sirix_call_send(&upload->call, buffer);
        grpc_byte_buffer_destroy(buffer);
    }
    return status;
}

enum sirix_status sirix_upload_answer(struct sirix_upload *upload,
                                      const ProtobufCMessageDescriptor *type,
                                      struct sirix_arena *arena,
                                      const ProtobufCMessage **out_answer, struct sirix_error *err)
{
    grpc_byte_buffer *answer = NULL;
    enum sirix_status status = sirix_call_answer(&upload->call, upload->hung_up, &answer, err);

    if (status == SIRIX_OK) {
        status = sirix_message_decode(answer, type, arena, out_answer, err);
        grpc_byte_buffer_destroy(answer);
        status = sirix_client_untaken(upload->call.writes, status, err);
    }
    return status;
}

void sirix_upload_deinit(struct sirix_upload *upload)
{
    sirix_call_deinit(&upload->call);
}
