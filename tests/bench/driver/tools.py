"""Runs the bench programs and keeps what they say."""
import math
import os
import shutil
import statistics
import subprocess
import time


class Tools:
    """Where the programs and the files of one run are."""

    def __init__(self, build, folder, rounds):
        self.build = build
        self.folder = folder
        self.rounds = rounds
        self.started = time.monotonic()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def program(self, name):
        for folder in ("tests/bench/common", "tests/bench/store", "tests/bench/peers",
                       "tests/bench/client", "tests/bench/branches", "tests/bench/gateway",
                       "tests/bench/query", "tests/bench/sql", "bin"):
            path = os.path.join(self.build, folder, name)
            if os.path.exists(path):
                return path
        return None

    def say(self, text):
        print("[%5.0f s] %s" % (time.monotonic() - self.started, text), flush=True)

    def need(self, name):
        program = self.program(name)
        if program is None:
            raise RuntimeError("there is no %s in %s: build it first" % (name, self.build))
        return program

    def run(self, name, *args):
        """The figures that a program prints: name to number."""
        program = self.need(name)
        done = subprocess.run([program, *map(str, args)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("%s %s: %s" % (name, " ".join(map(str, args)), done.stderr.strip()))
        return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}

    def store(self, folder, sync, *args):
        return self.run("bench_store", self.path(folder), "sync" if sync else "nosync", *args)

    def sqlite(self, name, *args):
        return self.run("bench_sqlite", self.path(name), *args) if self.program("bench_sqlite") \
            else None

    def remove(self, name):
        for path in (self.path(name), self.path(name) + "-wal", self.path(name) + "-shm"):
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.remove(path)


def median(values):
    return statistics.median(values)


class Paired:
    """Rounds of several contestants on the same task: the median of each, and of the ratios."""

    def __init__(self):
        self.rounds = []

    def add(self, **figures):
        """One round: contestant to figures (None: it did not take part)."""
        self.rounds.append(figures)

    def _taken(self, who, name):
        return [r[who][name] for r in self.rounds if r.get(who) and name in r[who]]

    def value(self, who, name):
        taken = self._taken(who, name)
        return median(taken) if taken else None

    def worst(self, who, name):
        taken = self._taken(who, name)
        return max(taken) if taken else None

    def values(self, name, but=("store",)):
        """Contestant to median, of all that have the figure."""
        names = {who for r in self.rounds for who in r if r[who]}
        found = {who: self.value(who, name) for who in names if who not in but}
        return {who: value for who, value in sorted(found.items()) if value is not None}

    def ratios(self, name, more_is_better, but=("store",)):
        """How many times better the store is than each other one: the median over the rounds."""
        found = {}
        for who in self.values(name, but):
            pairs = [(r["store"][name], r[who][name]) for r in self.rounds
                     if r.get("store") and r.get(who)]
            ratios = [(ours / its if more_is_better else its / ours) for ours, its in pairs
                      if ours and its]
            if ratios:
                found[who] = median(ratios)
        return found


def slope(points):
    """The growth of a figure over a ladder: 0 does not grow, 1 grows as the size does."""
    (small, low), (large, high) = points[0], points[-1]
    if small == large or low <= 0 or high <= 0:
        return None
    return math.log(high / low) / math.log(large / small)
