#!/usr/bin/python3
"""sirix_query and sirix_execute_update_query over MCP, against the real storaged.

    test_query.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import json
import sys
import unittest

from mcp_client import PROGRAMS, Case

USERS = {"users": [{"name": "Ann", "age": 31}, {"name": "Bo", "age": 25}]}


class Queries(Case):
    def setUp(self):
        super().setUp()
        for name, value in (("db/users", USERS), ("db/other", {"n": 1}), ("shut/r", {"n": 2})):
            self.store(name, json.dumps(value))

    def gateway(self, **config):
        return self.open(config={"confirmDestructive": False, **config})

    def ask(self, gateway, query, tool="sirix_query", **arguments):
        return gateway.call(tool, query=query, **arguments)

    def refused(self, gateway, query, tool="sirix_query", **arguments):
        return gateway.fail(tool, query=query, **arguments)

    def test_the_example_of_every_guide_runs_as_written(self):
        gateway = self.gateway()
        self.store("mydb/users", '[{"user":{"duplicate":true,"n":1}},{"user":{"n":2}}]')
        answer = self.ask(gateway, "jn:doc('mydb','users')//user[duplicate]")
        self.assertEqual([i["value"]["n"] for i in answer["items"]], [1])
        self.assertEqual(answer["items"][0]["path"], "/[0]/user")

    def test_items_come_with_what_an_agent_needs_to_act_on_them(self):
        gateway = self.gateway(readOnly=False)
        answer = self.ask(gateway, "$$.users[0].name, $$.users[1], {'x': 1.50}", database="db",
                          resource="users")
        self.assertEqual([i["value"] for i in answer["items"]],
                         ["Ann", {"name": "Bo", "age": 25}, {"x": 1.5}])
        self.assertEqual([i.get("path") for i in answer["items"]],
                         ["/users/[0]/name", "/users/[1]", None])
        self.assertEqual((answer["count"], answer["truncated"]), (3, False))
        self.assertEqual(answer["read"], [{"database": "db", "resource": "users", "revision": 1}])
        gateway.call("sirix_update", database="db", resource="users",
                     nodeKey=answer["items"][0]["nodeKey"], value="Zoe")
        self.assertEqual(self.ask(gateway, "jn:doc('db','users').users[0].name")["items"][0]["value"],
                         "Zoe")

    def test_views_are_arguments(self):
        gateway = self.gateway(readOnly=False)
        where = {"database": "db", "resource": "users"}
        gateway.call("sirix_create_snapshot", name="before", **where)
        gateway.call("sirix_create_branch", name="dev", **where)
        self.ask(gateway, "delete json $$.users[0]", tool="sirix_execute_update_query", **where)
        count = lambda **view: self.ask(gateway, "count($$.users[])", **where,
                                        **view)["items"][0]["value"]
        self.assertEqual([count(), count(revision=1), count(snapshot="before"), count(branch="dev")],
                         [1, 2, 2, 2])
        for view in ({"revision": 1}, {"snapshot": "before"}, {"branch": "dev"}):
            self.assertIn("database and resource", self.refused(gateway, "1", **view)["error"])
        self.assertEqual(self.refused(gateway, "1", database="db")["field"], "resource")

    def test_pages_go_on_where_the_last_one_ended_in_the_same_revision(self):
        gateway = self.gateway(readOnly=False, maxResultSize=4)
        query = "for $i in 1 to 10 return $i + 0 * count(jn:doc('db','users').users[])"
        seen, cursor = [], None
        while True:
            answer = self.ask(gateway, query, **({"cursor": cursor} if cursor else {}))
            seen += [i["value"] for i in answer["items"]]
            cursor = answer.get("nextCursor")
            if cursor is None:
                break
            self.assertTrue(answer["truncated"])
        self.assertEqual(seen, list(range(1, 11)))
        answer = self.ask(gateway, query, limit=2)
        self.assertEqual((answer["count"], answer["limitsApplied"]), (2, ["limit"]))
        self.assertEqual(self.refused(gateway, query + " ", cursor=answer["nextCursor"])["reason"],
                         "cursor")

    def test_an_answer_stays_below_its_size_and_loses_nothing(self):
        gateway = self.gateway(maxResultBytes=8192)
        query = "for $i in 1 to 60 return {'i': $i, 'text': string-join(for $j in 1 to 50 return 'word')}"
        seen, cursor = [], None
        while True:
            answer = self.ask(gateway, query, **({"cursor": cursor} if cursor else {}))
            self.assertLessEqual(len(json.dumps(answer)), 8192)
            seen += [i["value"]["i"] for i in answer["items"]]
            cursor = answer.get("nextCursor")
            if cursor is None:
                break
        self.assertEqual(seen, list(range(1, 61)))
        answer = self.ask(gateway, "for $i in 1 to 2 return [for $j in 1 to 5000 return $j]")
        self.assertEqual([i.get("valueCut") for i in answer["items"]][0], True)
        self.assertTrue(answer["truncated"])

    def test_errors_say_where_and_what_may_be_meant(self):
        gateway = self.gateway()
        facts = self.refused(gateway, "jn:docs('a','b')")
        self.assertEqual((facts["reason"], facts["code"], facts["line"], facts["column"]),
                         ("query", "XPST0017", 1, 1))
        self.assertIn("did you mean jn:doc", facts["error"])
        facts = self.refused(gateway, "delete json $$.users", database="db", resource="users")
        self.assertIn("sirix_execute_update_query", facts["error"])
        gateway = self.gateway(queryTimeoutMs=300)
        self.assertEqual(self.refused(gateway, "count(for $i in 1 to 100000000000 return $i)")
                         ["status"], "deadline")

    def test_lists_of_names_hold_wherever_a_query_opens_something(self):
        gateway = self.gateway(allowDatabases=["db"], allowResources={"db": ["users"]},
                               readOnly=False)
        self.assertEqual(self.ask(gateway, "jn:collection('db').users[0].name")["items"][0]["value"],
                         "Ann")
        for hidden, missing, names in (
                ("jn:doc('db','other')", "jn:doc('db','none')", ("other", "none")),
                ("jn:doc('shut','r')", "jn:doc('gone','r')", ("shut", "gone")),
                ("let $f := jn:doc#2 return $f('db','other')",
                 "let $f := jn:doc#2 return $f('db','none')", ("other", "none"))):
            with self.subTest(hidden):
                one, two = self.refused(gateway, hidden), self.refused(gateway, missing)
                self.assertEqual(one["error"].replace(*names), two["error"])
                self.assertEqual(one["reason"], two["reason"])
        one = self.refused(gateway, "$$", database="db", resource="other")
        two = self.refused(gateway, "$$", database="db", resource="none")
        self.assertEqual(one["error"].replace("other", "none"), two["error"])
        self.assertEqual(self.refused(gateway, "delete json jn:doc('db','other').n",
                                      tool="sirix_execute_update_query")["reason"],
                         "resource_unknown")

    def test_read_only_there_is_no_tool_that_updates(self):
        gateway = self.gateway()
        names = [t["name"] for t in gateway.request("tools/list")["result"]["tools"]]
        self.assertIn("sirix_query", names)
        self.assertNotIn("sirix_execute_update_query", names)
        answer = gateway.request("tools/call", {"name": "sirix_execute_update_query",
                                                "arguments": {"query": "delete json $$.users"}})
        self.assertIn("error", answer)

    def test_an_update_is_one_revision_with_its_message(self):
        gateway = self.gateway(readOnly=False)
        where = {"database": "db", "resource": "users"}
        answer = self.ask(gateway, "for $u in $$.users[] where $u.age lt 30 return insert json "
                                   "{'young': true} into $u", tool="sirix_execute_update_query",
                          message="mark", **where)
        self.assertEqual((answer["revision"], answer["parentRevision"], answer["changed"]),
                         (2, 1, True))
        self.assertEqual([u["resource"] for u in answer["updates"]], ["users"])
        last = gateway.call("sirix_history", **where)["revisions"][0]
        self.assertEqual(last["message"], "mark")
        self.assertEqual(self.ask(gateway, "$$.users[1].young", **where)["items"][0]["value"], True)
        facts = self.refused(gateway, "delete json $$.users", tool="sirix_execute_update_query",
                             expectedRevision=1, **where)
        self.assertEqual(facts["reason"], "revision_moved")

    def test_an_update_is_shown_before_it_is_done(self):
        gateway = self.gateway(readOnly=False, confirmDestructive=True)
        where = {"database": "db", "resource": "users"}
        query = "for $u in $$.users[] return delete json $u.age"
        held = self.ask(gateway, query, tool="sirix_execute_update_query", **where)
        self.assertFalse(held["changed"])
        self.assertIn("2 changes", held["preview"])
        self.assertIn("db/users", held["preview"])
        self.assertEqual(self.ask(gateway, "count($$.users[].age)", **where)["items"][0]["value"], 2)
        done = self.ask(gateway, query, tool="sirix_execute_update_query",
                        confirmToken=held["confirmToken"], **where)
        self.assertEqual(done["revision"], 2)
        facts = self.refused(gateway, "delete json (jn:doc('db','users').users, "
                                      "jn:doc('db','other').n)", tool="sirix_execute_update_query")
        self.assertTrue(facts["error"])


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
