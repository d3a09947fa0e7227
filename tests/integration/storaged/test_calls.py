"""Every call of the storage service, doing what the contract says."""
import json
import threading

import grpc

import case
import daemon
from case import delete, insert, move, rename, replace, update

PEOPLE = '{"users":[{"name":"Alice","age":1.10},{"name":"Bob","age":2}],"n":null,"ok":true}'


class Catalogue(case.DaemonCase):
    def test_databases_are_created_listed_in_pages_and_dropped(self):
        for name in (b"alpha", b"beta", b"gamma"):
            answer = self.client.CreateDatabase(database=name)
            self.assertEqual(answer.database.name, name)
            self.assertGreater(answer.database.stored_bytes, 0)
        first = self.client.ListDatabases(page_size=2)
        self.assertEqual([d.name for d in first.databases], [b"alpha", b"beta"])
        rest = self.client.ListDatabases(page_size=2, cursor=first.next_cursor)
        self.assertEqual([d.name for d in rest.databases], [b"db", b"gamma"])
        self.assertEqual(rest.next_cursor, b"")
        for name in (b"alpha", b"beta", b"gamma"):
            self.client.DropDatabase(database=name)
        self.assertEqual([d.name for d in self.client.ListDatabases().databases], [b"db"])

    def test_databases_made_and_dropped_at_once_give_true_errors_alone(self):
        wrong = []

        def churn():
            client = daemon.Client(self.daemon.owner, case.pb)
            for _ in range(40):
                for call in (client.CreateDatabase, client.DropDatabase):
                    try:
                        call(database=b"churned")
                    except grpc.RpcError as failure:
                        found = (failure.code().name, daemon.detail(failure, case.error).reason)
                        if found not in (("ALREADY_EXISTS", b"none"),
                                         ("NOT_FOUND", b"database_unknown")):
                            wrong.append((found, failure.details()))
                client.ListDatabases()
            client.close()

        threads = [threading.Thread(target=churn) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(self.client.Status().databases,
                         len(self.client.ListDatabases().databases))

    def test_a_dropped_database_can_be_made_anew_while_it_is_still_being_read(self):
        self.client.CreateDatabase(database=b"gone")
        self.load(b"r", "[" + ",".join(['"' + "x" * 1000 + '"'] * 3000) + "]", database=b"gone")
        stream = self.client.ReadDocument(database=b"gone", resource=b"r")
        next(stream)
        self.client.DropDatabase(database=b"gone")
        self.refused("NOT_FOUND", "database_unknown", self.client.ListResources, database=b"gone")
        self.client.CreateDatabase(database=b"gone")
        self.assertEqual(list(self.client.ListResources(database=b"gone").resources), [])
        self.assertEqual(len(b"".join(p.data for p in stream)), 3000 * 1003 + 1)
        self.client.DropDatabase(database=b"gone")

    def test_resources_are_created_with_revision_1_listed_and_dropped(self):
        self.client.CreateDatabase(database=b"res")
        for name in (b"b", b"a", b"c"):
            answer = self.client.CreateResource(database=b"res", resource=name)
            self.assertEqual((answer.result.revision, answer.result.parent_revision), (1, 0))
        first = self.client.ListResources(database=b"res", page_size=2)
        self.assertEqual([r.name for r in first.resources], [b"a", b"b"])
        self.assertEqual([r.revision for r in first.resources], [1, 1])
        rest = self.client.ListResources(database=b"res", cursor=first.next_cursor)
        self.assertEqual([r.name for r in rest.resources], [b"c"])
        self.client.DropResource(database=b"res", resource=b"b")
        self.assertEqual([r.name for r in self.client.ListResources(database=b"res").resources],
                         [b"a", b"c"])
        self.refused("NOT_FOUND", "resource_unknown", self.client.GetResource, database=b"res",
                     resource=b"b")

    def test_a_resource_tells_about_itself(self):
        name = self.resource(PEOPLE)
        self.client.CreateSnapshot(database=b"db", resource=name, name=b"label")
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        info = self.client.GetResource(database=b"db", resource=name, with_path_summary=True)
        self.assertEqual(info.storage_type, b"lmdb")
        self.assertEqual((info.revision_count, info.newest_revision, info.oldest_revision),
                         (1, 1, 1))
        self.assertEqual(info.text_bytes, len(PEOPLE))
        self.assertEqual(info.node_count, 10)
        self.assertEqual(info.created_at_us, info.last_modified_at_us)
        self.assertEqual([b.name for b in info.branches], [b"main", b"side"])
        self.assertEqual([s.name for s in info.snapshots], [b"label"])
        self.assertEqual([(p.path, p.kinds, p.any_member) for p in info.paths], [
            (b"", 1 << 1, False), (b"/n", 1 << 6, False), (b"/ok", 1 << 5, False),
            (b"/users", 1 << 2, False), (b"/users/[]", 1 << 1, False),
            (b"/users/[]/age", 1 << 4, False), (b"/users/[]/name", 1 << 3, False)])
        self.assertEqual((info.next_paths_cursor, info.paths_truncated), (b"", False))
        first = self.client.GetResource(database=b"db", resource=name,
                                        view=case.pb.View(revision=1))
        self.assertEqual((first.revision, first.node_count, first.text_bytes),
                         (1, 10, len(PEOPLE)))
        bare = self.client.GetResource(database=b"db", resource=self.resource())
        self.assertEqual((bare.revision, bare.node_count, bare.text_bytes), (1, 0, 0))

    def paths(self, name, **fields):
        """All paths, page by page; how many pages; whether some are missing."""
        found, pages, cursor = [], 0, b""
        while pages == 0 or cursor:
            info = self.client.GetResource(database=b"db", resource=name, with_path_summary=True,
                                           paths_cursor=cursor, **fields)
            found += info.paths
            pages, cursor = pages + 1, info.next_paths_cursor
        return found, pages, info.paths_truncated

    def test_paths_are_those_of_all_revisions_and_of_none_without_a_value(self):
        pb = case.pb
        name = self.resource('{"a":[1]}')
        place = {"database": b"db", "resource": name}
        self.client.CreateBranch(name=b"side", **place)
        self.apply(name, insert('"x"', name=b"*", node_key=1), branch=b"side")
        self.apply(name, delete(self.node(name, "/a").node_key))
        known = [(b"", 1 << 1), (b"/*", 1 << 3), (b"/a", 1 << 2), (b"/a/[]", 1 << 4)]
        for view in (pb.View(), pb.View(revision=1), pb.View(branch=b"side")):
            found, pages, missing = self.paths(name, view=view)
            self.assertEqual([(p.path, p.kinds) for p in found], known)
            self.assertEqual((pages, missing, found[1].any_member), (1, False, False))
        self.assertEqual(self.paths(self.resource(), view=pb.View(revision=1))[0], [])
        self.assertEqual(self.refused("INVALID_ARGUMENT", "cursor", self.client.GetResource,
                                      with_path_summary=True, paths_cursor=b"0" * 16,
                                      **place).field, b"paths_cursor")

    def test_many_names_fold_and_many_paths_come_in_pages(self):
        members = ['"%s%d":1' % (chr(65 + i % 26), i) for i in range(300)]
        name = self.resource("{" + ",".join(members) + "}")
        found = self.paths(name)[0]
        self.assertEqual((len(found), found[-1].path, found[-1].any_member), (258, b"/*", True))
        self.assertEqual([p.path for p in found[1:-1]], sorted(p.path for p in found[1:-1]))

        text = "1"
        for i in range(60):  # Names of 64 bytes, 60 levels deep, 100 leaves at each.
            leaves = ",".join('"%s%02d":null' % ("l" * 62, k) for k in range(100))
            text = '{"%s%02d":%s,%s}' % ("d" * 62, i, text, leaves)
        name = self.resource(text)
        found, pages, missing = self.paths(name)
        self.assertEqual((len(found), missing), (1 + 60 * 101, False))
        self.assertGreater(pages, 8)
        self.assertEqual(len({p.path for p in found}), len(found))
        for parent, path in zip(found, found[1:]):
            self.assertIn(path.path.rsplit(b"/", 1)[0],
                          (parent.path, *[parent.path.rsplit(b"/", k)[0] for k in range(1, 62)]))

        text = "[" + ",".join('{"a%d":{%s}}' % (i, ",".join('"b%d":1' % k for k in range(200)))
                              for i in range(60)) + "]"
        found, pages, missing = self.paths(self.resource(text))
        self.assertEqual((len(found), pages, missing), (10000, 1, True))


class Reading(case.DaemonCase):
    def test_a_node_is_read_as_a_flat_list_in_document_order(self):
        name = self.resource(PEOPLE)
        answer = self.client.ReadNode(database=b"db", resource=name, with_paths=True)
        rows = [(n.parent_index, n.name or n.index, case.pb.NodeKind.Name(n.kind)[10:],
                 n.value.decode(), n.child_count, n.path.decode()) for n in answer.nodes]
        self.assertEqual(rows, [
            (-1, 0, "OBJECT", "", 3, ""),
            (0, b"users", "ARRAY", "", 2, "/users"),
            (1, 0, "OBJECT", "", 2, "/users/[0]"),
            (2, b"name", "STRING", '"Alice"', 0, "/users/[0]/name"),
            (2, b"age", "NUMBER", "1.10", 0, "/users/[0]/age"),
            (1, 1, "OBJECT", "", 2, "/users/[1]"),
            (5, b"name", "STRING", '"Bob"', 0, "/users/[1]/name"),
            (5, b"age", "NUMBER", "2", 0, "/users/[1]/age"),
            (0, b"n", "NULL", "null", 0, "/n"),
            (0, b"ok", "BOOLEAN", "true", 0, "/ok")])
        self.assertFalse(answer.truncated)
        by_key = self.client.ReadNode(database=b"db", resource=name,
                                      node_key=answer.nodes[2].node_key)
        self.assertEqual(by_key.path, b"/users/[0]")
        self.assertEqual([n.value for n in by_key.nodes], [b"", b'"Alice"', b"1.10"])

    def test_keys_0_and_1_and_no_target_are_the_same(self):
        name = self.resource(PEOPLE)
        answers = [self.client.ReadNode(database=b"db", resource=name, **target).nodes
                   for target in ({}, {"node_key": 0}, {"node_key": 1}, {"path": b""})]
        for nodes in answers:
            self.assertEqual(list(nodes), list(answers[0]))

    def test_every_cap_cuts_where_it_says(self):
        name = self.resource('{"a":[' + ",".join(map(str, range(50))) + '],"b":{"c":{"d":1}}}')
        flat = self.client.ReadNode(database=b"db", resource=name, max_depth=1)
        self.assertEqual([(n.child_count, n.cut) for n in flat.nodes],
                         [(2, False), (50, True), (1, True)])
        self.assertTrue(flat.truncated)
        alone = self.client.ReadNode(database=b"db", resource=name, max_depth=0)
        self.assertEqual([(n.child_count, n.cut) for n in alone.nodes], [(2, True)])
        few = self.client.ReadNode(database=b"db", resource=name, max_nodes=5)
        self.assertEqual(len(few.nodes), 5)
        self.assertTrue(few.nodes[1].cut and few.truncated)
        small = self.client.ReadNode(database=b"db", resource=name, max_bytes=20)
        self.assertLess(sum(len(n.value) + len(n.name) for n in small.nodes), 40)
        self.assertTrue(small.truncated)

    def test_a_cursor_pages_children_of_the_same_revision(self):
        name = self.resource('{"a":[' + ",".join(map(str, range(25))) + "]}")
        seen, cursor = [], b""
        for _ in range(3):
            page = self.client.ReadNode(database=b"db", resource=name, path=b"/a", max_children=10,
                                        cursor=cursor)
            seen += [(n.index, n.value.decode()) for n in page.nodes[1:]]
            cursor = page.next_cursor
            self.apply(name, insert('"new"', node_key=page.nodes[0].node_key))
        self.assertEqual(seen, [(i, str(i)) for i in range(25)])
        self.assertEqual(cursor, b"")

    def test_a_long_string_is_cut_between_characters_and_read_on(self):
        text = "äöü\n\"\\\0" * 3000
        name = self.resource(json.dumps({"s": text}, ensure_ascii=False))
        got, offset, answers = "", 0, 0
        while offset is not None:
            answer = self.client.ReadNode(database=b"db", resource=name, path=b"/s",
                                          max_value_bytes=5000, value_offset=offset)
            got += json.loads(answer.nodes[0].value)
            answers += 1
            offset = answer.next_offset if answer.HasField("next_offset") else None
            self.assertEqual(answer.nodes[0].cut, offset is not None)
        self.assertEqual(got, text)
        self.assertGreater(answers, 5)
        self.refused("INVALID_ARGUMENT", "field_invalid", self.client.ReadNode, database=b"db",
                     resource=name, path=b"/s", value_offset=1)

    def test_odd_names_have_their_own_paths(self):  # G6
        text = '{"a":1,"a\\u0000b":2,"":3,"\U0001f701\u00e9":4,"a/b":5,"m~n":6,"[x":7}'
        name = self.resource(text)
        self.assertEqual(self.text(name), text)
        for path, want in (("/a", b"1"), ("/a\0b", b"2"), ("/", b"3"), ("/\U0001f701\u00e9", b"4"),
                           ("/a~1b", b"5"), ("/m~0n", b"6"), ("/~2x", b"7")):
            self.assertEqual(self.node(name, path).value, want, path)
        names = [n.name.decode() for n in self.client.ReadNode(database=b"db", resource=name)
                 .nodes[1:]]
        self.assertEqual(names, list(json.loads(text)))

    def test_a_document_is_streamed_whole_indented_in_part_and_as_lines(self):
        big = json.dumps([{"i": i, "text": "x" * 200} for i in range(5000)], separators=(",", ":"))
        name = self.resource(big)
        parts = list(self.client.ReadDocument(database=b"db", resource=name))
        self.assertGreater(len(parts), 5)
        self.assertLess(max(len(p.data) for p in parts), 300 * 1024)
        self.assertEqual(self.text(name), big)
        self.assertEqual(self.json(name, indent=2), json.loads(big))
        self.assertIn('\n  {\n    "i": 0,', self.text(name, indent=2)[:40])
        self.assertEqual(self.text(name, path=b"/[4999]/i"), "4999")
        lines = self.text(name, ndjson=True).split("\n")
        self.assertEqual(lines.pop(), "")
        self.assertEqual([json.loads(line) for line in lines], json.loads(big))

    def test_every_digit_comes_back(self):  # G2
        text = '{"d":0.1234567890123456789012345,"i":123456789012345678901234567890,"e":1E400}'
        name = self.resource(text)
        self.assertEqual(self.text(name), text)

    def test_history_is_newest_first_in_pages_with_authors_and_messages(self):
        name = self.resource("[]")
        for i in range(30):
            self.apply(name, insert(str(i), node_key=1), options=case.pb.WriteOptions(
                message=b"commit %d" % i, on_behalf_of="jürgen".encode()))
        seen, cursor = [], b""
        while True:
            page = self.client.History(database=b"db", resource=name, page_size=7, cursor=cursor)
            seen += page.revisions
            cursor = page.next_cursor
            if not cursor:
                break
        self.assertEqual([r.revision for r in seen], list(range(31, 0, -1)))
        self.assertEqual([r.parent_revision for r in seen], list(range(30, -1, -1)))
        self.assertEqual([r.message for r in seen[:30]],
                         [b"commit %d" % i for i in range(29, -1, -1)])
        self.assertEqual((seen[0].author, seen[0].on_behalf_of.decode(), seen[0].claimed),
                         (b"owner", "jürgen", True))
        self.assertEqual({r.branch for r in seen}, {b"main"})
        self.assertEqual(len({r.chain for r in seen}), 31)
        self.assertEqual(sorted((r.timestamp_us for r in seen), reverse=True),
                         [r.timestamp_us for r in seen])

    def test_the_history_of_a_node_knows_long_names_and_values(self):
        long = "n" * 30000
        name = self.resource(json.dumps({long: "v" * 200000, "b": 0}))
        key = self.client.ReadNode(database=b"db", resource=name).nodes[1].node_key
        self.apply(name, rename(key, b"short"))
        self.apply(name, rename(key, (long + "2").encode()))
        self.apply(name, update(key, json.dumps("v" * 199999 + "w")))
        entries = self.client.NodeHistory(database=b"db", resource=name, node_key=key).entries
        self.assertEqual([(case.pb.ChangeKind.Name(e.change)[12:], e.name.decode(), e.cut)
                          for e in entries],
                         [("UPDATE", long + "2", True), ("RENAME", long + "2", True),
                          ("RENAME", "short", True), ("INSERT", long, True)])

    def test_history_names_the_branch_of_every_revision_also_one_that_is_gone(self):
        name = self.resource("0")
        place = {"database": b"db", "resource": name}
        for i, branch in enumerate((b"One", b"two", b"One")):
            self.client.CreateBranch(name=branch, **place)
            self.apply(name, update(1, str(i + 1)), branch=branch)
            self.client.Promote(branch=branch, **place)
            self.client.DeleteBranch(name=branch, **place)
        self.apply(name, update(1, "9"))
        branches = [b"main", b"One", b"two", b"One", b"main"]
        self.assertEqual([r.branch for r in self.client.History(**place).revisions], branches)
        self.assertEqual([e.revision.branch for e in self.client.NodeHistory(
            node_key=1, **place).entries], branches)
        second = self.client.History(page_size=2, cursor=b"3", **place)
        self.assertEqual([r.branch for r in second.revisions], branches[2:4])

    def test_node_history_tells_what_each_revision_did_to_a_node(self):
        name = self.resource('{"a":1,"b":[]}')
        key = self.node(name, "/a").node_key
        self.apply(name, update(key, "2"))
        self.apply(name, insert("0", node_key=self.node(name, "/b").node_key))
        self.apply(name, replace(key, '"two"'))
        self.apply(name, rename(key, b"c"))
        self.apply(name, delete(key))
        page = self.client.NodeHistory(database=b"db", resource=name, node_key=key)
        self.assertEqual(
            [(e.revision.revision, case.pb.ChangeKind.Name(e.change)[12:], e.value, e.name)
             for e in page.entries],
            [(6, "DELETE", b"", b""), (5, "RENAME", b'"two"', b"c"), (4, "REPLACE", b'"two"', b"a"),
             (2, "UPDATE", b"2", b"a"), (1, "INSERT", b"1", b"a")])
        first = self.client.NodeHistory(database=b"db", resource=name, node_key=key, page_size=2)
        rest = self.client.NodeHistory(database=b"db", resource=name, node_key=key,
                                       cursor=first.next_cursor)
        self.assertEqual([e.revision.revision for e in list(first.entries) + list(rest.entries)],
                         [6, 5, 4, 2, 1])

    def test_views_name_revisions_labels_branches_and_times(self):  # G14, G16
        name = self.resource('"one"')
        self.client.CreateSnapshot(database=b"db", resource=name, name=b"first")
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        self.apply(name, update(1, '"two"'))
        self.apply(name, update(1, '"side"'), branch=b"side")
        history = self.client.History(database=b"db", resource=name).revisions
        view = case.pb.View

        def stamp(us):
            import datetime
            return (datetime.datetime.fromtimestamp(us // 10**6, datetime.timezone.utc).strftime(
                "%Y-%m-%dT%H:%M:%S") + ".%06dZ" % (us % 10**6)).encode()

        two, one = history[0].timestamp_us, history[1].timestamp_us
        for wanted, text in ((view(revision=1), "one"), (view(snapshot=b"first"), "one"),
                             (view(branch=b"side"), "side"), (view(), "two"),
                             (view(snapshot=b"main"), "two"), (view(timestamp=stamp(two)), "two"),
                             (view(timestamp=stamp(two - 1)), "one"),
                             (view(branch=b"main", timestamp=stamp(one)), "one")):
            self.assertEqual(self.json(name, view=wanted), text, wanted)


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


class Comparing(case.DaemonCase):
    def test_changes_are_typed_with_values_places_and_counts(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":[1,2,3],"c":"x","d":null}')
        keys = {p: self.node(name, p).node_key for p in ("/a", "/b", "/c", "/d", "/b/[0]", "/b/[1]")}
        self.apply(name, update(keys["/a"], "1.0"), replace(keys["/c"], "5"),
                   rename(keys["/d"], b"e"), delete(keys["/b/[1]"]),
                   move(keys["/b/[0]"], node_key=keys["/b"], position=pb.POSITION_LAST_CHILD),
                   insert('{"k":[]}', name=b"new", node_key=1))
        changes, end = self.diff(name)
        rows = sorted((pb.ChangeKind.Name(c.kind)[12:], c.path.decode(), c.old_value.decode(),
                       c.new_value.decode()) for c in changes)
        self.assertEqual(rows, [
            ("DELETE", "/b/[1]", "2", ""), ("INSERT", "/new", "", '{"k":[]}'),
            ("MOVE", "/b/[1]", "", ""), ("RENAME", "/e", "", ""), ("REPLACE", "/c", '"x"', "5"),
            ("UPDATE", "/a", "1", "1.0")])
        self.assertEqual((end.inserts, end.deletes, end.updates, end.replaces, end.renames,
                          end.moves, end.truncated), (1, 1, 1, 1, 1, 1, False))
        by_kind = {c.kind: c for c in changes}
        self.assertTrue(by_kind[pb.CHANGE_KIND_UPDATE].equal_value)
        self.assertEqual((by_kind[pb.CHANGE_KIND_RENAME].old_name,
                          by_kind[pb.CHANGE_KIND_RENAME].new_name), (b"d", b"e"))
        self.assertEqual(by_kind[pb.CHANGE_KIND_DELETE].old_index, 1)
        self.assertEqual(by_kind[pb.CHANGE_KIND_INSERT].parent_key, 1)
        back, _ = self.diff(name, **{"from": pb.View(revision=2), "to": pb.View(revision=1)})
        self.assertEqual(len(back), 6)
        self.assertEqual(self.diff(name, **{"from": pb.View(), "to": pb.View()})[0], [])

    def test_a_diff_in_long_is_counted_whole_and_cut(self):
        name = self.resource(json.dumps([{"v": i} for i in range(5000)]))
        keys = [n.node_key for n in self.client.ReadNode(
            database=b"db", resource=name, max_children=10000, max_nodes=20000).nodes
                if n.name == b"v"]
        self.apply(name, *[update(k, str(i + 10**6)) for i, k in enumerate(keys)])
        changes, end = self.diff(name)
        self.assertEqual((len(changes), end.updates, end.truncated), (5000, 5000, False))
        few, end = self.diff(name, max_changes=3)
        self.assertEqual((len(few), end.updates, end.truncated), (3, 5000, True))

    def test_a_json_patch_turns_the_old_document_into_the_new(self):  # G10, G11
        pb = case.pb
        for before, after in (("[1,2,3]", "[3,1,4,2]"), ('{"items":[1,2,3,4,5]}',
                                                         '{"items":[1,3,4,5]}')):
            name = self.resource(before)
            self.load(name, after, replace=True)
            patch, _ = self.diff(name, format=pb.DIFF_FORMAT_JSON_PATCH)
            self.assertEqual(apply_patch(json.loads(before), patch), json.loads(after))
        name = self.resource('{"items":[1,2,3,4,5]}')
        self.apply(name, delete(self.node(name, "/items/[1]").node_key))
        patch, _ = self.diff(name, format=pb.DIFF_FORMAT_JSON_PATCH)
        self.assertEqual(patch, [{"op": "remove", "path": "/items/1"}])
        self.refused("RESOURCE_EXHAUSTED", "size_limit", self.client.Diff, database=b"db",
                     resource=self.changed(20), format=pb.DIFF_FORMAT_JSON_PATCH,
                     max_patch_operations=10)

    def test_a_diff_since_two_branches_parted_has_the_changes_of_one(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":1}')
        keys = {n.name: n.node_key for n in self.client.ReadNode(database=b"db",
                                                                 resource=name).nodes[1:]}
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        self.apply(name, update(keys[b"a"], "2"), branch=b"side")
        for i in range(3):
            self.apply(name, update(keys[b"b"], str(i + 7)))
        ends = {"from": pb.View(), "to": pb.View(branch=b"side")}
        self.assertEqual(sorted(c.path for c in self.diff(name, **ends)[0]), [b"/a", b"/b"])
        parts = list(self.client.Diff(database=b"db", resource=name, since_parted=True, **ends))
        self.assertEqual((parts[0].start.from_revision, parts[0].start.to_revision), (1, 2))
        self.assertEqual([c.path for c in parts[1].changes.changes], [b"/a"])
        back = self.diff(name, since_parted=True, **{"from": ends["to"], "to": ends["from"]})[0]
        self.assertEqual([(c.path, c.new_value) for c in back], [(b"/b", b"9")])
        same = self.diff(name, since_parted=True, to=pb.View(branch=b"side"))[0]
        self.assertEqual([c.path for c in same], [b"/a"])  # From the parent.
        self.assertEqual(self.diff(name, since_parted=True, **{"from": pb.View(revision=1),
                                                               "to": pb.View(revision=1)})[0], [])

    def test_both_formats_count_the_whole_diff(self):
        pb = case.pb
        name = self.resource('{"a":1,"b":[1,2,3],"c":{"d":true},"e":"x","f":0}')

        def key(path):
            return self.node(name, path).node_key

        self.apply(name, update(key("/a"), "2"), delete(key("/f")), replace(key("/c"), "7"),
                   rename(key("/e"), b"g"), insert("[9]", name=b"h"),
                   move(key("/b/[2]"), node_key=key("/b"), position=pb.POSITION_FIRST_CHILD))
        _, native = self.diff(name)
        self.assertEqual((native.updates, native.deletes, native.replaces, native.renames,
                          native.inserts, native.moves), (1, 1, 1, 1, 1, 1))
        _, patch = self.diff(name, format=pb.DIFF_FORMAT_JSON_PATCH)
        self.assertEqual(patch, native)

    def changed(self, count):
        name = self.resource(json.dumps(list(range(count))))
        self.apply(name, *[update(self.node(name, "/[%d]" % i).node_key, '"x"')
                           for i in range(count)])
        return name

    def test_the_first_revision_has_an_empty_diff(self):
        name = self.resource()
        parts = list(self.client.Diff(database=b"db", resource=name))
        self.assertEqual((parts[0].start.from_revision, parts[0].start.to_revision), (1, 1))
        self.assertEqual(len(parts), 2)


def apply_patch(document, patch):
    """RFC 6902, the part that a diff writes."""
    document = {"": document}

    def find(pointer):
        steps = ["" ] + [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
        at = document
        for step in steps[:-1]:
            at = at[int(step)] if isinstance(at, list) else at[step]
        return at, int(steps[-1]) if isinstance(at, list) and steps[-1] != "-" else steps[-1]

    def add(pointer, value):
        at, step = find(pointer)
        if isinstance(at, list):
            at.insert(len(at) if step == "-" else step, value)
        else:
            at[step] = value

    for operation in patch:
        at, step = find(operation["path"]) if operation["op"] != "move" else (None, None)
        if operation["op"] == "remove":
            del at[step]
        elif operation["op"] == "replace":
            at[step] = operation["value"]
        elif operation["op"] == "add":
            add(operation["path"], operation["value"])
        else:
            source, key = find(operation["from"])
            value = source[key]
            del source[key]
            add(operation["path"], value)
    return document[""]


class Labels(case.DaemonCase):
    def test_a_label_stays_unless_it_is_told_to_move(self):
        pb = case.pb
        name = self.resource("1")
        self.apply(name, update(1, "2"))
        place = {"database": b"db", "resource": name}
        first = self.client.CreateSnapshot(name=b"before", view=pb.View(revision=1), **place)
        self.assertEqual((first.snapshot.revision, first.previous_revision, first.changed),
                         (1, 0, True))
        same = self.client.CreateSnapshot(name=b"before", view=pb.View(revision=1), **place)
        self.assertFalse(same.changed)
        self.refused("ALREADY_EXISTS", "none", self.client.CreateSnapshot, name=b"before", **place)
        moved = self.client.CreateSnapshot(name=b"before", replace=True, **place)
        self.assertEqual((moved.snapshot.revision, moved.previous_revision), (2, 1))
        self.client.CreateSnapshot(name=b"main", view=pb.View(revision=1), **place)
        main = self.client.CreateSnapshot(name=b"main", **place)
        self.assertEqual((main.snapshot.revision, main.previous_revision), (2, 1))
        self.assertEqual([s.name for s in self.client.ListSnapshots(**place).snapshots],
                         [b"before", b"main"])
        page = self.client.ListSnapshots(page_size=1, **place)
        self.assertEqual([s.name for s in self.client.ListSnapshots(
            cursor=page.next_cursor, **place).snapshots], [b"main"])
        self.assertEqual(self.client.DeleteSnapshot(name=b"main", **place).revision, 2)
        self.assertEqual(self.json(name, view=pb.View(snapshot=b"main")), 2)  # The branch.

    def test_a_branch_is_promoted_when_main_is_on_its_way(self):
        pb = case.pb
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        branch = self.client.CreateBranch(name=b"work", **place).branch
        self.assertEqual((branch.revision, branch.base_revision, branch.expires_at_us), (1, 1, 0))
        self.apply(name, update(1, "2"), branch=b"work")
        done = self.client.Promote(branch=b"work", **place)
        self.assertEqual((done.revision, done.previous_revision, done.changed), (2, 1, True))
        self.assertFalse(self.client.Promote(branch=b"work", **place).changed)
        self.apply(name, update(1, "3"))
        self.apply(name, update(1, "4"), branch=b"work")
        self.refused("FAILED_PRECONDITION", "not_fast_forward", self.client.Promote,
                     branch=b"work", **place)
        forced = self.client.Promote(branch=b"work", replace=True, options=pb.WriteOptions(
            expected_revision=3), **place)
        self.assertEqual((forced.revision, forced.previous_revision), (4, 3))
        self.assertEqual(self.json(name), 4)
        self.assertEqual(self.client.DeleteBranch(name=b"work", **place).revision, 4)
        self.assertEqual([b.name for b in self.client.ListBranches(**place).branches], [b"main"])

    def test_a_branch_whose_time_is_over_is_refused_and_then_gone(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        now = self.client.Status().now_us
        self.client.CreateBranch(name=b"brief", expires_at_us=now + 300000, **place)
        self.assertEqual(self.json(name, view=case.pb.View(branch=b"brief")), 1)
        while self.client.Status().now_us < now + 300000:
            pass
        with self.assertRaises(grpc.RpcError) as caught:
            self.text(name, view=case.pb.View(branch=b"brief"))
        self.assertIn(daemon.detail(caught.exception, case.error).reason,
                      (b"branch_expired", b"branch_unknown"))
        while len(self.client.ListBranches(**place).branches) > 1:
            pass
        self.client.CreateBranch(name=b"brief", **place)

    def test_a_branch_whose_time_is_over_is_deleted_when_asked(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        for _ in range(20):  # The sweep, each second, may be faster.
            now = self.client.Status().now_us
            self.client.CreateBranch(name=b"brief", expires_at_us=now + 100000, **place)
            while self.client.Status().now_us < now + 100000:
                pass
            try:
                deleted = self.client.DeleteBranch(name=b"brief", **place)
                break
            except grpc.RpcError as failure:
                self.assertEqual(daemon.detail(failure, case.error).reason, b"branch_unknown")
        self.assertEqual(deleted.revision, 1)
        self.assertEqual(self.refused("NOT_FOUND", "branch_unknown", self.client.DeleteBranch,
                                      name=b"brief", **place).field, b"name")

    def test_clients_that_make_and_delete_branches_see_true_errors_alone(self):  # G24
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        wrong = []

        def churn(number):
            client = daemon.Client(self.daemon.owner, case.pb)
            for i in range(25):
                branch = b"b%d" % ((number + i) % 4)
                for call in (client.CreateBranch, client.DeleteBranch):
                    try:
                        call(name=branch, **place)
                    except grpc.RpcError as failure:
                        if failure.code().name not in ("ALREADY_EXISTS", "NOT_FOUND"):
                            wrong.append(failure.details())
                names = [b.name for b in client.ListBranches(**place).branches]
                if names[0] != b"main" or names != [b"main"] + sorted(names[1:]):
                    wrong.append(names)
            client.close()

        threads = [threading.Thread(target=churn, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_branches_are_listed_in_pages_with_their_heads(self):
        name = self.resource("1")
        place = {"database": b"db", "resource": name}
        for i in range(5):
            self.client.CreateBranch(name=b"b%d" % i, **place)
        seen, cursor = [], b""
        while True:
            page = self.client.ListBranches(page_size=2, cursor=cursor, **place)
            seen += page.branches
            cursor = page.next_cursor
            if not cursor:
                break
        self.assertEqual([b.name for b in seen], [b"main"] + [b"b%d" % i for i in range(5)])
        self.assertEqual({b.revision for b in seen}, {1})
        self.assertEqual(len({b.timestamp_us for b in seen}), 1)


class Administration(case.DaemonCase):
    def test_status_tells_who_asks_and_how_the_daemon_is(self):
        for address, principal, role in ((self.daemon.owner, b"owner", case.pb.ROLE_OPERATOR),
                                         (self.daemon.tcp, b"owner", case.pb.ROLE_OPERATOR),
                                         (self.daemon.reader, b"reader", case.pb.ROLE_READER)):
            client = daemon.Client(address, case.pb)
            status = client.Status()
            client.close()
            self.assertEqual((status.principal, status.role), (principal, role))
        self.assertEqual(status.process_id, self.daemon.process.pid)
        self.assertEqual((status.databases, status.databases_open), (1, status.databases_open))
        self.assertGreater(status.resident_bytes, 1 << 20)
        self.assertFalse(status.embedded or status.draining)

    def test_verify_reads_everything_and_finds_nothing_wrong(self):
        name = self.resource(PEOPLE)
        self.resource("[1]")
        one = list(self.client.Verify(database=b"db", resource=name))[-1].end
        self.assertEqual((one.resources, one.revisions, one.problems), (1, 1, 0))
        everything = list(self.client.Verify(database=b"db"))[-1].end
        self.assertEqual((everything.resources, everything.revisions, everything.problems),
                         (2, 2, 0))

    def test_attach_answers_once_and_stays(self):
        call = self.client.Attach(client=b"test")
        first = next(call)
        self.assertEqual(first.process_id, self.daemon.process.pid)
        self.assertGreaterEqual(self.client.Status().calls_running, 2)
        call.cancel()


if __name__ == "__main__":
    case.main()
