"""The daemon as its operator sees it: health, numbers, and the log of calls."""
import json
import queue
import re
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import grpc

import case
import daemon
from case import insert

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


def port_of(started):
    return [line["port"] for line in started.log() if line["msg"] == "health and metrics"][-1]


def ask(port, path, method="GET"):
    """(status, text) of a request to the operator's door."""
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def numbers(text):
    """{name with labels: value} of Prometheus' text, whose form is checked."""
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line[len("# TYPE "):].split(" ")
            assert name not in types, "%s twice" % name
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = re.fullmatch(r'([a-z_:]+)(\{[^{}]*\})? ([0-9.]+)', line)
            assert match, line
            base = re.sub(r"_(bucket|sum|count)$", "", match.group(1))
            assert match.group(1) in types or types.get(base) == "histogram", line
            key = match.group(1) + (match.group(2) or "")
            assert key not in values, "%s twice" % key
            values[key] = float(match.group(3))
    return values


class Ops(case.DaemonCase):
    arguments = ("--ops", "127.0.0.1:0", "--slow-call", "50")

    def metrics(self):
        status, text = ask(port_of(self.daemon), "/metrics")
        self.assertEqual(status, 200)
        return numbers(text)

    def test_a_daemon_that_serves_is_started_alive_and_ready(self):
        for path in ("started", "alive", "ready"):
            self.assertEqual(ask(port_of(self.daemon), "/healthz/" + path), (200, "ok\n"))
        self.assertEqual(ask(port_of(self.daemon), "/")[0], 404)
        self.assertEqual(ask(port_of(self.daemon), "/metrics", "POST")[0], 405)

    def test_calls_are_counted_by_method_and_code_with_their_times(self):
        before = self.metrics()
        name = self.resource("[1]")
        self.apply(name, insert("2", node_key=1))
        for _ in range(3):
            self.text(name)
        with self.assertRaises(grpc.RpcError):
            self.text(b"nothing")
        after = self.metrics()

        def more(key):
            return after[key] - before.get(key, 0)

        self.assertEqual(more('sirix_calls_total{method="ReadDocument",code="OK"}'), 3)
        self.assertEqual(more('sirix_calls_total{method="ReadDocument",code="NOT_FOUND"}'), 1)
        self.assertEqual(more('sirix_calls_total{method="Apply",code="OK"}'), 1)
        self.assertEqual(more('sirix_call_seconds_count{method="ReadDocument"}'), 4)
        self.assertEqual(after['sirix_call_seconds_bucket{method="Apply",le="+Inf"}'],
                         after['sirix_call_seconds_count{method="Apply"}'])
        self.assertGreater(more('sirix_call_seconds_sum{method="Apply"}'), 0)

    def test_a_method_that_there_is_not_is_one_label_whatever_its_name(self):
        for name in ("A", "B"):
            raw = self.client.channel.unary_unary("/x.Y/" + name, lambda m: m, lambda m: m)
            with self.assertRaises(grpc.RpcError) as caught:
                raw(b"", timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        found = [k for k in self.metrics() if "UNIMPLEMENTED" in k]
        self.assertEqual(found, ['sirix_calls_total{method="unknown",code="UNIMPLEMENTED"}'])

    def test_commits_groups_and_bytes_are_counted_until_they_are_on_disk(self):
        name = self.resource("[]")
        before = self.metrics()
        for i in range(5):
            self.apply(name, insert(str(i), node_key=1))
        after = self.metrics()
        for key in ("sirix_commits_total", "sirix_group_works_sum",
                    "sirix_group_write_seconds_count"):
            self.assertGreaterEqual(after[key] - before[key], 5, key)
        self.assertGreater(after["sirix_segment_bytes_written_total"],
                           before["sirix_segment_bytes_written_total"])
        self.assertEqual(after["sirix_group_failures_total"], 0)
        self.assertEqual(after["sirix_writes_queued"], 0)
        self.assertEqual(after["sirix_calls_queued"], 0)

    def test_databases_files_memory_and_the_disk_are_measured(self):
        self.resource("[1]")
        found = self.metrics()
        self.assertGreaterEqual(found["sirix_databases"], 1)
        self.assertGreaterEqual(found["sirix_databases_open"], 1)
        self.assertEqual(found["sirix_databases_unmeasured"], 0)
        self.assertEqual(found["sirix_databases_read_only"], 0)
        for key in ("sirix_file_bytes", "sirix_segment_bytes", "sirix_segments",
                    "sirix_disk_bytes", "process_resident_memory_bytes", "process_open_fds",
                    "process_threads", "process_cpu_seconds_total", "sirix_readers"):
            self.assertGreater(found[key], 0, key)
        self.assertEqual(found["sirix_serving"], 1)
        # Nobody keeps on reading: what is open has been yielded, or will be at once.
        self.assertLess(found["sirix_oldest_reader_seconds"], 1)

    def test_a_backup_is_counted_when_it_is_whole(self):
        before = self.metrics()
        self.assertEqual(before["sirix_backups_running"], 0)
        list(self.client.Backup(database=b"db"))
        after = self.metrics()
        self.assertEqual(after["sirix_backups_total"] - before["sirix_backups_total"], 1)
        self.assertAlmostEqual(after["sirix_last_backup_timestamp_seconds"], time.time(), delta=120)

    def test_names_of_databases_and_resources_are_no_labels(self):
        name = b"secretlooking"
        self.client.CreateResource(database=b"db", resource=name)
        text = ask(port_of(self.daemon), "/metrics")[1]
        self.assertNotIn("secretlooking", text)
        self.assertNotIn('"db"', text)

    def test_calls_that_last_are_counted_and_not_timed(self):
        stream = self.client.Attach(client=b"me")
        next(stream)
        found = self.metrics()
        self.assertGreaterEqual(found["sirix_calls_running"], 1)
        self.assertIn('sirix_calls_total{method="Attach",code="OK"}', found)
        self.assertNotIn('sirix_call_seconds_count{method="Attach"}', found)
        stream.cancel()

    # --- The log of calls ------------------------------------------------------------------------

    def lines(self, message):
        return [line for line in self.daemon.log() if line["msg"] == message]

    def test_a_call_is_logged_with_what_its_caller_sent_to_be_recognised_by(self):
        self.client.Status(metadata=(("traceparent", "00-%s-%s-01" % (TRACE, SPAN)),
                                     ("x-request-id", "req \"7\"")))
        found = [line for line in self.lines("call") if line.get("request_id") == 'req "7"']
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["trace_id"], TRACE)
        self.assertEqual(found[0]["span_id"], SPAN)
        self.assertEqual(found[0]["method"], "/sirix.storage.v1.Storage/Status")
        self.assertEqual(found[0]["status"], "ok")
        self.assertIn("took_us", found[0])
        self.assertIn("principal", found[0])

    def test_what_is_no_trace_is_not_logged(self):
        self.client.Status(metadata=(("traceparent", "00-nonsense"), ("x-request-id", "x" * 129)))
        line = self.lines("call")[-1]
        self.assertNotIn("trace_id", line)
        self.assertNotIn("request_id", line)

    def test_a_slow_call_is_a_warning_and_counted(self):
        before = self.metrics()["sirix_slow_calls_total"]
        text = "[" + ",".join(["[0]"] * 400000) + "]"
        self.resource(text)
        self.assertGreater(self.metrics()["sirix_slow_calls_total"], before)
        slow = [line for line in self.lines("slow call") if line["method"].endswith("/Import")]
        self.assertTrue(slow)
        self.assertEqual(slow[-1]["level"], "warn")
        self.assertGreater(slow[-1]["took_us"], 50000)

    def test_the_log_holds_nothing_of_documents_messages_or_queries(self):
        word = "zebrafinch"
        name = self.resource('{"%s":"%s"}' % (word, word))
        self.client.Apply(database=b"db", resource=name, operations=[insert("1", word.encode() + b"2",
                          node_key=1)], options=case.pb.WriteOptions(message=word.encode()))
        list(self.client.Query(query=b'"%s"' % word.encode()))
        for query in (word.encode() + b"(", b"$" + word.encode(), b'xs:integer("%s")' % word.encode()):
            with self.assertRaises(grpc.RpcError):
                list(self.client.Query(query=query))
        with self.assertRaises(grpc.RpcError):
            self.load(name, '{"%s":1,"%s":2}' % (word, word), replace=True)
        with self.assertRaises(grpc.RpcError):
            self.node(name, "/%s/%s" % (word, word))
        self.text(name)
        with self.assertRaises(grpc.RpcError):
            self.load(name, '{"%s":' % word, replace=True)
        self.assertNotIn(word, self.daemon.log_text())

    def test_a_name_cannot_forge_a_line(self):
        with self.assertRaises(grpc.RpcError):
            self.text(b'x"}\n{"level":"error","msg":"forged"}\n')
        self.assertEqual(self.lines("forged"), [])
        for line in self.daemon.log_text().splitlines():
            if line.startswith("{"):
                json.loads(line)


class Door(unittest.TestCase):
    def test_a_drain_is_seen_at_the_door_before_it_ends(self):
        case.load()
        started = daemon.Daemon(case.ARGS.storaged, "--ops", "127.0.0.1:0", "--grace", "60000")
        client = daemon.Client(started.owner, case.pb)
        client.CreateDatabase(database=b"db")
        # An import without an end keeps the daemon draining.
        feed = queue.Queue()
        feed.put(case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=b"r")))
        call = client.Import.raw.future(iter(feed.get, None), timeout=60)
        port = port_of(started)
        while numbers(ask(port, "/metrics")[1])["sirix_calls_running"] < 1:
            pass
        started.process.terminate()
        while ask(port, "/healthz/ready")[0] == 200:
            pass
        self.assertEqual(ask(port, "/healthz/ready"), (503, "not ready\n"))
        self.assertEqual(ask(port, "/healthz/alive"), (200, "ok\n"))
        self.assertEqual(ask(port, "/healthz/started"), (200, "ok\n"))
        self.assertEqual(numbers(ask(port, "/metrics")[1])["sirix_serving"], 0)
        call.cancel()
        feed.put(None)
        client.close()
        self.assertEqual(started.close(), 0)

    def test_an_address_that_cannot_be_had_ends_the_start(self):
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for address, code, word in (("127.0.0.1", 2, "--ops"), ("nohost:1", 2, "--ops"),
                                        (address, 74, "cannot serve health and metrics")):
                result = subprocess.run([case.ARGS.storaged, "--data", folder + "/d", "--ops",
                                         address], text=True, capture_output=True, timeout=60)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(word, result.stderr)


if __name__ == "__main__":
    case.main()
