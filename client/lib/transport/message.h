/*
 * Between gRPC's byte buffers and protobuf-c's messages, and between protobuf-c's bytes and ours.
 *
 * A message is unpacked into an arena, whose limit bounds what a lying server can make us take, and
 * is freed with it. No message of the contract contains itself, so unpacking does not recurse with
 * the input.
 */
#ifndef SIRIX_TRANSPORT_MESSAGE_H
#define SIRIX_TRANSPORT_MESSAGE_H

#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

enum {
    SIRIX_MESSAGE_BYTES_MAX = 4 * 1024 * 1024,
    /* Of one unpacked answer: its bytes once, and the structures around them twice. */
    SIRIX_MESSAGE_DECODED_BYTES_MAX = 16 * SIRIX_MESSAGE_BYTES_MAX,
};

/*
 * Packs a message into a new buffer, which the caller destroys. SIRIX_EXHAUSTED (size_limit): it
 * has over SIRIX_MESSAGE_BYTES_MAX bytes.
 */
enum sirix_status sirix_message_encode(const ProtobufCMessage *message,
                                       grpc_byte_buffer **out_buffer,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Unpacks a buffer, which stays the caller's, into arena. SIRIX_INTERNAL: not a message of that
 * type. SIRIX_EXHAUSTED: the arena's limit.
 */
enum sirix_status sirix_message_decode(grpc_byte_buffer *buffer,
                                       const ProtobufCMessageDescriptor *type,
                                       struct sirix_arena *arena,
                                       const ProtobufCMessage **out_message,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same for plain bytes. */
enum sirix_status sirix_message_decode_bytes(struct sirix_bytes bytes,
                                             const ProtobufCMessageDescriptor *type,
                                             struct sirix_arena *arena,
                                             const ProtobufCMessage **out_message,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Views both ways; nothing is copied. protobuf-c does not write to bytes that it packs. */
ProtobufCBinaryData sirix_message_from_bytes(struct sirix_bytes bytes);
ProtobufCBinaryData sirix_message_from_str(const char *text); /* NULL: empty. */

static inline struct sirix_bytes sirix_message_bytes(ProtobufCBinaryData data)
{
    return (struct sirix_bytes){.data = data.data, .len = data.len};
}

#endif
