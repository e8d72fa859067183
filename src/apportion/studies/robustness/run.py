"""Playing every policy under every violation; each finished cell is stored, so that a stopped run goes on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from apportion._common import validation
from apportion.studies.finished import Entries, Finished, FinishedWork, digest_of_numbers
from apportion.studies.robustness.play import Run, play, play_fast
from apportion.studies.robustness.study import Cell, CellName, Study
from apportion.studies.robustness.violations import BY_KEY, NONE, POLICIES, WORLDS, Violation, World

HORIZON, RUNS = 2_000, 400
QUICK_HORIZON, QUICK_RUNS = 300, 40
MIN_HORIZON = 30

# How many periods of the first run of every cell are also played through the Allocator.
COMPARED_PERIODS = 100


def run_study(
    *,
    horizon: int = HORIZON,
    runs: int = RUNS,
    seed: int = 2,
    workers: int = 2,
    policies: Sequence[str] = POLICIES,
    violations: Sequence[str] = tuple(BY_KEY),
    path: Path | None = None,
    on_cell: Callable[[int, int], None] = lambda done, total: None,
) -> Study:
    """Play them all; `on_cell` is called with (done, all). The result depends on the seed, not on the workers.

    With `path`, every finished cell is stored in that file, and an interrupted run goes on from it; a cell is taken
    from the file only where horizon, seed, runs and code are the same.
    """
    periods, count = validation.whole("horizon", horizon, low=MIN_HORIZON), validation.whole("runs", runs, low=2)
    start = validation.whole("seed", seed, low=0)
    for policy in policies:
        validation.choice("policies", policy, POLICIES)
    keys = dict.fromkeys((NONE, *violations))
    wanted = [BY_KEY[validation.choice("violations", key, tuple(BY_KEY))] for key in keys]
    plan = {
        CellName(world.name, policy, violation.key): Run(policy, world, violation, periods, start, 0)
        for world, policy, violation in itertools.product(WORLDS, policies, wanted)
    }
    made_by = [periods, start, count, code_of()]

    def encode(entries: Entries[CellName]) -> str:
        same = {name: Cell.from_plain(entry.result) for name, entry in entries.items() if entry.depends_on == made_by}
        return Study(periods, start, same, {}, made_by).to_json()

    work = FinishedWork[CellName](path, "the study of robustness", _decode, encode)
    missing = {name: run for name, run in plan.items() if work.find(name, made_by) is None}
    with ThreadPoolExecutor(validation.whole("workers", workers, low=1)) as pool:  # compiled loops run side by side
        futures = {pool.submit(_play_all, run, count): name for name, run in missing.items()}
        for done, future in enumerate(as_completed(futures), start=len(plan) - len(missing) + 1):
            work.add(futures[future], made_by, future.result().plain())
            on_cell(done, len(plan))
    cells = {name: Cell.from_plain(work.entries[name].result) for name in plan}
    pairs = itertools.product(WORLDS, wanted)
    even = {(world.name, each.key): _even(world, each, periods, start, count) for world, each in pairs}
    return Study(periods, start, cells, even, made_by)


def code_of() -> str:
    """A digest of the sources that the study's numbers depend on."""
    return digest_of_numbers(play.__module__, aside=(__name__, Study.__module__))


def _decode(data: Any) -> Entries[CellName]:
    study = Study.from_plain(data)
    return {name: Finished(study.made_by, cell.plain()) for name, cell in study.cells.items()}


def _play_all(first: Run, runs: int) -> Cell:
    lost = np.array([play_fast(first._replace(number=number)) for number in range(runs)])
    periods = min(first.horizon, COMPARED_PERIODS)
    apart = np.abs(play(first, periods) - lost[0, :periods]).max()
    return Cell.of_runs(lost, float(apart))


def _even(world: World, violation: Violation, horizon: int, seed: int, runs: int) -> Cell:
    """What an even split over the arms that are there loses, in the same worlds."""
    first = Run("Uniform", world, violation, horizon, seed, 0)
    return Cell.of_runs(np.array([play_fast(first._replace(number=number)) for number in range(runs)]))
