"""Scales, residuals and what they say about the assumptions, all at one b."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from apportion.inference.fit.likelihood import Data, Floats, interval

# Residuals of this size, relative to the ratios they are left of, are rounding errors.
_ROUNDING = 1e-13


def quiet_arms(data: Data) -> npt.NDArray[np.bool_]:
    """Which arms return exactly in proportion to the amount, so that nothing is left for σ."""
    ratios = data.y * np.exp(-data.logs)
    low, high = np.minimum.reduceat(ratios, data.starts), np.maximum.reduceat(ratios, data.starts)
    quiet: npt.NDArray[np.bool_] = high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return quiet & (data.free > 0) if data.per_arm else quiet


def own_scales(data: Data, residual: Floats) -> Floats:
    """Each arm's own scale at b, in scaled units; NaN for one observation."""
    found: Floats = np.sqrt(np.divide(residual, data.free, out=np.full(len(residual), np.nan), where=data.free > 0))
    return found


def standardised(data: Data, b: float, scales: Floats | None) -> Floats:
    """(y − μx)/(x^b·σ), sorted by arm, divided by √(1 − what the mean takes of it)."""
    at = data.at(b)
    base = np.exp((1 - b) * data.logs)
    rest = data.y * np.exp(-b * data.logs) - np.repeat(at.means, data.counts) * base
    pull = np.square(base) / np.repeat(at.information, data.counts)
    sigma = math.sqrt(at.residual.sum() / data.dof) if scales is None else np.repeat(scales, data.counts)
    left = np.where(np.repeat(data.free > 0, data.counts), np.maximum(1 - pull, 1e-12), np.nan)
    found: Floats = rest / (sigma * np.sqrt(left))
    return found


def tail_stretch(data: Data, b: float, residuals: Floats) -> float:
    """√ of the measured variance of the score over its variance for Gaussian noise; at least 1.

    The score of b is Σ (r² − 1)·(log x − centre); its terms have variance 2·(…)² for Gaussian r.
    """
    known = np.isfinite(residuals)
    logs, r = data.logs[known], residuals[known]
    if data.per_arm:
        groups = np.repeat(np.arange(len(data.counts)), data.counts)[known]
        centre = (np.bincount(groups, logs) / np.maximum(np.bincount(groups), 1))[groups]
    else:
        centre = logs.mean()
    weights = np.square(logs - centre)
    return math.sqrt(max(1.0, float(weights @ np.square(np.square(r) - 1)) / (2 * float(weights.sum()))))


def equal_scales(scales: Floats, free: npt.NDArray[Any]) -> float:
    """The p-value of equal scales; NaN with fewer than two arms that have one."""
    from scipy.special import chdtrc

    estimable = (free > 0) & (scales > 0)
    count = int(estimable.sum())
    if count < 2:
        return math.nan
    weights, variances = free[estimable].astype(np.float64), np.square(scales[estimable])
    total = weights.sum()
    ratio = total * math.log(float(weights @ variances) / total) - float(weights @ np.log(variances))
    correction = 1 + (float((1 / weights).sum()) - 1 / total) / (3 * (count - 1))
    return float(chdtrc(count - 1, ratio / correction))


def deviation_interval(data: Data, b: float, level: float, widen: float, amount: float) -> tuple[float, float]:
    """The deviations at `amount` that some b in [0, 1] makes likely enough.

    With the deviation held at e^u times its best value for b, the likelihood falls by
    (N − K)·(u + (e^(−2u) − 1)/2); e^(−2u) is then a branch of Lambert's W.
    """
    from scipy.special import chdtri, lambertw

    allowed = float(chdtri(1, 1 - level)) * widen / 2
    low, high = interval(data.log_likelihood, b, 1e-12, level, widen)
    grid = np.union1d(np.linspace(low, high, 65), [b])
    curve = data.log_likelihood(grid)
    spare = np.maximum(allowed - (curve.max() - curve), 0.0) / data.dof
    inner = -np.exp(-(1 + 2 * spare))
    residual = np.array([data.at(float(value)).residual.sum() for value in grid])
    centre = 0.5 * np.log(residual / data.dof) + grid * (math.log(amount) - data.log_unit) + math.log(data.size)
    below = centre - 0.5 * np.log(-lambertw(inner, -1).real)
    above = centre - 0.5 * np.log(-lambertw(inner, 0).real)
    return math.exp(below.min()), math.exp(above.max())
