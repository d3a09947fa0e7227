"""What is refused, with which code, reason, field and place; and that nothing was changed by it."""
import json
import threading
import time

import grpc

import case
import daemon
from case import delete, insert, move, rename, replace, update


class Names(case.DaemonCase):
    good = [b"a", b"0", b"A.b_c-D", b"x" * 128, b"head", b"a..b"]
    bad = [b"", b"x" * 129, b".", b"..", b".hidden", b"-x", b"_x", b"../x", b"a/b", b"a\\b", b" ",
           b"a b", b"a\n", b"a\0b", "\u202ea".encode(), "ä".encode(), b"\xff", b"a%2fb", b"a:b"]

    def calls(self, name):
        place = {"database": b"db", "resource": b"r"}
        return [("database", self.client.CreateDatabase, {"database": name}),
                ("resource", self.client.CreateResource, {"database": b"db", "resource": name}),
                ("name", self.client.CreateSnapshot, dict(place, name=name)),
                ("name", self.client.CreateBranch, dict(place, name=name)),
                ("name", self.client.DeleteBranch, dict(place, name=name)),
                ("branch", self.client.Promote, dict(place, branch=name))]

    def test_bad_names_are_refused_by_every_call_and_named(self):  # G26
        self.load(b"r", "1")
        for name in self.bad:
            for field, call, fields in self.calls(name):
                detail = self.refused("INVALID_ARGUMENT",
                                      "name_invalid" if name else "field_missing", call, **fields)
                self.assertEqual(detail.field, field.encode(), (name, call))
        for name in (b"5", b"0017", b"2024-01-15", b"2024-01-15T10"):
            for field, call, fields in self.calls(name)[2:4]:
                self.refused("INVALID_ARGUMENT", "name_invalid", call, **fields)

    def test_good_names_are_taken_once_in_any_case(self):  # G25
        self.load(b"r2", "1")
        for name in self.good:
            other = name.swapcase()
            self.client.CreateDatabase(database=name)
            self.client.CreateResource(database=name, resource=name)
            if other != name:
                self.refused("ALREADY_EXISTS", "name_differs_in_case_only",
                             self.client.CreateDatabase, database=other)
                self.refused("ALREADY_EXISTS", "name_differs_in_case_only",
                             self.client.CreateResource, database=name, resource=other)
                self.refused("NOT_FOUND", "database_unknown", self.client.ListResources,
                             database=other)
        for name in self.good:
            self.client.DropDatabase(database=name)

    def test_main_cannot_be_taken_or_lost_under_any_spelling(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        for spelling in (b"main", b"Main", b"MAIN"):
            with self.assertRaises(grpc.RpcError):
                self.client.CreateBranch(name=spelling, **place)
            with self.assertRaises(grpc.RpcError):
                self.client.DeleteBranch(name=spelling, **place)
        self.assertEqual([b.name for b in self.client.ListBranches(**place).branches], [b"main"])
        self.assertEqual(self.json(name), 1)


class Views(case.DaemonCase):
    def setUp(self):
        self.name = self.resource("1")
        self.apply(self.name, update(1, "2"))

    def read(self, **view):
        return self.client.ReadNode(database=b"db", resource=self.name, view=case.pb.View(**view))

    def test_unknown_before_and_beyond_are_different_errors(self):  # G16
        for code, reason, field, view in (
                ("NOT_FOUND", "revision_unknown", "view.revision", {"revision": 0}),
                ("OUT_OF_RANGE", "revision_ahead", "view.revision", {"revision": 3}),
                ("OUT_OF_RANGE", "revision_ahead", "view.revision", {"revision": 2**64 - 1}),
                ("NOT_FOUND", "snapshot_unknown", "view.snapshot", {"snapshot": b"none"}),
                ("NOT_FOUND", "branch_unknown", "view.branch", {"branch": b"none"}),
                ("NOT_FOUND", "revision_before_first", "view.timestamp",
                 {"timestamp": b"2001-01-01"}),
                ("INVALID_ARGUMENT", "name_invalid", "view.branch", {"branch": b"a/b"}),
                ("INVALID_ARGUMENT", "field_invalid", "view.timestamp",
                 {"revision": 1, "timestamp": b"2030-01-01"})):
            detail = self.refused(code, reason, self.read, **view)
            self.assertEqual(detail.field, field.encode(), view)
            if reason == "revision_ahead":
                self.assertEqual(detail.current_revision, 2)
            self.assertEqual((detail.oldest_revision, detail.newest_revision),
                             (1, 2) if reason.startswith("revision_") else (0, 0), view)

    def test_times_are_read_as_rfc_3339_or_refused_with_the_place(self):  # G14
        for text in (b"2030-01-15T10:00:00-05:00", b"2030-01-15T15:00:00Z",
                     b"2030-01-15T15:00:00.5Z", b"2030-01-15"):
            self.assertEqual(self.read(timestamp=text).revision, 2)
        for text, at in ((b"2024-13-01", 5), (b"15/01/2024", 0), (b"2024-01-15T10:00:00", 19),
                         (b"2024-01-15 10:00:00Z", 10), (b"2024-02-30", 8), (b"now", 0)):
            detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.read, timestamp=text)
            self.assertEqual((detail.field, detail.HasField("offset")), (b"view.timestamp", True))
            self.assertLessEqual(abs(detail.offset - at), 4, (text, detail.offset))

    def test_unknown_things_are_named(self):
        place = {"database": b"db", "resource": self.name}
        for reason, field, call, fields in (
                ("database_unknown", b"database", self.client.ListResources, {"database": b"no"}),
                ("resource_unknown", b"resource", self.client.GetResource,
                 {"database": b"db", "resource": b"no"}),
                ("node_unknown", None, self.client.ReadNode, dict(place, node_key=999)),
                ("node_unknown", b"path", self.client.ReadNode, dict(place, path=b"/x/[3]")),
                ("node_unknown", b"node_key", self.client.NodeHistory, dict(place, node_key=999)),
                ("snapshot_unknown", b"name", self.client.DeleteSnapshot, dict(place, name=b"no")),
                ("branch_unknown", None, self.client.DeleteBranch, dict(place, name=b"no"))):
            detail = self.refused("NOT_FOUND", reason, call, **fields)
            if field:
                self.assertEqual(detail.field, field)

    def test_limits_are_checked_and_named(self):
        place = {"database": b"db", "resource": self.name}
        for field, call, fields in (
                ("max_depth", self.client.ReadNode, dict(place, max_depth=101)),
                ("max_children", self.client.ReadNode, dict(place, max_children=10001)),
                ("max_nodes", self.client.ReadNode, dict(place, max_nodes=20001)),
                ("max_bytes", self.client.ReadNode, dict(place, max_bytes=4 << 20)),
                ("max_value_bytes", self.client.ReadNode, dict(place, max_value_bytes=2 << 20)),
                ("indent", self.client.ReadDocument, dict(place, indent=9)),
                ("page_size", self.client.History, dict(place, page_size=1001)),
                ("page_size", self.client.ListBranches, dict(place, page_size=1001)),
                ("page_size", self.client.ListDatabases, {"page_size": 10**9}),
                ("max_value_bytes", self.client.Diff, dict(place, max_value_bytes=2 << 20)),
                ("max_patch_operations", self.client.Diff, dict(place,
                                                                max_patch_operations=1000001))):
            detail = self.refused("INVALID_ARGUMENT", "field_invalid", call, **fields)
            self.assertEqual(detail.field, field.encode())
        for cursor in (b"x", b"3.", b".3", b"3.4.5", b"-1.0", b"9" * 60, b"3.99999999999999999999999"):
            self.refused("INVALID_ARGUMENT", "cursor", self.client.ReadNode, cursor=cursor, **place)
        for cursor in (b"x", b"-1", b"9" * 30):
            self.refused("INVALID_ARGUMENT", "cursor", self.client.History, cursor=cursor, **place)


class Writes(case.DaemonCase):
    def test_what_an_operation_may_not_do_changes_nothing(self):
        pb = case.pb
        name = self.resource('{"o":{"a":1},"l":[1,2],"s":"x"}')
        key = {p: self.node(name, p).node_key for p in ("/o", "/o/a", "/l", "/l/[0]", "/s")}
        cases = [
            ("NOT_FOUND", "node_unknown", update(12345, "1")),
            ("NOT_FOUND", "node_unknown", delete(12345)),
            ("FAILED_PRECONDITION", "node_kind", update(key["/o"], "1")),
            ("FAILED_PRECONDITION", "node_kind", insert("1", node_key=key["/s"])),
            ("INVALID_ARGUMENT", "json_syntax", update(key["/s"], "trx")),
            ("INVALID_ARGUMENT", "json_truncated", update(key["/s"], "tru")),
            ("INVALID_ARGUMENT", "json_syntax", update(key["/s"], "1 2")),
            ("INVALID_ARGUMENT", "json_encoding", update(key["/s"], b'"\xff"')),
            ("INVALID_ARGUMENT", "field_missing", update(key["/s"], "")),
            ("INVALID_ARGUMENT", "field_missing", pb.Operation()),
            ("INVALID_ARGUMENT", "field_missing", pb.Operation(insert=pb.Insert())),
            ("INVALID_ARGUMENT", "size_limit", update(key["/s"], '"' + "x" * (1 << 20) + '"')),
            ("INVALID_ARGUMENT", "field_invalid", insert("1", node_key=key["/l"], position=77)),
        ]
        for code, reason, operation in cases:
            detail = self.refused(code, reason, self.apply, name, update(key["/s"], '"changed"'),
                                  operation)
            self.assertTrue(detail.field.startswith(b"operations[1]"), (detail.field, operation))
        for operation in (insert("1", node_key=key["/l"], position=pb.POSITION_INDEX, index=3),
                          insert("1", name=b"a", node_key=key["/o"]),
                          insert("[1]", node_key=key["/o"]), insert("1", name=b"x", node_key=key["/l"]),
                          rename(key["/l/[0]"], b"x"), move(key["/o"], node_key=key["/o/a"]),
                          move(key["/o"], node_key=key["/o"])):
            with self.assertRaises(grpc.RpcError) as caught:
                self.apply(name, update(key["/s"], '"changed"'), operation)
            self.assertIn(caught.exception.code().name,
                          ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "ALREADY_EXISTS",
                           "OUT_OF_RANGE"), operation)
            self.assertTrue(daemon.detail(caught.exception, case.error).field.startswith(
                b"operations[1]." + operation.WhichOneof("kind").encode()), operation)
        self.refused("INVALID_ARGUMENT", "field_missing", self.apply, name)
        self.refused("INVALID_ARGUMENT", "size_limit", self.apply, name,
                     *[delete(key["/l/[0]"])] * 10001)
        self.assertEqual((self.text(name), self.head(name)),
                         ('{"o":{"a":1},"l":[1,2],"s":"x"}', 1))

    def test_a_bad_value_is_told_with_operation_pointer_and_offset(self):
        name = self.resource('{"l":[1],"s":"x"}')
        array, text = (self.node(name, p).node_key for p in ("/l", "/s"))
        bad = '{"a":[1,{"b":tru}]}'
        for operation, field in ((insert(bad, node_key=array), b"operations[1].insert.value"),
                                 (update(text, bad), b"operations[1].update.value"),
                                 (replace(text, bad), b"operations[1].replace.value")):
            detail = self.refused("INVALID_ARGUMENT", "json_syntax", self.apply, name,
                                  update(text, '"changed"'), operation)
            self.assertEqual((detail.field, detail.pointer, detail.offset),
                             (field, b"/a/1/b", bad.index("}")), operation)
        for operation, field in ((delete(999), b"operations[1].delete.node_key"),
                                 (rename(999, b"n"), b"operations[1].rename.node_key"),
                                 (move(999, node_key=array), b"operations[1].move.node_key")):
            detail = self.refused("NOT_FOUND", "node_unknown", self.apply, name,
                                  update(text, '"changed"'), operation)
            self.assertEqual(detail.field, field)
        self.assertEqual((self.json(name), self.head(name)), ({"l": [1], "s": "x"}, 1))

    def test_options_have_limits(self):
        options = case.pb.WriteOptions
        name = self.resource("[]")
        for field, wrong in (("message", options(message=b"x" * 4097)),
                             ("message", options(message=b"\xff")),
                             ("on_behalf_of", options(on_behalf_of=b"x" * 129)),
                             ("on_behalf_of", options(on_behalf_of=b"a\xc3")),
                             ("idempotency_key", options(idempotency_key=b"k" * 129))):
            with self.assertRaises(grpc.RpcError) as caught:
                self.apply(name, insert("1", node_key=1), options=wrong)
            detail = daemon.detail(caught.exception, case.error)
            self.assertEqual((caught.exception.code().name, detail.field),
                             ("INVALID_ARGUMENT", b"options." + field.encode()))
        self.apply(name, insert("1", node_key=1), options=options(
            message=b"m\0" * 2048, on_behalf_of=b"o" * 128, idempotency_key=b"\0" * 128))
        self.assertEqual(self.client.History(database=b"db", resource=name).revisions[0].message,
                         b"m\0" * 2048)

    def test_what_only_a_revision_can_keep_is_refused_where_none_is_made(self):
        pb, name = case.pb, self.resource("1")
        place = {"database": b"db", "resource": name}
        self.client.CreateSnapshot(name=b"label", **place)
        self.client.CreateBranch(name=b"side", **place)
        for call, fields in ((self.client.CreateDatabase, {"database": b"new"}),
                             (self.client.DropDatabase, {"database": b"db"}),
                             (self.client.DropResource, place),
                             (self.client.CreateSnapshot, {"name": b"next", **place}),
                             (self.client.DeleteSnapshot, {"name": b"label", **place}),
                             (self.client.CreateBranch, {"name": b"new", **place}),
                             (self.client.DeleteBranch, {"name": b"side", **place}),
                             (self.client.Promote, {"branch": b"side", **place})):
            for option in ("message", "on_behalf_of"):
                failure = self.refused("INVALID_ARGUMENT", "field_invalid", call,
                                       options=pb.WriteOptions(**{option: b"x"}), **fields)
                self.assertEqual(failure.field, b"options." + option.encode())
        self.client.CreateResource(database=b"db", resource=name + b"-2",
                                   options=pb.WriteOptions(message=b"x", on_behalf_of=b"y"))
        first = self.client.History(database=b"db", resource=name + b"-2").revisions[0]
        self.assertEqual((first.message, first.on_behalf_of), (b"x", b"y"))

    def test_a_moved_branch_is_aborted_with_its_revision(self):
        name = self.resource("[]")
        options = case.pb.WriteOptions(expected_revision=2)
        place = {"database": b"db", "resource": name}
        self.client.CreateBranch(name=b"side", **place)
        self.client.CreateSnapshot(name=b"label", **place)
        for call, fields in ((self.client.Apply, dict(place, operations=[insert("1", node_key=1)])),
                             (self.client.Revert, dict(place, view=case.pb.View(revision=1))),
                             (self.client.Promote, dict(place, branch=b"side")),
                             (self.client.DeleteBranch, dict(place, name=b"side")),
                             (self.client.DeleteSnapshot, dict(place, name=b"label")),
                             (self.client.CreateSnapshot, dict(place, name=b"new")),
                             (self.client.CreateBranch, dict(place, name=b"new")),
                             (self.client.DropResource, place)):
            detail = self.refused("ABORTED", "revision_moved", call, options=options, **fields)
            self.assertEqual((detail.current_revision, detail.field),
                             (1, b"options.expected_revision"))
        self.refused("ABORTED", "revision_moved", self.load, name, "[]", options=options,
                     replace=True)
        self.assertEqual(self.head(name), 1)

    def test_a_value_that_is_there_is_not_overwritten_by_an_import(self):
        name = self.resource("1")
        self.refused("ALREADY_EXISTS", "resource_has_value", self.load, name, "2")
        self.assertEqual(self.json(name), 1)

    def test_deep_nesting_ends_in_an_answer(self):  # G7
        for depth in (13, 900):
            text = "[" * depth + "]" * depth
            self.assertEqual(self.text(self.resource(text)), text)
        for text in ("[" * 100000, '{"a":' * 100000):
            before = time.monotonic()
            self.refused("INVALID_ARGUMENT", "depth_limit", self.load, b"deep", text)
            self.assertLess(time.monotonic() - before, 5)
        self.assertEqual(self.client.Status().principal, b"owner")

    def test_a_revert_says_what_it_brings_back(self):
        name = self.resource("1")
        self.refused("INVALID_ARGUMENT", "field_missing", self.client.Revert, database=b"db",
                     resource=name)
        self.refused("OUT_OF_RANGE", "revision_ahead", self.client.Revert, database=b"db",
                     resource=name, view=case.pb.View(revision=9))

    def test_a_branch_that_expires_in_the_past_is_refused(self):
        detail = self.refused("INVALID_ARGUMENT", "field_invalid", self.client.CreateBranch,
                              database=b"db", resource=self.resource("1"), name=b"x",
                              expires_at_us=1)
        self.assertEqual(detail.field, b"expires_at_us")


class Readers(case.DaemonCase):
    def test_the_readers_socket_refuses_every_write_and_serves_every_read(self):
        name = self.resource('{"a":1}')
        reader = daemon.Client(self.daemon.reader, case.pb)
        place = {"database": b"db", "resource": name}
        writes = {"CreateDatabase", "DropDatabase", "CreateResource", "DropResource", "Apply",
                  "ApplyStream", "Import", "Revert", "CreateSnapshot", "DeleteSnapshot",
                  "CreateBranch", "DeleteBranch", "Promote", "UpdateQuery",
                  "ReloadPrincipals", "SetQuota", "Backup", "Restore"}
        reads = {"ListDatabases": {}, "ListResources": {"database": b"db"}, "GetResource": place,
                 "ReadNode": place, "ReadDocument": place, "History": place,
                 "NodeHistory": dict(place, node_key=1), "Diff": place, "ListSnapshots": place,
                 "ListBranches": place, "Status": {}, "Verify": {"database": b"db"}, "Attach": {},
                 "Query": {"query": b"1"}, "Sql": {"sql": b"SELECT 1"},
                 "Watch": {"database": b"db"}}
        methods = {m.name for m in case.pb.DESCRIPTOR.services_by_name["Storage"].methods}
        self.assertEqual(methods, writes | set(reads))
        for method in writes:
            call = getattr(reader, method)
            arguments = [[]] if method in ("ApplyStream", "Import", "Restore") else []
            self.refused("PERMISSION_DENIED", "read_only", call, *arguments,
                         metadata=(("authorization", "Bearer owner"),))
        for method, fields in reads.items():
            answer = getattr(reader, method)(**fields)
            if method in ("Attach", "Watch"):
                next(answer)
                answer.cancel()
            elif not hasattr(answer, "SerializeToString"):
                self.assertTrue(list(answer))
        self.assertEqual(self.head(name), 1)
        reader.close()


class Impatient(case.DaemonCase):
    arguments = ("--write-queue-timeout", "1")

    def test_a_write_that_waits_too_long_is_told_its_place(self):
        name = self.resource("[]")
        # Made once: else the client takes longer to make a request than the server to do it.
        request = case.pb.ApplyRequest(database=b"db", resource=name, operations=[
            insert(json.dumps("x" * 100), node_key=1) for _ in range(9000)])
        calls = [self.client.Apply.raw.future(request, timeout=60) for _ in range(40)]
        codes = {}
        for call in calls:
            failure = call.exception(60)
            if failure is None:
                codes["OK"] = codes.get("OK", 0) + 1
            else:
                detail = daemon.detail(failure, case.error)
                codes[detail.reason] = codes.get(detail.reason, 0) + 1
                self.assertEqual(failure.code().name, "DEADLINE_EXCEEDED")
                self.assertIn("at place", failure.details())
                self.assertGreater(detail.retry_after_ms, 0)
                self.assertIn("at place %d of" % detail.queue_place, failure.details())
        self.assertGreater(codes.get(b"write_queue_timeout", 0), 0, codes)
        self.assertGreater(codes.get("OK", 0), 0, codes)
        self.assertEqual(self.head(name), 1 + codes["OK"])


class Full(case.DaemonCase):
    arguments = ("--workers", "1")

    def test_status_answers_when_no_more_calls_may_wait(self):
        name = self.resource(json.dumps(list(range(20000))))
        request = case.pb.ReadNodeRequest(database=b"db", resource=name, max_children=10000,
                                          max_nodes=20000)
        clients = [daemon.Client(self.daemon.owner, case.pb) for _ in range(10)]
        refused, others, calls = threading.Event(), [], []

        def look(call):
            if not call.cancelled() and call.exception() is not None:
                if "calls waiting, its limit" in call.details():
                    refused.set()
                else:
                    others.append(call.details())

        while not refused.is_set() and not others and len(calls) < 20000:
            call = clients[len(calls) % 10].ReadNode.raw.future(request, timeout=120)
            call.add_done_callback(look)
            calls.append(call)
        self.assertTrue(refused.is_set(), others)
        status = self.client.Status(timeout=5)
        self.assertGreater(status.calls_running, 4000)
        self.assertEqual(status.databases, 1)
        for call in calls:
            call.cancel()
        for client in clients:
            client.close()


class Waiting(case.DaemonCase):
    arguments = ("--write-queue-timeout", "60000", "--workers", "4")

    def test_writers_of_one_branch_keep_no_worker_from_others(self):  # G23
        busy, free = self.resource("[]"), self.resource("[]")
        calls = [self.client.Apply.future(database=b"db", resource=busy, operations=[
            insert(json.dumps("x" * 300), node_key=1) for _ in range(3000)]) for _ in range(30)]
        for i in range(20):
            self.apply(free, insert(str(i), node_key=1))
            self.assertEqual(self.client.ReadNode(database=b"db", resource=free).revision, 2 + i)
        for call in calls:
            call.exception(60)

    def test_a_write_that_is_cancelled_while_it_waits_is_not_done(self):
        name = self.resource("[]")
        calls = [self.client.Apply.future(database=b"db", resource=name, operations=[
            insert(json.dumps("x" * 300), node_key=1) for _ in range(4000)]) for _ in range(20)]
        for call in calls[10:]:
            call.cancel()
        done = sum(1 for call in calls[:10] if call.exception(60) is None)
        while self.client.Status().calls_running > 1:
            pass
        self.assertLessEqual(self.head(name) - 1, done + 10)
        self.assertEqual(self.client.Status().writes_waiting, 0)
        self.assertEqual(len(self.json(name)), 4000 * (self.head(name) - 1))

    def test_a_deadline_ends_one_long_operation_and_frees_the_branch(self):
        size = 3000000
        name = self.resource('{"o":{},"a":[%s]}' % ",".join(map(str, range(size))))
        array = self.node(name, "/a").node_key
        place = {"database": b"db", "resource": name}
        for operation in (replace(1, "[]"), delete(array),
                          move(array, b"b", node_key=self.node(name, "/o").node_key)):
            head = self.head(name)
            call = self.client.Apply.future(operations=[operation], timeout=0.05, **place)
            self.assertEqual(call.exception(60).code().name, "DEADLINE_EXCEEDED")
            start = time.monotonic()
            self.apply(name, insert("1", b"n%d" % head, node_key=1))
            self.assertLess(time.monotonic() - start, 0.2, operation)
            self.assertEqual(self.head(name), head + 1)
        self.assertEqual(self.node(name, "/a").child_count, size)

    def test_a_deadline_ends_long_reading(self):
        name = self.resource(json.dumps([{"i": i, "t": "x" * 50} for i in range(60000)]))
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.ReadDocument(database=b"db", resource=name, timeout=0.02))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        while self.client.Status().calls_running > 1:
            pass

    def test_a_deadline_ends_one_long_step_of_a_diff(self):
        text = '{"a":[%s]}' % ",".join(map(str, range(900000)))
        name = self.resource(text)
        self.load(name, "{}", replace=True)
        self.load(name, text, replace=True)  # The same member anew: one step compares all of it.
        view = {"from": case.pb.View(revision=1), "to": case.pb.View(revision=3)}
        for form in (case.pb.DIFF_FORMAT_NATIVE, case.pb.DIFF_FORMAT_JSON_PATCH):
            calls = [self.client.Diff(database=b"db", resource=name, format=form, timeout=0.05,
                                      **view) for _ in range(4)]
            for call in calls:
                with self.assertRaises(grpc.RpcError) as caught:
                    list(call)
                self.assertEqual(caught.exception.code().name, "DEADLINE_EXCEEDED")
            start = time.monotonic()
            self.node(name, "/a")  # There is a worker again.
            self.assertLess(time.monotonic() - start, 0.2)

    def test_slow_readers_of_documents_hold_no_worker(self):
        name = self.resource(json.dumps(["x" * 1000] * 3000))
        streams = [self.client.ReadDocument(database=b"db", resource=name) for _ in range(20)]
        for stream in streams:
            next(stream)
        for i in range(5):
            self.apply(name, insert("1", node_key=1))
        self.assertEqual(self.head(name), 6)
        for stream in streams:
            self.assertEqual(len(b"".join(p.data for p in stream)), 3000 * 1003 + 1)


class Doors(case.DaemonCase):
    def test_unknown_methods_and_services_are_unimplemented(self):
        for path in ("/sirix.storage.v1.Storage/Forget", "/other.Service/Call"):
            call = self.client.channel.unary_unary(path, lambda b: b, lambda b: b)
            with self.assertRaises(grpc.RpcError) as caught:
                call(b"", timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_a_client_without_proto_files_calls_by_reflection(self):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        reflection = __import__("protos").load(case.ARGS.proto,
                                               "grpc.reflection.v1alpha.reflection_pb2")[0]
        info = self.client.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            lambda m: m.SerializeToString(), reflection.ServerReflectionResponse.FromString)
        answers = list(info(iter([
            reflection.ServerReflectionRequest(file_containing_symbol="sirix.storage.v1.Storage"),
        ]), timeout=30))
        pool = descriptor_pool.DescriptorPool()
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(
            answers[0].file_descriptor_response.file_descriptor_proto[0]))
        service = pool.FindServiceByName("sirix.storage.v1.Storage")
        method = service.FindMethodByName("ListDatabases")
        factory = message_factory.MessageFactory(pool)
        request, answer = (factory.GetPrototype(t) for t in (method.input_type, method.output_type))
        call = self.client.channel.unary_unary(
            "/%s/%s" % (service.full_name, method.name), request.SerializeToString,
            answer.FromString)
        self.assertEqual([d.name for d in call(request(), timeout=30).databases], [b"db"])

    def test_too_much_at_once_is_refused_and_the_next_call_is_served(self):
        self.refused("RESOURCE_EXHAUSTED", None, self.client.Apply, database=b"db", resource=b"r",
                     operations=[insert("x" * (1 << 20), node_key=1) for _ in range(5)])
        raw = self.client.channel.unary_unary("/sirix.storage.v1.Storage/Apply", lambda b: b,
                                              lambda b: b)
        for data, code in ((b"\x2a\x00" * 1000000, "RESOURCE_EXHAUSTED"),
                           (b"\x2a\x00" * 20000, "INVALID_ARGUMENT"),
                           (b"\xff" * 100, "INVALID_ARGUMENT"),
                           (b"\x2a\x7f" + b"\x0a" * 60, "INVALID_ARGUMENT"),
                           (b"\x1b" * 50000, "INVALID_ARGUMENT")):
            with self.assertRaises(grpc.RpcError) as caught:
                raw(data, timeout=30)
            self.assertEqual(caught.exception.code().name, code)
        self.assertEqual(self.client.Status().principal, b"owner")

    def test_all_doors_serve_one_store(self):
        name = self.resource("[]")
        for address in (self.daemon.tcp, self.daemon.owner):
            client = daemon.Client(address, case.pb)
            self.apply(name, insert("1", node_key=1), client=client)
            client.close()
        reader = daemon.Client(self.daemon.reader, case.pb)
        self.assertEqual(self.json(name, client=reader), [1, 1])
        reader.close()


if __name__ == "__main__":
    case.main()
