#!/usr/bin/python3
"""sirixctl from the outside: answers, exit codes, terminals, and the daemon that it starts.

    test_cli.py SIRIXCTL STORAGED [unittest arguments]
"""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SIRIXCTL = ""
STORAGED = ""
LIMIT_S = 60


# A program on a terminal starts with few variables, but a sanitizer's build needs its own.
SANITIZERS = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}


class Folder(unittest.TestCase):
    """Each test has a data folder of its own."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix cli ")
        self.data = os.path.join(self.dir, "data")

    def tearDown(self):
        pid = self.daemon()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.wait_for_end(pid)
        shutil.rmtree(self.dir)

    # --- Helpers ------------------------------------------------------------------------------

    def flags(self):
        return ["--data", self.data, "--storaged", STORAGED]

    def run_ctl(self, *args, code=0, stdin=b"", env=None):
        """Runs a command and checks its exit code; stdout and stderr as text."""
        done = subprocess.run([SIRIXCTL, *args, *self.flags()], input=stdin, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done.stdout.decode(), done.stderr.decode()

    def ask(self, *args, **more):
        return json.loads(self.run_ctl(*args, "--json", **more)[0])

    def error(self, *args, code, **more):
        return json.loads(self.run_ctl(*args, "--json", code=code, **more)[1])["error"]

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return path

    def load(self, value, name="db/res"):
        return self.ask("import", name, "-", stdin=json.dumps(value).encode())

    def export(self, name="db/res", *args):
        return json.loads(self.run_ctl("export", name, *args)[0])

    def daemon(self):
        """The daemon of the folder, if it lives: what wrote the log last."""
        log = os.path.join(self.data, "storaged.log")
        if not os.path.exists(log):
            return None
        with open(log) as lines:
            pids = [json.loads(line)["pid"] for line in lines if '"msg":"serving"' in line]
        if not pids:
            return None
        try:
            fd = os.pidfd_open(pids[-1])
        except ProcessLookupError:
            return None
        ended = select.select([fd], [], [], 0)[0]
        os.close(fd)
        return None if ended else pids[-1]

    def wait_for_end(self, pid):
        """It is no child of ours; whoever has to reap it may take a while, which is not our matter."""
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended = select.select([fd], [], [], LIMIT_S)[0]
        os.close(fd)
        self.assertTrue(ended, "the daemon lives on")

    def on_terminal(self, *args, env=None):
        """Runs a command on a terminal and returns all that it wrote there."""
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(SIRIXCTL, [SIRIXCTL, *args, *self.flags()],
                      {"TERM": "xterm", "PATH": "/usr/bin:/bin", **SANITIZERS, **(env or {})})
        seen = b""
        while True:
            ready, _, _ = select.select([fd], [], [], LIMIT_S)
            self.assertTrue(ready, "nothing comes any more")
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        return seen.decode(), os.waitstatus_to_exitcode(status)


class Workflow(Folder):
    def test_a_document_goes_through_its_whole_life(self):
        first = self.load({"users": [{"name": "Ann", "age": 30}], "n": None})
        self.assertTrue(first["databaseCreated"] and first["resourceCreated"])
        update = self.ask("update", "db/res", "/users/[0]/age", "31", "--message", "a birthday",
                          "--on-behalf-of", "ann")
        self.assertEqual(update["parentRevision"], first["revision"])
        self.ask("insert", "db/res", "/users", '{"name":"Bob"}', "--position", "last")
        self.ask("insert", "db/res", "0", "1.10", "--name", "x")
        self.ask("rename", "db/res", "/n", "m")
        self.ask("move", "db/res", "/users/[1]", "/users/[0]", "--position", "before")
        self.ask("delete", "db/res", "/x")
        self.assertEqual(self.export(), {"users": [{"name": "Bob"}, {"name": "Ann", "age": 31}],
                                         "m": None})

        history = self.ask("history", "db/res")["revisions"]
        numbers = [entry["revision"] for entry in history]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        birthday = next(e for e in history if e["revision"] == update["revision"])
        self.assertEqual((birthday["message"], birthday["onBehalfOf"]), ("a birthday", "ann"))
        self.assertEqual(len(self.ask("history", "db/res", "--count", "2")["revisions"]), 2)

        self.ask("revert", "db/res@%d" % first["revision"])
        self.assertEqual(self.export(), {"users": [{"name": "Ann", "age": 30}], "n": None})
        self.assertEqual(self.ask("verify", "db")["problemCount"], 0)

    def test_names_behind_the_at_are_resolved_as_documented(self):
        one = self.load([1])["revision"]
        two = self.ask("update", "db/res", "/[0]", "2")
        self.ask("snapshot", "create", "db/res@%d" % one, "label")
        self.ask("branch", "create", "db/res@%d" % one, "fork")
        self.ask("update", "db/res", "/[0]", "3", "--branch", "fork")

        for name, value in (("@%d" % one, [1]), ("@label", [1]), ("@fork", [3]), ("", [2]),
                            ("@main", [2]), ("@" + two["timestamp"], [2]),
                            ("@9999-01-01", [2])):
            with self.subTest(name):
                self.assertEqual(self.export("db/res" + name), value)
        self.assertEqual(self.export("db/res", "--branch", "fork"), [3])
        self.assertEqual(self.export("db/res@9999-01-01", "--branch", "fork"), [3])
        # A label called main is not what @main means.
        self.ask("snapshot", "create", "db/res@%d" % one, "main")
        self.assertEqual(self.export("db/res@main"), [2])
        self.run_ctl("export", "db/res@label", "--branch", "fork", code=64)
        self.assertEqual(self.error("export", "db/res@nothing", code=66)["reason"],
                         "branch_unknown")
        self.assertEqual(self.error("export", "db/res@2024-01-01T10:00", code=65)["status"],
                         "invalid")

    def test_branches_are_promoted_and_end(self):
        self.load([1])
        self.ask("branch", "create", "db/res", "try", "--ttl", "3600")
        self.ask("update", "db/res", "/[0]", "2", "--branch", "try")
        listed = {b["name"]: b for b in self.ask("branch", "list", "db/res")["branches"]}
        self.assertIsNotNone(listed["try"]["expiresAt"])
        promoted = self.ask("branch", "promote", "db/res", "try")
        self.assertTrue(promoted["changed"])
        self.assertEqual(self.export(), [2])
        self.assertFalse(self.ask("branch", "promote", "db/res", "try")["changed"])
        self.ask("branch", "delete", "db/res", "try")
        self.assertEqual([b["name"] for b in self.ask("branch", "list", "db/res")["branches"]],
                         ["main"])

    def test_snapshots_are_listed_as_the_file_that_they_once_were(self):
        revision = self.load([1])["revision"]
        made = self.ask("snapshot", "create", "db/res", "before")
        self.assertEqual(self.ask("snapshot", "list", "db/res"),
                         {"before": {"revision": revision, "timestamp": made["timestamp"]}})
        self.ask("update", "db/res", "/[0]", "2")
        self.assertEqual(self.error("snapshot", "create", "db/res", "before", code=73)["status"],
                         "already_exists")
        self.assertTrue(self.ask("snapshot", "create", "db/res", "before",
                                 "--replace")["changed"])
        self.ask("snapshot", "delete", "db/res", "before")
        self.assertEqual(self.ask("snapshot", "list", "db/res"), {})

    def test_a_diff_has_three_forms(self):
        one = self.load({"a": [1, 2], "b": "x"})["revision"]
        self.ask("update", "db/res", "/b", '"y"')
        self.ask("insert", "db/res", "/a", "0")
        whole = self.ask("diff", "db/res@%d" % one, "@main")
        self.assertEqual(whole["counts"]["inserts"], 1)
        self.assertEqual(whole["counts"]["updates"], 1)
        self.assertEqual({c["type"] for c in whole["changes"]}, {"insert", "update"})
        stat = self.ask("diff", "db/res@%d" % one, "@main", "--stat")
        self.assertEqual(stat["counts"], whole["counts"])
        self.assertNotIn("changes", stat)
        for second in ("@main", "db/res", "db/res@main", "db/res@%d" % (one + 2)):
            self.assertEqual(self.ask("diff", "db/res@%d" % one, second), whole)
        self.assertIn("one resource", self.run_ctl("diff", "db/res@1", "db/other", code=64)[1])
        patch, _ = self.run_ctl("diff", "db/res@%d" % one, "@main", "--json-patch")
        self.ask("branch", "create", "db/res@%d" % one, "old")
        self.ask("apply", "db/res", "-", "--branch", "old", stdin=patch.encode())
        self.assertEqual(self.export("db/res@old"), self.export())
        self.assertEqual(len(self.ask("diff", "db/res")["changes"]), 1)  # Of its parent.
        self.run_ctl("diff", "db/res", "--stat", "--json-patch", code=64)

    def test_the_history_of_a_node_is_of_that_node_alone(self):
        self.load({"a": {"x": 1}, "b": 0})
        long = json.dumps("é" * 70000)
        self.ask("update", "db/res", "/a/x", "2", "--message", "one\nline")
        self.ask("update", "db/res", "/b", "1")
        self.ask("rename", "db/res", "/a/x", "y")
        self.ask("update", "db/res", "/a/y", "-", stdin=long.encode())
        entries = self.ask("history", "db/res", "/a/y")["revisions"]
        self.assertEqual([(e["revision"], e["change"], e["kind"]) for e in entries],
                         [(6, "replace", "string"), (5, "rename", "number"),
                          (3, "update", "number"), (2, "insert", "number")])
        self.assertEqual((entries[2]["value"], entries[2]["name"], entries[2]["message"]),
                         (2, "x", "one\nline"))
        self.assertTrue(entries[0]["text"].startswith('"é'))  # Cut: it is no JSON any more.
        self.assertNotIn("value", entries[0])
        key = str(self.ask("read", "db/res", "/a/y")["nodes"][0]["nodeKey"])
        self.assertEqual(self.ask("history", "db/res", key, "--count", "2")["revisions"],
                         entries[:2])
        self.assertEqual(self.ask("history", "db/res@3", "/a/x")["revisions"], entries[2:])
        self.assertEqual(self.ask("history", "db/res", "--count", "0")["revisions"], [])
        words = self.run_ctl("history", "db/res@3", key)[0]
        self.assertRegex(words, r"^3  \S+  owner  main  one\\nline\n    update  2\n2  ")
        self.error("history", "db/res", "/zz", code=66)

    def test_lists_of_many_pages_are_shown_whole(self):
        self.load([])
        patch = json.dumps([{"op": "add", "path": "/-", "value": 0}]).encode()
        for _ in range(25):
            self.ask("apply", "db/res", "-", stdin=patch)
        self.assertEqual([r["revision"] for r in self.ask("history", "db/res",
                                                          "--count", "22")["revisions"]],
                         list(range(27, 5, -1)))
        self.assertEqual(len(self.ask("history", "db/res")["revisions"]), 20)
        self.assertEqual(len(self.ask("history", "db/res", "--count", "1000000")["revisions"]), 27)

    def test_databases_and_resources_are_made_listed_and_dropped(self):
        self.ask("create", "db")
        self.ask("create", "db/empty")
        self.load([1], "db/full")
        self.assertEqual([d["name"] for d in self.ask("list")["databases"]], ["db"])
        self.assertEqual([r["name"] for r in self.ask("list", "db")["resources"]],
                         ["empty", "full"])
        self.assertEqual(self.ask("list", "db/full")["resource"], "full")
        self.run_ctl("drop", "db/full", code=64)
        self.ask("drop", "db/full", "--yes")
        self.ask("drop", "db", "--yes")
        self.assertEqual(self.ask("list")["databases"], [])


class Transfers(Folder):
    def test_ndjson_is_known_by_suffix_and_by_flag(self):
        path = self.file("lines.ndjson", '{"a":1}\n\n{"a":2}\n')
        self.assertEqual(self.ask("import", "db/one", path)["items"], 2)
        self.ask("import", "db/two", "-", "--ndjson", stdin=b"1\n2\n")
        self.assertEqual(self.export("db/one"), [{"a": 1}, {"a": 2}])
        self.assertEqual(self.run_ctl("export", "db/two", "--ndjson")[0], "1\n2\n")

    def test_several_files_go_into_the_resources_of_their_names(self):
        paths = [self.file("one.json", "[1]"), self.file("two.jsonl", "2\n"),
                 self.file("three", "3")]
        self.run_ctl("import", "db", *paths)
        self.assertEqual([self.export("db/" + n) for n in ("one", "two", "three")], [[1], [2], 3])
        self.run_ctl("import", "db/res", *paths, code=64)

    def test_a_wrong_text_changes_nothing_and_says_where(self):
        error = self.error("import", "db/res", self.file("bad.json", '{"a":[1,}'), code=65)
        self.assertEqual((error["reason"], error["offset"], error["pointer"]),
                         ("json_syntax", 8, "/a/1"))
        self.assertEqual(self.error("import", "db/res", self.file("twice", '{"a":1,"a":2}'),
                                    code=65)["reason"], "duplicate_key")
        kept = self.ask("import", "db/res", self.file("twice", '{"a":1,"a":2}'),
                        "--duplicate-keys", "last")
        self.assertEqual(kept["duplicatesDropped"], 1)
        self.assertEqual(self.error("import", "db/res", self.file("x", "1"), code=73)["reason"],
                         "resource_has_value")
        self.ask("import", "db/res", self.file("x", "1"), "--replace")
        self.assertEqual(self.export(), 1)
        self.run_ctl("import", "db/res", os.path.join(self.dir, "missing"), code=66)

    def test_an_import_can_go_into_a_place(self):
        self.load({"list": [1, 2]})
        self.ask("import", "db/res", self.file("x", "[9]"), "--at", "/list", "--position", "1")
        self.ask("import", "db/res", self.file("x", "true"), "--at", "0", "--name", "flag")
        self.assertEqual(self.export()["list"], [1, [9], 2])
        self.assertIs(self.export()["flag"], True)

    def test_large_values_and_documents_pass_whole(self):
        text = "x" * (3 * 1024 * 1024)
        self.load(["small"])
        self.ask("update", "db/res", "/[0]", "-", stdin=json.dumps(text).encode())
        self.assertEqual(self.export(), [text])

    def test_exact_numbers_and_odd_strings_survive(self):
        text = '[1.10,1e400,-0,"\\u0000\\u202e\\u007f",12345678901234567890123]'
        self.ask("import", "db/res", "-", stdin=text.encode())
        out, _ = self.run_ctl("export", "db/res")
        self.assertEqual(out, '[1.10,1e400,-0,"\\u0000\u202e\u007f",12345678901234567890123]\n')

    def test_an_exported_file_appears_whole_or_not_at_all(self):
        self.load([1, 2])
        path = os.path.join(self.dir, "out.json")
        self.run_ctl("export", "db/res", "--output", path)
        with open(path) as out:
            self.assertEqual(out.read(), "[1,2]\n")
        self.run_ctl("export", "db/res@99", "--output", os.path.join(self.dir, "no.json"), code=66)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "no.json")))

    def test_output_that_cannot_be_written_is_an_error(self):
        self.load([1])
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SIRIXCTL, "export", "db/res", *self.flags()], stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 74)


class Writing(Folder):
    def test_an_expected_revision_that_moved_is_a_conflict_that_names_the_head(self):
        first = self.load([1])["revision"]
        head = self.ask("update", "db/res", "/[0]", "2")["revision"]
        error = self.error("update", "db/res", "/[0]", "3", "--expected-revision", str(first),
                           code=75)
        self.assertEqual((error["reason"], error["currentRevision"]), ("revision_moved", head))

    def test_the_same_idempotency_key_answers_the_same(self):
        self.load([1])
        args = ("update", "db/res", "/[0]", "2", "--idempotency-key", "once")
        first = self.ask(*args)
        again = self.ask(*args)
        self.assertEqual(again["revision"], first["revision"])
        self.assertTrue(again["replayed"])

    def test_a_patch_is_applied_as_one_revision(self):
        before = self.load({"a": [1, 2, 3], "b": {"x": 1, "y": [{"z": 1}]}, "c": "s"})
        patch = [
            {"op": "test", "path": "/a/1", "value": 2.0},
            {"op": "add", "path": "/a/1", "value": 9},
            {"op": "add", "path": "/a/-", "value": {"q": []}},
            {"op": "replace", "path": "/b/x", "value": {"k": 1}},
            {"op": "remove", "path": "/c"},
            {"op": "add", "path": "/d~1e", "value": None},
            {"op": "move", "from": "/a/0", "path": "/a/2"},
            {"op": "move", "from": "/b/y/0", "path": "/f"},
            {"op": "add", "path": "/f/new", "value": {"deep": []}},
            {"op": "add", "path": "/f/new/deep/0", "value": "in what the patch put there"},
        ]
        done = self.ask("apply", "db/res", "-", stdin=json.dumps(patch).encode())
        self.assertEqual(done["parentRevision"], before["revision"])
        self.assertEqual((done["tests"], done["applied"], done["dryRun"]), (1, 9, False))
        self.assertEqual(self.export(), {
            "a": [9, 2, 1, 3, {"q": []}], "b": {"x": {"k": 1}, "y": []}, "d/e": None,
            "f": {"z": 1, "new": {"deep": ["in what the patch put there"]}}})

    def test_a_patch_that_does_not_fit_changes_nothing(self):
        self.load({"a": [1]})
        cases = (
            ([{"op": "add", "path": "/b", "value": 1},
              {"op": "test", "path": "/a/0", "value": 2}], 65, "patch_test"),
            ([{"op": "remove", "path": "/zz"}], 65, "patch_target"),
            ([{"op": "add", "path": "/a/5", "value": 1}], 65, "patch_target"),
            ([{"op": "add", "path": "/a/00", "value": 1}], 65, "patch_target"),
            ([{"op": "remove", "path": ""}], 65, "patch_target"),
            ([{"op": "move", "from": "/a", "path": "/a/0"}], 65, "patch_target"),
            ([{"op": "frob", "path": ""}], 65, "field_invalid"),
            ([{"op": "add", "path": "/b"}], 65, "field_missing"),
            ({}, 65, "field_invalid"),
        )
        for patch, code, reason in cases:
            with self.subTest(patch):
                error = self.error("apply", "db/res", "-", code=code,
                                   stdin=json.dumps(patch).encode())
                self.assertEqual((error["reason"], error["field"]), (reason, "json_patch"))
        self.assertEqual(self.export(), {"a": [1]})

    def test_a_dry_run_tells_what_would_happen(self):
        self.load({"a": [1]})
        patch = b'[{"op":"test","path":"/a","value":[1]},{"op":"remove","path":"/a"}]'
        done = self.ask("apply", "db/res", "-", "--dry-run", stdin=patch)
        self.assertEqual((done["dryRun"], done["changed"], done["applied"], done["tests"]),
                         (True, False, 1, 1))
        words = self.run_ctl("apply", "db/res", "-", "--dry-run", stdin=patch)[0]
        self.assertEqual(words, "revision 2 takes it: 1 operation, 1 test passed\n")
        self.assertEqual(self.run_ctl("apply", "db/res", "-", "--dry-run", "--quiet",
                                      stdin=patch)[0], "")
        self.error("apply", "db/res", "-", "--dry-run", code=65,
                   stdin=b'[{"op":"remove","path":"/b"}]')
        self.assertEqual(self.export(), {"a": [1]})

    def test_a_large_patch_and_a_deep_one_are_applied(self):
        self.load([])
        patch = [{"op": "add", "path": "/-", "value": "x" * 90 + str(i)} for i in range(20000)]
        done = self.ask("apply", "db/res", self.file("patch.json", json.dumps(patch)))
        self.assertEqual(done["applied"], 20000)
        self.assertEqual(len(self.export()), 20000)
        deep = '[{"op":"add","path":"","value":%s}]'
        self.ask("apply", "db/res", "-", stdin=(deep % ("[" * 1000 + "]" * 1000)).encode())
        self.error("apply", "db/res", "-", code=65,
                   stdin=(deep % ("[" * 1001 + "]" * 1001)).encode())

    def test_what_changed_on_a_branch_is_applied_to_another(self):
        self.load({"a": 1, "b": 1, "c": [1]})
        self.ask("branch", "create", "db/res", "side")
        self.ask("update", "db/res", "/a", "2", "--branch", "side")
        self.ask("insert", "db/res", "/c", "0", "--branch", "side")
        self.ask("snapshot", "create", "db/res", "before")
        self.ask("update", "db/res", "/b", "2")
        args = ("apply", "db/res", "--from", "before", "--to", "side")
        dry = self.run_ctl(*args, "--dry-run")[0]
        self.assertRegex(dry, r"^revision \d+ takes it: 2 changes to do, 0 there already\n$")
        done = self.ask(*args, "--message", "from side")
        self.assertEqual((done["applied"], done["already"], done["changed"], done["keys"]),
                         (2, 0, True, []))
        self.assertEqual(self.export(), {"a": 2, "b": 2, "c": [0, 1]})
        self.assertEqual(self.ask("history", "db/res")["revisions"][0]["message"], "from side")
        self.assertEqual(self.ask(*args)["already"], 2)
        # All that a branch has changed since it began.
        self.ask("branch", "create", "db/res@before", "other")
        since = self.ask("apply", "db/res", "--to", "side", "--since-parted", "--branch", "other")
        self.assertEqual(since["applied"], 2)
        self.assertEqual(self.export("db/res@other"), self.export("db/res@side"))
        # One end: what that revision changed.
        self.ask("update", "db/res", "/b", "3", "--branch", "side")
        error = self.error("apply", "db/res", "--to", "side", code=75)
        self.assertEqual((error["reason"], error["pointer"]), ("apply_conflict", "/b"))
        told = self.run_ctl("apply", "db/res", "--to", "side", code=75)[1]
        self.assertIn("hint: nothing was changed", told)
        self.assertEqual(self.export(), {"a": 2, "b": 2, "c": [0, 1]})


    def test_a_patch_puts_the_first_value(self):
        self.ask("create", "db")
        self.ask("create", "db/res")
        self.ask("apply", "db/res", "-", stdin=b'[{"op":"add","path":"","value":[1]}]')
        self.assertEqual(self.export(), [1])


class CommandLine(Folder):
    def test_mistakes_end_with_64_and_a_guess(self):
        cases = (
            (["histroy"], "did you mean `history`?"),
            (["export", "db/res", "--brnch", "x"], "did you mean --branch?"),
            (["export"], "wants DB/RESOURCE"),
            (["export", "db/res", "more"], "nothing else"),
            (["export", "db/res", "--indent", "-1"], "whole number"),
            (["export", "db/res", "--indent", "1", "--indent", "2"], "twice"),
            (["export", "db/res", "--ndjson=1"], "takes no value"),
            (["export", "db/res", "-x"], "two dashes"),
            (["status", "--storage", "unix:/x"], "both given"),
            (["status", "--color", "blue"], "auto, always or never"),
        )
        for args, words in cases:
            with self.subTest(args):
                self.assertIn(words, self.run_ctl(*args, code=64)[1])

    def test_every_command_explains_itself(self):
        done = subprocess.run([SIRIXCTL, "--help"], stdout=subprocess.PIPE, check=True)
        part = done.stdout.decode().split("Commands:\n")[1].split("\n\n")[0]
        names = [line[2:21].strip() for line in part.splitlines()]
        self.assertIn("snapshot create", names)
        for name in names:
            with self.subTest(name):
                out, _ = self.run_ctl(*name.split(), "--help")
                self.assertIn("Usage: sirixctl " + name, out)

    def test_the_completion_scripts_are_valid_shell(self):
        for shell in ("bash", "zsh", "fish"):
            script = subprocess.run([SIRIXCTL, "completion", shell], check=True,
                                    stdout=subprocess.PIPE).stdout
            self.assertIn(b"snapshot", script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, check=True, timeout=LIMIT_S)
        for line, offered in (("sirixctl snapshot cr", {"create"}), ("sirixctl hist", {"history"}),
                              ("sirixctl --data d --json snapshot cr", {"create"}),
                              ("sirixctl --data d hist", {"history"}),
                              ("sirixctl --data d diff x --sta", {"--stat"}),
                              ("sirixctl --da", {"--data"}), ("sirixctl --data di", set())):
            with self.subTest(line):
                words = subprocess.run(
                    ["bash", "-c", 'source <("$0" completion bash); COMP_WORDS=($1); '
                     'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sirixctl; echo "${COMPREPLY[@]}"',
                     SIRIXCTL, line], check=True, stdout=subprocess.PIPE, timeout=LIMIT_S).stdout
                self.assertEqual(set(words.decode().split()), offered)

    def test_an_address_where_nobody_is_gives_up_soon(self):
        start = time.monotonic()
        done = subprocess.run([SIRIXCTL, "status", "--storage", "unix:" + self.dir + "/none"],
                              stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 69)
        self.assertLess(time.monotonic() - start, 10)

    def test_flags_that_contradict_are_told_as_that(self):
        for flags, words in (([], b"where is the data?"),
                             (["--data", self.data, "--storage", "unix:x"], b"are both given"),
                             (["--data", self.data, "--timeout", "0"], b"--timeout wants")):
            with self.subTest(flags):
                done = subprocess.run([SIRIXCTL, "list", *flags], stderr=subprocess.PIPE,
                                      timeout=LIMIT_S)
                self.assertEqual(done.returncode, 64)
                self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(self.data))

    def test_flags_of_every_command_may_stand_before_it(self):
        self.load([1])
        for args in (["--json", *self.flags(), "export", "db/res"],
                     [*self.flags(), "snapshot", "list", "db/res", "--json"]):
            with self.subTest(args):
                done = subprocess.run([SIRIXCTL, *args], stdout=subprocess.PIPE, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0)
                json.loads(done.stdout)
        for args, code, words in ((["--branch", "x", "export"], 64, b"unknown flag --branch"),
                                  (["--data"], 64, b"needs a value"),
                                  (["--json", "--help"], 0, b""),
                                  (["--quiet"], 64, b"Usage")):
            with self.subTest(args):
                done = subprocess.run([SIRIXCTL, *args], stderr=subprocess.PIPE,
                                      stdout=subprocess.PIPE, timeout=LIMIT_S)
                self.assertEqual(done.returncode, code)
                self.assertIn(words, done.stderr)

    def test_a_number_below_zero_is_an_operand(self):
        self.load({"n": 1})
        self.ask("update", "db/res", "/n", "-1")
        self.assertEqual(self.export(), {"n": -1})
        subprocess.run([SIRIXCTL, *self.flags(), "update", "db/res", "/n", "--", "-2.5e1"],
                       check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
        self.assertEqual(self.export(), {"n": -25})

    def test_mistakes_are_found_before_a_daemon_is_started(self):
        cases = (
            (["export", "d b/res"], 65), (["export", "db"], 64), (["export", "db/res@"], 65),
            (["export", "db/res", "--node", "x"], 64), (["export", "db/res@l", "--branch", "b"], 64),
            (["export", "db/res", "--branch", "b b"], 65),
            (["read", "db/res", "x"], 64), (["read", "db/res", "--cursor", "zz"], 64),
            (["list", "db//"], 65), (["create", "-"], 65), (["create", "db@1"], 65),
            (["drop", "db"], 64), (["history", "db/res", "x"], 64),
            (["history", "db/res", "--count", "x"], 64),
            (["diff", "db/res@1", "db/other@2"], 64), (["diff", "db/res@1", "2"], 64),
            (["diff", "db/res@1", "@"], 65), (["diff", "db/res", "--max", "x"], 64),
            (["insert", "db/res", "x", "1"], 64), (["insert", "db/res", "0", "{]"], 65),
            (["insert", "db/res", "0", "1", "--position", "x"], 64),
            (["update", "db/res@1", "/a", "1"], 64), (["update", "db/res", "/a", "01"], 65),
            (["update", "db/res", "/a", "@/nowhere"], 66),
            (["update", "db/res", "/a", "1", "--expected-revision", "x"], 64),
            (["delete", "db/res", "x"], 64), (["rename", "db/res", "x", "n"], 64),
            (["move", "db/res", "0", "x"], 64), (["move", "db/res", "x", "0"], 64),
            (["apply", "db/res", "/nowhere"], 66), (["apply", "db/res", "-"], 65),
            (["apply", "db/res", "-", "--expected-revision", "x"], 64),
            (["apply", "db/res"], 64), (["apply", "db/res", "-", "--to", "1"], 64),
            (["apply", "db/res", "--from", "1"], 64),
            (["apply", "db/res", "--since-parted"], 64),
            (["apply", "db/res", "-", "--since-parted"], 64), (["apply", "db/res", "--to", "a b"], 65),
            (["apply", "db/res", "--to", "2", "--from", ""], 65),
            (["revert", "db/res"], 64), (["revert", "db/res@1", "--branch", ".x"], 65),
            (["snapshot", "create", "db/res", "12"], 65), (["snapshot", "list", "db/res@1"], 64),
            (["snapshot", "delete", "db/res", ""], 65),
            (["branch", "create", "db/res", "2024-01-01"], 65),
            (["branch", "create", "db/res", "b", "--ttl", "x"], 64), (["branch", "list", "db"], 64),
            (["branch", "delete", "db/res", "/"], 65), (["branch", "promote", "db/res", "/"], 65),
            (["branch", "promote", "db/res", "b", "--target", "/"], 65),
            (["verify", "db@1"], 65), (["verify", "db/res@1"], 64),
            (["import", "db/res", "/nowhere"], 66), (["import", "db", "/", "/"], 65),
            (["import", "db/res", "/"], 74), (["import", "db/res", "-", "--name", "x"], 64),
            (["import", "db/res", "-", "--at", "x"], 64),
            (["import", "db/res", "-", "--duplicate-keys", "x"], 64),
        )
        for args, code in cases:
            with self.subTest(args):
                self.run_ctl(*args, code=code, stdin=b"nonsense")
        self.assertFalse(os.path.exists(self.data))

    def test_an_error_says_what_is_wrong_where_and_what_would_help(self):
        self.load({"users": []}, "shop/users")
        self.ask("branch", "create", "shop/users", "feature")
        self.ask("snapshot", "create", "shop/users", "before")
        bad = self.file("bad.json", '{"a":[1,}')
        cases = (
            (["export", "shp/users"], 66, "hint: did you mean shop?"),
            (["export", "shop/usrs"], 66, "hint: did you mean users?"),
            (["export", "shop/zzzzzz"], 66, "hint: there is only users"),
            (["export", "shop/users@befor"], 66, "hint: did you mean before?"),
            (["export", "shop/users", "--branch", "featur"], 66, "featur"),
            (["branch", "delete", "shop/users", "featrue"], 66, "hint: did you mean feature?"),
            (["snapshot", "delete", "shop/users", "bfore"], 66, "hint: did you mean before?"),
            (["import", "shop/new", bad], 65, "at byte 8 (at /a/1)\n"),
            (["import", "shop/users", self.file("x", "1")], 73, "hint: --replace"),
            (["read", "shop/users", "/nothing"], 66, "hint: `read` shows"),
            (["update", "shop/users", "/users", "[1,}"], 65, "at byte 3 (at /1)\n"),
            (["insert", "shop/users", "/users/[7]", "1"], 66, "hint: `read` shows"),
            (["insert", "shop/users", "/users", "1", "--position", "7"], 66, "past the end"),
            (["insert", "shop/users", "/users", "1", "--name", "x"], 65, "has a name"),
            (["read", "shop/users@2026-13-01"], 65, "month 01..12 at byte 5"),
            (["delete", "shop/users", "/users", "--expected-revision", "7"], 75,
             "hint: somebody wrote meanwhile"),
            (["import", "shop", self.file("größe.json", "1")], 65,
             "give one, shop/NAME FILE"),
            (["snapshot", "crate", "shop/users", "x"], 64, "create, list, delete"),
            (["export", "shop/users", "-o", "x"], 64, "did you mean --output?"),
        )
        for args, code, words in cases:
            with self.subTest(args):
                told = self.run_ctl(*args, code=code)[1]
                self.assertIn(words, told)
                self.assertRegex(told, r"\Asirixctl: [^\n]+\n(hint: [^\n]+\n)?\Z")
                # Names of statuses and of a request's fields are for programs.
                self.assertNotRegex(told, r"not_found|invalid\)|_unknown|json_syntax|unsupported")
                self.assertNotRegex(told, r"field |\[0\]|view\.|options\.")
                self.assertNotRegex(told, r"(byte \d+).*\1\b")

    def test_a_hint_is_about_the_command_that_failed(self):
        self.load({"s": "x", "o": {"a": 1}})
        told = self.run_ctl("insert", "db/res", "/s", "1", code=78)[1]
        self.assertIn("has no children", told)
        self.assertNotIn("hint", told)
        self.assertIn("hint: update --replace", self.run_ctl("update", "db/res", "/o", "1",
                                                             code=78)[1])
        # Only an import has a flag for repeated keys.
        self.assertIn("hint: --duplicate-keys last", self.run_ctl("import", "db/new", "-", code=65,
                                                                  stdin=b'{"k":1,"k":2}')[1])
        patch = self.file("patch.json", '[{"op":"add","path":"/o/a","value":{"k":1,"k":2}}]')
        for args, code in ((["insert", "db/res", "/o", '{"k":1,"k":2}', "--name", "n"], 65),
                           (["insert", "db/res", "/o", "1", "--name", "a"], 73),
                           (["rename", "db/res", "/o", "s"], 73),
                           (["move", "db/res", "/s", "/o", "--name", "a"], 73),
                           (["apply", "db/res", patch], 65)):
            with self.subTest(args):
                self.assertNotIn("duplicate-keys", self.run_ctl(*args, code=code)[1])

    def test_a_name_that_differs_in_case_alone_is_told_as_that(self):
        self.load(1, "db/Res")
        self.ask("snapshot", "create", "db/Res", "Snap")
        self.ask("branch", "create", "db/Res", "Side")
        for args, there, given in ((["create", "DB"], "db", "DB"),
                                   (["create", "db/res"], "Res", "res"),
                                   (["snapshot", "create", "db/Res", "snap"], "Snap", "snap"),
                                   (["branch", "create", "db/Res", "side"], "Side", "side")):
            with self.subTest(args):
                self.assertIn(f"{there} exists, and {given} differs from it in case alone",
                              self.run_ctl(*args, code=73)[1])
        self.assertIn("exists already", self.run_ctl("create", "db/Res", code=73)[1])

    def test_a_long_pointer_is_cut_in_the_middle_for_people_only(self):
        deep = "[" * 1001 + "]" * 1001
        told = self.run_ctl("import", "db/res", "-", code=65, stdin=deep.encode())[1]
        self.assertRegex(told, r"\(at /0/0[0/]+\.\.\.[0/]+/0\)")
        self.assertLess(len(told), 400)
        pointer = self.error("import", "db/res", "-", code=65, stdin=deep.encode())["pointer"]
        self.assertEqual(pointer, "/0" * (len(pointer) // 2))
        self.assertGreater(len(pointer), 200)
        # A cut goes through no character.
        wide = '{"é":' * 200 + '{"éé":' * 100 + "[1,}" + "}" * 300
        self.assertIn("...", self.run_ctl("import", "db/res", "-", code=65,
                                          stdin=wide.encode())[1])

    def test_times_have_six_digits_so_that_they_sort_as_text(self):
        for value in range(12):
            self.load(value, f"db/r{value}")
        for resource in self.ask("list", "db")["resources"]:
            self.assertRegex(resource["timestamp"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")

    def test_help_of_one_command_has_two_forms(self):
        def out(*args, code=0):
            done = subprocess.run([SIRIXCTL, *args], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S)
            self.assertEqual(done.returncode, code, done)
            return done.stdout.decode() + done.stderr.decode()

        for command in (["import"], ["snapshot", "create"]):
            self.assertEqual(out("help", *command), out(*command, "--help"))
            self.assertTrue(out("help", *command).startswith("Usage: sirixctl " +
                                                             " ".join(command) + " "))
        self.assertEqual(out("help"), out("--help"))
        self.assertIn("--version", out("help"))
        self.assertIn("did you mean `import`?", out("help", "imprt", code=64))
        self.assertIn("create, list, delete", out("help", "snapshot", code=64))

    def test_a_cut_answer_says_how_it_goes_on(self):
        self.load({"a": list(range(5)), "s": "x" * 10000})
        seen = ""
        more = []
        while True:
            page = self.run_ctl("read", "db/res", "/a", "--children", "2", *more)[0]
            seen += page
            found = re.search(r"^more: (--cursor) ([0-9a-f]+)\n\Z", page, re.M)
            if not found:
                break
            more = list(found.groups())
        self.assertEqual(re.findall(r"\[(\d)\] ", seen), list("01234"))
        part = self.run_ctl("read", "db/res", "/s")[0]
        offset = re.search(r"^more: --offset (\d+)\n\Z", part, re.M).group(1)
        self.assertEqual(part.count("x") + self.run_ctl("read", "db/res", "/s", "--offset",
                                                        offset)[0].count("x") +
                         self.run_ctl("read", "db/res", "/s", "--offset",
                                      str(2 * int(offset)))[0].count("x"), 10000)
        self.assertNotIn("more", self.run_ctl("read", "db/res", "/s", "--quiet")[0])

    def test_one_is_one(self):
        self.assertIn(", 1 node, ", self.run_ctl("import", "db/res", "-", stdin=b"1")[0])
        self.assertIn(", 2 nodes, ", self.run_ctl("import", "db/two", "-", stdin=b"[1]")[0])
        self.assertIn("1 resource, 2 revisions, ", self.run_ctl("verify", "db/res")[0])
        self.assertIn(": 0 problems\n", self.run_ctl("verify", "db/res")[0])

    def test_the_whole_value_has_a_name_in_a_diff(self):
        self.load(1)
        self.ask("update", "db/res", "0", "2")
        self.assertTrue(self.run_ctl("diff", "db/res")[0].startswith("update the value (1)\n"))

    def test_exit_codes_are_documented_once_each(self):
        done = subprocess.run([SIRIXCTL, "--help"], stdout=subprocess.PIPE, check=True)
        part = done.stdout.decode().split("Exit codes:\n")[1]
        codes = [int(line.split()[0]) for line in part.splitlines()]
        self.assertEqual(codes, sorted(set(codes)))
        self.assertIn(64, codes)


class Tour(Folder):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix-cli-")  # People's folders; no blank in it.
        self.data = os.path.join(self.dir, "tour")

    def test_every_line_of_the_tour_in_the_readme_works(self):
        readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../README.md")
        with open(readme) as text:
            part = text.read().split("## Five minutes")[1].split("\n## ")[0]
        tour = re.search(r"```sh\n(.*?)```", part, re.S).group(1)
        self.assertGreater(tour.count("sirixctl"), 8)
        programs = os.path.join(self.dir, "build/release/bin")
        os.makedirs(programs)
        for program in (SIRIXCTL, STORAGED):
            os.symlink(program, os.path.join(programs, os.path.basename(program)))

        done = subprocess.run(["bash", "-euxc", tour.replace("/tmp/", self.dir + "/")],
                              cwd=self.dir, timeout=LIMIT_S, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

        self.assertEqual(done.returncode, 0, done.stderr.decode())
        out = done.stdout.decode()
        # What was labelled, byte for byte, and the revision before it was brought back.
        self.assertIn('\n{"users":[{"name":"Ann","age":31},{"name":"Bo","age":25}]}\n', out)
        self.assertIn('{"name":"Bo","age":26},{"name":"Cy","age":40}]}\n', out)
        self.assertIn("update /users/[1]/age", out)
        self.assertIn(" 0 problems", out)


class Terminals(Folder):
    EVIL = "\u202eevil\u200b\x7f\x9b31m\U000e0041"

    def test_stored_text_cannot_act_on_a_terminal(self):
        self.load({"k": self.EVIL, "n\x1b[31m\u202e": 1})
        self.ask("update", "db/res", "/k", '"x"', "--message", "m\x1b[2J\nforged \u202e")
        for args in (("read", "db/res"), ("history", "db/res"), ("diff", "db/res"),
                     ("export", "db/res"), ("read", "db/res", "--json"),
                     ("history", "db/res", "--json"), ("diff", "db/res", "--json"),
                     ("diff", "db/res", "--json-patch")):
            with self.subTest(args):
                seen, code = self.on_terminal(*args, "--color", "never")
                self.assertEqual(code, 0)
                self.assertIsNone(
                    re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202e\U000e0041]", seen),
                    repr(seen))
        # JSON on a terminal still means the same value.
        seen, _ = self.on_terminal("export", "db/res@2")
        self.assertEqual(json.loads(seen)["k"], self.EVIL)

    def test_colours_come_on_a_terminal_only_and_respect_no_color(self):
        self.load([1])
        self.ask("update", "db/res", "/[0]", "2")
        self.assertIn("\x1b[32m", self.on_terminal("diff", "db/res")[0])
        self.assertNotIn("\x1b", self.on_terminal("diff", "db/res", env={"NO_COLOR": "1"})[0])
        self.assertNotIn("\x1b", self.on_terminal("diff", "db/res", env={"TERM": "dumb"})[0])
        self.assertNotIn("\x1b", self.run_ctl("diff", "db/res")[0])
        self.assertIn("\x1b[32m", self.run_ctl("diff", "db/res", "--color", "always")[0])

    def test_an_import_shows_its_progress_on_a_terminal_only(self):
        element = json.dumps("x" * 1000) + ","
        path = self.file("big.json", "[" + element * 99999 + "1]")  # 100 MB.
        seen, code = self.on_terminal("import", "db/res", path)
        self.assertEqual(code, 0)
        bars = re.findall(r"\rbig\.json +(\d+)% \[(=*>? *)\] [\d.]+ .?B of 100\.\d MB"
                          r"  [\d.]+ .?B/s(  \d+:\d\d left)?", seen)
        self.assertGreater(len(bars), 2, seen)
        percents = [int(bar[0]) for bar in bars]
        self.assertEqual(percents, sorted(percents))
        self.assertTrue(any(bar[2] for bar in bars), "no time left")
        self.assertTrue(all(len(bar[1]) == 20 for bar in bars))
        self.assertIn("revision", seen.split("\x1b[K")[-1])  # The bar is gone from the screen.
        path = self.file("small.json", "[" + element * 9 + "1]")
        self.assertNotIn("%", self.on_terminal("import", "db/two", path, "--quiet")[0])
        self.assertEqual(self.run_ctl("import", "db/three", path)[1], "")


class Interrupts(Folder):
    """Ctrl-C, and readers that go away."""

    def start(self, *args, **more):
        return subprocess.Popen([SIRIXCTL, *self.flags(), *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def begin_import(self, *args):
        """An import that has sent all it was given, and waits for more."""
        source, to = os.pipe()
        running = self.start("import", "db/res", "-", *args, stdin=source)
        os.close(source)
        os.write(to, b'[1,')
        self.wait_until_read(to)
        return running, to

    def wait_until_read(self, fd):
        """Fills the pipe until somebody takes from it: what was written before is taken, too."""
        os.set_blocking(fd, False)
        piece = b"1," * 32768
        written, end = 0, time.monotonic() + LIMIT_S
        while written < 4 * 1024 * 1024:
            self.assertLess(time.monotonic(), end)
            select.select([], [fd], [], LIMIT_S)
            try:
                written += os.write(fd, piece)
            except BlockingIOError:
                pass

    def test_an_interrupted_import_changes_nothing_and_says_so(self):
        self.load(["before"])
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                running, to = self.begin_import("--replace")
                running.send_signal(number)
                out, told = running.communicate(timeout=LIMIT_S)
                os.close(to)
                self.assertEqual(running.returncode, 130)
                self.assertEqual(out, b"")
                self.assertEqual(told, b"sirixctl: cancelled: nothing was changed in db/res\n")
                self.assertEqual(self.export(), ["before"])

    def test_an_interrupted_import_of_several_files_says_how_far_it_came(self):
        pipe = os.path.join(self.dir, "second.json")
        os.mkfifo(pipe)
        keep = os.open(pipe, os.O_RDWR)  # So that opening it waits for nobody.
        running = self.start("import", "db", self.file("first.json", "[1]"), pipe)
        self.assertTrue(select.select([running.stdout], [], [], LIMIT_S)[0], "no word of the first")
        self.assertIn(b"db/first", running.stdout.readline())
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=LIMIT_S)
        os.close(keep)
        self.assertEqual(running.returncode, 130)
        self.assertIn(b"the 1 files before it are stored", told)
        self.assertEqual(self.export("db/first"), [1])

    def test_a_closed_pipe_ends_an_export_without_a_word(self):
        self.load(["x" * 1000] * 3000)
        for ignored in (False, True):
            with self.subTest(ignored=ignored):
                running = self.start("export", "db/res", restore_signals=not ignored)
                running.stdout.read(10)
                running.stdout.close()
                told = running.stderr.read()
                running.stderr.close()
                self.assertEqual(running.wait(timeout=LIMIT_S), -signal.SIGPIPE)
                self.assertEqual(told, b"")

    def test_an_interrupted_export_leaves_no_file_behind(self):
        self.load(["x" * 1000] * 3000)
        folder = os.path.join(self.dir, "out")
        os.mkdir(folder)
        path = os.path.join(folder, "doc.json")
        os.mkfifo(path + ".never")
        with open(path, "w") as old:
            old.write("old")
        os.chmod(path, 0o640)
        self.run_ctl("export", "db/res@99", "--output", path, code=66)
        with open(path) as kept:
            self.assertEqual(kept.read(), "old")
        self.run_ctl("export", "db/res", "--output", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        self.assertEqual(sorted(os.listdir(folder)), ["doc.json", "doc.json.never"])
        self.run_ctl("export", "db/res", "--output", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))


class Daemon(Folder):
    def test_twenty_at_once_end_with_one_daemon(self):
        crowd = [subprocess.Popen([SIRIXCTL, "status", "--json", *self.flags()],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(20)]
        pids = set()
        for one in crowd:
            out, err = one.communicate(timeout=LIMIT_S)
            self.assertEqual(one.returncode, 0, err)
            pids.add(json.loads(out)["processId"])
        self.assertEqual(len(pids), 1)

    def test_it_ends_five_seconds_after_its_last_client_and_the_next_starts_another(self):
        before = time.monotonic()  # A client may leave the daemon well before its process has ended.
        first = self.ask("status")
        self.assertTrue(first["embedded"])
        self.wait_for_end(first["processId"])
        self.assertGreater(time.monotonic() - before, 4.9)
        self.assertNotEqual(self.ask("status")["processId"], first["processId"])

    def test_clients_that_come_while_it_ends_are_all_served(self):
        self.load([1])
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGTERM)
        crowd = [subprocess.Popen([SIRIXCTL, "export", "db/res", *self.flags()],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(10)]
        for one in crowd:
            out, err = one.communicate(timeout=LIMIT_S)
            self.assertEqual((one.returncode, out), (0, b"[1]\n"), err)
        self.assertNotEqual(self.ask("status")["processId"], pid)

    def test_a_killed_daemon_is_replaced_and_loses_nothing(self):
        self.load([1])
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.export(), [1])
        self.assertNotEqual(self.ask("status")["processId"], pid)

    def test_a_timeout_covers_the_connecting(self):
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            told = self.run_ctl("list", "--timeout", "2", code=69)[1]
            taken = time.monotonic() - start
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertIn("hint: storaged.log", told)
        self.assertGreater(taken, 1.9)
        self.assertLess(taken, 8)  # Without the flag it is given 15 seconds.

    def test_reading_commands_are_readers(self):
        self.assertEqual(self.ask("status")["role"], "reader")

    def test_a_long_path_works(self):
        self.data = os.path.join(self.dir, "d" * 120)
        self.load([1])
        self.assertEqual(self.export(), [1])

    def test_a_folder_with_other_things_in_it_is_left_alone(self):
        os.mkdir(self.data, 0o755)
        open(os.path.join(self.data, "somebody-elses"), "w").close()
        _, words = self.run_ctl("status", code=69)
        self.assertIn("holds other things", words)
        self.assertEqual(os.listdir(self.data), ["somebody-elses"])


if __name__ == "__main__":
    SIRIXCTL, STORAGED = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
