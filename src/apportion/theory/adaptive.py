"""Upper bounds on the regret of `AdaptiveElimination`, of both kinds; the proofs are in docs/theory.md.

Throughout β = 2 − 2b, L_t = 2 log(K (t+1)), c the scale of the radii r_i = c σ √(L_t / B_i), and
p_t = `race_failure_probability`, a bound on the chance that a radius fails in the second half of periods 1..t.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from apportion._common.distributions import zeta
from apportion._common.validation import choice, number, refuse, whole
from apportion.theory.floors import floor_exponent, stretched_tail
from apportion.theory.inputs import exponential, gaps_of

_SUMMED = 4096  # so many periods are added one by one
_CONSTANTS = {"leader": (16.0, 48.0), "even": (64.0, 16.0)}


def race_failure_probability(t: int, arms: int, b: float, scale: float = 1.0) -> float:
    """p_t ≥ P(some |μ*_i − μ_i| > r_i in one of the periods t/2 .. t), any predictable shares, period 1 even.

    p_t = min(1, 2 K √e N exp(−x)), x = c² log(K (t+2)/2), with N = ceil(log((t−1) K^(2−2b)) / (4 log(1 +
    1/√(2x)))) slices of the range of B, at least 1. Sub-Gaussian noise, t ≥ 2. For c = 1 it is of order
    log(t)^1.5 / t: the sum over t is finite only for c > 1, that over t = 2, 4, 8, … always
    (`later_failure_probability`).

    >>> round(race_failure_probability(100_000, arms=5, b=0.75), 5)
    0.00112
    """
    t = whole("t", t, low=2)
    arms = whole("arms", arms, low=2)
    b, scale = number("b", b, low=0.0, high=1.0), number("scale", scale, above=0.0)
    return float(_failures(np.array([float(t)]), arms, 2 - 2 * b, scale)[0])


def later_failure_probability(after: int, arms: int, b: float, scale: float = 1.0) -> float:
    """min(1, p_2n + p_4n + p_8n + …) ≥ P(some radius fails in a period at or after n), any predictable shares.

    The windows t/2 .. t of t = 2n, 4n, … cover all periods from n on. It tends to 0 as n grows for every scale c > 0:
    almost surely only finitely many radii fail. Conditions as for `race_failure_probability`.

    >>> [round(later_failure_probability(10**power, arms=5, b=0.75), 6) for power in (3, 6, 9)]
    [0.074284, 0.000167, 0.0]
    """
    log_t = math.log(whole("after", after, low=1))
    arms = whole("arms", arms, low=2)
    b, scale = number("b", b, low=0.0, high=1.0), number("scale", scale, above=0.0)
    total = term = 0.0
    while total == 0.0 or (total < 1.0 and term > 1e-18 * total):
        log_t += math.log(2)
        x = scale * scale * (math.log(arms / 2) + log_t + math.log1p(2 * math.exp(-log_t)))
        slices = float(_slices(np.array([log_t]), arms, 2 - 2 * b, scale)[0])
        term = 2 * arms * math.exp(0.5 - x) * slices
        total += term
        if term == 0.0:
            break
    return min(1.0, total)


def _slices(log_t: NDArray[np.float64], arms: int, beta: float, scale: float) -> NDArray[np.float64]:
    """N at t = exp(log_t), with log t for log(t-1): never fewer."""
    x = scale * scale * (math.log(arms / 2) + log_t + np.log1p(2 * np.exp(-log_t)))
    slices = np.ceil((log_t + beta * math.log(arms)) / (4 * np.log1p(1 / np.sqrt(2 * x))))
    return np.asarray(np.maximum(slices, 1.0), dtype=float)


def _failures(t: NDArray[np.float64], arms: int, beta: float, scale: float) -> NDArray[np.float64]:
    x = scale * scale * np.log(arms * (t + 2) / 2)
    slices = np.ceil((np.log(t - 1) + beta * math.log(arms)) / (4 * np.log1p(1 / np.sqrt(2 * x))))
    log_bound = math.log(2 * arms) + 0.5 + np.log(np.maximum(slices, 1.0)) - x
    return np.asarray(np.exp(np.minimum(log_bound, 0.0)), dtype=float)


def _failure_sum(log_end: float, arms: int, beta: float, scale: float) -> float:
    """Sum of p_t over t = 2 .. exp(log_end): one by one, then an upper bound by blocks that grow with log t."""
    last = _SUMMED if log_end > math.log(_SUMMED) else round(math.exp(log_end))
    total = float(np.sum(_failures(np.arange(2.0, last + 1), arms, beta, scale)))
    if log_end <= math.log(_SUMMED):
        return total
    # (t+2)^(−p) is below the integral of s^(−p) over (t, t+1), so the blocks' ends need not be whole numbers.
    power = scale * scale
    first, end = math.log(_SUMMED + 1), log_end + math.log1p(math.exp(-log_end))
    edges = [first]
    while edges[-1] < end:
        edges.append(min(end, max(edges[-1] + 0.1, 1.01 * edges[-1])))
    u = np.array(edges)
    counts = np.diff(u) if power == 1 else np.exp((1 - power) * u[:-1]) * np.expm1((1 - power) * np.diff(u))
    if power != 1:
        counts = counts / (1 - power)
    heights = 2 * arms * math.exp(0.5) * (2 / arms) ** power * _slices(u[1:], arms, beta, scale)
    return total + float(np.sum(heights * counts))


def adaptive_regret_bound(
    means: Sequence[float] | None = None,
    *,
    b: float,
    horizon: int | None = None,
    sigma: float = 1.0,
    scale: float = 1.0,
    floor: float | None = None,
    split: str = "even",
    kind: str = "gaps",
    arms: int | None = None,
    max_gap: float | None = None,
) -> float:
    """An upper bound on the expected regret of `AdaptiveElimination` after T periods (None: for ever).

    With Δ_i the gaps, D their mean over all K arms, d the smallest positive and M the largest one, F = Σ over
    t ≤ T of t^(−α) (1 where there is no floor), P(T) = p_2 + … + p_T:

    * `kind="gaps"`, `split="leader"`: D F + c² σ² K^(2−2b) L_T [16/d + (48/K) Σ 1/Δ_i] + M P(T)
    * `kind="gaps"`, `split="even"`: D F + K D + c² σ² L_T [64 K^(2−2b)/d + 16 Σ 1/Δ_i] + M P(T)
    * `kind="worst"`, `split="leader"`: D F + 4 (1 + √2) c σ K^(1−b) √(T L_T) + M P(T)
    * `kind="worst"`, `split="even"`: D F + 2 K D + 4 √2 c σ K^(1−b) √(T L_T)
      + 2 c σ √((K−1) T L_T log2 T) + M P(T)
    * `kind="worst"`, b = 1 with a floor, either split: D F + 8 c σ √(T L_T) + M P(T)

    With a floor 1 < α < 1/(2−2b), `gaps` stops growing at a period τ where the floor alone has told the arms
    apart: T becomes τ and Σ_i 2 Δ_i τ exp(−a_i (τ^g − 1)/g)/(a_i τ^g − 1 + g) is added,
    a_i = D_i²/(32 σ² K^(2−2b)), g = 1 − α (2−2b). `worst` reads M alone: give `means`, or `arms` and
    `max_gap`. Sub-Gaussian noise, b in [1/2, 1]; the policy must know b and σ (or overstate σ, and then the
    bound takes the overstated one). Says nothing useful for c well below 1, where P(T) grows as T^(1 − c²).

    >>> round(adaptive_regret_bound([0.5, 0, 0, 0, 0], b=0.75, split="leader"))
    18881
    >>> round(adaptive_regret_bound(arms=10, max_gap=1, b=0.75, horizon=10**8, split="leader", kind="worst"))
    1107354
    """
    kind = choice("kind", kind, ("gaps", "worst"))
    constants = _CONSTANTS[choice("split", split, tuple(_CONSTANTS))]
    b = number("b", b, low=0.5, high=1.0)
    sigma, scale = number("sigma", sigma, above=0.0), number("scale", scale, above=0.0)
    gaps = _gaps(means, kind, arms, max_gap)
    k, beta = len(gaps), 2 - 2 * b
    alpha = floor_exponent(b) if floor is None else number("floor", floor, low=0.0)
    if 0 < alpha <= 1:
        raise refuse("floor", "0 for none, or a number above 1, which has a finite cost", alpha)
    growing = alpha == 0 or alpha * beta >= 1
    if horizon is None:
        if kind == "worst" or growing:
            raise refuse("horizon", "given where the bound grows with it", horizon)
        end = math.inf
    else:
        end = math.log(whole("horizon", horizon, low=1))
    if max(gaps) == 0:
        return 0.0
    start = math.fsum(gaps) / k * _floor_sum(alpha, horizon)
    width = 2 * math.log(sigma) + 2 * math.log(scale) + beta * math.log(k)  # log(c² σ² K^β)
    if kind == "worst":
        return start + _worst(gaps, end, split, width, beta, scale, seen_in_full=beta == 0 and alpha > 0)
    positive = [gap for gap in gaps if gap > 0]
    rest = math.fsum(gaps) if split == "even" else 0.0

    def until(log_t: float) -> float:
        each = math.fsum(exponential(width - math.log(gap)) for gap in positive)
        each *= 1 / k if split == "leader" else math.pow(k, -beta)
        main = constants[0] * exponential(width - math.log(min(positive))) + constants[1] * each
        return main * _log_width(log_t, k) + max(gaps) * _failure_sum(log_t, k, beta, scale)

    found = math.inf if end == math.inf else until(end)
    if not growing:
        cut = _settled(min(positive), width, scale, k, 1 - alpha * beta)
        if cut < end:
            # a_i has σ but not c in it
            shift = 2 * math.log(scale) - width - math.log(32)
            tails = [stretched_tail(2 * math.log(gap) + shift, 1 - alpha * beta, cut) for gap in positive]
            late = math.fsum(exponential(math.log(2 * gap) + tail) for gap, tail in zip(positive, tails))
            found = min(found, until(cut) + late)
    return start + rest + found


def _gaps(means: Sequence[float] | None, kind: str, arms: int | None, max_gap: float | None) -> tuple[float, ...]:
    if means is None:
        if kind == "gaps":
            raise refuse("means", "given for a bound that depends on the gaps", means)
        gap = number("max_gap", max_gap, low=0.0)
        return (0.0, *(gap for _ in range(whole("arms", arms, low=1) - 1)))
    if arms is not None or max_gap is not None:
        raise refuse("arms", "left out when `means` are given, and so must `max_gap`", (arms, max_gap))
    return gaps_of(means)


def _log_width(log_t: float, arms: int) -> float:
    """L_t."""
    return 2 * (math.log(arms) + log_t + math.log1p(math.exp(-log_t)))


def _floor_sum(alpha: float, horizon: int | None) -> float:
    if alpha == 0:
        return 1.0
    return float(zeta(alpha) if horizon is None else zeta(alpha) - zeta(alpha, horizon + 1))


def _worst(
    gaps: tuple[float, ...], end: float, split: str, width: float, beta: float, scale: float, *, seen_in_full: bool
) -> float:
    """The gap-independent bound without what the floors cost."""
    k = len(gaps)
    root = 0.5 * (width + end + math.log(_log_width(end, k)))  # log of c σ K^(1−b) √(T L_T)
    fails = max(gaps) * _failure_sum(end, k, beta, scale)
    if seen_in_full:  # b = 1 and a floor: every share is positive and tells all
        return fails + 8 * exponential(root)
    if split == "leader":
        return fails + 4 * (1 + math.sqrt(2)) * exponential(root)
    pooled = (k - 1) * math.pow(k, -beta) * end / math.log(2)
    return fails + 2 * math.fsum(gaps) + (4 * math.sqrt(2) + 2 * math.sqrt(pooled)) * exponential(root)


def _settled(gap: float, width: float, scale: float, arms: int, g: float) -> float:
    """log tau: from tau on (t^g - 1)/g >= 16 c^2 sigma^2 K^beta 2 log(2Kt)/gap^2, and a tau^g >= 1."""
    log_factor = math.log(16) + width - 2 * math.log(gap)

    def short(u: float) -> bool:
        gained = math.log(math.expm1(g * u) / g) if g * u < 700 else g * u - math.log(g)
        return gained < log_factor + math.log(2 * (u + math.log(2 * arms)))

    low, high = 1e-9, 1.0
    while short(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if short(middle) else (low, middle)
    log_inverse_a = math.log(32) + width - 2 * math.log(scale) - 2 * math.log(gap)
    found = max(high, log_inverse_a / g)
    return math.log(math.ceil(math.exp(found))) if found < 36 else found
