"""A sirix-mcp that serves HTTP, for tests."""
import http.client
import os
import signal
import subprocess
from urllib.parse import urlsplit

from mcp_client import LIMIT_S, PROGRAMS


class Server:
    """A running endpoint."""

    def __init__(self, *args):
        ready, told = os.pipe()
        self.process = subprocess.Popen(
            [PROGRAMS["mcp"], *args, "--http", "127.0.0.1:0", "--ready-fd", str(told)],
            pass_fds=[told], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        os.close(told)
        with os.fdopen(ready) as file:
            self.url = file.readline().strip()
        self.port = urlsplit(self.url).port

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err

    # The endpoint is cleaned up like the gateways of other tests.
    def kill(self):
        self.end(signal.SIGKILL)
