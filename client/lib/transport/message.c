/* Packing and unpacking. */
#include "lib/transport/message.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <string.h>

/* What the allocator functions know; protobuf-c tells its caller only that it failed. */
struct unpacking {
    struct sirix_arena *arena;
    enum sirix_status status;
    struct sirix_error err;
};

static void *allocate(void *context, size_t size)
{
    struct unpacking *unpacking = context;
    void *memory = NULL;

    unpacking->status = sirix_arena_alloc(unpacking->arena, size, &memory, &unpacking->err);
    return memory;
}

static void release(void *context, void *memory)
{
    (void)context; /* It goes with the arena. */
    (void)memory;
}

enum sirix_status sirix_message_encode(const ProtobufCMessage *message,
                                       grpc_byte_buffer **out_buffer, struct sirix_error *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (size > SIRIX_MESSAGE_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "the request has %zu bytes; a message may have %d", size,
                                 SIRIX_MESSAGE_BYTES_MAX);
    }
    grpc_slice slice = grpc_slice_malloc(size);
    (void)protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    *out_buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return SIRIX_OK;
}

enum sirix_status sirix_message_decode(grpc_byte_buffer *buffer,
                                       const ProtobufCMessageDescriptor *type,
                                       struct sirix_arena *arena,
                                       const ProtobufCMessage **out_message,
                                       struct sirix_error *err)
{
    grpc_byte_buffer_reader reader;

    if (grpc_byte_buffer_reader_init(&reader, buffer) == 0) {
        return sirix_fail(err, SIRIX_INTERNAL, "the server's message cannot be decompressed");
    }
    grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    struct sirix_bytes bytes = {
        .data = GRPC_SLICE_START_PTR(slice),
        .len = GRPC_SLICE_LENGTH(slice),
    };
    enum sirix_status status = sirix_message_decode_bytes(bytes, type, arena, out_message, err);
    grpc_slice_unref(slice);
    return status;
}

enum sirix_status sirix_message_decode_bytes(struct sirix_bytes bytes,
                                             const ProtobufCMessageDescriptor *type,
                                             struct sirix_arena *arena,
                                             const ProtobufCMessage **out_message,
                                             struct sirix_error *err)
{
    struct unpacking unpacking = {.arena = arena, .status = SIRIX_OK};
    ProtobufCAllocator allocator = {
        .alloc = allocate,
        .free = release,
        .allocator_data = &unpacking,
    };

    ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, bytes.len, bytes.data);
    if (message == NULL && unpacking.status != SIRIX_OK) {
        return sirix_fail_reason(err, unpacking.status, unpacking.err.reason,
                                 "unpack the server's answer: %s", unpacking.err.text);
    }
    if (message == NULL) {
        return sirix_fail(err, SIRIX_INTERNAL, "the server's message is not a %s", type->name);
    }
    *out_message = message;
    return SIRIX_OK;
}

ProtobufCBinaryData sirix_message_from_bytes(struct sirix_bytes bytes)
{
    union {
        const void *in;
        uint8_t *out;
    } pointer = {.in = bytes.data};

    return (ProtobufCBinaryData){.len = bytes.len, .data = pointer.out};
}

ProtobufCBinaryData sirix_message_from_str(const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;

    return sirix_message_from_bytes((struct sirix_bytes){.data = text, .len = len});
}
