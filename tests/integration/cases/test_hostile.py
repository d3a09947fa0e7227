"""Clients that lie, race, stall and vanish; after each of them the daemon answers as before.

| test                                                             | case |
| --- | --- |
| Streams.test_an_import_out_of_order_changes_nothing              | wrong streams |
| Streams.test_a_stream_that_ends_inside_a_character | half-close in a UTF-8 character |
| Streams.test_every_cut_of_a_text_is_the_same_document            | wrong streams |
| Streams.test_a_cancelled_import_leaves_nothing                   | data after cancel, G29 |
| Garbage.test_random_bytes_to_every_method                        | protobuf garbage |
| Garbage.test_huge_and_odd_fields_of_every_request                | huge fields |
| Garbage.test_requests_that_name_nothing                          | a crash once: no resource |
| Garbage.test_bytes_that_are_not_http2                            | protobuf garbage |
| Garbage.test_odd_metadata                                        | huge fields |
| Names.test_hostile_names_through_every_door                      | G26 |
| Names.test_one_rule_of_case_for_every_call                       | G25 |
| Stalling.test_readers_that_do_not_read                           | slow clients |
| Stalling.test_writers_that_do_not_write                          | slow clients |
| Stalling.test_clients_that_are_killed                            | vanishing clients |
| Stalling.test_a_call_ended_twice_at_once_is_harmless             | SirixDB #1102 |
| Stalling.test_deadlines_of_a_millisecond_on_everything           | deadlines |
"""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import grpc

import case
import cases
from case import insert, update

NAME_FIELDS = ("database", "resource", "name", "branch", "target")


class Healthy(cases.Case):
    """Afterwards no call is left behind, nothing is damaged, and writes go on."""

    def setUp(self):
        self.name = self.resource('{"a":1,"l":[1,2,3]}')
        self.place = {"database": b"db", "resource": self.name}

    def check_health(self, limit=30):
        end = time.monotonic() + limit
        status = self.client.Status()
        while (status.calls_running, status.writes_waiting) != (1, 0):
            self.assertLess(time.monotonic(), end, "calls are left behind: %s" % status)
            status = self.client.Status()
        self.assertIsNone(self.daemon.process.poll())
        fresh = self.resource("[]")
        self.apply(fresh, insert("1", node_key=1))
        self.assertEqual(self.json(fresh), [1])
        self.verified()


class Streams(Healthy):
    def start(self, **fields):
        return case.pb.ImportRequest(start=case.pb.ImportStart(
            database=b"db", resource=self.name, replace=True, **fields))

    def test_an_import_out_of_order_changes_nothing(self):
        pb = case.pb
        data, nothing = pb.ImportRequest(data=b"[1]"), pb.ImportRequest()
        for messages in ([], [data], [nothing], [data, self.start()], [self.start(), self.start()],
                         [self.start(), data, self.start()], [self.start(), nothing, data],
                         [nothing, self.start(), data], [self.start(), self.start(), data],
                         [self.start(), data, nothing]):
            answer, failure = cases.attempt(self.client.Import, messages)
            self.assertIsNone(answer, messages)
            self.assertEqual(failure[0], "INVALID_ARGUMENT", (messages, failure))
        self.assertEqual(self.head(self.name), 1)
        raw = self.client.channel.stream_unary("/sirix.storage.v1.Storage/Import",
                                               lambda b: b, lambda b: b)
        for second in (b"\xff" * 20, b"\x12\x05[", b"\x0a\x02\x0a", b"\x12" + b"\xff" * 9
                       + b"\x01"):
            with self.assertRaises(grpc.RpcError) as caught:
                raw(iter([self.start().SerializeToString(), second]), timeout=30)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(self.head(self.name), 1)
        self.check_health()

    def test_a_stream_that_ends_inside_a_character(self):
        text = '["\u00e4","\u65e5","\U0001f600"]'.encode()
        for end in range(1, len(text)):
            for start in ({}, {"format": case.pb.IMPORT_FORMAT_NDJSON}):
                answer, failure = cases.attempt(self.load, self.name, text[:end], size=1,
                                                replace=True, **start)
                self.assertIsNone(answer, text[:end])
                self.assertEqual(failure[0], "INVALID_ARGUMENT")
                self.assertIn(failure[1], ("json_truncated", "json_encoding"), text[:end])
                self.assertLessEqual(abs(failure[2].offset - end), 3, (text[:end], failure))
        self.assertEqual(self.head(self.name), 1)

    def test_every_cut_of_a_text_is_the_same_document(self):
        text = ('{"\u00e4\u65e5\\u0000":["\U0001f600\\n\\\\x",-1.50e+7,true,null,{"":[[]]}],'
                '"z":"\\"\\u001f"}')
        data = text.encode()
        for cut in range(1, len(data)):
            pb = case.pb
            self.client.Import([self.start(), pb.ImportRequest(data=data[:cut]),
                                pb.ImportRequest(data=b""), pb.ImportRequest(data=data[cut:])])
            self.assertEqual(self.text(self.name), text, cut)

    def test_a_cancelled_import_leaves_nothing(self):
        pb = case.pb
        block = b'"' + b"x" * 60000 + b'",'
        before = None
        for i in range(cases.size(12, 100)):
            sent, go = threading.Event(), threading.Event()

            def messages():
                yield self.start()
                yield pb.ImportRequest(data=b"[")
                for _ in range(cases.size(100, 500)):
                    yield pb.ImportRequest(data=block)
                sent.set()
                go.wait(30)
                for _ in range(50):
                    yield pb.ImportRequest(data=block)  # After the cancel.
                yield pb.ImportRequest(data=b"1]")

            call = self.client.Import.raw.future(messages(), timeout=60)
            if i % 2:
                sent.wait(30)
            call.cancel()
            go.set()
            while self.client.Status().calls_running > 1:
                pass
            before = before or self.stored()
        self.assertEqual((self.head(self.name), self.json(self.name)),
                         (1, {"a": 1, "l": [1, 2, 3]}))
        self.assertLess(self.stored(), before + (24 << 20))  # The space is used again.
        self.check_health()


class Garbage(Healthy):
    def methods(self):
        return case.pb.DESCRIPTOR.services_by_name["Storage"].methods

    def raw(self, method):
        kind = ("stream" if method.name in ("ApplyStream", "Import", "Restore") else "unary") + (
            "_stream" if method.name in ("ReadDocument", "Diff", "Query", "Sql", "Verify", "Backup",
                                         "Watch", "Attach") else "_unary")
        endless = method.name in ("Attach", "Watch")
        call = getattr(self.client.channel, kind)("/sirix.storage.v1.Storage/" + method.name,
                                                  lambda b: b, lambda b: b)

        def ask(data):
            try:
                answer = call(iter(data) if kind.startswith("stream") else data[0], timeout=0.1 if endless else 10)
                for _ in answer if kind.endswith("_stream") else ():
                    if endless:
                        answer.cancel()
                return "OK"
            except grpc.RpcError as failure:
                code = failure.code().name
                return "OK" if endless and code in ("DEADLINE_EXCEEDED", "CANCELLED") else code
        return ask

    def test_random_bytes_to_every_method(self):
        rand = random.Random(4711)
        seeds = [case.pb.ApplyRequest(database=b"db", resource=self.name, operations=[
                     update(1, "1"), insert("[]", name=b"x")]).SerializeToString(),
                 case.pb.ReadNodeRequest(path=b"/a", max_depth=0, **self.place).SerializeToString(),
                 case.pb.ImportRequest(start=case.pb.ImportStart(**self.place)).SerializeToString()]
        allowed = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION",
                   "OUT_OF_RANGE", "ABORTED", "RESOURCE_EXHAUSTED", "CANCELLED"}
        for method in self.methods():
            ask = self.raw(method)
            if method.name in ("DropDatabase", "DropResource"):
                continue
            for _ in range(cases.size(40, 2000)):
                kind = rand.randrange(3)
                if kind == 0:
                    data = rand.randbytes(rand.randrange(200))
                else:
                    data = bytearray(rand.choice(seeds))
                    for _ in range(rand.randrange(1, 6)):
                        data[rand.randrange(len(data))] = rand.randrange(256)
                    data = bytes(data[:rand.randrange(len(data) + 1)] if kind == 2 else data)
                code = ask([data, data[::-1]])
                self.assertIn(code, allowed, (method.name, data))
        self.check_health()

    def test_huge_and_odd_fields_of_every_request(self):
        """Every scalar field of every request, one after another, set to odd values."""
        allowed = {"OK", "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION",
                   "OUT_OF_RANGE", "ABORTED", "RESOURCE_EXHAUSTED"}
        text = [b"", b"\0", b"\xff\xfe", b"x" * 3000000, b"/" * 100000, b"../../etc/passwd",
                b"9" * 5000, "\u202e".encode(), b"%s%n", b"[" * 100000, b"~", b"/[",
                b"/[18446744073709551616]"]
        numbers = [0, 1, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1]

        def fill(message, depth=0):
            for field in message.DESCRIPTOR.fields:
                if field.message_type and depth < 4 and not field.containing_oneof:
                    inner = getattr(message, field.name)
                    fill(inner.add() if field.label == field.LABEL_REPEATED else inner, depth + 1)
            for name in NAME_FIELDS[:2]:
                if name in message.DESCRIPTOR.fields_by_name:
                    setattr(message, name, b"db" if name == "database" else self.name)
            return message

        def visit(root, message, ask, where):
            for field in message.DESCRIPTOR.fields:
                if field.message_type:
                    inner = getattr(message, field.name)
                    if field.label == field.LABEL_REPEATED:
                        inner = inner[0] if len(inner) else inner.add()
                    if where.count(".") < 5:
                        visit(root, inner, ask, where + "." + field.name)
                    continue
                for odd in text if field.type == field.TYPE_BYTES else numbers:
                    kept = type(message)()
                    kept.CopyFrom(message)
                    try:
                        if field.label == field.LABEL_REPEATED:
                            getattr(message, field.name).append(odd)
                        else:
                            setattr(message, field.name, odd)
                    except (ValueError, TypeError):  # The field cannot hold it.
                        continue
                    code = ask([root.SerializeToString()])
                    self.assertIn(code, allowed, (where, field.name, odd[:50] if isinstance(
                        odd, bytes) else odd))
                    message.CopyFrom(kept)

        for method in self.methods():
            if method.name in ("DropDatabase", "DropResource", "Attach"):
                continue
            message = fill(getattr(case.pb, method.input_type.name)())
            visit(message, message, self.raw(method), method.name)
        for database in self.client.ListDatabases().databases:
            if database.name != b"db":
                self.client.DropDatabase(database=database.name)
        self.check_health()

    def test_requests_that_name_nothing(self):
        for method in self.methods():
            if method.name in ("Status", "ListDatabases", "ReloadPrincipals", "Attach"):
                continue
            for fields in ({}, {"database": b"db"}):
                message = getattr(case.pb, method.input_type.name)()
                for key, value in fields.items():
                    if key in message.DESCRIPTOR.fields_by_name:
                        setattr(message, key, value)
                    elif "start" in message.DESCRIPTOR.fields_by_name:
                        setattr(message.start, key, value)
                data = message.SerializeToString()
                if fields and method.name in ("DropDatabase", "CreateDatabase", "ListResources",
                                              "Verify", "Watch", "Backup", "Restore", "SetQuota"):
                    continue
                self.assertEqual(self.raw(method)([data]), "INVALID_ARGUMENT",
                                 (method.name, fields))
                self.assertIsNone(self.daemon.process.poll(), method.name)
        self.check_health()

    def test_bytes_that_are_not_http2(self):
        rand = random.Random(1)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = b"\0\0\0\x04\0\0\0\0\0"
        frames = [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", preface, preface + settings,
                  preface + b"\xff\xff\xff\0\0\0\0\0\1", preface + settings + rand.randbytes(5000),
                  preface + settings + b"\0\0\x04\x03\0\0\0\0\x09\0\0\0\0", rand.randbytes(100000),
                  preface + settings + (b"\0\0\x08\x06\0\0\0\0\0" + b"p" * 8) * 20000,
                  preface + settings + b"".join(b"\0\0\0\x01\x04" + (2 * i + 1).to_bytes(4, "big")
                                                for i in range(2000))]
        held = []
        for data in frames * cases.size(3, 20):
            for address in ("storaged.sock", "reader.sock"):
                one = socket.socket(socket.AF_UNIX)
                one.connect(self.daemon.folder + "/" + address)
                one.settimeout(2)
                try:
                    one.sendall(data)
                except OSError:
                    pass  # It closed before all was sent, as it may.
                held.append(one)
            self.assertEqual(self.new_client().Status().principal, b"owner")
        for one in held:
            one.close()
        self.check_health()
        self.assertLess(cases.descriptors(self.daemon.process.pid), 200)

    def test_odd_metadata(self):
        for metadata in ((("x-a", "b" * 4000),), (("x-bin", b"\0\xff" * 1000),),
                         (("x-a", "b" * 9000),),
                         tuple(("k%d" % i, "v") for i in range(200)), (("x-a", "b" * 100000),),
                         (("grpc-timeout", "0n"),), (("authorization", "Bearer " + "x" * 3000),)):
            # Past the limit the connection may end with the call.
            cases.attempt(self.new_client().ListDatabases, metadata=metadata)
            self.assertEqual(self.client.Status().principal, b"owner")
        self.check_health()


class Names(Healthy):
    hostile = ["", "x" * 129, "x" * 300, ".", "..", "../x", "a/b", "a\\b", " ", "a b", "a\nb",
               "a\tb",
               "\u202ea", "a\u202eb", "\ufeffa", "\u00e4", "\u0130", "K\u212a", "-a", "_a", ".a",
               "a\0",
               "a%00", "%2e%2e%2f", "..%5c", "a:b", "a*b", "a;b", "$(x)", "`x`", "'", '"', "~",
               "a@b",
               "a\x7f", "a\x1b[2J", "CON:", "/etc/passwd", "\\\\host\\x"]

    def test_hostile_names_through_every_door(self):
        before = sorted(os.listdir(self.daemon.folder + "/databases"))
        labels = ["7", "0017", "18446744073709551616", "2024-01-15", "2024-01-15T10:00:00Z"]
        for name in self.hostile + labels:
            data = name.encode()
            calls = [(self.client.CreateSnapshot, dict(self.place, name=data)),
                     (self.client.CreateBranch, dict(self.place, name=data))]
            if name not in labels:
                calls += [(self.client.CreateDatabase, {"database": data}),
                          (self.client.CreateResource, {"database": b"db", "resource": data}),
                          (self.client.DropDatabase, {"database": data}),
                          (self.client.ListResources, {"database": data}),
                          (self.client.Verify, {"database": data}),
                          (self.client.ReadNode, {"database": b"db", "resource": data}),
                          (self.client.ReadDocument, {"database": data, "resource": b"r"})]
            for call, fields in calls:
                answer, failure = cases.attempt(call, **fields)
                self.assertIsNone(answer, (name, fields))
                self.assertEqual(failure[0], "INVALID_ARGUMENT", (name, fields, failure))
            if "\0" not in name and name and name[0] != "-":
                self.ctl("snapshot", "create", "db/" + self.name.decode(), name, code=65)
        for name in ("HEAD", "a..b", "0", "7", "2024-01-15", "con", "null", "a.", "a-", "0x1f",
                     "x" * 128,
                     "databases", "storaged.sock", "data.mdb", "lock.mdb"):
            self.client.CreateDatabase(database=name.encode())
            self.client.CreateResource(database=name.encode(), resource=name.encode())
            self.assertEqual(self.ask("list", name)["resources"][0]["name"], name)
            self.client.DropDatabase(database=name.encode())
        self.assertEqual(sorted(os.listdir(self.daemon.folder + "/databases")), before)
        for line in self.daemon.log_text().splitlines():
            json.loads(line)
        self.check_health()

    def test_one_rule_of_case_for_every_call(self):
        client, pb = self.client, case.pb
        for kind in ("branch", "snapshot"):
            create = {"branch": client.CreateBranch, "snapshot": client.CreateSnapshot}[kind]
            other = {"branch": client.CreateSnapshot, "snapshot": client.CreateBranch}[kind]
            remove = {"branch": client.DeleteBranch, "snapshot": client.DeleteSnapshot}[kind]
            create(name=b"Work", **self.place)
            for call in (create, other):
                self.refused("ALREADY_EXISTS", "name_differs_in_case_only", call, name=b"work",
                             **self.place)
            self.refused("NOT_FOUND", kind + "_unknown", self.client.ReadNode,
                         view=pb.View(**{kind: b"WORK"}), **self.place)
            self.refused("NOT_FOUND", kind + "_unknown", remove, name=b"wORK", **self.place)
            self.assertEqual(self.json(self.name, view=pb.View(**{kind: b"Work"}))["a"], 1)
            if kind == "branch":
                self.refused("NOT_FOUND", "branch_unknown", client.Promote, branch=b"work",
                             **self.place)
                self.refused("NOT_FOUND", "branch_unknown", self.apply, self.name, update(1, "1"),
                             branch=b"work")
            remove(name=b"Work", **self.place)
        for spelling in (b"main", b"Main", b"MAIN", b"mAIN"):
            for call in (client.CreateBranch, client.DeleteBranch):
                answer, failure = cases.attempt(call, name=spelling, **self.place)
                self.assertIsNone(answer, spelling)
                self.assertIn(failure[0], ("ALREADY_EXISTS", "INVALID_ARGUMENT", "NOT_FOUND",
                                           "FAILED_PRECONDITION"), spelling)
            if spelling != b"main":
                for view in (pb.View(branch=spelling), pb.View(snapshot=spelling)):
                    answer, failure = cases.attempt(client.ReadNode, view=view, **self.place)
                    self.assertEqual((answer, failure[0]), (None, "NOT_FOUND"))
                answer, failure = cases.attempt(client.CreateSnapshot, name=spelling, **self.place)
                self.assertIsNone(answer, spelling)
        self.assertEqual([b.name for b in client.ListBranches(**self.place).branches], [b"main"])
        self.assertEqual(self.ctl("branch", "delete", "db/" + self.name.decode(), "Main",
                                  code=66)[0], b"")


VANISHING = r'''
import sys, threading
sys.path[:0] = sys.argv[4].split(":")
import case, daemon
case.ARGS = type("Args", (), {"proto": sys.argv[1]})
pb = case.load()
client = daemon.Client(sys.argv[2], pb)
name = sys.argv[3].encode()
def read():
    for part in client.ReadDocument(database=b"db", resource=name):
        break
    threading.Event().wait()
def put():
    def messages():
        yield pb.ImportRequest(start=pb.ImportStart(database=b"db", resource=name, replace=True))
        yield pb.ImportRequest(data=b"[1")
        while True:
            yield pb.ImportRequest(data=b",1" * 30000)
    client.Import(messages())
def write():
    while True:
        client.Apply(database=b"db", resource=name, operations=[case.insert("1", node_key=1)])
for work in (read, read, put, write, write):
    threading.Thread(target=work, daemon=True).start()
while client.Status().calls_running < 4:
    pass
print("running", flush=True)
threading.Event().wait()
'''


class Stalling(Healthy):
    def big(self, mib):
        return self.resource(json.dumps(["x" * 1000] * (mib << 10), separators=(",", ":")))

    def test_readers_that_do_not_read(self):
        mib = cases.size(4, 64)
        name = self.big(mib)
        before = cases.memory(self.daemon.process.pid, "RssAnon")
        clients = [self.new_client() for _ in range(cases.size(70, 200))]
        streams = [c.ReadDocument(database=b"db", resource=name, timeout=600) for c in clients]
        streams += [c.Diff(database=b"db", resource=name, timeout=600, to=case.pb.View(),
                           **{"from": case.pb.View(revision=1)}) for c in clients[:20]]
        for stream in streams:
            next(stream)
        for i in range(20):
            self.apply(self.name, update(self.node(self.name, "/a").node_key, str(i + 5)))
        other = self.big(8)  # Grows the file while they stand.
        self.assertEqual(len(self.text(other)), (8 << 10) * 1003 + 1)
        grown = cases.memory(self.daemon.process.pid, "RssAnon") - before
        cases.check_memory(self, grown, (len(streams) << 20) + (64 << 20))
        for stream in streams[:5]:
            self.assertEqual(len(b"".join(p.data for p in stream)), (mib << 10) * 1003 + 1)
        for stream in streams[5:]:
            stream.cancel()
        self.check_health()

    def test_writers_that_do_not_write(self):
        """Imports that have begun and say nothing more keep no writer of the branch waiting."""
        pb, gate = case.pb, threading.Event()

        def messages(text):
            yield pb.ImportRequest(start=pb.ImportStart(database=b"db", resource=self.name,
                                                        replace=True))
            yield pb.ImportRequest(data=text)
            gate.wait(120)

        clients = [self.new_client() for _ in range(cases.size(70, 300))]
        calls = [c.Import.raw.future(messages(b"[1,2"), timeout=120) for c in clients]
        while self.client.Status().calls_running < len(calls):
            pass
        for i in range(20):
            seconds, _ = cases.timed(self.apply, self.name, update(
                self.node(self.name, "/a").node_key, str(i + 5)))
            self.assertLess(seconds, 5)
        gate.set()
        self.assertEqual({c.exception(60).code().name for c in calls}, {"INVALID_ARGUMENT"})
        self.assertEqual(self.head(self.name), 21)
        self.check_health()

    def test_clients_that_are_killed(self):
        name = self.big(4)
        for _ in range(cases.size(2, 10)):
            children = [subprocess.Popen(
                [sys.executable, "-c", VANISHING, case.ARGS.proto, self.daemon.owner, name.decode(),
                 ":".join(sys.path)], stdout=subprocess.PIPE) for _ in range(2)]
            for child in children:
                self.assertEqual(child.stdout.readline(), b"running\n")
            for child in children:
                child.send_signal(signal.SIGKILL)
                child.wait()
                child.stdout.close()
            self.check_health()
        self.assertEqual(self.json(name)[-5:], ["x" * 1000] * 5)

    def test_a_call_ended_twice_at_once_is_harmless(self):
        pb = case.pb

        def messages(gate):
            yield pb.ApplyStreamRequest(start=pb.ApplyRequest(operations=[pb.Operation(
                update=pb.Update(node_key=1, value=pb.Value(streamed=True)))], **self.place))
            yield pb.ApplyStreamRequest(chunk=pb.ValueChunk(data=b"[1"))
            gate.wait(60)

        for _ in range(cases.size(50, 1000)):
            gate, client = threading.Event(), self.new_client()
            call = client.ApplyStream.raw.future(messages(gate), timeout=60)
            while self.client.Status().calls_running < 2:
                pass
            cases.together([call.cancel, call.cancel, gate.set, client.close, client.close])
            while self.client.Status().calls_running > 1:
                pass
        self.assertEqual(self.head(self.name), 1)
        self.check_health()

    def test_deadlines_of_a_millisecond_on_everything(self):
        pb = case.pb
        text = b"[" + b",".join([b"1"] * 20000) + b"]"
        imports = [pb.ImportRequest(start=pb.ImportStart(replace=True, branch=b"side",
                                                         **self.place)),
                   pb.ImportRequest(data=text)]
        self.client.CreateBranch(name=b"side", **self.place)
        key = self.node(self.name, "/a").node_key
        calls = {
            "ListDatabases": {}, "ListResources": {"database": b"db"}, "GetResource": self.place,
            "ReadNode": self.place, "ReadDocument": self.place, "History": self.place,
            "NodeHistory": dict(self.place, node_key=1), "Diff": self.place,
            "ListSnapshots": self.place, "ListBranches": self.place, "Status": {},
            "Verify": {"database": b"db"}, "Attach": {},
            "CreateSnapshot": dict(self.place, name=b"s", replace=True),
            "DeleteSnapshot": dict(self.place, name=b"s"),
            "CreateBranch": dict(self.place, name=b"b"),
                 "DeleteBranch": dict(self.place, name=b"b"),
            "Promote": dict(self.place, branch=b"b", replace=True),
            "CreateDatabase": {"database": b"brief"}, "DropDatabase": {"database": b"brief"},
            "CreateResource": {"database": b"db", "resource": b"brief"},
            "DropResource": {"database": b"db", "resource": b"brief"},
            "Revert": dict(self.place, branch=b"side", view=pb.View(revision=1)), "Import": None,
                 "Apply": None}
        codes, applied = {}, [0, 0]

        def run(seed):
            rand, client = random.Random(seed), self.new_client()
            for i in range(cases.size(150, 5000)):
                name = rand.choice(list(calls))
                timeout = rand.choice((0.0005, 0.001, 0.002, 0.005))
                if name == "Import":
                    answer, failure = cases.attempt(client.Import, imports, timeout=timeout)
                elif name == "Apply":
                    applied[0] += 1
                    answer, failure = cases.attempt(
                        client.Apply, timeout=timeout, force_revision=True,
                        operations=[update(key, str(i))], **self.place)
                    applied[1] += failure is None
                else:
                    answer, failure = cases.attempt(getattr(client, name), timeout=timeout,
                                                    **calls[name])
                code = (failure[0] if failure else "OK")
                codes[code] = codes.get(code, 0) + 1

        heads = {self.head(self.name)}
        cases.together([lambda seed=seed: run(seed) for seed in range(8)])
        self.assertLessEqual(set(codes), {"OK", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
                                          "FAILED_PRECONDITION", "CANCELLED",
                                          "RESOURCE_EXHAUSTED"}, codes)  # Two checks at once.
        self.assertGreater(codes["DEADLINE_EXCEEDED"], 10)
        self.check_health()
        made = [r for r in self.client.History(page_size=1000, **self.place).revisions
                if r.revision not in heads]
        self.assertTrue(applied[1] <= len(made) + 1, (applied, len(made)))


if __name__ == "__main__":
    cases.main()
