"""sirixctl among other things: terminals, interrupts, and the daemon that it starts."""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time

import ctl
from ctl import LIMIT_S, Folder, Programs


class Terminals(Folder):
    EVIL = "\u202eevil\u200b\x7f\x9b31m\U000e0041"

    def test_stored_text_cannot_act_on_a_terminal(self):
        self.load({"k": self.EVIL, "n\x1b[31m\u202e": 1})
        self.ask("update", "db/res", "/k", '"x"', "--message", "m\x1b[2J\nforged \u202e")
        for args in (("read", "db/res"), ("history", "db/res"), ("diff", "db/res"),
                     ("export", "db/res"), ("read", "db/res", "--json"),
                     ("history", "db/res", "--json"), ("diff", "db/res", "--json"),
                     ("diff", "db/res", "--json-patch")):
            with self.subTest(args):
                seen, code = self.on_terminal(*args, "--color", "never")
                self.assertEqual(code, 0)
                self.assertIsNone(
                    re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202e\U000e0041]", seen),
                    repr(seen))
        # JSON on a terminal still means the same value.
        seen, _ = self.on_terminal("export", "db/res@1")
        self.assertEqual(json.loads(seen)["k"], self.EVIL)

    def test_colours_come_on_a_terminal_only_and_respect_no_color(self):
        self.load([1])
        self.ask("update", "db/res", "/[0]", "2")
        self.assertIn("\x1b[32m", self.on_terminal("diff", "db/res")[0])
        self.assertNotIn("\x1b", self.on_terminal("diff", "db/res", env={"NO_COLOR": "1"})[0])
        self.assertNotIn("\x1b", self.on_terminal("diff", "db/res", env={"TERM": "dumb"})[0])
        self.assertNotIn("\x1b", self.run_ctl("diff", "db/res")[0])
        self.assertIn("\x1b[32m", self.run_ctl("diff", "db/res", "--color", "always")[0])

    def test_an_import_shows_its_progress_on_a_terminal_only(self):
        element = json.dumps("x" * 1000) + ","
        path = self.file("big.json", "[" + element * 99999 + "1]")  # 100 MB.
        seen, code = self.on_terminal("import", "db/res", path)
        self.assertEqual(code, 0)
        bars = re.findall(r"\rbig\.json +(\d+)% \[(=*>? *)\] [\d.]+ .?B of 100\.\d MB"
                          r"  [\d.]+ .?B/s(  \d+:\d\d left)?", seen)
        self.assertGreater(len(bars), 2, seen)
        percents = [int(bar[0]) for bar in bars]
        self.assertEqual(percents, sorted(percents))
        self.assertTrue(any(bar[2] for bar in bars), "no time left")
        self.assertTrue(all(len(bar[1]) == 20 for bar in bars))
        self.assertIn("revision", seen.split("\x1b[K")[-1])  # The bar is gone from the screen.
        path = self.file("small.json", "[" + element * 9 + "1]")
        self.assertNotIn("%", self.on_terminal("import", "db/two", path, "--quiet")[0])
        self.assertEqual(self.run_ctl("import", "db/three", path)[1], "")


class Interrupts(Folder):
    """Ctrl-C, and readers that go away."""

    def start(self, *args, **more):
        return subprocess.Popen([Programs.sirixctl, *self.flags(), *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def begin_import(self, *args):
        """An import that has sent all it was given, and waits for more."""
        source, to = os.pipe()
        running = self.start("import", "db/res", "-", *args, stdin=source)
        os.close(source)
        os.write(to, b'[1,')
        self.wait_until_read(to)
        return running, to

    def wait_until_read(self, fd):
        """Fills the pipe until somebody takes from it: what was written before is taken, too."""
        os.set_blocking(fd, False)
        piece = b"1," * 32768
        written, end = 0, time.monotonic() + LIMIT_S
        while written < 4 * 1024 * 1024:
            self.assertLess(time.monotonic(), end)
            select.select([], [fd], [], LIMIT_S)
            try:
                written += os.write(fd, piece)
            except BlockingIOError:
                pass

    def test_an_interrupted_import_changes_nothing_and_says_so(self):
        self.load(["before"])
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                running, to = self.begin_import("--replace")
                running.send_signal(number)
                out, told = running.communicate(timeout=LIMIT_S)
                os.close(to)
                self.assertEqual(running.returncode, 130)
                self.assertEqual(out, b"")
                self.assertEqual(told, b"sirixctl: cancelled: nothing was changed in db/res\n")
                self.assertEqual(self.export(), ["before"])

    def test_an_interrupted_import_of_several_files_says_how_far_it_came(self):
        pipe = os.path.join(self.dir, "second.json")
        os.mkfifo(pipe)
        keep = os.open(pipe, os.O_RDWR)  # So that opening it waits for nobody.
        running = self.start("import", "db", self.file("first.json", "[1]"), pipe)
        self.assertTrue(select.select([running.stdout], [], [], LIMIT_S)[0], "no word of the first")
        self.assertIn(b"db/first", running.stdout.readline())
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=LIMIT_S)
        os.close(keep)
        self.assertEqual(running.returncode, 130)
        self.assertIn(b"the 1 files before it are stored", told)
        self.assertEqual(self.export("db/first"), [1])

    def test_a_closed_pipe_ends_an_export_without_a_word(self):
        self.load(["x" * 1000] * 3000)
        for ignored in (False, True):
            with self.subTest(ignored=ignored):
                running = self.start("export", "db/res", restore_signals=not ignored)
                running.stdout.read(10)
                running.stdout.close()
                told = running.stderr.read()
                running.stderr.close()
                self.assertEqual(running.wait(timeout=LIMIT_S), -signal.SIGPIPE)
                self.assertEqual(told, b"")

    def test_an_interrupted_export_leaves_no_file_behind(self):
        self.load(["x" * 1000] * 3000)
        folder = os.path.join(self.dir, "out")
        os.mkdir(folder)
        path = os.path.join(folder, "doc.json")
        os.mkfifo(path + ".never")
        with open(path, "w") as old:
            old.write("old")
        os.chmod(path, 0o640)
        self.run_ctl("export", "db/res@99", "--output", path, code=66)
        with open(path) as kept:
            self.assertEqual(kept.read(), "old")
        self.run_ctl("export", "db/res", "--output", path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        self.assertEqual(sorted(os.listdir(folder)), ["doc.json", "doc.json.never"])
        self.run_ctl("export", "db/res", "--output", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))


class Daemon(Folder):
    def test_twenty_at_once_end_with_one_daemon(self):
        crowd = [subprocess.Popen([Programs.sirixctl, "status", "--json", *self.flags()],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(20)]
        pids = set()
        for one in crowd:
            out, err = one.communicate(timeout=LIMIT_S)
            self.assertEqual(one.returncode, 0, err)
            pids.add(json.loads(out)["processId"])
        self.assertEqual(len(pids), 1)

    def test_it_ends_five_seconds_after_its_last_client_and_the_next_starts_another(self):
        before = time.monotonic()  # A client may leave the daemon well before its process has ended.
        first = self.ask("status")
        self.assertTrue(first["embedded"])
        self.wait_for_end(first["processId"])
        self.assertGreater(time.monotonic() - before, 4.9)
        self.assertNotEqual(self.ask("status")["processId"], first["processId"])

    def test_clients_that_come_while_it_ends_are_all_served(self):
        self.load([1])
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGTERM)
        crowd = [subprocess.Popen([Programs.sirixctl, "export", "db/res", *self.flags()],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(10)]
        for one in crowd:
            out, err = one.communicate(timeout=LIMIT_S)
            self.assertEqual((one.returncode, out), (0, b"[1]\n"), err)
        self.assertNotEqual(self.ask("status")["processId"], pid)

    def test_a_killed_daemon_is_replaced_and_loses_nothing(self):
        self.load([1])
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.export(), [1])
        self.assertNotEqual(self.ask("status")["processId"], pid)

    def test_a_timeout_covers_the_connecting(self):
        pid = self.ask("status")["processId"]
        os.kill(pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            told = self.run_ctl("list", "--timeout", "2", code=69)[1]
            taken = time.monotonic() - start
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertIn("hint: storaged.log", told)
        self.assertGreater(taken, 1.9)
        self.assertLess(taken, 8)  # Without the flag it is given 15 seconds.

    def test_reading_commands_are_readers(self):
        self.assertEqual(self.ask("status")["role"], "reader")

    def test_a_long_path_works(self):
        self.data = os.path.join(self.dir, "d" * 120)
        self.load([1])
        self.assertEqual(self.export(), [1])

    def test_a_folder_with_other_things_in_it_is_left_alone(self):
        os.mkdir(self.data, 0o755)
        open(os.path.join(self.data, "somebody-elses"), "w").close()
        _, words = self.run_ctl("status", code=69)
        self.assertIn("holds other things", words)
        self.assertEqual(os.listdir(self.data), ["somebody-elses"])

    def test_a_folder_that_is_closed_to_others_is_told(self):
        os.mkdir(self.data)
        os.chmod(self.data, 0o777)
        self.assertIn("was open to others (mode 0777)", self.run_ctl("list")[1])
        self.assertEqual(os.stat(self.data).st_mode & 0o7777, 0o700)
        self.assertEqual(self.run_ctl("list")[1], "")
        with open(os.path.join(self.data, "storaged.log")) as lines:
            said = [json.loads(line) for line in lines if "open to others" in line]
        self.assertEqual([(line["level"], line["mode_before"]) for line in said],
                         [("warn", "0777")])

    def test_a_folder_that_cannot_be_written_is_told_with_the_way_out(self):
        self.load([1])
        pid = self.daemon()
        os.kill(pid, signal.SIGKILL)
        self.wait_for_end(pid)
        mount = 'mount --bind -o ro "$1" "$1" && shift && exec "$@"'
        wrap = ["unshare", "--mount", "sh", "-c", mount, "sh", self.data]
        if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("nothing may be mounted here")
        for program, *args in ([Programs.sirixctl, "export", "db/res", *self.flags()],
                               [Programs.storaged, "--data", self.data]):
            with self.subTest(program):
                done = subprocess.run([*wrap, program, *args], timeout=LIMIT_S, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertIn(self.data + " cannot be written", done.stderr)
                self.assertIn("copy the folder", done.stderr)
        shutil.copytree(self.data, self.data + ".copy",
                        ignore=lambda _, names: [name for name in names if name.endswith(".sock")])
        self.data += ".copy"
        self.assertEqual(self.export(), [1])


if __name__ == "__main__":
    ctl.main()
