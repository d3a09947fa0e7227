"""sirixctl as a command line: its words, its help, its mistakes, and the tour of the README."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import ctl
from ctl import LIMIT_S, Folder, Programs


class CommandLine(Folder):
    def test_mistakes_end_with_64_and_a_guess(self):
        cases = (
            (["histroy"], "did you mean `history`?"),
            (["export", "db/res", "--brnch", "x"], "did you mean --branch?"),
            (["export"], "wants DB/RESOURCE"),
            (["export", "db/res", "more"], "nothing else"),
            (["export", "db/res", "--indent", "-1"], "whole number"),
            (["export", "db/res", "--indent", "1", "--indent", "2"], "twice"),
            (["export", "db/res", "--ndjson=1"], "takes no value"),
            (["export", "db/res", "-x"], "two dashes"),
            (["status", "--storage", "unix:/x"], "both given"),
            (["status", "--color", "blue"], "auto, always or never"),
        )
        for args, words in cases:
            with self.subTest(args):
                self.assertIn(words, self.run_ctl(*args, code=64)[1])

    def test_every_command_explains_itself(self):
        done = subprocess.run([Programs.sirixctl, "--help"], stdout=subprocess.PIPE, check=True)
        part = done.stdout.decode().split("Commands:\n")[1].split("\n\n")[0]
        names = [line[2:21].strip() for line in part.splitlines()]
        self.assertIn("snapshot create", names)
        for name in names:
            with self.subTest(name):
                out, _ = self.run_ctl(*name.split(), "--help")
                self.assertIn("Usage: sirixctl " + name, out)

    def test_the_completion_scripts_are_valid_shell(self):
        for shell in ("bash", "zsh", "fish"):
            script = subprocess.run([Programs.sirixctl, "completion", shell], check=True,
                                    stdout=subprocess.PIPE).stdout
            self.assertIn(b"snapshot", script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, check=True, timeout=LIMIT_S)
        for line, offered in (("sirixctl snapshot cr", {"create"}), ("sirixctl hist", {"history"}),
                              ("sirixctl --data d --json snapshot cr", {"create"}),
                              ("sirixctl --data d hist", {"history"}),
                              ("sirixctl --data d diff x --sta", {"--stat"}),
                              ("sirixctl --da", {"--data"}), ("sirixctl --data di", set())):
            with self.subTest(line):
                words = subprocess.run(
                    ["bash", "-c", 'source <("$0" completion bash); COMP_WORDS=($1); '
                     'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sirixctl; echo "${COMPREPLY[@]}"',
                     Programs.sirixctl, line], check=True, stdout=subprocess.PIPE, timeout=LIMIT_S).stdout
                self.assertEqual(set(words.decode().split()), offered)

    def test_an_address_where_nobody_is_gives_up_soon(self):
        start = time.monotonic()
        done = subprocess.run([Programs.sirixctl, "status", "--storage", "unix:" + self.dir + "/none"],
                              stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 69)
        self.assertLess(time.monotonic() - start, 10)

    def test_flags_that_contradict_are_told_as_that(self):
        for flags, words in (([], b"where is the data?"),
                             (["--data", self.data, "--storage", "unix:x"], b"are both given"),
                             (["--data", self.data, "--timeout", "0"], b"--timeout wants")):
            with self.subTest(flags):
                done = subprocess.run([Programs.sirixctl, "list", *flags], stderr=subprocess.PIPE,
                                      timeout=LIMIT_S)
                self.assertEqual(done.returncode, 64)
                self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(self.data))

    def test_flags_of_every_command_may_stand_before_it(self):
        self.load([1])
        for args in (["--json", *self.flags(), "export", "db/res"],
                     [*self.flags(), "snapshot", "list", "db/res", "--json"]):
            with self.subTest(args):
                done = subprocess.run([Programs.sirixctl, *args], stdout=subprocess.PIPE, timeout=LIMIT_S)
                self.assertEqual(done.returncode, 0)
                json.loads(done.stdout)
        for args, code, words in ((["--branch", "x", "export"], 64, b"unknown flag --branch"),
                                  (["--data"], 64, b"needs a value"),
                                  (["--json", "--help"], 0, b""),
                                  (["--quiet"], 64, b"Usage")):
            with self.subTest(args):
                done = subprocess.run([Programs.sirixctl, *args], stderr=subprocess.PIPE,
                                      stdout=subprocess.PIPE, timeout=LIMIT_S)
                self.assertEqual(done.returncode, code)
                self.assertIn(words, done.stderr)

    def test_a_number_below_zero_is_an_operand(self):
        self.load({"n": 1})
        self.ask("update", "db/res", "/n", "-1")
        self.assertEqual(self.export(), {"n": -1})
        subprocess.run([Programs.sirixctl, *self.flags(), "update", "db/res", "/n", "--", "-2.5e1"],
                       check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
        self.assertEqual(self.export(), {"n": -25})

    def test_mistakes_are_found_before_a_daemon_is_started(self):
        cases = (
            (["export", "d b/res"], 65), (["export", "db"], 64), (["export", "db/res@"], 65),
            (["export", "db/res", "--node", "x"], 64), (["export", "db/res@l", "--branch", "b"], 64),
            (["export", "db/res", "--branch", "b b"], 65),
            (["read", "db/res", "x"], 64), (["read", "db/res", "--cursor", "zz"], 64),
            (["list", "db//"], 65), (["create", "-"], 65), (["create", "db@1"], 65),
            (["drop", "db"], 64), (["history", "db/res", "x"], 64),
            (["history", "db/res", "--count", "x"], 64),
            (["diff", "db/res@1", "db/other@2"], 64), (["diff", "db/res@1", "2"], 64),
            (["diff", "db/res@1", "@"], 65), (["diff", "db/res", "--max", "x"], 64),
            (["insert", "db/res", "x", "1"], 64), (["insert", "db/res", "0", "{]"], 65),
            (["insert", "db/res", "0", "1", "--position", "x"], 64),
            (["update", "db/res@1", "/a", "1"], 64), (["update", "db/res", "/a", "01"], 65),
            (["update", "db/res", "/a", "@/nowhere"], 66),
            (["update", "db/res", "/a", "1", "--expected-revision", "x"], 64),
            (["delete", "db/res", "x"], 64), (["rename", "db/res", "x", "n"], 64),
            (["move", "db/res", "0", "x"], 64), (["move", "db/res", "x", "0"], 64),
            (["apply", "db/res", "/nowhere"], 66), (["apply", "db/res", "-"], 65),
            (["apply", "db/res", "-", "--expected-revision", "x"], 64),
            (["apply", "db/res"], 64), (["apply", "db/res", "-", "--to", "1"], 64),
            (["apply", "db/res", "--from", "1"], 64),
            (["apply", "db/res", "--since-parted"], 64),
            (["apply", "db/res", "-", "--since-parted"], 64), (["apply", "db/res", "--to", "a b"], 65),
            (["apply", "db/res", "--to", "2", "--from", ""], 65),
            (["revert", "db/res"], 64), (["revert", "db/res@1", "--branch", ".x"], 65),
            (["snapshot", "create", "db/res", "12"], 65), (["snapshot", "list", "db/res@1"], 64),
            (["snapshot", "delete", "db/res", ""], 65),
            (["branch", "create", "db/res", "2024-01-01"], 65),
            (["branch", "create", "db/res", "b", "--ttl", "x"], 64), (["branch", "list", "db"], 64),
            (["branch", "delete", "db/res", "/"], 65), (["branch", "promote", "db/res", "/"], 65),
            (["branch", "promote", "db/res", "b", "--target", "/"], 65),
            (["verify", "db@1"], 65), (["verify", "db/res@1"], 64),
            (["import", "db/res", "/nowhere"], 66), (["import", "db", "/", "/"], 65),
            (["import", "db/res", "/"], 74), (["import", "db/res", "-", "--name", "x"], 64),
            (["import", "db/res", "-", "--at", "x"], 64),
            (["import", "db/res", "-", "--duplicate-keys", "x"], 64),
        )
        for args, code in cases:
            with self.subTest(args):
                self.run_ctl(*args, code=code, stdin=b"nonsense")
        self.assertFalse(os.path.exists(self.data))

    def test_an_error_says_what_is_wrong_where_and_what_would_help(self):
        self.load({"users": []}, "shop/users")
        self.ask("branch", "create", "shop/users", "feature")
        self.ask("snapshot", "create", "shop/users", "before")
        bad = self.file("bad.json", '{"a":[1,}')
        cases = (
            (["export", "shp/users"], 66, "hint: did you mean shop?"),
            (["export", "shop/usrs"], 66, "hint: did you mean users?"),
            (["export", "shop/zzzzzz"], 66, "hint: there is only users"),
            (["export", "shop/users@befor"], 66, "hint: did you mean before?"),
            (["export", "shop/users@befor"], 66, "neither a snapshot nor a branch befor\n"),
            (["export", "shop/users@featur"], 66, "hint: did you mean feature?"),
            (["diff", "shop/users@before", "@featur"], 66, "hint: did you mean feature?"),
            (["export", "shop/users@branch:before"], 66, "hint: before is a snapshot\n"),
            (["export", "shop/users@snapshot:feature"], 66, "hint: feature is a branch\n"),
            (["export", "shop/users", "--branch", "featur"], 66, "hint: did you mean feature?"),
            (["read", "shop/users", "/users", "--branch", "before"], 66, "before is a snapshot"),
            (["branch", "delete", "shop/users", "featrue"], 66, "hint: did you mean feature?"),
            (["branch", "delete", "shop/users", "before"], 66, "hint: before is a snapshot\n"),
            (["snapshot", "delete", "shop/users", "bfore"], 66, "hint: did you mean before?"),
            (["import", "shop/new", bad], 65, "at byte 8 (at /a/1)\n"),
            (["import", "shop/users", self.file("x", "1")], 73, "hint: --replace"),
            (["read", "shop/users", "/nothing"], 66, "hint: `read` shows"),
            (["update", "shop/users", "/users", "[1,}"], 65, "at byte 3 (at /1)\n"),
            (["insert", "shop/users", "/users/[7]", "1"], 66, "hint: `read` shows"),
            (["insert", "shop/users", "/users", "1", "--position", "7"], 66, "past the end"),
            (["insert", "shop/users", "/users", "1", "--name", "x"], 65, "has a name"),
            (["read", "shop/users@2026-13-01"], 65, "month 01..12 at byte 5"),
            (["delete", "shop/users", "/users", "--expected-revision", "7"], 75,
             "hint: somebody wrote meanwhile"),
            (["import", "shop", self.file("größe.json", "1")], 65,
             "give one, shop/NAME FILE"),
            (["snapshot", "crate", "shop/users", "x"], 64, "create, list, delete"),
            (["export", "shop/users", "-o", "x"], 64, "did you mean --output?"),
        )
        for args, code, words in cases:
            with self.subTest(args):
                told = self.run_ctl(*args, code=code)[1]
                self.assertIn(words, told)
                self.assertRegex(told, r"\Asirixctl: [^\n]+\n(hint: [^\n]+\n)?\Z")
                # Names of statuses and of a request's fields are for programs.
                self.assertNotRegex(told, r"not_found|invalid\)|_unknown|json_syntax|unsupported")
                self.assertNotRegex(told, r"field |\[0\]|view\.|options\.")
                self.assertNotRegex(told, r"(byte \d+).*\1\b")

    def test_a_hint_is_about_the_command_that_failed(self):
        self.load({"s": "x", "o": {"a": 1}})
        told = self.run_ctl("insert", "db/res", "/s", "1", code=78)[1]
        self.assertIn("has no children", told)
        self.assertNotIn("hint", told)
        self.assertIn("hint: update --replace", self.run_ctl("update", "db/res", "/o", "1",
                                                             code=78)[1])
        # Only an import has a flag for repeated keys.
        self.assertIn("hint: --duplicate-keys last", self.run_ctl("import", "db/new", "-", code=65,
                                                                  stdin=b'{"k":1,"k":2}')[1])
        patch = self.file("patch.json", '[{"op":"add","path":"/o/a","value":{"k":1,"k":2}}]')
        for args, code in ((["insert", "db/res", "/o", '{"k":1,"k":2}', "--name", "n"], 65),
                           (["insert", "db/res", "/o", "1", "--name", "a"], 73),
                           (["rename", "db/res", "/o", "s"], 73),
                           (["move", "db/res", "/s", "/o", "--name", "a"], 73),
                           (["apply", "db/res", patch], 65)):
            with self.subTest(args):
                self.assertNotIn("duplicate-keys", self.run_ctl(*args, code=code)[1])

    def test_a_name_that_differs_in_case_alone_is_told_as_that(self):
        self.load(1, "db/Res")
        self.ask("snapshot", "create", "db/Res", "Snap")
        self.ask("branch", "create", "db/Res", "Side")
        for args, there, given in ((["create", "DB"], "db", "DB"),
                                   (["create", "db/res"], "Res", "res"),
                                   (["snapshot", "create", "db/Res", "snap"], "Snap", "snap"),
                                   (["branch", "create", "db/Res", "side"], "Side", "side")):
            with self.subTest(args):
                self.assertIn(f"{there} exists, and {given} differs from it in case alone",
                              self.run_ctl(*args, code=73)[1])
        self.assertIn("exists already", self.run_ctl("create", "db/Res", code=73)[1])

    def test_a_long_pointer_is_cut_in_the_middle_for_people_only(self):
        deep = "[" * 1001 + "]" * 1001
        told = self.run_ctl("import", "db/res", "-", code=65, stdin=deep.encode())[1]
        self.assertRegex(told, r"\(at /0/0[0/]+\.\.\.[0/]+/0\)")
        self.assertLess(len(told), 400)
        pointer = self.error("import", "db/res", "-", code=65, stdin=deep.encode())["pointer"]
        self.assertEqual(pointer, "/0" * (len(pointer) // 2))
        self.assertGreater(len(pointer), 200)
        # A cut goes through no character.
        wide = '{"é":' * 200 + '{"éé":' * 100 + "[1,}" + "}" * 300
        self.assertIn("...", self.run_ctl("import", "db/res", "-", code=65,
                                          stdin=wide.encode())[1])

    def test_times_have_six_digits_so_that_they_sort_as_text(self):
        for value in range(12):
            self.load(value, f"db/r{value}")
        for resource in self.ask("list", "db")["resources"]:
            self.assertRegex(resource["timestamp"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")

    def test_help_of_one_command_has_two_forms(self):
        def out(*args, code=0):
            done = subprocess.run([Programs.sirixctl, *args], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S)
            self.assertEqual(done.returncode, code, done)
            return done.stdout.decode() + done.stderr.decode()

        for command in (["import"], ["snapshot", "create"]):
            self.assertEqual(out("help", *command), out(*command, "--help"))
            self.assertTrue(out("help", *command).startswith("Usage: sirixctl " +
                                                             " ".join(command) + " "))
        self.assertEqual(out("help"), out("--help"))
        self.assertIn("--version", out("help"))
        self.assertIn("did you mean `import`?", out("help", "imprt", code=64))
        self.assertIn("create, list, delete", out("help", "snapshot", code=64))

    def test_a_cut_answer_says_how_it_goes_on(self):
        self.load({"a": list(range(5)), "s": "x" * 10000})
        seen = ""
        more = []
        while True:
            page = self.run_ctl("read", "db/res", "/a", "--children", "2", *more)[0]
            seen += page
            found = re.search(r"^more: (--cursor) ([0-9a-f]+)\n\Z", page, re.M)
            if not found:
                break
            more = list(found.groups())
        self.assertEqual(re.findall(r"\[(\d)\] ", seen), list("01234"))
        part = self.run_ctl("read", "db/res", "/s")[0]
        offset = re.search(r"^more: --offset (\d+)\n\Z", part, re.M).group(1)
        self.assertEqual(part.count("x") + self.run_ctl("read", "db/res", "/s", "--offset",
                                                        offset)[0].count("x") +
                         self.run_ctl("read", "db/res", "/s", "--offset",
                                      str(2 * int(offset)))[0].count("x"), 10000)
        self.assertNotIn("more", self.run_ctl("read", "db/res", "/s", "--quiet")[0])

    def test_one_is_one(self):
        self.assertIn(", 1 node, ", self.run_ctl("import", "db/res", "-", stdin=b"1")[0])
        self.assertIn(", 2 nodes, ", self.run_ctl("import", "db/two", "-", stdin=b"[1]")[0])
        self.assertIn("1 resource, 1 revision, ", self.run_ctl("verify", "db/res")[0])
        self.assertIn(": 0 problems\n", self.run_ctl("verify", "db/res")[0])

    def test_the_whole_value_has_a_name_in_a_diff(self):
        self.load(1)
        self.ask("update", "db/res", "0", "2")
        self.assertTrue(self.run_ctl("diff", "db/res")[0].startswith("update the value (1)\n"))

    def test_exit_codes_are_documented_once_each(self):
        done = subprocess.run([Programs.sirixctl, "--help"], stdout=subprocess.PIPE, check=True)
        part = done.stdout.decode().split("Exit codes:\n")[1]
        codes = [int(line.split()[0]) for line in part.splitlines()]
        self.assertEqual(codes, sorted(set(codes)))
        self.assertIn(64, codes)


class Tour(Folder):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix-cli-")  # People's folders; no blank in it.
        self.data = os.path.join(self.dir, "tour")

    def test_every_line_of_the_tour_in_the_readme_works(self):
        readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../README.md")
        with open(readme) as text:
            part = text.read().split("## Five minutes")[1].split("\n## ")[0]
        tour = re.search(r"```sh\n(.*?)```", part, re.S).group(1)
        self.assertGreater(tour.count("sirixctl"), 8)
        programs = os.path.join(self.dir, "build/release/bin")
        os.makedirs(programs)
        for program in (Programs.sirixctl, Programs.storaged):
            os.symlink(program, os.path.join(programs, os.path.basename(program)))

        done = subprocess.run(["bash", "-euxc", tour.replace("/tmp/", self.dir + "/")],
                              cwd=self.dir, timeout=LIMIT_S, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

        self.assertEqual(done.returncode, 0, done.stderr.decode())
        out = done.stdout.decode()
        # What was labelled, byte for byte, and the revision before it was brought back.
        self.assertIn('\n{"users":[{"name":"Ann","age":31},{"name":"Bo","age":25}]}\n', out)
        self.assertIn('{"name":"Bo","age":26},{"name":"Cy","age":40}]}\n', out)
        self.assertIn("update /users/[1]/age", out)
        self.assertIn(" 0 problems", out)


if __name__ == "__main__":
    ctl.main()
