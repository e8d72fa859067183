"""Speed bars of campaigns: round trips against Optuna's, opening an old campaign, and its age."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apportion as ap
from apportion.campaigns.storage.store import open_store
from benchmarks.table import Row

BATCHES = 7
ROUND_TRIPS = 40
OPTUNA_ROUND_TRIPS = 10
YOUNG_PERIODS, OLD_PERIODS = 400, 10_000
PERIODS_PER_WRITE = 200
TIMED_SPLITS = 50


def rows() -> Iterator[Row]:
    """Every bar with what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _against_optuna(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _aged(Path(folder))


def _against_optuna(folder: Path) -> Iterator[Row]:
    """Both on a SQLite file with full durability, batch by batch in turn on the same disk."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    arms = [f"arm {index}" for index in range(5)]
    campaign = ap.Campaign.create("bench", arms, budget=5000, b=0.75, sigma=40, db=folder / "ours.db", seed=1)
    outcomes = dict.fromkeys(arms, 1.5)
    study = optuna.create_study(storage=f"sqlite:///{folder / 'theirs.db'}", sampler=optuna.samplers.RandomSampler())

    def ours() -> None:
        campaign.record(campaign.split().ticket, outcomes)

    def theirs() -> None:
        trial = study.ask()
        for name in arms:
            trial.suggest_float(name, 0.0, 1.0)
        study.tell(trial, 1.5)

    ours()
    theirs()
    our_seconds, their_seconds = [], []
    for _ in range(BATCHES):
        our_seconds.append(_seconds(ours, ROUND_TRIPS))
        their_seconds.append(_seconds(theirs, OPTUNA_ROUND_TRIPS))
    campaign._store.close()
    ratio = _median(their_seconds) / _median(our_seconds)
    yield Row("split + record, 5 arms, SQLite, against Optuna (ratio)", ratio, 8.0, "×", True)


def _aged(folder: Path) -> Iterator[Row]:
    arms = [f"arm {index}" for index in range(20)]
    path = folder / "old.db"
    campaign = ap.Campaign.create("old", arms, budget=1000, b=0.75, sigma=10, db=path, seed=1)
    young = 0.0
    while campaign.period < OLD_PERIODS:
        with campaign.together():
            for _ in range(PERIODS_PER_WRITE):
                split = campaign.split()
                campaign.record(split.ticket, {name: 1.1 * amount for name, amount in split.amounts.items()})
        if campaign.period == YOUNG_PERIODS:
            young = min(_cpu(campaign.split, TIMED_SPLITS) for _ in range(BATCHES))
    yield Row("open a campaign of 10,000 periods × 20 arms", min(_reopen(path) for _ in range(BATCHES)), 0.3, "s")
    old = min(_cpu(campaign.split, TIMED_SPLITS) for _ in range(BATCHES))
    yield Row("a split after 10,000 periods against after 400 (ratio)", old / young, 1.25, "×")
    campaign._store.close()


def _reopen(path: Path) -> float:
    store = open_store(path)
    store.close()
    start = time.perf_counter()
    ap.Campaign.open("old", db=path).beliefs().columns()
    return time.perf_counter() - start


def _seconds(work: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def _cpu(work: Callable[[], object], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - start) / count


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
