"""Documents: what goes in comes out, through every door.

| test                                                            | case                       |
| --------------------------------------------------------------- | -------------------------- |
| Texts.test_a_number_never_conflicts_with_itself                 | G1                         |
| Texts.test_every_digit_is_kept_and_compared                     | G2                         |
| Texts.test_control_characters_of_any_length                     | G3                         |
| Texts.test_the_order_of_members_is_kept_and_is_no_change        | G4                         |
| Texts.test_broken_surrogates_store_nothing                      | G5                         |
| Texts.test_odd_names_each_have_their_own_pointer                | G6                         |
| Texts.test_names_that_hash_alike_stay_apart                     | SirixDB 97c9d4537          |
| Texts.test_odd_texts_reparse_to_the_same                        | SirixDB #1003              |
| Texts.test_texts_that_are_not_one_json_value_are_refused        | SirixDB importer, 28 July  |
| Texts.test_a_member_written_twice_is_refused_or_the_last_counts | SirixDB, duplicate keys    |
| Texts.test_primitives_are_documents                             | SirixDB #232, #258, #259   |
| Changes.test_identical_content_on_a_branch                      | G8                         |
| Changes.test_one_element_removed_is_one_remove                  | G10                        |
| Changes.test_arrays_are_rearranged_exactly                      | G11                        |
| Changes.test_objects_swapped_in_an_array                        | G12                        |
| Changes.test_inserts_into_empty_containers                      | SirixDB #244, #318, 7.4    |
| Changes.test_an_insert_at_the_end_is_at_the_end                 | SirixDB 7.4                |
| Changes.test_integers_past_64_bits_through_an_update            | SirixDB 7.4                |
| Changes.test_a_member_that_exists_is_not_inserted_again         | SirixDB 7.4                |
| Changes.test_writing_at_an_old_revision_reverts_nothing         | SirixDB 7.4                |
| Changes.test_removing_nested_arrays_then_a_member               | SirixDB #23, #1099         |
| Changes.test_moves_beside_a_sibling                             | SirixDB #27, #1059         |
| Changes.test_moves_are_in_the_diff                              | SirixDB #1074              |
| Changes.test_an_update_under_a_deleted_parent_is_one_delete     | SirixDB #1066, e74659a14   |
| Changes.test_a_refused_write_leaves_no_trace_in_the_next_diff   | SirixDB #1060, #1061       |
| Changes.test_every_kind_is_replaced_by_every_kind               | robustness                 |
| Changes.test_a_database_made_anew_is_new                        | SirixDB 96157eb40          |
"""
import itertools
import json

import case
import cases
from case import delete, insert, move, rename, replace, update


class Texts(cases.Case):
    def test_a_number_never_conflicts_with_itself(self):
        name = self.resource('{"w":1.1}')
        for test, value in (("1.1", "1.2"), ("1.2", "1.20"), ("1.2", "12e-1"), ("1.20", "3")):
            self.ctl("apply", "db/" + name.decode(), "-",
                     stdin='[{"op":"test","path":"/w","value":%s}'
                     ',{"op":"replace","path":"/w","value":%s}]' % (test, value))
            self.check_text(name, '{"w":%s}' % value)
        detail = self.ctl_error("apply", "db/" + name.decode(), "-", code=65,
                                stdin='[{"op":"test","path":"/w","value":3.1}]')
        self.assertEqual(detail["reason"], "patch_test")

    def test_every_digit_is_kept_and_compared(self):
        old = '{"d":0.1234567890123456789012345,"i":123456789012345678901234567890}'
        new = '{"d":0.1234567890123456789012346,"i":123456789012345678901234567891}'
        for name in self.both(old):
            self.check_text(name, old)
            self.apply(name, update(self.node(name, "/d").node_key, "0.1234567890123456789012346"),
                       update(self.node(name, "/i").node_key, "123456789012345678901234567891"))
            self.check_text(name, new)
            text, patch = self.patch(name)
            self.assertEqual([p["op"] for p in patch], ["replace", "replace"])
            for digits in ("0.1234567890123456789012346", "123456789012345678901234567891"):
                self.assertIn(digits, text)
            self.assertEqual(cases.patched(old, text), cases.numbers_kept(new))
            changes, _ = self.diff(name)
            self.assertEqual([(c.old_value, c.new_value) for c in changes],
                             [(b"0.1234567890123456789012345", b"0.1234567890123456789012346"),
                              (b"123456789012345678901234567890",
                               b"123456789012345678901234567891")])
            again = self.apply(name, update(self.node(name, "/d").node_key,
                                            "0.1234567890123456789012346"), force_revision=True)
            self.assertTrue(again.result.changed)
            self.assertEqual(self.diff(name)[0], [])

    def test_control_characters_of_any_length(self):
        for count in (1, 100, 800, 1024, 5000, cases.named(1000000)):
            text = '{"v":"%s","low":"%s","\\u0000":1}' % (
                "\\u000b" * count, "".join("\\u%04x" % i for i in range(8)) + "\\u001f")
            for name in self.both(text):
                self.check_text(name, text)
                self.assertEqual(self.node(name, "/v", max_value_bytes=1).value_bytes, 6 * count)
        for count in (100, 800, 100000):
            name = self.resource("[]")
            self.apply(name, insert('"' + "\\u000b\\u0000" * count + '"', node_key=1)) \
                if count < 1000 else self.apply_stream(
                    name, [b'"' + b"\\u000b\\u0000" * count + b'"'],
                    lambda i, value: case.pb.Operation(insert=case.pb.Insert(
                        place=case.pb.Place(node_key=1), value=value)))
            self.check_text(name, '["' + "\\u000b\\u0000" * count + '"]')

    def test_the_order_of_members_is_kept_and_is_no_change(self):
        first, second = '{"b":1,"a":{"d":1,"c":2}}', '{"a":{"c":2,"d":1},"b":1}'
        for name in self.both(first):
            result = self.load(name, second, replace=True).result
            self.assertEqual((result.revision, result.changed), (2, True))
            self.check_text(name, first, view=case.pb.View(revision=1))
            self.check_text(name, second)
            self.assertEqual(self.diff(name)[0], [])
            self.assertEqual(self.patch(name)[1], [])

    def test_broken_surrogates_store_nothing(self):
        pairs = '["\\ud83d\\ude00","\U0001f600"]'
        self.check_text(self.resource(pairs), '["\U0001f600","\U0001f600"]')
        for bad, at in ((b"x\\uD800y", 4), (b"\\uDC00", 3), (b"\\ud800\\ud800", 3),
                        (b"\\udc00\\ud800", 3), (b"\\uD8", None), (b"\xed\xa0\x80", 1),
                        (b"\xc0\x80", 1), (b"\xf4\x90\x80\x80", 1), (b"a\xff", 2)):
            for wrap in (b'"%s"', b'{"k":"%s"}', b'{"%s":1}', b'[1,["%s"]]'):
                text = wrap % bad
                name = self.resource("[]")
                doors = [
                    lambda: self.apply(name, insert('{"ok":1}', node_key=1),
                                       insert(text, node_key=1)),
                    lambda: self.apply_stream(
                        name, [b'{"ok":1}', text], lambda i, v: case.pb.Operation(
                            insert=case.pb.Insert(place=case.pb.Place(node_key=1), value=v))),
                    lambda: self.load(name, text, size=1, replace=True),
                    lambda: self.load(name, b'{"ok":1}\n' + text, replace=True,
                                      format=case.pb.IMPORT_FORMAT_NDJSON)]
                for door in doors:
                    answer, failure = cases.attempt(door)
                    self.assertIsNone(answer, text)
                    self.assertEqual(failure[0], "INVALID_ARGUMENT", text)
                    self.assertIn(failure[1], ("json_encoding", "json_syntax"), text)
                    self.assertTrue(failure[2].HasField("offset"), text)
                self.assertEqual((self.text(name), self.head(name)), ("[]", 1))
        name = self.resource("[]")
        detail = self.refused("INVALID_ARGUMENT", "json_encoding", self.apply, name,
                              insert('{"ok":1}', node_key=1),
                              insert(b'{"bad":"x\\uD800y"}', node_key=1))
        self.assertEqual((detail.pointer, detail.offset), (b"/bad", 9))
        failed = self.ctl_error("insert", "db/" + name.decode(), "0", '{"bad":"x\\uD800y"}',
                                code=65)
        self.assertEqual((failed["reason"], failed["offset"]), ("json_encoding", 9))

    def test_odd_names_each_have_their_own_pointer(self):
        text = '{"a":1,"a\\u0000b":2,"":3,"\U0001f701\u00e9":4,"a/b":5,"m~n":6}'
        pointers = ["/a", "/a\\u0000b", "/", "/\U0001f701\u00e9", "/a~1b", "/m~0n"]
        for name in self.both(text):
            self.check_text(name, text)
            for i, pointer in enumerate(pointers):
                before = self.head(name)
                self.ctl("apply", "db/" + name.decode(), "-", stdin=(
                    '[{"op":"test","path":"%s","value":%d},{"op":"replace","path":"%s","value":%d}]'
                    % (pointer, i + 1, pointer, 10 * (i + 1))))
                self.assertEqual(self.patch(name)[1], [{
                    "op": "replace", "path": json.loads('"%s"' % pointer), "value": 10 * (i + 1)}])
                self.assertEqual(self.head(name), before + 1)
            after = text
            for i in range(6):
                after = after.replace(":%d" % (i + 1), ":%d0" % (i + 1))
            self.check_text(name, after)
            self.check_text(self.by_ctl(self.ctl("export", "db/" + name.decode())[0]), after)

    def test_names_that_hash_alike_stay_apart(self):
        alike = ["".join(p) for p in itertools.product(("Aa", "BB"), repeat=7)]
        text = "[" + ",".join('{"Aa":1,"BB":2}' for _ in range(3)) + ',{%s}]' % ",".join(
            '"%s":%d' % (n, i) for i, n in enumerate(alike))
        name = self.resource(text)
        self.check_text(name, text)
        for i, one in enumerate(alike):
            self.assertEqual(self.node(name, "/[3]/" + one).value, b"%d" % i)
        self.apply(name, *[delete(self.node(name, "/[%d]/Aa" % i).node_key) for i in range(3)])
        self.apply(name, rename(self.node(name, "/[3]/" + alike[0]).node_key, b"other"))
        self.assertEqual([self.node(name, "/[%d]/BB" % i).value for i in range(3)], [b"2"] * 3)
        self.refused("NOT_FOUND", "node_unknown", self.node, name, "/[0]/Aa")
        self.assertEqual(self.node(name, "/[3]/" + alike[1]).value, b"1")
        paths = {p.path: p.kinds for p in self.client.GetResource(
            database=b"db", resource=name, with_path_summary=True).paths}
        number = 1 << case.pb.NODE_KIND_NUMBER
        self.assertEqual((paths.get(b"/[]/Aa"), paths.get(b"/[]/BB")), (number, number))

    def test_odd_texts_reparse_to_the_same(self):
        text = ('{"a\\"b":1,"c\\\\d":2,"e\\nf":3,"n":[1e5,2.2e-308,2e308,-0,1E400,-0.0,0e0,1e-0,'
                '1E+5,123456789012345678901234567890e-9999999999]}')
        for name in self.both(text):
            self.check_text(name, text)
        self.assertEqual(self.text(self.resource('["\\/\\u0041\\u00e9\\u007f"]')),
                         '["/A\u00e9\x7f"]')

    def test_texts_that_are_not_one_json_value_are_refused(self):
        for text in ('"a""b"', "[1]]", "[1][2]", "{'a':1}", "/* c */ [1]", "[1] // c", "",
                     "  \r\n\t",
                     "[1,]", "[,1]", '{"a":1,}', '{"a"}', "{a:1}", "01", "+1", "1.", ".5", "1e",
                     "NaN",
                     "Infinity", "tRue", "nul", "\x00", "[1]\x00", "\ufeff\ufeff1", '"\t"',
                     '"\\x41"',
                     "0x10", "[1 2]", '{"a":1 "b":2}', "-", "--1", '"a', "]", '{"a":1]', "[1}",
                     "\x0c1"):
            name = self.resource()
            for door in (lambda: self.load(name, text), lambda: self.load(name, text, size=1),
                         lambda: self.apply(name, insert(text))):
                answer, failure = cases.attempt(door)
                self.assertIsNone(answer, repr(text))
                self.assertEqual(failure[0], "INVALID_ARGUMENT", repr(text))
                self.assertIn(failure[1], ("json_syntax", "json_truncated", "json_encoding",
                                           "field_missing"), repr(text))
            self.ctl("import", "db/" + name.decode(), "-", code=65, stdin=text)
            self.assertEqual(self.head(name), 1)
        for text, want in (("[1,2,\u65e5\u672c]", None),
                           ('[1,2,"\u65e5\u672c"]', '[1,2,"\u65e5\u672c"]'),
                           (' \r\n[ 1 ,\r\n2\t] \r\n', "[1,2]")):
            if want is None:
                self.refused("INVALID_ARGUMENT", "json_syntax", self.load, b"x", text)
            else:
                self.check_text(self.resource(text, size=1), want)
        marked = "\ufeff[1,2]"  # A byte order mark: one rule for all doors.
        outcomes = {cases.attempt(lambda: self.load(b"bom%d" % i, marked, size=n))[1] is None
                    for i, n in enumerate((1, 2, 3, 64))}
        self.assertEqual(len(outcomes), 1)
        for text in ('[{"a":1}]', '[{"a":1},{"a":2}]'):
            name = self.resource(text, format=case.pb.IMPORT_FORMAT_NDJSON)
            self.assertEqual(self.text(name), "[" + text + "]")
        self.check_text(self.by_ctl('{"a":1}\r\n\r\n2\r\n', "--ndjson"), '[{"a":1},2]')

    def test_a_member_written_twice_is_refused_or_the_last_counts(self):
        for text, pointer, last in (
                ('{"a":1,"a":2}', b"/a", '{"a":2}'),
                ('[{"x":{"b":1,"c":[],"b":{"d":0}}}]', b"/0/x/b", '[{"x":{"c":[],"b":{"d":0}}}]'),
                ('{"a":1,"\\u0061":3,"z":0}', b"/a", '{"a":3,"z":0}')):
            name = self.resource()
            for door in (lambda: self.load(name, text), lambda: self.apply(name, insert(text))):
                answer, failure = cases.attempt(door)
                self.assertIsNone(answer, text)
                self.assertEqual((failure[0], failure[1], failure[2].pointer),
                                 ("INVALID_ARGUMENT", "duplicate_key", pointer), text)
            self.assertEqual(self.head(name), 1)
            answer = self.load(name, text, duplicate_keys=case.pb.DUPLICATE_KEYS_LAST)
            self.assertEqual(self.json(name), json.loads(last))
            self.assertEqual(answer.duplicates_dropped, 1)

    def test_primitives_are_documents(self):
        for text in ("5", '"x"', "true", "null", "-0", '""'):
            for name in self.both(text):
                self.check_text(name, text)
                self.apply(name, update(1, '{"was":%s}' % text))
                self.apply(name, replace(1, text))
                self.check_text(name, text)
                self.assertEqual(self.ask("read", "db/" + name.decode())["nodes"][0]["kind"],
                                 {"5": "number", "-": "number", '"': "string", "t": "boolean",
                                  "n": "null"}[text[0]])


class Changes(cases.Case):
    def test_identical_content_on_a_branch(self):
        text = json.dumps({"a": [1, {"b": "x" * 3000}], "c": 1.5}, separators=(",", ":"))
        name = self.resource(text)
        place = {"database": b"db", "resource": name}
        self.client.CreateBranch(name=b"side", **place)
        before = self.stored()
        same = self.load(name, text, replace=True, branch=b"side").result
        self.assertEqual((same.changed, same.revision), (False, 1))
        self.assertEqual(self.diff(name, **{"from": case.pb.View(),
                                            "to": case.pb.View(branch=b"side")})[0], [])
        key = self.node(name, "/c").node_key
        rounds = 200
        for _ in range(rounds):
            self.assertTrue(self.apply(name, update(key, "1.5"), branch=b"side",
                                       force_revision=True).result.changed)
        self.assertLess((self.stored() - before) / rounds, 1024)
        self.assertEqual(self.diff(name, **{"from": case.pb.View(),
                                            "to": case.pb.View(branch=b"side")})[0], [])
        self.check_text(name, text)

    def test_one_element_removed_is_one_remove(self):
        name = self.resource('{"items":[1,2,3,4,5]}')
        self.ctl("delete", "db/" + name.decode(), "/items/[1]")
        self.assertEqual(self.patch(name)[1], [{"op": "remove", "path": "/items/1"}])
        changes, end = self.diff(name)
        self.assertEqual([(c.kind, c.path, c.old_value) for c in changes],
                         [(case.pb.CHANGE_KIND_DELETE, b"/items/[1]", b"2")])
        self.check_text(name, '{"items":[1,3,4,5]}')

    def elements(self, name):
        return [(n.node_key, n.value) for n in self.client.ReadNode(
            database=b"db", resource=name, max_depth=1).nodes[1:]]

    def rearrange(self, name, order):
        """Moves, deletes and inserts so that the elements come out in this order of values."""
        keys = {value: key for key, value in self.elements(name)}
        operations = [delete(key) for value, key in keys.items() if value not in order]
        operations += [move(keys[v], node_key=1, position=case.pb.POSITION_LAST_CHILD)
                       if v in keys else insert(v, node_key=1, position=case.pb.POSITION_LAST_CHILD)
                       for v in order]
        return self.apply(name, *operations)

    def check_native(self, name):
        """The native diff of the last revision turns the old array into the new one, by keys."""
        head = self.head(name)
        changes, _ = self.diff(name, **{"from": case.pb.View(revision=head - 1),
                                        "to": case.pb.View(revision=head)})
        old = [(n.node_key, n.value) for n in self.client.ReadNode(
            database=b"db", resource=name, max_depth=1,
            view=case.pb.View(revision=head - 1)).nodes[1:]]
        values = dict(old)
        gone = {c.node_key for c in changes if c.kind in (case.pb.CHANGE_KIND_DELETE,
                                                          case.pb.CHANGE_KIND_MOVE)}
        rows = [key for key, _ in old if key not in gone]
        placed = sorted((c for c in changes if c.kind in (case.pb.CHANGE_KIND_INSERT,
                                                          case.pb.CHANGE_KIND_MOVE)),
                        key=lambda c: c.new_index)
        for c in placed:
            if c.kind == case.pb.CHANGE_KIND_INSERT:
                values[c.node_key] = c.new_value
            at = rows.index(c.left_sibling_key) + 1 if c.left_sibling_key else 0
            self.assertEqual(at, c.new_index)
            rows.insert(at, c.node_key)
        self.assertEqual([(key, values[key]) for key in rows], self.elements(name))

    def test_arrays_are_rearranged_exactly(self):
        orders = [b"3142", b"321", b"231", b"1", b"", b"13245", b"54321", b"9182736", b"45123"]
        for order in orders:
            order = [bytes([c]) for c in order]
            for door in ("keys", "text"):
                name = self.resource("[1,2,3]")
                after = "[" + ",".join(v.decode() for v in order) + "]"
                if door == "keys":
                    self.rearrange(name, order)
                    self.check_native(name)
                else:
                    self.load(name, after, replace=True)
                self.check_text(name, after)
                self.assertEqual(cases.patched("[1,2,3]", self.patch(name)[0]),
                                 cases.numbers_kept(after))

    def test_objects_swapped_in_an_array(self):
        objects = [json.dumps({"id": i, "deep": {"field": str(i) * 10000}}, separators=(",", ":"))
                   for i in (1, 2)]
        before, swapped = ("[%s]" % ",".join(o) for o in (objects, objects[::-1]))
        name = self.resource(before)
        first = self.node(name, "/[0]").node_key
        self.apply(name, move(first, node_key=1, position=case.pb.POSITION_LAST_CHILD))
        text, patch = self.patch(name)
        self.assertEqual(cases.patched(before, text), cases.numbers_kept(swapped))
        self.assertLessEqual(len(patch), 2)
        self.assertLess(len(text), 2000)
        self.apply(name, update(self.node(name, "/[0]/id").node_key, "3"))
        text, patch = self.patch(name)
        self.assertEqual(patch, [{"op": "replace", "path": "/0/id", "value": 3}])
        text, patch = self.patch(name, 1, 3)
        self.assertLessEqual((len(patch), len(text) < 2000), (3, True))
        self.assertEqual(cases.patched(before, text),
                         cases.numbers_kept(swapped.replace('"id":2', '"id":3')))
        by_text = self.resource(before)  # Without keys to go by it is large, but exact.
        self.load(by_text, swapped, replace=True)
        self.assertEqual(cases.patched(before, self.patch(by_text)[0]), cases.numbers_kept(swapped))

    def test_inserts_into_empty_containers(self):
        for text in ("[]", '{"a":[]}', "[[]]"):
            name = self.resource(text)
            path = {"[": "", "{": "/a"}[text[0]] if text != "[[]]" else "/[0]"
            target = self.node(name, path).node_key
            key = self.apply(name, insert("[]", node_key=target)).operations[0].node_keys[0]
            self.assertNotEqual(key, target)
            self.check_text(name, text.replace("[]", "[[]]"))
            name = self.resource(text)
            head = self.apply(name,
                              *[insert('{"n":%d}' % n, node_key=self.node(name, path).node_key,
                                             position=case.pb.POSITION_LAST_CHILD)
                                      for n in (1, 2, 3)]).result.revision
            self.assertEqual(head, 2)
            self.check_text(name, text.replace("[]", '[{"n":1},{"n":2},{"n":3}]'))
        for empty in ("{}", "[]"):
            name = self.resource('{"x":%s}' % empty)
            key = self.node(name, "/x").node_key
            for other in ("1", "{}", "[]", "[1]", '{"y":{}}', empty):
                self.apply(name, replace(key, other))
                self.check_text(name, '{"x":%s}' % other)
        name = self.resource("{}")
        self.apply(name, insert("{}", node_key=1, name=b"o"))
        self.apply(name, insert('{"p":[],"q":{}}', node_key=self.node(name, "/o").node_key))
        self.check_text(name, '{"o":{"p":[],"q":{}}}')

    def test_an_insert_at_the_end_is_at_the_end(self):
        for text, at, want in (("[1,2,3]", 3, "[1,2,3,9]"), ("[1,2,3]", 0, "[9,1,2,3]"),
                               ("[1,2,3]", 1, "[1,9,2,3]"), ("[]", 0, "[9]")):
            name = self.resource(text)
            self.apply(name, insert("9", node_key=1, position=case.pb.POSITION_INDEX, index=at))
            self.check_text(name, want)
            name = self.by_ctl(text)
            self.ctl("insert", "db/" + name.decode(), "0", "9", "--position", str(at))
            self.check_text(name, want)
            name = self.by_ctl('{"f":%s}' % text)
            self.ctl("apply", "db/" + name.decode(), "-",
                     stdin='[{"op":"add","path":"/f/%d","value":9}]' % at)
            self.check_text(name, '{"f":%s}' % want)
        self.refused("OUT_OF_RANGE", "none", self.apply, name, insert(
            "1", node_key=self.node(name, "/f").node_key, position=case.pb.POSITION_INDEX, index=2))

    def test_integers_past_64_bits_through_an_update(self):
        name = self.resource('{"x":1}')
        key = self.node(name, "/x").node_key
        for number in ("99999999999999999999", "9223372036854775807", "9223372036854775808",
                       "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
                       "4294967296", "2147483648", "9007199254740993", "1" * 5000,
                       "0.1000000000000000055",
                       "1e400", "-0", "0", "-0.0", "1E5", "1e5"):
            self.apply(name, update(key, number))
            self.check_text(name, '{"x":%s}' % number)
            self.assertEqual(self.node(name, "/x", max_value_bytes=10000).value, number.encode())

    def test_a_member_that_exists_is_not_inserted_again(self):
        name = self.resource('{"a":1,"b":2}')
        for operation in (insert('{"a":2}', node_key=1), insert("2", node_key=1, name=b"a"),
                          insert('{"z":1,"a":2}', node_key=1), insert('{"z":1,"z":2}', node_key=1),
                          rename(self.node(name, "/b").node_key, b"a")):
            answer, failure = cases.attempt(self.apply, name, operation)
            self.assertIsNone(answer, operation)
            self.assertIn(failure[0], ("ALREADY_EXISTS", "INVALID_ARGUMENT"), operation)
            self.assertEqual(failure[1], "duplicate_key", operation)
        self.ctl("insert", "db/" + name.decode(), "0", "2", "--name", "a", code=73)
        self.check_text(name, '{"a":1,"b":2}')

    def test_writing_at_an_old_revision_reverts_nothing(self):
        name = self.resource('{"a":1,"b":1}')
        old = self.client.ReadNode(database=b"db", resource=name, path=b"/a")
        self.apply(name, update(self.node(name, "/b").node_key, "2"))
        detail = self.refused("ABORTED", "revision_moved", self.apply, name,
                              update(old.nodes[0].node_key, "9"),
                              options=case.pb.WriteOptions(expected_revision=old.revision))
        self.assertEqual(detail.current_revision, 2)
        self.ctl("update", "db/" + name.decode(), "/a", "9", "--expected-revision", "1", code=75)
        self.apply(name, update(old.nodes[0].node_key, "9"))
        self.check_text(name, '{"a":9,"b":2}')
        self.ctl("update", "db/%s@2" % name.decode(), "/a", "8", code=64)

    def test_removing_nested_arrays_then_a_member(self):
        name = self.resource('{"l":[[1,[2,[3]]],[[[]]],5],"m":{"x":[[]]},"n":1}')
        self.apply(name, delete(self.node(name, "/l/[0]").node_key),
                   delete(self.node(name, "/l/[1]").node_key),
                   delete(self.node(name, "/m").node_key))
        self.check_text(name, '{"l":[5],"n":1}')
        self.apply(name, delete(self.node(name, "/l").node_key))
        self.check_text(name, '{"n":1}')
        self.assertEqual(self.client.GetResource(database=b"db", resource=name).node_count, 2)

    def test_moves_beside_a_sibling(self):
        pb = case.pb
        before, after = pb.POSITION_LEFT_SIBLING, pb.POSITION_RIGHT_SIBLING
        for what, beside, position, want in (
                (0, 1, before, "0123"), (0, 1, after, "1023"), (1, 0, after, "0123"),
                (1, 0, before, "1023"), (3, 0, before, "3012"), (0, 3, after, "1230"),
                (2, 1, before, "0213"), (1, 2, after, "0213"), (3, 1, after, "0132")):
            name = self.resource('{"l":[[0],[1],[2],[3]],"0":0,"1":1,"2":2,"3":3}')
            self.apply(name, move(self.node(name, "/l/[%d]" % what).node_key, position=position,
                                  node_key=self.node(name, "/l/[%d]" % beside).node_key),
                       move(self.node(name, "/%d" % what).node_key, position=position,
                            node_key=self.node(name, "/%d" % beside).node_key))
            document = self.json(name)
            self.assertEqual("".join(str(e[0]) for e in document["l"]), want)
            self.assertEqual("".join(list(document)[1:]), want)
        for position in (before, after):
            name = self.resource("[1,[2]]")
            key = self.node(name, "/[1]").node_key
            answer, failure = cases.attempt(self.apply, name, move(key, node_key=key,
                                                                   position=position))
            self.assertEqual(self.text(name), "[1,[2]]", (answer, failure))
        name = self.resource('{"a":{"x":1},"b":[]}')
        self.apply(name, move(self.node(name, "/a/x").node_key,
                              node_key=self.node(name, "/b").node_key))
        self.apply(name, move(self.node(name, "/b/[0]").node_key, name=b"y",
                              node_key=self.node(name, "/a").node_key))
        self.check_text(name, '{"a":{"y":1},"b":[]}')

    def test_moves_are_in_the_diff(self):
        name = self.resource('{"a":[0,1,2,3],"b":{"c":{"d":[7]}},"e":{}}')
        last = self.node(name, "/a/[3]").node_key
        self.apply(name, move(last, node_key=self.node(name, "/a").node_key))
        changes, end = self.diff(name)
        self.assertEqual([(c.kind, c.node_key, c.old_index, c.new_index) for c in changes],
                         [(case.pb.CHANGE_KIND_MOVE, last, 3, 0)])
        self.assertEqual(self.patch(name)[1], [{"op": "move", "from": "/a/3", "path": "/a/0"}])
        inner = self.node(name, "/b/c").node_key
        self.apply(name, move(inner, node_key=self.node(name, "/e").node_key))
        changes, end = self.diff(name)
        self.assertEqual(sorted((c.kind, c.node_key) for c in changes),
                         [(case.pb.CHANGE_KIND_INSERT, inner), (case.pb.CHANGE_KIND_DELETE, inner)])
        self.assertEqual(cases.patched('{"a":[3,0,1,2],"b":{"c":{"d":[7]}},"e":{}}',
                                       self.patch(name)[0]), cases.numbers_kept(self.text(name)))
        self.check_text(name, '{"a":[3,0,1,2],"b":{},"e":{"c":{"d":[7]}}}')

    def test_an_update_under_a_deleted_parent_is_one_delete(self):
        name = self.resource('{"a":{"b":1,"c":[1,2]},"z":0}')
        self.apply(name, update(self.node(name, "/a/b").node_key, "2"),
                   insert("3", node_key=self.node(name, "/a/c").node_key),
                   delete(self.node(name, "/a").node_key))
        self.assertEqual(self.patch(name)[1], [{"op": "remove", "path": "/a"}])
        changes, end = self.diff(name)
        self.assertEqual([(c.kind, c.path) for c in changes], [(case.pb.CHANGE_KIND_DELETE, b"/a")])

    def test_a_refused_write_leaves_no_trace_in_the_next_diff(self):
        name = self.resource('{"a":1,"b":[1]}')
        key = self.node(name, "/a").node_key
        self.refused("NOT_FOUND", "node_unknown", self.apply, name, update(key, "5"),
                     insert("7", node_key=self.node(name, "/b").node_key), delete(987654))
        self.apply(name, update(key, "2"))
        self.assertEqual(self.patch(name)[1], [{"op": "replace", "path": "/a", "value": 2}])
        self.check_text(name, '{"a":2,"b":[1]}')

    def test_every_kind_is_replaced_by_every_kind(self):
        long = '"%s"' % ("l" * 5000)
        values = ["{}", '{"x":1,"y":[{}]}', "[]", "[1,[2],{}]", '""', '"s"', long, "0", "1.50",
                  "1" * 2000, "true", "false", "null"]
        homes = [("%s", ""), ('{"m":%s}', "/m"), ("[7,%s,8]", "/[1]"),
                 ('{"a":[{"b":%s}],"c":1}', "/a/[0]/b")]
        for form, path in homes:
            name = self.resource(form % values[0])
            key, was, at = self.node(name, path).node_key, values[0], 1
            for before, after in itertools.permutations(values, 2):
                for text in (before, after):
                    result = self.apply(name, replace(key, text)).result
                    self.assertEqual(result.changed, text != was)
                    was, at = text, result.revision
                self.assertEqual(self.node(name, path).node_key, key)
                self.assertEqual(self.text(name), form % after)
                kinds = {self.node(name, path, view=case.pb.View(revision=r)).kind
                         for r in (at - 1, at)}
                if len(kinds) == 2:
                    changes, _ = self.diff(name)
                    self.assertEqual([(c.kind, c.node_key) for c in changes],
                                     [(case.pb.CHANGE_KIND_REPLACE, key)], (before, after))
            text, _ = self.patch(name, 1, at)
            self.assertEqual(cases.patched(form % values[0], text), cases.numbers_kept(form % was))
            self.client.Revert(database=b"db", resource=name, view=case.pb.View(revision=1))
            self.check_text(name, form % values[0])

    def test_a_database_made_anew_is_new(self):
        for i in range(3):
            self.load(b"r", "[%d]" % i, database=b"anew")
            self.client.CreateSnapshot(database=b"anew", resource=b"r", name=b"label")
            self.assertEqual(self.client.ReadNode(database=b"anew", resource=b"r",
                                                  path=b"/[0]").nodes[0].value, b"%d" % i)
            self.client.DropResource(database=b"anew", resource=b"r")
            self.refused("NOT_FOUND", "resource_unknown", self.client.ReadNode, database=b"anew",
                         resource=b"r")
            self.load(b"r", '"again"', database=b"anew")
            self.assertEqual(list(self.client.ListSnapshots(database=b"anew", resource=b"r")
                                  .snapshots), [])
            self.client.DropDatabase(database=b"anew")


if __name__ == "__main__":
    cases.main()
