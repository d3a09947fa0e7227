#!/usr/bin/python3
"""The Debian package: what is in it, what it asks for, and that its programs run.

    test_package.py BUILD_DIR [unittest arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = ""
WANTED = """
./usr/bin/storaged ./usr/bin/sirixctl ./usr/bin/sirix-mcp
./usr/lib/systemd/system/storaged.service ./usr/lib/systemd/system/sirix-mcp.service
./usr/include/sirix/sirix.h ./usr/include/sirix/base/status.h
./usr/share/bash-completion/completions/sirixctl
./usr/share/doc/sirix/operations.md ./usr/share/doc/sirix/LICENSE
./usr/share/doc/sirix/examples/storaged.conf ./usr/share/doc/sirix/examples/sirix-mcp.json
./usr/share/doc/sirix/examples/principals ./usr/share/doc/sirix/examples/sirix-mcp-network.json
./usr/share/sirix/proto/sirix/storage/v1/storage.proto
""".split()


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=280, check=False, **more)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
            if re.search(r"^SIRIX_SANITIZE:\w+=.+$", cache.read(), re.M):
                raise unittest.SkipTest("a package of programs with sanitizers is nobody's")
        cls.dir = tempfile.mkdtemp(prefix="sirix_package_")
        done = run("cpack", "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B",
                   cls.dir, cwd=cls.dir)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.deb = [os.path.join(cls.dir, n) for n in os.listdir(cls.dir) if n.endswith(".deb")][0]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_it_holds_what_it_should_and_nothing_at_odd_places(self):
        lines = run("dpkg-deb", "-c", self.deb).stdout.splitlines()
        files = {line.split(None, 5)[5].split(" -> ")[0]: line.split()[0] for line in lines}
        for name in WANTED:
            self.assertIn(name, files)
        for name, mode in files.items():
            self.assertRegex(name, r"^\./(usr/|$)")
            self.assertNotIn("s", mode[1:], name)  # Nothing runs as somebody else.
        self.assertTrue(any(re.search(r"libsirix\.so\.\d", name) for name in files))

    def test_it_names_what_it_needs(self):
        fields = run("dpkg-deb", "-f", self.deb).stdout
        depends = re.search(r"^Depends: (.*)$", fields, re.M).group(1)
        for package in ("libc6", "liblmdb0", "libgrpc29", "libprotobuf-c1", "libmicrohttpd12",
                        "libsqlite3-0", "adduser"):
            self.assertIn(package, depends)
        self.assertRegex(fields, r"(?m)^Package: sirix$")

    def test_its_programs_run_from_where_it_is_unpacked(self):
        root = os.path.join(self.dir, "root")
        self.assertEqual(run("dpkg-deb", "-x", self.deb, root).returncode, 0)
        data = os.path.join(self.dir, "data")
        ctl = [os.path.join(root, "usr/bin/sirixctl")]
        door = ["--data", data, "--storaged", os.path.join(root, "usr/bin/storaged")]
        done = run(*ctl, "import", "db/r", "-", *door, input="[1,2]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run(*ctl, "export", "db/r", *door).stdout, "[1,2]\n")
        for name in ("storaged", "sirix-mcp"):
            self.assertRegex(run(os.path.join(root, "usr/bin", name), "--version").stdout, r"\d+\.\d+")

    def test_its_scripts_are_shell_that_passes(self):
        control = os.path.join(self.dir, "control")
        run("dpkg-deb", "-e", self.deb, control)
        for name in ("postinst", "prerm", "postrm"):
            path = os.path.join(control, name)
            self.assertTrue(os.access(path, os.X_OK))
            self.assertEqual(run("sh", "-n", path).returncode, 0)


if __name__ == "__main__":
    BUILD = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
