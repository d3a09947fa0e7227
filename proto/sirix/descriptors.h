/*
 * The FileDescriptorSet of every .proto file of this folder, as protoc-c wrote it: what reflection
 * answers from. Read-only, there for the life of the program.
 */
#ifndef SIRIX_PROTO_DESCRIPTORS_H
#define SIRIX_PROTO_DESCRIPTORS_H

extern const unsigned char sirix_proto_descriptors[];
extern const unsigned char sirix_proto_descriptors_end[]; /* One past the last byte. */

#endif
