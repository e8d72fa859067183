"""Noise as residuals have it: a family given by quantiles."""

import math
from statistics import NormalDist
from typing import Any, Final, NamedTuple, Self

import numpy as np

from apportion._common.imports import import_path
from apportion._common.validation import refuse
from apportion.model.noise import Generator, Noise

STEPS: Final = 64
"""A family has one quantile more than this, at even steps from 0 to 1."""

_NORMAL = tuple(NormalDist().inv_cdf(min(max(step / STEPS, 1e-3), 1.0 - 1e-3)) for step in range(STEPS + 1))


class Empirical(Noise, NamedTuple("_Empirical", [("quantiles", tuple[float, ...])])):
    """ξ with these quantiles at 0, 1/64, …, 1 and straight between them, shifted and scaled to mean 0 and variance 1.

    `Empirical.of(residuals)` takes them from a history: skewed where it is skewed, with its tails up to the largest
    residual. Bounded, so it has a sub-Gaussian proxy, but not 1: outside of the guarantees.

    >>> coin = Empirical.of([-1.0, 1.0] * 50)
    >>> round(coin.quantiles[0], 2), round(coin.quantiles[-1], 2)
    (-1.01, 1.01)
    """

    __slots__ = ()
    name = "empirical"
    title = "As the residuals of a history"

    def __new__(cls, quantiles: Any = _NORMAL) -> Self:
        values = np.asarray(quantiles, dtype=np.float64)
        if values.shape != (STEPS + 1,) or not np.isfinite(values).all() or (np.diff(values) < 0.0).any():
            raise refuse("quantiles", f"{STEPS + 1} finite numbers that do not fall", quantiles)
        low, high = values[:-1], values[1:]
        mean = float((low + high).mean()) / 2.0
        variance = float((low * low + low * high + high * high).mean()) / 3.0 - mean * mean
        if not variance > 0.0:
            raise refuse("quantiles", "numbers that differ", quantiles)
        standard = (values - mean) / math.sqrt(variance)
        settled = values if abs(mean) < 1e-12 and abs(variance - 1.0) < 1e-12 else standard
        return super().__new__(cls, tuple(settled.tolist()))

    @classmethod
    def of(cls, residuals: Any) -> Self:
        """The family of some residuals."""
        values = np.asarray(residuals, dtype=np.float64)
        return cls(np.quantile(values[np.isfinite(values)], np.arange(STEPS + 1) / STEPS))

    def describe(self) -> dict[str, Any]:
        """By its import path: it is no family to choose by name."""
        return {"name": import_path(type(self)), "quantiles": list(self.quantiles)}

    def draw(self, amount: float, rng: Generator) -> float:
        """A draw by inversion."""
        place = rng.random() * STEPS
        step = int(place)
        return self.quantiles[step] + (place - step) * (self.quantiles[step + 1] - self.quantiles[step])
