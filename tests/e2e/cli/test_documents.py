"""Documents through sirixctl: their life, their way in and out, and what is written to them."""
import json
import os
import subprocess

import ctl
from ctl import LIMIT_S, Folder, Programs


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
        self.assertEqual(self.export("db/res@branch:main"), [2])
        self.assertEqual(self.export("db/res@snapshot:main"), [1])
        self.assertEqual(self.export("db/res@branch:fork"), [3])
        self.assertEqual(self.error("export", "db/res@branch:label", code=66)["reason"],
                         "branch_unknown")
        self.assertEqual(self.error("export", "db/res@snapshot:fork", code=66)["reason"],
                         "snapshot_unknown")
        self.assertEqual(self.ask("diff", "db/res@snapshot:main", "@branch:main")["toRevision"],
                         two["revision"])
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
        self.assertFalse(stat["truncated"])
        words = self.run_ctl("diff", "db/res@%d" % one, "@main", "--stat")[0]
        self.assertRegex(words, r"^1 -> 3: 1 inserted, 0 deleted, 1 updated, .* 0 moved\n$")
        # --max leaves some out, and says so.
        self.assertTrue(self.ask("diff", "db/res@%d" % one, "--max", "1", "@main")["truncated"])
        self.assertIn(" 0 moved (not all shown)\n",
                      self.run_ctl("diff", "db/res@%d" % one, "@main", "--max", "1")[0])
        for second in ("@main", "db/res", "db/res@main", "db/res@%d" % (one + 2)):
            self.assertEqual(self.ask("diff", "db/res@%d" % one, second), whole)
        self.assertIn("one resource", self.run_ctl("diff", "db/res@1", "db/other", code=64)[1])
        patch, _ = self.run_ctl("diff", "db/res@%d" % one, "@main", "--json-patch")
        self.ask("branch", "create", "db/res@%d" % one, "old")
        self.ask("apply", "db/res", "-", "--branch", "old", stdin=patch.encode())
        self.assertEqual(self.export("db/res@old"), self.export())
        self.assertEqual(len(self.ask("diff", "db/res")["changes"]), 1)  # Of its parent.
        self.run_ctl("diff", "db/res", "--stat", "--json-patch", code=64)

    def test_a_patch_has_as_many_operations_as_it_needs(self):
        count = 16000
        one = self.load(list(range(count)))["revision"]
        self.ask("import", "db/res", "-", "--replace",
                 stdin=json.dumps(list(range(0, count, 2))).encode())
        ends = ("diff", "db/res@%d" % one, "@main", "--json-patch")
        patch = self.run_ctl(*ends)[0]
        self.ask("branch", "create", "db/res@%d" % one, "old")
        self.ask("apply", "db/res", "-", "--branch", "old", stdin=patch.encode())
        self.assertEqual(self.export("db/res@old"), list(range(0, count, 2)))
        # A limit of one's own, met exactly, and passed by one.
        few = ("diff", "db/few@1", "@main", "--json-patch", "--max-operations")
        self.load([1, 2, 3], "db/few")
        self.ask("update", "db/few", "/[0]", "4")
        self.ask("update", "db/few", "/[2]", "5")
        self.assertEqual(len(json.loads(self.run_ctl(*few, "2")[0])), 2)
        self.assertEqual(self.error(*few, "1", code=75)["reason"], "size_limit")
        self.assertIn("--max-operations allows more", self.run_ctl(*few, "1", code=75)[1])
        for wrong in ("0", "1000001", "-1", "x"):
            self.run_ctl(*few, wrong, code=64)
        self.assertIn("--json-patch", self.run_ctl("diff", "db/few", "--max-operations", "5",
                                                   code=64)[1])

    def test_the_history_of_a_node_is_of_that_node_alone(self):
        self.load({"a": {"x": 1}, "b": 0})
        long = json.dumps("é" * 70000)
        self.ask("update", "db/res", "/a/x", "2", "--message", "one\nline")
        self.ask("update", "db/res", "/b", "1")
        self.ask("rename", "db/res", "/a/x", "y")
        self.ask("update", "db/res", "/a/y", "-", stdin=long.encode())
        entries = self.ask("history", "db/res", "/a/y")["revisions"]
        self.assertEqual([(e["revision"], e["change"], e["kind"]) for e in entries],
                         [(5, "replace", "string"), (4, "rename", "number"),
                          (2, "update", "number"), (1, "insert", "number")])
        self.assertEqual((entries[2]["value"], entries[2]["name"], entries[2]["message"]),
                         (2, "x", "one\nline"))
        self.assertTrue(entries[0]["text"].startswith('"é'))  # Cut: it is no JSON any more.
        self.assertNotIn("value", entries[0])
        key = str(self.ask("read", "db/res", "/a/y")["nodes"][0]["nodeKey"])
        self.assertEqual(self.ask("history", "db/res", key, "--count", "2")["revisions"],
                         entries[:2])
        self.assertEqual(self.ask("history", "db/res@2", "/a/x")["revisions"], entries[2:])
        self.assertEqual(self.ask("history", "db/res", "--count", "0")["revisions"], [])
        words = self.run_ctl("history", "db/res@2", key)[0]
        self.assertRegex(words, r"^2  \S+  owner  main  one\\nline\n    update  2\n1  ")
        self.error("history", "db/res", "/zz", code=66)

    def test_lists_of_many_pages_are_shown_whole(self):
        self.load([])
        patch = json.dumps([{"op": "add", "path": "/-", "value": 0}]).encode()
        for _ in range(25):
            self.ask("apply", "db/res", "-", stdin=patch)
        self.assertEqual([r["revision"] for r in self.ask("history", "db/res",
                                                          "--count", "22")["revisions"]],
                         list(range(26, 4, -1)))
        self.assertEqual(len(self.ask("history", "db/res")["revisions"]), 20)
        self.assertEqual(len(self.ask("history", "db/res", "--count", "1000000")["revisions"]), 26)

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
            done = subprocess.run([Programs.sirixctl, "export", "db/res", *self.flags()], stdout=full,
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
        self.assertEqual(words, "revision 1 takes it: 1 operation, 1 test passed\n")
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


if __name__ == "__main__":
    ctl.main()
