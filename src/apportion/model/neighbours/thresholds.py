"""Arms that return nothing below a threshold and all above."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import number, refuse
from apportion.model.law import numbers_per_arm, positive_per_arm, span
from apportion.model.sums import Floats
from apportion.model.world import World

# With thresholds that differ the best set of arms is found by looking at every set.
MOST_SETS_ARMS = 16
# A sum of thresholds may exceed a budget, and a threshold an amount, by so much of it and of one: rounding only.
_SLACK = 1e-12


class ThresholdsRecord(NamedTuple):
    """Thresholds as compiled code sees them; `value` is that of the best split of one unit."""

    rates: Floats
    thresholds: Floats
    value: float


class Thresholds(World):
    """Nothing below a threshold, all above: arm i returns 1 with probability μ_i where A ≥ θ_i, else 0.

    The best split gives θ_i to the set of arms with the largest Σ μ_i that can be paid for: with one threshold for
    all the largest rates, else a knapsack (every set is looked at: at most 16 arms then). Regret is Σ of the rates
    that were given up.

    Literature: Verma, Hanawal, Rajkumar and Sankaran (2019), *Censored semi-bandits*, where an arm *loses* 1 with
    probability μ_i unless it got θ_i. What is earned there, losses that were averted, is what is earned here, and so
    is the regret; but there arms show their losses while they get too little, and here they show returns while they
    get enough (as in Verma and Hanawal 2020, *Stochastic network utility maximization with unknown utilities*), since
    an arm that gets nothing is not observed. `published.CensoredMultiplePlays` is theirs by multiple plays; regret is
    log T.

    >>> world = Thresholds(rates=(0.9, 0.5, 0.8), threshold=(0.6, 0.3, 0.5))
    >>> world.best_split, round(abs(world.regret([0.6, 0.4, 0.0])), 6), round(world.regret([0.5, 0.0, 0.5]), 6)
    ((0.6, 0.4, 0.0), 0.0, 0.6)
    """

    rates: tuple[float, ...]
    threshold: float | tuple[float, ...] = 0.25

    Record = ThresholdsRecord

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", chances_per_arm("rates", self.rates))
        object.__setattr__(self, "threshold", positive_per_arm("threshold", self.threshold, self.arms))
        if len(set(self.thresholds)) > 1 and self.arms > MOST_SETS_ARMS:
            raise refuse("threshold", f"one number where there are more than {MOST_SETS_ARMS} arms", self.threshold)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """θ_i, one per arm."""
        return self.threshold if isinstance(self.threshold, tuple) else (self.threshold,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what is left over is with the last arm that gets something."""
        chosen = np.zeros(self.arms)
        best_set(np.array(self.rates), np.array(self.thresholds), 1.0, chosen)
        shares, arms = chosen * np.array(self.thresholds), np.flatnonzero(chosen)
        shares[arms[-1] if len(arms) else 0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Thresholds K={self.arms} θ={span(self.thresholds)} μ={span(self.rates)}"

    def record(self, b: float | None = None, c: float | None = None) -> ThresholdsRecord:
        """The rates, the thresholds, and the value of one unit."""
        del b, c
        rates, thresholds = np.array(self.rates), np.array(self.thresholds)
        return self.Record(rates, thresholds, best_set(rates, thresholds, 1.0, np.zeros(self.arms)))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """μ where the amount is enough, else 0; a success or not."""
        threshold = self.thresholds[arm]
        chance = self.rates[arm] if amount >= threshold - _SLACK * (1.0 + threshold) else 0.0
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """Σ μ over the best set that can be paid for."""
        if budget == 1.0:
            return self.value
        return best_set(self.rates, self.thresholds, budget, np.zeros(len(self.rates)))


@kernel
def best_set(rates: Any, thresholds: Any, budget: float, chosen: Any) -> float:
    """The value of the best set of arms that can be paid for, which is written into `chosen` as ones."""
    arms, most, alike = len(rates), budget + _SLACK * (1.0 + budget), True
    for arm in range(arms):
        chosen[arm] = 0.0
        alike = alike and thresholds[arm] == thresholds[0]
    if alike:
        cost, value = thresholds[0], 0.0
        for arm in np.argsort(-rates, kind="mergesort"):
            if cost <= most:
                chosen[arm] = 1.0
                value += rates[arm]
                cost += thresholds[0]
        return value
    best, which = 0.0, 0
    for members in range(1 << arms):
        cost, value = 0.0, 0.0
        for arm in range(arms):
            if (members >> arm) & 1:
                cost += thresholds[arm]
                value += rates[arm]
        if cost <= most and value > best:
            best, which = value, members
    for arm in range(arms):
        chosen[arm] = 1.0 if (which >> arm) & 1 else 0.0
    return best


def chances_per_arm(name: str, values: Any) -> tuple[float, ...]:
    """One probability per arm."""
    given = numbers_per_arm(name, values)
    return tuple(number(f"{name}[{arm}]", value, low=0, high=1) for arm, value in enumerate(given))
