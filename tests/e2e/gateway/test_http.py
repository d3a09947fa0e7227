#!/usr/bin/python3
"""sirix-mcp over HTTP against the real storaged.

    test_http.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from http_server import Server
from mcp_client import LIMIT_S, META, PROGRAMS, Case, inside

USERS = '{"users":[{"name":"Alice","n":1.50},{"name":"Bob"}],"v":"1.0"}'
WHERE = {"database": "db", "resource": "users"}
BOTH = "application/json, text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def events(text):
    """The messages of a stream."""
    found = []
    for event in text.split("\n\n"):
        for line in event.split("\n"):
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
    return found


class HttpCase(Case):
    def serve(self, *args, config=None):
        if config is not None:
            args = (*args, "--config", self.file("config.json", json.dumps({"server": config})))
        server = Server("--database-path", self.data, *args)
        self.gateways.append(server)
        return server

    def key(self):
        path = self.file("key", "00" * 32 + "\n")
        os.chmod(path, 0o600)
        return path

    def post(self, server, message, path="/mcp", connection=None, **headers):
        """Status, headers and messages of an answer."""
        own = connection or server.connection()
        body = message if isinstance(message, (bytes, str)) else json.dumps(message)
        send = {"Content-Type": "application/json", "Accept": BOTH,
                **{name.replace("_", "-"): value for name, value in headers.items()}}
        own.request("POST", path, body, {k: v for k, v in send.items() if v is not None})
        answer = own.getresponse()
        text = answer.read().decode()
        if connection is None:
            own.close()
        kind = answer.headers.get("Content-Type", "")
        if kind == "text/event-stream":
            return answer.status, answer.headers, events(text)
        return answer.status, answer.headers, [json.loads(text)] if text else []

    def ask(self, server, method, params=None, meta=META, **headers):
        """A request of the modern era."""
        params = {**(params or {}), "_meta": meta}
        own = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        if method in NAMES and isinstance(params.get(NAMES[method]), str):
            own["Mcp_Name"] = params[NAMES[method]]
        return self.post(server, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                         **{**own, **headers})

    def call(self, server, tool, **arguments):
        status, _, messages = self.ask(server, "tools/call", {"name": tool, "arguments": arguments})
        self.assertEqual((status, messages[0]["result"]["isError"]), (200, False), messages)
        return messages[0]["result"]["structuredContent"]


class Requests(HttpCase):
    def test_both_eras_are_served_at_one_endpoint(self):
        self.store("db/users", USERS)
        server = self.serve()
        call = {"name": "sirix_read_node", "arguments": WHERE}
        status, headers, (hello,) = self.post(server, {
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                       "clientInfo": {"name": "t", "version": "1"}}})
        self.assertEqual((status, hello["result"]["protocolVersion"]), (200, "2025-11-25"))
        self.assertNotIn("Mcp-Session-Id", headers)
        self.assertEqual(hello["result"]["capabilities"]["resources"], {})
        status, _, messages = self.post(
            server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.assertEqual((status, messages), (202, []))
        status, _, messages = self.post(server, {"jsonrpc": "2.0", "id": 5, "result": {}})
        self.assertEqual((status, messages), (202, []))
        for version in ("2025-06-18", "2025-11-25"):
            status, _, (legacy,) = self.post(
                server, {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": call},
                MCP_Protocol_Version=version)
            self.assertEqual((status, legacy["id"]), (200, "x"))
            self.assertNotIn("resultType", legacy["result"])
        status, headers, (modern,) = self.ask(server, "tools/call", call)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertEqual(modern["result"]["resultType"], "complete")
        self.assertEqual(modern["result"]["structuredContent"],
                         legacy["result"]["structuredContent"])
        self.assertEqual(json.loads(inside(modern["result"]["content"][0]["text"]))["value"],
                         json.loads(USERS))

    def test_a_client_that_names_no_revision_is_an_old_one(self):
        server = self.serve()
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        _, _, (old,) = self.post(server, listing)
        self.assertNotIn("outputSchema", old["result"]["tools"][0])
        _, _, (answers,) = self.post(server, [listing, {"jsonrpc": "2.0", "method": "x"},
                                              {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        self.assertEqual([answer["id"] for answer in answers], [1, 2])
        status, _, messages = self.post(server, [{"jsonrpc": "2.0", "method": "x"}])
        self.assertEqual((status, messages), (202, []))
        status, _, (refused,) = self.post(server, [listing], MCP_Protocol_Version="2025-11-25")
        self.assertEqual((status, refused["error"]["code"]), (400, -32600))
        status, _, (refused,) = self.post(server, listing, MCP_Protocol_Version="2025-01-01")
        self.assertEqual((status, refused["error"]["data"]["field"]), (400, "MCP-Protocol-Version"))

    def test_what_is_no_message_is_a_bad_request(self):
        server = self.serve()
        for body, code in ((b"{", -32700), (b"", -32700), (b"\xff", -32700), (b"7", -32600),
                           (b"[]", -32600), (b"{}", -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
                            -32600)):
            status, _, (refused,) = self.post(server, body)
            self.assertEqual((status, refused["error"]["code"]), (400, code), body)
        status, _, (refused,) = self.post(server, {"jsonrpc": "2.0", "id": 1, "method": "nope"})
        self.assertEqual((status, refused["error"]["code"]), (200, -32601))

    def test_heads_of_the_modern_era_say_what_the_body_says(self):
        self.store("db/users", USERS)
        server = self.serve()
        call = {"name": "sirix_read_node", "arguments": WHERE}
        encoded = "=?base64?" + base64.b64encode(b"sirix_read_node").decode() + "?="
        for headers in ({}, {"Mcp_Name": encoded}, {"Mcp_Name": "  sirix_read_node\t"},
                        {"Mcp_Method": None, "mcp_method": "tools/call"}):
            status, _, (answer,) = self.ask(server, "tools/call", call, **headers)
            self.assertEqual((status, "result" in answer), (200, True), answer)
        for headers in ({"MCP_Protocol_Version": None}, {"Mcp_Method": None}, {"Mcp_Name": None},
                        {"mcp_method": "tools/call"}, {"MCP_Protocol_Version": "2025-11-25"}, {"Mcp_Method": "tools/list"},
                        {"Mcp_Method": "Tools/Call"}, {"Mcp_Name": "sirix_diff"},
                        {"Mcp_Name": "=?base64?####?="}, {"Mcp_Name": "=?base64?AA==?="},
                        {"Mcp_Name": encoded[:-2]}, {"Mcp_Name": b"sirix_read_n\xf6de"}):
            status, _, (refused,) = self.ask(server, "tools/call", call, **headers)
            self.assertEqual((status, refused["error"]["code"], refused["id"]), (400, -32020, 1),
                             headers)
        status, _, (refused,) = self.ask(server, "resources/read", {"uri": "sirix:///databases"},
                                         Mcp_Name="sirix:///db/resources")
        self.assertEqual((status, refused["error"]["code"]), (400, -32020))

    def test_refusals_of_the_modern_era_have_their_status(self):
        server = self.serve()
        version = "io.modelcontextprotocol/protocolVersion"
        for method, params, meta, headers, status, code in [
                ("nope", {}, META, {}, 404, -32601), ("ping", {}, META, {}, 404, -32601),
                ("initialize", {}, META, {}, 404, -32601),
                ("tools/list", {}, {}, {}, 400, -32602),
                ("tools/list", {}, {**META, version: "v9"}, {"MCP_Protocol_Version": "v9"}, 400,
                 -32022),
                ("tools/call", {"name": "nope"}, META, {}, 200, -32602),
                ("tools/list", {"cursor": "x"}, META, {}, 200, -32602),
                ("resources/read", {"uri": "sirix:///x"}, META, {}, 200, -32602)]:
            got, _, (refused,) = self.ask(server, method, params, meta, **headers)
            self.assertEqual((got, refused["error"]["code"]), (status, code), method)

    def test_heads_decide_before_the_body_is_read(self):
        server = self.serve(config={"httpHosts": ["gateway.example"]})
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        port = server.port
        for headers, status in [
                ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403),
                ({"Origin": "null"}, 403), ({"Host": f"localhost:{port}"}, 200),
                ({"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}, 200),
                ({"Host": "gateway.example", "Origin": "https://gateway.example"}, 200),
                ({"Content_Type": "text/plain"}, 415), ({"Content_Type": None}, 415),
                ({"Content_Type": "application/json; charset=utf-8"}, 200),
                ({"Accept": "text/html"}, 406), ({"Accept": None}, 200),
                ({"Accept": "application/json"}, 200), ({"Accept": "*/*"}, 200),
                ({"Accept": "text/event-stream"}, 200)]:
            got, _, messages = self.post(server, ping, **headers)
            self.assertEqual(got, status, headers)
            self.assertEqual("result" in messages[0], status == 200)
        self.assertEqual(self.post(server, ping, path="/")[0], 404)
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            connection = server.connection()
            connection.request(method, "/mcp")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"), method)
            connection.close()

    def test_one_connection_serves_many_requests(self):
        self.store("db/users", USERS)
        server = self.serve()
        connection = server.connection()
        for i in range(50):
            _, _, (answer,) = self.post(server, {"jsonrpc": "2.0", "id": i, "method": "ping"},
                                        connection=connection)
            self.assertEqual(answer["id"], i)
        connection.close()

    def test_many_clients_write_and_read_at_once(self):
        self.store("db/users", "[]")
        server = self.serve("--read-write")
        failures = []

        def work(number):
            try:
                for i in range(10):
                    self.call(server, "sirix_insert", **WHERE, data=[number, i])
                    self.call(server, "sirix_read_node", **WHERE)
            except AssertionError as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(json.loads(self.ctl("export", "db/users"))), 160)


class Streams(HttpCase):
    def test_what_is_told_before_an_answer_makes_it_a_stream(self):
        self.store("db/users", USERS)
        server = self.serve()
        meta = {**META, "progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
        status, headers, messages = self.ask(
            server, "tools/call", {"name": "sirix_list_resources", "arguments": {"database": "db"}},
            meta)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(headers["X-Accel-Buffering"], "no")
        self.assertEqual([m.get("method") for m in messages],
                         ["notifications/progress", "notifications/message", None])
        self.assertEqual(messages[0]["params"]["progressToken"], "p")
        self.assertEqual((messages[1]["params"]["level"], messages[1]["params"]["data"]["tool"]),
                         ("debug", "sirix_list_resources"))
        self.assertEqual(messages[2]["result"]["structuredContent"]["count"], 1)
        # Nothing to tell: no stream. And no stream for who takes none.
        _, headers, messages = self.ask(server, "tools/list", {}, meta)
        self.assertEqual((headers["Content-Type"], len(messages)), ("application/json", 1))
        _, headers, messages = self.ask(
            server, "tools/call", {"name": "sirix_list_databases", "arguments": {}}, meta,
            Accept="application/json")
        self.assertEqual((headers["Content-Type"], len(messages)), ("application/json", 1))
        _, headers, messages = self.ask(server, "tools/list", {}, Accept="text/event-stream")
        self.assertEqual((headers["Content-Type"], len(messages)), ("text/event-stream", 1))

    def listen(self, server, subscription, **wanted):
        """A stream of changes: reads one message at a time."""
        connection = server.connection()
        connection.request("POST", "/mcp", json.dumps({
            "jsonrpc": "2.0", "id": subscription, "method": "subscriptions/listen",
            "params": {"_meta": META, "notifications": wanted}}), {
                "Content-Type": "application/json", "Accept": BOTH,
                "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"})
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")

        def read():
            for line in answer:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
            return None

        return connection, read

    def test_changes_reach_who_listens_and_only_what_was_asked_for(self):
        self.store("db/users", USERS)
        self.store("db/other", "[]")
        server = self.serve("--read-write")
        one, read_one = self.listen(server, "one", resourceSubscriptions=["sirix:///db/users/info"])
        two, read_two = self.listen(server, 2, resourceSubscriptions=["sirix:///db/other/history"])
        for read, subscription in ((read_one, "one"), (read_two, 2)):
            told = read()
            self.assertEqual(told["method"], "notifications/subscriptions/acknowledged")
            self.assertEqual(told["params"]["_meta"],
                             {"io.modelcontextprotocol/subscriptionId": subscription})
        self.call(server, "sirix_insert", **WHERE, data={"x": 1})
        self.call(server, "sirix_insert", database="db", resource="other", data=1)
        self.assertEqual(read_one()["params"]["uri"], "sirix:///db/users/info")
        self.assertEqual(read_two()["params"]["uri"], "sirix:///db/other/history")
        server.process.send_signal(signal.SIGTERM)
        for read, subscription in ((read_one, "one"), (read_two, 2)):
            ended = read()
            self.assertEqual((ended["id"], ended["result"]["resultType"]),
                             (subscription, "complete"))
            self.assertIsNone(read())
        self.assertEqual(server.end()[0], 0)
        one.close()
        two.close()

    def test_who_goes_cancels_a_call_that_hangs(self):
        silent = socket.socket(socket.AF_UNIX)
        path = os.path.join(self.dir, "silent")
        silent.bind(path)
        silent.listen(8)
        server = Server("--storage", "unix:" + path, "--state-key-file", self.key())
        self.gateways.append(server)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "status", "arguments": {}, "_meta": META}})
        connection = server.connection()
        connection.request("POST", "/mcp", body, {
            "Content-Type": "application/json", "Accept": BOTH, "Mcp-Name": "status",
            "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"})
        # Others are served while it waits; it is not answered.
        self.assertEqual(self.ask(server, "tools/list")[0], 200)
        connection.close()
        began = time.monotonic()
        self.assertEqual(server.end()[0], 0)
        self.assertLess(time.monotonic() - began, 10)
        silent.close()

    def test_stdout_carries_nothing(self):
        self.store("db/users", USERS)
        server = self.serve()
        self.call(server, "sirix_read_node", **WHERE)
        code, out, err = server.end()
        self.assertEqual((code, out, err), (0, b"", b""))


class Operation(HttpCase):
    def get(self, port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def free_port(self):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def test_health_and_metrics_are_told_beside_the_endpoint(self):
        self.store("db/users", USERS)
        port = self.free_port()
        server = self.serve("--ops", f"127.0.0.1:{port}")
        for name in ("started", "alive", "ready"):
            self.assertEqual(self.get(port, "/healthz/" + name), (200, "ok\n"))
        self.call(server, "sirix_read_node", **WHERE)
        self.ask(server, "tools/call", {"name": "sirix_read_node", "arguments": {}})
        self.ask(server, "tools/call", {"name": "nope"})
        self.post(server, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        status, text = self.get(port, "/metrics")
        self.assertEqual(status, 200)
        found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
        self.assertEqual(found['sirix_mcp_requests_total{era="modern"}'], "3")
        self.assertEqual(found['sirix_mcp_requests_total{era="legacy"}'], "1")
        self.assertEqual(found["sirix_mcp_tool_calls_total"], "2")
        self.assertEqual(found["sirix_mcp_tool_refusals_total"], "1")
        self.assertEqual(found["sirix_mcp_requests_failed_total"], "1")
        self.assertEqual(self.get(port, "/")[0], 404)
        self.assertEqual(server.end()[0], 0)

    def test_it_is_ready_when_its_storage_answers(self):
        port = self.free_port()
        server = Server("--storage", "unix:" + os.path.join(self.dir, "nobody"),
                        "--state-key-file", self.key(), "--ops", f"127.0.0.1:{port}")
        self.gateways.append(server)
        self.assertEqual(self.get(port, "/healthz/alive")[0], 200)
        self.assertEqual(self.get(port, "/healthz/ready"), (503, "not ready\n"))


class Start(HttpCase):
    def refuse(self, *args):
        done = subprocess.run([PROGRAMS["mcp"], "--database-path", self.data, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.returncode, done.stderr.decode()

    def test_addresses_that_others_can_reach_are_refused(self):
        for address, word in (("0.0.0.0:8760", "loopback"), ("[::]:0", "loopback"),
                              ("10.0.0.1:80", "loopback"), ("nonsense", "address"),
                              ("example.com:80", "address")):
            code, said = self.refuse("--http", address)
            self.assertEqual(code, 2, said)
            self.assertIn(word, said)
        self.assertEqual(self.refuse("--http", "127.0.0.1:0", "--ready-fd", "99")[0], 2)

    def test_copies_before_one_storage_must_share_a_key(self):
        args = [PROGRAMS["mcp"], "--storage", "unix:/nowhere", "--http", "127.0.0.1:0"]
        open_key = self.file("open", "00" * 32 + "\n")
        os.chmod(open_key, 0o644)
        for more, word in (([], "--state-key-file"),
                           (["--state-key-file", self.file("bad", "x")], ""),
                           (["--state-key-file", open_key], "0600")):
            done = subprocess.run([*args, *more], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=LIMIT_S, check=False)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(word, done.stderr.decode())

    def test_an_address_in_use_ends_the_process(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            code, said = self.refuse("--http", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(code, 1)
        self.assertIn("in use", said)

    def test_the_file_can_ask_for_it(self):
        path = self.file("c.json", json.dumps({"server": {
            "transport": "http", "httpListen": "localhost:0", "databasePath": self.data}}))
        done = subprocess.run([PROGRAMS["mcp"], "--config", path, "--check-config"],
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(json.loads(done.stdout)["server"]["httpListen"], "localhost:0")


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
