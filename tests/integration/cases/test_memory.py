"""Memory: what many databases and large documents cost the daemon.

| test                                                  | case |
| --- | --- |
| Small.test_an_open_database_costs_little              | 1,000 databases open |
| Limited.test_a_large_import_under_a_limit_on_data     | G29 |
| Limited.test_a_cut_copy_leaves_nothing_but_its_error  | G29, the copy cut short |
"""
import os
import shutil
import tempfile

import case
import cases
import daemon

MIB = 1 << 20
DATABASES = 1000
ANON_PER_DATABASE = 256 << 10
FILES_PER_DATABASE = 6
MAPS_PER_DATABASE = 16
IMPORT_MIB = 256
DATA_LIMIT_MIB = 128
ROWS_PER_MESSAGE = 512
LIMIT_S = 600
ANON_MAX = 60 * MIB  # Of the whole daemon.


def maps(pid):
    with open("/proc/%d/maps" % pid, encoding="ascii") as rows:
        return sum(1 for _ in rows)


class Small(cases.Case):
    parent = cases.quick_parent()

    def test_an_open_database_costs_little(self):
        pid = self.daemon.process.pid
        anon, files, areas = cases.memory(pid, "RssAnon"), cases.descriptors(pid), maps(pid)
        for i in range(DATABASES):
            self.load(b"r", "[%d]" % i, database=b"many%d" % i)
        for i in range(DATABASES):
            answer = self.client.ReadNode(database=b"many%d" % i, resource=b"r", path=b"/[0]")
            self.assertEqual(answer.nodes[0].value, b"%d" % i)
        # The database that was there before may be the one closed to stay within the default limit.
        self.assertGreaterEqual(self.client.Status().databases_open, DATABASES)
        self.assertLess(cases.memory(pid, "RssAnon") - anon, DATABASES * ANON_PER_DATABASE)
        self.assertLess(cases.descriptors(pid) - files, DATABASES * FILES_PER_DATABASE)
        self.assertLess(maps(pid) - areas, DATABASES * MAPS_PER_DATABASE)


class Limited(cases.Case):
    """The daemon runs under RLIMIT_DATA, which a document held as a whole would not fit into."""

    @classmethod
    def setUpClass(cls):
        case.load()
        cls.folder = tempfile.mkdtemp(prefix="sirix_cases_")
        program = cls.folder + "/limited"
        with open(program, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nulimit -d %d || exit 99\nexec "%s" "$@"\n'
                         % (DATA_LIMIT_MIB << 10, os.path.abspath(case.ARGS.storaged)))
        os.chmod(program, 0o700)
        cls.daemon = daemon.Daemon(program, parent=cases.quick_parent())
        cls.client = daemon.Client(cls.daemon.owner, case.pb)
        cls.names = 0
        cls.client.CreateDatabase(database=b"db")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.folder, True)

    def rows(self):
        """The messages of an array of IMPORT_MIB without its closing bracket."""
        sent, number = 0, 0
        while sent < IMPORT_MIB * MIB:
            text = "".join('%s{"id":%d,"name":"row %d","v":[1,2.5,null,true],"t":"%s"}'
                           % ("," if i else "[", i, i, "x" * 60)
                           for i in range(number, number + ROWS_PER_MESSAGE)).encode()
            number += ROWS_PER_MESSAGE
            sent += len(text)
            yield text

    def stream(self, name, end):
        """Imports over what is there; (answer, failure) and the bytes sent."""
        pid, sent, peak = self.daemon.process.pid, [0], [0]

        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(
                database=b"db", resource=name, replace=True))
            for text in self.rows():
                sent[0] += len(text)
                yield case.pb.ImportRequest(data=text)
                peak[0] = max(peak[0], cases.memory(pid, "RssAnon"))
            sent[0] += len(end)
            yield case.pb.ImportRequest(data=end)

        outcome = cases.attempt(self.client.Import, messages(), timeout=LIMIT_S)
        self.assertLess(peak[0], ANON_MAX)
        return outcome, sent[0]

    def test_a_large_import_under_a_limit_on_data(self):
        name = self.resource("[]")
        (answer, failure), sent = self.stream(name, b"]")
        self.assertIsNone(failure)
        self.assertEqual(self.head(name), answer.result.revision)
        read = sum(len(part.data) for part in
                   self.client.ReadDocument(database=b"db", resource=name, timeout=LIMIT_S))
        self.assertEqual(read, sent)

    def test_a_cut_copy_leaves_nothing_but_its_error(self):
        name = self.resource('["before"]')
        head = self.head(name)
        (answer, failure), sent = self.stream(name, b',{"id":')
        self.assertIsNone(answer)
        self.assertEqual(failure[:2], ("INVALID_ARGUMENT", "json_truncated"))
        self.assertEqual(failure[2].offset, sent)
        self.assertEqual(self.head(name), head)
        self.assertEqual(self.text(name), '["before"]')
        self.load(name, '["after"]', replace=True)
        self.assertEqual(self.text(name), '["after"]')


if __name__ == "__main__":
    cases.main()
