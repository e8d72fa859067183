"""The model: what a share tells (divergence lemma), the toy example, the example that led to Algorithm 2.

The divergence lemma (KL-divergence decomposition) stands in the paper's appendix, the toy example in its
problem formulation, and the example A_t = t^(−α) before Algorithm 2.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from apportion._common.validation import number, refuse, whole
from apportion.theory.inputs import exponential, numbers


class Toy(NamedTuple):
    """Variances of the mean estimate after K periods on K arms."""

    pooling: float
    dividing: float


class Precision(NamedTuple):
    """What t periods at shares s^(-alpha) add up to."""

    resource: float
    ratio_of_sums: float
    mean_of_ratios: float
    information: float


def information_rate(share: float, b: float, c: float = 1.0) -> float:
    """A^(2c − 2b), what one period at share A adds to the information about an arm; 0 at A = 0, for every b.

    Concave in A for c − b < 1/2 (divide), convex for c − b > 1/2 (pool), linear at 1/2: the phase transition, which
    for the paper's c = 1 is at b = 1/2. For b > c a smaller share tells more, without limit.

    >>> information_rate(0.25, 0.75), information_rate(0.25, 0.25, c=0.5), information_rate(0.0, 1.0)
    (0.5, 0.5, 0.0)
    """
    share = number("share", share, low=0.0)
    b = number("b", b, low=0.0, high=1.0)
    c = number("c", c, above=0.0, high=1.0)
    return 0.0 if share == 0.0 else exponential((2 * c - 2 * b) * math.log(share))


def toy_example(arms: int, b: float, sigma: float = 1.0, c: float = 1.0) -> Toy:
    """Pooling, one arm each period: σ². Dividing, 1/K to each arm each period: σ² K^(2c − 2b − 1).

    >>> toy_example(arms=4, b=1.0)
    Toy(pooling=1.0, dividing=0.25)
    """
    arms = whole("arms", arms, low=1)
    b = number("b", b, low=0.0, high=1.0)
    c = number("c", c, above=0.0, high=1.0)
    sigma = number("sigma", sigma, above=0.0)
    return Toy(sigma * sigma, sigma * sigma * math.pow(arms, 2 * c - 1 - 2 * b))


def divergence(
    information: Sequence[float], means: Sequence[float], other_means: Sequence[float], sigma: float = 1.0
) -> float:
    """KL = Σ B_i (μ_i − μ_i')² / (2 σ²), B_i the expected information (divergence lemma).

    Gaussian noise; B_i is the expectation under `means` of the sum of A^(2−2b) over periods with A > 0.

    >>> divergence([4.0, 1.0], [1.0, 0.0], [1.0, 2.0])
    2.0
    """
    weights = numbers("information", information, low=0.0)
    first, second = numbers("means", means), numbers("other_means", other_means)
    sigma = number("sigma", sigma, above=0.0)
    if not len(weights) == len(first) == len(second):
        raise refuse("other_means", f"as long as `means` and `information` ({len(first)})", len(second))
    distances = [(x - y) / sigma for x, y in zip(first, second)]
    return math.fsum(0.5 * weight * d * d for weight, d in zip(weights, distances) if weight > 0)


def unordered_growth(t: int) -> float:
    """√(t/2), the root mean square of sup over a_1, …, a_t ≥ 0 of Σ(a_s ξ_s) / √(Σ(a_s²)), where it is positive.

    Without the order a_1 ≤ … ≤ a_t the supremum is ‖max(ξ, 0)‖, which grows as √t; with it, as √(log t)
    (`apportion.model.confidence.cone_tail`). Independent symmetric noise of variance 1; its mean is at most that.

    >>> round(unordered_growth(1000), 2)
    22.36
    """
    return math.sqrt(whole("t", t, low=1) / 2)


def _power_sum(t: int, power: float) -> float:
    """Sum of s^power over s <= t: term by term to 1000, then Euler-Maclaurin (next term below 1e-16)."""
    start = min(t, 1000)
    head = math.fsum(math.pow(s, power) for s in range(1, start + 1))
    if t == start:
        return head
    log, p = math.log(t / start), power

    def rise(q: float) -> float:
        """t^q - 1000^q, also accurate for q near 0."""
        return math.pow(start, q) * math.expm1(q * log)

    integral = log if p == -1 else rise(p + 1) / (p + 1)
    return head + integral + rise(p) / 2 + p * rise(p - 1) / 12 - p * (p - 1) * (p - 2) * rise(p - 3) / 720


def example_precision(t: int, alpha: float, b: float) -> Precision:
    """The paper's example A_s = s^(−α), s ≤ t: S = ΣA, R1 = S²/ΣA^(2b), R2 = t²/ΣA^(2b−2), B.

    For 1 < α < 1/(2−2b) the resource S and R1 stay finite while R2 grows as t^(1−α(2−2b)), and so
    does the information B: why Algorithm 2 averages ratios. B is at least R1 and R2.

    >>> [round(x, 2) for x in example_precision(10_000, alpha=1.5, b=0.75)]
    [2.59, 4.6, 17.5, 36.56]
    """
    t = whole("t", t, low=1, high=10**15)
    alpha = number("alpha", alpha, low=0.0, high=5.0)
    b = number("b", b, low=0.0, high=1.0)
    resource = _power_sum(t, -alpha)
    rate = alpha * (2 - 2 * b)
    ratios = float(t) / _power_sum(t, rate) * float(t)
    return Precision(resource, resource**2 / _power_sum(t, -2 * alpha * b), ratios, _power_sum(t, -rate))
