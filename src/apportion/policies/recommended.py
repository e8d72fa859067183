"""The policy this package recommends where b and σ are known: divide by the odds above b = 1/2, pool below."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel, large_kernel
from apportion.model.response import best_shares
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.draws import (
    FLOOR_EXPONENT,
    antithetic_normals,
    beliefs_of,
    known_arms,
    mean_of_splits,
    shrink,
    split_of_one_draw,
    write_shares,
)
from apportion.policies.parameters import HORIZON, NOISE_EXPONENT, NOISE_LEVEL, RETURN_EXPONENT, parameter
from apportion.policies.shared import (
    leading_arm,
    log_odds_of_tail,
    open_shares,
    pools,
    power_floor,
    recommended_tilt,
    relative_variances,
    share_by_weight,
)
from apportion.theory.floors import recommended_floor

# Exploration fades as (periods left / T)^(1/(2b−1)), see `Recommended`; the exponent grows without bound towards
# b = 1/2, where larger ones stop exploring too early for two arms that are close.
STEEPEST_FADE = 5.0
# The index of the pooling half: 2 is the constant of the Gaussian large deviation. Less wins in the mean and loses
# more in the tail.
OPTIMISM = 2.0
# With diminishing returns, what a share exceeds the best split by is taken to the power 1 + c^10: hardly changed
# where the best split uses every arm, and nearly squared where it is nearly one arm.
_EXCESS_POWER = 10.0
# Beliefs are drawn together by this much where feedback is full (b = c), and by more the more a small amount hides.
_SHRINK_AT_FULL_FEEDBACK = 0.15


class Recommended(Policy):
    """Above b = 1/2 the leader weighs 1, other arms (2−2b)·(left/T)^(1/(2b−1))·odds^√κ; else an optimistic index.

    - b > 1/2: the odds q/(1−q) are those of arm i against the leader, with
      q = Φ(−(μ*_lead − μ*_i)/√(σ_i²/B_i + σ_lead²/B_lead)), and κ = 1/(2−2b), as in `Odds`. The two new
      factors come from what a share a of a rival costs, a·Δ, and the information that it brings, a^(2−2b): if a unit
      of information is still worth V, the best a solves (2−2b)·a^(1−2b)·V = Δ, so it grows with 2−2b, and as
      V^(1/(2b−1)). V is at most in proportion to the periods left, so shares fade with that power (5 at most).
      Without a horizon they do not fade. None falls below about t^(−α)/K, α = (1 + κ)/2, so a wrong leader is found
      out at a finite cost.
    - b ≤ 1/2: after a first even split, everything on the arm with the largest
      μ* + σ_i√(2·log(1 + left/(K·n))/B), n the number of its outcomes, left the periods to come with this one. This
      is the index of MOSS with the horizon that is left in place of the whole. Without a horizon the logarithm is
      max(0, log(t/(K·n))).

    - c < 1, returns that diminish: the best split is μ_i^e/Σ μ_j^e, e = 1/(1−c). Beliefs N(μ*_i, σ_i²/B_i) are drawn
      towards what the arms have in common (empirical Bayes, by the part 2(c − b) + 0.15, at most 1), so that early
      errors cost less and no arm is forgotten.
      m_i is the mean of the best splits for 32 draws from them, a_i the best split of their means. Where m_i > a_i
      the arm weighs a_i + √(left/T)·(m_i − a_i)^(1 + c^10), else m_i: what is spent to learn fades with the time
      left, and goes to few arms where the best split is nearly one arm. No share falls below about t^(−3/2)/K.
      Where parts of a unit tell less than the whole, c − b > 1/2, m_i is mixed with the best split for one fresh
      draw, which weighs 2(c − b) − 1: nothing jumps as c − b passes 1/2.

    What is known, c = 1: for b > 1/2 the regret is finite, by the floor, with a constant too large to be of use
    (`apportion.theory.floor_regret_bound` with rival = 2−2b, 0.1 at least); it was measured to stop growing to 10^7
    periods. Nothing is proven for b ≤ 1/2: MOSS itself, with the whole horizon and a larger constant, has regret
    O(√(KT)). For c < 1 no policy does better than C*·log T (`apportion.theory.bent_constant`), and that slope was
    measured. The constants were chosen by simulation; `apportion study leaderboard` shows it against all others, on a
    fixed suite and on random ones, and docs/explanation/policies.md what it reaches where returns diminish.

    >>> Recommended(b=0.75)
    Recommended(b=0.75)
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    c: float = parameter(RETURN_EXPONENT, default=1.0)
    horizon: int | None = parameter(HORIZON, default=None)

    rule = "divides by each arm's odds of beating the leader, or pools where small shares tell too little"
    bent_rule = "makes the split that is best for what the arms may return, as far as that is known"

    class Record(NamedTuple):
        """The exponents, and which half of the rule applies. `scale` is the largest σ_i, `variances` (σ_i/scale)²."""

        scale: float
        variances: Floats
        tilt: float
        floor: float
        pool: bool
        horizon: int
        c: float
        sigma: Floats
        normals: Floats
        fresh: float
        shrinkage: float

    reads = InformationSums

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve the exponents; a horizon of 0 is unknown."""
        periods = self.horizon or horizon or 0
        scale, variances = relative_variances(self.each_arm("sigma", arms))
        bent = self.c < 1.0
        tilt = excess_power(self.c) if bent else recommended_tilt(self.b)
        floor = FLOOR_EXPONENT if bent else recommended_floor(self.b)
        return self.Record(
            scale, variances, tilt, floor, self.b <= 0.5, periods, self.c, self.each_arm("sigma", arms),
            antithetic_normals(arms if bent else 1), fresh_part(self.b, self.c), shrinkage(self.b, self.c),
        )  # fmt: skip

    @property
    def randomised(self) -> bool:
        """With returns that diminish, where a whole unit tells more than its parts."""
        return self.c < 1.0 and pools(self.b, self.c)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Pool by index or divide by odds."""
        left = open_shares(sums.information, shares)
        if left <= 0.0:  # the first period: an even look at everything, which may already tell the best from the rest
            return
        if self.c < 1.0:
            known = known_arms(sums.information)
            weights = bent_weights(self, period.number, known, sums.information, sums.score, rng)
            floor = power_floor(period.number, self.floor, len(shares))
            write_shares(known, weights, floor, sums.information, left, shares)
            return
        rule = Rule(period.number, self.horizon, self.scale, self.variances, self.tilt, self.floor)
        if self.pool:
            shares[optimistic_arm(rule, sums.count, sums.information, sums.score, rng)] = left
        else:
            divide_by_odds(rule, sums.information, sums.score, left, rng, shares)


class Rule(NamedTuple):
    """What is known besides the sums; horizon 0: unknown. To divide, `tilt` is √κ and `floor` the α of the floor.

    The variance of an arm's mean is scale²·variances/information.
    """

    number: int
    horizon: int
    scale: float
    variances: Any
    tilt: float
    floor: float


class BentRule(NamedTuple):
    """What `bent_weights` reads of a policy; horizon 0: unknown."""

    horizon: int
    c: float
    sigma: Any
    normals: Any
    tilt: float
    fresh: float
    shrinkage: float


@kernel
def excess_power(c: float) -> float:
    """What a share exceeds the best split by is taken to this power where returns diminish."""
    return 1.0 + float(c**_EXCESS_POWER)


@kernel
def fresh_part(b: float, c: float) -> float:
    """How much the best split for one fresh draw weighs."""
    return min(1.0, max(0.0, 2.0 * (c - b) - 1.0))


@kernel
def shrinkage(b: float, c: float) -> float:
    """By how much beliefs are drawn together."""
    return min(1.0, max(0.0, 2.0 * (c - b) + _SHRINK_AT_FULL_FEEDBACK))


@large_kernel
def bent_weights(policy: Any, number: int, known: Any, information: Any, score: Any, rng: Any) -> Any:
    """The weights of the known arms where returns diminish; see `Recommended`."""
    means, deviations = beliefs_of(known, policy.sigma, information, score)
    shrink(means, deviations, policy.shrinkage)
    weights = mean_of_splits(means, deviations, policy.c, policy.normals)
    if policy.fresh > 0.0:
        split = split_of_one_draw(means, deviations, policy.c, rng)
        for arm in range(len(means)):
            weights[arm] += policy.fresh * (split[arm] - weights[arm])
    fade = 1.0
    if policy.horizon >= number:
        fade = math.sqrt(1.0 - (number - 1.0) / policy.horizon)
    best = np.empty(len(means))
    best_shares(means, policy.c, best)
    for arm in range(len(means)):
        excess = weights[arm] - best[arm]
        if excess > 0.0:
            weights[arm] = best[arm] + fade * excess**policy.tilt
    return weights


@kernel
def divide_by_odds(rule: Any, information: Any, score: Any, left: float, rng: Any, shares: Any) -> None:
    """Divide `left` over the observed arms by their odds against the leader.

    The leader is the arm with the largest μ*; it takes what the others leave.
    """
    leader = leading_arm(score, information, rng)
    rival = 1.0 / (rule.tilt * rule.tilt)  # 1/κ = 2−2b: what a rival at even odds gets of the leader's share
    if rule.horizon >= rule.number:
        fade = 1.0 / max(1.0 - rival, 1.0 / STEEPEST_FADE)
        rival *= (1.0 - (rule.number - 1.0) / rule.horizon) ** fade
    inverse = 1.0 / information[leader]
    best = score[leader] * inverse
    doubt = rule.variances[leader] * inverse
    for arm in range(len(shares)):
        if information[arm] > 0.0:
            inverse = 1.0 / information[arm]
            gap = best - score[arm] * inverse
            z = gap / (rule.scale * math.sqrt(rule.variances[arm] * inverse + doubt))
            shares[arm] = rival * math.exp(rule.tilt * log_odds_of_tail(z))
    shares[leader] = 1.0
    share_by_weight(shares, information, left, power_floor(rule.number, rule.floor, len(shares)), leader)


@kernel
def optimistic_arm(rule: Any, count: Any, information: Any, score: Any, rng: Any) -> int:
    """The observed arm with the largest index, ties broken by chance."""
    arms = len(information)
    known = rule.horizon >= rule.number
    left = rule.horizon - rule.number + 1.0 if known else float(rule.number)
    best = -math.inf
    chosen = -1
    ties = 0
    for arm in range(arms):
        if information[arm] > 0.0:
            inverse = 1.0 / information[arm]
            room = left / (arms * max(count[arm], 1.0))
            # While t grows the leader must lose its own bonus, or it would hide its rivals for ever.
            room = math.log1p(room) if known else max(0.0, math.log(room))
            index = score[arm] * inverse + rule.scale * math.sqrt(OPTIMISM * room * (rule.variances[arm] * inverse))
            if index > best:
                best, chosen, ties = index, arm, 1
            elif index == best:
                ties += 1
                if rng.random() * ties < 1.0:
                    chosen = arm
    return chosen
