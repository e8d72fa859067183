"""What the theorems share: reading means into gaps, and a setting that Theorems 1 and 2 both ask for."""

import math
from typing import Any

from apportion._common.validation import number, refuse, whole
from apportion.model.law import positive_per_arm


def numbers(name: str, values: Any, *, low: float = -math.inf) -> tuple[float, ...]:
    """A list of at least one finite number, as a tuple."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise refuse(name, "a list of numbers", values)
    found = tuple(number(name, value, low=low) for value in values)
    if not found:
        raise refuse(name, "a list with at least one number", values)
    return found


def gaps_of(means: Any) -> tuple[float, ...]:
    """How far each mean is below the largest."""
    values = numbers("means", means)
    best = max(values)
    return tuple(best - value for value in values)


def noise_scales(sigma: Any, arms: int) -> tuple[float, ...]:
    """σ of every arm, from one number for all or one for each."""
    given = positive_per_arm("sigma", sigma, arms)
    return given if isinstance(given, tuple) else (given,) * arms


def exponential(x: float) -> float:
    """exp(x), infinite instead of an error where it is too large."""
    return math.exp(x) if x < 709.0 else math.inf


def setting(arms: int, horizon: int, b: float, sigma: float, low: float = 0.0) -> tuple[int, int, float, float]:
    """K, T >= K, b in [low, 1] and sigma > 0, checked."""
    arms = whole("arms", arms, low=1)
    horizon = whole("horizon", horizon, low=arms)
    return arms, horizon, number("b", b, low=low, high=1.0), number("sigma", sigma, above=0.0)
