"""Censored semi-bandits by multiple plays, for arms with one threshold (`apportion.Thresholds`)."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements
from apportion.model.sums import Floats, observe
from apportion.policies.contract import Policy
from apportion.policies.parameters import Number, parameter

_ROUNDING = 1.0 + 1e-9


class ThresholdSums(NamedTuple):
    """Of each arm: `successes` and `failures` with what is known to be enough; the least amount that ever succeeded
    (`enough`, 0: none), the largest that was given up (`too_little`), the amount being tried, and its failures."""

    enough: Floats
    too_little: Floats
    tried: Floats
    misses: Floats
    successes: Floats
    failures: Floats

    def take(self, arms: Any) -> "ThresholdSums":
        """The sums of some arms, in the order asked for."""
        return ThresholdSums(*(values[arms] for values in self))


@implements(observe, ThresholdSums)
def _observe(sums: Any, arm: int, outcome: float, powers: Any) -> None:
    amount = powers.amount
    if outcome > 0.5:
        sums.successes[arm] += 1.0
        if sums.enough[arm] == 0.0 or amount < sums.enough[arm]:
            sums.enough[arm] = amount
    elif sums.tried[arm] > 0.0:
        sums.misses[arm] += 1.0
    else:
        sums.failures[arm] += 1.0


class CensoredMultiplePlays(Policy):
    """Find how many arms can be given enough at once, then play that many by Thompson sampling (Verma et al. 2019).

    One threshold θ for all arms: with M arms served, each gets 1/M, so only M = 1, …, K need be told apart. A success
    at 1/M proves that it is enough; log(log₂(K)/δ)/log(1/(1 − ε)) failures in a row say that it is not, with ε the
    least rate that is looked for (`least`) and δ = `delta`. The largest M is found by bisection. From then on it is a
    multiple-play bandit: the M arms with the largest draws from Beta(1 + successes, 1 + failures) get 1/M each
    (MP-TS, Komiyama, Honda and Nakagawa 2015).

    Guarantee (Verma, Hanawal, Rajkumar and Sankaran 2019, CSB-ST): the search is a constant, the rest has the optimal
    regret Σ Δ/kl·log T of multiple plays. Where it fails: with probability δ the search ends at a smaller M, and
    regret is linear; thresholds that differ are a knapsack (their CSB-DT), which this is not.

    >>> CensoredMultiplePlays(least=0.2)
    CensoredMultiplePlays(least=0.2)
    """

    least: float = parameter(Number(above=0.0, below=1.0, hint="the least rate of success looked for"), default=0.1)
    delta: float = parameter(Number(above=0.0, below=1.0, hint="chance of a wrong threshold"), default=1e-4)

    rule = "finds how many arms can be given enough at once, then serves those that succeed most"
    laboratory = True
    reads = ThresholdSums
    randomised = True

    class Record(NamedTuple):
        """How many failures say that an amount is too little."""

        misses: float

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The length of a test."""
        tests = max(1.0, math.log2(arms))
        return self.Record(math.ceil(math.log(tests / self.delta) / -math.log1p(-self.least)))

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Which M is tried, or known; then the arms with the largest draws."""
        arms = len(shares)
        enough, too_little, misses = math.inf, 0.0, 0.0
        for arm in range(arms):
            if sums.enough[arm] > 0.0:
                enough = min(enough, sums.enough[arm])
            too_little = max(too_little, sums.too_little[arm])
            misses += sums.misses[arm]
        before = sums.tried[0]
        if before > 0.0 and misses >= self.misses and not enough <= before * _ROUNDING:
            too_little = before
            for arm in range(arms):
                sums.too_little[arm] = before
        known = 0 if enough == math.inf else min(arms, int(_ROUNDING / enough))
        limit = arms + 1 if too_little == 0.0 else max(known + 1, int(0.5 + 1.0 / too_little))
        served, tried = known, 0.0
        if limit - known > 1:
            served = (known + limit) // 2
            tried = 1.0 / served
        served = max(served, 1)
        if tried != before:
            for arm in range(arms):
                sums.tried[arm] = tried
                sums.misses[arm] = 0.0
        draws = np.empty(arms)
        for arm in range(arms):
            draws[arm] = -rng.beta(1.0 + sums.successes[arm], 1.0 + sums.failures[arm])
            shares[arm] = 0.0
        order = np.argsort(draws)
        for rank in range(served):
            shares[order[rank]] = 1.0 / served
