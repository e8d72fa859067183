"""Amounts in whole levels: discretised combinatorial UCB, and the sums that such policies keep."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements, kernel
from apportion.model.neighbours.success_curves import best_levels
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import NOISE_EXPONENT, NOISE_LEVEL, Whole, parameter

# What was never tried is taken to be better than all that was, by far.
_UNTRIED = 1e3


class LevelSums(NamedTuple):
    """Per level (rows 0 to N) and arm: how many outcomes, their sum and the sum of their squares; `unit` is the
    budget of the first period. `fitted` has two rows for what a policy fits to them now and then."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    total: Floats
    square: Floats
    fitted: Floats
    unit: Floats

    def take(self, arms: Any) -> "LevelSums":
        """The sums of some arms, in the order asked for."""
        count, total, square, fitted = (values[:, arms] for values in self[:4])
        return LevelSums(count, total, square, fitted, self.unit)


class Levels(NamedTuple):
    """The kind of `LevelSums` with so many levels."""

    levels: int

    def new(self, arms: int) -> LevelSums:
        """Before anything was observed."""
        count, total, square = np.zeros((3, self.levels + 1, arms))
        return LevelSums(count, total, square, np.zeros((2, arms)), np.ones(1))


@implements(observe, LevelSums)
def _observe_level(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    most = sums.count.shape[0] - 1
    level = min(most, int(powers.amount / sums.unit[0] * most + 0.5))
    sums.count[level, arm] += 1.0
    sums.total[level, arm] += outcome
    sums.square[level, arm] += outcome * outcome


@kernel
def begin(period: Any, sums: Any) -> None:
    """In the first period nothing is known."""
    if period.number == 1:
        sums.count[:, :] = 0.0
        sums.total[:, :] = 0.0
        sums.square[:, :] = 0.0
        sums.fitted[:, :] = 0.0
        sums.unit[0] = period.unit


@kernel
def share_levels(values: Any, steps: int, shares: Any) -> None:
    """The best split in whole levels for these returns, values[arm, level]; what is left over goes to the largest."""
    levels = np.zeros(len(shares), dtype=np.int64)
    best_levels(values, steps, levels)
    used, largest = 0, 0
    for arm in range(len(shares)):
        used += levels[arm]
        if levels[arm] > levels[largest]:
            largest = arm
    levels[largest] += steps - used
    for arm in range(len(shares)):
        shares[arm] = levels[arm] / steps


class DiscretisedCUCB(Policy):
    """Every amount of every arm is an arm of its own: an optimistic mean for each level, and a knapsack over them.

    Amounts are 0, 1/N, …, 1 (`levels` = N). The optimistic mean of arm i at amount a is X̄ + σ_i·a^b·√(6·log t/n), n
    the outcomes at that level; with σ = 1/2, b = 0 this is √(3·log t/(2n)) for returns in [0, 1]. What was never
    tried comes first, ties broken by chance. The best split in whole levels is found by dynamic programming, O(K·N²).

    From Zuo and Joe-Wong (2021), *Combinatorial multi-armed bandits for resource allocation* (CUCB-DRA; with finer
    levels for a longer horizon CUCB-CRA). Guarantee: log T against the best split in levels, with a constant that
    grows with K·N; against the best of all splits there is besides what the levels cost in every period. Where it
    fails: it knows no shape, so nothing that is seen at one level says anything of another.

    >>> DiscretisedCUCB(levels=10, sigma=0.2)
    DiscretisedCUCB(levels=10, sigma=0.2)
    """

    levels: int = parameter(Whole(low=1, high=1000, hint="levels of amounts"), default=20)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=0.5)
    b: float = parameter(NOISE_EXPONENT, default=0.0)

    rule = "tries every amount of every arm and takes the best optimistic combination"
    laboratory = True
    randomised = True

    class Record(NamedTuple):
        """The levels, σ per arm, b."""

        levels: int
        sigma: Floats
        b: float

    @property
    def reads(self) -> Any:
        """Sums per level."""
        return Levels(self.levels)

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """σ per arm."""
        return self.Record(self.levels, self.each_arm("sigma", arms), self.b)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Optimistic means of all levels, then the knapsack."""
        begin(period, sums)
        arms, steps = len(shares), self.levels
        root = math.sqrt(6.0 * math.log(period.number + 1.0))
        values = np.zeros((arms, steps + 1))
        largest = 0.0
        for arm in range(arms):
            largest = max(largest, self.sigma[arm] * root)
            for level in range(1, steps + 1):
                count = sums.count[level, arm]
                if count > 0.0:
                    width = self.sigma[arm] * (level / steps) ** self.b * root / math.sqrt(count)
                    values[arm, level] = sums.total[level, arm] / count + width
                    largest = max(largest, abs(values[arm, level]))
        for arm in range(arms):
            for level in range(1, steps + 1):
                if not sums.count[level, arm] > 0.0:
                    values[arm, level] = _UNTRIED * largest * (1.0 + 1e-3 * rng.random())
        share_levels(values, steps, shares)
