"""sirixctl backup and restore: what was there at one instant is there again, or nothing is."""
import hashlib
import json
import os
import signal
import struct
import subprocess

import backup_file
import programs


class Backup(programs.Case):
    def path(self, name):
        return os.path.join(self.dir, name)

    def fill(self, server, database="db"):
        """Two resources with revisions, a branch, a label, a long text and many nodes."""
        many = json.dumps([{"i": i, "t": "x" * (i % 50)} for i in range(1500)]).encode()
        self.ctl(server, "import", database + "/many", "-", stdin=many)
        self.ctl(server, "import", database + "/small", "-", stdin=b'{"a":[1,2],"b":"%s"}' % (b"y" * 70000))
        for i in range(8):
            self.ctl(server, "update", database + "/small", "/a/[0]", str(i), "--message", "m%d" % i)
        self.ctl(server, "snapshot", "create", database + "/small@5", "five")
        self.ctl(server, "branch", "create", database + "/small", "side")
        self.ctl(server, "update", database + "/small", "/a/[1]", '"side"', "--branch", "side")
        self.ctl(server, "delete", database + "/many", "/[7]")

    def everything(self, server, database="db"):
        """All that a reader can see of a database, history included."""
        seen = {}
        for row in self.ask(server, "list", database)["resources"]:
            name = database + "/" + row["name"]
            found = seen[row["name"]] = {}
            for kind in ("branch", "snapshot"):
                found[kind] = self.ctl(server, kind, "list", name, "--json")[0]
            branches = [b["name"] for b in json.loads(found["branch"])["branches"]]
            for branch in branches:
                history = self.ctl(server, "history", name, "--branch", branch, "--count", "1000",
                                   "--json")[0]
                found["history " + branch] = history
                for revision in json.loads(history)["revisions"]:
                    number = revision["revision"]
                    text = self.export(server, "%s@%d" % (name, number))
                    found["text %d" % number] = hashlib.sha256(text).hexdigest()
        return seen

    def export(self, server, name):
        done = subprocess.run([programs.SIRIXCTL, "export", name, "--storage", server.address],
                              capture_output=True, timeout=programs.LIMIT_S, check=False)
        return done.stdout + done.stderr

    # --- The whole way -----------------------------------------------------------------------------

    def test_a_restored_database_is_the_same_with_all_its_revisions(self):
        source, target = self.start("one"), self.start("two")
        self.fill(source)
        told = self.ask(source, "backup", "db", self.path("full"))
        self.assertEqual(told["bytes"], os.path.getsize(self.path("full")))
        self.assertFalse(told["incremental"])
        self.assertEqual(os.stat(self.path("full")).st_mode & 0o777, 0o600)
        answer = self.ask(target, "restore", "db", self.path("full"))
        self.assertEqual(answer["backups"], 1)
        self.assertEqual(answer["resources"], 2)
        self.assertEqual(answer["segments"], told["segments"])
        self.assertEqual(self.everything(target), self.everything(source))
        self.assertEqual(self.ask(target, "verify", "db")["problemCount"], 0)
        # It goes on where the other one stood.
        self.ctl(target, "update", "db/small", "/a/[0]", "99")
        self.assertEqual(self.ask(target, "verify", "db")["problemCount"], 0)
        target.end()
        again = self.start("two")
        self.assertEqual(self.ask(again, "verify", "db")["problemCount"], 0)

    def test_another_name_and_the_same_server(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        self.ctl(server, "restore", "copy", self.path("full"))
        self.assertEqual(self.everything(server, "copy"), self.everything(server, "db"))

    def test_a_pipe_from_one_server_to_another(self):
        source, target = self.start("one"), self.start("two")
        self.fill(source)
        stream = self.ctl(source, "backup", "db", "-")[0]
        self.ctl(target, "restore", "db", "-", stdin=stream)
        self.assertEqual(self.everything(target), self.everything(source))

    def test_incremental_backups_hold_what_is_new_and_restore_in_order(self):
        source, target = self.start("one"), self.start("two")
        self.fill(source)
        self.ctl(source, "backup", "db", self.path("b0"))
        before = self.everything(source)
        self.ctl(source, "update", "db/small", "/a/[0]", '"new"')
        first = self.ask(source, "backup", "db", self.path("b1"), "--since", self.path("b0"))
        self.assertTrue(first["incremental"])
        self.assertLess(os.path.getsize(self.path("b1")), os.path.getsize(self.path("b0")) // 2)
        source.end(signal.SIGKILL)
        source = self.start("one")
        self.ctl(source, "import", "db/third", "-", stdin=b"[1,2,3]")
        self.ctl(source, "update", "db/small", "/a/[0]", '"newer"')
        self.ctl(source, "backup", "db", self.path("b2"), "--since", self.path("b1"))
        after = self.everything(source)
        self.ctl(target, "restore", "old", self.path("b0"))
        self.assertEqual(self.everything(target, "old"), before)
        answer = self.ask(target, "restore", "db", self.path("b0"), self.path("b1"), self.path("b2"))
        self.assertEqual(answer["backups"], 3)
        self.assertEqual(self.everything(target), after)
        # Out of order, with a gap, or without the full one: refused, and nothing is left.
        for files in (("b0", "b2"), ("b1",), ("b0", "b2", "b1"), ("b0", "b0")):
            with self.subTest(files):
                error = self.error(target, "restore", "bad", *map(self.path, files), code=65)
                self.assertEqual(error["status"], "invalid")
        self.assertNotIn("bad", [d["name"] for d in self.ask(target, "list")["databases"]])

    def test_a_base_of_another_database_or_no_base_is_refused(self):
        server = self.start()
        self.fill(server)
        self.fill(server, "other")
        self.ctl(server, "backup", "db", self.path("full"))
        error = self.error(server, "backup", "other", self.path("x"), "--since", self.path("full"), code=65)
        self.assertEqual(error["field"], "since")
        with open(self.path("junk"), "wb") as junk:
            junk.write(b"x" * 1000)
        self.ctl(server, "backup", "db", self.path("x"), "--since", self.path("junk"), code=76)
        self.ctl(server, "backup", "db", self.path("x"), "--since", self.path("gone"), code=66)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_it_never_takes_the_place_of_a_database(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        before = self.everything(server)
        for name in ("db", "DB"):
            self.assertEqual(self.error(server, "restore", name, self.path("full"), code=73)["status"],
                             "already_exists")
        self.assertEqual(self.everything(server), before)

    def test_readers_may_do_neither(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        self.ctl(server.reader, "backup", "db", self.path("x"), code=77)
        self.ctl(server.reader, "restore", "x", self.path("full"), code=77)
        self.assertFalse(os.path.exists(self.path("x")))

    # --- Damage ------------------------------------------------------------------------------------

    def test_damage_is_refused_with_the_offset_of_its_frame(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        with open(self.path("full"), "rb") as file:
            whole = file.read()
        frames = backup_file.frames(whole)
        places = sorted({0, 5, 30, frames[1][0] + 40, len(whole) // 2, len(whole) - 50, len(whole) - 3,
                         frames[-1][0] + 60, frames[-1][0] + 5})
        for place in places:
            with self.subTest(place):
                broken = bytearray(whole)
                broken[place] ^= 0x10
                with open(self.path("broken"), "wb") as file:
                    file.write(broken)
                error = self.error(server, "restore", "x", self.path("broken"), code=76)
                frame = max(at for at, _, _ in frames if at <= place)
                if place not in (5, frames[-1][0] + 5):  # A length that is wrong may show later.
                    self.assertEqual(error["offset"], frame)
                self.assertIn("byte", error["message"])
        self.assertEqual([d["name"] for d in self.ask(server, "list")["databases"]], ["db"])
        self.assertEqual(os.listdir(self.path("data/databases")), ["db"])

    def test_a_backup_that_ends_early_is_refused_with_the_offset(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        with open(self.path("full"), "rb") as file:
            whole = file.read()
        ends = [at for at, _, _ in backup_file.frames(whole)]
        for size in (1, 11, 12, 40, len(whole) // 3, ends[-1], len(whole) - 1):
            with self.subTest(size):
                error = self.error_of_bytes(server, whole[:size])
                self.assertEqual(error["offset"], size)
                self.assertIn("ends early", error["message"])
        self.assertEqual(self.ctl(server, "restore", "x", "-", stdin=b"", code=76)[0], b"")
        # A second backup behind it that is cut counts as well.
        self.assertIn("ends early", self.error_of_bytes(server, whole + whole[:5])["message"])
        self.assertEqual(os.listdir(self.path("data/databases")), ["db"])

    def error_of_bytes(self, server, data):
        text = self.ctl(server, "restore", "x", "-", "--json", stdin=data, code=76)[1]
        return json.loads(text)["error"]

    def test_frames_that_were_made_up_are_refused_by_the_hashes(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        with open(self.path("full"), "rb") as file:
            whole = file.read()
        frames = [(kind, payload) for _, kind, payload in backup_file.frames(whole)]
        self.assertEqual(backup_file.join(frames), whole)
        segments = [i for i, (kind, _) in enumerate(frames) if kind == backup_file.SEGMENTS]
        cases = {
            "a frame is missing": frames[:segments[0]] + frames[segments[0] + 1:],
            "a frame is there twice": frames[:segments[0] + 1] + frames[segments[0]:],
            "no end": frames[:-1] + frames[:1],
            "rows after segments": frames[:-1] + [frames[1]] + frames[-1:],
            "no start": frames[1:],
        }
        for name, made in cases.items():
            with self.subTest(name):
                self.assertEqual(self.error_of_bytes(server, backup_file.join(made))["status"], "corrupt")
        # With a fitting end, what is missing is found by the check of all that came.
        cut = [(k, p) for i, (k, p) in enumerate(frames[:-1]) if i != segments[-1]]
        self.assertEqual(self.error_of_bytes(server, backup_file.close(cut, frames[-1][1]))["status"],
                         "corrupt")
        self.assertEqual(os.listdir(self.path("data/databases")), ["db"])

    def test_a_kill_in_the_middle_of_a_restore_leaves_nothing(self):
        server = self.start()
        self.fill(server)
        self.ctl(server, "backup", "db", self.path("full"))
        with open(self.path("full"), "rb") as file:
            whole = file.read()
        process = subprocess.Popen([programs.SIRIXCTL, "restore", "x", "-", "--storage", server.address],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(whole[:len(whole) * 3 // 4])
        process.stdin.flush()
        folder = self.path("data/databases")
        while not any(n.startswith(".restore") for n in os.listdir(folder)):
            pass
        server.end(signal.SIGKILL)
        process.communicate(timeout=programs.LIMIT_S)
        self.assertNotEqual(process.wait(programs.LIMIT_S), 0)
        again = self.start()
        self.assertEqual(os.listdir(folder), ["db"])
        self.assertEqual([d["name"] for d in self.ask(again, "list")["databases"]], ["db"])
        self.ctl(again, "restore", "x", self.path("full"))

    def test_a_client_that_goes_away_leaves_nothing(self):
        server = self.start()
        self.fill(server)
        whole = self.ctl(server, "backup", "db", "-")[0]
        process = subprocess.Popen([programs.SIRIXCTL, "restore", "x", "-", "--storage", server.address],
                                   stdin=subprocess.PIPE)
        process.stdin.write(whole[:len(whole) // 2])
        process.stdin.flush()
        folder = self.path("data/databases")
        while not any(n.startswith(".restore") for n in os.listdir(folder)):
            pass
        process.kill()
        process.wait()
        process.stdin.close()
        while os.listdir(folder) != ["db"]:
            pass

    # --- The format ----------------------------------------------------------------------------------

    def test_the_file_is_what_the_page_about_formats_says(self):
        server = self.start()
        self.fill(server)
        told = self.ask(server, "backup", "db", self.path("full"))
        with open(self.path("full"), "rb") as file:
            whole = file.read()
        backup = backup_file.Backup(whole)
        self.assertEqual(backup.name, b"db")
        self.assertFalse(backup.incremental)
        self.assertEqual(backup.sha.hex(), told["sha256"])
        self.assertEqual(len(backup.segments), told["segments"])
        self.assertEqual(struct.unpack("<I", backup.rows[b"D"][:4])[0], 2)
        self.assertIn(b"Nsmall", backup.rows)
        # Numbers and holes are all that there is below next.
        numbers = set(backup.segments)
        for first, last in backup.holes:
            self.assertFalse(numbers & set(range(first, last + 1)))
            numbers |= set(range(first, last + 1))
        self.assertEqual(numbers, set(range(1, backup.next)))


if __name__ == "__main__":
    programs.main()
