/*
 * Between gRPC's byte buffers and protobuf-c's messages.
 *
 * protobuf-c trusts its input with memory: two bytes on the wire may become a hundred in memory. So
 * a message is unpacked into an arena, whose limit is the bound, and freed with it.
 */
#ifndef SIRIX_RPC_MESSAGE_H
#define SIRIX_RPC_MESSAGE_H

#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/status.h"

enum {
    SIRIX_RPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024,
    /* Of one unpacked message: its bytes once, and its structures. */
    SIRIX_RPC_DECODED_BYTES_MAX = 4 * SIRIX_RPC_MESSAGE_BYTES_MAX,
    /* Of everything in a call's arena: the request and the parts of the answer. */
    SIRIX_RPC_CALL_BYTES_MAX = 8 * SIRIX_RPC_MESSAGE_BYTES_MAX,
};

/*
 * Unpacks the bytes of a buffer (which stays the caller's) into arena; *out_message is never NULL
 * and lives as long as the arena's content. SIRIX_INVALID: no message of that type.
 * SIRIX_EXHAUSTED: SIRIX_RPC_DECODED_BYTES_MAX or the arena's limit. NO recursive message type may be given: protobuf-c has no
 * depth limit.
 */
enum sirix_status sirix_rpc_message_decode(grpc_byte_buffer *buffer,
                                           const ProtobufCMessageDescriptor *type,
                                           struct sirix_arena *arena,
                                           ProtobufCMessage **out_message,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same for plain bytes. */
enum sirix_status sirix_rpc_message_decode_bytes(struct sirix_bytes bytes,
                                                 const ProtobufCMessageDescriptor *type,
                                                 struct sirix_arena *arena,
                                                 ProtobufCMessage **out_message,
                                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Packs a message into a new buffer, which the caller destroys. SIRIX_EXHAUSTED: it has over
 * SIRIX_RPC_MESSAGE_BYTES_MAX bytes.
 */
enum sirix_status sirix_rpc_message_encode(const ProtobufCMessage *message,
                                           grpc_byte_buffer **out_buffer,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
