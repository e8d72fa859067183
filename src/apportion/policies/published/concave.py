"""Policies for any concave returns, from values with noise (`apportion.Concave`): bisection, and ascent."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements
from apportion._common.validation import refuse
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import NOISE_LEVEL, Number, parameter

POINTS = 3
# No share of the ascent falls below this part of an even one.
_LEAST_PART = 0.05
# No share changes by more than a factor e^0.5 in a step.
_LARGEST_STEP = 0.5
# A slope is taken where the two amounts differ by at least this part.
_LEAST_CHANGE = 1e-6
# The first steps are no larger than this many pairs later.
_LATER = 20.0


class BisectionSums(NamedTuple):
    """The search of `NoisyBisection`: `interval` (low, high), the plays and total returns of the three points, and
    which of them is `playing`."""

    interval: Floats
    plays: Floats
    total: Floats
    playing: Floats

    def take(self, arms: Any) -> "BisectionSums":
        """There are two arms, in their order."""
        del arms
        return self


class _Bisection:
    """The kind of `BisectionSums`."""

    def new(self, arms: int) -> BisectionSums:
        """Before anything was observed."""
        del arms
        return BisectionSums(np.array([0.0, 1.0]), np.zeros(POINTS), np.zeros(POINTS), np.zeros(1))


@implements(observe, BisectionSums)
def _observe_total(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    sums.total[int(sums.playing[0])] += outcome


class NoisyBisection(Policy):
    """Two arms: the share of the first is found by bisection, from three points that are played in turn.

    The total return g(x) = f₁(x) + f₂(1 − x) is concave. Of the interval that holds its best point, the points at
    1/4, 1/2 and 3/4 are played until the means of two of them differ by more than their radii, σ√2·√(2·log t/n) each.
    Then the end beyond the lower one is cut off: a point of a concave function that is lower than another lies on the
    wrong side of the best one, seen from that. While none differ, all three are nearly as good as the best.

    From Fontaine, Mannor and Perchet (2020), who bisect on the sign of a gradient that they observe with noise; from
    values instead of gradients a test takes two points, as in Agarwal, Foster, Hsu, Kakade and Rakhlin (2011), whose
    proof of √T (up to logarithms) covers this. Where it fails: it knows two arms only (`NestedBisection` has theirs,
    over a tree of arms, for worlds that show slopes).

    >>> NoisyBisection(sigma=0.1)
    NoisyBisection(sigma=0.1)
    """

    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)

    rule = "finds the best share of the first of two arms by bisection"
    needs = "Needs two arms."
    laboratory = True
    reads = _Bisection()

    class Record(NamedTuple):
        """The standard deviation of the total return."""

        sigma: float

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Noise of both arms together."""
        if arms != 2:
            raise refuse("arms", "2 for NoisyBisection", arms)
        return self.Record(float(np.sqrt((self.each_arm("sigma", arms) ** 2).sum())))

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Cut what can be cut, then play the next of the three points."""
        if period.number == 1:
            sums.interval[0], sums.interval[1] = 0.0, 1.0
            sums.plays[:] = 0.0
            sums.total[:] = 0.0
        low, high = sums.interval[0], sums.interval[1]
        width = high - low
        if sums.plays[0] > 0.0 and sums.plays[1] > 0.0 and sums.plays[2] > 0.0:
            log = math.log(period.number + 1.0)
            for one in range(POINTS):
                for other in range(POINTS):
                    radius = (
                        self.sigma
                        * math.sqrt(2.0 * log)
                        * (1.0 / math.sqrt(sums.plays[one]) + 1.0 / math.sqrt(sums.plays[other]))
                    )
                    behind = sums.total[other] / sums.plays[other] - sums.total[one] / sums.plays[one]
                    if behind > radius:
                        if one < other:
                            sums.interval[0] = max(sums.interval[0], low + width * (one + 1) / 4.0)
                        else:
                            sums.interval[1] = min(sums.interval[1], low + width * (one + 1) / 4.0)
        if sums.interval[0] > low or sums.interval[1] < high:
            low, high = sums.interval[0], sums.interval[1]
            width = high - low
            sums.plays[:] = 0.0
            sums.total[:] = 0.0
        point = period.number % POINTS
        sums.playing[0] = float(point)
        sums.plays[point] += 1.0
        shares[0] = low + width * (point + 1) / 4.0
        shares[1] = 1.0 - shares[0]


class AscentSums(NamedTuple):
    """Of each arm: its share `base` before it is varied, the `sign` of the variation, the first of two amounts and
    outcomes (`pair_amount`, `pair_outcome`; 0: none yet), its last `slope`, and Σ Y, Σ A for the scale."""

    base: Floats
    sign: Floats
    pair_amount: Floats
    pair_outcome: Floats
    slope: Floats
    returned: Floats
    spent: Floats

    def take(self, arms: Any) -> "AscentSums":
        """The sums of some arms, in the order asked for."""
        return AscentSums(*(values[arms] for values in self))


@implements(observe, AscentSums)
def _observe_pair(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    amount = powers.amount
    sums.returned[arm] += outcome
    sums.spent[arm] += amount
    if sums.pair_amount[arm] == 0.0:
        sums.pair_amount[arm], sums.pair_outcome[arm] = amount, outcome
    else:
        sums.slope[arm] = math.nan
        if abs(amount - sums.pair_amount[arm]) > _LEAST_CHANGE * amount:
            sums.slope[arm] = (outcome - sums.pair_outcome[arm]) / (amount - sums.pair_amount[arm])
        sums.pair_amount[arm] = 0.0


class GradientAscent(Policy):
    """Every arm's slope from two periods, one with a little more and one with a little less; then a step uphill.

    Shares are varied by ±`variation`·n^(−1/4) in the n-th pair of periods, with signs by chance; the slope of an arm
    is the difference of its two outcomes over that of its two amounts. Then each share x is multiplied by
    exp(`rate`/(n + 20)·x·(slope − s̄)/scale), s̄ the mean slope with weights x² and the scale the mean return per
    unit, and all are normalised: mirror ascent on the simplex, in which noise counts alike for small and large
    shares, with the finite differences of Kiefer and Wolfowitz (1952).

    Fontaine, Mannor and Perchet (2020) start from stochastic gradient ascent, which needs to know how much the curves
    bend; with values instead of gradients its regret is of order √T at best, and the powers here are those of that
    case. Where it fails: an arm with little is learned of slowly, and noise that is large beside the variation makes
    it wander.

    >>> GradientAscent(rate=1.0)
    GradientAscent(rate=1.0)
    """

    rate: float = parameter(Number(above=0.0, hint="size of the steps"), default=3.0)
    variation: float = parameter(Number(above=0.0, below=1.0, hint="part by which shares vary at first"), default=0.3)

    rule = "varies every share a little and moves budget to where a little more brought most"
    laboratory = True
    reads = AscentSums
    randomised = True

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """A step after every pair, then the first or the second of the next."""
        arms = len(shares)
        first = period.number % 2 == 1
        if period.number == 1 or not sums.base[0] > 0.0:
            for arm in range(arms):
                sums.base[arm] = 1.0 / arms
        pair = (period.number + 1) // 2
        if first and period.number > 1:
            returned, spent = 0.0, 0.0
            for arm in range(arms):
                returned += abs(sums.returned[arm])
                spent += sums.spent[arm]
            scale = returned / spent if returned > 0.0 and spent > 0.0 else 1.0
            weights, middle = 0.0, 0.0
            for arm in range(arms):
                if not math.isnan(sums.slope[arm]):
                    weights += sums.base[arm] ** 2
                    middle += sums.base[arm] ** 2 * sums.slope[arm]
            middle /= max(weights, _LEAST_PART**2)
            total = 0.0
            for arm in range(arms):
                slope = middle if math.isnan(sums.slope[arm]) else sums.slope[arm]
                ahead = sums.base[arm] * (slope - middle) / scale
                step = self.rate / (pair + _LATER) * ahead
                sums.base[arm] *= math.exp(min(max(step, -_LARGEST_STEP), _LARGEST_STEP))
                total += sums.base[arm]
            for arm in range(arms):
                sums.base[arm] = max(sums.base[arm] / total, _LEAST_PART / arms)
        if first:
            draws = np.empty(arms)
            for arm in range(arms):
                draws[arm] = rng.random()
            order = np.argsort(draws)
            for rank in range(arms):
                sums.sign[order[rank]] = 1.0 if 2 * rank < arms else -1.0
                sums.pair_amount[rank] = 0.0
        size = self.variation * pair**-0.25
        total = 0.0
        for arm in range(arms):
            shares[arm] = sums.base[arm] * (1.0 + (size if first else -size) * sums.sign[arm])
            total += shares[arm]
        for arm in range(arms):
            shares[arm] /= total
