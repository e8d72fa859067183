"""What a floor under every share is worth: finite regret for b > 1/2; the proof is in docs/theory.md.

A floor t^(−α)/K with 1 < α < 1/(2−2b) costs a finite amount of resource, while the information about every
arm grows without end, so that a wrong leader is found out.
"""

import math
from collections.abc import Sequence

from apportion._common.compiled import kernel
from apportion._common.distributions import zeta
from apportion._common.validation import number, refuse
from apportion.theory.inputs import exponential, gaps_of

# Where b nears 1, κ = 1/(2−2b) grows without bound; from here on it is as good as infinite.
LARGEST_KAPPA = 10.0


@kernel
def kappa(b: float) -> float:
    """1/(2-2b), capped: information A^(2-2b) flows in proportion to p when shares go as p^kappa."""
    return LARGEST_KAPPA if b >= 1.0 else min(1.0 / (2.0 - 2.0 * b), LARGEST_KAPPA)


@kernel
def recommended_floor(b: float) -> float:
    """`floor_exponent` for policies, which run it compiled with a b they learned: nothing is checked."""
    return (1.0 + kappa(b)) / 2.0 if b > 0.5 else 0.0


def floor_exponent(b: float) -> float:
    """α = (1 + κ)/2, κ = min(1/(2−2b), 10): the floor t^(−α)/K of our policies.

    Between 1 (finite cost) and 1/(2−2b) (unbounded information) for b > 1/2; 0, no floor, at b ≤ 1/2.

    >>> floor_exponent(0.75), floor_exponent(1.0), floor_exponent(0.5)
    (1.5, 5.5, 0.0)
    """
    return recommended_floor(number("b", b, low=0.0, high=1.0))


def floor_regret_bound(
    means: Sequence[float], b: float, sigma: float = 1.0, floor: float | None = None, rival: float = 1.0
) -> float:
    """A bound, the same for all T, on the regret of `Recommended`, `Odds`, `Maillard` and `Matching` for b > 1/2.

    Sum over gaps Δ_i > 0 of Δ_i [ζ(α)/K + (2 + rival) I_i], I_i = integral from 1 of exp(−a_i (s^g − 1)/g) ds
    ≤ min(e^(a_i/g) Γ(1 + 1/g) (g/a_i)^(1/g), 1/(a_i − 1 + g) where positive), with
    a_i = D_i²/(32 σ² (2K)^(2−2b)), g = 1 − α (2−2b).

    For any policy that splits the first period evenly, gives every arm at least t^(−α)/(2K), and an arm other
    than the leader (by the information-weighted mean) at most t^(−α)/K + rival exp(−z²/4), z the distance to
    the leader in standard deviations: `rival` is max(2-2b, 0.1) for `Recommended`, and, at a tilt of
    at least 1/2, 1 for `Odds` and `Maillard` and K^tilt for `Matching`. Sub-Gaussian noise, b and σ known. It shows
    that regret is finite and is useless as a forecast: it is of the size of Theorem 4, where the measured regret is
    that of the best policies known.

    >>> f"{floor_regret_bound([0.5, 0.0], b=0.75, rival=0.5):.3g}", f"{floor_regret_bound([9, 0], b=1.0):.3g}"
    ('5.11e+08', '15.3')
    """
    gaps = gaps_of(means)
    b = number("b", b, above=0.5, high=1.0)
    alpha = floor_exponent(b) if floor is None else number("floor", floor, above=1.0)
    rest = 1 - alpha * (2 - 2 * b)
    if rest <= 0:
        raise refuse("floor", f"above 1 and below 1/(2-2b) = {1 / (2 - 2 * b):.6g}", alpha)
    noise = 2 * math.log(number("sigma", sigma, above=0.0)) + (2 - 2 * b) * math.log(2 * len(gaps))
    times = 2 + number("rival", rival, low=0.0)
    exploring = float(zeta(alpha)) / len(gaps)
    total = 0.0
    for gap in gaps:
        if gap > 0:
            log_tail = stretched_tail(2 * math.log(gap) - math.log(32) - noise, rest)
            total += gap * exploring + exponential(math.log(times * gap) + log_tail)
    return total


def stretched_tail(log_a: float, g: float, log_start: float = 0.0) -> float:
    """The log of a bound on the integral of exp(−a (s^g − 1)/g) from exp(log_start) ≥ 1 on, 0 < g ≤ 1.

    The smaller of e^(a/g) Γ(1 + 1/g) (g/a)^(1/g), the integral from 0, and s exp(−a (s^g − 1)/g)/(a s^g − 1 + g)
    at the start, where that is positive.

    >>> math.exp(stretched_tail(0.0, 1.0))
    1.0
    """
    a, reached = exponential(log_a), exponential(log_a + g * log_start)
    if math.isinf(reached):
        return -math.inf
    found = a / g + math.lgamma(1 + 1 / g) + (math.log(g) - log_a) / g
    if reached - 1 + g > 0:
        found = min(found, log_start - (reached - a) / g - math.log(reached - 1 + g))
    return found
