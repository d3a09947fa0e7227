#!/usr/bin/python3
"""What guards the store: confirmation in every form, and the audit log, against the real storaged.

    test_guard.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import glob
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

from mcp_client import LIMIT_S, META, PROGRAMS, Case, inside

WHERE = {"database": "db", "resource": "users"}
USERS = '{"users":[{"name":"Alice"},{"name":"Bob"},{"name":"Bob"}]}'
SECRET = "hunter2-never-in-the-log"


class Guard(Case):
    def setUp(self):
        super().setUp()
        self.store("db/users", USERS)

    def key_of(self, gateway, path):
        return gateway.call("sirix_read_node", **WHERE, path=path)["nodeKey"]

    def head(self):
        return json.loads(self.ctl("history", "db/users", "--json"))[0]["revision"]

    def logs(self):
        return sorted(glob.glob(os.path.join(self.data, "audit", "*.jsonl")))

    def lines(self, path=None):
        with open(path or self.logs()[-1], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def verify(self, *args, code=0):
        done = subprocess.run([PROGRAMS["mcp"], "audit", "verify", *args], capture_output=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        return done.stdout.decode()

    def unchanged(self):
        self.assertEqual(self.ctl("export", "db/users").strip(), USERS)


class TwoStep(Guard):
    def test_the_first_call_shows_and_the_second_does(self):
        gateway = self.open("--read-write")
        key = self.key_of(gateway, "/users/[1]")
        shown = gateway.call("sirix_delete", **WHERE, nodeKey=key)
        self.assertFalse(shown["changed"])
        self.assertIn("/users/[1]", shown["preview"])
        self.assertIn("Only if they agree", shown["message"])
        self.unchanged()
        done = gateway.call("sirix_delete", **WHERE, nodeKey=key,
                            confirmToken=shown["confirmToken"])
        self.assertEqual(done["parentRevision"], shown["parentRevision"])
        self.assertNotIn("preview", done)
        # Again it is the same change, not another one.
        again = gateway.call("sirix_delete", **WHERE, nodeKey=key,
                             confirmToken=shown["confirmToken"])
        self.assertEqual(again["revision"], done["revision"])
        history = gateway.call("sirix_history", **WHERE)["revisions"]
        self.assertEqual(history[0]["revision"], done["revision"])

    def test_a_token_is_of_its_call_alone(self):
        gateway = self.open("--read-write")
        key = self.key_of(gateway, "/users/[1]")
        other = self.key_of(gateway, "/users/[2]")
        gateway.call("sirix_create_snapshot", **WHERE, name="s")
        gateway.call("sirix_insert", **WHERE, data={"x": 1})
        token = gateway.call("sirix_delete", **WHERE, nodeKey=key)["confirmToken"]
        flipped = token[:-1] + ("A" if token[-1] != "A" else "B")
        for tool, arguments in [
                ("sirix_delete", {"nodeKey": other, "confirmToken": token}),
                ("sirix_delete", {"nodeKey": key, "message": "m", "confirmToken": token}),
                ("sirix_delete", {"nodeKey": key, "confirmToken": flipped}),
                ("sirix_delete", {"nodeKey": key, "confirmToken": ""}),
                ("sirix_delete", {"nodeKey": key, "confirmToken": "yes"}),
                ("sirix_delete", {"nodeKey": key, "confirmToken": "A" * 200000}),
                ("sirix_revert", {"snapshot": "s", "confirmToken": token})]:
            refused = gateway.fail(tool, **WHERE, **arguments)
            self.assertEqual(refused["field"], "confirmToken", (arguments, refused))
        # In another order of arguments it is the same call; and only now anything is done.
        answer = gateway.request("tools/call", {"name": "sirix_delete", "arguments": {
            "confirmToken": token, "nodeKey": key, "resource": "users", "database": "db"}})
        self.assertFalse(answer["result"]["isError"], answer)

    def test_what_was_shown_is_done_or_nothing(self):
        gateway = self.open("--read-write")
        key = self.key_of(gateway, "/users/[1]")
        token = gateway.call("sirix_delete", **WHERE, nodeKey=key)["confirmToken"]
        gateway.call("sirix_update", **WHERE, nodeKey=self.key_of(gateway, "/users/[1]/name"),
                     value="Carol")
        refused = gateway.fail("sirix_delete", **WHERE, nodeKey=key, confirmToken=token)
        self.assertEqual(refused["reason"], "revision_moved")
        self.assertIn("Carol", self.ctl("export", "db/users"))

    def test_a_token_of_another_process_with_the_same_key_is_good(self):
        first = self.open("--read-write")
        key = self.key_of(first, "/users/[1]")
        token = first.call("sirix_delete", **WHERE, nodeKey=key)["confirmToken"]
        self.assertEqual(first.close(), 0)
        second = self.open("--read-write")
        second.call("sirix_delete", **WHERE, nodeKey=key, confirmToken=token)
        self.assertEqual(self.ctl("export", "db/users").strip(),
                         '{"users":[{"name":"Alice"},{"name":"Bob"}]}')

    def test_elicit_only_refuses_who_cannot_be_asked(self):
        gateway = self.open("--read-write", config={"confirm": "elicit-only"})
        key = self.key_of(gateway, "/users/[1]")
        refused = gateway.fail("sirix_delete", **WHERE, nodeKey=key)
        self.assertIn("elicitation", refused["error"])
        self.unchanged()

    def test_without_confirmation_it_is_done_at_once(self):
        gateway = self.open("--read-write", config={"confirmDestructive": False})
        done = gateway.call("sirix_delete", **WHERE, nodeKey=self.key_of(gateway, "/users/[1]"))
        self.assertTrue(done["changed"])

    def test_writes_are_confirmed_where_that_is_wanted(self):
        gateway = self.open("--read-write", config={"confirmWrites": True})
        shown = gateway.call("sirix_insert", **WHERE, data={"x": 1})
        self.assertIn("confirmToken", shown)
        self.unchanged()
        name = self.key_of(gateway, "/users/[0]/name")
        gateway.confirm("sirix_update", **WHERE, nodeKey=name, value="Alicia")
        self.assertIn("Alicia", self.ctl("export", "db/users"))

    def test_stored_text_in_a_preview_is_made_visible(self):
        self.store("db/evil", '{"a\\u202e\\u001b[2J":"x\\u200by"}')
        gateway = self.open("--read-write")
        child = gateway.call("sirix_read_node", database="db", resource="evil")["children"][0]
        shown = gateway.call("sirix_delete", database="db", resource="evil",
                             nodeKey=child["nodeKey"])
        self.assertIn("<U+202E><U+001B>", shown["preview"])
        self.assertIn("<U+200B>", shown["preview"])
        self.assertNotIn("\u202e", shown["preview"])


class Rate(Guard):
    def test_more_calls_than_are_allowed_are_refused_and_said_so(self):
        gateway = self.open(config={"maxCallsPerMinute": 60})
        gateway.call("status")
        refused = gateway.fail("status")
        self.assertEqual(refused["status"], "exhausted")
        self.assertIn("maxCallsPerMinute", refused["error"])
        self.assertEqual(gateway.request("ping")["result"], {})
        self.assertEqual(gateway.close(), 0)
        self.assertEqual([line["outcome"] for line in self.lines() if line["event"] == "call"],
                         ["ok", "exhausted"])


class Elicited(Guard):
    """Clients that can be asked, of the legacy era."""

    def begin(self, *args, config=None):
        if config is not None:
            args = (*args, "--config", self.file("c.json", json.dumps({"server": config})))
        gateway = self.start("--database-path", self.data, "--read-write", *args)
        gateway.request("initialize", {"protocolVersion": "2025-11-25",
                                       "capabilities": {"elicitation": {}},
                                       "clientInfo": {"name": "asked", "version": "1"}})
        return gateway

    def delete(self, gateway, key, result):
        gateway.send({"jsonrpc": "2.0", "id": "d", "method": "tools/call",
                      "params": {"name": "sirix_delete", "arguments": {**WHERE, "nodeKey": key}}})
        question = gateway.answer()
        self.assertEqual(question["method"], "elicitation/create")
        gateway.send({"jsonrpc": "2.0", "id": question["id"], "result": result})
        return question, gateway.answer()

    def test_only_a_full_yes_is_a_yes(self):
        gateway = self.begin()
        key = self.key_of(gateway, "/users/[1]")
        for result in [{"action": "decline"}, {"action": "cancel"}, {"action": "accept"}, {},
                       {"action": "accept", "content": None},
                       {"action": "accept", "content": {}},
                       {"action": "accept", "content": {"confirm": False}},
                       {"action": "accept", "content": {"confirm": "true"}},
                       {"action": "accept", "content": {"confirm": 1}},
                       {"action": "ACCEPT", "content": {"confirm": True}},
                       {"action": ["accept"], "content": {"confirm": True}}]:
            _, answer = self.delete(gateway, key, result)
            self.assertTrue(answer["result"]["isError"], result)
            facts = json.loads(inside(answer["result"]["content"][0]["text"]))
            self.assertEqual(facts["status"], "permission", result)
        self.unchanged()
        question, answer = self.delete(gateway, key,
                                       {"action": "accept", "content": {"confirm": True}})
        self.assertIn("/users/[1]", question["params"]["message"])
        self.assertFalse(answer["result"]["isError"])
        self.assertEqual(self.ctl("export", "db/users").strip(),
                         '{"users":[{"name":"Alice"},{"name":"Bob"}]}')

    def test_what_changes_while_the_person_thinks_is_not_destroyed(self):
        gateway = self.begin()
        key = self.key_of(gateway, "/users/[1]")
        gateway.send({"jsonrpc": "2.0", "id": "d", "method": "tools/call",
                      "params": {"name": "sirix_delete", "arguments": {**WHERE, "nodeKey": key}}})
        question = gateway.answer()
        gateway.call("sirix_insert", **WHERE, data={"x": 1})
        gateway.send({"jsonrpc": "2.0", "id": question["id"],
                      "result": {"action": "accept", "content": {"confirm": True}}})
        answer = gateway.answer()
        self.assertTrue(answer["result"]["isError"])
        self.assertIn("revision_moved", answer["result"]["content"][0]["text"])

    def test_a_person_may_take_longer_than_a_write(self):
        gateway = self.begin(config={"writeTimeoutMs": 300})
        key = self.key_of(gateway, "/users/[1]")
        gateway.send({"jsonrpc": "2.0", "id": "d", "method": "tools/call",
                      "params": {"name": "sirix_delete", "arguments": {**WHERE, "nodeKey": key}}})
        question = gateway.answer()
        time.sleep(0.6)  # The time that passes is what is tested.
        gateway.send({"jsonrpc": "2.0", "id": question["id"],
                      "result": {"action": "accept", "content": {"confirm": True}}})
        self.assertFalse(gateway.answer()["result"]["isError"])


class Modern(Guard):
    META = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

    def delete(self, gateway, key, **more):
        return gateway.request("tools/call", {
            "name": "sirix_delete", "arguments": {**WHERE, "nodeKey": key}, **more,
            "_meta": self.META})

    def test_the_question_is_an_answer_and_the_answer_comes_with_the_call(self):
        gateway = self.modern("--read-write")
        key = gateway.ask("tools/call", name="sirix_read_node", arguments={
            **WHERE, "path": "/users/[1]"})["structuredContent"]["nodeKey"]
        asked = self.delete(gateway, key)["result"]
        self.assertEqual(asked["resultType"], "input_required")
        question = asked["inputRequests"]["confirmation"]
        self.assertIn("/users/[1]", question["params"]["message"])
        self.unchanged()
        yes = {"confirmation": {"action": "accept", "content": {"confirm": True}}}
        # A yes to nothing, to something else, or with a state that was made up, is none.
        self.assertEqual(self.delete(gateway, key, inputResponses=yes)["error"]["code"], -32602)
        self.assertEqual(self.delete(gateway, key + 1, inputResponses=yes, requestState=asked[
            "requestState"])["error"]["code"], -32602)
        self.assertEqual(self.delete(gateway, key, inputResponses=yes, requestState=asked[
            "requestState"][:-2])["error"]["code"], -32602)
        # Without an answer it is asked again, with the preview.
        again = self.delete(gateway, key, requestState=asked["requestState"])["result"]
        self.assertIn("/users/[1]", again["inputRequests"]["confirmation"]["params"]["message"])
        no = self.delete(gateway, key, requestState=asked["requestState"],
                         inputResponses={"confirmation": {"action": "decline"}})["result"]
        self.assertTrue(no["isError"])
        self.unchanged()
        done = self.delete(gateway, key, inputResponses=yes, requestState=asked["requestState"])
        self.assertFalse(done["result"]["isError"], done)
        twice = self.delete(gateway, key, inputResponses=yes, requestState=asked["requestState"])
        self.assertEqual(twice["result"]["structuredContent"]["revision"],
                         done["result"]["structuredContent"]["revision"])

    def test_a_yes_is_not_carried_over_by_parameters_chosen_for_it(self):
        """Extra parameters whose hashes add up to the difference between two calls."""
        gateway = self.modern("--read-write")
        key = gateway.ask("tools/call", name="sirix_read_node", arguments={
            **WHERE, "path": "/users/[1]"})["structuredContent"]["nodeKey"]
        asked = self.delete(gateway, key)["result"]

        def digest(name, value):
            text = name + '"' + json.dumps(value, separators=(",", ":"))
            return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")

        wanted = digest("arguments", {**WHERE, "nodeKey": key}) ^ digest(
            "arguments", {**WHERE, "nodeKey": key + 1})
        rows = {}  # Highest bit: (sum, the parameters in it).
        for number in range(320):
            value, members = digest("x%d" % number, 1), {number}
            while value and value.bit_length() in rows:
                other = rows[value.bit_length()]
                value, members = value ^ other[0], members ^ other[1]
            if value:
                rows[value.bit_length()] = (value, members)
        chosen = set()
        while wanted:
            value, members = rows[wanted.bit_length()]
            wanted, chosen = wanted ^ value, chosen ^ members
        refused = self.delete(gateway, key + 1, requestState=asked["requestState"],
                              inputResponses={"confirmation": {"action": "accept",
                                                               "content": {"confirm": True}}},
                              **{"x%d" % number: 1 for number in chosen})
        self.assertEqual(refused["error"]["code"], -32602)
        self.unchanged()


class Audit(Guard):
    def test_every_call_has_a_line_and_a_write_has_two(self):
        gateway = self.open("--read-write")
        key = self.key_of(gateway, "/users/[1]")
        gateway.call("sirix_insert", **WHERE, data={"password": SECRET}, message=SECRET)
        gateway.fail("sirix_read_node", **WHERE, nodeKey="nonsense")
        gateway.fail("sirix_read_node", database="no", resource="no")
        gateway.call_raw("no_such_tool")
        gateway.confirm("sirix_delete", **WHERE, nodeKey=key)
        gateway.request("resources/read", {"uri": "sirix:///db/users/info"})
        self.assertEqual(gateway.close(), 0)

        path = self.logs()[-1]
        lines = self.lines(path)
        self.assertEqual([(line["event"], line.get("tool"), line.get("outcome")) for line in lines], [
            ("genesis", None, None),
            ("call", "sirix_read_node", "ok"),
            ("intent", "sirix_insert", None), ("outcome", "sirix_insert", "ok"),
            ("call", "sirix_read_node", "invalid"),
            ("call", "sirix_read_node", "not_found"),
            ("call", "no_such_tool", "invalid"),
            ("call", "sirix_delete", "held"),
            ("intent", "sirix_delete", None), ("outcome", "sirix_delete", "ok"),
            ("call", "sirix_resource_info", "ok"),
            ("end", None, None)])
        insert = lines[2]
        self.assertEqual((insert["database"], insert["client"], insert["principal"]),
                         ("db", "test", "local"))
        self.assertEqual(lines[3]["intent"], insert["seq"])
        self.assertEqual((lines[3]["revisionBefore"], lines[3]["revisionAfter"]), (1, 2))
        self.assertEqual(lines[8]["confirmed"], "two-step")
        self.assertEqual(lines[8]["arguments"]["nodeKey"], key)
        self.assertRegex(insert["argumentsDigest"], "^[0-9a-f]{64}$")
        with open(path, encoding="utf-8") as file:
            self.assertNotIn(SECRET, file.read())
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertIn("whole", self.verify(path))

    def test_the_chain_is_what_the_page_says(self):
        gateway = self.open()
        self.key_of(gateway, "/users")
        gateway.close()
        previous = "0" * 64
        with open(self.logs()[-1], encoding="utf-8") as file:
            for number, line in enumerate(file):
                body, found = re.fullmatch(r'(.*),"hash":"([0-9a-f]{64})"}\n', line).groups()
                facts = json.loads(line)
                self.assertEqual((facts["seq"], facts["prev"]), (number, previous))
                previous = hashlib.sha256(body.encode()).hexdigest()
                self.assertEqual(found, previous)

    def test_what_was_done_to_a_log_is_found(self):
        gateway = self.open()
        for path in ("/users", "/users/[0]", "/users/[1]"):
            self.key_of(gateway, path)
        gateway.close()
        with open(self.logs()[-1], encoding="utf-8") as file:
            lines = file.readlines()
        for name, changed, code in [
                ("no change", lines, 0),
                ("an edit", [*lines[:2], lines[2].replace("[0]", "[9]"), *lines[3:]], 1),
                ("another edit", [*lines[:2], lines[2].replace('"ok"', '"ko"'), *lines[3:]], 1),
                ("a line less", [*lines[:2], *lines[3:]], 1),
                ("a line twice", [*lines[:2], *lines[1:]], 1),
                ("two lines changed over", [lines[0], lines[2], lines[1], *lines[3:]], 1),
                ("no genesis", lines[1:], 1),
                ("no tail", lines[:-2], 3),
                ("a torn line", [*lines[:-1], lines[-1][:20]], 3),
                ("nothing", [], 1), ("no log", ["hello\n"], 1),
                ("a line behind the end", [*lines, lines[-1]], 1)]:
            with self.subTest(name):
                path = self.file("changed.jsonl", "".join(changed))
                self.verify(path, code=code)
        self.verify(code=2)
        self.verify("/nobody/is/here", code=1)

    def test_a_write_whose_intent_cannot_be_written_is_not_tried(self):
        # The storaged of the folder is of a gateway that the limit does not hold for.
        holder = self.open("--read-write")
        self.key_of(holder, "/users")
        whole, PROGRAMS["mcp"] = PROGRAMS["mcp"], self.file("small", "")
        with open(PROGRAMS["mcp"], "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ntrap '' XFSZ\nulimit -f 16\nexec '{whole}' \"$@\"\n")
        os.chmod(PROGRAMS["mcp"], 0o755)
        try:
            gateway = self.open("--read-write")
        finally:
            PROGRAMS["mcp"] = whole
        refused = None
        for number in range(200):
            answer = gateway.call_raw("sirix_insert", **WHERE, data={f"k{number}": 1})
            if answer["result"]["isError"]:
                refused = json.loads(inside(answer["result"]["content"][0]["text"]))
                break
        self.assertIsNotNone(refused)
        self.assertIn("audit log", refused["error"])
        members = holder.call("sirix_read_node", **WHERE)["childCount"]
        # Nothing is read either, and every write that happened has its intent.
        self.assertTrue(gateway.call_raw("sirix_list_databases")["result"]["isError"])
        gateway.kill()
        log = [path for path in self.logs() if os.path.getsize(path) > 4096][0]
        intents = [line for line in self.lines(log) if line["event"] == "intent"]
        self.assertEqual(members - 1, number)
        self.assertGreaterEqual(len(intents), number)
        self.verify(log, code=3)

    def test_a_kill_leaves_an_intent_for_each_write_and_verify_settles_it(self):
        dice = random.Random(7)
        sent = 0
        holder = self.open()
        for turn in range(12):
            gateway = self.open("--read-write")
            for _ in range(dice.randrange(1, 4)):
                gateway.call("sirix_insert", **WHERE, data={f"k{sent}": 1})
                sent += 1
            gateway.send({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {
                "name": "sirix_insert", "arguments": {**WHERE, "data": {f"k{sent}": 1}}}})
            sent += 1
            # At every step of the write: before its intent, after it, during it, after its outcome.
            deadline = time.monotonic() + turn * 0.0007
            while time.monotonic() < deadline:
                pass
            gateway.process.send_signal(signal.SIGKILL)
            gateway.kill()
        members = holder.call("sirix_read_node", **WHERE, maxDepth=0)["childCount"] - 1
        self.assertEqual(holder.close(), 0)

        tried, done = {}, set()
        for log in self.logs():
            for line in self.lines(log):
                if line["event"] == "intent":
                    tried[(log, line["seq"])] = line["key"]
                elif line["event"] == "outcome" and line["outcome"] == "ok":
                    done.add((log, line["intent"]))
        self.assertEqual(len(set(tried.values())), len(tried))
        text = self.verify(*self.logs(), code=3)
        self.assertEqual(text.count(" is open"), len(tried) - len(done), text)
        text = self.verify("--database-path", self.data, *self.logs(), code=3)
        self.assertNotIn(" is open", text)
        self.assertEqual(len(done) + text.count(": has happened"), members, text)


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
