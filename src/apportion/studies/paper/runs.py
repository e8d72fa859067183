"""Mean regret with its error, at the sizes of a run; and powers fitted to such means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion.model.law import Instance
from apportion.policies import Policy
from apportion.reporting.figures.data import fitted_exponent
from apportion.simulation.engines.leaping.leap import why_not
from apportion.simulation.families import one_good_arm
from apportion.simulation.simulate import simulate
from apportion.studies.paper.section import Sizes

# From this horizon on the simulation leaps where it can.
LEAPING_HORIZON = 100_000
# A two-sided 95% interval of a normal estimate is this many standard errors to each side.
ERRORS_TO_EACH_SIDE = 1.959963984540054
# Runs that are all the same differ by rounding only: by less than this part of their mean.
ROUNDING = 1e-12


class Mean(NamedTuple):
    """Mean regret, its standard error, and of how many runs."""

    mean: float
    error: float
    runs: int


class Power(NamedTuple):
    """A fitted power with its 95% interval."""

    power: float
    low: float
    high: float


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
    values = found.regret.values.ravel()
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    return Mean(mean, error if error > ROUNDING * mean else 0.0, len(values))


def world(arms: int, b: float, gap: float) -> Instance:
    """One arm better than all others by `gap`."""
    return Instance(one_good_arm(arms, gap), b=b)


def fitted_power(x: Sequence[float], means: Sequence[float], errors: Sequence[float] | None = None) -> Power:
    """The power of x that fits, with its interval: the scatter around the fit or the errors, whichever is more."""
    slope, error = fitted_exponent(x, means, errors)
    reach = 0.0 if math.isnan(error) else ERRORS_TO_EACH_SIDE * error
    return Power(slope, slope - reach, slope + reach)


def line_of(x: Any, means: Any, errors: Any) -> Power:
    """The slope of a straight line by least squares, with its interval by the same rule as `fitted_power`."""
    points, values, deviations = (np.asarray(item, np.float64) for item in (x, means, errors))
    centred = points - points.mean()
    spread = float(centred @ centred)
    slope = float(centred @ values) / spread
    residuals = values - values.mean() - slope * centred
    scatter = float(residuals @ residuals) / max(len(points) - 2, 1) / spread
    propagated = float(np.square(centred) @ np.square(deviations)) / spread**2
    reach = ERRORS_TO_EACH_SIDE * math.sqrt(max(scatter, propagated))
    return Power(slope, slope - reach, slope + reach)
