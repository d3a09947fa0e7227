"""The marks: what is measured, on which sizes, against whom. Every round holds all contestants."""
import os
import re

from tools import Paired, slope

REFS_BYTES = 200  # Rows that a commit writes beside its segment: head, index by time, and their keys.


class Marks:
    def __init__(self, tools, report, postgres, scale):
        self.tools = tools
        self.report = report
        self.postgres = postgres  # None: left out.
        self.scale = scale
        self.postgres_holds = None  # The size of the records in its table.

    # --- Data -------------------------------------------------------------------------------------

    def records(self, size):
        """An array of records of about so many bytes; its file and that of its lines."""
        name = self.tools.path("records-%d" % size)
        if not os.path.exists(name + ".json"):
            self.tools.run("bench_data", "records", size, name + ".json", name + ".lines")
        return name + ".json", name + ".lines"

    def elements(self, count):
        name = self.tools.path("elements-%d.json" % count)
        if not os.path.exists(name):
            self.tools.run("bench_data", "elements", count, name)
        return name

    def pg(self, *args):
        return self.tools.run("bench_postgres", self.postgres.connection, *args) \
            if self.postgres else None

    def have_store(self, size):
        """A folder with the records of that size in resource `records`."""
        folder = "store-%d" % size
        if not os.path.exists(self.tools.path(folder)):
            self.tools.store(folder, True, "import", "records", self.records(size)[0])
        return folder

    def have_sqlite(self, size):
        name = "sqlite-%d" % size
        if not os.path.exists(self.tools.path(name)):
            self.tools.sqlite(name, "import", self.records(size)[1])
        return name

    def have_postgres(self, size):
        """The records of that size in its one table; whether there is a PostgreSQL."""
        if self.postgres and self.postgres_holds != size:
            self.pg("import", self.records(size)[1])
            self.postgres_holds = size
        return self.postgres is not None

    # --- Whole documents --------------------------------------------------------------------------

    def transfers(self):
        """Import and export of records over a ladder of sizes."""
        ladder = self.scale["sizes"]
        speeds, memories, outs = [], [], []
        for size in ladder:
            ins, out = Paired(), Paired()
            rounds = self.scale["import_rounds"] if size < ladder[-1] else \
                self.scale["import_rounds_top"]
            for _ in range(rounds):
                self._transfer(size, ins, out)
            label = "%g MB" % (size / 1e6)
            top = size == ladder[-1]
            speeds.append((size, self._show_import(label, ins, top)))
            memories.append((size, ins.worst("store", "anon_peak_mib")))
            outs.append((size, self._show_export(label, out, top)))
            for name in ("store-%d" % size, "sqlite-%d" % size):
                if size > self.scale["sizes_kept"]:
                    self.tools.remove(name)
        if len(ladder) > 1:
            span = "%g to %g MB" % (ladder[0] / 1e6, ladder[-1] / 1e6)
            self.report.add("import, growth of time", span, "exponent",
                            1 - slope(speeds), note="1: linear")
            self.report.add("import, growth of memory", span, "exponent", slope(memories))
            self.report.add("export, growth of time", span, "exponent", 1 - slope(outs),
                            note="1: linear")

    def _transfer(self, size, ins, out):
        text, lines = self.records(size)
        bytes_of = os.path.getsize(text)
        store, sqlite = "store-%d" % size, "sqlite-%d" % size
        for name in (store, sqlite, "each", "bare"):
            self.tools.remove(name)
        figures = {"store": self.tools.store(store, True, "import", "records", text),
                   "sqlite": self.tools.sqlite(sqlite, "import", lines),
                   "postgres": self.pg("import", lines)}
        if size <= 100_000_000:  # It takes the whole text as one value.
            figures["sqlite json_each"] = self.tools.sqlite("each", "json_each", text)
        stored = figures["store"]["segment_bytes"]
        figures["bare LMDB"] = self.tools.run("bench_limits", self.tools.path("bare"), "bulk", stored)
        for taken in figures.values():
            if taken:
                taken["wall_mb_s"] = bytes_of / 1e6 / taken["wall_s"]
                taken["cpu_mb_s"] = bytes_of / 1e6 / taken["cpu_s"]
                if "file_bytes" in taken:
                    taken["stored"] = taken["file_bytes"] / bytes_of
        figures["store"]["stored"] = stored / bytes_of
        figures["store"]["on_disk"] = figures["store"]["file_bytes"] / bytes_of
        self.postgres_holds = size
        ins.add(**figures)
        outs = {"store": self.tools.store(store, True, "export", "records", text),
                "sqlite": self.tools.sqlite(sqlite, "export"),
                "postgres": self.pg("export"),
                "memcpy": self.tools.run("bench_limits", "-", "copy", text)}
        for taken in outs.values():
            if taken:
                taken["wall_mb_s"] = bytes_of / 1e6 / taken["wall_s"]
                taken["cpu_mb_s"] = bytes_of / 1e6 / taken["cpu_s"]
        out.add(**outs)
        self.tools.remove("each")
        self.tools.remove("bare")

    def _show_import(self, label, ins, top):
        add = self.report.add
        for unit, name in (("wall MB/s", "wall_mb_s"), ("CPU MB/s", "cpu_mb_s")):
            add("import", label, unit, ins.value("store", name), ins.values(name),
                ins.ratios(name, True), top=top)
        add("import", label, "anon MiB", ins.worst("store", "anon_peak_mib"),
            ins.values("anon_peak_mib"), note="peak; of PostgreSQL the backend alone", top=top)
        add("import", label, "file-backed MiB", ins.worst("store", "file_peak_mib"),
            ins.values("file_peak_mib"))
        add("import", label, "stored/text", ins.value("store", "stored"), ins.values("stored"),
            ins.ratios("stored", False), top=top)
        add("import", label, "file/text", ins.value("store", "on_disk"))
        return ins.value("store", "cpu_mb_s")

    def _show_export(self, label, out, top):
        for unit, name in (("wall MB/s", "wall_mb_s"), ("CPU MB/s", "cpu_mb_s")):
            self.report.add("export", label, unit, out.value("store", name), out.values(name),
                            out.ratios(name, True), top=top)
        self.report.add("export", label, "anon MiB", out.worst("store", "anon_peak_mib"))
        return out.value("store", "cpu_mb_s")

    def real_data(self, files):
        """Documents made by others: name to path."""
        for name, path in files.items():
            minified = self.tools.path(name + ".min.json")
            with open(path, encoding="utf-8") as file:
                text = re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda m: m.group(1) or "", file.read())
            with open(minified, "w", encoding="utf-8") as file:
                file.write(text)
            ins, out = Paired(), Paired()
            size = os.path.getsize(minified)
            for _ in range(self.scale["import_rounds"]):
                self.tools.remove("real")
                done = self.tools.store("real", True, "import", "records", minified)
                done["wall_mb_s"] = size / 1e6 / done["wall_s"]
                done["cpu_mb_s"] = size / 1e6 / done["cpu_s"]
                done["stored"] = done["segment_bytes"] / size
                ins.add(store=done)
                done = self.tools.store("real", True, "export", "records", minified)
                done["wall_mb_s"] = size / 1e6 / done["wall_s"]
                done["cpu_mb_s"] = size / 1e6 / done["cpu_s"]
                out.add(store=done)
            label = "%s, %.1f MB" % (name, size / 1e6)
            self._show_import(label, ins, False)
            self._show_export(label, out, False)
            self.tools.remove("real")

    # --- Commits ----------------------------------------------------------------------------------

    def commit_bytes(self):
        count = self.scale["bytes_commits"]
        points, files = [], []
        for size in self.scale["bytes_docs"]:
            folder = self.have_store(size)
            ours = self.tools.store(folder, False, "commits", "records", 0, count, 1, 1)
            peers = {"sqlite": self.tools.sqlite(self.have_sqlite(size), "commits", 0, count, 1, 1,
                                                 "nosync"),
                     "postgres": self.have_postgres(size) and
                                 self.pg("commits", 0, count, 1, 1, "nosync")}
            self._show_bytes("%g MB, %d commits" % (size / 1e6, count), ours,
                             {who: peer for who, peer in peers.items() if peer})
            points.append((size, ours["segment_bytes"]))
            files.append((size, ours["file_bytes"]))
        if len(points) > 1:
            span = "%g to %g MB" % (points[0][0] / 1e6, points[-1][0] / 1e6)
            self.report.add("commit bytes, growth", span, "exponent", slope(points),
                            note="segment B")
            self.report.add("commit bytes, growth of the file", span, "exponent", slope(files))

    def _show_bytes(self, label, ours, peers):
        def against(name):
            return ({who: peer[name] for who, peer in peers.items()},
                    {who: peer[name] / ours[name] for who, peer in peers.items()})

        self.report.add("commit bytes", label, "segment B", ours["segment_bytes"])
        self.report.add("commit bytes", label, "file B", ours["file_bytes"], *against("file_bytes"))
        for layer in ("record", "inner", "leaf", "delta", "child", "string"):
            self.report.add("commit bytes, " + layer, label, "B", ours["layer_" + layer])
        layers = sum(value for name, value in ours.items() if name.startswith("layer_"))
        self.report.add("commit bytes, packs", label, "B", ours["segment_bytes"] - layers)
        self.report.add("commit bytes, rows and LMDB", label, "B",
                        ours["file_bytes"] - ours["segment_bytes"])
        self.report.add("commit, engine alone", label, "CPU us", ours["cpu_us"], *against("cpu_us"),
                        note="without syncs")

    def commit_rates(self):
        """One writer by the size of the document, and writers with resources of their own."""
        os.sync()  # What was imported without syncs before is not the commits' to write.
        top, points = self.scale["commit_doc"], []
        for size in self.scale["rate_docs"]:
            one = self._rate_rounds(("store", "bare LMDB", "write+fdatasync", "sqlite", "postgres"),
                                    size, 1, self.scale["commit_rounds"] if size == top else
                                    self.scale["ladder_rounds"])
            self._show_rate(one, size, size == top)
            points.append((size, 1 / one.value("store", "rate")))
            if size == top:
                alone = one
        self.report.add("commit, 1 writer, growth", "%g to %g MB" % (
            points[0][0] / 1e6, points[-1][0] / 1e6), "exponent", slope(points), note="of time")
        small = self.records(self.scale["client_doc"])[0]
        for i in range(self.scale["writers"][-1]):
            self.tools.store(self.have_store(top), False, "import", "records-%d" % i, small)
        os.sync()
        points = [(1, alone.value("store", "rate"))]
        for writers in self.scale["writers"][1:]:
            last = writers == self.scale["writers"][-1]
            many = self._rate_rounds(("store", "bare LMDB", "sqlite", "postgres"), top, writers,
                                     self.scale["commit_rounds"] if last else
                                     self.scale["ladder_rounds"])
            self._show_writers(many, writers, many.value("store", "rate") /
                               alone.value("store", "rate"))
            points.append((writers, many.value("store", "rate")))
        self.report.add("commit, %d writers, growth" % points[-1][0],
                        "1 to %d writers" % points[-1][0], "exponent", slope(points),
                        note="1: as many times the commits as writers")

    def _rate_rounds(self, contestants, size, writers, rounds):
        folder, sqlite = self.have_store(size), self.have_sqlite(size)
        self.have_postgres(size)
        os.sync()
        taken = Paired()
        for i in range(rounds):
            figures = {}
            for who in self._rotated(i, contestants):
                figures[who] = self._commit_round(who, writers, folder, sqlite,
                                                  self.scale["commit_seconds"], 560 + REFS_BYTES, i)
            taken.add(**figures)
        return taken

    @staticmethod
    def _rotated(i, names):
        return names[i % len(names):] + names[:i % len(names)]

    def _commit_round(self, who, writers, folder, sqlite, seconds, bytes_of, seed):
        if who == "store":
            return self.tools.store(folder, True, "commits", "records", seconds, 0, writers, seed)
        if who == "bare LMDB":
            return self.tools.run("bench_limits", self.tools.path("puts"), "put", bytes_of, seconds,
                                  writers)
        if who == "write+fdatasync":
            return self.tools.run("bench_limits", self.tools.path("appends"), "append", bytes_of,
                                  seconds, writers)
        if who == "sqlite":
            return self.tools.sqlite(sqlite, "commits", seconds, 0, writers, seed)
        return self.pg("commits", seconds, 0, writers, seed, "sync")

    def _show_rate(self, one, size, top):
        label = "%g MB" % (size / 1e6)
        ratios = one.ratios("rate", True)
        self.report.add("commit, 1 writer", label, "commits/s", one.value("store", "rate"),
                        one.values("rate"), ratios, reached=ratios["bare LMDB"] >= 0.8, top=top)
        self.report.add("commit, 1 writer", label, "CPU us", one.value("store", "cpu_us"),
                        one.values("cpu_us"), one.ratios("cpu_us", False))
        self.report.add("commit, 1 writer", label, "p50 us", one.value("store", "p50_us"),
                        one.values("p50_us"))

    def _show_writers(self, many, writers, rise):
        mark, label = "commit, %d writers" % writers, "resources of their own"
        self.report.add(mark, label, "commits/s", many.value("store", "rate"), many.values("rate"),
                        many.ratios("rate", True),
                        note="bare LMDB: %d puts a transaction" % writers, reached=rise >= 10)
        self.report.add(mark + " over 1", label, "x", rise)
        self.report.add(mark, label, "CPU us", many.value("store", "cpu_us"), many.values("cpu_us"))
        self.report.add(mark, label, "commits a group", many.value("store", "works_a_group"))

    # --- Reads ------------------------------------------------------------------------------------

    def point_reads(self):
        size = self.scale["commit_doc"]
        self.have_postgres(size)
        self.tools.remove("reads")
        self.tools.remove("reads-sqlite")
        text, lines = self.records(size)
        self.tools.store("reads", False, "import", "records", text)
        self.tools.sqlite("reads-sqlite", "import", lines)
        newest, done = [], 0
        for revisions in self.scale["revisions"]:
            self.tools.store("reads", False, "commits", "records", 0, revisions - done, 1, 5)
            self.tools.sqlite("reads-sqlite", "commits", 0, revisions - done, 1, 5, "nosync")
            done = revisions
            reads = Paired()
            for _ in range(self.scale["read_rounds"]):
                reads.add(store=self.tools.store("reads", True, "reads", "records",
                                                 self.scale["reads"]),
                          sqlite=self.tools.sqlite("reads-sqlite", "reads", self.scale["reads"]),
                          postgres=self.pg("reads", self.scale["reads"] // 10))
            label = "%d revisions" % revisions
            top = revisions == self.scale["revisions"][-1]
            for unit, name in (("newest us", "newest_us"), ("oldest us", "oldest_us")):
                self.report.add("point read", label, unit, reads.value("store", name),
                                reads.values(name), reads.ratios(name, False),
                                note="PostgreSQL: over a socket" if self.postgres else "",
                                top=top)
            self.report.add("point read", label, "oldest/newest",
                            reads.value("store", "oldest_us") / reads.value("store", "newest_us"),
                            {who: reads.value(who, "oldest_us") / reads.value(who, "newest_us")
                             for who in reads.values("oldest_us")}, top=top)
            self.report.add("point read, by path", label, "us",
                            reads.value("store", "newest_path_us"))
            newest.append((revisions, reads.value("store", "newest_us")))
        self.report.add("point read, growth", "%d to %d revisions" % (newest[0][0], newest[-1][0]),
                        "exponent", slope(newest))

    def elements_by_index(self):
        points = []
        for count in self.scale["elements"]:
            text = self.elements(count)
            self.tools.remove("elements")
            self.tools.store("elements", False, "import", "records", text)
            reads = Paired()
            for _ in range(self.scale["read_rounds"]):
                ours = self.tools.store("elements", True, "elements", "records",
                                        self.scale["reads"])
                self.tools.remove("elements-sqlite")
                peer = self.tools.sqlite("elements-sqlite", "array", 20, text)
                jsonb = self.pg("array", 20, text)
                reads.add(**{"store": ours, "sqlite json": peer, "postgres jsonb": jsonb,
                             "sqlite row": self._rows(peer), "postgres row": self._rows(jsonb)})
            self.report.add("element i", "%d elements" % count, "us",
                            reads.value("store", "element_us"), reads.values("element_us"),
                            reads.ratios("element_us", False),
                            top=count == self.scale["elements"][-1])
            points.append((count, reads.value("store", "element_us")))
        self.report.add("element i, growth", "%d to %d" % (points[0][0], points[-1][0]), "exponent",
                        slope(points))

    @staticmethod
    def _rows(peer):
        return {"element_us": peer["row_us"]} if peer else None

    # --- Branches, labels, reverts, diffs -----------------------------------------------------------

    def refs(self):
        self.tools.remove("refs")
        self.tools.store("refs", False, "import", "records", self.records(1_000_000)[0])
        points = {"branch": [], "label": [], "revert": []}
        for count in self.scale["branches"]:
            measured = self.scale["refs_measured"]
            ours = self.tools.store("refs", False, "refs", "records", count, measured)
            for what, seen in points.items():
                label, top = "%d branches" % count, count == self.scale["branches"][-1]
                self.report.add(what, label, "us", ours[what + "_us"], note="without sync", top=top)
                self.report.add(what, label, "CPU us", ours[what + "_cpu_us"])
                self.report.add(what, label, "file B", ours[what + "_bytes"], top=top)
                seen.append((count, ours[what + "_us"]))
        for what, seen in points.items():
            self.report.add(what + ", growth", "%d to %d" % (seen[0][0], seen[-1][0]), "exponent",
                            slope(seen))
        pairs = Paired()
        for _ in range(self.scale["commit_rounds"]):
            ours = self.tools.store("refs", True, "refs", "records", 0, self.scale["refs_synced"])
            bare = self.tools.run("bench_limits", self.tools.path("puts"), "put", 200, 0.1, 1)
            bare["us"] = 1e6 / bare["rate"]
            pairs.add(**{"store": {"us": ours["branch_us"], "revert_us": ours["revert_us"],
                                   "label_us": ours["label_us"]},
                         "bare LMDB": {"us": bare["us"], "revert_us": bare["us"],
                                       "label_us": bare["us"]}})
        for what, name in (("branch", "us"), ("label", "label_us"), ("revert", "revert_us")):
            self.report.add(what + ", durable", "", "us", pairs.value("store", name),
                            pairs.values(name), pairs.ratios(name, False))
        self.tools.remove("deep")
        self.tools.store("deep", False, "import", "records", self.records(1_000_000)[0])
        points, done = [], 0
        measured = self.scale["depths"][0] // 2
        for depth in self.scale["depths"]:
            deep = self.tools.store("deep", False, "depth", "records", done, depth, measured)
            for unit, name in (("us", "deep_us"), ("CPU us", "deep_cpu_us")):
                self.report.add("branch and commit", "depth %d" % depth, unit, deep[name])
            points.append((depth, deep["deep_cpu_us"]))
            done = depth
        self.report.add("branch and commit, growth", "depth %d to %d" % (points[0][0], done),
                        "exponent", slope(points), note="of CPU time")

    def diffs(self):
        one, many = [], []
        for size in self.scale["diff_docs"]:
            folder = self.have_store(size)
            sqlite = self.have_sqlite(size)
            for changes in self.scale["changes"]:
                if changes * 430 > size:
                    continue
                pairs = Paired()
                self.tools.sqlite(sqlite, "commits", 0, changes, 1, 3, "nosync")
                if self.have_postgres(size):
                    self.pg("commits", 0, changes, 1, 3, "nosync")
                for _ in range(self.scale["diff_rounds"]):
                    pairs.add(store=self.tools.store(folder, False, "diff", "records", changes),
                              sqlite=self.tools.sqlite(sqlite, "diff", changes),
                              postgres=self.pg("diff", changes))
                nodes = pairs.value("store", "nodes")
                label = "%.3g nodes" % nodes
                mark = "diff of %d change%s" % (changes, "" if changes == 1 else "s")
                self.report.add(mark, label, "us", pairs.value("store", "diff_us"),
                                pairs.values("diff_us"), pairs.ratios("diff_us", False),
                                top=size == self.scale["diff_docs"][-1] or
                                size == self.scale["commit_doc"])
                self.report.add(mark, label, "CPU us", pairs.value("store", "diff_cpu_us"))
                self.report.add(mark + ", first", label, "us", pairs.value("store", "first_us"))
                if changes == 1:
                    one.append((nodes, pairs.value("store", "diff_us")))
                if size == self.scale["commit_doc"]:
                    many.append((changes, pairs.value("store", "diff_us")))
        self.report.add("diff of 1 change, growth", "%.3g to %.3g nodes" % (one[0][0], one[-1][0]),
                        "exponent", slope(one))
        if len(many) > 1:
            self.report.add("diff, growth", "%d to %d changes" % (many[0][0], many[-1][0]),
                            "exponent", slope(many))
