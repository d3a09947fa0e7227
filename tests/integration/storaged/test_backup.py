"""Backup while writers write, and Restore, over gRPC: every acknowledged revision, byte for byte."""
import queue
import threading

import grpc

import case
from case import insert


class Backup(case.DaemonCase):
    def databases(self):
        return [d.name for d in self.client.ListDatabases().databases]

    def verify(self, name):
        self.assertEqual(list(self.client.Verify(database=name))[-1].end.problems, 0)

    def content(self, database, resource, revision):
        parts = list(self.client.ReadDocument(database=database, resource=resource,
                                              view=case.pb.View(revision=revision)))
        return b"".join(p.data for p in parts[1:])

    def revisions(self, database, resource):
        return self.client.History(database=database, resource=resource,
                                   page_size=1000).revisions

    def test_eight_writers_go_on_and_every_acknowledged_revision_is_in_it(self):
        self.client.CreateDatabase(database=b"busy")
        names = [b"r%d" % w for w in range(8)]
        for name in names:
            self.load(name, "[]", database=b"busy")
        stop = threading.Event()
        heads = dict.fromkeys(names, 1)

        def write(name):
            while not stop.is_set():
                out = self.client.Apply(database=b"busy", resource=name, operations=[
                    insert('"%s %d"' % (name.decode(), heads[name]), node_key=1)])
                heads[name] = out.result.revision

        writers = [threading.Thread(target=write, args=(name,)) for name in names]
        for writer in writers:
            writer.start()
        try:
            while min(heads.values()) < 5:
                pass
            before = dict(heads)
            first = self.backup(database=b"busy")[0]
            middle = dict(heads)
            second, start, _ = self.backup(database=b"busy", since=self.base(first))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        self.assertTrue(start.incremental)
        self.restore(b"full", first)
        self.restore(b"both", first, second)
        for database, least in ((b"full", before), (b"both", middle)):
            self.verify(database)
            for name in names:
                there = self.revisions(database, name)
                self.assertGreaterEqual(there[0].revision, least[name])
                # The same records, the hash chain included, and the same texts.
                known = self.revisions(b"busy", name)
                self.assertEqual(list(there), list(known)[-len(there):])
                for revision in there:
                    self.assertEqual(self.content(database, name, revision.revision),
                                     self.content(b"busy", name, revision.revision))

    def test_imports_that_are_under_way_are_no_part_of_it(self):
        self.client.CreateDatabase(database=b"mid")
        self.load(b"there", "[1]", database=b"mid")
        feed = queue.Queue()
        feed.put(case.pb.ImportRequest(start=case.pb.ImportStart(database=b"mid", resource=b"big")))
        call = self.client.Import.raw.future(iter(feed.get, None), timeout=60)
        feed.put(case.pb.ImportRequest(data=b"["))
        for _ in range(40):
            feed.put(case.pb.ImportRequest(data=b'"%s",' % (b"x" * 1000) * 200))
        # The text is read as it comes: the last of it is left when it has all been taken.
        while feed.qsize() > 1:
            first = self.backup(database=b"mid")[0]
        first = self.backup(database=b"mid")[0]
        feed.put(case.pb.ImportRequest(data=b"0]"))
        feed.put(None)
        call.result()
        second = self.backup(database=b"mid", since=self.base(first))[0]
        self.restore(b"mid1", first)
        self.restore(b"mid2", first, second)
        for name, resources in ((b"mid1", [b"there"]), (b"mid2", [b"big", b"there"])):
            self.verify(name)
            found = [r.name for r in self.client.ListResources(database=name).resources]
            self.assertEqual(found, resources)
        head = self.revisions(b"mid", b"big")[0].revision
        self.assertEqual(self.content(b"mid2", b"big", head), self.content(b"mid", b"big", head))

    def test_an_interrupted_database_restores_what_was_acknowledged(self):
        self.client.CreateDatabase(database=b"kill")
        self.load(b"r", "[1]", database=b"kill")
        first = self.backup(database=b"kill")[0]
        self.killed()
        self.client.Apply(database=b"kill", resource=b"r", operations=[insert("2", node_key=1)])
        self.killed()
        second = self.backup(database=b"kill", since=self.base(first))[0]
        self.restore(b"kill2", first, second)
        self.verify(b"kill2")
        self.assertEqual(self.content(b"kill2", b"r", 2), b"[2,1]")

    def test_it_does_not_hold_old_pages_while_its_reader_is_slow(self):
        self.client.CreateDatabase(database=b"slow")
        self.load(b"r", "[" + ",".join(['"%s"' % ("x" * 5000)] * 4000) + "]", database=b"slow")
        stream = self.client.Backup(database=b"slow")
        self.assertTrue(next(stream).HasField("start"))
        before = self.size(b"slow")
        for _ in range(300):
            self.client.Apply(database=b"slow", resource=b"r", operations=[insert("1", node_key=1)])
        grown = self.size(b"slow") - before
        rest = list(stream)
        self.assertTrue(rest[-1].HasField("end"))
        # A held snapshot would keep a dozen pages of each of the 300 commits.
        self.assertLess(grown, 300 * 12 * 4096)

    def size(self, name):
        return [d.stored_bytes for d in self.client.ListDatabases().databases if d.name == name][0]

    def test_what_is_asked_wrongly_is_refused(self):
        start = case.pb.RestoreRequest(start=case.pb.RestoreStart(database=b"x"))
        data = case.pb.RestoreRequest(data=b"x")
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.Restore, [])
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.Restore, [data])
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.Restore, [start, start])
        self.refused("DATA_LOSS", "checksum", self.client.Restore, [start])
        self.refused("DATA_LOSS", "checksum", self.client.Restore, [start, data])
        bad = case.pb.RestoreRequest(start=case.pb.RestoreStart(database=b".x"))
        self.refused("INVALID_ARGUMENT", "name_invalid", self.client.Restore, [bad])
        self.refused("NOT_FOUND", "database_unknown", self.client.Backup, database=b"nothing")
        found = self.refused("INVALID_ARGUMENT", "field_invalid", self.client.Backup, database=b"db",
                             since=b"x")
        self.assertEqual(found.field, b"since")
        self.assertNotIn(b"x", self.databases())

    def test_limits_of_how_many_run(self):
        streams = [self.client.Backup(database=b"db") for _ in range(4)]
        for stream in streams:
            next(stream)
        # They end when they are read: hold them by not reading a large one.
        self.client.CreateDatabase(database=b"large")
        self.load(b"r", "[" + ",".join(['"%s"' % ("x" * 5000)] * 8000) + "]", database=b"large")
        for stream in streams:
            list(stream)
        held = [self.client.Backup(database=b"large") for _ in range(4)]
        for stream in held:
            next(stream)
        self.refused("RESOURCE_EXHAUSTED", "none", self.client.Backup, database=b"db")
        for stream in held:
            stream.cancel()
        while True:
            try:
                self.backup()
                break
            except grpc.RpcError as failure:
                self.assertEqual(failure.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)


if __name__ == "__main__":
    case.main()
