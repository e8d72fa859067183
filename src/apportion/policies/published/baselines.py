"""What people do today: a bandit library's UCB, all on one arm, and a response curve every quarter."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements
from apportion.model.response import best_shares
from apportion.model.sums import Floats, Sums, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import Number, Whole, parameter
from apportion.policies.shared import first_unseen, whole_unit

_LEAST_C, _LARGEST_C = 0.1, 0.95
# Every arm gets at least this part of an even share: a planner keeps every channel open.
_LEAST_PART = 0.02


class RiverUCB(Policy):
    """The UCB of the river library as its users have it: the whole budget on the arm with the largest index.

    Index: mean outcome + δ·√(2·log n / n_i), n_i how often arm i was played and n all plays (river.bandit.UCB,
    `delta` = δ, without a reward scaler). Pooled and without context: amounts are not looked at, and nothing is
    divided.

    Guarantee: log T where outcomes are of size about δ and returns are in proportion (Auer, Cesa-Bianchi and Fischer
    2002). Where it fails: returns that diminish, for which one arm is never the answer; outcomes in a unit of which δ
    is not the size; means that move.

    >>> RiverUCB()
    RiverUCB()
    """

    delta: float = parameter(Number(above=0.0, hint="weight of the bonus"), default=1.0)

    rule = "puts everything on the arm with the best optimistic mean"
    laboratory = True
    reads = Sums

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Arms never tried first, then the largest index."""
        chosen = first_unseen(sums.count, rng)
        if chosen < 0:
            plays = 0.0
            for arm in range(len(shares)):
                plays += sums.count[arm]
            best, chosen = -math.inf, 0
            for arm in range(len(shares)):
                count = sums.count[arm]
                index = sums.reward[arm] / count + self.delta * math.sqrt(2.0 * math.log(plays) / count)
                if index > best:
                    best, chosen = index, arm
        whole_unit(chosen, shares)


class RefitSums(NamedTuple):
    """Of each arm, over positive outcomes: n, Σ log A, Σ log Y, Σ log² A, Σ log A·log Y; its share in the plan."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    amount: Floats
    outcome: Floats
    amount_square: Floats
    product: Floats
    plan: Floats

    def take(self, arms: Any) -> "RefitSums":
        """The sums of some arms, in the order asked for."""
        return RefitSums(*(values[arms] for values in self))


@implements(observe, RefitSums)
def _observe_logs(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    if outcome > 0.0:
        log, returned = math.log(powers.amount), math.log(outcome)
        sums.count[arm] += 1.0
        sums.amount[arm] += log
        sums.outcome[arm] += returned
        sums.amount_square[arm] += log * log
        sums.product[arm] += log * returned


class QuarterlyRefit(Policy):
    """A response curve refitted every quarter: an even plan at first, then the optimum of the curve, until the next.

    Every `quarter` periods log Y is regressed on log A, an intercept per arm and one slope c for all (kept in 0.1 to
    0.95), over all that was observed so far; the plan is then the optimal split for μ_i·A^c, no arm below a fiftieth
    of an even share. From period to period spend varies around the plan by `variation`, as budgets do; without that
    the curve could not be fitted at all. This is how marketing-mix models are used (Robyn, Meridian, PyMC-Marketing),
    made as simple as it can be: no carry-over, no priors. 90 is for days; in the real worlds of weeks and months the
    studies set 13 and 3.

    Guarantee: none. Where it fails: outcomes of 0 or less have no logarithm and are left out, which biases noisy arms
    upwards; what happens within a quarter is acted on after it; old data count as much as new.

    >>> QuarterlyRefit(quarter=13)
    QuarterlyRefit(quarter=13)
    """

    quarter: int = parameter(Whole(low=2, hint="periods from one plan to the next"), default=90)
    variation: float = parameter(Number(above=0.0, hint="how spend varies around the plan"), default=0.2)

    rule = "keeps to a plan and fits it anew every quarter"
    laboratory = True
    reads = RefitSums
    randomised = True

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The plan, varied; a new one after every quarter."""
        arms = len(shares)
        if not sums.plan[0] > 0.0:
            for arm in range(arms):
                sums.plan[arm] = 1.0 / arms
        if period.number > 1 and (period.number - 1) % self.quarter == 0:
            slope, spread = 0.0, 0.0
            for arm in range(arms):
                if sums.count[arm] > 1.0:
                    middle = sums.amount[arm] / sums.count[arm]
                    spread += sums.amount_square[arm] - middle * sums.amount[arm]
                    slope += sums.product[arm] - middle * sums.outcome[arm]
            c = min(max(slope / spread, _LEAST_C), _LARGEST_C) if spread > 0.0 else 0.5
            levels = np.zeros(arms)
            top = -math.inf
            for arm in range(arms):
                levels[arm] = -math.inf
                if sums.count[arm] > 0.0:
                    levels[arm] = (sums.outcome[arm] - c * sums.amount[arm]) / sums.count[arm]
                    top = max(top, levels[arm])
            if top > -math.inf:
                for arm in range(arms):
                    levels[arm] = math.exp(levels[arm] - top)
                best_shares(levels, c, sums.plan)
                for arm in range(arms):
                    sums.plan[arm] = (1.0 - _LEAST_PART) * sums.plan[arm] + _LEAST_PART / arms
        total = 0.0
        for arm in range(arms):
            shares[arm] = sums.plan[arm] * math.exp(self.variation * rng.standard_normal())
            total += shares[arm]
        for arm in range(arms):
            shares[arm] /= total
