#!/usr/bin/python3
"""The main job on real files: imported, worked on by deploy/agent.py through MCP, looked at after.

    test_main_job.py SIRIX_MCP SIRIXCTL AGENT NPM_FOLDER [unittest arguments]

What the agent says of its work is not believed: what is in the store is read once more with
sirixctl and compared with the file by Python's own JSON reader.
"""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = {}
LIMIT_S = 400
LABEL = "before-work"
STEPS = ["agent: insert", "agent: update", "agent: delete", "agent: revert"]
ISO_CODES = "/usr/share/iso-codes/json"


class Exact:
    """A number by its text, equal only to the same text."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Exact) and self.text == other.text

    __hash__ = None


def parse(text):
    """A JSON value in which members keep their order and numbers their text."""
    return json.loads(text, parse_int=Exact, parse_float=Exact)


def same(one, other):
    """Whether two values of parse() are the same, to the order of members; does not recurse."""
    todo = [(one, other)]
    while todo:
        one, other = todo.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if list(one) != list(other):
                return False
            todo.extend(zip(one.values(), other.values()))
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            todo.extend(zip(one, other))
        elif one != other:
            return False
    return True


def digest(data):
    return hashlib.sha256(data).hexdigest()


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


class MainJob(unittest.TestCase):
    """Each test has a data folder of its own; its storaged is ended with it."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sirix-main-job-")
        self.data = os.path.join(self.dir, "data")

    def tearDown(self):
        log = os.path.join(self.data, "storaged.log")
        if os.path.exists(log):
            with open(log, encoding="utf-8") as lines:
                pids = [json.loads(line)["pid"] for line in lines if '"msg":"serving"' in line]
            for pid in pids[-1:]:
                self.end(pid)
        shutil.rmtree(self.dir)

    @staticmethod
    def end(pid):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.waitid(os.P_PIDFD, handle, os.WEXITED)
        except (ProcessLookupError, ChildProcessError):
            pass
        finally:
            os.close(handle)

    # --- Helpers ------------------------------------------------------------------------------

    def ctl(self, *args):
        done = subprocess.run([PROGRAMS["sirixctl"], *args, "--data", self.data],
                              capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, (args, done.stdout[:1000], done.stderr[:1000]))
        return done.stdout

    def ask(self, *args):
        return json.loads(self.ctl(*args, "--json"))

    def export(self, revision, *args):
        """The text of a revision, without the line's end."""
        text = self.ctl("export", f"real/{self.name}@{revision}", "--quiet", *args)
        self.assertTrue(text.endswith(b"\n"), text[-20:])
        return text[:-1]

    def load(self, path):
        self.name = os.path.basename(path).removesuffix(".json")
        self.text = read_file(path)
        began = time.monotonic()
        answer = self.ask("import", f"real/{self.name}", path, "--message", "the file")
        self.import_s = time.monotonic() - began
        self.assertEqual(answer["textBytes"], len(self.text))
        self.nodes = answer["nodes"]
        return answer["revision"]

    def work(self):
        """The agent's work; what it printed."""
        done = subprocess.run(
            [sys.executable, PROGRAMS["agent"], "--mcp", PROGRAMS["mcp"], "--sirixctl",
             PROGRAMS["sirixctl"], "--data", self.data, "--database", "real", "--resource",
             self.name], capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def check_import(self, revision):
        """The stored document is the file's; gives the export and its value."""
        before = self.export(revision)
        value = parse(before)
        self.assertTrue(same(value, parse(self.text)), "the export is not what the file says")
        outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b'""', before)
        self.assertIsNone(re.search(rb"\s", outside), "the export is not compact")
        return before, value

    def check_history(self, first):
        """Every step of the agent's is there, one after the other, and on main."""
        revisions = self.ask("history", f"real/{self.name}")["revisions"][::-1]
        revisions = [item for item in revisions if item["revision"] >= first]
        self.assertEqual([item["message"] for item in revisions], ["the file", *STEPS])
        for at, item in enumerate(revisions):
            self.assertEqual(item["revision"], first + at)
            self.assertEqual(item["branch"], "main")
            if at > 0:
                self.assertEqual(item["parentRevision"], first + at - 1)
                self.assertEqual(item["onBehalfOf"], "agent.py")
        self.assertEqual(revisions[-1]["revertedTo"], first)
        self.assertEqual(revisions[-1]["nodeCount"], self.nodes)
        return [item["revision"] for item in revisions]

    def check_revisions(self, revisions, before):
        """All read as JSON and differ from each other; the last is the first again."""
        labelled = self.ask("snapshot", "list", f"real/{self.name}")
        self.assertEqual(labelled[LABEL]["revision"], revisions[0])
        digests = [digest(before)]
        for revision in revisions[1:-1]:
            text = self.export(revision)
            json.loads(text)
            digests.append(digest(text))
        self.assertEqual(len(set(digests)), len(digests), "a revision changed nothing")
        self.assertEqual(digest(self.export(revisions[-1])), digests[0], "the revert left a change")
        self.assertEqual(digest(self.export(LABEL)), digests[0], "the label moved")

    def check_diffs(self, revisions):
        """Each step is one change of its own kind; label and revert have none between them."""
        for at, wanted in ((0, {"inserts"}), (1, {"updates", "replaces"}), (2, {"deletes"})):
            answer = self.ask("diff", f"real/{self.name}@{revisions[at]}", f"@{revisions[at + 1]}")
            made = {name: count for name, count in answer["counts"].items() if count != 0}
            self.assertEqual(list(made.values()), [1], answer["counts"])
            self.assertLessEqual(set(made), wanted)
            self.assertEqual(len(answer["changes"]), 1)
        answer = self.ask("diff", f"real/{self.name}@{LABEL}", f"@{revisions[-1]}")
        self.assertEqual(answer["changes"], [])

    def check_storage(self):
        answer = self.ask("verify", "real")
        self.assertEqual((answer["problems"], answer["problemCount"]), ([], 0))
        return answer["bytes"]

    def main_job(self, path):
        first = self.load(path)
        before, value = self.check_import(first)
        said = self.work()
        self.assertIn("Every revision was as expected.", said)
        revisions = self.check_history(first)
        self.check_revisions(revisions, before)
        self.check_diffs(revisions)
        stored = self.check_storage()
        rate = len(self.text) / 1e6 / self.import_s
        print(f"{self.name}: {len(self.text):,} bytes, {self.nodes:,} nodes, imported at "
              f"{rate:.1f} MB/s", flush=True)
        print(f"{self.name}: {stored:,} bytes stored, {len(revisions)} revisions", flush=True)
        return value, revisions

    # --- Files of Debian's iso-codes, of any release ----------------------------------------------

    def test_the_subdivisions_of_countries(self):
        value, _ = self.main_job(f"{ISO_CODES}/iso_3166-2.json")
        self.assertGreater(len(value["3166-2"]), 4900)

    def test_the_languages(self):
        value, _ = self.main_job(f"{ISO_CODES}/iso_639-3.json")
        self.assertGreater(len(value["639-3"]), 7800)

    # --- Files of npm packages, by exact versions -------------------------------------------------

    def npm_file(self, path, size, sha256):
        path = os.path.join(PROGRAMS["npm"], "node_modules", path)
        self.assertEqual(os.path.getsize(path), size)
        self.assertEqual(digest(read_file(path)), sha256)
        return path

    def test_movies_with_nulls_and_mixed_types(self):
        value, _ = self.main_job(self.npm_file(
            "vega-datasets/data/movies.json", 1399981,
            "e63c499759e3b07b49563e036f55290f87feb56def8703ec049ca305ab1523d3"))
        self.assertEqual(len(value), 3201)
        kinds = {type(movie["Title"]) for movie in value}
        self.assertEqual(kinds, {str, Exact, type(None)})

    def test_the_deep_document_of_what_browsers_can_do(self):
        value, revisions = self.main_job(self.npm_file(
            "@mdn/browser-compat-data/data.json", 20621633,
            "1ba5af938601e572d37f19129b923cb077e7f084899e2d032593f661a5a32ea8"))

        # The deepest value of the document.
        path = "webextensions api tabs query queryInfo url __compat support firefox_android".split()
        note = value
        for step in path:
            note = note[step]
        note = note[1]["notes"][1]
        self.assertIn("moz-extension:// URLs were not allowed", note)
        where = "/" + "/".join(path) + "/[1]/notes/[1]"
        for revision in revisions:
            self.assertEqual(parse(self.export(revision, "--node", where)), note)
        answer = self.ask("read", f"real/{self.name}@{revisions[-1]}", where)
        self.assertEqual(answer["nodes"][0]["value"], note)

        answer = parse(self.ctl("diff", f"real/{self.name}@{revisions[1]}", f"@{revisions[2]}",
                                "--json"))
        change = answer["changes"][0]
        self.assertEqual(change["path"], "/__meta/version")
        self.assertEqual(change["oldValue"], "8.1.9")
        self.assertEqual(change["newValue"].text, "12345678901234567890.10")
        print(f"data: {change['path']} was {change['oldValue']}, then {change['newValue'].text}")

        # The agent deleted more than half of the document.
        counts = {item["revision"]: item["nodeCount"]
                  for item in self.ask("history", f"real/{self.name}")["revisions"]}
        self.assertLess(counts[revisions[3]], counts[revisions[2]] // 2)


if __name__ == "__main__":
    for name, value in zip(("mcp", "sirixctl", "agent", "npm"), sys.argv[1:5]):
        PROGRAMS[name] = value
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=1)
