"""Reads with limits: what comes is a valid part, and says what is not there.

| test                                                            | case                       |
| --------------------------------------------------------------- | -------------------------- |
| Caps.test_every_combination_of_caps_is_one_valid_tree           | SirixDB #204, #1002        |
| Caps.test_pages_of_children_are_stable                          | SirixDB #331, #80          |
"""
import itertools
import json

import case
import cases
from case import insert


class Caps(cases.Case):
    document = ('{"a":[[1,2,[3,{"b":"%s"}]],{"c":{"d":{"e":[true,null]}}}],"f":{},"g":[],"h":"x",'
                '"long":"%s"}' % ("\u00e4\\n" * 50, "z" * 300))

    def check(self, answer, depth, children, nodes):
        """One tree: every parent is listed before, no limit is passed, what is cut says so."""
        self.assertLessEqual(len(answer.nodes), nodes)
        level, count = [], [0] * len(answer.nodes)
        for i, node in enumerate(answer.nodes):
            self.assertEqual(node.parent_index < 0, i == 0)
            self.assertLess(node.parent_index, i)
            level.append(0 if i == 0 else level[node.parent_index] + 1)
            self.assertLessEqual(level[i], depth)
            if i > 0:
                parent = answer.nodes[node.parent_index]
                self.assertEqual(node.HasField("name"), parent.kind == case.pb.NODE_KIND_OBJECT)
                if not node.HasField("name"):
                    self.assertEqual(node.index, count[node.parent_index])
                count[node.parent_index] += 1
            if node.value:
                json.loads(node.value)
        for i, node in enumerate(answer.nodes):
            self.assertLessEqual(count[i], children)
            if node.kind in (case.pb.NODE_KIND_OBJECT, case.pb.NODE_KIND_ARRAY):
                self.assertEqual(node.cut, count[i] < node.child_count, (i, depth, children, nodes))
        self.assertEqual(answer.truncated, any(n.cut for n in answer.nodes))

    def test_every_combination_of_caps_is_one_valid_tree(self):
        name = self.resource(self.document)
        for depth, children, nodes, size in itertools.product(
                (0, 1, 2, 3, 4, 9), (1, 2, 100), (1, 2, 3, 5, 8, 1000), (1, 40, 10000)):
            answer = self.client.ReadNode(database=b"db", resource=name, max_depth=depth,
                                          max_children=children, max_nodes=nodes, max_bytes=size)
            self.check(answer, depth, children, nodes)
        for depth, children in itertools.product(range(6), (1, 2, 9)):
            self.ask("read", "db/" + name.decode(), "--depth", str(depth), "--children",
                     str(children))

    def test_pages_of_children_are_stable(self):
        for text, count in ((json.dumps(list(range(257))), 257),
                            (json.dumps({"k%03d" % i: i for i in range(257)}), 257)):
            name = self.resource(text)
            for page in (1, 7, 64, 256, 257, 300):
                seen, cursor, pages = [], b"", 0
                while True:
                    answer = self.client.ReadNode(database=b"db", resource=name, max_children=page,
                                                  cursor=cursor)
                    self.assertLessEqual(len(answer.nodes) - 1, page)
                    seen += [n.value for n in answer.nodes[1:]]
                    cursor, pages = answer.next_cursor, pages + 1
                    if not cursor:
                        break
                    if pages % 3 == 1:
                        self.apply(name, insert("1", node_key=1) if text[0] == "[" else
                                   insert("1", node_key=1, name=b"n%d.%d" % (page, pages)))
                self.assertGreaterEqual(len(seen), count)
                self.assertEqual([int(v) for v in seen[-count:]], list(range(count)))
        empty = self.resource("[]")
        self.assertEqual(self.client.ReadNode(database=b"db", resource=empty).next_cursor, b"")


if __name__ == "__main__":
    cases.main()
