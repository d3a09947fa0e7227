#!/usr/bin/python3
"""sirixctl principal, and how sirixctl shows who it is: tokens and certificates.

    test_principals.py SIRIXCTL STORAGED [unittest arguments]
"""
import hashlib
import json
import os
import re
import stat
import subprocess

import ctl


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Server(ctl.Folder):
    """A storaged at a port, asked by programs that have its address alone."""

    def setUp(self):
        super().setUp()
        self.principals = os.path.join(self.dir, "principals")
        self.process = None
        self.port = None

    def tearDown(self):
        if self.process is not None:
            self.process.terminate()
            self.assertEqual(self.process.wait(ctl.LIMIT_S), 0)
        super().tearDown()

    def start(self, *args):
        ready, write = os.pipe()
        log = os.path.join(self.dir, "log")
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [ctl.Programs.storaged, "--data", self.data, "--principals", self.principals,
                 "--listen", "127.0.0.1:0", "--ready-fd", str(write), *args], stderr=out,
                pass_fds=(write,))
        os.close(write)
        self.assertEqual(os.read(ready, 64), b"ready\n")
        os.close(ready)
        with open(log) as lines:
            self.port = [line["port"] for line in map(json.loads, lines)
                         if line["msg"] == "listening" and line["port"]][0]

    def flags(self):
        return []

    def principal(self, *args, **more):
        return self.run_ctl("principal", *args, **more)[0]

    def text(self):
        with open(self.principals) as file:
            return file.read()

    def token_file(self, token, name="token"):
        return self.file(name, token)

    def at(self, *args, code=0, env=None):
        return self.run_ctl(*args, "--storage", "127.0.0.1:%d" % self.port, code=code, env=env)

    def test_the_file_has_hashes_and_the_token_is_shown_once(self):
        token = self.principal("add", self.principals, "ci", "writer", "--databases", "shop,log-*",
                               "--branches", "ci-*").strip()
        self.assertRegex(token, r"^sirix_[0-9a-f]{64}$")
        self.assertEqual(stat.S_IMODE(os.stat(self.principals).st_mode), 0o600)
        with open(self.principals) as file:
            text = file.read()
        self.assertNotIn(token, text)
        self.assertEqual(text, "ci writer databases=shop,log-* branches=ci-* token=sha256:%s\n"
                         % hashlib.sha256(token.encode()).hexdigest())
        self.assertEqual(self.principal("list", self.principals),
                         "ci writer databases=shop,log-* branches=ci-*  (1 token)\n")
        self.principal("add", self.principals, "backup", "operator", "--certificate", "dns:b",
                       "--speaks-for-others")
        self.assertEqual(json.loads(self.principal("list", self.principals, "--json")), {
            "principals": [
                {"name": "ci", "role": "writer", "tokens": 1,
                 "rest": "databases=shop,log-* branches=ci-*"},
                {"name": "backup", "role": "operator", "tokens": 0,
                 "rest": "certificate=dns:b speaks-for-others"}]})
        self.start()
        self.principal("remove", self.principals, "ci")
        self.assertNotIn("ci", self.principal("list", self.principals))

    def test_an_empty_file_is_filled(self):
        self.file("principals", "")
        self.principal("add", self.principals, "a", "reader")
        self.assertRegex(self.text(), r"^a reader token=sha256:[0-9a-f]{64}\n$")

    def test_what_is_wrong_changes_nothing(self):
        with open(self.principals, "w") as file:
            file.write("# ours\n\n a  reader token=sha256:%s # old\nab reader" % ("0" * 64))
        os.chmod(self.principals, 0o640)
        before = self.text()
        for args, code in ((("add", self.principals, "a", "reader"), 73),
                           (("add", self.principals, "b", "boss"), 64),
                           (("add", self.principals, "b c", "reader"), 64),
                           (("add", self.principals, "b", "reader", "--databases", "x #"), 64),
                           (("rotate", self.principals, "c"), 66),
                           (("remove", self.principals, "c"), 66),
                           (("list", self.principals + ".none"), 66)):
            out = self.principal(*args, code=code)
            self.assertEqual(out, "", args)
            self.assertEqual(self.text(), before)
        self.principal("rotate", self.principals, "a")
        text = self.text()
        self.assertRegex(text, r"^# ours\n\na reader token=sha256:0{64} token=sha256:[0-9a-f]{64}\n"
                               r"ab reader\n$")
        self.assertEqual(stat.S_IMODE(os.stat(self.principals).st_mode), 0o640)
        with open(self.principals + ".new", "w"):
            pass
        self.principal("remove", self.principals, "a", code=74)
        self.assertEqual(self.principal("rotate", self.principals, "a", code=74), "")
        self.assertEqual(self.text(), text)

    def test_a_token_is_replaced_while_a_client_goes_on(self):
        root = self.token_file(self.principal("add", self.principals, "root", "operator"), "root")
        first = self.token_file(self.principal("add", self.principals, "ci", "writer"))
        self.start()
        self.at("create", "db", "--token-file", first)
        env = dict(os.environ, SIRIX_TOKEN_FILE=first)
        status = json.loads(self.at("status", "--json", env=env)[0])
        self.assertEqual((status["principal"], status["role"]), ("ci", "writer"))
        second = self.token_file(self.principal("rotate", self.principals, "ci"), "second")
        self.at("status", "--token-file", second, code=77)
        self.assertEqual(self.at("principal", "reload", "--token-file", root)[0], "2 principals\n")
        for file in (first, second):
            self.at("status", "--token-file", file)
        self.principal("rotate", self.principals, "ci", "--finish")
        self.at("principal", "reload", "--token-file", root)
        self.at("status", "--token-file", first, code=77)
        self.at("status", "--token-file", second)
        self.at("principal", "reload", "--token-file", second, code=77)

    def test_who_shows_nothing_is_told_what_to_show(self):
        self.principal("add", self.principals, "ci", "writer")
        self.start()
        self.assertIn("token", self.at("status", code=77)[1])
        self.assertEqual(json.loads(self.at("status", "--json", code=77)[1])["error"]["reason"],
                         "credentials")
        for text in ("", "short", "two words " * 4 + "é", "x" * 600):
            error = self.at("status", "--token-file", self.file("bad", text), code=65)[1]
            self.assertNotIn("two words", error)
        self.at("status", "--token-file", self.dir + "/none", code=74)
        self.run_ctl("status", "--data", self.data, "--token-file", "x", code=64)

    def test_a_token_is_sent_in_the_clear_to_this_machine_alone(self):
        token = self.token_file("x" * 40)
        for address in ("192.0.2.1:1", "example.org:1", "127.0.0.1.nip.io:1"):
            out, err = self.run_ctl("status", "--storage", address, "--token-file", token, code=65)
            self.assertIn("TLS", err)
        for args in (("--tls-cert", "x"), ("--tls-key", "x"), ("--tls-cert", "x", "--tls-key", "y"),
                     ("--tls-ca", token)):
            self.run_ctl("status", "--storage", "127.0.0.1:1", *args, code=65)
        self.run_ctl("status", "--storage", "unix:" + self.dir + "/s", "--tls-ca", "system", code=65)

    def test_tls_with_a_token_and_with_a_certificate(self):
        def path(name):
            return os.path.join(self.dir, name)

        def issue(name, san):
            openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", path(name + ".key"), "-out", path(name + ".csr"), "-subj",
                    "/CN=" + name)
            openssl("x509", "-req", "-in", path(name + ".csr"), "-CA", path("ca.pem"), "-CAkey",
                    path("ca.key"), "-CAcreateserial", "-days", "2", "-out", path(name + ".pem"),
                    "-extfile", self.file(name + ".ext", "subjectAltName=" + san))

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", path("ca.key"), "-out", path("ca.pem"), "-days", "2", "-subj", "/CN=ca")
        issue("server", "IP:127.0.0.1")
        issue("client", "DNS:client.example.org")
        token = self.token_file(self.principal("add", self.principals, "ci", "writer"))
        self.principal("add", self.principals, "machine", "reader", "--certificate",
                       "dns:client.example.org")
        self.start("--tls-cert", path("server.pem"), "--tls-key", path("server.key"),
                   "--tls-client-ca", path("ca.pem"))
        pair = ("--tls-ca", path("ca.pem"), "--tls-cert", path("client.pem"), "--tls-key",
                path("client.key"))

        def who(*args):
            return json.loads(self.at("status", "--json", *args)[0])["principal"]

        self.assertEqual(who(*pair), "machine")
        self.assertEqual(who(*pair, "--token-file", token), "ci")
        self.at("create", "db", *pair, code=77)
        self.at("status", "--tls-ca", path("ca.pem"), "--timeout", "2", code=69)
        self.at("status", "--timeout", "2", code=69)
        with open(path("log")) as log:
            self.assertFalse(re.search(r"sirix_[0-9a-f]{8}", log.read()))


if __name__ == "__main__":
    ctl.main()
