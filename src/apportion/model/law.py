"""The law of returns, Y = A·μ + A^b·σ·ξ, and a world that obeys it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from apportion._common.compiled import compiled, kernel
from apportion._common.validation import number, refuse
from apportion.model.noise import Gaussian, Noise, draw_noise, noise_family

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator

# From this many numbers on, a block is drawn by the compiled kernel: before, loading it would take longer.
_COMPILE_FROM: Final = 20_000


@kernel
def outcome(mean: float, deviation: float, noise: Any, amount: float, rng: Generator) -> float:
    """What an arm returns for an amount A > 0: Y = A·μ + deviation·ξ, with deviation = A^b·σ."""
    return amount * mean + deviation * draw_noise(noise, amount, rng)


@dataclass(frozen=True)
class Instance:
    """A world of arms that obey Y_i = A_i·μ_i + A_i^b·σ·ξ_i, each ξ independent with mean 0.

    Amounts are raw: the law holds for any A ≥ 0, not only for shares of one unit. `dataclasses.replace` makes
    a changed copy.

    >>> world = Instance(means=(0.9, 1.0, 0.7), b=0.75)
    >>> world.best, world.best_mean, world.label
    (1, 1.0, 'K=3 b=0.75 σ=1 Δmin=0.1')
    >>> world.draw([0.5, 0.5, 0.0], np.random.default_rng(7)).round(3)
    array([0.451, 0.678,   nan])
    """

    means: tuple[float, ...]
    b: float
    sigma: float = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    def __post_init__(self) -> None:
        set_ = object.__setattr__  # the record is frozen for everyone else
        set_(self, "means", _means(self.means))
        set_(self, "b", number("b", self.b, low=0, high=1))
        set_(self, "sigma", number("sigma", self.sigma, above=0))
        set_(self, "noise", noise_family(self.noise))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return len(self.means)

    @cached_property
    def best(self) -> int:
        """The index of the best arm, the first of them where several are."""
        return self.means.index(max(self.means))

    @property
    def best_mean(self) -> float:
        """μ*, the largest mean."""
        return self.means[self.best]

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """Δ_i = μ* − μ_i."""
        return tuple(self.best_mean - mean for mean in self.means)

    @cached_property
    def label(self) -> str:
        """A short name for people. Two instances that differ may share it."""
        smallest = min((gap for gap in self.gaps if gap > 0), default=0.0)
        text = f"K={self.arms} b={self.b:g} σ={self.sigma:g} Δmin={smallest:g}"
        return text if isinstance(self.noise, Gaussian) else f"{text} {self.noise.name}"

    def draw(self, amounts: npt.ArrayLike, rng: Generator) -> Floats:
        """The outcomes of one period: a number per arm, NaN where the amount is 0."""
        given = self._amounts(amounts, (1,))
        return self._draw_rows(given[np.newaxis], rng).reshape(self.arms)

    def draw_block(self, amounts: npt.ArrayLike, rng: Generator) -> Floats:
        """The outcomes of n periods from an (n, K) array of amounts: what n calls of `draw` give in turn.

        An arm with amount 0 draws no noise, so the stream goes on with the next arm that is observed.
        """
        return self._draw_rows(self._amounts(amounts, (2,)), rng)

    def regret(self, amounts: npt.ArrayLike) -> float:
        """R = Σ A·Δ over the arms, and over the periods where `amounts` has a row for each.

        >>> Instance(means=(0.5, 1.0), b=0.5).regret([[0.5, 0.5], [0.2, 0.8]])
        0.35
        """
        given = self._amounts(amounts, (1, 2))
        return float(np.sum(given @ np.array(self.gaps)))

    def to_dict(self) -> dict[str, Any]:
        """The instance as JSON-friendly values; `from_dict` reads them back."""
        return {"means": list(self.means), "b": self.b, "sigma": self.sigma, "noise": self.noise.describe()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The instance that `to_dict` wrote down.

        >>> world = Instance(means=(0.9, 1.0), b=0.75, noise="laplace")
        >>> Instance.from_dict(world.to_dict()) == world
        True
        """
        fields = {"means", "b", "sigma", "noise"}
        if not isinstance(values, Mapping) or not {"means", "b"} <= set(values) <= fields:
            shown = sorted(map(str, values)) if isinstance(values, Mapping) else values
            raise refuse("instance", "a mapping with means, b and optionally sigma, noise", shown)
        return cls(**values)

    def _draw_rows(self, amounts: Floats, rng: Generator) -> Floats:
        if not isinstance(rng, Generator):
            raise refuse("rng", "a numpy.random.Generator", rng)
        out = np.empty(amounts.shape)
        draw = compiled(_draw_rows) if amounts.size >= _COMPILE_FROM else _draw_rows
        draw(np.array(self.means), self.b, self.sigma, self.noise, amounts, rng, out)
        return out

    def _amounts(self, amounts: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
        """`amounts` as non-negative finite floats, one per arm (1 dimension) or rows of these (2)."""
        shapes = {1: f"({self.arms},)", 2: f"(n, {self.arms})"}
        allowed = "one amount per arm, of shape " + " or ".join(shapes[count] for count in dimensions)
        try:
            given = np.ascontiguousarray(amounts, dtype=np.float64)
        except (TypeError, ValueError):
            raise refuse("amounts", allowed, amounts) from None
        if np.ndim(amounts) not in dimensions or given.shape[-1] != self.arms:
            raise refuse("amounts", allowed, np.shape(amounts))
        bad = ~((given >= 0.0) & (given < np.inf))
        if bad.any():
            raise refuse("amounts", "non-negative finite numbers", float(given[bad][0]))
        return given


def _means(values: Any) -> tuple[float, ...]:
    """One finite float per arm; the entry that is not one is named."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise refuse("means", "a list with one number per arm", values)
    means = list(values)
    if not means:
        raise refuse("means", "a list with at least one number", means)
    return tuple(number(f"means[{index}]", mean) for index, mean in enumerate(means))


@kernel
def _draw_rows(
    means: Floats, b: float, sigma: float, noise: Any, amounts: Floats, rng: Generator, out: Floats
) -> None:
    """Fill `out` row after row, arm after arm."""
    for row in range(amounts.shape[0]):
        for arm in range(amounts.shape[1]):
            amount = amounts[row, arm]
            out[row, arm] = math.nan
            if amount > 0.0:  # an arm with A = 0 is not observed, also at b = 0, where 0^0 would be 1
                out[row, arm] = outcome(means[arm], amount**b * sigma, noise, amount, rng)
