"""Reading, and comparing what was read: nodes, documents, histories, diffs."""
import json

import case
from case import delete, insert, move, rename, replace, update

PEOPLE = '{"users":[{"name":"Alice","age":1.10},{"name":"Bob","age":2}],"n":null,"ok":true}'


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


if __name__ == "__main__":
    case.main()
