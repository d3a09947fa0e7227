#!/usr/bin/python3
"""Copies of sirix-mcp behind a proxy that gives each connection to the next one (G31).

    test_replicas.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from http_server import Server
from mcp_client import LIMIT_S, META, PROGRAMS, Case

COPIES = 3
CLIENTS = 50
BOTH = "application/json, text/event-stream"
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
DONE = ("already_exists", "branch_unknown", "revision_moved")


class Proxy:
    """Gives each connection to the next port that takes it."""

    def __init__(self, ports):
        self.ports = list(ports)
        self.turn = 0
        self.taken = {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def connect(self):
        for _ in range(len(self.ports) * 100):
            self.turn += 1
            port = self.ports[self.turn % len(self.ports)]
            try:
                upstream = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
            except OSError:
                continue
            self.taken[port] = self.taken.get(port, 0) + 1
            return upstream
        raise AssertionError("no copy takes a connection")

    def serve(self, client):
        with client, self.connect() as upstream:
            ends = {client: upstream, upstream: client}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    def close(self):
        self.listener.close()


class Ending(Case):
    def test_whoever_was_let_in_is_answered(self):
        """While a copy ends, each new connection is either answered or not made at all."""
        for _ in range(4):
            server = Server("--database-path", self.data)
            self.gateways.append(server)
            failures, served = [], []

            def ask():
                while True:
                    connection = server.connection()
                    try:
                        connection.connect()
                    except OSError:
                        return
                    try:
                        connection.request("POST", "/mcp", PING,
                                           {"Content-Type": "application/json"})
                        served.append(connection.getresponse().read())
                    except (OSError, http.client.HTTPException) as failure:
                        failures.append(repr(failure))
                    connection.close()

            threads = [threading.Thread(target=ask) for _ in range(16)]
            for thread in threads:
                thread.start()
            while len(served) < 50:
                time.sleep(0.001)
            self.assertEqual(server.end()[0], 0)
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])


class Replicas(Case):
    def test_no_conversation_fails_when_a_copy_is_restarted(self):
        self.talk_through(signal.SIGTERM, 0)

    def test_no_conversation_fails_when_a_copy_is_killed(self):
        """Whoever lost an answer asks again; what was done already is not done twice."""
        self.talk_through(signal.SIGKILL, -signal.SIGKILL)

    def talk_through(self, number_of_signal, wanted):
        may_ask_again = number_of_signal == signal.SIGKILL
        for i in range(CLIENTS):
            self.store(f"db/r{i}", '{"items":[]}')
        key = self.file("key", "11" * 32 + "\n")
        os.chmod(key, 0o600)
        # One storage that outlives all copies.
        holder = subprocess.Popen([PROGRAMS["mcp"], "--database-path", self.data],
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        two_step = self.file("two_step.json", '{"server":{"confirm":"two-step"}}')
        args = ["--database-path", self.data, "--read-write", "--state-key-file", key,
                "--config", two_step]
        copies = [Server(*args) for _ in range(COPIES)]
        self.gateways += copies
        proxy = Proxy(copy.port for copy in copies)
        failures, lost, half = [], [], threading.Semaphore(0)

        def post(message, **headers):
            while True:
                try:
                    return post_once(message, **headers)
                except (OSError, http.client.HTTPException):
                    if not may_ask_again:
                        raise
                    lost.append(message["id"])

        def post_once(message, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=LIMIT_S)
            connection.request("POST", "/mcp", json.dumps(message), {
                "Content-Type": "application/json", "Accept": BOTH, "Connection": "close",
                **{name.replace("_", "-"): value for name, value in headers.items()}})
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            assert answer.status in (200, 202), (answer.status, text)
            return json.loads(text) if text else None

        def talk(number):
            where = {"database": "db", "resource": f"r{number}"}
            is_modern = number % 2 == 0

            def call(tool, **arguments):
                params = {"name": tool, "arguments": {**where, **arguments}}
                headers = {"MCP_Protocol_Version": "2025-11-25"}
                if is_modern:
                    params["_meta"] = META
                    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call",
                               "Mcp_Name": tool}
                losses = lost.count(number)
                answer = post({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                               "params": params}, **headers)
                if answer["result"]["isError"] and lost.count(number) > losses:
                    # It was done, and the answer was lost: the store says why not again.
                    text = answer["result"]["content"][0]["text"]
                    assert any(word in text for word in DONE), text
                    return None
                assert not answer["result"]["isError"], answer
                done = answer["result"]["structuredContent"]
                if "confirmToken" in done:  # Most likely redeemed at another copy.
                    assert "confirmToken" not in arguments
                    return call(tool, **arguments, confirmToken=done["confirmToken"])
                return done

            try:
                if not is_modern:
                    hello = post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                        "protocolVersion": "2025-11-25", "capabilities": {},
                        "clientInfo": {"name": f"c{number}", "version": "1"}}})
                    assert hello["result"]["protocolVersion"] == "2025-11-25"
                    post({"jsonrpc": "2.0", "method": "notifications/initialized"})
                call("sirix_list_branches")
                call("sirix_create_branch", name="work")
                half.release()
                for i in range(5):
                    items = call("sirix_read_node", path="/items", branch="work")
                    call("sirix_insert", branch="work", parentNodeKey=items["nodeKey"], data=i,
                         position="last_child", expectedRevision=items["revision"])
                diff = call("sirix_diff", branch="work", from_revision=1)
                assert diff["inserts"] == 5, diff
                call("sirix_promote", branch="work")
                call("sirix_delete_branch", name="work")
            except Exception as failure:  # pylint: disable=broad-except
                failures.append((number, repr(failure)))
                half.release()

        threads = [threading.Thread(target=talk, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for _ in range(CLIENTS // 2):
            half.acquire()
        began = time.monotonic()
        code, _, _ = copies[0].end(number_of_signal)
        another = Server(*args)
        self.gateways.append(another)
        proxy.ports[0] = another.port
        for thread in threads:
            thread.join()
        proxy.close()
        holder.stdin.close()
        holder.wait(LIMIT_S)

        self.assertEqual(failures, [])
        self.assertEqual(code, wanted)
        self.assertLess(time.monotonic() - began, LIMIT_S)
        self.assertEqual(len(proxy.taken), COPIES + 1, proxy.taken)
        for i in range(CLIENTS):
            self.assertEqual(json.loads(self.ctl("export", f"db/r{i}")), {"items": [0, 1, 2, 3, 4]})


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
