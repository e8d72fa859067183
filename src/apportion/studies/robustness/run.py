"""Playing every policy in every trouble, and what comes out of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._version import __version__
from apportion.errors import IncompatibleState
from apportion.model.sums import Floats
from apportion.studies.robustness.play import course, play, play_fast
from apportion.studies.robustness.troubles import BY_KEY, POLICIES, TROUBLES, WORLDS, Trouble, World

FORMAT = "apportion.robustness"

HORIZON, RUNS = 2_000, 400
QUICK_HORIZON, QUICK_RUNS = 300, 40

# How much of the first run of every cell is also played through the Allocator, and how far the two may be apart.
BOTH_WAYS = 100
TOLERANCE = 1e-8

# Regret counts as linear where, three standard errors down, the second half of the time still loses more than this
# part of what an even split loses there.
LINEAR = 0.5


class Cell(NamedTuple):
    """One policy in one trouble: the regret of every run, all of it and that of the second half.

    `apart` is the largest difference, in any period, between the compiled loop and the Allocator.
    """

    total: Floats
    late: Floats
    apart: float = 0.0

    @property
    def mean(self) -> float:
        """The mean regret."""
        return float(self.total.mean())

    @property
    def error(self) -> float:
        """Its standard error."""
        return standard_error(self.total)

    @property
    def tail(self) -> float:
        """The 99% quantile of regret."""
        return float(np.quantile(self.total, 0.99))


class Key(NamedTuple):
    """Which cell, by names."""

    world: str
    policy: str
    trouble: str


class Study:
    """Every policy in every trouble of every world; `even` is what an even split loses, by (world, trouble)."""

    def __init__(self, horizon: int, seed: int, cells: dict[Key, Cell], even: dict[tuple[str, str], Cell]) -> None:
        self.horizon, self.seed, self.cells, self.even = horizon, seed, cells, even

    @property
    def runs(self) -> int:
        """How many runs every cell has."""
        return len(next(iter(self.cells.values())).total)

    @property
    def apart(self) -> float:
        """The largest difference between the compiled loop and the Allocator."""
        return max(cell.apart for cell in self.cells.values())

    def __iter__(self) -> Iterator[Key]:
        return iter(self.cells)

    def ratio(self, key: Key, over: str = "clean") -> tuple[float, float]:
        """Mean regret over that in another trouble, run by run paired, with its standard error."""
        cell, base = self.cells[key], self.cells[key._replace(trouble=over)]
        ratio = cell.mean / base.mean
        return ratio, standard_error(cell.total - ratio * base.total) / base.mean

    def late_part(self, key: Key) -> tuple[float, float]:
        """What the second half loses as a part of what an even split loses there, with its standard error."""
        even = float(self.even[key.world, key.trouble].late.mean())
        return float(self.cells[key].late.mean()) / even, standard_error(self.cells[key].late) / even

    def linear(self, key: Key) -> bool:
        """Whether regret still grows in proportion to time."""
        part, error = self.late_part(key)
        return part - 3.0 * error > LINEAR

    def to_json(self) -> str:
        """Every run of every cell, to four digits; `from_json` reads it back."""
        cells = [{**key._asdict(), "apart": cell.apart, **_lists(cell)} for key, cell in self.cells.items()]
        even = [{"world": world, "trouble": trouble, **_lists(cell)} for (world, trouble), cell in self.even.items()]
        head = {"format": FORMAT, "program": __version__, "horizon": self.horizon, "seed": self.seed}
        return json.dumps({**head, "cells": cells, "even": even}, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Study:
        """The study that `to_json` wrote."""
        try:
            state = json.loads(text)
            if state["format"] != FORMAT:
                raise IncompatibleState("This is not a study of robustness.")
            cells = {Key(*(entry[name] for name in Key._fields)): _cell(entry) for entry in state["cells"]}
            even = {(entry["world"], entry["trouble"]): _cell(entry) for entry in state["even"]}
            return cls(state["horizon"], state["seed"], cells, even)
        except (ValueError, KeyError, TypeError) as error:
            raise IncompatibleState("The study is damaged, or was written by something else.") from error


def run_study(
    *,
    horizon: int = HORIZON,
    runs: int = RUNS,
    seed: int = 2,
    workers: int = 2,
    policies: Sequence[str] = POLICIES,
    troubles: Sequence[str] = tuple(BY_KEY),
    on_cell: Callable[[int, int], None] | None = None,
) -> Study:
    """Play them all; `on_cell` hears (done, all). The result depends on the seed, not on the number of workers."""
    periods, count = validation.whole("horizon", horizon, low=30), validation.whole("runs", runs, low=2)
    start = validation.whole("seed", seed, low=0)
    for policy in policies:
        validation.choice("policies", policy, POLICIES)
    wanted = [
        BY_KEY[validation.choice("troubles", key, tuple(BY_KEY))] for key in dict.fromkeys(("clean", *troubles))
    ]
    plan = {
        Key(world.name, policy, trouble.key): (policy, world, trouble, periods, start, count)
        for world in WORLDS
        for policy in policies
        for trouble in wanted
    }
    found: dict[Key, Cell] = {}
    with ThreadPoolExecutor(validation.whole("workers", workers, low=1)) as pool:  # compiled loops run side by side
        futures = {pool.submit(_play_all, *what): key for key, what in plan.items()}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            if on_cell is not None:
                on_cell(len(found), len(plan))
    even = {
        (world.name, trouble.key): _even(world, trouble, periods, start, count)
        for world in WORLDS
        for trouble in wanted
    }
    return Study(periods, start, {key: found[key] for key in plan}, even)


def _play_all(policy: str, world: World, trouble: Trouble, horizon: int, seed: int, runs: int) -> Cell:
    lost = np.array([play_fast(policy, world, trouble, horizon, seed, run) for run in range(runs)])
    some = min(horizon, BOTH_WAYS)
    apart = np.abs(play(policy, world, trouble, horizon, seed, 0, some) - lost[0, :some]).max()
    return _summed(lost)._replace(apart=float(apart))


def _even(world: World, trouble: Trouble, horizon: int, seed: int, runs: int) -> Cell:
    """What an even split over the arms that are there loses, in the same worlds."""
    lost = np.zeros((runs, horizon))
    for run in range(runs):
        there = course(world, trouble, horizon, seed, run)
        present = np.where(np.arange(1, horizon + 1) >= there.arrival, world.arms, there.few)[:, np.newaxis]
        known = np.arange(world.arms)[np.newaxis] < present
        best = np.where(known, there.means, -math.inf).max(axis=1)
        lost[run] = best - np.where(known, there.means, 0.0).sum(axis=1) / present[:, 0]
    return _summed(lost)


def _summed(lost: Floats) -> Cell:
    return Cell(lost.sum(axis=1), lost[:, lost.shape[1] // 2 :].sum(axis=1))


def standard_error(values: Floats) -> float:
    """The standard error of the mean of independent values."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _lists(cell: Cell) -> dict[str, Any]:
    return {name: [float(f"{value:.4g}") for value in getattr(cell, name).tolist()] for name in ("total", "late")}


def _cell(entry: dict[str, Any]) -> Cell:
    total, late = (np.array(entry[name], dtype=np.float64) for name in ("total", "late"))
    return Cell(total, late, float(entry.get("apart", 0.0)))


def cells_of(study: Study, world: World) -> dict[str, list[Key]]:
    """The cells of a world by trouble, in the order of the policies; only troubles that were played."""
    rows: dict[str, list[Key]] = {}
    for trouble in TROUBLES:
        keys = [Key(world.name, policy, trouble.key) for policy in POLICIES]
        if all(key in study.cells for key in keys):
            rows[trouble.key] = keys
    return rows
