"""Speed bars of the core: import, help, and ask + tell with few and with very many arms."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

import apportion as ap
from benchmarks.table import Row

REPEATS = 7


def rows() -> Iterator[Row]:
    """Every bar with what was measured."""
    yield Row("import apportion, CPU", _cpu("-c", "import apportion"), 0.3, "s")
    yield Row("apportion --help, CPU", _cpu("-m", "apportion", "--help"), 0.4, "s")
    for policy in (
        ap.Odds(b=0.75),
        ap.Maillard(b=0.75),
        ap.EpsilonGreedy(b=0.75),
        ap.SuccessiveElimination(b=0.75, horizon=10_000),
    ):
        name = type(policy).__name__
        yield Row(f"ask + tell, K = 100,000, {name}", _round_trip(policy, 100_000, 5), 0.025, "s")
        yield Row(f"ask + tell, K = 10, {name}", _round_trip(policy, 10, 400), 150e-6, "s")
    for c in (0.7, 1.0):
        yield Row(f"optimal split with bounds, K = 100,000, c = {c:g}", _bounded_split(100_000, c), 0.025, "s")
    yield Row("memory after 2,000 more periods, K = 1,000 (ratio)", _memory_ratio(), 1.05, "×")


def _cpu(*arguments: str) -> float:
    """The least CPU seconds of a fresh interpreter, less those of an empty one's start."""
    best = float("inf")
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def _round_trip(policy: ap.Policy, arms: int, rounds: int) -> float:
    """Seconds for one ask and one tell, the least of several batches, after warm-up."""
    allocator = ap.Allocator(policy, [f"arm {index}" for index in range(arms)], seed=1, horizon=10_000)
    # Nearly alike, so that no arm is ever ruled out and every round is the same amount of work.
    outcomes = dict(zip(allocator.arms, (0.5 + 1e-6 * np.random.default_rng(2).random(arms)).tolist()))

    def batch(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            allocator.tell(allocator.ask(float(arms)).ticket, outcomes)
        return (time.perf_counter() - start) / count

    batch(3)
    return min(batch(rounds) for _ in range(REPEATS))


def _bounded_split(arms: int, c: float) -> float:
    """Seconds for one optimal split in which both bounds hold many arms, the least of several, after warm-up."""
    rng = np.random.default_rng(3)
    means = rng.lognormal(0.0, 1.0, arms)
    low = rng.uniform(0.0, 0.5, arms)
    high = low + rng.exponential(2.0, arms)

    def once() -> float:
        start = time.perf_counter()
        ap.response.optimal_split(means, float(arms), c, low, high)
        return time.perf_counter() - start

    once()
    return min(once() for _ in range(REPEATS))


def _memory_ratio() -> float:
    """The size of the saved state after many periods, over its size once completed tickets have filled up."""
    arms = 1_000
    allocator = ap.Allocator(ap.Odds(b=0.75), [f"arm {index}" for index in range(arms)], seed=1)
    outcomes = dict.fromkeys(allocator.arms, 0.5)

    def after(periods: int) -> int:
        for _ in range(periods):
            allocator.tell(allocator.ask(1000.0).ticket, outcomes)
        return len(allocator.to_json())

    small = after(200)
    return after(2_000) / small
