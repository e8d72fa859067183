"""Elimination that can be undone: finite regret for fixed gaps, and a rate that holds over all gaps."""

import math
from typing import Any, NamedTuple

from apportion.model.estimators import mu_star
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import FLOOR, NOISE_EXPONENT, NOISE_LEVEL, PROPORTIONAL, Number, OneOf, parameter
from apportion.policies.shared import power_floor
from apportion.theory.floors import recommended_floor


class AdaptiveElimination(Policy):
    """A race that is re-run every period; excluded arms keep the floor t^(−α)/K.

    Arm i is in the race when μ*_i + r_i ≥ max_j (μ*_j − r_j), r_i = `scale`·σ_i√((2·log(t+1) + 2·log K)/B_i), with
    the clock t in place of the horizon T. An arm that was excluded by bad luck comes back when its interval,
    which the floor keeps shrinking, says so. What the floors leave goes to the arms in the race:

    - `split="even"`: the same to each.
    - `split="leader"`: 1/K to each, and the rest to the one with the largest μ*_j − r_j.

    Guarantee, written out in docs/theory.md, for `scale` ≥ 1, sub-Gaussian noise, b in [1/2, 1] and a floor
    with 1 < α < 1/(2−2b) (`apportion.theory.adaptive_regret_bound`): all radii hold around period t with
    probability 1 − O(log(t)^1.5·t^(−scale²)). For b > 1/2 and fixed gaps the regret stays below a constant for all T,
    with either split. Over all gaps it is O(K^(1−b)·√(T·log(KT))) with `split="leader"`, the best rate up to the
    root of a logarithm; with `split="even"` only √(KT) up to logarithms is proven, because the proof cannot rule
    out that arms come back one by one and learn from large shares. The leader's split also measures better.

    Measured: `scale` = 0.5 is several times better and loses the proof of the rates, not of finite regret. At b ≤ 1/2
    there is no summable floor that still learns, so none is kept and only the elimination remains; below 1/2
    nothing is claimed.

    >>> AdaptiveElimination(b=0.75, scale=0.5)
    AdaptiveElimination(b=0.75, scale=0.5)
    >>> AdaptiveElimination(b=0.75, split="leader")
    AdaptiveElimination(b=0.75, split='leader')
    """

    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    scale: float = parameter(
        Number(above=0.0, hint="width of the intervals; 1 has the proof, 0.5 measures better"), default=1.0
    )
    floor: float | None = parameter(FLOOR, default=None)
    split: str = parameter(OneOf(("even", "leader"), "what the arms in the race get"), default="even")
    c: float = parameter(PROPORTIONAL, default=1.0)

    rule = "splits over the arms that may still be the best, and keeps an eye on the others"
    reads = InformationSums

    class Record(NamedTuple):
        """The parameters with the floor's exponent resolved, and whether a leader takes the rest."""

        sigma: Floats
        scale: float
        floor: float
        leads: bool

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Resolve the floor's exponent."""
        floor = recommended_floor(self.b) if self.floor is None else self.floor
        return self.Record(self.each_arm("sigma", arms), self.scale, floor, self.split == "leader")

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Re-run the race, then share it out."""
        arms = len(shares)
        width = self.scale * math.sqrt(2.0 * math.log(period.number + 1.0) + 2.0 * math.log(arms))
        bar = -math.inf
        leader = -1
        for arm in range(arms):
            if sums.information[arm] > 0.0:
                low = mu_star(sums, arm) - width * self.sigma[arm] / math.sqrt(sums.information[arm])
                if low > bar:
                    bar, leader = low, arm
        active = 0
        for arm in range(arms):
            shares[arm] = 1.0
            if sums.information[arm] > 0.0:
                high = mu_star(sums, arm) + width * self.sigma[arm] / math.sqrt(sums.information[arm])
                shares[arm] = 1.0 if high >= bar else 0.0
            active += shares[arm] > 0.0
        floor = power_floor(period.number, self.floor, arms)
        left = 1.0 - (arms - active) * floor
        share = 1.0 / arms if self.leads else left / active
        for arm in range(arms):
            shares[arm] = share if shares[arm] > 0.0 else floor
        if self.leads and leader >= 0:
            shares[leader] = left - (active - 1) * share
