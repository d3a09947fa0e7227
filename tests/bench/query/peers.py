"""The contestants, each a process that is asked over a pipe or socket, so that all are timed alike."""
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BASEX_PORT = 21984


def evict(folder):
    """Drops what the system's cache holds of files that nobody has mapped."""
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                fd = os.open(os.path.join(base, name), os.O_RDONLY)
            except OSError:
                continue  # A socket.
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def cpu_ms(pid):
    """CPU time of all threads of a process so far."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass  # It has just ended.
    return total / 1e6


class Memory:
    """The peak of RssAnon of a process while something runs, in MiB."""

    def __init__(self, pid):
        self.pid = pid
        self.peak = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self):
        while True:
            try:
                with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
                    for line in file:
                        if line.startswith("RssAnon"):
                            self.peak = max(self.peak, int(line.split()[1]) / 1024)
            except OSError:
                return
            if self.over.wait(0.005):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Piped:
    """A worker that answers lines on stdout to what is written to its stdin."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def spawn(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=self.folder, **more)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(type(self).__name__ + " ended")
        return line

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(60)
            self.process = None

    @property
    def pid(self):
        return self.process.pid


class Sirix(Piped):
    """storaged, asked through libsirix over its Unix socket."""
    name, title = "sirix", "ours"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = program  # Name to path.
        self.daemon = None
        self.first = {}
        self.start()

    def start(self):
        ready, write = os.pipe()
        with open(os.path.join(self.folder, "storaged.log"), "ab") as log:
            self.daemon = subprocess.Popen(
                [self.program("storaged"), "--data", os.path.join(self.folder, "data"),
                 "--ready-fd", str(write)], stderr=log, pass_fds=(write,))
        os.close(write)
        word = os.read(ready, 64)
        os.close(ready)
        if word != b"ready\n":
            raise RuntimeError("storaged did not start")
        self.address = "unix:" + os.path.join(self.folder, "data", "storaged.sock")
        self.spawn([self.program("bench_query"), self.address])

    def stop(self):
        super().stop()
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(60)
            self.daemon = None

    @property
    def pid(self):
        return self.daemon.pid

    def _call(self, kind, query):
        data = query.encode()
        self.write(b"%s %d\n" % (kind, len(data)) + data)
        return [json.loads(self.line()) for _ in range(int(self.line()))]

    def ask(self, query):
        for name, revision in self.first.items():
            query = query.replace("$FIRST", str(revision)) if name in query else query
        return self._call(b"q", query)

    def load(self, name, path):
        subprocess.run([self.program("sirixctl"), "import", "--storage", self.address, "--quiet",
                        "bench/" + name, path], check=True, stdout=subprocess.DEVNULL)

    def change(self, name, changes):
        self.first[name] = self._call(b"q", "sdb:revision(jn:doc('bench','%s'))" % name)[0]
        for index, value in changes:
            self._call(b"u", "replace json value of jn:doc('bench','%s')[%d].delay with %d"
                       % (name, index, value))


class Sql(Piped):
    """What the SQL contestants share: a table a data set, its old rows in another."""

    def execute(self, text):
        return self.ask(text)

    def change(self, name, changes):
        for till, (index, value) in enumerate(changes):
            self.execute("insert into %s_old select id, %d, j from %s where id = %d"
                         % (name, till, name, index))
            self.execute("update %s set j = %s where id = %d"
                         % (name, self.with_delay(value), index))


class Sqlite(Sql):
    name, title = "sqlite", "SQLite"

    def __init__(self, folder):
        super().__init__(folder)
        self.start()

    @staticmethod
    def there():
        return True

    def start(self):
        self.spawn(["python3", os.path.join(HERE, "worker_sqlite.py"), "peer.db"])

    def ask(self, query):
        self.write(json.dumps(query).encode() + b"\n")
        return json.loads(self.line())

    def load(self, name, path):
        whole = name == "compat"
        source = "(select %s value)" if whole else "json_each(%s)"
        table = os.path.basename(path)
        self.execute("create table %s(id integer primary key, j text)" % name)
        # The shell has readfile(), the library has not.
        subprocess.run(["sqlite3", "peer.db", "insert into %s(id, j) select %s, value from %s;" % (
            name, "0" if whole else "key", source % ("readfile('%s')" % table))], cwd=self.folder,
            check=True)
        if whole:  # readfile() gives a blob.
            self.execute("update %s set j = cast(j as text)" % name)

    def with_delay(self, value):
        return "json_set(j, '$.delay', %d)" % value

    def change(self, name, changes):
        self.execute("create table %s_old(id integer, till integer, j text)" % name)
        self.execute("begin")
        super().change(name, changes)
        self.execute("commit")


class Duckdb(Sql):
    name, title = "duckdb", "DuckDB"

    def __init__(self, folder, modules):
        super().__init__(folder)
        self.modules = modules
        self.start()

    def start(self):
        self.spawn(["node", os.path.join(HERE, "worker_duckdb.mjs"), self.modules, "peer.duckdb"])

    def ask(self, query):
        self.write(json.dumps(query).encode() + b"\n")
        return [int(v) if isinstance(v, str) and v.lstrip("-").isdigit() else v
                for v in json.loads(self.line())]

    def load(self, name, path):
        """A row a line, so that DuckDB's own reader need not find the records."""
        lines = path + "l"
        kind = "unstructured" if name == "compat" else "newline_delimited"
        self.execute("create table %s as select row_number() over () - 1 as id, json as j from "
                     "read_json_objects('%s', format='%s', maximum_object_size=100000000)" % (
                         name, path if name == "compat" else lines, kind))

    def with_delay(self, value):
        return "json_merge_patch(j, '{\"delay\":%d}')" % value

    def change(self, name, changes):
        self.execute("create table %s_old(id bigint, till bigint, j json)" % name)
        self.execute("begin")
        super().change(name, changes)
        self.execute("commit")


class Postgres(Sql):
    name, title = "postgres", "PostgreSQL"

    def __init__(self, folder, server):
        super().__init__(folder)
        self.server = server
        self.backend = None
        self.spawn_client()

    def spawn_client(self):
        self.spawn(["/usr/lib/postgresql/15/bin/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                    self.server.connection])
        self.backend = int(self.ask("select pg_backend_pid()")[0])

    def start(self):
        self.server.start()
        self.spawn_client()

    def stop(self):
        super().stop()
        self.server.stop()

    def close(self):
        Piped.stop(self)
        self.server.close()

    @property
    def pid(self):
        return self.backend

    def ask(self, query):
        self.write(query.encode() + b";\n\\echo end-of-answer\n")
        found = []
        while True:
            line = self.line().decode().rstrip("\n")
            if line == "end-of-answer":
                return found
            if line:
                found.append(line)

    def load(self, name, path):
        source = path if name == "compat" else path + "l"
        self.execute("create table %s(id bigserial, j jsonb)" % name)
        # Neither character stands in JSON text, so lines are taken as they are.
        self.execute("\\copy %s(j) from '%s' with (format csv, quote e'\\x01', delimiter e'\\x02')"
                     % (name, source))
        self.execute("update %s set id = id - 1" % name if name == "history" else "select")
        self.execute("vacuum analyze %s" % name)
        if name == "history":
            self.execute("create unique index on history(id)")

    def with_delay(self, value):
        return "jsonb_set(j, '{delay}', '%d')" % value

    def change(self, name, changes):
        self.execute("create table %s_old(id bigint, till bigint, j jsonb)" % name)
        self.execute("begin")
        super().change(name, changes)
        self.execute("commit")
        self.execute("vacuum analyze %s" % name)


class Jq:
    """A process a query, which reads the text each time; what it takes to start one is taken off."""
    name, title = "jq", "jq"

    def __init__(self, folder):
        self.folder = folder
        self.files = {}
        self.pid = None
        began = time.perf_counter()
        subprocess.run(["jq", "-n", "1"], check=True, stdout=subprocess.DEVNULL)
        self.idle = time.perf_counter() - began

    @staticmethod
    def there():
        return shutil.which("jq") is not None

    def load(self, name, path):
        self.files[name] = path

    def start(self):
        pass

    def stop(self):
        pass

    def ask(self, query, data):
        done = subprocess.run(["jq", "-c", query, self.files[data]], check=True,
                              stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Basex:
    """A BaseX server of our own, asked over its socket."""
    name, title = "basex", "BaseX"

    def __init__(self, folder):
        self.folder = os.path.join(folder, "basex")
        os.makedirs(self.folder)
        self.server = None
        self.socket = None
        self.start()

    @staticmethod
    def there():
        return shutil.which("basexserver") is not None

    def start(self):
        environment = dict(os.environ, BASEX_JVM="-Xmx6g -Dorg.basex.path=%s" % self.folder)
        self.server = subprocess.Popen(
            ["basexserver", "-p%d" % BASEX_PORT, "-n127.0.0.1"], env=environment, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        for _ in range(600):
            try:
                self.socket = socket.create_connection(("127.0.0.1", BASEX_PORT))
                break
            except OSError:
                time.sleep(0.1)
        self.buffer = b""
        realm, nonce = self._text().split(":")
        secret = hashlib.md5(("admin:%s:admin" % realm).encode()).hexdigest() + nonce
        self.socket.sendall(b"admin\0" + hashlib.md5(secret.encode()).hexdigest().encode() + b"\0")
        if self._byte() != 0:
            raise RuntimeError("BaseX does not let us in")

    def stop(self):
        self.socket.close()
        self.server.terminate()
        self.server.wait(60)

    @property
    def pid(self):
        return self.server.pid

    def _byte(self):
        if not self.buffer:
            self.buffer = self.socket.recv(1 << 20)
            if not self.buffer:
                raise RuntimeError("BaseX ended")
        first, self.buffer = self.buffer[0], self.buffer[1:]
        return first

    def _text(self):
        parts = []
        while True:
            end = self.buffer.find(b"\0")
            if end >= 0:
                parts.append(self.buffer[:end])
                self.buffer = self.buffer[end + 1:]
                return b"".join(parts).decode()
            parts.append(self.buffer)
            self.buffer = self.socket.recv(1 << 20)
            if not self.buffer:
                raise RuntimeError("BaseX ended")

    def command(self, text):
        self.socket.sendall(text.encode() + b"\0")
        result, info = self._text(), self._text()
        if self._byte() != 0:
            raise RuntimeError("%s: %s" % (text[:200], info))
        return result

    def load(self, name, path):
        self.command("SET PARSER json")
        self.command("CREATE DB %s %s" % (name, path))

    def ask(self, query):
        return self.command("XQUERY " + query).splitlines()
