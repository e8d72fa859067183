"""Speed bars of the core: import, help, and ask + tell with few and with very many arms."""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import apportion as ap
from apportion.model.sums import Floats
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
    yield from _auto()
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


# Where returns are proportional, and where they diminish.
AUTO_WORLDS = (
    ("c = 1", ap.Instance(tuple(np.linspace(1.0, 0.6, 10)), b=0.75, sigma=0.5)),
    ("c = 0.7", ap.Instance(tuple(np.linspace(1.0, 0.6, 10)), b=0.5, sigma=0.1, c=0.7)),
)
PERIODS = 300


def _auto() -> Iterator[Row]:
    """CPU time of the default policy: in the mean of a campaign, as some periods bring a fit, and what it keeps."""
    for name, world in AUTO_WORLDS:
        runs = [_campaign(world, PERIODS) for _ in range(3)]
        mean = min(seconds.mean() for seconds, _ in runs)
        yield Row(f"ask + tell, K = 10, Auto, {name}, mean of {PERIODS} periods (CPU)", float(mean), 300e-6, "s")
        yield Row("  half of them take less than", min(float(np.median(each)) for each, _ in runs), None, "s")
        yield Row("  99% of them take less than", min(float(np.quantile(each, 0.99)) for each, _ in runs), None, "s")
        yield Row("  state (to_json) after them", len(runs[0][1].to_json()) / 1e6, None, "MB")
    seconds, allocator = _equal_arms(100_000, 12)
    yield Row("ask + tell, K = 100,000, Auto, without a fit (CPU)", float(seconds[2:].min()), 0.1, "s")
    yield Row("  with a fit", float(seconds[2:].max()), None, "s")
    for arms in (10, 1_000):
        _, allocator = _equal_arms(arms, 40)
        yield Row(f"state (to_json), K = {arms:,}, Auto, 40 periods", len(allocator.to_json()) / 1e6, None, "MB")
        yield Row("  snapshot of a campaign", _snapshot_size(arms, 40) / 1e6, None, "MB")


def _campaign(world: ap.World, periods: int) -> tuple[Floats, ap.Allocator]:
    """CPU seconds of the ask and tell of every period of a campaign of `Auto` in a world."""
    course, seconds = ap.Course(world, np.random.default_rng(1)), np.empty(periods)
    allocator = ap.Allocator(ap.Auto(), [f"arm {index}" for index in range(10)], seed=1)
    for period in range(periods):
        start = time.process_time()
        split = allocator.ask()
        asked = time.process_time()
        outcomes = dict(zip(allocator.arms, course.play([list(split.amounts.values())]).outcomes[0].tolist()))
        began = time.process_time()
        allocator.tell(split.ticket, outcomes)
        seconds[period] = asked - start + time.process_time() - began
    return seconds, allocator


def _equal_arms(arms: int, periods: int) -> tuple[Floats, ap.Allocator]:
    """CPU seconds of the ask and tell of every period of `Auto`, where arms are nearly alike."""
    allocator = ap.Allocator(ap.Auto(), [f"arm {index}" for index in range(arms)], seed=1)
    outcomes = dict(zip(allocator.arms, (0.5 + 1e-6 * np.random.default_rng(2).random(arms)).tolist()))
    seconds = np.empty(periods)
    for period in range(periods):
        start = time.process_time()
        allocator.tell(allocator.ask(float(arms)).ticket, outcomes)
        seconds[period] = time.process_time() - start
    return seconds, allocator


def _snapshot_size(arms: int, periods: int) -> int:
    """Bytes of the last snapshot of a campaign of so many periods with the default policy."""
    with tempfile.TemporaryDirectory() as folder:
        db = str(Path(folder) / "snapshot.db")
        names = [f"arm {index}" for index in range(arms)]
        campaign = ap.Campaign.create("one", names, budget=100.0 * arms, seed=1, db=db)
        for _ in range(periods):
            split = campaign.split()
            told = {name: 0.5 * amount for name, amount in split.amounts.items() if amount > 0.0}
            campaign.record(split.ticket, told, confirm=True)
        campaign._store.close()
        with contextlib.closing(sqlite3.connect(db)) as database:
            return int(database.execute("SELECT length(state) FROM snapshots ORDER BY number DESC").fetchone()[0])


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
