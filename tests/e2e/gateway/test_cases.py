#!/usr/bin/python3
"""Complaints about other servers, replayed: those that have no test elsewhere (docs/testing.md has all).

    test_cases.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import glob
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

from http_server import Server
from mcp_client import LIMIT_S, META, PROGRAMS, Case

# Runs for minutes unless it is ended.
LONG = "count(for $a in 1 to 100000, $b in 1 to 100000 return $a * $b)"
WHERE = {"database": "db", "resource": "doc"}


def busy(pid):
    """Ticks of the processor that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class Cancelling(Case):
    """A query that is cancelled, in whatever way, ends in the store (25)."""

    def setUp(self):
        super().setUp()
        self.store("db/doc", '{"n":1}')
        self.holder = self.open()
        self.holder.call("status")
        self.store_pid = self.daemon()

    def works(self):
        before = busy(self.store_pid)
        time.sleep(0.5)  # What a process does is seen by looking twice.
        return busy(self.store_pid) - before >= 3

    def wait(self, wanted):
        deadline = time.monotonic() + 30
        while self.works() != wanted:
            self.assertLess(time.monotonic(), deadline, "the store goes on" if not wanted else
                            "the store does not begin")

    def begin(self, **meta):
        return {"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": {
            "name": "sirix_query", "arguments": {"query": LONG}, "_meta": {**META, **meta}}}

    def post(self, server, body):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
        data = json.dumps(body).encode()
        client.sendall((f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: "
                        "application/json, text/event-stream\r\nContent-Type: application/json\r\n"
                        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                        f"Mcp-Name: sirix_query\r\nContent-Length: {len(data)}\r\n\r\n").encode()
                       + data)
        return client

    def test_by_a_notification(self):
        gateway = self.open()
        gateway.send(self.begin())
        self.wait(True)
        gateway.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "long"}})
        self.wait(False)
        self.assertEqual(gateway.request("ping")["result"], {})  # And nothing of the call before it.

    def test_by_the_end_of_input(self):
        gateway = self.open()
        gateway.send(self.begin())
        self.wait(True)
        self.assertEqual(gateway.close(), 0)
        self.wait(False)

    def test_by_a_client_that_is_killed(self):
        gateway = self.open()
        gateway.send(self.begin())
        self.wait(True)
        gateway.process.send_signal(signal.SIGKILL)
        self.wait(False)

    def test_by_a_connection_that_is_closed(self):
        server = Server("--database-path", self.data)
        self.gateways.append(server)
        client = self.post(server, self.begin())
        self.wait(True)
        client.close()
        self.wait(False)

    def test_by_a_stream_that_is_closed(self):
        server = Server("--database-path", self.data)
        self.gateways.append(server)
        client = self.post(server, self.begin(progressToken="t"))
        self.wait(True)
        client.shutdown(socket.SHUT_WR)  # One half is enough.
        self.wait(False)
        client.close()


class Logs(Case):
    """What others write into logs by us, and what we tell of ourselves (37 to 40)."""

    def test_a_text_cannot_make_a_line_of_its_own(self):
        self.store("db/doc", '{"n":1}')
        gateway = self.open("--read-write")
        odd = 'x\n{"seq":99,"event":"outcome"}\r\x1b[2J\x7f\u202e'
        gateway.fail("sirix_query", query=odd)
        gateway.fail("sirix_read_node", database="db", resource="doc", path=odd)
        gateway.call("sirix_insert", **WHERE, data={"k": odd}, message=odd)
        gateway.request("tools/call", {"name": odd})
        self.assertEqual(gateway.close(), 0)
        lines = []
        for path in glob.glob(os.path.join(self.data, "audit", "*.jsonl")):
            with open(path, "rb") as file:
                lines += file.read().split(b"\n")[:-1]
        for line in lines + [error.encode() for error in gateway.errors]:
            self.assertNotRegex(line.rstrip(b"\n"), rb"[\x00-\x1f\x7f]")
        self.assertEqual([json.loads(line)["seq"] for line in lines], list(range(len(lines))))

    def test_secrets_are_in_no_log_and_no_answer(self):
        secret = "hunter2-never-told"
        log = os.path.join(self.dir, "audit.jsonl")
        server = Server("--database-path", self.data, "--config", self.file(
            "c.json", json.dumps({"server": {"auditLogPath": log}})))
        self.gateways.append(server)
        connection = server.connection()
        connection.request("POST", "/mcp?api_key=" + secret, json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "sirix_query", "arguments": {"query": f"'{secret}", "api_key": secret}}}),
            {"Content-Type": "application/json", "Authorization": "Bearer " + secret,
             "Cookie": "token=" + secret})
        answer = connection.getresponse().read().decode()
        connection.close()
        _, out, err = server.end()
        told = answer + out.decode() + err.decode()
        for path in glob.glob(os.path.join(self.dir, "audit-*.jsonl")):
            with open(path, encoding="utf-8") as file:
                told += file.read()
        self.assertNotIn(secret, told)

    def test_errors_do_not_tell_where_things_are(self):
        gateway = self.start("--storage", "unix:" + os.path.join(self.dir, "nobody"), "--config",
                             self.file("c.json", '{"server":{"queryTimeoutMs":500}}'))
        gateway.initialize()
        told = json.dumps(gateway.call_raw("sirix_list_databases"))
        self.assertNotIn(self.dir, told)
        self.assertNotIn("nobody", told)

    def test_odd_addresses_end_with_a_line_or_are_told_by_the_tools(self):
        for address in ("", "unix:", "#", "user:p@ss#w/rd@host", "postgres://u:secret@h/db",
                        "h:99999999", "unix:" + "a" * 300, "[::1", "h:-1"):
            with self.subTest(address):
                done = subprocess.run([PROGRAMS["mcp"], "--storage", address], timeout=LIMIT_S,
                                      input=b"", capture_output=True, check=False)
                self.assertEqual(done.stdout, b"")
                self.assertIn(done.returncode, (0, 1, 2))
                if done.returncode != 0:
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertNotIn(b"secret@", done.stderr)


class Web(Case):
    """What a page of somebody else can do (42, 43)."""

    def test_no_page_of_another_origin_is_let_in(self):
        server = Server("--database-path", self.data)
        self.gateways.append(server)
        for method in ("OPTIONS", "GET", "POST"):
            connection = server.connection()
            connection.request(method, "/mcp", headers={
                "Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type"})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 403)
            self.assertIn("httpHosts", answer.read().decode())  # Whoever runs it learns the way out.
            self.assertFalse([name for name, _ in answer.getheaders()
                              if name.lower().startswith("access-control")])
            connection.close()

    def test_names_that_the_operator_lists_are_let_in(self):
        server = Server("--database-path", self.data, "--config", self.file(
            "c.json", '{"server":{"httpHosts":["db.example"]}}'))
        self.gateways.append(server)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        connection.request("POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}', {
            "Host": "db.example", "Origin": "https://db.example",
            "Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()


class Names(Case):
    """Names that mean to leave where they are (48)."""

    def test_no_name_leads_outside(self):
        self.store("db/doc", '{"n":1}')
        gateway = self.modern()
        gateway.initialize()
        for name in ("..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2fetc", "..%5cetc",
                     "%00", "a%00b", "a" * 5000, "%", "%zz", "/etc/passwd"):
            for uri in (f"sirix:///{name}/resources", f"sirix:///db/{name}/info"):
                with self.subTest(uri[:60]):
                    error = gateway.request("resources/read", {"uri": uri, "_meta": META})["error"]
                    self.assertEqual(error["code"], -32602)
            facts = gateway.fail("sirix_list_resources", database=name)
            self.assertIn(facts["status"], ("invalid", "not_found"))


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
