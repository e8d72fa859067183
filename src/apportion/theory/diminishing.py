"""Diminishing returns, Y = μ·A^c + σ·A^b·ξ with c < 1: what not knowing the means costs, and a wrong c.

Beyond the paper, whose law is c = 1. The optimal split and its value are in `apportion.model.response`. Where every
arm is played near its optimum, a period costs the square of the errors, whose variance falls as 1/t: regret is
C*·log T. Budgets are one unit a period.
"""

import math
from collections.abc import Sequence

from apportion._common.validation import number, refuse
from apportion.model.response import best_shares, best_value
from apportion.theory.inputs import exponential, noise_scales, numbers


def bent_constant(means: Sequence[float], b: float, sigma: float | Sequence[float], c: float) -> float:
    """C* = c / (2 (1−c) V) Σ σ_i² (1 − a_i) a_i^(2b−1): the coefficient of log T in the regret of the best policies.

    a is the optimal split, V its value; σ is a number, or one per arm. Gaussian noise, all μ_i > 0, 0 ≤ b ≤ c < 1.
    The optimum of the estimates has (C* + o(1)) log T where they are projected on a known compact set of positive
    means (without, an arm can be locked out for ever), and over a neighbourhood of the means no policy is better. The
    first is checked by simulation; proofs are not on our pages yet. As c → 1 the asymptotics begin later and later.
    For b > c a tiny amount tells without limit and regret is O(1); at c = 1 see `asymptotic_lower_bound`.

    >>> round(bent_constant([1.0, 0.5, 0.5, 0.5, 0.5], b=0.5, sigma=1.0, c=0.5), 6)      # √2
    1.414214
    """
    values = _positive(means)
    c = _diminishing("c", c, "C* is of diminishing returns; for c = 1 there is `asymptotic_lower_bound`")
    b = number("b", b, low=0.0, high=1.0)
    if b > c:
        raise refuse("b", f"at most c = {c:g}, as above it regret is bounded and C* is not its constant", b)
    scales = noise_scales(sigma, len(values))
    shares, worth = _optimum(values, c)
    best = shares.index(max(shares))
    terms = []
    for arm, (mean, scale) in enumerate(zip(values, scales)):
        rest = math.fsum(shares[:arm] + shares[arm + 1 :]) if arm == best else 1.0 - shares[arm]
        # μ_i = V a_i^(1−c), so that powers of a share that is too small for a float are still known.
        power = exponential((2 * b - 1) * (math.log(mean) - math.log(worth)) / (1 - c))
        terms.append(scale * rest * power * scale if rest > 0.0 else 0.0)
    return c / (2 * (1 - c) * worth) * sum(terms)


def split_error_loss(means: Sequence[float], errors: Sequence[float], c: float) -> float:
    """c / (2 (1−c)) V Σ a_i (ε_i − ε̄)², ε̄ = Σ a_j ε_j: what the optimal split for means μ_i (1 + ε_i) loses.

    To second order in the relative errors ε, for one unit, all μ_i > 0 and c < 1. An error that is the same for all
    arms costs nothing. It is no bound: for errors that are not small the loss may be larger or smaller.

    >>> round(split_error_loss([1.0, 1.0], [0.1, -0.1], c=0.5), 6)
    0.007071
    """
    values, relative = _positive(means), numbers("errors", errors)
    c = _diminishing("c", c, "at c = 1 the best arm gets all, and small errors cost nothing or a gap")
    if len(relative) != len(values):
        raise refuse("errors", f"one for each of {len(values)} arms", relative)
    shares, worth = _optimum(values, c)
    centre = math.fsum(share * error for share, error in zip(shares, relative))
    spread = math.fsum(share * (error - centre) ** 2 for share, error in zip(shares, relative))
    return c / (2 * (1 - c)) * worth * spread


def wrong_exponent_factor(c: float, believed: float) -> float:
    """u² / (2u − 1), u = (1−c)/(1−c'): by how much believing c' for ever multiplies C*.

    At u = 1, the truth, it is 1. With c' too small the split follows the estimates too slowly: for u ≤ 1/2 regret
    outgrows log T, and the factor is infinite. So it is at c' = 1, u = ∞, where the split is of another kind. The
    conditions are those of `bent_constant`.

    >>> [round(wrong_exponent_factor(0.5, believed), 2) for believed in (0.5, 0.7, 0.8, 0.9)]
    [1.0, 1.19, 1.56, 2.78]
    """
    c = _diminishing("c", c, "C* is of diminishing returns")
    believed = number("believed", believed, above=0.0, high=1.0)
    if believed == 1.0:
        return math.inf
    ratio = (1 - c) / (1 - believed)
    return ratio * (ratio / (2 * ratio - 1)) if ratio > 0.5 else math.inf


def _optimum(means: tuple[float, ...], c: float) -> tuple[list[float], float]:
    """The optimal shares of one unit, and their value."""
    shares = [0.0] * len(means)
    best_shares(means, c, shares)
    return shares, best_value(means, c, 1.0)


def _diminishing(name: str, c: float, reason: str) -> float:
    if number(name, c, above=0.0, high=1.0) == 1.0:
        raise refuse(name, f"below 1 ({reason})", c)
    return float(c)


def _positive(means: Sequence[float]) -> tuple[float, ...]:
    return tuple(number(f"means[{arm}]", mean, above=0.0) for arm, mean in enumerate(numbers("means", means)))
