#!/usr/bin/python3
"""deploy/agent.py on documents of every shape.

    test_agent.py SIRIX_MCP SIRIXCTL AGENT [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest

from mcp_client import LIMIT_S, PROGRAMS, Case

DOCUMENTS = [
    '{"users":[{"name":"Alice","n":1.50},{"name":"Bob"}],"v":"1.0"}', '[1,2,{"a":[]},"x"]',
    '"hello"', "42", "null", "true", "[]", "{}", '{"a":{"b":{"c":{}}}}', "[[[[]]]]", '{"":""}',
    '{"3166-2":[{"code":"AD-02","name":"Canillo"},{"code":"AD-03","name":"Encamp"}]}',
    '{"a\\u0000b":[1e400,-0.0,"\\u001b"]}', json.dumps([list(range(50)) for _ in range(50)]),
]


class Agent(Case):
    def run_agent(self, *more, mcp=None):
        return subprocess.run(
            [sys.executable, PROGRAMS["agent"], "--mcp", mcp or PROGRAMS["mcp"], "--sirixctl",
             PROGRAMS["sirixctl"], "--data", self.data, "--database", "db", "--resource", *more],
            capture_output=True, timeout=LIMIT_S, check=False)

    def test_its_work_is_as_expected_on_any_document_and_again(self):
        for number, document in enumerate(DOCUMENTS):
            with self.subTest(document[:60]):
                self.store(f"db/r{number}", document)
                for _ in range(2):
                    done = self.run_agent(f"r{number}")
                    self.assertEqual(done.returncode, 0, done.stderr.decode())
                    self.assertIn(b"Every revision was as expected", done.stdout)
                text = self.ctl("export", f"db/r{number}").strip()
                self.assertEqual(json.loads(text), json.loads(document))

    def test_a_resource_that_is_not_there_fails(self):
        self.store("db/r", "1")
        done = self.run_agent("nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"there is no resource", done.stderr)

    def test_a_server_that_says_what_is_not_so_is_found_out(self):
        self.store("db/r", '[1,2]')
        liar = os.path.join(self.dir, "liar")
        with open(liar, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n'{PROGRAMS['mcp']}' \"$@\" | "
                       "sed -u 's/\"parentRevision\":[0-9][0-9]*/\"parentRevision\":77/'\n")
        os.chmod(liar, 0o755)
        done = self.run_agent("r", mcp=liar)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Mismatch", done.stderr)


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"], PROGRAMS["agent"] = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
