"""Nested bisection over a tree of arms, for concave returns of which slopes are seen (`apportion.ConcaveSlopes`)."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import HORIZON, NOISE_LEVEL, parameter


class TreeSums(NamedTuple):
    """The searches of `NestedBisection`, over a tree with the inner nodes 1 to K − 1 and the arms as its leaves, K to
    2K − 1; node n has the children 2n and 2n + 1.

    Of each arm: the outcomes at its present amount, `plays` and their sum `total`. Of each node: the interval `low`
    to `high` in which the best amount of its left child lies; `least` and `most`, between which the slope of its best
    value is known to lie; its amount, and whether that is `changed` in the present period.
    """

    plays: Floats
    total: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    changed: Floats
    amounts: Floats

    def take(self, arms: Any) -> "TreeSums":
        """The tree is over all arms, in their order."""
        del arms
        return self


class _Tree:
    """The kind of `TreeSums`."""

    def new(self, arms: int) -> TreeSums:
        """Before anything was observed."""
        plays, total = np.zeros((2, arms))
        return TreeSums(plays, total, *np.zeros((6, 2 * arms)))


@implements(observe, TreeSums)
def _observe_slope(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    sums.plays[arm] += 1.0
    sums.total[arm] += outcome


class NestedBisection(Policy):
    """Arms in a tree of pairs: at every node the part of its left half is found by bisection, from slopes.

    A node with the amount v has F(v) = max over z of F_left(z) + F_right(v − z), which is concave; at a leaf F is the
    arm's f. The left child gets the middle z of the interval in which the best z lies, the right one v − z. The slope
    of an arm is its mean outcome at its present amount ± σ_i·√(4·log T/n). At the best z both slopes are F'(v), to
    one side of it one is larger and the other smaller: so F'(v) lies between the least and the largest of what is
    known of the two, and once their ranges part it is known on which side the best z is. Then the half of the
    interval beyond z is cut off, and the searches below begin anew with their new amounts. An interval of 1/T is cut
    no further: it costs no more than the largest slope in all.

    From Fontaine, Mannor and Perchet (2020), *An adaptive stochastic optimization algorithm for resource allocation*.
    Guarantee (theirs): regret of order T^(1−β/2) for β < 2, and of a power of log T for β ≥ 2, times powers of log T
    that grow with log₂ K; β is the exponent of Łojasiewicz, which it need not know: 2 for curves that bend, less for
    flatter ones, ∞ for straight lines. Without a horizon t takes the place of T. Where it fails: outcomes must be
    slopes, as in `ConcaveSlopes`; where returns are seen they mislead it (`NoisyBisection` and `GradientAscent` are
    for those). Every cut at a node forgets what is below it, so the factor grows fast with K; and who is paired with
    whom is the order of the arms.

    >>> NestedBisection(sigma=0.1)
    NestedBisection(sigma=0.1)
    """

    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    horizon: int | None = parameter(HORIZON, default=None)

    rule = "finds the best part of each half of the arms by bisection, half by half"
    needs = "Needs outcomes that are slopes."
    laboratory = True
    reads = _Tree()

    class Record(NamedTuple):
        """σ per arm; the horizon, 0 where it is unknown."""

        sigma: Floats
        horizon: int

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The horizon of the policy, else of the run."""
        return self.Record(self.each_arm("sigma", arms), self.horizon or horizon or 0)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """From the leaves up what is known of the slopes, and cuts; then from the root down the amounts."""
        arms = len(shares)
        low, high, least, most = sums.low, sums.high, sums.least, sums.most
        changed, amounts = sums.changed, sums.amounts
        begins = period.number == 1 or amounts[1] == 0.0
        for node in range(1, 2 * arms):
            changed[node] = 1.0 if begins else 0.0
        rounds = float(max(self.horizon, period.number, 2))
        log, shortest = 4.0 * math.log(rounds), 1.0 / rounds
        for node in range(2 * arms - 1, 0, -1):
            if changed[node] > 0.0:
                continue
            if node >= arms:
                arm = node - arms
                if sums.plays[arm] > 0.0:
                    radius = self.sigma[arm] * math.sqrt(log / sums.plays[arm])
                    slope = sums.total[arm] / sums.plays[arm]
                    least[node], most[node] = slope - radius, slope + radius
                continue
            left, right = 2 * node, 2 * node + 1
            # What was learned at this node's amount stays true of it, whatever its children are given.
            least[node] = max(least[node], min(least[left], least[right]))
            most[node] = min(most[node], max(most[left], most[right]))
            if high[node] - low[node] > shortest:
                middle = 0.5 * (low[node] + high[node])
                if least[left] > most[right]:
                    low[node] = middle
                    changed[left] = changed[right] = 1.0
                elif least[right] > most[left]:
                    high[node] = middle
                    changed[left] = changed[right] = 1.0
            elif low[node] == 0.0 or high[node] == amounts[node]:
                # One child is to get nothing: more would go to the other, whose slope is the larger one.
                least[node] = max(least[node], least[left], least[right])
        amounts[1] = 1.0
        for node in range(1, 2 * arms):
            if changed[node] > 0.0:
                least[node], most[node] = -math.inf, math.inf
            if node >= arms:
                arm = node - arms
                if changed[node] > 0.0:
                    sums.plays[arm], sums.total[arm] = 0.0, 0.0
                shares[arm] = amounts[node]
                continue
            if changed[node] > 0.0:
                low[node], high[node] = 0.0, amounts[node]
                changed[2 * node] = changed[2 * node + 1] = 1.0
            amounts[2 * node] = 0.5 * (low[node] + high[node])
            amounts[2 * node + 1] = amounts[node] - amounts[2 * node]
