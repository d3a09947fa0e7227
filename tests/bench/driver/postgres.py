"""A PostgreSQL 15 of our own: a cluster in a folder, reached over a Unix socket alone."""
import os
import pwd
import shutil
import subprocess
import time

SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "'256MB'",
    "max_wal_size": "'4GB'",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
}


class Postgres:
    BIN = "/usr/lib/postgresql/15/bin"

    @classmethod
    def there(cls):
        return os.path.exists(cls.BIN + "/postgres")

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        self._run(self.BIN + "/initdb", "-D", folder + "/data", "-A", "trust", "-U", "bench",
                  "--no-instructions", "-E", "UTF8", "--locale=C.UTF-8")
        with open(folder + "/data/postgresql.conf", "a", encoding="utf-8") as conf:
            for name, value in SETTINGS.items():
                conf.write("%s = %s\n" % (name, value))
            conf.write("unix_socket_directories = '%s'\n" % folder)
        self.start_ms = None
        self.start()

    @property
    def connection(self):
        return "host=%s user=bench dbname=postgres" % self.folder

    def _run(self, *command):
        if os.getuid() == 0:
            command = ("runuser", "-u", "postgres", "--") + command
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)

    def start(self):
        began = time.monotonic()
        # Output of the server must not hold our pipe open.
        self._run(self.BIN + "/pg_ctl", "-D", self.folder + "/data", "-w", "-l",
                  self.folder + "/log", "start")
        self.start_ms = (time.monotonic() - began) * 1000

    def stop(self):
        self._run(self.BIN + "/pg_ctl", "-D", self.folder + "/data", "-m", "fast", "-w", "stop")

    def close(self):
        self.stop()
        shutil.rmtree(self.folder)
