/*
 * Property: bytes of a peer either are refused or unpack within the limit of memory; what was
 * unpacked packs to as many bytes as promised, and if those unpack again, to the same. (They need
 * not: protobuf-c takes unknown fields under tags that it refuses when it has written them itself.)
 * Bytes 0 and 1 choose the request's type: requests.h.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "fuzz/rpc/requests.h"
#include "rpc/methods/codec.h"
#include "rpc/runtime/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    static struct request all[REQUESTS_MAX];
    static size_t count;
    struct sirix_arena arena;
    ProtobufCMessage *first = NULL;
    ProtobufCMessage *second = NULL;

    if (size < REQUEST_TAG_BYTES) {
        return 0;
    }
    if (count == 0) {
        count = requests_all(all);
    }
    const ProtobufCMessageDescriptor *type =
        requests_find(all, count, sirix_load_u16le(data))->type;
    sirix_arena_init(&arena, SIZE_MAX);
    if (sirix_rpc_message_decode_bytes(
            (struct sirix_bytes){.data = data + REQUEST_TAG_BYTES, .len = size - REQUEST_TAG_BYTES},
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
