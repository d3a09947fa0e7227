"""Watch: every revision once and in order, whatever the pace, and nothing kept for who is slow."""
import os
import queue
import threading

import grpc

import case
import daemon

WAIT = 60


class Watcher:
    """A call of Watch whose messages are collected by a thread."""

    def __init__(self, client, **fields):
        self.stream = client.Watch(timeout=WAIT, **fields)
        self.messages = queue.Queue()
        self.failure = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        first = self.messages.get(timeout=WAIT)
        if first is None:
            raise self.failure
        assert first.HasField("start"), first
        self.next_revision = first.start.next_revision
        self.events = []

    def run(self):
        try:
            for message in self.stream:
                self.messages.put(message)
        except grpc.RpcError as failure:
            self.failure = failure
        self.messages.put(None)

    def take(self, count):
        """The next events, as (resource, revision or None)."""
        while len(self.events) < count:
            message = self.messages.get(timeout=WAIT)
            if message is None:
                raise self.failure
            self.events += message.events.events
        taken, self.events = self.events[:count], self.events[count:]
        return [(e.resource, None if e.dropped else e.revision.revision) for e in taken]

    def idle(self):
        return not self.events and self.messages.empty()

    def end(self):
        self.stream.cancel()
        self.thread.join(WAIT)


class Watching(case.DaemonCase):
    def watch(self, client=None, **fields):
        watcher = Watcher(client or self.client, **fields)
        self.addCleanup(watcher.end)
        return watcher

    def refused_watch(self, code, reason, **fields):
        return self.refused(code, reason, lambda: list(self.client.Watch(database=b"db",
                                                                         **fields)))

    def test_a_revision_is_told_with_who_made_it_and_why(self):
        name = self.resource("{}")
        watcher = self.watch(database=b"db", resource=name)
        self.assertEqual(watcher.next_revision, self.head(name) + 1)
        self.apply(name, case.insert("1", b"a"), options=case.pb.WriteOptions(
            message=b"why", on_behalf_of=b"ann"))
        message = watcher.messages.get(timeout=WAIT).events.events[0]
        listed = self.client.History(database=b"db", resource=name).revisions[0]
        self.assertEqual(message.revision, listed)
        self.assertEqual((message.resource, message.behind, listed.message, listed.author),
                         (name, 0, b"why", b"owner"))

    def test_from_a_revision_on_none_is_missed_and_none_comes_twice(self):
        name = self.resource("0")
        made = 300
        stop = threading.Event()

        def write():
            client = daemon.Client(self.daemon.owner, case.pb)
            for i in range(made):
                self.apply(name, case.update(1, str(i + 1)), client=client)
                if i == made // 2:
                    stop.wait(WAIT)
            client.close()

        writer = threading.Thread(target=write)
        first = self.head(name) + 1
        early = self.watch(database=b"db", resource=name)
        writer.start()
        early.take(20)
        late = self.watch(database=b"db", resource=name, from_revision=first)
        stop.set()
        writer.join()
        wanted = [(name, first + i) for i in range(made)]
        self.assertEqual(late.take(made), wanted)
        self.assertEqual(early.take(made - 20), wanted[20:])
        again = self.watch(database=b"db", resource=name, from_revision=1)
        self.assertEqual(again.take(first - 1 + made)[first - 1:], wanted)
        for watcher in (early, late, again):
            self.assertTrue(watcher.idle())

    def test_revisions_of_all_branches_and_of_every_kind_of_write_come(self):
        name = self.resource('{"a":1}')
        place = {"database": b"db", "resource": name}
        watcher = self.watch(**place)
        first = watcher.next_revision
        self.client.CreateBranch(name=b"side", **place)
        self.apply(name, case.insert("1", b"b"), branch=b"side")
        self.load(name, "[1]", replace=True)
        self.client.Revert(view=case.pb.View(revision=first - 1), **place)
        self.client.UpdateQuery(query=b"replace json value of $$.a with 2", **place)
        events = watcher.take(4)
        self.assertEqual(events, [(name, first + i) for i in range(4)])

    def test_a_database_is_watched_with_what_is_made_and_dropped_in_it(self):
        self.client.CreateDatabase(database=b"whole")
        for name in (b"a", b"b"):
            self.client.CreateResource(database=b"whole", resource=name)
        watcher = self.watch(database=b"whole")
        self.assertEqual(watcher.next_revision, 0)
        seen = {}

        def take(count):
            for resource, revision in watcher.take(count):
                seen.setdefault(resource, []).append(revision)

        self.load(b"a", "1", database=b"whole")
        self.client.CreateResource(database=b"whole", resource=b"c")
        self.load(b"d", "1", database=b"whole")
        revisions = {name: [r.revision for r in self.client.History(
            database=b"whole", resource=name).revisions] for name in (b"a", b"c", b"d")}
        take(1 + len(revisions[b"c"]) + len(revisions[b"d"]))
        self.assertEqual(seen, {b"a": [revisions[b"a"][0]], b"c": [1],
                                b"d": sorted(revisions[b"d"])})
        self.client.DropResource(database=b"whole", resource=b"a")
        self.assertEqual(watcher.take(1), [(b"a", None)])
        self.client.CreateResource(database=b"whole", resource=b"a")
        self.assertEqual(watcher.take(1), [(b"a", 1)])
        later = self.watch(database=b"whole", after=[
            case.pb.WatchPosition(resource=b"a", revision=1),
            case.pb.WatchPosition(resource=b"c", revision=0),
            case.pb.WatchPosition(resource=b"gone", revision=7)])
        wanted = [(b"b", 1), (b"c", 1)] + [(b"d", r) for r in sorted(revisions[b"d"])]
        events = later.take(len(wanted) + 1)
        self.assertEqual(sorted(e for e in events if e[1]), wanted)
        self.assertEqual([e for e in events if not e[1]], [(b"gone", None)])
        self.client.DropDatabase(database=b"whole")
        for one in (watcher, later):
            self.assertIsNone(one.messages.get(timeout=WAIT))
            self.assertEqual(one.failure.code().name, "NOT_FOUND")

    def test_a_watched_resource_that_is_dropped_ends_the_call(self):
        name = self.resource("1")
        watcher = self.watch(database=b"db", resource=name)
        self.client.DropResource(database=b"db", resource=name)
        self.client.CreateResource(database=b"db", resource=name)
        self.assertIsNone(watcher.messages.get(timeout=WAIT))
        found = daemon.detail(watcher.failure, case.error)
        self.assertEqual((watcher.failure.code().name, found.reason),
                         ("NOT_FOUND", b"resource_unknown"))

    def test_what_cannot_be_watched_is_refused(self):
        name = self.resource("1")
        head = self.head(name)
        self.refused_watch("NOT_FOUND", "resource_unknown", resource=b"none")
        self.refused_watch("NOT_FOUND", "revision_unknown", resource=name, from_revision=0)
        found = self.refused_watch("OUT_OF_RANGE", "revision_ahead", resource=name,
                                   from_revision=head + 2)
        self.assertEqual((found.field, found.newest_revision), (b"from_revision", head))
        self.refused_watch("INVALID_ARGUMENT", "field_invalid", from_revision=1)
        self.refused_watch("INVALID_ARGUMENT", "field_invalid", resource=name,
                           after=[case.pb.WatchPosition(resource=name)])
        self.refused_watch("INVALID_ARGUMENT", "name_invalid",
                           after=[case.pb.WatchPosition(resource=b"a/b")])
        self.refused_watch("INVALID_ARGUMENT", "size_limit",
                           after=[case.pb.WatchPosition(resource=b"a")] * 10001)
        self.refused("NOT_FOUND", "database_unknown",
                     lambda: list(self.client.Watch(database=b"none")))

    def test_a_slow_watcher_costs_nothing_and_learns_how_far_it_is_behind(self):
        name = self.resource("0")
        first = self.head(name) + 1
        slow = self.client.Watch(database=b"db", resource=name, timeout=WAIT)
        self.assertTrue(next(slow).HasField("start"))
        message = "m" * 4000
        made = 1500  # Six megabytes: more than the connection takes in advance.
        before = self.client.Status().resident_bytes
        for i in range(made):
            self.apply(name, case.update(1, str(i + 1)),
                       options=case.pb.WriteOptions(message=message.encode()))
        grown = self.client.Status().resident_bytes - before
        if not os.environ.get("SIRIX_SANITIZED"):
            self.assertLess(grown, 64 << 20)
        revisions, behind = [], []
        for part in slow:
            revisions += [e.revision.revision for e in part.events.events]
            behind += [e.behind for e in part.events.events]
            if len(revisions) == made:
                break
        slow.cancel()
        self.assertEqual(revisions, list(range(first, first + made)))
        self.assertEqual(behind[-1], 0)
        self.assertGreater(max(behind), 0)

    def test_a_watcher_that_goes_away_leaves_nothing(self):
        name = self.resource("1")
        before = 1  # The one that asks.
        watchers = [Watcher(self.client, database=b"db", resource=name) for _ in range(50)]
        for one in watchers:
            one.end()
        for _ in range(6000):
            if self.client.Status().calls_running == before:
                break
        self.assertEqual(self.client.Status().calls_running, before)
        self.apply(name, case.update(1, "2"))

    def test_the_end_of_the_server_ends_the_call(self):
        one = daemon.Daemon(case.ARGS.storaged)
        client = daemon.Client(one.owner, case.pb)
        self.addCleanup(client.close)
        client.CreateDatabase(database=b"db")
        watcher = Watcher(client, database=b"db")
        self.assertEqual(one.end(), 0)
        watcher.thread.join(WAIT)
        self.assertEqual(watcher.failure.code().name, "UNAVAILABLE")
        one.close()


if __name__ == "__main__":
    case.main()
