"""Policies for jobs that complete with probability min(1, A/ν_i) (`apportion.Jobs`): of 2014, and of 2018."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements, kernel
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import HORIZON, Number, parameter

# A weight 1/(1 − A/ν̄) is no larger than this.
_LARGEST_WEIGHT = 1e6
# An amount may exceed the one that was meant by rounding only.
_ROUNDING = 1.0 + 1e-9
# What a job is tried with that never failed is halved no further than this.
_LEAST = 1e-100


class CapSums(NamedTuple):
    """What `OptimisticAllocation` keeps of each job.

    `count` outcomes; `spent` = Σ w·A, `returned` = Σ w·X, `variance` = Σ w·A/ν̲ and `largest` = max w over those with
    A ≤ ν̲, for which the chance is A/ν exactly; `lower` and `upper` bound ν (0: no bound yet); `failed`, the amount
    that failed first, which ν exceeds for certain (0: none did).
    """

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    spent: Floats
    returned: Floats
    variance: Floats
    largest: Floats
    lower: Floats
    upper: Floats
    failed: Floats

    def take(self, arms: Any) -> "CapSums":
        """The sums of some arms, in the order asked for."""
        return CapSums(*(values[arms] for values in self))


@implements(observe, CapSums)
def _observe(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    amount = powers.amount
    sums.count[arm] += 1.0
    success = 1.0 if outcome > 0.5 else 0.0
    if sums.failed[arm] == 0.0:  # the start
        sums.failed[arm] = 0.0 if success > 0.0 else amount
        return
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
    an outcome is worth the more the nearer it was to certain. A Bernstein bound with the variance that was seen,
    f(R, V²)/Σ w·A at level δ = (KT)^(−2) (`bernstein`), gives ν̲ ≤ ν ≤ ν̄, of which the tightest so far are kept. Jobs
    are given ν̲ in the order of ν̲ while the budget lasts. A job that never failed is given half of what it got last;
    the amount of the first failure is its first ν̲.

    Theirs may leave budget unspent; here what is left over goes to one job, each in its turn, and outcomes of amounts
    above ν̲ are not counted.

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
            if sums.failed[arm] == 0.0:
                sums.lower[arm] = max(0.5 ** sums.count[arm] / arms, _LEAST)
            elif sums.spent[arm] == 0.0:
                sums.lower[arm] = sums.failed[arm]
            else:
                rate = sums.returned[arm] / sums.spent[arm]
                radius = bernstein(sums.largest[arm], sums.variance[arm], (rounds * arms) ** -2.0) / sums.spent[arm]
                sums.lower[arm] = max(sums.lower[arm], 1.0 / (rate + radius))
                if rate > radius:
                    upper = 1.0 / (rate - radius)
                    sums.upper[arm] = upper if sums.upper[arm] == 0.0 else min(upper, sums.upper[arm])
        left = 1.0
        for arm in np.argsort(sums.lower, kind="mergesort"):
            shares[arm] = min(sums.lower[arm], left)
            left = max(left - shares[arm], 0.0)
        spend_rest(period.number, left, shares)


@kernel
def bernstein(largest: float, variance: float, level: float) -> float:
    """f(R, V²) = (R+1)/3·L + √(2(V²+1)·L + ((R+1)/3·L)²), L = log(2/δ₀), δ₀ = δ/(3(R+1)²(V²+1)²): how far a sum of
    weighted outcomes may be from its mean, by a bound that knows V²."""
    spread, scale = variance + 1.0, (largest + 1.0) / 3.0
    log = math.log(2.0 / level) + math.log(3.0) + 2.0 * math.log(largest + 1.0) + 2.0 * math.log(spread)
    return scale * log + math.sqrt(2.0 * spread * log + scale * scale * log * log)


@kernel
def spend_rest(number: int, left: float, shares: Any) -> None:
    """What is left over goes to one job, each in its turn: all others get what was meant, from which is learned."""
    shares[number % len(shares)] += left


class MARASums(NamedTuple):
    """What `MARA` keeps of each job: `failed`, the largest amount that failed (0: none did); `offset`, what was to be
    given beyond it, and `tested`, what was given beyond it over all periods; `spent` and `returned`, the sums over
    amounts that it exceeds for certain."""

    failed: Floats
    offset: Floats
    tested: Floats
    spent: Floats
    returned: Floats

    def take(self, arms: Any) -> "MARASums":
        """The sums of some arms, in the order asked for."""
        return MARASums(*(values[arms] for values in self))


@implements(observe, MARASums)
def _observe_failure(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    amount, failed = powers.amount, sums.failed[arm]
    success = 1.0 if outcome > 0.5 else 0.0
    if failed > 0.0:
        if amount <= failed * _ROUNDING:
            sums.spent[arm] += amount
            sums.returned[arm] += success
        else:  # more than was meant, because it was left over, tests no more than what was meant
            sums.tested[arm] += min(amount - failed, sums.offset[arm])
    if success == 0.0:
        sums.failed[arm] = max(failed, amount)


class MARA(Policy):
    """Jobs are given what failed before and a little more, less and less as it succeeds (Dagan and Crammer 2018).

    A failure at A proves ν > A: ν_det is the largest amount that failed. A job is to get ν_det + r,
    r = q·ν_det·exp(−S/(q·ν_det)), S what it got beyond ν_det so far and q > 2 (`coefficient`); one that never failed
    1/(K·2^(t−1)). Jobs are served in the order of max(ν_det, ν_prob) while the budget lasts, where
    ν_prob = (√(ζ/2S′) + √(ζ/2S′ + X′/S′))^(−2) bounds ν from below with ζ = (√½ + √(½ + log(K·t³)))², S′ and X′ the
    amounts and successes up to ν_det. Where less than ν_det + r is left, but more than ν_det, the job gets ν_det or
    all that is left, each with chance ½. Theirs may leave budget unspent; here it goes to one job, each in its turn.

    Guarantee (Dagan and Crammer 2018): regret of order log T, and no policy has less. Where it fails: outcomes other
    than 0 and 1 have no meaning here.

    >>> MARA(coefficient=3.0)
    MARA(coefficient=3.0)
    """

    coefficient: float = parameter(Number(above=2.0, hint="size of what is given beyond a failure"), default=2.5)

    rule = "gives jobs what failed before and a little more, which shrinks as it keeps succeeding"
    laboratory = True
    reads = MARASums
    randomised = True

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Offsets and bounds, then jobs in the order of the bounds."""
        arms = len(shares)
        order = np.empty(arms)
        zeta = (math.sqrt(0.5) + math.sqrt(0.5 + math.log(arms) + 3.0 * math.log(period.number))) ** 2
        for arm in range(arms):
            failed = sums.failed[arm]
            size = self.coefficient * failed
            sums.offset[arm] = size * math.exp(-sums.tested[arm] / size) if failed > 0.0 else 0.0
            order[arm] = failed
            if sums.spent[arm] > 0.0:
                half = 0.5 * zeta / sums.spent[arm]
                rate = sums.returned[arm] / sums.spent[arm]
                order[arm] = max(failed, (math.sqrt(half) + math.sqrt(half + rate)) ** -2.0)
        left = 1.0
        for arm in np.argsort(order, kind="mergesort"):
            failed = sums.failed[arm]
            if failed == 0.0:
                amount = min(max(0.5 ** (period.number - 1.0) / arms, _LEAST), left)
            elif left >= failed + sums.offset[arm]:
                amount = failed + sums.offset[arm]
            elif left > failed and rng.random() < 0.5:
                amount = failed
            else:
                amount = left
            shares[arm] = amount
            left = max(left - amount, 0.0)
        spend_rest(period.number, left, shares)
