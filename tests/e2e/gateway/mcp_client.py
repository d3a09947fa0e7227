"""A plain MCP client for tests: lines in, lines out, nothing hidden."""
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

PROGRAMS = {}
LIMIT_S = 60
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Gateway:
    """A running sirix-mcp. Lines are bytes; answers are parsed with numbers as text where asked."""

    def __init__(self, *args, env=None):
        self.process = subprocess.Popen([PROGRAMS["mcp"], *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.lines = queue.Queue()
        self.errors = []
        self.next_id = 0
        self.threads = [threading.Thread(target=self._pump, daemon=True),
                        threading.Thread(target=self._collect, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _pump(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _collect(self):
        for line in self.process.stderr:
            self.errors.append(line.decode())

    def send_line(self, line):
        data = line if isinstance(line, bytes) else line.encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def send(self, message):
        self.send_line(json.dumps(message))

    def line(self):
        """The next line of stdout, or None at its end."""
        return self.lines.get(timeout=LIMIT_S)

    def answer(self):
        line = self.line()
        assert line is not None, ("sirix-mcp ended", self.errors)
        return json.loads(line)

    def ask_line(self, line):
        self.send_line(line)
        return self.answer()

    def request(self, method, params=None):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        answer = self.answer()
        assert answer["id"] == self.next_id, answer
        return answer

    def initialize(self, version="2025-11-25", name="test"):
        answer = self.request("initialize", {"protocolVersion": version, "capabilities": {},
                                             "clientInfo": {"name": name, "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call_raw(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        """The structured answer of a call that must succeed."""
        answer = self.call_raw(tool, **arguments)
        assert "result" in answer and not answer["result"]["isError"], answer
        return answer["result"]["structuredContent"]

    def confirm(self, tool, **arguments):
        """The answer of a call that is shown first, and done by the second call."""
        shown = self.call(tool, **arguments)
        assert shown["changed"] is False and shown["preview"], shown
        return self.call(tool, **arguments, confirmToken=shown["confirmToken"])

    def fail(self, tool, **arguments):
        """The facts of a call that must be refused by the tool."""
        answer = self.call_raw(tool, **arguments)
        assert "result" in answer and answer["result"]["isError"], answer
        return json.loads(inside(answer["result"]["content"][0]["text"]))

    def close(self):
        """Ends input; the exit code."""
        self.process.stdin.close()
        code = self.process.wait(LIMIT_S)
        self.release()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.release()

    def release(self):
        for thread in self.threads:
            thread.join(LIMIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class Modern(Gateway):
    """One that is spoken to in the era without a handshake."""

    def ask(self, method, **params):
        answer = self.request(method, {**params, "_meta": META})
        assert "result" in answer, answer
        return answer["result"]


def inside(text):
    """What stands between the tags of a text block."""
    lines = text.split("\n")
    tag = lines[1]
    assert tag.startswith("<database-content-") and lines[-1] == "</" + tag[1:], text
    return "\n".join(lines[2:-1])


class Case(unittest.TestCase):
    """Each test has a data folder of its own; its storaged is ended with it."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix mcp ")
        self.data = os.path.join(self.dir, "data")
        self.gateways = []

    def tearDown(self):
        for gateway in self.gateways:
            gateway.kill()
        pid = self.daemon()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def daemon(self):
        """The process that serves the data folder, or None."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"storaged") and os.fsencode(self.data) in b"\0".join(words):
                return int(pid)
        return None

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def ctl(self, *args, stdin=b""):
        done = subprocess.run([PROGRAMS["sirixctl"], *args, "--data", self.data, "--quiet"],
                              input=stdin, capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, (args, done.stdout, done.stderr))
        return done.stdout.decode()

    def store(self, name, text):
        self.ctl("import", name, "-", stdin=text.encode())

    def start(self, *args):
        """A gateway that is not initialized."""
        gateway = Gateway(*args)
        self.gateways.append(gateway)
        return gateway

    def modern(self, *args, config=None):
        """One that is spoken to without a handshake."""
        if config is not None:
            args = (*args, "--config", self.file("config.json", json.dumps({"server": config})))
        gateway = Modern("--database-path", self.data, *args)
        self.gateways.append(gateway)
        return gateway

    def open(self, *args, version="2025-11-25", config=None):
        """A gateway on the data folder, initialized."""
        if config is not None:
            args = (*args, "--config", self.file("config.json", json.dumps({"server": config})))
        gateway = self.start("--database-path", self.data, *args)
        gateway.initialize(version)
        return gateway
