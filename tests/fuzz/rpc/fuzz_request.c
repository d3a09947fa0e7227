/*
 * Property: bytes of a peer either are refused or unpack within the limit of memory; what was
 * unpacked packs to as many bytes as promised, and if those unpack again, to the same. (They need
 * not: protobuf-c takes unknown fields under tags that it refuses when it has written them itself.)
 * Byte 0 chooses the request's type.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "rpc/methods/codec.h"
#include "rpc/runtime/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
    &sirix__storage__v1__apply_request__descriptor,
    &sirix__storage__v1__apply_stream_request__descriptor,
    &sirix__storage__v1__attach_request__descriptor,
    &sirix__storage__v1__create_branch_request__descriptor,
    &sirix__storage__v1__create_snapshot_request__descriptor,
    &sirix__storage__v1__diff_request__descriptor,
    &sirix__storage__v1__history_request__descriptor,
    &sirix__storage__v1__import_request__descriptor,
    &sirix__storage__v1__list_databases_request__descriptor,
    &sirix__storage__v1__promote_request__descriptor,
    &sirix__storage__v1__read_node_request__descriptor,
    &sirix__storage__v1__revert_request__descriptor,
    &grpc__health__v1__health_check_request__descriptor,
    &grpc__reflection__v1__server_reflection_request__descriptor,
};

/* What every method does with a request before it opens anything. */
static void convert(const ProtobufCMessage *message)
{
    struct sirix_write_options options;

    if (message->descriptor == &sirix__storage__v1__apply_request__descriptor) {
        const Sirix__Storage__V1__ApplyRequest *apply =
            (const Sirix__Storage__V1__ApplyRequest *)message;
        if (sirix_rpc_write_options(apply->options, message, &options, NULL) == SIRIX_OK &&
            sirix_write_options_check(&options, NULL) == SIRIX_OK) {
            assert(options.message.len <= SIRIX_MESSAGE_BYTES_MAX);
        }
    } else if (message->descriptor == &sirix__storage__v1__revert_request__descriptor) {
        const Sirix__Storage__V1__RevertRequest *revert =
            (const Sirix__Storage__V1__RevertRequest *)message;
        const struct sirix_view_request view = sirix_rpc_view(revert->view);
        assert(view.name.len == 0 || view.name.data != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_arena arena;
    ProtobufCMessage *first = NULL;
    ProtobufCMessage *second = NULL;

    if (size == 0) {
        return 0;
    }
    const ProtobufCMessageDescriptor *type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
    sirix_arena_init(&arena, SIZE_MAX);
    if (sirix_rpc_message_decode_bytes((struct sirix_bytes){.data = data + 1, .len = size - 1},
                                       type, &arena, &first, NULL) == SIRIX_OK) {
        assert(arena.used_bytes <= 2U * SIRIX_RPC_DECODED_BYTES_MAX);
        convert(first);
        size_t len = protobuf_c_message_get_packed_size(first);
        uint8_t *packed = malloc(2 * len + 1);
        if (packed != NULL) {
            assert(protobuf_c_message_pack(first, packed) == len);
            enum sirix_status status = sirix_rpc_message_decode_bytes(
                (struct sirix_bytes){.data = packed, .len = len}, type, &arena, &second, NULL);
            assert(status == SIRIX_OK || status == SIRIX_EXHAUSTED || status == SIRIX_INVALID);
            if (status == SIRIX_OK) {
                assert(protobuf_c_message_get_packed_size(second) == len);
                assert(protobuf_c_message_pack(second, packed + len) == len);
                assert(memcmp(packed, packed + len, len) == 0);
            }
        }
        free(packed);
    }
    sirix_arena_deinit(&arena);
    return 0;
}
