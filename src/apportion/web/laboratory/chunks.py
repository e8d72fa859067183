"""The work of an experiment in small pieces: each runs a few replications of one policy, and their results add up.

An experiment is a pure function of its definition: chunks of any size, on any number of threads and in any worker
process give the same numbers to the last bit.
"""

from __future__ import annotations

import dataclasses
import time
from typing import NamedTuple

import numpy as np

from apportion.model.sums import Floats
from apportion.simulation.plan import Plan
from apportion.simulation.task import Arrays, run_task

# A chunk cannot be interrupted: this is how long cancelling takes.
CHUNK_SECONDS = 0.1
LARGEST_CHUNK = 2_000
# The next chunk has at most so many times the replications of the last.
FASTEST_GROWTH = 8
# Shares are added up as whole multiples of this: sums of integers do not depend on their order, nor on the chunks.
SHARE_UNIT = 2.0**-40


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
