"""Speed bars of the leaping engine: what a run costs as the horizon grows, and beside the dense engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apportion as ap
from apportion.simulation.task import Task, run_task
from benchmarks.simulation import seconds, time_ratio
from benchmarks.table import Row

HORIZONS = (10**5, 10**7, 10**9, 10**12)
REPEATS = 5


def _world(arms: int) -> ap.Instance:
    return ap.Instance((1.0, *(0.5 for _ in range(arms - 1))), b=0.75)


CASES = (
    ("Algorithm 1, K = 5", ap.SuccessiveElimination(b=0.75), 5, 500),
    ("Algorithm 1, K = 50", ap.SuccessiveElimination(b=0.75), 50, 20),
    ("Algorithm 2 by μ2, K = 5", ap.EpsilonGreedy(b=0.75), 5, 200),
    ("Algorithm 2 by μ*, K = 5", ap.EpsilonGreedy(b=0.75, leader="information"), 5, 500),
)


def _run(policy: ap.Policy, arms: int, horizon: int, count: int, engine: str = "leap") -> Callable[[], object]:
    task = Task(
        policy,
        _world(arms),
        horizon,
        checkpoints=(horizon,),
        variables=("regret",),
        seed=1,
        first=0,
        last=count,
        engine=engine,
    )
    return lambda: run_task(task)


def rows() -> Iterator[Row]:
    """Every bar with what was measured; the times per run have a loose bar, a millisecond for each five arms."""
    for name, policy, arms, count in CASES:
        for horizon in HORIZONS:
            run = _run(policy, arms, horizon, count)
            run()
            per_run = min(seconds(run) for _ in range(REPEATS)) / count
            yield Row(f"{name}, T = {horizon:.0e}, a run", per_run, 2e-4 * arms, "s")
        growth = time_ratio(_run(policy, arms, 10**12, count), _run(policy, arms, 10**6, count), REPEATS)
        yield Row(f"{name}, T = 10^12 over T = 10^6", growth, 5.0, "×")
        if arms == 5:
            dense = _run(policy, arms, 10**6, 1, "dense")
            faster = count / time_ratio(_run(policy, arms, 10**6, count), dense, REPEATS)
            yield Row(f"{name}, times faster than dense at T = 10^6", faster, 500.0, "×", True)
