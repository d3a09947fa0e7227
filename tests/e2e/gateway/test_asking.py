#!/usr/bin/python3
"""Asking the client in the middle of a request, over stdio in both eras, by the tools of the conformance
fixture.

    test_asking.py SIRIX_MCP_FIXTURE [unittest arguments]
"""
import queue
import signal
import sys
import unittest

from mcp_client import LIMIT_S, META, PROGRAMS, Gateway

STORAGE = ["--storage", "unix:/nobody/is/there"]
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}


class Asking(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway(*STORAGE)

    def tearDown(self):
        self.gateway.kill()

    def begin(self, tool, token="call", **arguments):
        self.gateway.send({"jsonrpc": "2.0", "id": token, "method": "tools/call",
                           "params": {"name": tool, "arguments": arguments}})

    def initialize(self, capabilities=None):
        self.gateway.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": ABLE if capabilities is None
            else capabilities, "clientInfo": {"name": "t", "version": "1"}})

    def answer(self, question, **result):
        self.gateway.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def text(self, answer):
        return answer["result"]["content"][0]["text"]


class Legacy(Asking):
    def test_the_client_is_asked_and_its_answer_is_used(self):
        self.initialize()
        self.begin("test_elicitation", message="who?")
        question = self.gateway.answer()
        self.assertEqual((question["method"], question["params"]["message"]),
                         ("elicitation/create", "who?"))
        self.answer(question, action="accept", content={"username": "u", "email": "e"})
        done = self.gateway.answer()
        self.assertEqual(done["id"], "call")
        self.assertIn('"username":"u"', self.text(done))
        self.begin("test_sampling", prompt="say \"x\"")
        question = self.gateway.answer()
        self.assertEqual(question["params"]["messages"][0]["content"]["text"], 'say "x"')
        self.answer(question, role="assistant", model="m", content={"type": "text", "text": "x"})
        self.assertEqual(self.text(self.gateway.answer()), "LLM response: x")

    def test_several_questions_are_asked_one_after_the_other_or_together(self):
        self.initialize()
        self.begin("test_input_required_result_multi_round")
        for key in ("name", "color"):
            question = self.gateway.answer()
            self.assertIn(key, question["params"]["requestedSchema"]["properties"])
            self.answer(question, action="accept", content={key: "blue"})
        self.assertEqual(self.text(self.gateway.answer()), "Your color is blue")
        self.begin("test_input_required_result_multiple_inputs")
        questions = [self.gateway.answer() for _ in range(3)]
        for question in reversed(questions):
            self.answer(question, action="accept", content={"name": "n"})
        self.assertIn("client_roots", self.text(self.gateway.answer()))

    def test_who_cannot_be_asked_is_not(self):
        self.initialize({})
        self.begin("test_elicitation", message="who?")
        refused = self.gateway.answer()
        self.assertTrue(refused["result"]["isError"])
        self.assertIn("elicitation", self.text(refused))

    def test_url_mode_alone_is_no_form(self):
        self.initialize({"elicitation": {"url": {}}})
        self.begin("test_elicitation", message="who?")
        self.assertTrue(self.gateway.answer()["result"]["isError"])

    def test_an_error_of_the_client_ends_the_call(self):
        self.initialize()
        self.begin("test_elicitation", message="who?")
        question = self.gateway.answer()
        self.gateway.send({"jsonrpc": "2.0", "id": question["id"],
                           "error": {"code": -1, "message": "no"}})
        refused = self.gateway.answer()
        self.assertTrue(refused["result"]["isError"])
        self.assertIn("unavailable", self.text(refused))

    def test_answers_that_nobody_asked_for_do_nothing(self):
        self.initialize()
        self.begin("test_elicitation", message="who?")
        question = self.gateway.answer()
        for token in ("x", 1, question["id"][:-1], question["id"].upper() + "0"):
            self.gateway.send({"jsonrpc": "2.0", "id": token, "result": {"action": "accept"}})
        self.assertEqual(self.gateway.request("ping")["result"], {})
        self.answer(question, action="decline")
        self.assertIn("decline", self.text(self.gateway.answer()))
        # An answer that comes twice is too late.
        self.answer(question, action="accept")
        self.assertEqual(self.gateway.request("ping")["result"], {})

    def test_a_call_that_waits_can_be_cancelled(self):
        self.initialize()
        self.begin("test_elicitation", message="who?")
        question = self.gateway.answer()
        self.gateway.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                           "params": {"requestId": "call"}})
        self.answer(question, action="accept", content={})
        self.assertEqual(self.gateway.request("ping")["result"], {})
        with self.assertRaises(queue.Empty):
            self.gateway.lines.get(timeout=0.5)

    def test_many_calls_wait_while_others_are_served(self):
        self.initialize()
        questions = {}
        for i in range(40):
            self.begin("test_elicitation", token=i, message=str(i))
        for i in range(40):
            question = self.gateway.answer()
            questions[question["params"]["message"]] = question
        self.assertEqual(len({question["id"] for question in questions.values()}), 40)
        self.begin("test_simple_text", token="quick")
        self.assertEqual(self.gateway.answer()["id"], "quick")
        for i in range(40):
            self.answer(questions[str(i)], action="accept", content={"username": str(i)})
        answers = {}
        for _ in range(40):
            answer = self.gateway.answer()
            answers[answer["id"]] = self.text(answer)
        for i in range(40):
            self.assertIn(f'"username":"{i}"', answers[i])

    def test_the_end_does_not_wait_for_a_person(self):
        for end in (lambda: self.gateway.process.stdin.close(),
                    lambda: self.gateway.process.send_signal(signal.SIGTERM)):
            self.gateway.kill()
            self.gateway = Gateway(*STORAGE)
            self.initialize()
            self.begin("test_elicitation", message="who?")
            self.gateway.answer()
            end()
            self.assertTrue(self.gateway.answer()["result"]["isError"])
            self.assertEqual(self.gateway.process.wait(LIMIT_S), 0)

    def test_messages_are_sent_from_the_level_that_was_set(self):
        self.initialize()
        self.begin("test_tool_with_logging")
        self.assertEqual([self.gateway.answer().get("method") for _ in range(4)],
                         ["notifications/message"] * 3 + [None])
        self.assertEqual(self.gateway.request("logging/setLevel", {"level": "warning"})["result"], {})
        self.begin("test_tool_with_logging")
        self.assertIn("result", self.gateway.answer())
        self.gateway.request("logging/setLevel", {"level": "debug"})
        self.begin("test_simple_text")
        told = self.gateway.answer()
        self.assertEqual((told["params"]["level"], told["params"]["data"]["tool"]),
                         ("debug", "test_simple_text"))
        self.assertIn("result", self.gateway.answer())

    def test_progress_is_told_to_who_gives_a_token(self):
        self.initialize()
        for token in ("p", 0):
            self.gateway.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "test_tool_with_progress", "_meta": {"progressToken": token}}})
            told = [self.gateway.answer()["params"] for _ in range(3)]
            self.assertEqual([(t["progressToken"], t["progress"], t["total"]) for t in told],
                             [(token, 0, 100), (token, 50, 100), (token, 100, 100)])
            self.assertIn("result", self.gateway.answer())


class Modern(Asking):
    def ask(self, tool, capabilities=None, **more):
        meta = {**META, "io.modelcontextprotocol/clientCapabilities":
                ABLE if capabilities is None else capabilities}
        return self.gateway.request("tools/call", {"name": tool, "arguments": {}, "_meta": meta,
                                                   **more})

    def test_a_call_comes_again_with_the_answers(self):
        asked = self.ask("test_input_required_result_elicitation")["result"]
        self.assertEqual((asked["resultType"], list(asked["inputRequests"])),
                         ("input_required", ["user_name"]))
        self.assertNotIn("requestState", asked)
        self.assertNotIn("ttlMs", asked)
        done = self.ask("test_input_required_result_elicitation", inputResponses={
            "user_name": {"action": "accept", "content": {"name": "Ann"}}, "other": {}})
        self.assertEqual((done["result"]["resultType"], self.text(done)),
                         ("complete", "Hello, Ann!"))

    def test_who_has_not_declared_it_is_told_what_is_missing(self):
        refused = self.ask("test_input_required_result_elicitation", capabilities={})["error"]
        self.assertEqual((refused["code"], refused["data"]["requiredCapabilities"]),
                         (-32021, {"elicitation": {}}))
        asked = self.ask("test_input_required_result_capabilities", capabilities={"roots": {}})
        self.assertEqual(list(asked["result"]["inputRequests"]), ["client_roots"])

    def test_a_state_is_good_for_its_own_request_and_this_key_alone(self):
        tool = "test_input_required_result_request_state"
        responses = {"confirm": {"action": "accept", "content": {"ok": True}}}
        state = self.ask(tool)["result"]["requestState"]
        done = self.ask(tool, inputResponses=responses, requestState=state)
        self.assertEqual(self.text(done), "state-ok")
        other = self.ask("test_input_required_result_tampered_state", inputResponses=responses,
                         requestState=state)
        self.assertEqual((other["error"]["code"], other["error"]["data"]["field"]),
                         (-32602, "params.requestState"))
        for wrong in (state[:-1], state + "A", "A" + state, state.swapcase(), "", "x" * 100000, 7,
                      [state], state.replace(state[20], "-")):
            refused = self.ask(tool, inputResponses=responses, requestState=wrong)
            self.assertEqual(refused["error"]["code"], -32602, wrong)
        self.gateway.kill()
        self.gateway = Gateway(*STORAGE)
        refused = self.ask(tool, inputResponses=responses, requestState=state)
        self.assertEqual(refused["error"]["code"], -32602)

    def test_nothing_is_sent_but_the_answer_unless_asked_for(self):
        self.assertIn("result", self.ask("test_tool_with_logging"))
        meta = {**META, "io.modelcontextprotocol/logLevel": "info"}
        self.gateway.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "test_logging_tool", "_meta": meta}})
        self.assertEqual([self.gateway.answer().get("method") for _ in range(4)],
                         ["notifications/message"] * 3 + [None])

    def test_lists_that_change_are_told(self):
        self.gateway.send({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": {
            "_meta": META, "notifications": {"toolsListChanged": True}}})
        self.assertEqual(self.gateway.answer()["params"]["notifications"],
                         {"toolsListChanged": True})
        self.gateway.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "test_trigger_prompt_change", "_meta": META}})
        self.assertEqual(self.gateway.answer()["id"], 1)
        self.gateway.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "test_trigger_tool_change", "_meta": META}})
        told = self.gateway.answer()
        self.assertEqual(told, {
            "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 9}}})
        self.assertEqual(self.gateway.answer()["id"], 2)


if __name__ == "__main__":
    PROGRAMS["mcp"] = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
