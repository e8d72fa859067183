"""A real service in processes of its own, on a free port of loopback."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

# In seconds. It only ends a wait in vain, and is longer than `UNRESPONSIVE_SECONDS`, after which a worker that hangs
# is replaced.
PATIENCE = 180.0


class Service:
    """`apportion serve`, started; `lines` is its log, as plain data."""

    def __init__(self, db, *options, **environment):
        self._log = tempfile.TemporaryFile("a+")  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(
            [sys.executable, "-m", "apportion", "serve", "--db", str(db), "--port", "0", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError(f"the service did not start: {self.text}")
        self.place = json.loads(said)
        self.url = self.place["url"]

    @property
    def text(self):
        # The service writes where this file stands: it is read without moving that place, or lines would be lost.
        # It may have written half of a line, or of a letter.
        log = self._log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.split("\n")[:-1]]

    def ask(self, path, method="GET", body=None, **headers):
        """(status, headers, content) of one request on a connection of its own."""
        parts = urlsplit(self.url)
        with contextlib.closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)) as wire:
            wire.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = wire.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def children(self):
        """The processes that it started, by number."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    line = (entry / "cmdline").read_bytes()
                    if int(fields[1]) == self.process.pid and b"spawn_main" in line and fields[0] != "Z":
                        found.append(int(entry.name))
        return sorted(found)

    def stop(self, number=signal.SIGTERM):
        """Send a signal and wait; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self._log.close()


@contextlib.contextmanager
def service(db, *options, **environment):
    """A running service, stopped at the end."""
    started = Service(db, *options, **environment)
    try:
        yield started
    finally:
        started.end()


def until(condition, what):
    """Wait until something is so."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")
