"""Who may do what: tokens, certificates, roles and patterns, at every door and for every call."""
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import grpc

import case
import daemon

ROLES = ("reader", "writer", "operator")

# Every call of the service with the least role that may make it, and a request that gets as far as the
# service. A call without a row fails a test.
CALLS = {
    "ListDatabases": ("reader", {}),
    "CreateDatabase": ("writer", {"database": b"made"}),
    "DropDatabase": ("writer", {"database": b"none"}),
    "ListResources": ("reader", {"database": b"db"}),
    "CreateResource": ("writer", {"database": b"db", "resource": b"made"}),
    "DropResource": ("writer", {"database": b"db", "resource": b"none"}),
    "GetResource": ("reader", {"database": b"db", "resource": b"r"}),
    "ReadNode": ("reader", {"database": b"db", "resource": b"r"}),
    "ReadDocument": ("reader", {"database": b"db", "resource": b"r"}),
    "History": ("reader", {"database": b"db", "resource": b"r"}),
    "NodeHistory": ("reader", {"database": b"db", "resource": b"r", "node_key": 1}),
    "Diff": ("reader", {"database": b"db", "resource": b"r"}),
    "Query": ("reader", {"query": b"1"}),
    "Sql": ("reader", {"sql": b"select 1"}),
    "Apply": ("writer", {"database": b"db", "resource": b"r"}),
    "ApplyStream": ("writer", None),
    "Import": ("writer", None),
    "Revert": ("writer", {"database": b"db", "resource": b"r"}),
    "UpdateQuery": ("writer", {"query": b"1"}),
    "CreateSnapshot": ("writer", {"database": b"db", "resource": b"r", "name": b"label"}),
    "ListSnapshots": ("reader", {"database": b"db", "resource": b"r"}),
    "DeleteSnapshot": ("writer", {"database": b"db", "resource": b"r", "name": b"none"}),
    "CreateBranch": ("writer", {"database": b"db", "resource": b"r", "name": b"side"}),
    "ListBranches": ("reader", {"database": b"db", "resource": b"r"}),
    "DeleteBranch": ("writer", {"database": b"db", "resource": b"r", "name": b"none"}),
    "Promote": ("writer", {"database": b"db", "resource": b"r", "branch": b"none"}),
    "Status": ("reader", {}),
    "Verify": ("reader", {"database": b"db"}),
    "Attach": ("reader", {}),
    "Backup": ("operator", {"database": b"db"}),
    "Restore": ("operator", None),
    "Watch": ("reader", {"database": b"db"}),
    "ReloadPrincipals": ("operator", {}),
    "SetQuota": ("operator", {"database": b"db"}),
}
LASTING = ("Attach", "Watch")


def new_token():
    return secrets.token_urlsafe(32)


def hashed(token):
    return "token=sha256:" + hashlib.sha256(token.encode()).hexdigest()


def openssl(*args, **kwargs):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, **kwargs)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.name = name
        self.pem = self.path(name + ".pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", self.path(name + ".key"), "-out", self.pem, "-days", "2", "-subj",
                "/CN=" + name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, cn, san=None):
        """NAME.pem and NAME.key, signed."""
        key, request, pem = (self.path(name + end) for end in (".key", ".csr", ".pem"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                key, "-out", request, "-subj", "/CN=" + cn)
        extra = []
        if san:
            with open(self.path(name + ".ext"), "w") as file:
                file.write("subjectAltName=" + san)
            extra = ["-extfile", self.path(name + ".ext")]
        openssl("x509", "-req", "-in", request, "-CA", self.pem, "-CAkey",
                self.path(self.name + ".key"), "-CAcreateserial", "-days", "2", "-out",
                pem + ".new", *extra)
        os.rename(pem + ".new", pem)
        return pem, key


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Guarded(unittest.TestCase):
    """A daemon with principals at a loopback port, and clients of it."""

    tls = ()

    @classmethod
    def setUpClass(cls):
        case.load()
        cls.dir = tempfile.mkdtemp(prefix="sirix_pr_")
        cls.file = cls.dir + "/principals"
        cls.tokens = {role: new_token() for role in ROLES}
        cls.write(cls.lines())
        cls.daemon = daemon.Daemon(case.ARGS.storaged, "--principals", cls.file,
                                   *cls.arguments(), folder=cls.dir + "/data")
        cls.owner = daemon.Client(cls.daemon.owner, case.pb)
        cls.owner.CreateDatabase(database=b"db")
        for resource in (b"r", b"other"):
            cls.owner.Import([
                case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=resource)),
                case.pb.ImportRequest(data=b'{"a":1}')])

    @classmethod
    def arguments(cls):
        return ()

    @classmethod
    def lines(cls):
        return ["the-%s %s %s" % (role, role, hashed(token)) for role, token in cls.tokens.items()]

    @classmethod
    def write(cls, lines):
        with open(cls.file + ".new", "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("# who may do what\n\n" + "\n".join(lines) + "\n")
        os.rename(cls.file + ".new", cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.owner.close()
        code = cls.daemon.end()
        log = cls.daemon.log_text()
        shutil.rmtree(cls.dir, True)
        assert code == 0, log[-4000:]
        for token in cls.tokens.values():
            assert token not in log
            assert hashlib.sha256(token.encode()).hexdigest() not in log

    def client(self, token=None, address=None, **options):
        client = daemon.Client(address or self.daemon.tcp, case.pb, token=token, **options)
        self.addCleanup(client.close)
        return client

    def code(self, call, message=None, **fields):
        """(code, reason) of a call; of one that lasts, after its first message."""
        try:
            answer = call(message, **fields) if message is not None else call(**fields)
            if not hasattr(answer, "SerializeToString"):
                for _ in answer:
                    answer.cancel()
                    break
            return "OK", None
        except grpc.RpcError as failure:
            found = daemon.detail(failure, case.error)
            return failure.code().name, found.reason.decode() if found else None


class EveryCall(Guarded):
    def call(self, client, name):
        pb = case.pb
        if name == "ApplyStream":
            return self.code(client.ApplyStream, [pb.ApplyStreamRequest(
                start=pb.ApplyRequest(database=b"db", resource=b"none"))])
        if name == "Import":
            return self.code(client.Import, [pb.ImportRequest(start=pb.ImportStart(
                database=b"db", resource=b"none", existing_only=True))])
        if name == "Restore":
            return self.code(client.Restore, [pb.RestoreRequest(start=pb.RestoreStart(
                database=b"db"))])
        return self.code(getattr(client, name), **CALLS[name][1])

    def test_every_call_has_a_row(self):
        methods = case.pb.DESCRIPTOR.services_by_name["Storage"].methods
        self.assertEqual({m.name for m in methods}, set(CALLS))

    def test_a_role_makes_the_calls_of_its_row_and_no_other(self):
        for role in ROLES:
            client = self.client(self.tokens[role])
            for name, (least, _) in CALLS.items():
                code, reason = self.call(client, name)
                if ROLES.index(role) >= ROLES.index(least):
                    self.assertNotIn(code, ("PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED"),
                                     (role, name))
                else:
                    self.assertEqual((code, reason), (
                        "PERMISSION_DENIED", "read_only" if least == "writer" else "role"),
                        (role, name))

    def test_nobody_makes_no_call(self):
        for token in (None, new_token(), "", "short", "x" * 600, self.tokens["reader"][:-1],
                      self.tokens["reader"] + "x"):
            client = self.client(token)
            for name in CALLS:
                self.assertEqual(self.call(client, name), ("UNAUTHENTICATED", "credentials"),
                                 (token, name))

    def test_a_unix_socket_has_one_role_whatever_is_sent(self):
        for token in (None, self.tokens["operator"], self.tokens["reader"], new_token()):
            owner = self.client(token, self.daemon.owner)
            reader = self.client(token, self.daemon.reader)
            self.assertEqual(owner.Status().role, case.pb.ROLE_OPERATOR)
            self.assertEqual(reader.Status().role, case.pb.ROLE_READER)
            for name, (least, _) in CALLS.items():
                self.assertNotIn(self.call(owner, name)[0],
                                 ("PERMISSION_DENIED", "UNAUTHENTICATED"), name)
                code = self.call(reader, name)[0]
                if least == "reader":
                    self.assertNotIn(code, ("PERMISSION_DENIED", "UNAUTHENTICATED"), name)
                else:
                    self.assertEqual(code, "PERMISSION_DENIED", name)

    def test_other_forms_of_authorization_are_refused(self):
        client = self.client()
        token = self.tokens["reader"]
        for headers in ([("authorization", token)], [("authorization", "Basic " + token)],
                        [("authorization", "Bearer")], [("authorization", "Bearer " + token)] * 2):
            self.assertEqual(self.code(client.Status, metadata=headers),
                             ("UNAUTHENTICATED", "credentials"), headers)
        self.assertEqual(self.code(client.Status, metadata=[("authorization", "bearer " + token)]),
                         ("OK", None))

    def test_health_asks_nobody_who_they_are(self):
        import protos
        health, = protos.load(case.ARGS.proto, "grpc.health.v1.health_pb2")
        channel = self.client().channel
        check = channel.unary_unary("/grpc.health.v1.Health/Check",
                                    health.HealthCheckRequest.SerializeToString,
                                    health.HealthCheckResponse.FromString)
        self.assertEqual(check(health.HealthCheckRequest()).status, 1)

    def test_reflection_asks_who_one_is(self):
        import protos
        reflection, = protos.load(case.ARGS.proto, "grpc.reflection.v1.reflection_pb2")
        for token, wanted in ((None, "UNAUTHENTICATED"), (self.tokens["reader"], "OK")):
            info = self.client().channel.stream_stream(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                reflection.ServerReflectionRequest.SerializeToString,
                reflection.ServerReflectionResponse.FromString)
            metadata = [("authorization", "Bearer " + token)] if token else []
            self.assertEqual(self.code(lambda: info(
                iter([reflection.ServerReflectionRequest(list_services="")]), timeout=30,
                metadata=metadata))[0], wanted)

    def test_the_author_of_a_revision_is_the_principal(self):
        self.client(self.tokens["writer"]).Import([
            case.pb.ImportRequest(start=case.pb.ImportStart(
                database=b"db", resource=b"authored",
                options=case.pb.WriteOptions(on_behalf_of=b"ann"))),
            case.pb.ImportRequest(data=b"1")])
        newest = self.owner.History(database=b"db", resource=b"authored").revisions[0]
        self.assertEqual((newest.author, newest.on_behalf_of, newest.claimed),
                         (b"the-writer", b"ann", True))


class Patterns(Guarded):
    """What is outside of a principal's patterns is not there, and branches outside stay as they are."""

    @classmethod
    def lines(cls):
        cls.tokens = {name: new_token() for name in ("all", "one", "agent", "gateway")}
        return [
            "all writer %s databases=*" % hashed(cls.tokens["all"]),
            "one writer %s databases=db,log-* resources=db/r,log-*/* branches=*"
            % hashed(cls.tokens["one"]),
            "agent writer %s databases=db branches=agent-*" % hashed(cls.tokens["agent"]),
            "gateway writer %s speaks-for-others  # trusted" % hashed(cls.tokens["gateway"]),
        ]

    def test_what_is_outside_is_not_there(self):
        self.owner.CreateDatabase(database=b"hidden")
        one, everything = self.client(self.tokens["one"]), self.client(self.tokens["all"])
        self.assertEqual([d.name for d in one.ListDatabases().databases], [b"db"])
        self.assertEqual([r.name for r in one.ListResources(database=b"db").resources], [b"r"])
        self.assertEqual(one.ListDatabases().databases[0].resource_count, 1)
        self.assertEqual([r.name for r in everything.ListResources(database=b"db").resources],
                         [b"other", b"r"])
        place = {"database": b"db", "resource": b"other"}
        gone = ("NOT_FOUND", "resource_unknown")
        for call, fields in ((one.GetResource, place), (one.ReadNode, place), (one.Diff, place),
                             (one.ReadDocument, place), (one.History, place),
                             (one.Apply, dict(place, operations=[case.replace(1, "{}")])),
                             (one.Revert, dict(place, view=case.pb.View(revision=1))),
                             (one.DropResource, place),
                             (one.ListBranches, place), (one.ListSnapshots, place),
                             (one.Verify, place), (one.CreateResource, place),
                             (one.NodeHistory, dict(place, node_key=1)),
                             (one.CreateSnapshot, dict(place, name=b"s")),
                             (one.DeleteSnapshot, dict(place, name=b"s")),
                             (one.CreateBranch, dict(place, name=b"s")),
                             (one.DeleteBranch, dict(place, name=b"s")),
                             (one.Promote, dict(place, branch=b"s")),
                             (one.Query, dict(place, query=b"$$")),
                             (one.UpdateQuery, dict(place, query=b"$$")),
                             (one.Query, {"query": b"jn:doc('db','other')"})):
            self.assertEqual(self.code(call, **fields), gone, (call, fields))
        for call, fields in ((one.ListResources, {"database": b"hidden"}),
                             (one.DropDatabase, {"database": b"hidden"}),
                             (one.CreateDatabase, {"database": b"mine"}),
                             (one.Verify, {"database": b"hidden"})):
            self.assertEqual(self.code(call, **fields), ("NOT_FOUND", "database_unknown"), fields)
        self.assertEqual(self.code(one.Import, [case.pb.ImportRequest(start=case.pb.ImportStart(
            database=b"db", resource=b"new"))]), gone)
        self.assertEqual(self.code(one.DropDatabase, database=b"db"), ("PERMISSION_DENIED", "role"))
        self.assertEqual(self.code(one.Verify, database=b"db"), ("PERMISSION_DENIED", "role"))
        rows = [row for part in one.Sql(sql=b"select resource from resources") for row in part.rows.rows]
        self.assertEqual([row.values[0].text for row in rows], [b"r"])
        one.CreateDatabase(database=b"log-1")
        one.CreateResource(database=b"log-1", resource=b"anything")
        one.DropDatabase(database=b"log-1")

    def test_the_answer_is_that_for_what_is_not_there(self):
        one = self.client(self.tokens["one"])
        texts = []
        for name in (b"other", b"never"):
            with self.assertRaises(grpc.RpcError) as caught:
                one.GetResource(database=b"db", resource=name)
            texts.append(caught.exception.details().replace(name.decode(), "X"))
        with self.assertRaises(grpc.RpcError) as caught:
            self.owner.GetResource(database=b"db", resource=b"never")
        texts.append(caught.exception.details().replace("never", "X"))
        self.assertEqual(len(set(texts)), 1, texts)
        for call in (lambda name: one.Query(query=b"jn:doc('db','%s')" % name),
                     lambda name: one.Sql(sql=b'select * from db."%s"' % name)):
            texts = []
            for name in (b"other", b"never"):
                with self.assertRaises(grpc.RpcError) as caught:
                    list(call(name))
                texts.append(caught.exception.details().replace(name.decode(), "X")
                             .split("; nearest")[0])
            self.assertEqual(texts[0], texts[1])

    def test_branches_outside_are_read_and_not_changed(self):
        agent = self.client(self.tokens["agent"])
        place = {"database": b"db", "resource": b"r"}
        change = {"operations": [case.replace(1, "{}")]}
        forbidden = ("PERMISSION_DENIED", "branch_forbidden")
        agent.CreateBranch(name=b"agent-1", **place)
        agent.Apply(branch=b"agent-1", **change, **place)
        self.owner.CreateBranch(name=b"people", **place)
        for call, fields in ((agent.Apply, dict(change)), (agent.Apply, dict(change, branch=b"main")),
                             (agent.Apply, dict(change, branch=b"people")),
                             (agent.Revert, {"view": case.pb.View(revision=1)}),
                             (agent.CreateBranch, {"name": b"mine"}),
                             (agent.DeleteBranch, {"name": b"people"}),
                             (agent.CreateSnapshot, {"name": b"main"}),
                             (agent.DeleteSnapshot, {"name": b"main"}),
                             (agent.Promote, {"branch": b"agent-1"}),
                             (agent.UpdateQuery, {"query": b"replace json value of $$.a with 2"}),
                             (agent.DropResource, {})):
            self.assertEqual(self.code(call, **fields, **place), forbidden, (call, fields))
        self.assertEqual(self.code(agent.CreateResource, database=b"db", resource=b"n"), forbidden)
        self.assertEqual(self.code(agent.DropDatabase, database=b"db"), forbidden)
        self.assertEqual(self.code(agent.Import, [
            case.pb.ImportRequest(start=case.pb.ImportStart(database=b"db", resource=b"n")),
            case.pb.ImportRequest(data=b"1")]), forbidden)
        self.assertEqual(self.code(agent.GetResource, database=b"db", resource=b"n"),
                         ("NOT_FOUND", "resource_unknown"))
        agent.CreateSnapshot(name=b"agent-label", **place)
        self.assertEqual(agent.ReadNode(view=case.pb.View(branch=b"people"), **place).revision,
                         self.owner.ReadNode(view=case.pb.View(branch=b"people"), **place).revision)
        agent.DeleteBranch(name=b"agent-1", **place)

    def test_who_is_trusted_speaks_for_others(self):
        self.client(self.tokens["gateway"]).Import([
            case.pb.ImportRequest(start=case.pb.ImportStart(
                database=b"db", resource=b"spoken",
                options=case.pb.WriteOptions(on_behalf_of=b"ann"))),
            case.pb.ImportRequest(data=b"1")])
        newest = self.owner.History(database=b"db", resource=b"spoken").revisions[0]
        self.assertEqual((newest.author, newest.on_behalf_of, newest.claimed),
                         (b"gateway", b"ann", False))
        self.owner.DropResource(database=b"db", resource=b"spoken")


class Reloading(Guarded):
    def again(self, how):
        if how == "call":
            return self.client(self.tokens["operator"]).ReloadPrincipals().principals
        count = self.daemon.log_text().count("the principals were read again")
        self.daemon.process.send_signal(signal.SIGHUP)
        self.until(lambda: self.daemon.log_text().count("the principals were read again") > count)
        return None

    def until(self, holds):
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.01)
        self.fail("it did not come to pass")

    def test_a_token_is_replaced_while_both_are_good(self):
        first, second = self.tokens["reader"], new_token()
        for how in ("call", "signal"):
            rest = self.lines()[1:]
            both = "the-reader reader %s %s" % (hashed(first), hashed(second))
            self.write([both] + rest)
            self.assertIn(self.again(how), (3, None))
            for token in (first, second):
                self.assertEqual(self.client(token).Status().principal, b"the-reader")
            self.write(["the-reader reader " + hashed(second)] + rest)
            self.again(how)
            self.assertEqual(self.code(self.client(first).Status)[0], "UNAUTHENTICATED")
            self.assertEqual(self.client(second).Status().principal, b"the-reader")
            first, second = second, new_token()
        self.tokens["reader"] = first

    def test_a_role_that_changed_is_in_force_at_the_next_call(self):
        client = self.client(self.tokens["writer"])
        client.CreateSnapshot(database=b"db", resource=b"r", name=b"before")
        lines = self.lines()
        lines[1] = "the-writer reader " + hashed(self.tokens["writer"])
        self.write(lines)
        self.again("call")
        self.assertEqual(self.code(client.CreateSnapshot, database=b"db", resource=b"r",
                                   name=b"after"), ("PERMISSION_DENIED", "read_only"))
        self.write(self.lines())
        self.again("call")

    def test_a_watch_ends_so_that_it_is_asked_for_again(self):
        client = self.client(self.tokens["reader"])
        stream = client.Watch(database=b"db", timeout=60)
        self.assertTrue(next(stream).HasField("start"))
        owner = self.owner.Watch(database=b"db", timeout=60)
        self.assertTrue(next(owner).HasField("start"))
        self.again("call")
        self.assertEqual(self.code(lambda: stream), ("UNAVAILABLE", "credentials"))
        self.owner.CreateResource(database=b"db", resource=b"watched")
        self.assertEqual(next(owner).events.events[0].resource, b"watched")
        owner.cancel()

    def test_a_wrong_file_changes_nothing(self):
        good = self.tokens["reader"]
        secret = new_token()
        for line, word in (("x reader token=" + secret, "64 hex digits"),
                           ("x reader", "a token or a certificate"),
                           ("x boss " + hashed(good), "operator"), ("x", "operator"),
                           ("owner reader " + hashed(secret), "server's own"),
                           ("a/b reader " + hashed(secret), "letters"),
                           ("x reader databases=a/b " + hashed(secret), "patterns"),
                           ("x reader resources= " + hashed(secret), "patterns"),
                           ("x reader " + hashed(good), "same token"),
                           ("the-writer reader " + hashed(secret), "of that name"),
                           ("x reader certificate=ip:1.2.3.4", "certificate=dns"),
                           ("x reader %s %s %s" % (hashed(secret), hashed(secret + "1"),
                                                   hashed(secret + "2")), "two tokens"),
                           ("x reader token " + hashed(secret), "none of")):
            self.write(self.lines() + [line])
            with self.assertRaises(grpc.RpcError) as caught:
                self.again("call")
            text = caught.exception.details()
            self.assertIn("line 6", text)
            self.assertIn(word, text)
            self.assertNotIn(secret, text)
            self.assertEqual(self.client(good).Status().role, case.pb.ROLE_READER)
        self.write(self.lines())
        os.chmod(self.file, 0o622)
        self.assertEqual(self.code(self.client(self.tokens["operator"]).ReloadPrincipals)[0],
                         "FAILED_PRECONDITION")
        self.write(self.lines())
        self.assertEqual(self.again("call"), 3)

    def test_a_daemon_without_principals_says_so_and_survives_a_hangup(self):
        one = daemon.Daemon(case.ARGS.storaged)
        client = self.client(address=one.owner)
        self.assertEqual(self.code(client.ReloadPrincipals)[0], "FAILED_PRECONDITION")
        one.process.send_signal(signal.SIGHUP)
        self.assertEqual(client.Status().role, case.pb.ROLE_OPERATOR)
        self.assertEqual(one.close(), 0)


class Tls(Guarded):
    @classmethod
    def arguments(cls):
        cls.ca = Authority(cls.dir)
        cls.ca.issue("server", "storaged", "DNS:localhost,IP:127.0.0.1")
        return ("--tls-cert", cls.dir + "/server.pem", "--tls-key", cls.dir + "/server.key")

    def secure(self, token=None, roots=None, options=(), pair=(None, None)):
        credentials = grpc.ssl_channel_credentials(roots or read(self.ca.pem), pair[1], pair[0])
        return self.client(token, "localhost:%d" % self.daemon.port, credentials=credentials,
                           options=options)

    def test_a_token_goes_over_tls_and_nothing_goes_without(self):
        self.assertEqual(self.secure(self.tokens["writer"]).Status().principal, b"the-writer")
        self.assertEqual(self.code(self.secure().Status)[0], "UNAUTHENTICATED")
        plain = self.client(self.tokens["writer"])
        self.assertEqual(self.code(plain.Status, timeout=10)[0], "UNAVAILABLE")
        other = Authority(self.dir, "other")
        self.assertEqual(self.code(self.secure(self.tokens["writer"], read(other.pem)).Status,
                                   timeout=10)[0], "UNAVAILABLE")

    def serial(self):
        """The serial number of the certificate that the server shows."""
        shown = subprocess.run(
            ["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.daemon.port, "-alpn", "h2"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return subprocess.run(["openssl", "x509", "-noout", "-serial"], input=shown,
                              stdout=subprocess.PIPE, check=True).stdout

    def test_a_new_certificate_is_shown_at_the_next_handshake_and_a_broken_one_is_not(self):
        first = self.serial()
        self.ca.issue("server", "storaged", "DNS:localhost,IP:127.0.0.1")
        second = self.serial()
        self.assertNotEqual(first, second)
        good = read(self.dir + "/server.pem")
        for broken in (b"", b"nonsense", read(self.ca.pem), good[:len(good) // 2]):
            with open(self.dir + "/server.pem", "wb") as file:
                file.write(broken)
            self.assertEqual(self.serial(), second)
            self.assertEqual(self.secure(self.tokens["reader"]).Status().principal, b"the-reader")
        self.assertIn("the certificates stay as they were", self.daemon.log_text())
        os.unlink(self.dir + "/server.pem")
        self.assertEqual(self.serial(), second)
        self.ca.issue("server", "storaged", "DNS:localhost,IP:127.0.0.1")
        self.assertNotEqual(self.serial(), second)
        self.assertIn("the certificates were read again", self.daemon.log_text())

    def test_old_versions_of_tls_are_refused(self):
        for version, works in (("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
            result = subprocess.run(
                ["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.daemon.port, version,
                 "-cipher", "DEFAULT:@SECLEVEL=0", "-alpn", "h2"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(b"ALPN protocol: h2" in result.stdout, works, version)


class MutualTls(Tls):
    @classmethod
    def arguments(cls):
        arguments = super().arguments()
        for name, cn, san in (("ci", "nobody", "DNS:ci.example.org"),
                              ("spiffe", "nobody", "URI:spiffe://example.org/backup"),
                              ("plain", "old-style", None),
                              ("trap", "old-style", "DNS:stranger.example.org"),
                              ("stranger", "stranger", None)):
            cls.ca.issue(name, cn, san)
        return arguments + ("--tls-client-ca", cls.ca.pem)

    @classmethod
    def lines(cls):
        return super().lines() + [
            "ci writer certificate=dns:ci.example.org",
            "backup reader certificate=uri:spiffe://example.org/backup",
            "old operator certificate=cn:old-style"]

    def pair(self, name):
        return read(self.ca.path(name + ".pem")), read(self.ca.path(name + ".key"))

    def secure(self, token=None, roots=None, options=(), pair=None):
        return super().secure(token, roots, options, pair or self.pair("stranger"))

    def serial(self):
        self.skipTest("the same as without certificates of clients")

    test_old_versions_of_tls_are_refused = None

    def test_the_name_in_a_certificate_is_a_principal(self):
        for name, principal, role in (("ci", b"ci", "ROLE_WRITER"),
                                      ("spiffe", b"backup", "ROLE_READER"),
                                      ("plain", b"old", "ROLE_OPERATOR")):
            status = self.secure(pair=self.pair(name)).Status()
            self.assertEqual((status.principal, status.role),
                             (principal, getattr(case.pb, role)))
        for name in ("stranger", "trap"):
            self.assertEqual(self.code(self.secure(pair=self.pair(name)).Status),
                             ("UNAUTHENTICATED", "credentials"), name)

    def test_a_token_counts_more_than_a_certificate(self):
        status = self.secure(self.tokens["reader"], pair=self.pair("plain")).Status()
        self.assertEqual(status.principal, b"the-reader")
        self.assertEqual(self.code(self.secure(new_token(), pair=self.pair("plain")).Status)[0],
                         "UNAUTHENTICATED")

    def test_without_a_certificate_of_the_authority_there_is_no_connection(self):
        other = Authority(self.dir, "foreign")
        pem, key = other.issue("forged", "old-style")
        for pair in ((None, None), (read(pem), read(key))):
            credentials = grpc.ssl_channel_credentials(read(self.ca.pem), pair[1], pair[0])
            client = self.client(self.tokens["operator"], "localhost:%d" % self.daemon.port,
                                 credentials=credentials)
            self.assertEqual(self.code(client.Status, timeout=10)[0], "UNAVAILABLE")


class Starting(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix_ps_")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def check(self, *args):
        return subprocess.run([case.ARGS.storaged, "--data", self.dir + "/d", *args,
                               "--check-config"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)

    def test_what_it_would_not_start_with_is_told_by_the_check(self):
        ca = Authority(self.dir)
        pem, key = ca.issue("server", "storaged", "DNS:localhost")
        _, other = ca.issue("other", "storaged")
        with open(self.dir + "/good", "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("a reader token=sha256:" + "0" * 64 + "\n")
        with open(self.dir + "/bad", "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("a reader\n")
        everywhere = ("--listen", "0.0.0.0:0")
        tls = ("--tls-cert", pem, "--tls-key", key)
        principals = ("--principals", self.dir + "/good")
        for args, word in ((everywhere, "--insecure"), (everywhere + tls, "--insecure"),
                           (everywhere + principals, "--insecure"),
                           (("--principals", self.dir + "/none"), "none"),
                           (("--principals", self.dir + "/bad"), "line 1"),
                           (("--tls-cert", pem, "--tls-key", other), "not that of"),
                           (("--tls-cert", key, "--tls-key", key), "no certificate"),
                           (("--tls-cert", pem, "--tls-key", pem), "no private key"),
                           (tls + ("--tls-client-ca", key), "no certificate")):
            result = self.check(*args)
            self.assertNotEqual(result.returncode, 0, args)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
        for args in (everywhere + tls + principals, everywhere + ("--insecure",)):
            result = self.check(*args)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(os.path.exists(self.dir + "/d"))


if __name__ == "__main__":
    case.main()
