"""Kills, full disks, damage, little memory and clocks that go back.

| test                                                     | case                             |
| -------------------------------------------------------- | -------------------------------- |
| Kills.test_every_acknowledged_revision_is_there          | kill -9 under load               |
| Kills.test_names_are_found_after_a_kill_as_the_docume... | SirixDB #1080                    |
| Kills.test_an_end_under_load_of_brief_calls              | SIGTERM under load               |
| Disk.test_a_full_disk_refuses_writes_and_nothing_else    | full disk, SirixDB #1061, #1062  |
| Damage.test_a_damaged_page_is_found_and_named            | damaged page                     |
| Damage.test_a_damaged_resource_does_not_hide_the_others  | damaged page: the list failed    |
| Damage.test_a_problem_names_its_resource_in_the_field... | damaged page                     |
| Damage.test_a_damaged_resource_can_be_dropped            | damaged page                     |
| Memory.test_an_import_past_the_memory_limit              | G29                              |
| Clock.test_times_rise_while_the_clock_falls              | G15, G16                         |
| Clock.test_times_are_read_as_they_are_written            | G14                              |
| Leaks.test_commits_keep_descriptors_and_memory           | SirixDB #1109, growth of memory  |
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

import grpc

import case
import cases
import daemon
from case import insert, rename, replace, update


KILLS = cases.named(20, sanitized=5)  # Half a minute.
KILLS_FULL = 200


class Own(unittest.TestCase):
    """Daemons that a test starts and ends itself."""

    parent = None  # Of their folders; None: where temporary files go.

    def setUp(self):
        case.load()
        self.folder = cases.folder(self.parent)
        self.running = []

    def tearDown(self):
        for one in self.running:
            one.end(signal.SIGKILL)
            one.close()
        shutil.rmtree(self.folder, True)

    def start(self, *args, folder=None):
        one = daemon.Daemon(case.ARGS.storaged, *args, folder=folder or self.folder + "/data")
        self.running.append(one)
        return one

    def client(self, one):
        client = daemon.Client(one.owner, case.pb)
        self.addCleanup(client.close)
        return client

    def load(self, client, name, text, database=b"db", **start):
        pb = case.pb
        return client.Import([pb.ImportRequest(start=pb.ImportStart(
            database=database, resource=name, **start))] + [
                pb.ImportRequest(data=text[i:i + 200000]) for i in range(0, len(text), 200000)])

    def read(self, client, name, database=b"db", **fields):
        return b"".join(p.data for p in client.ReadDocument(database=database, resource=name,
                                                            **fields))


class Kills(Own):
    def test_every_acknowledged_revision_is_there(self):
        one = self.start()
        client, pb = self.client(one), case.pb
        for i in range(4):
            self.load(client, b"r%d" % i, b'{"v":0}')
        said, guard = {}, threading.Lock()  # (resource, revision) -> text
        for _ in range(cases.size(KILLS, KILLS_FULL)):
            stop, enough = threading.Event(), threading.Event()
            before = len(said)

            def write(worker):
                mine, name = daemon.Client(one.owner, pb), b"r%d" % (worker % 4)
                number = 0
                while not stop.is_set():
                    number += 1
                    text = json.dumps("%d.%d" % (worker, number) * (1 + 300 * (number % 3)))
                    try:
                        revision = mine.Apply(database=b"db", resource=name, operations=[
                            update(2, text)], force_revision=True).result.revision
                    except grpc.RpcError:
                        break
                    with guard:
                        assert (name, revision) not in said
                        said[name, revision] = b'{"v":%s}' % text.encode()
                        if len(said) > before + 60:
                            enough.set()
                mine.close()

            def bulk():
                mine = daemon.Client(one.owner, pb)
                try:
                    while not stop.is_set():
                        self.load(mine, b"bulk", b"[" + b",".join([b'"xxxxxxxx"'] * 300000) + b"]",
                                  replace=True)
                except grpc.RpcError:
                    pass
                mine.close()

            threads = [threading.Thread(target=write, args=(w,)) for w in range(8)]
            threads.append(threading.Thread(target=bulk))
            for thread in threads:
                thread.start()
            self.assertTrue(enough.wait(60))
            one.end(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
            one.start()
            client = self.client(one)
            for (name, revision), text in said.items():
                self.assertEqual(self.read(client, name, view=pb.View(revision=revision)), text)
            self.assertEqual(list(client.Verify(database=b"db", timeout=300))[-1].end.problems, 0)

    def test_names_are_found_after_a_kill_as_the_document_has_them(self):
        """An index older than the data, of an object that is wide enough to have one."""
        pb, one = case.pb, self.start()
        client = self.client(one)
        self.load(client, b"w", json.dumps({"n%d" % i: i for i in range(3000)}).encode())

        def node(name):
            return client.ReadNode(database=b"db", resource=b"w", path=b"/" + name).nodes[0]

        def number(name):
            return int(name[1:].split(b"_")[0])

        keys = {name: node(name).node_key for name in (b"n%d" % i for i in range(0, 3000, 3))}
        for kill in range(cases.size(cases.named(3, sanitized=1), 20)):
            enough = threading.Event()

            def change(worker):
                mine = daemon.Client(one.owner, pb)
                names = [name for name in sorted(keys) if number(name) % 4 == worker]
                try:
                    for i, name in enumerate(names):
                        fresh = b"n%d_%d" % (number(name), kill)
                        mine.Apply(database=b"db", resource=b"w", operations=[
                            rename(keys[name], fresh),
                            insert("%d" % i, b"k%d.%d.%d" % (kill, worker, i), node_key=1)])
                        if i == 20:
                            enough.set()
                except grpc.RpcError:
                    pass  # The kill.
                mine.close()

            threads = [threading.Thread(target=change, args=(w,)) for w in range(4)]
            for thread in threads:
                thread.start()
            self.assertTrue(enough.wait(60))
            one.end(signal.SIGKILL)
            for thread in threads:
                thread.join()
            one.start()
            client = self.client(one)
            found = {name.encode(): value
                     for name, value in json.loads(self.read(client, b"w")).items()}
            keys = {}
            for name in sorted(found):
                one_node = node(name)
                self.assertEqual(int(one_node.value), found[name], name)
                if name.startswith(b"n") and number(name) % 3 == 0:
                    keys[name] = one_node.node_key
            gone = [name for name in (b"n%d" % i for i in range(0, 3000, 3)) if name not in found]
            self.assertGreater(len(gone), 20)
            for name in gone:
                answer, failure = cases.attempt(node, name)
                self.assertEqual((answer, failure[0]), (None, "NOT_FOUND"), name)
            self.assertEqual(list(client.Verify(database=b"db", timeout=300))[-1].end.problems, 0)

    def test_an_end_under_load_of_brief_calls(self):
        """Core may keep a door open although no call is left; the end comes all the same."""
        for _ in range(12 if cases.FULL else 1):
            one = self.start("--grace", "2000")
            client = self.client(one)
            self.load(client, b"r", b'{"a":1}')

            def run():
                mine = daemon.Client(one.owner, case.pb)
                for _ in range(300):
                    for call, fields in ((mine.ReadDocument, {"database": b"db", "resource": b"r"}),
                                         (mine.CreateDatabase, {"database": b"x"}),
                                         (mine.DropDatabase, {"database": b"x"})):
                        cases.attempt(call, timeout=0.001, **fields)

            cases.together([run] * 8)
            one.process.send_signal(signal.SIGTERM)
            self.assertEqual(one.process.wait(30), 0)
            self.running.remove(one)
            shutil.rmtree(self.folder + "/data")


class Disk(Own):
    def test_a_full_disk_refuses_writes_and_nothing_else(self):
        folder = self.folder + "/small"
        os.mkdir(folder)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=700", "none", folder],
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest("no file system can be mounted here: " + done.stderr.decode())
        try:
            self.fill(folder)
        finally:
            for one in self.running:
                one.end(signal.SIGKILL)
            subprocess.run(["umount", "-l", folder], check=True)

    def fill(self, folder):
        pb = case.pb
        one = self.start(folder=folder + "/data")
        client = self.client(one)
        text = b'{"a":1,"b":[' + b",".join([b'"0123456789"'] * 1000) + b"]}"
        self.load(client, b"r", text)
        place = {"database": b"db", "resource": b"r"}
        client.CreateBranch(name=b"side", **place)
        client.CreateSnapshot(name=b"label", **place)
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        with open(folder + "/filler", "wb") as filler:
            filler.write(b"\0" * (free - (4 << 20)))

        def refused(call, *args, **fields):
            answer, failure = cases.attempt(call, *args, **fields)
            self.assertIsNone(answer)
            self.assertEqual((failure[0], failure[2].status), ("RESOURCE_EXHAUSTED", b"no_space"))

        half = [replace(2, '{"c":[1,2]}'), insert("1", b"z", node_key=1)]
        for _ in range(3):
            refused(client.Apply, operations=[update(2, "7")], **place)
            refused(client.Apply, operations=half, **place)
            refused(self.load, client, b"new", b"[1]")
            refused(self.load, client, b"r", b"[" + b"1," * 500000 + b"1]", replace=True)
        self.assertEqual(self.read(client, b"r"), text)
        self.assertEqual(list(client.Verify(database=b"db"))[-1].end.problems, 0)
        client.DeleteSnapshot(name=b"label", **place)
        client.DeleteBranch(name=b"side", **place)
        with open(folder + "/filler", "ab", buffering=0) as filler:  # Not one byte is left.
            try:
                while filler.write(b"\0" * 4096) == 4096:
                    pass
            except OSError:
                pass
        refused(client.Apply, operations=[update(2, "7")], **place)
        self.assertEqual(self.read(client, b"r"), text)
        os.remove(folder + "/filler")
        revision = client.Apply(operations=[update(2, "8")], **place).result.revision
        self.assertEqual(self.read(client, b"r")[:6], b'{"a":8')
        self.assertEqual(revision, 2)
        client.Apply(operations=half, **place)
        self.assertEqual(list(client.Verify(database=b"db"))[-1].end.problems, 0)
        one.end(signal.SIGKILL)
        one.start()
        self.assertEqual(self.read(self.client(one), b"r")[:24], b'{"z":1,"a":{"c":[1,2]},"')


class Damage(Own):
    def damaged(self):
        """A daemon whose resource r3 of six has a wrong byte in its value."""
        one = self.start()
        client = self.client(one)
        marks = {}
        for i in range(6):
            marks[b"r%d" % i] = b"mark%d" % i * 100
            self.load(client, b"r%d" % i, b'["%s",%d]' % (marks[b"r%d" % i], i))
        self.load(client, b"other", b"[1]", database=b"elsewhere")
        client.close()
        one.end()
        path = one.folder + "/databases/db/data.mdb"
        with open(path, "r+b") as file:
            data = file.read()
            at = data.find(marks[b"r3"])
            self.assertGreater(at, 0)
            while at >= 0:
                file.seek(at + 7)
                file.write(b"X")
                at = data.find(marks[b"r3"], at + 1)
        one.start()
        return one, self.client(one), marks

    def test_a_problem_names_its_resource_in_the_field_for_it(self):
        client = self.damaged()[1]
        problems = [p.problem for p in client.Verify(database=b"db") if p.HasField("problem")]
        self.assertEqual({p.resource for p in problems}, {b"r3"})

    def test_a_damaged_resource_can_be_dropped(self):
        client = self.damaged()[1]
        answer, failure = cases.attempt(client.DropResource, database=b"db", resource=b"r3",
                                        options=case.pb.WriteOptions(expected_revision=2))
        self.assertEqual((answer, failure[0], failure[2].current_revision), (None, "ABORTED", 1))
        client.DropResource(database=b"db", resource=b"r3")
        self.load(client, b"r3", b"[2]")
        self.assertEqual(self.read(client, b"r3"), b"[2]")

    def test_a_damaged_resource_does_not_hide_the_others(self):
        client = self.damaged()[1]
        names = [r.name for r in client.ListResources(database=b"db").resources]
        self.assertEqual(names, [b"r%d" % i for i in range(6)])

    def test_a_damaged_page_is_found_and_named(self):
        one, client, marks = self.damaged()
        answer, failure = cases.attempt(client.ReadDocument, database=b"db", resource=b"r3")
        self.assertIsNone(answer)
        self.assertEqual((failure[0], failure[1]), ("DATA_LOSS", "checksum"))
        self.assertRegex(failure[2].message.decode(), r"\bresource r3: segment \d+ ")
        for name in marks:
            if name != b"r3":
                self.assertIn(marks[name], self.read(client, name))
                client.Apply(database=b"db", resource=name, operations=[insert("1", node_key=1)])
        self.assertEqual(self.read(client, b"other", database=b"elsewhere"), b"[1]")
        problems = [p.problem for p in client.Verify(database=b"db") if p.HasField("problem")]
        self.assertTrue(problems)
        for problem in problems:
            self.assertRegex(problem.message.decode(), r"\bresource r3\b")
        self.assertIn(b"checksum", {p.reason for p in problems})
        done = subprocess.run([cases.SIRIXCTL, "verify", "db", "--storage", one.owner],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"r3", done.stdout)


class Memory(Own):
    limit = 128 << 20  # Of memory in use; address space that nothing is in counts for RLIMIT_DATA.
    reserve = 192 << 20

    @unittest.skipIf(cases.SANITIZED, "a sanitizer wants more address space than the limit gives")
    def test_an_import_past_the_memory_limit(self):
        stack = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, stack[1]))  # Of a thread, in storaged.
        try:
            one = self.start("--workers", "8")
        finally:
            resource.setrlimit(resource.RLIMIT_STACK, stack)
        client, pb = self.client(one), case.pb
        resource.prlimit(one.process.pid, resource.RLIMIT_DATA, (self.limit + self.reserve,
                                                                        self.limit + self.reserve))
        element = json.dumps({"id": 123456, "name": "n" * 60,
                              "tags": ["a", "b", {"c": 1.5}]}).encode()
        block = (element + b",") * 500
        count = cases.size(40 << 20, 256 << 20) // len(block)

        peak = [0]

        def messages(end):
            yield pb.ImportRequest(start=pb.ImportStart(database=b"db", resource=b"big",
                                                        replace=True))
            yield pb.ImportRequest(data=b"[")
            for i in range(count):
                yield pb.ImportRequest(data=block)
                if i % 50 == 0:
                    peak[0] = max(peak[0], cases.memory(one.process.pid, "RssAnon"))
            if end is not None:
                yield pb.ImportRequest(data=end)

        done, failure = cases.attempt(client.Import, messages(b"0]"), timeout=1200)
        self.assertIsNone(failure, (one.process.poll(), one.log_text()[-1000:]))
        self.assertEqual(done.nodes, count * 500 * 8 + 2)
        size = 1 + count * len(block) + 2
        answer, failure = cases.attempt(client.Import, messages(None), timeout=1200)
        self.assertEqual((answer, failure[0], failure[1]),
                         (None, "INVALID_ARGUMENT", "json_truncated"))
        self.assertEqual(failure[2].offset, size - 2)
        info = client.GetResource(database=b"db", resource=b"big")
        self.assertEqual(info.newest_revision, done.result.revision)
        self.assertLess(peak[0], self.limit)
        read = sum(len(p.data) for p in client.ReadDocument(database=b"db", resource=b"big",
                                                            timeout=1200))
        self.assertEqual(read, info.text_bytes)
        self.assertEqual(list(client.Verify(database=b"db", timeout=1200))[-1].end.problems, 0)


class Clock(Own):
    parent = cases.quick_parent()

    def test_times_rise_while_the_clock_falls(self):
        hour, clock, pb = 3600, self.folder + "/clock", case.pb
        os.environ.update(LD_PRELOAD=cases.CLOCK, SIRIX_CASES_CLOCK=clock)
        try:
            one = self.start()
        finally:
            del os.environ["LD_PRELOAD"], os.environ["SIRIX_CASES_CLOCK"]
        client = self.client(one)
        self.load(client, b"r", b'{"n":0}')
        place, times = {"database": b"db", "resource": b"r"}, {}
        real = client.Status().now_us
        for i in range(cases.named(1000, sanitized=300)):
            if i == 100:
                with open(clock, "w", encoding="ascii") as file:
                    file.write(str(-hour))
                self.assertLess(client.Status().now_us, real)
            result = client.Apply(operations=[update(2, str(i + 1))], **place).result
            times[result.revision] = result.timestamp_us
        self.assertEqual(list(times), list(range(2, 2 + len(times))))
        self.assertEqual(sorted(set(times.values())), list(times.values()))

        def at(us):
            return client.ReadNode(view=pb.View(timestamp=cases.stamp(us)), **place).revision

        for revision, us in times.items():
            self.assertEqual(at(us), revision)
            self.assertEqual(at(us - 1), revision - 1)
        first = client.GetResource(view=pb.View(revision=1), **place)
        answer, failure = cases.attempt(at, first.created_at_us - 1)
        self.assertEqual((failure[0], failure[1]), ("NOT_FOUND", "revision_before_first"))
        self.assertIn(cases.stamp(first.created_at_us)[:19], failure[2].message)
        one.end(signal.SIGKILL)  # The restart meets an even older clock.
        one.start()
        client = self.client(one)
        result = client.Apply(operations=[update(2, '"after"')], **place).result
        self.assertGreater(result.timestamp_us, max(times.values()))

    def test_times_are_read_as_they_are_written(self):
        clock, pb = self.folder + "/clock", case.pb
        os.environ.update(LD_PRELOAD=cases.CLOCK, SIRIX_CASES_CLOCK=clock)
        try:
            one = self.start()
        finally:
            del os.environ["LD_PRELOAD"], os.environ["SIRIX_CASES_CLOCK"]
        client, place = self.client(one), {"database": b"db", "resource": b"r"}
        with open(clock, "w", encoding="ascii") as file:
            # A minute before 2024-01-15T15:00:00Z.
            file.write(str(1705330800 - 60 - int(time.time())))
        self.load(client, b"r", b"0")
        for seconds in (0, 0):
            with open(clock, "w", encoding="ascii") as file:
                file.write(str(1705330800 + 2 - int(time.time())))
        second = client.Apply(operations=[update(1, "1")], **place).result
        self.assertGreater(second.timestamp_us, 1705330801 * 10**6)

        def at(text):
            return client.ReadNode(view=pb.View(timestamp=text), **place).revision

        for text in (b"2024-01-15T10:00:00-05:00", b"2024-01-15T15:00:00Z",
                     b"2024-01-15T15:00:00.5Z",
                     b"2024-01-15T20:30:00.000+05:30", b"2024-01-15t15:00:00z"):
            self.assertEqual(at(text), 1, text)
        self.assertEqual(at(b"2024-01-15T15:10:00Z"), 2)
        self.assertEqual(at(b"2024-01-15T16:10:00+01:00"), 2)
        self.assertEqual(at(b"2024-01-16"), 2)
        for text in (b"2024-01-15", b"2024-01-15T15:00:00+05:00"):
            answer, failure = cases.attempt(at, text)
            self.assertEqual(failure[1], "revision_before_first", text)
        for text, low, high in ((b"2024-13-01", 5, 7), (b"15/01/2024", 0, 2),
                                (b"2024-01-15T10:00:00", 19, 19),
                                (b"2024-01-15T25:00:00Z", 11, 13)):
            answer, failure = cases.attempt(at, text)
            self.assertEqual(failure[:2], ("INVALID_ARGUMENT", "field_invalid"))
            self.assertTrue(low <= failure[2].offset <= high, (text, failure[2].offset))
            if b"/" not in text:
                done = subprocess.run([cases.SIRIXCTL, "read", "db/r@" + text.decode(), "--storage",
                                       one.owner], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
                self.assertEqual(done.returncode, 65, (text, done.stderr))


class Leaks(Own):
    parent = cases.quick_parent()

    def test_commits_keep_descriptors_and_memory(self):
        one = self.start("--workers", "8")
        client, pb = self.client(one), case.pb
        self.load(client, b"r", b'{"n":0}')
        pid, place = one.process.pid, {"database": b"db", "resource": b"r"}

        def work(count):
            for i in range(count):
                client.Apply(operations=[update(2, str(i))], **place)
                if i % 4 == 0:
                    client.ReadNode(**place)
                    list(client.ReadDocument(**place))
                    cases.attempt(client.ReadNode, path=b"/none", **place)
                    list(client.Diff(**place))

        work(400)
        before = (cases.descriptors(pid), cases.memory(pid, "RssAnon"))
        work(cases.named(10000))
        self.assertLessEqual(cases.descriptors(pid), before[0] + 2)
        cases.check_memory(self, cases.memory(pid, "RssAnon"), before[1] + (8 << 20))


if __name__ == "__main__":
    cases.main()
