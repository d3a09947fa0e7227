"""
The gateway's figures: calls over HTTP, what it adds to gRPC, its start, its memory, large answers, and
what slow clients do to others.

    tests/bench/gateway --build DIR --dir DIR --out FILE [--quick | --smoke]

Prints nothing; writes JSON: {"rows": [{"mark", "data", "unit", "value", "goal"}]}. Goals are those of
a release build on an idle machine of two cores. Called by tests/bench/run.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"}}}).encode() + b"\n"


class Bench:
    def __init__(self, build, folder, scale):
        self.build, self.folder, self.scale = build, folder, scale
        self.data = os.path.join(folder, "data")
        self.rows = []

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def add(self, mark, data, unit, value, goal=None):
        self.rows.append({"mark": mark, "data": data, "unit": unit, "value": value, "goal": goal})

    def store(self, name, text):
        subprocess.run([self.program("sirixctl"), "import", name, "-", "--data", self.data,
                        "--quiet"], input=text.encode(), check=True)

    def stdio(self, *args):
        return subprocess.Popen([self.program("sirix-mcp"), "--database-path", self.data, *args],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)

    @staticmethod
    def ask(process, tool, **arguments):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, "_meta": META}}).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        if answer["result"]["isError"]:
            raise SystemExit(f"{tool}: {answer}")
        return answer["result"]["structuredContent"]

    @staticmethod
    def end(process):
        process.stdin.close()
        process.wait()

    def starts(self):
        """The first answer of a process: with a storaged, and with one that it has to start."""
        times, cold = [], []
        holder = self.stdio()
        self.ask(holder, "status")
        for _ in range(self.scale["starts"]):
            began = time.perf_counter()
            process = self.stdio()
            process.stdin.write(HELLO)
            process.stdin.flush()
            process.stdout.readline()
            times.append((time.perf_counter() - began) * 1000)
            self.end(process)
        self.end(holder)
        for number in range(self.scale["starts"]):
            self.data = os.path.join(self.folder, f"cold{number}")
            began = time.perf_counter()
            process = self.stdio()
            self.ask(process, "sirix_list_databases")
            cold.append((time.perf_counter() - began) * 1000)
            self.end(process)
        self.data = os.path.join(self.folder, "data")
        self.add("gateway, ready on stdio", "initialize answered", "ms", statistics.median(times), 50)
        self.add("gateway, ready with a storaged of its own", "first call answered", "ms",
                 statistics.median(cold), 200)

    def measure(self, how, target, clients):
        done = subprocess.run([os.path.join(self.build, "tests/bench/gateway/bench_gateway"), how,
                               target, "db", "doc", str(clients), str(self.scale["seconds"])],
                              stdout=subprocess.PIPE, check=True, text=True)
        return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}

    @staticmethod
    def resident_mb(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) / 1024
        return 0

    def serve(self, *args):
        ready, told = os.pipe()
        process = subprocess.Popen(
            [self.program("sirix-mcp"), "--database-path", self.data, "--http", "127.0.0.1:0",
             "--ready-fd", str(told), *args], pass_fds=[told], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(told)
        with os.fdopen(ready) as file:
            url = file.readline()
        return process, url.split(":")[2].split("/")[0]

    def calls(self):
        process, port = self.serve()
        self.measure("http", port, 1)
        self.add("gateway, memory at rest", "HTTP", "MB", self.resident_mb(process.pid))
        added = []
        for _ in range(self.scale["rounds"]):
            direct = self.measure("grpc", f"unix:{self.data}/storaged.sock", 1)
            through = self.measure("http", port, 1)
            added.append(through["median_us"] - direct["median_us"])
        self.add("gateway, added to gRPC, median", "1 client", "us", statistics.median(added), 300)
        rates = [self.measure("http", port, 32) for _ in range(self.scale["rounds"])]
        self.add("gateway, calls over HTTP", "32 clients", "calls/s",
                 statistics.median(rate["calls_per_s"] for rate in rates), 5000)
        self.add("gateway, calls over HTTP, 99th of 100", "32 clients", "us",
                 statistics.median(rate["p99_us"] for rate in rates))
        self.add("gateway, memory after them", "32 clients", "MB", self.resident_mb(process.pid), 20)
        alone = self.measure("http", port, 4)["median_us"]
        slow = [socket.create_connection(("127.0.0.1", int(port)))
                for _ in range(self.scale["slow"])]
        for number, client in enumerate(slow):
            # Half send a head and a part of a body; the others nothing at all.
            if number % 2 == 0:
                client.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                               b"application/json\r\nContent-Length: 100000\r\n\r\n{")
        beside = self.measure("http", port, 4)["median_us"]
        for client in slow:
            client.close()
        self.add("gateway, median beside slow clients", f"4 beside {len(slow)}", "us", beside)
        self.add("gateway, median without them", "4 clients", "us", alone)
        process.terminate()
        process.wait()

    def large(self):
        rows = self.scale["rows"]
        self.store("db/rows", "[" + ",".join(f'{{"n":{i},"t":"row {i}"}}' for i in range(rows)) + "]")
        process = self.stdio()
        self.ask(process, "sirix_read_node", database="db", resource="doc")
        before = self.resident_mb(process.pid)
        times = []
        for _ in range(self.scale["rounds"] * 3):
            began = time.perf_counter()
            answer = self.ask(process, "sirix_query", query="for $r in jn:doc('db','rows')[] return $r")
            times.append((time.perf_counter() - began) * 1000)
            if not answer["truncated"] or answer["count"] > 100:
                raise SystemExit("an answer that is not cut")
        self.add("gateway, a large answer is cut", f"{rows} rows", "ms", statistics.median(times))
        self.add("gateway, memory that it takes", f"{rows} rows", "MB",
                 max(0.0, self.resident_mb(process.pid) - before), 2)
        self.end(process)

    def run(self):
        self.store("db/doc", '{"name":"a","n":1,"list":[1,2,3],"text":"some words"}')
        # One storaged for all of them.
        holder = self.stdio()
        self.ask(holder, "status")
        self.calls()
        self.large()
        self.end(holder)
        self.starts()


FULL = {"seconds": 3, "rounds": 5, "starts": 15, "rows": 100_000, "slow": 100}
QUICK = dict(FULL, seconds=1, rounds=3, starts=5)
SMOKE = dict(seconds=0.1, rounds=1, starts=1, rows=1000, slow=4)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--build", "--dir", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    folder = tempfile.mkdtemp(prefix="gateway-", dir=options.dir)
    bench = Bench(options.build, folder, scale)
    try:
        bench.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump({"rows": bench.rows}, file, indent=1)


if __name__ == "__main__":
    main()
