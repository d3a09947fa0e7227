"""What is asked, in the language of each contestant.

A mark has a name, the data it is about, and a query for each contestant that can say it (SIRIX: JSONiq;
SQLITE, POSTGRES, DUCKDB: SQL over a table of that name with one column j, a row a record; JQ over the
file; BASEX: XQuery over the database as BaseX maps JSON to XML). Each gives one column; rows are
compared between all contestants before anything is timed.
"""
import json
import random

RECORDS, FLIGHTS, COMPAT, HISTORY = "records", "flights", "compat", "history"
CITIES = ["city%02d" % i for i in range(40)]
COMMITS = 10_000


def generated(count):
    """Records of a seeded generator, one at a time."""
    source = random.Random(1)
    for i in range(count):
        yield {"id": i, "age": source.randrange(90), "city": source.choice(CITIES),
               "score": source.randrange(1_000_000),
               "address": {"street": "s%d" % (i % 997), "geo": {"zip": 10000 + i % 89999}}}


def orders(count, records):
    """Rows that refer to records by their id; some to none."""
    source = random.Random(2)
    return [{"person": source.randrange(records * 2), "amount": source.randrange(1000)}
            for _ in range(count)]


def changes(records, count=COMMITS):
    """The commits of the history: (index of the record, its new delay)."""
    source = random.Random(3)
    return [(source.randrange(records), source.randrange(500)) for _ in range(count)]


def number(dialect, path):
    """A field as a number, in SQL."""
    if dialect == "sqlite":
        return "(j->>'$.%s')" % path
    if dialect == "postgres":
        return "(j->'%s')::numeric" % path
    return "(j->>'$.%s')::bigint" % path


def text(dialect, path):
    return "(j->>'%s')" % path if dialect == "postgres" else "(j->>'$.%s')" % path


def sql(template):
    """The three SQL texts of one template: {n:FIELD} a number, {t:FIELD} a text, {array} the function."""
    def one(dialect):
        made = template
        while "{" in made:
            before, _, rest = made.partition("{")
            inside, _, behind = rest.partition("}")
            if inside == "array":
                value = {"sqlite": "json_array", "postgres": "json_build_array",
                         "duckdb": "json_array"}[dialect]
            elif inside.startswith("n:"):
                value = number(dialect, inside[2:])
            else:
                value = text(dialect, inside[2:])
            made = before + value + behind
        return made
    return {name: one(name) for name in ("sqlite", "postgres", "duckdb")}


def mark(name, data, sirix, queries=None, jq=None, basex=None):
    made = {"sirix": sirix.replace("DOC", "jn:doc('bench','%s')" % data)}
    made.update(queries or {})
    if jq:
        made["jq"] = jq
    if basex:
        made["basex"] = basex.replace("DB", "db:open('%s')/json" % data)
    return {"name": name, "data": data, "ask": made}


def tree(name, table):
    """Fields of a name at any depth, counted."""
    return {"sqlite": "select count(*) from %s, json_tree(j) t where t.key = '%s'" % (table, name),
            "postgres": "select count(*) from %s, jsonb_path_query(j, 'strict $.**.%s')"
                        % (table, name),
            "duckdb": "select sum(len(json_extract(j, '$..%s')))::bigint from %s" % (name, table)}


# The oldest state of a table whose rows' old versions stand in TABLE_old(id, till, j).
OLDEST = ("(select j from history where id not in (select id from history_old) union all "
          "select j from (select *, row_number() over (partition by id order by till) n "
          "from history_old) o where n = 1) x")


def marks(point):
    """All marks; point: the id of the record that is looked up."""
    aggregates = "select {array}(count(*), sum({n:delay}), min({n:delay}), max({n:delay}), " \
                 "sum({n:distance})) from %s"
    sirix_aggregates = "[count(DOC[]), sum(DOC[].delay), min(DOC[].delay), max(DOC[].delay), " \
                       "sum(DOC[].distance)]"
    return [
        mark("filtered count", FLIGHTS, "count(for $f in DOC[] where $f.delay gt 60 return $f)",
             sql("select count(*) from flights where {n:delay} > 60"),
             "[.[]|select(.delay>60)]|length", "count(DB/_[delay > 60])"),
        mark("group by, count and mean", FLIGHTS,
             "for $f in DOC[] group by $d := $f.distance order by $d "
             "return [$d, count($f), avg($f.delay)]",
             sql("select {array}(d, n, m) from (select {n:distance} d, count(*) n, "
                 "avg({n:delay}) m from flights group by 1 order by 1) g"),
             "group_by(.distance)[]|[.[0].distance,length,(map(.delay)|add/length)]",
             "for $f in DB/_ group by $d := number($f/distance) order by $d "
             "return '[' || string-join(($d, count($f), avg($f/delay)), ',') || ']'"),
        mark("order by, limit 10", FLIGHTS,
             "subsequence(for $f in DOC[] order by $f.delay descending, $f.distance "
             "return [$f.delay, $f.distance], 1, 10)",
             sql("select {array}(a, b) from (select {n:delay} a, {n:distance} b from flights "
                 "order by 1 desc, 2 limit 10) o"),
             "sort_by(-.delay,.distance)[:10][]|[.delay,.distance]",
             "subsequence(for $f in DB/_ order by number($f/delay) descending, number($f/distance) "
             "return '[' || $f/delay || ',' || $f/distance || ']', 1, 10)"),
        mark("distinct values", FLIGHTS, "count(distinct-values(DOC[].distance))",
             sql("select count(distinct {n:distance}) from flights"),
             "[.[].distance]|unique|length", "count(distinct-values(DB/_/distance))"),
        mark("aggregates", FLIGHTS, sirix_aggregates, sql(aggregates % "flights"),
             "[length,(map(.delay)|add),(map(.delay)|min),(map(.delay)|max),(map(.distance)|add)]",
             "let $d := DB/_/delay ! number() return '[' || string-join((count($d), sum($d), min($d), "
             "max($d), sum(DB/_/distance)), ',') || ']'"),
        mark("filtered count", RECORDS, "count(for $r in DOC[] where $r.age gt 70 return $r)",
             sql("select count(*) from records where {n:age} > 70"),
             "[.[]|select(.age>70)]|length", "count(DB/_[age > 70])"),
        mark("group by, count and mean", RECORDS,
             "for $r in DOC[] group by $c := $r.city order by $c "
             "return [$c, count($r), avg($r.age)]",
             sql("select {array}(c, n, m) from (select {t:city} c, count(*) n, avg({n:age}) m "
                 "from records group by 1 order by 1) g"),
             "group_by(.city)[]|[.[0].city,length,(map(.age)|add/length)]",
             "for $r in DB/_ group by $c := string($r/city) order by $c "
             "return '[\"' || $c || '\",' || count($r) || ',' || avg($r/age) || ']'"),
        mark("order by, limit 10", RECORDS,
             "subsequence(for $r in DOC[] order by $r.score descending, $r.id return $r.id, 1, 10)",
             sql("select {n:id} from records order by {n:score} desc, {n:id} limit 10"),
             "sort_by(-.score,.id)[:10][]|.id",
             "subsequence(for $r in DB/_ order by number($r/score) descending, number($r/id) "
             "return string($r/id), 1, 10)"),
        mark("equality join with 40", RECORDS,
             "count(for $r in DOC[], $c in jn:doc('bench','cities')[] where $r.city eq $c.name "
             "and $c.big return $r)",
             {"sqlite": "with c as materialized (select j->>'$.name' n from cities where "
                        "j->>'$.big') select count(*) from records r join c on r.j->>'$.city' = c.n",
              "postgres": "select count(*) from records r join cities c on r.j->>'city' = "
                          "c.j->>'name' where (c.j->'big')::boolean",
              "duckdb": "select count(*) from records r join cities c on (r.j->>'$.city') = "
                        "(c.j->>'$.name') where (c.j->>'$.big')::boolean"},
             None, "count(for $c in db:open('cities')/json/_[big = 'true'], "
                   "$r in DB/_ where $r/city = $c/name return $r)"),
        mark("equality join with a tenth", RECORDS,
             "sum(for $r in DOC[], $o in jn:doc('bench','orders')[] where $r.id eq $o.person "
             "return $o.amount)",
             # It makes an index of its own for columns only.
             {"sqlite": "with o as materialized (select j->>'$.person' p, j->>'$.amount' a "
                        "from orders) select sum(a) from records r join o on r.j->>'$.id' = o.p",
              "postgres": "select sum((o.j->'amount')::numeric) from records r join orders o on "
                          "(r.j->'id')::numeric = (o.j->'person')::numeric",
              "duckdb": "select sum((o.j->>'$.amount')::bigint)::bigint from records r join orders o "
                        "on (r.j->>'$.id')::bigint = (o.j->>'$.person')::bigint"}),
        mark("deep scan", RECORDS, "count(DOC=>>zip)", tree("zip", RECORDS),
             "[..|objects|select(has(\"zip\"))]|length", "count(DB//zip)"),
        mark("deep scan, summed", RECORDS, "sum(DOC=>>zip)",
             {"sqlite": "select sum(t.value) from records, json_tree(j) t where t.key = 'zip'",
              "postgres": "select sum(v::numeric) from records, "
                          "jsonb_path_query(j, 'strict $.**.zip') v",
              "duckdb": "select sum(list_sum((json_extract(j, '$..zip'))::bigint[]))::bigint "
                        "from records"},
             "[..|objects|.zip//empty]|add", "sum(DB//zip)"),
        mark("distinct values", RECORDS, "count(distinct-values(DOC[].city))",
             sql("select count(distinct {t:city}) from records"), "[.[].city]|unique|length",
             "count(distinct-values(DB/_/city))"),
        mark("point lookup by field", RECORDS,
             "for $r in DOC[] where $r.id eq %d return $r.score" % point,
             sql("select {n:score} from records where {n:id} = %d" % point),
             ".[]|select(.id==%d)|.score" % point, "DB/_[id = %d]/score/string()" % point),
        mark("aggregates", RECORDS, "[count(DOC[]), sum(DOC[].age), min(DOC[].score), "
             "max(DOC[].score), avg(DOC[].age)]",
             sql("select {array}(count(*), sum({n:age}), min({n:score}), max({n:score}), "
                 "avg({n:age})) from records"),
             "[length,(map(.age)|add),(map(.score)|min),(map(.score)|max),"
             "(map(.age)|add/length)]",
             "let $a := DB/_/age ! number(), $s := DB/_/score ! number() return '[' || "
             "string-join((count($a), sum($a), min($s), max($s), avg($a)), ',') || ']'"),
        mark("deep scan", COMPAT, "count(DOC=>>version_added)", tree("version_added", COMPAT),
             "[..|objects|select(has(\"version_added\"))]|length", "count(DB//version__added)"),
        mark("deep scan, filtered", COMPAT,
             "count(DOC=>>version_added[$$ instance of string and $$ eq 'preview'])",
             {"sqlite": "select count(*) from compat, json_tree(j) t where t.key = 'version_added' "
                        "and t.value = 'preview'",
              "postgres": "select count(*) from compat, jsonb_path_query(j, "
                          "'strict $.**.version_added') v where v = '\"preview\"'",
              "duckdb": "select len(list_filter(json_extract(j, '$..version_added'), "
                        "v -> v = '\"preview\"')) from compat"},
             "[..|objects|select(.version_added==\"preview\")]|length",
             "count(DB//version__added[. = 'preview'])"),
        mark("distinct values, deep", COMPAT, "count(distinct-values(DOC=>>mdn_url))",
             {"sqlite": "select count(distinct t.value) from compat, json_tree(j) t "
                        "where t.key = 'mdn_url'",
              "postgres": "select count(distinct v) from compat, jsonb_path_query(j, "
                          "'strict $.**.mdn_url') v",
              "duckdb": "select len(list_distinct((json_extract(j, '$..mdn_url'))::varchar[])) "
                        "from compat"},
             "[..|objects|.mdn_url//empty]|unique|length",
             "count(distinct-values(DB//mdn__url))"),
        mark("lookup by path", COMPAT, "DOC.api.Window.alert.__compat.mdn_url",
             {"sqlite": "select j->>'$.api.Window.alert.__compat.mdn_url' from compat",
              "postgres": "select j #>> '{api,Window,alert,__compat,mdn_url}' from compat",
              "duckdb": "select j->>'$.api.Window.alert.__compat.mdn_url' from compat"},
             ".api.Window.alert.__compat.mdn_url",
             "DB/api/Window/alert/____compat/mdn__url/string()"),
        mark("aggregates, newest of 10,001 revisions", HISTORY, sirix_aggregates,
             sql(aggregates % "history")),
        mark("aggregates, oldest of 10,001 revisions", HISTORY,
             sirix_aggregates.replace("DOC", "jn:doc('bench','history',$FIRST)"),
             sql(aggregates % OLDEST)),
    ]


def rows(answer):
    """An answer as comparable values: numbers as floats, texts of JSON read."""
    def value(item):
        if isinstance(item, str):
            try:
                item = json.loads(item)
            except ValueError:
                return item
        if isinstance(item, list):
            return [value(part) for part in item]
        return float(item) if isinstance(item, (int, float)) and not isinstance(item, bool) else item
    return [value(item) for item in answer]


def same(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    return a == b
