#!/usr/bin/python3
"""Callers of sirix-mcp over HTTP: static tokens, access tokens of an authorization server, and TLS.

    test_auth.py SIRIX_MCP SIRIXCTL [unittest arguments]
"""
import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest

from auth_server import AuthServer, openssl
from http_server import Server
from mcp_client import LIMIT_S, META, PROGRAMS, Case, inside

PUBLIC = "https://mcp.example/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"
METADATA = "https://mcp.example" + WELL_KNOWN + "/mcp"
WHERE = {"database": "shop", "resource": "orders"}


class AuthCase(Case):
    def setUp(self):
        super().setUp()
        self.store("shop/orders", '{"n":1}')
        self.store("shop/cards", '{"secret":"4111"}')
        self.store("hr/people", '{"n":2}')

    def serve(self, **config):
        key = self.file("key", "00" * 32 + "\n")
        os.chmod(key, 0o600)
        text = json.dumps({"server": {"stateKeyFile": key, "confirmDestructive": False,
                                      "httpHosts": ["mcp.example"], **config}})
        server = Server("--database-path", self.data, "--config", self.file("config.json", text))
        self.assertTrue(server.url, server.end)
        self.gateways.append(server)
        return server

    def callers(self, *lines):
        path = self.file("callers", "\n".join(
            json.dumps({"name": name, "role": role, **more,
                        "tokenSha256": hashlib.sha256(token.encode()).hexdigest()})
            for token, name, role, more in lines))
        os.chmod(path, 0o600)
        return path

    def send(self, server, method="tools/list", params=None, token=None, **headers):
        """Status, headers and message of a request of the modern era."""
        params = {**(params or {}), "_meta": META}
        own = {"Content-Type": "application/json", "Accept": "application/json",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method,
               **{name.replace("_", "-"): value for name, value in headers.items()}}
        if "name" in params:
            own["Mcp-Name"] = params["name"]
        if token is not None:
            own["Authorization"] = "Bearer " + token
        connection = server.connection()
        connection.request("POST", "/mcp", json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), own)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, json.loads(text) if text else None

    def raw(self, server, method, path, body=None, headers=None):
        """Status, headers and body of any request."""
        connection = server.connection()
        connection.request(method, path, body, headers or {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    def call(self, server, tool, token=None, **arguments):
        return self.send(server, "tools/call", {"name": tool, "arguments": arguments}, token)

    def tools(self, server, token):
        status, _, message = self.send(server, token=token)
        self.assertEqual(status, 200, message)
        return {tool["name"] for tool in message["result"]["tools"]}

    def good(self, server, tool, token=None, **arguments):
        status, _, message = self.call(server, tool, token, **arguments)
        self.assertEqual((status, message.get("result", {}).get("isError")), (200, False), message)
        return message["result"]["structuredContent"]


class StaticTokens(AuthCase):
    def test_whoever_is_not_known_is_told_how_to_be(self):
        server = self.serve(callersFile=self.callers(("t-reader", "r", "reader", {})))
        for token in (None, "unknown", "t-reade", "t-reader2", "t-reader="):
            status, headers, message = self.send(server, token=token)
            self.assertEqual(status, 401, token)
            self.assertIn("Bearer", headers["WWW-Authenticate"])
            self.assertNotIn("resource_metadata", headers["WWW-Authenticate"])
            self.assertIn("error", message)
        self.assertEqual(self.send(server, token="t-reader")[0], 200)

    def test_only_the_header_counts(self):
        server = self.serve(callersFile=self.callers(("t-reader", "r", "reader", {})))
        for value, wanted in (("Bearer", 400), ("Bearer t-reader x", 400), ("Bearer\tt-reader", 200),
                              ("bearer t-reader", 200), ("Basic dDp0", 401), ("t-reader", 401),
                              ("Bearer t\"x", 400), ("", 400)):
            self.assertEqual(self.send(server, Authorization=value)[0], wanted, value)
        self.assertEqual(self.raw(server, "POST", "/mcp?access_token=t-reader")[0], 401)

    def test_rights_decide_what_is_listed_and_called(self):
        server = self.serve(readOnly=False, callersFile=self.callers(
            ("t-reader", "r", "reader", {}), ("t-writer", "w", "writer", {}),
            ("t-admin", "a", "admin", {})))
        self.assertNotIn("sirix_insert", self.tools(server, "t-reader"))
        self.assertIn("sirix_insert", self.tools(server, "t-writer"))
        self.assertNotIn("sirix_create_resource", self.tools(server, "t-writer"))
        self.assertIn("sirix_create_resource", self.tools(server, "t-admin"))
        new = {"database": "shop", "resource": "new"}
        for tool, token, arguments, scope in (
                ("sirix_insert", "t-reader", {**WHERE, "data": {"x": 1}}, "read write"),
                ("sirix_create_resource", "t-reader", new, "read write admin"),
                ("sirix_create_resource", "t-writer", new, "read write admin")):
            status, headers, message = self.call(server, tool, token, **arguments)
            self.assertEqual(status, 403, message)
            self.assertIn('error="insufficient_scope"', headers["WWW-Authenticate"])
            self.assertIn(f'scope="{scope}"', headers["WWW-Authenticate"])
        done = self.good(server, "sirix_insert", "t-writer", **WHERE, data={"x": 1})
        self.assertEqual(done["revision"], done["parentRevision"] + 1)
        self.good(server, "sirix_create_resource", "t-admin", **new)
        # A caller that may not even be asked for more is told that there is no such tool.
        status, _, message = self.call(server, "sirix_nonsense", "t-admin")
        self.assertEqual((status, message["error"]["code"]), (200, -32602))

    def test_lists_of_a_caller_hold_everywhere(self):
        server = self.serve(denyDatabases=["hr"], callersFile=self.callers(
            ("t-shop", "s", "reader", {"allowDatabases": ["shop", "hr"],
                                       "allowResources": {"shop": ["orders"]}}),
            ("t-all", "all", "reader", {})))
        names = [row["name"] for row in self.good(server, "sirix_list_databases", "t-all")["databases"]]
        self.assertEqual(names, ["shop"])
        found = self.good(server, "sirix_list_resources", "t-shop", database="shop")["resources"]
        self.assertEqual([row["name"] for row in found], ["orders"])
        for tool, arguments in (
                ("sirix_read_node", {"database": "shop", "resource": "cards"}),
                ("sirix_read_node", {"database": "hr", "resource": "people"}),
                ("sirix_query", {"query": "jn:doc('shop','cards')"}),
                ("sirix_history", {"database": "shop", "resource": "cards"})):
            _, _, message = self.call(server, tool, "t-shop", **arguments)
            self.assertTrue(message["result"]["isError"], message)
            self.assertNotIn("4111", json.dumps(message))
        _, _, message = self.send(server, "resources/read", {"uri": "sirix:///shop/cards/info"},
                                  "t-shop", Mcp_Name="sirix:///shop/cards/info")
        self.assertIn("error", message)
        _, _, message = self.send(server, "completion/complete", {
            "ref": {"type": "ref/resource", "uri": "sirix:///{database}/{resource}/info"},
            "argument": {"name": "resource", "value": ""},
            "context": {"arguments": {"database": "shop"}}}, "t-shop")
        self.assertEqual(message["result"]["completion"]["values"], ["orders"])

    def test_branches_limit_what_is_written(self):
        server = self.serve(readOnly=False, callersFile=self.callers(
            ("t", "w", "writer", {"allowBranches": ["mine"]})))
        for tool, arguments in (("sirix_insert", {"data": {"x": 1}}),
                                ("sirix_create_branch", {"name": "other"}),
                                ("sirix_promote", {"branch": "mine"}),
                                ("sirix_revert", {"revision": 1}),
                                ("sirix_execute_update_query",
                                 {"query": "replace json value of $$.n with 2", "branch": "mine"})):
            _, _, message = self.call(server, tool, "t", **WHERE, **arguments)
            self.assertTrue(message["result"]["isError"], message)
            self.assertIn("permission", message["result"]["content"][0]["text"])
        self.good(server, "sirix_create_branch", "t", **WHERE, name="mine")
        self.good(server, "sirix_insert", "t", **WHERE, data={"x": 1}, branch="mine")
        self.assertEqual(self.good(server, "sirix_read_node", "t", **WHERE)["childCount"], 1)

    def test_a_reader_of_a_writing_server_goes_where_nobody_writes(self):
        """Even a query that writes is refused by the store, not only by the gateway."""
        server = self.serve(readOnly=False, callersFile=self.callers(("t", "r", "reader", {})))
        _, _, message = self.call(server, "sirix_query", "t", **WHERE,
                                  query="replace value of $$.n with 5")
        self.assertTrue(message["result"]["isError"], message)
        self.assertEqual(json.loads(self.ctl("export", "shop/orders")), {"n": 1})

    def test_the_log_and_the_history_name_the_caller(self):
        log = os.path.join(self.dir, "audit.jsonl")
        server = self.serve(readOnly=False, auditLogPath=log, callersFile=self.callers(
            ("t-writer", "agent-7", "writer", {}), ("t-reader", "r", "reader", {})))
        self.good(server, "sirix_insert", "t-writer", **WHERE, data={"x": 1})
        self.call(server, "sirix_insert", "t-reader", **WHERE, data={"x": 1})
        history = self.good(server, "sirix_history", "t-writer", **WHERE)["revisions"]
        self.assertEqual(history[0]["onBehalfOf"], "agent-7")
        server.end()
        lines = []
        for name in sorted(os.listdir(self.dir)):
            if name.startswith("audit-"):
                with open(os.path.join(self.dir, name), encoding="utf-8") as file:
                    lines += [json.loads(line) for line in file]
        told = [(line.get("principal"), line["event"], line.get("outcome")) for line in lines]
        self.assertIn(("agent-7", "intent", None), told)
        self.assertIn(("r", "call", "permission"), told)
        text = json.dumps(lines)
        self.assertNotIn("t-writer", text)

    def test_what_one_caller_keeps_is_of_no_use_to_another(self):
        server = self.serve(readOnly=False, confirmDestructive=True, confirm="two-step",
                            callersFile=self.callers(("t-a", "a", "writer", {}),
                                                     ("t-b", "b", "writer", {})))
        key = self.good(server, "sirix_read_node", "t-a", **WHERE)["children"][0]["nodeKey"]
        held = self.good(server, "sirix_delete", "t-a", **WHERE, nodeKey=key)
        _, _, message = self.call(server, "sirix_delete", "t-b", **WHERE, nodeKey=key,
                                  confirmToken=held["confirmToken"])
        self.assertTrue(message["result"]["isError"])
        self.assertTrue(self.good(server, "sirix_delete", "t-a", **WHERE, nodeKey=key,
                                  confirmToken=held["confirmToken"])["changed"])

    def test_a_question_is_answered_by_whom_it_was_asked(self):
        server = self.serve(readOnly=False, confirmDestructive=True, callersFile=self.callers(
            ("t-a", "a", "writer", {}), ("t-b", "b", "writer", {})))
        meta = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        key = self.good(server, "sirix_read_node", "t-a", **WHERE)["children"][0]["nodeKey"]
        params = {"name": "sirix_delete", "arguments": {**WHERE, "nodeKey": key}, "_meta": meta}

        def ask(token, **more):
            return json.loads(self.raw(server, "POST", "/mcp", json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, **more}}),
                {"Content-Type": "application/json", "Accept": "application/json",
                 "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
                 "Mcp-Name": "sirix_delete", "Authorization": "Bearer " + token})[2])

        asked = ask("t-a")["result"]
        self.assertEqual(asked["resultType"], "input_required")
        name, question = next(iter(asked["inputRequests"].items()))
        field = next(iter(question["params"]["requestedSchema"]["properties"]))
        yes = {"inputResponses": {name: {"action": "accept", "content": {field: True}}},
               "requestState": asked["requestState"]}
        self.assertEqual(ask("t-b", **yes)["error"]["code"], -32602)
        self.assertFalse(ask("t-a", **yes)["result"]["isError"])

    def test_limits_are_each_callers_own(self):
        server = self.serve(maxCallsPerMinute=60, callersFile=self.callers(
            ("t-a", "a", "reader", {}), ("t-b", "b", "reader", {})))
        outcomes = [self.call(server, "sirix_list_databases", "t-a")[2]["result"]["isError"]
                    for _ in range(5)]
        self.assertEqual(outcomes[0], False)
        self.assertIn(True, outcomes)
        self.good(server, "sirix_list_databases", "t-b")

    def test_tokens_of_a_caller_can_be_changed_without_a_gap(self):
        server = self.serve(callersFile=self.callers(("old", "a", "reader", {}),
                                                     ("new", "a", "reader", {})))
        self.assertEqual(self.send(server, token="old")[0], 200)
        self.assertEqual(self.send(server, token="new")[0], 200)


class AccessTokens(AuthCase):
    def setUp(self):
        super().setUp()
        self.server_of_tokens = AuthServer()
        self.addCleanup(self.server_of_tokens.close)

    def token(self, **claims):
        return self.server_of_tokens.token(**{"aud": PUBLIC, "scope": "read", **claims})

    def serve(self, **config):
        return super().serve(oauthIssuer=self.server_of_tokens.issuer, publicUrl=PUBLIC,
                             oauthJwksUrl=self.server_of_tokens.jwks, **config)

    def test_metadata_tell_where_tokens_come_from(self):
        server = self.serve(readOnly=False)
        for path in ("", "/mcp"):
            status, headers, body = self.raw(server, "GET", WELL_KNOWN + path)
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            self.assertEqual(json.loads(body), {
                "resource": PUBLIC, "authorization_servers": [self.server_of_tokens.issuer],
                "scopes_supported": ["read", "write", "admin"],
                "bearer_methods_supported": ["header"], "resource_name": "sirix-mcp"})
        for method, path, wanted in (("POST", "", 405), ("GET", "/other", 404), ("GET", "x", 404)):
            self.assertEqual(self.raw(server, method, WELL_KNOWN + path)[0], wanted, (method, path))
        self.assertEqual(self.raw(server, "GET", WELL_KNOWN, headers={"Host": "evil.example"})[0],
                         403)

    def test_whoever_has_no_token_is_told_where_to_get_one(self):
        server = self.serve()
        status, headers, _ = self.send(server)
        self.assertEqual(status, 401)
        self.assertEqual(headers["WWW-Authenticate"],
                         f'Bearer resource_metadata="{METADATA}", scope="read"')
        status, headers, _ = self.send(server, token="a.b.c")
        self.assertEqual(status, 401)
        self.assertIn('error="invalid_token"', headers["WWW-Authenticate"])
        self.assertIn(f'resource_metadata="{METADATA}"', headers["WWW-Authenticate"])

    def test_good_tokens_are_taken_and_bad_ones_are_not(self):
        server = self.serve()
        now = int(time.time())
        stranger = self.server_of_tokens.key("r1x", "RSA")
        stranger.kid = "r1"
        elliptic = self.server_of_tokens.published[1]
        for name, token, wanted in (
                ("good", self.token(), 200),
                ("ES256", self.token(key=elliptic), 200),
                ("list of audiences", self.token(aud=["x", PUBLIC]), 200),
                ("a little late", self.token(exp=now - 20), 200),
                ("expired", self.token(exp=now - 120), 401),
                ("without end", self.token(exp=None), 401),
                ("not yet", self.token(nbf=now + 600), 401),
                ("another audience", self.token(aud="https://other.example"), 401),
                ("no audience", self.token(aud=None), 401),
                ("another issuer", self.token(iss="https://other.example"), 401),
                ("another key", self.token(key=stranger), 401),
                ("unsigned", self.token(header={"alg": "none"}), 401),
                ("shared secret", self.token(header={"alg": "HS256"}), 401),
                ("RSA as ECDSA", self.token(header={"alg": "ES256"}), 401),
                ("crit", self.token(header={"crit": ["x"]}), 401),
                ("an id token", self.token(header={"typ": "id+jwt"}), 401)):
            status, _, message = self.send(server, token=token)
            self.assertEqual(status, wanted, (name, message))
            self.assertNotIn(token, json.dumps(message))

    def test_a_scope_that_is_too_small_can_be_stepped_up(self):
        server = self.serve(readOnly=False)
        status, headers, _ = self.send(server, token=self.token(scope="openid"))
        self.assertEqual(status, 403)
        self.assertIn('error="insufficient_scope"', headers["WWW-Authenticate"])
        status, headers, _ = self.call(server, "sirix_insert", self.token(), **WHERE,
                                       data={"x": 1})
        self.assertEqual(status, 403)
        self.assertEqual(headers["WWW-Authenticate"],
                         f'Bearer resource_metadata="{METADATA}", scope="read write", '
                         'error="insufficient_scope"')
        self.good(server, "sirix_insert", self.token(scope="write"), **WHERE, data={"x": 1})

    def test_the_same_scope_serves_every_reading_tool(self):
        server = self.serve()
        token = self.token()
        self.good(server, "sirix_list_databases", token)
        self.good(server, "sirix_list_resources", token, database="shop")
        self.good(server, "sirix_list_snapshots", token, **WHERE)
        self.good(server, "sirix_list_branches", token, **WHERE)

    def test_claims_narrow_what_is_seen(self):
        server = self.serve()
        token = self.token(sirix={"allowDatabases": ["hr"]})
        found = self.good(server, "sirix_list_databases", token)["databases"]
        self.assertEqual([row["name"] for row in found], ["hr"])
        self.assertEqual(self.send(server, token=self.token(sirix={"allow": []}))[0], 401)

    def test_keys_rotate_and_unknown_ones_ask_once(self):
        server = self.serve()
        self.assertEqual(self.send(server, token=self.token())[0], 200)
        self.assertEqual(self.server_of_tokens.asked, 1)
        unknown = self.server_of_tokens.key("new", "RSA")
        for _ in range(5):
            self.assertEqual(self.send(server, token=self.token(key=unknown))[0], 401)
        self.assertLessEqual(self.server_of_tokens.asked, 2)

    def test_without_keys_nobody_gets_in_and_that_is_no_401(self):
        self.server_of_tokens.published = []
        server = self.serve()
        self.assertEqual(self.send(server, token=self.token(
            key=self.server_of_tokens.key("r9", "RSA")))[0], 503)

    def test_static_tokens_work_beside(self):
        server = self.serve(callersFile=self.callers(("t", "r", "reader", {})))
        self.assertEqual(self.send(server, token="t")[0], 200)
        self.assertEqual(self.send(server, token=self.token())[0], 200)

    def test_the_caller_is_told_only_what_it_may_see_of_changes(self):
        """A listener that may not see a database is not told that another one came."""
        server = self.serve()
        token = self.token(sirix={"allowDatabases": ["shop"]})
        connection = server.connection()
        connection.request("POST", "/mcp", json.dumps(
            {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {
                "notifications": {"resourcesListChanged": True, "resourceSubscriptions": [
                    "sirix:///shop/orders/info", "sirix:///hr/people/info"]}, "_meta": META}}),
            {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
             "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
             "Authorization": "Bearer " + token})
        answer = connection.getresponse()

        def next_message():
            while True:
                line = answer.fp.readline().decode()
                self.assertTrue(line)
                if line.startswith("data: "):
                    return json.loads(line[6:])

        self.assertEqual(next_message()["params"]["notifications"]["resourceSubscriptions"],
                         ["sirix:///shop/orders/info"])
        self.store("secret/new", "1")
        self.store("hr/people2", "1")
        self.ctl("update", "shop/orders", "/n", "3")
        told = next_message()
        self.assertEqual((told["method"], told["params"].get("uri")),
                         ("notifications/resources/updated", "sirix:///shop/orders/info"))
        connection.close()


class Storage(Case):
    """What the gateway itself shows to a storaged that knows its callers."""

    def guard(self, *args, more=()):
        """A storaged with principals by token and the lines of more: its address and process."""
        lines = list(more)
        for name, role in (("r7", "reader"), ("w7", "writer")):
            lines.append(f"{name} {role} token=sha256:" +
                         hashlib.sha256(f"{name}-token-0123456789".encode()).hexdigest())
            os.chmod(self.file(name, f"{name}-token-0123456789\n"), 0o600)
        principals = self.file("principals", "\n".join(lines) + "\n")
        os.chmod(principals, 0o600)
        self.store("shop/orders", '{"n":1}')
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        os.kill(self.daemon(), signal.SIGTERM)
        while self.daemon() is not None:
            time.sleep(0.01)
        ready, told = os.pipe()
        daemon = subprocess.Popen(
            [os.path.join(os.path.dirname(PROGRAMS["sirixctl"]), "storaged"), "--data", self.data,
             "--listen", address, "--principals", principals, "--ready-fd", str(told), *args],
            pass_fds=[told], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(told)
        with os.fdopen(ready) as file:
            self.assertTrue(file.readline())
        self.addCleanup(daemon.wait, LIMIT_S)
        self.addCleanup(daemon.kill)
        return address, daemon

    def gateway(self, *args):
        one = self.start(*args)
        one.initialize()
        return one

    def test_the_rights_of_its_token_are_the_store_s(self):
        address, daemon = self.guard()

        def gateway(*args):
            return self.gateway("--storage", address, "--read-write", *args)

        nobody = gateway()
        self.assertEqual(nobody.fail("sirix_list_databases")["status"], "unauthenticated")
        reader = gateway("--token-file", os.path.join(self.dir, "r7"))
        self.assertEqual(reader.call("sirix_read_node", **WHERE)["childCount"], 1)
        self.assertEqual(reader.fail("sirix_insert", **WHERE, data={"x": 1})["status"],
                         "permission")
        writer = gateway("--token-file", os.path.join(self.dir, "w7"))
        writer.call("sirix_insert", **WHERE, data={"x": 1})
        history = writer.call("sirix_history", **WHERE)["revisions"]
        self.assertEqual(history[0]["user"], "w7")
        daemon.terminate()
        self.assertEqual(daemon.wait(LIMIT_S), 0)

    def path(self, name):
        return os.path.join(self.dir, name)

    def authority(self, name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", self.path(name + ".key"), "-out", self.path(name + ".pem"), "-days", "2",
                "-subj", "/CN=" + name)

    def issue(self, name, who):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                self.path(name + ".key"), "-out", self.path(name + ".csr"), "-subj", "/CN=" + name)
        openssl("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path("ca.pem"),
                "-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", "2", "-out",
                self.path(name + ".pem"), "-extfile",
                self.file(name + ".ext", "subjectAltName=" + who))

    def by_config(self, name, **settings):
        text = json.dumps({"server": {"readOnly": False, **settings}})
        return self.gateway("--config", self.file(name + ".json", text))

    def refused(self, gateways):
        """What the logs say of gateways whose calls end at the handshake; they try at the same time."""
        for one in gateways:
            one.send({"jsonrpc": "2.0", "id": "x", "method": "tools/call",
                      "params": {"name": "sirix_list_databases", "arguments": {}}})
        for one in gateways:
            result = one.answer()["result"]
            self.assertTrue(result["isError"], result)
            facts = json.loads(inside(result["content"][0]["text"]))
            self.assertEqual(facts["status"], "unavailable", facts)
            one.close()
            told = [json.loads(line) for line in one.errors if "cannot be reached" in line]
            self.assertTrue(told, one.errors)
            for setting in ("tlsCa", "tlsCert"):
                self.assertIn(setting, told[0]["msg"])

    def test_tls_with_a_token_and_a_wrong_authority_is_told_by_its_setting(self):
        self.authority("ca")
        self.authority("other")
        self.issue("server", "IP:127.0.0.1")
        address, daemon = self.guard("--tls-cert", self.path("server.pem"), "--tls-key",
                                     self.path("server.key"))
        tls = {"storage": address, "tlsCa": self.path("ca.pem")}
        writer = self.by_config("w", **tls, tokenFile=self.path("w7"))
        writer.call("sirix_insert", **WHERE, data={"x": 1})
        self.assertEqual(writer.call("sirix_history", **WHERE)["revisions"][0]["user"], "w7")
        reader = self.by_config("r", **tls, tokenFile=self.path("r7"))
        self.assertEqual(reader.fail("sirix_insert", **WHERE, data={"x": 1})["status"],
                         "permission")
        nobody = self.by_config("n", **tls)
        self.assertEqual(nobody.fail("sirix_list_databases")["status"], "unauthenticated")
        self.refused([self.by_config("o", storage=address, tlsCa=self.path("other.pem"),
                                     tokenFile=self.path("w7"))])
        daemon.terminate()
        self.assertEqual(daemon.wait(LIMIT_S), 0)

    def test_a_certificate_of_its_own_is_asked_for_and_may_stand_for_a_token(self):
        self.authority("ca")
        self.issue("server", "IP:127.0.0.1")
        self.issue("client", "DNS:gateway.example")
        address, daemon = self.guard(
            "--tls-cert", self.path("server.pem"), "--tls-key", self.path("server.key"),
            "--tls-client-ca", self.path("ca.pem"),
            more=("c7 writer certificate=dns:gateway.example",))
        tls = {"storage": address, "tlsCa": self.path("ca.pem")}
        pair = {"tlsCert": self.path("client.pem"), "tlsKey": self.path("client.key")}
        for name, more in (("c7", {}), ("w7", {"tokenFile": self.path("w7")})):
            one = self.by_config(name, **tls, **pair, **more)
            one.call("sirix_insert", **WHERE, data={name: 1})
            self.assertEqual(one.call("sirix_history", **WHERE)["revisions"][0]["user"], name)
        self.refused([self.by_config("bare", **tls, tokenFile=self.path("w7"))])
        daemon.terminate()
        self.assertEqual(daemon.wait(LIMIT_S), 0)


class Start(AuthCase):
    def refused(self, listen, *args, **config):
        text = json.dumps({"server": config})
        done = subprocess.run(
            [PROGRAMS["mcp"], "--database-path", self.data, "--config",
             self.file("config.json", text), *(("--http", listen) if listen else ()), *args],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stderr.decode()

    def test_others_than_this_machine_are_served_by_decision_only(self):
        callers = self.callers(("t", "r", "reader", {}))
        self.assertIn("callersFile", self.refused("0.0.0.0:0"))
        self.assertIn("httpPlain", self.refused("0.0.0.0:0", callersFile=callers))
        self.assertIn("callersFile", self.refused("0.0.0.0:0", httpPlain=True))

    def test_settings_that_do_not_fit_are_refused(self):
        callers = self.callers(("t", "r", "reader", {}))
        here = "127.0.0.1:0"
        oauth = {"oauthIssuer": "https://as", "oauthJwksUrl": "https://as/jwks",
                 "publicUrl": PUBLIC}
        self.assertIn("HTTP", self.refused(None, callersFile=callers))
        for missing in oauth:
            if missing == "publicUrl":
                continue
            self.assertIn("go together", self.refused(
                here, **{k: v for k, v in oauth.items() if k != missing}))
        self.assertIn("go together", self.refused(here, oauthAudience="x"))
        self.assertIn("oauthJwksUrl", self.refused(
            here, **{**oauth, "oauthJwksUrl": "http://as.example/jwks"}))
        self.assertIn("publicUrl", self.refused(here, **{**oauth, "publicUrl": "mcp.example"}))
        self.assertIn("go together", self.refused(here, httpTlsCert="x"))

    def test_a_file_of_tokens_that_others_may_write_is_refused(self):
        callers = self.callers(("t", "r", "reader", {}))
        os.chmod(callers, 0o666)
        done = subprocess.run([PROGRAMS["mcp"], "--database-path", self.data, "--http",
                               "127.0.0.1:0", "--callers-file", callers],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"0600", done.stderr)

    def test_tls_is_spoken_where_a_certificate_is_given(self):
        cert = os.path.join(self.dir, "cert.pem")
        key = os.path.join(self.dir, "key.pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1")
        server = self.serve(httpTlsCert=cert, httpTlsKey=key,
                            callersFile=self.callers(("t", "r", "reader", {})))
        self.assertTrue(server.url.startswith("https://"))
        server.connection = lambda: http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=LIMIT_S,
            context=ssl.create_default_context(cafile=cert))
        self.assertEqual(self.send(server, token="t")[0], 200)
        self.assertEqual(self.send(server)[0], 401)
        plain = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            plain.request("GET", "/mcp")
            plain.getresponse()
        plain.close()


if __name__ == "__main__":
    PROGRAMS["mcp"], PROGRAMS["sirixctl"] = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
