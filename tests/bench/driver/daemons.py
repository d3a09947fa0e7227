"""The marks of whole processes: how long storaged takes to start, and what calls over gRPC take."""
import os
import signal
import subprocess
import time

from tools import Paired, slope


def mb(size):
    return "%g MB" % (size / 1e6)


class Daemons:
    def __init__(self, tools, report, postgres, scale, records):
        self.tools = tools
        self.report = report
        self.postgres = postgres  # None: left out.
        self.scale = scale
        self.records = records  # Makes the records of a size, as Marks has it.

    def start(self, data):
        """Starts storaged; the process, and the milliseconds until it answers, of time and of CPU."""
        ready, write = os.pipe()
        began = time.monotonic()
        with open(self.tools.path("storaged.log"), "ab") as log:
            daemon = subprocess.Popen([self.tools.need("storaged"), "--data", data, "--ready-fd",
                                       str(write)], stderr=log, pass_fds=(write,))
        os.close(write)
        word = os.read(ready, 64)
        os.close(ready)
        if word != b"ready\n":
            raise RuntimeError("storaged did not start")
        took = (time.monotonic() - began) * 1000
        cpu_ns = 0
        for task in os.listdir("/proc/%d/task" % daemon.pid):
            with open("/proc/%d/task/%s/schedstat" % (daemon.pid, task), encoding="ascii") as file:
                cpu_ns += int(file.read().split()[0])
        return daemon, {"ms": took, "cpu_ms": cpu_ns / 1e6}

    @staticmethod
    def _stop(daemon):
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)

    @staticmethod
    def _address(data):
        return "unix:" + data + "/storaged.sock"

    def _fill(self, data, files):
        """Imports files (resource to path) into the database `bench` of a new folder."""
        daemon, _ = self.start(data)
        try:
            for name, path in files:
                subprocess.run([self.tools.need("sirixctl"), "import", "--storage",
                                self._address(data), "--quiet", "bench/" + name, path], check=True,
                               stdout=subprocess.DEVNULL)
        finally:
            self._stop(daemon)

    # --- Calls ------------------------------------------------------------------------------------

    def calls(self):
        """Reads and commits by the size of the document, and commits by writers."""
        data = self.tools.path("calls")
        self.tools.remove("calls")
        self._fill(data, [("size-%d" % size, self.records(size)[0])
                          for size in self.scale["rate_docs"]] +
                   [("records-%d" % i, self.records(self.scale["client_doc"])[0])
                    for i in range(self.scale["writers"][-1])])
        daemon, _ = self.start(data)
        try:
            self._sizes(self._address(data))
            self._writers(self._address(data))
        finally:
            self._stop(daemon)

    def _call(self, address, *args):
        return self.tools.run("bench_client", address, "bench", *args)

    def _bare(self):
        return self.tools.run("bench_limits", self.tools.path("puts"), "put", 760,
                              self.scale["commit_seconds"], 1)

    def _sizes(self, address):
        times, rates = [], []
        top = self.scale["commit_doc"]
        for size in self.scale["rate_docs"]:
            reads, one = Paired(), Paired()
            name = "size-%d" % size
            for _ in range(self.scale["commit_rounds"] if size == top else
                           self.scale["ladder_rounds"]):
                reads.add(store=self._call(address, "reads", name, self.scale["reads"] // 20))
                one.add(**{"store": self._call(address, "commits", name,
                                               self.scale["commit_seconds"], 1),
                           "bare LMDB": self._bare()})
            label = mb(size) + ", by path"
            self.report.add("point read, gRPC", label, "us", reads.value("store", "read_us"),
                            top=size == top)
            self.report.add("point read, gRPC", label, "p99 us", reads.value("store", "read_p99_us"))
            self.report.add("commit over gRPC, 1 writer", mb(size), "commits/s",
                            one.value("store", "rate"), one.values("rate"),
                            one.ratios("rate", True))
            times.append((size, reads.value("store", "read_us")))
            rates.append((size, 1 / one.value("store", "rate")))
        span = "%s to %s" % (mb(times[0][0]), mb(times[-1][0]))
        self.report.add("point read, gRPC, growth", span, "exponent", slope(times))
        self.report.add("commit over gRPC, 1 writer, growth of time", span, "exponent", slope(rates))

    def _writers(self, address):
        points = []
        for writers in self.scale["writers"]:
            many = Paired()
            # One alone writes the first of the resources, which have the same content.
            name = "records-0" if writers == 1 else "records"
            for _ in range(self.scale["commit_rounds"]
                           if writers == self.scale["writers"][-1] else
                           self.scale["ladder_rounds"]):
                many.add(**{"store": self._call(address, "commits", name,
                                                self.scale["commit_seconds"], writers),
                            "bare LMDB": self._bare()})
            self.report.add("commit over gRPC, by writers", "%d writers" % writers, "commits/s",
                            many.value("store", "rate"), many.values("rate"),
                            many.ratios("rate", True), note="bare LMDB: one put a transaction")
            points.append((writers, many.value("store", "rate")))
        self.report.add("commit over gRPC, by writers, growth",
                        "%d to %d writers" % (points[0][0], points[-1][0]), "exponent",
                        slope(points), note="1: as many times the commits as writers")

    # --- Start-up ---------------------------------------------------------------------------------

    def _starts(self, data, postgres):
        starts = Paired()
        for _ in range(self.scale["commit_rounds"]):
            daemon, ready = self.start(data)
            self._stop(daemon)
            if postgres:
                postgres.stop()
                postgres.start()
            starts.add(store=ready, postgres={"ms": postgres.start_ms} if postgres else None)
        return starts

    def _show_starts(self, mark, label, starts, top):
        self.report.add(mark, label, "ms", starts.value("store", "ms"), starts.values("ms"),
                        starts.ratios("ms", False), top=top)
        self.report.add(mark, label, "CPU ms", starts.value("store", "cpu_ms"))

    def starts(self):
        """Start-up by the size of the document, and by the number of databases."""
        points = []
        for size in self.scale["rate_docs"]:
            name = "started-%d" % size
            self.tools.remove(name)
            self._fill(self.tools.path(name), [("records", self.records(size)[0])])
            top = size == self.scale["commit_doc"]
            starts = self._starts(self.tools.path(name), self.postgres if top else None)
            self._show_starts("start-up, storaged", mb(size), starts, top)
            points.append((size, starts.value("store", "ms")))
            self.tools.remove(name)
        self.report.add("start-up, storaged, growth",
                        "%s to %s" % (mb(points[0][0]), mb(points[-1][0])), "exponent",
                        slope(points))
        self._databases()
        opens = Paired()
        if os.path.exists(self.tools.path("reads")):
            for _ in range(self.scale["commit_rounds"]):
                opens.add(store=self.tools.store("reads", True, "open"),
                          sqlite=self.tools.sqlite("reads-sqlite", "open"))
            self.report.add("start-up, the store alone",
                            "%d revisions" % self.scale["revisions"][-1], "us",
                            opens.value("store", "open_us"), opens.values("open_us"))

    def _databases(self):
        data = self.tools.path("many")
        self.tools.remove("many")
        points, done = [], 0
        for count in self.scale["databases"]:
            daemon, _ = self.start(data)
            try:
                self.tools.run("bench_client", self._address(data), "many", "databases", "records",
                               done + 1, count)
            finally:
                self._stop(daemon)
            done = count
            starts = self._starts(data, None)
            self._show_starts("start-up, by databases", "%d database%s" % (
                count, "" if count == 1 else "s"), starts, False)
            points.append((count, starts.value("store", "ms")))
        self.report.add("start-up, by databases, growth",
                        "%d to %d databases" % (points[0][0], points[-1][0]), "exponent",
                        slope(points))
        self.tools.remove("many")
