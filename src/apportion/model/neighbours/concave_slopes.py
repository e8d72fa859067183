"""Concave returns of which the slopes are seen, as curves whose slopes go through points."""

from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import refuse
from apportion.model.law import numbers_per_arm, positive_per_arm, rows_of_numbers, span
from apportion.model.noise import Noise, draw_noise, noise_family
from apportion.model.sums import Floats
from apportion.model.world import World

# The level of the best slope is halved so often: to the last place of a float.
_HALVINGS = 100


class ConcaveSlopesRecord(NamedTuple):
    """Curves as compiled code sees them: n knots, and per arm (K, n) slopes and values there."""

    knots: Floats
    slopes: Floats
    values: Floats
    sigmas: Floats
    value: float
    noise: Any


class ConcaveSlopes(World):
    """Concave returns whose slopes are seen: an amount A on arm i earns f_i(A), and shows f_i'(A) + σ_i·ξ.

    f_i' goes straight through the points (`knots`, `slopes[i]`): `knots` begin with 0 and rise, `slopes` has a row
    per arm that never rises and never falls below 0; f_i(0) = 0, and beyond the last knot nothing is added. So f_i is
    made of parabolas. The best split gives every arm the amount at which its slope is the level that all share.

    What comes back is a slope, not a return: a policy that takes it for a return is misled, and the `reward` of a
    result has no meaning here. Regret is that of the returns.

    Literature: Fontaine, Mannor and Perchet (2020), *An adaptive stochastic optimization algorithm for resource
    allocation*, whose feedback this is (`published.NestedBisection`). Where f* − f ≤ C·|f'|^β near the best split,
    regret is of order T^(1−β/2) for β < 2 and of log T to a power that grows with log K for β ≥ 2, which has curves
    that bend (β = 2) and straight lines (β = ∞), the classical bandit. `Concave` has the same returns with values
    seen, where √T is the best rate.

    >>> world = ConcaveSlopes(knots=(0.0, 1.0), slopes=((2.0, 0.0), (1.0, 0.0)))
    >>> world.best_split, round(world.regret([0.5, 0.5]), 6), world.label
    ((0.666666666666667, 0.333333333333333), 0.041667, 'ConcaveSlopes K=2 σ=0.1')
    """

    slopes: tuple[tuple[float, ...], ...]
    knots: tuple[float, ...] = (0.0, 1.0)
    sigma: float | tuple[float, ...] = 0.1
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = ConcaveSlopesRecord
    shows: ClassVar[str] = "slopes"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "knots", numbers_per_arm("knots", self.knots))
        set_(self, "slopes", rows_of_numbers("slopes", self.slopes, len(self.knots)))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, self.arms))
        set_(self, "noise", noise_family(self.noise))
        if len(self.knots) < 2 or self.knots[0] != 0.0 or not (np.diff(self.knots) > 0.0).all():
            raise refuse("knots", "at least two numbers that begin with 0 and rise", self.knots)
        for arm, row in enumerate(self.slopes):
            if row[-1] < 0.0 or (np.diff(row) > 0.0).any():
                raise refuse(f"slopes[{arm}]", "numbers of 0 or more that never rise", row)

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
        level_slopes(record.knots, record.slopes, record.values, 1.0, shares)
        shares[0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"ConcaveSlopes K={self.arms} σ={span(self.sigmas)}"

    def record(self, b: float | None = None, c: float | None = None) -> ConcaveSlopesRecord:
        """The slopes with the values that they add up to."""
        del b, c
        knots, slopes = np.array(self.knots), np.array(self.slopes)
        pieces = np.diff(knots) * 0.5 * (slopes[:, :-1] + slopes[:, 1:])
        values = np.concatenate([np.zeros((self.arms, 1)), np.cumsum(pieces, axis=1)], axis=1)
        value = level_slopes(knots, slopes, values, 1.0, np.zeros(self.arms))
        return self.Record(knots, slopes, values, np.array(self.sigmas), value, self.noise)

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """f(A) is earned, f'(A) + σ·ξ comes back."""
        expected, slope = return_and_slope(self.knots, self.slopes, self.values, arm, amount)
        return expected, slope + self.sigmas[arm] * draw_noise(self.noise, amount, rng)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """Every arm up to the level that all share."""
        if budget == 1.0:
            return self.value
        return level_slopes(self.knots, self.slopes, self.values, budget, np.zeros(len(self.slopes)))


@kernel
def return_and_slope(knots: Any, slopes: Any, values: Any, arm: int, amount: float) -> tuple[float, float]:
    """f(A) and f'(A) of one arm."""
    last = len(knots) - 1
    piece = max(int(np.searchsorted(knots, amount)) - 1, 0)
    if piece == last:
        return values[arm, last], 0.0
    past = amount - knots[piece]
    first = slopes[arm, piece]
    slope = first + (slopes[arm, piece + 1] - first) * past / (knots[piece + 1] - knots[piece])
    return values[arm, piece] + 0.5 * (first + slope) * past, slope


@kernel
def amount_at(knots: Any, slopes: Any, arm: int, level: float) -> float:
    """The largest amount up to which the slope of an arm exceeds a level; 0 where it never does."""
    if not slopes[arm, 0] > level:
        return 0.0
    for piece in range(len(knots) - 1):
        if not slopes[arm, piece + 1] > level:
            first, second = slopes[arm, piece], slopes[arm, piece + 1]
            return knots[piece] + (first - level) / (first - second) * (knots[piece + 1] - knots[piece])  # type: ignore[no-any-return]
    return knots[-1]  # type: ignore[no-any-return]


@kernel
def level_slopes(knots: Any, slopes: Any, values: Any, budget: float, amounts: Any) -> float:
    """The value of the best split, whose amounts are written down: the level by halving, what is left over at it."""
    arms = len(slopes)
    low, high = 0.0, 0.0
    for arm in range(arms):
        high = max(high, slopes[arm, 0])
    total = 0.0
    for arm in range(arms):
        total += amount_at(knots, slopes, arm, 0.0)
    if total > budget:  # else all is given that brings anything
        for _ in range(_HALVINGS):
            level = 0.5 * (low + high)
            total = 0.0
            for arm in range(arms):
                total += amount_at(knots, slopes, arm, level)
            if total > budget:
                low = level
            else:
                high = level
    else:
        high = 0.0
    value, left = 0.0, budget
    for arm in range(arms):
        amounts[arm] = amount_at(knots, slopes, arm, high)
        left -= amounts[arm]
    for arm in range(arms):  # slopes may be flat at the level: what is left over is worth the same on all such arms
        room = amount_at(knots, slopes, arm, low) - amounts[arm] if high > 0.0 else 0.0
        more = max(min(room, left), 0.0)
        amounts[arm] += more
        left -= more
        value += return_and_slope(knots, slopes, values, arm, amounts[arm])[0]
    return value
