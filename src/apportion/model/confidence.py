"""How far an estimate can be from the truth: radii, and bounds on the worst monotone weighting.

Algorithm 1 gives an arm a share that only grows, and that growth is chosen after looking at the noise. What
has to be controlled is therefore a supremum, over all 0 < a_1 ≤ … ≤ a_t, of Σ(a_s ξ_s) /
√(Σ(a_s²)):

* as *printed* in Proposition 1 of the paper (false at t = 1 and t = 2, kept for study);
* *corrected*: P(sup ≥ √(h(t)) ε) ≤ t exp(−ε² / 2 σ²), any sub-Gaussian noise;
* *cone*: the exact law for Gaussian noise, in `apportion.model.cone` and offered here too;
* *cycles*: growth as √log t for every i.i.d. sub-Gaussian noise, in `apportion.model.cycles` and offered here too;
* *anytime*: needs no monotone shares, holds for all periods at once, and goes with the information-weighted
  mean.

The functions marked `kernel` are bare formulas that run plain and compiled. The others validate.
"""

import math

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import number, whole
from apportion.model import cone, cycles
from apportion.model.cone import *  # noqa: F403
from apportion.model.cycles import *  # noqa: F403
from apportion.model.sums import Floats

__all__ = [
    "anytime_interval", "anytime_radius", "anytime_rho", "corrected_quantile", "corrected_radius", "corrected_tail",
    "monotone_growth", "printed_quantile", "printed_radius", "printed_tail",
]  # fmt: skip
__all__ += cone.__all__ + cycles.__all__

_EXACT_GROWTH = 64  # to here h is summed term by term, from here on it is a series


@kernel
def _growth_series(t: float) -> float:
    x = 1.0 / (t * t)
    tail = x * (1 / 384 - x * (11 / 30720 - x * 1.777770027281746e-4))  # the next term is below 1e-18
    return 0.25 * math.log(t) + 0.9976551666267466 + tail


def _growth_table() -> Floats:
    terms = [1.0 / (math.sqrt(s) + math.sqrt(s - 1)) ** 2 for s in range(1, _EXACT_GROWTH)]
    sums = [math.fsum(terms[:s]) for s in range(_EXACT_GROWTH)]
    # The series is the last entry: no step where it takes over.
    return np.array([*sums, _growth_series(_EXACT_GROWTH)])


_GROWTH = _growth_table()


@kernel
def monotone_growth(t: float) -> float:
    """h(t) = Σ over s ≤ t of (√s − √(s−1))², which is (log t)/4 + 0.99766 + 1/(384 t²) − …

    The factor by which monotone weights chosen in hindsight widen a squared radius. Between whole counts
    (they arise when the past is forgotten) it is linear up to 64 and follows the series beyond; below 1 it is
    h(1) = 1.

    >>> round(monotone_growth(2.0), 4), round(monotone_growth(1000.0), 4)
    (1.1716, 2.7246)
    """
    x = max(float(t), 1.0)
    if x >= _EXACT_GROWTH:
        return _growth_series(x)
    below = int(x)
    return float(_GROWTH[below] + (x - below) * (_GROWTH[below + 1] - _GROWTH[below]))


@kernel
def printed_radius(t: float, horizon: float, precision: float, sigma: float) -> float:
    """2 √3 σ √(log t log T) / √R1, as Algorithm 1 prints it.

    It is 0 at t = 1, so exactly one arm survives the first period and regret is linear: for study only.

    >>> printed_radius(1.0, 1000.0, 0.2, 1.0)
    0.0
    """
    if precision <= 0.0:
        return math.inf
    logs = math.log(max(t, 1.0)) * math.log(max(horizon, 1.0))
    return 2.0 * math.sqrt(3.0) * sigma * math.sqrt(logs / precision)


@kernel
def corrected_radius(t: float, log_inverse_delta: float, precision: float, sigma: float) -> float:
    """σ √(2 h(t) log(1/δ)) / √R1, infinite while nothing is observed.

    Sub-Gaussian noise, shares that never fall. One side fails with probability at most t δ at period t;
    Algorithm 1 takes δ = T^(−4), so log(1/δ) = 4 log T. Not valid for shares that may fall.

    >>> round(corrected_radius(1.0, 4 * math.log(1000.0), 1.0, 1.0), 4)
    7.4338
    """
    if precision <= 0.0:
        return math.inf
    return sigma * math.sqrt(2.0 * monotone_growth(t) * log_inverse_delta / precision)


@kernel
def anytime_radius(information: float, log_inverse_delta: float, rho: float, sigma: float) -> float:
    """σ √((B + ρ)(log(1 + B/ρ) + 2 log(1/δ))) / B, infinite at B = 0.

    Sub-Gaussian noise, any predictable shares; both sides and all periods at once fail with probability at
    most δ, around the information-weighted mean. Fails when `rho` > 0 is chosen after seeing the data.

    >>> round(anytime_radius(100.0, math.log(20.0), 10.0, 1.0), 4)
    0.3038
    """
    if information <= 0.0:
        return math.inf
    logs = math.log1p(information / rho) + 2.0 * log_inverse_delta
    return sigma * math.sqrt((1.0 + rho / information) * (logs / information))


@kernel
def anytime_rho(information: float, log_inverse_delta: float) -> float:
    """v / (2 log(1/δ) + log(1 + 2 log(1/δ))): the ρ with the tightest `anytime_radius` at B = v.

    >>> round(anytime_rho(100.0, math.log(20.0)), 3)
    12.601
    """
    return information / (2.0 * log_inverse_delta + math.log1p(2.0 * log_inverse_delta))


def corrected_tail(x: float, t: int, sigma: float = 1.0) -> float:
    """min(1, t exp(−x² / (2 σ² h(t)))) ≥ P(sup ≥ x), for sub-Gaussian noise and every t ≥ 1.

    >>> round(corrected_tail(8.6766, 1000), 6)
    0.001
    """
    x = number("x", x, low=0.0)
    t = whole("t", t, low=1)
    scaled = x / number("sigma", sigma, above=0.0)
    return min(1.0, math.exp(min(0.0, math.log(t) - 0.5 * scaled * scaled / monotone_growth(t))))


def corrected_quantile(level: float, t: int) -> float:
    """√(2 h(t) log(t / level)): the x at which `corrected_tail` is `level` (σ = 1).

    >>> round(corrected_quantile(0.001, 1000), 2)
    8.68
    """
    level = number("level", level, above=0.0, high=1.0)
    t = whole("t", t, low=1)
    return math.sqrt(2.0 * monotone_growth(t) * (math.log(t) - math.log(level)))


def printed_tail(x: float, t: int, sigma: float = 1.0) -> float:
    """exp(−ε² / 2 σ²) with ε = x / (√(3/2) log t): Proposition 1 as printed. It is not a bound.

    False at t = 1 (log 1 = 0: it says P(sup ≥ x) = 0 for every x > 0) and at t = 2 from ε = 3.11.

    >>> printed_tail(0.1, 1)
    0.0
    """
    x = number("x", x, low=0.0)
    t = whole("t", t, low=1)
    sigma = number("sigma", sigma, above=0.0)
    if x == 0.0:
        return 1.0
    if t == 1:
        return 0.0
    scaled = x / (math.sqrt(1.5) * math.log(t) * sigma)
    return math.exp(-0.5 * scaled * scaled)


def printed_quantile(level: float, t: int) -> float:
    """√(3/2) log t √(2 log(1/level)): the x at which `printed_tail` is `level` (σ = 1).

    >>> round(printed_quantile(0.001, 1000), 1)
    31.4
    """
    level = number("level", level, above=0.0, high=1.0)
    return math.sqrt(1.5) * math.log(whole("t", t, low=1)) * math.sqrt(-2.0 * math.log(level))


def anytime_interval(
    mean: float, information: float, sigma: float = 1.0, delta: float = 0.05, rho: float = 1.0
) -> tuple[float, float]:
    """mean ∓ `anytime_radius`: covers μ at all periods at once with probability at least 1 − δ.

    For the information-weighted mean Z/B, sub-Gaussian noise, any predictable shares. `rho` must be fixed
    before the data (`anytime_rho` tunes it for the information you expect). Not valid for the other
    estimators.

    >>> low, high = anytime_interval(2.0, 100.0, rho=12.6)
    >>> round(low, 3), round(high, 3)
    (1.696, 2.304)
    """
    mean = number("mean", mean)
    information = number("information", information, low=0.0)
    sigma = number("sigma", sigma, above=0.0)
    delta = number("delta", delta, above=0.0, below=1.0)
    rho = number("rho", rho, above=0.0)
    radius = anytime_radius(information, -math.log(delta), rho, sigma)
    return mean - radius, mean + radius
