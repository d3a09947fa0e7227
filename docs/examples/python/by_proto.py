#!/usr/bin/python3
"""A client of storaged in Python, from the .proto files.

    by_proto.py ADDRESS PROTO_FOLDER

ADDRESS is unix:PATH or HOST:PORT. Needs Debian's python3-grpcio, python3-protobuf, protobuf-compiler. A token in
the variable SIRIX_TOKEN is shown to the server.
"""
import importlib
import os
import subprocess
import sys
import tempfile

import grpc


def compiled(folder):
    """The modules of storage.proto and error.proto; a program of yours would keep what protoc made."""
    out = tempfile.mkdtemp()
    names = ["sirix/storage/v1/storage.proto", "sirix/storage/v1/error.proto"]
    subprocess.run(["protoc", "-I" + folder, "--python_out=" + out, *names], check=True)
    sys.path.insert(0, out)
    return [importlib.import_module(n[:-len(".proto")].replace("/", ".") + "_pb2") for n in names]


class Storage:
    """One method a call: Storage(...).Apply(pb.ApplyRequest(...))."""

    def __init__(self, address, pb):
        token = os.environ.get("SIRIX_TOKEN")
        metadata = (("authorization", "Bearer " + token),) if token else ()
        self.channel = grpc.insecure_channel(address)
        for method in pb.DESCRIPTOR.services_by_name["Storage"].methods:
            shape = self.shape(method)
            made = getattr(self.channel, shape)(
                "/sirix.storage.v1.Storage/" + method.name,
                request_serializer=getattr(pb, method.input_type.name).SerializeToString,
                response_deserializer=getattr(pb, method.output_type.name).FromString)
            setattr(self, method.name,
                    lambda request, call=made: call(request, timeout=30, metadata=metadata))

    @staticmethod
    def shape(method):
        from google.protobuf import descriptor_pb2
        proto = descriptor_pb2.MethodDescriptorProto()
        method.CopyToProto(proto)
        return "%s_%s" % ("stream" if proto.client_streaming else "unary",
                          "stream" if proto.server_streaming else "unary")


def main(address, folder):
    pb, error = compiled(folder)
    storage = Storage(address, pb)
    place = {"database": b"python", "resource": b"users"}

    # A text of any size as one revision: the start, then pieces.
    start = pb.ImportStart(**place, options=pb.WriteOptions(message=b"import"))
    storage.Import(iter([pb.ImportRequest(start=start),
                         pb.ImportRequest(data=b'[{"name":"Ann","age":31}]')]))

    # A change: the node by its path, then the change by its key. The idempotency key makes it safe to send again.
    age = storage.ReadNode(pb.ReadNodeRequest(**place, path=b"/[0]/age")).nodes[0]
    update = pb.Operation(update=pb.Update(node_key=age.node_key, value=pb.Value(json=b"32")))
    storage.Apply(pb.ApplyRequest(**place, operations=[update], options=pb.WriteOptions(
        message=b"birthday", idempotency_key=b"birthday-1")))

    for revision in reversed(storage.History(pb.HistoryRequest(**place)).revisions):
        print("revision %d: %s" % (revision.revision, revision.message.decode()))

    parts = storage.ReadDocument(pb.ReadDocumentRequest(**place, view=pb.View(revision=1)))
    print("text of 1: " + b"".join(part.data for part in parts).decode())

    request = pb.QueryRequest(**place, query=b"$$[].age")
    items = [item.json for part in storage.Query(request) for item in part.items.items]
    print("query: " + b" ".join(items).decode())

    try:
        storage.ListResources(pb.ListResourcesRequest(database=b"none"))
    except grpc.RpcError as failure:
        # What a program can use of an error: the stable names of docs/errors.md.
        packed = dict(failure.trailing_metadata())["grpc-status-details-bin"]
        detail = error.ErrorDetail.FromString(error.ErrorStatus.FromString(packed).details[0].value)
        print("error: %s %s" % (detail.status.decode(), detail.reason.decode()))


if __name__ == "__main__":
    main(*sys.argv[1:])
