#!/usr/bin/python3
"""Every refusal of a tool names an argument of that tool, against the real storaged.

    test_fields.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import json
import sys
import unittest

from mcp_client import PROGRAMS, Case

WHERE = {"database": "db", "resource": "users"}
USERS = '{"users":[{"name":"Alice"},{"name":"Bob"}],"v":"1.0"}'
LONG = "x" * 70000
sys.setrecursionlimit(10000)
DEEP = json.loads("[" * 990 + "]" * 990)
NESTED = "[" * 20 + "]" * 20

# Tool, arguments beside database and resource, the field, the reason.
REFUSALS = [
    ("sirix_insert", {"data": {"v": 1}}, "data", "duplicate_key"),
    ("sirix_insert", {"dataJson": '{"v":1}'}, "dataJson", "duplicate_key"),
    ("sirix_insert", {"data": DEEP, "parentNodeKey": "BOTTOM"}, "data", "depth_limit"),
    ("sirix_insert", {"dataJson": '{"%s":1}' % LONG}, "dataJson", "size_limit"),
    ("sirix_insert", {"data": 7}, "data", "field_invalid"),
    ("sirix_insert", {"data": [7]}, "data", "field_invalid"),
    ("sirix_insert", {"dataJson": "{"}, "dataJson", "json_truncated"),
    ("sirix_insert", {"dataJson": '{"a":1,"a":2}'}, "dataJson", "duplicate_key"),
    ("sirix_insert", {"dataJson": '"\\ud800"'}, "dataJson", "json_encoding"),
    ("sirix_insert", {"dataJson": "1 2"}, "dataJson", "json_syntax"),
    ("sirix_insert", {"dataJson": ""}, "dataJson", "json_truncated"),
    ("sirix_insert", {}, "data", "field_missing"),
    ("sirix_insert", {"data": 1, "dataJson": "1"}, "data", "field_invalid"),
    ("sirix_insert", {"data": {}, "parentNodeKey": 999}, "parentNodeKey", "node_unknown"),
    ("sirix_insert", {"data": {}, "parentNodeKey": "V"}, "parentNodeKey", "node_kind"),
    ("sirix_insert", {"data": 1, "position": "right_sibling"}, "parentNodeKey", "node_kind"),
    ("sirix_insert", {"data": 1, "position": "up"}, "position", "field_invalid"),
    ("sirix_insert", {"data": {}, "parentNodeKey": -1}, "parentNodeKey", "field_invalid"),
    ("sirix_insert", {"data": {"q": 1}, "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_insert", {"data": {"q": 1}, "branch": "a b"}, "branch", "name_invalid"),
    ("sirix_insert", {"data": {"q": 1}, "message": LONG}, "message", "size_limit"),
    ("sirix_insert", {"data": {"q": 1}, "expectedRevision": 1}, "expectedRevision",
     "revision_moved"),
    ("sirix_insert", {"data": {}, "nodekey": 1}, "nodekey", "field_invalid"),
    ("sirix_update", {"nodeKey": 999, "value": 1}, "nodeKey", "node_unknown"),
    ("sirix_update", {"nodeKey": "USERS", "value": 1}, "nodeKey", "node_kind"),
    ("sirix_update", {"nodeKey": "BOTTOM", "value": DEEP}, "value", "depth_limit"),
    ("sirix_update", {"nodeKey": "V", "valueJson": "tru"}, "valueJson", "json_truncated"),
    ("sirix_update", {"nodeKey": "V", "valueJson": '"\\udc00"'}, "valueJson", "json_encoding"),
    ("sirix_update", {"nodeKey": "V"}, "value", "field_missing"),
    ("sirix_update", {"value": 1}, "nodeKey", "field_missing"),
    ("sirix_update", {"nodeKey": "V", "value": 1, "replace": "maybe"}, "replace", "field_invalid"),
    ("sirix_update", {"nodeKey": "V", "value": 1, "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_update", {"nodeKey": "V", "value": 2, "expectedRevision": 1}, "expectedRevision",
     "revision_moved"),
    ("sirix_query", {}, "query", "field_missing"),
    ("sirix_query", {"query": "1", "revision": 99}, "revision", "revision_ahead"),
    ("sirix_query", {"query": "1", "snapshot": "none"}, "snapshot", "snapshot_unknown"),
    ("sirix_query", {"query": "1", "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_query", {"query": "1", "timestamp": "noon"}, "timestamp", "field_invalid"),
    ("sirix_query", {"query": "1", "limit": 0}, "limit", "field_invalid"),
    ("sirix_query", {"query": "1", "cursor": "x"}, "cursor", "cursor"),
    ("sirix_execute_update_query", {"query": "delete json $$.v", "branch": "none"}, "branch",
     "branch_unknown"),
    ("sirix_execute_update_query", {"query": "delete json $$.v", "expectedRevision": 1},
     "expectedRevision", "revision_moved"),
    ("sirix_execute_update_query", {"query": "delete json $$.v", "message": LONG}, "message",
     "size_limit"),
    ("sirix_delete", {"nodeKey": 999}, "nodeKey", "node_unknown"),
    ("sirix_delete", {"nodeKey": 1.5}, "nodeKey", "field_invalid"),
    ("sirix_delete", {"nodeKey": "V", "expectedRevision": 1}, "expectedRevision",
     "revision_moved"),
    ("sirix_delete", {"nodeKey": "V", "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_revert", {}, "revision", "field_missing"),
    ("sirix_revert", {"revision": 99}, "revision", "revision_ahead"),
    ("sirix_revert", {"snapshot": "none"}, "snapshot", "snapshot_unknown"),
    ("sirix_revert", {"timestamp": "noon"}, "timestamp", "field_invalid"),
    ("sirix_revert", {"timestamp": "2000-01-01T00:00:00Z"}, "timestamp",
     "revision_before_first"),
    ("sirix_revert", {"revision": 1, "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_revert", {"revision": 1, "expectedRevision": 1}, "expectedRevision",
     "revision_moved"),
    ("sirix_read_node", {"nodeKey": 999}, "nodeKey", "node_unknown"),
    ("sirix_read_node", {"path": "/nothing"}, "path", "node_unknown"),
    ("sirix_read_node", {"path": "no path"}, "path", "field_invalid"),
    ("sirix_read_node", {"path": "/v", "nodeKey": 1}, "path", "field_invalid"),
    ("sirix_read_node", {"path": "/wide", "offset": 1}, "offset", "field_invalid"),
    ("sirix_read_node", {"maxDepth": 101}, "maxDepth", "field_invalid"),
    ("sirix_read_node", {"revision": 99}, "revision", "revision_ahead"),
    ("sirix_read_node", {"revision": 0}, "revision", "revision_unknown"),
    ("sirix_read_node", {"revision": 10.5}, "revision", "field_invalid"),
    ("sirix_read_node", {"snapshot": "none"}, "snapshot", "snapshot_unknown"),
    ("sirix_read_node", {"branch": "none"}, "branch", "branch_unknown"),
    ("sirix_read_node", {"timestamp": "2020-01-01T00:00:00"}, "timestamp", "field_invalid"),
    ("sirix_read_node", {"revision": 1, "snapshot": "x"}, "revision", "field_invalid"),
    ("sirix_read_node", {"cursor": "x"}, "cursor", "cursor"),
    ("sirix_read_node", {"limit": 0}, "limit", "field_invalid"),
    ("sirix_read_node", {"depth": 3}, "depth", "field_invalid"),
    ("sirix_history", {"count": 0}, "count", "field_invalid"),
    ("sirix_history", {"cursor": "x"}, "cursor", "cursor"),
    ("sirix_history", {"revision": 99}, "revision", "revision_ahead"),
    ("sirix_history", {"branch": "none"}, "branch", "branch_unknown"),
    ("sirix_diff", {"from_revision": 99}, "from_revision", "revision_ahead"),
    ("sirix_diff", {"to_revision": 99}, "to_revision", "revision_ahead"),
    ("sirix_diff", {"from_snapshot": "none"}, "from_snapshot", "snapshot_unknown"),
    ("sirix_diff", {"to_snapshot": "none"}, "to_snapshot", "snapshot_unknown"),
    ("sirix_diff", {"from_revision": 1, "from_snapshot": "a"}, "from_snapshot", "field_invalid"),
    ("sirix_diff", {"branch": "none"}, "branch", "branch_unknown"),
    ("sirix_diff", {"format": "xml"}, "format", "field_invalid"),
    ("sirix_diff", {"cursor": "x"}, "cursor", "cursor"),
    ("sirix_resource_info", {"revision": 99}, "revision", "revision_ahead"),
    ("sirix_resource_info", {"branch": "none"}, "branch", "branch_unknown"),
    ("sirix_list_snapshots", {"cursor": "x"}, "cursor", "cursor"),
    ("sirix_list_branches", {"cursor": "x"}, "cursor", "cursor"),
    ("sirix_create_snapshot", {}, "name", "field_missing"),
    ("sirix_create_snapshot", {"name": "a b/"}, "name", "name_invalid"),
    ("sirix_create_snapshot", {"name": "kept", "revision": 2}, "name", "none"),
    ("sirix_create_snapshot", {"name": "new", "revision": 99}, "revision", "revision_ahead"),
    ("sirix_create_snapshot", {"name": "new", "branch": "none"}, "branch", "branch_unknown"),
    ("sirix_delete_snapshot", {"name": "none"}, "name", "snapshot_unknown"),
    ("sirix_create_resource", {}, "resource", "none"),
    ("sirix_create_resource", {"resource": "new", "database": "none"}, "database",
     "database_unknown"),
    ("sirix_create_resource", {"resource": "new", "message": LONG}, "message", "size_limit"),
    ("sirix_create_branch", {"name": "side"}, "name", "none"),
    ("sirix_create_branch", {"name": "new", "revision": 99}, "revision", "revision_ahead"),
    ("sirix_create_branch", {"name": "new", "snapshot": "none"}, "snapshot", "snapshot_unknown"),
    ("sirix_delete_branch", {"name": "none"}, "name", "branch_unknown"),
    ("sirix_delete_branch", {"name": "main"}, "name", "field_invalid"),
    ("sirix_delete_branch", {"name": "side", "expectedRevision": 2}, "expectedRevision",
     "revision_moved"),
    ("sirix_promote", {"branch": "none"}, "branch", "branch_unknown"),
    ("sirix_promote", {"branch": "side", "target": "none"}, "target", "branch_unknown"),
    ("sirix_promote", {"branch": "behind"}, "branch", "not_fast_forward"),
    ("sirix_promote", {"branch": "side", "expectedRevision": 1}, "expectedRevision",
     "revision_moved"),
]


class Fields(Case):
    def test_each_refusal_names_an_argument_of_its_tool(self):
        self.store("db/users", f'{USERS[:-1]},"wide":"\u4e16\u754c","deep":{NESTED}}}')
        # Refusals of the store itself; what the preview refuses is below.
        gateway = self.open("--read-write", config={"confirmDestructive": False})
        children = gateway.call("sirix_read_node", **WHERE)["children"]
        keys = {child["name"].upper(): child["nodeKey"] for child in children}
        keys["BOTTOM"] = gateway.call("sirix_read_node", **WHERE,
                                      path="/deep" + "/[0]" * 19)["nodeKey"]
        gateway.call("sirix_create_snapshot", **WHERE, name="kept")
        for name in ("side", "behind"):
            gateway.call("sirix_create_branch", **WHERE, name=name)
        gateway.call("sirix_insert", **WHERE, data={"b": 1}, branch="behind")
        gateway.call("sirix_insert", **WHERE, data={"w": 1})
        head = gateway.call("sirix_history", **WHERE)["revisions"][0]["revision"]
        schemas = {tool["name"]: tool["inputSchema"]["properties"]
                   for tool in gateway.request("tools/list")["result"]["tools"]}

        for tool, more, field, reason in REFUSALS:
            shown = str(more)[:100]
            more = {name: keys.get(value, value) if isinstance(value, str) else value
                    for name, value in more.items()}
            with self.subTest(f"{tool} {shown}"):
                refused = gateway.fail(tool, **{**WHERE, **more})
                self.assertEqual((refused.get("field"), refused.get("reason", "none")),
                                 (field, reason), refused)
                for word in ("operations[", "options.", "view.", "max_depth", "value_offset",
                             "ApplyStream", "Import"):
                    self.assertNotIn(word, refused["error"])
                if reason != "field_invalid":
                    self.assertIn(field, schemas[tool])
        self.assertEqual(gateway.call("sirix_history", **WHERE)["revisions"][0]["revision"], head)

    def test_names_that_are_missing_or_wrong_are_named_by_every_tool(self):
        self.store("db/users", USERS)
        gateway = self.open("--read-write")
        filler = {"name": "n", "data": 1, "nodeKey": 1, "value": 1, "revision": 1, "branch": "b",
                  "query": "1", "sql": "SELECT 1", "table": "t", "words": "w"}
        for tool in gateway.request("tools/list")["result"]["tools"]:
            known = tool["inputSchema"]["properties"]
            more = {name: value for name, value in filler.items() if name in known}
            for name in ("database", "resource"):
                if name not in known:
                    continue
                where = {key: value for key, value in WHERE.items() if key in known}
                for wrong in (None, "", "../x", 7, "n" * 300):
                    if wrong is None and "resource" not in known and \
                            name not in tool["inputSchema"]["required"]:
                        continue
                    with self.subTest(f"{tool['name']} {name} {wrong}"):
                        refused = gateway.fail(tool["name"], **{**where, **more, name: wrong})
                        self.assertEqual(refused["field"], name)
                        self.assertEqual(refused["status"], "invalid")

    def test_arguments_that_are_no_object_are_named(self):
        gateway = self.start("--database-path", self.data)
        gateway.initialize()
        answer = gateway.request("tools/call", {"name": "status", "arguments": [1]})
        self.assertIn('"field":"arguments"', answer["result"]["content"][0]["text"])


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
