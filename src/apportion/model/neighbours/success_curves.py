"""Chances of success that never fall as the amount rises."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import refuse
from apportion.model.law import rows_of_numbers
from apportion.model.sums import Floats
from apportion.model.world import World


class CurvesRecord(NamedTuple):
    """Success curves as compiled code sees them: (K, N + 1) chances, and the value of one unit."""

    chances: Floats
    value: float


class SuccessCurves(World):
    """Monotone success curves: arm i returns 1 with probability p_i(A), which never falls as A rises.

    `chances` has a row per arm: p_i at the amounts 0, 1/N, 2/N, …, 1. Between two of these it is that of the lower
    one, beyond 1 that of 1: any curve, whether returns diminish or not, up to a step of 1/N. The best split is in
    whole steps, found by dynamic programming. p_i(0) is what an arm returns that gets less than a step, and must
    be 0: an arm without anything returns nothing.

    Literature: Bachoc, Cesa-Bianchi, Cesari and Colomboni (2025), *Online budget allocation with censored
    semi-bandit feedback*: regret polylogarithmic where returns diminish, K√T otherwise. `published.DiscretisedCUCB`
    knows no shape and plays in it too: log T with constants that grow with N.

    >>> world = SuccessCurves(chances=((0.0, 0.1, 0.8), (0.0, 0.4, 0.5)))
    >>> world.best_split, round(world.regret([0.5, 0.5]), 6)
    ((1.0, 0.0), 0.3)
    """

    chances: tuple[tuple[float, ...], ...]

    Record = CurvesRecord

    def __post_init__(self) -> None:
        first = self.chances[0] if hasattr(self.chances, "__len__") and len(self.chances) else ()
        size = len(first) if hasattr(first, "__len__") else 0
        rows = rows_of_numbers("chances", self.chances, max(size, 2))
        for arm, row in enumerate(rows):
            if row[0] != 0.0 or max(row) > 1.0 or (np.diff(row) < 0.0).any():
                raise refuse(f"chances[{arm}]", "0 at an amount of 0, never falling, at most 1", row)
        object.__setattr__(self, "chances", rows)

    @property
    def steps(self) -> int:
        """N, the steps in one unit."""
        return len(self.chances[0]) - 1

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit."""
        levels = np.zeros(self.arms, dtype=np.int64)
        best_levels(np.array(self.chances), self.steps, levels)
        shares = levels / self.steps
        shares[0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"SuccessCurves K={self.arms} N={self.steps}"

    def record(self, b: float | None = None, c: float | None = None) -> CurvesRecord:
        """The curves, and the value of one unit."""
        del b, c
        chances = np.array(self.chances)
        return self.Record(chances, best_levels(chances, self.steps, np.zeros(self.arms, dtype=np.int64)))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """p(A), and a success or not."""
        steps = self.chances.shape[1] - 1
        chance = self.chances[arm, whole_steps(amount, steps, steps)]
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The best split in whole steps."""
        if budget == 1.0:
            return self.value
        arms, steps = len(self.chances), self.chances.shape[1] - 1
        return best_levels(self.chances, whole_steps(budget, steps, arms * steps), np.zeros(arms, dtype=np.int64))


@kernel
def whole_steps(amount: float, steps: int, most: int) -> int:
    """How many steps of 1/N an amount has, up to `most`; one that misses a step by rounding only has it."""
    return int(min(amount * steps + 1e-9, float(most)))


@kernel
def best_levels(values: Any, steps: int, levels: Any) -> float:
    """The best way to divide `steps` whole steps where arm i returns values[i, n] for n of them; into `levels`.

    Dynamic programming, arm after arm: O(K·steps·N). Nothing is returned for more steps than `values` has.
    """
    arms, most = values.shape[0], values.shape[1] - 1
    best = np.full(steps + 1, 0.0)
    taken = np.zeros((arms, steps + 1), dtype=np.int64)
    for arm in range(arms):
        earlier = best.copy()
        for budget in range(steps + 1):
            best[budget] = earlier[budget] + values[arm, 0]
            for level in range(1, min(budget, most) + 1):
                value = earlier[budget - level] + values[arm, level]
                if value > best[budget]:
                    best[budget], taken[arm, budget] = value, level
    left = steps
    for arm in range(arms - 1, -1, -1):
        levels[arm] = taken[arm, left]
        left -= levels[arm]
    return best[steps]  # type: ignore[no-any-return]
