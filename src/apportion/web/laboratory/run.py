"""One experiment under way, as the events that its request answers with.

Its work is done in chunks: each runs a few replications of one policy, and their results add up. An experiment is a
pure function of its definition: chunks of any size, on any number of threads and in any worker process give the same
numbers to the last bit.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion._common.sources import simulation_digest
from apportion.errors import ApportionError
from apportion.model.sums import Floats
from apportion.simulation.executors import reason_of
from apportion.simulation.plan import Plan
from apportion.simulation.task import Arrays, run_task

if TYPE_CHECKING:
    from apportion.web.laboratory.experiments import Laboratory

log = logging.getLogger(__name__)

# Progress is reported no more often than this.
EVENT_SECONDS = 0.2
# The time left is estimated once this part of the work is done.
SMALLEST_SAMPLE = 0.02
# A chunk cannot be interrupted: this is how long cancelling takes.
CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 2_000
# The next chunk has at most so many times the replications of the last.
FASTEST_GROWTH = 8
# Shares are added up as whole multiples of this: sums of integers do not depend on their order, nor on the chunks.
SHARE_UNIT = 2.0**-40

Event = tuple[str, dict[str, Any]]


class Chunk(NamedTuple):
    """Replications `first` to `last` − 1 of a part, under way."""

    part: Part
    first: int
    last: int


class Part:
    """One policy of an experiment: what is done of it and what it found so far."""

    def __init__(self, plan: Plan, index: int) -> None:
        self.label = plan.policies[index].label
        self.total = plan.replications
        self.begun = self.done = 0
        self.size = 1
        self.task = plan.task(index, plan.instances[0])
        self.regret = np.full((plan.replications, len(plan.checkpoints)), np.nan)
        self._regret_sum = np.zeros(len(plan.checkpoints))
        self._share_units = np.zeros((len(plan.checkpoints), plan.instances[0].arms), np.int64)

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
        self.size = max(1, min(LARGEST_CHUNK, int(runs * CHUNK_SECONDS / max(seconds, 1e-6)), FASTEST_GROWTH * runs))

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


def experiment_key(plan: Plan) -> str:
    """A name for the numbers that come out: the definition and the code that runs it."""
    described = json.dumps(plan.describe(), sort_keys=True)
    return hashlib.sha256(f"{described}\n{simulation_digest()}".encode()).hexdigest()[:16]


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
        cached = self._laboratory.results.get(key)
        if cached is not None:
            yield "result", {**cached, "kept": True}
            return
        parts = [Part(plan, index) for index in range(len(labels))]
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
        self._laboratory.results.put(key, result)
        yield "result", result

    async def _work(self, parts: list[Part]) -> AsyncIterator[dict[str, Any]]:
        """Keep every thread busy; the policy that is least far along goes first."""
        loop, pool = asyncio.get_running_loop(), self._laboratory.pool
        running: dict[asyncio.Future[Any], Chunk] = {}
        reported = 0.0
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
                if time.monotonic() - reported >= EVENT_SECONDS:
                    reported = time.monotonic()
                    yield self._progress(parts)
        finally:
            for future in running:
                future.cancel()
                future.add_done_callback(_ignore)

    def _progress(self, parts: list[Part]) -> dict[str, Any]:
        done, total = sum(part.done for part in parts), sum(part.total for part in parts)
        seconds = time.monotonic() - self._began
        means = [part.mean_so_far for part in parts]
        return {
            "done": done,
            "total": total,
            "seconds": seconds,
            "left": seconds * (total - done) / done if done >= SMALLEST_SAMPLE * total else None,
            "preparing": [part.label for part in parts if part.begun and not part.done],
            "by_policy": [part.done for part in parts],
            "periods": list(self.plan.checkpoints),
            "means": [None if mean is None else [float(f"{value:.6g}") for value in mean] for mean in means],
        }


def _ignore(future: asyncio.Future[Any]) -> None:
    """A chunk that nobody waits for any more may fail in silence."""
    if not future.cancelled():
        future.exception()
