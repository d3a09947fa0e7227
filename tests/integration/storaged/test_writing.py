"""Writing: every operation, what is refused, and what happens when a call comes again."""
import json
import threading

import grpc

import case
import daemon
from case import delete, insert, move, rename, replace, update

PEOPLE = '{"users":[{"name":"Alice","age":1.10},{"name":"Bob","age":2}],"n":null,"ok":true}'


class Writing(case.DaemonCase):
    def test_operations_are_one_revision_and_see_each_other(self):
        name = self.resource(PEOPLE)
        users = self.node(name, "/users").node_key
        age = self.node(name, "/users/[0]/age").node_key
        n = self.node(name, "/n").node_key
        ok = self.node(name, "/ok").node_key
        pb = case.pb
        answer = self.apply(
            name, insert('{"name":"Cy"}', node_key=users, position=pb.POSITION_LAST_CHILD),
            update(age, "1.1"), replace(n, '["x"]'), rename(ok, b"fine"),
            insert('{"p":1,"q":{"r":2}}', node_key=1), delete(self.node(name, "/users/[1]").node_key),
            options=pb.WriteOptions(expected_revision=1))
        self.assertEqual((answer.result.revision, answer.result.parent_revision,
                          answer.result.changed), (2, 1, True))
        self.assertEqual([len(o.node_keys) for o in answer.operations], [1, 0, 0, 0, 2, 0])
        self.assertEqual([o.equal_value for o in answer.operations],
                         [False, True, False, False, False, False])
        self.assertEqual([pb.NodeKind.Name(o.kind)[10:] for o in answer.operations],
                         ["OBJECT", "NUMBER", "ARRAY", "UNSPECIFIED", "OBJECT", "UNSPECIFIED"])
        self.assertEqual(self.text(name), '{"p":1,"q":{"r":2},"users":[{"name":"Alice","age":1.1},'
                                          '{"name":"Cy"}],"n":["x"],"fine":true}')
        self.assertEqual([self.node(name, "/p").node_key, self.node(name, "/q").node_key],
                         list(answer.operations[4].node_keys))

    def test_positions_put_elements_where_they_say(self):
        pb = case.pb
        name = self.resource("[1,2,3]")
        key = self.node(name, "/[1]").node_key
        self.apply(name, insert('"f"', node_key=1),
                   insert('"l"', node_key=1, position=pb.POSITION_LAST_CHILD),
                   insert('"b"', node_key=key, position=pb.POSITION_LEFT_SIBLING),
                   insert('"a"', node_key=key, position=pb.POSITION_RIGHT_SIBLING),
                   insert('"i"', node_key=1, position=pb.POSITION_INDEX, index=7))
        self.assertEqual(self.json(name), ["f", 1, "b", 2, "a", 3, "l", "i"])
        self.apply(name, move(key, node_key=1, position=pb.POSITION_LAST_CHILD))
        self.assertEqual(self.json(name), ["f", 1, "b", "a", 3, "l", "i", 2])
        self.assertEqual(self.node(name, "/[7]").node_key, key)

    def test_a_resource_without_a_value_takes_one(self):
        name = self.resource()
        answer = self.client.ReadNode(database=b"db", resource=name)
        self.assertEqual((answer.revision, len(answer.nodes)), (1, 0))
        self.refused("FAILED_PRECONDITION", "node_unknown", self.text, name)
        self.apply(name, insert('"v"'))
        self.assertEqual(self.json(name), "v")
        self.apply(name, update(1, "[]"))
        self.assertEqual(self.json(name), [])

    def test_identical_text_makes_no_revision_unless_asked_for(self):  # G8
        name = self.resource('{"a":1.10}')
        key = self.node(name, "/a").node_key
        same = self.apply(name, update(key, "1.10"))
        self.assertEqual((same.result.revision, same.result.changed), (1, False))
        forced = self.apply(name, update(key, "1.10"), force_revision=True)
        self.assertEqual((forced.result.revision, forced.result.changed), (2, True))
        changes, end = self.diff(name)
        self.assertEqual(changes, [])

    def test_all_or_none(self):  # G5
        name = self.resource("[]")
        detail = self.refused("INVALID_ARGUMENT", "json_encoding", self.apply, name,
                              insert('{"ok":1}', node_key=1),
                              insert(b'{"bad":"x\\uD800y"}', node_key=1))
        self.assertEqual(detail.field, b"operations[1].insert.value")
        self.assertEqual(detail.pointer, b"/bad")
        self.assertTrue(detail.HasField("offset"))
        self.assertEqual((self.json(name), self.head(name)), ([], 1))

    def test_streamed_values_pass_the_size_of_a_message(self):
        pb = case.pb
        name = self.resource('{"keep":1}')
        text = json.dumps("y" * (9 << 20)).encode()
        start = pb.ApplyRequest(database=b"db", resource=name, operations=[
            pb.Operation(insert=pb.Insert(name=b"small", value=pb.Value(streamed=True))),
            update(self.node(name, "/keep").node_key, "2"),
            pb.Operation(insert=pb.Insert(name=b"big", value=pb.Value(streamed=True)))])
        messages = [pb.ApplyStreamRequest(start=start),
                    pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=0, data=b"[1,")),
                    pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=0, data=b"2]"))]
        messages += [pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=2, data=text[i:i + 200000]))
                     for i in range(0, len(text), 200000)]
        answer = self.client.ApplyStream(messages)
        self.assertEqual(answer.result.revision, 2)
        self.assertEqual(self.json(name), {"big": "y" * (9 << 20), "small": [1, 2], "keep": 2})
        cut = self.node(name, "/big", max_value_bytes=1000)
        self.assertEqual((cut.cut, cut.value_bytes), (True, 9 << 20))

    def test_a_stream_that_breaks_its_order_changes_nothing(self):
        pb = case.pb
        name = self.resource("[]")
        streamed = pb.Operation(insert=pb.Insert(place=pb.Place(node_key=1),
                                                 value=pb.Value(streamed=True)))
        start = pb.ApplyStreamRequest(start=pb.ApplyRequest(database=b"db", resource=name,
                                                            operations=[streamed, streamed]))

        def chunk(i, data=b"1"):
            return pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=i, data=data))

        for messages in ([], [chunk(0)], [start, start], [start, chunk(2)],
                         [start, chunk(1), chunk(0)], [start, chunk(0)]):
            self.refused("INVALID_ARGUMENT", "field_invalid", self.client.ApplyStream, messages)
        self.refused("INVALID_ARGUMENT", "field_invalid", self.apply, name, streamed)
        self.assertEqual(self.head(name), 1)

    def test_imports_create_what_is_missing_and_say_so(self):
        answer = self.load(b"new", '{"a":[1,2]}', database=b"fresh", options=case.pb.WriteOptions(
            message=b"first"))
        self.assertTrue(answer.database_created and answer.resource_created)
        self.assertEqual((answer.nodes, answer.text_bytes, answer.root_key), (4, 11, 1))
        again = self.load(b"new", "[3]", database=b"fresh", replace=True)
        self.assertFalse(again.database_created or again.resource_created)
        self.client.DropDatabase(database=b"fresh")
        self.refused("NOT_FOUND", "database_unknown", self.load, b"x", "1", database=b"fresh",
                     existing_only=True)

    def test_an_import_that_creates_is_the_only_revision(self):
        pb = case.pb
        options = pb.WriteOptions(message=b"imported", expected_revision=0)
        place = {"database": b"db", "resource": b"whole"}
        detail = self.refused("ABORTED", "revision_moved", self.load, b"whole", "[1]",
                              options=pb.WriteOptions(expected_revision=1))
        self.assertEqual((detail.field, detail.current_revision), (b"options.expected_revision", 0))
        answer = self.load(b"whole", "[1]", options=options)
        self.assertEqual((answer.result.revision, answer.result.parent_revision), (1, 0))
        self.assertEqual([(r.revision, r.parent_revision, r.message, r.timestamp_us)
                          for r in self.client.History(**place).revisions],
                         [(1, 0, b"imported", answer.result.timestamp_us)])
        self.assertEqual([(e.revision.revision, e.change) for e in self.client.NodeHistory(
            node_key=1, **place).entries], [(1, pb.CHANGE_KIND_INSERT)])
        info = self.client.GetResource(**place)
        self.assertEqual((info.revision_count, info.created_at_us, info.last_modified_at_us),
                         (1, answer.result.timestamp_us, answer.result.timestamp_us))
        self.refused("ABORTED", "revision_moved", self.load, b"whole", "[2]", replace=True,
                     options=options)

    def test_an_import_can_be_put_somewhere(self):
        name = self.resource('{"list":[1]}')
        key = self.node(name, "/list").node_key
        self.load(name, '{"x":2}', place=case.pb.Place(node_key=key,
                                                       position=case.pb.POSITION_LAST_CHILD))
        self.load(name, "[9]", place=case.pb.Place(node_key=1), name=b"first")
        self.assertEqual(self.text(name), '{"first":[9],"list":[1,{"x":2}]}')

    def slow_import(self, name, meanwhile, **start):
        """An import whose branch moves between its text and its end."""
        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=name,
                                                                  **start))
            yield case.pb.ImportRequest(data=b'{"imported":[1,2,3]}')
            for _ in range(100):  # More than flow control lets through unread.
                yield case.pb.ImportRequest(data=b" " * 65536)
            meanwhile()

        return self.client.Import(messages())

    def test_an_import_into_a_place_follows_a_branch_that_moved(self):
        name = self.resource('{"list":[],"n":1}')
        key, n = self.node(name, "/list").node_key, self.node(name, "/n").node_key
        answer = self.slow_import(name, lambda: self.apply(name, update(n, "2")),
                                  place=case.pb.Place(node_key=key))
        self.assertEqual((answer.result.revision, answer.result.parent_revision), (3, 2))
        self.assertEqual(self.json(name), {"list": [{"imported": [1, 2, 3]}], "n": 2})

    def test_an_import_that_replaces_what_moved_is_aborted(self):
        name = self.resource('{"n":1}')
        n = self.node(name, "/n").node_key
        with self.assertRaises(grpc.RpcError) as caught:
            self.slow_import(name, lambda: self.apply(name, update(n, "2")), replace=True)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.ABORTED)
        self.assertEqual(daemon.detail(caught.exception, case.error).current_revision, 2)
        self.assertEqual((self.json(name), self.head(name)), ({"n": 2}, 2))

    def test_an_import_is_as_deep_as_it_says(self):
        for depth in (1, 2, 7, 1000):
            text = "[" * depth + "]" * depth
            name = b"deep%d" % depth
            self.load(name, text, max_depth=depth)
            self.assertEqual(self.text(name), text)
            self.load(name, text, replace=True, max_depth=depth)
            too_deep = self.refused("INVALID_ARGUMENT", "depth_limit", self.load, name + b"x",
                                    "[%s]" % text, max_depth=depth)
            self.assertEqual(too_deep.offset, depth)
        self.load(b"deep-lines", "[1]\n[2]\n", format=case.pb.IMPORT_FORMAT_NDJSON, max_depth=2)
        self.refused("INVALID_ARGUMENT", "depth_limit", self.load, b"deep-lines2", "[1]\n[2]\n",
                     format=case.pb.IMPORT_FORMAT_NDJSON, max_depth=1)
        place = case.pb.Place(node_key=1)
        self.load(b"deep-lines", "[[7]]", place=place, max_depth=2)
        self.refused("INVALID_ARGUMENT", "depth_limit", self.load, b"deep-lines", "[[7]]", place=place,
                     max_depth=1)
        self.assertEqual(self.refused("INVALID_ARGUMENT", "field_invalid", self.load, b"deep", "1",
                                      max_depth=1001).field, b"start.max_depth")

    def test_ndjson_becomes_one_array(self):
        name = b"lines"
        answer = self.load(name, '{"a":1}\n[2]\n\n"x"', format=case.pb.IMPORT_FORMAT_NDJSON)
        self.assertEqual(self.json(name), [{"a": 1}, [2], "x"])
        self.assertEqual(answer.items, 3)

    def test_duplicate_keys_are_refused_or_the_last_one_wins(self):
        detail = self.refused("INVALID_ARGUMENT", "duplicate_key", self.load, b"dup",
                              '{"o":{"a":1,"b":2,"a":3}}')
        self.assertEqual(detail.pointer, b"/o/a")
        self.refused("NOT_FOUND", "resource_unknown", self.client.GetResource, database=b"db",
                     resource=b"dup")
        answer = self.load(b"dup", '{"o":{"a":1,"b":2,"a":3}}',
                           duplicate_keys=case.pb.DUPLICATE_KEYS_LAST)
        self.assertEqual(answer.duplicates_dropped, 1)
        self.assertEqual(self.json(b"dup"), {"o": {"b": 2, "a": 3}})

    def half_import(self, name, gate):
        """An import of which a part was sent; it goes on when the gate opens."""
        sent = threading.Event()

        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=name))
            yield case.pb.ImportRequest(data=b"[1,")
            yield case.pb.ImportRequest(data=b"2," * 100000)  # Asked for once the first is read.
            sent.set()
            gate.wait(60)
            yield case.pb.ImportRequest(data=b"3]")

        call = self.client.Import.raw.future(messages(), timeout=60)
        self.assertTrue(sent.wait(30))
        return call

    def listed(self):
        return [r.name for r in self.client.ListResources(database=b"db").resources]

    def test_a_resource_is_seen_with_its_first_import_or_not_at_all(self):
        for taken in (False, True):
            gate = threading.Event()
            name = b"unseen-%d" % taken
            call = self.half_import(name, gate)
            self.assertNotIn(name, self.listed())
            self.refused("NOT_FOUND", "resource_unknown", self.text, name)
            if taken:
                self.client.CreateResource(database=b"db", resource=name)
            gate.set()
            if taken:
                self.assertEqual(call.exception(60).code().name, "ALREADY_EXISTS")
                self.assertEqual(self.head(name), 1)
            else:
                answer = call.result(60)
                self.assertEqual((answer.resource_created, answer.result.revision,
                                  answer.result.parent_revision), (True, 1, 0))
                self.assertEqual(self.json(name)[-1], 3)

    def test_a_kill_in_the_middle_of_an_import_leaves_no_resource(self):
        gate = threading.Event()
        call = self.half_import(b"half", gate)
        self.killed()
        gate.set()
        self.assertIsNotNone(call.exception(60))
        self.assertNotIn(b"half", self.listed())
        self.assertEqual(self.load(b"half", "[4]").result.revision, 1)

    def test_an_import_cut_off_changes_nothing(self):  # G29
        name = self.resource("1")
        for text in ('{"a":[1,2', '{"a":tru', '["x', ""):
            detail = self.refused("INVALID_ARGUMENT", "json_truncated", self.load, name, text,
                                  replace=True)
            self.assertEqual(detail.offset, len(text))
        gate = threading.Event()

        def messages():
            yield case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=name,
                                                                  replace=True))
            yield case.pb.ImportRequest(data=b"[1,2,3]")
            gate.wait(30)

        call = self.client.Import.raw.future(messages(), timeout=30)
        call.cancel()
        gate.set()
        self.assertEqual((self.json(name), self.head(name)), (1, 1))

    def test_what_was_whole_when_the_client_went_away_is_not_published(self):
        """Lines are whole at each end of one, a patch once it came: only the client's own end counts."""
        pb, names = case.pb, []

        def cut_off(call, parts):
            sent, gate = threading.Event(), threading.Event()

            def messages():
                yield from parts
                sent.set()
                gate.wait(30)

            running = call.raw.future(messages(), timeout=30)
            self.assertTrue(sent.wait(30))
            running.cancel()
            gate.set()

        for _ in range(40):
            name = self.resource("1")
            names.append(name)
            cut_off(self.client.Import, [
                pb.ImportRequest(start=pb.ImportStart(database=b"db", resource=name, replace=True,
                                                      format=pb.IMPORT_FORMAT_NDJSON)),
                pb.ImportRequest(data=b'{"line":1}\n{"line":2}\n')])
            name = self.resource("{}")
            names.append(name)
            cut_off(self.client.ApplyStream, [
                pb.ApplyStreamRequest(start=pb.ApplyRequest(
                    database=b"db", resource=name, json_patch=pb.Value(streamed=True))),
                pb.ApplyStreamRequest(chunk=pb.ValueChunk(
                    data=b'[{"op":"add","path":"/a","value":1}]'))])
        self.apply(self.resource("1"), update(1, "2"))  # What was wrongly begun is over before it.
        self.assertEqual([self.head(name) for name in names], [1] * len(names))

    def test_revert_brings_an_old_revision_back_as_a_new_one(self):
        name = self.resource('"a"')
        self.apply(name, update(1, '"b"'))
        answer = self.client.Revert(database=b"db", resource=name,
                                    view=case.pb.View(revision=1))
        self.assertEqual((answer.result.revision, answer.result.parent_revision,
                          answer.reverted_to), (3, 2, 1))
        self.assertEqual(self.json(name), "a")
        self.assertEqual(self.client.History(database=b"db", resource=name)
                         .revisions[0].reverted_to, 1)

    def test_a_write_on_a_branch_leaves_main_alone(self):
        name = self.resource('"a"')
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        self.apply(name, update(1, '"side"'), branch=b"side")
        self.assertEqual(self.json(name), "a")
        self.assertEqual(self.json(name, view=case.pb.View(branch=b"side")), "side")
        self.assertEqual((self.head(name), self.head(name, b"side")), (1, 2))

    def test_compare_and_set_loses_no_update(self):  # G22
        name = self.resource('{"n":0}')
        key = self.node(name, "/n").node_key

        def add():
            client = daemon.Client(self.daemon.owner, case.pb)
            done = 0
            while done < 25:
                read = client.ReadNode(database=b"db", resource=name, node_key=key)
                try:
                    client.Apply(database=b"db", resource=name,
                                 operations=[update(key, str(int(read.nodes[0].value) + 1))],
                                 options=case.pb.WriteOptions(expected_revision=read.revision))
                    done += 1
                except grpc.RpcError as failure:
                    self.assertEqual(failure.code(), grpc.StatusCode.ABORTED)
                    self.assertGreater(daemon.detail(failure, case.error).current_revision,
                                       read.revision)
            client.close()

        threads = [threading.Thread(target=add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((self.json(name), self.head(name)), ({"n": 200}, 201))


class Retrying(case.DaemonCase):
    def options(self, key, **more):
        return case.pb.WriteOptions(idempotency_key=key, **more)

    def test_an_apply_again_with_its_key_answers_the_same_and_writes_once(self):
        name = self.resource("[]")
        operations = [insert('{"a":1,"b":2}', node_key=1), insert("7", node_key=1)]
        first = self.apply(name, *operations, options=self.options(b"k1", expected_revision=1))
        again = self.apply(name, *operations, options=self.options(b"k1", expected_revision=1))
        self.assertTrue(again.result.replayed)
        again.result.replayed = False
        self.assertEqual(again, first)
        self.assertEqual(self.head(name), 2)

    def test_a_key_with_another_request_is_refused(self):
        name = self.resource("[]")
        self.apply(name, insert("1", node_key=1), options=self.options(b"k2"))
        detail = self.refused("INVALID_ARGUMENT", "idempotency_mismatch", self.apply, name,
                              insert("2", node_key=1), options=self.options(b"k2"))
        self.assertEqual(detail.field, b"options.idempotency_key")
        self.assertEqual(self.head(name), 2)

    def test_a_failed_write_leaves_its_key_free(self):
        name = self.resource("[]")
        self.refused("ABORTED", "revision_moved", self.apply, name, insert("1", node_key=1),
                     options=self.options(b"k3", expected_revision=99))
        answer = self.apply(name, insert("1", node_key=1), options=self.options(b"k3"))
        self.assertFalse(answer.result.replayed)

    def test_a_no_op_is_kept_too(self):
        name = self.resource('"x"')
        self.assertFalse(self.apply(name, update(1, '"x"'), options=self.options(b"k4"))
                         .result.changed)
        self.apply(name, update(1, '"y"'))
        again = self.apply(name, update(1, '"x"'), options=self.options(b"k4"))
        self.assertTrue(again.result.replayed)
        self.assertEqual(again.result.revision, 1)
        self.assertEqual(self.json(name), "y")

    def test_every_write_has_its_key(self):
        pb = case.pb
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        calls = [
            (self.client.Revert, dict(place, view=pb.View(revision=1))),
            (self.client.CreateSnapshot, dict(place, name=b"s")),
            (self.client.CreateBranch, dict(place, name=b"b")),
            (self.client.Promote, dict(place, branch=b"b")),
            (self.client.DeleteBranch, dict(place, name=b"b")),
            (self.client.DeleteSnapshot, dict(place, name=b"s")),
            (self.client.CreateResource, {"database": b"db", "resource": b"made-once"}),
        ]
        for i, (call, fields) in enumerate(calls):
            options = self.options(b"each-%d" % i)
            first = call(options=options, **fields)
            again = call(options=options, **fields)
            replayed = again.result.replayed if hasattr(again, "result") else again.replayed
            self.assertTrue(replayed, call)
        for i, (call, fields) in enumerate(((self.client.CreateDatabase, {"database": b"once"}),
                                            (self.client.DropDatabase, {"database": b"once"}),
                                            (self.client.DropResource, place))):
            for _ in range(2):
                call(options=self.options(b"plain-%d" % i), **fields)

    def test_an_import_again_with_its_key_needs_no_text(self):
        options = self.options(b"import-1")
        first = self.load(b"imp", "[1,2,3]", options=options)
        again = self.load(b"imp", "", options=options)
        self.assertTrue(again.result.replayed)
        self.assertEqual((again.nodes, again.resource_created, again.result.revision),
                         (first.nodes, True, first.result.revision))

    def test_a_streamed_apply_again_compares_what_was_streamed(self):
        pb = case.pb
        name = self.resource("[]")

        def messages(data):
            yield pb.ApplyStreamRequest(start=pb.ApplyRequest(
                database=b"db", resource=name, options=self.options(b"stream-1"),
                operations=[pb.Operation(insert=pb.Insert(place=pb.Place(node_key=1),
                                                          value=pb.Value(streamed=True)))]))
            yield pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=data))

        self.assertFalse(self.client.ApplyStream(messages(b"1")).result.replayed)
        self.assertTrue(self.client.ApplyStream(messages(b"1")).result.replayed)
        self.refused("INVALID_ARGUMENT", "idempotency_mismatch", self.client.ApplyStream,
                     messages(b"2"))

    def test_keys_of_revisions_survive_a_restart(self):
        name = self.resource("[]")
        first = self.apply(name, insert("1", node_key=1), options=self.options(b"restart"))
        self.killed()
        again = self.apply(name, insert("1", node_key=1), options=self.options(b"restart"))
        self.assertTrue(again.result.replayed)
        self.assertEqual(again.operations, first.operations)
        self.assertEqual(self.json(name), [1])

    def test_keys_of_changes_without_a_revision_survive_a_kill(self):
        pb = case.pb
        name = self.resource("1")
        self.apply(name, update(1, "2"))
        place = {"database": b"db", "resource": name}
        view = pb.View(revision=1)
        expiry = self.client.Status().now_us + 3600 * 1000000
        calls = [
            ("CreateSnapshot", dict(place, name=b"s", view=view)),
            ("CreateBranch", dict(place, name=b"b", view=view, expires_at_us=expiry)),
            ("Promote", dict(place, branch=b"main", target=b"b")),
            ("DeleteBranch", dict(place, name=b"b")),
            ("DeleteSnapshot", dict(place, name=b"s")),
            ("CreateResource", {"database": b"db", "resource": b"kept"}),
            ("DropResource", place),
        ]
        firsts = [getattr(self.client, call)(options=self.options(b"kill-%d" % i), **fields)
                  for i, (call, fields) in enumerate(calls)]
        self.killed()
        for i, (call, fields) in enumerate(calls):
            with self.subTest(call):
                again = getattr(self.client, call)(options=self.options(b"kill-%d" % i), **fields)
                if call != "DropResource":  # It answers nothing.
                    said = again.result if call == "CreateResource" else again
                    self.assertTrue(said.replayed)
                    said.replayed = False
                self.assertEqual(again, firsts[i])
        detail = self.refused("INVALID_ARGUMENT", "idempotency_mismatch",
                              self.client.CreateSnapshot, name=b"other", view=view,
                              options=self.options(b"kill-0"), **place)
        self.assertEqual(detail.field, b"options.idempotency_key")
        self.assertNotIn(name, [r.name for r in
                                self.client.ListResources(database=b"db").resources])


if __name__ == "__main__":
    case.main()
