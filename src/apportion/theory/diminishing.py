"""Diminishing returns, Y = μ·A^c + σ·A^b·ξ with c < 1: what not knowing the means costs, and a wrong c.

Beyond the paper, whose law is c = 1. The optimal split and its value are in `apportion.model.response`. Where every
arm is played near its optimum, a period costs the square of the errors, whose variance falls as 1/t: regret is
C*·log T. Budgets are one unit a period.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from apportion._common.validation import number, refuse, whole
from apportion.model.response import best_shares, best_value
from apportion.theory.inputs import exponential, noise_scales, numbers


def bent_constant(means: Sequence[float], b: float, sigma: float | Sequence[float], c: float) -> float:
    """C* = c / (2 (1−c) V) Σ σ_i² (1 − a_i) a_i^(2b−1): the coefficient of log T in the regret of the best policies.

    a is the optimal split, V its value; σ is a number, or one per arm. Gaussian noise, all μ_i > 0, 0 ≤ b ≤ c < 1.
    The optimum of the estimates has C* log T + O(1) where they are projected on a known box of positive means, or
    every arm keeps a floor t^(−α)/K, α (2c−2b) < 1 (without either: `lockout_regret`); Theorem E of docs/theory.md.
    Over a neighbourhood of the means no policy is better: Theorem F. As c → 1 the asymptotics begin later and later,
    and C* goes to 0 (b > 1/2 and one best arm) or grows without limit (else). For b > c a tiny amount tells without
    limit, and C* is not the constant; at c = 1 see `asymptotic_lower_bound`.

    >>> round(bent_constant([1.0, 0.5, 0.5, 0.5, 0.5], b=0.5, sigma=1.0, c=0.5), 6)      # √2
    1.414214
    """
    values = _positive(means)
    c = _diminishing("c", c, "C* is of diminishing returns; for c = 1 there is `asymptotic_lower_bound`")
    b = number("b", b, low=0.0, high=1.0)
    if b > c:
        raise refuse("b", f"at most c = {c:g}, as above it tiny amounts tell without limit, and C* is not for it", b)
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
    conditions are those of `bent_constant`, and the statement is local: while shares are near the optimum (Theorem G
    of docs/theory.md).

    >>> [round(wrong_exponent_factor(0.5, believed), 2) for believed in (0.5, 0.7, 0.8, 0.9)]
    [1.0, 1.19, 1.56, 2.78]
    """
    c = _diminishing("c", c, "C* is of diminishing returns")
    believed = number("believed", believed, above=0.0, high=1.0)
    if believed == 1.0:
        return math.inf
    ratio = (1 - c) / (1 - believed)
    return ratio * (ratio / (2 * ratio - 1)) if ratio > 0.5 else math.inf


class Transitions(NamedTuple):
    """The three values of b at which the law Y = μ·A^c + σ·A^b·ξ changes its nature."""

    interior: float
    losing_arms: float
    exploring: float


def transitions(c: float) -> Transitions:
    """(1/2, c/2, c − 1/2): the one transition of the paper, b = 1/2 at c = 1, is three at c < 1. For 0 ≤ b ≤ c.

    * `interior`, b = 1/2: what a small arm adds to C*, σ² a^(2b−1), vanishes with its share above, explodes below.
    * `losing_arms`, b = c/2: above, a floor finds out arms with μ < 0 at a cost of O(1); at and below, they cost at
      least `losing_arms_constant` · log T.
    * `exploring`, b = c − 1/2: above, all arms are learned fastest by dividing every period, below by taking turns.

    >>> transitions(1.0), transitions(0.8).losing_arms
    (Transitions(interior=0.5, losing_arms=0.5, exploring=0.5), 0.4)
    """
    c = number("c", c, above=0.0, high=1.0)
    return Transitions(0.5, c / 2, c - 0.5)


def losing_arms_constant(means: Sequence[float], b: float, sigma: float | Sequence[float], c: float) -> float:
    """Σ over μ_i < 0 of 2 σ_i² / |μ_i|: liminf R / log T is at least that, for b ≤ c/2 and every consistent policy.

    Gaussian noise, c < 1, at least one μ_i > 0; consistent: R = o(T^p) on every instance with a positive mean, for
    every p > 0. For c/2 < b ≤ c it is false: a floor t^(−α)/K, 1/c < α < 1/(2c−2b), makes such arms cost O(1).

    >>> losing_arms_constant([1.0, -0.5, -2.0], b=0.2, sigma=1.0, c=0.6)
    5.0
    """
    values = numbers("means", means)
    if max(values) <= 0.0:
        raise refuse("means", "at least one above 0", list(values))
    c = _diminishing("c", c, "for c = 1 there is `asymptotic_lower_bound`")
    b = number("b", b, low=0.0)
    if b > c / 2:
        raise refuse("b", f"at most c/2 = {c / 2:g}, as above it a floor makes losing arms cost O(1)", b)
    scales = noise_scales(sigma, len(values))
    return math.fsum(2 * scale * (scale / -mean) for mean, scale in zip(values, scales) if mean < 0.0)


def lockout_regret(means: Sequence[float], b: float, sigma: float | Sequence[float], c: float, horizon: int) -> float:
    """A lower bound, linear in T, on the regret of the optimum of the estimates without projection or floor.

    (T − 1) max_i (V − V_{−i}) Φ(−z_i) (1 − Π_{j≠i} Φ(−z_j)), z_i = μ_i K^(b−c)/σ_i: arm i's first estimate is not
    positive, another's is, and arm i is never seen again; V_{−i} is the value without it. Gaussian noise, an even
    first period, arms without a positive estimate get nothing, and where none is positive the last split stays.

    >>> round(lockout_regret([1.0, 0.5], b=0.5, sigma=1.0, c=0.5, horizon=10_001))
    678
    """
    values = _positive(means)
    c = _diminishing("c", c, "at c = 1 the best arm gets all")
    b, horizon = number("b", b, low=0.0, high=1.0), whole("horizon", horizon, low=1)
    scales = noise_scales(sigma, len(values))
    worth = best_value(values, c, 1.0)
    scaled = [mean / scale * math.pow(len(values), b - c) for mean, scale in zip(values, scales)]
    below = [0.5 * math.erfc(z / math.sqrt(2)) for z in scaled]
    found = [0.0]
    for arm in range(len(values) if len(values) > 1 else 0):
        others = values[:arm] + values[arm + 1 :]
        seen = 1.0 - math.prod(below[:arm] + below[arm + 1 :])
        found.append((worth - best_value(others, c, 1.0)) * below[arm] * seen)
    return (horizon - 1) * max(found)


def exponent_lower_bound(
    means: Sequence[float], b: float, sigma: float | Sequence[float], c: float, horizon: int
) -> float:
    """A bound of order √T on the regret of every policy that does not know a c_i for each arm.

    max over arms of min(√(D T/(2 G)), D δ₀² T/2), with a the arm's optimal share, h = c − b, δ₀ = min(c, (1−c)/2),
    k = 1/(2c(1−c)(1/a + 2/(1−a))), D = c(1−c)μk²/(32e), L = max(a^(h−1) max(√2, 2/(eh)), a^(−2)),
    G = μL²/(σ²c(1−c)): the larger of the regrets on this instance and on one that differs in one arm alone,
    μ A^c (A/a)^δ for μ A^c with some 0 < δ ≤ δ₀, is at least that. Gaussian noise, all μ_i > 0, 0 ≤ b < c < 1, two
    arms or more. The rate √T is that of the best policies; the constant is far from sharp.

    >>> bounds = [exponent_lower_bound([1.0, 1.0], 0.2, 1.0, 0.5, horizon) for horizon in (10**8, 10**10)]
    >>> round(bounds[1] / bounds[0], 6)
    10.0
    """
    values = _positive(means)
    c = _diminishing("c", c, "at c = 1 the best arm gets all")
    if len(values) < 2:
        raise refuse("means", "those of two arms or more", list(values))
    b, horizon = number("b", b, low=0.0, below=c), whole("horizon", horizon, low=1)
    scales = noise_scales(sigma, len(values))
    shares, _ = _optimum(values, c)
    h, most = c - b, min(c, (1 - c) / 2)
    found = 0.0
    for a, mean, scale in zip(shares, values, scales):
        if 0.0 < a < 1.0:
            moved = 1 / (2 * c * (1 - c) * (1 / a + 2 / (1 - a)))
            slope = max(math.pow(a, h - 1) * max(math.sqrt(2), 2 / (math.e * h)), 1 / a / a)
            lost = c * (1 - c) * mean * moved**2 / (32 * math.e)
            # √(D/(2G)) without the squares of `slope`, which may be too large for a float
            rate = math.sqrt(lost * c * (1 - c) / (2 * mean)) * scale / slope
            found = max(found, min(rate * math.sqrt(horizon), lost * most**2 * horizon / 2))
    return found


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
