"""Theorem 2, the regret of Algorithm 1 (successive elimination): its bound, and what the printed one does."""

import math
from collections.abc import Sequence

import numpy as np

from apportion._common import optional
from apportion._common.validation import choice, number, refuse, whole
from apportion.model.confidence import cycles_quantile, monotone_growth
from apportion.theory.inputs import gaps_of, noise_scales, setting
from apportion.theory.stopping_times import stopping_time_constant


def elimination_regret_bound(
    means: Sequence[float] | None = None,
    *,
    horizon: int,
    b: float,
    sigma: float | Sequence[float] = 1.0,
    form: str = "corrected",
    arms: int | None = None,
    max_gap: float | None = None,
) -> float:
    """Theorem 2, an upper bound on the regret of Algorithm 1 (give `means`, or `arms` and `max_gap`).

    With D the largest gap, H_K harmonic and C(K, b) of Lemma 2, for T ≥ K and b in [1/2, 1]:

    * `printed`: D + 4 √6 σ log T K^(1−b) √(T/(1−b)), b < 1. The literal algorithm violates it.
    * `repaired`: the same with D (1 + H_K); holds for the printed radius if no arm is dropped before t = 3.
    * `corrected`: D (1 + H_K) + 4 σ √(8 h(T) log T T C(K, b)), for the corrected radius at δ =
      T^(−4).
    * `cycles`: D (1 + H_K) + 4 σ q √(T C(K, b)), q the quantile of the cycle law at T and level T^(−3); i.i.d. noise.
    * `anytime`: D (1 + H_K) + 4 σ √(2 [2 log(KT) + log(1 + T K^(2−2b))] T C(K, b)), for the anytime
      radius with ρ = K^(2b−2) and δ = 1/(KT).

    With a σ per arm, for b < 1 and the last three: active arms share in proportion to w_i = σ_i^(1/(1−b)), and all
    have one radius. C(K, b) is then that of these weights, H_K = Σ w_i/(w_1 + … + w_i) for weights that rise, and 1/K
    in the range of the anytime radius the least w_i/(w_1 + … + w_K): of order (Σ σ_i^(1/(1−b)))^(1−b) √T up to
    logarithms, as in `minimax_lower_bound`. (Even shares have the bound of the largest σ.)

    Independent sub-Gaussian noise. Says nothing of other levels, or of a radius with too small a σ.

    >>> round(elimination_regret_bound([0.5, 0.0], horizon=10**6, b=0.75))
    110352
    >>> round(elimination_regret_bound([0.5, 0.0], horizon=10**6, b=0.75, sigma=[1.0, 0.1]))
    89162
    """
    form = choice("form", form, ("printed", "repaired", "corrected", "cycles", "anytime"))
    if means is not None:
        if arms is not None or max_gap is not None:
            raise refuse("arms", "left out when `means` are given, and so must `max_gap`", (arms, max_gap))
        gaps = gaps_of(means)
        arms, max_gap = len(gaps), max(gaps)
    k, horizon, b, _ = setting(whole("arms", arms, low=1), horizon, b, 1.0, low=0.5)
    scales = noise_scales(sigma, k)
    top, unequal = max(scales), len(set(scales)) > 1
    if unequal and (b == 1 or form in ("printed", "repaired")):
        raise refuse("sigma", "the same for all arms at b = 1, and in the forms printed and repaired", sigma)
    # Weights in units of the largest; one that is too small for a float adds nothing.
    weights = [w for w in ((scale / top) ** (1 / (1 - b)) for scale in scales) if w > 0] if unequal else [1.0] * k
    rising = np.sort(weights)
    gap = number("max_gap", max_gap, low=0.0)
    start = gap if form == "printed" else gap * (1 + float(np.sum(rising / np.cumsum(rising))))
    root, log = top * math.sqrt(horizon), math.log(horizon)
    if form in ("printed", "repaired"):
        b = number("b", b, low=0.5, below=1.0)
        return start + 4 * math.sqrt(6 / (1 - b)) * log * math.pow(k, 1 - b) * root
    if form == "corrected":
        squared = 8 * monotone_growth(horizon) * log
    elif form == "cycles":
        squared = cycles_quantile(max(horizon, 2) ** -3.0, horizon) ** 2
    else:
        spread = log + (2 - 2 * b) * math.log(math.fsum(weights)) + 2 * math.log(top / min(scales))
        squared = 2 * (2 * (math.log(k) + log) + spread + math.log1p(math.exp(-spread)))
    return start + 4 * math.sqrt(squared * stopping_time_constant(weights, b)) * root


def printed_elimination_regret(means: Sequence[float], b: float, horizon: int, sigma: float = 1.0) -> float:
    """The exact regret of Algorithm 1 as printed: mean gap + (T−1) Σ Δ_i P_i, linear in T.

    P_i = P(i = argmax_j μ_j + σ K^(1−b) ξ_j), Gaussian noise: the printed radius is 0 at t = 1, so the
    best of one noisy look is kept for ever. Any b in [0, 1].

    >>> round(printed_elimination_regret([0.5, 0, 0, 0, 0], b=0.75, horizon=1000) / 1000, 3)
    0.357
    """
    log_ndtr = optional.load("scipy.special", "The exact regret of the printed algorithm").log_ndtr
    gaps = np.array(gaps_of(means))
    horizon = whole("horizon", horizon, low=1)
    scale = number("sigma", sigma, above=0.0) * math.pow(len(gaps), 1 - number("b", b, low=0.0, high=1.0))
    # Beyond a distance of 100 the probability is below the smallest float.
    distances, counts = np.unique(np.minimum(gaps, 100 * scale) / scale, return_counts=True)
    # All densities are analytic on the scale of 1, so equal steps converge faster than any power of the step.
    step = 0.02
    z = np.arange(-38, 38 + step / 2, step)
    below = np.zeros_like(z)
    for distance, count in zip(distances, counts):
        below += count * log_ndtr(z + distance)
    expected = 0.0
    for distance, count in zip(distances, counts):
        shifted = z + distance
        density = np.exp(below - log_ndtr(shifted) - 0.5 * shifted * shifted) / math.sqrt(2 * math.pi)
        expected += float(count * distance * step * np.sum(density))
    return float(np.mean(gaps)) + (horizon - 1) * scale * expected
