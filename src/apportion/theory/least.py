"""What no policy can beat: a lower bound on regret for one instance; the proof is in docs/theory.md, section 10.

Two bounds meet here. In the first every arm is seen in full in every period, whatever its share: then it is best to
follow the largest mean, and the regret is an integral. The second prices resource: an arm alone, against a world in
which it is no better than others, may take what it likes at a price per unit, and the value of that is computed
backwards in time over its likelihood ratio. Every step of the computation errs on the safe side.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common import optional
from apportion._common.validation import refuse, whole
from apportion.model.law import Instance
from apportion.model.noise import Gaussian

Floats = NDArray[np.float64]

# Two shares next to each other on the grid differ by this factor in information; between them the bound takes the
# cost of the lower and the information of the upper one.
_FINE = 1.04
_COARSE = 1.6
# The least information that counts as some, as a part of what an even split gives.
_LEAST_INFORMATION = 0.02
# Likelihood ratios go from e^−6 to e^6 times the number of arms; outside, straight lines are above the value.
_REACH = 6.0
_MOST_NODES = 3_000
_KNOTS = 5
_TRIES = 150
_SMALLEST_REFERENCE = 3  # two arms alike say no more than full information does
# Full information: the step of the integral over a standard normal, and how much longer each stretch of time is.
_NORMAL_STEP = 0.05
_STRETCH = 1.02


def least_regret(instance: Instance, horizon: int, *, steps: int = 1_000) -> float:
    """A lower bound on the expected regret of every policy after T periods, on average over the orders of the arms.

    No policy that treats arms alike, whatever it knows (b, σ, T and the means, but not which arm has which), has
    less; for any other policy it holds for the mean over all orders of the arms. With m_1 > m_2 > … the distinct
    means, R(T) is the sum over j of (m_j − m_(j+1)) times the resource that goes to arms below m_j, and that is at
    least, for every t ≤ T, [t − Σ over arms above of W(t)] + Σ over s in t+1 .. T of P_s:

    * P_s = P(an arm below m_j has the largest of K independent N(mean, σ²/(s−1))): every arm seen in full.
    * W(t) = min over prices c_s ≥ 0 of (c_1 + … + c_t)/N + V_1(1), the most that one arm can get which is better
      than N − 1 arms of one mean below m_j, D the gap: V_s(L) = max over 0 ≤ A ≤ 1 of (L − c_s) A +
      E V_(s+1)(L exp(D A^(1−b) x/σ − D² A^(2−2b)/2 σ²)), x standard normal, V_(t+1) = 0.

    Gaussian noise only. `steps` is the largest t that W is worked out for; a thousand take some seconds. Prices are
    chosen by a rough search: any give a valid bound. Means that are all different, each arm its own, leave full
    information alone, a weak bound for small b.

    >>> round(least_regret(Instance((0.5, 0.0), b=1.0), 2), 4)  # 0.5 (1/2 + P(N(0, 2) > 0.5))
    0.4309
    >>> least_regret(Instance((1.0, 1.0, 1.0), b=0.75), 100)
    0.0
    """
    horizon, steps = whole("horizon", horizon, low=1), whole("steps", steps, low=0)
    optional.require("lab", "`least_regret`")
    if not isinstance(instance, Instance) or instance.c < 1.0 or isinstance(instance.sigma, tuple):
        raise refuse(
            "instance", "an apportion.Instance with c = 1 and one sigma", getattr(instance, "label", instance)
        )
    if not isinstance(instance.noise, Gaussian):
        raise refuse("noise", "gaussian: other noise can give an arm away at once", instance.noise.name)
    means, counts = np.unique(np.asarray(instance.means), return_counts=True)
    levels, sizes = tuple((means[::-1] / instance.sigma).tolist()), tuple(counts[::-1].tolist())
    total = 0.0
    in_full = _in_full_view(levels, sizes, horizon)
    for index in range(len(levels) - 1):
        step = (levels[index] - levels[index + 1]) * instance.sigma
        total += step * _resource_below(levels, sizes, index, 2 - 2 * instance.b, min(horizon, steps), in_full)
    return float(total)


class _FullView(NamedTuple):
    """For each level (row) and each stretch of time, P(an arm below it leads) where every arm is seen in full."""

    probabilities: Floats
    ends: Floats  # the last period of each stretch

    def periods_below(self, level: int, after: int) -> float:
        """How many periods an arm below a level leads, in expectation, after period `after`."""
        lengths = np.diff(self.ends, prepend=0.0)
        return float(np.clip(self.ends - after, 0.0, lengths) @ self.probabilities[level])


def _in_full_view(levels: Sequence[float], sizes: Sequence[int], horizon: int) -> _FullView:
    """The probabilities fall with time, so those at the ends of stretches of time, 2% apart, are on the safe side."""
    from scipy.special import log_ndtr

    ends = np.unique(np.ceil(_STRETCH ** np.arange(1 + math.ceil(math.log(horizon) / math.log(_STRETCH)))))
    ends = np.append(ends[ends < horizon], float(horizon))
    x = np.arange(-9.0, 9.0, _NORMAL_STEP)
    below = np.asarray(levels)[0] - np.asarray(levels)
    many = np.asarray(sizes, dtype=float)[:, None]
    probabilities = np.empty((len(levels), len(ends)))
    for column, end in enumerate(ends):
        z = x + math.sqrt(end - 1) * below[:, None]
        log_cdf = log_ndtr(z)
        hazard = np.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_cdf)
        largest = many * hazard * np.exp((many * log_cdf).sum(axis=0))
        probabilities[:, column] = 1.0 - np.cumsum(largest.sum(axis=1)) * _NORMAL_STEP
    return _FullView(np.clip(probabilities, 0.0, 1.0), ends)


def _resource_below(
    levels: Sequence[float], sizes: Sequence[int], index: int, beta: float, most: int, in_full: _FullView
) -> float:
    """The least resource that goes to arms below the level at `index`."""
    found = in_full.periods_below(index, 0)
    below = range(index + 1, len(levels))
    references = {index + 1, max(below, key=lambda level: sizes[level])}
    above = [
        (
            sizes[level],
            [(levels[level] - levels[low], sizes[low] + 1) for low in references
             if sizes[low] + 1 >= _SMALLEST_REFERENCE],
        )
        for level in range(index + 1)
    ]  # fmt: skip
    if beta == 0 or not above[0][1]:
        return found
    best, chosen = found, 0
    for time in _stretches(most):
        rough = sum(many * min(_prices(*pair, beta, time)[0] for pair in pairs) for many, pairs in above)
        value = time - rough + in_full.periods_below(index, time)
        if value > best:
            best, chosen = value, time
        elif chosen:
            break
    if chosen:
        spent = 0.0
        for many, pairs in above:
            gap, arms = min(pairs, key=lambda pair: _prices(*pair, beta, chosen)[0])
            spent += many * _most_on_the_best(gap, arms, beta, chosen)
        found = max(found, chosen - spent + in_full.periods_below(index, chosen))
    return found


def _stretches(most: int) -> list[int]:
    found = []
    while most >= 4:
        found.append(most)
        most //= 4
    return found


@functools.lru_cache(maxsize=512)
def _most_on_the_best(gap: float, arms: int, beta: float, horizon: int) -> float:
    """W: what the best arm gets in all at most, of `arms` that are otherwise alike; `gap` is in units of sigma."""
    information = _informations(arms, beta, _FINE)
    # Between 0 and the first share the cost is 0 and the information that of the first.
    ladder = _Ladder(gap, arms, horizon, 4.0, np.r_[0.0, 0.0, information[:-1]], np.r_[0.0, information], beta)
    return ladder.bound(_prices(gap, arms, beta, horizon)[1], np.ones(horizon))


@functools.lru_cache(maxsize=512)
def _prices(gap: float, arms: int, beta: float, horizon: int) -> tuple[float, Floats]:
    """Prices for `_most_on_the_best` and about what it will say with them, by a coarse grid of shares and periods."""
    from scipy.optimize import minimize
    from scipy.special import ndtri

    blocks = _blocks(horizon)
    middle = np.cumsum(blocks) - (blocks + 1) / 2
    information = np.r_[0.0, _informations(arms, beta, _COARSE)]
    ladder = _Ladder(gap, arms, horizon, 1.5, information, information, beta)
    knots = np.linspace(0.0, 1.0, _KNOTS)

    def price(logs: Floats, periods: Floats) -> Floats:
        return np.exp(np.interp(np.sqrt(periods / horizon), knots, np.clip(logs, -12.0, 12.0)))

    # Where to start: the ratio that an arm exceeds with chance 1/N after even splits.
    distance = gap * np.sqrt(arms**-beta * middle)
    start = np.interp(knots, np.sqrt(middle / horizon), distance * ndtri(1 - 1 / arms) - 0.5 * distance**2)
    found = minimize(
        lambda logs: ladder.bound(price(logs, middle), blocks), start, method="Powell",
        options={"maxfev": _TRIES, "xtol": 0.02, "ftol": 1e-5},
    )  # fmt: skip
    return float(found.fun), price(found.x, np.arange(float(horizon)))


def _blocks(horizon: int) -> Floats:
    """Stretches of time, six of each length 1, 2, 4, ..."""
    found: list[float] = []
    size, left = 1, horizon
    while left:
        for _ in range(6):
            if left:
                found.append(float(min(size, 1 << (left.bit_length() - 1))))
                left -= int(found[-1])
        size *= 2
    return np.array(found)


def _informations(arms: int, beta: float, factor: float) -> Floats:
    """Information A^beta of the shares on the grid, rising to 1."""
    least = _LEAST_INFORMATION * arms ** -min(beta, 1.0)
    return np.geomspace(least, 1.0, 2 + math.ceil(-math.log(least) / math.log(factor)))


class _Spread(NamedTuple):
    """How the likelihood ratio L moves in a block of periods, for a convolution by Fourier transform."""

    reach: int  # nodes up or down that L can go
    size: int  # of the transform
    weights: NDArray[np.complex128]  # transformed, a row per share
    inverse: Floats  # 1/L above the top


class _Ladder:
    """The value V of an arm's likelihood ratio L, held as V/L at L = e^(ih), a period or a stretch of time at once.

    V is convex in L: a policy's value is linear in L, and V is the largest. So chords between the nodes, the chord to
    V(0) = 0 below them, and above them a line with the steepest possible slope, one per period left, are above V.
    And V grows with information. `low` and `high` are the information at the ends of each step of the grid of shares.
    """

    def __init__(
        self, gap: float, arms: int, horizon: int, fine: float, low: Floats, high: Floats, beta: float
    ) -> None:
        reach = 5.0 * gap * math.sqrt(horizon) + 0.5 * gap * gap * horizon
        down, up = min(_REACH, reach), min(_REACH + math.log(arms), reach)
        # Nodes are a fraction of a step apart: that of an even split at b > 1/2, and larger where pooling is better.
        self.h = max(gap * arms ** (-min(beta, 2 - beta) / 2) / fine, (down + up) / _MOST_NODES)
        first, last = math.floor(-down / self.h), math.ceil(up / self.h)
        self.ratio = np.exp(np.arange(first, last + 1) * self.h)
        self.start = -first
        self.arms = arms
        self.least_share, self.most_share = low[:, None] ** (1 / beta), high[:, None] ** (1 / beta)
        self._deviation = gap * np.sqrt(high)
        self._spreads: dict[float, _Spread] = {}

    def bound(self, prices: Floats, blocks: Floats) -> float:
        """(sum of the prices)/N + V_1(1), where block i lasts blocks[i] periods."""
        from scipy.fft import irfft, rfft

        value, left, many = np.zeros(len(self.ratio)), 0.0, len(self.ratio)
        for price, length in zip(prices[::-1], blocks[::-1], strict=True):
            spread = self._spread(float(length))
            wide = spread.reach
            outside = np.concatenate((np.full(wide, value[0]), value, left + (value[-1] - left) * spread.inverse))
            later = irfft(rfft(outside, spread.size) * spread.weights, spread.size, axis=1)
            later = later[:, 2 * wide : 2 * wide + many]
            gain = length * (1.0 - price / self.ratio)
            value = (np.where(gain > 0.0, self.most_share, self.least_share) * gain + later).max(axis=0)
            left += length
        return float((prices * blocks).sum() / self.arms + value[self.start])

    def _spread(self, length: float) -> _Spread:
        """How L moves in a block of that length; worked out once."""
        from scipy.fft import next_fast_len, rfft

        if length not in self._spreads:
            deviations = self._deviation * math.sqrt(length)
            furthest = float(deviations.max())
            wide = math.ceil((8.0 * furthest + furthest**2) / self.h) + 2
            weights = np.array([_weights(float(each), self.h, wide) for each in deviations])
            size = next_fast_len(len(self.ratio) + 4 * wide, real=True)
            inverse = np.exp(-np.arange(1, wide + 1) * self.h)
            transformed = np.asarray(rfft(weights[:, ::-1], size, axis=1))
            self._spreads[length] = _Spread(wide, size, transformed, inverse)
        return self._spreads[length]


def _weights(deviation: float, h: float, wide: int) -> Floats:
    """E f(M) M-weighted, for f piecewise linear between e^(ih): weights of the f(e^(ih))/e^(ih), i = -wide .. wide.

    M = exp(deviation x − deviation²/2). A weight is the second difference of E(M − y)^+, or of E(y − M)^+.
    """
    from scipy.special import ndtr

    if deviation == 0.0:
        return np.asarray(np.arange(-wide, wide + 1) == 0, dtype=float)
    x = np.arange(-wide - 1, wide + 2) * h
    y = np.exp(x)
    up, down = (0.5 * deviation**2 - x) / deviation, (-0.5 * deviation**2 - x) / deviation
    above, beneath = ndtr(up) - y * ndtr(down), y * ndtr(-down) - ndtr(-up)
    second = [np.diff(np.diff(part) / np.diff(y)) for part in (above, beneath)]
    found = np.maximum(np.where(x[1:-1] > 0.0, second[0], second[1]), 0.0) * y[1:-1]
    return np.asarray(found / found.sum(), dtype=float)
