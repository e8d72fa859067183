"""The regret of UCB1 with the constant that `UCB` uses; its proof is in docs/theory.md, section 9."""

import math
from collections.abc import Sequence

import numpy as np

from apportion._common.validation import number, whole
from apportion.model.sums import Floats
from apportion.theory.inputs import gaps_of

_SUMMED = 4096  # so many periods are added one by one
_STEP = 0.1  # of log t, in the blocks beyond


def ucb_regret_bound(means: Sequence[float], horizon: int, sigma: float = 1.0) -> float:
    """Σ over gaps Δ_i > 0 of 8 σ² (log T + 1)/Δ_i + Δ_i (2 + Q(T)), for `UCB` at any b.

    Q(T) = Σ over 2 ≤ t ≤ T of min(1, √e N_t/t), N_t = ceil(log t/(4 log(1 + 1/√(2 log t)))): what it costs that the
    index μ* + σ√(2 log t / n) of the best arm may be too low, of order log(T)^2.5. Sub-Gaussian noise. For Gaussian
    noise Katehakis and Robbins (1995) have the limit Σ 2 σ²/Δ_i · log T, which no policy beats for b ≤ 1/2.

    >>> round(ucb_regret_bound([0.5, 0.0], horizon=10_000))
    202
    """
    gaps = gaps_of(means)
    horizon, sigma = whole("horizon", horizon, low=1), number("sigma", sigma, above=0.0)
    total = 0.0
    late = _late(horizon)
    for gap in gaps:
        if gap > 0:
            total += 8 * sigma * (sigma / gap) * (math.log(horizon) + 1) + gap * (2 + late)
    return total


def _slices(log_t: Floats) -> Floats:
    return np.asarray(np.maximum(1.0, np.ceil(log_t / (4 * np.log1p(1 / np.sqrt(2 * log_t))))))


def _late(horizon: int) -> float:
    """Q(T): one by one, then blocks in which N is that of the end, and Σ 1/t at most the log of the ratio."""
    t = np.arange(2.0, min(horizon, _SUMMED) + 1)
    total = float(np.sum(np.minimum(1.0, math.exp(0.5) * _slices(np.log(t)) / t)))
    low, end = math.log(_SUMMED), math.log(horizon)
    while low < end:
        high = min(low + _STEP, end)
        total += math.exp(0.5) * float(_slices(np.array([high]))[0]) * (high - low)
        low = high
    return total
