"""Quotas: bytes, snapshots, branches and calls, of a database and of a principal."""
import threading

import grpc

import case
import daemon
from case import replace

WAIT = 60


class Quotas(case.DaemonCase):
    def setUp(self):
        self.client.CreateDatabase(database=b"q")
        self.load(b"r", '{"a":1}', database=b"q")
        self.place = {"database": b"q", "resource": b"r"}

    def tearDown(self):
        self.client.SetQuota(database=b"q", quota=case.pb.Quota())
        self.client.DropDatabase(database=b"q")

    def set(self, **limits):
        return self.client.SetQuota(database=b"q", quota=case.pb.Quota(**limits)).quota

    def full(self, function, *args, **fields):
        found = self.refused("RESOURCE_EXHAUSTED", "quota", function, *args, **fields)
        return found

    def test_a_quota_is_told_and_kept_and_taken_away(self):
        nothing = case.pb.Quota()
        self.assertEqual(self.client.SetQuota(database=b"q").quota, nothing)
        wanted = case.pb.Quota(bytes=1 << 40, snapshots=3, branches=4, calls=500)
        self.assertEqual(self.set(bytes=1 << 40, snapshots=3, branches=4, calls=500), wanted)
        self.client.SetQuota(principal=b"somebody", quota=case.pb.Quota(calls=7))
        self.killed()
        self.assertEqual(self.client.SetQuota(database=b"q").quota, wanted)
        self.assertEqual(self.client.SetQuota(principal=b"somebody").quota.calls, 7)
        self.assertEqual(self.client.SetQuota(database=b"somebody").quota, nothing)
        self.client.SetQuota(principal=b"somebody", quota=nothing)
        self.set()
        self.killed()
        self.assertEqual(self.client.SetQuota(database=b"q").quota, nothing)
        self.assertEqual(self.client.SetQuota(principal=b"somebody").quota, nothing)

    def test_what_is_no_quota_is_refused(self):
        self.refused("INVALID_ARGUMENT", "field_missing", self.client.SetQuota)
        self.refused("INVALID_ARGUMENT", "name_invalid", self.client.SetQuota, database=b"a/b")
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.SetQuota, principal=b"a",
                     quota=case.pb.Quota(bytes=1))

    def test_a_database_that_is_full_takes_nothing_more_and_gives_back(self):
        self.client.CreateSnapshot(name=b"s", **self.place)
        self.client.CreateBranch(name=b"b", **self.place)
        self.client.CreateResource(database=b"q", resource=b"other")
        before = [r.name for r in self.client.ListResources(database=b"q").resources]
        self.set(bytes=1)
        change = {"operations": [replace(1, "2")]}
        self.full(self.client.Apply, **change, **self.place)
        self.full(self.client.Revert, view=case.pb.View(revision=1), **self.place)
        self.full(self.client.UpdateQuery, query=b"replace json value of $$.a with 2", **self.place)
        self.full(self.client.CreateResource, database=b"q", resource=b"new")
        self.full(self.client.CreateSnapshot, name=b"t", **self.place)
        self.full(self.client.CreateBranch, name=b"c", **self.place)
        self.full(self.load, b"r", "1", database=b"q", replace=True)
        self.full(self.load, b"new", "1", database=b"q")
        stream = [case.pb.ApplyStreamRequest(start=case.pb.ApplyRequest(**change, **self.place))]
        self.full(self.client.ApplyStream, stream)
        self.assertEqual([r.name for r in self.client.ListResources(database=b"q").resources],
                         before)
        self.client.ReadNode(**self.place)
        self.client.Promote(branch=b"b", **self.place)
        self.client.DeleteSnapshot(name=b"s", **self.place)
        self.client.DeleteBranch(name=b"b", **self.place)
        self.client.DropResource(database=b"q", resource=b"other")
        self.set()
        self.client.Apply(**change, **self.place)

    def test_snapshots_and_branches_are_counted_by_resource(self):
        self.set(snapshots=2, branches=2)
        for name in (b"s1", b"s2"):
            self.client.CreateSnapshot(name=name, **self.place)
        self.full(self.client.CreateSnapshot, name=b"s3", **self.place)
        self.client.CreateSnapshot(name=b"s2", replace=True, **self.place)
        self.client.CreateBranch(name=b"b1", **self.place)
        self.full(self.client.CreateBranch, name=b"b2", **self.place)
        self.load(b"second", "1", database=b"q")
        self.client.CreateBranch(name=b"b2", database=b"q", resource=b"second")
        self.client.DeleteSnapshot(name=b"s1", **self.place)
        self.client.CreateSnapshot(name=b"s3", **self.place)

    def hold(self, client, count):
        """Streams of writes that hold the database until they are ended; and what ends them."""
        go = threading.Event()
        begun = threading.Semaphore(0)

        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(
                database=b"q", resource=b"r", replace=True))
            yield case.pb.ImportRequest(data=b" ")
            begun.release()
            go.wait(WAIT)

        calls = [client.Import.raw.future(messages(), timeout=WAIT) for _ in range(count)]
        for _ in calls:
            begun.acquire(timeout=WAIT)
        return calls, go

    def until_refused(self, function, **fields):
        for _ in range(3000):
            try:
                function(**fields)
            except grpc.RpcError as failure:
                return failure, daemon.detail(failure, case.error)
        self.fail("it was never refused")

    def until_served(self, function, **fields):
        for _ in range(3000):
            try:
                return function(**fields)
            except grpc.RpcError as failure:
                self.assertEqual(failure.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.fail("it was never served")

    def test_calls_of_a_principal_at_a_time_are_limited(self):
        self.client.SetQuota(principal=b"owner", quota=case.pb.Quota(calls=2))
        calls, go = self.hold(self.client, 2)
        failure, found = self.until_refused(self.client.ReadNode, **self.place)
        self.assertEqual((failure.code().name, found.reason), ("RESOURCE_EXHAUSTED", b"quota"))
        self.assertGreater(found.retry_after_ms, 0)
        self.client.Status()
        reader = daemon.Client(self.daemon.reader, case.pb)
        reader.ReadNode(**self.place)
        reader.close()
        go.set()
        for call in calls:
            with self.assertRaises(grpc.RpcError):
                call.result(WAIT)
        self.until_served(self.client.ReadNode, **self.place)
        self.client.SetQuota(principal=b"owner", quota=case.pb.Quota())

    def test_calls_on_a_database_at_a_time_are_limited(self):
        self.set(calls=2)
        calls, go = self.hold(self.client, 2)
        failure, found = self.until_refused(self.client.ReadNode, **self.place)
        self.assertEqual((failure.code().name, found.reason), ("RESOURCE_EXHAUSTED", b"quota"))
        go.set()
        for call in calls:
            with self.assertRaises(grpc.RpcError):
                call.result(WAIT)
        self.until_served(self.client.ReadNode, **self.place)


if __name__ == "__main__":
    case.main()
