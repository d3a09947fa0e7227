"""Queries from outside: pages, views, scope, updates, limits, deadlines and cancellation."""
import json
import threading
import time

import grpc

import case
import daemon

USERS = [{"name": "u%d" % i, "age": i % 50, "city": ["Bern", "Oslo", "Rome"][i % 3]}
         for i in range(3000)]
ENDLESS = "count(for $i in 1 to 100000000000 return $i + 1)"


class Asking(case.DaemonCase):
    def ask(self, query, client=None, **fields):
        """(values, end) of a query."""
        parts = list((client or self.client).Query(query=query.encode(), **fields))
        self.assertTrue(parts[-1].HasField("end"), parts)
        items = [i for p in parts[:-1] for i in p.items.items]
        self.assertEqual(parts[-1].end.count, len(items))
        return [json.loads(i.json) for i in items], parts[-1].end

    def update(self, query, client=None, **fields):
        return (client or self.client).UpdateQuery(query=query.encode(), **fields).updates

    def refuse(self, code, reason, query, call="Query", **fields):
        return self.refused(code, reason, getattr(self.client, call), query=query.encode(), **fields)

    def of(self, resource, **fields):
        return dict(database=b"db", resource=resource, **fields)


class Reading(Asking):
    def test_items_come_as_json_in_order(self):
        values, end = self.ask('1, "a\\u0000b", null, {"x":[1.10, true]}, 12345678901234567890123')
        self.assertEqual(values, [1, "a\0b", None, {"x": [1.1, True]}, 12345678901234567890123])
        self.assertEqual((end.next_cursor, list(end.reads)), (b"", []))
        parts = list(self.client.Query(query=b"1.50, xs:date('2024-01-02'), 1 div 3e0, 'a/b'"))
        self.assertEqual([i.json for i in parts[0].items.items],
                         [b"1.5", b'"2024-01-02"', b"0.3333333333333333", b'"a/b"'])
        name = self.resource("[1.10]")
        parts = list(self.client.Query(query=b"$$[0]", **self.of(name)))
        self.assertEqual(parts[0].items.items[0].json, b"1.10")
        self.assertEqual(self.ask("()")[0], [])

    def test_the_resource_that_is_named_is_the_context_item(self):
        name = self.resource('{"a":[1,2,3]}')
        self.assertEqual(self.ask("$$.a[1], count($$.a[])", **self.of(name))[0], [2, 3])
        self.assertEqual(self.ask("jn:doc('db','%s').a[0]" % name.decode())[0], [1])

    def test_a_long_result_streams_and_is_whole(self):
        values, end = self.ask('for $i in 1 to 200000 return {"n": $i, "text": "some text"}')
        self.assertEqual(len(values), 200000)
        self.assertEqual(values[-1], {"n": 200000, "text": "some text"})

    def test_pages_are_pinned_to_the_revision_that_the_first_one_read(self):
        name = self.resource("[1,2,3,4,5,6,7]")
        query = "for $x in jn:doc('db','%s')[] return $x" % name.decode()
        first, end = self.ask(query, limit=3)
        self.assertEqual([(r.database, r.resource, r.revision) for r in end.reads],
                         [(b"db", name, 1)])
        self.apply(name, case.replace(1, "[70,71]"))
        second, end = self.ask(query, limit=3, cursor=end.next_cursor)
        third, end = self.ask(query, limit=3, cursor=end.next_cursor)
        self.assertEqual((first, second, third, end.next_cursor),
                         ([1, 2, 3], [4, 5, 6], [7], b""))
        self.assertEqual(self.ask(query)[0], [70, 71])

    def test_a_page_that_ends_with_the_result_has_no_cursor(self):
        self.assertEqual(self.ask("1 to 3", limit=3)[1].next_cursor, b"")
        self.assertNotEqual(self.ask("1 to 4", limit=3)[1].next_cursor, b"")

    def test_pages_of_a_branch_and_of_a_label_stay_where_they_began(self):
        pb = case.pb
        name = self.resource("[1,2,3]")
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        self.client.CreateSnapshot(database=b"db", resource=name, name=b"mark")
        for view in (pb.View(branch=b"side"), pb.View(snapshot=b"mark")):
            with self.subTest(view):
                _, end = self.ask("$$[]", limit=2, view=view, **self.of(name))
                head = self.apply(name, case.replace(1, "[9,9,9]"), branch=b"side").result.revision
                self.client.CreateSnapshot(database=b"db", resource=name, name=b"mark",
                                           view=pb.View(revision=head), replace=True)
                values, end = self.ask("$$[]", limit=2, view=view, cursor=end.next_cursor,
                                       **self.of(name))
                self.assertEqual((values, end.next_cursor), ([3], b""))
                self.apply(name, case.replace(1, "[1,2,3]"), branch=b"side")
                self.client.CreateSnapshot(database=b"db", resource=name, name=b"mark",
                                           view=pb.View(revision=1), replace=True)

    def test_a_cursor_of_another_query_is_refused(self):
        _, end = self.ask("1 to 9", limit=2)
        self.assertEqual(self.ask("1 to 9", limit=2, cursor=end.next_cursor)[0], [3, 4])
        for query, cursor in (("1 to 8", end.next_cursor), ("1 to 9", b"x"),
                              ("1 to 9", end.next_cursor + b"|db/r@"),
                              ("1 to 9", b"q1|" + b"0" * 16 + b"|1|1")):
            detail = self.refuse("INVALID_ARGUMENT", "cursor", query, cursor=cursor)
            self.assertEqual(detail.field, b"cursor")

    def test_explain_gives_the_plan_and_reads_nothing(self):
        parts = list(self.client.Query(query=b"for $u in jn:doc('no','such')[] where $u.age gt 3 "
                                             b"return $u.name", explain=True))
        self.assertEqual([p.WhichOneof("part") for p in parts], ["plan", "end"])
        self.assertIn(b"where", parts[0].plan)
        self.assertGreater(parts[0].plan.count(b"\n"), 2)

    def test_a_view_is_that_of_the_context_item_and_of_its_resource_in_the_text(self):
        pb = case.pb
        name, other = self.resource("1"), self.resource("10")
        self.apply(name, case.update(1, "2"))
        self.apply(other, case.update(1, "20"))
        self.client.CreateSnapshot(database=b"db", resource=name, name=b"v", view=pb.View(revision=1))
        self.client.CreateBranch(database=b"db", resource=name, name=b"dev")
        self.apply(name, case.update(1, "3"), branch=b"dev")
        query = "$$, jn:doc('db','%s'), jn:doc('db','%s'), jn:doc('db','%s', 2)" % (
            name.decode(), other.decode(), name.decode())
        for view, seen in ((pb.View(), 2), (pb.View(revision=1), 1), (pb.View(snapshot=b"v"), 1),
                           (pb.View(branch=b"dev"), 3)):
            with self.subTest(view):
                self.assertEqual(self.ask(query, view=view, **self.of(name))[0],
                                 [seen, seen, 20, 2])

    def test_a_time_is_that_of_every_resource(self):
        pb = case.pb
        name, other = self.resource("1"), self.resource("10")
        at = self.client.History(database=b"db", resource=other, page_size=1).revisions[0]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at.timestamp_us // 1000000))
        stamp = ("%s.%06dZ" % (stamp, at.timestamp_us % 1000000)).encode()
        self.apply(name, case.update(1, "2"))
        self.apply(other, case.update(1, "20"))
        query = "jn:doc('db','%s'), jn:doc('db','%s')" % (name.decode(), other.decode())
        self.assertEqual(self.ask(query, view=pb.View(timestamp=stamp))[0], [1, 10])
        self.assertEqual(self.ask("$$, " + query, view=pb.View(timestamp=stamp),
                                  **self.of(name))[0], [1, 1, 10])
        for view in (pb.View(revision=1), pb.View(snapshot=b"v"), pb.View(branch=b"main")):
            detail = self.refuse("INVALID_ARGUMENT", "field_invalid", query, view=view)
            self.assertEqual(detail.field, b"view")
            self.assertIn(b"jn:doc(", detail.message)
        for view, code, reason, field in (
                (pb.View(revision=99), "OUT_OF_RANGE", "revision_ahead", b"view.revision"),
                (pb.View(snapshot=b"none"), "NOT_FOUND", "snapshot_unknown", b"view.snapshot"),
                (pb.View(branch=b"none"), "NOT_FOUND", "branch_unknown", b"view.branch")):
            self.assertEqual(self.refuse(code, reason, "$$", view=view, **self.of(name)).field,
                             field)
        self.refuse("NOT_FOUND", "revision_before_first", query,
                    view=pb.View(timestamp=b"2001-01-01"))

    def test_what_is_stored_tells_where_it_is(self):
        name = self.resource('{"users":[{"name":"a"},{"name":"b"}]}')
        parts = list(self.client.Query(query=b"$$.users[1], $$.users[0].name, {'n': $$.users[0].name}, "
                                             b"1", with_nodes=True, **self.of(name)))
        nodes = [i.node for i in parts[0].items.items]
        self.assertEqual([n.path for n in nodes], [b"/users/[1]", b"/users/[0]/name", b"", b""])
        self.assertEqual([n.node_key != 0 for n in nodes], [True, True, False, False])
        self.assertEqual((nodes[0].revision, nodes[0].database, nodes[0].resource), (1, b"db", name))
        self.assertEqual(nodes[1].node_key, self.node(name, "/users/[0]/name").node_key)
        self.apply(name, case.update(nodes[1].node_key, '"z"'))
        self.assertEqual(self.json(name)["users"][0]["name"], "z")
        parts = list(self.client.Query(query=b"$$.users[1]", **self.of(name)))
        self.assertFalse(parts[0].items.items[0].HasField("node"))

    def test_variables_and_the_dialect(self):
        pb = case.pb
        query = "declare variable $a external; declare variable $b external; $a.x + $b"
        given = [pb.QueryVariable(name=b"a", json=b'{"x":40}'),
                 pb.QueryVariable(name=b"b", json=b"2")]
        self.assertEqual(self.ask(query, variables=given)[0], [42])
        self.refuse("INVALID_ARGUMENT", "query", query, variables=given[:1])
        self.refuse("INVALID_ARGUMENT", "query", query,
                    variables=[given[0], pb.QueryVariable(name=b"b", json=b"{")])
        self.assertEqual(self.ask("[5,6][[1]]", dialect=pb.QUERY_DIALECT_JSONIQ)[0], [5])
        detail = self.refuse("INVALID_ARGUMENT", "field_invalid", "1", dialect=7)
        self.assertEqual(detail.field, b"dialect")

    def test_one_query_over_all_branches(self):
        name = self.resource('{"n":1}')
        for i in range(3):
            branch = b"b%d" % i
            self.client.CreateBranch(database=b"db", resource=name, name=branch)
            self.apply(name, case.update(self.node(name, "/n").node_key, str(10 + i)),
                       branch=branch)
        query = ("for $b in sdb:branches('db','%s') order by $b "
                 "return sdb:branch('db','%s', $b).n" % (name.decode(), name.decode()))
        self.assertEqual(self.ask(query)[0], [10, 11, 12, 1])


class Errors(Asking):
    def test_an_error_has_code_line_column_and_what_may_be_meant(self):
        detail = self.refuse("INVALID_ARGUMENT", "query", "let $x := 1\nreturn\n  jn:docs('a','b')")
        self.assertEqual((detail.code, detail.line, detail.column), (b"XPST0017", 3, 3))
        self.assertIn(b"did you mean jn:doc", detail.message)
        detail = self.refuse("INVALID_ARGUMENT", "query", "1 +")
        self.assertEqual((detail.code, detail.line), (b"XPST0003", 1))
        detail = self.refuse("INVALID_ARGUMENT", "query", 'error(xs:QName("local:mine"), "oh")')
        self.assertEqual(detail.code, b"mine")

    def test_an_error_in_the_middle_ends_the_stream(self):
        seen = []
        with self.assertRaises(grpc.RpcError) as caught:
            for part in self.client.Query(query=b"for $i in 1 to 100000 return 1 div (99999 - $i)"):
                seen.extend(part.items.items)
        detail = daemon.detail(caught.exception, case.error)
        self.assertEqual((detail.code, detail.line), (b"FOAR0001", 1))
        self.assertGreater(len(seen), 90000)

    def test_a_request_that_cannot_be_meant_is_refused(self):
        name = self.resource("1")
        for fields, reason, field in (
                (dict(query=b""), "field_missing", b"query"),
                (dict(query=b"1", database=b"db"), "field_missing", b"resource"),
                (dict(query=b"1", resource=name), "field_missing", b"database"),
                (dict(query=b"1", limits=case.pb.QueryLimits(memory_bytes=1 << 40)),
                 "field_invalid", b"limits.memory_bytes"),
                (dict(query=b"1", limits=case.pb.QueryLimits(items_visited=1 << 40)),
                 "field_invalid", b"limits.items_visited"),
                (dict(query=b"1", variables=[case.pb.QueryVariable(name=b"v", json=b"1")] * 257),
                 "field_invalid", b"variables")):
            with self.subTest(fields):
                detail = self.refused("INVALID_ARGUMENT", reason, self.client.Query, **fields)
                self.assertEqual(detail.field, field)
        self.refuse("NOT_FOUND", "resource_unknown", "$$", database=b"db", resource=b"none")
        self.refuse("NOT_FOUND", "database_unknown", "$$", database=b"none", resource=b"none")

    def test_a_query_that_updates_is_refused_where_only_reading_is_meant(self):
        name = self.resource('{"a":1}')
        detail = self.refuse("INVALID_ARGUMENT", "query", "delete json $$.a", **self.of(name))
        self.assertEqual((detail.code, detail.line), (b"XUST0001", 1))
        self.assertIn(b"sirix_execute_update_query", detail.message)
        self.assertEqual(self.head(name), 1)


class Limits(Asking):
    def test_named_limits_end_a_query(self):
        pb = case.pb
        for query, limits, field in (
                ("count(for $i in 1 to 1000000 where $i mod 7 eq 0 return $i)",
                 pb.QueryLimits(items_visited=10000), b"items_visited"),
                ("let $x := (for $i in 1 to 1000000 return {'i': $i}) return count($x)",
                 pb.QueryLimits(memory_bytes=4 << 20), None)):
            with self.subTest(query):
                detail = self.refuse("RESOURCE_EXHAUSTED", "size_limit", query, limits=limits)
                if field:
                    self.assertEqual(detail.field, field)

    def test_hostile_texts_end_at_a_named_limit_soon(self):
        began = time.monotonic()
        for query in ("(" * 100000 + "1" + ")" * 100000, "[" * 500000,
                      "declare function local:f($n) { 1 + local:f($n + 1) }; local:f(1)"):
            with self.subTest(query[:40]):
                with self.assertRaises(grpc.RpcError) as caught:
                    list(self.client.Query(query=query.encode()))
                self.assertIn(caught.exception.code().name,
                              ("RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"))
        values = self.ask("count(let $x := $$ return $x" + " | $x" * 100000 + ")",
                          **self.of(self.resource("{}")))[0]
        self.assertEqual(values, [1])
        self.assertLess(time.monotonic() - began, 20)
        self.refuse("RESOURCE_EXHAUSTED", "size_limit", "1 " + " " * (2 << 20))
        self.assertEqual(self.ask("1")[0], [1])

    def running(self):
        return self.client.Status().calls_running

    def until_alone(self):
        """Waits until no call but this one runs; how long that took."""
        began = time.monotonic()
        while self.running() > 1:
            self.assertLess(time.monotonic() - began, 30)
        return time.monotonic() - began

    def test_a_deadline_ends_a_query_that_finds_nothing(self):
        self.until_alone()
        began = time.monotonic()
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.Query(query=ENDLESS.encode(), timeout=0.3))
        self.assertEqual(caught.exception.code().name, "DEADLINE_EXCEEDED")
        self.assertLess(time.monotonic() - began, 10)
        self.assertLess(self.until_alone(), 10)

    def test_a_client_that_goes_away_ends_its_query(self):
        for query in (ENDLESS, "for $i in 1 to 100000000000 return $i"):
            with self.subTest(query):
                self.until_alone()
                call = self.client.Query(query=query.encode())
                while self.running() < 2:
                    pass
                call.cancel()
                self.assertLess(self.until_alone(), 10)

    def test_a_client_that_stands_still_costs_no_memory(self):
        call = self.client.Query(query=b"for $i in 1 to 100000000000 return $i")
        next(iter(call))
        before = self.client.Status().resident_bytes
        for _ in range(200):
            self.client.Status()
        self.assertLess(self.client.Status().resident_bytes, before + (64 << 20))
        call.cancel()
        self.until_alone()


class Many(Asking):
    def test_updates_that_are_answered_hold_no_readers(self):
        """More at once than there are readers: each is done, or told that there is no room just now."""
        name = self.resource('{"a":[%s]}' % ",".join(map(str, range(2000))))
        calls = [self.client.UpdateQuery.future(
            query=b"for $i in 0 to 99 return replace json value of $$.a[$i] with $i + 1",
            dry_run=True, timeout=120, **self.of(name)) for _ in range(1500)]
        full = [call.exception() for call in calls if call.exception() is not None]
        self.assertLess(len(full), len(calls))
        for failure in full:
            self.assertEqual(failure.code().name, "RESOURCE_EXHAUSTED")
            self.assertIn("streams read database", failure.details())
            self.assertGreater(daemon.detail(failure, case.error).retry_after_ms, 0)
        self.assertEqual(self.head(name), 1)


class Scope(Asking):
    """What is outside a scope answers, word for word, as what is not there."""

    def setUp(self):
        self.client.CreateDatabase(database=b"s1")
        self.client.CreateDatabase(database=b"s2")
        for database, resource in ((b"s1", b"open"), (b"s1", b"shut"), (b"s2", b"open")):
            self.load(resource, '{"in":"%s/%s"}' % (database.decode(), resource.decode()),
                      database=database)

    def tearDown(self):
        for database in (b"s1", b"s2"):
            self.client.DropDatabase(database=database)

    def scope(self, allow=None, deny=(), **rules):
        pb = case.pb
        scope = pb.Scope(deny_databases=deny, allow_resources=[
            pb.ScopeRule(database=d.encode(), resources=r) for d, r in rules.items()])
        if allow is not None:
            scope.allow_databases.names.extend(allow)
            scope.allow_databases.SetInParent()
        return scope

    def failure(self, query, scope=None, call="Query", **fields):
        with self.assertRaises(grpc.RpcError) as caught:
            answer = getattr(self.client, call)(query=query.encode(), scope=scope, **fields)
            if call == "Query":
                list(answer)
        detail = daemon.detail(caught.exception, case.error)
        return caught.exception.code().name, detail.reason, detail.message

    def test_every_door_looks_before_it_opens(self):
        scope = self.scope(allow=[b"s1"], s1=[b"open"])
        self.assertEqual(self.ask("jn:doc('s1','open').in", scope=scope)[0], ["s1/open"])
        doors = ("jn:doc('%s','%s')", "jn:doc('%s','%s', 1)", "jn:doc(('%s'),('%s'), 2, false())",
                 "jn:open('%s','%s', current-dateTime())",
                 "jn:open-revisions('%s','%s', xs:dateTime('2001-01-01T00:00:00Z'), "
                 "current-dateTime())", "sdb:snapshot('%s','%s','x')", "sdb:branch('%s','%s','main')",
                 "sdb:branches('%s','%s')", "sdb:snapshots('%s','%s')",
                 "let $f := jn:doc#2 return $f('%s','%s')", "fn:apply(jn:doc#2, ['%s','%s'])",
                 "jn:diff('%s','%s', 1, 2)")
        for door in doors:
            for database, resource in (("s1", "shut"), ("s2", "open")):
                with self.subTest(door % (database, resource)):
                    hidden = self.failure(door % (database, resource), scope)
                    missing = self.failure(door % (database if database == "s1" else "s9",
                                                   "none" if database == "s1" else resource), scope)
                    named = (database, resource) if database == "s1" else (resource, database)
                    other = ("none",) if database == "s1" else ("s9",)
                    self.assertEqual(hidden[:2], missing[:2])
                    self.assertEqual(
                        hidden[2].replace(named[1].encode(), b"?"),
                        missing[2].replace(other[0].encode(), b"?"))

    def test_the_context_item_is_looked_at_too(self):
        scope = self.scope(allow=[b"s1"], s1=[b"open"])
        hidden = self.failure("$$", scope, database=b"s1", resource=b"shut")
        self.assertEqual(hidden[:2], ("NOT_FOUND", b"resource_unknown"))
        missing = self.failure("$$", scope, database=b"s1", resource=b"none")
        self.assertEqual(hidden[2].replace(b"shut", b"none"), missing[2])
        hidden = self.failure("$$", scope, database=b"s2", resource=b"open")
        missing = self.failure("$$", scope, database=b"s9", resource=b"open")
        self.assertEqual(hidden[2].replace(b"s2", b"s9"), missing[2])
        self.assertEqual(self.ask("$$.in", scope=scope, database=b"s1", resource=b"open")[0],
                         ["s1/open"])

    def test_lists_leave_out_what_is_outside(self):
        scope = self.scope(allow=[b"s1"], s1=[b"open"])
        self.assertEqual(self.ask("jn:collection('s1').in", scope=scope)[0], ["s1/open"])
        self.assertEqual(self.ask("jn:exists-resource('s1','shut'), jn:exists-resource('s1','open'), "
                                  "jn:exists-database('s2'), jn:exists-database('s1')",
                                  scope=scope)[0], [False, True, False, True])

    def test_deny_wins_whatever_the_case_and_an_empty_list_allows_nothing(self):
        query = "jn:exists-resource('s1','open'), jn:exists-resource('s2','open')"
        for scope, seen in ((self.scope(), [True, True]),
                            (self.scope(deny=[b"S1"]), [False, True]),
                            (self.scope(deny=[b"*"]), [False, False]),
                            (self.scope(allow=[b"*"], deny=[b"s2"]), [True, False]),
                            (self.scope(allow=[]), [False, False]),
                            (self.scope(s1=[]), [False, True]),
                            (self.scope(s1=[b"*"]), [True, True]),
                            (self.scope(S1=[b"shut"]), [False, True])):
            with self.subTest(scope):
                self.assertEqual(self.ask(query, scope=scope)[0], seen)

    def test_an_update_is_held_to_it(self):
        scope = self.scope(allow=[b"s1"], s1=[b"open"])
        self.assertEqual(self.failure("delete json jn:doc('s1','shut').in", scope,
                                      "UpdateQuery")[:2], ("NOT_FOUND", b"resource_unknown"))
        self.assertEqual(len(self.update("delete json jn:doc('s1','open').in", scope=scope)), 1)


class Updating(Asking):
    def test_one_query_is_one_revision_and_says_which(self):
        name = self.resource('{"users":[{"n":"a"},{"n":"b"}]}')
        done = self.update("for $u in $$.users[] return (insert json {'seen': true} into $u, "
                           "replace json value of $u.n with $u.n || '!')",
                           options=case.pb.WriteOptions(message=b"why", on_behalf_of=b"anna"),
                           **self.of(name))
        self.assertEqual([(u.database, u.resource, u.branch, u.result.revision,
                           u.result.parent_revision, u.result.changed) for u in done],
                         [(b"db", name, b"main", 2, 1, True)])
        self.assertEqual(self.json(name),
                         {"users": [{"n": "a!", "seen": True}, {"n": "b!", "seen": True}]})
        last = self.client.History(database=b"db", resource=name, page_size=1).revisions[0]
        self.assertEqual((last.message, last.on_behalf_of), (b"why", b"anna"))

    def test_a_dry_run_says_what_would_change(self):
        name = self.resource('{"users":[{"n":"a"},{"n":"b"}]}')
        query = "for $u in $$.users[] return delete json $u.n"
        done = self.update(query, dry_run=True, **self.of(name))
        self.assertEqual([(u.resource, u.branch, u.result.revision, u.result.changed, u.changes)
                          for u in done], [(name, b"main", 1, False, 2)])
        self.assertEqual(self.head(name), 1)
        self.assertEqual(self.update(query, **self.of(name))[0].changes, 2)
        detail = self.refuse("INVALID_ARGUMENT", "field_invalid", query, call="UpdateQuery",
                             dry_run=True, **self.of(name),
                             options=case.pb.WriteOptions(idempotency_key=b"k"))
        self.assertEqual(detail.field, b"options.idempotency_key")

    def test_several_resources_change_together(self):
        one, two = self.resource('{"a":1}'), self.resource('{"a":2}')
        query = "for $r in ('%s','%s') return delete json jn:doc('db', $r).a" % (one.decode(),
                                                                                two.decode())
        done = self.update(query)
        self.assertEqual(sorted((u.resource, u.result.revision) for u in done),
                         sorted([(one, 2), (two, 2)]))
        self.assertEqual((self.json(one), self.json(two)), ({}, {}))
        self.client.CreateDatabase(database=b"other")
        self.load(b"r", '{"a":1}', database=b"other")
        with self.assertRaises(grpc.RpcError):
            self.update("insert json {'b':1} into jn:doc('db','%s'), "
                        "insert json {'b':1} into jn:doc('other','r')" % one.decode())
        self.assertEqual((self.json(one), self.head(one)), ({}, 2))

    def test_nothing_to_change_makes_no_revision(self):
        name = self.resource("[]")
        self.assertEqual(len(self.update("for $x in $$[] return delete json $x.a",
                                         **self.of(name))), 0)
        self.assertEqual(self.head(name), 1)

    def test_a_branch_is_written_where_it_is_named(self):
        name = self.resource('{"a":1}')
        self.client.CreateBranch(database=b"db", resource=name, name=b"side")
        done = self.update("replace json value of jn:doc('db','%s').a with $$.a + 1" %
                           name.decode(), branch=b"side", **self.of(name))
        self.assertEqual((done[0].branch, done[0].result.revision), (b"side", 2))
        self.assertEqual(self.json(name), {"a": 1})
        self.assertEqual(self.json(name, view=case.pb.View(branch=b"side")), {"a": 2})

    def test_an_expected_revision_is_compared(self):
        name = self.resource('{"a":1}')
        expect = lambda n: case.pb.WriteOptions(expected_revision=n)
        detail = self.refuse("ABORTED", "revision_moved", "delete json $$.a", call="UpdateQuery",
                             options=expect(2), **self.of(name))
        self.assertEqual(detail.current_revision, 1)
        self.assertEqual(self.update("delete json $$.a", options=expect(1),
                                     **self.of(name))[0].result.revision, 2)

    def test_the_same_key_again_changes_nothing(self):
        name = self.resource('{"n":0}')
        options = case.pb.WriteOptions(idempotency_key=b"once")
        query = "replace json value of $$.n with $$.n + 1"
        first = self.update(query, options=options, **self.of(name))[0].result
        again = self.update(query, options=options, **self.of(name))[0].result
        self.assertEqual((first.revision, first.replayed, again.revision, again.replayed),
                         (2, False, 2, True))
        self.assertEqual(self.json(name), {"n": 1})
        self.refuse("INVALID_ARGUMENT", "idempotency_mismatch", query + " + 1",
                    call="UpdateQuery", options=options, **self.of(name))

    def test_the_same_key_again_answers_for_every_resource(self):
        names = [self.resource('{"n":0}') for _ in range(3)]
        options = case.pb.WriteOptions(idempotency_key=b"all of them")
        query = ", ".join("replace json value of jn:doc('db','%s').n with %d" % (name.decode(), i + 1)
                          for i, name in enumerate(reversed(names)))
        first = self.update(query, options=options)
        again = self.update(query, options=options)
        self.assertEqual(sorted(one.resource for one in first), sorted(names))
        self.assertEqual([one.result.replayed for one in again], [True] * 3)
        for one in list(first) + list(again):
            one.result.replayed = False
        tell = lambda all_of: sorted((one.database, one.resource, one.branch, str(one.result))
                                     for one in all_of)
        self.assertEqual(tell(again), tell(first))
        self.assertEqual([self.head(name) for name in names], [2] * 3)

    def test_many_writers_lose_no_update(self):
        name = self.resource('{"n":0}')
        failures = []

        def count():
            client = daemon.Client(self.daemon.owner, case.pb)
            try:
                for _ in range(10):
                    while True:
                        try:
                            self.update("replace json value of $$.n with $$.n + 1", client=client,
                                        **self.of(name))
                            break
                        except grpc.RpcError as failure:
                            if failure.code().name != "ABORTED":
                                raise
            except Exception as failure:
                failures.append(failure)
            client.close()

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, self.json(name)), ([], {"n": 40}))

    def test_a_reader_may_query_and_not_update(self):
        name = self.resource('{"a":1}')
        reader = daemon.Client(self.daemon.reader, case.pb)
        self.assertEqual(self.ask("$$.a", client=reader, **self.of(name))[0], [1])
        self.refused("PERMISSION_DENIED", "read_only", reader.UpdateQuery,
                     query=b"delete json $$.a", **self.of(name))
        reader.close()
        self.assertEqual(self.head(name), 1)

    def test_an_update_that_fails_changes_nothing(self):
        name = self.resource('{"a":1}')
        for query, code in (("rename json $$.a as 'b', rename json $$.a as 'c'", b"JNUP0010"),
                            ("insert json {'a':2} into $$", b"JNUP0006"),
                            ("delete json $$.a, error()", b"FOER0000")):
            with self.subTest(query):
                detail = self.refuse("INVALID_ARGUMENT", "query", query, call="UpdateQuery",
                                     **self.of(name))
                self.assertEqual(detail.code, code)
        self.assertEqual((self.json(name), self.head(name)), ({"a": 1}, 1))

    def test_a_deadline_ends_an_update_and_changes_nothing(self):
        name = self.resource('{"a":1}')
        query = ("replace json value of $$.a with "
                 "count(for $i in 1 to 100000000000 return $i + 1)")
        with self.assertRaises(grpc.RpcError) as caught:
            self.update(query, timeout=0.3, **self.of(name))
        self.assertEqual(caught.exception.code().name, "DEADLINE_EXCEEDED")
        self.assertEqual(self.update("delete json $$.a", **self.of(name))[0].result.revision, 2)


if __name__ == "__main__":
    case.main()
