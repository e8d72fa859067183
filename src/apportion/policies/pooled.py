"""The classical bandit's policies: the whole unit on one arm. Right for b ≤ 1/2, and in use today."""

import math
from typing import Any, NamedTuple

from apportion.model.estimators import mu_star
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.draws import beliefs_of, known_arms, split_of_one_draw, write_shares
from apportion.policies.index import IndexPolicy
from apportion.policies.parameters import (
    HORIZON,
    NOISE_EXPONENT,
    NOISE_LEVEL,
    PROPORTIONAL,
    RETURN_EXPONENT,
    OneOf,
    parameter,
)
from apportion.policies.shared import first_unseen, open_shares, whole_unit


class UCB(IndexPolicy):
    """Everything on the arm with the largest upper confidence index; arms never tried go first.

    - `ucb1`: μ* + σ_i√(2·log t / B), B the arm's information (its number of plays, at a budget of 1).
    - `moss`: μ* + σ_i√(4·max(0, log(T / (K·n))) / B), n its number of plays; without a horizon, t stands for T.

    Guarantee, at any b, as the whole unit goes to one arm: `ucb1` has Σ 2σ²/Δ_i·log T for Gaussian noise
    (Katehakis and Robbins 1995: the constant 2 is theirs), which for b ≤ 1/2 no policy beats, and
    `apportion.theory.ucb_regret_bound` for sub-Gaussian noise; `moss` with a known horizon √(KT) in the worst
    case (Lattimore and Szepesvári 2020, chapter 9). Where it fails: for b > 1/2 dividing learns more from the
    same unit, and pooling pays the classical price.

    >>> UCB(index="moss")
    UCB(index='moss')
    """

    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    index: str = parameter(OneOf(("ucb1", "moss"), "kind of optimism"), default="ucb1")
    horizon: int | None = parameter(HORIZON, default=None)
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "puts everything on the arm with the best optimistic estimate"

    class Record(NamedTuple):
        """The index as a flag; the horizon, 0 where it is unknown; `scale`, the largest σ_i; `ratios` σ_i/scale."""

        scale: float
        ratios: Floats
        moss: bool
        horizon: int

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The horizon of the policy, else of the run, else none."""
        sigma = self.each_arm("sigma", arms)
        return self.Record(sigma.max(), sigma / sigma.max(), self.index == "moss", self.horizon or horizon or 0)

    def lasting(self, horizon: int) -> bool:
        """MOSS beyond its horizon looks at the clock."""
        return self.index == "ucb1" or (self.horizon or horizon) >= horizon

    def grade(self: Any, number: Any, arms: Any, arm: Any, count: Any, information: Any, score: Any) -> Any:
        """μ* and σ_i/√B in units of the largest σ, times √max(0, log(T / (K·n))) for MOSS."""
        width = 1.0 / math.sqrt(information)
        mean = score * width * width
        if self.moss:
            width *= math.sqrt(max(0.0, math.log(max(self.horizon, number) / (arms * max(count, 1.0)))))
        return mean, self.ratios[arm] * width

    def optimism(self: Any, number: Any) -> Any:
        """σ√(2·log t), or 2σ for MOSS, σ the largest."""
        return self.scale * (2.0 if self.moss else math.sqrt(2.0 * math.log(number)))


class Thompson(Policy):
    """The best split for one draw N(μ*_i, σ_i²/B_i) of the means: at c = 1 everything on the arm with the largest.

    Guarantee: for b ≤ 1/2 as in the classical bandit with Gaussian rewards (flat prior): regret of order
    log T·Σ 2σ²/Δ_i, which is optimal there, and √(KT·log K) in the worst case. Where it fails: as UCB, it
    does not divide, so for b > 1/2 its regret keeps growing with log T where a constant is possible.

    >>> Thompson(b=0.25)
    Thompson(b=0.25)
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    c: float = parameter(RETURN_EXPONENT, default=1.0)

    rule = "puts everything on one arm, drawn with its probability of being best"
    bent_rule = "makes the split that is best if one draw of what the arms may return were true"
    reads = InformationSums
    randomised = True

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """One draw per arm; the largest takes all, or at c < 1 the draws are split for."""
        if self.c < 1.0:
            left = open_shares(sums.information, shares)
            if left > 0.0:
                known = known_arms(sums.information)
                means, deviations = beliefs_of(known, self.sigma, sums.information, sums.score)
                weights = split_of_one_draw(means, deviations, self.c, rng)
                write_shares(known, weights, 0.0, sums.information, left, shares)
            return
        chosen = first_unseen(sums.information, rng)
        if chosen < 0:
            best = -math.inf
            chosen = 0
            for arm in range(len(shares)):
                draw = mu_star(sums, arm) + self.sigma[arm] / math.sqrt(sums.information[arm]) * rng.standard_normal()
                if draw > best:
                    best, chosen = draw, arm
        whole_unit(chosen, shares)
