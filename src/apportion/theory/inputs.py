"""What the theorems share: reading means into gaps, and a setting that Theorems 1 and 2 both ask for."""

import math
from typing import Any

from apportion._common.validation import number, refuse, whole


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
    if not hasattr(sigma, "__iter__"):
        return (number("sigma", sigma, above=0.0),) * arms
    scales = tuple(number(f"sigma[{arm}]", scale, above=0.0) for arm, scale in enumerate(numbers("sigma", sigma)))
    if len(scales) != arms:
        raise refuse("sigma", f"a number, or one for each of {arms} arms", sigma)
    return scales


def exponential(x: float) -> float:
    """exp(x), infinite instead of an error where it is too large."""
    return math.exp(x) if x < 709.0 else math.inf


def setting(arms: int, horizon: int, b: float, sigma: float, low: float = 0.0) -> tuple[int, int, float, float]:
    """K, T >= K, b in [low, 1] and sigma > 0, checked."""
    arms = whole("arms", arms, low=1)
    horizon = whole("horizon", horizon, low=arms)
    return arms, horizon, number("b", b, low=low, high=1.0), number("sigma", sigma, above=0.0)
