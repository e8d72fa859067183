"""The phase transition at b = 1/2 for the slider of the laboratory: real simulations, each run once per process."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import numpy as np

from apportion import theory
from apportion._common import validation
from apportion._common.formatting import percent, readable
from apportion.model.law import Instance
from apportion.policies.adaptive_elimination import AdaptiveElimination
from apportion.policies.odds import Odds
from apportion.policies.pooled import Thompson
from apportion.policies.recommended import Recommended
from apportion.simulation.candidates import Informed
from apportion.simulation.families import one_good_arm
from apportion.simulation.plan import make_plan
from apportion.simulation.task import run_task
from apportion.web.laboratory.experiments import Laboratory
from apportion.web.laboratory.run import Event

B_VALUES = tuple(round(0.05 * step, 2) for step in range(21))
ARMS = (2, 5, 10, 20)
USUAL_ARMS = 10
GAP, HORIZON, REPLICATIONS, SEED, MARKS = 0.5, 2_000, 100, 1, 30

# One that always puts all on one arm, one that always divides evenly over what may be the best, two that look at b.
CONTESTANTS: dict[str, Informed] = {
    "Pooling (Thompson)": Informed(Thompson),
    "Dividing evenly (elimination)": Informed(AdaptiveElimination, {"scale": 0.5}),
    "Odds": Informed(Odds),
    "Recommended": Informed(Recommended),
}
POOLING, DIVIDING = 0, 1

Point = dict[str, Any]


def coarse_to_fine(b_values: tuple[float, ...]) -> list[float]:
    """The ends, the middle, then the middles of what is left: the shape of the curve is there early.

    >>> coarse_to_fine((0.0, 0.25, 0.5, 0.75, 1.0))
    [0.5, 0.0, 1.0, 0.25, 0.75]
    """
    last = len(b_values) - 1
    step, indices = last, [last // 2, 0, last]
    while step > 1:
        step = math.ceil(step / 2)
        indices += range(0, last, step)
    indices += range(len(b_values))
    return [b_values[index] for index in dict.fromkeys(indices)]


def simulate_point(arms: int, b: float, contestant: int) -> dict[str, Any]:
    """One contestant at one b: mean regret and the mean share of the best arm over time."""
    world = Instance(one_good_arm(arms, GAP), b=b)
    candidate = list(CONTESTANTS.values())[contestant]
    plan = make_plan(
        [candidate], [world], horizon=HORIZON, replications=REPLICATIONS, seed=SEED, record=("regret", "shares"),
        periods=MARKS, engine="dense",
    )  # fmt: skip
    blocks = [run_task(job.task) for job in plan.jobs()]
    regret = np.concatenate([block["regret"] for block in blocks])
    best = np.concatenate([block["shares"][:, :, world.best] for block in blocks])
    error = regret.std(axis=0, ddof=1) / math.sqrt(len(regret))
    return {
        "regret": regret.mean(axis=0).tolist(),
        "error": error.tolist(),
        "best_share": best.mean(axis=0).tolist(),
        "periods": list(plan.checkpoints),
    }


def make_point(arms: int, b: float, found: list[dict[str, Any]]) -> Point:
    """A point of the slider: the curves of every contestant, and what they mean in words."""
    toy = theory.toy_example(arms, b)
    ends = [(one["regret"][-1], one["error"][-1]) for one in found]
    return {
        "b": b,
        "arms": arms,
        "periods": found[0]["periods"],
        "policies": [{"label": label, **one} for label, one in zip(CONTESTANTS, found)],
        "half": theory.information_rate(0.5, b),
        "toy": {"pooling": toy.pooling, "dividing": toy.dividing},
        "words": words(arms, b, ends),
    }


def words(arms: int, b: float, ends: list[tuple[float, float]]) -> dict[str, str]:
    """Why, by how much in the toy example, what was measured, and what is possible at best."""
    half = theory.information_rate(0.5, b)
    if b == 0.5:
        why = "Half the resource shows exactly half as much. Splitting neither wins nor loses information."
    elif b < 0.5:
        why = (
            f"Half the resource shows only {percent(half)} of what the whole would. Small shares tell too little: "
            "put everything on one arm at a time (pool)."
        )
    else:
        why = (
            f"Half the resource shows {percent(half)} of what the whole would. Small shares tell a lot: "
            "give something to several arms at once (divide)."
        )
    toy = theory.toy_example(arms, b)
    sides = f"{readable(toy.pooling)} by pooling and {readable(toy.dividing)} by dividing"
    example = f"To look at {arms} arms for {arms} periods leaves each estimate with a variance of {sides}."
    (pooled, pooled_error), (divided, divided_error) = ends[POOLING], ends[DIVIDING]
    if abs(pooled - divided) <= 2 * math.hypot(pooled_error, divided_error):
        verdict = "too close to tell apart"
    elif pooled < divided:
        verdict = f"dividing evenly loses {times(divided, pooled)}"
    else:
        verdict = f"pooling loses {times(pooled, divided)}"
    measured = (
        f"Measured: pooling lost {readable(pooled)} ± {readable(pooled_error)}, dividing evenly {readable(divided)} "
        f"± {readable(divided_error)}: {verdict}."
    )
    rate = theory.regret_rate(b)
    worst = rate.gap_independent.replace("sqrt(T)", "√T").replace("sqrt", "√").replace("-", "−")
    fixed = "grows as log T" if rate.gap_dependent_log_power else "stays below a constant"
    best = f"At best (Table 1), regret grows as {worst} on the worst world, and {fixed} on a fixed one."
    return {"why": why, "example": example, "measured": measured, "best": best}


def better_from(points: list[Point], contestant: int) -> float | None:
    """The smallest b from which on a contestant loses less than pooling, at every b that was tried."""
    found = None
    for point in reversed(points):
        ends = [policy["regret"][-1] for policy in point["policies"]]
        if ends[contestant] >= ends[POOLING]:
            break
        found = float(point["b"])
    return found


def summary_words(points: list[Point]) -> str:
    """Where the curves cross."""
    even = better_from(points, DIVIDING)
    from_even = "at no b that was tried" if even is None else f"from b = {even:g} on"
    odds = list(CONTESTANTS).index("Odds")
    last = [policy["regret"][-1] for policy in points[-1]["policies"]]
    return (
        f"Dividing evenly loses less than pooling {from_even}. Odds divides by each arm's chances from b = 0.5 on, "
        f"and draws one arm below; with full feedback (b = 1) pooling loses {times(last[POOLING], last[odds])}."
    )


def times(larger: float, smaller: float) -> str:
    """How much more, as people say it.

    >>> times(12.0, 10.0), times(52.0, 10.0)
    ('20% more', '5.2 times as much')
    """
    ratio = larger / smaller
    return f"{100 * (ratio - 1):.0f}% more" if ratio < 2 else f"{ratio:.2g} times as much"


class Transition:
    """The points that were computed so far, by arms and b; each is computed once per process."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._points: dict[tuple[int, float], Point] = {}
        self._locks: dict[tuple[int, float], asyncio.Lock] = {}

    async def events(self, arms: int) -> AsyncIterator[Event]:
        """`started`, a `point` for every b, and `done`. What is not there yet is computed in between."""
        order = coarse_to_fine(B_VALUES)
        yield "started", {
            "arms": arms, "total": len(order), "powers": list(B_VALUES), "policies": list(CONTESTANTS), "gap": GAP,
            "horizon": HORIZON, "replications": REPLICATIONS, "seed": SEED,
        }  # fmt: skip
        for b in order:
            yield "point", await self._point(arms, b)
        yield "done", {"arms": arms, "words": summary_words([self._points[arms, b] for b in B_VALUES])}

    async def _point(self, arms: int, b: float) -> Point:
        key = arms, b
        if key not in self._points:
            async with self._locks.setdefault(key, asyncio.Lock()):  # two requests share the work
                if key not in self._points:
                    loop, pool = asyncio.get_running_loop(), self._laboratory.pool
                    work = [
                        loop.run_in_executor(pool, simulate_point, arms, b, contestant)
                        for contestant in range(len(CONTESTANTS))
                    ]
                    try:
                        found = await asyncio.gather(*work)
                    finally:
                        for one in work:
                            one.cancel()
                    self._points[key] = make_point(arms, b, found)
        return self._points[key]


def check_arms(given: Any) -> int:
    """One of the numbers of arms that the slider has."""
    arms = validation.whole("arms", given)
    if arms not in ARMS:
        raise validation.refuse("arms", "one of " + ", ".join(map(str, ARMS)), arms)
    return arms
