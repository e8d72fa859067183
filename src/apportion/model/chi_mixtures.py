"""Mixtures of chi laws over a random number of levels: the numerics that the cone law and the cycle law share.

The number of levels is a sum of independent Bernoulli(θ/i) counts, i = 1 .. t: θ = 1/2 for the faces above zero of
a projection of Gaussian noise (`apportion.model.cone`), θ = 1 for the cycles of a uniform permutation
(`apportion.model.cycles`).
"""

import functools
import math

import numpy as np

from apportion._common.distributions import digamma, erfc, zeta
from apportion._common.validation import whole
from apportion.model.sums import Floats

LARGEST_COUNT = (
    10**18
)  # to here the weights beyond the last level add up to less than 1e-80 (θ = 1/2), 1e-109 (θ = 1)
SMALLEST_LEVEL = 1e-100
_LEVELS = {0.5: 160, 1.0: 256}
_EULER = 0.5772156649015329
_PRODUCT = 256  # factors of the generating function that are multiplied one by one
_POWERS = 16
# A table of quantiles has every count up to this one, and counts 5% apart beyond.
_EVERY_COUNT_TO = 64
_TABLE_STEP = 1.05


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + … + 1/n, and H_0 = 0.

    >>> round(harmonic(1000), 6)
    7.485471
    """
    n = whole("n", n, low=0)
    if n < 64:
        return math.fsum(1.0 / i for i in range(1, n + 1))
    x = 1.0 / float(n) / float(n)
    return math.log(n) + _EULER + 0.5 / n - x * (1 / 12 - x * (1 / 120 - x / 252))


@functools.cache
def _products(theta: float) -> Floats:
    """Row t: the coefficients of prod over i <= t of (θz + i - θ)/i, with no cancellation."""
    rows = np.zeros((_PRODUCT + 1, _LEVELS[theta] + 1))
    rows[0, 0] = 1.0
    for i in range(1, _PRODUCT + 1):
        rows[i] = rows[i - 1] * ((i - theta) / i)
        rows[i, 1:] += rows[i - 1, :-1] * theta / i
    return rows


def _log_ratio(t: Floats, theta: float) -> Floats:
    """log(Gamma(t + 1 - θ) / Gamma(t + 1)); the next term is below 1e-16 from t = 64 on."""
    if theta == 1.0:
        return np.asarray(-np.log(t))
    x = 1.0 / (t * t)
    return np.asarray(-0.5 * np.log(t) - (1 / 8 - x * (1 / 192 - x / 640)) / t)


def level_weights(counts: Floats, theta: float) -> Floats:
    """Rows of weights v_0, v_1, …, one for each count: Σ v_k z^k = Π over i ≤ t of (θz + i − θ)/i.

    The factors beyond 256 are exp(Σ (−1)^(j−1) P_j z^j / j) with power sums P_j from the Hurwitz zeta
    function; P_2 and on are tiny, so each weight keeps its relative accuracy, also where it is 1e-60.
    """
    levels = _LEVELS[theta]
    rows: Floats = _products(theta)[np.minimum(counts, _PRODUCT).astype(np.int64)]
    large = np.flatnonzero(counts > _PRODUCT)
    if large.size == 0:
        return rows
    t = counts[large]
    start = np.full(1, float(_PRODUCT))
    shift = 1.0 - theta
    signed = np.empty((large.size, _POWERS))
    signed[:, 0] = theta * (digamma(t + shift) - digamma(start + shift))
    for j in range(2, _POWERS + 1):
        # From i = start + 1 on, 1/(i − θ) is 1/(m + 1 − θ) with m = i − 1 from start on.
        signed[:, j - 1] = -((-theta) ** j) * (zeta(j, start + shift) - zeta(j, t + shift))
    series = np.zeros((large.size, levels + 1))
    series[:, 0] = np.exp(_log_ratio(t, theta) - _log_ratio(start, theta))
    for k in range(1, levels + 1):
        reach = min(k, _POWERS)
        series[:, k] = np.sum(signed[:, :reach] * series[:, k - reach : k][:, ::-1], axis=1) / k
    first = _products(theta)[_PRODUCT]
    total = np.zeros_like(series)
    for k in range(levels + 1):
        total[:, k:] += series[:, k : k + 1] * first[: levels + 1 - k]
    rows[large] = total
    return rows


@functools.cache
def _chi_scale(degrees: int) -> Floats:
    return np.array([math.lgamma(k / 2 + 1) for k in range(degrees + 1)])


def mixture_tail(x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Σ over k ≥ 1 of v_k P(χ²_k ≥ x²) and its density at each x > 0, for the weights in the row of the same index.

    P(χ²_{k+2} ≥ x²) = P(χ²_k ≥ x²) + (x²/2)^(k/2) exp(−x²/2) / Γ(k/2 + 1): only positive terms.
    """
    degrees = weights.shape[1] - 1
    y = 0.5 * x * x
    half_levels = np.arange(degrees + 1) / 2
    steps = np.exp(half_levels * np.log(y)[:, None] - y[:, None] - _chi_scale(degrees))
    tails = np.zeros_like(steps)
    tails[:, 1] = erfc(np.sqrt(y))
    tails[:, 3::2] = steps[:, 1:-2:2]
    tails[:, 2::2] = steps[:, :-1:2]
    tails[:, 1::2] = np.cumsum(tails[:, 1::2], axis=1)
    tails[:, 2::2] = np.cumsum(tails[:, 2::2], axis=1)
    tails = np.minimum(tails, 1.0)
    return np.sum(weights * tails, axis=1), np.sum(weights * steps * (2 * half_levels), axis=1) / x


def mixture_quantiles(level: float, weights: Floats, high: Floats) -> Floats:
    """x with tail(x) = level for each row of weights, at most `high`: Newton on the log tail, held in a bracket."""
    low = np.zeros(len(weights))
    none = 1.0 - weights[:, 0] <= level
    x = high.copy()
    for _ in range(200):
        tail, density = mixture_tail(x, weights)
        above = tail > level
        low, high = np.where(above, x, low), np.where(above, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x + (np.log(tail) - math.log(level)) * tail / density
        inside = (step >= low) & (step <= high)
        following = np.where(inside, step, 0.5 * (low + high))
        settled = np.abs(following - x) <= 4e-16 * x
        x = following
        if bool(np.all(settled | none)):
            break
    return np.where(none, 0.0, x)


def table_counts(horizon: int) -> Floats:
    """The counts of a table of quantiles: 1 .. 64, then 5% apart up to `horizon`."""
    counts = list(range(1, min(horizon, _EVERY_COUNT_TO) + 1))
    while counts[-1] < horizon:
        counts.append(min(horizon, math.ceil(counts[-1] * _TABLE_STEP)))
    return np.array(counts, dtype=float)
