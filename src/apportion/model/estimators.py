"""The four estimators of an arm's mean μ in Y = μ·A^c + σ·A^b·ξ, and their precision.

Precision is 1/variance at σ = 1 for *fixed* amounts: the estimate's variance is σ_i² / precision. Under a
policy that looks at outcomes the amounts are not fixed; see `apportion.model.confidence.anytime_interval` for what
holds then.

=====================  ====================================================  =============
estimator              mean                                                  precision
=====================  ====================================================  =============
`ratio_of_sums`        μ1 = Y / M, M = Σ A^c                                 M² / V
`mean_of_ratios`       μ2 = Q / n                                            n² / W
`blocked`              μ3 = average over blocks of (block ΣY) / (block ΣA^c) see there
`information_weighted` μ* = Z / B                                            B
=====================  ====================================================  =============

For fixed amounts the precision of μ* is at least that of the others (Cauchy–Schwarz). μ* equals μ1 at b = c/2
and μ2 at b = c.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from apportion._common import validation
from apportion._common.compiled import kernel
from apportion.model.sums import Floats, Sums


class Estimate(NamedTuple):
    """Means per arm with their precision; NaN and 0 for an arm that was never observed."""

    mean: Floats
    precision: Floats


# `arm` below is an index inside policies, or slice(None) for all arms at once: the same formula serves both.
# An arm that was never observed gives 0/0 = NaN.


@kernel
def mu1(sums: Any, arm: Any) -> Any:
    """Y / M."""
    return sums.reward[arm] / sums.response[arm]


@kernel
def mu1_precision(sums: Any, arm: Any) -> Any:
    """M² / V, ordered so that small amounts do not underflow."""
    return sums.response[arm] * (sums.response[arm] / sums.noise[arm])


@kernel
def mu2(sums: Any, arm: Any) -> Any:
    """Q / n."""
    return sums.ratio[arm] / sums.count[arm]


@kernel
def mu2_precision(sums: Any, arm: Any) -> Any:
    """n² / W."""
    return sums.count[arm] * (sums.count[arm] / sums.ratio_noise[arm])


@kernel
def mu_star(sums: Any, arm: Any) -> Any:
    """Z / B."""
    return sums.score[arm] / sums.information[arm]


def ratio_of_sums(sums: Sums) -> Estimate:
    """μ1 = Y / M, precision M² / V: what Algorithm 1 uses.

    >>> from apportion.model.exact_sums import Statistics
    >>> past = Statistics(arms=1, b=0.5)
    >>> past.update([1 / 2], [2]); past.update([1 / 3], [3])
    >>> round(float(ratio_of_sums(past.sums()).mean[0]), 12)
    6.0
    """
    return _estimate(sums, mu1, mu1_precision)


def mean_of_ratios(sums: Sums) -> Estimate:
    """μ2 = Q / n, precision n² / W: what Algorithm 2 uses; unbiased as long as every share stays positive.

    >>> from apportion.model.exact_sums import Statistics
    >>> past = Statistics(arms=1, b=0.5)
    >>> past.update([1 / 2], [2]); past.update([1 / 3], [3])
    >>> float(mean_of_ratios(past.sums()).mean[0])
    6.5
    """
    return _estimate(sums, mu2, mu2_precision)


def information_weighted(sums: Sums) -> Estimate:
    """μ* = Z / B, precision B: the most precise linear unbiased estimate for fixed amounts.

    Where this fails: under a policy that reacts to outcomes the precision is no longer a theorem and μ* is
    biased (−0.03 to −0.14 measured at b = 0.75 under Algorithm 2, where μ2 is unbiased). The anytime interval
    around it remains valid.
    """
    return _estimate(sums, mu_star, lambda sums, arm: sums.information[arm])


def _estimate(sums: Sums, mean: Any, precision: Any) -> Estimate:
    everything = slice(None)
    with np.errstate(all="ignore"):
        means, precisions = mean(sums, everything), precision(sums, everything)
    return Estimate(means, np.where(sums.count > 0.0, precisions, 0.0))


def blocked(amounts: ArrayLike, outcomes: ArrayLike, b: float, ends: Sequence[int], c: float = 1.0) -> Estimate:
    """μ3: average over blocks of periods of (block ΣY) / (block ΣA^c); needs the history, not only the sums.

    `amounts` and `outcomes` have shape (periods, arms); `ends` are the last periods of the blocks, counted
    from 1, the final one being the number of periods. A block in which an arm got nothing is left out for
    that arm. With L counted blocks the variance is σ²/L²·Σ_blocks (ΣA^(2b)) / (ΣA^c)². There are 2^(t−1) ways
    to cut t periods into blocks; one block gives μ1, t blocks give μ2.

    >>> blocked([[1 / 2], [1 / 3]], [[2], [3]], b=0.5, ends=[1, 2]).mean.tolist()
    [6.5]
    """
    amount, outcome = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (amounts, outcomes))
    if amount.shape != outcome.shape or not (amount >= 0.0).all() or not np.isfinite(amount).all():
        raise validation.refuse("amounts", "finite, at least 0, and of the same shape as `outcomes`", amount.shape)
    b = validation.number("b", b, low=0.0, high=1.0)
    c = validation.number("c", c, above=0.0, high=1.0)
    periods = len(amount)
    stops = [validation.whole("ends", end, low=1, high=periods) for end in ends]
    if sorted(set(stops)) != stops or not stops or stops[-1] != periods:
        raise validation.refuse("ends", f"increasing period numbers, the last one {periods}", list(ends))
    observed = (amount > 0.0) & ~np.isnan(outcome)
    starts = [0, *stops[:-1]]
    spent = np.where(observed, amount, 0.0)
    # Relative to the largest amount of its block: powers of raw amounts would underflow to 0/0 at 1e-170.
    largest = np.maximum.reduceat(spent, starts)
    counted = largest > 0.0
    unit = np.where(counted, largest, 1.0)
    relative = spent / np.repeat(unit, np.diff([0, *stops]), axis=0)
    with np.errstate(all="ignore"):
        response = np.add.reduceat(relative if c == 1.0 else relative**c, starts)
        reward = np.add.reduceat(np.where(observed, outcome, 0.0), starts)
        noise = np.add.reduceat(np.where(observed, relative ** (2.0 * b), 0.0), starts)
        blocks = counted.sum(axis=0)
        mean = np.where(counted, reward / unit**c / response, 0.0).sum(axis=0) / blocks
        variance = np.where(counted, unit ** (2.0 * b - 2.0 * c) * noise / response**2, 0.0).sum(axis=0) / blocks**2
        return Estimate(mean, np.where(blocks > 0, 1.0 / variance, 0.0))
