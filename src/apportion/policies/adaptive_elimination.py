"""Elimination that can be undone: finite regret for fixed gaps, and the right rate in the worst case."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from apportion import checks
from apportion.estimators import mu_star
from apportion.policies.contract import Policy
from apportion.policies.shared import power_floor, recommended_floor
from apportion.statistics import InformationSums


class AdaptiveElimination(Policy):
    """Even shares over a race that is re-run every period; excluded arms keep the floor t^(−α)/K.

    Arm i is in the race when μ*_i + r_i ≥ max_j (μ*_j − r_j), r_i = c·σ√((2·log(t+1) + 2·log K)/B_i), with
    the clock t in place of the horizon T. An arm that was excluded by bad luck comes back when its interval,
    which the floor keeps shrinking, says so.

    Guarantee: c = `scale` = 1 makes the radii hold with probability 1 − O(1/(K·t²)); with b > 1/2 and a floor
    with 1 < α < 1/(2−2b) both rates of the paper are met up to logarithms: regret that stays finite for fixed
    gaps, and K^(1−b)·√T over all gaps. Measured: c = 0.5 is several times better and loses the proof. At
    b ≤ 1/2 there is no summable floor that still learns, so none is kept and only the elimination remains.

    >>> AdaptiveElimination(b=0.75, scale=0.5)
    AdaptiveElimination(b=0.75, scale=0.5)
    """

    b: float
    sigma: float = 1.0
    scale: float = 1.0
    floor: float | None = None

    rule = "splits evenly over the arms that may still be the best, and keeps an eye on the others"

    @property
    def reads(self) -> Any:
        """The sums that the decision looks at."""
        return InformationSums

    class Record(NamedTuple):
        """The parameters with the floor's exponent resolved."""

        sigma: float
        scale: float
        floor: float

    def __post_init__(self) -> None:
        b = checks.number("b", self.b, low=0.0, high=1.0)
        self._set(
            b=b,
            sigma=checks.number("sigma", self.sigma, above=0.0),
            scale=checks.number("scale", self.scale, above=0.0),
            floor=None if self.floor is None else checks.number("floor", self.floor, low=0.0),
        )

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve the floor's exponent."""
        floor = recommended_floor(self.b) if self.floor is None else self.floor
        return self.Record(self.sigma, self.scale, floor)

    def allocate(self: Any, period: Any, seen: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Re-run the race, then even shares and floors."""
        arms = len(shares)
        width = self.scale * self.sigma * math.sqrt(2.0 * math.log(period.number + 1.0) + 2.0 * math.log(arms))
        bar = -math.inf
        for arm in range(arms):
            if seen.information[arm] > 0.0:
                bar = max(bar, mu_star(seen, arm) - width / math.sqrt(seen.information[arm]))
        active = 0
        for arm in range(arms):
            shares[arm] = 1.0
            if seen.information[arm] > 0.0:
                high = mu_star(seen, arm) + width / math.sqrt(seen.information[arm])
                shares[arm] = 1.0 if high >= bar else 0.0
            active += shares[arm] > 0.0
        floor = power_floor(period.number, self.floor, arms)
        share = (1.0 - (arms - active) * floor) / active
        for arm in range(arms):
            shares[arm] = share if shares[arm] > 0.0 else floor
