"""Rates of success that stand still or move, drawn from a seed: worlds that anybody can draw again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from apportion.model.sums import Floats

# The logit of a rate; a rate of about 8%, and for two arms of three between 5% and 13%.
_LEVEL, _SPREAD = -2.4, 0.5
_STEP = 0.06  # of a drifting logit, a day
_JUMP = 1 / 60  # a day
_SEASON, _SWING = 60, 0.5


def _levels(rng: np.random.Generator, days: int, arms: int) -> Floats:
    return np.tile(rng.normal(_LEVEL, _SPREAD, arms), (days, 1))


def _steady(rng: np.random.Generator, days: int, arms: int) -> Floats:
    return _levels(rng, days, arms)


def _drift(rng: np.random.Generator, days: int, arms: int) -> Floats:
    return _levels(rng, days, arms) + np.cumsum(rng.normal(0.0, _STEP, (days, arms)), axis=0)


def _jumps(rng: np.random.Generator, days: int, arms: int) -> Floats:
    jumps, found = rng.random((days, arms)) < _JUMP, _levels(rng, days, arms)
    fresh = rng.normal(_LEVEL, _SPREAD, (days, arms))
    for day in range(1, days):
        found[day] = np.where(jumps[day], fresh[day], found[day - 1])
    return found


def _season(rng: np.random.Generator, days: int, arms: int) -> Floats:
    turn = rng.uniform(0.0, 2.0 * np.pi)
    wave = np.log1p(_SWING * np.sin(2.0 * np.pi * np.arange(days) / _SEASON + turn))
    return _levels(rng, days, arms) + wave[:, np.newaxis]


KINDS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "returns stand still": _steady,
    "each arm drifts": _drift,
    "arms jump": _jumps,
    "a season of all arms": _season,
}
"""The kinds of worlds by name: the logit of every arm's rate on every day, (days, arms)."""


def drawn_rates(kind: str, days: int, arms: int, rng: np.random.Generator) -> Floats:
    """The rates of one world of a kind, (days, arms), each between 0 and 1.

    >>> rates = drawn_rates("returns stand still", 3, 2, np.random.default_rng(1))
    >>> rates.shape, bool((rates[0] == rates[2]).all())
    ((3, 2), True)
    """
    return np.asarray(1.0 / (1.0 + np.exp(-KINDS[kind](rng, days, arms))))
