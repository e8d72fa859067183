"""Returns that move: each arm by itself, or all together, and how long the past is worth looking at.

What all arms of a period have in common (a season, a holiday) is no reason to change a split. It cancels in
contrasts between the arms of a period. So the test of drift (`inference.fit.assumptions.drift`) is followed by this
one, with the common level of every period taken out: in units of its noise a row is z = u·(1 + s_t + a_iq) + ξ, with
u = μ_i·x^(c−b)/σ_i, s_t the level of its period, and a_iq what arm i is above its mean in quarter q of the time;
tested is a = 0 in contrasts.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common.distributions import f_above
from apportion.inference.fit.assumptions import Evidence
from apportion.inference.fit.estimate import Estimate
from apportion.inference.fit.likelihood import Floats

HALF_LIVES = (math.inf, 100.0, 30.0, 10.0)
"""The memories that are compared, in periods."""

_QUARTERS = 4
_LEAST_PART = 1e-6  # of the information about a contrast that is left beside the common level


class _Rows(NamedTuple):
    """Rows in units of their noise: the signal u, what is left of it, and where it belongs."""

    signal: Floats
    rest: Floats
    arm: npt.NDArray[np.intp]
    time: npt.NDArray[np.intp]
    times: int
    arms: int

    def cells(self, values: Floats) -> Floats:
        """Sums by time and arm."""
        at = self.time * self.arms + self.arm
        found: Floats = np.bincount(at, values, self.times * self.arms).astype(np.float64)
        return found.reshape(self.times, self.arms)


def _rows(found: Estimate, periods: npt.NDArray[np.int64]) -> _Rows:
    data, c, b = found.data, found.c, found.b
    scales = np.repeat(found.own_scales, data.counts)
    base = np.exp((c - b) * data.logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        signal = data.spread(data.at(c, b).means) * base / scales
        rest = data.y * np.exp(-b * data.logs) / scales - signal
    known = np.isfinite(signal) & np.isfinite(rest) & (signal != 0.0)
    times, time = np.unique(periods[data.order][known], return_inverse=True)
    return _Rows(signal[known], rest[known], data.codes[known], time, len(times), len(data.counts))


def own_movement(found: Estimate, periods: npt.NDArray[np.int64]) -> Evidence:
    """Whether arms move against each other: the F test of a mean per quarter, common levels taken out."""
    rows = _rows(found, periods)
    if rows.times < 2 * _QUARTERS or rows.arms < 2:
        return Evidence(reason="it takes two arms and eight periods")
    weight, score = rows.cells(np.square(rows.signal)), rows.cells(rows.signal * rows.rest)
    total = weight.sum(axis=1)
    level = score.sum(axis=1) / total
    quarter = np.arange(rows.times) * _QUARTERS // rows.times
    matrices, scores = [], []
    for index in range(_QUARTERS):
        own = weight[quarter == index]
        matrices.append(np.diag(own.sum(axis=0)) - own.T @ (own / total[quarter == index, None]))
        scores.append(score[quarter == index].sum(axis=0) - own.T @ level[quarter == index])
    saved, ranks = zip(*map(_saved, matrices, scores))
    whole, rank = _saved(np.sum(matrices, axis=0), np.sum(scores, axis=0))
    left = float(np.square(rows.rest).sum() - np.square(level) @ total) - math.fsum(saved)
    freedom, rest = sum(ranks) - rank, len(rows.rest) - rows.times - sum(ranks)
    if freedom < 1 or rest < 1 or not left > 0.0:
        return Evidence(reason="too few arms were tried side by side")
    statistic = max(0.0, (math.fsum(saved) - whole) / freedom / (left / rest))
    return Evidence(statistic, (freedom, rest), float(f_above(freedom, rest, statistic)))


def _saved(matrix: Floats, score: Floats) -> tuple[float, int]:
    """What a regression with these normal equations saves, and its rank."""
    size = np.sqrt(np.diag(matrix))
    used = size > 0.0
    if not used.any():
        return 0.0, 0
    scaled = matrix[np.ix_(used, used)] / np.multiply.outer(size[used], size[used])
    values, vectors = np.linalg.eigh(scaled)
    there = values > _LEAST_PART
    return float((np.square(vectors[:, there].T @ (score[used] / size[used])) / values[there]).sum()), int(
        there.sum()
    )


def memory_found(found: Estimate, periods: npt.NDArray[np.int64]) -> float:
    """The half-life, of `HALF_LIVES`, that would have foretold each period best from those before it.

    Contrasts only: errors that all arms of a period share do not count. Gaussian, with the scale that fits best.
    """
    rows = _rows(found, periods)
    gains = rows.cells(np.square(rows.signal))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = rows.cells(rows.signal * rows.rest) / gains  # how far above its mean, as a part of it
    keep = np.array([0.5 ** (1.0 / life) for life in HALF_LIVES])[:, None]
    information, score = np.zeros((len(keep), rows.arms)), np.zeros((len(keep), rows.arms))
    squares, logs, count = np.zeros(len(keep)), np.zeros(len(keep)), 0
    for gain, value in zip(gains, np.nan_to_num(values)):
        there = (gain > 0.0) & (information[0] > 0.0)
        if there.sum() > 1:
            known, new = information[:, there], gain[there]
            variance = 1.0 / new + 1.0 / known
            error = value[there] - score[:, there] / known
            common = (error / variance).sum(axis=1) / (1.0 / variance).sum(axis=1)
            squares += (np.square(error - common[:, None]) / variance).sum(axis=1)
            logs += np.log(variance).sum(axis=1) + np.log((1.0 / variance).sum(axis=1))
            count += int(there.sum()) - 1
        information = keep * information + gain
        score = keep * score + gain * value
    if not count or not (squares > 0.0).all():
        return math.inf
    return HALF_LIVES[int(np.argmin(count * np.log(squares) + logs))]
