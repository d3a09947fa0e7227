#!/usr/bin/python3
"""The clients of docs/examples do what docs/clients.md says: C, Python and Node, by .proto and by reflection.

    test_examples.py BUILD_DIR [unittest arguments]
"""
import fcntl
import filecmp
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
PROTO = os.path.join(ROOT, "proto")
BUILD = ""
LIMIT_S = 120
SAID = """revision 1: import
revision 2: birthday
text of 1: [{"name":"Ann","age":31}]
query: 32
error: not_found database_unknown
"""


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)


def cache(pattern):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(pattern, file.read(), re.M)
    return found.group(1) if found else ""


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="sirix_examples_")
        ready, write = os.pipe()
        cls.log = open(cls.dir + "/log", "w+b")
        cls.server = subprocess.Popen(
            [os.path.join(BUILD, "bin", "storaged"), "--data", cls.dir + "/data", "--listen",
             "127.0.0.1:0", "--ready-fd", str(write)], stderr=cls.log, pass_fds=(write,))
        os.close(write)
        word = os.read(ready, 64)
        os.close(ready)
        assert word == b"ready\n", word
        with open(cls.dir + "/log", encoding="utf-8") as log:
            port = re.search(r'"address":"127.0.0.1:0","port":(\d+)', log.read()).group(1)
        cls.tcp = "127.0.0.1:" + port
        cls.unix = "unix:" + cls.dir + "/data/storaged.sock"
        with open(os.path.join(PROTO, "sirix/storage/v1/storage.proto"), encoding="utf-8") as file:
            cls.calls = len(re.findall(r"^  rpc ", file.read(), re.M))

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        code = cls.server.wait(LIMIT_S)
        cls.log.close()
        shutil.rmtree(cls.dir)
        assert code == 0, code

    def says(self, text, *args, **more):
        done = run(*args, **more)
        self.assertEqual((done.stdout, done.returncode), (text, 0), done.stderr)

    def drop(self, name):
        done = run(os.path.join(BUILD, "bin", "sirixctl"), "drop", name, "--yes", "--storage", self.unix)
        self.assertEqual(done.returncode, 0, done.stderr)

    # --- Python --------------------------------------------------------------------------------------

    def test_python_by_proto(self):
        program = os.path.join(EXAMPLES, "python", "by_proto.py")
        self.says(SAID, "/usr/bin/python3", program, self.tcp, PROTO)
        self.drop("python")
        self.says(SAID, "/usr/bin/python3", program, self.unix, PROTO)

    def test_python_by_reflection(self):
        program = os.path.join(EXAMPLES, "python", "by_reflection.py")
        said = "calls: %d\nprincipal: owner\n" % self.calls
        self.says(said, "/usr/bin/python3", program, self.tcp)
        self.says(said, "/usr/bin/python3", program, self.unix)

    # --- Node ----------------------------------------------------------------------------------------

    def node(self):
        """The packages of the examples' lock, once; two builds may ask at once."""
        folder, here = os.path.join(BUILD, "npm-examples"), os.path.join(EXAMPLES, "node")
        lock, done = os.path.join(here, "package-lock.json"), os.path.join(folder, "installed")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, ".lock"), "w", encoding="utf-8") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            if not (os.path.exists(done) and filecmp.cmp(lock, done, False)):
                for name in ("package.json", "package-lock.json"):
                    shutil.copy(os.path.join(here, name), folder)
                made = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                           "--loglevel=error", cwd=folder)
                self.assertEqual(made.returncode, 0, made.stderr)
                shutil.copy(lock, done)
        return {**os.environ, "NODE_PATH": os.path.join(folder, "node_modules")}

    def test_node_by_proto(self):
        self.says(SAID, "node", os.path.join(EXAMPLES, "node", "by_proto.js"), self.tcp, PROTO,
                  env=self.node())
        self.drop("node")
        self.says(SAID, "node", os.path.join(EXAMPLES, "node", "by_proto.js"), self.unix, PROTO,
                  env=self.node())

    def test_node_by_reflection(self):
        self.says("calls: %d\nprincipal: owner\n" % self.calls, "node",
                  os.path.join(EXAMPLES, "node", "by_reflection.js"), self.tcp, env=self.node())

    # --- C -------------------------------------------------------------------------------------------

    def test_c_with_the_installed_library(self):
        prefix = os.path.join(self.dir, "prefix")
        made = run("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertEqual(made.returncode, 0, made.stderr)
        found = [f for f, _, files in os.walk(prefix) if "sirix.pc" in files]
        env = {**os.environ, "PKG_CONFIG_PATH": found[0]}
        flags = run("pkg-config", "--cflags", "--libs", "sirix", env=env).stdout.split()
        libdir = run("pkg-config", "--variable=libdir", "sirix", env=env).stdout.strip()
        sanitizers = cache(r"^SIRIX_SANITIZE:\w+=(.+)$")
        compiler = ["clang-14", "-fsanitize=" + sanitizers] if sanitizers else ["gcc"]
        program = os.path.join(self.dir, "users")
        made = run(*compiler, "-Wall", "-Wextra", "-Werror", os.path.join(EXAMPLES, "c", "users.c"),
                   *flags, "-Wl,-rpath," + libdir, "-o", program)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.says(SAID, program, self.tcp)
        self.drop("c")
        self.says(SAID, program, self.unix)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
