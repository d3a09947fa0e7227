#!/usr/bin/python3
"""sirix-mcp on stdio against the real storaged: the protocol, and the process.

    test_stdio.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

from mcp_client import LIMIT_S, PROGRAMS, Case, Gateway, inside

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
READERS = ["sirix_list_databases", "sirix_list_resources", "sirix_resource_info",
           "sirix_query", "sirix_read_node", "sirix_history", "sirix_diff", "sirix_list_snapshots",
           "sirix_list_branches", "status", "store_query", "catalog_tables", "catalog_describe",
           "catalog_search"]
USERS = '{"users":[{"name":"Alice","n":1.50},{"name":"Bob"}],"v":"1.0"}'
WHERE = {"database": "db", "resource": "users"}


class Protocol(Case):
    def test_each_revision_is_spoken_with_what_it_knows(self):
        self.store("db/users", USERS)
        for version in VERSIONS:
            with self.subTest(version):
                gateway = self.start("--database-path", self.data)
                hello = gateway.initialize(version)
                tools = gateway.request("tools/list")["result"]["tools"]
                result = gateway.call_raw("sirix_read_node", **WHERE)["result"]

                self.assertEqual(hello["protocolVersion"], version)
                capabilities = {"tools": {}, "prompts": {}, "logging": {},
                                "resources": {"subscribe": True, "listChanged": True}}
                if version >= "2025-03-26":
                    capabilities["completions"] = {}
                self.assertEqual(hello["capabilities"], capabilities)
                self.assertIn("instructions", hello)
                structured = version >= "2025-06-18"
                for tool in tools:
                    self.assertEqual("annotations" in tool, version >= "2025-03-26")
                    self.assertEqual("title" in tool, structured)
                    self.assertEqual("outputSchema" in tool, structured)
                self.assertEqual("structuredContent" in result, structured)
                whole = json.loads(inside(result["content"][0]["text"]))
                self.assertEqual(whole["value"], json.loads(USERS))
                if structured:
                    self.assertEqual(whole, result["structuredContent"])
                self.assertEqual(gateway.close(), 0)

    def test_an_unknown_revision_gets_the_newest(self):
        for version in ("2026-07-28", "1999-01-01", ""):
            gateway = self.start("--database-path", self.data)
            self.assertEqual(gateway.initialize(version)["protocolVersion"], "2025-11-25")
            self.assertEqual(gateway.close(), 0)

    def test_initialize_comes_first_and_once(self):
        gateway = self.start("--database-path", self.data)
        self.assertEqual(gateway.request("ping")["result"], {})
        self.assertEqual(gateway.request("tools/list")["error"]["code"], -32600)
        self.assertEqual(gateway.request("initialize", {})["error"]["code"], -32602)
        gateway.initialize()
        again = gateway.request("initialize", {"protocolVersion": "2025-11-25"})
        self.assertEqual(again["error"]["code"], -32600)

    def test_ids_come_back_as_they_were_written(self):
        gateway = self.start("--database-path", self.data)
        for token in ('0', '"0"', '1.0', '-7', '1e2', '9007199254740993', '"a\\"\\\\b"', '""'):
            gateway.send_line('{"method":"ping","id":%s,"extra":[1],"jsonrpc":"2.0"}' % token)
            self.assertEqual(gateway.line().decode(),
                             '{"jsonrpc":"2.0","id":%s,"result":{}}\n' % token)

    def test_what_is_no_request_is_refused_and_nothing_ends(self):
        gateway = self.open()
        for line, code, token in [
                ('{', -32700, None),
                ('nonsense', -32700, None),
                (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, None),
                ('{"jsonrpc":"2.0","id":1,"method":"ping",}', -32700, None),
                ('1', -32600, None),
                ('[]', -32600, None),
                ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
                ('{}', -32600, None),
                ('{"id":1,"method":"ping"}', -32600, 1),
                ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1),
                ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
                ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
                ('{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}', -32600, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}', -32602, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}', -32601, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32602, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}',
                 -32602, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602, 1),
                ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}', -32602, 1),
                ('[' * 5000, -32600, None)]:
            with self.subTest(line):
                answer = gateway.ask_line(line)
                self.assertEqual(answer["error"]["code"], code, answer)
                self.assertEqual(answer["id"], token)
                self.assertIn("status", answer["error"]["data"])
        self.assertEqual(gateway.request("ping")["result"], {})

    def test_a_duplicate_member_is_named_by_its_pointer(self):
        gateway = self.open("--read-write")
        answer = gateway.ask_line(
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sirix_insert",'
            '"arguments":{"database":"db","resource":"r","data":{"a":1,"a":2}}}}')
        self.assertEqual(answer["error"]["data"]["reason"], "duplicate_key")
        self.assertEqual(answer["error"]["data"]["pointer"], "/params/arguments/data/a")

    def test_notifications_and_answers_are_not_answered(self):
        gateway = self.open()
        for line in ('{"jsonrpc":"2.0","method":"notifications/unknown"}',
                     '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}',
                     '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                     '{"jsonrpc":"2.0","method":"nope"}',
                     '{"jsonrpc":"2.0","id":5,"result":{}}',
                     '{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}', '', '\r'):
            gateway.send_line(line)
        self.assertEqual(gateway.request("ping")["result"], {})

    def test_lines_end_with_crlf_or_with_the_input(self):
        gateway = self.start("--database-path", self.data)
        gateway.send_line('{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
        self.assertEqual(gateway.answer()["id"], 1)
        gateway.process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
        self.assertEqual(gateway.close(), 0)
        self.assertEqual(json.loads(gateway.line())["id"], 2)
        self.assertIsNone(gateway.line())

    def test_a_line_past_the_limit_is_refused_and_the_next_is_served(self):
        gateway = self.start("--database-path", self.data)
        answer = gateway.ask_line(b'{"x":"' + b"y" * (17 * 1024 * 1024) + b'"}')
        self.assertEqual(answer["error"]["code"], -32600)
        self.assertEqual(answer["error"]["data"]["reason"], "size_limit")
        self.assertEqual(gateway.request("ping")["result"], {})

    def test_batches_are_served_in_the_one_revision_that_has_them(self):
        self.store("db/users", USERS)
        gateway = self.open(version="2025-03-26")
        gateway.send([{"jsonrpc": "2.0", "id": 11, "method": "ping"},
                      {"jsonrpc": "2.0", "method": "notifications/unknown"}, 7,
                      {"jsonrpc": "2.0", "id": 12, "method": "tools/call",
                       "params": {"name": "sirix_list_databases"}}])
        answers = gateway.answer()
        self.assertEqual([answer.get("id") for answer in answers], [11, None, 12])
        self.assertEqual(answers[1]["error"]["code"], -32600)
        self.assertFalse(answers[2]["result"]["isError"])
        gateway.send([{"jsonrpc": "2.0", "method": "notifications/unknown"}])
        self.assertEqual(gateway.ask_line("[]")["error"]["code"], -32600)
        self.assertEqual(gateway.request("ping")["result"], {})


class Process(Case):
    def run_mcp(self, *args):
        return subprocess.run([PROGRAMS["mcp"], *args], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S, check=False)

    def test_a_mistake_at_the_start_ends_with_two_and_one_line(self):
        good = ["--database-path", self.data]
        for args, word in [
                ([], "--database-path"), (["--read-wrote"], "--read-wrote"),
                (["--database-path"], "needs a value"), (["--database-path", "--read-write"], "needs"),
                (good + ["--storage", "unix:/x"], "exclude"), (good + good, "twice"),
                (good + ["--token-file", "x"], "are for a storaged at storage"),
                (good + ["--tls-cert=x"], "are for a storaged at storage"), (good + ["--read-write=no"], "value"),
                (good + ["--config", "/does/not/exist"], "/does/not/exist"), (["stray"], "stray")]:
            done = self.run_mcp(*args)
            self.assertEqual((done.returncode, done.stdout), (2, b""), args)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(word, done.stderr.decode())
        for text, word in [
                ('{"server":{"readonly":false}}', "readonly"), ('{"server":{"readOnly":"yes"}}', "readOnly"),
                ('{"sever":{}}', "server"), ('{"server":{},"x":1}', '"x"'), ("[]", "server"), ("{", ""),
                ('{"server":{"maxResultSize":0}}', "maxResultSize"),
                ('{"server":{"maxResultSize":1.5}}', "maxResultSize"),
                ('{"server":{"transport":"tcp"}}', "transport"),
                ('{"server":{"httpHosts":"x"}}', "httpHosts"),
                ('{"server":{"allowDatabases":"x"}}', "allowDatabases"),
                ('{"server":{"allowDatabases":["a*"]}}', "allowDatabases"),
                ('{"server":{"name":"a","name":"b"}}', ""),
                ('{"server":{"databasePath":"/a","storage":"unix:/b"}}', "exclude")]:
            path = self.file("bad.json", text)
            more = [] if "databasePath" in text else good
            done = self.run_mcp(*more, "--config", path)
            self.assertEqual((done.returncode, done.stdout), (2, b""), (text, done.stderr))
            self.assertIn(word, done.stderr.decode())
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_a_file_with_every_key_of_the_design_is_accepted(self):
        path = self.file("seed.json", json.dumps({"server": {
            "name": "sirixdb-mcp", "version": "1.0.0", "transport": "stdio",
            "databasePath": self.data, "readOnly": True, "allowDatabases": ["products", "content"],
            "denyDatabases": ["credentials", "secrets"], "maxResultSize": 100,
            "maxStringValueLength": 4096, "sanitizeOutput": True, "confirmDestructive": True,
            "auditLog": True, "auditLogPath": "/var/log/sirixdb-mcp/audit.jsonl"}}))
        done = self.run_mcp("--config", path, "--check-config")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(done.stdout)["server"]
        self.assertEqual(shown["denyDatabases"], ["credentials", "secrets"])
        self.assertEqual((shown["name"], shown["maxResultBytes"]), ("sirixdb-mcp", 40960))
        self.assertEqual(done.stderr, b"")
        again = self.run_mcp("--check-config", "--config", self.file("again.json",
                                                                     done.stdout.decode()))
        self.assertEqual(json.loads(again.stdout)["server"], shown)

    def test_flags_win_over_the_file(self):
        path = self.file("c.json", '{"server":{"databasePath":"/nowhere","readOnly":true}}')
        done = self.run_mcp("--config", path, "--storage", "unix:/s", "--read-write",
                            "--check-config")
        shown = json.loads(done.stdout)["server"]
        self.assertEqual((shown["storage"], shown["readOnly"]), ("unix:/s", False))
        self.assertNotIn("databasePath", shown)

    def test_help_and_version_go_to_stdout(self):
        done = self.run_mcp("--help")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for word in ("--database-path", "maxResultBytes", "--callers-file"):
            self.assertIn(word, done.stdout.decode())
        self.assertRegex(self.run_mcp("--version").stdout.decode(), r"^sirix-mcp \d+\.\d+\.\d+\n$")

    def test_two_copies_serve_one_folder(self):
        one, two = self.open("--read-write"), self.open("--read-write")
        one.call("sirix_create_resource", database="db", resource="r", createDatabase=True)
        two.call("sirix_insert", database="db", resource="r", data=[1])
        self.assertEqual(one.call("sirix_read_node", database="db", resource="r")["value"], [1])
        self.assertEqual([one.close(), two.close()], [0, 0])

    def test_a_storage_that_is_not_there_is_told_by_the_tools(self):
        gateway = self.start("--storage", "unix:" + os.path.join(self.dir, "nobody"),
                             "--config", self.file("c.json", '{"server":{"queryTimeoutMs":800}}'))
        gateway.initialize()
        self.assertEqual(len(gateway.request("tools/list")["result"]["tools"]), len(READERS))
        self.assertIn(gateway.fail("status")["status"], ("unavailable", "deadline"))
        self.assertEqual(gateway.close(), 0)

    def test_a_terminated_process_finishes_its_calls_and_ends_well(self):
        self.store("db/users", USERS)
        gateway = self.open("--read-write")
        gateway.send({"jsonrpc": "2.0", "id": "late", "method": "tools/call", "params": {
            "name": "sirix_insert", "arguments": {**WHERE, "data": {"late": 1}}}})
        gateway.send({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
        answers = [gateway.answer()]
        # Lines are taken in order: with the ping, the call before it is under way.
        while all(answer["id"] != "ping" for answer in answers):
            answers.append(gateway.answer())
        gateway.process.send_signal(signal.SIGTERM)
        if len(answers) == 1:
            answers.append(gateway.answer())
        self.assertEqual(gateway.process.wait(LIMIT_S), 0)
        done = {answer["id"]: answer["result"] for answer in answers}
        self.assertFalse(done["late"]["isError"])
        self.assertIn('"late":1', self.ctl("export", "db/users"))

    def test_input_that_ends_during_a_call_that_hangs_ends_the_process(self):
        silent = socket.socket(socket.AF_UNIX)
        path = os.path.join(self.dir, "silent")
        silent.bind(path)
        silent.listen(8)
        gateway = self.start("--storage", "unix:" + path)
        gateway.initialize()
        gateway.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "status"}})
        began = time.monotonic()
        self.assertEqual(gateway.close(), 0)
        self.assertLess(time.monotonic() - began, 10)
        silent.close()

    def test_a_client_that_does_not_read_is_given_up(self):
        self.store("db/users", USERS)
        process = subprocess.Popen([PROGRAMS["mcp"], "--database-path", self.data],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        process.stdout.close()
        try:
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            self.assertEqual(process.wait(LIMIT_S), 0)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()

    def test_a_client_that_reads_nothing_does_not_hold_up_a_termination(self):
        # Threads that do not end are left behind, which a thread sanitizer would call a leak.
        sanitizer = os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"
        process = subprocess.Popen([PROGRAMS["mcp"], "--database-path", self.data],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TSAN_OPTIONS": sanitizer})
        try:
            # More answers than a pipe holds.
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 20000)
            process.stdin.flush()
            self.assertNotEqual(process.stdout.read(1), b"")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(LIMIT_S / 4), 0)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def test_stdout_carries_nothing_but_messages(self):
        self.store("db/users", USERS)
        gateway = Gateway("--database-path", self.data, env={**os.environ, "GRPC_VERBOSITY": "debug",
                                                            "GRPC_TRACE": "all"})
        self.gateways.append(gateway)
        gateway.initialize()
        gateway.call("sirix_read_node", **WHERE)
        self.assertEqual(gateway.close(), 0)
        self.assertIsNone(gateway.line())


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
