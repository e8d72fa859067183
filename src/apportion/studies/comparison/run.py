"""Play every policy in every world with the same noise, and measure what a decision costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from apportion.errors import InvalidValue
from apportion.model.world import World
from apportion.policies.contract import Policy
from apportion.simulation.candidates import Candidate, Informed
from apportion.simulation.rehearsal import require_playable
from apportion.simulation.simulate import simulate
from apportion.studies.concave.scores import Score, scores, why_not
from apportion.studies.concave.worlds import Case

# A decision is timed over so many periods, three times; where nothing is compiled over few.
_TIMED, _TIMED_PLAINLY, _REPEATS = 400, 20, 3


class Cost(NamedTuple):
    """What a period of a policy takes in a simulation of one world, in microseconds: the least of three tries."""

    policy: str
    world: str
    microseconds: float


class Comparison(NamedTuple):
    """The scores of every policy in every world it can play, and what a decision costs in the first of them."""

    scores: list[Score]
    costs: list[Cost]


def compare(
    policies: Mapping[str, Candidate],
    cases: Sequence[Case],
    *,
    horizon: int | Mapping[str, int] = 1_000,
    runs: int = 20,
    seed: int = 1,
    workers: int | None = None,
    path: Path | None = None,
    command: str = "compare()",
    on_case: Callable[[Case], None] = lambda case: None,
    timed: bool = True,
) -> Comparison:
    """Every policy in every world; `horizon` is one for all, or by the name of the world.

    A world that follows the means of a history is played no longer than that: after it they would stand still.

    A policy that asks for what a world does not have (b of a world without one) does not play there. All policies of
    a world meet the same noise. With `path` finished scores are found again.

    >>> import apportion as ap
    >>> found = compare({"even": ap.Uniform()}, [Case("jobs", ap.Jobs((0.4, 0.8)))], horizon=20, runs=2, timed=False)
    >>> [(score.policy, score.world, round(score.part, 3)) for score in found.scores]
    [('even', 'jobs', 0.929)]
    """
    if len({case.name for case in cases}) < len(cases):
        raise InvalidValue("`worlds` must have different names; got the same one twice.")
    found: list[Score] = []
    for case in cases:
        require_playable(case.world)
        length = horizon if isinstance(horizon, int) else horizon[case.name]
        length = length if case.periods is None else min(length, case.periods)
        found += scores(
            policies, [case], runs, seed, [length], workers=workers, path=path, command=command, on_case=on_case
        )
    if not found:
        reason = next((f": {words}" for entry in policies.values() if (words := why_not(entry, cases[0].world))), ".")
        raise InvalidValue(
            f"`policies` must be able to play in one of the worlds at least; got none that can{reason}"
        )
    costs = []
    for name in policies if timed else ():
        played = next((score.world for score in found if score.policy == name), None)
        if played is not None:
            world = next(case.world for case in cases if case.name == played)
            costs.append(Cost(name, played, microseconds(policies[name], world)))
    return Comparison(found, costs)


def microseconds(policy: Candidate, world: World) -> float:
    """What a period takes: a run on one thread, compiled before; the world's part of it is that of any policy."""
    cls = policy if isinstance(policy, type) else policy.cls if isinstance(policy, Informed) else type(policy)
    assert issubclass(cls, Policy)
    periods, runs = (_TIMED, 10) if cls.compiles else (_TIMED_PLAINLY, 1)
    least = float("inf")
    for attempt in range(_REPEATS + 1):
        start = time.perf_counter()
        simulate(
            policy, world, horizon=periods, replications=runs, seed=attempt, periods=1, workers=1, progress=False
        )
        if attempt:  # the first one loads
            least = min(least, time.perf_counter() - start)
    return least / (periods * runs) * 1e6
