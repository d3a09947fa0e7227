"""Starts storaged for a test and gives a client of it, made from the .proto files alone."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

import grpc

WAIT = 60


class Daemon:
    """A storaged over a folder of its own, killed with its test."""

    def __init__(self, program, *args, folder=None, parent=None):
        self.program = program
        self.args = list(args)
        self.parent = None
        if folder is None:
            self.parent = tempfile.mkdtemp(prefix="sirix_it_", dir=parent)
            folder = self.parent + "/data"
        self.folder = folder
        self.process = None
        self.log_path = (self.parent or os.path.dirname(folder)) + "/log"
        self.start()

    def start(self):
        ready, write = os.pipe()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--data", self.folder, "--listen", "127.0.0.1:0", "--ready-fd",
                 str(write), "--log-level", "debug", *self.args], stderr=log, pass_fds=(write,))
        os.close(write)
        word = os.read(ready, 64)
        os.close(ready)
        if word != b"ready\n":
            raise AssertionError("storaged did not get ready: " + self.log_text()[-2000:])
        self.port = [line["port"] for line in self.log() if line["msg"] == "listening"
                     and line["address"].startswith("127.")][-1]

    def log_text(self):
        with open(self.log_path, "r", encoding="utf-8") as log:
            return log.read()

    def log(self):
        return [json.loads(line) for line in self.log_text().splitlines() if line.startswith("{")]

    @property
    def owner(self):
        return "unix:" + self.folder + "/storaged.sock"

    @property
    def reader(self):
        return "unix:" + self.folder + "/reader.sock"

    @property
    def tcp(self):
        return "127.0.0.1:%d" % self.port

    def end(self, how=signal.SIGTERM):
        """Ends the process; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(WAIT)

    def close(self):
        code = self.end()
        if self.parent:
            shutil.rmtree(self.parent, True)
        return code


class Client:
    """Every method of sirix.storage.v1.Storage under its own name."""

    def __init__(self, address, storage, credentials=None, token=None, options=()):
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0), *options]
        self.channel = (grpc.insecure_channel(address, options) if credentials is None
                        else grpc.secure_channel(address, credentials, options))
        self.pb = storage
        self.metadata = [] if token is None else [("authorization", "Bearer " + token)]
        for method in storage.DESCRIPTOR.services_by_name["Storage"].methods:
            setattr(self, method.name, self.callable(method))

    def sent(self, metadata):
        return self.metadata + list(metadata or ())

    def callable(self, method):
        request = getattr(self.pb, method.input_type.name)
        answer = getattr(self.pb, method.output_type.name)
        path = "/sirix.storage.v1.Storage/" + method.name
        streams_in = method.name in ("ApplyStream", "Import", "Restore")
        streams_out = method.name in ("ReadDocument", "Diff", "Query", "Sql", "Verify", "Attach",
                                      "Watch", "Backup")
        kind = ("stream" if streams_in else "unary") + "_" + ("stream" if streams_out else "unary")
        raw = getattr(self.channel, kind)(path, request.SerializeToString, answer.FromString)

        def call(message=None, timeout=WAIT, metadata=None, **fields):
            if streams_in:
                return raw(iter(message), timeout=timeout, metadata=self.sent(metadata))
            if message is None:
                message = request(**fields)
            return raw(message, timeout=timeout, metadata=self.sent(metadata))

        call.raw = raw
        call.request_name = method.input_type.name
        call.future = lambda timeout=WAIT, **fields: raw.future(request(**fields), timeout=timeout)
        return call

    def close(self):
        self.channel.close()


def detail(failure, error):
    """The ErrorDetail in a failed call."""
    for key, value in failure.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = error.ErrorStatus.FromString(value)
            assert status.code == failure.code().value[0]
            return error.ErrorDetail.FromString(status.details[0].value)
    return None
