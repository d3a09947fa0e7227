#!/usr/bin/python3
"""sirixctl query and update-query: answers for programs, and the console for people.

    test_query.py SIRIXCTL STORAGED [unittest arguments]
"""
import os
import pty
import select
import termios
import time

import ctl
from ctl import LIMIT_S, SANITIZERS

LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libedit.supp")
LONG = "count(for $i in 1 to 100000000000 return $i + 1)"


class Queries(ctl.Folder):
    def setUp(self):
        super().setUp()
        self.load({"users": [{"name": "Ann", "age": 31}, {"name": "Bo"}]})

    def lines(self, *args, **more):
        return self.run_ctl("query", *args, **more)[0].splitlines()

    def test_each_item_is_a_line(self):
        self.assertEqual(self.lines("db/res", "$$.users[].name, 1.50, {'a': [1,2]}"),
                         ['"Ann"', '"Bo"', "1.5", '{"a":[1,2]}'])
        self.assertEqual(self.lines("jn:doc('db','res').users[0].age"), ["31"])
        self.assertEqual(self.lines("()"), [])

    def test_a_query_comes_from_stdin_too(self):
        for args in ((), ("-",)):
            self.assertEqual(self.lines(*args, stdin=b"1,\n 2"), ["1", "2"])
        self.assertEqual(self.lines("db/res", stdin=b"count($$.users[])"), ["2"])
        self.assertEqual(self.lines("db/res", "-", stdin=b"count($$.users[])"), ["2"])

    def test_external_variables_come_with_the_call(self):
        text = "declare variable $n external; declare variable $o external := 3; ($n, $o)"
        self.assertEqual(self.lines(text, "--variables", '{"n": {"a": [1.50]}}'),
                         ['{"a":[1.50]}', "3"])
        self.assertEqual(self.lines("db/res", "declare variable $n external; $$.users[][$$.name eq $n].age",
                                    "--variables", '{"n": "Ann"}'), ["31"])
        self.run_ctl("update-query", "db/res",
                     "declare variable $n external; replace json value of $$.users[1].name with $n",
                     "--variables", '{"n": "Eve"}')
        self.assertEqual(self.lines("db/res", "$$.users[1].name"), ['"Eve"'])
        for bad in ("[1]", "{", '{"": 1}', '{"n": 1, "n": 2}'):
            self.assertIn("--variables", self.run_ctl("query", "1", "--variables", bad, code=64)[1])
        self.assertIn("XPDY0002", self.run_ctl("query", text, code=65)[1])

    def test_as_json_the_answer_is_one_object(self):
        self.assertEqual(self.ask("query", "1 to 3"), {"items": [1, 2, 3], "count": 3})
        self.assertEqual(self.ask("query", "()"), {"items": [], "count": 0})
        first = self.ask("query", "1 to 5", "--limit", "2")
        self.assertEqual(first["items"], [1, 2])
        self.assertEqual(self.ask("query", "1 to 5", "--limit", "3", "--cursor",
                                  first["nextCursor"]), {"items": [3, 4, 5], "count": 3})
        self.assertIn("plan", self.ask("query", "1 to 5", "--explain"))

    def test_a_page_says_how_to_go_on(self):
        out, words = self.run_ctl("query", "1 to 3", "--limit", "2")
        self.assertEqual(out, "1\n2\n")
        cursor = words.split("'")[1]
        self.assertEqual(self.lines("1 to 3", "--cursor", cursor), ["3"])
        self.assertEqual(self.run_ctl("query", "1 to 3", "--limit", "2", "--quiet")[1], "")

    def test_a_name_may_say_which_revision(self):
        self.ask("branch", "create", "db/res", "dev")
        self.ask("update", "db/res", "/users/[0]/name", '"Zoe"')
        self.assertEqual(self.lines("db/res@1", "$$.users[0].name"), ['"Ann"'])
        self.assertEqual(self.lines("db/res@dev", "$$.users[0].name"), ['"Ann"'])
        self.assertEqual(self.lines("db/res", "$$.users[0].name", "--branch", "dev"), ['"Ann"'])
        self.assertEqual(self.lines("db/res", "$$.users[0].name"), ['"Zoe"'])

    def test_an_error_says_where_it_is(self):
        error = self.error("query", "let $x := 1\nreturn $y", code=65)
        self.assertEqual((error["reason"], error["code"], error["line"], error["column"]),
                         ("query", "XPST0008", 2, 8))
        _, words = self.run_ctl("query", "jn:docs('a')", code=65)
        self.assertIn("XPST0017 at 1:1", words)
        self.assertIn("did you mean jn:doc", words)
        self.assertIn("resource", self.run_ctl("query", "1", "--branch", "b", code=64)[1])
        self.run_ctl("query", "db/none", "$$", code=66)
        self.run_ctl("query", LONG, "--timeout", "1", code=124)

    def test_queries_read_and_update_queries_write(self):
        _, words = self.run_ctl("query", "db/res", "delete json $$.users", code=65)
        self.assertIn("XUST0001", words)
        out, _ = self.run_ctl("update-query", "db/res", "delete json $$.users[0].age",
                              "--message", "forget")
        self.assertEqual(out, "db/res (main): revision 2\n")
        self.assertEqual(self.export()["users"][0], {"name": "Ann"})
        self.assertEqual(self.ask("history", "db/res")["revisions"][0]["message"], "forget")
        out, _ = self.run_ctl("update-query", "db/res", "for $x in () return delete json $x.a")
        self.assertEqual(out, "nothing changed\n")
        self.ask("branch", "create", "db/res", "dev")
        answer = self.ask("update-query", "db/res", "insert json {'n': 1} into $$", "--branch",
                          "dev", "--expected-revision", "2")["updates"]
        self.assertEqual([(u["database"], u["resource"], u["branch"], u["revision"], u["changed"])
                          for u in answer], [("db", "res", "dev", 3, True)])
        self.run_ctl("update-query", "db/res", "delete json $$.users", "--expected-revision", "1",
                     code=75)


class Console:
    """sirixctl query on a terminal, or another command that has a console."""
    COMMAND = "query"

    def __init__(self, case, *args):
        self.case = case
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(ctl.Programs.sirixctl, [ctl.Programs.sirixctl, self.COMMAND, *args, *case.flags()],
                      {"TERM": "xterm", "PATH": "/usr/bin:/bin", "NO_COLOR": "1",
                       "XDG_STATE_HOME": case.dir + "/state", **SANITIZERS,
                       "LSAN_OPTIONS": "print_suppressions=0:suppressions=" + LEAKS})
        self.wait(self.COMMAND + "> ")

    def wait(self, text):
        """Reads until this text has come; all of it."""
        seen = b""
        while text.encode() not in seen:
            ready, _, _ = select.select([self.fd], [], [], LIMIT_S)
            self.case.assertTrue(ready, (text, seen))
            seen += os.read(self.fd, 65536)
        if "> " in text:
            self.wait_for_keys()
        return seen.decode().replace("\r\n", "\n")

    def wait_for_keys(self):
        """libedit shows the prompt and then asks for single keys: until then Ctrl-D is the terminal's."""
        end = time.monotonic() + LIMIT_S
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            self.case.assertLess(time.monotonic(), end, "keys are not read")
            os.sched_yield()

    def type(self, text):
        os.write(self.fd, text.encode())

    def ask(self, text):
        self.type(text + "\r")
        return self.wait(self.COMMAND + "> ")

    def end(self):
        self.type("\x04")
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Consoles(ctl.Folder):
    def setUp(self):
        super().setUp()
        self.load({"users": [{"name": "Ann", "age": 31}, {"name": "Bo"}]})

    def test_statements_of_one_and_more_lines(self):
        console = Console(self, "db/res")
        self.assertIn('\n"Ann"\n"Bo"\n', console.ask("$$.users[].name"))
        console.type("for $u in $$.users[]\r")
        console.wait("    -> ")
        console.type("where $u.age gt 30\r")
        console.wait("    -> ")
        self.assertIn('\n"Ann"\n', console.ask("return $u.name"))
        console.type("(1 +\r")
        console.wait("    -> ")
        self.assertIn("XPST0003", console.ask(""))  # An empty line ends it in any case.
        self.assertIn("\n4\n", console.ask("2 + 2"))
        self.assertEqual(console.end(), 0)

    def test_commands(self):
        console = Console(self)
        self.assertIn("XPDY0002", console.ask("$$"))
        self.assertIn("revision", console.ask(":help"))
        console.ask(":use db/res@1")
        self.assertIn('\n"Bo"\n', console.ask("$$.users[1].name"))
        self.assertIn("query\n", console.ask(":explain $$.users"))
        self.assertIn("there is no", console.ask(":use db/none@x"))
        self.assertIn('\n"Bo"\n', console.ask("$$.users[1].name"))
        console.ask(":use -")
        self.assertIn("XPDY0002", console.ask("$$"))
        self.assertIn(":help", console.ask(":nonsense"))
        console.type(":quit\r")
        self.assertEqual(console.end(), 0)

    def test_tab_completes_functions_and_names(self):
        console = Console(self)
        console.type("sdb:nodek\t")
        console.wait("ey(")
        console.type(")\r")
        console.wait("query> ")
        console.type("jn:doc('d\t")
        console.wait("b")  # Only what is new is written.
        console.type("','r\t")
        console.wait("es")
        console.type("').users[1]).name\r")
        self.assertIn("XPST0003", console.wait("query> "))
        console.type("jn:doc('d\t','r\t').users[1].name\r")
        self.assertIn('\n"Bo"\n', console.wait("query> "))
        console.type("jn:last\t")
        listed = console.wait("jn:last-existing(")
        self.assertIn("jn:last(", listed)
        console.type("\x03")
        console.wait("query> ")
        self.assertEqual(console.end(), 0)

    def test_ctrl_c_gives_up_a_line_and_ends_a_query(self):
        console = Console(self)
        console.type("1 + nonsense")
        console.wait("nonsense")
        console.type("\x03")
        self.assertIn("^C", console.wait("query> "))
        console.type("(1,\r2")
        console.wait("    -> 2")
        console.type("\x03")
        console.wait("query> ")
        self.assertIn("\n2\n", console.ask("1 + 1"))
        for _ in range(2):
            # An endless answer shows that it runs; one that shows nothing could not be told from a
            # line that is still being read.
            console.type("for $i in 1 to 100000000000 return $i\r")
            console.wait("\n1000\r")
            console.type("\x03")
            self.assertIn("cancelled", console.wait("query> "))
            self.assertIn("\n2\n", console.ask("1 + 1"))
        self.assertEqual(console.end(), 0)

    def test_the_history_outlives_the_console(self):
        console = Console(self)
        console.ask("1000 + 234")
        self.assertEqual(console.end(), 0)
        path = self.dir + "/state/sirixctl/query.history"
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        console = Console(self)
        console.type("\x1b[A\r")
        self.assertIn("\n1234\n", console.wait("query> "))
        self.assertEqual(console.end(), 0)

    def test_a_console_whose_state_cannot_be_kept_works(self):
        open(self.dir + "/state", "w").close()
        console = Console(self)
        self.assertIn("\n2\n", console.ask("1 + 1"))
        self.assertEqual(console.end(), 0)


if __name__ == "__main__":
    ctl.main()
