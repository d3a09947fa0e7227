"""Agents that branch: BranchBench's five workflows, on each contestant's own copy of the same tables."""
import os
import signal
import subprocess

from tools import Paired

OURS_SECONDS_MAX = 7200  # BranchBench's own limit.
WORKFLOWS = ["software_dev", "failure_repro", "data_cleaning", "mcts", "simulation"]
ROWS = [  # Unit of a row, figure, and what it is divided by.
    ("wall s", "wall_s", 1), ("create p50 ms", "create_p50_us", 1000),
    ("create p99 ms", "create_p99_us", 1000), ("write p50 ms", "write_p50_us", 1000),
    ("question p50 ms", "ask_p50_us", 1000),
]


class Branches:
    def __init__(self, tools, report, postgres, scale, start_daemon):
        self.tools = tools
        self.report = report
        self.postgres = postgres  # None: left out.
        self.scale = scale
        self.start_daemon = start_daemon
        self.document = tools.path("tables.json")
        self.rows = tools.path("tables.rows")

    def run(self):
        items, customers = self.scale["branch_items"], self.scale["branch_customers"]
        self.bytes = self.tools.run("bench_branches_seed", items, customers, self.document,
                                    self.rows)["document_bytes"]
        for size in self.scale["branch_sizes"]:
            for workflow in WORKFLOWS:
                self._workflow(size, workflow)

    def _steps(self, program, where, workflow, size):
        """Ours takes all steps with all workers; peers, which fork a process a connection or have one
        writer, share the steps among fewer workers and begin none any more after a while."""
        ours = program == "bench_branches"
        return self.tools.run(program, where, workflow, size,
                              0 if ours else self.scale["branch_threads"],
                              OURS_SECONDS_MAX if ours else self.scale["branch_seconds"],
                              self.scale["branch_items"], self.scale["branch_customers"])

    def _ours(self, workflow, size):
        folder = "branches"
        self.tools.remove(folder)
        daemon, _ = self.start_daemon(self.tools.path(folder))
        address = "unix:" + self.tools.path(folder, "storaged.sock")
        try:
            subprocess.run([self.tools.need("sirixctl"), "import", "--storage", address, "--quiet",
                            "bench/tables", self.document], check=True, stdout=subprocess.DEVNULL)
            before = allocated(self.tools.path(folder))
            taken = self._steps("bench_branches", address, workflow, size)
            taken["bytes_a_step"] = (allocated(self.tools.path(folder)) - before) / taken["steps"]
            taken.update(usage(daemon.pid))
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)
            self.tools.remove(folder)
        return taken

    def _sqlite(self, workflow, size):
        program = "bench_branches_sqlite"
        if not self.tools.program(program):
            return None
        name = "branches-sqlite"
        self.tools.remove(name)
        self.tools.run(program, self.tools.path(name), "load", self.rows)
        taken = self._steps(program, self.tools.path(name), workflow, size)
        self.tools.remove(name)
        return taken

    def _postgres(self, workflow, size):
        program = "bench_branches_postgres"
        if not self.postgres or not self.tools.program(program):
            return None
        self.tools.run(program, self.postgres.connection, "load", self.rows)
        return self._steps(program, self.postgres.connection, workflow, size)

    def _workflow(self, size, workflow):
        round_of_all = Paired()
        round_of_all.add(store=self._ours(workflow, size), sqlite=self._sqlite(workflow, size),
                         postgres=self._postgres(workflow, size))
        value, values = round_of_all.value, round_of_all.values
        mark = "branching, " + workflow
        steps = value("store", "steps_all")
        label = "%s, %d steps" % (size, steps)
        top = size == self.scale["branch_sizes"][-1]
        self.report.add(mark, label, "steps", value("store", "steps"), values("steps"),
                        reached=value("store", "steps") == steps, target="all", top=top,
                        note="peers: as far as they came in %g s" % self.scale["branch_seconds"])
        for unit, name, divisor in ROWS:
            ours = value("store", name)
            self.report.add(mark, label, unit, None if ours is None else ours / divisor,
                            {who: its / divisor for who, its in values(name).items()},
                            round_of_all.ratios(name, False) if name != "wall_s" else None, top=top)
        self.report.add(mark, label, "% of the time making, opening, dropping branches",
                        100 * value("store", "managed_share"),
                        {who: 100 * its for who, its in values("managed_share").items()}, top=top)
        self.report.add(mark, label, "file B a step", value("store", "bytes_a_step"), top=top)
        if value("store", "ask_deepest_us"):
            self.report.add(mark, "%s, depth %d over 1" % (size, value("store", "deepest")),
                            "question x", value("store", "ask_deepest_us") /
                            value("store", "ask_first_us"), top=top)
        if value("store", "compare_all_s"):
            self.report.add(mark, label, "one query over all leaves / one by one",
                            value("store", "compare_all_s") / value("store", "compare_loop_s"),
                            top=top)
        self.report.add(mark, label, "CPU s, storaged", value("store", "daemon_cpu_s"), top=top)
        self.report.add(mark, label, "anon MiB, storaged", value("store", "daemon_anon_mib"), top=top)


def allocated(folder):
    """Allocated bytes of all files below a folder."""
    return sum(os.stat(os.path.join(at, name)).st_blocks * 512
               for at, _, names in os.walk(folder) for name in names)


def usage(pid):
    """CPU seconds of a process so far, and its anonymous memory now."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        anon = [int(line.split()[1]) for line in file if line.startswith("RssAnon:")]
    ticks = os.sysconf("SC_CLK_TCK")
    return {"daemon_cpu_s": (int(fields[11]) + int(fields[12])) / ticks,
            "daemon_anon_mib": anon[0] / 1024}
