"""Playing `Auto` in drawn worlds day by day: what P(best) said of every arm, and whether it was the best then."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from apportion._common.validation import whole
from apportion.allocation.allocator import Allocator
from apportion.model.sums import Floats
from apportion.policies import Auto
from apportion.studies.finished import plain
from apportion.studies.reliability.worlds import KINDS, drawn_rates
from apportion.studies.replay.rates import Replay
from apportion.studies.replay.run import EDGES, play_days

WORLDS, DAYS, ARMS, KITS = 20, 150, 5, 500
FIRST_DAY = 10
"""Before it is nearly nothing known."""


class Bin(NamedTuple):
    """What P(best) said on average between two edges, and how often it was so, in so many cases.

    `error` is the standard error of `happened` over worlds: the days of one world are not independent.
    """

    kind: str
    said: float
    happened: float
    error: float
    cases: int


class ReliabilityStudy(NamedTuple):
    """What was found, and the size of it."""

    worlds: int
    days: int
    arms: int
    kits: int
    seed: int
    bins: list[Bin]

    def of(self, kind: str) -> list[Bin]:
        """The bins of a kind of world, the smallest chances first."""
        return [each for each in self.bins if each.kind == kind]

    def gap(self, kind: str) -> float:
        """The mean of |said − happened| over all cases of a kind: the expected calibration error."""
        bins = self.of(kind)
        cases = sum(each.cases for each in bins)
        return sum(each.cases * abs(each.said - each.happened) for each in bins) / cases if cases else math.nan

    def to_json(self) -> str:
        """As plain data."""
        data = {**self._asdict(), "bins": [each._asdict() for each in self.bins]}
        return json.dumps(plain(data), indent=1, ensure_ascii=False)


def reliability(
    *,
    worlds: int = WORLDS,
    days: int = DAYS,
    kits: int = KITS,
    seed: int = 1,
    make: Callable[..., Allocator] | None = None,
    on_world: Callable[[], None] = lambda: None,
) -> ReliabilityStudy:
    """So many worlds of every kind, each played once with whole units; `make`: the allocator, `Auto` if None."""
    count, length = whole("worlds", worlds, low=2), whole("days", days, low=FIRST_DAY + 2)
    size = whole("kits", kits, low=ARMS)
    names = tuple(f"arm {index}" for index in range(ARMS))
    bins: list[Bin] = []
    for number, kind in enumerate(KINDS):
        said, was_best = [], []
        for world in range(count):
            rng = np.random.default_rng([seed, number, world])
            rates = drawn_rates(kind, length, ARMS, rng)
            options: dict[str, Any] = {"whole": True, "seed": seed + world}
            allocator = Allocator(Auto(), names, **options) if make is None else make(names, **options)
            run = play_days(allocator, Replay(rates), size, rng)
            said.append(run.said[FIRST_DAY:])
            later = rates[FIRST_DAY + 1 :]
            was_best.append(later == later.max(axis=1, keepdims=True))
            on_world()
        bins += _bins(kind, np.array(said), np.array(was_best, dtype=float))
    return ReliabilityStudy(count, length, ARMS, size, seed, bins)


def _bins(kind: str, said: Floats, was_best: Floats) -> list[Bin]:
    """All cases of (worlds, days, arms), bin by bin."""
    found = []
    for low, high in itertools.pairwise(EDGES):
        inside = (said >= low) & ((said < high) | (high == EDGES[-1]))
        cases = inside.sum(axis=(1, 2))
        if not cases.sum():
            continue
        happened = float((was_best * inside).sum() / cases.sum())
        off = (was_best * inside).sum(axis=(1, 2)) - happened * cases
        error = float(np.sqrt(np.square(off).sum()) / cases.sum())
        found.append(Bin(kind, float(said[inside].mean()), happened, error, int(cases.sum())))
    return found
