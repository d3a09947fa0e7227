"""What the tests of real failures share, beside the support of all tests of the daemon.

What a case names is run at that size, but for a sanitizer's build, which does a share of it. Whatever
takes longer than a minute here is small by default; SIRIX_CASES_FULL=1 runs all of it.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import grpc

import case
import daemon
import mcp_client

FULL = os.environ.get("SIRIX_CASES_FULL") == "1"
SANITIZED = os.environ.get("SIRIX_SANITIZED", "") != ""
SANITIZED_SHARE = 20
SHARED_MEMORY = "/dev/shm"
SHARED_MEMORY_FREE = 4 << 30  # Less than this is a container's default, which the large cases fill.
CTL_LIMIT_S = 600
SIRIXCTL = CLOCK = None


def main():
    """Reads --sirixctl, --clock and --gateway, then what every test of the daemon reads."""
    global SIRIXCTL, CLOCK
    parser = argparse.ArgumentParser()
    parser.add_argument("--sirixctl", required=True)
    parser.add_argument("--clock", required=True)
    parser.add_argument("--gateway", required=True)
    found, rest = parser.parse_known_args()
    SIRIXCTL, CLOCK = found.sirixctl, found.clock
    mcp_client.PROGRAMS["mcp"] = found.gateway
    sys.argv[1:] = rest
    case.main()


def size(small, full):
    return full if FULL else small


def named(count, sanitized=None):
    """The size that a case names; under a sanitizer a share of it, unless told which."""
    if not SANITIZED:
        return count
    return sanitized if sanitized is not None else count // SANITIZED_SHARE


def quick_parent():
    """Where a folder of data costs no disk's syncs; None, the usual place, where there is none."""
    try:
        free = os.statvfs(SHARED_MEMORY)
    except OSError:
        return None
    return SHARED_MEMORY if free.f_bavail * free.f_frsize >= SHARED_MEMORY_FREE else None


def processor_s(pid):
    """Seconds of processor time of all threads that a process has now."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, thread), encoding="ascii") as row:
                total += int(row.read().split()[0])
        except OSError:  # It has ended.
            pass
    return total / 1e9


def stamp(us, offset_hours=0):
    """RFC 3339 text of microseconds since 1970."""
    zone = datetime.timezone(datetime.timedelta(hours=offset_hours))
    at = datetime.datetime.fromtimestamp(us // 10**6, zone)
    text = at.strftime("%Y-%m-%dT%H:%M:%S") + ".%06d" % (us % 10**6)
    return (text + at.strftime("%z")[:3] + ":" + at.strftime("%z")[3:]).encode()


def memory(pid, row="VmRSS"):
    """Bytes of a row of /proc/PID/status: VmRSS with mapped files, RssAnon without, VmHWM peak."""
    with open("/proc/%d/status" % pid, encoding="ascii") as rows:
        return next(int(r.split()[1]) << 10 for r in rows if r.startswith(row + ":"))


def check_memory(test, used, limit):
    """Fails above the limit; a sanitizer's build says that it skips this."""
    with test.subTest("memory"):
        if SANITIZED:
            test.skipTest("a sanitizer's shadow and quarantine are no memory of ours")
        test.assertLess(used, limit)


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def timed(function, *args, **kwargs):
    """(seconds, answer)"""
    before = time.monotonic()
    answer = function(*args, **kwargs)
    return time.monotonic() - before, answer


def together(functions, limit=300):
    """Runs functions in threads of their own; the first exception of any is raised here."""
    failures = []

    def run(function):
        try:
            function()
        except BaseException as failure:  # Raised again below, in the thread of the test.
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(f,), daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    end = time.monotonic() + limit
    for thread in threads:
        thread.join(max(0.1, end - time.monotonic()))
    if failures:
        raise failures[0]
    assert not any(t.is_alive() for t in threads), "a thread does not end"


def attempt(function, *args, **kwargs):
    """(answer, None), or (None, (code, reason, ErrorDetail)) of a failed call."""
    try:
        answer = function(*args, **kwargs)
        return (answer if hasattr(answer, "SerializeToString") else list(answer)), None
    except grpc.RpcError as failure:
        found = daemon.detail(failure, case.error)
        return None, (failure.code().name, found.reason.decode() if found else "", found)


class Case(case.DaemonCase):
    """One daemon a class, with a client and with sirixctl."""

    def processor_timed(self, function, *args, **kwargs):
        """(seconds of the daemon's processor time, answer): other load does not count."""
        before = processor_s(self.daemon.process.pid)
        answer = function(*args, **kwargs)
        return processor_s(self.daemon.process.pid) - before, answer

    def new_client(self, address=None):
        client = daemon.Client(address or self.daemon.owner, case.pb)
        self.addCleanup(client.close)
        return client

    def ctl(self, *args, code=0, stdin=b""):
        """Runs sirixctl against the daemon; (stdout, stderr) as bytes."""
        done = subprocess.run(
            [SIRIXCTL, *args, "--storage", self.daemon.owner, "--color", "never"],
            input=stdin.encode() if isinstance(stdin, str) else stdin, timeout=CTL_LIMIT_S,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, code, (args, done.stdout[-500:], done.stderr[-500:]))
        return done.stdout, done.stderr

    def ask(self, *args, **more):
        return json.loads(self.ctl(*args, "--json", **more)[0])

    def ctl_error(self, *args, code, **more):
        return json.loads(self.ctl(*args, "--json", code=code, **more)[1])["error"]

    def by_ctl(self, text, *flags):
        """A fresh resource of database db whose value came through sirixctl."""
        type(self).names += 1
        name = b"c%d" % self.names
        self.ctl("import", "db/" + name.decode(), "-", "--quiet", *flags, stdin=text)
        return name

    def both(self, text):
        """The same document through two doors: Import and sirixctl."""
        return [self.resource(text), self.by_ctl(text)]

    def check_text(self, name, text, **view):
        """Reads the document by the stream, by sirixctl and node by node: all the same text."""
        self.assertEqual(self.text(name, **view), text)
        what = "@%d" % view["view"].revision if view else ""
        self.assertEqual(self.ctl("export", "db/%s%s" % (name.decode(), what))[0].decode()
                         .removesuffix("\n"), text)

    def apply_stream(self, name, texts, make, chunk=250000, client=None, **start):
        """One ApplyStream call; make(i, Value) gives the operation for texts[i]."""
        pb = case.pb
        messages = [pb.ApplyStreamRequest(start=pb.ApplyRequest(
            database=b"db", resource=name,
            operations=[make(i, pb.Value(streamed=True)) for i in range(len(texts))], **start))]
        for i, text in enumerate(texts):
            messages += [pb.ApplyStreamRequest(chunk=pb.ValueChunk(operation=i,
                                                                   data=text[at:at + chunk]))
                         for at in range(0, len(text), chunk)]
        return (client or self.client).ApplyStream(messages)

    def patch(self, name, old=None, new=None):
        """The JSON patch between two revisions as text and as a value, the same by both doors."""
        pb = case.pb
        views = {}
        if old is not None:
            views = {"from": pb.View(revision=old), "to": pb.View(revision=new)}
        parts = list(self.client.Diff(database=b"db", resource=name, max_patch_operations=1000000,
                                      format=pb.DIFF_FORMAT_JSON_PATCH, **views))
        text = b"".join(p.json_patch for p in parts[1:-1])
        here = "db/" + name.decode()
        ends = [here] if old is None else ["%s@%d" % (here, old), "@%d" % new]
        shown = self.ctl("diff", *ends, "--json-patch")[0]
        self.assertEqual(json.loads(shown), json.loads(text))
        return text.decode(), json.loads(text)

    def verified(self, database=b"db", client=None):
        end = list((client or self.client).Verify(database=database, timeout=600))[-1].end
        self.assertEqual(end.problems, 0)
        return end

    def stored(self):
        return next(d.stored_bytes for d in self.client.ListDatabases().databases
                    if d.name == b"db")


def patched(text, patch):
    """The value of a JSON text after an RFC 6902 patch (text too); see numbers_kept."""
    root = {"": numbers_kept(text)}

    def at(pointer):
        steps = [""] + [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
        node = root
        for step in steps[:-1]:
            node = node[int(step)] if isinstance(node, list) else node[step]
        if isinstance(node, dict):
            return node, steps[-1]
        return node, len(node) if steps[-1] == "-" else int(steps[-1])

    def take(pointer):
        node, step = at(pointer)
        return node.pop(step)

    def put(pointer, value):
        node, step = at(pointer)
        if isinstance(node, list):
            assert step <= len(node), pointer
            node.insert(step, value)
        else:
            node[step] = value

    for one in numbers_kept(patch):
        if one["op"] == "remove":
            take(one["path"])
        elif one["op"] == "replace":
            node, step = at(one["path"])
            assert step in node if isinstance(node, dict) else step < len(node), one
            node[step] = one["value"]
        else:
            put(one["path"], take(one["from"]) if one["op"] == "move" else one["value"])
    return root[""]


def numbers_kept(text):
    """JSON text as a value, with every number as ("number", its text)."""
    def number(digits):
        return ("number", digits)

    return json.loads(text, parse_int=number, parse_float=number)


def folder(parent=None):
    return tempfile.mkdtemp(prefix="sirix_cases_", dir=parent)
