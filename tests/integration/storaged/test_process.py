"""The daemon as a process: its folder, its lock, its end, and what a kill leaves."""
import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

import grpc

import case
import daemon
import protos
from case import insert


def run(*args, **kwargs):
    return subprocess.run([case.ARGS.storaged, *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, **kwargs)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix_cl_")

    def tearDown(self):
        shutil.rmtree(self.dir, True)

    def test_what_it_does_not_know_ends_it_with_one_line(self):
        for args, word in ((["--dta", "x"], "--dta"), (["--data"], "--data"), ([], "--data"),
                           (["--data", "d", "--data", "e"], "twice"),
                           (["--data", ""], "empty"), (["--embedded=yes"], "no value"),
                           (["--data", "d", "--workers", "0"], "--workers"),
                           (["--data", "d", "--workers", "1x"], "--workers"),
                           (["--data", "d", "--grace", "99999999999999999999"], "--grace"),
                           (["--data", "d", "--log-level", "loud"], "--log-level"),
                           (["--data", "d", "--listen", "0.0.0.0:1"], "loopback"),
                           (["--data", "d", "--listen", "example.org:1"], "loopback"),
                           (["--data", "d", "--listen", "[::]:1"], "loopback"),
                           (["--data", "d", "--listen", "127.0.0.1"], "HOST:PORT"),
                           (["--data", "d", "--listen", "127.0.0.1:65536"], "HOST:PORT"),
                           (["--data", "d", "--listen", "unix:"], "path"), (["data"], "data")):
            result = run(*args, cwd=self.dir)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(os.listdir(self.dir), [])

    def test_help_version_and_the_configuration_are_printed(self):
        self.assertRegex(run("--version").stdout, r"^storaged \d+\.\d+\.\d+\n$")
        text = run("--help").stdout
        for option in ("--data", "--listen", "--embedded", "--ready-fd", "--check-config"):
            self.assertIn(option, text)
        result = run("--data", self.dir + "/d", "--workers=7", "--listen", "[::1]:0",
                     "--check-config")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("--workers 7\n", result.stdout)
        self.assertIn("--listen [::1]:0\n", result.stdout)
        self.assertFalse(os.path.exists(self.dir + "/d"))

    def test_a_folder_that_others_may_enter_is_closed_or_refused(self):
        os.mkdir(self.dir + "/empty", 0o755)
        running = daemon.Daemon(case.ARGS.storaged, folder=self.dir + "/empty")
        self.assertEqual(stat.S_IMODE(os.stat(self.dir + "/empty").st_mode), 0o700)
        for name in ("storaged.sock", "reader.sock", "storaged.lock"):
            mode = os.stat(self.dir + "/empty/" + name).st_mode
            self.assertEqual(stat.S_IMODE(mode) & 0o077, 0, name)
        self.assertEqual(running.close(), 0)
        os.mkdir(self.dir + "/full", 0o755)
        open(self.dir + "/full/file", "w").close()
        result = run("--data", self.dir + "/full")
        self.assertEqual(result.returncode, 78)
        self.assertIn("chmod 700", result.stderr)
        self.assertEqual(os.listdir(self.dir + "/full"), ["file"])

    def test_a_folder_that_cannot_be_made_is_an_error(self):
        open(self.dir + "/file", "w").close()
        for path in ("/none/below", "/file"):
            result = run("--data", self.dir + path)
            self.assertEqual(result.returncode, 74, path)
            self.assertEqual(json.loads(result.stderr)["msg"], "cannot start")


class Process(unittest.TestCase):
    def setUp(self):
        case.load()
        self.running = []

    def tearDown(self):
        for one in self.running:
            one.end(signal.SIGKILL)
            one.close()

    def start(self, *args, **kwargs):
        one = daemon.Daemon(case.ARGS.storaged, *args, **kwargs)
        self.running.append(one)
        return one

    def client(self, address):
        client = daemon.Client(address, case.pb)
        self.addCleanup(client.close)
        return client

    def test_a_second_daemon_on_a_folder_is_refused_and_harms_nothing(self):  # G28
        first = self.start()
        client = self.client(first.owner)
        client.CreateDatabase(database=b"db")
        for args in ([], ["--embedded"], ["--listen", "127.0.0.1:0"]):
            second = run("--data", first.folder, *args)
            self.assertEqual(second.returncode, 69)
            line = json.loads(second.stderr.splitlines()[-1])
            self.assertEqual(line["reason"], "locked")
            self.assertIn(str(first.process.pid), line["error"])
        other = self.client(first.owner)
        self.assertEqual([d.name for d in other.ListDatabases().databases], [b"db"])
        self.assertEqual(first.end(), 0)

    def test_a_port_that_is_taken_is_refused(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            folder = tempfile.mkdtemp(prefix="sirix_port_")
            result = run("--data", folder, "--listen", "127.0.0.1:%d" % taken.getsockname()[1])
            shutil.rmtree(folder)
        self.assertEqual(result.returncode, 69)
        self.assertIn("cannot listen at", result.stderr)

    def test_what_was_answered_is_there_after_a_kill(self):
        one = self.start()
        client = self.client(one.owner)
        client.CreateDatabase(database=b"db")
        client.Import([case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db",
                                                                       resource=b"r")),
                       case.pb.ImportRequest(data=b"[]")])
        for round_number in range(3):
            answered, enough = [], threading.Event()
            stop = threading.Event()

            def write():
                mine = daemon.Client(one.owner, case.pb)
                while not stop.is_set():
                    try:
                        answered.append(mine.Apply(database=b"db", resource=b"r", operations=[
                            insert("1", node_key=1)]).result.revision)
                        if len(answered) >= 30:
                            enough.set()
                    except grpc.RpcError:
                        break
                mine.close()

            threads = [threading.Thread(target=write) for _ in range(4)]
            for thread in threads:
                thread.start()
            self.assertTrue(enough.wait(60))
            one.end(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
            one.start()
            client = self.client(one.owner)
            info = client.GetResource(database=b"db", resource=b"r")
            self.assertGreaterEqual(info.newest_revision, max(answered))
            self.assertEqual(len(set(answered)), len(answered))
            end = list(client.Verify(database=b"db"))[-1].end
            self.assertEqual((end.problems, end.revisions), (0, info.newest_revision))
        opened = [line for line in one.log() if line["msg"] == "database opened"]
        self.assertEqual(len(opened), 4)
        self.assertEqual(one.end(), 0)

    def test_sigterm_ends_streams_and_lets_calls_finish(self):
        one = self.start()
        client = self.client(one.owner)
        client.CreateDatabase(database=b"db")
        text = json.dumps(["x" * 1000] * 5000).encode()
        client.Import([case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db",
                                                                       resource=b"r")),
                       *[case.pb.ImportRequest(data=text[i:i + 65536])
                         for i in range(0, len(text), 65536)]])
        health = protos.load(case.ARGS.proto, "grpc.health.v1.health_pb2")[0]
        watch = client.channel.unary_stream(
            "/grpc.health.v1.Health/Watch", health.HealthCheckRequest.SerializeToString,
            health.HealthCheckResponse.FromString)(
                health.HealthCheckRequest(service="sirix.storage.v1.Storage"), timeout=60)
        self.assertEqual(next(watch).status, health.HealthCheckResponse.SERVING)
        attached = client.Attach()
        next(attached)
        reading = client.ReadDocument(database=b"db", resource=b"r")
        next(reading)
        one.process.send_signal(signal.SIGTERM)
        self.assertEqual([m.status for m in watch], [health.HealthCheckResponse.NOT_SERVING])
        self.assertEqual(list(attached), [])
        self.assertEqual(len(b"".join(p.data for p in reading)), 5000 * 1003 + 1)
        self.assertEqual(one.process.wait(60), 0)
        words = [line["msg"] for line in one.log() if not line["msg"].startswith("call")]
        self.assertEqual(words[-2:], ["ending", "ended"])

    def test_writes_that_wait_are_told_of_the_end(self):
        one = self.start("--grace", "5000")
        client = self.client(one.owner)
        client.CreateDatabase(database=b"db")
        client.CreateResource(database=b"db", resource=b"r")
        client.Apply(database=b"db", resource=b"r", operations=[insert("[]")])
        request = case.pb.ApplyRequest(database=b"db", resource=b"r", operations=[
            insert('"%s"' % ("x" * 300), node_key=1) for _ in range(5000)])
        calls = [client.Apply.raw.future(request, timeout=120) for _ in range(60)]
        while client.Status().writes_waiting < 5 and not all(call.done() for call in calls):
            pass
        one.process.send_signal(signal.SIGTERM)
        outcomes = []
        for call in calls:
            failure = call.exception(60)
            outcomes.append("OK" if failure is None else failure.code().name)
        self.assertEqual(one.process.wait(60), 0)
        self.assertLessEqual(set(outcomes), {"OK", "UNAVAILABLE"})
        one.start()
        info = self.client(one.owner).GetResource(database=b"db", resource=b"r")
        self.assertEqual(info.newest_revision, 2 + outcomes.count("OK"))

    def test_an_embedded_daemon_ends_after_its_last_client(self):
        one = self.start("--embedded")
        client = self.client(one.owner)
        attached = client.Attach()
        self.assertTrue(next(attached).embedded)
        before = time.monotonic()
        with self.assertRaises(subprocess.TimeoutExpired):
            one.process.wait(7)
        attached.cancel()
        self.assertEqual(one.process.wait(60), 0)
        self.assertGreater(time.monotonic() - before, 7 + 4)
        self.assertEqual([line["why"] for line in one.log() if line["msg"] == "ending"],
                         ["nobody is left"])

    def test_an_embedded_daemon_that_nobody_attaches_to_ends_too(self):
        one = self.start("--embedded")
        self.assertEqual(one.process.wait(60), 0)

    def test_a_socket_with_a_long_path_is_reached_through_the_folder(self):
        parent = tempfile.mkdtemp(prefix="sirix_long_")
        self.addCleanup(shutil.rmtree, parent, True)
        folder = parent + "/" + "/".join(["d" * 40] * 4)
        os.makedirs(os.path.dirname(folder))
        one = self.start(folder=folder)
        self.assertGreater(len(folder + "/storaged.sock"), 107)
        here = os.getcwd()
        os.chdir(folder)
        try:
            client = self.client("unix:storaged.sock")
            self.assertEqual(client.Status().principal, b"owner")
            self.assertEqual(self.client("unix:reader.sock").Status().principal, b"reader")
        finally:
            os.chdir(here)
        self.assertEqual(one.end(), 0)

    def test_a_socket_that_a_kill_left_is_replaced(self):
        one = self.start()
        one.end(signal.SIGKILL)
        self.assertTrue(os.path.exists(one.folder + "/storaged.sock"))
        one.start()
        self.assertEqual(self.client(one.owner).Status().principal, b"owner")
        self.assertEqual(one.end(), 0)
        self.assertFalse(os.path.exists(one.folder + "/storaged.sock"))

    def test_a_half_made_database_is_removed_at_the_start(self):
        one = self.start()
        self.client(one.owner).CreateDatabase(database=b"db")
        one.end(signal.SIGKILL)
        for name in (".create", ".drop-3"):
            shutil.copytree(one.folder + "/databases/db", one.folder + "/databases/" + name)
        one.start()
        self.assertEqual(os.listdir(one.folder + "/databases"), ["db"])
        client = self.client(one.owner)
        self.assertEqual([d.name for d in client.ListDatabases().databases], [b"db"])

    def test_many_databases_are_open_by_turns(self):
        one = self.start("--databases-open", "3")
        client = self.client(one.owner)
        for i in range(8):
            client.CreateDatabase(database=b"db%d" % i)
            client.CreateResource(database=b"db%d" % i, resource=b"r")
            self.assertLessEqual(client.Status().databases_open, 3)
        for i in range(8):
            self.assertEqual(client.GetResource(database=b"db%d" % i, resource=b"r").revision, 1)
        self.assertEqual(client.Status().databases, 8)
        self.assertEqual(one.end(), 0)

    def test_the_limit_of_descriptors_is_raised(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            one = self.start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with open("/proc/%d/limits" % one.process.pid, encoding="ascii") as limits:
            line = next(line for line in limits if line.startswith("Max open files"))
        self.assertEqual(line.split()[3], line.split()[4])
        clients = [self.client(one.owner) for _ in range(100)]
        for client in clients:
            self.assertEqual(client.Status().principal, b"owner")

    def test_every_log_line_is_json(self):
        one = self.start()
        client = self.client(one.owner)
        with self.assertRaises(grpc.RpcError):
            client.CreateDatabase(database=b"a\n{\"fake\":1}\x1b[2J")
        one.end()
        for line in one.log_text().splitlines():
            entry = json.loads(line)
            self.assertTrue({"time", "level", "msg"} <= set(entry), line)
            self.assertNotIn("\x1b", line)


if __name__ == "__main__":
    case.main()
