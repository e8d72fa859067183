"""Looking ahead from today's beliefs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apportion.allocation.beliefs import Beliefs

_DRAWS = 4096


def expected_regret(beliefs: Beliefs, amounts: Mapping[str, float]) -> float:
    """E[best mean in play]·budget − Σ amount·mean under independent N(μ*, σ²/B); NaN where an arm is unknown.

    The draws are fixed, so that the same beliefs give the same figure.
    """
    given = np.array([amounts.get(name, 0.0) for name in beliefs])
    counts = beliefs.in_play | (given > 0.0)
    gains, spread = -beliefs.mean if beliefs.minimise else beliefs.mean, beliefs.spread
    if not counts.any() or not np.isfinite(spread[counts]).all() or np.isnan(gains[counts]).any():
        return float("nan")
    noise = np.random.Generator(np.random.PCG64(20_23)).standard_normal((_DRAWS, len(given)))
    draws = (gains + spread * noise)[:, counts]
    best = draws[:, beliefs.in_play[counts]].max(axis=1)
    return float(np.maximum(0.0, (best[:, np.newaxis] - draws) @ given[counts]).mean())
