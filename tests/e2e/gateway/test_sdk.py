#!/usr/bin/python3
"""The official TypeScript SDK as a client of sirix-mcp.

    test_sdk.py SIRIX_MCP SIRIXCTL NPM_FOLDER [unittest arguments]
"""
import os
import sys
import unittest

from mcp_client import LIMIT_S, PROGRAMS, Case
from npm_tools import HERE, node, version


class Clients(Case):
    def test_the_typescript_sdk_does_an_agents_work(self):
        self.store("db/users", '{"users":[{"name":"Alice"},{"name":"Bob"}]}')
        modules = os.path.join(PROGRAMS["npm"], "node_modules")
        done = node(os.path.join(HERE, "sdk", "client.mjs"), modules, PROGRAMS["mcp"], self.data,
                    "db", "users", timeout=LIMIT_S)
        self.assertEqual((done.returncode, done.stdout), (0, b"ok\n"), done.stderr.decode())

    def test_the_sdk_of_this_version_was_used(self):
        self.assertEqual(version("@modelcontextprotocol/sdk"), "1.32.2")


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"], PROGRAMS["npm"] = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
