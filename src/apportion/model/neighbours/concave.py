"""Any concave returns, as curves through points."""

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import refuse
from apportion.model.law import numbers_per_arm, positive_per_arm, rows_of_numbers, span
from apportion.model.noise import Noise, draw_noise, noise_family
from apportion.model.sums import Floats
from apportion.model.world import World


class ConcaveRecord(NamedTuple):
    """Piecewise linear curves as compiled code sees them: (K, n) knots, values and slopes."""

    knots: Floats
    values: Floats
    slopes: Floats
    sigmas: Floats
    value: float
    noise: Any


class Concave(World):
    """Any concave returns: arm i returns f_i(A) + σ_i·ξ, f_i through the points (`knots`, `values[i]`).

    Between the points f_i is straight. `knots` begin with 0 and rise; `values` has a row per arm with the return at
    each knot, 0 at 0, of which the slopes must not rise; beyond the last knot nothing is added. The best split takes
    the pieces of all arms in the order of their slopes. A smooth curve is met to any precision by more knots. Noise
    has one size for every amount (b = 0).

    Literature: Fontaine, Mannor and Perchet (2020), *An adaptive stochastic optimization algorithm for resource
    allocation*, where noisy gradients are seen (`ConcaveSlopes`): regret from log T for curves that bend to √T for
    flat ones, by bisection. Here values are seen, so gradients are differences of two (`published.NoisyBisection`,
    `published.GradientAscent`), and √T is the best rate even for curves that bend.

    >>> world = Concave(knots=(0.0, 0.5, 1.0), values=((0.0, 0.6, 0.8), (0.0, 0.5, 0.75)))
    >>> world.best_split, round(world.regret([1.0, 0.0]), 6), world.label
    ((0.5, 0.5), 0.3, 'Concave K=2 σ=0.1')
    """

    values: tuple[tuple[float, ...], ...]
    knots: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    sigma: float | tuple[float, ...] = 0.1
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = ConcaveRecord

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "knots", numbers_per_arm("knots", self.knots))
        set_(self, "values", rows_of_numbers("values", self.values, len(self.knots)))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, self.arms))
        set_(self, "noise", noise_family(self.noise))
        widths = np.diff(self.knots)
        if len(widths) < 1 or self.knots[0] != 0.0 or not (widths > 0.0).all():
            raise refuse("knots", "at least two numbers that begin with 0 and rise", self.knots)
        for arm, row in enumerate(self.values):
            slopes = np.diff(row) / widths
            if row[0] != 0.0 or slopes[-1] < 0.0 or (np.diff(slopes) > 1e-9 * (1.0 + np.abs(slopes[:-1]))).any():
                allowed = "0 at an amount of 0, and rise by less and less"
                raise refuse(f"values[{arm}]", allowed, row)

    @property
    def b(self) -> float:
        """The noise exponent: 0, one size of noise for every amount."""
        return 0.0

    @property
    def sigmas(self) -> tuple[float, ...]:
        """σ_i, one per arm."""
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what brings nothing any more is with the first arm."""
        record = self.record()
        shares = np.zeros(self.arms)
        fill_pieces(record.knots, record.slopes, 1.0, shares)
        shares[0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Concave K={self.arms} σ={span(self.sigmas)}"

    def record(self, b: float | None = None, c: float | None = None) -> ConcaveRecord:
        """The curves with their slopes."""
        del b, c
        knots, values = np.array(self.knots), np.array(self.values)
        slopes = np.maximum(np.diff(values, axis=1) / np.diff(knots), 0.0)
        value = fill_pieces(knots, slopes, 1.0, np.zeros(self.arms))
        return self.Record(knots, values, slopes, np.array(self.sigmas), value, self.noise)

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """f(A), and with noise σ·ξ."""
        expected = concave_return(self.knots, self.values, self.slopes, arm, amount)
        return expected, expected + self.sigmas[arm] * draw_noise(self.noise, amount, rng)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The pieces of all arms in the order of their slopes, as far as the budget goes."""
        if budget == 1.0:
            return self.value
        return fill_pieces(self.knots, self.slopes, budget, np.zeros(len(self.values)))


@kernel
def concave_return(knots: Any, values: Any, slopes: Any, arm: int, amount: float) -> float:
    """f(A) of one arm."""
    piece = 0
    while piece < len(knots) - 1 and amount > knots[piece + 1]:
        piece += 1
    if piece == len(knots) - 1:
        return values[arm, piece]  # type: ignore[no-any-return]
    return values[arm, piece] + slopes[arm, piece] * (amount - knots[piece])  # type: ignore[no-any-return]


@kernel
def fill_pieces(knots: Any, slopes: Any, budget: float, amounts: Any) -> float:
    """The value of the best split, whose amounts are written down: steepest pieces first, each arm's in its order."""
    arms, pieces = slopes.shape
    following = np.zeros(arms, dtype=np.int64)
    left, value = budget, 0.0
    for arm in range(arms):
        amounts[arm] = 0.0
    while left > 0.0:
        steepest, best = -1, 0.0
        for arm in range(arms):
            if following[arm] < pieces and slopes[arm, following[arm]] > best:
                steepest, best = arm, slopes[arm, following[arm]]
        if steepest < 0:
            break
        piece = following[steepest]
        amount = min(left, knots[piece + 1] - knots[piece])
        amounts[steepest] += amount
        value += best * amount
        left -= amount
        following[steepest] += 1
    return value
