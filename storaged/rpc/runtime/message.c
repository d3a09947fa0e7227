/* Packing and unpacking, each with one copy. */
#include "rpc/runtime/message.h"

#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>

/* What protobuf-c's allocator callbacks see: why an allocation failed is kept for the error. */
struct unpacking {
    struct sirix_arena *arena;
    struct sirix_error *err;
    enum sirix_status status;
    size_t left;
};

static void *unpack_alloc(void *context, size_t size)
{
    struct unpacking *unpacking = context;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (size > unpacking->left) {
        status = sirix_fail_reason(unpacking->err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "the request takes over %d bytes when it is unpacked",
                                   SIRIX_RPC_DECODED_BYTES_MAX);
    } else {
        unpacking->left -= size;
        status = sirix_arena_alloc(unpacking->arena, size, &memory, unpacking->err);
    }
    if (status != SIRIX_OK) {
        unpacking->status = status;
        return NULL;
    }
    return memory;
}

/* The arena goes as a whole. */
static void unpack_free(void *context, void *memory)
{
    (void)context;
    (void)memory;
}

enum sirix_status sirix_rpc_message_decode_bytes(struct sirix_bytes bytes,
                                                 const ProtobufCMessageDescriptor *type,
                                                 struct sirix_arena *arena,
                                                 ProtobufCMessage **out_message,
                                                 struct sirix_error *err)
{
    struct unpacking unpacking = {.arena = arena, .err = err, .left = SIRIX_RPC_DECODED_BYTES_MAX};
    ProtobufCAllocator allocator = {
        .alloc = unpack_alloc, .free = unpack_free, .allocator_data = &unpacking};

    assert(type != NULL);

    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, bytes.len, bytes.data);
    if (message == NULL) {
        if (unpacking.status != SIRIX_OK) {
            return unpacking.status;
        }
        return sirix_fail(err, SIRIX_INVALID, "the request is no %s in protobuf encoding",
                          type->name);
    }
    *out_message = message;
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_message_decode(grpc_byte_buffer *buffer,
                                           const ProtobufCMessageDescriptor *type,
                                           struct sirix_arena *arena,
                                           ProtobufCMessage **out_message, struct sirix_error *err)
{
    grpc_byte_buffer_reader reader;

    if (grpc_byte_buffer_reader_init(&reader, buffer) == 0) {
        return sirix_fail(err, SIRIX_INVALID, "the request cannot be decompressed");
    }
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    struct sirix_bytes bytes = {.data = GRPC_SLICE_START_PTR(all), .len = GRPC_SLICE_LENGTH(all)};
    enum sirix_status status = sirix_rpc_message_decode_bytes(bytes, type, arena, out_message, err);
    grpc_slice_unref(all);
    return status;
}

enum sirix_status sirix_rpc_message_encode(const ProtobufCMessage *message,
                                           grpc_byte_buffer **out_buffer, struct sirix_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (size > SIRIX_RPC_MESSAGE_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "the answer has %zu bytes, a message may have %d: ask for less at "
                                 "a time, or use the call that streams",
                                 size, SIRIX_RPC_MESSAGE_BYTES_MAX);
    }
    grpc_slice slice = grpc_slice_malloc(size);
    size_t packed = protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    assert(packed == size);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    if (buffer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the answer");
    }
    *out_buffer = buffer;
    return SIRIX_OK;
}
