#!/usr/bin/python3
"""The examples of settings are taken by the programs, the units by systemd, the images' packages by Debian.

    test_files.py BUILD_DIR [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
BUILD = ""


def program(name):
    return os.path.join(BUILD, "bin", name)


def read(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as file:
        return file.read()


class Configurations(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix_deploy_")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def place(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def moved(self, text):
        """With the folders of the system moved to the test's."""
        return text.replace("/etc/sirix", self.dir + "/etc").replace("/var/lib/sirix",
                                                                    self.dir + "/data")

    def check(self, name, *args, code=0):
        done = subprocess.run([program(name), *args, "--check-config"], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_every_example_of_storaged_is_taken(self):
        self.place("etc/principals", read("config", "principals"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", "tls.key", "-out", "tls.crt",
                        "-days", "2", "-subj", "/CN=x"], check=True, capture_output=True,
                       cwd=self.dir)
        for name in ("tls.key", "tls.crt"):
            with open(os.path.join(self.dir, name), encoding="utf-8") as file:
                text = file.read()
            self.place("etc/tls/" + name, text)
            self.place("etc/tls/ca.crt", text)  # The last one written is the certificate.
        names = [n for n in os.listdir(os.path.join(DEPLOY, "config")) if n.endswith(".conf")]
        self.assertGreaterEqual(len(names), 2)
        for name in names:
            with self.subTest(name):
                text = read("config", name)
                path = self.place("etc/" + name, self.moved(text))
                out = self.check("storaged", "--config", path)
                for key, value in re.findall(r"^([a-z-]+) = (.*)$", self.moved(text), re.M):
                    self.assertIn("--%s %s\n" % (key, value), out)

    def test_the_command_line_counts_more_than_the_file(self):
        path = self.place("c", "data = %s/d\nworkers = 3\nlisten = localhost:1\n# x\n\ninsecure = no\n"
                          % self.dir)
        out = self.check("storaged", "--config", path, "--workers", "5", "--listen", "localhost:2")
        self.assertIn("--workers 5\n", out)
        self.assertIn("--listen localhost:2\n", out)
        self.assertNotIn("localhost:1", out)
        self.assertIn("--insecure no\n", out)

    def test_a_mistake_in_a_file_is_told_with_its_line(self):
        for text, word in (("data = d\nwrokers = 3\n", "line 2: unknown setting wrokers"),
                           ("data = d\nworkers = many\n", "line 2: --workers many"),
                           ("data = d\ndata = e\n", "line 2: data is given twice"),
                           ("data\n", "line 1: no NAME = VALUE"), ("insecure = maybe\n", "yes or no"),
                           ("version = 1\n", "unknown setting"), ("config = x\n", "unknown setting"),
                           ("#" * 70000, "more than"), ("data = a\0b\n", "no text")):
            with self.subTest(text[:20]):
                path = self.place("c", text)
                self.assertIn(word, self.check("storaged", "--config", path, code=2))
        self.assertIn("No such file", self.check("storaged", "--config", self.dir + "/none", code=2))

    def test_the_example_of_the_gateway_is_taken(self):
        path = self.place("etc/sirix-mcp.json", self.moved(read("config", "sirix-mcp.json")))
        out = self.check("sirix-mcp", "--config", path)
        self.assertIn('"127.0.0.1:8760"', out)

    def test_the_example_of_a_gateway_between_machines_is_taken(self):
        self.place("etc/callers", '{"name":"a","role":"reader","tokenSha256":"%s"}\n' % ("a" * 64))
        self.place("etc/state.key", "ab" * 32 + "\n")
        text = self.moved(read("config", "sirix-mcp-network.json"))
        out = self.check("sirix-mcp", "--config", self.place("etc/sirix-mcp.json", text))
        given, found = json.loads(text)["server"], json.loads(out)["server"]
        self.assertEqual({key: found[key] for key in given}, given)
        for key in ("tokenFile", "tlsCa", "tlsCert", "tlsKey"):
            self.assertIn(key, given)


class Units(unittest.TestCase):
    UNITS = ("storaged.service", "sirix-mcp.service")

    def setUp(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze on this machine: units are not tested")
        self.dir = tempfile.mkdtemp(prefix="sirix_units_")
        for name in self.UNITS:
            text = read("systemd", name).replace("/usr/bin/", os.path.join(BUILD, "bin") + "/")
            with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
                file.write(text.replace("User=sirix", "User=root").replace("Group=sirix", "Group=root"))

    def tearDown(self):
        shutil.rmtree(self.dir)

    def test_systemd_understands_every_line(self):
        for name in self.UNITS:
            done = subprocess.run(["systemd-analyze", "verify", "--man=no",
                                   os.path.join(self.dir, name)], capture_output=True, text=True,
                                  timeout=60, check=False)
            lines = [line for line in done.stderr.splitlines() if name in line]
            self.assertEqual(lines, [])

    def test_a_service_is_locked_in(self):
        for name in self.UNITS:
            done = subprocess.run(["systemd-analyze", "security", "--offline=true",
                                   os.path.join(DEPLOY, "systemd", name)], capture_output=True,
                                  text=True, timeout=60, check=False)
            found = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
            self.assertTrue(found, done.stderr)
            self.assertLessEqual(float(found.group(1)), 1.5)

    def test_the_time_to_stop_is_longer_than_the_grace(self):
        stop = int(re.search(r"TimeoutStopSec=(\d+)", read("systemd", "storaged.service")).group(1))
        for name in ("storaged.conf", "storaged-network.conf"):
            grace = int(re.search(r"^grace = (\d+)", read("config", name), re.M).group(1))
            self.assertGreater(stop * 1000, grace + 10000)


class Images(unittest.TestCase):
    """No image can be built here: what is said in the Dockerfile is looked at, and not tried."""

    def test_no_image_runs_as_root_or_needs_to_write(self):
        text = read("docker", "Dockerfile")
        for stage in re.split(r"^FROM ", text, flags=re.M)[-2:]:
            self.assertIn("\nUSER 10001:10001\n", stage)
            self.assertRegex(stage, r'\nENTRYPOINT \["/usr/bin/(storaged|sirix-mcp)"\]')

    def test_its_flags_are_those_of_the_program(self):
        args = re.search(r"^CMD (\[.*\])$", read("docker", "Dockerfile"), re.M).group(1)
        with tempfile.TemporaryDirectory() as folder:
            words = [w.replace("/var/lib/sirix", folder) for w in re.findall(r'"([^"]*)"', args)]
            done = subprocess.run([program("storaged"), *words, "--check-config"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    BUILD = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
