#!/usr/bin/python3
"""A server of sirix.storage.v1 that fails on purpose, for the tests of libsirix.

It stores nothing. What it does is chosen by the name of the database in the request:

    unavailable-N    the first N calls answer UNAVAILABLE, the next one is right
    full-N           the first N calls answer RESOURCE_EXHAUSTED with a hint, the next one is right
    quota            every call answers RESOURCE_EXHAUSTED without a hint the first time
    details          the call fails with every fact that an ErrorDetail can carry
    ...              see the methods

With --data it behaves as an embedded storaged does towards its starters: one a folder, two sockets,
a word on the ready pipe, and an end when nobody is attached any more.
"""
import argparse
import collections
import concurrent.futures
import fcntl
import os
import sys
import threading
import time

import grpc

from sirix.storage.v1 import error_pb2 as epb
from sirix.storage.v1 import storage_pb2 as pb
from sirix.storage.v1 import storage_pb2_grpc as rpc

MIB = 1024 * 1024


def details(code, text, **facts):
    detail = epb.ErrorDetail(message=text.encode(), **facts)
    status = epb.ErrorStatus(code=code.value[0], message=text.encode())
    any_ = status.details.add()
    any_.type_url = b"type.googleapis.com/sirix.storage.v1.ErrorDetail"
    any_.value = detail.SerializeToString()
    return (("grpc-status-details-bin", status.SerializeToString()),)


class Service(rpc.StorageServicer):
    def __init__(self):
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.counts = collections.Counter()
        self.attached = 0
        self.last_gone = time.monotonic()
        self.end_after_s = None

    def fail(self, context, code, text, **facts):
        context.set_trailing_metadata(details(code, text, **facts))
        context.abort(code, text)

    def count(self, name):
        with self.lock:
            self.counts[name] += 1
            return self.counts[name]

    def scenario(self, context, method, database):
        """Fails as the database's name says; returns how many tries there were."""
        name = database.decode()
        tries = self.count((method, name))
        if name.startswith("unavailable-"):
            if tries <= int(name.split("-")[1]):
                self.fail(context, grpc.StatusCode.UNAVAILABLE, "come back", status=b"unavailable")
        if name.startswith("full-") and tries <= int(name.split("-")[1]):
            self.fail(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "no room just now",
                      status=b"exhausted", retry_after_ms=5)
        if name == "quota" and tries == 1:
            self.fail(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "the quota is used up",
                      status=b"exhausted", reason=b"quota")
        if name == "details":
            self.fail(context, grpc.StatusCode.ABORTED, "the head moved to 7", status=b"conflict",
                      reason=b"revision_moved", field=b"options.expected_revision",
                      pointer=b"/a/b", offset=0, current_revision=7, retry_after_ms=12)
        if name == "newer":
            self.fail(context, grpc.StatusCode.INVALID_ARGUMENT, "of a later version",
                      status=b"something_new", reason=b"reason_new")
        if name == "plain":
            context.abort(grpc.StatusCode.NOT_FOUND, "bare words")
        if name == "hang":
            ended = threading.Event()
            if context.add_callback(ended.set):
                ended.wait()
            self.count("hang-ended")
        if name == "vanish":
            os._exit(3)
        return tries

    def ListDatabases(self, request, context):
        page = request.page_size or 1000
        at = int(request.cursor or b"0")
        names = [b"alpha", b"beta", b"gamma"]
        reply = pb.ListDatabasesResponse()
        for name in names[at:at + page]:
            reply.databases.add(name=name, stored_bytes=11, resource_count=2, open=True)
        if at + page < len(names):
            reply.next_cursor = str(at + page).encode()
        return reply

    def CreateDatabase(self, request, context):
        self.scenario(context, "CreateDatabase", request.database)
        return pb.CreateDatabaseResponse(database=pb.Database(name=request.database))

    def CreateResource(self, request, context):
        tries = self.scenario(context, "CreateResource", request.database)
        return pb.CreateResourceResponse(result=pb.WriteResult(
            revision=tries, changed=True, timestamp_us=5))

    def GetResource(self, request, context):
        reply = pb.GetResourceResponse(database=request.database, resource=request.resource,
                                       revision=request.view.revision, storage_type=b"lmdb")
        reply.branches.add(name=b"main", revision=4)
        reply.snapshots.add(name=b"before", revision=2)
        reply.paths.add(path=b"/a/[]", kinds=1 << pb.NODE_KIND_STRING)
        reply.paths.add(path=b"/a/*", kinds=1 << pb.NODE_KIND_NULL, any_member=True)
        reply.next_paths_cursor = request.paths_cursor + b"+"
        reply.node_count = dict(context.invocation_metadata()).get("traceparent") == "00-ab-cd-01"
        return reply

    def ReadNode(self, request, context):
        self.scenario(context, "ReadNode", request.database)
        reply = pb.ReadNodeResponse(revision=3, timestamp_us=9, path=b"/x", next_cursor=b"more")
        reply.nodes.add(node_key=1, parent_index=-1, kind=pb.NODE_KIND_OBJECT, child_count=2)
        reply.nodes.add(node_key=2, parent_index=0, name=b"a\x00b", kind=pb.NODE_KIND_STRING,
                        value=b'"v"')
        reply.nodes.add(node_key=4, parent_index=0, name=b"", kind=99, value=b"1")
        if request.database == b"lying":
            reply.nodes[2].parent_index = 2
        if request.HasField("max_depth") and request.max_depth == 0:
            del reply.nodes[1:]
        reply.next_offset = 0
        return reply

    def ReadDocument(self, request, context):
        tries = self.scenario(context, "ReadDocument", request.database)
        if request.database == b"out-of-order":
            yield pb.ReadDocumentResponse(data=b"{}")
            return
        yield pb.ReadDocumentResponse(start=pb.DocumentStart(revision=tries, timestamp_us=6))
        if request.database == b"big":
            for _ in range(64):
                yield pb.ReadDocumentResponse(data=b"x" * (256 * 1024))
            return
        if request.database == b"endless":
            context.add_callback(lambda: self.count("endless-ended"))
            while context.is_active():
                yield pb.ReadDocumentResponse(data=b"y" * (256 * 1024))
            return
        yield pb.ReadDocumentResponse(data=b'{"a":')
        yield pb.ReadDocumentResponse(data=b"")
        if request.database == b"broken-off":
            self.fail(context, grpc.StatusCode.DATA_LOSS, "a page is damaged", status=b"corrupt",
                      reason=b"checksum")
        yield pb.ReadDocumentResponse(data=b"1}")

    def History(self, request, context):
        reply = pb.HistoryResponse()
        reply.revisions.add(revision=2, parent_revision=1, branch=b"main", author=b"me",
                            message=b"second", chain=b"\x01" * 32)
        reply.revisions.add(revision=1)
        return reply

    def NodeHistory(self, request, context):
        reply = pb.NodeHistoryResponse()
        entry = reply.entries.add(change=pb.CHANGE_KIND_UPDATE, kind=pb.NODE_KIND_NUMBER,
                                  value=b"1.50")
        entry.revision.revision = 2
        reply.entries.add(change=77)
        return reply

    def Diff(self, request, context):
        start = pb.DiffStart(from_revision=1, to_revision=2)
        if not request.HasField("from"):
            start.from_revision = 100
        yield pb.DiffResponse(start=start)
        if request.format == pb.DIFF_FORMAT_JSON_PATCH:
            yield pb.DiffResponse(json_patch=b"[")
            yield pb.DiffResponse(json_patch=b"]")
        else:
            changes = pb.ChangeList()
            changes.changes.add(kind=pb.CHANGE_KIND_MOVE, node_key=9, path=b"/[0]", old_index=0,
                                new_index=3)
            changes.changes.add(kind=pb.CHANGE_KIND_RENAME, node_key=8, path=b"/n", old_name=b"",
                                new_name=b"n")
            yield pb.DiffResponse(changes=changes)
        if request.database != b"no-end":
            yield pb.DiffResponse(end=pb.DiffEnd(moves=1, renames=1))

    def Apply(self, request, context):
        tries = self.scenario(context, "Apply", request.database)
        reply = pb.ApplyResponse(result=pb.WriteResult(revision=tries, changed=True,
                                                       replayed=tries > 1))
        for operation in request.operations:
            result = reply.operations.add(kind=pb.NODE_KIND_STRING, changed=True)
            if operation.WhichOneof("kind") == "insert":
                result.node_keys.extend([10, 12])
        if request.WhichOneof("source") == "json_patch":
            reply.applied, reply.tests = len(request.json_patch.json), int(request.dry_run)
        elif request.WhichOneof("source") == "diff":
            reply.applied = request.diff.to.revision
            reply.already = getattr(request.diff, "from").revision
            reply.keys.add(source_key=7, node_key=9)
        return reply

    def UpdateQuery(self, request, context):
        self.scenario(context, "UpdateQuery", request.database)
        return pb.UpdateQueryResponse()

    def ApplyStream(self, requests, context):
        sizes = collections.Counter()
        count = 0
        database = b""
        for request in requests:
            if request.WhichOneof("part") == "start":
                count = len(request.start.operations)
                database = request.start.database
            else:
                sizes[request.chunk.operation] += len(request.chunk.data)
        if database == b"vanish-late":
            os._exit(3)
        reply = pb.ApplyResponse(result=pb.WriteResult(revision=5, changed=True))
        for i in range(count):
            reply.operations.add(node_keys=[sizes[i]])
        if count == 0:
            reply.applied = sizes[0]
        return reply

    def Import(self, requests, context):
        size = 0
        start = None
        answered = []
        context.add_callback(lambda: answered or self.count("import-broken"))
        for request in requests:
            if request.WhichOneof("part") == "start":
                start = request.start
                if start.database == b"taken":
                    self.fail(context, grpc.StatusCode.ALREADY_EXISTS, "it has a value",
                              status=b"already_exists", reason=b"resource_has_value")
            else:
                size += len(request.data)
                if start.database == b"vanish" and size > MIB:
                    os._exit(3)
        answered.append(True)
        if start.database == b"vanish-late":
            os._exit(3)
        return pb.ImportResponse(text_bytes=size, root_key=1,
                                 result=pb.WriteResult(revision=2, changed=True),
                                 items=7 if start.format == pb.IMPORT_FORMAT_NDJSON else 0,
                                 duplicates_dropped=start.duplicate_keys == pb.DUPLICATE_KEYS_LAST,
                                 nodes=start.place.node_key)

    def Revert(self, request, context):
        self.scenario(context, "Revert", request.database)
        return pb.RevertResponse(reverted_to=request.view.revision,
                                 result=pb.WriteResult(revision=9, parent_revision=8))

    def CreateSnapshot(self, request, context):
        reply = pb.CreateSnapshotResponse(changed=True, previous_revision=request.replace)
        if request.database != b"empty-answer":
            reply.snapshot.name = request.name
            reply.snapshot.revision = request.view.revision
        return reply

    def ListSnapshots(self, request, context):
        reply = pb.ListSnapshotsResponse(next_cursor=b"" if request.cursor else b"n")
        reply.snapshots.add(name=b"one", revision=1)
        return reply

    def DeleteSnapshot(self, request, context):
        return pb.DeleteSnapshotResponse(revision=4)

    def CreateBranch(self, request, context):
        reply = pb.CreateBranchResponse()
        reply.branch.name = request.name
        reply.branch.expires_at_us = request.expires_at_us
        return reply

    def ListBranches(self, request, context):
        reply = pb.ListBranchesResponse()
        reply.branches.add(name=b"main", revision=1)
        return reply

    def DeleteBranch(self, request, context):
        return pb.DeleteBranchResponse(revision=request.options.expected_revision)

    def Promote(self, request, context):
        return pb.PromoteResponse(revision=4, previous_revision=2, changed=request.target == b"")

    def Status(self, request, context):
        """Also what the tests ask how often something happened: calls_total and so on."""
        return pb.StatusResponse(version=b"0.0.fake", process_id=os.getpid(), role=pb.ROLE_WRITER,
                                 principal=b"owner", calls_total=self.counts["hang-ended"],
                                 commits_total=self.counts["endless-ended"],
                                 writes_waiting=self.counts["import-broken"],
                                 calls_running=self.attached)

    def Verify(self, request, context):
        yield pb.VerifyResponse(progress=pb.VerifyProgress(segments_checked=1, bytes_checked=2))
        yield pb.VerifyResponse(problem=pb.VerifyProblem(resource=b"r", reason=b"checksum"))
        if request.resource != b"no-end":
            yield pb.VerifyResponse(end=pb.VerifyEnd(resources=1, problems=1))

    def Attach(self, request, context):
        with self.lock:
            self.attached += 1
        gone = threading.Event()

        def leave():
            with self.lock:
                self.attached -= 1
                self.last_gone = time.monotonic()
                self.changed.notify_all()
            gone.set()

        if not context.add_callback(leave):
            leave()
            return
        yield pb.AttachResponse(version=b"0.0.fake", process_id=os.getpid(), embedded=True)
        gone.wait()

    def wait_for_the_end(self):
        with self.lock:
            while True:
                left = self.last_gone + self.end_after_s - time.monotonic()
                if self.attached == 0 and left <= 0:
                    return
                self.changed.wait(left if self.attached == 0 else None)


class ReaderService(Service):
    """The other door: nobody writes there."""

    def __init__(self, service):
        super().__init__()
        self.__dict__ = service.__dict__

    def CreateDatabase(self, request, context):
        self.fail(context, grpc.StatusCode.PERMISSION_DENIED, "readers only", status=b"permission",
                  reason=b"read_only")


def serve(service, path):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=64),
                         options=(("grpc.so_reuseport", 0),))
    rpc.add_StorageServicer_to_server(service, server)
    if server.add_insecure_port("unix:" + path) == 0:
        sys.exit("cannot listen at " + path)
    server.start()
    return server


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket")
    parser.add_argument("--data")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--ready-fd", type=int)
    args = parser.parse_args()
    service = Service()
    if args.data is None:
        server = serve(service, args.socket)
    else:
        os.chdir(args.data)
        mode = open("fake_mode").read().strip() if os.path.exists("fake_mode") else ""
        lock = open("fake.lock", "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("another storaged owns this folder", file=sys.stderr)
            sys.exit(69)
        if mode == "broken":
            print("first line\nthe disk \x1b[31mis on fire", file=sys.stderr)
            sys.exit(74)
        with open("starts", "a") as starts:
            starts.write("%d\n" % os.getpid())
        service.end_after_s = 60 if mode == "patient" else 0.3
        server = serve(service, "storaged.sock")
        reader = serve(ReaderService(service), "reader.sock")
    if args.ready_fd is not None:
        os.write(args.ready_fd, b"ready\n")
        os.close(args.ready_fd)
    if args.data is None:
        server.wait_for_termination()
    else:
        service.wait_for_the_end()
        server.stop(0)
        reader.stop(0)
        for path in ("storaged.sock", "reader.sock"):
            if os.path.exists(path):
                os.unlink(path)


if __name__ == "__main__":
    main()
