"""Two policies for the theorems on diminishing returns: the best split of the estimates, and the mean over draws.

They are for the report alone: the first is what docs/theory.md proves C*·log T for, and gets stuck where its floor
falls too fast; the second divides at every b and c, also where `Matching` would rather draw.
"""

from typing import Any, NamedTuple

import numpy as np

from apportion.model.response import best_shares
from apportion.model.sums import Floats, InformationSums
from apportion.policies import Policy
from apportion.policies.draws import (
    FLOOR_EXPONENT,
    antithetic_normals,
    beliefs_of,
    known_arms,
    mean_of_splits,
    write_shares,
)
from apportion.policies.parameters import FLOOR, NOISE_EXPONENT, NOISE_LEVEL, RETURN_EXPONENT, parameter
from apportion.policies.shared import power_floor


class SplitOfEstimates(Policy):
    """A_i ∝ max(w_i, t^(−α)/K), w the best split for the positive estimates: the policy of Theorem E (2).

    Period 1 is even. Regret C*·log T + O(1) for all μ_i > 0, 0 ≤ b ≤ c < 1, α·(2c − 2b) < 1. With α = 0 there is no
    floor, and regret is linear: `apportion.theory.lockout_regret`.

    >>> SplitOfEstimates(b=0.5, c=0.7, floor=1.5)
    SplitOfEstimates(b=0.5, c=0.7, floor=1.5)
    """

    b: float = parameter(NOISE_EXPONENT)
    c: float = parameter(RETURN_EXPONENT)
    floor: float = parameter(FLOOR)

    reads = InformationSums

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The best split of the estimates, lifted to the floor."""
        arms = len(shares)
        means = np.empty(arms)
        positive = False
        for arm in range(arms):
            means[arm] = sums.score[arm] / sums.information[arm] if sums.information[arm] > 0.0 else 0.0
            positive = positive or means[arm] > 0.0
        if positive:
            best_shares(means, self.c, shares)
        else:
            for arm in range(arms):
                shares[arm] = 1.0 / arms
        least = power_floor(period.number, self.floor, arms)
        total = 0.0
        for arm in range(arms):
            shares[arm] = max(shares[arm], least)
            total += shares[arm]
        for arm in range(arms):
            shares[arm] /= total


class MeanOfDraws(Policy):
    """The mean of the best splits of 32 fixed draws of the means, lifted to t^(−3/2)/K, at every b and c.

    `apportion.Matching` is this where parts of a unit tell more than the whole, c − b ≤ 1/2.

    >>> MeanOfDraws(b=0.1, sigma=1.0, c=0.9)
    MeanOfDraws(b=0.1, sigma=1.0, c=0.9)
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL)
    c: float = parameter(RETURN_EXPONENT)

    reads = InformationSums

    class Record(NamedTuple):
        """The noise of every arm, c, and the fixed draws."""

        sigma: Floats
        c: float
        normals: Floats

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Look up the draws."""
        return self.Record(self.each_arm("sigma", arms), self.c, antithetic_normals(arms))

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The mean split; the first is even."""
        arms = len(shares)
        known = known_arms(sums.information)
        if len(known) < arms:
            for arm in range(arms):
                shares[arm] = 1.0 / arms
            return
        means, deviations = beliefs_of(known, self.sigma, sums.information, sums.score)
        weights = mean_of_splits(means, deviations, self.c, self.normals)
        floor = power_floor(period.number, FLOOR_EXPONENT, arms)
        write_shares(known, weights, floor, sums.information, 1.0, shares)
