"""The report: rows of marks, as a table on stdout and as JSON."""
import json
import os
import platform
import subprocess
import time

# Mark and figure -> (what is to be reached, in words, and as a test of the value). Values are in the
# unit of their row.
TARGETS = {
    ("import", "wall MB/s"): (">= 100", lambda v: v >= 100),
    ("import", "CPU MB/s"): (">= 100", lambda v: v >= 100),
    ("import", "anon MiB"): ("<= 256", lambda v: v <= 256),
    ("import", "stored/text"): ("<= 1", lambda v: v <= 1),
    ("export", "wall MB/s"): (">= 500", lambda v: v >= 500),
    ("export", "CPU MB/s"): (">= 500", lambda v: v >= 500),
    ("commit, 1 writer", "commits/s"): (">= 0.8 x LMDB", None),
    ("commit, 64 writers", "commits/s"): (">= 10 x 1 writer", None),
    ("commit bytes", "segment B"): ("<= 1024", lambda v: v <= 1024),
    ("commit bytes", "file B"): ("<= 1024", lambda v: v <= 1024),
    ("point read", "newest us"): ("<= 5", lambda v: v <= 5),
    ("point read", "oldest/newest"): ("<= 1.2", lambda v: v <= 1.2),
    ("point read, gRPC", "us"): ("<= 200", lambda v: v <= 200),
    ("branch", "us"): ("<= 100", lambda v: v <= 100),
    ("branch", "file B"): ("<= 512", lambda v: v <= 512),
    ("label", "us"): ("<= 100", lambda v: v <= 100),
    ("label", "file B"): ("<= 512", lambda v: v <= 512),
    ("revert", "us"): ("<= 100", lambda v: v <= 100),
    ("revert", "file B"): ("<= 512", lambda v: v <= 512),
    ("diff of 1 change", "us"): ("<= 1000", lambda v: v <= 1000),
    ("diff of 10000 changes", "us"): ("<= 50000", lambda v: v <= 50000),
    ("element i", "us"): ("<= 10", lambda v: v <= 10),
    ("start-up, storaged", "ms"): ("<= 50", lambda v: v <= 50),
    ("branching, mcts", "wall s"): ("<= 60", lambda v: v <= 60),
    ("branching, simulation", "wall s"): ("<= 60", lambda v: v <= 60),
    ("branching, mcts", "file B a step"): ("<= 2048", lambda v: v <= 2048),
    ("branching, mcts", "question x"): ("<= 1.5", lambda v: v <= 1.5),
}

# Where the exponent of growth of a figure stands, if not at its mark's name.
GROWTH = {
    ("import", "wall MB/s"): "import, growth of time",
    ("import", "CPU MB/s"): "import, growth of time",
    ("import", "anon MiB"): "import, growth of memory",
    ("export", "wall MB/s"): "export, growth of time",
    ("export", "CPU MB/s"): "export, growth of time",
    ("commit bytes", "segment B"): "commit bytes, growth",
    ("commit bytes", "file B"): "commit bytes, growth of the file",
    ("diff of 10000 changes", "us"): "diff, growth",
}
# Between these lines of a document stand the figures.
FIGURES_BEGIN = "<!-- figures: written by tests/bench/run --markdown -->\n"
FIGURES_END = "<!-- figures: end -->\n"

# Units that do not grow as their mark's time does, unless GROWTH says more.
GROWS_NOT = {"stored/text", "file B", "segment B", "oldest/newest"}


def short(value):
    """A number in about three digits."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        return "%.0f" % value
    return "%.3g" % value


def around_figures(path):
    """What stands before and behind the figures in a document; nothing where there is none yet."""
    if not os.path.exists(path):
        return "", ""
    with open(path, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(FIGURES_BEGIN)
    end, behind = rest.partition(FIGURES_END)[1:]
    if not begin or not end:
        raise SystemExit(path + " has no place for figures")
    return before, behind


class Report:
    def __init__(self, tools, settings):
        self.tools = tools
        self.rows = []
        self.load = []  # The least and the most of the run.
        self.settings = settings

    def add(self, mark, size, unit, value, peers=None, ratios=None, note="",
            reached=None, top=True, target=None):
        """A row; top: it is the size that the mark is about, not a step on the way there. target: what
        is to be reached, in words, where TARGETS does not say it."""
        if value is None:
            return
        wanted = (target, None) if target else TARGETS.get((mark, unit), ("", None))
        target, test = wanted if top else ("", None)
        if reached is None and test is not None:
            reached = test(value)
        self.rows.append({"mark": mark, "size": size, "unit": unit, "value": value,
                          "peers": peers or {}, "ratios": ratios or {}, "target": target,
                          "reached": reached, "note": note})
        load = os.getloadavg()[0]
        self.load = [min(load, *self.load), max(load, *self.load)] if self.load else [load, load]
        self.tools.say("%s, %s: %s %s%s" % (
            mark, size, short(value), unit,
            "".join("; %s %s" % (who, short(v)) for who, v in (peers or {}).items())))

    def table(self):
        """Everything that was measured, as a table in Markdown."""
        lines = ["| mark | size | ours | unit | others | ours is x times better |",
                 "| --- | --- | ---: | --- | --- | --- |"]
        for row in self.rows:
            lines.append("| %s | %s | %s | %s | %s | %s |" % (
                row["mark"] + (" (%s)" % row["note"] if row["note"] else ""), row["size"],
                short(row["value"]), row["unit"],
                ", ".join("%s %s" % (who, short(v)) for who, v in row["peers"].items()),
                ", ".join("%s %.2f" % item for item in row["ratios"].items())))
        return "\n".join(lines)

    def summary(self):
        """The figures that are to be reached, as a table in Markdown."""
        grown = {row["mark"]: row for row in self.rows if row["unit"] == "exponent"}
        lines = ["| mark | size | measured | to reach | reached | growth |",
                 "| --- | --- | ---: | --- | --- | --- |"]
        for row in self.rows:
            if not row["target"]:
                continue
            growth = GROWTH.get((row["mark"], row["unit"]), row["mark"] + ", growth")
            exponent = grown.get(growth)
            lines.append("| %s | %s | %s %s | %s | %s | %s |" % (
                row["mark"], row["size"], short(row["value"]), row["unit"], row["target"],
                {True: "yes", False: "**no**", None: ""}[row["reached"]],
                "%.2f over %s" % (exponent["value"], exponent["size"])
                if exponent and ((row["mark"], row["unit"]) in GROWTH or
                                 row["unit"] not in GROWS_NOT) else ""))
        return "\n".join(lines)

    def document(self):
        return {"machine": machine(), "settings": self.settings, "rows": self.rows,
                "load": self.load or [0, 0], "date": time.strftime("%Y-%m-%d", time.gmtime())}

    def figures(self):
        """Both tables, with what they were measured on."""
        made = self.document()
        on, load = made["machine"], made["load"]
        return "\n".join([
            "Of %s, commit %s; %d cores (%s), %d GiB, Linux %s; %g to %g programs wanted a core." % (
                made["date"], self.settings["commit"], on["cores"], on["cpu"], on["memory_gib"],
                on["kernel"], round(load[0], 1), round(load[1], 1)),
            "", "### What is to be reached", "", self.summary(), "", "### All figures", "",
            "Branches, labels and reverts are without a sync; rows called durable have them with one. "
            "`others` and `ours is x times better` name the contestants; ratios are medians over rounds, "
            "so they need not be",
            "the quotient of the medians beside them.", "", self.table(), ""])

    def write_markdown(self, path):
        """The figures as a file, or in one that has a place for them."""
        before, behind = around_figures(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + FIGURES_BEGIN + "\n" + self.figures() + "\n" + FIGURES_END + behind)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.document(), file, indent=1)
            file.write("\n")


def machine():
    """What kind of machine this is; nothing that names it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "kernel": platform.release().split("-")[0]}


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
    return done.stdout.strip() or "unknown"
