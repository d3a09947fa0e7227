#!/usr/bin/python3
"""What `cmake --install` puts where, and that a stranger can build and run with it.

    test_install.py BUILD_DIR [unittest arguments]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = ""
LIMIT_S = 60

PROGRAM = r"""
#include <sirix/sirix.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct sirix_error err;
    struct sirix_embedded_options options;
    struct sirix_client *client = NULL;
    struct sirix_database_list *list = NULL;
    struct sirix_server_status *server = NULL;

    memset(&err, 0, sizeof(err));
    memset(&options, 0, sizeof(options));
    options.program = argv[2];
    if (argc != 3 || sirix_embedded_open(argv[1], &options, &client, &err) != SIRIX_OK ||
        sirix_client_create_database(client, "made", NULL, NULL, &err) != SIRIX_OK ||
        sirix_client_list_databases(client, NULL, NULL, &list, &err) != SIRIX_OK ||
        sirix_client_status(client, NULL, &server, &err) != SIRIX_OK) {
        (void)fprintf(stderr, "%s: %s\n", sirix_status_name(err.status), err.text);
        return 1;
    }
    (void)printf("%s %u\n", list->items[0].name, (unsigned)server->process_id);
    sirix_client_free(list);
    sirix_client_free(server);
    sirix_client_close(client);
    return 0;
}
"""


def sanitizers():
    """The flags that a program needs to link what a sanitizer build installed."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        found = re.search(r"^SIRIX_SANITIZE:\w+=(.+)$", cache.read(), re.M)
    return found.group(1) if found else ""


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="sirix-install-")
        cls.prefix = os.path.join(cls.dir, "prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL, timeout=LIMIT_S)
        found = [os.path.join(folder, "sirix.pc") for folder, _, files in os.walk(cls.prefix)
                 if "sirix.pc" in files]
        cls.pc = found[0] if len(found) == 1 else None

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def pkg_config(self, *args):
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(self.pc)}
        done = subprocess.run(["pkg-config", *args, "sirix"], env=env, stdout=subprocess.PIPE,
                              check=True, timeout=LIMIT_S)
        return done.stdout.decode().split()

    def lib(self, name):
        return os.path.join(self.pkg_config("--variable=libdir")[0], name)

    def compile(self, compiler, *args, source=PROGRAM):
        path = os.path.join(self.dir, "main.c")
        with open(path, "w") as out:
            out.write(source)
        done = subprocess.run([*compiler, path, *args], stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def declared(self):
        """The functions that the installed headers declare, inline ones apart."""
        listing = os.path.join(self.dir, "declared")
        self.compile(["gcc", "-fsyntax-only", "-aux-info", listing], *self.pkg_config("--cflags"))
        with open(listing) as lines:
            return {re.search(r"\b(sirix_\w+) \(", line).group(1) for line in lines
                    if self.prefix in line.split(":")[0] and " extern " in line}

    def test_everything_lies_where_it_is_looked_for(self):
        self.assertIsNotNone(self.pc, "no sirix.pc, or more than one")
        for name in ("bin/storaged", "bin/sirixctl", "bin/sirix-mcp", "include/sirix/sirix.h",
                     "include/sirix/base/status.h", "include/sirix/base/bytes.h",
                     "share/bash-completion/completions/sirixctl",
                     "share/zsh/site-functions/_sirixctl",
                     "share/fish/vendor_completions.d/sirixctl.fish"):
            with self.subTest(name):
                self.assertGreater(os.path.getsize(os.path.join(self.prefix, name)), 0)
        self.assertTrue(os.path.isfile(self.lib("libsirix.a")))
        self.assertEqual(os.readlink(self.lib("libsirix.so")), "libsirix.so.0")
        self.assertRegex(os.readlink(self.lib("libsirix.so.0")), r"\Alibsirix\.so\.0\.\d+\.\d+\Z")

    def test_the_headers_compile_alone_in_c_and_in_cpp(self):
        flags = self.pkg_config("--cflags")
        strict = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        for compiler in (["gcc", "-std=c11"], ["gcc", "-std=c17"],
                         ["g++", "-x", "c++", "-std=c++11"], ["g++", "-x", "c++", "-std=c++20"]):
            for name in sorted(os.listdir(os.path.join(self.prefix, "include/sirix"))):
                if name.endswith(".h"):
                    with self.subTest(compiler=compiler, header=name):
                        self.compile([*compiler, *strict], *flags,
                                     source="#include <sirix/%s>\n" % name)
            self.compile([*compiler, *strict], *flags)

    def test_the_shared_library_gives_what_the_headers_declare_and_nothing_else(self):
        done = subprocess.run(["nm", "-D", "--defined-only", self.lib("libsirix.so")], check=True,
                              stdout=subprocess.PIPE, timeout=LIMIT_S)
        symbols = [line.split() for line in done.stdout.decode().splitlines()]
        given = {parts[-1].split("@")[0] for parts in symbols if parts[-2] != "A"}
        self.assertGreater(len(given), 40)
        self.assertEqual(given, self.declared())

    def test_a_program_links_by_pkg_config_and_works(self):
        libdir = self.pkg_config("--variable=libdir")[0]
        sanitize = ["-fsanitize=" + sanitizers()] if sanitizers() else []
        compiler = ["clang-14" if sanitize else "gcc", *sanitize]
        static = [arg for arg in self.pkg_config("--cflags", "--libs", "--static")
                  if arg != "-lsirix"]
        for kind, flags in (("shared", [*self.pkg_config("--cflags", "--libs"),
                                        "-Wl,-rpath," + libdir]),
                            ("static", [self.lib("libsirix.a"), *static])):
            with self.subTest(kind):
                program = os.path.join(self.dir, kind)
                data = os.path.join(self.dir, kind + "-data")
                self.compile(compiler, "-o", program, *flags)
                done = subprocess.run([program, data, os.path.join(self.prefix, "bin/storaged")],
                                      stdout=subprocess.PIPE, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0)
                name, pid = done.stdout.decode().split()
                os.kill(int(pid), signal.SIGKILL)
                self.assertEqual(name, "made")


class FirstCommand(unittest.TestCase):
    def test_what_it_leaves_out_the_tests_build_again_in_the_same_folder(self):
        """CMake keeps what it was told: what deploy/try sets, every preset must set again."""
        with open(os.path.join(ROOT, "deploy/try"), encoding="utf-8") as script:
            left = dict(re.findall(r"-D(SIRIX_\w+)=(\w+)", script.read()))
        with open(os.path.join(ROOT, "CMakePresets.json"), encoding="utf-8") as file:
            base = json.load(file)["configurePresets"][0]
        self.assertEqual(base["name"], "base")
        self.assertIn("SIRIX_TESTS", left)
        for name, value in left.items():
            self.assertNotEqual(base["cacheVariables"].get(name, value), value, name)

    def test_it_builds_all_that_can_be_installed(self):
        """README.md installs from what deploy/try has built; only the default target has it all."""
        with open(os.path.join(ROOT, "deploy/try")) as script:
            lines = script.read().replace("\\\n", " ").splitlines()
        builds = [line for line in lines if "cmake --build" in line]
        self.assertEqual(len(builds), 1)
        self.assertNotRegex(builds[0], r"\s(--target|-t)\b")


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
