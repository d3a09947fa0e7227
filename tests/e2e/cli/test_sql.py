#!/usr/bin/python3
"""sirixctl sql: rows for people, one object for programs, refusals.

    test_sql.py SIRIXCTL STORAGED [unittest arguments]
"""

import ctl
from test_query import Console


class Sql(ctl.Folder):
    def setUp(self):
        super().setUp()
        self.load([{"name": "Ann \"x\"", "age": 31}, {"name": "Bo", "age": 2.5}, {"name": None}])

    def lines(self, *args, **more):
        return self.run_ctl("sql", *args, **more)[0].splitlines()

    def test_rows_are_lines_under_the_names_of_the_columns(self):
        self.assertEqual(self.lines("SELECT name, age FROM res"),
                         ["name\tage", 'Ann "x"\t31', "Bo\t2.5", "NULL\tNULL"])
        self.assertEqual(self.lines("--quiet", "SELECT 1.0, x'0aff'"), ["1.0\tx'0aff'"])

    def test_a_statement_comes_from_stdin_too(self):
        for args in ((), ("-",)):
            self.assertEqual(self.lines("--quiet", *args, stdin=b"SELECT count(*)\n FROM res;"), ["3"])

    def test_as_json_the_answer_is_one_object_with_exact_numbers(self):
        answer = self.ask("sql", "SELECT name, 9223372036854775807 AS i, 1e999 AS r FROM res LIMIT 1")
        self.assertEqual(answer, {
            "columns": [{"name": "name", "type": "text"}, {"name": "i", "type": ""},
                        {"name": "r", "type": ""}],
            "rows": [['Ann "x"', 9223372036854775807, None]], "rowCount": 1})

    def test_nothing_caps_the_rows(self):
        rows = self.lines("--quiet", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                     "WHERE i < 30000) SELECT i FROM n")
        self.assertEqual((len(rows), rows[-1]), (30000, "30000"))

    def test_a_database_can_be_named(self):
        self.assertEqual(self.lines("--quiet", "--database", "db", "SELECT count(*) FROM res"), ["3"])

    def test_what_does_not_read_is_refused(self):
        for text in ("DELETE FROM res", "SELECT 1; SELECT 2", "SELECT nme FROM res"):
            out, err = self.run_ctl("sql", text, code=65)
            self.assertEqual(out, "")
        self.assertIn('"name"', err)


class SqlConsole(Console):
    COMMAND = "sql"


class Consoles(ctl.Folder):
    def setUp(self):
        super().setUp()
        self.load([{"name": "Ann", "age": 31}, {"name": "Bo"}])

    def test_a_statement_of_one_or_more_lines_ends_with_a_semicolon(self):
        console = SqlConsole(self)
        self.assertIn("\nname\tage\nAnn\t31\nBo\tNULL\n", console.ask("SELECT name, age FROM res;"))
        console.type("SELECT count(*)\r")
        console.wait("    -> ")
        self.assertIn("\n2\n", console.ask("FROM res;"))
        console.type("SELECT 7\r")
        console.wait("    -> ")
        self.assertIn("\n7\n", console.ask(""))  # An empty line ends it too.
        self.assertEqual(console.end(), 0)

    def test_a_refusal_is_told_and_the_console_goes_on(self):
        console = SqlConsole(self, "--database", "db")
        self.assertIn("may not be modified", console.ask("DELETE FROM res;"))
        self.assertIn('"res"', console.ask("SELECT * FROM rse;"))
        self.assertIn("\n2\n", console.ask("SELECT count(*) FROM res;"))
        self.assertEqual(console.end(), 0)

    def test_ctrl_c_ends_a_statement_and_not_the_console(self):
        console = SqlConsole(self)
        console.type("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                     "SELECT max(i) FROM n;\r")
        console.wait("max(i)\r\n")  # The heads of columns: it runs, and the keys are read no more.
        console.type("\x03")
        console.wait("sql> ")
        self.assertIn("\n2\n", console.ask("SELECT count(*) FROM res;"))
        self.assertEqual(console.end(), 0)

    def test_tab_completes_the_relations(self):
        console = SqlConsole(self)
        console.type("SELECT count(*) FROM databa\t")
        console.wait("ses")
        console.type(";\r")
        self.assertIn("\n1\n", console.wait("sql> "))
        self.assertEqual(console.end(), 0)


if __name__ == "__main__":
    ctl.main()
