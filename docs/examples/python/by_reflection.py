#!/usr/bin/python3
"""A client of storaged in Python that knows nothing of its .proto files: it asks the server for them.

    by_reflection.py ADDRESS

Needs Debian's python3-grpcio and python3-protobuf.
"""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

STORAGE = "sirix.storage.v1.Storage"


def field(number, data):
    """A field of bytes in protobuf's form: the question to the reflection service is that small."""
    size, out = len(data), bytes([number << 3 | 2])
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size]) + data


def fields(data):
    """(number, bytes) of every field of bytes in a message."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at

    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 0:
            _, at = varint(at)
        else:
            size, at = varint(at)
            yield key >> 3, data[at:at + size]
            at += size


def ask(channel, symbol):
    """The FileDescriptorProtos that hold a symbol and what it needs."""
    call = channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
    answer = next(call(iter([field(4, symbol.encode())]), timeout=30))  # file_containing_symbol
    files = [inner for number, data in fields(answer) if number == 4 for _, inner in fields(data)]
    return [descriptor_pb2.FileDescriptorProto.FromString(data) for data in files]


def main(address):
    channel = grpc.insecure_channel(address)
    pool = descriptor_pool.DescriptorPool()
    for file in ask(channel, STORAGE):
        pool.Add(file)
    service = pool.FindServiceByName(STORAGE)

    def message(descriptor):
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    method = service.methods_by_name["Status"]
    request, answer = message(method.input_type), message(method.output_type)
    call = channel.unary_unary("/%s/Status" % STORAGE, request.SerializeToString, answer.FromString)
    status = call(request(), timeout=30)
    print("calls: %d" % len(service.methods))
    print("principal: %s" % status.principal.decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
