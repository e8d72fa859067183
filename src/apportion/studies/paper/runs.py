"""Mean regret with its error, at the sizes of a run, from runs of its own for every point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from apportion.model.law import Instance
from apportion.policies import Policy
from apportion.simulation.engines.leaping.leap import why_not
from apportion.simulation.families import one_good_arm
from apportion.simulation.simulate import simulate
from apportion.studies.intervals import ROUNDING, mean_and_error
from apportion.studies.paper.section import Sizes

# From this horizon on the simulation leaps where it can.
LEAPING_HORIZON = 100_000


class Mean(NamedTuple):
    """Mean regret, its standard error, and of how many runs."""

    mean: float
    error: float
    runs: int


def can_leap(policy: Policy, instance: Instance, horizon: int) -> bool:
    """Whether this run costs next to nothing at any horizon."""
    return why_not(policy, instance, horizon) is None


def final_regret(policy: Policy, instance: Instance, horizon: int, sizes: Sizes, seed: int) -> Mean:
    """The mean regret at the horizon, of as many runs as the sizes allow."""
    if horizon >= LEAPING_HORIZON and can_leap(policy, instance, horizon):
        count = sizes.leaping_runs
    else:
        count = int(np.clip(sizes.arm_periods // (horizon * instance.arms), sizes.min_runs, sizes.max_runs))
    found = simulate(
        policy, instance, horizon=horizon, replications=count, seed=seed, record=("regret",), periods=1,
        engine="auto", progress=False,
    )  # fmt: skip
    mean, error, _ = mean_and_error(found.regret.values.ravel())
    return Mean(mean, error if error > ROUNDING * mean else 0.0, count)


def growth_in_log(
    policy: Policy, instance: Instance, horizon: int, runs: int, seed: int, factor: int = 10
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What each run loses between T/factor and T, over log(factor): its own slope in log T.

    Taken run by run, so that both ends share their noise as they do, and runs are independent of each other.
    """
    start = max(horizon // factor, 1)
    found = simulate(
        policy, instance, horizon=horizon, replications=runs, seed=seed, record=("regret",), periods=[start, horizon],
        engine="dense", progress=False,
    )  # fmt: skip
    regret = found.regret.isel(policy=0, instance=0).transpose("replication", "period").values
    return np.asarray((regret[:, 1] - regret[:, 0]) / np.log(horizon / start))


def world(arms: int, b: float, gap: float) -> Instance:
    """One arm better than all others by `gap`."""
    return Instance(one_good_arm(arms, gap), b=b)
