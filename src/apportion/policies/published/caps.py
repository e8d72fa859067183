"""Policies for jobs that complete with probability min(1, A/ν_i) (`apportion.Jobs`)."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements, kernel
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import HORIZON, Number, parameter

# A weight 1/(1 − A/ν̄) is no larger than this.
_LARGEST_WEIGHT = 1e6
# The optimistic return of a job of which nothing is known.
_UNKNOWN = 1e12
# An amount may exceed the one that was meant by rounding only.
_ROUNDING = 1.0 + 1e-9


class CapSums(NamedTuple):
    """What both rules keep of each job.

    `count` outcomes; `spent` = Σ w·A, `returned` = Σ w·X, `variance` = Σ w·A/ν̲ and `largest` = max w over those with
    A ≤ ν̲, for which the chance is A/ν exactly; `lower` and `upper` bound ν (0: no bound yet); `failed`, the largest
    amount that failed, which ν exceeds for certain; `successes` without a failure since `step` was changed; `meant`,
    the amount that is to show whether it is enough.
    """

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    spent: Floats
    returned: Floats
    variance: Floats
    largest: Floats
    lower: Floats
    upper: Floats
    failed: Floats
    successes: Floats
    step: Floats
    meant: Floats

    def take(self, arms: Any) -> "CapSums":
        """The sums of some arms, in the order asked for."""
        return CapSums(*(values[arms] for values in self))


@implements(observe, CapSums)
def _observe(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    amount = powers.amount
    sums.count[arm] += 1.0
    success = 1.0 if outcome > 0.5 else 0.0
    if success > 0.0:
        if amount > sums.failed[arm]:
            sums.successes[arm] += 1.0
            if amount * _ROUNDING < sums.meant[arm]:  # a job that got less than was meant shows that less may do
                sums.step[arm], sums.meant[arm] = amount - sums.failed[arm], amount
    else:
        if amount * _ROUNDING >= sums.meant[arm] and sums.meant[arm] > 0.0:
            sums.step[arm] *= 2.0
        sums.successes[arm] = 0.0
        sums.failed[arm] = max(sums.failed[arm], amount)
    lower = sums.lower[arm]
    if amount <= lower * _ROUNDING:
        weight = 1.0
        if sums.upper[arm] > 0.0:
            weight = min(_LARGEST_WEIGHT, 1.0 / max(1.0 - amount / sums.upper[arm], 1.0 / _LARGEST_WEIGHT))
        sums.spent[arm] += weight * amount
        sums.returned[arm] += weight * success
        sums.variance[arm] += weight * amount / lower
        sums.largest[arm] = max(sums.largest[arm], weight)


class OptimisticAllocation(Policy):
    """Jobs are given the least that may be enough, those first that may need least (Lattimore et al. 2014).

    For each job 1/ν is estimated by Σ w·X / Σ w·A with w = 1/(1 − A/ν̄), the inverse of what the variance can be:
    an outcome is worth the more the nearer it was to certain. A Bernstein bound with the variance that was seen
    (their function f, level (KT)^(−2)) gives ν̲ ≤ ν ≤ ν̄, of which the tightest so far are kept; a failure at an amount
    proves that ν is larger. Jobs are given ν̲ in the order of ν̲ while the budget lasts. A job that never failed is
    given half of what it got last, as their start does; what is left over goes to all in proportion to ν̲.

    Guarantee (Lattimore, Crammer and Szepesvári 2014): regret of order log² T with known T. Without a horizon t²
    takes its place. Where it fails: outcomes other than 0 and 1 have no meaning here.

    >>> OptimisticAllocation(horizon=1000)
    OptimisticAllocation(horizon=1000)
    """

    horizon: int | None = parameter(HORIZON, default=None)

    rule = "gives jobs the least that may be enough, those first that may need least"
    laboratory = True
    reads = CapSums

    class Record(NamedTuple):
        """The horizon, 0 where it is unknown."""

        horizon: int

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The horizon of the policy, else of the run."""
        return self.Record(self.horizon or horizon or 0)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Bounds, then jobs in the order of the lower ones."""
        arms = len(shares)
        rounds = float(max(self.horizon, period.number)) if self.horizon > 0 else float(period.number) ** 2
        for arm in range(arms):
            lower = sums.lower[arm]
            if not sums.failed[arm] > 0.0:
                lower = 2.0 ** -sums.count[arm] / arms
            else:
                lower = max(lower if sums.count[arm] > 1.0 else 0.0, sums.failed[arm])
                if sums.spent[arm] > 0.0:
                    rate = sums.returned[arm] / sums.spent[arm]
                    radius = bernstein(sums.largest[arm], sums.variance[arm], (rounds * arms) ** -2.0)
                    radius /= sums.spent[arm]
                    lower = max(lower, 1.0 / (rate + radius))
                    if rate > radius:
                        upper = 1.0 / (rate - radius)
                        sums.upper[arm] = upper if sums.upper[arm] == 0.0 else min(upper, sums.upper[arm])
            sums.lower[arm] = lower
        fill(sums.lower, sums.lower, shares)


@kernel
def bernstein(largest: float, variance: float, level: float) -> float:
    """f(R, V²) of the paper: how far a sum of weighted outcomes may be from its mean, by a bound that knows V²."""
    spread, scale = variance + 1.0, (largest + 1.0) / 3.0
    log = math.log(2.0 / level) + math.log(3.0) + 2.0 * math.log(largest + 1.0) + 2.0 * math.log(spread)
    return scale * log + math.sqrt(2.0 * spread * log + scale * scale * log * log)


@kernel
def fill(order: Any, amounts: Any, shares: Any) -> None:
    """Give each arm its amount, those with the least `order` first, while one unit lasts; the rest in proportion."""
    left, total = 1.0, 0.0
    for arm in range(len(shares)):
        shares[arm] = 0.0
    for arm in np.argsort(order, kind="mergesort"):
        shares[arm] = min(amounts[arm], left)
        left = max(left - shares[arm], 0.0)
        total += shares[arm]
    if left > 0.0:
        for arm in range(len(shares)):
            shares[arm] += left * shares[arm] / total


class SteppedAllocation(Policy):
    """Jobs are given what is enough up to a step, which is halved while they succeed; a rule of ours, for log T.

    A failure at A proves ν > A. A job is given M = failed + step, where `failed` is the largest amount that failed.
    After `patience`·M/step successes in a row the step is halved; after a failure at M it is doubled; a job that is
    given less than M, as no more was left, and succeeds, goes on from there. Whether M is
    above or below ν, a step costs a constant number of jobs before it changes, and after T periods it is of size 1/T:
    log T in all, where a confidence bound at level 1/T pays another log T. Jobs are served in the order of an
    optimistic return per unit, X̄ + √(2·X̄·log t/S) + 2·log t/S, X̄ = ΣX/ΣA and S = ΣA.

    Dagan and Crammer (2018) prove log T for an algorithm of theirs, and that no better is possible. This is not it:
    it is a construction with the same aim, and its rate is measured (tests/policies/test_published.py), not proven.

    >>> SteppedAllocation(patience=2.0)
    SteppedAllocation(patience=2.0)
    """

    patience: float = parameter(Number(above=0.0, hint="successes before the step is halved, in M/step"), default=1.0)

    rule = "gives jobs what is enough up to a step, which it halves while they succeed"
    laboratory = True
    reads = CapSums

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Steps, then jobs in the order of their optimistic returns."""
        arms = len(shares)
        log = math.log(period.number + 1.0)
        for arm in range(arms):
            if not sums.step[arm] > 0.0:
                sums.step[arm] = 1.0 / arms
                sums.successes[arm] = 0.0
            meant = sums.failed[arm] + sums.step[arm]
            while sums.successes[arm] * sums.step[arm] > self.patience * meant:
                sums.successes[arm] -= self.patience * meant / sums.step[arm]
                sums.step[arm] *= 0.5
                meant = sums.failed[arm] + sums.step[arm]
            sums.meant[arm] = min(meant, 1.0)
            # What was spent is kept under `spent` whatever its amount, without weights.
            sums.lower[arm] = math.inf
            sums.upper[arm] = 0.0
        order = np.empty(arms)
        for arm in range(arms):
            order[arm] = -_UNKNOWN + sums.failed[arm]
            if sums.spent[arm] > 0.0:
                rate = sums.returned[arm] / sums.spent[arm]
                order[arm] = -(rate + math.sqrt(2.0 * rate * log / sums.spent[arm]) + 2.0 * log / sums.spent[arm])
        fill(order, sums.meant, shares)
