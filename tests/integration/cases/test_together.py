"""Many clients at once.

| test                                                          | case                            |
| ------------------------------------------------------------- | ------------------------------- |
| Races.test_compare_and_set_by_many                            | G22                             |
| Races.test_writers_with_open_streams_on_branches_do_not_wait  | G23                             |
| Races.test_branches_come_and_go_while_they_are_listed         | G24                             |
| Races.test_two_fields_are_equal_in_every_view                 | G27                             |
| Races.test_gateway_and_cli_and_clients_and_a_second_daemon    | G28                             |
| Races.test_one_key_raced_by_many                              | idempotency keys raced          |
| Races.test_one_expected_revision_raced_by_many                | expected_revision races         |
| Races.test_promotes_race_with_reads                           | branch races with reads         |
| Races.test_reads_go_on_while_a_large_import_runs              | reading while importing 100 MB  |
| Crowd.test_a_crowd_of_mixed_clients                           | 256 mixed clients, a minute     |
"""
import json
import os
import random
import subprocess
import tempfile
import threading
import time

import grpc

import case
import cases
import mcp_client
from case import insert, update


class Races(cases.Case):
    parent = cases.quick_parent()

    def setUp(self):
        self.name = self.resource('{"n":0,"m":0}')
        self.place = {"database": b"db", "resource": self.name}
        self.n = self.node(self.name, "/n").node_key
        self.m = self.node(self.name, "/m").node_key

    def test_compare_and_set_by_many(self):
        clients, each = 8, cases.named(250)

        def add():
            client, done = self.new_client(), 0
            while done < each:
                read = client.ReadNode(node_key=self.n, **self.place)
                answer, failure = cases.attempt(
                    client.Apply, operations=[update(self.n, str(int(read.nodes[0].value) + 1))],
                    options=case.pb.WriteOptions(expected_revision=read.revision), **self.place)
                if failure:
                    self.assertEqual(failure[:2], ("ABORTED", "revision_moved"))
                    self.assertGreater(failure[2].current_revision, read.revision)
                done += failure is None

        cases.together([add] * clients)
        self.assertEqual(self.json(self.name)["n"], clients * each)
        self.assertEqual(self.head(self.name), 1 + clients * each)

    def test_writers_with_open_streams_on_branches_do_not_wait(self):
        pb = case.pb
        gates = {branch: threading.Event() for branch in (b"one", b"two")}
        for branch in gates:
            self.client.CreateBranch(name=branch, **self.place)

        def messages(branch):
            yield pb.ApplyStreamRequest(start=pb.ApplyRequest(branch=branch, operations=[
                pb.Operation(insert=pb.Insert(place=pb.Place(node_key=1), name=b"x",
                                              value=pb.Value(streamed=True)))], **self.place))
            yield pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=b'["held",'))
            gates[branch].wait(60)
            yield pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=b"1]"))

        calls = {branch: self.new_client().ApplyStream.raw.future(messages(branch), timeout=60)
                 for branch in gates}
        while self.client.Status().calls_running < 3:
            pass
        opened, writes = time.monotonic(), 0
        while time.monotonic() < opened + 2:  # Nobody waits for the open streams.
            for branch in gates:
                seconds, _ = cases.timed(self.apply, self.name, update(self.n, str(writes)),
                                         branch=branch)
                self.assertLess(seconds, 1)
            writes += 1
        self.assertFalse(any(call.done() for call in calls.values()))
        gates[b"two"].set()  # The later one first: it waits for the other as little.
        self.assertTrue(calls[b"two"].result(60).result.changed)
        self.assertFalse(calls[b"one"].done())
        gates[b"one"].set()
        self.assertTrue(calls[b"one"].result(60).result.changed)
        for branch in gates:
            self.assertEqual(self.json(self.name, view=pb.View(branch=branch)),
                             {"x": ["held", 1], "n": writes - 1, "m": 0})
        self.assertEqual(self.json(self.name), {"n": 0, "m": 0})
        self.assertEqual(self.head(self.name), 1)

    def test_branches_come_and_go_while_they_are_listed(self):
        end = time.monotonic() + cases.named(30, sanitized=5)
        stays = [b"stay%03d" % i for i in range(50)]
        for name in stays:
            self.client.CreateBranch(name=name, **self.place)

        def change(worker):
            client, mine = self.new_client(), b"w%d" % worker
            while time.monotonic() < end:  # Its own name: no failure is true.
                client.CreateBranch(name=mine, **self.place)
                client.Apply(branch=mine, operations=[update(self.n, '"%d"' % worker)],
                             **self.place)
                client.DeleteBranch(name=mine, **self.place)
                for call in (client.CreateBranch, client.DeleteBranch):  # One name for all.
                    answer, failure = cases.attempt(call, name=b"common", **self.place)
                    if failure:
                        self.assertIn(failure[0], ("ALREADY_EXISTS", "NOT_FOUND"), failure)

        def listing():
            client = self.new_client()
            while time.monotonic() < end:
                names = [b.name for b in client.ListBranches(**self.place).branches]
                self.assertEqual(len(set(names)), len(names))
                self.assertEqual(names[0], b"main")
                self.assertEqual(names[1:], sorted(names[1:]))
                self.assertLessEqual(set(stays), set(names))

        cases.together([lambda w=w: change(w) for w in range(16)] + [listing] * 4)
        left = {b.name for b in self.client.ListBranches(**self.place).branches}
        self.assertLessEqual(left, {b"main", b"common"} | set(stays))
        self.verified()

    def test_two_fields_are_equal_in_every_view(self):
        ended, acknowledged, pb = [threading.Event(), threading.Event()], [0], case.pb
        moved = threading.Event()
        backups = []  # What each restores from, with the least and the most that it may hold.

        def write():
            client = self.new_client()
            while not all(e.is_set() for e in ended):
                i = acknowledged[0] + 1
                client.Apply(operations=[update(self.n, str(i)), update(self.m, str(i))],
                             **self.place)
                acknowledged[0] = i
                moved.set()

        def watch():
            try:
                for i in range(cases.named(100)):
                    self.client.CreateBranch(name=b"b%d" % i, **self.place)
                    self.client.CreateSnapshot(name=b"s%d" % i, **self.place)
                    for view in (pb.View(), pb.View(branch=b"b%d" % i),
                                 pb.View(snapshot=b"s%d" % i)):
                        one = self.json(self.name, view=view)
                        self.assertEqual(one["n"], one["m"])
                        read = self.client.ReadNode(view=view, **self.place)
                        self.assertEqual(read.nodes[1].value, read.nodes[2].value)
                    self.assertIn(len(self.diff(self.name)[0]), (0, 2))
            finally:
                ended[0].set()

        def back_up():
            try:
                client, full = self.new_client(), b""
                for i in range(cases.named(20, sanitized=4)):
                    moved.clear()
                    self.assertTrue(moved.wait(60))  # The writer goes on between backups.
                    least, since = acknowledged[0], self.base(full) if i % 2 else b""
                    data = self.backup(client=client, since=since)[0]
                    backups.append(((full, data) if i % 2 else (data,), least,
                                    acknowledged[0] + 1))  # One may be in it, and not answered yet.
                    full = full if i % 2 else data
            finally:
                ended[1].set()

        cases.together([write, watch, back_up])
        for i, (parts, least, most) in enumerate(backups):
            self.check_restored(b"equal%d" % i, parts, least, most)

    def check_restored(self, database, parts, least, most):
        """The two fields are equal in every view of what a backup restores."""
        pb, place = case.pb, {"database": database, "resource": self.name}
        self.restore(database, *parts)
        self.verified(database)
        views = [pb.View()]
        views += [pb.View(branch=b.name) for b in self.client.ListBranches(**place).branches]
        views += [pb.View(snapshot=s.name) for s in self.client.ListSnapshots(**place).snapshots]
        for view in views:
            one = json.loads(b"".join(p.data for p in self.client.ReadDocument(view=view, **place)))
            self.assertEqual(one["n"], one["m"], view)
            self.assertLessEqual(one["n"], most)
            if view == pb.View():
                self.assertGreaterEqual(one["n"], least)
        self.client.DropDatabase(database=database)

    def test_gateway_and_cli_and_clients_and_a_second_daemon(self):
        here, rounds = "db/" + self.name.decode(), 30

        def by_gateway():
            gateway = mcp_client.Gateway("--storage", self.daemon.owner, "--read-write")
            try:
                place = {"database": "db", "resource": self.name.decode()}
                gateway.initialize()
                gateway.call("sirix_insert", parentNodeKey=1, data={"g": 0}, **place)
                key = gateway.call("sirix_read_node", path="/g", **place)["nodeKey"]
                for i in range(rounds):
                    gateway.call("sirix_update", nodeKey=key, value=i, **place)
                    gateway.call("sirix_read_node", nodeKey=key, **place)
            finally:
                gateway.kill()

        def by_cli():
            for i in range(rounds):
                self.ctl("update", here, "/n", str(i))
                self.ctl("export", here)

        def by_client():
            client = self.new_client()
            for i in range(50):
                client.Apply(operations=[update(self.m, str(i))], **self.place)
                self.text(self.name, client=client)

        def second():
            for _ in range(3):
                done = subprocess.run([case.ARGS.storaged, "--data", self.daemon.folder],
                                      stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 69)
                line = json.loads(done.stderr.splitlines()[-1])
                self.assertEqual(line["reason"], "locked")

        def by_backup():
            with tempfile.TemporaryDirectory() as folder:
                for i in range(3):
                    files = [os.path.join(folder, "%d%s" % (i, part)) for part in ("full", "more")]
                    made = "beside%d" % i
                    self.ask("backup", "db", files[0])
                    self.ask("backup", "db", files[1], "--since", files[0])
                    self.ask("restore", made, *files)
                    self.assertEqual(self.ask("verify", made)["problemCount"], 0)
                    one = json.loads(self.ctl("export", here.replace("db/", made + "/"))[0])
                    self.assertLess(one["n"], rounds)
                    self.assertLess(one["m"], 50)
                    self.ask("drop", made, "--yes")

        cases.together([by_gateway, by_cli, by_client, by_client, by_backup, second])
        self.assertEqual(self.json(self.name), {"g": rounds - 1, "n": rounds - 1, "m": 49})
        self.verified()

    def test_one_key_raced_by_many(self):
        for i in range(cases.size(10, 200)):
            answers, start = [], threading.Barrier(16)
            options = case.pb.WriteOptions(idempotency_key=b"race-%d" % i)

            def same():
                client = self.new_client()
                client.Status()
                start.wait(30)
                answers.append(cases.attempt(client.Apply, operations=[insert(
                    "1", node_key=1, name=b"k%d" % i)], options=options, **self.place))

            before = self.head(self.name)
            cases.together([same] * 16)
            self.assertEqual([f for _, f in answers if f], [])
            self.assertEqual({a.result.revision for a, _ in answers}, {before + 1})
            self.assertEqual(sum(1 for a, _ in answers if not a.result.replayed), 1)
            answers.clear()
            start.reset()
            options.idempotency_key = b"other-%d" % i
            number = iter(range(16))

            def different():
                mine, client = next(number), self.new_client()
                client.Status()
                start.wait(30)
                answers.append(cases.attempt(client.Apply, operations=[update(
                    self.m, "%d%d" % (i + 1, mine))], options=options, **self.place))

            cases.together([different] * 16)
            self.assertEqual(sum(1 for a, _ in answers if a), 1)
            self.assertEqual({f[1] for _, f in answers if f}, {"idempotency_mismatch"})
            self.assertEqual(self.head(self.name), before + 2)

    def test_one_expected_revision_raced_by_many(self):
        clients = [self.new_client() for _ in range(16)]
        for i in range(cases.size(20, 200)):
            head, answers = self.head(self.name), []
            options = case.pb.WriteOptions(expected_revision=head)

            def write(client, value):
                answers.append(cases.attempt(client.Apply, operations=[update(self.n, str(value))],
                                             options=options, **self.place))

            cases.together([lambda c=c, v=v: write(c, 100 * (i + 1) + v)
                            for v, c in enumerate(clients)])
            won = [a for a, _ in answers if a]
            self.assertEqual(len(won), 1)
            self.assertEqual((won[0].result.revision, won[0].result.parent_revision),
                             (head + 1, head))
            self.assertEqual({(f[0], f[1], f[2].current_revision) for _, f in answers if f},
                             {("ABORTED", "revision_moved", head + 1)})

    def test_promotes_race_with_reads(self):
        end, pb = time.monotonic() + cases.size(3, 30), case.pb

        def work(worker):
            client, i = self.new_client(), 0
            while time.monotonic() < end:
                i += 1
                name, value = b"p%d-%d" % (worker, i), '"%d-%d"' % (worker, i)
                client.CreateBranch(name=name, **self.place)
                client.Apply(branch=name, operations=[update(self.n, value), update(self.m, value)],
                             **self.place)
                answer, failure = cases.attempt(client.Promote, branch=name, **self.place)
                if failure:
                    self.assertEqual(failure[:2], ("FAILED_PRECONDITION", "not_fast_forward"))
                    client.Promote(branch=name, replace=True, **self.place)
                client.DeleteBranch(name=name, **self.place)

        def read():
            client = self.new_client()
            while time.monotonic() < end:
                one = json.loads(self.text(self.name, client=client))
                self.assertEqual(one["n"], one["m"])
                for branch in client.ListBranches(**self.place).branches:
                    answer, failure = cases.attempt(client.ReadNode,
                                                    view=pb.View(branch=branch.name),
                                                    **self.place)
                    if failure:
                        self.assertEqual(failure[:2], ("NOT_FOUND", "branch_unknown"))
                    else:
                        self.assertEqual(answer.nodes[1].value, answer.nodes[2].value)

        cases.together([lambda w=w: work(w) for w in range(4)] + [read] * 4)
        self.verified()

    def test_reads_go_on_while_a_large_import_runs(self):
        pb, done = case.pb, threading.Event()
        block = b'{"name":"somebody","tags":["a","b"],"n":12345.5},' * 2000
        mib = cases.size(24, 100)

        def messages():
            yield pb.ImportRequest(start=pb.ImportStart(database=b"db", resource=b"large",
                                                        replace=True))
            yield pb.ImportRequest(data=b"[")
            for _ in range((mib << 20) // len(block)):
                yield pb.ImportRequest(data=block)
            yield pb.ImportRequest(data=b"0]")

        def load():
            try:
                self.new_client().Import(messages(), timeout=600)
            finally:
                done.set()

        slowest = [0.0, 0.0]

        def read():
            client = self.new_client()
            while not done.is_set():
                seconds, _ = cases.timed(client.ReadNode, **self.place)
                slowest[0] = max(slowest[0], seconds)

        def write():
            client, i = self.new_client(), 0
            while not done.is_set():
                i += 1
                seconds, _ = cases.timed(client.Apply, operations=[update(self.n, str(i))],
                                         **self.place)
                slowest[1] = max(slowest[1], seconds)

        cases.together([load, read, write], 900)
        self.client.DropResource(database=b"db", resource=b"large")  # Backups need not carry it.
        self.assertLess(slowest[0], 3)
        self.assertLess(slowest[1], 5)


class Crowd(cases.Case):
    def test_a_crowd_of_mixed_clients(self):
        pb, end = case.pb, time.monotonic() + cases.size(5, 60)
        count = cases.size(64, 256)
        names = [self.resource('{"a":0,"l":[]}') for _ in range(8)]
        key = self.node(names[0], "/a").node_key
        written, guard, strange = {}, threading.Lock(), []

        def work(worker):
            rand, client = random.Random(worker), self.new_client()
            while time.monotonic() < end:
                name = rand.choice(names)
                place = {"database": b"db", "resource": name}
                branch = b"w%d" % worker
                kind = rand.randrange(10)
                if kind < 3:
                    answer, failure = cases.attempt(
                        client.Apply, operations=[update(key, "%d%06d"
                                                         % (worker + 1, rand.randrange(10**6)))],
                        **place)
                    if answer and answer.result.changed:
                        with guard:
                            if (name, answer.result.revision) in written:
                                strange.append((name, answer.result.revision))
                            written[name, answer.result.revision] = worker
                else:
                    call, fields = [
                        (client.ReadNode, place), (client.ReadDocument, place),
                                    (client.History, place),
                        (client.CreateBranch, dict(place, name=branch)),
                        (client.DeleteBranch, dict(place, name=branch)),
                        (client.Diff, place), (client.ListBranches, place)][kind - 3]
                    answer, failure = cases.attempt(call, **fields)
                if failure and failure[0] not in ("NOT_FOUND", "ALREADY_EXISTS"):
                    if failure[1] != "write_queue_timeout":
                        strange.append(failure)

        cases.together([lambda w=w: work(w) for w in range(count)])
        self.assertEqual(strange, [])
        self.assertGreater(len(written), count)
        for name in names:
            self.assertGreaterEqual(self.head(name),
                                    max([r for n, r in written if n == name] or [0]))
        for name, revision in random.Random(1).sample(sorted(written), min(50, len(written))):
            text = self.json(name, view=pb.View(revision=revision))
            self.assertEqual(text["a"] // 10**6, written[name, revision] + 1)
        self.verified()


if __name__ == "__main__":
    cases.main()
