"""Policies that match information, not resource, to the chance of being best; they pool below b = 1/2.

Thompson sampling in the classical bandit makes the *information* flow to each arm in proportion to its
probability p of being best. With divisible resource the information in a share is A^(2−2b), so shares go as
p^κ, κ = 1/(2−2b): κ = 1 at b = 1/2, and follow-the-leader as b → 1, which is right for full feedback. With
p ≈ exp(−BΔ²/2σ²) the shares of a bad arm fall as t^(−κ), summable exactly when b > 1/2. This is a heuristic
that measures well, not a theorem. With a floor, regret is proven to stay finite for b > 1/2 and c = 1
(`apportion.theory.floor_regret_bound`, docs/theory.md), with a constant too large to be of use.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion.inference.best_probabilities import QUICK, probability_best
from apportion.model.estimators import mu_star
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.draws import (
    FLOOR_EXPONENT,
    antithetic_normals,
    beliefs_of,
    known_arms,
    mean_of_splits,
    split_of_one_draw,
    write_shares,
)
from apportion.policies.parameters import (
    FLOOR,
    NOISE_EXPONENT,
    NOISE_LEVEL,
    PROPORTIONAL,
    RETURN_EXPONENT,
    Number,
    parameter,
)
from apportion.policies.shared import (
    first_unseen,
    leading_arm,
    log_odds_of_tail,
    open_shares,
    pools,
    power_floor,
    recommended_tilt,
    relative_variances,
    sample_arm,
    share_by_weight,
    whole_unit,
)
from apportion.theory.floors import recommended_floor


class InformationMatching(Policy):
    """What `Odds`, `Maillard` and `Matching` share: a weight per arm, a power `tilt` of it, and a `floor`.

    - `tilt` None: √κ, κ = 1/(2−2b) capped at 10; near the best in the mean and the best in the tail.
    - `floor` None: no share falls below about t^(−α)/K, α = (1 + κ)/2: a wrong leader is found out, at a
      finite cost. `floor` is α; 0 means no floor, which is the default at b ≤ 1/2.
    - For b < 1/2 small shares show too little: the same weights are probabilities, and one arm drawn with
      them gets the whole unit.
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    c: float = parameter(PROPORTIONAL, default=1.0)
    tilt: float | None = parameter(
        Number(above=0.0, hint="power of the weights; empty: √κ, κ = 1/(2−2b)"), default=None
    )
    floor: float | None = parameter(FLOOR, default=None)

    rule = "gives each arm a share that grows with its chance of being the best"
    reads = InformationSums

    class Record(NamedTuple):
        """The parameters with tilt and floor resolved; every subclass has a type of its own made from it.

        `scale` is the largest σ_i, `variances` are (σ_i/scale)².
        """

        sigma: Floats
        scale: float
        variances: Floats
        tilt: float
        floor: float
        pool: bool

    @property
    def randomised(self) -> bool:
        """Where a whole unit tells more than its parts."""
        return pools(self.b, self.c)

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve tilt and floor."""
        sigma = self.each_arm("sigma", arms)
        return self.Record(
            sigma,
            *relative_variances(sigma),
            recommended_tilt(self.b) if self.tilt is None else self.tilt,
            recommended_floor(self.b) if self.floor is None else self.floor,
            pools(self.b, self.c),
        )


@kernel
def share_or_draw(
    policy: Any, number: int, information: Any, left: float, leader: int, rng: Any, shares: Any
) -> None:
    """From weights in `shares` to shares, or to the whole unit on one arm drawn with them."""
    if leader >= 0:
        floor = power_floor(number, policy.floor, len(shares))
        share_by_weight(shares, information, left, floor, leader)
    if policy.pool:
        unseen = first_unseen(information, rng)
        whole_unit(sample_arm(shares, rng) if unseen < 0 else unseen, shares)


class Odds(InformationMatching):
    """A_i ∝ (q_i / (1 − q_i))^tilt, q_i = Φ(−(μ*_lead − μ*_i)/√(σ_i²/B_i + σ_lead²/B_lead)); the leader weighs 1.

    q_i is the chance that arm i beats the leader, under independent normal beliefs. As good as `Matching` at
    a fraction of the cost. Measured at T = 10^4, K = 5, b = 0.75, gap 0.5: regret 18 where Algorithm 1 has
    3507, Algorithm 2 1708 and pooled Thompson sampling 80. Over all gaps nothing is proven; with σ or b far too small
    it can trust a wrong leader for as long as the floor takes to correct it.

    >>> Odds(b=0.75)
    Odds(b=0.75)
    """

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Odds against the leader."""
        left = open_shares(sums.information, shares)
        leader = leading_arm(sums.score, sums.information, rng)
        if leader >= 0:
            best = mu_star(sums, leader)
            doubt = self.variances[leader] / sums.information[leader]
            for arm in range(len(shares)):
                if sums.information[arm] > 0.0:
                    gap = best - mu_star(sums, arm)
                    z = gap / (self.scale * math.sqrt(self.variances[arm] / sums.information[arm] + doubt))
                    shares[arm] = math.exp(self.tilt * log_odds_of_tail(z))
        share_or_draw(self, period.number, sums.information, left, leader, rng, shares)


class Maillard(InformationMatching):
    """A_i ∝ exp(−B_i·d_i²/2σ_i²)^tilt, d_i = μ*_lead − μ*_i: closed form, one exponential per arm.

    Maillard sampling, shared out instead of sampled. Cheaper than `Odds`; it takes the leader's mean as
    known, so it turns away from close rivals sooner. Over all gaps nothing is proven.

    >>> Maillard(b=0.9, tilt=1.0, floor=0)
    Maillard(b=0.9, tilt=1.0, floor=0.0)
    """

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """A Gaussian in the gap, at the arm's own information."""
        left = open_shares(sums.information, shares)
        leader = leading_arm(sums.score, sums.information, rng)
        if leader >= 0:
            best = mu_star(sums, leader)
            for arm in range(len(shares)):
                if sums.information[arm] > 0.0:
                    gap = (best - mu_star(sums, arm)) / self.sigma[arm]
                    shares[arm] = math.exp(-0.5 * self.tilt * gap * gap * sums.information[arm])
        share_or_draw(self, period.number, sums.information, left, leader, rng, shares)


class Matching(InformationMatching):
    """At c = 1 A_i ∝ p_i^tilt, p_i = P(arm i is the best); at c < 1 A_i is the mean best split of draws of the means.

    Both under independent N(μ*_i, σ_i²/B_i): the best split of a draw is all on its best arm at c = 1, where p is its
    mean.

    - c = 1: p by quadrature. `tilt` = 1/(2−2b) makes the information flow exactly in proportion to p.
    - c < 1: the best split of a draw is μ̃_i^e/Σ μ̃_j^e, e = 1/(1−c) (`apportion.model.response`). 32 draws in
      antithetic pairs, fixed once, so that the split is a function of the sums; `tilt` None is 1, `floor` None is
      1.5. Where c − b > 1/2, where parts of a unit tell less than the whole, it is the split of one fresh draw.

    What is known for c < 1, tilt 1 and positive means: the mean of draws has regret C*·log T
    (`apportion.theory.bent_constant`) where a floor t^(−α)/K has α·(2c − 2b) < 1, that of 1.5 for c − b < 1/3; one
    draw has twice that. For c = 1 and b > 1/2 the floor keeps regret finite (`apportion.theory.floor_regret_bound`).

    >>> Matching(b=0.6, sigma=2.0)
    Matching(b=0.6, sigma=2.0)
    >>> Matching(b=0.5, sigma=(1.0, 0.2, 0.4), c=0.7)
    Matching(b=0.5, sigma=(1.0, 0.2, 0.4), c=0.7)
    """

    c: float = parameter(RETURN_EXPONENT, default=1.0)

    bent_rule = "makes the split that is best on average over what the arms may return"

    class Record(NamedTuple):
        """The parameters with tilt and floor resolved; `normals` are the fixed draws, where c < 1."""

        sigma: Floats
        c: float
        tilt: float
        floor: float
        pool: bool
        normals: Floats

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve tilt and floor."""
        bent = self.c < 1.0
        tilt = 1.0 if bent else recommended_tilt(self.b)
        floor = FLOOR_EXPONENT if bent else recommended_floor(self.b)
        return self.Record(
            self.each_arm("sigma", arms),
            self.c,
            tilt if self.tilt is None else self.tilt,
            floor if self.floor is None else self.floor,
            pools(self.b, self.c),
            antithetic_normals(arms if bent else 1),
        )

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The mean split of draws; at c = 1 the probabilities of being best."""
        left = open_shares(sums.information, shares)
        if self.c < 1.0:
            if left > 0.0:
                known = known_arms(sums.information)
                means, deviations = beliefs_of(known, self.sigma, sums.information, sums.score)
                if self.pool:
                    weights = split_of_one_draw(means, deviations, self.c, rng)
                else:
                    weights = mean_of_splits(means, deviations, self.c, self.normals)
                if self.tilt != 1.0:
                    for index in range(len(known)):
                        weights[index] **= self.tilt
                floor = power_floor(period.number, self.floor, len(shares))
                write_shares(known, weights, floor, sums.information, left, shares)
            return
        leader = leading_arm(sums.score, sums.information, rng)
        if leader >= 0:
            weigh_by_probability(self.sigma, self.tilt, sums.information, sums.score, shares)
        share_or_draw(self, period.number, sums.information, left, leader, rng, shares)


@kernel
def weigh_by_probability(sigma: Any, tilt: float, information: Any, score: Any, shares: Any) -> None:
    """The probabilities of being best of the observed arms, relative to the largest, to the power of the tilt."""
    arms = len(shares)
    means = np.zeros(arms)
    deviations = np.empty(arms)
    known = 0
    for arm in range(arms):
        if information[arm] > 0.0:
            means[known] = score[arm] / information[arm]
            deviations[known] = sigma[arm] / math.sqrt(information[arm])
            known += 1
    posterior = np.empty(known)
    probability_best(means[:known], deviations[:known], QUICK, posterior)
    highest = 0.0
    for index in range(known):
        highest = max(highest, posterior[index])
    index = 0
    for arm in range(arms):
        if information[arm] > 0.0:
            shares[arm] = (posterior[index] / highest) ** tilt
            index += 1
