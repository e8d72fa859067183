"""The worst monotone weighting of any i.i.d. sub-Gaussian noise: growth as √(log t).

Let ‖Πξ‖ be the supremum over 0 < a_1 ≤ … ≤ a_t of Σ(a_s ξ_s) / √(Σ(a_s²)), where it is positive. For exchangeable
noise ‖Πξ‖² has the law of a sum over the cycles of a uniform permutation, independent of the noise, of (S₊)²/length,
S the sum of the noise over the cycle: the faces of a convex minorant are counted as cycles are. For independent
1-sub-Gaussian noise each term is stochastically below a χ² with two degrees of freedom, so the supremum is below a
mixture of chi laws, weighted by the number of cycles. The proof is in docs/theory.md, section 2.
"""

import math
from typing import Any, overload

import numpy as np

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

__all__ = ["cycles_closed_form", "cycles_quantile", "cycles_table", "cycles_tail", "cycles_weights"]

_THETA = 1.0  # the chance that i closes a cycle is 1/i


def _degrees(counts: Floats) -> Floats:
    """The weights of 0, 1, 2, … degrees of freedom: two for every cycle."""
    weights = level_weights(counts, _THETA)
    spread = np.zeros((len(counts), 2 * weights.shape[1] - 1))
    spread[:, ::2] = weights
    return spread


def cycles_weights(t: int) -> Floats:
    """P(N = k), k = 0 .. min(t, 256), N the number of cycles of a uniform permutation of t: E z^N = Π (z + i − 1)/i.

    >>> cycles_weights(3).round(4)
    array([0.    , 0.3333, 0.5   , 0.1667])
    """
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    return level_weights(np.array([float(t)]), _THETA)[0, : t + 1]


@overload
def cycles_tail(x: float, t: int) -> float: ...
@overload
def cycles_tail(x: Floats, t: int) -> Floats: ...
def cycles_tail(x: Any, t: int) -> Any:
    """Σ over k of P(N = k) P(χ²_{2k} ≥ x²) ≥ P(sup ≥ x), x > 0; a number or an array of them.

    Independent, identically distributed noise that is 1-sub-Gaussian (divide x by σ for another). It is not proven
    for noise whose law changes from period to period, such as `Batch`: there `corrected_tail` holds.

    >>> round(cycles_tail(2.0, 1), 6)      # exp(−2)
    0.135335
    """
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    values = np.asarray(x, dtype=float)
    if not bool(np.all(values > 0)):
        raise refuse("x", "a number above 0, or an array of them", x)
    found = mixture_tail(np.minimum(values, 1e100).ravel(), _degrees(np.array([float(t)])))[0].reshape(values.shape)
    return float(found) if values.ndim == 0 else found


def cycles_quantile(level: float, t: int) -> float:
    """The x at which `cycles_tail` is `level` (σ = 1). It grows as √(log t), where Proposition 1 prints log t.

    >>> round(cycles_quantile(0.001, 1000), 2)
    6.73
    """
    level = number("level", level, low=SMALLEST_LEVEL, below=1.0)
    t = whole("t", t, low=1, high=LARGEST_COUNT)
    return float(_quantiles(level, np.array([float(t)]))[0])


def cycles_closed_form(level: float, t: int) -> float:
    """√(2 H_t) + √(2 log(1/level)), an upper bound on `cycles_quantile` for every t.

    >>> round(cycles_closed_form(0.001, 1000), 2)
    7.59
    """
    level = number("level", level, above=0.0, high=1.0)
    return math.sqrt(2.0 * harmonic(whole("t", t, low=1))) + math.sqrt(-2.0 * math.log(level))


def cycles_table(horizon: int, level: float) -> tuple[Floats, Floats]:
    """(counts, quantiles) for `cone_radius`, which looks a radius up: at 1 .. 64, then 5% apart up to `horizon`.

    >>> counts, quantiles = cycles_table(1000, 0.001)
    >>> int(counts[-1]), round(float(quantiles[-1]), 2)
    (1000, 6.73)
    """
    horizon = whole("horizon", horizon, low=1, high=LARGEST_COUNT)
    level = number("level", level, low=SMALLEST_LEVEL, below=1.0)
    grid = table_counts(horizon)
    # Neighbouring quantiles may differ by less than the solver's last digit: keep them in order.
    return grid, np.maximum.accumulate(_quantiles(level, grid))


def _quantiles(level: float, counts: Floats) -> Floats:
    high = np.array([cycles_closed_form(level, int(t)) for t in counts])
    return mixture_quantiles(level, _degrees(counts), high)
