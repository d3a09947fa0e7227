#!/usr/bin/python3
"""The official TypeScript SDKs as clients of sirix-mcp, over both transports.

    test_sdk.py SIRIX_MCP SIRIXCTL NPM_FOLDER [unittest arguments]
"""
import os
import sys
import unittest

from http_server import Server
from mcp_client import LIMIT_S, PROGRAMS, Case
from npm_tools import HERE, node, version

CLIENTS = [("v1", "-"), ("v2", "legacy"), ("v2", "auto"), ("v2", "2026-07-28")]


class Clients(Case):
    def play(self, sdk, mode, *target):
        """An agent's work on a resource of its own."""
        self.resources += 1
        name = f"users{self.resources}"
        self.store("db/" + name, '{"users":[{"name":"Alice"},{"name":"Bob"}]}')
        modules = os.path.join(PROGRAMS["npm"], "node_modules")
        done = node(os.path.join(HERE, "sdk", "client.mjs"), modules, sdk, mode, *target, "db", name,
                    timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stdout), (0, b"ok\n"), done.stderr.decode())

    def setUp(self):
        super().setUp()
        self.resources = 0

    def test_both_sdks_do_an_agents_work_over_stdio(self):
        for sdk, mode in CLIENTS:
            with self.subTest(f"{sdk} {mode}"):
                self.play(sdk, mode, "stdio", PROGRAMS["mcp"], self.data)

    def test_both_sdks_do_an_agents_work_over_http(self):
        # Over HTTP nothing is known of clients of the legacy era, so they cannot be asked.
        two_step = self.file("two_step.json", '{"server":{"confirm":"two-step"}}')
        reader, writer = (Server("--database-path", self.data, *more)
                          for more in ((), ("--read-write", "--config", two_step)))
        self.gateways += [reader, writer]
        for sdk, mode in CLIENTS:
            with self.subTest(f"{sdk} {mode}"):
                self.play(sdk, mode, "http", reader.url, writer.url)

    def test_the_sdks_of_these_versions_were_used(self):
        self.assertEqual(version("@modelcontextprotocol/sdk"), "1.32.2")
        self.assertEqual(version("@modelcontextprotocol/client"), "2.4.0")


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"], PROGRAMS["npm"] = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
