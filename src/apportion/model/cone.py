"""The exact law, for Gaussian noise, of the worst monotone weighting of noise.

The supremum over 0 < a_1 ≤ … ≤ a_t of Σ(a_s ξ_s) / √(Σ(a_s²)) is the norm of the projection of
the noise on a cone, the type-B Weyl chamber, so its law is a mixture of chi laws whose weights are the
intrinsic volumes of that cone: the supremum grows as √(log t), where Proposition 1 prints log t. For other noise
there is `apportion.model.cycles`.

`cone_radius` and `supremum` are kernels: bare formulas that run plain and compiled. The others validate.
"""

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from apportion._common.compiled import kernel
from apportion._common.validation import number, refuse, whole
from apportion.model.chi_mixtures import (
    LARGEST_COUNT,
    SMALLEST_LEVEL,
    harmonic,
    level_weights,
    mixture_quantiles,
    mixture_tail,
    table_counts,
)
from apportion.model.sums import Floats

__all__ = [
    "cone_closed_form", "cone_quantile", "cone_radius", "cone_supremum", "cone_table", "cone_tail", "cone_weights",
    "harmonic", "supremum",
]  # fmt: skip

_THETA = 0.5  # the chance that i adds a level is 1/(2i)


def _quantiles(level: float, counts: Floats) -> Floats:
    high = np.array([cone_closed_form(level, int(t)) for t in counts])
    return mixture_quantiles(level, level_weights(counts, _THETA), high)


def cone_weights(t: int) -> Floats:
    """v_k, k = 0 .. min(t, 160), with Σ v_k z^k = Π over i ≤ t of (z + 2i − 1)/(2i).

    v_k is the chance that the projection of Gaussian noise on the cone 0 ≤ a_1 ≤ … ≤ a_t has k levels
    above zero: a sum of independent Bernoulli(1/(2i)) counts. v_0 = C(2t, t)/4^t. What is cut off at 160 adds
    up to less than 1e-80. Each weight above 1e-100 is exact to 1e-13 of itself; t up to 1e18.

    >>> cone_weights(2)
    array([0.375, 0.5  , 0.125])
    """
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    return level_weights(np.array([float(t)]), _THETA)[0, : t + 1]


@overload
def cone_tail(x: float, t: int) -> float: ...
@overload
def cone_tail(x: Floats, t: int) -> Floats: ...
def cone_tail(x: Any, t: int) -> Any:
    """P(sup ≥ x) = Σ over k ≥ 1 of v_k P(χ²_k ≥ x²), x > 0; a number or an array of them.

    Exact for independent standard Gaussian noise (divide x by σ for another); accurate relatively, deep
    in the tail. For other sub-Gaussian noise it is not a bound: use `cycles_tail`.

    >>> round(cone_tail(1.0, 1), 6)
    0.158655
    """
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    values = np.asarray(x, dtype=float)
    if not bool(np.all(values > 0)):
        raise refuse("x", "a number above 0, or an array of them", x)
    weights = level_weights(np.array([float(t)]), _THETA)
    tail = mixture_tail(np.minimum(values, 1e100).ravel(), weights)[0].reshape(values.shape)
    return float(tail) if values.ndim == 0 else tail


def cone_quantile(level: float, t: int) -> float:
    """The x with P(sup ≥ x) = level: the inverse of `cone_tail`, 0.0 where level ≥ P(sup > 0) = 1 − v_0.

    Gaussian noise, σ = 1. It grows as √(log t), where Proposition 1 prints log t.

    >>> round(cone_quantile(0.001, 1000), 2)
    4.54
    """
    level = number("level", level, low=SMALLEST_LEVEL, below=1.0)
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    return float(_quantiles(level, np.array([float(t)]))[0])


def cone_closed_form(level: float, t: int) -> float:
    """√(H_t / 2) + √(2 log(1/level)), an upper bound on `cone_quantile` for every t.

    Gaussian noise: E[sup+]² ≤ H_t/2, and the supremum moves at most as far as the noise does (1-Lipschitz).

    >>> round(cone_closed_form(0.001, 1000), 2)
    5.65
    """
    level = number("level", level, above=0.0, high=1.0)
    return math.sqrt(harmonic(whole("t", t, low=1)) / 2) + math.sqrt(-2.0 * math.log(level))


def cone_table(horizon: int, level: float) -> tuple[Floats, Floats]:
    """(counts, quantiles) for `cone_radius`: exact at 1 .. 64, then at counts 5% apart up to `horizon`.

    >>> counts, quantiles = cone_table(1000, 0.001)
    >>> int(counts[-1]), round(float(quantiles[-1]), 2)
    (1000, 4.54)
    """
    horizon = whole("horizon", horizon, low=1, high=LARGEST_COUNT)
    level = number("level", level, low=SMALLEST_LEVEL, below=1.0)
    grid = table_counts(horizon)
    # Neighbouring quantiles may differ by less than the solver's last digit: keep them in order.
    return grid, np.maximum.accumulate(_quantiles(level, grid))


@kernel
def supremum(noise: Floats) -> float:
    """`cone_supremum` without checks: pools neighbours that fall, then the norm of what is above zero."""
    t = len(noise)
    best = -math.inf
    suffix = 0.0
    for s in range(t - 1, -1, -1):
        suffix += noise[s]
        best = max(best, suffix / math.sqrt(t - s))
    if best <= 0.0:
        return best
    totals = np.empty(t)
    sizes = np.empty(t)
    blocks = 0
    for s in range(t):
        totals[blocks] = noise[s]
        sizes[blocks] = 1.0
        blocks += 1
        while blocks > 1 and totals[blocks - 2] * sizes[blocks - 1] >= totals[blocks - 1] * sizes[blocks - 2]:
            totals[blocks - 2] += totals[blocks - 1]
            sizes[blocks - 2] += sizes[blocks - 1]
            blocks -= 1
    square = 0.0
    for k in range(blocks):
        if totals[k] > 0.0:
            square += totals[k] * totals[k] / sizes[k]
    return math.sqrt(square)


def cone_supremum(noise: ArrayLike) -> float:
    """sup over 0 < a_1 ≤ … ≤ a_t of Σ(a_s ξ_s) / √(Σ(a_s²)), in O(t).

    Where some sum of the last values is positive, it is the norm of the positive part of the isotonic
    (increasing) regression of the noise. Otherwise it is reached on an edge of the cone, weights (0, ..., 0,
    1, ..., 1): the largest (sum of the last n values)/√n, a number at or below 0.

    >>> cone_supremum([-1.0, 3.0, 4.0]), cone_supremum([-1.0, -1.0])
    (5.0, -1.0)
    """
    values = np.asarray(noise, dtype=float)
    if values.ndim != 1 or values.size == 0 or not bool(np.all(np.isfinite(values))):
        raise refuse("noise", "a list of at least one finite number", noise)
    # The supremum scales with the noise: no overflow of squares.
    largest = float(np.max(np.abs(values))) or 1.0
    return largest * float(supremum(values / largest))


@kernel
def cone_radius(t: float, counts: Floats, quantiles: Floats, precision: float, sigma: float) -> float:
    """σ q / √R1, with q the quantile of `cone_table` at the first count at or above t.

    Quantiles grow with t, so rounding t up is on the safe side. Beyond the table's last count the radius is
    infinite: nothing there has been promised. Gaussian noise, shares that never fall.

    >>> table = cone_table(1000, 0.001)
    >>> round(cone_radius(1000.0, table[0], table[1], 1.0, 1.0), 2)
    4.54
    """
    if precision <= 0.0 or t > counts[-1]:
        return math.inf
    low = 0
    high = len(counts) - 1
    while low < high:
        middle = (low + high) // 2
        if counts[middle] < t:
            low = middle + 1
        else:
            high = middle
    return float(sigma * quantiles[low] / math.sqrt(precision))
