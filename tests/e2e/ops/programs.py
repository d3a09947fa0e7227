"""What the tests of an operator's commands share: a storaged of the test's own, and sirixctl against it.

Each test program is given SIRIXCTL STORAGED [unittest arguments].
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

LIMIT_S = 120
SIRIXCTL = STORAGED = ""


class Server:
    """A storaged over a folder."""

    def __init__(self, folder, *args):
        self.folder = folder
        ready, write = os.pipe()
        with open(folder + ".log", "ab") as log:
            self.process = subprocess.Popen([STORAGED, "--data", folder, "--ready-fd", str(write),
                                             *args], stderr=log, pass_fds=(write,))
        os.close(write)
        word = os.read(ready, 64)
        os.close(ready)
        if word != b"ready\n":
            raise AssertionError("storaged did not get ready: " + self.log())
        self.address = "unix:" + folder + "/storaged.sock"
        self.reader = "unix:" + folder + "/reader.sock"

    def log(self):
        with open(self.folder + ".log", encoding="utf-8") as log:
            return log.read()[-4000:]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(LIMIT_S)


class Case(unittest.TestCase):
    """Each test has a folder and may start servers in it."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix_ops_")
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            server.end(signal.SIGKILL)
        shutil.rmtree(self.dir, True)

    def start(self, name="data", *args):
        server = Server(os.path.join(self.dir, name), *args)
        self.servers.append(server)
        return server

    def ctl(self, server, *args, code=0, stdin=b""):
        """Runs a command against a server (or its address); (stdout, stderr)."""
        address = server if isinstance(server, str) else server.address
        done = subprocess.run([SIRIXCTL, *args, "--storage", address], input=stdin,
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, (args, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout, done.stderr

    def ask(self, server, *args, **more):
        return json.loads(self.ctl(server, *args, "--json", **more)[0])

    def error(self, server, *args, code):
        return json.loads(self.ctl(server, *args, "--json", code=code)[1])["error"]


def main():
    global SIRIXCTL, STORAGED
    SIRIXCTL, STORAGED = sys.argv[1:3]
    unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
