"""Theorem 4, the regret of Algorithm 2 (epsilon-greedy), which does not grow with T."""

import math
from collections.abc import Sequence

from apportion._common.distributions import zeta
from apportion._common.validation import choice, number
from apportion.theory.inputs import exponential, gaps_of, setting


def greedy_exponent(b: float, epsilon: float | None = None) -> float:
    """α = 1 + ε/(2 − 2b), the power of t at which Algorithm 2 lets the other shares fall; 2 at b = 1.

    Needs b > 1/2 and ε in (0, 2b − 1), so that 1 < α < 1/(2 − 2b); None takes the middle, b − 1/2. At b
    = 1 every finite α > 1 does, and ε is not used.

    >>> greedy_exponent(0.75, 0.25), greedy_exponent(1.0)
    (1.5, 2.0)
    """
    b = number("b", b, above=0.5, high=1.0)
    epsilon = _epsilon(b, epsilon)
    return 2.0 if b == 1 else 1 + epsilon / (2 - 2 * b)


def small_epsilon(b: float) -> float:
    """(2b − 1)/10, a tenth of the allowed range: what `EpsilonGreedy` takes where no ε is given.

    >>> small_epsilon(0.75)
    0.05
    """
    return 0.1 * (2.0 * b - 1.0)


def _epsilon(b: float, epsilon: float | None) -> float:
    return b - 0.5 if epsilon is None else number("epsilon", epsilon, above=0.0, below=2 * b - 1)


def greedy_regret_bound(
    means: Sequence[float], b: float, epsilon: float | None = None, sigma: float = 1.0, form: str = "corrected"
) -> float:
    """Theorem 4, a bound on the regret of Algorithm 2 that does not grow with T: a sum over gaps Δ_i > 0.

    With g = 1 − α (2−2b), which is 2b − 1 − ε (1 at b = 1), and m = ceil(1/(2b − 1 − ε)):

    * `printed`: Δ_i [2(1−b+ε)/(K ε) + 2^(m+4) + 8 (16 σ² K^(2−2b) m / D_i²)^m]. The paper's sums
      include the best arm, which makes them infinite; here they do not.
    * `corrected`: Δ_i [ζ(α)/K + 2 Γ(1 + 1/g) a^(−1/g)], a = D_i² / (16 σ² K^(2−2b)).
    * `sharp`: the same with 8 for 16, since the sum of s^(1−g) over s ≤ t is at most t^(2−g), not twice
      that.
    * `information`, for a leader by the information-weighted mean: Δ_i [ζ(α)/K + 2 I],
      I = integral from 1 of exp(−c (s^g − 1)) ≤ e^c Γ(1 + 1/g) c^(−1/g), and ≤ (1/g)/(c + 1 − 1/g)
      where that is positive; c = D_i² / (8 σ² g K^(2−2b)).

    Sub-Gaussian noise, b in (1/2, 1], ε in (0, 2b − 1). A guarantee, not a forecast: real regret is far
    smaller.

    >>> f"{greedy_regret_bound([0.5, 0.0], b=0.75, epsilon=0.25):.3g}"
    '1.61e+09'
    """
    form = choice("form", form, ("printed", "corrected", "sharp", "information"))
    gaps = gaps_of(means)
    alpha = greedy_exponent(b, epsilon)
    epsilon = _epsilon(b, epsilon)
    noise = 2 * math.log(number("sigma", sigma, above=0.0)) + (2 - 2 * b) * math.log(len(gaps))
    rest = 2 * b - 1 - epsilon
    g = 1.0 if b == 1 else rest
    exploring = float(zeta(alpha)) / len(gaps)
    total = 0.0
    for gap in gaps:
        if gap <= 0:
            continue
        squared = 2 * math.log(gap) - noise  # log(D² / (σ² K^(2−2b)))
        if form == "printed":
            m = math.ceil(1 / rest - 1e-9)  # 1/0.4999999999999998 must not become 3
            cost = 2 * (1 - b + epsilon) / (len(gaps) * epsilon) + exponential((m + 4) * math.log(2))
            log_wrong = math.log(8) + m * (math.log(16 * m) - squared)
        elif form == "information":
            cost, c = exploring, exponential(squared - math.log(8 * g))
            log_wrong = math.log(2) + c + math.lgamma(1 + 1 / g) - (squared - math.log(8 * g)) / g
            room = c + 1 - 1 / g
            if room > 0:
                log_wrong = min(log_wrong, math.log(2 / g) - math.log(room))
        else:
            spread = math.log(16 if form == "corrected" else 8) - squared
            cost, log_wrong = exploring, math.log(2) + math.lgamma(1 + 1 / g) + spread / g
        total += gap * cost + exponential(math.log(gap) + log_wrong)
    return total


def greedy_worst_case_bound(
    arms: int, horizon: int, b: float, epsilon: float | None = None, sigma: float = 1.0, max_gap: float = 1.0
) -> float:
    """Theorem 4 over all gaps up to D: D ζ(α) + min(D T, (1 + 1/n) T (n Λ/T)^(1/(n+1))), of order T^(1 − g/2).

    g = 1 − α (2−2b), n = 2/g − 1, Λ = 2 (K−1) Γ(1 + 1/g) (8 σ² K^(2−2b))^(1/g): arms with gaps up to x cost x T, the
    others Λ x^(−n), for the best x. In K it grows as K^((1−ε)/2), where the paper prints K^(b − 1/2). Sub-Gaussian
    noise, b in (1/2, 1], a leader by the mean of ratios.

    >>> rates = [greedy_worst_case_bound(5, 10**power, b=0.9, epsilon=0.08, max_gap=1e9) for power in (200, 201)]
    >>> round(math.log10(rates[1] / rates[0]), 6)      # 1 − 0.72/2
    0.64
    """
    arms, horizon, b, sigma = setting(arms, horizon, b, sigma, low=0.5)
    alpha = greedy_exponent(b, epsilon)
    gap = number("max_gap", max_gap, low=0.0)
    if arms == 1:
        return 0.0
    g = 1.0 if b == 1 else 2 * b - 1 - _epsilon(b, epsilon)
    n, log_t = 2 / g - 1, math.log(horizon)
    log_scale = math.log(8) + 2 * math.log(sigma) + (2 - 2 * b) * math.log(arms)
    log_cost = math.log(2 * (arms - 1)) + math.lgamma(1 + 1 / g) + log_scale / g
    least = exponential(math.log1p(1 / n) + log_t + (math.log(n) + log_cost - log_t) * g / 2)
    return gap * float(zeta(alpha)) + min(gap * horizon, least)
