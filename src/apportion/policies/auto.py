"""The policy for those who know nothing of the noise: it learns b and σ, then does what `Recommended` does."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import implements
from apportion._common.validation import refuse
from apportion.inference.learning import (
    EXPONENTS,
    between,
    centre_of,
    divides,
    empty_posterior,
    posterior_over_b,
    sigma_of_largest_arm,
    sums_at,
)
from apportion.model.sums import Grid, InformationSums
from apportion.policies.contract import Policy, allocate
from apportion.policies.parameters import HORIZON, NOISE_EXPONENT, NOISE_LEVEL, ONE_SIGMA, Number, parameter
from apportion.policies.recommended import Recommended, Rule, divide_by_odds, optimistic_arm
from apportion.policies.shared import open_shares, power_floor, recommended_tilt
from apportion.theory.floors import recommended_floor

# While it pools, every other arm gets the trace t^(−3/2)/K: in all at most ζ(3/2) = 2.6 times the mean gap, and
# amounts so far apart that b is soon known and stays known.
TRACE_EXPONENT = 1.5

# The dividing rule has its exponents for b above 1/2; at 1/2 itself it would have no floor.
_LEAST_DIVIDING_B = 0.5 + 1e-9
_ONE_NOISE_LEVEL = Number(above=0.0, hint=NOISE_LEVEL.hint)  # it learns one σ for all arms


class Auto(Policy):
    """Learns b and σ from the outcomes, and then divides or pools as `Recommended` would with them.

    - Period 1 is an even split. After it the posterior of b (`inference.learning`: the restricted likelihood on
      [0, 1], a flat prior) and σ are worked out anew in every period, from sums alone.
    - If b is as likely above 1/2 as below, or more, shares are divided by the odds, with the mean of b; else the
      whole budget but a trace goes to the arm with the largest index, with the σ of the arm that got most so far.
    - The trace is the designed variation of amounts: t^(−3/2)/K for every other arm. An amount 1000 times smaller
      tells in a few periods whether noise shrinks with the amount. All traces together cost at most 2.6 times the
      mean gap, so a wrong belief about b is found out at a finite cost. Where shares are divided, the small shares
      and the floor of that rule do the same.
    - `b` or `sigma` may be given; with both it is `Recommended`.

    What is known: nothing is proven beyond `Recommended`. Measured over the suite of `apportion leaderboard` at
    T = 10^4 its regret is 1.04 times that of `Recommended` given the truth (`python -m benchmarks.auto`), and in 24
    worlds to T = 10^6 it grew as T^0.27 at most in the mean, and in no run as T (with `--long`). Where it fails: if
    small amounts do not obey the law (a fixed noise per arm, say) b is learned too low, and it pools; with whole
    units small amounts are rounded away, and b is learned from the early splits alone; at b ≤ 1/2 one run in
    thousands stays on a wrong arm for thousands of periods, as with `Recommended`.

    >>> Auto()
    Auto()
    >>> Auto(b=0.75)
    Auto(b=0.75)
    """

    b: float | None = parameter(NOISE_EXPONENT, default=None)
    sigma: float | None = parameter(_ONE_NOISE_LEVEL, default=None)
    horizon: int | None = parameter(HORIZON, default=None)

    c = 1.0  # returns are taken as proportional to the amount
    rule = "spreads the budget to keep learning, and gives more to what returns more"

    class Record(NamedTuple):
        """σ is 0 where it is to be learned; the horizon is 0 where it is unknown."""

        sigma: float
        horizon: int

    def __post_init__(self) -> None:
        """One σ for all arms; the rest is the base's."""
        if isinstance(self.sigma, (tuple, list)):
            raise refuse("sigma", ONE_SIGMA, self.sigma)
        super().__post_init__()

    @property
    def reads(self) -> Any:
        """Sums for a grid of exponents where something is to be learned: over [0, 1], or the b that was given."""
        if self.b is None:
            return Grid(EXPONENTS)
        return Grid((self.b,)) if self.sigma is None else InformationSums

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """What compiled code reads: with everything given it is the record of `Recommended`, and so the same rule."""
        periods = self.horizon or horizon or 0
        if self.b is None:
            return self.Record(self.sigma or 0.0, periods)
        if self.sigma is None:
            return SigmaOnly(recommended_tilt(self.b), recommended_floor(self.b), self.b <= 0.5, periods)
        return Recommended(self.b, self.sigma, horizon=self.horizon).prepared(arms, horizon)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Learn, then pool or divide."""
        arms = len(shares)
        left = open_shares(sums.count, shares)
        if left <= 0.0:
            return
        posterior, log_variance = empty_posterior(sums.exponents), np.empty(len(sums.exponents))
        posterior_over_b(sums, self.sigma, posterior, log_variance)
        b, above = centre_of(posterior)
        position = b * (len(sums.exponents) - 1)
        sigma = np.exp(0.5 * between(log_variance, position))
        information, score = np.empty(arms), np.empty(arms)
        sums_at(sums, position, information, score)
        dividing = divides(above)
        if not dividing and not self.sigma > 0.0:
            sigma = sigma_of_largest_arm(sums, position, sigma)
        dividing_b = max(b, _LEAST_DIVIDING_B)
        tilt, floor = recommended_tilt(dividing_b), recommended_floor(dividing_b)
        rule = Rule(period.number, self.horizon, sigma, np.ones(arms), tilt, floor)
        if dividing:
            divide_by_odds(rule, information, score, left, rng, shares)
            return
        chosen = optimistic_arm(rule, sums.resource / period.unit, information, score, rng)
        trace = left * power_floor(period.number, TRACE_EXPONENT, arms)
        others = 0.0
        for arm in range(arms):
            if sums.count[arm] > 0.0 and arm != chosen:
                shares[arm] = trace
                others += trace
        shares[chosen] = max(left - others, 0.0)


class SigmaOnly(NamedTuple):
    """What compiled code reads where b was given and σ is to be learned: the exponents, and which half applies."""

    tilt: float
    floor: float
    pool: bool
    horizon: int


@implements(allocate, SigmaOnly)
def _learn_sigma(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
    """`Recommended`, with the σ of the outcomes so far."""
    left = open_shares(sums.count, shares)
    if left <= 0.0:
        return
    posterior, log_variance = np.empty(1), np.empty(1)
    posterior_over_b(sums, 0.0, posterior, log_variance)
    sigma = np.exp(0.5 * log_variance[0])
    information, score = sums.information[0, : len(shares)], sums.score[0, : len(shares)]
    rule = Rule(period.number, self.horizon, sigma, np.ones(len(shares)), self.tilt, self.floor)
    if self.pool:
        shares[optimistic_arm(rule, sums.count, information, score, rng)] = left
    else:
        divide_by_odds(rule, information, score, left, rng, shares)
