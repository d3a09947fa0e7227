"""Marks that have programs of their own: each is run once and gives its rows as JSON."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Programs:
    def __init__(self, tools, report, size):
        self.tools = tools
        self.report = report
        self.size = ["--" + size] if size else []  # quick, smoke, or neither.

    def _rows(self, path, *needs, more=()):
        """What a program in tests/bench found; None where what it needs was not built."""
        missing = [name for name in needs if self.tools.program(name) is None]
        if missing or not os.path.exists(os.path.join(HERE, path)):
            self.tools.say("Left out, not built: %s (%s)" % (path, ", ".join(missing)))
            return None
        out = self.tools.path(path.replace("/", "-") + ".json")
        subprocess.run([sys.executable, os.path.join(HERE, path), "--build", self.tools.build,
                        "--dir", self.tools.folder, "--out", out, *more], check=True,
                       stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def _paired(self, mark, size, unit, values):
        ours = values.get("sirix")
        others = {who: value for who, value in values.items() if who != "sirix"}
        self.report.add(mark, size, unit, ours, others,
                        {who: value / ours for who, value in others.items()} if ours else None)

    def queries(self):
        found = self._rows("queries", "bench_query", "bench_plan", "storaged", more=self.size)
        for row in found["rows"] if found else []:
            mark = "query, " + row["mark"]
            self._paired(mark, row["data"], "ms", row["ms"])
            self._paired(mark + ", cold", row["data"], "ms", row["cold_ms"])
            self._paired(mark, row["data"], "anon MiB", row["anon_mib"])
        for name, us in found["plan_us"].items() if found else []:
            self.report.add("query, parse and plan", name, "us", us)

    def sql(self):
        small = ["--smoke"] if self.size == ["--smoke"] else ["--records", "200000"] if self.size \
            else []
        found = self._rows("sql/run", "bench_sql", more=small)
        for row in found["rows"] if found else []:
            self._paired("SQL, " + row["mark"], "%d records" % row["records"], "ms", row["ms"])

    def gateway(self):
        found = self._rows("gateway", "bench_gateway", "sirix-mcp", "storaged", more=self.size)
        for row in found["rows"] if found else []:
            goal, value, more = row["goal"], row["value"], row["unit"].endswith("/s")
            self.report.add(row["mark"], row["data"], row["unit"], value,
                            target=goal and "%s %g" % (">=" if more else "<=", goal),
                            reached=goal and (value >= goal if more else value <= goal))
