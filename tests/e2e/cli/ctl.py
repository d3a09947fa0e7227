"""What the tests of sirixctl share: a data folder for each test, and ways to run the program there.

Each test program is given SIRIXCTL STORAGED [unittest arguments].
"""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

LIMIT_S = 60

# A program on a terminal starts with few variables, but a sanitizer's build needs its own.
SANITIZERS = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}


class Programs:
    sirixctl = ""
    storaged = ""


class Folder(unittest.TestCase):
    """Each test has a data folder of its own."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix cli ")
        self.data = os.path.join(self.dir, "data")

    def tearDown(self):
        pid = self.daemon()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.wait_for_end(pid)
        shutil.rmtree(self.dir)

    # --- Helpers ------------------------------------------------------------------------------

    def flags(self):
        return ["--data", self.data, "--storaged", Programs.storaged]

    def run_ctl(self, *args, code=0, stdin=b"", env=None):
        """Runs a command and checks its exit code; stdout and stderr as text."""
        done = subprocess.run([Programs.sirixctl, *args, *self.flags()], input=stdin, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done.stdout.decode(), done.stderr.decode()

    def ask(self, *args, **more):
        return json.loads(self.run_ctl(*args, "--json", **more)[0])

    def error(self, *args, code, **more):
        return json.loads(self.run_ctl(*args, "--json", code=code, **more)[1])["error"]

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return path

    def load(self, value, name="db/res"):
        return self.ask("import", name, "-", stdin=json.dumps(value).encode())

    def export(self, name="db/res", *args):
        return json.loads(self.run_ctl("export", name, *args)[0])

    def daemon(self):
        """The daemon of the folder, if it lives: what wrote the log last."""
        log = os.path.join(self.data, "storaged.log")
        if not os.path.exists(log):
            return None
        with open(log) as lines:
            pids = [json.loads(line)["pid"] for line in lines if '"msg":"serving"' in line]
        if not pids:
            return None
        try:
            fd = os.pidfd_open(pids[-1])
        except ProcessLookupError:
            return None
        ended = select.select([fd], [], [], 0)[0]
        os.close(fd)
        return None if ended else pids[-1]

    def wait_for_end(self, pid):
        """It is no child of ours; whoever has to reap it may take a while, which is not our matter."""
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended = select.select([fd], [], [], LIMIT_S)[0]
        os.close(fd)
        self.assertTrue(ended, "the daemon lives on")

    def on_terminal(self, *args, env=None):
        """Runs a command on a terminal and returns all that it wrote there."""
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(Programs.sirixctl, [Programs.sirixctl, *args, *self.flags()],
                      {"TERM": "xterm", "PATH": "/usr/bin:/bin", **SANITIZERS, **(env or {})})
        seen = b""
        while True:
            ready, _, _ = select.select([fd], [], [], LIMIT_S)
            self.assertTrue(ready, "nothing comes any more")
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        return seen.decode(), os.waitstatus_to_exitcode(status)


def main():
    Programs.sirixctl, Programs.storaged = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
