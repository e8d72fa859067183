"""The policy this package recommends where b and σ are known: divide by the odds above b = 1/2, pool below."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from apportion import checks
from apportion.estimators import mu_star
from apportion.kernels import kernel
from apportion.policies.contract import Policy
from apportion.policies.shared import (
    leading_arm,
    log_odds_of_tail,
    open_shares,
    power_floor,
    recommended_floor,
    recommended_tilt,
    share_by_weight,
)
from apportion.statistics import InformationSums

# A rival at even odds with the leader gets this much of the leader's share. Less learns too slowly, and the tail of
# the regret grows; more pays for knowledge that comes anyway. Between 0.3 and 1 the mean falls as the tail rises.
RIVAL = 0.5


class Recommended(Policy):
    """Above b = 1/2: the leader weighs 1, every other arm ½·(1 − t/T)·odds^√κ. At b ≤ 1/2: an optimistic index.

    - b > 1/2: the odds q/(1−q) are those of arm i against the leader, with
      q = Φ(−(μ*_lead − μ*_i)/(σ√(1/B_i + 1/B_lead))), and κ = 1/(2−2b), as in `Odds`. What is new is the weight ½ of
      a rival at even odds, and that exploration fades towards a horizon T where one is known: what is learned late
      cannot be used. No share falls below about t^(−α)/K, α = (1 + κ)/2, so a wrong leader is found out at a
      finite cost.
    - b ≤ 1/2: after a first even split, everything on the arm with the largest
      μ* + σ√(2·max(0, log(T/(K·n)))/B), n the number of its outcomes; without a horizon t stands for T. This is the
      index of MOSS with the constant of the Gaussian case.

    What is known: nothing is proven about the dividing half; its regret was measured to stay finite for b > 1/2. For
    the pooling half with a known horizon, MOSS with a larger constant has regret O(√(KT)); the constant here is
    smaller and measured better. `apportion leaderboard` shows it against all others.

    >>> Recommended(b=0.75)
    Recommended(b=0.75)
    """

    b: float
    sigma: float = 1.0
    horizon: int | None = None

    rule = "divides by each arm's odds of beating the leader, or pools where small shares tell too little"

    class Record(NamedTuple):
        """The exponents, and which half of the rule applies."""

        sigma: float
        tilt: float
        floor: float
        pool: bool
        horizon: int

    def __post_init__(self) -> None:
        self._set(
            b=checks.number("b", self.b, low=0.0, high=1.0),
            sigma=checks.number("sigma", self.sigma, above=0.0),
            horizon=None if self.horizon is None else checks.whole("horizon", self.horizon, low=1),
        )

    @property
    def reads(self) -> Any:
        """The sums that the decision looks at."""
        return InformationSums

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve the exponents; a horizon of 0 is unknown."""
        periods = self.horizon or horizon or 0
        return self.Record(self.sigma, recommended_tilt(self.b), recommended_floor(self.b), self.b <= 0.5, periods)

    def allocate(self: Any, period: Any, seen: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Pool by index or divide by odds."""
        arms = len(shares)
        left = open_shares(seen.information, shares)
        if left <= 0.0:  # the first period: an even look at everything, which may already tell the best from the rest
            return
        if self.pool:
            shares[optimistic_arm(self, period.number, seen, rng)] = left
            return
        leader = leading_arm(seen.score, seen.information, rng)
        ahead = 1.0 - (period.number - 1.0) / self.horizon if self.horizon >= period.number else 1.0
        rival = RIVAL * ahead
        best = mu_star(seen, leader)
        doubt = 1.0 / seen.information[leader]
        for arm in range(arms):
            if seen.information[arm] > 0.0:
                gap = best - mu_star(seen, arm)
                z = gap / (self.sigma * math.sqrt(1.0 / seen.information[arm] + doubt))
                shares[arm] = rival * math.exp(self.tilt * log_odds_of_tail(z))
        shares[leader] = 1.0
        share_by_weight(shares, seen.information, left, power_floor(period.number, self.floor, arms), leader)


@kernel
def optimistic_arm(policy: Any, number: int, seen: Any, rng: Any) -> int:
    """The observed arm with the largest index, ties broken by chance."""
    arms = len(seen.information)
    periods = max(policy.horizon, number)
    best = -math.inf
    chosen = -1
    ties = 0
    for arm in range(arms):
        if seen.information[arm] > 0.0:
            variance = 1.0 / seen.information[arm]
            room = math.log(periods / (arms * max(seen.count[arm], 1.0)))
            index = seen.score[arm] * variance + policy.sigma * math.sqrt(2.0 * max(0.0, room) * variance)
            if index > best:
                best, chosen, ties = index, arm, 1
            elif index == best:
                ties += 1
                if rng.random() * ties < 1.0:
                    chosen = arm
    return chosen
