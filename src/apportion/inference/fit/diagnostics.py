"""Scales, residuals and their tails, all at one (c, b)."""

import math

import numpy as np
import numpy.typing as npt

from apportion._common.distributions import chi_squared_quantile
from apportion.inference.fit.likelihood import Data, Floats
from apportion.inference.fit.surface import Surface

# Residuals of this size, relative to the ratios they are left of, are rounding errors.
_ROUNDING = 1e-13
_MOST_STEPS = 200


def quiet_arms(data: Data, c: float | None) -> npt.NDArray[np.bool_]:
    """Which arms follow x^c (some power where c is None) exactly, or return nothing: nothing is left for σ."""
    found = np.zeros(len(data.counts), np.bool_)
    for arm, rows in enumerate(np.split(np.arange(len(data.y)), np.cumsum(data.counts)[:-1])):
        y, logs = data.y[rows], data.logs[rows]
        if not y.any():
            found[arm] = True
        elif (y > 0).all() or (y < 0).all():
            heights = np.log(np.abs(y))
            power = c
            if power is None:
                centred = logs - logs.mean()
                power = float(centred @ heights) / (float(centred @ centred) or 1.0)
            level = heights - power * logs
            found[arm] = np.ptp(level) <= _ROUNDING * (1 + np.abs(heights).max() + np.abs(logs).max())
    return found


def own_scales(data: Data, residual: Floats) -> Floats:
    """Each arm's own scale, in scaled units; NaN for one observation."""
    found: Floats = np.sqrt(np.divide(residual, data.free, out=np.full(len(residual), np.nan), where=data.free > 0))
    return found


def standardised(data: Data, c: float, b: float, scales: Floats) -> Floats:
    """(y − μ·x^c)/(x^b·σ), sorted by arm, divided by √(1 − what the mean takes of it); `scales` holds σ by arm."""
    at = data.at(c, b)
    base = np.exp((c - b) * data.logs)
    rest = data.y * np.exp(-b * data.logs) - data.spread(at.means) * base
    pull = np.square(base) / data.spread(at.information)
    left = np.where(np.repeat(data.free > 0, data.counts), np.maximum(1 - pull, 1e-12), np.nan)
    left[data.spread(data.sizes == 1)] = np.nan  # its own mean: nothing is left of it
    left[np.repeat(~(scales > 0), data.counts)] = np.nan
    sigma = np.repeat(np.where(scales > 0, scales, 1.0), data.counts)
    found: Floats = rest / (sigma * np.sqrt(left))
    return found


def tail_stretch(data: Data, residuals: Floats) -> float:
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
    if not weights.any():
        return 1.0  # amounts that do not vary: b has no score
    return math.sqrt(max(1.0, float(weights @ np.square(np.square(r) - 1)) / (2 * float(weights.sum()))))


def deviation_interval(
    data: Data, surface: Surface, level: float, widen: float, amount: float
) -> tuple[float, float]:
    """The deviations at `amount` that some b makes likely enough, c taken at its best.

    With the deviation held at e^u times its best value for b, the likelihood falls by
    (N − K)·(u + (e^(−2u) − 1)/2), so that −2u is a root of e^v − v − 1 = 2·(what is allowed)/(N − K).
    """
    allowed = float(chi_squared_quantile(1, 1 - level)) * widen / 2
    grid = np.union1d(surface.b_axis.points(129), [surface.b])
    drop = -surface.profile_b(grid)
    grid, drop = grid[drop <= allowed], np.maximum(drop[drop <= allowed], 0.0)
    spare = (allowed - drop) / data.dof
    residual = data.grid(np.array([surface.c]), grid).residual[0].sum(axis=-1)
    centre = 0.5 * np.log(residual / data.dof) + grid * (math.log(amount) - data.log_unit) + math.log(data.size)
    up = 2 * np.sqrt(spare)
    below, above = centre - 0.5 * _root(2 * spare, up), centre - 0.5 * _root(2 * spare, -up)
    return math.exp(below.min()), math.exp(above.max())


def _root(height: Floats, start: Floats) -> Floats:
    """v with e^v − v − 1 = height ≥ 0, on the side of 0 where `start` is: Newton, which never overshoots."""
    v = start
    for _ in range(_MOST_STEPS):
        slope = np.expm1(v)
        step = np.divide(slope - v - height, slope, out=np.zeros_like(v), where=slope != 0.0)
        v = v - step
        if (np.abs(step) <= _ROUNDING * np.abs(v)).all():
            break
    return v
