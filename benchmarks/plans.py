"""Speed bars of planning: a plan, and a forecast of 12 periods, of campaigns as people have them, with `Auto`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import apportion as ap
from apportion._common.tables import FileContent
from benchmarks.table import Row

# (what it is called, arms, periods)
SIZES = (("5 arms, 52 periods", 5, 52), ("20 arms, 1,000 periods", 20, 1_000))
PERIODS = 12
PLAN_SECONDS, FORECAST_SECONDS = 0.5, 3.0
REPEATS = 3


def rows() -> Iterator[Row]:
    """Every bar with what was measured: the quickest of a few repeats."""
    for size, arms, periods in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            campaign = _campaign(Path(folder), arms, periods)
            plan = _quickest(campaign.plan)
            forecast = _quickest(lambda campaign=campaign: campaign.forecast(periods=PERIODS, keep=False))  # type: ignore[misc]
            campaign._store.close()
        yield Row(f"plan, {size} (s)", plan, PLAN_SECONDS, "s", False)
        yield Row(f"forecast of {PERIODS} periods, {size} (s)", forecast, FORECAST_SECONDS, "s", False)


def _campaign(folder: Path, arms: int, periods: int) -> ap.Campaign:
    """A campaign with a history of returns that diminish, budgets that change, and noise."""
    rng = np.random.default_rng(1)
    names, means = [f"arm {index}" for index in range(arms)], np.linspace(12.0, 6.0, arms)
    lines = ["date,arm,amount,outcome"]
    for period in range(periods):
        for name, mean in zip(names, means):
            amount = float(rng.integers(50, 500))
            outcome = mean * amount**0.7 + 2.0 * amount**0.5 * rng.standard_normal()
            lines.append(f"period {period},{name},{amount},{outcome}")
    campaign = ap.Campaign.create("bench", names, budget=250.0 * arms, unit="EUR", db=folder / "bench.db", seed=1)
    campaign.import_history(FileContent("history.csv", "\n".join(lines).encode()))
    return campaign


def _quickest(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
