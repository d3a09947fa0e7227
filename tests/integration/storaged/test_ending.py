"""How calls end before they are done: cancelled, at their deadline, and with the server.

Two workers serve everything, so that a call which is cancelled and does not let go of its worker keeps
others from being served.
"""
import queue
import signal
import threading
import time

import grpc

import case
import daemon

WAIT = 60
SLOW_QUERY = b"sum(for $a in 1 to 1000000, $b in 1 to 1000000 return ($a * $b + $a) mod 7)"
SLOW_SQL = (b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")

# Every call: how it is made to last, or why it cannot. A call without a row fails a test.
QUEUED = "waits for its turn without a worker, and leaves the queue: tests/unit/service/test_turns.c"
SHORT = "answers out of what is in memory, or reads a bounded page"
LASTS = {
    "ListDatabases": SHORT, "CreateDatabase": SHORT, "DropDatabase": SHORT, "ListResources": SHORT,
    "CreateResource": SHORT, "GetResource": SHORT, "ReadNode": SHORT, "History": SHORT,
    "NodeHistory": SHORT, "CreateSnapshot": SHORT, "ListSnapshots": SHORT, "DeleteSnapshot": SHORT,
    "CreateBranch": SHORT, "ListBranches": SHORT, "Status": SHORT, "ReloadPrincipals": SHORT,
    "SetQuota": SHORT,
    "Verify": "checks on a thread of its own, which looks each millisecond whether it shall end",
    # Streams whose client does not read, or does not send.
    "ReadDocument": "unread", "Diff": "unread", "Backup": "unread",
    "Attach": "unread", "Watch": "unread",
    "Import": "unsent", "ApplyStream": "unsent", "Restore": "unsent",
    # Work without end.
    "Query": "works", "Sql": "works", "UpdateQuery": "works",
    "Apply": QUEUED, "Revert": QUEUED, "DropResource": QUEUED, "DeleteBranch": QUEUED,
    "Promote": QUEUED,
}
LASTING = [name for name in LASTS if LASTS[name] in ("unread", "unsent", "works")]


class Ending(case.DaemonCase):
    arguments = ("--workers", "2", "--write-queue-timeout", "60000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.big = "[" + ",".join('{"k":"%s"}' % ("x" * 1000) for _ in range(20000)) + "]"
        case.DaemonCase.load(cls, b"big", "[]")
        case.DaemonCase.load(cls, b"big", cls.big, replace=True)
        case.DaemonCase.load(cls, b"r", '{"a":1}')

    def call(self, name, timeout=WAIT):
        """The call under way, as something that can be cancelled and tells its code."""
        pb = case.pb
        place = {"database": b"db", "resource": b"r"}
        big = {"database": b"db", "resource": b"big"}
        requests = {
            "ReadDocument": big, "Diff": dict(
                big, format=pb.DIFF_FORMAT_JSON_PATCH, max_patch_operations=1000000,
                **{"from": pb.View(revision=1)}),
            "Backup": {"database": b"db"}, "Attach": {},
            "Watch": {"database": b"db"}, "Query": {"query": SLOW_QUERY},
            "UpdateQuery": {"query": SLOW_QUERY}, "Sql": {"sql": SLOW_SQL},
        }
        method = getattr(self.client, name)
        if LASTS[name] == "unsent":
            first = {
                "Import": lambda: pb.ImportRequest(start=pb.ImportStart(database=b"db",
                                                                        resource=b"new")),
                "ApplyStream": lambda: pb.ApplyStreamRequest(start=pb.ApplyRequest(
                    operations=[case.replace(1, "2")], **place)),
                "Restore": lambda: pb.RestoreRequest(start=pb.RestoreStart(database=b"restored")),
            }[name]()
            sent = threading.Event()

            def messages():
                yield first
                sent.wait(WAIT)

            self.addCleanup(sent.set)
            return method.raw.future(messages(), timeout=timeout)
        request = getattr(pb, method.request_name)(**requests[name])
        if name == "UpdateQuery":
            return method.raw.future(request, timeout=timeout)
        return method.raw(request, timeout=timeout)

    def others_are_served(self):
        """As many reads as there are workers and more, none of which waits for long."""
        for _ in range(4):
            self.client.ReadNode(database=b"db", resource=b"big", max_nodes=1, timeout=20)

    def only_this(self):
        for _ in range(1000):
            status = self.client.Status()
            if (status.calls_running, status.writes_waiting) == (1, 0):
                return
            time.sleep(0.01)
        self.fail("calls are left: %s" % status)

    def begun(self, count):
        for _ in range(1000):
            if self.client.Status().calls_running >= count + 1:
                return
            time.sleep(0.01)
        self.fail("the calls did not begin")

    def test_every_call_has_a_row(self):
        methods = case.pb.DESCRIPTOR.services_by_name["Storage"].methods
        self.assertEqual({m.name for m in methods}, set(LASTS))

    def test_what_is_cancelled_lets_go_of_its_worker(self):
        for name in LASTING:
            with self.subTest(name):
                calls = [self.call(name) for _ in range(2 if name == "Restore" else 4)]
                self.begun(len(calls))
                for call in calls:
                    call.cancel()
                self.others_are_served()
                self.only_this()
                self.assertEqual(self.client.ReadNode(database=b"db", resource=b"r").revision,
                                 self.head(b"r"))
        self.refused("NOT_FOUND", "resource_unknown", self.client.GetResource, database=b"db",
                     resource=b"new")

    def test_what_is_late_lets_go_of_its_worker(self):
        for name in LASTING:
            with self.subTest(name):
                before = self.head(b"r")
                calls = [self.call(name, timeout=0.3) for _ in range(2)]
                for call in calls:
                    self.assertEqual(call.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
                self.others_are_served()
                self.only_this()
                self.assertEqual(self.head(b"r"), before)


class Draining(case.DaemonCase):
    """SIGTERM: new calls are refused, what runs may end in time, and the code is 0."""

    def start(self, *arguments):
        one = daemon.Daemon(case.ARGS.storaged, *arguments)
        client = daemon.Client(one.owner, case.pb)
        self.addCleanup(one.close)
        self.addCleanup(client.close)
        client.CreateDatabase(database=b"db")
        return one, client

    def stream(self, client, pieces):
        """An import that sends what it is given, until None."""
        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=b"r"))
            while True:
                piece = pieces.get(timeout=WAIT)
                if piece is None:
                    return
                yield case.pb.ImportRequest(data=piece)

        return client.Import.raw.future(messages(), timeout=WAIT)

    def drained(self, one):
        """Until it says that it ends."""
        for _ in range(1000):
            if any(line["msg"] == "ending" for line in one.log()):
                return
            time.sleep(0.01)
        self.fail("it did not begin to end")

    def test_a_write_that_runs_ends_well_within_the_grace_time(self):
        one, client = self.start("--grace", "60000")
        pieces = queue.Queue()
        pieces.put(b"[1,")
        call = self.stream(client, pieces)
        for _ in range(1000):
            if client.Status().calls_running > 1:
                break
            time.sleep(0.01)
        watch = client.Watch(database=b"db", timeout=WAIT)
        next(watch)
        one.process.send_signal(signal.SIGTERM)
        self.drained(one)
        with self.assertRaises(grpc.RpcError) as caught:
            next(watch)
        self.assertEqual(caught.exception.code().name, "UNAVAILABLE")
        pieces.put(b"2]")
        pieces.put(None)
        answer = call.result(WAIT)
        self.assertEqual(one.process.wait(WAIT), 0)
        one.start()
        again = daemon.Client(one.owner, case.pb)
        self.addCleanup(again.close)
        self.assertEqual(again.History(database=b"db", resource=b"r").revisions[0].revision,
                         answer.result.revision)

    def test_a_write_that_does_not_end_is_ended_after_the_grace_time_and_leaves_nothing(self):
        one, client = self.start("--grace", "200")
        pieces = queue.Queue()
        pieces.put(b"[1,")
        call = self.stream(client, pieces)
        for _ in range(1000):
            if client.Status().calls_running > 1:
                break
            time.sleep(0.01)
        one.process.send_signal(signal.SIGTERM)
        with self.assertRaises(grpc.RpcError) as caught:
            call.result(WAIT)
        self.assertIn(caught.exception.code().name, ("UNAVAILABLE", "CANCELLED"))
        pieces.put(None)
        self.assertEqual(one.process.wait(WAIT), 0)
        one.start()
        again = daemon.Client(one.owner, case.pb)
        self.addCleanup(again.close)
        self.assertEqual(list(again.ListResources(database=b"db").resources), [])

    def test_start_tells_what_it_did_about_what_a_kill_left(self):
        one, client = self.start()
        pieces = queue.Queue()
        pieces.put(b"[" + b'"' + b"x" * 900000 + b'",')
        for _ in range(4):
            pieces.put(b'"' + b"y" * 900000 + b'",')
        call = self.stream(client, pieces)
        # Something of it is on disk when another write has been answered after it.
        for _ in range(1000):
            if client.ListDatabases().databases[0].stored_bytes > 2 << 20:
                break
            time.sleep(0.01)
        one.end(signal.SIGKILL)
        call.cancel()
        pieces.put(None)
        one.start()
        again = daemon.Client(one.owner, case.pb)
        self.addCleanup(again.close)
        self.assertEqual(list(again.ListResources(database=b"db").resources), [])
        opened = [line for line in one.log() if line["msg"] == "database opened"][-1]
        self.assertEqual(opened["database"], "db")
        for field in ("resources", "abandoned_commits", "abandoned_segments"):
            self.assertIn(field, opened)


if __name__ == "__main__":
    case.main()
