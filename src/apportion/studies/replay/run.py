"""Playing a history day by day: what is found, whether intervals hold, and whether P(best) is what it says."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.validation import whole
from apportion.allocation.allocator import Allocator
from apportion.allocation.beliefs import Beliefs
from apportion.model.sums import Floats
from apportion.model.world import Course
from apportion.policies import Auto, Matching, Uniform
from apportion.studies.finished import plain
from apportion.studies.replay.rates import Rates, Replay

AUTO, EVEN, BEST = "Auto", "even split", "knowing each day's best"
HALF_LIVES = (3.0, 7.0, 15.0, 40.0, 100.0)
KITS, DAYS, RUNS = 1_000, 300, 6
# P(best) is compared with what happened in these bins, for the next day and for the mean of the next 30.
EDGES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)
AHEAD = (1, 30)


class Row(NamedTuple):
    """One policy: units that succeed in expectation, of what is to be gained over an even split, and coverage.

    `covered`: how often the 95% interval held the rate of the next day, of an arm that has an interval.
    """

    policy: str
    found: float
    error: float
    gain: float
    gain_error: float
    covered: float | None


class Bin(NamedTuple):
    """What P(best) said, and how often it was so; `ahead` is the number of days looked at."""

    ahead: int
    said: float
    happened: float
    cases: int


class ReplayStudy(NamedTuple):
    """What was found in a replay, and the size of it."""

    arms: tuple[str, ...]
    days: int
    kits: int
    runs: int
    seed: int
    rows: list[Row]
    reliability: list[Bin]

    @property
    def best_memory(self) -> Row:
        """The fixed memory that found most, chosen in hindsight."""
        fixed = [row for row in self.rows if row.policy not in (AUTO, EVEN, BEST)]
        return max(fixed, key=lambda row: row.found)

    def row(self, policy: str) -> Row:
        """The row of a policy."""
        return next(row for row in self.rows if row.policy == policy)

    def to_json(self) -> str:
        """As plain data."""
        data = {**self._asdict(), "rows": [row._asdict() for row in self.rows],
                "reliability": [each._asdict() for each in self.reliability]}  # fmt: skip
        return json.dumps(plain(data), indent=1, ensure_ascii=False)


class Run(NamedTuple):
    """One run: expected successes; whether intervals held (NaN: none); P(best) and the day, (days − 1, arms) each."""

    found: float
    held: Floats
    said: Floats


def contestants(rates: Floats) -> dict[str, Callable[..., Allocator]]:
    """Who plays, by name: called with the arms and the keywords of an `Allocator`.

    The fixed memories are those of `Matching`, which shares by the chance of being best, told b = 1/2 and
    σ_i = √(p(1 − p)) at the arm's mean rate.
    """
    mean = rates.mean(axis=0)
    told = Matching(b=0.5, sigma=tuple(np.sqrt(np.clip(mean * (1.0 - mean), 1e-6, None)).tolist()))

    def remembers(half_life: float | None) -> Callable[..., Allocator]:
        return lambda arms, **options: Allocator(told, arms, half_life=half_life, **options)

    return {
        AUTO: lambda arms, **options: Allocator(Auto(), arms, **options),
        EVEN: lambda arms, **options: Allocator(Uniform(), arms, **options),
        "no forgetting": remembers(None),
        **{f"half-life {each:g}": remembers(each) for each in HALF_LIVES},
    }


def replay(
    rates: Rates,
    *,
    kits: int = KITS,
    runs: int = RUNS,
    seed: int = 1,
    players: Mapping[str, Callable[..., Allocator]] | None = None,
    on_run: Callable[[], None] = lambda: None,
) -> ReplayStudy:
    """Every contestant in every run, day by day with `kits` whole units; run by run they meet the same seeds."""
    size, count = whole("kits", kits, low=len(rates.arms)), whole("runs", runs, low=2)
    world = Replay(rates.rates)
    played: dict[str, list[Run]] = {}
    for name, make in (contestants(rates.rates) if players is None else players).items():
        for run in range(count):
            allocator = make(rates.arms, whole=True, seed=seed + run)
            played.setdefault(name, []).append(play_days(allocator, world, size, np.random.default_rng([seed, run])))
            on_run()
    best = size * float(rates.rates.max(axis=1).sum())
    even = float(np.mean([run.found for run in played[EVEN]]))
    rows = [_row(name, made, even, best) for name, made in played.items()]
    rows.append(Row(BEST, best, 0.0, 1.0, 0.0, None))
    said = np.array([run.said for run in played[AUTO]]) if AUTO in played else np.zeros((0, *world.rates[1:].shape))
    reliability = [each for ahead in AHEAD for each in _bins(said, rates.rates, ahead)]
    return ReplayStudy(rates.arms, len(rates.rates), size, count, seed, rows, reliability)


def play_days(allocator: Allocator, world: Replay, kits: int, rng: np.random.Generator) -> Run:
    """One run through all days of a world, and after each what is believed."""
    course, days, names = Course(world, rng), len(world.rates), allocator.arms
    found, held, said = 0.0, np.full((days - 1, world.arms), np.nan), np.full((days - 1, world.arms), np.nan)
    for day in range(days):
        split = allocator.ask(kits)
        amounts = np.array([split.amounts[name] for name in names])
        played = course.play(amounts[np.newaxis])
        found += float(played.expected[0])
        outcomes = zip(names, played.outcomes[0].tolist())
        allocator.tell(split.ticket, {name: value for name, value in outcomes if value == value})
        if day + 1 < days:
            beliefs = allocator.beliefs()
            held[day] = _holds(beliefs, names, amounts, world.rates[day + 1])
            said[day] = [beliefs[name].probability_best for name in names]
    return Run(found, held, said)


def _holds(beliefs: Beliefs, names: Sequence[str], amounts: Floats, rates: Floats) -> Floats:
    """Whether each interval has the rate in it; NaN where there is no interval.

    Where returns diminish the interval is one of μ: x units return μ·x^c, so the rate at x is μ·x^(c−1).
    """
    low, high = (np.array([getattr(beliefs[name], end) for name in names]) for end in ("low", "high"))
    scale = np.maximum(amounts, 1.0) ** (beliefs.c - 1.0)
    inside = (low * scale <= rates) & (rates <= high * scale)
    return np.where(np.isfinite(low) & np.isfinite(high), inside, np.nan)


def _row(name: str, played: Sequence[Run], even: float, best: float) -> Row:
    found = np.array([run.found for run in played])
    error = float(found.std(ddof=1)) / math.sqrt(len(found))
    held = np.array([run.held for run in played])
    known = held[~np.isnan(held)]
    covered = float(known.mean()) if known.size else None
    return Row(name, float(found.mean()), error, (float(found.mean()) - even) / (best - even), error / (best - even),
               covered)  # fmt: skip


def _bins(said: NDArray[Any], rates: Floats, ahead: int) -> list[Bin]:
    """P(best) of every run, day and arm, against whether the arm was the best on average over the next days."""
    days = len(rates) - ahead
    if days < 1 or not len(said):
        return []
    sums = np.concatenate([np.zeros((1, rates.shape[1])), rates.cumsum(axis=0)])
    later = sums[1 + ahead :][:days] - sums[1:][:days]
    was_best = np.broadcast_to(later == later.max(axis=1, keepdims=True), said[:, :days].shape)
    given = said[:, :days]
    found = []
    for low, high in itertools.pairwise(EDGES):
        inside = (given >= low) & ((given < high) | ((high == EDGES[-1]) & (given <= high)))
        if inside.any():
            found.append(Bin(ahead, float(given[inside].mean()), float(was_best[inside].mean()), int(inside.sum())))
    return found
