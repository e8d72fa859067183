"""Theorem 1, the gap-independent lower bound with its hard pair, and Theorem 3, the gap-dependent one."""

import math
from collections.abc import Sequence

from apportion._common.validation import choice, number, refuse, whole
from apportion.theory.inputs import gaps_of, noise_scales, setting


def minimax_lower_bound(
    arms: int, horizon: int, b: float, sigma: float | Sequence[float] = 1.0, constant: str = "printed"
) -> float:
    """Theorem 1: some instance has R ≥ c σ (K−1)^(1−m) √T, m = max(b, 1/2), for every policy.

    Gaussian noise, T ≥ K, any b in [0, 1]. c = 1/27 as printed; `constant="sharp"` is exp(−1/2)/16 = 0.0379,
    what the argument gives. With one arm there is no regret, and the bound is 0.

    With a σ per arm, beyond the paper, σ (K−1)^(1−m) becomes (Σ σ_j^(1/(1−m)))^(1−m), at b = 1 the largest σ. The sum
    leaves out the arm with the smallest σ: the argument gives one arm the mean D, any of them, and raises the one
    among the others with the least E S_j / σ_j^(1/(1−m)).

    >>> round(minimax_lower_bound(arms=10, horizon=10_000, b=0.75), 4)
    6.415
    >>> round(minimax_lower_bound(arms=3, horizon=10_000, b=0.5, sigma=[3.0, 1.0, 4.0]), 4)      # √(3² + 4²) = 5
    18.5185
    """
    arms, horizon, b, _ = setting(arms, horizon, b, 1.0)
    scales = sorted(noise_scales(sigma, arms))[1:]
    c = 1 / 27 if choice("constant", constant, ("printed", "sharp")) == "printed" else math.exp(-0.5) / 16
    if not scales:
        return 0.0  # the formula would say 0^0 = 1 at b = 1
    largest, rest = scales[-1], 1 - max(b, 0.5)
    # At b = 1 every sum has the power 0: the largest σ alone.
    relative = math.fsum(math.pow(scale / largest, 1 / rest) for scale in scales) if rest > 0.0 else 1.0
    return c * largest * math.pow(relative, rest) * math.sqrt(horizon)


def hard_instances(
    arms: int, horizon: int, b: float, sigma: float = 1.0, raised: int = 1
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The pair of Theorem 1: means (D, 0, ..., 0), and the same with arm `raised` (counted from 0) at 2D.

    D = σ (K−1)^(1 − max(b, 1/2)) / √(4T). The theorem raises the arm that the policy favours least
    under the first instance; which one that is depends on the policy.

    >>> hard_instances(arms=2, horizon=100, b=0.75)
    ((0.05, 0.0), (0.05, 0.1))
    """
    arms, horizon, b, sigma = setting(arms, horizon, b, sigma)
    if arms < 2:
        raise refuse("arms", "a whole number of at least 2", arms)
    raised = whole("raised", raised, low=1, high=arms - 1)
    gap = sigma * math.pow(arms - 1, 1 - max(b, 0.5)) / (2 * math.sqrt(horizon))
    first = (gap, *(0.0 for _ in range(arms - 1)))
    return first, (*first[:raised], 2 * gap, *first[raised + 1 :])


def asymptotic_lower_bound(means: Sequence[float], b: float, sigma: float = 1.0) -> float:
    """Theorem 3: liminf R / log T ≥ Σ over gaps Δ_i > 0 of 2 σ² / Δ_i, the coefficient of log T.

    Gaussian noise, b in [0, 1/2], consistent policies. For b > 1/2 it is false: Algorithm 2 has finite
    regret.

    >>> asymptotic_lower_bound([1.0, 0.5, 0.0], b=0.5)
    6.0
    """
    gaps = gaps_of(means)
    number("b", b, low=0.0, high=0.5)
    sigma = number("sigma", sigma, above=0.0)
    return math.fsum(2 * sigma * (sigma / gap) for gap in gaps if gap > 0)
