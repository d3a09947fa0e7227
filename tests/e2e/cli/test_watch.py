#!/usr/bin/python3
"""sirixctl watch: a line a revision, at once, and again after the server was replaced.

    test_watch.py SIRIXCTL STORAGED [unittest arguments]
"""
import json
import os
import signal
import subprocess

import ctl


class Watch(ctl.Folder):
    def setUp(self):
        super().setUp()
        self.load({"n": 0})
        self.head = self.ask("history", "db/res")["revisions"][0]["revision"]

    def watch(self, *args):
        process = subprocess.Popen([ctl.Programs.sirixctl, "watch", *args, *self.flags()],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def ended(self, process, code):
        self.assertEqual(process.wait(ctl.LIMIT_S), code, process.stderr.read())

    def test_revisions_come_as_lines_of_json_while_it_runs(self):
        process = self.watch("db/res", "--json", "--from", str(self.head), "--count", "3")
        first = json.loads(process.stdout.readline())
        listed = self.ask("history", "db/res")["revisions"][0]
        self.assertEqual(first, {"resource": "res", "behind": 0, **listed})
        for value in ("1", "2"):
            self.run_ctl("update", "db/res", "/n", value, "--message", "now " + value)
            line = json.loads(process.stdout.readline())
            self.assertEqual((line["message"], line["behind"]), ("now " + value, 0))
        self.ended(process, 0)

    def test_a_database_is_watched_in_words_with_what_is_created_and_dropped(self):
        process = self.watch("db", "--count", "3")
        self.run_ctl("watch", "db/res", "--from", "1", "--count", "1")
        seen = []
        for i in range(100):  # Until the watch has begun.
            self.run_ctl("update", "db/res", "/n", str(i))
            ready = ctl.select.select([process.stdout], [], [], 0.1)[0]
            if ready:
                break
        seen.append(process.stdout.readline())
        self.assertRegex(seen[0], r"^res  \d+  \S+  owner  main\n$")
        self.run_ctl("watch", "db@1", code=65)
        process.kill()

    def test_it_goes_on_behind_the_last_revision_when_the_server_was_replaced(self):
        process = self.watch("db/res", "--json", "--from", str(self.head), "--count", "2")
        self.assertEqual(json.loads(process.stdout.readline())["revision"], self.head)
        os.kill(self.daemon(), signal.SIGTERM)
        self.run_ctl("update", "db/res", "/n", "7")
        line = process.stdout.readline()
        self.assertTrue(line, process.stderr.read() if not line else "")
        self.assertEqual(json.loads(line)["revision"], self.head + 1)
        self.ended(process, 0)

    def test_it_ends_at_ctrl_c_at_its_time_and_when_nothing_is_left(self):
        process = self.watch("db/res", "--from", str(self.head))
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.ended(process, 130)
        self.run_ctl("watch", "db/res", "--timeout", "1", code=124)
        process = self.watch("db/res", "--from", str(self.head))
        process.stdout.readline()
        self.run_ctl("drop", "db/res", "--yes")
        self.ended(process, 66)
        self.assertEqual(self.error("watch", "db/none", code=66)["reason"], "resource_unknown")
        self.run_ctl("watch", "db", "--from", "1", code=64)


if __name__ == "__main__":
    ctl.main()
