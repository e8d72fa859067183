"""Experiments that run beside the campaigns: in small chunks, on threads that step aside, until done or cancelled.

An experiment is a pure function of its definition: chunks of any size, on any number of threads and in any worker
process give the same numbers to the last bit. An experiment lives in the request that started it: its events are the
answer, and when the connection goes, it stops. All that the workers share is an empty file for each run under way, in
a folder of theirs: whichever worker is asked to cancel a run takes its file away, and the run sees that it is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import json
import logging
import os
import re
import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apportion._common.sources import simulation_digest
from apportion.errors import ApportionError, UnknownName
from apportion.model.sums import Floats
from apportion.simulation.executors import reason_of
from apportion.simulation.plan import Plan
from apportion.simulation.task import Arrays, Task, run_task

log = logging.getLogger(__name__)

# A chunk cannot be interrupted: this is how long cancelling takes.
CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 2_000
EVENT_SECONDS = 0.2
# Runs at the same time in one process, and results that are kept for whoever asks for the same again.
MOST_RUNS = 2
MOST_KEPT = 20
KEPT_SECONDS = 3_600.0
# Shares are added up as whole multiples of this: sums of integers do not depend on their order, nor on the chunks.
SHARE_UNIT = 2.0**-40
# The name of a run: the process that has it, and something that nobody guesses.
_RUN = r"[0-9]+-[0-9a-f]{12}"

Event = tuple[str, dict[str, Any]]


class Busy(ApportionError):
    """As many experiments are running as may; nothing was started."""


def experiment_key(plan: Plan) -> str:
    """A name for the numbers that come out: the definition and the code that runs it."""
    described = json.dumps(plan.describe(), sort_keys=True)
    return hashlib.sha256(f"{described}\n{simulation_digest()}".encode()).hexdigest()[:16]


class Chunk(NamedTuple):
    """Replications `first` to `last` − 1 of a part, under way."""

    part: Part
    first: int
    last: int


class Part:
    """One policy of an experiment: what is done of it and what it found so far."""

    def __init__(self, plan: Plan, place: int) -> None:
        self.label = plan.policies[place].label
        self.total = plan.replications
        self.begun = self.done = 0
        self.size = 1
        policy = plan.policy(place, plan.instances[0])
        self.task = Task(
            policy, plan.instances[0], plan.horizon, plan.marks, plan.record, plan.seed, 0, 0, plan.common,
            plan.engine_for(policy, plan.instances[0]),
        )  # fmt: skip
        self.regret = np.full((plan.replications, len(plan.marks)), np.nan)
        self._regret_sum = np.zeros(len(plan.marks))
        self._share_units = np.zeros((len(plan.marks), plan.instances[0].arms), np.int64)

    def next_chunk(self) -> Chunk:
        """The next replications; few until it is known how long one takes."""
        first, self.begun = self.begun, min(self.begun + self.size, self.total)
        return Chunk(self, first, self.begun)

    def absorb(self, chunk: Chunk, arrays: Arrays, seconds: float) -> None:
        """Take in what a chunk found, and learn from its time how large the next may be."""
        regret, runs = arrays["regret"], chunk.last - chunk.first
        self.regret[chunk.first : chunk.last] = regret
        self._regret_sum += regret.sum(axis=0)
        self._share_units += np.rint(arrays["shares"] / SHARE_UNIT).astype(np.int64).sum(axis=0)
        self.done += runs
        self.size = max(1, min(LARGEST_CHUNK, int(runs * CHUNK_SECONDS / max(seconds, 1e-6)), 8 * runs))

    @property
    def mean_so_far(self) -> Floats | None:
        """Mean regret at the marks over the replications that are done."""
        return self._regret_sum / self.done if self.done else None

    @property
    def shares(self) -> Floats:
        """Mean shares, (marks, arms)."""
        return self._share_units * SHARE_UNIT / self.done


def run_chunk(chunk: Chunk) -> tuple[Arrays, float]:
    """Run a chunk on this thread; its arrays, and how many seconds it took."""
    start = time.perf_counter()
    arrays = run_task(dataclasses.replace(chunk.part.task, first=chunk.first, last=chunk.last))
    return arrays, time.perf_counter() - start


class Run:
    """One experiment under way. `events` is to be read once; `cancel` may be called from anywhere."""

    def __init__(self, laboratory: Laboratory, plan: Plan) -> None:
        self.id = f"{os.getpid()}-{secrets.token_hex(6)}"
        self.plan, self._laboratory = plan, laboratory
        self._cancelled = threading.Event()
        self._began = time.monotonic()
        self.file = laboratory.make_file(self.id)
        """Its file among those of all workers; None where nothing is shared."""

    @property
    def cancelled(self) -> bool:
        """Whether it is to stop: someone said so here, or another worker took its file away."""
        if self.file is not None and not self.file.exists():
            self.cancel()
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Begin no other chunk; those under way end within about a tenth of a second."""
        self._cancelled.set()

    def close(self) -> None:
        """Cancel what is left, and make room for another run."""
        self.cancel()
        self._laboratory.forget(self)

    async def events(self) -> AsyncIterator[Event]:
        """`started`, `progress` now and then, and one of `result`, `cancelled`, `failed`."""
        try:
            async for event in self._events():
                yield event
        finally:
            self.close()

    async def _events(self) -> AsyncIterator[Event]:
        plan = self.plan
        key = experiment_key(plan)
        labels = [policy.label for policy in plan.policies]
        total = plan.replications * len(labels)
        yield "started", {"run": self.id, "experiment": key, "total": total, "policies": labels}
        kept = self._laboratory.kept(key)
        if kept is not None:
            yield "result", {**kept, "kept": True}
            return
        parts = [Part(plan, place) for place in range(len(labels))]
        try:
            async for progress in self._work(parts):
                yield "progress", progress
        except ApportionError as error:
            yield "failed", {"detail": str(error)}
            return
        except Exception as error:  # whatever went wrong, the page gets a sentence and the log the rest
            log.exception("experiment %s failed", key)
            yield "failed", {"detail": f"The experiment stopped: {reason_of(error)}. The log of the server has more."}
            return
        if self.cancelled:
            done = sum(part.done for part in parts)
            yield "cancelled", {"done": done, "total": total, "seconds": time.monotonic() - self._began}
            return
        from apportion.web.laboratory.findings import findings

        result = await asyncio.get_running_loop().run_in_executor(self._laboratory.pool, findings, plan, parts)
        result = {"experiment": key, "seconds": time.monotonic() - self._began, **result}
        self._laboratory.keep(key, result)
        yield "result", result

    async def _work(self, parts: list[Part]) -> AsyncIterator[dict[str, Any]]:
        """Keep every thread busy; the policy that is least far along goes first."""
        loop, pool = asyncio.get_running_loop(), self._laboratory.pool
        running: dict[asyncio.Future[Any], Chunk] = {}
        told = 0.0
        try:
            while not self.cancelled:
                waiting = [part for part in parts if part.begun < part.total]
                while waiting and len(running) < self._laboratory.threads:
                    part = min(waiting, key=lambda part: part.begun)
                    chunk = part.next_chunk()
                    running[loop.run_in_executor(pool, run_chunk, chunk)] = chunk
                    waiting = [part for part in parts if part.begun < part.total]
                if not running:
                    return
                done, _ = await asyncio.wait(running, timeout=EVENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    chunk = running.pop(future)
                    chunk.part.absorb(chunk, *future.result())
                if time.monotonic() - told >= EVENT_SECONDS:
                    told = time.monotonic()
                    yield self._progress(parts)
        finally:
            for future in running:
                future.cancel()
                future.add_done_callback(_heard)

    def _progress(self, parts: list[Part]) -> dict[str, Any]:
        done, total = sum(part.done for part in parts), sum(part.total for part in parts)
        seconds = time.monotonic() - self._began
        means = [part.mean_so_far for part in parts]
        return {
            "done": done,
            "total": total,
            "seconds": seconds,
            "left": seconds * (total - done) / done if done >= 0.02 * total else None,
            "preparing": [part.label for part in parts if part.begun and not part.done],
            "by_policy": [part.done for part in parts],
            "periods": list(self.plan.marks),
            "means": [None if mean is None else [float(f"{value:.6g}") for value in mean] for mean in means],
        }


def _heard(future: asyncio.Future[Any]) -> None:
    """A chunk that nobody waits for any more may fail in silence."""
    if not future.cancelled():
        future.exception()


class Laboratory:
    """The experiments of this process: a bounded number at once, and the results of the last ones."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._folder: Path | None = None
        self._kept: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, made on first use."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, "laboratory", initializer=step_aside)
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

    def keep(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result for a while; the oldest make room."""
        with self._lock:
            self._kept[key] = time.monotonic(), result
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def kept(self, key: str) -> dict[str, Any] | None:
        """A result that is still there."""
        with self._lock:
            now = time.monotonic()
            for old in [name for name, (when, _) in self._kept.items() if now - when > KEPT_SECONDS]:
                del self._kept[old]
            return self._kept[key][1] if key in self._kept else None

    def close(self) -> None:
        """Stop everything; for the end of a process, and for tests."""
        with self._lock:
            runs, pool = list(self._runs.values()), self._pool
            self._pool = None
        for run in runs:
            run.cancel()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


@functools.cache
def laboratory() -> Laboratory:
    """The laboratory of this process."""
    return Laboratory()


def step_aside() -> None:
    """Let the threads of the service go first, where threads have priorities of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
