#!/usr/bin/python3
"""sirix-mcp on stdio in the era without a handshake, and both eras on one connection.

    test_modern.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import json
import queue
import sys
import unittest

from mcp_client import META, PROGRAMS, Case, Modern, inside

WHERE = {"database": "db", "resource": "users"}
USERS = '{"users":[{"name":"Alice","n":1.50},{"name":"Bob"}],"v":"1.0"}'
INFO = "sirix:///db/users/info"


class Requests(Case):
    def test_a_server_tells_what_it_can(self):
        told = self.modern().ask("server/discover")
        self.assertEqual(told["supportedVersions"], ["2026-07-28"])
        self.assertEqual(told["resultType"], "complete")
        self.assertEqual(sorted(told["capabilities"]),
                         ["completions", "logging", "prompts", "resources", "tools"])
        self.assertEqual(told["cacheScope"], "private")
        self.assertIsInstance(told["ttlMs"], int)
        self.assertIn("sirix_read_node", told["instructions"])
        server = told["_meta"]["io.modelcontextprotocol/serverInfo"]
        self.assertEqual(sorted(server), ["name", "title", "version"])

    def test_a_process_that_gets_no_opening_serves_at_once(self):
        # A client may have probed another process; the first id here is the number 0.
        self.store("db/users", USERS)
        gateway = self.modern()
        gateway.send_line('{"method":"tools/list","params":{"_meta":%s},"jsonrpc":"2.0","id":0}'
                          % json.dumps(META))
        listed = gateway.answer()
        self.assertEqual(listed["id"], 0)
        for name in ("tools", "resultType", "ttlMs", "cacheScope", "_meta"):
            self.assertIn(name, listed["result"])
        result = gateway.ask("tools/call", name="sirix_read_node", arguments=WHERE)
        self.assertEqual(result["structuredContent"]["value"], json.loads(USERS))
        self.assertEqual(json.loads(inside(result["content"][0]["text"])),
                         result["structuredContent"])
        self.assertEqual((result["resultType"], result["isError"]), ("complete", False))
        self.assertEqual(gateway.close(), 0)

    def test_what_the_envelope_lacks_is_named(self):
        gateway = self.modern()
        for meta, code, field in [
                ({}, -32602, "io.modelcontextprotocol/protocolVersion"),
                ({"protocolVersion": "2026-07-28"}, -32602, "io.modelcontextprotocol/clientCap"),
                ({"protocolVersion": 7, "clientCapabilities": {}}, -32602,
                 "io.modelcontextprotocol/protocolVersion"),
                ({"protocolVersion": "2026-07-28", "clientCapabilities": []}, -32602,
                 "io.modelcontextprotocol/clientCap"),
                ({"protocolVersion": "2026-07-28", "clientCapabilities": {}, "logLevel": "loud"},
                 -32602, "io.modelcontextprotocol/logLevel")]:
            meta = {"io.modelcontextprotocol/" + name: value for name, value in meta.items()}
            error = gateway.request("server/discover", {"_meta": meta})["error"]
            self.assertEqual(error["code"], code)
            self.assertIn(field, error["data"]["field"])
        self.assertIn("resultType", gateway.ask("server/discover"))

    def test_a_revision_that_is_not_spoken_is_refused_with_those_that_are(self):
        gateway = self.modern()
        for version in ("2099-01-01", "v999.0.0", "2025-11-25", "", "\u202e"):
            meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
            error = gateway.request("tools/list", {"_meta": meta})["error"]
            self.assertEqual(error["code"], -32022)
            self.assertEqual(error["data"]["supported"], ["2026-07-28"])
            self.assertEqual(error["data"]["requested"], version)

    def test_methods_of_the_other_era_are_not_there(self):
        gateway = self.modern()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe",
                       "resources/unsubscribe", "tasks/list", "tasks/result", "nope"):
            error = gateway.request(method, {"_meta": META})["error"]
            self.assertEqual((error["code"], error["data"]["field"]), (-32601, "method"), method)

    def test_batches_are_not_there(self):
        gateway = self.modern()
        gateway.send([{"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                       "params": {"_meta": META}}])
        self.assertEqual(gateway.answer()["error"]["code"], -32600)

    def test_no_error_has_a_code_that_the_protocol_keeps(self):
        gateway = self.modern()
        for method, params, code in [
                ("tools/call", {"name": "nope"}, -32602), ("tools/call", {}, -32602),
                ("tools/list", {"cursor": "x"}, -32602), ("prompts/get", {"name": "x"}, -32602),
                ("resources/read", {"uri": "sirix:///nope"}, -32602),
                ("resources/read", {"uri": "sirix:///no/such/info"}, -32602),
                ("resources/read", {}, -32602), ("completion/complete", {}, -32602),
                ("subscriptions/listen", {}, -32602)]:
            error = gateway.request(method, {**params, "_meta": META})["error"]
            self.assertEqual(error["code"], code, (method, params))
        error = gateway.request("resources/read", {"uri": "x:y", "_meta": META})["error"]
        self.assertEqual(error["data"]["uri"], "x:y")

    def test_both_eras_are_served_on_one_connection(self):
        self.store("db/users", USERS)
        gateway = self.modern()
        self.assertIn("resultType", gateway.ask("server/discover"))
        hello = gateway.initialize("2025-06-18", name="codex")
        self.assertEqual(hello["protocolVersion"], "2025-06-18")
        self.assertNotIn("resultType", hello)
        legacy = gateway.call_raw("sirix_read_node", **WHERE)["result"]
        modern = gateway.ask("tools/call", name="sirix_read_node", arguments=WHERE)
        self.assertNotIn("resultType", legacy)
        self.assertNotIn("_meta", legacy)
        self.assertEqual(legacy["structuredContent"], modern["structuredContent"])
        self.assertEqual(gateway.request("ping")["result"], {})
        self.assertEqual(gateway.request("ping", {"_meta": META})["error"]["code"], -32601)

    def test_who_is_served_is_told_to_the_storage(self):
        gateway = self.modern("--read-write")
        where = {"database": "db", "resource": "made"}
        gateway.ask("tools/call", name="sirix_create_resource",
                    arguments={**where, "createDatabase": True})
        meta = {**META, "io.modelcontextprotocol/clientInfo": {"name": "agent 7", "version": "1"}}
        gateway.request("tools/call", {"name": "sirix_insert", "_meta": meta,
                                       "arguments": {**where, "data": [1]}})
        first = gateway.ask("tools/call", name="sirix_history",
                            arguments=where)["structuredContent"]["revisions"][0]
        self.assertEqual(first["onBehalfOf"], "agent 7")


class Openings(Case):
    def test_a_host_that_probes_first(self):
        # What a current host sends; the process that answers the probe is then closed.
        probe = self.modern()
        probe.send_line('{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover",'
                        '"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
                        '"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},'
                        '"io.modelcontextprotocol/clientCapabilities":{}}}}')
        self.assertEqual(probe.answer()["id"], "server-discover-probe-1")
        self.assertEqual(probe.close(), 0)

    def test_a_host_that_probes_with_a_future_revision_finds_its_way(self):
        gateway = self.modern()
        meta = {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        error = gateway.request("server/discover", {"_meta": meta})["error"]
        self.assertEqual(error["data"]["supported"], ["2026-07-28"])
        self.assertIn("tools", gateway.ask("tools/list"))

    def test_a_host_that_initializes_an_older_revision(self):
        gateway = self.modern()
        gateway.send_line('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":'
                          '"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":'
                          '"codex-mcp-client","title":"Codex","version":"0.30.0"}}}')
        self.assertEqual(gateway.answer()["result"]["protocolVersion"], "2025-06-18")
        gateway.send_line('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        gateway.send_line('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}')
        self.assertEqual(gateway.answer()["id"], 1)


class Resources(Case):
    def test_the_six_templates_are_there_and_read(self):
        self.store("db/users", USERS)
        gateway = self.modern("--read-write")
        gateway.ask("tools/call", name="sirix_create_snapshot", arguments={**WHERE, "name": "a"})
        templates = [t["uriTemplate"]
                     for t in gateway.ask("resources/templates/list")["resourceTemplates"]]
        self.assertEqual(templates, [
            "sirix:///{database}/resources", "sirix:///{database}/{resource}/info",
            "sirix:///{database}/{resource}/history",
            "sirix:///{database}/{resource}/revision/{revision}",
            "sirix:///{database}/{resource}/snapshots"])
        listed = [r["uri"] for r in gateway.ask("resources/list")["resources"]]
        self.assertEqual(listed, ["sirix:///databases", "sirix:///db/resources", "sirix:///docs/sql"])
        for uri, member, value in [
                ("sirix:///databases", "count", 1), ("sirix:///db/resources", "count", 1),
                (INFO, "latestRevision", 1), ("sirix:///db/users/history", "count", 1),
                ("sirix:///db/users/revision/1", "value", json.loads(USERS)),
                ("sirix:///%64b/users/revision/1", "kind", "object")]:
            with self.subTest(uri):
                content = gateway.ask("resources/read", uri=uri)["contents"]
                self.assertEqual([(c["uri"], c["mimeType"]) for c in content],
                                 [(uri, "application/json")])
                whole = json.loads(content[0]["text"])
                self.assertEqual(list(whole)[0], "notice")
                self.assertEqual(whole[member], value)
        content = gateway.ask("resources/read", uri="sirix:///db/users/snapshots")["contents"][0]
        self.assertEqual(list(json.loads(content["text"])["snapshots"]), ["a"])

    def test_what_is_not_there_is_refused_in_the_words_of_the_era(self):
        self.store("db/users", USERS)
        gateway = self.modern(config={"denyDatabases": ["secret"]})
        gateway.initialize()
        for uri in ("sirix:///db/nothing/info", "sirix:///secret/x/info", "sirix:///db",
                    "file:///etc/passwd", "sirix:///db/users/revision/99", "sirix:///db/%ff/info",
                    "sirix:///db/%00/info", "sirix:///db/a%2fb/info/x", ""):
            with self.subTest(uri):
                legacy = gateway.request("resources/read", {"uri": uri})["error"]
                modern = gateway.request("resources/read", {"uri": uri, "_meta": META})["error"]
                self.assertIn(legacy["code"], (-32002, -32011, -32602))
                self.assertIn(modern["code"], (-32602, -32603))
                if legacy["code"] == -32002:
                    self.assertEqual((modern["code"], modern["data"]["uri"]), (-32602, uri))

    def test_a_document_over_the_cap_comes_as_an_outline(self):
        self.store("db/big", json.dumps({f"name{i}": [{"deep": "x" * 400}] * 20
                                         for i in range(30)}))
        gateway = self.modern(config={"maxResultBytes": 8192})
        text = gateway.ask("resources/read", uri="sirix:///db/big/revision/1")["contents"][0]["text"]
        whole = json.loads(text)
        self.assertLessEqual(len(text), 8192)
        self.assertEqual(len(whole["children"]), 30)
        for child in whole["children"]:
            self.assertEqual((child["kind"], child["childCount"]), ("array", 20))
            self.assertIn("nodeKey", child)
        self.assertTrue(whole["truncated"])

    def test_lists_of_many_databases_come_in_pages(self):
        gateway = self.modern("--read-write", config={"denyDatabases": ["d005"]})
        for i in range(130):
            gateway.ask("tools/call", name="sirix_create_resource",
                        arguments={"database": f"d{i:03}", "resource": "r", "createDatabase": True})
        seen, more = [], {}
        while more is not None:
            page = gateway.ask("resources/list", **more)
            self.assertLessEqual(len(page["resources"]), 100)
            seen += [r["uri"] for r in page["resources"]]
            more = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        self.assertEqual(seen, ["sirix:///databases"] +
                         [f"sirix:///d{i:03}/resources" for i in range(130) if i != 5] +
                         ["sirix:///docs/sql"])

    def test_changes_are_told_to_who_listens(self):
        self.store("db/users", USERS)
        gateway = self.modern("--read-write")
        gateway.send({"jsonrpc": "2.0", "id": "watch", "method": "subscriptions/listen", "params": {
            "_meta": META, "notifications": {
                "toolsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": [
                    INFO, "sirix:///db/nothing/info", "nonsense"]}}})
        told = gateway.answer()
        self.assertEqual(told["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(told["params"]["notifications"],
                         {"resourcesListChanged": True, "resourceSubscriptions": [INFO]})
        self.assertEqual(told["params"]["_meta"],
                         {"io.modelcontextprotocol/subscriptionId": "watch"})
        gateway.ask("tools/call", name="sirix_insert", arguments={**WHERE, "data": {"x": 1}})
        told = gateway.answer()
        self.assertEqual((told["method"], told["params"]["uri"]),
                         ("notifications/resources/updated", INFO))
        self.assertEqual(told["params"]["_meta"],
                         {"io.modelcontextprotocol/subscriptionId": "watch"})
        gateway.ask("tools/call", name="sirix_create_snapshot", arguments={**WHERE, "name": "a"})
        self.assertEqual(gateway.answer()["params"]["uri"], INFO)
        gateway.ask("tools/call", name="sirix_create_resource",
                    arguments={"database": "another", "resource": "r", "createDatabase": True})
        self.assertEqual(gateway.answer()["method"], "notifications/resources/list_changed")
        # Cancelled: nothing more, and no answer.
        gateway.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": "watch"}})
        gateway.ask("tools/call", name="sirix_insert", arguments={**WHERE, "data": {"y": 1}})
        with self.assertRaises(queue.Empty):
            gateway.lines.get(timeout=1.5)
        self.assertEqual(gateway.close(), 0)
        self.assertIsNone(gateway.line())

    def test_listening_ends_with_a_result_when_the_server_ends(self):
        gateway = self.modern()
        gateway.send({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": {
            "_meta": META, "notifications": {"resourcesListChanged": True}}})
        gateway.answer()
        gateway.process.terminate()
        ended = gateway.answer()
        self.assertEqual((ended["id"], ended["result"]["resultType"]), (5, "complete"))
        self.assertEqual(ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5)
        self.assertEqual(gateway.process.wait(30), 0)

    def test_a_legacy_connection_subscribes_and_unsubscribes(self):
        self.store("db/users", USERS)
        gateway = self.open("--read-write")
        self.assertEqual(gateway.request("resources/subscribe", {"uri": INFO})["result"], {})
        self.assertEqual(gateway.request("resources/subscribe", {"uri": "no:such"})["error"]["code"],
                         -32002)
        gateway.call("sirix_insert", **WHERE, data={"x": 1})
        told = gateway.answer()
        self.assertEqual(told, {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                                "params": {"uri": INFO}})
        gateway.request("resources/unsubscribe", {"uri": INFO})
        gateway.call("sirix_insert", **WHERE, data={"y": 1})
        with self.assertRaises(queue.Empty):
            gateway.lines.get(timeout=1.5)


class Prompts(Case):
    def test_prompts_are_filled_with_what_is_true(self):
        self.store("db/users", USERS)
        reader, writer = self.modern(), self.modern("--read-write")
        self.assertEqual([p["name"] for p in reader.ask("prompts/list")["prompts"]],
                         ["time_travel", "analyze_changes"])
        self.assertEqual([p["name"] for p in writer.ask("prompts/list")["prompts"]],
                         ["time_travel", "safe_mutation", "analyze_changes"])
        got = reader.ask("prompts/get", name="time_travel", arguments=WHERE)
        text = got["messages"][0]["content"]["text"]
        self.assertEqual(got["messages"][0]["role"], "user")
        self.assertRegex(text, r"db/users.*has 1 revision spanning from \d{4}-.*Z to \d{4}-.*Z")
        got = writer.ask("prompts/get", name="safe_mutation", arguments=WHERE)
        self.assertIn("1. Create a snapshot", got["messages"][0]["content"]["text"])
        got = reader.ask("prompts/get", name="analyze_changes",
                         arguments={**WHERE, "from": "1", "to": "before"})
        self.assertIn("between revision 1 and revision before",
                      got["messages"][0]["content"]["text"])

    def test_wrong_prompts_are_refused_by_name(self):
        self.store("db/users", USERS)
        gateway = self.modern(config={"denyDatabases": ["secret"]})
        for name, arguments, field in [
                ("nope", WHERE, "params.name"), ("safe_mutation", WHERE, "params.name"),
                ("time_travel", {"database": "db"}, "params.arguments.resource"),
                ("time_travel", {**WHERE, "x": "y"}, "params.arguments"),
                ("time_travel", {**WHERE, "resource": 7}, "params.arguments.resource"),
                ("time_travel", [1], "params.arguments"),
                ("time_travel", {"database": "secret", "resource": "x"},
                 "params.arguments.resource"),
                ("time_travel", {**WHERE, "resource": "none"}, "params.arguments.resource"),
                ("analyze_changes", {**WHERE, "from": "a b", "to": "1"}, "params.arguments.from")]:
            with self.subTest(f"{name} {arguments}"):
                error = gateway.request("prompts/get", {"name": name, "arguments": arguments,
                                                        "_meta": META})["error"]
                self.assertEqual((error["code"], error["data"]["field"]), (-32602, field))

    def test_names_are_completed_for_who_may_see_them(self):
        for name in ("alpha/one", "alpha/other", "beta/x", "secret/y"):
            self.store(name, "[]")
        self.ctl("snapshot", "create", "alpha/one", "before")
        gateway = self.modern(config={"denyDatabases": ["secret"],
                                      "allowResources": {"beta": []}})

        def complete(argument, typed, known=None, ref=None):
            ref = ref or {"type": "ref/prompt", "name": "analyze_changes"}
            done = gateway.ask("completion/complete", ref=ref, argument={
                "name": argument, "value": typed}, context={"arguments": known or {}})
            self.assertFalse(done["completion"]["hasMore"])
            return done["completion"]["values"]

        self.assertEqual(complete("database", ""), ["alpha", "beta"])
        self.assertEqual(complete("database", "s"), [])
        self.assertEqual(complete("resource", "o", {"database": "alpha"}), ["one", "other"])
        self.assertEqual(complete("resource", "", {"database": "beta"}), [])
        self.assertEqual(complete("resource", "", {"database": "secret"}), [])
        self.assertEqual(complete("resource", ""), [])
        self.assertEqual(complete("from", "b", {"database": "alpha", "resource": "one"}), ["before"])
        self.assertEqual(complete("resource", "one", {"database": "alpha"}, {
            "type": "ref/resource", "uri": "sirix:///{database}/{resource}/info"}), ["one"])
        for params in ({"ref": {"type": "ref/prompt", "name": "nope"}},
                       {"ref": {"type": "ref/x"}}, {"ref": {"type": "ref/prompt",
                                                           "name": "time_travel"},
                                                   "argument": {"name": "x", "value": ""}}):
            params = {"argument": {"name": "database", "value": ""}, **params, "_meta": META}
            self.assertEqual(gateway.request("completion/complete", params)["error"]["code"],
                             -32602)


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
