"""A world tried out in plain Python, where a mistake has a name: compiled code would not notice a wrong index."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from apportion._common.imports import is_ours
from apportion._common.validation import shown
from apportion.errors import ApportionError, InvalidValue
from apportion.model.sums import Floats, powers_of
from apportion.model.world import World, advance, best_value, outcome, terms
from apportion.simulation.executors import reason_of
from apportion.simulation.user_code import classes_in

PERIODS = 3
# Arm-periods of a rehearsal: with many arms fewer splits are tried.
MOST_OUTCOMES = 20_000
# A split may seem to earn more than the best one by rounding only.
SLACK = 1e-9


def require_playable(world: World) -> None:
    """Refuse a user's world (or one of ours with a user's noise) that cannot be played, in one sentence."""
    if all(is_ours(cls) for cls in classes_in(world)):
        return
    name = type(world).__name__
    try:
        json.dumps(world.to_dict())
        with np.errstate(all="ignore"):
            rehearse(world)
    except ApportionError as error:
        raise type(error)(f"{name} cannot be played: {error}") from error
    except Exception as error:  # a user's world can fail in any way
        raise InvalidValue(f"{name} cannot be played: {reason_of(error)}.") from error


def rehearse(world: World, periods: int = PERIODS, budget: float = 1.0, seed: int = 0) -> None:
    """A few periods, several splits in each: numbers come back, and none of the splits earns more than the best."""
    record, state, rng = world.record(), world.initial_state(), np.random.default_rng(seed)
    if not isinstance(state, np.ndarray) or state.dtype != np.float64 or state.ndim != 1:
        raise InvalidValue(f"`initial_state` must give a one-dimensional array of floats; got {shown(state)}.")
    for number in range(1, periods + 1):
        advance(record, number, state, rng)
        best = _finite("best_value", best_value(record, number, budget, state))
        for split in _splits(world.arms, budget, rng):
            earned = 0.0
            for arm in np.flatnonzero(split > 0.0).tolist():
                amount = terms(record, powers_of(float(split[arm]), 1.0, 1.0))
                earned += _expected(outcome(record, number, arm, amount, state, rng))
            if earned > best + SLACK * max(abs(best), abs(earned)):
                raise InvalidValue(
                    f"`best_value` must be at least what any split is expected to earn; got {best:g} in period "
                    f"{number}, where {_words(split)} earns {earned:g}."
                )


def _splits(arms: int, budget: float, rng: np.random.Generator) -> Floats:
    """An even split, single arms, and splits at random; fewer of them where arms are many."""
    count = max(1, min(12, MOST_OUTCOMES // arms))
    alone = np.eye(min(arms, 8), arms)
    drawn = rng.dirichlet(np.full(arms, 0.5), count - 1)
    return budget * np.concatenate([np.full((1, arms), 1.0 / arms), alone, drawn])


def _expected(pair: Any) -> float:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidValue(
            f"`outcome` must return two numbers, what is expected and what comes back; got {shown(pair)}."
        )
    _finite("outcome", pair[1])
    return _finite("outcome", pair[0])


def _finite(name: str, value: Any) -> float:
    if not isinstance(value, (float, int, np.floating, np.integer)) or not math.isfinite(value):
        raise InvalidValue(f"`{name}` must give finite numbers; got {shown(value)}.")
    return float(value)


def _words(split: Floats) -> str:
    if np.ptp(split) == 0.0:
        return "the even split"
    if np.count_nonzero(split) == 1:
        return f"all on arm {int(split.argmax())}"
    return "another split"
