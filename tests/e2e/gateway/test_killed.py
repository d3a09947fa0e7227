#!/usr/bin/python3
"""A confirmed write that is killed at each of its steps: what the log and the store say of it.

    test_killed.py SIRIX_MCP SIRIXCTL SIRIX_MCP_KILLED [unittest arguments]
"""
import glob
import os
import subprocess
import sys
import unittest

from mcp_client import LIMIT_S, PROGRAMS, Case, Gateway

WHERE = {"database": "db", "resource": "users"}
# The step, whether the log has its intent, whether the store has the write, what verify says.
STEPS = (
    ("intent-before", False, False, None),
    ("intent-torn", False, False, None),
    ("intent-after", True, False, ": has not happened"),
    ("call-after", True, True, ": has happened"),
    ("outcome-before", True, True, ": has happened"),
    ("outcome-torn", True, True, ": has happened"),
    ("outcome-after", True, True, None),
)


class Killed(Case):
    def verify(self, *args):
        done = subprocess.run([PROGRAMS["mcp"], "audit", "verify", *args], capture_output=True,
                              timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout.decode() + done.stderr.decode()

    def kill_at(self, step, tool, arguments):
        """Confirms a call in a process that dies at that step; its log."""
        before = set(glob.glob(os.path.join(self.data, "audit", "*.jsonl")))
        gateway = self.open("--read-write")
        shown = gateway.call(tool, **WHERE, **arguments)
        gateway.close()
        program = PROGRAMS["mcp"]
        try:
            PROGRAMS["mcp"] = PROGRAMS["killed"]
            victim = Gateway("--database-path", self.data, "--read-write",
                             env={**os.environ, "SIRIX_TEST_KILL": step})
        finally:
            PROGRAMS["mcp"] = program
        self.gateways.append(victim)
        victim.initialize()
        logs = set(glob.glob(os.path.join(self.data, "audit", "*.jsonl"))) - before
        victim.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
            "name": tool, "arguments": {**WHERE, **arguments,
                                        "confirmToken": shown["confirmToken"]}}})
        self.assertIsNone(victim.line(), step)
        self.assertEqual(victim.process.wait(LIMIT_S), -9)
        return max(logs, key=os.path.getmtime)

    def test_there_is_an_intent_for_each_write_and_verify_settles_it(self):
        self.store("db/users", '{"a":1,"b":2}')
        holder = self.open("--read-write")
        holder.call("sirix_create_branch", **WHERE, name="side")
        turn = 0
        for step, has_intent, has_happened, settled in STEPS:
            for tool in ("sirix_delete", "sirix_revert", "sirix_promote"):
                with self.subTest(step=step, tool=tool):
                    turn += 1
                    # Something to delete, to revert, and to promote.
                    holder.call("sirix_insert", **WHERE, data={f"m{turn}": turn})
                    key = holder.call("sirix_read_node", **WHERE, path=f"/m{turn}")["nodeKey"]
                    arguments = {"sirix_delete": {"nodeKey": key},
                                 "sirix_revert": {"revision": 1},
                                 "sirix_promote": {"branch": "side", "replace": True}}[tool]
                    head = holder.call("sirix_read_node", **WHERE)["revision"]
                    log = self.kill_at(step, tool, arguments)
                    now = holder.call("sirix_read_node", **WHERE)["revision"]
                    self.assertEqual(now != head, has_happened)
                    with open(log, encoding="utf-8") as file:
                        whole = [line for line in file if line.endswith("\n")]
                    self.assertEqual(any('"event":"intent"' in line for line in whole), has_intent)
                    code, text = self.verify("--database-path", self.data, log)
                    self.assertNotEqual(code, 0, text)  # Its chain has no end.
                    if settled is None:
                        self.assertNotIn("happened", text)
                    else:
                        self.assertIn(settled, text)
                    self.assertNotIn(" is open", text)
        self.assertEqual(holder.close(), 0)


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"], PROGRAMS["killed"] = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=1)
