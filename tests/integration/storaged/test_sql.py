"""The SQL door from outside: columns and rows, limits, refusals, scope, deadlines, cancelling, other doors."""
import threading
import time

import grpc

import case
import daemon

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"
MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) SELECT i FROM n"


class Asking(case.DaemonCase):
    def ask(self, sql, client=None, **fields):
        """(names of columns, rows, end)"""
        parts = list((client or self.client).Sql(sql=sql.encode(), **fields))
        self.assertEqual(parts[0].WhichOneof("part"), "columns")
        self.assertEqual(parts[-1].WhichOneof("part"), "end")
        rows = [tuple(self.value(v) for v in row.values) for p in parts[1:-1] for row in p.rows.rows]
        self.assertEqual(parts[-1].end.row_count, len(rows))
        return [c.name.decode() for c in parts[0].columns.columns], rows, parts[-1].end

    def value(self, value):
        which = value.WhichOneof("value")
        if which is None:
            return None
        got = getattr(value, which)
        return got.decode() if which == "text" else got

    def refuse(self, code, reason, sql, **fields):
        return self.refused(code, reason, self.client.Sql, sql=sql.encode(), **fields)


class Reading(Asking):
    def test_every_kind_of_value_comes_as_it_is(self):
        columns, rows, end = self.ask(
            "SELECT 1 AS a, -9223372036854775808 AS b, 1.5 AS c, 'x' || char(8364) AS d, x'00ff' AS e,"
            " NULL AS f")
        self.assertEqual(columns, list("abcdef"))
        self.assertEqual(rows, [(1, -2**63, 1.5, "x\u20ac", b"\0\xff", None)])
        self.assertEqual(end.cut, case.pb.SQL_CUT_UNSPECIFIED)

    def test_a_resource_is_a_table(self):
        name = self.resource('[{"n":1,"s":"a"},{"n":2,"s":"b","big":123456789012345678901}]').decode()
        self.assertEqual(self.ask('SELECT n, s, big FROM "db/%s"' % name)[1],
                         [(1, "a", None), (2, "b", "123456789012345678901")])
        self.assertEqual(self.ask('SELECT count(*) FROM "%s"' % name, database=b"db")[1], [(2,)])

    def test_an_empty_answer_has_its_columns(self):
        columns, rows, _ = self.ask("SELECT 1 AS one WHERE 0")
        self.assertEqual((columns, rows), (["one"], []))

    def test_a_long_answer_streams_and_is_whole(self):
        rows = self.ask(MANY % 200000)[1]
        self.assertEqual(rows, [(i,) for i in range(1, 200001)])

    def test_an_answer_is_cut_where_it_is_told(self):
        _, rows, end = self.ask(MANY % 50, row_max=7)
        self.assertEqual((len(rows), end.cut), (7, case.pb.SQL_CUT_ROWS))
        _, rows, end = self.ask(MANY % 7, row_max=7)
        self.assertEqual((len(rows), end.cut), (7, case.pb.SQL_CUT_UNSPECIFIED))
        _, rows, end = self.ask("SELECT printf('%.1000c', 'x') FROM (" + MANY % 50 + ")",
                                bytes_max=5000)
        self.assertEqual((len(rows), end.cut), (4, case.pb.SQL_CUT_BYTES))

    def test_a_row_past_a_message_is_refused_and_the_next_call_answers(self):
        self.refuse("RESOURCE_EXHAUSTED", "size_limit",
                    "SELECT x, x, x FROM (SELECT printf('%.2000000c', 'x') AS x)")
        self.assertEqual(self.ask("SELECT 1")[1], [(1,)])


class Refusing(Asking):
    def test_what_is_none_of_reading_is_refused_with_its_reason(self):
        name = self.resource('[{"a":1}]').decode()
        table = '"db/%s"' % name
        for reason, sql in (("sql_refused", "DELETE FROM " + table),
                            ("sql_refused", "ATTACH 'x.db' AS x"),
                            ("sql_refused", "PRAGMA query_only = 0"),
                            ("sql_refused", "SELECT load_extension('x')"),
                            ("sql_refused", "VACUUM INTO 'x.db'"),
                            ("sql_statement", "SELECT 1; SELECT 2"),
                            ("sql_statement", ""),
                            ("sql_statement", "SELECT 1\0; DROP TABLE x"),
                            ("sql_error", "SELEC 1"),
                            ("sql_error", "SELECT * FROM nothing"),
                            ("sql_limit", "SELECT 1 /*" + "x" * 70000 + "*/")):
            with self.subTest(sql[:40]):
                self.refuse("INVALID_ARGUMENT", reason, sql)
        self.assertEqual(self.ask("SELECT revision FROM resources WHERE resource = '%s'" % name)[1],
                         [(1,)])

    def test_scope_holds_inside_of_sql(self):
        pb = case.pb
        seen = self.resource('[{"a":1}]')
        unseen = self.resource('[{"a":2}]')
        scope = pb.Scope(allow_resources=[pb.ScopeRule(database=b"db", resources=[seen])])
        self.assertEqual(self.ask('SELECT a FROM "db/%s"' % seen.decode(), scope=scope)[1], [(1,)])
        self.assertEqual(self.ask("SELECT resource FROM resources WHERE database = 'db'", scope=scope)[1],
                         [(seen.decode(),)])
        error = self.refuse("INVALID_ARGUMENT", "sql_error",
                            'SELECT a FROM "db/%s"' % unseen.decode(), scope=scope)
        self.refuse("NOT_FOUND", "resource_unknown",
                    "SELECT * FROM nodes('db', '%s')" % unseen.decode(), scope=scope)


class Ending(Asking):
    def test_an_endless_statement_ends_at_its_time_or_deadline(self):
        start = time.monotonic()
        self.refuse("INVALID_ARGUMENT", "sql_limit", ENDLESS, time_max_ms=300)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.Sql(sql=ENDLESS.encode(), timeout=0.3))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_a_cancelled_statement_gives_its_place_back(self):
        for _ in range(40):  # More than may run at once.
            call = self.client.Sql(sql=ENDLESS.encode())
            call.cancel()
        end = time.monotonic() + 10
        while True:
            try:
                self.assertEqual(self.ask("SELECT 1")[1], [(1,)])
                break
            except grpc.RpcError as error:
                self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
                self.assertLess(time.monotonic(), end)

    def test_a_reader_that_goes_away_in_the_middle_of_rows_ends_the_statement(self):
        call = self.client.Sql(sql=(MANY % 100000000).encode())
        self.assertEqual(next(call).WhichOneof("part"), "columns")
        next(call)
        call.cancel()
        self.assertEqual(self.ask("SELECT 1")[1], [(1,)])

    def test_other_doors_keep_their_rights_while_a_statement_runs(self):
        name = self.resource('[{"a":1}]')
        call = self.client.Sql(sql=ENDLESS.encode())
        head = self.apply(name, case.replace(1, '[{"a":5}]')).result.revision
        self.assertEqual(head, 2)
        self.assertEqual(self.ask('SELECT a FROM "db/%s"' % name.decode())[1], [(5,)])
        call.cancel()


if __name__ == "__main__":
    case.main()
