"""A disk that is nearly full, and then full: what goes on, and what is refused and how."""
import ctypes
import json
import os
import shutil
import tempfile
import unittest

import case
import daemon
from case import delete, insert, update

DISK_BYTES = 160 << 20
STOP_BYTES = 64 << 20  # Writes stop below so many free ones.
STEP = 1 << 16
CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18


def mount_small(folder):
    """A small file system that this thread and its children alone see; else why there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (lambda: libc.unshare(CLONE_NEWNS),
                 lambda: libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None),
                 lambda: libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0,
                                    b"mode=0700,size=%d" % DISK_BYTES)):
        if call() != 0:
            return os.strerror(ctypes.get_errno())
    return None


class SmallDisk(case.DaemonCase):
    @classmethod
    def setUpClass(cls):
        case.load()
        cls.parent = tempfile.mkdtemp(prefix="sirix_it_")
        folder = cls.parent + "/data"
        os.mkdir(folder, 0o700)
        refused = mount_small(folder)
        if refused:
            shutil.rmtree(cls.parent)
            raise unittest.SkipTest("a small disk cannot be mounted here: " + refused)
        cls.filler = folder + "/filler"
        cls.daemon = daemon.Daemon(case.ARGS.storaged, folder=folder)
        cls.client = daemon.Client(cls.daemon.owner, case.pb)
        cls.names = 0
        cls.client.CreateDatabase(database=b"db")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        ctypes.CDLL(None).umount2((cls.parent + "/data").encode(), 2)
        shutil.rmtree(cls.parent, True)

    def fill(self, free_bytes):
        """Takes room until only so much is free."""
        with open(self.filler, "ab", buffering=0) as file:
            while os.statvfs(self.filler).f_bavail * os.statvfs(self.filler).f_frsize > free_bytes:
                try:
                    if file.write(bytes(STEP)) < STEP:
                        break
                except OSError:
                    break

    def setUp(self):
        self.name = self.resource(json.dumps(
            {"a": [{"i": i, "t": "x" * 500} for i in range(2000)], "b": [1, 2, 3], "c": 1}))

        self.assertEqual(self.read_only_reason(), b"")

    def tearDown(self):
        if os.path.exists(self.filler):
            os.remove(self.filler)
        self.apply(self.name, update(self.node(self.name, "/c").node_key, "2"))
        self.assertEqual(self.json(self.name)["c"], 2)

    def read_only_reason(self):
        return next(d.read_only_reason for d in self.client.ListDatabases().databases
                    if d.name == b"db")

    def refuses_writes(self):
        c, b = (self.node(self.name, path).node_key for path in ("/c", "/b"))
        head = self.head(self.name)
        for operations in ([update(c, "5")], [insert("1", b"n", node_key=1)],
                           [delete(b), insert("1", b"n", node_key=1)]):
            self.refused("RESOURCE_EXHAUSTED", "disk_full", self.apply, self.name, *operations)
        self.assertEqual(self.head(self.name), head)
        self.assertIn(b"bytes free, writes stop below", self.read_only_reason())

    def test_below_the_limit_deletes_go_on_and_other_writes_are_refused(self):
        self.fill(STOP_BYTES - 4 * STEP)
        self.refuses_writes()
        for path in ("/a/[7]", "/b", "/a"):
            head = self.head(self.name)
            self.apply(self.name, delete(self.node(self.name, path).node_key))
            self.assertEqual(self.head(self.name), head + 1)
        self.assertEqual(self.json(self.name), {"c": 1})

    def test_on_a_full_disk_a_delete_takes_the_reserve(self):
        self.fill(0)
        self.refuses_writes()
        self.apply(self.name, delete(self.node(self.name, "/a").node_key))
        self.assertEqual(self.json(self.name), {"b": [1, 2, 3], "c": 1})


if __name__ == "__main__":
    case.main()
