"""Looking ahead from today's beliefs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apportion.beliefs import Beliefs

_DRAWS = 4096


def expected_regret(beliefs: Beliefs, amounts: Mapping[str, float]) -> float:
    """E[best mean]·budget − Σ amount·mean under independent N(μ*, σ²/B); NaN where an arm is unknown.

    The draws are fixed, so that the same beliefs give the same figure.
    """
    names = list(beliefs)
    spread = beliefs.spread
    if not names or not np.isfinite(spread).all() or np.isnan(beliefs.mean).any():
        return float("nan")
    gains = -beliefs.mean if beliefs.minimise else beliefs.mean
    draws = gains + spread * np.random.Generator(np.random.PCG64(20_23)).standard_normal((_DRAWS, len(names)))
    given = np.array([amounts.get(name, 0.0) for name in names])
    return float(np.maximum(0.0, (draws.max(axis=1)[:, np.newaxis] - draws) @ given).mean())
