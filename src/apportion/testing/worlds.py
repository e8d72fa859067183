"""The contract of worlds: one check for each thing that every world guarantees."""

import json
import math
import pickle
from collections.abc import Callable

import numpy as np

from apportion._common.imports import import_path
from apportion.errors import ApportionError
from apportion.model.sums import Floats
from apportion.model.world import Course, World
from apportion.model.worlds import world_from_dict
from apportion.policies import Odds
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams
from apportion.simulation.rehearsal import rehearse
from apportion.testing.policies import ContractBroken

# Plain and compiled code may differ in the last places where a library function does.
_COMPILED_TOLERANCE = 1e-12
_BUDGETS = (1.0, 12.5)
# A slope is taken over twice this amount.
_STEP = 1e-6


def _require(condition: bool, sentence: str, world: World) -> None:
    if not condition:
        raise ContractBroken(f"{world.label}: {sentence}")


def check_best_value(world: World) -> None:
    """Outcomes are pairs of finite numbers, and no split is expected to earn more than the best value."""
    for budget in _BUDGETS:
        try:
            with np.errstate(all="ignore"):
                rehearse(world, periods=8, budget=budget)
        except ApportionError as error:
            raise ContractBroken(f"{world.label}: {error}") from error


def check_expected(world: World) -> None:
    """What comes back is on average what was to be expected; or its slope, in a world that shows slopes.

    Error budget: for each of at most 8 arms the mean difference of 4000 periods at five standard errors, below 5e-6
    in all where noise is nearly normal; the seed is fixed.
    """
    periods, arms = 4000, min(world.arms, 8)
    expected, returned = np.zeros((2, periods, arms))
    for arm in range(arms):
        amounts = np.zeros((periods, world.arms))
        amounts[:, arm] = 0.1 + np.random.default_rng(arm).random(periods)
        played = Course(world, np.random.default_rng([5, arm])).play(amounts)
        expected[:, arm], returned[:, arm] = _shown(world, amounts, arm, played.expected), played.outcomes[:, arm]
    missed = returned - expected
    error = missed.std(axis=0) / math.sqrt(periods) + 1e-12 * np.abs(expected).max(axis=0)
    for arm in range(arms):
        _require(
            bool(abs(missed[:, arm].mean()) <= 5.0 * error[arm]),
            f"what comes back must be what is expected on average; on arm {arm} it is off by "
            f"{missed[:, arm].mean():.3g}, which is {abs(missed[:, arm].mean()) / error[arm]:.1f} standard errors",
            world,
        )


def _shown(world: World, amounts: Floats, arm: int, expected: Floats) -> Floats:
    """What comes back without noise: what is expected, or how fast it grows with the amount."""
    if world.shows != "slopes":
        return expected
    step = np.zeros(world.arms)
    step[arm] = _STEP
    more, less = (Course(world, np.random.default_rng(0)).play(amounts + way).expected for way in (step, -step))
    return (more - less) / (2.0 * _STEP)


def check_seed(world: World) -> None:
    """The same seed gives the same course, also when another one was played before."""
    amounts = np.random.default_rng(2).dirichlet(np.ones(world.arms), 20)
    first, second = (Course(world, np.random.default_rng(9)).play(amounts) for _ in range(2))
    same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, second))
    _require(same, "the same seed must give the same course", world)


def check_compiled(world: World) -> None:
    """Plain and compiled code play alike; with splits that begin even and come apart."""
    periods, results = 30, []
    for plain in (True, False):
        traces = empty_traces(2, periods, world.arms)
        run = Dense(Odds(b=0.5), world, periods, range(1, periods + 1), plain=plain)
        run.run(streams("check", 3, 0, 2), traces)
        results.append((traces.regret, traces.reward))
    for plain, fast in zip(*results):
        close = np.allclose(plain, fast, rtol=_COMPILED_TOLERANCE, atol=_COMPILED_TOLERANCE)
        _require(close, f"plain and compiled runs must agree; got {plain} and {fast}", world)


def check_json(world: World) -> None:
    """A world survives JSON and pickling: it is in files, results and other processes."""
    for how, copy in (
        ("JSON", lambda: world_from_dict(json.loads(json.dumps(world.to_dict())))),
        ("pickling", lambda: pickle.loads(pickle.dumps(world))),
    ):
        try:
            found = copy()
        except Exception as error:
            path = import_path(type(world))
            sentence = f"{world.label}: {how} must bring back the same world, from {path}; got {error}"
            raise ContractBroken(sentence) from error
        _require(found == world, f"{how} must bring back the same world; got {found!r}", world)


# Every check above, in order: one more needs only its name.
WORLD_CHECKS: tuple[Callable[[World], None], ...] = tuple(
    check for name, check in globals().items() if name.startswith("check_")
)


def check_world(world: World) -> None:
    """Run every check on a world."""
    for check in WORLD_CHECKS:
        check(world)
