"""The experiments of a worker: a bounded number at once, beside the campaigns, on threads of low priority.

An experiment lives in the request that started it: its events are the response, and when the connection goes, it
stops. All that the workers share is an empty file for each run under way, in a folder of theirs: whichever worker is
asked to cancel a run removes its file, and the run sees that it is gone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from apportion.errors import ApportionError, UnknownName
from apportion.simulation.plan import Plan
from apportion.web.laboratory.run import Run

# At the same time in one process.
MOST_RUNS = 2
MOST_RESULTS = 20
RESULT_SECONDS = 3_600.0
# Of a thread on Linux: larger is lower, and the service's own have 0.
LOW_PRIORITY = 10
# The name of a run: the process that has it, and something that nobody guesses.
_RUN = r"[0-9]+-[0-9a-f]{12}"


class Busy(ApportionError):
    """As many experiments are running as may; nothing was started."""


class Laboratory:
    """The experiments of this process: a bounded number at once, and the results of the last ones."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._folder: Path | None = None
        self.results = ResultCache()

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, made on first use."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, "laboratory", initializer=_lower_priority)
            return self._pool

    def share(self, folder: str | os.PathLike[str]) -> None:
        """Let the workers that share this folder cancel each other's runs."""
        self._folder = Path(folder)

    def make_file(self, name: str) -> Path | None:
        """The file that stands for a run; None where there is no folder, or it cannot be written."""
        if self._folder is None:
            return None
        with contextlib.suppress(OSError):
            (self._folder / f"{name}.run").touch(exist_ok=False)
            return self._folder / f"{name}.run"
        return None

    def start(self, plan: Plan) -> Run:
        """A run of the plan; whoever starts it reads its `events`, and calls `close` at the end."""
        with self._lock:
            if len(self._runs) >= MOST_RUNS:
                raise Busy(
                    f"The laboratory runs {MOST_RUNS} experiments at a time; got one more. "
                    "Wait until one has ended, or cancel one, and run again."
                )
            run = Run(self, plan)
            self._runs[run.id] = run
        return run

    def cancel(self, name: str) -> None:
        """Stop a run of this process, or of another one that shares the folder."""
        with self._lock:
            run = self._runs.get(name)
        if run is not None:
            run.cancel()
            return
        if self._folder is not None and re.fullmatch(_RUN, name):
            with contextlib.suppress(OSError):
                (self._folder / f"{name}.run").unlink()
                return
        raise UnknownName(f"Experiment '{name}' is not running: it has ended, was cancelled, or never was.")

    def forget(self, run: Run) -> None:
        """The run has ended."""
        with self._lock:
            self._runs.pop(run.id, None)
        if run.file is not None:
            with contextlib.suppress(OSError):
                run.file.unlink(missing_ok=True)

    @property
    def running(self) -> int:
        """How many experiments are under way."""
        return len(self._runs)

    def close(self) -> None:
        """Stop everything; for the end of a process, and for tests."""
        with self._lock:
            runs, pool = list(self._runs.values()), self._pool
            self._pool = None
        for run in runs:
            run.cancel()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


class ResultCache:
    """The last results, for whoever asks for the same experiment again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Remember a result for a while; the oldest make room."""
        with self._lock:
            self._results[key] = time.monotonic(), result
            while len(self._results) > MOST_RESULTS:
                self._results.popitem(last=False)

    def get(self, key: str) -> dict[str, Any] | None:
        """A result that is still there."""
        with self._lock:
            now = time.monotonic()
            for old in [name for name, (when, _) in self._results.items() if now - when > RESULT_SECONDS]:
                del self._results[old]
            return self._results[key][1] if key in self._results else None


@functools.cache
def laboratory() -> Laboratory:
    """The laboratory of this process."""
    return Laboratory()


def _lower_priority() -> None:
    """Let the threads of the service go first, where threads have priorities of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
