"""Lemma 2: how large the sum of root variances can be over the stopping times of successive elimination.

The paper bounds it by K^(1−b) √(T / (2 − 2b)) and says that the best stopping times have no closed form;
both the maximum and where it is reached are in closed form here, also for shares in proportion to weights.
"""

import math
from collections.abc import Sequence

import numpy as np

from apportion._common.validation import number, refuse, whole
from apportion.model.sums import Floats
from apportion.theory.inputs import numbers


def _steps(weights: Floats, b: float) -> tuple[Floats, Floats]:
    """W_i = w_1 + … + w_i, and (W_i^(2b) − W_(i−1)^(2b)) / W_i^(2b) without cancellation."""
    sums = np.cumsum(weights)
    with np.errstate(divide="ignore"):  # before the first there is nothing: log 0
        return sums, np.asarray(-np.expm1(2 * b * np.log1p(-weights / sums)))


def stopping_time_constant(arms: int | Sequence[float], b: float) -> float:
    """C(K, b) = Σ over x ≤ K of 1/(x^(2b) − (x−1)^(2b)), b in [1/2, 1].

    K at b = 1/2, at most K^(2−2b)/(2−2b), and about (log K)/2 + 0.98 at b = 1.

    With a weight w_i per arm for `arms`, in proportion to which active arms share: Σ w_i²/(W_i^(2b) − W_(i−1)^(2b)),
    w_1 ≤ w_2 ≤ …, W_i = w_1 + … + w_i; at most W_K^(2−2b)/(2−2b). Weights of 1 are C(K, b).

    >>> stopping_time_constant(7, 0.5), round(stopping_time_constant(1000, 1.0), 3)
    (7.0, 4.436)
    >>> stopping_time_constant([1.0, 2.0], 1.0)      # 1/1 + 4/(9 − 1)
    1.5
    """
    b = number("b", b, low=0.5, high=1.0)
    weights = np.sort(numbers("arms", arms)) if isinstance(arms, Sequence) else np.ones(whole("arms", arms, low=1))
    if weights[0] <= 0.0:
        raise refuse("arms", "a whole number, or a weight above 0 for each arm", arms)
    sums, steps = _steps(weights, b)
    return float(np.sum((weights / sums) ** 2 * sums ** (2 - 2 * b) / steps))


def stopping_time_maximum(arms: int, horizon: float, b: float) -> float:
    """Lemma 2, exactly: the largest sum of √(Σ over s ≤ τ_i of A_si^(2b)) over arms: √(T C(K, b)).

    Over real stopping times 0 ≤ τ_1 ≤ … ≤ τ_K = T of successive elimination, A = 1/(arms still
    active).

    >>> round(stopping_time_maximum(3, 40, 0.75), 5)
    8.87528
    """
    horizon = number("horizon", horizon, above=0.0)
    return math.sqrt(horizon) * math.sqrt(stopping_time_constant(arms, b))


def stopping_time_printed_bound(arms: int, horizon: float, b: float) -> float:
    """Lemma 2 as printed: K^(1−b) √(T / (2 − 2b)); infinite at b = 1, where the maximum is finite.

    >>> round(stopping_time_printed_bound(3, 40, 0.75), 3)
    11.771
    """
    arms = whole("arms", arms, low=1)
    horizon = number("horizon", horizon, above=0.0)
    b = number("b", b, low=0.5, high=1.0)
    return math.inf if b == 1 else math.pow(arms, 1 - b) * math.sqrt(horizon / (2 - 2 * b))


def stopping_time_maximiser(arms: int, horizon: float, b: float) -> Floats:
    """The stopping times that reach `stopping_time_maximum`: non-decreasing, the last one T.

    τ_i = Σ over j ≤ i of (K−j+1)^(2b) (c_j² − c_{j−1}²), c_i = λ/d_i², d_i² = (K−i+1)^(2b) -
    (K−i)^(2b), λ = √(T/C).

    >>> [round(float(x), 3) for x in stopping_time_maximiser(3, 40.0, 0.75)]
    [18.827, 25.764, 40.0]
    """
    horizon = number("horizon", horizon, above=0.0)
    constant = stopping_time_constant(arms, b)
    sums, steps = _steps(np.ones(arms), number("b", b, low=0.5, high=1.0))
    levels = (1 / (sums ** (2 * b) * steps)[::-1]) ** 2
    active = np.arange(arms, 0, -1, dtype=float)
    taus = np.cumsum(active ** (2 * b) * np.maximum(np.diff(levels, prepend=0.0), 0.0)) / constant * horizon
    taus[-1] = horizon
    return np.minimum(taus, horizon)


def stopping_time_sum(taus: Sequence[float] | Floats, b: float) -> float:
    """The sum of Lemma 2 for given last active periods, one per arm, in any order.

    >>> round(stopping_time_sum([19, 26, 40], 0.75), 5)
    8.87519
    """
    ends = np.sort(np.array(numbers("taus", taus, low=0.0)))
    b = number("b", b, low=0.0, high=1.0)
    active = np.arange(len(ends), 0, -1, dtype=float)
    return float(np.sum(np.sqrt(np.cumsum(np.diff(ends, prepend=0.0) * active ** (-2 * b)))))
