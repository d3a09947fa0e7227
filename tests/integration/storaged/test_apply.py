"""Apply from another source than operations: RFC 6902 patches, and diffs of other branches."""
import json
import threading

import case
from case import delete, insert, move, rename, replace, update


class Applying(case.DaemonCase):
    def branch(self, resource, name, revision=None):
        view = case.pb.View(revision=revision) if revision else case.pb.View()
        self.client.CreateBranch(database=b"db", resource=resource, name=name, view=view)

    def patch(self, resource, patch, **fields):
        text = patch if isinstance(patch, (bytes, str)) else json.dumps(patch)
        return self.client.Apply(database=b"db", resource=resource, json_patch=case.value(text),
                                 **fields)

    def stream(self, resource, text, size=100000, operation=0, **fields):
        pb = case.pb
        start = pb.ApplyRequest(database=b"db", resource=resource,
                                json_patch=pb.Value(streamed=True), **fields)
        messages = [pb.ApplyStreamRequest(start=start)]
        messages += [pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=operation,
                                                               data=text[i:i + size]))
                     for i in range(0, len(text), size)]
        return self.client.ApplyStream(messages)

    def bring(self, resource, to, since=None, **fields):
        """Applies a diff; to and since are views."""
        source = case.pb.DiffSource(to=to)
        if since is not None:
            getattr(source, "from").CopyFrom(since)
        return self.client.Apply(database=b"db", resource=resource, diff=source, **fields)

    def options(self, key=b"", **more):
        return case.pb.WriteOptions(idempotency_key=key, **more)


class Patches(Applying):
    def test_a_patch_is_one_revision_and_later_operations_see_earlier_ones(self):
        name = self.resource('{"a":[1,2,3],"b":{"x":1},"c":"s"}')
        answer = self.patch(name, [
            {"op": "test", "path": "/a/1", "value": 2.0},
            {"op": "add", "path": "/n", "value": {"deep": [1]}},
            {"op": "add", "path": "/n/deep/0", "value": 0},
            {"op": "move", "from": "/b", "path": "/n/b"},
            {"op": "replace", "path": "/n/b/x", "value": "one"},
            {"op": "copy", "from": "/a", "path": "/d"},
            {"op": "remove", "path": "/d/2"},
            {"op": "remove", "path": "/c"},
        ], options=self.options(message=b"why", expected_revision=1))
        self.assertEqual((answer.result.revision, answer.result.parent_revision,
                          answer.result.changed, answer.applied, answer.tests, answer.already),
                         (2, 1, True, 7, 1, 0))
        self.assertEqual(list(answer.operations), [])
        self.assertEqual(self.json(name), {"a": [1, 2, 3], "n": {"deep": [0, 1], "b": {"x": "one"}},
                                           "d": [1, 2]})
        last = self.client.History(database=b"db", resource=name, page_size=1).revisions[0]
        self.assertEqual(last.message, b"why")

    def test_a_patch_that_fails_changes_nothing_and_says_where(self):
        name = self.resource('{"a":[1],"s":"x"}')
        good = {"op": "add", "path": "/b", "value": 1}
        cases = [
            ([good, {"op": "test", "path": "/a/0", "value": 2}], "patch_test", b"/a/0", "1"),
            ([good, {"op": "remove", "path": "/zz"}], "patch_target", b"/zz", "1"),
            ([{"op": "add", "path": "/a/5", "value": 1}], "patch_target", b"/a/5", "0"),
            ([{"op": "remove", "path": ""}], "patch_target", b"", "0"),
            ([{"op": "move", "from": "/a", "path": "/a/0"}], "patch_target", b"/a/0", "0"),
            ([good, {"op": "frob", "path": ""}], "field_invalid", b"", "1"),
            ([{"op": "add", "path": "/b"}], "field_missing", b"/b", "0"),
            ([{"op": "add", "path": "b", "value": 1}], "field_invalid", b"", "0"),
            ([7], "field_invalid", b"", "0"),
            ({}, "field_invalid", b"", None),
        ]
        for patch, reason, pointer, number in cases:
            with self.subTest(patch):
                detail = self.refused("INVALID_ARGUMENT", reason, self.patch, name, patch)
                self.assertEqual((detail.field, detail.pointer), (b"json_patch", pointer))
                if number is not None:
                    self.assertIn(b"operation " + number.encode(), detail.message)
        self.assertEqual((self.json(name), self.head(name)), ({"a": [1], "s": "x"}, 1))

    def test_copies_that_double_a_value_again_and_again_are_refused(self):
        name = self.resource('{"a":1}')
        patch = ([{"op": "replace", "path": "", "value": {"a": [1] * 10}}] +
                 [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40)
        for send in (self.patch, self.stream):
            detail = self.refused("RESOURCE_EXHAUSTED", "size_limit", send, name,
                                  json.dumps(patch).encode())
            self.assertEqual((detail.field, detail.pointer), (b"json_patch", b"/a/-"))
            self.assertEqual(detail.message, b"operation 20 of the patch (copy): the copies of one "
                                             b"patch make at most 8388608 nodes together")
        self.assertEqual((self.json(name), self.head(name)), ({"a": 1}, 1))

    def test_a_text_that_is_no_json_is_refused_with_its_place(self):
        name = self.resource("1")
        detail = self.refused("INVALID_ARGUMENT", "json_syntax", self.patch, name, '[{"op":]')
        self.assertEqual((detail.field, detail.offset), (b"json_patch", 7))
        detail = self.refused("INVALID_ARGUMENT", "duplicate_key", self.patch, name,
                              '[{"op":"test","op":"add","path":"","value":1}]')
        self.assertEqual((detail.field, detail.pointer, detail.offset),
                         (b"json_patch", b"/0/op", 14))
        text = b'[{"op":"test","path":"","value":1}, {"op":"add","path":"","value":{"a":1,"a":2}}]'
        for send in (self.patch, self.stream):
            detail = self.refused("INVALID_ARGUMENT", "duplicate_key", send, name, text)
            self.assertEqual((detail.pointer, detail.offset),
                             (b"/1/value/a", text.index(b'"a":2')))
        # The form is looked at before anything is done.
        detail = self.refused("INVALID_ARGUMENT", "json_truncated", self.patch, name,
                              '[{"op":"remove","path":"/no"}')
        self.assertEqual(detail.offset, 29)
        for text in ("", " ", "7", '"x"', "[7]", '["' + "x" * 100000 + '"]', "[[]]", "[null]"):
            self.refused("INVALID_ARGUMENT", (
                "field_missing" if text == "" else "json_truncated" if text == " " else
                "field_invalid"), self.patch, name, text)
        self.assertEqual(self.head(name), 1)

    def test_the_first_value_comes_by_a_patch_and_no_value_is_put_by_an_empty_one(self):
        name = self.resource()
        self.assertFalse(self.patch(name, []).result.changed)
        self.assertEqual(self.patch(name, [], force_revision=True).result.revision, 2)
        self.patch(name, [{"op": "add", "path": "", "value": [1]}])
        self.assertEqual(self.json(name), [1])

    def test_what_stays_keeps_its_key(self):
        name = self.resource('{"a":{"x":1},"b":[{"y":2}]}')
        keys = [self.node(name, p).node_key for p in ("/a/x", "/b/[0]", "/b/[0]/y")]
        self.patch(name, [{"op": "move", "from": "/b/0", "path": "/b/-"},
                          {"op": "add", "path": "/b/0", "value": 0},
                          {"op": "replace", "path": "/a/x", "value": {"now": "deep"}}])
        self.assertEqual([self.node(name, p).node_key for p in ("/a/x", "/b/[1]", "/b/[1]/y")],
                         keys)

    def test_exact_numbers_and_names_with_anything_in_them(self):
        name = self.resource('{"d":0.1234567890123456789012345}')
        self.patch(name, '[{"op":"test","path":"/d","value":0.12345678901234567890123450},'
                         '{"op":"add","path":"/\\u0000~1~0","value":1e400}]')
        self.assertEqual(self.text(name), '{"d":0.1234567890123456789012345,'
                                          '"\\u0000/~":1e400}')

    def test_a_large_patch_comes_as_a_stream(self):
        name = self.resource("[]")
        patch = [{"op": "add", "path": "/-", "value": "é" * 60 + str(i)} for i in range(30000)]
        text = json.dumps(patch, ensure_ascii=False).encode()
        self.assertGreater(len(text), 4 * 1024 * 1024)
        options = self.options(b"large")
        answer = self.stream(name, text, options=options)
        self.assertEqual((answer.applied, answer.result.revision), (30000, 2))
        self.assertEqual(self.json(name), [p["value"] for p in patch])
        again = self.stream(name, text, options=options)
        self.assertTrue(again.result.replayed)
        self.assertEqual((again.applied, again.result.revision), (30000, 2))
        self.refused("INVALID_ARGUMENT", "idempotency_mismatch", self.stream, name, text[:-1] + b" ]",
                     options=options)

    def test_a_stream_is_checked_like_a_message(self):
        pb = case.pb
        name = self.resource("{}")
        text = b'[{"op":"remove","path":"/no"}]'
        detail = self.refused("INVALID_ARGUMENT", "patch_target", self.stream, name, text, size=3)
        self.assertEqual((detail.field, detail.pointer), (b"json_patch", b"/no"))
        detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.stream, name, text,
                              operation=1)
        self.assertEqual(detail.field, b"chunk.operation")
        self.refused("INVALID_ARGUMENT", "field_invalid", self.stream, name, b"")
        diff = pb.ApplyRequest(database=b"db", resource=name,
                               diff=pb.DiffSource(to=pb.View(revision=1)))
        chunk = pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=b"1"))
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.ApplyStream,
                     [pb.ApplyStreamRequest(start=diff), chunk])
        self.assertEqual(self.head(name), 1)

    def test_too_much_is_refused_before_it_is_done(self):
        name = self.resource("{}")
        detail = self.refused("INVALID_ARGUMENT", "size_limit", self.patch, name,
                              b"[" + b" " * (1024 * 1024) + b"]")
        self.assertEqual(detail.field, b"json_patch")
        piece = b" " * (1024 * 1024)
        detail = self.refused("RESOURCE_EXHAUSTED", "size_limit", self.stream, name,
                              b"[" + piece * 64 + b"]", size=len(piece))
        self.assertEqual(detail.field, b"json_patch")
        few = b"[" + b",".join([b"1"] * 1000001) + b"]"
        detail = self.refused("RESOURCE_EXHAUSTED", "size_limit", self.stream, name, few)
        self.assertIn(b"1000001", detail.message)
        wide = b'[{"op":"add","path":"","value":[' + b",".join([b"1"] * 6000000) + b"]}]"
        detail = self.refused("RESOURCE_EXHAUSTED", "size_limit", self.stream, name, wide,
                              size=len(piece))
        self.assertEqual(detail.field, b"json_patch")
        nested = b"[" * 5000
        self.refused("INVALID_ARGUMENT", "depth_limit", self.patch, name, nested)
        self.assertEqual(self.head(name), 1)

    def test_a_source_and_operations_do_not_go_together(self):
        name = self.resource("[]")
        detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.patch, name, [],
                              operations=[insert("1", node_key=1)])
        self.assertEqual(detail.field, b"operations")
        detail = self.refused("INVALID_ARGUMENT", "field_missing", self.client.Apply,
                              database=b"db", resource=name, json_patch=case.pb.Value())
        self.assertEqual(detail.field, b"json_patch")
        detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.client.Apply,
                              database=b"db", resource=name,
                              json_patch=case.pb.Value(streamed=True))
        self.assertEqual(detail.field, b"json_patch")

    def test_a_dry_run_says_what_would_happen_and_keeps_nothing(self):
        name = self.resource('{"a":1}')
        answer = self.patch(name, [{"op": "test", "path": "/a", "value": 1},
                                   {"op": "remove", "path": "/a"}], dry_run=True)
        self.assertEqual((answer.result.revision, answer.result.parent_revision,
                          answer.result.changed, answer.applied, answer.tests),
                         (1, 0, False, 1, 1))
        self.refused("INVALID_ARGUMENT", "patch_target", self.patch, name,
                     [{"op": "remove", "path": "/b"}], dry_run=True)
        answer = self.apply(name, update(self.node(name, "/a").node_key, "2"), dry_run=True)
        self.assertTrue(answer.operations[0].changed)
        self.refused("ABORTED", "revision_moved", self.patch, name, [], dry_run=True,
                     options=self.options(expected_revision=9))
        detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.patch, name, [],
                              dry_run=True, options=self.options(b"key"))
        self.assertEqual(detail.field, b"options.idempotency_key")
        self.assertEqual((self.json(name), self.head(name)), ({"a": 1}, 1))

    def test_a_key_makes_a_patch_happen_once_also_over_a_kill(self):
        name = self.resource("[]")
        patch = [{"op": "test", "path": "", "value": []}, {"op": "add", "path": "/-", "value": 1}]
        first = self.patch(name, patch, options=self.options(b"once", expected_revision=1))
        self.killed()
        again = self.patch(name, patch, options=self.options(b"once", expected_revision=1))
        self.assertTrue(again.result.replayed)
        again.result.replayed = False
        self.assertEqual(again, first)
        self.assertEqual((self.json(name), self.head(name)), ([1], 2))
        self.refused("INVALID_ARGUMENT", "idempotency_mismatch", self.patch, name, patch[1:],
                     options=self.options(b"once"))

    def test_a_patch_that_changes_nothing_is_kept_with_its_key_too(self):
        name = self.resource('{"a":1}')
        patch = [{"op": "replace", "path": "/a", "value": 1}]
        first = self.patch(name, patch, options=self.options(b"nothing"))
        self.assertEqual((first.applied, first.result.changed, first.result.revision),
                         (1, False, 1))
        self.patch(name, [{"op": "replace", "path": "/a", "value": 2}])
        again = self.patch(name, patch, options=self.options(b"nothing"))
        self.assertTrue(again.result.replayed)
        again.result.replayed = False
        self.assertEqual(again, first)

    def test_patches_of_many_writers_are_all_done(self):
        name = self.resource("[]")

        def work(number):
            for i in range(10):
                self.patch(name, [{"op": "add", "path": "/-", "value": number * 100 + i}])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(self.json(name)), [n * 100 + i for n in range(6) for i in range(10)])
        self.assertEqual(self.head(name), 61)


class Diffs(Applying):
    def test_what_changed_on_a_branch_is_done_on_another(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":[1,2,3],"c":"x","d":null,"e":{"k":1}}')
        self.branch(name, b"side")
        keys = {p: self.node(name, p).node_key
                for p in ("/a", "/b", "/c", "/d", "/b/[0]", "/b/[1]")}
        self.apply(name, update(keys["/a"], "1.0"), replace(keys["/c"], "[5]"),
                   rename(keys["/d"], b"dd"), delete(keys["/b/[1]"]),
                   move(keys["/b/[0]"], node_key=keys["/b"], position=pb.POSITION_LAST_CHILD),
                   insert('{"k":[]}', name=b"new", node_key=1), branch=b"side")
        side = self.head(name, b"side")
        self.apply(name, update(self.node(name, "/e/k").node_key, "2"))
        answer = self.bring(name, pb.View(branch=b"side"), pb.View(revision=1),
                            options=self.options(message=b"taken over"))
        self.assertEqual((answer.applied, answer.already, len(answer.keys)), (6, 0, 0))
        self.assertEqual(self.json(name), {"a": 1.0, "b": [3, 1], "c": [5], "dd": None,
                                           "e": {"k": 2}, "new": {"k": []}})
        self.assertEqual(self.node(name, "/new").node_key,
                         self.node(name, "/new", view=pb.View(branch=b"side")).node_key)
        self.assertEqual(self.head(name, b"side"), side)
        # Once more: all of it is there.
        again = self.bring(name, pb.View(branch=b"side"), pb.View(revision=1))
        self.assertEqual((again.applied, again.already, again.result.changed), (0, 6, False))
        self.assertEqual(again.result.revision, answer.result.revision)

    def test_without_a_from_it_is_what_that_revision_changed(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":1}')
        self.branch(name, b"side")
        self.apply(name, update(self.node(name, "/a").node_key, "2"), branch=b"side")
        self.apply(name, update(self.node(name, "/b").node_key, "2"), branch=b"side")
        self.bring(name, pb.View(branch=b"side"))
        self.assertEqual(self.json(name), {"a": 1, "b": 2})
        self.bring(name, pb.View(revision=1))  # The first changed nothing.
        self.assertEqual(self.json(name), {"a": 1, "b": 2})

    def test_all_that_a_branch_did_since_it_parted(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":1,"c":1}')
        self.apply(name, update(self.node(name, "/c").node_key, "2"))
        self.branch(name, b"side")
        for value in ("2", "3"):
            self.apply(name, update(self.node(name, "/a").node_key, value), branch=b"side")
        self.apply(name, update(self.node(name, "/b").node_key, "5"))
        since = pb.DiffSource(to=pb.View(branch=b"side"), since_parted=True)
        answer = self.client.Apply(database=b"db", resource=name, diff=since)
        self.assertEqual(answer.applied, 1)
        self.assertEqual(self.json(name), {"a": 3, "b": 5, "c": 2})
        # The other way round: what main did since.
        since = pb.DiffSource(to=pb.View(branch=b"main"), since_parted=True)
        answer = self.client.Apply(database=b"db", resource=name, branch=b"side", diff=since)
        self.assertEqual((answer.applied, answer.already), (1, 1))
        self.assertEqual(self.json(name, view=pb.View(branch=b"side")), self.json(name))
        getattr(since, "from").branch = b"nowhere"
        detail = self.refused("NOT_FOUND", "branch_unknown", self.client.Apply, database=b"db",
                              resource=name, diff=since)
        self.assertEqual(detail.field, b"diff.from.branch")

    def test_a_diff_backwards_takes_a_change_back(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":1}')
        self.apply(name, update(self.node(name, "/a").node_key, "2"))
        self.apply(name, update(self.node(name, "/b").node_key, "2"))
        self.bring(name, pb.View(revision=1), pb.View(revision=2))
        self.assertEqual(self.json(name), {"a": 1, "b": 2})

    def test_a_conflict_names_the_node_and_its_pointer_and_changes_nothing(self):
        pb = case.pb
        name = self.resource('{"a":{"x":1},"b":[{"k":"v"}],"c":1,"d":1}')
        keys = {p: self.node(name, p).node_key for p in ("/a", "/a/x", "/b/[0]", "/b/[0]/k", "/c")}
        changes = [
            ("value", update(keys["/a/x"], "2"), update(keys["/a/x"], "3"), "/a/x", keys["/a/x"]),
            ("gone", update(keys["/b/[0]/k"], '"w"'), delete(keys["/b/[0]"]), "/b/0/k",
             keys["/b/[0]/k"]),
            ("name", rename(keys["/c"], b"cc"), rename(keys["/c"], b"ccc"), "/c", keys["/c"]),
            ("taken", insert("1", name=b"n", node_key=1), insert("2", name=b"n", node_key=1), "/n",
             None),
            ("parent", insert("1", name=b"y", node_key=keys["/a"]), delete(keys["/a"]), "/a/y",
             None),
        ]
        for label, theirs, ours, pointer, key in changes:
            with self.subTest(label):
                their, our = (label + "-theirs").encode(), (label + "-ours").encode()
                self.branch(name, their, revision=1)
                self.branch(name, our, revision=1)
                first = self.node(name, "/d").node_key
                self.apply(name, update(first, "2"), theirs, branch=their)
                self.apply(name, ours, branch=our)
                before = self.text(name, view=pb.View(branch=our)), self.head(name, our)
                detail = self.refused("ABORTED", "apply_conflict", self.bring, name,
                                      pb.View(branch=their), branch=our)
                self.assertEqual((detail.field, detail.pointer), (b"diff", pointer.encode()))
                self.assertRegex(detail.message, rb"node %d: " % key if key else rb"node \d+: ")
                self.assertEqual((self.text(name, view=pb.View(branch=our)), self.head(name, our)),
                                 before)

    def test_a_key_that_the_target_gave_to_another_node_is_told(self):
        pb = case.pb
        name = self.resource("{}")
        self.branch(name, b"side")
        self.apply(name, *[insert(str(i), name=b"s%d" % i, node_key=1) for i in range(5)],
                   branch=b"side")
        self.apply(name, *[insert(str(i), name=b"m%d" % i, node_key=1) for i in range(5)])
        taken = {self.node(name, "/m%d" % i).node_key for i in range(5)}
        wanted = {self.node(name, "/s%d" % i, view=pb.View(branch=b"side")).node_key: i
                  for i in range(5)}
        options = self.options(b"pairs")
        answer = self.bring(name, pb.View(branch=b"side"), options=options)
        self.assertEqual(answer.applied, 5)
        pairs = [(p.source_key, p.node_key) for p in answer.keys]
        self.assertEqual([p[0] for p in pairs], sorted(set(wanted) & taken))
        for source, made in pairs:
            self.assertEqual(self.node(name, "/s%d" % wanted[source]).node_key, made)
        again = self.bring(name, pb.View(branch=b"side"), options=options)
        self.assertTrue(again.result.replayed)
        self.assertEqual((list(again.keys), again.applied), (list(answer.keys), 5))

    def test_views_that_are_not_there_are_named(self):
        pb = case.pb
        name = self.resource("1")
        detail = self.refused("NOT_FOUND", "branch_unknown", self.bring, name,
                              pb.View(branch=b"nowhere"))
        self.assertEqual(detail.field, b"diff.to.branch")
        detail = self.refused("OUT_OF_RANGE", "revision_ahead", self.bring, name,
                              pb.View(revision=1), pb.View(revision=9))
        self.assertEqual(detail.field, b"diff.from.revision")
        detail = self.refused("INVALID_ARGUMENT", "field_missing", self.client.Apply,
                              database=b"db", resource=name, diff=pb.DiffSource())
        self.assertEqual(detail.field, b"diff.to")

    def test_a_diff_of_a_large_value_and_of_many_changes(self):
        pb = case.pb
        name = self.resource(json.dumps({"list": list(range(20000)), "k": 1}))
        self.branch(name, b"side")
        self.load(name, json.dumps({"list": [i + 1 for i in range(20000)], "k": 1,
                                    "big": "x" * 3000000}), branch=b"side", replace=True)
        answer = self.bring(name, pb.View(branch=b"side"))
        self.assertGreater(answer.applied, 0)
        self.assertEqual(self.json(name), self.json(name, view=pb.View(branch=b"side")))

    def test_a_dry_run_finds_conflicts_and_keeps_nothing(self):
        pb = case.pb
        name = self.resource('{"a":1}')
        key = self.node(name, "/a").node_key
        self.branch(name, b"side")
        self.apply(name, update(key, "2"), branch=b"side")
        answer = self.bring(name, pb.View(branch=b"side"), dry_run=True)
        self.assertEqual((answer.applied, answer.result.revision, answer.result.changed),
                         (1, 1, False))
        self.apply(name, update(key, "3"))
        self.refused("ABORTED", "apply_conflict", self.bring, name, pb.View(branch=b"side"),
                     dry_run=True)
        self.assertEqual(self.text(name), '{"a":3}')


if __name__ == "__main__":
    case.main()
