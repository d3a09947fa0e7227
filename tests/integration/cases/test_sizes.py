"""Long, large, deep and many.

| test                                                        | case |
| --- | --- |
| Depth.test_deep_nesting_ends_in_an_answer                   | G7 |
| Scale.test_one_leaf_of_a_large_object                       | G9 |
| Scale.test_arrays_shrink_in_time                            | G13 |
| Scale.test_large_documents_with_default_settings            | G30; by flag 64 MiB |
| Scale.test_long_strings                                     | SirixDB #1076, 64 MiB of U+0001 |
| Scale.test_an_object_with_many_names                        | 1M distinct names |
| Scale.test_prepends_stay_flat                               | 1M prepends |
| Scale.test_all_records_of_a_bulk_import_are_there           | SirixDB #1077, #1085 |
| Rounds.test_branch_insert_promote_delete_stays_flat         | 10,000 rounds of it |
| Many.test_many_databases_are_open                           | 1,000 databases open |
"""
import json
import random

import case
import cases
from case import delete, insert, update

ROUND_BYTES_MAX = 2048  # Of the file a round: history is kept. A release build's segments: some 600.

class Quick(cases.Case):
    parent = cases.quick_parent()


class Depth(Quick):
    def test_deep_nesting_ends_in_an_answer(self):
        for depth in (13, 900, 1000):
            for left, right in (("[", "]"), ('{"a":', "}")):
                text = left * depth + ("" if left == "[" else "1") + right * depth
                name = self.resource(text)
                self.check_text(name, text)
                key = self.node(name, ("/[0]" if left == "[" else "/a") * (depth - 1)).node_key
                self.apply(name,
                           insert("7", node_key=key, **({} if left == "[" else {"name": b"b"}))
                           if left != "[" else insert("7", node_key=key))
                changes, end = self.diff(name)
                self.assertEqual([c.new_value for c in changes], [b"7"])
                self.assertEqual(len(self.patch(name)[1]), 1)
        pid = self.daemon.process.pid
        before = cases.memory(pid, "RssAnon")
        for text in ("[" * 100000, '{"a":' * 100000, "[" * 1001 + "]" * 1001, '[{"a":' * 50000):
            for door in (lambda: self.load(b"deep", text),
                         lambda: self.apply(self.name_of_empty(), insert(text))):
                seconds, (answer, failure) = cases.timed(cases.attempt, door)
                self.assertEqual(failure[:2], ("INVALID_ARGUMENT", "depth_limit"))
                self.assertLess(seconds, 1)
        cases.check_memory(self, cases.memory(pid, "RssAnon"), before + (16 << 20))
        self.assertEqual(self.client.Status().principal, b"owner")

    def name_of_empty(self):
        return self.resource()


class Scale(Quick):
    def test_one_leaf_of_a_large_object(self):
        costs = []
        for count in (10000, cases.named(1000000)):
            text = "{" + ",".join('"member%07d":{"x":{"y":%d}}' % (i, i)
                                  for i in range(count)) + "}"
            name = self.resource(text)
            key = self.node(name, "/member%07d/x/y" % (count // 2)).node_key
            before, seconds = self.stored(), []
            for i in range(20):
                self.apply(name, update(key, str(-i - 1)))
                taken, (changes, end) = self.processor_timed(self.diff, name)
                seconds.append(taken)
                self.assertEqual([(c.kind, c.new_value) for c in changes],
                                 [(case.pb.CHANGE_KIND_UPDATE, b"%d" % (-i - 1))])
            self.assertEqual(self.patch(name)[1], [
                {"op": "replace", "path": "/member%07d/x/y" % (count // 2), "value": -20}])
            costs.append((sorted(seconds)[10], (self.stored() - before) / 20))
        self.assertLessEqual(costs[1][0], 3 * costs[0][0], costs)
        # Bytes of the file, which grows by pages.
        self.assertLessEqual(costs[1][1], 3 * costs[0][1] + 4096, costs)

    def shrink(self, name, count):
        """(seconds until every second element is gone, seconds until all are) of processor time."""
        half = [n.node_key for i, n in enumerate(self.children(name)) if i % 2]
        pieces = [half[i:i + 10000] for i in range(0, count // 2, 10000)]
        taken = sum(self.processor_timed(self.apply, name, *[delete(k) for k in piece])[0]
                    for piece in pieces)
        self.assertEqual(self.json(name), list(range(0, count, 2)))
        self.client.Revert(database=b"db", resource=name, view=case.pb.View(revision=1))
        emptied, _ = self.processor_timed(self.apply, name, case.replace(1, "[]"))
        self.assertEqual(self.text(name), "[]")
        changes, end = self.diff(name, **{"from": case.pb.View(revision=1), "to": case.pb.View()})
        self.assertEqual(end.deletes + end.replaces + end.updates, len(changes))
        self.client.Revert(database=b"db", resource=name, view=case.pb.View(revision=1))
        return taken, emptied

    def test_arrays_shrink_in_time(self):
        least = []
        for count in (8000, 16000) if cases.SANITIZED else (8000, 16000, 32000, 64000):
            name = self.resource("[" + ",".join(map(str, range(count))) + "]")
            least.append([min(times) for times in zip(*(self.shrink(name, count)
                                                        for _ in range(3)))])
        for smaller, larger in zip(least, least[1:]):
            self.assertLessEqual(larger[0], 2.5 * smaller[0], least)
            self.assertLessEqual(larger[1], 2.5 * smaller[1] + 0.001, least)
        if not cases.SANITIZED:
            self.assertLess(least[-1][1], 0.1, least)

    def children(self, name):
        cursor, nodes = b"", []
        while True:
            answer = self.client.ReadNode(database=b"db", resource=name, max_children=10000,
                                          max_nodes=20000, max_depth=1, cursor=cursor,
                                          max_bytes=3 << 20)
            nodes += answer.nodes[1:]
            cursor = answer.next_cursor
            if not cursor:
                return nodes

    def test_large_documents_with_default_settings(self):
        for mib in (5, cases.size(12, 64)):
            text = json.dumps([{"i": i, "t": "x" * 1000} for i in range(mib << 10)],
                              separators=(",", ":"))
            name = self.resource(text)
            self.assertEqual(self.text(name), text)
            self.assertEqual(self.ctl("export", "db/" + name.decode())[0].decode().rstrip("\n"),
                             text)
            self.refused("INVALID_ARGUMENT", "size_limit", self.apply, name,
                         update(1, '"%s"' % ("x" * (3 << 20))))  # Not a bare RESOURCE_EXHAUSTED.
            answer = self.client.ReadNode(database=b"db", resource=name, max_children=10000,
                                          max_nodes=20000, max_bytes=3 << 20,
                                          max_value_bytes=1 << 20)
            self.assertTrue(answer.truncated)
            self.assertTrue(answer.next_cursor)
            self.load(name, text.replace('"i":7,', '"i":"seven",'), replace=True)
            patch, _ = self.patch(name)
            self.assertEqual(cases.patched(text, patch), cases.numbers_kept(self.text(name)))

    def test_long_strings(self):
        for count in (200 << 10, 600 << 10, 2 << 20, cases.named(64 << 20)):
            text = '"' + "\\u0001" * count + '"'
            name = self.resource(text)
            self.assertEqual(self.text(name), text)
            self.assertEqual(self.node(name, "", max_value_bytes=10).value_bytes, 6 * count)
        many = json.dumps(["y" * (600 << 10)] * 8, separators=(",", ":"))
        self.check_text(self.resource(many), many)
        if cases.FULL:
            answer, failure = cases.attempt(self.load, b"over", '"' + "\\u0001" * ((64 << 20) + 1)
                                            + '"')
            self.assertEqual(failure[:2], ("INVALID_ARGUMENT", "size_limit"))
            name = self.resource("[]")
            self.apply_stream(name, [text.encode()], lambda i, v: case.pb.Operation(
                insert=case.pb.Insert(place=case.pb.Place(node_key=1), value=v)))
            self.assertEqual(self.text(name), "[" + text + "]")

    def test_an_object_with_many_names(self):
        count = cases.named(1000000)
        names = ["name-%d-%s" % (i * 7919 % count, "x" * (i % 60)) for i in range(count)]
        text = "{" + ",".join('"%s":%d' % (n, i) for i, n in enumerate(names)) + "}"
        name = self.resource(text)
        self.assertEqual(self.text(name), text)
        for i in random.Random(3).sample(range(count), 50):
            self.assertEqual(self.node(name, "/" + names[i]).value, b"%d" % i)
        self.refused("ALREADY_EXISTS", "duplicate_key", self.apply, name,
                     insert("1", node_key=1, name=names[count // 2].encode()))
        self.apply(name, insert("1", node_key=1, name=b"one more"),
                   delete(self.node(name, "/" + names[5]).node_key))
        self.refused("NOT_FOUND", "node_unknown", self.node, name, "/" + names[5])
        self.assertEqual(self.node(name, "/one more").value, b"1")
        info = self.client.GetResource(database=b"db", resource=name, with_path_summary=True)
        self.assertIn(b"/*", [p.path for p in info.paths])

    def test_prepends_stay_flat(self):
        name, total, batch = self.resource("[]"), cases.named(1000000), 5000
        grown, seconds = [], []
        for i in range(total // batch):
            before = self.stored()
            seconds.append(self.processor_timed(self.apply, name, *[
                insert(str(i * batch + j), node_key=1) for j in range(batch)])[0])
            grown.append((self.stored() - before) / batch)
        third = len(grown) // 3
        self.assertLessEqual(sum(grown[-third:]), 2 * sum(grown[:third]), grown)
        self.assertLessEqual(sorted(seconds[-third:])[third // 2],
                             1.5 * sorted(seconds[:third])[third // 2])
        got = self.json(name)
        self.assertEqual(got, list(range(total - 1, -1, -1)))

    def test_all_records_of_a_bulk_import_are_there(self):
        lines = "\n".join('{"id":%d,"v":"%s"}' % (i, "r" * (i % 97)) for i in range(20000))
        name = self.resource(lines, format=case.pb.IMPORT_FORMAT_NDJSON, size=777)
        self.assertEqual(self.ctl("export", "db/" + name.decode(),
                                  "--ndjson")[0].decode().split("\n")[:-1],
                         lines.split("\n"))


class Rounds(Quick):
    """Four durable answers a round: a disk's syncs would be nearly all of the time.

    What the document is in the end, against one import (pages' bytes, looks into segments), is
    counted by tests/unit/document/test_rounds.c.
    """

    def test_branch_insert_promote_delete_stays_flat(self):
        rounds, parts = cases.named(10000), 5
        name = self.resource("[]")
        place = {"database": b"db", "resource": name}

        def some(first):
            for i in range(first, first + rounds // parts):
                self.client.CreateBranch(name=b"round", **place)
                self.apply(name, insert(str(i), node_key=1, position=case.pb.POSITION_LAST_CHILD),
                           branch=b"round")
                self.client.Promote(branch=b"round", **place)
                self.client.DeleteBranch(name=b"round", **place)

        seconds, grown = [], []
        for part in range(parts):
            before = self.stored()
            seconds.append(self.processor_timed(some, part * (rounds // parts))[0])
            grown.append((self.stored() - before) * parts / rounds)
        self.assertLess(seconds[-1], 1.5 * seconds[1], seconds)
        self.assertLess(grown[-1], 1.5 * grown[0] + 256, grown)
        self.assertLess(sum(grown) / parts, ROUND_BYTES_MAX, grown)
        self.assertEqual(self.json(name), list(range(rounds)))
        self.assertEqual([b.name for b in self.client.ListBranches(**place).branches], [b"main"])
        self.verified()


class Many(Quick):
    def test_many_databases_are_open(self):
        count = cases.named(1000)
        for i in range(count):
            self.load(b"r", "[%d]" % i, database=b"many%d" % i)
        status = self.client.Status()
        self.assertEqual(status.databases, count + 1)
        self.assertIn(status.databases_open, (min(count, 1000), min(count + 1, 1000)))  # And db.
        for i in range(count):
            self.assertEqual(self.client.ReadNode(database=b"many%d" % i, resource=b"r",
                                                  path=b"/[0]")
                             .nodes[0].value, b"%d" % i)
        seen, cursor = 0, b""
        while True:
            page = self.client.ListDatabases(page_size=100, cursor=cursor)
            seen, cursor = seen + len(page.databases), page.next_cursor
            if not cursor:
                break
        self.assertEqual(seen, count + 1)


if __name__ == "__main__":
    cases.main()
