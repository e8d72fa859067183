"""Intervals for the reports: Student's t, a level shared by all rows of a table, and rules that end in a verdict.

A slope through measured means is taken as what it is: a weighted sum of independent means, whose standard error
follows from theirs. So its interval speaks of the slope through the *true* means at the same points, and holds
whether or not these lie on a line; how far they do is for the picture to show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
# Runs that are all the same differ by rounding only: by less than this part of their mean.
ROUNDING = 1e-12


class Estimate(NamedTuple):
    """A number, its standard error, and the degrees of freedom of that error (infinite where it is known)."""

    value: float
    error: float
    freedom: float = math.inf


class Interval(NamedTuple):
    """What holds together with the other intervals of a table at the level of `CONFIDENCE`."""

    low: float
    high: float


def errors_to_each_side(freedom: float, comparisons: int = 1) -> float:
    """How many standard errors a two-sided interval goes to each side: Student's t, the level shared (Bonferroni).

    With m comparisons each interval has the confidence 1 − 0.05/m, so that all m hold together with at least 0.95.

    >>> round(errors_to_each_side(float("inf")), 2), round(errors_to_each_side(3), 2)
    (1.96, 3.18)
    """
    from scipy.stats import norm, t

    level = 1.0 - (1.0 - CONFIDENCE) / (2.0 * comparisons)
    return float(norm.ppf(level) if math.isinf(freedom) else t.ppf(level, freedom))


def interval_of(found: Estimate, comparisons: int = 1) -> Interval:
    """The interval of an estimate that is one of so many; a number known exactly has no width."""
    reach = errors_to_each_side(found.freedom, comparisons) * found.error if found.error > 0.0 else 0.0
    return Interval(found.value - reach, found.value + reach)


def slope_through(
    x: npt.ArrayLike, means: npt.ArrayLike, errors: npt.ArrayLike, runs: Sequence[int], *, logarithm: bool
) -> Estimate:
    """The least-squares slope through independent means, or through their logarithms, with its standard error.

    The slope is Σ w_k·y_k with w the centred x over their sum of squares, so its variance is Σ w_k²·v_k, v_k that of
    y_k: e_k², or (e_k/m_k)² for a logarithm (to the first order). The degrees of freedom are those of Welch and
    Satterthwaite, (Σ s_k)²/Σ s_k²/(n_k − 1) with s_k = w_k²·v_k. The means must be of runs of their own.

    >>> slope_through([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], [0.0] * 3, [10] * 3, logarithm=False).value
    2.0
    """
    points, values, deviations = (np.asarray(item, np.float64) for item in (x, means, errors))
    if logarithm:
        values, deviations = np.log(values), deviations / values
    centred = points - points.mean()
    weights = centred / float(centred @ centred)
    parts = np.square(weights * deviations)
    variance = float(parts.sum())
    freedom = math.inf
    if variance > 0.0:
        freedom = variance**2 / float(np.sum(np.square(parts) / np.maximum(np.array(runs) - 1, 1)))
    return Estimate(float(weights @ values), math.sqrt(variance), freedom)


def mean_and_error(values: npt.ArrayLike) -> Estimate:
    """The mean of independent values with its standard error."""
    found = np.asarray(values, np.float64)
    return Estimate(float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found))), len(found) - 1)


def against(interval: Interval, value: float) -> str:
    """Where an interval is: 'above' a number, 'below' it, or 'not told apart' from it.

    >>> against(Interval(1.0, 2.0), 0.5), against(Interval(1.0, 2.0), 1.5)
    ('above', 'not told apart')
    """
    return "above" if interval.low > value else "below" if interval.high < value else "not told apart"


def within(interval: Interval, low: float, high: float) -> bool:
    """Whether all of an interval is between two numbers: what was measured is as good as equal.

    >>> within(Interval(0.47, 0.52), 0.45, 0.55)
    True
    """
    return low <= interval.low and interval.high <= high
